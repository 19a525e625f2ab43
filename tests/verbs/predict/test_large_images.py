"""Large images are decoded a few at a time: a batch of them does not fill the memory, and answers stay the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.cli import main
from oodometer_lab.datasets import reading as base
from oodometer_lab.datasets.images import LateImages
from oodometer_lab.datasets.reading import FolderExamples
from oodometer_lab.models.base import Request
from oodometer_lab.models.image.network import augmented, in_one_size, randaugment
from oodometer_lab.models.outside import FunctionClassifier

from ...snapshots import assert_snapshot

Image = pytest.importorskip("PIL.Image", reason="needs the extra image")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Eight images of two sizes, and one that does not decode."""
    home = tmp_path / "photos"
    home.mkdir()
    rng = np.random.default_rng(0)
    for i in range(8):
        Image.fromarray(rng.integers(0, 256, (40 + 8 * (i % 2), 40, 3), dtype=np.uint8)).save(
            home / f"{i}.png"
        )
    (home / "no.png").write_bytes(b"none")
    return home


def batch(photos: Path) -> Any:
    (found,) = FolderExamples(photos, ("image",)).batches(100, skip=True)
    return found


def brightness(images: Any) -> Any:
    share = np.array([float(np.asarray(one).mean()) / 255 for one in images])
    return np.stack([share, 1 - share], axis=1)


@pytest.mark.parametrize("held", [0, 5_000, 12_000])
def test_what_does_not_fit_is_decoded_when_it_is_asked_for(
    held: int, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, model = batch(photos), FunctionClassifier(brightness)
    request = Request(views=2, seed=3)
    expected = model.ask(usual.data.inputs, request)
    monkeypatch.setattr(base, "HELD", held)
    monkeypatch.setattr("oodometer_lab.models.outside.HELD", 4 * held)
    late = batch(photos)
    assert isinstance(late.data.inputs, LateImages)
    assert (late.skipped, late.data.ids, late.read) == (usual.skipped, usual.data.ids, usual.read)
    for one, other in zip(late.data.inputs, usual.data.inputs, strict=True):
        np.testing.assert_array_equal(one, other)
    found = model.ask(late.data.inputs, request)
    np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    np.testing.assert_array_equal(found.views, expected.views)
    taken = late.data.take([5, 2]).inputs
    np.testing.assert_array_equal(taken[1], usual.data.inputs[2])
    np.testing.assert_array_equal(
        in_one_size(late.data.inputs, (8, 8)), in_one_size(usual.data.inputs, (8, 8))
    )
    for change in (augmented, randaugment):
        for one, other in zip(
            change(late.data.inputs, (1, 2, 3)), change(usual.data.inputs, (1, 2, 3)), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_a_network_asks_one_large_image_after_another(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from oodometer_lab.models import ResNet

    usual = batch(photos).data
    model = ResNet(depth=8, image_size=16)
    model.fit(type(usual)("few", usual.inputs, tuple("ab" * 4), modality="image"))
    monkeypatch.setattr(base, "HELD", 5_000)
    late = batch(photos).data
    expected = model.ask(usual.inputs, Request(views=1))
    found = model.ask(late.inputs, Request(views=1))
    np.testing.assert_allclose(found.logits, expected.logits, atol=1e-5)
    np.testing.assert_array_equal(found.views, expected.views)


def test_more_pixels_than_are_safe_are_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "photos"
    home.mkdir()
    Image.new("RGB", (60, 60)).save(home / "large.png")
    Image.new("RGB", (8, 8)).save(home / "small.png")
    (tmp_path / "large_images.py").write_text(
        "def f(images):\n    return [[0.3, 0.7]] * len(images)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    words = ["predict", "large_images:f", "photos", "--out", "p.csv"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "large.png" in said
    assert_snapshot(said)
    assert main([*words, "--on-error", "skip"]) == 0
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 2


PEAK = """
import resource, sys
from oodometer_lab.datasets import reading as base
base.HELD = 2**25
from oodometer_lab.models import outside
from oodometer_lab.models.outside import FunctionClassifier
from oodometer_lab.datasets.reading import FolderExamples
from pathlib import Path
outside.HELD = 2**25
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
(batch,) = FolderExamples(Path(sys.argv[1]), ("image",)).batches(100)
FunctionClassifier(lambda images: [[0.3, 0.7]] * len(images)).ask(batch.data.inputs)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_a_batch_of_large_images_does_not_fill_the_memory(tmp_path: Path) -> None:
    """40 images of two megapixels are 270 MB of pixels, of which 32 MB are to be there at once."""
    Image.new("L", (1500, 1500)).save(tmp_path / "00.png")
    for i in range(1, 40):
        (tmp_path / f"{i:02d}.png").write_bytes((tmp_path / "00.png").read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert int(done.stdout) < 130
