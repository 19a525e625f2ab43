"""Tables: predictions files to a comparison, and that to one small result."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations, product
from typing import Any

import numpy as np

from oodometer.arrays import Array
from oodometer.metrics import computation_score, didma, nidma
from oodometer.metrics.disca import disca_by_tolerance, disca_terms
from oodometer.metrics.failure_cases import COVERAGES, LEAST, TAIL, case_sizes, falling_accuracy
from oodometer.metrics.ranks import Ranks
from oodometer.metrics.resampling import REPLICATES, generator, rank_bins
from oodometer.metrics.risk_coverage import jointly_resampled, replicated
from oodometer.predictions import Predictions
from oodometer.store import read_predictions
from oodometer.verbs.compare import compare
from oodometer.verbs.compare_differences import SURE
from oodometer.version import __version__

from ..base import Progress, Workspace, part_of
from ..kit.tables import rounded
from .lineup import Entry

CASES = {"tail": 1, "start": 2, "middle": 3, "end": 4, "often": 5, "strong": 6}
EFFECTS = (0.1, 0.2)
"""True inversions, in accuracy, at which the power of the search is simulated."""
_CHANCE = 2000  # curves of chance from which a p-value is read: few enough for a moment, many enough for twenty looks
_SAMPLES = 50  # simulated sets of rows for each model, case and inversion
_TENTH = len(COVERAGES) // 10
_LEAD = 0.01  # of AUC, the true lead of the model with the worse tail
_TAIL_LEAST = 0.005  # of accuracy, from which on `compare` speaks of a tail


class Steps:
    """Rows in each step of coverage of a published curve, and the nearest accuracy of the steps that never rises."""

    def __init__(self, curve: Mapping[str, Any], rows: int) -> None:
        answered = np.ceil(rows * COVERAGES - 1e-9)
        self.rows = np.diff(answered, prepend=0.0)
        # errors of a tie are shares of rows
        right = np.diff(np.asarray(curve["y"]) * answered, prepend=0.0)
        self.falling = _falling(np.clip(right, 0, self.rows), self.rows)


def _falling(right: Array, rows: Array) -> Array:
    """The nearest accuracy that never rises; a step without rows has that of the step before."""
    used = rows > 0
    accuracy = np.zeros(len(rows))
    accuracy[used] = falling_accuracy(right[used], rows[used])
    return accuracy[np.maximum.accumulate(np.where(used, np.arange(len(rows)), 0))]


def search_of(
    models: Sequence[Mapping[str, Any]],
    sets: Sequence[str],
    seed: int,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """p-values of cases 2 to 6 for each model and set, from 2,000 curves of chance (``observed``), and how often
    `compare` would see a case that is truly there by an inversion of each size (``power``), and the curve's ``rise``.
    """
    observed, power, total, done = [], [], len(sets) * (1 + len(CASES) * len(EFFECTS)), 0
    for name in sets:
        steps = [Steps(model[name]["curve"], int(model[name]["rows"])) for model in models]
        for model, curve_steps in zip(models, steps, strict=True):
            observed.append(
                {
                    "model": model["name"],
                    "set": name,
                    **_observed(model[name]["curve"], curve_steps, seed),
                }
            )
        done += 1
        for case, effect in product(CASES, EFFECTS):
            pairs = [
                power_of(case, step.rows, step.falling, effect, seed, _SAMPLES) for step in steps
            ]
            shares, rises = ([pair[i] for pair in pairs] for i in (0, 1))
            row = {"name": case, "case": CASES[case], "set": name, "effect": effect}
            row |= {
                "power": float(np.mean(shares)),
                "by_model": shares,
                "rise": float(np.mean(rises)),
            }
            power.append(row)
            done += 1
            if progress is not None:
                progress(done, total)
    return {
        "chance": _CHANCE,
        "samples": _SAMPLES,
        "observed": rounded(observed),
        "power": rounded(power),
    }


def _observed(curve: Mapping[str, Any], steps: Steps, seed: int) -> dict[str, Any]:
    seen = case_sizes(np.asarray(curve["y"])[None])
    chance = case_sizes(_curves(steps.rows, steps.falling, _CHANCE, generator(seed, "chance")))
    cases = {}
    for case, size in seen.items():
        reached = 1 + int((chance[case] >= size[0] - 1e-9).sum())
        cases[case] = {
            "size": float(size[0]),
            "p": reached / (1 + _CHANCE) if size[0] > LEAST[case] else 1.0,
        }
    return cases


def _curves(rows: Array, accuracy: Array, count: int, rng: np.random.Generator) -> Array:
    """Accuracy at each coverage of samples with these accuracies of the steps, (replicate, coverage)."""
    right = rng.binomial(rows.astype(np.int64), np.clip(accuracy, 0, 1), size=(count, len(rows)))
    return np.asarray(np.cumsum(right, axis=1) / np.cumsum(rows))


def inverted(case: str, rows: Array, accuracy: Array, effect: float) -> Array:
    """Accuracies of the steps of coverage with a true inversion of a size where the case is looked for."""
    out = np.array(accuracy, dtype=np.float64)
    if case in ("start", "strong", "middle"):
        at = 2 * _TENTH if case == "middle" else 0
        after = slice(at + _TENTH, at + 2 * _TENTH)
        out[at : at + _TENTH] = np.average(accuracy[after], weights=rows[after]) - effect
    elif case == "end":
        out[-_TENTH:] = np.average(accuracy[:-_TENTH], weights=rows[:-_TENTH]) + effect
    elif case == "often":
        half = len(out) // 2
        out[:half:2] = accuracy[1 : half + 1 : 2] - effect
    else:
        raise ValueError(case)
    return np.clip(out, 0, 1)


def power_of(
    case: str, rows: Array, accuracy: Array, effect: float, seed: int, samples: int
) -> tuple[float, float]:
    """How often a case that is there is seen, beyond 200 curves of chance fitted anew, and how large it truly is."""
    rng, seen = generator(seed, f"{case} {effect:g}"), 0
    if case == "tail":
        # case 1: two models, the one less accurate by ``effect`` in the first fifth and ahead by 1 point of AUC
        first = COVERAGES <= TAIL + 1e-9
        worse, better = np.array(accuracy), np.array(accuracy)
        worse[first] = np.clip(accuracy[first] - effect, 0, 1)
        lost = float(_mean(accuracy * rows, rows) - _mean(worse * rows, rows)) + _LEAD
        better[~first] -= lost / float(_mean(np.where(first, 0.0, rows), rows))
        better = np.clip(better, 0, 1)
        for _ in range(samples):
            right = [
                rng.binomial(rows.astype(np.int64), accuracies) for accuracies in (worse, better)
            ]
            a, b = (_resampled(rows, hits, rng) for hits in right)
            share = float(((_mean(*b, first) > _mean(*a, first)) & (_mean(*a) > _mean(*b))).mean())
            gap = float(_mean(right[1], rows, first) - _mean(right[0], rows, first))
            seen += bool(gap >= _TAIL_LEAST and share >= SURE)
        return seen / samples, float(
            _mean(better * rows, rows, first) - _mean(worse * rows, rows, first)
        )
    truth = inverted(case, rows, accuracy, effect)
    expected = case_sizes((np.cumsum(truth * rows) / np.cumsum(rows))[None])[case]
    curves = _curves(rows, truth, samples, rng)
    right = np.diff(curves * np.cumsum(rows), prepend=0.0, axis=1)
    for size, hits in zip(case_sizes(curves)[case], right, strict=True):
        chance = case_sizes(_curves(rows, _falling(hits, rows), REPLICATES, rng))[case]
        seen += bool(size > max(LEAST[case], float(chance.max())))
    return seen / samples, float(expected[0])


def _resampled(rows: Array, right: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Correct rows of each step in bootstrap replicates, and all rows, (replicate, step)."""
    hits = rng.poisson(right, size=(REPLICATES, len(rows)))
    return hits, hits + rng.poisson(rows - right, size=hits.shape)


