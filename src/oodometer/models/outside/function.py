"""Function: anything in Python that answers a batch of inputs, as a classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ...datasets import Table
from .base import Gives, OutsideClassifier


@final
class FunctionClassifier(OutsideClassifier):
    """A function from a batch of inputs to an array of shape (sample, class).

    A batch is a list of texts, a list of pairs, uint8 images (sample, height, width, 3) or a list of them, or, of a
    table, a mapping of column names to arrays.

    Parameters
    ----------
    function : is asked batch by batch.
    gives, classes, name : see `OutsideClassifier`.

    >>> import numpy as np
    >>> loud = FunctionClassifier(lambda texts: np.array([[0.0, 1.0] if t.isupper() else [1.0, 0.0] for t in texts]))
    >>> loud.ask(["AH", "ah"]).probabilities.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    kind = "function"

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        gives: Gives = "probabilities",
        classes: Sequence[int | str] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(gives=gives, classes=classes, name=name or str(getattr(function, "__name__", "function")))
        self.function = function

    def _outputs(self, inputs: Any) -> Any:
        return self.function(_plain(inputs))


def _plain(inputs: Any) -> Any:
    """What somebody else's code knows: lists, arrays, mappings."""
    if isinstance(inputs, Table):
        return inputs.columns
    return list(inputs) if isinstance(inputs, tuple) else inputs
