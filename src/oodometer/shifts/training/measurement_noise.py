"""Measurement noise: images blurred a little, then with normal noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import gaussian_filter

from ...arguments import check_seed
from ...arrays import Array
from ...datasets import Dataset
from .given import pixels, spread

_ROWS = 512  # images that are held as floats at once


def measurement_noise(
    data: Dataset, blur: float = 0.5, noise: float = 0.07, seed: int = 0, *, first_row: int = 0
) -> Dataset:
    """Images x' = clip(G_blur * x + noise z, 0, 1) in [0, 1], z standard normal for each pixel and channel.

    G_blur is a Gaussian filter with that standard deviation in pixels, cut at four of them; edges are repeated. The
    result is rounded to uint8 and has the shape of the input, (sample, height, width) or (sample, height, width,
    channel).

    Parameters
    ----------
    data :
        A set of uint8 images of one size; it is not changed.
    blur, noise :
        Standard deviations of the filter, in pixels, and of the noise, where white is 1.
    seed :
        Of the noise; image i draws by (seed, first_row + i), so that it does not matter how images are batched.
    first_row :
        Position of the first image in the whole data set.

    Raises `UsageError` for a negative deviation, `InputError` for what is no image, or images of several sizes.

    Source: Trivedi et al. (2023), with blur 0.5 and noise 0.07.

    >>> grey = Dataset("grey", np.full((1, 2, 2, 3), 128, dtype=np.uint8), (0,), modality="image")
    >>> measurement_noise(grey, seed=1).inputs[0, 0].tolist()
    [[159, 103, 146], [162, 129, 135]]
    >>> measurement_noise(grey, noise=0).inputs[0, 0].tolist()
    [[128, 128, 128], [128, 128, 128]]
    """
    images, seed = pixels(data), check_seed(seed)
    blur, noise = spread("blur", blur), spread("noise", noise)
    out = np.empty_like(images)
    for start in range(0, len(images), _ROWS):
        part = slice(start, start + _ROWS)
        out[part] = _noisy(images[part], blur, noise, (seed, first_row + start))
    return replace(data, inputs=out.reshape(data.inputs.shape))


def _noisy(images: Array, blur: float, noise: float, seed: tuple[int, int]) -> Array:
    found = images.astype(np.float32)
    if blur:
        found = gaussian_filter(found, (0, blur, blur, 0), mode="nearest", truncate=4.0)
    if noise:
        whole, first = seed
        for row, one in enumerate(found, first):
            drawn = np.random.default_rng((whole, row)).standard_normal(one.shape, dtype=np.float32)
            one += np.float32(255 * noise) * drawn
    return np.clip(np.rint(found), 0, 255).astype(np.uint8)
