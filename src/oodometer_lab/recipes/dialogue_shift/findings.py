"""Findings: each claim of the paper, tested over conversations and trainings; tables and figures, ours beside its."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from oodometer.reports import drawings as plain
from oodometer.reports.drawings import Panel

from ..kit.claims import (
    Claim,
    Look,
    Row,
    agreeing,
    all_of,
    claims_from,
    claims_table,
    gap,
    positive,
    share,
)
from ..kit.publish import Figures
from ..kit.tables import Page, tables_page
from .study import BINS, METHODS, METRICS

FLAT = 0.03
"""Differences of R@1 up to this are called flat; the paper gives no margin, its own flat rows lie within 0.024."""
_NO_GAIN = 0.01  # of R@1, that dropout may at most bring, to be called "equal or lower"
_FEWEST = 3
_UNITS = "trainings and conversations"
_SHIFTED = ("uw", "ic", "importance")  # what the paper calls distributional shift
Cell = Mapping[str, Any]
NAMES = {"accuracy": "R@1", "brier": "Brier score", "ece": "ECE"}
_SHIFTS = {
    "uw": "more unknown words",
    "ic": "more deleted turns",
    "importance": "more important words",
}


PAGE = Page.beside(
    __file__,
    spread=lambda c: (
        "-" if c is None else f"{c['mean']:.3f}" + ("" if c["sd"] is None else f" ± {c['sd']:.3f}")
    ),
    counted=lambda pair: "-" if pair is None else f"{pair[0]:,} of {pair[1]:.2f}",
)


def claims_of(result: Cell) -> list[Claim]:
    """Every claim that the conditions of this run let one check, in the order of the protocol."""
    tests = _Tests(result)
    rows = [row for group in ("uw", "ic") for row in (*tests.falls(group), tests.steps(group))]
    rows += [*tests.ensemble(), *tests.temperature(), *tests.dropout(), tests.known_words()]
    rows += tests.short_contexts()
    rows += [*tests.falls("importance"), *tests.flat("importance_flat")]
    return claims_from(PAGE, (row for row in rows if row.looks))


class _Tests:
    def __init__(self, result: Cell) -> None:
        self._of: Mapping[str, Cell] = result["differences"]
        self._replicates = int(result["replicates"])
        self._conditions = result["conditions"]
        self._rows = {(row["condition"], row["method"]): row for row in result["rows"]}

    def _look(self, differences: Sequence[Cell], sign: float, margin: float = 0.0) -> Look:
        """The mean of some differences, times the sign, is above minus the margin: over conversations, and over enough
        trainings; to hold, or not to, takes both tests. The error of a mean over conversations is at most the mean of
        the errors, however they depend.
        """
        first, count = differences[0], len(differences)
        error = sum(difference["error"] for difference in differences) / count
        value = margin + sign * sum(difference["value"] for difference in differences) / count
        looks = [gap(value, error)]
        if count == 1 and not margin:  # the replicates themselves say it
            above = first["above"] if sign > 0 else 1 - first["above"]
            looks = [share(above, self._replicates, error)]
        by_model = zip(*(difference["by_model"] for difference in differences), strict=True)
        means = [margin + sign * sum(values) / count for values in by_model]
        return agreeing([*looks, positive(means)] if len(means) >= _FEWEST else looks)

    def _above(
        self,
        name: str,
        groups: Sequence[Sequence[Cell]],
        sign: float,
        fields: Mapping[str, Any],
        words: str = "",
        margin: float = 0.0,
        paper: float | None = None,
    ) -> Row:
        """The mean of some differences, or its negative, is above minus the margin: of a group, or of each of several;
        ``paper``: the paper's mean.
        """
        rows = [difference for group in groups for difference in group]
        values = [row["value"] for row in rows] if len(groups) == 1 else map(_mean, groups)
        better = sum(sign * row["value"] > 0 for row in rows)
        counts = {"mean": _mean(rows), "margin": margin, "better": better, "of": len(rows)}
        return Row(
            name,
            _test(rows),
            _UNITS,
            [self._look(group, sign, margin) for group in groups if group],
            [margin + sign * value for value in values],
            {**counts, **fields},
            "mean" if len(groups) == 1 else "all",
            words,
            None if paper is None else self._look(rows, sign, -paper),
        )

    def _between(self, methods: str, metric: str, groups: Sequence[str] = ()) -> dict[str, Cell]:
        """Differences between two methods by condition, of some groups or of all."""
        every = [
            (c, self._of.get(f"{methods}/{c['condition']}/{metric}")) for c in self._conditions
        ]
        return {
            c["condition"]: row for c, row in every if row and (not groups or c["group"] in groups)
        }

    def _named(self, group: str) -> list[str]:
        return [c["condition"] for c in self._conditions if c["group"] == group and c["kept"]]

    def _ends(self, group: str, metric: str) -> dict[str, str]:
        """The mildest and the strongest condition of a group, and what was seen there."""
        first, *_, last = (*self._named(group), *self._named(group))
        return {
            "first": first,
            "last": last,
            "before": self._seen(first, metric),
            "after": self._seen(last, metric),
        }

    def _seen(self, condition: str, metric: str, method: str = "vanilla") -> str:
        row = self._rows.get((condition, method))
        return "-" if row is None else f"{row[metric]['mean']:.3f}"

    def falls(self, group: str) -> Iterator[Row]:
        """From the mildest to the strongest severity R@1 falls, Brier score and ECE rise (1, 2, 8)."""
        for metric, verb, sign in (
            ("accuracy", "falls", -1.0),
            ("brier", "rises", 1.0),
            ("ece", "rises", 1.0),
        ):
            if change := self._of.get(f"change/{group}/{metric}"):
                fields = {**change, **self._ends(group, metric), "metric": NAMES[metric]}
                fields |= {"verb": verb, "shift": _SHIFTS[group]}
                yield self._above(f"{group}_{metric}", [[change]], sign, fields, "fall")

    def steps(self, group: str) -> Row:
        """R@1 falls from every severity to the next."""
        steps = {
            name: self._of[key]
            for name in self._named(group)
            if (key := f"step/{name}/accuracy") in self._of
        }
        text = "; ".join(f"to {name}: {step['value']:+.3f}" for name, step in steps.items())
        fields = {"shift": _SHIFTS[group], "steps": text}
        each = [[step] for step in steps.values()]
        return self._above(f"{group}_steps", each, -1.0, fields, "steps")

    def ensemble(self) -> Iterator[Row]:
        """The ensemble is best in accuracy and Brier score, in the mean over conditions and on the strongest (3)."""
        for metric, sign, rivals in (
            ("accuracy", 1.0, ("vanilla", "dropout")),
            ("brier", -1.0, ("temperature", "dropout")),
        ):
            every = {rival: self._between(f"ensemble-{rival}", metric) for rival in rivals}
            fields = {"metric": NAMES[metric], "others": " and ".join(rivals)}
            groups = [list(rows.values()) for rows in every.values() if rows]
            yield self._above(f"ensemble_{metric}", groups, sign, fields, "ensemble")
            last = self._named("uw")[-1:]
            strongest = {m: [rows[c]] for m, rows in every.items() for c in last if c in rows}
            fields["seen"] = ", ".join(
                f"{m} {self._seen(c, metric, m)}" for c in last for m in ("ensemble", *strongest)
            )
            name, groups = f"ensemble_{metric}_strongest", list(strongest.values())
            yield self._above(name, groups, sign, fields, "ensemble_strongest")

    def temperature(self) -> Iterator[Row]:
        """Temperature scaling has the smallest ECE, which rises with the shift (4, 5)."""
        for other, methods, sign in (
            ("vanilla", "temperature-vanilla", -1.0),
            ("the ensemble", "ensemble-temperature", 1.0),
        ):
            rows = list(self._between(methods, "ece", _SHIFTED).values())
            name = f"temperature_{other.split()[-1]}"
            yield self._above(name, [rows], sign, {"other": other}, "temperature")
        if rises := self._of.get("change/uw/ece/temperature"):
            first, last = (
                PAGE.paper["rows"][self._named("uw")[end]]["temperature"][2] for end in (0, -1)
            )
            yield self._above("temperature_rises", [[rises]], 1.0, rises, paper=last - first)

    def dropout(self) -> Iterator[Row]:
        """Dropout has a smaller ECE than the plain ranker, and no higher R@1."""
        groups = ("uw", "kw", "ic", "importance")
        rows = list(self._between("dropout-vanilla", "ece", groups).values())
        yield self._above("dropout_ece", [rows], -1.0, {})
        changes = self._between("dropout-vanilla", "accuracy")
        rows = [row for condition, row in changes.items() if condition != "sr-1"]
        yield self._above("dropout_accuracy", [rows], -1.0, {}, margin=_NO_GAIN)

    def known_words(self) -> Row:
        """Known words harm less than unknown ones (6)."""
        pairs = {
            key.split("/")[1]: row for key, row in self._of.items() if key.startswith("kw-uw/")
        }
        seen = "; ".join(
            f"{ratio}: {row['value']:+.3f} ({row['rows'][0]})" for ratio, row in pairs.items()
        )
        return self._above("known_words", [list(pairs.values())], 1.0, {"seen": seen})

    def short_contexts(self) -> Iterator[Row]:
        """R@1 is flat over real lengths, and falls more where turns are deleted (7)."""
        yield from self.flat("short_flat")
        if control := self._of.get("control/accuracy"):
            yield self._above("short_control", [[control]], 1.0, control)

    def flat(self, name: str) -> Iterator[Row]:
        """R@1 is flat over real lengths (7), and from the least important words up to the middle (8)."""
        short = name == "short_flat"
        if row := self._of.get("change/sr/accuracy" if short else "flat/importance/accuracy"):
            look = all_of([self._look([row], sign, FLAT) for sign in (1.0, -1.0)])
            fields = {**row, "margin": FLAT, **(self._ends("sr", "accuracy") if short else {})}
            room = [FLAT - abs(row["value"])]
            yield Row(name, f"two one-sided tests, {_test([row])}", _UNITS, [look], room, fields)


def _test(differences: Sequence[Cell]) -> str:
    both = all(len(difference["by_model"]) >= _FEWEST for difference in differences)
    return "bootstrap over conversations" + " and t test over trainings, both" * both


def _mean(rows: Sequence[Cell]) -> float:
    return sum(row["value"] for row in rows) / len(rows) if rows else 0.0


def _chart(across: str) -> dict[str, Any]:
    """A line with its band for each of ``what``, the severities in their order."""
    x = {
        "field": "severity",
        "type": "ordinal",
        "title": across,
        "sort": {"field": "order"},
        "axis": {"labelAngle": 0},
    }
    up = {"type": "quantitative", "title": None, "scale": {"zero": False}}
    colour: dict[str, Any] = {"field": "what", "type": "nominal", "title": None, "sort": None}
    colour |= {"scale": {"scheme": "tableau10"}, "legend": {"symbolOpacity": 1}}
    line = plain.lines(x, {"field": "value", **up}, "what")
    line["encoding"]["color"] = colour
    band = {"x": x, "y": {"field": "lower", **up}, "y2": {"field": "upper"}, "color": colour}
    return {"layer": [{"mark": {"type": "area", "opacity": 0.15}, "encoding": band}, line]}


def _curves(result: Cell, group: str, across: str) -> list[Panel]:
    """A panel for each metric; the unshifted test instances stand first where that is the mildest severity."""
    first = ["test"] if group in ("uw", "kw", "importance") else []
    labels = first + [
        condition["condition"] for condition in result["conditions"] if condition["group"] == group
    ]
    rows = [
        row for row in result["rows"] if row["method"] in METHODS and row["condition"] in labels
    ]
    indexed = [(row, labels.index(row["condition"])) for row in rows if len(labels) > len(first)]
    points = {
        m: [_point(row["label"], i, row["method"], row[m]) for row, i in indexed] for m in METRICS
    }
    return [Panel(m, NAMES[m], _chart(across), points[m]) for m in METRICS]


def _point(label: Any, order: int, what: str, cell: Cell) -> dict[str, Any]:
    spread = cell["sd"] or 0.0
    ends = {"lower": cell["mean"] - spread, "upper": cell["mean"] + spread}
    return {"what": what, "severity": str(label), "order": order, "value": cell["mean"], **ends}


_DRAWN = {
    "figure-2-unknown-words": ("uw", "ratio of exchanged words"),
    "figure-2-deleted-turns": ("ic", "share of deleted turns"),
    "known-words": ("kw", "ratio of exchanged words"),
    "short-contexts": ("sr", "turns"),
    "figure-d1-importance": ("importance", "fifth by importance"),
}


def _estimates_drawn(result: Cell) -> list[Panel]:
    panels = []
    for name, (group, across) in _DRAWN.items():
        rows = []
        for i, condition in enumerate(
            row for row in result["estimators"]["conditions"] if row["group"] == group
        ):
            rows.append(_point(condition["label"], i, "truth", condition["truth"]))
            headline = _point(
                condition["label"], i, "estimate", condition["methods"]["headline"]["said"]
            )
            rows.append({**headline, "lower": condition["lower"], "upper": condition["upper"]})
        panels.append(Panel(group, PAGE.words["figures"][name]["title"], _chart(across), rows))
    return panels


_CURVES = {
    name: partial(_curves, group=group, across=across) for name, (group, across) in _DRAWN.items()
}
FIGURES = Figures(PAGE, _CURVES | {"estimate-beside-truth": _estimates_drawn})


def markdown(result: Cell) -> str:
    """All tables of a result, one after the other."""
    counts, printed, every = result["counts"], PAGE.paper, result["rows"]
    ours, paper = both = counts["shifts"], printed["counts"]
    ratios = [
        (ratio, *({k: by.get(ratio) for k, by in source.items()} for source in both))
        for ratio in ours["uw"]
    ]
    fifths = [
        (fifth, count, paper["importance"].get(fifth))
        for fifth, count in ours["importance"].items()
    ]
    turns = ", ".join(f"{contexts} of {n}" for n, contexts in counts["turns"].items())
    out = [
        _run(result),
        PAGE.table("shifted", ratios, counts),
        PAGE.table("importance", fifths, counts, turns=turns, most=max(map(int, counts["turns"]))),
    ]
    for group, title in PAGE.words["titles"].items():
        rows = [row for row in every if row["group"] == group]
        pairs = [
            (row, printed["rows"].get(row["condition"], {}).get(row["method"])) for row in rows
        ]
        out.append(PAGE.table("group", pairs, title=title))
    claims = claims_table(result["claims"], PAGE.words["page"]["over"])
    return tables_page([*out, _estimates(result["estimators"]), claims])


def _run(result: Cell) -> str:
    sizes = result["sizes"]
    rows = {(row["condition"], row["method"]): row for row in result["rows"]}
    of_all = [
        (row, rows[c, "temperature"], rows[c, "ensemble"])
        for (c, method), row in rows.items()
        if method == METHODS[0]
    ]
    both = [
        (plain["accuracy"]["by_model"], scaled["accuracy"]["by_model"])
        for plain, scaled, _ in of_all
    ]
    fields = {
        "rows": "all" if sizes["train_rows"] is None else f"{sizes['train_rows']:,}",
        "bins": BINS,
    }
    fields["conversations"] = (
        f"{sizes['train_conversations'] or result['data']['train']['conversations']:,}"
    )
    fields["dropout_members"] = min(sizes["dropout_members"], sizes["members"])
    fields |= {
        "network": ", ".join(f"{name} {value}" for name, value in sizes["network"].items()),
        "temperatures": ", ".join(f"{temperature:.2f}" for temperature in result["temperatures"]),
        "jensen": max(
            (ensemble["brier"]["mean"] - plain["brier"]["mean"] for plain, _, ensemble in of_all),
            default=0.0,
        ),
        "apart": max(
            (abs(a - b) for pair in both for a, b in zip(*pair, strict=True)), default=0.0
        ),
    }
    return PAGE.fill(PAGE.words["page"]["run"], {**result, **fields}) + _contexts(result)


def _contexts(result: Cell) -> str:
    """How many test contexts are cut, and whose the really short ones are."""
    words, text = PAGE.words["page"], ""
    by_name = {condition["condition"]: condition for condition in result["conditions"]}
    test, short = by_name.get("test"), by_name.get("sr-1")
    if test is not None and test["kept"]:
        text += PAGE.fill(words["cut"], test)
    if short is not None and result["sizes"].get("unused_lengths"):
        text += PAGE.fill(words["unused"], short)
    return text


def _estimates(estimators: Cell) -> str:
    """What is said without labels beside the truth; the error of every estimator."""
    conditions = estimators["conditions"]
    if not conditions:
        return ""
    names = [
        name
        for name in conditions[0]["methods"]
        if all(name in condition["methods"] for condition in conditions)
    ]
    errors = {
        name: [float(condition["methods"][name]["error"]["mean"]) for condition in conditions]
        for name in names
    }
    means = {name: sum(errors[name]) / len(conditions) for name in names}
    order = sorted(names, key=means.__getitem__)
    cells = [" | ".join(f"{errors[name][i]:.3f}" for name in order) for i in range(len(conditions))]
    rows = [
        ({**row, "width": row["upper"] - row["lower"]}, cell)
        for row, cell in zip(conditions, cells, strict=True)
    ]
    last = " | ".join(["mean | - | - | - | -", *(f"{means[name]:.3f}" for name in order)])
    lines, methods = (
        [*PAGE.rows("estimates", rows), last],
        " | ".join(f"`{name}`" for name in order),
    )
    return PAGE.table("estimates", lines, methods=methods, level=estimators["level"])
