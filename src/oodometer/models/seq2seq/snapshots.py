"""Snapshots: a model as it was after every so many steps of its training, each in a folder that can be loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from ...errors import InputError, UsageError
from ...store import whole_folder
from ..artifacts import read_description

_NAME = re.compile(r"step-(\d+)")


def snapshot_folders(path: str | os.PathLike[str]) -> list[Path]:
    """Folders of the snapshots below ``path``, by step; `InputError` where there is no such folder.

    >>> snapshot_folders("no-such-folder")
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder: expected a folder of snapshots, got no such folder; ...
    """
    home = Path(path)
    if not home.is_dir():
        raise InputError(
            "a folder of snapshots",
            got="no such folder",
            file=str(home),
            remedy="name the one that fit(snapshots=...) wrote",
        )
    found = {int(match[1]): one for one in home.iterdir() if one.is_dir() and (match := _NAME.fullmatch(one.name))}
    return [found[step] for step in sorted(found)]


@final
class Snapshots:
    """Writes the snapshots of one training: after every ``every`` steps, at most the first ``most``.

    Parameters
    ----------
    home : the folder they go to.
    every, most : which steps are kept.
    training : `fingerprint` of the training; snapshots of another one in the same folder are an error.
    save : writes the model to a folder.
    """

    def __init__(
        self, home: Path, every: int, most: int | None, training: str, save: Callable[[Path, int], object]
    ) -> None:
        if every < 1 or (most is not None and most < 1):
            raise UsageError(f"expected every and most of at least 1, got {every} and {most}")
        self.home, self.every, self.most, self.training, self._save = home, every, most, training, save
        for folder in snapshot_folders(home) if home.is_dir() else []:
            if read_description(folder).get("training") != training:
                raise InputError(
                    "snapshots of this very training, or none",
                    got="one of another model, other data or another config",
                    remedy="give an empty folder or remove them",
                    file=str(folder),
                )

    def folder(self, step: int) -> Path:
        """Where the snapshot of a step is."""
        return self.home / f"step-{step:06d}"

    def wanted(self, step: int) -> bool:
        """Whether there is to be one after this step."""
        return step > 0 and step % self.every == 0 and (self.most is None or step // self.every <= self.most)

    def complete(self, step: int) -> bool:
        """Whether all that come before this step are there, so that the training may go on from it."""
        last = (step - 1) // self.every if self.most is None else min((step - 1) // self.every, self.most)
        return all(self.folder(one * self.every).is_dir() for one in range(1, last + 1))

    def keep(self, step: int) -> None:
        """Write the snapshot of this step if it is wanted and not there; it appears whole or not at all."""
        target = self.folder(step)
        if not self.wanted(step) or target.is_dir():
            return
        self.home.mkdir(parents=True, exist_ok=True)
        with whole_folder(target) as part:
            self._save(part, step)


@dataclass(frozen=True)
class SnapshotOptions:
    """Which snapshots `EncoderDecoder.fit` keeps: none without a folder; `UsageError` for a folder or steps alone.

    >>> SnapshotOptions(every=5)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected both snapshots=FOLDER and every=STEPS, got one; give the other or neither
    """

    snapshots: str | os.PathLike[str] | None = None
    every: int | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        if (self.snapshots is None) != (self.every is None):
            raise UsageError("expected both snapshots=FOLDER and every=STEPS, got one; give the other or neither")

    def keeper(self, training: str, save: Callable[..., object]) -> Snapshots | None:
        """What writes them, with ``save(folder, step=, training=)``; None where none are wanted."""
        if self.snapshots is None or self.every is None:
            return None
        return Snapshots(
            Path(self.snapshots),
            self.every,
            self.most,
            training,
            lambda folder, step: save(folder, step=step, training=training),
        )
