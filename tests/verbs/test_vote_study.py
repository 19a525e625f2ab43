"""The verb `vote_study`: every row of the paper's tables from plain loops, baselines, smaller draws, faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions, estimate
from oodometer.errors import InputError, UsageError
from oodometer.estimators import max_prob_oracle
from oodometer.metrics.votes import absolute, paired_gap
from oodometer.store import write_predictions
from oodometer_lab.verbs.discriminate.vote_study import VoteStudy, vote_study

from ..snapshots import assert_snapshot, raises_snapshot


def outputs(rows: int, accuracy: float, seed: int, **more: Any) -> Predictions:
    """Five judges that share some mistakes, and a confidence that is too high."""
    rng = np.random.default_rng(seed)
    right, common = rng.random(rows) < accuracy, rng.random(rows)
    own = np.where(rng.random((5, rows)) < 0.5, common, rng.random((5, rows)))
    confidence = 1 / (1 + np.exp(-(2 + 1.5 * right + rng.standard_normal(rows))))
    votes = np.where(right, own < 0.93, own > 0.85)
    return Predictions.from_arrays(votes=votes, correct=right, confidence=confidence, **more)


REFERENCE, TARGET = outputs(900, 0.95, 1), outputs(700, 0.7, 2)
STUDY = vote_study(TARGET, reference=REFERENCE, sizes=[50, 700])


def test_the_rows_of_the_tables() -> None:
    names = ["single", "lower", "upper", "mean", "max-prob", "ac", "atc"]
    oracle = [f"max-prob-oracle-{end}" for end in ("lower", "upper", "mean")]
    assert [row.method for row in STUDY.methods] == [*names, *oracle]
    votes, right = TARGET.votes.sum(axis=0), TARGET.correct > 0
    confidence = TARGET.confidence
    gold = right.mean()
    assert STUDY.gold.value == pytest.approx(gold)
    said = {
        "single": (TARGET.votes[0] > 0).mean(),
        "lower": (votes == 5).mean(),
        "upper": (votes > 0).mean(),
        "mean": ((votes == 5).mean() + (votes > 0).mean()) / 2,
        "max-prob": (confidence > 0.5).mean(),
        "ac": confidence.mean(),
        "atc": estimate(REFERENCE, TARGET.without_labels(), methods=["atc"])["atc"].value,
    }
    for name, value in said.items():
        assert STUDY[name].value.value == pytest.approx(value)
        if name in ("lower", "upper"):
            assert STUDY[name].error is None
        else:
            assert STUDY[name].error.value == pytest.approx(abs(gold - value), abs=1e-9)
    assert STUDY.inside == ((votes == 5).mean() <= gold <= (votes > 0).mean())
    assert STUDY.width.value == pytest.approx((votes > 0).mean() - (votes == 5).mean())


def test_recalls_of_single_bounds_and_baseline() -> None:
    right = TARGET.correct > 0
    votes = TARGET.votes.sum(axis=0)
    accepted = {"single": TARGET.votes[0] > 0, "lower": votes == 5, "upper": votes > 0,
                "max-prob": TARGET.confidence > 0.5}  # fmt: skip
    for name, said in accepted.items():
        found = STUDY[name].measures
        assert found["correct_recall"].value == pytest.approx((said & right).sum() / right.sum())
        assert found["incorrect_recall"].value == pytest.approx(
            (~said & ~right).sum() / (~right).sum()
        )
        assert found["correct_precision"].value == pytest.approx((said & right).sum() / said.sum())
        assert found["incorrect_precision"].value == pytest.approx(
            (~said & ~right).sum() / (~said).sum()
        )


def test_the_oracle_recalls_as_much_as_the_bounds() -> None:
    expected = max_prob_oracle(
        TARGET.confidence, TARGET.correct, STUDY["upper"].measures["correct_recall"].value,
        STUDY["lower"].measures["incorrect_recall"].value,
    )  # fmt: skip
    assert STUDY["max-prob-oracle-lower"].value == expected.lower
    assert STUDY["max-prob-oracle-upper"].value == expected.upper
    assert STUDY["max-prob-oracle-mean"].error == expected.error


def test_the_error_has_an_interval_from_the_differences() -> None:
    gap = (TARGET.correct > 0) - TARGET.confidence.astype(float)
    half = 1.959964 * np.sqrt((np.sum((gap - gap.mean()) ** 2) + 1) / 701 / 700)
    found = STUDY["ac"].error
    assert (found.lower, found.upper) == pytest.approx(
        (abs(gap.mean()) - half, abs(gap.mean()) + half), rel=1e-5
    )
    assert found.kind == "asymptotic"
    assert STUDY["atc"].error.kind == "conditional"


def test_the_gap_intervals_hold_their_level() -> None:
    """1,000 data sets of 200 rows: the interval of |accuracy - share accepted| holds the gap of the population."""
    rng = np.random.default_rng(0)
    right = rng.random((1000, 200)) < 0.7
    said = np.where(right, rng.random(right.shape) < 0.9, rng.random(right.shape) < 0.3)
    truth = abs(0.7 - (0.7 * 0.9 + 0.3 * 0.3))
    held = 0
    for gap in right.astype(float) - said:
        error = absolute(paired_gap(float(gap.sum()), float(np.square(gap).sum()), 200, 0.95))
        held += error.lower <= truth <= error.upper
    assert 0.93 <= held / 1000 <= 0.985


def test_json_holds_everything() -> None:
    out = json.loads(json.dumps(STUDY.to_dict(), allow_nan=False))
    assert set(out) >= {"command", "gold", "methods", "inside", "width", "rules", "ladder", "by_judge", "bounds",
                        "by_number", "subsets", "skipped", "warnings", "rows", "judges", "level", "seed"}  # fmt: skip
    assert [row["rows"] for row in out["subsets"]] == [50, 700]
    assert {row["draws"] for row in out["subsets"]} == {50}
    intervals = [row["value"] for row in out["methods"]] + [one["lower"] for one in out["bounds"]]
    assert all({"value", "lower", "upper", "level", "kind"} == set(one) for one in intervals)


def test_rows_and_seed_and_files(tmp_path: Path) -> None:
    def tables(study: VoteStudy) -> Any:
        return {**study.to_dict(), "name": ""}

    order = np.random.default_rng(3).permutation(700)
    again = vote_study(TARGET.take(order), reference=REFERENCE, sizes=[50, 700])
    for one, other in zip(STUDY.methods, again.methods, strict=True):
        assert other.value.value == pytest.approx(one.value.value)
    assert again.to_dict()["subsets"] == STUDY.to_dict()["subsets"]
    other = vote_study(TARGET, reference=REFERENCE, sizes=[50, 700], seed=1)
    assert other.to_dict()["subsets"] != STUDY.to_dict()["subsets"]
    path = write_predictions(TARGET, tmp_path / "t.parquet")
    back = write_predictions(REFERENCE, tmp_path / "r.jsonl")
    assert tables(vote_study(path, reference=back, sizes=[50, 700])) == tables(STUDY)


def test_what_cannot_be_compared_is_skipped() -> None:
    bare = vote_study(Predictions.from_arrays(votes=TARGET.votes, correct=TARGET.correct))
    assert [s.method for s in bare.skipped] == ["max-prob", "ac", "atc", "max-prob-oracle"]
    assert_snapshot(bare.skipped[0].why)
    alone = vote_study(TARGET)
    assert [(s.method, "reference" in s.why) for s in alone.skipped] == [("atc", True)]
    with raises_snapshot(UsageError):
        _ = alone["atc"]
    with raises_snapshot(UsageError):
        _ = alone["best"]


def test_edges() -> None:
    one = vote_study({"votes": [[1, 0, 1]], "correct": [1, 0, 0], "confidence": [0.9, 0.2, 0.7]})
    assert one["lower"].value.value == one["upper"].value.value == one["single"].value.value
    assert "one judge" in one.warnings[0]
    perfect = vote_study({"votes": [[1, 1], [1, 1]], "correct": [1, 1], "confidence": [0.9, 0.2]})
    assert perfect["mean"].error.value == 0
    assert perfect["mean"].error.upper > 0.3  # two rows prove little
    assert perfect["lower"].measures["incorrect_recall"] is None
    assert [s.method for s in perfect.skipped] == ["atc", "max-prob-oracle"]
    assert_snapshot(perfect.warnings[0])
    some = vote_study({"votes": [[1, 0, 1]], "correct": [1, None, 0]})
    assert (some.rows, some.warnings[0]) == (2, "1 rows have no known truth and were left out")


def test_faults() -> None:
    with raises_snapshot(InputError):
        vote_study({"confidence": [0.5], "correct": [1]})
    for truth in ({}, {"correct": [None]}, {"label": [0]}):
        with raises_snapshot(InputError):
            vote_study({"votes": [[1]], **truth})
    with raises_snapshot(UsageError):
        vote_study(TARGET, sizes=[10, 701])
    with raises_snapshot(UsageError):
        vote_study(TARGET, draws=0)
    with pytest.raises(UsageError, match="level"):
        vote_study(TARGET, level=95)
    with raises_snapshot(UsageError):
        vote_study(TARGET, gamma=50)


def test_bounds_of_which_some_judges_may_disagree() -> None:
    """Four of five agree: every row that is about bounds is that of four, against plain loops."""
    study = vote_study(TARGET, reference=REFERENCE, sizes=[50, 700], agree=4)
    votes, right = TARGET.votes.sum(axis=0), TARGET.correct > 0
    lower, upper = (votes >= 4), (votes >= 2)
    assert study["lower"].value.value == pytest.approx(lower.mean())
    assert study["upper"].value.value == pytest.approx(upper.mean())
    assert study["mean"].error.value == pytest.approx(
        abs((lower.mean() + upper.mean()) / 2 - right.mean())
    )
    assert study["lower"].measures["incorrect_recall"].value == pytest.approx(
        (~lower)[~right].mean()
    )
    assert study["upper"].measures["correct_recall"].value == pytest.approx(upper[right].mean())
    assert study.width.value == pytest.approx(upper.mean() - lower.mean())
    assert study.inside == (lower.mean() <= right.mean() <= upper.mean())
    every = study.tables["subsets"][-1]
    assert every["lower"].value == pytest.approx(lower.mean())
    assert every["upper"].value == pytest.approx(upper.mean())
    assert study["single"].value == STUDY["single"].value
    oracle = max_prob_oracle(TARGET.confidence, right, upper[right].mean(), (~lower)[~right].mean())
    assert study["max-prob-oracle-mean"].value.value == pytest.approx(oracle.mean.value)
    whole = vote_study(TARGET, reference=REFERENCE, sizes=[50, 700], agree=5)
    assert whole.to_dict() == STUDY.to_dict()
    with raises_snapshot(UsageError):
        vote_study(TARGET, agree=2)
