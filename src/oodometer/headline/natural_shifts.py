"""Natural shifts: what public data sets lead one to expect of the accuracy, and whether it fell by a margin."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal, Self

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..intervals import clopper_pearson, holm, normal_quantile
from ..plain import Json, Plain
from ..registry import classes_of, known
from ..results import Estimate, Interval, percent
from ..results.alarms import Fall, FallVerdict
from ..results.diagnosis import Diagnosis
from ..results.estimation import ASSUMPTIONS, Assumed, Estimation, Headline
from ..results.values import counted, points
from .headline import Evidence, beyond_overlap, confidence_middle
from .label_evidence import evidence_for_label_shift
from .metric_shifts import MetricShifts

FORMAT = 7
_QUANTILE, _REACH = ("p", "standard_error", "separation"), ("points", "cases", "inside", "off_by_3")
_UNKNOWN = ("moved", "separation", "apart", "disagreement")
_VERDICT = ("margin", "said", "cases", "right")
# where the standard error is taken: no accuracy is known to be 0 or 1
_LEAST_RATE, _MOST_RATE = (
    0.02,
    0.98,
)
_LEAST_HALF = 1.2  # times what chance alone makes: the value is not known exactly


# a model at an accuracy of 0.45 has nothing to lose, one at 0.85 and above everything
_CHANCE, _BETTER = (
    0.45,
    0.4,
)
_LESS = ", less what public shifts cost beyond it"
# Calibration by confidence, mean confidence, density ratios: what moves under a change of the inputs alone.
READINGS = ("cbpe", "doc", "importance")
# Accuracy by bins of confidence, calibrated confidence, class shares: how accuracy hangs on what the model says.
RELATIONS = ("im", "cbpe", "sld")
# Of accuracy: methods that differ by so much are half way from agreeing to contradicting each other.
_APART = 0.02


@dataclass(frozen=True)
class ShiftSigns:
    """What is known of a target without labels.

    Parameters
    ----------
    estimate : accuracy if only the inputs changed. source : accuracy on the reference. reference_rows, rows : of both.
    moved, unexplained : effect sizes of `ShiftStatistics`; None: unseen.
    models : whether other models answered, which see falls that a model's own confidence does not.
    error : standard error of another metric than the accuracy; None of the accuracy.
    separation : 2 AUC - 1 of a classifier that tells target rows from reference rows; None: unseen.
    apart : range of what methods say that read different things (`READINGS`) if only the inputs changed; None: unseen.
    disagreement : geometric mean of the range of `RELATIONS` and of the distance of its first two; None: unseen.
    explained : whether the shares of the classes explain all that is seen (`evidence_for_label_shift`).
    """

    estimate: float
    source: float
    reference_rows: int
    rows: int
    moved: float | None = None
    unexplained: float | None = None
    models: bool = False
    error: float | None = None
    separation: float | None = None
    apart: float | None = None
    disagreement: float | None = None
    explained: bool = False


@dataclass(frozen=True)
class NaturalShifts:
    """Where the truth ended under shifts that nobody made, as a distribution given what is known without labels.

    With s the accuracy on the reference, e that if only the inputs changed, v = separation, r = apart,
    d = disagreement, q = clip((s - 0.45) / 0.4, 0, 1) how much the model can lose, and w = v / (1 + v),

        value = min(s, e) - cost q w^2 d^2 / (d^2 + 0.02^2)
        centre = min(s, e) - centre_cost q w^2 r^2 / (r^2 + 0.02^2):

    predicted falls are believed and predicted rises are not; the further target rows are from reference rows, the
    further the accuracy falls beyond what is predicted, as far as methods that read different things contradict each
    other. Where other models answered both are e. The value is the median; quantile p of the truth is
    centre + a_p se + b_p q w, with se = sqrt(s (1 - s) (1 / reference_rows + 1 / rows)), or the value where that lies
    beyond it. Without a shift that can be seen what is left is chance.

    Parameters
    ----------
    cost, centre_cost : of the value, and of the quantiles. levels : the p, ascending. chance, size : a_p, b_p, shape
        (level,).
    unknown : `separation` where no classifier could look, in units of m / (1 + m); `moved`, `apart` and `disagreement`
        where they cannot be seen.
    reach : rows of (most points that the band of 90 % reaches from the value, cases, share of them inside the band,
        share whose value was off by more than three points), where nothing spoke against the number, judged with their
        whole domain left out. verdicts : rows of (margin, "fell" or "holds", cases that were called so, share of them
        that was right), judged in the same way.
    about : provenance: command, date, sources, domains, cases. metrics : priors of other metrics, in the place of the
        packaged ones.

    Source: `benchmarks/natural`; linear quantile regression after Koenker and Bassett (1978).

    >>> prior = packaged_prior()
    >>> still = ShiftSigns(0.9, 0.9, 10_000, 10_000, separation=0.0)
    >>> moved = ShiftSigns(0.9, 0.9, 10_000, 10_000, separation=0.5)
    >>> [prior.interval(one, 0.9)[0] > 0.85 for one in (still, moved)]
    [True, False]
    """

    cost: float
    centre_cost: float
    levels: Array
    chance: Array
    size: Array
    unknown: Mapping[str, float]
    reach: tuple[tuple[float, int, float, float], ...] = ()
    about: Plain | None = None
    verdicts: tuple[tuple[float, str, int, float], ...] = ()
    metrics: MetricShifts | None = None

    def value(self, signs: ShiftSigns) -> float:
        """The accuracy to expect under a natural shift, the median of its quantiles."""
        return self._less(signs, self.cost * self.exposure(signs, "disagreement"))

    def centre(self, signs: ShiftSigns) -> float:
        """What the other quantiles are measured from."""
        return self._less(signs, self.centre_cost * self.exposure(signs, "apart"))

    def _less(self, signs: ShiftSigns, loss: float) -> float:
        """What is believed of the methods, less a loss that none of them sees."""
        if signs.models or signs.explained:
            return float(np.clip(signs.estimate, 0.0, 1.0))
        return float(np.clip(min(signs.source, signs.estimate) - loss, 0.0, 1.0))

    def exposure(self, signs: ShiftSigns, contradiction: Literal["disagreement", "apart"]) -> float:
        """What the cost is multiplied by, from 0 to 1, by one of the two signs that methods contradict each other."""
        seen = signs.disagreement if contradiction == "disagreement" else signs.apart
        size = self.unknown[contradiction] if seen is None else seen
        return skill(signs.source) * self.distance(signs) ** 2 * size**2 / (size**2 + _APART**2)

    def distance(self, signs: ShiftSigns) -> float:
        """How far target rows are from reference rows, v / (1 + v); where no classifier looked, by what moved."""
        if signs.separation is not None:
            return saturated(signs.separation)
        size = saturated(self.unknown["moved"] if signs.moved is None else signs.moved)
        return self.unknown["separation"] * size

    def quantile(self, signs: ShiftSigns, p: Array) -> Array:
        """Quantiles ``p`` of the truth, shape of ``p``; 0 and 1 at p = 0 and 1, linear between the fitted ones."""
        return np.asarray(np.interp(p, [0.0, *self.levels, 1.0], [0.0, *self._known(signs), 1.0]))

    def share_below(self, signs: ShiftSigns, accuracy: float) -> float:
        """How likely the truth lies below this accuracy: the inverse of `quantile`, 0 and 1 outside of [0, 1]."""
        if not 0 < accuracy < 1:
            return float(accuracy >= 1)
        # quantiles that the ends of [0, 1] made equal would leave the inverse without a meaning
        ends = np.concatenate([[0.0], self._known(signs), [1.0]])
        ends = np.maximum.accumulate(ends + 1e-12 * np.arange(len(ends)))
        return float(np.interp(accuracy, ends, [0.0, *self.levels, 1.0]))

    def _known(self, signs: ShiftSigns) -> Array:
        value, far = self.value(signs), skill(signs.source) * self.distance(signs)
        error = standard_error(signs.source, signs)
        out = self.centre(signs) + self.chance * error + self.size * far
        out = np.where(self.levels < 0.5, np.minimum(out, value), np.maximum(out, value))
        out[self.levels == 0.5] = value
        return np.maximum.accumulate(np.clip(out, 0.0, 1.0))

    def interval(self, signs: ShiftSigns, level: float) -> tuple[float, float]:
        """The central interval, never narrower than chance about the value."""
        value = self.value(signs)
        low, high = map(float, self.quantile(signs, np.array([(1 - level) / 2, (1 + level) / 2])))
        half = _LEAST_HALF * normal_quantile(level) * standard_error(value, signs)
        return max(min(low, value - half), 0.0), min(max(high, value + half), 1.0)

    def to_dict(self) -> Json:
        """Return a plain mapping, as the file holds it."""
        rows = zip(self.levels, self.chance, self.size, strict=True)
        quantiles = ((float(p), *(round(float(number), 4) for number in more)) for p, *more in rows)
        plain = {
            "format": FORMAT,
            **(self.about or {}),
            "cost": self.cost,
            "centre_cost": self.centre_cost,
            "unknown": dict(self.unknown),
        }
        tables = (("quantiles", _QUANTILE, quantiles), ("reach", _REACH, self.reach))
        for name, columns, lines in (*tables, ("verdicts", _VERDICT, self.verdicts)):
            plain[name] = [dict(zip(columns, line, strict=True)) for line in lines]
        return plain if self.metrics is None else plain | {"metrics": self.metrics.to_dict()}

    @classmethod
    def from_dict(cls, plain: Any, file: str) -> Self:
        """Read what `to_dict` gave; `InputError` for another format, or for what is no such file."""
        remedy = "make it again with `python -m benchmarks.natural.prior`, or leave it out for the packaged one"
        expected = f"a prior of natural shifts of format {FORMAT}"
        got = plain.get("format", "none") if isinstance(plain, Mapping) else type(plain).__name__
        if got != FORMAT:
            raise InputError(expected, got=f"format {got}", remedy=remedy, file=file)
        try:
            cost, centre_cost = float(plain["cost"]), float(plain["centre_cost"])
            rows = [[float(row[name]) for name in _QUANTILE] for row in plain["quantiles"]]
            levels, chance, size = np.array(rows).reshape(-1, len(_QUANTILE)).T
            reach = tuple(tuple(row[name] for name in _REACH) for row in plain["reach"])
            verdicts = tuple(tuple(row[name] for name in _VERDICT) for row in plain["verdicts"])
            unknown = {name: float(plain["unknown"][name]) for name in _UNKNOWN}
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                expected, got=f"one without {error}", remedy=remedy, file=file
            ) from None
        numbers = np.concatenate([levels, chance, size, [cost, centre_cost, *unknown.values()]])
        if not len(levels) or not np.isfinite(numbers).all() or (np.diff(levels) <= 0).any():
            raise InputError(
                expected, got="numbers that are missing or out of order", remedy=remedy, file=file
            )
        names = ("made_by", "date", "cases", "sources", "domains", "unseen_falls")
        about = {name: plain[name] for name in names if name in plain}
        metrics = MetricShifts.from_dict(plain["metrics"], file) if "metrics" in plain else None
        return cls(
            cost, centre_cost, levels, chance, size, unknown, reach, about, verdicts, metrics
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file; `InputError` where it cannot be read or is of another format."""
        try:
            plain = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(
                "a prior of natural shifts, a JSON file",
                got=str(error) or type(error).__name__,
                remedy="check the path, or leave it out for the packaged one",
                file=str(path),
            ) from None
        return cls.from_dict(plain, str(path))


