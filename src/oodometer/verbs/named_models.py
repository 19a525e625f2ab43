"""Models as they were named: a path, NAME=MODEL, a mapping or an object; their names, and which stands there twice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..store.files import ENDINGS
from ..vectors import are_records, several


def named_models(models: Any) -> list[tuple[str, Any]]:
    """(name, model) of each of one, a list, or a mapping: as given (``name=model``), else the last part of a path, of a
    predictions file without its ending, with a number where two are the same.
    """
    if isinstance(models, Mapping):
        return [
            (str(n), model)
            for n, group in models.items()
            for model in (several(group) if isinstance(group, list) else [group])
        ]
    is_list = isinstance(models, (list, tuple)) and not are_records(models)
    model_list = list(models) if is_list else [models]
    out: list[tuple[str, Any]] = []
    plain: Counter[str] = Counter()
    for model in model_list:
        name, source = "", model
        if isinstance(model, str) and "=" in model and not os.path.exists(model):
            name, _, source = model.partition("=")
            if not name or not source:
                raise UsageError(f"expected a model, or NAME=MODEL, got {model!r}")
        else:
            short = _short_name(model)
            plain[short] += 1
            name = short if plain[short] == 1 else f"{short}-{plain[short]}"
        out.append((name, source))
    return out


def _short_name(model: Any) -> str:
    """The last part of a path, of a predictions file without its ending; or the name of an object."""
    short = said_model(model)
    if not isinstance(model, (str, os.PathLike)):
        return short
    path = Path(short)
    return (path.stem if path.suffix.lower() in ENDINGS else path.name) or short


def said_model(model: Any) -> str:
    """A model as a result names where it came from: its path, or the name of the object."""
    return (
        str(model)
        if isinstance(model, (str, os.PathLike))
        else getattr(model, "__name__", type(model).__name__)
    )


def twice_named(models: Sequence[Any]) -> Any:
    """The first model that stands twice among some, a path or the very same object; None where none does."""
    seen: set[Any] = set()
    for model in models:
        key: Any = id(model)
        if isinstance(model, (str, os.PathLike)):
            key = os.path.realpath(model) if os.path.exists(model) else str(model)
        if key in seen:
            return model
        seen.add(key)
    return None


def as_names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """One name or several as a tuple."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)
