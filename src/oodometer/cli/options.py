"""Options and arguments that several commands have in common: one name, one meaning, one line of help."""

from __future__ import annotations

from typing import Annotated

import typer

from . import places

Save = Annotated[
    list[str] | None,
    typer.Option(
        "--save",
        help="Write the result to this file: .csv or .parquet (a table), .json, .html, .pdf or .md; may be repeated.",
        metavar="FILE",
    ),
    places.WRITTEN,
]

Classes = Annotated[str | None, typer.Option(help="Class names in the order of the probabilities: a,b,c.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Rows with one value in this column depend on each other (questions of a passage, repeats of a prompt): "
        "intervals are those of clusters. By itself where ids repeat.",
        metavar="COLUMN",
    ),
]
Device = Annotated[str | None, typer.Option(help="cpu or cuda; by default a GPU where one is there.")]
Json = Annotated[
    str | None,
    typer.Option("--json", help="Write JSON to this file, or - for standard output.", metavar="FILE"),
    places.WRITTEN,
]
Level = Annotated[float, typer.Option(help="Nominal coverage of the intervals.")]
Positive = Annotated[
    str | None,
    typer.Option(
        help="Column with the probability of class 1 of a binary model; COLUMN=CLASS, or =CLASS, names another class.",
        metavar="COLUMN",
    ),
]
Rename = Annotated[list[str] | None, typer.Option("--map", "--mapping", help="Rename a column, theirs=ours.")]
Report = Annotated[
    str | None,
    typer.Option(help="Write a self-contained page to this .html or .pdf file.", metavar="FILE"),
    places.WRITTEN,
]
Threshold = Annotated[
    float | None,
    typer.Option(help="A binary model decides for its positive class from this probability on, such as 0.6."),
]
TaskEngine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Where tasks of one thread each run: processes, ray or spark, with an address ray:HOST:PORT, "
        "spark:spark://HOST:PORT; local: here, one after another. By default no tasks: here, with all threads.",
    ),
]
TaskWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Tasks at a time, in processes if no engine is named; by default one for each core, on a GPU one.",
    ),
]
