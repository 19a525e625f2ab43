"""The verb `estimate` on files and in memory: defaults, slices, chunks, labels, skips, edges, engines, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer import Estimation, Predictions, estimate
from oodometer.arrays import softmax
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.passes.plan import default_methods
from oodometer.registry import create
from oodometer.store import Part, Source, write_predictions
from oodometer.store.memory import RecordSource
from oodometer.testing import example_record

from ..snapshots import assert_snapshot, raises_snapshot

REFERENCE = example_record(600, seed=1)
TARGET = example_record(400, seed=2, difficulty=1.6)
UNLABELLED = TARGET.without_labels()


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a hundred rows, so that several of them are merged in every test."""
    monkeypatch.setattr("oodometer.verbs.target_plan.PART_ROWS", 100)


def fields_of(record: Predictions, *names: str, **more: Any) -> Predictions:
    """A record with only these fields, and others."""
    return Predictions.from_arrays(**({n: getattr(record, n) for n in names} | more))


def slim(record: Predictions) -> Predictions:
    return fields_of(record, *(n for n in ("probabilities", "label") if record.has(n)))


def as_json(found: Estimation) -> Any:
    """What a strict JSON reader gets; NaN and infinity would fail here."""
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


def numbers(found: Estimation) -> dict[str, tuple[float, float, float]]:
    return {e.method: (e.value, e.lower, e.upper) for e in found.estimates}


@cache
def usual(*, slim_only: bool = False) -> Estimation:
    """The estimate by default, which many tests compare theirs with: made once."""
    return (
        estimate(slim(REFERENCE), slim(UNLABELLED))
        if slim_only
        else estimate(REFERENCE, UNLABELLED)
    )


def same(one: Estimation, other: Estimation) -> None:
    """The same without labels; what some labels add stands beside it."""
    a, b = numbers(one), numbers(other)
    assert a.keys() == b.keys()
    for name in a:
        assert b[name] == pytest.approx(a[name], abs=1e-9), name
    here, there = (found.headline_without_labels or found.headline for found in (one, other))
    assert there.interval.value == pytest.approx(here.interval.value, abs=1e-9)


# ------------------------------------------------------------------------------------------ the usual case


def test_by_default_every_method_that_the_data_can_feed_is_run() -> None:
    found = usual()
    answered = [e.method for e in found.estimates]
    assert answered == [m for m in default_methods() if m in answered]
    assert {s.method for s in found.skipped} <= {"importance", "pape", "mandoline"}, (
        "these need overlap"
    )
    assert len(answered) + len(found.skipped) == len(default_methods())
    assert found.level == 0.95
    assert found.reference["rows"] == 600
    assert found.reference["accuracy"] == REFERENCE.accuracy
    assert found.reference["kind"] == "exact"
    assert found.target["rows"] == 400
    assert found.target["accuracy"] is None
    truth = TARGET.accuracy
    for e in found.estimates:
        assert 0 <= e.lower <= e.value <= e.upper <= 1
        assert e.rows == 400
    for name in ("ac", "doc", "atc", "cbpe", "im", "gde-difference"):
        assert found[name].value == pytest.approx(truth, abs=0.12), name
        assert found[name].value < REFERENCE.accuracy, "the target is harder"
    assert found.diagnosis.kind == "support", "noise on the features is new to the reference"
    assert found.headline.trust in ("low", "none")
    # where nothing overlaps the middle of three kinds of estimate answers, one of them a lower bound
    voices = [found[name].value for name in ("agreement", "threshold-distance", "dis2")]
    assert found.headline.interval.value == pytest.approx(np.median(voices))
    assert found.headline.interval.value == pytest.approx(truth, abs=0.16)
    assert found["dis2"].value <= truth, "a bound"
    assert found.headline.interval.lower <= truth <= found.headline.interval.upper


def test_what_the_verb_says_is_what_the_methods_say() -> None:
    found = estimate(REFERENCE, UNLABELLED, calibrator="none", level=0.9)
    refused = {s.method for s in found.skipped}
    for name in (m for m in default_methods() if m not in refused):
        alone = create("estimator", name, level=0.9).fit(REFERENCE).estimate(UNLABELLED)
        got = found[name]
        assert (got.value, got.lower, got.upper) == pytest.approx(
            (alone.value, alone.lower, alone.upper)
        ), name
        assert (got.score, got.kind, got.assumes) == (alone.score, alone.kind, alone.assumes)


