"""Folder: whose job a folder holds, and the results beside the predictions in it."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import UsageError, WorkError
from ...results.stressing import METRICS, Spread, StressTest
from ...store import together, write_result
from ...store.artifact_cache import checksum, read_artifact, write_artifact
from ...store.spreadsheets import guarded
from .options import StressOptions

__all__ = ["claim", "write_results"]

_JOB = "job.json"
_RESULTS = ("stress.json", "stress.csv")


def claim(out: Path, files: Sequence[Any], options: StressOptions, dialogues: bool) -> Path:
    """Make the folder, or find it with what an earlier run of the same job has finished.

    The job is the data, the rows of them, their labels and candidates and the seed; other models, kinds and severities
    may join it. Raises `UsageError` where the place holds something else.
    """
    said = [options.column, dict(options.where), options.label, options.rows, options.seed, dialogues]
    said += [options.candidates if dialogues else None]
    job = checksum(json.dumps([[_stamp(one) for one in files if one is not None], said], default=str))
    try:
        if out.exists() and not out.is_dir():
            raise UsageError(f"cannot write {out}: it is a file; name a folder")
        link = next((one for name in (_JOB, *_RESULTS) if (one := out / name).is_symlink()), None)
        if link is not None:
            raise UsageError(f"cannot write {link}: it is a link, which is not followed; remove it")
        if not out.resolve().parent.is_dir():
            raise UsageError(f"cannot write {out}: there is no folder {out.parent}; make it first")
        if out.is_dir() and any(out.iterdir()) and ((out / _JOB).exists() is False or _job(out) != job):
            raise UsageError(
                f"cannot write {out}: it is not empty, and holds no results for these data, options and seed; choose "
                "another place"
            )
        out.mkdir(exist_ok=True)
        if not (out / _JOB).exists():
            write_artifact(out / _JOB, "stress", job)
    except OSError as error:
        raise WorkError(f"cannot write {out}: {error.strerror or error}; choose another place") from error
    return out


def _job(out: Path) -> Any:
    return read_artifact(out / _JOB, "stress")


def _stamp(file: Any) -> Any:
    about = os.stat(file)
    return [os.path.realpath(file), about.st_size, about.st_mtime_ns]


def write_results(home: Path, found: StressTest) -> None:
    """Write ``stress.json`` and ``stress.csv``."""
    with together():
        write_result(home / "stress.json", json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(_heads())
        table.writerows([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in _rows(found))
        write_result(home / "stress.csv", text.getvalue())


def _heads() -> list[str]:
    ends = [f"{name}{end}" for name in METRICS for end in ("", "_lower", "_upper", "_mean", "_lowest", "_highest")]
    estimate = ["estimate", "estimate_lower", "estimate_upper", "estimate_kind", "estimate_method", "trust", "error"]
    return ["model", "kind", "severity", "subset", "rows", "dropped", "words", "targets", "runs", *ends, *estimate]


def _rows(found: StressTest) -> Iterator[list[Any]]:
    """Two rows for each point: on all rows that the severity has, and on those that all severities have."""
    for model, curve, point in found.points():
        place = [model.name, curve.kind, "" if point.severity is None else point.severity]
        beside = [sum(point.dropped.values()), point.words, point.targets, max(1, len(point.predictions))]
        subsets = (
            ("all", point.rows, point.metrics, point.spread),
            ("common", point.common_rows, point.common, point.common_spread),
        )
        for subset, rows, metrics, spreads in subsets:
            numbers: list[Any] = []
            for name in METRICS:
                one, spread = metrics.get(name), spreads.get(name)
                numbers += [None] * 3 if one is None else [one.value, one.lower, one.upper]
                numbers += _of(spread)
            head: list[Any] = [None] * 7
            if subset == "all" and point.estimate is not None:
                e = point.estimate
                head = [e.value, e.lower, e.upper, e.kind, e.method, e.trust, point.error]
            yield [*place, subset, rows, *beside, *numbers, *head]


def _of(spread: Spread | None) -> list[Any]:
    return [None] * 3 if spread is None else [spread.mean, spread.lowest, spread.highest]
