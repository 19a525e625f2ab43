"""Columns: how each column moved, how much of a change of accuracy that explains, and which columns are odd."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np

from ..arrays import Array
from ..estimators.target_prior import g_statistic
from ..inference.method import Method, Sums
from ..inference.row_sample import content_sample
from ..intervals import holm
from ..predictions import Predictions
from ..results import Interval, percent
from ..results.diagnosis import ColumnChange, Finding, UserColumn, shares_text

_FAR = 0.5  # share of rows outside the reference's whole range


def columns_finding(
    features: tuple[Array, Array] | None,
    probabilities: tuple[Array, Array] | None,
    columns: Sequence[UserColumn] = (),
) -> Finding | None:
    """Columns that became constant or lie outside the reference's range, which points to a broken pipeline; pairs of
    sides.
    """
    odd: list[str] = []
    pairs = {"feature": features, "probability": probabilities}
    for what, (reference, target) in (
        (name, pair) for name, pair in pairs.items() if pair is not None
    ):
        low, high = reference.min(axis=0), reference.max(axis=0)
        constant = (target.min(axis=0) == target.max(axis=0)) & (low < high) & (len(target) > 1)
        outside = ((target < low) | (target > high)).mean(axis=0)
        for k in np.flatnonzero(constant):
            odd.append(
                _constant(columns if what == "feature" else (), what, int(k), float(target[0, k]))
            )
        if what == "feature":
            for k in np.flatnonzero((outside > _FAR) & ~constant):
                odd.append(_outside(columns, int(k), float(outside[k])))
    odd = [text for text in odd if text]
    if features is None and probabilities is None:
        return None
    says = (
        f"{len(odd) or 'no'} columns constant or out of range{': ' * bool(odd)}{'; '.join(odd[:3])}"
    )
    return Finding(
        "columns",
        says,
        float(len(odd)),
        strength="strong" if odd else "none",
        details={"odd": odd[:20]},
    )


def _column(columns: Sequence[UserColumn], feature: int) -> tuple[UserColumn | None, int]:
    """The column that a feature was made of, and which of its features it is."""
    for user in columns:
        if user.first <= feature < user.first + user.width:
            return user, feature - user.first
    return None, 0


def _constant(columns: Sequence[UserColumn], what: str, feature: int, value: float) -> str:
    """What is odd about a feature with one value alone; nothing where that only says that a category is not there."""
    user, k = _column(columns, feature)
    if user is None:
        return f"{what} {feature}: constant at {value:.6g}"
    if k < len(user.center) and user.kind != "category":
        return f"{user.features()[k]}: constant at {value * user.scale[k] + user.center[k]:.6g}"
    if value < 1:
        return ""
    return (
        f"{user.name}: missing in every row"
        if k == user.width - 1
        else f"{user.features()[k]} in every row"
    )


def _outside(columns: Sequence[UserColumn], feature: int, share: float) -> str:
    """What is odd about a feature that lies outside the reference's range in most rows."""
    user, k = _column(columns, feature)
    rows = f"{percent(share, 0)} of the rows"
    if user is None:
        return f"feature {feature}: {rows} lie outside the reference's range"
    if user.encoded and k == user.width - 1:
        return f"{user.name}: missing in {rows}, and never in the reference"
    if user.kind == "category":
        return f"{user.features()[k]} in {rows}, and never in the reference"
    return f"{user.features()[k]}: {rows} lie outside the reference's range"


_LEVEL = 0.05
_QUANTILES = np.arange(1, 10) / 10
_EDGE_ROWS = 20_000  # of the reference, for deciles
_MOST_ROWS = 200_000  # of the reference, for the accuracy in each cell
_MOST_COLUMNS = 50  # plain features of more are an embedding, whose columns mean nothing one by one
_WORTH_SAYING = 0.01
# deviations by which a mean hardly moved, and edges that make stretches
_STILL, _FEWEST_EDGES = (
    0.1,
    4,
)
_LEAST_EXPECTED = 5  # rows of the smaller side in a cell of the test


