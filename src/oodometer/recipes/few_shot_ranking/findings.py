"""Findings: each claim of the paper, tested over suites of models trained with different seeds; tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...reports.drawings import Drawing, Panel
from ..kit.claims import Claim, claims_table, on_all, positive
from ..kit.publish import Figures
from ..kit.tables import dash, paper_tables, section, tables_page
from .data import METHODS
from .lineup import SUITES
from .study import POWERED

STRONG = 0.8
"""Few-shot accuracy from which on ACC is called strong; the paper gives no bound, its own lowest is 81.6 %."""
NEAR = 0.05
"""Gap of the true accuracies up to which a pair is near; the paper's example is 95 and 98 %."""
CHANCE = 0.1
"""Distance from 50 % up to which a method is called near chance; the paper's own are 50.5 to 58.0 %."""
_EXTREME = 0.05
_SEEDS = "t test over suites (seeds)"
_ONE_SEED = "t test over the three sets of one seed"
_MSGS, _PAIRS = ("MORPH", "VERB", "ADJECT"), ("PAWS", "SUB", "CON")
_EVERY = (*_MSGS, *_PAIRS)
_WINDOW = {"MORPH": "irreg", "VERB": "verb", "ADJECT": "adj"}
_OWN = {"PAWS": "swap-avg", "SUB": "index-diff", "CON": "const"}
_GENERAL = ("max-diff", "sum-diff", "index-diff", "first-tok")
Found = Mapping[str, Any]


class Looker:
    """Few-shot accuracies by suite, group and seed."""

    def __init__(self, result: Found) -> None:
        self.baseline: str = result["baseline"]
        self._rows = {(row["suite"], row["group"], row["seed"]): row for row in result["rows"]}
        self.seeds = sorted({row["seed"] for row in result["rows"]})

    def rows(self, suite: str, group: str = "inoculated") -> list[Found]:
        """The rows of a group, one a seed; seeds whose models are all equally good have none."""
        return [self._rows[suite, group, seed] for seed in self.seeds if (suite, group, seed) in self._rows]

    def value(self, suite: str, seed: int, method: str, group: str = "inoculated") -> float | None:
        """Few-shot accuracy of a method."""
        row = self._rows.get((suite, group, seed))
        return None if row is None else row["few_shot"].get(method)

    def values(self, suite: str, method: str, group: str = "inoculated") -> list[float]:
        """Of every seed that has one."""
        return [one for seed in self.seeds if (one := self.value(suite, seed, method, group)) is not None]

    def apart(self, suites: Sequence[str], first: str, second: str, group: str = "inoculated") -> list[float]:
        """One method less another for every seed: the mean over the suites that have both."""
        out = []
        for seed in self.seeds:
            pairs = [(self.value(one, seed, first, group), self.value(one, seed, second, group)) for one in suites]
            known = [a - b for a, b in pairs if a is not None and b is not None]
            out += [sum(known) / len(known)] if known else []
        return out

    def beside(self, methods: Mapping[str, tuple[str, str]], group: str = "inoculated") -> str:
        """For each suite a method, with the words before its number, and the baseline."""
        return self.told({suite: {words: one, "ACC ": self.baseline} for suite, (words, one) in methods.items()}, group)

    def told(self, methods: Mapping[str, Mapping[str, str]], group: str = "inoculated") -> str:
        """For each suite its methods, with the words before the mean of each over seeds, in percent with its spread."""
        return "; ".join(
            f"{suite} " + ", ".join(f"{words}{percent(self.values(suite, one, group))}" for words, one in said.items())
            for suite, said in methods.items()
        )


def percent(values: Sequence[float]) -> str:
    """Mean and standard deviation in percent.

    >>> percent([0.5, 0.75]), percent([0.5]), percent([])
    ('62.5 ± 17.7', '50.0', '-')
    """
    if not values:
        return "-"
    mean = sum(values) / len(values)
    if len(values) < 2:
        return f"{100 * mean:.1f}"
    sd = (sum((one - mean) ** 2 for one in values) / (len(values) - 1)) ** 0.5
    return f"{100 * mean:.1f} ± {100 * sd:.1f}"


