"""Markdown: the result as the paper's tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...reports import drawings as plain
from ...reports.drawings import Drawing, Panel
from ..kit.claims import claims_table
from ..kit.publish import Figures
from ..kit.tables import cells, dash, paper_tables, section, tables_page
from .findings import NAMES, agreement_of_as_many, far_of, near_of
from .study import FORM

_SCORES = ("conf", "lms", "ma")


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """Three figures; those of tasks that are not finished are empty."""
    clean, dominoes = (result["tasks"].get(name) for name in ("clean", "dominoes"))
    severity = "Mean absolute error of each score over the corruptions of a severity."
    sizes = "Mean absolute error of MA by number of models, for each kind of shift."
    bias = "Mean absolute error where the simple half tells the class as in training, and where it tells nothing."
    size: dict[str, Any] = {"width": 300, "height": 220, "columns": 3}
    return [
        Drawing("severity", "Error by severity", severity, _severity_drawn(clean) if clean else [], width=520),
        Drawing("figure-2-ensemble", "Ensembles of every size", sizes, _sizes_drawn(clean) if clean else [], width=520),
        Drawing("dominoes", "Simplicity bias", bias, _dominoes_drawn(dominoes) if dominoes else [], **size),
    ]


def _whole(rows: list[dict[str, Any]], field: str, title: str, by: str, scale: Mapping[str, Any]) -> list[Panel]:
    """One panel over whole numbers."""
    marks = {"values": sorted({row[field] for row in rows}), "format": "d"}
    across = plain.axis(field, title, scale, axis=marks)
    return [Panel("all", "", plain.lines(across, plain.axis("error", "mean absolute error"), by, few=True), rows)]


def _severity_drawn(clean: Mapping[str, Any]) -> list[Panel]:
    """A line for each score."""
    rows = [
        {"score": name, "severity": grade, "order": grade, "error": shift[score]["exact"]["mean"]}
        for variant, scores in (("ma", _SCORES), ("ma-diverse", ("ma",)))
        for group, shift in clean[variant]["shifts"].items()
        if group.startswith("severity")
        for score in scores
        for name, grade in [(NAMES[variant if variant == "ma-diverse" else score], int(group.rpartition(" ")[2]))]
    ]
    return _whole(rows, "severity", "severity", "score", {"nice": False})


def _sizes_drawn(clean: Mapping[str, Any]) -> list[Panel]:
    """A line for each kind of shift."""
    rows = [
        {"shift": group, "models": one["models"], "order": one["models"], "error": _average(errors)}
        for group, sizes in clean["sizes_of_ensemble"].items()
        for one in sizes
        if (errors := one["by_model"])
    ]
    return _whole(rows, "models", "models of the ensemble", "shift", {"nice": False, "zero": False})


def _dominoes_drawn(task: Mapping[str, Any]) -> list[Panel]:
    """A panel for each score, a line for each target."""
    panels, found = [], task["correlations"]
    across = {"field": "correlation", "type": "ordinal", "title": "correlation in training", "sort": None}
    up = plain.axis("error", "mean absolute error", {"domain": [0, 1]})
    for score in _SCORES:
        rows = [
            {
                "target": target,
                "correlation": grade,
                "order": place,
                "error": found[grade][target][score]["exact"]["mean"],
            }
            for target in ("correlated", "randomized")
            for place, grade in enumerate(sorted(found, key=float))
        ]
        panels.append(Panel(score, NAMES[score], plain.lines(across, up, "target", few=True), rows))
    return panels


FIGURES = Figures(
    "Scoring functions: figures",
    "The shifts of Trivedi et al. (2023) as this run has them; numbers and claims are in result.md",
    ("severity", "figure-2-ensemble", "dominoes"),
    drawings,
)


PAPER = "scoring_functions"
_OVER = "Tests are over models that were trained with different seeds. Each model is judged in turn, the others being "
_OVER += "its ensemble, so their errors depend on one another: the p-values are too small where only MA is compared."


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other."""
    tasks = result["tasks"]
    if not tasks:
        return "No task is finished yet.\n"
    conditions = {name: one for name, one in tasks.items() if name != "dominoes"}
    first = next(iter(result["tasks"].values()))
    sizes, data = first["sizes"], first["data"]
    network = ", ".join(f"{name} {value}" for name, value in sizes["network"].items())
    text = f"**The run.** Scale `{result['scale']}`: ResNet ({network}), {sizes['training']['epochs']} epochs "
    text += f"({sizes['compromised_epochs']} on compromised data) of {data['train']['rows']} images; thresholds from "
    text += f"{data['validation']['rows']} images, every corruption of {data['held']['rows']} "
    text += "images, the same ones." if sizes["overlap"] else "other images."
    if absent := first.get("absent"):
        text += f" Not at hand: {', '.join(absent)}; the mildest corruptions stand in for the near shift, the "
        text += "strongest for the far one."
    text += f" Not run: {', '.join(result['missing'])}." if result["missing"] else ""
    if result["form"] != FORM:
        text += f" Left by form {result['form']} of this recipe, which is at form {FORM} today: the spread over "
        text += "ensembles is not kept for each model, so the claim on it is undecided."
    out = [text]
    out += _of_clean(tasks["clean"]) if "clean" in tasks else []
    out += _of_training_data(conditions) if conditions else []
    out += _of_dominoes(tasks["dominoes"]) if "dominoes" in tasks else []
    out += [_beyond(tasks["clean"]) if "clean" in tasks else "", claims_table(result["claims"], _OVER)]
    return tables_page(out)


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _spread(one: Mapping[str, Any] | None) -> str:
    """Mean and standard deviation over models."""
    return "-" if one is None else f"{one['mean']:.4f} ± {one['sd']:.4f}"


