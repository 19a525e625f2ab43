"""The plan (batches, slices, chunks, labels), the headline, and the reading of a reference."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.calibrators import Choice
from oodometer.diagnoses import Diagnostician
from oodometer.errors import InputError, UsageError
from oodometer.estimators import AverageConfidence, SourceAccuracy
from oodometer.headline.headline import Evidence, make_headline
from oodometer.passes.plan import EstimationPlan, batch_rows
from oodometer.passes.reference import read_reference
from oodometer.passes.slicing import WHOLE, TimeChunks, column_of, parse_chunks
from oodometer.registry import create
from oodometer.results import Estimate
from oodometer.scores import natural_confidence
from oodometer.store import as_source
from oodometer.store.memory import RecordSource
from oodometer.testing import example_record

from ..snapshots import assert_snapshot, raises_snapshot

REFERENCE = example_record(200, seed=1)


def plan(**changes: Any) -> EstimationPlan:
    methods = {"ac": AverageConfidence().fit(REFERENCE), "source": SourceAccuracy().fit(REFERENCE)}
    return EstimationPlan(
        Choice(None, "", {}), methods, None, natural_confidence(REFERENCE), **changes
    )


def target(rows: int = 60, **fields: Any) -> Predictions:
    record = example_record(rows, seed=2)
    kept = {n: getattr(record, n) for n in ("probabilities", "label")}
    return Predictions.from_arrays(**{**kept, **fields})


def same_state(a: Any, b: Any) -> None:
    assert a.keys() == b.keys()
    for key in a:
        assert a[key].keys() == b[key].keys()
        for name in a[key]:
            for entry in a[key][name]:
                np.testing.assert_allclose(
                    a[key][name][entry], b[key][name][entry], err_msg=f"{key} {name} {entry}"
                )


# ------------------------------------------------------------------------------------------ durations and batches


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("90m", 5400),
        ("12h", 43_200),
        ("7d", 604_800),
        (" 2 w ", 1_209_600),
        ("007d", 604_800),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_chunks(text) == TimeChunks(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "d",
        "0d",
        "-7d",
        "1.5h",
        "7 days",
        "7D",
        "1y",
        "1d2h",
        "9999999999999999999w",
        "6000w",
    ],
)
def test_what_is_no_duration(text: str) -> None:
    with raises_snapshot(UsageError):
        parse_chunks(text)


@given(classes=st.integers(0, 10**7))
def test_batches_fit_the_cache_and_are_never_tiny(classes: int) -> None:
    rows = batch_rows(classes)
    assert 1024 <= rows <= 131_072
    assert rows == 1024 or rows * classes <= 1 << 20


# ------------------------------------------------------------------------------------------ states


@given(cuts=st.lists(st.integers(1, 59), max_size=4, unique=True), seed=st.integers(0, 9))
def test_states_of_parts_merge_to_the_state_of_the_whole(cuts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    record = target(columns={"word": rng.choice(["x", "y", None], 60).astype(object)})
    made = plan(by="word")
    whole = made.summarize(record)
    edges = [0, *sorted(cuts), 60]
    states = [made.summarize(record.slice(a, b)) for a, b in pairwise(edges)]
    same_state(reduce(made.merge, states), whole)
    same_state(reduce(made.merge, reversed(states)), whole)
    assert sum(s["truth"]["rows"] for key, s in whole.items() if key[0] == "by") == 60


def test_methods_that_keep_the_same_rows_share_one_sample() -> None:
    """One sample for each choice of fields, however many methods read it; so are a pickled state and its copy."""
    methods = {
        name: create("estimator", name).fit(REFERENCE)
        for name in ("cot", "sld", "importance", "pape")
    }
    made = EstimationPlan(
        Choice(None, "", {}), methods, diagnostician=Diagnostician().fit(REFERENCE)
    )
    record = example_record(90, seed=3, labelled=False)
    whole = reduce(made.merge, [made.summarize(batch) for batch in record.batches(30)])[WHOLE]
    for states in (whole, pickle.loads(pickle.dumps(whole))):
        assert states["cot"]["sample"] is states["sld"]["sample"]
        assert (
            states["importance"]["sample"]
            is states["pape"]["sample"]
            is states["diagnosis"]["sample"]
        )
    alone = made.summarize(record)[WHOLE]["cot"]["sample"]
    np.testing.assert_array_equal(whole["cot"]["sample"]["probabilities"], alone["probabilities"])


def test_a_part_is_read_in_batches() -> None:
    record = target(60)
    seen: list[int] = []

    class Part:
        def batches(self, fields: Any, rows: int) -> Iterator[Predictions]:
            seen.append(rows)
            return record.batches(7)

    made = plan(rows=2048)
    same_state(made(Part()), made.summarize(record))
    assert seen == [2048]

    class Nothing:
        def batches(self, fields: Any, rows: int) -> Iterator[Predictions]:
            return iter(())

    assert made(Nothing()) == {}


def test_a_plan_travels_to_another_process() -> None:
    made = plan(by="group")
    again = pickle.loads(pickle.dumps(made))
    record = target(group=np.arange(60) % 3)
    same_state(again.summarize(record), made.summarize(record))


def test_merging_leaves_the_parts_as_they_are() -> None:
    made = plan()
    a, b = made.summarize(target(10)), made.summarize(target(20))
    total = made.merge(a, b)
    assert (a[WHOLE]["ac"]["rows"], b[WHOLE]["ac"]["rows"], total[WHOLE]["ac"]["rows"]) == (
        10,
        20,
        30,
    )


@pytest.mark.parametrize("confidence", [0.0, 0.049, 0.05, 0.999, 1.0])
def test_confidence_is_counted_in_sixty_cells(confidence: float) -> None:
    record = Predictions.from_confidence([confidence] * 3)
    made = EstimationPlan(Choice(None, "", {}), {}, confidence=natural_confidence(record))
    counts = made.summarize(record)[WHOLE]["confidence"]["counts"]
    assert counts.tolist() == [3 if b == min(int(confidence * 60), 59) else 0 for b in range(60)]
    assert (
        made.summarize(Predictions.from_classes([0]))[WHOLE]["confidence"]["counts"].tolist()
        == [0] * 60
    )


# ------------------------------------------------------------------------------------------ slices


def slice_rows(record: Predictions, by: str) -> dict[Any, int]:
    return {
        key[1]: s["truth"]["rows"]
        for key, s in plan(by=by).summarize(record).items()
        if key[0] == "by"
    }


SLICES: dict[str, tuple[Any, dict[Any, int]]] = {
    "strings": (np.array(["a", "b", "a"], dtype=object), {"a": 2, "b": 1}),
    "fixed strings": (np.array(["a", "b", "a"]), {"a": 2, "b": 1}),
    "missing strings": (np.array(["a", None, np.nan], dtype=object), {"a": 1, "(missing)": 2}),
    "integers": (np.array([7, -1, 7]), {7: 2, -1: 1}),
    "numbers": (np.array([0.5, np.nan, np.nan]), {0.5: 1, "(missing)": 2}),
    "truth": (np.array([True, False, True]), {True: 2, False: 1}),
    "dates": (np.array(["2026-01-02", "NaT", "2026-01-02"], dtype="datetime64[us]"), {"2026-01-02": 2, "(missing)": 1}),
    "times": (np.array(["2026-01-02T10:30"] * 3, dtype="datetime64[us]"), {"2026-01-02T10:30:00": 3}),
    "lists": (np.array([(1, 2), (1, 2), (3, 4), 0], dtype=object)[:3], {"(1, 2)": 2, "(3, 4)": 1}),
}  # fmt: skip


@pytest.mark.parametrize("kind", SLICES)
def test_slices_by_a_column_of_any_type(kind: str) -> None:
    """What slices are called is a string, a number or a truth value, the same in every batch."""
    values, want = SLICES[kind]
    record = target(3, columns={"c": values})
    assert slice_rows(record, "c") == want
    parts = [plan(by="c").summarize(record.slice(i, i + 1)) for i in range(3)]
    same_state(reduce(plan(by="c").merge, parts), plan(by="c").summarize(record))


def test_slices_hold_their_own_rows() -> None:
    record = target(60, group=np.arange(60) % 4)
    state = plan(by="group").summarize(record)
    for value in range(4):
        own = record.take(np.arange(60) % 4 == value)
        got = state["by", value]
        assert got["ac"]["total"] == pytest.approx(own.top.first.sum())
        assert got["truth"]["correct"] == (own.verdicts == 1).sum()


def test_slices_by_class_are_named_and_not_numbered() -> None:
    record = Predictions.from_probabilities(
        [[0.9, 0.1], [0.2, 0.8]], label=["cat", None], classes=["cat", "dog"]
    )
    assert column_of(record, "prediction").tolist() == ["cat", "dog"]
    assert column_of(record, "label").tolist() == ["cat", None]
    with raises_snapshot(UsageError):
        column_of(record, "probabilities")
    with raises_snapshot(UsageError):
        column_of(record.without_labels(), "label")
    with raises_snapshot(UsageError):
        column_of(record, "nothing")


@pytest.mark.parametrize("kind", ["numbers", "strings"])
def test_a_column_of_identifiers_is_no_slice(kind: str) -> None:
    """Two hundred values pass; one more does not, in one batch or in many."""
    for rows, fits in ((200, True), (201, False)):
        ids: Any = (
            np.arange(rows)
            if kind == "numbers"
            else np.array([f"id{i}" for i in range(rows)], dtype=object)
        )
        record = target(rows, columns={"id": ids})
        if fits:
            assert len(slice_rows(record, "id")) == 200
            continue
        message = r"the column 'id' has more than 200 distinct values; slice by one with fewer, or bin it first"
        with pytest.raises(UsageError, match=message):
            slice_rows(record, "id")

        class Part:
            def batches(
                self, fields: Any, rows: int, record: Predictions = record
            ) -> Iterator[Predictions]:
                return record.batches(50)

        with pytest.raises(UsageError, match=message):
            plan(by="id")(Part())


# ------------------------------------------------------------------------------------------ chunks


def test_chunks_begin_on_mondays_and_at_midnight() -> None:
    """Weeks run from Monday to Monday, before 1970 too; the same row is in the same chunk whatever the batch."""
    days = np.datetime64("2026-01-05", "D") + np.arange(14)  # a Monday
    record = target(14, time=days)
    cut = TimeChunks(seconds=604_800)
    weeks = [key for key in plan(every=cut).summarize(record) if key[0] == "every"]
    assert [str(cut.begins(number))[:10] for _, number in weeks] == ["2026-01-05", "2026-01-12"]
    old = target(
        2, time=np.array(["1969-12-28T23:59:59", "1969-12-29T00:00:00"], dtype="datetime64[us]")
    )
    starts = [str(cut.begins(k[1]))[:10] for k in plan(every=cut).summarize(old) if k[0] == "every"]
    assert starts == ["1969-12-22", "1969-12-29"]


@given(
    seconds=st.lists(st.integers(-(10**9), 2 * 10**9), min_size=1, max_size=20),
    every=st.sampled_from([60, 5400, 86_400, 604_800]),
)
def test_every_row_lies_in_its_chunk(seconds: list[int], every: int) -> None:
    time = np.array(seconds, dtype="datetime64[s]")
    made = plan(every=(cut := TimeChunks(seconds=every)))
    state = made.summarize(target(len(seconds), time=time))
    counted = 0
    for key in state:
        if key[0] == "every":
            start, end = (cut.begins(key[1] + i).astype("datetime64[s]") for i in (0, 1))
            assert (end - start).astype(int) == every
            rows = int(((time >= start) & (time < end)).sum())
            assert rows == state[key]["truth"]["rows"] > 0
            counted += rows
    assert counted == len(seconds)


def test_chunks_need_times() -> None:
    with raises_snapshot(UsageError):
        plan(every=TimeChunks(seconds=60)).summarize(target())


# ------------------------------------------------------------------------------------------ labels


def test_labels_follow_the_rows_of_the_target() -> None:
    """Also where the target is a piece of a longer record, whose rows count from that one's start."""
    record = target(60)
    truth = Predictions.from_arrays(label=record.label, classes=range(4))
    whole = plan(labels=truth).summarize(record.without_labels())
    assert whole[WHOLE]["truth"]["correct"] == (record.verdicts == 1).sum()
    piece = record.without_labels().slice(20, 45)
    made = plan(labels=truth.slice(20, 45), first_row=20)
    parts = reduce(made.merge, [made.summarize(batch) for batch in piece.batches(10)])
    assert parts[WHOLE]["truth"] == {
        "rows": 25,
        "known": 25,
        "correct": int((record.verdicts[20:45] == 1).sum()),
        "new": 0,
    }


