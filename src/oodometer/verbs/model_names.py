"""Model names: models as a user gives them, a path, an object or NAME=MODEL, each with the name that results show."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..models.opening import SentModel, stamp_of
from ..store.files import ENDINGS


def named_models(models: Any) -> list[tuple[str, Any]]:
    """(name, model) of each: as given, else the last part of a path, with a number where two are the same.

    A predictions file is named without its ending, as `compare` names it; a folder or a model of the hub as it is.

    ``models``: one, a list, or name -> one or a list of models; texts may be ``name=model``. Raises `UsageError` for a
    name or a model that is empty.

    >>> named_models(["a=models/x", "models/y", "other/y"])
    [('a', 'models/x'), ('y', 'models/y'), ('y-2', 'other/y')]
    >>> named_models(["bag.parquet", "small-v1.5"])
    [('bag', 'bag.parquet'), ('small-v1.5', 'small-v1.5')]
    """
    if isinstance(models, Mapping):
        return [(str(n), one) for n, some in models.items() for one in (some if isinstance(some, list) else [some])]
    given = list(models) if isinstance(models, (list, tuple)) else [models]
    out: list[tuple[str, Any]] = []
    plain: Counter[str] = Counter()
    for one in given:
        name, model = "", one
        if isinstance(one, str) and "=" in one and not os.path.exists(one):
            name, _, model = one.partition("=")
            if not name or not model:
                raise UsageError(f"expected a model, or NAME=MODEL, got {one!r}")
        else:
            short = _short(one)
            plain[short] += 1
            name = short if plain[short] == 1 else f"{short}-{plain[short]}"
        out.append((name, model))
    return out


def said_model(model: Any) -> str:
    """A model as a result names where it came from: its path, or the name of the object."""
    return str(model) if isinstance(model, (str, os.PathLike)) else getattr(model, "__name__", type(model).__name__)


def sent_models(models: Sequence[Any], options: Mapping[str, Any]) -> list[SentModel]:
    """The models as they travel to workers; `UsageError` for one that has no path."""
    other = next((one for one in models if not isinstance(one, (str, os.PathLike))), None)
    if other is not None:
        raise UsageError(
            f"workers open models by their paths, and {said_model(other)} is in memory; save it and give its folder, "
            "or leave engine and workers out"
        )
    return [SentModel(os.fspath(one), stamp_of(one), options) for one in models]


def _short(model: Any) -> str:
    if isinstance(model, (str, os.PathLike)):
        path = Path(str(model))
        return (path.stem if path.suffix.lower() in ENDINGS else path.name) or str(model)
    return str(getattr(model, "__name__", type(model).__name__))
