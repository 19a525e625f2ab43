"""Findings: each claim of the paper, tested over trained models; tables and figures, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from oodometer.arrays import Array
from oodometer.reports import drawings as plain
from oodometer.reports.drawings import Panel

from ..kit.claims import Claim, Look, Row, all_of, claims_from, claims_table, gap
from ..kit.publish import Figures
from ..kit.tables import Page, dash, tables_page
from .study import FORM

NAMES = {"conf": "Conf", "lms": "LMS", "ma": "MA", "ma-diverse": "MA_0.02"}
TEST = "t test over images and trainings"
_DRAWN = "trainings and images"
_ALIKE = 0.5  # of MA's error, by which errors that are called comparable differ at most; the paper gives no margin
_FAR, _NEAR = "stl10", "cifar10.1"  # of the paper
_SCORES, _TARGETS = ("conf", "lms", "ma"), ("correlated", "randomized")
Shifts = Mapping[str, Mapping[str, Any]]


def _spread(cell: Mapping[str, Any] | None) -> str:
    """Mean and standard deviation over models."""
    return "-" if cell is None else f"{cell['mean']:.4f} ± {cell['sd']:.4f}"


PAGE = Page.beside(__file__, spread=_spread)


def far_of(shifts: Shifts) -> str:
    """The far shift: STL10 where it was at hand, else the strongest corruptions."""
    return _FAR if _FAR in shifts else max(shifts)


def near_of(shifts: Shifts) -> str:
    """The near shift: CIFAR-10.1 where it was at hand, else the mildest corruptions."""
    return _NEAR if _NEAR in shifts else min(name for name in shifts if name.startswith("severity"))


def claims_of(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim that the tasks at hand let one check, in the paper's order."""
    tasks = result["tasks"]
    rows = list[Row]()
    if "clean" in tasks:
        rows += [*_of_clean(tasks["clean"]), *_of_wrong_labels(tasks), *_of_compromised(tasks)]
    if "dominoes" in tasks:
        rows += _of_dominoes(tasks["dominoes"])
    if result.get("form", FORM) != FORM:  # its LMS is by another policy and another grid
        rows = [row._replace(bears="lms" not in row.name) for row in rows]
    return claims_from(PAGE, rows)


def _cell(shift: Mapping[str, Any], score: str, threshold: str = "grid") -> dict[str, Any]:
    cell: dict[str, Any] = shift[score][threshold]
    return cell


def jackknife(*parts: Sequence[tuple[float, Mapping[str, Any]]]) -> Look:
    """A sum of weighted errors is above 0, where both images and trainings might have been others: t = sum / s with
    s^2 the sum of the jackknife variances (n - 1) / n sum_i (sum without i - mean)^2 over groups of images, the same
    ones in all errors, and over the trainings of each of some ``parts``, those of one part the same ones. Degrees of
    freedom by Satterthwaite (1946). Of a part with fewer than two trainings nothing is said.

    Source: Efron and Stein (1981), by whom it is not too small for what is no sum, such as agreement; Tukey (1958).
    """
    weighted = [pair for part in parts for pair in part]
    without_one = []
    for part in parts:
        errors = [weight * _without_trainings(cell) for weight, cell in part]
        if len({len(values) for values in errors}) > 1 or len(errors[0]) < 2:
            return Look()
        without_one.append(np.sum(errors, 0))
    if all(cell.get("by_images") for _, cell in weighted):
        errors = [weight * np.asarray(cell["by_images"]) for weight, cell in weighted]
        without_one.append(np.sum(errors, 0))
    value = sum(weight * np.mean(cell["by_model"]) for weight, cell in weighted)
    variances = [(len(errors) - 1) * float(np.var(errors)) for errors in without_one]
    variance = sum(variances)
    parts_of_freedom = sum(
        share**2 / (len(errors) - 1) for share, errors in zip(variances, without_one, strict=True)
    )
    return gap(value, variance**0.5, variance**2 / parts_of_freedom if variance else np.inf)


