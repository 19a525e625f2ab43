"""Findings: each claim of the paper, tested in bootstrap replicates; tables and figures, ours beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations, product
from typing import Any

import numpy as np

from oodometer.metrics.failure_cases import LEAST
from oodometer.reports import drawings as plain
from oodometer.reports.drawings import Panel
from oodometer.results import percent
from oodometer.verbs.compare_differences import SURE as FIRM

from ..base import Progress, Workspace
from ..kit.claims import (
    LEVEL,
    Claim,
    Look,
    Row,
    all_of,
    binomial,
    claims_from,
    claims_table,
    contrast,
    gap,
    share,
)
from ..kit.publish import Figures
from ..kit.tables import Page, mean_and_spread, tables_page
from .tables import CASES, EFFECTS, MEAN_B, SETS, SIDE, TOLERANCES

NAMES = {"imdb": "IMDb", "sst2": "SST-2"}
SURE = 1 - LEVEL  # share of replicates from which on one pair, looked at alone, is beyond chance
_TEXTS = "texts, of given models"
_DRAWN = "trainings and texts"
_TRAININGS = "t test over trainings and texts"
_ERRORS = {"disca": "error", MEAN_B: "b_error"}  # of the difference of two models over replicates


def _spread(cell: Mapping[str, Any]) -> str:
    """Mean and standard deviation over trainings."""
    return f"{cell['mean']:.2f}" + ("" if cell["sd"] is None else f" ± {cell['sd']:.2f}")


PAGE = Page.beside(__file__, spread=_spread)
Result = Mapping[str, Any]


def kendall_tau(first: Sequence[str], second: Sequence[str]) -> float:
    """tau = (pairs in the same order - pairs in the other) / pairs, of two orders of the same names (Kendall, 1938)."""
    from scipy.stats import kendalltau

    return float(kendalltau(range(len(first)), [second.index(name) for name in first]).statistic)


class Replicates:
    """The bootstrap replicates of a result: its shares as looks, and the claims that are read off them."""

    def __init__(self, result: Result) -> None:
        self.result, self.many = result, int(result["settings"]["replicates"])
        self.test = f"paired bootstrap ({self.many:,} replicates)"
        self._pairs = {
            (pair["set"], frozenset((pair["a"], pair["b"]))): pair for pair in result["pairs"]
        }

    def look(self, value: float, error: float | None = None) -> Look:
        """A share of the replicates as p-values, and what a difference with this standard error lets one see."""
        return share(value, self.many, error)

    def ahead(self, name: str, a: str, b: str) -> Look:
        """a has the higher DiSCA than b, as a look."""
        pair = self._pairs.get((name, frozenset((a, b))), {"a": a, "p_a_better": 0.5})
        value = pair["p_a_better"] if pair["a"] == a else 1 - pair["p_a_better"]
        return self.look(value, pair.get("error"))

    def apart_in_mean(
        self, a: Trainings, b: Trainings, where: str, key: str, sign: float = 1.0
    ) -> Look:
        """In the mean over trainings a number of a, times the sign, is above that of b, by a t test. The variance
        between trainings and that over texts, which is known of the first ones, are added; degrees of freedom by
        Satterthwaite (1946). Of a model with one training nothing is said.
        """
        samples = [model.values(where, key) for model in (a, b)]
        error = self._pairs.get((where, frozenset((a.name, b.name))), {}).get(_ERRORS[key])
        if error is None or min(map(len, samples)) < 2:
            return Look()
        parts = [float(np.var(values, ddof=1)) / len(values) for values in samples]
        variance = sum(parts) + error**2
        of_parts = sum(
            part**2 / (len(values) - 1) for part, values in zip(parts, samples, strict=True)
        )
        freedom = variance**2 / of_parts if of_parts else math.inf
        return gap(sign * (a.mean(where, key) - b.mean(where, key)), variance**0.5, freedom)

    def some(
        self,
        name: str,
        looks: Sequence[Look],
        seen: Sequence[bool],
        fields: Mapping[str, Any],
        words: str = "",
    ) -> Row:
        """A claim that something occurs in at least one of several pairs, corrected for their number (Bonferroni);
        ``seen``: in which of the first ones it does.
        """
        smallest, few = 2 * len(looks) / (1 + self.many), ""
        if smallest > LEVEL:
            few = f"; with {self.many} replicates no p-value of {len(looks)} looks is below {smallest:.3f}"
        effects = [1.0 if occurs else -1.0 for occurs in seen]
        effects += [-1.0] * (len(looks) - len(effects))
        return Row(name, self.test, _TEXTS, looks, effects, {**fields, "few": few}, "any", words)

    def apart(self, first: str, second: str, titles: Sequence[str]) -> Row:
        """Two metrics order some pair of models differently."""
        seen, looks, parted = [], [], []
        both = [
            row for row in self.result["disagreements"] if set(row["metrics"]) == {first, second}
        ]
        for name in SETS:
            orders, rows = (
                self.result["rankings"][name],
                [row for row in both if row["set"] == name],
            )
            shares = [pair["share"] or 0.0 for row in rows for pair in row["pairs"]]
            # Pairs that the metrics order alike were looked at as well.
            alike = math.comb(len(orders[first]), 2) - len(shares)
            looks += [*map(self.look, shares), *[Look()] * alike]
            parted += [True] * len(shares) + [False] * alike
            tau = kendall_tau(orders[first], orders[second])
            seen.append(
                f"{NAMES[name]}: tau {tau:.2f}, {len(shares)} pairs apart, {beyond(shares)}"
            )
        fields = {"first": titles[0], "second": titles[1], "seen": "; ".join(seen)}
        return self.some(f"{first}_and_{second}", looks, parted, fields, "apart")


@dataclass(frozen=True)
class Trainings:
    """All trainings of a model; an older result has one of each."""

    model: Mapping[str, Any]

    @property
    def name(self) -> str:
        """That of the model."""
        return str(self.model["name"])

    def values(self, where: str, key: str) -> list[float]:
        """A number of every training on a set, the first one first."""
        if "trainings" in self.model:
            return list(self.model["trainings"][where][key])
        score = self.model[where]["disca"]
        if key == MEAN_B:
            rows = [
                row for row in score["by_tolerance"] if round(row["tolerance"], 2) in TOLERANCES
            ]
            return [sum(float(row["b"]) for row in rows) / len(rows)]
        return [float(score["value" if key == "disca" else key])]

    def mean(self, where: str, key: str) -> float:
        """Its mean over the trainings."""
        values = self.values(where, key)
        return sum(values) / len(values)


def _test_of(models: Sequence[Trainings]) -> tuple[str, str]:
    """The test of what differs between trainings, none where a model has but one, and how many they are, in words."""
    counts = sorted(len(model.values(SETS[0], "disca")) for model in models)
    if counts[0] < 2:
        return "", "one training a model decides nothing"
    fewest = f"{counts[0]} to " if counts[0] < counts[-1] else ""
    return _TRAININGS, f"means over {fewest}{counts[-1]} trainings"


@dataclass(frozen=True)
class Parting:
    """Two models that AUC and DiSCA order differently: which each prefers, in which share, coverage at risk of both."""

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


def partings(result: Result) -> list[Parting]:
    """Every pair that AUC and DiSCA order differently, the firmest first, with its coverage at risk."""
    models, replicates, out = (
        {model["name"]: model for model in result["models"]},
        Replicates(result),
        [],
    )
    for disagreement in result["disagreements"]:
        for pair in (
            disagreement["pairs"]
            if set(disagreement["metrics"]) == {"auc_coverage", "disca"}
            else ()
        ):
            a, b = (pair["preferred"][metric] for metric in ("auc_coverage", "disca"))
            first, second = (
                float(models[name][disagreement["set"]][SIDE]["value"]) for name in (a, b)
            )
            look = replicates.look(1 - pair["with_first"], pair.get("error"))
            out.append(
                Parting(disagreement["set"], a, b, float(pair["share"]), (first, second), look)
            )
    return sorted(out, key=lambda parting: -parting.share)


def _sides(pairs: Sequence[Parting]) -> dict[str, int]:
    """With whom coverage at risk sides on how many pairs."""
    return {side: sum(pair.side == side for pair in pairs) for side in ("AUC", "DiSCA", "neither")}


def beyond(shares: Sequence[float]) -> str:
    """How many pairs are surely so, one by one."""
    return f"{sum(share >= SURE for share in shares)} in {percent(SURE, 0)} of replicates"


def claims_of(result: Result) -> list[Claim]:
    """Every claim that the models at hand let one check, in the paper's order; "some pair" is tested on every pair."""
    models, rows = {model["name"]: model for model in result["models"]}, []
    if all(model[name]["disca"] is not None for model in models.values() for name in SETS):
        replicates = Replicates(result)
        every = [Trainings(model) for model in result["models"]]
        rows = [*_of_orders(replicates), *_of_rises(every), *_of_names(every, replicates)]
    return claims_from(PAGE, [*rows, _six_cases(result)])


