"""ResNet: a compact residual network for small images, trained from scratch on a few cores or a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...errors import UsageError
from ...store import write_atomic
from ..torch.library import torch as load_torch
from ..torch.training import TrainingConfig
from .network import ImageClassifier, Images
from .pixels import in_one_size

__all__ = ["ResNet"]

_FILE = "pixels.json"


@final
class ResNet(ImageClassifier):
    """Logits W mean_xy(h) + b of the last states h of a residual network; shape (sample, class).

    A first convolution, three stages of (depth - 2) / 6 blocks with ``width``, 2 ``width`` and 4 ``width`` channels,
    the later two at half the sides of the one before, batch normalisation, the mean over positions, a linear layer.

    Parameters
    ----------
    depth : layers; 8, 14, 20, 26, ...
    width : channels of the first stage, a multiple of 8.
    image_size : sides of the images that are read; others are resized to it.
    augment : whether training mirrors images and shifts them by up to an eighth of their sides.
    dropout : share of the states before the linear layer that training leaves out; Monte Carlo dropout needs some.
    training, device : how and where to train; by default SGD with Nesterov momentum and a cosine schedule.

    Source: He et al. (2016), the networks for CIFAR-10.

    >>> from oodometer.models import ResNet
    >>> ResNet(depth=9)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a depth of 6 n + 2 (8, 14, 20, ...), got 9
    """

    kind = "resnet"

    def __init__(
        self,
        *,
        depth: int = 8,
        width: int = 16,
        image_size: int = 32,
        augment: bool = True,
        dropout: float = 0.0,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        if depth < 8 or depth % 6 != 2:
            raise UsageError(f"expected a depth of 6 n + 2 (8, 14, 20, ...), got {depth}")
        # torch 2.13's convolutions damage memory with 4 channels on one CPU thread.
        if width < 8 or width % 8 or image_size < 8 or not 0 <= dropout < 1:
            raise UsageError(
                "expected a width of 8, 16, ..., an image_size of at least 8 and a dropout in [0, 1), got "
                f"{width}, {image_size} and {dropout}"
            )
        usual = TrainingConfig(
            epochs=20,
            batch_size=128,
            learning_rate=0.1,
            weight_decay=5e-4,
            warmup=0.1,
            clip=None,
            optimizer="sgd",
            schedule="cosine",
        )
        super().__init__(training=training or usual, device=device)
        self.depth, self.width, self.image_size = depth, width, image_size
        self.augment, self.dropout = augment, dropout
        self._mean: Array = np.zeros(3, dtype=np.float32)
        self._spread: Array = np.ones(3, dtype=np.float32)

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        names = ("depth", "width", "image_size", "augment", "dropout")
        return {name: getattr(self, name) for name in names}

    def _learn(self, inputs: Any) -> None:
        pixels = in_one_size(inputs, self.image_size).reshape(-1, 3)
        total = len(pixels)
        mean = pixels.sum(0, dtype=np.int64) / total
        square = np.einsum("ic,ic->c", pixels, pixels, dtype=np.float64) / total
        self._mean = (mean / 255).astype(np.float32)
        self._spread = (np.sqrt(np.maximum(square - mean**2, 1.0)) / 255).astype(np.float32)

    def _encode(self, inputs: Any) -> Images:
        return Images(in_one_size(inputs, self.image_size))

    def _build(self) -> Any:
        return _network(self.depth, self.width, len(self.classes), self.dropout).to(
            memory_format=load_torch().channels_last
        )

    def _tensor(self, images: Any, device: str) -> Any:
        torch = load_torch()
        mean, spread = (torch.from_numpy(one).to(device) for one in (self._mean, self._spread))
        found = torch.from_numpy(images).to(device).float().div_(255).sub_(mean).div_(spread)
        found = found.permute(0, 3, 1, 2)  # the memory stays as it is: channels last
        return self._moved(found) if self.augment and self.net.training else found

    def _moved(self, images: Any) -> Any:
        """Each image mirrored or not and shifted, by torch's random numbers, which training seeds at every step."""
        torch = load_torch()
        most = self.image_size // 8
        count, device = len(images), images.device
        flip = torch.rand(count, device=device) < 0.5
        images = torch.where(flip[:, None, None, None], images.flip(3), images)
        padded = torch.nn.functional.pad(images, (most, most, most, most))
        sides = torch.arange(self.image_size, device=device)
        rows = sides + torch.randint(2 * most + 1, (count, 1), device=device)
        columns = sides + torch.randint(2 * most + 1, (count, 1), device=device)
        which = torch.arange(count, device=device)[:, None, None]
        # Indexed with the channels last, so that they stay so in memory.
        moved = padded.permute(0, 2, 3, 1)[which, rows[:, :, None], columns[:, None, :]]
        return moved.permute(0, 3, 1, 2)

    def _scores(self, net: Any, tensor: Any) -> Any:
        return net(tensor)

    def _write_encoding(self, folder: Path) -> None:
        about = {"mean": self._mean.tolist(), "spread": self._spread.tolist()}
        write_atomic(folder / _FILE, json.dumps(about) + "\n")

    def _read_encoding(self, folder: Path) -> None:
        about = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        self._mean, self._spread = (np.array(about[name], dtype=np.float32) for name in ("mean", "spread"))


def _network(depth: int, width: int, classes: int, dropout: float) -> Any:
    nn = load_torch().nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        """Two convolutions around which the input is led."""

        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.first_norm = nn.BatchNorm2d(after)
            self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.second_norm = nn.BatchNorm2d(after)
            same = stride == 1 and before == after
            self.around = (
                nn.Identity()
                if same
                else nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
            )
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            states = self.second_norm(self.second(self.relu(self.first_norm(self.first(x)))))
            return self.relu(states + self.around(x))

    stages: list[Any] = []
    before = width
    for stage in range(3):
        for block in range((depth - 2) // 6):
            after = width * 2**stage
            stages.append(Block(before, after, 2 if stage and not block else 1))
            before = after
    head = [nn.Dropout(dropout)] if dropout else []
    net = nn.Sequential(
        nn.Conv2d(3, width, 3, 1, 1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        *stages,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        *head,
        nn.Linear(before, classes),
    )
    for one in net.modules():
        if isinstance(one, nn.Conv2d):
            nn.init.kaiming_normal_(one.weight, mode="fan_out", nonlinearity="relu")
    return net
