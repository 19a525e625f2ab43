"""The verb `compare`: rankings, disagreements in words, pairing, costs, targets without labels, and its errors."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

import oodometer
from oodometer import Comparison, Predictions, compare
from oodometer.errors import InputError, UsageError
from oodometer.metrics import computation_score, didma, disca, nidma
from oodometer.passes import evaluating

from ..snapshots import assert_snapshot, raises_snapshot

ROWS = 3000


def answers(seed: int, rates: list[tuple[float, float]], rows: int = ROWS) -> dict[str, Any]:
    """A model whose accuracy in each stretch of coverage is given: [(up to this coverage, accuracy)]; two classes."""
    rng = np.random.default_rng(seed)
    label = np.random.default_rng(99).integers(0, 2, rows)
    at = (rng.permutation(rows) + 0.5) / rows
    accuracy = np.array([rate for _, rate in rates])[
        np.searchsorted([edge for edge, _ in rates], at)
    ]
    right = rng.random(rows) < accuracy
    return {
        "label": label,
        "prediction": np.where(right, label, 1 - label),
        "confidence": 1 - 0.5 * at,
    }


STEADY = [(0.1, 1.0), (0.3, 0.96), (1.0, 0.6)]  # a clean start and a poor rest
BROAD = [(0.1, 0.75), (0.8, 0.94), (1.0, 0.8)]  # errors among the surest, and a good rest
POOR = [(0.1, 0.9), (1.0, 0.5)]


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(
        [answers(1, STEADY), answers(2, BROAD), answers(3, POOR)],
        out_of_domain=[answers(4, POOR), answers(5, STEADY), answers(6, POOR)],
        names=["steady", "broad", "poor"],
    )


def order(found: Comparison, metric: str, domain: str = "in_domain") -> list[str]:
    return [row["model"] for row in found.rankings[domain][metric]]


def test_rankings(found: Comparison) -> None:
    assert order(found, "accuracy") == ["broad", "steady", "poor"]
    assert order(found, "disca")[0] == "steady"
    assert order(found, "auc_coverage", "out_of_domain")[0] == "broad"
    for metric, rows in found.rankings["in_domain"].items():
        values = [row["value"] for row in rows]
        rising = metric in ("aurc", "e_aurc", "augrc", "risk_at_coverage", "brier", "ece")
        assert values == sorted(values, reverse=not rising), metric
        assert [row["rank"] for row in rows] in ([1, 2, 3], [1, 2, 2]), metric
        if metric not in ("brier", "ece"):
            assert sum(row["p_best"] for row in rows) == pytest.approx(1), metric
    assert found.rankings["in_domain"]["accuracy"][0]["p_best"] > 0.95


def test_values_are_those_of_the_metrics(found: Comparison) -> None:
    data = answers(2, BROAD)
    alone = disca(data["confidence"], data["label"] == data["prediction"])
    assert found["broad"].in_domain["disca"].value == pytest.approx(alone.value)
    evaluated = oodometer.evaluate(data)
    for name in ("accuracy", "aurc", "augrc", "coverage_at_risk", "disca"):
        assert found["broad"].in_domain[name].to_dict() == evaluated[name].to_dict(), name


def test_where_the_rankings_part_is_said_in_words(found: Comparison) -> None:
    assert order(found, "auc_coverage") == ["broad", "steady", "poor"]
    told = [
        f for f in found.findings if f["name"] == "auc_against_disca" and f["domain"] == "in_domain"
    ]
    assert told[0]["models"] == ["broad", "steady"]
    assert told[0]["share"] >= 0.9
    assert_snapshot(told[0]["sentence"])
    assert "because" in told[0]["sentence"]
    by_risk = next(f for f in found.findings if f["name"] == "auc_against_coverage_at_risk")
    assert_snapshot(by_risk["sentence"])
    tail = next(
        f for f in found.findings if f["name"] == "tail" and f["models"] == ["broad", "steady"]
    )
    assert tail["tail_accuracy"][1] > tail["tail_accuracy"][0] + 0.05
    case = next(f for f in found.findings if f["name"] == "start" and f["models"] == ["broad"])
    assert_snapshot(case["sentence"])


def test_disagreements_have_kendalls_tau(found: Comparison) -> None:
    rows = [d for d in found.disagreements if d["domain"] == "in_domain"]
    one = next(d for d in rows if d["metrics"] == ["auc_coverage", "disca"])
    values = [
        [model.in_domain[name].value for model in found.models]
        for name in ("auc_coverage", "disca")
    ]
    assert one["tau"] == pytest.approx(kendalltau(*values).statistic)
    assert {"auc_coverage": "broad", "disca": "steady"} in [
        pair["preferred"] for pair in one["pairs"]
    ]


def test_pairs_have_differences_with_intervals(found: Comparison) -> None:
    pair = next(
        p for p in found.pairs
        if (p["a"], p["b"], p["metric"], p["domain"]) == ("steady", "broad", "accuracy", "in_domain")
    )  # fmt: skip
    one, other = found["steady"].in_domain["accuracy"], found["broad"].in_domain["accuracy"]
    assert pair["difference"]["value"] == pytest.approx(one.value - other.value)
    assert (
        pair["difference"]["lower"] < pair["difference"]["value"] < pair["difference"]["upper"] < 0
    )
    assert pair["p_a_better"] < 0.05
    assert len(found.pairs) == 2 * 3 * 8


def test_json(found: Comparison) -> None:
    result = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert result["command"] == "compare"
    assert set(result["rankings"]) >= {"accuracy", "auc_coverage", "disca"}
    model = result["models"][0]
    assert model["name"] == "steady"
    for domain in ("in_domain", "out_of_domain"):
        assert model[domain]["rows"] == ROWS
        assert {"value", "a", "b", "by_tolerance"} <= set(model[domain]["metrics"]["disca"])
        assert len(model[domain]["accuracy_coverage"]["y"]) == 100
        assert len(model[domain]["risk_coverage"]["y"]) <= 200
        assert len(model[domain]["failure_cases"]) == 6
        assert [row["accuracy"] for row in model[domain]["operating_points"]] == [0.9, 0.95, 0.99]
    assert result["paired"]["in_domain"]["paired"]
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()


def test_the_same_rows_are_told_by_their_labels() -> None:
    one, other = answers(1, STEADY), answers(2, BROAD)
    assert compare([one, other]).paired["in_domain"]["paired"]
    moved = {name: values[::-1].copy() for name, values in other.items()}
    apart = compare([one, moved])
    assert not apart.paired["in_domain"]["paired"]
    assert "labels differ" in apart.paired["in_domain"]["why"]
    shorter = compare([one, answers(2, BROAD, 1000)])
    assert any("DiSCA" in warning and "1,000" in warning for warning in shorter.warnings)
    assert not any("DiSCA" in warning for warning in compare([one, other]).warnings)
    assert "different numbers" in shorter.paired["in_domain"]["why"]
    verdicts = {"confidence": one["confidence"], "correct": one["label"] == one["prediction"]}
    assert_snapshot(compare([one, verdicts]).paired["in_domain"]["why"])


def test_class_names_pair_whatever_their_numbers() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    label = [["ant", "bee", "cat"][i] for i in rng.integers(0, 3, 300)]
    one = Predictions.from_probabilities(p, label=label, classes=["ant", "bee", "cat"])
    other = Predictions.from_probabilities(p[:, ::-1], label=label, classes=["cat", "bee", "ant"])
    found = compare([one, other])
    assert found.paired["in_domain"]["paired"]
    assert (
        found.models[0].in_domain["accuracy"].value == found.models[1].in_domain["accuracy"].value
    )


def test_pairing_makes_differences_sharper() -> None:
    """Two models that err on nearly the same rows: drawn together, their difference hardly varies."""
    one = answers(1, STEADY)
    other = dict(
        one, prediction=np.where(np.arange(ROWS) % 50 == 0, 1 - one["label"], one["prediction"])
    )
    width = {}
    for name, second in {
        "paired": other,
        "apart": {k: np.roll(v, 1) for k, v in other.items()},
    }.items():
        found = compare([one, second])
        assert found.paired["in_domain"]["paired"] == (name == "paired")
        pair = next(p for p in found.pairs if p["metric"] == "accuracy")
        width[name] = pair["difference"]["upper"] - pair["difference"]["lower"]
    assert width["paired"] < 0.6 * width["apart"]


def test_equal_models_are_not_told_apart() -> None:
    """Two models drawn from the same law: no finding about the pair but that it is undecided."""
    alarms = 0
    for seed in range(10):
        found = compare([answers(10 + 2 * seed, STEADY, 800), answers(11 + 2 * seed, STEADY, 800)])
        alarms += any(len(f["models"]) == 2 and not f["undecided"] for f in found.findings)
    assert alarms <= 1


def test_what_may_be_chance_is_marked(found: Comparison) -> None:
    """An order counts from nine in ten replicates on; where AUC and DiSCA part below that, one finding says so."""
    for pair in found.pairs:
        assert pair["undecided"] == (0.1 < pair["p_a_better"] < 0.9)
    parted = [pair for one in found.disagreements for pair in one["pairs"]]
    assert all(pair["undecided"] == (pair["share"] < 0.9) for pair in parted)
    assert {pair["undecided"] for pair in parted} == {True, False}
    assert all({"contested", "undecided"} <= set(one) for one in found.findings)
    seeds = (range(10), range(20, 30))
    told = [
        (close, f)
        for a, b in zip(*seeds, strict=True)
        for close in [compare([answers(a, STEADY, 400), answers(b, STEADY, 400)], names=["a", "b"])]
        for f in close.findings
        if f["name"] == "undecided"
    ]
    assert told
    for close, finding in told:
        row = next(d for d in close.disagreements if d["metrics"] == ["auc_coverage", "disca"])
        assert finding["pairs"] == [
            {"models": finding_order(row), "share": row["pairs"][0]["share"]}
        ]
        assert finding["undecided"]
        assert finding["share"] < 0.9
        assert_snapshot(finding["sentence"])


def finding_order(row: dict[str, Any]) -> list[str]:
    """The model that AUC prefers, then the other."""
    preferred = row["pairs"][0]["preferred"]
    return [preferred["auc_coverage"], preferred["disca"]]


def test_several_undecided_pairs_make_one_finding() -> None:
    found = compare([answers(seed, STEADY, 400) for seed in range(8)])
    row = next(d for d in found.disagreements if d["metrics"] == ["auc_coverage", "disca"])
    unsure = [pair for pair in row["pairs"] if pair["undecided"]]
    assert len(unsure) > 1
    (one,) = [f for f in found.findings if f["name"] == "undecided"]
    assert sorted(p["share"] for p in one["pairs"]) == sorted(p["share"] for p in unsure)
    more = "more " if len(unsure) < len(row["pairs"]) else ""
    assert one["sentence"].startswith(
        f"AUC and DiSCA order {len(unsure)} {more}pairs of models differently"
    )
    assert set(one["models"]) == {name for pair in one["pairs"] for name in pair["models"]}


def test_a_contested_finding_is_one_that_coverage_at_risk_speaks_against() -> None:
    """A flat vote never rises, so DiSCA likes it out of domain, where it can answer nothing at the accepted risk."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 2000)
    at = (rng.permutation(2000) + 0.5) / 2000
    wavy = rng.random(2000) < np.where(at < 0.02, 0.9, np.where(at < 0.5, 0.99, 0.7))
    flat = rng.random(2000) < 0.8
    models = [
        {"label": label, "prediction": np.where(right, label, 1 - label), "confidence": confidence}
        for right, confidence in ((wavy, 1 - 0.1 * at), (flat, np.full(2000, 0.55)))
    ]
    found = compare(models, names=["wavy", "flat"])
    (one,) = [f for f in found.findings if f["name"] == "auc_against_disca"]
    assert one["models"] == ["wavy", "flat"]
    assert one["contested"]
    assert_snapshot(one["sentence"])


