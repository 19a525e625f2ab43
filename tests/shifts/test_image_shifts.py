"""Image shifts: what holds for every kind, whatever the size of the images and however they are batched."""

from __future__ import annotations

import importlib.metadata
import itertools
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import InputError, methods, registry
from oodometer.errors import UsageError
from oodometer.registry import names
from oodometer.verbs.methods import cite
from oodometer_lab.shifts import EXTRA_IMAGE_SHIFTS, IMAGE_SHIFTS, ImageShift, find_image_shift
from oodometer_lab.shifts.base import Draws

from ..snapshots import raises_snapshot
from .conftest import natural_images

# As the published files are named and ordered.
CIFAR_10_C = (
    *(
        "gaussian_noise",
        "shot_noise",
        "impulse_noise",
        "defocus_blur",
        "glass_blur",
        "motion_blur",
        "zoom_blur",
    ),
    *(
        "snow",
        "frost",
        "fog",
        "brightness",
        "contrast",
        "elastic_transform",
        "pixelate",
        "jpeg_compression",
    ),
)
EXTRA = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
WITHOUT_CHANCE = {
    "defocus_blur",
    "zoom_blur",
    "brightness",
    "contrast",
    "pixelate",
    "jpeg_compression",
}
WITHOUT_CHANCE |= {"gaussian_blur", "saturate"}
EVERY = pytest.mark.parametrize("kind", [*CIFAR_10_C, *EXTRA])


def test_the_kinds_are_those_of_cifar_10_c() -> None:
    assert (IMAGE_SHIFTS, EXTRA_IMAGE_SHIFTS) == (CIFAR_10_C, EXTRA)
    assert tuple(names("shift"))[: len(CIFAR_10_C)] == CIFAR_10_C
    assert [m["name"] for m in methods("shift")][:15] == list(CIFAR_10_C)


@EVERY
def test_batches_do_not_matter(kind: str) -> None:
    """To the last bit: one by one, in any parts, as a list and as an array; what else a kind is to do the contract
    tests say.
    """
    shift = find_image_shift(kind)
    assert "hendrycks2019" in cite(kind)
    assert bool(shift.deviation) == (kind in ("frost", "spatter"))
    for rows, *size in ((60, 32, 32), (5, 70, 90), (5, 128, 100)):
        images = natural_images(rows, *size)
        for severity in (1, 3, 5) if rows > 5 else (4,):
            whole = shift.apply(images, severity, seed=3, first_row=10)
            cuts = [0, 1, 2, 9, 40, 60] if rows > 5 else range(6)
            parts = [
                shift.apply(images[a:b], severity, seed=3, first_row=10 + a)
                for a, b in itertools.pairwise(cuts)
            ]
            np.testing.assert_array_equal(np.concatenate(parts), whole)
            as_list = shift.apply(list(images), severity, seed=3, first_row=10)
            assert isinstance(as_list, list)
            np.testing.assert_array_equal(np.stack(as_list), whole)


@EVERY
def test_seeds(kind: str) -> None:
    shift, images = find_image_shift(kind), natural_images(4, 32, 32)
    first, other = (shift.apply(images, 3, seed=seed) for seed in (0, 1))
    assert bool((first != other).any()) == (kind not in WITHOUT_CHANCE)
    same = np.repeat(images[:1], 2, axis=0)
    alike = shift.apply(same, 3)
    assert bool((alike[0] != alike[1]).any()) == (kind not in WITHOUT_CHANCE)


def test_kinds_draw_by_themselves() -> None:
    assert not np.array_equal(Draws(0, "fog", [1]).bits(50), Draws(0, "frost", [1]).bits(50))


def test_draws_are_uniform_and_unrelated() -> None:
    bits = Draws(7, "fog", range(400)).bits(1000).astype(float)
    assert bits.mean() == pytest.approx(32767.5, abs=5 * 65536 / 12**0.5 / 400_000**0.5)
    counts = np.bincount((bits.ravel() / 256).astype(int), minlength=256)
    expected = 400_000 / 256
    assert ((counts - expected) ** 2 / expected).sum() < 255 + 5 * (2 * 255) ** 0.5
    related = np.corrcoef(bits) - np.eye(400)
    assert np.abs(related).max() < 6 / 1000**0.5


def test_a_second_draw_is_another() -> None:
    draws = Draws(0, "fog", range(2))
    first, second = draws.bits(10), draws.bits(10)
    assert not (first == second).all()


