"""The entrance: commands are found here, errors become one line on standard error and an exit code."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from copy import copy
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from .. import plugins
from ..errors import OodometerError, UsageError, near_names, without_passwords
from ..options import typed
from ..registry import tracebacks_on
from . import config, output, samples
from .commands import GROUPS, INTERRUPTED, Stopped, app

COMMANDS = tuple(name for names in GROUPS.values() for name in names)
# Taken wherever they stand, as is --debug.
_LOUDNESS = {"-v": 1, "--verbose": 1, "-q": -1, "--quiet": -1}


def _print_version(enabled: bool) -> None:
    if enabled:
        from ..version import __version__

        typer.echo(f"oodometer {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all that is known, not the main things.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show a traceback where something fails.")
    ] = False,
    config: Annotated[
        str | None,
        typer.Option(
            help="Defaults of options; by default oodometer.toml, or [tool.oodometer] in pyproject.toml."
        ),
    ] = None,
    no_config: Annotated[bool, typer.Option("--no-config", help="Read no such file.")] = False,
) -> None:
    """How good is your model on data that has no labels?"""


for name in ("accuracy", "rank", "read", "showing"):  # each file registers its commands
    import_module(f".{name}", __package__)


def _plug_in(word: str) -> None:
    """Register the commands of other packages: that of this word, of no word of ours all that are here."""
    if word in (command.name for command in app.registered_commands):
        return
    names = plugins.plugged("commands")
    for name in (word,) if word in COMMANDS else names:
        plugins.load("commands", name, f"oodometer {name}")


def all_commands() -> typer.Typer:
    """The command line with the commands of every package that is here."""
    _plug_in("")
    return app


@cache
def _parser(word: str) -> Any:
    """The parser of the command that this word names, else of all commands: to read the hints of all takes a while."""
    _plug_in(word)
    narrow = copy(app)
    narrow.registered_commands = [
        command for command in app.registered_commands if command.name == word
    ]
    narrow.registered_groups = [group for group in app.registered_groups if group.name == word]
    return get_command(narrow if narrow.registered_commands or narrow.registered_groups else app)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns 0 done, 1 the work failed, 2 wrong usage or input, 3 an alarm, 130 interrupted, 143
    terminated.

    ``arguments`` are the words behind the name of the program; None takes those of this process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    output.typed_words.set(tuple(words))
    # Streams that were closed: the next file that is opened would be taken for them.
    for name, mode in (("stdin", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    if sys.stdout is None:
        return _say(
            "standard output is closed; lead it to /dev/null where it is not wanted (>/dev/null)", 2
        )
    debug = "--debug" in words
    if arguments is None and not debug:
        # what libraries log, such as py4j that it was interrupted, is for no user
        logging.getLogger().addHandler(logging.NullHandler())
    words = [a for a in words if a != "--debug"]
    with warnings.catch_warnings(), typed():
        warnings.showwarning = _warn
        return _run(words, debug)


def _loudness_taken(words: Sequence[str]) -> tuple[list[str], int]:
    """The words without those of `_LOUDNESS`, and what these say; behind -- all words are paths."""
    end = words.index("--") if "--" in words else len(words)
    loudness = {_LOUDNESS[word] for word in words[:end] if word in _LOUDNESS}
    if len(loudness) > 1:
        raise UsageError("give -v or --quiet, not both")
    rest = [word for word in words[:end] if word not in _LOUDNESS]
    return [*rest, *words[end:]], max(loudness, default=0)


def _run(words: list[str], debug: bool) -> int:
    """Run a command, every error as one line on standard error; gives the exit code."""
    try:
        words, file, enabled = config.options_taken(words)
        words, loudness = _loudness_taken(words)
        words = words or ["--help"]
        words[0] = "history" if words[0] == "runs" else words[0]
        parser = _parser(words[0])
        defaults, note = config.defaults_for(parser, words, file, COMMANDS) if enabled else ({}, "")
        with tracebacks_on(debug), output.settings(loudness, note):
            words, stands = samples.filled(words)
            if stands and not output.quiet():
                output.say(stands, error=True)
            code = parser(words, standalone_mode=False, prog_name="oodometer", default_map=defaults)
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
    except SystemExit as leave:
        return _code_of(leave)
    except (KeyboardInterrupt, typer.Abort) as stop:
        return _say("interrupted; nothing was written", getattr(stop, "code", INTERRUPTED))
    except BrokenPipeError:
        # the reader has left; no second complaint
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _unexpected(error, debug, words)


def _code_of(leave: SystemExit) -> int:
    """The exit code of a parser, or of code that was called, that ends the program."""
    if isinstance(leave.__context__, BrokenPipeError):  # the reader of the output has left
        return 0
    return leave.code if isinstance(leave.code, int) else int(leave.code is not None)


def _unexpected(error: Exception, debug: bool, words: Sequence[str] = ()) -> int:
    """Errors of usage from the parser, and those that no one foresaw."""
    show = getattr(error, "format_message", None)
    if callable(show):  # the parser's own errors: unknown option, missing argument
        if type(error).__name__ == "NoArgsIsHelpError":  # a group alone: its help was asked for
            output.say(*show().splitlines())
            return 0
        return _say(f"{show()} ({_way_out(error, words)})", 2)
    if debug:
        raise error
    if isinstance(error, MemoryError):
        return _say(
            "out of memory; give fewer rows or write the target as Parquet, which is read in batches",
            1,
        )
    if isinstance(error, OSError):
        return _say(f"{error.filename or 'a file'}: {error.strerror or error}", 1)
    return _say(
        f"unexpected {type(error).__name__}: {error}; run again with --debug and report it", 1
    )


def _way_out(error: Any, words: Sequence[str]) -> str:
    """What to type next after an error of usage."""
    if words and Path(words[0]).is_file() and "command" in error.message:
        return f"try: {shlex.join(['oodometer', 'estimate', *words])}"
    context = getattr(error, "ctx", None)
    if context is None or context.command_path == "oodometer":
        return "oodometer --help lists commands and options"
    arguments = [
        p.metavar or p.name.upper()
        for p in context.command.params
        if p.param_type_name == "argument"
    ]
    options = [opt for p in context.command.params for opt in p.opts if opt.startswith("--")]
    mistyped = getattr(error, "option_name", "") or ""
    near = [] if getattr(error, "possibilities", None) else near_names(mistyped, options)
    meant = f"did you mean {near[0]}? " if near else ""
    usage = " ".join([context.command_path, *arguments])
    return f"{meant}usage: {usage}; {samples.offered(context.info_name)}{context.command_path} --help lists options"


def _say(message: str, code: int) -> int:
    spooled = sys.modules.get("oodometer.store.frames")
    if spooled is not None:
        # standard input was copied to a file whose name means nothing to anyone
        message = spooled.without_spool_name(message)
    # a record's constructors know no commands
    message = message.replace("classes=[...]", "--classes")
    output.say("oodometer: " + without_passwords(" ".join(message.split())), error=True)
    return code


def _warn(message: Warning | str, *place: Any, **more: Any) -> None:
    """A warning as one line; where in the code it comes from says nothing to whoever types commands."""
    output.say(
        "oodometer: warning: " + without_passwords(" ".join(str(message).split())), error=True
    )
