"""Alarms: what must not be undercut, decided by the headline, told in a line each, and by the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import estimate
from oodometer.cli import main
from oodometer.errors import UsageError
from oodometer.headline.alarms import Watched, alarm_rules, chance_below, decide, judge_alarms
from oodometer.headline.natural_shifts import verdict_of
from oodometer.predictions import Predictions
from oodometer.results import Interval
from oodometer.results.alarms import AlarmRule
from oodometer.store import write_predictions

from ..snapshots import assert_snapshot, raises_snapshot

LOW = Interval(0.90, 0.80, 0.94, 0.95, "empirical")


# ------------------------------------------------------------------------------------------ deciding


@pytest.mark.parametrize(
    ("when", "bound", "verdict"),
    [
        ("default", 0.91, "holds"),  # 69 %
        ("default", 0.911, "fails"),  # 71 %
        ("value", 0.90, "holds"),  # at the bound is no failure
        ("value", 0.901, "fails"),
        ("upper", 0.94, "holds"),
        ("upper", 0.941, "fails"),
        ("likely", 0.91, "holds"),
        ("likely", 0.92, "fails"),  # 84 %
    ],
)
def test_what_an_alarm_is_judged_by(when: Any, bound: float, verdict: str) -> None:
    assert decide(AlarmRule("f1", "below", bound), LOW, 0.95, when=when) == verdict
    drop = AlarmRule("f1", "drop", 0.05)
    assert decide(drop, LOW, bound + 0.05 - 1e-12, when=when) == verdict


def test_what_changed_by_chance_is_no_alarm_unless_the_reference_fails_as_well() -> None:
    rule = AlarmRule("accuracy", "below", 0.93)
    said = [decide(rule, LOW, 0.95, changed=p) for p in (None, 0.05, 0.0501)]
    assert said == ["fails", "fails", "by chance"]
    assert decide(rule, LOW, 0.92, changed=1.0) == "fails"  # nothing has to change for that
    assert decide(rule, LOW, 0.93, changed=1.0) == "by chance"
    assert decide(AlarmRule("accuracy", "drop", 0.02), LOW, 0.95, changed=1.0) == "by chance"


def test_a_known_chance_goes_before_that_of_the_interval() -> None:
    rule = AlarmRule("accuracy", "below", 0.85)
    assert verdict_of(chance_below(LOW, 0.85)) == "cannot say"
    assert decide(rule, LOW, 0.95, chance=0.8, when="likely") == "fails"
    part = Watched({"name": "target"}, 9, {"accuracy": LOW}, {"accuracy": lambda bound: 0.123})
    rules = (rule, AlarmRule("accuracy", "below", 0.95))
    found = judge_alarms(rules, [part], {"accuracy": 0.99}, when="value")
    assert [(one.chance, one.bound) for one in found.where] == [(0.123, 0.95)]
    assert (
        judge_alarms(rules, [part], {"accuracy": 0.99}).where == ()
    )  # what is 12 % likely wakes nobody by default


@given(
    st.tuples(*[st.floats(0, 1)] * 3).map(sorted),
    st.lists(st.floats(0, 1), min_size=2, max_size=6).map(sorted),
    st.sampled_from(["default", "value", "likely", "upper"]),
)
def test_a_higher_bound_never_ends_an_alarm(
    ends: list[float], bounds: list[float], when: Any
) -> None:
    interval = Interval(ends[1], ends[0], ends[2], 0.9, "empirical")
    chances = [chance_below(interval, bound) for bound in bounds]
    assert chances == sorted(chances)
    assert all(0 <= one <= 1 for one in chances)
    fails = [
        decide(AlarmRule("f1", "below", b), interval, 0.5, when=when) == "fails" for b in bounds
    ]
    assert fails == sorted(fails)


def test_every_rule_of_every_part() -> None:
    high = Interval(0.97, 0.95, 0.99, 0.95, "empirical")
    parts = [
        Watched({"name": name, "by": "shop", "slice": name}, 10, {"accuracy": one}, {}, changed)
        for name, one, changed in (("north", LOW, 1e-9), ("south", high, 1e-9), ("west", LOW, 0.7))
    ]
    found = judge_alarms(
        alarm_rules(0.92, {"accuracy": 0.03}), parts, {"accuracy": 0.96}, kind="slice"
    )
    assert [(one.place["name"], one.rule.kind) for one in found.where] == [
        ("north", "below"),
        ("north", "drop"),
    ]
    assert {one.place["name"] for one in found.by_chance} == {"west"}
    lines = found.lines()
    assert_snapshot(lines[0])
    assert_snapshot(lines[1])
    assert_snapshot(lines[2])
    assert found.to_dict()["where"][0]["slice"] == "north"
    calm = judge_alarms(alarm_rules(0.5, None), parts, {"accuracy": 0.96}, kind="slice")
    assert (bool(calm), calm.lines()) == (False, ["No alarm in 3 slices: accuracy below 50 %"])


@pytest.mark.parametrize(
    ("below", "drop"),
    [
        (93, None),
        (-0.1, None),
        (None, -0.02),
        ({"auprc": 0.5}, None),
    ],
)
def test_bounds_that_make_no_sense(below: Any, drop: Any) -> None:
    with raises_snapshot(UsageError):
        alarm_rules(below, drop)


# ------------------------------------------------------------------------------------------ from raw files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is 91 % right on the reference and in February, and asked on a much harder March."""
    folder = tmp_path_factory.mktemp("alarms")
    rng = np.random.default_rng(0)

    def rows(count: int, sure: float) -> tuple[np.ndarray, np.ndarray]:
        p = rng.beta(sure, 1, count) * 0.5 + 0.5
        p = np.where(rng.uniform(size=count) < 0.5, p, 1 - p)
        return np.stack([1 - p, p], axis=1), (rng.uniform(size=count) < p).astype(int)

    p, label = rows(1500, 4.0)
    write_predictions(
        Predictions.from_arrays(probabilities=p, label=label), folder / "reference.csv"
    )
    parts = [rows(600, 4.0)[0], rows(600, 0.4)[0]]
    days = [
        np.resize(np.arange(f"2024-0{m}-01", f"2024-0{m + 1}-01", dtype="M8[D]"), 600)
        for m in (2, 3)
    ]
    target = Predictions.from_arrays(probabilities=np.concatenate(parts), time=np.concatenate(days))
    write_predictions(target, folder / "target.csv")
    return folder


