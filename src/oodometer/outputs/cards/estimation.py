"""The card of an estimation: the headline, how far to trust it, chunks or slices, and every method behind a click."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...results import percent
from ...results.diagnosis import columns_grid
from ...results.estimation import alarm_text, bands_sentence, number
from ...results.view import Grid, Point, View, cells_of, interval_of
from ..tables.base import share_of
from ..tables.estimation import metrics_of

if TYPE_CHECKING:
    from ...results.estimation import Estimation, Part


def card(found: Estimation) -> View:
    """The card."""
    head = found.headline if found.truth is None or not found.by_labels else found.truth
    slices = [_grid("slices", found.slices)] if found.slices else []
    chunks = [_grid("chunks", found.chunks)] if found.chunks else []
    reference = share_of(found.reference.get("accuracy"))
    columns = [] if found.diagnosis is None else list(columns_grid(found.diagnosis.to_dict()))
    return View(
        title="True accuracy" if found.by_labels else "Estimated accuracy",
        number=percent(head.value),
        interval=interval_of(head),
        trust=None if found.by_labels else found.headline.trust,
        sentences=tuple(_lines(found)),
        points=tuple(_point(part) for part in found.chunks) if len(found.chunks) > 1 else (),
        line=reference,
        line_name="reference",
        grids=(*_metrics(found), *chunks, *slices, *columns, _methods(found), *_left_out(found)),
        warnings=tuple(found.warnings),
        seed=found.seed,
    )


def _lines(found: Estimation) -> list[str]:
    head, reference, truth = found.headline, found.reference, found.target.get("accuracy")
    lines = []
    if found.by_labels:
        lines.append(f"On {found.target['labelled']:,} labelled rows")
        lines.append(
            f"Estimated without labels: {percent(head.value)} ({percent(head.lower)} to {percent(head.upper)})"
        )
    elif truth is not None:
        rows = f"{found.target['labelled']:,} labelled rows"
        lines.append(f"True accuracy: {percent(truth['value'])} ({' to '.join(cells_of(truth)[1:])}) on {rows}")
    known = share_of(reference.get("accuracy"))
    if known is not None:
        lines.append(f"Reference: {percent(known)} on {reference['rows']:,} rows")
    lines.append(f"Trust {head.trust}: {head.why}" if head.why else f"Trust {head.trust}")
    if found.fell is not None:
        lines.append(found.fell.sentence())
    if found.diagnosis is not None:
        lines.append(f"Kind of shift: {found.diagnosis.kind}: {found.diagnosis.why}")
    if head.bands:
        lines.append(bands_sentence(head))
    return [*lines, f"Rests on: {head.assumes}"]


def _metrics(found: Estimation) -> list[Grid]:
    """Further metrics, where they were asked for."""
    made = metrics_of(found)
    if len(made) == 1:
        return []
    known = any(one.truth is not None for one in made.values())
    rows = []
    for name, one in made.items():
        head, own = one.headline, [one.reference, *([share_of(one.truth)] if known else [])]
        rows.append([name, *map(number, (head.value, head.lower, head.upper)), head.trust, *map(number, own)])
    columns = ["metric", "value", "lower", "upper", "trust", "reference", *(["truth"] if known else [])]
    return [Grid("metrics", columns, rows)]


def _grid(title: str, parts: tuple[Part, ...]) -> Grid:
    """Chunks or slices: accuracy with its interval, further metrics, whether it fell, the truth where it is known."""
    further = [name for name in metrics_of(parts[0]) if name != "accuracy"]
    known = any(_truth(part) is not None for part in parts)
    columns = [title[:-1], "rows", "accuracy", "lower", "upper", *further, "fell", *(["truth"] if known else [])]
    rows = []
    for part in parts:
        others = metrics_of(part)
        truth = _truth(part)
        cells = [number(others[name].headline.value) if name in others else "" for name in further]
        cells += [alarm_text(part.fell), *(["" if truth is None else percent(truth)] if known else [])]
        rows.append([part.name, f"{part.rows:,}", *cells_of(part.headline), *cells])
    alarms = (i for i, part in enumerate(parts) if part.fell is not None and part.fell.alarm)
    return Grid(title, columns, rows, marked=frozenset(alarms))


def _truth(part: Part) -> float | None:
    truth: Any = part.truth
    return share_of(truth.get("accuracy", truth) if isinstance(truth, dict) else truth)


def _point(part: Part) -> Point:
    one, alarm = part.headline, part.fell is not None and part.fell.alarm
    return Point(part.name, one.value, one.lower, one.upper, _truth(part), alarm)


def _methods(found: Estimation) -> Grid:
    rows = [[e.method, *cells_of(e), e.kind, e.assumes] for e in found.estimates]
    title = f"all {len(rows)} methods" if len(rows) > 1 else "method"
    columns = ["method", "accuracy", "lower", "upper", "kind", "assumes"]
    return Grid(title, columns, rows, detail=True)


def _left_out(found: Estimation) -> list[Grid]:
    if not found.skipped:
        return []
    rows = [[one.method, one.why] for one in found.skipped]
    title = f"{len(rows)} method{'' if len(rows) == 1 else 's'} left out"
    return [Grid(title, ["method", "why"], rows, detail=True)]
