"""Which of two models is better on a target without labels: fits the prior of differences, judges it by whole sources.

    python -m benchmarks.natural.pairs --date 2026-11-26   # results/pairs.{json,md} and the packaged prior

Needs $OODOMETER_DATA. Models of one target are of three kinds: suites of models that we trained (suites/*.npz); seven
models that are trained here, each on half of the rows of a reference with features (natural, natural4), at most 2,000,
and asked on the other half and on the group that life made; and models whose classes were stored beside each other, of
sources without features (members). Every pair is judged by a prior that was fitted without its source: beds of one
public set, such as adult-age and the suite nat_adult-group, are one source. A pair of equal truth is in the fit and not
in the tables. Pairs of one source count together by the square root of their number.
"""

from __future__ import annotations

import io
import json
import tarfile
import warnings
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import kit
from benchmarks.kit import ROOT, data_folder
from benchmarks.natural.prior import quantile_regression
from oodometer.headline.natural_differences import (
    NaturalDifferences,
    PairSigns,
    group_of,
    pairs_on_target,
    scales_of,
)

PACKAGED = ROOT / "src" / "oodometer" / "headline" / "natural_differences.json"
LEVELS = (
    0.01,
    0.025,
    0.05,
    0.1,
    0.15,
    0.2,
    0.25,
    0.35,
    0.5,
    0.65,
    0.75,
    0.8,
    0.85,
    0.9,
    0.95,
    0.975,
    0.99,
)
# The chance from which on an order is called decided: on the suites at most 1 of 20 decided is wrong.
SURE = {"agree": 0.8, "contradict": 0.95, "alone": 0.9}
GROUPS = {
    "agree": "three models or more, the others agree with the reference",
    "contradict": "three or more, the others contradict it",
    "alone": "two models",
}
KINDS = {"suite": "suites", "trained": "trained here", "members": "stored classes"}
CHANCES = (0.8, 0.85, 0.9, 0.95)
MOST_TRAINED, MOST_ROWS, MOST_MODELS = 4000, 3000, 8
Z = 1.96


@dataclass(frozen=True)
class Suite:
    """Models asked about the same rows: classes (model, row) and truth of reference and target, and confidences."""

    kind: str
    name: str
    source: str
    classes: tuple[np.ndarray, np.ndarray]
    truth: tuple[np.ndarray, np.ndarray]
    confidence: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True)
class Pair:
    """Two models: signs, true difference, and z of the plain answers: reference alone, and confidence."""

    suite: Suite
    models: tuple[int, int]
    signs: PairSigns
    truth: float
    plain: Mapping[str, float]


def suites() -> Iterator[Suite]:
    """All three kinds; stored classes only of sources without features."""
    seen = set()
    for path in sorted((data_folder() / "suites").glob("*.npz")):
        with np.load(path, allow_pickle=False) as data:
            shares = [
                np.asarray(data[f"{side}_probabilities"], np.float32)
                for side in ("reference", "target")
            ]
            truth = data["reference_labels"].astype(int), data["target_labels"].astype(int)
            source = (
                str(data["source"]).removeprefix("inoc-").removeprefix("text-").partition("-")[0]
            )
        yield made("suite", path.stem, source, shares, truth)
    packed = [
        p
        for name in ("natural", "natural4")
        for p in sorted((data_folder() / name).glob("*.tar.xz"))
    ]
    for path in (p for p in packed if "+features" in p.name):
        for case in trained_cases(path):
            seen.add(case.source)
            yield case
    for path in (p for p in packed if "+features" not in p.name):
        yield from (case for case in stored(path) if case.source not in seen)


def made(
    kind: str, name: str, source: str, shares: Sequence[np.ndarray], truth: tuple[Any, Any]
) -> Suite:
    """The suite of these probabilities, (model, row, class)."""
    classes, tops = (
        [s.argmax(axis=-1) for s in shares],
        [s.max(axis=-1) / s.sum(axis=-1) for s in shares],
    )
    return Suite(kind, name, source, (classes[0], classes[1]), truth, (tops[0], tops[1]))


