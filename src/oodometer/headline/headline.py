"""The headline: one number from several estimates, weighed by what was right on shifts like this one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist, median

import numpy as np

from ..arrays import Array
from ..diagnoses import Diagnosis
from ..diagnoses.text_likeness import UnlikeTexts
from ..estimators.votes import said_of_rates
from ..inference.clusters import clustered_error
from ..intervals import clopper_pearson
from ..registry import known, those
from ..results import Estimate, Interval, percent
from ..results.backtest import Trial
from ..results.diagnosis import ShiftKind
from ..results.estimation import Headline

_LEAST = 4
_TRIMMED = 2
_ROWS = 1000  # reference rows at which the trials and the trimmed mean weigh alike


def averaged_methods() -> tuple[str, ...]:
    """The methods of the trimmed mean, one of each kind."""
    return those("estimator", lambda cls: cls.traits.in_panel)


def trimmed_mean(estimates: Mapping[str, float], methods: Sequence[str] | None = None) -> float:
    """Mean of the averaged methods without the two lowest and highest (of few, fewer), NaN under four. Source:
    Claeskens et al. (2016).
    """
    methods = averaged_methods() if methods is None else methods
    values = sorted(estimates[m] for m in methods if m in estimates)
    if len(values) < _LEAST:
        return float("nan")
    trimmed = min(_TRIMMED, (len(values) - 1) // 2)
    return float(np.mean(values[trimmed : len(values) - trimmed]))


def trimmed_mean_share(reference_rows: int) -> float:
    """Weight of the trimmed mean beside trials from so many labelled rows, 1000 / (1000 + rows)."""
    return _ROWS / (_ROWS + reference_rows)


LEAST_TRIALS = 20
# Families that change what the outputs mean instead of which rows there are; they are rarer than the others.
_RARE = {"logit_noise": 0.1, "logit_temperature": 0.1}
# What a diagnosis says of the families: label shift that explains everything, or that is refuted.
_LIKELY: dict[str, dict[str, float]] = {
    "label": {"class_prior": 20.0},
    "covariate": {"class_prior": 0.2},
}
_SCALE_OF_SIGNS = 0.1
_SCALE_OF_MOVES = 0.1
_SCALE_WITHOUT_SIGNS = 0.03
_MOVES = ("label-shift", "doc", "cbpe", "atc-entropy", "agreement")
_NEIGHBOURS = 12
_LEAST_WIDTH = 0.5
_ERROR_FLOOR = 0.005  # of accuracy: no method is taken to be better than this
_CHANCE_IN_FLOOR = 0.1
_NOISE_SHARE = (
    0.7  # of the binomial variance of a target's accuracy, given what the model says of its rows
)
_WORTH_TELLING = 0.015  # of the weight
_LEAST_TRIMMED = 0.01
_MOST_TOLD = 3
_LEAST_MASS = 0.2  # of the weights of trials in which a method answered, before it gets a say


@dataclass(frozen=True)
class Weighed:
    """What the trials make of a target's estimates, and whether its statistics lie among theirs."""

    value: float
    half: float
    shares: Mapping[str, float]
    trimmed: float
    families: Mapping[str, float]
    covered: bool


def spelled(weighed: Weighed) -> str:
    """The leading methods with their weights in whole percents that add up to 100."""
    scaled = {m: share * (1 - weighed.trimmed) for m, share in weighed.shares.items()}
    parts = dict(
        [(m, share) for m, share in scaled.items() if share >= _WORTH_TELLING][:_MOST_TOLD]
    )
    if weighed.trimmed > _LEAST_TRIMMED:
        parts["trimmed mean"] = weighed.trimmed
    parts["others"] = max(1 - sum(parts.values()), 0.0)
    # rounded down, then what is missing from 100 goes to the largest remainders
    floors = {m: int(100 * share) for m, share in parts.items()}
    for m in sorted(parts, key=lambda m: floors[m] - 100 * parts[m])[: 100 - sum(floors.values())]:
        floors[m] += 1
    return ", ".join(f"{m} {percent(n / 100, 0)}" for m, n in floors.items() if n)


