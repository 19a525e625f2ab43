"""The command `predict`: a live model and data in, or a log of an evaluation harness, a predictions file out."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options, output, places
from .places import going_on


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="predict")(predict)


def predict(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A Hugging Face classifier of texts or images (folder or hub name), a model saved by oodometer, an "
            ".onnx file, or package.module:name of a fitted estimator, a torch module or a function. Without DATA: a "
            "log of lm-evaluation-harness (samples_*.jsonl) or inspect (.eval, .json), or a folder of them.",
        ),
        places.READ,
    ],
    out: Annotated[
        str,
        typer.Option(help="Write the predictions to this file.", metavar="FILE"),
        places.WRITTEN,
    ],
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="CSV, JSONL, Parquet, Arrow or NPZ; a folder of images; a data set's folder, or hf:NAME:SPLIT. For a "
            "ranker dialogues: turns, or a context with candidates or a response.",
        ),
        places.READ,
    ] = None,
    input: Annotated[
        list[str] | None,
        typer.Option(help="Column that the model reads; twice for pairs of texts, again for a table."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column of the truth; by default label.")] = None,
    id: Annotated[str | None, typer.Option(help="Column that names the rows; by default id.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="A further column to carry along; may be repeated.")] = None,
    keep_input: Annotated[bool, typer.Option("--keep-input", help="Keep the texts as input.")] = False,
    unlabelled: Annotated[
        bool, typer.Option("--unlabelled", help="Leave labels out: subfolders of images are no classes.")
    ] = False,
    member: Annotated[
        list[str] | None,
        typer.Option(help="A further model of the same classes, for agreement; may be repeated."),
    ] = None,
    features: Annotated[bool, typer.Option("--features", help="Write what the last linear layer reads.")] = False,
    views: Annotated[int, typer.Option(help="Augmented copies of each input to ask.")] = 0,
    dropout: Annotated[int, typer.Option(help="Passes with dropout left on; probabilities are their mean.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of views, dropout and candidates.")] = 0,
    gives: Annotated[str | None, typer.Option(help="What a model from outside gives: logits or probabilities.")] = None,
    classes: options.Classes = None,
    max_length: Annotated[int | None, typer.Option(help="Tokens of a text that are read, at most.")] = None,
    on_error: Annotated[
        str, typer.Option(help="Images that do not decode: refuse, or skip and count them.")
    ] = "refuse",
    device: options.Device = None,
    engine: options.TaskEngine = None,
    workers: options.TaskWorkers = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Of a log: the metric or scorer that says what is right; f1>=0.5 for a score."),
    ] = None,
    filter: Annotated[str | None, typer.Option(help="Of a log of lm-evaluation-harness: the filter.")] = None,
    json: options.Json = None,
) -> None:
    """Ask a model about data, or read a log of its answers, and write a predictions file."""
    from ..verbs.predict import predict as run

    with (
        going_on(output.KEPT),
        output.results(),
        output.progress_bar("predicting", lines=True) as progress,
    ):
        found = run(
            model,
            data,
            out=out,
            inputs=input or None,
            label=label,
            id=id,
            keep=keep or None,
            keep_input=keep_input,
            unlabelled=unlabelled,
            members=member or (),
            features=features,
            views=views,
            dropout=dropout,
            seed=seed,
            gives=gives,
            classes=output.parse_classes(classes),
            max_length=max_length,
            on_error=on_error,
            device=device,
            engine=engine,
            workers=workers,
            metric=metric,
            filter=filter,
            progress=progress,
        )
        output.deliver({**found.to_dict(), "argv": output.command_line()}, json=json)
    if json != "-":
        output.say(*found.summary().splitlines())
