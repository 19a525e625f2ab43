"""Battles in a table: two models a row, which of their answers was preferred, and what else may have helped it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..store.columns import bare_name, columns_called
from ..store.shapes import SHAPES
from .read_content import Cells

_SIDE = "(a|b|1|2|left|right)"
_MODEL = "(model|system|generator|assistant)"
_PLACE = re.compile(rf"{_MODEL}(_name)?_?{_SIDE}|(left|right)(_{_MODEL})?")
_WINNER = re.compile(r"(g\d+_)?(winner|preferred|preference|verdict|judg(e)?ment|outcome)(_\w+)?")
_SWAPPED = re.compile(r"g2_.*")  # of a judge who saw both orders, the one with the second first
_JUDGE = re.compile(r"(judge|annotator|rater|voter|labeler|user)s?(_(id|name|model))?")
_TEXT = re.compile(rf"(output|response|answer|completion|text)(_text)?_?{_SIDE}")
_LENGTH = re.compile(rf"(len|length|(num_)?tokens|token_count|words)_?{_SIDE}")
_TIES = ("tie", "tied", "draw", "equal", "both", "bothbad", "tie (bothbad)", "both_bad", "a=b")
_ARROWS, _WEIGHTS = SHAPES["arena_hard"].words, SHAPES["arena_hard"].weights
_NOTHING = {"error", "none", "nan", ""}
STRONG = "a strong verdict (A>>B) counts for three battles, as Arena-Hard has it"
_SKEWED = 0.05  # by which the first place may win more often than the second before it is said


@final
@dataclass(frozen=True, eq=False)
class BattleRows:
    """Battles, one for each row and verdict on it, of a strong verdict (``A>>B``) three, as Arena-Hard has it.

    first, second : names of the models, (battle,). won : 1 where the first won, 0.5 a tie, 0, (battle,). row : of the
    table, from 0 on. place : +1 where the first one was shown first, -1 where second. judge : who said it; None where
    no column tells. longer : how much longer the first answer is, (l1 - l2) / (l1 + l2); None where no column tells.
    taken : columns by what they are taken for. strong : whether some verdicts are.
    """

    first: Array
    second: Array
    won: Array
    row: Array
    place: Array
    judge: Array | None
    longer: Array | None
    taken: Mapping[str, str]
    strong: bool = False


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
    orders, count as their mean; where verdicts weigh more than others each is a row.
    """
    found = battle_rows(rows, columns)
    if found is None:
        return None
    ids = (
        np.arange(rows.num_rows) if key is None else np.array(rows.column(key).to_pylist(), object)
    )
    if found.strong:
        places, first, second, won = found.row, found.first, found.second, found.won
    else:
        places, at = np.unique(found.row, return_index=True)
        first, second = found.first[at], found.second[at]
        votes = np.bincount(found.row, minlength=rows.num_rows)[places]
        won = np.bincount(found.row, found.won, rows.num_rows)[places] / votes
    parts = {}
    for model in dict.fromkeys([*first, *second]):
        score = np.where(first == model, won, 1 - won)
        held = np.flatnonzero((first == model) != (second == model))
        columns_of = {"id": ids[places[held]]}
        parts[str(model)] = Predictions.from_arrays(score=score[held], columns=columns_of)
    taken = {name: part for name, part in found.taken.items() if part in ("model", "who won")}
    said = (STRONG,) if found.strong else ()
    return Battles(parts, taken, (*said, *_of_places(won, first, second)))


def battle_rows(rows: Any, columns: Mapping[str, Cells]) -> BattleRows | None:
    """The battles of an Arrow table, None where it holds none; see `battles_of`."""
    places = columns_called(_PLACE, columns)
    if len(places) != 2:
        return None
    first, second = (_texts(rows, name) for name in places)
    words = (_place_words(places[0]), _place_words(places[1]))
    named = columns_called(_WINNER, columns)
    by_place = ((name, _wins_of_first(rows, name, words)) for name in named)
    by_name = ((name, _wins_by_name(rows, name, first, second)) for name in named)
    verdicts = _those_told(by_place) or _those_told(by_name)
    if not verdicts:
        return None
    swapped = [bool(_SWAPPED.fullmatch(bare_name(name))) for name in verdicts]
    won = np.concatenate(list(verdicts.values()))
    row = np.tile(np.arange(len(first)), len(verdicts))
    shown = np.repeat(np.where(swapped, -1.0, 1.0), len(first))
    times = np.concatenate([_weights(rows, name) for name in verdicts])
    known = np.repeat(np.arange(len(won)), np.where(np.isfinite(won), times, 0))
    at = row[known]
    judges = columns_called(_JUDGE, columns)[:1]
    sizes = _lengths(rows, columns)
    taken = dict.fromkeys(places, "model") | dict.fromkeys(verdicts, "who won")
    taken |= dict.fromkeys(judges, "judge") | dict.fromkeys(sizes, "length")
    longer = None
    if sizes:
        one, other = sizes.values()
        longer = ((one - other) / np.maximum(one + other, 1))[at]
    return BattleRows(
        first=first[at],
        second=second[at],
        won=won[known],
        row=at,
        place=shown[known],
        judge=_texts(rows, judges[0])[at] if judges else None,
        longer=longer if longer is not None and np.isfinite(longer).all() else None,
        taken=taken,
        strong=bool(times.max(initial=1) > 1),
    )


