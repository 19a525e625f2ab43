"""History: the result of the verb `history`: past runs of each job, and what they said of every part of its targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..plain import Json, Plain, inside
from .values import Record, counted, percent, plain, points
from .view import (
    Grid,
    Maker,
    Named,
    Point,
    Shown,
    Table,
    View,
    cell,
    cells_of,
    interval_of,
    shows,
    with_ends,
)


@dataclass(frozen=True)
class PastRun(Record):
    """A run as its store tells it. ``number`` names it there, ``at`` is the time of its end (UTC, ISO).

    ``alarms`` were raised, ``new`` of them by no earlier run; ``repeats`` is the number of the run whose answer it
    gave again shortly after, as a scheduler does that tries twice.
    """

    number: int
    at: str
    job: str
    verb: str
    version: str
    reference: str | None
    target: str | None
    rows: int | None
    value: float | None
    lower: float | None
    upper: float | None
    level: float | None
    kind: str | None
    method: str | None
    trust: str | None
    why: str | None
    truth: float | None
    reference_accuracy: float | None
    diagnosis: str | None
    alarms: int
    new: int
    exit_code: int
    repeats: int | None
    options: Plain


@dataclass(frozen=True)
class Seen(Record):
    """What one run said of a part: the run's number and time, the rows it had then, and the number with its ends."""

    run: int
    at: str
    rows: int | None
    value: float | None
    lower: float | None
    upper: float | None
    trust: str | None = None


@dataclass(frozen=True)
class PastAlarm(Record):
    """A rule that a part failed: ``since`` when it was first raised, and whether it still ``stands``."""

    rule: str
    amount: float
    bound: float | None
    since: str | None
    stands: bool


@dataclass(frozen=True)
class PastPart(Record):
    """A number of the target, of a chunk or a slice (``kind``), as all runs saw it, the newest last.

    ``truth`` is what labels last told of it, with its ends; ``fell`` the newest answer to "did the accuracy fall?";
    ``partial`` says that the chunk had not all of its rows yet.
    """

    kind: str
    part: str
    name: str
    metric: str
    start: str | None
    end: str | None
    seen: tuple[Seen, ...]
    truth: Mapping[str, float] | None = None
    fell: str | None = None
    alarms: tuple[PastAlarm, ...] = ()
    partial: bool = False

    @property
    def newest(self) -> Seen:
        """What the last run that looked at it said."""
        return self.seen[-1]

    @property
    def standing(self) -> tuple[PastAlarm, ...]:
        """Alarms that the last run raised."""
        return tuple(alarm for alarm in self.alarms if alarm.stands)

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        return {**super().to_dict(), **self.newest.to_dict()}


@dataclass(frozen=True, repr=False)
class Job(Shown):
    """A series of runs, oldest first, and the parts of its targets along time, as the newest run cuts them."""

    name: str
    runs: tuple[PastRun, ...]
    parts: tuple[PastPart, ...]

    def of(self, kind: str, metric: str = "accuracy") -> tuple[PastPart, ...]:
        """The parts of one kind ("target", "chunk" or "slice"), one number each."""
        return tuple(part for part in self.parts if part.kind == kind and part.metric == metric)

    @property
    def cut(self) -> str:
        """The kind of part that the newest run has: "chunk", "slice" or "target"."""
        return next((kind for kind in ("chunk", "slice") if self.of(kind)), "target")

    def frames(self) -> dict[str, Maker]:
        """``parts``: the newest number of every part; ``runs``, oldest first."""
        return _frames([self])

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        return {"job": self.name, "runs": plain(self.runs), "parts": plain(self.parts)}


@dataclass(frozen=True, repr=False)
class History(Shown, Record, Named[Job]):
    """What a store holds, job by job.

    store : its path or address, without a password.
    jobs : each with its runs, oldest first, and the parts of its targets along time.
    argv : the command line; None of a call from Python.

    >>> History("runs.sqlite", (Job("car_loan", (), ()),))
    Past runs in runs.sqlite: 1 job
      car_loan: no run
    """

    store: str
    jobs: tuple[Job, ...]
    argv: str | None = None
    _command, _noun, _entries = "history", "job", ("jobs", "name")

    def frames(self) -> dict[str, Maker]:
        """The tables of one job, with the rows of all; the row ``headline`` where there is one job."""
        return _frames(self.jobs)


