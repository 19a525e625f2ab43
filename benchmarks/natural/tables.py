"""Tables of the natural shifts: errors by group of beds and method, and what intervals and trust were worth."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import oodometer
from benchmarks import kit
from benchmarks.kit import ROOT
from benchmarks.quality.beds import BEDS
from benchmarks.quality.tables import (
    HEADLINE,
    KINDS,
    LEVEL,
    TRUSTS,
    Case,
    Summary,
    Triple,
    error_cell,
)
from oodometer.headline.natural_shifts import ShiftSigns

GUIDE = ROOT / "docs" / "which_estimator_when.md"
DIGITS = 5
FAR = 3.0  # points beyond the end of an interval that make a miss a bad one
CLASSES_ALONE = ("mmlupro", "mvh-", "pacs")
GROUPS = {"plain": "natural shift, probabilities alone", "+features": "the same beds with features",
    "+members": "the same beds with the classes of other models",
    "classes": "natural shift, classes alone (`mmlupro`, `mvh-*`, `pacs`)",
    "everyday": "weak and middling classifiers of everyday tables; accuracy rises as well as falls",
    "temporal": "every third period of models that are followed through time",
    "same": "no shift: a fresh part of the reference's own group",
    "small-target": "natural shift, 50 to 200 target rows"}  # fmt: skip
_OLD = {
    "people": "adult bank compas heart",
    "things": "flights movies wine",
    "sensors": "bikes elec2",
    "texts": "airline reviews",
    "images": "digits mvh office",
    "forecasts": "sports",
}
_NEW = {
    "people": "chem college happy hotel injury telco",
    "things": "ames cars comics cover hits rodents",
    "sensors": "airitaly eeg wisdm",
    "texts": "emoji sentences trump",
    "images": "pacs pendigits",
    "language-models": "mmlupro",
    "forecasts": "odds tennis",
}
_EVERYDAY = {
    "people": "anger arrests beps botswana census12 credit developers dutch elderly fertility headache hivresult hsb "
    "immunised jobless lectures legislators london medexp medpar migrants monica nhis nlswork obesity prenatal psid "
    "rand recidivism riceinsure schoolmen science soup stops suicide swisswork tobacco transplant trump16 union voters "
    "wives wives91",
    "things": "airfare cluster computers homes restaurants texas",
    "forecasts": "football pitches",
}
_TEMPORAL = {
    "things": "car",
    "sensors": "pjme pm25",
    "texts": "spam",
}  # other temporal sources stand above
_SOURCES = (_OLD, _NEW, _EVERYDAY, _TEMPORAL)
DOMAIN_OF = {
    source: name for some in _SOURCES for name, words in some.items() for source in words.split()
}
EVERYDAY = frozenset(word for words in _EVERYDAY.values() for word in words.split())
OLD = frozenset(" ".join(_OLD.values()).split())  # sources of the prior before
NOTHING = ShiftSigns(0.0, 0.0, 1, 1)
SHIFTED = ("plain", "+features", "+members", "classes")


@dataclass(frozen=True)
class Shift:
    """One case: what was said and the truth, the source it comes from, and the accuracy of its reference.

    signs : what the prior of natural shifts asks for; doubt : what speaks against high trust; still : the number if
    P(y | x) stood still, with its interval; half : the band of 50 %.
    """

    case: Case
    source: str
    reference: float
    signs: ShiftSigns = NOTHING
    doubt: str = ""
    still: Triple = (0.0, 0.0, 1.0)
    half: Triple = (0.0, 0.0, 1.0)

    @property
    def key(self) -> tuple[str, str]:
        """Bed and name of the case."""
        return self.case.bed, self.case.name

    @property
    def group(self) -> str:
        """Which of `GROUPS` the case belongs to."""
        bed, _, given = self.case.bed.partition("+")
        if bed.startswith("time-"):
            return "temporal"
        if bed.partition("-")[0] in EVERYDAY:
            return "everyday"
        if given:
            return f"+{given}"
        if bed in ("same", "same4", "same5"):
            return "same"
        return bed if bed in GROUPS else "classes" if bed.startswith(CLASSES_ALONE) else "plain"

    @property
    def moved(self) -> float:
        """Points between the accuracy of the target and that of the reference."""
        return 100 * abs(self.case.truth - self.reference)

    @property
    def below(self) -> float:
        """Points by which the truth lies below the interval; 0 where it does not."""
        return 100 * max(self.case.headline[1] - self.case.truth, 0.0)

    @property
    def above(self) -> float:
        """Points by which the truth lies above the interval; 0 where it does not."""
        return 100 * max(self.case.truth - self.case.headline[2], 0.0)

    @property
    def far(self) -> bool:
        """Whether the truth lies more than three points outside the interval."""
        return max(self.below, self.above) > FAR

    def to_dict(self) -> dict[str, Any]:
        """A plain mapping, numbers of five digits."""
        signs = {
            k: round(v, DIGITS) if isinstance(v, float) else v
            for k, v in asdict(self.signs).items()
        }
        for name in ("error", "separation", "apart", "disagreement"):
            if signs[name] is None:
                signs.pop(name)
        more = {"source": self.source, "reference": round(self.reference, DIGITS)}
        bands = {
            "still": [round(v, DIGITS) for v in self.still],
            "half": [round(v, DIGITS) for v in self.half],
        }
        return self.case.to_dict() | more | {"signs": signs, "doubt": self.doubt, **bands}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Shift:
        """The shift that `to_dict` wrote."""
        head = (Case.from_dict(plain), plain["source"], plain["reference"])
        if "signs" not in plain:  # made before there was a prior
            return cls(*head)
        still, half = plain["still"], plain["half"]
        return cls(*head, ShiftSigns(**plain["signs"]), plain["doubt"],
            (still[0], still[1], still[2]), (half[0], half[1], half[2]))  # fmt: skip


def of(shifts: Sequence[Shift]) -> Summary:
    """Errors, coverage and width of the cases."""
    return Summary(BEDS[0], tuple(s.case for s in shifts))


def error(shifts: Sequence[Shift], method: str = HEADLINE) -> float | None:
    """Mean absolute error in points of a method that answered in all cases; None of any other."""
    return of(shifts).headline if method == HEADLINE else of(shifts).errors.get(method)


def methods(shifts: Sequence[Shift]) -> dict[str, float]:
    """The error of every method that answered in all cases, best first."""
    return of(shifts).errors


def groups(shifts: Sequence[Shift]) -> dict[str, list[Shift]]:
    """The cases of each group that has any, and of all natural shifts with probabilities and target rows enough."""
    found = {g: [s for s in shifts if s.group == g] for g in GROUPS}
    found["the first three together"] = [s for s in shifts if s.group in SHIFTED[:3]]
    return {g: few for g, few in found.items() if few}


def intervals(shifts: Sequence[Shift]) -> list[str]:
    """Cells: coverage, truth below and above, misses by more than three points, mean width."""
    shares = (of(shifts).coverage, mean(s.below > 1e-7 for s in shifts),
              mean(s.above > 1e-7 for s in shifts), mean(s.far for s in shifts))  # fmt: skip
    return [*(f"{share:.0%}" for share in shares), f"{of(shifts).width:.1f}"]


def error_table(shifts: Sequence[Shift]) -> list[str]:
    """A group a line: the headline beside the fixed method that is best over all, and the best of the group."""
    every = methods([s for s in shifts if s.group in SHIFTED[:3]])
    kept = next(iter(every), "source")
    rows = []
    for name, few in groups(shifts).items():
        head, best = error(few) or 0.0, next(iter(methods(few).items()))
        one = error(few, kept)
        rows.append([name, str(len(few)), f"{mean(s.moved for s in few):.1f}", f"{head:.2f}",
                     "-" if one is None else f"{one:.2f}", "-" if one is None else f"{head / one:.2f}",
                     f"`{best[0]}` {best[1]:.2f}", f"{head / best[1]:.2f}"])  # fmt: skip
    header = ["cases of", "count", "moved", "headline", f"best fixed method (`{kept}`)", "ratio",
              "best of this line in hindsight", "ratio in hindsight"]  # fmt: skip
    return kit.table(header, rows)


def interval_table(shifts: Sequence[Shift]) -> list[str]:
    """A group a line: coverage of the headline's interval, on which side it missed, and its width."""
    rows = [[name, str(len(few)), *intervals(few)] for name, few in groups(shifts).items()]
    return kit.table(["cases of", "count", *INTERVALS], rows)


