"""Power: how surely a comparison of two systems shows a difference, from variances between and within questions."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..intervals import clopper_pearson, normal_quantile
from .clusters import student_quantile

MOST_QUESTIONS = 10_000_000
_EXACT = 3_000  # rows on which one alone is right, up to which all outcomes are summed
_WIDE = 6.0  # standard deviations of an outcome that is summed
_HALVINGS = 30


@dataclass(frozen=True)
class Components:
    """What pilots tell of the answers of one system or two: mean of a question's mean, variance of one answer and its
    share ``within`` questions, (system,); the ``correlation`` of answers of two, None of one; so many ``questions``
    with so many ``epochs`` on average.
    """

    mean: tuple[float, ...]
    variance: tuple[float, ...]
    within: tuple[float, ...]
    correlation: float | None
    questions: int
    epochs: float


def components(scores: Array, clusters: Array | None) -> Components:
    """Variance between and within questions, of ``scores`` (system, row) of one or two systems on the same rows, whose
    questions are the ``clusters`` of the rows (None: a row each).

    sigma^2 = mean square within, omega^2 = (mean square between - sigma^2) / k0, k0 = (N - sum k^2 / N) / (n - 1), not
    below 0; the covariance of two systems is that of their questions' means, as epochs of either are drawn apart.
    Without a question that repeats nothing tells what is within, and 0 is taken: more epochs then tell nothing new.
    Source: Miller (2024); Searle, Casella and McCulloch (1992).

    >>> found = components(np.array([[1.0, 1, 0, 0, 1, 0, 1, 1]]), np.repeat([0, 1, 2, 3], 2))
    >>> round(found.variance[0], 3), round(found.within[0], 3)
    (0.292, 0.429)
    """
    systems, rows = scores.shape
    code = np.arange(rows) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(code).astype(float)
    questions = len(sizes)
    sums = np.stack([np.bincount(code, score) for score in scores])
    means, middle = sums / sizes, scores.mean(axis=1)
    between = (sizes * np.square(means - middle[:, None])).sum(axis=1) / max(questions - 1, 1)
    variances, within = [], []
    for system in range(systems):
        if rows == questions:
            variances.append(float(between[system]))
            within.append(0.0)
            continue
        inner = float(np.square(scores[system] - means[system][code]).sum()) / (rows - questions)
        k0 = (rows - float(np.square(sizes).sum()) / rows) / max(questions - 1, 1)
        outer = max((float(between[system]) - inner) / k0, 0.0)
        variances.append(outer + inner)
        within.append(inner / max(outer + inner, 1e-12))
    correlation = None
    if systems == 2:
        spread = math.sqrt(variances[0] * variances[1])
        shared = float(np.cov(means)[0, 1]) if questions > 1 else 0.0
        correlation = min(max(shared / spread, -1.0), 1.0) if spread > 0 else 0.0
    return Components(
        mean=tuple(middle.tolist()),
        variance=tuple(variances),
        within=tuple(within),
        correlation=correlation,
        questions=questions,
        epochs=rows / questions,
    )


def design_effect(values: Array, clusters: Array) -> float:
    """How many dependent rows are worth one independent row for the mean of ``values``, shape (row,), at least 1.

    C / (C - 1) sum_c (sum_{i in c} (y_i - y))^2 / (n s^2), of C ``clusters``, shape (row,). Source: Kish (1965).

    >>> round(design_effect(np.repeat([0.0, 1, 1, 0], 5), np.repeat([0, 1, 2, 3], 5)), 2)
    6.33
    """
    code = np.unique(clusters, return_inverse=True)[1]
    off = values - values.mean()
    variance = float(np.square(off).sum()) * len(values) / max(len(values) - 1, 1)
    sums, count = np.bincount(code, off), int(code.max()) + 1
    if variance <= 0 or count < 2:
        return 1.0
    return max(float(np.square(sums).sum()) * count / (count - 1) / variance, 1.0)


@dataclass(frozen=True)
class Answers:
    """What is assumed of the answers of a base and of a new system.

    mean : of the base's answers, its accuracy where they are right or wrong. variance : of one answer, None for that of
    right or wrong, p (1 - p) at each system's p. within : share of it within questions, which epochs average away.
    correlation : of the two systems' answers to a question; None where nobody knows. judge : correlation of a judge's
    verdict on the difference of a question with people's; None without a judge. span : width of the scale.
    """

    mean: float
    variance: float | None = None
    within: float = 0.0
    correlation: float | None = None
    judge: float | None = None
    span: float = 1.0

    def variances(self, difference: float) -> tuple[float, float]:
        """Of one answer of the base and of the new system, which is better by the difference."""
        if self.variance is not None:
            return self.variance, self.variance
        return tuple(max(p * (1 - p), 0.0) for p in (self.mean, self.mean + difference))  # type: ignore[return-value]

    def of_question(self, difference: float, epochs: int, *, paired: bool = True) -> float:
        """Variance of the difference that one question tells, asked so many times.

        (v_a + v_b) (1 - w + w / K), less 2 rho sqrt(v_a v_b) where the systems answer the same questions. Source:
        Miller (2024), with v (1 - w) = Var(x), v w = E[sigma_i^2], rho sqrt(v_a v_b) = Cov(x_a, x_b).
        """
        a, b = self.variances(difference)
        out = (a + b) * (1 - self.within + self.within / epochs)
        if paired:
            out -= 2 * (self.correlation or 0.0) * math.sqrt(a * b)
        return max(out, 1e-12)


@dataclass(frozen=True)
class Setting:
    """A run that might be made: questions, answers of each system to each, and questions that people label, None where
    no judge stands for them; whether both systems get the same questions.
    """

    questions: int
    epochs: int = 1
    labels: int | None = None
    paired: bool = True


def power_of(answers: Answers, setting: Setting, difference: float, level: float) -> float:
    """The chance that the interval of `compare` leaves 0 out where the new system is better (worse) by ``difference``.

    Right or wrong answers to the same questions once: all outcomes of McNemar's exact test and the interval together.
    Else z = (difference - q E) / sd with E the expected standard error of the interval, two made-up rows of `Paired`
    among it, and q Student's quantile; of systems with questions of their own both exact intervals' arms (Newcombe
    1998). With labels on some of the questions the variance is that of prediction-powered inference, v ((1 - r^2) / n +
    r^2 / N). Source: Miller (2024); Angelopoulos, Duchi and Zrnic (2023).

    >>> one = Answers(0.7, correlation=0.5)
    >>> [round(power_of(one, Setting(n), 0.05, 0.95), 2) for n in (200, 800)]
    [0.3, 0.87]
    """
    verdicts = verdicts_of(answers, setting, difference, level, 0.0)
    return verdicts.worse + verdicts.not_worse


class Verdicts(NamedTuple):
    """Chances of a gate's verdicts: the interval lies below -drop, or above it; else it cannot be told."""

    worse: float
    not_worse: float

    @property
    def undecided(self) -> float:
        """The chance that it cannot be told."""
        return max(1 - self.worse - self.not_worse, 0.0)