def skill(source: float) -> float:
    """How much a model of this accuracy can lose, from 0 to 1: a weak one has little to lose."""
    return min(max((source - _CHANCE) / _BETTER, 0.0), 1.0)


def saturated(moved: float) -> float:
    """m / (1 + m): beyond some size, a change that is twice as large does not cost twice as much."""
    return moved / (1 + moved)


def standard_error(value: float, signs: ShiftSigns) -> float:
    """What chance in the rows of both sides adds to a value."""
    if signs.error is not None:
        return signs.error
    rate = min(max(value, _LEAST_RATE), _MOST_RATE)
    return math.sqrt(
        rate * (1 - rate) * (1 / max(signs.reference_rows, 1) + 1 / max(signs.rows, 1))
    )


@cache
def packaged_prior() -> NaturalShifts:
    """The prior that comes with the package."""
    text = files("oodometer.headline").joinpath("natural_shifts.json").read_text(encoding="utf-8")
    return NaturalShifts.from_dict(json.loads(text), "natural_shifts.json")


FELL = 0.9  # at this chance and above the accuracy is said to have fallen: of public cases, 19 in 20 had
HOLDS = 0.1  # at this chance and below it is said to hold
LEAST_RIGHT = (
    0.8  # of the public cases that were called so; a verdict that was right less often is not given
)
ALARM = 0.7  # at this chance of a fall and above an alarm is raised, where there is a change beyond chance
_STEPS = 101  # of a normal distribution
CHANGED = 0.05  # false alarms without any change, over all parts that are looked at together


