"""Severities: which ones of which kinds of shift, as `shift` and `stress` both understand what was typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def severities_by_kind(
    kinds: str | Sequence[str],
    severity: Any,
    groups: Mapping[str, Sequence[str]],
    usual: Callable[[str], Sequence[Any]],
) -> dict[str, tuple[str, ...]]:
    """Kind -> its severities as texts: its own (``kind=0.1,0.3``), else those for all kinds, else those of its paper.

    kinds, severity : as the verbs take them. groups : name of a group -> its kinds. usual : of a kind, the severities
    of its paper.

    >>> groups = {"words": ("unknown-words", "known-words")}
    >>> severities_by_kind(["words", "casing=0.1,0.3"], 0.2, groups, lambda kind: (1,))
    {'unknown-words': ('0.2',), 'known-words': ('0.2',), 'casing': ('0.1', '0.3')}
    >>> severities_by_kind("casing", (), groups, lambda kind: (0.5, 1))
    {'casing': ('0.5', '1')}
    """
    listed = severity if isinstance(severity, (list, tuple, range)) else [severity]
    out: dict[str, tuple[str, ...]] = {}
    for typed in [kinds] if isinstance(kinds, str) else kinds:
        first, equals, own = typed.partition("=")
        for name in groups.get(first, (first,)):
            levels = own.split(",") if equals else [*listed] or usual(name)
            out[name] = tuple(dict.fromkeys((*out.get(name, ()), *map(str, levels))))
    return out


def whole_severity(level: str) -> int | str:
    """The severity of an image as a number, where it is a whole one; the text else, which no shift takes.

    >>> whole_severity("3"), whole_severity("0.3")
    (3, '0.3')
    """
    return int(level) if level.isdecimal() else level