def _of_clean(clean: Mapping[str, Any]) -> Iterator[str]:
    """Table 1, Figure 2 as a table, disjoint ensembles, and published models."""
    paper = paper_tables(PAPER)["table1"]
    heads = ["shift", "accuracy", *(f"{NAMES[one]}{what}" for one in _SCORES for what in ("", ", grid", ", paper"))]
    row = "{0} | {1[accuracy][mean]:.3f} | " + " | ".join(
        f"{{1[{one}][exact]:spread}} | {{1[{one}][grid]:spread}} | {{2[{one}]:.4f}}" for one in _SCORES
    )
    shifts = [(name, one, {s: paper[s].get(name) for s in _SCORES}) for name, one in clean["ma"]["shifts"].items()]
    words = "**Table 1: mean absolute error of each score** (mean and standard deviation over models; of LMS over the "
    words += "first ones). The threshold is exact, ties sharing; `grid` is the grid of the published code."
    yield section(words, heads, cells(row, shifts, spread=_spread))
    found = clean["sizes_of_ensemble"]
    rows = [
        [
            str(one["models"]),
            *(f"{_average(by[place]['by_model']):.4f}" for by in found.values()),
            dash(one["spread"], ".4f"),
        ]
        for place, one in enumerate(found["all"])
    ]
    words = "**Figure 2: error of MA by number of models**, the judged one counted; the paper sees no gain beyond four."
    yield section(words, ["models", *found, "spread over ensembles"], rows)
    if found := clean.get("disjoint"):
        words = f"**Three ensembles that share no model** ({found['models']} each), their first models judged: their "
        words += "spread is that of independent trainings."
        row = "{0} | {1[conf]:spread} | {1[ma]:spread}"
        yield section(words, "shift | Conf | MA", cells(row, found["shifts"].items(), spread=_spread))
    if found := clean.get("published"):
        words = f"**A real near shift**: error of MA among {found['models']} published models of CIFAR-10, each judged "
        words += "in "
        yield section(f"{words}turn.", "shift | MA", cells("{0} | {1:spread}", found["shifts"].items(), spread=_spread))