def _mean(right: Array, rows: Array, steps: Array | slice = slice(None)) -> Array:
    """Mean accuracy over coverage, or over some steps of it, of correct rows and rows by step."""
    accuracy = np.cumsum(right, axis=-1) / np.maximum(np.cumsum(rows, axis=-1), 1)
    return np.asarray(accuracy[..., steps].mean(axis=-1))


RANKED = ("accuracy", "auc_coverage", "disca")
SIDE = "coverage_at_risk"
"""The third measure, which says with whom it sides where two rankings part."""
MEAN_B = "b"
"""Mean over the tolerances of the confidence at which accuracy first falls below each."""
# the paper's, over which b is averaged
TOLERANCES = tuple(percent / 100 for percent in range(55, 100, 5))
_ROUNDS = 50  # of 200 replicates each: 10,000, so that one among ninety looks can be beyond chance


@dataclass(frozen=True)
class Shares:
    """Shares of replicates on one set, the first model against the second: ``better`` by metric (or by the mean b over
    all tolerances), ``parted`` by two metrics, ``tail``: more AUC, less accuracy over the first fifth; ``tail_seen`` in
    the sample. ``error``: standard deviation of the difference of two models over replicates, by metric.
    """

    models: Sequence[str]
    replicates: int
    better: Mapping[str, Array]
    error: Mapping[str, Array]
    parted: Mapping[tuple[str, str], Array]
    tail: Array
    tail_seen: Array

    def of_pair(self, preferred: Mapping[str, str]) -> dict[str, Any]:
        """The share in which two metrics part so, and in which the third measure sides with the first of them."""
        (first, a), (second, b) = preferred.items()
        pair = self.models.index(a), self.models.index(b)
        share = {
            "share": float(self.parted[first, second][pair]),
            "with_first": float(self.better[SIDE][pair]),
        }
        return {"preferred": preferred, **share, "error": float(self.error[SIDE][pair])}