def test_too_few_and_too_many_labels() -> None:
    truth = Predictions.from_arrays(label=[0] * 59, classes=range(4))
    with raises_snapshot(InputError):
        plan(labels=truth).summarize(target(60))
    with raises_snapshot(InputError):
        plan(labels=truth).check_labels(58)
    plan(labels=truth).check_labels(59)
    plan().check_labels(58)


def test_labels_without_a_prediction_tell_no_truth() -> None:
    record = Predictions.from_arrays(confidence=[0.5, 0.6], label=[0, 1])
    made = EstimationPlan(Choice(None, "", {}), {}, None, None)
    assert made.summarize(record)[WHOLE]["truth"] == {"rows": 2, "known": 0, "correct": 0, "new": 0}


# ------------------------------------------------------------------------------------------ what a target lacks


def test_methods_that_the_target_cannot_feed_are_left_out() -> None:
    bare = Predictions.from_classes([0, 1, 2, 3])
    kept, skipped = plan().restricted_to(bare)
    assert list(kept.methods) == ["source"]
    assert [s.method for s in skipped] == ["ac"]
    assert_snapshot(skipped[0].why)
    assert kept.confidence is None
    assert kept.summarize(bare)[WHOLE]["source"]["rows"] == 4
    everything, none = plan().restricted_to(target())
    assert list(everything.methods) == ["ac", "source"]
    assert none == []
    assert everything.confidence is not None


