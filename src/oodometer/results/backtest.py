"""Backtest: what trials on simulated shifts found, each of them and a table by method, family and severity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from ..version import __version__
from .values import Record, Skipped, percent, plain, points, signed_points
from .view import Grid, Maker, Shown, Table, View, cell, shows

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
    def from_dict(cls, plain: Mapping[str, Any]) -> Trial:
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
        if trial.rows < 1 or not all(
            0 <= a <= b <= c <= 1 for a, b, c in shares
        ):  # NaN is in no order
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
class Backtest(Shown):
    """What `backtest` found: every trial, and a table by method, family and severity.

    ``reused`` trials came from the cache.
    """

    reference: Mapping[str, Any]
    families: tuple[str, ...]
    trials: tuple[Trial, ...]
    skipped: tuple[Skipped, ...]
    level: float
    seed: int
    reused: int = 0
    argv: str | None = None
    warnings: tuple[str, ...] = ()

    def frames(self) -> dict[str, Maker]:
        """``rows`` by method, family and severity; ``methods`` over all trials, best first; ``trials``, each."""
        errors, about = (
            ("error", "bias", "coverage", "width", "cases"),
            ("family", "severity", "repeat", "rows"),
        )
        columns = (*about, "method", "value", "lower", "upper", "level", "truth", "error")

        def trials() -> Table:
            rows = []
            for trial in self.trials:
                for method, (value, lower, upper) in trial.estimates.items():
                    answer = {
                        "method": method,
                        "value": value,
                        "lower": lower,
                        "upper": upper,
                        "level": self.level,
                    }
                    rows.append({**vars(trial), **answer, "error": value - trial.truth})
            return Table(columns, rows)

        return {
            "rows": lambda: Table(
                ("method", "family", "severity", *errors), list(map(vars, self.rows))
            ),
            "methods": lambda: Table(("method", *errors), list(map(vars, self.overall()))),
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
            inside = (lower <= truth + 1e-12) & (truth <= upper + 1e-12)
            error, bias, held, width = (
                float(x.mean())
                for x in (np.abs(value - truth), value - truth, inside, upper - lower)
            )
            rows.append(BacktestRow(*key, error, bias, held, width, len(answers)))
        return rows

    def overall(self) -> list[BacktestRow]:
        """Each method over all trials in which it answered, best first; families count alike."""
        rows: dict[str, dict[str, list[BacktestRow]]] = defaultdict(lambda: defaultdict(list))
        for row in self.rows:
            rows[row.method][row.family].append(row)
        out = []
        for method, families in rows.items():
            error, bias, held, width = (
                float(
                    np.mean(
                        [
                            np.mean([getattr(row, name) for row in some])
                            for some in families.values()
                        ]
                    )
                )
                for name in ("error", "bias", "coverage", "width")
            )
            cases = sum(row.cases for some in families.values() for row in some)
            out.append(BacktestRow(method, "all", 0.0, error, bias, held, width, cases))
        return sorted(out, key=lambda row: row.error)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        out: dict[str, Any] = {
            "command": "backtest",
            "version": __version__,
            "argv": self.argv,
            "level": self.level,
        }
        out |= {
            "seed": self.seed,
            "reference": plain(self.reference),
            "families": list(self.families),
        }
        out |= {"trials": len(self.trials), "reused": self.reused}
        out |= {
            "overall": [r.to_dict() for r in self.overall()],
            "rows": [r.to_dict() for r in self.rows],
        }
        return out | {
            "skipped": [s.to_dict() for s in self.skipped],
            "warnings": list(self.warnings),
        }


@shows(Backtest)
def backtest_view(result: Mapping[str, Any]) -> View:
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
    best, families, error = order[0], answered_families(result), by_family(result, "error")
    # which method would have been right, and how far off it would have been to report the reference accuracy
    many, trials_of, cases = len(families), result.get("trials"), best.get("cases")
    winner = f"On targets simulated from this reference, in {many} famil{'y' if many == 1 else 'ies'} of shifts, "
    winner += (
        f"{best['method']} was closest to the truth: off by {points(best['error'])} on average"
    )
    source = next((item for item in order if item["method"] == "source"), best)
    if source is not best:
        winner += f", where reporting the reference accuracy would have been off by {points(source['error'])}"
    if trials_of and cases and cases < trials_of:
        winner += f". It could answer in {cases} of {trials_of} trials"
    reference, simulated = result.get("reference") or {}, ""
    if trials_of and reference.get("rows"):
        simulated = f"{trials_of} simulated targets from {reference['rows']:,} rows of {reference.get('name')}"
        known = reference.get("accuracy") is not None
        simulated += f" (accuracy {percent(reference['accuracy'])})" if known else ""
        simulated += (
            f"; {result['reused']} trials came from the cache" if result.get("reused") else ""
        )
    rows, trials = [], []
    for entry in order:
        some = [(value, f) for (method, f), value in error.items() if method == entry["method"]]
        worst = [f"{100 * max(some)[0]:.1f}", family_name(max(some)[1])] if some else ["", ""]
        held, bias = percent(entry["coverage"], 0), entry.get("bias")
        rows.append([entry["method"], f"{100 * entry['error']:.1f}", *worst, held])
        means = [percent(entry["error"]), "" if bias is None else signed_points(bias), held]
        trials.append(
            [entry["method"], *means, cell(entry.get("width"), "%"), cell(entry.get("cases"))]
        )
    first = [
        "method",
        "error",
        "worst",
        "in",
        f"{percent(result.get('level') or 0.95, None)} intervals held",
    ]
    then = ["method", "mean error", "bias", "interval held", "mean width", "trials"]
    grids = [
        Grid("Mean absolute error, points of accuracy; the best first", first, rows, noun="method")
    ]
    grids.append(Grid("Errors over all trials", then, trials, noun="", detail=True))
    grids += [_families_grid(result, order, families, name) for name in ("error", "coverage")]
    about: dict[str, Any] = {
        "note": str(best["method"]),
        "grids": tuple(grids),
        "seed": result.get("seed"),
    }
    about |= {"sentences": (f"{winner}.", simulated), "details": skipped, "warnings": warnings}
    return View(title, points(best["error"]), **about)


def answered_families(result: Mapping[str, Any]) -> list[str]:
    """Families in which any method answered, in their order."""
    answered = {str(row["family"]) for row in result.get("rows") or []}
    return [name for name in result.get("families") or sorted(answered) if name in answered]


def by_family(result: Mapping[str, Any], name: str) -> dict[tuple[str, str], float]:
    """Mean over severities of a column of the table, by method and family."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in result.get("rows") or []:
        if row.get(name) is not None:
            values[row["method"], row["family"]].append(row[name])
    return {key: fmean(some) for key, some in values.items()}


