"""Models from outside, made elsewhere and only asked: functions, estimators, torch modules, ONNX files."""

from __future__ import annotations

import json
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, Self, final

import numpy as np

from oodometer.arrays import Array, as_numpy
from oodometer.errors import InputError, OodometerError, UsageError, WorkError, needed

from ..datasets import Dataset, Table
from ..datasets.base import Modality
from ..datasets.images import HELD, LateImages
from .base import Answers, Classifier, Folder, Progress, Request, only_shift
from .image.network import changed_view, check_images, in_one_size
from .text.network import counted_ids, with_words_dropped
from .torch.batches import padded, sorted_batches
from .torch.library import choose_device, class_names, load_pretrained
from .torch.library import torch as load_torch

Gives = Literal["logits", "probabilities"]
"""What a model says of each class."""

ROWS, TABLE_ROWS = 256, 65_536  # inputs that are asked at once; rows of a table are small


class OutsideClassifier(Classifier):
    """A model made elsewhere, asked batch by batch; it ``gives`` "logits" or "probabilities" of its ``classes``."""

    kind: ClassVar[str] = "outside"
    arguments = ("name", "gives", "classes")
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

    def ask(
        self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None
    ) -> Answers:
        """What the model says; views are moved images or texts with words left out."""
        request = request or Request()
        if request.features or request.dropout:
            raise UsageError(f"{self.name} gives outputs alone; leave features and dropout out")
        samples = self._inputs(inputs)
        outputs = self._all(samples, progress)
        views = self._views(samples, request, lambda inputs: self._all(inputs, None))
        logits, probabilities = (outputs, None) if self.gives == "logits" else (None, outputs)
        return Answers(self.classes, logits, probabilities, views=views)

    def _all(self, inputs: Any, progress: Progress | None) -> Array:
        parts, rows, stop = [], len(inputs), 0
        limit = TABLE_ROWS if isinstance(inputs, Table) else ROWS
        batches = (inputs[start : start + limit] for start in range(0, rows, limit))
        if isinstance(inputs, LateImages):
            batches = (
                check_images(list(late)) for part in batches for late in part.parts(HELD // 4)
            )
        for batch in batches:
            start, stop = stop, stop + len(batch)
            try:
                outputs = self._outputs(batch)
            except OodometerError:
                raise
            # somebody else's code, which is not to end the program either
            except (Exception, SystemExit) as error:
                why = " ".join(str(error).split())[:300]
                raise WorkError(f"{self.name} failed: {type(error).__name__}: {why}") from error
            parts.append(self._checked_outputs(outputs, stop - start))
            if progress is not None:
                progress(stop, rows)
        return np.concatenate(parts)

    def _checked_outputs(self, outputs: Any, rows: int) -> Array:
        expected = f"an array of shape ({rows}, classes), one row an input"
        remedy = "return probabilities or logits of at least two classes"
        try:
            plain = getattr(outputs, "logits", outputs)  # of the output records of transformers
            plain = plain.detach().float().cpu() if hasattr(plain, "detach") else plain
            array = np.asarray(as_numpy(plain), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                expected, got=type(outputs).__name__, remedy=remedy, file=self.name
            ) from error
        if array.ndim != 2 or len(array) != rows or array.shape[1] < 2:
            raise InputError(expected, got=f"shape {array.shape}", remedy=remedy, file=self.name)
        if not self.classes:
            self.classes = tuple(range(array.shape[1]))
        if array.shape[1] != len(self.classes):
            expected = f"an output for each of the classes {', '.join(map(str, self.classes[:8]))}"
            got = f"{array.shape[1]} columns"
            raise InputError(
                expected, got=got, remedy="name the classes with --classes a,b,c", file=self.name
            )
        if not np.isfinite(array).all():
            row = int(np.argmin(np.isfinite(array).all(1)))
            got = str(array[row].tolist())[:60]
            raise InputError(
                "numbers", got=got, file=self.name, row=row + 1, remedy="mend the model"
            )
        if self.gives == "probabilities":
            wrong = (array < -1e-6).any(1) | (np.abs(array.sum(1) - 1) > 1e-3)
            if wrong.any():
                row = int(wrong.argmax())
                got, remedy = (
                    f"{array[row].sum():.4g} in row {row + 1}",
                    "if these are logits say --gives logits",
                )
                raise InputError(
                    "probabilities that sum to 1 (±1e-3)", got=got, remedy=remedy, file=self.name
                )
        return array.astype(np.float32) if self.gives == "logits" else array

    def _view(self, inputs: Any, seed: Sequence[int], augmentation: str) -> Any:
        if isinstance(inputs, Table):
            raise UsageError("views are of images and texts; leave them out for a table")
        if isinstance(inputs[0], (str, tuple)):
            only_shift(augmentation, "texts")
            return with_words_dropped(inputs, seed)
        return changed_view(inputs, seed, augmentation)

    def _checked(self, inputs: Any) -> Any:
        if isinstance(inputs, Mapping):
            return Table(inputs)
        if isinstance(inputs, np.ndarray) and inputs.ndim == 2:
            return Table({f"x{i}": column for i, column in enumerate(inputs.T)})
        if isinstance(inputs, Table) or (len(inputs) and isinstance(inputs[0], (str, tuple))):
            return inputs
        return check_images(inputs)

    def _fit(
        self, data: Dataset, truth: Array, dev: Any, checkpoint: Folder, progress: Progress | None
    ) -> None:
        raise UsageError(f"{self.name} was made elsewhere and is not trained here")

    @property
    def parameters(self) -> int:
        """Not known: 0."""
        return 0

    def _write(self, folder: Path) -> dict[str, Any]:
        raise UsageError(
            f"{self.name} was made elsewhere and is not saved here; keep it where it is"
        )

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        raise UsageError("a model from outside is not loaded from a folder; name it again")


@final
class FunctionClassifier(OutsideClassifier):
    """A function from a batch (a list of texts or pairs, uint8 images, named columns) to an array (sample, class)."""

    kind = "function"

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        gives: Gives = "probabilities",
        classes: Sequence[int | str] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            gives=gives,
            classes=classes,
            name=name or str(getattr(function, "__name__", "function")),
        )
        self.function = function

    def _outputs(self, inputs: Any) -> Any:
        if isinstance(inputs, Table):  # somebody else's code knows lists, arrays, mappings
            return self.function(inputs.columns)
        return self.function(list(inputs) if isinstance(inputs, tuple) else inputs)


