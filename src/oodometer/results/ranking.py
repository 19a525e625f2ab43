"""Ranking: several models, a few labels and perhaps a pool: which model, how sure, by which evidence, what to label."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .shown import Shown
from .values import Interval, Skipped, aligned, counted, percent, plain

FACTORS_MAY_MISLEAD = (
    "a factor can order models the wrong way round: across architectures the paper's factors are right on nearly all "
    "or nearly none of the draws (Singhal et al. 2022, Table 4); read them as a hint at why, not as a vote"
)
NOT_RANDOM = (
    "the suggested rows were chosen because the leading models disagree on them: labels of these may decide between "
    "the models, but they are no random sample, and no accuracy may be computed from them"
)

_EVEN = 1e-9  # a probability that differs less from 1/2 speaks for neither of two models


@dataclass(frozen=True)
class Evidence:
    """One kind of evidence: a number for each model, and the order that it alone would give.

    Parameters
    ----------
    name : registered name, or that of the statistic. group : ``labels``, ``pool``, ``estimate``, ``proxy``,
    ``agreement``, ``confidence``, ``factor`` or ``combined``.
    about : what it is, one sentence. higher_is_better : False for factors, of which the highest is ranked lowest.
    values : model -> number, None where there is none. intervals : model -> the number with its interval.
    note : what it rests on or lacks, such as how many examples have no such words. citation : BibTeX key.

    >>> found = Evidence("max-diff", "factor", "...", False, {"a": 0.4, "b": 0.1, "c": None})
    >>> found.order, found.agreement(["a", "b", "c"])
    (('b', 'a'), 0.0)
    """

    name: str
    group: str
    about: str
    higher_is_better: bool
    values: Mapping[str, float | None]
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    note: str = ""
    citation: str = ""

    @property
    def order(self) -> tuple[str, ...]:
        """Models, the best by this evidence first; those without a number are left out."""
        known = {name: value for name, value in self.values.items() if value is not None}
        sign = -1 if self.higher_is_better else 1
        return tuple(sorted(known, key=lambda name: sign * known[name]))

    def agreement(self, order: Sequence[str]) -> float | None:
        """Share of the pairs of ``order`` that this evidence puts the same way, a tie half; None where it says nothing.

        >>> Evidence("ac", "estimate", "...", True, {"a": 0.9, "b": 0.9}).agreement(["a", "b"])
        0.5
        """
        found = []
        for one, other in itertools.combinations(order, 2):
            a, b = self.values.get(one), self.values.get(other)
            if a is not None and b is not None:
                found.append(0.5 if a == b else float((a > b) == self.higher_is_better))
        return sum(found) / len(found) if found else None

    def to_dict(self, order: Sequence[str]) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON; ``order`` is the order of the result."""
        return {
            "name": self.name,
            "group": self.group,
            "about": self.about,
            "higher_is_better": self.higher_is_better,
            "values": plain(dict(self.values)),
            "intervals": {name: one.to_dict() for name, one in self.intervals.items()},
            "order": list(self.order),
            "agreement": self.agreement(order),
            "note": self.note,
            "citation": self.citation,
        }


@dataclass(frozen=True)
class RankedModel:
    """One model at its place.

    right : labelled rows, drawn at random, that it gets right. accuracy : with its exact interval, from these alone;
    None where all labelled rows were chosen.
    truncated : inputs longer than the model reads, which were cut.
    """

    model: str
    source: str
    rank: int
    p_best: float
    right: int
    accuracy: Interval | None
    truncated: int = 0


@dataclass(frozen=True)
class ModelPair:
    """Two models, ``a`` ranked above ``b``.

    p_a_better : that a is the more accurate one. differ : share of all rows on which they say different things.
    only_a, only_b : labelled rows that only one of them gets right.
    """

    a: str
    b: str
    p_a_better: float
    differ: float
    only_a: int
    only_b: int

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "a": self.a,
            "b": self.b,
            "p_a_better": plain(self.p_a_better),
            "differ": plain(self.differ),
            "only_a": self.only_a,
            "only_b": self.only_b,
        }


