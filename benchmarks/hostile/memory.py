"""Classes of input: dictionaries, arrays, frames and tensors handed to the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .base import REFUSED, SAME, Call, Kit, arrays, trial
from .material import CLASSES

PLAIN, FRAMES = "Dictionaries and arrays in Python", "Frames and tensors in Python"
OPTIONS = "Options in Python"


def _dict(name: str, came: str, must: Any, words: Any, change: Any, *, close: float = 1e-9, group: str = PLAIN) -> None:
    """A class made from the arrays of a clean target."""

    @trial(group, name, came, must, words, ("library",))
    def _(kit: Kit, form: str) -> Call:
        held = change(arrays(kit.target()))
        return Call(kit.library(target=held), Call(kit.library()), close)


def _turned(held: dict[str, Any]) -> dict[str, Any]:
    return {**held, "probabilities": held["probabilities"][:, [2, 0, 1]], "classes": ["emu", "cat", "dog"]}


def _masked(held: dict[str, Any], name: str, row: int) -> dict[str, Any]:
    values = np.ma.masked_array(held[name], mask=np.zeros(held[name].shape, bool))
    values[row] = np.ma.masked
    return {**held, name: values}


_dict("`classes` in another order, with their columns", "emu, cat, dog", SAME, (), _turned)
_dict("`classes` that the reference never had", "cat, dog, owl", REFUSED, "owl", lambda a: {**a,
    "classes": ["cat", "dog", "owl"], "label": np.where(a["label"] == "emu", "owl", a["label"])})  # fmt: skip
_dict("`classes` as a set", "{'cat', 'dog', 'emu'}", REFUSED, "set", lambda a: {**a, "classes": set(CLASSES)})
_dict("too few `classes`", "2 names for 3 columns", REFUSED, "classes", lambda a: {**a, "classes": ["cat", "dog"]})
_dict("a class twice", "cat, dog, cat", REFUSED, "classes", lambda a: {**a, "classes": ["cat", "dog", "cat"]})
_dict("a class of None", "cat, None, emu", REFUSED, "classes", lambda a: {**a, "classes": ["cat", None, "emu"]})
_dict("a masked probability", "`numpy.ma` with one row masked", REFUSED, ("row 7", "probabilities"),
    lambda a: _masked(a, "probabilities", 6))  # fmt: skip
_dict("big-endian numbers", "`>f8`", SAME, (), lambda a: {**a, "probabilities": a["probabilities"].astype(">f8")})
_dict("columns before rows in memory", "Fortran order", SAME, (),
    lambda a: {**a, "probabilities": np.asfortranarray(a["probabilities"])})  # fmt: skip
_dict("a view with negative strides", "`p[::-1][::-1]`", SAME, (),
    lambda a: {**a, "probabilities": a["probabilities"][::-1].copy()[::-1]})  # fmt: skip
_dict("a read-only array", "`setflags(write=False)`", SAME, (),
    lambda a: {**a, "probabilities": _read_only(a["probabilities"])})  # fmt: skip
_dict("lists of lists", "plain Python", SAME, (),
    lambda a: {**a, "probabilities": a["probabilities"].tolist(), "label": a["label"].tolist()})  # fmt: skip
_dict(
    "tuples", "plain Python", SAME, (), lambda a: {**a, "probabilities": tuple(map(tuple, a["probabilities"].tolist()))}
)
_dict("objects that hold numbers", "`dtype=object`", (SAME, REFUSED), "probabilities",
    lambda a: {**a, "probabilities": a["probabilities"].astype(object)})  # fmt: skip
_dict("complex numbers", "`complex128`", REFUSED, "probabilities",
    lambda a: {**a, "probabilities": a["probabilities"].astype(complex)})  # fmt: skip
_dict("a generator", "`(row for row in p)`", (REFUSED, SAME), "probabilities",
    lambda a: {**a, "probabilities": (r for r in a["probabilities"])})  # fmt: skip
_dict("text for an array", "`'hello'`", REFUSED, "probabilities", lambda a: {**a, "probabilities": "hello"})
_dict("a number for an array", "`0.5`", REFUSED, "probabilities", lambda a: {**a, "probabilities": 0.5})
_dict("an axis too many", "(1, sample, class)", REFUSED, "probabilities",
    lambda a: {**a, "probabilities": a["probabilities"][None]})  # fmt: skip
_dict("one axis, three classes", "(sample,)", REFUSED, "probabilities",
    lambda a: {**a, "probabilities": a["probabilities"][:, 0]})  # fmt: skip
_dict("rows of other lengths", "[[0.9, 0.1], [1.0]]", REFUSED, "probabilities",
    lambda a: {**a, "probabilities": [[0.9, 0.06, 0.04], [1.0]] * 120})  # fmt: skip
_dict("arrays of other lengths", "239 labels for 240 rows", REFUSED, "label", lambda a: {**a, "label": a["label"][:-1]})
_dict("nothing", "`{}`", REFUSED, (), lambda a: {})
_dict(
    "no rows", "shape (0, 3)", REFUSED, "row", lambda a: {"probabilities": np.zeros((0, 3)), "classes": list(CLASSES)}
)
_dict("None for everything", "`{'probabilities': None}`", REFUSED, (), lambda a: {"probabilities": None})
_dict("a name that is no field", "`{'probs': ...}`", REFUSED, "probs", lambda a: {"probs": a["probabilities"]})
_dict("a number for the data", "`estimate(reference, 3)`", REFUSED, "int", lambda a: 3)
_dict("a list of numbers for the data", "`estimate(reference, [1, 2])`", REFUSED, (), lambda a: [1, 2])
_dict("a folder without data", "`estimate(reference, 'src')`", REFUSED, "folder", lambda a: str(Path(__file__).parent))
_dict("a file that is not there", "`estimate(reference, 'none.csv')`", REFUSED, "none.csv", lambda a: "none.csv")


def _read_only(array: Any) -> Any:
    out = array.copy()
    out.setflags(write=False)
    return out


@trial(PLAIN, "masked labels in the reference", "`numpy.ma` with every fourth label masked", SAME, (), ("library",))
def _(kit: Kit, form: str) -> Call:
    import oodometer

    held = arrays(kit.reference())
    mask = np.arange(len(held["label"])) % 4 == 0
    masked = {**held, "label": np.ma.masked_array(held["label"], mask=mask)}
    known = {**held, "label": np.where(mask, None, held["label"].astype(object))}
    return Call(
        lambda: oodometer.evaluate(masked, metrics=["accuracy"]),
        Call(lambda: oodometer.evaluate(known, metrics=["accuracy"])),
    )


@trial(PLAIN, "masked integers as labels", "`numpy.ma` of positions", SAME, (), ("library",))
def _(kit: Kit, form: str) -> Call:
    import oodometer

    held = arrays(kit.reference())
    codes = np.searchsorted(np.array(CLASSES), held["label"])
    mask = np.arange(len(codes)) % 4 == 0
    masked = {"probabilities": held["probabilities"], "label": np.ma.masked_array(codes, mask=mask)}
    known = {"probabilities": held["probabilities"][~mask], "label": codes[~mask]}

    def run(data: Any) -> Any:
        return lambda: {"metrics": oodometer.evaluate(data, metrics=["accuracy"]).to_dict()["metrics"]}

    return Call(run(masked), Call(run(known)))


@trial(PLAIN, "a list of references in other orders of classes", "two halves, one with `classes` emu, cat, dog", SAME,
    (), ("library",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    held = arrays(kit.reference())
    halves = [{k: v if k == "classes" else v[s] for k, v in held.items()} for s in (slice(0, 120), slice(120, 240))]
    return Call(kit.library(reference=[halves[0], _turned(halves[1])]), Call(kit.library(reference=halves)))


@trial(PLAIN, "both in another order of classes", "emu, cat, dog in reference and target", SAME, (), ("library",))
def _(kit: Kit, form: str) -> Call:
    methods = ["ac", "atc", "bbse", "sld", "dis2"]
    return Call(kit.library(_turned(arrays(kit.reference())), _turned(arrays(kit.target())), methods=methods),
        Call(kit.library(methods=methods)), 1e-7)  # fmt: skip


@trial(PLAIN, "`classes` of the call in another order than the file's", "`classes=['emu', 'cat', 'dog']`", SAME, (),
    ("library",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    files = (str(kit.clean("reference")), str(kit.clean("target")))
    return Call(kit.library(*files, classes=["emu", "cat", "dog"]), Call(kit.library(*files)), 1e-7)
