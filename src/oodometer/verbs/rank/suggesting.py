"""Suggesting: rows of the pool to label next, and a file of them that comes back as examples once it is filled in."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...rankings.answered import CHOSEN
from ...results.ranking import FewShotRanking
from ...store import write_result

ENDINGS = (".csv", ".jsonl")


def check_out(out: str | os.PathLike[str] | None, suggest: int) -> None:
    """Raise `UsageError` where a file for suggested rows makes no sense, or cannot be written in its form."""
    if out is None:
        return
    if not suggest:
        raise UsageError("an output file is for suggested rows: say how many with --suggest")
    if Path(out).suffix.lower() not in ENDINGS:
        raise UsageError(f"cannot write {out}: end the name in {' or '.join(ENDINGS)}")


def write_suggested(found: FewShotRanking, out: str | os.PathLike[str]) -> None:
    """Write the suggested rows: id, the text in the columns that it came from, and an empty label to fill in.

    Columns are called as in the labelled rows, so that the file can be put behind them; without ids there, none are
    written where the text itself tells the rows apart. A column ``chosen`` says that the rows are no random sample.
    """
    check_out(out, len(found.suggested) or 1)
    rows = [_row(found, name, text) for name, text in found.suggested]
    if Path(out).suffix.lower() == ".jsonl":
        write_result(
            out, "".join(json.dumps({**row, found.label_column: None}, ensure_ascii=False) + "\n" for row in rows)
        )
        return
    file = io.StringIO()
    names = list(rows[0] if rows else _row(found, "", None))
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_result(out, file.getvalue())


def _row(found: FewShotRanking, name: str, text: Any) -> dict[str, Any]:
    parts = () if text is None else (text,) if isinstance(text, str) else tuple(text)
    usual = ("text",) if len(parts) == 1 else tuple(f"text_{i + 1}" for i in range(len(parts)))
    columns = found.columns if len(found.columns) == len(parts) else usual
    key = found.id_column or (None if parts else "id")
    named = {} if key is None else {key: int(name) if found.numbered else name}
    return {**named, **dict(zip(columns, parts, strict=True)), found.label_column: "", CHOSEN: "by disagreement"}
