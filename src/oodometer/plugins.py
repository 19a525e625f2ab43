"""Plugins: whatever a method of someone else does, it ends as a reason why it was left out, never as a crash."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .errors import NotApplicable, OodometerError, WorkError

# SystemExit among them: a method has no say in the end of the program. Ctrl-C passes.
FAILURES = (Exception, SystemExit)

T = TypeVar("T")

_LOG = logging.getLogger("oodometer.plugins")
_HOME = __name__.rpartition(".")[0]


class PluginError(WorkError):
    """A method failed in a way that it should not; the message names it, on one line."""


def is_foreign(method: Any) -> bool:
    """Whether a method (or its class) comes from a package other than ours.

    >>> is_foreign(PluginError), is_foreign("text")
    (False, True)
    """
    cls = method if isinstance(method, type) else type(method)
    return cls.__module__.partition(".")[0] != _HOME


def why_failed(name: str, method: Any, error: BaseException) -> str:
    """The reason to print; raises the error again where it is meant for the user, as wrong input is.

    >>> why_failed("odd", "of another package", ZeroDivisionError("division by zero"))
    'plugin odd failed: ZeroDivisionError: division by zero'
    """
    if isinstance(error, (NotApplicable, PluginError)):
        return str(error)
    if isinstance(error, OodometerError) and not is_foreign(method):
        raise error
    return reason(name, is_foreign(method), error)


def answer(method: Any, work: Callable[[], T], check: Callable[[T], Any] | None = None) -> T:
    """What ``work`` gives; of a method of someone else `PluginError` where it fails or does not pass the check.

    >>> answer("ours", lambda: 3)
    3
    """
    if not is_foreign(method):
        return work()
    try:
        found = work()
        if check is not None:
            check(found)
    except NotApplicable:
        raise
    except FAILURES as error:
        raise PluginError(why_failed(method.name, method, error)) from error
    return found


def reason(name: str, foreign: bool, error: BaseException | str) -> str:
    """One line that says what failed and how; the log has the traceback (`--debug` shows it)."""
    if isinstance(error, BaseException):
        _LOG.debug("%s failed", name, exc_info=error)
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    else:
        said = error
    text = " ".join(f"{'plugin ' if foreign else ''}{name} failed: {said}".split())
    text = text if len(text) <= 300 else text[:297] + "..."
    return text if foreign else f"{text}; report it"


@contextmanager
def tracebacks_on(wanted: bool) -> Iterator[None]:
    """Inside, where wanted, the tracebacks of failed methods are shown on standard error."""
    if not wanted:
        yield
        return
    shown = logging.StreamHandler()
    before = _LOG.level
    _LOG.addHandler(shown)
    _LOG.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        _LOG.removeHandler(shown)
        _LOG.setLevel(before)
