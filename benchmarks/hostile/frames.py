"""Classes of input: frames, tensors and options handed to the library."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import DONE, REFUSED, SAME, Call, Kit, arrays, trial
from .memory import FRAMES, OPTIONS


def _frame(
    name: str, came: str, must: Any, words: Any, change: Any, forms: Any = ("pandas", "polars"), close: float = 1e-9
) -> None:
    @trial(FRAMES, name, came, must, words, forms)
    def _(kit: Kit, form: str) -> Call:
        import pandas
        import polars

        library = {"pandas": pandas, "polars": polars}[form]
        return Call(kit.library(kit.clean("reference"), change(library.DataFrame(kit.target()))),
            Call(kit.library(kit.clean("reference"), kit.clean("target"))), close)  # fmt: skip


_frame("a plain frame", "columns as in a file", SAME, (), lambda f: f)
_frame("columns in another order", "`prob_emu` first", SAME, (), lambda f: f[[*reversed(list(f.columns))]])
_frame("a column twice", "`prob_cat` twice", REFUSED, "prob_cat",
    lambda f: f[["prob_cat", "prob_cat", "prob_dog", "prob_emu"]], ("pandas",))  # fmt: skip
_frame("an index that is not in order", "sorted by a probability, then back", SAME, (),
    lambda f: f.sort_values("prob_cat").sort_index(), ("pandas",))  # fmt: skip
_frame("a frame with gaps in its index", "rows chosen, the index kept", SAME, (), lambda f: f.set_index(f.index * 7),
    ("pandas",))  # fmt: skip
_frame("columns named by numbers", "`0, 1, 2`", REFUSED, (), lambda f: f.set_axis(range(len(f.columns)), axis=1),
    ("pandas",))  # fmt: skip
_frame("two levels of column names", "a MultiIndex", REFUSED, (),
    lambda f: f.set_axis(__import__("pandas").MultiIndex.from_product([["a"], f.columns]), axis=1),
    ("pandas",))  # fmt: skip
_frame(
    "labels as categories", "`category`", SAME, (), lambda f: f.assign(label=f.label.astype("category")), ("pandas",)
)
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
_tensor("a tensor that asks for its gradient", "`requires_grad`", SAME, (), lambda p, t: p.clone().requires_grad_())
_tensor("a tensor of bfloat16", "`torch.bfloat16`", (REFUSED, SAME), "bfloat16", lambda p, t: p.to(t.bfloat16), 2e-2)
_tensor("a tensor without numbers", "device `meta`", REFUSED, "meta", lambda p, t: p.to("meta"))
_tensor("a sparse tensor", "`to_sparse()`", (REFUSED, SAME), "sparse", lambda p, t: p.to_sparse())
_tensor("a quantised tensor", "`quantize_per_tensor`", REFUSED, "probabilities", lambda p, t: _quantised(p, t))
_tensor("a list of tensors", "one a row", (REFUSED, SAME), "probabilities", lambda p, t: list(p))


def _quantised(p: Any, torch: Any) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(p.float(), 0.01, 0, torch.quint8)


# ----------------------------------------------------------------------------------------------- options


def _option(name: str, came: str, words: Any = (), must: Any = REFUSED, **options: Any) -> None:
    trial(OPTIONS, name, came, must, words, ("library",))(
        lambda kit, form: Call(kit.library(**options), Call(kit.library()))
    )


_option("a level as text", "`level='95%'`", "level", level="95%")
_option("a level in percent", "`level=95`", "level", level=95)
_option("a level that is not a number", "`level=nan`", "level", level=float("nan"))
_option("no level", "`level=None`", "level", level=None)
_option("a level of true", "`level=True`", "level", level=True)
_option("a negative seed", "`seed=-1`", "seed", seed=-1)
_option("a huge seed", "`seed=10**40`", "seed", (REFUSED, DONE), seed=10**40)
_option("no seed", "`seed=None`: one is drawn", "seed", DONE, seed=None)
_option("a seed in text", "`seed='zero'`", "seed", seed="zero")
_option("a generator for a seed", "`seed=default_rng(0)`", "seed", (REFUSED, DONE), seed=np.random.default_rng(0))
_option("a fraction for a seed", "`seed=0.5`", "seed", seed=0.5)
_option("workers in text", "`workers='two'`", "worker", workers="two")
_option("no worker", "`workers=0`", "worker", workers=0)
_option("workers below zero", "`workers=-2`", "worker", workers=-2)
_option("a fraction of a worker", "`workers=1.5`", "worker", workers=1.5)
_option("methods of None", "`methods=[None]`", (), methods=[None])
_option("methods as one text", "`methods='atc'`", (), (REFUSED, SAME), methods="atc")
_option("methods of numbers", "`methods=[3]`", (), methods=[3])
_option("an unknown method", "`methods=['act']`", "atc", methods=["act"])
_option("a mapping that is a number", "`mapping=5`", "mapping", mapping=5)
_option("a mapping of numbers", "`mapping={1: 2}`", (), mapping={1: 2})
_option("a mapping of a column that is not there", "`mapping={'y': 'label'}`", "y", mapping={"y": "label"})
_option("`classes` as a set", "`classes={'cat', 'dog', 'emu'}`", "set", classes={"cat", "dog", "emu"})
_option("`classes` as one text", "`classes='cat'`", "classes", classes="cat")
_option("`classes` as a number", "`classes=3`", "classes", classes=3)
_option("an engine that is not there", "`engine='moon'`", "moon", engine="moon")
_option("a calibrator that is not there", "`calibrator='hot'`", "hot", calibrator="hot")
_option("an accuracy in percent", "`target_accuracies=[95]`", "95", target_accuracies=[95])
_option("slices and chunks at once", "`by='group', every='7d'`", "not both", by="group", every="7d")
_option("slices by a column that is not there", "`by='site'`", "site", by="site")
