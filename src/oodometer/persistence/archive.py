"""Archive: the fitted file, a zip of JSON and arrays with a checksum of every byte, written whole or not at all."""

from __future__ import annotations

import importlib
import json
import math
import re
import tokenize
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from hashlib import blake2b
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from .. import registry
from ..arrays import Array
from ..errors import InputError
from ..plain import Json, Plain, Strings
from ..store.atomic import write_result
from ..version import __version__

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
# arrays that are alike are kept once: bytes that may be made of those that are there
_TIMES, _MORE = (
    16,
    64 << 20,
)


class Damaged(ValueError):
    """What a file holds is not what `Encoder` writes."""


def decoded(tree: Any, arrays: Sequence[bytes]) -> Any:
    """The object that a tree of `Encoder` stands for; `Damaged` for anything else.

    tree : JSON as `Encoder.encode` gives it.
    arrays : contents of the arrays that the tree names by their places, as `.npy`.

    Instances are made without their constructors; those of a dataclass must have exactly its own attributes. Classes
    are found by `class_named`, so that a file can name none but a few floors' own.
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
    # empty texts, of which numpy makes some with a letter each
    if not dtype.itemsize and size > _MOST_BLANK:
        raise Damaged(f"an array of {size} empty texts")
    flat = (
        np.frombuffer(content, dtype, size, start)
        if size * dtype.itemsize
        else np.empty(size, dtype)
    )
    return flat.copy().reshape(shape, order="F" if fortran else "C")


class _Decoder:
    def __init__(self, arrays: Sequence[bytes]) -> None:
        self._arrays = arrays
        self._seen: list[Any] = []
        self._left = _MORE + _TIMES * sum(map(len, arrays))
        self._made: dict[str, Callable[[Json], Any]] = {
            "tuple": lambda tree: tuple(self._entries(tree)),
            "set": lambda tree: set(self._entries(tree)),
            "frozenset": lambda tree: frozenset(self._entries(tree)),
            "float": lambda tree: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[tree["v"]],
            "map": lambda tree: {self.of(key): self.of(entry) for key, entry in tree["v"]},
            "scalar": lambda tree: self._array(tree)[()],
            "named": self._named,
            "same": lambda tree: self._seen[_index(tree["v"])],
            "array": lambda tree: self._noted(self._array(tree)),
            "objects": self._objects,
            "object": self._object,
        }

    def of(self, tree: Any) -> Any:
        """The value of one piece of JSON."""
        if type(tree) is list:
            return [self.of(entry) for entry in tree]
        if type(tree) is not dict:
            return tree
        if TAG in tree:
            return self._made[tree[TAG]](tree)
        return {key: self.of(value) for key, value in tree.items()}

    def _entries(self, tree: Json) -> list[Any]:
        if type(tree["v"]) is not list:
            raise Damaged("no list")
        return [self.of(value) for value in tree["v"]]

    def _noted(self, value: Any) -> Any:
        self._seen.append(value)
        return value

    def _array(self, tree: Json) -> Array:
        index = _index(tree["v"])
        self._left -= len(self._arrays[index])
        if self._left < 0:  # one array that is named a thousand times would fill the memory
            raise Damaged(f"array {index} too often")
        return read_array(self._arrays[index])

    def _objects(self, tree: Json) -> Any:
        size = math.prod(map(_index, tree["s"]))
        if type(tree["v"]) is not list or len(tree["v"]) != size:
            raise Damaged(f"{size} objects, of which there are others")
        out = np.empty(size, dtype=object)
        self._seen.append(None)
        number = len(self._seen) - 1
        out[:] = self._entries(tree)
        self._seen[number] = out = out.reshape(tree["s"])
        return out

    def _named(self, tree: Json) -> Any:
        cls: Any = class_named(tree["c"])
        if not is_named_tuple(cls):
            raise Damaged(f"{tree['c']} is no named tuple")
        return cls._make(self._entries(tree))

    def _object(self, tree: Json) -> Any:
        cls: Any = class_named(tree["c"])
        if issubclass(cls, tuple):
            raise Damaged(f"{tree['c']} is a tuple")
        # nothing of the class is run
        instance: Any = (dict if issubclass(cls, dict) else object).__new__(cls)
        self._seen.append(instance)
        state = tree["v"]
        attributes = attributes_of(cls)
        if type(state) is not dict or (attributes is not None and tuple(state) != attributes):
            raise Damaged(f"other attributes of {tree['c']}")
        for name, value in state.items():
            if name.startswith("__"):
                raise Damaged(f"an attribute {name}")
            object.__setattr__(instance, name, self.of(value))
        if attributes is not None and "_cache" in cls.__dataclass_fields__:
            object.__setattr__(instance, "_cache", {})
        if isinstance(instance, dict):
            instance.update((self.of(key), self.of(value)) for key, value in tree["d"])
        return instance


def _index(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise Damaged(f"no index: {value!r}")
    return value


ENDING = ".oodo"
FORMAT = (
    5  # raise it when a file of before can no longer be read, or what it holds means something else
)
_HEADER = "oodometer.json"
_SIGN = b"oodometer blake2b "
_DIGEST = 20  # bytes
_EARLY = (1980, 1, 1, 0, 0, 0)  # no time of writing: the same content is the same file
_REMEDY = "write it again with `oodometer fit REFERENCE --out FILE.oodo`"


def write_archive(
    path: str | PathLike[str],
    about: Plain,
    sections: Plain,
    arrays: Sequence[bytes],
) -> Path:
    """Write `archive_of` what it is ``about``, its ``sections`` and ``arrays`` to the file ``path``, which is returned.
    Raises `WorkError` where it cannot be written.
    """
    return write_result(path, archive_of(about, sections, arrays))


def archive_of(about: Plain, sections: Plain, arrays: Sequence[bytes]) -> bytes:
    """The bytes of a fitted file: what it is ``about``, sections of JSON, arrays as `.npy`; the zip's comment is a
    checksum.
    """
    header = {"oodometer": __version__, "format": FORMAT, "arrays": len(arrays), **about}
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, _HEADER, (json.dumps(header, indent=2, allow_nan=False) + "\n").encode())
        for name, section in sections.items():
            _add(
                archive,
                f"{name}.json",
                json.dumps(section, allow_nan=False, separators=(",", ":")).encode(),
            )
        for i, content in enumerate(arrays):
            _add(archive, _array_name(i), content)
        archive.comment = _SIGN + bytes(2 * _DIGEST)
    body = file.getvalue()[: -2 * _DIGEST]
    return body + _checksum(body)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EARLY)
    entry.create_system, entry.external_attr = 3, 0o644 << 16  # alike on every system
    archive.writestr(entry, content)


def _array_name(number: int) -> str:
    return f"arrays/{number:04}.npy"


def _checksum(body: Any) -> bytes:
    return blake2b(body, digest_size=_DIGEST).hexdigest().encode()


class Archive:
    """A fitted file that is whole and of this version; its sections are read when they are asked for."""

    def __init__(self, name: str, content: bytes) -> None:
        """``content`` of the file ``name``; `InputError` where it is none, damaged, or of another version."""
        self.name, self._content = name, content
        self._entries: dict[str, tuple[int, int]] = {}
        if not content.startswith(b"PK\x03\x04"):
            raise InputError(
                "a fitted file", got="other bytes at the start", remedy=_REMEDY, file=self.name
            )
        body, checksum = memoryview(content)[: -2 * _DIGEST], content[-2 * _DIGEST :]
        if bytes(body[-len(_SIGN) :]) != _SIGN or _checksum(body) != checksum:
            if f"{_HEADER}".encode() not in content[:80]:
                raise InputError(
                    "a fitted file", got="another zip file", remedy=_REMEDY, file=self.name
                )
            raise self.damaged()
        try:
            with zipfile.ZipFile(BytesIO(content)) as archive:
                for member in archive.infolist():
                    start = member.header_offset
                    head = self._content[start : start + 30]
                    if (
                        member.compress_type != zipfile.ZIP_STORED
                        or member.file_size != member.compress_size
                        or len(head) < 30
                    ):
                        raise Damaged(f"{member.filename} is packed")
                    start += (
                        30
                        + int.from_bytes(head[26:28], "little")
                        + int.from_bytes(head[28:30], "little")
                    )
                    if start + member.file_size > len(self._content):
                        raise Damaged(f"{member.filename} is cut off")
                    self._entries[member.filename] = start, start + member.file_size
        except (
            zipfile.BadZipFile,
            ValueError,
            LookupError,
            NotImplementedError,
            EOFError,
            OSError,
        ) as error:
            raise self.damaged(error) from None
        header = self.section(_HEADER.removesuffix(".json"))
        if not isinstance(header, dict) or type(header.get("arrays")) is not int:
            raise self.damaged(Damaged("its header"))
        if header.get("format") != FORMAT or header.get("oodometer") != __version__:
            raise InputError(
                f"a file that oodometer {__version__} fitted (format {FORMAT})",
                got=f"one of oodometer {header.get('oodometer')} (format {header.get('format')})",
                remedy="what was learnt may mean something else there: fit it again with this version",
                file=self.name,
            )
        self.arrays = [self._entry(_array_name(i)) for i in range(header["arrays"])]

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Read the file; `InputError` where that is impossible."""
        try:
            if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
                raise OSError(0, "a pipe or device")  # which may never end
            return cls(str(path), Path(path).read_bytes())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                "a file that can be read",
                got=reason,
                remedy="check the path, or " + _REMEDY,
                file=str(path),
            ) from None

    def section(self, name: str) -> Any:
        """The JSON of a section; `InputError` where it is none."""
        try:
            return json.loads(self._entry(f"{name}.json"))
        except (ValueError, RecursionError, Damaged) as error:
            raise self.damaged(error) from None

    def damaged(self, error: Exception | None = None) -> InputError:
        """The error for a file that is not what was written."""
        got = "one that is cut off or damaged" + (
            f" ({' '.join(str(error).split())[:200]})" if error else ""
        )
        return InputError("a whole fitted file", got=got, remedy=_REMEDY, file=self.name)

    def _entry(self, name: str) -> bytes:
        if name not in self._entries:
            raise self.damaged(Damaged(f"no {name}"))
        start, end = self._entries[name]
        return self._content[start:end]