class TrialWeighting:
    """Weights for methods from trials of known truth: each trial counts by how much its shift resembles the target's.

    With x the vector of shift statistics (how far the target moved, what label shift leaves unexplained, how far some
    methods moved from the reference accuracy), trial j has weight w_j ~ prior_j exp(-|x - x_j|^2 / 2h). The mean
    squared error of method m is e_m = sum_j w_j ((a_mj - truth_j)^2 - 0.7 truth_j (1 - truth_j) / rows_j), the last
    term being what chance adds to every method alike; methods count by 1 / e_m^2. Beside them stands
    the `trimmed_mean` of some, the heavier the smaller the reference (`trimmed_mean_share`). The interval is the
    weighted quantile of the errors of this very rule on the trials, each with itself left out. Families have equal
    weight, those that change what outputs mean a tenth of it.

    Source: weighted conformal quantiles after Tibshirani et al. (2019); kernel weights after Atkeson et al. (1997).
    """

    def __init__(
        self, trials: Sequence[Trial], methods: Sequence[str], reference_rows: int
    ) -> None:
        self.trials = tuple(trials)
        self.methods = methods = tuple(dict.fromkeys(methods))
        counts = Counter(t.family for t in trials)
        self._favour = np.array(
            [c.traits.favour if (c := known("estimator", m)) else 1.0 for m in methods]
        )
        self._prior = np.array([_RARE.get(t.family, 1.0) / counts[t.family] for t in trials])
        values = [
            _with_label_shift({m: three[0] for m, three in t.estimates.items()}, t.signs)
            for t in trials
        ]
        rows = np.array([t.rows for t in trials])
        self._truth = np.array([t.truth for t in trials])
        self._noise = _NOISE_SHARE * self._truth * (1 - self._truth) / rows
        table = [[v.get(m, np.nan) for m in methods] for v in values]
        self._said: Array = np.array(table).reshape(len(self.trials), len(methods))
        self._trimmed, averaged = trimmed_mean_share(reference_rows), averaged_methods()
        self._trimmed_means = np.array([trimmed_mean(v, averaged) for v in values])
        self._points_of_trials: Array = np.array(
            [_vector(t.signs, v, t.source) for t, v in zip(trials, values, strict=True)]
        ).reshape(len(self.trials), 2 + len(_MOVES))

    def weigh(
        self,
        estimates: Mapping[str, float],
        shift_statistics: Mapping[str, float],
        source: float,
        rows: int,
        level: float,
        kind: ShiftKind | None = None,
    ) -> Weighed | None:
        """The weighted value of a target and its interval; None with too few trials, or where no method answered."""
        if len(self.trials) < LEAST_TRIALS or not any(m in estimates for m in self.methods):
            return None
        point = _vector(shift_statistics, estimates, source)
        # what the target lacks is left out; a trial that lacks what the target has did not move in it
        seen = ~np.isnan(point)
        scale = np.full(len(point), _SCALE_OF_MOVES if seen[0] else _SCALE_WITHOUT_SIGNS)
        scale[:2] = _SCALE_OF_SIGNS
        points = np.nan_to_num(self._points_of_trials)[:, seen] / scale[seen]
        point = point[seen] / scale[seen]
        distance = np.square(points - point).sum(axis=1)
        # how much likelier the diagnosis makes each trial's family
        factors = _LIKELY.get(kind or "unknown", {})
        prior = self._prior * np.array([factors.get(t.family, 1.0) for t in self.trials])
        weights = self._weights(distance, prior)
        answers = np.array([estimates.get(m, np.nan) for m in self.methods])
        shares = self._shares(weights, ~np.isnan(answers))
        if shares is None:
            return None
        trimmed = trimmed_mean(estimates)
        value = self._mix(float(np.nansum(shares * np.nan_to_num(answers))), trimmed)
        between = np.square(points[:, None, :] - points[None, :, :]).sum(axis=2)
        np.fill_diagonal(between, np.inf)
        half = self._half(weights, between, prior, ~np.isnan(answers), value, rows, level)
        nearest = np.quantile(between.min(axis=1), 0.95)
        covered = bool(distance.min() <= 4 * max(nearest, _LEAST_WIDTH))
        if not covered:
            half *= 1 + float(np.sqrt(distance.min() / max(nearest, _LEAST_WIDTH))) / 4
        alike: dict[str, float] = defaultdict(float)
        for trial, weight in zip(self.trials, weights, strict=True):
            alike[trial.family] += float(weight)
        share_by_method = {
            self.methods[i]: float(shares[i]) for i in np.argsort(-shares) if shares[i] > 0.01
        }
        families = dict(sorted(alike.items(), key=lambda item: -item[1]))
        return Weighed(
            value,
            half,
            share_by_method,
            0.0 if np.isnan(trimmed) else self._trimmed,
            families,
            covered,
        )

    def _weights(self, distance: Array, prior: Array) -> Array:
        near = np.partition(distance, _NEIGHBOURS)[_NEIGHBOURS]
        width = max(float(near) if np.isfinite(near) else _LEAST_WIDTH, _LEAST_WIDTH)
        weights = prior * np.exp(-(distance - distance.min()) / (2 * width))
        return np.asarray(weights / weights.sum())

    def _shares(self, weights: Array, answered: Array) -> Array | None:
        """Weight of each method, from its error on the trials; 0 where it did not answer."""
        answered_trials = ~np.isnan(self._said)
        squares = np.where(
            answered_trials,
            np.square(self._said - self._truth[:, None]) - self._noise[:, None],
            0.0,
        )
        mass = weights @ answered_trials
        # where targets are small, what chance adds hides differences between methods: they are then weighed more alike
        floor = _ERROR_FLOOR**2 + _CHANCE_IN_FLOOR * float(weights @ self._noise)
        error = np.maximum(weights @ squares / np.maximum(mass, 1e-12), 0) + floor
        usable = answered & (mass >= _LEAST_MASS)
        if not usable.any():
            return None
        shares = np.where(usable, self._favour * error**-2.0, 0.0)
        return np.asarray(shares / shares.sum())

    def _mix(self, weighed: float, trimmed: float) -> float:
        mixed = (
            weighed
            if np.isnan(trimmed)
            else (1 - self._trimmed) * weighed + self._trimmed * trimmed
        )
        return float(np.clip(mixed, 0, 1))

    def _half(
        self,
        weights: Array,
        between: Array,
        prior: Array,
        answered: Array,
        value: float,
        rows: int,
        level: float,
    ) -> float:
        """Half-width: weighted quantile of the rule's errors on the trials, with the target's own sampling error."""
        errors, mass, noise = [], [], []
        for i in np.flatnonzero(weights > 1e-4 * weights.max()):
            shares = self._shares(
                self._weights(between[i], prior), answered & ~np.isnan(self._said[i])
            )
            if shares is not None:
                weighed = float(np.nansum(shares * np.nan_to_num(self._said[i])))
                errors.append(self._mix(weighed, float(self._trimmed_means[i])) - self._truth[i])
                mass.append(weights[i])
                noise.append(self._noise[i])
        if not errors:
            return 1.0
        error, share = np.abs(np.array(errors)), np.array(mass) / np.sum(mass)
        effective = 1 / float(np.square(share).sum())
        quantile = _weighted_quantile(error, share, min(1.0, level * (1 + 1 / effective)))
        square = float(share @ np.square(error))
        model_variance = max(square - float(share @ np.array(noise)), square / 9)
        sampling_variance = _NOISE_SHARE * max(value * (1 - value), 0.5 / (rows + 1)) / max(rows, 1)
        floor = NormalDist().inv_cdf((1 + level) / 2) * float(
            np.sqrt(_ERROR_FLOOR**2 + sampling_variance)
        )
        # the weights of so many methods were chosen on so few trials: widened for these degrees of freedom
        chosen = self._shares(weights, answered)
        methods = 1.0 if chosen is None else 1 / float(np.square(chosen).sum())
        return max(
            quantile
            * float(
                np.sqrt(
                    (1 + methods / effective)
                    * (model_variance + sampling_variance)
                    / max(square, 1e-12)
                )
            ),
            floor,
        )