@given(
    kind=st.sampled_from([*CIFAR_10_C, *EXTRA]),
    preset=st.sampled_from(["cifar-10-c", "imagenet-c"]),
    severity=st.integers(1, 5),
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    rows=st.integers(0, 3),
    channels=st.sampled_from([None, 1, 3]),
    seed=st.integers(0, 2**70),
    first_row=st.integers(0, 2**40),
)
def test_any_size(
    kind: str,
    preset: str,
    severity: int,
    height: int,
    width: int,
    rows: int,
    channels: int | None,
    seed: int,
    first_row: int,
) -> None:
    shape = (rows, height, width) if channels is None else (rows, height, width, channels)
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    before = images.copy()
    found = find_image_shift(kind, preset).apply(images, severity, seed=seed, first_row=first_row)
    assert found.dtype == np.uint8
    assert found.shape == shape
    np.testing.assert_array_equal(images, before)
    assert not np.shares_memory(found, images)


@pytest.mark.parametrize(
    "kind", [k for k in CIFAR_10_C if "blur" in k or k in ("elastic_transform", "pixelate")]
)
@pytest.mark.parametrize("size", [(32, 32), (96, 80), (1, 7)])
def test_what_only_moves_pixels_leaves_one_colour_alone(kind: str, size: tuple[int, int]) -> None:
    for level in (0, 1, 100, 201, 255):
        images = np.full((2, *size, 3), level, dtype=np.uint8)
        for severity in range(1, 6):
            assert (find_image_shift(kind).apply(images, severity) == level).all(), (
                level,
                severity,
            )


def test_a_preset_that_there_is_not() -> None:
    with raises_snapshot(UsageError):
        find_image_shift("fog", "imagenet")
    with raises_snapshot(UsageError):
        type("Plain", (Inverted,), {"name": "test-plain"})("imagenet-c")


@pytest.mark.parametrize("severity", [0, 6, -1, 2.5, "3", None, True])
def test_a_severity_that_there_is_not(severity: Any) -> None:
    with raises_snapshot(UsageError):
        find_image_shift("fog").apply(natural_images(1, 8, 8), severity)


@pytest.mark.parametrize(
    ("name", "near"),
    [("fogg", "fog"), ("gausian_noise", "gaussian_noise"), ("jpg_compression", "jpeg_comp")],
)
def test_a_kind_that_there_is_not(name: str, near: str) -> None:
    with raises_snapshot(UsageError):
        find_image_shift(name)


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((2, 8, 8, 3)),
        np.zeros((2, 8, 8, 4), np.uint8),
        np.zeros((8, 8), np.uint8),
        np.zeros((2, 0, 8, 3), np.uint8),
        [np.zeros((8, 8, 3), np.uint8), np.zeros(5, np.uint8)],
        ["a.png"],
    ],
)
def test_what_are_no_images(images: Any) -> None:
    with raises_snapshot(InputError):
        find_image_shift("fog").apply(images, 1)


@pytest.mark.parametrize(
    "option", [{"seed": -1}, {"seed": 1.5}, {"first_row": -1}, {"first_row": "0"}]
)
def test_numbers_that_are_none(option: dict[str, Any]) -> None:
    with raises_snapshot(UsageError):
        find_image_shift("fog").apply(natural_images(1, 8, 8), 1, **option)


def test_nothing_heavy_is_loaded_with_the_floor() -> None:
    heavy = ("scipy", "PIL", "torch", "pandas")
    code = f"import sys, oodometer_lab.shifts; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Inverted(ImageShift):
    """A shift as a plugin defines it."""

    name = "test-inverted"
    about = "light becomes dark"
    citation = "hendrycks2019"
    constants = (1, 2, 3, 4, 5)

    def _shifted(self, pixels: Any, constant: int, draws: Draws) -> Any:
        return 255 - pixels


def test_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        SimpleNamespace(name="good", value="plugin:Inverted", load=lambda: Inverted),
        SimpleNamespace(name="bad", value="plugin:Draws", load=lambda: Draws),
    ]
    others = importlib.metadata.entry_points
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda group: entries if group == "oodometer.shifts" else others(group=group),
    )
    monkeypatch.setattr(registry, "_plugins_loaded", set())
    monkeypatch.setattr(registry, "_broken", {kind: {} for kind in registry.METHOD_KINDS})
    try:
        with pytest.warns(UserWarning, match="expected a class that derives from Shift"):
            shift = find_image_shift("test-inverted")
        assert (shift.apply(np.full((2, 4, 4, 3), 55, np.uint8), 1) == 200).all()
    finally:
        registry.unregister("shift", "test-inverted")
