"""Markdown: the result as the paper's tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...reports.drawings import Drawing, Panel
from ..kit.claims import claims_table
from ..kit.publish import Figures
from ..kit.tables import paper_tables, section, tables_page
from .findings import Looker, percent
from .lineup import SUITES
from .study import POWERED
from .work import METHODS

_BY_PAIR = {"figure-5-lime-msgs": ("lime", ("MORPH", "VERB", "ADJECT")), "figure-6-shap": ("shap", ("CON", "PAWS"))}
_SHOWN = {"CON": ("const", "sum-diff"), "PAWS": ("swap-avg", "swap-max-diff")}
_SPREAD = "figure-4-paws-architectures"
_BINS = 10


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """Figures 4 to 6."""
    rows = result["rows"]
    chart = {
        "mark": {"type": "bar", "width": 18},
        "encoding": {
            "x": _axis("bin", "pairwise accuracy"),
            "y": {"field": "pairs", "type": "quantitative", "title": "pairs", "axis": {"tickMinStep": 1}},
            "tooltip": [{"field": "bin"}, {"field": "pairs"}],
        },
    }
    panels = [Panel(name, title, chart, list(_spread_drawn(rows, name == "acc"))) for name, title in _SIDES.items()]
    caption = "PAWS, models of different networks, SHAP, every pair and seed: how many pairs lie where."
    out = [Drawing(_SPREAD, "Figure 4: pairwise accuracies across architectures", caption, panels)]
    for name, (method, suites) in _BY_PAIR.items():
        panels = [Panel(suite.lower(), suite, _points(), list(_pairs_drawn(rows, method, suite))) for suite in suites]
        title = f"Figure {name[7]}: pairwise accuracy of factors against ACC, {method}"
        caption = "A point a pair and seed, inoculated models; above the line the factor is right more often than ACC."
        out.append(Drawing(name, title, caption, panels, width=280, height=260, columns=3))
    return out


_SIDES = {"acc": "ACC", "factors": "all factors (SHAP)"}


def _spread_drawn(rows: Sequence[Mapping[str, Any]], of_baseline: bool) -> Iterator[dict[str, Any]]:
    """Pairs by their pairwise accuracy in ten bins."""
    values: list[float] = []
    for row in rows:
        if (row["suite"], row["group"]) == ("PAWS", "architectures"):
            for name, found in row["pairwise"].items():
                if name == "ACC" if of_baseline else name.startswith("shap/"):
                    values += found
    places = [min(int(one * _BINS), _BINS - 1) for one in values]
    for place in range(_BINS):
        yield {"bin": (place + 0.5) / _BINS, "pairs": places.count(place)}


def _pairs_drawn(rows: Sequence[Mapping[str, Any]], method: str, suite: str) -> Iterator[dict[str, Any]]:
    """A point for each pair, seed and factor."""
    shown = _SHOWN.get(suite) or next(one.own for one in SUITES if one.name == suite)
    for row in rows:
        if (row["suite"], row["group"]) != (suite, "inoculated"):
            continue
        for factor in shown:
            ours = row["pairwise"].get(f"{method}/{factor}", ())
            for pair, x, y in zip(row["pairs"], row["pairwise"]["ACC"], ours, strict=False):
                yield {"pair": f"{pair['pair']} (seed {row['seed']})", "factor": factor, "acc": x, "value": y}


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


PAPER = "few_shot_ranking"
_OVER = (
    "The unit is the suite: models trained anew, other rows and another pool with each seed, a t test over them. Draws "
    "of ten examples from one pool are no replication; the paper's own test over them stands in the tables as a dagger."
)
_MSGS, _PAIRS = ("MORPH", "VERB", "ADJECT"), ("PAWS", "SUB", "CON")
_BASELINES = ("ACC", "CONF", "CONF reversed", "CONF-GT", "CONF-GT reversed", "RANDOM")
_TABLES = {"shap": "Table 2", "lime": "Table 7", "token-ig": "Table 8"}
_FACTORS = ("const", "swap-max-diff", "swap-avg", "index-diff", "max-diff", "sum-diff", "first-tok")
Found = Mapping[str, Any]


def markdown(result: Found) -> str:
    """All tables of a result, one after the other."""
    look = Looker(result)
    # Every pair of the first seed, ACC beside the factors made for the set
    rows = []
    for row in result["rows"]:
        if row["group"] == "inoculated" and row["seed"] == 0:
            rows += list(_pairs_of(row))
    words = (
        "**By pair**, inoculated models of the first seed, the better model first: pairwise accuracy in percent of ACC "
    )
    words += "and of the factor made for the set."
    return tables_page(
        [
            _about(result),
            _table_1(look),
            *(_pairs_table(look, method) for method in ("shap", "lime", "token-ig")),
            _table_3(result, look),
            _table_4(look),
            _table_5(result),
            _table_6(result),
            _table_9(result),
            _beyond(result, look),
            section(words, ["set", "pair", "gap", "ACC", *METHODS], rows) if rows else "",
            claims_table(result["claims"], _OVER),
        ]
    )


def _about(result: Found) -> str:
    sizes = result["sizes"]
    text = f"**The run.** Scale `{result['scale']}`: {sizes['seeds']} suites (seeds) of "
    text += f"{len(result['models'])} models, from {', '.join(sizes['networks'])}; "
    text += f"{' and '.join(map(str, sizes['pool']))} examples explained a suite (the last number from there on), "
    text += f"LIME and KernelSHAP with {' and '.join(map(str, sizes['samples']))} texts each, token IG with "
    text += f"{sizes['ig_steps']} steps for the first {sizes['ig_seeds']}; {sizes['draws']} draws of {sizes['size']} "
    text += "examples with replacement, ties 0.5, pairs of equal accuracy left out. "
    text += "; ".join(result["stand_ins"].values()) + ". ± is the standard deviation over seeds. † better than ACC by "
    text += "the paper's paired bootstrap over draws (p < 0.05) in every seed. A factor ranks a model lower the higher "
    text += "it is, always: numbers near 0 are results."
    return text


def _cell(look: Looker, suite: str, method: str, group: str = "inoculated") -> str:
    values = look.values(suite, method, group)
    if not values:
        return "-"
    rows = [row for seed in look.seeds if (row := look.row(suite, seed, group)) is not None]
    p = [row["p_draws"][method] for row in rows if method in row["p_draws"]]
    return percent(values) + (" †" if p and max(p) < 0.05 else "")


def _printed(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _table_1(look: Looker) -> str:
    theirs = paper_tables(PAPER)["table_1"]
    rows = []
    for suite in SUITES:
        if suite.name not in _MSGS:
            continue
        for method in (*_BASELINES, *(f"{one}/{suite.own[0]}" for one in ("token-ig", "shap", "lime"))):
            rows.append([suite.name, method, _cell(look, suite.name, method), _printed(theirs[suite.name].get(method))])
    words = "**Table 1: few-shot accuracy on MSGS**, inoculated models, in percent."
    return section(words, ["set", "method", "here", "paper"], rows)


def _pairs_table(look: Looker, method: str) -> str:
    """Tables 2, 7 and 8."""
    theirs = paper_tables(PAPER)
    heads = ["method", *(cell for suite in _PAIRS for cell in (suite, "paper"))]
    rows = []
    for name in _BASELINES:
        cells = [(_cell(look, one, name), _printed(theirs["table_2"][one].get(name))) for one in _PAIRS]
        rows.append([name, *(cell for pair in cells for cell in pair)])
    for factor in _FACTORS:
        cells = [
            (_cell(look, one, f"{method}/{factor}"), _printed(theirs["factors"][method][one].get(factor)))
            for one in _PAIRS
        ]
        rows.append([factor, *(cell for pair in cells for cell in pair)])
    words = f"**{_TABLES[method]}: few-shot accuracy on PAWS and HANS**, inoculated models, {method}, in percent."
    after = "Its caption names Table 3; its rows are those of Table 2." if method != "shap" else ""
    return section(words, heads, rows, after)


def _table_3(result: Found, look: Looker) -> str:
    theirs, group = paper_tables(PAPER)["table_3"], "architectures"
    known = {name for row in result["rows"] if row["group"] == group for name in row["few_shot"]}
    names = [*_BASELINES, *(f"{method}/{one}" for method in METHODS for one in _FACTORS)]
    rows = []
    for name in [one for one in names if one in known]:
        values = []
        for seed in look.seeds:
            of = [v for one in _PAIRS if (v := look.value(one, seed, name, group)) is not None]
            values += [sum(of) / len(of)] if of else []
        method, _, factor = name.rpartition("/")
        printed = theirs.get(factor) if method in ("", "shap") else None
        rows.append([name, percent(values), *(_cell(look, one, name, group) for one in _PAIRS), _printed(printed)])
    for one in result["guess"]:
        printed = theirs["GUESS"] if one["model"] == 1 else None
        label = f"GUESS, architecture {one['model'] + 1} named best"
        rows.append([label, percent(one["few_shot"]["by_seed"]), "-", "-", "-", _printed(printed)])
    words = "**Table 3: across architectures**, three models a set, mean over the sets, in percent."
    after = (
        "The paper's SET-DEPENDENT (75.5) is the factor made for each set. `const`, `swap-avg` and `swap-max-diff` are "
    )
    after += "there for the sets that they are made for. GUESS: one architecture is named best in every set, other "
    after += "pairs count 0.5; the paper's 72.0 is that of ELECTRA, its second."
    return section(words, ["method", "here", *_PAIRS, "paper, pooled"], rows, after) if rows else ""


def _table_4(look: Looker) -> str:
    found = [row for seed in look.seeds if (row := look.row("PAWS", seed, "pairs")) is not None]
    if not found:
        return ""
    theirs = paper_tables(PAPER)["table_4"]
    names = ["ACC", *(f"{method}/{one}" for method in METHODS for one in _FACTORS)]
    rows = []
    for row in found:
        for name in [one for one in names if one in row["pairwise"]]:
            cells = [f"{100 * p:.1f}" for p in row["pairwise"][name]]
            rows.append([str(row["seed"]), name, *(cells + ["-"] * (6 - len(cells)))])
    words = "**Table 4: pairwise accuracy on PAWS between architectures**, in percent; models: "
    words += "; ".join(found[0]["models"]) + ". The pairs of each seed, the better model first: "
    words += ". ".join(f"Seed {row['seed']}: {'; '.join(p['pair'] for p in row['pairs'])}" for row in found) + "."
    printed = "; ".join(f"{name} {values}" for name, values in theirs.items() if name != "pairs")
    after = f"The paper (SHAP; {', '.join(theirs['pairs'])}): {printed}."
    return section(words, ["seed", "method", *(f"pair {i + 1}" for i in range(6))], rows, after)


def _spread(one: Found) -> str:
    return percent(one["by_seed"])


def _table_5(result: Found) -> str:
    theirs = paper_tables(PAPER)["table_5"]
    rows = []
    for one in result["models"]:
        if one["family"] in _MSGS:
            shares = ", ".join(f"{name} {100 * share:g} %" for name, share in one["shares"].items()) or "none"
            accuracy = one["accuracy"]
            told = [_spread(accuracy["in-domain"]), _spread(accuracy[one["family"]])]
            rows.append([one["family"], one["label"], shares, *told, _printed(theirs[one["family"]].get(one["label"]))])
    heads = ["set", "dose", "share of the training rows", "in-domain", "out of domain", "paper"]
    return section("**Table 5: accuracy of the models of MSGS**, in percent.", heads, rows)


def _table_6(result: Found) -> str:
    rows = []
    for one in result["models"]:
        if one["family"] not in _MSGS:
            far = [name for name in one["accuracy"] if name != "in-domain"]
            told = "; ".join(f"{n} {_spread(one['accuracy'][n])} ({_spread(one['balanced'][n])})" for n in far)
            further = [str(one["further"]), f"{100 * one['mixture']:g} %"] if one["further"] else ["-", "-"]
            near = _spread(one["accuracy"]["in-domain"])
            rows.append([one["label"], one["network"], str(one["steps"]), *further, near, told])
    theirs = paper_tables(PAPER)["table_6"]
    sizes = result["sizes"]
    usual, more = sizes["training"], sizes["further"]
    after = f"Learning rate {_rates(usual['learning_rate'], sizes['rates'])}, weight decay {usual['weight_decay']:g}, "
    after += f"batches of {usual['batch_size']}; steps of target rows alone "
    after += f"{_rates(more['learning_rate'], sizes['further_rates'])}. "
    after += "The paper: HANS-SUB/HANS-CON " + ", ".join(f"{name} {a}/{b}" for name, a, b in theirs["hans"])
    after += (
        "; PAWS " + ", ".join(f"{name} {a}" for name, a in theirs["paws"]) + "; learning rate 1e-5, weight decay 0.1."
    )
    heads = ["model", "network", "steps", "further", "target rows", "in-domain", "out of domain (balanced)"]
    return section("**Table 6: the models of HANS and PAWS**, accuracies in percent.", heads, rows, after)


def _rates(usual: float, by_family: Mapping[str, float]) -> str:
    """A learning rate, and the families that have another."""
    other = ", ".join(f"{rate:g} in {name}" for name, rate in by_family.items())
    return f"{usual:g} ({other})" if other else f"{usual:g}"


def _table_9(result: Found) -> str:
    theirs = paper_tables(PAPER)["table_9"]
    rows = []
    for one in result["sets"]:
        counts = {name: one[name] for name in one if name not in ("set", "seed", "rows", "judged", "pool", "absent")}
        told = ", ".join(f"{name} {many}" for name, many in counts.items())
        absent = ", ".join(f"{name} {many}" for name, many in one["absent"].items() if many) or "none"
        cells = [one["set"], str(one["seed"]), *(f"{one[name]:,}" for name in ("rows", "judged", "pool"))]
        rows.append([*cells, str(theirs[one["set"]]), told, absent])
    heads = ["set", "seed", "rows", "judged", "pool", "rows, paper", "of them", "examples without a factor's words"]
    return section("**Table 9: the sets out of domain.**", heads, rows)


def _beyond(result: Found, look: Looker) -> str:
    """Evidence that the paper does not have: the unlabelled pool, and combinations."""
    known = {name for row in result["rows"] for name in row["few_shot"]}
    names = ["ACC", POWERED, *result["combined"], *sorted(name for name in known if name.startswith("pool/"))]
    suites = (*_MSGS, *_PAIRS)
    rows = [[name, *(_cell(look, one, name) for one in suites)] for name in names if name in known]
    words = (
        "**Beyond the paper**, inoculated models: accuracy with the unlabelled pool (PPI++), label-free evidence of "
    )
    words += "the pool alone, and combinations in which labels come first (the paper's test over draws as a dagger)."
    names = list(result["learnt"][0]["weights"]) if result["learnt"] else []
    means = [sum(one["weights"][name] for one in result["learnt"]) / len(result["learnt"]) for name in names]
    after = "`learnt`: standardised evidence, its weights fitted on the other sets of the seed; mean weights: " * bool(
        names
    )
    after += ", ".join(f"{name} {mean:.2f}" for name, mean in zip(names, means, strict=True))
    return section(words, ["method", *suites], rows, after)


def _pairs_of(row: Found) -> Iterator[Sequence[str]]:
    own = next(suite.own[0] for suite in SUITES if suite.name == row["suite"])
    names = ["ACC", *(f"{method}/{own}" for method in METHODS)]
    for place, pair in enumerate(row["pairs"]):
        values = [row["pairwise"].get(name) for name in names]
        cells = ["-" if one is None else f"{100 * one[place]:.1f}" for one in values]
        yield [row["suite"], pair["pair"], f"{100 * pair['gap']:.1f}", *cells]
