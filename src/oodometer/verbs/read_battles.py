"""Battles in a table for the verb `read_log`: two models a row, and the place of the one whose answer was preferred."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..store.columns import bare_name
from .read_content import Cells

_PLACE = re.compile(r"(model|system|generator|assistant)(_name)?_?(a|b|1|2|left|right)")
_WINNER = re.compile(r"(g\d+_)?(winner|preferred|preference|verdict|judg(e)?ment|outcome)(_\w+)?")
_TIES = ("tie", "tied", "draw", "equal", "both", "bothbad", "tie (bothbad)", "both_bad")
_SKEWED = 0.05  # by which the first place may win more often than the second before it is said


@final
class Battles(NamedTuple):
    """Score of each model in the battles that it was in (1 won, 0.5 tied, 0 lost), columns by what they are taken for,
    and what is to be said of the places.
    """

    parts: Mapping[str, Predictions]
    taken: Mapping[str, str]
    warnings: tuple[str, ...]


def battles_of(rows: Any, columns: Mapping[str, Cells], key: str | None) -> Battles | None:
    """The battles of a table, None where it holds none: two columns of models, and one or more whose words are places.

    rows : an Arrow table. key : the column that names a battle. Several columns of winners, as where a judge saw both
    orders, count as their mean.
    """
    places = [name for name in columns if _PLACE.fullmatch(bare_name(name))]
    if len(places) != 2:
        return None
    first, second = (_texts(rows, name) for name in places)
    words = (_place_words(places[0]), _place_words(places[1]))
    winners = [
        name
        for name in columns
        if _WINNER.fullmatch(bare_name(name)) and _are_places(_texts(rows, name), words)
    ]
    if not winners:
        return None
    won = np.nanmean([_wins_of_first(_texts(rows, name), words) for name in winners], axis=0)
    finite = np.isfinite(won)
    ids = np.arange(len(won)) if key is None else np.array(rows.column(key).to_pylist(), object)
    parts = {}
    for model in dict.fromkeys([*first[finite], *second[finite]]):
        score = np.where(first == model, won, 1 - won)
        at = np.flatnonzero(finite & ((first == model) != (second == model)))
        columns_of = {"id": ids[at]}
        parts[str(model)] = Predictions.from_arrays(score=score[at], columns=columns_of)
    taken = dict.fromkeys(places, "model") | dict.fromkeys(winners, "who won")
    return Battles(parts, taken, _of_places(won[finite], first, second))


def _texts(rows: Any, name: str) -> Array:
    return np.array([str(cell).strip() for cell in rows.column(name).to_pylist()], dtype=object)


def _place_words(column: str) -> tuple[str, ...]:
    """How a winner's cell may name the place of a column: ``model_a``, ``a``."""
    bare = bare_name(column)
    return bare, bare.rpartition("_")[2], bare[-1:] if bare[-1:] in "ab12" else bare


def _are_places(cells: Array, words: Sequence[Sequence[str]]) -> bool:
    """Whether the cells name places, or ties, and both places or one."""
    names = {cell.lower() for cell in cells}
    of_places = names & {word for side in words for word in side}
    return bool(of_places) and names <= of_places | {*_TIES, "error", "none", "nan", ""}


def _wins_of_first(cells: Array, words: Sequence[Sequence[str]]) -> Array:
    """1 where the first place won, 0 the second, 0.5 a tie, NaN where nothing is known."""
    says = dict.fromkeys(_TIES, 0.5) | dict.fromkeys(words[1], 0.0) | dict.fromkeys(words[0], 1.0)
    return np.array([says.get(cell.lower(), np.nan) for cell in cells])


def _of_places(won: Array, first: Array, second: Array) -> tuple[str, ...]:
    """That one place wins more often than the other, where models change places."""
    change = len({*first}) > 1 and {*first} == {*second}
    share = float(won.mean()) if len(won) else 0.5
    if not change or abs(share - 0.5) <= _SKEWED:
        return ()
    ordinal = "first" if share > 0.5 else "second"
    text = f"the {ordinal} place wins {100 * max(share, 1 - share):.1f} % of the battles, whichever model stands there"
    return (f"{text}: a bias of the judge, which the change of places takes out",)
