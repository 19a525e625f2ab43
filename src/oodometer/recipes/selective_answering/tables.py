"""Tables: predictions files to a comparison, to one small result, to a page of Markdown beside the paper's numbers."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...metrics import computation_score, didma, nidma
from ...verbs.compare import compare
from ...version import __version__
from ..base import Tick, Workspace
from .findings import claims_of
from .lineup import Entry
from .markdown import markdown

__all__ = ["FORM", "OPTIMAL_PARAMETERS", "PAPER", "RANKED", "markdown", "paper_tables", "tabulate"]

FORM = 5  # raise it where the form of the result changes: then the step is done again
PAPER = Path(__file__).with_name("paper_tables.json")
WEIGHTS = (0.33, 0.33, 0.33)  # the paper's x, y, z
OPTIMAL_PARAMETERS = 1_000_000  # the paper's example of a device
RANKED = ("accuracy", "auc_coverage", "disca")
_SHORT = ("value", "lower", "upper", "level", "kind")


def paper_tables() -> dict[str, Any]:
    """The paper's Table 2: by set and model, DiSCA at each tolerance.

    >>> paper_tables()["imdb"]["BERT-BASE"][0]
    0.69
    """
    found: dict[str, Any] = json.loads(PAPER.read_text(encoding="utf-8"))
    return found


def tabulate(
    workspace: Workspace, scale: str, entries: Sequence[Entry], about: Mapping[str, Any], tick: Tick
) -> None:
    """Judge the predictions files; writes ``compare.json`` (all), ``result.json`` (little) and ``result.md``."""
    names = [entry.name for entry in entries]
    files = {
        s: [workspace.folder / f"predictions/{name}.{s}.parquet" for name in names] for s in ("imdb", "sst2")
    }
    found = compare(
        files["imdb"], out_of_domain=files["sst2"], names=names, weights=WEIGHTS, seed=int(about["sizes"]["seed"]),
        progress=tick,
    ).to_dict()  # fmt: skip
    found["argv"] = f"oodometer reproduce selective-answering --scale {scale}"
    workspace.write_json("compare.json", found)
    models = [_model(workspace, entry, one) for entry, one in zip(entries, found["models"], strict=True)]
    result: dict[str, Any] = {
        "form": FORM,
        "paper": "selective-answering",
        "scale": scale,
        "version": __version__,
        "python": platform.python_version(),
        "work": _work(workspace, entries),
        "settings": {
            **{k: v for k, v in about.items() if k != "models"}, "weights": list(WEIGHTS), "grid": "coverage",
            "steps": 100, "tolerance": 0.95, "optimal_parameters": OPTIMAL_PARAMETERS, "didma_weights": [0.5, 0.5],
            "nidma_weights": [0.5, 0.5],
        },
        "models": models,
        "rankings": {
            name: {metric: [row["model"] for row in found[key].get(metric, [])] for metric in RANKED}
            for name, key in (("imdb", "rankings"), ("sst2", "rankings_out_of_domain"))
        },
        "disagreements": [
            {
                "set": _SETS[one["domain"]], "metrics": one["metrics"], "tau": one["tau"],
                "pairs": one["pairs"],
            }
            for one in found["disagreements"]
            if set(one["metrics"]) <= set(RANKED)
        ],
        "pairs": [
            {"set": _SETS[one["domain"]], **{k: one[k] for k in ("a", "b", "p_a_better", "undecided")}}
            for one in found["pairs"]
            if one["metric"] == "disca"
        ],
        "findings": [
            {"set": _SETS[one["domain"]],
             **{k: one[k] for k in ("name", "share", "contested", "undecided", "sentence")}}
            for one in found["findings"]
        ],
    }  # fmt: skip
    result["claims"] = claims_of(result)
    workspace.write_json("result.json", result)
    from ...store import write_atomic

    write_atomic(workspace / "result.md", markdown(result))


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
        out[name] = _rounded({k: metrics[name][k] for k in _SHORT}) if name in metrics else None
    score = metrics.get("disca")
    out["disca"] = None
    if score is not None:
        parts = (
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
        out["disca"] = {
            **_rounded({k: score[k] for k in (*_SHORT, *parts)}),
            "fluctuations_interval": [round(float(end), 3) for end in score["intervals"]["fluctuations"]],
            "by_tolerance": [_rounded(row) for row in score["by_tolerance"]],
        }
    else:
        out["skipped"] = [row for row in one["skipped"] if row.get("metric") == "disca"]
    cases = one.get("failure_cases") or []
    out["cases"] = [
        {"name": row["name"], "case": row["case"], "share": row["share"]} for row in cases if row["seen"]
    ]
    curve = one["accuracy_coverage"]
    out["curve"] = {k: [round(float(v), 4) for v in curve[k]] for k in ("x", "y", "thresholds")}
    return out


def _weighed(model: Mapping[str, Any], joules: float | None) -> dict[str, Any]:
    """DiDMA and NiDMA in both forms, equal weights; None where DiSCA is undefined or energy was not counted."""
    home, away = (model[name]["disca"] for name in ("imdb", "sst2"))
    costs = {
        "parameters": computation_score(
            parameters=model["parameters"], optimal_parameters=OPTIMAL_PARAMETERS
        ),
        "energy": None if joules is None else computation_score(energy=joules),
    }
    out: dict[str, Any] = {}
    for form, cost in costs.items():
        first = None if cost is None or home is None else didma(home["value"], cost)
        second = None if first is None or away is None else nidma(first, away["value"])
        out[form] = _rounded({"computation": cost, "didma": first, "nidma": second})
    return out


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers to six decimals: enough for every table, and the file stays small."""
    return {
        k: round(v, 6) if isinstance(v, float) else _rounded(v) if isinstance(v, Mapping) else v
        for k, v in values.items()
    }
