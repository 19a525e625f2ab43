"""Tables: predictions files to a comparison, and that to one small result."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...metrics import computation_score, didma, nidma
from ...metrics.failure_cases import COVERAGES, LEAST, TAIL, case_sizes, falling_accuracy
from ...metrics.ranks import Ranks
from ...metrics.resampling import REPLICATES, generator, rank_bins
from ...metrics.risk_coverage import jointly_resampled, replicated
from ...store import read_predictions
from ...verbs.compare import compare
from ...verbs.model_comparison import SURE
from ...version import __version__
from ..base import Progress, Workspace
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


@dataclass(frozen=True)
class _Steps:
    """Rows and errors in each step of coverage, (step,)."""

    rows: Array
    right: Array

    @property
    def falling(self) -> Array:
        """The nearest accuracy of the steps that never rises."""
        return _falling(self.right, self.rows)


def _steps_of(curve: Mapping[str, Any], rows: int) -> _Steps:
    """What a published curve was read from; errors of a tie are shares of rows."""
    answered = np.ceil(rows * COVERAGES - 1e-9)
    size = np.diff(answered, prepend=0.0)
    right = np.diff(np.asarray(curve["y"]) * answered, prepend=0.0)
    return _Steps(size, np.clip(right, 0, size))


def _falling(right: Array, rows: Array) -> Array:
    """The nearest accuracy that never rises; a step without rows has that of the step before."""
    used = rows > 0
    out = np.zeros(len(rows))
    out[used] = falling_accuracy(right[used], rows[used])
    return out[np.maximum.accumulate(np.where(used, np.arange(len(rows)), 0))]


def search_of(
    models: Sequence[Mapping[str, Any]], sets: Sequence[str], seed: int, progress: Progress | None = None
) -> dict[str, Any]:
    """p-values of cases 2 to 6 for each model and set, and the power of the search for each case and set.

    ``observed``: the size of each case in the curve, and the share of 2,000 curves of chance, itself counted in, that
    reach it; 1 where the size is not large enough to be called a case. ``power``: the share of simulated sets of rows
    in which `compare` would see the case if a model's accuracy were inverted as `inverted` does it, the mean and that
    of each model, and the ``rise`` of the true curve, on average (for "often" the number of its rises).
    """
    observed, power = [], []
    total, done = len(sets) * (1 + len(CASES) * len(EFFECTS)), 0
    for name in sets:
        steps = [_steps_of(model[name]["curve"], int(model[name]["rows"])) for model in models]
        for model, one in zip(models, steps, strict=True):
            observed.append({"model": model["name"], "set": name, **_observed(model[name]["curve"], one, seed)})
        done += 1
        for case in CASES:
            for effect in EFFECTS:
                found = [power_of(case, one.rows, one.falling, effect, seed, _SAMPLES) for one in steps]
                shares, rises = ([pair[i] for pair in found] for i in (0, 1))
                row = {"name": case, "case": CASES[case], "set": name, "effect": effect}
                row |= {"power": float(np.mean(shares)), "by_model": shares, "rise": float(np.mean(rises))}
                power.append(row)
                done += 1
                if progress is not None:
                    progress(done, total)
    return {"chance": _CHANCE, "samples": _SAMPLES, "observed": rounded(observed), "power": rounded(power)}


def _observed(curve: Mapping[str, Any], steps: _Steps, seed: int) -> dict[str, Any]:
    seen = case_sizes(np.asarray(curve["y"])[None])
    chance = case_sizes(_curves(steps.rows, steps.falling, _CHANCE, generator(seed, "chance")))
    out = {}
    for case, size in seen.items():
        reached = 1 + int((chance[case] >= size[0] - 1e-9).sum())
        p = reached / (1 + _CHANCE) if size[0] > LEAST[case] else 1.0
        out[case] = {"size": float(size[0]), "p": p}
    return out


def _curves(rows: Array, accuracy: Array, many: int, rng: np.random.Generator) -> Array:
    """Accuracy at each coverage of samples with these accuracies of the steps, (replicate, coverage)."""
    right = rng.binomial(rows.astype(np.int64), np.clip(accuracy, 0, 1), size=(many, len(rows)))
    return np.asarray(np.cumsum(right, axis=1) / np.cumsum(rows))


def inverted(case: str, rows: Array, accuracy: Array, effect: float) -> Array:
    """Accuracies of the steps of coverage with a true inversion of a size, where the case is looked for, (step,).

    start, strong: the first tenth of the rows is less accurate by ``effect`` than the tenth that follows; middle: so is
    the tenth from 20 to 30 % coverage; end: the last tenth is more accurate by ``effect`` than all rows before it, or
    without errors where that is less; often: in the surer half every second step is less accurate than the next one.

    >>> flat = inverted("start", np.full(100, 10), np.full(100, 0.9), 0.2)
    >>> flat[[0, 9, 10]].round(3).tolist()
    [0.7, 0.7, 0.9]
    """
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


def power_of(case: str, rows: Array, accuracy: Array, effect: float, seed: int, samples: int) -> tuple[float, float]:
    """How often a case is seen that is there, and how large it truly is.

    A case of one model is seen as `FailureCases` sees it: beyond every one of 200 curves of chance, whose accuracy is
    fitted to each simulated set of rows anew.
    """
    rng = generator(seed, f"{case} {effect:g}")
    if case == "tail":
        # case 1: two models, the one less accurate by ``effect`` in the first fifth and ahead by 1 point of AUC
        first = COVERAGES <= TAIL + 1e-9
        worse, better = np.array(accuracy), np.array(accuracy)
        worse[first] = np.clip(accuracy[first] - effect, 0, 1)
        lost = float(_area(accuracy * rows, rows) - _area(worse * rows, rows)) + _LEAD
        better[~first] -= lost / float(_area(np.where(first, 0.0, rows), rows))
        better = np.clip(better, 0, 1)
        seen = 0
        for _ in range(samples):
            drawn = [rng.binomial(rows.astype(np.int64), one) for one in (worse, better)]
            a, b = (_resampled(rows, one, rng) for one in drawn)
            share = float(((_early(*b, first) > _early(*a, first)) & (_area(*a) > _area(*b))).mean())
            gap = float(_early(drawn[1], rows, first) - _early(drawn[0], rows, first))
            seen += bool(gap >= _TAIL_LEAST and share >= SURE)
        return seen / samples, float(_early(better * rows, rows, first) - _early(worse * rows, rows, first))
    truth = inverted(case, rows, accuracy, effect)
    expected = case_sizes((np.cumsum(truth * rows) / np.cumsum(rows))[None])[case]
    curves = _curves(rows, truth, samples, rng)
    right = np.diff(curves * np.cumsum(rows), prepend=0.0, axis=1)
    seen = 0
    for size, one in zip(case_sizes(curves)[case], right, strict=True):
        chance = case_sizes(_curves(rows, _falling(one, rows), REPLICATES, rng))[case]
        seen += bool(size > max(LEAST[case], float(chance.max())))
    return seen / samples, float(expected[0])


def _resampled(rows: Array, right: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Correct rows of each step in bootstrap replicates, and all rows, (replicate, step)."""
    hits = rng.poisson(right, size=(REPLICATES, len(rows)))
    return hits, hits + rng.poisson(rows - right, size=hits.shape)


