"""The diagnostician: fit on the reference, look at the target batch by batch, say what kind of shift it is."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Literal, Self, TypeVar

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..estimators import Sums
from ..estimators.target_prior import (
    LabelCounts,
    ShiftStatistics,
    ShiftTest,
    conditionals,
    fit_prior,
    label_shift_test,
    no_shift_test,
    pooled_statistic,
)
from ..inference.domain_classifier import DomainComparison, compare_samples, domain_sample
from ..inference.method import Method
from ..inference.row_sample import RowSample
from ..intervals import holm, quantiles
from ..plain import Json, Strings
from ..predictions import Predictions
from ..registry import those
from ..results import percent
from ..results.diagnosis import Diagnosis, Finding, ShiftKind, UserColumn
from ..scores import ModelAgreement, Score, natural_confidence
from .column_drift import ColumnDrift, columns_finding

Strength = Literal["strong", "weak", "none"]
Tested = TypeVar("Tested", bound=ShiftTest)


def reading_confidence() -> Strings:
    """Methods that read the confidence, which an alarm about it speaks against."""
    return those("estimator", lambda cls: cls.traits.reads == "confidence")


def asking_for(stable: str) -> Strings:
    """Methods that ask this to be unchanged under the shift: "P(x | y)", as label shift has it, or "P(y | x)"."""
    return those("estimator", lambda cls: cls.traits.stable == stable)


_ENOUGH_POWER = 0.5
_DROP = 0.05  # of accuracy that the test should notice
_DRAWS = 40


_NEAR = (0.2, 4.0)  # times the level: p-values of few draws that may lie on either side of it
# draws; many where the verdict hangs on them and no table of many classes makes them dear
_FEW, _MANY = (
    100,
    1000,
)


def _settled(test: Callable[..., Tested]) -> Tested:
    """The test, of more draws where few leave it to the seed whether the p-value is below the level."""
    few = test()
    near = _NEAR[0] * _LEVEL < few.p_value < _NEAR[1] * _LEVEL
    return test(draws=_MANY) if near and len(few.null) >= _FEW else few


def power_against_harder(label_counts: LabelCounts, rows: int, null: Array, seed: int = 0) -> float:
    """Chance that the test of label shift notices a fall of accuracy by 5 points; ``null``: draws of its statistic."""
    share = label_counts.rows / label_counts.total
    rate = (label_counts.hits + 0.5) / (label_counts.rows + 1)
    goal = float(share @ rate) - _DROP
    low, high = 0.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        weights = share * np.exp(-middle * rate)
        low, high = (middle, high) if weights @ rate / weights.sum() > goal else (low, middle)
    harder = share * np.exp(-high * rate)
    harder /= harder.sum()
    if float(harder @ rate) > goal + _DROP / 2:
        return 0.0
    rng = np.random.default_rng([seed, 0x9C])
    redrawn = rng.multinomial(rows, harder, size=_DRAWS)
    likelihood = conditionals(label_counts)
    # the statistic of the null distribution itself: sparse cells one by one would look like a misfit of their own
    fitted = np.empty(_DRAWS)
    for i, counts in enumerate(redrawn.astype(np.float64)):
        prior = fit_prior(
            likelihood, counts[None], label_counts.prior[None], tolerance=1e-5, most_cycles=40
        )
        fitted[i] = pooled_statistic(label_counts, counts[None], rows * likelihood.mix(prior))[0]
    return float(np.mean(fitted > quantiles(null, [1 - _LEVEL])[0]))


def label_shift_finding(label_counts: LabelCounts, counts: Array, seed: int = 0) -> Finding:
    """`label_shift_test` as a finding, with its power; statistic: G over the median of its null distribution."""
    if np.count_nonzero(label_counts.rows_by_label) < 2:
        why = "all labelled reference rows are of one class, so that no other class shares can be fitted"
        return Finding("label shift", f"not tested: {why}")
    test = _settled(partial(label_shift_test, label_counts, counts, seed=seed))
    power = power_against_harder(label_counts, int(counts.sum()), test.null, seed)
    refuted = test.is_misfit and not label_counts.is_thin
    trusted = not refuted and power >= _ENOUGH_POWER
    if refuted:
        says = "a change in class frequencies alone cannot explain it"
    elif trusted:
        says = (
            "a change in class frequencies explains what is seen (a change of the inputs may, too)"
        )
    else:
        says = f"a change in class frequencies fits, but so would most else (power {percent(power, 0)})"
    supports, refutes = (asking_for("P(x | y)") if holds else () for holds in (trusted, refuted))
    details = {"prior": test.prior.tolist(), "reference_prior": label_counts.prior.tolist()}
    strength: Strength = "strong" if refuted or trusted else "none"
    return Finding(
        "label shift", says, test.ratio, test.p_value, power, supports, refutes, strength, details
    )


_STRONG, _LEAST_RATIO = 2.0, 1.2


def change_of_counts(label_counts: LabelCounts, counts: Array, seed: int = 0) -> Finding:
    """G test of `no_shift_test` as a finding; statistic: G over the median of its null distribution."""
    test = _settled(partial(no_shift_test, label_counts.rows, counts, seed=seed))
    # a bootstrap's p-value cannot be very small
    moved = test.p_value < _LEVEL and test.ratio > _LEAST_RATIO
    says, details = "predictions and confidence are distributed ", {"cells": len(label_counts) - 1}
    if not moved:
        says += "as on the reference"
        return Finding(
            "change",
            says,
            test.ratio,
            test.p_value,
            supports=("source",),
            strength="none",
            details=details,
        )
    says += f"unlike the reference's (G is {test.ratio:.1f} times chance)"
    strength: Strength = "strong" if test.ratio > _STRONG else "weak"
    return Finding(
        "change",
        says,
        test.ratio,
        test.p_value,
        refutes=("source",),
        strength=strength,
        details=details,
    )


def change_of_mean(
    name: str, reference: tuple[float, float, int], target: tuple[float, float, int], what: str
) -> Finding:
    """z test of the mean of a score; each side is (sum, sum of squares, rows)."""
    means, variances = [], []
    for total, squares, rows in (reference, target):
        mean = total / rows
        means.append(mean)
        variances.append((max(squares / rows - mean * mean, 0.0) * rows + 1) / (rows + 1) / rows)
    gap = means[1] - means[0]
    z = gap / sum(variances) ** 0.5
    p_value = math.erfc(abs(z) / math.sqrt(2))
    moved = p_value < _LEVEL
    says = f"{what} stayed at {means[1]:.3f}"
    if moved:
        says = f"{what} {'rose' if gap > 0 else 'fell'} from {means[0]:.3f} to {means[1]:.3f}"
    refutes = ("source",) if moved and name == "confidence" else ()
    details = {"reference": means[0], "target": means[1], "reads_it": list(reading_confidence())}
    strength: Strength = "none" if not moved else "strong" if p_value < 1e-4 else "weak"
    return Finding(
        name, says, float(z), p_value, refutes=refutes, strength=strength, details=details
    )


_LEAST_GAP, _ALARM_LEVEL = 0.05, 1e-3


def alarm_finding(
    confidence: Finding | None, agreement: Finding | None, overlap: Finding | None
) -> Finding | None:
    """Confidence that moves far less than agreement, or not at all where inputs are new (Trivedi et al. 2023)."""
    if confidence is None or (agreement is None and overlap is None):
        return None
    fall = confidence.details["reference"] - confidence.details["target"]
    gap, reason = 0.0, ""
    if agreement is not None and (agreement.p_value or 0.0) < _ALARM_LEVEL:
        gap = agreement.details["reference"] - agreement.details["target"] - fall
        reason = f"models agree less by {percent(gap + fall)}"
    is_unlike = overlap is not None and bool(overlap.refutes)
    if is_unlike and gap < _LEAST_GAP and fall < _LEAST_GAP:
        reason = "the inputs are new to the model"
    alarmed = gap >= _LEAST_GAP or (is_unlike and fall < _LEAST_GAP)
    if not alarmed:
        return Finding("confidence alarm", "confidence moves as the other signs do", float(gap))
    says = f"{reason}, yet confidence fell by {percent(max(fall, 0.0))} only: it does not react to the shift"
    strength: Strength = "strong" if gap >= 2 * _LEAST_GAP else "weak"
    return Finding(
        "confidence alarm", says, float(gap), refutes=reading_confidence(), strength=strength
    )


_LEVEL = 0.05
_FEW_ROWS = 30  # on either side, below which a test that sees nothing says nothing
_COVERED = 0.9  # of the target, above which other class shares may explain an uneven re-weighting
_OVERLAP_LEVEL = 0.01
_LEAST_COVERED = 0.3  # of the target, by the density ratios
_LEAST_SHARE = 0.08  # of the reference's rows that the re-weighted reference is worth


class Diagnostician(Method[Sums, Diagnosis]):
    """Which kind of shift explains the target? ``fit(reference).diagnose(target)``.

    The tests are: are cells of (predicted class, confidence) filled as on the reference; did mean confidence, did the
    agreement of members move; does some class prior explain the cells; can a classifier tell the rows apart, and what
    is a re-weighted reference worth; does confidence see what others see; are columns odd. p-values of the tests of
    change are adjusted after Holm. State: counts, sums and a bounded sample of rows, so it merges. Source: the kinds
    after Moreno-Torres et al. (2012).

    >>> from oodometer.testing import example_record
    >>> Diagnostician().fit(example_record()).diagnose(example_record(seed=3)).kind
    'none'
    """

    name = "diagnosis"
    also_reads = ("members", "features")
    shift_statistics: ShiftStatistics
    _confidence: Score | None
    _agreement: Score | None
    _drift: ColumnDrift | None
    _here: Sums

    def __init__(self, *, seed: int = 0, columns: Sequence[UserColumn] = ()) -> None:
        """``columns`` are the user's own, where `features` were made of them."""
        self.seed, self.columns = seed, tuple(columns)

    def fit(self, reference: Predictions) -> Self:
        """A fitted copy."""
        fitted = copy.copy(self)
        fitted.shift_statistics = ShiftStatistics().fit(reference)
        try:
            fitted._confidence = natural_confidence(reference)
        except NotApplicable:
            fitted._confidence = None
        fitted._agreement = fitted._drift = None
        if reference.members is not None:
            agreement = ModelAgreement().fit(reference)
            fitted._agreement = None if agreement.why_not(reference) else agreement
        if reference.features is not None:
            fitted._drift = ColumnDrift(self.columns, seed=self.seed).fit(reference)
        fitted._here = fitted.summarize(reference)
        return fitted

    @property
    def drift(self) -> ColumnDrift | None:
        """What a fitted one looks at the user's columns with; None without features."""
        return self._drift

    def summarize(self, batch: Predictions, shift: Sums | None = None) -> Sums:
        """Counts of cells (``shift``, where `shift_statistics` counted them already), moments of confidence and
        agreement, a bounded sample of rows.
        """
        shift = self.shift_statistics.summarize(batch) if shift is None else shift
        state = Sums(rows=batch.rows, shift=shift["counts"])
        for key, score in (("confidence", self._confidence), ("agreement", self._agreement)):
            moments = np.zeros(3)
            with suppress(NotApplicable):
                if score is not None:
                    values = score(batch)
                    sums = values.sum(dtype=np.float64), np.square(values, dtype=np.float64).sum()
                    moments = np.array([*sums, batch.rows])
            state[key] = moments
        state["sample"] = domain_sample(batch, seed=self.seed)
        if self._drift is not None:
            state["columns"] = self._drift.summarize(batch)
        return state

    def diagnose(self, target: Predictions) -> Diagnosis:
        """The diagnosis of a target held in memory."""
        return self.finish(self.summarize(target))

    def finish(self, state: Sums) -> Diagnosis:
        """Run the tests on what was seen."""
        findings: dict[str, Finding] = {}
        cells, counts = self.shift_statistics.label_counts, state["shift"]
        statistics = self.shift_statistics.finish(Sums(rows=state["rows"], counts=counts))
        if cells is not None and statistics:
            findings["change"] = change_of_counts(cells, counts, self.seed)
        findings |= self._changes_of_means(state)
        overlap = self._overlap(state["sample"])
        if overlap is not None:
            findings["overlap"] = overlap
        changed = _anything_changed(findings.values())
        if cells is not None and statistics:
            label = label_shift_finding(cells, counts, self.seed)
            if not changed and not label.refutes and label.statistic is not None:
                nothing = "nothing moved that other class shares would explain"
                label = replace(label, says=nothing, supports=(), strength="none")
            findings["label shift"] = label
        alarm = alarm_finding(findings.get("confidence"), findings.get("agreement"), overlap)
        columns = self._columns(state["sample"])
        last = {"confidence alarm": alarm, "columns": columns}
        findings |= {name: finding for name, finding in last.items() if finding is not None}
        kind, why = _kind(findings, changed)
        fewest = min(state["rows"], self._here["rows"])
        if kind == "none" and fewest < _FEW_ROWS:
            few = "a single row" if fewest == 1 else f"only {fewest} rows"
            kind, why = "unknown", f"no test could see a difference with {few} on one side"
        moved = () if self._drift is None else self._drift.finish(state["columns"])
        return Diagnosis(kind, tuple(findings.values()), why, statistics, moved)

    def _changes_of_means(self, state: Sums) -> dict[str, Finding]:
        """Whether mean confidence and the agreement of members moved, where both sides have them."""
        findings = {}
        for name, what in (
            ("confidence", "mean confidence"),
            ("agreement", "the agreement of models"),
        ):
            reference, target = self._here[name], state[name]
            if reference[2] and target[2]:
                findings[name] = change_of_mean(name, tuple(reference), tuple(target), what)
        return findings

    def _columns(self, sample: RowSample) -> Finding | None:
        """What is odd about the columns of features and probabilities that both sides have."""
        reference, target = self._here["sample"].arrays, sample.arrays

        def both(name: str) -> tuple[Array, Array] | None:
            alike = name in reference and name in target and len(target[name])
            if not alike or reference[name].shape[1:] != target[name].shape[1:]:
                return None
            return reference[name], target[name]

        columns = () if self._drift is None else self._drift.columns
        return columns_finding(both("features"), both("probabilities"), columns)

    def _overlap(self, sample: RowSample) -> Finding | None:
        mine: RowSample = self._here["sample"]
        widths = {name: values.shape[1:] for name, values in sample.arrays.items()}
        shared = [
            name for name, values in mine.arrays.items() if widths.get(name) == values.shape[1:]
        ]
        if not shared or not len(sample):
            return None
        try:
            comparison = compare_samples(mine.only(shared), sample.only(shared))
        except NotApplicable:
            return None
        return overlap_finding(comparison, "features" in shared)


