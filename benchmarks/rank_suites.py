"""How well `rank` orders models of known order without a label and from a few; writes results/rank_suites.*.

    python -m benchmarks.rank_suites --fit            # a few minutes of processor time; writes came_true.json, too
    python -m benchmarks.rank_suites --constants      # other constants of the prior, whole sources left out

Needs $OODOMETER_DATA: suites of models that we trained (suites/*.npz), published models of CIFAR-10.1 and ImageNetV2
(outputs), of which 5 or 10 are drawn, and tables with features (natural, natural4), on half of whose references seven
models of scikit-learn are trained here (kind `more`, sources that suites/ has not). Of each suite ten (thirty, hundred)
labelled rows are drawn at random, and up to 1,000 others without labels. The orders: right answers; ours, by the call
that the verb makes, with the reference and without; right answers with ties by agreement with the plurality, and by
reference accuracy; the plain sum of the three. Without a label: ours; agreement, the reference, their sum, and the
prior of differences of `compare`. Pairs of equal truth are left out, ties count one half; regret is that
of the first model (the mean of those tied for it) in points of accuracy. Then ten further labels, suggested or random.
What came true of P(best) (`rankings/came_true.json`) is of all models of a suite and of two, three and four of them;
what is judged here is held against the curves of all other sources. Intervals: 95 %, Student's t over the suites of a
group.
"""

from __future__ import annotations

import argparse
import importlib
import io
import itertools
import json
import sys
import tarfile
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import kit
from oodometer.headline.natural_differences import packaged_differences, pairs_on_target
from oodometer.inference.clusters import student_quantile
from oodometer.rankings import Posterior, agreement_values, outcome, rows_to_label
from oodometer.rankings import pool as pool_of_models
from oodometer.rankings.came_true import GROUPS, CameTrue, as_came_true, curve_of, group_of

ORDERS = (
    "counting",
    "rank",
    "rank, no reference",
    "ties by agreement",
    "ties by reference",
    "plain sum",
)
UNLABELLED = (
    "rank",
    "rank, no reference",
    "agreement",
    "reference",
    "agreement and reference",
    "prior of differences",
)
LABELS, POOL, MORE = (10, 30), 1000, 10
MOST = 100  # labels that P(best) is measured with
FEWER = (2, 3, 4)  # models of a suite, drawn anew each time
REST = 50  # rows that are left beside the labels, at least
SAID = {0: ", no label", 10: "", 30: ", thirty labels", MOST: ", a hundred labels"}
THINNED = 8  # of the draws of a posterior each so many is kept for what is judged later
PACKAGED = kit.ROOT / "src" / "oodometer" / "rankings" / "came_true.json"
NOTHING, BOTH, AGREEMENT = importlib.import_module("oodometer.rankings.posterior")._REGIMES
CONSTANTS: dict[str, dict[str, Any]] = {  # of `posterior_by_pattern`, and of what is given to it
    "shipped": {},
    "no class posterior": {"_ORDERED_CLASSES": 0},
    "labels read twice count twice": {"_READ_TWICE": 1.0},
    "the class posterior reads alone": {"_READ_TWICE": 0.01},
    "own deviation halved": {"_OWN": 0.01},
    "own deviation doubled": {"_OWN": 0.04},
    "precisions as they come": {"_SHARP": 1.0},
    "precisions up to 3": {"_SHARP": 3.0},
    "shares of P(best) as they come": {"_BEST": 1.0},
    "nothing tells, ever": {"_REGIMES": (NOTHING,)},
    "both tell, always": {"_REGIMES": (BOTH,)},
    "agreement tells, always": {"_REGIMES": (AGREEMENT,)},
    "nothing tells in half": {
        "_REGIMES": ((0.5, *NOTHING[1:]), (0.25, *BOTH[1:]), (0.25, *AGREEMENT[1:]))
    },
    "many classes as two": {"_MANY": 1.0},
    "axes preferred less": {"_POWER": 3.0},
    "patterns tied": {"_TIED": 60.0},
}


class Suite(NamedTuple):
    """Models asked about the same rows: predicted classes (model, row), truth (row,), accuracy where they were made.

    answers : probabilities, (model, row, class), or predicted classes again. known : the same on the reference, and its
    labels, or None.
    """

    name: str
    kind: str
    source: str
    predicted: np.ndarray
    truth: np.ndarray
    reference: np.ndarray
    answers: np.ndarray
    known: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, name: str, source: str, here: Any, truth: Any, there: Any, labels: Any) -> Suite:
        """From probabilities of the target and of the reference."""
        here, there = (np.maximum(np.asarray(p, dtype=float), 1e-4) for p in (here, there))
        here, there = (
            here / here.sum(axis=2, keepdims=True),
            there / there.sum(axis=2, keepdims=True),
        )
        reference = (there.argmax(axis=2) == labels).mean(axis=1)
        truth, kind = np.asarray(truth).astype(int), name.split("_")[0]
        known = there, np.asarray(labels).astype(int)
        return cls(name, kind, source, here.argmax(axis=2), truth, reference, here, known)

    @property
    def accuracy(self) -> np.ndarray:
        """Of each model on all rows."""
        return (self.predicted == self.truth).mean(axis=1)