TAG = "~"  # of a JSON object that stands for something else than a mapping of texts
KINDS = "biufcSUmM"  # of arrays that are kept as they lie in memory
_PLAIN = (type(None), bool, int, str)
_ODD = {math.inf: "inf", -math.inf: "-inf"}


class Encoder:
    """Turns objects into JSON; their arrays, each once, gather in `arrays`. Kept are numbers, texts, lists, tuples,
    sets, mappings, numpy arrays and numbers, and instances of the classes that `name_of` can name; what is met again is
    told by reference, and values that are worked out on demand are left out. Raises `NotKept`, which names the place,
    for anything else.
    """

    def __init__(self) -> None:
        self.arrays: list[bytes] = []
        self._indices: dict[bytes, int] = {}  # content of an array -> its place in the file
        # holds what it has seen, so that no id is given twice
        self._seen: dict[int, tuple[Any, int]] = {}
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
        kind = getattr(type(value), "kept_as", type(value))  # what differs at a prompt alone
        if kind in _PLAIN:
            return value
        if kind is float:
            return value if math.isfinite(value) else {TAG: "float", "v": _ODD.get(value, "nan")}
        if kind is list:
            return self._entries(value)
        if kind is tuple:
            return {TAG: "tuple", "v": self._entries(value)}
        if kind in (set, frozenset):
            return {
                TAG: kind.__name__,
                "v": self._entries(sorted(value, key=lambda entry: (str(type(entry)), entry))),
            }
        if kind is dict:
            return self._mapping(value)
        if isinstance(value, np.generic):
            return {TAG: "scalar", "v": self._array(np.asarray(value))}
        if is_named_tuple(kind):
            return {TAG: "named", "c": name_of(kind), "v": self._entries(value)}
        if id(value) in self._seen:
            return {TAG: "same", "v": self._seen[id(value)][1]}
        number = len(self._seen)
        self._seen[id(value)] = (value, number)
        return self._ndarray(value) if kind is np.ndarray else self._instance(value)

    def _mapping(self, value: dict[Any, Any]) -> Json:
        if all(type(key) is str for key in value) and TAG not in value:
            return {key: self._under(key, entry) for key, entry in value.items()}
        return {TAG: "map", "v": self._pairs(value)}

    def _pairs(self, value: dict[Any, Any]) -> list[Any]:
        return [[self._of(key), self._under(str(key), entry)] for key, entry in value.items()]

    def _ndarray(self, value: Any) -> Json:
        if value.dtype.kind != "O":
            return {TAG: "array", "v": self._array(value)}
        entries = self._entries(value.ravel().tolist())
        return {TAG: "objects", "s": list(value.shape), "v": entries}

    def _instance(self, value: Any) -> Json:
        """An instance of a class, by its attributes, and the entries of a mapping."""
        cls: Any = type(value)
        out: Json = {TAG: "object", "c": name_of(cls)}
        names = attributes_of(cls)
        if names is None:
            if not isinstance(getattr(value, "__dict__", None), dict):
                raise NotKept(f"a {cls.__qualname__} without attributes of its own")
            names = tuple(
                n for n in value.__dict__ if not isinstance(getattr(cls, n, None), cached_property)
            )
        out["v"] = {name: self._under(name, getattr(value, name)) for name in names}
        if isinstance(value, dict):
            out["d"] = self._pairs(value)
        elif isinstance(value, (list, tuple, set, str, int, float)):
            raise NotKept(
                f"a {cls.__qualname__}, which is a {cls.__mro__[-2].__name__} at the same time"
            )
        return out

    def _entries(self, values: Any) -> list[Any]:
        return [self._under(str(i), value) for i, value in enumerate(values)]

    def _under(self, name: str, value: Any) -> Any:
        self._way.append(name)
        encoded = self._of(value)
        self._way.pop()  # not on an error, which tells the way
        return encoded

    def _array(self, value: Array) -> int:
        """The place of an array's content among `arrays`; equal contents have one place."""
        if value.dtype.kind not in KINDS or value.dtype.names is not None:
            raise NotKept(f"an array of {value.dtype}")
        file = BytesIO()
        np.lib.format.write_array(file, value, version=(1, 0), allow_pickle=False)
        content = file.getvalue()
        at = self._indices.setdefault(content, len(self.arrays))
        if at == len(self.arrays):
            self.arrays.append(content)
        return at


