"""Findings: each claim of the paper, checked by code against a result and tested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

from ...metrics.failure_cases import LEAST
from ...metrics.resampling import REPLICATES
from ...reports import drawings as plain
from ...reports.drawings import Drawing, Panel
from ...results import percent
from ...verbs.compare.model_comparison import SURE as FIRM
from ..base import Progress, Workspace
from ..kit.claims import LEVEL, Claim, Look, above, all_of, claims_table, either, gap, on_all, on_most, share
from ..kit.publish import Figures
from ..kit.tables import cells, paper_tables, section, tables_page
from .tables import CASES, EFFECTS, SIDE

SETS = ("imdb", "sst2")
NAMES = {"imdb": "IMDb", "sst2": "SST-2"}
SURE = 1 - LEVEL  # share of replicates from which on one pair, looked at alone, is beyond chance


def kendall_tau(first: Sequence[str], second: Sequence[str]) -> float:
    """tau = (pairs in the same order - pairs in the other) / pairs, of two orders of the same names without ties.

    Source: Kendall (1938).

    >>> kendall_tau("abc", "abc"), kendall_tau("abc", "cba")
    (1.0, -1.0)
    """
    place = {name: i for i, name in enumerate(second)}
    pairs = list(combinations(first, 2))
    return sum(1 if place[a] < place[b] else -1 for a, b in pairs) / len(pairs)


class Replicates:
    """The bootstrap replicates of a result: its shares as looks, and the claims that are read off them."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.many = int(result["settings"]["replicates"])
        self.test = f"paired bootstrap ({self.many:,} replicates)"
        self._pairs = {(one["set"], frozenset((one["a"], one["b"]))): one for one in result["pairs"]}

    def look(self, value: float) -> Look:
        """A share of the replicates as p-values."""
        return share(value, self.many)

    def better(self, name: str, a: str, b: str) -> float:
        """Share of replicates in which a has the higher DiSCA than b."""
        one = self._pairs.get((name, frozenset((a, b))))
        if one is None:
            return 0.5
        p = float(one["p_a_better"])
        return p if one["a"] == a else 1 - p

    def some(self, name: str, claim: str, evidence: str, looks: Sequence[Look]) -> Claim:
        """A claim that something occurs in at least one of several pairs, corrected for their number (Bonferroni)."""
        least = len(looks) / (1 + self.many)
        if least > LEVEL:
            evidence += f"; with {self.many} replicates no p-value of {len(looks)} looks is below {least:.3f}"
        return Claim(name, claim, evidence, self.test, either(looks), len(looks))


@dataclass(frozen=True)
class Parting:
    """Two models that AUC and DiSCA order differently on a set.

    auc, disca : the model that each prefers. share : of the replicates in which they part so. covered : coverage at
    risk of the two models. look : whether it is higher for DiSCA's model.
    """

    name: str
    auc: str
    disca: str
    share: float
    covered: tuple[float, float]
    look: Look

    @property
    def side(self) -> str:
        """With which of the two coverage at risk sides in the sample: "AUC", "DiSCA" or "neither"."""
        auc, disca = self.covered
        return "AUC" if auc > disca else "DiSCA" if disca > auc else "neither"

    @property
    def is_firm(self) -> bool:
        """Whether `compare` speaks of them: AUC and DiSCA part so in 90 % of the replicates."""
        return self.share >= FIRM


def partings(result: Mapping[str, Any]) -> list[Parting]:
    """Every pair that AUC and DiSCA order differently, the firmest first.

    With whom coverage at risk sides is tested in the replicates of both models.
    """
    models, out = {model["name"]: model for model in result["models"]}, []
    replicates = Replicates(result)
    for one in result["disagreements"]:
        if set(one["metrics"]) != {"auc_coverage", "disca"}:
            continue
        for pair in one["pairs"]:
            a, b = (pair["preferred"][metric] for metric in ("auc_coverage", "disca"))
            first, second = (models[name][one["set"]][SIDE] for name in (a, b))
            look = replicates.look(1 - pair["with_first"])
            covered = (float(first["value"]), float(second["value"]))
            out.append(Parting(one["set"], a, b, float(pair["share"]), covered, look))
    return sorted(out, key=lambda found: -found.share)


