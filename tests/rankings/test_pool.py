"""Pools: each kind of evidence against the house's own method, agreement by hand, and reasons where one is absent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oodometer.accuracy_proxies import rank_models
from oodometer.arrays import Array, softmax
from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions
from oodometer.rankings import agreement_values, pool_evidence
from oodometer.rankings.pool import _with_members
from oodometer.registry import create

from ..snapshots import assert_snapshot, raises_snapshot


def records(
    rows: int, seed: int, skills: tuple[float, ...] = (3.0, 1.5, 0.5)
) -> dict[str, Predictions]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, rows)
    out = {}
    for i, skill in enumerate(skills):
        logits: Array = rng.standard_normal((rows, 3)) + skill * np.eye(3)[truth]
        out[f"m{i}"] = Predictions.from_probabilities(softmax(logits), label=truth)
    return out


REFERENCES, POOLS = records(300, 0), records(400, 1)


def test_evidence_is_that_of_the_house() -> None:
    found = pool_evidence(POOLS, REFERENCES)
    assert found.models == ("m0", "m1", "m2")
    assert found.rows == 400
    for name in ("doc", "atc", "cbpe"):
        expected = [
            create("estimator", name).fit(REFERENCES[m]).estimate(POOLS[m].without_labels()).value
            for m in found.models
        ]
        assert found.scores[name].tolist() == pytest.approx(expected)
        assert [one.value for one in found.intervals[name]] == pytest.approx(expected)
    wider = pool_evidence(POOLS, REFERENCES, level=0.99).intervals["doc"]
    assert all(a.width > b.width for a, b in zip(wider, found.intervals["doc"], strict=True))
    assert set(found.intervals) == {"ac", "doc", "atc", "cbpe", "agreement", "gde-difference"}
    for name in ("nuclear-norm", "mano", "softmax-correlation"):
        ranking = rank_models(POOLS, name)
        if name != "softmax-correlation":  # which learns the prior of each reference
            assert found.scores[name].tolist() == pytest.approx(
                [ranking.evidence[m].value for m in found.models]
            )
    for name, scores in found.scores.items():
        assert scores[0] > scores[2], name
    assert set(found.why_not) == {"dispersion", "mde"}
    assert_snapshot(found.why_not["mde"])


def test_the_other_models_are_members() -> None:
    found = pool_evidence(POOLS, REFERENCES, estimators=["agreement"], proxies=[])
    predicted = np.stack([record.predicted for record in POOLS.values()])
    pool = replace(
        POOLS["m1"], members=predicted[[0, 2]].astype(np.int32), prediction=predicted[1], _cache={}
    )
    others = np.stack([REFERENCES[m].predicted for m in ("m0", "m2")]).astype(np.int32)
    reference = replace(
        REFERENCES["m1"], members=others, prediction=REFERENCES["m1"].predicted, _cache={}
    )
    expected = create("estimator", "agreement").fit(reference).estimate(pool.without_labels()).value
    assert found.scores["agreement"][1] == expected


def test_labels_of_the_pool_are_not_looked_at() -> None:
    wrong = {m: replace(r, label=np.zeros_like(r.predicted), _cache={}) for m, r in POOLS.items()}
    a, b = pool_evidence(POOLS, REFERENCES), pool_evidence(wrong, REFERENCES)
    assert all(np.array_equal(a.scores[name], b.scores[name]) for name in a.scores)


def test_without_references_or_probabilities_reasons_are_given() -> None:
    found = pool_evidence(POOLS)
    assert "labelled references" in found.why_not["atc"]
    bare = {m: Predictions.from_classes(record.predicted) for m, record in POOLS.items()}
    said = pool_evidence(bare, estimators=["atc"])
    assert set(said.scores) == {"plurality", "pairwise agreement"}
    assert "m0: needs `probabilities`" in said.why_not["nuclear-norm"]
    assert_snapshot(said.why_not["confidence"])


def test_agreement_by_hand() -> None:
    plurality, pairwise = agreement_values([[0, 0, 0], [0, 1, 1], [0, 1, 2], [1, 1, 2]])
    assert plurality[:, 0].tolist() == [1, 1, 1, 0]
    assert plurality[:, 1].tolist() == [0, 1, 1, 1]
    assert plurality[:, 2].tolist() == [
        0,
        0,
        1 / 3,
        1 / 3,
    ]  # of the others' votes 0, 1 and 2 have one each
    assert pairwise[:, 0] == pytest.approx([2 / 3, 2 / 3, 2 / 3, 0])


def test_what_does_not_belong_together_is_refused() -> None:
    with raises_snapshot(UsageError):
        pool_evidence(POOLS, {m: REFERENCES[m] for m in ("m0", "m1")})
    with raises_snapshot(UsageError):
        pool_evidence({"m0": POOLS["m0"]})
    with raises_snapshot(InputError):
        pool_evidence({"m0": POOLS["m0"], "m1": POOLS["m1"].slice(0, 9)})
    with raises_snapshot(UsageError):
        pool_evidence(POOLS, estimators=["actt"])


def test_agreement_is_that_of_a_count_of_votes() -> None:
    rng = np.random.default_rng(0)
    said = rng.integers(0, 4, (6, 80))
    plurality, pairwise = agreement_values(
        said * 10**9
    )  # a table of rows and classes would not fit
    for i in range(6):
        for row in range(80):
            votes = np.bincount(np.delete(said[:, row], i), minlength=4)
            leading = np.flatnonzero(votes == votes.max())
            assert plurality[i, row] == pytest.approx((said[i, row] in leading) / len(leading))
            assert pairwise[i, row] == pytest.approx(votes[said[i, row]] / 5)


def test_members_say_what_they_say_whatever_the_order_of_classes() -> None:
    said = {"a": ["dog", "cat", "dog"], "b": ["cat", "dog", "dog"], "c": ["dog", "dog", "dog"]}
    records = {name: Predictions.from_classes(one) for name, one in said.items()}
    likely = [[0.1, 0.9], [0.8, 0.2], [0.9, 0.1]]
    records["b"] = Predictions.from_probabilities(likely, classes=["dog", "cat"])
    for name, record in _with_members(records).items():
        assert record.members is not None
        words = [[record.classes[at] for at in row] for row in record.members]
        assert words == [one for key, one in said.items() if key != name]


def test_another_order_of_classes_changes_nothing() -> None:
    turned = []
    for some in (REFERENCES, POOLS):
        last = some["m2"]
        assert last.probabilities is not None
        other = Predictions.from_probabilities(
            last.probabilities[:, ::-1],
            classes=[2, 1, 0],
            label=None if last.label is None else [int(one) for one in last.label],
        )
        turned.append({**some, "m2": other})
    found, again = pool_evidence(POOLS, REFERENCES), pool_evidence(turned[1], turned[0])
    assert set(again.scores) == set(found.scores)
    for name, scores in found.scores.items():
        assert again.scores[name].tolist() == pytest.approx(scores.tolist()), name