def test_costs() -> None:
    data = {
        "models": [answers(1, STEADY), answers(2, BROAD)],
        "out_of_domain": [answers(4, POOR), answers(5, STEADY)],
    }
    found = compare(
        **data,
        names=["a", "b"],
        energy=[2.0, 4.0],
        didma_weights=(0.6, 0.4),
        nidma_weights=(0.7, 0.3),
    )
    for model, energy in zip(found.models, (2.0, 4.0), strict=True):
        inside, outside = model.in_domain["disca"].value, model.out_of_domain["disca"].value  # type: ignore[index]
        expected = didma(inside, computation_score(energy=energy), (0.6, 0.4))
        assert model.didma.value == pytest.approx(expected)  # type: ignore[union-attr]
        assert model.nidma.value == pytest.approx(nidma(expected, outside, (0.7, 0.3)))  # type: ignore[union-attr]
        assert model.nidma.lower < model.nidma.value < model.nidma.upper  # type: ignore[union-attr]
    assert {"didma", "nidma"} <= set(found.rankings["in_domain"])
    by_size = compare(**data, parameters=[1e6, 4e6], optimal_parameters=1e6)
    assert [model.computation for model in by_size.models] == [1.0, 0.25]
    assert compare(data["models"]).models[0].didma is None


def test_a_target_without_labels() -> None:
    one, other = answers(1, STEADY), answers(2, BROAD)
    goals = [{"confidence": data["confidence"]} for data in (one, other)]
    found = compare([one, other], target=goals, names=["one", "other"], require=(0.9,))
    for place, (model, data) in enumerate(zip(found.models, (one, other), strict=True)):
        assert model.target is not None
        truth = (data["label"] == data["prediction"]).mean()
        # the target is the domain itself; that nothing moved cannot be seen of confidences, so a fall is thought of
        assert truth - 0.05 < model.target["accuracy"].value < truth + 0.02
        assert (
            model.target["accuracy"]
            == oodometer.estimate(data, goals[place], target_accuracies=(0.9,)).headline.interval
        )
        assert model.target["trust"] in ("high", "low", "none")
        assert "shift" in model.target["assumes"]
        assert model.target["answers"][0]["accuracy"] == 0.9
        assert len(model.target["curve"].y) == 100
    assert [row["model"] for row in found.rankings["target"]["accuracy"]] == ["other", "one"]
    (order,) = [one for one in found.findings if one["name"] == "target_order"]
    first, second = (found[name].target["accuracy"] for name in ("other", "one"))
    assert order["models"] == ["other", "one"]
    assert order["undecided"] == (first.lower <= second.upper)
    assert ("undecided" in order["sentence"]) == order["undecided"]
    assert json.dumps(found.to_dict(), allow_nan=False)


