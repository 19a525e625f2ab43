"""Ranking: several models, a pool and few labels or none: which model, how sure, by which evidence, what to label."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..plain import Json, Plain, Strings, inside
from .values import Interval, Record, Skipped, counted, percent, plain, points, shortened
from .view import (
    INTERVAL,
    Grid,
    Maker,
    Named,
    Shown,
    Table,
    View,
    cell,
    cells_of,
    chances,
    ends,
    shows,
    with_ends,
)

FACTORS_MAY_MISLEAD = (
    "a factor can order models the wrong way round: across architectures the paper's factors are "
)
FACTORS_MAY_MISLEAD += "right on nearly all or nearly none of the draws (Singhal et al. 2022, Table 4); read them as a "
FACTORS_MAY_MISLEAD += "hint at why, not as a vote"
LABELS_AGAINST = "The labels speak against agreement: models that agree more with the others are right less often on "
LABELS_AGAINST += "them; what the labels say outweighs it"
NOT_RANDOM = "the suggested rows were chosen because the leading models disagree on them: labels of these may decide "
NOT_RANDOM += (
    "between the models, but they are no random sample, and no accuracy may be computed from them"
)

_SHARES = ("labels", "pool", "estimate", "agreement", "confidence")  # evidence that is a share
_EVEN = 1e-9  # a probability that differs less from 1/2 speaks for neither of two models


@dataclass(frozen=True)
class Evidence(Record):
    """One kind of evidence: a number for each model, and the order that it alone would give.

    name : registered name, or that of the statistic. group : ``labels``, ``pool``, ``estimate``, ``proxy``,
    ``agreement``, ``confidence`` or ``factor``. about : what it is, one sentence. higher_is_better :
    False for factors, of which the highest is ranked lowest. values : model -> number, None where there is none.
    intervals : model -> the number with its interval. note : what it rests on or lacks, such as how many examples have
    no such words. citation : BibTeX key.
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
    def order(self) -> Strings:
        """Models, the best by this evidence first; those without a number are left out."""
        numbers = {name: value for name, value in self.values.items() if value is not None}
        sign = -1 if self.higher_is_better else 1
        return tuple(sorted(numbers, key=lambda name: sign * numbers[name]))

    def agreement(self, order: Sequence[str]) -> float | None:
        """Share of the pairs of ``order`` that this evidence puts the same way, ties half; None of no pair."""
        pairs = itertools.combinations(
            [x for name in order if (x := self.values.get(name)) is not None], 2
        )
        shares = [0.5 if a == b else float((a > b) == self.higher_is_better) for a, b in pairs]
        return sum(shares) / len(shares) if shares else None

    def to_dict(self, order: Sequence[str] = ()) -> Json:
        """Return a plain mapping, ready for JSON; ``order`` is the order of the result."""
        return {**super().to_dict(), "order": list(self.order), "agreement": self.agreement(order)}


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
class ModelPair(Record):
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


