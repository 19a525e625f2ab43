"""Options: an option is declared once, as a field of a record; function, checks, docstring and command come from it.

How a verb is declared, with `diagnose` as the pattern (`verbs/options.py`, `verbs/diagnose.py`, `cli/diagnose.py`):

1. Write its record in `verbs/options.py`, which loads no numpy, since ``-h`` reads it: a class that derives from the
   groups of options that other verbs share (`Reading`, `Features`, `Running`, ...) and adds one field for each option
   of its own: ``level: float = option(default=0.95, help="Level of the intervals.")``. Positional ones are
   ``reference: Any = argument(kw_only=False, help="...")``. All arguments of `option` are given by name.
2. The check follows from the name (`seed` means one thing everywhere) or from the type (a text, a list of numbers, a
   path: `arguments.check_of`); another one is ``check=``, a function of (name, value) that returns the value. What must
   hold of several options together is checked by the verb.
3. ``help`` is the line of ``-h`` and the text in the docstring; a longer text for Python alone is ``doc=``. ``flag`` is
   how a shell spells the option where that is not its name (``"--map --mapping"``, ``"--method"`` for ``methods``);
   ``flag=""`` keeps it out of the shell. ``parse`` makes the value of the typed text (of the list of them where
   ``many``). ``path`` is "read", "written" or "folder"; ``rare`` shows the option with ``--help-all`` alone.
4. The verb is ``@verb(DiagnoseOptions) def diagnose(options: DiagnoseOptions) -> Diagnosis``, whose docstring has no
   Parameters block: it is made. Callers and editors see ``diagnose(reference, target, *, where=None, ...)``.
5. The command is ``@command(app, DiagnoseOptions, written=("json", "out"))`` over a function of the arguments that were
   typed, as the verb takes them, and of where the answer goes (`cli/commands.py`). Its docstring is the text of ``-h``.
6. Delete the signature of the command, its call, the record of options, the Parameters block and checks that nothing
   else uses. A shared group gets no option that one of its verbs has no use for.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    overload,
)

from .arguments import Check, check_of, reword
from .errors import OodometerError

P = ParamSpec("P")
O = TypeVar("O")  # noqa: E741 - the record of options
R = TypeVar("R")
One = TypeVar("One", covariant=True)
Many = TypeVar("Many", covariant=True)


@dataclasses.dataclass(frozen=True)
class About:
    """What is declared of an option besides its type and default; the module says how to use it."""

    help: str
    doc: str | None = None
    check: Check | None = None
    group: str = ""
    metavar: str | None = None
    flag: str | None = None
    many: bool | None = None
    parse: Callable[[Any], Any] | None = None
    path: Literal["read", "written", "folder"] | None = None
    rare: bool = False
    needed: bool = False  # by a shell, though not in Python
    noted: bool = False  # by a store of past runs
    place: Literal["read", "fit", "ask"] = "ask"
    positional: bool = False


def option(*, default: Any, kw_only: bool = True, **about: Any) -> Any:
    """A field of a record of options; ``about`` are fields of `About`, of which ``help`` is needed."""
    return dataclasses.field(default=default, kw_only=kw_only, metadata={"about": About(**about)})


def argument(*, kw_only: Literal[False], default: Any = dataclasses.MISSING, **about: Any) -> Any:
    """A field that is given by its place or by name; type checkers want ``kw_only=False`` to be written.

    Without a default it must be given. With ``flag`` it is an option in the shell. An `option` that must be given has
    the default ``dataclasses.MISSING``.
    """
    told = About(**about, positional="flag" not in about)
    return dataclasses.field(default=default, kw_only=kw_only, metadata={"about": told})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
class Options:
    """A record of options: a class that derives from it is a frozen dataclass whose values have passed their checks.

    >>> class Example(Options):
    ...     level: float = option(default=0.95, help="Level of the intervals.")
    >>> Example(level=0.5).level
    0.5
    >>> Example(level="high")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a level between 0 and 1 such as 0.95, got 'high' (str)
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True, kw_only=True, eq=False)(cls)
        for name, field, about in declared(cls):
            _ = about.check or check_of(name, field.type)  # an option without one is refused where it is declared

    @classmethod
    def of(cls, options: Options, **more: Any) -> Self:
        """The record with what another one was asked, where both have an option, and with ``more``."""
        return cls(**{name: getattr(options, name) for name, _, _ in declared(cls) if hasattr(options, name)} | more)

    def __post_init__(self) -> None:
        for name, field, about in declared(type(self)):
            value = getattr(self, name)
            if value is not None or "None" not in str(field.type):
                object.__setattr__(self, name, (about.check or check_of(name, field.type))(name, value))


Declared = tuple[str, "dataclasses.Field[Any]", About]


