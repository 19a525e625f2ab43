"""The commands `shift image`, `shift text` and `shift dialogue`: shifted copies of images, texts and dialogues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..verbs.model_options import ShiftDialogueOptions, ShiftImageOptions, ShiftTextOptions
from . import output
from .commands import Written, command, group

_SHIFT = group("shift", "Shifted copies of a data set, seeded, with a severity: a target whose truth is known.")


@command(ShiftImageOptions, written=("json",), to=_SHIFT, kept=True)
def image(given: dict[str, Any], to: Written) -> None:
    """Write shifted copies of images: noise, blur, weather, digital faults, as in CIFAR-10-C."""
    from ..verbs.shift import shift_image

    _shift(shift_image, given, to)


@command(ShiftTextOptions, written=("json",), to=_SHIFT, kept=True)
def text(given: dict[str, Any], to: Written) -> None:
    """Write shifted copies of texts: unknown words, known words, typing errors, casing."""
    from ..verbs.shift import shift_text

    _shift(shift_text, given, to)


@command(ShiftDialogueOptions, written=("json",), to=_SHIFT, kept=True)
def dialogue(given: dict[str, Any], to: Written) -> None:
    """Write shifted copies of dialogues: turns that are missing, and all that shifts texts."""
    from ..verbs.shift import shift_dialogue

    _shift(shift_dialogue, given, to)


def _shift(run: Callable[..., Any], given: dict[str, Any], to: Written) -> None:
    with output.results(), output.progress_bar("shifting", lines=True) as progress:
        found = run(**given, argv=output.command_line(), progress=progress)
        shown = to.deliver({**found.to_dict(), "argv": output.command_line()})
    if shown:
        output.show(found)
