"""Asked: the options of `predict` as its rooms read them, in this process and in workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...datasets.reading import Columns, Drawing
from ...errors import UsageError
from ...models.base import Request
from ...options import declared
from ..model_options import PredictOptions


class Asked(PredictOptions):
    """The options of `predict`, which go together, and what the data and the model are asked by them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average and not self.members:
            raise UsageError("--average is of several models: name the others with --member")
        if self.augmentation != "shift" and not self.views:
            raise UsageError("--augmentation is of views: say with --views how many")
        if self.unlabelled and self.label is not None:
            raise UsageError("--label names the truth and --unlabelled leaves it out; give one of them")
        if self.batch_rows < 1:
            raise UsageError(f"expected batches of at least 1 row, got {self.batch_rows}")
        if self.max_length is not None and self.max_length < 2:
            raise UsageError(f"expected max_length of at least 2 tokens, got {self.max_length}")
        if self.candidates < 2:
            raise UsageError(f"expected at least 2 candidates, got {self.candidates}")

    @property
    def columns(self) -> Columns:
        """Where inputs, labels and ids stand."""
        return Columns(as_names(self.inputs), self.label, self.id, as_names(self.keep))

    @property
    def request(self) -> Request:
        """What is asked of the model besides probabilities."""
        return Request(self.features, self.views, self.dropout, self.seed, augmentation=self.augmentation)

    @property
    def drawing(self) -> Drawing:
        """How responses get other candidates."""
        return Drawing(self.candidates, self.seed, self.replies)

    @property
    def skip(self) -> bool:
        """Whether images that do not decode are left out."""
        return self.on_error == "skip"

    def named(self, *but: str) -> list[str]:
        """The options that are not what they are by default, these aside."""
        return [name for name, one, _ in declared(Asked) if name not in but and getattr(self, name) != one.default]

    def settings(self) -> dict[str, Any]:
        """What the predictions depend on, ready for JSON."""
        plain = ("features", "views", "dropout", "seed", "augmentation", "average", "gives", "max_length")
        more = ("label", "id", "keep_input", "unlabelled", "skip", "batch_rows", "candidates")
        return {name: getattr(self, name) for name in (*plain, *more)} | {
            "inputs": list(as_names(self.inputs)),
            "keep": list(as_names(self.keep)),
            "members": [str(one) for one in self.members],
            "classes": None if self.classes is None else list(self.classes),
            "replies": None if self.replies is None else str(self.replies),
        }


def as_names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """One name or several as a tuple.

    >>> as_names("text"), as_names(["a", "b"]), as_names(None)
    (('text',), ('a', 'b'), ())
    """
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)
