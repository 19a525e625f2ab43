"""History: the page of past runs in words and tables, job by job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..results.values import counted
from .charts import over_time
from .charts.base import Figure, Result
from .numbers import finite, number, percent, percent_range

MOST_ROWS = 200  # of each table; the newest stay
MOST_JOBS = 20


def _jobs(result: Result) -> list[dict[str, Any]]:
    return [dict(one) for one in (result.get("jobs") or [])[:MOST_JOBS] if one.get("runs")]


def figures(result: Result) -> list[Figure | None]:
    """All charts, job by job."""
    out: list[Figure | None] = []
    for index, job in enumerate(_jobs(result)):
        large, small = over_time.history(job, index)
        out += [large, *small]
    return out


def context(result: Result) -> dict[str, Any]:
    """Names for the template."""
    told = [_job(job, index) for index, job in enumerate(_jobs(result))]
    return {"history_jobs": told, "more_jobs": max(len(result.get("jobs") or []) - MOST_JOBS, 0)}


def _job(job: Result, index: int) -> dict[str, Any]:
    large, small = over_time.history(job, index)
    kind, runs = over_time.cut_of(job), [dict(one) for one in job["runs"]]
    parts = [dict(one) for one in job.get("parts") or [] if one.get("kind") == kind]
    metrics = list(dict.fromkeys(str(one.get("metric")) for one in parts))
    standing = {one.get("part") for one in parts if any(a.get("stands") for a in one.get("alarms") or [])}
    return {
        "name": job.get("job"),
        "sentence": sentence(job),
        "raised": bool(standing),
        "kind": kind,
        "large": None if large is None else large.name,
        "small": small,
        "left": max(sum(len(one.get("seen") or []) > 1 for one in over_time.shown_parts(job)) - len(small), 0)
        if small
        else 0,
        "runs": [_run(one) for one in reversed(runs[-MOST_ROWS:])],
        "more_runs": max(len(runs) - MOST_ROWS, 0),
        "metrics": metrics if len(metrics) > 1 else [],
        "parts": [_part(one) for one in parts[-MOST_ROWS:]],
        "more_parts": max(len(parts) - MOST_ROWS, 0),
        "with_truth": any(one.get("truth") for one in parts),
        "with_alarms": any(one.get("alarms") for one in parts),
    }


def sentence(job: Result) -> str:
    """What the newest run said, when it was, and which alarms stand.

    >>> run = {"number": 3, "at": "2026-11-24T05:15:00+00:00", "value": 0.9, "lower": 0.8, "upper": 0.95, "rows": 1500}
    >>> sentence({"runs": [run], "parts": []}).replace("\N{NO-BREAK SPACE}", " ")
    'The newest of 1 run, of 2026-11-24 05:15 UTC, estimates 90.0 % (80.0–95.0 %) on 1,500 rows. No alarm stands.'
    """
    runs = job["runs"]
    last = runs[-1]
    text = f"The newest of {counted(len(runs), 'run')}, of {str(last.get('at'))[:16].replace('T', ' ')} UTC, estimates "
    text += f"{percent(last.get('value'))} ({percent_range(last.get('lower'), last.get('upper'))})"
    text += f" on {last['rows']:,} rows" if last.get("rows") else ""
    names = []
    for one in job.get("parts") or []:
        if any(alarm.get("stands") for alarm in one.get("alarms") or []) and one.get("name") not in names:
            names.append(str(one.get("name")))
    if not names:
        return f"{text}. No alarm stands."
    shown = ", ".join(names[-6:])
    many = "An alarm stands" if len(names) == 1 else f"{len(names)} alarms stand"
    return f"{text}. {many}: {f'{len(names) - 6} older and ' if len(names) > 6 else ''}{shown}."


def _run(one: Result) -> dict[str, Any]:
    """A run as the table shows it."""
    return {**one, "when": str(one.get("at"))[:16].replace("T", " ")}


def _part(one: Result) -> dict[str, Any]:
    """A part as the table shows it: accuracies in percent, other metrics with their decimals."""
    share = one.get("metric") == "accuracy"
    truth: Mapping[str, Any] = one.get("truth") or {}
    said = percent if share else number
    shown = {name: "" if finite(one.get(name)) is None else said(one[name]) for name in ("value", "lower", "upper")}
    ends = percent_range(one.get("lower"), one.get("upper")) if share else f"{shown['lower']} to {shown['upper']}"
    alarms = one.get("alarms") or []
    standing = sorted(str(alarm.get("since"))[:10] for alarm in alarms if alarm.get("stands"))
    return {
        "name": one.get("name"),
        "metric": one.get("metric"),
        "rows": one.get("rows"),
        "value": shown["value"],
        "range": ends if shown["lower"] else "",
        "truth": "" if finite(truth.get("value")) is None else said(truth["value"]),
        "runs": len(one.get("seen") or []),
        "at": str(one.get("at"))[:10],
        "alarm": f"since {standing[0]}" if standing else "ended" if alarms else "",
        "stands": bool(standing),
    }
