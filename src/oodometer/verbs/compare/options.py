"""Options of the verb `compare`: what was asked for, checked once and handed through all its rooms."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ...errors import UsageError
from ...metrics import Metric, computation_score, ordered_by
from ...metrics.disca import check_options, check_pair_of_weights
from ...passes.folding import Execution
from ...registry import create
from ..features import listed
from ..opening import renamings
from ..options import CompareOptions

_RISK, _COVERAGE = 0.05, 0.8
_PLAIN = ("accuracy", "brier", "ece", "auc_coverage", "aurc", "e_aurc", "augrc")


class CompareJob(CompareOptions):
    """What `compare` was asked and where it works; `UsageError` for options that make no sense together."""

    execution: Execution = field(default_factory=Execution)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mapping", renamings(self.mapping, self.positive))
        self.shares()
        check_pair_of_weights("p and q", self.didma_weights)
        check_pair_of_weights("u and v", self.nidma_weights)
        self.computation_scores()

    def computation_scores(self) -> list[float] | None:
        """The computation score of each model, of its energy or its number of parameters; None where none is given."""
        if self.energy and self.parameters:
            raise UsageError("give the models' energy or their parameters, not both: DiDMA takes one")
        if self.energy:
            return [computation_score(energy=e) for e in self.energy]
        if self.parameters:
            optimal = self.optimal_parameters
            return [computation_score(parameters=p, optimal_parameters=optimal) for p in self.parameters]
        if self.optimal_parameters is not None:
            raise UsageError("an optimal number of parameters needs the parameters of each model")
        return None

    def shares(self) -> tuple[float, float, float]:
        """The weights of DiSCA as they are used."""
        return check_options((self.tolerance,), self.weights, self.grid, self.steps)

    @property
    def disca(self) -> dict[str, Any]:
        """Options of DiSCA."""
        weights = self.shares()
        return {"tolerance": self.tolerance, "weights": weights, "grid": self.grid, "steps": self.steps}

    @property
    def curve(self) -> dict[str, Any]:
        """Options of the metrics that are read off a curve, of the sample or of a replicate."""
        return {**self.disca, "risk": _RISK, "coverage": _COVERAGE}

    def metrics(self) -> list[Metric[Any, Any]]:
        """The metrics of every model, in the order asked for."""
        required = tuple(self.require)
        made = [create("metric", name) for name in _PLAIN]
        made += [
            create("metric", "disca", **self.disca),
            create("metric", "coverage_at_risk", risk=_RISK),
            create("metric", "risk_at_coverage", coverage=_COVERAGE),
            create("metric", "accuracy_coverage", steps=self.steps),
            create("metric", "risk_coverage", target_accuracies=required),
            create("metric", "operating_points", required=required),
            create("metric", "failure_cases"),
        ]
        return ordered_by(made, self.score)

    @property
    def settings(self) -> dict[str, Any]:
        """What the result tells of them."""
        return {
            **self.curve,
            "require": list(self.require),
            "threshold": self.threshold,
            "features": self.features if self.features in (None, "auto") else listed(self.features),
            "score": self.score,
            "cluster": self.cluster,
            "didma_weights": list(self.didma_weights),
            "nidma_weights": list(self.nidma_weights),
            "energy_unit": self.energy_unit if self.energy else None,
            "optimal_parameters": self.optimal_parameters,
        }
