"""The command `diagnose`: two prediction files in, the kind of shift between them and the tests behind it out."""

from __future__ import annotations

from typing import Any

from ..verbs.options import DiagnoseOptions
from . import output
from .commands import Written, command


@command(DiagnoseOptions, written=("json", "out"))
def diagnose(given: dict[str, Any], to: Written) -> None:
    """Say what kind of shift lies between a reference and a target."""
    from ..verbs.diagnose import diagnose as run
    from ..version import __version__

    with output.progress_bar("diagnosing") as progress:
        found = run(**given, progress=progress)
    told = {
        "command": "diagnose",
        "version": __version__,
        "argv": output.command_line(),
        "seed": given["seed"],
        "reference": {"name": given["reference"]},
        "target": {"name": given["target"]},
        **found.to_dict(),
    }
    if to.deliver(told, found):
        output.show(found, seed=given["seed"])
