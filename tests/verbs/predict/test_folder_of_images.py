"""Folders as people have them: nested, linked, with hidden files and odd images, with and without classes for names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.cli import main
from oodometer.errors import InputError, UsageError
from oodometer_lab.datasets.images import decode_image, image_files
from oodometer_lab.verbs.predict import predict

from ...snapshots import assert_snapshot, raises_snapshot

image = pytest.importorskip("PIL.Image", reason="needs the extra image: pip install '.[image]'")
CLASSES = ["dark", "light"]


def of_images(images: Any) -> Any:
    dark = np.array([one.mean() < 100 for one in images])
    return np.stack([np.where(dark, 0.9, 0.2), np.where(dark, 0.1, 0.8)], axis=1)


def write(home: Path, *names: str) -> Path:
    """Dark images, and light ones where the name says so."""
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        pixels = np.full((6, 5, 3), 250 if "light" in name else 10, dtype=np.uint8)
        image.fromarray(pixels).save(home / name, format="png")
    return home


@pytest.mark.parametrize(
    "names",
    [
        ("dark/A.PNG", "light/b c \u00fc.png"),
        ("2024/05/dark/a.png", "2024/06/light/b.png"),
        ("dark/2024/a.png", "light/2024/b.png"),
    ],
)
def test_the_folder_that_is_a_class_is_the_label(tmp_path: Path, names: tuple[str, ...]) -> None:
    found = predict(of_images, write(tmp_path, *names), classes=CLASSES)
    assert found.record.columns["id"].tolist() == sorted(names)
    assert np.asarray(found.record.label).tolist() == [0, 1]


@pytest.mark.parametrize("folder", ["2024", "Dark", "dark/light"])
def test_a_folder_that_is_no_class_is_told_with_its_image(tmp_path: Path, folder: str) -> None:
    home = write(tmp_path, f"{folder}/a.png")
    with raises_snapshot(InputError):
        predict(of_images, home, classes=CLASSES)
    assert predict(of_images, home, classes=CLASSES, unlabelled=True).record.label is None
    with raises_snapshot(UsageError):
        predict(of_images, home, classes=CLASSES, unlabelled=True, label="label")


def test_an_image_beside_the_folders_is_of_unknown_class(tmp_path: Path) -> None:
    home = write(tmp_path, "dark/a.png", "cover.png", "light/b.png")
    found = predict(of_images, home, classes=CLASSES)
    assert found.record.verdicts.tolist() == [-1, 1, 1]
    assert found.accuracy.value == 1.0


def test_hidden_files_are_no_images_and_links_are_followed(tmp_path: Path) -> None:
    home = write(tmp_path / "images", "dark/a.png")
    write(tmp_path / "elsewhere", "b.png")
    for name in ("dark/._a.png", ".thumbnails/c.png"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_bytes(b"no image")
    (home / "light").symlink_to(tmp_path / "elsewhere")
    (home / "dark" / "round").symlink_to(home)
    assert [str(one.relative_to(home)) for one in image_files(home)] == [
        "dark/a.png",
        "light/b.png",
    ]


def test_a_link_to_nowhere_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = write(tmp_path / "images", "dark/a.png")
    (home / "dark" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    with raises_snapshot(InputError):
        predict(of_images, home, classes=CLASSES)
    assert predict(of_images, home, classes=CLASSES, on_error="skip").skipped == 1
    words = [
        "shift",
        "image",
        str(home),
        "--kind",
        "fog",
        "--severity",
        "1",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(words) == 2
    assert main([*words, "--on-error", "skip"]) == 0
    assert_snapshot(capsys.readouterr().out)


def test_sixteen_bits_are_not_cut_off(tmp_path: Path) -> None:
    grey = np.arange(0, 65536, 1024, dtype=np.uint16).reshape(8, 8)
    image.fromarray(grey).save(tmp_path / "a.png")
    assert (decode_image(tmp_path / "a.png") == (grey >> 8)[..., None]).all()
    image.fromarray(np.ones((4, 4), dtype=np.float32)).save(tmp_path / "b.tiff")
    with raises_snapshot(ValueError):
        decode_image(tmp_path / "b.tiff")


def test_channels_of_an_array_are_told_with_its_file(tmp_path: Path) -> None:
    from oodometer_lab.models import ResNet

    pytest.importorskip("torch")
    model = ResNet(image_size=8, width=8)
    images: Any = np.zeros((4, 8, 8, 3), dtype=np.uint8)
    model.fit(images, ["dark", "light"] * 2)
    np.savez(tmp_path / "a.npz", image=np.zeros((3, 8, 8, 4), dtype=np.uint8))
    with raises_snapshot(InputError):
        predict(model, tmp_path / "a.npz")


def test_a_model_is_no_second_opinion_on_itself(tmp_path: Path) -> None:
    home = write(tmp_path, "dark/a.png")
    with raises_snapshot(UsageError):
        predict(of_images, home, classes=CLASSES, members=[of_images])


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photographs_are_turned_upright(orientation: int, tmp_path: Path) -> None:
    pixels = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    upright = {
        1: pixels,
        2: pixels[:, ::-1],
        3: pixels[::-1, ::-1],
        4: pixels[::-1],
        5: pixels.transpose(1, 0, 2),
        6: pixels.transpose(1, 0, 2)[:, ::-1],
        7: pixels.transpose(1, 0, 2)[::-1, ::-1],
        8: pixels.transpose(1, 0, 2)[::-1],
    }[orientation]
    exif = image.Exif()
    exif[0x0112] = orientation
    image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    assert (decode_image(tmp_path / "a.png") == upright).all()
    assert (decode_image((tmp_path / "a.png").read_bytes()) == upright).all()
    with image.open(tmp_path / "a.png") as opened:
        assert (decode_image(opened) == upright).all()


def test_damaged_exif_leaves_the_pixels(tmp_path: Path) -> None:
    pixels = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    image.fromarray(pixels).save(tmp_path / "a.png", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    assert (decode_image(tmp_path / "a.png") == pixels).all()
