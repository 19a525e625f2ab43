"""Tables of an estimation: chunks and slices, the headline by metric, methods, what each assumption would say."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from .base import INTERVAL, Maker, Table, ends, share_of
from .diagnosis import columns_table

if TYPE_CHECKING:
    from ...results import Estimate
    from ...results.estimation import Estimation, Headline, Part


_FALL = ("fell", "fell_p", "alarm")
_TRUTH = ("truth", "truth_lower", "truth_upper")
_PART = ("rows", "metric", *INTERVAL, "method", "trust", *_FALL, *_TRUTH)
_METHOD = ("metric", "method", "score", *INTERVAL, "rows", "assumes", "citation")


def tables(found: Estimation) -> dict[str, Maker]:
    """Parts where there are any, then headline, methods and assumptions; methods first where there are no parts."""
    made: dict[str, Maker] = {
        "parts": partial(_parts, found),
        "methods": partial(_methods, found),
        "headline": partial(_headline, found),
        "assumptions": partial(_assumptions, found),
    }
    if not (found.slices or found.chunks):
        del made["parts"]
    if found.diagnosis is not None and found.diagnosis.columns:
        made["columns"] = partial(columns_table, found.diagnosis)
    return made


class Asked(NamedTuple):
    """One metric of a result or of a part: its headline, what each method says, the reference's own, the truth."""

    headline: Headline
    estimates: tuple[Estimate, ...]
    reference: float | None
    truth: Any  # a number with its interval, as a record or as a mapping; None where it is not known


def metrics_of(one: Estimation | Part) -> dict[str, Asked]:
    """Every metric by its name: accuracy first, then what was asked for; a part has no reference of its own."""
    whole = getattr(one, "target", None)
    truth = getattr(one, "truth", None) if whole is None else whole.get("accuracy")
    reference = None if whole is None else share_of(one.reference.get("accuracy"))  # type: ignore[union-attr]
    found = {"accuracy": Asked(one.headline, one.estimates, reference, truth)}
    for name, metric in one.metrics.items():
        found[name] = Asked(metric.headline, metric.estimates, share_of(metric.reference), metric.truth)
    return found


def _parts(found: Estimation) -> Table:
    """One row for each chunk or slice and metric."""
    rows = [
        {"part": title, **_place(part), **row}
        for title, parts in (("slice", found.slices), ("chunk", found.chunks))
        for part in parts
        for row in _of_part(part)
    ]
    place = [*(("by", "slice") if found.slices else ()), *(("chunk", "start", "end") if found.chunks else ())]
    return Table(("part", *place, *_PART), rows)


def _place(part: Part) -> dict[str, Any]:
    place = dict(part.place)
    where = {"by": place.get("by"), "slice": place.get("value"), "start": place.get("start"), "end": place.get("end")}
    return {**where, "chunk": None if "value" in place else part.name}


def _of_part(part: Part) -> list[dict[str, Any]]:
    return [
        {"rows": part.rows, **_number(name, one.headline), **_fall(part, name), **_true(one.truth)}
        for name, one in metrics_of(part).items()
    ]


def _number(name: str, one: Headline) -> dict[str, Any]:
    return {"metric": name, **ends(one), "method": one.method, "trust": one.trust}


def _fall(one: Any, metric: str) -> dict[str, Any]:
    fell = one.fell if metric == "accuracy" else None
    if fell is None:
        return dict.fromkeys(_FALL)
    return {"fell": fell.verdict, "fell_p": fell.p, "alarm": fell.alarm}


def _true(truth: Any) -> dict[str, Any]:
    lower, upper = (ends(truth)[end] for end in ("lower", "upper"))
    return {"truth": share_of(truth), "truth_lower": lower, "truth_upper": upper}


def _headline(found: Estimation) -> Table:
    """One row for each metric, of the whole target, beside the reference's."""
    rows = [
        {
            "rows": found.target.get("rows"),
            **_number(name, one.headline),
            **_fall(found, name),
            **_true(one.truth),
            "reference": one.reference,
            "assumes": one.headline.assumes,
        }
        for name, one in metrics_of(found).items()
    ]
    return Table((*_PART, "reference", "assumes"), rows)


def _methods(found: Estimation) -> Table:
    """One row for each method and metric; the accuracy's first."""
    rows = [
        {
            "metric": name,
            "method": e.method,
            "score": e.score,
            **ends(e),
            "rows": e.rows,
            "assumes": e.assumes,
            "citation": e.citation,
        }
        for name, one in metrics_of(found).items()
        for e in one.estimates
    ]
    return Table(_METHOD, rows)


def _assumptions(found: Estimation) -> Table:
    """One row for each thing that one may believe of the shift."""
    rows = [
        {"if": name, **ends(one.interval), "method": one.method, "refuted_by": one.refuted, "why": one.why}
        for name, one in found.assumptions.items()
    ]
    return Table(("if", *INTERVAL, "method", "refuted_by", "why"), rows)
