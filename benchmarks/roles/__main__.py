"""Asks about every table of the bed as a user would: `python -m benchmarks.roles`.

What is right is computed by plain numpy from the arrays that the tables are made of.
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from benchmarks.kit import Result, command, joined
from benchmarks.kit import table as as_table

from .base import Table
from .catalogue import tables
from .judging import CLOSE, Verdict, judge_at


def chosen(words: list[str]) -> list[int]:
    """Places of the tables whose tool, name or trap contains one of the words; all without a word."""

    def fits(table: Table) -> bool:
        text = f"{table.tool} {table.name} {table.trap}".lower()
        return not words or any(word.lower() in text for word in words)

    return [place for place, table in enumerate(tables()) if fits(table)]


def measure(given: argparse.Namespace) -> Result:
    places = chosen(given.only)
    if given.workers > 1:
        with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
            rows = list(pool.map(judge_at, places, chunksize=4))
    else:
        rows = [judge_at(place) for place in places]
    wrong = sum(bool(row.silent) for row in rows)
    limits = [
        {
            "name": "tables with a wrong number and no word of it, in any form",
            "most": 0,
            "found": wrong,
            "holds": not wrong,
        }
    ]
    return {"tables": len(rows), "limits": limits, "rows": [row.to_dict() for row in rows]}


def _numbers(numbers: dict[str, float | None]) -> str:
    """Accuracy and ROC AUC, and other numbers with their names."""
    usual = [numbers.get("accuracy"), numbers.get("roc_auc")]
    text = " / ".join("-" if value is None else f"{value:.4f}" for value in usual)
    return text + "".join(
        f", {name} {numbers[name]:.4f}" for name in numbers if name in ("truth", "mean_score")
    )


def _line(row: dict[str, Any]) -> list[str]:
    forms = row["apart"] or "the same"
    name = row["name"].replace("<", "&lt;")
    return [row["tool"], name, row["trap"] or "-", row["verdict"], _numbers(row["right"]), _numbers(row["numbers"]),
        forms]  # fmt: skip


def page(result: Result) -> str:
    rows: list[dict[str, Any]] = result["rows"]
    counts = {
        kind: Counter(row["verdict"] for row in rows if bool(row["trap"]) == kind)
        for kind in (False, True)
    }
    totals = [
        [str(verdict), *(str(counts[kind][verdict]) for kind in (False, True))]
        for verdict in Verdict
        if any(counts[kind][verdict] for kind in (False, True))
    ]
    tools = len({row["tool"] for row in rows})
    apart = sum(bool(row["apart"]) for row in rows)
    lines = [
        "# Is each column read as what it is?",
        "",
        f"Made by `python -m benchmarks.roles`: {len(rows)} tables as {tools} tools write them, asked about by the "
        "bare command, and where that is refused, by the command that it prints. A number is wrong that differs by "
        f"more than {CLOSE} from the right one, or that no such table can give, where no line names the cause. A ROC "
        "AUC that is not said is no fault.",
        "",
        *as_table(["verdict (CSV)", "plain tables", "tables with a trap"], totals),
        f"In {apart} tables another form (Parquet, JSONL, a pandas frame) comes out otherwise than CSV.",
        "",
        "## Table by table: accuracy / ROC AUC",
        "",
        *as_table(["tool", "table", "trap", "verdict (CSV)", "right", "came", "other forms"],
            [_line(row) for row in rows], "llllrrl"),
        "## What was said where the number is wrong",
        "",
    ]  # fmt: skip
    for row in rows:
        said = " ".join(row["said"].split())[-400:] or "nothing"
        if row["form"] in row["silent"]:
            lines += [f"- **{row['tool']}, {row['name']}** (`{row['asked']}`): {said}"]
        elif row["silent"]:
            lines += [f"- **{row['tool']}, {row['name']}**, in {', '.join(row['silent'])} alone"]
    return joined(lines)


def main() -> int:
    return command(
        __doc__,
        "roles",
        measure,
        page,
        only={
            "action": "append",
            "default": [],
            "help": "tables whose tool, name or trap contains this",
        },
        workers=(2, "processes"),
    )


if __name__ == "__main__":
    raise SystemExit(main())