def verdicts_of(
    answers: Answers, setting: Setting, difference: float, level: float, drop: float
) -> Verdicts:
    """What `compare BASE NEW --fail-drop` will say: the chances that its interval lies below ``-drop`` and above it,
    where the new system is better by ``difference`` (worse: below 0); of a drop of 0 the chances of a difference shown.

    As in `power_of`: of right or wrong answers to the same questions once all outcomes are summed; else the interval is
    [X - arm, X + arm] with X normal and the arms as expected.

    >>> one = Answers(0.8, correlation=0.6)
    >>> [round(chance, 2) for chance in verdicts_of(one, Setting(900), -0.06, 0.95, 0.02)]
    [0.89, 0.0]
    """
    once = answers.of_question(difference, 1)
    binary = answers.variance is None
    is_exact = binary and setting.epochs == 1 and setting.labels is None and setting.paired
    if is_exact and setting.questions * once <= _EXACT:
        discordant = once + difference**2
        return _mcnemar_verdicts(setting.questions, discordant, difference, level, drop)
    made = _interval_of(answers, setting, difference, level)
    if made is None:
        return Verdicts(0.0, 0.0)
    below = (-drop - made.above - made.centre) / made.spread
    above = (made.centre - made.below + drop) / made.spread
    return Verdicts(_normal(below), _normal(above))


