"""Classes of surroundings: plugins, signals, terminals, caches, and files that are bombs."""

from __future__ import annotations

import os
import random
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

from .base import DONE, REFUSED, SAME, SIGNALS, STOPPED, WARNED, Call, Kit, Outcome, trial
from .material import csv_text, jsonl_text

PLUGINS, SIGNALLED, BOMBS, CACHE = "Plugins", "Signals and terminals", "Files that want all memory", "The cache of backtests"

_PLUGIN = '''
{before}
from oodometer.estimators import Estimator, Sums

class Guest(Estimator):
    """A guest."""
    name = "guest"
    needs = ()
    assumes = "nothing"
    citation = "guo2017"

    def _fit(self, reference):
        {fit}

    def summarize(self, batch):
        {summarize}

    def finish(self, state):
        {finish}
'''
_FINE = {"before": "", "fit": "pass", "summarize": "return Sums(rows=len(batch))", "finish": "return self._estimate(state, 0.5, 0.0, 1.0)"}


def _installed(folder: Path, **faults: str) -> dict[str, str]:
    """A folder with a plugin package in it, as the environment of a process."""
    home = folder / "site"
    info = home / "hostile_guest-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (home / "hostile_guest.py").write_text(_PLUGIN.format(**{**_FINE, **faults}))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile-guest\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[oodometer.estimators]\nguest = hostile_guest:Guest\n")
    return {"PYTHONPATH": os.pathsep.join([str(home), *filter(None, [os.environ.get("PYTHONPATH")])])}


def _plugin(name: str, came: str, must: Any, words: Any = "guest", *, asked: bool = False, **faults: str) -> None:
    """A class in which a plugin misbehaves; all other methods must answer as if it were not there."""

    @trial(PLUGINS, name, came, must, words, ("process",))
    def _(kit: Kit, form: str) -> Call:
        files = [str(kit.clean("reference")), str(kit.clean("target"))]
        out = kit.path("answer.json")
        more = [w for m in (*(["guest"] if asked else []), "ac", "atc") for w in ("--method", m)] if asked else []
        arguments = ["estimate", *files, "--backtest", "none", *more, "--json", str(out)]

        def named(found: Outcome) -> str | None:
            told = found.stderr + str(found.answer.get("skipped", "")) + str(found.answer.get("warnings", ""))
            if faults and "guest" not in told:
                return "the plugin is not named"
            if found.stderr.count("\n") > 2:
                return f"{found.stderr.count(chr(10))} lines on standard error"
            methods = {e["method"]: e["value"] for e in found.answer["estimates"]}
            return None if {"ac", "atc"} <= methods.keys() else f"only {sorted(methods)} answered"

        return Call(arguments, process=True, env=_installed(kit.folder, **faults), check=named)


_plugin("a good plugin", "answers 0.5", DONE)
_plugin("an import that fails", "`raise ImportError`", DONE, before="raise ImportError('no such thing')")
_plugin("an import that leaves", "`sys.exit(3)` at import", DONE, before="import sys; sys.exit(3)")
_plugin("a syntax error", "`def (`", DONE, before="def (")
_plugin("a fit that fails", "`raise RuntimeError` in `fit`", DONE, fit="raise RuntimeError('a guest fell')", asked=True)
_plugin("a summary that fails", "`1 / 0` in `summarize`", DONE, summarize="1 / 0", asked=True)
_plugin("a finish that fails", "`KeyError` in `finish`", DONE, finish="return {}['none']", asked=True)
_plugin("an estimate that is not a number", "nan", DONE, finish="return self._estimate(state, float('nan'), 0.0, 1.0)", asked=True)
_plugin("an estimate that is nothing", "`return None`", DONE, finish="return None", asked=True)
_plugin("a plugin that leaves", "`raise SystemExit` in `fit`", DONE, fit="raise SystemExit(7)", asked=True)
_plugin("a plugin that prints", "`print('hello')` in `fit`", DONE, fit="print('guest says hello')", asked=True)


# ---------------------------------------------------------------------------------------- signals, terminals


