"""Columns of probabilities under other names: read where one reading is left, else named, never passed over."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.cli import main

from ..snapshots import assert_snapshot

ROWS = 500
rng = np.random.default_rng(5)
P = rng.uniform(0, 1, ROWS).round(4)
TRUE = np.where(rng.uniform(size=ROWS) < P, "yes", "no")
SAID = np.where(P > 0.4, "yes", "no")
TABLE = pd.DataFrame({"prediction": SAID, "label": TRUE, "age": rng.uniform(0, 1, ROWS)})


def estimated(reference: Any, **options: Any) -> Any:
    return oodometer.estimate(
        reference,
        reference.drop(columns="label"),
        methods=["ac", "source"],
        diagnosis=False,
        **options,
    )


@pytest.mark.parametrize(("p", "named"), [(P, "yes"), (1 - P, "no")])
@pytest.mark.parametrize("name", ["y_pred_proba", "score", "model probability"])
def test_the_one_column_that_goes_with_the_predictions_is_read(
    name: str, p: Any, named: str
) -> None:
    name = name.replace(" ", "_")
    found = estimated(TABLE.assign(**{name: p}))
    plain = estimated(TABLE.assign(**{name: p}), positive=f"{name}={named}")
    assert found["ac"].value == plain["ac"].value
    assert any(
        f"read {name} as the probability of class {named}; mapping= changes it" in one
        for one in found.warnings
    )
    fitted = oodometer.fit(TABLE.assign(**{name: p}), methods=["ac", "source"], diagnosis=False)
    target = TABLE.drop(columns="label").assign(**{name: p})
    assert fitted.estimate(target)["ac"].value == plain["ac"].value
    judged = oodometer.evaluate(TABLE.assign(**{name: p}))
    assert "brier" in judged.metrics
    assert any(f"read {name} as" in one for one in judged.warnings)


def test_wide_columns_under_another_name_are_read() -> None:
    p = rng.dirichlet([1, 1, 1], ROWS)
    names = np.array(["a", "b", "c"])
    table = pd.DataFrame(p, columns=[f"y_pred_proba_{name}" for name in names])
    table = table.assign(
        prediction=names[p.argmax(axis=1)],
        label=names[(p.cumsum(1) > rng.random((ROWS, 1))).argmax(1)],
    )
    found = estimated(table)
    wide = table.rename(columns={f"y_pred_proba_{name}": f"prob_{name}" for name in names})
    assert found["ac"].value == estimated(wide)["ac"].value
    assert_snapshot(found.warnings)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"proba_old": P, "proba_new": np.sqrt(P)},
            r"proba_old, proba_new are not read; .* --positive proba_old=yes",
        ),
        (
            {"score": 100 * P},
            r"score is not read; if score holds percents, divide it by 100, then --positive score",
        ),
        ({"score": np.maximum(P, 1 - P)}, r"score is not read; .* --map score=confidence"),
        ({"usage": P}, r"usage is not read; if it is a probability, --positive usage=yes"),
        (
            {"y_pred_proba": np.where(P > 0.5, "high", "low")},
            r"y_pred_proba is not read; name a probability with",
        ),
    ],
)
def test_what_is_not_understood_is_named(columns: dict[str, Any], said: str) -> None:
    table = TABLE.assign(**columns)
    found = oodometer.estimate(
        table, table.drop(columns="label"), methods=["source"], diagnosis=False
    )
    (line,) = [one for one in found.warnings if "read" in one]
    assert re.search(said, line), line
    if "proba_old" in columns:
        again = estimated(table, positive="proba_old=yes")
        assert "ac" in [one.method for one in again.estimates]
        assert not any("not read" in one for one in again.warnings)


def test_nothing_is_said_where_nothing_looks_like_it() -> None:
    for table in (TABLE, TABLE.assign(confidence=np.maximum(P, 1 - P), y_pred_proba=P)):
        found = oodometer.estimate(
            table, table.drop(columns="label"), methods=["source"], diagnosis=False
        )
        assert not any("read" in one for one in found.warnings)


def test_it_can_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = TABLE.assign(y_pred_proba=P)
    table.to_csv(tmp_path / "r.csv", index=False)
    table.drop(columns="label").to_csv(tmp_path / "t.csv", index=False)
    paths = [str(tmp_path / "r.csv"), str(tmp_path / "t.csv"), "--method", "source"]
    assert main(["estimate", *paths]) == 0
    assert_snapshot(capsys.readouterr().out)
    assert main(["estimate", *paths, "--map", "y_pred_proba=unread"]) == 0
    assert_snapshot(capsys.readouterr().out)
