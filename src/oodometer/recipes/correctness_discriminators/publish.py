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
from .tasks import tasks_of

__all__ = ["RESULTS", "merged", "publish", "with_tables"]

HOME = Path(__file__).parent
RESULTS = HOME / "results"
START, END = "<!-- tables: start -->", "<!-- tables: end -->"


def publish(run: Path) -> None:
    """Put the finished tasks of a run's ``result.json`` into ``results/<scale>.json``, its tables and the README.

    Tasks that the run does not have stay as they were. Raises `InputError` where the folder holds no finished task.
    """
    path = run / "result.json"
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        result = {"tasks": {}, "why": type(error).__name__}
    if not result["tasks"]:
        raise InputError(
            "the result of a finished task", got=result.get("why", "none"), file=str(path),
            remedy="run oodometer reproduce correctness-discriminators --task ... to its end",
        )  # fmt: skip
    RESULTS.mkdir(exist_ok=True)
    home = RESULTS / f"{result['scale']}.json"
    if home.is_file():
        result = merged(json.loads(home.read_text(encoding="utf-8")), result)
    text = json.dumps(result, separators=(",", ":"), ensure_ascii=False)
    write_atomic(home, text.replace('{"form":', '\n{"form":').lstrip() + "\n")
    write_atomic(RESULTS / f"{result['scale']}.md", markdown(result))
    if result["scale"] == "small":
        readme = HOME / "README.md"
        write_atomic(readme, with_tables(readme.read_text(encoding="utf-8"), result))


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The new result with those tasks of an old one of the same form that it lacks; claims are checked again."""
    kept = old["tasks"] if old["form"] == new["form"] else {}
    both = {**kept, **new["tasks"]}
    names = [task.name for task in tasks_of(new["scale"])]
    result = {**new, "tasks": {name: both[name] for name in names if name in both}}
    result["missing"] = [name for name in names if name not in both]
    result["claims"] = claims_of(result)
    return result


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