def _of_orders(replicates: Replicates) -> Iterator[Row]:
    """Do accuracy, AUC and DiSCA rank alike, is DiSCA right where AUC is not, and does DiSCA rank sets alike?"""
    result, look = replicates.result, replicates.look
    yield replicates.apart("accuracy", "disca", ("accuracy", "DiSCA"))
    yield replicates.apart("auc_coverage", "disca", ("AUC", "DiSCA"))
    parted = partings(result)
    firm = [pair for pair in parted if pair.is_firm]
    looks = [all_of([look(pair.share), pair.look]) for pair in parted]
    every = sum(math.comb(len(result["rankings"][name]["auc_coverage"]), 2) for name in SETS)
    looks += [Look()] * (every - len(parted))
    fields: dict[str, Any] = {
        "of": len(parted),
        "disca": _sides(parted)["DiSCA"],
        "firm": len(firm),
    }
    fields["disca_firm"] = _sides(firm)["DiSCA"]
    yield replicates.some("auc_misleads", looks, [p.side == "DiSCA" for p in parted], fields)
    seen = [_sides_on(name, [pair for pair in firm if pair.name == name]) for name in SETS]
    contested = sum(finding.get("contested", False) for finding in result["findings"])
    fields = {"seen": "; ".join(seen), "firm": percent(FIRM, 0), "contested": contested}
    name, looks = "disca_is_right", [pair.look for pair in firm]
    leads = [disca - auc for auc, disca in (pair.covered for pair in firm)]
    yield Row(name, replicates.test, _TEXTS, looks, leads, fields, "most")
    yield _domains(replicates)


