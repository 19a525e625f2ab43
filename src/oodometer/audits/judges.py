"""Judges: the rate that people would find, from judges' verdicts on every row and people's labels on some."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Array
from ..estimators.votes import CorrectedVotes
from ..inference.betting import SampledRows
from ..inference.clusters import Clusters, student_quantile
from ..intervals import clopper_pearson, holm, normal_quantile, quantiles
from ..predictions import Predictions
from ..results import Estimate, Interval, Kind
from ..results.values import Record
from .judge import ENOUGH, exact_interval, of_labels, ppi_plus_plus

_LEVELS = 10  # verdicts of one judge that are told apart; finer scores are cut into tenths
# labels for each cell of several judges or grades, and in the smallest one
_LABELS_A_CELL, _LEAST_LABELS = (
    25,
    5,
)
_MOST_ROUNDS = 2_000  # labels beyond which betting takes seconds
_SLOPE = 0.5  # how far the exact interval leans on the verdicts; fixed before a label is seen, so that it holds
_FOLDS = 5
_SELECTED = (
    0.001  # p-value below which labelled rows are said to be no random sample of the verdicts
)
LEAST_TESTED = 10  # labels, for the tests of the sample and of bias


@dataclass(frozen=True, eq=False)
class Judged:
    """Verdicts (judge, row), NaN for none, and people's labels (label,) of the rows ``row``, all from 0 to 1."""

    verdicts: Array
    row: Array
    truth: Array
    names: tuple[str, ...]

    @property
    def rows(self) -> int:
        """How many rows there are, with and without a label."""
        return int(self.verdicts.shape[1])

    @cached_property
    def scores(self) -> Array:
        """The verdicts with one half where there is none."""
        return np.where(np.isnan(self.verdicts), 0.5, self.verdicts)

    @cached_property
    def binary(self) -> bool:
        """Whether labels and verdicts all say yes or no."""
        return bool(np.isin(self.truth, (0, 1)).all() and np.isin(self.scores, (0, 0.5, 1)).all())

    def part(self, rows: Array) -> Judged:
        """The same of some rows, a mask."""
        at, is_selected = np.cumsum(rows) - 1, rows[self.row]
        return replace(
            self,
            verdicts=self.verdicts[:, rows],
            row=at[self.row[is_selected]],
            truth=self.truth[is_selected],
        )

    @cached_property
    def selected(self) -> str | None:
        """Why the labelled rows can hardly be a random sample of the verdicts (p < 0.1 %), or None."""
        mean, labels = self.scores.mean(axis=0), len(self.row)
        unlabelled = self.rows - labels
        if labels < LEAST_TESTED or not unlabelled or mean.var() == 0:
            return None
        labelled_rate = float(mean[self.row].mean())
        z = (labelled_rate - float(mean.mean())) / math.sqrt(
            float(mean.var(ddof=1)) * (1 / labels - 1 / self.rows)
        )
        p = math.erfc(abs(z) / math.sqrt(2))
        unlabelled_rate = (float(mean.sum()) - labelled_rate * labels) / unlabelled
        what = "the judge passes" if len(self.names) == 1 else "the judges pass"
        text = f"{what} {100 * labelled_rate:.0f} % of them and {100 * unlabelled_rate:.0f} % of the other rows"
        text += f" (p = {p:.1g})"
        return text if p < _SELECTED else None

    def below_chance(self, j: int) -> float:
        """p-value of "judge j agrees with people by chance or more", of their correlation; 1 where one never varies."""
        score = self.scores[j][self.row]
        if len(score) < 2 or score.var() == 0 or self.truth.var() == 0:
            return 1.0
        return (
            math.erfc(
                -float(np.corrcoef(score, self.truth)[0, 1]) * math.sqrt((len(score) - 1) / 2)
            )
            / 2
        )

    @cached_property
    def cells(self) -> Array:
        """The cell of each row, of which all rows of one verdict, or of alike ones, are.

        One judge that says yes or no makes a cell of either (and one of no verdict). Patterns of several judges, and
        grades, are put into the order of a ridge regression of the labels on the verdicts (one judge: of its verdicts),
        and neighbours become one (Ward's criterion) until there are 25 labels a cell, two cells at least; not where the
        labelled rows are no random sample.
        """
        code, fitted = np.zeros(self.rows, dtype=np.int64), np.zeros(self.rows)
        weights = np.ones(1) if len(self.names) == 1 else self._weights(self.row, self.truth)[1:]
        for verdict, score, weight in zip(self.verdicts, self.scores, weights, strict=True):
            levels, level = _few_levels(score)
            code = (code * (len(levels) + 1) + level + 1) * 2 + np.isnan(verdict)
            fitted += weight * levels[level]
        _, first, pattern = np.unique(code, return_index=True, return_inverse=True)
        sizes, labels = np.bincount(pattern), np.bincount(pattern[self.row], minlength=len(first))
        if self.selected or (len(self.names) == 1 and len(first) <= 3):
            return np.asarray(pattern)
        limit = max(2, len(self.row) // _LABELS_A_CELL)
        groups = _joined_neighbours(fitted[first], sizes, labels, limit)
        cell = np.empty(len(first), dtype=np.int64)
        cell[np.concatenate(groups)] = np.repeat(np.arange(len(groups)), list(map(len, groups)))
        return np.asarray(cell[pattern])

    def _weights(self, row: Array, truth: Array) -> Array:
        """Intercept and weights of a ridge regression (penalty 1) of labels on verdicts."""
        design = np.vstack([np.ones(len(row)), self.scores[:, row]])
        penalty = np.diag([1e-9, *np.ones(len(self.names))])
        return np.asarray(np.linalg.solve(design @ design.T + penalty, design @ truth))

    def crossfitted(self, seed: int) -> Array:
        """The best linear combination of the verdicts for each row, learnt on other labels than its own."""
        fold = np.random.default_rng([seed, 0xF01D]).permutation(len(self.row)) % _FOLDS
        out = np.zeros((_FOLDS, self.rows))
        for k in range(_FOLDS):
            weights = self._weights(self.row[fold != k], self.truth[fold != k])
            out[k] = weights[0] + weights[1:] @ self.scores
        mean = out.mean(axis=0)
        mean[self.row] = out[fold, self.row]
        return np.asarray(mean)


def combined(
    sizes: Array, labels: Array, mean: Array, level: float, ratio: float = 1.0
) -> tuple[float, float, float]:
    """Value and interval of sum_c W_c m_c, from labels in cells c of W_c N rows, each (cell,).

    Of each cell Wilson's interval [l_c, u_c] for n_c / ratio / (1 - n_c / N_c) labels, with Student's quantile; then
    lower = value - sqrt(sum W_c^2 (m_c - l_c)^2), upper alike: no normal law is asked of the sum, rows that have labels
    are certain, and a cell without labels has [0, 1]. Source: Zou and Donner (2008); Newcombe (1998).

    >>> combined(np.array([900.0, 1100]), np.array([40.0, 60]), np.array([0.2, 0.8]), 0.95)[0]
    0.53
    """
    share = sizes / sizes.sum()
    t = student_quantile(level, labels.sum() / ratio - len(sizes))
    trials = labels / ratio / np.maximum(1 - labels / sizes, 1e-12)
    centre = (trials * mean + t * t / 2) / (trials + t * t)
    half = t * np.sqrt(trials * mean * (1 - mean) + t * t / 4) / (trials + t * t)
    value = float(share @ mean)
    down = share * (mean - centre + half)
    up = share * (centre + half - mean)
    known_right = float(labels @ mean / sizes.sum())
    unknown = 1 - float(labels.sum() / sizes.sum())
    lower, upper = value - math.sqrt(float(down @ down)), value + math.sqrt(float(up @ up))
    return value, min(max(lower, known_right), value), max(min(upper, known_right + unknown), value)


def _unseen_spread(truth: Array) -> float:
    """Squares that labels are given beside their own, as of one row more at either end of the scale: where few rows
    differ at all, as versions of one system do, the labelled ones may not show it, and no spread is no certainty.
    Grades that vary tell their spread themselves. Source: Bonett and Price (2012), of paired proportions.
    """
    seen = {*truth.tolist()}
    return 0.5 if 0.5 in seen <= {0, 0.5, 1} or len(seen) == 1 else 0.0


@dataclass(frozen=True)
class Counts:
    """Rows, labels and mean label of each cell, (cell,), and the share of a yes-or-no label's variance that is there,
    times the design effect of clusters, and n / (n - judges) where n labels made the cells of several judges.
    """

    sizes: Array
    labels: Array
    mean: Array
    ratio: float

    @classmethod
    def of(cls, judged: Judged, cell: Array, level: float, keys: Array | None = None) -> Counts:
        """Count them; ``keys`` are of the clusters of the labelled rows, (label,)."""
        sizes, at = np.bincount(cell).astype(float), cell[judged.row]
        labels = np.bincount(at, minlength=len(sizes)).astype(float)
        mean = np.where(
            labels > 0, np.bincount(at, judged.truth, len(sizes)) / np.maximum(labels, 1), 0.5
        )
        rest, within_cells = judged.truth - mean[at], float(labels @ (mean * (1 - mean)))
        freedom = len(at) - len(sizes)
        wide = (student_quantile(level, freedom) / normal_quantile(level)) ** 2
        unseen = _unseen_spread(judged.truth)
        spread = wide * (float(rest @ rest) + unseen)
        ratio = (
            min(1.0, spread / (within_cells + unseen)) if within_cells > 0 and freedom > 0 else 1.0
        )
        if (
            (judges := len(judged.names)) > 1 < len(sizes)
            and not judged.selected
            and freedom > judges
        ):
            # the weights that put the cells together are of these labels
            ratio *= len(at) / (len(at) - judges)
        if keys is not None and len(np.unique(keys)) < len(keys):
            ratio *= Clusters.of(
                keys, rest * (sizes / sizes.sum() / np.maximum(labels, 1))[at]
            ).effect(level)
        return cls(sizes, labels, mean, max(ratio, 1e-6))

    def interval(self, level: float) -> tuple[float, float, float]:
        """Value and ends, as `combined` has them."""
        return combined(self.sizes, self.labels, self.mean, level, self.ratio)

    def labels_for(self, width: float, level: float) -> int | None:
        """Labels, spread over the cells as rows are, for so short an interval; None where all rows do not suffice."""
        share = self.sizes / self.sizes.sum()
        mean = (self.labels * self.mean + 0.5) / (self.labels + 1)

        def short(count: int) -> bool:
            _, lower, upper = combined(self.sizes, count * share, mean, level, self.ratio)
            return upper - lower <= width

        rows = int(self.sizes.sum())
        count = bisect_left(range(1, rows + 1), True, key=short) + 1
        return count if count <= rows else None


def _few_levels(score: Array) -> tuple[Array, Array]:
    """The different grades and which of them each row has; of many, the means of tenths of the rows in their order."""
    levels, level = np.unique(score, return_inverse=True)
    if len(levels) <= _LEVELS:
        return levels, level
    rank = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    tenth = rank * _LEVELS // len(score)
    return np.bincount(tenth, score) / np.bincount(tenth), tenth


def _joined_neighbours(fitted: Array, sizes: Array, labels: Array, limit: int) -> list[list[int]]:
    """Patterns in the order of their fitted labels, neighbours joined by Ward's criterion until at most ``limit``
    groups are left and each has enough labels. Arrays of shape (pattern,): rows and labels of each.
    """
    groups = [[int(p)] for p in np.argsort(fitted, kind="stable")]
    while len(groups) > 1:
        few = [labels[group].sum() < _LEAST_LABELS for group in groups]
        if len(groups) <= limit and not any(few):
            break
        size = np.array([sizes[group].sum() for group in groups], dtype=float)
        mean = np.array([sizes[group] @ fitted[group] for group in groups]) / size
        cost = size[1:] * size[:-1] / (size[1:] + size[:-1]) * np.diff(mean) ** 2
        if any(few):
            cost[[not (a or b) for a, b in zip(few[1:], few, strict=False)]] = np.inf
        at = int(np.argmin(cost))
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
    return groups


def corrections(
    judged: Judged, counts: Counts, alone: Counts, level: float, seed: int, clustered: bool
) -> tuple[list[Estimate], list[str]]:
    """Every interval that verdicts and labels allow, the one to believe first, labels alone second; and what is not
    given. ``counts`` are of the judges' cells, ``alone`` of all rows as one. Where labelled rows are no random sample,
    or depend on each other, only what allows for that is there.
    """
    row, truth, labels, rows = judged.row, judged.truth, len(judged.row), judged.rows
    estimates, not_given = list[Estimate](), list[str]()

    def add(
        name: str, three: tuple[float, float, float], kind: Kind, assumes: str, key: str
    ) -> None:
        estimates.append(of_labels(name, three, level, kind, assumes, key, labels))

    hits = float(truth.sum())
    at_random = "the labelled rows were drawn at random"
    selected = judged.selected
    if labels == rows:
        add("count", (hits / rows,) * 3, "exact", "every row has a label", "clopper1934")
        return estimates, not_given
    judges = "the judge says" if len(judged.names) == 1 else "the judges say"
    within = f"of the rows on which {judges} the same, those with labels were drawn at random"
    if len(counts.sizes) > 1:
        add(
            "by-verdict",
            counts.interval(level),
            "conditional" if selected else "asymptotic",
            within,
            "zou2008",
        )
    if selected:
        return estimates, [
            f"labels alone, ppi and error rates: the labelled rows are no random sample: {selected}"
        ]
    if clustered or not np.isin(truth, (0, 1)).all():
        add("labels-alone", alone.interval(level), "asymptotic", at_random, "newcombe1998")
    else:
        exact = (hits / labels, *exact_interval(int(hits), labels, rows, level))
        add("labels-alone", exact, "exact", at_random, "clopper1934")
    if clustered:
        return estimates, ["ppi and error rates: they take rows as independent"]
    mean_score = judged.scores.mean(axis=0)
    if labels <= _MOST_ROUNDS:
        bet = SampledRows.evenly(row, truth, seed).bet(mean_score, _SLOPE, level)
        add("ppi-betting", bet, "exact", at_random, "waudbysmith2024")
    if labels >= LEAST_TESTED:
        best = mean_score if len(judged.names) == 1 else judged.crossfitted(seed)
        three = ppi_plus_plus(truth, best[row], float(best.mean()), rows, level)
        add("ppi++", three, "asymptotic", f"{at_random}, {ENOUGH}", "angelopoulos2023")
    carried = (
        "the judges err on all rows as often as on labelled ones, on good and on bad rows apart"
    )
    if not judged.binary or not 0 < hits < labels:
        not_given.append(
            "error rates: they need judges and people that say yes or no, and labels of both kinds"
        )
        return estimates, not_given
    for name, three, kind, key in _by_error_rates(judged, level):
        add(name, three, kind, carried, key)
    return estimates, not_given


def _by_error_rates(
    judged: Judged, level: float
) -> Iterator[tuple[str, tuple[float, float, float], Kind, str]]:
    """Estimates by how often judges that say yes or no err: name, value and ends, kind, key of the source."""
    if len(judged.names) == 1:
        yield "rogan-gladen", rogan_gladen(judged, level), "asymptotic", "lee2025"
    votes = judged.scores > 0.5
    reference = Predictions.from_arrays(votes=votes[:, judged.row], correct=judged.truth > 0)
    latent = (
        CorrectedVotes(level=level).fit(reference).estimate(Predictions.from_arrays(votes=votes))
    )
    if latent.details["p_chance"] <= 0.05:
        ends = (latent.value, latent.lower, latent.upper)
        yield "votes-corrected", ends, "conditional", "rogan1978"


def rogan_gladen(judged: Judged, level: float) -> tuple[float, float, float]:
    """(p + q0 - 1) / (q0 + q1 - 1), p the share that the one judge passes, q1 and q0 its sensitivity and specificity.

    The interval has the variance of all three, after z^2 / 2 rows more of either verdict and a label more of either
    kind, and Lang and Reiczigel's shift of its middle; (0, 1) where q0 + q1 is 1 or less. Source: Lee et al. (2025);
    Lang and Reiczigel (2014).
    """
    passed, truth = judged.scores[0][judged.row] > 0.5, judged.truth > 0
    hits, rest = float(truth.sum()), float((~truth).sum())
    p = float((judged.scores[0] > 0.5).mean())
    q1 = float(passed[truth].mean())
    q0 = float((~passed)[~truth].mean())
    youden = q1 + q0 - 1
    value = min(max((p + q0 - 1) / youden, 0.0), 1.0) if youden > 0 else 0.5
    z, rows = normal_quantile(level), judged.rows
    rows_more, m1, m0 = rows + z * z, hits + 2, rest + 2
    p, q1, q0 = (rows * p + z * z / 2) / rows_more, (hits * q1 + 1) / m1, (rest * q0 + 1) / m0
    youden = q1 + q0 - 1
    if youden <= 0:
        return value, 0.0, 1.0
    middle = (p + q0 - 1) / youden
    b0, b1 = q0 * (1 - q0) / m0, q1 * (1 - q1) / m1
    spread = math.sqrt(p * (1 - p) / rows_more + (1 - middle) ** 2 * b0 + middle**2 * b1) / youden
    middle += 2 * z * z * (middle * b1 - (1 - middle) * b0)
    return value, middle - z * spread, middle + z * spread


@dataclass(frozen=True)
class JudgeRates(Record):
    """How one judge stands to people: the share of rows that it passes (or its mean grade), rows without a verdict;
    of yes and no agreement, sensitivity, specificity, kappa, and labelled rows by both; of grades the correlation.
    None where the labels do not tell. ``yes`` is what it writes for yes.
    """

    judge: str
    accepted: float
    unknown: int
    yes: str = ""
    agreement: Interval | None = None
    kappa: Interval | None = None
    sensitivity: Interval | None = None
    specificity: Interval | None = None
    correlation: Interval | None = None
    counts: Mapping[str, int] | None = None


def rates_of(
    judged: Judged, counts: Counts, cell: Array, level: float, seed: int
) -> tuple[JudgeRates, ...]:
    """The rates of each judge among all rows, from the labelled ones: as they are where they are a random sample, else
    weighed so that each cell counts as it does among all rows, and none where a cell has no label. Shares have Clopper
    and Pearson's interval (for Kish's number of labels), kappa that of a Dirichlet posterior, a correlation Fisher's.
    """
    selected, truth, weight = judged.selected is not None, judged.truth, np.ones(len(judged.row))
    if selected:
        weight = (counts.sizes / np.maximum(counts.labels, 1))[cell[judged.row]]
    # sums to Kish's number of labels
    weight = weight * weight.sum() / (weight @ weight) / max(counts.ratio, 1)
    exact: Kind = "exact" if (weight == 1).all() else "asymptotic"

    def around(value: float, low: float, high: float, kind: Kind = "asymptotic") -> Interval:
        return Interval(value, min(float(low), value), max(float(high), value), level, kind)

    def share(hits: Array, of: Array) -> Interval | None:
        total = float(weight @ of)
        if total <= 0:
            return None
        value = float(weight @ (hits & of)) / total
        return around(value, *clopper_pearson(value * total, total, level), exact)

    rng, out = np.random.default_rng([seed, 0x4A99]), []
    for name, verdict, score in zip(judged.names, judged.verdicts, judged.scores, strict=True):
        rates = JudgeRates(name, float(np.nanmean(verdict)), int(np.isnan(verdict).sum()))
        labelled_scores, labels = score[judged.row], float(weight.sum())
        passed, good = labelled_scores > 0.5, truth > 0.5
        if not len(truth) or (selected and not counts.labels.all()):
            pass
        elif judged.binary:
            four = {
                "both_pass": passed & good,
                "judge_passes": passed & ~good,
                "person_passes": ~passed & good,
                "both_fail": ~passed & ~good,
            }
            table = np.array([float(weight @ cells) for cells in four.values()])
            kappa_ends = quantiles(
                _kappa(rng.dirichlet(table + 0.5, 4_000)), [(1 - level) / 2, (1 + level) / 2]
            )
            rates = replace(
                rates,
                sensitivity=share(passed, good),
                specificity=share(~passed, ~good),
                agreement=share(passed == good, good | ~good),
                kappa=around(float(_kappa(table)), *kappa_ends),
                counts={key: int(cells.sum()) for key, cells in four.items()},
            )
        elif labels > 4 and labelled_scores.var() > 0 and truth.var() > 0:
            both = np.cov(labelled_scores, truth, aweights=weight)
            value = min(max(float(both[0, 1] / math.sqrt(both[0, 0] * both[1, 1])), -1.0), 1.0)
            middle = math.atanh(value * (1 - 1e-12))
            half = normal_quantile(level) / math.sqrt(labels - 3)
            rates = replace(
                rates, correlation=around(value, math.tanh(middle - half), math.tanh(middle + half))
            )
        out.append(rates)
    return tuple(out)


def _kappa(table: Array) -> Array:
    """Cohen's kappa of tables (..., 4): both pass, the judge alone, the person alone, both fail."""
    a, b, c, d = np.moveaxis(table / table.sum(axis=-1, keepdims=True), -1, 0)
    chance = (a + b) * (a + c) + (c + d) * (b + d)
    return np.asarray(
        np.where(chance < 1, (a + d - chance) / np.where(chance < 1, 1 - chance, 1), 0.0)
    )


@dataclass(frozen=True)
class Bias(Record):
    """How much more often a judge says yes (or the higher its verdict) at equal labels ``where`` a column is so, with
    its p-value, and that corrected by Holm for all looks.
    """

    judge: str
    column: str
    where: str
    difference: float
    p_value: float
    corrected: float


def biases(judged: Judged, columns: Mapping[str, Array]) -> tuple[Bias, ...]:
    """Whether verdicts depend on columns, (label,), numbers or texts, where people say the same; least p-value first.

    A number counts by its ranks and is shown as its upper half against the lower, of texts the level that differs most.
    T = sum_h X_h' (v_h - mean v_h) over strata h of equal labels, its variance that of permutations within them,
    chi^2 = T' V^-1 T. Source: Mantel (1963), Landis, Heyman and Koch (1978).
    """
    strata = np.unique(np.round(judged.truth * 4), return_inverse=True)[1]
    out: list[Bias] = []
    for name, values in columns.items():
        trait = _Trait.of(values)
        if trait is None:
            continue
        h = strata[trait.is_known]
        for judge, score in zip(judged.names, judged.scores, strict=True):
            v = score[judged.row][trait.is_known]
            gaps = {where: _gap(v, split, h) for where, split in trait.splits.items()}
            where = max(gaps, key=lambda where: abs(gaps[where]))
            out.append(Bias(judge, name, where, gaps[where], _mantel(trait.design, v, h), 1.0))
    corrected = holm([bias.p_value for bias in out])
    corrected_biases = [replace(bias, corrected=p) for bias, p in zip(out, corrected, strict=True)]
    return tuple(sorted(corrected_biases, key=lambda bias: bias.p_value))


@dataclass(frozen=True, eq=False)
class _Trait:
    """A column that verdicts may depend on: which rows are known, (label,); what is tested of these, (row, effect); and
    the splits that show it, by name.
    """

    is_known: Array
    design: Array
    splits: Mapping[str, Array]

    @classmethod
    def of(cls, values: Array) -> _Trait | None:
        """The trait in a column of numbers or texts; None where too few rows are known, or hardly two alike."""
        numbers = values.dtype.kind == "f"
        is_known = (
            np.isfinite(values) if numbers else np.array([value is not None for value in values])
        )
        known_values = values[is_known] if numbers else values[is_known].astype(str)
        levels, at, times = np.unique(known_values, return_inverse=True, return_counts=True)
        often = np.flatnonzero(times >= _LEAST_LABELS)
        if len(levels) < 2 or len(known_values) < 2 * LEAST_TESTED or not (numbers or len(often)):
            return None
        if not numbers:
            splits = {str(levels[i]): at == i for i in often}
            return cls(is_known, (at[:, None] == often).astype(float), splits)
        ranks = (np.cumsum(times) - times / 2)[at][:, None].astype(float)
        middle = float(np.median(known_values))
        upper = known_values > middle
        if not upper.any():
            upper = known_values >= middle
        return cls(is_known, ranks, {f"above {middle:.6g}": upper})


def _mantel(design: Array, v: Array, strata: Array) -> float:
    """The p-value of "v does not depend on the design at equal strata", as `biases` has it."""
    from scipy.special import chdtrc

    total, variance = np.zeros(design.shape[1]), np.zeros((design.shape[1],) * 2)
    for stratum in (strata == s for s in np.unique(strata) if (strata == s).sum() > 1):
        x = design[stratum] - design[stratum].mean(axis=0)
        y = v[stratum] - v[stratum].mean()
        total += x.T @ y
        variance += x.T @ x * float(y @ y) / (len(y) - 1)
    rank = int(np.linalg.matrix_rank(variance))
    if not rank:
        return 1.0
    return float(chdtrc(rank, max(float(total @ np.linalg.pinv(variance) @ total), 0.0)))


def _gap(v: Array, split: Array, strata: Array) -> float:
    """Mean difference of v inside and outside a split at equal strata (Mantel and Haenszel's weights)."""
    gap = weights = 0.0
    for h in np.unique(strata):
        a, b = v[(strata == h) & split], v[(strata == h) & ~split]
        if len(a) and len(b):
            weight = len(a) * len(b) / (len(a) + len(b))
            gap, weights = gap + weight * float(a.mean() - b.mean()), weights + weight
    return gap / weights if weights else 0.0


def changes(old: Judged, new: Judged) -> tuple[Bias, ...]:
    """Whether the judges of the new run pass good rows (``column`` "sensitivity") or bad ones ("false alarms") more
    often than those of the same names on the old one, as `biases` has it; corrected for all together.
    """
    both = [name for name in new.names if name in old.names]
    scores = np.hstack(
        [run.scores[[run.names.index(name) for name in both]][:, run.row] for run in (old, new)]
    )
    truth = np.concatenate([old.truth, new.truth])
    both_runs = Judged(scores, np.arange(len(truth)), truth, tuple(both))
    which = np.repeat(["old", "new"], [len(old.row), len(new.row)])
    looks: list[Bias] = []
    for column, good in (("sensitivity", True), ("false alarms", False)):
        kind = (truth > 0.5) == good
        looks += biases(both_runs.part(kind), {column: (which[kind] == "new").astype(float)})
    corrected = holm([look.p_value for look in looks])
    return tuple(
        replace(look, where="the new run", corrected=p)
        for look, p in zip(looks, corrected, strict=True)
    )


def rows_to_label(judged: Judged, count: int, seed: int) -> Array:
    """Rows without a label to label next, (count,), spread over what the judges say: each is as likely as any other.

    They are put into the order of how many judges pass them and of the pattern, at random within it, and every k-th is
    taken, from a random one on: each verdict gets its share, and so do rows on which judges disagree.
    """
    free = np.setdiff1d(np.arange(judged.rows), judged.row)
    rng = np.random.default_rng([seed, 0x5E67, len(judged.row)])
    scores = judged.scores[:, free]
    order = free[np.lexsort((rng.random(len(free)), *scores, scores.mean(axis=0)))]
    return np.asarray(
        rng.permutation(
            order[((np.arange(count) + rng.random()) * len(free) / count).astype(np.int64)]
        )
    )
