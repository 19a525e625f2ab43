"""Preferences: what battles of two models say of all of them: win rates, strengths, order, and what else helped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ..plain import Json, Plain, Strings
from .values import Interval, Record, counted, listed, percent
from .view import (
    INTERVAL,
    Grid,
    Maker,
    Named,
    Shown,
    Table,
    View,
    cells_of,
    chances,
    ends,
    p_text,
    shows,
)

ELO = 400 / math.log(10)
"""Points of Elo's scale to a unit of log-odds; strengths of an average of 0 stand around 1,000."""
_MOST_PAIRS = 6  # that are shown at first


@dataclass(frozen=True)
class Standing(Record):
    """A model at its place.

    battles : that it was in. win_rate : share of them that it won, ties a half, with the interval of prompts. strength
    : in log-odds, of an average of 0, where covariates are 0. elo : the same on Elo's scale around 1,000. wins : chance
    to win against another model, drawn alike, where covariates are 0. behind : models that are shown to be stronger,
    all pairs counted (Holm).
    """

    model: str
    rank: int
    p_best: float
    battles: int
    win_rate: Interval
    strength: Interval
    elo: Interval
    wins: Interval
    behind: Strings = ()


@dataclass(frozen=True)
class StrengthGap(Record):
    """Two models, ``a`` ranked above ``b``: by how much it is stronger in log-odds, and how sure that is.

    beats : chance that a wins against b where covariates are 0. p_a_better : that a is the stronger one. p_value : of
    equal strengths; p_holm : with all pairs counted (Holm 1979).
    """

    a: str
    b: str
    difference: Interval
    beats: Interval
    p_a_better: float
    p_value: float
    p_holm: float


@dataclass(frozen=True)
class Covariate(Record):
    """What else helps an answer to win, such as its place: ``effect`` in log-odds, and ``share``, how often the answer
    that has it wins against one of an equal model (of ``per`` of it).
    """

    name: str
    per: str
    effect: Interval
    share: Interval


@dataclass(frozen=True, repr=False)
class Preferences(Shown, Record, Named[Standing]):
    """What `rank` found in battles of two models; at a prompt and in a notebook it shows its summary.

    ranking : models, the strongest first. pairs : each two of them. covariates : what else helped, where columns tell.
    battles, ties : how many, and the share without a winner. clusters : prompts whose battles depend on each other, and
    judges where they are enough to be drawn from others: column -> how many. groups : names of models that cannot be
    told apart (Holm over all pairs), the strongest first. level : of the intervals. data : what was read.
    """

    version: str
    ranking: tuple[Standing, ...]
    pairs: tuple[StrengthGap, ...]
    covariates: tuple[Covariate, ...]
    battles: int
    ties: float
    clusters: Plain
    groups: tuple[list[str], ...]
    level: float
    data: str
    notes: Strings = ()
    warnings: Strings = ()
    argv: str | None = None
    _command, _noun, _entries = "rank", "model", ("ranking", "model")
    _first = "argv level data battles ties clusters"

    @property
    def models(self) -> Strings:
        """Names of the models, the strongest first."""
        return tuple(item.model for item in self.ranking)

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        likeliest = max(self.ranking, key=lambda item: item.p_best)
        return {**super().to_dict(), "likeliest": likeliest.model}

    def frames(self) -> dict[str, Maker]:
        """``models``, the strongest first, with the interval of the win rate; ``pairs``: of the difference."""
        models = [
            {**vars(item), **ends(item.win_rate), "elo": item.elo.value} for item in self.ranking
        ]
        pairs = [{**vars(item), **ends(item.difference)} for item in self.pairs]
        columns = ("model", "rank", "p_best", "battles", *INTERVAL, "elo")
        of_pairs = ("a", "b", *INTERVAL, "p_a_better", "p_value", "p_holm")
        return {
            "models": partial(Table, columns, models, (), "model"),
            "pairs": partial(Table, of_pairs, pairs),
        }


