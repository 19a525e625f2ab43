"""The options of `rank`, and what it refuses of predictions files and of live models alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..errors import InputError, UsageError
from ..rankings.answered import shown
from ..registry import find
from .options import RankOptions

_DEVICE = re.compile(r"cpu|cuda(:\d+)?")
_LEAST = (("samples", 2), ("explain", 1), ("suggest", 0), ("max_length", 2))


class Asked(RankOptions):
    """The options of `rank`, which go together."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.level <= 0.5:
            raise UsageError(f"expected a level above 0.5 such as 0.95, got {self.level}")
        self._check_attributions()
        if self.device is not None and not _DEVICE.fullmatch(self.device):
            raise UsageError(f"expected the device to be cpu, cuda or cuda:N, got {self.device!r}")
        for name, minimum in _LEAST:
            value = getattr(self, name)
            if value is not None and value < minimum:
                raise UsageError(f"expected {name} to be a number from {minimum} on, got {value!r}")

    def _check_attributions(self) -> None:
        for name in self.factors:
            find("factor", name)
        if self.attribution is not None:
            find("attribution", self.attribution)
        twice = repeated(self.factors)
        if twice is not None:
            raise UsageError(f"the factor {twice} is named twice; name it once")
        if self.explained and self.examples is None and self.unlabelled is not None:
            raise UsageError(
                "attributions are of labelled texts, and there are none; give some with --examples FILE"
            )
        tasks = self.engine is not None or self.workers is not None
        for what, is_set in (
            ("samples are of an attribution", self.samples is not None),
            ("a normalization is of attributions", self.normalize != "none"),
            ("engine and workers are for attributions", tasks),
        ):
            if is_set and not self.explained:
                raise UsageError(
                    f"{what}, and none was asked for; name one with --attribution or --factor"
                )

    @property
    def explained(self) -> bool:
        """Whether attributions are asked for."""
        return self.attribution is not None or bool(self.factors)

    @property
    def method(self) -> str:
        """The attribution method that is used."""
        return self.attribution or "lime"


def repeated(names: Sequence[str]) -> str | None:
    """The first name that stands there more than once."""
    return next((name for name, times in Counter(names).items() if times > 1), None)


def no_clusters(column: str, columns: Sequence[str], remedy: str, file: str) -> InputError:
    """The error for a column of clusters that is not there."""
    return InputError(
        f"a column {column} that tells which rows depend on each other",
        got=shown(tuple(columns), 12) or "no columns",
        remedy=remedy,
        file=file,
    )


def check_filled(ids: Sequence[Any], file: str, column: str | None) -> None:
    """Raise `InputError` for a row without an id beside others that have one."""
    empty = next(
        (row for row, cell in enumerate(ids, 1) if cell is None or cell == "" or cell != cell), None
    )
    if empty is not None:
        raise InputError(
            "an id",
            got="an empty cell",
            remedy="name each row",
            file=file,
            row=empty,
            column=column,
        )


def check_classes(
    classes: Sequence[Sequence[int | str]], sources: Sequence[str], remedy: str
) -> None:
    """Raise `InputError` where the models have not the same classes."""
    for names, source in zip(classes[1:], sources[1:], strict=True):
        if {str(cls) for cls in names} != {str(cls) for cls in classes[0]}:
            raise InputError(
                f"the classes of {sources[0]}, {shown(classes[0])}",
                got=shown(names),
                remedy=remedy,
                file=source,
            )