def _frames(jobs: Sequence[Job]) -> dict[str, Maker]:
    """Tables of the newest number of every part of these jobs, and of their runs."""
    parts, runs = list[Json](), list[Json]()
    for job in jobs:
        runs += [{**vars(run), "run": run.number} for run in job.runs]
        for part in job.parts:
            seen, truth = part.newest, part.truth or {}
            row = {**vars(part), **vars(seen), "job": job.name, "part": part.kind}
            row |= {"kind": None, "truth": truth.get("value"), "alarm": bool(part.standing)}
            parts.append(row | {"runs": len(part.seen)})
    number = ("value", "lower", "upper", "trust")
    about = ("part", "job", "name", "start", "end", "rows", "metric", *number, "fell", "alarm")
    return {
        "parts": lambda: Table((*about, "truth", "runs", "at"), parts, named="part"),
        "runs": lambda: Table(("job", "run", "at", "rows", *number, "truth", "exit_code"), runs),
    }


@shows(History)
def history_view(result: Plain) -> View:
    """What a store holds, from the mapping that JSON holds: of one job all of it, of several a line each."""
    views = [job_view(job) for job in result["jobs"]]
    if len(views) == 1 and result["jobs"][0]["runs"]:
        return views[0]
    lines = [
        f"{view.title}: {view.number}{''.join(f'; {alarm}' for alarm in view.alarms)}"
        for view in views
    ]
    return View(
        f"Past runs in {result['store']}", counted(len(views), "job"), sentences=tuple(lines)
    )


_MOST_RUNS, _MOST_PARTS, _MOST_NAMES = 12, 30, 6  # at first, the newest
_FELL = {"alarm": "likely, with an alarm", "fell": "yes", "holds": "no", "cannot say": "undecided"}


@shows(Job)
def job_view(result: Plain) -> View:
    """What past runs of a job say, from the mapping that JSON holds: the last period, whether it fell, what stands."""
    runs, every = result.get("runs") or [], result.get("parts") or []
    if not runs:
        return View(str(result.get("job")), "no run")
    kind, parts = _main_parts(every)
    chunks = told_parts(result)
    run, last = runs[-1], newest_finished(chunks or runs)
    standing = list(dict.fromkeys(str(part["name"]) for part in parts if _stands(part)))
    metrics = dict.fromkeys(part["metric"] for part in parts)
    what = f" of {last['name']}" if chunks else ", newest run"
    value = last.get("value")
    return View(
        f"{result.get('job')}: estimated accuracy{what}",
        "none" if value is None else percent(value),
        interval_of({**last, "level": run.get("level"), "kind": run.get("kind")}),
        trust=last.get("trust"),
        sentences=(
            _where_it_fell(chunks, last),
            _against_reference(value, run.get("reference_accuracy")),
            "" if standing or last.get("fell") in ("alarm", "fell") else "No alarm stands",
            _so_far(chunks, last),
            _newest_run(runs),
        ),
        points=_points(chunks, standing),
        line=run.get("reference_accuracy"),
        line_name="reference",
        grids=(
            *(
                _parts_grid([part for part in parts if part["metric"] == name], kind, name)
                for name in metrics
            ),
            _runs_grid(runs),
        ),
        alarms=(_alarm(standing, kind),) if standing else (),
        fell=last.get("fell"),
        cells={"job": result.get("job"), "rows": last.get("rows"), "at": last.get("at")}
        | {"metric": "accuracy", "alarm": bool(standing), "truth": _truth(last)},
    )


def told_parts(job: Plain) -> list[Plain]:
    """The chunks of a job whose accuracy is told, along time; none where it was not cut by time."""
    return [
        part
        for part in job.get("parts") or []
        if part["kind"] == "chunk" and part["metric"] == "accuracy" and part["value"] is not None
    ]


def newest_finished(items: Sequence[Plain]) -> Plain:
    """The last chunk, or run, that has all of its rows; the last one where none has."""
    return next((item for item in reversed(items) if not item.get("partial")), items[-1])


def _main_parts(every: Sequence[Plain]) -> tuple[str, list[Plain]]:
    """The chunks of a job, without any its slices, else its targets."""
    kinds = {part["kind"] for part in every}
    kind = next((item for item in ("chunk", "slice") if item in kinds), "target")
    return kind, [part for part in every if part["kind"] == kind]


def _where_it_fell(chunks: Sequence[Plain], last: Plain) -> str:
    """Whether the accuracy fell in the last finished chunk."""
    fell = last.get("fell") if chunks else None
    return f"Fell in {last['name']}: {_FELL.get(fell, fell)}" if fell else ""


