"""Findings: each claim of the paper, tested over suites of models trained with different seeds; tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from statistics import stdev
from typing import Any

from oodometer.reports.drawings import Panel, axis

from ..kit.claims import Claim, Look, Row, all_of, claims_from, claims_table, contrast
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
_TEST = "t test over suites, Welch's over sets"
_PAWS_WORDS = 39
"""Words of a pair of PAWS, in the mean. Of twice as many subsets SHAP has none but single words and all but one."""
_MSGS, _PAIRS = ("MORPH", "VERB", "ADJECT"), ("PAWS", "SUB", "CON")
_EVERY, _HANS = (*_MSGS, *_PAIRS), ("SUB", "CON")
_WINDOW = {"MORPH": "irreg", "VERB": "verb", "ADJECT": "adj"}
_OWN = {"PAWS": "swap-avg", "SUB": "index-diff", "CON": "const"}
_GENERAL = ("max-diff", "sum-diff", "index-diff", "first-tok")
_ACROSS = "architectures"
PAGE = Page.beside(__file__)
_SUITES = "suites of models"
Record = Mapping[str, Any]
Lead = tuple[str, str, str]
"""A set, the better and the worse method; "" for none, whose accuracy is 0."""
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
        group: str = "inoculated",
        beside: Sequence[str] = (),
    ) -> list[float]:
        """For every seed a method's mean over the suites that have it, and all ``beside``."""
        means = []
        for seed in self.seeds:
            rows = [
                self._rows.get((suite, group, seed), {}).get("few_shot", {}) for suite in suites
            ]
            values = [row[method] for row in rows if {method, *beside} <= row.keys()]
            means += [sum(values) / len(values)] if values else []
        return means

    def leads(self, pairs: Sequence[Lead], group: str = "inoculated") -> list[float]:
        """For every seed the mean over the pairs that it has of what the better method is ahead of the worse one."""
        means = []
        for seed in self.seeds:
            leads = []
            for suite, better, worse in pairs:
                row = {"": 0.0, **self._rows.get((suite, group, seed), {}).get("few_shot", {})}
                if better in row and worse in row:
                    leads.append(row[better] - row[worse])
            means += [sum(leads) / len(leads)] if leads else []
        return means

    def over(self, pairs: Sequence[Lead], offset: float = 0.0, group: str = "inoculated") -> Look:
        """The mean lead over the pairs, and an offset, is above 0. Suites of one seed are independent, but for those of
        HANS, which rank the same models: their mean is one.
        """
        strata: dict[str, list[Lead]] = {}
        for pair in pairs:
            strata.setdefault("HANS" if pair[0] in _HANS else pair[0], []).append(pair)
        known = [(leads, len(p)) for p in strata.values() if (leads := self.leads(p, group))]
        return contrast(
            [[lead + offset for lead in leads] for leads, _ in known],
            [count / sum(n for _, n in known) for _, count in known],
        )

    def words(self, methods: Shown, group: str = "inoculated") -> str:
        """The mean of each method over the seeds that have all those of a set, in percent with its spread."""
        words = []
        for suite, by_text in methods.items():
            each = [
                text + percent(self.means([suite], m, group, [*by_text.values()]))
                for text, m in by_text.items()
            ]
            words.append(f"{suite} {', '.join(each)}")
        return "; ".join(words)

    def cell(self, suite: str, method: str, group: str = "inoculated") -> str:
        """The mean over seeds, with a dagger where the paper's own test says better than ACC in all of them."""
        tested = [row["p_draws"] for row in self.rows(suite, group) if method in row["p_draws"]]
        better = tested and max(row[method] for row in tested) < 0.05
        return percent(self.means([suite], method, group)) + (" †" if better else "")


def percent(values: Sequence[float]) -> str:
    """Mean and standard deviation in percent."""
    if not values:
        return "-"
    return f"{100 * (sum(values) / len(values)):.1f}" + (
        f" ± {100 * stdev(values):.1f}" if len(values) > 1 else ""
    )


