"""Sent: a model that travels as its path; a worker opens it and keeps it while tasks ask for the same one."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from ..store.artifact_cache import content_of
from .base import Classifier
from .opening import open_classifier
from .torch.library import on_gpu, one_torch_thread

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


def stamp_of(model: Any) -> Any:
    """What tells a model from a later one in its place: the content of its files, or of the modules of its package."""
    path = Path(str(model)).expanduser()
    if not path.exists() and ":" in str(model):
        spec = importlib.util.find_spec(str(model).partition(":")[0].partition(".")[0])
        homes = () if spec is None else spec.submodule_search_locations or ()
        files = [one for home in homes for one in sorted(Path(home).rglob("*.py"))]
        files += [Path(spec.origin)] if spec is not None and spec.origin and not files else []
        return [str(model), *([str(one), content_of(one)] for one in files)]
    return [str(model), content_of(path)]
