"""Answers: where a step leaves what models said, as arrays in NPZ files, and how it is read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...store import write_atomic
from ..base import Progress, Workspace


@final
@dataclass(frozen=True)
class Place:
    """Where a piece of work leaves its files, and whom it tells how far it is."""

    workspace: Workspace
    folder: str
    progress: Progress


def store_answers(place: Place, name: str, arrays: Mapping[str, Any]) -> None:
    """Write named arrays to ``<folder>/<name>.npz``, whole or not at all."""
    write_atomic(place.workspace / f"{place.folder}/{name}.npz", lambda file: np.savez(file, **arrays))


def load_answers(workspace: Workspace, folder: str, name: str) -> dict[str, Array]:
    """Read them back."""
    with np.load(workspace.folder / folder / f"{name}.npz", allow_pickle=False) as held:
        return {key: held[key] for key in held.files}
