"""Classes of input: NPZ archives that are damaged, odd or made to hurt."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .base import REFUSED, SAME, WARNED, arrays, trial
from .binaries import NPZ
from .material import CLASSES, npz_with


def _npz(name: str, came: str, must: Any, words: Any, make: Any, close: float = 1e-9) -> None:
    """A class made from the arrays of the reference, judged by `evaluate`."""

    trial(NPZ, name, came, must, words, ("npz",))(
        lambda kit, form: kit.evaluate(make(kit.path("r.npz"), arrays(kit.reference())), close=close)
    )


def _save(path: Path, arrays: dict[str, Any]) -> Path:
    np.savez(path, **arrays)
    return path


def _order(held: dict[str, Any], order: list[int], names: list[str]) -> dict[str, Any]:
    return {**held, "probabilities": held["probabilities"][:, order], "classes": np.array(names)}


def _unnamed(held: dict[str, Any]) -> dict[str, Any]:
    codes = np.searchsorted(np.array(CLASSES), held["label"])
    return {"probabilities": held["probabilities"], "label": codes}


_npz("class names beside lists", "an array `classes`", SAME, (), _save)
_npz("class names in another order, with their columns", "`classes` emu, cat, dog", SAME, (),
    lambda p, a: _save(p, _order(a, [2, 0, 1], ["emu", "cat", "dog"])))  # fmt: skip
_npz("too few class names", "2 names for 3 columns", REFUSED, "classes",
    lambda p, a: _save(p, {**_unnamed(a), "classes": np.array(["cat", "dog"])}))  # fmt: skip
_npz("too many class names", "4 names for 3 columns", REFUSED, "classes",
    lambda p, a: _save(p, {**_unnamed(a), "classes": np.array(["cat", "dog", "emu", "fox"])}))  # fmt: skip
_npz("a class name twice", "cat, dog, cat", REFUSED, "classes",
    lambda p, a: _save(p, {**_unnamed(a), "classes": np.array(["cat", "dog", "cat"])}))  # fmt: skip
_npz("packed", "`savez_compressed`", SAME, (), lambda p, a: npz_with(p, a, compress=True))
_npz(
    "big-endian numbers",
    "`>f8`, `>i4`",
    SAME,
    (),
    lambda p, a: _save(
        p,
        {**_unnamed(a), "probabilities": a["probabilities"].astype(">f8"), "label": _unnamed(a)["label"].astype(">i4")},
    ),
)
_npz("columns before rows in memory", "Fortran order", SAME, (),
    lambda p, a: _save(p, {**a, "probabilities": np.asfortranarray(a["probabilities"])}))  # fmt: skip
_npz("labels as bytes", "`S3`", (SAME, REFUSED), (), lambda p, a: _save(p, {**a, "label": a["label"].astype("S3")}))
_npz("half precision", "`float16`", (SAME, REFUSED, WARNED), "round",
    lambda p, a: _save(p, {**a, "probabilities": a["probabilities"].astype(np.float16)}), 1e-2)  # fmt: skip
_npz("extended precision", "`longdouble`", (SAME, REFUSED), (),
    lambda p, a: _save(p, {**a, "probabilities": a["probabilities"].astype(np.longdouble)}), 1e-7)  # fmt: skip
_npz("complex numbers", "`complex128`", REFUSED, "probabilities",
    lambda p, a: _save(p, {**a, "probabilities": a["probabilities"].astype(complex)}))  # fmt: skip
_npz("Python objects", "a pickled array", REFUSED, "pickle",
    lambda p, a: npz_with(p, {**a, "label": a["label"].astype(object)}))  # fmt: skip
_npz("arrays of other lengths", "239 labels for 240 rows", REFUSED, "label",
    lambda p, a: _save(p, {**a, "label": a["label"][:-1]}))  # fmt: skip
_npz("axes the wrong way round", "`probabilities` (class, sample)", REFUSED, (),
    lambda p, a: _save(p, {**a, "probabilities": np.ascontiguousarray(a["probabilities"].T)}))  # fmt: skip
_npz("an axis too many", "`probabilities` (1, sample, class)", REFUSED, "probabilities",
    lambda p, a: _save(p, {**a, "probabilities": a["probabilities"][None]}))  # fmt: skip
_npz("a single number", "`probabilities` 0.5", REFUSED, "probabilities",
    lambda p, a: _save(p, {**a, "probabilities": 0.5}))  # fmt: skip
_npz("a structured array", "fields a and b", REFUSED, (),
    lambda p, a: _save(p, {**a, "probabilities": np.zeros(240, [("a", "f8"), ("b", "f8")])}))  # fmt: skip
_npz("times for numbers", "`datetime64`", REFUSED, "probabilities",
    lambda p, a: _save(p, {**a, "probabilities": np.zeros((240, 3), "M8[s]")}))  # fmt: skip
_npz("an array twice", "two members `label.npy`", REFUSED, "label", lambda p, a: _twice(p, a))
_npz("a member that is no array", "`notes.npy` holds text", (REFUSED, SAME), (),
    lambda p, a: npz_with(p, a, notes=b"a note, no array"))  # fmt: skip
_npz("a header of a negative shape", "`(-3, 3)`", REFUSED, (),
    lambda p, a: npz_with(p, {"label": a["label"]}, probabilities=_header("(-3, 3)")))  # fmt: skip
_npz("a header of a shape beyond all memory", "`(10**15, 3)`", REFUSED, (),
    lambda p, a: npz_with(p, {"label": a["label"]}, probabilities=_header("(1000000000000000, 3)")))  # fmt: skip
_npz("a header that is no header", "`{'descr': ` cut off", REFUSED, (), lambda p, a: npz_with(p, {"label": a["label"]},
    probabilities=b"\x93NUMPY\x01\x00\x20\x00{'descr': '<f8', 'fortran_order'"))  # fmt: skip
_npz("a header of an unknown type", "`'descr': 'hello'`", REFUSED, (),
    lambda p, a: npz_with(p, {"label": a["label"]}, probabilities=_header("(240, 3)", "hello")))  # fmt: skip
_npz("a header of a version to come", "version 9.0", REFUSED, (),
    lambda p, a: npz_with(p, {"label": a["label"]}, probabilities=b"\x93NUMPY\x09\x00" + bytes(100)))  # fmt: skip
_npz(
    "an archive without arrays", "a zip file of a text", REFUSED, (), lambda p, a: _archive(p, {"readme.txt": b"hello"})
)
_npz("an empty archive", "a zip file of nothing", REFUSED, (), lambda p, a: _archive(p, {}))
_npz("a path in a member's name", "`../../label.npy`", (REFUSED, SAME), (),
    lambda p, a: npz_with(p, {**a, "../../x": a["label"]}))  # fmt: skip


def _header(shape: str, kind: str = "<f8") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)


def _archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def _twice(path: Path, held: dict[str, Any]) -> Path:
    import warnings

    npz_with(path, held)
    out = io.BytesIO()
    np.save(out, np.roll(held["label"], 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("label.npy", out.getvalue())
    return path
