"""The commands `discriminate train` and `discriminate predict`: judges of outputs, and their votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options, output, places
from .places import going_on

if TYPE_CHECKING:
    from ..verbs.discriminate import JudgedOutputs


def add_to(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = places.Commands(
        help="Judges that tell right outputs of a sequence model from wrong ones: accuracy between bounds, no labels.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command(name="train")(train)
    group.command(name="predict")(predict)
    app.add_typer(group, name="discriminate")


def train(
    pairs: Annotated[
        list[str],
        typer.Argument(
            help="Rows of input, output and gold (or correct), one file or several; - is standard input.",
            metavar="PAIRS...",
        ),
        places.READ,
    ],
    out: Annotated[str, typer.Option(help="Folder for the judges.", metavar="FOLDER"), places.FOLDER],
    dev: Annotated[
        str | None,
        typer.Option(
            help="Labelled outputs of the model as it is now, held out; the judges' thresholds are set on them. By "
            "default a tenth of the inputs of PAIRS, and thresholds of 0.5.",
            metavar="FILE",
        ),
        places.READ,
    ] = None,
    judges: Annotated[int, typer.Option(help="How many judges.")] = 5,
    kind: Annotated[
        str,
        typer.Option(
            help="encoder (cheap), encoder-decoder (answers Correct or Incorrect), or likelihood (a model of its own, "
            "trained on gold: how probable it finds an output; with --dev FILE, PAIRS need no outputs)."
        ),
    ] = "encoder",
    source: Annotated[
        str | None,
        typer.Option(help="Pretrained model, a name on the hub or a path; by default a small one from scratch."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the pairs.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Pairs a step.")] = None,
    max_length: Annotated[
        int,
        typer.Option(help="Tokens of a pair that are read; longer ones are cut."),
    ] = 512,
    metric: Annotated[
        str, typer.Option(help="exact (right or wrong), or a metric to predict: token-f1 or bleu.")
    ] = "exact",
    rename: options.Rename = None,
    seed: Annotated[int, typer.Option(help="Seed of the judges, of the held-out inputs and of all draws.")] = 0,
    device: options.Device = None,
    engine: options.TaskEngine = None,
    workers: options.TaskWorkers = None,
    json: options.Json = None,
) -> None:
    """Train judges on outputs that are known to be right or wrong."""
    from ..verbs.discriminate import train_judges

    with going_on(output.KEPT), output.progress_bar("training judges", lines=True, share=True) as progress:
        found = train_judges(
            pairs,
            out,
            dev=dev,
            judges=judges,
            kind=kind,
            source=source,
            epochs=epochs,
            batch_size=batch_size,
            max_length=max_length,
            metric=metric,
            seed=seed,
            mapping=output.parse_mapping(rename or []),
            device=device,
            engine=engine,
            workers=workers,
            progress=progress,
        )
    found = replace(found, argv=output.command_line())
    output.deliver(found.to_dict(), json=json)
    if json != "-":
        output.show(found)


def predict(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="FOLDER OUTPUTS...",
            help="The folder of the judges, or several, whose judges vote together (may be left out with --judge, and "
            "for rows that hold p_correct_ columns), then rows of input and output, one file or several; gold or "
            "correct where known.",
        ),
        places.READ,
    ],
    out: Annotated[
        str | None,
        typer.Option(
            help="Write the rows with their votes to this file; of several OUTPUTS into this folder.",
            metavar="FILE",
        ),
        places.WRITTEN,
    ] = None,
    agree: Annotated[int | None, typer.Option(help="Judges that must accept, a majority; all by default.")] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(
            help="Labelled outputs of the same model (gold or correct): each judge accepts as often as they are right.",
            metavar="FILE",
        ),
        places.READ,
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Accept from this P(Correct) on; the paper's is 0.5, and the default without labelled outputs."
        ),
    ] = None,
    with_confidence: Annotated[
        bool,
        typer.Option("--with-confidence", help="The rows' own confidence votes as well; its threshold is calibrated."),
    ] = False,
    pseudo_labels: Annotated[
        str | None,
        typer.Option(
            help="Write accepted rows as input and gold to this file, to train a model on.",
            metavar="FILE",
        ),
        places.WRITTEN,
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help="A Hugging Face classifier as a further judge, by name or path; may be repeated."),
    ] = None,
    judge_label: Annotated[
        list[str] | None,
        typer.Option("--judge-label", help="Its label that means Correct; once for all, or once for each judge."),
    ] = None,
    level: options.Level = 0.95,
    rename: options.Rename = None,
    device: options.Device = None,
    json: options.Json = None,
    report: Annotated[
        str | None,
        typer.Option(
            help="Write a self-contained page to this .html file, where the truth of some rows is known.",
            metavar="FILE",
        ),
        places.WRITTEN,
    ] = None,
) -> None:
    """Let judges vote on outputs: lower and upper accuracy, without labels."""
    from ..errors import UsageError
    from ..verbs.discriminate import judge_outputs

    output.check_page(report)
    folders, files = _parted(paths, bool(judge))
    if len(files) > 1 and pseudo_labels is not None:
        raise UsageError("pseudo-labels are of one file of outputs; run the command once for each")
    places = _places(out, files)
    found: list[JudgedOutputs] = []
    with going_on(output.KEPT), output.results(), output.progress_bar("judging", lines=True, share=True) as progress:
        for file, place in zip(files, places, strict=True):
            found.append(
                judge_outputs(
                    folders,
                    file,
                    out=place,
                    agree=agree,
                    calibrate=calibrate,
                    threshold=threshold,
                    with_confidence=with_confidence,
                    pseudo_labels=pseudo_labels,
                    existing=judge or (),
                    judge_labels=judge_label or (),
                    level=level,
                    mapping=output.parse_mapping(rename or []),
                    device=device,
                    progress=progress,
                )
            )
        found = [replace(one, argv=output.command_line()) for one in found]
        told = [one.to_dict() for one in found]
        several = {name: told[0][name] for name in ("command", "version", "argv")} | {"files": told}
        page = None if report is None else _page(found)
        output.deliver(told[0] if len(told) == 1 else several, json=json, report=report, page=page)
    if json != "-":
        for one in found:
            output.show(one)


def _parted(paths: Sequence[str], others: bool) -> tuple[list[str] | None, list[str]]:
    """The folders of judges, None where the first path is a file of rows; and the files of outputs."""
    from ..errors import UsageError
    from ..verbs.discriminate.folder import holds_judges

    if Path(paths[0]).is_file() or (others and not Path(paths[0]).is_dir()):
        return None, list(paths)
    folders = 1
    while folders < len(paths) and holds_judges(paths[folders]):
        folders += 1
    if folders == len(paths):
        raise UsageError(
            f"expected FOLDER OUTPUTS..., got {' '.join(paths)} alone; name the judges' folder, then the rows to judge"
        )
    return list(paths[:folders]), list(paths[folders:])


def _places(out: str | None, files: Sequence[str]) -> list[str | None]:
    """Where the judged rows of each file go."""
    from ..errors import UsageError

    if out is None or len(files) == 1:
        return [out] * len(files)
    home, names = Path(out), [Path(file).name for file in files]
    if not home.is_dir():
        raise UsageError(f"expected an existing folder for the rows of {len(files)} files, got --out {out}")
    if len(set(names)) < len(names):
        raise UsageError("two files of outputs have one name; judge them one by one")
    if any((home / name).resolve() == Path(file).resolve() for name, file in zip(names, files, strict=True)):
        raise UsageError(f"the files lie in {out} themselves; name another folder with --out")
    return [str(home / name) for name in names]


def _page(found: Sequence[JudgedOutputs]) -> dict[str, Any]:
    """The page of `evaluate`, whose section on votes has bounds, trade-off and subsets."""
    from ..errors import UsageError
    from ..verbs.evaluate import evaluate

    told = [one for one in found if one.metric == "exact" and one.truth is not None]
    if len(told) < len(found):
        raise UsageError(
            "a page needs the truth of some rows (gold or correct); without any, write the votes with --out and give "
            "them to `oodometer estimate REFERENCE VOTES --report`"
        )
    named = [replace(one.record, source=Path(one.name).name) for one in told]
    result = evaluate(*named, level=found[0].level, seed=found[0].seed).to_dict()
    return {**result, "argv": output.command_line()}