def seen(shares: Sequence[float]) -> str:
    """How many pairs are surely so, one by one."""
    return f"{sum(one >= SURE for one in shares)} in {percent(SURE, 0)} of replicates"


def order_claims(result: Mapping[str, Any]) -> Iterator[Claim]:
    """Do accuracy, AUC and DiSCA rank alike, is DiSCA right where AUC is not, and does DiSCA rank sets alike?"""
    replicates = Replicates(result)
    yield _apart(result, replicates, "accuracy", "disca", "the ranking by accuracy is not the ranking by DiSCA")
    yield _apart(result, replicates, "auc_coverage", "disca", "the ranking by AUC is not the ranking by DiSCA")
    found = partings(result)
    firm = [one for one in found if one.is_firm]
    looks = [all_of([replicates.look(one.share), one.look]) for one in found]
    looks += [Look()] * (sum(math.comb(len(result["rankings"][name]["auc_coverage"]), 2) for name in SETS) - len(found))
    text = f"of {len(found)} pairs that AUC and DiSCA order differently coverage at risk sides with DiSCA on "
    text += f"{sum(one.side == 'DiSCA' for one in found)}, of the {len(firm)} firm ones on "
    text += f"{sum(one.side == 'DiSCA' for one in firm)}"
    claim = "a model of higher AUC is not always the better selective answerer (by DiSCA and by coverage at risk)"
    yield replicates.some("auc_misleads", claim, text, looks)
    said = []
    for name in SETS:
        here = [one for one in firm if one.name == name]
        sides = {side: sum(one.side == side for one in here) for side in ("AUC", "DiSCA")}
        text = f"{NAMES[name]}: coverage at risk sides with AUC on {sides['AUC']} of {len(here)} firm pairs "
        text += f"({sum(one.look.refutes <= LEVEL for one in here)} of them beyond chance by itself), with DiSCA on "
        said.append(f"{text}{sides['DiSCA']}" if here else f"{NAMES[name]}: no firm pair")
    text = f"{'; '.join(said)}; firm: AUC and DiSCA part so in {percent(FIRM, 0)} of replicates; `compare` itself "
    text += f"notes it of {sum(one.get('contested', False) for one in result['findings'])} pairs"
    claim = "where AUC and DiSCA part, DiSCA is right: coverage at risk sides with it"
    yield on_most("disca_is_right", claim, text, replicates.test, [one.look for one in firm])
    yield _apart(result, replicates, "accuracy", "auc_coverage", "the ranking by accuracy is not the ranking by AUC")
    home, away = (result["rankings"][name]["disca"] for name in SETS)
    turns = [(replicates.better("imdb", a, b), replicates.better("sst2", b, a)) for a, b in permutations(home, 2)]
    text = f"tau {kendall_tau(home, away):.2f}; first on IMDb {home[0]}, on SST-2 {away[0]}; pairs that turn round: "
    looks = [all_of([replicates.look(first), replicates.look(second)]) for first, second in turns]
    claim = "the ranking by DiSCA changes out of domain"
    yield replicates.some("domains", claim, text + seen([min(one) for one in turns]), looks)


def _apart(result: Mapping[str, Any], replicates: Replicates, first: str, second: str, say: str) -> Claim:
    said, looks = [], []
    for name in SETS:
        orders = result["rankings"][name]
        found = [
            one for one in result["disagreements"] if one["set"] == name and set(one["metrics"]) == {first, second}
        ]
        shares = [pair["share"] or 0.0 for one in found for pair in one["pairs"]]
        # Pairs that the metrics order alike were looked at as well.
        alike = math.comb(len(orders[first]), 2) - len(shares)
        looks += [*map(replicates.look, shares), *[Look()] * alike]
        tau = kendall_tau(orders[first], orders[second])
        said.append(f"{NAMES[name]}: tau {tau:.2f}, {len(shares)} pairs apart, {seen(shares)}")
    return replicates.some(f"{first}_and_{second}", say, "; ".join(said), looks)


def power_at(result: Mapping[str, Any], case: str, name: str, effect: float) -> Mapping[str, Any]:
    """What the search for a case on a set would find of a true inversion of a size."""
    for one in result["search"]["power"]:
        if (one["name"], one["set"], one["effect"]) == (case, name, effect):
            found: Mapping[str, Any] = one
            return found
    raise KeyError((case, name, effect))


