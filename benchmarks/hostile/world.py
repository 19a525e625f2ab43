"""Classes of surroundings: plugins, signals, terminals, caches, and files that are bombs."""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

from .base import DONE, REFUSED, SAME, SIGNALS, STOPPED, Call, Kit, Outcome, trial
from .material import Columns, csv_text, jsonl_text

PLUGINS, SIGNALLED, BOMBS, CACHE = ("Plugins", "Signals and terminals", "Files that want all memory",
    "The cache of backtests")  # fmt: skip

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
_FINE = {"before": "", "fit": "pass", "summarize": "return Sums(rows=len(batch))",
    "finish": "return self._estimate(state, 0.5, 0.0, 1.0)"}  # fmt: skip


def _installed(folder: Path, **faults: str) -> dict[str, str]:
    """A folder with a plugin package in it, as the environment of a process."""
    home = folder / "site"
    info = home / "hostile_guest-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (home / "hostile_guest.py").write_text(_PLUGIN.format(**{**_FINE, **faults}))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile-guest\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[oodometer.estimators]\nguest = hostile_guest:Guest\n")
    return {
        "PYTHONPATH": os.pathsep.join([str(home), *filter(None, [os.environ.get("PYTHONPATH")])])
    }


def _plugin(
    name: str, came: str, must: Any, words: Any = "guest", *, asked: bool = False, **faults: str
) -> None:
    """A class in which a plugin misbehaves; all other methods must answer as if it were not there."""

    @trial(PLUGINS, name, came, must, words, ("process",))
    def _(kit: Kit, form: str) -> Call:
        files = [str(kit.clean("reference")), str(kit.clean("target"))]
        out = kit.path("answer.json")
        more = [w for m in ("guest", "ac", "atc") for w in ("--method", m)]
        arguments = (
            ["estimate", *files, "--backtest", "none", *more, "--json", str(out)]
            if asked
            else ["methods", "--json"]
        )

        def named(found: Outcome) -> str | None:
            held = found.answer or {}
            told = found.stderr + str(held.get("skipped", "")) + str(held.get("warnings", ""))
            if faults and "print(" not in str(faults) and "guest" not in told:
                return "the plugin is not named"
            if found.stderr.count("\n") > 2:
                return f"{found.stderr.count(chr(10))} lines on standard error"
            if not asked:
                return (
                    None
                    if '"ac"' in found.stdout and '"atc"' in found.stdout
                    else "methods of ours are missing"
                )
            methods = {e["method"] for e in found.answer["estimates"]}
            return None if {"ac", "atc"} <= methods else f"only {sorted(methods)} answered"

        return Call(arguments, process=True, env=_installed(kit.folder, **faults), check=named)


_plugin("a good plugin", "answers 0.5", DONE, asked=True)
_plugin(
    "an import that fails", "`raise ImportError`", DONE, before="raise ImportError('no such thing')"
)
_plugin("an import that leaves", "`sys.exit(3)` at import", DONE, before="import sys; sys.exit(3)")
_plugin("a syntax error", "`def (`", DONE, before="def (")
_plugin(
    "a fit that fails",
    "`raise RuntimeError` in `fit`",
    DONE,
    fit="raise RuntimeError('a guest fell')",
    asked=True,
)
_plugin("a summary that fails", "`1 / 0` in `summarize`", DONE, summarize="1 / 0", asked=True)
_plugin(
    "a finish that fails", "`KeyError` in `finish`", DONE, finish="return {}['none']", asked=True
)
_plugin("an estimate that is not a number", "nan", DONE, finish="return self._estimate(state, float('nan'), 0.0, 1.0)",
    asked=True)  # fmt: skip
_plugin("an estimate that is nothing", "`return None`", DONE, finish="return None", asked=True)
_plugin(
    "a plugin that leaves",
    "`raise SystemExit` in `fit`",
    DONE,
    fit="raise SystemExit(7)",
    asked=True,
)
_plugin(
    "a plugin that prints",
    "`print('hello')` in `fit`",
    DONE,
    fit="print('guest says hello')",
    asked=True,
)


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
            send_when=spool, check=check, clean=None)  # fmt: skip