def check_margin(margin: float) -> None:
    """`UsageError` for what is no margin: it lies between 0 and 1."""
    if not 0 <= margin < 1:
        raise UsageError(
            f"expected a margin between 0 and 1 such as 0.03, got {margin}; divide percents by 100"
        )


def chance_of_fall(
    prior: NaturalShifts,
    signs: ShiftSigns | None,
    margin: float,
    assumed: Interval | None,
    source: float | None,
    error: float = 0.0,
) -> float | None:
    """How likely the accuracy lies ``margin`` or more below the reference's, by the prior or by an ``assumed`` one."""
    if error:
        away = [error * NormalDist().inv_cdf((i + 0.5) / _STEPS) for i in range(_STEPS)]
        chances = [chance_of_fall(prior, signs, margin - shift, assumed, source) for shift in away]
        likely = [chance for chance in chances if chance is not None]
        return sum(likely) / len(likely) if likely else None
    if assumed is not None and source is not None:
        deviation = max(
            (assumed.upper - assumed.lower) / (2 * normal_quantile(assumed.level)), 1e-9
        )
        return NormalDist(assumed.value, deviation).cdf(source - margin)
    return None if signs is None else prior.share_below(signs, signs.source - margin)


def verdict_of(chance: float | None) -> FallVerdict:
    """The verdict at a chance of a fall."""
    if chance is None:
        return "cannot say"
    return "fell" if chance >= FELL else "holds" if chance <= HOLDS else "cannot say"