def _without_trainings(cell: Mapping[str, Any]) -> Array:
    """An error without each training of its models."""
    if "by_training" in cell:
        return np.asarray(cell["by_training"])
    by_model = np.asarray(cell["by_model"])
    return np.asarray((by_model.sum() - by_model) / max(len(by_model) - 1, 1))


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.4f}"


class Pair(NamedTuple):
    """Two errors, the first said to be the larger one, the paper's where it has both, and whose trainings they are: of
    the same name where the models are the same.
    """

    high: Mapping[str, Any]
    low: Mapping[str, Any]
    paper: Sequence[float] = ()
    of_high: str = ""
    of_low: str = ""

    @property
    def lead(self) -> float:
        """How much the second error is below the first."""
        return float(np.mean(self.high["by_model"]) - np.mean(self.low["by_model"]))


def _mean_above(pairs: Sequence[Pair], share: float = 1.0) -> Look:
    """In the mean over the pairs a share of the first error is above the second."""
    parts: dict[str, list[tuple[float, Mapping[str, Any]]]] = {}
    for pair in pairs:
        parts.setdefault(pair.of_high, []).append((share / len(pairs), pair.high))
        parts.setdefault(pair.of_low, []).append((-1 / len(pairs), pair.low))
    return jackknife(*parts.values())


def falls(name: str, pairs: Sequence[Pair], fields: Mapping[str, Any], words: str = "") -> Row:
    """In the mean over the pairs the second error is below the first; and it is at most as large a share of it as in
    the paper, where that has both of every pair.
    """
    size = None
    if all(pair.paper for pair in pairs):
        size = _mean_above(
            pairs, sum(pair.paper[1] for pair in pairs) / sum(pair.paper[0] for pair in pairs)
        )
    leads = [pair.lead for pair in pairs]
    look = _mean_above(pairs)
    return Row(name, TEST, _DRAWN, [look], leads, fields, words=words, size=size)


def _below(
    name: str, small: str, large: str, ensembles: Sequence[Shifts], paper: Mapping[str, Any]
) -> Row:
    """One score errs less than another in the mean over the shifts, the same models on the same images; where there
    are more ensembles than one, in the mean over them.
    """
    few = "lms" in (small, large)  # smoothness is known of some models
    pairs = []
    for number, shifts in enumerate(ensembles):
        for shift, cells in shifts.items():
            first = "conf-few" if few and "conf-few" in cells else small
            theirs = [paper[score][shift] for score in (large, small)] if paper else ()
            of = str(number)
            pairs.append(Pair(_cell(cells, large), _cell(cells, first), theirs, of, of))
    by_shift = {shift: pairs[i :: len(ensembles[0])] for i, shift in enumerate(ensembles[0])}
    listed = "; ".join(f"{shift}: {_both(of_shift)}" for shift, of_shift in by_shift.items())
    row = falls(name, pairs, {"seen": f"{NAMES[small]} / {NAMES[large]}: {listed}"})
    leads = [float(np.mean([pair.lead for pair in of_shift])) for of_shift in by_shift.values()]
    return row._replace(effects=leads)


def _both(pairs: Sequence[Pair]) -> str:
    """The smaller and the larger error in the mean over some pairs."""
    each = np.mean(
        [[np.mean(pair.low["by_model"]), np.mean(pair.high["by_model"])] for pair in pairs], 0
    )
    return f"{each[0]:.4f} / {each[1]:.4f}"


