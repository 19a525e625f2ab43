"""Images for networks: checked pixels, moved copies, RandAugment for all images at once, what the networks share."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import UsageError
from oodometer.store import write_atomic

from ...datasets.images import LateImages, no_images, pillow_image
from ..torch.batches import sorted_batches
from ..torch.classifier import TorchClassifier
from ..torch.library import choose_device, class_names, load_pretrained
from ..torch.library import torch as load_torch
from ..torch.library import transformers as load_transformers
from ..torch.training import TrainingConfig


def check_images(images: Any) -> Any:
    """Images as a uint8 array (sample, height, width, 3), or a list of arrays of several sizes; grey ones get three
    channels, `LateImages` stay what they are. `InputError` for none at all, and for what is no image.
    """
    if isinstance(images, LateImages):
        return images
    if isinstance(images, np.ndarray) and images.dtype != object:
        if images.dtype != np.uint8 or images.ndim not in (3, 4):
            raise no_images(f"{images.dtype} of shape {images.shape}")
        if not len(images):
            raise no_images("none")
        images = images[..., None] if images.ndim == 3 else images
        if images.shape[-1] not in (1, 3):
            raise no_images(f"{images.shape[-1]} channels")
        return np.repeat(images, 3, axis=-1) if images.shape[-1] == 1 else images
    checked = [check_images(np.asarray(image)[None])[0] for image in images]
    if not checked:
        raise no_images("none")
    return np.stack(checked) if len({image.shape for image in checked}) == 1 else checked


def in_one_size(images: Any, sides: tuple[int, int]) -> Array:
    """The images as one array (sample, height, width, 3) of some sides: others are resized, bilinear, to fit them."""
    if isinstance(images, np.ndarray) and images.shape[1:3] == tuple(sides):
        return images
    pillow, out = (
        pillow_image("resizing images"),
        np.empty((len(images), *sides, 3), dtype=np.uint8),
    )
    for row, image in enumerate(images):
        picture = pillow.fromarray(np.ascontiguousarray(image))
        out[row] = np.asarray(picture.resize(sides[::-1], pillow.Resampling.BILINEAR))
    return out


def augmented(images: Any, seed: Sequence[int]) -> Any:
    """Each image mirrored or not, and shifted by up to an eighth of its sides over black, by (seed, view, its
    position). Source: He et al. (2016), the augmentation of CIFAR-10.
    """
    base_seed, view, first = seed
    if isinstance(images, LateImages):
        return images.changed(
            lambda image, row: _mirrored(
                image, np.random.default_rng((base_seed, view, first + row))
            )
        )
    out = [
        _mirrored(image, np.random.default_rng((base_seed, view, row)))
        for row, image in enumerate(images, first)
    ]
    return np.stack(out) if isinstance(images, np.ndarray) else out


def _mirrored(image: Array, rng: np.random.Generator) -> Array:
    height, width = image.shape[:2]
    down, right = (int(rng.integers(-(side // 8), side // 8 + 1)) for side in (height, width))
    image = image[:, ::-1] if rng.random() < 0.5 else image
    out = np.zeros_like(image)
    out[max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)] = image[
        max(-down, 0) : height + min(-down, 0), max(-right, 0) : width + min(-right, 0)
    ]
    return out


# On a processor, what one layer gives for a batch should stay in the cache until the next layer reads it: a ResNet-8
# takes 17 % fewer seconds for images of 32 x 32 in batches of 64 than in batches of 256.
_PIXELS = 64 * 32 * 32


class Images:
    """Images before they become tensors; all cost the same."""

    def __init__(self, pixels: Any) -> None:
        self.pixels, self.lengths = pixels, np.ones(len(pixels), dtype=np.int64)

    def at(self, batch: Array) -> Any:
        """The images at some positions."""
        if isinstance(self.pixels, np.ndarray):
            return self.pixels[batch]
        return [self.pixels[row] for row in batch]


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

    def _arrays(self, encoded: Images) -> tuple[Array, ...]:
        return (
            (encoded.pixels,) if isinstance(encoded.pixels, np.ndarray) else tuple(encoded.pixels)
        )

    def _asking_batches(self, encoded: Images) -> list[Array]:
        """On a processor batches of so many pixels as stay in its cache; elsewhere twice those of training."""
        late = isinstance(encoded.pixels, LateImages)
        if choose_device(self.device) != "cpu" and not late:
            return super()._asking_batches(encoded)
        image_bytes = (
            max(encoded.pixels.sizes) if late else encoded.at(np.zeros(1, dtype=np.int64))[0].nbytes
        )
        return sorted_batches(
            encoded.lengths, max(1, min(2 * self.training.batch_size, 3 * _PIXELS // image_bytes))
        )

    def _tensors(self, encoded: Images, batch: Array, device: str) -> tuple[Any]:
        return (self._tensor(encoded.at(batch), device),)

    def _view(self, inputs: Any, seed: Sequence[int], augmentation: str = "shift") -> Any:
        return changed_view(inputs, seed, augmentation)


FILL = 128  # what lies outside an image that is moved, as in AutoAugment
_LEVELS = np.arange(256)


def brightness(images: Array, factor: Array) -> Array:
    """Every value times a factor. Operations take uint8 images (sample, height, width, 3), a strength for each."""
    return _looked_up(
        images, _blended(np.zeros(1, dtype=np.int64), _LEVELS, factor[:, None])[:, None]
    )


def contrast(images: Array, factor: Array) -> Array:
    """Away from the mean grey of the image, rounded, by a factor; 0 gives that grey, 1 the image."""
    mean = (_grey(images).mean((1, 2)) + 0.5).astype(np.int64)
    return _looked_up(images, _blended(mean[:, None], _LEVELS, factor[:, None])[:, None])


def posterize(images: Array, bits: Array) -> Array:
    """The highest bits of every value, 0 to 8 of them."""
    masks = 256 - (1 << (8 - bits.astype(np.int64)))
    return _looked_up(images, (_LEVELS & masks[:, None])[:, None])


def solarize(images: Array, threshold: Array) -> Array:
    """Every value from a threshold on inverted; 256 inverts none."""
    return _looked_up(
        images, np.where(threshold[:, None] > _LEVELS, _LEVELS, 255 - _LEVELS)[:, None]
    )


def autocontrast(images: Array, _: Array) -> Array:
    """Each channel stretched to the values from 0 to 255; one of a single value stays as it is."""
    low = images.min((1, 2)).astype(np.float64)[..., None]
    reach = images.max((1, 2))[..., None] - low
    scale = 255 / np.where(reach > 0, reach, 255)
    tables = np.clip(_LEVELS * scale - np.where(reach > 0, low, 0) * scale, 0, 255)
    return _looked_up(images, tables.astype(np.uint8))


def equalize(images: Array, _: Array) -> Array:
    """Each channel with its values spread so that all are about as frequent: (step / 2 + number of smaller values) /
    step in whole numbers, step the number of values but those of the highest level, divided by 255; 0 leaves a channel.
    """
    samples, _, _, channels = images.shape
    start = np.arange(samples * channels).reshape(samples, 1, 1, channels) * 256
    counts = np.bincount((start + images).ravel(), minlength=samples * channels * 256).reshape(
        samples, channels, 256
    )
    highest = 255 - (counts[..., ::-1] > 0).argmax(-1)
    last = np.take_along_axis(counts, highest[..., None], -1)
    step = (counts.sum(-1, keepdims=True) - last) // 255
    smaller = np.cumsum(counts, -1) - counts
    tables = np.minimum((step // 2 + smaller) // np.maximum(step, 1), 255)
    return _looked_up(images, np.where(step > 0, tables, _LEVELS))


def _looked_up(images: Array, tables: Array) -> Array:
    samples, channels, _ = tables.shape
    start = np.arange(samples * channels).reshape(samples, 1, 1, channels) * 256
    values: Array = np.minimum(tables, 255).astype(np.uint8).ravel()[start + images]
    return values


def color(images: Array, factor: Array) -> Array:
    """Away from the grey form of the image by a factor; 0 gives grey, 1 the image."""
    return _blended(_grey(images)[..., None], images, factor[:, None, None, None]).astype(np.uint8)


def sharpness(images: Array, factor: Array) -> Array:
    """Away from a smoothed form of the image (a pixel weighs 5, its neighbours 1 each, edges stay) by a factor."""
    wide = images.astype(np.int64)
    smooth = wide.copy()
    rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    total = rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:] + 4 * wide[:, 1:-1, 1:-1]
    if total.size:
        smooth[:, 1:-1, 1:-1] = (2 * total + 13) // 26
    return _blended(smooth, wide, factor[:, None, None, None]).astype(np.uint8)


def _grey(images: Array) -> Array:
    """ITU-R 601-2 luma in whole numbers, int64, shape (sample, height, width)."""
    wide = images.astype(np.int64)
    return (wide[..., 0] * 19595 + wide[..., 1] * 38470 + wide[..., 2] * 7471 + (1 << 15)) >> 16


def _blended(degenerate: Any, original: Any, factor: Array) -> Array:
    """Degenerate + factor (original - degenerate) in [0, 255], cut to whole numbers; in float32, as in pillow."""
    start, end = (np.asarray(image).astype(np.float32) for image in (degenerate, original))
    return np.clip(start + factor.astype(np.float32) * (end - start), 0, 255).astype(np.int64)


def rotate(images: Array, degrees: Array, kernel: str = "nearest") -> Array:
    """Turned about the middle, against the clock, a kernel saying what lies between pixels; grey where laid bare."""
    height, width = images.shape[1:3]
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y = width / 2, height / 2
    return _moved_pixels(
        images, cos, -sin, x - cos * x + sin * y, sin, cos, y - sin * x - cos * y, kernel=kernel
    )


# First of the neighbours on an axis, and their weights by how far behind the middle of a pixel a position lies
_KERNELS: dict[str, tuple[int, Callable[[Array], tuple[Array, ...]]]] = {
    "bilinear": (0, lambda d: (1 - d, d)),
    "bicubic": (
        -1,
        lambda d: (-d * (1 - d) ** 2, 1 - 2 * d**2 + d**3, d + d**2 - d**3, d**3 - d**2),
    ),
}


def _moved_pixels(
    images: Array, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, kernel: str = "nearest"
) -> Array:
    """The pixel at (x, y) is that at (a x + b y + c, d x + e y + f), middles of pixels at 0.5: the nearest one, or
    its neighbours weighed as in pillow, those beyond an edge as on it.
    """
    height, width = images.shape[1:3]
    a, b, c, d, e, f = (np.reshape(number, (-1, 1, 1)) for number in (a, b, c, d, e, f))
    x, y = np.arange(width) + 0.5, np.arange(height)[:, None] + 0.5
    across, down = np.broadcast_arrays(a * x + b * y + c, d * x + e * y + f)
    in_bounds = (across >= 0) & (across < width) & (down >= 0) & (down < height)
    flat, start = (
        images.reshape(-1, images.shape[-1]),
        np.arange(len(in_bounds))[:, None, None] * (height * width),
    )
    if kernel == "nearest":
        out: Array = flat[
            start
            + np.where(in_bounds, np.floor(down) * width + np.floor(across), 0).astype(np.int64)
        ]
    else:
        first, weights = _KERNELS[kernel]
        corners = [np.floor(position - 0.5).astype(np.int64) for position in (across, down)]
        sides = [
            weights(position - 0.5 - corner)
            for position, corner in zip((across, down), corners, strict=True)
        ]
        total = np.zeros((*in_bounds.shape, images.shape[-1]))
        for (i, below), (j, beside) in product(
            *(enumerate(side, first) for side in reversed(sides))
        ):
            # what moves along one axis weighs no neighbours on the other
            if below.any() and beside.any():
                row = start + np.clip(corners[1] + i, 0, height - 1) * width
                total += (below * beside)[..., None] * flat[
                    row + np.clip(corners[0] + j, 0, width - 1)
                ]
        # cut as in pillow, but for what rounding took
        out = np.clip(total + 1e-9, 0, 255).astype(np.uint8)
    out[~in_bounds] = FILL
    return out


_Operation = Callable[[Array, Array], Array]
_Strength = Callable[[Array, Array], Array]

_TURN = 512  # images that are changed at once: they and the numbers on the way stay small


def _either(largest: float, middle: float = 0.0) -> _Strength:
    """Up to ``largest`` to one side or the other of the middle."""
    return lambda share, side: middle + largest * share * side


def _moves(kernel: str) -> dict[str, tuple[_Operation, _Strength]]:
    """What turns and moves: row y to the left, column x up by a level; to the left, up by a share of the side."""
    moved = partial(_moved_pixels, kernel=kernel)
    return {
        "rotate": (partial(rotate, kernel=kernel), _either(30.0)),
        "shear_x": (lambda images, level: moved(images, 1, level, 0, 0, 1, 0), _either(0.3)),
        "shear_y": (lambda images, level: moved(images, 1, 0, 0, level, 1, 0), _either(0.3)),
        "translate_x": (
            lambda images, by: moved(images, 1, 0, by * images.shape[2], 0, 1, 0),
            _either(0.45),
        ),
        "translate_y": (
            lambda images, by: moved(images, 1, 0, 0, 0, 1, by * images.shape[1]),
            _either(0.45),
        ),
    }


OPERATIONS: dict[str, tuple[_Operation, _Strength]] = {
    "identity": (lambda images, _: images, _either(1.0)),
    "autocontrast": (autocontrast, _either(1.0)),
    "equalize": (equalize, _either(1.0)),
    "rotate": (rotate, _either(30.0)),
    "solarize": (solarize, lambda share, _: np.rint(256 * (1 - share))),
    "color": (color, _either(0.9, 1.0)),
    "posterize": (posterize, lambda share, _: 8 - np.rint(4 * share)),
    "contrast": (contrast, _either(0.9, 1.0)),
    "brightness": (brightness, _either(0.9, 1.0)),
    "sharpness": (sharpness, _either(0.9, 1.0)),
    **_moves("nearest"),
}
"""The 14 operations, each with its strength by the share m / 10 of the largest magnitude, and the side, -1 or 1."""


_PLAIN: dict[str, tuple[_Operation, _Strength]] = {
    **{name: OPERATIONS[name] for name in ("autocontrast", "equalize")},
    "invert": (lambda images, _: 255 - images, _either(1.0)),
    "posterize": (posterize, lambda share, _: np.floor(4 * share)),
    "solarize": (solarize, lambda share, _: np.floor(256 * share)),
    "solarize_add": (  # at most 255
        lambda images, by: _looked_up(images, _LEVELS + (_LEVELS < 128) * by[:, None, None]),
        lambda share, _: np.floor(110 * share),
    ),
}
for _name in ("color", "contrast", "brightness", "sharpness"):
    _PLAIN[_name] = OPERATIONS[_name][0], lambda share, _: 0.1 + 1.8 * share
TIMM = {
    **_PLAIN,
    **{f"{name}, {kernel}": move for kernel in _KERNELS for name, move in _moves(kernel).items()},
}
"""The 15 operations of timm's ``rand-mM-nN-mstdS``, those that move an image by either of two kernels."""
# Of 60 one is drawn uniformly: each is done in half of the cases
_OF_TIMM = [OPERATIONS["identity"]] * 30 + [
    TIMM[name] for name in TIMM for _ in range(2 if name in _PLAIN else 1)
]