_PACKAGE = __name__.partition(".")[0]

# Floors of values and of arithmetic: no class there opens a file, a process or a connection.
FLOORS = (
    "arrays",
    "audits.proxy",
    "calibrators",
    "diagnoses",
    "estimators",
    "headline.metric_shifts",
    "headline.natural_shifts",
    "headline.own_history",
    "inference",
    "metrics",
    "passes.evaluating",
    "passes.metrics",
    "passes.plan",
    "passes.slicing",
    "predictions",
    "registry",
    "results",
    "scores",
    "store.base",
    "store.encoding",
)
_OWN = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*")
_PLUGIN = "plugin"  # plugin:<kind>:<name>, found in the registry


class NotKept(TypeError):
    """Something that a fitted file cannot hold; the message says what and where."""


def name_of(cls: type) -> str:
    """How a file names a class; `NotKept` for one that no file may name."""
    package, _, module = cls.__module__.partition(".")
    name = f"{module}:{cls.__qualname__}"
    if package == _PACKAGE and _on_floor(module) and _OWN.fullmatch(name):
        return name
    kinds: Iterable[registry.MethodKind] = (
        registry.METHOD_KINDS if isinstance(getattr(cls, "name", None), str) else ()
    )
    kind = next((kind for kind in kinds if registry.holds(kind, cls)), None)
    if kind is not None:
        return f"{_PLUGIN}:{kind}:{cls.name}"  # type: ignore[attr-defined]
    raise NotKept(f"a {cls.__qualname__} ({cls.__module__}), which no fitted file may hold")


