"""Classes: which ones a fitted file may name, and how; what is not on these floors is never imported."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from typing import Any

from .. import registry

_PACKAGE = __name__.partition(".")[0]

# Floors of values and of arithmetic: no class there opens a file, a process or a connection.
FLOORS = (
    "arrays",
    "audits.proxy",
    "calibrators",
    "diagnoses",
    "estimators",
    "headline.natural_shifts",
    "inference",
    "metrics",
    "passes.chunking",
    "passes.evaluating",
    "passes.guarding",
    "passes.metrics",
    "passes.plan",
    "predictions",
    "results",
    "scores",
    "store.axes",
    "store.encoding",
    "verbs.estimate.reference_figures",
)
_OWN = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*")
_PLUGIN = "plugin"  # plugin:<kind>:<name>, found in the registry


class NotKept(TypeError):
    """Something that a fitted file cannot hold; the message says what and where."""


def name_of(cls: type) -> str:
    """How a file names a class; `NotKept` for one that no file may name.

    >>> from oodometer.arrays import Ragged
    >>> name_of(Ragged)
    'arrays:Ragged'
    >>> name_of(re.Pattern)
    Traceback (most recent call last):
    oodometer.persistence.classes.NotKept: a Pattern (re), which no fitted file may hold
    """
    package, _, module = cls.__module__.partition(".")
    name = f"{module}:{cls.__qualname__}"
    if package == _PACKAGE and _on_floor(module) and _OWN.fullmatch(name):
        return name
    kind = _kind_of(cls)
    if kind is not None:
        return f"{_PLUGIN}:{kind}:{cls.name}"  # type: ignore[attr-defined]
    raise NotKept(f"a {cls.__qualname__} ({cls.__module__}), which no fitted file may hold")


def _kind_of(cls: type) -> str | None:
    """The kind under which a class of another package is registered, None where it is not."""
    own: Iterable[registry.MethodKind] = registry.METHOD_KINDS if isinstance(getattr(cls, "name", None), str) else ()
    return next((kind for kind in own if registry.holds(kind, cls)), None)


@cache
def class_named(name: str) -> type:
    """The class of a name that `name_of` gave; `LookupError` for any other, before anything is imported.

    >>> class_named("arrays:Ragged").__name__
    'Ragged'
    >>> class_named("os:system")
    Traceback (most recent call last):
    LookupError: os:system
    """
    if name.startswith(f"{_PLUGIN}:"):
        _, kind, method = name.split(":", 2)
        if kind not in registry.METHOD_KINDS:
            raise LookupError(name)
        found: type = registry.find(kind, method)
        if found.__module__.partition(".")[0] == _PACKAGE or ":" in method:
            raise LookupError(name)
        return found
    module, _, member = name.partition(":")
    if not _OWN.fullmatch(name) or not _on_floor(module):
        raise LookupError(name)
    try:
        cls = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), member, None)
    except ImportError:
        cls = None
    if not isinstance(cls, type) or cls.__module__ != f"{_PACKAGE}.{module}" or issubclass(cls, BaseException):
        raise LookupError(name)
    return cls


def _on_floor(module: str) -> bool:
    return any(module == floor or module.startswith(f"{floor}.") for floor in FLOORS)


@cache
def attributes_of(cls: Any) -> tuple[str, ...] | None:
    """The fields of a dataclass but for its `_cache`; None for other classes, whose instances hold what they hold."""
    return tuple(f.name for f in fields(cls) if f.name != "_cache") if is_dataclass(cls) else None


def is_worked_out(cls: type, name: str) -> bool:
    """Whether an attribute is a `cached_property`: it is worked out again, not kept."""
    return isinstance(getattr(cls, name, None), cached_property)


def is_named_tuple(cls: type) -> bool:
    """Whether a class is a `NamedTuple`."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def blank(cls: type) -> Any:
    """An instance whose attributes are yet to be set; nothing of the class is run."""
    return object.__new__(cls)
