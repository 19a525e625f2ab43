"""Harness: logs of evaluation harnesses, in which a model has answered already, as a record."""

from __future__ import annotations

from .base import LogOptions
from .join import LogRecord, log_kind, read_command, read_logs

__all__ = ["LogOptions", "LogRecord", "log_kind", "read_command", "read_logs"]
