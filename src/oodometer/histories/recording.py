"""Recording: an estimation compared with the earlier runs of its job, and added to their store."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from ..errors import InputError, NotStoredError, UsageError, near_names, visible, without_passwords
from ..results.alarms import Asked, Failing
from ..results.estimation import Estimation, Headline, Part
from ..results.history import History, Job, PastAlarm, PastPart, PastRun, Seen
from ..results.values import Interval, plain
from ..version import __version__
from .base import Cell, PartRow, RunRecord, Session, Store, Verdict, VerdictRow, moment, now

SOON = timedelta(hours=12)  # a run that gives the same answer again before that is a repetition
RETRY = timedelta(minutes=15)  # and before that a scheduler's second try, whose alarms are as new as those of the first


@dataclass(frozen=True)
class Recorder:
    """What takes the runs of a job to a store.

    job : name of the series of runs; by default that of the reference, without its ending. asked : which alarms count.
    options : those of the run that matter, as plain values.
    """

    store: Store
    job: str | None
    asked: Asked
    options: Mapping[str, Any]

    def record(self, found: Estimation, reference: Any = None) -> Estimation:
        """The estimation with alarms that earlier runs raised marked as known; it is added to the store.

        ``reference`` is what was given as such: without a job its name, else the result's, is that of the job. Raises
        `NotStoredError`, which holds the estimation, where the store does not take it.
        """
        found = replace(found, argv=found.argv or self.store.argv)
        named = isinstance(reference, (str, os.PathLike))
        job = self.job or _job_of(reference if named else found.reference.get("name"))
        numbers = [[p.kind, p.part, p.name, p.metric, p.rows, *_rounded(p)] for p in _parts(found)]
        told = [__version__, found.reference.get("rows"), found.target.get("rows"), numbers, plain(dict(self.options))]
        answer = hashlib.blake2b(_json(told).encode(), digest_size=16).hexdigest()
        try:
            with self.store.reading() if not self.store.is_new() else _Nothing() as session:
                repeats, known = (None, {}) if session is None else _earlier(session, job, answer)
        except InputError as error:
            if found.alarms is not None:  # nobody can say what is known, so all of it is new
                found = replace(found, alarms=found.alarms.compared([None] * len(found.alarms.where), self.asked))
            self.store.refuse(
                NotStoredError(f"the answer is there, but the store did not take this run: {error}", found)
            )
            return found
        if found.alarms is not None:
            since = [known.get(_verdict(one, "raised").key) for one in found.alarms.where]
            found = replace(found, alarms=found.alarms.compared(since, self.asked))
        try:
            i, at, alarms = found.headline.interval, now(), found.alarms
            truth = found.target.get("accuracy")
            about: dict[str, Cell] = {
                "at": at,
                "job": job,
                "verb": "estimate",
                "version": __version__,
                "reference": _text(found.reference.get("name")),
                "target": _text(found.target.get("name")),
                "rows": _whole(found.target.get("rows")),
                "reference_accuracy": _number(found.reference.get("accuracy")),
                "value": _number(i.value),
                "lower": _number(i.lower),
                "upper": _number(i.upper),
                "level": _number(i.level),
                "kind": i.kind,
                "method": found.headline.method,
                "trust": found.headline.trust,
                "why": _text(found.headline.why),
                "truth": _number(truth["value"]) if isinstance(truth, Mapping) else None,
                "diagnosis": None if found.diagnosis is None else found.diagnosis.kind,
                "alarms": 0 if alarms is None else len(alarms.where),
                "new_alarms": 0 if alarms is None else len(alarms.new),
                "exit_code": 3 if alarms else 0,
                "cut": visible(
                    " ".join(f"{name}={self.options[name]}" for name in ("by", "every") if self.options.get(name))
                ),
                "answer": answer,
                "options": _json(self.options),
                "result": _json(found.to_dict()),
            }
            self.store.append(RunRecord(about, tuple(_parts(found)), tuple(_verdicts(found, known, at))), repeats)
        except NotStoredError as error:
            error.found = found
            raise
        return found


class _Nothing:
    """A store in which nothing is yet."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


# ------------------------------------------------------------------------------------------ earlier runs


