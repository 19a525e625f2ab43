"""Images in the layouts of CIFAR-10-C and ImageNet-C: written, read, asked about; bad ones refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer import InputError
from oodometer.cli import main
from oodometer.errors import UsageError
from oodometer_lab.datasets.image_sets import cifar10_c
from oodometer_lab.datasets.reading import StackedExamples, open_examples
from oodometer_lab.shifts import EXTRA_IMAGE_SHIFTS, find_image_shift

from ..snapshots import raises_snapshot

PIXELS = np.random.default_rng(0).integers(0, 256, (12, 16, 16, 3), dtype=np.uint8)
LABELS = np.arange(12) % 10
TO_WRITE = ["--kind", "fog", "--kind", "contrast", "--layout", "cifar-10-c", "--out"]


def bright(images: Any) -> Any:
    light = np.array([np.asarray(image).mean() / 255 for image in images])
    return np.stack([1 - light] + [light / 9] * 9, axis=1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve images, shifted by two kinds at all severities, in the layout of CIFAR-10-C."""
    monkeypatch.chdir(tmp_path)
    np.savez("photos.npz", image=PIXELS, label=LABELS)
    assert main(["shift", "photos.npz", *TO_WRITE, "CIFAR-10-C"]) == 0
    return tmp_path / "CIFAR-10-C"


def test_what_is_written_is_the_published_layout(folder: Path) -> None:
    names = ["contrast.manifest.json", "contrast.npy", "fog.manifest.json", "fog.npy", "labels.npy"]
    assert sorted(path.name for path in folder.iterdir()) == names
    labels, fog = np.load(folder / "labels.npy"), np.load(folder / "fog.npy")
    assert (labels.dtype, labels.tolist()) == (np.uint8, LABELS.tolist() * 5)
    expected = np.concatenate(
        [find_image_shift("fog").apply(PIXELS, severity) for severity in range(1, 6)]
    )
    np.testing.assert_array_equal(fog, expected)
    manifest = json.loads((folder / "fog.manifest.json").read_text())
    assert manifest["severity"] == [1, 2, 3, 4, 5]
    assert (manifest["rows"], manifest["constants"][2], manifest["preset"]) == (
        12,
        [0.75, 2.5],
        "cifar-10-c",
    )


def test_written_then_read_is_the_same(folder: Path) -> None:
    examples = open_examples("CIFAR-10-C", ["image"])
    assert isinstance(examples, StackedExamples)
    assert all(isinstance(array, np.memmap) for array in examples.images)
    batches = list(examples.batches(25))  # across severities and files
    assert [len(batch.data) for batch in batches] == [25, 25, 25, 25, 20]
    read = np.concatenate([batch.data.inputs for batch in batches])
    np.testing.assert_array_equal(
        read, np.concatenate([np.load(folder / f"{kind}.npy") for kind in ("contrast", "fog")])
    )
    kinds, severities = (
        np.concatenate([batch.columns[name] for batch in batches]) for name in ("kind", "severity")
    )
    assert kinds.tolist() == ["contrast"] * 60 + ["fog"] * 60
    assert severities.tolist() == np.repeat([1, 2, 3, 4, 5] * 2, 12).tolist()
    assert [target for batch in batches for target in batch.data.targets] == LABELS.tolist() * 10
    assert batches[-1].data.ids[-1] == "fog/5/11"
    (late,) = open_examples(folder / "fog.npy", ["image"]).batches(50, first=1)
    np.testing.assert_array_equal(late.data.inputs, np.load(folder / "fog.npy")[50:])


def test_predictions_say_kind_and_severity(folder: Path) -> None:
    classes = list(range(10))
    oodometer.predict(bright, "CIFAR-10-C", out="all.parquet", classes=classes)
    oodometer.predict(bright, "photos.npz", out="reference.parquet", classes=classes)
    result = oodometer.estimate(
        "reference.parquet", "all.parquet", by="severity", methods=["ac"], backtest=None
    )
    assert [one.name for one in result.slices] == ["1", "2", "3", "4", "5"]
    assert result.slices[0].rows == 24


