"""Reports: one self-contained HTML page from a result; reads plain mappings as written in JSON, never samples."""

from __future__ import annotations

from .page import render, write_report

__all__ = ["render", "write_report"]
