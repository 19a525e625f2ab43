"""Commands: what the command line makes of a record of options, and where an answer goes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ..options import About, Options, declared, option
from . import output

Command = Callable[..., None]


class Written(Options):
    """Where an answer goes, besides the terminal; a command offers some of them."""

    json: str | None = option(
        default=None, path="written", metavar="FILE", help="Write JSON to this file, or - for standard output."
    )
    report: str | None = option(
        default=None, path="written", metavar="FILE", help="Write a self-contained page to this .html or .pdf file."
    )
    out: Sequence[str] | None = option(
        default=None, path="written", metavar="FILE", flag="--out --save",
        help="Write the result to this file: .csv or .parquet (a table), .json, .html, .pdf or .md; may be repeated.",
    )  # fmt: skip
    save: Sequence[str] | None = option(
        default=None, path="written", metavar="FILE",
        help="Write the result to this file: .csv or .parquet (a table), .json, .html, .pdf or .md; may be repeated.",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse, before the work, what could not be written after it."""
        output.check_files(self.report, self.out or self.save)

    def deliver(self, result: Any, found: Any = None) -> bool:
        """Write the answer; whether the terminal is free to show it as well."""
        output.deliver(result, json=self.json, report=self.report, found=found, files=self.out or self.save)
        return self.json != "-"


def command(
    app: typer.Typer, record: type[Options], *, name: str | None = None, written: Sequence[str] = ()
) -> Callable[[Callable[[dict[str, Any], Written], None]], Command]:
    """Decorator: register a command with the options of a record and those of `Written` that are named.

    The function gets what was typed, as arguments of the verb (options that were not typed are absent, unless they are
    no text and have a default), and where the answer goes. Its docstring is the command's text in ``-h``.
    """
    offered = [one for one in declared(record) if one[2].flag != ""]
    offered += [one for one in declared(Written) if one[0] in written]

    def wrap(function: Callable[[dict[str, Any], Written], None]) -> Command:
        def run(**typed: Any) -> None:
            given: dict[str, Any] = {}
            for name, _, about in offered:
                value = typed[name]
                if value is not None and value != []:
                    given[name] = value if about.parse is None else about.parse(value)
            function(given, Written(**{one: given.pop(one) for one in written if one in given}))

        rare = frozenset(name for name, _, about in offered if about.rare)
        parameters = [*(_parameter(*one) for one in offered), *([_HELP_ALL] if rare else [])]
        run.__name__, run.__doc__, run.__module__ = function.__name__, function.__doc__, function.__module__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        shown = type("Help", (_Help,), {"rare": rare, "groups": {name: about.group for name, _, about in offered}})
        app.command(name=name or function.__name__, cls=shown)(run)
        return run

    return wrap


def _parameter(name: str, field: Field[Any], about: About) -> inspect.Parameter:
    """The parameter that typer reads."""
    text = str(field.type)
    many = ("Sequence[" in text and about.parse is None) if about.many is None else about.many
    kind: Any = next((one for word, one in (("float", float), ("int", int), ("bool", bool)) if word in text), str)
    kind = str if about.parse is not None else kind
    plain = None if field.default is MISSING or isinstance(field.default, (tuple, list)) else field.default
    plain = False if kind is bool else plain
    told: Any
    if about.positional:
        told, plain = typer.Argument(help=about.help, metavar=about.metavar or name.upper()), inspect.Parameter.empty
        if field.default is not MISSING:
            plain = None
    else:
        flags = (f"--{name.replace('_', '-')}" if about.flag is None else about.flag).split()
        told = typer.Option(*flags, help=about.help, metavar=about.metavar)
        plain = inspect.Parameter.empty if field.default is MISSING or about.needed else plain
    hint: Any = list[kind] if many else kind
    hint = hint | None if plain is None else hint
    hint = Annotated[hint, told] if about.path is None else Annotated[hint, told, about.path]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=plain, annotation=hint)


def _help_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.meta["help_all"] = True
        output.say(*context.get_help().splitlines())
        raise typer.Exit


_HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool, typer.Option("--help-all", is_eager=True, callback=_help_all, help="Show the rare options, too.")
    ],
)


class _Help(TyperCommand):
    """A command whose ``-h`` shows its options in groups, those that are rarely used with ``--help-all`` alone."""

    rare: frozenset[str] = frozenset()
    groups: dict[str, str] = {}  # noqa: RUF012 - of the class that `command` makes

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._help_all = [one for one in self.params if one.name == "help_all"]
        self.params = [one for one in self.params if one.name != "help_all"]

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, and as ``-h`` is one of every command, that which shows all of them."""
        return [*super().get_params(ctx), *self._help_all]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, each group under its name."""
        every = ctx.meta.get("help_all", False)
        sections: dict[str, list[Any]] = {}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is not None and (every or one.name not in self.rare):
                usual = "Arguments" if one.param_type_name == "argument" else "Options"
                sections.setdefault(self.groups.get(str(one.name)) or usual, []).append(record)
        for title in sorted(sections, key=lambda one: (one != "Arguments", one == "Options")):
            with formatter.section(title):
                formatter.write_dl(sections[title])
