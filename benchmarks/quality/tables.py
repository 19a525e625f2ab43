"""From cases to figures: errors by bed, limits, the page and the blocks of the guide."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import oodometer
from benchmarks import kit
from benchmarks.kit import ROOT
from benchmarks.quality.beds import BEDS, Bed, bed_of

LEVEL = 0.9
GUIDE = ROOT / "docs" / "which_estimator_when.md"
DIGITS = 5
HEADLINE = "headline"
# What is promised of the headline.
FREE_POINT = (
    1.0  # of accuracy: no harm in being this far from the truth where another method is nearer
)
MOST_RATIO = 0.4
LEAST_COVERAGE = 0.88
TRUSTS = ("high", "low", "none")
KINDS = ("none", "label", "covariate", "support", "unknown")

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Case:
    """One target: the truth, the headline (value, lower, upper) with its trust and kind, every method's estimate."""

    bed: str
    name: str
    reference_rows: int
    rows: int
    truth: float
    headline: Triple
    trust: str
    kind: str
    method: str
    estimates: dict[str, Triple]

    def to_dict(self) -> dict[str, Any]:
        """A plain mapping, numbers of five digits."""
        return {
            "bed": self.bed, "case": self.name, "n_S": self.reference_rows, "n_T": self.rows,
            "truth": round(self.truth, DIGITS), HEADLINE: _rounded(self.headline), "trust": self.trust,
            "kind": self.kind, "method": self.method, "estimates": {m: _rounded(t) for m, t in self.estimates.items()},
        }  # fmt: skip

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Case:
        """The case that `to_dict` wrote."""
        three = {m: (t[0], t[1], t[2]) for m, t in plain["estimates"].items()}
        h = plain[HEADLINE]
        return cls(plain["bed"], plain["case"], plain["n_S"], plain["n_T"], plain["truth"], (h[0], h[1], h[2]),
                   plain["trust"], plain["kind"], plain["method"], three)  # fmt: skip

    def error(self, method: str = HEADLINE) -> float | None:
        """Points between what a method (or the headline) says and the truth; None where it did not answer."""
        three = self.headline if method == HEADLINE else self.estimates.get(method)
        return None if three is None else 100 * abs(three[0] - self.truth)

    def holds(self) -> bool:
        """Whether the headline's interval holds the truth."""
        return self.headline[1] - 1e-9 <= self.truth <= self.headline[2] + 1e-9


def _rounded(three: Triple) -> list[float]:
    return [round(x, DIGITS) for x in three]


@dataclass(frozen=True)
class Summary:
    """One bed: errors in points; a method counts where it answered in every case."""

    bed: Bed
    cases: tuple[Case, ...]

    @property
    def errors(self) -> dict[str, float]:
        """Mean absolute error of every method that answered in all cases, best first."""
        methods = dict.fromkeys(m for c in self.cases for m in c.estimates)
        found = {m: [c.error(m) for c in self.cases] for m in methods}
        whole = {m: mean(e for e in f if e is not None) for m, f in found.items() if None not in f}
        return dict(sorted(whole.items(), key=lambda item: item[1]))

    @property
    def headline(self) -> float:
        """Mean absolute error of the headline."""
        return mean(c.error() or 0.0 for c in self.cases)

    @property
    def best(self) -> tuple[str, float]:
        """The method that was best here, chosen in hindsight, and its error."""
        return next(iter(self.errors.items()))

    @property
    def coverage(self) -> float:
        """Share of cases whose interval holds the truth."""
        return mean(c.holds() for c in self.cases)

    @property
    def width(self) -> float:
        """Mean width of the headline's interval in points."""
        return mean(100 * (c.headline[2] - c.headline[1]) for c in self.cases)

    @property
    def moved(self) -> float:
        """Mean distance of the target's accuracy from the reference's, in points."""
        return mean(c.error("source") or 0.0 for c in self.cases)

    @property
    def chance(self) -> float:
        """Mean error in points of who knows the accuracy of the population, but not of these very rows."""
        return mean(
            100 * math.sqrt(2 / math.pi * c.truth * (1 - c.truth) / c.rows) for c in self.cases
        )

    def share(self, key: Callable[[Case], bool]) -> float:
        """Share of cases."""
        return mean(map(key, self.cases))


def summaries(cases: Sequence[Case]) -> list[Summary]:
    """One for each bed that has cases, in the order of BEDS."""
    found = [Summary(b, tuple(c for c in cases if c.bed == b.name)) for b in BEDS]
    return [s for s in found if s.cases]


def fixed(beds: Sequence[Summary]) -> dict[str, float]:
    """Mean error over beds, each alike, of every method that answered in every case of all of them; best first."""
    everywhere = [m for m in beds[0].errors if all(m in s.errors for s in beds)]
    return dict(
        sorted(((m, mean(s.errors[m] for s in beds)) for m in everywhere), key=lambda item: item[1])
    )


def scopes(beds: Sequence[Summary]) -> dict[str, list[Summary]]:
    """Beds over which one fixed method and the headline are held beside each other."""
    found = {"probabilities, shifts that can be seen": [s for s in beds if s.bed.group not in ("models", "invisible")],
        "all probabilities": [s for s in beds if s.bed.group != "models"],
        "classes of many models": [s for s in beds if s.bed.group == "models"]}  # fmt: skip
    return {name: few for name, few in found.items() if few}


