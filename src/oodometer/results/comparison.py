"""Comparison: the result of the verb `compare`, and its JSON form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any

from ..plain import Json, Plain, Strings, inside
from .diagnosis import ColumnChange, explained_text
from .evaluation import CURVES, Evaluation, weighted_by
from .gate import Gate, gate_sentence
from .values import Interval, Record, counted, listed, percent, points, rounded_up, signed_points
from .view import (
    INTERVAL,
    Grid,
    Maker,
    Named,
    Shown,
    Table,
    View,
    cell,
    cells_of,
    ends,
    interval_of,
    p_text,
    shows,
    with_ends,
)

_LEFT_OUT = ("command", "version", "argv", "level", "seed", "per_class")
_COLUMNS = (
    "accuracy",
    "mean_score",
    *CURVES,
    "auc_coverage",
    "disca",
    "coverage_at_risk",
    "augrc",
    "risk_at_coverage",
)
_MAIN = 4  # of them are shown at first
_MOST_TOLD = 3  # models in a sentence
_MOST_TASKS = 12  # that are shown at first
_MOST_PAIRS = 6  # of models that are shown at first
_PLACES = {"in_domain": "in domain", "out_of_domain": "out of domain", "target": "the target"}
_RANKINGS = {"in_domain": "rankings", "out_of_domain": "rankings_out_of_domain"}
_TARGET = "rankings_target"


@dataclass(frozen=True)
class ModelRecord(Record):
    """What was found for one model: in its domain, out of it, on a target without labels, and what it costs.

    in_domain, out_of_domain : `Evaluation`, the second None where no file was given. target : label-free
    accuracy-coverage ``curve`` and ``answers`` for the required accuracies, or None. energy, parameters, computation :
    what it costs, and the score made of it; None where nothing was given. didma, nidma : with intervals; None where a
    part is missing. columns : domain -> how the user's columns moved to there, those first that explain most of a
    change of accuracy.
    """

    name: str
    in_domain: Evaluation
    out_of_domain: Evaluation | None = None
    target: Plain | None = None
    energy: float | None = None
    parameters: float | None = None
    computation: float | None = None
    didma: Interval | None = None
    nidma: Interval | None = None
    columns: Mapping[str, tuple[ColumnChange, ...]] = field(default_factory=dict)

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        out = super().to_dict()
        for domain in _RANKINGS:
            out[domain] = out[domain] and {
                key: item for key, item in out[domain].items() if key not in _LEFT_OUT
            }
        return out


@dataclass(frozen=True, repr=False)
class Comparison(Shown, Record, Named[ModelRecord]):
    """What `compare` found; ``comparison["name"]`` is the record of one model.

    models : in the order given.
    rankings : domain (in_domain, out_of_domain, target) -> metric -> rows, best first.
    disagreements : pairs of metrics with Kendall's tau of their rankings and the pairs of models on which they part.
    pairs : each two models and metric, with the difference and the share of replicates in which the first is better.
    findings : what to know, in words, with its numbers.
    paired : domain -> whether the models were judged on the same rows.
    settings : options of the metrics.
    warnings : sentences to read before believing the order.
    level : nominal coverage of the intervals.
    seed : of what is drawn at random.
    argv : the command line; None of a call from Python.
    difference : in accuracy, of the best model and the next (of two models the second and the first), ``b`` - ``a``.
    tasks : the same difference within each task, with p-values corrected for their number (Holm); empty without tasks.
    to_best : of three models or more on the same rows, each one's difference to the best, with intervals that hold
        together for all pairs; else empty.
    groups : names of models that cannot be told apart, the best group first; empty where ``to_best`` is.
    gate : whether the second model fell by more than the drop that was named, or None.
    beside : the same difference in further curves, and in what answers take (``share`` False, in units of the column),
        with p-values corrected for their number (Holm); empty without.
    every_pair : of three models or more on the same rows the difference of every two, ``b`` - ``a``, b the better one
        here, with intervals and p-values that hold together for all pairs (of the largest t over them); else empty.
    """

    models: tuple[ModelRecord, ...]
    rankings: Mapping[str, Mapping[str, list[Json]]]
    disagreements: tuple[Json, ...]
    pairs: tuple[Json, ...]
    findings: tuple[Json, ...]
    paired: Mapping[str, Plain]
    settings: Plain
    warnings: Strings
    level: float
    seed: int
    argv: str | None = field(default=None)
    difference: Plain = field(default_factory=dict)
    tasks: tuple[Json, ...] = ()
    to_best: tuple[Json, ...] = ()
    groups: tuple[list[str], ...] = ()
    gate: Gate | None = None
    beside: tuple[Json, ...] = ()
    every_pair: tuple[Json, ...] = ()
    _command, _spread = "compare", frozenset({"orders"})
    _first = (
        "argv level seed settings paired models orders disagreements "
        "pairs difference gate tasks beside to_best groups every_pair findings"
    )
    _untold, _noun, _entries = frozenset({"rankings"}), "model", ("models", "name")

    @property
    def orders(self) -> Json:
        """The rankings of each domain under their names in JSON."""
        return {
            name: self.rankings.get(domain, {})
            for domain, name in {**_RANKINGS, "target": _TARGET}.items()
        }

    def frames(self) -> dict[str, Maker]:
        """``models``: a row for each model, domain and metric; ``pairs``: a row for each two models, a minus b."""
        pair = ("domain", "metric", "a", "b", *INTERVAL, "p_a_better", "undecided")
        return {
            "models": lambda: _models_table(self),
            "pairs": lambda: Table(
                pair, [{**item, **ends(item["difference"])} for item in self.pairs]
            ),
        }


@shows(Comparison)
def comparison_view(result: Plain) -> View:
    """What a comparison says, from the mapping that JSON holds: the difference, who may answer, the orders."""
    models, gap = result.get("models") or [], result.get("difference") or {}
    item = interval_of({"kind": "asymptotic", **gap})
    title, number, note = "Models compared", counted(len(models), "model"), ""
    if item is not None:
        title = f"Difference in {_measure(gap)}, {gap['b']} - {gap['a']}"
        number, note = amount(gap, item.value, signed=True), _rows_of_both(gap)
    findings = _findings(result)
    gate = result.get("gate")
    sentences = (
        gate_sentence(gate, partial(amount, gap)) if gate else "",
        weighted_by(gap["weights"]) if gap.get("weights") else "",
        *_better(result, gap, item),
        may_answer(result),
        on_target(result),
    )
    return View(
        title,
        number,
        item,
        note,
        share=False,
        gap=item is not None and _in_shares(gap),
        sentences=tuple(filter(None, sentences)),
        grids=(
            *_pairs_grid(result),  # what was asked for comes first
            *_best_grid(result, gap),
            *_beside_grid(result, gap),
            *_tasks_grid(result, gap),
            *_every_pair_grid(result, gap),
            *_targets_grid(result),
            *_domain_grid(result, "in_domain"),
            *_domain_grid(result, "out_of_domain"),
            *_costs_grid(models),
            *_columns_grid(models, "out_of_domain"),
            *_columns_grid(models, "target"),
            *_thresholds_grids(result),
            _values_grid(result, "in_domain"),
            _values_grid(result, "out_of_domain"),
            *_against_grid(result),
            _cases_grid(models),
            _skipped_grid(models),
        ),
        notes=tuple(_first_of_its_kind(sentences) for sentences in findings),
        details=tuple(text for sentences in findings for text in sentences[1:]),
        warnings=tuple(result.get("warnings") or ()),
        seed=result.get("seed"),
        cells={} if item is None else {"metric": "difference", "says": f"{title}: {number}"},
    )


def _in_shares(gap: Plain) -> bool:
    """Whether the difference is one of shares, and not on the scale of the scores."""
    return bool(gap.get("metric") != "mean_score")


def _measure(gap: Plain) -> str:
    """What the difference is one of."""
    name = gap.get("metric")
    if name in CURVES:
        return f"{CURVES[name]}{gap['k']}"
    return "accuracy" if _in_shares(gap) else "mean score"


def _rows_of_both(gap: Plain) -> str:
    """Which rows the two models are compared on."""
    clusters = f" in {gap['clusters']:,} clusters" if gap.get("clusters") else ""
    noun = "questions" if gap.get("metric") in CURVES else "rows"
    return (
        f"the same {gap['rows']:,} {noun}" if gap["paired"] else f"{noun} drawn apart"
    ) + clusters


def _findings(result: Plain) -> list[list[str]]:
    """The findings as sentences, those of a kind together, without what the table of pairs says."""
    kinds: dict[str, list[str]] = {}
    pairs = _target_pairs(result)
    for finding in result.get("findings") or ():
        if finding.get("name") == "target_order" and pairs:
            continue
        text, share = finding["sentence"], finding.get("share")
        if share is not None and not finding.get("undecided"):
            text += f" (in {percent(share, 0)} of replicates)"
        kinds.setdefault(str(finding.get("name")), []).append(text)
    return list(kinds.values())


def _first_of_its_kind(findings: Sequence[str]) -> str:
    """The first of several findings, and how many wait."""
    first, *rest = findings
    return f"{first}; {len(rest)} more of this kind" if rest else first


def _costs_grid(models: Sequence[Plain]) -> list[Grid]:
    """What the models cost, and the scores that weigh it."""
    of = "energy" if any(item.get("energy") for item in models) else "parameters"
    rows = []
    for model in models:
        if model.get("computation") is not None:
            costs = [f"{model.get(of) or 0:,.10g}", f"{model['computation']:.4g}"]
            scores = (cells_of(model.get(score), share=False)[0] for score in ("didma", "nidma"))
            rows.append([str(model["name"]), *costs, *scores])
    columns = ["model", of, "computation", "DiDMA", "NiDMA"]
    return [Grid.used("what the models cost", columns, rows, {4}, slot="costs")] if rows else []


def _skipped_grid(models: Sequence[Plain]) -> Grid:
    """The metrics that were left out, of which model, where, and why."""
    rows = []
    for model in models:
        for domain in _RANKINGS:
            for item in inside(model, domain, "skipped") or ():
                metric = str(item.get("metric") or item["method"])
                rows.append([metric, str(model["name"]), _PLACES[domain], str(item["why"])])
    heads = ["metric", "model", "where", "why"]
    return Grid("metrics that were left out", heads, rows, noun="", detail=True, slot="left out")


def amount(gap: Plain, value: float, signed: bool = False) -> str:
    """A difference as text: in points of accuracy, or as a number on the scale of the scores."""
    if not _in_shares(gap):
        return f"{value if signed else abs(value):{'+' if signed else ''}.3g}"
    return signed_points(value) if signed else points(value)


def _better(result: Plain, gap: Plain, item: Interval | None) -> list[str]:
    """Which of the two is the better one, or that it is undecided, and on how many rows one alone is right; of several
    models which cannot be told apart.
    """
    if item is None:
        return []
    decided = item.lower > 0 or item.upper < 0
    lines = [_winner(gap, item, decided)]
    if gap.get("p_value") is not None:
        lines.append(_alone(gap))
        lines += [] if decided else [_visible(gap)]
    return [*lines, *_apart(result)]


def _winner(gap: Plain, item: Interval, decided: bool) -> str:
    """Which of the two is the better one, by which test and with which probability."""
    ahead = item.value >= 0
    better, p = gap["b" if ahead else "a"], gap["p_b_better"] if ahead else 1 - gap["p_b_better"]
    chance = "more than 99.9 %" if p > 0.999 else percent(p, 1 if p > 0.99 else 0)
    sure, test, adjusted = f" with probability {chance}", _test(gap), gap.get("p_adjusted")
    if adjusted is not None:
        sign = "" if adjusted < 0.001 else "= "
        sure, test = "", f" (p {sign}{p_text(adjusted)} with all pairs counted)"
    if decided:
        return f"The better one is {better}{test}{',' if sure else ''}{sure}"
    if not item.value:
        return f"Undecided{test}: both do equally well on these rows"
    return f"Undecided{test}: {better} is {'better' if sure else 'ahead here'}{sure}"


def _test(gap: Plain) -> str:
    """The test of the difference of two models and its p-value."""
    p = gap.get("p_value")
    if p is None:
        return ""
    text = "< 0.0001" if p < 0.0001 else f"= {p:.2g}"
    if gap.get("metric") == "accuracy" and not gap.get("clusters") and not gap.get("weights"):
        return f" (McNemar's exact p {text})"
    return f" (p {text})"


def _alone(gap: Plain) -> str:
    """On how many rows one of the two alone is right, or is higher."""
    only, verb = ("only ", "is right") if gap.get("metric") == "accuracy" else ("", "is higher")
    noun = "question" if gap.get("metric") in CURVES else "row"
    line = f"{only.capitalize()}{gap['b']} {verb} on {counted(gap['b_alone'], noun)}"
    return f"{line}, {only}{gap['a']} on {gap['a_alone']:,}, ties {gap['ties']:,}"


def _visible(gap: Plain) -> str:
    """Which difference the rows could show, and how many would show a point."""
    units = gap["clusters"] or gap["rows"]
    rows_needed = float(format(gap["rows_for_point"] * units / gap["rows"], ".2g"))
    point = "1 point" if _in_shares(gap) else f"one of {gap['point']:.3g}"
    could = f"could show {amount(gap, gap['smallest_visible'])} (power 0.8)"
    noun = "cluster" if gap["clusters"] else "question"
    return f"{counted(units, noun)} {could}, about {rows_needed:,.0f} show {point}"


def _apart(result: Plain) -> list[str]:
    """Of several models the best one, or which cannot be told apart and which are behind these."""
    groups = result.get("groups") or []
    if not groups:
        return []
    first = groups[0]
    if len(groups) == 1 and len(first) > 2:
        pairs = len(first) * (len(first) - 1) // 2
        return [f"No two of these {len(first)} models can be told apart, all {pairs} pairs counted"]
    if len(first) == 1:
        return [f"The best is {first[0]}, ahead of all others"]
    by: dict[str, list[str]] = {}  # whom a model is behind of the first ones -> such models
    for row in result.get("to_best") or ():
        ahead = [name for name in row["behind"] if name in first]
        if row["model"] not in first and ahead:
            names = "all of them" if len(ahead) == len(first) else listed(ahead)
            by.setdefault(names, []).append(row["model"])
    lines = [f"Cannot be told apart: {listed(first)}"]
    for names, models in by.items():
        lines.append(f"{listed(models)} {'is' if len(models) == 1 else 'are'} behind {names}")
    return ["; ".join(lines)]


def _difference_cells(values: Iterable[float], share: bool) -> list[str]:
    """A difference and the ends of its interval, in points or on the scale of the scores."""
    return [f"{100 * value:+.1f}" if share else f"{value:+.3f}" for value in values]


def _tasks_grid(result: Plain, gap: Plain) -> list[Grid]:
    """The difference by task, and over tasks that weigh alike."""
    tasks, share = result.get("tasks") or [], _in_shares(gap)
    if not tasks:
        return []
    pair, rows, how = (gap["a"], gap["b"]), [], "%" if share else ".3f"

    def row(name: str, count: str, means: Iterable[float], difference: Any) -> list[str]:
        """The means of both, and their difference."""
        ends = (difference[end] for end in ("value", "lower", "upper"))
        return [name, count, *(cell(x, how) for x in means), *_difference_cells(ends, share)]

    for task in tasks:
        means = [task["values"][name] for name in pair]
        line = row(task["task"] or "-", f"{task['rows']:,}", means, task["difference"])
        rows.append([*line, p_text(task["p_value"]), p_text(task["p_holm"])])
    if macro := gap.get("macro"):
        means = [sum(task["values"][name] for task in tasks) / len(tasks) for name in pair]
        rows.append([*row("mean of tasks", "", means, macro), "", ""])
    heads = ["task", "rows", *pair, f"{pair[1]} - {pair[0]}", "lower", "upper", "p", "Holm"]
    note = _decided_tasks(tasks, gap.get("level") or 0.95)
    few = [*range(_MOST_TASKS), len(rows) - 1] if len(tasks) > _MOST_TASKS else None
    average = "The difference on top is by question, each row alike; the mean of tasks is by task"
    return [
        Grid("by task", heads, rows, noun="task", few=few, notes=(note, average), slot="by-task")
    ]


def _decided_tasks(tasks: Sequence[Plain], level: float) -> str:
    """Which tasks are decided by themselves though all were looked at."""
    sure = [task["task"] for task in tasks if task["p_holm"] <= 1 - level]
    if not sure:
        return "No task is decided once all are counted (Holm)"
    return f"Decided over all tasks together (Holm): {listed(sure)}"


def _beside_grid(result: Plain, gap: Plain) -> list[Grid]:
    """The difference in further curves and in what answers take, each in its own units."""
    rows = []
    for item in result.get("beside") or ():
        means = [item["values"][name] for name in (gap["a"], gap["b"])]
        ends = [item["difference"][end] for end in ("value", "lower", "upper")]
        cells = [f"{x:.3g}" for x in means] + [f"{x:+.3g}" for x in ends]
        if item["share"]:
            cells = [*(cell(x, "%") for x in means), *_difference_cells(ends, share=True)]
        rows.append([item["metric"], *cells, p_text(item["p_value"]), p_text(item["p_holm"])])
    heads = ["beside", gap.get("a", ""), gap.get("b", "")]
    heads += [f"{gap.get('b')} - {gap.get('a')}", "lower", "upper", "p", "Holm"]
    return [Grid("on the same rows", heads, rows, slot="beside")] if rows else []


def _best_grid(result: Plain, gap: Plain) -> list[Grid]:
    """Differences of all models to the best, with intervals that hold together."""
    every, share, rows = result.get("to_best") or [], _in_shares(gap), []
    if not every:
        return []
    best = every[0]["best"]
    how = "%" if share else ".3f"
    level = percent(result.get("level") or 0.95, None)
    values = {row["model"]: cell(row["value"], how) for row in result["rankings"][gap["metric"]]}
    for row in every:
        ends = (row["difference"][name] for name in ("value", "lower", "upper"))
        cells = [*_difference_cells(ends, share), p_text(row["p_adjusted"]), listed(row["behind"])]
        rows.append([row["model"], values[row["model"]], *cells])
    count = len(every) + 1
    pairs = f"all {count * (count - 1) // 2} pairs of models, by the largest |t|"
    title = f"difference to {best}, the best ({level} intervals that hold together for {pairs})"
    heads = ["model", _measure(gap), f"- {best}", "lower", "upper", "p", "behind"]
    first = [best, values[best], *[""] * 5]
    return [Grid.used(title, heads, [first, *rows], {6}, noun="", slot="to-best")]


def _every_pair_grid(result: Plain, gap: Plain) -> list[Grid]:
    """The difference of every two of several models, the surest first."""
    share, rows = _in_shares(gap), []
    for pair in sorted(result.get("every_pair") or (), key=lambda pair: pair["p_adjusted"]):
        ends = [pair["difference"][end] for end in ("value", "lower", "upper")]
        sure = [p_text(pair["p_value"]), p_text(pair["p_adjusted"])]
        rows.append([pair["b"], pair["a"], *_difference_cells(ends, share), *sure])
    heads = ["better", "than", "difference", "lower", "upper", "p", "p of all"]
    title = (
        "every two models (intervals and p of all hold together, by the largest |t| over all pairs)"
    )
    return [Grid(title, heads, rows, noun="pair", detail=True, slot="pairs")] if rows else []


def required(result: Plain) -> tuple[float, list[float]]:
    """The accuracy to speak about first, the tolerance of DiSCA or else the highest, and all that are required."""
    settings = result.get("settings") or {}
    accuracies: list[float] = sorted(
        item for item in settings.get("require") or () if item is not None
    )
    first = settings.get("tolerance")
    return first if first in accuracies else max(accuracies, default=0.0), accuracies


def operating_points(model: Plain) -> Sequence[Plain]:
    """From which threshold on a model is proven to keep each required accuracy, or why nothing is proven."""
    proven: Sequence[Plain] = inside(model, "in_domain", "operating_points") or ()
    return proven


def leader(result: Plain) -> tuple[Plain, Plain] | None:
    """The model that may answer most and its operating point, for the accuracy to speak about first.

    First that of `required` is tried, then lower ones, then higher ones; of equal coverages the more accurate one wins.
    """
    first, accuracies = required(result)
    for accuracy in sorted(accuracies, key=lambda x: (x != first, x > first, abs(x - first))):
        proven = [
            (model, at)
            for model in result.get("models") or ()
            for at in operating_points(model)
            if at.get("accuracy") == accuracy and interval_of(at.get("coverage"))
        ]
        if proven:
            return max(
                proven,
                key=lambda pair: (
                    pair[1]["coverage"]["value"],
                    pair[1]["selective_accuracy"]["value"],
                ),
            )
    return None


def may_answer(result: Plain) -> str:
    """Which model may answer, from which confidence on, and what is proven of its answers; "" where nobody asked."""
    led, (first, levels) = leader(result), required(result)
    if led is None:
        accuracies = listed([percent(item, None) for item in levels], "or")
        if not any(
            "operating_points" in (model.get("in_domain") or {})
            for model in result.get("models") or ()
        ):
            return ""  # without confidence there is nothing to threshold
        text = (
            f"No threshold is proven: these rows show no model to be right {accuracies} of the time"
        )
        return text if accuracies else ""
    model, at = led
    proof, share = at["selective_accuracy"], at["coverage"]["value"]
    text = f"from confidence {rounded_up(at['threshold'])} on, {model['name']} may answer: {percent(share)} of rows "
    text += "like these, and"
    if share >= 1:
        text = f"everything like these rows may be answered by {model['name']}:"
    prefix = f"No model is proven to be right {percent(first, None)} of the time. For {percent(at['accuracy'], None)}: "
    text = prefix + text if at["accuracy"] < first else text[:1].upper() + text[1:]
    sure = f" with {percent(result['level'], None)} confidence" if result.get("level") else ""
    right = f"it is right on at least {percent(proof['lower'])} of them (here on {percent(proof['value'])})"
    return f"{text}{sure} {right}"


def on_target(result: Plain) -> str:
    """What is estimated of the models on their targets without labels, and whether their order is decided."""
    targets = [
        (str(model.get("name")), model["target"])
        for model in result.get("models") or ()
        if model.get("target")
    ]
    labelled = all(item.get("by_labels") for _, item in targets)
    by = "by_labels" if labelled else "accuracy"
    order = [
        (name, number, item)
        for name, item in targets
        if (number := interval_of(item.get(by))) is not None
    ]
    if not order:
        return ""
    order.sort(key=lambda row: -row[1].value)
    verbs = [" is" if labelled else " is estimated", *[""] * len(order)]
    names = [
        f"{name}{verb} at {with_ends(at)}"
        for verb, (name, at, _) in zip(verbs, order[:_MOST_TOLD], strict=False)
    ]
    text = f"On the target, {'by its labels' if labelled else 'without labels'}, {listed(names)}"
    text += _order_of_first_two(result, [(name, at) for name, at, _ in order[:2]], labelled)
    doubted = [name for name, _, item in order if item.get("trust") == "none" and not labelled]
    doubt = (
        f"; the estimate of {listed(doubted[:_MOST_TOLD])} deserves no trust, nor does its place"
    )
    return text + doubt if doubted else text


def _order_of_first_two(
    result: Plain, first: Sequence[tuple[str, Interval]], labelled: bool
) -> str:
    """Whether the order of the two leading models on the target is decided."""
    names = {name for name, _ in first}
    pair = next((row for row in _target_pairs(result) if {row["a"], row["b"]} == names), None)
    if pair is not None:
        chance, likely = pair["p_a_better"], pair["a"] if pair["p_a_better"] >= 0.5 else pair["b"]
        sure = percent(max(chance, 1 - chance))
        text = f"; of the first two {likely} is better with probability {sure}: "
        return text + ("undecided, and a few labels decide it" if pair["undecided"] else "decided")
    if len(first) < 2 or first[0][1].lower > first[1][1].upper:
        return ""
    text = "; the first two intervals overlap: which is better is undecided"
    return text if labelled else f"{text}, and a few labels decide it"


def _target_pairs(result: Plain) -> list[Plain]:
    return [row for row in result.get("pairs") or () if row["domain"] == "target"]


def _turned(gap: Interval, turn: bool) -> tuple[float, float, float]:
    """A difference and its ends, of the second from the first model where they are to be turned."""
    if turn:
        return -gap.value, -gap.upper, -gap.lower
    return gap.value, gap.lower, gap.upper


def _pairs_grid(result: Plain) -> list[Grid]:
    """Which of each two models is better on the target, and whether that is decided; of many models after `-v`."""
    pairs, rows = _target_pairs(result), []
    for pair in pairs:
        gap, chance = interval_of(pair["difference"]), pair["p_a_better"]
        if gap is not None:
            ahead = chance >= 0.5
            names = [str(pair[name]) for name in ("ab" if ahead else "ba")]
            numbers = _difference_cells(_turned(gap, not ahead), share=True)
            cells = [*numbers, percent(max(chance, 1 - chance))]
            rows.append([*names, *cells, "undecided" if pair["undecided"] else "decided"])
    if not rows:
        return []
    heads = ["better", "than", "points", "lower", "upper", "probability", "order"]
    about = inside(result, "paired", "target") or {}
    sure = sum(row[-1] == "decided" for row in rows)
    notes = (f"{sure} of {counted(len(rows), 'pair')} decided", *(about.get("decided") or ()))
    notes += () if sure == len(rows) else ("A few labels decide the others (`oodometer rank`)",)
    notes += (f"Assumes: {about['assumes']}",) if about.get("assumes") else ()
    level = percent(result.get("level") or 0.95, None)
    title = f"which is better on the target, estimated without labels ({level} empirical intervals)"
    # decided ones first, the surest first
    rows.sort(key=lambda row: (row[6], -float(row[5].split()[0])))
    return [
        Grid(
            title,
            heads,
            rows,
            noun="pair",
            few=range(min(len(rows), _MOST_PAIRS)),
            notes=notes,
            slot="target pairs",
        )
    ]


def _domain_grid(result: Plain, domain: str) -> list[Grid]:
    """Value and rank of each model by each metric in a domain."""
    rankings = result.get(_RANKINGS[domain]) or {}
    names = [name for name in _COLUMNS if rankings.get(name)]
    if not names or (len(names) == 1 and result.get("to_best")):  # which has its own table
        return []
    best_first = [row["model"] for row in sorted(rankings[names[0]], key=itemgetter("rank"))]
    models = [model["name"] for model in result.get("models") or ()]
    every = dict.fromkeys(map(str, (*best_first, *models)))
    positions = {name: i for i, name in enumerate(every)}
    rows, bold = [[name, *[""] * len(names)] for name in positions], set()
    for j, name in enumerate(names, 1):
        for row in rankings[name]:
            i = positions.get(str(row["model"]))
            if i is None or row.get("value") is None:
                continue
            rows[i][j] = f"{row['value']:.4f} ({row['rank']})"
            if row["rank"] == 1:
                bold.add((i, j))
    title = f"{_PLACES[domain]}, value (rank){_how_compared(result, domain)}"
    main = range(1 + min(_MAIN, len(names)))
    heads = ["model", *_metric_heads(names, inside(result, "difference", "k"))]
    return [Grid(title, heads, rows, main=main, bold=frozenset(bold), slot=f"models {domain}")]


def _metric_heads(names: Sequence[str], k: Any) -> list[str]:
    """Metrics as heads of columns, curves at their k."""
    return [f"{CURVES[name]}{k}" if name in CURVES else name for name in names]


def _how_compared(result: Plain, domain: str) -> str:
    """Whether the models were compared on the same rows."""
    about = inside(result, "paired", domain) or {}
    if about.get("paired"):
        return "; compared on the same rows"
    return f"; compared apart: {about['why']}" if about else ""


def _values_grid(result: Plain, domain: str) -> Grid:
    """Value, interval and rank of each model by each metric, and in how many replicates it keeps that rank."""
    rows = []
    for metric, ranked in (result.get(_RANKINGS[domain]) or {}).items():
        share = metric in ("accuracy", "coverage_at_risk", "risk_at_coverage")
        for row in ranked:
            values = [str(row["rank"]), *cells_of(row, share=share), cell(row.get("stable"), "%0")]
            rows.append([str(row["model"]), metric, *values])
    heads = ["model", "metric", "rank", "value", "lower", "upper", "rank holds in"]
    title = f"every metric {_PLACES[domain]}"
    return Grid(title, heads, rows, noun="", detail=True, slot=f"metrics {domain}")


def _against_grid(result: Plain) -> list[Grid]:
    """Differences of the leader from each other model, and how often it is the better one in replicates."""
    led = leader(result)
    name, rows = "" if led is None else str(led[0]["name"]), []
    for pair in result.get("pairs") or ():
        gap, chance = interval_of(pair.get("difference")), pair.get("p_a_better")
        seen = (
            name in (pair["a"], pair["b"])
            and pair["domain"] == "in_domain"
            and pair["metric"] in _COLUMNS[:4]
        )
        if gap is not None and seen:
            first = pair["a"] == name
            often = cell(None if chance is None else chance if first else 1 - chance, "%0")
            numbers = (f"{x:+.4f}" for x in _turned(gap, not first))
            rows.append([str(pair["b" if first else "a"]), pair["metric"], *numbers, often])
    title = f"how surely {name} is better"
    heads = ["than", "metric", "difference", "lower", "upper", "better in"]
    return [Grid(title, heads, rows, noun="", detail=True, slot="leader")] if rows else []


def _cases_grid(models: Sequence[Plain]) -> Grid:
    """Failure cases that were seen on curves: how large, in how many replicates again, and in words."""
    rows, looked = [], False
    for model, domain in ((model, domain) for model in models for domain in _RANKINGS):
        for case in inside(model, domain, "failure_cases") or ():
            looked = True
            if case.get("seen"):
                name, size = case["name"], "" if case.get("rise") is None else points(case["rise"])
                if name == "often":
                    size = f"{case.get('rises')} times"
                if name == "plateau":
                    size = "" if case.get("width") is None else f"{percent(case['width'], 0)} wide"
                again = cell(case.get("share"), "%0")
                rows.append(
                    [str(model["name"]), _PLACES[domain], name, size, again, str(case["sentence"])]
                )
    notes = ("None of these cases was found",) if looked and not rows else ()
    heads = ["model", "where", "case", "size", "seen again in", "in words"]
    title = "failure cases of each curve"
    return Grid(title, heads, rows, noun="", detail=True, notes=notes, slot="failure cases")


def _targets_grid(result: Plain) -> list[Grid]:
    """The accuracy of each model on rows without labels, as `estimate` says it, and what it assumes."""
    every = [
        (str(model["name"]), model["target"])
        for model in result.get("models") or []
        if model.get("target")
    ]
    every = [(name, item) for name, item in every if interval_of(item.get("accuracy"))]
    every.sort(key=lambda pair: -pair[1]["accuracy"]["value"])
    rows = []
    for name, item in every:
        beside = [
            cells_of(item.get("truth"))[0],
            cells_of(item.get("auc_coverage"), share=False)[0],
        ]
        rows.append([name, *cells_of(item["accuracy"]), item.get("trust") or "-", *beside])
    if not rows:
        return []
    columns = ["model", "accuracy", "lower", "upper", "trust", "truth", "auc_coverage"]
    assumes = dict.fromkeys(
        f"Assumes: {item['assumes']}" for _, item in every if item.get("assumes")
    )
    intervals_text = (
        f"{percent(result.get('level') or 0.95, None)} "
        f"{every[0][1]['accuracy'].get('kind') or 'empirical'} intervals"
    )
    title = f"on the target, estimated without labels ({intervals_text})"
    return [Grid.used(title, columns, rows, {5, 6}, notes=tuple(assumes), slot="target")]


def _columns_grid(models: Sequence[Plain], domain: str) -> list[Grid]:
    """How the user's columns moved from the domain to there; at first those that explain a change of accuracy."""
    named = ((str(model["name"]), inside(model, "columns", domain) or ()) for model in models)
    every = [(name, change) for name, changes in named for change in changes]
    rows = [[name, item["name"], item["says"], explained_text(item)] for name, item in every]
    few = [i for i, (_, item) in enumerate(every) if item["matters"]]
    none = (
        ()
        if few
        else (f"None of your columns explains a change from in domain to {_PLACES[domain]}",)
    )
    title = f"your columns, from in domain to {_PLACES[domain]}"
    heads = ["model", "column", "what changed", "explains"]
    if not rows:
        return []
    return [Grid(title, heads, rows, noun="column", few=few, notes=none, slot="columns")]