@pytest.mark.parametrize("endings", [("parquet", "csv"), ("csv", "jsonl"), ("npz", "arrow")])
def test_files_give_what_memory_gives(endings: tuple[str, str], tmp_path: Path) -> None:
    paths = [tmp_path / f"reference.{endings[0]}", tmp_path / f"target.{endings[1]}"]
    for record, path in zip((slim(REFERENCE), slim(UNLABELLED)), paths, strict=True):
        write_predictions(record, path)
    found = estimate(*paths, workers=1)
    same(found, usual(slim_only=True))
    assert found.reference["name"] == str(paths[0])
    assert found.target["name"] == str(paths[1])
    assert found.target["rows"] == 400


def test_frames_and_mappings_give_what_records_give() -> None:
    import pandas as pd
    import polars as pl

    reference, target = slim(REFERENCE), slim(UNLABELLED)
    want = estimate(reference, target, methods=["source", "doc", "atc"])

    def columns(record: Predictions) -> dict[str, Any]:
        out: dict[str, Any] = {f"prob_{k}": record.probabilities[:, k] for k in range(4)}  # type: ignore[index]
        return out | ({"label": record.label} if record.has("label") else {})

    for make in (pd.DataFrame, pl.DataFrame, dict):
        same(
            want,
            estimate(
                make(columns(reference)), make(columns(target)), methods=["source", "doc", "atc"]
            ),
        )


def test_classes_are_matched_by_name_and_not_by_position() -> None:
    order = [2, 0, 3, 1]
    names = np.array(["a", "b", "c", "d"])
    reference = fields_of(
        REFERENCE, "probabilities", label=names[REFERENCE.label], classes=list("abcd")
    )
    turned = Predictions.from_arrays(
        probabilities=UNLABELLED.probabilities[:, order], classes=names[order].tolist()
    )  # type: ignore[index]
    straight = Predictions.from_arrays(probabilities=UNLABELLED.probabilities, classes=list("abcd"))
    same(estimate(reference, straight), estimate(reference, turned))


def test_renamed_columns() -> None:
    reference = {"p": REFERENCE.probabilities, "truth": REFERENCE.label}
    found = estimate(
        reference, {"p": UNLABELLED.probabilities}, mapping={"p": "probabilities", "truth": "label"}
    )
    same(found, usual(slim_only=True))


def test_columns_of_the_labels_are_renamed_too() -> None:
    labels = {"truth": TARGET.label}
    found = estimate(
        slim(REFERENCE),
        slim(UNLABELLED),
        labels=labels,
        mapping={"truth": "label"},
        methods=["doc"],
    )
    same(
        found,
        estimate(
            slim(REFERENCE), slim(UNLABELLED), labels={"label": TARGET.label}, methods=["doc"]
        ),
    )


def test_several_references_are_one() -> None:
    parts = [slim(REFERENCE).slice(a, b) for a, b in ((0, 100), (100, 101), (101, 600))]
    found = estimate(parts, slim(UNLABELLED))
    same(found, usual(slim_only=True))
    assert found.reference["rows"] == 600
    with raises_snapshot(UsageError):
        estimate([], UNLABELLED)


def test_the_public_face_has_the_verb() -> None:
    assert oodometer.estimate is estimate
    assert isinstance(estimate(REFERENCE, UNLABELLED, methods=["source"]), oodometer.Estimation)


# ------------------------------------------------------------------------------------------ methods


def test_methods_that_are_asked_for_come_in_that_order() -> None:
    wanted = ["votes", "threshold:vote_share", "source", "ac:vote_share", "ac"]
    found = estimate(REFERENCE, UNLABELLED, methods=wanted)
    assert [e.method for e in found.estimates] == wanted
    for name in wanted:
        assert found[name].method == name
    with raises_snapshot(UsageError):
        _ = found["doc"]


@pytest.mark.parametrize(
    "options",
    [
        {"methods": ["source", "atcc"]},
        {"methods": ["source", "threshold:margn"]},
        {"methods": ["ac:energy"]},
        {"methods": ["doc:margin"]},
        *({"level": level} for level in (0, 1, 95, -1)),
        {"by": "group", "every": "1d"},
        {"every": "daily"},
        {"every": "1d"},
        {"target_accuracies": [95]},
        {"calibrator": "temprature"},
        {"workers": 0},
        {"engine": "cloud"},
    ],
)
def test_calls_that_make_no_sense(options: dict[str, Any]) -> None:
    with raises_snapshot(UsageError):
        estimate(REFERENCE, UNLABELLED, **options)


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        (UNLABELLED, REFERENCE),
        (REFERENCE, UNLABELLED.slice(0, 0)),
        (REFERENCE, UNLABELLED),
    ],
)
def test_data_that_cannot_be_used(reference: Predictions, target: Predictions) -> None:
    with raises_snapshot(InputError):
        estimate(slim(reference), slim(target), methods=["gde", "votes"])