@dataclass(frozen=True)
class Limit:
    """A promise, what was found, and whether it holds."""

    text: str
    found: str
    holds: bool


def limits(cases: Sequence[Case]) -> list[Limit]:
    """Every promise on these cases."""
    beds = summaries(cases)
    out = []
    for s in beds:
        if (
            s.bed.group == "invisible"
        ):  # what is near the truth there is so by chance: nothing to be held to
            continue
        method, best = s.best
        out.append(Limit(f"{s.bed.name}: error at most the best method's, or {FREE_POINT:.0f} point",
                         f"{s.headline:.2f}, {method} {best:.2f}", s.headline <= max(best, FREE_POINT)))  # fmt: skip
    first = next(iter(scopes(beds).items()), None)
    if first is not None and fixed(first[1]):
        (method, error), head = (
            next(iter(fixed(first[1]).items())),
            mean(s.headline for s in first[1]),
        )
        out.append(Limit(f"{first[0]}: error at most {MOST_RATIO} of the best fixed method's",
                         f"{head:.2f} / {error:.2f} ({method}) = {head / max(error, 1e-9):.2f}",
                         head <= MOST_RATIO * error))  # fmt: skip
    known = [s for s in beds if s.bed.known]
    for s in known:
        out.append(Limit(f"{s.bed.name}: coverage at least {LEAST_COVERAGE:.0%}", f"{s.coverage:.1%}",
                         s.coverage >= LEAST_COVERAGE))  # fmt: skip
    if known:
        together = mean(c.holds() for s in known for c in s.cases)
        out.append(Limit(f"known families together: coverage at least {LEAST_COVERAGE:.0%}", f"{together:.1%}",
                         together >= LEAST_COVERAGE))  # fmt: skip
    return out


def headline_table(cases: Sequence[Case]) -> list[str]:
    """A bed a line: the headline beside the best method in hindsight, its interval and its trust."""
    header = ["bed", "cases", "moved", "chance", "best method in hindsight", "its error", "headline", "ratio",
              "coverage", "width", "trust high / low / none"]  # fmt: skip
    rows = []
    for s in summaries(cases):
        method, best = s.best
        trust = " / ".join(f"{s.share(lambda c, t=t: c.trust == t):.0%}" for t in TRUSTS)  # type: ignore[misc]
        mark = "" if s.headline <= max(best, FREE_POINT) else "**"
        ratio = f"{s.headline / best:.2f}" if best > 0.01 else "-"
        rows.append([s.bed.name, str(len(s.cases)), f"{s.moved:.1f}", f"{s.chance:.1f}", f"`{method}`", f"{best:.2f}",
                     f"{mark}{s.headline:.2f}{mark}", ratio, f"{s.coverage:.0%}",
                     f"{s.width:.1f}", trust])  # fmt: skip
    return kit.table(header, rows)


def method_table(cases: Sequence[Case], groups: Sequence[str]) -> list[str]:
    """Methods down, the beds of some groups across; the best of a bed is bold, `-` where a case got no answer."""
    beds = [s for s in summaries(cases) if s.bed.group in groups]
    if not beds:
        return []
    methods = list(dict.fromkeys(m for s in beds for m in s.cases[0].estimates))
    methods += [m for m in dict.fromkeys(m for s in beds for m in s.errors) if m not in methods]
    rows = [
        [m, *(error_cell(s.errors, m) for s in beds)]
        for m in methods
        if any(m in s.errors for s in beds)
    ]
    rows.append([HEADLINE, *(f"{s.headline:.2f}" for s in beds)])
    return kit.table(["method", *(s.bed.name for s in beds)], rows)


def error_cell(errors: dict[str, float], method: str) -> str:
    """The error of a method, the best one bold; a dash where a case got no answer."""
    if method not in errors:
        return "-"
    return f"**{errors[method]:.2f}**" if method == next(iter(errors)) else f"{errors[method]:.2f}"


def fixed_table(cases: Sequence[Case]) -> list[str]:
    """Over many beds: the headline, and the best five of the methods that answered everywhere."""
    rows = []
    for name, beds in scopes(summaries(cases)).items():
        head = mean(s.headline for s in beds)
        best = ", ".join(f"`{m}` {e:.2f}" for m, e in list(fixed(beds).items())[:5])
        hindsight, least = (
            mean(s.best[1] for s in beds),
            next(iter(fixed(beds).values()), float("nan")),
        )
        rows.append(
            [
                name,
                str(len(beds)),
                f"{head:.2f}",
                best,
                f"{head / max(least, 1e-9):.2f}",
                f"{hindsight:.2f}",
            ]
        )
    header = [
        "beds",
        "count",
        "headline",
        "best fixed methods",
        "ratio to the best",
        "best of each bed",
    ]
    return kit.table(header, rows)


