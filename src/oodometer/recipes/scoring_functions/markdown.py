"""Markdown: the result as the paper's tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...reports import drawings as plain
from ...reports.drawings import Drawing, Panel
from ..kit.claims import claims_table
from ..kit.publish import Figures
from ..kit.tables import paper_tables, section, tables_page
from .findings import NAMES, agreement_of_as_many, far_of, near_of
from .study import FORM


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """Three figures; those of tasks that are not finished are empty."""
    tasks = result["tasks"]
    clean, dominoes = tasks.get("clean"), tasks.get("dominoes")
    severity = "Mean absolute error of each score over the corruptions of a severity."
    sizes = "Mean absolute error of MA by number of models, for each kind of shift."
    bias = "Mean absolute error where the simple half tells the class as in training, and where it tells nothing."
    size = {"width": 300, "height": 220, "columns": 3}
    return [
        Drawing("severity", "Error by severity", severity, _severity_drawn(clean) if clean else [], width=520),
        Drawing("figure-2-ensemble", "Ensembles of every size", sizes, _sizes_drawn(clean) if clean else [], width=520),
        Drawing("dominoes", "Simplicity bias", bias, _dominoes_drawn(dominoes) if dominoes else [], **size),
    ]


def _severity_drawn(clean: Mapping[str, Any]) -> list[Panel]:
    """A line for each score."""
    rows = []
    for variant, scores in (("ma", ("conf", "lms", "ma")), ("ma-diverse", ("ma",))):
        for group, shift in clean[variant]["shifts"].items():
            if not group.startswith("severity"):
                continue
            for score in scores:
                name = NAMES["ma-diverse"] if variant == "ma-diverse" else NAMES[score]
                grade = int(group.rpartition(" ")[2])
                rows.append({"score": name, "severity": grade, "order": grade, "error": shift[score]["exact"]["mean"]})
    marks = {"values": sorted({row["severity"] for row in rows}), "format": "d"}
    across = plain.axis("severity", "severity", {"nice": False}, axis=marks)
    chart = plain.lines(across, plain.axis("error", "mean absolute error"), "score", few=True)
    return [Panel("all", "", chart, rows)]


def _sizes_drawn(clean: Mapping[str, Any]) -> list[Panel]:
    """A line for each kind of shift."""
    rows = [
        {"shift": group, "models": one["models"], "order": one["models"], "error": sum(errors) / len(errors)}
        for group, sizes in clean["sizes_of_ensemble"].items()
        for one in sizes
        if (errors := one["by_model"])
    ]
    marks = {"values": sorted({row["models"] for row in rows}), "format": "d"}
    across = plain.axis("models", "models of the ensemble", {"nice": False, "zero": False}, axis=marks)
    chart = plain.lines(across, plain.axis("error", "mean absolute error"), "shift", few=True)
    return [Panel("all", "", chart, rows)]


def _dominoes_drawn(task: Mapping[str, Any]) -> list[Panel]:
    """A panel for each score, a line for each target."""
    panels = []
    grades = sorted(task["correlations"], key=float)
    for score in ("conf", "lms", "ma"):
        rows = [
            {
                "target": target,
                "correlation": grade,
                "order": place,
                "error": task["correlations"][grade][target][score]["exact"]["mean"],
            }
            for target in ("correlated", "randomized")
            for place, grade in enumerate(grades)
        ]
        across = {"field": "correlation", "type": "ordinal", "title": "correlation in training", "sort": None}
        up = plain.axis("error", "mean absolute error", {"domain": [0, 1]})
        panels.append(Panel(score, NAMES[score], plain.lines(across, up, "target", few=True), rows))
    return panels


FIGURES = Figures(
    "Scoring functions: figures",
    "The shifts of Trivedi et al. (2023) as this run has them; numbers and claims are in result.md",
    ("severity", "figure-2-ensemble", "dominoes"),
    drawings,
)


PAPER = "scoring_functions"
_OVER = (
    "Tests are over models that were trained with different seeds. Each model is judged in turn, the others being its "
    "ensemble, so their errors depend on one another: the p-values are too small where only MA is compared."
)
Cells = Mapping[str, Any]


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other."""
    tasks = result["tasks"]
    if not tasks:
        return "No task is finished yet.\n"
    conditions = {name: one for name, one in tasks.items() if name != "dominoes"}
    clean, dominoes = tasks.get("clean"), tasks.get("dominoes")
    return tables_page(
        [
            _about(result),
            _table_one(clean) if clean else "",
            _sizes(clean) if clean else "",
            _disjoint(clean) if clean else "",
            _published(clean) if clean else "",
            _table_two(conditions) if conditions else "",
            _accuracies(conditions) if conditions else "",
            _table_three(dominoes) if dominoes else "",
            _alarms(dominoes) if dominoes else "",
            _beyond(clean) if clean else "",
            claims_table(result["claims"], _OVER),
        ]
    )


