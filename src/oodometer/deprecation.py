"""Deprecation: old names of modules, of their members and of arguments keep working for one release, with a warning."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .errors import UsageError

__all__ = ["moved", "renamed_arguments", "take_new_names", "warn_old"]

F = TypeVar("F", bound=Callable[..., Any])


def warn_old(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warn whoever called the caller that something has a new name; ``stacklevel`` as of `warnings.warn`."""
    warnings.warn(
        f"{old} is now {new}; the old form goes with the next release", DeprecationWarning, stacklevel=stacklevel
    )


def take_new_names(given: dict[str, Any], names: Mapping[str, str]) -> None:
    """Put what is given by an old name, old -> new, under the new one, with a warning for the caller's caller.

    Raises `UsageError` where both are given.
    """
    for old in names.keys() & given.keys():
        new = names[old]
        if new in given:
            raise UsageError(f"{old} is now called {new}: give {new} alone")
        warn_old(f"the argument {old}", new, stacklevel=4)
        given[new] = given.pop(old)


def renamed_arguments(**names: str) -> Callable[[F], F]:
    """A decorator: arguments may also be given by their old names, old -> new; a warning names the new one.

    Raises `UsageError` where both are given.

    >>> @renamed_arguments(longest="max_length")
    ... def cut(text, *, max_length):
    ...     return text[:max_length]
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     cut("abcd", longest=2)
    'ab'
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def called(*args: Any, **given: Any) -> Any:
            take_new_names(given, names)
            return function(*args, **given)

        return called  # type: ignore[return-value]

    return decorate


def moved(module: str, members: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for an old module: ``members`` maps its names to ``module:name`` of the package.

    >>> old = moved("oodometer.models.training", {"Plan": "models.torch.training:TrainingConfig"})
    >>> old("Other")
    Traceback (most recent call last):
    AttributeError: module 'oodometer.models.training' has no attribute 'Other'
    """

    def getattr_(name: str) -> Any:
        if name not in members:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, _, new = members[name].partition(":")
        warn_old(f"{module}.{name}", f"oodometer.{place}.{new}")
        return getattr(importlib.import_module(f"{__package__}.{place}"), new)

    return getattr_
