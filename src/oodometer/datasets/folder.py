"""The folder of data sets: OODOMETER_DATA, or the one beside a checkout; without one the hub is asked."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError


def data_folder() -> Path | None:
    """The folder named by OODOMETER_DATA, else ``../shared/data`` beside a checkout, else None: then the hub is asked.

    Raises `InputError` where OODOMETER_DATA names no folder.
    """
    named = os.environ.get("OODOMETER_DATA")
    if named:
        folder = Path(named)
        if not folder.is_dir():
            raise InputError(
                "a folder of data sets in OODOMETER_DATA",
                got="no such folder",
                remedy="name the folder, or unset it to load from the hub",
                file=named,
            )
        return folder
    root = Path(__file__).resolve().parents[3]
    beside = root.parent / "shared" / "data"
    return beside if (root / "pyproject.toml").is_file() and beside.is_dir() else None
