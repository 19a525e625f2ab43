"""The command `history`: past runs out of their store, as tables, JSON and a page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..options import option
from ..verbs.options import HistoryOptions
from . import output
from .commands import Written, command


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
    for one in found.jobs:
        output.show(one)


def _deliver_run(run: int, to: Written, store: str, **others: Any) -> None:
    """The result of one run, as the run itself would have written it."""
    from ..errors import UsageError
    from ..histories import kept_result, open_store

    if others:
        raise UsageError("--run names one run; leave out --job and --last")
    to = replace(to, json="-") if to.json is None and to.report is None else to
    to.deliver(kept_result(open_store(store), run))
