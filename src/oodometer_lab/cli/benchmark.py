"""The command `benchmark`: an estimator or a ranker of one's own beside all shipped ones, on natural shifts."""

from __future__ import annotations

from typing import Any

from oodometer.cli import output
from oodometer.cli.commands import Written, command

from ..verbs.options import BenchmarkOptions


@command(BenchmarkOptions, written=("json", "report", "out"))
def benchmark(options: dict[str, Any], to: Written) -> None:
    """Set your own estimator or ranker beside all others on natural shifts."""
    from ..benchmarks import natural, natural_rankers
    from ..benchmarks.natural_rankers import are_rankers

    ask = natural_rankers if are_rankers(options["estimators"]) else natural
    with output.results(), output.progress_bar("asking", lines=True) as progress:
        result = ask(**options, argv=output.command_line(), progress=progress)
        delivered = to.deliver(result.to_dict(), result)
    if delivered:
        output.show(result)