def suites(data: Path) -> Iterator[Suite]:
    """Suites that were made, then draws of published models."""
    for path in sorted((data / "suites").glob("*.npz")):
        with np.load(path) as file:
            target, reference = (
                (file[f"{part}_probabilities"], file[f"{part}_labels"])
                for part in ("target", "reference")
            )
            yield Suite.of(path.stem, str(file["source"]), *target, *reference)
    rng = np.random.default_rng(7)
    with np.load(data / "outputs" / "cifar10_1_predictions.npz") as file:
        known = (file["preds_original"] == file["labels_original_test"]).mean(axis=1)
        sets = [
            ("cifar10.1", v, file[f"preds_{v}"], file[f"labels_{v}"], known) for v in ("v4", "v6")
        ]
    with np.load(data / "outputs" / "imagenetv2_top1.npz") as file:
        old = "imagenet-validation-original"
        known = (file[f"P_{old}"] == file[f"y_{old}"]).mean(axis=1)
        names = ("imagenetv2-a-44", "imagenetv2-b-33", "imagenetv2-c-12")
        sets += [("imagenetv2", v, file[f"P_{v}"], file[f"y_{v}"], known) for v in names]
    for (source, version, said, truth, known), models, number in itertools.product(
        sets, (5, 10), range(3)
    ):
        some = rng.choice(len(said), models, replace=False)
        name = f"{source}_{version}_{models}_{number}"
        some_said = said[some].astype(int)
        yield Suite(name, "published", source, some_said, truth.astype(int), known[some], some_said)
    yield from trained(data)


