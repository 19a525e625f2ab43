"""The hub: what `transformers` reads from a folder on the disk or from the Hugging Face hub, or one clear line."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

from ..errors import InputError
from .torch.library import transformers as load_transformers

__all__ = ["class_names", "from_hub", "load_pretrained"]


def load_pretrained(loader: str, source: str, *, expected: str = "an encoder", **options: Any) -> Any:
    """``transformers.<loader>.from_pretrained(source)``; a path is read from the disk, any other name from the hub.

    Raises `InputError` where neither has it.
    """
    make = getattr(load_transformers(), loader).from_pretrained
    local = Path(source).expanduser()
    log = logging.getLogger("huggingface_hub")
    before = log.level
    log.setLevel(logging.ERROR)  # each retry would be a line; afterwards the log is as it was
    try:
        if local.is_dir():
            return _as_saved(make(str(local), local_files_only=True, **options))
        return _as_saved(make(source, **from_hub(), **options))
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        raise InputError(
            f"a folder or a hub name of {expected} and its tokenizer",
            got=repr(source),
            remedy=f"check the name and the network, or download it and give the folder ({type(error).__name__})",
        ) from error
    finally:
        log.setLevel(before)


def from_hub() -> dict[str, Any]:
    """Options of ``from_pretrained`` for a hub name: nothing but what was downloaded before where the hub is not there.

    See `oodometer.datasets.hub.hub_answers`.
    """
    from ..datasets.hub import hub_answers

    return {} if hub_answers() else {"local_files_only": True}


def _as_saved(found: Any) -> Any:
    """A tokenizer without what tells where it was read from: saved again, it would write that into its folder."""
    for name in ("local_files_only", "is_local"):
        getattr(found, "init_kwargs", {}).pop(name, None)
    return found


_NUMBERED = re.compile(r"LABEL_(\d+)")


def class_names(config: Any, source: str) -> tuple[int | str, ...]:
    """Class names of a classifier of transformers, in the order of its logits; ``LABEL_0``, ... are 0, ...

    Raises `InputError` where it gives no distribution over at least two classes.
    """
    problem = getattr(config, "problem_type", None)
    labels = {int(place): str(name) for place, name in (config.id2label or {}).items()}
    if len(labels) < 2 or problem not in (None, "single_label_classification"):
        got = f"one with {len(labels)} output" if len(labels) < 2 else f"one of the type {problem}"
        raise InputError(
            "a classifier that gives one distribution over its classes",
            got=got,
            remedy="regression and several labels at once are not judged by accuracy",
            file=source,
        )
    names = [labels[place] for place in sorted(labels)]
    if all((found := _NUMBERED.fullmatch(name)) and int(found[1]) == i for i, name in enumerate(names)):
        return tuple(range(len(names)))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            "a name for each class",
            got=f"{twice!r} twice",
            remedy="correct id2label in its config.json",
            file=source,
        )
    return tuple(names)
