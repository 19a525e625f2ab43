"""Options of `predict`: what is asked of the model, how the data are read, and what goes into the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...datasets.reading import Columns, Drawing
from ...errors import UsageError
from ...models.base import Request


@dataclass(frozen=True)
class PredictOptions:
    """All that settles what a predictions file holds.

    columns : where inputs, labels and ids stand. request : features, views and dropout. members : further models of the
    same classes. average : whether the mean of all is judged. gives, classes, max_length : see `open_classifier`.
    keep_input : whether texts are kept. unlabelled : whether labels are left out. skip : whether images that do not
    decode are left out. batch_rows : rows that are read and asked at once. candidates, replies : how many candidates a
    response without any gets, and the data whose responses they are drawn from.
    """

    columns: Columns = Columns()  # noqa: RUF009 (it is frozen)
    request: Request = Request()  # noqa: RUF009
    members: tuple[Any, ...] = ()
    average: bool = False
    gives: str | None = None
    classes: tuple[int | str, ...] | None = None
    max_length: int | None = None
    keep_input: bool = False
    unlabelled: bool = False
    skip: bool = False
    batch_rows: int = 4096
    device: str | None = None
    candidates: int = 10
    replies: Any = None

    def __post_init__(self) -> None:
        if self.average and not self.members:
            raise UsageError("--average is of several models: name the others with --member")
        if self.request.augmentation != "shift" and not self.request.views:
            raise UsageError("--augmentation is of views: say with --views how many")
        if self.unlabelled and self.columns.label is not None:
            raise UsageError("--label names the truth and --unlabelled leaves it out; give one of them")
        if self.batch_rows < 1:
            raise UsageError(f"expected batches of at least 1 row, got {self.batch_rows}")
        if self.max_length is not None and self.max_length < 2:
            raise UsageError(f"expected max_length of at least 2 tokens, got {self.max_length}")
        if self.candidates < 2:
            raise UsageError(f"expected at least 2 candidates, got {self.candidates}")

    @property
    def drawing(self) -> Drawing:
        """How responses get other candidates."""
        return Drawing(self.candidates, self.request.seed, self.replies)

    def settings(self) -> dict[str, Any]:
        """What the predictions depend on, ready for JSON."""
        columns, request = self.columns, self.request
        return {
            "inputs": list(columns.inputs),
            "label": columns.label,
            "id": columns.id,
            "keep": list(columns.keep),
            "features": request.features,
            "views": request.views,
            "dropout": request.dropout,
            "seed": request.seed,
            "augmentation": request.augmentation,
            "members": [str(one) for one in self.members],
            "average": self.average,
            "gives": self.gives,
            "classes": None if self.classes is None else list(self.classes),
            "max_length": self.max_length,
            "keep_input": self.keep_input,
            "unlabelled": self.unlabelled,
            "skip": self.skip,
            "batch_rows": self.batch_rows,
            "candidates": self.candidates,
            "replies": None if self.replies is None else str(self.replies),
        }


def as_names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """One name or several as a tuple.

    >>> as_names("text"), as_names(["a", "b"]), as_names(None)
    (('text',), ('a', 'b'), ())
    """
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)
