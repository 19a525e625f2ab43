"""Findings: each claim of the paper, tested on rows, data sets and trainings; tables and figures, ours beside its."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from oodometer.intervals import normal_quantile
from oodometer.reports import drawings as plain
from oodometer.reports.drawings import Panel

from ..kit.claims import (
    FEWEST,
    Claim,
    Look,
    Row,
    above,
    all_of,
    claims_from,
    claims_table,
    contrast,
    gap,
    sign_flips,
)
from ..kit.publish import Figures
from ..kit.tables import Cell, Page, bare, tables_page
from ..kit.tables import percent as percent_of
from .yardsticks import (
    LEVEL,
    PAPERS,
    Worth,
    around,
    bounds_of_choice,
    chosen_elsewhere,
    coins,
    constant,
    intervals,
    trainings,
)

_NAMES = ("method", "agree")
"""What names a row of a list: a method of the study, or how many judges must agree."""


def pooled(several: Sequence[Any]) -> Any:
    """One of several structures of the same form: numbers with an interval become their mean with standard error
    sqrt(mean(s_i^2) + d^2 / m), of m trainings with errors s_i and spread d; truth values by majority; else the first.
    """
    first = several[0]
    if len(several) == 1:
        return first
    if isinstance(first, Mapping):
        items = [item for item in several if isinstance(item, Mapping)]
        if {"value", "lower", "upper", "level"} <= set(first):
            return _pooled_cells(items)
        return {key: pooled([item[key] for item in items if key in item]) for key in first}
    if isinstance(first, list | tuple):
        return _pooled_rows(several)
    return 2 * sum(several) > len(several) if isinstance(first, bool) else first


def _pooled_cells(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Their mean, with standard error sqrt(mean(s_i^2) + d^2 / m) on either side."""
    values, quantile = (
        np.array([cell["value"] for cell in cells]),
        normal_quantile(cells[0]["level"]),
    )
    arms = [(cell["value"] - cell["lower"], cell["upper"] - cell["value"]) for cell in cells]
    between = float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0
    below, beyond = np.sqrt(np.square(np.array(arms) / quantile).mean(axis=0) + between) * quantile
    middle = float(values.mean())
    ends = {"lower": middle - float(below), "upper": middle + float(beyond)}
    return {
        **cells[0],
        "value": middle,
        **ends,
        "between": between,
        "by_training": values.tolist(),
    }


def _pooled_rows(several: Sequence[Any]) -> Any:
    """Rows of the same name are one; without names the first list stands. A training may lack a row."""
    first = several[0]
    is_table = first and isinstance(first[0], Mapping)
    key = next((name for name in _NAMES if name in first[0]), None) if is_table else None
    if key is None:
        return first
    named = [{row[key]: row for row in rows} for rows in several]
    return [pooled([rows[row[key]] for rows in named if row[key] in rows]) for row in first]


def percent(cell: Cell) -> str:
    """A share with its interval, in percent. Of some trainings the interval takes Student's t with the degrees of
    freedom of its variance over rows and trainings (Satterthwaite, 1946), cut to [0, 1]; no normal quantile of three.
    """
    if cell is None or not cell.get("between"):
        return percent_of(cell)
    from scipy.special import stdtrit

    level, value, trainings = cell["level"], cell["value"], len(cell["by_training"])
    arms = np.array([cell["lower"] - value, cell["upper"] - value])
    freedom = (trainings - 1) * np.square(
        np.square(arms / normal_quantile(level)) / cell["between"]
    )
    wider = value + arms / normal_quantile(level) * stdtrit(freedom, (1 + level) / 2)
    lower, upper = np.clip(wider, 0.0, 1.0).tolist()
    return percent_of({**cell, "lower": lower, "upper": upper})


