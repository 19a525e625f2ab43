"""Elastic transform: the picture is skewed a little and its parts are pulled about."""

from __future__ import annotations

from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift
from .filters import gaussian_blurred, strips


@final
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
    citation = "hendrycks2019"
    constants = ((0.0, 0.0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03))

    def _shifted(self, pixels: Array, constant: tuple[float, float, float], draws: Draws) -> Array:
        count, height, width, _ = pixels.shape
        side = min(height, width)
        strength, sigma, skew = (part * side for part in constant)
        x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
        back = _affine(height, width, draws.uniform(-skew, skew, 3, 2))
        from_x, from_y = (np.moveaxis(back[:, i], 1, 0)[:, :, None, None] for i in (0, 1))
        there = [part[0] * x + part[1] * y + part[2] for part in (from_y, from_x)]
        out = _looked_up(pixels.astype(np.float32), *there, edge_twice=False)
        if not strength:
            return out
        field = draws.uniform(-1.0, 1.0, 2, height, width).reshape(2 * count, height, width, 1)
        moves = gaussian_blurred(field, sigma, "reflect", 3.0).reshape(count, 2, height, width) * np.float32(strength)
        return _looked_up(out, y + moves[:, 1], x + moves[:, 0], edge_twice=True)


def _affine(height: int, width: int, moved: Array) -> Array:
    """Where each pixel comes from: rows (x; y) of the map from the moved points back, float32, shape (row, 2, 3)."""
    reach = max(1, min(height, width) // 3)
    points = np.array([[reach, reach], [reach, -reach], [-reach, -reach]]) + np.array([width // 2, height // 2])
    there = np.concatenate([points + moved.astype(np.float64), np.ones((len(moved), 3, 1))], axis=2)
    solution: Array = np.linalg.solve(there, np.broadcast_to(points.astype(np.float64), (len(moved), 3, 2)))
    return solution.transpose(0, 2, 1).astype(np.float32)


def _looked_up(images: Array, y: Array, x: Array, *, edge_twice: bool) -> Array:
    """Images at other places, bilinear; beyond the border mirrored, with the edge pixel seen once or twice."""
    count, height, width, channels = images.shape
    flat, out = images.reshape(-1, channels), np.empty(images.shape, dtype=np.float32)
    first = (np.arange(count, dtype=np.int32) * np.int32(height * width))[:, None, None]
    for part in strips(images.shape):
        low_y, low_x = np.floor(y[:, part]), np.floor(x[:, part])
        share_y, share_x = (y[:, part] - low_y)[..., None], (x[:, part] - low_x)[..., None]
        rows = [_mirrored(low_y.astype(np.int32) + i, height, edge_twice) * np.int32(width) for i in (0, 1)]
        columns = [_mirrored(low_x.astype(np.int32) + i, width, edge_twice) for i in (0, 1)]
        sides = []
        for row in rows:
            row += first
            left = flat.take(row + columns[0], axis=0)
            sides.append(left + (flat.take(row + columns[1], axis=0) - left) * share_x)
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
