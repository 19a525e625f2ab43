"""Reports: one self-contained HTML page from a result; reads plain mappings as written in JSON, never samples."""

from __future__ import annotations

from .page import check_report_libraries, ready_to_draw, render, render_figures, write_report

__all__ = ["check_report_libraries", "ready_to_draw", "render", "render_figures", "write_report"]