def is_alarm(chance: float | None, changed: float | None) -> bool:
    """Whether an alarm is raised without any rule: a fall is likely, and there is a change beyond chance."""
    return chance is not None and chance >= ALARM and changed is not None and changed <= CHANGED


def judged(
    prior: NaturalShifts,
    margin: float,
    chances: Sequence[float | None],
    changes: Sequence[float | None],
    assumes: Sequence[str],
) -> list[Fall]:
    """Falls of parts looked at together: an alarm as by `is_alarm`, after Holm's correction. ``assumes``: what each
    chance rests on, an assumption, "judges" or "history"; labels behind the last may show a fall that outputs do not.
    """
    tested = holm([p for p in changes if p is not None])
    adjusted = dict(zip((i for i, p in enumerate(changes) if p is not None), tested, strict=True))
    out = []
    for i, (chance, assume) in enumerate(zip(chances, assumes, strict=True)):
        verdict, changed = verdict_of(chance), adjusted.get(i)
        # public cases that were called so at the nearest margin that was tried, and how often that was right
        tried = [row for row in prior.verdicts if row[1] == verdict]
        measured = min(tried, key=lambda row: abs(row[0] - margin))[2:] if tried else None
        if assume == "natural" and measured is not None and measured[1] < LEAST_RIGHT:
            verdict = "cannot say"
        why = _why_judged(chance, assume, verdict, measured)
        shown_by_labels = assume == "history" and verdict == "fell"
        out.append(
            Fall(
                margin, chance, verdict, changed, shown_by_labels or is_alarm(chance, changed), why
            )
        )
    return out


