"""Digital faults: little contrast, an elastic picture, few pixels, strong compression."""

from __future__ import annotations

import io

import numpy as np

from oodometer.arrays import Array
from oodometer.registry import register

from ...datasets.images import pillow_image
from ..base import Draws, ImageShift
from .filters import gaussian_blurred, strips


@register("shift")
class Contrast(ImageShift):
    """x' = m + c (x - m), m the mean of the image's channel; c = 0.75, 0.5, 0.4, 0.3, 0.15. No chance is in it. Source:
    Hendrycks and Dietterich (2019).

    >>> Contrast().apply(np.array([[[[0], [200]]]], dtype=np.uint8), 2).ravel().tolist()
    [50, 150]
    """

    name = "contrast"
    about = "values move towards the mean of their channel"
    constants = (0.75, 0.5, 0.4, 0.3, 0.15)
    imagenet = (0.4, 0.3, 0.2, 0.1, 0.05)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        out = pixels.astype(np.float32)
        # whole numbers: the order does not matter
        columns = pixels.sum(axis=1, keepdims=True, dtype=np.uint32)
        total = columns.sum(axis=2, keepdims=True, dtype=np.uint64)
        means = (total / (pixels.shape[1] * pixels.shape[2])).astype(np.float32)
        out *= np.float32(constant)
        out += means * np.float32(1 - constant)
        return out


@register("shift")
class ElasticTransform(ImageShift):
    """An affine map that moves three points by up to c, then each pixel moved by a field a * blur(U(-1, 1), sigma).

    (a, sigma, c) = (0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03), each
    times the shorter side; both maps are bilinear, the picture mirrored beyond its border. From severity to severity
    the skew becomes less and the field rougher. Source: Hendrycks and Dietterich (2019).

    >>> plain = np.full((1, 8, 8, 3), 77, dtype=np.uint8)
    >>> bool((ElasticTransform().apply(plain, 5) == 77).all())
    True
    """

    name = "elastic_transform"
    about = "the picture is skewed a little and its parts are pulled about"
    constants = (
        (0.0, 0.0, 0.08),
        (0.05, 0.2, 0.07),
        (0.08, 0.06, 0.06),
        (0.1, 0.04, 0.05),
        (0.1, 0.03, 0.03),
    )
    _parts = (
        (2.0, 0.7, 0.1),
        (2.0, 0.08, 0.2),
        (0.05, 0.01, 0.02),
        (0.07, 0.01, 0.02),
        (0.12, 0.01, 0.02),
    )
    # of 244 where 224 was meant
    imagenet = tuple(tuple(part * 244 / 224 for part in parts) for parts in _parts)

    def _shifted(self, pixels: Array, constant: tuple[float, float, float], draws: Draws) -> Array:
        count, height, width, _ = pixels.shape
        side = min(height, width)
        strength, sigma, skew = (part * side for part in constant)
        x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
        back = _affine(height, width, draws.uniform(-skew, skew, 3, 2))
        from_x, from_y = (np.moveaxis(back[:, i], 1, 0)[:, :, None, None] for i in (0, 1))
        coordinates = [part[0] * x + part[1] * y + part[2] for part in (from_y, from_x)]
        out = _looked_up(pixels.astype(np.float32), *coordinates, edge_twice=False)
        if not strength:
            return out
        field = draws.uniform(-1.0, 1.0, 2, height, width).reshape(2 * count, height, width, 1)
        moves = gaussian_blurred(field, sigma, "reflect", 3.0).reshape(
            count, 2, height, width
        ) * np.float32(strength)
        return _looked_up(out, y + moves[:, 1], x + moves[:, 0], edge_twice=True)


