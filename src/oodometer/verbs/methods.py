"""The verb `methods`: every estimator, score, metric and calibrator, what it needs and what it assumes."""

from __future__ import annotations

import inspect
from typing import Any

from ..registry import MethodKind, find, names

__all__ = ["methods"]

_KINDS: tuple[MethodKind, ...] = ("estimator", "score", "calibrator", "metric")


def _needs(cls: Any, what: MethodKind) -> str:
    """Needed fields as a sentence: "a or b, c"."""
    if what == "calibrator":
        return "probabilities or logits, label"
    if what == "metric":  # alternatives, each a group of fields
        return " or ".join(" + ".join(group) for group in cls.needs)
    if cls.__name__ == "Threshold":
        return "what the score needs"
    return ", ".join(need.replace("|", " or ") for need in cls.needs)


def methods(kind: MethodKind | None = None) -> list[dict[str, Any]]:
    """One mapping a method: what, name, summary, needs, assumes, kind (of interval), citation.

    >>> "atc" in [m["name"] for m in methods("estimator")]
    True
    """
    out = []
    for one in _KINDS if kind is None else (kind,):
        for name in names(one):
            cls = find(one, name)
            out.append(
                {
                    "what": one,
                    "name": name,
                    "summary": (inspect.getdoc(cls) or "").partition("\n")[0],
                    "needs": _needs(cls, one),
                    "assumes": getattr(cls, "assumes", None),
                    "kind": getattr(cls, "kind", None) if one == "estimator" else None,
                    "citation": cls.citation,
                }
            )
    return out