def _thresholds_grids(result: Plain) -> list[Grid]:
    """What is proven in domain and what the same threshold did out of it; why nothing is proven elsewhere."""
    models, proven, unproven = result.get("models") or [], [], []
    for model in models:
        for at in operating_points(model):
            start = [str(model["name"]), percent(at["accuracy"], None)]
            if interval_of(at.get("coverage")):
                proven.append([*start, *_proven_cells(model, at)])
            else:
                unproven.append([*start, str(at.get("why") or "")])
    width = 8 if any(model.get("out_of_domain") for model in models) else 6
    columns = [
        "model",
        "required",
        "threshold",
        "answered",
        "accuracy",
        "proven",
        "OOD share",
        "OOD right",
    ][:width]
    away = "OOD: the share answered out of domain with the same threshold, and its accuracy"
    notes = (away if width == 8 else "", _said_of_unproven(unproven)) if proven else ()
    title = f"thresholds in domain, chosen on these rows; proven at the {percent(result.get('level') or 0.95, None)} "
    return [
        Grid(
            f"{title}level",
            columns,
            [row[:width] for row in proven],
            notes=notes,
            slot="thresholds",
        ),
        Grid(
            "thresholds that are not proven",
            ["model", "required", "why"],
            unproven,
            noun="reason",
            detail=True,
            slot="not proven",
        ),
    ]


