"""The contract of an estimator: fit on labelled records, summarize unlabelled batches, merge, finish."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..inference.method import Method
from ..inference.method import Sums as Sums
from ..intervals import check_level, wilson_ends
from ..plain import Json, Strings
from ..predictions import Predictions
from ..results import Estimate, Kind
from ..scores.base import lacking

if TYPE_CHECKING:
    from .expected_classes import Expectation

NOT_ARGMAX = "does not apply: `prediction` is a decision, not the class of highest probability"


class ReferenceGap(NamedTuple):
    """By how much the accuracy of the reference is above the mean of a score: its value, variance and rows."""

    value: float
    variance: float
    rows: int


@dataclass(frozen=True)
class Traits:
    """What kind of method it is, for those who choose among methods; all of it may be left out, as most plugins do.

    family, order : methods of a family differ in a detail and have one voice where all are counted; place in tables.
    cost, heavy : "quick" ones are tried on a hundred simulated targets, "slow" ones run once; left out for slices.
    reads, stable : "confidence" or "models", what it looks at; "P(x | y)" or "P(y | x)", what must be unchanged.
    voice, in_panel, in_middle : place in its family where no trials choose (0: none); heard where the reference is too
        small to say which method is best; one of the plain methods whose middle stands beside what trials weigh.
    favour : weight between methods that trials cannot tell apart, from natural shifts.
    runs_as, also_reads : names under which it runs by default (None: its own); fields that it looks at, too.
    beyond_overlap, argmax_only, needs_labels : asks for no overlap of target and reference; speaks of the class of
        highest probability alone; learns from labelled reference rows.
    raw : takes probabilities as the model gave them, unless a calibrator is asked for by name.
    """

    family: str = "other"
    order: int = 1000
    cost: Literal["quick", "slow"] = "quick"
    reads: Literal["", "confidence", "models"] = ""
    stable: Literal["", "P(x | y)", "P(y | x)"] = ""
    voice: int = 0
    in_panel: bool = False
    favour: float = 1.0
    runs_as: Strings | None = None
    in_middle: bool = False
    beyond_overlap: bool = False
    heavy: bool = False
    argmax_only: bool = False
    needs_labels: bool = True
    also_reads: Strings = ()
    raw: bool = False

    def check(self) -> None:
        """`TypeError` for an odd word of a plugin, which must not stop who reads it later; asked as it registers."""
        favour: Any = self.favour
        for name, fits, expected in (
            ("family", isinstance(self.family, str), "a text"),
            ("order", isinstance(self.order, int), "a whole number"),
            ("cost", self.cost in ("quick", "slow"), '"quick" or "slow"'),
            ("reads", self.reads in ("", "confidence", "models"), '"confidence" or "models"'),
            ("stable", self.stable in ("", "P(x | y)", "P(y | x)"), '"P(x | y)" or "P(y | x)"'),
            ("voice", isinstance(self.voice, int), "a whole number"),
            ("in_panel", self.in_panel in (True, False), "a truth value"),
            ("favour", isinstance(favour, (int, float)) and favour > 0, "a number above 0"),
            (
                "runs_as",
                self.runs_as is None or isinstance(self.runs_as, tuple),
                "a tuple of names or None",
            ),
        ):
            if not fits:
                raise TypeError(
                    f"expected the trait `{name}` to be {expected}, got {getattr(self, name)!r}"
                )


Ends = tuple[Any, Any, Any]
"""A value and the ends of its interval; of many pieces each of shape (piece,)."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Records behind each other in one ``batch``, so that one pass serves all; ``rows`` of each, shape (piece,)."""

    batch: Predictions
    rows: Array

    @cached_property
    def number(self) -> Array:
        """Which piece each sample is of, shape (sample,)."""
        return np.repeat(np.arange(len(self.rows)), self.rows)

    def sums(self, values: Array) -> Array:
        """Sum over each piece in double precision, shape (piece,)."""
        edges = pairwise([0, *np.cumsum(self.rows).tolist()])
        return np.array([values[start:end].sum(dtype=np.float64) for start, end in edges])


