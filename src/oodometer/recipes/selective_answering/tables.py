"""Tables: predictions files to a comparison, and that to one small result."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from ...metrics import computation_score, didma, nidma
from ...verbs.compare import compare
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.tables import rounded
from .lineup import Entry

__all__ = ["FORM", "OPTIMAL_PARAMETERS", "RANKED", "tabulate"]

FORM = 6  # raise it where the form of the result changes: then the step is done again
WEIGHTS = (0.33, 0.33, 0.33)  # the paper's x, y, z
OPTIMAL_PARAMETERS = 1_000_000  # the paper's example of a device
RANKED = ("accuracy", "auc_coverage", "disca")
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
    workspace: Workspace, scale: str, entries: Sequence[Entry], about: Mapping[str, Any], progress: Progress
) -> dict[str, Any]:
    """Judge the predictions files; writes all to ``compare.json`` and returns the little that is published."""
    found = _compared(workspace, [entry.name for entry in entries], int(about["sizes"]["seed"]), progress)
    found["argv"] = f"oodometer reproduce selective-answering --scale {scale}"
    workspace.write_json("compare.json", found)
    options = {"weights": list(WEIGHTS), "grid": "coverage", "steps": 100, "tolerance": 0.95}
    halves = {"didma_weights": [0.5, 0.5], "nidma_weights": [0.5, 0.5]}
    given = {k: v for k, v in about.items() if k != "models"}
    return {
        "form": FORM,
        "paper": "selective-answering",
        "scale": scale,
        "version": __version__,
        "python": platform.python_version(),
        "work": _work(workspace, entries),
        "settings": {**given, **options, "optimal_parameters": OPTIMAL_PARAMETERS, **halves},
        "models": [_model(workspace, entry, one) for entry, one in zip(entries, found["models"], strict=True)],
        "rankings": {
            name: {metric: [row["model"] for row in found[key].get(metric, [])] for metric in RANKED}
            for name, key in (("imdb", "rankings"), ("sst2", "rankings_out_of_domain"))
        },
        "disagreements": [
            {"set": _SETS[one["domain"]], **{k: one[k] for k in ("metrics", "tau", "pairs")}}
            for one in found["disagreements"]
            if set(one["metrics"]) <= set(RANKED)
        ],
        "pairs": [
            {"set": _SETS[one["domain"]], **{k: one[k] for k in ("a", "b", "p_a_better", "undecided")}}
            for one in found["pairs"]
            if one["metric"] == "disca"
        ],
        "findings": [{"set": _SETS[one["domain"]], **{k: one[k] for k in _FINDING}} for one in found["findings"]],
    }


def _compared(workspace: Workspace, names: Sequence[str], seed: int, progress: Progress) -> dict[str, Any]:
    """The comparison of the models on both sets, as `compare` makes it of their predictions files."""
    home, away = ([workspace.folder / f"predictions/{name}.{s}.parquet" for name in names] for s in ("imdb", "sst2"))
    return compare(home, out_of_domain=away, names=names, weights=WEIGHTS, seed=seed, progress=progress).to_dict()


_FINDING = ("name", "share", "contested", "undecided", "sentence")
_SETS = {"in_domain": "imdb", "out_of_domain": "sst2"}


def _work(workspace: Workspace, entries: Sequence[Entry]) -> dict[str, Any]:
    """Seconds that vectors, training and prediction took in all, on this machine."""
    names = [f"vectors-{kind}" for kind in sorted({e.vectors for e in entries if e.vectors})]
    names += [f"{what}-{entry.name}" for entry in entries for what in ("train", "predict")]
    stamps = [workspace.stamp(name) for name in names]
    return {
        "cores": os.cpu_count(),
        "threads": max(workspace.read_json(f"costs/{entry.name}.json")["threads"] for entry in entries),
        "seconds": round(sum(one["seconds"] for one in stamps)),
        "cpu_seconds": round(sum(one["cpu_seconds"] for one in stamps)),
    }


def _model(workspace: Workspace, entry: Entry, judged: Mapping[str, Any]) -> dict[str, Any]:
    cost = workspace.read_json(f"costs/{entry.name}.json")
    stamp = workspace.stamp(f"train-{entry.name}")
    out: dict[str, Any] = {
        "name": entry.name,
        "stands_for": entry.stands_for,
        "family": entry.family,
        "kind": entry.kind,
        "parameters": cost["parameters"],
        "train_seconds": round(stamp["seconds"], 1),
        "train_cpu_seconds": round(stamp["cpu_seconds"], 1),
        "predict_seconds_per_1000": round(1000 * cost["imdb"]["seconds"] / cost["imdb"]["rows"], 2),
    }
    energy = cost["energy"]
    joules = None if energy is None else energy["joules"] / energy["rows"]
    out["joules_per_text"] = None if joules is None else round(joules, 4)
    out["energy"] = None if energy is None else {"words": energy["words"], "measured": energy["measured"]}
    for name, key in (("imdb", "in_domain"), ("sst2", "out_of_domain")):
        out[name] = _judged(judged[key])
    out["didma_nidma"] = _weighed(out, joules)
    return out


def _judged(one: Mapping[str, Any]) -> dict[str, Any]:
    metrics = one["metrics"]
    out: dict[str, Any] = {"rows": one["rows"]}
    for name in ("accuracy", "auc_coverage", "ece", "coverage_at_risk"):
        out[name] = rounded({k: metrics[name][k] for k in _SHORT}) if name in metrics else None
    score = metrics.get("disca")
    out["disca"] = None
    if score is not None:
        out["disca"] = {
            **rounded({k: score[k] for k in (*_SHORT, *_PARTS)}),
            "fluctuations_interval": [round(float(end), 3) for end in score["intervals"]["fluctuations"]],
            "by_tolerance": [rounded(row) for row in score["by_tolerance"]],
        }
    else:
        out["skipped"] = [row for row in one["skipped"] if row.get("metric") == "disca"]
    cases = one.get("failure_cases") or []
    out["cases"] = [{"name": row["name"], "case": row["case"], "share": row["share"]} for row in cases if row["seen"]]
    curve = one["accuracy_coverage"]
    out["curve"] = {k: [round(float(v), 4) for v in curve[k]] for k in ("x", "y", "thresholds")}
    return out


def _weighed(model: Mapping[str, Any], joules: float | None) -> dict[str, Any]:
    """DiDMA and NiDMA in both forms, equal weights; None where DiSCA is undefined or energy was not counted."""
    home, away = (model[name]["disca"] for name in ("imdb", "sst2"))
    costs = {
        "parameters": computation_score(parameters=model["parameters"], optimal_parameters=OPTIMAL_PARAMETERS),
        "energy": None if joules is None else computation_score(energy=joules),
    }
    out: dict[str, Any] = {}
    for form, cost in costs.items():
        first = None if cost is None or home is None else didma(home["value"], cost)
        second = None if first is None or away is None else nidma(first, away["value"])
        out[form] = rounded({"computation": cost, "didma": first, "nidma": second})
    return out