@dataclass(frozen=True)
class _Figure:
    """What is counted of a column: one number in cells between ``edges``, or its categories (None)."""

    column: UserColumn
    place: int
    edges: Array | None

    @property
    def size(self) -> int:
        """Number of cells, the last one for missing values."""
        return len(self.column.labels) + 2 if self.edges is None else len(self.edges) + 2

    def cells(self, features: Array) -> Array:
        """Cell of each row, shape (sample,)."""
        user = self.column
        if self.edges is None:
            part = features[:, user.first : user.first + user.width]
            return np.where(part.any(axis=1), part.argmax(axis=1) + 1, 0)
        out = np.searchsorted(self.edges, features[:, self.place])
        if user.encoded:
            out[features[:, user.first + user.width - 1] > 0] = len(self.edges) + 1
        return out


class ColumnDrift(Method[Sums, tuple[ColumnChange, ...]]):
    """``fit(reference)``, then `summarize` and `finish`: one `ColumnChange` for each column, those that matter first.

    Rows are counted in cells: deciles of the reference for a number, the values of a category, deciles of each figure
    of a text. With p and q the shares of the cells in reference and target: distance = sqrt(JS(p, q)) in base 2 (Lin
    1991), PSI = sum (q - p) log(q / p), p-value by the G test, adjusted after Holm. What a column explains is sum_c
    (q_c - p_c) a_c, a_c the reference's accuracy in the cell (post-stratification, Holt and Smith 1979), its interval
    with Bonferroni's correction. ``columns`` are those that were encoded; without them features are numbers.
    """

    name = "column_drift"
    _figures: tuple[_Figure, ...] = ()
    _width = 0
    _here: Sums
    _hits: tuple[Array, ...] = ()

    def __init__(
        self, columns: Sequence[UserColumn] = (), *, level: float = 0.95, seed: int = 0
    ) -> None:
        self.columns, self.level, self.seed = tuple(columns), level, seed

    def fit(self, reference: Predictions) -> Self:
        """A fitted copy."""
        fitted = copy.copy(self)
        if reference.features is None:
            fitted.columns, fitted._figures = (), ()
            return fitted
        fitted.columns = self.columns or plain_columns(reference)
        fitted._width = reference.features.shape[1]
        few = reference.features[content_sample(reference, _EDGE_ROWS, self.seed)]
        fitted._figures = tuple(
            figure for user in fitted.columns for figure in _figures_of(user, few)
        )
        if len(reference) > _MOST_ROWS:
            reference = reference.take(content_sample(reference, _MOST_ROWS, self.seed))
        fitted._here = fitted.summarize(reference)
        labelled = reference.correct is not None or (
            reference.label is not None and reference.has_prediction
        )
        if labelled and reference.features is not None and (reference.verdicts >= 0).all():
            features, right = reference.features, reference.verdicts
            fitted._hits = tuple(
                np.bincount(f.cells(features), right, f.size) for f in fitted._figures
            )
        return fitted

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each cell of each figure, and the sum of the numbers."""
        features = batch.features
        if not self._figures or features is None or features.shape[1] != self._width:
            return Sums(
                rows=0,
                counts=np.zeros(sum(f.size for f in self._figures)),
                sums=np.zeros(len(self._figures)),
            )
        counts = [np.bincount(f.cells(features), minlength=f.size) for f in self._figures]
        sums = [
            0.0 if f.edges is None else features[:, f.place].sum(dtype=np.float64)
            for f in self._figures
        ]
        return Sums(
            rows=len(batch), counts=np.concatenate(counts).astype(np.float64), sums=np.array(sums)
        )

    def finish(self, state: Sums) -> tuple[ColumnChange, ...]:
        """How each column moved, in the order of what it explains, then of its distance."""
        if not self._figures or not state["rows"] or not self._here["rows"]:
            return ()
        ends = np.cumsum([f.size for f in self._figures])[:-1]
        reference_counts, target_counts = (
            np.split(side["counts"], ends) for side in (self._here, state)
        )
        by_column: dict[str, list[tuple[float, int]]] = {}
        for i, figure in enumerate(self._figures):
            by_column.setdefault(figure.column.name, []).append(
                (homogeneity(reference_counts[i], target_counts[i]), i)
            )
        best = {name: min(candidates) for name, candidates in by_column.items()}
        adjusted = holm([min(1.0, p * len(by_column[name])) for name, (p, _) in best.items()])
        changes = [
            self._change(
                i,
                reference_counts[i],
                target_counts[i],
                p,
                (self._here["sums"][i], state["sums"][i]),
            )
            for p, (_, i) in zip(adjusted, best.values(), strict=True)
        ]

        def rank(change: ColumnChange) -> tuple[bool, float, bool, float]:
            size = (
                abs(change.explains.value)
                if change.matters and change.explains is not None
                else 0.0
            )
            return not change.matters, -size, not change.moved, -change.distance

        return tuple(sorted(changes, key=rank))

    def _change(
        self,
        i: int,
        reference_counts: Array,
        target_counts: Array,
        p_value: float,
        sums: tuple[float, float],
    ) -> ColumnChange:
        figure, user = self._figures[i], self._figures[i].column
        p, q = reference_counts / reference_counts.sum(), target_counts / target_counts.sum()
        # the stability index adds half a row to cells that hold any
        full = (reference_counts + target_counts) > 0
        a, b = (
            (side[full] + 0.5) / (side[full] + 0.5).sum()
            for side in (reference_counts, target_counts)
        )
        missing = (float(p[-1]), float(q[-1])) if user.encoded else (0.0, 0.0)
        unseen = (float(p[-2]), float(q[-2]))
        if figure.edges is not None:
            unseen = (float(p[0] + p[-2]), float(q[0] + q[-2]))
        figures = _distance(p, q), float((b - a) @ np.log(b / a)), p_value, bool(p_value < _LEVEL)
        explains, says = (
            self._explained(i, reference_counts, target_counts),
            _says(figure, reference_counts, target_counts, sums),
        )
        return ColumnChange(user.name, user.kind, *figures, explains, says, missing, unseen)

    def _explained(self, i: int, reference_counts: Array, target_counts: Array) -> Interval | None:
        """What post-stratification by this column alone does to the reference's accuracy."""
        if not self._hits:
            return None
        p, q = reference_counts / reference_counts.sum(), target_counts / target_counts.sum()
        overall = float(self._hits[i].sum() / reference_counts.sum())
        # one row's weight to the whole: no cell is certain
        accuracy = (self._hits[i] + overall) / (reference_counts + 1)
        if self._figures[i].edges is not None:  # beyond the reference as at its end
            accuracy[0] = accuracy[1] if not reference_counts[0] else accuracy[0]
            accuracy[-2] = accuracy[-3] if not reference_counts[-2] else accuracy[-2]
        value = float((q - p) @ accuracy)
        variance = float(
            np.square(q - p) @ (accuracy * (1 - accuracy) / np.maximum(reference_counts, 1))
        )
        for shares, rows in ((p, reference_counts.sum()), (q, target_counts.sum())):
            variance += float(shares @ np.square(accuracy) - (shares @ accuracy) ** 2) / rows
        half = (
            NormalDist().inv_cdf(1 - (1 - self.level) / 2 / len(self.columns))
            * max(variance, 0.0) ** 0.5
        )
        return Interval(
            value,
            float(max(value - half, -1.0)),
            float(min(value + half, 1.0)),
            self.level,
            "asymptotic",
        )