def test_methods_that_do_not_apply_are_skipped_with_a_reason() -> None:
    found = usual(slim_only=True)
    skipped = {s.method: s.why for s in found.skipped}
    assert_snapshot(skipped["gde"])
    assert_snapshot(skipped["gde-soft"])
    assert_snapshot(skipped["votes"])
    assert_snapshot(skipped["smoothness"])
    assert_snapshot(skipped["threshold:energy"])
    assert_snapshot(skipped["threshold-distance"])
    assert {e.method for e in found.estimates} | set(skipped) == set(default_methods())
    with raises_snapshot(UsageError):
        _ = found["gde"]


def test_what_the_target_lacks_is_skipped_too() -> None:
    target = fields_of(TARGET, "members", prediction=TARGET.predicted, classes=range(4))
    found = estimate(REFERENCE, target)
    assert {e.method for e in found.estimates} >= {"source", "gde", "gde-difference", "agreement"}
    assert not {e.method for e in found.estimates} & {
        "ac",
        "doc",
        "atc",
        "cbpe",
        "im",
        "sld",
        "cot",
        "dis2",
    }
    reasons = {s.method: s.why for s in found.skipped}
    assert_snapshot(reasons["doc"])
    assert found.risk_coverage is None
    assert found.confidence is None
    as_json(found)


def test_a_calibrator_does_not_stand_in_the_way_of_a_target_without_probabilities() -> None:
    z = np.log(REFERENCE.probabilities) * 4  # type: ignore[arg-type]
    reference = fields_of(REFERENCE, "label", "members", probabilities=softmax(z))
    target = fields_of(TARGET, "members", prediction=TARGET.predicted, classes=range(4))
    found = estimate(reference, target)
    assert found.calibration["name"] == "temperature"
    assert found["gde"].value > 0


def test_a_reference_with_probabilities_and_a_target_with_confidence() -> None:
    found = estimate(slim(REFERENCE), Predictions.from_confidence([0.5] * 10))
    assert {e.method for e in found.estimates} <= {"source", "mandoline"}
    assert_snapshot({s.method: s.why for s in found.skipped}["ac"])
    assert found.headline.trust in ("low", "none")


def test_slow_methods_wait_to_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oodometer.verbs.target_plan._SLOW", {"threshold-distance": 399})
    found = estimate(REFERENCE, UNLABELLED)
    assert_snapshot({s.method: s.why for s in found.skipped}["threshold-distance"])
    asked = estimate(REFERENCE, UNLABELLED, methods=["threshold-distance"])
    assert asked["threshold-distance"].value > 0


# ------------------------------------------------------------------------------------------ slices


def test_slices_are_small_targets() -> None:
    where, methods = (
        np.where(np.arange(400) < 300, "at home", "away").astype(object),
        ["source", "atc", "doc", "cbpe"],
    )
    target = fields_of(TARGET, "probabilities", columns={"where": where})
    found = estimate(slim(REFERENCE), target, by="where", methods=methods)
    places = [(p.place["by"], p.place["value"], p.rows) for p in found.slices]
    assert places == [("where", "at home", 300), ("where", "away", 100)]
    for part, rows in zip(found.slices, ((0, 300), (300, 400)), strict=True):
        alone = estimate(slim(REFERENCE), slim(UNLABELLED).slice(*rows), methods=methods)
        for e in part.estimates:
            want = alone[e.method]
            assert (e.value, e.lower, e.upper) == pytest.approx(
                (want.value, want.lower, want.upper)
            )
        assert part.truth is None
    whole = sum(part.rows * part.headline.interval.value for part in found.slices) / 400
    assert whole == pytest.approx(found.headline.interval.value), "they share what the whole knows"
    assert as_json(found)["slices"][1]["value"] == "away"
    assert found.chunks == ()


def test_slices_of_a_file_by_a_column_that_is_no_field(tmp_path: Path) -> None:
    import pandas as pd

    columns = {
        "prob_0": [0.9, 0.2, 0.7, 0.6],
        "prob_1": [0.1, 0.8, 0.3, 0.4],
        "shop": ["b", None, "a", "b"],
    }
    days_of = pd.to_datetime(["2026-01-02", "2026-01-02", "2026-01-03", None])
    frame = pd.DataFrame({**columns, "day": days_of})
    reference = {"probabilities": [[0.9, 0.1], [0.4, 0.6]] * 40, "label": [0, 0] * 40}
    for ending in ("parquet", "csv"):
        path = tmp_path / f"t.{ending}"
        getattr(frame, f"to_{ending}")(path, index=False)
        shops = as_json(estimate(reference, path, by="shop", methods=["ac"]))["slices"]
        assert [(s["value"], s["rows"]) for s in shops] == [("a", 1), ("b", 2), ("(missing)", 1)]
        days = as_json(estimate(reference, path, by="day", methods=["ac"]))["slices"]
        assert [(s["value"], s["rows"]) for s in days] == [
            ("2026-01-02", 2),
            ("2026-01-03", 1),
            ("(missing)", 1),
        ]