@final
class EstimatorClassifier(OutsideClassifier):
    """A fitted classifier with ``predict_proba`` and ``classes_``; it gets tables by its ``feature_names_in_``."""

    kind = "estimator"
    reads = ("table", "text", "image")

    def __init__(
        self, estimator: Any, *, classes: Sequence[int | str] | None = None, name: str | None = None
    ) -> None:
        called = name or type(estimator).__name__
        if not hasattr(estimator, "predict_proba"):
            raise UsageError(
                f"{called} gives no probabilities (predict_proba); calibrate it or use another"
            )
        try:
            class_names = [_class_name(label) for label in estimator.classes_]
        except AttributeError:
            raise UsageError(f"{called} is not fitted; give one that is") from None
        super().__init__(gives="probabilities", classes=classes or class_names, name=called)
        self.estimator = estimator
        self.columns = [str(column) for column in getattr(estimator, "feature_names_in_", ())]
        self.by_position = not self.columns

    def _outputs(self, inputs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return self.estimator.predict_proba(self._table(inputs))

    def _table(self, inputs: Any) -> Any:
        if not isinstance(inputs, Table):
            if isinstance(inputs, np.ndarray) and inputs.ndim > 2:
                return inputs.reshape(len(inputs), -1)
            return list(inputs) if isinstance(inputs, tuple) else inputs
        columns = inputs.columns
        missing = [column for column in self.columns if column not in columns]
        if missing:
            expected = f"the columns that the model was fitted on, {', '.join(self.columns[:8])}"
            got = f"no {missing[0]!r}; there are {', '.join(list(columns)[:12])}"
            raise InputError(
                expected,
                got=got,
                remedy="rename the columns, or name them with --input",
                file=self.name,
            )
        names = self.columns or list(columns)
        if all(columns[name].dtype.kind in "bifu" for name in names):
            return np.stack([np.asarray(columns[name], dtype=np.float64) for name in names], axis=1)
        try:
            import pandas as pd
        except ImportError as error:
            needed = "a table with columns that are no numbers is handed to an estimator as a pandas frame"
            raise WorkError(f"{needed}; pip install pandas") from error
        return pd.DataFrame({name: columns[name] for name in names})


def _columns(table: Table) -> Array:
    return np.stack([np.asarray(side, dtype=np.float32) for side in table.columns.values()], axis=1)


def _class_name(name: Any) -> int | str:
    """A class as a name: a truth value or a whole number is an integer, whatever type a frame gave it."""
    plain = name.item() if hasattr(name, "item") else name
    if isinstance(plain, (bool, int)) or (isinstance(plain, float) and plain.is_integer()):
        return int(plain)
    return str(plain)


@final
class ModuleClassifier(OutsideClassifier):
    """A torch module that takes one float tensor: images (sample, 3, height, width) in [0, 1], or a table."""

    kind = "module"
    by_position = True
    reads = ("image", "table")

    def __init__(
        self,
        module: Any,
        *,
        gives: Gives = "logits",
        classes: Sequence[int | str] | None = None,
        name: str | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(gives=gives, classes=classes, name=name or type(module).__name__)
        self.device = choose_device(device)
        self.module = module.to(self.device).eval()

    def _outputs(self, inputs: Any) -> Any:
        torch = load_torch()
        with torch.inference_mode():
            return self.module(torch.from_numpy(self._array(inputs)).to(self.device))

    def _array(self, inputs: Any) -> Any:
        if isinstance(inputs, Table):
            return _columns(inputs)
        if not isinstance(inputs, np.ndarray):
            raise UsageError(
                "a torch module takes images of one size; resize them, or give a function"
            )
        if inputs.ndim == 2:
            return inputs.astype(np.float32)
        return np.ascontiguousarray(inputs.transpose(0, 3, 1, 2), dtype=np.float32) / 255

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return sum(int(parameter.numel()) for parameter in self.module.parameters())


BATCH = 32


@final
class OnnxClassifier(OutsideClassifier):
    """A classifier in an ONNX file, over tokens (``input_ids``, by the tokenizer in its folder), images (four axes, by
    the processor there, else floats in [0, 1] resized to the sides that the file states) or a table, told by its
    inputs. An output ``probabilities`` gives those, else ``logits`` or the first one; ``config.json`` has names.
    """

    kind = "onnx"
    by_position = True

    def __init__(
        self, path: str, *, gives: Gives | None = None, classes: Sequence[int | str] | None = None
    ) -> None:
        onnxruntime = needed("onnxruntime", "an ONNX file", extra="onnx")
        if not Path(path).is_file():
            raise InputError("an ONNX file", got="no such file", remedy="check the path", file=path)
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        try:
            self.session = onnxruntime.InferenceSession(
                path, settings, providers=onnxruntime.get_available_providers()
            )
        except Exception as error:  # its errors are classes of a binding
            got = " ".join(str(error).split())[:120]
            raise InputError(
                "an ONNX file", got=got, remedy="export it again", file=path
            ) from error
        self.inputs = {node.name: node for node in self.session.get_inputs()}
        names = [node.name for node in self.session.get_outputs()]
        self.output = next(
            (output for output in ("logits", "probabilities") if output in names), names[0]
        )
        stated: Gives = "probabilities" if self.output == "probabilities" else "logits"
        self.folder = Path(path).parent
        super().__init__(
            gives=gives or stated, classes=classes or self._class_names(), name=Path(path).name
        )
        axes = len(next(iter(self.inputs.values())).shape) if len(self.inputs) == 1 else 0
        if "input_ids" in self.inputs:
            self.reads = ("text", "pair")
        elif axes in (2, 4):
            self.reads = ("image",) if axes == 4 else ("table",)
        else:
            got = "inputs " + ", ".join(
                f"{name} {node.shape}" for name, node in self.inputs.items()
            )
            expected = "an ONNX classifier over input_ids, images or a table"
            remedy = "export it with one of them, or give a function"
            raise InputError(expected, got=got, remedy=remedy, file=self.name)
        self._tokenizer: Any = None
        self._processor: Any = None

    def _class_names(self) -> tuple[int | str, ...] | None:
        about = self.folder / "config.json"
        try:
            config = json.loads(about.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(config, dict) or "id2label" not in config:
            return None
        return class_names(SimpleNamespace(**config), str(about))

    def _outputs(self, inputs: Any) -> Any:
        if "input_ids" in self.inputs:
            texts = list(inputs)
            if self._tokenizer is None:
                self._tokenizer = load_pretrained(
                    "AutoTokenizer", str(self.folder), expected="a tokenizer"
                )
            room = min(int(self._tokenizer.model_max_length), 512)
            ids, self.truncated = counted_ids(self._tokenizer, texts, room, end=True)
            out: Array | None = None
            for batch in sorted_batches(ids.lengths, BATCH):
                matrix, real = padded(ids, batch, int(self._tokenizer.pad_token_id or 0))
                mark = matrix == (
                    self._tokenizer.sep_token_id if self._tokenizer.sep_token_id is not None else -1
                )
                feeds = {"input_ids": matrix, "attention_mask": real.astype(np.int64)}
                feeds["token_type_ids"] = (
                    np.minimum(mark.cumsum(1) - mark, 1).astype(np.int64) * real
                )
                outputs = self._run({name: feeds[name] for name in self.inputs if name in feeds})
                out = (
                    np.empty((len(texts), outputs.shape[1]), dtype=outputs.dtype)
                    if out is None
                    else out
                )
                out[batch] = outputs
            assert out is not None
            return out
        name, about = next(iter(self.inputs.items()))
        return self._run({name: self._array(inputs, about)})

    def _array(self, inputs: Any, about: Any) -> Array:
        if isinstance(inputs, Table):
            columns = _columns(inputs)
        elif len(about.shape) == 2:
            columns = np.asarray(inputs, dtype=np.float32)
        else:
            if (self.folder / "preprocessor_config.json").is_file():
                if self._processor is None:
                    self._processor = load_pretrained("AutoImageProcessor", str(self.folder))
                processed = self._processor(list(inputs), return_tensors="np")["pixel_values"]
                return np.asarray(processed, dtype=np.float32)
            last = about.shape[3] == 3
            sides = [
                side
                for side in (about.shape[1:3] if last else about.shape[2:4])
                if isinstance(side, int)
            ]
            pixels = in_one_size(inputs, (sides[0], sides[-1])) if sides else inputs
            array = np.asarray(pixels, dtype=np.float32) / 255
            return array if last else np.ascontiguousarray(array.transpose(0, 3, 1, 2))
        width = about.shape[1]
        if isinstance(width, int) and columns.shape[1] != width:
            remedy = "name the columns in their order with --input"
            raise InputError(
                f"{width} columns", got=str(columns.shape[1]), file=self.name, remedy=remedy
            )
        return columns

    def _run(self, feeds: Mapping[str, Array]) -> Array:
        try:
            outputs = self.session.run([self.output], dict(feeds))[0]
        except Exception as error:
            raise WorkError(f"{self.name} failed: {' '.join(str(error).split())[:300]}") from error
        if not isinstance(outputs, np.ndarray):
            remedy = "export it without ZipMap (options={'zipmap': False})"
            raise InputError(
                "an output that is an array",
                got=type(outputs).__name__,
                file=self.name,
                remedy=remedy,
            )
        return outputs