def shares_of(
    workspace: Workspace,
    models: Sequence[str],
    name: str,
    settings: Mapping[str, Any],
    progress: Progress,
) -> Shares:
    """All shares of the models on a set, from their predictions files; every replicate draws the same rows for all."""
    records = [
        read_predictions(workspace.folder / f"predictions/{model}.{name}.parquet")
        for model in models
    ]
    confidences = [np.asarray(record.probabilities).max(axis=1) for record in records]
    verdicts = [record.verdicts for record in records]
    groups = [Ranks.of(*of_model).groups for of_model in zip(confidences, verdicts, strict=True)]
    replicates_of = partial(
        _replicated,
        tolerance=settings["tolerance"],
        weights=tuple(settings["weights"]),
        grid=settings["grid"],
        steps=settings["steps"],
        risk=settings["risk"],
        coverage=settings["coverage"],
    )
    early, shape = COVERAGES[COVERAGES <= TAIL + 1e-9], (len(models), len(models))
    leads = {metric: _Leads(len(models)) for metric in (*RANKED, SIDE, MEAN_B)}
    parted, tail = {pair: np.zeros(shape) for pair in permutations(RANKED, 2)}, np.zeros(shape)
    for number in range(_ROUNDS):
        seed = int(settings["seed"]) * 1000 + number
        curves = jointly_resampled(groups, confidences, verdicts, seed)
        ahead = {}
        for metric, lead in leads.items():
            values = [replicates_of(curve, metric) for curve in curves]
            ahead[metric] = lead.add(np.stack(values, axis=1))
        for metric_a, metric_b in parted:
            parted[metric_a, metric_b] += (
                ahead[metric_a] & ahead[metric_b].transpose(0, 2, 1)
            ).sum(axis=0)
        first = np.stack([c.at_coverages(early).accuracy.mean(axis=1) for c in curves], axis=1)
        tail += (ahead["auc_coverage"] & (first[:, None, :] > first[:, :, None])).sum(axis=0)
        progress(number + 1, _ROUNDS)
    replicates = _ROUNDS * REPLICATES
    return Shares(
        models,
        replicates,
        {metric: lead.better / replicates for metric, lead in leads.items()},
        {metric: lead.error(replicates) for metric, lead in leads.items()},
        {pair: count / replicates for pair, count in parted.items()},
        tail / replicates,
        _tail_seen(groups, early),
    )


