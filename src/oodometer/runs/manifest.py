"""Manifest: `run.json`, which says what a run is, how far it came, and how it ended; a killed run leaves it, too."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..store.atomic import write_atomic
from ..version import __version__

MANIFEST = "run.json"
LOCK = "lock"
_FORMAT = 1
_PAUSE = 1.0  # seconds between two notes of how far a run is


class Manifest:
    """What a run in the folder ``home`` notes of itself; ``about`` says what the run is (texts by name, verb first).

    >>> import tempfile
    >>> run = Manifest(Path(tempfile.mkdtemp()), {"verb": "predict", "data": "a.csv"})
    >>> run.begin()
    >>> run.tell(done=3, parts=7, worked=1)
    >>> run.end("finished")
    >>> told = read_manifest(run.home)
    >>> told["status"], told["done"], told["parts"], told["read"]
    ('finished', 3, 7, 1)
    """

    def __init__(self, home: Path, about: Mapping[str, str]) -> None:
        self.home, self.about = home, dict(about)
        self._told: dict[str, Any] = {}
        self._noted = 0.0

    def begin(self) -> None:
        """Note that the run begins."""
        self._told = {
            "format": _FORMAT,
            "oodometer": __version__,
            "about": self.about,
            "status": "running",
            "began": _now(),
            "ended": None,
            "why": None,
            "parts": 0,
            "done": 0,
            "read": 0,
        }
        self._write()

    def tell(self, done: int, parts: int, worked: int = 0) -> None:
        """How many parts are done and how many there are, 0 where nobody knows; ``worked`` of them were just done."""
        before = self._told
        self._told = {**before, "done": done, "parts": parts, "read": before["read"] + worked}
        self._note(not before["parts"])

    def end(self, status: str, why: str | None = None) -> None:
        """Note how the run ended."""
        self._told |= {"status": status, "why": why, "ended": _now()}
        self._write()

    def _note(self, at_once: bool = False) -> None:
        """Write what is known, but not at every part."""
        if at_once or time.monotonic() - self._noted > _PAUSE:
            self._write()

    def _write(self) -> None:
        self._noted = time.monotonic()
        write_atomic(self.home / MANIFEST, json.dumps(self._told, indent=1, ensure_ascii=False) + "\n")


def read_manifest(home: Path) -> dict[str, Any] | None:
    """What a folder says of its run, None where there is none; `InputError` for a damaged or foreign manifest."""
    path = home / MANIFEST
    try:
        if path.exists() and not path.is_file():
            raise OSError("a folder, pipe or device")
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(
            "the manifest of a run", got=" ".join(str(error).split())[:160], remedy="remove the folder", file=str(path)
        ) from None
    if not isinstance(told, dict) or told.get("format") != _FORMAT or not isinstance(told.get("about"), dict):
        got = f"format {told.get('format')}" if isinstance(told, dict) else "something else"
        raise InputError(
            f"the manifest of a run (format {_FORMAT})",
            got=got,
            remedy=f"remove the folder, or use the version of oodometer that wrote it (here is {__version__})",
            file=str(path),
        )
    return told


def cleared(home: Path) -> Path:
    """The folder without what an earlier job left in it; the manifest and the lock of the run that is in it stay."""
    for one in home.iterdir():
        if one.name not in (LOCK, MANIFEST):
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one, ignore_errors=True)
            else:
                with suppress(OSError):
                    one.unlink()
    return home


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