def _affine(height: int, width: int, moved: Array) -> Array:
    """Where each pixel comes from: rows (x; y) of the map from the moved points back, float32, shape (row, 2, 3)."""
    reach = max(1, min(height, width) // 3)
    points = np.array([[reach, reach], [reach, -reach], [-reach, -reach]]) + np.array(
        [width // 2, height // 2]
    )
    moved_points = np.concatenate(
        [points + moved.astype(np.float64), np.ones((len(moved), 3, 1))], axis=2
    )
    solution: Array = np.linalg.solve(
        moved_points, np.broadcast_to(points.astype(np.float64), (len(moved), 3, 2))
    )
    return solution.transpose(0, 2, 1).astype(np.float32)


def _looked_up(images: Array, y: Array, x: Array, *, edge_twice: bool) -> Array:
    """Images at other places, bilinear; beyond the border mirrored, with the edge pixel seen once or twice."""
    count, height, width, channels = images.shape
    flat, out = images.reshape(-1, channels), np.empty(images.shape, dtype=np.float32)
    first = (np.arange(count, dtype=np.int32) * np.int32(height * width))[:, None, None]
    for part in strips(images.shape):
        low_y, low_x = np.floor(y[:, part]), np.floor(x[:, part])
        share_y, share_x = (y[:, part] - low_y)[..., None], (x[:, part] - low_x)[..., None]
        rows = [
            _mirrored(low_y.astype(np.int32) + i, height, edge_twice) * np.int32(width)
            for i in (0, 1)
        ]
        columns = [_mirrored(low_x.astype(np.int32) + i, width, edge_twice) for i in (0, 1)]
        sides = []
        for row in rows:
            row += first
            left_pixels = flat.take(row + columns[0], axis=0)
            sides.append(
                left_pixels + (flat.take(row + columns[1], axis=0) - left_pixels) * share_x
            )
        out[:, part] = sides[0] + (sides[1] - sides[0]) * share_y
    return out


def _mirrored(at: Array, side: int, edge_twice: bool) -> Array:
    """Places beyond 0 ... side - 1 mirrored into it."""
    last = 2 * side - 1 if edge_twice else 2 * (side - 1)
    if side == 1:
        return np.zeros_like(at)
    at = at % np.int32(2 * side if edge_twice else last)
    out: Array = np.minimum(at, np.int32(last) - at)
    return out


@register("shift")
class Pixelate(ImageShift):
    """Reduced to int(c times the side) pixels by a box filter, and enlarged again; c = 0.95, 0.9, 0.85, 0.75, 0.65.

    No chance is in it; needs pillow. A share of the side is no length in pixels: it is the same for every size.
    Source: Hendrycks and Dietterich (2019).

    >>> row = np.arange(0, 200, 50, dtype=np.uint8).reshape(1, 1, 4, 1)
    >>> Pixelate().apply(row, 5).ravel().tolist()
    [25, 25, 125, 125]
    """

    name = "pixelate"
    about = "the picture has fewer, larger pixels"
    constants = (0.95, 0.9, 0.85, 0.75, 0.65)
    imagenet = (0.6, 0.5, 0.4, 0.3, 0.25)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        image = pillow_image("pixelate")
        box = image.Resampling.BOX
        height, width, channels = pixels.shape[1:]
        fewer = (max(1, int(width * constant)), max(1, int(height * constant)))
        out = np.empty_like(pixels)
        for row, sample in enumerate(pixels):
            picture = image.fromarray(
                sample[..., 0] if channels == 1 else np.ascontiguousarray(sample)
            )
            small = picture.resize(fewer, box)
            out[row] = np.asarray(small.resize((width, height), box)).reshape(
                height, width, channels
            )
        return out


@register("shift")
class JpegCompression(ImageShift):
    """Written as JPEG of quality c and read again; c = 80, 65, 58, 50, 40. No chance is in it; needs pillow.

    Blocks are 8 pixels wide whatever the size of the image. Source: Hendrycks and Dietterich (2019).

    >>> plain = np.full((1, 16, 16, 3), 80, dtype=np.uint8)
    >>> bool((abs(JpegCompression().apply(plain, 5).astype(int) - 80) <= 2).all())
    True
    """

    name = "jpeg_compression"
    about = "the picture bears the traces of a strongly compressed file"
    constants = (80, 65, 58, 50, 40)
    imagenet = (25, 18, 15, 10, 7)

    def _shifted(self, pixels: Array, constant: int, draws: Draws) -> Array:
        image = pillow_image("jpeg_compression")
        out = np.empty_like(pixels)
        for row, sample in enumerate(pixels):
            file = io.BytesIO()
            picture = image.fromarray(
                sample[..., 0] if sample.shape[2] == 1 else np.ascontiguousarray(sample)
            )
            picture.save(file, "JPEG", quality=constant)
            with image.open(file) as read:
                out[row] = np.asarray(read).reshape(sample.shape)
        return out
