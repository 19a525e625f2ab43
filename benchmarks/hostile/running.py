"""Runs a call in this process or one of its own, and judges what came by what must come."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import pty
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from select import select as select_ready
from typing import Any

from benchmarks.kit import argv

from .base import (
    DIFFERENT,
    DONE,
    FAILED,
    HANG,
    REFUSED,
    SAME,
    SILENT,
    STOPPED,
    TRACEBACK,
    WARNED,
    Call,
    Outcome,
    Trial,
)


def perform(call: Call) -> Outcome:
    """Run a call and say what came, before it is judged."""
    start = time.perf_counter()
    if call.process:
        assert not callable(call.run)
        found = _in_process_of_its_own(call)
    elif callable(call.run):
        found = _library(call.run)
    else:
        found = _command(list(call.run))
    found.seconds = time.perf_counter() - start
    return found


def _command(arguments: list[str]) -> Outcome:
    from oodometer.cli import main

    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(record=True) as said, argv(arguments):
        warnings.simplefilter("always")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(arguments)
            except BaseException:
                return Outcome(TRACEBACK, 1, traceback.format_exc().strip().splitlines()[-1])
    text = err.getvalue() + "".join(f"warning: {w.message}\n" for w in said)
    return _told(code, out.getvalue(), text, arguments)


def _library(run: Callable[[], Any]) -> Outcome:
    from oodometer import OodometerError

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("error")
        warnings.filterwarnings(
            "always", category=UserWarning
        )  # ours; those of libraries beneath are faults
        try:
            found = run()
        except OodometerError as error:
            return Outcome(REFUSED if error.exit_code == 2 else FAILED, error.exit_code, str(error))
        except BaseException:
            return Outcome(TRACEBACK, None, traceback.format_exc().strip().splitlines()[-1])
    told = "".join(f"warning: {one.message}\n" for one in said)
    return Outcome(DONE, 0, told, found if isinstance(found, dict) else found.to_dict())


def _in_process_of_its_own(call: Call) -> Outcome:
    arguments = [str(word) for word in call.run]  # type: ignore[union-attr]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **call.env}
    command = [sys.executable, "-m", "oodometer", *arguments]
    if call.terminal:
        # run a command on a terminal of its own; what it writes there is the outcome's ``stdout``
        master, slave = pty.openpty()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
            env={**os.environ, "COLUMNS": "200", "TERM": "xterm"})  # fmt: skip
        os.close(slave)
        seen, end = b"", time.monotonic() + call.seconds
        while time.monotonic() < end:
            ready, _, _ = select_ready([master], [], [], 0.2)
            try:
                more = os.read(master, 65536) if ready else b""
            except OSError:  # the other side has closed
                break
            seen += more
            if not more and process.poll() is not None:
                break
        else:
            process.kill()
            return Outcome(HANG, None, f"no answer in {call.seconds:.0f} s")
        os.close(master)
        code = process.wait()
        text = seen.decode(errors="replace")
        kind = (
            REFUSED
            if code == 2
            else DONE
            if code == 0
            else TRACEBACK
            if "Traceback (" in text
            else FAILED
        )
        return Outcome(kind, code, "", stdout=text)
    if call.memory:
        command = ["prlimit", f"--as={call.memory << 20}", *command]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL if call.stdin is None else pipe,
        stdout=pipe,
        stderr=pipe,
        env=environment,
    )
    try:
        if call.send is not None:
            assert process.stdin is not None
            process.stdin.write(
                call.stdin or b""
            )  # the pipe stays open: the program waits for more
            process.stdin.flush()
            end = time.monotonic() + call.seconds / 2
            while (
                call.send_when is not None
                and not any(call.send_when.iterdir())
                and time.monotonic() < end
            ):
                time.sleep(0.1)
            time.sleep(0.5)
            process.send_signal(call.send)
            process.wait(call.seconds)
            out, err = process.communicate()
            return replace(_told(process.returncode, out.decode(), err.decode(), []), kind=STOPPED)
        out, err = process.communicate(call.stdin, timeout=call.seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Outcome(HANG, None, f"no answer in {call.seconds:.0f} s")
    return _told(
        process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), arguments
    )


def _told(code: int, out: str, err: str, arguments: list[str]) -> Outcome:
    """The outcome of a command from its exit code and what it printed and wrote."""
    lines = [line for line in err.splitlines() if line.strip()]
    message = lines[-1].removeprefix("oodometer: ") if lines else ""
    found = Outcome(DONE, code, message, stdout=out, stderr=err)
    if "Traceback (most recent call last)" in err or message.startswith("unexpected "):
        found.kind = TRACEBACK
    elif code == 2:
        found.kind = REFUSED
        if len(lines) != 1:
            found.complaint = f"{len(lines)} lines on standard error"
    elif code not in (0, 3):
        found.kind = FAILED
    elif "--json" in arguments[:-1]:
        where = arguments[
            len(arguments) - arguments[::-1].index("--json")
        ]  # of two, the last counts
        try:
            found.answer = json.loads(
                out if where == "-" else Path(where).read_text(encoding="utf-8")
            )
            found.message = ""
        except (OSError, ValueError) as error:
            found.complaint = f"no JSON was written: {error}"
    return found


def warnings_of(answer: Any) -> list[str]:
    """The warnings that an answer carries, those of its trust among them."""
    return [str(w) for w in (answer or {}).get("warnings", ())]


def numbers_of(answer: Any) -> dict[str, float]:
    """The numbers of an answer by their place in it, without texts, times and what names files."""
    out: dict[str, float] = {}

    def walk(value: Any, place: str) -> None:
        if isinstance(value, int | float):
            out[place] = float(value)
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                if key not in (
                    "seconds",
                    "energy",
                    "argv",
                    "version",
                    "diagnosis",
                    "figures",
                    "warnings",
                    "time",
                    "details",
                ):
                    walk(inner, f"{place}.{key}")
        elif isinstance(value, list | tuple) and len(value) < 1000:
            for i, inner in enumerate(value):
                name = inner.get("method", i) if isinstance(inner, Mapping) else i
                walk(inner, f"{place}.{name}")

    core = ("reference", "target", "headline", "estimates", "rows", "metrics", "estimate", "label_only", "labels",
        "slices", "chunks", "backtest", "models", "truth", "accuracy")  # fmt: skip
    for key in core:
        if key in (answer or {}):
            walk(answer[key], key)
    return out


def difference(one: Any, other: Any, close: float) -> str:
    """The first number in which two answers differ, or nothing."""
    first, second = numbers_of(one), numbers_of(other)
    if not first:
        return "no numbers in the answer"
    for place in sorted(first.keys() | second.keys()):
        a, b = first.get(place), second.get(place)
        if a is None or b is None:
            return f"{place}: {a} for {b}"
        if not math.isclose(a, b, rel_tol=close, abs_tol=close):
            return f"{place}: {a:.6g} for {b:.6g}"
    return ""


def judged(trial: Trial, call: Call, found: Outcome, clean: Outcome | None) -> Outcome:
    """Set what happened against what must happen: ``kind`` becomes the outcome, ``complaint`` says what is wrong."""
    if found.kind == REFUSED and any(word not in found.message for word in trial.words):
        found.complaint = (
            found.complaint
            or f"the message lacks {[w for w in trial.words if w not in found.message]}"
        )
    elif found.kind == DONE:
        _judge_answer(trial, call, found, clean)
    if found.kind not in trial.must:
        found.complaint = found.complaint or f"must be {' or '.join(trial.must)}"
    if not found.complaint and call.check is not None:
        found.complaint = call.check(found) or ""
    return found


def _judge_answer(trial: Trial, call: Call, found: Outcome, clean: Outcome | None) -> None:
    said = [
        w
        for w in warnings_of(found.answer)
        if trial.words and all(word in w for word in trial.words)
    ]
    if trial.must == (REFUSED,):
        found.kind, found.complaint = "accepted", f"must be {REFUSED}"
        return
    if DONE in trial.must:
        return
    wrong = ""
    if clean is not None:
        wrong = (
            difference(found.answer, clean.answer, call.close)
            if clean.kind == DONE
            else f"clean: {clean.message}"
        )
    if wrong and not (WARNED in trial.must and said):
        found.kind, found.complaint = DIFFERENT, wrong
    elif WARNED in trial.must and trial.words and said:
        found.kind, found.message = WARNED, said[0]
    elif SAME in trial.must:
        found.kind = SAME
    else:
        found.kind, found.complaint = SILENT, f"no warning with {trial.words}"