def ask(files: Path, *more: str) -> list[str]:
    base = [
        "estimate",
        f"{files}/reference.csv",
        f"{files}/target.csv",
        "--every",
        "month",
        "--backtest",
        "none",
    ]
    return [*base, "--method", "ac", "--method", "doc", "--method", "source", *more]


def test_an_alarm_is_told_and_ends_in_3_with_everything_written(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    assert main(ask(files, "--fail-drop", "0.05", "--fail-below", "0.8", "--json", str(out))) == 3
    shown = capsys.readouterr().out.splitlines()
    failing = [line for line in shown if line.startswith("ALARM ")]
    assert [line.split(":")[0] for line in failing] == ["ALARM 2024-03"] * 2
    assert_snapshot(shown)
    alarms = json.loads(out.read_text())["alarms"]
    assert (alarms["raised"], alarms["when"], alarms["judged"], alarms["of"]) == (
        True,
        "default",
        2,
        "chunk",
    )
    assert alarms["rules"] == [
        {"metric": "accuracy", "rule": "below", "amount": 0.8},
        {"metric": "accuracy", "rule": "drop", "amount": 0.05},
    ]
    one = alarms["where"][0]
    assert (one["name"], one["start"], one["end"], one["rows"]) == (
        "2024-03",
        "2024-03-01",
        "2024-04-01",
        600,
    )
    assert one["value"] < one["bound"] == 0.8
    assert 0.5 < one["p"] <= 1


def test_no_alarm_ends_in_0_and_says_so(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ask(files, "--fail-below", "0.3")) == 0
    assert_snapshot(capsys.readouterr().out)
    assert main(ask(files)) == 0
    assert "alarm in" not in capsys.readouterr().out.lower().replace("(alarm)", "")


def test_standard_output_stays_json_and_quiet_stays_quiet(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(ask(files, "--fail-below", "0.8", "--json", "-")) == 3
    told = capsys.readouterr()
    assert json.loads(told.out)["alarms"]["raised"] is True
    assert told.err.startswith("ALARM 2024-03: accuracy")
    assert main(ask(files, "--fail-below", "0.8", "--quiet")) == 3
    told = capsys.readouterr()
    assert (told.out, told.err.count("ALARM")) == ("", 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--fail-below", "93"), "divide percents by 100"),
        (("--fail-drop=-0.1",), "a drop of accuracy between 0 and 1"),
        (("--fail-below", "low"), "expected --fail-below NUMBER or METRIC=NUMBER"),
        (("--fail-below", "nan"), "expected --fail-below NUMBER or METRIC=NUMBER"),
        (
            ("--fail-below", "0.9", "--fail-below", "0.8"),
            "--fail-below is given twice for accuracy",
        ),
        (
            ("--fail-below", "0.9", "--fail-when", "never"),
            "--fail-when: expected one of default, value, likely, upper",
        ),
        (
            ("--fail-below", "0.9", "--every", "fortnight"),
            "expected chunks such as day, week, month",
        ),
    ],
)
def test_bad_rules_end_in_2(
    files: Path, given: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(ask(files, *given)) == 2
    assert message in capsys.readouterr().err


def test_in_python(files: Path) -> None:
    asked: dict[str, Any] = {"methods": ["ac", "doc"], "backtest": None}
    found = estimate(files / "reference.csv", files / "target.csv", fail_below=0.99, **asked)
    assert found.alarms.raised
    assert found.alarms.where[0].place == {"name": "target"}
    assert_snapshot(repr(found))
    assert found.alarms.where[0].chance == pytest.approx(1.0, abs=0.05)
    assert estimate(files / "reference.csv", files / "target.csv", **asked).alarms is None
    with raises_snapshot(UsageError):
        estimate(files / "reference.csv", files / "target.csv", fail_below="0.9", **asked)


def test_a_metric_besides_the_accuracy(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is estimated because the alarm asks for it, by any of its names."""
    asked = [
        "estimate",
        f"{files}/reference.csv",
        f"{files}/target.csv",
        "--every",
        "month",
        "--backtest",
        "none",
    ]
    assert (
        main(
            [
                *asked,
                "--method",
                "cbpe",
                "--fail-below",
                "AUC=0.9",
                "--fail-drop",
                "f1=0.5",
                "--json",
                "-",
            ]
        )
        == 3
    )
    told = capsys.readouterr()
    alarms = json.loads(told.out)["alarms"]
    assert [(rule["metric"], rule["rule"], rule["amount"]) for rule in alarms["rules"]] == [
        ("roc_auc", "below", 0.9),
        ("f1", "drop", 0.5),
    ]
    assert [(one["name"], one["metric"]) for one in alarms["where"]] == [("2024-03", "roc_auc")]
    assert (
        alarms["where"][0]["value"]
        == json.loads(told.out)["chunks"][1]["metrics"]["roc_auc"]["value"]
    )
    assert_snapshot(told.err)
    assert main([*asked, "--fail-below", "f2=0.9"]) == 2
    with raises_snapshot(UsageError):
        alarm_rules({"mcc": -2}, None, ("mcc",))


def test_a_metric_without_an_estimate_is_said() -> None:
    part = Watched({"name": "north"}, 10, {"accuracy": LOW}, {})
    found = judge_alarms(
        alarm_rules({"f1": 0.9}, None, ("f1",)), [part], {"f1": 0.95}, kind="slice"
    )
    assert_snapshot(found.lines()[0])
