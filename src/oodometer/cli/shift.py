"""The command `shift`: shifted copies of images, texts and dialogues."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..options import argument, declared
from ..verbs.model_options import ShiftOptions
from . import output
from .commands import Written, command

_DATA = next(about for name, _, about in declared(ShiftOptions) if name == "data")


class _Typed(ShiftOptions):
    """The options of `shift`; a first word image, text or dialogue says what DATA is, as --modality does."""

    data: Any = argument(kw_only=False, path="read", metavar="DATA", many=True, help=_DATA.help)


@command(_Typed, written=("json",), kept=True)
def shift(given: dict[str, Any], to: Written) -> None:
    """Write shifted copies of images (noise, blur, weather, digital faults), texts or dialogues, with a severity."""
    from ..verbs.shift import shift as run

    *modality, data = given["data"]
    if len(modality) > 1 or not {*modality} <= {"image", "text", "dialogue"}:
        raise UsageError(f"expected one DATA, got {len(modality) + 1}; shift one after another")
    given |= {"data": data, **({"modality": modality[0]} if modality else {})}
    with output.results(), output.progress_bar("shifting", lines=True) as progress:
        result = run(**given, argv=output.command_line(), progress=progress)
        shown = to.deliver({**result.to_dict(), "argv": output.command_line()})
    if shown:
        output.show(result)
