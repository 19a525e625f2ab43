"""Decoding: from JSON and arrays back to the objects; whatever does not fit is damage, and nothing of it is run."""

from __future__ import annotations

import math
import tokenize
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from ..arrays import Array
from .classes import attributes_of, blank, class_named, is_named_tuple
from .encoding import KINDS, TAG

_FAULTS = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
    SyntaxError,
    tokenize.TokenError,  # numpy reads a damaged header of an array as one that Python 2 wrote
)


_MOST_BLANK = 1 << 16
_TIMES, _MORE = 16, 64 << 20  # arrays that are alike are kept once: bytes that may be made of those that are there


class Damaged(ValueError):
    """What a file holds is not what `Encoder` writes."""


def decoded(tree: Any, arrays: Sequence[bytes]) -> Any:
    """The object that a tree of `Encoder` stands for; `Damaged` for anything else.

    Instances are made without their constructors, and get the attributes that are told; those of a dataclass must be
    exactly its own. Classes are found by `class_named`, so that a file can name none but a few floors' own.

    >>> decoded({"a": {"~": "tuple", "v": [1, 2]}}, [])
    {'a': (1, 2)}
    >>> decoded({"~": "object", "c": "subprocess:Popen", "v": {}}, [])
    Traceback (most recent call last):
    oodometer.persistence.decoding.Damaged: LookupError: subprocess:Popen
    """
    try:
        return _Decoder(arrays).of(tree)
    except Damaged:
        raise
    except _FAULTS as error:
        raise Damaged(f"{type(error).__name__}: {error}") from error


def read_array(content: bytes) -> Array:
    """The array of a `.npy` file of version 1.0; `ValueError` where its length or kind is another."""
    file = BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise Damaged("an array of another version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in KINDS or dtype.names is not None or dtype.subdtype is not None:
        raise Damaged(f"an array of {dtype}")
    start, size = file.tell(), math.prod(shape)
    if min(shape, default=0) < 0 or size * dtype.itemsize != len(content) - start:
        raise Damaged("an array of another length")
    if not dtype.itemsize and size > _MOST_BLANK:  # empty texts, of which numpy makes some with a letter each
        raise Damaged(f"an array of {size} empty texts")
    flat = np.frombuffer(content, dtype, size, start) if size * dtype.itemsize else np.empty(size, dtype)
    return flat.copy().reshape(shape, order="F" if fortran else "C")


class _Decoder:
    def __init__(self, arrays: Sequence[bytes]) -> None:
        self._arrays = arrays
        self._seen: list[Any] = []
        self._left = _MORE + _TIMES * sum(map(len, arrays))
        self._made: dict[str, Callable[[dict[str, Any]], Any]] = {
            "tuple": lambda told: tuple(self._entries(told)),
            "set": lambda told: set(self._entries(told)),
            "frozenset": lambda told: frozenset(self._entries(told)),
            "float": _odd,
            "map": lambda told: {self.of(key): self.of(one) for key, one in told["v"]},
            "scalar": lambda told: self._array(told)[()],
            "named": self._named,
            "same": lambda told: self._seen[_place(told["v"])],
            "array": lambda told: self._noted(self._array(told)),
            "objects": self._objects,
            "object": self._object,
        }

    def of(self, told: Any) -> Any:
        """The value of one piece of JSON."""
        if type(told) is list:
            return [self.of(one) for one in told]
        if type(told) is not dict:
            return told
        if TAG in told:
            return self._made[told[TAG]](told)
        return {key: self.of(one) for key, one in told.items()}

    def _entries(self, told: dict[str, Any]) -> list[Any]:
        if type(told["v"]) is not list:
            raise Damaged("no list")
        return [self.of(one) for one in told["v"]]

    def _noted(self, value: Any) -> Any:
        self._seen.append(value)
        return value

    def _array(self, told: dict[str, Any]) -> Array:
        place = _place(told["v"])
        self._left -= len(self._arrays[place])
        if self._left < 0:  # one array that is named a thousand times would fill the memory
            raise Damaged(f"array {place} too often")
        return read_array(self._arrays[place])

    def _objects(self, told: dict[str, Any]) -> Any:
        size = math.prod(map(_place, told["s"]))
        if type(told["v"]) is not list or len(told["v"]) != size:
            raise Damaged(f"{size} objects, of which there are others")
        out = np.empty(size, dtype=object)
        self._seen.append(None)
        number = len(self._seen) - 1
        out[:] = self._entries(told)
        self._seen[number] = out = out.reshape(told["s"])
        return out

    def _named(self, told: dict[str, Any]) -> Any:
        cls: Any = class_named(told["c"])
        if not is_named_tuple(cls):
            raise Damaged(f"{told['c']} is no named tuple")
        return cls._make(self._entries(told))

    def _object(self, told: dict[str, Any]) -> Any:
        cls: Any = class_named(told["c"])
        if issubclass(cls, tuple):
            raise Damaged(f"{told['c']} is a tuple")
        made: Any = dict.__new__(cls) if issubclass(cls, dict) else blank(cls)
        self._seen.append(made)
        state = told["v"]
        own = attributes_of(cls)
        if type(state) is not dict or (own is not None and tuple(state) != own):
            raise Damaged(f"other attributes of {told['c']}")
        for name, one in state.items():
            if name.startswith("__"):
                raise Damaged(f"an attribute {name}")
            object.__setattr__(made, name, self.of(one))
        if own is not None and "_cache" in cls.__dataclass_fields__:
            object.__setattr__(made, "_cache", {})
        if isinstance(made, dict):
            made.update((self.of(key), self.of(one)) for key, one in told["d"])
        return made


def _odd(told: dict[str, Any]) -> float:
    return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[told["v"]]


def _place(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise Damaged(f"no place: {value!r}")
    return value
