"""Accuracy as an assertion: what passes, what fails and says why, in plain code and by the fixture of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.errors import UsageError
from oodometer.results.estimation import Estimation
from oodometer.testing import TooLow, assert_accuracy, example_record

from ..snapshots import raises_snapshot

pytest_plugins = ["pytester"]


@pytest.fixture(scope="module")
def found() -> Estimation:
    """An estimation with two slices, of which one is harder."""
    easy, hard = example_record(300, seed=2), example_record(300, seed=3, difficulty=2.5)

    def rows(*records: Any, labelled: bool) -> dict[str, Any]:
        made: dict[str, Any] = {
            "probabilities": np.concatenate([one.probabilities for one in records])
        }
        made["place"] = np.repeat(
            [f"p{i}" for i in range(len(records))], [len(one.probabilities) for one in records]
        )
        return made | (
            {"label": np.concatenate([one.label for one in records])} if labelled else {}
        )

    reference = rows(example_record(600, seed=1), labelled=True)
    return oodometer.estimate(
        reference, rows(easy, hard, labelled=False), by="place", backtest=None, methods=["cbpe"]
    )


def test_a_promise_that_holds_gives_the_estimation_back(found: Estimation) -> None:
    lowest = min(part.headline.value for part in found.slices)
    assert assert_accuracy(found, at_least=lowest) is found
    assert assert_accuracy(found, drop_at_most=found.reference["accuracy"] - lowest + 1e-9) is found


def test_one_that_does_not_tells_number_trust_and_the_worst_slices_first(found: Estimation) -> None:
    with pytest.raises(TooLow) as caught:
        assert_accuracy(found, at_least=0.999)
    lines = str(caught.value).splitlines()
    assert caught.value.found is found
    assert lines[0] == f"accuracy is estimated at {100 * found.headline.value:.1f} %, below 99.9 %"
    assert lines[1] == "accuracy is estimated too low, below 99.9 %, in 2 of 2 slices"
    assert any(line.startswith(f"  trust {found.headline.trust}: ") for line in lines)
    worst = [line.split(":")[0].strip() for line in lines if line.startswith("    slice")]
    assert worst == ["slice p1", "slice p0"]


def test_a_slice_may_fail_where_the_whole_holds(found: Estimation) -> None:
    low, high = sorted(part.headline.value for part in found.slices)
    assert low < found.headline.value < high
    with raises_snapshot(TooLow):
        assert_accuracy(found, at_least=(low + found.headline.value) / 2)


def test_the_end_that_is_asked_for_is_the_one_that_counts(found: Estimation) -> None:
    lower = min(found.headline.lower, *(part.headline.lower for part in found.slices))
    value = min(part.headline.value for part in found.slices)
    assert lower < value
    assert_accuracy(found, at_least=lower, end="lower")
    with raises_snapshot(TooLow):
        assert_accuracy(found, at_least=found.headline.value, end="lower")
    with pytest.raises(TooLow):
        assert_accuracy(found, at_least=value + 1e-9)
    assert_accuracy(found, at_least=value + 1e-9, end="upper")


def test_other_metrics_are_asked_for_and_held_to_the_limit() -> None:
    reference, target = example_record(400, seed=1), example_record(300, seed=2).without_labels()
    found = assert_accuracy(
        reference, target, at_least=0.3, metric="f1", backtest=None, methods=["cbpe"]
    )
    (value,) = (one.value for one in found.metrics.values())
    with pytest.raises(TooLow, match=rf"^f1 is estimated at {value:.3f}, below 0.999\n"):
        assert_accuracy(found, at_least=0.999, metric="f1")


def test_too_little_trust_fails(found: Estimation) -> None:
    assert found.headline.trust != "high"
    with raises_snapshot(TooLow):
        assert_accuracy(found, at_least=0.0, trust="high")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "say what passes"),
        ({"at_least": 90}, "expected at_least to be a fraction"),
        ({"drop_at_most": "2 %"}, "expected drop_at_most to be a number"),
        ({"at_least": 0.9, "end": "middle"}, "expected end to be value, lower or upper"),
        ({"at_least": 0.9, "trust": "some"}, "expected trust to be none, low or high"),
        ({"at_least": 0.9, "metric": "f2"}, "there is no estimate of 'f2'; there is accuracy"),
        ({"at_least": 0.9, "every": "7d"}, "takes no target and no options"),
    ],
)
def test_wrong_arguments_are_no_failed_assertion(
    found: Estimation, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        assert_accuracy(found, **given)
    with pytest.raises(UsageError, match="expected a reference and a target"):
        assert_accuracy("reference.csv", at_least=0.9)


TESTS = """
OPTIONS = {"methods": ["cbpe"], "backtest": None}
def test_holds(assert_accuracy):
    assert assert_accuracy("r.parquet", "t.parquet", at_least=0.3, **OPTIONS).headline.value > 0.3
def test_falls(assert_accuracy):
    assert_accuracy("r.parquet", "t.parquet", at_least=0.99, **OPTIONS)
"""


def test_the_fixture_shows_the_message_alone_and_leaves_the_numbers(
    pytester: pytest.Pytester, pytestconfig: pytest.Config
) -> None:
    pytester.makepyfile(TESTS)
    for name, record in (
        ("r", example_record(300, seed=1)),
        ("t", example_record(300, seed=2, difficulty=2.0)),
    ):
        oodometer.write(
            record.without_labels() if name == "t" else record, pytester.path / f"{name}.parquet"
        )
    # Installed, it is there by itself; from a folder of sources it has to be named.
    names = {getattr(one, "__name__", "") for one in pytestconfig.pluginmanager.get_plugins()}
    plugin = [] if "pytest_oodometer" in names else ["-p", "pytest_oodometer"]
    result = pytester.runpytest_inprocess(
        *plugin, "-p", "no:cacheprovider", "-p", "no:xdist", "--junitxml=out.xml"
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["E *TooLow: accuracy is estimated at * %, below 99.0 %", "E * trust none: *"]
    )
    result.stdout.no_fnmatch_line("*testing/accuracy.py:*: *")
    xml = (pytester.path / "out.xml").read_text()
    assert xml.count('name="oodometer.accuracy.value"') == 2


def test_pytest_starts_without_the_package(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\ndef test(): assert not {'numpy', 'oodometer', 'pyarrow'} & set(sys.modules)\n"
        "def test_plugin(): assert 'pytest_oodometer' in sys.modules\n"
    )
    code = "import sys, pytest, pytest_oodometer; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', sys.argv[1]]))"
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
