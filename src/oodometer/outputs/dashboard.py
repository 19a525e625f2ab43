"""Dashboard: past runs as a static folder: an index of jobs, a page each, a file for Prometheus, a JSON line a run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ..errors import UsageError, WorkError
from ..plain import Plain
from ..reports.page import render, render_jobs
from ..results.history import History, Job, newest_finished, told_parts
from ..store import write_atomic

INDEX, METRICS, LINES = "index.html", "metrics.prom", "runs.jsonl"
_TRUST = {"none": 0, "low": 1, "high": 2}


def write_dashboard(history: History, folder: str | Path) -> list[Path]:
    """Write a folder that a web server or a share can show as it is, and that a cron job fills again; the paths.

    history : past runs. folder : made where it is not there; files of these names in it are replaced, each whole, the
    index last.

    Raises `UsageError` where ``folder`` is a file or its parent is missing, `MissingExtraError` without the libraries
    of the extra ``report``, `WorkError` where it cannot be written.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"cannot write {folder}: it is a file; name a folder")
    if not folder.resolve().parent.is_dir():
        raise UsageError(
            f"cannot write {folder}: there is no folder {folder.parent}; make it first"
        )
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise WorkError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    names = file_names([job.name for job in history.jobs])
    contents = {
        name: render(replace(history, jobs=(job,)).to_dict())
        for name, job in zip(names, history.jobs, strict=True)
    }
    contents |= {METRICS: prometheus_text(history), LINES: run_lines(history)}
    contents[INDEX] = render_jobs(history.to_dict(), names)
    return [write_atomic(folder / name, text) for name, text in contents.items()]


def file_names(jobs: list[str]) -> list[str]:
    """The name of the page of each job, all different.

    >>> file_names(["shop", "a/b", "a b"])
    ['job-shop.html', 'job-a-b.html', 'job-a-b-2.html']
    """
    taken: dict[str, int] = {}
    out = []
    for job in jobs:
        stem = re.sub(r"[^\w.-]+", "-", job)[:80]
        taken[stem.lower()] = count = taken.get(stem.lower(), 0) + 1
        out.append(f"job-{stem}{'' if count == 1 else f'-{count}'}.html")
    return out


def run_lines(history: History) -> str:
    """Every run as a line of JSON, job by job, oldest first."""
    lines = (
        json.dumps({"job": job.name, **run.to_dict()}, ensure_ascii=False, allow_nan=False)
        for job in history.jobs
        for run in job.runs
    )
    return "".join(f"{line}\n" for line in lines)


def prometheus_text(history: History) -> str:
    """What stands of each job, as Prometheus reads it (text format 0.0.4); rates are fractions.

    >>> print(prometheus_text(History("runs.sqlite", ())), end="")
    """
    blocks = []
    for name, (help_text, value) in _GAUGES.items():
        samples = [
            f'{name}{{job="{_escaped(job.name)}"}} {number!r}'
            for job in history.jobs
            if job.runs and (number := value(job)) is not None
        ]
        if samples:
            blocks += [f"# HELP {name} {help_text}", f"# TYPE {name} gauge", *samples]
    return "".join(f"{line}\n" for line in blocks)


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(job: Job) -> Plain:
    """The last finished chunk, or the newest run."""
    chosen: Plain = newest_finished(
        told_parts(job.to_dict()) or [run.to_dict() for run in job.runs]
    )
    return chosen


def _of(name: str) -> Callable[[Job], float | None]:
    return lambda job: _number(job).get(name)


def _standing(job: Job) -> float:
    """How many parts have an alarm that stands."""
    return float(len({part.part for part in job.parts if part.standing}))


def _ended(job: Job) -> float:
    """Seconds since 1970 of the newest run."""
    when = datetime.fromisoformat(job.runs[-1].at)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _trust(job: Job) -> float | None:
    return _TRUST.get(str(_number(job).get("trust")))


def _reference(job: Job) -> float | None:
    return job.runs[-1].reference_accuracy


_GAUGES: dict[str, tuple[str, Callable[[Job], float | None]]] = {
    "oodometer_accuracy": (
        "Estimated accuracy of the last finished chunk, or of the newest run.",
        _of("value"),
    ),
    "oodometer_accuracy_lower": ("Lower end of its interval.", _of("lower")),
    "oodometer_accuracy_upper": ("Upper end of its interval.", _of("upper")),
    "oodometer_trust": ("How far to trust it: 2 high, 1 low, 0 none.", _trust),
    "oodometer_reference_accuracy": ("Accuracy on the reference.", _reference),
    "oodometer_alarms_standing": ("Parts with an alarm that stands.", _standing),
    "oodometer_last_run_timestamp_seconds": ("When the newest run ended.", _ended),
}
"""Name of each gauge -> what it says, and its value of a job; None where it is not known."""
