"""Image sets: CIFAR-10, CIFAR-10.1, MNIST and STL10 by folder and hub; every fault in one line."""

from __future__ import annotations

import io
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.datasets import cifar10, cifar10_1, mnist, stl10
from oodometer_lab.datasets.image_sets import CIFAR10_CLASSES, find_cifar10_1, find_stl10

from ..snapshots import raises_snapshot

Image = pytest.importorskip("PIL.Image", reason="needs the extra image: pip install '.[image]'")
RNG = np.random.default_rng(0)
FLAT = np.repeat(np.arange(6, dtype=np.uint8) * 40, 32 * 32 * 3).reshape(6, 32, 32, 3)
LABELS = np.array([0, 1, 2, 3, 9, 6], dtype=np.uint8)


def jpeg(image: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=95)
    return file.getvalue()


def write_jpegs(path: Path, files: list[bytes], labels: Any, **instead: Any) -> None:
    offset = np.cumsum([0, *map(len, files)])
    file = io.BytesIO()
    arrays = {
        "jpeg": np.frombuffer(b"".join(files), dtype=np.uint8),
        "offset": offset,
        "label": labels,
    }
    np.savez(file, **{**arrays, **instead})
    path.write_bytes(lzma.compress(file.getvalue(), preset=0))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for part in ("train", "test"):
        write_jpegs(folder / f"{part}_jpegs.npz.xz", [jpeg(one) for one in FLAT], LABELS)
    digits = RNG.integers(256, size=(4, 28, 28), dtype=np.uint8)
    np.savez(folder / "mnist_test.npz", x=digits, y=np.arange(4, dtype=np.uint8))
    monkeypatch.setenv("OODOMETER_DATA", str(tmp_path))
    return tmp_path


def test_images_and_labels_are_those_of_the_files(here: Path) -> None:
    found = cifar10("train")
    assert (found.inputs.shape, found.inputs.dtype, found.modality) == (
        (6, 32, 32, 3),
        np.uint8,
        "image",
    )
    assert (
        np.abs(found.inputs.astype(int) - FLAT).max() <= 1
    )  # a flat JPEG is exact but for rounding
    assert (found.targets, found.ids[1]) == (tuple(LABELS.tolist()), "train/1")
    assert CIFAR10_CLASSES[found.targets[5]] == "frog"
    digits = mnist("test")
    assert (digits.inputs.shape, digits.targets) == ((4, 28, 28, 1), (0, 1, 2, 3))


def test_the_new_test_set_is_found_by_name(here: Path) -> None:
    assert find_cifar10_1() is None
    with raises_snapshot(InputError):
        cifar10_1()
    folder = here / "images" / "cifar10.1"
    folder.mkdir()
    np.save(folder / "cifar10.1_v6_data.npy", FLAT)
    with raises_snapshot(InputError):
        cifar10_1()
    np.save(folder / "cifar10.1_v6_labels.npy", LABELS.astype(np.int64))
    result = cifar10_1()
    assert (result.name, result.targets, result.ids[0]) == (
        "cifar10.1-v6",
        tuple(LABELS.tolist()),
        "v6/0",
    )
    np.testing.assert_array_equal(result.inputs, FLAT)


def published(folder: Path, images: Any, labels: Any) -> None:
    """The two binary files, each image by channel, column and row, written pixel by pixel."""
    raw = bytearray()
    for image in images:
        for channel in range(3):
            for column in range(96):
                raw += bytes(image[:, column, channel])
    (folder / "test_X.bin").write_bytes(bytes(raw))
    (folder / "test_y.bin").write_bytes(bytes(labels))


def test_photographs_come_in_the_classes_and_the_size_of_cifar(here: Path) -> None:
    images = RNG.integers(256, size=(10, 96, 96, 3), dtype=np.uint8)
    folder = here / "stl10_binary"
    folder.mkdir()
    assert find_stl10() is None
    published(folder, images, range(1, 11))
    assert find_stl10() == folder / "test_X.bin"
    found = stl10()
    assert [CIFAR10_CLASSES[one] for one in found.targets] == [
        "airplane", "bird", "automobile", "cat", "deer", "dog", "horse", "ship", "truck",
    ]  # fmt: skip
    assert "test/7" not in found.ids, "monkeys are left out"
    means = np.delete(images, 7, axis=0).reshape(9, 32, 3, 32, 3, 3).mean((2, 4))
    assert (
        np.abs(found.inputs - means).max() <= 1
    )  # pillow rounds after the columns and after the rows
    (folder / "test_X.bin").unlink()
    np.savez(here / "stl10_test.npz", x=images, y=np.arange(10))
    again = stl10()
    assert again.targets == found.targets
    np.testing.assert_array_equal(again.inputs, found.inputs)