def case_claims(result: Mapping[str, Any]) -> list[Claim]:
    """A claim for each case that it occurs; one that is not seen is undecided, with the power of the search.

    Looked at is each pair of models for the tail, which `compare` sees in sets, each model for the other cases, on
    both sets.
    """
    out, replicates, many = [], Replicates(result), len(result["models"])
    for case, number in CASES.items():
        if case == "tail":
            found = [NAMES[one["set"]] for one in result["findings"] if one["name"] == "tail"]
            looks = [Look(replicates.look(one["share"]).supports) for one in result["tails"]]
            looks += [Look()] * (len(SETS) * many * (many - 1) // 2 - len(looks))
            test = replicates.test
        else:
            found = [
                f"{model['name']} on {NAMES[name]}"
                for model in result["models"]
                for name in SETS
                if any(one["name"] == case for one in model[name]["cases"])
            ]
            looks = [Look(one[case]["p"]) for one in result["search"]["observed"]]
            test = f"{result['search']['chance']:,} curves of chance"
        where = ", ".join(dict.fromkeys(found)) or "not seen"
        out.append(Claim(case, f"case {number} ({case}) occurs", where, test, either(looks), len(looks)))
    return out


def six_cases(result: Mapping[str, Any]) -> Claim:
    """That all six occur. What is not beyond chance may still be there: the power says how often it would be seen."""
    claims = case_claims(result)
    beyond, rest = [], []
    for one in claims:
        title = f"{CASES[one.name]} ({one.name})"
        if one.look.supports <= LEVEL:
            beyond.append(f"{title}: {one.evidence}")
        else:
            powers = (f"{100 * power_at(result, one.name, name, EFFECTS[-1])['power']:.0f} %" for name in SETS)
            short = f" (seen: {one.evidence}; p {one.look.supports:.2f} among {one.looks} looks)"
            rest.append(f"{title} {' / '.join(powers)}{'' if one.evidence == 'not seen' else short}")
    text = f"beyond chance: {'; '.join(beyond) or 'none'}"
    if rest:
        text += f"; undecided, with the power at a true inversion of {100 * EFFECTS[-1]:.0f} points on IMDb / SST-2: "
    test = "bootstrap and curves of chance, each case corrected for its looks"
    claim = "all six cases of Table 1 occur in these models"
    return on_all("six_cases", claim, text + ", ".join(rest), test, [one.look for one in claims])


RISES = "normal, bootstrap errors"
Models = Mapping[str, Mapping[str, Any]]


def claims_of(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim that the models at hand let one check, in the paper's order.

    That some order of two models occurs is tested on every pair in which it could: the share of bootstrap replicates
    that show it is a p-value, corrected for the number of pairs. That one certain order is right needs all its pairs.
    """
    models = {model["name"]: model for model in result["models"]}
    out: list[Claim] = []
    if all(model[name]["disca"] is not None for model in models.values() for name in SETS):
        replicates = Replicates(result)
        out += [*order_claims(result), *_of_models(replicates, models), *_of_rises(models)]
        out += _of_names(replicates, models)
    return [*out, six_cases(result)]


def _of_models(replicates: Replicates, models: Models) -> Iterator[Claim]:
    """Newer: the transformers came after the models over words. Larger: more parameters. BOW-SUM: last on IMDb?"""
    newer = [m for m in models.values() if m["family"] == "transformer"]
    older = [m for m in models.values() if m["family"] == "words"]
    sized = sorted(models.values(), key=lambda m: int(m["parameters"]))
    larger = [(a, b) for a, b in combinations(sized, 2) if a["parameters"] < b["parameters"]]
    for word, other, pairs in (
        ("newer", "older", [(a, b) for a in older for b in newer]),
        ("larger", "smaller", larger),
    ):
        for name in SETS if pairs else ():
            leads = [_score(a, name) - _score(b, name) for a, b in pairs]
            shares = [replicates.better(name, a["name"], b["name"]) for a, b in pairs]
            text = f"the {other} model is ahead in {sum(lead > 0 for lead in leads)} of {len(pairs)} pairs, "
            text += seen(shares)
            sure = [one for one, surest in zip(zip(leads, pairs, strict=True), shares, strict=True) if surest >= SURE]
            if sure:
                a, b = max(sure, key=lambda one: one[0])[1]
                text += f", such as {a['name']} against {b['name']}"
            claim = f"{word} models are not always better by DiSCA ({NAMES[name]})"
            yield replicates.some(f"{word}_{name}", claim, text, [replicates.look(one) for one in shares])
    if "BOW-SUM" in models:
        home = {name: m["imdb"]["disca"] for name, m in models.items()}
        others = [name for name in home if name != "BOW-SUM"]
        worst = min(home, key=lambda name: float(home[name]["value"]))
        negative = [name for name, one in home.items() if one["value"] < 0]
        text = f"last: {worst} ({home[worst]['value']:.2f}); negative: {', '.join(negative) or 'none'}"
        own = above(home["BOW-SUM"], 0)
        parts = [
            all_of([replicates.look(replicates.better("imdb", one, "BOW-SUM")) for one in others]),
            Look(own.refutes, own.supports),  # it is below 0
            all_of([above(home[one], 0) for one in others]),
        ]
        claim = "BOW-SUM is last on IMDb and alone below 0"
        yield on_all("bag_of_words_last", claim, text, f"{replicates.test}, normal", parts)


def _score(model: Mapping[str, Any], name: str) -> float:
    return float(model[name]["disca"]["value"])


def _of_rises(models: Models) -> Iterator[Claim]:
    """Who fluctuates more: sums of words, and models out of domain? Errors from the 95 % bootstrap intervals."""
    home, away = ({name: m[one]["disca"]["fluctuations"] for name, m in models.items()} for one in SETS)
    ends = {(n, one): m[one]["disca"]["fluctuations_interval"] for n, m in models.items() for one in SETS}
    errors = {key: float(high - low) / (2 * 1.96) for key, (low, high) in ends.items()}
    sums = [name for name in home if name.endswith("-SUM")]
    others = [name for name in home if name not in sums]
    if sums and others:
        many, few = (sum(home[n] for n in group) / len(group) for group in (sums, others))
        error = math.hypot(*(errors[n, "imdb"] / len(group) for group in (sums, others) for n in group))
        text = f"mean number of rises {many:.1f} against {few:.1f}, standard error of the difference {error:.1f}"
        claim = "sums of words fluctuate more than the other models on IMDb"
        yield Claim("sums_fluctuate", claim, text, RISES, gap(many - few, error))
    gaps = {name: away[name] - home[name] for name in home}
    looks = [gap(value, math.hypot(errors[one, "imdb"], errors[one, "sst2"])) for one, value in gaps.items()]
    text = f"more rises on SST-2 for {sum(value > 0 for value in gaps.values())} of {len(gaps)} models"
    yield on_most("more_out_of_domain", "most models fluctuate more out of domain", text, RISES, looks)


def _of_names(replicates: Replicates, models: Models) -> Iterator[Claim]:
    """Do sums of words lead out of domain, and have the lowest b? Plateaus? Is BERT-BASE before the larger encoders?"""

    def leads(name: str, claim: str, model: str, where: str) -> Claim:
        """One model has the best DiSCA on a set."""
        best = max(models, key=lambda one: _score(models[one], where))
        shares = [replicates.better(where, model, one) for one in models if one != model]
        text = f"best: {best} ({_score(models[best], where):.2f}); {model} is ahead of its nearest rival in "
        text += f"{percent(min(shares), 0)} of replicates"
        return on_all(name, claim, text, replicates.test, [replicates.look(one) for one in shares])

    if "W2V-SUM" in models and len(models) > 1:
        yield leads("word_sums_lead", "W2V-SUM has the best DiSCA out of domain", "W2V-SUM", "sst2")
    if "GLOVE-SUM" in models:
        mean = {}
        for one, model in models.items():
            rows = [row for row in model["imdb"]["disca"]["by_tolerance"] if 0.55 <= row["tolerance"] <= 0.95]
            mean[one] = sum(float(row["b"]) for row in rows) / len(rows)
        best = min(mean, key=lambda one: mean[one])
        text = f"lowest mean b: {best} ({mean[best]:.2f}); GLOVE-SUM {mean['GLOVE-SUM']:.2f}; no replicates of b are "
        text += "kept"
        yield Claim("glove_b", "GLOVE-SUM has the lowest b over all tolerances on IMDb", text)
    # Do transformers form plateaus? That none is seen does not say that there is none
    found = {
        (name, where): case["share"]
        for name, model in models.items()
        for where in SETS
        for case in model[where]["cases"]
        if case["name"] == "plateau"
    }
    large = [name for name, model in models.items() if model["family"] == "transformer"]
    looks = [Look(share(found.get((name, where), 0.0)).supports) for name in large for where in SETS]
    text = f"a plateau is seen for {', '.join(f'{name} ({NAMES[where]})' for name, where in found) or 'no model'}"
    test = f"bootstrap ({REPLICATES} replicates)"
    yield Claim("plateau", "transformers form plateaus of high confidence", text, test, either(looks), len(looks))
    claim = "BERT-BASE is first on IMDb, before the larger BERT-LARGE and ROBERTA-LARGE"
    if "BERT-BASE" not in models:
        text = "BERT-BASE, BERT-LARGE and ROBERTA-LARGE are not among these models; run the scale paper"
        yield Claim("bert_base_first", claim, text)
    elif {"BERT-LARGE", "ROBERTA-LARGE"} <= set(models):
        yield leads("bert_base_first", claim, "BERT-BASE", "imdb")


FORM = 3  # raise it where the figures change: then the step is done again
_TOLERANCES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
_Chart = tuple[str, tuple[str, ...], dict[str, Any]]
"""Of what there is a row (curve, model, step), with which fields, and what the rows are drawn as."""
_CURVE = {"coverage": "x", "accuracy": "y", "confidence": "thresholds"}


def draw(workspace: Workspace, progress: Progress) -> None:
    """Write the figures, and the page of the comparison where reports can draw."""
    FIGURES.draw(workspace, progress)
    if "report.html" in FIGURES.files("report.html"):
        from ...reports import write_report

        write_report(workspace.read_json("compare.json"), workspace / "report.html")


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """The figures, a panel for each set; a model without DiSCA is left out of those that need it."""
    out = []
    for name, (title, caption, (of, fields, chart)) in _FIGURES.items():
        panels = [Panel(one, NAMES[one], chart, _rows(result, of, one, fields)) for one in SETS]
        out.append(Drawing(name, title, caption, panels))
    return out


def _rows(result: Mapping[str, Any], of: str, name: str, fields: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each model, with the points of its curve as lists so that files stay small, or parts of its DiSCA.

    Or one for each model and tolerance.
    """
    if of == "curve":
        curves = {model["name"]: model[name]["curve"] for model in result["models"]}
        points = {one: {field: curve[_CURVE[field]] for field in fields} for one, curve in curves.items()}
        return [{"model": one, "order": list(range(len(curves[one]["x"]))), **points[one]} for one in curves]
    scores = {model["name"]: model[name]["disca"] for model in result["models"] if model[name]["disca"] is not None}
    if of == "model":
        return [{"model": one, **{field: score[field] for field in fields}} for one, score in scores.items()]
    out = []
    steps = [(one, row) for one, score in scores.items() for row in score["by_tolerance"]]
    for model, row in steps:
        if row["tolerance"] in _TOLERANCES:
            better = sum(o["value"] > row["value"] for _, o in steps if o["tolerance"] == row["tolerance"])
            values = {**row, "rank": 1 + better}
            out.append({"model": model, "tolerance": row["tolerance"], **{field: values[field] for field in fields}})
    return out


_FREE = {"zero": False}
_BACK = {"zero": False, "reverse": True, "nice": False}


def _by_tolerance(y: str, title: str, scale: Mapping[str, Any] = _FREE, **more: Any) -> _Chart:
    marks = {"values": [one / 10 for one in range(5, 11)], "format": ".1f"}
    across = plain.axis("tolerance", "accuracy tolerated", _BACK, axis=marks)
    order = {"field": "tolerance", "sort": "descending"}
    return "step", (y,), plain.lines(across, plain.axis(y, title, scale, **more), "model", order=order)


def _curve(x: str, y: str, scale: Mapping[str, Any] = _BACK) -> _Chart:
    made = plain.lines(plain.axis(x, x, scale), plain.axis(y, y, _FREE), "model")
    return "curve", (x, y), {"transform": [{"flatten": ["order", x, y]}], **made}


_A: _Chart = ("model", ("a",), plain.dots("model", plain.axis("a", "confidence a", _FREE)))
_BARS = plain.axis("fluctuations", "rises (bars)", {"zero": True})
_RISES: _Chart = (
    "model",
    ("fluctuations", "penalty"),
    plain.bars("model", _BARS, plain.axis("penalty", "penalty (marks)")),
)
_RANKS = _by_tolerance("rank", "rank by DiSCA", {"zero": False, "reverse": True}, axis={"tickMinStep": 1})
# Name -> title, caption, chart.
_FIGURES: dict[str, tuple[str, str, _Chart]] = {
    "figure-1-b": (
        "b by tolerance",
        "Confidence at which accuracy first falls below each tolerance (Figures 1, 7 and 13).",
        _by_tolerance("b", "confidence b"),
    ),
    "figure-2-a": ("a by model", "Confidence at which accuracy first falls below 100 % (Figure 2).", _A),
    "figure-3-fluctuations": (
        "Rises and their penalty",
        "Bars: how often accuracy rises; marks: the third term (Figure 3).",
        _RISES,
    ),
    "figure-4-coverage-by-accuracy": (
        "Answered at each accuracy",
        "Coverage at each point where accuracy changes (Figures 4 and 10).",
        _curve("accuracy", "coverage"),
    ),
    "figure-5-coverage-by-tolerance": (
        "Answered until a tolerance fails",
        "Coverage at the first point below each tolerance (Figures 5 and 11).",
        _by_tolerance("coverage", "coverage"),
    ),
    "figure-6-confidence-by-accuracy": (
        "Confidence at each accuracy",
        "Confidence of the last answered where accuracy changes (Figures 6 and 12).",
        _curve("accuracy", "confidence"),
    ),
    "figure-8-curves": (
        "Accuracy against coverage",
        "The curve under which AUC is the area (Figures 8 and 14).",
        _curve("coverage", "accuracy", {**_BACK, "reverse": False}),
    ),
    "figure-9-accuracy-by-tolerance": (
        "Accuracy where a tolerance fails",
        "Accuracy at the first point below each tolerance (Figures 9 and 15).",
        _by_tolerance("accuracy", "accuracy"),
    ),
    "figure-16-rankings": (
        "Rank by tolerance",
        "Rank by DiSCA for each tolerance of b, 1 is best (Figure 16).",
        _RANKS,
    ),
}

FIGURES = Figures(
    "Selective answering: figures",
    "The figures of Mishra, Arunkumar and Baral (2022) for the models of this run; how they were compared is on "
    "report.html",
    tuple(_FIGURES),
    drawings,
)


PAPER = "selective_answering"


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other."""
    models = result["models"]
    named = [{**one, "place_of": "itself" if one["name"] == one["stands_for"] else one["stands_for"]} for one in models]
    heads = [f"{NAMES[s]} {what}" for s in SETS for what in ("accuracy, %", "AUC, %", "DiSCA")]
    row = " | ".join(f"{{{s}[accuracy]:percent}} | {{{s}[auc_coverage]:percent}} | {{{s}[disca]:number}}" for s in SETS)
    sizes, work = (f"{result['settings']['data'][s]['rows']:,} of {NAMES[s]}" for s in SETS), result["work"]
    words = f"**The models** ({' and '.join(sizes)} test rows; 95 % intervals). Training and prediction took "
    words += f"{work['seconds'] / 60:.0f} minutes ({work['cpu_seconds'] / 60:.0f} of processor time) on "
    words += f"{work['cores']} cores, {work['threads']} of them used."
    rows = cells(f"{{name}} | {{place_of}} | {row}", named)
    out = [section(words, ["model", "in place of", *heads], rows), *(_table_two(result, name) for name in SETS)]
    out += [_grids(models), _rankings(result), _partings(result), _cases(result), _costs(result)]
    return tables_page([*out, claims_table(result["claims"])])


def _table_two(result: Mapping[str, Any], name: str) -> str:
    """Table 2a or 2b: ours, and the paper's in brackets where it has the same model."""
    paper = paper_tables(PAPER)
    tolerances, theirs = paper["tolerances"], paper[name]
    rows = []
    scored = [m for m in result["models"] if m[name]["disca"] is not None]
    for model in sorted(scored, key=lambda m: -float(m[name]["disca"]["value"])):
        score = {round(row["tolerance"], 2): row for row in model[name]["disca"]["by_tolerance"]}
        row = [model["name"]]
        for tolerance, printed in zip(tolerances, theirs.get(model["name"], [None] * len(tolerances)), strict=True):
            text = f"{score[tolerance]['value']:.2f}" + ("" if printed is None else f" ({printed:.2f})")
            row.append(text if score[tolerance]["never_below"] else f"**{text}**")
        rows.append(row)
    ours = {model["name"] for model in result["models"]}
    alone = "; ".join(f"{one} {row[0]:.2f} to {row[-1]:.2f}" for one, row in theirs.items() if one not in ours)
    words = f"**Table 2{'a' if name == 'imdb' else 'b'}: DiSCA on {NAMES[name]}**, x = y = z = 0.33, by the accuracy "
    words += "below which b is read; ours (the paper's). Bold: our accuracy falls below the column's."
    after = f"In the paper alone: {alone}" if alone else ""
    return section(words, ["model", *(f"<{t:.2f}" for t in tolerances)], rows, after)


def _grids(models: Sequence[Mapping[str, Any]]) -> str:
    """The score at tolerance 0.95 on each grid: the paper does not state its own."""
    grids = ("coverage", "thresholds", "samples")
    row = " | ".join(f"{{{s}[disca][by_grid][{grid}]:.2f}}" for s in SETS for grid in grids)
    said = []
    for s in SETS:
        scores = {m["name"]: m[s]["disca"]["by_grid"] for m in models if m[s]["disca"] is not None}
        # An undefined score counts as 0
        first, *others = (sorted(scores, key=lambda name: -(scores[name].get(grid) or 0.0)) for grid in grids)
        if len(scores) > 1:
            said.append(f"{NAMES[s]} {' and '.join(f'{kendall_tau(first, other):.2f}' for other in others)}")
    words = "**DiSCA at 0.95 on other grids**: 100 steps of coverage, 100 steps of confidence, every sample. Kendall's "
    words += f"tau of the ranking by coverage with the other two: {'; '.join(said)}."
    heads = ["model", *(f"{NAMES[s]}, {grid}" for s in SETS for grid in grids)]
    return section(words, heads, cells(f"{{name}} | {row}", models))


def _rankings(result: Mapping[str, Any]) -> str:
    paper, rankings = paper_tables(PAPER), result["rankings"]
    orders = [
        order
        for s in SETS
        for order in (*(rankings[s][metric] for metric in ("accuracy", "auc_coverage", "disca")), list(paper[s]))
    ]
    heads = ["rank", *(f"{NAMES[s]} {what}" for s in SETS for what in ("accuracy", "AUC", "DiSCA", "DiSCA, paper"))]
    rows = [
        [str(place + 1), *(order[place] if place < len(order) else "-" for order in orders)]
        for place in range(len(result["models"]))
    ]
    return section("**Rankings**, best first.", heads, rows)


def _partings(result: Mapping[str, Any]) -> str:
    """Pairs on which AUC and DiSCA part firmly, with whom the third measure sides, and what that is worth, in words."""
    found = partings(result)
    firm = [one for one in found if one.is_firm]
    heads = "set | AUC prefers | DiSCA prefers | in replicates, % | answered by AUC's, % | by DiSCA's, % | "
    row = "{name} | {auc} | {disca} | {share:.1f%} | {covered[0]:.1f%} | {covered[1]:.1f%} | {side} | {p_auc:.3f} | "
    told = [{**vars(one), "name": NAMES[one.name], "side": one.side} for one in firm]
    told = [
        {**row, "p_auc": one.look.refutes, "p_disca": one.look.supports} for row, one in zip(told, firm, strict=True)
    ]
    said = []
    for name in SETS:
        here = [one for one in found if one.name == name]
        sides = [f"{side} on {sum(one.side == side for one in here)}" for side in ("AUC", "DiSCA", "neither")]
        said.append(f"{NAMES[name]}: {len(here)} pairs, with {', '.join(sides)}")
    words = f"**Where AUC and DiSCA part**: the {len(firm)} firm pairs, of which `compare` speaks, and with which of "
    words += "the two the third measure sides, coverage at risk (the share of rows answered with at most 5 % of the "
    words += f"answers wrong). Of all pairs that they order differently: {'; '.join(said)}."
    auc, disca = (sum(one.side == side for one in firm) for side in ("AUC", "DiSCA"))
    verdict = next((one["verdict"] for one in result["claims"] if one["name"] == "disca_is_right"), "undecided")
    after = f"What this is worth: AUC and DiSCA order {len(found)} pairs differently, {len(firm)} of them firmly. On "
    after += f"{auc} of the {len(firm)} coverage at risk sides with AUC, on {disca} with DiSCA. So the two measures "
    after += f"differ; that DiSCA is right where AUC is wrong {'is undecided' if verdict == 'undecided' else verdict}"
    after += ", and no firm pair here speaks for it." if firm and not disca else "."
    heads += "coverage at risk sides with | p for AUC | p for DiSCA"
    return section(words, heads, cells(f"{row}{{p_disca:.3f}}", told), after)


def _cases(result: Mapping[str, Any]) -> str:
    """Each failure case: where it is seen, whether that is beyond chance, and how often a true one would be seen."""
    rows = []
    for one in case_claims(result):
        row = [one.claim, one.evidence, f"{one.look.supports:.3f} ({one.looks})", one.verdict]
        for power in (power_at(result, one.name, name, effect) for name in SETS for effect in EFFECTS):
            small = "*" if power["rise"] <= LEAST.get(one.name, 0.0) else ""
            lowest, highest = (100 * end(power["by_model"]) for end in (min, max))
            row.append(f"{100 * power['power']:.0f}{small} ({lowest:.0f} to {highest:.0f})")
        rows.append(row)
    heads = ["case", "seen by `compare`", "p for (looks)", "verdict"]
    heads += [f"power on {NAMES[name]} at {100 * effect:.0f} points, %" for name in SETS for effect in EFFECTS]
    words = "**Failure cases, and the power of the search for them**: how often `compare` would see a true inversion "
    words += f"of so many points, mean over the models (lowest to highest), {result['search']['samples']} simulated "
    words += "sets of rows for each. start, strong: the surest tenth of the rows is less accurate by that than the "
    words += "next tenth; middle: so is the tenth from 20 to 30 % coverage; end: the last tenth is more accurate than "
    words += "all rows before; often: every second hundredth of the surer half is less accurate than the next; tail: "
    words += "of two models the one ahead by 1 point of AUC is less accurate in the first fifth. *: too small, on "
    words += "average, to make the true curve show the case. A case that is not seen is undecided."
    return section(words, heads, rows)


def _costs(result: Mapping[str, Any]) -> str:
    weighings = [(score, form) for score in ("didma", "nidma") for form in ("parameters", "energy")]
    row = "{name} | {parameters:,} | {train_seconds:.0f} | {predict_seconds_per_1000:.2f} | {joules_per_text:.3f} | "
    row += " | ".join(f"{{didma_nidma[{form}][{score}]:.2f}}" for score, form in weighings)
    heads = ["model", "parameters", "seconds to train", "seconds for 1,000 texts", "J a text"]
    heads += [f"{ {'didma': 'DiDMA', 'nidma': 'NiDMA'}[score] } by {form}" for score, form in weighings]
    said = sorted({model["energy"]["words"] for model in result["models"] if model["energy"] is not None})
    words = "**Costs and what they do to the score** (p = q = u = v = 0.5; computation = "
    words += f"{result['settings']['optimal_parameters']:,} / parameters, or 1 / joules a text)."
    after = f"Energy: {said[0]}." if said else "Energy was not counted: the extra `energy` is not installed."
    return section(words, heads, cells(row, result["models"]), after)
