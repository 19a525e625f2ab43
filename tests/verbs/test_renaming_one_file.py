"""Renamings that concern one file of a verb alone: a submission and its solution both hold a column `target`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import UsageError

from ..snapshots import raises_snapshot

ROWS = 120
P = np.random.default_rng(0).uniform(0.05, 0.95, ROWS).round(3)
TRUTH = (np.random.default_rng(1).uniform(size=ROWS) < P).astype(int)
SUBMISSION = pd.DataFrame({"id": np.arange(ROWS), "target": P})
SOLUTION = (
    pd.DataFrame({"id": np.arange(ROWS), "target": TRUTH, "other": 1 - TRUTH})
    .iloc[::-1]
    .reset_index(drop=True)
)
RIGHT = pytest.approx(((P > 0.5) == TRUTH).mean())
REFERENCE = pd.DataFrame({"target": P, "label": TRUTH})


def written(frame: pd.DataFrame, path: Path, form: str) -> Any:
    if form == "frame":
        return frame
    getattr(frame, f"to_{form}")(path.with_suffix(f".{form}"), index=False)
    return path.with_suffix(f".{form}")


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("how", ["both", "positive"])
def test_the_labels_are_renamed_alone(form: str, how: str, tmp_path: Path) -> None:
    mine, truth = (
        written(SUBMISSION, tmp_path / "sub", form),
        written(SOLUTION, tmp_path / "sol", form),
    )
    mapping = {"labels:target": "label"}
    positive = "target" if how == "positive" else None
    probability = {} if positive else {"target": "prob_1"}
    found = oodometer.evaluate(mine, labels=truth, mapping=mapping | probability, positive=positive)
    assert found["accuracy"].value == RIGHT
    assert oodometer.evaluate(
        mine, labels=truth, mapping={"labels:other": "label"}, positive="target=1"
    )["accuracy"].value == pytest.approx(1 - ((P > 0.5) == TRUTH).mean())
    reference = written(REFERENCE, tmp_path / "ref", form)
    told = oodometer.estimate(
        reference, mine, labels=truth, mapping=mapping, positive="target", methods=["ac"]
    )
    assert told.target["accuracy"]["value"] == RIGHT
    audited = oodometer.audit(
        reference, mine, labels=truth, mapping=mapping, positive="target", methods=["ac"]
    )
    assert audited.label_only is not None
    assert audited.label_only.value == RIGHT
    compared = oodometer.compare(
        [mine, mine], labels=truth, mapping=mapping, positive="target", names=["a", "b"]
    )
    assert compared.models[0].in_domain["accuracy"].value == RIGHT


def test_reference_and_target_are_renamed_apart() -> None:
    target = SUBMISSION[["target"]].assign(y=1 - TRUTH)
    reference = pd.DataFrame({"target": TRUTH, "y": P})  # the same names, turned round
    mapping = {
        "reference:target": "label",
        "reference:y": "prob_1",
        "target:target": "prob_1",
        "target:y": "label",
    }
    found = oodometer.estimate(reference, target, mapping=mapping, methods=["ac"], backtest="none")
    assert found.reference["accuracy"] == RIGHT
    assert found.target["accuracy"]["value"] == pytest.approx(1 - ((P > 0.5) == TRUTH).mean())


def test_two_models_that_call_their_columns_otherwise_are_compared() -> None:
    first = pd.DataFrame({"id": range(len(TRUTH)), "truth": TRUTH, "said": TRUTH})
    second = pd.DataFrame({"id": range(len(TRUTH)), "said": TRUTH, "y": 1 - TRUTH})  # turned round
    mapping = {"a:truth": "label", "a:said": "prediction", "b:said": "label", "b:y": "prediction"}
    found = oodometer.compare([first, second], mapping=mapping, names=["right", "wrong"])
    assert [model.in_domain["accuracy"].value for model in found.models] == [1, 0]
    with raises_snapshot(UsageError):
        oodometer.compare([first, second], mapping={**mapping, "b:sad": "prediction"})


def test_what_is_wrong_is_one_line() -> None:
    with raises_snapshot(UsageError):
        oodometer.evaluate(
            SUBMISSION, labels=SOLUTION, positive="target", mapping={"reference:a": "label"}
        )
    with raises_snapshot(UsageError):
        oodometer.evaluate(
            SUBMISSION, labels=SOLUTION, positive="target", mapping={"labels:a": "label"}
        )


def test_the_clash_says_which_command_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sub, sol = (
        written(frame, tmp_path / name, "csv")
        for frame, name in ((SUBMISSION, "a"), (SOLUTION, "b"))
    )
    asked = ["evaluate", str(sub), "--labels", str(sol), "--metric", "accuracy"]
    assert main([*asked, "--positive", "target", "--map", "target=label"]) == 2
    remedy = "--positive target --map labels:target=label"
    assert capsys.readouterr().err.endswith(
        f"if target is the truth in the file of labels, {remedy}\n"
    )
    assert main([*asked, *remedy.split()]) == 0
    assert f"{((P > 0.5) == TRUTH).mean():.4f}" in capsys.readouterr().out
