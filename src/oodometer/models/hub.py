"""The hub: what `transformers` reads from a folder on the disk or from the Hugging Face hub, or one clear line."""

from __future__ import annotations

import json
import logging
import os
import re
from pathlib import Path
from typing import Any

from ..errors import InputError
from .torch.library import transformers as load_transformers

_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_EXPLICIT = "hub:"
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")
_NO_CONVERSION = "DISABLE_SAFETENSORS_CONVERSION"  # transformers would ask a service on the hub for one


def load_pretrained(loader: str, source: str, *, expected: str = "an encoder", **options: Any) -> Any:
    """``transformers.<loader>.from_pretrained(source)``: of a folder, or of the hub.

    ``source`` is a path, a name ``owner/name`` on the hub whose owner is no folder here, or ``hub:name``. Code that a
    model brings along is never run, and weights are read from safetensors alone. Raises `InputError` where there is
    none, and for a model that needs one of both.
    """
    local, name = Path(source).expanduser(), source.removeprefix(_EXPLICIT)
    is_here = name == source and local.is_dir()
    if not is_here and name == source and not (_HUB.fullmatch(source) and not _is_path(source)):
        raise InputError(
            f"{expected}: a folder, or OWNER/NAME on the Hugging Face hub",
            got=f"{source!r}, and no such folder is here" if not local.exists() else f"the file {source!r}",
            remedy=f"check the path; {_EXPLICIT}NAME asks the hub whatever the name looks like",
        )
    options |= {"trust_remote_code": False, **({"local_files_only": True} if is_here else from_hub())}
    if loader.startswith("AutoModel"):
        options["use_safetensors"] = True
        if is_here and not any(local.glob("*.safetensors")):
            names = [one.name for one in sorted(local.iterdir()) if one.suffix in _PICKLED]
            raise _no_safetensors(expected, loader, str(local), ", ".join(names[:3]) or "a folder without weights")
    make = getattr(load_transformers(), loader).from_pretrained
    log = logging.getLogger("huggingface_hub")
    before, converts = log.level, os.environ.get(_NO_CONVERSION)
    log.setLevel(logging.ERROR)  # each retry would be a line; afterwards the log is as it was
    os.environ[_NO_CONVERSION] = "1"
    try:
        return _as_saved(make(str(local) if is_here else name, **options))
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        if "trust_remote_code" in str(error):
            raise InputError(
                f"{expected} of a kind that transformers knows itself",
                got="a config.json that names code of its own (auto_map)",
                file=source,
                remedy="code that a model brings along is never run; load it in a function of yours and name that, "
                "package.module:function",
            ) from error
        if "use_safetensors" in str(error):
            raise _no_safetensors(expected, loader, name, "a model without model.safetensors") from error
        raise InputError(
            f"a folder or a hub name of {expected} and its tokenizer",
            got=repr(source),
            remedy=f"check the name and the network, or download it and give the folder ({type(error).__name__})",
        ) from error
    finally:
        log.setLevel(before)
        del os.environ[_NO_CONVERSION]
        os.environ |= {} if converts is None else {_NO_CONVERSION: converts}


def _is_path(source: str) -> bool:
    """Whether a name with one slash means a path: its folder is here, or it begins as paths do."""
    return source.startswith((".", "~", os.sep)) or Path(source).parent.is_dir()


def _no_safetensors(expected: str, loader: str, source: str, got: str) -> InputError:
    beside = "AutoImageProcessor" if "Image" in loader else "AutoTokenizer"
    write = "; ".join(f"t.{one}.from_pretrained({source!r}).save_pretrained('converted')" for one in (loader, beside))
    return InputError(
        f"{expected} with its weights as safetensors",
        got=got,
        file=source,
        remedy="pickled weights can run any code and are never read; if you trust who wrote them, "
        f'python -c "import transformers as t; {write}" writes the folder converted, which is',
    )


def from_hub() -> dict[str, Any]:
    """Options of ``from_pretrained`` for a hub name: nothing but what was downloaded before where the hub is not there.

    See `oodometer.datasets.files.hub_answers`.
    """
    from ..datasets.files import hub_answers

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
            "a name for each class", got=f"{twice!r} twice", remedy="correct id2label in its config.json", file=source
        )
    return tuple(names)
