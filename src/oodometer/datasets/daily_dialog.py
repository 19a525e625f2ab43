"""DailyDialog: everyday conversations, from the folder OODOMETER_DATA or the hub."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import InputError, UsageError
from .base import Dataset
from .files import read_objects
from .folder import data_folder
from .hub import hub_rows
from .response_ranking import Conversation, replies

_SPLITS = ("train", "validation", "test")
_SEEN, _NEW = "also in train", "new"


def daily_dialog(split: str, *, candidates: int = 10, seed: int = 0) -> Dataset:
    """DailyDialog for response ranking: every turn but the first a reply once, among ``candidates`` of the same split.

    ``split``: ``train``, ``validation`` or ``test``; 11,118, 1,000 and 1,000 conversations. The type of a reply says
    whether its whole conversation also stands in the training split, as 93 of the test split do. See `replies` for
    candidates and ids. Source: Li et al. (2017), non-commercial licence.
    """
    found = daily_dialog_conversations(split)
    seen = {turns for _, turns in daily_dialog_conversations("train")} if split != "train" else set()
    types = {name: _SEEN if turns in seen else _NEW for name, turns in found}
    folder = data_folder()
    source = "li2017/dailydialog" if folder is None else str(_file(folder))
    return replies(found, f"DailyDialog {split}", candidates=candidates, seed=seed, types=types, source=source)


def daily_dialog_conversations(split: str) -> list[Conversation]:
    """Name and turns of each conversation of a split. Raises `InputError` for a damaged file, `UsageError` for a split
    that there is not.

    Read from ``dailydialog.jsonl.xz`` (`split`, `i`, `turns`) or the hub's ``li2017/daily_dialog``.
    """
    if split not in _SPLITS:
        raise UsageError(f"expected {', '.join(_SPLITS[:-1])} or {_SPLITS[-1]}, got {split!r}")
    folder = data_folder()
    if folder is None:
        rows = hub_rows("li2017/daily_dialog", split)
        return [(str(i), tuple(map(str, row["dialog"]))) for i, row in enumerate(rows)]
    return list(_of_split(_file(folder), split))


def _file(folder: Path) -> Path:
    return folder / "dailydialog.jsonl.xz"


def _of_split(path: Path, split: str) -> Iterable[Conversation]:
    found = False
    for row, plain in read_objects(path, "split", "i", "turns"):
        turns: Any = plain["turns"]
        if not isinstance(turns, list) or not all(isinstance(one, str) for one in turns):
            raise InputError(
                "a list of turns", got=repr(turns)[:40], remedy="fetch the file again", file=str(path), row=row
            )
        if plain["split"] == split:
            found = True
            yield str(plain["i"]), tuple(turns)
    if not found:
        raise InputError(f"conversations of the split {split}", got="none", remedy="fetch it again", file=str(path))
