"""What the torch classifiers of images share: uint8 images become tensors batch by batch; views are moved copies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...datasets.images import LateImages
from ..torch.batches import sorted_batches
from ..torch.classifier import TorchClassifier
from ..torch.library import choose_device
from .pixels import augmented, check_images
from .randaugment import randaugment

# On a processor, what one layer gives for a batch should stay in the cache until the next layer reads it: a ResNet-8
# takes 17 % fewer seconds for images of 32 x 32 in batches of 64 than in batches of 256.
_PIXELS = 64 * 32 * 32


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

    def _asking_batches(self, encoded: Images) -> list[Array]:
        """On a processor batches of so many pixels as stay in its cache; elsewhere twice those of training."""
        late = isinstance(encoded.pixels, LateImages)
        if choose_device(self.device) != "cpu" and not late:
            return super()._asking_batches(encoded)
        bytes_of_one = max(encoded.pixels.sizes) if late else encoded.at(np.zeros(1, dtype=np.int64))[0].nbytes
        return sorted_batches(encoded.lengths, max(1, min(2 * self.training.batch_size, 3 * _PIXELS // bytes_of_one)))

    def _tensors(self, encoded: Images, batch: Array, device: str) -> tuple[Any]:
        return (self._tensor(encoded.at(batch), device),)

    def _view(self, inputs: Any, seed: Sequence[int], augmentation: str = "shift") -> Any:
        return randaugment(inputs, seed) if augmentation == "randaugment" else augmented(inputs, seed)
