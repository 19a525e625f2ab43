"""The commands that ask models, or shift what they are asked about: `predict`, `read`, `rank`, `shift` and `stress`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..options import argument, declared, option
from ..verbs.model_options import (
    PredictOptions,
    RankOptions,
    ReadOptions,
    ShiftOptions,
    StressOptions,
)
from . import output
from .commands import Written, command


@command(PredictOptions, written=("json",), kept=True)
def predict(given: dict[str, Any], to: Written) -> None:
    """Ask a model about data, and write a predictions file."""
    from ..verbs.predict import predict as run

    if "out" not in given:
        raise UsageError("Missing option '--out'; name the file to write")
    with output.results(), output.progress_bar("predicting", lines=True) as progress:
        result = run(**given, progress=progress)
        shown = to.deliver({**result.to_dict(), "argv": output.command_line()})
    if shown:
        output.show(result)


@command(ReadOptions, written=("json",))
def read(given: dict[str, Any], to: Written) -> None:
    """Say what a log or a table holds and what to ask of it; write predictions."""
    from ..verbs.read import read_log as run

    with output.results():
        result = run(**given)
        shown = to.deliver({**result.to_dict(), "argv": output.command_line()})
    if shown:
        output.show(result)


class _Rank(RankOptions):
    """The options of `rank`, and where rows to label next go."""

    suggested: str | None = option(
        default=None,
        path="written",
        metavar="FILE",
        flag="--out",
        help="Write the suggested rows, ids and texts, to this .csv or .jsonl file.",
    )


@command(_Rank, written=("json", "report", "save"))
def rank(given: dict[str, Any], to: Written) -> None:
    """Rank models by a few labels, or none: which one, and how sure."""
    from ..verbs.rank import check_out, write_suggested
    from ..verbs.rank import rank as run

    out = given.pop("suggested", None)
    check_out(out, given["suggest"])
    with output.results(), output.progress_bar("asking the models") as progress:
        result = run(**given, argv=output.command_line(), progress=progress)
        shown = to.deliver(result.to_dict(), result)
        if out is not None:
            write_suggested(result, out)
    if shown:
        output.show(result)
        if out is not None:
            output.say(f"Wrote {len(result.suggested):,} rows to label next to {out}")


class _Shift(ShiftOptions):
    """The options of `shift`; a first word image, text or dialogue says what DATA is."""

    data: Any = argument(
        kw_only=False,
        path="read",
        metavar="DATA",
        many=True,
        help=next(about.help for name, _, about in declared(ShiftOptions) if name == "data"),
    )


@command(_Shift, written=("json",), kept=True)
def shift(given: dict[str, Any], to: Written) -> None:
    """Write shifted copies of images, texts or dialogues."""
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


@command(StressOptions, written=("json",), kept=True)
def stress(given: dict[str, Any], to: Written) -> None:
    """Ask models about data whose shift grows."""
    from ..errors import MissingExtraError
    from ..outputs.files import PAGES, check_outputs
    from ..verbs.stress import stress as run

    with output.results(), output.progress_bar("predicting", lines=True) as progress:
        result = run(**given, argv=output.command_line(), progress=progress)
        mapping, page = result.to_dict(), str(Path(given["out"]) / "report.html")
        try:
            check_outputs([page], PAGES)
            output.deliver(mapping, report=page)
            report = f"Report: {page}"
        except MissingExtraError as error:  # what draws it is absent
            report = f"No report: {error}"
        shown = to.deliver(mapping)
    if shown:
        output.show(result)
        output.tell(report)
        output.say(f"Predictions, stress.json and stress.csv: {result.out}")
