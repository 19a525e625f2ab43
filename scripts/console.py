"""Samples of the documents: run the commands of a page again and write what they print, or say where it has changed.

    python scripts/console.py                    # write every page anew
    python scripts/console.py audit compare      # those pages
    python scripts/console.py --check            # write nothing; exit code 1 where a sample has drifted
    python scripts/console.py --slow images      # those that take minutes as well
    python scripts/console.py --peers coming     # and code for other libraries, each in its environment

A page runs from top to bottom in a folder of its own, beside the folders of `oodometer demo` and its samples that it
names. Each ``console`` block that shows output is run; `...` stands for lines left out. A comment before a block says
otherwise, ``<!-- console: MARK -->``:

- ``run``: one that shows nothing, too; of ``python``, what it prints stands in the block of ``text`` behind it.
- ``skip, REASON``; ``slow, REASON``, without --slow; ``data, REASON``, without OODOMETER_DATA: left out, named.
- ``peer NAME``: Python in the environment that `benchmarks/peers/make_envs.sh NAME` made, with --peers.

``<!-- console: before`` begins a comment of Python that is run first. Times and dates may differ, numbers by a unit of
their last digit, as processors round.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    [
        ROOT / "README.md",
        *(path for path in (ROOT / "docs").glob("**/*.md") if "_build" not in path.parts),
    ]
)
EXCERPTS = (
    "README",
    "first_steps",
)  # they show some lines of each answer, without `...`; their Python is run unasked
BLOCK = re.compile(
    r"(?:<!-- console: ([^>]*?) -->\n)?^```(console|python)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", re.MULTILINE)  # and what it prints
VARIES = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?( UTC)?|[\d.,]+ (ms|s|min|rows/s)\b")
NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?)")
PROGRESS = re.compile(
    r"^[\w ]+( \([a-z ]+\))?: (after [\d.]+ s|[\d,]+( of [\d,]+)?|\d+ %)\n", re.MULTILINE
)  # of slow runs
SHELL = re.compile(r"[|><;&$*]")  # such a command is given to bash
FOLDERS = ("demo", "car-loan", "digits", "judged", "runs", "sums")  # that `oodometer demo` writes
_SHARED = tempfile.TemporaryDirectory(
    prefix="console-", ignore_cleanup_errors=True
)  # what several pages need
SETTINGS = {
    "OODOMETER_CACHE": str(Path(_SHARED.name, "cache")),
    "COLUMNS": "80",
    "NO_COLOR": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "TERM": "dumb",
}
SETTINGS |= {
    "NML_DISABLE_USAGE_LOGGING": "1",
    "DO_NOT_TRACK": "1",
}  # of peers that report how they are used


def run(command: str) -> tuple[str, int]:
    """What a command prints, on both streams, and its exit code; `oodometer` itself runs in this process."""
    words = (
        []
        if SHELL.search(re.sub(r"'[^']*'", "", command))
        else shlex.split(command.replace("\\\n", ""))
    )
    if words[:1] == ["oodometer"]:
        from oodometer.cli import main

        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = main(words[1:])
        return out.getvalue(), code
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env={**os.environ, "PATH": paths, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    return done.stdout, done.returncode


@functools.cache
def written(name: str) -> Path:
    """A folder that `oodometer demo` writes, made once for all pages."""
    folder = Path(_SHARED.name) / name
    answer, code = run(f"oodometer demo --out {folder}{f' --sample {name}' * (name != 'demo')}")
    if code:
        raise RuntimeError(answer)
    return folder


def printed_by(code: str, peer: str, names: dict[str, object]) -> str:
    """What Python prints, here or in the environment of a peer."""
    if peer:
        folder = os.environ.get("OODOMETER_BENCH_DIR") or Path(
            tempfile.gettempdir(), "oodometer-bench"
        )
        python = Path(folder, "envs", peer, "bin", "python")
        words = [str(python), "-W", "ignore", "-c", code]
        return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "page", "exec"), names)
    return out.getvalue()


def made_anew(path: Path, *more: str) -> tuple[str, list[str]]:
    """The page with the output of its commands as it is today, and the blocks that were left out, with the reason."""
    left_out = tuple({"skip", "slow", "peer"} - {*more})
    text, skipped, names = path.read_text(encoding="utf-8"), [], {"__name__": "page"}
    code, form = 0, some if path.stem in EXCERPTS else like

    def block(match: re.Match[str]) -> str:
        nonlocal code
        mark, kind, body, shown = match[1] or "", match[2], match[3], match[4]
        parts = COMMAND.findall(body)
        if not mark and shown and path.stem in EXCERPTS:
            mark = "run"
        if not mark and (kind == "python" or not any(printed.strip() for _, printed in parts)):
            return match[0]
        if mark.startswith(left_out) or (
            mark.startswith("data") and "OODOMETER_DATA" not in os.environ
        ):
            skipped.append(f"{path.relative_to(ROOT)}: {body.splitlines()[0][:70]} ({mark})")
            return match[0]
        if kind == "python":
            printed = printed_by(body, mark.split()[1] if mark.startswith("peer") else "", names)
            return (
                match[0].replace(f"```text\n{shown}", f"```text\n{form(shown, printed)}")
                if shown
                else match[0]
            )
        out = ""
        for command, was in parts:
            answer, code = (
                (f"{code}", code) if command == "echo $?\n" else run(command.rstrip("\n"))
            )
            out += f"$ {command}{was if mark == 'run' and not was.strip() else form(was, PROGRESS.sub('', answer))}"
        return match[0].replace(body, out)

    with (
        tempfile.TemporaryDirectory(prefix="page-") as folder,
        mock.patch.dict(os.environ, SETTINGS),
        contextlib.chdir(folder),
    ):
        for name in FOLDERS:
            if f"{name}/" in text:
                shutil.copytree(written(name), name)
        for code_before in re.findall(r"<!-- console: before\n(.*?)\n-->", text, re.DOTALL):
            exec(compile(code_before, str(path), "exec"), names)
        return BLOCK.sub(block, text), skipped


def has_samples(path: Path) -> bool:
    """Whether a page has a block that is run."""
    blocks = BLOCK.findall(path.read_text(encoding="utf-8"))
    return any(
        mark or any(out.strip() for _, out in COMMAND.findall(body)) for mark, _, body, _ in blocks
    )


def same(old: str, new: str, *, counts: bool = False) -> bool:
    """Whether two lines say the same, but for times and dates, and one unit of the last digit: processors round so.

    ``counts``: an integer that is no percentage counts something, such as rows, and has to be the same.
    """
    (words, numbers), (new_words, new_numbers) = (
        (parts[::2], parts[1::2])
        for parts in (NUMBER.split(" ".join(VARIES.sub("*", s).split())) for s in (old, new))
    )
    if words != new_words:
        return False
    for number, new_number, behind in zip(numbers, new_numbers, words[1:], strict=True):
        a, b = (float(text.replace(",", "")) for text in (number, new_number))
        exact = counts and "." not in number and not behind.lstrip().startswith("%")
        unit = 10.0 ** -len(number.partition(".")[2])
        if (exact and a != b) or abs(a - b) >= 1.01 * unit:
            return False
    return True


def like(old: str, new: str) -> str:
    """The new output in the form of the old: lines that differ in times alone stay, `...` stands for lines left out."""
    lines, was = (
        [line.rstrip() for line in new.strip("\n").split("\n")],
        old.rstrip("\n").split("\n"),
    )
    dots = [-1, *(place for place, line in enumerate(was) if line == "..."), len(was)]
    out, at = [], 0
    for begin, end in itertools.pairwise(dots):
        part = was[begin + 1 : end]
        places = [at] if begin < 0 else range(at, max(len(lines) - len(part), at) + 1)
        best = max(places, key=lambda place: alike(part, lines[place : place + len(part)]))
        at = len(lines) if part and end == len(was) else best + len(part)
        chosen = lines[best:at]
        unchanged = len(chosen) == len(part) and all(map(same, part, chosen))
        out += [*(part if unchanged else chosen), *(["..."] if end < len(was) else [])]
    return "\n".join(out) + old[len(old.rstrip("\n")) :]


def some(old: str, new: str) -> str:
    """Some lines of the new output: for each of the old the one most like it, behind that of the line before."""
    lines, out = new.splitlines(), []
    for line in old.splitlines():

        def likeness(at: int, line: str = line, lines: list[str] = lines) -> tuple[bool, float]:
            begin = difflib.SequenceMatcher(None, line[:12], lines[at][:12]).ratio()
            return same(line, lines[at]), begin + alike([line], [lines[at]])

        if lines:
            at = max(range(len(lines)), key=likeness)
            out.append(line if same(line, lines[at]) else lines[at])
            lines = lines[at + 1 :]
    return "".join(f"{line}\n" for line in out)


def alike(part: list[str], lines: list[str]) -> float:
    """How alike two pieces of output are, whatever their figures."""
    a, b = (re.sub(r"\d", "0", "\n".join(piece)) for piece in (part, lines))
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() if part else 0.0


def drift(path: Path, *more: str) -> tuple[str, str, list[str]]:
    """The page made anew (``more``: "slow", "peer"), how it differs from what stands there, and what was left out."""
    old, (new, skipped) = path.read_text(encoding="utf-8"), made_anew(path, *more)
    name = str(path.relative_to(ROOT))
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), name, f"{name}, run today", lineterm="", n=1
    )
    return new, "\n".join(lines), skipped


def main(words: list[str]) -> None:
    """Write the pages whose name holds one of the words, or check them."""
    check, names = "--check" in words, [word for word in words if not word.startswith("--")]
    pages = [
        path
        for path in PAGES
        if has_samples(path)
        and (not names or any(name in str(path.relative_to(ROOT)) for name in names))
    ]
    if not pages:
        sys.exit(f"no page of {ROOT / 'docs'} with output of a command is called so")
    drifted, more = (
        False,
        [mark for mark in ("slow", "peer") if any(word.startswith(f"--{mark}") for word in words)],
    )
    for path in pages:
        began = time.monotonic()
        new, difference, skipped = drift(path, *more)
        drifted |= bool(difference)
        if difference or skipped:
            print(
                "\n".join(
                    [
                        f"{path.relative_to(ROOT)}: {time.monotonic() - began:.1f} s",
                        difference,
                        *skipped,
                    ]
                )
            )
        if difference and not check:
            path.write_text(new, encoding="utf-8")
    if check and drifted:
        sys.exit(
            "samples have drifted; look at the difference, then run: python scripts/console.py"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
