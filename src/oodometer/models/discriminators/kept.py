"""Kept: a finished training in a folder that appears whole or not at all, with the name of its training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...store.atomic import whole_folder
from ...store.kept import checksum_of_files, made_anew, read_kept, write_kept

__all__ = ["keep", "trained_as"]

TRAINING = "training.json"


def keep(home: Path, training: str, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a new folder, put the name of the training into it, and move it to ``home``."""
    with whole_folder(home) as part:
        write(part)
        names = sorted(str(one.relative_to(part)) for one in part.rglob("*") if one.is_file())
        write_kept(part / TRAINING, "training", [training, checksum_of_files(part, names)])


def trained_as(home: Path) -> str | None:
    """The name of the training that a folder comes from; None where there is none, or where a file of it is damaged.

    >>> trained_as(Path("no-such-folder"))
    """
    found = read_kept(home / TRAINING, "training")
    if found is None:
        return None
    training, files = found
    try:
        if checksum_of_files(home, files) == files:
            return str(training)
    except OSError:
        pass
    made_anew(home, "a file of the finished training is damaged or gone")
    return None
