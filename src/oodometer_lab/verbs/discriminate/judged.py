"""Judged outputs: the result of asking judges, bounds of accuracy or of a metric, and the truth where it is known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oodometer.arrays import Array, present
from oodometer.diagnoses.text_likeness import UnlikeTexts
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.estimators import VotingBounds
from oodometer.intervals import check_level
from oodometer.metrics.votes import MEASURES, agreements, bounds_of, check_agree, count_votes, share
from oodometer.predictions import Predictions
from oodometer.results import Interval, percent
from oodometer.results.values import Record, counted
from oodometer.results.view import (
    INTERVAL,
    Grid,
    Maker,
    Named,
    Shown,
    Table,
    View,
    cells_of,
    ends,
    interval_of,
    with_ends,
)
from oodometer.store import Source, as_source, write_predictions
from oodometer.version import __version__

from .worth import metric_table, spread

_TEXTS = ("input", "output")
_RULES = {
    "any-incorrect": "all accept",
    "any-correct": "some accept",
    "majority": "most accept",
    "single": "the first",
}
_READ = (*_TEXTS, "votes", "correct", "label", "prediction", "probabilities", "members")


@dataclass(frozen=True)
class PseudoLabels(Record):
    """Accepted rows (``record``: `input`, `output`, and the columns ``row`` and ``id``) and what is known of them:
    share ``accepted`` (exact interval), ``precision`` of these and ``accuracy`` of all rows of known truth, else None;
    ladder: the same for "at least j judges", j = 1 ... n.
    """

    record: Predictions
    rows: int
    judges: int
    agree: int
    accepted: Interval
    precision: Interval | None
    accuracy: Interval | None
    ladder: tuple[Mapping[str, Any], ...]
    level: float
    _untold = frozenset({"record"})

    def __len__(self) -> int:
        return len(self.record)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "command": "pseudo_labels",
            "version": __version__,
            "kept": len(self.record),
            **super().to_dict(),
        }


def pseudo_labels(
    predictions: Any,
    *,
    agree: int | None = None,
    out: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    mapping: Mapping[str, str] | None = None,
) -> PseudoLabels:
    """The rows that at least ``agree`` judges accept (all of them by default: the lower bound's), for self-training.

    predictions : A file, frame, mapping or `Predictions` with `votes`, and `input` and `output` to train on; `correct`
        where it is known.
    agree : Votes for Correct that a row needs, from 1 to the number of judges.
    out : File for the accepted pairs (.jsonl, .csv, .parquet, ...): `input`, `output`, `row`, and `id` if there is one.
    level : Nominal coverage of the intervals.
    mapping : Renamed columns, {their column: our column}.

    precision = right and accepted / accepted, over the rows whose truth is known, exact for rows drawn like these: the
    correct_precision of the voting rule. It is measured, never assumed. The truth itself is not exported. Raises
    `InputError` without votes, for a file without texts, and where no row is accepted but a file was asked for;
    `UsageError` for an ``agree`` that cannot be. Source: Yao and Koller (2024), section 6, as future work.

    >>> votes = [[1, 1, 1, 0], [1, 1, 0, 0]]
    >>> found = pseudo_labels({"votes": votes, "input": list("abcd"), "output": list("ABCD"), "correct": [1, 0, 1, 0]})
    >>> found.record.output.tolist(), found.precision.value, [row["kept"] for row in found.ladder]
    (['A', 'B'], 0.5, [3, 2])
    """
    check_level(level)
    source = _voted_source(
        predictions, mapping, ("votes", *_TEXTS) if out is not None else ("votes",)
    )
    parts: list[Predictions] = []
    tables: list[Array] = []
    needed = judges = start = 0
    for batch in source.batches(_READ):
        assert batch.votes is not None
        judges, counts = len(batch.votes), count_votes(batch.votes)
        needed = judges if agree is None else agree
        if not 1 <= needed <= judges:
            raise UsageError(
                f"expected votes from 1 to {judges}, the number of judges, got {agree}"
            )
        tables.append(_by_truth(batch, counts))
        columns = {"row": np.arange(start, start + len(batch)), **batch.columns}
        columns = {name: columns[name] for name in ("row", "id") if name in columns}
        bare = Predictions(rows=len(batch), input=batch.input, output=batch.output, columns=columns)
        parts.append(bare.take(np.flatnonzero(counts >= needed)))
        start += len(batch)
    record = Predictions.concat([part for part in parts if len(part)] or parts[:1])
    if out is not None:
        if not len(record):
            raise InputError(
                f"at least one row that {needed} of {judges} judges accept",
                got="none",
                remedy="ask for fewer votes, or judge other outputs",
                file=source.path,
            )
        write_predictions(record, out)
    ladder = _measured_ladder(np.sum(tables, axis=0), level)
    return PseudoLabels(
        record=replace(record, source=None),
        rows=start,
        judges=judges,
        agree=needed,
        accepted=ladder[needed]["accepted"],
        precision=ladder[needed]["precision"],
        accuracy=ladder[0]["precision"],
        ladder=tuple(ladder[1:]),
        level=level,
    )


def _voted_source(
    predictions: Any, mapping: Mapping[str, str] | None, needed: Sequence[str]
) -> Source:
    """The rows that judges have voted on, with their ids; `InputError` where a field that is needed is missing."""
    renamed = dict(mapping) if mapping else None
    source = as_source(predictions, mapping=renamed)
    if "id" in source.columns and "id" not in source.fields:
        source = as_source(predictions, mapping=renamed, extra_columns=["id"])
    missing = [name for name in needed if name not in source.fields]
    if missing:
        remedy = (
            "let judges vote: `oodometer discriminate`" if "votes" in missing else "add the texts"
        )
        got = ", ".join(source.columns)
        raise InputError(f"columns {', '.join(missing)}", got=got, remedy=remedy, file=source.path)
    return source


def _by_truth(batch: Predictions, counts: Array) -> Array:
    """Rows by truth (unknown, wrong, right) and by how many judges accept them."""
    try:
        truth = batch.verdicts.astype(np.int64)
    except NotApplicable:  # labels, but no prediction to hold them against
        truth = np.full(len(batch), -1)
    most = len(present(batch.votes)) + 1
    cells = np.bincount((truth + 1) * most + counts, minlength=3 * most)
    return cells.reshape(3, most)


def _measured_ladder(table: Array, level: float) -> list[dict[str, Any]]:
    """Of rows by truth and votes: how many at least 0, 1, ... judges accept, and what is known of these."""
    reached = table[:, ::-1].cumsum(axis=1)[:, ::-1]
    rows = int(reached[:, 0].sum())
    return [
        {
            "at_least": votes,
            "kept": sum(column),
            "accepted": share(sum(column), rows, level),
            "precision": share(column[2], column[1] + column[2], level),
        }
        for votes, column in enumerate(reached.T.tolist())
    ]


@dataclass(frozen=True, eq=False, repr=False)
class JudgedOutputs(Shown, Record, Named[Interval]):
    """What judges say of a file of outputs; ``record`` holds its rows with their `votes`.

    metric : "exact" (accuracy), or what the judges predict. judges : their names. lower, upper, mean, single : the
    share that all of them accept (or ``agree``), that some accept (or all but agree - 1), the middle, and the first
    judge's; of a metric the mean of each row's smallest and largest prediction. Their intervals are of sampling alone.
    estimate : the middle, from the lower end of ``lower`` to the upper end of ``upper``; kind empirical, since it
    ``assumes`` something of the judges. ladder : the share that at least j judges accept. bounds : for every agree.
    thresholds : from which P(Correct) each judge accepts and where that comes from, None for the paper's 0.5; then
    at_half are lower, upper and mean with that. unlike : how the outputs differ from the labelled ones that set the
    thresholds, None where they do not; the interval of the estimate is wider by its ``distance``. truth : None where no
    row is known, else the accuracy, whether it lies between the bounds, recalls and precisions.
    """

    name: str
    rows: int
    metric: str
    judges: tuple[str, ...]
    agree: int
    estimate: Interval
    assumes: str
    lower: Interval
    upper: Interval
    mean: Interval
    single: Interval
    by_judge: tuple[Interval, ...]
    ladder: tuple[Mapping[str, Any], ...]
    bounds: tuple[Mapping[str, Any], ...]
    truth: Mapping[str, Any] | None
    empty: int
    cut: int
    warnings: tuple[str, ...]
    level: float
    seed: int
    record: Predictions
    out: str | None = None
    pseudo_labels: PseudoLabels | None = None
    pseudo_out: str | None = None
    argv: str | None = None
    thresholds: Mapping[str, Any] | None = None
    at_half: Mapping[str, Interval] | None = None
    unlike: UnlikeTexts | None = None
    _untold = frozenset({"record", "pseudo_labels", "pseudo_out"})
    _noun = "judge"

    def entries(self) -> Mapping[str, Interval]:
        """The interval of each judge, by its name."""
        return dict(zip(self.judges, self.by_judge, strict=True))

    def view(self) -> View:
        """What it says; see `Shown`."""
        return judged_view(self.to_dict())

    def frames(self) -> dict[str, Maker]:
        """``numbers``: what all judges say together, then each of them."""
        named = [(name, getattr(self, name)) for name in ("estimate", "lower", "upper", "mean")]
        named += [
            (f"judge {name}", interval)
            for name, interval in zip(self.judges, self.by_judge, strict=True)
        ]
        rows = [
            {"number": name, "metric": self.metric, "rows": self.rows, **ends(number)}
            for name, number in named
        ]
        columns = ("number", "metric", *INTERVAL, "rows")
        return {"numbers": lambda: Table(columns, rows, named="number")}

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        exported = None
        if self.pseudo_labels is not None:
            labels = self.pseudo_labels.to_dict()
            exported = {
                name: labels[name]
                for name in ("kept", "agree", "accepted", "precision", "accuracy", "ladder")
            }
            exported["file"] = self.pseudo_out
        each = [
            {"judge": n, **i.to_dict()} for n, i in zip(self.judges, self.by_judge, strict=True)
        ]
        about = {"command": "discriminate predict", "version": __version__, **super().to_dict()}
        return about | {"by_judge": each, "pseudo_labels": exported}


@dataclass(frozen=True)
class JudgeNumbers:
    """The numbers of `JudgedOutputs`, which explains them, and warnings about them."""

    agree: int
    single: Interval
    by_judge: tuple[Interval, ...]
    lower: Interval
    upper: Interval
    mean: Interval
    ladder: tuple[Mapping[str, Any], ...]
    bounds: tuple[Mapping[str, Any], ...]
    estimate: Interval
    assumes: str
    warnings: tuple[str, ...] = ()
    truth: Mapping[str, Any] | None = None
    thresholds: Mapping[str, Any] | None = None
    at_half: Mapping[str, Interval] | None = None


def vote_numbers(record: Predictions, agree: int | None, level: float) -> JudgeNumbers:
    """Bounds, ladder and single judges from a record's votes."""
    votes = record.votes
    assert votes is not None
    judges, rows = votes.shape
    agree = check_agree(agree, judges)
    at_least = np.bincount(count_votes(votes), minlength=judges + 1)[::-1].cumsum()[::-1]
    bare = record.without_labels()
    estimate = VotingBounds(agree=agree, level=level).fit(bare).estimate(bare)
    each = [
        present(share(int(count), rows, level)) for count in np.count_nonzero(votes > 0, axis=1)
    ]
    ladder = [present(share(int(count), rows, level)) for count in at_least[1:]]
    widest = bounds_of(at_least, agree, level)
    return JudgeNumbers(
        agree=agree,
        single=each[0],
        by_judge=tuple(each),
        lower=widest["lower"],
        upper=widest["upper"],
        mean=widest["mean"],
        ladder=_ladder(ladder),
        bounds=tuple(bounds_of(at_least, k, level) for k in agreements(judges)),
        estimate=estimate.interval,
        assumes=estimate.assumes,
        warnings=tuple(estimate.warnings),
    )


def _ladder(shares: Iterable[Interval]) -> tuple[Mapping[str, Any], ...]:
    """What at least 1, 2, ... judges say."""
    return tuple({"at_least": j, "share": share} for j, share in enumerate(shares, 1))


def metric_numbers(
    predicted: Array, agree: int | None, level: float, true: Array | None = None
) -> JudgeNumbers:
    """As `vote_numbers`, of predictions of a metric, axes (judge, sample); ``true`` is the metric where known, else
    NaN. A row's j-th largest prediction is what at least j judges say it reaches.
    """
    judges = len(predicted)
    agree = check_agree(agree, judges)
    falling = np.sort(predicted.astype(np.float64), axis=0)[::-1]

    def bound(k: int) -> dict[str, Any]:
        low, high = falling[k - 1], falling[judges - k]
        return {
            "agree": k,
            "lower": spread(low, level),
            "upper": spread(high, level),
            "mean": spread((low + high) / 2, level),
            "width": spread(high - low, level),
        }

    each, ladder = (
        [spread(values, level) for values in predictions] for predictions in (predicted, falling)
    )
    widest = bound(agree)
    lower, upper, mean = widest["lower"], widest["upper"], widest["mean"]
    low, high = min(lower.lower, mean.value), max(upper.upper, mean.value)
    return JudgeNumbers(
        agree=agree,
        single=each[0],
        by_judge=tuple(each),
        lower=lower,
        upper=upper,
        mean=mean,
        ladder=_ladder(ladder),
        bounds=tuple(bound(k) for k in agreements(judges)),
        estimate=Interval(mean.value, low, high, level, "empirical"),
        assumes=VotingBounds.assumes,
        truth=None if true is None else _metric_truth(predicted, true, agree, level),
    )


def _metric_truth(
    predicted: Array, true: Array, agree: int, level: float
) -> Mapping[str, Any] | None:
    """The true metric on the rows where it is known, beside the bounds there; None where it is known nowhere."""
    has_truth, judges = np.isfinite(true), len(predicted)
    if not has_truth.any():
        return None
    table = metric_table(true[has_truth], predicted[:, has_truth], level)
    falling = np.sort(predicted[:, has_truth].astype(np.float64), axis=0)[::-1]
    lower, upper = float(falling[agree - 1].mean()), float(falling[judges - agree].mean())
    return {
        "rows": int(has_truth.sum()),
        **table,
        "lower": lower,
        "upper": upper,
        "inside": lower <= table["true"].value <= upper,
    }


def judged_view(result: Mapping[str, Any]) -> View:
    """What judges say of outputs, from the mapping that JSON holds: the bounds first, then the truth if known."""
    if "files" in result:
        views = [(number["name"], judged_view(number)) for number in result["files"]]
        lines = tuple(f"{name}: {number.title} {number.number}" for name, number in views)
        return View("Judged", counted(len(views), "file"), sentences=lines)
    exact, truth = result["metric"] == "exact", result["truth"]
    what = "Accuracy" if exact else f"Mean {result['metric']}"
    low, high = percent(result["lower"]["value"]), percent(result["upper"]["value"])
    names, first = _said_of_bounds(result, exact)
    grids = _bounds_grids(result, names, exact)
    if truth is not None and exact:
        rules = [(_RULES[row["rule"]], row) for row in truth["rules"]]
        title = f"On the rows whose truth is known, exact intervals at {result['level']:g}"
        grids.append(_rules_grid(rules, title))
    elif truth is not None:
        grids.append(_metric_grid(truth, result["metric"], "On the rows with gold"))
    return View(
        f"{what} by {counted(len(result['judges']), 'judge')}",
        f"{low} to {high}",
        interval_of(result["estimate"]),
        caveat="no guarantee",
        sentences=(
            first,
            f"Middle of both bounds: {percent(result['estimate']['value'])}",
            "" if truth is None else _truth_sentence(truth, result["agree"], exact),
            f"Assumes: {result['assumes']}",
            thresholds_sentence(result["thresholds"], "The judges accept"),
        ),
        grids=tuple(grids),
        notes=_written(result, exact),
        warnings=tuple(result["warnings"]),
        assumes=result["assumes"],
        cells={"metric": result["metric"], "rows": result["rows"]},
        seed=result["seed"],
    )


def _said_of_bounds(result: Mapping[str, Any], exact: bool) -> tuple[list[str], str]:
    """What the lower and the upper bound are called, and the sentence that gives both."""
    count, outputs = (
        len(result["judges"]),
        f"{counted(result['rows'], 'output')} in {result['name']}",
    )
    places = (result["agree"], count - result["agree"] + 1)
    low, high = (percent(result[end]["value"]) for end in ("lower", "upper"))
    if exact:
        names = [_accepting(place, count) for place in places]
        return names, f"Of {outputs}: {names[0]} {low}, {names[1]} {high}"
    names = [f"prediction number {place} of {count}, largest first" for place in places]
    first = (
        f"{outputs}; of each row's predictions number {places[0]} of {count}, the largest first, "
    )
    return names, f"{first}is on average {low}, number {places[1]} {high}"


def _bounds_grids(result: Mapping[str, Any], names: Sequence[str], exact: bool) -> list[Grid]:
    """Tables of the bounds, of what so many judges say, and of each judge."""
    bounds: list[tuple[str, Any]] = [
        (f"lower: {names[0]}", result["lower"]),
        (f"upper: {names[1]}", result["upper"]),
        ("mean of the two", result["mean"]),
        (f"single: {result['judges'][0]}", result["single"]),
    ]
    bounds += [(f"{end} at P >= 0.5", number) for end, number in (result["at_half"] or {}).items()]
    rows = [[name, *cells_of(number), number["kind"]] for name, number in bounds]
    ladder = [
        [f"at least {row['at_least']} of {len(result['judges'])}", *cells_of(row["share"])]
        for row in result["ladder"]
    ]
    each = [[row["judge"], *cells_of(row)] for row in result["by_judge"]]
    title = f"{'Shares of' if exact else 'Means over'} these rows; intervals of sampling alone at the level "
    title += f"{result['level']:g}"
    return [
        Grid(title, ["bound", "value", "lower", "upper", "kind"], rows),
        Grid(
            "Accepted by" if exact else "Reached by", ["judges", "value", "lower", "upper"], ladder
        ),
        Grid("Each judge", ["judge", "value", "lower", "upper"], each, noun="judge", detail=True),
    ]


def _written(result: Mapping[str, Any], exact: bool) -> tuple[str, ...]:
    labels, out, lines = result["pseudo_labels"], result["out"], []
    if labels is not None and labels["kept"]:
        right = (
            ""
            if labels["precision"] is None
            else f", of which {with_ends(labels['precision'])} are right"
        )
        share = with_ends(labels["accepted"])
        lines.append(
            f"Wrote {labels['kept']:,} pseudo-labels to {labels['file']}: {share} of the rows{right}"
        )
    if out is not None:
        lines.append(
            f"Wrote {counted(result['rows'], 'row')} with {'votes' if exact else 'predictions'} to {out}"
        )
    if exact:
        lines.append(
            "Next: a few labels make the bounds valid: oodometer audit --suggest 50 --out rows.csv REFERENCE "
            f"{out or 'JUDGED.jsonl'} (REFERENCE: judged outputs with gold)"
        )
    return tuple(lines)


def trained_view(result: Mapping[str, Any]) -> View:
    """What training left, from the mapping that JSON holds: what the judges are worth on held-out pairs first."""
    held_out, dev, exact = result["held_out"], result["dev"], result["metric"] == "exact"
    title = f"On the held-out pairs, with conditional intervals at the level {result['level']:g}"
    worth, rows = "", [(_RULES[row["rule"]], row) for row in held_out.get("rules") or ()]
    majority = dict(rows).get("most accept")
    if majority is not None:
        right, wrong = (
            with_ends(majority[name]) for name in ("correct_recall", "incorrect_recall")
        )
        worth = f"On held-out pairs most judges accept {right} of the right outputs"
        worth += f" and reject {wrong} of the wrong ones"
    rows += [(str(row["judge"]), row) for row in held_out.get("by_judge") or ()]
    between, holds = "", held_out.get("holds") if result["judges"] > 1 else None
    if holds is not None:
        between = (
            "If they err on new outputs as here, the bounds hold the truth for accuracies from "
        )
        between += f"{with_ends(holds['lowest'])} to {with_ends(holds['highest'])}"
    more = f", {dev['augmented']:,} of them in another form" if dev.get("augmented") else ""
    return View(
        "Trained",
        counted(result["judges"], "judge"),
        note=f"of {'right or wrong' if exact else result['metric']}",
        sentences=(
            worth,
            *result["examples"]["words"].splitlines(),
            f"Learnt from {counted(dev['learnt'], 'pair')}{more}; held out: {counted(held_out['pairs'], 'pair')} of "
            f"{counted(held_out['inputs'], 'input')} ({dev['from']})",
            between,
            f"Assumes: {held_out['assumes']}",
            thresholds_sentence(result["thresholds"], "`predict` will accept"),
        ),
        grids=(
            _rules_grid(rows, title) if exact else _metric_grid(held_out, result["metric"], title),
        ),
        notes=(
            f"{'Reused' if result['kept'] else 'Wrote'}: {result['folder']}",
            f"Next: oodometer discriminate predict {result['folder']} OUTPUTS.jsonl --out JUDGED.jsonl",
        ),
        warnings=tuple(result["warnings"]),
        seed=result["seed"],
    )


def thresholds_sentence(thresholds: Mapping[str, Any] | None, who: str) -> str:
    """From which P(Correct) on each judge accepts, in digits that tell it from 0 and 1, and where that is from."""
    if thresholds is None:
        return ""
    at = [row["value"] for row in thresholds["by_judge"]]
    cuts = [
        f"{cut:.3g}" if cut < 0.9 else f"1 - {1 - cut:.2g}" if cut < 1 else "above 1" for cut in at
    ]
    text = f"{who} from P(Correct) {', '.join(cuts)} on"
    if thresholds["from"] is None:
        return text
    rows, right = thresholds["rows"], thresholds["right"]
    return f"{text} (set on {thresholds['from']}: {right:,} of {counted(rows, 'output')} are right)"


def _accepting(count: int, judges: int) -> str:
    if judges == 1:
        return "the judge accepts"
    return f"all {judges} accept" if count == judges else f"at least {count} of {judges} accept"


def _truth_sentence(known_rows: Mapping[str, Any], agree: int, exact: bool) -> str:
    widest = (
        next(row for row in known_rows["bounds"] if row["agree"] == agree) if exact else known_rows
    )
    low, high = (widest[end]["value"] if exact else widest[end] for end in ("lower", "upper"))
    verb = "lies" if widest["inside"] else "does not lie"
    truth = f"Truth of {counted(known_rows['rows'], 'row')}: {with_ends(known_rows['gold' if exact else 'true'])}"
    return (
        f"{truth}; it {verb} between the judges' bounds there, {percent(low)} and {percent(high)}"
    )


def _rules_grid(rows: Sequence[tuple[str, Mapping[str, Any]]], title: str) -> Grid:
    cells = [[name, *(with_ends(row[measure]) for measure in MEASURES)] for name, row in rows]
    heads = ["judges", *(name.replace("_", " ") for name in MEASURES)]
    return Grid(title, heads, cells, noun="rule")


def _metric_grid(table: Mapping[str, Any], metric: str, title: str) -> Grid:
    names = {"true": f"true {metric}", "predicted": "predicted", "error": "error of the mean"}
    names["distance"] = "mean error of a row"
    rows = [
        [name, *cells_of(table[key], share=False), table[key]["kind"]]
        for key, name in names.items()
    ]
    notes = (
        ()
        if table["correlation"] is None
        else (f"correlation over the rows: {table['correlation']:.3f}",)
    )
    return Grid(title, ["mean", "value", "lower", "upper", "kind"], rows, notes=notes)