class _Leads:
    """How far each model is ahead of each other one by a measure, and how often, summed over replicates."""

    def __init__(self, models: int) -> None:
        self.better, self._sums, self._squares = (np.zeros((models, models)) for _ in range(3))

    def add(self, values: Array) -> Array:
        """Count replicates, axes (replicate, model); where the first of two models is ahead in each."""
        gaps = np.nan_to_num(values[:, :, None] - values[:, None, :])
        self._sums += gaps.sum(axis=0)
        self._squares += (gaps**2).sum(axis=0)
        ahead = np.asarray(values[:, :, None] > values[:, None, :])
        equal = values[:, :, None] == values[:, None, :]
        self.better += (ahead + 0.5 * equal).sum(axis=0)
        return ahead

    def error(self, replicates: int) -> Array:
        """The standard deviation of the leads over so many replicates."""
        variance = self._squares / replicates - (self._sums / replicates) ** 2
        return np.sqrt(np.maximum(variance, 0.0))


def _replicated(curve: Any, metric: str, **options: Any) -> Array:
    """A metric, or the mean b, of every replicate of a curve, shape (replicate,)."""
    if metric != MEAN_B:
        return replicated(curve, metric, **options)
    b = disca_terms(curve, options["grid"], options["steps"], TOLERANCES).b
    return np.asarray(b.mean(axis=1))


def _tail_seen(groups: Sequence[Any], early: Array) -> Array:
    """Of which pairs the first model has more AUC, and less accuracy over the first fifth, in the sample."""
    seen = np.array([rank_bins(group).at_coverages(early).accuracy.mean() for group in groups])
    area = np.array([group.accuracy_sum / group.rows for group in groups])
    return np.asarray((area[:, None] > area[None]) & (seen[None] - seen[:, None] >= _TAIL_LEAST))


FORM = 7  # raise it where the form of the result changes: then the step is done again
WEIGHTS = (0.33, 0.33, 0.33)  # the paper's x, y, z
OPTIMAL_PARAMETERS = 1_000_000  # the paper's example of a device
_SHORT = ("value", "lower", "upper", "level", "kind")
_PARTS = (
    "a",
    "b",
    "fluctuations",
    "penalty",
    "a_coverage",
    "b_coverage",
    "tolerance",
    "never_wrong",
    "by_grid",
)


def tabulate(
    workspace: Workspace,
    scale: str,
    entries: Sequence[Entry],
    about: Mapping[str, Any],
    progress: Progress,
) -> dict[str, Any]:
    """Judge the predictions files; writes all to ``compare.json`` and returns the little that is published."""
    names, seed = [entry.name for entry in entries], int(about["sizes"]["seed"])
    in_domain, out_of_domain = (
        [workspace.folder / f"predictions/{name}.{s}.parquet" for name in names] for s in SETS
    )
    compared = compare(
        in_domain,
        out_of_domain=out_of_domain,
        names=names,
        weights=WEIGHTS,
        seed=seed,
        progress=part_of(progress, 0, 4),
    ).to_dict()
    compared["argv"] = f"oodometer reproduce selective-answering --scale {scale}"
    workspace.write_json("compare.json", compared)
    settings = compared["settings"] | about["sizes"]
    shares = {
        name: shares_of(workspace, names, name, settings, part_of(progress, number, 4))
        for number, name in enumerate(SETS, 1)
    }
    models = [
        _model(workspace, entry, model)
        for entry, model in zip(entries, compared["models"], strict=True)
    ]
    rankings = (compared["rankings"], compared["rankings_out_of_domain"])
    return {
        "form": FORM,
        "paper": "selective-answering",
        "scale": scale,
        "version": __version__,
        "python": platform.python_version(),
        "work": _work(workspace, entries),
        "settings": {
            **{name: value for name, value in about.items() if name != "models"},
            "weights": list(WEIGHTS),
            "grid": "coverage",
            "steps": 100,
            "tolerance": 0.95,
            "optimal_parameters": OPTIMAL_PARAMETERS,
            "didma_weights": [0.5, 0.5],
            "nidma_weights": [0.5, 0.5],
            "replicates": shares["imdb"].replicates,
        },
        "models": models,
        "rankings": {
            name: {metric: [row["model"] for row in by.get(metric, [])] for metric in RANKED}
            for name, by in zip(SETS, rankings, strict=True)
        },
        "disagreements": list(_disagreements(compared["disagreements"], shares)),
        "pairs": [_pair(row, shares) for row in compared["pairs"] if row["metric"] == "disca"],
        "findings": [
            {"set": _SETS[row["domain"]], **{key: row[key] for key in _FINDING}}
            for row in compared["findings"]
        ],
        "tails": list(_tails(shares)),
        "search": search_of(models, SETS, seed, part_of(progress, 3, 4)),
    }


