"""Several models as people hold them: tables with columns of their own, arrays, lists of rows, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.errors import InputError

from ..snapshots import assert_snapshot, raises_snapshot

RNG = np.random.default_rng(0)
NAMES = np.array(["bee", "cat", "dog"])
ROWS = 300
TRUTH = NAMES[RNG.integers(0, 3, ROWS)]
RIGHT = {"good": 0.9, "fair": 0.75, "poor": 0.6}
FEW: list[str | None] = [str(name) if i % 25 == 0 else None for i, name in enumerate(TRUTH)]


def probabilities(right: float, seed: int) -> np.ndarray:
    """Rows whose largest number is the truth's with this chance."""
    rng = np.random.default_rng(seed)
    code = np.searchsorted(NAMES, TRUTH)
    guess = np.where(rng.random(ROWS) < right, code, (code + rng.integers(1, 3, ROWS)) % 3)
    p = rng.uniform(0.05, 0.3, (ROWS, 3))
    p[np.arange(ROWS), guess] += 1
    return np.asarray(p / p.sum(axis=1, keepdims=True))


P = {name: probabilities(right, seed) for seed, (name, right) in enumerate(RIGHT.items())}
ANSWERS = {name: NAMES[p.argmax(axis=1)] for name, p in P.items()}
COUNTED = {name: float((answers == TRUTH).mean()) for name, answers in ANSWERS.items()}


def table(p: np.ndarray, truth: Any) -> pd.DataFrame:
    """A table that calls its columns by the classes, and the truth ``y``."""
    return pd.DataFrame(p, columns=NAMES).assign(y=truth)


def rows(name: str, truth: Any) -> list[dict[str, Any]]:
    """The answers of a model as a list of rows."""
    pairs = zip(truth, ANSWERS[name].tolist(), strict=True)
    return [{"label": label, "prediction": answer} for label, answer in pairs]


RANKED: dict[str, Callable[[], Any]] = {
    "tables": lambda: oodometer.rank({name: table(p, FEW) for name, p in P.items()}),
    "probabilities": lambda: oodometer.rank(P, examples=FEW, classes=NAMES.tolist()),
    "answers": lambda: oodometer.rank(ANSWERS, examples=FEW),
    "lists": lambda: oodometer.rank(
        {name: answers.tolist() for name, answers in ANSWERS.items()}, examples=FEW
    ),
    "rows": lambda: oodometer.rank({name: rows(name, FEW) for name in P}),
}


@pytest.mark.parametrize("form", RANKED)
def test_models_are_ranked_in_whatever_form_they_are_held(form: str) -> None:
    found = RANKED[form]()
    assert found.labelled == sum(name is not None for name in FEW)
    assert found.ranking[0].model == "good"
    right = {row.model: row.right for row in found.ranking}
    labelled = np.array([name is not None for name in FEW])
    assert right == {
        name: int((answers == TRUTH)[labelled].sum()) for name, answers in ANSWERS.items()
    }


def test_files_with_columns_of_their_own_are_read_as_elsewhere(tmp_path: Path) -> None:
    """Few labels under a name of their own, columns called by the classes, ids by another word."""
    paths = []
    for name, p in P.items():
        paths.append(tmp_path / f"{name}.csv")
        table(p, FEW).assign(loan_id=np.arange(ROWS) + 100).to_csv(paths[-1], index=False)
    found = oodometer.rank(paths)
    assert (found.labelled, found.ranking[0].model) == (12, "good")
    assert_snapshot(found.warnings)
    known = oodometer.rank(paths, reference=[table(p, TRUTH) for p in P.values()])
    assert known.ranking[0].model == "good"
    alone = oodometer.evaluate(paths[0])
    assert (alone.rows, alone["accuracy"].value) == (
        12,
        pytest.approx(np.mean([a == b for a, b in zip(ANSWERS["good"], FEW, strict=True) if b])),
    )


def test_rows_without_ids_are_matched_where_something_shows_their_order() -> None:
    """Answers of the same rows agree more often than by chance; those of other rows do not."""
    order = np.random.default_rng(1).permutation(ROWS)
    with raises_snapshot(InputError):
        oodometer.rank({"good": ANSWERS["good"], "moved": ANSWERS["fair"][order]})
    with raises_snapshot(InputError):
        oodometer.rank({"good": ANSWERS["good"], "short": ANSWERS["fair"][1:]})
    first = [*TRUTH[:3].tolist(), *[None] * (ROWS - 3)]  # three labels that are equal by chance
    with raises_snapshot(InputError):
        oodometer.rank(
            {
                "good": {"label": first, "prediction": ANSWERS["good"]},
                "moved": {"label": first, "prediction": ANSWERS["fair"][order]},
            }
        )
    other = [FEW[-4], *FEW[:-4], *FEW[-3:]]
    with raises_snapshot(InputError):
        oodometer.rank({"good": table(P["good"], FEW), "moved": table(P["fair"], other)})


COMPARED: dict[str, Callable[[], Any]] = {
    "tables": lambda: oodometer.compare({name: table(p, TRUTH) for name, p in P.items()}),
    "probabilities": lambda: oodometer.compare(P, labels=TRUTH),
    "answers": lambda: oodometer.compare(ANSWERS, labels=TRUTH.tolist()),
    "rows": lambda: oodometer.compare({name: rows(name, TRUTH) for name in P}),
}


@pytest.mark.parametrize("form", COMPARED)
def test_models_are_compared_in_whatever_form_they_are_held(form: str) -> None:
    found = COMPARED[form]()
    measured = {model.name: model.in_domain["accuracy"].value for model in found.models}
    assert measured == pytest.approx(COUNTED)
    assert found.paired["in_domain"]["paired"]


def test_lists_of_rows_are_one_table_for_every_verb() -> None:
    reference = [
        {"label": label, "probabilities": p}
        for label, p in zip(TRUTH.tolist(), P["good"].tolist(), strict=True)
    ]
    target = [{"probabilities": p} for p in P["fair"].tolist()]
    how: dict[str, Any] = {"backtest": None, "classes": NAMES.tolist()}
    found = oodometer.estimate(reference, target, **how)
    arrays = oodometer.estimate(TRUTH, P["good"], P["fair"], backtest=None)
    assert found.headline.interval == arrays.headline.interval
    assert oodometer.evaluate(rows("good", TRUTH))["accuracy"].value == pytest.approx(
        COUNTED["good"]
    )
