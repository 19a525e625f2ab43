"""Commands: what the command line makes of a record of options, the guard before each, and where an answer goes."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import (
    ClassesError,
    InputError,
    MissingColumnsError,
    UnknownColumnError,
    UsageError,
    WorkError,
)
from ..options import About, Declared, Options, declared, option, spelt
from ..plain import Json, Plain
from . import output, samples

INTERRUPTED = 130  # what a shell takes for the end by Ctrl-C
_ALL_TAKE = "every command takes -v, --quiet, --debug and --config, too (oodometer -h)."
GROUPS = {
    "How good is it there?": ("estimate", "fit", "diagnose", "backtest", "history"),
    "A few labels, or all": ("audit", "evaluate"),
    "Which model?": ("compare", "plan", "rank"),
    "Make the predictions": ("predict", "read", "discriminate"),
    "What if the data shift?": ("shift", "stress"),
    "Look up, show again": ("demo", "methods", "cite", "report", "reproduce", "benchmark"),
}
_OF_ALL = (
    "Every command takes -v (all that is known), -q (errors alone), --debug (a traceback), --config FILE (else "
    "oodometer.toml, or [tool.oodometer] in pyproject.toml), --no-config, -h. Alone: --version, --install-completion."
)


class _Commands(TyperGroup):
    """All commands, grouped by the question that they answer."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options of every command."""
        return _taken_as_they_are(super().get_params(ctx), {})

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each question."""
        for question, names in GROUPS.items():
            available = [(name, self.commands[name]) for name in names if name in self.commands]
            if not available:
                continue
            formatter.write(f"\n{question}\n")
            with formatter.indentation():
                formatter.write_dl(
                    [(name, command.get_short_help_str(62)) for name, command in available]
                )


app = typer.Typer(
    name="oodometer",
    cls=_Commands,
    epilog=_OF_ALL,
    help="How good is your model on data that has no labels?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def group(name: str, about: str) -> typer.Typer:
    """A command that has commands of its own."""
    group_app = typer.Typer(help=about, no_args_is_help=True, rich_markup_mode=None)
    group_app.callback(help=about)(lambda: None)
    app.add_typer(group_app, name=name)
    return group_app


class Stopped(Exception):
    """A command that was stopped by a signal: the last words and the exit code."""

    def __init__(self, words: str, code: int) -> None:
        self.code = code
        super().__init__(words)


@contextmanager
def going_on(words: str | Callable[[], str]) -> Iterator[None]:
    """Inside, a signal that ends the program leaves with these words behind "interrupted"."""
    try:
        yield
    except KeyboardInterrupt as stop:
        text = words if isinstance(words, str) else words()
        code = getattr(stop, "code", INTERRUPTED)
        raise Stopped(f"interrupted{'' if text.startswith(' ') else '; '}{text}", code) from None


_SAVED = "Write the result to .csv, .parquet, .json, .html, .pdf or .md."


class Written(Options):
    """Where an answer goes, besides the terminal; a command offers some of them."""

    json: str | None = option(
        default=None,
        path="written",
        metavar="FILE",
        help="Write JSON to this file, or - for standard output.",
    )
    report: str | None = option(
        default=None,
        path="written",
        metavar="FILE",
        help="Write a self-contained page to this .html or .pdf file.",
    )
    out: Sequence[str] | None = option(
        default=None, path="written", metavar="FILE", flag="--out --save", help=_SAVED
    )
    save: Sequence[str] | None = option(default=None, path="written", metavar="FILE", help=_SAVED)

    def check(self, pages: bool) -> None:
        """Refuse, before the work, what could not be written after it; ``pages``: a report is a page, nothing else."""
        files = [*([] if self.report is None else [self.report]), *(self.out or self.save or ())]
        if files:
            from ..outputs.files import ENDINGS, PAGES, check_outputs

            check_outputs(files, PAGES if pages else ENDINGS)

    def deliver(self, result: Any, record: Any = None) -> bool:
        """Write the answer; whether the terminal is free to show it as well."""
        output.deliver(
            result, json=self.json, report=self.report, record=record, files=self.out or self.save
        )
        return self.json != "-"


def command(
    record: type[Options],
    *,
    name: str = "",
    written: Sequence[str] = (),
    to: typer.Typer = app,
    kept: bool = False,
) -> Callable[[Callable[[Json, Written], None]], Callable[..., None]]:
    """Decorator: register a command with the options of a record and those of `Written` that are named. The function
    gets what was typed, as arguments of the verb (without what was not), and where the answer goes; its docstring is
    the text of ``-h``; ``kept`` says that finished work is kept where a signal ends it.
    """
    offered = [option for option in declared(record) if option[2].flag != ""]
    offered += [option for option in declared(Written) if option[0] in written]

    def wrap(function: Callable[[Json, Written], None]) -> Callable[..., None]:
        called = name or function.__name__

        def run(**typed: Any) -> None:
            _check(offered, typed)
            stopped = output.KEPT if kept or typed.get("run_folder") else "nothing was written"
            with going_on(stopped), _advised(called, offered, typed):
                arguments = _arguments(offered, typed)
                where = Written(
                    **{field: arguments.pop(field) for field in written if field in arguments}
                )
                where.check(pages=not {"out", "save"} & {*written})
                try:
                    function(arguments, where)
                except SystemExit as leave:
                    # no command of ours does, and what it was to write is not there
                    raise WorkError(
                        f"code that was called ended the program (exit {leave.code}) before the command was done; "
                        "let it raise an error, or return"
                    ) from leave

        rare = frozenset(name for name, _, about in offered if about.rare)
        parameters = [*(_parameter(*field) for field in offered), *([_HELP_ALL] if rare else [])]
        run.__name__ = function.__name__
        run.__doc__ = function.__doc__
        run.__module__ = function.__module__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        groups = {name: about.group for name, _, about in offered}
        kinds = {name: _kind(field, about)[0] for name, field, about in offered}
        declarations = {"rare": rare, "groups": groups, "kinds": kinds, "offered": offered}
        help_class = type("Help", (_Help,), declarations)
        text = samples.offered(called) + _ALL_TAKE
        to.command(name=called, cls=help_class, epilog=text[0].upper() + text[1:])(run)
        return run

    return wrap


def _arguments(offered: Sequence[Declared], typed: Plain) -> Json:
    """What was typed, as arguments of the verb."""
    given = ((name, about, typed[name]) for name, _, about in offered)
    return {
        name: value if about.parse is None else about.parse(value)
        for name, about, value in given
        if value is not None and value != []
    }


def _kind(field: Field[Any], about: About) -> tuple[type, bool]:
    """What is typed of an option, a text or a number or nothing more, and whether it may be typed again."""
    text = str(field.type)
    is_list = ("Sequence[" in text and about.parse is None) if about.many is None else about.many
    if about.parse is not None:
        return str, is_list
    kinds = {"float": float, "int": int, "bool": bool}
    return next((kinds[word] for word in kinds if word in text), str), is_list


def _taken_as_they_are(params: list[Any], kinds: Mapping[str, type]) -> list[Any]:
    """The parameters, which take what needs no conversion as it is: typer loads pydantic for any (0.1 s)."""
    for param in params:
        if "process_value" not in vars(param):
            _take_as_it_is(param, kinds.get(str(param.name), bool))
    return params


def _take_as_it_is(param: Any, kind: type) -> None:
    """Make a parameter take None, and what is of its kind already, as it is."""
    convert = param.process_value
    several = param.multiple or param.nargs == -1

    def is_ready(value: Any) -> bool:
        if not several:
            return type(value) is kind
        return isinstance(value, (list, tuple)) and {type(item) for item in value} == {kind}

    def taken(context: Any, value: Any) -> Any:
        if value is None and not param.required:
            value = () if several else None
        elif is_ready(value):
            value = [*value] if several else value
        else:
            return convert(context, value)
        return value if param.callback is None else param.callback(context, param, value)

    param.process_value = taken


def _parameter(name: str, field: Field[Any], about: About) -> inspect.Parameter:
    """The parameter that typer reads."""
    kind: Any
    kind, is_list = _kind(field, about)
    typed: Any
    if about.positional:
        typed = typer.Argument(help=about.help, metavar=about.metavar or name.upper())
    else:
        usual = {float: "NUMBER", int: "N", str: "NAME"}.get(kind)
        typed = typer.Option(*spelt(name, about), help=about.help, metavar=about.metavar or usual)
    plain = _default(field, about, kind)
    hint: Any = list[kind] if is_list else kind
    hint = hint | None if plain is None else hint
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=plain, annotation=Annotated[hint, typed]
    )


def _default(field: Field[Any], about: About, kind: type) -> Any:
    """What typer takes where nothing is typed; `inspect.Parameter.empty` where something must be."""
    if field.default is MISSING or (about.needed and not about.positional):
        return inspect.Parameter.empty
    if about.positional:
        return None
    if kind is bool:
        return False
    return None if isinstance(field.default, (tuple, list)) else field.default


def _help_all(context: typer.Context, enabled: bool) -> None:
    if enabled:
        context.meta["help_all"] = True
        output.say(*context.get_help().splitlines())
        raise typer.Exit


_HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--help-all", is_eager=True, callback=_help_all, help="Show the rare options, too."
        ),
    ],
)


class _Help(TyperCommand):
    """A command whose ``-h`` shows its options in groups, those that are rarely used with ``--help-all`` alone."""

    rare: frozenset[str] = frozenset()
    groups: Mapping[str, str]
    kinds: Mapping[str, type]
    offered: Sequence[Declared]  # groups, kinds and rare ones are theirs

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._help_all = [param for param in self.params if param.name == "help_all"]
        self.params = [param for param in self.params if param.name != "help_all"]

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, and as ``-h`` is one of every command, that which shows all of them."""
        return _taken_as_they_are([*super().get_params(ctx), *self._help_all], self.kinds)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, each group under its name."""
        every = ctx.meta.get("help_all", False)
        sections: dict[str, list[Any]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and (every or param.name not in self.rare):
                # one spelling is enough, and what must be given is in the line of usage
                spelling = re.sub(r"(, --[\w-]+)+| <[^>]*>+", "", record[0])
                record = spelling, re.sub(r"  \[(required|default: 0)\]$", "", record[1])
                usual = "Arguments" if param.param_type_name == "argument" else "Options"
                sections.setdefault(self.groups.get(str(param.name)) or usual, []).append(record)
        for title in sorted(sections, key=lambda param: (param != "Arguments", param == "Options")):
            with formatter.section(title):
                formatter.write_dl(sections[title])


@contextmanager
def _advised(name: str, offered: Sequence[Declared], typed: Plain) -> Iterator[None]:
    """Inside, an error about columns that go by other names is followed by the command that would work."""
    try:
        yield
    except (InputError, UnknownColumnError) as error:
        options = getattr(error.remedy, "options", ()) if isinstance(error, InputError) else ()
        if isinstance(error, InputError) and options:
            error.remedy = f"{error.remedy}; try: {output.command_line_with(*options)}"
            raise error.at() from None
        if not isinstance(error, (MissingColumnsError, ClassesError, UnknownColumnError)):
            raise
        from .advice import better_command, reading_command

        command = better_command(name, offered, typed, error) or reading_command(error)
        if command is None:
            raise
        if isinstance(error, InputError):
            error.naming = f"try: {command}"
            raise error.at() from None
        link = " " if str(error).endswith("?") else "; "
        raise UnknownColumnError(
            error.column, f"{error}{link}try: {command}", error.meant
        ) from None


def _check(offered: Sequence[Declared], typed: Plain) -> None:
    """Raise `UsageError` where an output is an input, another output, or a file in a folder that is read or written."""
    named = _named_paths(offered, typed)
    reads, folders = named["read"], named["folder"]
    _refuse_pipes(reads)
    writes: dict[str, str] = {}
    for name, path in named["written"]:
        if path != "-":  # an option that is given again goes by its path, too
            writes[f"{name} {path}" if name in writes else name] = path
    if not writes and not folders:
        return
    for name, path in writes.items():  # before the work, not after it
        if why := _not_writable(name, path):
            raise UsageError(f"cannot write {path}: {why}; choose a file in a folder that exists")
    from ..store.atomic import refuse_clashes

    inputs = [path for _, path in reads]
    _refuse_inside_inputs(writes | dict(folders), inputs)
    outputs = _files_written(writes, inputs)
    refuse_clashes(outputs, inputs)
    for folder, use in folders:
        refuse_clashes({folder: use}, inputs)
        for name, path in outputs.items():
            if Path(use).resolve() in Path(path).resolve().parents:
                raise UsageError(
                    f"{name} {path} lies in the folder of {folder}, which holds files of its own; choose another place"
                )


def _named_paths(offered: Sequence[Declared], typed: Plain) -> dict[str, list[tuple[str, str]]]:
    """The options that name files, each with its path, by what is done with these: read, written, or used as folder."""
    named: dict[str, list[tuple[str, str]]] = {"read": [], "written": [], "folder": []}
    for parameter, _, about in offered:
        value = typed.get(parameter)
        if about.path is not None and value is not None:
            name = parameter.upper() if about.positional else spelt(parameter, about)[0]
            several = value if isinstance(value, (list, tuple)) else [value]
            named[about.path] += [(name, str(path)) for path in several]
    return named


def _refuse_pipes(reads: Sequence[tuple[str, str]]) -> None:
    """Raise `InputError` where a pipe is to be read: nobody may ever write into it."""
    remedy = (
        "name a regular file, or give - for predictions and pipe CSV or JSONL to standard input"
    )
    for name, path in reads:
        if os.path.exists(path) and (Path(path).is_fifo() or Path(path).is_socket()):
            raise InputError(
                f"a regular file as {name}", got="a pipe or device", file=path, remedy=remedy
            )


def _not_writable(name: str, path: str) -> str:
    """Why no file can be written there; empty where one can."""
    if os.path.isdir(path) and name.split()[0] in ("--json", "--report", "--save"):
        return "it is a folder"
    if os.path.exists(path) or "://" in path:
        return ""
    parent = os.path.dirname(path.rstrip("/")) or "."
    writable = os.path.isdir(parent) and os.access(parent, os.W_OK)
    return "" if writable else f"{parent} is no folder that may be written"


def _refuse_inside_inputs(writes: Mapping[str, str], reads: Sequence[str]) -> None:
    """Raise `UsageError` where an output lies in a folder that is read: the next run would read it as predictions."""
    folders = [
        (read, Path(read).resolve()) for read in reads if read != "-" and Path(read).is_dir()
    ]
    for name, path in writes.items():
        for read, folder in folders:
            if folder in Path(path).resolve().parents:
                raise UsageError(
                    f"{name} {path} lies in the folder {read} that is read; choose another place"
                )


def _files_written(writes: Mapping[str, str], reads: Sequence[str]) -> dict[str, str]:
    """The files that are written; into a folder the results of several files go under their names."""
    outputs: dict[str, str] = {}
    for name, path in writes.items():
        if Path(path).is_dir():
            names = dict.fromkeys(Path(read).name for read in reads if read != "-")
            outputs |= {f"{file} in {name}": str(Path(path) / file) for file in names}
        else:
            outputs[name] = path
    return outputs
