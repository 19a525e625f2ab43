"""Clusters in `estimate` and `audit`: intervals widen, repeated ids are seen, columns that are none are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from oodometer import audit, estimate
from oodometer.errors import UnknownColumnError, UsageError
from oodometer.results import Interval


def passages(count: int, seed: int, size: int = 10) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    easy = rng.beta(1.5, 0.7, count).repeat(size)
    right = rng.random(count * size) < easy
    sure = np.clip(0.4 + easy / 2 + 0.05 * rng.standard_normal(count * size), 0, 1)
    return pd.DataFrame({"confidence": sure, "correct": right, "passage": np.arange(count).repeat(size)})


REFERENCE, TARGET = passages(60, 0), passages(80, 1).drop(columns="correct")
METHODS = ["source", "doc"]


def test_an_estimate_widens() -> None:
    alone, found = (estimate(REFERENCE, TARGET, methods=METHODS, cluster=c) for c in (None, "passage"))
    assert found.headline.value == alone.headline.value
    assert found.headline.interval.width > alone.headline.interval.width
    for name in METHODS:
        assert found[name].value == alone[name].value
        assert found[name].interval.width > 1.3 * alone[name].interval.width
    assert found.reference["kind"] == "asymptotic"
    assert found.reference["lower"] < alone.reference["lower"]
    assert found.reference["upper"] > alone.reference["upper"]
    said = [w for w in found.warnings if "60 clusters in the reference and 80 clusters in the target" in w]
    assert len(said) == 1
    assert not any("clusters" in w for w in alone.warnings)


def test_ids_that_repeat_are_seen() -> None:
    named = [frame.rename(columns={"passage": "id"}) for frame in (REFERENCE, TARGET)]
    found = estimate(*named, methods=METHODS)
    assert found.headline == estimate(REFERENCE, TARGET, methods=METHODS, cluster="passage").headline
    unique = [frame.assign(id=np.arange(len(frame))) for frame in (REFERENCE, TARGET)]
    assert estimate(*unique, methods=METHODS).headline == estimate(REFERENCE, TARGET, methods=METHODS).headline


def test_known_labels_are_those_of_clusters() -> None:
    labelled = passages(80, 1).assign(site=np.arange(800) // 200)
    alone, found = (
        estimate(REFERENCE, labelled, methods=METHODS, cluster=c, by="site", margin=0.05, fail_drop=0.05)
        for c in (None, "passage")
    )
    for plain, wide in zip((alone, *alone.slices), (found, *found.slices), strict=True):
        one, other = (
            part.truth if hasattr(part, "truth") else Interval(**part.target["accuracy"]) for part in (plain, wide)
        )
        assert one is not None
        assert other is not None
        assert (one.kind, other.kind) == ("exact", "asymptotic")
        assert one.value == other.value
        assert other.width > 1.3 * one.width
        assert plain.fell is not None
        assert wide.fell is not None
        assert abs(wide.fell.p - 0.5) <= abs(plain.fell.p - 0.5)


def test_an_audit_is_that_of_clusters() -> None:
    truth = passages(80, 1)["correct"].to_numpy()
    labels = pd.DataFrame({"row": np.arange(200), "correct": truth[:200]})
    alone, found = (audit(REFERENCE, TARGET, labels=labels, methods=METHODS, cluster=c) for c in (None, "passage"))
    assert found.estimate is not None
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
    with pytest.raises(UnknownColumnError, match="no column passages"):
        estimate(REFERENCE, TARGET, methods=METHODS, cluster="passages")
    same = [frame.assign(batch="a") for frame in (REFERENCE, TARGET)]
    with pytest.raises(UsageError, match="one value in all rows"):
        estimate(*same, methods=METHODS, cluster="batch")
