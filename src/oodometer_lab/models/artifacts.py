"""Artifacts: how a live model is described, saved and loaded, which kinds there are, and finished trainings kept."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError, UsageError
from oodometer.store import write_atomic
from oodometer.store.artifact_cache import (
    checksum_of_files,
    made_anew,
    read_artifact,
    write_artifact,
)
from oodometer.store.atomic import whole_folder

DESCRIPTION, WEIGHTS = "oodometer_model.json", "weights.safetensors"
TRAINING = "training.json"
_PACKAGE = __name__.partition(".")[0]

KINDS: dict[str, str] = {
    "bag-of-words": "models.text.words:BagOfWords",
    "convolution": "models.text.words:Convolution",
    "embedding-sum": "models.text.words:EmbeddingSum",
    "recurrent": "models.text.words:Recurrent",
    "encoder": "models.text.encoder:Encoder",
    "token-encoder": "models.text.encoder:TokenEncoder",
    "frozen-encoder": "models.text.frozen_encoder:FrozenEncoder",
    "ensemble": "models.ensemble:Ensemble",
    "resnet": "models.image.network:ResNet",
    "image-encoder": "models.image.network:ImageEncoder",
    "frozen-ranker": "models.response_ranking:FrozenRanker",
    "response-ranker": "models.response_ranking:ResponseRanker",
    "monte-carlo-dropout": "models.uncertainty:MonteCarloDropout",
    "temperature-scaling": "models.uncertainty:TemperatureScaling",
    "encoder-decoder": "models.seq2seq.encoder_decoder:EncoderDecoder",
}
"""Kind of model -> the module and class that holds it; a kind is imported when it is first asked for.

Floors above add kinds of their own: `oodometer_lab.discriminators.base` does.
"""


class Artifact(ABC):
    """What can be saved to a folder: weights as safetensors, the rest as JSON, the description last; no pickle."""

    kind: ClassVar[str]
    """Name of the kind of model, unique; it is written into a saved folder."""

    arguments: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that are arguments of the constructor."""

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor, ready for JSON: they name a training and let `load` build the model."""
        return {name: getattr(self, name) for name in self.arguments}

    @abstractmethod
    def _write(self, folder: Path) -> dict[str, Any]:
        """Write what was learnt; returns the further facts that `_read` needs. `UsageError` before `fit`."""

    @classmethod
    @abstractmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        """The model in a folder, whose description is ``about``."""

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the model to a folder. `UsageError` before `fit`."""
        return self._save(Path(folder))

    def _save(self, folder: Path, **facts: Any) -> Path:
        self._must_be_fitted()
        folder.mkdir(parents=True, exist_ok=True)
        about = {"kind": self.kind, "options": self.options(), **self._write(folder), **facts}
        write_atomic(folder / DESCRIPTION, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        return folder

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote. Raises `InputError` where the folder holds something else."""
        path = Path(folder)
        return cls._read(path, read_description(path, cls.kind))

    def _fitted(self) -> bool:
        """Whether the model may be asked."""
        return True

    def _must_be_fitted(self) -> None:
        if not self._fitted():
            raise UsageError(
                f"the {self.kind} model has not been trained; call fit first or load a saved one"
            )


def described(folder: str | os.PathLike[str]) -> Path | None:
    """The folder, if it holds a saved model; None else."""
    path = Path(folder).expanduser()
    return path if (path / DESCRIPTION).is_file() else None


def read_description(folder: Path, kind: str | None = None) -> dict[str, Any]:
    """What a saved folder says about its model; `InputError` where it is none, or none of the ``kind``."""
    path = folder / DESCRIPTION
    got = "another content"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        got = "no such file"
    except ValueError:
        got = "no JSON"
    else:
        if isinstance(about, dict) and "kind" in about and isinstance(about.get("options"), dict):
            if kind in (None, about["kind"]):
                return about
            got = f"one of the kind {about['kind']!r}"
    expected = "a model saved by oodometer" if kind is None else f"a saved {kind} model"
    raise InputError(expected, got=got, remedy="name the folder that save wrote", file=str(path))


def kind_named(name: str, family: type[Any] | None = None) -> type[Any] | None:
    """The class of a kind; None where there is no such kind or it is none of the ``family``."""
    if name not in KINDS:
        return None
    module, _, member = KINDS[name].partition(":")
    cls: type[Any] = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), member)
    return cls if family is None or issubclass(cls, family) else None


def load_artifact(folder: str | os.PathLike[str], family: type[Any], what: str) -> Any:
    """Read a saved model of any kind of a ``family``; `InputError` where the folder holds none."""
    path = Path(folder)
    name = str(read_description(path)["kind"])
    kind = kind_named(name, family)
    if kind is None:
        remedy = "name another folder or update oodometer"
        raise InputError(
            f"{what} of a kind that this version knows",
            got=repr(name),
            file=str(folder),
            remedy=remedy,
        )
    return kind.load(path)


def fingerprint(settings: Mapping[str, Any], *arrays: Array) -> str:
    """A short name of settings and data: a checkpoint of another training is not taken for this one's."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:24]


def keep(folder: Path, training: str, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a new folder, put the name of the finished training into it, and move it to ``folder``."""
    with whole_folder(folder) as part:
        write(part)
        names = sorted(str(file.relative_to(part)) for file in part.rglob("*") if file.is_file())
        write_artifact(part / TRAINING, "training", [training, checksum_of_files(part, names)])


def trained_as(folder: Path) -> str | None:
    """The name of the training that a folder comes from; None where there is none, or where a file of it is damaged."""
    kept_training = read_artifact(folder / TRAINING, "training")
    if kept_training is None:
        return None
    training, files = kept_training
    try:
        if checksum_of_files(folder, files) == files:
            return str(training)
    except OSError:
        pass
    made_anew(folder, "a file of the finished training is damaged or gone")
    return None
