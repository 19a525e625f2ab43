"""Encoding: an object and all that it holds as plain JSON and arrays, the same bytes every time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from ..arrays import Array
from .classes import NotKept, attributes_of, is_named_tuple, is_worked_out, name_of

TAG = "~"  # of a JSON object that stands for something else than a mapping of texts
KINDS = "biufcSUmM"  # of arrays that are kept as they lie in memory
_PLAIN = (type(None), bool, int, str)
_ODD = {math.inf: "inf", -math.inf: "-inf"}


class Encoder:
    """Turns objects into JSON; their arrays, each once, gather in `arrays`.

    Kept are numbers, texts, lists, tuples, sets, mappings, numpy arrays and numbers, and instances of the classes that
    `name_of` can name. An instance or array that is met again is told by reference, so that what was shared stays so.
    Values that are worked out on demand are left out. Raises `NotKept`, which names the place, for anything else.

    >>> encoder = Encoder()
    >>> encoder.encode({"a": (1, float("nan")), 2: np.arange(3)})
    {'~': 'map', 'v': [['a', {'~': 'tuple', 'v': [1, {'~': 'float', 'v': 'nan'}]}], [2, {'~': 'array', 'v': 0}]]}
    >>> len(encoder.arrays)
    1
    """

    def __init__(self) -> None:
        self.arrays: list[bytes] = []
        self._places: dict[bytes, int] = {}  # content of an array -> its place in the file
        self._seen: dict[int, tuple[Any, int]] = {}  # holds what it has seen, so that no id is given twice
        self._way: list[str] = []

    def encode(self, value: Any, name: str = "") -> Any:
        """The value as JSON; ``name`` is said in errors."""
        self._way = [name] if name else []
        self._seen = {}  # each value is decoded by itself
        try:
            return self._of(value)
        except NotKept as error:
            raise NotKept(f"{'.'.join(self._way) or 'it'} holds {error}") from None

    def _of(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is float:
            return value if math.isfinite(value) else {TAG: "float", "v": _ODD.get(value, "nan")}
        if kind is list:
            return self._entries(value)
        if kind is tuple:
            return {TAG: "tuple", "v": self._entries(value)}
        if kind in (set, frozenset):
            return {TAG: kind.__name__, "v": self._entries(sorted(value, key=lambda one: (str(type(one)), one)))}
        if kind is dict:
            return self._mapping(value)
        if isinstance(value, np.generic):
            return {TAG: "scalar", "v": self._array(np.asarray(value))}
        if is_named_tuple(kind):
            return {TAG: "named", "c": name_of(kind), "v": self._entries(value)}
        return self._known(value)

    def _entries(self, values: Any) -> list[Any]:
        return [self._under(str(i), one) for i, one in enumerate(values)]

    def _under(self, name: str, value: Any) -> Any:
        self._way.append(name)
        made = self._of(value)
        self._way.pop()  # not on an error, which tells the way
        return made

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        if all(type(key) is str for key in value) and TAG not in value:
            return {key: self._under(key, one) for key, one in value.items()}
        return {TAG: "map", "v": [[self._of(key), self._under(str(key), one)] for key, one in value.items()]}

    def _known(self, value: Any) -> Any:
        """An array or an instance: the first time what it is, then which one it was."""
        if id(value) in self._seen:
            return {TAG: "same", "v": self._seen[id(value)][1]}
        number = len(self._seen)
        self._seen[id(value)] = (value, number)
        if type(value) is np.ndarray:
            if value.dtype.kind == "O":
                return {TAG: "objects", "s": list(value.shape), "v": self._entries(value.ravel().tolist())}
            return {TAG: "array", "v": self._array(value)}
        return self._instance(value)

    def _instance(self, value: Any) -> Any:
        cls: Any = type(value)
        out: dict[str, Any] = {TAG: "object", "c": name_of(cls)}
        own = attributes_of(cls)
        if own is None:
            if not isinstance(getattr(value, "__dict__", None), dict):
                raise NotKept(f"a {cls.__qualname__} without attributes of its own")
            own = tuple(name for name in value.__dict__ if not is_worked_out(cls, name))
        out["v"] = {name: self._under(name, getattr(value, name)) for name in own}
        if isinstance(value, dict):
            out["d"] = [[self._of(key), self._under(str(key), one)] for key, one in value.items()]
        elif isinstance(value, (list, tuple, set, str, int, float)):
            raise NotKept(f"a {cls.__qualname__}, which is a {cls.__mro__[-2].__name__} at the same time")
        return out

    def _array(self, value: Array) -> int:
        """The place of an array's content among `arrays`; equal contents have one place."""
        if value.dtype.kind not in KINDS or value.dtype.names is not None:
            raise NotKept(f"an array of {value.dtype}")
        file = BytesIO()
        np.lib.format.write_array(file, value, version=(1, 0), allow_pickle=False)
        content = file.getvalue()
        place = self._places.setdefault(content, len(self.arrays))
        if place == len(self.arrays):
            self.arrays.append(content)
        return place
