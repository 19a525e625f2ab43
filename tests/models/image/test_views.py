"""Views by RandAugment: asked of models of images from wherever, refused where there is no image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import predict
from oodometer.cli import main
from oodometer.errors import UsageError
from oodometer_lab.datasets import Dataset
from oodometer_lab.models import BagOfWords, FrozenEncoder, ResNet
from oodometer_lab.models.base import Request
from oodometer_lab.models.image.network import randaugment
from oodometer_lab.models.opening import open_classifier
from oodometer_lab.models.torch.training import TrainingConfig

from ...snapshots import raises_snapshot

PIXELS = np.random.default_rng(0).integers(256, size=(30, 12, 12, 3), dtype=np.uint8)


def by_corner(images: Any) -> Any:
    """Probabilities by the first pixel, so that nearly every change is seen."""
    bright = np.array([one[0, 0, 0] / 255 for one in images])
    return np.stack([1 - bright, bright], 1)


def test_a_model_is_asked_about_the_changed_images() -> None:
    model = open_classifier(by_corner)
    found = model.ask(
        PIXELS, Request(views=3, seed=4, first_row=10, augmentation="randaugment")
    ).views
    wanted = [by_corner(randaugment(PIXELS, (4, view, 10))).argmax(1) for view in range(3)]
    np.testing.assert_array_equal(found, wanted)
    shifted = model.ask(PIXELS, Request(views=3, seed=4, first_row=10)).views
    assert (shifted != found).any()


def test_a_network_is_asked_about_the_changed_images(torch: Any) -> None:
    """Its views are its classes of what `randaugment` makes of the images, however they are batched."""
    targets = tuple(
        (PIXELS[:, :6].mean((1, 2, 3)) > PIXELS[:, 6:].mean((1, 2, 3))).astype(int).tolist()
    )
    quick = TrainingConfig(epochs=2, batch_size=8, learning_rate=5e-3)
    model = ResNet(width=8, image_size=12, training=quick).fit(
        Dataset("noise", PIXELS, targets, modality="image")
    )
    found = model.ask(PIXELS, Request(views=3, seed=4, augmentation="randaugment")).views
    wanted = [model.logits(randaugment(PIXELS, (4, view, 0))).argmax(1) for view in range(3)]
    np.testing.assert_array_equal(found, wanted)
    late = model.ask(
        PIXELS[11:], Request(views=3, seed=4, first_row=11, augmentation="randaugment")
    ).views
    np.testing.assert_array_equal(late, np.array(wanted)[:, 11:])
    assert (model.ask(PIXELS, Request(views=3, seed=4)).views != found).any()


def test_a_network_of_texts_refuses_it(torch: Any, reviews: Any) -> None:
    model = BagOfWords(training=TrainingConfig(epochs=1)).fit(reviews[0][:40], reviews[1][:40])
    with raises_snapshot(UsageError):
        model.ask(["a"], Request(views=2, augmentation="randaugment"))


def test_only_images_are_changed_so(tiny_encoder: Path, reviews: Any) -> None:
    wanted = Request(views=2, augmentation="randaugment")
    words = "the augmentation randaugment is of images; leave it out for texts"
    with pytest.raises(UsageError, match=words):
        open_classifier(lambda texts: np.full((len(texts), 2), 0.5)).ask(["a", "b"], wanted)
    with pytest.raises(UsageError, match=words):
        FrozenEncoder(str(tiny_encoder), max_length=16).fit(reviews[0][:40], reviews[1][:40]).ask(
            ["a"], wanted
        )
    with raises_snapshot(UsageError):
        Request(views=2, augmentation="mixup")
    data = {"text": ["a", "b"], "label": [0, 1]}
    with pytest.raises(UsageError, match=words):
        predict(
            lambda texts: np.full((len(texts), 2), 0.5), data, views=2, augmentation="randaugment"
        )
    table = {"a": [0.1, 0.2], "label": [0, 1]}
    with raises_snapshot(UsageError):
        predict(
            lambda rows: np.full((len(rows), 2), 0.5),
            table,
            inputs=["a"],
            views=2,
            augmentation="randaugment",
        )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with images in an NPZ file and a module with a model."""
    np.savez(tmp_path / "images.npz", image=PIXELS, label=(PIXELS[:, 0, 0, 0] > 127).astype(int))
    (tmp_path / "cornered.py").write_text(
        "import numpy as np\n\ndef model(images):\n"
        "    bright = np.array([one[0, 0, 0] / 255 for one in images])\n"
        "    return np.stack([1 - bright, bright], 1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_predict_asks_by_randaugment(home: Path) -> None:
    from oodometer.store import read_predictions

    views: Any = {"views": 3, "seed": 4, "out": "out.parquet"}
    predict("cornered:model", "images.npz", augmentation="randaugment", batch_rows=7, **views)
    found = read_predictions(home / "out.parquet").views
    wanted = [by_corner(randaugment(PIXELS, (4, view, 0))).argmax(1) for view in range(3)]
    np.testing.assert_array_equal(found, wanted)
    assert (
        main(
            [
                "predict",
                "cornered:model",
                "images.npz",
                "--views",
                "3",
                "--seed",
                "4",
                "--out",
                "out.parquet",
            ]
        )
        == 0
    )
    assert (read_predictions(home / "out.parquet").views != found).any()


@pytest.mark.parametrize(
    "more",
    [
        {"views": 2, "augmentation": "mixup"},
        {"augmentation": "randaugment"},
    ],
)
def test_bad_use_is_one_line(home: Path, more: dict[str, Any]) -> None:
    with raises_snapshot(UsageError):
        predict("cornered:model", "images.npz", out="out.parquet", **more)
    assert not (home / "out.parquet").exists()


def test_the_published_policy_is_an_augmentation_of_the_shell(home: Path) -> None:
    """Its views are those of the policy that `test_randaugment` holds against another implementation."""
    from oodometer.store import read_predictions

    views = ["--views", "4", "--augmentation", "randaugment-published", "--seed", "3"]
    call = ["predict", "cornered:model", "images.npz", "--out", "out.parquet", *views]
    assert main(call) == 0
    found = read_predictions(home / "out.parquet").views
    wanted = [
        by_corner(randaugment(PIXELS, (3, view, 0), policy="timm")).argmax(1) for view in range(4)
    ]
    np.testing.assert_array_equal(found, wanted)
    increasing = [by_corner(randaugment(PIXELS, (3, view, 0))).argmax(1) for view in range(4)]
    assert (found != np.array(increasing)).any()