def trained(data: Path) -> Iterator[Suite]:
    """Seven models trained on half of a reference with features, asked about up to five groups of its table."""
    from pyarrow.parquet import read_table
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    warnings.filterwarnings("ignore", module="sklearn")
    there = {path.stem.split("_")[1] for path in (data / "suites").glob("nat_*")}
    for path in sorted(
        [*(data / "natural").glob("*+features*"), *(data / "natural4").glob("*+features*")]
    ):
        source = path.name.split("+")[0]
        if source in there:
            continue
        with tarfile.open(path) as tar:
            files = {
                member.name: tar.extractfile(member).read() for member in tar if member.isfile()
            }  # type: ignore
        groups: dict[str, str] = {}  # each once: a case is a group and a model
        for name in sorted(name for name in files if name.endswith("truth.json")):
            groups.setdefault(json.loads(files[name])["group"], name.removesuffix("truth.json"))
        for number, (group, case) in enumerate(list(groups.items())[:5]):
            tables = [
                read_table(io.BytesIO(files[f"{case}{part}.parquet"]))
                for part in ("reference", "target", "labels")
            ]
            features, asked = (
                np.array(table["features"].to_pylist(), dtype=float) for table in tables[:2]
            )
            labels, truth = (tables[part]["label"].to_pylist() for part in (0, 2))
            if len(truth) < 150:
                continue
            names = sorted({*labels, *truth}, key=str)
            y, t = (np.array([names.index(label) for label in some]) for some in (labels, truth))
            order = np.random.default_rng(number).permutation(len(y))
            train, test = order[: len(y) // 2], order[len(y) // 2 :]
            models = (
                LogisticRegression(max_iter=300),
                GaussianNB(),
                RandomForestClassifier(60, random_state=0),
                HistGradientBoostingClassifier(max_iter=40, random_state=0),
                KNeighborsClassifier(15),
                MLPClassifier((32,), max_iter=100, random_state=0),
                DecisionTreeClassifier(max_depth=8, random_state=0),
            )
            p = np.zeros((2, len(models)), dtype=object)
            for at, model in enumerate(models):
                pipe = make_pipeline(SimpleImputer(), StandardScaler(), model).fit(
                    features[train], y[train]
                )
                for part, rows in enumerate((asked, features[test])):
                    p[part, at] = np.zeros((len(rows), len(names)))
                    p[part, at][:, pipe.classes_] = pipe.predict_proba(rows)
            yield Suite.of(
                f"more_{source}_{group}", source, np.stack(p[0]), t, np.stack(p[1]), y[test]
            )


class Case(NamedTuple):
    """One posterior as the evidence has it, of some models of a suite, and their true accuracies."""

    source: str
    labels: int
    referenced: bool
    models: int
    whole: bool
    found: Posterior
    accuracy: np.ndarray


def some_of(suite: Suite, models: np.ndarray) -> Suite:
    """The suite with some of its models."""
    known = None if suite.known is None else (suite.known[0][models], suite.known[1])
    parts = {name: getattr(suite, name)[models] for name in ("predicted", "reference", "answers")}
    return suite._replace(known=known, **parts)


def ranked(
    suite: Suite,
    rows: np.ndarray,
    rest: np.ndarray,
    *,
    referenced: bool = True,
    beliefs: Any = outcome.beliefs_of,
) -> Posterior:
    """What the verb believes of the models with these labelled rows, the rest as the pool, and the reference."""
    ground = {"known": suite.known, "reference": suite.reference} if referenced else {}
    return beliefs(suite.answers[:, np.r_[rows, rest]], suite.truth[rows], draws=1, **ground)[0]


def raw(
    suite: Suite,
    labels: int,
    rows: np.ndarray,
    rest: np.ndarray,
    referenced: bool,
    whole: bool = True,
) -> Case:
    """The posterior before P(best) is held against what came true."""
    found = ranked(suite, rows, rest, referenced=referenced, beliefs=outcome.evidence_of)
    found = replace(found, draws=found.draws[::THINNED].astype(np.float32))
    differ = len(np.unique((found.disagreement == 0).argmax(axis=1)))
    return Case(suite.source, labels, referenced, differ, whole, found, suite.accuracy)


def further_ranked(
    suite: Suite, rows: np.ndarray, rest: np.ndarray, some: np.ndarray, chosen: bool
) -> Posterior:
    """The same with labels of some of the rest, which were chosen or not."""
    left, more = np.setdiff1d(np.arange(len(rest)), some), np.r_[rows, rest[some]]
    ground = {"known": suite.known, "reference": suite.reference, "draws": 1}
    answers, by_choice = (
        suite.answers[:, np.r_[more, rest[left]]],
        np.arange(len(more)) >= len(rows),
    )
    return outcome.beliefs_of(
        answers, suite.truth[more], chosen=by_choice if chosen else None, **ground
    )[0]


def drawn(suite: Suite, draw: int, labels: int = LABELS[0]) -> tuple[np.ndarray, np.ndarray]:
    """Labelled rows, and the pool."""
    rng = np.random.default_rng([draw, *suite.name.encode()])
    rows = rng.permutation(len(suite.truth))[: labels + POOL]
    return rows[:labels], rows[labels:]


def places(order: tuple[int, ...]) -> np.ndarray:
    """A score of each model, larger for a better place."""
    return -np.argsort(order).astype(float)


def pairs_right(score: np.ndarray, accuracy: np.ndarray) -> float:
    """Share of pairs of different accuracy in the right order, ties one half."""
    a, b = np.triu_indices(len(score), 1)
    gap, truth = score[a] - score[b], accuracy[a] - accuracy[b]
    return float(
        np.where(np.abs(gap) < 1e-9, 0.5, np.sign(gap) == np.sign(truth))[truth != 0].mean()
    )


def regret(score: np.ndarray, accuracy: np.ndarray) -> float:
    """Points of accuracy that the first model lacks to the best."""
    return float(100 * (accuracy.max() - accuracy[score > score.max() - 1e-9].mean()))


def said(found: Posterior, accuracy: np.ndarray) -> dict[str, list[list[float]]]:
    """(probability, whether it is so): of each model the best, of the likelier side of each pair."""
    best = accuracy == accuracy.max()
    sides = []
    for a, b in itertools.combinations(range(len(accuracy)), 2):
        p = float(found.p_better[a, b])
        if accuracy[a] != accuracy[b]:
            sides.append(
                [
                    max(p, 1 - p),
                    0.5 if p == 0.5 else float((p > 0.5) == (accuracy[a] > accuracy[b])),
                ]
            )
    return {
        "best": [
            [float(p), float(t)] for p, t in zip(found.p_best, best / best.sum(), strict=True)
        ],
        "pair": sides,
    }


def without_labels(suite: Suite) -> tuple[dict[str, list[float]], list[Case]]:
    """Pairs and regret of the orders without a label, and the posteriors, also of fewer models."""
    rows, rest = drawn(suite, 0, 0)
    pool, accuracy = suite.predicted[:, rest], suite.accuracy
    cases = [raw(suite, 0, rows, rest, referenced) for referenced in (True, False)]
    agreement = agreement_values(pool)[0].mean(axis=1)
    scores = [places(case.found.order) for case in cases]
    scores += [agreement, suite.reference, agreement + suite.reference]
    if suite.known is not None:
        known = suite.known[0].argmax(axis=2)
        beaten = np.zeros(len(pool))
        for i, j, signs in pairs_on_target(known == suite.known[1], known, pool):
            chance = packaged_differences().difference(signs, 0.9)[1]
            beaten[i] += chance
            beaten[j] += 1 - chance
        scores.append(beaten)
    orders = {
        name: [pairs_right(score, accuracy), regret(score, accuracy)]
        for name, score in zip(UNLABELLED, scores, strict=False)
    }
    for size, draw in itertools.product(FEWER, range(3)):
        few = some_of(suite, chosen_models(suite, size, draw, 0))
        cases += [raw(few, 0, rows, rest, referenced, False) for referenced in (True, False)]
    return orders, cases


def chosen_models(suite: Suite, size: int, draw: int, labels: int) -> np.ndarray:
    """So many models of a suite, drawn at random."""
    rng = np.random.default_rng([draw, size, labels, *suite.name.encode()])
    return np.sort(rng.permutation(len(suite.predicted))[:size])


def of_suite(suite: Suite, draws: int, further: int) -> dict[str, Any]:
    """All orders of one suite, mean over the draws; posteriors with what is true; further labels."""
    accuracy = suite.accuracy
    orders: dict[int, dict[str, list[list[float]]]] = {
        n: {name: [] for name in ORDERS} for n in LABELS
    }
    more: list[list[float]] = []
    counted: dict[str, list[float]] = defaultdict(
        list
    )  # pairs that counting ten labels orders, by group of models
    against: list[list[float]] = []  # where labels speak against agreement
    unlabelled, cases = without_labels(suite)
    for draw, labels in itertools.product(range(draws), (*LABELS, MOST)):
        if len(suite.truth) < labels + REST:
            continue
        rows, rest = drawn(suite, draw, labels)
        labelled, truth, pool = (
            suite.predicted[:, rows],
            suite.truth[rows],
            suite.predicted[:, rest],
        )
        both = [raw(suite, labels, rows, rest, referenced) for referenced in (True, False)]
        cases += both
        if draw % 3 == 0:
            for size in FEWER:
                few = some_of(suite, chosen_models(suite, size, draw, labels))
                cases += [
                    raw(few, labels, rows, rest, referenced, False) for referenced in (True, False)
                ]
        if labels == MOST:
            continue
        right = (labelled == truth).mean(axis=1)
        found, alone = (case.found for case in both)
        agreement = agreement_values(pool)[0].mean(axis=1)
        scores = (right, places(found.order), places(alone.order), right + agreement / (2 * labels),
            right + suite.reference / (2 * labels), right + agreement + suite.reference)  # fmt: skip
        for name, score in zip(ORDERS, scores, strict=True):
            orders[labels][name].append([pairs_right(score, accuracy), regret(score, accuracy)])
        pairwise = agreement_values(suite.predicted[:, np.r_[rows, rest]])[1].mean(axis=1)
        told = pool_of_models.labels_on_agreement(pairwise, labelled == truth)
        if told is not None and told < pool_of_models.AGAINST:
            against.append([labels, *(pairs_right(score, accuracy) for score in (scores[2], right, agreement)),
                            *(regret(score, accuracy) for score in (scores[2], right))])  # fmt: skip
        if labels == LABELS[0]:
            counted[group_of(both[0].models)].append(pairs_right(right, accuracy))
            for size in FEWER:
                models = chosen_models(suite, size, draw, labels)
                if len(np.unique(accuracy[models])) > 1:
                    counted[group_of(size)].append(pairs_right(right[models], accuracy[models]))
        if labels == LABELS[0] and draw < further:
            first = rows_to_label(pool, ranked(suite, rows, rest).p_best, MORE, seed=draw)
            after = [
                further_ranked(suite, rows, rest, some, some is first).order
                for some in (first, np.arange(MORE))
            ]
            more.append(
                [
                    measured(places(order), accuracy)
                    for order in after
                    for measured in (regret, pairs_right)
                ]
            )
    means = {
        n: {name: np.mean(of, axis=0).round(5).tolist() for name, of in some.items()}
        for n, some in orders.items()
    }
    return {"suite": suite.name, "kind": suite.kind, "source": suite.source, "orders": means[LABELS[0]],
        "orders of thirty": means[LABELS[1]], "orders without a label": unlabelled, "cases": cases,
        "against": against,
        "counting": {group: float(np.mean(shares)) for group, shares in counted.items()},
        "further": np.mean(more, axis=0).round(4).tolist() if more else None}  # fmt: skip


def leader_of(case: Case) -> tuple[float, float]:
    """P(best) of the likeliest model, and whether it is the best."""
    first = int(case.found.p_best.argmax())
    return float(case.found.p_best[first]), float(case.accuracy[first] == case.accuracy.max())


Key = tuple[bool, str]


def came_true(cases: Sequence[Case], wanted: set[Key] | None = None) -> CameTrue:
    """The curves of what came true in these cases, of all or some of (with a reference, group of models)."""
    by: dict[tuple[bool, int, str], list[tuple[float, float, str]]] = defaultdict(list)
    for case in cases:
        key = case.referenced, group_of(case.models)
        if (
            len(case.found.by_labels)
            and len(np.unique(case.accuracy)) > 1
            and (wanted is None or key in wanted)
        ):
            by[case.referenced, case.labels, group_of(case.models)].append(
                (*leader_of(case), case.source)
            )
    return CameTrue(
        {key: curve_of(*zip(*rows, strict=True)) for key, rows in sorted(by.items())}, {}, {}
    )


def worth_it(cases: Sequence[Case]) -> dict[str, dict[str, Any]]:
    """Brier score of leaders' P(best) as it came and by curves of all other sources: mean over cases, over sources."""
    scores: dict[Key, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for source in sorted({case.source for case in cases}):
        kept = came_true([case for case in cases if case.source != source])
        for case in cases:
            if (
                case.source != source
                or not len(case.found.by_labels)
                or len(np.unique(case.accuracy)) < 2
            ):
                continue
            said_of, true = leader_of(case)
            after = float(as_came_true(case.found, kept, referenced=case.referenced).p_best.max())
            scores[case.referenced, group_of(case.models)][source].append(
                ((said_of - true) ** 2, (after - true) ** 2)
            )
    out: dict[str, dict[str, Any]] = {}
    for (referenced, group), by_source in sorted(scores.items()):
        of_cases = np.mean([pair for pairs in by_source.values() for pair in pairs], axis=0)
        of_sources = np.mean([np.mean(pairs, axis=0) for pairs in by_source.values()], axis=0)
        out[f"{group}, {'a' if referenced else 'no'} reference"] = {
            "reference": referenced, "models": group, "cases": np.round(of_cases, 4).tolist(),
            "sources": np.round(of_sources, 4).tolist(),
            "kept": bool((of_cases[1] < of_cases[0]) and (of_sources[1] < of_sources[0]))}  # fmt: skip
    return out


def judged(results: list[dict[str, Any]], wanted: set[Key]) -> None:
    """What was said of each suite once P(best) is held against the curves of all other sources."""
    every = [case for one in results for case in one["cases"]]
    kept = {
        source: came_true([case for case in every if case.source != source], wanted)
        for source in {case.source for case in every}
    }
    for one in results:
        numbers: dict[str, list[list[float]]] = defaultdict(list)
        bound: dict[str, list[list[float]]] = defaultdict(list)
        for case in one["cases"]:
            end = f"{'' if case.referenced else ', no reference'}{SAID[case.labels]}"
            true = case.found
            if len(true.by_labels):
                true = as_came_true(true, kept[case.source], referenced=case.referenced)
            group = "" if case.whole else f", {group_of(case.models)}"
            leaders = [*leader_of(case)], [float(true.p_best.max()), leader_of(case)[1]]
            for name, leader in zip(("leader as it came", "leader"), leaders, strict=True):
                numbers[f"{name}{end}{group}"].append(leader)
            if not case.whole:
                continue
            for name, value in said(true, case.accuracy).items():
                numbers[f"{name}{end}"] += value
            for name, value in said(case.found, case.accuracy).items():
                if name == "pair":
                    numbers[f"{name} as it came{end}"] += value
            if len(true.draws) and len(true.by_labels):
                first, best = true.order[0], case.accuracy.max()
                most, held = true.cost(first)[1], true.not_excluded()
                lost = float(best - case.accuracy[first])
                row = [
                    lost <= most + 1e-9,
                    most,
                    case.accuracy.argmax() in held,
                    len(held) / len(case.accuracy),
                ]
                bound[end.removeprefix(", ") or "ten labels"].append(
                    [float(value) for value in row]
                )
        one["said"] = dict(numbers)
        one["bound"] = {
            name: np.mean(rows, axis=0).round(4).tolist() for name, rows in bound.items()
        }


def mean_interval(values: Any) -> list[float]:
    """Mean and both ends of Student's interval."""
    values = np.asarray(values, dtype=float)
    half = 0.0
    if len(values) > 1:
        half = float(
            student_quantile(0.95, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
        )
    return [
        round(float(one), 3) for one in (values.mean(), values.mean() - half, values.mean() + half)
    ]


def groups_of(results: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group -> its suites: those that were made, kinds, and sources of several suites."""
    made = ("inoc", "nat", "text")
    out = {
        "all suites": results,
        "all made suites": [one for one in results if one["kind"] in made],
    }
    for what in ("kind", "source"):
        for name in sorted({one[what] for one in results}):
            some = [one for one in results if one[what] == name]
            if len(some) > 1:
                out[f"{what} {name}"] = some
    return out


def tenths(suites: list[Any], least: int = 100) -> list[dict[str, float]]:
    """Said and true of each tenth that holds at least so many cases; their difference's standard error over suites."""
    numbers = np.concatenate(
        [np.reshape(np.asarray(of_suite, dtype=float), (-1, 2)) for of_suite in suites]
    )
    suite_of = np.repeat(np.arange(len(suites)), [len(of_suite) for of_suite in suites])
    at, out = np.minimum((10 * numbers[:, 0]).astype(int), 9), []
    for tenth in range(10):
        inside = at == tenth
        if inside.sum() >= least:
            p, true = numbers[inside].T
            gap = np.bincount(suite_of[inside], p - true - (p - true).mean())
            row = {
                "from": tenth / 10,
                "cases": int(inside.sum()),
                "said": 100 * p.mean(),
                "true": 100 * true.mean(),
            }
            out.append(
                {**row, "error": 100 * float(np.sqrt(np.square(gap).sum())) / int(inside.sum())}
            )
    return out


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Differences from counting by group, calibration, what further labels were worth."""
    out: dict[str, Any] = {"orders": {}, "orders of thirty": {}}
    further: dict[str, Any] = {}
    bounds: dict[str, Any] = {}
    for group, some in groups_of(results).items():
        for labels in ("orders", "orders of thirty"):
            plain = np.array([one[labels][ORDERS[0]] for one in some])
            out[labels][group] = {"suites": len(some)}
            for name in ORDERS:
                own = np.array([one[labels][name] for one in some])
                out[labels][group][name] = {"pairs": round(100 * float(own[:, 0].mean()), 2),
                    "regret": round(float(own[:, 1].mean()), 2),
                    "regret ratio": round(float(own[:, 1].mean() / max(plain[:, 1].mean(), 1e-9)), 3),
                    "beside counting": mean_interval(100 * (own - plain)[:, 0])}  # fmt: skip
        settings = sorted({name for one in some for name in one["bound"]})
        bounds[group] = {
            name: np.mean([one["bound"][name] for one in some if name in one["bound"]], axis=0)
            .round(4)
            .tolist()
            for name in settings
        }
        if all(one["further"] for one in some):
            gaps = np.array([one["further"] for one in some])
            further[group] = {
                "suites": len(some),
                "suggested less random": mean_interval(gaps[:, 0] - gaps[:, 2]),
                "pairs": mean_interval(100 * (gaps[:, 1] - gaps[:, 3])),
            }
    calibration = {}
    names = list(dict.fromkeys(name for one in results for name in one["said"]))
    for group, some in (("made and published", results), *groups_of(results).items()):
        if "source" in group or group == "all suites":
            continue
        whole = group == "made and published"
        wanted = [name for name in names if whole or not ("leader" in name or "as it came" in name)]
        calibration[group] = {
            name: tenths(
                [suite["said"].get(name, []) for suite in some], 40 if "leader" in name else 100
            )
            for name in wanted
        }
    conflicts = {}
    for labels in LABELS:
        rows = [
            (one["source"], row[1:])
            for one in results
            for row in one["against"]
            if row[0] == labels
        ]
        if rows:
            means = np.mean([row for _, row in rows], axis=0).round(4).tolist()
            conflicts[str(labels)] = {
                "cases": len(rows),
                "sources": len({source for source, _ in rows}),
                "means": means,
            }
    out["labels against agreement"] = conflicts
    return {
        **out,
        **of_unlabelled(results),
        "bounds": bounds,
        "calibration": calibration,
        "further": further,
    }


def of_unlabelled(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Orders without a label by group, and what is said of them: means over suites, and over sources."""
    table: dict[str, Any] = {}
    for group, some in groups_of(results).items():
        table[group] = {"suites": len(some)}
        for name in UNLABELLED:
            own = [
                one["orders without a label"][name]
                for one in some
                if name in one["orders without a label"]
            ]
            if own:
                pairs, lost = np.mean(own, axis=0)
                table[group][name] = {
                    "pairs": round(100 * float(pairs), 2),
                    "regret": round(float(lost), 2),
                }
    rows: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for one in results:
        for case in (
            case for case in one["cases"] if case.labels == 0 and len(np.unique(case.accuracy)) > 1
        ):
            name = "reference" if case.referenced else "no reference"
            score = places(case.found.order)
            if case.found.p_better.max() > 0.5 + 1e-9:
                rows[name][group_of(case.models)][one["source"]].append(
                    pairs_right(score, case.accuracy)
                )
    told: dict[str, Any] = {
        "suites": len(results),
        "sources": len({one["source"] for one in results}),
    }
    for name, groups in rows.items():
        told[name] = {
            group: round(float(np.mean([np.mean(values) for values in sources.values()])), 3)
            for group, sources in sorted(groups.items())
        }
    ten: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in results:
        for group, share in one["counting"].items():
            ten[group][one["source"]].append(share)
    told["counting ten labels"] = {
        group: round(float(np.mean([np.mean(values) for values in sources.values()])), 3)
        for group, sources in sorted(ten.items())
    }
    return {"orders without a label": table, "what is said of orders without a label": told}


def page(found: Mapping[str, Any]) -> str:
    lines = [
        "# Orders of models without a label, and from ten",
        "",
        f"`{found['command']}`. Pairs rightly ordered in %, in brackets the mean difference from counting the right",
        "answers with its 95 % interval over suites; regret of the first model, as a share of that by counting.",
        "",
    ]
    for labels, title in (("orders", "Ten labels"), ("orders of thirty", "Thirty labels")):
        rows = []
        for group, cells in found[labels].items():
            row = [group, str(cells["suites"])]
            for name in ORDERS:
                mean, low, high = cells[name]["beside counting"]
                gap = "" if name == ORDERS[0] else f" ({mean:+.1f} [{low:+.1f}, {high:+.1f}])"
                ratio = "" if name == ORDERS[0] else f" ({cells[name]['regret ratio']:.2f})"
                row.append(f"{cells[name]['pairs']:.1f}{gap}, {cells[name]['regret']:.2f}{ratio}")
            rows.append(row)
        lines += [f"## {title}", "", *kit.table(["group", "suites", *ORDERS], rows)]
    rows = []
    for group, cells in found["orders without a label"].items():
        row = [group, str(cells["suites"])]
        row += [f"{cells[name]['pairs']:.1f}, {cells[name]['regret']:.2f}" if name in cells else "-"
                for name in UNLABELLED]  # fmt: skip
        counted = found["orders"][group][ORDERS[0]]
        rows.append([*row, f"{counted['pairs']:.1f}, {counted['regret']:.2f}"])
    told = found["what is said of orders without a label"]
    lines += [
        "## No label",
        "",
        "Pairs rightly ordered in %, regret. The prior of differences (`benchmarks/natural/pairs.py`) was fitted on",
        "most of these sources, and is flattered.",
        "",
        *kit.table(["group", "suites", *UNLABELLED, "counting ten labels"], rows),
        f"Each of {told['sources']} sources of one weight, pairs rightly ordered in %.",
        "",
        *kit.table(
            ["models", "with a reference", "without", "counting ten labels"],
            [[name, *(f"{100 * told[what][name]:.1f}" if name in told[what] else "open"
                      for what in ("reference", "no reference", "counting ten labels"))] for name in GROUPS],
        ),
    ]  # fmt: skip
    lines += [
        "## Where labels speak against agreement",
        "",
        f"Draws in which the labels speak against the order of agreement (z below {pool_of_models.AGAINST}); no "
        "reference.",
        "",
    ]
    header = ["labels", "cases", "sources", "rank, pairs", "counting, pairs", "agreement, pairs", "rank, regret",
              "counting, regret"]  # fmt: skip
    rows = [
        [labels, str(one["cases"]), str(one["sources"]), *(f"{100 * share:.1f}" for share in one["means"][:3]),
         *(f"{lost:.2f}" for lost in one["means"][3:])]
        for labels, one in found["labels against agreement"].items()
    ]  # fmt: skip
    lines += kit.table(header, rows)
    lines += [
        "## What picking the first costs, and the best model",
        "",
        "How often the first lacked no more than the bound that was said at 90 % (which is in points), and how often",
        "the models that were not excluded at 95 % held the best (their share of all models).",
        "",
    ]
    rows = [
        [group, name, f"{100 * kept:.1f}", f"{100 * most:.2f}", f"{100 * held:.1f}", f"{100 * size:.0f}"]
        for group, settings in found["bounds"].items() if "source" not in group
        for name, (kept, most, held, size) in settings.items()
    ]  # fmt: skip
    header = [
        "group",
        "of",
        "bound held, %",
        "bound, points",
        "best among them, %",
        "of all models, %",
    ]
    lines += kit.table(header, rows, "llr")
    lines += [
        "## What was said, and what was true",
        "",
        "Tenths that hold at least 100 cases (40 of leaders), in %; +- is the standard error of the difference over",
        "suites, whose draws are alike. Leader: the likeliest model; as it came: before P(best) was held against what",
        "came true in the suites of all other sources.",
        "",
    ]
    for group, kinds in found["calibration"].items():
        rows = [
            [f"P({name})", f"{one['from']:.1f}", f"{one['cases']:,}", f"{one['said']:.1f}", f"{one['true']:.1f}",
             f"{one['said'] - one['true']:+.1f} +- {one['error']:.1f}"]
            for name, tenths in kinds.items() for one in tenths
        ]  # fmt: skip
        header = ["of", "tenth from", "cases", "said", "true", "difference"]
        lines += [f"### {group}", "", *kit.table(header, rows)]
    lines += [
        "## Brier score of P(best) of the likeliest model",
        "",
        "As it came, and held against what came true in all other sources: mean over cases, over sources. A curve is",
        "kept where both are lower, which was decided on all sources.",
        "",
    ]
    rows = [
        [
            name,
            *(f"{number:.4f}" for number in (*one["cases"], *one["sources"])),
            "yes" if one["kept"] else "no",
        ]
        for name, one in found["curves"].items()
    ]
    header = ["models", "cases, as it came", "after", "sources, as it came", "after", "kept"]
    lines += kit.table(header, rows)
    rows = []
    for group, one in found["further"].items():
        mean, low, high = one["suggested less random"]
        gain, least, largest = one["pairs"]
        rows.append([group, str(one["suites"]), f"{mean:+.2f}", f"[{low:+.2f}, {high:+.2f}]",
                     f"{gain:+.1f}", f"[{least:+.1f}, {largest:+.1f}]"])  # fmt: skip
    lines += ["## Ten further labels: suggested rows less random rows", ""]
    lines += kit.table(
        ["group", "suites", "regret, points", "95 %", "pairs rightly ordered, %", "95 %"], rows
    )
    if "constants" in found:
        lines += [
            "## Constants of the prior, whole sources left out",
            "",
            found["constants"]["about"],
            "",
        ]
        rows = [
            [name, f"{one['loss']:.4f}", f"{one['pairs']:.1f}", str(one["chosen"])]
            for name, one in found["constants"]["settings"].items()
        ]
        header = [
            "constants",
            "log loss of pairs",
            "pairs rightly ordered",
            "sources that choose them",
        ]
        lines += kit.table(header, rows)
    return kit.joined(lines)


def constants(every: list[Suite], draws: int) -> dict[str, Any]:
    """Each setting of the prior on all suites; the best of all other sources, for each source."""
    sources = sorted({one.source for one in every})
    loss, pairs = (np.zeros((len(CONSTANTS), len(sources))) for _ in range(2))
    by_pattern = importlib.import_module(
        "oodometer.rankings.posterior"
    )  # its function has the same name
    names = {name for changed in CONSTANTS.values() for name in changed}
    place = {name: outcome if hasattr(outcome, name) else by_pattern for name in names}
    shipped = {name: getattr(place[name], name) for name in names}
    for number, changed in enumerate(CONSTANTS.values()):
        for name, value in {**shipped, **changed}.items():
            setattr(place[name], name, value)
        for at, source in enumerate(sources):
            values, right = [], []
            for suite in (one for one in every if one.source == source):
                for draw in range(draws):
                    rows, rest = drawn(suite, draw)
                    found = ranked(suite, rows, rest)
                    right.append(pairs_right(places(found.order), suite.accuracy))
                    p, true = np.array(said(found, suite.accuracy)["pair"]).T
                    p = np.clip(p, 1e-3, 1 - 1e-3)
                    values.append(-(true * np.log(p) + (1 - true) * np.log(1 - p)).mean())
            loss[number, at], pairs[number, at] = np.mean(values), 100 * np.mean(right)
    for name, value in shipped.items():
        setattr(place[name], name, value)
    best = [int(np.delete(loss, at, axis=1).mean(axis=1).argmin()) for at in range(len(sources))]
    left = loss[best, range(len(sources))].mean(), pairs[best, range(len(sources))].mean()
    about = (
        f"{draws} draws a suite, {len(sources)} sources of one weight each. Constants that are chosen on all other "
        f"sources have a log loss of {left[0]:.4f} and order {left[1]:.1f} % of pairs on the source left out."
    )
    settings = {
        name: {
            "loss": loss[i].mean(),
            "pairs": pairs[i].mean(),
            "chosen": best.count(i),
            "by_source": loss[i].tolist(),
        }
        for i, name in enumerate(CONSTANTS)
    }
    return {"about": about, "sources": sources, "settings": settings}


def measure(given: argparse.Namespace) -> kit.Result:
    outcome.MOST_CLASSES = (
        outcome._ORDERED_CLASSES
    )  # of more the class posterior moves no order and takes seconds
    every = list(suites(kit.data_folder()))[:: given.only or 1]
    if given.constants:
        return {**given.before, "constants": constants(every, given.draws)}
    results = []
    for suite in every:
        results.append(of_suite(suite, given.draws, min(given.further, given.draws)))
        print(suite.name, results[-1]["orders"]["rank"], file=sys.stderr, flush=True)
    worth = worth_it([case for one in results for case in one["cases"]])
    wanted = {(one["reference"], one["models"]) for one in worth.values() if one["kept"]}
    judged(results, wanted)
    found = {**summary(results), "curves": worth}
    by_suite = [
        {
            key: value
            for key, value in one.items()
            if key not in ("said", "cases", "counting", "against")
        }
        for one in results
    ]
    command = (
        f"python -m benchmarks.rank_suites --draws {given.draws} --further {given.further} --fit"
    )
    if given.fit:
        kit.write(PACKAGED, as_json(results, found, command, wanted))
    return {**given.before, "command": command, **found, "suites": by_suite}


def as_json(
    results: list[dict[str, Any]], found: Mapping[str, Any], command: str, wanted: set[Key]
) -> str:
    """What came true in all suites, and how often orders without a label were right, for the package."""
    kept = came_true([case for one in results for case in one["cases"]], wanted)
    curves = [
        {"reference": referenced, "labels": labels, "models": group,
         "knots": [{"said": round(float(p), 4), "true": round(float(true), 4)} for p, true in zip(*curve, strict=True)]}
        for (referenced, labels, group), curve in kept.curves.items()
    ]  # fmt: skip
    told = dict(found["what is said of orders without a label"])
    told["suggested less random"] = found["further"]["all suites"]["suggested less random"]
    told["suggested suites"] = found["further"]["all suites"]["suites"]
    about = {"made_by": command, "suites": told.pop("suites"),
             "sources": told.pop("sources")}  # fmt: skip
    return json.dumps({**about, "orders": told, "curves": curves}, indent=1) + "\n"


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "rank_suites",
            measure,
            page,
            draws=(6, "draws a suite"),
            further=(6, "draws with ten further labels"),
            fit=(False, "write what came true into the package, too"),
            constants=(False, "other constants of the prior"),
            only=(0, "each n-th suite alone, for a quick look; nothing is kept"),
        )
    )