def claims_of(result: Found) -> list[Claim]:
    """Every claim of the protocol, in its order, and those of this recipe."""
    look = Looker(result)
    claims = (_of_baseline(look), _of_factors(look), _across_architectures(look), _of_near_pairs(look))
    return [*(one for some in claims for one in some), *_beyond_the_paper(look, result["combined"])]


def _of_baseline(look: Looker) -> Iterator[Claim]:
    """(1)"""
    looks = [positive([one - STRONG for one in look.values(suite, look.baseline)]) for suite in _EVERY]
    claim = f"accuracy on ten examples is strong: it ranks more than {100 * STRONG:.0f} % of pairs rightly in every set"
    yield on_all("acc_strong", claim, look.told({s: {"": look.baseline} for s in _EVERY}), _SEEDS, looks)


def _of_factors(look: Looker) -> Iterator[Claim]:
    """(2) to (6)"""
    acc = look.baseline
    for suite, window in _WINDOW.items():
        claim, one = f"LIME's window factor ranks better than ACC on {suite}", f"lime/{window}"
        text = look.told({suite: {f"{one} ": one, f"{acc} ": acc}})
        looks = [positive(look.apart([suite], one, acc))]
        yield on_all(f"lime_window_{suite.lower()}", claim, text, _SEEDS, looks)
    for first, second in (("token-ig", "shap"), ("shap", "lime")):
        gaps = [look.apart([suite], f"{second}/{one}", f"{first}/{one}") for suite, one in _WINDOW.items()]
        text = look.told({s: {f"{m} ": f"{m}/{one}" for m in (first, second)} for s, one in _WINDOW.items()})
        test, looks = _SEEDS, [positive(one) for one in gaps]
        if not all(len(one) > 1 for one in gaps):  # explained for one seed alone: the sets are what there is several of
            test, looks = _ONE_SEED, _of_one_seed(gaps)
        name = f"{first.replace('-', '_')}_below_{second}"
        yield on_all(name, f"{first} ranks worse than {second} on MSGS", text, test, looks)
    shap = {suite: f"shap/{_WINDOW[suite]}" for suite in ("MORPH", "VERB")}
    looks = [positive(look.apart([suite], acc, one)) for suite, one in shap.items()]
    text = look.beside({suite: ("shap ", one) for suite, one in shap.items()})
    yield on_all("shap_below_acc", "SHAP's window factor ranks worse than ACC on MORPH and VERB", text, _SEEDS, looks)

    def own(method: str, sign: float, suites: Sequence[str] = _PAIRS) -> tuple[str, list[list[float]]]:
        """What the factors made for some sets reach, and what they are above (below) ACC."""
        methods = {suite: f"{method}/{_OWN[suite]}" for suite in suites}
        gaps = [look.apart([s], *((one, acc) if sign > 0 else (acc, one))) for s, one in methods.items()]
        return look.beside({suite: (f"{_OWN[suite]} ", one) for suite, one in methods.items()}), gaps

    text, gaps = own("shap", 1)
    claim = "with SHAP the factors made for a set rank better than ACC (SWAP-AVG, INDEX-DIFF, CONST)"
    yield on_all("shap_own_factors", claim, text, _SEEDS, [positive(one) for one in gaps])
    one = "lime/swap-avg"
    text, looks = look.told({"PAWS": {f"{one} ": one, f"{acc} ": acc}}), [positive(look.apart(["PAWS"], one, acc))]
    yield on_all("lime_swap_avg", "with LIME SWAP-AVG ranks better than ACC on PAWS", text, _SEEDS, looks)
    text, gaps = own("lime", -1, ("SUB", "CON"))
    claim = "with LIME INDEX-DIFF (SUB) and CONST (CON) rank worse than ACC"
    yield on_all("lime_other_factors", claim, text, _SEEDS, [positive(one) for one in gaps])
    text, gaps = own("token-ig", -1)
    claim = "with token IG the factors made for a set rank worse than ACC"
    yield on_all("ig_own_factors", claim, text, _ONE_SEED, _of_one_seed(gaps))
    named = [(suite, one) for suite in _PAIRS for one in _GENERAL if one != _OWN[suite]]
    gaps = [look.apart([suite], acc, f"shap/{one}") for suite, one in named]
    claim = "with SHAP every general factor ranks worse than ACC where it was not made for the set"
    text = f"worse in {sum(sum(one) > 0 for one in gaps)} of {len(gaps)}, mean over seeds"
    yield on_all("general_factors", claim, text, _SEEDS, [positive(one) for one in gaps])
    looks = [positive(look.apart([suite], acc, "CONF")) for suite in _EVERY]
    text = look.told({suite: {"": "CONF"} for suite in _EVERY})
    yield on_all("conf_below_acc", "CONF ranks worse than ACC in every set", text, _SEEDS, looks)
    away = [[sign * (one - 0.5) for one in look.values(suite, "CONF")] for suite in _MSGS for sign in (1, -1)]
    looks, text = (
        [positive([CHANCE - one for one in some]) for some in away],
        look.told({s: {"": "CONF"} for s in _MSGS}),
    )
    claim = f"CONF is near chance on MSGS (within {100 * CHANCE:.0f} points of 50 %)"
    yield on_all("conf_near_chance", claim, text, f"two one-sided {_SEEDS}", looks)
    looks = [positive([0.5 - one for one in look.values("PAWS", "CONF")])]
    text = look.told({"PAWS": {f"{one} ": one for one in ("CONF", "CONF reversed")}})
    claim = "CONF on PAWS is below chance: the surer model is the worse one"
    yield on_all("conf_reversed_paws", claim, text, _SEEDS, looks)