@pytest.fixture(scope="module")
def trio() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Labelled files and targets of three models: good ones that err apart, and a poor one; the same rows in each."""
    rng = np.random.default_rng(5)
    files: list[list[dict[str, Any]]] = [[], []]
    for out, rows in zip(files, (1200, 900), strict=True):
        label = rng.integers(0, 2, rows)
        for accuracy in (0.86, 0.85, 0.6):
            wrong = rng.random(rows) >= accuracy
            one = {"id": np.arange(rows), "prediction": np.where(wrong, 1 - label, label)}
            out.append({**one, "label": label, "confidence": rng.uniform(0.6, 0.9, rows)})
    targets = [
        {name: column for name, column in one.items() if name != "label"} for one in files[1]
    ]
    return files[0], targets


def test_pairs_on_a_target_without_labels(
    trio: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    homes, targets = trio
    shuffled = {name: column[::-1] for name, column in targets[1].items()}  # rows are joined by id
    found = compare(
        homes, target=[targets[0], shuffled, targets[2]], names=["good", "fair", "poor"]
    )
    pairs = {(row["a"], row["b"]): row for row in found.pairs if row["domain"] == "target"}
    assert {key: row["undecided"] for key, row in pairs.items()} == {
        ("good", "fair"): True, ("good", "poor"): False, ("fair", "poor"): False,
    }  # fmt: skip
    gap = pairs["good", "poor"]["difference"]
    assert gap["kind"] == "empirical"
    assert gap["lower"] < 0.26 < gap["upper"] < 0.5
    assert pairs["good", "poor"]["p_a_better"] > 0.85
    orders = [one for one in found.findings if one["name"] == "target_order"]
    assert [one["undecided"] for one in orders] == [True, False, False]
    assert_snapshot(orders[0]["sentence"])
    assert orders[1]["models"][1] == "poor"
    assert orders[1]["sentence"].endswith(": decided")
    assert_snapshot(found.paired["target"]["why"])
    assert_snapshot(found.paired["target"]["assumes"])
    assert_snapshot(found.paired["target"]["decided"][0])
    text = str(found)
    assert_snapshot(text)
    assert json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: {k: v[:-1] for k, v in one.items()}, "different numbers of rows"),
        (lambda one: {**one, "id": one["id"] + 1}, "different ids"),
        (lambda one: {k: v for k, v in one.items() if k != "prediction"}, "no predicted classes"),
    ],
)
def test_targets_of_other_rows_are_no_pairs(
    trio: tuple[list[dict[str, Any]], list[dict[str, Any]]], change: Any, why: str
) -> None:
    homes, targets = trio
    found = compare(homes[:2], target=[targets[0], change(targets[1])])
    assert not [row for row in found.pairs if row["domain"] == "target"]
    assert why in found.paired["target"]["why"]
    (order,) = [one for one in found.findings if one["name"] == "target_order"]
    assert_snapshot(order["sentence"])


def test_another_order() -> None:
    rng = np.random.default_rng(3)
    label = rng.integers(0, 3, 500)
    records = [
        Predictions.from_logits(rng.normal(size=(500, 3)) + 2 * np.eye(3)[label], label=label)
        for _ in range(2)
    ]
    found = compare(records, score="energy")
    assert found.settings["score"] == "energy"
    assert "disca" not in found.rankings["in_domain"]
    assert any(s["metric"] == "disca" for s in found.to_dict()["models"][0]["in_domain"]["skipped"])
    by_margin = compare(records, score="margin")
    alone = oodometer.evaluate(records[0], score="margin", metrics=["aurc"])
    assert by_margin.models[0].in_domain["aurc"].value == alone["aurc"].value


def test_files_are_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    paths = []
    for name, rates in {"a": STEADY, "b": BROAD}.items():
        data = answers(1, rates, 500)
        path = tmp_path / f"{name}.csv"
        lines = [f"{x},{y},{c}" for x, y, c in zip(*(data[k].tolist() for k in data), strict=True)]
        path.write_text("\n".join(["label,prediction,confidence", *lines]) + "\n")
        paths.append(path)
    whole = compare(paths)
    monkeypatch.setattr(evaluating, "batch_rows", lambda classes: 64)
    parts = compare(paths)
    assert [model.name for model in whole.models] == ["a", "b"]
    for metric, ranking in whole.rankings["in_domain"].items():
        again = parts.rankings["in_domain"][metric]
        assert [row["model"] for row in again] == [row["model"] for row in ranking]
        assert [row["value"] for row in again] == pytest.approx([row["value"] for row in ranking])
        assert [row["p_best"] for row in again] == [row["p_best"] for row in ranking]
    monkeypatch.setattr(evaluating, "LIMIT", 400)
    many = compare(paths)
    assert_snapshot(many.paired["in_domain"]["why"])


def test_wrong_calls() -> None:
    one, other = answers(1, STEADY, 100), answers(2, BROAD, 100)
    with raises_snapshot(UsageError):
        compare([one])
    with raises_snapshot(UsageError):
        compare([one, other], names=["a"])
    with raises_snapshot(UsageError):
        compare([one, other], names=["a", "a"])
    with raises_snapshot(UsageError):
        compare([one, other], energy=[1, 1], parameters=[1, 1], optimal_parameters=1)
    with raises_snapshot(UsageError):
        compare([one, other], optimal_parameters=1e6)
    with pytest.raises(UsageError, match="tolerance"):
        compare([one, other], tolerance=0.2)
    with raises_snapshot(UsageError):
        compare([one, other], require=(95,))
    with raises_snapshot(InputError):
        compare([one, {"confidence": one["confidence"]}])
    with raises_snapshot(UsageError):
        compare([one, other])["x"]


def test_without_confidence_there_are_differences_and_no_thresholds() -> None:
    one, other = (
        {name: file[name] for name in ("label", "prediction")}
        for file in (answers(1, STEADY), answers(2, BROAD))
    )
    found = compare([one, other], names=["one", "other"])
    assert set(found.rankings["in_domain"]) == {"accuracy"}
    assert found.rankings["in_domain"]["accuracy"][0]["p_best"] > 0.5
    assert [pair["metric"] for pair in found.pairs] == ["accuracy"]
    assert "threshold" not in str(found).lower()
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_unlabelled_rows_are_left_out_and_said() -> None:
    one, other = answers(1, STEADY, 200), answers(2, BROAD, 200)
    gaps = dict(one, label=[None, *one["label"][1:].tolist()])
    found = compare([gaps, other], names=["gaps", "whole"])
    assert_snapshot(found.warnings)
    assert not found.paired["in_domain"]["paired"]


def test_progress_and_seeds() -> None:
    seen: list[tuple[int, int]] = []
    data = [answers(1, STEADY, 300), answers(2, BROAD, 300)]
    once = compare(data, seed=3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
    assert compare(data, seed=3).to_dict() == once.to_dict()
    assert (
        compare(data, seed=4).rankings["in_domain"]["disca"] != once.rankings["in_domain"]["disca"]
    )
