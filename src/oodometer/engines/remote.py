"""Remote work: a part on a machine that has its own copy of the code; state or error come back as bytes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager, chdir, nullcontext
from hashlib import blake2b
from typing import Any, NamedTuple

from ..errors import OodometerError, UsageError, WorkError
from ..version import __version__

_MOST_WORKS = 2  # that a worker holds unpickled: the one of this pass, and that of the one before
_works: dict[str, Callable[[Any], Any]] = {}


class Order(NamedTuple):
    """What every worker is sent: the work, pickled, its checksum, the version of the sender's code, and its folder."""

    version: str
    checksum: str
    work: bytes
    folder: str = ""


def order_of(work: Callable[[Any], Any], dumps: Callable[[Any], bytes]) -> Order:
    """The order for a work; `UsageError` where it cannot be pickled, as a plugin's open file cannot."""
    try:
        pickled = dumps(work)
        return Order(__version__, blake2b(pickled, digest_size=16).hexdigest(), pickled, os.getcwd())
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise UsageError(f"the work cannot be sent to other machines ({said}); take the engine local") from error


def run_part(order: Order, part: bytes) -> bytes:
    """On a worker: the state of a part, or the error that it ended with, pickled.

    An error comes back as a value, since clusters wrap what is raised in their own. The version is compared before
    anything is unpickled, which might fail in stranger ways.
    """
    try:
        if order.version != __version__:
            raise UsageError(
                f"expected workers with oodometer {order.version}, as here, got {__version__} on {_host()}; "
                "install the same version on all machines"
            )
        with _inside(order.folder):
            found: Any = work_of(order)(pickle.loads(part))
        return pickle.dumps((True, found), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return pickle.dumps((False, _portable(error)), pickle.HIGHEST_PROTOCOL)


def _inside(folder: str) -> AbstractContextManager[Any]:
    """Inside, relative paths mean what they mean to the sender; nothing where there is no such folder here."""
    return chdir(folder) if os.path.isdir(folder) and os.getcwd() != folder else nullcontext()


def received(answer: bytes) -> Any:
    """The state that a worker sent; raises the error that it sent instead."""
    done, found = pickle.loads(answer)
    if not done:
        raise found
    return found


def why_lost(engine: str, error: BaseException) -> OodometerError:
    """The one line for an error of the cluster itself: no code of ours on the workers, or a worker that died."""
    said = " ".join(str(error).split())
    if "No module named 'oodometer" in said:
        return UsageError(f"the workers of {engine} have no oodometer; install version {__version__} on all machines")
    said = said if len(said) <= 300 else said[:297] + "..."
    return WorkError(
        f"{engine} lost a part of the work, tried again in vain ({type(error).__name__}: {said}); see its own logs, "
        "give workers more memory, or take fewer of them"
    )


def work_of(order: Order) -> Callable[[Any], Any]:
    """The work, which many parts share; a worker that goes on to later passes lets it go."""
    found = _works.get(order.checksum)
    if found is None:
        found = pickle.loads(order.work)
        while len(_works) >= _MOST_WORKS:
            _works.pop(next(iter(_works)), None)
        _works[order.checksum] = found
    return found


def _portable(error: Exception) -> Exception:
    """The error itself, where it can travel; else what it said."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return WorkError(f"a worker on {_host()} failed: {type(error).__name__}: {error}")
    return error


def _host() -> str:
    import platform

    return platform.node() or "a machine without a name"
