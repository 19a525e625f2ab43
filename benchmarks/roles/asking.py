"""Asks as a user would: the command without an option, then the one that is printed as a remedy."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shlex
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.kit import argv

from . import forms
from .base import Files

MOST_REMEDIES = 2  # one after another
Numbers = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came of one call: the exit code, all that was said, the numbers of the answer."""

    asked: str
    code: int
    said: str
    numbers: Numbers = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return self.code == 2

    @property
    def crashed(self) -> bool:
        return self.code not in (0, 2, 3)


def numbers_of(answer: Mapping[str, Any]) -> Numbers:
    """Accuracy, ROC AUC and a mean of scores of an evaluation; an estimate has those of its reference.

    An estimate that says what the accuracy on the target is, not what it may be, has it as ``truth``.
    """
    if "reference" in answer:
        found = {"accuracy": answer["reference"]["accuracy"]}
        truth = answer["target"]["accuracy"]
        return found if truth is None else {**found, "truth": truth["value"]}
    metrics = answer["metrics"]
    return {
        name: metrics[name]["value"]
        for name in ("accuracy", "roc_auc", "mean_score")
        if name in metrics
    }


def ask(files: Files, form: str, folder: Path) -> list[Reply]:
    """Every reply to the table in this form: the first, and those to the remedies that were printed."""
    return _ask_python(files) if form == forms.FRAME else _ask_command_line(files, form, folder)


# -------------------------------------------------------------------------------------------------- the command line


def _ask_command_line(files: Files, form: str, folder: Path) -> list[Reply]:
    words = _written(files, form, folder)
    with contextlib.chdir(folder):
        replies = [_run(words)]
        while replies[-1].refused and len(replies) <= MOST_REMEDIES:
            remedy = remedy_of(replies[-1].said, words)
            if remedy is None:
                break
            words = remedy
            replies.append(_run(words))
    return replies


def _written(files: Files, form: str, folder: Path) -> list[str]:
    """Write the files; the words of the command that a user types."""
    forms.put(folder / f"p.{form}", files.columns)
    if files.target is not None:
        forms.put(folder / f"t.{form}", files.target)
        return ["estimate", f"p.{form}", f"t.{form}"]
    if files.labels is not None:
        forms.put(folder / f"l.{form}", files.labels)
        return ["evaluate", f"p.{form}", "--labels", f"l.{form}"]
    return ["evaluate", f"p.{form}"]


_PRINTED = re.compile(
    r"(?:try|run|write|use): (oodometer [^\n`]+)|`(oodometer (?:evaluate|estimate) [^`]+)`"
)
_OPTIONS = re.compile(r"(?:the file has [^:]+: |join them by )(--(?:map|key) [^\n;`]+)")


def remedy_of(message: str, typed: list[str]) -> list[str] | None:
    """The words that the message tells to type: a whole command, or options for the one that was typed.

    None without words that can be typed as they stand, or where they were typed already.
    """
    printed, options = _PRINTED.search(message), _OPTIONS.search(message)
    try:
        if printed is not None:
            words = shlex.split(printed[1] or printed[2])[1:]
        elif options is not None:
            words = [*typed, *shlex.split(options[1])]
        else:
            return None
    except ValueError:
        return None
    words = [word for word in words if word not in ("--json", "-")]
    place = re.search(r", where ([A-Z]+) is ", message)
    is_open = any("<" in word or (place is not None and place[1] in word) for word in words)
    return None if is_open or len(words) < 2 or words == typed else words


def _run(words: list[str]) -> Reply:
    """One command in this process, through the entrance of the command line."""
    from oodometer.cli import main

    typed = [*words, "--json", "-"]
    out, err = io.StringIO(), io.StringIO()
    with (
        argv(typed),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("always")
        try:
            code = main(typed)
        except BaseException:
            return Reply(asked=shlex.join(words), code=1, said=traceback.format_exc())
    said, numbers = err.getvalue(), {}
    if code in (0, 3):
        answer = json.loads(out.getvalue())
        numbers, said = numbers_of(answer), "\n".join([said, *answer["warnings"]])
    return Reply(asked=shlex.join(words), code=code, said=said.strip(), numbers=numbers)


# ------------------------------------------------------------------------------------------------------------ Python


_ARGUMENT = re.compile(
    r'\b(mapping|positive|classes|key|threshold)=(\{[^}]*\}|\[[^]]*\]|"[^"]*"|[\d.]+)'
)


def _ask_python(files: Files) -> list[Reply]:
    given: dict[str, Any] = {}
    replies = [_call(files, given)]
    while replies[-1].refused and len(replies) <= MOST_REMEDIES:
        more = arguments_of(replies[-1].said)
        if not more or more == given:
            break
        given = {**given, **more}
        replies.append(_call(files, given))
    return replies


def arguments_of(message: str) -> dict[str, Any]:
    """The arguments that a message names with their values, without those that are a placeholder."""
    found = {name: ast.literal_eval(value) for name, value in _ARGUMENT.findall(message)}
    return {name: value for name, value in found.items() if "TRUTH" not in str(value)}


def _call(files: Files, given: Mapping[str, Any]) -> Reply:
    """One call of the library with pandas frames."""
    import oodometer

    table = forms.frame(files.columns)
    more = "".join(f", {name}={value!r}" for name, value in given.items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if files.target is not None:
                asked = f"estimate(table, target{more})"
                answer = oodometer.estimate(table, forms.frame(files.target), **given).to_dict()
            else:
                labels = None if files.labels is None else forms.frame(files.labels)
                asked = f"evaluate(table{', labels=labels' if files.labels else ''}{more})"
                answer = oodometer.evaluate(table, labels=labels, **given).to_dict()
        except oodometer.OodometerError as error:
            return Reply(asked=asked, code=error.exit_code, said=str(error))
        except Exception:
            return Reply(asked=asked, code=1, said=traceback.format_exc())
    return Reply(
        asked=asked, code=0, said="\n".join(answer["warnings"]), numbers=numbers_of(answer)
    )


def quiet_environment() -> None:
    """What a command reads of its surroundings: no colours, lines of one width."""
    os.environ.update(COLUMNS="200", NO_COLOR="1")
