"""Runs every class of hostile input, judges what came, and writes the table of its page."""

from __future__ import annotations

import importlib
import itertools
import json
import multiprocessing
import os
import re
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .base import REFUSED, TRACEBACK, TRIALS, Call, Kit, Outcome, Trial
from .remedies import command_of, not_carried_out, wrong_options
from .running import judged, perform

PAGE = Path(__file__).parents[2] / "benchmarks" / "results" / "bad_input.md"
# Where the classes stand; the order is that of the table.
ROOMS = (
    "numbers", "candidates", "texts", "binaries", "memory",
    "calls", "folders", "stores", "labels",
    "world")  # fmt: skip
BEGIN, END = "<!-- hostile: begin -->", "<!-- hostile: end -->"


@dataclass(frozen=True)
class Row:
    """A class with what came of each of its forms."""

    trial: Trial
    outcomes: dict[str, Outcome]

    @property
    def faults(self) -> dict[str, str]:
        """Forms in which it did not do what it must, with the reason."""
        return {form: found.complaint for form, found in self.outcomes.items() if found.complaint}


def load() -> list[Trial]:
    """Every class, in the order of the table."""
    for name in ROOMS:
        importlib.import_module(f"{__package__}.{name}")
    groups = list(dict.fromkeys(trial.group for trial in TRIALS))
    TRIALS.sort(key=lambda trial: groups.index(trial.group))
    return TRIALS


def run(
    only: Callable[[Trial], bool] = lambda trial: True,
    say: Callable[[Row], None] = lambda row: None,
    workers: int = 2,
) -> list[Row]:
    """Run the classes in some processes; one that a class brings down is named."""
    chosen = [i for i, trial in enumerate(load()) if only(trial)]
    root = Path(tempfile.mkdtemp(prefix="oodometer-hostile-"))
    rows = []
    try:
        with ProcessPoolExecutor(
            workers, multiprocessing.get_context("spawn"), _begin, (str(root),)
        ) as pool:
            for i, found in zip(chosen, pool.map(_try, chosen), strict=True):
                rows.append(Row(TRIALS[i], found))
                say(rows[-1])
        return rows
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _begin(root: str) -> None:
    """Set a worker up: no cache of the user's, one thread, a folder of its own to stand in."""
    os.environ["OODOMETER_CACHE"] = ""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    here = Path(root) / str(os.getpid())
    here.mkdir()
    os.chdir(here)
    load()


def _try(i: int) -> dict[str, Outcome]:
    trial, root, found = TRIALS[i], Path.cwd(), {}
    for form in trial.forms:
        kit = Kit(
            root / f"{i}-{re.sub(r'[^a-z0-9]', '', form)}",
            root / "clean",
            quick=form != trial.forms[0],
        )
        try:
            call = trial.make(kit, form)
            outcome = judged(trial, call, perform(call), _clean(call))
            outcome.complaint = outcome.complaint or _misled(call, outcome)
        except Exception:  # a class that cannot be tried is a fault of its own, and the others are tried all the same
            outcome = Outcome(
                "NOT TRIED", complaint=traceback.format_exc().strip().splitlines()[-1]
            )
        message = outcome.message
        message = message.replace(f"{Path(__file__).parents[2]}/", "")
        outcome.message = re.sub(rf"{re.escape(str(root))}/(\d+-[a-z0-9]*|clean)/?", "", message)
        outcome.answer, outcome.stdout = None, ""
        found[form] = outcome
    return found


def _misled(call: Call, outcome: Outcome) -> str:
    """A complaint where a message names options that its command lacks, or a remedy that leads to the same message."""
    if outcome.kind != REFUSED or callable(call.run) or call.process:
        return ""
    words = list(map(str, call.run))
    if wrong := wrong_options(outcome.message, words):
        return f"the message names {', '.join(wrong)}, which {command_of(words)} lacks"

    def again(arguments: list[str]) -> tuple[int, str]:
        second = perform(Call(arguments))
        return (
            (second.code or 0, second.message) if second.kind != TRACEBACK else (1, second.message)
        )

    faults = not_carried_out(outcome.message, words, again)
    return f"a remedy that does not help: {faults[0]}" if faults else ""


