"""Benchmark: what an estimator of one's own and all shipped ones said of natural shifts, beside the truth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

from oodometer.inference.clusters import student_quantile
from oodometer.plain import Plain, Strings
from oodometer.results.values import Record, counted, percent, points, signed_points
from oodometer.results.view import Grid, Maker, Shown, Table, View, cell, shows

HEADLINE = "headline"
"""The name of what `estimate` says first, among the methods."""
SHIFTED = "shift"
"""All cases with a shift, of whatever kind, among the kinds."""
NO_SHIFT = "none"


@dataclass(frozen=True)
class BenchmarkCase(Record):
    """One target: its truth, and what every method said of it.

    case, source, kind : its name, its public data set, and the kind of shift. truth : accuracy on the target.
    answers : method -> (value, lower, upper).
    """

    case: str
    source: str
    kind: str
    truth: float
    answers: Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True)
class BenchmarkRow(Record):
    """One method on one kind of shift, in fractions of accuracy; sources count alike, cases of a source alike.

    method, own : its name, and whether it is one of those that were asked about. kind : of shift; "shift" are all.
    error : mean absolute error, with Student's interval over the sources; value alone where there is one source.
    bias : mean error. coverage : share of cases whose truth the interval held. width : mean width of the interval.
    score : mean interval score, width + 2 / (1 - level) times what the truth lies outside by; less is better.
    cases, sources : in which it answered.
    """

    method: str
    own: bool
    kind: str
    error: Mapping[str, Any]
    bias: float
    coverage: float
    width: float
    score: float
    cases: int
    sources: int


def over_sources(
    cases: Iterable[tuple[str, float]], level: float, lowest: float = 0.0
) -> dict[str, Any]:
    """Mean of a quantity in which sources count alike, with its interval.

    cases : pairs of source and value. level : of the interval. lowest : that the quantity can be.

    With m_i the mean of source i of n, mean(m) +- t_(n-1) sd(m) / sqrt(n) (Student 1908), asymptotic; ends are None
    where there is one source.

    >>> found = over_sources([("a", 0.1), ("a", 0.3), ("b", 0.4)], 0.9)
    >>> round(found["value"], 3), round(found["upper"], 3)
    (0.3, 0.931)
    """
    of_source: dict[str, list[float]] = defaultdict(list)
    for source, value in cases:
        of_source[source].append(value)
    means = [fmean(values) for values in of_source.values()]
    value = fmean(means)
    found = {"value": value, "lower": None, "upper": None, "level": level, "kind": "asymptotic"}
    if len(means) > 1:
        half = student_quantile(level, len(means) - 1) * stdev(means) / len(means) ** 0.5
        found |= {"lower": max(value - half, lowest), "upper": value + half}
    return found


@dataclass(frozen=True, repr=False)
class Benchmark(Shown, Record):
    """What `oodometer benchmark` found.

    estimators : the methods that were asked about. level : of all intervals. cases : every target, with all answers.
    left_out : method -> reason -> in how many cases it gave no answer for it. about : kind of shift -> what it is.
    argv : the command line; None of a call from Python. warnings : sentences to read before believing the table.
    """

    version: str
    estimators: Strings
    level: float
    cases: tuple[BenchmarkCase, ...]
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    warnings: Strings = ()
    argv: str | None = None
    _command = "benchmark"

    def of_kind(self, kind: str) -> list[BenchmarkCase]:
        """The cases of a kind of shift; "shift" are all that have one."""
        return [c for c in self.cases if c.kind == kind or (kind == SHIFTED and c.kind != NO_SHIFT)]

    @property
    def rows(self) -> list[BenchmarkRow]:
        """Methods by kind of shift, all shifts first, the least interval score first."""
        kinds = (SHIFTED, *dict.fromkeys(case.kind for case in self.cases))
        return [row for kind in kinds for row in self._rows_of(kind)]

    def _rows_of(self, kind: str) -> list[BenchmarkRow]:
        cases = self.of_kind(kind)
        methods = dict.fromkeys(method for case in cases for method in case.answers)
        rows = (self._row(method, kind, cases) for method in methods)
        return sorted(rows, key=lambda row: row.score)

    def _row(self, method: str, kind: str, cases: Sequence[BenchmarkCase]) -> BenchmarkRow:
        answered = [case for case in cases if method in case.answers]

        def mean(quantity: Any) -> dict[str, Any]:
            pairs = [
                (case.source, quantity(case.truth, *case.answers[method])) for case in answered
            ]
            return over_sources(pairs, self.level)

        return BenchmarkRow(
            method=method,
            own=method in self.estimators,
            kind=kind,
            error=mean(lambda truth, value, lower, upper: abs(value - truth)),
            bias=mean(lambda truth, value, lower, upper: value - truth)["value"],
            coverage=mean(lambda truth, value, lower, upper: lower <= truth <= upper)["value"],
            width=mean(lambda truth, value, lower, upper: upper - lower)["value"],
            score=mean(
                lambda truth, value, lower, upper: interval_score(truth, lower, upper, self.level)
            )["value"],
            cases=len(answered),
            sources=len({case.source for case in answered}),
        )

    @property
    def differences(self) -> dict[str, dict[str, Any]]:
        """Of each own method, mean absolute error less that of the headline on the same shifted cases."""
        out = {}
        for method in self.estimators:
            pairs = [
                (
                    case.source,
                    abs(case.answers[method][0] - case.truth)
                    - abs(case.answers[HEADLINE][0] - case.truth),
                )
                for case in self.of_kind(SHIFTED)
                if method in case.answers and HEADLINE in case.answers
            ]
            if pairs:
                out[method] = over_sources(pairs, self.level, lowest=-1.0)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        rows = [row.to_dict() for row in self.rows]
        return {**super().to_dict(), "rows": rows, "differences": self.differences}

    def frames(self) -> dict[str, Maker]:
        """``rows``: a method on a kind of shift; ``answers``: what each said of each case."""

        def rows() -> Table:
            columns = ("method", "kind", "own", "error", "lower", "upper", "level", "bias")
            lines = [
                {**row.to_dict(), **row.error, "kind": row.kind, "error": row.error["value"]}
                for row in self.rows
            ]
            more = ("coverage", "width", "score", "cases", "sources")
            return Table((*columns, *more), lines, named="method")

        def answers() -> Table:
            columns = ("case", "source", "kind", "method", "value", "lower", "upper", "truth")
            lines = [
                {**vars(case), "method": method, "value": v, "lower": low, "upper": up}
                for case in self.cases
                for method, (v, low, up) in case.answers.items()
            ]
            return Table(columns, lines)

        return {"rows": rows, "answers": answers}


def interval_score(truth: float, lower: float, upper: float, level: float) -> float:
    """Width of an interval, and 2 / (1 - level) times what the truth lies outside by (Gneiting and Raftery 2007).

    >>> round(interval_score(0.5, 0.6, 0.8, 0.9), 3)
    2.2
    """
    outside = max(lower - truth, 0.0) + max(truth - upper, 0.0)
    return upper - lower + 2 / (1 - level) * outside


@shows(Benchmark)
def benchmark_view(result: Plain) -> View:
    """What a benchmark says, from the mapping that JSON holds: the first own method, then all beside each other."""
    rows = [row for row in result["rows"] if row["kind"] == SHIFTED]
    own = next(row for row in rows if row["method"] in result["estimators"])
    place = 1 + rows.index(own)
    kinds = list(dict.fromkeys(row["kind"] for row in result["rows"]))
    error = own["error"]
    return View(
        f"Mean absolute error of {own['method']} on natural shifts",
        points(error["value"]),
        note=f"{percent(error['level'], None)} {error['kind']} interval over the data sets",
        caveat=_error_ends(error),
        share=False,
        sentences=(
            _beside_headline(result, str(own["method"])),
            f"By interval score, which counts width and misses, it is number {place} of {len(rows)}",
            f"Its {percent(result['level'], None)} interval held the truth in {percent(own['coverage'], 0)} of "
            f"{counted(own['cases'], 'case')} and is {points(own['width'])} wide",
            *_left_out(result),
        ),
        grids=(
            _leaderboard(result, rows),
            *(_by_kind(result, kinds, quantity) for quantity in _TITLES),
        ),
        notes=(
            f"{counted(len(result['cases']), 'case')} of {counted(_sources(result), 'public data set')}; data sets "
            "count alike, and intervals of errors are over them",
        ),
        warnings=tuple(result.get("warnings") or ()),
        cells={**own, **error, "error": error["value"], "says": f"number {place} of {len(rows)}"},
    )


def _error_ends(error: Plain) -> str:
    """The ends of the interval of a mean error."""
    if error["lower"] is None:
        return "one data set tells no interval"
    return f"{100 * error['lower']:.1f} to {points(error['upper'])}"


def _sources(result: Plain) -> int:
    return len({case["source"] for case in result["cases"]})


def _beside_headline(result: Plain, method: str) -> str:
    """Whether it errs less than what `estimate` says first, on the same cases."""
    gap = result["differences"].get(method)
    if gap is None or gap["lower"] is None:
        return ""
    value, lower, upper = (signed_points(gap[name]) for name in ("value", "lower", "upper"))
    ends = f"{value} ({lower.removesuffix(' points')} to {upper.removesuffix(' points')})"
    if gap["lower"] <= 0 <= gap["upper"]:
        return f"Its error less that of the headline is {ends}: which of them errs less is open"
    less = "less" if gap["value"] < 0 else "more"
    return f"It errs {less} than the headline on the same cases: {ends}"


def _left_out(result: Plain) -> list[str]:
    """Why own methods gave no answer."""
    return [
        f"{method} gave no answer in {counted(count, 'case')}: {why}"
        for method, reasons in result["left_out"].items()
        for why, count in reasons.items()
        if method in result["estimators"]
    ]


def _leaderboard(result: Plain, rows: Sequence[Plain]) -> Grid:
    """All methods on all shifts, the least interval score first; own ones are bold."""
    cells = []
    for place, row in enumerate(rows, 1):
        low, high = row["error"]["lower"], row["error"]["upper"]
        ends = "" if low is None else f"{100 * low:.1f} to {100 * high:.1f}"
        error, bias = f"{100 * row['error']['value']:.1f}", signed_points(row["bias"])
        score, width = f"{100 * row['score']:.1f}", f"{100 * row['width']:.1f}"
        first = [row["method"], str(place), score, error, ends, bias.removesuffix(" points")]
        cells.append([*first, percent(row["coverage"], 0), width, f"{row['cases']:,}"])
    columns = ["method", "place", "interval score", "error", "interval", "bias"]
    columns += [f"{percent(result['level'], None)} interval held", "width", "cases"]
    own = {i for i, row in enumerate(rows) if row["method"] in result["estimators"]}
    bold = frozenset((i, j) for i in own for j in range(len(columns)))
    title = "All methods on all shifts, points of accuracy; the least interval score first"
    return Grid(title, columns, cells, noun="method", bold=bold)


_TITLES = {
    "error": "Mean absolute error by kind of shift, points",
    "coverage": "Share of cases whose truth the interval held, by kind of shift",
    "score": "Interval score by kind of shift, points",
}


def _by_kind(result: Plain, kinds: Sequence[str], name: str) -> Grid:
    """A quantity of every method on every kind of shift."""
    values = {(row["method"], row["kind"]): row for row in result["rows"]}
    methods = dict.fromkeys(row["method"] for row in result["rows"])
    cells, bold = [], set()
    for i, method in enumerate(methods):
        line = [method]
        for kind in kinds:
            number = values.get((method, kind), {}).get(name)
            number = number["value"] if isinstance(number, Mapping) else number
            text = percent(number, 0) if name == "coverage" and number is not None else ""
            line.append(text or cell(None if number is None else 100 * number, ".1f"))
        bold |= {(i, j) for j in range(len(line)) if method in result["estimators"]}
        cells.append(line)
    heads = ["method", *("all shifts" if kind == SHIFTED else kind for kind in kinds)]
    heads = [head.replace(NO_SHIFT, "no shift") for head in heads]
    return Grid(_TITLES[name], heads, cells, noun="", detail=True, bold=frozenset(bold))
