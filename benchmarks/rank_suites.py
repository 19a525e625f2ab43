"""How well `rank` orders models of known order from a few labels, beside counting; writes results/rank_suites.*.

    python -m benchmarks.rank_suites                  # 40 draws a suite, some minutes of processor time
    python -m benchmarks.rank_suites --constants      # other constants of the prior, whole sources left out

Needs $OODOMETER_DATA: suites of models that we trained (suites/*.npz), published models of CIFAR-10.1 and ImageNetV2
(outputs), of which 5 or 10 are drawn, and tables with features (natural, natural4), on half of whose references seven
models of scikit-learn are trained here (kind `more`, sources that suites/ has not). Of each suite ten (and thirty)
labelled rows are drawn at random, and up to 1,000 others without labels. The orders: right answers; ours, by the call
that the verb makes, with the reference and without; right answers with ties by agreement with the plurality, and by
reference accuracy; the plain sum of the three. Pairs of equal truth are left out, ties count one half; regret is that
of the first model (the mean of those tied for it) in points of accuracy. Then ten further labels, suggested or random.
Intervals: 95 %, Student's t over the suites of a group.
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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import kit
from oodometer.inference.clusters import student_quantile
from oodometer.rankings import Posterior, agreement_values, outcome, rows_to_label

ORDERS = ("counting", "rank", "rank, no reference", "ties by agreement", "ties by reference", "plain sum")
LABELS, POOL, MORE = (10, 30), 1000, 10
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
    "nothing tells in half": {"_REGIMES": ((0.5, *NOTHING[1:]), (0.25, *BOTH[1:]), (0.25, *AGREEMENT[1:]))},
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
        here, there = here / here.sum(axis=2, keepdims=True), there / there.sum(axis=2, keepdims=True)
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
                (file[f"{part}_probabilities"], file[f"{part}_labels"]) for part in ("target", "reference")
            )
            yield Suite.of(path.stem, str(file["source"]), *target, *reference)
    rng = np.random.default_rng(7)
    with np.load(data / "outputs" / "cifar10_1_predictions.npz") as file:
        known = (file["preds_original"] == file["labels_original_test"]).mean(axis=1)
        sets = [("cifar10.1", v, file[f"preds_{v}"], file[f"labels_{v}"], known) for v in ("v4", "v6")]
    with np.load(data / "outputs" / "imagenetv2_top1.npz") as file:
        old = "imagenet-validation-original"
        known = (file[f"P_{old}"] == file[f"y_{old}"]).mean(axis=1)
        names = ("imagenetv2-a-44", "imagenetv2-b-33", "imagenetv2-c-12")
        sets += [("imagenetv2", v, file[f"P_{v}"], file[f"y_{v}"], known) for v in names]
    for (source, version, said, truth, known), models, number in itertools.product(sets, (5, 10), range(3)):
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
    for path in sorted([*(data / "natural").glob("*+features*"), *(data / "natural4").glob("*+features*")]):
        source = path.name.split("+")[0]
        if source in there:
            continue
        with tarfile.open(path) as tar:
            files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}  # type: ignore
        groups: dict[str, str] = {}  # each once: a case is a group and a model
        for name in sorted(name for name in files if name.endswith("truth.json")):
            groups.setdefault(json.loads(files[name])["group"], name.removesuffix("truth.json"))
        for number, (group, case) in enumerate(list(groups.items())[:5]):
            tables = [
                read_table(io.BytesIO(files[f"{case}{part}.parquet"])) for part in ("reference", "target", "labels")
            ]
            features, asked = (np.array(table["features"].to_pylist(), dtype=float) for table in tables[:2])
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
                pipe = make_pipeline(SimpleImputer(), StandardScaler(), model).fit(features[train], y[train])
                for part, rows in enumerate((asked, features[test])):
                    p[part, at] = np.zeros((len(rows), len(names)))
                    p[part, at][:, pipe.classes_] = pipe.predict_proba(rows)
            yield Suite.of(f"more_{source}_{group}", source, np.stack(p[0]), t, np.stack(p[1]), y[test])


def ranked(suite: Suite, rows: np.ndarray, rest: np.ndarray, *, referenced: bool = True) -> Posterior:
    """What the verb believes of the models with these labelled rows, the rest as the pool, and the reference."""
    ground = {"known": suite.known, "reference": suite.reference} if referenced else {}
    return outcome.beliefs_of(suite.answers[:, np.r_[rows, rest]], suite.truth[rows], draws=1, **ground)[0]


def further_ranked(suite: Suite, rows: np.ndarray, rest: np.ndarray, some: np.ndarray, chosen: bool) -> Posterior:
    """The same with labels of some of the rest, which were chosen or not."""
    left, more = np.setdiff1d(np.arange(len(rest)), some), np.r_[rows, rest[some]]
    ground = {"known": suite.known, "reference": suite.reference, "draws": 1}
    answers, by_choice = suite.answers[:, np.r_[more, rest[left]]], np.arange(len(more)) >= len(rows)
    return outcome.beliefs_of(answers, suite.truth[more], chosen=by_choice if chosen else None, **ground)[0]


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
    return float(np.where(np.abs(gap) < 1e-9, 0.5, np.sign(gap) == np.sign(truth))[truth != 0].mean())


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
            sides.append([max(p, 1 - p), 0.5 if p == 0.5 else float((p > 0.5) == (accuracy[a] > accuracy[b]))])
    return {"best": [[float(p), float(t)] for p, t in zip(found.p_best, best / best.sum(), strict=True)], "pair": sides}


def of_suite(suite: Suite, draws: int, further: int) -> dict[str, Any]:
    """All orders of one suite, mean over the draws; probabilities with what is true; further labels."""
    accuracy = suite.accuracy
    orders: dict[int, dict[str, list[list[float]]]] = {n: {name: [] for name in ORDERS} for n in LABELS}
    kept: dict[str, list[list[float]]] = defaultdict(list)
    bound: list[list[float]] = []
    more: list[list[float]] = []
    for draw, labels in itertools.product(range(draws), LABELS):
        rows, rest = drawn(suite, draw, labels)
        labelled, truth, pool = suite.predicted[:, rows], suite.truth[rows], suite.predicted[:, rest]
        right = (labelled == truth).mean(axis=1)
        found, alone = ranked(suite, rows, rest), ranked(suite, rows, rest, referenced=False)
        agreement = agreement_values(pool)[0].mean(axis=1)
        scores = (right, places(found.order), places(alone.order), right + agreement / (2 * labels),
            right + suite.reference / (2 * labels), right + agreement + suite.reference)  # fmt: skip
        for name, score in zip(ORDERS, scores, strict=True):
            orders[labels][name].append([pairs_right(score, accuracy), regret(score, accuracy)])
        for result, end in ((found, ""), (alone, ", no reference")):
            for name, value in said(result, accuracy).items():
                kept[f"{name}{end}{'' if labels == LABELS[0] else ', thirty labels'}"] += value
        if labels > LABELS[0]:
            continue
        lost, most, held = (
            accuracy.max() - accuracy[found.order[0]],
            *found.cost(found.order[0])[1:],
            found.not_excluded(),
        )
        bound.append([float(lost <= most + 1e-9), most, float(accuracy.argmax() in held), len(held) / len(accuracy)])
        if draw < further:
            first = rows_to_label(pool, found.p_best, MORE, seed=draw)
            both = []
            for some in (first, np.arange(MORE)):
                after = further_ranked(suite, rows, rest, some, some is first)
                both.append(regret(places(after.order), accuracy))
            more.append(both)
    means = {
        n: {name: np.mean(of, axis=0).round(5).tolist() for name, of in some.items()} for n, some in orders.items()
    }
    return {"suite": suite.name, "kind": suite.kind, "source": suite.source, "orders": means[LABELS[0]],
        "orders of thirty": means[LABELS[1]], "said": kept, "bound": np.mean(bound, axis=0).round(4).tolist(),
        "further": np.mean(more, axis=0).round(4).tolist() if more else None}  # fmt: skip


def mean_interval(values: Any) -> list[float]:
    """Mean and both ends of Student's interval."""
    values = np.asarray(values, dtype=float)
    half = 0.0
    if len(values) > 1:
        half = float(student_quantile(0.95, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return [round(float(one), 3) for one in (values.mean(), values.mean() - half, values.mean() + half)]


def groups_of(results: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group -> its suites: those that were made, kinds, and sources of several suites."""
    out = {"all made suites": [one for one in results if one["kind"] in ("inoc", "nat", "text")]}
    for what in ("kind", "source"):
        for name in sorted({one[what] for one in results}):
            some = [one for one in results if one[what] == name]
            if len(some) > 1:
                out[f"{what} {name}"] = some
    return out


def tenths(suites: list[Any], least: int = 100) -> list[dict[str, float]]:
    """Said and true of each tenth that holds at least so many cases; their difference's standard error over suites."""
    numbers = np.concatenate([np.asarray(of_suite) for of_suite in suites])
    suite_of = np.repeat(np.arange(len(suites)), [len(of_suite) for of_suite in suites])
    at, out = np.minimum((10 * numbers[:, 0]).astype(int), 9), []
    for tenth in range(10):
        inside = at == tenth
        if inside.sum() >= least:
            p, true = numbers[inside].T
            gap = np.bincount(suite_of[inside], p - true - (p - true).mean())
            row = {"from": tenth / 10, "cases": int(inside.sum()), "said": 100 * p.mean(), "true": 100 * true.mean()}
            out.append({**row, "error": 100 * float(np.sqrt(np.square(gap).sum())) / int(inside.sum())})
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
        bounds[group] = np.mean([one["bound"] for one in some], axis=0).round(4).tolist()
        if all(one["further"] for one in some):
            gaps = [one["further"][0] - one["further"][1] for one in some]
            further[group] = {"suites": len(some), "suggested less random": mean_interval(gaps)}
    calibration = {}
    for group, some in (("made and published", results), *groups_of(results).items()):
        if "source" not in group:
            calibration[group] = {name: tenths([suite["said"][name] for suite in some]) for name in some[0]["said"]}
    return {**out, "bounds": bounds, "calibration": calibration, "further": further}


def page(found: Mapping[str, Any]) -> str:
    lines = [
        "# Orders of models from ten labels",
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
    lines += [
        "## What picking the first costs, and the best model",
        "",
        "How often the first lacked no more than the bound that was said at 90 % (which is in points), and how often",
        "the models that were not excluded at 95 % held the best (their share of all models). Ten labels, a reference.",
        "",
    ]
    rows = [
        [group, f"{100 * kept:.1f}", f"{100 * most:.2f}", f"{100 * held:.1f}", f"{100 * size:.0f}"]
        for group, (kept, most, held, size) in found["bounds"].items()
    ]
    lines += kit.table(["group", "bound held, %", "bound, points", "best among them, %", "of all models, %"], rows)
    lines += [
        "## What was said, and what was true",
        "",
        "Tenths that hold at least 100 cases, in %; +- is the standard",
    ]
    lines += ["error of the difference over suites, whose draws are alike.", ""]
    for group, kinds in found["calibration"].items():
        rows = [
            [f"P({name})", f"{one['from']:.1f}", f"{one['cases']:,}", f"{one['said']:.1f}", f"{one['true']:.1f}",
             f"{one['said'] - one['true']:+.1f} +- {one['error']:.1f}"]
            for name, tenths in kinds.items() for one in tenths
        ]  # fmt: skip
        header = ["of", "tenth from", "cases", "said", "true", "difference"]
        lines += [f"### {group}", "", *kit.table(header, rows)]
    rows = []
    for group, one in found["further"].items():
        mean, low, high = one["suggested less random"]
        rows.append([group, str(one["suites"]), f"{mean:+.2f}", f"[{low:+.2f}, {high:+.2f}]"])
    lines += ["## Ten further labels: suggested rows less random rows, regret in points", ""]
    lines += kit.table(["group", "suites", "mean", "95 %"], rows)
    if "constants" in found:
        lines += ["## Constants of the prior, whole sources left out", "", found["constants"]["about"], ""]
        rows = [
            [name, f"{one['loss']:.4f}", f"{one['pairs']:.1f}", str(one["chosen"])]
            for name, one in found["constants"]["settings"].items()
        ]
        header = ["constants", "log loss of pairs", "pairs rightly ordered", "sources that choose them"]
        lines += kit.table(header, rows)
    return kit.joined(lines)


def constants(every: list[Suite], draws: int) -> dict[str, Any]:
    """Each setting of the prior on all suites; the best of all other sources, for each source."""
    sources = sorted({one.source for one in every})
    loss, pairs = (np.zeros((len(CONSTANTS), len(sources))) for _ in range(2))
    by_pattern = importlib.import_module("oodometer.rankings.posterior")  # its function has the same name
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
        name: {"loss": loss[i].mean(), "pairs": pairs[i].mean(), "chosen": best.count(i), "by_source": loss[i].tolist()}
        for i, name in enumerate(CONSTANTS)
    }
    return {"about": about, "sources": sources, "settings": settings}


def measure(given: argparse.Namespace) -> kit.Result:
    outcome.MOST_CLASSES = outcome._ORDERED_CLASSES  # of more the class posterior moves no order and takes seconds
    every = list(suites(kit.data_folder()))[:: given.only or 1]
    if given.constants:
        return {**given.before, "constants": constants(every, given.draws)}
    results = []
    for suite in every:
        results.append(of_suite(suite, given.draws, min(given.further, given.draws)))
        print(suite.name, results[-1]["orders"]["rank"], file=sys.stderr, flush=True)
    by_suite = [{key: value for key, value in one.items() if key != "said"} for one in results]
    command = f"python -m benchmarks.rank_suites --draws {given.draws} --further {given.further}"
    return {**given.before, "command": command, **summary(results), "suites": by_suite}


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "rank_suites",
            measure,
            page,
            draws=(40, "draws a suite"),
            further=(10, "draws with ten further labels"),
            constants=(False, "other constants of the prior"),
            only=(0, "each n-th suite alone, for a quick look; nothing is kept"),
        )
    )