def _signal(name: str, came: str, which: str, code: int) -> None:
    @trial(SIGNALLED, name, came, STOPPED, (), ("process",))
    def _(kit: Kit, form: str) -> Call:
        spool = kit.folder / "tmp"
        spool.mkdir(exist_ok=True)
        head = jsonl_text(kit.target()).encode()

        def check(found: Outcome) -> str | None:
            lines = [line for line in found.stderr.splitlines() if line.strip()]
            if which == "SIGINT" and len(lines) != 1:
                return f"{len(lines)} lines on standard error"
            if found.code not in (code, -SIGNALS[which]):
                return f"exit code {found.code}"
            left = [p.name for p in spool.rglob("*") if p.is_file()]
            return f"left behind: {left[0]}" if left else None

        return kit.estimate(None, "-", process=True, stdin=head, env={"TMPDIR": str(spool)}, send=int(SIGNALS[which]),
                            send_after=4.0, check=check, clean=None)  # fmt: skip


_signal("interrupted while it waits for input", "Ctrl-C", "SIGINT", 130)
_signal("ended while it waits for input", "SIGTERM", "SIGTERM", 143)


ESCAPE = "\x1b]0;title\x07\x1b[31mred"


@trial(SIGNALLED, "escape sequences in names", "`\\x1b[31m` in class names, groups and file names, on a terminal", (DONE, REFUSED), (),
       ("classes", "slices", "file", "error"))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns, other = kit.reference(), kit.target("prob_*", "group")
    reference, target = kit.put("r.parquet", columns), kit.path("t.parquet")
    extra: list[str] = []
    if form == "classes":
        columns = {k.replace("emu", ESCAPE): v for k, v in columns.items()}
        columns["label"] = [v.replace("emu", ESCAPE) for v in columns["label"]]
        other = {k.replace("emu", ESCAPE): v for k, v in other.items()}
        reference = kit.put("r.parquet", columns)
    elif form == "slices":
        other["group"] = [ESCAPE + v for v in other["group"]]
        extra = ["--by", "group"]
    elif form == "file":
        target = kit.path(f"t{ESCAPE}.parquet")
    else:
        other = {k.replace("emu", ESCAPE): v for k, v in other.items()}
    target = kit.put(target.name, other)

    def check(found: Outcome) -> str | None:
        seen = "\x1b]0;" in found.stdout or "\x1b[31mred" in found.stdout
        return "an escape sequence of the input reached the terminal" if seen else None

    files = [str(reference), str(target)]
    return Call(["estimate", *files, "--backtest", "none", "--method", "ac", "--method", "bbse", *extra], process=True,
                terminal=True, check=check)  # fmt: skip


# -------------------------------------------------------------------------------------------------- bombs

LIMIT = 1800  # MB of address space for a bomb's process: enough for the libraries, not for what it unpacks to


def _gzip_of(head: bytes, block: bytes, times: int, tail: bytes) -> bytes:
    """gzip members one after another, so that gigabytes need not be packed one by one."""
    import gzip

    return gzip.compress(head) + gzip.compress(block, 9) * times + gzip.compress(tail)


@trial(BOMBS, "gzip that unpacks to one cell of 3 GB", "3 MB of `t.csv.gz`", REFUSED, "t.csv.gz", ("process",))
def _(kit: Kit, form: str) -> Call:
    content = _gzip_of(b"prob_cat,prob_dog,prob_emu,label\n1,0,0,", b"a" * (10 << 20), 300, b"\n")
    return kit.estimate(target=kit.path("t.csv.gz", content), process=True, memory=LIMIT, seconds=90)


@trial(BOMBS, "gzip that unpacks to blank lines", "2 GB of newlines", (REFUSED, SAME), "t.csv.gz", ("process",))
def _(kit: Kit, form: str) -> Call:
    content = _gzip_of(csv_text(kit.target()).encode(), b"\n" * (10 << 20), 200, b"\n")
    return kit.estimate(target=kit.path("t.csv.gz", content), process=True, memory=LIMIT, seconds=90)


@trial(BOMBS, "a JSONL line of 200 MB", "one object with a text of 200 MB", (REFUSED, SAME), "t.jsonl", ("process",))
def _(kit: Kit, form: str) -> Call:
    lines = jsonl_text(kit.target()).splitlines(keepends=True)
    lines[6] = lines[6].rstrip()[:-1] + ', "comment": "' + "a" * (200 << 20) + '"}\n'
    return kit.estimate(target=kit.path("t.jsonl", "".join(lines)), process=True, memory=LIMIT, seconds=30)