def _work(workspace: Workspace, entries: Sequence[Entry]) -> dict[str, Any]:
    """The cores, and the seconds that all steps took."""
    names = [entry.name for entry in entries]
    steps = [f"vectors-{kind}" for kind in sorted({e.vectors for e in entries if e.vectors})]
    steps += [f"{what}-{name}" for name in names for what in ("train", "predict")]
    again = [training.name for entry in entries for training in entry.again()]
    steps += [f"{what}-{name}" for name in again for what in ("train", "predict")]
    stamps = [workspace.stamp(step) for step in steps]
    return {
        "cores": os.cpu_count(),
        "threads": max(workspace.read_json(f"costs/{name}.json")["threads"] for name in names),
        "seconds": round(sum(stamp["seconds"] for stamp in stamps)),
        "cpu_seconds": round(sum(stamp["cpu_seconds"] for stamp in stamps)),
    }


def _disagreements(
    rows: Sequence[Mapping[str, Any]], shares: Mapping[str, Shares]
) -> Iterator[dict[str, Any]]:
    """Pairs of models that two of the ranked metrics order differently."""
    for row in rows:
        if set(row["metrics"]) <= set(RANKED):
            name = _SETS[row["domain"]]
            pairs = [shares[name].of_pair(pair["preferred"]) for pair in row["pairs"]]
            yield {"set": name, "metrics": row["metrics"], "tau": row["tau"], "pairs": pairs}


def _pair(row: Mapping[str, Any], shares: Mapping[str, Shares]) -> dict[str, Any]:
    """How surely the first of two models has the higher DiSCA."""
    name, a, b = _SETS[row["domain"]], row["a"], row["b"]
    of_set = shares[name]
    at = of_set.models.index(a), of_set.models.index(b)
    return {
        "set": name,
        "a": a,
        "b": b,
        "p_a_better": float(of_set.better["disca"][at]),
        "error": float(of_set.error["disca"][at]),
        "b_error": float(of_set.error[MEAN_B][at]),
    }


def _tails(shares: Mapping[str, Shares]) -> Iterator[dict[str, Any]]:
    """Pairs of models of which the first has more AUC and less accuracy over the first fifth."""
    for name, of_set in shares.items():
        for i, j in np.argwhere(of_set.tail_seen):
            pair = [of_set.models[i], of_set.models[j]]
            yield {"set": name, "models": pair, "share": float(of_set.tail[i, j])}


_FINDING = ("name", "share", "contested", "sentence")
_SETS = {"in_domain": "imdb", "out_of_domain": "sst2"}
SETS = tuple(_SETS.values())


