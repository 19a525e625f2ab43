"""Means of answers: of `score`, and over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..arrays import Array, present
from ..classes import is_null
from ..errors import NotApplicable
from ..inference.clusters import CLUSTER
from ..inference.means import Mean, ScoreSums, mean_of_means
from ..predictions import Predictions
from ..registry import register
from ..results import Kind
from .base import VERDICT, Measure, Metric, S, measure

_MOST_TASKS = 100
_UNIT = (0.0, 1.0)
FAILED_GRADE = -1.0


class _OnScale(Metric[S, Measure]):
    """What both share that read scores between the ends of a ``scale``, which is ``guessed`` where nobody named it."""

    bigger_is_better = True
    bounds = (-np.inf, np.inf)
    quiet = True
    clustered = True
    citation = "waudbysmith2024"

    def __init__(self, scale: Sequence[float] | None = None, guessed: bool = False) -> None:
        self.scale = None if scale is None else (float(scale[0]), float(scale[1]))
        self.guessed = guessed

    def on_scale(self, scale: tuple[float, float], guessed: bool) -> Self:
        """The same metric with a scale."""
        return type(self)(scale, guessed)

    def _mean(
        self, sums: ScoreSums, seen: tuple[float, float], level: float, seed: int
    ) -> tuple[Mean, Kind]:
        scale = self.scale or scale_seen(seen)
        if scale[0] == scale[1]:
            raise NotApplicable(
                f"every score is {scale[0]:g}, which tells no scale; name it with --scale LOW,HIGH"
            )
        mean = sums.mean(level, scale, seed)
        return mean, "empirical" if self.guessed or (
            self.scale is None and scale != _UNIT
        ) else mean.kind


def scale_seen(seen: tuple[float, float]) -> tuple[float, float]:
    """The scale of scores that nobody named: 0 to 1 where all lie there, else the lowest and the highest."""
    return _UNIT if seen[0] >= 0 and seen[1] <= 1 else seen


def failed_grades(low: float, high: float) -> str:
    """What is to be said where the lowest of scores that are grades is -1, as graders write one that they could not
    give; "" elsewhere.
    """
    if low != FAILED_GRADE or high < 2:
        return ""
    return (
        "the lowest score is -1, as graders write a grade that they could not give, and counts as -1: leave such rows "
        f"out (--where 'score>=0'), or say that it is a grade (--scale -1,{high:g})"
    )


@register("metric")
class MeanScore(_OnScale[ScoreSums]):
    """Mean of `score`, sum / n, with an interval that holds at every n of scores on their scale (`bounded_mean`);
    ``t`` is Student's, ``design_effect`` the variance over that of independent rows.

    Sources: Waudby-Smith and Ramdas (2024); Clopper and Pearson (1934) of scores at both ends of the scale alone.

    >>> graded = MeanScore(scale=(1, 5)).compute(Predictions.from_arrays(score=[3, 5, 4, None, 2, 3]))
    >>> round(graded.value, 2), round(graded.lower, 2), round(graded.upper, 2), graded.kind
    (3.4, 1.62, 4.59, 'exact')
    """

    name = "mean_score"
    needs = (("score",),)

    def summarize(self, batch: Predictions) -> ScoreSums:
        """Sums of known scores."""
        score: Any = batch.score
        is_known, keys = ~np.isnan(score), batch.columns.get(CLUSTER)
        return ScoreSums.of(
            score[is_known], None if keys is None else keys[is_known], batch.first_row
        )

    def row_values(self, batch: Predictions) -> Array:
        """The score."""
        return present(batch.score).astype(np.float64)

    def _finish(self, state: ScoreSums, level: float, seed: int) -> Measure:
        mean, kind = self._mean(state, state.seen, level, seed)
        return measure(
            mean.value,
            (mean.lower, mean.upper),
            level,
            kind,
            t=list(mean.t),
            scale=list(self.scale or scale_seen(state.seen)),
            design_effect=mean.effect,
            clusters=mean.clusters,
        )


@dataclass(frozen=True, eq=False)
class TaskSums:
    """Sums of each task; ``many``: they were too many to be tasks."""

    tasks: dict[str, ScoreSums]
    many: bool = False

    def __add__(self, other: TaskSums) -> TaskSums:
        out = dict(self.tasks)
        for name, sums in other.tasks.items():
            out[name] = out[name] + sums if name in out else sums
        too_many = self.many or other.many or len(out) > _MOST_TASKS
        return TaskSums({} if too_many else out, too_many)

    @property
    def seen(self) -> tuple[float, float]:
        """Lowest and highest score."""
        ends = [sums.seen for sums in self.tasks.values()] or [_UNIT]
        return min(low for low, _ in ends), max(high for _, high in ends)


@register("metric")
class MacroMean(_OnScale[TaskSums]):
    """Unweighted mean of the means of tasks, sum_t mean_t / T, tasks being the values of `group`: of correctness,
    without any of `score`. Tasks are independent and not drawn from others, so that the error is theirs:
    ends are mean -+ sqrt(sum_t (mean_t - end_t)^2) / T (`mean_of_means`). ``by_task`` has each one's.

    Source: Zou and Donner (2008).

    >>> p = Predictions.from_arrays(correct=[1, 0, 1, 1], group=["sums", "sums", "sums", "names"])
    >>> macro = MacroMean().compute(p)
    >>> round(macro.value, 3), [(row["task"], row["rows"], round(row["value"], 3)) for row in macro.extras["by_task"]]
    (0.833, [('names', 1, 1.0), ('sums', 3, 0.667)])
    """

    name = "macro_mean"
    needs = tuple((*need, "group") for need in (*VERDICT, ("score",)))
    citation = "zou2008"

    def summarize(self, batch: Predictions) -> TaskSums:
        """Sums of each task."""
        labelled = batch.known()
        values, keys, group = (
            labelled.outcomes,
            labelled.columns.get(CLUSTER),
            np.asarray(labelled.group),
        )
        names = np.array(
            ["(missing)" if is_null(v) else str(v) for v in group.tolist()], dtype=object
        )
        tasks = dict.fromkeys(names.tolist())
        if len(tasks) > _MOST_TASKS:
            return TaskSums({}, True)
        sums = {}
        for task in tasks:
            index = np.flatnonzero(names == task)
            sums[task] = ScoreSums.of(
                values[index], None if keys is None else keys[index], batch.first_row
            )
        return TaskSums(sums)

    def _finish(self, state: TaskSums, level: float, seed: int) -> Measure:
        if len(state.tasks) < 2:
            few = f"more than {_MOST_TASKS}" if state.many else str(len(state.tasks))
            raise NotApplicable(f"needs 2 to {_MOST_TASKS} tasks in `group`; there are {few}")
        rows = []
        for name in sorted(state.tasks):
            mean, kind = self._mean(state.tasks[name], state.seen, level, seed)
            of_task: dict[str, Any] = {
                "task": name,
                "rows": state.tasks[name].rows,
                "value": mean.value,
            }
            rows.append(
                of_task | {"lower": mean.lower, "upper": mean.upper, "level": level, "kind": kind}
            )
        value, lower, upper = mean_of_means(
            [(row["value"], row["lower"], row["upper"]) for row in rows]
        )
        kind = "empirical" if any(row["kind"] == "empirical" for row in rows) else "asymptotic"
        return measure(value, (lower, upper), level, kind, tasks=len(rows), by_task=rows)


def on_scale(metrics: Sequence[Any], scale: tuple[float, float], guessed: bool) -> tuple[Any, ...]:
    """The metrics, those that read scores with their scale."""
    return tuple(
        metric if on is None else on(scale, guessed)
        for metric, on in ((metric, getattr(metric, "on_scale", None)) for metric in metrics)
    )