@trial(BOMBS, "a packed NPZ array of 3 GB of zeros", "3 MB of `t.npz`", REFUSED, "t.npz", ("process",))
def _(kit: Kit, form: str) -> Call:
    path = kit.path("t.npz")
    rows = 3 * (1 << 30) // 24
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 3), }}".ljust(117) + "\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(24 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed += block * (rows // (1 << 20)) + packer.flush()
    size = len(head) + (rows // (1 << 20)) * (24 << 20)
    info = zipfile.ZipInfo("probabilities.npy")
    info.compress_type, info.file_size, info.compress_size, info.CRC = zipfile.ZIP_DEFLATED, size, len(packed), 0
    path.write_bytes(_zip_of(info, packed))
    return kit.estimate(kit.clean("reference"), path, process=True, memory=LIMIT, seconds=90)


def _zip_of(info: zipfile.ZipInfo, packed: bytes) -> bytes:
    """An archive of one member whose packed bytes are given as they are."""
    name = info.filename.encode()
    sizes = struct.pack("<IIIHH", info.CRC, info.compress_size, min(info.file_size, 0xFFFFFFFE), len(name), 0)
    local = struct.pack("<4sHHHHH", b"PK\x03\x04", 20, 0, 8, 0, 33) + sizes + name
    central = struct.pack("<4sHHHHHH", b"PK\x01\x02", 20, 20, 0, 8, 0, 33) + sizes + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local) + len(packed), 0)
    return local + packed + central + end


@trial(BOMBS, "a Parquet column of one repeated text of 1 MB", "4,000 rows of a dictionary of one entry", (REFUSED, SAME), "t.parquet", ("process",))
def _(kit: Kit, form: str) -> Call:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    columns = kit.target()
    table = pa.table({**columns, "comment": pa.DictionaryArray.from_arrays(
        pa.array([0] * len(columns["label"]), pa.int32()), pa.array(["a" * (16 << 20)]))})  # fmt: skip
    path = kit.path("t.parquet")
    parquet.write_table(table, path)
    return kit.estimate(target=path, process=True, memory=LIMIT, seconds=60)


# -------------------------------------------------------------------------------------------------- cache


def _cache(name: str, came: str, change: Any) -> None:
    """A class in which the kept backtest is damaged between two runs: the second gives what the first gave."""

    @trial(CACHE, name, came, (SAME, WARNED), (), ("process",))
    def _(kit: Kit, form: str) -> Call:
        home = kit.folder / "cache"
        arguments = ["estimate", str(kit.clean("reference")), str(kit.clean("target")), "--backtest", str(home),
                     "--method", "ac", "--method", "atc", "--method", "source"]  # fmt: skip
        first = Call([*arguments, "--json", str(kit.path("first.json"))])

        def damaged() -> Any:
            from .base import perform

            perform(first)
            for path in [p for p in home.rglob("*") if p.is_file()]:
                path.write_bytes(change(path.read_bytes()))
            found = perform(Call([*arguments, "--json", str(kit.path("second.json"))]))
            if found.kind != DONE:
                raise RuntimeError(f"exit {found.code}: {found.message}")
            return found.answer

        return Call(damaged, first)


def _digits(content: bytes) -> bytes:
    """Every tenth digit behind a point one higher."""
    out = bytearray(content)
    found = [i for i in range(2, len(out)) if out[i - 2 : i - 1] == b"." and chr(out[i - 1]).isdigit()]
    for i in found[::10]:
        out[i - 1] = ord("0") + (out[i - 1] - ord("0") + 3) % 10
    return bytes(out)


_cache("nothing is changed", "a second run", lambda b: b)
_cache("digits flipped", "another digit in every tenth number", _digits)
_cache("cut off", "the second half is missing", lambda b: b[: len(b) // 2])
_cache("not a number in a trial", "`NaN` for the first number of each line", lambda b: _nan(b))
_cache("noise", "1,000 random bytes", lambda b: random.Random(1).randbytes(1000))
_cache("empty", "0 bytes", lambda b: b"")
_cache("lines twice", "each line again", lambda b: b + b)


def _nan(content: bytes) -> bytes:
    return b"\n".join(re.sub(rb"\d\.\d+", b"NaN", line, count=3) for line in content.split(b"\n"))

