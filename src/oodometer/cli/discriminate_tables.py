"""Tables of `discriminate`: what judges are worth on held-out pairs, and what they say of outputs, as printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..results import Interval, percent
from . import output

if TYPE_CHECKING:
    from ..verbs.discriminate import JudgedOutputs, TrainedJudges


_RULES = {
    "any-incorrect": "all accept",
    "any-correct": "some accept",
    "majority": "most accept",
    "single": "the first",
}
_MEASURES = ("correct_recall", "correct_precision", "incorrect_recall", "incorrect_precision")


def _interval(one: Interval | None) -> str:
    return "-" if one is None else f"{percent(one.value)} [{percent(one.lower)}, {percent(one.upper)}]"


def show_trained(found: TrainedJudges) -> None:
    """The examples, what the judges are worth, where they are, warnings."""
    output.tell(*found.examples["words"].splitlines())
    held = found.held_out
    what = "right or wrong" if found.metric == "exact" else found.metric
    output.tell(f"{found.judges} judges of {what} learnt from {found.dev['learnt']:,} pairs")
    output.tell(f"held out: {held['pairs']:,} pairs of {held['inputs']:,} inputs ({found.dev['from']})")
    title = f"on the held-out pairs, with conditional intervals at the level {found.level:g}"
    if found.metric == "exact":
        rows = [(_RULES[row["rule"]], row) for row in held["rules"]]
        rows += [(str(row["judge"]), row) for row in held["by_judge"]]
        _show_rules(rows, title)
        if found.judges > 1:
            _show_range(held.get("holds"))
    else:
        _show_metric(held, found.metric, title)
    output.tell(f"rests on: {held['assumes']}")
    if found.thresholds is not None:
        ends = ", ".join(_digits(row["value"]) for row in found.thresholds["by_judge"])
        output.tell(f"`predict` will accept from P(Correct) {ends} on{_set_on(found.thresholds)}")
    output.say(f"{'kept from before' if found.kept else 'wrote'}: {found.folder}")
    for warning in found.warnings:
        output.tell(f"warning: {warning}")
    output.say(f"next: oodometer discriminate predict {found.folder} OUTPUTS.jsonl --out JUDGED.jsonl")


def show_judged(found: JudgedOutputs) -> None:
    """Bounds, ladder, the truth where it is known, what was written, what to do next, warnings."""
    n, e = len(found.judges), found.estimate
    what = "accuracy" if found.metric == "exact" else f"mean {found.metric}"
    output.tell(f"{found.name}: {found.rows:,} outputs, {n} judge{'s' if n != 1 else ''}")
    output.tell(f"Estimated {what}: {_interval(e)}  ({e.kind}: no guarantee)")
    output.tell(f"  rests on: {found.assumes}")
    if found.thresholds is not None:
        ends = ", ".join(_digits(row["value"]) for row in found.thresholds["by_judge"])
        output.tell(f"the judges accept from P(Correct) {ends} on{_set_on(found.thresholds)}")
    low, high = found.agree, n - found.agree + 1
    if found.metric == "exact":
        names = (_accepting(low, n), _accepting(high, n))
    else:
        names = (f"prediction number {low} of {n}, largest first", f"prediction number {high}")
    bounds = [
        (f"lower: {names[0]}", found.lower),
        (f"upper: {names[1]}", found.upper),
        ("mean of the two", found.mean),
        (f"single: {found.judges[0]}", found.single),
    ]
    if found.at_half is not None:
        half = (("lower", "lower at P >= 0.5"), ("upper", "upper at P >= 0.5"), ("mean", "mean at P >= 0.5"))
        bounds += [(words, found.at_half[name]) for name, words in half]
    output.print_table(
        ["bound", "value", "lower", "upper", "kind"],
        [[name, *(percent(x) for x in (i.value, i.lower, i.upper)), i.kind] for name, i in bounds],
        f"{'shares of' if found.metric == 'exact' else 'means over'} these rows; intervals of sampling alone at the "
        f"level {found.level:g}",
    )
    output.print_table(
        ["judges", "value", "lower", "upper"],
        [
            [f"at least {row['at_least']} of {n}", *(percent(x) for x in (s.value, s.lower, s.upper))]
            for row in found.ladder
            for s in [row["share"]]
        ],
        "accepted by" if found.metric == "exact" else "reached by",
    )
    if found.truth is not None:
        _show_truth(found, found.truth)
    if found.pseudo_labels is not None and len(found.pseudo_labels):
        one = found.pseudo_labels
        right = "" if one.precision is None else f"; right: {_interval(one.precision)}"
        output.tell(
            f"wrote {len(one):,} pseudo-labels ({_interval(one.accepted)} of the rows{right}) to {found.pseudo_out}"
        )
    if found.out is not None:
        output.tell(
            f"wrote {found.rows:,} rows with votes to {found.out}"
            if found.metric == "exact"
            else f"wrote {found.rows:,} rows with predictions to {found.out}"
        )
    for warning in found.warnings:
        output.tell(f"warning: {warning}")
    if found.metric == "exact":
        judged = found.out or "JUDGED.jsonl"
        output.tell(
            f"next: a few labels make the bounds valid: oodometer audit REFERENCE {judged} --suggest 50 --out rows.csv "
            "(REFERENCE: judged outputs with gold)"
        )


def _digits(value: float) -> str:
    """A threshold, with digits enough to be told from 0 and 1."""
    return f"{value:.3g}" if value < 0.9 else f"1 - {1 - value:.2g}" if value < 1 else "above 1"


def _set_on(thresholds: Mapping[str, Any]) -> str:
    if thresholds["from"] is None:
        return ""
    rows, right = thresholds["rows"], thresholds["right"]
    return f" (set on {thresholds['from']}: {right:,} of {rows:,} outputs are right)"


def _show_range(holds: Mapping[str, Interval] | None) -> None:
    """For which accuracies the bounds would hold the truth."""
    if holds is None:
        return
    output.tell(
        "if they err on new outputs as here, the bounds hold the truth for accuracies from "
        f"{_interval(holds['lowest'])} to {_interval(holds['highest'])}"
    )


def _accepting(count: int, judges: int) -> str:
    if judges == 1:
        return "the judge accepts"
    return f"all {judges} accept" if count == judges else f"at least {count} of {judges} accept"


def _show_truth(found: JudgedOutputs, truth: Mapping[str, Any]) -> None:
    """The truth of the rows where it is known, beside what the judges said of them."""
    from ..verbs.discriminate.folder import revived

    if found.metric != "exact":
        inside = "lies" if truth["inside"] else "does not lie"
        output.tell(
            f"Truth of {truth['rows']:,} rows: {_interval(truth['true'])}; it {inside} between the judges' bounds "
            f"there, {percent(truth['lower'])} and {percent(truth['upper'])}"
        )
        _show_metric(truth, found.metric, "on the rows with gold")
        return
    widest = next(row for row in truth["bounds"] if row["agree"] == found.agree)
    inside = "lies" if widest["inside"] else "does not lie"
    output.tell(
        f"Truth of {truth['rows']:,} rows: {_interval(truth['gold'])}; it {inside} between the judges' bounds there, "
        f"{percent(widest['lower']['value'])} and {percent(widest['upper']['value'])}"
    )
    rows = [(_RULES[row["rule"]], revived(row)) for row in truth["rules"]]
    _show_rules(rows, f"on the rows whose truth is known, exact intervals at the level {found.level:g}")


def _show_rules(rows: Sequence[tuple[str, Mapping[str, Any]]], title: str) -> None:
    output.print_table(
        ["judges", *(name.replace("_", " ") for name in _MEASURES)],
        [[name, *(_interval(row[measure]) for measure in _MEASURES)] for name, row in rows],
        title,
    )


def _show_metric(found: Mapping[str, Any], metric: str, title: str) -> None:
    rows = [
        (f"true {metric}", found["true"]),
        ("predicted", found["predicted"]),
        ("error of the mean", found["error"]),
        ("mean error of a row", found["distance"]),
    ]
    output.print_table(
        ["mean", "value", "lower", "upper", "kind"],
        [[name, *(f"{x:.4f}" for x in (i.value, i.lower, i.upper)), i.kind] for name, i in rows],
        title,
    )
    if found["correlation"] is not None:
        output.tell(f"correlation over the rows: {found['correlation']:.3f}")