_KNOWN: dict[tuple[str, ...], Outcome] = {}


def _clean(call: Call) -> Outcome | None:
    """What the clean call gives; calls that are the same but for their output run once."""
    if call.clean is None:
        return None
    key = call.clean.key
    if not callable(call.clean.run):
        words = list(call.clean.run)
        key = tuple(w for w, before in zip(words, ["", *words], strict=False) if before != "--json")
    if not key:
        return perform(call.clean)
    if key not in _KNOWN:
        _KNOWN[key] = perform(call.clean)
    return _KNOWN[key]


def markdown(rows: Iterable[Row]) -> str:
    """The table of the guide, one for each group."""
    out = []
    for group, members in itertools.groupby(rows, key=lambda row: row.trial.group):
        out += [
            f"### {group}",
            "",
            "| class | for example | what happens | exit code | message |",
            "|---|---|---|---|---|",
        ]
        out += [f"| {' | '.join(cells(row))} |" for row in members] + [""]
    return "\n".join(out)


def cells(row: Row) -> list[str]:
    """One line of the table: class, example, what happens, exit code and message of the first form."""
    first = next(iter(row.outcomes.values()))
    kinds = list(dict.fromkeys(o.kind for o in row.outcomes.values()))
    forms = ", ".join(f for f in row.outcomes if f and f not in ("library", "process"))
    name = row.trial.name + (f" ({forms})" if forms else "")
    codes = list(
        dict.fromkeys("" if o.code is None else str(o.code) for o in row.outcomes.values())
    )
    happens = " or ".join(kinds)
    if row.faults:
        happens = f"**not as it must be**: {happens}"
    return [
        _cell(name),
        _cell(row.trial.came),
        happens,
        ", ".join(codes),
        _cell(first.message, 240),
    ]


def _cell(text: str, most: int = 400) -> str:
    text = " ".join(re.sub(r"[\x00-\x1f\x7f]", "?", text).split())
    text = text[: most - 4] + " ..." if len(text) > most else text
    return text.replace("|", "\\|").replace("<", "&lt;")


def summary(rows: list[Row]) -> str:
    """One line of counts."""
    calls = sum(len(row.outcomes) for row in rows)
    bad = sum(len(row.faults) for row in rows)
    return f"{len(rows)} classes, {calls} files and calls: {calls - bad} do what they must, {bad} do not"


def as_json(rows: list[Row]) -> list[dict[str, Any]]:
    """What a test needs to know of each class."""
    return [
        {
            "group": row.trial.group,
            "class": row.trial.name,
            "came": row.trial.came,
            "must": list(row.trial.must),
            "cells": cells(row),
            "faults": row.faults,
            "outcomes": {
                form: {
                    "kind": o.kind,
                    "code": o.code,
                    "message": o.message,
                    "seconds": round(o.seconds, 3),
                }
                for form, o in row.outcomes.items()
            },
        }
        for row in rows
    ]


def write_docs(rows: list[Row]) -> None:
    """Put the table between the markers of its page."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(
        f"{head}{BEGIN}\n{summary(rows)}.\n\n{markdown(rows)}{END}{tail}", encoding="utf-8"
    )


def main(words: list[str], docs: bool, json_file: str | None, workers: int = 2) -> int:
    def say(row: Row) -> None:
        for complaint in dict.fromkeys(row.faults.values()):
            forms = [form for form, said in row.faults.items() if said == complaint]
            found = row.outcomes[forms[0]]
            print(
                f"{row.trial.group}: {row.trial.name} ({', '.join(forms)}): {found.kind}, {complaint}"
                + (f" [{_cell(found.message, 160)}]" if found.message else ""),
                flush=True,
            )

    rows = run(
        lambda t: not words or any(w.lower() in f"{t.group}: {t.name}".lower() for w in words),
        say,
        workers,
    )
    print(summary(rows))
    if json_file:
        Path(json_file).write_text(
            json.dumps(as_json(rows), indent=1, ensure_ascii=False), encoding="utf-8"
        )
    if docs:
        write_docs(rows)
        print(f"wrote {PAGE}")
    return int(any(row.faults for row in rows))
