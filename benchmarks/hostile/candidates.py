"""Classes of input: scores of candidates and labels that are no positions; features that are no inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import REFUSED, SAME, Call, Kit, trial
from .material import FORMATS, ROWS, TABULAR, Columns, as_candidates

GROUP = "Candidates"
METHODS = ("source", "ac", "atc")


def _target(kit: Kit) -> Columns:
    return as_candidates(kit.target("logit_*", "label"))


def _asked(kit: Kit, form: str, target: Columns, clean: Columns | None = None) -> Call:
    """An estimate from a clean reference of candidates, whose clean call is that of both clean files."""
    known = kit.clean("reference", as_candidates(kit.reference("logit_*", "label")))
    best = kit.estimate(
        known, kit.clean("target", clean or _target(kit)), methods=METHODS, clean=None
    )
    return kit.estimate(known, kit.put(f"t.{form}", target), methods=METHODS, clean=best)


def _bad(
    name: str, came: str, column: str, value: Any, words: str, forms: Sequence[str] = FORMATS
) -> None:
    @trial(GROUP, name, came, REFUSED, ("row 7", words), forms)
    def _(kit: Kit, form: str) -> Call:
        target = _target(kit)
        target[column][6] = value
        return _asked(kit, form, target)


_bad(
    "one candidate", "`candidate_scores` [0.5]", "candidate_scores", [0.5], "at least 2 candidates"
)
_bad("no candidate", "`candidate_scores` []", "candidate_scores", [], "at least 2 candidates")
_bad("a score that is no number", "`candidate_scores` [0.5, nan]", "candidate_scores", [0.5, float("nan")],
    "candidate_scores[1]", ("jsonl", "parquet", "arrow", "npz"))  # fmt: skip
_bad("an infinite score", "`candidate_scores` [0.5, inf]", "candidate_scores", [0.5, float("inf")],
    "candidate_scores[1]", ("jsonl", "parquet", "arrow", "npz"))  # fmt: skip
_bad("null among the scores", "`candidate_scores` [0.5, null]", "candidate_scores", [0.5, None], "candidate_scores",
    TABULAR)  # fmt: skip
_bad(
    "no list of scores",
    "`candidate_scores` null",
    "candidate_scores",
    None,
    "candidate_scores",
    TABULAR,
)
_bad("a text for a score", '`candidate_scores` ["a", "b"]', "candidate_scores", ["a", "b"], "candidate_scores",
    ("csv", "jsonl"))  # fmt: skip
_bad("a label behind the last candidate", "`label` 9", "label", 9, "a position below", FORMATS)
_bad("a label below zero", "`label` -1", "label", -1, "the position of a candidate")
_bad("a label by name", "`label` cat", "label", "cat", "label", ("csv", "jsonl"))


@trial(
    GROUP,
    "labels that count from 1",
    "`label` 1, 2, 3",
    REFUSED,
    ("label", "count from 1"),
    FORMATS,
)
def _(kit: Kit, form: str) -> Call:
    target = _target(kit)
    return _asked(
        kit,
        form,
        {
            **target,
            "candidate_scores": [row[:3] for row in target["candidate_scores"]],
            "label": [place + 1 for place in target["label"]],
        },
    )


@trial(GROUP, "labels as whole floats", "`label` 1.0", SAME, (), FORMATS)
def _(kit: Kit, form: str) -> Call:
    target = _target(kit)
    return _asked(kit, form, {**target, "label": [float(place) for place in target["label"]]})


@trial(GROUP, "labels that are not known", "`label` null in every row", SAME, (), ("csv", "jsonl"))
def _(kit: Kit, form: str) -> Call:
    scores = {"candidate_scores": _target(kit)["candidate_scores"]}
    return _asked(kit, form, {**scores, "label": [None] * len(scores["candidate_scores"])}, scores)


@trial(GROUP, "a prediction that is given", "`prediction` the argmax", SAME, (), FORMATS)
def _(kit: Kit, form: str) -> Call:
    target = _target(kit)
    return _asked(
        kit,
        form,
        {**target, "prediction": [row.index(max(row)) for row in target["candidate_scores"]]},
    )


trial(GROUP, "probabilities beside candidates", "`prob_cat`, ... too", REFUSED, ("prob_", "leave one"), FORMATS,
    lambda kit, form: _asked(kit, form, {**_target(kit), **kit.target("prob_*")}))  # fmt: skip
trial(GROUP, "a reference of classes", "a target of `candidate_scores`", REFUSED, ("candidate_scores",), FORMATS,
    lambda kit, form: kit.estimate(target=kit.put(f"t.{form}", _target(kit))))  # fmt: skip
trial(GROUP, "a target of classes", "a reference of `candidate_scores`", REFUSED, ("candidate_scores",), FORMATS,
    lambda kit, form: _asked(kit, form, kit.target()))  # fmt: skip


INPUTS = "The model's inputs (--features)"
FEATURED = ("csv", "jsonl", "parquet")


def _inputs(columns: Columns) -> Columns:
    """The columns with two of the user's own, a category and a number."""
    plans = ["free", "team", "pro"]
    more: Columns = {
        "plan": [plans[i % 3] for i in range(ROWS)],
        "age": [20.5 + i % 40 for i in range(ROWS)],
    }
    return {**columns, **more}


