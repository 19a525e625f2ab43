"""Snapshots: what the package says in a test stands in a text file, so that a better sentence is no edit of tests.

A test calls `assert_snapshot` or `raises_snapshot` in the place of a phrase. What is said is compared with the file of
the same name below `tests/snapshots`: words and counts have to be the same, times and dates may differ, and decimals by
a unit of their last digit (`same` of `scripts/console.py`). After a sentence has changed, write the files anew and look
at the difference before it is committed:

    pytest --write-snapshots tests/verbs/test_rank.py
    git diff tests
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib.util
import itertools
import os
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent
FOLDER = TESTS / "snapshots"
HEAD = re.compile(r"^## (.+) \((\d+)\)\n", re.MULTILINE)
LONGEST = 400  # a longer line is folded, so that a difference can be read
BELOW = r"/[^/\s'\"`,;:)]+"
PLACES = {
    re.escape(str(TESTS.parent)): "ROOT",
    rf"{re.escape(tempfile.gettempdir())}/tmp\w{{8}}\b": "TMP",
    r"\bprocess \d+": "process PID",
    r"\b0x[0-9a-f]{6,}": "0xADDRESS",
    r"\b(?=\d*[a-f])[0-9a-f]{24,}\b": "HASH",
}


@functools.cache
def same_text() -> Callable[..., bool]:
    """How the samples of the documents are compared, `same` of `scripts/console.py`."""
    path = TESTS.parent / "scripts" / "console.py"
    spec = importlib.util.spec_from_file_location("console_of_snapshots", path)
    assert spec is not None
    assert spec.loader is not None
    console = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(console)
    return console.same  # type: ignore[no-any-return]


def same(old: str, new: str) -> bool:
    """Whether two texts say the same; how their lines are folded does not matter, as paths differ in length."""
    return old == new or same_text()(" ".join(old.split()), " ".join(new.split()), counts=True)


def newer(old: str, new: str) -> str:
    """What is kept from now on: the old text where only times and the like have changed."""
    return old if same(old, new) else new


def difference(old: str, new: str) -> str:
    """The lines that differ, for a person."""
    return "\n".join(
        difflib.unified_diff(old.splitlines(), new.splitlines(), "kept", "now", lineterm="")
    )


class Snapshots:
    """What one test says, in order, beside what is kept of it.

    Parameters
    ----------
    item : the test.
    write : whether what it says is kept, in the place of what was.
    """

    def __init__(self, item: pytest.Item, *, write: bool = False) -> None:
        self.path = (FOLDER / item.path.relative_to(TESTS)).with_suffix(".txt")
        self.name = item.nodeid.partition("::")[2]
        self.write = write
        self.base = item.config._tmp_path_factory.getbasetemp  # type: ignore[attr-defined]
        self.texts: list[str] = []
        self.kept = read(self.path).get(self.name, [])

    def check(self, text: str) -> None:
        """Compare the next text with what is kept; an `AssertionError` shows what differs."""
        __tracebackhide__ = True
        places = {rf"{re.escape(str(self.base()))}{BELOW}": "TMP"}
        places[re.escape(os.environ.get("OODOMETER_CACHE") or "no cache")] = "CACHE"
        text = steady(text, places)
        assert not HEAD.search(text), "the text holds a line that heads a snapshot"
        self.texts.append(text)
        if self.write:
            return
        number = len(self.texts)
        where = f"{self.path.relative_to(TESTS.parent)}: {self.name} ({number})"
        if number > len(self.kept):
            pytest.fail(f"{where} is not there; run: pytest --write-snapshots ...\n{text}")
        kept = self.kept[number - 1]
        if not same(kept, text):
            pytest.fail(f"{where} says something else\n{difference(kept, text)}")

    def finish(self) -> None:
        """Say so where the test said less than is kept of it; or keep what it said."""
        if self.write:
            pairs = itertools.zip_longest(self.kept[: len(self.texts)], self.texts, fillvalue="")
            if self.texts or self.kept:
                keep(self.path, self.name, [newer(old, new) for old, new in pairs])
        elif len(self.texts) < len(self.kept):
            pytest.fail(
                f"{self.path.relative_to(TESTS.parent)}: {self.name} holds {len(self.kept)} texts, "
                f"and the test said {len(self.texts)}"
            )


def steady(text: str, places: Mapping[str, str]) -> str:
    """The text without what is of this machine and this run: places of files, numbers of processes.

    Parameters
    ----------
    text : what was said.
    places : patterns of places, and what stands for them.
    """
    from oodometer import __version__  # no test file may load the package before its checks

    version = {rf"(?<![\d.]){re.escape(__version__)}(?!\.?\d)": "VERSION"}
    for place, name in (places | PLACES | version).items():
        text = re.sub(place, name, text)
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    return "\n".join(line if len(line) <= LONGEST else folded(line) for line in lines)


def folded(line: str) -> str:
    """A long line as several, cut at spaces alone."""
    return textwrap.fill(line, 100, break_long_words=False, break_on_hyphens=False)


def read(path: Path) -> dict[str, list[str]]:
    """Of each test the texts that a file keeps."""
    found: dict[str, list[str]] = {}
    if path.is_file():
        parts = HEAD.split(path.read_text(encoding="utf-8"))[1:]
        for name, text in zip(parts[::3], parts[2::3], strict=True):
            found.setdefault(name, []).append(text.strip("\n"))
    return found


def keep(path: Path, name: str, texts: list[str]) -> None:
    """Put the texts of a test into its file."""
    every = read(path)
    every[name] = texts
    blocks = [
        f"## {test} ({number})\n{text}\n"
        for test, kept in every.items()
        for number, text in enumerate(kept, 1)
    ]
    if blocks:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(blocks), encoding="utf-8")
    else:
        path.unlink(missing_ok=True)


def forget(items: Iterable[pytest.Item]) -> None:
    """Drop what is kept of tests that are gone from the files of these."""
    names: dict[Path, set[str]] = {}
    for item in items:
        path = (FOLDER / item.path.relative_to(TESTS)).with_suffix(".txt")
        names.setdefault(path, set()).add(item.nodeid.partition("::")[2])
    for path, known in names.items():
        for name in read(path).keys() - known:
            keep(path, name, [])


_RUNNING: list[Snapshots] = []


@contextlib.contextmanager
def snapshots_of(item: pytest.Item, *, write: bool) -> Iterator[None]:
    """Around a test: what it says belongs to it."""
    found = Snapshots(item, write=write)
    _RUNNING.append(found)
    try:
        yield
    finally:
        _RUNNING.remove(found)
    found.finish()


def assert_snapshot(said: Any) -> None:
    """Fail where something says other words than those that are kept of it.

    Parameters
    ----------
    said : a text, an error (its class is compared, too), a mapping, or several texts, a line each.
    """
    __tracebackhide__ = True
    _RUNNING[-1].check(text_of(said))


def text_of(said: Any) -> str:
    """What stands in the file."""
    if isinstance(said, str):
        return str(said)
    if isinstance(said, BaseException):
        return f"{type(said).__name__}: {said}"
    if isinstance(said, dict):
        return "\n".join(f"{name}: {text_of(value)}" for name, value in said.items())
    if isinstance(said, list | tuple):
        return "\n".join(f"- {text_of(one)}" for one in said) or "nothing"
    return str(said)


@contextlib.contextmanager
def raises_snapshot(
    *kinds: type[BaseException],
) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """As `pytest.raises`, and the error has to say what is kept of it.

    Parameters
    ----------
    kinds : classes of errors, one of which has to come.
    """
    __tracebackhide__ = True
    with pytest.raises(kinds) as caught:
        yield caught
    assert_snapshot(caught.value)
