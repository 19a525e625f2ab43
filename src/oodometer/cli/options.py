"""Options and arguments that several commands have in common: one name, one meaning, one line of help."""

from __future__ import annotations

from typing import Annotated

import typer

from . import places

Reference = Annotated[
    str,
    typer.Argument(help="Labelled predictions on known ground (- is standard input).", metavar="REFERENCE"),
    places.READ,
]
Save = Annotated[
    list[str] | None,
    typer.Option(
        "--save",
        help="Write the result to this file: .csv or .parquet (a table), .json, .html, .pdf or .md; may be repeated.",
        metavar="FILE",
    ),
    places.WRITTEN,
]
Target = Annotated[
    str,
    typer.Argument(help="Predictions of the same model on the data in question.", metavar="TARGET"),
    places.READ,
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
Engine = Annotated[
    str,
    typer.Option(
        help="Where the passes run: local (threads), processes, ray or spark; an address follows a colon: "
        "ray:HOST:PORT, spark:spark://HOST:PORT."
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        help="Columns of your own that are the model's inputs, a,b,c in both files; auto takes all that can be.",
        metavar="COLUMNS",
    ),
]
FailBelow = Annotated[
    list[str] | None,
    typer.Option(
        help="Raise an alarm (exit code 3) where the estimate lies below this, such as 0.93; METRIC=0.8 for another "
        "metric than accuracy. May be repeated.",
        metavar="BOUND",
    ),
]
FailDrop = Annotated[
    list[str] | None,
    typer.Option(
        help="Raise an alarm (exit code 3) where the estimate lies more than this below the reference's, such as 0.02.",
        metavar="DROP",
    ),
]
FailWhen = Annotated[
    str,
    typer.Option(help="An alarm asks that the value, the upper end of the interval, or 80 % (likely) lies below."),
]
IntervalSeed = Annotated[int, typer.Option(help="Seed of the bootstrap in some intervals.")]
Json = Annotated[
    str | None,
    typer.Option("--json", help="Write JSON to this file, or - for standard output.", metavar="FILE"),
    places.WRITTEN,
]
Key = Annotated[
    str | None,
    typer.Option(
        help="Join the labels by this column of both files, by default id, where both have it; TARGET=LABELS where "
        "they call it differently.",
        metavar="COLUMN",
    ),
]
Level = Annotated[float, typer.Option(help="Nominal coverage of the intervals.")]
Methods = Annotated[list[str] | None, typer.Option("--method", help="Only this method; may be repeated.")]
Out = Annotated[
    list[str] | None,
    typer.Option(
        "--out",
        "--save",
        help="Write the result to this file: .csv or .parquet (a table), .json, .html, .pdf or .md; may be repeated.",
        metavar="FILE",
    ),
    places.WRITTEN,
]
Payoff = Annotated[
    str | None,
    typer.Option(
        help="Pay-off of each true (row) and predicted class (column), costs below 0: a .json or .csv file, or JSON.",
        metavar="FILE|JSON",
    ),
    places.READ,
]
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
TargetAccuracies = Annotated[
    list[float] | None,
    typer.Option("--target-accuracy", help="Find the threshold for this accuracy; may be repeated."),
]
Threshold = Annotated[
    float | None,
    typer.Option(help="A binary model decides for its positive class from this probability on, such as 0.6."),
]
Truth = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="Truth of the rows in a file of its own (null or left out where unknown); joined by id or --key, by a "
        "column row that counts from 0, or one for each row.",
        metavar="FILE",
    ),
    places.READ,
]
RunFolder = Annotated[
    str | None,
    typer.Option(
        help="Keep finished parts here: a run that was killed goes on, and of a folder that has grown only new files "
        "are read.",
        metavar="FOLDER",
    ),
    places.FOLDER,
]
Store = Annotated[
    str | None,
    typer.Option(
        help="Add the run to this store of past runs: a file (SQLite) or postgresql://user@host/database; "
        "`oodometer history` shows it.",
        metavar="STORE",
    ),
    places.WRITTEN,
]
Job = Annotated[
    str | None,
    typer.Option(help="Name of the series that the run belongs to; by default that of the reference.", metavar="NAME"),
]
Alarms = Annotated[
    str,
    typer.Option(help="Which alarms count for exit code 3: all, or new ones, which no earlier run of the job raised."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        help='Only rows for which this holds, such as "day >= 2026-11-01" or "site in (a, b)"; = != < <= > >= and in. '
        "May be repeated: then all must hold.",
        metavar="CONDITION",
    ),
]
Workers = Annotated[int | None, typer.Option(help="Number of workers; by default one for each core.")]
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
ClassMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="Estimate this, too: f1, precision, recall, specificity, roc_auc, average_precision, balanced_accuracy, "
        "mcc, cohen_kappa, macro_f1, recall:CLASS, ...; may be repeated.",
    ),
]
