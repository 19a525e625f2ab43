"""The verb `methods`: every registered method of every kind, what it needs and what it assumes."""

from __future__ import annotations

import inspect
from typing import Any

from ..estimators import Estimator
from ..options import checked, one_of
from ..predictions import Predictions
from ..registry import METHOD_KINDS, MethodKind, find, names
from ..shifts import ImageShift, TextShift
from ..shifts.text.synonyms import SynonymShift


def _needs(cls: Any, what: MethodKind) -> str:
    """Needed fields as a sentence: "a or b, c"."""
    if what == "calibrator":
        return "probabilities or logits, label"
    if what == "metric":  # alternatives, each a group of fields
        return " or ".join(" + ".join(n for n in group if n != "class") for group in cls.needs)
    if what == "simulation":  # it is asked, and names no fields by itself
        why = cls().why_not(Predictions.from_classes([0, 0]))
        return (why or "").removeprefix("needs ")
    if what == "shift" and issubclass(cls, TextShift):
        more = ", the training texts, WordNet" if issubclass(cls, SynonymShift) else ""
        return ("dialogues" if cls.for_dialogues else "texts") + more
    if what == "shift":
        return "images" if issubclass(cls, ImageShift) else ""
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
    for what in METHOD_KINDS if kind is None else (kind,):
        for name in names(what):
            cls = find(what, name)
            out.append(
                {
                    "what": what,
                    "name": name,
                    "summary": getattr(cls, "about", None) or (inspect.getdoc(cls) or "").partition("\n")[0],
                    "needs": _needs(cls, what),
                    "assumes": getattr(cls, "assumes", None),
                    "kind": getattr(cls, "kind", None) if what == "estimator" else None,
                    "citation": getattr(cls, "citation", None),
                    "metrics": cls.expect is not Estimator.expect if what == "estimator" else None,
                }
            )
    return out
