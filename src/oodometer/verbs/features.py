"""Features: the user's own columns as inputs of the model, told once and the same for reference and target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ..errors import UsageError
from ..fields import FIELDS
from ..store import Source
from ..store.base import no_column

Asked = str | Sequence[str] | None
S = TypeVar("S", bound=Source)

_AUTO = "auto"
_MOST = 100
_OURS = ("id", "row", "draw", "probability", "share")  # ids, and what a suggestion of rows to label wrote
_INPUTS = ("group", "input", "output")  # fields that may be inputs of the model


def listed(asked: Asked) -> list[str]:
    """The columns that were named, in their order; a text may name several, with commas.

    >>> listed("age, year"), listed(["last, first"])
    (['age', 'year'], ['last, first'])
    """
    names = [one.strip() for one in asked.split(",")] if isinstance(asked, str) else list(asked or ())
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if not all(names) or not names:
        raise UsageError(f"expected --features a,b or auto, got {asked!r}")
    if twice is not None:
        raise UsageError(f"--features names {twice} twice")
    if len(names) > _MOST:
        raise UsageError(f"--features takes at most {_MOST} columns, got {len(names)}")
    return names


def with_features(
    sources: Sequence[Source], target: Source | None, asked: Asked, taken: Sequence[str | None] = ()
) -> tuple[list[Source], Source | None]:
    """The references and the target with the columns that were asked for as their features.

    How columns are encoded is learnt on the references. "auto" takes those that the target has as well, but ids and
    what is ``taken`` for something else (a key, columns that are renamed). Raises `UsageError` where files hold
    features already or a column is no input, `InputError` where a file lacks one, or none is left.

    >>> from oodometer.store import as_source
    >>> source = as_source({"prediction": [0, 1] * 9, "age": [20, 30, 31] * 6, "id": list(range(18))})
    >>> found = with_features([source], None, "auto")[0][0]
    >>> found.encoding.names, found.encoding.left_out
    (('age=30', 'age=31', 'age: other', 'age: missing'), {})
    """
    known = sources[0].encoding
    if asked is None:
        lacks = known is not None and target is not None and target.encoding is None
        return list(sources), target.encoded(known) if lacks and target and known else target
    files = [*sources, *([] if target is None else [target])]
    for source in files:
        if "features" in source.fields:
            raise UsageError(f"{source.name} holds `features` already; leave --features out, or rename those columns")
    from ..store.learn_encoding import learn_encoding

    every, names, left_out = asked == _AUTO, [] if asked == _AUTO else listed(asked), {}
    for name in sources[0].own_columns if every else ():
        lacking = next((one.name for one in files if name not in one.own_columns), None)
        if name in (*_OURS, *taken):
            continue
        if lacking is not None:
            left_out[name] = f"{lacking} has none"
        elif len(names) == _MOST:
            left_out[name] = f"there are {_MOST} before it"
        else:
            names.append(name)
    for name, source in ((name, source) for name in names for source in files if not every):
        if not source.holds(name):
            raise no_column(name, source.columns, source.path)
        renamed = name not in FIELDS and name not in source.columns  # no column of its own, but one was renamed to it
        if name not in source.own_columns and name not in _INPUTS and not renamed:
            raise UsageError(
                f"{source.name}: {name} is the truth, an answer of the model or a time; --features are its inputs"
            )
    encoding = learn_encoding(sources, names, every).without(left_out)
    if not encoding.columns:
        why = "; ".join(f"{name}: {reason}" for name, reason in encoding.left_out.items())
        raise UsageError(f"--features auto finds no column to take in {sources[0].name}" + (f" ({why})" if why else ""))
    return [source.encoded(encoding) for source in sources], None if target is None else target.encoded(encoding)


def about_features(source: Source) -> Mapping[str, Any]:
    """Which columns were taken as features and which were not, for results; empty where none was asked for."""
    return {} if source.encoding is None else source.encoding.about()