def _of_one_seed(gaps: Sequence[Sequence[float]]) -> list[Any]:
    """A look over the sets, of which one seed was explained."""
    firsts = [one[0] for one in gaps if one]
    return [positive(firsts)] if len(firsts) > 1 else []


def _across_architectures(look: Looker) -> Iterator[Claim]:
    """(7)"""
    group = "architectures"
    for factor in _GENERAL:
        gaps = look.apart(_PAIRS, f"shap/{factor}", look.baseline, group)
        text = look.beside(dict.fromkeys(_PAIRS, ("", f"shap/{factor}")), group)
        claim = f"across architectures {factor} with SHAP ranks better than ACC, pooled over PAWS, SUB and CON"
        name = f"architectures_{factor.replace('-', '_')}"
        yield on_all(name, claim, text, _SEEDS, [positive(gaps)] if gaps else [])
    shares = []
    for seed in look.seeds:
        found = [row for suite in _PAIRS for row in look.rows(suite, group) if row["seed"] == seed]
        factors = [p for row in found for name, of in row["pairwise"].items() if name.startswith("shap/") for p in of]
        plain = [p for row in found for p in row["pairwise"][look.baseline]]
        if factors and plain:
            extreme = (sum(not _EXTREME < one < 1 - _EXTREME for one in some) / len(some) for some in (factors, plain))
            shares.append(tuple(extreme))
    text = f"factors {percent([a for a, _ in shares])}, ACC {percent([b for _, b in shares])} of the pairs"
    claim = "across architectures factors decide a pair in nearly all draws (at most 5 or at least 95 %) more often "
    looks = [positive([a - b for a, b in shares])] if shares else []
    yield on_all("architectures_extreme", f"{claim}than ACC", text, _SEEDS, looks)


