"""Markdown: the result as the paper's tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .findings import sets_of

__all__ = ["markdown"]

_PAPER = Path(__file__).with_name("paper_tables.json")
_HOLDS = {True: "holds", False: "does not hold", None: "cannot be said"}
_FAMILIES = {
    "semantic": "Table 2: semantic parsing",
    "tagging": "Table 3: tagging",
    "parsing": "Table 4: constituency parsing",
}
# Rows of the paper's Tables 2 to 4: its key in paper_tables.json, ours in a study, and the name that is shown.
_ROWS = (
    ("max_prob", "max-prob", "MaxProb"),
    ("ac", "ac", "AC"),
    ("atc", "atc", "ATC"),
    ("oracle_upper", "max-prob-oracle-upper", "MaxProb oracle, upper"),
    ("oracle_lower", "max-prob-oracle-lower", "MaxProb oracle, lower"),
    ("oracle_mean", "max-prob-oracle-mean", "MaxProb oracle, mean"),
    ("single", "single", "one judge"),
    ("upper", "upper", "upper bound"),
    ("lower", "lower", "lower bound"),
    ("mean", "mean", "mean of bounds"),
)


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other."""
    if not result["tasks"]:
        return "No task is finished yet.\n"
    parts = [
        _work(result),
        _table_one(result),
        *(_accuracies(result, family) for family in _FAMILIES),
        _agreement(result),
        _samples(result),
        *_types(result),
        *_self_training(result),
        *_metric(result),
        _claims(result),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _percent(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "-"
    return f"{100 * one['value']:.1f} [{100 * one['lower']:.1f}, {100 * one['upper']:.1f}]"


def _bare(one: Mapping[str, Any] | None) -> str:
    return "-" if one is None else f"{100 * one['value']:.1f}"


def _share(value: float) -> str:
    return f"{100 * value:.0f}"


def _work(result: Mapping[str, Any]) -> str:
    heads = ["task", "training rows", "parser, judge: parameters", "checkpoints: step (right, %)",
             "pairs to judge: right, wrong", "judges", "accuracy in distribution (dev), %", "minutes"]  # fmt: skip
    rows = []
    for task in result["tasks"].values():
        pairs = task["examples"]["train"]
        minutes = sum(task["cpu_seconds"].values()) / 60
        rows.append(
            [
                task["title"], f"{task['data']['train']['rows']:,}",
                f"{task['parser']['parameters']:,}, {task['panel']['parameters']:,}",
                ", ".join(f"{one['name'].removeprefix('step-').lstrip('0')} ({_share(one['accuracy'])})"
                          for one in pairs["checkpoints"]),
                f"{pairs['correct']:,}, {pairs['incorrect']:,}",
                f"{task['panel']['judges']} ({task['panel']['kind']})", _percent(task["dev_accuracy"]),
                f"{minutes:.0f}",
            ]
        )  # fmt: skip
    text = "**The runs** (95 % intervals; minutes of processor time for parser, mistakes, judges and predictions)."
    if result["missing"]:
        text += f" Not run: {', '.join(result['missing'])}."
    return f"{text}\n\n{_table(heads, rows)}"


def _counterpart(one: Mapping[str, Any]) -> str | None:
    """The paper's data set of the same name, or the one in whose place ours stands."""
    name: str | None = one["paper"] or one["resembles"]
    return name


def _table_one(result: Mapping[str, Any]) -> str:
    """Table 1: recalls and accuracy of one judge and of both bounds."""
    paper = json.loads(_PAPER.read_text(encoding="utf-8"))["table_1"]
    kinds = ("single", "upper", "lower")
    heads = ["", *(f"{kind} {what}" for kind in kinds for what in ("CR", "IR", "Acc")), "gold"]
    rows = []
    for one in sets_of(result):
        cells = []
        for kind in kinds:
            row = one["by_method"][kind]
            cells += [_bare(row["correct_recall"]), _bare(row["incorrect_recall"]), _percent(row["value"])]
        rows.append([f"{one['title']} ({_DOMAINS[one['domain']]})", *cells, _percent(one["gold"])])
        name = _counterpart(one)
        if name is not None:
            theirs = [f"*{value:.1f}*" for kind in kinds for value in paper[name][kind]]
            rows.append([f"*{_paper_title(one)}*", *theirs, f"*{paper[name]['gold']:.1f}*"])
    text = "**Table 1: what the judges recall, and the accuracy that they predict, %.** CR, IR: recall of Correct and "
    text += "of Incorrect. In italics the paper's numbers: for the same data, or for data in whose place ours stand."
    return f"{text}\n\n{_table(heads, rows)}"


_DOMAINS = {"in": "in distribution", "out": "out"}


def _paper_title(one: Mapping[str, Any]) -> str:
    return f"paper: {one['paper']}" if one["paper"] else f"paper: {one['resembles']}, other data"


def _accuracies(result: Mapping[str, Any], family: str) -> str:
    """Table 2, 3 or 4: every method's predicted accuracy and its distance from the truth."""
    paper = json.loads(_PAPER.read_text(encoding="utf-8"))["tables_2_to_4"]
    sets = [one for one in sets_of(result) if one["family"] == family]
    if not sets:
        return ""
    heads = ["method"]
    for one in sets:
        heads += [f"{one['title']} ({_DOMAINS[one['domain']]}) Acc", "AE"]
        if _counterpart(one):
            heads += [f"*{_paper_title(one)}* Acc", "*AE*"]
    rows = []
    for key, method, name in _ROWS:
        cells = [name]
        for one in sets:
            row = one["by_method"].get(method)
            cells += [
                _percent(None if row is None else row["value"]),
                _bare(None if row is None else row["error"]),
            ]
            theirs = paper.get(_counterpart(one) or "")
            if theirs is not None:
                error = theirs["ae"].get(key)
                cells += [f"*{theirs[key]:.1f}*", "-" if error is None else f"*{error:.1f}*"]
        rows.append(cells)
    last = ["gold"]
    for one in sets:
        theirs = paper.get(_counterpart(one) or "")
        last += [_percent(one["gold"]), "0.0", *([f"*{theirs['gold']:.1f}*", "*0.0*"] if theirs else [])]
    rows.append(last)
    text = f"**{_FAMILIES[family]}, predicted accuracy (Acc) and its distance from gold (AE), %**"
    return f"{text}\n\n{_table(heads, rows)}"


def _agreement(result: Mapping[str, Any]) -> str:
    """k-of-n voting: what is won in width and lost in reliability by asking fewer judges to agree."""
    rows = []
    for one in sets_of(result):
        for row in one["bounds"]:
            rows.append(
                [one["title"], f"{row['agree']} of {one['judges']}", _percent(row["lower"]), _percent(row["upper"]),
                 _bare(row["width"]), "yes" if row["inside"] else "**no**", _bare(row["error"])]
            )  # fmt: skip
    heads = ["data", "judges that must agree", "lower", "upper", "width", "gold inside", "AE of the mean"]
    return f"**k-of-n voting, %** (the paper's bounds ask all judges to agree)\n\n{_table(heads, rows)}"


def _samples(result: Mapping[str, Any]) -> str:
    """Figure 4 as a table: samples of each size."""
    heads = ["data", "rows drawn", "gold", "lower", "upper", "draws with gold inside, %"]
    rows = []
    for one in sets_of(result):
        for row in _thinned(one["subsets"]):
            rows.append(
                [one["title"], f"{row['rows']:,}", *(_percent(row[name]) for name in ("gold", "lower", "upper")),
                 _percent(row["bounds"][0]["reliability"])]
            )  # fmt: skip
    draws = max(row["draws"] for one in sets_of(result) for row in one["subsets"])
    text = f"**Figure 4 as a table: samples of the test sets** ({draws} draws of each size; mean, and the span of 95 % "
    return f"{text}of the draws)\n\n{_table(heads, rows)}"


def _thinned(subsets: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The smallest, a middle one and the largest size."""
    return [subsets[i] for i in sorted({0, len(subsets) // 2, len(subsets) - 1})]


def _types(result: Mapping[str, Any]) -> list[str]:
    """Truth and bounds by type, for the sets whose types are generalisations or genres."""
    out = []
    for one in sets_of(result, "out"):
        if len(one["types"]) < 2:
            continue
        held = sum(row["inside"] for row in one["types"])
        heads = ["type", "rows", "gold", "lower", "upper", "mean", "gold inside"]
        rows = [
            [row["type"].replace("_", " "), str(row["rows"]), _percent(row["gold"]), _bare(row["lower"]),
             _bare(row["upper"]), _bare(row["mean"]), "yes" if row["inside"] else "**no**"]
            for row in one["types"]
        ]  # fmt: skip
        text = f"**{one['title']} by type, %**: gold lies inside the bounds on {held} of {len(rows)} types"
        out.append(f"{text}\n\n{_table(heads, rows)}")
    return out


def _self_training(result: Mapping[str, Any]) -> list[str]:
    out = []
    for task in result["tasks"].values():
        found = task.get("self_training")
        if not found:
            continue
        text = (
            f"**{task['title']}: one round of self-training.** Of {found['pool']:,} rows of the test set that nobody "
            f"had labelled, all judges accepted {found['kept']:,} ({_percent(found['accepted'])} %); of those "
            f"{_percent(found['precision'])} % are right, of all {_percent(found['accuracy'])} %. The parser was "
            "trained again with them, and compared on rows that it did not see; `other seed` is the old training "
            "again, from another seed."
        )
        heads = ["rows", "number", "old", "with accepted outputs", "gain", "other seed", "gain of that"]
        titles = {name: one["title"] for name, one in task["sets"].items()}
        rows = [
            [titles[one["name"]], f"{one['rows']:,}",
             *(_percent(one[key]) for key in ("old", "new", "new_gain", "other_seed", "other_seed_gain"))]
            for one in found["sets"]
        ]  # fmt: skip
        ladder = [
            [f"at least {row['at_least']}", f"{row['kept']:,}", _percent(row["precision"])]
            for row in found["ladder"]
        ]
        purity = _table(["judges that accept", "rows", "of them right, %"], ladder)
        out.append(f"{text}\n\n{_table(heads, rows)}\n\n{purity}")
    return out


def _metric(result: Mapping[str, Any]) -> list[str]:
    out = []
    for task in result["tasks"].values():
        found = task.get("metric")
        if not found:
            continue
        heads = [
            "data",
            "rows",
            "true",
            "predicted",
            "error",
            "source mean",
            "its error",
            "correlation of rows",
        ]
        rows = [
            [one["title"], str(one["rows"]), _percent(one["true"]), _percent(one["predicted"]), _percent(one["error"]),
             _percent(one["source"]), _percent(one["source_error"]), f"{one['correlation']:.2f}"]
            for one in found["sets"]
        ]  # fmt: skip
        text = f"**{task['title']}: another metric than exact match, {found['metric']}, %**"
        out.append(f"{text}\n\n{_table(heads, rows)}")
    return out


def _claims(result: Mapping[str, Any]) -> str:
    rows = [[one["claim"], _HOLDS[one["holds"]], one["evidence"]] for one in result["claims"]]
    return f"**The paper's findings here**\n\n{_table(['the paper says', 'here', 'what was seen'], rows)}"