_signal("interrupted while it waits for input", "Ctrl-C", "SIGINT", 130)
_signal("ended while it waits for input", "SIGTERM", "SIGTERM", 143)


ESCAPE = "\x1b]0;title\x07\x1b[31mred"


@trial(SIGNALLED, "escape sequences in names", "`\\x1b[31m` in class names, groups and file names, on a terminal",
    (DONE, REFUSED), (), ("accepted", "refused"))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    def renamed(columns: Columns) -> Columns:
        return {
            k.replace("emu", ESCAPE): [
                str(v).replace("emu", ESCAPE) if isinstance(v, str) else v for v in cells
            ]
            for k, cells in columns.items()
        }

    target = renamed(kit.target("prob_*", "group"))
    target["group"] = [ESCAPE + v for v in target["group"]]
    reference = kit.put(
        "r.parquet", renamed(kit.reference()) if form == "accepted" else kit.reference()
    )
    files = [str(reference), str(kit.put(f"t{ESCAPE}.parquet", target))]

    def check(found: Outcome) -> str | None:
        seen = "\x1b]0;" in found.stdout or "\x1b[31mred" in found.stdout
        return "an escape sequence of the input reached the terminal" if seen else None

    return Call(["estimate", *files, "--backtest", "none", "--method", "ac", "--method", "bbse", "--by", "group"],
        process=True, terminal=True, check=check)  # fmt: skip


LIMIT = 1800  # MB of address space for a bomb's process: enough for the libraries, not for what it unpacks to


def _bounded(found: Outcome) -> str | None:
    words = ("MemoryError", "Unable to allocate", "out of memory", "malloc", "bad_alloc")
    return (
        "memory ran out before a bound was met"
        if any(word in found.message for word in words)
        else None
    )


def _gzip_of(head: bytes, block: bytes, times: int, tail: bytes) -> bytes:
    """gzip members one after another, so that gigabytes need not be packed one by one."""
    import gzip

    return gzip.compress(head) + gzip.compress(block, 9) * times + gzip.compress(tail)


@trial(
    BOMBS,
    "gzip that unpacks to one cell of 3 GB",
    "3 MB of `t.csv.gz`",
    REFUSED,
    "t.csv.gz",
    ("process",),
)
def _(kit: Kit, form: str) -> Call:
    content = _gzip_of(b"prob_cat,prob_dog,prob_emu,label\n1,0,0,", b"a" * (10 << 20), 300, b"\n")
    return kit.estimate(
        target=kit.path("t.csv.gz", content), process=True, memory=LIMIT, check=_bounded, seconds=90
    )


@trial(
    BOMBS, "gzip that unpacks to blank lines", "2 GB of newlines", REFUSED, "t.csv.gz", ("process",)
)
def _(kit: Kit, form: str) -> Call:
    content = _gzip_of(csv_text(kit.target()).encode(), b"\n" * (10 << 20), 200, b"\n")
    return kit.estimate(
        target=kit.path("t.csv.gz", content), process=True, memory=LIMIT, check=_bounded, seconds=90
    )


@trial(
    BOMBS,
    "a JSONL line of 200 MB",
    "one object with a text of 200 MB",
    (REFUSED, SAME),
    "t.jsonl",
    ("process",),
)
def _(kit: Kit, form: str) -> Call:
    lines = jsonl_text(kit.target()).splitlines(keepends=True)
    lines[6] = lines[6].rstrip()[:-1] + ', "comment": "' + "a" * (200 << 20) + '"}\n'
    return kit.estimate(
        target=kit.path("t.jsonl", "".join(lines)),
        process=True,
        memory=LIMIT,
        check=_bounded,
        seconds=30,
    )


