"""Markdown: the result as the paper's tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...reports import drawings as plain
from ...reports.drawings import Drawing, Panel
from ..kit.claims import claims_table
from ..kit.publish import Figures
from ..kit.tables import bare, cells, paper_tables, percent, section, tables_page
from .findings import BASELINES, ENOUGH, PROCEDURES, fares, farings, left_out, sets_of, trainings


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """One figure of all data sets, and two with a panel for each of them."""
    bounds = "Bar: lower to upper bound; dark mark: their mean; orange: gold; grey: baselines."
    every = "mixed" if sets_of(result, at="mixed") else "thresholds"
    if every == "mixed":
        bounds = f"Judges, parsers of halves and confidence at thresholds; one may disagree. {bounds}"
    alone = "The same of the judges alone, "
    samples = "Bounds (blue) and gold (orange) in samples of the test set (Figure 4)."
    agreement = "Width of the bounds and share of the samples that hold the truth."
    size: dict[str, Any] = {"width": 300, "height": 220, "columns": 3}
    out = [
        Drawing(name, title, caption, [_bounds_drawn(result, at)], width=520)
        for name, title, caption, at in (
            ("bounds", "Bounds and truth", bounds, every),
            ("bounds-of-judges", "Bounds and truth, judges", f"{alone}each at its threshold.", "thresholds"),
            (
                "bounds-at-half",
                "Bounds and truth, P ≥ 0.5",
                f"{alone}which accept at P ≥ 0.5, as in the paper.",
                "half",
            ),
        )
    ]
    drawn, agreed = [], []
    for one in sets_of(result):
        place, subsets, title = f"{one['task']}-{one['name']}".replace(".", "-"), one["subsets"], one["title"]
        kinds = ("lower", "upper", "gold")
        rows = [
            {"rows": row["rows"], "what": name, **{end: row[name][end] for end in ("value", "lower", "upper")}}
            for row in subsets
            for name in kinds
        ]
        marks = {"values": [row["rows"] for row in subsets], "labelOverlap": True}
        across = plain.axis("rows", "rows drawn", {"type": "log", "nice": False}, axis=marks)
        drawn.append(Panel(place, title, plain.bands(across, "accuracy", list(kinds)), rows))
        rows = [
            {"rows drawn": str(row["rows"]), "agree": f"{bound['agree']} of {one['judges']}", "order": bound["agree"]}
            | {name: bound[name]["value"] for name in ("width", "reliability")}
            for row in _thinned(subsets)
            for bound in row["bounds"]
        ]
        across = plain.axis("width", "width of the bounds", **plain.PERCENT)
        up = plain.axis("reliability", "samples with gold inside", {"domain": [0, 1]}, **plain.PERCENT)
        agreed.append(Panel(place, title, plain.lines(across, up, "rows drawn", few=True, more=("agree",)), rows))
    out.append(Drawing("figure-4-samples", "Samples of every size", samples, drawn, **size))
    return [*out, Drawing("k-of-n", "Fewer judges that must agree", agreement, agreed, **size)]


def _thinned(subsets: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The smallest, a middle one and the largest size."""
    return [subsets[i] for i in sorted({0, len(subsets) // 2, len(subsets) - 1})]


def _bounds_drawn(result: Mapping[str, Any], at: str) -> Panel:
    """A row for each data set: the bar of its bounds, and marks."""
    bars, marks = [], []
    for one in sets_of(result, at=at):
        told = {name: row["value"]["value"] for name, row in one["by_method"].items()}
        bars.append({"data": one["title"], "lower": told["lower"], "upper": told["upper"]})
        said = {"gold": one["gold"]["value"], "mean": told["mean"]}
        said |= {BASELINES[name]: told[name] for name in BASELINES if name in told}
        marks += [{"data": one["title"], "what": name, "value": value} for name, value in said.items()]
    return Panel("all", "", plain.bounds("data", bars, marks, ["gold", "mean", *BASELINES.values()], "accuracy"))


FIGURES = Figures(
    "Correctness discriminators: figures",
    "The tasks of Yao and Koller (2024) as this run has them; numbers and claims are in result.md",
    ("bounds", "bounds-of-judges", "bounds-at-half", "figure-4-samples", "k-of-n"),
    drawings,
)


PAPER = "correctness_discriminators"
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


_PROCEDURES = {"half": "judges at P ≥ 0.5", "thresholds": "judges at thresholds", "mixed": "all voters at thresholds"}


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other."""
    if not result["tasks"]:
        return "No task is finished yet.\n"
    sets = sets_of(result)
    runs = "**The runs** (95 % intervals; minutes of processor time for parsers, mistakes, judges and predictions; "
    runs += "unseen: mistakes on sentences that a parser of a half has not seen)."
    runs += f" Not run: {', '.join(result['missing'])}." if result["missing"] else ""
    heads = "task | training rows | parser, judge: parameters | checkpoints: step (right, %) | "
    heads += "pairs to judge: right, wrong | judges | accuracy in distribution (dev), % | minutes"
    parts = [section(runs, heads, map(_run, result["tasks"].values())), _table_one(result)]
    parts += [*(_accuracies(result, family) for family in _FAMILIES), _procedures(result), _fared(result)]
    parts += [_seeds(result), _later(result)]
    heads = "data | judges that must agree | lower | upper | width | gold inside | AE of the mean"
    row = "{0[title]} | {1[agree]} of {0[judges]} | {1[lower]:percent} | {1[upper]:percent} | {1[width]:bare} | "
    rows = cells(
        f"{row}{{1[inside]:yes}} | {{1[error]:bare}}", [(s, one) for s in sets for one in s["bounds"]], yes=_yes
    )
    words = "**k-of-n voting with thresholds, %** (the paper's bounds ask all judges to agree)"
    parts.append(section(words, heads, rows))
    row = "{0[title]} | {1[rows]:,} | {1[gold]:percent} | {1[lower]:percent} | {1[upper]:percent} | "
    thinned = [(one, row) for one in sets for row in _thinned(one["subsets"])]
    draws = max(row["draws"] for one in sets for row in one["subsets"])
    words = f"**Figure 4 as a table: samples of the test sets**, with thresholds ({draws} draws of each size; mean, "
    words += "and the span of 95 % of the draws)"
    heads = "data | rows drawn | gold | lower | upper | draws with gold inside, %"
    parts.append(section(words, heads, cells(f"{row}{{1[bounds][0][reliability]:percent}}", thinned)))
    # Truth and bounds by type, for the sets whose types are generalisations or genres
    row = "{name} | {rows} | {gold:percent} | {lower:bare} | {upper:bare} | {mean:bare} | {inside:yes}"
    for one in sets_of(result, "out"):
        if len(one["types"]) > 1:
            types = [{**some, "name": some["type"].replace("_", " ")} for some in one["types"]]
            words = f"**{one['title']} by type, with thresholds, %**: gold lies inside the bounds on "
            words += f"{sum(some['inside'] for some in types)} of {len(types)} types"
            heads = "type | rows | gold | lower | upper | mean | gold inside"
            parts.append(section(words, heads, cells(row, types, yes=_yes)))
    seeds = [len(trainings(result, name)) for name in result["tasks"]]
    told = f"{min(seeds)}" if min(seeds) == max(seeds) else f"{min(seeds)} to {max(seeds)}"
    over = "Tests are over rows: what another training would give they do not say."
    if max(seeds) > 1:
        over = f"Numbers are means over {told} trainings of a task, and their errors hold those of rows and of "
        over += "trainings."
    return tables_page([*parts, *_self_training(result), *_metric(result), claims_table(result["claims"], over)])


def _run(task: Mapping[str, Any]) -> str:
    """The run of a task as a row."""
    panel = task["panel"]
    unseen = f" ({panel['unseen']:,} unseen)" if panel["unseen"] else ""
    steps = ", ".join(
        f"{one['name'].removeprefix('step-').lstrip('0')} ({100 * one['accuracy']:.0f})"
        for one in task["examples"]["train"]["checkpoints"]
    )
    row = "{title} | {data[train][rows]:,} | {parser[parameters]:,}, {panel[parameters]:,} | {steps} | "
    row += (
        "{panel[correct]:,}, {panel[incorrect]:,}{unseen} | {panel[judges]} ({panel[kind]}) | {dev_accuracy:percent} | "
    )
    minutes = sum(task["cpu_seconds"].values()) / 60
    return cells(f"{row}{{minutes:.0f}}", [{**task, "unseen": unseen, "steps": steps, "minutes": minutes}])[0]


def _titled(one: Mapping[str, Any]) -> str:
    return f"{one['title']} ({'in distribution' if one['domain'] == 'in' else 'out'})"


def _theirs(one: Mapping[str, Any], table: Mapping[str, Any]) -> tuple[str, Any]:
    """The paper's numbers of the data set of the same name, or of the one in whose place ours stands, and its title."""
    title = f"paper: {one['paper']}" if one["paper"] else f"paper: {one['resembles']}, other data"
    return title, table.get(one["paper"] or one["resembles"] or "")


def _table_one(result: Mapping[str, Any]) -> str:
    """Table 1: recalls and accuracy of one judge and of both bounds."""
    kinds, rows = ("single", "upper", "lower"), []
    row = " | ".join(
        f"{{{kind}[correct_recall]:bare}} | {{{kind}[incorrect_recall]:bare}} | {{{kind}[value]:percent}}"
        for kind in kinds
    )
    for one in sets_of(result, at="half"):
        ours = {**one["by_method"], "title": _titled(one), "gold": one["gold"]}
        rows += cells(f"{{title}} | {row} | {{gold:percent}}", [ours])
        title, theirs = _theirs(one, paper_tables(PAPER)["table_1"])
        if theirs:
            printed = [f"*{value:.1f}*" for kind in kinds for value in theirs[kind]]
            rows.append(" | ".join([f"*{title}*", *printed, f"*{theirs['gold']:.1f}*"]))
    text = "**Table 1: what the judges recall, and the accuracy that they predict, %.** CR, IR: recall of Correct and "
    text += "of Incorrect. Judges accept at P ≥ 0.5. In italics the paper's numbers: for the same data, or for data in "
    text += "whose place ours stand."
    heads = ["", *(f"{kind} {what}" for kind in kinds for what in ("CR", "IR", "Acc")), "gold"]
    return section(text, heads, rows)


def _accuracies(result: Mapping[str, Any], family: str) -> str:
    """Table 2, 3 or 4: every method's predicted accuracy and its distance from the truth."""
    sets = [one for one in sets_of(result, at="half") if one["family"] == family]
    columns = [["method", *(name for _, _, name in _ROWS), "gold"]]
    for one in sets:
        ours, (title, theirs) = one["by_method"], _theirs(one, paper_tables(PAPER)["tables_2_to_4"])
        rows = [ours.get(method, {}) for _, method, _ in _ROWS]
        columns.append([f"{_titled(one)} Acc", *cells("{value:percent}", rows), percent(one["gold"])])
        columns.append(["AE", *cells("{error:bare}", rows), "0.0"])
        if theirs:
            keys = [key for key, _, _ in _ROWS]
            errors = ("-" if theirs["ae"].get(key) is None else f"*{theirs['ae'][key]:.1f}*" for key in keys)
            columns.append([f"*{title}* Acc", *(f"*{theirs[key]:.1f}*" for key in (*keys, "gold"))])
            columns.append(["*AE*", *errors, "*0.0*"])
    text = f"**{_FAMILIES[family]}, predicted accuracy (Acc) and its distance from gold (AE), %**; judges accept at "
    heads, *rows = zip(*columns, strict=True)
    return section(f"{text}P ≥ 0.5", heads, rows) if sets else ""


def _procedures(result: Mapping[str, Any]) -> str:
    """The bounds of each procedure, side by side."""
    shown = {at: {(one["task"], one["name"]): one for one in sets_of(result, at=at)} for at in _PROCEDURES}
    shown = {at: found for at, found in shown.items() if found}
    rows, bounds = [], "{by_method[lower][value]:bare} to {by_method[upper][value]:bare}"
    for place, one in shown["half"].items():
        told = cells(
            f"{bounds} | {{inside:yes}} | {{by_method[mean][error]:bare}}", [o[place] for o in shown.values()], yes=_yes
        )
        errors = (bare((one["by_method"].get(key) or {}).get("error")) for key in BASELINES)
        rows.append([_titled(one), percent(one["gold"]), *told, *errors])
    heads = ["data", "gold", *(f"{_PROCEDURES[at]}: bounds | gold inside | AE of the mean" for at in shown)]
    heads += [f"AE of {name}" for name in BASELINES.values()]
    text = "**What thresholds and other voters change, %.** Thresholds are set on the development set's outputs so "
    text += "that each voter accepts as often as the parser is right there. Of judges all agree on a bound; of all "
    text += "voters, judges, parsers of halves and the parser's confidence, one may disagree."
    return section(text, " | ".join(heads), rows)


def _yes(inside: bool) -> str:
    return "yes" if inside else "**no**"


def _self_training(result: Mapping[str, Any]) -> Iterator[str]:
    for name, task in result["tasks"].items():
        found = task.get("self_training")
        if not found:
            continue
        text = f"**{task['title']}: one round of self-training.** Of {found['pool']:,} rows of the test set that "
        text += f"nobody had labelled, all judges accepted {found['kept']:,} ({percent(found['accepted'])} %); of "
        text += f"those {percent(found['precision'])} % are right, of all {percent(found['accuracy'])} %. The parser "
        text += "was trained again with them, and compared on rows that it did not see."
        row = "{0[title]} | {1} | {2[rows]:,} | {2[old]:percent} | {2[new]:percent} | {2[new_gain]:percent}"
        runs = [(run.get("seed", 0), run["self_training"]) for run in trainings(result, name) if "self_training" in run]
        rows = cells(row, [(task["sets"][one["name"]], seed, one) for seed, run in runs for one in run["sets"]])
        ladder = cells("at least {at_least} | {kept:,} | {precision:percent}", found["ladder"])
        purity = section("", "judges that accept | rows | of them right, %", ladder)
        yield section(text, "rows | seed | number | old | with accepted outputs | gain", rows, purity)


def _metric(result: Mapping[str, Any]) -> Iterator[str]:
    for task in result["tasks"].values():
        if found := task.get("metric"):
            heads = "data | rows | true | predicted | error | source mean | its error | correlation of rows"
            row = "{title} | {rows} | {true:percent} | {predicted:percent} | {error:percent} | {source:percent} | "
            text = f"**{task['title']}: another metric than exact match, {found['metric']}, %**"
            yield section(text, heads, cells(f"{row}{{source_error:percent}} | {{correlation:.2f}}", found["sets"]))


def _fared(result: Mapping[str, Any]) -> str:
    """Every choice of voters, thresholds and agreement, and what choosing on other tasks gives."""
    found, after, chosen = fares(result), "", left_out(result)
    if chosen is not None:
        found.append(chosen[0])
        told = "; ".join(f"{task}: {choice}" for task, choice in chosen[1].items())
        after = "In the last row each task has the choice that was the narrowest of those with the truth inside on at "
        after += f"least {100 * ENOUGH:.0f} % of the sets of the OTHER tasks ({told})."
    heads = "choice | gold inside | in distribution | mean width | AE of the mean | out of distribution"
    row = "{name} | {inside} of {sets} | {inside_near} of {sets_near} | {width:.1f%} | {error:.1f%} | {error_away:.1f%}"
    text = "**The bounds under each choice, %.** `confidence` is the parser's, thresholded as ATC does; parsers of "
    text += "halves vote by how probable they find an output; slack: strict thresholds for the lower bound, lenient "
    text += "ones for the upper, each off by what so few development rows leave open."
    return section(text, heads, cells(row, [one._asdict() for one in found]), after) if found else ""


def _seeds(result: Mapping[str, Any]) -> str:
    """Truth, bounds and error of the mean of every training; empty where each task has one."""
    rows = []
    bounds = "{lower[value][value]:.1f%} to {upper[value][value]:.1f%}{no}"
    for name, task in result["tasks"].items():
        runs = trainings(result, name)
        for key, first in task["sets"].items() if len(runs) > 1 else ():
            told = [run["sets"][key] for run in runs if key in run["sets"]]
            row = [first["title"], "; ".join(cells("{gold[value]:.1f%}", told))]
            for found in (told, [one["mixed"] for one in told if "mixed" in one]):
                no = [{"no": "" if one["inside"] else " (**no**)"} for one in found]
                ends = [{m["method"]: m for m in one["methods"]} | mark for one, mark in zip(found, no, strict=True)]
                row += ["; ".join(cells(cell, ends)) or "-" for cell in (bounds, "{mean[error][value]:.1f%}")]
            rows.append(row)
    heads = "data | gold | judges at thresholds: bounds | AE of the mean | all voters: bounds | AE of the mean"
    text = "**Seeds, %.** The same rows, trained again from other seeds: parsers, their mistakes and judges; in the "
    text += "order "
    return section(f"{text}of the seeds.", heads, rows) if rows else ""


def _later(result: Mapping[str, Any]) -> str:
    """How each procedure fared on trainings after the first; empty where each task has one."""
    rows = []
    for one in farings(result):
        row = [PROCEDURES[one.procedure], f"{one.inside} of {one.looks}", f"{one.inside_near} of {one.looks_near}"]
        row += [f"{100 * one.width:.1f}", "-" if one.error is None else f"{100 * one.error:.1f}"]
        for key in BASELINES:
            told = one.beside.get(key)
            row.append("-" if told is None else f"{100 * told[0]:.1f}, {told[1]} of {one.away}, {told[2]:.3f}")
        rows.append(row)
    heads = ["procedure", "gold inside", "in distribution", "mean width", "AE of the mean, out of distribution"]
    heads += [f"{name}: AE, nearer than it on, p" for name in BASELINES.values()]
    text = "**Trainings after the first, %.** Who votes was chosen on parsers of the first seed; these are parsers "
    text += "that no choice had seen, on the same rows. Inside is counted for each training; errors are means over the "
    text += "trainings of a data set, and the paired test is over data sets (p: the mean of the bounds is nearer; for "
    text += "one look, not corrected)."
    return section(text, heads, rows) if rows else ""