def _why_judged(
    chance: float | None, assume: str, verdict: FallVerdict, measured: tuple[Any, ...] | None
) -> str:
    """What a verdict rests on; ``measured``: how many public cases were called so, and which share rightly."""
    if chance is None and assume == "judges":
        return "how often these judges err on the target is not known"
    if chance is None:
        return "the accuracy of the reference, or what the outputs say, is not known"
    if assume == "judges":
        return "by the judges' error rates on the reference"
    if assume == "history":
        return f"by own history; {_DECIDE}" if verdict == "cannot say" else "by own history"
    if assume != "natural":
        return "under the assumption that was chosen"
    if verdict == "cannot say":
        return _DECIDE
    if measured is None:
        return ""
    words = "had" if verdict == "fell" else "had not fallen so far"
    return f"of {measured[0]} public cases called so, their domains left out, {percent(measured[1], 0)} {words}"


def under_assumptions(
    natural: Headline, still: Headline, estimates: Sequence[Estimate], diagnosis: Diagnosis | None
) -> dict[str, Assumed]:
    """The four answers beside each other: the prior's, `source`, label shift, covariate shift (else ``still``)."""
    source = next((e for e in estimates if e.method == "source"), None)
    answers: dict[str, tuple[Estimate | Headline | None, str]] = {
        "none": (source, "the accuracy of the reference was not asked for (`source`)"),
        "label": (under_label_shift(estimates), "no method of label shift could answer"),
        "covariate": (under_covariate_shift(estimates) or still, ""),
    }
    assumed = assumed_answers(natural, answers, refuted_assumptions(diagnosis))
    return assumed | {"covariate": replace(assumed["covariate"], evidence=agreement_of(estimates))}


def agreement_of(estimates: Iterable[Estimate]) -> str | None:
    """How far methods agree that read different things: under a change of the inputs alone they do."""
    readings = {e.method: e.value for e in estimates if e.method in READINGS}
    if len(readings) < 2:
        return None
    spread = max(readings.values()) - min(readings.values())
    names = ", ".join(name for name in READINGS if name in readings)
    if spread > _APART:
        return f"{names} differ by {points(spread)}, which speaks against it"
    return f"{names} agree within {points(spread)}: nothing contradicts it"


def assumed_answers(
    natural: Headline,
    answers: Mapping[str, tuple[Estimate | Headline | None, str]],
    refuted: Mapping[str, str],
) -> dict[str, Assumed]:
    """Assumption -> its answer, or why there is none, and the finding that speaks against it."""
    out = {"natural": Assumed(natural.interval, natural.method)}
    for name, (answer, why) in answers.items():
        assumed = (
            Assumed(None, "", why=why)
            if answer is None
            else Assumed(answer.interval, answer.method)
        )
        out[name] = replace(assumed, refuted=refuted.get(name))
    return out


def under_label_shift(estimates: Iterable[Estimate]) -> Estimate | None:
    """The estimate to believe if only the class shares changed, or None: `leap` before others that ask for P(x | y)."""
    return _first_under("P(x | y)", estimates, lambda e, traits: (e.method != "leap", traits.order))


def under_covariate_shift(estimates: Iterable[Estimate]) -> Estimate | None:
    """The estimate to believe if only the inputs changed, or None: `cbpe` before others that ask for P(y | x) alone."""
    return _first_under("P(y | x)", estimates, lambda e, traits: (e.method != "cbpe", traits.order))


def _first_under(
    stable: str, estimates: Iterable[Estimate], key: Callable[[Estimate, Any], Any]
) -> Estimate | None:
    traits_of = {cls.name: cls.traits for cls in classes_of("estimator")}
    able = [(e, traits_of[e.method]) for e in estimates if ":" not in e.method]
    able = [(e, traits) for e, traits in able if traits.stable == stable]
    return min(able, key=lambda pair: key(*pair), default=(None,))[0]


