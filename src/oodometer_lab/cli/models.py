"""The commands that ask models, or shift what they are asked about: `predict`, `shift` and `stress`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oodometer.cli import output
from oodometer.cli.commands import Written, command
from oodometer.errors import UsageError
from oodometer.options import argument, declared

from ..verbs.options import PredictOptions, ShiftOptions, StressOptions


@command(PredictOptions, written=("json",), kept=True)
def predict(options: dict[str, Any], to: Written) -> None:
    """Ask a model about data, and write a predictions file."""
    from ..verbs.predict import predict as run

    if "out" not in options:
        raise UsageError("Missing option '--out'; name the file to write")
    with output.results(), output.progress_bar("predicting", lines=True) as progress:
        result = run(**options, progress=progress)
        delivered = to.deliver({**result.to_dict(), "argv": output.command_line()})
    if delivered:
        output.show(result)


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
def shift(options: dict[str, Any], to: Written) -> None:
    """Write shifted copies of images, texts or dialogues."""
    from ..verbs.shift import shift as run

    *modality, data = options["data"]
    if len(modality) > 1 or not {*modality} <= {"image", "text", "dialogue"}:
        raise UsageError(f"expected one DATA, got {len(modality) + 1}; shift one after another")
    options |= {"data": data, **({"modality": modality[0]} if modality else {})}
    with output.results(), output.progress_bar("shifting", lines=True) as progress:
        result = run(**options, argv=output.command_line(), progress=progress)
        delivered = to.deliver({**result.to_dict(), "argv": output.command_line()})
    if delivered:
        output.show(result)


@command(StressOptions, written=("json",), kept=True)
def stress(options: dict[str, Any], to: Written) -> None:
    """Ask models about data whose shift grows."""
    from oodometer.errors import MissingExtraError
    from oodometer.outputs.files import PAGES, check_outputs

    from ..verbs.stress import stress as run

    with output.results(), output.progress_bar("predicting", lines=True) as progress:
        result = run(**options, argv=output.command_line(), progress=progress)
        mapping, page = result.to_dict(), str(Path(options["out"]) / "report.html")
        try:
            check_outputs([page], PAGES)
            output.deliver(mapping, report=page)
            report = f"Report: {page}"
        except MissingExtraError as error:  # what draws it is absent
            report = f"No report: {error}"
        delivered = to.deliver(mapping)
    if delivered:
        output.show(result)
        output.tell(report)
        output.say(f"Predictions, stress.json and stress.csv: {result.out}")