def _earlier(session: Session, job: str, answer: str) -> tuple[int | None, dict[Verdict, str]]:
    """The run that this one repeats, if any; and the alarms that stood before it, with the time since when.

    An alarm stands from the run that raised it for as long as every later run that judged the same part by the same
    rule raised it, too. A run that does not look at a part leaves it as it was.
    """
    newest = session.rows(
        "SELECT id, at, answer, repeats FROM oodometer_runs WHERE job = %s ORDER BY id DESC LIMIT 1", job
    )
    repeats, before = None, None
    if newest and newest[0][2] == answer:
        first = newest[0][0] if newest[0][3] is None else newest[0][3]
        at = session.rows("SELECT at FROM oodometer_runs WHERE id = %s", first)
        age = None if not at else _age(moment(at[0][0]))
        repeats = int(first) if age is not None and age < SOON else None
        before = int(first) if age is not None and age < RETRY else None
    last = session.rows(
        """SELECT a.kind, a.part, a.metric, a.rule, a.amount, a.verdict, a.since FROM oodometer_alarms a JOIN (
            SELECT v.kind, v.part, v.metric, v.rule, v.amount, MAX(v.run) AS run FROM oodometer_alarms v
            JOIN oodometer_runs r ON r.id = v.run WHERE r.job = %s AND r.id < %s
            GROUP BY v.kind, v.part, v.metric, v.rule, v.amount) b
        ON a.run = b.run AND a.kind = b.kind AND a.part = b.part AND a.metric = b.metric AND a.rule = b.rule
            AND a.amount = b.amount WHERE a.verdict = 'raised'""",
        job,
        2**62 if before is None else before,
    )
    return repeats, {tuple(row[:5]): str(moment(row[6])) for row in last}


def _age(at: str | None) -> timedelta | None:
    return None if at is None else datetime.fromisoformat(now()) - datetime.fromisoformat(at)


# ------------------------------------------------------------------------------------------ this run


def _job_of(reference: Any) -> str:
    """The name of the reference without folders and ending, which stays while targets come and go.

    >>> _job_of("/srv/car_loan.oodo"), _job_of("s3://lake/reference/"), _job_of(None)
    ('car_loan', 'reference', 'estimate')
    """
    name = os.path.basename(os.fspath(reference or "").rstrip("/"))
    return visible(name.partition(".")[0] or name or "estimate")


def part_key(place: Mapping[str, Any]) -> str:
    """What stays of a chunk's or a slice's name from run to run.

    A last month is told "so far" until it has its rows, a last chunk of rows grows; both keep their beginning.

    >>> part_key({"name": "2026-10 (so far)", "start": "2026-10-01"}), part_key({"name": "rows 1 to 500", "start": 0})
    ('2026-10', 'rows from 0')
    >>> part_key({"by": "shop", "slice": "north"}), part_key({"by": "shop", "value": "north"}), part_key({})
    ('shop=north', 'shop=north', 'target')
    """
    if "by" in place:
        return visible(f"{place['by']}={place.get('slice', place.get('value'))}")
    if isinstance(place.get("start"), int):
        return f"rows from {place['start']}"
    name = str(place.get("name", "target"))
    return visible(name.removesuffix(" (so far)") if "start" in place else name)


def _parts(found: Estimation) -> Iterator[PartRow]:
    """The target, its chunks and its slices; each with the accuracy and the metrics that were asked for."""
    truth = found.target.get("accuracy")
    known = None
    if isinstance(truth, Mapping):
        known = Interval(truth["value"], truth["lower"], truth["upper"], found.level, "exact")
    whole = Part(
        {"name": "target"}, int(found.target.get("rows") or 0), found.headline, (), known, found.fell, {}, found.metrics
    )
    for kind, parts in (("target", (whole,)), ("chunk", found.chunks), ("slice", found.slices)):
        seen: set[str] = set()
        for one in parts:
            key = part_key(one.place)
            if key in seen:
                continue  # two slices whose values read the same
            seen.add(key)
            yield _part(kind, key, one, "accuracy", one.headline, one.truth)
            for metric, more in one.metrics.items():
                yield _part(kind, key, one, metric, more.headline, more.truth)


