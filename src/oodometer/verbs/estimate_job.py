"""What `estimate` is asked: its options, checked, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UsageError, visible
from ..estimators.expected_classes import metric_name, metrics_named
from ..headline.alarms import alarm_rules
from ..headline.natural_shifts import DOMAINS, NaturalShifts, check_margin, packaged_prior
from ..options import declared
from ..passes.slicing import Chunks, parse_chunks
from ..predictions import FIELDS
from ..registry import find
from ..results.alarms import ASKED, WHEN, AlarmRule
from ..results.estimation import ASSUMPTIONS
from ..store.where import parse_where
from ..vectors import several
from .opening import renamings
from .options import Alarms, EstimateOptions

if TYPE_CHECKING:
    from ..histories import Recorder


def named_bounds(bounds: float | Mapping[str, float] | None) -> dict[str, float]:
    """Metric -> bound, each metric by the name that it is known by; a number alone is of the accuracy."""
    bounds = (
        bounds if isinstance(bounds, Mapping) else {} if bounds is None else {"accuracy": bounds}
    )
    return {metric_name(name): bound for name, bound in bounds.items()}


class EstimateJob(EstimateOptions):
    """What `estimate` was asked; `UsageError` for options that make no sense together."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mapping or self.positive is not None:
            object.__setattr__(self, "mapping", renamings(self.mapping, self.positive))
        bounds = (*named_bounds(self.fail_below), *named_bounds(self.fail_drop))
        metrics = dict.fromkeys((*self.metrics, *(name for name in bounds if name != "accuracy")))
        object.__setattr__(self, "metrics", list(metrics))
        self._check_words()
        self._check_backtest()
        # refused before the work
        _ = self.chunks, self.alarm_rules, self.recorder, self.where and parse_where(self.where)
        if self.fail_when not in WHEN:
            raise UsageError(
                f"--fail-when: expected one of {', '.join(WHEN)}, got {self.fail_when!r}"
            )
        self._check_names()

    def _check_words(self) -> None:
        """The assumption, the domain, the margin, and one way to cut the target."""
        if self.assume not in ASSUMPTIONS:
            raise UsageError(f"unknown assumption {self.assume!r}; known: {', '.join(ASSUMPTIONS)}")
        if self.domain is not None and self.domain not in DOMAINS:
            raise UsageError(f"--domain: expected one of {', '.join(DOMAINS)}, got {self.domain!r}")
        check_margin(self.margin)
        if self.by is not None and self.every is not None:
            raise UsageError("give --by or --every, not both")

    def _check_backtest(self) -> None:
        """The folder that keeps backtests, where one is named."""
        if not isinstance(self.backtest, (str, Path)) or self.backtest == "auto":
            return
        path = Path(self.backtest)
        if path.is_file() or (path.suffix and not path.is_dir()):
            what = "a file" if path.is_file() else "there is no such file or folder"
            remedy = "name a folder, which is made where its name has no ending, or leave it out"
            expected = "expected auto, none or a folder that keeps backtests"
            raise UsageError(f"--backtest: {expected}, got {path} ({what}); {remedy}")

    def _check_names(self) -> None:
        """Methods, payoffs, metrics and target accuracies."""
        for name in self.methods or ():
            find("estimator", name)
        if self.payoff is not None:
            from ..metrics.payoff import Payoff

            Payoff.of(self.payoff)
        for name in self.metrics:
            metrics_named([name.partition(":")[0]], (), None if self.payoff is None else np.eye(1))
        for accuracy in self.target_accuracies:
            if not 0 < accuracy <= 1:
                expected = "expected an accuracy between 0 and 1 such as 0.95"
                raise UsageError(f"{expected}, got {accuracy}; divide percents by 100")

    @cached_property
    def natural_shifts(self) -> NaturalShifts:
        """The prior of natural shifts: the packaged one, or that of a file."""
        if isinstance(self.prior, NaturalShifts):
            return self.prior  # of a fitted file
        return packaged_prior() if self.prior is None else NaturalShifts.read(self.prior)

    @cached_property
    def chunks(self) -> Chunks | None:
        """How the target is cut into chunks; `UsageError` for what is no way to."""
        return None if self.every is None else parse_chunks(self.every, self.timezone or "")

    @cached_property
    def alarm_rules(self) -> tuple[AlarmRule, ...]:
        """What must not be undercut."""
        below, drop = named_bounds(self.fail_below), named_bounds(self.fail_drop)
        if not below and not drop:
            return ()
        return alarm_rules(below, drop, ("accuracy", *map(metric_name, self.metrics)))

    @cached_property
    def recorder(self) -> Recorder | None:
        """What takes the run to its store; `UsageError` for words that ask for a store where none is given."""
        if isinstance(self.alarms, Alarms) or self.alarms not in ASKED:
            raise UsageError(f"--alarms: expected one of {', '.join(ASKED)}, got {self.alarms!r}")
        if self.store is None:
            for is_set, why in (
                (self.job is not None, "--job"),
                (self.alarms != "all", f"--alarms {self.alarms}"),
            ):
                if is_set:
                    remedy = "give --store FILE or --store postgresql://..."
                    raise UsageError(f"{why} needs a store of past runs; {remedy}")
            return None
        if self.job is not None and not self.job.strip():
            raise UsageError("--job: expected a name, got an empty one")
        from ..histories import Recorder, open_store

        job = None if self.job is None else visible(self.job.strip())
        noted: dict[str, Any] = {}
        for name, _, about in declared(type(self)):
            if about.noted:
                value = getattr(self, name)
                noted[name] = list(value) if isinstance(value, tuple) else value
        return Recorder(open_store(self.store), job, self.alarms, noted)

    @property
    def past_data(self) -> Sequence[Any]:
        """Files or tables of the past, one or several."""
        if self.history is None:
            return []
        return several(self.history)

    @property
    def extra_columns(self) -> list[str]:
        """Columns of the target that are no field and are read all the same."""
        return [self.by] if self.by is not None and self.by not in FIELDS else []
