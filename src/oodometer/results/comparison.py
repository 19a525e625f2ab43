"""Comparison: the result of the verb `compare`, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from .columns import ColumnChange
from .evaluation import Evaluation
from .shown import Shown
from .values import Interval, aligned, counted, percent, plain

_LEFT_OUT = ("command", "version", "argv", "level", "seed", "per_class")


_COLUMNS = ("accuracy", "auc_coverage", "disca", "coverage_at_risk", "risk_at_coverage")
_MOST_FINDINGS = 8


@dataclass(frozen=True)
class ModelRecord:
    """What was found for one model: in its domain, out of it, on a target without labels, and what it costs.

    in_domain, out_of_domain : `Evaluation`, the second None where no file was given.
    target : label-free accuracy-coverage ``curve`` and ``answers`` for the required accuracies, or None.
    energy, parameters, computation : what it costs, and the score made of it; None where nothing was given.
    didma, nidma : with intervals; None where a part is missing.
    columns : domain -> how the user's columns moved to there, those first that explain most of a change of accuracy.
    """

    name: str
    in_domain: Evaluation
    out_of_domain: Evaluation | None = None
    target: Mapping[str, Any] | None = None
    energy: float | None = None
    parameters: float | None = None
    computation: float | None = None
    didma: Interval | None = None
    nidma: Interval | None = None
    columns: Mapping[str, tuple[ColumnChange, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""

        def short(one: Evaluation | None) -> dict[str, Any] | None:
            if one is None:
                return None
            return {k: v for k, v in one.to_dict().items() if k not in _LEFT_OUT}

        return {
            "name": self.name,
            "in_domain": short(self.in_domain),
            "out_of_domain": short(self.out_of_domain),
            "target": plain(self.target),
            "energy": self.energy,
            "parameters": self.parameters,
            "computation": plain(self.computation),
            "didma": plain(self.didma),
            "nidma": plain(self.nidma),
            "columns": {domain: [one.to_dict() for one in changes] for domain, changes in self.columns.items()},
        }


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """What `compare` found; ``comparison["name"]`` is the record of one model.

    models : in the order given. rankings : domain (in_domain, out_of_domain, target) -> metric -> rows, best first.
    disagreements : pairs of metrics with Kendall's tau of their rankings and the pairs of models on which they part.
    pairs : each two models and metric, with the difference and the share of replicates in which the first is better.
    difference : in accuracy, of the best model and the next (of two models the second and the first), ``b`` - ``a``.
    findings : what to know, in words, with its numbers. paired : domain -> whether the models were judged on the same
    rows. settings : options of the metrics.
    """

    models: tuple[ModelRecord, ...]
    rankings: Mapping[str, Mapping[str, list[dict[str, Any]]]]
    disagreements: tuple[dict[str, Any], ...]
    pairs: tuple[dict[str, Any], ...]
    findings: tuple[dict[str, Any], ...]
    paired: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any]
    warnings: tuple[str, ...]
    level: float
    seed: int
    argv: str | None = field(default=None)
    difference: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return summary_of_comparison(self)

    @property
    def difference_said(self) -> str:
        """The difference in accuracy in a sentence, with its interval and what it was read from."""
        one = self.difference
        low, value, high = (f"{100 * one[name]:+.1f}" for name in ("lower", "value", "upper"))
        many = "" if one["clusters"] is None else f" in {one['clusters']:,} clusters"
        how = f"the same {one['rows']:,} rows{many}" if one["paired"] else f"rows drawn apart{many}"
        text = (
            f"Difference in accuracy, {one['b']} - {one['a']}: {value} points [{low}, {high}] "
            f"({percent(self.level, None)} interval, {how}); {one['b']} is better with probability "
            f"{percent(one['p_b_better'], 0)}"
        )
        if one["p_value"] is None:
            return text
        alone = f"{one['b']} alone is right in {counted(one['b_alone'], 'row')}, {one['a']} alone in {one['a_alone']:,}"
        return f"{text} ({alone}; McNemar's exact p = {one['p_value']:.2g})"

    def __getitem__(self, name: str) -> ModelRecord:
        for model in self.models:
            if model.name == name:
                return model
        raise UsageError(f"there is no model {name!r}; known: {', '.join(m.name for m in self.models)}")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from ..version import __version__

        return {
            "command": "compare",
            "version": __version__,
            "argv": self.argv,
            "level": self.level,
            "seed": self.seed,
            "settings": plain(self.settings),
            "paired": plain(self.paired),
            "models": [model.to_dict() for model in self.models],
            "rankings": plain(self.rankings.get("in_domain", {})),
            "rankings_out_of_domain": plain(self.rankings.get("out_of_domain", {})),
            "rankings_target": plain(self.rankings.get("target", {})),
            "disagreements": plain(list(self.disagreements)),
            "pairs": plain(list(self.pairs)),
            "difference": plain(self.difference),
            "findings": plain(list(self.findings)),
            "warnings": list(self.warnings),
        }


def summary_of_comparison(found: Comparison) -> str:
    """The models by each metric, value and rank, in and out of the domain, and the first findings."""
    lines = [found.difference_said] if found.difference else []
    for domain, rankings in found.rankings.items():
        columns = [name for name in _COLUMNS if name in rankings]
        cells = {
            (name, row["model"]): f"{row['value']:.4f} ({row['rank']})" for name in columns for row in rankings[name]
        }
        rows = [[m.name, *(cells.get((name, m.name), "") for name in columns)] for m in found.models]
        if columns:
            lines += [f"{domain.replace('_', ' ')}, value (rank)", aligned(["model", *columns], rows)]
    lines += [f"- {one['sentence']}" for one in found.findings[:_MOST_FINDINGS]]
    return "\n".join([*lines, *(f"warning: {warning}" for warning in found.warnings)])
