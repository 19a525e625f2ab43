"""Kept: a finished training in a folder that appears whole or not at all, with the name of its training."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

from ...store import write_atomic

__all__ = ["keep", "trained_as"]

TRAINING = "training.json"


def keep(home: Path, training: str, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a new folder, put the name of the training into it, and move it to ``home``."""
    part = home.with_name(f".{home.name}.{secrets.token_hex(6)}.part")
    try:
        write(part)
        write_atomic(part / TRAINING, json.dumps({"training": training}) + "\n")
        shutil.rmtree(home, ignore_errors=True)
        part.rename(home)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def trained_as(home: Path) -> str | None:
    """The name of the training that a folder comes from; None where there is none.

    >>> trained_as(Path("no-such-folder"))
    """
    try:
        return str(json.loads((home / TRAINING).read_text(encoding="utf-8"))["training"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
