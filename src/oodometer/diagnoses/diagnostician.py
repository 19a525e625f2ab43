"""The diagnostician: fit on the reference, look at the target batch by batch, say what kind of shift it is."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from ..errors import NotApplicable
from ..estimators import Sums
from ..inference.domain_classifier import DomainComparison, compare_samples, domain_sample
from ..inference.method import Method
from ..inference.row_sample import RowSample
from ..predictions import Predictions
from ..results.columns import UserColumn
from ..scores import ModelAgreement, Score, natural_confidence
from .alarm import alarm_finding
from .base import Diagnosis, Finding, ShiftKind, asking_for, holm
from .change import change_of_counts, change_of_mean
from .column_drift import ColumnDrift
from .columns import columns_finding
from .label import label_shift_finding
from .shift_statistics import ShiftStatistics

_LEVEL = 0.05
_FEW_ROWS = 30  # on either side, below which a test that sees nothing says nothing
_COVERED = 0.9  # of the target, above which other class shares may explain an uneven re-weighting
_OVERLAP_LEVEL = 0.01
_LEAST_COVERED = 0.3  # of the target, by the density ratios
_LEAST_SHARE = 0.08  # of the reference's rows that the re-weighted reference is worth


class Diagnostician(Method[Sums, Diagnosis]):
    """Which kind of shift explains the target? ``fit(reference).diagnose(target)``.

    The tests are: are cells of (predicted class, confidence) filled as on the reference; did mean confidence, did
    the agreement of members move; does some class prior explain the cells; can a classifier tell the rows apart, and
    what is a re-weighted reference worth; does confidence see what others see; are columns odd. p-values of the tests
    of change are adjusted after Holm. State: counts, sums and a bounded sample of rows, so it merges.

    Source: the kinds after Moreno-Torres et al. (2012).

    >>> from oodometer.testing import example_record
    >>> Diagnostician().fit(example_record()).diagnose(example_record(seed=3)).kind
    'none'
    """

    name = "diagnosis"
    also_reads = ("members", "features")
    _shift: ShiftStatistics
    _confidence: Score | None
    _agreement: Score | None
    _drift: ColumnDrift
    _here: Sums

    def __init__(self, *, seed: int = 0, columns: Sequence[UserColumn] = ()) -> None:
        """``columns`` are the user's own, where `features` were made of them."""
        self.seed, self.columns = seed, tuple(columns)

    def fit(self, reference: Predictions) -> Self:
        """A fitted copy."""
        fitted = copy.copy(self)
        fitted._shift = ShiftStatistics().fit(reference)
        try:
            fitted._confidence = natural_confidence(reference)
        except NotApplicable:
            fitted._confidence = None
        agreement = ModelAgreement().fit(reference)
        fitted._agreement = None if agreement.why_not(reference) else agreement
        fitted._drift = ColumnDrift(self.columns, seed=self.seed).fit(reference)
        fitted._here = fitted.summarize(reference)
        return fitted

    def summarize(self, batch: Predictions) -> Sums:
        """Counts of cells, moments of confidence and agreement, a bounded sample of rows."""
        state = Sums(rows=len(batch), shift=self._shift.summarize(batch)["counts"])
        for key, score in (("confidence", self._confidence), ("agreement", self._agreement)):
            moments = np.zeros(3)
            if score is not None and score.why_not(batch) is None:
                values = score(batch)
                moments = np.array(
                    [values.sum(dtype=np.float64), np.square(values, dtype=np.float64).sum(), len(batch)]
                )
            state[key] = moments
        state["sample"] = domain_sample(batch, seed=self.seed)
        state["columns"] = self._drift.summarize(batch)
        return state

    def diagnose(self, target: Predictions) -> Diagnosis:
        """The diagnosis of a target held in memory."""
        return self.finish(self.summarize(target))

    def finish(self, state: Sums) -> Diagnosis:
        """Run the tests on what was seen."""
        findings: dict[str, Finding] = {}
        cells, counts = self._shift.label_counts, state["shift"]
        statistics = self._shift.finish(Sums(rows=state["rows"], counts=counts))
        if cells is not None and statistics:
            findings["change"] = change_of_counts(cells, counts, self.seed)
        for key, what in (("confidence", "mean confidence"), ("agreement", "the agreement of models")):
            here, there = self._here[key], state[key]
            if here[2] and there[2]:
                findings[key] = change_of_mean(key, tuple(here), tuple(there), what)
        overlap = self._overlap(state["sample"])
        if overlap is not None:
            findings["overlap"] = overlap
        adjusted = holm({k: f.p_value for k, f in findings.items() if f.p_value is not None})
        changed = any(p < _LEVEL and findings[k].strength != "none" for k, p in adjusted.items())
        if cells is not None and statistics:
            label = label_shift_finding(cells, counts, self.seed)
            if not changed and not label.refutes and label.statistic is not None:
                label = replace(
                    label,
                    says="nothing moved that other class shares would explain",
                    supports=(),
                    strength="none",
                )
            findings["label shift"] = label
        alarm = alarm_finding(findings.get("confidence"), findings.get("agreement"), overlap)
        if alarm is not None:
            findings["confidence alarm"] = alarm
        columns = self._columns(state["sample"])
        if columns is not None:
            findings["columns"] = columns
        kind, why = _kind(findings, changed)
        fewest = min(state["rows"], self._here["rows"])
        if kind == "none" and fewest < _FEW_ROWS:
            few = "a single row" if fewest == 1 else f"only {fewest} rows"
            kind, why = "unknown", f"no test could see a difference with {few} on one side"
        return Diagnosis(kind, tuple(findings.values()), why, statistics, self._drift.finish(state["columns"]))

    def _overlap(self, sample: RowSample) -> Finding | None:
        mine: RowSample = self._here["sample"]
        shared = [
            name
            for name, values in mine.arrays.items()
            if name in sample.arrays and sample.arrays[name].shape[1:] == values.shape[1:]
        ]
        if not shared or not len(sample):
            return None
        here, there = (replace(s, arrays={name: s.arrays[name] for name in shared}) for s in (mine, sample))
        try:
            found = compare_samples(here, there)
        except NotApplicable:
            return None
        return overlap_finding(found, "features" in shared)

    def _columns(self, sample: RowSample) -> Finding | None:
        here, there = self._here["sample"].arrays, sample.arrays
        pairs = [
            (here[k], there[k])
            if k in here and k in there and here[k].shape[1:] == there[k].shape[1:] and len(there[k])
            else None
            for k in ("features", "probabilities")
        ]
        features, probabilities = pairs
        return columns_finding(features, probabilities, self._drift.columns)