def claims_of(result: Record) -> list[Claim]:
    """Every claim of the protocol, in its order, and those of this recipe, each by t tests over seeds."""
    tests = _Tests(result)
    rows = [tests.strong(), *tests.windows(), *tests.made_factors(), *tests.confidence()]
    rows += [*tests.across_architectures(), tests.near_pairs(), *tests.combined()]
    return claims_from(PAGE, rows)


def _printed(suite: str, name: str) -> float | None:
    """What the paper prints of a method, as a share."""
    method, _, factor = name.rpartition("/")
    if suite in _MSGS:
        number = PAGE.paper["table_1"][suite].get(name)
    else:
        source = PAGE.paper["factors"][method] if method else PAGE.paper["table_2"]
        number = source[suite].get(factor)
    return None if number is None else number / 100


class _Tests:
    """The claims of the protocol on few-shot accuracies."""

    def __init__(self, result: Record) -> None:
        self._table, self._acc = FewShotAccuracies(result), str(result["baseline"])
        self._combined: Sequence[str] = result["combined"]
        sizes = result["sizes"]
        samples = sizes.get("shap_samples", {}).get("paraphrase", sizes["samples"])
        self._asks_enough = samples > 2 * _PAWS_WORDS

    def _ranks(
        self,
        name: str,
        pairs: Sequence[Lead],
        methods: Shown,
        fields: Mapping[str, Any],
        words: str = "",
        bears: bool = True,
        offset: float = 0.0,
        group: str = "inoculated",
    ) -> Row:
        """In the mean over the pairs one method is ahead of another, or of minus the offset."""
        table = self._table
        leads = [table.leads([pair], group) for pair in pairs]
        effects = [sum(values) / len(values) + offset for values in leads if values]
        fields = {**fields, "seen": table.words(methods, group)}
        looks = [table.over(pairs, offset, group)] if effects else []
        return Row(name, _TEST, _SUITES, looks, effects, fields, "mean", words, None, bears)

    def _sized(self, row: Row, pairs: Sequence[Lead]) -> Row:
        """A row with the look at a lead as large as the paper's."""
        theirs = [
            [_printed(suite, name) if name else 0.0 for name in names] for suite, *names in pairs
        ]
        if not row.looks or any(None in pair for pair in theirs):
            return row
        lead = sum(float(a or 0.0) - float(b or 0.0) for a, b in theirs) / len(theirs)
        return row._replace(size=self._table.over(pairs, -lead))

    def strong(self) -> Row:
        """ACC is strong, in the mean over the sets (1)."""
        acc, pairs = self._acc, [(suite, self._acc, "") for suite in _EVERY]
        shown = {suite: {"": acc} for suite in _EVERY}
        return self._ranks("acc_strong", pairs, shown, {"bound": STRONG}, offset=-STRONG)

    def windows(self) -> Iterator[Row]:
        """Methods of attribution on the words that the models of MSGS are about (2, 3)."""
        for name, better, worse, suites in (
            ("lime_window", "lime", "", _MSGS),
            ("token_ig_below_shap", "shap", "token-ig", _MSGS),
            ("shap_below_lime", "lime", "shap", _MSGS),
            ("shap_below_acc", "", "shap", ("MORPH", "VERB")),
        ):
            pairs, methods = list[Lead](), {}
            for suite in suites:
                ahead, behind = (
                    f"{m}/{_WINDOW[suite]}" if m else self._acc for m in (better, worse)
                )
                pairs.append((suite, ahead, behind))
                methods[suite] = {f"{method.split('/')[0]} ": method for method in (ahead, behind)}
            words = "below" if "" not in (better, worse) else name
            fields = {"first": worse, "second": better}
            row = self._ranks(name, pairs, methods, fields, words)
            yield self._sized(row, pairs)

    def made_factors(self) -> Iterator[Row]:
        """Factors that were made for a set against ACC, and general ones (4, 5)."""
        for name, method, suites, sign in (
            ("shap_own_factors", "shap", _PAIRS, 1),
            ("lime_swap_avg", "lime", ("PAWS",), 1),
            ("lime_other_factors", "lime", _HANS, -1),
            ("ig_own_factors", "token-ig", _PAIRS, -1),
        ):
            factors = {suite: f"{method}/{_OWN[suite]}" for suite in suites}
            pairs = [
                (suite, factor, self._acc) if sign > 0 else (suite, self._acc, factor)
                for suite, factor in factors.items()
            ]
            shown = {s: {f"{_OWN[s]} ": f, "ACC ": self._acc} for s, f in factors.items()}
            bears = self._asks_enough or method != "shap"
            row = self._ranks(name, pairs, shown, {}, bears=bears)
            yield self._sized(row, pairs)
        pairs = [
            (suite, self._acc, f"shap/{factor}")
            for suite in _PAIRS
            for factor in _GENERAL
            if factor != _OWN[suite]
        ]
        yield self._ranks("general_factors", pairs, {}, {}, bears=self._asks_enough)

    def confidence(self) -> Iterator[Row]:
        """CONF is below ACC, near chance on MSGS, and wrong way round on PAWS (6)."""
        table, shown = self._table, {suite: {"": "CONF"} for suite in _EVERY}
        pairs = [(suite, self._acc, "CONF") for suite in _EVERY]
        yield self._sized(self._ranks("conf_below_acc", pairs, shown, {}), pairs)
        pairs = [(suite, "CONF", "") for suite in _MSGS]
        shown = {suite: {"": "CONF"} for suite in _MSGS}
        row = self._ranks("conf_near_chance", pairs, shown, {"bound": CHANCE}, offset=-0.5)
        looks = [table.over(pairs, CHANCE - 0.5), table.over(pairs, -CHANCE - 0.5).denied]
        room = [CHANCE - abs(sum(row.effects) / max(1, len(row.effects)))]
        yield row._replace(test=f"two one-sided {_TEST}", looks=[all_of(looks)], effects=room)
        pairs = [("PAWS", "", "CONF")]
        shown = {"PAWS": {f"{method} ": method for method in ("CONF", "CONF reversed")}}
        row = self._ranks("conf_reversed_paws", pairs, shown, {}, offset=0.5)
        yield self._sized(row, pairs)

    def across_architectures(self) -> Iterator[Row]:
        """General factors beside ACC across architectures, and how often they rank a pair all alike (7)."""
        for factor in _GENERAL:
            shap, acc = f"shap/{factor}", self._acc
            pairs = [(suite, shap, acc) for suite in _PAIRS]
            shown = {suite: {"": shap, "ACC ": acc} for suite in _PAIRS}
            yield self._ranks(
                f"architectures_{factor.replace('-', '_')}",
                pairs,
                shown,
                {"factor": factor},
                _ACROSS,
                self._asks_enough,
                group=_ACROSS,
            )
        shares = list(self._extreme_shares())
        both = [percent(values) for values in zip(*shares, strict=True)]
        fields = dict(zip(("factors", "plain"), both or ("-", "-"), strict=True))
        row = _of_seeds("architectures_extreme", shares, fields)
        yield row._replace(bears=self._asks_enough)

    def _extreme_shares(self) -> Iterator[tuple[float, float]]:
        """For every seed: of pairs, the share that factors, and ACC, nearly always rank alike."""
        for seed in self._table.seeds:
            rows = [row["pairwise"] for row in self._rows_of(seed, _PAIRS, _ACROSS)]
            plain = [p for row in rows for p in row[self._acc]]
            factors = [
                p
                for row in rows
                for name, values in row.items()
                if name.startswith("shap/")
                for p in values
            ]
            if factors and plain:
                yield _extreme_share(factors), _extreme_share(plain)

    def _rows_of(self, seed: int, suites: Iterable[str], group: str = "inoculated") -> list[Record]:
        return [
            row for suite in suites for row in self._table.rows(suite, group) if row["seed"] == seed
        ]

    def near_pairs(self) -> Row:
        """Of pairs that are nearly as good, LIME ranks more rightly than ACC (8)."""
        means, count = list[tuple[float, float]](), 0
        for seed in self._table.seeds:
            pairs = [pair for row in self._rows_of(seed, _WINDOW) for pair in self._near(row)]
            count += len(pairs)
            if pairs:
                lime, acc = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
                means.append((lime, acc))
        both = [percent(values) for values in zip(*means, strict=True)]
        seen = f"{count} pairs: {', ACC '.join(both)}" if means else "no such pair"
        return _of_seeds("near_pairs", means, {"bound": NEAR, "seen": seen})

    def _near(self, row: Record) -> list[tuple[float, float]]:
        """Pairwise accuracies of LIME and ACC on the near pairs of a row."""
        lime, acc = row["pairwise"].get(f"lime/{_WINDOW[row['suite']]}"), row["pairwise"][self._acc]
        near = [i for i, pair in enumerate(row["pairs"]) if pair["gap"] <= NEAR]
        return [] if lime is None else [(lime[i], acc[i]) for i in near]

    def combined(self) -> Iterator[Row]:
        """Rankings that the paper does not have, beside ACC."""
        for method in self._combined:
            name = "_".join(method.lower().replace("+", " ").replace("-", "_").split())
            pairs = [(suite, method, self._acc) for suite in _EVERY]
            shown = {suite: {"": method, "ACC ": self._acc} for suite in _EVERY}
            yield self._ranks(f"combined_{name}", pairs, shown, {"method": method}, "combined")


