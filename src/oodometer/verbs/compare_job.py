"""What `compare` is asked: options that fit each other, and the metrics that they ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..metrics import Metric, computation_score, ordered_by
from ..metrics.disca import check_options, check_weights
from ..metrics.reliability import SHORT
from ..plain import Json
from ..registry import create, named
from ..vectors import given_pair, is_bare
from .opening import listed
from .options import CompareOptions

_RISK, _COVERAGE = 0.05, 0.8
_PLAIN = ("accuracy", "brier", "ece", "auc_coverage", "aurc", "e_aurc", "augrc")


class CompareJob(CompareOptions):
    """What `compare` was asked; `UsageError` for options that make no sense together."""

    def __post_init__(self) -> None:
        if isinstance(self.models, Mapping):
            self._take_names(self.models)
        if is_bare(self.labels) and isinstance(self.models, (list, tuple)):
            self._take_truth(self.models)
        super().__post_init__()

        self.shares()
        check_weights("p and q", self.didma_weights)
        check_weights("u and v", self.nidma_weights)
        self.computation_scores()
        if self.curves() and self.judge:
            raise UsageError(
                "--metric compares who is right by question, --judge corrects verdicts: leave one of them out"
            )
        if self.weight is not None and self.unweighted:
            raise UsageError(f"{self.unweighted[0]} is not weighted; leave it or --weight out")

    @property
    def unweighted(self) -> list[str]:
        """Options that were given whose answer knows no weights."""
        given = {
            "--judge": self.judge,
            "--metric": self.metrics,
            "--anytime": self.anytime,
            "--target": self.target,
            "--energy": self.energy,
            "--parameters": self.parameters,
        }
        return [option for option, value in given.items() if value]

    def _take_names(self, models: Mapping[Any, Any]) -> None:
        """Models by name become names and models; `UsageError` where names are given twice."""
        if self.names:
            raise UsageError("the mapping of models names them: leave names= out")
        object.__setattr__(self, "names", tuple(str(name) for name in models))
        object.__setattr__(self, "models", list(models.values()))

    def _take_truth(self, models: Sequence[Any]) -> None:
        """What models say as arrays, beside the truth as one, become tables, whose columns it names."""
        if models and all(map(is_bare, models)):
            pairs = [given_pair(self.labels, p, self.classes, self.positive) for p in models]
            object.__setattr__(self, "models", pairs)
            object.__setattr__(self, "labels", None)

    def curves(self) -> list[tuple[str, int]]:
        """The curves of k answers to a question that are compared, each with its k; `UsageError` for other metrics."""
        out: dict[tuple[str, int], None] = {}
        for text in self.metrics:
            name = named("metric", text)
            if name.partition(":")[0] not in SHORT:
                raise UsageError(
                    f"--metric {text}: expected pass@4, pass^4 or maj@4 of questions that were answered several times; "
                    "without it who is right is compared, or the mean of `score`"
                )
            out |= {(name.partition(":")[0], k): None for k in create("metric", name).ks}
        return [*out]

    def computation_scores(self) -> list[float] | None:
        """The computation score of each model, of its energy or its number of parameters; None where none is given."""
        if self.energy and self.parameters:
            raise UsageError(
                "give the models' energy or their parameters, not both: DiDMA takes one"
            )
        if self.energy:
            return [computation_score(energy=e) for e in self.energy]
        if self.parameters:
            optimal = self.optimal_parameters
            if optimal is None:
                raise UsageError(
                    "--parameters count by their ratio to as many as the device runs well: give "
                    "--optimal-parameters, too"
                )
            return [
                computation_score(parameters=p, optimal_parameters=optimal) for p in self.parameters
            ]
        if self.optimal_parameters is not None:
            raise UsageError("an optimal number of parameters needs the parameters of each model")
        return None

    def shares(self) -> tuple[float, float, float]:
        """The weights of DiSCA as they are used."""
        return check_options((self.tolerance,), self.weights, self.grid, self.steps)

    @property
    def disca(self) -> Json:
        """Options of DiSCA."""
        weights = self.shares()
        return {
            "tolerance": self.tolerance,
            "weights": weights,
            "grid": self.grid,
            "steps": self.steps,
        }

    @property
    def curve(self) -> Json:
        """Options of the metrics that are read off a curve, of the sample or of a replicate."""
        return {**self.disca, "risk": _RISK, "coverage": _COVERAGE}

    def evaluated(self) -> list[Metric[Any, Any]]:
        """The metrics of every model, in the order asked for."""
        if curves := self.curves():
            several = {name: [k for other, k in curves if other == name] for name in dict(curves)}
            asked = [create("metric", name, k=ks) for name, ks in several.items()]
            return [create("metric", "accuracy"), *asked]
        required = tuple(self.require)
        how: dict[str, Json] = {name: {} for name in _PLAIN} | {"disca": self.disca}
        how |= {"coverage_at_risk": {"risk": _RISK}, "risk_at_coverage": {"coverage": _COVERAGE}}
        how |= {
            "accuracy_coverage": {"steps": self.steps},
            "risk_coverage": {"target_accuracies": required},
        }
        how |= {"operating_points": {"required": required}, "failure_cases": {}, "mean_score": {}}
        return ordered_by(
            [create("metric", name, **options) for name, options in how.items()], self.score
        )

    @property
    def settings(self) -> Json:
        """What the result tells of them."""
        out = {**self.curve, "require": list(self.require), "threshold": self.threshold}
        out["features"] = (
            self.features if self.features in (None, "auto") else listed(self.features)
        )
        out |= {"score": self.score, "cluster": self.cluster}
        out |= {name: list(getattr(self, name)) for name in ("didma_weights", "nidma_weights")}
        out["energy_unit"] = self.energy_unit if self.energy else None
        out |= {} if self.weight is None else {"weight": self.weight}
        return out | {"optimal_parameters": self.optimal_parameters}