def _families_grid(
    result: Mapping[str, Any], order: list[dict[str, Any]], families: list[str], name: str
) -> Grid:
    """Errors, or how often intervals held the truth, of every method on every family of shifts."""
    nominal = result.get("level") or 0.95
    level, digits = percent(nominal, None), 1 if name == "error" else 0
    cells = by_family(result, name) | {(item["method"], "all"): item[name] for item in order}
    columns, names = [*families, "all"], [item["method"] for item in order]
    rows = [
        [m, *(f"{100 * cells[m, f]:.{digits}f}" if (m, f) in cells else "" for f in columns)]
        for m in names
    ]
    title, bold = "Mean absolute error, points of accuracy", set[tuple[int, int]]()
    notes: tuple[str, ...] = ()
    if name == "error":
        for j, family in enumerate(columns, 1):
            least = min((cells[m, family] for m in names if (m, family) in cells), default=None)
            bold |= {(i, j) for i, m in enumerate(names) if cells.get((m, family)) == least}
    else:  # cells more than two standard errors of a share of trials below the level
        trials = defaultdict[tuple[str, str], float](float)
        for row in result.get("rows") or []:
            trials[row["method"], row["family"]] += row.get("cases") or 0
        for i, m in enumerate(names):
            for j, f in enumerate(families, 1):
                error = (nominal * (1 - nominal) / trials[m, f]) ** 0.5 if trials[m, f] else 1.0
                bold |= {(i, j)} if (m, f) in cells and cells[m, f] < nominal - 2 * error else set()
        many = sum((m, f) in cells for m in names for f in families)
        how = (
            f"far less often in {len(bold)} of {many} cells (bold)"
            if bold
            else "about as often as they say"
        )
        title = f"Share of trials whose truth the {level} interval held, %"
        notes = (f"Intervals called {level} held the truth {how}",)
    heads = ["method", *map(family_name, columns)]
    return Grid(title, heads, rows, detail=True, bold=frozenset(bold), notes=notes)