def _with_label_shift(
    estimates: Mapping[str, float], shift: Mapping[str, float]
) -> dict[str, float]:
    """What each method said; label shift's is among the statistics where the method itself was not tried."""
    return ({"label-shift": shift["label_shift"]} if "label_shift" in shift else {}) | dict(
        estimates
    )


def _vector(shift: Mapping[str, float], estimates: Mapping[str, float], source: float) -> Array:
    """Shift statistics and moves of some methods from the reference accuracy; NaN where one is missing."""
    values = _with_label_shift(estimates, shift)
    vector = [shift.get(k, np.nan) for k in ("moved", "unexplained")]
    vector += [values.get(m, np.nan) - source for m in _MOVES]
    return np.array(vector)


def _weighted_quantile(values: Array, shares: Array, level: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(shares[order])
    return float(values[order][min(int(np.searchsorted(reached, level - 1e-12)), len(values) - 1)])


_ALARMING_SPREAD = 0.1
_LIKE_TRIALS = "any shift is like those simulated from the reference, which leave P(y | x) or P(x | y) unchanged"


@dataclass(frozen=True)
class Evidence:
    """What a headline rests on besides the estimates; ``effects``: design effects of both sides, ``domain``: what the
    user says that the data are; ``unlike_texts``: how the outputs that were judged differ from the reference's.
    """

    level: float = 0.95
    weighting: TrialWeighting | None = None
    shift_statistics: Mapping[str, float] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    source: float | None = None
    reference_rows: int = 0
    effects: tuple[float, float] = (1.0, 1.0)
    domain: str | None = None
    unlike_texts: UnlikeTexts | None = None

    def error_of_clusters(self, value: float, rows: int) -> float:
        """What clusters add to the standard error of an estimate for so many target rows."""
        samples = (self.source or 0.0, self.reference_rows), (value, rows)
        return 0.0 if self.effects == (1.0, 1.0) else clustered_error(self.effects, *samples)


def make_headline(estimates: Sequence[Estimate], evidence: Evidence) -> Headline | None:
    """One number if P(y | x) is unchanged, with an interval and its assumption. None without any estimate.

    Where the diagnosis finds inputs unlike the reference's and other models were asked, the methods that need no
    overlap answer. Else, with trials, methods are weighed by their errors on simulated targets like this one
    (`TrialWeighting`); without, the middle of different kinds of estimate answers, with the span of all of them.
    Judges (`votes-corrected`, `votes`) that held on the reference and contradict the number on the target are heard
    instead.
    `natural_headline` then says what natural shifts make of the number.

    >>> e = Estimate("doc", 0.8, 0.7, 0.9, 0.95, "conditional", "", "guillory2021")
    >>> make_headline([e], Evidence(level=0.95)).interval.value
    0.8
    """
    by_name = {e.method: e for e in estimates}
    if not by_name:
        return None
    return _with_judges(_from_estimates(by_name, evidence), by_name, evidence.level)


def _from_estimates(by_name: Mapping[str, Estimate], evidence: Evidence) -> Headline:
    level, diagnosis, source = evidence.level, evidence.diagnosis, evidence.source
    kind = None if diagnosis is None else diagnosis.kind
    if diagnosis is not None and kind == "support" and (chosen := beyond_overlap(by_name)):
        # no re-weighting of the reference can stand for the target, and other models were asked
        return _of_span(chosen, level, diagnosis.why)
    if evidence.weighting is not None and source is not None:
        rows = max(e.rows for e in by_name.values())
        values = {m: e.value for m, e in by_name.items()}
        weighed = evidence.weighting.weigh(
            values, evidence.shift_statistics, source, rows, level, kind
        )
        if weighed is not None:
            return _of_trials(weighed, source, evidence.reference_rows, level)
    return _agreeing(by_name, level)


def _of_span(chosen: Sequence[Estimate], level: float, why: str) -> Headline:
    """The median of methods that do not ask for overlap, and the span of them all."""
    value = float(median(e.value for e in chosen))
    lower, upper = min(value, *(e.lower for e in chosen)), max(value, *(e.upper for e in chosen))
    method = ", ".join(e.method for e in chosen)
    assumes = (
        "the truth lies within the span of methods that do not ask for overlap; nothing proves it"
    )
    interval = Interval(value, lower, upper, level, "empirical")
    return Headline(interval, f"median of {method}", assumes, "low", why)


def _of_trials(weighed: Weighed, source: float, reference_rows: int, level: float) -> Headline:
    """What trials make of the methods."""
    value = weighed.value
    lower, upper = max(value - weighed.half, 0.0), min(value + weighed.half, 1.0)
    if source in (0.0, 1.0) and reference_rows:
        # no trial can err on rows that are all alike; more of them might not be
        ends = clopper_pearson(round(source * reference_rows), reference_rows, level)
        lower, upper = min(lower, ends[0]), max(upper, ends[1])
    why = "the target moved further than any shift that was simulated from the reference"
    if weighed.covered:
        still = "the trials simulate shifts under which P(y | x) or P(x | y) is unchanged"
        why = f"{still}; real shifts may change both"
    interval = Interval(value, lower, upper, level, "backtest")
    return Headline(interval, "backtest: " + spelled(weighed), _LIKE_TRIALS, "low", why)


def confidence_middle(by_name: Mapping[str, Estimate]) -> float | None:
    """Median of the plain methods that read the confidence, or None: what no trial has weighed."""
    values = [by_name[name].value for name in middle_methods(by_name)]
    return float(median(values)) if values else None


def middle_methods(by_name: Mapping[str, Estimate]) -> list[str]:
    """The plain methods that read the confidence, of those that answered."""
    return [
        name for name in those("estimator", lambda cls: cls.traits.in_middle) if name in by_name
    ]


def beyond_overlap(by_name: Mapping[str, Estimate]) -> list[Estimate]:
    """Estimates that need no overlap with the reference, if other models are heard among them; else none."""
    names = set(those("estimator", lambda cls: cls.traits.beyond_overlap))
    chosen = [e for e in by_name.values() if e.method in names]
    return (
        chosen if any(known("estimator", e.method).traits.reads == "models" for e in chosen) else []
    )


def _agreeing(by_name: Mapping[str, Estimate], level: float) -> Headline:
    """The middle of one estimate of each family, the interval the span of all; no rule says which is right."""
    groups = _one_of_each_family(by_name)
    together = float("nan")
    if not any(known("estimator", e.method).traits.reads == "models" for e in groups):
        together = trimmed_mean({m: e.value for m, e in by_name.items()})
    averaged = not np.isnan(together)
    chosen = [by_name[m] for m in averaged_methods() if m in by_name] if averaged else groups
    if not chosen:
        return _of_the_rest(by_name, level)
    if len(chosen) == 1:
        return _alone(chosen[0])
    values = [e.value for e in chosen]
    value = together if averaged else float(median(values))
    interval = Interval(
        value, min(e.lower for e in chosen), max(e.upper for e in chosen), level, "empirical"
    )
    spread = max(values) - min(values)
    if spread > _ALARMING_SPREAD:
        trust = "none"
        why = (
            f"the methods differ by {percent(spread, 0)}: at least one of their assumptions fails; "
        )
        why += "label some target rows"
    else:
        trust = "low"
        why = f"{len(chosen)} methods with different assumptions agree within {percent(spread)}; all can fail alike"
    methods = ("middle of " if averaged else "median of ") + ", ".join(e.method for e in chosen)
    assumes = (
        "the truth lies within the span of methods whose assumptions differ; nothing proves it"
    )
    return Headline(interval, methods, assumes, trust, why)


def _one_of_each_family(by_name: Mapping[str, Estimate]) -> list[Estimate]:
    """One estimate of each family: methods that differ only in a detail would otherwise outvote the others."""
    traits = {
        m: cls.traits
        for m in by_name
        if ":" not in m and (cls := known("estimator", m)) is not None
    }
    spoken: dict[str, str] = {}
    for name in sorted(traits, key=lambda m: (traits[m].voice, m)):
        if traits[name].voice:
            spoken.setdefault(traits[name].family, name)
    return [by_name[name] for name in sorted(spoken.values(), key=lambda m: traits[m].order)]


def _of_the_rest(by_name: Mapping[str, Estimate], level: float) -> Headline:
    """What judges say, else one estimate, where no family has a say: the reference's accuracy last."""
    judged = _of_judges(by_name, level)
    if judged is not None:
        return judged
    rest = [e for e in by_name.values() if e.method != "source"] or list(by_name.values())
    return _alone(next((e for e in rest if e.method == "votes"), rest[0]))


def _alone(only: Estimate) -> Headline:
    """The answer of one method; what the reference says of judges is the only check."""
    trust = "none" if only.method == "source" else "low"
    why = "it comes from one method, and nothing here checks what that method assumes"
    seen = only.details.get("reference") if only.method.partition(":")[0] == "votes" else None
    if only.method == "votes" and only.details.get("judges") == 1:
        trust, why = "none", f"{only.warnings[-1]}; label some of the rows that it read"
    elif seen is not None and seen["refuted"]:
        trust, why = "none", f"{only.warnings[0]}; label some target rows"
    elif seen is not None:
        side = "between" if seen["inside"] else "outside, by no more than chance,"
        bounds = f"{percent(seen['lower_bound'])} to {percent(seen['upper_bound'])}"
        why = f"it comes from judges alone: on the reference the accuracy, {percent(seen['accuracy'])}, lies {side} "
        why += f"their bounds, {bounds}; whether they judge the target as well cannot be seen"
    return Headline(only.interval, only.method, only.assumes, trust, why)


def _of_judges(by_name: Mapping[str, Estimate], level: float) -> Headline | None:
    """What judges say with their errors taken out, spanning the voting bounds where nothing refutes them."""
    corrected, votes = by_name.get("votes-corrected"), by_name.get("votes")
    if corrected is None:
        return None
    seen = None if votes is None else votes.details.get("reference")
    bounded = (
        votes is not None
        and votes.details.get("judges", 1) > 1
        and seen is not None
        and not seen["refuted"]
    )
    if corrected.details["refuted"]:
        if bounded:
            assert votes is not None
            return replace(
                _alone(votes),
                trust="none",
                why=f"{corrected.warnings[0]}; the judges' bounds are left",
            )
        return Headline(
            corrected.interval, corrected.method, corrected.assumes, "none", corrected.warnings[0]
        )
    why = f"{said_of_rates(corrected.details)}; whether they err so on the target cannot be seen"
    headline = Headline(corrected.interval, corrected.method, corrected.assumes, "low", why)
    if not bounded:
        return headline
    assert votes is not None
    at = corrected.interval
    span = Interval(
        at.value, min(at.lower, votes.lower), max(at.upper, votes.upper), level, "empirical"
    )
    return replace(headline, interval=span, assumes=f"{corrected.assumes}, or {votes.assumes}")


def of_unlike_texts(headline: Headline, unlike: UnlikeTexts) -> Headline:
    """What judges say of outputs in another form than those by which their errors are known: of the rows in that form
    they may be wrong every time, so the interval is wider by their share, and nothing makes the number trusted.
    """
    lower, upper = unlike.widened(headline.lower, headline.upper)
    why = f"the outputs are unlike those by which the judges' errors are known: {unlike.said}; of"
    why += f" {percent(unlike.distance)} of the rows, at least, nobody knows how the judges err; label some target rows"
    return replace(
        headline,
        interval=replace(headline.interval, lower=lower, upper=upper, kind="empirical"),
        trust="none",
        why=why,
    )


def _with_judges(headline: Headline, by_name: Mapping[str, Estimate], level: float) -> Headline:
    """The headline, or what judges say instead where it lies outside their bounds and these held on the reference."""
    votes, corrected = by_name.get("votes"), by_name.get("votes-corrected")
    seen = None if votes is None else votes.details.get("reference")
    if headline.method.startswith("votes"):
        return headline
    if corrected is not None and not corrected.details["refuted"]:
        at = _of_judges(by_name, level)
        assert at is not None
        if at.lower <= headline.interval.value <= at.upper:
            return headline
        interval, name, text = at.interval, "votes-corrected", said_of_rates(corrected.details)
        text += f", which makes {percent(at.value)}, and the other methods say"
    else:
        if votes is None or seen is None or seen["refuted"] or votes.details.get("judges") == 1:
            return headline
        if votes.lower <= headline.interval.value <= votes.upper:
            return headline
        interval, name = votes.interval, "votes"
        low, high = percent(votes.details["lower_bound"]), percent(votes.details["upper_bound"])
        text = f"judges that were right about the reference accept {low} to {high} of the outputs, "
        text += "and the other methods say"
    trust = "none" if abs(headline.interval.value - interval.value) > _ALARMING_SPREAD else "low"
    lower = min(headline.interval.lower, interval.lower)
    upper = max(headline.interval.upper, interval.upper)
    span = Interval(interval.value, lower, upper, level, "empirical")
    both = "the judges and of the methods that look at the model"
    assumes = f"the truth lies within the span of {both}; nothing proves it"
    why = f"{text} {percent(headline.interval.value)}: one side fails; label some target rows"
    return Headline(span, f"{name}, against {headline.method}", assumes, trust, why)