def plain_columns(record: Predictions) -> tuple[UserColumn, ...]:
    """Features that were given as they are, each a number; none where there are more than 50 of them."""
    width = 0 if record.features is None else record.features.shape[1]
    if not 0 < width <= _MOST_COLUMNS:
        return ()
    names = record.names.get("feature") or [f"feature {k}" for k in range(width)]
    return tuple(UserColumn(str(name), "number", k, encoded=False) for k, name in enumerate(names))


def _figures_of(user: UserColumn, features: Array) -> list[_Figure]:
    if user.kind == "category":
        return [_Figure(user, user.first, None)]
    out = []
    for k in range(len(user.center)):
        values = features[:, user.first + k].astype(np.float64)
        if user.encoded:
            values = values[features[:, user.first + user.width - 1] == 0]
        if not len(values):
            values = np.zeros(1)
        ends = np.nextafter(values.min(), -np.inf), values.max()
        inner = np.quantile(values, _QUANTILES, method="lower")
        out.append(_Figure(user, user.first + k, np.unique([*ends, *inner])))
    return out


def _distance(p: Array, q: Array) -> float:
    """Jensen-Shannon distance in base 2."""
    middle = (p + q) / 2

    def divergence(a: Array) -> float:
        full = a > 0
        return float(a[full] @ np.log2(a[full] / middle[full]))

    return float(max((divergence(p) + divergence(q)) / 2, 0.0) ** 0.5)