def cases_of(path: Any) -> dict[str, dict[str, Any]]:
    """Case -> its truth.json and columns of its files."""
    import pyarrow.parquet as pq

    out: dict[str, dict[str, Any]] = defaultdict(dict)
    with tarfile.open(path) as archive:
        for item in archive:
            case, name = item.name.split("/")[-2:] if item.isfile() else ("", "")
            file = archive.extractfile(item) if name else None
            if file is None:
                continue
            if name == "truth.json":
                out[case]["about"] = json.load(file)
            elif name.endswith(".parquet"):
                columns = pq.read_table(io.BytesIO(file.read()))
                for column in columns.schema.names:
                    cells = columns[column].combine_chunks()
                    flat = cells.flatten() if hasattr(cells.type, "list_size") else cells
                    values = flat.to_numpy(zero_copy_only=False).reshape(len(cells), -1)
                    out[case][f"{name.removesuffix('.parquet')} {column}"] = values
    return {case: out[case] for case in sorted(out)}


def stored(path: Any) -> Iterator[Suite]:
    """A model and the members beside it, at most eight in all; of a group of the same models the first case."""
    seen = set()
    for case, of in cases_of(path).items():
        about, members = (
            of["about"],
            [of.get(f"{side} members") for side in ("reference", "target")],
        )
        same = (
            (about["group"], members[0].shape)
            if "reference prediction" in of and members[0] is not None
            else case
        )
        if (
            members[0] is None
            or members[1] is None
            or members[0].shape[1] != members[1].shape[1]
            or same in seen
        ):
            continue
        seen.add(same)
        both = []
        for side, others in zip(("reference", "target"), members, strict=True):
            own = of.get(f"{side} prediction")
            own = of[f"{side} probabilities"].argmax(axis=1)[:, None] if own is None else own
            both.append(np.column_stack([own, others]).T.astype(int))
        rng = np.random.default_rng(0)
        few = np.sort(rng.permutation(len(both[0]))[:MOST_MODELS])
        truth = of["reference label"][:, 0].astype(int), of["labels label"][:, 0].astype(int)
        yield Suite(
            "members",
            f"{path.name.partition('.')[0]}/{case}",
            source_of(about),
            (both[0][few], both[1][few]),
            truth,
        )


def source_of(about: Mapping[str, Any]) -> str:
    return str(about["source"]).partition("-")[0]