def _about(result: Mapping[str, Any]) -> str:
    first = next(iter(result["tasks"].values()))
    sizes, data = first["sizes"], first["data"]
    network = ", ".join(f"{name} {value}" for name, value in sizes["network"].items())
    text = f"**The run.** Scale `{result['scale']}`: ResNet ({network}), {sizes['training']['epochs']} epochs "
    text += f"({sizes['compromised_epochs']} on compromised data) of {data['train']['rows']} images; thresholds from "
    text += f"{data['validation']['rows']} images, every corruption of {data['held']['rows']} "
    text += "images, the same ones." if sizes["overlap"] else "other images."
    if absent := first.get("absent"):
        text += (
            f" Not at hand: {', '.join(absent)}; the mildest corruptions stand in for the near shift, the strongest "
        )
        text += "for the far one."
    if result["missing"]:
        text += f" Not run: {', '.join(result['missing'])}."
    if result["form"] != FORM:
        text += f" Left by form {result['form']} of this recipe, which is at form {FORM} today: the spread over "
        text += "ensembles is not kept for each model, so the claim on it is undecided."
    return text


def _number(one: Mapping[str, Any] | None, how: str = "exact") -> str:
    """Mean and standard deviation over models."""
    if one is None:
        return "-"
    found = one.get(how, one)
    return f"{found['mean']:.4f} ± {found['sd']:.4f}"