class Estimator(Method[Sums, Estimate]):
    """Accuracy on unlabelled data: ``fit(reference).estimate(target)``.

    A subclass is final. Five attributes are to be known: ``name``, ``needs`` (fields of reference and target;
    ``"a|b"`` means either, ``"class"`` that labels are classes and not positions among candidates), ``assumes`` (one
    sentence), ``citation``, and ``kind`` where it is not "conditional"; all else is in the optional `Traits`. It
    defines ``_fit``, ``summarize`` and ``finish``. ``fit`` never changes the object it is called on; a fitted estimator
    holds only what it learnt from the reference, and a state holds only what it saw of the target
    (`oodometer.inference.method.Method`).

    level : nominal coverage of the interval, such as 0.95.
    seed : seed of whatever is random in the interval.
    """

    needs: ClassVar[Strings]
    assumes: ClassVar[str]
    kind: ClassVar[Kind] = "conditional"
    traits: ClassVar[Traits] = Traits()

    def __init__(self, *, level: float = 0.95, seed: int = 0) -> None:
        self.level = check_level(level)
        self.seed = seed

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method (and what it is made of) needs, or None."""
        keeps_order = record.calibrated in (
            None,
            "temperature",
        )  # another calibrator may have moved the argmax itself
        if self.traits.argmax_only and keeps_order and not record.is_argmax:
            return NOT_ARGMAX
        parts = (getattr(self, name, None) for name in ("_score", "_distance", "_label_counts"))
        more = (part.why_not(record) for part in parts if part is not None)
        return lacking(self.needs, record) or next(filter(None, more), None)

    def why_not_learn(self, reference: Predictions) -> str | None:
        """The reason why a labelled record lacks what the method learns from, or None; that of `why_not` as a rule."""
        return self.why_not(reference)

    def fit(self, *references: Predictions) -> Self:
        """A fitted copy, from one labelled record or several; rows of unknown truth are left out. `NotApplicable`."""
        if not references:
            raise NotApplicable("needs a reference")
        records = [r.known() for r in references] if self.traits.needs_labels else list(references)
        if not any(r.rows for r in records):
            raise NotApplicable(
                "needs labelled reference rows (`label` with a prediction, or `correct`)"
            )
        for record in records:
            why = self.why_not_learn(record)
            if why is not None:
                raise NotApplicable(why)
        fitted = copy.copy(self)
        fitted._fit(Predictions.concat([r for r in records if r.rows]))
        return fitted

    def lighter(self) -> Self:
        """The same method with the accuracy alone, for many small slices; most methods have nothing to leave out."""
        return self

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy of the fitted method that can `expect`; ``own``: the reference before calibration. `NotApplicable`."""
        raise NotApplicable("estimates the accuracy alone")

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The samples of each class the target is expected to hold, and ``draws`` replicates; after `with_metrics`."""
        raise NotApplicable("estimates the accuracy alone")

    def estimate(self, target: Predictions, *, batch_rows: int = 65_536) -> Estimate:
        """Estimate of the accuracy on a target held in memory; labels in it are not looked at."""
        if not target.rows:
            raise NotApplicable("needs at least one target row")
        why = self.why_not(target)
        if why is not None:
            raise NotApplicable(why)
        state = self.folded(target.batches(batch_rows))
        assert state is not None
        return self.finish(state)

    def ends_of(self, pieces: Pieces) -> Ends | None:
        """What `finish` says of every piece, to the same bit; None from methods that look at one record at a time."""
        return None

    @abstractmethod
    def _fit(self, reference: Predictions) -> None:
        """Learn from one labelled record; called on a fresh copy."""

    def _with(self, **learnt: Any) -> Self:
        """A copy that has learnt this, too."""
        clone = copy.copy(self)
        vars(clone).update(learnt)
        return clone

    def _from_variance(
        self,
        state: Sums,
        value: float,
        variance: float,
        trials: float,
        *,
        row_variance: float | None = None,
        **more: Any,
    ) -> Estimate:
        """With Wilson's interval: a variance of so many reference rows; ``row_variance``: that of a target row."""
        _, *ends = self._ends_from_variance(state["rows"], value, variance, trials, row_variance)
        return self._estimate(state, value, *ends, **more)

    def _ends_from_variance(
        self, rows: Any, value: Any, variance: Any, trials: float, row_variance: Any = None
    ) -> Ends:
        """Value and ends of `_from_variance`, of one piece or of each."""
        row_variance = (
            np.maximum(value * (1 - value), 0.0) if row_variance is None else row_variance
        )
        clipped, trials_of = np.clip(value, 0.0, 1.0), np.minimum(rows, trials)
        return within(
            value, *wilson_ends(clipped, variance + row_variance / rows, trials_of, self.level)
        )

    def _from_gap(self, state: Sums, gap: ReferenceGap, score: str) -> Estimate:
        """The mean score of the target, and what it misses on the reference."""
        mean = state["total"] / state["rows"]
        # the population, or these very rows
        row_variance = max(mean * (1 - mean), gap.variance * gap.rows)
        return self._from_variance(
            state,
            mean + gap.value,
            gap.variance,
            gap.rows,
            row_variance=row_variance,
            score=score,
            details={"reference_gap": gap.value},
        )

    def _estimate(
        self,
        state: Sums,
        value: float,
        lower: float,
        upper: float,
        *,
        score: str | None = None,
        details: Json | None = None,
        warnings: Strings = (),
    ) -> Estimate:
        """Put the result together, cut to [0, 1] (a note says so when the formula left it)."""
        clipped, low, high = map(float, within(value, lower, upper))
        if abs(clipped - value) > 1e-12:
            warnings = (
                *warnings,
                f"the formula gave {value:.4f}, outside [0, 1]; its assumption fails here",
            )
        return Estimate(
            self.name,
            clipped,
            low,
            high,
            self.level,
            self.kind,
            self.assumes,
            self.citation,
            score=score,
            rows=int(state["rows"]),
            details=details or {},
            warnings=warnings,
        )


def mean_and_variance(gap: Array) -> tuple[float, float]:
    """Mean of a gap in [-1, 1] over reference rows, and its variance; one squared unit more keeps that from being 0."""
    mean = float(gap.mean())
    about = gap - mean
    spread = (float(np.einsum("n,n->", about, about)) + 1) / (len(gap) + 1)
    return mean, spread / len(gap)


def within(value: Any, lower: Any, upper: Any) -> tuple[Any, Any, Any]:
    """Values cut to [0, 1], with ends there that hold them."""
    clipped = np.clip(value, 0.0, 1.0)
    low, high = np.maximum(lower, 0.0), np.minimum(upper, 1.0)
    return clipped, np.minimum(low, clipped), np.maximum(high, clipped)


def root_sum_square(*parts: Any) -> Any:
    """Square root of a sum of squares: independent half-widths put together, of one number or of each piece."""
    return np.sqrt(sum(p * p for p in parts))