def _proven_cells(model: Plain, at: Plain) -> list[str]:
    """The threshold, what is answered, right and proven in domain, and the first two out of it."""
    proof, out_of_domain = at["selective_accuracy"], elsewhere(model, at["threshold"])
    seen = [at["coverage"]["value"], proof["value"], proof["lower"]]
    beyond = (cell(out_of_domain.get(name), "%") or "-" for name in ("coverage", "value"))
    return [rounded_up(at["threshold"]), *map(percent, seen), *beyond]


def _said_of_unproven(rows: Sequence[Sequence[str]]) -> str:
    """Which models have no proven threshold, and at which accuracies."""
    by_model: dict[str, list[str]] = {}
    for name, accuracy, _ in rows:
        by_model.setdefault(name, []).append(accuracy)
    if not by_model:
        return ""
    named = [f"{name} at {listed(accuracies)}" for name, accuracies in by_model.items()]
    more = len(named) - _MOST_TOLD
    rest = f" and {more} models more" if more > 0 else ""
    return f"No threshold is proven for {listed(named[:_MOST_TOLD])}{rest}"


def elsewhere(model: Plain, threshold: float | None) -> Json:
    """What a model did out of its domain from a threshold on: the nearest point of its curve that is not below it."""
    curve = inside(model, "out_of_domain", "risk_coverage") or {}
    columns = [curve.get(name) or [] for name in ("x", "y", "lower", "upper", "thresholds")]
    if threshold is None or not columns[0]:
        return {}
    point: Json = {"coverage": 0.0}
    for x, y, low, high, at in zip(*columns, strict=False):
        if (at or 0.0) >= threshold and y is not None:
            point = {"coverage": x, "value": y, "lower": low, "upper": high}
    return point


def _models_table(result: Comparison) -> Table:
    rows: list[Json] = []
    for model in result.models:
        costs = {
            name: cost for name in ("didma", "nidma") if (cost := getattr(model, name)) is not None
        }
        numbers: dict[str, Plain] = {
            "in_domain": {**model.in_domain.metrics, **costs},
            "out_of_domain": {} if model.out_of_domain is None else model.out_of_domain.metrics,
            "target": {
                n: v for n, v in (model.target or {}).items() if ends(v)["value"] is not None
            },
        }
        for domain, by_metric in numbers.items():
            for metric, item in by_metric.items():
                ranked = result.rankings.get(domain, {}).get(metric, [])
                rank = next((row["rank"] for row in ranked if row["model"] == model.name), None)
                rows.append(
                    {
                        "model": model.name,
                        "domain": domain,
                        "metric": metric,
                        **ends(item),
                        "rank": rank,
                    }
                )
    return Table(("model", "domain", "metric", *INTERVAL, "rank"), rows, named="model")
