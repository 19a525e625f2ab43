"""The card of a ranking by a few labels: the likeliest model, the order, each two models, the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results import percent
from .base import Card, Grid

if TYPE_CHECKING:
    from ...results.ranking import FewShotRanking

__all__ = ["card"]


def card(found: FewShotRanking) -> Card:
    """The card."""
    likeliest = found.likeliest
    words = frozenset((0, 1, 2))
    evidence = Grid("evidence", *found.evidence_table(), folded=True, words=words)
    pairs = Grid("how sure the order of each two is", *found.pair_table(), folded=True, words=frozenset((0, 1)))
    return Card(
        title="Most likely the best",
        number="open" if found.open else likeliest.model,
        interval="" if found.open else f"{percent(likeliest.p_best, 0)} sure",
        lines=tuple(found.opening()),
        grids=(Grid("models, the best first", *found.table()), pairs, evidence),
        warnings=tuple(found.closing()),
    )