class _Expected(NamedTuple):
    """An interval as it is expected: [X - below, X + above], X normal around the centre with this spread."""

    centre: float
    spread: float
    below: float
    above: float


def _interval_of(
    answers: Answers, setting: Setting, difference: float, level: float
) -> _Expected | None:
    """The interval that `compare` will make of a run; None where the labels are too few for one."""
    if setting.labels is not None:
        return _of_judge(answers, setting, difference, level)
    if not setting.paired:
        return _of_own_questions(answers, setting, difference, level)
    variance = answers.of_question(difference, setting.epochs)
    # rows that a made-up question counts for
    worth = variance / answers.of_question(difference, 1) * answers.span
    is_binary = answers.variance is None
    if not is_binary and math.sqrt(setting.questions * variance) >= answers.span:
        worth = 0.0  # scores that vary so much tell their spread themselves
    return _of_questions(setting.questions, variance, difference, worth, level)


def _of_questions(
    questions: int, variance: float, difference: float, worth: float, level: float
) -> _Expected:
    """Of a mean of so many independent differences, beside two made-up ones of which each is worth that many."""
    total = questions + 2 * worth
    error = math.sqrt(questions * variance + 2 * worth**2 * (1 + difference**2))
    arm = student_quantile(level, questions - 1) * error / total
    spread = math.sqrt(questions * variance) / total
    return _Expected(questions * difference / total, spread, arm, arm)


def _normal(x: float) -> float:
    """P(Z <= x)."""
    return math.erfc(-x / math.sqrt(2)) / 2


def _mcnemar_verdicts(
    questions: int, discordant: float, difference: float, level: float, drop: float
) -> Verdicts:
    """The chances of outcomes, of rows on which the new system alone is right (W) or the base alone (L), whose interval
    by Bonett and Price lies beyond -drop, and beyond 0 only where McNemar's exact test shows it, too.
    """
    from scipy.special import bdtr, gammaln, xlogy

    ahead, behind = (max((discordant + sign * difference) / 2, 0.0) for sign in (1, -1))

    def outcomes(share: float) -> Array:
        middle, wide = questions * share, _WIDE * math.sqrt(questions * share) + 5
        return np.arange(max(int(middle - wide), 0), min(int(middle + wide) + 1, questions) + 1)

    won, lost = np.ix_(outcomes(ahead), outcomes(behind))
    ties = questions - won - lost
    possible = ties >= 0
    logs = gammaln(questions + 1) - gammaln(won + 1) - gammaln(lost + 1)
    logs = logs - gammaln(np.maximum(ties, 0) + 1)
    logs = logs + xlogy(won, ahead) + xlogy(lost, behind)
    logs = logs + xlogy(np.maximum(ties, 0), max(1 - ahead - behind, 0.0))
    is_told = 2 * bdtr(np.minimum(won, lost), won + lost, 0.5) <= 1 - level
    total, met = won - lost, won + lost
    middle = total / (questions + 2)
    squares = met - 2 * middle * total + questions * middle**2 + 2 * (1 + middle**2)
    half = normal_quantile(level) * np.sqrt(squares) / (questions + 2)
    # what the test does not tell from 0 the interval does not either
    upper = np.where(is_told | (middle + half > 0), middle + half, 0.0)
    lower = np.where(is_told | (middle - half < 0), middle - half, 0.0)
    chances = np.where(possible, np.exp(np.where(possible, logs, -np.inf)), 0.0)
    worse, not_worse = upper < -drop, lower > -drop
    return Verdicts(float(chances[worse].sum()), float(chances[not_worse].sum()))