@trial(
    BOMBS, "a packed NPZ array of 3 GB of zeros", "3 MB of `t.npz`", REFUSED, "t.npz", ("process",)
)
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
    info.compress_type, info.file_size, info.compress_size, info.CRC = (
        zipfile.ZIP_DEFLATED,
        size,
        len(packed),
        0,
    )
    # an archive of one member whose packed bytes are given as they are
    name = info.filename.encode()
    sizes = struct.pack(
        "<IIIHH", info.CRC, info.compress_size, min(info.file_size, 0xFFFFFFFE), len(name), 0
    )
    local = struct.pack("<4sHHHHH", b"PK\x03\x04", 20, 0, 8, 0, 33) + sizes + name
    central = (struct.pack("<4sHHHHHH", b"PK\x01\x02", 20, 20, 0, 8, 0, 33) + sizes + struct.pack("<HHHII", 0, 0, 0, 0,
        0) + name)  # fmt: skip
    end = struct.pack(
        "<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local) + len(packed), 0
    )
    path.write_bytes(local + packed + central + end)
    return kit.estimate(
        kit.clean("reference"), path, process=True, memory=LIMIT, check=_bounded, seconds=90
    )


@trial(BOMBS, "a Parquet column of one repeated text of 16 MB", "240 rows of a dictionary of one entry",
    (REFUSED, SAME), "t.parquet", ("process",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    columns = kit.target()
    table = pa.table(
        {
            **columns,
            "comment": pa.DictionaryArray.from_arrays(
                pa.array([0] * len(columns["label"]), pa.int32()), pa.array(["a" * (16 << 20)])
            ),
        }
    )
    path = kit.path("t.parquet")
    parquet.write_table(table, path)
    return kit.estimate(target=path, process=True, memory=LIMIT, check=_bounded, seconds=60)


@trial(
    BOMBS,
    "a report where memory is limited",
    "`prlimit --as`, `--report r.html`",
    DONE,
    (),
    ("process",),
)
def _(kit: Kit, form: str) -> Call:
    page = kit.path("r.html")

    def there(found: Outcome) -> str | None:
        if found.stderr.count("\n") != 1 or "has no charts" not in found.stderr:
            return f"standard error: {found.stderr}"
        return None if found.answer and page.exists() else "a result is not there"

    return kit.estimate(
        None, None, "--report", str(page), clean=None, process=True, memory=4000, check=there
    )


def _cache(name: str, came: str, change: Any) -> None:
    """A class in which a kept backtest is damaged: the next run gives what a run without a damaged cache gives."""

    @trial(CACHE, name, came, SAME, (), ("library",))
    def _(kit: Kit, form: str) -> Call:
        reference = kit.clean("reference", kit.reference(rows=160))
        methods = ("source", "ac", "atc")
        kept, home = kit.shared / "kept", kit.folder / "kept"
        options = {"methods": list(methods), "diagnosis": True, "seed": 0}
        files = str(reference), str(kit.clean("target"))
        first = kit.library(*files, **{**options, "backtest": str(kept)})
        if not kept.exists():
            first()
        shutil.copytree(kept, home)
        found = [p for p in home.rglob("*") if p.is_file()]
        if not found:
            raise FileNotFoundError("no backtest was kept")
        for path in found:
            path.write_bytes(change(path.read_bytes()))
        again = kit.library(*files, **{**options, "backtest": str(home)})
        return Call(again, Call(first, key=("kept",)))


def _digits(content: bytes) -> bytes:
    out = bytearray(content)
    found = [
        i for i in range(2, len(out)) if out[i - 2 : i - 1] == b"." and chr(out[i - 1]).isdigit()
    ]
    for i in found[::10]:
        out[i - 1] = ord("0") + (out[i - 1] - ord("0") + 3) % 10
    return bytes(out)


_cache("digits flipped", "another digit in every tenth number", _digits)
_cache("cut off", "the second half is missing", lambda b: b[: len(b) // 2])
_cache("not a number in a trial", "`NaN` for the first number of each line", lambda b: _nan(b))
_cache("noise", "1,000 random bytes", lambda b: random.Random(1).randbytes(1000))
_cache("empty", "0 bytes", lambda b: b"")
_cache("lines twice", "each line again", lambda b: b + b)


def _nan(content: bytes) -> bytes:
    return b"\n".join(re.sub(rb"\d\.\d+", b"NaN", line, count=3) for line in content.split(b"\n"))
