"""The commands `shift image`, `shift text` and `shift dialogue`: shifted copies of images, texts and dialogues."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from . import options, output, places
from .places import going_on


def add_to(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = places.Commands(
        help="Shifted copies of a data set, seeded, with a severity: a target whose truth is known.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.callback()(_shift)
    group.command(name="image")(image)
    group.command(name="text")(text)
    group.command(name="dialogue")(dialogue)
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
    engine: options.TaskEngine = None,
    workers: options.TaskWorkers = None,
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
            engine=engine,
            workers=workers,
            argv=output.command_line(),
            progress=progress,
        )
        output.deliver({**found.to_dict(), "argv": output.command_line()}, json=json)
    if json != "-":
        output.say(*found.summary().splitlines())


Rows = Annotated[
    str,
    typer.Argument(metavar="DATA", help="JSON lines or a table with a text in each row, plain or packed."),
    places.READ,
]
Out = Annotated[
    str,
    typer.Option(
        help="A new file of the same form; for several copies an empty or new folder, with <kind>-<severity> in it.",
        metavar="OUT",
    ),
    places.WRITTEN,
]
Where = Annotated[list[str] | None, typer.Option(help="Only rows with COLUMN=VALUE; may be repeated.")]
Training = Annotated[
    str | None,
    typer.Option(help="File of the texts that the model was trained on: what is known.", metavar="FILE"),
    places.READ,
]
TrainingWhere = Annotated[list[str] | None, typer.Option(help="Only training rows with COLUMN=VALUE.")]
WordNetPath = Annotated[
    str | None,
    typer.Option("--wordnet", help="Folder or archive of the WordNet database.", metavar="PATH"),
    places.READ,
]
Seed = Annotated[int, typer.Option(help="Seed of the draws.")]


def text(
    data: Rows,
    out: Out,
    kind: Annotated[
        list[str] | None, typer.Option(help="Kind of shift, such as typing-errors; may be repeated.")
    ] = None,
    severity: Annotated[
        list[str] | None, typer.Option(help="Share of the words, such as 0.2; a fifth from 1 to 5 for important-words.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Where the text stands; by default text, sentence, review.")
    ] = None,
    where: Where = None,
    training: Training = None,
    training_where: TrainingWhere = None,
    wordnet: WordNetPath = None,
    seed: Seed = 0,
    engine: options.TaskEngine = None,
    workers: options.TaskWorkers = None,
    json: options.Json = None,
) -> None:
    """Write shifted copies of texts: unknown words, known words, typing errors, casing."""
    _shift_texts("text", json, **{name: value for name, value in locals().items() if name != "json"})


def dialogue(
    data: Rows,
    out: Out,
    kind: Annotated[
        list[str] | None, typer.Option(help="Kind of shift, such as insufficient-context; may be repeated.")
    ] = None,
    severity: Annotated[
        list[str] | None, typer.Option(help="Share of the words or turns (0.2, 1/6), or a number of turns.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Where the turns stand; by default turns, context.")] = None,
    where: Where = None,
    turns: Annotated[
        int | None, typer.Option(help="For insufficient-context: the last so many turns of contexts that have them.")
    ] = None,
    training: Training = None,
    training_where: TrainingWhere = None,
    wordnet: WordNetPath = None,
    seed: Seed = 0,
    engine: options.TaskEngine = None,
    workers: options.TaskWorkers = None,
    json: options.Json = None,
) -> None:
    """Write shifted copies of dialogues: turns that are missing, and all that shifts texts."""
    _shift_texts("dialogue", json, **{name: value for name, value in locals().items() if name != "json"})


def _shift_texts(what: str, json: str | None, **given: Any) -> None:
    from ..verbs import shift

    run = shift.shift_text if what == "text" else shift.shift_dialogue
    several = ("kind", "severity", "where", "training_where")
    given = {name: (value or []) if name in several else value for name, value in given.items()}
    with going_on(output.KEPT), output.results(), output.progress_bar("shifting", lines=True) as progress:
        found = run(**given, argv=output.command_line(), progress=progress)
        output.deliver({**found.to_dict(), "argv": output.command_line()}, json=json)
    if json != "-":
        output.say(*found.summary().splitlines())
