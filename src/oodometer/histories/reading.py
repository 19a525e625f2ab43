"""Reading: the runs of a store as a history, the newest answer for each part in front."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from ..errors import UsageError, near_names
from ..results.history import History, Job, PastAlarm, PastPart, PastRun, Seen
from .base import Session, Store
from .record import moment

_RUNS = (
    "id, at, job, verb, version, reference, target, rows, value, lower, upper, level, kind, method, trust, why, truth, "
    "reference_accuracy, diagnosis, alarms, new_alarms, exit_code, repeats, CAST(options AS TEXT)"
)
_FIELDS = tuple(one.name for one in fields(PastRun))  # in the order of these columns
_PARTS = (
    "kind, part, name, metric, begins, ends, run, rows, value, lower, upper, trust, truth, truth_lower, truth_upper, "
    "fell"
)


def read_history(store: Store, job: str | None = None, last: int | None = None) -> History:
    """The history of all jobs, or of one; ``last``: of the newest so many runs of each.

    Raises `UsageError` for a job that is not there and for a number below 1, `InputError` as `Store.session` does.
    """
    if last is not None and last < 1:
        raise UsageError(f"--last: expected a number of runs, 1 or more, got {last}")
    with store.reading() as session:
        if session is None:
            return History(store.name, ())
        found = [str(row[0]) for row in session.rows("SELECT job FROM oodometer_runs GROUP BY job ORDER BY job")]
        if job is not None and job not in found:
            near = near_names(job, found)
            said = f"did you mean {near[0]}? " if near else ""
            raise UsageError(f"{store.name} has no job {job}; {said}it has {', '.join(found[:20]) or 'none yet'}")
        jobs = found if job is None else [job]
        return History(store.name, tuple(_job(session, one, last) for one in jobs))


def kept_result(store: Store, number: int) -> dict[str, Any]:
    """The whole result of a run, as ``--json`` wrote it then, for `write_report` or a program of your own.

    Raises `UsageError` for a number that is not there, `InputError` as `Store.session` does.
    """
    with store.reading() as session:
        found = [] if session is None else session.rows(
            "SELECT CAST(result AS TEXT) FROM oodometer_runs WHERE id = %s", number
        )  # fmt: skip
        if not found:
            raise UsageError(f"{store.name} has no run {number}; `oodometer history` lists the runs with their numbers")
    try:
        result: dict[str, Any] = json.loads(found[0][0])
    except (ValueError, TypeError, RecursionError):
        raise store.damaged(f"the result of run {number}") from None
    return result


def _job(session: Session, name: str, last: int | None) -> Job:
    limit = 2**31 if last is None else last
    rows = session.rows(f"SELECT {_RUNS} FROM oodometer_runs WHERE job = %s ORDER BY id DESC LIMIT %s", name, limit)
    runs = tuple(_run(row) for row in reversed(rows))
    cut = session.rows("SELECT cut FROM oodometer_runs WHERE id = %s", runs[-1].number)[0][0]
    alike = "JOIN oodometer_runs r ON r.id = p.run WHERE r.job = %s AND r.cut = %s AND r.id >= %s"
    since = runs[0].number
    columns = ", ".join(f"p.{one.strip()}" for one in _PARTS.split(","))
    parts = session.rows(f"SELECT {columns} FROM oodometer_parts p {alike} ORDER BY p.run, p.place", name, cut, since)
    alarms = session.rows(
        "SELECT p.kind, p.part, p.metric, p.rule, p.amount, p.bound, p.verdict, p.since FROM oodometer_alarms p "
        f"{alike} ORDER BY p.run",
        name,
        cut,
        since,
    )
    return Job(name, runs, _parts(parts, _alarms(alarms), {one.number: one for one in runs}))


def _run(row: tuple[Any, ...]) -> PastRun:
    told = dict(zip(_FIELDS, row, strict=True))
    return PastRun(**{**told, "at": str(moment(row[1])), "options": json.loads(row[23])})


_Part = tuple[str, str, str]


def _alarms(rows: Iterable[tuple[Any, ...]]) -> dict[_Part, tuple[PastAlarm, ...]]:
    """Alarms of each part that were ever raised: since when the last one stood, and whether it stands."""
    found: dict[_Part, dict[tuple[str, float], PastAlarm]] = {}
    for kind, part, metric, rule, amount, bound, verdict, since in rows:
        mine = found.setdefault((kind, part, metric), {})
        key = (str(rule), float(amount))
        if verdict == "raised":
            mine[key] = PastAlarm(*key, bound, moment(since), True)
        elif key in mine:
            before = mine[key]
            mine[key] = PastAlarm(*key, before.bound, before.since, False)
    return {part: tuple(some.values()) for part, some in found.items() if some}


def _parts(
    rows: Iterable[tuple[Any, ...]], alarms: Mapping[_Part, tuple[PastAlarm, ...]], runs: Mapping[int, PastRun]
) -> tuple[PastPart, ...]:
    """Each part with all that was said of it, in the order of time; repetitions say nothing of their own."""
    newest: dict[_Part, tuple[Any, ...]] = {}
    seen: dict[_Part, list[Seen]] = {}
    truth: dict[_Part, Mapping[str, float]] = {}
    for row in rows:
        kind, part, _, metric, _, _, number, *said = row
        key, run = (kind, part, metric), runs[number]
        newest[key] = row
        if said[5] is not None:
            truth[key] = {"value": said[5], "lower": said[6], "upper": said[7]}
        mine = seen.setdefault(key, [])
        if run.repeats is not None and mine and mine[-1].run == run.repeats:
            mine.pop()
        mine.append(Seen(number, run.at, *said[:5]))
    made = [
        PastPart(
            kind, part, newest[key][2], metric, newest[key][4], newest[key][5], tuple(seen[key]), truth.get(key),
            newest[key][-1], alarms.get(key, ()),
        )
        for key in newest
        for kind, part, metric in (key,)
    ]  # fmt: skip
    return tuple(sorted(made, key=_along))


def _along(part: PastPart) -> tuple[Any, ...]:
    """Chunks in the order of their beginning, rows by number; everything else by name."""
    start = part.start or ""
    return (part.kind, start.zfill(20) if start.isdigit() else start, part.part, part.metric)