def _of_seeds(name: str, pairs: Sequence[tuple[float, float]], fields: Record) -> Row:
    """Of two numbers a seed the first is above the second, in the mean."""
    leads = [first - second for first, second in pairs]
    looks, effects = ([contrast([leads], [1.0])], [sum(leads) / len(leads)]) if leads else ([], [])
    return Row(name, _TEST, _SUITES, looks, effects, fields)


def _extreme_share(values: Sequence[float]) -> float:
    return sum(not _EXTREME < p < 1 - _EXTREME for p in values) / len(values)


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
            p
            for row, row_keys in zip(across, keys, strict=True)
            for key in row_keys
            for p in row[key]
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
    table, sizes = FewShotAccuracies(result), result["sizes"]
    more = ", ".join(f"{n} in {family}" for family, n in sizes.get("shap_samples", {}).items())
    fields = {
        "shap": more and f" (KernelSHAP: {more})",
        "networks": ", ".join(sizes["networks"]),
        "stand_ins": "; ".join(result["stand_ins"].values()),
        "models": len(result["models"]),
    }
    out = [
        PAGE.fill(PAGE.words["page"]["run"], {**result, **fields}),
        _of_windows(table),
        *(_of_factors(table, method, title) for method, title in _TABLES.items()),
        _across(result, table),
        _of_pairs(table),
        *_of_models(result),
        _of_sets(result),
        _beyond(result, table),
        claims_table(result["claims"], PAGE.words["page"]["over"]),
    ]
    return tables_page(out)


