"""Filters over a batch of images (row, height, width, channel): blur, correlation, streaks, zoom.

What an image becomes must not depend on its batch, to the last bit: sums run in one order for every image, and products
of matrices and Fourier transforms, whose order a library chooses by the shape, are made image by image.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from oodometer.arrays import Array

Border = Literal["nearest", "reflect"]
# taps of less weight change no pixel by a tenth of a grey level: they are left out
_SMALLEST = 1e-4
_STRIP = 200_000  # values of a strip
_MANY_TAPS = 50  # from here on the Fourier transform is faster


def correlated(images: Array, kernel: Array) -> Array:
    """Sum of a kernel (tall, wide), both odd, times the pixels around each pixel; images are mirrored at borders."""
    height, width = images.shape[1:3]
    down, right = kernel.shape[0] // 2, kernel.shape[1] // 2
    padded = np.pad(images, ((0, 0), (down, down), (right, right), (0, 0)), mode="reflect")
    # a large one has small taps alone
    kernel = np.where(kernel > min(_SMALLEST, kernel.max() / 1000), kernel, 0)
    kernel = (kernel / kernel.sum()).astype(np.float32)
    out = np.zeros(images.shape, dtype=np.float32)
    if np.count_nonzero(kernel) > _MANY_TAPS:
        from scipy.signal import fftconvolve

        # rows at once, so that memory does not grow with the image
        step = max(128, 4 * kernel.shape[0])
        for row, top in np.ndindex(len(images), -(-height // step)):
            rows = slice(top * step, (top + 1) * step + 2 * down)
            part = fftconvolve(
                padded[row, rows], kernel[::-1, ::-1, None], mode="valid", axes=(0, 1)
            )
            out[row, top * step : (top + 1) * step] = part
        return out
    for i, j in np.argwhere(kernel):
        out += padded[:, i : i + height, j : j + width] * kernel[i, j]
    return out


def gaussian_blurred(
    images: Array, sigma: float, mode: Border = "nearest", truncate: float = 4.0
) -> Array:
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
    flat = images.reshape(count, height, width * channels).astype(np.float32)
    blurred: Array = np.matmul(down.T, np.matmul(flat, across))
    return blurred.reshape(images.shape)


_DENSE = 256  # sides up to which a product with a full matrix is faster than a filter


@lru_cache(maxsize=16)
def _blur_matrix(side: int, channels: int, sigma: float, mode: Border, truncate: float) -> Array:
    """The blur of one axis as a matrix (from, to): what the filter makes of each unit vector, for each channel."""
    from scipy.ndimage import gaussian_filter1d

    matrix = gaussian_filter1d(np.eye(side), sigma, axis=1, mode=mode, truncate=truncate)
    return np.kron(matrix, np.eye(channels)).astype(np.float32)


def streaked(images: Array, radius: float, sigma: float, angles: Array) -> Array:
    """Motion blur: tap i lies i pixels along the angle of the row (degrees), with weight exp(-i^2 / (2 sigma^2)). There
    are 2 ceil(radius) + 1 taps on one side of the pixel, each moved by a whole number of pixels; beyond the border the
    edge goes on. Rows are sorted by angle: a tap that falls on the same pixel for many is one addition.
    """
    count, height, width, _ = images.shape
    weights = np.exp(-(np.arange(2 * int(np.ceil(radius)) + 1) ** 2) / (2 * sigma**2))
    weights = weights[weights > _SMALLEST * weights.sum()]
    weights = (weights / weights.sum()).astype(np.float32)
    order = np.argsort(angles, kind="stable")
    radians = np.deg2rad(angles[order].astype(np.float64))
    moves = np.ceil(
        np.multiply.outer(np.arange(len(weights)), [np.cos(radians), np.sin(radians)]) - 0.5
    ).astype(int)
    reach = [(max(0, -int(moves[:, i].min())), max(0, int(moves[:, i].max()))) for i in (1, 0)]
    padded = np.pad(images[order].astype(np.float32), ((0, 0), *reach, (0, 0)), mode="edge")
    out = np.zeros((count, height, width, images.shape[3]), dtype=np.float32)
    for weight, (right, down) in zip(weights, moves, strict=True):
        edges = np.flatnonzero(np.any(np.diff(np.stack([right, down])), axis=0)) + 1
        for first, last in zip([0, *edges], [*edges, count], strict=True):
            y, x = reach[0][0] + down[first], reach[1][0] + right[first]
            out[first:last] += padded[first:last, y : y + height, x : x + width] * weight
    back = np.empty_like(out)
    back[order] = out
    return back


def zoom_taps(side: int, factor: float) -> tuple[Array, Array, Array]:
    """Where pixels come from as an axis's middle is enlarged end on end: lower place, upper place, upper's share."""
    middle = int(np.ceil(side / factor))
    enlarged = round(middle * factor)
    first, trimmed = (side - middle) // 2, (enlarged - side) // 2
    step = (middle - 1) / (enlarged - 1) if enlarged > 1 else 0.0
    at = (np.arange(side) + trimmed) * step
    low = np.minimum(np.floor(at).astype(int), middle - 1)
    return first + low, first + np.minimum(low + 1, middle - 1), (at - low).astype(np.float32)


def zoomed(images: Array, factor: float, rows: slice = slice(None)) -> Array:
    """The middle of images enlarged to their size, bilinear; float32. Of these rows alone."""
    out = images
    for axis, selection in ((1, rows), (2, slice(None))):
        low, high, share = (taps[selection] for taps in zoom_taps(images.shape[axis], factor))
        share = share.reshape([-1 if i == axis else 1 for i in range(images.ndim)])
        below = out.take(low, axis=axis).astype(np.float32, copy=False)
        out = below + (out.take(high, axis=axis) - below) * share
    return out


# pixels from which on a matrix of all of them takes too much memory, and long to make
_LARGE = 2**16


def zoom_blurred(images: Array, factors: tuple[float, ...]) -> Array:
    """Mean of the images and of their middles enlarged by each of the factors; float32."""
    count, height, width, channels = images.shape
    if height * width > _LARGE:
        out = images.astype(np.float32)
        for rows in strips(images.shape):
            for factor in factors:
                out[:, rows] += zoomed(images, factor, rows)
        out /= len(factors) + 1
        return out
    flat = (
        images.reshape(count, height * width, channels)
        .transpose(1, 0, 2)
        .reshape(height * width, -1)
    )
    mean = _zoom_matrix(height, width, factors) @ flat.astype(np.float32)
    back: Array = mean.reshape(height * width, count, channels).transpose(1, 0, 2)
    return back.reshape(images.shape)


def strips(shape: tuple[int, ...]) -> Iterator[slice]:
    """Rows of images of this shape that are worked on at once, so that what that takes does not grow with an image."""
    step = max(1, _STRIP // (shape[0] * shape[2] * shape[3]))
    for start in range(0, shape[1], step):
        yield slice(start, min(start + step, shape[1]))


@lru_cache(maxsize=8)
def _zoom_matrix(height: int, width: int, factors: tuple[float, ...]) -> Any:
    """The mean of all enlargements as one sparse matrix (to, from) over the pixels of an image."""
    from scipy import sparse

    def enlargement(side: int, factor: float) -> Any:
        low, high, share = zoom_taps(side, factor)
        cells = (np.tile(np.arange(side), 2), np.concatenate([low, high]))
        return sparse.csr_array((np.concatenate([1 - share, share]), cells), shape=(side, side))

    total = sparse.eye_array(height * width, dtype=np.float32, format="csr")
    for factor in factors:
        total = total + sparse.kron(
            enlargement(height, factor), enlargement(width, factor), format="csr"
        )
    return (total / (len(factors) + 1)).astype(np.float32)
