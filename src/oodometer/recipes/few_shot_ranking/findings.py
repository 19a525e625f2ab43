"""Findings: each claim of the paper, tested over suites of models trained with different seeds; tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import stdev
from typing import Any

from ...reports.drawings import Panel, axis
from ..kit.claims import Claim, Look, Row, claims_from, claims_table, contrast, positive
from ..kit.publish import Figures
from ..kit.tables import Page, dash, tables_page
from .lineup import SUITES
from .study import METHODS, POWERED

STRONG = 0.8
"""Few-shot accuracy from which on ACC is called strong; the paper gives no bound, its own lowest is 81.6 %."""
NEAR = 0.05
"""Gap of the true accuracies up to which a pair is near; the paper's example is 95 and 98 %."""
CHANCE = 0.1
"""Distance from 50 % up to which a method is called near chance; the paper's own are 50.5 to 58.0 %."""
_EXTREME = 0.05
_SEEDS = "t test over suites (seeds)"
_STRATA = "Welch's t test over suites, each set a stratum of its own"
_MSGS, _PAIRS = ("MORPH", "VERB", "ADJECT"), ("PAWS", "SUB", "CON")
_EVERY, _HANS = (*_MSGS, *_PAIRS), ("SUB", "CON")
_WINDOW = {"MORPH": "irreg", "VERB": "verb", "ADJECT": "adj"}
_OWN = {"PAWS": "swap-avg", "SUB": "index-diff", "CON": "const"}
_GENERAL = ("max-diff", "sum-diff", "index-diff", "first-tok")
_ACROSS = "architectures"
PAGE = Page.beside(__file__)
Record = Mapping[str, Any]
Shown = Mapping[str, Mapping[str, str]]
"""Of each set its methods, by the words before the number of each."""


class FewShotAccuracies:
    """Few-shot accuracies of a result by suite, group and seed."""

    def __init__(self, result: Record) -> None:
        self._rows = {(row["suite"], row["group"], row["seed"]): row for row in result["rows"]}
        self.seeds = sorted({row["seed"] for row in result["rows"]})

    def rows(self, suite: str, group: str = "inoculated") -> list[Record]:
        """The rows of a group, one a seed; seeds whose models are all equally good have none."""
        return [
            self._rows[suite, group, seed]
            for seed in self.seeds
            if (suite, group, seed) in self._rows
        ]

    def means(
        self,
        suites: Sequence[str],
        method: str,
        less: str = "",
        group: str = "inoculated",
        beside: Sequence[str] = (),
    ) -> list[float]:
        """For every seed a method, less another one: the mean over the suites that have both, and all ``beside``."""
        means = []
        for seed in self.seeds:
            rows = [
                self._rows.get((suite, group, seed), {}).get("few_shot", {}) for suite in suites
            ]
            rows = [row for row in rows if {method, less or method, *beside} <= row.keys()]
            values = [row[method] - (row[less] if less else 0.0) for row in rows]
            means += [sum(values) / len(values)] if values else []
        return means

    def over(
        self, suites: Sequence[str], method: str, less: str, group: str = "inoculated"
    ) -> Look:
        """A method is better than another in the mean over some sets. Suites of one seed are independent, but for those
        of HANS, which rank the same models: their mean is one.
        """
        strata = [[suite] for suite in suites if suite not in _HANS] + [
            [suite for suite in suites if suite in _HANS]
        ]
        found = [
            (own, len(some)) for some in strata if (own := self.means(some, method, less, group))
        ]
        return contrast(
            [own for own, _ in found], [many / sum(n for _, n in found) for _, many in found]
        )

    def words(self, shown: Shown, group: str = "inoculated") -> str:
        """The mean of each method over the seeds that have all those of a set, in percent with its spread."""
        words = []
        for suite, own in shown.items():
            each = [
                text + percent(self.means([suite], m, "", group, [*own.values()]))
                for text, m in own.items()
            ]
            words.append(f"{suite} {', '.join(each)}")
        return "; ".join(words)


def percent(values: Sequence[float]) -> str:
    """Mean and standard deviation in percent."""
    if not values:
        return "-"
    return f"{100 * (sum(values) / len(values)):.1f}" + (
        f" ± {100 * stdev(values):.1f}" if len(values) > 1 else ""
    )


