"""Sent: a model that travels as its path; a worker opens it and keeps it while tasks ask for the same one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, final

from .base import Classifier
from .opening import open_classifier
from .torch.library import on_gpu, one_torch_thread

__all__ = ["SentModel", "forgetting", "kept_model"]

_kept: dict[str, Classifier] = {}  # one at most


@final
@dataclass(frozen=True)
class SentModel:
    """A model by its path (or ``package.module:name``), what tells it from a later one there, and how it is opened.

    ``options`` are arguments of `open_classifier`.

    >>> SentModel("model", None, {"device": "cpu"}).gpu
    False
    """

    path: str
    stamp: Any
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gpu(self) -> bool:
        """Whether a GPU is used where there is one."""
        return self.options.get("device") != "cpu"

    @property
    def on_gpu_here(self) -> bool:
        """Whether a GPU of this machine would be used."""
        return self.gpu and on_gpu(self.options.get("device"))

    @contextmanager
    def opened(self) -> Iterator[Classifier]:
        """The model, asked by one thread inside."""
        key = repr((self.path, self.stamp, sorted(self.options.items())))
        with kept_model(key, lambda: open_classifier(self.path, **self.options)) as model:
            yield model


@contextmanager
def kept_model(key: str, make: Callable[[], Classifier]) -> Iterator[Classifier]:
    """What ``make`` gave for this very key before, else gives now; one model is kept. Inside, torch has one thread."""
    with one_torch_thread():
        if key not in _kept:
            _kept.clear()
            _kept[key] = make()
        yield _kept[key]


@contextmanager
def forgetting() -> Iterator[None]:
    """Around tasks: a model that was opened in this process does not stay in its memory."""
    try:
        yield
    finally:
        _kept.clear()
