"""Publish: the result of a run into this folder and into the README; ``python -m`` this file with the run's folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...store import write_atomic
from .findings import claims_of
from .markdown import markdown

__all__ = ["RESULTS", "publish", "with_tables"]

HOME = Path(__file__).parent
RESULTS = HOME / "results"
START, END = "<!-- tables: start -->", "<!-- tables: end -->"


def publish(run: Path) -> None:
    """Copy ``result.json`` of a run to ``results/<scale>.json``, write its tables there and into the README.

    ``run`` is the folder of the run, or a result itself: the claims are checked again, its numbers stay. Raises
    `InputError` where there is no finished run.
    """
    path = run / "result.json" if run.is_dir() else run
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            "the result of a finished run", got=type(error).__name__, remedy="run oodometer reproduce to its end",
            file=str(path),
        ) from error  # fmt: skip
    result["claims"] = claims_of(result)
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(result, indent=None, separators=(",", ":"), ensure_ascii=False)
    write_atomic(RESULTS / f"{result['scale']}.json", text.replace('{"name":', '\n{"name":') + "\n")
    write_atomic(RESULTS / f"{result['scale']}.md", markdown(result))
    if result["scale"] == "small":
        readme = HOME / "README.md"
        write_atomic(readme, with_tables(readme.read_text(encoding="utf-8"), result))


def with_tables(readme: str, result: Mapping[str, Any]) -> str:
    """The README with the tables of a result between its two marks.

    Raises `InputError` where the marks are not there.
    """
    head, start, rest = readme.partition(START)
    _, end, tail = rest.partition(END)
    if not (start and end):
        raise InputError(f"the marks {START} and {END}", got="none", remedy="put them back", file="README.md")
    return f"{head}{START}\n\n{markdown(result)}\n{END}{tail}"


if __name__ == "__main__":
    publish(Path(sys.argv[1]))
