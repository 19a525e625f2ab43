"""A plugin package adds methods through entry points; a broken one is left out with a warning."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = '''"""A plugin with a score and an estimator."""
from oodometer.estimators import Estimator, Sums
from oodometer.scores import Score


class FirstProbability(Score):
    """Score p_0, the probability of the first class. Source: none. >>> doctest"""

    name = "first_probability"
    needs = ("probabilities",)
    citation = "guo2017"

    def _score(self, record):
        return record.probabilities[:, 0]


class Half(Estimator):
    """One half, whatever the data."""

    name = "half"
    needs = ()
    assumes = "a coin was thrown"
    citation = "guo2017"

    def _fit(self, reference):
        pass

    def summarize(self, batch):
        return Sums(rows=len(batch))

    def finish(self, state):
        return self._estimate(state, 0.5, 0.0, 1.0)
'''
ENTRY_POINTS = """[oodometer.scores]
first_probability = plugin_for_tests:FirstProbability
broken = plugin_for_tests:Nothing

[oodometer.estimators]
half = plugin_for_tests:Half
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder that looks like site-packages with the plugin installed."""
    (tmp_path / "plugin_for_tests.py").write_text(PLUGIN)
    info = tmp_path / "plugin_for_tests-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-for-tests\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "oodometer", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


def test_methods_of_a_plugin_are_listed_and_a_broken_one_is_left_out(installed: Path) -> None:
    done = run(installed, "methods", "--json")
    assert done.returncode == 0, done.stderr
    names = {m["name"] for m in json.loads(done.stdout)["methods"]}
    assert {"first_probability", "half", "atc"} <= names
    assert "broken" not in names
    assert "broken" in done.stderr


def test_a_plugin_estimator_runs_by_default_and_a_plugin_score_by_name(
    installed: Path, tmp_path: Path
) -> None:
    rows = ["prob_a,prob_b,label"] + ["0.9,0.1,a", "0.4,0.6,a"] * 30
    (tmp_path / "reference.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "target.csv").write_text("\n".join(r.rpartition(",")[0] for r in rows) + "\n")
    files = [str(tmp_path / "reference.csv"), str(tmp_path / "target.csv")]
    found = json.loads(run(installed, "estimate", *files, "--json", "-").stdout)
    assert {e["method"]: e["value"] for e in found["estimates"]}["half"] == 0.5
    named = run(installed, "estimate", *files, "--json", "-", "--method", "threshold:first_probability")
    assert json.loads(named.stdout)["estimates"][0]["value"] == 0.5