# ------------------------------------------------------------------------------------------ the headline


def made_by(method: str, value: float, half: float = 0.05) -> Estimate:
    return Estimate(
        method,
        value,
        value - half,
        value + half,
        0.9,
        "conditional",
        f"{method} is right",
        "guo2017",
    )


def test_the_headline_is_the_median_and_spans_all_voices() -> None:
    estimates = [
        made_by("source", 0.9),
        made_by("ac", 0.2),
        made_by("doc", 0.72, half=0.2),
        made_by("atc", 0.3),
        made_by("atc-entropy", 0.70),
        made_by("cbpe", 0.78, half=0.1),
        made_by("votes", 0.1),
    ]
    found = make_headline(estimates, Evidence(0.9))
    assert found.interval.value == 0.72
    assert (found.interval.lower, found.interval.upper) == pytest.approx((0.52, 0.92))
    assert found.interval.kind == "empirical"
    assert found.interval.level == 0.9
    assert_snapshot(found.method)
    assert found.trust == "low"
    assert_snapshot(found.why)


def test_one_kind_of_method_has_one_voice() -> None:
    """ATC twice, and CBPE and AC together, would outvote DoC."""
    names = ["atc", "atc-entropy", "cbpe", "ac"]
    found = make_headline([*(made_by(n, 0.6) for n in names), made_by("doc", 0.65)], Evidence(0.9))
    assert_snapshot(found.method)
    second = make_headline([made_by("gde", 0.5), made_by("ac", 0.55)], Evidence(0.9))
    assert_snapshot(second.method)
    assert second.interval.value == pytest.approx(0.525)
    third = make_headline(
        [made_by("gde", 0.5), made_by("gde-difference", 0.6), made_by("agreement", 0.58)],
        Evidence(0.9),
    )
    assert_snapshot(third.method)