def _of_clean(clean: Mapping[str, Any]) -> Iterator[Row]:
    """The order of the scores, the error by severity, and by the size of the ensemble."""
    shifts = clean["ma"]["shifts"]
    ensembles = [shifts, *clean.get("further", ())]
    yield _below("ma_conf", "ma", "conf", ensembles, PAGE.paper["table1"])
    yield _below("conf_lms", "conf", "lms", [shifts], PAGE.paper["table1"])
    grades = sorted(name for name in shifts if name.startswith("severity"))
    if len(grades) > 2:
        for score in ("ma", "conf", "lms"):
            yield _rises(score, [_cell(shifts[grade], score) for grade in grades])
    rows = {row["models"]: row for row in clean["sizes_of_ensemble"]["all"]}
    if max(rows) >= 6:
        yield _saturates(rows)
        yield _spreads(rows)


def _rises(score: str, cells: Sequence[Mapping[str, Any]]) -> Row:
    """The error of a score rises with the severity: the slope of a line through all of them."""
    steps = np.arange(len(cells)) - (len(cells) - 1) / 2
    slope = [(float(step / (steps @ steps)), cell) for step, cell in zip(steps, cells, strict=True)]
    errors = [np.mean(cell["by_model"]) for cell in cells]
    rise = float(steps @ errors / (steps @ steps))
    fields = {"score": NAMES[score], "errors": " ".join(f"{error:.4f}" for error in errors)}
    name, look = f"severity_{score}", jackknife(slope)
    return Row(name, TEST, _DRAWN, [look], [rise], fields, words="severity")


def _saturates(rows: Mapping[int, Mapping[str, Any]]) -> Row:
    """From two models to four the error of agreement falls by more than from four to all."""
    largest = max(rows)
    gains = [(1.0, rows[2]), (-2.0, rows[4]), (1.0, rows[largest])]
    errors = ", ".join(_mean(rows[size]["by_model"]) for size in (2, 4, largest))
    gain = sum(float(weight * np.mean(row["by_model"])) for weight, row in gains)
    fields = {"most": largest, "errors": errors}
    return Row("saturates", TEST, _DRAWN, [jackknife(gains)], [gain], fields)


def _spreads(rows: Mapping[int, Mapping[str, Any]]) -> Row:
    """Errors of ensembles of more models differ less from each other."""
    seen = ", ".join(
        f"{size}: {rows[size]['spread']:.4f}"
        for size in sorted(rows)
        if rows[size]["spread"] is not None
    )
    spreads = {size: row["spreads"] for size, row in rows.items() if "spreads" in row}
    last = max(spreads, default=4)
    if last <= 4:
        return Row("spread", TEST, _DRAWN, [], (), {"seen": seen})
    pair = Pair(spreads[4], spreads[last])
    return falls("spread", [pair], {"seen": f"{seen}; 4 against {last}"})


def agreement_of_as_many(task: Mapping[str, Any], shift: str) -> list[float]:
    """Errors of MA by model, of plain ensembles with as many models as the diverse one has."""
    ensemble, models = task["ma"], task["ma-diverse"]["models"]
    if ensemble["models"] == models:
        return list(_cell(ensemble["shifts"][shift], "ma", "exact")["by_model"])
    return list(
        next(o for o in task["sizes_of_ensemble"][shift] if o["models"] == models)["by_model"]
    )


def _of_wrong_labels(tasks: Mapping[str, Any]) -> Iterator[Row]:
    """Labels learnt wrong: less error on far shifts, about as much on near ones, in the mean over training data?"""
    by_data = {name: task for name, task in tasks.items() if "shifts" in task.get("ma-diverse", {})}
    for name, shift_of, theirs in (("far", far_of, _FAR), ("near", near_of, _NEAR)):
        pairs, seen = [], []
        for data, task in by_data.items():
            shift, paper = shift_of(task["ma-diverse"]["shifts"]), PAGE.paper["table2"][data]
            pair = _of_diverse(data, task, shift)
            pairs.append(
                pair._replace(paper=[paper[kind][theirs] for kind in ("ma", "ma-diverse")])
            )
            errors = f"{_mean(pair.low['by_model'])} / {_mean(pair.high['by_model'])}"
            seen.append(f"{data}, {shift}: {errors}")
        fields = {"seen": f"MA_0.02 / MA: {'; '.join(seen)}", "alike": _ALIKE}
        if name == "far" and pairs:
            yield falls("diverse_far", pairs, fields)
        elif pairs:
            bounds = [_mean_above(pairs, 1 + _ALIKE), _mean_above(pairs, 1 - _ALIKE).denied]
            room = [_ALIKE * np.mean(pair.high["by_model"]) - abs(pair.lead) for pair in pairs]
            looks, test = [all_of(bounds)], f"two one-sided tests, {TEST}"
            yield Row("diverse_near", test, _DRAWN, looks, room, fields)


