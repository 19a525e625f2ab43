"""Asking: the model, with its members, and what it says of one batch as a record."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...datasets.reading import Batch, Examples
from ...errors import InputError, UsageError
from ...models.base import Classifier
from ...models.ensemble import Ensemble
from ...models.labels import matched
from ...models.opening import open_classifier
from ...predictions import Predictions
from .options import Asked
from .parts import Parts


def opened(model: Any, options: Asked) -> Classifier:
    """The model, or the ensemble of it and the members."""
    more: dict[str, Any] = {
        "gives": options.gives,
        "classes": None if options.classes is None else tuple(options.classes),
        "max_length": options.max_length,
        "device": options.device,
    }
    _check_members(model, options.members)
    first = open_classifier(model, **more)
    if not options.members:
        return first
    others = [open_classifier(one, **more) for one in options.members]
    return Ensemble([first, *others], names=_names([model, *options.members]), average=options.average)


def _check_members(model: Any, members: Sequence[Any]) -> None:
    """`UsageError` for a model that is named twice: it agrees with itself, whatever it says."""
    seen: set[Any] = set()
    for one in (model, *members):
        key: Any = id(one)
        if isinstance(one, (str, os.PathLike)):
            key = os.path.realpath(one) if os.path.exists(one) else str(one)
        if key in seen:
            raise UsageError(f"{one} is named twice: a model agrees with itself; give each --member another model")
        seen.add(key)


def _names(models: Sequence[Any]) -> list[str]:
    """A name for each model: the last part of its path, with a number where two are the same."""
    plain = [Path(str(one)).name if isinstance(one, (str, os.PathLike)) else type(one).__name__ for one in models]
    return [one if plain.count(one) == 1 else f"{one}_{i}" for i, one in enumerate(plain)]


def ask_batch(
    asked: Classifier,
    examples: Examples,
    batch: Batch,
    options: Asked,
    parts: Parts,
    place: int,
    tell: Callable[[int, int], None],
) -> None:
    """Ask about a batch and keep the answers as the part at its place."""
    record = _record(asked, examples, batch, options, tell) if len(batch.data) else None
    truncated = asked.truncated if record is not None else 0
    parts.add(record, {"truncated": truncated, "skipped": list(batch.skipped), "read": batch.read}, place)


def _record(
    asked: Classifier, examples: Examples, batch: Batch, options: Asked, tell: Callable[[int, int], None]
) -> Predictions:
    data, request = batch.data, replace(options.request, first_row=batch.first_row)
    try:
        answers = asked.ask(data, request, progress=tell)
    except InputError as error:
        raise error.at(file=examples.file, row_offset=batch.first_row) from None
    fields: dict[str, Any] = {"columns": {}}
    if data.modality == "dialogue" and len(data.targets) and not options.unlabelled:
        fields["label"] = list(data.targets)  # positions among candidates
    elif len(data.targets) and not options.unlabelled:
        fields["label"] = matched(
            data.targets,
            answers.classes,
            file=data.source,
            first_row=batch.first_row,
            column=options.columns.label or "label",
            images=[f"{examples.file}/{one}" for one in data.ids] if examples.labels_are_folders else (),
        )
    if data.ids:
        fields["columns"]["id"] = np.array(data.ids, dtype=object)
    for name, values in batch.columns.items():
        (fields if name in ("time", "group") else fields["columns"])[name] = values
    if options.keep_input and data.modality in ("text", "pair"):
        fields["input"] = np.array([_joined(one) for one in data.inputs], dtype=object)
    try:
        return answers.record(**fields)
    except InputError as error:
        raise error.at(file=str(options.columns.label or data.source), row_offset=batch.first_row) from None


def _joined(text: Any) -> str:
    return text if isinstance(text, str) else "\t".join(text)
