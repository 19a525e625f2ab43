"""Backtest: what trials on simulated shifts found, each of them and a table by method, family and severity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from ..notes import file_name
from ..plain import Json, Plain, Strings
from ..version import __version__
from .values import Record, Skipped, percent, plain, points, signed_points
from .view import Grid, Maker, Named, Shown, Table, View, cell, shows

Triple = tuple[float, float, float]
Key = tuple[str, float, int]


def family_name(name: str) -> str:
    """A family of simulated shifts as people read it: the name that `--family` takes, in words."""
    return "no shift" if name == "none" else name.replace("_", " ")


@dataclass(frozen=True)
class Trial(Record):
    """One simulated target: its true accuracy, and what every method said of it.

    family, severity, repeat : what was simulated. rows, truth : rows of the target and its accuracy. source : accuracy
    of the rows that the methods were fitted on. estimates : method -> (value, lower, upper). signs : what
    `ShiftStatistics` saw of the shift.
    """

    family: str
    severity: float
    repeat: int
    rows: int
    truth: float
    source: float
    estimates: Mapping[str, Triple]
    signs: Mapping[str, float]

    @property
    def key(self) -> Key:
        """Family, severity and repeat."""
        return self.family, self.severity, self.repeat

    @classmethod
    def from_dict(cls, plain: Plain) -> Trial:
        """The trial that `to_dict` wrote; `KeyError`, `TypeError` or `ValueError` for anything else."""
        estimates = {
            str(m): (float(a), float(b), float(c)) for m, (a, b, c) in plain["estimates"].items()
        }
        of = {
            "family": str,
            "severity": float,
            "repeat": int,
            "rows": int,
            "truth": float,
            "source": float,
        }
        signs = {str(k): float(v) for k, v in plain["signs"].items()}
        trial = cls(
            **{name: kind(plain[name]) for name, kind in of.items()},
            estimates=estimates,
            signs=signs,
        )
        shares = [(0.0, trial.truth, 1.0), (0.0, trial.source, 1.0)]
        shares += [(low, value, high) for value, low, high in estimates.values()]
        # NaN is in no order
        if trial.rows < 1 or not all(0 <= a <= b <= c <= 1 for a, b, c in shares):
            raise ValueError("shares outside [0, 1], or out of order")
        return trial


@dataclass(frozen=True)
class BacktestRow(Record):
    """One method on one family at one severity: errors in accuracy (fractions), over ``cases`` trials.

    error : mean absolute error; bias : mean error; coverage : share of trials whose truth its interval held;
    width : mean width of the interval.
    """

    method: str
    family: str
    severity: float
    error: float
    bias: float
    coverage: float
    width: float
    cases: int


@dataclass(frozen=True, repr=False)
class Backtest(Shown, Named[BacktestRow]):
    """What `backtest` found: every trial, and a table by method, family and severity.

    reference : what the trials were made from: its rows, and its name and accuracy where a file was read.
    families : names of the families of simulated shifts that were tried.
    trials : each simulated target with its truth and what every method said of it.
    skipped : families and methods that could not be tried, and why.
    level : nominal coverage of the methods' intervals.
    seed : of what is drawn at random.
    reused : how many of the trials came from the cache.
    argv : the command line; None of a call from Python.
    warnings : sentences to read before believing the table.
    """

    reference: Plain
    families: Strings
    trials: tuple[Trial, ...]
    skipped: tuple[Skipped, ...]
    level: float
    seed: int
    reused: int = 0
    argv: str | None = None
    warnings: Strings = ()
    _noun, _kind = "method", "estimator"

    def entries(self) -> Mapping[str, BacktestRow]:
        """Each method over all trials, best first."""
        return {row.method: row for row in self.overall()}

    def frames(self) -> dict[str, Maker]:
        """``rows`` by method, family and severity; ``methods`` over all trials, best first; ``trials``, each."""
        errors = ("error", "bias", "coverage", "width", "cases")
        about = ("family", "severity", "repeat", "rows")
        columns = (*about, "method", "value", "lower", "upper", "level", "truth", "error")

        def trials() -> Table:
            rows = []
            for trial in self.trials:
                for method, (value, lower, upper) in trial.estimates.items():
                    rows.append(
                        {
                            **vars(trial),
                            "method": method,
                            "value": value,
                            "lower": lower,
                            "upper": upper,
                            "level": self.level,
                            "error": value - trial.truth,
                        }
                    )
            return Table(columns, rows)

        return {
            "rows": lambda: Table(
                ("method", "family", "severity", *errors),
                list(map(vars, self.rows)),
                named="method",
            ),
            "methods": lambda: Table(
                ("method", *errors), list(map(vars, self.overall())), named="method"
            ),
            "trials": trials,
        }

    @property
    def methods(self) -> list[str]:
        """Methods that answered at least once, in the order of presentation."""
        return list(dict.fromkeys(m for t in self.trials for m in t.estimates))

    @property
    def rows(self) -> list[BacktestRow]:
        """The table."""
        cells: dict[tuple[str, str, float], list[tuple[float, float, float, float]]] = defaultdict(
            list
        )
        for t in self.trials:
            for method, three in t.estimates.items():
                cells[method, t.family, t.severity].append((*three, t.truth))
        rows = []
        for key, answers in cells.items():
            value, lower, upper, truth = np.array(answers).T
            is_covered = (lower <= truth + 1e-12) & (truth <= upper + 1e-12)
            error, bias, coverage, width = (
                float(x.mean())
                for x in (np.abs(value - truth), value - truth, is_covered, upper - lower)
            )
            rows.append(BacktestRow(*key, error, bias, coverage, width, len(answers)))
        return rows

    def overall(self) -> list[BacktestRow]:
        """Each method over all trials in which it answered, best first; families count alike."""
        rows: dict[str, dict[str, list[BacktestRow]]] = defaultdict(lambda: defaultdict(list))
        for row in self.rows:
            rows[row.method][row.family].append(row)
        out = []
        for method, families in rows.items():
            error, bias, coverage, width = (
                float(
                    np.mean(
                        [
                            np.mean([getattr(row, name) for row in family_rows])
                            for family_rows in families.values()
                        ]
                    )
                )
                for name in ("error", "bias", "coverage", "width")
            )
            cases = sum(row.cases for family_rows in families.values() for row in family_rows)
            out.append(BacktestRow(method, "all", 0.0, error, bias, coverage, width, cases))
        return sorted(out, key=lambda row: row.error)

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        out: Json = {
            "command": "backtest",
            "version": __version__,
            "argv": self.argv,
            "level": self.level,
            "seed": self.seed,
            "reference": plain(self.reference),
            "families": list(self.families),
            "trials": len(self.trials),
            "reused": self.reused,
            "overall": [r.to_dict() for r in self.overall()],
            "rows": [r.to_dict() for r in self.rows],
        }
        return out | {
            "skipped": [s.to_dict() for s in self.skipped],
            "warnings": list(self.warnings),
        }


@shows(Backtest)
def backtest_view(result: Plain) -> View:
    """What a backtest says, from the mapping that JSON holds: every method, the smallest error first."""
    having = (item for item in result.get("overall") or [] if item.get("error") is not None)
    order = sorted(having, key=lambda entry: entry["error"])
    warnings = tuple(result.get("warnings") or ())
    skipped = tuple(
        f"{item['method']} left out: {item['why']}" for item in result.get("skipped") or ()
    )
    title = "Smallest mean error on simulated shifts"
    if not order:
        why = "No method could answer on the shifts that could be simulated; the reasons are listed below."
        return View(title, "none", sentences=(why,), details=skipped, warnings=warnings)
    return View(
        title,
        points(order[0]["error"]),
        note=str(order[0]["method"]),
        caveat=_by_family(result, order[0]),
        sentences=(_winner(result, order), _simulated(result)),
        details=skipped,
        grids=(
            _errors_grid(result, order),
            _trials_grid(order),
            _families_errors_grid(result, order),
            _families_coverage_grid(result, order),
        ),
        warnings=warnings,
        seed=result.get("seed"),
        cells={**order[0], "says": f"{title}: {points(order[0]['error'])}, {order[0]['method']}"},
    )


Entries = Sequence[Plain]
"""Methods with their errors over all trials, the smallest mean error first."""


def _winner(result: Plain, order: Entries) -> str:
    """Which method was closest, and how far off it would have been to report the reference accuracy."""
    best, families, trials = order[0], len(answered_families(result)), result.get("trials")
    text = f"On targets simulated from this reference, in {families} famil{'y' if families == 1 else 'ies'} of shifts, "
    text += f"{best['method']} was closest to the truth: off by {points(best['error'])} on average"
    source = next((item for item in order if item["method"] == "source"), best)
    if source is not best:
        text += f", where reporting the reference accuracy would have been off by {points(source['error'])}"
    if trials and best.get("cases") and best["cases"] < trials:
        text += f". It could answer in {best['cases']} of {trials} trials"
    return f"{text}."


def _by_family(result: Plain, best: Plain) -> str:
    """From where to where the mean error of a method goes over the families of shifts."""
    of_each = _by_family_and_all(result, [best], "error")
    errors = [
        of_each[best["method"], family]
        for family in answered_families(result)
        if of_each.get((best["method"], family)) is not None
    ]
    if len(errors) < 2:
        return ""
    return f"{points(min(errors)).split()[0]} to {points(max(errors))} by kind of shift"


def _simulated(result: Plain) -> str:
    """How many targets were simulated, and from what."""
    trials, reference = result.get("trials"), result.get("reference") or {}
    if not trials or not reference.get("rows"):
        return ""
    name = file_name(str(reference.get("name")))
    text = f"{trials} simulated targets from {reference['rows']:,} rows of {name}"
    if reference.get("accuracy") is not None:
        text += f" (accuracy {percent(reference['accuracy'])})"
    if result.get("reused"):
        text += f"; {result['reused']} trials came from the cache"
    return text


def _errors_grid(result: Plain, order: Entries) -> Grid:
    """The mean error of each method, and the family of shifts where it is the largest."""
    families, rows = by_family(result, "error"), []
    for entry in order:
        errors = [
            (value, f) for (method, f), value in families.items() if method == entry["method"]
        ]
        worst = [f"{100 * max(errors)[0]:.1f}", family_name(max(errors)[1])] if errors else ["", ""]
        error, coverage = f"{100 * entry['error']:.1f}", percent(entry["coverage"], 0)
        rows.append([entry["method"], error, *worst, coverage])
    coverage = f"{percent(result.get('level') or 0.95, None)} intervals held"
    columns = ["method", "error", "worst", "in", coverage]
    title = "Mean absolute error, points of accuracy; the best first"
    return Grid(title, columns, rows, noun="method")


def _trials_grid(order: Entries) -> Grid:
    """Error, bias, and how often and how wide the interval of each method was over all trials."""
    rows = []
    for entry in order:
        bias = "" if entry.get("bias") is None else signed_points(entry["bias"])
        means = [percent(entry["error"]), bias, percent(entry["coverage"], 0)]
        width, trials = cell(entry.get("width"), "%"), cell(entry.get("cases"))
        rows.append([entry["method"], *means, width, trials])
    columns = ["method", "mean error", "bias", "interval held", "mean width", "trials"]
    return Grid("Errors over all trials", columns, rows, noun="", detail=True, slot="errors")


def answered_families(result: Plain) -> list[str]:
    """Families in which any method answered, in their order."""
    answered = {str(row["family"]) for row in result.get("rows") or []}
    return [name for name in result.get("families") or sorted(answered) if name in answered]


def by_family(result: Plain, name: str) -> dict[tuple[str, str], float]:
    """Mean over severities of a column of the table, by method and family."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in result.get("rows") or []:
        if row.get(name) is not None:
            values[row["method"], row["family"]].append(row[name])
    return {key: fmean(numbers) for key, numbers in values.items()}