def _sides_on(name: str, pairs: Sequence[Parting]) -> str:
    """With whom coverage at risk sides on the firm pairs of a set, in words."""
    if not pairs:
        return f"{NAMES[name]}: no firm pair"
    sides, sure = _sides(pairs), sum(pair.look.refutes <= LEVEL / 2 for pair in pairs)
    fields = {"where": NAMES[name], "auc": sides["AUC"], "disca": sides["DiSCA"]}
    return PAGE.fill(PAGE.words["page"]["parting"], {**fields, "of": len(pairs), "beyond": sure})


def _domains(replicates: Replicates) -> Row:
    """Does DiSCA rank some pair of models the other way round out of domain?"""
    in_domain, out_of_domain = (replicates.result["rankings"][name]["disca"] for name in SETS)
    both = [
        (replicates.ahead("imdb", a, b), replicates.ahead("sst2", b, a))
        for a, b in permutations(in_domain, 2)
    ]
    shares = [1 - max(look.supports for look in pair) for pair in both]
    fields = {
        "tau": kendall_tau(in_domain, out_of_domain),
        "home": in_domain[0],
        "away": out_of_domain[0],
        "seen": beyond(shares),
    }
    turned = [share > 0.5 for share in shares]
    return replicates.some("domains", list(map(all_of, both)), turned, fields)


def power_at(result: Result, case: str, name: str, effect: float) -> Mapping[str, Any]:
    """What the search for a case on a set would find of a true inversion of a size."""
    by_key = {(row["name"], row["set"], row["effect"]): row for row in result["search"]["power"]}
    power: Mapping[str, Any] = by_key[case, name, effect]
    return power


