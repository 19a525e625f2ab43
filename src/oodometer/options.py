"""Options: an option is declared once, as a field of a record; function, checks, docstring and command come from it.

How a verb is declared, with `diagnose` as the pattern (`verbs/options.py`, `verbs/diagnose.py`, `cli/accuracy.py`):

1. Its record in `verbs/options.py` (no numpy there, since ``-h`` reads it) derives from the groups of options that it
   shares (`Reading`, `Running`, ...) and adds its own: ``level: float = option(default=0.95, help="Level of the
   intervals.")``. Positional ones are ``reference: Any = argument(kw_only=False, help="...")``.
2. The check follows from the name (`seed` means one thing everywhere) or the type (`check_of`); another one is
   ``check=``, a function of (name, value) that returns the value. What must hold of several together the verb checks.
3. ``help`` is the line of ``-h`` and of the docstring; ``doc=`` a longer one for Python. ``flag`` is how a shell spells
   it where that is not its name, ``""`` keeps it out; ``parse`` makes the value of the typed text, of the list of them
   where ``many``; ``path`` is "read", "written" or "folder"; ``rare`` shows it with ``--help-all`` alone.
4. What several verbs share belongs to a `Group`, a record that users make once and hand to each of them: the class
   that declares the option (``Features``) is a base of the group (``class Columns(Group, ..., Features)``) and of the
   records of verbs, which take the group by ``columns: Columns | None = whole(default=None, of="Columns")``
   (`WithColumns`, `Grouped`, ...). Its options leave the signature that is shown; by their own names they work all the
   same. ``apart`` of a record names options that mean something else there.
5. The verb is ``@verb(DiagnoseOptions) def diagnose(options: DiagnoseOptions) -> Diagnosis``; its docstring has no
   Parameters block, which is made. The command is ``@command(DiagnoseOptions, written=("json", "out"))`` over a
   function of the arguments as the verb takes them and of where the answer goes (`cli/commands.py`).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import math
import numbers
import os
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import (
    TYPE_CHECKING,
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

from .errors import OodometerError, UsageError, near_names

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


def option(*, default: Any, kw_only: bool = True, of: str | None = None, **about: Any) -> Any:
    """A field of a record of options; ``about`` are fields of `About`, of which ``help`` is needed. ``of`` is the class
    of the `Group` that may stand in its place, where both have one name.
    """
    metadata = {"about": About(**about)} | ({} if of is None else {"whole": of})
    return dataclasses.field(default=default, kw_only=kw_only, metadata=metadata)


def whole(*, default: Any, of: str) -> Any:
    """A field of a record of options that takes a `Group` of them at once: the name of its class."""
    return dataclasses.field(default=default, kw_only=True, metadata={"whole": of})


def argument(*, kw_only: Literal[False], default: Any = dataclasses.MISSING, **about: Any) -> Any:
    """A field that is given by its place or by name; type checkers want ``kw_only=False`` to be written.

    Without a default it must be given. With ``flag`` it is an option in the shell. An `option` that must be given has
    the default ``dataclasses.MISSING``.
    """
    metadata: dict[str, Any] = {"about": About(**about, positional="flag" not in about)}
    return dataclasses.field(default=default, kw_only=kw_only, metadata=metadata)


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(option, argument, whole)
)
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
    # options of its groups that this record shows with --help-all alone
    rarely: ClassVar[frozenset[str]] = frozenset()
    unsaid: ClassVar[frozenset[str]] = frozenset()  # options of its groups that a shell has not
    apart: ClassVar[frozenset[str]] = frozenset()  # options that mean something else in a `Group`

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls)
        for name, field, about in declared(cls):
            # an option without one is refused where it is declared
            _ = about.check or check_of(name, field.type)

    @classmethod
    def of(cls, options: Options, **more: Any) -> Self:
        """The record with what another one was asked, where both have an option, and with ``more``."""
        return cls(
            **{
                name: getattr(options, name)
                for name, _, _ in declared(cls)
                if hasattr(options, name)
            }
            | more
        )

    def __post_init__(self) -> None:
        for name, field, about in declared(type(self)):
            value = getattr(self, name)
            # it passes its check, which may make a list of ()
            if value is field.default and value != ():
                continue
            if value is not None or "None" not in str(field.type):
                object.__setattr__(
                    self, name, (about.check or check_of(name, field.type))(name, value)
                )

    @property
    def given(self) -> dict[str, Any]:
        """What differs from the defaults, by its name."""
        values = (
            (name, getattr(self, name), field.default) for name, field, _ in declared(type(self))
        )
        return {name: value for name, value, default in values if not _is_default(value, default)}

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.given.items())
        return f"{type(self).__name__}({given})"


Declared = tuple[str, "dataclasses.Field[Any]", About]


def declared(record: Any) -> Iterator[Declared]:
    """Name, field and declaration of each option: positional ones, the record's own, those of its groups in order."""
    fields = {
        field.name: field for field in dataclasses.fields(record) if "about" in field.metadata
    }
    positional = [name for name, field in fields.items() if not field.kw_only]
    groups = [
        name for base in record.__mro__ for name in inspect.get_annotations(base) if name in fields
    ]
    for name in dict.fromkeys((*positional, *groups)):
        about = fields[name].metadata["about"]
        if name in record.rarely:
            about = dataclasses.replace(about, rare=True)
        yield (
            name,
            fields[name],
            dataclasses.replace(about, flag="") if name in record.unsaid else about,
        )


