"""Classes that one file alone has: rows of them are errors of the model, and no verb refuses or forgets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.cli.main import main

from ..snapshots import assert_snapshot, raises_snapshot

NAMES = ["ant", "bee", "cat"]
ROWS, NEW = 400, 40


def frame(seed: int, right: float, outputs: str, new: int = NEW) -> pd.DataFrame:
    """A model of three classes, right with this chance; the last ``new`` rows are of a class that it does not know."""
    rng = np.random.default_rng(7)  # the same rows for all models
    truth, confidence = rng.choice(NAMES, ROWS), rng.uniform(0.5, 1, ROWS)
    rng = np.random.default_rng(seed)
    said = np.where(rng.random(ROWS) < right, truth, rng.choice(NAMES, ROWS))
    truth[ROWS - new :] = "elk"
    out = pd.DataFrame({"id": [f"r{i}" for i in range(ROWS)], "prediction": said, "label": truth})
    if outputs == "confidence":
        return out.assign(confidence=confidence)
    return out.assign(
        **{f"prob_{n}": np.where(said == n, confidence, (1 - confidence) / 2) for n in NAMES}
    )


def written(table: pd.DataFrame, path: Path) -> str:
    """The file of a table, CSV or NPZ by its name."""
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        wide = [name for name in table if name.startswith("prob_")]
        arrays = {n: np.array(table[n].tolist()) for n in table if n not in wide}
        more = {"probabilities": table[wide].to_numpy(), "classes": np.array(NAMES)} if wide else {}
        np.savez(path, **arrays, **more)
    return str(path)


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
@pytest.mark.parametrize("outputs", ["confidence", "probabilities"])
def test_rows_of_new_classes_are_errors_of_every_model(
    tmp_path: Path, outputs: str, suffix: str
) -> None:
    tables = [frame(1, 0.9, outputs), frame(2, 0.7, outputs)]
    truth = [float((t["prediction"] == t["label"]).mean()) for t in tables]
    with_new = [written(t, tmp_path / f"new{i}{suffix}") for i, t in enumerate(tables)]
    home = [written(frame(i + 3, right, outputs, new=0), tmp_path / f"home{i}{suffix}")
            for i, right in enumerate((0.9, 0.7))]  # fmt: skip
    assert oodometer.evaluate(with_new[0]).metrics["accuracy"].value == pytest.approx(truth[0])
    found = oodometer.compare(with_new)
    assert [m.in_domain.metrics["accuracy"].value for m in found.models] == pytest.approx(truth)
    assert found.paired["in_domain"]["paired"]
    found = oodometer.compare(home, out_of_domain=with_new, target=with_new)
    assert [
        m.out_of_domain.metrics["accuracy"].value for m in found.models if m.out_of_domain
    ] == pytest.approx(truth)
    assert [m.target["truth"]["value"] for m in found.models if m.target] == pytest.approx(truth)
    (order,) = [one["sentence"] for one in found.findings if one["name"] == "target_order"]
    assert (
        order
        == f"on the target {found.models[0].name} is by its labels ahead of {found.models[1].name}, "
        + (f"{100 * truth[0]:.1f} % against {100 * truth[1]:.1f} %")
    )
    said = [
        line
        for line in found.warnings
        if "40 labels are of classes that the model does not know ('elk')" in line
    ]
    assert any("(target)" in line for line in said)
    if outputs == "probabilities":
        assert any(f"new0{suffix}: 40" in line for line in said)
    assert oodometer.diagnose(home[0], with_new[0]).kind != "support"
    assert any("'elk'" in w for w in oodometer.diagnose(with_new[0], home[0]).warnings) == (
        outputs != "confidence"
    )


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_a_target_may_predict_a_class_that_the_reference_never_had(
    tmp_path: Path, suffix: str
) -> None:
    home = [frame(1, 0.9, "confidence", new=0), frame(2, 0.7, "confidence", new=0)]
    away = [t.assign(prediction=np.where(np.arange(ROWS) < 20, "elk", t["prediction"])).drop(columns="label")
            for t in home]  # fmt: skip
    homes = [written(t, tmp_path / f"home{i}{suffix}") for i, t in enumerate(home)]
    aways = [written(t, tmp_path / f"away{i}{suffix}") for i, t in enumerate(away)]
    found = oodometer.compare(homes, target=aways)
    alone = oodometer.estimate(homes[0], aways[0]).headline
    assert found.models[0].target is not None
    assert found.models[0].target["accuracy"].value == pytest.approx(alone.value, abs=0.02)
    assert oodometer.diagnose(homes[0], aways[0])["change"].p_value is not None


def test_numbers_and_named_classes_are_refused_as_before() -> None:
    p = np.full((30, 2), 0.5)
    with raises_snapshot(oodometer.InputError):
        oodometer.evaluate({"probabilities": p, "label": [0, 7] * 15})
    with raises_snapshot(oodometer.InputError):
        oodometer.evaluate(
            {"prediction": ["a", "b"] * 15, "label": ["a", "c"] * 15}, classes=["a", "b"]
        )
    most = {"prob_a": [0.9] * 30, "prob_b": [0.1] * 30, "label": ["x"] * 29 + ["a"]}
    with raises_snapshot(oodometer.InputError):
        oodometer.evaluate(most)


def test_labels_of_a_new_class_are_wrong_at_any_threshold() -> None:
    """The decision of 0.8 is what is judged, not the class of highest probability."""
    p = [0.3, 0.6, 0.7, 0.9] * 10
    table: dict[str, Any] = {
        "prob_no": [1 - one for one in p],
        "prob_yes": p,
        "id": [f"r{i}" for i in range(40)],
    }
    truth = ["no", "no", "yes", "elk"] * 10
    for found in (
        oodometer.evaluate(table | {"label": truth}, threshold=0.8),
        oodometer.evaluate(table, labels={"id": table["id"], "label": truth}, threshold=0.8),
    ):
        assert found.metrics["accuracy"].value == 0.5


def test_diagnose_says_what_it_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A lone column of probabilities is read, as `estimate` reads it, and named."""
    rng = np.random.default_rng(0)
    p = rng.random(300).round(3)
    table = pd.DataFrame(
        {"prediction": (p > 0.4).astype(int), "y_pred_proba": p, "label": (rng.random(300) < p) * 1}
    )
    here, there = (str(tmp_path / name) for name in ("reference.csv", "target.csv"))
    table.to_csv(here, index=False)
    table.drop(columns="label").to_csv(there, index=False)
    found = oodometer.diagnose(here, there)
    (line,) = found.warnings
    assert_snapshot(line)
    assert line in oodometer.estimate(here, there).warnings
    assert line in " ".join(repr(found).split())
    assert "read y_pred_proba as" in found._repr_html_()
    assert main(["diagnose", here, there, "--json", str(tmp_path / "found.json")]) == 0
    assert_snapshot(capsys.readouterr().out)
    assert json.loads((tmp_path / "found.json").read_text())["warnings"] == [
        line.replace("mapping=", "--map")
    ]


def test_a_target_without_a_class_of_the_reference_is_written_in_other_words(
    tmp_path: Path,
) -> None:
    """No such target is one of new classes alone: an estimate would call its words a shift."""
    sure = np.linspace(0.5, 1, 60)
    table = pd.DataFrame({"label": [0, 1] * 30, "prediction": [0, 1, 1] * 20, "confidence": sure})
    words = pd.DataFrame({"prediction": ["ham", "spam"] * 30, "confidence": sure})
    table.to_csv(tmp_path / "reference.csv", index=False)
    words.to_csv(tmp_path / "target.csv", index=False)
    with raises_snapshot(oodometer.OodometerError):
        oodometer.estimate(tmp_path / "reference.csv", tmp_path / "target.csv", backtest=None)