def _of_windows(table: FewShotAccuracies) -> str:
    """Table 1."""
    rows = []
    for suite, window in _WINDOW.items():
        theirs = PAGE.paper["table_1"][suite]
        explained = (f"{method}/{window}" for method in ("token-ig", "shap", "lime"))
        for method in (*_BASELINES, *explained):
            rows.append([suite, method, table.cell(suite, method), dash(theirs.get(method))])
    return PAGE.table("msgs", rows)


def _of_factors(table: FewShotAccuracies, method: str, title: str) -> str:
    """Table 2, 7 or 8."""
    baselines, factors = PAGE.paper["table_2"], PAGE.paper["factors"][method]
    named = [(name, name, baselines) for name in _BASELINES]
    named += [(name, f"{method}/{name}", factors) for name in _FACTORS]
    rows = []
    for name, ours, theirs in named:
        cells = ((table.cell(s, ours), dash(theirs[s].get(name))) for s in _PAIRS)
        rows.append([name, *chain.from_iterable(cells)])
    after = "" if method == "shap" else "Its caption names Table 3; its rows are those of Table 2."
    return PAGE.table("factors", rows, title=title, method=method, after=after)


def _beyond(result: Record, table: FewShotAccuracies) -> str:
    """Rankings that the paper does not have."""
    names = {name for row in result["rows"] for name in row["few_shot"]}
    pool = sorted(name for name in names if name.startswith("pool/"))
    return PAGE.table(
        "beyond",
        [
            [name, *(table.cell(suite, name) for suite in _EVERY)]
            for name in ("ACC", POWERED, *result["combined"], *pool)
            if name in names
        ],
    )