PAGE = Page.beside(
    __file__,
    percent=percent,
    yes=lambda inside: "-" if inside is None else "yes" if inside else "**no**",
)
BASELINES = {"max-prob": "MaxProb", "ac": "AC", "atc": "ATC"}
CLOSE = 0.10  # of a single judge: the paper's own distances are up to 8.3 points
NEAR_ALL = 0.90  # a recall that approaches 100 %
MANY = 0.4  # of the data sets: the paper has 4 and 6 of 10
INSIDE = 0.8  # of the draws of a small sample have the truth inside
TRAININGS = "t test over rows and trainings"
POOLED = f"{TRAININGS}, their variance pooled over the sets"
FLIPS = "sign flips over tasks"
Sets = Sequence[Mapping[str, Any]]
PROCEDURES: Mapping[str, str] = PAGE.words["procedures"]
# where what differs from thresholds stands
_BESIDE = {"half": "at_half", "mixed": "mixed", "chosen": "chosen"}


def sets_of(
    result: Mapping[str, Any], domain: str | None = None, at: str = "thresholds"
) -> list[dict[str, Any]]:
    """The test sets of finished tasks for a procedure ``at``: means over trainings, rows by method, oracle's width."""
    out, elsewhere = [], chosen_elsewhere(intervals(result)) if at == "chosen" else {}
    for key, task in result["tasks"].items():
        runs = trainings(result, key)
        accepted = pooled([run["dev_accuracy"] for run in runs])["value"]
        for name, first in task["sets"].items():
            if domain is not None and first["domain"] != domain:
                continue
            studies = [run["sets"][name] for run in runs if name in run["sets"]]
            if key in elsewhere:
                studies = _with_choice(studies, elsewhere[key])
            study = _by_procedure(pooled(studies or [first]), at)
            if study is not None:
                about = {
                    "name": name,
                    "task": task["task"],
                    "family": task["family"],
                    "seeds": len(runs),
                    "coins": coins(accepted, first["judges"]),
                }
                out.append({**study, **about, "oracle_width": _oracle_width(study["by_method"])})
    return out


def _with_choice(studies: Sets, choice: str) -> list[dict[str, Any]]:
    """Those studies that have a choice, with its bounds as a procedure."""
    bounds = [(study, bounds_of_choice(study, choice)) for study in studies]
    return [{**study, "chosen": ends} for study, ends in bounds if ends]


def _by_procedure(study: Mapping[str, Any], at: str) -> dict[str, Any] | None:
    """A study with the numbers of a procedure and its rows ``by_method``; None where it lacks the procedure."""
    beside: Mapping[str, Any] = {"methods": ()}
    if at in _BESIDE:
        if _BESIDE[at] not in study:
            return None
        beside = study[_BESIDE[at]]
    by_method = {row["method"]: row for row in (*study["methods"], *beside["methods"])}
    return {**study, **(beside if at in _BESIDE else {}), "by_method": by_method}


def _oracle_width(by_method: Mapping[str, Any]) -> float | None:
    """Width of the bounds by thresholds that know the truth."""
    lower, upper = (by_method.get(f"max-prob-oracle-{end}") for end in ("lower", "upper"))
    if lower is None or upper is None:
        return None
    return float(upper["value"]["value"] - lower["value"]["value"])