@dataclass(frozen=True)
class Settling(Record):
    """How many more labels would settle which of the two leading models is the better one.

    p_better : that ``best`` beats ``runner_up``, now. level : what it, or its opposite, is to reach. labels : of rows
    drawn at random, median over futures; None where no number is known: ``why`` says why. lower, upper : the same in
    the luckiest and the unluckiest tenth of futures. chosen : labels, where only rows are labelled on which the two
    disagree.
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


@dataclass(frozen=True)
class ExplainedExample(Record):
    """One labelled example with the attributions of each model.

    parts : the text, or both texts of a pair. words : the words. places : (part, start, end) of each, in characters.
    models : model -> ``target`` (class that is explained), ``probability``, ``values`` (one a word), ``separator``,
    ``base``, ``fit``, ``factors``: factor -> ``value`` and ``words``, places of the words that it looks at.
    """

    id: str
    label: int | str
    parts: Strings
    words: Strings
    places: tuple[tuple[int, int, int], ...]
    models: Mapping[str, Plain]


@dataclass(frozen=True, repr=False)
class FewShotRanking(Shown, Record, Named[RankedModel]):
    """What `rank` found; at a prompt and in a notebook it shows its summary.

    ranking : models, the best first. pairs : each two of them. evidence : everything that was looked at. labelled, pool
    : numbers of rows. modality : of the rows. classes : that the models tell apart. settling : how many labels would
    decide. cost : of picking the first, in accuracy against the best: ``expected``, and ``at_most`` at ``level``.
    not_excluded : the fewest models that hold the best at the level of the result. stop : whether random labels alone
    show the first to be the best however often one looked: ``safe``, ``e_value``, which is to reach ``needed``, or
    ``why`` not. columns : where the inputs stood; id_column, label_column : ids (None: nowhere) and labels of the
    labelled rows. numbered : ids are whole numbers. suggested : (id, text or None) of pool rows to label next. examples
    : attributions. attribution : how they were made. left_out : reason -> rows. chosen : labelled rows that are no
    random ones.
    """

    version: str
    ranking: tuple[RankedModel, ...]
    pairs: tuple[ModelPair, ...]
    evidence: tuple[Evidence, ...]
    labelled: int
    pool: int
    modality: str
    classes: tuple[int | str, ...]
    settling: Settling
    cost: Plain
    not_excluded: Strings
    stop: Plain
    level: float
    seed: int
    data: Mapping[str, str | None]
    columns: Strings = ()
    id_column: str | None = "id"
    numbered: bool = False
    label_column: str = "label"
    suggested: tuple[tuple[str, Any], ...] = ()
    examples: tuple[ExplainedExample, ...] = ()
    attribution: Plain | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    chosen: int = 0
    labels_on_agreement: float | None = None
    labels_against_agreement: bool = False
    p_best_as_it_came: float | None = None
    public: Plain = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    notes: Strings = ()
    warnings: Strings = ()
    argv: str | None = None
    _command, _noun, _entries = "rank", "model", ("ranking", "model")
    _untold = frozenset(
        {"ranking", "evidence", "suggested", "columns", "id_column", "numbered", "label_column"}
    )

    def frames(self) -> dict[str, Maker]:
        """``models``, the best first; ``pairs``; ``evidence``: a row for each kind and model; ``suggested``."""
        labels = self.labelled - self.chosen
        models = [{**vars(item), "labels": labels, **ends(item.accuracy)} for item in self.ranking]
        evidence = [
            {
                **vars(item),
                **ends(item.intervals.get(model)),
                "evidence": item.name,
                "model": model,
                "value": value,
            }
            for item in self.evidence
            for model, value in item.values.items()
        ]
        suggested = [{"id": name, "text": text_of(plain(text))} for name, text in self.suggested]
        rows: Json = {
            "models": (("model", "rank", "p_best", "right", "labels", *INTERVAL, "source"), models),
            "pairs": (
                ("a", "b", "p_a_better", "differ", "only_a", "only_b"),
                list(map(vars, self.pairs)),
            ),
            "evidence": (("evidence", "group", "model", *INTERVAL, "higher_is_better"), evidence),
        }
        rows |= {"suggested": (("id", "text"), suggested)} if suggested else {}
        makers: dict[str, Maker] = {}
        for name, (columns, cells) in rows.items():
            makers[name] = partial(Table, columns, cells, (), "model" if name == "models" else "")
        return makers

    @property
    def models(self) -> Strings:
        """Names of the models, the best first."""
        return tuple(item.model for item in self.ranking)

    @property
    def likeliest(self) -> RankedModel:
        """The model with the highest P(best), which the order by expected accuracy need not put first."""
        return max(self.ranking, key=lambda item: item.p_best)

    @property
    def open(self) -> bool:
        """Whether nothing speaks for any: the likeliest is as likely worse as better than each other one."""
        first = self.likeliest.model
        return all(
            abs(pair.p_a_better - 0.5) < _EVEN for pair in self.pairs if first in (pair.a, pair.b)
        )

    @property
    def by_right(self) -> tuple[Strings, ...]:
        """The plain order: models by their right answers on the random labelled rows, those with as many together."""
        counts = sorted({item.right for item in self.ranking}, reverse=True)
        return tuple(
            tuple(item.model for item in self.ranking if item.right == count) for count in counts
        )

    @property
    def open_among(self) -> Strings:
        """Models that share the most right answers, which labels do not separate; empty where one has the most."""
        return self.by_right[0] if self.labelled > self.chosen and len(self.by_right[0]) > 1 else ()

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        rows = []
        for item in self.ranking:
            values: Json = {"right": item.right}
            for match in self.evidence:
                values[match.name] = plain(
                    match.intervals.get(item.model) or match.values.get(item.model)
                )
            rows.append(
                {
                    "model": item.model,
                    "p_best": plain(item.p_best),
                    "rank": item.rank,
                    "source": item.source,
                    "truncated": item.truncated,
                    "evidence": values,
                }
            )
        out = super().to_dict() | {
            "labels": self.labelled,
            "likeliest": self.likeliest.model,
            "open": self.open,
        }
        out |= {
            "open_among": list(self.open_among),
            "by_right": plain(self.by_right),
            "ranking": rows,
        }
        out |= {"evidence": [item.to_dict(self.models) for item in self.evidence]}
        out |= {"suggested": [{"id": name, "text": plain(text)} for name, text in self.suggested]}
        return out | {"suggested_are_random": False}


@shows(FewShotRanking)
def ranking_view(result: Plain) -> View:
    """What a ranking says, from the mapping that JSON holds: the order, how sure it is, what would settle."""
    rows, evidence = result["ranking"], result.get("evidence") or ()
    top = max(rows, key=lambda row: row["p_best"] or 0.0)
    may_mislead = any(item["group"] == "factor" for item in evidence)
    left_out = (result.get("left_out") or {}).items()
    title = f"Most likely the best of {counted(len(rows), 'model')}"
    number = "open" if result.get("open") else str(top["model"])
    return View(
        title,
        number,
        note=_origin(result),
        caveat=_sure(result, top),
        chances=_chances(result),
        sentences=(
            _nothing_tells(result),
            _order(result),
            _highest_expected(rows[0], top),
            _without_labels(result),
            _as_came_true(result, str(top["model"]), top["p_best"] or 0.0),
            _picked(result),
            _settled(result.get("settling") or {}),
            _counting_alone(result),
            LABELS_AGAINST if result.get("labels_against_agreement") else "",
            _sample(result),
            _suggested(result),
        ),
        details=tuple(
            f"Evidence {item['name']}: {item['note']}" for item in evidence if item.get("note")
        ),
        grids=(
            _models_grid(result),
            _pairs_grid(result),
            _evidence_grid(result),
            _unused_grid(result),
            _suggested_grid(result),
        ),
        notes=(
            *([f"Factors: {FACTORS_MAY_MISLEAD}"] if may_mislead else ()),
            *(f"Left out: {_left_out(why, count)}" for why, count in left_out),
            *(result.get("notes") or ()),
        ),
        warnings=tuple(result.get("warnings") or ()),
        seed=result.get("seed"),
        cells={
            **ends(_evidence_of(top).get("accuracy")),
            "rank": top.get("rank"),
            "p_best": top["p_best"],
            "right": _evidence_of(top).get("right"),
            "labels": _random_labels(result),
            "source": top.get("source"),
            "says": f"{title}: {number}",
        },
    )


def _count(result: Plain, name: str) -> int:
    """A number of rows: 0 where nothing is said of them."""
    number: int = result.get(name) or 0
    return number


def _random_labels(result: Plain) -> int:
    """Number of labelled rows that were drawn at random."""
    return _count(result, "labelled") - _count(result, "chosen")


def _evidence_of(row: Plain) -> Plain:
    """What is known of a model by name of the evidence."""
    return row.get("evidence") or {}


def _models_grid(result: Plain) -> Grid:
    """The chance of each model to be the best, and what labels and pool say of its accuracy."""
    rows, labelled = result["ranking"], bool(result.get("labelled"))
    pooled = any(_evidence_of(row).get("recalibrated") for row in rows)
    cells = []
    for row in rows:
        evidence = _evidence_of(row)
        line = [row["model"], percent(row["p_best"] or 0, 0)]
        if labelled:
            right = f"{evidence.get('right', '')} of {_random_labels(result)}"
            line += [right, *cells_of(evidence.get("accuracy"))]
        if pooled:
            line.append(with_ends(evidence["recalibrated"], digits=0))
        cells.append(line)
    heads = ["model", "P(best)"]
    heads += ["right", "accuracy", "lower", "upper"] if labelled else []
    heads += ["accuracy with the pool"] if pooled else []
    return Grid("Models, the best first", heads, cells)


def _pairs_grid(result: Plain) -> Grid:
    """How surely each model is better than each that is ranked below it."""
    labelled, cells = bool(result.get("labelled")), []
    for pair in result.get("pairs") or ():
        line = [pair["a"], pair["b"], percent(pair["p_a_better"], 0), percent(pair["differ"])]
        line += [f"{pair['only_a']} to {pair['only_b']}"] if labelled else []
        cells.append(line)
    heads = ["better", "than", "P", "rows they differ on"]
    heads += ["right alone"] if labelled else []
    return Grid(
        "How sure the order of each two is", heads, cells, detail=True, slot="pairs", kind="matrix"
    )


def _evidence_grid(result: Plain) -> Grid:
    """The number that each kind of evidence has for each model, and the order that it alone would give."""
    names, cells = [str(row["model"]) for row in result["ranking"]], []
    for item in result.get("evidence") or ():
        agrees = cell(item["agreement"], "%0")
        numbers = [_evidence_cell(item, name) for name in names]
        cells.append([item["name"], item["group"], _chain(item) or "-", agrees, *numbers])
    heads = ["evidence", "of", "its order", "agrees on pairs", *names]
    title = "Evidence, and what it alone would have said"
    return Grid(title, heads, cells, detail=True, slot="evidence")


def _evidence_cell(item: Plain, model: str) -> str:
    """The number that a kind of evidence has for a model, with its interval where there is one."""
    ranges = item.get("intervals") or {}
    if model in ranges:
        return with_ends(ranges[model])
    return cells_of({"value": item["values"].get(model)}, share=item["group"] in _SHARES)[0]


def _chain(item: Plain) -> str:
    """Models in the order of one kind of evidence, > between them and = where they tie."""
    order, values = item["order"], item["values"]
    text = "".join(order[:1])
    for before, name in itertools.pairwise(order):
        text += f" {'=' if values[before] == values[name] else '>'} {name}"
    return text


def _unused_grid(result: Plain) -> Grid:
    """Evidence that was not used, by the reason."""
    reasons: dict[str, list[str]] = {}
    for entry in result.get("skipped") or ():
        reasons.setdefault(entry["why"], []).append(entry["method"])
    cells = [[", ".join(methods), why] for why, methods in reasons.items()]
    title = "Evidence that was not used"
    return Grid(title, ["what", "why"], cells, noun="reason", detail=True, slot="left out")


def _suggested_grid(result: Plain) -> Grid:
    """Rows to label next."""
    suggested = result.get("suggested") or ()
    cells = [[str(item["id"]), text_of(item["text"])] for item in suggested]
    notes = (f"{NOT_RANDOM[:1].upper()}{NOT_RANDOM[1:]}",) if suggested else ()
    title = "Rows to label next"
    return Grid(title, ["id", "text"], cells, noun="row", notes=notes, slot="suggested")


def _origin(result: Plain) -> str:
    """From which rows the answer comes."""
    labelled, pool = _count(result, "labelled"), counted(_count(result, "pool"), "row")
    if not labelled:
        return f"from {pool} without labels; no label was seen"
    beside = f" and {pool} without labels" if result.get("pool") else " alone"
    return f"from {counted(labelled, 'labelled row')}{beside}"


def _sure(result: Plain, top: Plain) -> str:
    """How sure it is that the likeliest model is the best; nothing where none is favoured."""
    return "" if result.get("open") else f"{percent(top['p_best'], 0)} sure"


def _chances(result: Plain) -> tuple[tuple[str, float], ...]:
    """The chance of each model; nothing where none is favoured."""
    return () if result.get("open") else chances(result["ranking"])


def _order(result: Plain) -> str:
    """The models, the best first; nothing where neither labels nor agreement order them."""
    if result.get("open") and not result.get("labelled"):
        return ""
    return f"In order, the best first: {', '.join(str(row['model']) for row in result['ranking'])}"


def _highest_expected(first: Plain, top: Plain) -> str:
    """That the first model is not the likeliest best one."""
    if first is top:
        return ""
    sure = percent(first["p_best"], 0)
    return f"{first['model']} has the highest expected accuracy, and is the best with {sure}"


def _counting_alone(result: Plain) -> str:
    """Which models have the most right answers on the random labelled rows."""
    leaders, random = (result.get("by_right") or [[]])[0], _random_labels(result)
    if not leaders or not random:
        return ""
    hits = max(_evidence_of(row).get("right") or 0 for row in result["ranking"])
    right = f"{hits:,} of {counted(random, 'labelled row')} right"
    if len(leaders) == 1:
        return f"Counting alone: {leaders[0]} is first with {right}"
    return (
        f"Counting alone leaves it open among {len(leaders)} with {right}: {shortened(leaders, 5)}"
    )


def _sample(result: Plain) -> str:
    """What the labelled rows must be for the probabilities to hold."""
    labelled, chosen = _count(result, "labelled"), _count(result, "chosen")
    if not labelled:
        return ""
    if not chosen:
        return "The labelled rows must be a random sample of the data in question"
    how = "were chosen by disagreement and count for rows like them"
    if chosen == labelled:
        return f"All {counted(labelled, 'labelled row')} {how}"
    rest = "the others must be a random sample"
    return f"{chosen:,} of {labelled:,} labelled rows {how}; {rest}"


def _nothing_tells(result: Plain) -> str:
    """Why none of the models is favoured, and what would help without a label."""
    if not result.get("open"):
        return ""
    labelled = result.get("labelled") or 0
    if labelled:
        labels_text = counted(labelled, "labelled row")
        return (
            f"{labels_text} favour{'s' if labelled == 1 else ''} none of the models over the others"
        )
    return (
        "Two models without a label agree with each other equally often, and nothing favours one: label a few rows "
        "drawn at random, or give labelled rows of known ground with --reference"
        if len(result["ranking"]) == 2
        else "Nothing favours any of the models: label a few rows drawn at random"
    )


def _without_labels(result: Plain) -> str:
    """That no label was seen, on what the order rests, and how often such orders were right."""
    if result.get("labelled"):
        return ""
    public, with_one = result.get("public") or {}, bool(inside(result, "data", "reference"))
    basis = "agreement and the reference" if with_one else "agreement"
    text = f"No label of these rows was seen: the order is empirical and rests on {basis}, which models may share "
    text += "mistakes in"
    if public.get("pairs_right") is None:
        return text
    suites, sources = public["suites"], public["sources"]
    right, ten = percent(public["pairs_right"], 0), percent(public["pairs_right_counting_ten"], 0)
    text += f"; such orders of {public['models']} models put {right} of the pairs right on {suites} public suites of "
    return f"{text}{sources} sources, counting ten labels {ten}"


def _as_came_true(result: Plain, likeliest: str, p_best: float) -> str:
    """What the evidence said of the likeliest model, where fewer of such came true."""
    claimed = result.get("p_best_as_it_came")
    if claimed is None:
        return ""
    text = f"The evidence alone makes {likeliest} the best with {percent(claimed, 0)}; on public suites about "
    return f"{text}{percent(p_best, 0)} of such came true, which is what counts here"


def _suggested(result: Plain) -> str:
    """By how much rows that were suggested were worth more than random ones."""
    of = inside(result, "public", "suggested")
    if not of or not result.get("suggested"):
        return ""
    text = f"On {of['suites']} public suites ten suggested rows "
    text += "gained" if of["upper"] < 0 else "gained nothing that is sure over ten random ones:"
    text += f" {-of['regret']:.2f} points of accuracy of the first model"
    text += " more than ten random ones" if of["upper"] < 0 else ""
    return f"{text} ({-of['upper']:.2f} to {-of['lower']:.2f} at 95 %)"


def text_of(text: Any) -> str:
    """The text of a row to label, or both texts of a pair."""
    return text if isinstance(text, str) else " | ".join(text or ())


def _picked(result: Plain) -> str:
    """What picking the first costs, which models may be the best, and whether one may stop."""
    cost, models = result.get("cost"), result.get("not_excluded") or ()
    if not cost:
        return ""
    text = f"Picking {cost['model']} costs at most {points(cost['at_most'])} of accuracy at "
    text += f"{percent(cost['level'], 0)}, {points(cost['expected'])} on average; not excluded as the best at "
    text += f"{percent(result['level'], None)}: {shortened(models, 8)}"
    if inside(result, "stop", "safe"):
        text += "; labels alone say so too, however often you looked: you may stop"
    return text


def _settled(item: Plain) -> str:
    """How many more labels would settle which of the two leading models is better."""
    if not item:
        return ""
    start = (
        f"Probability that {item['best']} beats {item['runner_up']}: {percent(item['p_better'], 0)}"
    )
    goal, labels = f"at {percent(item['level'], None)} (one-sided)", item.get("labels")
    if labels == 0:
        return f"{start}, which settles it {goal}"
    if labels is None:
        return f"{start}; {item.get('why')}"
    text = f"{start}; about {counted(labels, 'more label')} of randomly drawn rows would settle it {goal}"
    if item.get("lower") is not None:
        worst = "many more" if item.get("upper") is None else f"{item['upper']:,}"
        text += f", {counted(item['lower'], 'label')} at best, {worst} at worst"
    return text + (
        f"; {item['chosen']:,} of rows on which the two disagree" if item.get("chosen") else ""
    )


def _left_out(why: str, count: int) -> str:
    """How many rows, and the reason, which speaks of several."""
    return f"{count:,} {why if count != 1 else why.replace('rows', 'row', 1).replace(' are ', ' is ', 1)}"
