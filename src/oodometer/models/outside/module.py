"""Module: a torch module over images or tables that was made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...datasets import Table
from ...errors import UsageError
from ..torch.library import choose_device
from ..torch.library import torch as load_torch
from .base import Gives, OutsideClassifier


@final
class ModuleClassifier(OutsideClassifier):
    """A torch module that takes one float tensor: images (sample, 3, height, width) in [0, 1], or a table.

    A module that wants its images scaled another way, or texts, is given as a function that does so.

    Parameters
    ----------
    module : the trained module.
    gives, classes, name : see `OutsideClassifier`.
    device : "cpu" or "cuda"; by default a GPU where one is there.
    """

    kind = "module"
    by_position = True
    reads = ("image", "table")

    def __init__(
        self,
        module: Any,
        *,
        gives: Gives = "logits",
        classes: Sequence[int | str] | None = None,
        name: str | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(gives=gives, classes=classes, name=name or type(module).__name__)
        self.device = choose_device(device)
        self.module = module.to(self.device).eval()

    def _outputs(self, inputs: Any) -> Any:
        torch = load_torch()
        with torch.inference_mode():
            return self.module(torch.from_numpy(self._array(inputs)).to(self.device))

    def _array(self, inputs: Any) -> Any:
        if isinstance(inputs, Table):
            return np.stack([np.asarray(one, dtype=np.float32) for one in inputs.columns.values()], axis=1)
        if not isinstance(inputs, np.ndarray):
            raise UsageError("a torch module takes images of one size; resize them, or give a function")
        if inputs.ndim == 2:
            return inputs.astype(np.float32)
        return np.ascontiguousarray(inputs.transpose(0, 3, 1, 2), dtype=np.float32) / 255

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return sum(int(one.numel()) for one in self.module.parameters())
