"""HELM: the folder of one run, with the statistics of each instance (Liang et al. 2023)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ...errors import InputError
from .base import Answers, LogOptions, read_json
from .graded import Graded, graded

STATS = "per_instance_stats.json"
# The number of each scenario in HELM's own tables, where it is not whether the answer is exactly the reference.
_MAIN = {"gsm": "final_number_exact_match", "math": "math_equiv_chain_of_thought", "narrative_qa": "f1_score"}
_MAIN |= {"natural_qa": "f1_score", "quac": "f1_score", "wmt_14": "bleu_4", "summarization_xsum": "rouge_2"}
_MAIN |= {"summarization_cnndm": "rouge_2", "mmlu_pro": "chain_of_thought_correct", "ifeval": "ifeval_strict_accuracy"}
_MAIN |= {"gpqa": "chain_of_thought_correct", "omni_math": "omni_math_accuracy"}
_MAIN |= dict.fromkeys(("legalbench", "med_qa", "boolq", "imdb", "raft", "civil_comments"), "quasi_exact_match")
# What it measures besides the quality of an answer.
_NOT_QUALITY = re.compile(
    r"num_.*|.*inference.*|training_.*|finish_reason_.*|.*truncated.*|batch_size|max_prob|logprob.*|predicted_index|"
    r"perplexity|bits_per_byte|.*(runtime|cost|emissions).*"
)


def read_helm(file: str, options: LogOptions) -> Answers:
    """A run: the score of each instance, what the model wrote (`display_predictions.json`), the prompt
    (`instances.json`), model and task (`run_spec.json`). Instances that were perturbed are left out, as in HELM's main
    tables, and of several splits all but the test; trials with other examples in the prompt are epochs.
    """
    folder = Path(file).parent
    read: dict[str, Any] = {}
    for name in ("run_spec.json", "display_predictions.json", "instances.json"):
        read[name] = read_json(str(folder / name)) if (folder / name).is_file() else {} if "spec" in name else []
    spec = read["run_spec.json"]
    run, adapter = str(spec.get("name") or folder.name), spec.get("adapter_spec") or {}
    named = dict(part.split("=", 1) for part in re.split("[:,]", run) if "=" in part)
    scenario = re.split("[:,]", run)[0]
    about = ",".join(v for name, v in named.items() if name not in ("model", "model_deployment", "method"))
    task = f"{scenario}:{about}" if about else scenario
    model = adapter.get("model") or named.get("model")
    out = Answers(file, task, None if model is None else str(model).replace("/", "_"))
    texts = {_key(shown): shown.get("predicted_text") for shown in read["display_predictions.json"]}
    prompts = {item.get("id"): (item.get("input") or {}).get("text") for item in read["instances.json"]}
    scores: dict[tuple[str, int], dict[str, Any]] = {}
    splits: dict[str, str] = {}
    perturbed = 0
    for row, entry in enumerate(read_json(file), 1):
        if not isinstance(entry, dict) or "instance_id" not in entry or not isinstance(entry.get("stats"), list):
            got = ", ".join(entry)[:60] if isinstance(entry, dict) else type(entry).__name__
            expected, remedy = "an instance with instance_id, train_trial_index and stats", "run helm-run again"
            raise InputError(expected, got=got, file=file, row=row, remedy=remedy)
        if entry.get("perturbation"):
            perturbed += 1
            continue
        own = scores.setdefault(_key(entry), {})
        for stat in entry["stats"]:
            name = stat["name"]["name"] if isinstance(stat["name"], dict) else str(stat["name"])
            splits.setdefault(str(entry["instance_id"]), str((stat["name"] or {}).get("split")))
            if not _NOT_QUALITY.fullmatch(name) and stat.get("mean") is not None:
                own[name] = stat["mean"]
    if several := len({*splits.values()} - {"None"}) > 1 and "test" in splits.values():
        out.warnings.append(f"{file}: the test split alone, as in HELM's tables; left out: the other splits")
    if perturbed:
        out.warnings.append(f"{file}: {perturbed} perturbed instances left out")
    rows = [
        Graded(place, name, own, texts.get((name, trial)), prompts.get(name), trial + 1)
        for place, ((name, trial), own) in enumerate(scores.items(), 1)
        if not several or splits.get(name) == "test"
    ]
    graded(out, rows, options, (_MAIN.get(scenario, "exact_match"), "quasi_exact_match"))
    if "output" not in out.columns and not os.path.isfile(folder / "display_predictions.json"):
        out.warnings.append(f"{file}: no display_predictions.json beside it, so no outputs: run helm-summarize first")
    return out


def _key(entry: dict[str, Any]) -> tuple[str, int]:
    """Instance and trial; those that were perturbed have none of the plain ones."""
    name = str(entry.get("instance_id"))
    return name if not entry.get("perturbation") else f"{name} perturbed", int(entry.get("train_trial_index") or 0)
