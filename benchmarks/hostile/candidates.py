"""Classes of input: scores of candidates, and labels that are no positions among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import REFUSED, SAME, Call, Kit, trial
from .material import FORMATS, TABULAR, Columns, as_candidates

GROUP = "Candidates"
METHODS = ("source", "ac", "atc")


def _target(kit: Kit) -> Columns:
    return as_candidates(kit.target("logit_*", "label"))


def _asked(kit: Kit, form: str, target: Columns, clean: Columns | None = None) -> Call:
    """An estimate from a clean reference of candidates, whose clean call is that of both clean files."""
    known = kit.clean("reference", as_candidates(kit.reference("logit_*", "label")))
    best = kit.estimate(known, kit.clean("target", clean or _target(kit)), methods=METHODS, clean=None)
    return kit.estimate(known, kit.put(f"t.{form}", target), methods=METHODS, clean=best)


def _bad(name: str, came: str, column: str, value: Any, words: str, forms: Sequence[str] = FORMATS) -> None:
    """A class in which one cell of row 7 is another value."""

    @trial(GROUP, name, came, REFUSED, ("row 7", words), forms)
    def _(kit: Kit, form: str) -> Call:
        target = _target(kit)
        target[column][6] = value
        return _asked(kit, form, target)


_bad("one candidate", "`candidate_scores` [0.5]", "candidate_scores", [0.5], "at least 2 candidates")
_bad("no candidate", "`candidate_scores` []", "candidate_scores", [], "at least 2 candidates")
_bad("a score that is no number", "`candidate_scores` [0.5, nan]", "candidate_scores", [0.5, float("nan")],
    "candidate_scores[1]", ("jsonl", "parquet", "arrow", "npz"))  # fmt: skip
_bad("an infinite score", "`candidate_scores` [0.5, inf]", "candidate_scores", [0.5, float("inf")],
    "candidate_scores[1]", ("jsonl", "parquet", "arrow", "npz"))  # fmt: skip
_bad("null among the scores", "`candidate_scores` [0.5, null]", "candidate_scores", [0.5, None], "candidate_scores",
    TABULAR)  # fmt: skip
_bad("no list of scores", "`candidate_scores` null", "candidate_scores", None, "candidate_scores", TABULAR)
_bad("a text for a score", '`candidate_scores` ["a", "b"]', "candidate_scores", ["a", "b"], "candidate_scores",
    ("csv", "jsonl"))  # fmt: skip
_bad("a label behind the last candidate", "`label` 9", "label", 9, "a position below", FORMATS)
_bad("a label below zero", "`label` -1", "label", -1, "the position of a candidate")
_bad("a label by name", "`label` cat", "label", "cat", "label", ("csv", "jsonl"))


@trial(GROUP, "labels that count from 1", "`label` 1, 2, 3", REFUSED, ("label", "count from 1"), FORMATS)
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
    return _asked(kit, form, {**target, "prediction": [row.index(max(row)) for row in target["candidate_scores"]]})


trial(GROUP, "probabilities beside candidates", "`prob_cat`, ... too", REFUSED, ("prob_", "leave one"), FORMATS)(
    lambda kit, form: _asked(kit, form, {**_target(kit), **kit.target("prob_*")})
)
trial(GROUP, "a reference of classes", "a target of `candidate_scores`", REFUSED, ("candidate_scores",), FORMATS)(
    lambda kit, form: kit.estimate(target=kit.put(f"t.{form}", _target(kit)))
)
trial(GROUP, "a target of classes", "a reference of `candidate_scores`", REFUSED, ("candidate_scores",), FORMATS)(
    lambda kit, form: _asked(kit, form, kit.target())
)