def _of_near_pairs(look: Looker) -> Iterator[Claim]:
    """(8)"""
    means, many = [], 0
    for seed in look.seeds:
        found = [
            (row["pairwise"][f"lime/{window}"][place], row["pairwise"][look.baseline][place])
            for suite, window in _WINDOW.items()
            for row in look.rows(suite)
            for place, pair in enumerate(row["pairs"])
            if row["seed"] == seed and pair["gap"] <= NEAR
        ]
        many += len(found)
        if found:
            means.append([sum(some) / len(found) for some in zip(*found, strict=True)])
    claim = f"where two models of MSGS are within {100 * NEAR:.0f} points, LIME's window factor ranks better than ACC"
    text = f"{many} pairs: {percent([a for a, _ in means])}, ACC {percent([b for _, b in means])}"
    looks = [positive([a - b for a, b in means])] if means else []
    yield on_all("near_pairs", claim, text if means else "no such pair", _SEEDS, looks)


def _beyond_the_paper(look: Looker, combined: Sequence[str]) -> Iterator[Claim]:
    """Rankings that the paper does not have; their claims are this recipe's own."""
    for method in combined:
        gaps = look.apart(_EVERY, method, look.baseline)
        name = method.lower().replace("+", "").replace("-", "_").replace("  ", "_").replace(" ", "_")
        claim = f"not the paper's: {method} ranks better than ACC, mean over the six sets"
        text = look.beside(dict.fromkeys(_EVERY, ("", method)))
        yield on_all(f"combined_{name}", claim, text, _SEEDS, [positive(gaps)] if gaps else [])


# ------------------------------------------------------------------ figures

_BY_PAIR = {"figure-5-lime-msgs": ("lime", _MSGS), "figure-6-shap": ("shap", ("CON", "PAWS"))}
_SHOWN = {"CON": ("const", "sum-diff"), "PAWS": ("swap-avg", "swap-max-diff")}
_SPREAD = "figure-4-paws-architectures"
_BINS = 10


def drawings(result: Found) -> list[Drawing]:
    """Figures 4 to 6."""
    panels = []
    for name, title in (("acc", "ACC"), ("factors", "all factors (SHAP)")):
        values = [
            one
            for row in result["rows"]
            if (row["suite"], row["group"]) == ("PAWS", "architectures")
            for method, found in row["pairwise"].items()
            if (method == "ACC" if name == "acc" else method.startswith("shap/"))
            for one in found
        ]
        places = [min(int(one * _BINS), _BINS - 1) for one in values]
        rows = [{"bin": (place + 0.5) / _BINS, "pairs": places.count(place)} for place in range(_BINS)]
        chart = {
            "mark": {"type": "bar", "width": 18},
            "encoding": {
                "x": _axis("bin", "pairwise accuracy"),
                "y": {"field": "pairs", "type": "quantitative", "title": "pairs", "axis": {"tickMinStep": 1}},
                "tooltip": [{"field": "bin"}, {"field": "pairs"}],
            },
        }
        panels.append(Panel(name, title, chart, rows))
    caption = "PAWS, models of different networks, SHAP, every pair and seed: how many pairs lie where."
    out = [Drawing(_SPREAD, "Figure 4: pairwise accuracies across architectures", caption, panels)]
    for name, (method, suites) in _BY_PAIR.items():
        panels = [Panel(one.lower(), one, _points(), _pairs_drawn(result["rows"], method, one)) for one in suites]
        title = f"Figure {name[7]}: pairwise accuracy of factors against ACC, {method}"
        caption = "A point a pair and seed, inoculated models; above the line the factor is right more often than ACC."
        out.append(Drawing(name, title, caption, panels, width=280, height=260, columns=3))
    return out


def _pairs_drawn(rows: Sequence[Found], method: str, suite: str) -> list[dict[str, Any]]:
    """A point for each pair, seed and factor."""
    return [
        {"pair": f"{pair['pair']} (seed {row['seed']})", "factor": factor, "acc": x, "value": y}
        for row in rows
        if (row["suite"], row["group"]) == (suite, "inoculated")
        for factor in _SHOWN.get(suite) or next(one.own for one in SUITES if one.name == suite)
        for pair, x, y in zip(
            row["pairs"], row["pairwise"]["ACC"], row["pairwise"].get(f"{method}/{factor}", ()), strict=False
        )
    ]


def _axis(field: str, title: str) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title, "scale": {"domain": [0, 1]}}