def refuted_assumptions(diagnosis: Diagnosis | None) -> dict[str, str]:
    """Assumption -> the finding that speaks against it."""
    out: dict[str, str] = {}
    stable = {cls.name: cls.traits.stable for cls in classes_of("estimator")}
    for finding in () if diagnosis is None else diagnosis.findings:
        if "source" in finding.refutes:
            out.setdefault("none", finding.says)
        against = {stable[name] for name in finding.refutes if ":" not in name}
        for assumption, what in (("label", "P(x | y)"), ("covariate", "P(y | x)")):
            if what in against:
                out.setdefault(assumption, finding.says)
    return out


def headline_under(assume: str, natural: Headline, assumptions: Mapping[str, Assumed]) -> Headline:
    """The headline of the assumption that was chosen; `UsageError` where no method can answer under it."""
    if assume == "natural":
        return natural
    chosen = assumptions[assume]
    if chosen.interval is None:
        raise UsageError(
            f"nothing can be said if {ASSUMPTIONS[assume]}: {chosen.why}; leave --assume out"
        )
    band = natural.bands.get("nine_in_ten")
    why = f"it holds only if {ASSUMPTIONS[assume]}, as you said"
    if band is not None:
        why += f"; nine in ten natural shifts ended in {percent(band.lower, 0)} to {percent(band.upper, 0)}"
    if chosen.refuted is not None:
        why = f"the data contradict this assumption; {why}"
    trust = "none" if chosen.refuted is not None else "low"
    answer = replace(natural, interval=chosen.interval, method=chosen.method)
    return replace(answer, assumes=ASSUMPTIONS[assume], trust=trust, why=why)


# Of the public shifts; of the last none was seen.
DOMAINS = (
    "people",
    "things",
    "sensors",
    "texts",
    "images",
    "language-models",
    "forecasts",
    "other",
)
MOST_OFF = 0.05  # share of public cases, their whole domain left out, off by more than three points, for high trust
LEAST_CASES = 30  # of them
WIDEST = 0.5  # of all accuracies: a wider interval is no knowledge
_LABELS = "a few labels make it narrower (`oodometer audit`)"
_DECIDE = "label a few rows (`oodometer audit`)"


def natural_headline(
    still: Headline,
    signs: ShiftSigns | None,
    evidence: Evidence,
    prior: NaturalShifts | None = None,
    inputs: Estimate | None = None,
    middle: Sequence[str] = (),
) -> Headline:
    """What natural shifts make of the number; beside it, as band ``unchanged``, that of ``inputs`` if only the inputs
    changed, else of ``still``. ``middle``: methods whose median it starts from. Judges alone stay as they are.
    """
    if judges_alone(still) or signs is None:
        return still
    prior = packaged_prior() if prior is None else prior
    level, value, nine = evidence.level, prior.value(signs), prior.interval(signs, 0.9)
    half = spanning(value, prior.interval(signs, 0.5), evidence, 0.5)
    unchanged = still.interval if inputs is None or signs.models else inputs.interval
    bands = {
        "unchanged": unchanged,
        "half": half,
        "nine_in_ten": spanning(value, nine, evidence, 0.9),
    }
    if still.method.startswith("votes"):
        return replace(still, bands=bands)
    interval = spanning(value, prior.interval(signs, level), evidence, level)
    trust, why = trust_of(
        prior,
        signs,
        doubt_of(signs, evidence),
        (value, *nine),
        error=evidence.error_of_clusters(value, signs.rows),
    )
    less = "" if signs.explained else _LESS
    method = still.method if signs.models or not middle else median_of(middle) + less
    return Headline(interval, method, assumed_of(prior), trust, why, bands)


def contradicted(natural: Headline, label: Assumed, diagnosis: Diagnosis | None) -> Headline:
    """The headline without trust where a shift is seen, nothing refutes that the class shares alone moved, and the
    answer under that assumption lies outside of the band of 90 %: of such public cases fewer ended inside it.
    """
    nine = natural.bands.get("nine_in_ten")
    seen = diagnosis is not None and diagnosis.kind != "none"
    if (
        not seen
        or nine is None
        or label.interval is None
        or label.refuted is not None
        or natural.trust == "none"
    ):
        return natural
    low, high = label.interval.lower, label.interval.upper
    if low <= nine.upper and nine.lower <= high:
        return natural
    why = f"{percent(low)} to {percent(high)} if only the class shares changed, which nothing refutes: {_DECIDE}"
    return replace(
        natural, trust="none", why=f"two readings contradict each other, this one and {why}"
    )