def _of_diverse(data: str, task: Mapping[str, Any], shift: str) -> Pair:
    """Errors of the plain and of the diverse ensemble: of the same models judged by members of either kind, where the
    result has that.
    """
    if shift in task.get("paired", {}):
        cells = task["paired"][shift]
        return Pair(cells["ma"], cells["ma-diverse"], (), data, data)
    plain = {"by_model": agreement_of_as_many(task, shift)}
    diverse = _cell(task["ma-diverse"]["shifts"][shift], "ma", "exact")
    return Pair(plain, diverse, (), data, f"{data}, diverse")


def _of_compromised(tasks: Mapping[str, Any]) -> Iterator[Row]:
    """Compromised images: less error on far shifts, in the mean over both kinds?"""
    table, clean = PAGE.paper["table2"], tasks["clean"]["ma"]["shifts"]
    far = far_of(clean)
    names = [name for name in ("measurement-noise", "under-sampling") if name in tasks]
    for score in ("conf", "lms") if names else ():
        cells = {name: _cell(tasks[name]["ma"]["shifts"][far], score) for name in names}
        before = _cell(clean[far], score)
        pairs = [
            Pair(before, after, [table[data][score][_FAR] for data in ("clean", name)], "", name)
            for name, after in cells.items()
        ]
        after = "; ".join(f"{name} {_mean(cell['by_model'])}" for name, cell in cells.items())
        fields = {"score": NAMES[score], "far": far, "after": after}
        fields["before"] = _mean(before["by_model"])
        yield falls(f"compromised_{score}", pairs, fields, "compromised")


def _of_dominoes(task: Mapping[str, Any]) -> Iterator[Row]:
    """Do errors on randomised dominoes rise with the correlation in training, and fall on correlated ones?"""
    by_grade, theirs = task["correlations"], PAGE.paper["table3"]
    grades = sorted(by_grade, key=float)
    for target, verb in (("randomized", "rises"), ("correlated", "falls")):
        high, low = (grades[-1], grades[0]) if verb == "rises" else (grades[0], grades[-1])
        pairs, seen = [], []
        for score in _SCORES:
            first, last = (_cell(by_grade[grade][target], score) for grade in (high, low))
            paper = [theirs[grade][score][target] for grade in (high, low)]
            pairs.append(Pair(first, last, paper, high, low))
            cells = (_cell(by_grade[grade][target], score) for grade in grades)
            seen.append(f"{NAMES[score]} {' '.join(_mean(cell['by_model']) for cell in cells)}")
        fields = {"first": grades[0], "last": grades[-1], "target": target, "verb": verb}
        fields["seen"] = "; ".join(seen)
        yield falls(f"dominoes_{target}", pairs, fields, "dominoes")
    yield _below(
        "dominoes_best",
        "ma",
        "conf",
        [{grade: by["randomized"] for grade, by in by_grade.items()}],
        {},
    )


def _whole(
    rows: list[dict[str, Any]], field: str, title: str, by: str, **scale: Any
) -> list[Panel]:
    marks = {"values": sorted({row[field] for row in rows}), "format": "d"}
    across = plain.axis(field, title, {"nice": False, **scale}, axis=marks)
    return [
        Panel(
            "all",
            "",
            plain.lines(across, plain.axis("error", "mean absolute error"), by, few=True),
            rows,
        )
    ]


