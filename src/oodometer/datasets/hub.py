"""The hub: whether it answers, and rows of a data set by its name there, where no folder of data is given."""

from __future__ import annotations

import socket
import time
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from ..errors import MissingExtraError, WorkError

_PATIENCE = 5.0  # seconds that a connection may take
_PORTS = {"http": 80, "https": 443}
_KEPT = 60  # seconds that an answer is good for: a run that wants six things from the hub asks it once


def hub_answers() -> bool:
    """Whether the Hugging Face hub can be reached and may be; with a proxy nobody but the proxy can tell, and it may.

    A hub that cannot be reached is otherwise asked six times for every file, half a minute each.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    if getproxies():
        return True
    place = urlsplit(constants.ENDPOINT)
    port = place.port or _PORTS.get(place.scheme, 443)
    return _connects(place.hostname or "", port, int(time.monotonic() // _KEPT))


@lru_cache(maxsize=4)
def _connects(host: str, port: int, minute: int) -> bool:
    try:
        with socket.create_connection((host, port), _PATIENCE):
            return True
    except OSError:
        return False


def hub_rows(source: str, split: str, config: str | None = None) -> Any:
    """Rows of a split, each a mapping of columns.

    A hub that does not answer is not asked again: what was downloaded before is used. Raises `MissingExtraError`
    without the library, `WorkError` where the set cannot be loaded.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise MissingExtraError("loading data from the hub", "datasets", extra="hf") from error
    if not hub_answers() and not _downloaded(source):
        raise WorkError(
            f"cannot load {source} from the hub, which does not answer; set OODOMETER_DATA to a folder that holds the "
            "data"
        )
    try:
        return load_dataset(source, config, split=split) if config else load_dataset(source, split=split)
    except Exception as error:  # no network, no such set: many classes, one remedy
        raise WorkError(
            f"cannot load {source} ({split}) from the hub ({type(error).__name__}); set OODOMETER_DATA to a folder "
            "that holds the data"
        ) from error


def _downloaded(source: str) -> bool:
    """Whether something of a data set was downloaded before."""
    from datasets import config

    return (Path(config.HF_DATASETS_CACHE) / source.replace("/", "___")).is_dir()


def without_hub(what: str, files: str) -> WorkError:
    """The error for a data set that is on no hub or may not be there.

    >>> print(without_hub("the Penn Treebank", "ptb/"))
    the Penn Treebank is not on the hub; put ptb/ into a folder and name that folder in OODOMETER_DATA
    """
    return WorkError(f"{what} is not on the hub; put {files} into a folder and name that folder in OODOMETER_DATA")