def claims_of(result: Record) -> list[Claim]:
    """Every claim of the protocol, in its order, and those of this recipe, each by t tests over seeds."""
    table, acc = FewShotAccuracies(result), str(result["baseline"])
    rows = [*_of_sets(table, acc), *_across_architectures(table, acc), _of_near_pairs(table, acc)]
    for method in result["combined"]:  # rankings that the paper does not have
        name = (
            method.lower().replace("+", "").replace("-", "_").replace("  ", "_").replace(" ", "_")
        )
        fields = {
            "method": method,
            "seen": table.words({suite: {"": method, "ACC ": acc} for suite in _EVERY}),
        }
        look = table.over(_EVERY, method, acc)
        rows.append(Row(f"combined_{name}", _STRATA, [look], fields, words="combined"))
    return claims_from(PAGE, rows)


def _tested(
    name: str,
    samples: Sequence[Sequence[float]],
    test: str = _SEEDS,
    words: str = "",
    **fields: Any,
) -> Row:
    """The mean behind each of some samples is above 0."""
    return Row(name, test, list(map(positive, samples)), fields, words=words)


def _of_sets(table: FewShotAccuracies, acc: str) -> Iterator[Row]:
    """(1) to (6): what is so in each of some sets."""

    def ranks(
        name: str, pairs: Sequence[Sequence[str]], shown: Shown, words: str = "", **fields: Any
    ) -> Row:
        """Each pair is a set with its better and worse method."""
        samples = [table.means([suite], better, worse) for suite, better, worse in pairs]
        better = sum(sum(sample) > 0 for sample in samples)
        return _tested(
            name,
            samples,
            _SEEDS,
            words,
            seen=table.words(shown),
            better=better,
            of=len(samples),
            **fields,
        )

    def own(
        method: str, suites: Sequence[str] = _PAIRS, *, better: bool = False
    ) -> tuple[Any, Shown]:
        """The factors made for some sets against ACC."""
        named = {suite: f"{method}/{_OWN[suite]}" for suite in suites}
        pairs = [
            (suite, *((factor, acc) if better else (acc, factor)))
            for suite, factor in named.items()
        ]
        return pairs, {
            suite: {f"{_OWN[suite]} ": factor, "ACC ": acc} for suite, factor in named.items()
        }

    samples = [[value - STRONG for value in table.means([suite], acc)] for suite in _EVERY]
    yield _tested(
        "acc_strong",
        samples,
        bound=STRONG,
        seen=table.words({suite: {"": acc} for suite in _EVERY}),
    )
    for suite, window in _WINDOW.items():
        lime = f"lime/{window}"
        shown = {suite: {f"{lime} ": lime, f"{acc} ": acc}}
        yield ranks(
            f"lime_window_{suite.lower()}", [(suite, lime, acc)], shown, "lime_window", suite=suite
        )
    for first, second in (("token-ig", "shap"), ("shap", "lime")):
        pairs = [
            (suite, f"{second}/{window}", f"{first}/{window}") for suite, window in _WINDOW.items()
        ]
        shown = {
            suite: {f"{m} ": f"{m}/{window}" for m in (first, second)}
            for suite, window in _WINDOW.items()
        }
        yield ranks(
            f"{first.replace('-', '_')}_below_{second}",
            pairs,
            shown,
            "below",
            first=first,
            second=second,
        )
    shap = {suite: f"shap/{_WINDOW[suite]}" for suite in ("MORPH", "VERB")}
    shown = {suite: {"shap ": factor, "ACC ": acc} for suite, factor in shap.items()}
    yield ranks("shap_below_acc", [(suite, acc, factor) for suite, factor in shap.items()], shown)
    yield ranks("shap_own_factors", *own("shap", better=True))
    lime = "lime/swap-avg"
    paws = {name: value / 100 for name, value in PAGE.paper["table_2"]["PAWS"].items()}
    lead = PAGE.paper["factors"]["lime"]["PAWS"]["swap-avg"] / 100 - paws["ACC"]
    size = [positive([value - lead for value in table.means(["PAWS"], lime, acc)])]
    shown = {"PAWS": {f"{lime} ": lime, f"{acc} ": acc}}
    yield ranks("lime_swap_avg", [("PAWS", lime, acc)], shown)._replace(size=size)
    yield ranks("lime_other_factors", *own("lime", ("SUB", "CON")))
    yield ranks("ig_own_factors", *own("token-ig"))
    pairs = [
        (suite, acc, f"shap/{factor}")
        for suite in _PAIRS
        for factor in _GENERAL
        if factor != _OWN[suite]
    ]
    yield ranks("general_factors", pairs, {})
    yield ranks(
        "conf_below_acc",
        [(s, acc, "CONF") for s in _EVERY],
        {suite: {"": "CONF"} for suite in _EVERY},
    )
    signed = [(sign, table.means([suite], "CONF")) for suite in _MSGS for sign in (1, -1)]
    samples = [[CHANCE - sign * (value - 0.5) for value in values] for sign, values in signed]
    seen = table.words({suite: {"": "CONF"} for suite in _MSGS})
    yield _tested("conf_near_chance", samples, f"two one-sided {_SEEDS}", bound=CHANCE, seen=seen)
    seen = table.words({"PAWS": {f"{method} ": method for method in ("CONF", "CONF reversed")}})
    below = [
        [bound - value for value in table.means(["PAWS"], "CONF")] for bound in (0.5, paws["CONF"])
    ]
    yield _tested("conf_reversed_paws", below[:1], seen=seen)._replace(size=[positive(below[1])])


