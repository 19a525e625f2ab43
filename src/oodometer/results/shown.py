"""Shown: what every result of a verb can do for whoever looks at it: a frame, a cell of a notebook, a file, a log.

The rooms that make these stand above the records and import them; a record asks for its room by name when it is called,
so that it stays a plain record that imports nothing of them.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .view import Maker, View


class Shown:
    """The base of results: `view`, `to_frame`, `save`, `log_to`, and what a prompt and a notebook show."""

    __slots__ = ()

    def to_frame(self, what: str | None = None, *, library: str | None = None) -> Any:
        """Return a tidy frame, one row for each number, under plain names (``value``, ``lower``, ``upper``, ...).

        ``what`` names a table of the result; the first one by default, and a name that is not there is refused with
        those that are. ``library`` is "pandas", "polars" or "pyarrow"; by default the one that the program already
        uses, else the one that is installed. Rates are fractions. Raises `UsageError` for an unknown name and
        `MissingExtraError`, with the line that installs it, where the library is absent.
        """
        return _above("outputs.frames").frame_of(self, what, library)

    def save(self, path: str | os.PathLike[str], *, what: str | None = None) -> Path:
        """Write the result to a file by its ending, whole or not at all.

        .csv and .parquet hold the table that `to_frame` gives for ``what``; .json what ``--json`` writes; .html and
        .pdf the page; .md the summary. Raises `UsageError` for any other ending, `MissingExtraError` where a library
        or a browser is absent, `WorkError` where the file cannot be written.
        """
        written: Path = _above("outputs.files").save(self, path, what=what)
        return written

    def log_to(self, tracker: str, **options: Any) -> str:
        """Log numbers, options and files to "mlflow" or "wandb"; returns the id of the run.

        It goes to the run that is open, or to one of its own. ``options`` are those of `oodometer.integrations`.
        Raises `UsageError` for another tracker, `MissingExtraError` where its library is absent.
        """
        run: str = _above("integrations").log(self, tracker, **options)
        return run

    def view(self) -> View:
        """What the result says: number, sentences, tables; the terminal, notebooks, Markdown and pages show it."""
        raise NotImplementedError

    def frames(self) -> Mapping[str, Maker]:
        """Name of each table of numbers -> what makes it; the first is the one that is meant where none is named."""
        return {}

    def __repr__(self) -> str:
        text: str = _above("outputs.terminal").text_of(self)
        return text

    def _repr_html_(self) -> str:
        html: str = _above("outputs.notebook").html_of(self)
        return html


def _above(room: str) -> Any:
    return importlib.import_module(f"..{room}", __package__)
