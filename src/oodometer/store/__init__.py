"""Store: records to and from Parquet, CSV, JSONL, Arrow, NPZ and frames, in batches, never the whole file."""

from __future__ import annotations

from .atomic import refuse_clashes, together, when_written, whole_folder, write_atomic, write_result
from .base import BATCH_ROWS, PART_ROWS, Axes, Part, Source
from .memory import InPlace, RecordSource, check_threshold, decided_source, source_beside
from .source import as_source, open_predictions, read_predictions
from .write import write_predictions, write_table

__all__ = [
    "BATCH_ROWS",
    "PART_ROWS",
    "Axes",
    "InPlace",
    "Part",
    "RecordSource",
    "Source",
    "as_source",
    "check_threshold",
    "decided_source",
    "open_predictions",
    "read_predictions",
    "refuse_clashes",
    "source_beside",
    "together",
    "when_written",
    "whole_folder",
    "write_atomic",
    "write_predictions",
    "write_result",
    "write_table",
]
