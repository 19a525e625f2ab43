"""The commands `discriminate collect`, `train` and `predict`: pairs for judges, judges of outputs, and their votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oodometer.cli import output
from oodometer.cli.commands import Written, command, group
from oodometer.errors import UsageError
from oodometer.options import argument

from ..verbs.options import CollectPairsOptions, JudgeOptions, TrainOptions

if TYPE_CHECKING:
    from ..verbs.discriminate.judged import JudgedOutputs

_GROUP = group("discriminate", "Judges that tell right outputs of a model from wrong ones.")


@command(CollectPairsOptions, written=("json",), to=_GROUP, kept=True)
def collect(options: dict[str, Any], to: Written) -> None:
    """Ask early checkpoints about training examples: pairs for judges."""
    from ..verbs.discriminate import collect_pairs

    if "out" not in options:
        raise UsageError("Missing option '--out'; name the file of pairs to write")
    with output.results(), output.progress_bar("collecting", lines=True, share=True) as progress:
        result = replace(collect_pairs(**options, progress=progress), argv=output.command_line())
        delivered = to.deliver(result.to_dict())
    if delivered:
        output.show(result)


@command(TrainOptions, written=("json", "report"), to=_GROUP, kept=True)
def train(options: dict[str, Any], to: Written) -> None:
    """Train judges on outputs that are known to be right or wrong."""
    from ..verbs.discriminate import train_judges

    with output.progress_bar("training judges", lines=True, share=True) as progress:
        result = replace(train_judges(**options, progress=progress), argv=output.command_line())
    if to.deliver(result.to_dict(), result):
        output.show(result)


class _Judge(JudgeOptions):
    """The options of `discriminate predict`; judges and outputs are one list of paths."""

    paths: Sequence[str] = argument(
        kw_only=False,
        path="read",
        metavar="FOLDER OUTPUTS...",
        many=True,
        help="The folder of the judges, or several, whose judges vote together (may be left out with --judge, and for "
        "rows that hold p_correct_ columns), then rows of input and output, one file or several; gold or correct where "
        "known.",
    )


@command(_Judge, written=("json", "report"), to=_GROUP, kept=True)
def predict(options: dict[str, Any], to: Written) -> None:
    """Let judges vote on outputs: lower and upper accuracy, without labels."""
    from ..verbs.discriminate import judge_outputs

    folders, files = _parted(options.pop("paths"), "existing" in options)
    if len(files) > 1 and "pseudo_labels" in options:
        raise UsageError("pseudo-labels are of one file of outputs; run the command once for each")
    places = _places(options.pop("out", None), files)
    with output.results(), output.progress_bar("judging", lines=True, share=True) as progress:
        results = [
            replace(
                judge_outputs(folders, file, out=place, **options, progress=progress),
                argv=output.command_line(),
            )
            for file, place in zip(files, places, strict=True)
        ]
        answer = _together([result.to_dict() for result in results])
        page = None
        if to.report is not None:
            page = _together([_with_votes(result) for result in results])
        output.deliver(answer, json=to.json, report=to.report, page=page)
    if to.json != "-":
        for result in results:
            output.show(result)


def _places(out: str | None, files: Sequence[str]) -> Sequence[str | None]:
    """Where the rows of each file go: of several under their names into a folder."""
    if out is None or len(files) == 1:
        return [out] * len(files)
    if not Path(out).is_dir():
        raise UsageError(
            f"expected an existing folder for the rows of {len(files)} files, got --out {out}"
        )
    names = [Path(file).name for file in files]
    if len(set(names)) < len(names):
        raise UsageError("two files of outputs have one name; judge them one by one")
    return [str(Path(out) / name) for name in names]


def _together(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The result of the only file, or one that holds those of all."""
    if len(results) == 1:
        return results[0]
    common = {name: results[0][name] for name in ("command", "version", "argv")}
    return {**common, "files": results}


def _with_votes(result: JudgedOutputs) -> dict[str, Any]:
    """The mapping of judged outputs, with what `evaluate` says of their votes where the truth is known."""
    plain = result.to_dict()
    if result.metric != "exact" or result.truth is None:
        return plain
    from oodometer.verbs.evaluate import evaluate

    seen = evaluate(result.record, level=result.level, seed=result.seed).to_dict()
    return {**plain, "votes": seen["votes"]}


def _parted(paths: Sequence[str], is_existing: bool) -> tuple[list[str] | None, list[str]]:
    """The folders of judges, None where the first path is a file of rows; and the files of outputs."""
    from ..verbs.discriminate.folder import holds_judges

    if Path(paths[0]).is_file() or (is_existing and not Path(paths[0]).is_dir()):
        return None, list(paths)
    folders = 1
    while folders < len(paths) and holds_judges(paths[folders]):
        folders += 1
    if folders == len(paths):
        raise UsageError(
            f"expected FOLDER OUTPUTS..., got {' '.join(paths)} alone; name the judges' folder, then the rows to judge"
        )
    return list(paths[:folders]), list(paths[folders:])
