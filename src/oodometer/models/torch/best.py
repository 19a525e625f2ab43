"""Best: of the weights that a training passes through, those with the smallest loss on a dev set."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from ...errors import InputError
from ..base import Progress
from .checkpoint import load_weights, read_tensors, weights, write_tensors

LOOKS = 10
FILE = "best.safetensors"


@final
class Best:
    """Looks at the dev loss ten times in a training, evenly, the last step included, and keeps the best weights.

    So a training always runs to its end, and its schedule of learning rates does not depend on what the dev set says.
    Equal losses: the earlier weights. Where the training has a checkpoint folder, the best weights lie there too, and a
    training that goes on finds them.

    Parameters
    ----------
    net : gives the torch module in training.
    loss : the mean loss on the dev set; called with the module in evaluation mode.
    name : fingerprint of the training.
    folder : the training's checkpoint folder, or None.
    """

    def __init__(self, net: Callable[[], Any], loss: Callable[[], float], *, name: str, folder: Path | None) -> None:
        self.net, self.loss, self.name = net, loss, name
        self.path = None if folder is None else folder / FILE
        self.value, self.step = math.inf, 0
        self.weights: dict[str, Any] = {}
        if self.path is not None and self.path.is_file():
            self._read(self.path)

    def watching(self, progress: Progress | None) -> Progress:
        """The function of progress to give to a training: it looks first, then tells ``progress``."""

        def told(done: int, total: int) -> None:
            if done == 1:  # the training began anew, whatever was left here
                self.value, self.step, self.weights = math.inf, 0, {}
            if done in look_steps(total):
                self.look(done)
            if progress is not None:
                progress(done, total)

        return told

    def look(self, step: int) -> None:
        """Ask the dev set; keep the weights if they are the best so far. An interruption waits until this is done."""
        net = self.net()
        net.eval()
        stopped: KeyboardInterrupt | None = None
        try:
            value = float(self.loss())
        except KeyboardInterrupt as error:  # a training that goes on would not look at this step again
            stopped, value = error, float(self.loss())
        net.train()
        if value < self.value:
            self.value, self.step = value, step
            self.weights = {k: v.detach().cpu().clone() for k, v in weights(net).items()}
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                about = {"fingerprint": self.name, "step": str(step), "loss": value.hex()}
                write_tensors(self.path, self.weights, about)
        if stopped is not None:
            raise stopped

    def restore(self) -> None:
        """Put the best weights into the module; where no loss was a number, the last ones stay."""
        net = self.net()
        if self.weights:
            load_weights(net, self.weights)
        net.eval()

    def _read(self, path: Path) -> None:
        try:
            kept, about = read_tensors(path)
        except InputError:
            return  # an unreadable file is none
        if about.get("fingerprint") == self.name:
            self.weights = kept
            self.value, self.step = float.fromhex(about["loss"]), int(about["step"])


def look_steps(total: int) -> frozenset[int]:
    """The steps, counted from 1, after which the dev set is asked.

    >>> sorted(look_steps(20)), sorted(look_steps(3))
    ([2, 4, 6, 8, 10, 12, 14, 16, 18, 20], [1, 2, 3])
    """
    return frozenset(-(-total * i // LOOKS) for i in range(1, LOOKS + 1))