class Group(Options):
    """Options that belong together, said once and handed to several calls: a frozen record of checked values.

    A class that derives from it is made of the records that declare its options, and documented by them. ``given`` is
    what differs from the defaults; two are equal, and a text, by that alone.

    >>> class Intervals(Group):
    ...     '''How wide intervals are.'''
    ...     level: float = option(default=0.95, help="Level of the intervals.")
    ...     seed: int = option(default=0, help="Seed of draws.")
    >>> Intervals(level=0.9, seed=0), Intervals(level=0.9) == Intervals(level=0.9, seed=0)
    (Intervals(level=0.9), True)
    >>> Intervals(levl=0.9)
    Traceback (most recent call last):
    TypeError: Intervals() got an unexpected keyword argument 'levl'; did you mean level=?
    """

    known: ClassVar[dict[str, type[Group]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__doc__ = documented(cls.__doc__ or "", cls)
        Group.known[cls.__name__] = cls

    if not TYPE_CHECKING:  # it takes what the class declares

        def __new__(cls, *args: Any, **given: Any) -> Self:
            """An object whose options are known by name."""
            names = [name for name, _, _ in declared(cls)]
            for name in given:
                if name not in names:
                    raise TypeError(
                        f"{cls.__name__}() got an unexpected keyword argument {name!r}; "
                        f"{_meant(name, names)}"
                    )
            return super().__new__(cls)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.given == other.given

    def __hash__(self) -> int:
        return hash((type(self), *self.given))  # values may be lists


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(default, tuple):  # a check may have made a list of it
        return isinstance(value, (list, tuple)) and (*value,) == default
    return value is default or (type(value) is type(default) and bool(value == default))


def _meant(name: str, names: Collection[str]) -> str:
    """What may have been meant by a name that there is not."""
    near = [*near_names(name, names)]
    if near:
        return f"did you mean {near[0]}=?"
    homes = [group for group, cls in Group.known.items() if hasattr(cls, name)]
    return f"{name} is an option of {homes[0]}" if homes else f"it takes {', '.join(names)}"


def groups_of(record: Any) -> dict[str, type[Group]]:
    """Name -> group, of those that a record takes, always in one order; a group takes none."""
    if issubclass(record, Group):
        return {}
    fields = dataclasses.fields(record)
    names = {f.metadata["whole"]: f.name for f in fields if "whole" in f.metadata}
    return {names[group]: cls for group, cls in Group.known.items() if group in names}


def options_of(group: type[Group], record: Any) -> list[str]:
    """Names of the options of a group that a record has."""
    here = {name for name, _, _ in declared(record)} - record.apart
    return [name for name, _, _ in declared(group) if name in here]


def ungrouped(record: type[Options], called: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a verb with those of its groups by their own names.

    Raises `UsageError` for an option that is given twice, and for one that the verb has not.
    """
    out = dict(given)
    options = {name for name, _, _ in declared(record)}
    for name, kind in groups_of(record).items():
        value = given.get(name)
        if value is None or (name in options and not isinstance(value, Group)):
            continue  # an option may have the name of its group
        if not isinstance(value, kind):
            raise _wrong(name, f"oodometer.{kind.__name__}(...)", value)
        del out[name]
        here = options_of(kind, record)
        for one, option_value in value.given.items():
            if one not in here:
                raise UsageError(
                    f"{one} is no option of {called}, which takes {', '.join(here)} of {kind.__name__}; leave it out: "
                    f"dataclasses.replace({name}, {one}={getattr(kind, one, None)!r})"
                )
            if one in given and one != name:
                raise UsageError(
                    f"{one} is given twice, by itself and in {name}; leave one of them out"
                )
            out[one] = option_value
    return out


def spelt(name: str, about: About) -> list[str]:
    """How a shell spells an option."""
    return (f"--{name.replace('_', '-')}" if about.flag is None else about.flag).split()


def placed(record: Any, *places: str) -> list[str]:
    """Names of the options of a record that have one of these places."""
    return [name for name, _, about in declared(record) if about.place in places]


def takes(
    options: Callable[P, Options], *, flat: bool = False
) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """Decorator: a method of any keywords becomes one of the options of a record, which it gets as they were given.

    ``flat`` shows its signature with every option and without groups, as scikit-learn reads parameters off it.
    """
    record = cast("type[Options]", options)

    def wrap(function: Callable[..., R]) -> Callable[Concatenate[Any, P], R]:
        self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        returned = inspect.signature(function).return_annotation
        every = inspect.Signature(
            [self_parameter, *_parameters(record)], return_annotation=returned
        )
        of = function.__qualname__.removesuffix(".__init__")
        usual = {p.name: p.default for p in _parameters(record) if p.name not in groups_of(record)}

        @functools.wraps(function)
        def called(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
            bound = every.bind(self, *args, **kwargs).arguments
            return function(**usual | ungrouped(record, of, bound))

        _show(called, every, {*groups_of(record)} if flat else _in_groups(record))
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


class _Vector(Protocol):
    """What arrays and Series have and frames have not."""

    @property
    def dtype(self) -> Any:
        """Type of the cells."""


class _OfSeveral(Protocol[P, One, Many]):
    """A function of one source or several; type checkers tell them apart up to three, and beyond say either. Labels
    and probabilities, one behind the other, are one.
    """

    @overload
    def __call__(self, source: Any, /, *args: P.args, **kwargs: P.kwargs) -> One: ...
    @overload
    def __call__(
        self, y: _Vector | list[int], p: Any, /, *args: P.args, **kwargs: P.kwargs
    ) -> One: ...
    @overload
    def __call__(self, source: Any, second: Any, /, *args: P.args, **kwargs: P.kwargs) -> Many: ...
    @overload
    def __call__(
        self, source: Any, second: Any, third: Any, /, *args: P.args, **kwargs: P.kwargs
    ) -> Many: ...


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
        import numpy as np  # here, as options are declared where `-h` must not load it

        try:
            bound = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            places = (
                p.replace(annotation=p.empty)
                for p in signature.parameters.values()
                if p.kind < p.KEYWORD_ONLY
            )
            near = [
                n
                for name in kwargs
                if name not in signature.parameters
                for n in near_names(name, hints)
            ]
            hint = (
                f"did you mean {near[0]}=?"
                if near
                else f"call {function.__name__}({', '.join(map(str, places))}), "
            )
            raise TypeError(f"{error}; {hint}{'' if near else 'its options by name'}") from None
        try:
            with np.errstate(under="ignore"):  # what a user has set is no part of the question
                return function(
                    *(bound.pop(parameter.name, ()) for parameter in before),
                    record(**ungrouped(record, function.__name__, bound)),
                )
        except OodometerError as error:
            reword(error, hints)
            raise

    _show(called, signature, _in_groups(record))
    called.__annotations__ = {**hints, "return": returned}
    called.__doc__ = documented(function.__doc__ or "", record)
    return called


def _show(called: Any, every: inspect.Signature, hidden: Collection[str]) -> None:
    """Show the signature without what is given in another way."""
    shown = [p for name, p in every.parameters.items() if name not in hidden]
    called.__signature__ = every.replace(parameters=shown)
    called.__arguments__ = every


def arguments_of(function: Callable[..., Any]) -> inspect.Signature:
    """All arguments that a function takes, those of its groups by their own names, too."""
    every: inspect.Signature = getattr(function, "__arguments__", None) or inspect.signature(
        function
    )
    return every


def _in_groups(record: type[Options]) -> set[str]:
    """Names of the options that a record takes in a group, too."""
    groups = groups_of(record)
    return {name for kind in groups.values() for name in options_of(kind, record)} - {*groups}


def _parameters(record: type[Options]) -> Iterator[inspect.Parameter]:
    fields = {field.name: field for field in dataclasses.fields(record)}
    groups = groups_of(record)
    own = [name for name, _, _ in declared(record) if name not in groups]
    for name in (*own, *groups):
        field = fields[name]
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if field.kw_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        yield inspect.Parameter(name, kind, default=default, annotation=field.type)


def documented(text: str, record: type[Options]) -> str:
    """A docstring with the block of parameters, before what it raises, returns or shows."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    block = ["Parameters\n----------"]
    groups, hidden = groups_of(record), _in_groups(record)
    said = {
        name: about.doc or about.help for name, _, about in declared(record) if name not in hidden
    }
    for name, kind in groups.items():
        own = said.pop(name, "")
        what = (kind.__doc__ or "").partition(".\n")[0]
        whole = f"{what} (`oodometer.{kind.__name__}`): {', '.join(options_of(kind, record))}."
        said[name] = f"{whole} Or as its option ``{name}``: {own}" if own else whole
    for name, text in said.items():
        lines = textwrap.wrap(text, 108, break_on_hyphens=False)
        block.append("\n    ".join((f"{name} :", *lines)))
    after = (
        i
        for i, text in enumerate(paragraphs)
        if re.match(r">>>|Returns |.*\bRaises `", text, re.DOTALL)
    )
    at = next(after, len(paragraphs))
    flat = []
    if hidden:
        name, kind = next((n, k) for n, k in groups.items() if options_of(k, record))
        one = options_of(kind, record)[0]
        short = (
            f"Every option of a group may also be given by its own name, ``{one}=...`` for "
            f"``{name}={kind.__name__}({one}=...)``."
        )
        flat = ["\n".join(textwrap.wrap(short, 112, break_on_hyphens=False))]
    return "\n\n".join((*paragraphs[:at], *flat, "\n".join(block), *paragraphs[at:]))


Check = Callable[[str, Any], Any]

MOST_WORKERS = 4096
_LARGEST_SEED = 2**32 - 1  # as in scikit-learn and numpy's older generators


def _wrong(name: str, expected: str, value: Any) -> UsageError:
    text = repr(value)
    text = text if len(text) <= 80 else text[:77] + "..."
    return UsageError(f"expected {name} to be {expected}, got {text} ({type(value).__name__})")


def check_seed(value: Any, name: str = "seed") -> int:
    """A seed as a whole number from 0 to 2^32 - 1, by scikit-learn's convention. None draws one from the machine, a
    generator of numpy gives the next of its own; the result tells which it was.
    """
    import numpy as np  # here, as options are declared where `-h` must not load it

    if value is None:
        return int.from_bytes(os.urandom(4))
    if isinstance(value, np.random.Generator):
        return int(value.integers(_LARGEST_SEED, endpoint=True))
    if isinstance(value, np.random.RandomState):
        return int(value.randint(2**31 - 1))
    if is_whole(value) and 0 <= int(value) <= _LARGEST_SEED:
        return int(value)
    raise _wrong(
        name, f"a whole number from 0 to {_LARGEST_SEED}, a generator of numpy or None", value
    )


def is_whole(value: Any, minimum: float = -math.inf) -> bool:
    """Whether something is a whole number, no truth value, from ``minimum`` on."""
    return (
        not isinstance(value, bool)
        and isinstance(value, numbers.Integral)
        and int(value) >= minimum
    )


def _is_number(value: Any) -> bool:
    # a bool of numpy is no number
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and not math.isnan(float(value))


def _is_called(value: Any, method: str) -> bool:
    return not isinstance(value, type) and callable(getattr(value, method, None))


def need(
    expected: str, holds: Callable[[Any], bool], make: Callable[[Any], Any] = lambda value: value
) -> Check:
    """A check that something holds of a value, which comes out as ``make`` has it."""

    def check(name: str, value: Any) -> Any:
        if not holds(value):
            raise _wrong(name, expected, value)
        return make(value)

    return check


def one_of(*choices: str) -> Check:
    """A check that a text is one of those known."""
    return need(
        f"one of {', '.join(choices)}", lambda value: isinstance(value, str) and value in choices
    )


def anything(name: str, value: Any) -> Any:
    """No check: of data whoever opens them says what they should be."""
    return value


_number = need("a number", _is_number, float)
_text = need("a text", lambda value: isinstance(value, str))
_mapping = need("a mapping", lambda value: isinstance(value, Mapping))
_place = need(
    "a path", lambda value: isinstance(value, (str, os.PathLike)) and "\0" not in os.fsdecode(value)
)
several_or_none = need("a list", lambda value: isinstance(value, (list, tuple)))
record = need(
    "a Predictions record (oodometer.load gives one)",
    lambda value: all(hasattr(value, one) for one in ("fields", "columns", "source")),
)


def _list(name: str, value: Any, of: str, each: Callable[[str, Any], Any] = anything) -> list[Any]:
    """The entries of a list, each of which passes a check; a text is none, and a set has no order."""
    # one is a list of one
    value = [value] if isinstance(value, (str, numbers.Real)) and each is not anything else value
    no_list = isinstance(value, (str, bytes, Mapping, Set)) or not isinstance(value, Iterable)
    if no_list or getattr(value, "ndim", 1) != 1:
        raise _wrong(name, f"a list of {of}", value)
    plain: Callable[[], list[Any]] | None = getattr(value, "tolist", None)
    return [
        each(f"every entry of {name}", entry) for entry in (value if plain is None else plain())
    ]


def texts(name: str, value: Any) -> list[str]:
    """A check that something is a list of texts."""
    return _list(name, value, "texts", _text)


def texts_or_one(name: str, value: Any) -> Any:
    """A check that something is a text or several of them."""
    return value if isinstance(value, str) else texts(name, value)


def _names_of(kind: Literal["estimator", "metric"]) -> Check:
    """A check of names of methods; names that others use become ours."""

    def check(name: str, value: Any) -> list[str]:
        from .registry import named

        return [named(kind, text) for text in texts(name, value)]

    return check


def _classes(name: str, value: Any) -> list[Any]:
    from .classes import named_classes

    return list(named_classes(value))


def _each(check: Check) -> Check:
    """A check of every value of a mapping."""
    return lambda name, value: {
        str(key): check(f"{name}[{key!r}]", v) for key, v in _mapping(name, value).items()
    }


def judges_or_folder(name: str, value: Any) -> Any:
    """A check that something is a panel of judges, the folder of one, or several folders."""
    if isinstance(value, list | tuple) and value:
        return [_place(name, path) for path in value]
    return value if hasattr(value, "members") else _place(name, value)


def _level(name: str, value: Any) -> float:
    from .intervals import check_level

    return check_level(value)


def _timezone(name: str, value: Any) -> str:
    from .zones import check_zone

    return check_zone(_text(name, value))


CHECKS: dict[str, Check] = {
    "level": _level,
    "seed": lambda name, value: check_seed(value, name),
    "workers": need(
        f"a whole number from 1 (at least one worker) to {MOST_WORKERS}",
        lambda value: is_whole(value) and 1 <= int(value) <= MOST_WORKERS,
        int,
    ),
    "threshold": need("a number between 0 and 1 such as 0.6", _is_number, float),
    "backtest": need(
        "auto, a folder, a result of backtest or None",
        lambda value: isinstance(value, (str, os.PathLike)) or hasattr(value, "trials"),
    ),
    "timezone": _timezone,
    "methods": _names_of("estimator"),
    "metrics": _names_of("metric"),
    "axes": anything,
}
"""Name of an argument that means the same wherever it stands -> its check, which goes before that of its type."""

_OF_TYPES: dict[str, Check] = {
    "str": _text,
    "int": need("a whole number", lambda value: is_whole(value) and abs(int(value)) < 2**63, int),
    "float": _number,
    "bool": need(
        "True or False", lambda value: type(value).__name__ in ("bool", "bool_"), bool
    ),  # also of numpy
    "Any": anything,
    "Sequence[int | str]": _classes,
    "Sequence[float]": lambda name, value: tuple(_list(name, value, "numbers", _number)),
    "Sequence[Any]": lambda name, value: _list(
        name, value, "files, frames, mappings of arrays or records, one for each model"
    ),
    "Mapping[str, str]": need(
        "a mapping of their column names to ours, {theirs: ours}",
        lambda value: (
            isinstance(value, Mapping)
            and all(isinstance(x, str) for pair in value.items() for x in pair)
        ),
        dict,
    ),
    "Mapping[str, Any]": _mapping,
    "Mapping[str, Any] | Found": need(
        "what a verb found, or the mapping that --json writes",
        lambda value: isinstance(value, Mapping) or _is_called(value, "to_dict"),
    ),
    "Mapping[str, Predictions]": _each(record),
    "Predictions": record,
    "float | Mapping[str, float]": lambda name, value: (
        _each(_number) if isinstance(value, Mapping) else _number
    )(name, value),
    "str | Engine": need(
        "local, processes, ray, spark or an Engine",
        lambda value: isinstance(value, str) or callable(getattr(value, "fold", None)),
    ),
    "str | Ranker": need(
        "the name of a ranker, or a ranker",
        lambda value: isinstance(value, str) or _is_called(value, "score"),
    ),
    "str | Sequence[str]": texts_or_one,
    **dict.fromkeys(("str | Path", "str | os.PathLike[str]"), _place),
    **dict.fromkeys(("Sequence[str]", "Iterable[str]"), texts),
    **dict.fromkeys(
        ("Callable[[int, int], None]", "Report"), need("a function of (done, total)", callable)
    ),
}


def check_of(name: str, annotation: Any) -> Check:
    """The check of an argument by its name, else by its type; `TypeError` where none is known, so none is forgotten."""
    plain = str(annotation).removesuffix(" | None")
    if name not in CHECKS and plain not in _OF_TYPES:
        raise TypeError(f"{name}: no check is known for {annotation}; name one")
    return CHECKS[name] if name in CHECKS else _OF_TYPES[plain]


def checked(**special: Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a public function: every argument passes its check (`check_of`) before anything is done.

    ``special`` names checks of arguments that mean something else in this function. Seeds come out as whole numbers.

    >>> @checked()
    ... def double(level: float = 0.95, *, seed: int = 0): return 2 * seed
    >>> double(seed=3)
    6
    >>> double("0.95")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a level between 0 and 1 such as 0.95, got '0.95' ...
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        fixed = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        checks = {p.name: special.get(p.name) or check_of(p.name, p.annotation) for p in fixed}

        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                bound = signature.bind(*args, **kwargs)
                passed = bound.arguments
                for name in filter(checks.__contains__, passed):  # in the order of the signature
                    value, parameter = passed[name], signature.parameters[name]
                    none = parameter.default is None or "None" in str(parameter.annotation)
                    if name == "seed" or value is not None or not none:
                        passed[name] = checks[name](name, value)
                return function(*bound.args, **bound.kwargs)
            except OodometerError as error:
                reword(error, checks)
                raise

        return guarded

    return wrap


_typed: list[None] = []  # not empty while a command line calls


@contextmanager
def typed() -> Iterator[None]:
    """Inside, messages name options as a command line has them; elsewhere they name arguments of the function."""
    _typed.append(None)
    try:
        yield
    finally:
        _typed.pop()


_SIGN = r"(?:[^\s;:()`',]|:(?=[^\s;:()`',]))"
_VALUE = (
    rf"'[^']*'|\w+://{_SIGN}*|{_SIGN}*[=<>\d]{_SIGN}*(?:,{_SIGN}+)*|{_SIGN}+(?:,{_SIGN}+)+"
    r"|[A-Z]+(?!\w)|(?!out\b)[A-Za-z_]+(?=[;,)`]|$)"
)
_OPTION = rf"--([a-z][\w-]*)(?: ({_VALUE}))?"
_OPTIONS = re.compile(
    rf"oodometer [a-z][^;`]*|(?<![\w-]){_OPTION}(?: {_OPTION})*"
    r"(?=(:| (?:is|are|was|needs|takes|makes|names|leaves|renames|finds|tell|wrote|drew|new|out)\b)?)"
)
_OTHER_NAMES = {"map": "mapping", "judge": "existing", "judge_label": "labels"}


def reword(error: OodometerError, names: Collection[str]) -> None:
    """The message of an error in the words of a function with these arguments, unless a command line calls."""
    if not _typed:
        error.args = (in_python(str(error), names),)


def in_python(message: str, names: Collection[str]) -> str:
    """A message whose options are arguments of a function with these names; what it has not, and commands, stay."""

    def reworded(match: re.Match[str]) -> str:
        by_name: dict[str, list[str]] = {}
        for option, value in re.findall(_OPTION, match[0]) if match[0].startswith("--") else ():
            python_name = option.replace("-", "_")
            name = next(
                (
                    ours
                    for ours in (_OTHER_NAMES.get(python_name), python_name, f"{python_name}s")
                    if ours in names
                ),
                None,
            )
            if name is None:
                return match[0]
            by_name.setdefault(name, []).extend([value] if value else [])
        text = ", ".join(f"{name}={_as_code(name, values)}" for name, values in by_name.items())
        return text.rstrip("=") if match[match.re.groups] else text or match[0]

    message = re.sub(r"(\b(\w+)=\S+) \(\2=\)", r"\1", _OPTIONS.sub(reworded, message))
    message = re.sub(r"`oodometer ([a-z]+)`", r"`oodometer.\1`", message)
    return message.replace("REFERENCE then TARGET", "(reference, target)")


def _as_code(name: str, values: list[str]) -> str:
    """Values of an option as an argument of Python; numbers, and placeholders in capitals, stay."""
    plain = [value.strip("'") for value in values]
    if name == "mapping" and values:
        return json.dumps(dict(pair.rpartition("=")[::2] for pair in plain), ensure_ascii=False)
    if name == "classes" and values:
        return json.dumps(plain[0].split(","), ensure_ascii=False)
    code = [
        text if re.fullmatch(r"[A-Z]+|[\d.]+", text) else json.dumps(text, ensure_ascii=False)
        for text in plain
    ]
    return (
        f"[{', '.join(code)}]"
        if len(code) > 1 or (code and name in ("methods", "metrics"))
        else "".join(code)
    )
