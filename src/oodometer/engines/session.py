"""Sessions: a cluster that is started here lives as long as any engine that uses it."""

from __future__ import annotations

import signal
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_PATIENCE = 5.0  # seconds for an address to answer


class Session:
    """A cluster that was started here; ``stop`` is called when the last engine that holds this is gone.

    >>> session = Session(lambda: print("stopped"))
    >>> del session
    stopped
    """

    def __init__(self, stop: Callable[[], object]) -> None:
        weakref.finalize(self, stop)


_started: weakref.WeakValueDictionary[tuple[str, str | None], Session] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def join(
    name: str, address: str | None, is_there: Callable[[], bool], start: Callable[[], Callable[[], object]]
) -> Session | None:
    """The session that was started here for this engine and address, or a new one; None in a session of somebody else.

    ``start`` starts one and gives what stops it.

    >>> first = join("toy", None, lambda: False, lambda: lambda: print("stopped"))
    >>> join("toy", None, lambda: True, lambda: print("never called")) is first
    True
    >>> del first
    stopped
    """
    with _lock:
        found = _started.get((name, address))
        if found is not None:
            return found
        if is_there():
            return None
        with _signals_kept():
            session = Session(start())
        _started[name, address] = session
        return session


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Clusters set handlers of signals, which belong to the program that we are a guest in."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set any
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


@contextmanager
def signals_waiting() -> Iterator[None]:
    """Inside, a Ctrl-C waits until the end: what is being started would be left behind, and nobody would know of it.

    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> try:
    ...     with signals_waiting():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("started")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    started
    interrupted
    >>> _ = signal.signal(signal.SIGINT, before)
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals interrupt the main thread only
        return
    came: list[tuple[int, FrameType | None]] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: one for number, one in before.items() if callable(one)}
    for number in handlers:
        signal.signal(number, lambda *told: came.append(told))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for which, frame in came[:1]:
        handlers[signal.Signals(which)](which, frame)


def check_listens(host: str, port: int) -> None:
    """`OSError` where nothing listens there: clusters themselves would ask for a minute or more."""
    socket.create_connection((host, port), timeout=_PATIENCE).close()
