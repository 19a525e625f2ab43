"""The commands `shift image`, `shift text` and `shift dialogue`: shifted copies of images, texts and dialogues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from ..verbs.model_options import ShiftDialogueOptions, ShiftImageOptions, ShiftTextOptions
from . import output, places
from .commands import Written, command
from .places import going_on


def add_to(app: typer.Typer) -> None:
    """Add the commands to the application."""
    about = "Shifted copies of a data set, seeded, with a severity: a target whose truth is known."
    group = places.Commands(help=about, no_args_is_help=True, rich_markup_mode=None)
    group.callback(help=about)(lambda: None)
    command(group, ShiftImageOptions, written=("json",))(image)
    command(group, ShiftTextOptions, written=("json",))(text)
    command(group, ShiftDialogueOptions, written=("json",))(dialogue)
    app.add_typer(group, name="shift")


def image(given: dict[str, Any], to: Written) -> None:
    """Write shifted copies of images: noise, blur, weather, digital faults, as in CIFAR-10-C."""
    from ..verbs.shift import shift_image

    _shift(shift_image, given, to)


def text(given: dict[str, Any], to: Written) -> None:
    """Write shifted copies of texts: unknown words, known words, typing errors, casing."""
    from ..verbs.shift import shift_text

    _shift(shift_text, given, to)


def dialogue(given: dict[str, Any], to: Written) -> None:
    """Write shifted copies of dialogues: turns that are missing, and all that shifts texts."""
    from ..verbs.shift import shift_dialogue

    _shift(shift_dialogue, given, to)


def _shift(run: Callable[..., Any], given: dict[str, Any], to: Written) -> None:
    with going_on(output.KEPT), output.results(), output.progress_bar("shifting", lines=True) as progress:
        found = run(**given, argv=output.command_line(), progress=progress)
        shown = to.deliver({**found.to_dict(), "argv": output.command_line()})
    if shown:
        output.say(*found.summary().splitlines())
