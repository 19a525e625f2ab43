"""Places: what a command reads and writes is settled before it begins; one guard stands before every command."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import typer
from typer.models import ArgumentInfo, OptionInfo

from . import output

INTERRUPTED = 130  # what a shell takes for the end by Ctrl-C
_ALL_TAKE = "Every command takes -v, --quiet, --debug and --config as well; oodometer --help explains them."

Place = Literal["read", "written", "folder"]

# Beside typer.Argument or typer.Option in the annotation of a parameter: what becomes of the path.
READ: Place = "read"
WRITTEN: Place = "written"
FOLDER: Place = "folder"  # filled with files of fixed names; other outputs stay out of it


class Stopped(Exception):
    """A command that was stopped by a signal: the last words and the exit code."""

    def __init__(self, words: str, code: int) -> None:
        self.code = code
        super().__init__(words)


class Commands(typer.Typer):
    """An application or a group, each command behind a guard: outputs are checked, a signal ends it with one line."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Register a command, guarded."""
        register = super().command(name, epilog=_ALL_TAKE, **options)
        return lambda run: register(_Guarded(run, name or ""))


class _Guarded:
    """A command behind the guard."""

    def __init__(self, run: Callable[..., Any], name: str) -> None:
        self._name = name
        self.__wrapped__: Callable[..., Any]
        functools.update_wrapper(self, run)

    def __call__(self, **given: Any) -> Any:
        _check(self.__wrapped__, given)
        words = output.KEPT if given.get("run_folder") else "nothing was written"
        with going_on(words), advised(self._name, self.__wrapped__, given):
            try:
                return self.__wrapped__(**given)
            except SystemExit as leave:  # no command of ours does, and what it was to write is not there
                from ..errors import WorkError

                raise WorkError(
                    f"code that was called ended the program (exit {leave.code}) before the command was done; "
                    "let it raise an error, or return"
                ) from leave


@contextmanager
def advised(name: str, run: Callable[..., Any], given: Mapping[str, Any]) -> Iterator[None]:
    """Inside, an error about columns that go by other names is followed by the command that would work."""
    from ..errors import InputError, MissingColumnsError, UnknownColumnError

    try:
        yield
    except (InputError, UnknownColumnError) as error:
        if not isinstance(error, (MissingColumnsError, UnknownColumnError)) and "known classes" not in str(error):
            raise
        from .advice import better_command

        command = better_command(name, run, given, places_of(run), error)
        if command is None:
            raise
        if isinstance(error, InputError):
            remedy = (error.remedy or "").partition("; rename")[0]
            said = remedy.startswith(("rename", "the file has", "name the classes"))  # which the command says, too
            error.remedy = f"try: {command}" if said else f"{remedy}; try: {command}"
            raise error.at() from None
        link = " " if str(error).endswith("?") else "; "
        raise UnknownColumnError(error.column, f"{error}{link}try: {command}", error.meant) from None


@contextmanager
def going_on(words: str | Callable[[], str]) -> Iterator[None]:
    """Inside, a signal that ends the program leaves with these words behind "interrupted"."""
    try:
        yield
    except KeyboardInterrupt as stop:
        said = words if isinstance(words, str) else words()
        code = getattr(stop, "code", INTERRUPTED)
        raise Stopped(f"interrupted{'' if said.startswith(' ') else '; '}{said}", code) from None


def places_of(run: Callable[..., Any]) -> dict[str, tuple[str, Place]]:
    """Parameters of a command that name a place: parameter -> what a user calls it, and what becomes of it.

    >>> from typing import Annotated
    >>> def copy(source: Annotated[str, typer.Argument(), READ], to: Annotated[str, typer.Option(), WRITTEN]): ...
    >>> places_of(copy)
    {'source': ('SOURCE', 'read'), 'to': ('--to', 'written')}
    """
    out: dict[str, tuple[str, Place]] = {}
    for name, parameter in inspect.signature(run, eval_str=True).parameters.items():
        told = getattr(parameter.annotation, "__metadata__", ())
        place = next((one for one in told if one in (READ, WRITTEN, FOLDER)), None)
        if place is not None:
            argument = any(isinstance(one, ArgumentInfo) for one in told)
            words = [str(w) for o in told if isinstance(o, OptionInfo) for w in (o.default, *(o.param_decls or ()))]
            flag = next((one for one in words if one.startswith("--")), f"--{name.replace('_', '-')}")
            out[name] = (name.upper() if argument else flag, place)
    return out


def _check(run: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise `UsageError` where an output is an input, another output, or a file in a folder that is written."""
    named: dict[Place, list[tuple[str, str]]] = {READ: [], WRITTEN: [], FOLDER: []}
    for parameter, (name, place) in places_of(run).items():
        value = given.get(parameter)
        several = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
        named[place] += [(name, str(one)) for one in several]
    reads = [path for _, path in named[READ]]
    there = ((name, one) for name, one in named[READ] if os.path.exists(one))  # a name may be too long to ask for
    pipe = next(((name, one) for name, one in there if Path(one).is_fifo() or Path(one).is_socket()), None)
    if pipe is not None:  # nobody may ever write into it
        from ..errors import InputError

        remedy = "name a regular file, or give - for predictions and pipe CSV or JSONL to standard input"
        raise InputError(f"a regular file as {pipe[0]}", got="a pipe or device", file=pipe[1], remedy=remedy)
    writes: dict[str, str] = {}
    for name, path in named[WRITTEN]:
        if path != "-":  # an option that is given again goes by its path, too
            writes[f"{name} {path}" if name in writes else name] = path
    if not writes and not named[FOLDER]:
        return
    from ..errors import UsageError
    from ..store.atomic import refuse_clashes

    _check_folders_read(writes | dict(named[FOLDER]), reads)
    places: dict[str, str] = {}
    for name, path in writes.items():
        if Path(path).is_dir():  # the results of several files go into it under their names
            inside = dict.fromkeys(Path(one).name for one in reads if one != "-")
            places |= {f"{one} in {name}": str(Path(path) / one) for one in inside}
        else:
            places[name] = path
    refuse_clashes(places, reads)
    for folder, home in named[FOLDER]:
        refuse_clashes({folder: home}, reads)
        for name, path in places.items():
            if Path(home).resolve() in Path(path).resolve().parents:
                raise UsageError(
                    f"{name} {path} lies in the folder of {folder}, which holds files of its own; choose another place"
                )


def _check_folders_read(outputs: Mapping[str, str], reads: list[str]) -> None:
    """Nothing may be written into a folder whose files are predictions: the next run would read it as one of them."""
    from ..errors import UsageError

    homes = [(one, Path(one).resolve()) for one in reads if one != "-" and Path(one).is_dir()]
    for name, path in outputs.items():
        place = Path(path).resolve()
        for given, home in homes:
            if home in place.parents:
                raise UsageError(f"{name} {path} lies in the folder {given} that is read; choose another place")
