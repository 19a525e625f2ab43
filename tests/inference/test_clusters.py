"""Clusters against scipy and statsmodels, in batches and whole, and the intervals of `evaluate` where ids repeat."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oodometer import evaluate
from oodometer.errors import UsageError
from oodometer.inference import clusters as module
from oodometer.inference.clusters import Clusters, cluster_keys, clustered_share, effective_rows
from oodometer.inference.row_sample import RowSample, content_keys, key_bound, scramble
from oodometer.predictions import Predictions

from ..snapshots import raises_snapshot


def passages(rng: np.random.Generator, count: int = 30, size: int = 10) -> dict[str, Any]:
    """Questions of passages that are easy or hard as a whole, with a confidence that knows little of it."""
    easy = rng.beta(0.6, 0.6, count).repeat(size)
    correct = rng.random(count * size) < easy
    return {
        "passage": [f"p{i // size}" for i in range(count * size)],
        "label": np.where(rng.random(count * size) < 0.5, "no", "yes"),
        "confidence": np.clip(rng.normal(0.7, 0.1, count * size) + 0.1 * correct, 0, 1),
    } | {"correct": correct}


def as_answers(rows: dict[str, Any]) -> dict[str, Any]:
    """The same rows with a prediction in the place of `correct`."""
    label = rows["label"]
    other = np.where(label == "yes", "no", "yes")
    return {k: v for k, v in rows.items() if k != "correct"} | {
        "prediction": np.where(rows["correct"], label, other)
    }


def test_keys_depend_on_the_cell_alone() -> None:
    texts = ["q1", "a much longer id of another row", "q1_epoch_3", None, "", "x" * 100]
    keys = cluster_keys(texts)
    assert (
        keys[0]
        == keys[2]
        == cluster_keys(["q1"])[0]
        == cluster_keys(np.array(["q1"], dtype=object))[0]
    )
    assert len(set(keys.tolist())) == 5  # empty cells are clusters of their own
    assert keys[1] == cluster_keys([texts[1]])[0]
    assert keys[5] == cluster_keys([texts[5]])[0]
    assert cluster_keys(np.array([7, 8]))[1] == cluster_keys(["8"])[0]
    assert cluster_keys([None], first_row=0) != cluster_keys([None], first_row=1)


@given(
    keys=st.lists(st.integers(0, 40), min_size=1, max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    seed=st.integers(0, 99),
)
def test_states_merge(keys: list[int], cuts: list[int], seed: int) -> None:
    codes = np.array(keys, dtype=np.uint64)
    values = np.random.default_rng(seed).random(len(keys))
    whole = Clusters.of(codes, values)
    edges = [0, *sorted(min(c, len(keys)) for c in cuts), len(keys)]
    parts = [Clusters.of(codes[a:b], values[a:b]) for a, b in itertools.pairwise(edges) if b > a]
    merged = parts[-1]
    for part in parts[:-1]:
        merged = merged + part
    assert merged.keys.tolist() == whole.keys.tolist()
    np.testing.assert_allclose(merged.sums, whole.sums)


def test_of_very_many_clusters_an_even_sample_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    keys = cluster_keys(np.arange(20_000).repeat(3))
    right = (rng.random(20_000) < 0.7).repeat(3).astype(float)
    whole = Clusters.of(keys, right)
    monkeypatch.setattr(module, "MOST_CLUSTERS", 4096)
    some = Clusters.of(keys[:30_000], right[:30_000]) + Clusters.of(keys[30_000:], right[30_000:])
    assert 2000 < some.count <= 4096
    assert some.bits == 3
    assert (
        some.effect(0.95)
        == pytest.approx(whole.effect(0.95), rel=0.05)
        == pytest.approx(3, rel=0.05)
    )


def test_copies_of_a_question_are_one_question() -> None:
    right = np.repeat([1.0] * 9 + [0.0] * 11, 10)
    found = clustered_share(
        Clusters.of(cluster_keys(np.arange(20).repeat(10)), right), 200, 0.45, 0.95
    )
    exact = scipy.stats.binomtest(9, 20).proportion_ci(0.95)
    assert found == pytest.approx((exact.low, exact.high))


def test_the_standard_error_is_that_of_statsmodels() -> None:
    """Equal clusters: the jackknife's variance is the sandwich with G / (G - 1)."""
    regression = pytest.importorskip("statsmodels.api")
    rows = passages(np.random.default_rng(3))
    y = rows["correct"].astype(float)
    groups = np.arange(300) // 10
    fit = regression.OLS(y, np.ones(300)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    variance = float(fit.bse[0]) ** 2 * 30 / 29
    z, t = scipy.stats.norm.ppf(0.975), scipy.stats.t.ppf(0.975, 29)
    worth = y.mean() * (1 - y.mean()) / variance * (z / t) ** 2
    assert 300 / Clusters.of(cluster_keys(groups), y).effect(0.95) == pytest.approx(max(worth, 30))


def test_few_and_equal_values() -> None:
    assert effective_rows(100, 10, 0.0, 0.0, 0.95) == 10  # all right: no more than the clusters
    assert effective_rows(100, 10, 0.2, 0.0, 0.95) == 100
    assert effective_rows(100, 1, 0.2, np.inf, 0.95) == 1


def test_repeated_ids_are_seen() -> None:
    right = ([True] * 9 + [False] * 11) * 10
    ids = [f"q{i}" for i in range(20)]
    for repeated in (ids * 10, [f"{one}_epoch_{e}" for e in range(1, 11) for one in ids]):
        found = evaluate({"id": repeated, "correct": right})
        assert (found["accuracy"].lower, found["accuracy"].upper) == pytest.approx(
            (0.2306, 0.6847), abs=1e-3
        )
        assert found["accuracy"].kind == "asymptotic"
        assert sum("20 ids" in warning for warning in found.warnings) == 1
    alone = evaluate({"id": [f"r{i}" for i in range(200)], "correct": right})
    assert alone["accuracy"] == evaluate({"correct": right})["accuracy"]
    assert alone["accuracy"].kind == "exact"
    assert not alone.warnings
    once = evaluate({"id": ["same"] * 200, "correct": right})  # a column that tells nothing apart
    assert once["accuracy"].kind == "exact"


def test_every_number_is_widened() -> None:
    rows = as_answers(passages(np.random.default_rng(5)))
    alone, found = evaluate(rows), evaluate(rows, cluster="passage")
    for name, one in found.metrics.items():
        before = alone.metrics[name]
        assert one.value == before.value
        assert one.kind != "exact"
        assert one.lower <= before.lower + 1e-9, name
        assert one.upper >= before.upper - 1e-9, name
    accuracy = found["accuracy"]
    assert accuracy.width > 2 * alone["accuracy"].width
    assert found["brier"].width > 1.5 * alone["brier"].width
    assert {"operating_points", "failure_cases"} <= {one.method for one in found.skipped}
    assert "intervals are those of 30 clusters" in found.warnings[0]
    slices = evaluate(rows, by="label", cluster="passage").slices
    for one, before in zip(slices, evaluate(rows, by="label").slices, strict=True):
        assert one.metrics["accuracy"].width > 1.5 * before.metrics["accuracy"].width


def test_parts_and_batches_are_one_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from oodometer.passes import evaluating

    rows = passages(np.random.default_rng(6), count=200, size=4)
    order = np.random.default_rng(0).permutation(800)
    shuffled = {k: np.asarray(v)[order].tolist() for k, v in rows.items()}
    for i in range(4):
        part = {k: v[i * 200 : (i + 1) * 200] for k, v in shuffled.items()}
        lines = [
            json.dumps(dict(zip(part, values, strict=True)))
            for values in zip(*part.values(), strict=True)
        ]
        (tmp_path / f"{i}.jsonl").write_text("\n".join(lines))
    quick = ["accuracy", "brier", "augrc", "auc_coverage", "ece"]
    whole = evaluate(shuffled, metrics=quick, cluster="passage")
    monkeypatch.setattr(evaluating, "batch_rows", lambda classes: 70)
    found = evaluate(str(tmp_path), metrics=quick, cluster="passage")
    for name, one in whole.metrics.items():
        assert found[name].lower == pytest.approx(one.lower, abs=1e-6), name
        assert found[name].upper == pytest.approx(one.upper, abs=1e-6), name


def test_a_column_that_is_no_cluster_is_refused(tmp_path: Path) -> None:
    with raises_snapshot(UsageError):
        evaluate({"batch": ["a"] * 9, "correct": [True] * 9}, cluster="batch")
    path = tmp_path / "rows.csv"
    path.write_text("id,correct\n" + "\n".join(f"q{i % 5},{int(i % 5 < 2)}" for i in range(50)))
    done = subprocess.run(
        [sys.executable, "-m", "oodometer", "evaluate", str(path), "--cluster", "passages"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "there is no column passages" in done.stderr


def data(rows: int) -> Predictions:
    rng = np.random.default_rng(rows)
    return Predictions.from_probabilities(rng.dirichlet([1.0, 1.0], rows))


def pieces(record: Predictions, length: int, rows_in_all: int | None) -> list[RowSample]:
    return [
        RowSample.of(replace(one, rows_in_all=rows_in_all), ["probabilities"], 200)
        for one in record.batches(length)
    ]


@pytest.mark.parametrize("length", [3000, 16_384])
def test_it_is_the_same_where_the_size_is_known(length: int) -> None:
    record = data(80_000)
    plain, known = pieces(record, length, None), pieces(record, length, 80_000)
    joined, other = reduce(add, plain), reduce(add, known)
    assert (joined["probabilities"] == other["probabilities"]).all()
    assert joined.draw.seen == other.draw.seen == 80_000
    assert sum(len(one.draw.keys) for one in known) < 0.7 * sum(len(one.draw.keys) for one in plain)


def test_it_holds_the_rows_of_the_smallest_keys() -> None:
    record = data(20_000)
    found = reduce(add, pieces(record, 4096, 20_000))
    rows = np.argsort(content_keys(record))[:200]
    want = record.probabilities[rows]
    got = found.arrays["probabilities"]
    assert sorted(map(tuple, got.tolist())) == sorted(map(tuple, want.tolist()))


def test_what_was_kept_of_a_small_data_set_serves_one_that_has_grown() -> None:
    record = data(80_000)
    old, new = pieces(record.slice(0, 20_000), 5000, 20_000), pieces(record, 5000, 80_000)
    mixed = reduce(add, [*old, *new[4:]])
    assert (mixed["probabilities"] == reduce(add, new)["probabilities"]).all()
    assert len(old[0].draw.keys) > len(new[0].draw.keys)


def test_rows_that_are_picked_no_longer_know_of_the_whole() -> None:
    record = replace(data(1000), rows_in_all=100_000)
    assert record.take(np.arange(10)).rows_in_all is None
    assert record.slice(0, 10).rows_in_all is None
    assert Predictions.concat([record, record]).rows_in_all is None


@given(st.integers(1, 20_000), st.integers(1, 10**12))
def test_enough_rows_lie_below_the_bound(limit: int, rows: int) -> None:
    bound = key_bound(limit, rows)
    if bound is not None:
        expected = rows * float(bound) / 2.0**64
        assert expected - 8 * expected**0.5 >= limit
    if rows <= 200_000:
        below = rows if bound is None else int((scramble(np.arange(rows)) < bound).sum())
        assert below >= min(limit, rows)
