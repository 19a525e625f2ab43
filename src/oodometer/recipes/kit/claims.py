"""Claims: what a paper says, what became of it here, and the table that shows both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .tables import section

__all__ = ["Claim", "claims_table"]

Claim = dict[str, Any]
"""``name``, ``claim`` (what the paper says), ``holds`` (True, False or None where it cannot be said), ``evidence``;
``undecided`` where it is seen in the sample, but not beyond chance: then ``holds`` is None."""

_HOLDS = {True: "holds", False: "does not hold", None: "cannot be said"}


def claims_table(claims: Iterable[Mapping[str, Any]]) -> str:
    """Each claim with its verdict and what was seen."""
    rows = [
        [
            one["claim"],
            "undecided: may be chance" if one.get("undecided") else _HOLDS[one["holds"]],
            one["evidence"],
        ]
        for one in claims
    ]
    return section("**The paper's findings here**", ["the paper says", "here", "what was seen"], rows)
