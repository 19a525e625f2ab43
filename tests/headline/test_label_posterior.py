"""Labels in the number: when to stop, what proves a fall, which labels do not count."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.audits.labels import uneven
from oodometer.errors import UsageError
from oodometer.headline.label_posterior import (
    LabelEvidence,
    LabelPosterior,
    cdf_without_labels,
    decide_by_labels,
    falls_by_labels,
    said_by_labels,
)
from oodometer.headline.natural_shifts import ShiftSigns, packaged_prior
from oodometer.inference.betting import SampledRows, betting_evidence, log_evidence, sampled_game
from oodometer.results import Interval

from ..snapshots import assert_snapshot, raises_snapshot

PRIOR = cdf_without_labels(
    packaged_prior(), ShiftSigns(0.9, 0.9, 2000, 2000, moved=0.1, unexplained=0.1)
)


def test_the_evidence_of_every_order_of_draws_averages_to_one_at_the_boundary() -> None:
    """Of 8 rows 5 are right; all orders of three draws are written out."""
    right, rows, points = 5, 8, np.arange(5) / 8
    orders = [np.array(order) < right for order in itertools.permutations(range(rows), 3)]
    e = [
        math.exp(log_evidence(points, np.full(5, 0.2), right / rows, (one.sum(), 3), rows))
        for one in orders
    ]
    assert np.mean(e) == pytest.approx(1)
    # of more right rows it is less, since it bets on fewer
    more = [math.exp(log_evidence(points, np.full(5, 0.2), 5 / 8, (k, 3), rows)) for k in (2, 3)]
    assert more[1] < more[0] < 1


@pytest.mark.parametrize("truth", [0.87, 0.868, 0.6])
@pytest.mark.parametrize("rows", [400, 100_000])
def test_a_look_every_five_labels_decides_wrongly_in_few_orders(truth: float, rows: int) -> None:
    """At the bound itself and below it, up to 200 labels; 5 % are promised."""
    wrong, runs, bound = 0, 100, 0.87
    right = round(truth * rows)
    for run in range(runs):
        own = np.random.default_rng([run, rows])
        hits = np.cumsum(own.permutation(rows)[:200] < right)
        for labels in range(5, 201, 5):
            evidence = LabelEvidence(float(hits[labels - 1]), labels, labels, rows)
            says = said_by_labels(LabelPosterior(PRIOR, evidence), bound)
            if says is not None:
                wrong += (says == "below") != (right / rows < bound)
                break
    assert wrong / runs <= 0.05


def test_bets_on_suggested_rows_are_fair_at_the_mean() -> None:
    """Over 2,000 draws by chance the capital is 1 on average, and passes 20 in 5 % at most, at whatever draw."""
    rng = np.random.default_rng(0)
    score = rng.uniform(0.5, 1.0, 60)
    truth = (rng.random(60) < score).astype(float)
    capital, passed = [], 0
    for seed in range(2000):
        row = np.random.default_rng(seed).permutation(60)[:20]
        games = sampled_game(row, truth[row], np.ones(20), score, 1.0)
        capital.append(math.exp(betting_evidence(games, float(truth.mean()), 1)))
        logs = [
            betting_evidence(
                sampled_game(row[:n], truth[row[:n]], np.ones(n), score, 1.0),
                float(truth.mean()),
                1,
            )
            for n in (5, 10, 15, 20)
        ]
        passed += max(logs) >= math.log(20)
    assert np.mean(capital) == pytest.approx(1, abs=0.1)
    assert passed <= 0.05 * 2000


def test_how_many_labels_are_missing() -> None:
    near, far = (
        decide_by_labels(LabelPosterior(PRIOR, LabelEvidence(k, 40, 40, 50_000)), 0.8)
        for k in (30, 22)
    )
    assert (near.says, far.says) == (None, "below")
    assert far.needed is None
    assert near.needed is not None
    assert near.needed > 50
    known = LabelPosterior(PRIOR, LabelEvidence(30, 40, 40, 40))
    assert decide_by_labels(known, 0.8).to_dict() == {
        "bound": 0.8,
        "says": "below",
        "needed_labels": None,
    }
    picked = LabelPosterior(PRIOR, LabelEvidence(1, 40, 40, 50_000, not_random="they were picked"))
    none = LabelPosterior(PRIOR, LabelEvidence(0, 0, 0, 50_000))
    assert decide_by_labels(picked, 0.8) == decide_by_labels(none, 0.8)


def test_what_labels_prove_alone_is_an_alarm_whatever_is_believed() -> None:
    """A prior that is sure of the contrary, and an exact interval below the bound."""
    sure = cdf_without_labels(
        packaged_prior(), None, Interval(0.95, 0.949, 0.951, 0.95, "conditional")
    )
    evidence = LabelEvidence(20, 29, 29, 100_000)
    (fell,) = falls_by_labels(
        [LabelPosterior(sure, evidence)], [None], 0.05, [(190, 200)], "covariate"
    )
    assert fell is not None
    assert evidence.proof(0.9) is not None
    assert (fell.verdict, fell.alarm) == ("fell", True)
    assert_snapshot(fell.why)


def test_what_clusters_add_makes_the_belief_wider() -> None:
    signs = ShiftSigns(0.9, 0.9, 2000, 2000, moved=0.1, unexplained=0.1)
    wide = cdf_without_labels(packaged_prior(), signs, error=0.05)
    assert PRIOR is not None
    assert wide is not None
    ends = [np.interp([0.05, 0.95], cdf, np.linspace(0, 1, 1001)) for cdf in (PRIOR, wide)]
    assert np.diff(ends[1])[0] > np.diff(ends[0])[0] + 0.05


def test_labels_of_some_parts_are_told_from_random_ones() -> None:
    rng = np.random.default_rng(0)
    said = [
        uneven([(int(k), 500) for k in rng.multivariate_hypergeometric([500] * 8, 200)])
        for _ in range(1000)
    ]
    assert sum(one is not None for one in said) <= 5
    assert uneven([(500, 500), (0, 500)]) is not None
    assert uneven([(500, 500), (500, 500)]) is None
    assert uneven([]) is None


ROWS = 1000
P = np.random.default_rng(11).beta(3, 1, 2 * ROWS)
P = np.where(np.random.default_rng(12).random(2 * ROWS) < 0.5, P, 1 - P)
TRUE = (np.random.default_rng(13).random(2 * ROWS) < P).astype(int)
REFERENCE = pd.DataFrame({"prob_1": P[ROWS:], "label": TRUE[ROWS:]})
TARGET = pd.DataFrame({"prob_1": P[:ROWS]})


def test_the_least_sure_rows_speak_for_themselves_in_both_verbs() -> None:
    least = np.argsort(np.abs(P[:ROWS] - 0.5))[:90]
    labels = {"row": least.tolist(), "label": TRUE[least].tolist()}
    asked: dict[str, Any] = {
        "methods": ["ac", "doc", "source"],
        "fail_drop": 0.03,
        "labels": labels,
    }
    audit, found = (
        oodometer.audit(REFERENCE, TARGET, **asked),
        oodometer.estimate(REFERENCE, TARGET, **asked),
    )
    assert (
        audit.not_random
        == found.not_random
        == ("their confidence is lower than that of the other rows (rank test, p < 0.001)")
    )
    assert (audit.refuted, audit.p_value, audit.alarms.raised, found.alarms.raised) == (
        False,
        None,
        False,
        False,
    )
    for text in (repr(audit), repr(found)):
        assert "REFUTED" not in text
        assert "randomly drawn" not in text
        assert "exact" not in text.replace("no interval is exact", "").replace(
            "no\n  interval is exact", ""
        )
    assert (
        found.headline
        == oodometer.estimate(REFERENCE, TARGET, **{**asked, "labels": None}).headline
    )


def test_rows_that_were_drawn_by_confidence_are_weighed_by_an_audit_alone(tmp_path: Any) -> None:
    drawn = np.random.default_rng(0).permutation(ROWS)[:40]
    labels = pd.DataFrame({"row": drawn, "label": TRUE[drawn], "draw": np.arange(40), "share": 0.5})
    found = oodometer.estimate(REFERENCE, TARGET, labels=labels, methods=["ac", "doc", "source"])
    assert_snapshot(found.not_random)
    assert found.headline_without_labels is None


def test_an_audit_is_asked_about_the_accuracy_alone() -> None:
    labels = {"row": [1, 2, 3], "label": [0, 1, 0]}
    with raises_snapshot(UsageError):
        oodometer.audit(REFERENCE, TARGET, labels=labels, fail_below={"f1": 0.8})
    with raises_snapshot(UsageError):
        oodometer.audit(REFERENCE, judge=["a"], fail_below=0.9)


def test_suggested_rows_decide_by_a_gamblers_capital() -> None:
    rng = np.random.default_rng(1)
    score = np.full(4000, 0.8)
    row = rng.permutation(4000)[:120]
    nan, none = np.full(120, np.nan), np.zeros(0, dtype=int)
    drawn = SampledRows(row, (rng.random(120) < 0.5).astype(float), np.full(120, 0.6), nan, none)
    posterior = LabelPosterior(PRIOR, LabelEvidence.of_sample(drawn, score, 120, None))
    assert said_by_labels(posterior, 0.8, (drawn, score, 0.5)) == "below"
    assert said_by_labels(posterior, 0.5, (drawn, score, 0.5)) is None
    assert posterior.evidence.proof(0.8) is None
