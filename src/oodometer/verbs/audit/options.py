"""Options of the verb `audit`: what was asked for, checked once and handed through all its rooms."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...audits.worksheet import check_worksheet
from ...errors import UsageError
from ...headline.falls import check_margin
from ...intervals import check_level
from ...passes.folding import Execution
from ..estimate.options import EstimateOptions

__all__ = ["SUGGEST_BY", "AuditOptions"]

SUGGEST_BY = ("random", "confidence")  # how `--suggest` draws rows


@dataclass(frozen=True)
class AuditOptions:
    """The arguments of `audit` besides reference and target; `UsageError` for those that make no sense together."""

    labels: Any = None
    key: str | None = None
    suggest: int = 0
    suggest_by: str = "random"
    out: str | os.PathLike[str] | None = None
    level: float = 0.95
    methods: Sequence[str] | None = None
    classes: Sequence[int | str] | None = None
    mapping: Mapping[str, str] | None = None
    positive: str | None = None
    threshold: float | None = None
    features: str | Sequence[str] | None = None
    margin: float = 0.01
    expected_widths: bool = False
    seed: int = 0
    execution: Execution = field(default_factory=Execution)

    def __post_init__(self) -> None:
        check_level(self.level)
        check_margin(self.margin)
        if self.suggest < 0:
            raise UsageError(f"expected a number of rows to suggest, 1 or more, got {self.suggest}")
        if self.suggest_by not in SUGGEST_BY:
            raise UsageError(f"unknown way to suggest rows {self.suggest_by!r}; known: {', '.join(SUGGEST_BY)}")
        if self.out is not None and not self.suggest:
            raise UsageError("an output file is for suggested rows: say how many with --suggest")
        if self.out is not None:
            check_worksheet(self.out, self.key)

    @property
    def label_files(self) -> list[Any]:
        """The labels that were given, file by file."""
        if self.labels is None:
            return []
        return list(self.labels) if isinstance(self.labels, (list, tuple)) else [self.labels]

    def of_estimate(self) -> EstimateOptions:
        """What the label-free estimate is asked for."""
        return EstimateOptions(methods=self.methods, level=self.level, seed=self.seed, execution=self.execution)
