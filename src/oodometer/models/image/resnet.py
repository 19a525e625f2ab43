"""ResNet: a compact residual network for small images, trained from scratch on a few cores or a GPU."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...errors import UsageError
from ...store import write_atomic
from ..torch.library import torch as load_torch
from ..torch.training import TrainingConfig
from .network import ImageClassifier, Images, in_one_size

_FILE = "pixels.json"
_ROWS = 256  # images whose values are added at once: they stay in the cache


@final
class ResNet(ImageClassifier):
    """Logits W mean_xy(h) + b of the last states h of a residual network; shape (sample, class).

    A first convolution (the stem), stages of (depth - 2) / (2 stages) blocks of two convolutions with ``width``,
    2 ``width``, 4 ``width``, ... channels, each but the first at half the sides of the one before, batch normalisation,
    the mean over positions, a linear layer. ``ResNet(depth=18, stages=4, width=64)`` is the ResNet-18 for small images.

    Parameters
    ----------
    depth : layers; with three stages 8, 14, 20, 26, ..., with four 10, 18, 26, ...
    width : channels of the first stage, a multiple of 8.
    stages : number of stages.
    stem_stride : step of the first convolution; 2 looks at a quarter of the positions and is four times as fast.
    image_size : side of the images that are read, or their height and width; others are resized to it.
    augment : whether training mirrors images and shifts them by up to an eighth of their sides.
    dropout : share of the states before the linear layer that training leaves out; Monte Carlo dropout needs some.
    training, device : how and where to train; by default SGD with Nesterov momentum and a cosine schedule.

    Source: He et al. (2016), the networks for CIFAR-10; with four stages that of its ImageNet networks, with a stem for
    small images.

    >>> from oodometer.models import ResNet
    >>> ResNet(depth=9)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a depth of 6 n + 2 (8, 14, 20, ...) with 3 stages, got 9
    """

    kind = "resnet"

    def __init__(
        self,
        *,
        depth: int = 8,
        width: int = 16,
        stages: int = 3,
        stem_stride: int = 1,
        image_size: int | tuple[int, int] = 32,
        augment: bool = True,
        dropout: float = 0.0,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        if stages < 1 or stem_stride not in (1, 2):
            raise UsageError(f"expected at least 1 stage and a stem_stride of 1 or 2, got {stages} and {stem_stride}")
        step = 2 * stages
        if depth <= 2 or depth % step != 2 % step:
            known = ", ".join(str(step * blocks + 2) for blocks in (1, 2, 3))
            raise UsageError(f"expected a depth of {step} n + 2 ({known}, ...) with {stages} stages, got {depth}")
        height, width_of_image = (image_size, image_size) if isinstance(image_size, int) else image_size
        # torch 2.13's convolutions damage memory with 4 channels on one CPU thread.
        if width < 8 or width % 8 or min(height, width_of_image) < 8 or not 0 <= dropout < 1:
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
        self.depth, self.width, self.stages, self.stem_stride = depth, width, stages, stem_stride
        self.image_size: int | tuple[int, int] = image_size if isinstance(image_size, int) else (height, width_of_image)
        self._sides = (height, width_of_image)
        self.augment, self.dropout = augment, dropout
        self._mean: Array = np.zeros(3, dtype=np.float32)
        self._spread: Array = np.ones(3, dtype=np.float32)

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        names = ("depth", "width", "image_size", "augment", "dropout")
        later = {"stages": 3, "stem_stride": 1}  # left out as usual: a training that was kept before is still this one
        told = {name: getattr(self, name) for name in names}
        return told | {name: had for name, usual in later.items() if (had := getattr(self, name)) != usual}

    def _learn(self, inputs: Any) -> None:
        flat = in_one_size(inputs, self._sides).reshape(len(inputs), -1)
        sums, squares = (np.zeros(flat.shape[1], dtype=np.int64) for _ in range(2))
        for start in range(0, len(flat), _ROWS):
            part = flat[start : start + _ROWS].astype(np.uint16)  # a square of 255 just fits
            sums += part.sum(0, dtype=np.uint32)
            part *= part
            squares += part.sum(0, dtype=np.uint32)
        count = len(inputs) * math.prod(self._sides)
        mean, square = (one.reshape(-1, 3).sum(0) / count for one in (sums, squares))
        self._mean = (mean / 255).astype(np.float32)
        self._spread = (np.sqrt(np.maximum(square - mean**2, 1.0)) / 255).astype(np.float32)

    def _encode(self, inputs: Any) -> Images:
        return Images(in_one_size(inputs, self._sides))

    def _build(self) -> Any:
        shape = (self.width, self.stages, (self.depth - 2) // (2 * self.stages), self.stem_stride)
        return _network(*shape, len(self.classes), self.dropout).to(memory_format=load_torch().channels_last)

    def _tensor(self, images: Any, device: str) -> Any:
        torch = load_torch()
        mean, spread = (torch.from_numpy(one).to(device) for one in (self._mean, self._spread))
        found = torch.from_numpy(images).to(device).float().div_(255).sub_(mean).div_(spread)
        found = found.permute(0, 3, 1, 2)  # the memory stays as it is: channels last
        if not (self.augment and self.net.training):
            return found
        # Each image mirrored or not and shifted, by torch's random numbers, which training seeds at every step.
        (height, width), (down, right) = self._sides, (side // 8 for side in self._sides)
        count, place = len(found), found.device
        flip = torch.rand(count, device=place) < 0.5
        found = torch.where(flip[:, None, None, None], found.flip(3), found)
        padded = torch.nn.functional.pad(found, (right, right, down, down))
        rows = torch.arange(height, device=place) + torch.randint(2 * down + 1, (count, 1), device=place)
        columns = torch.arange(width, device=place) + torch.randint(2 * right + 1, (count, 1), device=place)
        which = torch.arange(count, device=place)[:, None, None]
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


def _network(width: int, number: int, blocks: int, stride: int, classes: int, dropout: float) -> Any:
    nn = load_torch().nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        """Two convolutions around which the input is led."""

        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.first_norm = nn.BatchNorm2d(after)
            self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.second_norm = nn.BatchNorm2d(after)
            self.around = nn.Identity()
            if stride != 1 or before != after:
                self.around = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            states = self.second_norm(self.second(self.relu(self.first_norm(self.first(x)))))
            return self.relu(states + self.around(x))

    stages: list[Any] = []
    before = width
    for stage in range(number):
        for block in range(blocks):
            after = width * 2**stage
            stages.append(Block(before, after, 2 if stage and not block else 1))
            before = after
    head = [nn.Dropout(dropout)] if dropout else []
    net = nn.Sequential(
        nn.Conv2d(3, width, 3, stride, 1, bias=False),
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