def _kind(findings: dict[str, Finding], changed: bool) -> tuple[ShiftKind, str]:
    """The kind of shift that the findings amount to, and why."""
    overlap, label, alarm = (
        findings.get("overlap"),
        findings.get("label shift"),
        findings.get("confidence alarm"),
    )
    if not findings:
        return "unknown", "there is nothing in these files that a test could look at"
    explained = label is not None and label.supports and (overlap is None or overlap.details["covered"] > _COVERED)
    if overlap is not None and overlap.refutes and not explained:
        return "support", overlap.says
    if alarm is not None and alarm.strength == "strong":
        return "support", alarm.says
    if not changed:
        return "none", "no test sees a difference between reference and target"
    if label is None:
        if overlap is not None and overlap.strength != "none":
            return "covariate", overlap.says
        moved = next((f.says for f in findings.values() if f.p_value is not None and f.strength != "none"), "it moved")
        return "unknown", f"{moved}, and nothing here tells what kind of shift that is"
    if label.refutes:
        return "covariate", label.says
    moved_unseen = overlap is not None and overlap.strength != "none" and overlap.details["by"] == "features"
    if moved_unseen and overlap is not None and findings["change"].strength == "none":
        return "covariate", f"{overlap.says}; the outputs did not move"  # so that class shares have nothing to explain
    if label.supports:
        return "label", label.says
    return "unknown", label.says


def overlap_finding(found: DomainComparison, by_features: bool) -> Finding:
    """A classifier of target against reference: its AUC, and what the re-weighted reference would be worth in rows.

    Statistic: AUC (0.5 = cannot tell). Overlap is denied where the density ratios cover less than 30 % of the target,
    and, where inputs are seen (`by_features`), where their effective sample size is below 8 % of the reference; shares
    of probabilities alone may be that uneven after a change of class shares. Source: Lopez-Paz and Oquab (2017) for the
    classifier as a two-sample test; Kish (1965) for the effective sample size.

    >>> import numpy as np
    >>> overlap_finding(DomainComparison(0.99, 0.01, 0.0, np.ones(100), 3.0, 1.0, "logistic"), True).refutes[0]
    'im'
    """
    rows = len(found.weights)
    share = found.effective_rows / rows
    moved = found.p_value < _OVERLAP_LEVEL
    apart = moved and (found.covered < _LEAST_COVERED or (by_features and share < _LEAST_SHARE))
    seen = "features" if by_features else "probabilities"
    if apart:
        says = (
            f"target rows are unlike the reference's by their {seen} (AUC {found.auc:.2f}): {rows} reference rows are "
            f"worth {found.effective_rows:.0f}, so no re-weighting of them stands for the target"
        )
    elif moved:
        says = f"target rows differ by their {seen} (AUC {found.auc:.2f}), within what the reference holds"
    else:
        says = f"no classifier tells target from reference by their {seen}"
    return Finding(
        "overlap",
        says,
        found.auc,
        found.p_value,
        supports=asking_for("P(y | x)") if moved and not apart and by_features else (),
        refutes=asking_for("P(y | x)") if apart else (),
        strength="strong" if moved else "none",
        details={
            "effective_rows": found.effective_rows,
            "reference_rows": rows,
            "covered": found.covered,
            "by": seen,
            "learner": found.learner,
        },
    )