def declared(record: Any) -> Iterator[Declared]:
    """Name, field and declaration of each option: positional ones, the record's own, those of its groups in order."""
    fields = {one.name: one for one in dataclasses.fields(record) if "about" in one.metadata}
    positional = [name for name, one in fields.items() if not one.kw_only]
    groups = [name for base in record.__mro__ for name in inspect.get_annotations(base) if name in fields]
    for name in dict.fromkeys((*positional, *groups)):
        yield name, fields[name], fields[name].metadata["about"]


def spelt(name: str, about: About) -> list[str]:
    """How a shell spells an option."""
    return (f"--{name.replace('_', '-')}" if about.flag is None else about.flag).split()


def placed(record: Any, *places: str) -> list[str]:
    """Names of the options of a record that have one of these places."""
    return [name for name, _, about in declared(record) if about.place in places]


def takes(options: Callable[P, Options]) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """Decorator: a method of any keywords becomes one of the options of a record, which it gets as they were given."""
    record = cast("type[Options]", options)

    def wrap(function: Callable[..., R]) -> Callable[Concatenate[Any, P], R]:
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = inspect.Signature([own, *_parameters(record)])

        @functools.wraps(function)
        def called(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            return function(**bound.arguments)

        called.__signature__ = signature  # type: ignore[attr-defined]
        called.__annotations__ = {field.name: field.type for field in dataclasses.fields(record)}
        called.__doc__ = documented(function.__doc__, record) if function.__doc__ else None
        return cast("Callable[Concatenate[Any, P], R]", called)

    return wrap


def verb(options: Callable[P, O]) -> Callable[[Callable[[O], R]], Callable[P, R]]:
    """Decorator: a function of a record becomes one of its options, typed, documented, with errors in its words.

    >>> class Example(Options):
    ...     level: float = option(default=0.95, help="Level of the intervals.")
    >>> @verb(Example)
    ... def example(options: Example) -> float:
    ...     '''An example.'''
    ...     return options.level
    >>> example(level=0.5), str(inspect.signature(example)), example.__doc__.splitlines()[-1]
    (0.5, "(*, level: 'float' = 0.95) -> 'float'", '    Level of the intervals.')
    """
    return lambda function: _face(function, cast("type[Options]", options))


class _OfSeveral(Protocol[P, One, Many]):
    """A function of one source or several; type checkers tell them apart up to three, and beyond say either."""

    @overload
    def __call__(self, source: Any, /, *args: P.args, **kwargs: P.kwargs) -> One: ...
    @overload
    def __call__(self, source: Any, second: Any, /, *args: P.args, **kwargs: P.kwargs) -> Many: ...
    @overload
    def __call__(self, source: Any, second: Any, third: Any, /, *args: P.args, **kwargs: P.kwargs) -> Many: ...


def verb_of_several(
    options: Callable[P, O], one: type[One], many: type[Many]
) -> Callable[[Callable[[tuple[Any, ...], O], One | Many]], _OfSeveral[P, One, Many]]:
    """Decorator: as `verb`, of a function of any number of sources, which come before the options."""
    sources = inspect.Parameter("sources", inspect.Parameter.VAR_POSITIONAL, annotation="Any")
    return lambda function: _face(function, cast("type[Options]", options), sources)


def _face(function: Callable[..., Any], record: type[Options], *before: inspect.Parameter) -> Any:
    hints = {field.name: field.type for field in dataclasses.fields(record)}
    returned = inspect.signature(function).return_annotation
    signature = inspect.Signature([*before, *_parameters(record)], return_annotation=returned)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments  # its message names the function, not a constructor
        try:
            return function(*(given.pop(one.name, ()) for one in before), record(**given))
        except OodometerError as error:
            reword(error, hints)
            raise

    called.__signature__ = signature  # type: ignore[attr-defined]
    called.__annotations__ = {**hints, "return": returned}
    called.__doc__ = documented(function.__doc__ or "", record)
    return called


def _parameters(record: type[Options]) -> Iterator[inspect.Parameter]:
    for name, one, _ in declared(record):
        kind = inspect.Parameter.KEYWORD_ONLY if one.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = inspect.Parameter.empty if one.default is dataclasses.MISSING else one.default
        yield inspect.Parameter(name, kind, default=default, annotation=one.type)


def documented(text: str, record: type[Options]) -> str:
    """A docstring with the block of parameters, before what it raises, returns or shows."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    block = ["Parameters\n----------"]
    for name, _, about in declared(record):
        block.append(f"{name} :\n{_indented(about.doc or about.help)}")
    at = next((i for i, one in enumerate(paragraphs) if re.match(r">>>|Returns |.*\bRaises `", one, re.DOTALL)), None)
    at = len(paragraphs) if at is None else at
    return "\n\n".join((*paragraphs[:at], "\n".join(block), *paragraphs[at:]))


_indented = functools.partial(
    textwrap.fill, width=112, initial_indent=" " * 4, subsequent_indent=" " * 4, break_on_hyphens=False
)
