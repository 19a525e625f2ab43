"""Small files of each format that is read besides lm-evaluation-harness and inspect, as their harnesses write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SAID = ["B", "C", "B", "D"]
GOLD = ["B", "C", "A", "D"]


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def helm(folder: Path, method: str = "multiple_choice_joint", **stats: Any) -> Path:
    """A run folder; an instance is perturbed, as robustness asks."""
    run = folder / "mmlu:subject=anatomy,method=multiple_choice_joint,model=openai_gpt2"
    adapter = {"method": method, "model": "openai/gpt2", "eval_splits": ["valid", "test"]}
    put(
        run / "run_spec.json",
        {"name": run.name, "scenario_spec": {}, "adapter_spec": adapter, "groups": ["mmlu"]},
    )
    shown, entries, instances = [], [], []
    for i, (said, gold) in enumerate(zip(SAID, GOLD, strict=True)):
        name = f"id{i}"
        values = {
            "exact_match": said == gold,
            "num_prompt_tokens": 70,
            "inference_runtime": 0.5,
            **stats,
        }
        own = [
            {
                "name": {"name": stat, "split": "test"},
                "count": 1,
                "sum": float(value),
                "mean": float(value),
            }
            for stat, value in values.items()
        ]
        entries.append({"instance_id": name, "train_trial_index": 0, "stats": own})
        shown.append(
            {"instance_id": name, "train_trial_index": 0, "predicted_text": said, "stats": {}}
        )
        instances.append(
            {"id": name, "split": "test", "input": {"text": f"Q{i}"}, "references": []}
        )
    entries.append({**entries[0], "perturbation": {"name": "misspellings"}})
    put(run / "display_predictions.json", shown)
    put(run / "instances.json", instances)
    put(run / "per_instance_stats.json", entries)
    return run


def lighteval(folder: Path, new: bool = True, likely: Any = None, **metrics: list[Any]) -> Path:
    """Details of a task with four options, or of written answers where no log-likelihoods are given."""
    metrics = metrics or {"acc": [float(s == g) for s, g in zip(SAID, GOLD, strict=True)]}
    own = [
        dict(zip(metrics, values, strict=True)) for values in zip(*metrics.values(), strict=True)
    ]
    golds = [["ABCD".index(gold)] for gold in GOLD]
    choices, asked = [[" A", " B", " C", " D"]] * 4, [f"Q{i}" for i in range(4)]
    if new:
        doc = [
            {"query": q, "choices": c, "gold_index": g, "id": str(i)}
            for i, (q, c, g) in enumerate(zip(asked, choices, golds, strict=True))
        ]
        replies = [
            {"text": [s], "logprobs": p} for s, p in zip(SAID, likely or [[]] * 4, strict=True)
        ]
        rows: dict[str, Any] = {"__doc__": doc, "__model_response__": replies, "__metric__": own}
    else:
        said = [[[p, False] for p in row] for row in likely] if likely else [[s] for s in SAID]
        rows = {
            "full_prompt": asked,
            "predictions": list(map(str, said)),
            "choices": choices,
            "gold_index": golds,
        }
        rows["metrics"] = own
    path = folder / "details" / "openai" / "gpt2" / "2026-01-02T03-04-05.678901"
    path.mkdir(parents=True)
    path /= "details_lighteval|arc:easy|0_2026-01-02T03-04-05.678901.parquet"
    pq.write_table(pa.table(rows), path)
    return path


def opencompass_predictions(folder: Path, perplexity: bool = False) -> Path:
    entries = {}
    for i, (said, gold) in enumerate(zip(SAID, GOLD, strict=True)):
        entry: dict[str, Any] = {
            "origin_prompt": [{"role": "HUMAN", "prompt": f"Q{i}"}],
            "prediction": said,
        }
        if perplexity:
            entry = {"in-context examples": "", "origin_prompt": f"Q{i}"}
            entry |= {f"label: {o}": {"prompt": "", "PPL": 1.0 - 0.5 * (o == said)} for o in "ABCD"}
            entry["prediction"] = said
        entries[str(i)] = entry | {"gold": gold}
    return put(folder / "predictions" / "gpt2" / "arc.json", entries)


def opencompass_results(folder: Path, several: bool = False) -> Path:
    details = {
        str(i): {
            "prompt": f"Q{i}",
            "origin_prediction": said,
            "predictions": said,
            "references": gold,
            "correct": said == gold,
        }
        for i, (said, gold) in enumerate(zip(SAID, GOLD, strict=True))
    }
    whole: Any = {"type": "GEN", **details}
    if several:
        own = [
            (f"x_{i}", said, said == gold)
            for i, (said, gold) in enumerate(zip(SAID, GOLD, strict=True))
        ]
        whole = [
            {"example_abbr": name, "pred": [said, "A"], "correct": [right, False]}
            for name, said, right in own
        ]
    return put(
        folder / "results" / "gpt2" / "arc.json",
        {"accuracy": 37.5 if several else 75.0, "details": whole},
    )


def alpaca_eval(folder: Path, preferences: Any = (1.0, 2.0, 1.5, None, 1.25)) -> Path:
    rows = [
        {"instruction": f"Do {i}", "output_1": "a", "generator_1": "gpt4", "dataset": "koala", "output_2": f"b{i}",
         "generator_2": "mine", "annotator": "judge", "preference": p} for i, p in enumerate(preferences)
    ]  # fmt: skip
    return put(folder / "annotations.json", rows)


def simple_evals(folder: Path, pages: bool = False, score: float = 0.5) -> Path:
    scores = [1.0, 0.5, 0.0, 0.5]
    talk = [
        [{"role": "user", "content": f"Q{i}"}, {"role": "assistant", "content": f"A{i}"}]
        for i in range(4)
    ]
    htmls = (
        [f"<h3>Results</h3>\n<p>Correct Answer: x</p>\n<p>Score: {s}</p>" for s in scores]
        if pages
        else ["", "", "", ""]
    )
    about = [
        {"score": s, "prompt_id": f"p{i}", "completion": t[1:]}
        for i, (s, t) in enumerate(zip(scores, talk, strict=True))
    ]
    whole = {"score": score, "metrics": {"overall_score": score}, "htmls": htmls, "convos": talk}
    whole["metadata"] = None if pages else {"example_level_metadata": about}
    return put(folder / "healthbench_hard_gpt-4.1_20260102_030405_allresults.json", whole)


def uqlm(folder: Path, **scores: list[float]) -> Path:
    data = {
        "prompts": ["a", "b", "c"],
        "responses": ["x", "y", "z"],
        "sampled_responses": [["x", "x"]] * 3,
    }
    return put(
        folder / "uq.json",
        {"data": {**data, **(scores or {"semantic_negentropy": [1.0, 0.5, 0.2]})}, "metadata": {}},
    )


def squad(folder: Path) -> Path:
    """Four questions of two passages, one without an answer."""
    questions: list[tuple[str, list[str]]] = [
        ("q0", ["The Tower"]),
        ("q1", ["red fox cub", "dog"]),
        ("q2", []),
        ("q3", ["1990"]),
    ]
    qas = [
        {"id": n, "question": f"{n}?", "answers": [{"text": t, "answer_start": 0} for t in ts]}
        for n, ts in questions
    ]
    paragraphs = [{"context": "one", "qas": qas[:2]}, {"context": "two", "qas": qas[2:]}]
    put(
        folder / "dev-v2.0.json",
        {"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]},
    )
    return put(
        folder / "predictions.json", {"q0": "tower", "q1": "the red fox", "q2": "", "q3": "in 1991"}
    )


def chat(folder: Path) -> Path:
    roles = ("system", "user", "assistant", "user", "assistant")
    rows = [
        {"id": i, "messages": [{"role": r, "content": f"{r} {i}{k}"} for k, r in enumerate(roles)]}
        for i in range(3)
    ]
    path = folder / "chat.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


ALL: dict[str, Callable[[Path], Path]] = {
    "helm": helm, "lighteval": lighteval, "opencompass": opencompass_results, "alpaca_eval": alpaca_eval,
    "simple_evals": simple_evals, "uqlm": uqlm, "squad": squad, "chat": chat,
}  # fmt: skip