def median_of(methods: Sequence[str]) -> str:
    """Methods whose median is taken, in words.

    >>> median_of(["atc", "doc", "cbpe"]), median_of(["doc"])
    ('median of atc, doc and cbpe', 'doc')
    """
    *first, last = methods
    return f"median of {', '.join(first)} and {last}" if first else last


def judges_alone(headline: Headline) -> bool:
    """Whether nothing but votes of judges was there to go by: no public case says how these turn out."""
    return headline.method in ("votes", "votes-corrected")


def signs_of(
    still: Headline, by_name: Mapping[str, Estimate], evidence: Evidence
) -> ShiftSigns | None:
    """What the prior asks for; None where the accuracy of the reference is not known."""
    if evidence.source is None or not by_name:
        return None
    kind = None if evidence.diagnosis is None else evidence.diagnosis.kind
    unlike = kind == "support" and bool(beyond_overlap(by_name))
    middle = confidence_middle(by_name)
    reads_models = any(
        known("estimator", m.partition(":")[0]).traits.reads == "models" for m in by_name
    )
    seen = evidence.shift_statistics
    readings = [by_name[name].value for name in READINGS if name in by_name]
    rows = max(e.rows for e in by_name.values())
    label = by_name.get("label-shift")
    return ShiftSigns(
        estimate=still.interval.value if middle is None or unlike else middle,
        source=evidence.source,
        reference_rows=evidence.reference_rows,
        rows=rows,
        moved=seen.get("moved"),
        unexplained=seen.get("unexplained"),
        models=unlike or (reads_models and middle is None),
        separation=separation_of(evidence.diagnosis),
        apart=max(readings) - min(readings) if len(readings) > 1 else None,
        disagreement=disagreement_of({name: e.value for name, e in by_name.items()}),
        explained=label is not None and evidence_for_label_shift(label, evidence, rows) == "strong",
    )


def disagreement_of(values: Mapping[str, float]) -> float | None:
    """How far `RELATIONS` differ in what they say of a target, by estimator; None without the first two.

    >>> round(disagreement_of({"im": 0.80, "cbpe": 0.81, "sld": 0.84}), 3)
    0.02
    """
    related = [values[name] for name in RELATIONS if name in values]
    first, second, *_ = RELATIONS
    if first not in values or second not in values:
        return None
    return math.sqrt(abs(values[first] - values[second]) * (max(related) - min(related)))


def separation_of(diagnosis: Diagnosis | None) -> float | None:
    """2 AUC - 1 of the classifier that tells rows apart by what the model says of them; None where there is none.

    By features it tells apart what the model may not care for, so that they would move a number that they cannot mend.
    """
    overlap = [] if diagnosis is None else [f for f in diagnosis.findings if f.name == "overlap"]
    if not overlap or overlap[0].details["by"] == "features":
        return None
    return max(2 * (overlap[0].statistic or 0.0) - 1, 0.0)


def spanning(value: float, ends: tuple[float, float], evidence: Evidence, level: float) -> Interval:
    """The interval; a reference whose rows are all right, or all wrong, adds what more of them might show."""
    lower, upper = ends
    if evidence.source in (0.0, 1.0) and evidence.reference_rows:
        low, high = clopper_pearson(
            round(evidence.source * evidence.reference_rows), evidence.reference_rows, level
        )
        lower, upper = min(lower, low), max(upper, high)
    return Interval(value, min(lower, value), max(upper, value), level, "empirical")