def claims_of(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim that the finished tasks let one check, in the paper's order, for each procedure."""
    rows, looks = list[Row](), intervals(result)
    for at, words in PROCEDURES.items():
        every, away = sets_of(result, at=at), sets_of(result, "out", at)
        if every:
            for row in _of_sets(every, away, at):
                fields = {**row.fields, "procedure": words}
                rows.append(
                    row._replace(
                        name=f"{row.name}_at_{at}", words=row.words or row.name, fields=fields
                    )
                )
            if at != "mixed":
                rows += _worth(looks, at, words)
    return claims_from(PAGE, [*rows, *_self_training(result), *_metric(result)] if rows else [])


def _points(value: float) -> str:
    return f"{100 * value:.1f}"


def _looks(sets: Sets, cells: Sequence[Mapping[str, Any] | None], bound: float) -> list[Look]:
    """The number of each set is above a bound: its own error over rows, and the variance between trainings that all of
    these sets share; sets of one task have the same trainings. Of a number that is not there nothing is said.
    """
    freedom = sum({study["task"]: study["seeds"] - 1 for study in sets}.values())
    known = [cell for cell in cells if cell is not None]
    between = sum(cell.get("between", 0.0) for cell in known) / max(1, len(known))
    return [Look() if cell is None else above(cell, bound, between, freedom) for cell in cells]


def _over_tasks(
    name: str,
    sets: Sets,
    effects: Sequence[float],
    fields: Mapping[str, Any],
    words: str = "",
    theirs: Sequence[float] = (),
) -> Row:
    """The mean of an effect over data sets is above 0: signs flipped task by task; ``theirs``: less the paper's."""

    def flipped(values: Sequence[float]) -> Look:
        sums = dict.fromkeys((study["task"] for study in sets), 0.0)
        for study, value in zip(sets, values, strict=True):
            sums[study["task"]] += value / len(sets)
        return sign_flips(list(sums.values()))

    looks = [flipped(effects)] if len(sets) >= FEWEST else []
    size = flipped(theirs) if theirs and looks else None
    return Row(name, FLIPS, "tasks", looks, effects, fields, words=words, size=size)


def _of_sets(every: Sets, away: Sets, at: str) -> Iterator[Row]:
    """The claims on data sets. Where thresholds are set on a development set, the bounds hold in its distribution by
    construction: then those sets ``away`` from it count alone. Of ``mixed``, which was chosen by what the bounds did on
    these sets, and of the ``chosen`` bounds only what the choice did not look at, or looked at on other tasks.
    """
    sets, is_theirs = every if at == "half" else away, at in ("half", "thresholds")
    if is_theirs and sets:
        yield from (_single_close(sets), _recalls_near_all(sets))
    if at == "half":
        yield _inside("inside", sets, "any distribution")
    if at != "mixed":
        yield _inside("inside_out", away, "another distribution")
        yield from (_mean_beats(method, away) for method in BASELINES)
        yield from _atc_on_parsing(sets)
    if is_theirs:
        yield from (_tight(away), _small_samples(sets))
    yield from _accepted_are_purer(every)


def _single_close(sets: Sets) -> Row:
    """Is one judge's share near the truth?"""
    errors = [study["by_method"]["single"]["error"] for study in sets]
    looks = [look.denied for look in _looks(sets, errors, CLOSE)]
    room = [CLOSE - error["value"] for error in errors]
    pairs = zip(sets, errors, strict=True)
    seen = "; ".join(f"{study['title']} {_points(error['value'])}" for study, error in pairs)
    return Row("single_close", POOLED, "trainings", looks, room, {"seen": seen}, "most")


def _recalls_near_all(sets: Sets) -> Row:
    """Do the bounds find nearly all right, or all wrong, outputs? Of the paper's twenty recalls ten are as high."""
    looks, over, near = list[Look](), list[float](), []
    for method, measure in (("upper", "correct_recall"), ("lower", "incorrect_recall")):
        recalls = [study["by_method"][method].get(measure) for study in sets]
        looks += _looks(sets, recalls, NEAR_ALL)
        leads = [-1.0 if recall is None else recall["value"] - NEAR_ALL for recall in recalls]
        near.append(sum(lead >= 0 for lead in leads))
        over += leads
    needed, fields = math.ceil(MANY * len(looks)), {"near": near, "of": len(sets)}
    return Row("recalls", POOLED, "trainings", looks, over, fields, needed)


def _mean_beats(method: str, away: Sets) -> Row:
    """Is the mean of the bounds nearer to the truth than a baseline, in the mean over the data sets?"""
    compared = [study for study in away if method in study["by_method"]]
    ours, theirs = (
        [study["by_method"][name]["error"]["value"] for study in compared]
        for name in ("mean", method)
    )
    fields = {"baseline": BASELINES[method]}
    fields |= {"ours": sum(ours) / max(1, len(ours)), "theirs": sum(theirs) / max(1, len(theirs))}
    paper = [
        row["ae"]
        for name, row in PAGE.paper["tables_2_to_4"].items()
        if PAGE.paper["table_1"][name]["domain"] == "out"
    ]
    share = sum(row["mean"] for row in paper) / sum(row[method.replace("-", "_")] for row in paper)
    leads, beyond = ((s * np.array(theirs) - ours).tolist() for s in (1.0, share))
    return _over_tasks(f"mean_beats_{method}", compared, leads, fields, "mean_beats", beyond)


def _rows_error(cell: Mapping[str, Any]) -> float:
    """The standard error of a number over rows, from the wider arm of its interval."""
    wider = max(cell["upper"] - cell["value"], cell["value"] - cell["lower"])
    variance = (wider / normal_quantile(cell["level"])) ** 2 - cell.get("between", 0.0)
    return float(max(variance, 0.0) ** 0.5)


def _atc_on_parsing(sets: Sets) -> Iterator[Row]:
    """In the paper, ATC is the better point estimate for constituency parsing. Both errors are of the same rows: over
    rows their errors are added, which no dependence can exceed.
    """
    leads, gains, errors, seen = list[float](), [], [], []
    for study in sets:
        if study["family"] == "parsing" and "atc" in study["by_method"]:
            atc, mean = (study["by_method"][method]["error"] for method in ("atc", "mean"))
            leads.append(mean["value"] - atc["value"])
            gains.append(np.subtract(*(cell.get("by_training", [0.0]) for cell in (mean, atc))))
            errors.append(_rows_error(atc) + _rows_error(mean))
            words = f"ATC {_points(atc['value'])}, mean of bounds {_points(mean['value'])}"
            seen.append(f"{study['title']}: {words}")
    if leads:
        means, looks = np.mean(gains, axis=0), []
        if len(means) >= FEWEST:
            between = float(means.var(ddof=1)) / len(means)
            variance = between + (math.hypot(*errors) / len(errors)) ** 2
            freedom = (len(means) - 1) * (variance / between) ** 2 if between else math.inf
            looks = [gap(sum(leads) / len(leads), variance**0.5, freedom)]
        fields = {"seen": "; ".join(seen)}
        yield Row("atc_on_parsing", TRAININGS, "trainings", looks, leads, fields)


def _accepted_are_purer(sets: Sets) -> Iterator[Row]:
    """The paper's outlook: what the lower bound accepts is right more often than the rest; of coins it is not."""
    purer, seen, leads = [], [], []
    for study in sets:
        accepted, gold = study["by_method"]["lower"], study["gold"]["value"]
        precision = accepted.get("correct_precision")
        if precision is not None and 0 < gold < 1:
            purer.append(study)
            leads.append(precision["value"] - gold)
            seen.append(f"{study['title']} {_points(precision['value'])} of {_points(gold)}")
    if purer:
        yield _over_tasks("accepted_are_purer", purer, leads, {"seen": "; ".join(seen)})


def _worth(looks: Sets, at: str, words: str) -> Iterator[Row]:
    """Are the bounds worth more than those of ATC and a constant, and those of coins? Not asked in the paper."""
    for rival in ("constant", "coins"):
        away = [row for row in looks if not row["near"] and {rival, at} <= set(row["by"])]
        gains = dict[str, float]()
        for task in dict.fromkeys(row["task"] for row in away):
            task_rows = [row for row in away if row["task"] == task]
            ours, theirs = (Worth.of_rows(task_rows, name) for name in (at, rival))
            if ours and theirs:
                gains[task] = theirs.score - ours.score
        fields: dict[str, Any] = {"procedure": words, "level": LEVEL}
        fields |= {"ours": Worth.of_rows(away, at), "theirs": Worth.of_rows(away, rival)}
        fields["rival"] = PAGE.words["page"][rival]
        fields["seen"] = "; ".join(f"{task} {100 * gain:+.1f}" for task, gain in gains.items())
        effects = list(gains.values())
        flips = [sign_flips(effects)] if len(gains) >= FEWEST else []
        name = f"worth_{rival}_at_{at}"
        yield Row(name, FLIPS, "tasks", flips, effects, fields, words="worth")


def _inside(name: str, sets: Sets, where: str) -> Row:
    """Does the truth lie between the bounds?"""
    below, beyond = (
        [study["bounds"][0][end] for study in sets] for end in ("above_lower", "below_upper")
    )
    both = zip(_looks(sets, below, 0.0), _looks(sets, beyond, 0.0), strict=True)
    looks, room, outside = [all_of(pair) for pair in both], [], []
    for study, low, high in zip(sets, below, beyond, strict=True):
        room.append(min(low["value"], high["value"]))
        side = "below" if low["value"] < high["value"] else "above"
        if room[-1] < 0:
            outside.append(f"{study['title']} by {_points(-room[-1])} points {side}")
    widths = sorted(study["width"]["value"] for study in sets)
    fields = {"where": where}
    fields["widths"] = (
        f"{_points(widths[0])} to {_points(widths[-1])} points wide" if widths else ""
    )
    fields["outside"] = f"; outside: {'; '.join(outside)}" if outside else ""
    by_chance = sum(
        lower <= study["gold"]["value"] <= upper
        for study in sets
        for lower, upper in [study["coins"]]
    )
    fields["coins"] = f"; of as many coins {by_chance}" if sets else ""
    return Row(name, POOLED, "trainings", looks, room, fields, "most", "inside")


def _tight(sets: Sets) -> Row:
    """Are the bounds tighter than those of thresholds that know the truth? Asked where the bounds hold."""
    studies = [study for study in sets if study["oracle_width"] is not None and study["inside"]]
    leads = [study["oracle_width"] - study["width"]["value"] for study in studies]
    seen = "; ".join(
        f"{study['title']} {_points(study['width']['value'])} against {_points(study['oracle_width'])}"
        for study in studies
    )
    return _over_tasks("tighter_than_oracle", studies, leads, {"seen": seen})


def _small_samples(sets: Sets) -> Row:
    """Figure 4: do the bounds hold in small samples of all sets, not only of those on which they hold as a whole?"""
    sampled = [study for study in sets if len(study["subsets"]) > 1]
    smallest = (study["subsets"][0]["bounds"][0]["reliability"] for study in sampled)
    leads = [share["value"] - INSIDE for share in smallest]
    return _over_tasks("small_samples", sampled, leads, {"asked": INSIDE})


def _self_training(result: Mapping[str, Any]) -> Iterator[Row]:
    """Are the parsers that learnt from accepted outputs better than those that did not, beyond what seeds differ by?"""
    for key, task in result["tasks"].items():
        runs = [
            run["self_training"]
            for run in trainings(result, key)
            if run.get("self_training", {}).get("sets")
        ]
        if not runs:
            continue
        firsts = [
            next(study for study in run["sets"] if study["name"] == run["set"]) for run in runs
        ]
        before, after = ([first[side]["value"] for first in firsts] for side in ("old", "new"))
        gains = [new - old for old, new in zip(before, after, strict=True)]
        looks = [contrast((after, before), (1, -1), pooled=True)] if len(runs) >= FEWEST else []
        fields = {"title": task["title"], "seen": ", ".join(f"{100 * gain:+.1f}" for gain in gains)}
        name, test = f"self_training_{task['task']}", "Student's t test over trainings"
        effects = [sum(gains) / len(gains)]
        yield Row(name, test, "trainings", looks, effects, fields, words="self_training")


def _metric(result: Mapping[str, Any]) -> Iterator[Row]:
    """Is a judge of another metric nearer to its mean than the mean on the development set is?"""
    for task in result["tasks"].values():
        if study := task.get("metric"):
            row = "{title}: predicted {predicted:bare}, true {true:bare}, on the development set {source:bare}"
            fields = {**task, **study, "title": task["title"]}
            fields["seen"] = "; ".join(PAGE.fill(row, each) for each in study["sets"])
            errors = [(row["error"], row["source_error"]) for row in study["sets"]]
            leads = [other["value"] - error["value"] for error, other in errors]
            name = f"metric_{task['task']}"
            yield Row(name, "", "trainings", [], leads, fields, words="metric")


def _figures_of_samples(result: Mapping[str, Any]) -> list[Panel]:
    """For each data set the bounds in samples of every size."""
    panels, kinds = [], ["lower", "upper", "gold"]
    for study in sets_of(result):
        cells = [(row["rows"], kind, row[kind]) for row in study["subsets"] for kind in kinds]
        ends = ("value", "lower", "upper")
        rows = [
            {"rows": size, "what": kind, **{end: cell[end] for end in ends}}
            for size, kind, cell in cells
        ]
        marks = {"values": [row["rows"] for row in study["subsets"]], "labelOverlap": True}
        across = plain.axis("rows", "rows drawn", {"type": "log", "nice": False}, axis=marks)
        panel = f"{study['task']}-{study['name']}".replace(".", "-")
        panels.append(Panel(panel, study["title"], plain.bands(across, "accuracy", kinds), rows))
    return panels


def _thinned(subsets: Sets) -> list[Mapping[str, Any]]:
    """The smallest, a middle one and the largest size."""
    return [subsets[i] for i in sorted({0, len(subsets) // 2, len(subsets) - 1})]


def _bounds_drawn(result: Mapping[str, Any], at: str = "") -> list[Panel]:
    """A row for each data set: the bar of its bounds, and marks; of all voters where the procedure is not named."""
    bars, marks = [], []
    for study in sets_of(result, at=at) if at else sets_of(result, at="mixed") or sets_of(result):
        values = {name: row["value"]["value"] for name, row in study["by_method"].items()}
        bars.append({"data": study["title"], "lower": values["lower"], "upper": values["upper"]})
        points = {"gold": study["gold"]["value"], "mean": values["mean"]}
        points |= {BASELINES[name]: values[name] for name in BASELINES if name in values}
        marks += [
            {"data": study["title"], "what": name, "value": value} for name, value in points.items()
        ]
    return [
        Panel(
            "all",
            "",
            plain.bounds("data", bars, marks, ["gold", "mean", *BASELINES.values()], "accuracy"),
        )
    ]


FIGURES = Figures(
    PAGE,
    {"bounds": _bounds_drawn}
    | {
        "bounds-of-judges": partial(_bounds_drawn, at="thresholds"),
        "bounds-at-half": partial(_bounds_drawn, at="half"),
    }
    | {"figure-4-samples": _figures_of_samples},
    lambda result: {"bounds": PAGE.words["page"]["mixed"]} if sets_of(result, at="mixed") else {},
)

# Rows of the paper's Tables 2 to 4: its key in paper_tables.json, ours in a study, and the name that is shown.
_ROWS = [(row["paper"], method, row["title"]) for method, row in PAGE.words["methods"].items()]


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other."""
    tasks, words, sets = result["tasks"], PAGE.words["page"], sets_of(result)
    if not tasks:
        return "No task is finished yet.\n"
    missing = ""
    if result["missing"]:
        missing = PAGE.fill(words["missing"], {"missing": ", ".join(result["missing"])})
    samples = ((study, row) for study in sets for row in _thinned(study["subsets"]))
    seeds = [len(trainings(result, name)) for name in tasks]
    over = words["one_training"]
    if max(seeds) > 1:
        seen = f"{min(seeds)}" if min(seeds) == max(seeds) else f"{min(seeds)} to {max(seeds)}"
        over = PAGE.fill(words["trainings"], {"seeds": seen})
    out = [
        PAGE.table("runs", map(_run, tasks.values()), missing=missing),
        PAGE.table("recalls", _recalls(result)),
        *(_accuracies(result, family) for family in PAGE.words["families"]),
        _procedures(result),
        *_worths(result),
        PAGE.table("votes", ((study, bound) for study in sets for bound in study["bounds"])),
        PAGE.table(
            "samples",
            samples,
            draws=max(row["draws"] for study in sets for row in study["subsets"]),
        ),
        *_types(result),
        *_self_trained(result),
        *_metrics(result),
        claims_table(result["claims"], over),
    ]
    return tables_page(out)


def _types(result: Mapping[str, Any]) -> Iterator[str]:
    """Truth and bounds by type, for the sets whose types are generalisations or genres."""
    for study in sets_of(result, "out"):
        if len(study["types"]) > 1:
            rows = [{**row, "name": row["type"].replace("_", " ")} for row in study["types"]]
            covered = sum(row["inside"] for row in rows)
            yield PAGE.table("types", rows, title=study["title"], inside=covered, of=len(rows))


def _self_trained(result: Mapping[str, Any]) -> Iterator[str]:
    """Parsers that learnt from accepted outputs, beside those that did not."""
    for name, task in result["tasks"].items():
        if study := task.get("self_training"):
            rows = [
                (task["sets"][row["name"]], run.get("seed", 0), row)
                for run in trainings(result, name)
                if "self_training" in run
                for row in run["self_training"]["sets"]
            ]
            ladder = PAGE.table("ladder", study["ladder"])
            record = {**study, "ladder": ladder}
            yield PAGE.table("self_training", rows, record, title=task["title"])


def _metrics(result: Mapping[str, Any]) -> Iterator[str]:
    """Judges of another metric."""
    for task in result["tasks"].values():
        if study := task.get("metric"):
            title, metric = task["title"], study["metric"]
            yield PAGE.table("metric", study["sets"], title=title, metric=metric)


def _run(task: Mapping[str, Any]) -> Mapping[str, Any]:
    unseen = f" ({task['panel']['unseen']:,} unseen)" if task["panel"]["unseen"] else ""
    rows = task["examples"]["train"]["checkpoints"]
    steps = ", ".join(
        f"{row['name'].removeprefix('step-').lstrip('0')} ({100 * row['accuracy']:.0f})"
        for row in rows
    )
    return {
        **task,
        "unseen": unseen,
        "steps": steps,
        "minutes": sum(task["cpu_seconds"].values()) / 60,
    }


def _titled(study: Mapping[str, Any]) -> str:
    return f"{study['title']} ({'in distribution' if study['domain'] == 'in' else 'out'})"


def _theirs(study: Mapping[str, Any], table: Mapping[str, Any]) -> tuple[str, Any]:
    """The paper's numbers of the data set of the same name, or of the one in whose place ours stands, and its title."""
    title = (
        f"paper: {study['paper']}" if study["paper"] else f"paper: {study['resembles']}, other data"
    )
    return title, table.get(study["paper"] or study["resembles"] or "")


def _recalls(result: Mapping[str, Any]) -> Iterator[Any]:
    """Table 1: recalls and accuracy of one judge and of both bounds."""
    for study in sets_of(result, at="half"):
        yield {**study["by_method"], "title": _titled(study), "gold": study["gold"]}
        title, theirs = _theirs(study, PAGE.paper["table_1"])
        if theirs:
            printed = [
                f"*{value:.1f}*" for kind in ("single", "upper", "lower") for value in theirs[kind]
            ]
            yield [f"*{title}*", *printed, f"*{theirs['gold']:.1f}*"]


def _accuracies(result: Mapping[str, Any], family: str) -> str:
    """Table 2, 3 or 4: every method's predicted accuracy and its distance from the truth."""
    columns, keys = (
        [["method", *(name for _, _, name in _ROWS), "gold"]],
        [key for key, _, _ in _ROWS],
    )
    sets = [study for study in sets_of(result, at="half") if study["family"] == family]
    for study in sets:
        title, theirs = _theirs(study, PAGE.paper["tables_2_to_4"])
        ours = [study["by_method"].get(method, {}) for _, method, _ in _ROWS]
        columns.append(
            [
                f"{_titled(study)} Acc",
                *(percent(row.get("value")) for row in ours),
                percent(study["gold"]),
            ]
        )
        columns.append(["AE", *(bare(row.get("error")) for row in ours), "0.0"])
        if theirs:
            errors = (
                "-" if theirs["ae"].get(key) is None else f"*{theirs['ae'][key]:.1f}*"
                for key in keys
            )
            columns.append([f"*{title}* Acc", *(f"*{theirs[key]:.1f}*" for key in (*keys, "gold"))])
            columns.append(["*AE*", *errors, "*0.0*"])
    heads, *rows = (list(row) for row in zip(*columns, strict=True))
    return PAGE.table(
        "accuracies",
        rows if sets else (),
        family=PAGE.words["families"][family],
        heads=" | ".join(heads),
    )


def _procedures(result: Mapping[str, Any]) -> str:
    by_procedure = {
        at: {(study["task"], study["name"]): study for study in sets_of(result, at=at)}
        for at in PROCEDURES
    }
    by_procedure = {at: sets for at, sets in by_procedure.items() if sets}
    rows = []
    for key, half in by_procedure["half"].items():
        errors = (bare((half["by_method"].get(name) or {}).get("error")) for name in BASELINES)
        bounds = PAGE.rows("procedures", [sets.get(key, {}) for sets in by_procedure.values()])
        rows.append([_titled(half), percent(half["gold"]), *bounds, *errors])
    return PAGE.table(
        "procedures", rows, heads=" | ".join(PAGE.words["voters"][at] for at in by_procedure)
    )


def _worths(result: Mapping[str, Any]) -> Iterator[str]:
    """What bounds are worth beside ATC and a constant, and beside coins: over all sets, by set, by type."""
    rows = intervals(result)
    away = [row for row in rows if not row["near"]]
    near = [row for row in rows if row["near"]]
    kinds = {
        name: PROCEDURES.get(name, PAGE.words["page"].get(name))
        for name in ("constant", *PROCEDURES, "coins")
    }
    names = kinds | {name: name for row in rows for name in row["choices"]}
    parts = (away, [row for row in away if row["seed"]], near)
    worth = [
        (title, *(Worth.of_rows(part, name) for part in parts)) for name, title in names.items()
    ]
    constants = {task: constant(rows, task) for task in result["tasks"]}
    yield PAGE.table(
        "worth",
        [row for row in worth if any(row[1:])],
        level=LEVEL,
        papers=PAPERS,
        chosen="; ".join(f"{task}: {name}" for task, name in chosen_elsewhere(rows).items()),
        constants="; ".join(
            f"{task} {_points(c)}" for task, c in constants.items() if c is not None
        ),
    )
    yield _worths_by_set(away, kinds)
    yield _worths_by_type(result, constants)


def _worths_by_set(rows: Sets, kinds: Mapping[str, str]) -> str:
    by_set: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_set.setdefault(row["title"], []).append(row)
    cells = [
        (title, *(Worth.of_rows(of_set, name) for name in kinds))
        for title, of_set in by_set.items()
    ]
    return PAGE.table("worth_by_set", cells, heads=" | ".join(kinds.values()))


def _worths_by_type(result: Mapping[str, Any], constants: Mapping[str, float | None]) -> str:
    cells = []
    for task, run in result["tasks"].items():
        for study in run["sets"].values():
            if len(study["types"]) > 1:
                rows = [_interval_of_type(row, constants[task]) for row in study["types"]]
                names = ("constant", "thresholds", "mixed")
                cells.append((study["title"], *(Worth.of_rows(rows, name) for name in names)))
    return PAGE.table("worth_by_type", cells)


def _interval_of_type(row: Mapping[str, Any], c: float | None) -> dict[str, Any]:
    """A row of `intervals` for a type: the ends of those procedures that it has."""
    by = {"thresholds": (row["lower"]["value"], row["upper"]["value"])}
    if "mixed" in row:
        by["mixed"] = (row["mixed"]["lower"], row["mixed"]["upper"])
    if "atc" in row and c is not None:
        by["constant"] = around(row["atc"], c)
    return {"gold": row["gold"]["value"], "by": by}