def _of_own_questions(
    answers: Answers, setting: Setting, difference: float, level: float
) -> _Expected:
    """Of two systems with questions of their own: the arms of both intervals add as squares."""
    share = 1 - answers.within + answers.within / setting.epochs
    variances = [v * share / setting.questions for v in answers.variances(difference)]
    spread = math.sqrt(max(sum(variances), 1e-15))
    if answers.variance is not None:
        arm = student_quantile(level, setting.questions - 1) * spread
        return _Expected(difference, spread, arm, arm)
    arms = []
    for p, variance in zip((answers.mean, answers.mean + difference), variances, strict=True):
        trials = p * (1 - p) / variance if variance > 1e-15 else setting.questions
        low, high = clopper_pearson(p * trials, trials, level)
        arms.append((p - low, high - p))
    (base_below, base_above), (new_below, new_above) = arms
    below, above = math.hypot(new_below, base_above), math.hypot(new_above, base_below)
    return _Expected(difference, spread, below, above)


def _of_judge(
    answers: Answers, setting: Setting, difference: float, level: float
) -> _Expected | None:
    """With people's labels on some questions and a judge's verdicts on all, as `paired_rates` has it."""
    labels = min(setting.labels or 0, setting.questions)
    if labels < 3:
        return None
    told = (answers.judge or 0.0) ** 2
    once = answers.of_question(difference, 1)
    variance = once * ((1 - told) / labels + told / setting.questions)
    arm = student_quantile(level, labels - 2) * math.sqrt(variance + 2 / (labels + 2) ** 2)
    # two made-up labels pull the middle towards what the judge says
    middle = difference * (labels + 2 * told) / (labels + 2)
    return _Expected(middle, math.sqrt(variance), arm, arm)


def questions_for(
    answers: Answers,
    setting: Setting,
    difference: float,
    level: float,
    power: float,
    drop: float | None = None,
) -> int | None:
    """The fewest questions with that power, all else as in the setting; None where none are enough. With a ``drop``
    those after which a gate says with that chance what is true; none are enough where the difference is the drop.
    """

    def enough(questions: int) -> bool:
        made = Setting(questions, setting.epochs, setting.labels, setting.paired)
        if drop is None:
            return power_of(answers, made, difference, level) >= power
        verdicts = verdicts_of(answers, made, difference, level, drop)
        return verdicts[0 if difference < -drop else 1] >= power

    high = 8
    while not enough(high):
        high *= 2
        if high > MOST_QUESTIONS:
            return None
    return bisect_left(range(high), True, lo=max(high // 2, 2), key=enough)


def labels_for(
    answers: Answers, questions: int, difference: float, level: float, power: float
) -> int | None:
    """The fewest of so many questions that people label, of both systems, beside a judge; None where all are few."""

    def enough(labels: int) -> bool:
        setting = Setting(questions, labels=labels)
        return power_of(answers, setting, difference, level) >= power

    needed = bisect_left(range(questions + 1), True, lo=min(3, questions), key=enough)
    return needed if needed <= questions else None


def smallest_difference(
    answers: Answers, setting: Setting, level: float, power: float
) -> float | None:
    """The smallest rise of the new system over the base that such a run shows with that power; None where none is."""
    low, high = 0.0, 1.0
    if answers.variance is None:
        high = largest_difference(answers)
    elif answers.variance > 0:
        high = 10 * math.sqrt(answers.variance)
    if power_of(answers, setting, high, level) < power:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if power_of(answers, setting, middle, level) >= power else (middle, high)
        )
    return high


def largest_difference(answers: Answers) -> float:
    """The largest rise that right or wrong answers with such a correlation can have: where the new system is right
    wherever the base is.
    """
    low, high = 0.0, 1 - answers.mean
    if answers.correlation is None or answers.correlation <= 0:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        once = answers.of_question(middle, 1)
        low, high = (middle, high) if once + middle**2 >= middle - 1e-12 else (low, middle)
    return low
