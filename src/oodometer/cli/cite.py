"""The command `cite`: BibTeX of a method."""

from __future__ import annotations

from typing import Any

from ..verbs.options import CiteOptions
from . import output
from .commands import Written, command


@command(CiteOptions)
def cite(given: dict[str, Any], to: Written) -> None:
    """Print the BibTeX entry of the paper behind a method."""
    from ..verbs.cite import cite as run

    output.say(*run(**given).splitlines())
