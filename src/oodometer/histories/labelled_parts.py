"""Labelled parts: periods of a store's past runs whose truth came in, with what was said of them without labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..intervals import normal_quantile
from .base import Session, Store

_MOST_RUNS = 60  # newest ones whose results are read
_LABELLED = """
    SELECT p.kind, p.part, p.name, p.begins, r.target, MAX(p.run), MIN(p.run) FROM oodometer_parts p
    JOIN oodometer_runs r ON r.id = p.run
    WHERE r.job = %s AND p.metric = 'accuracy' AND p.truth IS NOT NULL AND p.kind IN ('chunk', 'target')
    GROUP BY p.kind, p.part, p.name, p.begins, r.target ORDER BY MAX(p.run) DESC
"""


@dataclass(frozen=True)
class LabelledPart:
    """A chunk or a whole target of past runs: ``begins``, of a chunk of time; ``first``, the number of the first run
    that was told its truth.

    rows : of the part. truth, error : its accuracy by labels, and the standard error of that. estimates : method ->
    what it said without labels. moved : how far the outputs moved. source, reference_rows : of the reference then.
    """

    kind: str
    name: str
    begins: str | None
    first: int
    rows: int
    truth: float
    error: float
    estimates: Mapping[str, float]
    moved: float | None
    source: float
    reference_rows: int


def labelled_parts(store: Store, job: str) -> list[LabelledPart]:
    """Parts of the runs of a job whose labels can be a random sample, or are of every row, as the newest run with a
    truth of each has them. Raises `InputError` as `Store.session` does.
    """
    if store.is_new():
        return []
    with store.reading() as session:
        return [] if session is None else _of_job(session, job)


def _of_job(session: Session, job: str) -> list[LabelledPart]:
    results: dict[int, Mapping[str, Any]] = {}
    out: dict[tuple[str, str], LabelledPart] = {}
    for kind, part, name, begins, target, newest, first in session.rows(_LABELLED, job):
        key = (kind, part if kind == "chunk" else str(target))
        if key in out:
            continue
        if newest not in results:
            if len(results) >= _MOST_RUNS:
                continue
            kept = session.rows("SELECT CAST(result AS TEXT) FROM oodometer_runs WHERE id = %s", newest)
            results[newest] = json.loads(kept[0][0])
        result = results[newest]
        shown = name if kind == "chunk" else str(target)
        if kind == "target":
            said, labelled = result, result.get("target") or {}
            moved = ((result.get("diagnosis") or {}).get("signs") or {}).get("moved")
            truth, rows = labelled.get("accuracy"), labelled.get("rows")
        else:
            said = next((one for one in result.get("chunks") or () if one.get("name") == name), {})
            moved, truth, rows = (said.get("signs") or {}).get("moved"), said.get("truth"), said.get("rows")
        reference = result.get("reference") or {}
        # labels that told of themselves alone took no part in what was said
        if not truth or not rows or "fell_without_labels" not in said or not reference.get("accuracy"):
            continue
        known = "headline_without_labels" not in said
        half = (truth["upper"] - truth["lower"]) / 2 / normal_quantile(float(result.get("level") or 0.95))
        out[key] = LabelledPart(
            kind=kind,
            name=str(shown),
            begins=begins,
            first=int(first),
            rows=int(rows),
            truth=float(truth["value"]),
            error=0.0 if known else half,
            estimates={one["method"]: float(one["value"]) for one in said.get("estimates") or ()},
            moved=moved,
            source=float(reference["accuracy"]),
            reference_rows=int(reference.get("rows") or 0),
        )
    return list(out.values())