def _families_errors_grid(result: Plain, order: Entries) -> Grid:
    """The error of every method on every family of shifts; the least of each is bold."""
    errors, bold = _by_family_and_all(result, order, "error"), set()
    for j, family in enumerate([*answered_families(result), "all"], 1):
        column = [errors.get((item["method"], family)) for item in order]
        smallest = min((error for error in column if error is not None), default=None)
        bold |= {(i, j) for i, error in enumerate(column) if error == smallest}
    columns, rows = _families_cells(result, order, errors, 1)
    title = "Mean absolute error, points of accuracy"
    return Grid(title, columns, rows, detail=True, bold=frozenset(bold))


def _families_coverage_grid(result: Plain, order: Entries) -> Grid:
    """How often intervals held the truth on every family; what is far below the level is bold."""
    nominal = result.get("level") or 0.95
    trials = defaultdict[tuple[str, str], float](float)
    for row in result.get("rows") or []:
        trials[row["method"], row["family"]] += row.get("cases") or 0
    shares, families = _by_family_and_all(result, order, "coverage"), answered_families(result)
    bold, cell_count = set(), 0
    for i, item in enumerate(order):
        for j, family in enumerate(families, 1):
            key = item["method"], family
            if key in shares:  # bold from two standard errors of a share of trials on
                cell_count += 1
                error = (nominal * (1 - nominal) / trials[key]) ** 0.5 if trials[key] else 1.0
                bold |= {(i, j)} if shares[key] < nominal - 2 * error else set()
    how = "about as often as they say"
    if bold:
        how = f"far less often in {len(bold)} of {cell_count} cells (bold)"
    level, (columns, rows) = percent(nominal, None), _families_cells(result, order, shares, 0)
    title = f"Share of trials whose truth the {level} interval held, %"
    note = f"Intervals called {level} held the truth {how}"
    look = frozenset(bold)
    return Grid(title, columns, rows, detail=True, bold=look, notes=(note,), slot="coverage")


def _by_family_and_all(result: Plain, order: Entries, name: str) -> dict[tuple[str, str], float]:
    """A column of the table by method and family, and over all families."""
    return by_family(result, name) | {(item["method"], "all"): item[name] for item in order}


def _families_cells(
    result: Plain,
    order: Entries,
    shares: Mapping[tuple[str, str], float],
    decimals: int,
) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a table of methods by families."""
    families = [*answered_families(result), "all"]
    rows = []
    for method in (item["method"] for item in order):
        numbers = (shares.get((method, family)) for family in families)
        rows.append([method, *("" if x is None else f"{100 * x:.{decimals}f}" for x in numbers)])
    return ["method", *map(family_name, families)], rows
