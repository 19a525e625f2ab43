"""``python -m oodometer`` and the command ``oodometer``: the process is ours here, so signals are."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

_LOCKING = {"cb", "_get_module_lock", "acquire", "release", "__enter__", "__exit__", "__init__"}


class Terminated(KeyboardInterrupt):
    """The end by a signal that asks for it: handled like Ctrl-C, with the exit code of the signal."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number
        super().__init__()


def _stop(number: int, frame: FrameType | None) -> None:
    # a second one does not wait, and ends in no traceback
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda again, frame: _leave(128 + again, at_once=True))
    code = None if frame is None else frame.f_code
    if (
        code is not None
        and code.co_filename == "<frozen importlib._bootstrap>"
        and code.co_name in _LOCKING
    ):
        # at locks of modules an exception is lost, and the next import hangs
        _leave(128 + number, at_once=True)
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def main() -> int:
    """Run the command line of this process; temporary files go, whatever ends it but a kill."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _stop)
    gc.set_threshold(10_000, 20, 20)  # loading libraries makes many objects and no circles
    try:
        from .cli import main as run

        return run()
    except KeyboardInterrupt as stop:  # while the libraries were still being loaded
        print("oodometer: interrupted; nothing was written", file=sys.stderr)
        return int(getattr(stop, "code", 128 + signal.SIGINT))


def _leave(code: int, at_once: bool = False) -> None:
    """End the process, the one way out of a command.

    What was registered for the end is done, and threads that must end are waited for; but not threads of libraries in
    the middle of something that nobody waits for any more: while Python takes itself apart, they hang or abort. Not
    searching for circles once more saves 50 to 80 ms. ``at_once`` is in the middle of anything, and after a signal
    threads are waited for no more; what multiprocessing has of the system goes back all the same, or a helper process
    of it would complain.
    """
    spooled, processes = (sys.modules.get(n) for n in ("oodometer.store.frames", "multiprocessing"))
    with suppress(Exception):
        if code <= 128:
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
        else:
            if spooled is not None:
                spooled.forget_spooled()
            for child in processes.active_children() if processes is not None else ():
                child.terminate()
            give_back = getattr(sys.modules.get("multiprocessing.util"), "_run_finalizers", None)
            if give_back is not None and not at_once:
                give_back(0)
    for stream in (sys.stdout, sys.stderr):
        # nobody may be there any more to read it
        with suppress(OSError, RuntimeError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def entry() -> None:
    """The command ``oodometer``."""
    code = 1
    try:
        code = main()
    except BaseException:  # --debug shows where it comes from
        sys.excepthook(*sys.exc_info())
    finally:
        _leave(code)


if __name__ == "__main__":
    entry()