def _of_training_data(tasks: Mapping[str, Any]) -> Iterator[str]:
    """Both sides of Table 2: errors by condition; accuracies of one model and of the mean of all."""
    paper, errors, accuracies = paper_tables(PAPER), [], []
    for name, task in tasks.items():
        far, near = (one(task["ma"]["shifts"]) for one in (far_of, near_of))
        for score in (*_SCORES, "ma-diverse"):
            variant, key = ("ma-diverse", "ma") if score == "ma-diverse" else ("ma", score)
            shifts, theirs = task[variant]["shifts"], paper["table2"][name][score]
            ours = [shifts[one].get(key, {}).get("exact") for one in (far, near)]
            row = "{0} | {1} | {2:spread} | {3[stl10]:.4f} | {4:spread} | {3[cifar10.1]:.4f}"
            errors += cells(row, [(name, NAMES[score], ours[0], theirs, ours[1])], spread=_spread)
        if task["ma"]["models"] > (models := task["ma-diverse"]["models"]):
            means = [f"{_average(agreement_of_as_many(task, shift)):.4f}" for shift in (far, near)]
            errors.insert(-1, f"{name} | MA of {models} models | {means[0]} | - | {means[1]} | -")
        for variant in ("ma", "ma-diverse"):
            found, theirs = task[variant], paper["accuracy"][name]
            far_one, near_one = (found["shifts"][one(found["shifts"])] for one in (far_of, near_of))
            row = "{0[validation_accuracy][mean]:.3f} | {3:.4f} | {1[accuracy][mean]:.3f} | {2[accuracy][mean]:.3f} | "
            row += "{0[ensemble_accuracy]:.3f} | {4:.4f} | {1[ensemble][accuracy]:.3f} | {2[ensemble][accuracy]:.3f} | "
            row += "{1[ensemble][ma]:.4f} | {2[ensemble][ma]:.4f}"
            one = theirs["one"]["cifar10"] if variant == "ma" else None
            (told,) = cells(row, [(found, far_one, near_one, one, theirs[variant]["cifar10"])])
            accuracies.append(f"{name} | {NAMES[variant]} | {told}")
    words = "**Table 2: errors on compromised training data.** MA_0.02: each member learns 2 % of the labels wrong. "
    words += "Where its ensemble is the smaller one, it is compared with plain ones of as many models."
    yield section(words, "training data | score | far | paper, STL10 | near | paper, CIFAR-10.1", errors)
    heads = "training data | ensemble | CIFAR-10 | paper | far | near | mean of all: CIFAR-10 | paper | far | near | "
    words = "**Accuracies** of one model (mean of all in turn) and of their ensemble."
    yield section(words, f"{heads}MA against the mean of all: far | near", accuracies)


def _of_dominoes(task: Mapping[str, Any]) -> Iterator[str]:
    """Table 3, and what `estimate`, its diagnosis and ten labels say of the dominoes."""
    paper, rows, alarms = paper_tables(PAPER)["table3"], [], []
    for grade, found in task["correlations"].items():
        row = "{0} | (accuracy) | {1[correlated][accuracy][mean]:.3f} | - | {1[randomized][accuracy][mean]:.3f} | -"
        rows += cells(row, [(grade, found)])
        for score in _SCORES:
            theirs = paper.get(grade, {}).get(score, {})
            ours = [found[target][score]["exact"] for target in ("correlated", "randomized")]
            row = "{0} | {1} | {2[0]:spread} | {3[correlated]:.4f} | {2[1]:spread} | {3[randomized]:.4f}"
            rows += cells(row, [(grade, NAMES[score], ours, theirs)], spread=_spread)
        row = "{0} | {1} | {2} | {3[error][mean]:.3f} | {3[width][mean]:.3f} | " + " | ".join(
            f"{{3[{key}][mean]:.0f%}} %" for key in ("inside", "trusted", "change_seen", "alarm", "refuted")
        )
        targets = [(target, found[target]["alarms"]) for target in ("correlated", "randomized")]
        alarms += cells(row, [(grade, target, given, one) for target, some in targets for given, one in some.items()])
    words = f"**Table 3: dominoes.** The lower half of the targets: {task['far']}; the paper's is STL10, its network a "
    heads = "correlation in training | score | correlated | paper | randomised | paper"
    yield section(f"{words}ResNet-50 that was trained before.", heads, rows)
    labels = task["sizes"]["dominoes"]["labels"]
    words = "**Who raises an alarm?** `estimate` as a team would use it: how often a change is seen, how often it says "
    words += f"that accuracy fell by a point or more, and how often {labels} random labels refute its 95 % interval "
    heads = "correlation | target | given | error of the headline | width | truth inside | trust high | change seen | "
    yield section(f"{words}(shares of models, and of draws).", f"{heads}fell: alarm | refuted by the labels", alarms)


def _beyond(clean: Mapping[str, Any]) -> str:
    """Every estimator that answered, the best first."""
    found = clean.get("estimators")
    if not found:
        return ""
    groups = list(found["intervals"])
    whole = {name: one for name, one in found["methods"].items() if set(one) == set(groups)}
    order = sorted(whole, key=lambda name: sum(whole[name][group]["mean"] for group in groups))
    rows = [[f"`{name}`", *(_spread(whole[name][group]) for group in groups)] for name in order]
    held = [f"{group}: {100 * one['coverage']:.0f} %" for group, one in found["intervals"].items()]
    words = "**Beyond the paper: every estimator on the same images**, the plain ensemble given as members, views too. "
    words += f"The headline's {100 * found['level']:.0f} % interval held the truth in " + ", ".join(held) + "."
    return section(words, ["method", *groups], rows)
