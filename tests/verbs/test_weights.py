"""Sampling weights: numbers of the population that the weights stand for, and their intervals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

import oodometer
from oodometer.errors import InputError, UnknownColumnError, UsageError
from oodometer.metrics import Metric
from oodometer.metrics.weighted import WEIGHT, WeightedCells, WeightedMean
from oodometer.predictions import Predictions
from oodometer.registry import create

from ..snapshots import assert_snapshot, raises_snapshot

ROWS = 300


def table(classes: int, rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Probabilities, labels, and lognormal weights that are larger where the model errs."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), rows)
    label = np.array([rng.choice(classes, p=row) for row in p])
    w = np.exp(rng.standard_normal(rows) - 0.7 * (p.argmax(axis=1) == label))
    return pd.DataFrame({f"prob_{k}": p[:, k] for k in range(classes)} | {"label": label, "w": w})


def weighed(data: Any, **options: Any) -> oodometer.Evaluation:
    found = oodometer.evaluate(data, weight="w", **options)
    assert isinstance(found, oodometer.Evaluation)
    return found


def truths(frame: pd.DataFrame, classes: int) -> dict[str, float]:
    """What scikit-learn says with ``sample_weight``."""
    p = frame.filter(like="prob_").to_numpy()
    y, g, w = frame["label"], p.argmax(axis=1), frame["w"]
    average = "binary" if classes == 2 else "macro"
    scored = {"sample_weight": w, "average": average}
    macro = {"sample_weight": w, "average": "macro"}
    out = {
        "accuracy": sk.accuracy_score(y, g, sample_weight=w),
        "precision": sk.precision_score(y, g, **scored),
        "recall": sk.recall_score(y, g, **scored),
        "f1": sk.f1_score(y, g, **scored),
        "macro_precision": sk.precision_score(y, g, **macro),
        "macro_recall": sk.recall_score(y, g, **macro),
        "macro_f1": sk.f1_score(y, g, **macro),
        "balanced_accuracy": sk.balanced_accuracy_score(y, g, sample_weight=w),
        "mcc": sk.matthews_corrcoef(y, g, sample_weight=w),
        "cohen_kappa": sk.cohen_kappa_score(y, g, sample_weight=w),
        "nll": sk.log_loss(y, p, sample_weight=w),
        "brier": float(np.average(((p - np.eye(classes)[y]) ** 2).sum(axis=1), weights=w)),
    }
    if classes == 2:
        out["brier"] = sk.brier_score_loss(y, p[:, 1], sample_weight=w)
        out["specificity"] = sk.recall_score(y, g, sample_weight=w, pos_label=0)
    else:
        out["top_k_accuracy:2"] = sk.top_k_accuracy_score(y, p, k=2, sample_weight=w)
    return out


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("scale", [1.0, 1e-4])  # weights need not sum to the rows
def test_values_are_those_of_scikit_learn(classes: int, scale: float) -> None:
    frame = table(classes)
    expected = truths(frame, classes)
    found = weighed(frame.assign(w=frame["w"] * scale), metrics=[*expected])
    for name, value in expected.items():
        number = found[name.partition(":")[0]]
        assert number.value == pytest.approx(value, abs=1e-9), name
        assert number.lower < value < number.upper
        assert number.kind == "asymptotic"


@pytest.mark.parametrize("classes", [2, 4])
def test_equal_weights_give_about_the_unweighted_interval(classes: int) -> None:
    frame = table(classes).assign(w=3.0)
    plain, found = oodometer.evaluate(frame), weighed(frame)
    shared = found.metrics.keys() & plain.metrics.keys()
    assert {"accuracy", "f1", "mcc", "nll", "brier", "specificity"} <= shared
    for name in shared:
        a, b = plain[name], found[name]
        assert b.value == pytest.approx(a.value)
        for end in ("lower", "upper"):
            assert getattr(b, end) == pytest.approx(getattr(a, end), abs=0.15 * a.width), name
    assert found.weights is not None
    assert found.weights.effective_rows == pytest.approx(ROWS)


def test_nothing_unweighted_stands_beside_weighted_numbers() -> None:
    frame = table(2).assign(latency_ms=np.arange(ROWS))
    found = weighed(frame)
    why = {one.method: one.why for one in found.skipped}
    for name in ("roc_auc", "ece", "aurc", "per_class", "reliability", "confusion"):
        assert_snapshot(why[name])
    assert not found.curves
    assert not found.tables
    assert not found.costs
    (one,) = weighed(frame, metrics=["accuracy", "roc_auc"]).skipped
    assert "leave --weight out" in one.why or "leave weight out" in one.why


def test_mean_of_scores_lies_on_their_scale() -> None:
    rng = np.random.default_rng(1)
    score, w = rng.integers(1, 6, 200).astype(float), rng.exponential(size=200)
    found = weighed({"score": score, "w": w}, scale=(1, 5))["mean_score"]
    assert found.value == pytest.approx(np.average(score, weights=w))
    assert 1 <= found.lower < found.value < found.upper <= 5
    assert weighed({"score": score, "w": w})["mean_score"].kind == "empirical"  # a guessed scale


def test_parts_of_a_file_merge_to_the_whole() -> None:
    frame = table(3).assign(cluster=np.arange(ROWS) // 5)
    columns = {WEIGHT: frame["w"].to_numpy()}
    record = Predictions.from_probabilities(
        frame.filter(like="prob_").to_numpy(), label=frame["label"].to_numpy(), columns=columns
    )
    metrics: list[Metric[Any, Any]] = [
        WeightedMean(create("metric", "accuracy")),
        WeightedCells(create("metric", "macro_f1")),
    ]
    for metric in metrics:
        parts = [record.take(np.arange(a, min(a + 70, ROWS))) for a in range(0, ROWS, 70)]
        state = metric.summarize(parts[0])
        for part in parts[1:]:
            state = metric.merge(state, metric.summarize(part))
        a, b = metric.finish(state), metric.compute(record)
        assert [a.value, a.lower, a.upper] == pytest.approx([b.value, b.lower, b.upper])


def test_clusters_widen_weighted_intervals() -> None:
    frame = table(2)
    repeated = pd.concat([frame] * 4, ignore_index=True).assign(
        passage=[*map(str, np.tile(np.arange(ROWS), 4))]
    )
    alone, four = weighed(frame), weighed(repeated, cluster="passage")
    by_id = weighed(repeated.rename(columns={"passage": "id"}))
    for name in ("accuracy", "f1", "mcc", "nll"):
        # four copies of a row say what one does
        for found in (four, by_id):
            assert found[name].value == pytest.approx(alone[name].value)
            # (rows alone are worth at most Kish's number of them)
            assert found[name].width == pytest.approx(alone[name].width, rel=0.08), name
    assert weighed(repeated)["accuracy"].width < 0.6 * alone["accuracy"].width


def test_slices_are_weighted() -> None:
    frame = table(2).assign(site=np.where(np.arange(ROWS) % 3, "a", "b"))
    found = weighed(frame, by="site")
    for part in found.slices:
        rows = frame[frame["site"] == part.value]
        alone = weighed(rows)
        assert part.metrics["accuracy"].value == pytest.approx(alone["accuracy"].value)
        assert part.metrics["f1"].lower == pytest.approx(alone["f1"].lower)
    assert found.slice_difference is not None


def test_labels_join_and_rows_without_truth_need_no_weight(tmp_path: Path) -> None:
    frame = table(2).assign(id=np.arange(ROWS))
    whole = weighed(frame)
    label = frame[["id", "label"]].sample(frac=1, random_state=0)
    joined = weighed(frame.drop(columns="label"), labels=label)
    assert joined["accuracy"].value == whole["accuracy"].value
    more = pd.concat([frame, frame.iloc[:1].assign(id=-1, label=None, w=None)])
    more["label"] = more["label"].astype("Int64")
    more.to_csv(tmp_path / "a.csv", index=False)
    assert weighed(tmp_path / "a.csv")["accuracy"].value == pytest.approx(whole["accuracy"].value)


@pytest.mark.parametrize("cell", ["-1", "", "heavy", "nan", "inf"])
def test_a_cell_that_is_no_weight_is_named(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"correct,w\n1,1.5\n0,2\n1,{cell}\n")
    with raises_snapshot(InputError):
        oodometer.evaluate(path, weight="w")


def test_other_wrong_columns() -> None:
    with raises_snapshot(InputError):
        oodometer.evaluate({"correct": [1, 0], "w": [0, 0]}, weight="w")
    with pytest.raises(UnknownColumnError, match="weights"):
        oodometer.evaluate({"correct": [1, 0], "w": [1, 2]}, weight="weights")


def test_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("correct;w\n1;1,5\n0;2,5\n")
    found = oodometer.evaluate(path, weight="w", metrics=["accuracy"])
    assert isinstance(found, oodometer.Evaluation)
    assert found["accuracy"].value == pytest.approx(0.375)


def test_rows_of_weight_zero_count_for_nothing() -> None:
    frame = table(3)
    odd = pd.concat([frame, frame.assign(w=0.0, label=0)], ignore_index=True)
    a, b = weighed(frame), weighed(odd)
    for name in ("accuracy", "macro_f1", "cohen_kappa", "brier"):
        assert b[name].value == pytest.approx(a[name].value)
        assert b[name].width == pytest.approx(a[name].width, rel=0.02)


def test_all_right_is_as_uncertain_as_the_effective_rows() -> None:
    w = np.array([1.0] * 50 + [50.0])
    found = weighed({"correct": np.ones(51, dtype=int), "w": w}, metrics=["accuracy"])
    assert found.weights is not None
    worth = w.sum() ** 2 / (w**2).sum()
    assert found.weights.effective_rows == pytest.approx(worth)
    assert found["accuracy"].lower == pytest.approx(0.025 ** (1 / worth), abs=1e-6)


def test_json_and_the_first_screen_say_what_weights_are_worth() -> None:
    frame = table(2).rename(columns={"w": "sample_weight"})
    several = oodometer.evaluate(frame, frame, weight="sample_weight")
    one = several[0]
    out = json.loads(json.dumps(one.to_dict()))["weights"]
    assert out["column"] == "sample_weight"
    assert out["design_effect"] == pytest.approx(ROWS / out["effective_rows"])
    assert_snapshot(str(one))
    assert not [line for line in one.warnings if "is not used" in line]
    plain = oodometer.evaluate(frame)
    assert [line for line in plain.warnings if "weight" in line and "count each by it" in line]
    assert "weights" not in plain.to_dict()


@pytest.mark.parametrize("rows", [100, 500])
@pytest.mark.parametrize("slope", [-0.4, 0.4])
def test_intervals_hold_the_population_accuracy(rows: int, slope: float) -> None:
    """Rows drawn by chances 1 / w from a population in which the weight goes with correctness."""
    rng = np.random.default_rng([rows, 7])
    z = 0.7 * rng.standard_normal(200_000)
    w, right = np.exp(z), rng.uniform(size=len(z)) < 1 / (1 + np.exp(-(1.2 + slope * z)))
    chance = 1 / w / (1 / w).sum()
    metric, held, unweighted = WeightedMean(create("metric", "accuracy")), 0, 0
    for drawn in rng.choice(len(z), size=(400, rows), p=chance):
        columns = {WEIGHT: w[drawn]}
        found = metric.compute(Predictions.from_arrays(correct=right[drawn], columns=columns))
        held += found.lower <= right.mean() <= found.upper
        plain = create("metric", "accuracy").compute(Predictions.from_arrays(correct=right[drawn]))
        unweighted += plain.lower <= right.mean() <= plain.upper
    assert 0.92 <= held / 400 <= 0.985
    assert rows == 100 or unweighted < held


def sides(rows: int = 240) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers of two models to the same questions, with their weights, some of them 0, tasks and passages."""
    rng = np.random.default_rng(21)
    w = np.where(np.arange(rows) % 40 == 0, 0.0, rng.lognormal(0, 0.8, rows))
    shared = {"id": np.arange(rows), "w": w, "passage": np.arange(rows) // 3}
    shared["group"] = np.where(np.arange(rows) % 3 == 0, "sums", "words")
    first, second = rng.random(rows) < 0.6 + 0.2 * (w > 1), rng.random(rows) < 0.7
    frames = [pd.DataFrame(shared | {"correct": right}) for right in (first, second)]
    return frames[0], frames[1].sample(frac=1, random_state=1)


def test_a_weighted_comparison_is_that_of_the_population() -> None:
    a, b = sides()
    found = oodometer.compare([a, b], names=["a", "b"], weight="w")
    b = b.sort_values("id")
    w, d = a["w"].to_numpy(), b["correct"].to_numpy() * 1.0 - a["correct"].to_numpy()
    value = np.average(d, weights=w)
    error = np.sqrt((w**2 * (d - value) ** 2).sum()) / w.sum()
    gap = found.difference
    assert (gap["value"], gap["standard_error"]) == (
        pytest.approx(value),
        pytest.approx(error, rel=0.02),
    )
    assert gap["upper"] - gap["lower"] == pytest.approx(2 * 1.97 * error, rel=0.05)
    assert gap["weights"]["effective_rows"] == pytest.approx(w.sum() ** 2 / (w**2).sum())
    accuracies = {row["model"]: row["value"] for row in found.rankings["in_domain"]["accuracy"]}
    assert accuracies["b"] - accuracies["a"] == pytest.approx(value)
    for task in found.tasks:
        rows = (a["group"] == task["task"]).to_numpy()
        assert task["difference"]["value"] == pytest.approx(np.average(d[rows], weights=w[rows]))
    assert {pair["metric"] for pair in found.pairs} == {"accuracy"}, "nothing unweighted beside it"
    assert "McNemar" not in str(found)
    assert_snapshot(str(found))
    assert gap["value"] != pytest.approx(oodometer.compare([a, b]).difference["value"], abs=1e-4)


def test_a_weighted_comparison_in_clusters_by_files_and_by_a_group_of_options(
    tmp_path: Path,
) -> None:
    a, b = sides()
    a["w"] = a["w"].round(6)
    b["w"] = b["w"].round(6)
    for name, frame in (("a", a), ("b", b.iloc[:200])):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frame.to_parquet(tmp_path / f"{name}.parquet")
    gaps = []
    for ending in ("csv", "parquet"):
        files = [tmp_path / f"{name}.{ending}" for name in "ab"]
        gaps.append(oodometer.compare(files, weight="w", cluster="passage").difference)
    columns = oodometer.Columns(weight="w", cluster="passage")
    gaps.append(oodometer.compare([a, b.iloc[:200]], names=["a", "b"], columns=columns).difference)
    assert gaps[0]["rows"] == 200, "rows that one file lacks are left out"
    assert gaps[0]["clusters"] < 200
    for gap in gaps[1:]:
        for name in ("value", "lower", "upper", "p_value"):
            assert gap[name] == pytest.approx(gaps[0][name])


def test_a_row_has_one_weight_in_all_files() -> None:
    a, b = sides()
    b.loc[b["id"] == 7, "w"] = 9.5
    with raises_snapshot(InputError):
        oodometer.compare([a, b], weight="w")
    with pytest.raises(InputError, match="weight"):
        oodometer.compare([a, b.assign(w=-1.0)], weight="w")
    with pytest.raises(UnknownColumnError):
        oodometer.compare([a, b.drop(columns="w")], weight="w")


@pytest.mark.parametrize(
    "options",
    [{"anytime": True, "fail_drop": 0.02}, {"energy": [1, 2]}, {"metrics": ["pass@2"]}],
)
def test_a_weighted_comparison_refuses_what_knows_no_weights(options: dict[str, Any]) -> None:
    with raises_snapshot(UsageError):
        oodometer.compare([*sides()], weight="w", **options)


def test_a_column_of_weights_is_offered_to_a_comparison() -> None:
    a, b = (frame.rename(columns={"w": "sample_weight"}) for frame in sides())
    offered = [line for line in oodometer.compare([a, b]).warnings if "sample_weight" in line]
    assert offered
    assert "weight" in offered[0]
    assert not [
        line
        for line in oodometer.compare([a, b], weight="sample_weight").warnings
        if "not used" in line
    ]
