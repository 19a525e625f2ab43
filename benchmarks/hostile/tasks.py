"""Classes of tasks: engines that are none, models that cannot travel, images that a worker cannot read."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .base import REFUSED, Call, Kit, Outcome, trial

TASKS, MODELS = "Tasks on engines", "Models and images of others"
LISTENS_NOT = "127.0.0.1:9"


def _shift(kit: Kit, *more: str, broken: bool = False, **call: Any) -> Call:
    from PIL import Image

    home = kit.path("photos")
    home.mkdir(exist_ok=True)
    for number in range(3):
        Image.fromarray(np.full((8, 8, 3), 40 * number, dtype=np.uint8)).save(home / f"{number}.png")
    if broken:
        (home / "1.png").write_bytes(b"no image")
    home = home
    words = ["shift", "image", str(home), "--kind", "fog", "--severity", "1", "--out", str(kit.path("shifted"))]
    return Call([*words, *more], **call)


def _refused(name: str, came: str, words: Any, *more: str) -> None:
    trial(TASKS, name, came, REFUSED, words, make=lambda kit, form: _shift(kit, *more, check=_nothing_left(kit)))


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


@trial(TASKS, "a model that cannot travel", "a function of a session, `workers=2`", REFUSED, "by their paths")
def _(kit: Kit, form: str) -> Call:
    import oodometer

    rows = kit.path("rows.csv")
    rows.write_text("text,label\na,0\nb,1\n")
    out = kit.path("p.csv")

    def answer(texts: list[str]) -> Any:
        return np.full((len(texts), 2), 0.5)

    return Call(lambda: oodometer.predict(answer, rows, out=out, classes=[0, 1], workers=2))


def _asked(kit: Kit, model: str, data: Path | None = None) -> Call:
    """`predict` of a model about two texts, or other data; nothing may be written."""
    rows, out = kit.path("texts.csv", "text\na\nb\n"), kit.path("p.csv")
    return Call(
        ["predict", model, str(data or rows), "--out", str(out)],
        check=lambda found: "something was written" if out.exists() or kit.path("ran").exists() else None,
    )


def _model(kit: Kit, config: dict[str, Any]) -> str:
    home = kit.path("model")
    home.mkdir(exist_ok=True)
    (home / "config.json").write_text(json.dumps({"architectures": ["BertForSequenceClassification"], **config}))
    (home / "pytorch_model.bin").write_bytes(b"a pickle")
    (home / "theirs.py").write_text(f"open({str(kit.path('ran'))!r}, 'w')\nclass Theirs: ...\n")
    vocabulary = {word: i for i, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"))}
    pieces = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    (home / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": pieces}))
    return str(home)


trial(MODELS, "a model that brings code along", "`auto_map` in config.json, `theirs.py`", REFUSED, "auto_map",
    make=lambda kit, form: _asked(kit,
        _model(kit, {"model_type": "theirs", "auto_map": {"AutoConfig": "theirs.Theirs"}})))  # fmt: skip
trial(MODELS, "pickled weights alone", "`pytorch_model.bin`", REFUSED, ("pytorch_model.bin", "safetensors"),
    make=lambda kit, form: _asked(kit, _model(kit, {"model_type": "bert"})))  # fmt: skip
trial(MODELS, "a mistyped folder of a model", "`./modle`", REFUSED, ("no such folder", "hub:NAME"),
    make=lambda kit, form: _asked(kit, str(kit.path("modle"))))  # fmt: skip


@trial(MODELS, "a function that ends the program", "`sys.exit(0)` in it", REFUSED, "SystemExit")
def _(kit: Kit, form: str) -> Call:
    name = f"ends_{kit.folder.name.replace('-', '_')}"
    kit.path(f"{name}.py", "import sys\ndef model(): sys.exit(0)\n")
    sys.path.append(str(kit.folder))
    return _asked(kit, f"{name}:model")


@trial(MODELS, "an image of too many pixels", "a PNG of 30,000 x 30,000", REFUSED, ("more pixels", "make it smaller"))
def _(kit: Kit, form: str) -> Call:
    chunks = b"IHDR" + struct.pack(">IIBBBBB", 30_000, 30_000, 8, 0, 0, 0, 0), b"IDAT"
    photos = kit.path("photos")
    photos.mkdir(exist_ok=True)
    packed = [struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in chunks]
    (photos / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(packed))
    kit.path("lights.py", "def answers(images): return [[0.5, 0.5]] * len(images)\n")
    sys.path.append(str(kit.folder))
    return _asked(kit, "lights:answers", photos)