def _across_architectures(table: FewShotAccuracies, acc: str) -> Iterator[Row]:
    """(7)"""
    for factor in _GENERAL:
        look = table.over(_PAIRS, f"shap/{factor}", acc, _ACROSS)
        seen = table.words(
            {suite: {"": f"shap/{factor}", "ACC ": acc} for suite in _PAIRS}, _ACROSS
        )
        name, fields = f"architectures_{factor.replace('-', '_')}", {"factor": factor, "seen": seen}
        yield Row(name, _STRATA, [look], fields, words=_ACROSS)
    shares = []
    for seed in table.seeds:
        rows = [
            row["pairwise"]
            for suite in _PAIRS
            for row in table.rows(suite, _ACROSS)
            if row["seed"] == seed
        ]
        factors = [
            p
            for row in rows
            for name, values in row.items()
            if name.startswith("shap/")
            for p in values
        ]
        plain = [p for row in rows for p in row[acc]]
        if factors and plain:
            shares.append(
                [
                    sum(not _EXTREME < p < 1 - _EXTREME for p in some) / len(some)
                    for some in (factors, plain)
                ]
            )
    ends = {
        key: percent([pair[i] for pair in shares]) for i, key in enumerate(("factors", "plain"))
    }
    yield _tested("architectures_extreme", [[a - b for a, b in shares]] if shares else [], **ends)


def _of_near_pairs(table: FewShotAccuracies, acc: str) -> Row:
    """(8)"""
    means, count = [], 0
    for seed in table.seeds:
        rows = [
            (w, row)
            for suite, w in _WINDOW.items()
            for row in table.rows(suite)
            if row["seed"] == seed
        ]
        rows = [(w, row) for w, row in rows if f"lime/{w}" in row["pairwise"]]
        near = [
            (w, row, i)
            for w, row in rows
            for i, pair in enumerate(row["pairs"])
            if pair["gap"] <= NEAR
        ]
        pairs = [
            (row["pairwise"][f"lime/{window}"][i], row["pairwise"][acc][i])
            for window, row, i in near
        ]
        count += len(pairs)
        if pairs:
            means.append([sum(values) / len(pairs) for values in zip(*pairs, strict=True)])
    seen = f"{count} pairs: {percent([a for a, _ in means])}, ACC {percent([b for _, b in means])}"
    samples = [[a - b for a, b in means]] if means else []
    return _tested("near_pairs", samples, bound=NEAR, seen=seen if means else "no such pair")


_SHOWN = {"CON": ("const", "sum-diff"), "PAWS": ("swap-avg", "swap-max-diff")}
_BINS = 10
_axis = partial(axis, scale={"domain": [0, 1]})


def _counts_drawn(result: Record) -> list[Panel]:
    """How often a pair of models is ranked rightly, as a histogram."""
    panels = []
    across = [
        row["pairwise"]
        for row in result["rows"]
        if (row["suite"], row["group"]) == ("PAWS", _ACROSS)
    ]
    for name, title in (("acc", "ACC"), ("factors", "all factors (SHAP)")):
        keys = [
            [key for key in row if (key == "ACC" if name == "acc" else key.startswith("shap/"))]
            for row in across
        ]
        values = [
            p for row, some in zip(across, keys, strict=True) for key in some for p in row[key]
        ]
        bins = [min(int(p * _BINS), _BINS - 1) for p in values]
        rows = [{"bin": (i + 0.5) / _BINS, "pairs": bins.count(i)} for i in range(_BINS)]
        up = {
            "field": "pairs",
            "type": "quantitative",
            "title": "pairs",
            "axis": {"tickMinStep": 1},
        }
        encoding = {
            "x": _axis("bin", "pairwise accuracy"),
            "y": up,
            "tooltip": [{"field": "bin"}, {"field": "pairs"}],
        }
        panels.append(
            Panel(name, title, {"mark": {"type": "bar", "width": 18}, "encoding": encoding}, rows)
        )
    return panels


