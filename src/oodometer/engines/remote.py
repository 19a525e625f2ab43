"""Remote work: a part on a machine that has its own copy of the code; state or error come back as bytes."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, nullcontext
from hashlib import blake2b
from types import FrameType
from typing import Any, ClassVar, NamedTuple, Self

from ..errors import OodometerError, UsageError, WorkError
from ..version import __version__
from .base import Engine, check_workers

_PATIENCE = 5.0  # seconds for an address to answer


class Session:
    """A cluster that was started here; ``stop`` is called when the last engine that holds this is gone."""

    def __init__(self, stop: Callable[[], object]) -> None:
        weakref.finalize(self, stop)


_started: weakref.WeakValueDictionary[tuple[str, str | None], Session] = (
    weakref.WeakValueDictionary()
)
_lock = threading.Lock()


def join(
    name: str,
    address: str | None,
    is_there: Callable[[], bool],
    start: Callable[[], Callable[[], object]],
) -> Session | None:
    """The session started here for this engine and address, or a new one by ``start``; None in somebody else's."""
    with _lock:
        session = _started.get((name, address))
        if session is not None:
            return session
        if is_there():
            return None
        main = (
            threading.current_thread() is threading.main_thread()
        )  # no other may set handlers of signals
        before = {
            number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM) if main
        }
        try:
            session = _started[name, address] = Session(start())
        finally:  # clusters set their own, and these belong to the program that we are a guest in
            for number, handler in before.items():
                if handler is not None:
                    signal.signal(number, handler)
        return session


class ClusterEngine(Engine):
    """An engine whose workers are a cluster: at an address, in the session there is, or started here."""

    elsewhere = True
    cluster: ClassVar[str]  # as messages call it
    how: ClassVar[str] = ""  # one is started

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self.workers, self.address = check_workers(workers), address
        self._session: Session | None = None  # kept alive while this is

    @classmethod
    def from_argument(cls, argument: str, *, workers: int | None = None) -> Self:
        """The engine at an address: ``ray:HOST:PORT``; for Spark that of a master or a Connect server."""
        return cls(workers, argument)

    def no_answer(self, error: BaseException) -> UsageError:
        """The error for an address at which no cluster answers."""
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        remedy = f"start one{self.how}, or leave the address out to start one here"
        return UsageError(f"no {self.cluster} answers at {self.address} ({reason}); {remedy}")


@contextmanager
def signals_waiting() -> Iterator[None]:
    """Inside, a Ctrl-C waits until the end: what is being started would be left behind, and nobody would know of it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals interrupt the main thread only
        return
    came: list[tuple[int, FrameType | None]] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda *signals: came.append(signals))
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
        return Order(
            __version__, blake2b(pickled, digest_size=16).hexdigest(), pickled, os.getcwd()
        )
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"the work cannot be sent to other machines ({reason}); take the engine local"
        ) from error


def run_part(order: Order, part: bytes) -> bytes:
    """On a worker: the state of a part or its error, pickled; versions are compared before anything is unpickled."""
    try:
        if order.version != __version__:
            raise UsageError(
                f"expected workers with oodometer {order.version}, as here, got {__version__} on "
                f"{socket.gethostname()}; install the same version on all machines"
            )
        with (
            chdir(order.folder)
            if os.path.isdir(order.folder) and os.getcwd() != order.folder
            else nullcontext()
        ):
            state: Any = work_of(order)(pickle.loads(part))
        return pickle.dumps((True, state), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        try:
            return pickle.dumps((False, pickle.loads(pickle.dumps(error))), pickle.HIGHEST_PROTOCOL)
        except Exception:  # it cannot travel itself
            message = f"a worker on {socket.gethostname()} failed: {type(error).__name__}: {error}"
            return pickle.dumps((False, WorkError(message)), pickle.HIGHEST_PROTOCOL)


def received(answer: bytes) -> Any:
    """The state that a worker sent; raises the error that it sent instead."""
    done, state = pickle.loads(answer)
    if not done:
        raise state
    return state


def why_lost(engine: str, error: BaseException) -> OodometerError:
    """The one line for an error of the cluster itself: no code of ours on the workers, or a worker that died."""
    reason = " ".join(str(error).split())
    if "No module named 'oodometer" in reason:
        return UsageError(
            f"the workers of {engine} have no oodometer; install version {__version__} on all machines"
        )
    reason = reason if len(reason) <= 300 else reason[:297] + "..."
    return WorkError(
        f"{engine} lost a part of the work, tried again in vain ({type(error).__name__}: {reason}); see its own logs, "
        "give workers more memory, or take fewer of them"
    )


def work_of(order: Order) -> Callable[[Any], Any]:
    """The work, which many parts share; a worker that goes on to later passes lets it go."""
    work = _works.get(order.checksum)
    if work is None:
        work = pickle.loads(order.work)
        while len(_works) >= _MOST_WORKS:
            _works.pop(next(iter(_works)), None)
        _works[order.checksum] = work
    return work
