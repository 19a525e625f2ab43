"""Arguments: one name, one meaning, one check, in whatever function of the library it is an argument."""

from __future__ import annotations

import functools
import inspect
import json
import math
import numbers
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any, Literal, ParamSpec, TypeVar

from .errors import OodometerError, UsageError

P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[str, Any], Any]

MOST_WORKERS = 4096
_LARGEST_SEED = 2**32 - 1  # as in scikit-learn and numpy's older generators


def _wrong(name: str, expected: str, value: Any) -> UsageError:
    said = repr(value)
    said = said if len(said) <= 80 else said[:77] + "..."
    return UsageError(f"expected {name} to be {expected}, got {said} ({type(value).__name__})")


def check_seed(value: Any, name: str = "seed") -> int:
    """A seed as a whole number from 0 to 2^32 - 1, by scikit-learn's convention.

    None draws one from the machine, a generator of numpy gives the next of its own; the result tells which it was.

    >>> import numpy as np
    >>> check_seed(np.random.default_rng(0)) == check_seed(np.random.default_rng(0))
    True
    >>> check_seed(-1)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected seed to be a whole number from 0 to 4294967295, a generator of numpy or ...
    """
    import numpy as np  # here, as options are declared where `-h` must not load it

    if value is None:
        return secrets.randbits(32)
    if isinstance(value, np.random.Generator):
        return int(value.integers(_LARGEST_SEED, endpoint=True))
    if isinstance(value, np.random.RandomState):
        return int(value.randint(2**31 - 1))
    if _is_whole(value) and 0 <= int(value) <= _LARGEST_SEED:
        return int(value)
    raise _wrong(name, f"a whole number from 0 to {_LARGEST_SEED}, a generator of numpy or None", value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)  # a bool of numpy is no number
    return real and not math.isnan(float(value))


def _whole(name: str, value: Any) -> int:
    if not _is_whole(value) or abs(int(value)) >= 2**63:
        raise _wrong(name, "a whole number", value)
    return int(value)


def _number(name: str, value: Any) -> float:
    if not _is_number(value):
        raise _wrong(name, "a number", value)
    return float(value)


def _threshold(name: str, value: Any) -> float:
    if not _is_number(value):
        raise _wrong(name, "a number between 0 and 1 such as 0.6", value)
    return float(value)


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):  # of numpy
        raise _wrong(name, "True or False", value)
    return bool(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "a text", value)
    return value


def _place(name: str, value: Any) -> Any:
    if not isinstance(value, (str, os.PathLike)) or "\0" in os.fsdecode(value):
        raise _wrong(name, "a path", value)
    return value


def _function(name: str, value: Any) -> Any:
    if not callable(value):
        raise _wrong(name, "a function of (done, total)", value)
    return value


def _workers(name: str, value: Any) -> int:
    if not _is_whole(value) or not 1 <= int(value) <= MOST_WORKERS:
        raise _wrong(name, f"a whole number from 1 (at least one worker) to {MOST_WORKERS}", value)
    return int(value)


def _list(name: str, value: Any, of: str) -> list[Any]:
    """The entries of a list; a text is none, and a set has no order."""
    if isinstance(value, (str, bytes, Mapping, Set)) or not isinstance(value, Iterable):
        raise _wrong(name, f"a list of {of}", value)
    if getattr(value, "ndim", 1) != 1:
        raise _wrong(name, f"a list of {of}", value)
    plain: Callable[[], list[Any]] | None = getattr(value, "tolist", None)
    return list(value) if plain is None else plain()


def texts(name: str, value: Any) -> list[str]:
    """A check that something is a list of texts."""
    some = _list(name, value, "texts")
    for one in some:
        if not isinstance(one, str):
            raise _wrong(f"every entry of {name}", "a text", one)
    return some


def _names_of(kind: Literal["estimator", "metric"]) -> Check:
    """A check of names of methods; names that others use become ours."""

    def check(name: str, value: Any) -> list[str]:
        from .registry import named

        return [named(kind, one) for one in texts(name, value)]

    return check


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    return tuple(_number(f"every entry of {name}", one) for one in _list(name, value, "numbers"))