def _anything_changed(findings: Iterable[Finding]) -> bool:
    """Whether a test of change sees one, after Holm's adjustment."""
    tested = [(f.p_value, f.strength) for f in findings if f.p_value is not None]
    adjusted = holm([p for p, _ in tested])
    return any(
        p < _LEVEL and strength != "none" for p, (_, strength) in zip(adjusted, tested, strict=True)
    )


def _kind(findings: dict[str, Finding], changed: bool) -> tuple[ShiftKind, str]:
    """The kind of shift that the findings amount to, and why."""
    overlap = findings.get("overlap")
    label = findings.get("label shift")
    alarm = findings.get("confidence alarm")
    if not findings:
        return "unknown", "there is nothing in these files that a test could look at"
    explained = (
        label is not None
        and label.supports
        and (overlap is None or overlap.details["covered"] > _COVERED)
    )
    if overlap is not None and overlap.refutes and not explained:
        return "support", overlap.says
    if alarm is not None and alarm.strength == "strong":
        return "support", alarm.says
    if not changed:
        return "none", "no test sees a difference between reference and target"
    if label is None:
        return _kind_without_labels(findings)
    if label.refutes:
        return "covariate", label.says
    inputs_moved = (
        overlap is not None and overlap.strength != "none" and overlap.details["by"] == "features"
    )
    if inputs_moved and overlap is not None and findings["change"].strength == "none":
        # class shares have nothing to explain
        return "covariate", f"{overlap.says}; the outputs did not move"
    if label.supports:
        return "label", label.says
    return "unknown", label.says


