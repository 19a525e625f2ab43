"""Whether labelled rows are a random sample: the tests keep their level; audits of chosen rows are not exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.audits.labels import LEVEL, unlike

ROWS = 1000
rng = np.random.default_rng(11)
P = 1 / (1 + np.exp(0.5 - 2 * rng.standard_normal(2 * ROWS)))
TRUE = (rng.random(2 * ROWS) < P).astype(int)
REFERENCE = pd.DataFrame({"prob_1": P[ROWS:], "label": TRUE[ROWS:]})
TARGET = pd.DataFrame({"id": np.arange(ROWS), "prob_1": P[:ROWS]})
LABELS = TARGET[["id"]].assign(label=TRUE[:ROWS])
RIGHT = ((P > 0.5) == TRUE)[:ROWS].mean()


def test_random_rows_are_seldom_said_to_be_none() -> None:
    alarms = 0
    cell = np.minimum((P[:ROWS] * 60).astype(int), 59)
    for draw in range(2000):
        chosen = np.random.default_rng(draw).permutation(ROWS) < 120
        counts = np.stack([np.bincount(cell[one], minlength=60) for one in (chosen, ~chosen)])
        said = np.stack([np.bincount(P[:ROWS][one] > 0.5, minlength=2) for one in (chosen, ~chosen)])
        alarms += unlike(counts, said, np.bincount(TRUE[:ROWS][chosen], minlength=2)) is not None
    assert alarms <= 2000 * LEVEL * 3.5


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (LABELS["label"] == 1, "all of them are of one class"),
        (TARGET["prob_1"] > 0.4, "other classes are predicted for them than for the other rows"),
        (np.abs(TARGET["prob_1"] - 0.5) > 0.25, "their confidence is higher than that of the other rows"),
    ],
)
def test_chosen_rows_are_named_and_no_interval_is_exact(rows: Any, why: str) -> None:
    chosen = LABELS[rows].sample(200, random_state=0)
    found = oodometer.audit(REFERENCE, TARGET, labels=chosen, methods=["ac"])
    assert {found.estimate.kind, found.label_only.kind, *(one.kind for one in found.intervals)} == {"conditional"}
    assert found.not_random is not None
    assert found.to_dict()["not_random"].startswith(why)
    assert found.believed.interval is None
    assert any(one.startswith("the labelled rows are no random sample") and why in one for one in found.warnings)
    estimated = oodometer.estimate(REFERENCE, TARGET, labels=chosen, methods=["ac", "doc"], key="id")
    assert not estimated.by_labels
    assert any("are no random sample" in one for one in estimated.warnings)


def test_random_and_suggested_rows_stay_exact(tmp_path: Any) -> None:
    found = oodometer.audit(REFERENCE, TARGET, labels=LABELS.sample(200, random_state=0), methods=["ac"])
    assert (found.estimate.kind, found.not_random) == ("exact", None)
    for way in ("random", "confidence"):
        sheet = tmp_path / f"{way}.csv"
        oodometer.audit(REFERENCE, TARGET, suggest=150, suggest_by=way, out=sheet, methods=["ac"])
        asked = pd.read_csv(sheet)
        asked["label"] = LABELS.set_index("id")["label"].loc[asked["id"]].to_numpy()
        asked.to_csv(sheet, index=False)
        made = oodometer.audit(REFERENCE, TARGET, labels=sheet, methods=["ac"])
        assert (made.estimate.kind, made.not_random) == ("exact", None)


def test_all_rows_labelled_need_no_test() -> None:
    target, one = REFERENCE[REFERENCE["label"] == 1][["prob_1"]], REFERENCE[REFERENCE["label"] == 1][["label"]]
    found = oodometer.audit(REFERENCE, target, labels=one, methods=["ac"])
    assert (found.estimate.kind, found.not_random) == ("exact", None)