def randaugment(
    images: Any,
    seed: Sequence[int] = (0, 0, 0),
    operations: int = 2,
    magnitude: float = 3.0,
    spread: float = 0.5,
    policy: str = "increasing",
) -> Any:
    """Each image after ``operations`` of the 14 operations of RandAugment, drawn uniformly, with replacement.

    Each has a magnitude of its own, m = clip(magnitude + spread z, 0, 10) with z standard normal; 0 changes nothing but
    in autocontrast and equalize, which have no strength. Rotation by 3 m degrees, shear by 0.03 m, translation by 0.045
    m of a side, to either side, the nearest pixel taken and grey laid bare; colour, contrast, brightness and sharpness
    by a factor 1 + 0.09 m or 1 - 0.09 m; posterize to 8 - 0.4 m bits and solarize from 25.6 (10 - m), rounded.

    images : uint8, shape (sample, height, width, 3), or a list of arrays (height, width, 3) of several sizes.
    seed : (seed, view, position of the first image): image i draws by (seed, view, position + i), so that it does not
        matter how the images are batched.
    operations, magnitude, spread : By default those of the code of Trivedi et al. (2023) for smoothness: 2, 3 and 0.5.
    policy : "increasing", or "timm" for that code's own ``rand-m3-n2-mstd0.5``: 15 operations, each done with
        probability one half; no identity, but invert and solarize_add (11 m more below 128). Posterize to 0.4 m bits,
        solarize from 25.6 m and the factors 0.1 + 0.18 m of colour, contrast, brightness and sharpness fall short of
        the image the more the smaller m is. What moves an image is bilinear or bicubic, as often.

    Returns images of the same shapes. Raises `UsageError` for a magnitude outside [0, 10], a negative spread or fewer
    than one operation, `InputError` for what is no image.

    The ranges are those of AutoAugment; here a larger m is a stronger change in every operation, while the first code
    of RandAugment turns solarize, posterize and the factors round. Source: Cubuk et al. (2020).

    >>> grey = np.full((2, 4, 4, 3), 100, dtype=np.uint8)
    >>> randaugment(grey, (1, 0, 0), magnitude=5).mean((1, 2)).round(1).tolist()
    [[100.0, 100.0, 100.0], [107.2, 107.2, 107.2]]
    """
    if policy not in ("increasing", "timm"):
        raise UsageError(f"expected the policy increasing or timm, got {policy!r}")
    if not 0 <= magnitude <= 10:
        raise UsageError(f"expected a magnitude in [0, 10], got {magnitude}")
    if not 0 <= spread < math.inf or operations < 1:
        raise UsageError(
            f"expected a spread from 0 on and operations from 1 on, got {spread} and {operations}"
        )
    images = check_images(images)
    base_seed, view, first = seed
    if isinstance(images, LateImages):
        how = operations, magnitude, spread, policy
        return images.changed(
            lambda image, row: randaugment(image[None], (base_seed, view, first + row), *how)[0]
        )
    slots = list(OPERATIONS.values()) if policy == "increasing" else _OF_TIMM
    # Which operation, a normal number and a uniform one, with the axes (3, operation, sample).
    draws = np.empty((3, operations, len(images)))
    for row in range(len(images)):
        rng = np.random.default_rng((base_seed, view, first + row))
        draws[0, :, row] = rng.integers(len(slots), size=operations)
        draws[1, :, row] = rng.standard_normal(operations)
        draws[2, :, row] = rng.random(operations)
    share = np.clip(magnitude + spread * draws[1], 0, 10) / 10
    kinds, side = draws[0].astype(np.int64), np.where(draws[2] < 0.5, -1.0, 1.0)
    if isinstance(images, np.ndarray):
        return _changed(images, slots, kinds, share, side)
    out: list[Array] = list(images)
    for shape in {image.shape for image in images}:
        rows = [row for row, image in enumerate(images) if image.shape == shape]
        group = np.stack([images[row] for row in rows])
        changed = _changed(group, slots, kinds[:, rows], share[:, rows], side[:, rows])
        for row, image in zip(rows, changed, strict=True):
            out[row] = image
    return out


