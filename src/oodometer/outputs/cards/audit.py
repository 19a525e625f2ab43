"""The card of an audit: the audited accuracy, the label-free one beside it, and whether the labels refute that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results import percent
from .base import Card, Grid, interval_text, numbers, sentence

if TYPE_CHECKING:
    from ...audits.result import Audit

__all__ = ["card"]


def card(found: Audit) -> Card:
    """The card; without labels the label-free estimate stands alone."""
    from ...audits.result import audit_lines

    chosen = found.estimate
    lines = audit_lines(found)
    rows = [[e.method, *numbers(e), e.kind, e.assumes] for e in found.intervals]
    columns = ["interval", "accuracy", "lower", "upper", "kind", "assumes"]
    grids = [Grid("intervals", columns, rows, words=frozenset((0, 4, 5)))] if rows else []
    if found.suggestion is not None:
        lines.append(f"{len(found.suggestion.row):,} rows to label next; `.suggestion` names them")
    shown = found.headline if chosen is None else chosen
    return Card(
        title="Estimated accuracy, not audited: no labels" if chosen is None else "Audited accuracy",
        number=percent(shown.value),
        interval=interval_text(shown),
        trust=found.headline.trust if chosen is None else None,
        lines=tuple(map(sentence, lines)),
        grids=tuple(grids),
        warnings=tuple(found.warnings),
    )
