"""Filters over a batch of images (row, height, width, channel): blur, correlation, streaks, zoom."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...arrays import Array

__all__ = ["correlated", "gaussian_blurred", "streaked", "zoom_taps", "zoomed"]

_SMALLEST = 1e-4  # taps of less weight change no pixel by a tenth of a grey level
_MANY_TAPS = 50  # from here on the Fourier transform is faster


def correlated(images: Array, kernel: Array) -> Array:
    """Sum of a kernel times the pixels around each pixel; beyond the border the image is mirrored about its edge pixel.

    kernel : shape (tall, wide), both odd.

    >>> image = np.zeros((1, 3, 3, 1), dtype=np.float32)
    >>> image[0, 1, 1] = 1
    >>> correlated(image, np.full((3, 3), 1 / 9)).round(2).max()
    np.float32(0.44)
    """
    height, width = images.shape[1:3]
    down, right = kernel.shape[0] // 2, kernel.shape[1] // 2
    padded = np.pad(images, ((0, 0), (down, down), (right, right), (0, 0)), mode="reflect")
    taps = [(i, j, float(kernel[i, j])) for i, j in np.argwhere(kernel > _SMALLEST)]
    if len(taps) > _MANY_TAPS:
        from scipy.signal import fftconvolve

        out: Array = fftconvolve(padded, kernel[None, ::-1, ::-1, None].astype(np.float32), mode="valid", axes=(1, 2))
        return out
    out = np.zeros(images.shape, dtype=np.float32)
    for i, j, weight in taps:
        out += padded[:, i : i + height, j : j + width] * np.float32(weight)
    return out


def gaussian_blurred(images: Array, sigma: float, mode: str = "nearest", truncate: float = 4.0) -> Array:
    """Gaussian blur of height and width, float32; sigma in pixels, border as in scipy.ndimage."""
    if int(truncate * sigma + 0.5) < 1:
        return images.astype(np.float32)
    count, height, width, channels = images.shape
    if max(height, width * channels) > _DENSE:
        from scipy.ndimage import gaussian_filter1d

        out = images.astype(np.float32)
        for axis in (1, 2):
            out = gaussian_filter1d(out, sigma, axis=axis, mode=mode, truncate=truncate)
        return out
    down = _blur_matrix(height, 1, sigma, mode, truncate)
    across = _blur_matrix(width, channels, sigma, mode, truncate)
    flat = images.reshape(count * height, width * channels).astype(np.float32) @ across
    found: Array = np.matmul(down.T, flat.reshape(count, height, width * channels))
    return found.reshape(images.shape)


_DENSE = 256  # sides up to which a product with a full matrix is faster than a filter


@lru_cache(maxsize=16)
def _blur_matrix(side: int, channels: int, sigma: float, mode: str, truncate: float) -> Array:
    """The blur of one axis as a matrix (from, to): what the filter makes of each unit vector, for each channel."""
    from scipy.ndimage import gaussian_filter1d

    one = gaussian_filter1d(np.eye(side), sigma, axis=1, mode=mode, truncate=truncate)
    return np.kron(one, np.eye(channels)).astype(np.float32)


def streaked(images: Array, radius: float, sigma: float, angles: Array) -> Array:
    """Motion blur: tap i lies i pixels along the angle of the row (degrees), with weight exp(-i^2 / (2 sigma^2)).

    There are 2 ceil(radius) + 1 taps on one side of the pixel, each moved by a whole number of pixels; beyond the
    border the edge goes on. angles : shape (row,). Rows are sorted by angle, so that a tap that falls on the same
    pixel for many of them is one addition.
    """
    count, height, width, _ = images.shape
    weights = np.exp(-(np.arange(2 * int(np.ceil(radius)) + 1) ** 2) / (2 * sigma**2))
    weights /= weights.sum()
    order = np.argsort(angles, kind="stable")
    radians = np.deg2rad(angles[order].astype(np.float64))
    taps = [i for i in range(len(weights)) if weights[i] > _SMALLEST]
    moves = np.ceil(np.multiply.outer(taps, [np.cos(radians), np.sin(radians)]) - 0.5).astype(int)
    reach = [(max(0, -int(moves[:, i].min())), max(0, int(moves[:, i].max()))) for i in (1, 0)]
    padded = np.pad(images[order].astype(np.float32), ((0, 0), *reach, (0, 0)), mode="edge")
    out = np.zeros((count, height, width, images.shape[3]), dtype=np.float32)
    for i, (right, down) in zip(taps, moves, strict=True):
        edges = np.flatnonzero(np.any(np.diff(np.stack([right, down])), axis=0)) + 1
        for first, last in zip([0, *edges], [*edges, count], strict=True):
            y, x = reach[0][0] + down[first], reach[1][0] + right[first]
            out[first:last] += padded[first:last, y : y + height, x : x + width] * np.float32(weights[i])
    back = np.empty_like(out)
    back[order] = out
    return back


def zoom_taps(side: int, factor: float) -> tuple[Array, Array, Array]:
    """Where the pixels of an axis come from as its middle is enlarged: lower place, upper place, share of the upper.

    The middle ceil(side / factor) pixels become round(that times factor), end on end, of which the middle is kept.
    """
    kept = int(np.ceil(side / factor))
    enlarged = round(kept * factor)
    first, trimmed = (side - kept) // 2, (enlarged - side) // 2
    step = (kept - 1) / (enlarged - 1) if enlarged > 1 else 0.0
    place = (np.arange(side) + trimmed) * step
    low = np.minimum(np.floor(place).astype(int), kept - 1)
    return first + low, first + np.minimum(low + 1, kept - 1), (place - low).astype(np.float32)


def zoomed(images: Array, factor: float) -> Array:
    """The middle of images enlarged to their size, bilinear; float32."""
    out = images
    for axis in (1, 2):
        low, high, share = zoom_taps(images.shape[axis], factor)
        share = share.reshape([-1 if i == axis else 1 for i in range(images.ndim)])
        below = out.take(low, axis=axis)
        out = below + (out.take(high, axis=axis) - below) * share
    return out
