"""What every chart is: a name, a title that states the finding, a caption on how to read it, a specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Result = Mapping[str, Any]
"""A result as written in JSON."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and the words around it.

    Parameters
    ----------
    name : short name, unique on a page.
    title : the finding, one sentence.
    caption : how to read the chart.
    spec : Vega-Lite specification.
    """

    name: str
    title: str
    caption: str
    spec: dict[str, Any]
