"""Classes of stores of past runs: what is no store, is of another version, is locked, or is not there."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .base import REFUSED, SAME, Call, Kit, trial

STORES = "Stores of past runs"
BOTH = ("estimate", "history")


def _written(kit: Kit) -> Path:
    """A store with one run."""
    path = kit.path("runs.sqlite")
    kit.library(store=path, job="shop", diagnosis=False)()
    return path


def _bad(name: str, came: str, words: Any, make: Callable[[Kit], Path | str], forms: tuple[str, ...] = BOTH) -> None:
    @trial(STORES, name, came, REFUSED, words, forms)
    def _(kit: Kit, form: str) -> Call:
        store = make(kit)
        return kit.estimate(None, None, "--store", str(store)) if form == "estimate" else Call(["history", str(store)])


def _changed(*statements: str) -> Callable[[Kit], Path]:
    def make(kit: Kit) -> Path:
        path = _written(kit)
        with sqlite3.connect(path) as connection:
            for one in statements:
                connection.execute(one)
        connection.close()
        return path

    return make


def _foreign(kit: Kit) -> Path:
    path = kit.path("shop.db")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER)")
    connection.close()
    return path


def _damaged(kit: Kit) -> Path:
    path = _written(kit)
    body = path.read_bytes()
    path.write_bytes(body[:100] + b"\xff" * 4000 + body[4100:])
    return path


trial(STORES, "a new store", "`--store runs.sqlite`", SAME, (), ("estimate",),
    lambda kit, form: kit.estimate(None, None, "--store", str(kit.path("new.sqlite"))))  # fmt: skip
trial(STORES, "an empty file as a store", "no byte", SAME, (), ("estimate",),
    lambda kit, form: kit.estimate(None, None, "--store", str(kit.path("empty.sqlite", ""))))  # fmt: skip
_bad(
    "a file of another kind as a store", "a CSV file", ("notes.csv", "another kind of file"),
    lambda kit: kit.path("notes.csv", "prob_a,prob_b,label\n" + "0.9,0.1,a\n" * 99))  # fmt: skip
_bad("a store of another program", "a table `orders`", ("shop.db", "table orders"), _foreign)
_bad("a damaged store", "4,000 bytes of it are others", ("runs.sqlite", "damaged"), _damaged)
_bad(
    "a store of a newer version", "schema 9", ("schema 1", "schema 9", "newer oodometer"),
    _changed("UPDATE oodometer_store SET version = 9"))  # fmt: skip
for _said, _name, _statement in (
    ("version 'abc'", "a store of version abc", "UPDATE oodometer_store SET version = 'abc'"),
    ("at is 'yesterday'", "a run of yesterday", "UPDATE oodometer_runs SET at = 'yesterday'"),
    ("options is 'none'", "options that are no JSON", "UPDATE oodometer_runs SET options = 'none'"),
    ("id is", "a run with the last number of all", f"UPDATE oodometer_runs SET id = {2**63 - 1}"),
    ("value is 'much'", "a value that is a word", "UPDATE oodometer_runs SET value = 'much'"),
    ("version", "a store that does not say its version", "DELETE FROM oodometer_store"),
    ("no such table", "a store without one of its tables", "DROP TABLE oodometer_parts"),
):
    _bad(_name, f"`{_statement}`", ("runs.sqlite", _said, "choose another path"), _changed(_statement))


def _cut_page(kit: Kit) -> Path:
    path = _written(kit)
    body = path.read_bytes()
    path.write_bytes(body[:-4096] + b"\xff" * 4096)
    return path


def _pipe(kit: Kit) -> Path:
    path = kit.path("runs.fifo")
    if not path.exists():
        os.mkfifo(path)
    return path


_bad("a damaged page at the end of a store", "its last 4,096 bytes", ("runs.sqlite", "damaged"), _cut_page,
    ("estimate",))  # fmt: skip
_bad("a pipe as a store", "`mkfifo runs.fifo`", ("runs.fifo", "a pipe or device"), _pipe)
for _address in (
    "postgresql://me:half@whole@host/db",
    "postgresql://me@corp:half@host/db",
    "mysql://me@corp:ha/lf@host/db",
):
    _bad("a password with @ in an address", f"`{_address}`", "postgresql://user@host", lambda kit, a=_address: a)
_bad("a store that is not there", "`history none.sqlite`", ("none.sqlite", "no such file"),
     lambda kit: kit.path("none.sqlite"), ("history",))  # fmt: skip
_bad("a store in a folder that is not there", "`nowhere/runs.sqlite`", ("no such folder", "make"),
     lambda kit: kit.path("nowhere") / "runs.sqlite", ("estimate",))  # fmt: skip
_bad("a folder as a store", "`--store .`", "a folder; name a file in it", lambda kit: kit.folder, ("estimate",))
_bad("a store of another kind", "`mysql://host/db`", "postgresql://user@host/database", lambda kit: "mysql://host/db")


@trial(STORES, "a store that another program holds", "locked while it writes", REFUSED, ("locked", "wait until"))
def _(kit: Kit, form: str) -> Call:
    def run() -> Any:
        from oodometer.histories import base

        path, usual = _written(kit), base.WAIT
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            base.WAIT = 0.3  # in the place of ten seconds
            return kit.library(store=path, diagnosis=False)()
        finally:
            base.WAIT = usual
            other.close()

    return Call(run)


@trial(STORES, "the target as a store", "`--store target.csv`", REFUSED, "would write over the input", ("estimate",))
def _(kit: Kit, form: str) -> Call:
    path = str(kit.put("t.csv", kit.target()))
    return kit.estimate(None, path, "--store", path)


trial(STORES, "new alarms without a store", "`--alarms new`", REFUSED, "--alarms new needs a store", ("estimate",),
    lambda kit, form: kit.estimate(None, None, "--alarms", "new"))  # fmt: skip
trial(STORES, "a job that is not in the store", "`history --job shops`", REFUSED, ("shops", "did you mean shop"),
    make=lambda kit, form: Call(["history", str(_written(kit)), "--job", "shops"]))  # fmt: skip