def _those_told(wins: Iterable[tuple[str, Array | None]]) -> dict[str, Array]:
    """Wins by column, of the columns that tell them."""
    return {name: won for name, won in wins if won is not None}


def _texts(rows: Any, name: str) -> Array:
    return np.array([str(cell).strip() for cell in rows.column(name).to_pylist()], dtype=object)


def _lengths(rows: Any, columns: Mapping[str, Cells]) -> dict[str, Array]:
    """The lengths of both answers, by the two columns that hold them, or the answers; empty without such."""
    for pattern in (_LENGTH, _TEXT):
        names = columns_called(pattern, columns)
        if len(names) != 2:
            continue
        cells = {name: rows.column(name).to_pylist() for name in names}
        if pattern is _TEXT and all(isinstance(cell, str) for c in cells.values() for cell in c):
            return {name: np.array([len(cell) for cell in c], float) for name, c in cells.items()}
        if all(isinstance(cell, int | float) for c in cells.values() for cell in c):
            return {name: np.array(c, dtype=np.float64) for name, c in cells.items()}
    return {}


def _place_words(column: str) -> tuple[str, ...]:
    """How a winner's cell may name the place of a column: ``model_a``, ``a``; ``left_model``, ``left``."""
    bare = bare_name(column)
    side = bare.partition("_")[0] if bare.startswith(("left", "right")) else bare.rpartition("_")[2]
    return bare, side, bare[-1:] if bare[-1:] in "ab12" else bare


def _wins_by_name(rows: Any, name: str, first: Array, second: Array) -> Array | None:
    """As `_wins_of_first`, of cells that hold the name of the model that won; None where one holds another word."""
    cells, won = [cell.lower() for cell in _texts(rows, name)], np.full(len(first), np.nan)
    for row, (cell, one, other) in enumerate(zip(cells, first, second, strict=True)):
        says = dict.fromkeys(_NOTHING, np.nan) | dict.fromkeys(_TIES, 0.5)
        says |= {str(other).lower(): 0.0, str(one).lower(): 1.0}
        if cell not in says:
            return None
        won[row] = says[cell]
    return won if np.isin(won, (0, 1)).any() else None


def _wins_of_first(rows: Any, name: str, words: Sequence[Sequence[str]]) -> Array | None:
    """1 where the first place won, 0 the second, 0.5 a tie, NaN where nothing is known; None for cells that do not say
    so. Numbers between 1 and 2 are preferences for the second, as AlpacaEval has them, 0 a tie.
    """
    column = rows.column(name)
    cells = [cell.lower().strip("[] ") for cell in _texts(rows, name)]
    says = dict.fromkeys(_TIES, 0.5) | {**_ARROWS}
    says |= dict.fromkeys(words[1], 0.0) | dict.fromkeys(words[0], 1.0)
    names = {*cells}
    if names & says.keys() - {*_TIES} and names <= says.keys() | _NOTHING:
        return np.array([says.get(cell, np.nan) for cell in cells])
    values = column.to_pylist()
    if all(cell is None or isinstance(cell, int | float) for cell in values):
        numbers = np.array([np.nan if cell is None else cell for cell in values], dtype=np.float64)
        known = numbers[np.isfinite(numbers)]
        if len(known) and ((known == 0) | ((known >= 1) & (known <= 2))).all() and known.max() > 1:
            return np.where(numbers == 0, 0.5, 2 - numbers)
    return None


def _weights(rows: Any, name: str) -> Array:
    """How many battles each verdict of a column counts for."""
    cells = [cell.lower().strip("[] ") for cell in _texts(rows, name)]
    return np.array([_WEIGHTS.get(cell, 1) for cell in cells])


def _of_places(won: Array, first: Array, second: Array) -> tuple[str, ...]:
    """That one place wins more often than the other, where models change places."""
    change = len({*first}) > 1 and {*first} == {*second}
    share = float(won.mean()) if len(won) else 0.5
    if not change or abs(share - 0.5) <= _SKEWED:
        return ()
    ordinal = "first" if share > 0.5 else "second"
    text = f"the {ordinal} place wins {100 * max(share, 1 - share):.1f} % of the battles, whichever model stands there"
    return (f"{text}: a bias of the judge, which the change of places takes out",)
