"""Worth of judges: what they say of held-out pairs beside the truth, and whether that is better than a coin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError
from oodometer.intervals import check_level
from oodometer.metrics.votes import Votes, absolute, mean_of, paired_gap
from oodometer.predictions import Predictions
from oodometer.results import Interval
from oodometer.results.view import with_ends

from ...discriminators import HALF, AcceptanceThresholds, Discriminator, Panel, fit_thresholds
from ...models.base import Progress
from .pairs import Pairs, TextRows

PROBABILITY = "p_correct_"


@dataclass(frozen=True, eq=False)
class Acceptance:
    """How judges accept: by ``thresholds`` that were set on the outputs of ``origin``, or all from ``number`` on."""

    thresholds: AcceptanceThresholds | None = None
    origin: str | None = None
    number: float = HALF

    def votes(self, p: Array, end: str = "values") -> Array:
        """Verdicts, int8, axes (judge, sample), of probabilities of these axes; ``end``: values, strict or lenient."""
        cutoff = self.number if self.thresholds is None else getattr(self.thresholds, end)[:, None]
        return np.asarray(p >= cutoff, dtype=np.int8)

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """A plain mapping, ready for JSON."""
        if self.thresholds is None:
            return {
                "from": None,
                "by_judge": [{"judge": name, "value": self.number} for name in names],
            }
        return {"from": self.origin, **self.thresholds.to_dict(names)}


def calibrated(p: Array, rows: TextRows, level: float) -> Acceptance:
    """Thresholds from what judges say of labelled outputs, axes (judge, sample)."""
    truth = check_labelled(rows)
    try:
        return Acceptance(
            fit_thresholds(p[:, truth >= 0], truth[truth >= 0], level), rows.short_name
        )
    except InputError as error:
        raise error.at(file=rows.name) from None


def check_labelled(rows: TextRows) -> Array:
    """What `labelled` says, of which some must be known; else `InputError`."""
    truth = labelled(rows)
    if (truth >= 0).any():
        return truth
    what = "labelled outputs to set the judges' thresholds on: a column gold (or correct)"
    if rows.golds is None:
        raise rows.lacks(what, "gold")
    raise InputError(
        what, got="no row whose gold is known", remedy="give the gold outputs", file=rows.name
    )


def labelled(rows: TextRows) -> Array:
    """Whether each output is right, int8, shape (sample,): by `correct` where it is known, else by gold; -1 unknown."""
    return np.where(rows.correct >= 0, rows.correct, rows.equal).astype(np.int8)


def shortest(p: Array) -> Array:
    """The float32 numbers as float64 that are written in the fewest digits: what a file gives back is the same."""
    return np.asarray(p.astype(np.float32).astype(str).astype(np.float64))


def with_probabilities(record: Predictions, p: Array, names: Sequence[str]) -> Predictions:
    """The record with a column ``p_correct_<judge>`` for each judge, so that other thresholds need no judge."""
    columns = {f"{PROBABILITY}{name}": values for name, values in zip(names, p, strict=True)}
    return replace(record, columns={**record.columns, **columns}, _cache={})


def probability_columns(rows: TextRows) -> tuple[tuple[str, ...], Array]:
    """Names of the judges whose P(Correct) rows already hold, and these, float64, axes (judge, sample)."""
    names, columns = [], []
    for column, values in rows.record.columns.items():
        if column.startswith(PROBABILITY):
            names.append(column.removeprefix(PROBABILITY))
            out = np.empty(len(values))
            for row, cell in enumerate(values.tolist()):
                try:
                    out[row] = float(cell)
                except (TypeError, ValueError):
                    out[row] = np.nan
                if not 0 <= out[row] <= 1:
                    raise rows.error(
                        row,
                        "a probability from 0 to 1",
                        repr(cell)[:60],
                        "mend the cell or ask the judges",
                        column,
                    )
            columns.append(out)
    return tuple(names), np.array(columns, dtype=np.float64).reshape(len(names), len(rows.inputs))


def holds_between(ladder: Sequence[Mapping[str, Any]], agree: int) -> dict[str, Interval] | None:
    """The accuracies ``lowest`` to ``highest`` between which the bounds of k-of-n voting hold the truth; None without
    right or wrong rows.
    A rule that accepts the share f of wrong outputs and rejects the share r of right ones accepts a (1 - r) + (1 - a) f
    of outputs of accuracy a: at most a from a = f / (f + r) upwards, at least a from there downwards. So the lower
    bound holds above the crossing of its rule, the upper bound below that of its own. The intervals take f and r at the
    ends of theirs. Source: Rogan and Gladen (1978).
    """
    ends = []
    # ``sound`` where it never errs
    for row, sound in ((ladder[agree - 1], 0.0), (ladder[len(ladder) - agree], 1.0)):
        right, wrong = row["correct_recall"], row["incorrect_recall"]
        if right is None or wrong is None:
            return None
        pairs = ((wrong.value, right.value), (wrong.upper, right.lower), (wrong.lower, right.upper))
        errors = [(1 - rejected, 1 - accepted) for rejected, accepted in pairs]
        value, *limits = [f / (f + r) if f + r > 0 else sound for f, r in errors]
        ends.append(
            Interval(value, min(value, *limits), max(value, *limits), right.level, "conditional")
        )
    return dict(zip(("lowest", "highest"), ends, strict=True))


def outside(ladder: Sequence[Mapping[str, Any]], value: float, agree: int) -> list[str]:
    """A warning where an estimate lies surely, or perhaps, outside the range in which the bounds would hold."""
    holds = holds_between(ladder, agree)
    if holds is None:
        return []
    low, high = holds["lowest"], holds["highest"]
    span = f"for accuracies from {with_ends(low)} to {with_ends(high)}"
    if low.value <= value <= high.value:
        return []
    if low.lower <= value <= high.upper:
        text = "too few pairs were held out to say whether these bounds hold the truth if the judges err as on those"
        return [f"{text}: they do {span}; hold out more (--dev)"]
    return [
        f"if the judges err here as on their held-out pairs, these bounds hold the truth {span} only"
    ]


ASSUMES = "held-out pairs are like new ones, each by itself; they also chose the weights, which flatters them"
FEW = 100


def judge_names(members: Sequence[Discriminator]) -> tuple[str, ...]:
    """A name for each judge: its kind and its place, as in `Panel.vote`."""
    return tuple(f"{member.kind}_{index}" for index, member in enumerate(members))


def worth(
    panel: Panel,
    pairs: Pairs,
    *,
    metric: str,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], Predictions]:
    """What judges are worth on held-out pairs, and these as a judged record; intervals are conditional on `ASSUMES`."""
    check_level(level)
    p = panel.probabilities(pairs.inputs, pairs.outputs, progress=progress)
    names = judge_names(panel.members)
    base = {"pairs": len(pairs), "inputs": len(set(pairs.inputs)), "assumes": ASSUMES}
    inputs, outputs = np.array(pairs.inputs, object), np.array(pairs.outputs, object)
    columns: dict[str, Any] = {"origin": pairs.origin}
    if metric != "exact":
        column = metric.replace("-", "_")
        columns |= {
            column: pairs.targets,
            **{f"{column}_{n}": s for n, s in zip(names, p, strict=True)},
        }
        record = Predictions.from_arrays(input=inputs, output=outputs, columns=columns)
        return {
            **base,
            "metric": metric,
            **conditional(metric_table(pairs.targets, p, level)),
        }, record
    votes = (p >= 0.5).astype(np.int8)
    record = Predictions.from_arrays(
        input=inputs,
        output=outputs,
        votes=votes,
        correct=pairs.correct.astype(np.int8),
        columns=columns,
        names={"judge": names},
    )
    voting = Votes(draws=1)
    tables = voting.finish(voting.summarize(record), level, seed)
    parts = {name: tables[name] for name in ("rules", "ladder", "by_judge")}
    widest = tables["bounds"][0]
    bounds = {name: widest[name] for name in ("lower", "upper", "mean", "inside")}
    result = {
        **base,
        "metric": metric,
        "accuracy": tables["accuracy"],
        **conditional({**parts, **bounds}),
    }
    return {**result, "holds": holds_between(result["ladder"], len(names))}, record


def metric_table(true: Array, predicted: Array, level: float) -> dict[str, Any]:
    """A metric as judges predict it, axes (judge, sample), beside the true one, shape (sample,): the means, the error
    from differences row by row, the mean distance of a row, the correlation where both vary.
    """
    mean = predicted.mean(axis=0, dtype=np.float64)
    gap = true - mean
    varies = len(true) > 2 and float(np.std(true)) > 0 and float(np.std(mean)) > 0
    return {
        "true": spread(true, level),
        "predicted": spread(mean, level),
        "error": absolute(
            paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), level)
        ),
        "distance": spread(np.abs(gap), level),
        "correlation": float(np.corrcoef(true, mean)[0, 1]) if varies else None,
    }


def spread(values: Array, level: float) -> Interval:
    """The mean of values in [0, 1] with its asymptotic interval."""
    exact = np.asarray(values, dtype=np.float64)
    return mean_of(float(exact.sum()), float(np.square(exact).sum()), len(exact), level)


def conditional(table: Any) -> Any:
    """The same tables, their intervals conditional."""
    if isinstance(table, Interval):
        return replace(table, kind="conditional")
    if isinstance(table, Mapping):
        return {name: conditional(value) for name, value in table.items()}
    if isinstance(table, list | tuple):
        return [conditional(value) for value in table]
    return table


def no_better_than_a_coin(held_out: Mapping[str, Any]) -> list[str]:
    """Warnings about judges that accept right and wrong pairs about as often, and about pairs too few to say."""
    out = []
    if held_out["pairs"] < FEW:
        out.append(
            f"only {held_out['pairs']} pairs are held out: what they say of the judges is rough"
        )
    if "rules" not in held_out:
        return out
    rules = {row["rule"]: row for row in held_out["rules"]}
    right, wrong = rules["majority"]["correct_recall"], rules["majority"]["incorrect_recall"]
    if right is not None and wrong is not None and right.lower <= 1 - wrong.lower:
        remedy = "train longer (--epochs), on more mistakes, or from a pretrained model (--source)"
        text = "on held-out pairs most judges accept right outputs about as often as wrong ones"
        out.append(f"{text}: their votes tell nothing; {remedy}")
    return out
