"""Evaluation: the result of the verb `evaluate`, and its JSON form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..aliases import canonical
from ..errors import UsageError
from .shown import Shown
from .values import Curve, Interval, Skipped, aligned, plain


@dataclass(frozen=True)
class Slice:
    """The rows with one value of a column, and their metrics."""

    by: str
    value: Any
    rows: int
    metrics: Mapping[str, Interval]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {"by": self.by, "value": plain(self.value), "rows": self.rows, "metrics": plain(self.metrics)}


@dataclass(frozen=True, repr=False)
class Evaluation(Shown):
    """What `evaluate` found in one set of labelled predictions; ``evaluation["ece"]`` is the number of one metric.

    At a prompt and in a notebook it shows its summary.

    rows : labelled rows that were used; unlabelled : rows of unknown truth that were left out.
    metrics : name -> number with its interval. curves : name -> `Curve`. tables : name -> plain data (``per_class``,
    ``confusion``). skipped : metrics that could not answer, and why. slices : one for each value of the ``by`` column.
    """

    name: str
    rows: int
    unlabelled: int
    metrics: Mapping[str, Interval]
    curves: Mapping[str, Curve]
    tables: Mapping[str, Any]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]
    level: float
    seed: int
    slices: tuple[Slice, ...] = ()
    argv: str | None = None

    def __repr__(self) -> str:
        return summary_of_evaluation(self)

    def __getitem__(self, metric: str) -> Interval:
        if metric in self.metrics:
            return self.metrics[metric]
        known = canonical("metric", metric, [*self.metrics, *(s.method for s in self.skipped)])
        if known in self.metrics:
            return self.metrics[known]
        why = next((s.why for s in self.skipped if s.method == known), "it was not asked for")
        raise UsageError(f"there is no {metric!r}: {why}")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from ..version import __version__

        out: dict[str, Any] = {
            "command": "evaluate",
            "version": __version__,
            "argv": self.argv,
            "name": self.name,
            "rows": self.rows,
            "unlabelled": self.unlabelled,
            "level": self.level,
            "seed": self.seed,
            "metrics": plain(self.metrics),
            "per_class": [],
            **plain(self.tables),
            "skipped": [{"metric": s.method, "why": s.why} for s in self.skipped],
            "warnings": list(self.warnings),
        }
        for name, curve in self.curves.items():
            out[name] = curve.to_dict()
        if "reliability" in self.curves:  # also under the names that `estimate` gives them
            out["reliability"] |= {"confidence": out["reliability"]["x"], "accuracy": out["reliability"]["y"]}
        if self.slices:
            out["slices"] = [s.to_dict() for s in self.slices]
        return out


@dataclass(frozen=True, repr=False)
class Evaluations(Shown):
    """Evaluations of several files, in the order given."""

    files: tuple[Evaluation, ...]
    argv: str | None = field(default=None)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.files))

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, position: int) -> Evaluation:
        return self.files[position]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON: ``files`` holds what a single file would give, each with its name."""
        from ..version import __version__

        return {
            "command": "evaluate",
            "version": __version__,
            "argv": self.argv,
            "files": [one.to_dict() for one in self.files],
        }


def summary_of_evaluation(found: Evaluation) -> str:
    """Every metric with its interval, and how many were left out."""
    lines = [f"{found.name}: {found.rows} labelled rows"]
    lines.append(aligned(["metric", "value", "lower", "upper", "kind"], metric_rows(found)))
    lines += positive_said(found)
    if found.skipped:
        lines.append(f"{len(found.skipped)} metrics were left out; `.skipped` says why")
    return "\n".join([*lines, *(f"warning: {warning}" for warning in found.warnings)])


def metric_rows(found: Evaluation) -> list[list[str]]:
    """A row for each metric: name, value, ends of the interval, kind; a mean over classes stands there once."""
    said = {f"macro_{name}" for name, m in found.metrics.items() if getattr(m, "extras", {}).get("average") == "macro"}
    return [
        [_title(name, m), *(f"{x:.4f}" for x in (m.value, m.lower, m.upper)), m.kind]
        for name, m in found.metrics.items()
        if name not in said
    ]


def positive_said(found: Evaluation) -> list[str]:
    """Which class the metrics of one class are about, where there are some."""
    about = {name: m.extras["positive"] for name, m in found.metrics.items() if "positive" in getattr(m, "extras", {})}  # type: ignore[attr-defined]
    if not about:
        return []
    names = list(about)
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return [f"positive class: {about[names[0]]} ({listed})"]


def _title(name: str, metric: Interval) -> str:
    """A metric with the average that it is, or the place on the curve where it was read, where there is one."""
    extras = getattr(metric, "extras", {})
    if "average" in extras:
        return f"{name} ({str(extras['average']).partition(',')[0]})"
    place = next((extras[key] for key in ("risk", "coverage") if key in extras and name.endswith(key)), None)
    return name if place is None else f"{name} {place:g}"