def _across(result: Record, table: FewShotAccuracies) -> str:
    """Table 3."""
    theirs = PAGE.paper["table_3"]
    names = {name for row in result["rows"] if row["group"] == _ACROSS for name in row["few_shot"]}
    rows = []
    for name in (*_BASELINES, *_EXPLAINED):
        if name in names:
            method, _, factor = name.rpartition("/")
            printed = dash(theirs.get(factor) if method in ("", "shap") else None)
            mean = percent(table.means(_PAIRS, name, _ACROSS))
            each = (table.cell(suite, name, _ACROSS) for suite in _PAIRS)
            rows.append([name, mean, *each, printed])
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
    """Tables 5 and 6."""
    models, sizes, theirs = result["models"], result["sizes"], PAGE.paper["table_6"]
    yield PAGE.table("doses", [_dosed(model) for model in models if model["family"] in _MSGS])

    def rates(training: str, by_family: str) -> str:
        """A learning rate, and the families that have another."""
        exceptions = ", ".join(f"{rate:g} in {name}" for name, rate in sizes[by_family].items())
        return f"{sizes[training]['learning_rate']:g}" + (f" ({exceptions})" if exceptions else "")

    yield PAGE.table(
        "models",
        [_further(model) for model in models if model["family"] not in _MSGS],
        {**sizes, "rates": rates("training", "rates")},
        further_rates=rates("further", "further_rates"),
        hans=", ".join(f"{name} {a}/{b}" for name, a, b in theirs["hans"]),
        paws=", ".join(f"{name} {a}" for name, a in theirs["paws"]),
    )


def _by_set(model: Record, measure: str) -> dict[str, str]:
    return {name: percent(cell["by_seed"]) for name, cell in model[measure].items()}


def _dosed(model: Record) -> list[str]:
    """A model of MSGS: what its training data held of target sets."""
    family, label, accuracy = model["family"], model["label"], _by_set(model, "accuracy")
    shares = ", ".join(f"{name} {100 * share:g} %" for name, share in model["shares"].items())
    shares = shares or "none"
    if "share" in model:
        shares += f"; weights {model['share']['mean']:.2f} of the way"
    printed = dash(PAGE.paper["table_5"][family].get(label))
    return [family, label, shares, accuracy["in-domain"], accuracy[family], printed]


def _further(model: Record) -> list[str]:
    """A model of entailment or paraphrases: how far it was trained on, and on what mixture."""
    accuracy, even = _by_set(model, "accuracy"), _by_set(model, "balanced")
    near = accuracy.pop("in-domain")
    far = "; ".join(f"{name} {value} ({even[name]})" for name, value in accuracy.items())
    further = ["-", "-"]
    if model["further"]:
        further = [str(model["further"]), f"{100 * model['mixture']:g} %"]
    return [model["label"], model["network"], str(model["steps"]), *further, near, far]


def _of_sets(result: Record) -> str:
    """Table 9."""
    rows = []
    for study in result["sets"]:
        named = {"set", "seed", "rows", "judged", "pool", "absent"}
        counts = ", ".join(f"{name} {n}" for name, n in study.items() if name not in named)
        absent = ", ".join(f"{name} {n}" for name, n in study["absent"].items() if n)
        rows.append((study, PAGE.paper["table_9"][study["set"]], counts, absent or "none"))
    return PAGE.table("sets", rows)