def test_damaged_photographs_are_named(here: Path) -> None:
    published(here, np.zeros((2, 96, 96, 3), dtype=np.uint8), [1, 0])
    with raises_snapshot(InputError):
        stl10()
    (here / "test_X.bin").write_bytes(b"123")
    with raises_snapshot(InputError):
        stl10()
    published(here, np.zeros((2, 96, 96, 3), dtype=np.uint8), [8, 8])
    with raises_snapshot(InputError):
        stl10()
    (here / "test_y.bin").unlink()
    with raises_snapshot(InputError):
        stl10()
    (here / "test_X.bin").unlink()
    with raises_snapshot(InputError):
        stl10()


GOOD = [jpeg(one) for one in FLAT]


@pytest.mark.parametrize(
    ("files", "labels", "instead"),
    [
        ([*GOOD[:2], b"no image", *GOOD[3:]], LABELS, {}),
        ([*GOOD[:5], jpeg(FLAT[0, :16])], LABELS, {}),
        (GOOD, LABELS + 5, {}),
        (GOOD, LABELS[:5], {}),
        (GOOD, LABELS.astype(float), {}),
        (GOOD, LABELS, {"offset": np.array([0, 9, 5])}),
        (GOOD, LABELS, {"offset": np.array([0, 10**9])}),
    ],
)
def test_faults_name_file_and_row(here: Path, files: Any, labels: Any, instead: Any) -> None:
    write_jpegs(here / "images" / "test_jpegs.npz.xz", files, labels, **instead)
    with raises_snapshot(InputError) as found:
        cifar10("test")
    assert "test_jpegs.npz.xz" in str(found.value)


def test_broken_and_missing_files_are_one_line(here: Path) -> None:
    with raises_snapshot(UsageError):
        cifar10("dev")
    with raises_snapshot(InputError):
        mnist("train")
    (here / "images" / "mnist_test.npz").write_bytes(b"no archive")
    with raises_snapshot(InputError):
        mnist("test")
    np.savez(here / "images" / "mnist_test.npz", x=FLAT, y=LABELS)
    with raises_snapshot(InputError):
        mnist("test")
    np.save(here / "cifar10.1_v6_data.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(here / "cifar10.1_v6_labels.npy", LABELS)
    with raises_snapshot(InputError):
        cifar10_1()


class Rows(dict[str, Any]):
    """Rows of a data set of the hub: columns by name, their number and their names."""

    column_names = property(lambda self: list(self))

    def __len__(self) -> int:
        return len(self["label"])


def test_the_hub_stands_in_where_there_is_no_folder(here: Path, hub: Any) -> None:
    asked: list[tuple[str, str]] = []
    small = Rows(img=[{"bytes": one} for one in GOOD], label=LABELS.tolist())
    digits = Rows(image=[Image.fromarray(FLAT[0, :28, :28, 0])], label=[3])
    sets = {"uoft-cs/cifar10": small, "ylecun/mnist": digits}

    def load(source: str, split: str) -> Any:
        asked.append((source, split))
        return sets[source]

    local = cifar10("test")
    hub(load)
    np.testing.assert_array_equal(cifar10("test").inputs, local.inputs)
    assert cifar10("test").ids == local.ids
    assert mnist("test").inputs.shape == (1, 28, 28, 1)
    assert asked[-1] == ("ylecun/mnist", "test")
    sets["ylecun/mnist"] = Rows(label=[])
    with raises_snapshot(InputError):
        mnist("test")
    with raises_snapshot(InputError):
        stl10()  # not on the hub


def test_real_sets(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OODOMETER_DATA", str(data_dir))
    test = cifar10("test")
    assert test.inputs.shape == (10_000, 32, 32, 3)
    assert np.bincount(test.targets).tolist() == [1000] * 10
    # The means of the channels that everyone normalises CIFAR-10 with are 125.3, 123.0 and 113.9 (of its training set).
    np.testing.assert_allclose(test.inputs.mean((0, 1, 2)), [125.3, 123.0, 113.9], atol=1.5)
    # 40 people named each test image: their favourite is the label of all but a few.
    with np.load(data_dir / "images" / "cifar10h_counts.npz") as held:
        assert (held["counts"].argmax(1) == np.array(test.targets)).mean() > 0.98
    for part, rows in (("train", 60_000), ("test", 10_000)):
        digits = mnist(part)
        assert digits.inputs.shape == (rows, 28, 28, 1)
        np.testing.assert_allclose(digits.inputs.mean() / 255, 0.1307, atol=0.003)