def changed_view(images: Any, seed: Sequence[int], augmentation: str) -> Any:
    """The images as a view asks for them, by the name of an augmentation (`AUGMENTATIONS`); ``seed`` as `randaugment`
    takes it.
    """
    if augmentation == "shift":
        return augmented(images, seed)
    published = augmentation == "randaugment-published"
    return randaugment(images, seed, policy="timm" if published else "increasing")


def _changed(
    images: Array,
    slots: Sequence[tuple[_Operation, _Strength]],
    kinds: Array,
    share: Array,
    side: Array,
) -> Array:
    out = images.copy()
    for kind, shares, sides in zip(kinds, share, side, strict=True):
        for index, (operation, strength) in enumerate(slots):
            rows = np.flatnonzero(kind == index)
            for start in range(0, len(rows), _TURN):
                part = rows[start : start + _TURN]
                out[part] = operation(out[part], strength(shares[part], sides[part]))
    return out


_TASK = "AutoModelForImageClassification"


@final
class ImageEncoder(ImageClassifier):
    """A Hugging Face classifier of images (ViT, ConvNeXt, ResNet, ...); logits of shape (sample, class).

    source : hub name or path of the network and its image processor.
    training, device : how and where to train.

    Images are resized and scaled by the network's own processor. `from_pretrained` takes the network with its head and
    its classes; `fit` gives it a new head for the classes of the data and trains all of it. Source: Dosovitskiy et al.
    (2021) for transformers over images.

    >>> ImageEncoder("a-path").options()
    {'source': 'a-path'}
    """

    kind, arguments = "image-encoder", ("source",)

    def __init__(
        self, source: str, *, training: TrainingConfig | None = None, device: str | None = None
    ) -> None:
        usual = TrainingConfig(epochs=2, batch_size=32, learning_rate=3e-5, warmup=0.1)
        super().__init__(training=training or usual, device=device)
        self.source = source
        self.processor: Any = None
        self._settings: Any = None  # transformers' configuration of a loaded model

    @classmethod
    def from_pretrained(cls, source: str, *, device: str | None = None) -> Self:
        """A classifier that exists already, asked as it is; class names are those of its configuration.

        Raises `InputError` where there is none, or where it gives no distribution over classes.
        """
        model = cls(source, device=device)
        model.processor = load_pretrained(
            "AutoImageProcessor", source, expected="a classifier of images"
        )
        model.net = load_pretrained(_TASK, source, expected="a classifier of images").eval()
        model.classes = class_names(model.net.config, source)
        return model

    def _learn(self, inputs: Any) -> None:
        self._settings = None  # trained again, a loaded model starts where a new one does
        self.processor = load_pretrained("AutoImageProcessor", self.source)

    def _build(self) -> Any:
        if self._settings is not None:
            return getattr(load_transformers(), _TASK).from_config(self._settings)
        return load_pretrained(
            _TASK, self.source, num_labels=len(self.classes), ignore_mismatched_sizes=True
        )

    def _tensor(self, images: Any, device: str) -> Any:
        pixels = self.processor(
            list(images), return_tensors="np", input_data_format="channels_last"
        )
        values: Array = np.ascontiguousarray(pixels["pixel_values"], dtype=np.float32)
        return load_torch().from_numpy(values).to(device)

    def _scores(self, net: Any, tensor: Any) -> Any:
        return net(pixel_values=tensor).logits

    def _write_encoding(self, folder: Path) -> None:
        self.processor.save_pretrained(folder / "processor")
        self.net.config.save_pretrained(folder)

    def _read_encoding(self, folder: Path) -> None:
        self.processor = load_pretrained("AutoImageProcessor", str(folder / "processor"))
        self._settings = load_pretrained("AutoConfig", str(folder))


