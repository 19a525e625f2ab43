"""The command `diagnose`: two prediction files in, the kind of shift between them and the tests behind it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..verbs.options import DiagnoseOptions
from . import output
from .commands import Written, command

if TYPE_CHECKING:
    from ..diagnoses import Diagnosis


@command(DiagnoseOptions, written=("json", "out"))
def diagnose(given: dict[str, Any], to: Written) -> None:
    """Say what kind of shift lies between a reference and a target."""
    from ..verbs.diagnose import diagnose as run

    with output.progress_bar("diagnosing") as progress:
        found = run(**given, progress=progress)
    if to.deliver(_with_origin(found, given["reference"], given["target"], given["seed"]), found):
        output.show(found, seed=given["seed"])


def _with_origin(found: Diagnosis, reference: str, target: str, seed: int) -> dict[str, Any]:
    from ..version import __version__

    return {
        "command": "diagnose",
        "version": __version__,
        "argv": output.command_line(),
        "seed": seed,
        "reference": {"name": reference},
        "target": {"name": target},
        **found.to_dict(),
    }
