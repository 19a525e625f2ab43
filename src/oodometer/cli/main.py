"""The entrance: commands are found here, errors become one line on standard error and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from copy import copy
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from .. import plugins
from ..errors import OodometerError
from . import (
    audit,
    backtest,
    cite,
    compare,
    demo,
    diagnose,
    discriminate,
    estimate,
    evaluate,
    fit,
    methods,
    output,
    predict,
    rank,
    reproduce,
    shift,
    stress,
)
from .places import INTERRUPTED, Commands, Stopped

__all__ = ["app", "main"]

app = Commands(
    name="oodometer",
    help="How good is your model on data that has no labels?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from ..version import __version__

        typer.echo(f"oodometer {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback where something fails.")] = False,
) -> None:
    """How good is your model on data that has no labels?"""


for command in (
    estimate,
    fit,
    diagnose,
    backtest,
    audit,
    predict,
    evaluate,
    compare,
    rank,
    discriminate,
    shift,
    stress,
    reproduce,
    methods,
    cite,
    demo,
):
    command.add_to(app)


def command_of(run: Any) -> str:
    """The name under which a function is a command."""
    return next((c.name or "" for c in app.registered_commands if getattr(c.callback, "__wrapped__", None) is run), "")


@cache
def _parser(word: str) -> Any:
    """The parser of the command that this word names, else of all commands: to read the hints of all takes a while."""
    one = copy(app)
    one.registered_commands = [command for command in app.registered_commands if command.name == word]
    one.registered_groups = [group for group in app.registered_groups if group.name == word]
    return get_command(one if one.registered_commands or one.registered_groups else app)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns 0 done, 1 the work failed, 2 wrong usage or input, 130 interrupted, 143 terminated."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [a for a in given if a != "--debug"]
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        return _run(given, debug)


def _run(given: list[str], debug: bool) -> int:
    try:
        with plugins.tracebacks_on(debug):
            code = _parser(given[0] if given else "")(given, standalone_mode=False, prog_name="oodometer")
        sys.stdout.flush()
        return int(code or 0)
    except Stopped as stop:
        return _say(str(stop), stop.code)
    except OodometerError as error:
        if debug:
            raise
        return _say(str(error), error.exit_code)
    except typer.Exit as leave:
        return leave.exit_code
    except SystemExit as leave:  # the parser's own answer to a reader that has left
        if isinstance(leave.__context__, BrokenPipeError):
            return 0
        raise
    except (KeyboardInterrupt, typer.Abort) as stop:
        return _say("interrupted; nothing was written", getattr(stop, "code", INTERRUPTED))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has left; no second complaint
        return 0
    except Exception as error:
        return _unexpected(error, debug)


def _unexpected(error: Exception, debug: bool) -> int:
    """Errors of usage from the parser, and those that no one foresaw."""
    show = getattr(error, "format_message", None)
    if callable(show):  # the parser's own errors: unknown option, missing argument
        return _say(f"{show()} (oodometer --help lists commands and options)", 2)
    if debug:
        raise error
    if isinstance(error, MemoryError):
        return _say("out of memory; give fewer rows or write the target as Parquet, which is read in batches", 1)
    if isinstance(error, OSError):
        return _say(f"{error.filename or 'a file'}: {error.strerror or error}", 1)
    return _say(f"unexpected {type(error).__name__}: {error}; run again with --debug and report it", 1)


def _say(message: str, code: int) -> int:
    spooled = sys.modules.get("oodometer.store.frames")
    if spooled is not None:  # standard input was copied to a file whose name means nothing to anyone
        message = spooled.without_spool_name(message)
    output.say("oodometer: " + " ".join(message.split()), error=True)
    return code


def _warn(message: Warning | str, *place: Any, **more: Any) -> None:
    """A warning as one line; where in the code it comes from says nothing to whoever types commands."""
    output.say("oodometer: warning: " + " ".join(str(message).split()), error=True)
