"""The command `rank`: models, a few labels and perhaps a pool in; which model, how sure, by which evidence, out."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from . import options, output, places


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="rank")(rank)


def rank(
    model: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Two models or more: what `predict` takes, or predictions files of all of them; NAME=MODEL names one.",
        ),
        places.READ,
    ],
    examples: Annotated[
        str | None,
        typer.Option(
            help="A few labelled rows of the data in question, drawn at random; of predictions files the labels by id, "
            "by default their own.",
            metavar="FILE",
        ),
        places.READ,
    ] = None,
    unlabelled: Annotated[
        str | None,
        typer.Option(help="More rows of the same data, without labels: the pool.", metavar="FILE"),
        places.READ,
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            help="Labelled rows of known ground, for estimates without labels; of predictions files one a model, "
            "in their order.",
            metavar="FILE",
        ),
        places.READ,
    ] = None,
    factor: Annotated[
        list[str] | None,
        typer.Option(help="A factor over attributions, such as max-diff; may be repeated. By default those that fit."),
    ] = None,
    attribution: Annotated[
        str | None,
        typer.Option(help="lime, kernel-shap or token-ig; by default lime, where factors or a page are asked for."),
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Texts that are asked for one attribution, or its steps.")] = None,
    suggest: Annotated[int, typer.Option(help="Name so many rows of the pool that are best labelled next.")] = 0,
    out: Annotated[
        str | None,
        typer.Option(help="Write the suggested rows, ids and texts, to this .csv or .jsonl file.", metavar="FILE"),
        places.WRITTEN,
    ] = None,
    input: Annotated[
        list[str] | None,
        typer.Option(help="Column that the models read; twice for pairs of texts, again for a table."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column of the truth; by default label.")] = None,
    id: Annotated[str | None, typer.Option("--id", "--key", help="Column that names the rows; by default id.")] = None,
    rename: options.Rename = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    classes: options.Classes = None,
    cluster: options.Cluster = None,
    gives: Annotated[str | None, typer.Option(help="What a model from outside gives: logits or probabilities.")] = None,
    max_length: Annotated[int | None, typer.Option(help="Tokens of a text that are read, at most.")] = None,
    level: options.Level = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of draws, attributions and bootstraps.")] = 0,
    device: options.Device = None,
    engine: options.TaskEngine = None,
    workers: options.TaskWorkers = None,
    run_folder: Annotated[
        str | None,
        typer.Option(
            help="Keep answers and attributions here as they come: a run that was killed goes on.",
            metavar="FOLDER",
        ),
        places.FOLDER,
    ] = None,
    json: options.Json = None,
    report: options.Report = None,
    save: options.Save = None,
) -> None:
    """Rank models by a few labels and a pool without: which one, how sure, by which evidence, what to label next."""
    given = {name: value for name, value in locals().items() if name not in ("json", "report", "save")}
    _run(given, json, report, save)


def _run(given: dict[str, Any], json: str | None, report: str | None, save: list[str] | None) -> None:
    from ..verbs.rank import check_out, write_suggested
    from ..verbs.rank import rank as run

    output.check_files(report, save)
    out, models = given.pop("out"), given.pop("model")
    check_out(out, given["suggest"])
    given["factors"], given["inputs"] = given.pop("factor") or (), given.pop("input") or None
    given["mapping"] = output.parse_mapping(given.pop("rename") or [])
    given["classes"] = output.parse_classes(given["classes"])
    given["reference"] = _reference(given["reference"])
    if report is not None and given["attribution"] is None and not given["factors"]:
        given["attribution"] = "auto"
    with output.results(), output.progress_bar("asking the models") as progress:
        found = run(models, **given, argv=output.command_line(), progress=progress)
        output.deliver(found.to_dict(), json=json, report=report, found=found, files=save)
        if out is not None:
            write_suggested(found, out)
    if json == "-":
        return
    output.tell(*found.opening())
    output.print_table(*found.table(), "Models, the best first")
    if output.verbose():
        output.print_table(*found.pair_table(), "How sure the order of each two is")
        output.print_table(*found.evidence_table(), "Evidence, and what it alone would have said")
    if found.suggested and out is None:
        output.print_table(["id", "text"], found.suggested_table(), "Rows to label next; no random sample")
    output.tell(*found.closing())
    output.left_out(seed=found.seed, table=2)
    if out is not None:
        output.say(f"wrote {len(found.suggested):,} rows to label next to {out}")


def _reference(given: list[str] | None) -> Any:
    """One file, several, or none."""
    return None if not given else given[0] if len(given) == 1 else given