def test_methods_that_contradict_each_other_are_not_trusted() -> None:
    found = make_headline([made_by("atc", 0.9), made_by("doc", 0.6)], Evidence(0.9))
    assert found.trust == "none"
    assert_snapshot(found.why)
    near = make_headline([made_by("atc", 0.7), made_by("doc", 0.61)], Evidence(0.9))
    assert near.trust == "low"


@pytest.mark.parametrize(
    ("methods", "chosen", "trust"),
    [
        (["source", "votes", "threshold:margin"], "votes", "low"),
        (["source", "threshold:margin", "threshold:energy"], "threshold:margin", "low"),
        (["source"], "source", "none"),
        (["source", "doc"], "doc", "low"),
    ],
)
def test_a_single_voice(methods: list[str], chosen: str, trust: str) -> None:
    found = make_headline(
        [made_by(name, 0.5 + 0.02 * i) for i, name in enumerate(methods)], Evidence(0.9)
    )
    assert (found.method, found.trust) == (chosen, trust)
    assert found.assumes == f"{chosen} is right"
    assert found.interval.kind == "conditional"


def test_without_an_estimate_there_is_no_headline() -> None:
    assert make_headline([], Evidence(0.9)) is None


@given(values=st.lists(st.floats(0.1, 0.9), min_size=2, max_size=5))
def test_the_headline_lies_within_its_interval(values: list[float]) -> None:
    names = ["atc", "doc", "cbpe", "gde-difference", "agreement"]
    estimates = [made_by(n, v) for n, v in zip(names, values, strict=False)]
    found = make_headline(estimates, Evidence(0.9))
    assert found.interval.lower == min(e.lower for e in estimates)
    assert found.interval.upper == max(e.upper for e in estimates)
    assert found.interval.value == pytest.approx(np.median(values))
    shuffled = make_headline(estimates[::-1], Evidence(0.9))
    assert shuffled.interval == found.interval