@cache
def class_named(name: str) -> type:
    """The class of a name that `name_of` gave; `LookupError` for any other, before anything is imported."""
    if name.startswith(f"{_PLUGIN}:"):
        _, kind, method = name.split(":", 2)
        if kind not in registry.METHOD_KINDS:
            raise LookupError(name)
        plugin: type = registry.find(kind, method)
        if plugin.__module__.partition(".")[0] == _PACKAGE or ":" in method:
            raise LookupError(name)
        return plugin
    module, _, member = name.partition(":")
    if not _OWN.fullmatch(name) or not _on_floor(module):
        raise LookupError(name)
    try:
        cls = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), member, None)
    except ImportError:
        cls = None
    if (
        not isinstance(cls, type)
        or cls.__module__ != f"{_PACKAGE}.{module}"
        or issubclass(cls, BaseException)
    ):
        raise LookupError(name)
    return cls


def _on_floor(module: str) -> bool:
    return any(module == floor or module.startswith(f"{floor}.") for floor in FLOORS)


@cache
def attributes_of(cls: Any) -> Strings | None:
    """The fields of a dataclass but for its `_cache`; None for other classes, whose instances hold what they hold."""
    return tuple(f.name for f in fields(cls) if f.name != "_cache") if is_dataclass(cls) else None


def is_named_tuple(cls: type) -> bool:
    """Whether a class is a `NamedTuple`."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)
