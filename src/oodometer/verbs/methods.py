"""The verbs `methods` and `cite`: every registered method, what it needs and assumes; the BibTeX entry behind it."""

from __future__ import annotations

import inspect
from typing import Any

from ..citations import BIBTEX, bibtex
from ..errors import UsageError, near_names
from ..estimators import Estimator
from ..options import checked, one_of, verb
from ..predictions import Predictions
from ..registry import METHOD_KINDS, MethodKind, find, kinds, named, names
from .options import CiteOptions

# What is our own, and whose results it is built on.
_OWN = {
    "headline": (
        "The headline is oodometer's own: methods weighed by their errors on simulated shifts, a weighted conformal",
        "quantile of these errors, and a prior of natural shifts. Cite the methods that the result names, too.",
        ("tibshirani2019", "claeskens2016"),
    ),
    "sgr": (
        "Selection with guaranteed risk is the metric operating_points here, which finds its threshold by Learn then",
        "Test, from strict to lenient: the same kind of promise. Cite the second paper for these numbers.",
        ("geifman2017", "angelopoulos2025"),
    ),
}
_KINDS: tuple[MethodKind, ...] = ("estimator", "score", "metric", "calibrator", "shift")


@verb(CiteOptions)
def cite(options: CiteOptions) -> str:
    """BibTeX of the paper behind a method (an estimator, score, metric, calibrator or shift), or under a key.

    "headline" gives what the headline rests on. Raises `UsageError` for a name that is neither.

    >>> cite("atc").splitlines()[0]
    '@inproceedings{garg2022,'
    """
    method = options.method
    if method in _OWN:
        *words, keys = _OWN[method]
        return "\n".join([*(f"% {line}" for line in words), *map(bibtex, keys)])
    if method in BIBTEX:
        return bibtex(method)
    for kind in _KINDS:
        try:
            cls = find(kind, named(kind, method))
            entry: str | None = getattr(cls, "bibtex", None)  # a plugin carries its own entry
            return entry if entry is not None else bibtex(cls.citation)
        except UsageError:
            continue
    near = near_names(
        method, [*_OWN, *BIBTEX, *(name for kind in _KINDS for name in names(kind))], 3
    )
    hint = f"did you mean {' or '.join(near)}" if near else "`oodometer methods` lists them"
    raise UsageError(f"unknown method {method!r}; {hint}")


def _needs(cls: Any, what: MethodKind) -> str:
    """Needed fields as a sentence: "a or b, c"."""
    if what == "calibrator":
        return "probabilities or logits, label"
    if what == "metric":  # alternatives, each a group of fields
        return " or ".join(" + ".join(n for n in group if n != "class") for group in cls.needs)
    if what == "simulation":  # it is asked, and names no fields by itself
        why = cls().why_not(Predictions.from_classes([0, 0]))
        return (why or "").removeprefix("needs ")
    if what == "shift":
        return str(cls.reads())
    if what == "engine":
        return str(cls.requires)
    if cls.__name__ == "Threshold":
        return "what the score needs"
    return ", ".join(need.replace("|", " or ") for need in cls.needs if need != "class")


@checked(kind=one_of(*METHOD_KINDS))
def methods(kind: MethodKind | None = None) -> list[dict[str, Any]]:
    """One mapping a method: what, name, summary, needs, assumes, kind (of interval), citation, metrics (whether an
    estimator tells F1, ROC AUC and the like besides the accuracy).

    >>> "atc" in [m["name"] for m in methods("estimator")]
    True
    >>> next(m["needs"] for m in methods("simulation") if m["name"] == "tilt")
    '`features`, `probabilities` or `confidence` that vary'
    """
    out = []
    for what in kinds() if kind is None else (kind,):
        for name in names(what):
            cls = find(what, name)
            out.append(
                {
                    "what": what,
                    "name": name,
                    "summary": getattr(cls, "about", None)
                    or (inspect.getdoc(cls) or "").partition("\n")[0],
                    "needs": _needs(cls, what),
                    "assumes": getattr(cls, "assumes", None),
                    "kind": getattr(cls, "kind", None) if what == "estimator" else None,
                    "citation": getattr(cls, "citation", None),
                    "metrics": cls.expect is not Estimator.expect if what == "estimator" else None,
                }
            )
    return out
