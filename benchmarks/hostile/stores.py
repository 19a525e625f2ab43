"""Classes of what is kept or brought along: stores of past runs, tasks and models of others, fitted files."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from oodometer.version import __version__

from .base import METHODS, REFUSED, SAME, Call, Kit, Outcome, trial

STORES = "Stores of past runs"
BOTH = ("estimate", "history")


def _written(kit: Kit) -> Path:
    path = kit.path("runs.sqlite")
    kit.library(store=path, job="shop", diagnosis=False)()
    return path


def _bad(
    name: str,
    came: str,
    words: Any,
    make: Callable[[Kit], Path | str],
    forms: tuple[str, ...] = BOTH,
) -> None:
    @trial(STORES, name, came, REFUSED, words, forms)
    def _(kit: Kit, form: str) -> Call:
        store = make(kit)
        return (
            kit.estimate(None, None, "--store", str(store))
            if form == "estimate"
            else Call(["history", str(store)])
        )


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
    _bad(
        _name,
        f"`{_statement}`",
        ("runs.sqlite", _said, "choose another path"),
        _changed(_statement),
    )


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
    _bad(
        "a password with @ in an address",
        f"`{_address}`",
        "postgresql://user@host",
        lambda kit, a=_address: a,
    )
_bad("a store that is not there", "`history none.sqlite`", ("none.sqlite", "no such file"),
     lambda kit: kit.path("none.sqlite"), ("history",))  # fmt: skip
_bad("a store in a folder that is not there", "`nowhere/runs.sqlite`", ("no folder", "choose a file in a folder"),
     lambda kit: kit.path("nowhere") / "runs.sqlite", ("estimate",))  # fmt: skip
_bad(
    "a folder as a store",
    "`--store .`",
    "a folder; name a file in it",
    lambda kit: kit.folder,
    ("estimate",),
)
_bad(
    "a store of another kind",
    "`mysql://host/db`",
    "postgresql://user@host/database",
    lambda kit: "mysql://host/db",
)


@trial(
    STORES,
    "a store that another program holds",
    "locked while it writes",
    REFUSED,
    ("locked", "wait until"),
)
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


@trial(
    STORES,
    "the target as a store",
    "`--store target.csv`",
    REFUSED,
    "would write over the input",
    ("estimate",),
)
def _(kit: Kit, form: str) -> Call:
    path = str(kit.put("t.csv", kit.target()))
    return kit.estimate(None, path, "--store", path)


trial(STORES, "new alarms without a store", "`--alarms new`", REFUSED, "--alarms new needs a store", ("estimate",),
    lambda kit, form: kit.estimate(None, None, "--alarms", "new"))  # fmt: skip
trial(STORES, "a job that is not in the store", "`history --job shops`", REFUSED, ("shops", "did you mean shop"),
    make=lambda kit, form: Call(["history", str(_written(kit)), "--job", "shops"]))  # fmt: skip


TASKS, MODELS = "Tasks on engines", "Models and images of others"
LISTENS_NOT = "127.0.0.1:9"


def _shift(kit: Kit, *more: str, broken: bool = False, **call: Any) -> Call:
    from PIL import Image

    home = kit.path("photos")
    home.mkdir(exist_ok=True)
    for number in range(3):
        Image.fromarray(np.full((8, 8, 3), 40 * number, dtype=np.uint8)).save(
            home / f"{number}.png"
        )
    if broken:
        (home / "1.png").write_bytes(b"no image")
    home = home
    words = [
        "shift",
        "image",
        str(home),
        "--kind",
        "fog",
        "--severity",
        "1",
        "--out",
        str(kit.path("shifted")),
    ]
    return Call([*words, *more], **call)


def _refused(name: str, came: str, words: Any, *more: str) -> None:
    trial(
        TASKS,
        name,
        came,
        REFUSED,
        words,
        make=lambda kit, form: _shift(kit, *more, check=_nothing_left(kit)),
    )


def _nothing_left(kit: Kit) -> Callable[[Outcome], str | None]:
    return lambda found: "something was written" if kit.path("shifted").exists() else None


_refused("an unknown engine", "`--engine rays`", "did you mean ray", "--engine", "rays")
_refused("no worker", "`--workers 0`", "at least one worker", "--workers", "0")
_refused("several workers of the engine local", "`--engine local --workers 3`", "one task after another", "--engine",
    "local", "--workers", "3")  # fmt: skip
_refused("a Ray address that does not answer", f"`--engine ray:{LISTENS_NOT}`", LISTENS_NOT, "--engine",
    f"ray:{LISTENS_NOT}")  # fmt: skip
_refused("a Spark master that does not answer", f"`--engine spark:spark://{LISTENS_NOT}`", LISTENS_NOT, "--engine",
    f"spark:spark://{LISTENS_NOT}")  # fmt: skip
_refused("a Connect server that does not answer", f"`--engine spark:sc://{LISTENS_NOT}`", LISTENS_NOT, "--engine",
    f"spark:sc://{LISTENS_NOT}")  # fmt: skip
trial(TASKS, "an image that a worker cannot decode", "`no image` in `1.png`, `--workers 2`", REFUSED, ("1.png", "skip"),
    make=lambda kit, form: _shift(kit, "--workers", "2", broken=True, check=_nothing_left(kit)))  # fmt: skip


@trial(
    TASKS,
    "a model that cannot travel",
    "a function of a session, `workers=2`",
    REFUSED,
    "by their paths",
)
def _(kit: Kit, form: str) -> Call:
    import oodometer

    rows = kit.path("rows.csv")
    rows.write_text("text,label\na,0\nb,1\n")
    out = kit.path("p.csv")

    def answer(texts: list[str]) -> Any:
        return np.full((len(texts), 2), 0.5)

    return Call(lambda: oodometer.predict(answer, rows, out=out, classes=[0, 1], workers=2))


def _predicted(kit: Kit, model: str, data: Path | None = None) -> Call:
    """`predict` of a model about two texts, or other data; nothing may be written."""
    rows, out = kit.path("texts.csv", "text\na\nb\n"), kit.path("p.csv")
    return Call(
        ["predict", model, str(data or rows), "--out", str(out)],
        check=lambda found: (
            "something was written" if out.exists() or kit.path("ran").exists() else None
        ),
    )


def _model(kit: Kit, config: dict[str, Any]) -> str:
    home = kit.path("model")
    home.mkdir(exist_ok=True)
    (home / "config.json").write_text(
        json.dumps({"architectures": ["BertForSequenceClassification"], **config})
    )
    (home / "pytorch_model.bin").write_bytes(b"a pickle")
    (home / "theirs.py").write_text(f"open({str(kit.path('ran'))!r}, 'w')\nclass Theirs: ...\n")
    vocabulary = {
        word: i for i, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"))
    }
    pieces = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    (home / "tokenizer.json").write_text(
        json.dumps({"version": "1.0", "added_tokens": [], "model": pieces})
    )
    return str(home)


trial(MODELS, "a model that brings code along", "`auto_map` in config.json, `theirs.py`", REFUSED, "auto_map",
    make=lambda kit, form: _predicted(kit,
        _model(kit, {"model_type": "theirs", "auto_map": {"AutoConfig": "theirs.Theirs"}})))  # fmt: skip
trial(MODELS, "pickled weights alone", "`pytorch_model.bin`", REFUSED, ("pytorch_model.bin", "safetensors"),
    make=lambda kit, form: _predicted(kit, _model(kit, {"model_type": "bert"})))  # fmt: skip
trial(MODELS, "a mistyped folder of a model", "`./modle`", REFUSED, ("no such folder", "hub:NAME"),
    make=lambda kit, form: _predicted(kit, str(kit.path("modle"))))  # fmt: skip


@trial(MODELS, "a function that ends the program", "`sys.exit(0)` in it", REFUSED, "SystemExit")
def _(kit: Kit, form: str) -> Call:
    name = f"ends_{kit.folder.name.replace('-', '_')}"
    kit.path(f"{name}.py", "import sys\ndef model(): sys.exit(0)\n")
    sys.path.append(str(kit.folder))
    return _predicted(kit, f"{name}:model")


@trial(
    MODELS,
    "an image of too many pixels",
    "a PNG of 30,000 x 30,000",
    REFUSED,
    ("more pixels", "make it smaller"),
)
def _(kit: Kit, form: str) -> Call:
    chunks = b"IHDR" + struct.pack(">IIBBBBB", 30_000, 30_000, 8, 0, 0, 0, 0), b"IDAT"
    photos = kit.path("photos")
    photos.mkdir(exist_ok=True)
    packed = [
        struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in chunks
    ]
    (photos / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(packed))
    kit.path("lights.py", "def answers(images): return [[0.5, 0.5]] * len(images)\n")
    sys.path.append(str(kit.folder))
    return _predicted(kit, "lights:answers", photos)


GROUP = "Fitted files"
MANY = 400_000_000
_DIGEST = 40  # characters of the checksum at the end


def _fitted(kit: Kit, name: str = "model.oodo") -> Path:
    """A file fitted on the clean reference, with the methods that calls ask for."""
    import oodometer

    path = kit.path(name)
    oodometer.fit(
        str(kit.clean("reference")), out=path, methods=list(METHODS), backtest=None, workers=1
    )
    return path


def _sealed(body: bytes) -> bytes:
    """A file whose checksum fits, as somebody else's version would write it."""
    from hashlib import blake2b

    body = body[:-_DIGEST]
    return body + blake2b(body, digest_size=_DIGEST // 2).hexdigest().encode()


def _refitted(
    name: str, came: str, words: str | tuple[str, ...], change: Callable[[bytes], bytes]
) -> None:
    @trial(GROUP, name, came, REFUSED, words, ("estimate", "audit", "backtest", "diagnose"))
    def _(kit: Kit, form: str) -> Call:
        path = kit.path("bad.oodo", change(_fitted(kit).read_bytes()))
        return Call([form, str(path), *([] if form == "backtest" else [str(kit.clean("target"))])])


_refitted(
    "cut off", "the first half of it", "cut off or damaged", lambda body: body[: len(body) // 2]
)
_refitted(
    "one bit another", "a bit of a number in the middle", "cut off or damaged",
    lambda body: body[: len(body) // 2] + bytes([body[len(body) // 2] ^ 1]) + body[len(body) // 2 + 1 :])  # fmt: skip
_refitted("empty", "no byte", "fitted file", lambda body: b"")
_refitted("no fitted file", "CSV under the ending .oodo", "fitted file",
    lambda body: b"prob_a,prob_b,label\n0.9,0.1,a\n")  # fmt: skip
_refitted(
    "of another version", "one of oodometer 9.1.0", ("9.1.0", "fit it again"),
    lambda body: _sealed(body.replace(f'"oodometer": "{__version__}"'.encode(), b'"oodometer": "9.1.0"')))  # fmt: skip
_refitted(
    "a class that is not ours",
    "`os:system` in the place of an estimator",
    "damaged",
    lambda body: _sealed(
        re.sub(rb"[a-z_.]+:SourceAccuracy", lambda one: b"os:system".ljust(len(one[0])), body)
    ),
)
trial(GROUP, "the reference's place", "a whole file, no options", SAME, (), ("estimate",),
    lambda kit, form: kit.estimate(_fitted(kit)))  # fmt: skip


@trial(
    GROUP,
    "a target of other classes",
    "`prob_fox` in the place of `prob_emu`",
    REFUSED,
    "prob_emu",
    ("estimate",),
)
def _(kit: Kit, form: str) -> Call:
    columns = {("prob_fox" if k == "prob_emu" else k): v for k, v in kit.target("prob_*").items()}
    return kit.estimate(_fitted(kit), kit.put("t.parquet", columns))


@trial(
    GROUP,
    "a target without the clusters of the fit",
    "no column passage",
    REFUSED,
    "--map",
    ("estimate", "audit"),
)
def _(kit: Kit, form: str) -> Call:
    import oodometer

    columns, path = kit.reference("prob_*", "label"), kit.path("clustered.oodo")
    given = {**columns, "passage": [row // 10 for row in range(len(columns["label"]))]}
    asked = {"methods": list(METHODS), "backtest": None, "workers": 1, "cluster": "passage"}
    oodometer.fit(str(kit.put("clustered.parquet", given)), out=path, **asked)  # type: ignore[arg-type]
    return Call([form, str(path), str(kit.clean("target"))])


trial(GROUP, "another level than that of the fit", "`--level 0.5`", REFUSED, ("level", "fit"), ("estimate",),
    lambda kit, form: kit.estimate(_fitted(kit), None, "--level", "0.5"))  # fmt: skip
trial(GROUP, "a method that was not fitted", "`--method pape`", REFUSED, "pape", ("estimate",),
    lambda kit, form: kit.estimate(_fitted(kit), None, "--method", "pape"))  # fmt: skip
trial(GROUP, "as the target", "a fitted file as TARGET", REFUSED, "REFERENCE", ("estimate", "diagnose", "audit"),
    lambda kit, form: Call([form, str(kit.clean("reference")), str(_fitted(kit))]))  # fmt: skip
trial(GROUP, "where predictions are judged", "a fitted file alone", REFUSED, "fitted file", ("evaluate", "compare"),
    lambda kit, form: Call([form, str(_fitted(kit)),
        *([str(kit.clean("reference"))] if form == "compare" else [])]))  # fmt: skip
trial(GROUP, "another ending", "`fit --out model.pkl`", REFUSED, ".oodo", ("fit",),
    lambda kit, form: Call(["fit", str(kit.clean("reference")), "--out", str(kit.path("model.pkl"))]))  # fmt: skip


def _array(descr: str, shape: int, content: bytes) -> bytes:
    kind = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape},), }}"
    return b"\x93NUMPY\x01\x00v\x00" + kind.ljust(117).encode() + b"\n" + content


for _name, _section in (
    ("400,000,000 objects in few bytes", f'{{"~": "objects", "s": [{MANY}], "v": []}}'),
    ("400,000,000 empty texts in few bytes", '{"~": "array", "v": 0}'),
    ("one array of 1 MB 4,000 times", "[" + ", ".join(['{"~": "array", "v": 1}'] * 4000) + "]"),
):

    @trial(GROUP, _name, f"`{_section[:40]}`", REFUSED, "cut off or damaged", ("estimate",))
    def _(kit: Kit, form: str, section: str = _section) -> Call:
        # A whole file whose sections are one tree of somebody else's
        import json

        from oodometer.persistence import Archive, archive_of

        archive = Archive.open(_fitted(kit))
        about = json.loads(archive._entry("oodometer.json"))
        files = [
            one for one in archive._entries if one.endswith(".json") and "oodometer" not in one
        ]
        sections = dict.fromkeys([one.removesuffix(".json") for one in files], json.loads(section))
        extra = {
            key: value
            for key, value in about.items()
            if key not in ("oodometer", "format", "arrays")
        }
        arrays = [_array("<U0", MANY, b""), _array("|u1", 1 << 20, bytes(1 << 20))]
        path = str(kit.path("evil.oodo", archive_of(extra, sections, arrays)))
        return Call([form, path, str(kit.clean("target"))], process=True, memory=3000)


def _other_piece(
    name: str, came: str, where: tuple[str, ...], value: object, remedy: str = "fit it again"
) -> None:
    @trial(GROUP, name, came, REFUSED, ("odd.oodo", remedy), ("estimate",))
    def _(kit: Kit, form: str) -> Call:
        import json

        from oodometer.persistence import Archive, archive_of

        archive = Archive.open(_fitted(kit))
        about = json.loads(archive._entry("oodometer.json"))
        sections = {one: archive.section(one) for one in ("fitted", "record")}
        piece = sections["fitted"]
        for key in where[:-1]:
            piece = piece[key]
        piece[where[-1]] = value
        extra = {
            key: told for key, told in about.items() if key not in ("oodometer", "format", "arrays")
        }
        path = kit.path("odd.oodo", archive_of(extra, sections, archive.arrays))
        return Call([form, str(path), str(kit.clean("target"))])


_other_piece(
    "a text for a score",
    "`_score` of a method",
    ("plan", "v", "methods", "atc", "v", "_score"),
    "2026",
)
_other_piece("a number for what was asked", "`options.methods`", ("options", "methods"), [10**9])
_other_piece(
    "a number for the drawings", "`figures`", ("figures",), -1, "write it again with `oodometer fit"
)


@trial(
    GROUP, "a pipe", "`mkfifo model.oodo`", REFUSED, ("a pipe or device",), ("estimate", "library")
)
def _(kit: Kit, form: str) -> Call:
    path = kit.path("pipe.oodo")
    if not path.exists():
        os.mkfifo(path)
    if form == "library":
        return Call(kit.library(str(path), str(kit.clean("target"))), seconds=20)
    return Call([form, str(path), str(kit.clean("target"))], process=True, seconds=20)
