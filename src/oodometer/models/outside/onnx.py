"""ONNX: a classifier in an ONNX file, run by onnxruntime; a tokenizer or image processor beside it is used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...datasets import Table
from ...errors import InputError, MissingExtraError, WorkError
from ..hub import class_names, load_pretrained
from ..image.pixels import in_one_size
from ..text.truncation import counted_ids
from ..torch.batches import padded, sorted_batches
from .base import Gives, OutsideClassifier

BATCH = 32


@final
class OnnxClassifier(OutsideClassifier):
    """A classifier in an ONNX file, over tokens, images or a table of numbers, told by its inputs.

    With an input ``input_ids`` it reads texts, by the tokenizer in the file's folder. With one input of four axes it
    reads images, by the image processor in the folder, else as float in [0, 1], resized to the sides that the file
    states. With one input of two axes it reads a table. An output called ``probabilities`` gives those, else the output
    ``logits``, else the first one, are logits. Class names stand in ``config.json`` in the folder (``id2label``).

    Parameters
    ----------
    path : the file.
    gives, classes : see `OutsideClassifier`; by default as the file says.

    Raises `InputError` for a file that is none, `MissingExtraError` without onnxruntime.
    """

    kind = "onnx"
    by_position = True

    def __init__(self, path: str, *, gives: Gives | None = None, classes: Sequence[int | str] | None = None) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError("an ONNX file", "onnxruntime", extra="onnx") from error
        if not Path(path).is_file():
            raise InputError("an ONNX file", got="no such file", remedy="check the path", file=path)
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        try:
            self.session = onnxruntime.InferenceSession(path, settings, providers=onnxruntime.get_available_providers())
        except Exception as error:  # its errors are classes of a binding
            raise InputError(
                "an ONNX file", got=" ".join(str(error).split())[:120], remedy="export it again", file=path
            ) from error
        self.inputs = {one.name: one for one in self.session.get_inputs()}
        names = [one.name for one in self.session.get_outputs()]
        usual = next((one for one in ("logits", "probabilities") if one in names), names[0])
        self.output = usual
        stated: Gives = "probabilities" if usual == "probabilities" else "logits"
        self.folder = Path(path).parent
        super().__init__(gives=gives or stated, classes=classes or self._class_names(), name=Path(path).name)
        self.reads = self._modalities()
        self._tokenizer: Any = None
        self._processor: Any = None

    def _class_names(self) -> tuple[int | str, ...] | None:
        about = self.folder / "config.json"
        if not about.is_file():
            return None
        try:
            found = json.loads(about.read_text(encoding="utf-8"))
        except ValueError:
            return None
        if not isinstance(found, dict) or "id2label" not in found:
            return None
        from types import SimpleNamespace

        return class_names(SimpleNamespace(**found), str(about))

    def _modalities(self) -> tuple[Any, ...]:
        if "input_ids" in self.inputs:
            return ("text", "pair")
        if len(self.inputs) == 1:
            axes = len(next(iter(self.inputs.values())).shape)
            if axes in (2, 4):
                return ("image",) if axes == 4 else ("table",)
        names = ", ".join(f"{name} {one.shape}" for name, one in self.inputs.items())
        raise InputError(
            "an ONNX classifier over input_ids, images or a table",
            got=f"inputs {names}",
            remedy="export it with one of them, or give a function",
            file=self.name,
        )

    def _outputs(self, inputs: Any) -> Any:
        if "input_ids" in self.inputs:
            return self._of_texts(list(inputs))
        name, about = next(iter(self.inputs.items()))
        return self._run({name: self._array(inputs, about)})

    def _of_texts(self, texts: list[Any]) -> Array:
        if self._tokenizer is None:
            self._tokenizer = load_pretrained("AutoTokenizer", str(self.folder), expected="a tokenizer")
        room = min(int(self._tokenizer.model_max_length), 512)
        ids, self.truncated = counted_ids(self._tokenizer, texts, room, end=True)
        out: Array | None = None
        for batch in sorted_batches(ids.lengths, BATCH):
            matrix, real = padded(ids, batch, int(self._tokenizer.pad_token_id or 0))
            mark = matrix == (self._tokenizer.sep_token_id if self._tokenizer.sep_token_id is not None else -1)
            known = {
                "input_ids": matrix,
                "attention_mask": real.astype(np.int64),
                "token_type_ids": np.minimum(mark.cumsum(1) - mark, 1).astype(np.int64) * real,
            }
            found = self._run({name: known[name] for name in self.inputs if name in known})
            out = np.empty((len(texts), found.shape[1]), dtype=found.dtype) if out is None else out
            out[batch] = found
        assert out is not None
        return out

    def _array(self, inputs: Any, about: Any) -> Array:
        if isinstance(inputs, Table):
            found = np.stack([np.asarray(one, dtype=np.float32) for one in inputs.columns.values()], axis=1)
        elif len(about.shape) == 2:
            found = np.asarray(inputs, dtype=np.float32)
        else:
            return self._pixels(inputs, about.shape)
        wanted = about.shape[1]
        if isinstance(wanted, int) and found.shape[1] != wanted:
            raise InputError(
                f"{wanted} columns",
                got=str(found.shape[1]),
                file=self.name,
                remedy="name the columns in their order with --input",
            )
        return found

    def _pixels(self, images: Any, shape: Sequence[Any]) -> Array:
        if (self.folder / "preprocessor_config.json").is_file():
            if self._processor is None:
                self._processor = load_pretrained("AutoImageProcessor", str(self.folder))
            found: Array = self._processor(list(images), return_tensors="np")["pixel_values"]
            return found.astype(np.float32)
        last = shape[3] == 3
        sides = [one for one in (shape[1:3] if last else shape[2:4]) if isinstance(one, int)]
        pixels = in_one_size(images, (sides[0], sides[-1])) if sides else images
        array = np.asarray(pixels, dtype=np.float32) / 255
        return array if last else np.ascontiguousarray(array.transpose(0, 3, 1, 2))

    def _run(self, feeds: Mapping[str, Array]) -> Array:
        try:
            found = self.session.run([self.output], dict(feeds))[0]
        except Exception as error:
            raise WorkError(f"{self.name} failed: {' '.join(str(error).split())[:300]}") from error
        if not isinstance(found, np.ndarray):
            raise InputError(
                "an output that is an array",
                got=type(found).__name__,
                file=self.name,
                remedy="export it without ZipMap (options={'zipmap': False})",
            )
        return found
