"""The command `backtest`: a labelled file in, every method's error on simulated shifts out; it can be interrupted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..options import option
from ..verbs.options import BacktestOptions
from . import output
from .commands import Written, command, going_on


class _Backtest(BacktestOptions):
    """The options of `backtest`, and what a shell has for None."""

    no_cache: bool = option(default=False, help="Keep nothing, reuse nothing.", rare=True)


@command(_Backtest, written=("json", "report", "out"))
def backtest(given: dict[str, Any], to: Written) -> None:
    """Try every method on shifts simulated from a labelled reference."""
    from ..backtests.trials import cache_folder
    from ..verbs.backtest import backtest as run

    no_cache, run_folder = given.pop("no_cache"), given.get("run_folder")
    kept = Path(run_folder) if run_folder is not None else None if no_cache else cache_folder()
    count = _Count()
    with going_on(lambda: _last_words(count, kept)), output.progress_bar("backtesting", lines=True) as count.bar:
        found = run(**given, cache=None if no_cache else "auto", progress=count)
    found = replace(found, argv=output.command_line())
    if to.deliver(found.to_dict(), found):
        output.show(found)


class _Count:
    """Remembers how far the work came, and tells the bar where there is one."""

    def __init__(self) -> None:
        self.bar: Callable[[int, int], None] | None = None
        self.done, self.total = 0, 0

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        if self.bar is not None:
            self.bar(done, total)


def _last_words(count: _Count, kept: Path | None) -> str:
    if not count.done or kept is None or not any((kept / one).is_dir() for one in ("backtests", "parts")):
        return "nothing was written"
    return (
        f" after {count.done} of {count.total} trials, which are kept in {kept}; "
        "run the same command again and it goes on from there"
    )
