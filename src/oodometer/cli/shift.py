"""The command `shift image`: shifted copies of a folder of images or of an NPZ file."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options, output, places
from .places import going_on

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = places.Commands(
        help="Shifted copies of a data set, seeded, with a severity: a target whose truth is known.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.callback()(_shift)
    group.command(name="image")(image)
    app.add_typer(group, name="shift")


def _shift() -> None:
    """Shifted copies of a data set, seeded, with a severity: a target whose truth is known."""


def image(
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="A folder of images, or an NPZ file with an array of uint8 images."),
        places.READ,
    ],
    out: Annotated[
        str,
        typer.Option(
            help="An empty or new folder, or a new .npz file; several copies go into subfolders <kind>-<severity>.",
            metavar="OUT",
        ),
        places.FOLDER,
    ],
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Kind of shift, such as fog; may be repeated; all: the fifteen of CIFAR-10-C."),
    ] = None,
    severity: Annotated[list[int] | None, typer.Option(help="1 to 5; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    on_error: Annotated[
        str, typer.Option(help="Images that do not decode: refuse, or skip and count them.")
    ] = "refuse",
    input: Annotated[str | None, typer.Option(help="Name of the array of images in an NPZ file.")] = None,
    json: options.Json = None,
) -> None:
    """Write shifted copies of images: noise, blur, weather, digital faults, as in CIFAR-10-C."""
    from ..verbs.shift import shift_image as run

    with (
        going_on(output.KEPT),
        output.results(),
        output.progress_bar("shifting", lines=True) as progress,
    ):
        found = run(
            data,
            kind=kind or [],
            severity=severity or [],
            out=out,
            seed=seed,
            on_error=on_error,
            input=input,
            argv=output.command_line(),
            progress=progress,
        )
        output.deliver({**found.to_dict(), "argv": output.command_line()}, json=json)
    if json != "-":
        output.say(*found.summary().splitlines())