def _points() -> dict[str, Any]:
    """Points of pairs over the line of equality."""
    colour = {"field": "factor", "type": "nominal", "title": None, "scale": {"scheme": "tableau10"}}
    tooltip = [{"field": one} for one in ("pair", "factor", "acc", "value")]
    point = {
        "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.75},
        "encoding": {"x": _axis("acc", "ACC"), "y": _axis("value", "factor"), "color": colour, "tooltip": tooltip},
    }
    line = {
        "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
        "mark": {"type": "line", "color": "#d9480f", "strokeWidth": 1},
        "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}},
    }
    return {"layer": [line, point]}


FIGURES = Figures(
    "Few-shot ranking: figures",
    "Pairs of models as Singhal et al. (2022) draw them; numbers and claims are in result.md",
    (_SPREAD, *_BY_PAIR),
    drawings,
)

# ------------------------------------------------------------------ tables

PAPER = "few_shot_ranking"
_OVER = "The unit is the suite: models trained anew, other rows and another pool with each seed, a t test over them. "
_OVER += "Draws of ten examples from one pool are no replication; the paper's own test over them stands in the tables "
_OVER += "as a dagger."
_BASELINES = ("ACC", "CONF", "CONF reversed", "CONF-GT", "CONF-GT reversed", "RANDOM")
_TABLES = {"shap": "Table 2", "lime": "Table 7", "token-ig": "Table 8"}
_FACTORS = ("const", "swap-max-diff", "swap-avg", "index-diff", "max-diff", "sum-diff", "first-tok")


def markdown(result: Found) -> str:
    """All tables of a result, one after the other."""
    look, theirs = Looker(result), paper_tables(PAPER)

    def here(suite: str, method: str, group: str = "inoculated") -> str:
        """A cell: the mean over seeds, with a dagger where the paper's own test says better than ACC in all of them."""
        p = [row["p_draws"][method] for row in look.rows(suite, group) if method in row["p_draws"]]
        return percent(look.values(suite, method, group)) + (" †" if p and max(p) < 0.05 else "")

    rows: list[list[str]] = []
    for suite, window in _WINDOW.items():
        methods = (*_BASELINES, *(f"{one}/{window}" for one in ("token-ig", "shap", "lime")))
        rows += [[suite, one, here(suite, one), dash(theirs["table_1"][suite].get(one))] for one in methods]
    words = "**Table 1: few-shot accuracy on MSGS**, inoculated models, in percent."
    out = [_about(result), section(words, "set | method | here | paper", rows)]
    for method, title in _TABLES.items():
        named = [(one, one, theirs["table_2"]) for one in _BASELINES]
        named += [(one, f"{method}/{one}", theirs["factors"][method]) for one in _FACTORS]
        rows = [
            [name, *(cell for s in _PAIRS for cell in (here(s, ours), dash(paper[s].get(name))))]
            for name, ours, paper in named
        ]
        words = f"**{title}: few-shot accuracy on PAWS and HANS**, inoculated models, {method}, in percent."
        after = "Its caption names Table 3; its rows are those of Table 2." if method != "shap" else ""
        out.append(section(words, "method | PAWS | paper | SUB | paper | CON | paper", rows, after))
    known = {name for row in result["rows"] for name in row["few_shot"]}
    names = ["ACC", POWERED, *result["combined"], *sorted(name for name in known if name.startswith("pool/"))]
    words = "**Beyond the paper**, inoculated models: accuracy with the unlabelled pool (PPI++), label-free evidence "
    words += "of the pool alone, and combinations in which labels come first (the paper's test over draws as a dagger)."
    learnt, after = result["learnt"], ""
    if learnt:
        means = {name: sum(one["weights"][name] for one in learnt) / len(learnt) for name in learnt[0]["weights"]}
        after = "`learnt`: standardised evidence, its weights fitted on the other sets of the seed; mean weights: "
        after += ", ".join(f"{name} {mean:.2f}" for name, mean in means.items())
    rows = [[name, *(here(one, name) for one in _EVERY)] for name in names if name in known]
    beyond = section(words, ["method", *_EVERY], rows, after)
    # Every pair of the first seed, ACC beside the factors made for the set
    rows = []
    for row in result["rows"]:
        if row["group"] == "inoculated" and row["seed"] == 0:
            own = next(suite.own[0] for suite in SUITES if suite.name == row["suite"])
            pairwise = [row["pairwise"].get(name) for name in ("ACC", *(f"{method}/{own}" for method in METHODS))]
            for place, pair in enumerate(row["pairs"]):
                shown = [dash(None if one is None else 100 * one[place]) for one in pairwise]
                rows.append([row["suite"], pair["pair"], f"{100 * pair['gap']:.1f}", *shown])
    words = "**By pair**, inoculated models of the first seed, the better model first: pairwise accuracy in percent of "
    words += "ACC and of the factor made for the set."
    by_pair = section(words, ["set", "pair", "gap", "ACC", *METHODS], rows) if rows else ""
    out += [_table_3(result, look, here), _table_4(look), *_tables_of_models(result), beyond, by_pair]
    return tables_page([*out, claims_table(result["claims"], _OVER)])


