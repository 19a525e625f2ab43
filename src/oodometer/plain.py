"""Plain data: the types that mappings of names, JSON and lists of words have everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Plain = Mapping[str, Any]
"""Values by their names, only read: a result as JSON holds it, columns, options."""
Json = dict[str, Any]
"""Values by their names, as they are made."""
Strings = tuple[str, ...]


def inside(mapping: Plain | None, *names: str) -> Any:
    """What a mapping holds under one name inside another; None where one of them is missing or holds nothing."""
    value: Any = mapping
    for name in names:
        value = (value or {}).get(name)
    return value
