"""Clusters in `estimate` and `audit`: intervals widen, repeated ids are seen, columns that are none are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from oodometer import Oodometer, audit, estimate, fit
from oodometer.errors import UnknownColumnError, UsageError
from oodometer.results import Interval

from ..snapshots import assert_snapshot, raises_snapshot


def passages(count: int, seed: int, size: int = 10) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    easy = rng.beta(1.5, 0.7, count).repeat(size)
    right = rng.random(count * size) < easy
    sure = np.clip(0.4 + easy / 2 + 0.05 * rng.standard_normal(count * size), 0, 1)
    return pd.DataFrame(
        {"confidence": sure, "correct": right, "passage": np.arange(count).repeat(size)}
    )


REFERENCE, TARGET = passages(60, 0), passages(80, 1).drop(columns="correct")
METHODS = ["source", "doc"]


def test_an_estimate_widens() -> None:
    alone, found = (
        estimate(REFERENCE, TARGET, methods=METHODS, cluster=c) for c in (None, "passage")
    )
    assert found.headline.value == alone.headline.value
    assert found.headline.interval != alone.headline.interval
    for name in METHODS:
        assert found[name].value == alone[name].value
        assert found[name].interval.width > 1.3 * alone[name].interval.width
    assert found.reference["kind"] == "asymptotic"
    assert found.reference["lower"] < alone.reference["lower"]
    assert found.reference["upper"] > alone.reference["upper"]
    said = [
        w
        for w in found.warnings
        if "60 clusters in the reference and 80 clusters in the target" in w
    ]
    assert len(said) == 1
    assert not any("clusters" in w for w in alone.warnings)


def test_ids_that_repeat_are_seen() -> None:
    named = [frame.rename(columns={"passage": "id"}) for frame in (REFERENCE, TARGET)]
    found = estimate(*named, methods=METHODS)
    assert (
        found.headline == estimate(REFERENCE, TARGET, methods=METHODS, cluster="passage").headline
    )
    unique = [frame.assign(id=np.arange(len(frame))) for frame in (REFERENCE, TARGET)]
    assert (
        estimate(*unique, methods=METHODS).headline
        == estimate(REFERENCE, TARGET, methods=METHODS).headline
    )


def test_known_labels_are_those_of_clusters() -> None:
    labelled = passages(80, 1).assign(site=np.arange(800) // 200)
    alone, found = (
        estimate(
            REFERENCE, labelled, methods=METHODS, cluster=c, by="site", margin=0.05, fail_drop=0.05
        )
        for c in (None, "passage")
    )
    for plain, wide in zip((alone, *alone.slices), (found, *found.slices), strict=True):
        one, other = (
            part.truth if hasattr(part, "truth") else Interval(**part.target["accuracy"])
            for part in (plain, wide)
        )
        assert (one.kind, other.kind) == ("exact", "asymptotic")
        assert one.value == pytest.approx(other.value, rel=1e-12)  # of labels that count less
        assert other.width > 1.3 * one.width
        assert abs(wide.fell.p - 0.5) <= abs(plain.fell.p - 0.5)


def test_an_audit_is_that_of_clusters() -> None:
    truth = passages(80, 1)["correct"].to_numpy()
    labels = pd.DataFrame({"row": np.arange(200), "correct": truth[:200]})
    alone, found = (
        audit(REFERENCE, TARGET, labels=labels, methods=METHODS, cluster=c)
        for c in (None, "passage")
    )
    assert alone.estimate is not None
    assert found.estimate.kind != "exact"
    assert found.labels == 200
    assert found.effective_labels is not None
    assert 20 <= found.effective_labels < 200
    assert found.estimate.value == pytest.approx(truth[:200].mean())
    assert found.estimate.interval.width > 1.5 * alone.estimate.interval.width
    assert found.believed is not None
    assert found.believed.interval is not None
    assert any("200 labels of 20" in w for w in found.warnings)


def test_columns_that_are_no_clusters() -> None:
    with raises_snapshot(UnknownColumnError):
        estimate(REFERENCE, TARGET, methods=METHODS, cluster="passages")
    same = [frame.assign(batch="a") for frame in (REFERENCE, TARGET)]
    with raises_snapshot(UsageError):
        estimate(*same, methods=METHODS, cluster="batch")


def classed(
    count: int, seed: int, size: int = 10, share: float = 0.5, worse: float = 0.0
) -> pd.DataFrame:
    """Passages of one class each, with probabilities; whole passages are easy or hard."""
    rng = np.random.default_rng(seed)
    of_passage = (rng.random(count) < share).astype(int)
    easy = np.clip(rng.beta(3, 0.6, count) - worse, 0.02, 1).repeat(size)
    right = rng.random(count * size) < easy
    truth = of_passage.repeat(size)
    sure = np.clip(0.55 + 0.4 * easy + 0.02 * rng.standard_normal(count * size), 0.5, 0.99)
    predicted = np.where(right, truth, 1 - truth)
    one = np.where(predicted == 1, sure, 1 - sure)
    return pd.DataFrame(
        {"prob_0": 1 - one, "prob_1": one, "label": truth, "passage": np.arange(count).repeat(size)}
    )


def test_a_fall_without_labels_is_less_sure_in_clusters() -> None:
    away = classed(40, 1, worse=0.4).drop(columns="label").assign(site=np.arange(400) // 200)
    for assume in ("natural", "covariate"):
        alone, found = (
            estimate(classed(60, 0), away, by="site", assume=assume, cluster=c, fail_drop=0.01)
            for c in (None, "passage")
        )
        for plain, wide in zip((alone, *alone.slices), (found, *found.slices), strict=True):
            assert plain.fell is not None
            assert wide.fell is not None
            assert plain.fell.p is not None
            assert wide.fell.p is not None
            if assume == "covariate":
                assert abs(wide.fell.p - 0.5) < abs(plain.fell.p - 0.5)
        for plain, wide in zip(alone.slices, found.slices, strict=True):
            # part of what seems to have moved is chance among passages
            assert wide.signs["moved"] < plain.signs["moved"]
        assert alone.alarms is not None
        assert found.alarms is not None
        rang = [
            {one.place["name"]: one for one in (*run.where, *run.by_chance)}
            for run in (alone.alarms, found.alarms)
        ]
        assert len(rang[0]) == len(rang[1]) == 2
        for part in found.slices:
            assert rang[1][part.name].interval == part.headline.interval
            if assume == "covariate":
                assert rang[1][part.name].chance < rang[0][part.name].chance


def test_no_change_is_seen_where_clusters_alone_differ() -> None:
    rows = 0
    for seed in range(20):
        away = classed(30, 100 + seed).drop(columns="label")
        alone, found = (
            estimate(
                classed(40, seed), away, methods=["source", "atc", "doc"], backtest=None, cluster=c
            )
            for c in (None, "passage")
        )
        assert found.fell is not None
        rows += (alone.fell.changed or 0) <= 0.05
        assert (found.fell.changed or 0) > 0.01
    assert rows > 10  # without clusters nearly every target seems to have changed


def test_few_clusters_deserve_no_high_trust() -> None:
    home, away = classed(400, 0), classed(12, 1, size=50).drop(columns="label")
    alone, found = (estimate(home, away, backtest=None, cluster=c) for c in (None, "passage"))
    assert found.headline.trust != "high"
    assert found.headline.interval != alone.headline.interval


def test_a_fitted_file_keeps_the_clusters(tmp_path: Path) -> None:
    home, away = classed(60, 0), classed(40, 1, worse=0.25).drop(columns="label")
    file = tmp_path / "a.oodo"
    made = fit(home, out=file, cluster="passage", backtest=None)
    direct = estimate(home, away, cluster="passage", backtest=None)
    for reference in (made, Oodometer.load(file), file):
        found = estimate(reference, away, backtest=None)
        assert found.to_dict() == direct.to_dict()
        assert (
            found.to_dict() == estimate(reference, away, cluster="passage", backtest=None).to_dict()
        )
    with raises_snapshot(UnknownColumnError):
        estimate(file, away.rename(columns={"passage": "text"}))
    named = away.rename(columns={"passage": "text"})
    assert estimate(file, named, mapping={"text": "passage"}).headline == direct.headline
    with raises_snapshot(UsageError):
        estimate(file, away.assign(other=1), cluster="other")
    with raises_snapshot(UnknownColumnError):
        fit(home, cluster="passages")


def test_a_fitted_file_without_clusters(tmp_path: Path) -> None:
    home, away = classed(60, 0), classed(40, 1).drop(columns="label")
    plain = fit(home, out=tmp_path / "a.oodo", backtest=None)
    with raises_snapshot(UsageError):
        estimate(plain, away, cluster="passage")
    single = fit(home.drop(columns="passage"), backtest=None)
    found = estimate(single, away, cluster="passage")
    assert (
        found.headline
        == estimate(home.drop(columns="passage"), away, cluster="passage", backtest=None).headline
    )
    assert_snapshot(found.warnings)
    repeated = home.rename(columns={"passage": "id"})
    by_id = estimate(repeated, away, cluster="passage", backtest=None)
    assert_snapshot(by_id.warnings)
    direct = estimate(repeated, away.rename(columns={"passage": "id"}), backtest=None)
    found = estimate(fit(repeated, backtest=None), away.rename(columns={"passage": "id"}))
    assert found.to_dict() == direct.to_dict()
    assert found.reference["kind"] == "asymptotic"


def test_an_audit_by_a_fitted_file_keeps_its_clusters() -> None:
    truth = classed(40, 1)["label"].to_numpy()
    labels = pd.DataFrame({"row": np.arange(100), "label": truth[:100]})
    away = classed(40, 1).drop(columns="label")
    made = fit(classed(60, 0), cluster="passage", backtest=None)
    found = audit(made, away, labels=labels)
    assert found.estimate == audit(classed(60, 0), away, labels=labels, cluster="passage").estimate
    assert any("100 labels of 10" in w for w in found.warnings)


def test_several_references_are_one_in_clusters() -> None:
    home, away = classed(60, 0), classed(40, 1).drop(columns="label")
    one = estimate(home, away, cluster="passage", backtest=None)
    two = estimate([home[:300], home[300:]], away, cluster="passage", backtest=None)
    assert two.reference["lower"] == one.reference["lower"]
    assert two.headline.interval.width == pytest.approx(one.headline.interval.width, rel=0.02)