def _about(result: Found) -> str:
    sizes = result["sizes"]
    return (
        f"**The run.** Scale `{result['scale']}`: {sizes['seeds']} suites (seeds) of "
        f"{len(result['models'])} models, from {', '.join(sizes['networks'])}; "
        f"{' and '.join(map(str, sizes['pool']))} examples explained a suite (the last number from there on), "
        f"LIME and KernelSHAP with {' and '.join(map(str, sizes['samples']))} texts each, token IG with "
        f"{sizes['ig_steps']} steps for the first {sizes['ig_seeds']}; {sizes['draws']} draws of {sizes['size']} "
        "examples with replacement, ties 0.5, pairs of equal accuracy left out. "
        f"{'; '.join(result['stand_ins'].values())}. ± is the standard deviation over seeds. † better than ACC by "
        "the paper's paired bootstrap over draws (p < 0.05) in every seed. A factor ranks a model lower the higher "
        "it is, always: numbers near 0 are results."
    )


def _table_3(result: Found, look: Looker, here: Callable[..., str]) -> str:
    theirs, group = paper_tables(PAPER)["table_3"], "architectures"
    known = {name for row in result["rows"] if row["group"] == group for name in row["few_shot"]}
    rows = []
    for name in (*_BASELINES, *(f"{method}/{one}" for method in METHODS for one in _FACTORS)):
        if name in known:
            values = []
            for seed in look.seeds:
                of = [v for one in _PAIRS if (v := look.value(one, seed, name, group)) is not None]
                values += [sum(of) / len(of)] if of else []
            method, _, factor = name.rpartition("/")
            printed = dash(theirs.get(factor) if method in ("", "shap") else None)
            rows.append([name, percent(values), *(here(one, name, group) for one in _PAIRS), printed])
    for one in result["guess"]:
        label = f"GUESS, architecture {one['model'] + 1} named best"
        printed = dash(theirs["GUESS"] if one["model"] == 1 else None)
        rows.append([label, percent(one["few_shot"]["by_seed"]), "-", "-", "-", printed])
    after = "The paper's SET-DEPENDENT (75.5) is the factor made for each set. `const`, `swap-avg` and `swap-max-diff` "
    after += "are there for the sets that they are made for. GUESS: one architecture is named best in every set, other "
    after += "pairs count 0.5; the paper's 72.0 is that of ELECTRA, its second."
    words = "**Table 3: across architectures**, three models a set, mean over the sets, in percent."
    return section(words, ["method", "here", *_PAIRS, "paper, pooled"], rows, after) if rows else ""


