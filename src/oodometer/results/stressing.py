"""Stressing: how good models are as a shift grows, and what the estimate without labels says at each severity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .estimation import Headline
from .shown import Shown
from .values import Interval, aligned, percent

METRICS = ("accuracy", "brier", "ece")
"""What is judged at each severity; accuracy of a ranker is R@1."""


@dataclass(frozen=True)
class Spread:
    """One number over several runs: models trained with other seeds, or repeated draws of the shift.

    >>> Spread.of([0.5, 0.7, 0.6]).to_dict()
    {'mean': 0.6, 'lowest': 0.5, 'highest': 0.7, 'runs': 3}
    """

    mean: float
    lowest: float
    highest: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of the values of all runs, at least one."""
        return cls(round(sum(values) / len(values), 12), min(values), max(values), len(values))

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {"mean": self.mean, "lowest": self.lowest, "highest": self.highest, "runs": self.runs}


@dataclass(frozen=True)
class StressPoint:
    """One model at one severity of one kind of shift; that of the data as they are has the severity None.

    Parameters
    ----------
    rows : that could be shifted so far. dropped : reason -> how many could not.
    words, targets : mean number of words (or turns) and of those that the shift touched; None of the data as they are.
    predictions : the files, one for each run. truncated : inputs of the first run that the model cut.
    metrics : name -> number with its interval, of the first run, on all rows whose truth is known.
    common_rows, common : the same on the rows that every severity of the kind has.
    spread, common_spread : name -> spread over the runs, where there are several; ``estimate`` is among the names.
    estimate : accuracy without labels, of the first run. error : it minus the true accuracy, in fractions.
    """

    severity: str | None
    rows: int
    dropped: Mapping[str, int]
    words: float | None
    targets: float | None
    predictions: tuple[str, ...]
    truncated: int
    metrics: Mapping[str, Interval]
    common_rows: int
    common: Mapping[str, Interval]
    spread: Mapping[str, Spread] = field(default_factory=dict)
    common_spread: Mapping[str, Spread] = field(default_factory=dict)
    estimate: Headline | None = None

    @property
    def error(self) -> float | None:
        """Estimate minus truth; None where one of them is not known."""
        truth = self.metrics.get("accuracy")
        return None if self.estimate is None or truth is None else self.estimate.value - truth.value

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "severity": self.severity,
            "rows": self.rows,
            "dropped": dict(self.dropped),
            "words": self.words,
            "targets": self.targets,
            "predictions": list(self.predictions),
            "truncated": self.truncated,
            "metrics": {name: one.to_dict() for name, one in self.metrics.items()},
            "spread": {name: one.to_dict() for name, one in self.spread.items()},
            "common": {
                "rows": self.common_rows,
                "metrics": {name: one.to_dict() for name, one in self.common.items()},
                "spread": {name: one.to_dict() for name, one in self.common_spread.items()},
            },
            "estimate": None if self.estimate is None else self.estimate.to_dict(),
            "error": self.error,
        }


@dataclass(frozen=True)
class StressCurve:
    """One model over the severities of one kind; ``points`` begin with the data as they are.

    about : what the kind does. counts : what its targets are. common_rows : rows that every severity has.
    """

    kind: str
    about: str
    counts: str
    common_rows: int
    points: tuple[StressPoint, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "kind": self.kind,
            "about": self.about,
            "counts": self.counts,
            "common_rows": self.common_rows,
            "points": [one.to_dict() for one in self.points],
        }


@dataclass(frozen=True)
class StressedModel:
    """One model, or several runs of one (``sources``), with a curve for each kind of shift.

    reference : accuracy on the labelled reference, which the estimates rest on, and its rows.
    """

    name: str
    sources: tuple[str, ...]
    reference: Mapping[str, Any]
    curves: tuple[StressCurve, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "name": self.name,
            "sources": list(self.sources),
            "reference": dict(self.reference),
            "curves": [one.to_dict() for one in self.curves],
        }