def _accuracy(right: Array, rows: Array) -> Array:
    """Accuracy at each coverage, of correct rows and rows by step."""
    return np.asarray(np.cumsum(right, axis=-1) / np.maximum(np.cumsum(rows, axis=-1), 1))


def _area(right: Array, rows: Array) -> Array:
    """Mean accuracy over coverage."""
    return np.asarray(_accuracy(right, rows).mean(axis=-1))


def _early(right: Array, rows: Array, first: Array) -> Array:
    """Mean accuracy over the first coverages."""
    return np.asarray(_accuracy(right, rows)[..., first].mean(axis=-1))


RANKED = ("accuracy", "auc_coverage", "disca")
SIDE = "coverage_at_risk"
"""The third measure, which says with whom it sides where two rankings part."""
_ROUNDS = 50  # of 200 replicates each: 10,000, so that one among ninety looks can be beyond chance
_LEAST_TAIL = 0.005  # of accuracy, from which on `compare` speaks of a tail
_OPTIONS = ("tolerance", "weights", "grid", "steps", "risk", "coverage")


@dataclass(frozen=True)
class Shares:
    """Shares of replicates on one set; all arrays of shape (model, model), the first model against the second.

    better : metric -> the first has more of it, ties by half. parted : two metrics -> by the one the first model is
    ahead, by the other the second. tail : the first has the higher AUC, the second the higher accuracy over the first
    fifth of coverage. tail_seen : whether that is so in the sample, by half a point.
    """

    models: tuple[str, ...]
    replicates: int
    better: Mapping[str, Array]
    parted: Mapping[tuple[str, str], Array]
    tail: Array
    tail_seen: Array

    def of_pair(self, preferred: Mapping[str, str]) -> dict[str, Any]:
        """The share in which two metrics part so, and in which the third measure sides with the first of them."""
        (one, a), (other, b) = preferred.items()
        i, j = self.models.index(a), self.models.index(b)
        return {"share": float(self.parted[one, other][i, j]), "with_first": float(self.better[SIDE][i, j])}

    def tails(self) -> list[dict[str, Any]]:
        """Each pair that shows a tail in the sample."""
        pairs = np.argwhere(self.tail_seen)
        return [{"models": [self.models[i], self.models[j]], "share": float(self.tail[i, j])} for i, j in pairs]