def _severity_drawn(result: Mapping[str, Any]) -> list[Panel]:
    rows = [
        {"score": name, "severity": grade, "order": grade, "error": _cell(shift, score)["mean"]}
        for variant, scores in (("ma", _SCORES), ("ma-diverse", ("ma",)))
        for group, shift in result["tasks"]
        .get("clean", {})
        .get(variant, {"shifts": {}})["shifts"]
        .items()
        if group.startswith("severity")
        for score in scores
        for name, grade in [
            (NAMES[variant if variant == "ma-diverse" else score], int(group.rpartition(" ")[2]))
        ]
    ]
    return _whole(rows, "severity", "severity", "score") if "clean" in result["tasks"] else []


def _sizes_drawn(result: Mapping[str, Any]) -> list[Panel]:
    clean = result["tasks"].get("clean", {"sizes_of_ensemble": {}})
    cells = [
        (group, row)
        for group, rows in clean["sizes_of_ensemble"].items()
        for row in rows
        if row["by_model"]
    ]
    points = [(group, row["models"], np.mean(row["by_model"])) for group, row in cells]
    rows = [
        {"shift": group, "models": size, "order": size, "error": error}
        for group, size, error in points
    ]
    return (
        _whole(rows, "models", "models of the ensemble", "shift", zero=False)
        if "clean" in result["tasks"]
        else []
    )


def _dominoes_drawn(result: Mapping[str, Any]) -> list[Panel]:
    panels, by_grade = [], result["tasks"].get("dominoes", {"correlations": {}})["correlations"]
    across = {
        "field": "correlation",
        "type": "ordinal",
        "title": "correlation in training",
        "sort": None,
    }
    up = plain.axis("error", "mean absolute error", {"domain": [0, 1]})
    for score in _SCORES if by_grade else ():
        cells = [
            (t, i, grade) for t in _TARGETS for i, grade in enumerate(sorted(by_grade, key=float))
        ]
        errors = [_cell(by_grade[grade][t], score)["mean"] for t, _, grade in cells]
        rows = [
            {"target": t, "correlation": g, "order": i, "error": errors[k]}
            for k, (t, i, g) in enumerate(cells)
        ]
        panels.append(Panel(score, NAMES[score], plain.lines(across, up, "target", few=True), rows))
    return panels


