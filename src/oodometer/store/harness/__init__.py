"""Harness: logs of evaluation harnesses, in which a model has answered already, as a record."""

from __future__ import annotations

from .base import LogOptions, json_rows
from .join import LOG_NAMES, LogRecord, log_files, log_kind, read_command, read_logs

__all__ = [
    "LOG_NAMES",
    "LogOptions",
    "LogRecord",
    "json_rows",
    "log_files",
    "log_kind",
    "read_command",
    "read_logs",
]
