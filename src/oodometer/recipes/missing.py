"""Missing: all that a run lacks (data sets, pretrained models) in one line, before anything is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..errors import InputError, MissingExtraError, WorkError

LACKS = (InputError, MissingExtraError, WorkError)
"""What is raised where something is not there."""


def check_all(needs: Iterable[tuple[str, Callable[[], Any]]]) -> None:
    """Do every check, each with a name of who needs it; what several of them raise is said in one line.

    Where one thing alone is missing its own error is raised. Otherwise `WorkError` where a hub or the work failed, else
    `InputError`; needs with the same error share an entry.

    >>> def absent(name):
    ...     raise InputError("a data file", got="no such file", file=name)
    >>> check_all([("A", lambda: absent("x")), ("B", lambda: absent("x")), ("C", lambda: absent("y"))])
    Traceback (most recent call last):
    oodometer.errors.InputError: expected all that the run needs, got 2 things missing: (1) A, B: x: expected a data
     file, got no such file (2) C: y: expected a data file, got no such file
    """
    found: dict[str, tuple[Exception, dict[str, None]]] = {}
    for name, check in needs:
        try:
            check()
        except LACKS as error:
            found.setdefault(str(error), (error, {}))[1][name] = None
    errors = [error for error, _ in found.values()]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        entries = [f"({i}) {', '.join(names)}: {said}" for i, (said, (_, names)) in enumerate(found.items(), 1)]
        whole = InputError("all that the run needs", got=f"{len(errors)} things missing: {' '.join(entries)}")
        raise WorkError(str(whole)) if any(isinstance(error, WorkError) for error in errors) else whole