def trust_table(cases: Sequence[Case]) -> list[str]:
    """What trust, and the kind that was diagnosed, were worth: visible shifts beside invisible ones."""
    header = ["headline says", "cases", "mean error", "9 of 10 within", "coverage", "width",
              "cases invisible", "mean error invisible"]  # fmt: skip
    rows = []
    for title, values, key in (("trust", TRUSTS, "trust"), ("kind", KINDS, "kind")):
        for value in values:
            every = [c for c in cases if getattr(c, key) == value]
            seen = [c for c in every if bed_of(c.bed).group != "invisible"]
            unseen = [c for c in every if bed_of(c.bed).group == "invisible"]
            few = Summary(BEDS[0], tuple(seen))
            cells = ["-"] * 4
            if seen:
                errors = sorted(c.error() or 0.0 for c in seen)
                cells = [f"{few.headline:.2f}", f"{errors[(9 * len(errors) - 1) // 10]:.1f}", f"{few.coverage:.0%}",
                         f"{few.width:.1f}"]  # fmt: skip
            rest = f"{mean(c.error() or 0.0 for c in unseen):.2f}" if unseen else "-"
            rows.append([f"{title} `{value}`", str(len(seen)), *cells, str(len(unseen)), rest])
    return kit.table(header, rows)


def kind_table(cases: Sequence[Case]) -> list[str]:
    """Share of each diagnosed kind in every bed."""
    rows = [[s.bed.name, *(f"{s.share(lambda c, k=k: c.kind == k):.0%}" for k in KINDS)]  # type: ignore[misc]
            for s in summaries(cases)]  # fmt: skip
    return kit.table(["bed", *KINDS], rows)


def limit_table(cases: Sequence[Case]) -> list[str]:
    """Every promise with yes or NO."""
    rows = [
        [limit.text, limit.found, "yes" if limit.holds else "**NO**"] for limit in limits(cases)
    ]
    return kit.table(["limit", "found", "holds"], rows)


def bed_table(cases: Sequence[Case]) -> list[str]:
    """What the beds are."""
    rows = [
        f"| {s.bed.name} | {s.bed.about} | {'yes' if s.bed.known else 'no'} |"
        for s in summaries(cases)
    ]
    return ["| bed | what it is | family known to the backtest |", "|---|---|---|", *rows, ""]


BLOCKS: dict[str, Callable[[Sequence[Case]], list[str]]] = {
    "headline": headline_table,
    "fixed": fixed_table,
    "trust": trust_table,
    "outputs": lambda cases: method_table(cases, ["outputs"]),
    "few": lambda cases: method_table(cases, ["few"]),
    "trained": lambda cases: method_table(cases, ["digits", "tables"]),
    "texts": lambda cases: method_table(cases, ["texts"]),
    "models": lambda cases: method_table(cases, ["models"]),
    "invisible": lambda cases: method_table(cases, ["invisible"]),
    "kinds": kind_table,
    "limits": limit_table,
    "beds": bed_table,
}
TITLES = {"beds": "The beds", "limits": "Limits", "headline": "The headline beside the best method of each bed",
    "fixed": "Over many beds, each bed alike", "trust": "What trust and kind were worth",
    "kinds": "Which kind of shift was diagnosed", "models": "Mean absolute error: classes of many models",
    "outputs": "Mean absolute error: outputs drawn again",
    "few": "Mean absolute error: the same with 500 reference rows",
    "trained": "Mean absolute error: digits and tables", "texts": "Mean absolute error: texts",
    "invisible": "Mean absolute error: what outputs cannot show"}  # fmt: skip


def page(result: kit.Result) -> str:
    cases = [Case.from_dict(one) for one in result["cases"]]
    lines = [
        "# Quality of the headline and of every method",
        "",
        "Made by `python -m benchmarks.quality`; every case is in `quality.json`.",
        "",
        f"Every target goes through `oodometer.estimate` with its defaults and level {LEVEL:.0%}. Errors, widths and"
        " `moved` (the distance of the target's accuracy from the reference's) are in points of accuracy; `chance` is"
        " the error that a target of so few rows leaves to one who knows the accuracy of its population. A method has"
        " an error in a bed if it answered in every case of it. The best method of a bed is chosen in hindsight, by the"
        " truth: no rule can know it. `ratio` is the headline's error over that method's. Cases that share a reference"
        " are not independent.",
        "",
    ]
    for name, title in TITLES.items():
        block = BLOCKS[name](cases)
        lines += [f"## {title}", "", *block] if block else []
    return kit.joined(lines)


def write_results(cases: Sequence[Case], folder: Path) -> None:
    """Write quality.json, and quality.md from the digits that it keeps."""
    head = {
        "command": "python -m benchmarks.quality",
        "version": oodometer.__version__,
        "level": LEVEL,
    }
    kit.save(folder / "quality", {**head, "cases": [c.to_dict() for c in cases]}, page)


def read_cases(path: Path) -> list[Case]:
    """The cases of quality.json."""
    return [Case.from_dict(p) for p in json.loads(path.read_text(encoding="utf-8"))["cases"]]


def renewed(text: str, cases: Sequence[Case]) -> str:
    """A guide with its tables made again."""
    return kit.renewed(text, "begin", "end", lambda name: BLOCKS[name](cases))