def test_slices_by_class_and_by_group() -> None:
    target = fields_of(TARGET, "probabilities", "group", classes=["a", "b", "c", "d"])
    reference = fields_of(
        REFERENCE,
        "probabilities",
        label=np.array(list("abcd"))[REFERENCE.label],
        classes=list("abcd"),
    )
    found = estimate(reference, target, by="prediction", methods=["ac"])
    counts = np.bincount(TARGET.predicted)
    assert {p.place["value"]: p.rows for p in found.slices} == {
        c: counts[k] for k, c in enumerate("abcd")
    }
    assert {
        p.place["value"] for p in estimate(reference, target, by="group", methods=["ac"]).slices
    } == {"even", "odd"}
    with raises_snapshot(UsageError):
        estimate(reference, target, by="features")
    with raises_snapshot(UsageError):
        estimate(reference, target, by="nowhere")


@pytest.mark.parametrize("parts", [50, 1000])
def test_a_column_of_identifiers_is_refused(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a target of one part as in one of many."""
    monkeypatch.setattr("oodometer.verbs.target_plan.PART_ROWS", parts)
    target = fields_of(TARGET, "probabilities", columns={"id": np.arange(400)})
    with raises_snapshot(UsageError):
        estimate(slim(REFERENCE), target, by="id", methods=["ac"])


# ------------------------------------------------------------------------------------------ chunks


def timed(counts: Iterable[int], unit: str = "D") -> Predictions:
    """So many rows on each day (or hour) from a Monday on."""
    days = np.repeat(np.arange(len(list(counts := list(counts)))), counts)
    start = np.datetime64("2026-01-05", unit)
    return fields_of(TARGET.slice(0, len(days)), "probabilities", "label", time=start + days)


def test_chunks_follow_each_other_in_time() -> None:
    target = timed([60, 50, 40])
    order = np.random.default_rng(0).permutation(150)
    for record in (target, target.take(order)):
        found = estimate(slim(REFERENCE), record, every="1d", methods=["source", "doc"])
        places = [(c.place["start"][-2:], c.place["end"], c.rows) for c in found.chunks]
        assert places == [
            ("05", "2026-01-06", 60),
            ("06", "2026-01-07", 50),
            ("07", "2026-01-08", 40),
        ]
        assert found.slices == ()
        middle = estimate(slim(REFERENCE), slim(UNLABELLED).slice(60, 110), methods=["doc"])
        assert found.chunks[1].estimates[1].value == pytest.approx(middle["doc"].value)
        assert found.chunks[1].truth is not None
        assert found.chunks[1].truth.value == pytest.approx(TARGET.slice(60, 110).accuracy)


@pytest.mark.parametrize(
    ("hours", "is_open"),
    [([24, 24, 24, 1], True), ([24, 23], True), ([24], False), ([1, 24], False)],
)
def test_an_unfinished_last_chunk_is_partial_and_leaves_the_one_before_as_it_was(
    hours: list[int], is_open: bool
) -> None:
    """A row an hour, of which so many hours of each day have come."""
    start = np.datetime64("2026-01-05", "h")
    time = np.concatenate([start + 24 * day + np.arange(many) for day, many in enumerate(hours)])
    target = fields_of(TARGET.slice(0, len(time)), "probabilities", "label", time=time)
    found = estimate(slim(REFERENCE), target, every="1d", methods=["source", "doc"])
    assert [c.rows for c in found.chunks] == hours
    last = found.chunks[-1]
    assert (last.name.endswith(" (partial)"), last.place.get("partial", False)) == (
        is_open,
        is_open,
    )
    assert last.place["end"] == str(np.datetime64("2026-01-05") + np.timedelta64(len(hours), "D"))
    joined = estimate(
        slim(REFERENCE), slim(UNLABELLED).slice(sum(hours) - hours[-1], sum(hours)), methods=["doc"]
    )
    assert last.estimates[1].value == pytest.approx(joined["doc"].value)


def test_hours_weeks_and_gaps() -> None:
    target = timed([30, 0, 0, 30], unit="h")
    found = estimate(slim(REFERENCE), target, every="90m", methods=["source"])
    assert [c.place["start"] for c in found.chunks] == [
        "2026-01-05T00:00:00",
        "2026-01-05T03:00:00",
    ]
    week = estimate(slim(REFERENCE), timed([20] * 9), every="1w", methods=["source"])
    assert [c.rows for c in week.chunks] == [140, 40]
    assert as_json(week)["chunks"][1]["end"] == "2026-01-19"


# ------------------------------------------------------------------------------------------ truth beside the estimate


def test_labels_of_the_target_change_no_estimate() -> None:
    hidden, shown = usual(), estimate(REFERENCE, TARGET)
    same(hidden, shown)
    assert shown.target["labelled"] == 400
    assert shown.target["accuracy"]["value"] == pytest.approx(TARGET.accuracy)
    assert shown.target["accuracy"]["kind"] == "exact"
    assert_snapshot(shown.warnings)
    assert not any("holds labels" in w for w in hidden.warnings)


def test_labels_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    cells = ["" if i % 4 else str(y) for i, y in enumerate(TARGET.label.tolist())]  # type: ignore[union-attr]
    path.write_text("label\n" + "\n".join(f'"{c}"' for c in cells) + "\n")
    known = TARGET.take(np.arange(400) % 4 == 0)
    given = [path, {"label": [None if i % 4 else int(y) for i, y in enumerate(TARGET.label)]}]  # type: ignore[arg-type]
    given.append({"correct": [None if i % 4 else bool(v) for i, v in enumerate(TARGET.verdicts)]})
    for labels in given:
        found = estimate(slim(REFERENCE), slim(UNLABELLED), labels=labels)
        assert found.target["labelled"] == 100
        assert found.target["accuracy"]["value"] == pytest.approx(known.accuracy)
        same(found, usual(slim_only=True))
        low, high = found.headline.interval.lower, found.headline.interval.upper
        without = found.headline_without_labels.interval
        assert found.headline.method == "prior and 100 labels"
        assert high - low < without.upper - without.lower
        assert low < known.accuracy < high


def test_labels_go_with_a_piece_of_a_record() -> None:
    piece = slim(UNLABELLED).slice(150, 350)
    found = estimate(
        slim(REFERENCE), piece, labels={"label": TARGET.label[150:350]}, methods=["source"]
    )  # type: ignore[index]
    assert found.target["accuracy"]["value"] == pytest.approx(TARGET.slice(150, 350).accuracy)


@pytest.mark.parametrize("count", [50, 399, 401, 500])
def test_as_many_labels_as_rows(count: int) -> None:
    with raises_snapshot(InputError):
        estimate(
            slim(REFERENCE), slim(UNLABELLED), labels={"label": [0] * count}, methods=["source"]
        )


def test_labels_without_predictions_do_no_harm() -> None:
    reference = Predictions.from_confidence([0.5, 0.9] * 50, correct=[0, 1] * 50)
    found = estimate(reference, Predictions.from_arrays(confidence=[0.5, 0.7], label=[0, 1]))
    assert found.target["labelled"] == 0
    assert found["atc"].value == 0


# ------------------------------------------------------------------------------------------ calibration


def test_overconfidence_is_cured_by_default() -> None:
    here, there = (softmax(np.log(record.probabilities) * 4) for record in (REFERENCE, TARGET))
    reference = fields_of(REFERENCE, "label", probabilities=here)
    target = Predictions.from_probabilities(there)
    cured, raw = estimate(reference, target), estimate(reference, target, calibrator="none")
    assert cured.calibration["name"] == "temperature"
    assert cured.calibration["temperature"] == pytest.approx(4, rel=0.3)
    assert_snapshot(cured.calibration["why"])
    assert raw.calibration == {
        "name": None,
        "why": "it was switched off",
        "scores": {},
        "temperature": None,
    }
    truth = TARGET.accuracy
    assert abs(cured["ac"].value - truth) < 0.06 < abs(raw["ac"].value - truth)
    assert cured["source"].value == raw["source"].value
    gaps = []
    for found in (cured, raw):
        rows = found.reliability["rows"]
        gaps.append(
            np.abs(found.reliability["confidence"] - found.reliability["accuracy"])
            @ rows
            / rows.sum()
        )
    assert gaps[0] < 0.05 < gaps[1], "what is drawn is what is used"
    assert cured.risk_coverage.y.tolist() == raw.risk_coverage.y.tolist(), (
        "it looks for thresholds of the model's own"
    )


@pytest.mark.parametrize("name", ["temperature", "isotonic", "histogram"])
def test_a_calibrator_by_name(name: str) -> None:
    found = estimate(slim(REFERENCE), slim(UNLABELLED), calibrator=name)
    assert found.calibration["name"] == name
    assert_snapshot(found.calibration["why"])
    fitted = create("calibrator", name).fit(slim(REFERENCE))
    alone = (
        create("estimator", "ac").fit(fitted(slim(REFERENCE))).estimate(fitted(slim(UNLABELLED)))
    )
    assert found["ac"].value == pytest.approx(alone.value)
    as_json(found)


def test_a_calibrator_that_the_reference_cannot_feed() -> None:
    confident = Predictions.from_confidence([0.5, 0.9], correct=[0, 1])
    with raises_snapshot(NotApplicable):
        estimate(confident, confident, calibrator="temperature")


# ------------------------------------------------------------------------------------------ edges


def test_a_target_of_one_row() -> None:
    found = estimate(REFERENCE, UNLABELLED.slice(7, 8))
    assert found.target["rows"] == 1
    assert len(found.estimates) + len(found.skipped) == len(default_methods())
    assert len(found.estimates) >= 17
    assert found["ac"].upper - found["ac"].lower > 0.3, "one row tells next to nothing"
    as_json(found)


def test_a_reference_of_one_row() -> None:
    found = estimate(REFERENCE.slice(0, 1), UNLABELLED)
    assert found["source"].upper - found["source"].lower > 0.9
    assert_snapshot(found.warnings)
    as_json(found)


@pytest.mark.parametrize("correct", [True, False])
def test_a_reference_that_is_always_right_or_always_wrong(correct: bool) -> None:
    label = REFERENCE.predicted if correct else (REFERENCE.predicted + 1) % 4
    bare = [n for n in REFERENCE.fields if n != "label"]
    found = estimate(fields_of(REFERENCE, *bare, label=label), UNLABELLED)
    kind = "errors" if correct else "correct answers"
    assert any(
        f"the reference has no {kind}: what separates right from wrong" in w for w in found.warnings
    )
    assert found["source"].value == correct
    if not correct:
        assert found["atc"].value == 0
        assert as_json(found)["estimates"][3]["details"]["threshold"] is None, "no finite threshold"
    as_json(found)


def test_constant_confidence() -> None:
    reference = Predictions.from_confidence([0.8] * 1000, correct=[1, 1, 1, 0] * 250)
    found = estimate(reference, Predictions.from_confidence([0.8] * 30))
    for name in ("source", "atc", "doc", "im", "cbpe"):
        assert found[name].value == pytest.approx(0.75), name
    assert found["ac"].value == pytest.approx(0.8)
    as_json(found)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_probabilities_of_exactly_0_and_1(p: float) -> None:
    rows = [[p, 1 - p], [1 - p, p]] * 60
    found = estimate(
        {"probabilities": rows, "label": [0, 0, 1, 1] * 30}, {"probabilities": rows[:9]}
    )
    assert found["source"].value == 0.5
    for e in found.estimates:
        assert 0 <= e.lower <= e.value <= e.upper <= 1
    as_json(found)


def test_one_class_of_labels() -> None:
    record = Predictions.from_probabilities([[0.9, 0.1], [0.4, 0.6]] * 50, label=[0] * 100)
    found = estimate(record, record.without_labels())
    assert found["atc"].value == pytest.approx(0.5)
    assert_snapshot(found.warnings)


def test_warnings_about_the_reference() -> None:
    label = REFERENCE.label.astype(float)  # type: ignore[union-attr]
    label[150:] = np.nan
    found = estimate(fields_of(REFERENCE, "probabilities", label=label), slim(UNLABELLED))
    assert_snapshot(found.warnings)
    assert found.reference["rows"] == 150
    assert not estimate(slim(REFERENCE), slim(UNLABELLED), methods=["doc"]).warnings


def test_a_large_reference_is_sampled_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import oodometer.verbs.learning as module
    from oodometer.passes.reference import read_reference

    monkeypatch.setattr(
        module, "read_reference", lambda source, **more: read_reference(source, most_rows=250)
    )
    found = estimate(slim(REFERENCE), slim(UNLABELLED))
    line = "the reference has 600 labelled rows; methods were fitted on a seeded sample of 250"
    assert any(line in warning for warning in found.warnings)
    assert found.reference["rows"] == 600
    assert found.reference["accuracy"] == REFERENCE.accuracy
    exact = estimate(slim(REFERENCE), slim(UNLABELLED), methods=["source"])
    assert numbers(found)["source"] == numbers(exact)["source"]


def test_the_same_file_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other, line = (
        tmp_path / "r.parquet",
        tmp_path / "t.parquet",
        "reference and target are the same file",
    )
    for place in (path, other):
        write_predictions(slim(REFERENCE), place)
    found = estimate(path, path, workers=1, methods=["atc", "doc"])
    assert line in found.warnings
    assert found["atc"].value == pytest.approx(REFERENCE.accuracy)
    assert line not in estimate(path, other, workers=1, methods=["atc"]).warnings
    monkeypatch.chdir(tmp_path)
    assert line in estimate("r.parquet", str(path), methods=["source"]).warnings, "by two paths"


def test_a_higher_level_is_wider_everywhere() -> None:
    low, high = (
        estimate(REFERENCE, UNLABELLED, level=0.5),
        estimate(REFERENCE, UNLABELLED, level=0.99),
    )
    for a, b in zip(low.estimates, high.estimates, strict=True):
        assert b.value == a.value
        assert b.upper - b.lower > a.upper - a.lower, a.method
        assert b.level == 0.99


# ------------------------------------------------------------------------------------------ order, seeds, engines


def test_the_order_of_target_rows_does_not_matter() -> None:
    order = np.random.default_rng(0).permutation(400)
    one = estimate(REFERENCE, UNLABELLED, by="group")
    other = estimate(REFERENCE, UNLABELLED.take(order), by="group")
    same(one, other)
    a, b = as_json(one), as_json(other)
    assert b["confidence"] == a["confidence"]
    assert b["risk_coverage"]["y"] == pytest.approx(a["risk_coverage"]["y"])
    assert b["risk_coverage"]["lower"] == pytest.approx(a["risk_coverage"]["lower"])
    assert [(s["value"], s["rows"]) for s in b["slices"]] == [
        (s["value"], s["rows"]) for s in a["slices"]
    ]


def test_slices_of_one_size_are_ordered_by_name() -> None:
    group = np.array(["b", "a", "c", "d"] * 100, dtype=object)
    for groups in (group, group[::-1]):
        record = fields_of(TARGET, "probabilities", group=groups)
        found = estimate(slim(REFERENCE), record, by="group", methods=["ac"])
        assert [p.place["value"] for p in found.slices] == ["a", "b", "c", "d"]


def test_seeds() -> None:
    one, again, other = (estimate(REFERENCE, UNLABELLED, seed=s) for s in (1, 1, 2))
    assert as_json(one) == as_json(again)
    for name in ("source", "ac", "doc", "atc", "im", "cbpe", "gde", "agreement"):
        assert one[name].value == other[name].value, "a seed moves intervals, not values"
    assert one.risk_coverage.lower.tolist() != other.risk_coverage.lower.tolist()
    assert one["cbpe"].details["metrics"] != other["cbpe"].details["metrics"]


def test_one_worker_and_two_give_the_same() -> None:
    done: list[tuple[int, int]] = []
    one = estimate(
        REFERENCE, UNLABELLED, workers=1, by="group", progress=lambda a, b: done.append((a, b))
    )
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
    for workers in (2, 4):
        assert as_json(estimate(REFERENCE, UNLABELLED, workers=workers, by="group")) == as_json(one)


def test_separate_processes_give_the_same(tmp_path: Path) -> None:
    """A Parquet file of four row groups, worked on by two processes: the plan and its states travel."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "target.parquet"
    columns = {f"prob_{k}": UNLABELLED.probabilities[:, k] for k in range(4)}  # type: ignore[index]
    pq.write_table(pa.table(columns), path, row_group_size=100)
    seen: list[int] = []
    one = estimate(slim(REFERENCE), path, workers=1)
    two = estimate(
        slim(REFERENCE),
        path,
        engine="processes",
        workers=2,
        progress=lambda done, parts: seen.append(parts),
    )
    assert seen == [4] * 4
    assert as_json(one) == as_json(two)


def test_parts_without_rows_are_no_harm() -> None:
    class Gappy(RecordSource):
        def parts(self, target_rows: int = 0, each: Any = None) -> list[Any]:
            pieces = super().parts(150)
            return [Empty(), *pieces, Empty()]

    class Empty(Part):
        def batches(self, fields: Any = None, rows: int = 0) -> Iterator[Predictions]:
            return iter(())

    source: Source = Gappy(slim(UNLABELLED))
    same(estimate(slim(REFERENCE), source), usual(slim_only=True))


# ------------------------------------------------------------------------------------------ pictures and JSON


def test_reliability_and_confidence_are_counts_of_the_samples() -> None:
    found = estimate(slim(REFERENCE), slim(UNLABELLED), calibrator="none")
    assert found.reliability is not None
    assert found.confidence is not None
    confidence = REFERENCE.top.first
    place = np.minimum((confidence * 15).astype(int), 14)
    full = sorted(set(place.tolist()))
    assert found.reliability["rows"].tolist() == [int((place == b).sum()) for b in full]
    assert found.reliability["accuracy"].tolist() == pytest.approx(
        [REFERENCE.verdicts[place == b].mean() for b in full]
    )
    assert found.reliability["confidence"].tolist() == pytest.approx(
        [confidence[place == b].mean() for b in full]
    )
    assert (found.reliability["lower"] <= found.reliability["accuracy"]).all()
    assert (found.reliability["accuracy"] <= found.reliability["upper"]).all()
    want = np.histogram(TARGET.top.first, bins=20, range=(0, 1))[0] / 400
    np.testing.assert_allclose(found.confidence["target"], want)
    assert found.confidence["reference"].sum() == pytest.approx(1)
    assert len(found.confidence["edges"]) == 21


def test_target_accuracies_are_looked_up() -> None:
    found = estimate(slim(REFERENCE), slim(UNLABELLED), target_accuracies=(0.8, 0.99))
    answers = found.risk_coverage.extra["answers"]
    assert [a["accuracy"] for a in answers] == [0.8, 0.99]
    cut = answers[0]["threshold"]
    kept = TARGET.take(TARGET.top.first >= cut)
    assert kept.accuracy == pytest.approx(0.8, abs=0.08)


@pytest.mark.parametrize(
    "make",
    [
        lambda: estimate(REFERENCE, TARGET, by="group"),
        lambda: estimate(slim(REFERENCE), timed([40, 40, 1]), every="1d"),
        lambda: estimate(
            Predictions.from_classes([0, 1], label=[0, 0]), Predictions.from_classes([1])
        ),
        lambda: estimate(
            Predictions.from_confidence([0.5], correct=[1]), Predictions.from_confidence([0.1])
        ),
    ],
)
def test_the_result_is_strict_json(make: Callable[[], Estimation]) -> None:
    found = as_json(make())
    assert set(found) >= {
        "version",
        "reference",
        "target",
        "headline",
        "estimates",
        "skipped",
        "warnings",
        "calibration",
    }
    assert found["command"] == "estimate"
    ends = {"value", "lower", "upper", "level", "kind"}
    assert set(found["headline"]) - {"history"} == ends | {
        "method",
        "assumes",
        "trust",
        "why",
        "bands",
    }
    for e in found["estimates"]:
        assert set(e) >= {
            "method",
            "score",
            "value",
            "lower",
            "upper",
            "level",
            "kind",
            "assumes",
            "citation",
        }
        assert e["kind"] in ("exact", "asymptotic", "conditional", "empirical")
    for s in found["skipped"]:
        assert set(s) == {"method", "why"}


def test_inputs_stay_as_they_are() -> None:
    before = {
        n: np.array(getattr(UNLABELLED, n))
        for n in ("probabilities", "logits", "members", "features", "votes")
    }
    estimate(REFERENCE, UNLABELLED, by="group")
    for name, value in before.items():
        assert (getattr(UNLABELLED, name) == value).all(), name


# ------------------------------------------------------------------------------------------ calls that make no sense


def test_chunks_of_seconds_over_hours_are_refused() -> None:
    times = np.datetime64("2026-01-01T00:00:00") + np.arange(len(UNLABELLED)) * np.timedelta64(
        60, "s"
    )
    target = {"probabilities": UNLABELLED.probabilities, "time": times}
    many = {name: np.concatenate([value] * 4) for name, value in target.items()}
    many["time"] = np.datetime64("2026-01-01T00:00:00") + np.arange(
        len(many["time"])
    ) * np.timedelta64(60, "s")
    with raises_snapshot(UsageError):
        estimate(REFERENCE, many, every="1m")


def test_a_file_is_no_place_for_backtests(tmp_path: Path) -> None:
    """A folder is made where none is; what looks like a file was meant as one."""
    for place, why in (
        (tmp_path / "nope.json", "there is no such file or folder"),
        (tmp_path / "is.json", "a file"),
    ):
        if why == "a file":
            place.write_text("{}")
        with raises_snapshot(UsageError):
            estimate(slim(REFERENCE), slim(UNLABELLED), backtest=place)
    assert not (tmp_path / "nope.json").exists()
    estimate(
        slim(REFERENCE), slim(UNLABELLED), methods=["ac", "doc", "atc"], backtest=tmp_path / "kept"
    )
    assert (tmp_path / "kept" / "backtests").is_dir()
