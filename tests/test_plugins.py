"""A plugin package adds methods through entry points; a broken one is left out with a warning."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
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
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", "oodometer", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=120, check=False
    )


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
    named = run(
        installed, "estimate", *files, "--json", "-", "--method", "threshold:first_probability"
    )
    assert json.loads(named.stdout)["estimates"][0]["value"] == 0.5


# ------------------------------------------------------------------------------------------ bad plugins

BAD = '''"""Methods that fail in every way."""
import sys
from dataclasses import replace

import numpy as np

from oodometer.calibrators.base import Calibrator
from oodometer.estimators import Estimator, Sums
from oodometer.metrics import Metric
from oodometer.results import Estimate, Interval
from oodometer.scores import Score
from oodometer.simulations import Simulation


class Good(Estimator):
    """One half."""

    name = "good"
    needs = ()
    assumes = "a coin was thrown"
    citation = "guo2017"

    def _fit(self, reference):
        pass

    def summarize(self, batch):
        return Sums(rows=len(batch))

    def finish(self, state):
        return self._estimate(state, 0.5, 0.0, 1.0)


class AtInit(Good):
    name = "at-init"

    def __init__(self, **options):
        raise RuntimeError("no start")


class AtFit(Good):
    name = "at-fit"

    def _fit(self, reference):
        raise ZeroDivisionError("in fit\\x1b[2J")


class FitsNothing(Good):
    name = "fits-nothing"

    def fit(self, *references):
        return None


class AtWhyNot(Good):
    name = "at-why-not"

    def why_not(self, record):
        if record.label is None:
            raise LookupError("in why_not")


class AtSummarize(Good):
    name = "at-summarize"

    def summarize(self, batch):
        raise MemoryError


class SumsNothing(Good):
    name = "sums-nothing"

    def summarize(self, batch):
        return None


class AtMerge(Good):
    name = "at-merge"

    def merge(self, a, b):
        raise RuntimeError("in merge")


class AtFinish(Good):
    name = "at-finish"

    def finish(self, state):
        raise KeyError("in finish")


class Leaves(Good):
    name = "leaves"

    def finish(self, state):
        sys.exit(7)


class GivesNan(Good):
    name = "gives-nan"

    def finish(self, state):
        return self._estimate(state, float("nan"), 0.0, 1.0)


class GivesInf(Good):
    name = "gives-inf"

    def finish(self, state):
        return replace(super().finish(state), value=float("inf"), upper=float("inf"))


class GivesTwo(Good):
    name = "gives-two"

    def finish(self, state):
        return replace(super().finish(state), value=2.0, upper=3.0)


class OutOfOrder(Good):
    name = "out-of-order"

    def finish(self, state):
        return replace(super().finish(state), lower=0.7, upper=0.9)


class GivesText(Good):
    name = "gives-text"

    def finish(self, state):
        return "0.5"


class NoJson(Good):
    name = "no-json"

    def finish(self, state):
        return replace(super().finish(state), details={"what": object()})


class NanScore(Score):
    """Nothing but NaN."""

    name = "nan-score"
    needs = ("probabilities",)
    citation = "guo2017"

    def _score(self, record):
        return np.full(len(record), np.nan)


class Count(Metric):
    """How many rows."""

    name = "count"
    needs = (("label",),)
    bigger_is_better = True
    citation = "guo2017"

    def summarize(self, batch):
        return len(batch)

    def merge(self, a, b):
        return a + b

    def finish(self, state, level=0.95, seed=0):
        return Interval(0.5, 0.0, 1.0, level, "exact")


class CountFails(Count):
    name = "count-fails"

    def finish(self, state, level=0.95, seed=0):
        raise ValueError("in finish")


class CountNan(Count):
    name = "count-nan"

    def finish(self, state, level=0.95, seed=0):
        return float("nan")


class CountOutside(Count):
    name = "count-outside"

    def finish(self, state, level=0.95, seed=0):
        return Interval(5.0, 5.0, 5.0, level, "exact")


class CountThief(Count):
    name = "count-thief"
    state_key = "brier"

    def summarize(self, batch):
        return "not what Brier needs"


class CountOdd(Count):
    name = "count-odd"
    gives = "picture"


class AtDraw(Simulation):
    """Fails."""

    name = "at-draw"
    about = "fails"
    severities = (0.5, 1.0)

    def draw(self, pool, severity, rng):
        raise RuntimeError("in draw")


class Flat(Calibrator):
    """All the same, and no probabilities."""

    name = "flat"
    citation = "guo2017"

    def _fit(self, reference):
        pass

    def _calibrate(self, record):
        return replace(record, probabilities=np.full_like(record.probabilities, np.nan), _cache={})
'''
BAD_ESTIMATORS = [
    "AtInit", "AtFit", "FitsNothing", "AtWhyNot", "AtSummarize", "SumsNothing", "AtMerge", "AtFinish", "Leaves",
    "GivesNan", "GivesInf", "GivesTwo", "OutOfOrder", "GivesText", "NoJson",
]  # fmt: skip
BAD_METRICS = ("CountFails", "CountNan", "CountOutside", "CountThief", "CountOdd")
WIDE_BAD_ROWS = 200_000  # more than a batch, so that states are merged


def hyphened(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).strip("-")


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like site-packages with bad plugins, and files beside them."""
    folder = tmp_path_factory.mktemp("bad")
    (folder / "bad_plugin.py").write_text(BAD)
    (folder / "leaves_at_import.py").write_text("raise SystemExit(3)\n")
    info = folder / "bad_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-plugin\nVersion: 1.0\n")
    groups = {
        "estimators": ("Good", *BAD_ESTIMATORS), "metrics": ("Count", *BAD_METRICS), "scores": ("NanScore",),
        "simulations": ("AtDraw",), "calibrators": ("Flat",),
    }  # fmt: skip
    lines = []
    for group, classes in groups.items():
        lines += [f"[oodometer.{group}]", *(f"{hyphened(c)} = bad_plugin:{c}" for c in classes)]
        if group == "estimators":
            lines += [
                "at-import = leaves_at_import:Nothing",
                "no-class = bad_plugin:BAD",
                "no-estimator = bad_plugin:Count",
            ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, 300)
    truth = np.where(rng.random(300) < p, "a", "b")
    rows = [f"{x:.4f},{1 - x:.4f},{y}" for x, y in zip(p.round(4), truth, strict=True)]
    (folder / "reference.csv").write_text("\n".join(["prob_a,prob_b,label", *rows]) + "\n")
    bare = [row.rpartition(",")[0] for row in rows]
    wide = "\n".join(bare * (WIDE_BAD_ROWS // len(bare)))
    (folder / "target.csv").write_text(f"prob_a,prob_b\n{wide}\n")
    return folder


def test_every_way_of_failing_is_a_skipped_method(bad: Path) -> None:
    files = [str(bad / "reference.csv"), str(bad / "target.csv")]
    done = run(bad, "estimate", *files, "--backtest", "none", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    found = json.loads(done.stdout)
    assert {"good", "source", "doc"} <= {e["method"] for e in found["estimates"]}
    why = {s["method"]: s["why"] for s in found["skipped"]}
    for name in [*map(hyphened, BAD_ESTIMATORS), "at-import", "no-class", "no-estimator"]:
        assert why[name].startswith(f"plugin {name} failed: "), name
        assert "\n" not in why[name]
    assert "SystemExit: 3" in why["at-import"]
    assert not any("\x1b" in line for line in done.stderr)


@pytest.mark.parametrize("name", ["at-fit", "leaves", "gives-nan", "at-merge"])
def test_one_that_is_asked_for_alone_ends_with_one_line(bad: Path, name: str) -> None:
    files = [str(bad / "reference.csv"), str(bad / "target.csv"), "--method", name]
    done = run(bad, "estimate", *files, "--backtest", "none")
    assert done.returncode == 2
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if "warning: plugin" not in line]
    assert len(lines) == 1
    assert f"plugin {name} failed" in lines[0]
    assert "\x1b" not in done.stderr
    shown = run(bad, "--debug", "estimate", *files, "--backtest", "none").stderr
    assert "Traceback" in shown
    assert "bad_plugin.py" in shown


def test_metrics_scores_simulations_and_calibrators_that_fail(bad: Path, tmp_path: Path) -> None:
    reference, target = str(bad / "reference.csv"), str(bad / "target.csv")
    found = json.loads(run(bad, "evaluate", reference, "--json", "-").stdout)
    assert {"accuracy", "brier", "count"} <= set(found["metrics"])
    why = {s["metric"]: s["why"] for s in found["skipped"]}
    for name in map(hyphened, BAD_METRICS):
        assert (
            name in why or name == "count-thief"
        )  # whose state is that of Brier, which it cannot spoil
    scored = run(
        bad, "estimate", reference, target, "--method", "threshold:nan-score", "--backtest", "none"
    )
    assert scored.returncode == 2
    assert "plugin nan-score failed: ValueError: gave nan" in scored.stderr
    flat = run(
        bad,
        "estimate",
        reference,
        target,
        "--calibrator",
        "flat",
        "--method",
        "doc",
        "--backtest",
        "none",
    )
    assert flat.returncode == 1
    assert "plugin flat failed" in flat.stderr
    tried = run(bad, "backtest", reference, "--method", "source", "--family", "at-draw", "--family", "none",
                "--repeats", "1", "--no-cache", "--json", "-")  # fmt: skip
    assert tried.returncode == 0, tried.stderr
    told = json.loads(tried.stdout)
    assert [row["family"] for row in told["rows"]] == ["none"]
    assert {"method": "at-draw", "why": "plugin at-draw failed: RuntimeError: in draw"} in told[
        "skipped"
    ]