INTERVALS = (f"coverage at {LEVEL:.0%}", "truth below", "truth above", f"missed by more than {FAR:.0f} points",
             "width")  # fmt: skip


def trust_table(shifts: Sequence[Shift]) -> list[str]:
    """What trust and the kind that was diagnosed were worth, over all groups, and trust where something shifted."""
    rows = []
    shifted = [s for s in shifts if s.group != "same"]
    for title, values, some, where in (("trust", TRUSTS, shifts, ""), ("trust", TRUSTS, shifted, ", without `same`"),
                                       ("kind", KINDS, shifts, "")):  # fmt: skip
        for value in values:
            few = [s for s in some if getattr(s.case, title) == value]
            if few:
                rows.append(
                    [
                        f"{title} `{value}`{where}",
                        str(len(few)),
                        f"{error(few):.2f}",
                        *intervals(few),
                    ]
                )
    missed, fell = unseen_falls(shifts)
    return [
        *kit.table(["headline says", "cases", "mean error", *INTERVALS], rows),
        f"`high` means that outputs show nothing against the estimate: in {fell} cases with trust `high` the accuracy "
        f"fell by {FAR:.0f} points or more all the same, and the headline was off by more than {FAR:.0f} points in "
        f"{missed} of them.",
        "",
    ]