@shows(Preferences)
def preferences_view(result: Plain) -> View:
    """What battles say, from the mapping that JSON holds: the strongest model, how sure, and who is behind whom."""
    rows = result["ranking"]
    top = max(rows, key=lambda row: row["p_best"])
    clusters = [f"{name} ({count:,})" for name, count in result["clusters"].items()]
    within = f"; intervals by cluster: {listed(clusters)}" if clusters else ""
    ties = f", {percent(result['ties'])} of them ties (half a win each)" if result["ties"] else ""
    title = f"Most likely the strongest of {counted(len(rows), 'model')}"
    return View(
        title,
        str(top["model"]),
        caveat=f"{percent(top['p_best'], 0)} sure",
        chances=chances(rows),
        sentences=(
            f"{counted(result['battles'], 'verdict')} on two models{ties}{within}",
            _apart(result["groups"]),
            *map(_helped, result["covariates"]),
        ),
        grids=(_models_grid(rows), _pairs_grid(result["pairs"]), *_equal_grid(result)),
        notes=tuple(result["notes"]),
        warnings=tuple(result["warnings"]),
        cells={
            **ends(top["win_rate"]),
            "rank": top["rank"],
            "p_best": top["p_best"],
            "says": f"{title}: {top['model']}",
        },
    )


def _apart(groups: Sequence[Sequence[str]]) -> str:
    """Which models cannot be told apart, all pairs counted."""
    first = groups[0]
    if len(groups) == 1 and len(first) > 2:
        return f"No two of these {len(first)} models can be told apart (Holm over all pairs)"
    if len(first) == 1:
        return f"{first[0]} is ahead of all others (Holm over all pairs)"
    return f"Cannot be told apart (Holm over all pairs): {listed(first)}"


def _helped(item: Plain) -> str:
    """How much else helps an answer, in the words of wins between equal models."""
    share = item["share"]
    low, high = percent(share["lower"]), percent(share["upper"])
    value = percent(share["value"])
    return f"{item['per']} wins {value} [{low}, {high}] between equal models ({item['name']}); strengths are without it"


def _models_grid(rows: Sequence[Plain]) -> Grid:
    """Win rate and strength of each model, and whom it is behind."""
    cells = []
    for row in rows:
        elo = [f"{row['elo'][end]:.0f}" for end in ("value", "lower", "upper")]
        chance = percent(row["p_best"], 0)
        cells.append(
            [row["model"], f"{row['battles']:,}", *cells_of(row["win_rate"]), *elo, chance]
        )
    heads = ["model", "verdicts", "win rate", "lower", "upper", "Elo", "lower", "upper", "P(best)"]
    return Grid("Models, the strongest first", heads, cells, noun="model")


def _pairs_grid(pairs: Sequence[Plain]) -> Grid:
    """How often each model wins against each that is ranked below it, and whether that is decided."""
    rows = []
    for pair in pairs:
        sure = [percent(pair["p_a_better"], 1), p_text(pair["p_value"]), p_text(pair["p_holm"])]
        rows.append([pair["a"], pair["b"], *cells_of(pair["beats"]), *sure])
    heads = ["stronger", "than", "wins", "lower", "upper", "P", "p", "Holm"]
    few = range(min(len(rows), _MOST_PAIRS))
    title = "Each two models, p-values with all pairs counted by Holm"
    return Grid(title, heads, rows, noun="pair", few=few)


def _equal_grid(result: Plain) -> list[Grid]:
    """The chance of each model to win where nothing else helps; none without covariates."""
    if not result["covariates"]:
        return []
    rows = [[row["model"], *cells_of(row["wins"])] for row in result["ranking"]]
    names = listed([str(item["name"]) for item in result["covariates"]])
    heads = ["model", "wins", "lower", "upper"]
    return [Grid(f"Wins against another model at equal {names}", heads, rows)]