_FILE = "pixels.json"
_ROWS = 256  # images whose values are added at once: they stay in the cache


@final
class ResNet(ImageClassifier):
    """Logits W mean_xy(h) + b of the last states h of a residual network; shape (sample, class).

    A first convolution (the stem), stages of (depth - 2) / (2 stages) blocks of two convolutions with ``width``,
    2 ``width``, 4 ``width``, ... channels, each but the first at half the sides of the one before, batch normalisation,
    the mean over positions, a linear layer. ``ResNet(depth=18, stages=4, width=64)`` is the ResNet-18 for small images.

    depth : layers; with three stages 8, 14, 20, 26, ..., with four 10, 18, 26, ...
    width : channels of the first stage, a multiple of 8.
    stages : number of stages.
    stem_stride : step of the first convolution; 2 looks at a quarter of the positions and is four times as fast.
    image_size : side of the images that are read, or their height and width; others are resized to it.
    dropout : share of the states before the linear layer that training leaves out; Monte Carlo dropout needs some.
    training, device : how and where to train; by default SGD with Nesterov momentum and a cosine schedule.

    Training mirrors images and shifts them by up to an eighth of their sides. Source: He et al. (2016), the networks
    for CIFAR-10; with four stages those for ImageNet, but for the stem.

    >>> from oodometer_lab.models import ResNet
    >>> ResNet(depth=9)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a depth of 6 n + 2 (8, 14, 20, ...) with 3 stages, got 9
    """

    kind = "resnet"
    arguments = ("depth", "width", "stages", "stem_stride", "image_size", "dropout")

    def __init__(
        self,
        *,
        depth: int = 8,
        width: int = 16,
        stages: int = 3,
        stem_stride: int = 1,
        image_size: int | tuple[int, int] = 32,
        dropout: float = 0.0,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        if stages < 1 or stem_stride not in (1, 2):
            raise UsageError(
                f"expected at least 1 stage and a stem_stride of 1 or 2, got {stages} and {stem_stride}"
            )
        step = 2 * stages
        if depth <= 2 or depth % step != 2 % step:
            depths = ", ".join(str(step * blocks + 2) for blocks in (1, 2, 3))
            raise UsageError(
                f"expected a depth of {step} n + 2 ({depths}, ...) with {stages} stages, got {depth}"
            )
        height, width_of_image = (
            (image_size, image_size) if isinstance(image_size, int) else image_size
        )
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
            warmup=0.1,
            clip=None,
            weight_decay=5e-4,
            optimizer="sgd",
            schedule="cosine",
        )
        super().__init__(training=training or usual, device=device)
        self.depth, self.width, self.stages, self.stem_stride = depth, width, stages, stem_stride
        self.image_size: int | tuple[int, int] = (
            image_size if isinstance(image_size, int) else (height, width_of_image)
        )
        self._sides = (height, width_of_image)
        self.dropout = dropout
        self._mean: Array = np.zeros(3, dtype=np.float32)
        self._spread: Array = np.ones(3, dtype=np.float32)

    def _learn(self, inputs: Any) -> None:
        flat = in_one_size(inputs, self._sides).reshape(len(inputs), -1)
        sums, squares = (np.zeros(flat.shape[1], dtype=np.int64) for _ in range(2))
        for start in range(0, len(flat), _ROWS):
            part = flat[start : start + _ROWS].astype(np.uint16)  # a square of 255 just fits
            sums += part.sum(0, dtype=np.uint32)
            part *= part
            squares += part.sum(0, dtype=np.uint32)
        count = len(inputs) * math.prod(self._sides)
        mean, square = (sums_of.reshape(-1, 3).sum(0) / count for sums_of in (sums, squares))
        self._mean = (mean / 255).astype(np.float32)
        self._spread = (np.sqrt(np.maximum(square - mean**2, 1.0)) / 255).astype(np.float32)

    def _encode(self, inputs: Any) -> Images:
        return Images(in_one_size(inputs, self._sides))

    def _build(self) -> Any:
        shape = (self.width, self.stages, (self.depth - 2) // (2 * self.stages), self.stem_stride)
        return _network(*shape, len(self.classes), self.dropout).to(
            memory_format=load_torch().channels_last
        )

    def _tensor(self, images: Any, device: str) -> Any:
        torch = load_torch()
        mean, spread = (
            torch.from_numpy(values).to(device) for values in (self._mean, self._spread)
        )
        pixels = torch.from_numpy(images).to(device).float().div_(255).sub_(mean).div_(spread)
        pixels = pixels.permute(0, 3, 1, 2)  # the memory stays as it is: channels last
        if not self.net.training:
            return pixels
        # Each image mirrored or not and shifted, by torch's random numbers, which training seeds at every step.
        (height, width), (down, right) = self._sides, (side // 8 for side in self._sides)
        count, on_device = len(pixels), pixels.device
        flip = torch.rand(count, device=on_device) < 0.5
        pixels = torch.where(flip[:, None, None, None], pixels.flip(3), pixels)
        padded = torch.nn.functional.pad(pixels, (right, right, down, down))
        rows = torch.arange(height, device=on_device) + torch.randint(
            2 * down + 1, (count, 1), device=on_device
        )
        columns = torch.arange(width, device=on_device) + torch.randint(
            2 * right + 1, (count, 1), device=on_device
        )
        which = torch.arange(count, device=on_device)[:, None, None]
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
        self._mean, self._spread = (
            np.array(about[name], dtype=np.float32) for name in ("mean", "spread")
        )


def _network(
    width: int, number: int, blocks: int, stride: int, classes: int, dropout: float
) -> Any:
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
                self.around = nn.Sequential(
                    nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
                )
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            """Two convolutions of ``x``, (sample, channel, height, width), added to what goes around them."""
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
    stem = [
        nn.Conv2d(3, width, 3, stride, 1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
    ]
    net = nn.Sequential(
        *stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), *head, nn.Linear(before, classes)
    )
    for module in net.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return net