def _theirs(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _table_one(clean: Mapping[str, Any]) -> str:
    """Table 1: every score by kind of shift, by both thresholds, beside the paper's."""
    paper = paper_tables(PAPER)["table1"]
    heads = ["shift", "accuracy"]
    heads += [f"{NAMES[score]}{what}" for score in ("conf", "lms", "ma") for what in ("", ", grid", ", paper")]
    rows = []
    for group, shift in clean["ma"]["shifts"].items():
        row = [group, f"{shift['accuracy']['mean']:.3f}"]
        for score in ("conf", "lms", "ma"):
            row += [_number(shift.get(score)), _number(shift.get(score), "grid"), _theirs(paper[score].get(group))]
        rows.append(row)
    words = "**Table 1: mean absolute error of each score** (mean and standard deviation over models; of LMS over the "
    words += "first ones). The threshold is exact, ties sharing; `grid` is the grid of the published code."
    return section(words, heads, rows)


def _sizes(clean: Mapping[str, Any]) -> str:
    """Figure 2 as a table."""
    found = clean["sizes_of_ensemble"]
    heads = ["models", *found, "spread over ensembles"]
    rows = []
    for place, one in enumerate(found["all"]):
        cells = [f"{_average(sizes[place]['by_model']):.4f}" for sizes in found.values()]
        spread = one["spread"]
        rows.append([str(one["models"]), *cells, "-" if spread is None else f"{spread:.4f}"])
    words = "**Figure 2: error of MA by number of models**, the judged one counted; the paper sees no gain beyond four."
    return section(words, heads, rows)


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _disjoint(clean: Mapping[str, Any]) -> str:
    found = clean.get("disjoint")
    if not found:
        return ""
    rows = [[group, _number(one["conf"]), _number(one["ma"])] for group, one in found["shifts"].items()]
    words = (
        f"**Three ensembles that share no model** ({found['models']} each), their first models judged: their spread is "
    )
    words += "that of independent trainings."
    return section(words, ["shift", "Conf", "MA"], rows)


def _published(clean: Mapping[str, Any]) -> str:
    found = clean.get("published")
    if not found:
        return ""
    rows = [[name, _number(one)] for name, one in found["shifts"].items()]
    words = (
        f"**A real near shift**: error of MA among {found['models']} published models of CIFAR-10, each judged in turn."
    )
    return section(words, ["shift", "MA"], rows)


def _table_two(tasks: Mapping[str, Any]) -> str:
    """Table 2, right side: errors on the far and the near shift by condition."""
    paper = paper_tables(PAPER)["table2"]
    heads = ["training data", "score", "far", "paper, STL10", "near", "paper, CIFAR-10.1"]
    rows = []
    for name, task in tasks.items():
        far, near = (one(task["ma"]["shifts"]) for one in (far_of, near_of))
        for score in ("conf", "lms", "ma", "ma-diverse"):
            variant, key = ("ma-diverse", "ma") if score == "ma-diverse" else ("ma", score)
            shifts, theirs = task[variant]["shifts"], paper[name][score]
            cells = [_number(shifts[far].get(key)), _theirs(theirs["stl10"])]
            cells += [_number(shifts[near].get(key)), _theirs(theirs["cifar10.1"])]
            rows.append([name, NAMES[score], *cells])
        if task["ma"]["models"] > (models := task["ma-diverse"]["models"]):
            cells = [f"{_average(agreement_of_as_many(task, shift)):.4f}" for shift in (far, near)]
            rows.insert(-1, [name, f"MA of {models} models", cells[0], "-", cells[1], "-"])
    words = (
        "**Table 2: errors on compromised training data.** MA_0.02: each member learns 2 % of the labels wrong. Where"
    )
    words += " its ensemble is the smaller one, it is compared with plain ones of as many models."
    return section(words, heads, rows)


def _accuracies(tasks: Mapping[str, Any]) -> str:
    """Table 2, left side: accuracies of one model and of the mean of all, and MA against the mean."""
    paper = paper_tables(PAPER)["accuracy"]
    heads = ["training data", "ensemble", "CIFAR-10", "paper", "far", "near"]
    heads += ["mean of all: CIFAR-10", "paper", "far", "near", "MA against the mean of all: far", "near"]
    rows = []
    for name, task in tasks.items():
        for variant in ("ma", "ma-diverse"):
            found = task[variant]
            far, near = (found["shifts"][one(found["shifts"])] for one in (far_of, near_of))
            one = [found["validation_accuracy"]["mean"], None, far["accuracy"]["mean"], near["accuracy"]["mean"]]
            cells = [f"{value:.3f}" if value is not None else _theirs(paper[name]["one"]["cifar10"]) for value in one]
            if variant == "ma-diverse":
                cells[1] = "-"
            cells += [f"{found['ensemble_accuracy']:.3f}", _theirs(paper[name][variant]["cifar10"])]
            cells += [f"{shift['ensemble']['accuracy']:.3f}" for shift in (far, near)]
            cells += [f"{shift['ensemble']['ma']:.4f}" for shift in (far, near)]
            rows.append([name, NAMES[variant], *cells])
    return section("**Accuracies** of one model (mean of all in turn) and of their ensemble.", heads, rows)


def _table_three(task: Mapping[str, Any]) -> str:
    """Table 3: dominoes."""
    paper = paper_tables(PAPER)["table3"]
    heads = ["correlation in training", "score", "correlated", "paper", "randomised", "paper"]
    rows = []
    for grade, found in task["correlations"].items():
        right = [f"{found[target]['accuracy']['mean']:.3f}" for target in ("correlated", "randomized")]
        rows.append([grade, "(accuracy)", right[0], "-", right[1], "-"])
        for score in ("conf", "lms", "ma"):
            theirs = paper.get(grade, {}).get(score, {})
            row = [grade, NAMES[score]]
            for target in ("correlated", "randomized"):
                row += [_number(found[target][score]), _theirs(theirs.get(target))]
            rows.append(row)
    words = f"**Table 3: dominoes.** The lower half of the targets: {task['far']}; the paper's is STL10, its network a "
    words += "ResNet-50 that was trained before."
    return section(words, heads, rows)


def _alarms(task: Mapping[str, Any]) -> str:
    """What `estimate`, its diagnosis and ten labels say of the dominoes."""
    heads = ["correlation", "target", "given", "error of the headline", "width", "truth inside", "trust high"]
    heads += ["change seen", "fell: alarm", "refuted by the labels"]
    rows = []
    for grade, found in task["correlations"].items():
        for target in ("correlated", "randomized"):
            for given, one in found[target]["alarms"].items():
                cells = [f"{one['error']['mean']:.3f}", f"{one['width']['mean']:.3f}"]
                for key in ("inside", "trusted", "change_seen", "alarm", "refuted"):
                    cells.append(f"{100 * one[key]['mean']:.0f} %")
                rows.append([grade, target, given, *cells])
    labels = task["sizes"]["dominoes"]["labels"]
    words = "**Who raises an alarm?** `estimate` as a team would use it: how often a change is seen, how often it says "
    words += f"that accuracy fell by a point or more, and how often {labels} random labels refute its 95 % interval "
    words += "(shares of models, and of draws)."
    return section(words, heads, rows)


def _beyond(clean: Mapping[str, Any]) -> str:
    """Every estimator that answered, the best first."""
    found = clean.get("estimators")
    if not found:
        return ""
    groups = list(found["intervals"])
    whole = {name: one for name, one in found["methods"].items() if set(one) == set(groups)}
    order = sorted(whole, key=lambda name: sum(whole[name][group]["mean"] for group in groups))
    rows = [[f"`{name}`", *(_number(whole[name][group]) for group in groups)] for name in order]
    held = [f"{group}: {100 * one['coverage']:.0f} %" for group, one in found["intervals"].items()]
    words = "**Beyond the paper: every estimator on the same images**, the plain ensemble given as members, views too. "
    words += f"The headline's {100 * found['level']:.0f} % interval held the truth in " + ", ".join(held) + "."
    return section(words, ["method", *groups], rows)