def _part(kind: str, key: str, part: Part, metric: str, headline: Headline, truth: Interval | None) -> PartRow:
    i, fell = headline.interval, part.fell if metric == "accuracy" else None
    return PartRow(
        kind=kind,
        part=key,
        name=visible(part.name),
        metric=metric,
        rows=part.rows,
        begins=_text(part.place.get("start")),
        ends=_text(part.place.get("end")),
        value=_number(i.value),
        lower=_number(i.lower),
        upper=_number(i.upper),
        level=_number(i.level),
        interval_kind=i.kind,
        method=headline.method,
        trust=headline.trust,
        why=_text(headline.why),
        truth=None if truth is None else _number(truth.value),
        truth_lower=None if truth is None else _number(truth.lower),
        truth_upper=None if truth is None else _number(truth.upper),
        fell=None if fell is None else "alarm" if fell.alarm else fell.verdict,
        fell_p=None if fell is None else _number(fell.p),
    )


def _verdicts(found: Estimation, known: Mapping[Verdict, str], at: str) -> Iterator[VerdictRow]:
    """What each rule said of each part that it judged."""
    alarms = found.alarms
    if alarms is None:
        return
    said = {_verdict(one, "by chance").key: _verdict(one, "by chance") for one in alarms.by_chance}
    for one in alarms.where:
        row = _verdict(one, "raised")
        said[row.key] = replace(row, since=one.known_since or known.get(row.key) or at)
    unjudged = set(alarms.unjudged)
    parts: Sequence[Part] = {"chunk": found.chunks, "slice": found.slices}.get(alarms.kind, ())
    places = [dict(one.place) | {"name": one.name} for one in parts] or [{"name": "target"}]
    for place in places:
        for rule in alarms.rules:
            if f"{rule.metric} of {place['name']}" not in unjudged:
                row = VerdictRow(
                    alarms.kind, part_key(place), visible(str(place["name"])), rule.metric, rule.kind, rule.amount,
                    None, None, None, "holds",
                )  # fmt: skip
                said.setdefault(row.key, row)
    yield from said.values()


def _verdict(one: Failing, verdict: str) -> VerdictRow:
    place = one.place
    kind = "slice" if "by" in place else "chunk" if "start" in place else "target"
    return VerdictRow(
        kind, part_key(place), visible(str(place["name"])), one.rule.metric, one.rule.kind, one.rule.amount,
        _number(one.bound), _number(one.interval.value), _number(one.chance), verdict,
    )  # fmt: skip


def _rounded(part: PartRow) -> list[float | None]:
    return [None if one is None else round(one, 9) for one in (part.value, part.lower, part.upper, part.truth)]


def _json(told: Any) -> str:
    return json.dumps(plain(told), allow_nan=False, default=str, separators=(",", ":"))  # ASCII, which all stores take


def _text(value: Any) -> str | None:
    return None if value is None else visible(str(value))


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _number(value: Any) -> float | None:
    told = plain(value)
    return None if told is None else float(told)


def open_store(place: Any, argv: str | None = None) -> Store:
    """The store at a path (SQLite) or at an address ``postgresql://user@host/database``; nothing is asked of it yet.

    ``argv`` is the command that is kept with the runs. Raises `UsageError` for another kind of address.

    >>> open_store("runs.sqlite").kind, open_store("postgresql://host/db").kind
    ('SQLite', 'PostgreSQL')
    >>> open_store("mysql://host/db")
    Traceback (most recent call last):
    oodometer.errors.UsageError: the store: expected the path of a file or postgresql://user@host/database, got mysql://...
    """
    if isinstance(place, Store):
        return place
    if not isinstance(place, (str, os.PathLike)) or not os.fspath(place) or "\0" in str(place):
        raise UsageError(f"the store: expected the path of a file or postgresql://user@host/database, got {place!r}")
    text = os.fspath(place)
    scheme, sign, rest = text.partition("://")
    if sign and scheme in ("postgresql", "postgres"):
        from .postgresql import PostgresStore

        return PostgresStore(text, argv)
    if sign and scheme == "sqlite":  # as other libraries write it: sqlite:///relative, sqlite:////absolute
        text = rest.removeprefix("/")
    elif sign:
        said = without_passwords(text, word=True)
        raise UsageError(f"the store: expected the path of a file or postgresql://user@host/database, got {said}")
    from .sqlite import SqliteStore

    return SqliteStore(text, argv)


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
    return Job(name, runs, _parts_of(parts, _alarms(alarms), {one.number: one for one in runs}))


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


def _parts_of(
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