def case_claims(result: Result) -> list[Claim]:
    """A claim for each case that it occurs; one that is not seen is undecided, with the power of the search."""
    rows, replicates, count = [], Replicates(result), len(result["models"])
    for case, number in CASES.items():
        if case == "tail":
            where = [
                NAMES[finding["set"]] for finding in result["findings"] if finding["name"] == "tail"
            ]
            looks = [Look(replicates.look(tail["share"]).supports) for tail in result["tails"]]
            looks += [Look()] * (len(SETS) * count * (count - 1) // 2 - len(looks))
            test = replicates.test
        else:
            seen = ((model, name) for model in result["models"] for name in SETS)
            seen = (
                (model, name)
                for model, name in seen
                if any(row["name"] == case for row in model[name]["cases"])
            )
            where = [f"{model['name']} on {NAMES[name]}" for model, name in seen]
            looks = [Look(row[case]["p"]) for row in result["search"]["observed"]]
            test = f"{result['search']['chance']:,} curves of chance"
        fields = {
            "number": number,
            "name": case,
            "seen": ", ".join(dict.fromkeys(where)) or "not seen",
        }
        effects = [1.0] * len(where) + [-1.0] * (len(looks) - len(where))
        rows.append(Row(case, test, _TEXTS, looks, effects, fields, "any", "case"))
    return claims_from(PAGE, rows)


def _six_cases(result: Result) -> Row:
    """That all six occur. What is not beyond chance may still be there: the power says how often it would be seen."""
    claims, sure, rest = case_claims(result), [], []
    for claim in claims:
        row, title = claim.row, f"{CASES[claim.name]} ({claim.name})"
        if claim.verdict == "holds":
            sure.append(f"{title}: {claim.evidence}")
        else:
            powers = (
                f"{100 * power_at(result, claim.name, name, EFFECTS[-1])['power']:.0f} %"
                for name in SETS
            )
            short = f" (seen: {claim.evidence}; p {row.look.p:.2f} among {len(row.looks)} looks)"
            rest.append(
                f"{title} {' / '.join(powers)}{'' if claim.evidence == 'not seen' else short}"
            )
    text = f"; undecided, with the power at a true inversion of {100 * EFFECTS[-1]:.0f} points on IMDb / SST-2: "
    fields = {
        "beyond": "; ".join(sure) or "none",
        "undecided": text + ", ".join(rest) if rest else "",
    }
    test = "bootstrap and curves of chance, each case corrected for its looks"
    occur = [1.0 if claim.verdict == "holds" else -1.0 for claim in claims]
    looks = [claim.row.look for claim in claims]
    return Row("six_cases", test, _TEXTS, looks, occur, fields, "all")


def _not_always_better(models: Sequence[Trainings], replicates: Replicates) -> Iterator[Row]:
    """Newer: the transformers came after the models over words. Larger: more parameters."""
    by_family = (
        [m for m in models if m.model["family"] == family] for family in ("words", "transformer")
    )
    larger = [
        (a, b) for a, b in permutations(models, 2) if a.model["parameters"] < b.model["parameters"]
    ]
    test, _ = _test_of(models)
    for word, pairs in (("newer", list(product(*by_family))), ("larger", larger)):
        both = [(a, b, where) for a, b in pairs for where in SETS]
        looks = [replicates.apart_in_mean(a, b, where, "disca") for a, b, where in both]
        leads = [a.mean(where, "disca") - b.mean(where, "disca") for a, b, where in both]
        row = Row(word, test, _DRAWN, looks if test else [], leads, {"word": word})
        yield row._replace(words="not_always_better")


def _of_rises(models: Sequence[Trainings]) -> Iterator[Row]:
    """Who fluctuates more: sums of words, and models out of domain? The models are the sample, each the mean of its
    trainings.
    """
    rises = {
        (model.name, where): model.mean(where, "fluctuations")
        for model, where in product(models, SETS)
    }
    names = [model.name for model in models]
    sums = [name for name in names if name.endswith("-SUM")]
    rest = [name for name in names if name not in sums]
    if sums and rest:
        both = [[rises[name, "imdb"] for name in group] for group in (sums, rest)]
        many, few = (sum(values) / len(values) for values in both)
        look, test = contrast(both, (1.0, -1.0)), "Welch's t test over models"
        fields = {"many": many, "few": few}
        yield Row("sums_fluctuate", test, "models", [look], [many - few], fields)
    gaps = [rises[name, "sst2"] - rises[name, "imdb"] for name in names]
    more = sum(value > 0 for value in gaps)
    look, test = binomial(more, len(gaps), 0.5), "sign test over models"
    yield Row("more_out_of_domain", test, "models", [look], gaps, {}, "most")


def _of_names(models: Sequence[Trainings], replicates: Replicates) -> Iterator[Row]:
    """Who is first, or last, and do transformers form plateaus? What names a model is tested against each other model
    over trainings and texts, if every model has several trainings. Stand-ins for transformers say nothing of them.
    """
    newer = [model.model for model in models if model.model["family"] == "transformer"]
    bears = all(model["name"] == model["stands_for"] for model in newer)
    by_paper = {model.model["stands_for"]: model for model in models}
    for name, paper, where, sign, key in (
        ("bag_of_words_last", "BOW-SUM", "imdb", -1.0, "disca"),
        ("word_sums_lead", "W2V-SUM", "sst2", 1.0, "disca"),
        ("glove_b", "GLOVE-SUM", "imdb", -1.0, MEAN_B),
        ("bert_base_first", "BERT-BASE", "imdb", 1.0, "disca"),
    ):
        if own := by_paper.get(paper):
            row = _first(name, own, models, where, key, sign, replicates)
            yield row._replace(bears=bears or name != "bert_base_first")
    cases = [model[where]["cases"] for model, where in product(newer, SETS)]
    seen = [1.0 if "plateau" in {case["name"] for case in each} else -1.0 for each in cases]
    plateau = Row("plateau", "", "trainings", [], seen)
    for row in (*_not_always_better(models, replicates), plateau):
        yield row._replace(quantity="any", bears=bears)


def _first(
    name: str,
    own: Trainings,
    models: Sequence[Trainings],
    where: str,
    key: str,
    sign: float,
    replicates: Replicates,
) -> Row:
    """A model is first of all, or last with a negative sign, by a number in the mean over trainings."""
    test, words = _test_of(models)
    best = max(models, key=lambda model: sign * model.mean(where, key))
    others = [model for model in models if model is not own]
    leads = [sign * (own.mean(where, key) - other.mean(where, key)) for other in others]
    looks = [replicates.apart_in_mean(own, other, where, key, sign) for other in others]
    fields = {"model": own.name, "own": own.mean(where, key), "trainings": words}
    fields |= {"best": best.name, "value": best.mean(where, key)}
    return Row(name, test, _DRAWN, looks if test else [], leads, fields, "all")


FORM = 3  # raise it where the figures change: then the step is done again
_TOLERANCES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
_CURVE = {"coverage": "x", "accuracy": "y", "confidence": "thresholds"}
_FREE = {"zero": False}
_BACK = {"zero": False, "reverse": True, "nice": False}


def draw(workspace: Workspace, progress: Progress) -> None:
    """Write the figures, and the page of the comparison where reports can draw."""
    FIGURES.draw(workspace, progress)
    if "report.html" in FIGURES.files("report.html"):
        from oodometer.reports import write_report

        write_report(workspace.read_json("compare.json"), workspace / "report.html")


def _scores(result: Result, name: str) -> dict[str, Any]:
    """DiSCA by model; a model without is left out."""
    return {
        model["name"]: model[name]["disca"]
        for model in result["models"]
        if model[name]["disca"] is not None
    }


def _of_tolerances(
    result: Result, y: str, title: str, scale: Mapping[str, Any] = _FREE, **more: Any
) -> list[Panel]:
    """A panel for each set, a line for each model over the tolerances."""
    marks = {"values": [tenth / 10 for tenth in range(5, 11)], "format": ".1f"}
    across, order = (
        plain.axis("tolerance", "accuracy tolerated", _BACK, axis=marks),
        {"field": "tolerance"},
    )
    chart = plain.lines(
        across, plain.axis(y, title, scale, **more), "model", order={**order, "sort": "descending"}
    )
    panels = []
    for name in SETS:
        steps = [
            (model, row)
            for model, score in _scores(result, name).items()
            for row in score["by_tolerance"]
        ]
        rows: list[dict[str, Any]] = []
        for model, row in steps:
            if row["tolerance"] in _TOLERANCES:
                better = sum(
                    o["value"] > row["value"]
                    for _, o in steps
                    if o["tolerance"] == row["tolerance"]
                )
                rows.append(
                    {
                        "model": model,
                        "tolerance": row["tolerance"],
                        y: {**row, "rank": 1 + better}[y],
                    }
                )
        panels.append(Panel(name, NAMES[name], chart, rows))
    return panels


def _of_curves(result: Result, x: str, y: str, scale: Mapping[str, Any] = _BACK) -> list[Panel]:
    """A panel for each set, a line for each model; the points of its curve as lists, so that files stay small."""
    lines = plain.lines(plain.axis(x, x, scale), plain.axis(y, y, _FREE), "model")
    chart, panels = {"transform": [{"flatten": ["order", x, y]}], **lines}, []
    for name in SETS:
        rows = []
        for model in result["models"]:
            curve = model[name]["curve"]
            points = {field: curve[_CURVE[field]] for field in (x, y)}
            rows.append({"model": model["name"], "order": list(range(len(curve["x"]))), **points})
        panels.append(Panel(name, NAMES[name], chart, rows))
    return panels


def _of_models(result: Result, chart: Mapping[str, Any], fields: Sequence[str]) -> list[Panel]:
    """A panel for each set, a mark or bar for each model."""
    panels = []
    for name in SETS:
        scores = _scores(result, name).items()
        panels.append(
            Panel(
                name,
                NAMES[name],
                chart,
                [{"model": m, **{f: s[f] for f in fields}} for m, s in scores],
            )
        )
    return panels


_DOTS = plain.dots("model", plain.axis("a", "confidence a", _FREE))
_RISES = plain.axis("fluctuations", "rises (bars)", {"zero": True})
_BARS = plain.bars("model", _RISES, plain.axis("penalty", "penalty (marks)"))
_RANKS: Mapping[str, Any] = {"scale": {"zero": False, "reverse": True}, "axis": {"tickMinStep": 1}}
FIGURES = Figures(
    PAGE,
    {
        "figure-1-b": partial(_of_tolerances, y="b", title="confidence b"),
        "figure-2-a": partial(_of_models, chart=_DOTS, fields="a"),
        "figure-3-fluctuations": partial(
            _of_models, chart=_BARS, fields=("fluctuations", "penalty")
        ),
        "figure-4-coverage-by-accuracy": partial(_of_curves, x="accuracy", y="coverage"),
        "figure-5-coverage-by-tolerance": partial(_of_tolerances, y="coverage", title="coverage"),
        "figure-6-confidence-by-accuracy": partial(_of_curves, x="accuracy", y="confidence"),
        "figure-8-curves": partial(
            _of_curves, x="coverage", y="accuracy", scale={**_BACK, "reverse": False}
        ),
        "figure-9-accuracy-by-tolerance": partial(_of_tolerances, y="accuracy", title="accuracy"),
        "figure-16-rankings": partial(_of_tolerances, y="rank", title="rank by DiSCA", **_RANKS),
    },
)


def markdown(result: Result) -> str:
    """All tables of a result, one after the other."""
    models, work, data = result["models"], result["work"], result["settings"]["data"]
    named = [
        {**m, "place_of": "itself" if m["name"] == m["stands_for"] else m["stands_for"]}
        for m in models
    ]
    out = [
        PAGE.table(
            "models",
            named,
            sizes=" and ".join(f"{data[s]['rows']:,} of {NAMES[s]}" for s in SETS),
            cores=work["cores"],
            minutes=work["seconds"] / 60,
            processor=work["cpu_seconds"] / 60,
            threads=work["threads"],
        ),
        *(_tolerances(result, name) for name in SETS),
        PAGE.table("trainings", _of_trainings(models)),
        PAGE.table("grids", models, seen="; ".join(_grids_agree(result))),
        _rankings(result),
        _partings(result),
        PAGE.table("cases", _cases(result), result["search"]),
        _costs(result),
        claims_table(result["claims"]),
    ]
    return tables_page(out)


def _of_trainings(models: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every model that was trained more than once, with mean and spread of its numbers."""
    for model in map(Trainings, models):
        count = len(model.values(SETS[0], "disca"))
        if count > 1:
            row: dict[str, Any] = {"name": model.name, "count": count}
            for name, key in product(SETS, ("accuracy", "disca", "fluctuations", MEAN_B)):
                scale = 100 if key == "accuracy" else 1
                row[f"{name}_{key}"] = mean_and_spread([scale * v for v in model.values(name, key)])
            yield row


def _grids_agree(result: Result) -> Iterator[str]:
    """How alike the score at tolerance 0.95 ranks on each grid: the paper does not state its own; an undefined one
    counts as 0.
    """
    for name in SETS:
        scores = {model: score["by_grid"] for model, score in _scores(result, name).items()}
        first, *orders = (
            sorted(scores, key=lambda model: -(scores[model].get(grid) or 0.0))
            for grid in ("coverage", "thresholds", "samples")
        )
        if len(scores) > 1:
            tau = " and ".join(f"{kendall_tau(first, order):.2f}" for order in orders)
            yield f"{NAMES[name]} {tau}"


def _rankings(result: Result) -> str:
    """The models by each metric on each set, and the paper's."""
    orders = []
    for name in SETS:
        rankings = result["rankings"][name]
        orders += [rankings[metric] for metric in ("accuracy", "auc_coverage", "disca")]
        orders.append(list(PAGE.paper[name]))
    ranks = range(len(result["models"]))
    rows = [[str(i + 1), *(order[i] if i < len(order) else "-" for order in orders)] for i in ranks]
    return PAGE.table("rankings", rows)


def _costs(result: Result) -> str:
    models, optimal = result["models"], result["settings"]["optimal_parameters"]
    energy = sorted({model["energy"]["words"] for model in models if model["energy"] is not None})
    after = "Energy was not counted: the extra `energy` is not installed."
    if energy:
        after = f"Energy: {energy[0]}."
    return PAGE.table("costs", models, after=after, optimal_parameters=optimal)


def _tolerances(result: Result, name: str) -> str:
    """Table 2a or 2b: ours, and the paper's in brackets where it has the same model."""
    tolerances, theirs = PAGE.paper["tolerances"], PAGE.paper[name]
    rows, scores = [], _scores(result, name)
    for model in sorted(scores, key=lambda m: -float(scores[m]["value"])):
        score = {round(row["tolerance"], 2): row for row in scores[model]["by_tolerance"]}
        row = [model]
        for tolerance, printed in zip(
            tolerances, theirs.get(model, [None] * len(tolerances)), strict=True
        ):
            text = f"{score[tolerance]['value']:.2f}" + (
                "" if printed is None else f" ({printed:.2f})"
            )
            row.append(text if score[tolerance]["never_below"] else f"**{text}**")
        rows.append(row)
    ours = {model["name"] for model in result["models"]}
    alone = "; ".join(
        f"{name} {row[0]:.2f} to {row[-1]:.2f}" for name, row in theirs.items() if name not in ours
    )
    return PAGE.table(
        "tolerances",
        rows,
        part="a" if name == "imdb" else "b",
        where=NAMES[name],
        heads=" | ".join(f"<{t:.2f}" for t in tolerances),
        alone=f"In the paper alone: {alone}" if alone else "",
    )


def _partings(result: Result) -> str:
    """Pairs on which AUC and DiSCA part firmly, with whom the third measure sides, and what that is worth, in words."""
    parted = partings(result)
    firm, seen = [pair for pair in parted if pair.is_firm], []
    for name in SETS:
        set_pairs = [pair for pair in parted if pair.name == name]
        counts = ", ".join(f"{side} on {count}" for side, count in _sides(set_pairs).items())
        seen.append(f"{NAMES[name]}: {len(set_pairs)} pairs, with {counts}")
    sides = _sides(firm)
    verdict = next(
        (claim["verdict"] for claim in result["claims"] if claim["name"] == "disca_is_right"),
        "undecided",
    )
    return PAGE.table(
        "partings",
        [(pair, NAMES[pair.name]) for pair in firm],
        of=len(parted),
        firm=len(firm),
        seen="; ".join(seen),
        auc=sides["AUC"],
        disca=sides["DiSCA"],
        verdict="is undecided" if verdict == "undecided" else verdict,
        none=", and no firm pair here speaks for it." if firm and not sides["DiSCA"] else ".",
    )


def _cases(result: Result) -> Iterator[list[str]]:
    """Each failure case: where it is seen, whether that is beyond chance, and how often a true one would be seen."""
    for claim in case_claims(result):
        row = [
            claim.claim,
            claim.evidence,
            f"{claim.row.look.p:.3f} ({len(claim.row.looks)})",
            claim.verdict,
        ]
        for power in (
            power_at(result, claim.name, name, effect) for name in SETS for effect in EFFECTS
        ):
            small = "*" if power["rise"] <= LEAST.get(claim.name, 0.0) else ""
            lowest, highest = (100 * end(power["by_model"]) for end in (min, max))
            row.append(f"{100 * power['power']:.0f}{small} ({lowest:.0f} to {highest:.0f})")
        yield row