def _table_4(look: Looker) -> str:
    found, theirs = look.rows("PAWS", "pairs"), paper_tables(PAPER)["table_4"]
    if not found:
        return ""
    rows = []
    for row in found:
        for name in ("ACC", *(f"{method}/{one}" for method in METHODS for one in _FACTORS)):
            if name in row["pairwise"]:
                shown = [f"{100 * p:.1f}" for p in row["pairwise"][name]]
                rows.append([str(row["seed"]), name, *(shown + ["-"] * (6 - len(shown)))])
    words = "**Table 4: pairwise accuracy on PAWS between architectures**, in percent; models: "
    words += "; ".join(found[0]["models"]) + ". The pairs of each seed, the better model first: "
    words += ". ".join(f"Seed {row['seed']}: {'; '.join(p['pair'] for p in row['pairs'])}" for row in found) + "."
    printed = "; ".join(f"{name} {values}" for name, values in theirs.items() if name != "pairs")
    after = f"The paper (SHAP; {', '.join(theirs['pairs'])}): {printed}."
    return section(words, ["seed", "method", *(f"pair {i + 1}" for i in range(6))], rows, after)


def _tables_of_models(result: Found) -> Iterator[str]:
    """Tables 5, 6 and 9."""
    theirs, sizes = paper_tables(PAPER), result["sizes"]

    def seeds(one: Found) -> str:
        return percent(one["by_seed"])

    rows, others = [], []
    for one in result["models"]:
        accuracy, family = one["accuracy"], one["family"]
        if family in _MSGS:
            shares = ", ".join(f"{name} {100 * share:g} %" for name, share in one["shares"].items()) or "none"
            here = (seeds(accuracy["in-domain"]), seeds(accuracy[family]))
            rows.append([family, one["label"], shares, *here, dash(theirs["table_5"][family].get(one["label"]))])
        else:
            far = [name for name in accuracy if name != "in-domain"]
            told = "; ".join(f"{n} {seeds(accuracy[n])} ({seeds(one['balanced'][n])})" for n in far)
            further = [str(one["further"]), f"{100 * one['mixture']:g} %"] if one["further"] else ["-", "-"]
            near = seeds(accuracy["in-domain"])
            others.append([one["label"], one["network"], str(one["steps"]), *further, near, told])
    heads = "set | dose | share of the training rows | in-domain | out of domain | paper"
    yield section("**Table 5: accuracy of the models of MSGS**, in percent.", heads, rows)

    def rates(usual: float, by_family: Mapping[str, float]) -> str:
        """A learning rate, and the families that have another."""
        other = ", ".join(f"{rate:g} in {name}" for name, rate in by_family.items())
        return f"{usual:g} ({other})" if other else f"{usual:g}"

    usual, more, printed = sizes["training"], sizes["further"], theirs["table_6"]
    after = f"Learning rate {rates(usual['learning_rate'], sizes['rates'])}, weight decay {usual['weight_decay']:g}, "
    after += f"batches of {usual['batch_size']}; steps of target rows alone "
    after += f"{rates(more['learning_rate'], sizes['further_rates'])}. The paper: HANS-SUB/HANS-CON "
    after += f"{', '.join(f'{name} {a}/{b}' for name, a, b in printed['hans'])}; PAWS "
    after += f"{', '.join(f'{name} {a}' for name, a in printed['paws'])}; learning rate 1e-5, weight decay 0.1."
    heads = "model | network | steps | further | target rows | in-domain | out of domain (balanced)"
    yield section("**Table 6: the models of HANS and PAWS**, accuracies in percent.", heads, others, after)
    rows = []
    for one in result["sets"]:
        known = ("set", "seed", "rows", "judged", "pool", "absent")
        told = ", ".join(f"{name} {many}" for name, many in one.items() if name not in known)
        absent = ", ".join(f"{name} {many}" for name, many in one["absent"].items() if many) or "none"
        shown = [one["set"], str(one["seed"]), *(f"{one[name]:,}" for name in ("rows", "judged", "pool"))]
        rows.append([*shown, str(theirs["table_9"][one["set"]]), told, absent])
    heads = "set | seed | rows | judged | pool | rows, paper | of them | examples without a factor's words"
    yield section("**Table 9: the sets out of domain.**", heads, rows)