def _newest_run(runs: Sequence[Plain]) -> str:
    """When the newest run was and what it says."""
    run = runs[-1]
    rows = f" on {counted(run['rows'], 'row')}" if run.get("rows") else ""
    return f"Newest of {counted(len(runs), 'run')}, {_when(run)} UTC: {with_ends(run)}{rows}"


def _so_far(chunks: Sequence[Plain], last: Plain) -> str:
    """What is said of a chunk behind the last finished one."""
    newer = chunks[-1] if chunks else last
    return "" if newer is last else f"{newer['name']}: {with_ends(newer)}, from the rows so far"


def _truth(item: Plain) -> float | None:
    """The truth of a part, or of a run, where labels told it."""
    truth = item.get("truth")
    number: float | None = truth.get("value") if isinstance(truth, Mapping) else truth
    return number


def _stands(part: Plain) -> bool:
    """Whether an alarm of this part stands."""
    return any(alarm["stands"] for alarm in part.get("alarms") or ())


def _points(chunks: Sequence[Plain], standing: Sequence[str]) -> tuple[Point, ...]:
    """Several chunks in the small chart, with the names of those whose alarms stand."""
    points = []
    for chunk in chunks if len(chunks) > 1 else ():
        name, truth = chunk["name"], inside(chunk["truth"], "value")
        ends = chunk["value"], chunk["lower"], chunk["upper"]
        points.append(Point(name, *ends, truth, str(name) in standing))
    return tuple(points)


def _against_reference(value: float | None, reference: float | None) -> str:
    """How far the newest estimate is from the reference accuracy."""
    if value is None or reference is None:
        return ""
    gap = round(value, 3) - round(reference, 3)
    side = "below" if gap < 0 else "above"
    return f"{points(gap)} {side} the reference accuracy ({percent(reference)})"


def _alarm(names: Sequence[str], kind: str) -> str:
    """Where alarms stand, the newest by name."""
    older = f"{len(names) - _MOST_NAMES} older and " if len(names) > _MOST_NAMES else ""
    newest = ", ".join(names[-_MOST_NAMES:])
    return f"ALARM stands in {counted(len(names), kind)}: {older}{newest}"


def _when(run: Plain) -> str:
    return str(run.get("at"))[:16].replace("T", " ")


def _parts_grid(parts: Sequence[Plain], kind: str, metric: str) -> Grid:
    """The newest estimate of each part, its truth, the runs that saw it, and since when it fails a rule."""
    rows, marked, share = [], set(), metric == "accuracy"
    for i, part in enumerate(parts):
        alarms = part.get("alarms") or ()
        since = sorted(str(alarm.get("since"))[:10] for alarm in alarms if alarm["stands"])
        marked |= {i} if since else set()
        cells = [
            cell(part.get("rows")),
            *cells_of(part, share=share),
            cells_of(part.get("truth"), share=share)[0],
        ]
        alarm = f"since {since[0]}" if since else "ended" if alarms else ""
        rows.append(
            [
                str(part["name"]),
                *cells,
                str(len(part.get("seen") or ())),
                alarm,
                str(part.get("at"))[:10],
            ]
        )
    columns = [kind, "rows", metric, "lower", "upper", "truth", "runs", "alarm", "estimated"]
    title = f"The newest estimate of each {kind}{'' if share else f', {metric}'}"
    grid = Grid.used(
        title,
        columns,
        rows,
        {5, 7},
        noun=kind,
        few=range(max(len(rows) - _MOST_PARTS, 0), len(rows)),
        across="column",
        marked=frozenset(marked),
    )
    return replace(grid, main=range(len(grid.columns) - 1))


def _runs_grid(runs: Sequence[Plain]) -> Grid:
    rows = []
    for run in runs:
        number = f"{run['number']}" + (
            "" if run.get("repeats") is None else f" (as {run['repeats']})"
        )
        words = (str(run.get(name) or "") for name in ("trust", "diagnosis", "version", "target"))
        counts = [str(run.get(name) or "") for name in ("alarms", "new")] + [
            str(run.get("exit_code"))
        ]
        rows.append([number, _when(run), cell(run.get("rows")), *cells_of(run), *counts, *words])
    columns = ["run", "when (UTC)", "rows", "accuracy", "lower", "upper", "alarms", "new", "exit"]
    columns += ["trust", "shift", "version", "target"]
    few = range(max(len(rows) - _MOST_RUNS, 0), len(rows))
    return Grid(
        f"{counted(len(runs), 'run')}",
        columns,
        rows,
        noun="run",
        few=few,
        main=range(9),
        across="column",
    )
