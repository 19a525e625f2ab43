"""Image shifts at any size: no picture turns black or loses its light, and memory does not grow far beyond it."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from oodometer_lab.shifts import IMAGE_SHIFTS, find_image_shift
from oodometer_lab.shifts.image.blur import DefocusBlur, disk
from oodometer_lab.shifts.image.filters import correlated, zoom_blurred

# What each kind may do to the mean of a picture of middle grey, in grey levels; noise is of mean 0, frost and snow add.
LIGHT = {
    "snow": (0, 110),
    "frost": (-60, 110),
    "fog": (-60, 60),
    "brightness": (0, 110),
    "contrast": (-10, 10),
}
STEPS = tuple(1 + i / 100 for i in range(12))
SIZES = [(8, 8), (9, 8), (8, 300), (400, 9), (33, 31), (64, 64), (100, 260), (257, 258), (300, 225)]


def waves(height: int, width: int) -> Any:
    """One picture of slow waves around middle grey."""
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    grey = 120 + 50 * np.sin(x / 5) * np.cos(y / 7)
    return np.stack([grey, grey + 5, grey - 5], axis=2)[None].astype(np.uint8)


@pytest.mark.parametrize("kind", IMAGE_SHIFTS)
def test_the_light_stays_within_bounds_at_any_size(kind: str) -> None:
    least, most = LIGHT.get(kind, (-12, 12))
    for (height, width), severity in itertools.product(SIZES, (1, 3, 5)):
        images = waves(height, width)
        found = find_image_shift(kind).apply(images, severity)
        assert found.shape == images.shape
        change = found.mean() - images.mean()
        assert least - 2 <= change <= most, (height, width, severity, change)
        assert kind == "contrast" or found.std() > 3, "one colour"


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("shorter", [32, 200, 600, 1206, 1800, 4000])
def test_a_disk_keeps_its_light_at_any_size(severity: int, shorter: int) -> None:
    """All taps of a disk for a photograph of 1,206 pixels weigh less than 1e-4: left out, it was black."""
    radius, rim = DefocusBlur.constants[severity - 1]
    kernel = disk(radius * shorter / 32, rim)
    side = kernel.shape[0]
    bright = np.full((1, side, side, 1), 200, dtype=np.float32)
    with np.errstate(all="raise"):
        found = correlated(bright, kernel)
    np.testing.assert_allclose(found, 200, rtol=1e-3)


@pytest.mark.parametrize("kind", ["defocus_blur", "zoom_blur", "elastic_transform", "motion_blur"])
def test_a_photograph_is_not_black(kind: str) -> None:
    images = waves(1210, 1240) if kind != "defocus_blur" else waves(1210, 1215)
    found = find_image_shift(kind).apply(images, 5)
    assert found.mean() == pytest.approx(images.mean(), abs=6)


def test_strips_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.concatenate([waves(300, 260), waves(300, 260)[:, ::-1]])
    whole = zoom_blurred(images, STEPS)
    pulled = find_image_shift("elastic_transform").apply(images, 4)
    monkeypatch.setattr("oodometer_lab.shifts.image.filters._STRIP", 10_000_000)
    np.testing.assert_array_equal(zoom_blurred(images, STEPS), whole)
    np.testing.assert_array_equal(find_image_shift("elastic_transform").apply(images, 4), pulled)
    monkeypatch.setattr("oodometer_lab.shifts.image.filters._LARGE", 10_000_000)
    np.testing.assert_allclose(zoom_blurred(images, STEPS), whole, atol=1e-3)


PEAK = """
import resource, sys
import numpy as np
import scipy.signal
from oodometer_lab.shifts import find_image_shift
shift = find_image_shift(sys.argv[1])
shift.apply(np.full((1, 300, 300, 3), 90, np.uint8), 5)
images = np.full((1, 512, 512, 3), 90, np.uint8)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
shift.apply(images, 5)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
@pytest.mark.parametrize("kind", ["zoom_blur", "elastic_transform", "defocus_blur"])
def test_a_large_picture_takes_little_memory(kind: str) -> None:
    """Zoom blur took 890 MB for 512 x 512 pixels."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, kind], capture_output=True, text=True, timeout=120, check=True
    )
    assert int(done.stdout) < 60