def trained_cases(path: Any) -> Iterator[Suite]:
    """Of each group the case with the largest reference and that with the smallest: seven models trained on half."""
    groups: dict[str, dict[int, tuple[str, Any]]] = defaultdict(dict)
    for case, of in cases_of(path).items():
        groups[str(of["about"]["group"])][len(of["reference label"])] = case, of
    for _, by_size in sorted(groups.items()):
        for size in sorted({min(by_size), max(by_size)}):
            case, of = by_size[size]
            rng = np.random.default_rng(0)
            x, there = (
                np.nan_to_num(of[f"{side} features"].astype(float))
                for side in ("reference", "target")
            )
            y, truth = of["reference label"][:, 0].astype(int), of["labels label"][:, 0].astype(int)
            order, rows = (
                rng.permutation(len(y))[:MOST_TRAINED],
                rng.permutation(len(truth))[:MOST_ROWS],
            )
            train, rest = order[: len(order) // 2], order[len(order) // 2 :]
            shares = ask(
                x[train], y[train], (x[rest], there[rows]), of["reference probabilities"].shape[1]
            )
            name = f"{path.name.partition('.')[0]}/{case}"
            yield made("trained", name, source_of(of["about"]), shares, (y[rest], truth[rows]))


def ask(
    x: np.ndarray, y: np.ndarray, asked: Sequence[np.ndarray], classes: int
) -> list[np.ndarray]:
    """Probabilities (model, row, class) of seven ordinary models for each of the files."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    network = MLPClassifier((32,), max_iter=150, random_state=0)
    scaled = (LogisticRegression(max_iter=500), GaussianNB(), KNeighborsClassifier(15), network)
    models = [make_pipeline(StandardScaler(), one) for one in scaled]
    models += [
        RandomForestClassifier(60, min_samples_leaf=3, random_state=0),
        HistGradientBoostingClassifier(max_iter=60, random_state=0),
        DecisionTreeClassifier(max_depth=6, random_state=0),
    ]
    out = [np.full((len(models), len(rows), classes), 1e-6, np.float32) for rows in asked]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged
        for i, model in enumerate(models):
            model.fit(x, y)
            for rows, shares in zip(asked, out, strict=True):
                shares[i][:, model.classes_] += model.predict_proba(rows)
    return out


def pairs_of(suite: Suite) -> Iterator[Pair]:
    (here, there), (label, truth) = suite.classes, suite.truth
    right, true = here == label, there == truth
    for i, j, signs in pairs_on_target(right, here, there):
        if signs.rows:
            gap = right[i] * 1.0 - right[j]
            plain = {"reference": float(gap.mean() / np.sqrt(gap.var() / len(gap) + 1e-9))}
            if suite.confidence is not None:
                # mean confidence less what it promised too much on the reference, of both models
                before, now = (c[i] - c[j] for c in suite.confidence)
                error = np.sqrt(now.var() / len(now) + (before - gap).var() / len(gap) + 1e-9)
                plain["confidence"] = float((now.mean() - (before - gap).mean()) / error)
            yield Pair(suite, (i, j), signs, float(true[i].mean() - true[j].mean()), plain)


def alone(signs: PairSigns) -> PairSigns:
    return PairSigns(**{**vars(signs), "agreement": None})


def fit(pairs: Sequence[Pair]) -> NaturalDifferences:
    """The prior that these pairs make; what was decided is empty."""
    groups = {}
    sizes = Counter(pair.suite.source for pair in pairs)
    for name in GROUPS:
        rows = [(pair, alone(pair.signs) if name == "alone" else pair.signs) for pair in pairs]
        rows = [(pair, signs) for pair, signs in rows if group_of(signs) == name]
        told = [(signs.reference, *(signs.agreement or (0.0, 0.0))) for _, signs in rows]
        lean = np.array([np.sign(one[0] or one[1]) or 1.0 for one in told])
        design = np.array(told) * lean[:, None]
        goal = lean * [pair.truth / signs.share for pair, signs in rows]
        weights = np.array([1 / np.sqrt(sizes[pair.suite.source]) for pair, _ in rows])
        used = 1 if name == "alone" else 3
        value = np.zeros(3)
        value[:used] = quantile_regression(design[:, :used], goal, weights, 0.5)
        value = np.round(value, 3)
        scales = np.array([scales_of(signs) for _, signs in rows])
        table = np.array(
            [quantile_regression(scales, goal - design @ value, weights, p) for p in LEVELS]
        )
        groups[name] = value, np.round(table, 4)
    return NaturalDifferences(np.array(LEVELS), groups, SURE, {}, {})


def as_json(
    prior: NaturalDifferences, decided: Mapping[str, tuple[int, float]], about: Mapping[str, Any]
) -> str:
    """The packaged prior."""
    terms, scales = (
        ("reference", "agreement", "agreement_before"),
        ("standard_error", "moved", "always"),
    )
    groups = {
        name: {
            "value": dict(zip(terms, weights.tolist(), strict=True)),
            "quantiles": [dict(zip(scales, row, strict=True)) for row in table.tolist()],
        }
        for name, (weights, table) in prior.groups.items()
    }
    called = {name: {"pairs": pairs, "right": right} for name, (pairs, right) in decided.items()}
    plain = {**about, "sure": SURE, "decided": called, "levels": list(LEVELS), "groups": groups}
    return json.dumps(plain, indent=1) + "\n"


def judged(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Each pair with the interval of 90 % and the chance of a prior fitted without its source, with and without the
    other models.
    """
    out = []
    for source in sorted({pair.suite.source for pair in pairs}):
        prior = fit([pair for pair in pairs if pair.suite.source != source])
        for pair in (pair for pair in pairs if pair.suite.source == source):
            (interval, chance), (_, two) = (
                prior.difference(s, 0.9) for s in (pair.signs, alone(pair.signs))
            )
            family = (
                pair.suite.name.partition("_")[0] if pair.suite.kind == "suite" else pair.suite.kind
            )
            out.append(
                {"kind": pair.suite.kind, "family": family, "source": source, "suite": pair.suite.name,
                 "models": pair.models, "truth": pair.truth, "group": group_of(pair.signs), "chance": chance,
                 "chance_of_two": two, "value": interval.value, "lower": interval.lower, "upper": interval.upper,
                 **pair.plain}
            )  # fmt: skip
    return out


def neighbours(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Of each suite the pairs that are neighbours in the order of the models by how likely they beat the others."""
    out = []
    for suite in sorted({row["suite"] for row in rows}):
        own = {tuple(row["models"]): row for row in rows if row["suite"] == suite}
        score: Counter[int] = Counter()
        for (i, j), row in own.items():
            score[i] += row["chance"]
            score[j] += 1 - row["chance"]
        order = sorted(score, key=lambda model: -score[model])
        out += [own[key] for a, b in pairwise(order) if (key := (min(a, b), max(a, b))) in own]
    return out


def summary(
    rows: Sequence[Mapping[str, Any]], answer: str, at: float | None = None
) -> dict[str, Any]:
    """Of these pairs: how many an answer decides, how many of those wrongly; how many of all are ordered rightly."""
    known = [row for row in rows if row["truth"] and row.get(answer) is not None]
    right = [(row[answer] > at_half(answer)) == (row["truth"] > 0) for row in known]
    group = "alone" if answer == "chance_of_two" else None
    clear = [
        abs(row[answer]) >= Z
        if answer in ("reference", "confidence")
        else max(row[answer], 1 - row[answer])
        >= (SURE[group or row["group"]] if at is None else at)
        for row in known
    ]
    few = [good for good, sure in zip(right, clear, strict=True) if sure]
    return {
        "pairs": len(known),
        "decided": len(few),
        "wrong": len(few) - sum(few),
        "right": sum(right),
    }


def at_half(answer: str) -> float:
    return 0.0 if answer in ("reference", "confidence") else 0.5


def measure(options: Namespace) -> kit.Result:
    pairs = [pair for suite in suites() for pair in pairs_of(suite)]
    rows = judged(pairs)
    about = {
        "made_by": "python -m benchmarks.natural.pairs", "date": options.date, "pairs": len(pairs),
        "sources": sorted({pair.suite.source for pair in pairs}),
    }  # fmt: skip
    prior, decided = fit(pairs), {}
    for name in GROUPS:
        answer = "chance_of_two" if name == "alone" else "chance"
        of = summary([row for row in rows if name in ("alone", row["group"])], answer)
        decided[name] = of["decided"], round(1 - of["wrong"] / max(of["decided"], 1), 3)
    kit.write(PACKAGED, as_json(prior, decided, about))
    named = {"all suites": [row for row in rows if row["kind"] == "suite"]}
    for key in ("family", "kind"):
        for name in dict.fromkeys(
            row[key] for row in rows if (row["kind"] == "suite") == (key == "family")
        ):
            named[KINDS.get(name, name)] = [row for row in rows if row[key] == name]
    tables = []
    for name, few in named.items():
        near = neighbours(few)
        inside = [row["lower"] - 1e-9 <= row["truth"] <= row["upper"] + 1e-9 for row in few]
        tables.append(
            {"of": name, "sources": len({row["source"] for row in few}),
             **{answer: summary(few, answer) for answer in ("chance", "chance_of_two", "reference", "confidence")},
             "neighbours": summary(near, "chance"), "chances": {str(at): summary(few, "chance", at) for at in CHANCES},
             "coverage": float(np.mean(inside)), "width": 100 * float(np.mean([r["upper"] - r["lower"] for r in few]))}
        )  # fmt: skip
    sources = [
        {"source": source, "kinds": sorted({row["kind"] for row in few}), **summary(few, "chance"),
         "reference": summary(few, "reference")}
        for source in about["sources"]
        for few in [[row for row in rows if row["source"] == source]]
    ]  # fmt: skip
    of = tables[0]["chance"]
    share, wrong = of["decided"] / of["pairs"], of["wrong"] / max(of["decided"], 1)
    limits = [
        {
            "limit": "suites: share of pairs decided, at least 0.4",
            "value": share,
            "holds": share >= 0.4,
        },
        {
            "limit": "suites: wrong of the decided, at most 0.05",
            "value": wrong,
            "holds": wrong <= 0.05,
        },
    ]
    return {**about, "sure": SURE, "limits": limits, "tables": tables, "by_source": sources}


def cells(of: Mapping[str, Any]) -> list[str]:
    if not of["pairs"]:
        return ["-", "-"]
    return [
        f"{of['decided'] / of['pairs']:.0%}",
        f"{of['wrong'] / of['decided']:.1%}" if of["decided"] else "-",
    ]


def page(result: kit.Result) -> str:
    rows, chances, by_source = [], [], []
    for line in result["tables"]:
        right = line["chance"]["right"] / line["chance"]["pairs"]
        answers = ("chance", "neighbours", "chance_of_two", "reference", "confidence")
        rows.append([line["of"], str(line["chance"]["pairs"]), str(line["sources"]), f"{right:.0%}",
                     *(cell for name in answers for cell in cells(line[name])),
                     f"{line['coverage']:.0%}", f"{line['width']:.1f}"])  # fmt: skip
        chances.append(
            [line["of"], *(cell for of in line["chances"].values() for cell in cells(of))]
        )
    for line in result["by_source"]:
        by_source.append([line["source"], ", ".join(line["kinds"]), str(line["pairs"]), *cells(line),
                          *cells(line["reference"])])  # fmt: skip
    head = ["pairs of", "count", "sources", "ordered rightly", "decided", "wrong", "neighbours decided", "wrong",
            "knowing two models alone", "wrong", "reference alone, z over 1.96", "wrong",
            "calibrated confidence, z over 1.96", "wrong", "coverage of 90 %", "width in points"]  # fmt: skip
    return kit.joined(
        [
            "# Which of two models is better on a target without labels",
            "",
            f"Made by `{result['made_by']}` from {result['pairs']:,} pairs of {len(result['sources'])} sources. Every "
            "figure is of pairs whose whole source was left out of the fit. Wrong: of the decided. A pair is decided "
            "where one model is better at a chance of "
            + ", ".join(f"{at:.0%} ({GROUPS[name]})" for name, at in result["sure"].items())
            + " or more; neighbours are those in the order that is shown.",
            "",
            *kit.promises(result["limits"]),
            *kit.table(head, rows),
            "## Decided at other chances: decided, and wrong of these",
            "",
            *kit.table(["pairs of", *(cell for at in CHANCES for cell in (f"{at:.0%}", "wrong"))], chances),
            "## Source by source",
            "",
            *kit.table(["source", "kinds", "pairs", "decided", "wrong", "by the reference alone", "wrong"],
                       by_source, "llr"),
        ]
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    date = {"default": "", "help": "date of the fit, such as 2026-11-26"}
    return kit.command(__doc__, "pairs", measure, page, arguments, date=date)


if __name__ == "__main__":
    raise SystemExit(main())
