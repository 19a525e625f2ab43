"""Tables of a ranking by a few labels: models, each two of them, every piece of evidence."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .base import INTERVAL, Maker, Table, ends

if TYPE_CHECKING:
    from ...results.ranking import FewShotRanking

__all__ = ["tables"]

_PAIR = ("a", "b", "p_a_better", "differ", "only_a", "only_b")


def tables(found: FewShotRanking) -> dict[str, Maker]:
    """``models``, the best first; ``pairs``; ``evidence``: a row for each kind and model."""
    made: dict[str, Maker] = {
        "models": partial(_models, found),
        "pairs": lambda: Table(_PAIR, [one.to_dict() for one in found.pairs]),
        "evidence": partial(_evidence, found),
    }
    if found.suggested:
        made["suggested"] = partial(_suggested, found)
    return made


def _models(found: FewShotRanking) -> Table:
    columns = ("model", "rank", "p_best", "right", "labels", *INTERVAL, "source")
    labels = found.labelled - found.chosen
    rows = [
        {
            "model": one.model,
            "rank": one.rank,
            "p_best": one.p_best,
            "right": one.right,
            "labels": labels,
            **ends(one.accuracy),
            "source": one.source,
        }
        for one in found.ranking
    ]
    return Table(columns, rows)


def _evidence(found: FewShotRanking) -> Table:
    columns = ("evidence", "group", "model", *INTERVAL, "higher_is_better")
    rows = []
    for one in found.evidence:
        for model, value in one.values.items():
            number = {**ends(one.intervals.get(model)), "value": value}
            about = {"evidence": one.name, "group": one.group, "higher_is_better": one.higher_is_better}
            rows.append({**about, "model": model, **number})
    return Table(columns, rows)


def _suggested(found: FewShotRanking) -> Table:
    rows = [{"id": row[0], "text": row[1]} for row in found.suggested_table()]
    return Table(("id", "text"), rows)