def _model(workspace: Workspace, entry: Entry, judged: Mapping[str, Any]) -> dict[str, Any]:
    cost, stamp = (
        workspace.read_json(f"costs/{entry.name}.json"),
        workspace.stamp(f"train-{entry.name}"),
    )
    energy, parameters = cost["energy"], cost["parameters"]
    joules = None if energy is None else energy["joules"] / energy["rows"]
    model: dict[str, Any] = {
        name: getattr(entry, name) for name in ("name", "stands_for", "family", "kind")
    }
    model |= {"parameters": parameters, "train_seconds": round(stamp["seconds"], 1)}
    model["train_cpu_seconds"] = round(stamp["cpu_seconds"], 1)
    model["predict_seconds_per_1000"] = round(
        1000 * cost["imdb"]["seconds"] / cost["imdb"]["rows"], 2
    )
    model["joules_per_text"] = None if joules is None else round(joules, 4)
    model["energy"] = None if energy is None else {"words": energy["words"]}
    model |= {name: _judged(judged[key]) for key, name in _SETS.items()}
    model["trainings"] = {name: _trainings(workspace, entry, name) for name in SETS}
    # DiDMA and NiDMA in both forms, equal weights; None where DiSCA is undefined or energy was not counted
    in_domain, out_of_domain = (model[name]["disca"] for name in SETS)
    costs = {
        "parameters": computation_score(
            parameters=parameters, optimal_parameters=OPTIMAL_PARAMETERS
        )
    }
    weighed = {}
    for form, computation in {
        **costs,
        "energy": None if joules is None else computation_score(energy=joules),
    }.items():
        first = (
            None
            if computation is None or in_domain is None
            else didma(in_domain["value"], computation)
        )
        second = (
            None if first is None or out_of_domain is None else nidma(first, out_of_domain["value"])
        )
        weighed[form] = rounded({"computation": computation, "didma": first, "nidma": second})
    return {**model, "didma_nidma": weighed}


def _trainings(workspace: Workspace, entry: Entry, name: str) -> dict[str, list[float]]:
    """What every training of a model has on a set, the first one first, by number."""
    files = [f"predictions/{each.name}.{name}.parquet" for each in (entry, *entry.again())]
    trainings = [_of_training(read_predictions(workspace.folder / file)) for file in files]
    by_number = {key: [numbers[key] for numbers in trainings] for key in trainings[0]}
    out: dict[str, list[float]] = rounded(by_number)
    return out


def _of_training(record: Predictions) -> dict[str, float]:
    """Accuracy, AUC, DiSCA at 0.95, its rises and the mean b; of two classes confidence is never 0."""
    confidence, correct = np.asarray(record.probabilities).max(axis=1), record.verdicts
    scores = disca_by_tolerance(confidence, correct, tolerances=TOLERANCES, weights=WEIGHTS)
    groups, score = Ranks.of(confidence, correct).groups, scores[0.95]
    return {
        "accuracy": float(np.mean(correct)),
        "auc_coverage": float(groups.accuracy_sum / groups.rows),
        "disca": score.value,
        "fluctuations": float(score.fluctuations),
        MEAN_B: float(np.mean([score.b for score in scores.values()])),
    }


def _judged(model: Mapping[str, Any]) -> dict[str, Any]:
    metrics, curve, score = (
        model["metrics"],
        model["accuracy_coverage"],
        model["metrics"].get("disca"),
    )
    judged: dict[str, Any] = {"rows": model["rows"]}
    for name in ("accuracy", "auc_coverage", "ece", "coverage_at_risk"):
        judged[name] = rounded({k: metrics[name][k] for k in _SHORT}) if name in metrics else None
    judged["disca"] = None
    if score is None:
        judged["skipped"] = [row for row in model["skipped"] if row.get("metric") == "disca"]
    else:
        judged["disca"] = rounded({k: score[k] for k in (*_SHORT, *_PARTS)})
        ends = [round(float(end), 3) for end in score["intervals"]["fluctuations"]]
        steps = [rounded(row) for row in score["by_tolerance"]]
        judged["disca"] |= {"fluctuations_interval": ends, "by_tolerance": steps}
    cases = [row for row in model.get("failure_cases") or [] if row["seen"]]
    judged["cases"] = [{name: row[name] for name in ("name", "case", "share")} for row in cases]
    return judged | {
        "curve": {k: [round(float(v), 4) for v in curve[k]] for k in ("x", "y", "thresholds")}
    }
