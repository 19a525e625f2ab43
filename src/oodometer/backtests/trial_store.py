"""The trial store: trials kept on disk as they are run, so that a backtest is resumed and reused, never repeated."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Ragged
from ..errors import UsageError, WorkError
from ..fields import FIELDS
from ..predictions import Predictions
from ..results import Skipped
from ..store.artifact_cache import checksum, made_anew
from ..store.atomic import open_unfollowed, write_atomic
from ..version import __version__
from .trials import Key, Trial

_FORMAT = 3  # raise it when trials of before can no longer be compared


def cache_folder() -> Path | None:
    """Where backtests are kept: ``$OODOMETER_CACHE``, else ``oodometer`` in the user's cache folder; None if empty.

    Setting the variable to an empty string switches the cache off.
    """
    named = os.environ.get("OODOMETER_CACHE")
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "oodometer"
    except RuntimeError:  # a user without a home
        return None


def fingerprint(record: Predictions, **options: Any) -> str:
    """A hash of everything that a backtest depends on: the rows, the options and the version of the program.

    >>> p = Predictions.from_classes([0, 1], label=[0, 1])
    >>> fingerprint(p, seed=0) == fingerprint(p, seed=0), fingerprint(p, seed=0) == fingerprint(p, seed=1)
    (True, False)
    """
    found = hashlib.blake2b(digest_size=16)
    found.update(json.dumps([_FORMAT, __version__, options], sort_keys=True, default=str).encode())
    for name, field in FIELDS.items():
        value = getattr(record, name)
        if value is None or field.on_request:
            continue
        found.update(name.encode())
        for array in (value.values, value.offsets) if isinstance(value, Ragged) else (value,):
            plain = array if array.dtype.kind in "iufbM" else np.array([str(v) for v in array.tolist()])
            found.update(str((plain.dtype, plain.shape)).encode())
            found.update(np.ascontiguousarray(plain).view(np.uint8).data)
    return found.hexdigest()


class TrialStore:
    """Trials of one backtest, a line of JSON each; without a folder it remembers nothing.

    A trial that could not be drawn is kept as null, so that it is not tried again. Every line carries a checksum of
    itself and of the name of the backtest: one that was cut off when a run was interrupted, that is damaged, or that
    comes from elsewhere is left out with a warning, and its trial is run again. Lines are added in one piece, so that
    several runs may keep their trials in the same file.

    Parameters
    ----------
    folder : where files are kept, or None.
    name : fingerprint of the backtest.
    """

    def __init__(self, folder: Path | None, name: str) -> None:
        self.name = name
        self.path = None if folder is None else folder / "backtests" / f"{name}.jsonl"

    def read(self) -> tuple[dict[Key, Trial | None], list[Skipped]]:
        """The trials that are there, and the methods that could not be fitted, in the order of being noted."""
        trials: dict[Key, Trial | None] = {}
        skipped: dict[str, Skipped] = {}
        good, bad = [], 0
        for line in self._lines():
            try:
                plain = self._opened(line)
                if "skipped" in plain:
                    method, why = map(str, plain["skipped"])
                    skipped.setdefault(method, Skipped(method, why))
                else:
                    key = (str(plain["key"][0]), float(plain["key"][1]), int(plain["key"][2]))
                    trials[key] = None if plain["trial"] is None else Trial.from_dict(plain["trial"])
                good.append(line)
            except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
                bad += 1
        if bad and self.path is not None:
            made_anew(self.path, f"{bad} of {bad + len(good)} trials kept there are damaged or cut off")
            self._rewrite(good)
        return trials, list(skipped.values())

    def _sealed(self, plain: dict[str, Any]) -> str:
        """A line with its checksum in front."""
        said = json.dumps(plain)
        return f"{checksum(str(_FORMAT), self.name, said)} {said}"

    def _opened(self, line: str) -> dict[str, Any]:
        """What a line holds; `ValueError` where it is not what was written."""
        found, _, said = line.partition(" ")
        if found != checksum(str(_FORMAT), self.name, said):
            raise ValueError("another checksum")
        plain: dict[str, Any] = json.loads(said)
        return plain

    def _rewrite(self, lines: list[str]) -> None:
        """The file without what is damaged, so that this is said once."""
        assert self.path is not None
        try:
            write_atomic(self.path, "".join(f"{line}\n" for line in lines))
        except (UsageError, WorkError):
            self.path = None

    def append(self, found: Iterable[tuple[Key, Trial | None]], skipped: Iterable[Skipped] = ()) -> None:
        """Add trials and skipped methods; a folder that cannot be written to is no reason to fail."""
        if self.path is None:
            return
        lines = [self._sealed({"skipped": [s.method, s.why]}) for s in skipped]
        lines += [
            self._sealed({"key": list(key), "trial": None if trial is None else trial.to_dict()})
            for key, trial in found
        ]
        if not lines:
            return
        block = ("\n".join(lines) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a+b", buffering=0, opener=open_unfollowed) as file:
                if file.tell() and file.seek(-1, os.SEEK_END) and file.read(1) != b"\n":
                    # a line that an interrupted run left unfinished must not swallow the next
                    block = b"\n" + block
                file.write(block)  # one call of the system, behind what others wrote
        except OSError:
            self.path = None

    def _lines(self) -> Iterator[str]:
        """The lines of the file that are not empty; none of a file that cannot be read."""
        if self.path is None:
            return
        try:
            text = self.path.read_bytes().decode("utf-8", "replace")
        except OSError:
            return
        yield from (line for line in text.split("\n") if line)
