"""``python -m oodometer`` and the command ``oodometer``: the process is ours here, so signals are."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

__all__ = ["main"]


_LOCKING = {"cb", "_get_module_lock", "acquire", "release", "__enter__", "__exit__", "__init__"}


class Terminated(KeyboardInterrupt):
    """The end by a signal that asks for it: handled like Ctrl-C, with the exit code of the signal."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number
        super().__init__()


def _stop(number: int, frame: FrameType | None) -> None:
    for one in (signal.SIGINT, signal.SIGTERM):  # a second one does not wait, and ends in no traceback
        signal.signal(one, _leave_now)
    if _in_import_lock(frame):
        _leave(128 + number, at_once=True)
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def _in_import_lock(frame: FrameType | None) -> bool:
    """Whether Python is at its locks of modules, where an exception is lost and the next import waits for ever."""
    code = None if frame is None else frame.f_code
    return code is not None and code.co_filename == "<frozen importlib._bootstrap>" and code.co_name in _LOCKING


def _leave_now(number: int, frame: FrameType | None) -> None:
    _leave(128 + number, at_once=True)


def main() -> int:
    """Run the command line of this process; temporary files go, whatever ends it but a kill."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _stop)
    try:
        from .cli import main as run

        return run()
    except KeyboardInterrupt as stop:  # while the libraries were still being loaded
        print("oodometer: interrupted; nothing was written", file=sys.stderr)
        return int(getattr(stop, "code", 128 + signal.SIGINT))


def _leave(code: int, at_once: bool = False) -> None:
    """End the process; threads in the middle of a calculation that nobody waits for any more do not hold it up.

    What multiprocessing has of the system goes back, or a helper process of it would complain; not ``at_once``, in the
    middle of anything.
    """
    if code <= 128:
        sys.exit(code)
    spooled, processes = (sys.modules.get(n) for n in ("oodometer.store.frames", "multiprocessing"))
    if spooled is not None:
        spooled.forget_spooled()
    for child in processes.active_children() if processes is not None else ():
        child.terminate()
    give_back = getattr(sys.modules.get("multiprocessing.util"), "_run_finalizers", None)
    if give_back is not None and not at_once:
        with suppress(Exception):
            give_back(0)
    with suppress(OSError, RuntimeError):  # nobody may be there any more to read it
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def entry() -> None:
    """The command ``oodometer``."""
    _leave(main())


if __name__ == "__main__":
    entry()