def trust_of(
    prior: NaturalShifts,
    signs: ShiftSigns,
    doubt: str,
    band: tuple[float, float, float] | None = None,
    scale: float = 1.0,
    error: float = 0.0,
) -> tuple[str, str]:
    """Trust and its reason: what was measured of public shifts like this one, and what speaks against the number."""
    central = band or (prior.value(signs), *prior.interval(signs, 0.9))
    return trust_in(
        prior.reach, (prior.about or {}).get("unseen_falls", (0, 0)), doubt, central, scale, error
    )


def trust_in(
    reach: Sequence[tuple[float, int, float, float]],
    unseen_falls: Sequence[int],
    doubt: str,
    band: tuple[float, float, float],
    scale: float = 1.0,
    error: float = 0.0,
) -> tuple[str, str]:
    """Trust in a value and its band of 90 %, and why: ``reach`` says how often such bands held."""
    value, low, high = band
    wider = normal_quantile(0.9) * error if error else 0.0
    below, above = math.hypot(value - low, wider), math.hypot(high - value, wider)
    low, high, points = value - below, value + above, max(below, above)
    measured = next((row for row in reach if points <= row[0]), None)
    within = counted(round(100 * scale * points), "point")
    promise = f"in 9 of 10 comparable public cases the truth is expected within {within}"
    if measured is not None and not doubt:
        promise += (
            f" (checked on {measured[1]}, their whole domains left out: {percent(measured[2], 0)})"
        )
    if high - low > WIDEST:
        why = "that is more than half of all accuracies: label some target rows (`oodometer audit`)"
        return "none", f"{promise}; {why}"
    if doubt:
        return "low", f"{promise}; {doubt}"
    if measured is not None and measured[1] >= LEAST_CASES and measured[3] <= MOST_OFF:
        missed, fell = unseen_falls
        seen = "`high` means that outputs show nothing against it"
        if fell:
            seen += f": of {fell} such public cases that fell by 3 points or more, the estimate was off by more than "
            seen += f"3 points in {missed}"
        return "high", f"{promise}; {seen}; a few labels tell (`oodometer audit`)"
    return "low", f"{promise}; {_LABELS}"


def doubt_of(signs: ShiftSigns, evidence: Evidence) -> str:
    """What the prior has not seen and speaks against the number; empty where nothing does."""
    diagnosis = evidence.diagnosis
    if evidence.domain == DOMAINS[-1]:
        return "no public shift of data like yours was seen, as you said (--domain)"
    if signs.moved is None:
        return "here nothing shows how far the outputs moved, so a typical natural shift is assumed"
    if signs.source in (0.0, 1.0):
        kind = "errors" if signs.source else "correct answers"
        return f"the reference holds no {kind}, so nothing is known of them"
    if diagnosis is not None and diagnosis.kind == "support":
        return diagnosis.why
    alarms = (
        []
        if diagnosis is None
        else [f for f in diagnosis.findings if f.name == "confidence alarm" and f.refutes]
    )
    return (
        "confidence misses what other signs show"
        if any(f.strength == "strong" for f in alarms)
        else ""
    )


def assumed_of(prior: NaturalShifts) -> str:
    """What a headline by the prior assumes, and what the prior was made from."""
    about = prior.about or {}
    return f"{ASSUMPTIONS['natural']} ({about.get('cases', 'some')} cases of {len(about.get('sources', ()))} sources)"


def signs_of_result(result: Estimation) -> ShiftSigns | None:
    """What the prior asks for, from a result of `estimate`; None where the accuracy of the reference is not known."""
    still = result.headline.bands.get("unchanged")
    if still is None:
        return None
    moves = {} if result.diagnosis is None else result.diagnosis.signs
    source, rows = result.reference.get("accuracy"), int(result.reference.get("rows", 0))
    evidence = Evidence(result.level, None, moves, result.diagnosis, source, rows)
    stands = Headline(still, result.headline.method, "", "low", "")
    signs = signs_of(stands, {e.method: e for e in result.estimates}, evidence)
    if signs is None:
        return None
    moved, rest = (
        None if x is None or not math.isfinite(x) else x for x in (signs.moved, signs.unexplained)
    )
    return replace(signs, moved=moved, unexplained=rest)