@dataclass(frozen=True)
class Settling:
    """How many more labels would settle which of the two leading models is the better one.

    Parameters
    ----------
    p_better : that ``best`` beats ``runner_up``, now. level : what it, or its opposite, is to reach.
    labels : of rows drawn at random, median over futures; None where no number is known: ``why`` says why.
    lower, upper : the same in the luckiest and the unluckiest tenth of futures. chosen : labels, where only rows are
    labelled on which the two disagree.
    """

    best: str
    runner_up: str
    p_better: float
    level: float
    labels: int | None
    lower: int | None = None
    upper: int | None = None
    chosen: int | None = None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class ExplainedExample:
    """One labelled example with the attributions of each model.

    parts : the text, or both texts of a pair. words : the words. places : (part, start, end) of each, in characters.
    models : model -> ``target`` (class that is explained), ``probability``, ``values`` (one a word), ``separator``,
    ``base``, ``fit``, ``factors``: factor -> ``value`` and ``words``, places of the words that it looks at.
    """

    id: str
    label: int | str
    parts: tuple[str, ...]
    words: tuple[str, ...]
    places: tuple[tuple[int, int, int], ...]
    models: Mapping[str, Mapping[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "id": self.id,
            "label": self.label,
            "parts": list(self.parts),
            "words": list(self.words),
            "places": [list(one) for one in self.places],
            "models": plain(self.models),
        }


@dataclass(frozen=True, repr=False)
class FewShotRanking(Shown):
    """What `rank` found; at a prompt and in a notebook it shows its summary.

    Parameters
    ----------
    ranking : models, the best first. pairs : each two of them. evidence : everything that was looked at.
    labelled, pool : numbers of rows. modality : of the rows. classes : that the models tell apart.
    decided_by : ``labels`` or ``combined``. settling : how many labels would decide. columns : where the inputs stood;
    id_column, label_column : ids (None: nowhere) and labels of the labelled rows. numbered : ids are whole numbers.
    suggested : (id, text or None) of pool rows to label next. examples : attributions. attribution : how they were
    made. left_out : reason -> rows. chosen : labelled rows that are no random ones.
    """

    version: str
    ranking: tuple[RankedModel, ...]
    pairs: tuple[ModelPair, ...]
    evidence: tuple[Evidence, ...]
    labelled: int
    pool: int
    modality: str
    classes: tuple[int | str, ...]
    decided_by: str
    settling: Settling
    level: float
    seed: int
    data: Mapping[str, str | None]
    columns: tuple[str, ...] = ()
    id_column: str | None = "id"
    numbered: bool = False
    label_column: str = "label"
    suggested: tuple[tuple[str, Any], ...] = ()
    examples: tuple[ExplainedExample, ...] = ()
    attribution: Mapping[str, Any] | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    chosen: int = 0
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    argv: str | None = None

    def __repr__(self) -> str:
        return self.summary()

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, the best first."""
        return tuple(one.model for one in self.ranking)

    @property
    def likeliest(self) -> RankedModel:
        """The model with the highest P(best), which a combined order need not put first; of several the first."""
        return max(self.ranking, key=lambda one: one.p_best)

    @property
    def open(self) -> bool:
        """Whether the labels speak for none: the likeliest is as likely worse as better than each other one."""
        first = self.likeliest.model
        return all(abs(one.p_a_better - 0.5) < _EVEN for one in self.pairs if first in (one.a, one.b))

    @property
    def by_right(self) -> tuple[tuple[str, ...], ...]:
        """The plain order: models by their right answers on the random labelled rows, those with as many together."""
        counts = sorted({one.right for one in self.ranking}, reverse=True)
        return tuple(tuple(one.model for one in self.ranking if one.right == count) for count in counts)

    @property
    def open_among(self) -> tuple[str, ...]:
        """Models that share the most right answers, which labels do not separate; empty where one has the most."""
        return self.by_right[0] if self.labelled > self.chosen and len(self.by_right[0]) > 1 else ()

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "version": self.version,
            "command": "rank",
            "argv": self.argv,
            "data": dict(self.data),
            "labelled": self.labelled,
            "chosen": self.chosen,
            "pool": self.pool,
            "modality": self.modality,
            "classes": list(self.classes),
            "level": self.level,
            "seed": self.seed,
            "decided_by": self.decided_by,
            "likeliest": self.likeliest.model,
            "open": self.open,
            "open_among": list(self.open_among),
            "by_right": [list(some) for some in self.by_right],
            "ranking": [self._row(one) for one in self.ranking],
            "pairs": [one.to_dict() for one in self.pairs],
            "evidence": [one.to_dict(self.models) for one in self.evidence],
            "settling": self.settling.to_dict(),
            "suggested": [{"id": name, "text": plain(text)} for name, text in self.suggested],
            "suggested_are_random": False,
            "attribution": None if self.attribution is None else plain(dict(self.attribution)),
            "examples": [one.to_dict() for one in self.examples],
            "left_out": dict(self.left_out),
            "skipped": [one.to_dict() for one in self.skipped],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    def _row(self, one: RankedModel) -> dict[str, Any]:
        values: dict[str, Any] = {"right": one.right}
        for found in self.evidence:
            interval = found.intervals.get(one.model)
            values[found.name] = plain(found.values.get(one.model)) if interval is None else interval.to_dict()
        return {
            "model": one.model,
            "p_best": plain(one.p_best),
            "rank": one.rank,
            "source": one.source,
            "truncated": one.truncated,
            "evidence": values,
        }

    def suggested_table(self) -> list[list[str]]:
        """Rows of a table of what to label next: id and text."""
        return [[name, text if isinstance(text, str) else " | ".join(text or ())] for name, text in self.suggested]

    def opening(self) -> list[str]:
        """Which model, how sure, from what."""
        first, likeliest = self.ranking[0], self.likeliest
        pool = f"{counted(self.pool, 'row')} without a label" if self.pool else "no pool without labels"
        lines = [f"{len(self.ranking)} models, {counted(self.labelled, 'labelled row')}, {pool}"]
        if self.open:
            lines.append("which is the best is open: the labelled rows favour no model over the others")
        else:
            lines.append(f"most likely the best: {likeliest.model}, {percent(likeliest.p_best, 0)} sure")
        if self.labelled > self.chosen:
            lines.append(self._counted())
        if first is not likeliest:
            order = "the combined order" if self.decided_by == "combined" else "the order, better than most others"
            lines.append(f"first in {order}: {first.model}, of which P(best) is {percent(first.p_best, 0)}")
        if self.decided_by == "combined":
            lines.append("the order is the combined one: factors and estimates decide where labels are close")
        return lines

    def _counted(self) -> str:
        """What counting right answers says, in a sentence."""
        top, rows = self.by_right[0], self.labelled - self.chosen
        right = f"{max(one.right for one in self.ranking):,} of {counted(rows, 'labelled row')}"
        if len(top) == 1:
            return f"counting alone: {top[0]} is first with {right} right"
        names = ", ".join(top[:5]) + (", ..." if len(top) > 5 else "")
        return f"counting alone leaves it open among {len(top)} with {right} right: {names}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of a table: one row a model, with its accuracy on the labelled rows."""
        columns = ["model", "P(best)", "right", "accuracy", "interval"]
        rows = []
        for one in self.ranking:
            known = one.accuracy
            ends = "-" if known is None else f"[{percent(known.lower)}, {percent(known.upper)}]"
            cells = [one.model, percent(one.p_best, 0), f"{one.right} of {self.labelled - self.chosen}"]
            rows.append([*cells, "-" if known is None else percent(known.value), ends])
        return columns, rows

    def pair_table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows: how sure the order of each two models is."""
        columns = ["better", "than", "P", "rows they differ on", "right alone"]
        return columns, [
            [one.a, one.b, percent(one.p_a_better, 0), percent(one.differ), f"{one.only_a} to {one.only_b}"]
            for one in self.pairs
        ]

    def evidence_table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows: what each kind of evidence would have ranked, and how far it agrees."""
        rows = []
        for one in self.evidence:
            agrees = one.agreement(self.models)
            told = "says nothing" if agrees is None else f"{percent(agrees, 0)} of pairs"
            rows.append([one.name, one.group, _chain(one), told])
        return ["evidence", "of", "its order", "agrees on"], rows

    def closing(self) -> list[str]:
        """What would settle it, what was left out, and what to beware of."""
        lines = [self._settled()]
        if any(one.group == "factor" for one in self.evidence):
            lines.append(f"factors: {FACTORS_MAY_MISLEAD}")
        lines += [f"{one.name}: {one.note}" for one in self.evidence if one.note]
        lines += [f"{_left_out(why, many)}: left out" for why, many in self.left_out.items()]
        reasons: dict[str, list[str]] = {}
        for one in self.skipped:
            reasons.setdefault(one.why, []).append(one.method)
        lines += [f"not used: {', '.join(some)}: {why}" for why, some in reasons.items()]
        lines += [f"note: {one}" for one in self.notes]
        if self.suggested:
            lines.append(f"note: {NOT_RANDOM}")
        return lines + [f"warning: {one}" for one in self.warnings]

    def _settled(self) -> str:
        one = self.settling
        said = f"{one.best} over {one.runner_up}: {percent(one.p_better, 0)}"
        goal = percent(one.level, None)
        if one.labels == 0:
            return f"{said}; settled: at least {goal} (one-sided)"
        if one.labels is None:
            return f"{said}; {one.why}"
        text = f"{said}; about {counted(one.labels, 'more label')} of random rows would settle it at {goal} (one-sided)"
        if one.lower is not None:
            text += f", {one.lower:,} at best, {'many more' if one.upper is None else f'{one.upper:,}'} at worst"
        return text + (f"; {one.chosen:,} of rows on which the two disagree" if one.chosen else "")

    def summary(self) -> str:
        """What was found, in a few lines and tables."""
        tables = (self.table(), self.pair_table(), self.evidence_table())
        return "\n".join([*self.opening(), *(aligned(*one) for one in tables), *self.closing()])


def _left_out(why: str, many: int) -> str:
    """How many rows, and the reason, which speaks of several."""
    return f"{many:,} {why if many != 1 else why.replace('rows', 'row', 1).replace(' are ', ' is ', 1)}"


def _chain(one: Evidence) -> str:
    """Models in the order of the evidence, with > between them and = where they tie."""
    out = ""
    for before, name in itertools.pairwise((None, *one.order)):
        tie = before is not None and one.values[before] == one.values[str(name)]
        out += f" {'=' if tie else '>'} {name}" if before is not None else str(name)
    return out or "-"
