"""Few labels beside the prior of natural shifts: in `oodometer.audit`, on odd references, and as it was measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.audits.judge import Believed
from oodometer.errors import UsageError
from oodometer.headline.label_posterior import LabelEvidence, posterior_of_result
from oodometer.headline.label_posterior import audited as believed_of
from oodometer.headline.natural_shifts import packaged_prior, signs_of_result
from oodometer.inference.betting import SampledRows
from oodometer.results.estimation import Estimation
from oodometer.testing import example_record

from ..snapshots import assert_snapshot, raises_snapshot

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
REFERENCE, TARGET = example_record(800, seed=1), example_record(900, seed=2, difficulty=1.4)
ROWS = np.random.default_rng(5).permutation(900)[:25]


def audited(reference: Any = REFERENCE, **more: Any) -> oodometer.Audit:
    goal = {"probabilities": TARGET.probabilities}
    labels = {"row": ROWS, "label": TARGET.label[ROWS]}
    given = {"probabilities": reference.probabilities, "label": reference.label}
    return oodometer.audit(given, goal, **{"labels": labels, "methods": ["doc", "source"], **more})


def estimated() -> Estimation:
    given = {"probabilities": REFERENCE.probabilities, "label": REFERENCE.label}
    return oodometer.estimate(
        given, {"probabilities": TARGET.probabilities}, methods=["doc", "source"]
    )


def with_labels(found: Estimation, drawn: SampledRows, score: np.ndarray) -> Believed:
    evidence = LabelEvidence.of_sample(drawn, score, len(drawn), None)
    return believed_of(found, posterior_of_result(found, evidence, packaged_prior()))


def test_the_believed_interval_stands_beside_the_exact_one() -> None:
    found = audited()
    assert found.estimate is not None
    assert found.believed.interval.kind == "empirical"
    assert found.estimate.kind == "exact"
    assert all(e.kind != "empirical" for e in found.intervals)
    lower, upper = found.believed.interval.lower, found.believed.interval.upper
    assert upper - lower < found.estimate.upper - found.estimate.lower
    assert found.estimate.lower <= TARGET.accuracy <= found.estimate.upper
    plain = json.loads(json.dumps(found.to_dict()))["believed"]
    assert {"value", "lower", "upper", "level", "kind", "assumes", "effective_labels"} <= set(plain)
    assert plain["effective_labels"] > 25
    assert_snapshot(plain["assumes"])
    (text,) = (
        one
        for one in found.view().sentences
        if one.startswith("If this shift resembles public ones: ")
    )
    assert text.endswith(f"as informative as {plain['effective_labels']:.0f} random labels")


def test_the_believed_interval_holds_the_truth_however_the_rows_are_drawn() -> None:
    """At 95 %, of draws of 25 rows from three targets nine in ten hold; least where too deep a fall is expected."""
    held = []
    for difficulty in (1.0, 1.2, 1.4):
        target = example_record(900, seed=2, difficulty=difficulty)
        for seed in range(20):
            rows = np.random.default_rng(seed).permutation(900)[:25]
            given = {"probabilities": REFERENCE.probabilities, "label": REFERENCE.label}
            labels = {"row": rows, "label": target.label[rows]}
            asked = {"labels": labels, "methods": ["doc", "source"]}
            believed = oodometer.audit(
                given, {"probabilities": target.probabilities}, **asked
            ).believed
            held.append(believed.interval.lower <= target.accuracy <= believed.interval.upper)
    assert np.mean(held) >= 0.9


def test_whether_it_fell_is_believed_with_the_labels() -> None:
    """Labels that are nearly all wrong make it sure, labels that are all right refute it; a margin is a fraction."""
    wrong = {"row": ROWS, "correct": np.arange(25) < 5}
    right = {"row": ROWS, "correct": np.ones(25, dtype=bool)}
    said = [audited(labels=one, margin=0.1).believed for one in (wrong, right)]
    falls = [one.fell for one in said if one is not None and one.fell is not None]
    assert [one.verdict for one in falls] == ["fell", "holds"]
    assert [one.alarm for one in falls] == [True, False]
    assert falls[0].by_at_least == 0.1
    assert_snapshot(repr(audited(labels=wrong, margin=0.1)))
    with raises_snapshot(UsageError):
        audited(margin=3)


def test_the_signs_are_those_of_the_headline() -> None:
    """What an audit reads from a result is what gave the headline its value."""
    found = estimated()
    signs = signs_of_result(found)
    assert signs is not None
    assert packaged_prior().value(signs) == pytest.approx(found.headline.value)


def test_without_labels_there_is_only_the_estimate() -> None:
    found = audited(labels=None, suggest=5)
    assert found.believed.interval is None
    assert "no label yet" in str(found.believed.why)
    assert found.to_dict()["believed"]["effective_labels"] is None


def test_without_a_known_reference_the_reason_is_given() -> None:
    found = replace(estimated(), reference={"rows": 0})
    drawn = SampledRows.evenly(np.arange(10), np.ones(10, dtype=int))
    said = with_labels(found, drawn, np.full(900, 0.8))
    assert said.interval is None
    assert "reference" in str(said.why)


@pytest.mark.parametrize("name", ["moved", "unexplained"])
def test_a_sign_that_is_no_number_was_not_seen(name: str) -> None:
    found = estimated()
    signs = {**found.diagnosis.signs, name: float("nan")}
    odd = replace(found, diagnosis=replace(found.diagnosis, signs=signs))
    seen = signs_of_result(odd)
    assert seen is not None
    assert getattr(seen, name) is None
    drawn = SampledRows.evenly(np.arange(20), (np.arange(20) > 3).astype(int))
    said = with_labels(odd, drawn, np.full(900, 0.8))
    assert 0 < said.interval.lower < said.interval.upper < 1


def test_a_reference_without_errors_or_of_50_rows_still_answers() -> None:
    right = example_record(400, seed=3)
    perfect = right.take(np.flatnonzero(right.verdicts == 1))
    for reference in (perfect, example_record(50, seed=4)):
        found = audited(reference)
        assert found.believed.interval is not None
        ends = found.believed.interval
        assert 0 <= ends.lower < ends.value < ends.upper <= 1


def test_suggested_rows_are_random_unless_confidence_is_asked_for() -> None:
    assert audited(labels=None, suggest=300).suggestion.share == 1  # type: ignore[union-attr]
    bold = audited(labels=None, suggest=300, suggest_by="confidence")
    assert bold.suggestion.share < 1
    assert bold.to_dict()["suggest_by"] == "confidence"
    with raises_snapshot(UsageError):
        audited(suggest=5, suggest_by="entropy")


def test_what_was_measured_of_alarms_and_decisions_holds_what_is_promised() -> None:
    found = json.loads((RESULTS / "label_alarms.json").read_text())
    assert found["cases"] >= 150
    assert len(found["limits"]) == 3
    assert all(line["holds"] for line in found["limits"])


def test_what_was_measured_holds_what_is_promised() -> None:
    lines = json.loads((RESULTS / "labels.json").read_text())["groups"]
    found = {c["labels"]: c for c in lines if c["cases of"] == "natural shifts"}
    for labels, worth in {10: 30, 25: 50, 50: 80}.items():
        assert found[labels]["cases"] > 1000
        assert found[labels]["coverage"] >= 0.88
        assert found[labels]["lowest"] >= 0.8
        assert found[labels]["worth"] >= worth
    members = {c["labels"]: c for c in lines if c["cases of"] == "+members"}
    assert members[25]["worth"] >= 50