def _says(
    figure: _Figure, reference_counts: Array, target_counts: Array, sums: tuple[float, float]
) -> str:
    """What moved, in the units of the file."""
    user = figure.column
    p, q = reference_counts / reference_counts.sum(), target_counts / target_counts.sum()
    if figure.edges is None:
        labels = [*user.labels, "other", "missing"]
        largest = int(np.argmax(np.abs(q - p)))
        parts = [shares_text(labels[largest], float(p[largest]), float(q[largest]))]
    else:
        parts = [_number_says(figure, figure.edges, sums, (reference_counts, target_counts))]
        outside = float(q[0] + q[-2]) - float(p[0] + p[-2])
        if outside > _WORTH_SAYING:
            parts.append(f"{percent(outside, 0)} beyond the reference's range")
    if user.encoded and abs(q[-1] - p[-1]) > _WORTH_SAYING and not parts[0].startswith("missing"):
        parts.append(shares_text("missing", float(p[-1]), float(q[-1])))
    return "; ".join(parts)


def _number_says(
    figure: _Figure, edges: Array, sums: tuple[float, float], sides: tuple[Array, Array]
) -> str:
    """How the mean of a number moved; where it hardly did, the stretch of values that became more or less common."""
    user, k = figure.column, figure.place - figure.column.first
    what = f"{user.labels[k]}: " if user.kind == "text" else ""
    rows_of = [counts[:-1].sum() if user.encoded else counts.sum() for counts in sides]
    means = [total / max(rows, 1) for total, rows in zip(sums, rows_of, strict=True)]

    def in_units(value: float) -> str:
        plain = value * user.scale[k] + user.center[k]
        return _number(float(np.expm1(plain)) if what in ("characters: ", "words: ") else plain)

    # eight tenths of the rows lie between: 2.5 deviations if normal
    spread = float(edges[-2] - edges[1]) / 2.5
    shares = [counts[1:-2] / max(counts.sum(), 1) for counts in sides]
    largest = int(np.argmax(np.abs(shares[1] - shares[0])))
    change = float(shares[1][largest] - shares[0][largest])
    if (
        len(edges) > _FEWEST_EDGES
        and abs(means[1] - means[0]) < _STILL * spread
        and abs(change) > _WORTH_SAYING
    ):
        stretch = (
            f"{what}{in_units(float(edges[largest]))} to {in_units(float(edges[largest + 1]))}:"
        )
        return shares_text(stretch, float(shares[0][largest]), float(shares[1][largest]))
    return f"{what}mean {in_units(means[0])} -> {in_units(means[1])}"


def _number(value: float) -> str:
    """A mean as people write it."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value if abs(value) > 1e-300 else 0.0:.4g}"


def homogeneity(reference: Array, target: Array) -> float:
    """p-value of the G test that both sides fall into cells alike, joined until 5 rows are expected in each."""
    small, large = (reference, target) if reference.sum() < target.sum() else (target, reference)
    both, group = small + large, np.zeros(len(small), dtype=np.intp)
    now, mass = 0, 0.0
    for cell in np.argsort(both, kind="stable"):
        if mass >= _LEAST_EXPECTED * both.sum() / small.sum():
            now, mass = now + 1, 0.0
        group[cell], mass = now, mass + both[cell]
    small, large = (np.bincount(group, side) for side in (small, large))
    pooled = (small + large) / (small + large).sum()
    degrees = len(pooled) - 1
    if degrees < 1:
        return 1.0
    total = float(
        g_statistic(small, small.sum() * pooled) + g_statistic(large, large.sum() * pooled)
    )
    spread = 2 / (9 * degrees)
    return NormalDist().cdf(-((total / degrees) ** (1 / 3) - 1 + spread) / spread**0.5)
