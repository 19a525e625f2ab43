"""The command `history`: past runs out of their store, and runs of long commands: tables, JSON and a page."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from ..errors import UsageError
from ..options import argument, option
from ..verbs.options import HistoryOptions
from . import output
from .commands import Written, command

_DATA = ("target", "predictions", "data", "examples", "models", "outputs", "pairs", "paper", "reference")


class _History(HistoryOptions):
    """The options of `history`, where a folder may stand in the place of a store, and another result."""

    store: Any = argument(kw_only=False, default=None, path="read", metavar="STORE", many=True,
        help="A store of past runs: a file, or postgresql://user@host/database; estimate --store fills it. Or folders "
        "of runs of long commands, or that hold some; by default this one.")  # fmt: skip
    run: int | None = option(default=None, metavar="NUMBER",
        help="Instead, the whole result of this run, as --json (by default) or --report.")  # fmt: skip


@command(_History, written=("json", "report"))
def history(given: dict[str, Any], to: Written) -> None:
    """Show past runs: how estimates changed, what came true, which alarms stand; or how far long commands came."""
    from ..histories import kept_result, open_store
    from ..verbs.history import history as read
    from ..verbs.history import runs as list_runs

    stores, run = given.pop("store", None) or ["."], given.pop("run", None)
    if all(os.path.isdir(store) for store in stores):
        if given or run is not None or to.report is not None:
            raise UsageError("runs of long commands have no --job, --last, --run and --report; leave them out")
        result = list_runs(stores)
        if not to.deliver(result.to_dict()):
            return
        if not result.runs:
            made = "estimate --run-folder FOLDER makes one, and so do reproduce, stress, predict and the like"
            output.say(f"no run here; {made}")
            return
        rows = []
        for listed in result.runs:
            began = listed.began.replace("+00:00", "").replace("T", " ")
            data = next(filter(None, map(listed.about.get, _DATA)), "")
            row = [listed.folder, listed.verb, listed.status, f"{listed.done} of {listed.parts or '?'}"]
            rows.append([*row, str(listed.read), began, os.path.basename(data.rstrip("/"))])
        heads = ["folder", "command", "status", "parts done", "read", "began (UTC)", "target"]
        output.print_table(heads, rows, "Runs")
        output.say(*(f"{listed.folder}: {listed.why}" for listed in result.runs if listed.why))
        return
    if len(stores) > 1:
        raise UsageError(f"expected one store, or folders, got {' and '.join(stores)}")
    if run is not None:  # as the run itself would have written it
        if given:
            raise UsageError("--run names one run; leave out --job and --last")
        to = replace(to, json="-") if to.json is None and to.report is None else to
        to.deliver(kept_result(open_store(stores[0]), run))
        return
    past = replace(read(stores[0], **given), argv=output.command_line())
    if not to.deliver(past.to_dict()):
        return
    if not past.jobs:
        output.say(f"{past.store} holds no run yet; estimate adds one with --store {past.store}")
    for job in past.jobs:
        output.show(job)