def shares_of(
    workspace: Workspace, models: Sequence[str], name: str, settings: Mapping[str, Any], progress: Progress
) -> Shares:
    """All shares of the models on a set, from their predictions files; every replicate draws the same rows for all.

    ``settings`` are those of the comparison: the options of the metrics, and the seed.
    """
    records = [read_predictions(workspace.folder / f"predictions/{model}.{name}.parquet") for model in models]
    confidences = [np.asarray(record.probabilities).max(axis=1) for record in records]
    verdicts = [record.verdicts for record in records]
    groups = [Ranks.of(one, other).groups for one, other in zip(confidences, verdicts, strict=True)]
    options = {key: settings[key] for key in _OPTIONS} | {"weights": tuple(settings["weights"])}
    early = COVERAGES[COVERAGES <= TAIL + 1e-9]
    many = len(models)
    metrics = (*RANKED, SIDE)
    better = {metric: np.zeros((many, many)) for metric in metrics}
    parted = {(one, other): np.zeros((many, many)) for one in RANKED for other in RANKED if one != other}
    tail = np.zeros((many, many))
    for number in range(_ROUNDS):
        curves = jointly_resampled(groups, confidences, verdicts, int(settings["seed"]) * 1000 + number)
        ahead = {}
        for metric in metrics:
            drawn = np.stack([replicated(one, metric, **options) for one in curves], axis=1)
            ahead[metric] = drawn[:, :, None] > drawn[:, None, :]
            better[metric] += (ahead[metric] + 0.5 * (drawn[:, :, None] == drawn[:, None, :])).sum(axis=0)
        for one, other in parted:
            parted[one, other] += (ahead[one] & ahead[other].transpose(0, 2, 1)).sum(axis=0)
        first = np.stack([one.at_coverages(early).accuracy.mean(axis=1) for one in curves], axis=1)
        tail += (ahead["auc_coverage"] & (first[:, None, :] > first[:, :, None])).sum(axis=0)
        progress(number + 1, _ROUNDS)
    replicates = _ROUNDS * REPLICATES
    seen = np.array([rank_bins(one).at_coverages(early).accuracy.mean() for one in groups])
    area = np.array([one.accuracy_sum / one.rows for one in groups])
    tail_seen = (area[:, None] > area[None]) & (seen[None] - seen[:, None] >= _LEAST_TAIL)
    return Shares(
        tuple(models),
        replicates,
        {metric: found / replicates for metric, found in better.items()},
        {pair: found / replicates for pair, found in parted.items()},
        tail / replicates,
        tail_seen,
    )


FORM = 7  # raise it where the form of the result changes: then the step is done again
WEIGHTS = (0.33, 0.33, 0.33)  # the paper's x, y, z
OPTIMAL_PARAMETERS = 1_000_000  # the paper's example of a device
_SHORT = ("value", "lower", "upper", "level", "kind")
_PARTS = ("a", "b", "fluctuations", "penalty", "a_coverage", "b_coverage", "tolerance", "never_wrong", "by_grid")


def tabulate(
    workspace: Workspace, scale: str, entries: Sequence[Entry], about: Mapping[str, Any], progress: Progress
) -> dict[str, Any]:
    """Judge the predictions files; writes all to ``compare.json`` and returns the little that is published."""
    names, seed = [entry.name for entry in entries], int(about["sizes"]["seed"])
    home, away = ([workspace.folder / f"predictions/{name}.{s}.parquet" for name in names] for s in SETS)
    how: dict[str, Any] = {"names": names, "weights": WEIGHTS, "seed": seed, "progress": _part(progress, 0)}
    found = compare(home, out_of_domain=away, **how).to_dict()
    found["argv"] = f"oodometer reproduce selective-answering --scale {scale}"
    workspace.write_json("compare.json", found)
    settings = found["settings"] | about["sizes"]
    shares = {
        name: shares_of(workspace, names, name, settings, _part(progress, part)) for part, name in enumerate(SETS, 1)
    }
    models = [_model(workspace, entry, one) for entry, one in zip(entries, found["models"], strict=True)]
    options = {"weights": list(WEIGHTS), "grid": "coverage", "steps": 100, "tolerance": 0.95}
    halves = {"didma_weights": [0.5, 0.5], "nidma_weights": [0.5, 0.5]}
    given = {k: v for k, v in about.items() if k != "models"}
    out = []
    for one in found["disagreements"]:
        if set(one["metrics"]) <= set(RANKED):
            name = _SETS[one["domain"]]
            preferred = [pair["preferred"] for pair in one["pairs"]]
            pairs = [{"preferred": each, **shares[name].of_pair(each)} for each in preferred]
            out.append({"set": name, "metrics": one["metrics"], "tau": one["tau"], "pairs": pairs})
    steps = [f"vectors-{kind}" for kind in sorted({e.vectors for e in entries if e.vectors})]
    steps += [f"{what}-{name}" for name in names for what in ("train", "predict")]
    stamps = [workspace.stamp(step) for step in steps]
    return {
        "form": FORM,
        "paper": "selective-answering",
        "scale": scale,
        "version": __version__,
        "python": platform.python_version(),
        "work": {
            "cores": os.cpu_count(),
            "threads": max(workspace.read_json(f"costs/{name}.json")["threads"] for name in names),
            "seconds": round(sum(one["seconds"] for one in stamps)),
            "cpu_seconds": round(sum(one["cpu_seconds"] for one in stamps)),
        },
        "settings": {**given, **options, "optimal_parameters": OPTIMAL_PARAMETERS, **halves}
        | {"replicates": shares["imdb"].replicates},
        "models": models,
        "rankings": {
            name: {metric: [row["model"] for row in found[key].get(metric, [])] for metric in RANKED}
            for name, key in (("imdb", "rankings"), ("sst2", "rankings_out_of_domain"))
        },
        "disagreements": out,
        "pairs": [
            {
                "set": name,
                "a": a,
                "b": b,
                "p_a_better": float(shares[name].better["disca"][names.index(a), names.index(b)]),
            }
            for one in found["pairs"]
            if one["metric"] == "disca"
            for name, a, b in ((_SETS[one["domain"]], one["a"], one["b"]),)
        ],
        "findings": [{"set": _SETS[one["domain"]], **{k: one[k] for k in _FINDING}} for one in found["findings"]],
        "tails": [{"set": name, **one} for name in SETS for one in shares[name].tails()],
        "search": search_of(models, SETS, seed, _part(progress, 3)),
    }


