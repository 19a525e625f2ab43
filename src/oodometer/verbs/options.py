"""Options of the verbs, each declared once (see `oodometer.options`); no numpy is loaded here, as ``-h`` reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import CHECKS, texts_or_one
from ..errors import UsageError
from ..options import Options, argument, option

if TYPE_CHECKING:
    from ..engines import Engine

_ROWS, _MODEL, _RUN = "Rows and columns", "Model", "Where it runs"


def parse_mapping(pairs: Sequence[str]) -> dict[str, str] | None:
    """``theirs=ours`` pairs as a mapping; `UsageError` for anything else.

    >>> parse_mapping(["y_true=label"])
    {'y_true': 'label'}
    """
    out = {}
    for pair in pairs:
        theirs, equals, ours = pair.partition("=")
        if not (theirs and equals and ours):
            raise UsageError(f"expected --map theirs=ours, got {pair!r}")
        out[theirs] = ours
    return out or None


def parse_classes(text: str) -> list[int | str]:
    """``a,b,c`` as class names; whole numbers become integers when all are.

    >>> parse_classes("0,1"), parse_classes("cat,dog")
    ([0, 1], ['cat', 'dog'])
    """
    names = [part.strip() for part in text.split(",")]
    if all(name.lstrip("-").isdigit() for name in names):
        return [int(name) for name in names]
    return list(names)


# fmt: off
class Reference(Options):
    """What is known."""

    reference: Any = argument(
        kw_only=False, path="read",
        help="Labelled predictions on known ground (- is standard input).",
        doc="Labelled predictions on known ground: a file, a frame, a dict of arrays, a `Predictions`, or a list of "
        "them. Or what was learnt from them before, an `Oodometer` or its file: the options of that fit hold then.",
    )


class Pair(Reference):
    """What is known, and what is asked about."""

    target: Any = argument(
        kw_only=False, path="read",
        help="Predictions of the same model on the data in question.",
        doc="Predictions of the same model on the data in question; labels in it are not used for any estimate.",
    )


class Where(Options):
    """Which rows are read."""

    where: str | Sequence[str] | None = option(
        default=None, group=_ROWS, metavar="CONDITION", many=True,
        help='Only rows for which this holds, such as "day >= 2026-11-01" or "site in (a, b)"; = != < <= > >= and in. '
        "May be repeated: then all must hold.",
        doc='Conditions on rows of the target, such as ``"day >= 2026-11-01"`` or ``["site in (a, b)", "confidence < '
        '0.9"]``: only rows for which all hold are read. Columns are fields, your own, and those that folders name; '
        "signs are = != < <= > >= and in. No condition holds of an empty cell. Labels are joined by a column then. "
        "Without a target they are conditions on rows of the labelled data.",
    )


class Reading(Options):
    """How files are read."""

    classes: Sequence[int | str] | None = option(
        default=None, group=_ROWS, place="read", check=CHECKS["classes"], many=False, parse=parse_classes, rare=True,
        help="Class names in the order of the probabilities: a,b,c.",
        doc="Names of the classes in the order of the probabilities.",
    )
    mapping: Mapping[str, str] | None = option(
        default=None, group=_ROWS, place="read", check=CHECKS["mapping"], many=True, parse=parse_mapping,
        flag="--map --mapping",
        help="Rename a column, theirs=ours.",
        doc="Columns to rename in any of the files, {theirs: ours}.",
    )
    positive: str | None = option(
        default=None, group=_ROWS, place="read", metavar="COLUMN",
        help="Column with the probability of class 1 of a binary model; COLUMN=CLASS, or =CLASS, names another class.",
        doc='Column with a binary model\'s probability of class 1; ``"COLUMN=CLASS"`` where the class has another '
        'name, or ``"=CLASS"`` alone. Precision, recall, F1 and the like are of this class; by default of the one '
        "that a lone column is about, else of the second by name.",
    )
    threshold: float | None = option(
        default=None, group=_ROWS, place="read", check=CHECKS["threshold"],
        help="A binary model decides for its positive class from this probability on, such as 0.6.",
        doc="From which probability on a binary model decides for its positive class: the one that its lone column is "
        "about, else the second by name. Where there is a `prediction`, that is the decision.",
    )


class Features(Options):
    """Inputs of the model."""

    features: str | Sequence[str] | None = option(
        default=None, group=_ROWS, place="read", metavar="COLUMNS", many=False, check=texts_or_one,
        help="Columns of your own that are the model's inputs, a,b,c in both files; auto takes all that can be.",
        doc='Columns of your own that are the model\'s inputs, the same in both files: names, or "auto" for all that '
        "can be. Numbers, categories, texts (by their length) and empty cells become `features`, by an encoding that "
        "is learnt on the reference; methods that compare inputs use them, and the diagnosis says which moved.",
    )


class Running(Options):
    """Where the work is done, and what is kept of it."""

    engine: str | Engine = option(
        default="local", group=_RUN, check=CHECKS["engine"], rare=True,
        help="Where the passes run: local (threads), processes, ray or spark; an address follows a colon: "
        "ray:HOST:PORT, spark:spark://HOST:PORT.",
        doc='Where the passes over the data run: "local", "processes", "ray" or "spark", with an address after a '
        "colon, or an `Engine`.",
    )
    workers: int | None = option(
        default=None, group=_RUN, check=CHECKS["workers"], rare=True,
        help="Number of workers; by default one for each core.",
    )
    run_folder: str | Path | None = option(
        default=None, group=_RUN, path="folder", metavar="FOLDER", rare=True,
        help="Keep finished parts here: a run that was killed goes on, and of a folder that has grown only new files "
        "are read.",
        doc="Folder that keeps the state of each finished part. A run that was killed goes on from there, and of data "
        "that have grown (a folder of files) only new files are read; the result is that of a run from the start. "
        "Parts are read anew where their file, the reference, the options that shape what is learnt, or the version "
        "of this package has changed.",
    )
    progress: Callable[[int, int], None] | None = option(
        default=None, flag="", help="Called with (parts done, parts in all)."
    )


class DiagnoseOptions(Pair, Where, Reading, Features, Running):
    """What `diagnose` is asked."""

    seed: int = option(
        default=0, group=_RUN, check=CHECKS["seed"], rare=True,
        help="Seed of the bootstraps and of the classifier's folds.",
    )
