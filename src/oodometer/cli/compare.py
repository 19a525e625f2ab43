"""The command `compare`: labelled predictions of several models in, rankings, disagreements and thresholds out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..results import percent, rounded_up
from ..results.columns import explained_text
from ..verbs.options import CompareOptions
from . import output
from .commands import Written, command

if TYPE_CHECKING:
    from ..results.comparison import Comparison


_COLUMNS = ("accuracy", "auc_coverage", "disca", "coverage_at_risk", "augrc", "risk_at_coverage")
_MAIN = 4  # of them are printed without -v


@command(CompareOptions, written=("json", "report", "out"))
def compare(given: dict[str, Any], to: Written) -> None:
    """Compare models that may abstain: which one answers best, and where the metrics disagree."""
    from ..verbs.compare import compare as run

    with output.progress_bar("comparing") as progress:
        found = run(**given, progress=progress)
    found = replace(found, argv=output.command_line())
    if to.deliver(found.to_dict(), found):
        show(found)


def show(found: Comparison) -> None:
    """Metrics of each model, the orders, findings, thresholds, warnings."""
    from ..reports.comparison import on_target, sentence  # with numpy, for which no other command should wait
    from ..reports.numbers import SPACE

    output.tell(found.difference_said)
    output.tell(*(said.replace(SPACE, " ") for said in (sentence(found.to_dict()), on_target(found.to_dict())) if said))
    for domain in ("in_domain", "out_of_domain"):
        if domain in found.paired:
            _show_domain(found, domain)
    _show_costs(found)
    _show_targets(found)
    left = _show_columns(found)
    for finding in found.findings:
        often = (
            ""
            if finding["undecided"] or finding["share"] is None
            else f" (in {percent(finding['share'], 0)} of replicates)"
        )
        output.tell(f"- {finding['sentence']}{often}")
    _show_thresholds(found)
    output.tell(*(f"warning: {warning}" for warning in found.warnings))
    output.left_out(seed=found.seed, metric=0 if output.verbose() else len(_COLUMNS) - _MAIN, column=left)


def _show_domain(found: Comparison, domain: str) -> None:
    rankings = found.rankings[domain]
    columns = [name for name in (_COLUMNS if output.verbose() else _COLUMNS[:_MAIN]) if name in rankings]
    cells: dict[str, list[str]] = {model.name: [] for model in found.models}
    best: set[tuple[int, int]] = set()
    places = {model.name: i for i, model in enumerate(found.models)}
    for j, name in enumerate(columns, 1):
        for row in rankings[name]:
            cells[row["model"]].append(f"{row['value']:.4f} ({row['rank']})")
            if row["rank"] == 1:
                best.add((places[row["model"]], j))
    how = "the same rows" if found.paired[domain]["paired"] else f"apart: {found.paired[domain]['why']}"
    output.print_table(
        ["model", *columns],
        [[name, *row] for name, row in cells.items()],
        f"{domain.replace('_', ' ')}, value (rank); compared on {how}"
        if found.paired[domain]["paired"]
        else f"{domain.replace('_', ' ')}, value (rank); compared {how}",
        bold=best,
    )


def _show_targets(found: Comparison) -> None:
    """The accuracy of each model on rows without labels, as `estimate` says it, and what it rests on."""
    told = [(model.name, model.target) for model in found.models if model.target]
    if not told:
        return
    truth = any(one["truth"] is not None for _, one in told)
    rows = []
    for name, one in sorted(told, key=lambda pair: -pair[1]["accuracy"].value):
        at, area = one["accuracy"], one.get("auc_coverage")
        known = one["truth"]
        rows.append(
            [
                name,
                *(percent(x) for x in (at.value, at.lower, at.upper)),
                one["trust"] or "-",
                *(["-" if known is None else percent(known["value"])] if truth else []),
                "-" if area is None else f"{area.value:.4f}",
            ]
        )
    output.print_table(
        ["model", "accuracy", "lower", "upper", "trust", *(["truth"] if truth else []), "auc_coverage"],
        rows,
        f"on the target, estimated without labels ({told[0][1]['accuracy'].kind} intervals at {found.level:g})",
    )
    for assumes in dict.fromkeys(one["assumes"] for _, one in told):
        output.tell(f"  rests on: {assumes}")


def _show_columns(found: Comparison) -> int:
    """The user's columns that explain a change of accuracy, with -v all; how many were left out."""
    left = 0
    for domain in ("out_of_domain", "target"):
        every = [(model.name, one) for model in found.models for one in model.columns.get(domain, ())]
        shown = [(name, one) for name, one in every if output.verbose() or one.matters]
        left += len(every) - len(shown)
        if shown:
            output.print_table(
                ["model", "column", "what changed", "explains"],
                [[name, one.name, one.says, explained_text(one.to_dict())] for name, one in shown],
                f"your columns, from in domain to {'the target' if domain == 'target' else 'out of domain'}",
            )
        elif every:
            output.tell(f"None of your columns explains a change from in domain to {domain.replace('_', ' ')}.")
    return left


def _show_costs(found: Comparison) -> None:
    rows = [
        [model.name, f"{model.computation:.4g}", _number(model.didma), _number(model.nidma)]
        for model in found.models
        if model.computation is not None
    ]
    if rows:
        output.print_table(["model", "computation", "DiDMA", "NiDMA"], rows)


def _number(one: Any) -> str:
    return "-" if one is None else f"{one.value:.4f}"


def _show_thresholds(found: Comparison) -> None:
    """What is proved in domain and what the same threshold did out of it, then why nothing is proved elsewhere."""
    from ..reports.operating import elsewhere

    rows, unproved = [], []
    away = any(model.out_of_domain is not None for model in found.models)
    for model in found.models:
        told = model.to_dict()
        for point in model.in_domain.tables.get("operating_points", []):
            if point["coverage"] is None:
                unproved.append(f"{model.name}, {point['accuracy']:g}: {point['why']}")
                continue
            there = elsewhere(told, "out_of_domain", point["threshold"])
            beyond = [percent(there[name]) if name in there else "-" for name in ("coverage", "value")]
            rows.append(
                [
                    model.name,
                    f"{point['accuracy']:g}",
                    rounded_up(point["threshold"]),
                    percent(point["coverage"]["value"]),
                    percent(point["selective_accuracy"]["value"]),
                    percent(point["selective_accuracy"]["lower"]),
                    *(beyond if away else []),
                ]
            )
    if rows:
        output.print_table(
            ["model", "required", "threshold", "answered", "accuracy", "proved", *(["OOD share", "OOD right"] * away)],
            rows,
            f"thresholds in domain, chosen on these rows; proved at the level {found.level:g}",
        )
        if away:
            output.tell("  OOD: the share answered out of domain with the same threshold, and its accuracy")
    if unproved:
        output.tell("No threshold is proved for:", *(f"- {one}" for one in unproved))
