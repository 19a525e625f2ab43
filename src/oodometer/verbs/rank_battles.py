"""Ranking of models by battles: one table of two models a row, read as `read` reads it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..inference.bradley_terry import LEAST_CLUSTERS, Strengths, bradley_terry, connected
from ..inference.clusters import cluster_keys
from ..inference.means import share_mean
from ..inference.paired import holm, runs_together
from ..results import Interval
from ..results.preferences import ELO, Covariate, Preferences, Standing, StrengthGap
from ..results.values import listed
from ..store.files import ENDINGS
from ..version import __version__
from .named_models import said_model
from .opening import renamings
from .rank_options import Asked
from .read_battles import STRONG, BattleRows
from .read_table import BattleTable, battle_table

_MOST_MODELS = 200
_UNFIT = ("examples", "unlabelled", "reference", "attribution", "run_folder")


def battles_in(model: Any, options: Asked) -> BattleTable | None:
    """The battles of what is given in the place of models: a file, or a frame or dict; None where it holds none."""
    mapping = renamings(options.mapping, None) or {}
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        is_data = os.path.isfile(path) and Path(path).suffix.lower() in (".json", *ENDINGS)
        return battle_table(path, mapping) if is_data else None
    return battle_table(model, mapping)


def rank_battles(table: BattleTable, model: Any, options: Asked) -> Preferences:
    """The order of models by their battles; `InputError` for battles that do not connect them, `UsageError` for options
    of other rankings.
    """
    named = [name for name in _UNFIT if getattr(options, name) is not None] + [*options.factors]
    named += ["suggest"] if options.suggest else []
    if named:
        raise UsageError(
            f"{named[0]} is for models that answer; {said_model(model)} holds battles of two models a row"
        )
    rows, data = table.rows, said_model(model)
    kept = np.flatnonzero(rows.first != rows.second)
    first, second, won = rows.first[kept], rows.second[kept], rows.won[kept]
    models = sorted({*first.tolist(), *second.tolist()})
    _check_models(first, second, models, data)
    codes, notes = _clusters(table, kept, options)
    notes += [STRONG] if rows.strong else []
    names, extra = _covariates(rows, kept, first, second)
    found = bradley_terry(
        first, second, won, clusters=[*codes.values()], covariates=extra, names=names, models=models
    )
    pairs = _pairs(found, options.level)
    order = np.argsort(-found.value[: len(models)], kind="stable").tolist()
    decided = [pair for pair in pairs if pair.p_holm <= 1 - options.level]
    told = {(models.index(pair.a), models.index(pair.b)) for pair in decided}
    warnings = []
    if found.shrunk:
        text = "a model won, or lost, every battle: a tie of each model with the average is added, so that strengths"
        warnings.append(f"{text} are finite; trust the order more than the distance")
    return Preferences(
        version=__version__,
        ranking=_standings(found, pairs, _Sides(first, second, won, codes), options.level),
        pairs=tuple(pairs),
        covariates=tuple(_covariate(found, at, rows, options.level) for at in range(len(names))),
        battles=len(won),
        ties=float((won == 0.5).mean()),
        clusters={name: len(np.unique(keys)) for name, keys in codes.items()},
        groups=tuple([models[i] for i in run] for run in runs_together(order, told)),
        level=options.level,
        data=data,
        notes=tuple(notes),
        warnings=tuple(warnings),
        argv=options.argv,
    )


def _check_models(first: Array, second: Array, models: Sequence[str], data: str) -> None:
    """`InputError` for battles that cannot order their models."""
    if not 2 <= len(models) <= _MOST_MODELS:
        raise InputError(
            f"battles of 2 to {_MOST_MODELS} models",
            got=f"{len(models)}",
            file=data,
            remedy="give another file",
        )
    groups = connected(first, second)
    if len(groups) > 1:
        raise InputError(
            "models that are connected by battles",
            got=f"{listed(groups[1][:3])}, which never met {listed(groups[0][:3])} or whom these met",
            file=data,
            remedy="rank each group by itself, or add battles between them",
        )


def _clusters(
    table: BattleTable, kept: Array, options: Asked
) -> tuple[dict[str, Array], list[str]]:
    """What battles share: the prompt, by the column named or the one of ids, and the judge where there are enough."""
    codes, notes, rows = {}, [], table.rows
    column = options.cluster or table.key
    if options.cluster is not None and options.cluster not in table.columns:
        raise UsageError(
            f"there is no column {options.cluster} of rows that depend on each other; there is "
            f"{listed(table.columns[:12])}"
        )
    if column is None:
        notes.append(
            "no column tells the prompt: verdicts on one row alone are taken to depend on each other"
        )
        codes["row"] = rows.row[kept]
    else:
        codes[column] = cluster_keys(np.array(table.cells(column), dtype=object)[rows.row[kept]])
    if rows.judge is not None:
        name = next(name for name, part in rows.taken.items() if part == "judge")
        keys = cluster_keys(rows.judge[kept])
        judges = len(np.unique(keys))
        if judges >= LEAST_CLUSTERS and name != column:
            codes[name] = keys
        else:
            notes.append(
                f"{judges} of {name}: too few to be drawn from others, so what is said is of these"
            )
    return codes, notes


def _covariates(
    rows: BattleRows, kept: Array, first: Array, second: Array
) -> tuple[list[str], Array]:
    """What else may have helped the first answer: its place, where two models changed theirs, and its length in units
    of the spread, where columns tell.
    """
    names, columns = [], []
    place = rows.place[kept]
    met = {(a, b, p) for a, b, p in zip(first, second, place, strict=True)}
    if any((b, a, p) in met or (a, b, -p) in met for a, b, p in met):
        names.append("place")
        columns.append(place)
    if rows.longer is not None and np.ptp(rows.longer[kept]) > 0:
        names.append("length")
        columns.append(rows.longer[kept] / rows.longer[kept].std())
    return names, np.stack(columns, axis=1) if columns else np.zeros((len(kept), 0))


def _covariate(found: Strengths, at: int, rows: BattleRows, level: float) -> Covariate:
    """The effect of a covariate, in log-odds and as the wins of an answer that has it between equal models."""
    weights = np.zeros(len(found.value))
    weights[len(found.models) + at] = 1
    ends = found.contrast(weights, level)
    name = found.covariates[at]
    per = "the first place" if name == "place" else "an answer longer by a standard deviation"
    return Covariate(name, per, Interval(*ends, level, "asymptotic"), _interval(ends, level))


def _interval(ends: tuple[float, float, float], level: float) -> Interval:
    """Log-odds as a chance."""
    value, low, high = (float(1 / (1 + np.exp(-end))) for end in ends)
    return Interval(value, low, high, level, "asymptotic")


def _pairs(found: Strengths, level: float) -> list[StrengthGap]:
    """Each two models, the stronger first, with p-values of all pairs."""
    count = len(found.models)
    order = np.argsort(-found.value[:count], kind="stable").tolist()
    every = list(combinations(order, 2))
    p_values = [found.p_value(i, j) for i, j in every]
    out = []
    for (i, j), p_value, p_holm in zip(every, p_values, holm(p_values), strict=True):
        ends = found.contrast(found.gap(i, j), level)
        out.append(
            StrengthGap(
                a=found.models[i],
                b=found.models[j],
                difference=Interval(*ends, level, "asymptotic"),
                beats=Interval(*found.beats(i, j, level), level, "asymptotic"),
                p_a_better=1 - p_value / 2,
                p_value=p_value,
                p_holm=p_holm,
            )
        )
    return out


@final
class _Sides(NamedTuple):
    """Battles with what they share."""

    first: Array
    second: Array
    won: Array
    codes: dict[str, Array]

    def win_rate(self, model: str, level: float) -> tuple[int, Interval]:
        """Battles of a model, and the share that it won with the interval of what they share first."""
        held = (self.first == model) | (self.second == model)
        won = np.where(self.first == model, self.won, 1 - self.won)[held]
        keys = next(iter(self.codes.values()))[held]
        mean = share_mean(won, level, keys if len(np.unique(keys)) < len(keys) else None)
        return len(won), Interval(mean.value, mean.lower, mean.upper, level, mean.kind)


def _standings(
    found: Strengths, pairs: Sequence[StrengthGap], sides: _Sides, level: float
) -> tuple[Standing, ...]:
    """Each model, the strongest first."""
    count = len(found.models)
    chances = found.p_best
    out = []
    for rank, i in enumerate(np.argsort(-found.value[:count], kind="stable").tolist(), 1):
        name, weights = found.models[i], np.zeros(len(found.value))
        weights[i] = 1
        ends = found.contrast(weights, level)
        value, low, high = (1000 + ELO * end for end in ends)
        battles, win_rate = sides.win_rate(name, level)
        out.append(
            Standing(
                model=name,
                rank=rank,
                p_best=float(chances[i]),
                battles=battles,
                win_rate=win_rate,
                strength=Interval(*ends, level, "asymptotic"),
                elo=Interval(value, low, high, level, "asymptotic"),
                wins=Interval(*found.wins(i, level), level, "asymptotic"),
                behind=tuple(p.a for p in pairs if p.b == name and p.p_holm <= 1 - level),
            )
        )
    return tuple(out)