def _pairs_drawn(result: Record, method: str, suites: Sequence[str]) -> list[Panel]:
    """A point for each pair, seed and factor, over the line of equality."""
    colour = {"field": "factor", "type": "nominal", "title": None, "scale": {"scheme": "tableau10"}}
    tooltip = [{"field": field} for field in ("pair", "factor", "acc", "value")]
    encoding = {
        "x": _axis("acc", "ACC"),
        "y": _axis("value", "factor"),
        "color": colour,
        "tooltip": tooltip,
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.75},
        "encoding": encoding,
    }
    line = {
        "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
        "mark": {"type": "line", "color": "#d9480f", "strokeWidth": 1},
        "encoding": {axis: {"field": axis, "type": "quantitative"} for axis in ("x", "y")},
    }
    panels = []
    for suite in suites:
        rows = [
            {"pair": f"{pair['pair']} (seed {row['seed']})", "factor": factor, "acc": x, "value": y}
            for row in result["rows"]
            if (row["suite"], row["group"]) == (suite, "inoculated")
            for factor in _SHOWN.get(suite) or next(s.own for s in SUITES if s.name == suite)
            for by in [row["pairwise"]]
            for pair, x, y in zip(
                row["pairs"], by["ACC"], by.get(f"{method}/{factor}", ()), strict=False
            )
        ]
        panels.append(Panel(suite.lower(), suite, {"layer": [line, points]}, rows))
    return panels


FIGURES = Figures(
    PAGE,
    {
        "figure-4-paws-architectures": _counts_drawn,
        "figure-5-lime-msgs": partial(_pairs_drawn, method="lime", suites=_MSGS),
        "figure-6-shap": partial(_pairs_drawn, method="shap", suites=("CON", "PAWS")),
    },
)

_BASELINES = ("ACC", "CONF", "CONF reversed", "CONF-GT", "CONF-GT reversed", "RANDOM")
_TABLES = {"shap": "Table 2", "lime": "Table 7", "token-ig": "Table 8"}
_FACTORS = ("const", "swap-max-diff", "swap-avg", "index-diff", "max-diff", "sum-diff", "first-tok")
_EXPLAINED = tuple(f"{method}/{factor}" for method in METHODS for factor in _FACTORS)


def markdown(result: Record) -> str:
    """All tables of a result, one after the other."""
    table, theirs = FewShotAccuracies(result), PAGE.paper

    def here(suite: str, method: str, group: str = "inoculated") -> str:
        """A cell: the mean over seeds, with a dagger where the paper's own test says better than ACC in all of them."""
        p = [row["p_draws"][method] for row in table.rows(suite, group) if method in row["p_draws"]]
        return percent(table.means([suite], method, "", group)) + (
            " †" if p and max(p) < 0.05 else ""
        )

    rows: list[list[str]] = []
    for suite, window in _WINDOW.items():
        methods = (*_BASELINES, *(f"{method}/{window}" for method in ("token-ig", "shap", "lime")))
        rows += [
            [suite, method, here(suite, method), dash(theirs["table_1"][suite].get(method))]
            for method in methods
        ]
    sizes = result["sizes"]
    fields = {
        "networks": ", ".join(sizes["networks"]),
        "stand_ins": "; ".join(result["stand_ins"].values()),
    }
    run = PAGE.fill(
        PAGE.words["page"]["run"], {**result, **fields, "models": len(result["models"])}
    )
    out = [run, PAGE.table("msgs", rows)]
    for method, title in _TABLES.items():
        named = [(baseline, baseline, theirs["table_2"]) for baseline in _BASELINES]
        named += [(factor, f"{method}/{factor}", theirs["factors"][method]) for factor in _FACTORS]
        rows = [
            [name, *(cell for s in _PAIRS for cell in (here(s, ours), dash(paper[s].get(name))))]
            for name, ours, paper in named
        ]
        after = (
            "Its caption names Table 3; its rows are those of Table 2." if method != "shap" else ""
        )
        out.append(PAGE.table("factors", rows, title=title, method=method, after=after))
    out += [_across(result, table, here), _of_pairs(table), *_of_models(result)]
    names = {name for row in result["rows"] for name in row["few_shot"]}
    order = [
        "ACC",
        POWERED,
        *result["combined"],
        *sorted(name for name in names if name.startswith("pool/")),
    ]
    rows = [[name, *(here(suite, name) for suite in _EVERY)] for name in order if name in names]
    out.append(PAGE.table("beyond", rows))
    return tables_page([*out, claims_table(result["claims"], PAGE.words["page"]["over"])])


