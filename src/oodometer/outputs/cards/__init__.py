"""Cards: the views of results that have none of their own."""

from __future__ import annotations

import importlib
from typing import Any

from ...errors import UsageError
from ...results.view import View

_HOMES = {
    "Comparison": "others.comparison",
    "Evaluation": "evaluation",
    "Evaluations": "evaluation",
}


def card_of(found: Any) -> View:
    """The view of a result; `UsageError` where there is none."""
    home = next((_HOMES[cls.__name__] for cls in type(found).__mro__ if cls.__name__ in _HOMES), None)
    if home is None:
        raise UsageError(f"expected a result of a verb, got {type(found).__name__}")
    module, _, name = home.partition(".")
    view: View = getattr(importlib.import_module(f".{module}", __package__), name or "card")(found)
    return view
