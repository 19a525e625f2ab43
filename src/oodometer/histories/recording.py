"""Recording: an estimation compared with the earlier runs of its job, and added to their store; and past runs read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from ..errors import InputError, NotStoredError, UsageError, near_names, visible, without_passwords
from ..passes.slicing import PARTIAL
from ..plain import Json, Plain
from ..results.alarms import Asked, Failing
from ..results.estimation import Estimation, Headline, Part
from ..results.history import History, Job, PastAlarm, PastPart, PastRun, Seen
from ..results.values import Interval, plain
from ..version import __version__
from .base import Cell, Row, Session, Store, moment, now

SOON = timedelta(hours=12)  # a run that gives the same answer again before that is a repetition
RETRY = timedelta(
    minutes=15
)  # and before that a scheduler's second try, whose alarms are as new as those of the first
_KNOWN_BY = ("kind", "part", "metric", "rule", "amount")  # what an alarm is known by
Verdict = tuple[Cell, ...]
"""The cells of `_KNOWN_BY`."""


@dataclass(frozen=True)
class Recorder:
    """What takes the runs of a job to a store.

    job : name of the series of runs; by default that of the reference, without its ending. asked : which alarms count.
    options : those of the run that matter, as plain values.
    """

    store: Store
    job: str | None
    asked: Asked
    options: Plain

    def job_of(self, reference: Any, name: str | None) -> str:
        """The name of the series: the one that was given, else that of the reference, without folders and ending."""
        named = isinstance(reference, (str, os.PathLike))
        path = os.path.basename(os.fspath((reference if named else name) or "").rstrip("/"))
        return self.job or visible(path.partition(".")[0] or path or "estimate")

    def _answer(self, estimation: Estimation, parts: Sequence[Plain]) -> str:
        """What tells the answer of a run from any other."""
        names = ("kind", "part", "name", "metric", "rows")
        ends = ("value", "lower", "upper", "truth")
        numbers = [
            [
                *(part[name] for name in names),
                *(None if part[end] is None else round(part[end], 9) for end in ends),
            ]
            for part in parts
        ]
        sizes = [estimation.reference.get("rows"), estimation.target.get("rows")]
        answered = [__version__, *sizes, numbers, plain(dict(self.options))]
        return hashlib.blake2b(_json(answered).encode(), digest_size=16).hexdigest()

    def _run(self, estimation: Estimation, answer: str, repeats: Cell) -> dict[str, Cell]:
        """The row of a run, but for its time and job."""
        alarms, truth = estimation.alarms, estimation.target.get("accuracy")
        rows = estimation.target.get("rows")
        cuts = ("by", "every", *(("timezone",) if self.options.get("every") else ()))
        cut = " ".join(f"{name}={self.options[name]}" for name in cuts if self.options.get(name))
        return {
            "verb": "estimate",
            "version": __version__,
            "answer": answer,
            "reference": _text(estimation.reference.get("name")),
            "target": _text(estimation.target.get("name")),
            "rows": None if rows is None else int(rows),
            "cut": visible(cut),
            "repeats": repeats,
            "reference_accuracy": _number(estimation.reference.get("accuracy")),
            **_headline(estimation.headline),
            "kind": estimation.headline.interval.kind,
            "diagnosis": getattr(estimation.diagnosis, "kind", None),
            "truth": _number(truth["value"]) if isinstance(truth, Mapping) else None,
            "alarms": 0 if alarms is None else len(alarms.where),
            "exit_code": 3 if alarms else 0,
            "new_alarms": 0 if alarms is None else len(alarms.new),
            "options": _json(self.options),
            "result": _json(estimation.to_dict()),
        }

    def record(self, estimation: Estimation, reference: Any = None) -> Estimation:
        """The estimation with alarms that earlier runs raised marked as known; it is added to the store.

        ``reference`` is what was given as such: without a job its name, else the result's, is that of the job. Raises
        `NotStoredError`, which holds the estimation, where the store does not take it.
        """
        estimation = replace(estimation, argv=estimation.argv or self.store.argv)
        job = self.job_of(reference, estimation.reference.get("name"))
        parts = list(_parts(estimation))
        answer = self._answer(estimation, parts)
        try:
            with nullcontext() if self.store.is_new() else self.store.reading() as session:
                repeats, since = (None, {}) if session is None else _earlier(session, job, answer)
        except InputError as error:
            if estimation.alarms is not None:  # nobody can say what is known, so all of it is new
                unknown = [None] * len(estimation.alarms.where)
                estimation = replace(
                    estimation, alarms=estimation.alarms.compared(unknown, self.asked)
                )
            message = f"the answer is there, but the store did not take this run: {error}"
            self.store.append({}, refused=NotStoredError(message, estimation))
            return estimation
        if estimation.alarms is not None:
            raised = [
                since.get(_key(_verdict(failing, "raised"))) for failing in estimation.alarms.where
            ]
            estimation = replace(estimation, alarms=estimation.alarms.compared(raised, self.asked))
        at = now()
        run = {"at": at, "job": job, **self._run(estimation, answer, repeats)}
        try:
            self.store.append(run, parts, list(_verdicts(estimation, since, at)))
        except NotStoredError as error:
            error.found = estimation
            raise
        return estimation


def _earlier(session: Session, job: str, answer: str) -> tuple[int | None, dict[Verdict, str]]:
    """The run that this one repeats, if any; and the alarms that stood before it, with the time since when: an alarm
    stands as long as every later run that judged the same part by the same rule raised it, too.
    """
    newest = session.rows(
        "SELECT id, at, answer, repeats FROM oodometer_runs WHERE job = %s ORDER BY id DESC LIMIT 1",
        job,
    )
    repeats, before = None, None
    if newest and newest[0][2] == answer:
        first = newest[0][0] if newest[0][3] is None else newest[0][3]
        at = session.rows("SELECT at FROM oodometer_runs WHERE id = %s", first)
        if at:
            age = datetime.fromisoformat(now()) - datetime.fromisoformat(str(moment(at[0][0])))
            repeats, before = (int(first) if age < longest else None for longest in (SOON, RETRY))
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


def part_key(part: Plain) -> str:
    """What stays of a chunk's or a slice's name from run to run: a last month is partial until it has its rows, a last
    chunk of rows grows; both keep their beginning. Chunks of other time zones are others.
    """
    if "by" in part:
        return visible(f"{part['by']}={part.get('slice', part.get('value'))}")
    if isinstance(part.get("start"), int):
        return f"rows from {part['start']}"
    name = str(part.get("name", "target"))
    name = name.removesuffix(PARTIAL) if "start" in part else name
    return visible(" ".join(filter(None, (name, part.get("timezone")))))


def _parts(estimation: Estimation) -> Iterator[Json]:
    """Rows of the target, its chunks and its slices; each with the accuracy and the metrics that were asked for."""
    truth = estimation.target.get("accuracy")
    exact = None
    if isinstance(truth, Mapping):
        exact = Interval(truth["value"], truth["lower"], truth["upper"], estimation.level, "exact")
    rows = int(estimation.target.get("rows") or 0)
    target_part = Part(
        {"name": "target"},
        rows,
        estimation.headline,
        (),
        exact,
        estimation.fell,
        {},
        estimation.metrics,
    )
    for kind, parts in (
        ("target", (target_part,)),
        ("chunk", estimation.chunks),
        ("slice", estimation.slices),
    ):
        seen: set[str] = set()
        for part in parts:
            key = part_key(part.place)
            if key in seen:
                continue  # two slices whose values read the same
            seen.add(key)
            begins, ends = (_text(part.place.get(name)) for name in ("start", "end"))
            about = {
                "kind": kind,
                "part": key,
                "name": visible(part.name),
                "begins": begins,
                "ends": ends,
            }
            numbers = [("accuracy", part.headline, part.truth)]
            numbers += [
                (metric, more.headline, more.truth) for metric, more in part.metrics.items()
            ]
            for metric, headline, true in numbers:
                row: Json = {
                    **about,
                    "rows": part.rows,
                    "metric": metric,
                    **_headline(headline),
                    "interval_kind": headline.interval.kind,
                }
                names = {"truth": "value", "truth_lower": "lower", "truth_upper": "upper"}
                row |= {
                    ours: None if true is None else _number(getattr(true, end))
                    for ours, end in names.items()
                }
                if part.fell is not None and metric == "accuracy":
                    row |= {
                        "fell": "alarm" if part.fell.alarm else part.fell.verdict,
                        "fell_p": _number(part.fell.p),
                    }
                yield row


def _headline(headline: Headline) -> dict[str, Cell]:
    """Cells of a number and what it rests on."""
    numbers = {
        name: _number(getattr(headline.interval, name))
        for name in ("value", "lower", "upper", "level")
    }
    return {
        **numbers,
        "method": headline.method,
        "trust": headline.trust,
        "why": _text(headline.why),
    }


def _verdicts(estimation: Estimation, since: Mapping[Verdict, str], at: str) -> Iterator[Row]:
    """Rows of what each rule said of each part that it judged."""
    alarms = estimation.alarms
    if alarms is None:
        return
    out = {
        _key(row): row for row in (_verdict(failing, "by chance") for failing in alarms.by_chance)
    }
    for failing in alarms.where:
        row = _verdict(failing, "raised")
        out[_key(row)] = {**row, "since": failing.known_since or since.get(_key(row)) or at}
    unjudged = set(alarms.unjudged)
    parts: Sequence[Part] = {"chunk": estimation.chunks, "slice": estimation.slices}.get(
        alarms.kind, ()
    )
    for part_about in [dict(part.place) | {"name": part.name} for part in parts] or [
        {"name": "target"}
    ]:
        for rule in alarms.rules:
            if f"{rule.metric} of {part_about['name']}" not in unjudged:
                row = {
                    "kind": alarms.kind,
                    "part": part_key(part_about),
                    "name": visible(str(part_about["name"])),
                    "metric": rule.metric,
                    "rule": rule.kind,
                    "amount": rule.amount,
                    "verdict": "holds",
                }
                out.setdefault(_key(row), row)
    yield from out.values()


def _verdict(failing: Failing, verdict: str) -> dict[str, Cell]:
    part, rule = failing.place, failing.rule
    kind = "slice" if "by" in part else "chunk" if "start" in part else "target"
    row: dict[str, Cell] = {
        "kind": kind,
        "part": part_key(part),
        "name": visible(str(part["name"])),
        "metric": rule.metric,
        "rule": rule.kind,
        "amount": rule.amount,
        "bound": _number(failing.bound),
    }
    return row | {
        "value": _number(failing.interval.value),
        "p": _number(failing.chance),
        "verdict": verdict,
    }


def _key(row: Row) -> Verdict:
    return tuple(row[name] for name in _KNOWN_BY)


def _json(value: Any) -> str:
    return json.dumps(
        plain(value), allow_nan=False, default=str, separators=(",", ":")
    )  # ASCII, which all stores take


def _text(value: Any) -> str | None:
    return None if value is None else visible(str(value))


def _number(value: Any) -> float | None:
    number = plain(value)
    return None if number is None else float(number)


def open_store(address: Any, argv: str | None = None) -> Store:
    """The store at a path (SQLite) or at an address ``postgresql://user@host/database``; nothing is asked of it yet.

    ``argv`` is the command that is kept with the runs. Raises `UsageError` for another kind of address.

    >>> open_store("runs.sqlite").kind, open_store("postgresql://host/db").kind
    ('SQLite', 'PostgreSQL')
    >>> open_store("mysql://host/db")
    Traceback (most recent call last):
    oodometer.errors.UsageError: the store: expected the path of a file or postgresql://user@host/database, got mysql://...
    """
    if isinstance(address, Store):
        return address
    if (
        not isinstance(address, (str, os.PathLike))
        or not os.fspath(address)
        or "\0" in str(address)
    ):
        raise UsageError(
            f"the store: expected the path of a file or postgresql://user@host/database, got {address!r}"
        )
    text = os.fspath(address)
    scheme, sign, rest = text.partition("://")
    if sign and scheme in ("postgresql", "postgres"):
        from .postgresql import PostgresStore

        return PostgresStore(text, argv)
    if (
        sign and scheme == "sqlite"
    ):  # as other libraries write it: sqlite:///relative, sqlite:////absolute
        text = rest.removeprefix("/")
    elif sign:
        redacted = without_passwords(text, word=True)
        raise UsageError(
            f"the store: expected the path of a file or postgresql://user@host/database, got {redacted}"
        )
    from .sqlite import SqliteStore

    return SqliteStore(text, argv)


_Part = tuple[str, str, str]  # kind, part and metric
_RUNS = (  # the columns that a `PastRun` shows
    "p.id, p.at, p.job, p.verb, p.version, p.reference, p.target, p.rows, p.value, p.lower, p.upper, p.level, p.kind, "
    "p.method, p.trust, p.why, p.truth, p.reference_accuracy, p.diagnosis, p.alarms, p.new_alarms, p.exit_code, "
    "p.repeats, p.options"
)
_PARTS = (
    "p.kind, p.part, p.name, p.metric, p.begins, p.ends, p.run, p.rows, p.value, p.lower, p.upper, p.trust, p.truth, "
    "p.truth_lower, p.truth_upper, p.fell"
)
_ALARMS = "p.kind, p.part, p.metric, p.rule, p.amount, p.bound, p.verdict, p.since"


def read_history(store: Store, job: str | None = None, last: int | None = None) -> History:
    """The history of all jobs, or of one.

    store : where runs are kept; an empty history where there is nothing yet.
    job : name of the only one to read; None reads all.
    last : the newest so many runs of each job; None takes all.

    Raises `UsageError` for a job that is not there and for a number below 1, `InputError` as `Store.session` does.
    """
    if last is not None and last < 1:
        raise UsageError(f"--last: expected a number of runs, 1 or more, got {last}")
    with store.reading() as session:
        if session is None:
            return History(store.name, ())
        jobs = [
            str(row[0])
            for row in session.rows("SELECT job FROM oodometer_runs GROUP BY job ORDER BY job")
        ]
        if job is not None and job not in jobs:
            near = near_names(job, jobs)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"{store.name} has no job {job}; {hint}it has {', '.join(jobs[:20]) or 'none yet'}"
            )
        jobs = jobs if job is None else [job]
        return History(store.name, tuple(_job(session, name, last) for name in jobs))


def kept_result(store: Store, number: int) -> Json:
    """The whole result of a run, as ``--json`` wrote it then, for `write_report` or a program of your own.

    store : where runs are kept.
    number : of the run, as `oodometer history` lists it.

    Raises `UsageError` for a number that is not there, `InputError` as `Store.session` does.
    """
    with store.reading() as session:
        rows = (
            []
            if session is None
            else session.rows(
                "SELECT CAST(result AS TEXT) FROM oodometer_runs WHERE id = %s", number
            )
        )
        if not rows:
            raise UsageError(
                f"{store.name} has no run {number}; `oodometer history` lists the runs with their numbers"
            )
    try:
        result: Json = json.loads(rows[0][0])
    except (ValueError, TypeError, RecursionError):
        raise store.damaged(f"the result of run {number}") from None
    return result


def _rows(session: Session, columns: str, rest: str, *values: Cell) -> list[Json]:
    """Rows of a table as mappings, names of columns without their table."""
    names = columns.split(", ")
    cells = [f"CAST({name} AS TEXT)" if name == "p.options" else name for name in names]
    records = session.rows(f"SELECT {', '.join(cells)} FROM {rest}", *values)
    bare = [name.removeprefix("p.") for name in names]
    return [dict(zip(bare, row, strict=True)) for row in records]


def _job(session: Session, name: str, last: int | None) -> Job:
    limit = 2**31 if last is None else last
    newest = "oodometer_runs p WHERE p.job = %s ORDER BY p.id DESC LIMIT %s"
    runs = {}
    for row in reversed(_rows(session, _RUNS, newest, name, limit)):
        number, new = row.pop("id"), row.pop("new_alarms")
        row |= {"at": str(moment(row["at"])), "options": json.loads(row["options"])}
        runs[number] = PastRun(number=number, new=new, **row)
    first, latest = min(runs), max(runs)
    cut = session.rows("SELECT cut FROM oodometer_runs WHERE id = %s", latest)[0][0]
    alike = "p JOIN oodometer_runs r ON r.id = p.run WHERE r.job = %s AND r.cut = %s AND r.id >= %s ORDER BY p.run"
    alarms = _raised(_rows(session, _ALARMS, f"oodometer_alarms {alike}", name, cut, first))
    # each part with all that was said of it, in the order of time; repetitions say nothing of their own
    parts: dict[_Part, PastPart] = {}
    for row in _rows(session, _PARTS, f"oodometer_parts {alike}, p.place", name, cut, first):
        key = row["kind"], row["part"], row["metric"]
        raised = tuple(alarms.get(key, {}).values())
        parts[key] = _past_part(row, runs[row["run"]], parts.get(key), raised)

    def along(part: PastPart) -> tuple[Any, ...]:
        """Chunks in the order of their beginning, rows by number; everything else by name."""
        start = part.start or ""
        return (part.kind, start.zfill(20) if start.isdigit() else start, part.part, part.metric)

    return Job(name, tuple(runs.values()), tuple(sorted(parts.values(), key=along)))


def _raised(
    rows: Sequence[Plain],
) -> dict[_Part, dict[tuple[str, float], PastAlarm]]:
    """Alarms of each part that were ever raised: since when the last one stood, and whether it stands."""
    raised: dict[_Part, dict[tuple[str, float], PastAlarm]] = {}
    for row in rows:
        mine = raised.setdefault((row["kind"], row["part"], row["metric"]), {})
        key = (str(row["rule"]), float(row["amount"]))
        if row["verdict"] == "raised":
            mine[key] = PastAlarm(*key, row["bound"], moment(row["since"]), True)
        elif key in mine:
            mine[key] = replace(mine[key], stands=False)
    return raised


def _past_part(
    row: Plain, run: PastRun, before: PastPart | None, alarms: tuple[PastAlarm, ...]
) -> PastPart:
    """A part with what a run said of it, after what was said ``before``."""
    earlier, truth = ((), None) if before is None else (before.seen, before.truth)
    if earlier and run.repeats is not None and earlier[-1].run == run.repeats:
        earlier = earlier[:-1]
    numbers = (row[name] for name in ("rows", "value", "lower", "upper", "trust"))
    if row["truth"] is not None:
        truth = {
            "value": row["truth"],
            "lower": row["truth_lower"],
            "upper": row["truth_upper"],
        }
    return PastPart(
        row["kind"],
        row["part"],
        row["name"],
        row["metric"],
        row["begins"],
        row["ends"],
        (*earlier, Seen(run.number, run.at, *numbers)),
        truth,
        row["fell"],
        alarms,
        partial=row["name"].endswith(PARTIAL),
    )
