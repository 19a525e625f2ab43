"""The command `cite`: BibTeX of a method."""

from __future__ import annotations

from typing import Annotated

import typer

from . import output


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="cite")(cite)


def cite(method: Annotated[str, typer.Argument(help="A method, or a BibTeX key.")]) -> None:
    """Print the BibTeX entry of the paper behind a method."""
    from ..verbs.cite import cite as run

    output.say(*run(method).splitlines())
