"""The hub: what `transformers` reads from a folder on the disk or from the Hugging Face hub, or one clear line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import InputError
from .torch.library import transformers as load_transformers

__all__ = ["load_pretrained"]


def load_pretrained(loader: str, source: str, *, expected: str = "an encoder", **options: Any) -> Any:
    """``transformers.<loader>.from_pretrained(source)``; a path is read from the disk, any other name from the hub.

    Raises `InputError` where neither has it.
    """
    make = getattr(load_transformers(), loader).from_pretrained
    local = Path(source).expanduser()
    try:
        if local.is_dir():
            return _as_saved(make(str(local), local_files_only=True, **options))
        return make(source, **options)
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        raise InputError(
            f"a folder or a hub name of {expected} and its tokenizer",
            got=repr(source),
            remedy=f"check the name and the network, or download it and give the folder ({type(error).__name__})",
        ) from error


def _as_saved(found: Any) -> Any:
    """A tokenizer without what tells where it was read from: saved again, it would write that into its folder."""
    for name in ("local_files_only", "is_local"):
        getattr(found, "init_kwargs", {}).pop(name, None)
    return found
