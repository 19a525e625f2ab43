"""Options of the verb `estimate`: what was asked for, checked once and handed through all its rooms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import UsageError, visible
from ...estimators.expected_classes import class_metrics_asked, metric_name
from ...headline.alarms import alarm_rules, check_when
from ...headline.natural_shifts import NaturalShifts, check_margin, packaged_prior
from ...options import declared
from ...passes.folding import Execution
from ...passes.slicing import Chunks, parse_chunks
from ...predictions import FIELDS
from ...registry import find
from ...results.alarms import ASKED, AlarmRule, FailWhen
from ...results.estimation import ASSUMPTIONS
from ...store.where import parse_where
from ..opening import renamings
from ..options import EstimateOptions

if TYPE_CHECKING:
    from ...histories import Recorder


class EstimateJob(EstimateOptions):
    """What `estimate` was asked and where it works; `UsageError` for options that make no sense together."""

    execution: Execution = field(default_factory=Execution)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mapping", renamings(self.mapping, self.positive))
        object.__setattr__(self, "metrics", watched_metrics(self.metrics, self.fail_below, self.fail_drop))
        if self.assume not in ASSUMPTIONS:
            raise UsageError(f"unknown assumption {self.assume!r}; known: {', '.join(ASSUMPTIONS)}")
        check_margin(self.margin)
        if self.by is not None and self.every is not None:
            raise UsageError("give --by or --every, not both")
        if isinstance(self.backtest, (str, Path)) and self.backtest != "auto":
            place = Path(self.backtest)
            if place.is_file() or (place.suffix and not place.is_dir()):
                there = "a file" if place.is_file() else "there is no such file or folder"
                raise UsageError(
                    f"--backtest: expected auto, none or a folder that keeps backtests, got {place} ({there}); name a "
                    "folder, which is made where its name has no ending, or leave it out"
                )
        # refused before the work
        _ = self.chunks, self.alarm_rules, self.when, self.recorder, parse_where(self.where)
        for name in self.methods or ():
            find("estimator", name)
        if self.payoff is not None:
            from ...metrics.payoff import Payoff

            Payoff.of(self.payoff)  # refused before the work
        for name in self.metrics:
            class_metrics_asked([name.partition(":")[0]], (), None if self.payoff is None else np.eye(1))
        for accuracy in self.target_accuracies:
            if not 0 < accuracy <= 1:
                raise UsageError(
                    f"expected an accuracy between 0 and 1 such as 0.95, got {accuracy}; divide percents by 100"
                )

    @cached_property
    def natural_shifts(self) -> NaturalShifts:
        """The prior of natural shifts: the packaged one, or that of a file."""
        if isinstance(self.prior, NaturalShifts):
            return self.prior  # of a fitted file
        return packaged_prior() if self.prior is None else NaturalShifts.read(self.prior)

    @cached_property
    def chunks(self) -> Chunks | None:
        """How the target is cut into chunks; `UsageError` for what is no way to."""
        return None if self.every is None else parse_chunks(self.every)

    @cached_property
    def alarm_rules(self) -> tuple[AlarmRule, ...]:
        """What must not be undercut."""
        below, drop = named_bounds(self.fail_below), named_bounds(self.fail_drop)
        return alarm_rules(below, drop, ("accuracy", *map(metric_name, self.metrics)))

    @property
    def when(self) -> FailWhen:
        """What an alarm is judged by."""
        return check_when(self.fail_when)

    @cached_property
    def recorder(self) -> Recorder | None:
        """What takes the run to its store; `UsageError` for words that ask for a store where none is given."""
        if self.alarms not in ASKED:
            raise UsageError(f"--alarms: expected one of {', '.join(ASKED)}, got {self.alarms!r}")
        if self.store is None:
            for given, why in ((self.job is not None, "--job"), (self.alarms != "all", f"--alarms {self.alarms}")):
                if given:
                    raise UsageError(f"{why} needs a store of past runs; give --store FILE or --store postgresql://...")
            return None
        if self.job is not None and not self.job.strip():
            raise UsageError("--job: expected a name, got an empty one")
        from ...histories import Recorder, open_store

        job = None if self.job is None else visible(self.job.strip())
        values = {name: getattr(self, name) for name, _, about in declared(type(self)) if about.noted}
        told = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return Recorder(open_store(self.store), job, self.alarms, told)

    @property
    def extra_columns(self) -> list[str]:
        """Columns of the target that are no field and are read all the same."""
        return [self.by] if self.by is not None and self.by not in FIELDS else []


def named_bounds(given: float | Mapping[str, float] | None) -> dict[str, float]:
    """Metric -> bound, each metric by the name that it is known by; a number alone is of the accuracy.

    >>> named_bounds(0.93), named_bounds({"auc": 0.8}), named_bounds(None)
    ({'accuracy': 0.93}, {'roc_auc': 0.8}, {})
    """
    if given is None:
        return {}
    return (
        {metric_name(name): bound for name, bound in given.items()}
        if isinstance(given, Mapping)
        else {"accuracy": given}
    )


def watched_metrics(metrics: Sequence[str], *given: float | Mapping[str, float] | None) -> list[str]:
    """The metrics asked for, and those that an alarm asks for.

    >>> watched_metrics(["f1"], {"auc": 0.8, "accuracy": 0.9}, 0.02)
    ['f1', 'roc_auc']
    """
    asked = [name for one in given for name in named_bounds(one) if name != "accuracy"]
    return list(dict.fromkeys((*metrics, *asked)))