def _across(result: Record, table: FewShotAccuracies, here: Callable[..., str]) -> str:
    """Table 3."""
    theirs = PAGE.paper["table_3"]
    names = {name for row in result["rows"] if row["group"] == _ACROSS for name in row["few_shot"]}
    rows = []
    for name in (*_BASELINES, *_EXPLAINED):
        if name in names:
            method, _, factor = name.rpartition("/")
            printed = dash(theirs.get(factor) if method in ("", "shap") else None)
            mean = percent(table.means(_PAIRS, name, "", _ACROSS))
            rows.append([name, mean, *(here(suite, name, _ACROSS) for suite in _PAIRS), printed])
    for guess in result["guess"]:
        label = f"GUESS, architecture {guess['model'] + 1} named best"
        printed = dash(theirs["GUESS"] if guess["model"] == 1 else None)
        rows.append([label, percent(guess["few_shot"]["by_seed"]), "-", "-", "-", printed])
    return PAGE.table("architectures", rows)


def _of_pairs(table: FewShotAccuracies) -> str:
    """Table 4."""
    by_seed, theirs, rows = table.rows("PAWS", "pairs"), PAGE.paper["table_4"], []
    for row in by_seed:
        for name in ("ACC", *_EXPLAINED):
            if name in row["pairwise"]:
                cells = [f"{100 * p:.1f}" for p in row["pairwise"][name]]
                rows.append([str(row["seed"]), name, *(cells + ["-"] * (6 - len(cells)))])
    return PAGE.table(
        "pairs",
        rows,
        models="; ".join(by_seed[0]["models"] if by_seed else ()),
        pairs=". ".join(
            f"Seed {row['seed']}: {'; '.join(p['pair'] for p in row['pairs'])}" for row in by_seed
        ),
        named=", ".join(theirs["pairs"]),
        printed="; ".join(f"{name} {values}" for name, values in theirs.items() if name != "pairs"),
    )


def _of_models(result: Record) -> Iterator[str]:
    """Tables 5, 6 and 9."""
    theirs, sizes, doses, others = PAGE.paper, result["sizes"], [], []
    for model in result["models"]:
        family = model["family"]
        accuracy, even = (
            {k: percent(v["by_seed"]) for k, v in model[key].items()}
            for key in ("accuracy", "balanced")
        )
        if family in _MSGS:
            shares = (
                ", ".join(f"{name} {100 * share:g} %" for name, share in model["shares"].items())
                or "none"
            )
            shares += (
                f"; weights {model['share']['mean']:.2f} of the way" if "share" in model else ""
            )
            printed = dash(theirs["table_5"][family].get(model["label"]))
            doses.append(
                [family, model["label"], shares, accuracy["in-domain"], accuracy[family], printed]
            )
        else:
            far = "; ".join(
                f"{name} {accuracy[name]} ({even[name]})"
                for name in accuracy
                if name != "in-domain"
            )
            further = (
                [str(model["further"]), f"{100 * model['mixture']:g} %"]
                if model["further"]
                else ["-", "-"]
            )
            about = [model["label"], model["network"], str(model["steps"]), *further]
            others.append([*about, accuracy["in-domain"], far])
    yield PAGE.table("doses", doses)

    def rates(training: str, by_family: str) -> str:
        """A learning rate, and the families that have another."""
        other = ", ".join(f"{rate:g} in {name}" for name, rate in sizes[by_family].items())
        return f"{sizes[training]['learning_rate']:g}" + (f" ({other})" if other else "")

    fields = {
        "rates": rates("training", "rates"),
        "further_rates": rates("further", "further_rates"),
    }
    fields["hans"] = ", ".join(f"{name} {a}/{b}" for name, a, b in theirs["table_6"]["hans"])
    fields["paws"] = ", ".join(f"{name} {a}" for name, a in theirs["table_6"]["paws"])
    yield PAGE.table("models", others, **{**sizes, **fields})
    rows = []
    for study in result["sets"]:
        counted = ("set", "seed", "rows", "judged", "pool", "absent")
        counts = ", ".join(
            f"{name} {count}" for name, count in study.items() if name not in counted
        )
        absent = (
            ", ".join(f"{name} {count}" for name, count in study["absent"].items() if count)
            or "none"
        )
        rows.append((study, theirs["table_9"][study["set"]], counts, absent))
    yield PAGE.table("sets", rows)
