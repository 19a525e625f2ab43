"""Classes of input: cells that are no probabilities, no numbers or not the class that they should be."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import REFUSED, SAME, WARNED, Call, Kit, trial
from .material import FORMATS, Columns

VALUES = "Numbers that are no probabilities"
NAMES = "Classes and labels"
BINARY = ("parquet", "arrow", "npz")


def _with(columns: Columns, name: str, row: int, value: Any) -> Columns:
    changed = {k: list(v) for k, v in columns.items()}
    changed[name][row] = value
    return changed


def _target(kit: Kit, form: str, columns: Columns, **call: Any) -> Call:
    """The columns as a target of this format."""
    return kit.estimate(target=kit.put(f"t.{form}", columns), **call)


def _bad_cell(name: str, came: str, value: Any, words: str | tuple[str, ...] = (), forms: Any = FORMATS) -> None:
    """A class in which one probability of row 7 is another value."""
    said = (words,) if isinstance(words, str) else words

    trial(VALUES, name, came, REFUSED, ("row 7", *said), forms)(
        lambda kit, form: _target(kit, form, _with(kit.target(), "prob_dog", 6, value))
    )


_bad_cell("not a number", "`nan` in one cell", float("nan"), ("prob_dog",), ("parquet", "arrow", "npz", "csv"))
_bad_cell("infinite", "`inf` in one cell", float("inf"))
_bad_cell("negative", "-0.1 in one cell", -0.1)
_bad_cell("above one", "1.7 in one cell", 1.7)
_bad_cell("a row that does not sum to 1", "0.999 in place of a small probability", 0.999)
_bad_cell("a huge number", "1e300 in one cell", 1e300)
_bad_cell("an empty cell", "nothing in one cell", None, ("prob_dog",), ("csv", "jsonl"))
_bad_cell("text for a number", "`high` in one cell", "high", ("prob_dog", "'high'"), ("csv", "jsonl"))
_bad_cell("a percent sign", "`70%` in one cell", "70%", ("prob_dog",), ("csv",))
_bad_cell("digits that are not plain", "`1_0` in one cell", "1_0", ("prob_dog",), ("csv",))


@trial(VALUES, "true for a number", "`true`, 0, 0 in row 7", REFUSED, ("row 7", "prob_cat"), ("jsonl",))
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    for name, value in (("prob_cat", True), ("prob_dog", 0.0), ("prob_emu", 0.0)):
        columns[name][6] = value
    return _target(kit, form, columns)


trial(VALUES, "null in one cell of a binary file", "null among the numbers", REFUSED, ("row 7", "prob_dog"),
    ("parquet", "arrow"))(lambda kit, form: _target(kit, form, _with(kit.target(), "prob_dog", 6, None)))  # fmt: skip


@trial(VALUES, "percents", "90.1, 5.2, 4.7", REFUSED, "divide them by 100", FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    return _target(kit, form, {k: [100 * x for x in v] if k.startswith("prob_") else v for k, v in columns.items()})


trial(VALUES, "logits in probability columns", "2.3, -1.2, 0.4", REFUSED, "logit_",
    FORMATS)(lambda kit, form: _target(kit, form,
    {k.replace("logit_", "prob_"): v for k, v in kit.target("logit_*", "label").items()}))  # fmt: skip


@trial(VALUES, "log-probabilities in probability columns", "-0.1, -2.9, -3.4", REFUSED, "logits", FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    return _target(kit, form, {k: np.log(v).tolist() if k.startswith("prob_") else v for k, v in columns.items()})


@trial(VALUES, "probabilities in logit columns of the target", "0.9, 0.06, 0.04 under `logit_cat`, ...",
    (REFUSED, WARNED), ("probabilities",), FORMATS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    reference = kit.clean("reference", kit.reference("logit_*", "label"))
    target = {k.replace("prob_", "logit_"): v for k, v in kit.target().items()}
    clean = kit.estimate(reference, kit.clean("target", kit.target("logit_*", "label")), clean=None)
    return kit.estimate(reference, kit.put(f"t.{form}", target), clean=clean)


@trial(VALUES, "logits are as good as probabilities", "`logit_cat`, ... in both files", SAME, (), FORMATS)
def _(kit: Kit, form: str) -> Call:
    methods = ("source", "ac", "atc", "bbse")
    return kit.estimate(kit.put(f"r.{form}", kit.reference("logit_*", "label")),
        kit.put(f"t.{form}", kit.target("logit_*", "label")), methods=methods, close=1e-5)  # fmt: skip


@trial(VALUES, "probabilities rounded to three digits", "0.333, 0.333, 0.333", (SAME, WARNED), "round", FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    rounded = {k: [round(x, 3) for x in v] if k.startswith("prob_") else v for k, v in columns.items()}
    return _target(kit, form, rounded, methods=("source", "ac", "bbse"), close=2e-2)


@trial(VALUES, "probabilities rounded to two digits", "0.33, 0.33, 0.33", (SAME, WARNED), "round", FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    rounded = {k: [round(x, 2) for x in v] if k.startswith("prob_") else v for k, v in columns.items()}
    return _target(kit, form, rounded, methods=("source", "ac", "bbse"), close=6e-2)


trial(VALUES, "numbers in single precision", "float32 columns", SAME, (), ("parquet", "arrow",
    "npz"))(lambda kit, form: _target(kit, form,
    {k: [np.float32(x) for x in v] if k.startswith("prob_") else v for k, v in kit.target().items()},
    methods=("source", "ac", "atc", "bbse"), close=1e-5))  # fmt: skip


def _confidence(name: str, came: str, value: float, forms: Any = FORMATS) -> None:
    @trial(VALUES, name, came, REFUSED, ("confidence", "row 7"), forms)
    def _(kit: Kit, form: str) -> Call:
        columns = kit.reference("confidence", "correct")
        return kit.evaluate(kit.put(f"r.{form}", _with(columns, "confidence", 6, value)))


_confidence("confidence above one", "`confidence` 1.5", 1.5)
_confidence("confidence below zero", "`confidence` -0.5", -0.5)
_confidence("confidence that is not a number", "`confidence` nan", float("nan"), ("parquet", "arrow", "npz", "csv"))


@trial(VALUES, "token log-probabilities above zero", "`token_logprobs` [0.9, ...]", REFUSED, "token_logprobs",
    ("jsonl", "parquet", "arrow"))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    n = 60
    columns = {"token_logprobs": [[-0.1, 0.9]] * n, "correct": [True, False] * (n // 2)}
    path = kit.put(f"r.{form}", columns)
    return kit.estimate(path, path, methods=("ac",))
