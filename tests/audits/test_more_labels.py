"""More labels than rows: one file of all labels so far joins every target by its ids, and says what it did not need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import InputError

ROWS = 300
RNG = np.random.default_rng(3)
P = RNG.uniform(0.02, 0.98, ROWS).round(3)
TRUTH = (RNG.uniform(size=ROWS) < P).astype(int)
REFERENCE = pd.DataFrame({"prob_0": 1 - P, "prob_1": P, "label": TRUTH})
TARGET = pd.DataFrame({"id": np.arange(1000, 1000 + ROWS), "prob_0": 1 - P, "prob_1": P})
RIGHT = float(((P > 0.5) == TRUTH).mean())


def all_labels(before: int, name: str = "id") -> pd.DataFrame:
    """The target's labels behind those of ``before`` earlier rows, all wrong, in any order."""
    own = pd.DataFrame({name: TARGET["id"], "label": TRUTH})
    earlier = pd.DataFrame({name: np.arange(10_000, 10_000 + before), "label": RNG.integers(0, 2, before)})
    return pd.concat([earlier, own]).sample(frac=1, random_state=0)


def estimated(labels: Any, **asked: Any) -> oodometer.Estimation:
    return oodometer.estimate(REFERENCE, TARGET, labels=labels, methods=["ac"], backtest=None, diagnosis=False, **asked)


@pytest.mark.parametrize("before", [1, 2000])
@pytest.mark.parametrize(("name", "key"), [("id", None), ("case", "id=case")])
def test_labels_of_other_rows_are_left_out_and_counted(before: int, name: str, key: str | None) -> None:
    found = estimated(all_labels(before, name), key=key)
    assert found.target["labelled"] == ROWS
    assert found.target["accuracy"]["value"] == pytest.approx(RIGHT)
    (said,) = (one for one in found.warnings if "labels" in one)
    verb = (
        "is not needed: the target has no row of its id"
        if before == 1
        else "are not needed: the target has no row of their id"
    )
    assert said.endswith(f": {before:,} of {before + ROWS:,} labels {verb}")


def test_every_verb_with_labels_leaves_them_out() -> None:
    labels = all_labels(500)
    evaluated = oodometer.evaluate(TARGET, labels=labels, metrics=["accuracy"])
    assert (evaluated.rows, evaluated["accuracy"].value) == (ROWS, pytest.approx(RIGHT))
    compared = oodometer.compare([TARGET, TARGET.copy()], labels=labels, names=["a", "b"], steps=20)
    assert compared["a"].in_domain.metrics["accuracy"].value == pytest.approx(RIGHT)
    assert oodometer.backtest(
        TARGET, labels=labels, methods=["source"], families=["none"], repeats=1, cache=None
    ).reference["accuracy"] == pytest.approx(RIGHT)
    for found in (evaluated, compared):
        assert any("500 of 800 labels are not needed" in one for one in found.warnings)


def test_an_audit_is_that_of_the_labels_of_its_rows() -> None:
    labels = all_labels(500).assign(correct=lambda rows: rows["label"] == 1).drop(columns="label")
    kept = labels[labels["id"] < 10_000]
    asked: dict[str, Any] = {"methods": ["ac"], "seed": 1}
    wide, own = (oodometer.audit(REFERENCE, TARGET, labels=one, **asked) for one in (labels, kept))
    assert (wide.labels, wide.estimate) == (own.labels, own.estimate)
    assert [one for one in wide.warnings if one not in own.warnings] == [
        one for one in wide.warnings if "500 of 800 labels are not needed" in one
    ]


def test_labels_that_are_not_needed_may_repeat_and_those_needed_may_not() -> None:
    labels = all_labels(4)
    twice = pd.concat([labels, labels[labels["id"] >= 10_000]])
    assert estimated(twice).target["accuracy"]["value"] == pytest.approx(RIGHT)
    with pytest.raises(InputError, match="expected each id once"):
        estimated(pd.concat([labels, labels[labels["id"] == 1000]]))


@pytest.mark.parametrize(("found", "refused"), [(0, True), (2, True), (3, False)])
def test_ids_of_which_hardly_any_is_found_are_other_ids(found: int, refused: bool) -> None:
    labels = all_labels(1000)
    labels = labels[(labels["id"] >= 10_000) | (labels["id"] < 1000 + found)]
    if not refused:
        assert estimated(labels).target["labelled"] == found
        return
    with pytest.raises(InputError, match=f"and {found or 'none'} of {1000 + found:,} labels are of rows of the target"):
        estimated(labels)


def test_an_unknown_id_beside_a_row_is_refused() -> None:
    labels = pd.DataFrame({"id": [1000, 7], "row": [0, 1], "label": [1, 1]})
    with pytest.raises(InputError, match=r"row 2: column id: expected '1001', the id of target row 1"):
        estimated(labels)


def test_the_line_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"r.csv": REFERENCE, "t.csv": TARGET, "l.csv": all_labels(500)}
    for name, rows in files.items():
        rows.to_csv(tmp_path / name, index=False)
    reference, target, labels = (str(tmp_path / name) for name in files)
    assert main(["estimate", reference, target, "--labels", labels, "--method", "ac", "--backtest", "none"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "l.csv: 500 of 800 labels are not needed: the target has no row of their id" in said
    assert "Measured on 300 labelled rows" in said
