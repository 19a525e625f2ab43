"""Classes of features: the user's own columns that are not the same in reference and target, or are no inputs."""

from __future__ import annotations

from typing import Any

from .base import REFUSED, Call, Kit, trial
from .material import ROWS, Columns

INPUTS = "The model's inputs (--features)"
FORMS = ("csv", "jsonl", "parquet")


def _inputs(columns: Columns) -> Columns:
    """The columns with two of the user's own, a category and a number."""
    plans = ["free", "team", "pro"]
    more: Columns = {"plan": [plans[i % 3] for i in range(ROWS)], "age": [20.5 + i % 40 for i in range(ROWS)]}
    return {**columns, **more}


def _asked(kit: Kit, form: str, target: Columns, asked: str = "plan,age", **call: Any) -> Call:
    reference = kit.put(f"r.{form}", _inputs(kit.reference()))
    return kit.estimate(reference, kit.put(f"t.{form}", target), "--features", asked, clean=None, **call)


@trial(INPUTS, "text where the reference has numbers", "`old` in a cell", REFUSED, ("row 7", "age", "'old'"), ("csv",))
def _(kit: Kit, form: str) -> Call:
    columns = _inputs(kit.target())
    columns["age"][6] = "old"
    return _asked(kit, form, columns)


trial(INPUTS, "numbers where the reference has names", "plan 0, 1, 2", REFUSED, ("t.", "plan", "'free'"), FORMS)(
    lambda kit, form: _asked(kit, form, {**_inputs(kit.target()), "plan": [i % 3 for i in range(ROWS)]})
)
trial(INPUTS, "a column of text where the reference has numbers", "age `20`", REFUSED, ("t.", "age"), ("parquet",))(
    lambda kit, form: _asked(kit, form, {**_inputs(kit.target()), "age": [str(i % 40) for i in range(ROWS)]})
)


@trial(INPUTS, "an endless number", "`inf` in one cell", REFUSED, ("row 7", "age", "finite"), ("csv", "parquet"))
def _(kit: Kit, form: str) -> Call:
    columns = _inputs(kit.target())
    columns["age"][6] = float("inf")
    return _asked(kit, form, columns)


trial(INPUTS, "a column that the target lacks", "no column age", REFUSED, ("t.", "column age"), FORMS)(
    lambda kit, form: _asked(kit, form, {k: v for k, v in _inputs(kit.target()).items() if k != "age"})
)
trial(INPUTS, "a column that no file has", "`--features height`", REFUSED, ("height", "its columns are"), ("csv",))(
    lambda kit, form: _asked(kit, form, _inputs(kit.target()), "height")
)
trial(INPUTS, "the truth as an input", "`--features label`", REFUSED, "label", ("csv",))(
    lambda kit, form: _asked(kit, form, {**_inputs(kit.target()), "label": kit.reference()["label"]}, "label")
)
trial(INPUTS, "a column twice", "`--features age,age`", REFUSED, "twice", ("csv",))(
    lambda kit, form: _asked(kit, form, _inputs(kit.target()), "age,age")
)
trial(INPUTS, "no name of a column", "`--features ,`", REFUSED, "a,b or auto", ("csv",))(
    lambda kit, form: _asked(kit, form, _inputs(kit.target()), ",")
)


@trial(INPUTS, "nothing that could be an input", "`--features auto`", REFUSED, "no column to take", ("csv", "parquet"))
def _(kit: Kit, form: str) -> Call:
    reference = kit.put(f"r.{form}", kit.reference())
    return kit.estimate(reference, kit.put(f"t.{form}", kit.target()), "--features", "auto", clean=None)
