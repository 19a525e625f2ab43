"""The command `history`: past runs out of their store, as tables, JSON and a page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..options import option
from ..results import percent
from ..results.estimation import number
from ..verbs.options import HistoryOptions
from . import output
from .commands import Written, command

if TYPE_CHECKING:
    from ..results.history import Job, PastAlarm, PastPart, PastRun


_MOST_RUNS = 12  # that are printed without -v, the newest
_MOST_PARTS = 30


class _History(HistoryOptions):
    """The options of `history`, and another result."""

    run: int | None = option(
        default=None,
        metavar="NUMBER",
        help="Instead, the whole result of this run, as --json (by default) or --report.",
    )


@command(_History, written=("json", "report"))
def history(given: dict[str, Any], to: Written) -> None:
    """Show past runs: how estimates changed, what came true, which alarms stand."""
    from ..verbs.history import history as read

    run = given.pop("run", None)
    if run is not None:
        _deliver_run(run, to, **given)
        return
    found = replace(read(**given), argv=output.command_line())
    if not to.deliver(found.to_dict()):
        return
    if not found.jobs:
        output.say(f"{found.store} holds no run yet; estimate adds one with --store {found.store}")
        return
    for one in found.jobs:
        _show(one)


def _deliver_run(run: int, to: Written, store: str, **others: Any) -> None:
    """The result of one run, as the run itself would have written it."""
    from ..errors import UsageError
    from ..histories import kept_result, open_store

    if others:
        raise UsageError("--run names one run; leave out --job and --last")
    to = replace(to, json="-") if to.json is None and to.report is None else to
    to.deliver(kept_result(open_store(store), run))


def _show(job: Job) -> None:
    """The runs of a job and the newest estimate of each part."""
    shown = job.runs if output.verbose() else job.runs[-_MOST_RUNS:]
    title = f"{job.name}: {len(job.runs)} run{'' if len(job.runs) == 1 else 's'}"
    columns = ["run", "when (UTC)", "rows", "accuracy", "lower", "upper", "alarms", "new", "exit"]
    output.print_table(columns, [_run(one) for one in shown], title)
    if len(shown) < len(job.runs):
        output.tell(f"{len(job.runs) - len(shown)} older runs are left out: -v")
    for metric in dict.fromkeys(one.metric for one in job.parts):
        _show_parts(job, metric)


def _run(one: PastRun) -> list[str]:
    ends = ["" if end is None else percent(end) for end in (one.value, one.lower, one.upper)]
    again = "" if one.repeats is None else f" (as {one.repeats})"
    alarms = [str(one.alarms) if one.alarms else "", str(one.new) if one.new else ""]
    rows = "" if one.rows is None else f"{one.rows:,}"
    return [f"{one.number}{again}", one.at[:16].replace("T", " "), rows, *ends, *alarms, str(one.exit_code)]


def _show_parts(job: Job, metric: str) -> None:
    """The newest estimate of each chunk or slice; of very many the last ones."""
    parts = job.of(job.cut, metric)
    shown = parts if output.verbose() else parts[-_MOST_PARTS:]
    rows = [_part(one) for one in shown]
    columns = [job.cut, "rows", metric, "lower", "upper", "truth", "runs", "alarm"]
    drop = {j for j in (5, 7) if not any(row[j] for row in rows)}
    kept = [j for j in range(len(columns)) if j not in drop]
    output.print_table([columns[j] for j in kept], [[row[j] for j in kept] for row in rows])
    if len(shown) < len(parts):
        output.tell(f"{len(parts) - len(shown)} older {job.cut}s are left out: -v")


def _part(one: PastPart) -> list[str]:
    seen, share = one.newest, one.metric == "accuracy"
    numbers = (seen.value, seen.lower, seen.upper, (one.truth or {}).get("value"))
    cells = ["" if n is None else percent(n) if share else number(n) for n in numbers]
    return [one.name, "" if seen.rows is None else f"{seen.rows:,}", *cells, str(len(one.seen)), _alarm(one.alarms)]


def _alarm(alarms: tuple[PastAlarm, ...]) -> str:
    """Since when a part fails a rule, or that it no longer does.

    >>> from ..results.history import PastAlarm
    >>> _alarm((PastAlarm("below", 0.93, 0.93, "2026-11-24T20:00:00+00:00", True),)), _alarm(())
    ('since 2026-11-24', '')
    """
    standing = sorted(str(one.since)[:10] for one in alarms if one.stands)
    if standing:
        return f"since {standing[0]}"
    return "ended" if alarms else ""
