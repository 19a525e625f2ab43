"""Classes of tasks: engines that are none, models that cannot travel, images that a worker cannot read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .base import REFUSED, Call, Kit, Outcome, trial

TASKS = "Tasks on engines"
LISTENS_NOT = "127.0.0.1:9"


def _images(kit: Kit, broken: bool = False) -> Path:
    """Three images in a folder, of which one may hold no image."""
    from PIL import Image

    home = kit.path("photos")
    home.mkdir(exist_ok=True)
    for number in range(3):
        Image.fromarray(np.full((8, 8, 3), 40 * number, dtype=np.uint8)).save(home / f"{number}.png")
    if broken:
        (home / "1.png").write_bytes(b"no image")
    return home


def _shift(kit: Kit, *more: str, broken: bool = False, **call: Any) -> Call:
    home = _images(kit, broken)
    words = ["shift", "image", str(home), "--kind", "fog", "--severity", "1", "--out", str(kit.path("shifted"))]
    return Call([*words, *more], **call)


def _refused(name: str, came: str, words: Any, *more: str) -> None:
    @trial(TASKS, name, came, REFUSED, words)
    def _(kit: Kit, form: str) -> Call:
        return _shift(kit, *more, check=_nothing_left(kit))


def _nothing_left(kit: Kit) -> Callable[[Outcome], str | None]:
    return lambda found: "something was written" if kit.path("shifted").exists() else None


_refused("an unknown engine", "`--engine rays`", "did you mean ray", "--engine", "rays")
_refused("no worker", "`--workers 0`", "at least one worker", "--workers", "0")
_refused(
    "several workers of the engine local",
    "`--engine local --workers 3`",
    "one task after another",
    "--engine",
    "local",
    "--workers",
    "3",
)
_refused(
    "a Ray address that does not answer", f"`--engine ray:{LISTENS_NOT}`", LISTENS_NOT, "--engine", f"ray:{LISTENS_NOT}"
)
_refused(
    "a Spark master that does not answer",
    f"`--engine spark:spark://{LISTENS_NOT}`",
    LISTENS_NOT,
    "--engine",
    f"spark:spark://{LISTENS_NOT}",
)
_refused(
    "a Connect server that does not answer",
    f"`--engine spark:sc://{LISTENS_NOT}`",
    LISTENS_NOT,
    "--engine",
    f"spark:sc://{LISTENS_NOT}",
)


@trial(
    TASKS, "an image that a worker cannot decode", "`no image` in `1.png`, `--workers 2`", REFUSED, ("1.png", "skip")
)
def _(kit: Kit, form: str) -> Call:
    return _shift(kit, "--workers", "2", broken=True, check=_nothing_left(kit))


@trial(TASKS, "a model that cannot travel", "a function of a session, `workers=2`", REFUSED, "by their paths")
def _(kit: Kit, form: str) -> Call:
    import oodometer

    rows = kit.path("rows.csv")
    rows.write_text("text,label\na,0\nb,1\n")
    out = kit.path("p.csv")

    def answer(texts: list[str]) -> Any:
        return np.full((len(texts), 2), 0.5)

    return Call(lambda: oodometer.predict(answer, rows, out=out, classes=[0, 1], workers=2))
