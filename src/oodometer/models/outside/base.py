"""What the models from outside share: outputs that are checked, classes that are named, nothing that is trained."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ...arrays import Array, as_numpy
from ...datasets import Dataset, Table
from ...datasets.base import Modality
from ...datasets.images import HELD, LateImages
from ...errors import InputError, OodometerError, UsageError, WorkError
from ..base import Answers, Classifier, Progress, Request, only_shift
from ..image.pixels import augmented, check_images
from ..image.randaugment import randaugment
from ..text.views import with_words_dropped

Gives = Literal["logits", "probabilities"]
"""What a model says of each class."""

ROWS, TABLE_ROWS = 256, 65_536  # inputs that are asked at once; rows of a table are small


class OutsideClassifier(Classifier):
    """A model that exists already, asked batch by batch in the order of the inputs.

    Parameters
    ----------
    gives : "logits" or "probabilities".
    classes : class names in the order of its outputs; None counts from 0 once it has answered.
    name : how it is called in messages.
    """

    kind: ClassVar[str] = "outside"
    reads: tuple[Modality, ...] = ("text", "pair", "image", "table")

    def __init__(self, *, gives: Gives, classes: Sequence[int | str] | None, name: str) -> None:
        if gives not in ("logits", "probabilities"):
            raise UsageError(f"expected gives='logits' or 'probabilities', got {gives!r}")
        self.gives, self.name = gives, name
        self._named = None if classes is None else tuple(classes)
        self.classes = self._named or ()

    @abstractmethod
    def _outputs(self, inputs: Any) -> Any:
        """What the model says of some inputs: an array of shape (sample, class)."""

    def options(self) -> dict[str, Any]:
        """What it is called, and what it gives."""
        return {"name": self.name, "gives": self.gives, "classes": list(self.classes)}

    def ask(self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None) -> Answers:
        """What the model says; views are moved images or texts with words left out.

        Raises `InputError` where an output has another shape, is no number or no distribution; `UsageError` for
        features and dropout, which only networks of the house have.
        """
        request = request or Request()
        if request.features or request.dropout:
            raise UsageError(f"{self.name} gives outputs alone; leave features and dropout out")
        given = self._inputs(inputs)
        found = self._all(given, progress)
        views = [
            self._all(self._view(given, (request.seed, view, request.first_row), request.augmentation), None).argmax(1)
            for view in range(request.views)
        ]
        seen = np.stack(views) if views else None
        if self.gives == "logits":
            return Answers(self.classes, logits=found, views=seen)
        return Answers(self.classes, probabilities=found, views=seen)

    def _all(self, inputs: Any, progress: Progress | None) -> Array:
        parts, rows, stop = [], len(inputs), 0
        most = TABLE_ROWS if isinstance(inputs, Table) else ROWS
        some = (inputs[start : start + most] for start in range(0, rows, most))
        if isinstance(inputs, LateImages):
            some = (check_images(list(late)) for part in some for late in part.parts(HELD // 4))
        for given in some:
            start, stop = stop, stop + len(given)
            try:
                outputs = self._outputs(given)
            except OodometerError:
                raise
            except (Exception, SystemExit) as error:  # somebody else's code, which is not to end the program either
                said = " ".join(str(error).split())[:300]
                raise WorkError(f"{self.name} failed: {type(error).__name__}: {said}") from error
            parts.append(self._checked_outputs(outputs, stop - start))
            if progress is not None:
                progress(stop, rows)
        return np.concatenate(parts)

    def _checked_outputs(self, outputs: Any, rows: int) -> Array:
        try:
            found = np.asarray(as_numpy(_plain(outputs)), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._wrong(rows, type(outputs).__name__) from error
        if found.ndim != 2 or len(found) != rows or found.shape[1] < 2:
            raise self._wrong(rows, f"shape {found.shape}")
        if not self.classes:
            self.classes = tuple(range(found.shape[1]))
        if found.shape[1] != len(self.classes):
            raise InputError(
                f"an output for each of the classes {', '.join(map(str, self.classes[:8]))}",
                got=f"{found.shape[1]} columns",
                remedy="name the classes with --classes a,b,c",
                file=self.name,
            )
        if not np.isfinite(found).all():
            row = int(np.argmin(np.isfinite(found).all(1)))
            raise InputError(
                "numbers", got=str(found[row].tolist())[:60], file=self.name, row=row + 1, remedy="mend the model"
            )
        if self.gives == "probabilities":
            wrong = (found < -1e-6).any(1) | (np.abs(found.sum(1) - 1) > 1e-3)
            if wrong.any():
                row = int(wrong.argmax())
                raise InputError(
                    "probabilities that sum to 1 (±1e-3)",
                    got=f"{found[row].sum():.4g} in row {row + 1}",
                    remedy="if these are logits say --gives logits",
                    file=self.name,
                )
        return found.astype(np.float32) if self.gives == "logits" else found

    def _wrong(self, rows: int, got: str) -> InputError:
        return InputError(
            f"an array of shape ({rows}, classes), one row an input",
            got=got,
            remedy="return probabilities or logits of at least two classes",
            file=self.name,
        )

    def _view(self, inputs: Any, seed: Sequence[int], augmentation: str) -> Any:
        if isinstance(inputs, Table):
            raise UsageError("views are of images and texts; leave them out for a table")
        if isinstance(inputs[0], (str, tuple)):
            only_shift(augmentation, "texts")
            return with_words_dropped(inputs, seed)
        return randaugment(inputs, seed) if augmentation == "randaugment" else augmented(inputs, seed)

    def _checked(self, inputs: Any) -> Any:
        if isinstance(inputs, Mapping):
            return Table(inputs)
        if isinstance(inputs, np.ndarray) and inputs.ndim == 2:
            return Table({f"x{i}": column for i, column in enumerate(inputs.T)})
        if isinstance(inputs, Table) or (len(inputs) and isinstance(inputs[0], (str, tuple))):
            return inputs
        return check_images(inputs)

    def _fit(
        self,
        data: Dataset,
        truth: Array,
        dev: Any,
        checkpoint: str | os.PathLike[str] | None,
        progress: Progress | None,
    ) -> None:
        raise UsageError(f"{self.name} was made elsewhere and is not trained here")

    @property
    def parameters(self) -> int:
        """Not known: 0."""
        return 0

    def _fitted(self) -> bool:
        return True

    def _write(self, folder: Path) -> dict[str, Any]:
        raise UsageError(f"{self.name} was made elsewhere and is not saved here; keep it where it is")

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        raise UsageError("a model from outside is not loaded from a folder; name it again")


def _plain(outputs: Any) -> Any:
    """A tensor of torch as an array, wherever it lies."""
    if hasattr(outputs, "logits"):  # the output records of transformers
        outputs = outputs.logits
    if hasattr(outputs, "detach"):
        outputs = outputs.detach().float().cpu()
    return outputs
