"""Image encoder: a pretrained classifier of images by name or path, asked as it is or fine-tuned to other classes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ...arrays import Array
from ..torch.library import class_names, load_pretrained
from ..torch.library import torch as load_torch
from ..torch.library import transformers as load_transformers
from ..torch.training import TrainingConfig
from .network import ImageClassifier

_TASK = "AutoModelForImageClassification"


@final
class ImageEncoder(ImageClassifier):
    """A Hugging Face classifier of images (ViT, ConvNeXt, ResNet, ...); logits of shape (sample, class).

    Parameters
    ----------
    source : hub name or path of the network and its image processor.
    training, device : how and where to train.

    Images are resized and scaled by the network's own processor. `from_pretrained` takes the network with its head and
    its classes; `fit` gives it a new head for the classes of the data and trains all of it.

    Source: Dosovitskiy et al. (2021) for transformers over images.

    >>> ImageEncoder("a-path").options()
    {'source': 'a-path'}
    """

    kind, arguments = "image-encoder", ("source",)

    def __init__(self, source: str, *, training: TrainingConfig | None = None, device: str | None = None) -> None:
        usual = TrainingConfig(epochs=2, batch_size=32, learning_rate=3e-5, warmup=0.1)
        super().__init__(training=training or usual, device=device)
        self.source = source
        self.processor: Any = None
        self._settings: Any = None  # transformers' configuration of a loaded model

    @classmethod
    def from_pretrained(cls, source: str, *, device: str | None = None) -> Self:
        """A classifier that exists already, asked as it is; class names are those of its configuration.

        Raises `InputError` where there is none, or where it gives no distribution over classes.
        """
        model = cls(source, device=device)
        with _quiet():
            model.processor = load_pretrained("AutoImageProcessor", source, expected="a classifier of images")
        model.net = load_pretrained(_TASK, source, expected="a classifier of images").eval()
        model.classes = class_names(model.net.config, source)
        return model

    def _learn(self, inputs: Any) -> None:
        self._settings = None  # trained again, a loaded model starts where a new one does
        with _quiet():
            self.processor = load_pretrained("AutoImageProcessor", self.source)

    def _build(self) -> Any:
        if self._settings is not None:
            return getattr(load_transformers(), _TASK).from_config(self._settings)
        return load_pretrained(_TASK, self.source, num_labels=len(self.classes), ignore_mismatched_sizes=True)

    def _tensor(self, images: Any, device: str) -> Any:
        with _quiet():
            found = self.processor(list(images), return_tensors="np", input_data_format="channels_last")
        values: Array = np.ascontiguousarray(found["pixel_values"], dtype=np.float32)
        return load_torch().from_numpy(values).to(device)

    def _scores(self, net: Any, tensor: Any) -> Any:
        return net(pixel_values=tensor).logits

    def _write_encoding(self, folder: Path) -> None:
        self.processor.save_pretrained(folder / "processor")
        self.net.config.save_pretrained(folder)

    def _read_encoding(self, folder: Path) -> None:
        with _quiet():
            self.processor = load_pretrained("AutoImageProcessor", str(folder / "processor"))
        self._settings = load_pretrained("AutoConfig", str(folder))


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' advice to install torchvision, which breaks other libraries."""
    log = logging.getLogger("transformers")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