def test_the_data_set_of_one_condition(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OODOMETER_DATA", str(folder.parent))
    data = cifar10_c("fog", 4)
    np.testing.assert_array_equal(data.inputs, find_image_shift("fog").apply(PIXELS, 4))
    assert (data.name, data.targets, data.ids[0]) == (
        "cifar-10-c",
        tuple(LABELS.tolist()),
        "fog/4/0",
    )
    with raises_snapshot(InputError):
        cifar10_c("snow", 4)
    with pytest.raises(UsageError, match="6"):
        cifar10_c("fog", 6)


def test_files_as_published_are_recognised(tmp_path: Path) -> None:
    """10,000 rows a severity; the files here are sparse, and reading ten rows does not read them."""
    for kind in ("gaussian_noise", "saturate"):
        shape = (50_000, 32, 32, 3)
        np.lib.format.open_memmap(tmp_path / f"{kind}.npy", mode="w+", dtype=np.uint8, shape=shape)[
            30_000
        ] = 7
    np.save(tmp_path / "labels.npy", np.tile(np.arange(10_000) % 10, 5).astype(np.uint8))
    examples = open_examples(tmp_path, ["image"])
    assert examples.rows == 100_000
    batch = next(examples.batches(10, first=8_000))
    assert (batch.columns["kind"][0], batch.columns["severity"][0]) == ("saturate", 4)
    assert (batch.data.inputs[0] == 7).all()
    assert not batch.data.inputs[1].any()


def spoil(folder: Path, name: str, array: Any) -> None:
    (folder / name).unlink()
    if array is not None:
        np.save(folder / name, array)


GOOD = PIXELS.repeat(5, 0)
BAD: dict[str, tuple[str, Any, str, Any]] = {
    "rows": (
        "fog.npy",
        np.zeros((58, 16, 16, 3), np.uint8),
        "five severities of as many images",
        GOOD,
    ),
    "other rows": (
        "fog.npy",
        np.zeros((65, 16, 16, 3), np.uint8),
        "in every file, got uint8 of shape",
        GOOD,
    ),
    "floats": ("fog.npy", np.zeros((60, 16, 16, 3)), "uint8 images .*, got float64 of shape", GOOD),
    "channels first": ("fog.npy", np.zeros((60, 3, 16, 16), np.uint8), r"\(60, 3, 16, 16\)", GOOD),
    "no labels": (
        "labels.npy",
        None,
        "labels.npy: expected an NPY file of numbers, got no such file; put it",
        LABELS,
    ),
    "float labels": (
        "labels.npy",
        np.zeros(60),
        "60 labels, or 12, whole numbers or names, got float64",
        LABELS,
    ),
    "few labels": ("labels.npy", np.zeros(59, int), "60 labels, or 12", np.tile(LABELS, 5)),
    "objects": ("fog.npy", np.array([None, 1]), "without objects", GOOD),
}


@pytest.mark.parametrize("case", BAD)
def test_other_files_are_refused_and_the_remedy_works(case: str, folder: Path) -> None:
    name, wrong, said, right = BAD[case]
    spoil(folder, name, wrong)
    for path in (folder, folder / "fog.npy")[: 1 if case == "other rows" else 2]:
        with pytest.raises(InputError, match=said):
            open_examples(path, ["image"])
    np.save(folder / name, right)
    assert open_examples(folder, ["image"]).rows == 120


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["photos.npz", *TO_WRITE, "o", "--severity", "2"],
            "holds severities 1 to 5; leave --severity out",
        ),
        (
            ["bare.npz", *TO_WRITE, "o"],
            "expected labels beside the images, got the arrays image; add an array label",
        ),
        (["photos", *TO_WRITE, "o"], "photos is a folder, which needs --layout imagenet-c"),
        (
            [
                "photos.npz",
                "--kind",
                "fog",
                "--severity",
                "1",
                "--layout",
                "imagenet-c",
                "--out",
                "o",
            ],
            "cifar-10-c",
        ),
        (
            ["photos.npz", "--kind", "fog", "--severity", "1", "--layout", "folders", "--out", "o"],
            "expected --layout",
        ),
        (
            [
                "photos.npz",
                "--kind",
                "fog",
                "--severity",
                "1",
                "--preset",
                "imagenet",
                "--out",
                "o",
            ],
            "expected --preset",
        ),
    ],
)
def test_what_does_not_go_together(
    words: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("photos").mkdir()
    np.savez("bare.npz", image=PIXELS)
    assert main(["shift", *words]) == 2
    assert said in capsys.readouterr().err
    assert not Path("o").exists()


def test_one_kind_and_names_for_labels(folder: Path) -> None:
    names = np.array(["cat", "dog"] * 6)
    np.savez("pets.npz", image=PIXELS, label=names)
    result = oodometer.shift(
        "pets.npz", kind="extra", layout="cifar-10-c", preset="imagenet-c", out="pets-c"
    )
    assert [(copy.kind, copy.severity) for copy in result.copies] == [
        (kind, "1 to 5") for kind in EXTRA_IMAGE_SHIFTS
    ]
    batch = next(open_examples("pets-c/speckle_noise.npy", ["image"]).batches(60))
    assert batch.data.targets == (*names,) * 5
    expected = find_image_shift("speckle_noise", "imagenet-c").apply(PIXELS, 5)
    np.testing.assert_array_equal(batch.data.inputs[48:], expected)


def test_a_folder_as_imagenet_c_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    for row, pixels in enumerate(PIXELS):
        path = Path("photos", ("cat", "dog")[row % 2], f"{row}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        image.fromarray(pixels).save(path)
    more: dict[str, Any] = {"layout": "imagenet-c", "preset": "imagenet-c", "out": "photos-c"}
    oodometer.shift("photos", kind=["fog", "snow"], severity=[1, 3], **more)
    assert Path("photos-c/fog/3/manifest.json").is_file()
    data = oodometer.predict(
        bright, "photos-c", classes=["cat", "dog", *"abcdefgh"], out="c.parquet"
    )
    assert data.rows == 48
    source = oodometer.store.as_source("c.parquet", extra_columns=["kind", "severity", "id"])  # type: ignore[attr-defined]
    columns = source.read(["label"]).columns
    assert [tuple(columns[name][at] for name in ("kind", "severity", "id")) for at in (0, -1)] == [
        ("fog", 1, "fog/1/cat/0.png"),
        ("snow", 3, "snow/3/dog/9.png"),
    ]


def test_large_images_are_told_of_the_other_constants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", image=np.full((2, 120, 130, 3), 90, np.uint8), label=[0, 1])
    words: dict[str, Any] = {"kind": "contrast", "severity": 1}
    (note,) = oodometer.shift("a.npz", out="b.npz", **words).notes
    assert (
        note == "120 x 130 pixels with constants made for 32: --preset imagenet-c has those for 224"
    )
    assert oodometer.shift("a.npz", out="c.npz", preset="imagenet-c", **words).notes == ()
    assert oodometer.shift("a.npz", out="d.npz", preset="cifar-10-c", **words).notes == ()
