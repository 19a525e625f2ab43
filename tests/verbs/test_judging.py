"""`audit` of one file by its judges: columns of every kind, labels from columns and files, faults with remedies."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oodometer
from oodometer.errors import InputError, OodometerError, UsageError

from ..snapshots import assert_snapshot, raises_snapshot

RNG = np.random.default_rng(0)
GOOD = RNG.random(600) < 0.6
SAID = np.where(GOOD, RNG.random(600) < 0.9, RNG.random(600) < 0.4)
OTHER = np.where(GOOD, RNG.random(600) < 0.8, RNG.random(600) < 0.2)
LABELLED = np.arange(600) < 120
# Drawn here, so that no test changes what another one draws.
SOME_ROWS = RNG.permutation(600)[:120]
GRADES = np.where(SAID, 4, 2) + RNG.integers(0, 2, 600)
PEOPLES_GRADES = [
    float(3 + good + RNG.integers(0, 2)) if known else None
    for good, known in zip(GOOD, LABELLED, strict=True)
]
CHANGED = np.where(GOOD, RNG.random(600) < 0.5, RNG.random(600) < 0.4)
BETTER = np.where(RNG.random(600) < 0.7, GOOD, True)
SAID_OF_BETTER = np.where(BETTER, RNG.random(600) < 0.9, RNG.random(600) < 0.4)
ORDER = RNG.permutation(600)
WORSE = np.where(RNG.random(600) < 0.4, False, GOOD)
SAID_OF_WORSE = np.where(WORSE, RNG.random(600) < 0.9, RNG.random(600) < 0.4)
BOTH = {"judge": "passed", "labels": "human"}


def table(**more: Any) -> dict[str, Any]:
    human = [bool(good) if known else None for good, known in zip(GOOD, LABELLED, strict=True)]
    columns = {
        "id": [f"q{i}" for i in range(600)],
        "passed": SAID.tolist(),
        "second": OTHER.tolist(),
        "human": human,
    }
    return {**columns, "group": ["ab"[i % 2] for i in range(600)], **more}


def run(data: Any = None, **options: Any) -> Any:
    return oodometer.audit(table() if data is None else data, **{**BOTH, **options})


def test_the_corrected_rate_comes_first() -> None:
    result = run()
    assert result.estimate.method == "by-verdict"
    assert result.estimate.lower <= GOOD.mean() <= result.estimate.upper
    assert abs(result.estimate.value - GOOD.mean()) < abs(SAID.mean() - GOOD.mean())
    assert_snapshot(str(result))
    assert len(str(result).splitlines()) <= 24
    out = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert set(out["rate"]) == {"value", "lower", "upper", "level", "kind", "method"}
    assert {"judge", "methods", "bias", "labels_for_width", "labels", "label_only"} <= set(out)
    assert out["judge"]["counts"]["both_pass"] == int((SAID & GOOD)[:120].sum())
    assert {"intervals", "judges", "bias", "labels_for_width"} <= set(result.frames())


def test_a_saved_result_says_the_same_and_makes_a_page(tmp_path: Path) -> None:
    result = run(judge=["passed", "second"], by="group")
    saved = oodometer.load_result(result.save(tmp_path / "result.json"))
    assert str(saved) == str(result)
    page = result.save(tmp_path / "page.html").read_text()
    assert "How far can the judges be trusted?" in page
    assert len(str(result).splitlines()) <= 24


@pytest.mark.parametrize(
    "words",
    [
        ("pass", "fail"),
        ("Yes", "no"),
        ("1", "0"),
        ("correct", "incorrect"),
        ("A", "B"),
        ("win", "lose"),
        (2, 1),
    ],
)
def test_verdicts_in_all_words_are_the_same(words: tuple[Any, Any]) -> None:
    human = [
        None if not known else words[0] if good else words[1]
        for good, known in zip(GOOD, LABELLED, strict=True)
    ]
    data = table(passed=[words[0] if said else words[1] for said in SAID], human=human)
    scale = {"scale": (1, 2)} if words == (2, 1) else {}
    shift = 1 if scale else 0
    assert run(data, **scale).estimate.value == pytest.approx(run().estimate.value + shift)


def test_a_word_that_passes_can_be_named() -> None:
    data = table(passed=["fine" if said else "flawed" for said in SAID])
    with raises_snapshot(InputError) as error:
        run(data)
    assert error.value.row == 1
    assert run(data, judge="passed=fine").estimate == run().estimate


def test_votes_in_lists_are_judges_and_labels_may_stand_in_a_file(tmp_path: Path) -> None:
    votes = [[bool(a), bool(b)] for a, b in zip(SAID, OTHER, strict=True)]
    file = tmp_path / "human.jsonl"
    file.write_text(
        "".join(json.dumps({"id": f"q{i}", "correct": bool(GOOD[i])}) + "\n" for i in SOME_ROWS)
    )
    data = pa.table({"id": table()["id"], "votes": votes})
    result = run(data, judge="votes", labels=str(file))
    assert [judge.judge for judge in result.judges] == ["votes[0]", "votes[1]"]
    assert result.labels == 120
    assert result.estimate.lower <= GOOD.mean() <= result.estimate.upper
    frame = {"id": [f"q{i}" for i in SOME_ROWS], "correct": GOOD[SOME_ROWS]}
    assert run(data, judge="votes", labels=frame).estimate == result.estimate


def test_grades_have_a_mean_on_their_scale() -> None:
    result = run(table(passed=GRADES, human=PEOPLES_GRADES), scale=(1, 5))
    assert 3 < result.estimate.lower < result.estimate.upper < 5
    assert result.judges[0].correlation.lower > 0.2
    assert any(
        "--scale" in warning for warning in run(table(passed=GRADES, human=PEOPLES_GRADES)).warnings
    )
    with raises_snapshot(InputError):
        run(table(passed=GRADES, human=PEOPLES_GRADES), scale=(1, 4))


def test_all_labels_are_the_count_itself() -> None:
    result = run(table(human=GOOD.tolist()))
    assert (result.estimate.lower, result.estimate.upper, result.estimate.kind) == (
        GOOD.mean(),
        GOOD.mean(),
        "exact",
    )


def test_groups_and_clusters() -> None:
    result = run(by="group")
    assert {group["group"] for group in result.groups} == {"a", "b"}
    assert all(group["lower"] < group["value"] < group["upper"] for group in result.groups)
    wide = run(table(passage=[i // 4 for i in range(600)]), cluster="passage")
    assert {interval.method for interval in wide.intervals} == {"by-verdict", "labels-alone"}


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ({"passed": (~SAID).tolist()}, {}),
        ({}, {"judge": "human", "labels": "passed"}),
        ({}, {"labels": "passed"}),
        ({}, {"judge": "pased"}),
        ({}, {"labels": "humann"}),
        ({"human": [None] * 600}, {}),
        ({"passed": [None] * 600}, {}),
    ],
)
def test_faults_are_told_with_their_remedy(data: dict[str, Any], options: dict[str, Any]) -> None:
    with raises_snapshot(OodometerError):
        run(table(**data), **options)


def test_the_remedy_for_a_column_that_means_the_opposite_works() -> None:
    data = table(passed=(~SAID).tolist())
    with pytest.raises(InputError, match="passed=false"):
        run(data)
    assert run(data, judge="passed=false").estimate == run().estimate


def test_a_judge_that_says_one_thing_leaves_the_labels_alone() -> None:
    result = run(table(passed=[True] * 600))
    assert result.estimate.method == "labels-alone"
    assert any("corrects nothing" in warning for warning in result.warnings)


def test_labels_of_passed_rows_alone_are_said_to_be_no_sample() -> None:
    human = [
        bool(good) if said and i < 300 else None
        for i, (good, said) in enumerate(zip(GOOD, SAID, strict=True))
    ]
    result = run(table(human=human))
    assert result.not_random
    assert result.estimate.kind == "conditional"
    assert result.estimate.lower <= GOOD.mean() <= result.estimate.upper
    assert any("--suggest" in warning for warning in result.warnings)


def test_rows_are_suggested_without_the_verdicts_and_come_back(tmp_path: Path) -> None:
    sheet = tmp_path / "rows.csv"
    first = run(table(human=[None] * 600), suggest=80, out=sheet)
    assert first.estimate is None
    assert_snapshot(str(first))
    with sheet.open() as file:
        rows = list(csv.DictReader(file))
    assert not {"passed", "human"} & set(rows[0])
    for row in rows:
        row["correct"] = str(bool(GOOD[int(row["row"])])).lower()
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    result = run(table(human=[None] * 600), labels=["human", str(sheet)])
    assert result.labels == 80
    assert result.estimate.lower <= GOOD.mean() <= result.estimate.upper


def test_two_runs_say_whether_the_judge_changed() -> None:
    new = table(passed=CHANGED.tolist())
    changed = oodometer.audit(table(), new, **BOTH)
    assert {change.column: change.corrected < 0.05 for change in changed.changed} == {
        "sensitivity": True,
        "false alarms": False,
    }
    assert "does not carry over" in str(changed) or "do not carry over" in str(changed)
    assert_snapshot(str(oodometer.audit(table(), table(), **BOTH)))
    del new["human"]
    with pytest.raises(UsageError, match=r"oodometer\.estimate"):
        oodometer.audit(table(), new, **BOTH)


def test_error_rates_carry_over_to_a_run_without_labels() -> None:
    old = {name: column[:300] for name, column in table(human=GOOD.tolist()).items()}
    new = {name: column[300:] for name, column in table().items() if name != "human"}
    result = oodometer.estimate(old, new, **BOTH)
    assert result.headline.method == "votes-corrected"
    assert result.headline.lower <= GOOD[300:].mean() <= result.headline.upper
    assert "err" in result.headline.assumes


def test_two_models_under_one_judge_have_a_corrected_difference() -> None:
    better, said, order = BETTER, SAID_OF_BETTER, ORDER
    human = [bool(good) if known else None for good, known in zip(better, LABELLED, strict=True)]
    one, other = table(), table(passed=said.tolist(), human=human)
    other = {name: [column[i] for i in order] for name, column in other.items()}  # joined by id
    result = oodometer.compare([one, other], names=["one", "other"], **BOTH)
    truth = better.mean() - GOOD.mean()
    assert result.estimate.lower <= truth <= result.estimate.upper
    assert result.estimate.lower > 0
    text = str(result)
    assert_snapshot(text)
    assert result.to_dict()["difference"]["b"] == "other"
    back = oodometer.compare([other, one], names=["other", "one"], **BOTH)
    assert back.estimate.value == pytest.approx(-result.estimate.value)
    few = {name: column[:500] for name, column in one.items()}
    assert any(
        "left out" in warning for warning in oodometer.compare([few, other], **BOTH).warnings
    )


@pytest.mark.parametrize(
    "models",
    [
        [table()] * 3,
        [table(), table(human=[None] * 600)],
        [{"passed": [True, False], "human": [True, None]}, {"passed": [True], "human": [True]}],
    ],
)
def test_faults_of_two_models_under_one_judge(models: list[Any]) -> None:
    with raises_snapshot(OodometerError):
        oodometer.compare(models, **BOTH)


def test_labels_of_either_file_count_and_the_population_is_said() -> None:
    human = [bool(good) if 100 <= i < 220 else None for i, good in enumerate(GOOD)]
    other = table(passed=OTHER.tolist(), human=human)
    result = oodometer.compare([table(), other], names=["one", "other"], **BOTH)
    assert result.label_counts == {"a": 120, "b": 120, "both": 20}
    assert result.labels == 220
    assert result.population == "system"
    assert result.estimate.lower <= 0 <= result.estimate.upper  # people say the same of both
    shared = {**other, "human": [h if i < 120 else None for i, h in enumerate(human)]}
    few = oodometer.compare([{**table(), "human": shared["human"]}, shared], **BOTH)
    assert few.label_counts == {"a": 20, "b": 20, "both": 20}
    assert result.estimate.interval.width < few.estimate.interval.width
    assert_snapshot(str(result))
    assert_snapshot(result.warnings)
    rows = oodometer.compare([table(), other], target="rows", **BOTH)
    assert rows.population == "rows"
    assert rows.estimate.interval.width <= result.estimate.interval.width
    back = oodometer.compare([other, table()], **BOTH)
    assert back.estimate.value == pytest.approx(-result.estimate.value)


def test_all_rows_labelled_are_certain_of_themselves_and_not_of_the_system() -> None:
    better = np.where(np.arange(600) < 12, True, GOOD)
    files = [table(human=GOOD.tolist()), table(human=better.tolist())]
    system = oodometer.compare(files, **BOTH)
    plain = oodometer.compare(
        [{"id": table()["id"], "correct": truth.tolist()} for truth in (GOOD, better)]
    )
    assert system.estimate.method == "paired"
    assert system.estimate.lower == pytest.approx(plain.difference["lower"])
    assert system.estimate.upper == pytest.approx(plain.difference["upper"])
    rows = oodometer.compare(files, target="rows", **BOTH)
    assert rows.estimate.lower == rows.estimate.upper == pytest.approx((better != GOOD).mean())


def test_a_gate_over_judged_models_and_a_word_that_is_no_population() -> None:
    worse, said = WORSE, SAID_OF_WORSE
    human = [bool(good) if known else None for good, known in zip(worse, LABELLED, strict=True)]
    files = [table(), table(passed=said.tolist(), human=human)]
    result = oodometer.compare(files, fail_drop=0.02, **BOTH)
    assert result.gate.verdict == "worse"
    assert result.gate.difference.upper == pytest.approx(result.estimate.upper)
    assert str(result).splitlines()[2].strip().startswith("Gate: ")
    assert result.to_dict()["gate"]["verdict"] == "worse"
    with raises_snapshot(UsageError):
        oodometer.compare(files, target="both", **BOTH)
    with pytest.raises(UsageError, match="anytime"):
        oodometer.compare(files, fail_drop=0.02, anytime=True, **BOTH)


def test_a_judge_that_agrees_less_than_chance_is_named() -> None:
    good = np.arange(40) % 2 == 0
    said = np.where(np.arange(40) % 7 < 2, good, ~good)  # right in 8 of 28
    human = [bool(g) if i < 28 else None for i, g in enumerate(good)]
    result = oodometer.audit({"passed": said.tolist(), "human": human}, **BOTH)
    assert_snapshot(result.warnings)


def test_one_file_needs_a_judge() -> None:
    with pytest.raises(UsageError, match=r"judge=COLUMN"):
        oodometer.audit(table())
