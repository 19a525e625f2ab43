"""Checkpoints: weights, the state of Adam and the step, in one safetensors file; a training goes on from it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError, MissingExtraError
from ...store import write_atomic
from ...store.artifact_cache import checksum, made_anew

FILE = "checkpoint.safetensors"
_CHECKSUM = "checksum"


def store(folder: Path, net: Any, optimizer: Any, *, fingerprint: str, step: int) -> None:
    """Write the state after ``step`` steps; the file appears whole or not at all."""
    tensors = {f"net.{name}": value for name, value in weights(net).items()}
    for i, state in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{i}.{name}": value for name, value in state.items()}
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / FILE, tensors, {"fingerprint": fingerprint, "step": str(step)})


def restore(
    folder: Path, net: Any, optimizer: Any, *, fingerprint: str, fits: Callable[[int], bool] | None = None
) -> int:
    """Load the state if there is one of this very training; returns the steps done, 0 where there is none.

    ``fits`` is asked with the steps done before anything is loaded: False leaves the state alone.
    """
    path = folder / FILE
    if not path.is_file():
        return 0
    try:
        tensors, about = read_tensors(path)
    except InputError as error:  # an unreadable checkpoint is none: the training starts again
        made_anew(path, f"expected {error.expected}, got {error.got}")
        return 0
    if about.get("fingerprint") != fingerprint or (fits is not None and not fits(int(about["step"]))):
        return 0
    load_weights(net, {k.removeprefix("net."): v for k, v in tensors.items() if k.startswith("net.")})
    state: dict[int, dict[str, Any]] = {}
    for key, value in tensors.items():
        if key.startswith("adam."):
            _, place, name = key.split(".", 2)
            state.setdefault(int(place), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return int(about["step"])


def weights(net: Any) -> dict[str, Any]:
    """Parameters and buffers by name; one that goes by several names, such as a tied embedding, is there once."""
    found: dict[str, Any] = {}
    seen: set[tuple[Any, ...]] = set()
    for name, value in net.state_dict().items():
        same = (value.data_ptr(), tuple(value.shape), tuple(value.stride()), value.dtype)
        if value.numel() == 0 or same not in seen:
            found[name] = value
        seen.add(same)
    return found


def load_weights(net: Any, tensors: Mapping[str, Any]) -> None:
    """Set what `weights` gave, in a network of the same build; `InputError` where names or shapes differ."""
    expected = set(weights(net))
    if expected != set(tensors):
        odd = sorted(expected ^ set(tensors))
        raise InputError(
            "weights of the same network", got=f"others, such as {odd[0]}", remedy="train it again", column="weights"
        )
    try:
        net.load_state_dict(dict(tensors), strict=False)
    except RuntimeError as error:
        raise InputError(
            "weights of the same network", got="other shapes", remedy="train it again", column="weights"
        ) from error


def write_tensors(path: Path, tensors: dict[str, Any], about: dict[str, str]) -> Path:
    """Write named tensors and a mapping of strings as safetensors, whole or not at all."""
    save = _library().save
    plain = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    return write_atomic(path, save(plain, metadata={**about, _CHECKSUM: _checksum(plain)}))


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Named tensors and the mapping beside them; `InputError` for a file that is no safetensors file, or a damaged one.

    What we write carries a checksum of its tensors; a file of others is taken without.
    """
    library = _library()
    content = Path(path).read_bytes()
    try:
        tensors: dict[str, Any] = library.load(content)
        size = int.from_bytes(content[:8], "little")
        about: dict[str, str] = json.loads(content[8 : 8 + size]).get("__metadata__", {})
    except Exception as error:  # the library raises a class of its own, which it does not export everywhere
        raise InputError(
            "a safetensors file", got="something else", remedy="remove it and train again", file=str(path)
        ) from error
    if about.pop(_CHECKSUM, None) not in (None, _checksum(tensors)):
        raise InputError(
            "tensors as they were written",
            got="others: the checksum differs",
            file=str(path),
            remedy="the file is damaged: remove it and train again",
        )
    return tensors, about


def _checksum(tensors: Mapping[str, Any]) -> str:
    """Of names, types, shapes and bytes, in the order of the names."""
    parts: list[str | bytes] = []
    for name in sorted(tensors):
        value = tensors[name].contiguous()
        flat = value.reshape(-1).view(_library_of_tensors().uint8) if value.numel() else value.reshape(-1)
        parts += [f"{name} {value.dtype} {tuple(value.shape)}", flat.numpy().tobytes()]
    return checksum(*parts)


def _library_of_tensors() -> Any:
    from .library import torch

    return torch()


def _library() -> Any:
    try:
        import safetensors.torch
    except ImportError as error:
        raise MissingExtraError("saving a model", "safetensors", extra="hf") from error
    return safetensors.torch