def unseen_falls(shifts: Sequence[Shift]) -> list[int]:
    """Cases with trust `high` whose accuracy fell by `FAR` points or more: in how many of them the headline was off by
    more than that, and how many there are.
    """
    fell = [
        s for s in shifts if s.case.trust == "high" and 100 * (s.reference - s.case.truth) >= FAR
    ]
    return [sum(100 * abs(s.case.headline[0] - s.case.truth) > FAR for s in fell), len(fell)]


def method_table(shifts: Sequence[Shift]) -> list[str]:
    """Methods down, groups across; the best of a group is bold, `-` where a case got no answer."""
    found = {name: methods(few) for name, few in groups(shifts).items()}
    names = dict.fromkeys(m for s in shifts for m in s.case.estimates)
    rows = [[m, *(error_cell(errors, m) for errors in found.values())]
            for m in names if any(m in errors for errors in found.values())]  # fmt: skip
    rows.append([HEADLINE, *(f"{error(few):.2f}" for few in groups(shifts).values())])
    return kit.table(["method", *found], rows)


def bed_table(shifts: Sequence[Shift]) -> list[str]:
    """A bed a line."""
    rows = []
    for bed in sorted({s.case.bed for s in shifts}):
        few = [s for s in shifts if s.case.bed == bed]
        best = next(iter(methods(few).items()))
        rows.append([bed, str(len(few)), f"{mean(s.moved for s in few):.1f}", f"{error(few):.2f}",
                     f"`{best[0]}` {best[1]:.2f}", *intervals(few)])  # fmt: skip
    return kit.table(["bed", "cases", "moved", "headline", "best in hindsight", *INTERVALS], rows)


BLOCKS: dict[str, Callable[[Sequence[Shift]], list[str]]] = {"errors": error_table, "intervals": interval_table,
    "trust": trust_table, "methods": method_table, "beds": bed_table}  # fmt: skip
TITLES = {"errors": "The headline beside single methods", "intervals": "The headline's intervals",
    "trust": "What trust and kind were worth", "methods": "Mean absolute error of every method",
    "beds": "Every bed"}  # fmt: skip


def page(result: kit.Result) -> str:
    shifts = [Shift.from_dict(one) for one in result["cases"]]
    lines = [
        "# Natural shifts",
        "",
        f"Made by `{result['command']}`; every case is in `natural.json`.",
        "",
        f"{len(shifts)} cases in {len({s.case.bed for s in shifts})} beds: ordinary models trained on one natural group"
        " of a public data set and asked on another (a later year, another airport, another kind of people, another"
        " product); nothing was re-weighted or noised on purpose. Every case goes through `oodometer.estimate` with its"
        f" defaults and level {LEVEL:.0%}; the headline is that of a prior of natural shifts that was fitted without"
        " the whole source of the case (`python -m benchmarks.natural.prior`)."
        " Errors, widths and `moved` (the distance of the target's accuracy from the reference's) are in points of"
        " accuracy, means over cases. The best fixed method is the one with the smallest error over"
        " all natural shifts with probabilities; the best in hindsight is chosen for each line by the truth,"
        " which no rule can know. A method has an error where it answered in every case. Cases that share a data set or"
        " a reference are not independent.",
        "",
        *kit.table(["cases of", "what they are"], list(GROUPS.items()), "l"),
    ]
    for name, title in TITLES.items():
        lines += [f"## {title}", "", *BLOCKS[name](shifts)]
    return kit.joined(lines)


def write_results(shifts: Sequence[Shift], folder: Path, command: str) -> None:
    """Write natural.json, and natural.md from the digits that it keeps."""
    head = {"command": command, "version": oodometer.__version__, "level": LEVEL}
    kit.save(folder / "natural", {**head, "cases": [s.to_dict() for s in shifts]}, page)


def read_shifts(path: Path) -> tuple[list[Shift], str]:
    """The cases of natural.json, and the command that made them."""
    plain = json.loads(path.read_text(encoding="utf-8"))
    return [Shift.from_dict(p) for p in plain["cases"]], plain["command"]


def renewed(text: str, shifts: Sequence[Shift]) -> str:
    """A guide with its tables made again."""
    return kit.renewed(text, "natural", "/natural", lambda name: BLOCKS[name](shifts))