@dataclass(frozen=True, repr=False)
class StressTest(Shown):
    """What `stress` found; at a prompt and in a notebook it shows its summary.

    Parameters
    ----------
    data, out : what was shifted, and the folder of the predictions.
    modality : "text" or "dialogue". rows : texts or contexts that were shifted. refused : reason -> rows of the file
    that hold none. labelled : whether their truth is known.
    reference : where the labelled rows come from that the estimates rest on: ``source`` and ``rows``.
    level : of every interval. seed : of the halves, the candidates and the first draw. repeats : draws of each shift.
    """

    version: str
    data: str
    out: str
    modality: str
    rows: int
    refused: Mapping[str, int]
    labelled: bool
    reference: Mapping[str, Any]
    level: float
    seed: int
    repeats: int
    models: tuple[StressedModel, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    argv: str | None = None

    def __repr__(self) -> str:
        return self.summary()

    def points(self) -> Iterator[tuple[StressedModel, StressCurve, StressPoint]]:
        """Every point with its curve and model, in their order."""
        for model in self.models:
            for curve in model.curves:
                for point in curve.points:
                    yield model, curve, point

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "version": self.version,
            "command": "stress",
            "argv": self.argv,
            "data": self.data,
            "out": self.out,
            "modality": self.modality,
            "rows": self.rows,
            "refused": dict(self.refused),
            "labelled": self.labelled,
            "reference": dict(self.reference),
            "level": self.level,
            "seed": self.seed,
            "repeats": self.repeats,
            "models": [one.to_dict() for one in self.models],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of a table: one row for each model, kind and severity."""
        ranked = self.modality == "dialogue"
        columns = ["model", "shift", "severity", "rows", "estimate", "interval", "R@1" if ranked else "accuracy"]
        columns += ["error", "Brier", "ECE", "same rows", "trust"]
        return columns, [_row(model.name, curve.kind, point) for model, curve, point in self.points()]

    def opening(self) -> list[str]:
        """What was shifted, and what the estimates rest on, in a few lines."""
        what = "texts" if self.modality == "text" else "contexts of dialogues"
        rest = f"{self.reference['rows']:,} labelled ones are the reference ({self.reference['source']})"
        lines = [f"{self.rows:,} {what} of {self.data} shifted; {rest}"]
        lines += [f"{many:,} rows hold none: {why}" for why, many in self.refused.items()]
        if not self.labelled:
            lines.append("the rows have no labels: estimates stand alone, the truth is not known")
        return lines

    def closing(self) -> list[str]:
        """What was left out and cut, and what to beware of."""
        lines = self._rests_on()
        dropped: dict[str, str] = {}
        cut: dict[str, dict[str, int]] = {}
        for model, curve, point in self.points():
            at = "the data as they are" if point.severity is None else f"{curve.kind} {point.severity}"
            left = "; ".join(f"{many:,} ({why})" for why, many in point.dropped.items())
            dropped |= {at: left} if left else {}
            if point.truncated:
                cut.setdefault(model.name, {})[at] = point.truncated
        lines += [f"rows left out of {at}: {left}" for at, left in dropped.items()]
        for name, places in cut.items():
            told = ", ".join(f"{many:,} of {at}" for at, many in places.items())
            lines.append(f"{name} reads less than some inputs hold, and they were cut: {told}")
        lines += [f"note: {one}" for one in self.notes]
        return lines + [f"warning: {one}" for one in self.warnings]

    def _rests_on(self) -> list[str]:
        """Kinds of the estimates' intervals and what they rest on; what the band of the truth is."""
        found = [one.estimate for _, _, one in self.points() if one.estimate is not None]
        kinds = dict.fromkeys((one.kind, one.level, one.assumes) for one in found)
        lines = [f"estimates: {percent(at, None)} {kind} interval; they rest on: {on}" for kind, at, on in kinds]
        runs = max((len(one.predictions) for _, _, one in self.points()), default=1)
        if runs > 1:
            lines.append(
                f"up to {runs} runs or draws of each point: intervals are of the first, spreads of all of them"
            )
        return lines

    def summary(self) -> str:
        """What was found, in a few lines and a table."""
        return "\n".join([*self.opening(), aligned(*self.table()), *self.closing()])


def _row(model: str, kind: str, point: StressPoint) -> list[str]:
    estimate, truth = point.estimate, point.metrics.get("accuracy")
    error = "" if point.error is None else f"{point.error * 100:+.1f}"
    return [
        model,
        kind,
        "-" if point.severity is None else point.severity,
        f"{point.rows:,}",
        "" if estimate is None else percent(estimate.value),
        "" if estimate is None else f"[{percent(estimate.lower)}, {percent(estimate.upper)}]",
        "" if truth is None else percent(truth.value),
        error,
        *("" if name not in point.metrics else f"{point.metrics[name].value:.3f}" for name in METRICS[1:]),
        percent(point.common["accuracy"].value) if "accuracy" in point.common else "",
        "" if estimate is None else estimate.trust,
    ]