def _kind_without_labels(findings: dict[str, Finding]) -> tuple[ShiftKind, str]:
    """The kind of a shift that something sees, where nobody could ask whether class shares explain it; and why."""
    overlap = findings.get("overlap")
    if overlap is not None and overlap.strength != "none":
        return "covariate", overlap.says
    moved = next(
        (f.says for f in findings.values() if f.p_value is not None and f.strength != "none"),
        "it moved",
    )
    return "unknown", f"{moved}, and nothing here tells what kind of shift that is"


def overlap_finding(comparison: DomainComparison, by_features: bool) -> Finding:
    """A classifier of target against reference as a finding; statistic: its AUC (Lopez-Paz and Oquab 2017)."""
    rows = len(comparison.weights)
    share = comparison.effective_rows / rows
    moved = comparison.p_value < _OVERLAP_LEVEL
    is_unlike = moved and (
        comparison.covered < _LEAST_COVERED or (by_features and share < _LEAST_SHARE)
    )
    seen = "features" if by_features else "probabilities"
    if is_unlike:
        says = (
            f"target rows are unlike the reference's by their {seen} (AUC {comparison.auc:.2f}): re-weighted to match, "
            f"{rows} reference rows count as {comparison.effective_rows:.0f}, too few to stand for the target"
        )
    elif moved:
        says = f"target rows differ by their {seen} (AUC {comparison.auc:.2f}), within what the reference holds"
    else:
        says = f"no classifier tells target from reference by their {seen}"
    trusted = moved and not is_unlike and by_features
    supports, refutes = (asking_for("P(y | x)") if holds else () for holds in (trusted, is_unlike))
    strength: Strength = "strong" if moved else "none"
    details: Json = {
        "effective_rows": comparison.effective_rows,
        "reference_rows": rows,
        "covered": comparison.covered,
        "by": seen,
        "learner": comparison.learner,
    }
    return Finding(
        "overlap",
        says,
        comparison.auc,
        comparison.p_value,
        None,
        supports,
        refutes,
        strength,
        details,
    )
