"""Classes of input: dictionaries, arrays, frames, tensors and options handed to the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .base import DONE, REFUSED, SAME, Call, Kit, arrays, trial
from .material import CLASSES

PLAIN, FRAMES = "Dictionaries and arrays in Python", "Frames and tensors in Python"
OPTIONS = "Options in Python"


def _dict(
    name: str,
    came: str,
    must: Any,
    words: Any,
    change: Any,
    *,
    close: float = 1e-9,
    group: str = PLAIN,
) -> None:
    @trial(group, name, came, must, words, ("library",))
    def _(kit: Kit, form: str) -> Call:
        held = change(arrays(kit.target()))
        return Call(kit.library(target=held), Call(kit.library()), close)


def _turned(held: dict[str, Any]) -> dict[str, Any]:
    return {
        **held,
        "probabilities": held["probabilities"][:, [2, 0, 1]],
        "classes": ["emu", "cat", "dog"],
    }


def _masked(held: dict[str, Any], name: str, row: int) -> dict[str, Any]:
    values = np.ma.masked_array(held[name], mask=np.zeros(held[name].shape, bool))
    values[row] = np.ma.masked
    return {**held, name: values}


_dict("`classes` in another order, with their columns", "emu, cat, dog", SAME, (), _turned)
_dict("`classes` that the reference never had", "cat, dog, owl", REFUSED, "owl", lambda a: {**a,
    "classes": ["cat", "dog", "owl"], "label": np.where(a["label"] == "emu", "owl", a["label"])})  # fmt: skip
_dict(
    "`classes` as a set",
    "{'cat', 'dog', 'emu'}",
    REFUSED,
    "set",
    lambda a: {**a, "classes": set(CLASSES)},
)
_dict(
    "too few `classes`",
    "2 names for 3 columns",
    REFUSED,
    "classes",
    lambda a: {**a, "classes": ["cat", "dog"]},
)
_dict(
    "a class twice",
    "cat, dog, cat",
    REFUSED,
    "classes",
    lambda a: {**a, "classes": ["cat", "dog", "cat"]},
)
_dict(
    "a class of None",
    "cat, None, emu",
    REFUSED,
    "classes",
    lambda a: {**a, "classes": ["cat", None, "emu"]},
)
_dict("a masked probability", "`numpy.ma` with one row masked", REFUSED, ("row 7", "probabilities"),
    lambda a: _masked(a, "probabilities", 6))  # fmt: skip
_dict(
    "big-endian numbers",
    "`>f8`",
    SAME,
    (),
    lambda a: {**a, "probabilities": a["probabilities"].astype(">f8")},
)
_dict("columns before rows in memory", "Fortran order", SAME, (),
    lambda a: {**a, "probabilities": np.asfortranarray(a["probabilities"])})  # fmt: skip
_dict("a view with negative strides", "`p[::-1][::-1]`", SAME, (),
    lambda a: {**a, "probabilities": a["probabilities"][::-1].copy()[::-1]})  # fmt: skip
_dict("a read-only array", "`setflags(write=False)`", SAME, (),
    lambda a: {**a, "probabilities": _read_only(a["probabilities"])})  # fmt: skip
_dict("lists of lists", "plain Python", SAME, (),
    lambda a: {**a, "probabilities": a["probabilities"].tolist(), "label": a["label"].tolist()})  # fmt: skip
_dict("tuples", "plain Python", SAME, (),
    lambda a: {**a, "probabilities": tuple(map(tuple, a["probabilities"].tolist()))})  # fmt: skip
_dict("objects that hold numbers", "`dtype=object`", (SAME, REFUSED), "probabilities",
    lambda a: {**a, "probabilities": a["probabilities"].astype(object)})  # fmt: skip
_dict("complex numbers", "`complex128`", REFUSED, "probabilities",
    lambda a: {**a, "probabilities": a["probabilities"].astype(complex)})  # fmt: skip
_dict("a generator", "`(row for row in p)`", (REFUSED, SAME), "probabilities",
    lambda a: {**a, "probabilities": (r for r in a["probabilities"])})  # fmt: skip
_dict(
    "text for an array",
    "`'hello'`",
    REFUSED,
    "probabilities",
    lambda a: {**a, "probabilities": "hello"},
)
_dict(
    "a number for an array",
    "`0.5`",
    REFUSED,
    "probabilities",
    lambda a: {**a, "probabilities": 0.5},
)
_dict("an axis too many", "(1, sample, class)", REFUSED, "probabilities",
    lambda a: {**a, "probabilities": a["probabilities"][None]})  # fmt: skip
_dict("one axis, three classes", "(sample,)", REFUSED, "probabilities",
    lambda a: {**a, "probabilities": a["probabilities"][:, 0]})  # fmt: skip
_dict("rows of other lengths", "[[0.9, 0.1], [1.0]]", REFUSED, "probabilities",
    lambda a: {**a, "probabilities": [[0.9, 0.06, 0.04], [1.0]] * 120})  # fmt: skip
_dict(
    "arrays of other lengths",
    "239 labels for 240 rows",
    REFUSED,
    "label",
    lambda a: {**a, "label": a["label"][:-1]},
)
_dict("nothing", "`{}`", REFUSED, (), lambda a: {})
_dict("no rows", "shape (0, 3)", REFUSED, "row",
    lambda a: {"probabilities": np.zeros((0, 3)), "classes": list(CLASSES)})  # fmt: skip
_dict(
    "None for everything",
    "`{'probabilities': None}`",
    REFUSED,
    (),
    lambda a: {"probabilities": None},
)
_dict(
    "a name that is no field",
    "`{'matrix': ...}`",
    REFUSED,
    "matrix",
    lambda a: {"matrix": a["probabilities"]},
)
_dict(
    "a usual name for a field",
    "`{'probs': ...}`",
    SAME,
    (),
    lambda a: {"probs": a["probabilities"], "label": a["label"]},
)
_dict("a number for the data", "`estimate(reference, 3)`", REFUSED, "int", lambda a: 3)
_dict(
    "a list of numbers for the data", "`estimate(reference, [1, 2])`", REFUSED, (), lambda a: [1, 2]
)
_dict(
    "a folder without data",
    "`estimate(reference, 'src')`",
    REFUSED,
    "folder",
    lambda a: str(Path(__file__).parent),
)
_dict(
    "a file that is not there",
    "`estimate(reference, 'none.csv')`",
    REFUSED,
    "none.csv",
    lambda a: "none.csv",
)


def _read_only(array: Any) -> Any:
    out = array.copy()
    out.setflags(write=False)
    return out


@trial(
    PLAIN,
    "masked labels in the reference",
    "`numpy.ma` with every fourth label masked",
    SAME,
    (),
    ("library",),
)
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
        return lambda: {
            "metrics": oodometer.evaluate(data, metrics=["accuracy"]).to_dict()["metrics"]
        }

    return Call(run(masked), Call(run(known)))


@trial(PLAIN, "a list of references in other orders of classes", "two halves, one with `classes` emu, cat, dog", SAME,
    (), ("library",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    held = arrays(kit.reference())
    halves = [
        {k: v if k == "classes" else v[s] for k, v in held.items()}
        for s in (slice(0, 120), slice(120, 240))
    ]
    return Call(
        kit.library(reference=[halves[0], _turned(halves[1])]), Call(kit.library(reference=halves))
    )


@trial(
    PLAIN,
    "both in another order of classes",
    "emu, cat, dog in reference and target",
    SAME,
    (),
    ("library",),
)
def _(kit: Kit, form: str) -> Call:
    methods = ["ac", "atc", "bbse", "sld", "dis2"]
    return Call(kit.library(_turned(arrays(kit.reference())), _turned(arrays(kit.target())), methods=methods),
        Call(kit.library(methods=methods)), 1e-7)  # fmt: skip


@trial(PLAIN, "`classes` of the call in another order than the file's", "`classes=['emu', 'cat', 'dog']`", SAME, (),
    ("library",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    files = (str(kit.clean("reference")), str(kit.clean("target")))
    return Call(kit.library(*files, classes=["emu", "cat", "dog"]), Call(kit.library(*files)), 1e-7)


def _frame(
    name: str,
    came: str,
    must: Any,
    words: Any,
    change: Any,
    forms: Any = ("pandas", "polars"),
    close: float = 1e-9,
) -> None:
    @trial(FRAMES, name, came, must, words, forms)
    def _(kit: Kit, form: str) -> Call:
        import pandas
        import polars

        library = {"pandas": pandas, "polars": polars}[form]
        return Call(kit.library(kit.clean("reference"), change(library.DataFrame(kit.target()))),
            Call(kit.library(kit.clean("reference"), kit.clean("target"))), close)  # fmt: skip


_frame("a plain frame", "columns as in a file", SAME, (), lambda f: f)
_frame(
    "columns in another order",
    "`prob_emu` first",
    SAME,
    (),
    lambda f: f[[*reversed(list(f.columns))]],
)
_frame("a column twice", "`prob_cat` twice", REFUSED, "prob_cat",
    lambda f: f[["prob_cat", "prob_cat", "prob_dog", "prob_emu"]], ("pandas",))  # fmt: skip
_frame("an index that is not in order", "sorted by a probability, then back", SAME, (),
    lambda f: f.sort_values("prob_cat").sort_index(), ("pandas",))  # fmt: skip
_frame("a frame with gaps in its index", "rows chosen, the index kept", SAME, (), lambda f: f.set_index(f.index * 7),
    ("pandas",))  # fmt: skip
_frame("columns named by numbers", "`0, 1, 2`", REFUSED, (), lambda f: f.set_axis(range(len(f.columns)), axis=1),
    ("pandas",))  # fmt: skip
_frame("two levels of column names", "a MultiIndex", REFUSED, "levels of column names",
    lambda f: f.set_axis(__import__("pandas").MultiIndex.from_product([["a"], f.columns]), axis=1),
    ("pandas",))  # fmt: skip
_frame("labels as categories", "`category`", SAME, (), lambda f: f.assign(label=f.label.astype("category")),
    ("pandas",))  # fmt: skip
_frame("nullable numbers with a null", "`Float64` with `<NA>` in row 7", REFUSED, ("row 7", "prob_dog"),
    lambda f: _holed(f), ("pandas",))  # fmt: skip
_frame("cells of mixed types", "a text among numbers", REFUSED, "prob_dog",
    lambda f: f.assign(prob_dog=f.prob_dog.astype(object).where(f.index != 6, "high")), ("pandas",))  # fmt: skip
_frame("a lazy frame", "`.lazy()`", SAME, (), lambda f: f.lazy(), ("polars",))
_frame("a series for a frame", "one column alone", REFUSED, "Series", lambda f: f["prob_cat"])
_frame("a frame without rows", "`head(0)`", REFUSED, "row", lambda f: f.head(0))


def _holed(frame: Any) -> Any:
    import pandas

    values = frame.prob_dog.astype("Float64")
    values[6] = pandas.NA
    return frame.assign(prob_dog=values)


def _tensor(name: str, came: str, must: Any, words: Any, change: Any, close: float = 1e-9) -> None:
    @trial(FRAMES, name, came, must, words, ("torch",))
    def _(kit: Kit, form: str) -> Call:
        import torch

        held = arrays(kit.target())
        return Call(kit.library(target={**held, "probabilities": change(torch.tensor(held["probabilities"]), torch)}),
            Call(kit.library()), close)  # fmt: skip


_tensor("a tensor", "`torch.float64`", SAME, (), lambda p, t: p)
_tensor(
    "a tensor that asks for its gradient",
    "`requires_grad`",
    SAME,
    (),
    lambda p, t: p.clone().requires_grad_(),
)
_tensor(
    "a tensor of bfloat16",
    "`torch.bfloat16`",
    (REFUSED, SAME),
    "bfloat16",
    lambda p, t: p.to(t.bfloat16),
    2e-2,
)
_tensor("a tensor without numbers", "device `meta`", REFUSED, "meta", lambda p, t: p.to("meta"))
_tensor("a sparse tensor", "`to_sparse()`", (REFUSED, SAME), "sparse", lambda p, t: p.to_sparse())
_tensor(
    "a quantised tensor",
    "`quantize_per_tensor`",
    REFUSED,
    "probabilities",
    lambda p, t: _quantised(p, t),
)
_tensor("a list of tensors", "one a row", (REFUSED, SAME), "probabilities", lambda p, t: list(p))


def _quantised(p: Any, torch: Any) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(p.float(), 0.01, 0, torch.quint8)


def _option(name: str, came: str, words: Any = (), must: Any = REFUSED, **options: Any) -> None:
    trial(OPTIONS, name, came, must, words, ("library",),
        lambda kit, form: Call(kit.library(**options), Call(kit.library())))  # fmt: skip


_option("a level as text", "`level='95%'`", "level", level="95%")
_option("a level in percent", "`level=95`", "level", level=95)
_option("a level that is not a number", "`level=nan`", "level", level=float("nan"))
_option("no level", "`level=None`", "level", level=None)
_option("a level of true", "`level=True`", "level", level=True)
_option("a negative seed", "`seed=-1`", "seed", seed=-1)
_option("a huge seed", "`seed=10**40`", "seed", (REFUSED, DONE), seed=10**40)
_option("no seed", "`seed=None`: one is drawn", "seed", DONE, seed=None)
_option("a seed in text", "`seed='zero'`", "seed", seed="zero")
_option(
    "a generator for a seed",
    "`seed=default_rng(0)`",
    "seed",
    (REFUSED, DONE),
    seed=np.random.default_rng(0),
)
_option("a fraction for a seed", "`seed=0.5`", "seed", seed=0.5)
_option("workers in text", "`workers='two'`", "worker", workers="two")
_option("no worker", "`workers=0`", "worker", workers=0)
_option("workers below zero", "`workers=-2`", "worker", workers=-2)
_option("a fraction of a worker", "`workers=1.5`", "worker", workers=1.5)
_option("methods of None", "`methods=[None]`", (), methods=[None])
_option("methods as one text", "`methods='atc'`", (), DONE, methods="atc")
_option("methods of numbers", "`methods=[3]`", (), methods=[3])
_option("an unknown method", "`methods=['act']`", "atc", methods=["act"])
_option("a mapping that is a number", "`mapping=5`", "mapping", mapping=5)
_option("a mapping of numbers", "`mapping={1: 2}`", (), mapping={1: 2})
_option(
    "a mapping of a column that is not there",
    "`mapping={'y': 'label'}`",
    "y",
    mapping={"y": "label"},
)
_option(
    "`classes` as a set", "`classes={'cat', 'dog', 'emu'}`", "set", classes={"cat", "dog", "emu"}
)
_option("`classes` as one text", "`classes='cat'`", "classes", classes="cat")
_option("`classes` as a number", "`classes=3`", "classes", classes=3)
_option("an engine that is not there", "`engine='moon'`", "moon", engine="moon")
_option("a calibrator that is not there", "`calibrator='hot'`", "hot", calibrator="hot")
_option("an accuracy in percent", "`target_accuracies=[95]`", "95", target_accuracies=[95])
_option("slices and chunks at once", "`by='group', every='7d'`", "not both", by="group", every="7d")
_option("slices by a column that is not there", "`by='site'`", "site", by="site")
