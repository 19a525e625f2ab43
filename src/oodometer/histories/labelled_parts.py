"""Labelled parts: periods of a store's past runs whose truth came in, with what was said of them without labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ..intervals import normal_quantile
from ..plain import Plain, inside
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
    results: dict[int, Plain] = {}
    out: dict[tuple[str, str], LabelledPart] = {}
    for kind, part, name, begins, target, newest, first in session.rows(_LABELLED, job):
        key = (kind, part if kind == "chunk" else str(target))
        if key in out or (newest not in results and len(results) >= _MOST_RUNS):
            continue
        if newest not in results:
            stored = session.rows(
                "SELECT CAST(result AS TEXT) FROM oodometer_runs WHERE id = %s", newest
            )
            results[newest] = json.loads(stored[0][0])
        labelled = _told(
            results[newest], kind, str(name if kind == "chunk" else target), begins, int(first)
        )
        if labelled is not None:
            out[key] = labelled
    return list(out.values())


def _told(
    result: Plain, kind: str, name: str, begins: str | None, first: int
) -> LabelledPart | None:
    """The part of that name in the result of a run; None where its labels told of themselves alone."""
    entry: Plain
    if kind == "chunk":
        entry = next((record for record in result["chunks"] if record["name"] == name), {})
        signs, truth, rows = entry.get("signs"), entry.get("truth"), entry.get("rows")
    else:
        entry, target = result, result["target"]
        signs = inside(result, "diagnosis", "signs")
        truth = target.get("accuracy")
        rows = target.get("rows")
    reference = result["reference"]
    if not truth or not rows or "fell_without_labels" not in entry or not reference.get("accuracy"):
        return None
    half = (truth["upper"] - truth["lower"]) / 2 / normal_quantile(float(result["level"]))
    return LabelledPart(
        kind=kind,
        name=name,
        begins=begins,
        first=first,
        rows=int(rows),
        truth=float(truth["value"]),
        error=half if "headline_without_labels" in entry else 0.0,  # else every row has a label
        estimates={record["method"]: float(record["value"]) for record in entry["estimates"]},
        moved=inside(signs, "moved"),
        source=float(reference["accuracy"]),
        reference_rows=int(reference["rows"]),
    )