# ------------------------------------------------------------------------------------------ the reference


def test_a_reference_is_read_whole() -> None:
    record = example_record(100)
    found = read_reference(as_source(record))
    assert (found.rows, found.unlabelled, found.sampled) == (100, 0, False)
    assert found.correct == record.verdicts.sum()
    assert (found.record.label == record.label).all()


def test_rows_without_truth_are_counted_and_left_out() -> None:
    record = Predictions.from_arrays(prediction=[0, 1, 0, 1], label=[0, None, 1, None])
    found = read_reference(as_source(record))
    assert (found.rows, found.correct, found.unlabelled, len(found.record)) == (2, 1, 2, 2)


@pytest.mark.parametrize("batch", [7, 100, 1000])
def test_a_large_reference_is_sampled_the_same_however_it_is_batched(batch: int) -> None:
    record = example_record(1000, seed=3)

    class Batched(RecordSource):
        def parts(self, target_rows: int = 0, each: Any = None) -> list[Any]:
            return super().parts(3 * batch)

        def batches(self, fields: Any = None, rows: int = 0) -> Iterator[Predictions]:
            return record.batches(batch)

    found = read_reference(Batched(record), most_rows=120)
    assert (found.rows, len(found.record), found.sampled) == (1000, 120, True)
    assert found.correct == record.verdicts.sum(), "the accuracy is that of all rows"
    again = read_reference(as_source(record), most_rows=120).record
    assert (again.probabilities == found.record.probabilities).all()
    places = [
        int(np.flatnonzero((record.probabilities == row).all(axis=1))[0])
        for row in found.record.probabilities
    ]  # type: ignore[union-attr]
    assert places == sorted(places)
    assert np.histogram(places, bins=4, range=(0, 1000))[0].min() > 15, "from everywhere"
    by_width = read_reference(as_source(record), most_values=120 * 40)
    assert by_width.sampled
    assert len(by_width.record) < 1000


def test_a_reference_without_truth_is_refused() -> None:
    record = Predictions.from_probabilities([[0.5, 0.5]] * 3, source="r.csv")
    with raises_snapshot(InputError):
        read_reference(as_source(record))
    confident = Predictions.from_arrays(confidence=[0.5], label=[1])
    with raises_snapshot(InputError):
        read_reference(as_source(confident))
