"""What the torch classifiers of images share: uint8 images become tensors batch by batch; views are moved copies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ..torch.classifier import TorchClassifier
from .pixels import augmented, check_images

__all__ = ["ImageClassifier", "Images"]


class Images:
    """Images before they become tensors, as `Encoded` wants them; all cost the same."""

    def __init__(self, pixels: Any) -> None:
        self.pixels = pixels

    @property
    def lengths(self) -> Array:
        """1 for each image."""
        return np.ones(len(self.pixels), dtype=np.int64)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The images."""
        return (self.pixels,) if isinstance(self.pixels, np.ndarray) else tuple(self.pixels)

    def at(self, batch: Array) -> Any:
        """The images at some positions."""
        if isinstance(self.pixels, np.ndarray):
            return self.pixels[batch]
        return [self.pixels[place] for place in batch]


class ImageClassifier(TorchClassifier):
    """A classifier of images that is a torch network."""

    reads = ("image",)

    @abstractmethod
    def _tensor(self, images: Any, device: str) -> Any:
        """A float tensor (sample, channel, height, width) of some images, scaled as the network wants it."""

    @abstractmethod
    def _scores(self, net: Any, tensor: Any) -> Any:
        """Logits, shape (sample, class)."""

    def _checked(self, inputs: Any) -> Any:
        return check_images(inputs)

    def _encode(self, inputs: Any) -> Images:
        return Images(inputs)

    def _forward(self, net: Any, encoded: Images, batch: Array, device: str) -> Any:
        return self._scores(net, self._tensor(encoded.at(batch), device))

    def _view(self, inputs: Any, seed: Sequence[int]) -> Any:
        return augmented(inputs, seed)