def _part(progress: Progress, part: int) -> Progress:
    """The progress of one of the four parts of the step."""
    return lambda done, of: progress(part * of + done, 4 * of)


_FINDING = ("name", "share", "contested", "sentence")
_SETS = {"in_domain": "imdb", "out_of_domain": "sst2"}
SETS = tuple(_SETS.values())


def _model(workspace: Workspace, entry: Entry, judged: Mapping[str, Any]) -> dict[str, Any]:
    cost, stamp = workspace.read_json(f"costs/{entry.name}.json"), workspace.stamp(f"train-{entry.name}")
    energy = cost["energy"]
    joules = None if energy is None else energy["joules"] / energy["rows"]
    out: dict[str, Any] = {
        **{name: getattr(entry, name) for name in ("name", "stands_for", "family", "kind")},
        "parameters": cost["parameters"],
        "train_seconds": round(stamp["seconds"], 1),
        "train_cpu_seconds": round(stamp["cpu_seconds"], 1),
        "predict_seconds_per_1000": round(1000 * cost["imdb"]["seconds"] / cost["imdb"]["rows"], 2),
        "joules_per_text": None if joules is None else round(joules, 4),
        "energy": None if energy is None else {"words": energy["words"]},
        **{name: _judged(judged[key]) for key, name in _SETS.items()},
    }
    # DiDMA and NiDMA in both forms, equal weights; None where DiSCA is undefined or energy was not counted
    home, away = (out[name]["disca"] for name in SETS)
    costs = {
        "parameters": computation_score(parameters=cost["parameters"], optimal_parameters=OPTIMAL_PARAMETERS),
        "energy": None if joules is None else computation_score(energy=joules),
    }
    weighed = {}
    for form, own in costs.items():
        first = None if own is None or home is None else didma(home["value"], own)
        second = None if first is None or away is None else nidma(first, away["value"])
        weighed[form] = rounded({"computation": own, "didma": first, "nidma": second})
    return {**out, "didma_nidma": weighed}


def _judged(one: Mapping[str, Any]) -> dict[str, Any]:
    metrics, curve = one["metrics"], one["accuracy_coverage"]
    out: dict[str, Any] = {"rows": one["rows"]}
    for name in ("accuracy", "auc_coverage", "ece", "coverage_at_risk"):
        out[name] = rounded({k: metrics[name][k] for k in _SHORT}) if name in metrics else None
    score = metrics.get("disca")
    out["disca"] = None if score is None else {
        **rounded({k: score[k] for k in (*_SHORT, *_PARTS)}),
        "fluctuations_interval": [round(float(end), 3) for end in score["intervals"]["fluctuations"]],
        "by_tolerance": [rounded(row) for row in score["by_tolerance"]],
    }  # fmt: skip
    if score is None:
        out["skipped"] = [row for row in one["skipped"] if row.get("metric") == "disca"]
    cases = [row for row in one.get("failure_cases") or [] if row["seen"]]
    out["cases"] = [{name: row[name] for name in ("name", "case", "share")} for row in cases]
    out["curve"] = {k: [round(float(v), 4) for v in curve[k]] for k in ("x", "y", "thresholds")}
    return out