def _classes(name: str, value: Any) -> list[Any]:
    from .classes import named_classes

    return list(named_classes(value))


def _renaming(name: str, value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(one, str) for pair in value.items() for one in pair):
        raise _wrong(name, "a mapping of their column names to ours, {theirs: ours}", value)
    return dict(value)


def _mapping(name: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise _wrong(name, "a mapping", value)
    return value


def several(name: str, value: Any) -> list[Any]:
    """A check that something is a list of data, one for each model."""
    return _list(name, value, "files, frames, mappings of arrays or records, one for each model")


def _bound(name: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        return _number(name, value)
    return {str(metric): _number(f"{name}[{metric!r}]", one) for metric, one in value.items()}


def _engine(name: str, value: Any) -> Any:
    if not isinstance(value, str) and not callable(getattr(value, "fold", None)):
        raise _wrong(name, "local, processes, ray, spark or an Engine", value)
    return value


def _weighed_by(name: str, value: Any) -> Any:
    if not isinstance(value, (str, os.PathLike)) and not hasattr(value, "trials"):
        raise _wrong(name, "auto, a folder, a result of backtest or None", value)
    return value


def one_of(*known: str) -> Check:
    """A check that a text is one of those known.

    >>> one_of("cpu", "cuda")("device", "cpu")
    'cpu'
    """

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise _wrong(name, f"one of {', '.join(known)}", value)
        return value

    return check


def record(name: str, value: Any) -> Any:
    """A check that something is a record of predictions."""
    if not hasattr(value, "fields") or not hasattr(value, "columns") or not hasattr(value, "source"):
        raise _wrong(name, "a Predictions record (oodometer.read gives one)", value)
    return value


def _records(name: str, value: Any) -> Any:
    for key, one in _mapping(name, value).items():
        record(f"{name}[{key!r}]", one)
    return value


def _ranker(name: str, value: Any) -> Any:
    if not isinstance(value, str) and (isinstance(value, type) or not callable(getattr(value, "score", None))):
        raise _wrong(name, "the name of a ranker, or a ranker", value)
    return value


def judges_or_folder(name: str, value: Any) -> Any:
    """A check that something is a panel of judges, the folder of one, or several folders."""
    if isinstance(value, list | tuple) and value:
        return [_place(name, one) for one in value]
    return value if hasattr(value, "members") else _place(name, value)


def _result(name: str, value: Any) -> Any:
    if not isinstance(value, Mapping) and (isinstance(value, type) or not callable(getattr(value, "to_dict", None))):
        raise _wrong(name, "what a verb found, or the mapping that --json writes", value)
    return value


def anything(name: str, value: Any) -> Any:
    """No check: of data whoever opens them says what they should be."""
    return value


def _level(name: str, value: Any) -> float:
    from .intervals import check_level

    return check_level(value)


CHECKS: dict[str, Check] = {
    "level": _level,
    "seed": lambda name, value: check_seed(value, name),
    "workers": _workers,
    "threshold": _threshold,
    "backtest": _weighed_by,
    "methods": _names_of("estimator"),
    "metrics": _names_of("metric"),
    "axes": anything,
}
"""Name of an argument that means the same wherever it stands -> its check, which goes before that of its type."""

_OF_TYPES: dict[str, Check] = {
    "str": _text,
    "int": _whole,
    "float": _number,
    "bool": _truth,
    "Any": anything,
    "Sequence[int | str]": _classes,
    "Sequence[float]": _numbers,
    "Sequence[Any]": several,
    "Mapping[str, str]": _renaming,
    "Mapping[str, Any]": _mapping,
    "Mapping[str, Any] | Found": _result,
    "Mapping[str, Predictions]": _records,
    "Predictions": record,
    "float | Mapping[str, float]": _bound,
    "str | Engine": _engine,
    "str | Ranker": _ranker,
    "str | Sequence[str]": lambda name, value: texts_or_one(name, value),
    **dict.fromkeys(("str | Path", "str | os.PathLike[str]", "PathLike"), _place),
    **dict.fromkeys(("Sequence[str]", "Iterable[str]"), texts),
    **dict.fromkeys(("Callable[[int, int], None]", "Progress", "Report"), _function),
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
                given = bound.arguments
                for name in filter(checks.__contains__, given):  # in the order of the signature
                    value, parameter = given[name], signature.parameters[name]
                    if name == "seed" or value is not None or not _may_be_none(parameter):
                        given[name] = checks[name](name, value)
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
    r"|[A-Z]+(?!\w)|(?!out\b)[a-z_]+(?=[;,)`]|$)"
)
_OPTION = rf"--([a-z][\w-]*)(?: ({_VALUE}))?"
_OPTIONS = re.compile(
    rf"oodometer [a-z][^;`]*|(?<![\w-]){_OPTION}(?: {_OPTION})*(?=(:| (?:is|are|needs|takes|makes|tell|new|out)\b)?)"
)
_OTHER_NAMES = {"map": "mapping", "judge": "existing", "judge_label": "labels"}


def reword(error: OodometerError, names: Collection[str]) -> None:
    """The message of an error in the words of a function with these arguments, unless a command line calls."""
    if not _typed:
        error.args = (in_python(str(error), names),)


def in_python(message: str, names: Collection[str]) -> str:
    """A message whose options are arguments of a function with these names; what it has not, and commands, stay.

    >>> in_python("rename with --map theirs=ours, or name all with --classes a,b", ["mapping", "classes"])
    'rename with mapping={"theirs": "ours"}, or name all with classes=["a", "b"]'
    >>> in_python("see --map p=confidence --map q=label --positive s; leave --by out", ["mapping", "positive", "by"])
    'see mapping={"p": "confidence", "q": "label"}, positive="s"; leave by out'
    """

    def reworded(found: re.Match[str]) -> str:
        given: dict[str, list[str]] = {}
        for option, value in re.findall(_OPTION, found[0]) if found[0].startswith("--") else ():
            own = option.replace("-", "_")
            name = next((one for one in (_OTHER_NAMES.get(own), own, f"{own}s") if one in names), None)
            if name is None:
                return found[0]
            given.setdefault(name, []).extend([value] if value else [])
        said = ", ".join(f"{name}={_as_code(name, values)}" for name, values in given.items())
        return said.rstrip("=") if found[found.re.groups] else said or found[0]

    return re.sub(r"(\b(\w+)=\S+) \(\2=\)", r"\1", _OPTIONS.sub(reworded, message))


def _as_code(name: str, values: list[str]) -> str:
    """Values of an option as an argument of Python; numbers, and placeholders in capitals, stay."""
    plain = [one.strip("'") for one in values]
    if name == "mapping" and values:
        return json.dumps(dict(one.rpartition("=")[::2] for one in plain), ensure_ascii=False)
    if name == "classes" and values:
        return json.dumps(plain[0].split(","), ensure_ascii=False)
    code = [one if re.fullmatch(r"[A-Z]+|[\d.]+", one) else json.dumps(one, ensure_ascii=False) for one in plain]
    return f"[{', '.join(code)}]" if len(code) > 1 or (code and name in ("methods", "metrics")) else "".join(code)


def _may_be_none(parameter: inspect.Parameter) -> bool:
    return parameter.default is None or "None" in str(parameter.annotation)


def texts_or_one(name: str, value: Any) -> Any:
    """A check that something is a text or several of them.

    >>> texts_or_one("keep", "age"), texts_or_one("keep", ["age", "year"])
    ('age', ['age', 'year'])
    """
    return value if isinstance(value, str) else texts(name, value)


def several_or_none(name: str, value: Any) -> Any:
    """A check that something is a list or a tuple, of any length.

    >>> several_or_none("members", [])
    []
    """
    if not isinstance(value, (list, tuple)):
        raise _wrong(name, "a list", value)
    return value