FIGURES = Figures(
    PAGE,
    {"severity": _severity_drawn, "figure-2-ensemble": _sizes_drawn, "dominoes": _dominoes_drawn},
)


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other; those of tasks that are not finished are left out."""
    tasks = result["tasks"]
    if not tasks:
        return "No task is finished yet.\n"
    first, words = next(iter(tasks.values())), PAGE.words["page"]
    sizes = first["sizes"]
    fields: dict[str, Any] = {
        "network": ", ".join(f"{name} {value}" for name, value in sizes["network"].items())
    }
    fields |= {
        "which": "images, the same ones" if sizes["overlap"] else "other images",
        "today": FORM,
    }
    fields["views"] = sizes.get("view_rows") or first["data"]["held"]["rows"]
    fields |= {
        key: ", ".join(source.get(key, ()))
        for key, source in (("absent", first), ("missing", result))
    }
    more = [key for key in ("absent", "missing") if fields[key]] + (
        ["older"] if result["form"] != FORM else []
    )
    run = "".join(PAGE.fill(words[key], {**first, **result, **fields}) for key in ("run", *more))
    how = words["published" if result["form"] == FORM else "earlier"]
    out = [run, *(_clean_tables(tasks["clean"], how) if "clean" in tasks else ())]
    out += _compromised_tables({name: task for name, task in tasks.items() if name != "dominoes"})
    out += _dominoes_tables(tasks["dominoes"]) if "dominoes" in tasks else ()
    return tables_page([*out, claims_table(result["claims"], words["over"])])


def _clean_tables(clean: Mapping[str, Any], how: str) -> Iterator[str]:
    """Table 1, thresholds from other images, our own smoothness, and Figure 2 as a table."""
    paper, sizes = PAGE.paper["table1"], clean["sizes_of_ensemble"]
    shifts = [
        (name, shift, {s: paper[s].get(name) for s in _SCORES})
        for name, shift in clean["ma"]["shifts"].items()
    ]
    yield PAGE.table("scores", shifts, how=how)
    ensembles = [clean["ma"]["shifts"], *clean.get("further", ())]
    if len(ensembles) > 1:
        yield PAGE.table(
            "further",
            (
                {"number": number, "shift": shift, **cells}
                for number, of in enumerate(ensembles, 1)
                for shift, cells in of.items()
            ),
        )
    if any("apart" in shift["conf"] for _, shift, _ in shifts):
        yield PAGE.table("apart", shifts)
    means = (
        [_mean(size["by_model"]) for size in by_shift]
        for by_shift in zip(*sizes.values(), strict=True)
    )
    both = zip(sizes["all"], means, strict=True)
    rows = [[str(row["models"]), *cells, dash(row["spread"], ".4f")] for row, cells in both]
    yield PAGE.table("sizes", rows, shifts=" | ".join(sizes))


def _compromised_tables(tasks: Mapping[str, Any]) -> list[str]:
    """Both sides of Table 2: errors by condition; accuracies of one model and of the mean of all."""
    paper, errors, accuracies = PAGE.paper, list[Any](), list[Any]()
    for name, task in tasks.items():
        far, near = (shift_of(task["ma"]["shifts"]) for shift_of in (far_of, near_of))
        for score in (*_SCORES, "ma-diverse"):
            variant, key = ("ma-diverse", "ma") if score == "ma-diverse" else ("ma", score)
            how = "exact" if key == "ma" else "grid"
            ours = (task[variant]["shifts"][shift].get(key, {}).get(how) for shift in (far, near))
            errors.append((name, NAMES[score], *ours, paper["table2"][name][score]))
        if task["ma"]["models"] > (models := task["ma-diverse"]["models"]):
            means = [_mean(agreement_of_as_many(task, shift)) for shift in (far, near)]
            errors.insert(-1, f"{name} | MA of {models} models | {means[0]} | - | {means[1]} | -")
        for variant in ("ma", "ma-diverse"):
            ours, theirs = task[variant], paper["accuracy"][name]
            ends = (ours["shifts"][shift_of(ours["shifts"])] for shift_of in (far_of, near_of))
            printed = (
                theirs["one"]["cifar10"] if variant == "ma" else None,
                theirs[variant]["cifar10"],
            )
            accuracies.append((name, NAMES[variant], ours, *ends, *printed))
    return [PAGE.table("compromised", errors), PAGE.table("accuracies", accuracies)]


def _dominoes_tables(task: Mapping[str, Any]) -> list[str]:
    """Table 3, and what `estimate`, its diagnosis and ten labels say of the dominoes."""
    paper, rows, alarms = PAGE.paper["table3"], list[Any](), []
    for grade, by_target in task["correlations"].items():
        accuracies = (f"{by_target[target]['accuracy']['mean']:.3f}" for target in _TARGETS)
        rows.append(f"{grade} | (accuracy) | {' | - | '.join(accuracies)} | -")
        for score in _SCORES:
            ours = (by_target[target][score]["grid"] for target in _TARGETS)
            rows.append((grade, NAMES[score], *ours, paper.get(grade, {}).get(score, {})))
        alarms += [
            (grade, t, evidence, alarm)
            for t in _TARGETS
            for evidence, alarm in by_target[t]["alarms"].items()
        ]
    labels = task["sizes"]["dominoes"]["labels"]
    return [
        PAGE.table("dominoes", rows, far=task["far"]),
        PAGE.table("alarms", alarms, labels=labels),
    ]
