"""Votes of judges: rules, recall and precision, k-of-n bounds, fewer judges and smaller draws, against plain loops."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions, evaluate
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.intervals import clopper_pearson
from oodometer.metrics import Votes, judged_correct
from oodometer.metrics.votes import (
    MEASURES,
    VoteCounts,
    absolute,
    agreements,
    bounds_by_agreement,
    bounds_by_judges,
    bounds_of,
    check_agree,
    check_draws,
    count_votes,
    draw_subsets,
    least_votes,
    paired_gap,
    vote_subsets,
)
from oodometer.results import Interval

from ..snapshots import raises_snapshot

# Four outputs, the first two right; three judges. Worked out by hand:
# output 1: all accept; output 2: two accept; output 3: one accepts; output 4: none does.
VOTES = [[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]
CORRECT = [1, 1, 0, 0]
HAND = Predictions.from_arrays(votes=VOTES, correct=CORRECT)


@st.composite
def judged(draw: st.DrawFn) -> Predictions:
    rows, judges = draw(st.integers(1, 25)), draw(st.integers(1, 6))
    votes = [draw(st.lists(st.booleans(), min_size=rows, max_size=rows)) for _ in range(judges)]
    return Predictions.from_arrays(
        votes=votes, correct=draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    )


def some(rows: int = 400, judges: int = 5, seed: int = 0) -> Predictions:
    """Judges that share some of their mistakes."""
    rng = np.random.default_rng(seed)
    right, common = rng.random(rows) < 0.7, rng.random(rows)
    own = np.where(rng.random((judges, rows)) < 0.5, common, rng.random((judges, rows)))
    return Predictions.from_arrays(votes=np.where(right, own < 0.9, own > 0.8), correct=right)


def test_rules_by_hand() -> None:
    votes = np.array(VOTES, dtype=np.int8)
    assert judged_correct(votes, "any-incorrect").tolist() == [True, False, False, False]
    assert judged_correct(votes, "any-correct").tolist() == [True, True, True, False]
    assert judged_correct(votes, "majority").tolist() == [True, True, False, False]
    assert judged_correct(votes, "single").tolist() == [True, True, True, False]
    assert judged_correct(votes, 2).tolist() == judged_correct(votes, "majority").tolist()
    assert count_votes(votes).tolist() == [3, 2, 1, 0]


def test_a_tie_is_no_majority() -> None:
    assert judged_correct(np.array([[1, 1], [0, 1]], dtype=np.int8), "majority").tolist() == [
        False,
        True,
    ]


@pytest.mark.parametrize("rule", ["mostly", 0, 4])
def test_rules_that_make_no_sense(rule: Any) -> None:
    with raises_snapshot(UsageError):
        judged_correct(np.array(VOTES, dtype=np.int8), rule)
    with raises_snapshot(UsageError):
        least_votes("single", 3)


def test_which_numbers_of_judges_make_bounds() -> None:
    for judges in range(1, 9):
        for agree in range(1, judges + 1):
            if agree in agreements(judges):
                assert agree >= judges - agree + 1  # the lower bound is the stricter rule
                assert check_agree(agree, judges) == agree
            else:
                with pytest.raises(UsageError, match="majority"):
                    check_agree(agree, judges)


def by_loop(judged_right: list[bool], right: list[bool]) -> list[float | None]:
    pairs = list(zip(judged_right, right, strict=True))
    tc, fc = pairs.count((True, True)), pairs.count((True, False))
    ti, fi = pairs.count((False, False)), pairs.count((False, True))
    shares = [(tc, tc + fi), (tc, tc + fc), (ti, ti + fc), (ti, ti + fi)]
    return [a / b if b else None for a, b in shares]


def read(row: dict[str, Any]) -> list[float | None]:
    return [None if row[name] is None else row[name].value for name in MEASURES]


def test_measures_by_hand() -> None:
    rules = {row["rule"]: row for row in Votes().compute(HAND)["rules"]}
    assert read(rules["any-incorrect"]) == [1 / 2, 1.0, 1.0, 2 / 3]
    assert read(rules["any-correct"]) == [1.0, 2 / 3, 1 / 2, 1.0]
    assert read(rules["majority"]) == [1.0, 1.0, 1.0, 1.0]
    assert read(rules["single"]) == [1.0, 2 / 3, 1 / 2, 1.0]
    found = rules["any-correct"]["correct_precision"]
    assert (found.lower, found.upper) == pytest.approx(clopper_pearson(2, 3, 0.95))
    assert found.kind == "exact"


@given(record=judged())
def test_measures_are_those_of_loops(record: Predictions) -> None:
    table = Votes(sizes=[1], draws=1).compute(record)
    right = [bool(c) for c in record.correct]
    for row in table["rules"]:
        said = judged_correct(record.votes, row["rule"]).tolist()
        assert read(row) == pytest.approx(by_loop(said, right))
        assert row["accepted"].value == pytest.approx(sum(said) / len(said))
    for row in table["ladder"]:
        said = [sum(column) >= row["at_least"] for column in record.votes.T.tolist()]
        assert read(row) == pytest.approx(by_loop(said, right))
    for row, votes in zip(table["by_judge"], record.votes, strict=True):
        assert read(row) == pytest.approx(by_loop((votes > 0).tolist(), right))


def test_where_there_is_nothing_to_recall() -> None:
    found = Votes().compute(Predictions.from_arrays(votes=[[1, 1]], correct=[1, 1]))["rules"][0]
    assert (found["correct_recall"].value, found["correct_precision"].value) == (1.0, 1.0)
    assert (found["incorrect_recall"], found["incorrect_precision"]) == (None, None)


@given(record=judged())
def test_bounds_are_those_of_loops(record: Predictions) -> None:
    counts = VoteCounts.of(record)
    right = record.correct > 0
    votes = record.votes.sum(axis=0)
    judges = counts.judges
    found = bounds_by_agreement(counts, 0.95)
    assert [one["agree"] for one in found] == agreements(judges)
    for one in found:
        low, high = votes >= one["agree"], votes >= judges - one["agree"] + 1
        assert one["lower"].value == pytest.approx(low.mean())
        assert one["upper"].value == pytest.approx(high.mean())
        assert one["width"].value == pytest.approx(high.mean() - low.mean(), abs=1e-12)
        middle = (low + high.astype(float)) / 2
        assert one["mean"].value == pytest.approx(middle.mean())
        assert one["error"].value == pytest.approx(abs(right.mean() - middle.mean()), abs=1e-12)
        assert one["inside"] == (low.sum() <= right.sum() <= high.sum())
        assert one["above_lower"].value == pytest.approx((right * 1.0 - low).mean(), abs=1e-12)
        assert one["below_upper"].value == pytest.approx((high * 1.0 - right).mean(), abs=1e-12)
    widths = [one["width"].value for one in found]
    assert widths == sorted(widths, reverse=True)  # the more must agree, the wider


def test_the_interval_of_a_difference_is_that_of_its_rows() -> None:
    gap = np.random.default_rng(0).choice([-1.0, -0.5, 0.0, 0.5, 1.0], 300)
    found = paired_gap(float(gap.sum()), float(np.square(gap).sum()), 300, 0.95)
    spread = 1.959964 * np.sqrt((np.sum((gap - gap.mean()) ** 2) + 1) / 301 / 300)
    assert (found.lower, found.upper) == pytest.approx(
        (gap.mean() - spread, gap.mean() + spread), rel=1e-5
    )
    assert absolute(Interval(-0.3, -0.4, -0.2, 0.95, "asymptotic")).to_dict() == {
        "value": 0.3, "lower": 0.2, "upper": 0.4, "level": 0.95, "kind": "asymptotic"
    }  # fmt: skip
    never = paired_gap(0.0, 0.0, 50, 0.95)
    assert never.upper > 0.02  # a difference that was never seen is not taken for certain


@pytest.mark.parametrize("judges", [1, 2, 3, 5])
def test_fewer_judges_are_the_mean_over_every_choice_of_them(judges: int) -> None:
    record = some(60, judges, seed=judges)
    found = bounds_by_judges(VoteCounts.of(record).by_count.sum(axis=0), 0.95)
    for one in found:
        choices = list(itertools.combinations(range(judges), one["judges"]))
        low = np.mean([record.votes[list(c)].min(axis=0).mean() for c in choices])
        high = np.mean([record.votes[list(c)].max(axis=0).mean() for c in choices])
        assert (one["lower"].value, one["upper"].value) == pytest.approx((low, high))
    every = bounds_of(VoteCounts.of(record).at_least.sum(axis=0), judges, 0.95)
    assert found[-1]["lower"].value == pytest.approx(every["lower"].value)


def test_all_rows_leave_nothing_to_chance() -> None:
    record = some(150)
    last = vote_subsets(VoteCounts.of(record))[-1]
    widest = bounds_by_agreement(VoteCounts.of(record), 0.95)
    assert last["rows"] == 150
    assert last["gold"].value == last["gold"].lower == last["gold"].upper == record.accuracy
    for name in ("lower", "upper", "mean"):
        assert last[name].value == pytest.approx(widest[0][name].value)
    assert [b["reliability"].value for b in last["bounds"]] == [
        float(one["inside"]) for one in widest
    ]


def test_draws_of_cells_are_draws_of_rows() -> None:
    """The same quantities from rows drawn one by one, without cells: means and spreads agree within chance."""
    record = some(300)
    found = vote_subsets(VoteCounts.of(record), sizes=[40], draws=4000)[0]
    rng = np.random.default_rng(1)
    votes, right = record.votes.sum(axis=0), record.correct > 0
    golds, lows, highs, held, first = [], [], [], [], []
    for _ in range(4000):
        row = rng.choice(300, 40, replace=False)
        golds.append(right[row].mean())
        lows.append((votes[row] == 5).mean())
        highs.append((votes[row] > 0).mean())
        first.append((record.votes[0][row] > 0).mean())
        held.append(lows[-1] <= golds[-1] <= highs[-1])
    for name, values in (("gold", golds), ("lower", lows), ("upper", highs), ("single", first)):
        assert found[name].value == pytest.approx(np.mean(values), abs=0.005)
        assert (found[name].lower, found[name].upper) == pytest.approx(
            np.quantile(values, [0.025, 0.975]), abs=0.026
        )
    assert found["bounds"][0]["reliability"].value == pytest.approx(np.mean(held), abs=0.02)
    assert found["bounds"][0]["width"].value == pytest.approx(
        np.mean(highs) - np.mean(lows), abs=0.01
    )


def test_draws_keep_the_number_of_rows_and_are_seeded() -> None:
    cells = np.array([[[3, 0, 5]], [[2, 7, 1]]])
    drawn = draw_subsets(cells, 9, 50, np.random.default_rng(0))
    assert drawn.shape == (50, 2, 1, 3)
    assert (drawn.sum(axis=(1, 2, 3)) == 9).all()
    assert (drawn <= cells).all()
    counts = VoteCounts.of(some())
    one, two, other = (vote_subsets(counts, seed=seed) for seed in (0, 0, 1))
    assert [r["gold"] for r in one] == [r["gold"] for r in two]
    assert [r["gold"] for r in one] != [r["gold"] for r in other]


def test_sizes() -> None:
    assert check_draws(None, 1, 20) == (20,)
    assert check_draws(None, 1, 1) == (1,)
    assert check_draws(None, 1, 21_000)[-3:] == (10_000, 20_000, 21_000)
    assert check_draws([50, 10, 50], 5, 60) == (10, 50)
    for sizes, draws in (([0], 5), ([61], 5), ([], 5), ([10], 0)):
        with pytest.raises(UsageError, match="expected"):
            check_draws(sizes, draws, 60)


def test_in_evaluate_only_where_there_are_votes() -> None:
    with_votes = evaluate(HAND)
    assert with_votes.tables["votes"]["judges"] == 3
    bare = Predictions.from_confidence([0.9, 0.1], correct=[1, 0])
    without = evaluate(bare)
    assert "votes" not in without.tables
    assert "votes" not in {s.method for s in without.skipped}
    asked = evaluate(bare, metrics=["accuracy", "votes"])
    assert {s.method: s.why for s in asked.skipped} == {
        "votes": "needs votes and correct; the record has confidence, correct"
    }


def test_labels_will_do_for_correct() -> None:
    record = Predictions.from_arrays(votes=VOTES, prediction=[0, 1, 0, 1], label=[0, 1, 1, 0])
    assert Votes().compute(record)["rules"] == Votes().compute(HAND)["rules"]


def test_rows_without_truth_are_left_out() -> None:
    record = Predictions.from_arrays(votes=[[1, 1, 0]], correct=[True, None, False])
    found = Votes().compute(record)
    assert (found["rows"], found["accuracy"].value) == (2, 0.5)
    with pytest.raises(NotApplicable, match="row"):
        Votes().compute(Predictions.from_arrays(votes=[[1]], correct=[None]))


def test_judges_keep_their_names() -> None:
    record = Predictions.from_arrays(votes=VOTES, correct=CORRECT, names={"judge": ["a", "b", "c"]})
    assert [row["judge"] for row in Votes().compute(record)["by_judge"]] == ["a", "b", "c"]


def test_parts_with_other_judges_do_not_merge() -> None:
    two = Predictions.from_arrays(votes=VOTES[:2], correct=CORRECT)
    with raises_snapshot(InputError):
        Votes().merge(Votes().summarize(HAND), Votes().summarize(two))
