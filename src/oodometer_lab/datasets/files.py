"""Files of data sets: the folder OODOMETER_DATA, else the hub; lines, archives, and every fault in one line."""

from __future__ import annotations

import json
import lzma
import os
import socket
import tarfile
import time
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from oodometer.errors import InputError, UsageError, WorkError, needed

_BROKEN = (lzma.LZMAError, zlib.error, tarfile.TarError, EOFError, UnicodeDecodeError, OSError)


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file, without their ends; unpacked where its name ends in .xz."""
    try:
        opener = lzma.open if path.suffix == ".xz" else open
        with opener(path, "rt", encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line.rstrip("\r\n")
    except FileNotFoundError:
        raise missing_file(path) from None
    except _BROKEN as error:
        kind = "an .xz file of text" if path.suffix == ".xz" else "a file of text in UTF-8"
        raise damaged(kind, str(error) or type(error).__name__, path) from error


def read_objects(path: Path, *needed: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row (from 1) and object of each line of a JSONL file; each object must have the keys ``needed``."""
    for row, line in enumerate(read_lines(path), 1):
        try:
            row_object = json.loads(line)
        except ValueError:
            row_object = None
        if not isinstance(row_object, dict) or any(key not in row_object for key in needed):
            raise damaged(f"JSON with {', '.join(needed)}", repr(line[:40]), path, row)
        yield row, row_object


def read_member(path: Path, member: str) -> list[str]:
    """Lines of a member (cogs/train.tsv) of a .tar.xz archive, or of the unpacked file beside the archive."""
    unpacked = path.parent / member
    if unpacked.is_file():
        return list(read_lines(unpacked))
    try:
        with tarfile.open(path) as archive:
            file = archive.extractfile(member)
            if file is None:
                raise KeyError(member)
            return [
                line.rstrip("\r")
                for line in file.read().decode("utf-8").removesuffix("\n").split("\n")
            ]
    except FileNotFoundError:
        raise missing_file(path) from None
    except KeyError as error:
        raise damaged(
            f"a file {member} in the archive", "none", path, what="the archive"
        ) from error
    except _BROKEN as error:
        raise damaged(
            "a .tar.xz archive of text", str(error) or type(error).__name__, path
        ) from error


def missing_file(path: Path) -> InputError:
    """The error for a file that the folder of data does not hold."""
    remedy = "put it there, or unset OODOMETER_DATA to load from the hub"
    return InputError(
        "a data file in the folder of OODOMETER_DATA",
        got="no such file",
        remedy=remedy,
        file=str(path),
    )


def damaged(
    expected: str,
    got: str,
    path: Path | str,
    row: int | None = None,
    *,
    what: str = "the file",
    **where: Any,
) -> InputError:
    """The error for data that were fetched and are not what they should be: fetching them again is the remedy."""
    return InputError(
        expected, got=got, remedy=f"fetch {what} again", file=str(path), row=row, **where
    )


def data_folder() -> Path | None:
    """The folder OODOMETER_DATA, else ``../shared/data`` of a checkout, else None; `InputError` for no folder."""
    named = os.environ.get("OODOMETER_DATA")
    if named:
        folder = Path(named)
        if not folder.is_dir():
            remedy = "name the folder, or unset it to load from the hub"
            raise InputError(
                "a folder of data sets in OODOMETER_DATA",
                got="no such folder",
                remedy=remedy,
                file=named,
            )
        return folder
    root = Path(__file__).resolve().parents[3]
    beside = root.parent / "shared" / "data"
    return beside if (root / "pyproject.toml").is_file() and beside.is_dir() else None


def data_file(name: str, what: str, files: str = "") -> Path:
    """Where a file of the folder of data is; `WorkError` without a folder, for data, ``what``, that are on no hub."""
    folder = data_folder()
    if folder is None:
        put = f"put {files or name} into a folder and name that folder in OODOMETER_DATA"
        raise WorkError(f"{what} is not on the hub; {put}")
    return folder / name


def check_name(name: Any, names: Sequence[str], what: str = "") -> None:
    """`UsageError` for what is none of the names that are known."""
    if name not in names:
        raise UsageError(f"expected {what}{', '.join(names[:-1])} or {names[-1]}, got {name!r}")


def parse_json(text: str, expected: str, path: Path, got: str | None = None) -> Any:
    """What a file of JSON holds; `InputError` where it is none."""
    try:
        return json.loads(text)
    except ValueError as error:
        what = "it" if got is None else "the archive"
        raise damaged(expected, got or type(error).__name__, path, what=what) from error


_REMEDY = "set OODOMETER_DATA to a folder that holds the data"
_PATIENCE = 5.0  # seconds that a connection may take
# seconds that an answer is good for: a run that wants six things from the hub asks it once
_KEPT = 60


def hub_answers() -> bool:
    """Whether the hub can be reached and may be: one that cannot is otherwise asked six times for every file."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or getproxies():
        return not constants.HF_HUB_OFFLINE
    address = urlsplit(constants.ENDPOINT)
    port = address.port or {"http": 80, "https": 443}.get(address.scheme, 443)
    return _connects(address.hostname or "", port, int(time.monotonic() // _KEPT))


@lru_cache(maxsize=4)
def _connects(host: str, port: int, minute: int) -> bool:
    try:
        with socket.create_connection((host, port), _PATIENCE):
            return True
    except OSError:
        return False


def hub_rows(source: str, split: str, part: str | None = None) -> Any:
    """Rows of a split, each a mapping of columns; of a hub that does not answer what was downloaded before."""
    load_dataset = needed("datasets", "loading data from the hub", extra="hf").load_dataset
    if not hub_answers():
        from datasets import config

        if not (Path(config.HF_DATASETS_CACHE) / source.replace("/", "___")).is_dir():
            raise WorkError(f"cannot load {source} from the hub, which does not answer; {_REMEDY}")
    try:
        return (
            load_dataset(source, part, split=split) if part else load_dataset(source, split=split)
        )
    except Exception as error:  # no network, no such set: many classes, one remedy
        raise WorkError(
            f"cannot load {source} ({split}) from the hub ({type(error).__name__}); {_REMEDY}"
        ) from error
