"""The hub: rows of a data set by its name there, where no folder of data is given."""

from __future__ import annotations

from typing import Any

from ..errors import MissingExtraError, WorkError

__all__ = ["hub_rows", "without_hub"]


def hub_rows(source: str, split: str, config: str | None = None) -> Any:
    """Rows of a split, each a mapping of columns.

    Raises `MissingExtraError` without the library, `WorkError` where the set cannot be loaded.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise MissingExtraError("loading data from the hub", "datasets", extra="hf") from error
    try:
        return load_dataset(source, config, split=split) if config else load_dataset(source, split=split)
    except Exception as error:  # no network, no such set: many classes, one remedy
        raise WorkError(
            f"cannot load {source} ({split}) from the hub ({type(error).__name__}); set OODOMETER_DATA to a folder "
            "that holds the data"
        ) from error


def without_hub(what: str, files: str) -> WorkError:
    """The error for a data set that is on no hub or may not be there.

    >>> print(without_hub("the Penn Treebank", "ptb/"))
    the Penn Treebank is not on the hub; put ptb/ into a folder and name that folder in OODOMETER_DATA
    """
    return WorkError(f"{what} is not on the hub; put {files} into a folder and name that folder in OODOMETER_DATA")