def _featured(kit: Kit, form: str, target: Columns, asked: str = "plan,age", **call: Any) -> Call:
    reference = kit.put(f"r.{form}", _inputs(kit.reference()))
    return kit.estimate(
        reference, kit.put(f"t.{form}", target), "--features", asked, clean=None, **call
    )


@trial(
    INPUTS,
    "text where the reference has numbers",
    "`old` in a cell",
    REFUSED,
    ("row 7", "age", "'old'"),
    ("csv",),
)
def _(kit: Kit, form: str) -> Call:
    columns = _inputs(kit.target())
    columns["age"][6] = "old"
    return _featured(kit, form, columns)


trial(INPUTS, "numbers where the reference has names", "plan 0, 1, 2", REFUSED, ("t.", "plan", "'free'"), FEATURED,
    lambda kit, form: _featured(kit, form,
        {**_inputs(kit.target()), "plan": [i % 3 for i in range(ROWS)]}))  # fmt: skip
trial(INPUTS, "a column of text where the reference has numbers", "age `20`", REFUSED, ("t.", "age"), ("parquet",),
    lambda kit, form: _featured(kit, form,
        {**_inputs(kit.target()), "age": [str(i % 40) for i in range(ROWS)]}))  # fmt: skip


@trial(
    INPUTS,
    "an endless number",
    "`inf` in one cell",
    REFUSED,
    ("row 7", "age", "finite"),
    ("csv", "parquet"),
)
def _(kit: Kit, form: str) -> Call:
    columns = _inputs(kit.target())
    columns["age"][6] = float("inf")
    return _featured(kit, form, columns)


trial(INPUTS, "a column that the target lacks", "no column age", REFUSED, ("t.", "column age"), FEATURED,
    lambda kit, form: _featured(kit, form, {k: v for k, v in _inputs(kit.target()).items() if k != "age"}))  # fmt: skip
trial(INPUTS, "a column that no file has", "`--features height`", REFUSED, ("height", "its columns are"), ("csv",),
    lambda kit, form: _featured(kit, form, _inputs(kit.target()), "height"))  # fmt: skip
trial(INPUTS, "the truth as an input", "`--features label`", REFUSED, "label", ("csv",),
    lambda kit, form: _featured(kit, form, {**_inputs(kit.target()), "label": kit.reference()["label"]},
        "label"))  # fmt: skip
trial(INPUTS, "a column twice", "`--features age,age`", REFUSED, "twice", ("csv",),
    lambda kit, form: _featured(kit, form, _inputs(kit.target()), "age,age"))  # fmt: skip
trial(INPUTS, "no name of a column", "`--features ,`", REFUSED, "a,b or auto", ("csv",),
    lambda kit, form: _featured(kit, form, _inputs(kit.target()), ","))  # fmt: skip


@trial(
    INPUTS,
    "nothing that could be an input",
    "`--features auto`",
    REFUSED,
    "no column to take",
    ("csv", "parquet"),
)
def _(kit: Kit, form: str) -> Call:
    reference = kit.put(f"r.{form}", kit.reference())
    return kit.estimate(
        reference, kit.put(f"t.{form}", kit.target()), "--features", "auto", clean=None
    )
