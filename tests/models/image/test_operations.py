"""Operations on many images: each gives what pillow gives image by image, and its formula by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer_lab.models.image import network as operate

PIL = pytest.importorskip("PIL", reason="needs the extra image: pip install '.[image]'")
from PIL import Image, ImageEnhance, ImageOps  # noqa: E402

AFFINE, NEAREST = Image.Transform.AFFINE, Image.Resampling.NEAREST
GREY = (operate.FILL,) * 3


def images(seed: int, rows: int = 12, height: int = 32, width: int = 32) -> Any:
    """Smooth images, noise, few levels, a narrow range and one colour, mixed."""
    rng = np.random.default_rng(seed)
    out = rng.integers(256, size=(rows, height, width, 3))
    waves = np.sin(np.arange(height)[:, None] / 5 + rng.random((rows, 1, 1)) * 6) * np.cos(
        np.arange(width) / 7
    )
    out[1::4] = (128 + 120 * waves[1::4, :, :, None] * rng.random(3)).astype(int)
    out[2::4] = out[2::4] // 64 * 64
    out[3::4] = 90 + out[3::4] // 16
    out[-1] = rng.integers(256, size=3)
    return out.astype(np.uint8)


def operation(name: str) -> Any:
    return operate.OPERATIONS[name][0]


def shapes() -> Any:
    return st.tuples(st.integers(0, 99), st.integers(1, 5), st.integers(3, 40), st.integers(3, 40))


def one_by_one(
    found: Any, given_images: Any, strengths: Any, pillow: Callable[[Any, float], Any]
) -> Any:
    told = [
        np.asarray(pillow(Image.fromarray(one), by))
        for one, by in zip(given_images, strengths.tolist(), strict=True)
    ]
    return found.astype(int) - np.stack(told)


PHOTOMETRIC: dict[str, tuple[tuple[float, float], Callable[[Any, float], Any]]] = {
    "brightness": ((0, 2), lambda image, by: ImageEnhance.Brightness(image).enhance(by)),
    "contrast": ((0, 2), lambda image, by: ImageEnhance.Contrast(image).enhance(by)),
    "color": ((0, 2), lambda image, by: ImageEnhance.Color(image).enhance(by)),
    "sharpness": ((0, 2), lambda image, by: ImageEnhance.Sharpness(image).enhance(by)),
    "posterize": ((1, 8), lambda image, by: ImageOps.posterize(image, int(by))),
    "solarize": ((0, 256), lambda image, by: ImageOps.solarize(image, int(by))),
    "autocontrast": ((0, 0), lambda image, by: ImageOps.autocontrast(image)),
    "equalize": ((0, 0), lambda image, by: ImageOps.equalize(image)),
}


@pytest.mark.parametrize("name", PHOTOMETRIC)
@settings(deadline=None, max_examples=40)
@given(shape=shapes(), seed=st.integers(0, 99))
def test_values_are_those_of_pillow(name: str, shape: tuple[int, int, int, int], seed: int) -> None:
    (low, high), pillow = PHOTOMETRIC[name]
    some = images(*shape)
    strengths = np.random.default_rng(seed).uniform(low, high, len(some))
    if name in ("posterize", "solarize"):
        strengths = np.rint(strengths)
    before = some.copy()
    found = operation(name)(some, strengths)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(some, before)
    off = np.abs(one_by_one(found, some, strengths, pillow))
    assert off.max() <= 1
    assert (off > 0).mean() < 0.01, "but for a rounding here and there they are the same"


MOVES: dict[str, tuple[float, Callable[[Any, float], Any]]] = {
    "rotate": (60, lambda image, by: image.rotate(by, NEAREST, fillcolor=GREY)),
    "shear_x": (
        0.5,
        lambda image, by: image.transform(
            image.size, AFFINE, (1, by, 0, 0, 1, 0), NEAREST, fillcolor=GREY
        ),
    ),
    "shear_y": (
        0.5,
        lambda image, by: image.transform(
            image.size, AFFINE, (1, 0, 0, by, 1, 0), NEAREST, fillcolor=GREY
        ),
    ),
    "translate_x": (
        0.6,
        lambda image, by: image.transform(
            image.size, AFFINE, (1, 0, by * image.width, 0, 1, 0), NEAREST, fillcolor=GREY
        ),
    ),
    "translate_y": (
        0.6,
        lambda image, by: image.transform(
            image.size, AFFINE, (1, 0, 0, 0, 1, by * image.height), NEAREST, fillcolor=GREY
        ),
    ),
}


@pytest.mark.parametrize("name", MOVES)
@settings(deadline=None, max_examples=40)
@given(shape=shapes(), seed=st.integers(0, 99))
def test_moves_are_those_of_pillow(name: str, shape: tuple[int, int, int, int], seed: int) -> None:
    most, pillow = MOVES[name]
    some = images(*shape)
    strengths = np.random.default_rng(seed).uniform(-most, most, len(some))
    off = one_by_one(operation(name)(some, strengths), some, strengths, pillow)
    # pillow counts in 1/65536 of a pixel: where a middle falls on an edge between two, the other may be taken.
    pixels = (off != 0).any(-1)
    assert pixels.sum() <= max(
        1, pixels.size // 100
    )  # of an image of 20 pixels one is more than a hundredth


def test_turns_and_moves_by_hand() -> None:
    some = images(1, rows=3)
    np.testing.assert_array_equal(
        operate.rotate(some, np.full(3, 90.0)), np.rot90(some, axes=(1, 2))
    )
    left = operation("translate_x")(some, np.full(3, 0.25))
    np.testing.assert_array_equal(left[:, :, :24], some[:, :, 8:])
    assert (left[:, :, 24:] == operate.FILL).all()
    down = operation("translate_y")(some, np.full(3, -0.5))
    np.testing.assert_array_equal(down[:, 16:], some[:, :16])
    slanted = operation("shear_x")(some, np.ones(3))
    np.testing.assert_array_equal(
        slanted[:, 10, :21], some[:, 10, 11:]
    )  # row 10 has its middle at 10.5
    for move in MOVES:
        np.testing.assert_array_equal(operation(move)(some, np.zeros(3)), some)


def test_values_by_hand() -> None:
    one = np.array([[[[0, 100, 200]]]], dtype=np.uint8)
    for operation, strength, wanted in (
        (operate.brightness, 1.5, [0, 150, 255]),
        (operate.posterize, 2, [0, 64, 192]),
        (operate.solarize, 150, [0, 100, 55]),
        (operate.color, 0, [82, 82, 82]),  # 0.587 * 100 + 0.114 * 200 = 81.5
        (operate.contrast, 0, [82, 82, 82]),
        (operate.sharpness, 0, [0, 100, 200]),
        (operate.autocontrast, 0, [0, 100, 200]),  # a channel of one value
    ):
        assert operation(one, np.array([strength])).ravel().tolist() == wanted
    ramp = np.array([[[[10], [20], [30]]]], dtype=np.uint8)
    assert operate.autocontrast(ramp, np.zeros(1)).ravel().tolist() == [0, 127, 255]


@settings(deadline=None)
@given(shape=shapes())
def test_an_image_does_not_depend_on_its_neighbours(shape: tuple[int, int, int, int]) -> None:
    some = images(*shape)
    strengths = np.random.default_rng(0).uniform(0.5, 1.5, len(some))
    for name in [*PHOTOMETRIC, *MOVES]:
        whole = operation(name)(some, strengths)
        np.testing.assert_array_equal(operation(name)(some[-1:], strengths[-1:]), whole[-1:])
