"""Metric: which column of a log says what is right, and what its values mean."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InputError

__all__ = ["Metric", "choose_metric"]

_WORDS = {
    **dict.fromkeys(("c", "correct", "true", "yes"), 1.0),
    "p": 0.5,
    **dict.fromkeys(("i", "n", "incorrect", "false", "no"), 0.0),
}
_AT_LEAST = re.compile(r"(?P<name>.+?)\s*>=\s*(?P<least>[0-9.]+)")


class Metric:
    """One metric of a log.

    name : its name there. least : the score from which on an answer counts as right; None where it is 0 or 1 anyway.

    >>> Metric("acc").verdict(1.0), Metric("match").verdict("I"), Metric("f1", 0.5).verdict(0.7)
    (True, False, True)
    """

    def __init__(self, name: str, least: float | None = None) -> None:
        self.name, self.least = name, least

    def verdict(self, value: Any) -> bool | None:
        """Whether the answer is right; None where the value tells neither."""
        score = _score(value)
        if score is None:
            return None
        if self.least is not None:
            return score >= self.least
        return bool(score) if score in (0.0, 1.0) else None

    def checked(self, value: Any, file: str, row: int) -> bool:
        """`verdict`, or `InputError` naming the row."""
        found = self.verdict(value)
        if found is None:
            raise InputError(
                "a metric that is 0 or 1" if self.least is None else "a number",
                got=repr(value)[:60],
                file=file,
                row=row,
                column=self.name,
                remedy=f"partly right is neither: name another metric, or from where on it counts as right, "
                f"--metric '{self.name}>=0.5'",
            )
        return found


def _score(value: Any) -> float | None:
    """A score as a number, None where it is none."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        try:
            value = float(word)
        except ValueError:
            return None
    if not isinstance(value, (bool, int, float)) or math.isnan(value):
        return None
    return float(value)


def choose_metric(
    columns: Mapping[str, Sequence[Any]], wanted: str | None, file: str, usual: Sequence[str] = ()
) -> Metric:
    """The metric that was asked for, the first usual one, or the only one that is 0 or 1 throughout.

    ``columns`` are name -> values. Raises `InputError` where there is none, or more than one.

    >>> choose_metric({"f1": [0.3, 1.0], "exact_match": [0.0, 1.0]}, None, "a.jsonl").name
    'exact_match'
    """
    known = ", ".join(columns) or "none"
    if wanted is not None:
        found = _AT_LEAST.fullmatch(wanted)
        name = wanted if found is None or wanted in columns else found["name"]
        if name not in columns:
            raise InputError(
                "a metric of this log",
                got=f"{name!r}; there are {known}",
                file=file,
                remedy="name one of them with --metric",
            )
        try:
            return Metric(name, None if name == wanted or found is None else float(found["least"]))
        except ValueError:
            raise InputError("a number behind >=", got=wanted, remedy="write for example --metric 'f1>=0.5'") from None
    plain = [name for name, values in columns.items() if all(Metric(name).verdict(v) is not None for v in values)]
    first = next((name for name in usual if name in columns), None)
    if first is None and len(plain) != 1:
        raise InputError(
            "one metric that is 0 or 1 in each row",
            got=f"{', '.join(plain)}" if plain else f"none; there are {known}",
            file=file,
            remedy="name one with --metric NAME"
            + ("" if plain else ", and from where on it counts as right: --metric 'NAME>=0.5'"),
        )
    return Metric(plain[0] if first is None else first)
