"""Options of `rank`: what is read of the data, which evidence is asked for, and what decides the order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..datasets.reading import Columns
from ..engines import Engine
from ..errors import UsageError
from ..intervals import check_level
from ..registry import find

_DEVICE = re.compile(r"cpu|cuda(:\d+)?")

ORDERS = ("labels", "combined")
"""What decides the order: labels with the pool, or these with the rest of the evidence where labels are close."""


@dataclass(frozen=True)
class RankOptions:
    """All that settles what `rank` finds beside models and data; as in the verb `rank`.

    ``engine`` runs attributions as tasks, None does them in this process.
    """

    columns: Columns
    factors: tuple[str, ...]
    attribution: str | None
    samples: int | None
    normalize: str
    explain: int
    order: str
    suggest: int
    classes: tuple[int | str, ...] | None
    mapping: Mapping[str, str] | None
    positive: str | None
    threshold: float | None
    gives: str | None
    max_length: int | None
    device: str | None
    level: float
    seed: int
    engine: Engine | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        if check_level(self.level) <= 0.5:
            raise UsageError(f"expected a level above 0.5 such as 0.95, got {self.level}")
        for name in self.factors:
            find("factor", name)
        if self.attribution not in (None, "auto"):
            find("attribution", self.attribution)
        if len(set(self.factors)) < len(self.factors):
            twice = next(name for name in self.factors if self.factors.count(name) > 1)
            raise UsageError(f"the factor {twice} is named twice; name it once")
        for what, given in (
            ("samples are of an attribution", self.samples is not None),
            ("a normalization is of attributions", self.normalize != "none"),
            ("engine and workers are for attributions", self.engine is not None),
        ):
            if given and not self.explained:
                raise UsageError(f"{what}, and none was asked for; name one with --attribution or --factor")
        if self.device is not None and not _DEVICE.fullmatch(self.device):
            raise UsageError(f"expected the device to be cpu, cuda or cuda:N, got {self.device!r}")
        for what, value, least in (
            ("samples", self.samples, 2),
            ("explain", self.explain, 1),
            ("suggest", self.suggest, 0),
            ("max_length", self.max_length, 2),
        ):
            if value is not None and value < least:
                raise UsageError(f"expected {what} to be a number from {least} on, got {value!r}")

    @property
    def explained(self) -> bool:
        """Whether attributions are asked for."""
        return self.attribution is not None or bool(self.factors)

    @property
    def method(self) -> str:
        """The attribution method that is used."""
        return "lime" if self.attribution in (None, "auto") else self.attribution

    def of_models(self) -> dict[str, Any]:
        """What `open_classifier` takes."""
        return {"gives": self.gives, "classes": self.classes, "max_length": self.max_length, "device": self.device}
