"""Running: a job in its folder, alone there, noted as running, then as finished or failed with its reason."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..errors import OodometerError, UsageError, WorkError
from ..store.atomic import when_written
from ..store.places import is_remote
from .locking import Lock
from .manifest import LOCK, MANIFEST, Manifest

M = TypeVar("M", bound=Manifest)


@contextmanager
def running(manifest: M) -> Iterator[M]:
    """Inside, the folder of a run is its own: `UsageError` where another process works there.

    A run that fails before anything is kept leaves neither manifest nor lock.

    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> with running(Manifest(home, {"verb": "stress"})):
    ...     with running(Manifest(home, {"verb": "stress"})): pass
    Traceback (most recent call last):
    oodometer.errors.UsageError: ... is in use by another run (process ...); wait until it has ended, or give this ...
    """
    with Lock(manifest.home / LOCK, manifest.home):
        manifest.begin()
        try:
            yield manifest
        except BaseException as error:
            said = "interrupted" if isinstance(error, (KeyboardInterrupt, GeneratorExit)) else f"{error}"
            with suppress(OodometerError):  # the first error is the one to tell
                manifest.end("failed", " ".join(said.split())[:500])
            with suppress(OSError):  # of a run that kept nothing there is nothing to go on from
                if {one.name for one in manifest.home.iterdir()} <= {LOCK, MANIFEST}:
                    for name in (MANIFEST, LOCK):
                        (manifest.home / name).unlink()
            raise
        manifest.end("finished")


@contextmanager
def passing(home: Path | None, about: Mapping[str, str]) -> Iterator[Manifest | None]:
    """A folder that lasts as long as its job is not finished, such as the parts of a file; None for None.

    What the job leaves in the folder goes with it in the end; after an error, or a kill, it is there for the next run,
    but for a folder in which nothing was kept yet.

    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp()) / ".out.parts"
    >>> with passing(home, {"verb": "predict"}):
    ...     (home / "run.json").is_file()
    True
    >>> home.exists()
    False
    """
    if home is None:
        yield None
        return
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkError(f"cannot write {home}: {error.strerror or error}; choose another place") from None
    mine = False
    try:
        with running(Manifest(home, about)) as manifest:
            mine = True
            yield manifest
    except BaseException:
        with suppress(OSError):
            if mine:
                home.rmdir()  # where it is empty
        raise
    when_written(partial(shutil.rmtree, home, ignore_errors=True))  # not before the result is in its place


def places_said(**data: Any) -> dict[str, str]:
    """What a run is of, by what it is to it: places where they are some, else the kind of thing; None is left out.

    >>> places_said(data="s3://lake/texts.jsonl", labels=None, model=print)
    {'data': 's3://lake/texts.jsonl', 'model': 'print'}
    """
    return {name: ", ".join(map(_said, _several(one))) for name, one in data.items() if one is not None}


def _several(one: Any) -> list[Any]:
    return list(one) if isinstance(one, (list, tuple)) else [one]


def _said(one: Any) -> str:
    if not isinstance(one, (str, os.PathLike)):
        return str(getattr(one, "__name__", f"a {type(one).__name__}"))
    place = os.fspath(one)
    return os.path.abspath(place) if os.path.exists(place) else place  # else a name of a hub, or a URL


def places_of_run(**data: Any) -> dict[str, str]:
    """Where the data of a run lie, by what they are to it; `UsageError` for what is in memory and found by nobody.

    >>> places_of_run(target="s3://lake/predictions")
    {'target': 's3://lake/predictions'}
    >>> places_of_run(target={"label": [0]})
    Traceback (most recent call last):
    oodometer.errors.UsageError: a run folder is for files, and the target is a dict in memory; write it to a file, ...
    """
    out = {}
    for name, one in data.items():
        paths = _several(one)
        other = next((path for path in paths if not isinstance(path, (str, os.PathLike)) or path == "-"), None)
        if other is not None:
            said = "standard input" if other == "-" else f"a {type(other).__name__} in memory"
            verb = "are" if name.endswith("s") else "is"
            raise UsageError(
                f"a run folder is for files, and the {name} {verb} {said}; write it to a file, or leave the run folder "
                "out"
            )
        places = [os.fspath(path) for path in paths]
        out[name] = ", ".join(one if is_remote(one) else os.path.abspath(one) for one in places)
    return out
