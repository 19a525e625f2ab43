"""Voting: judges of the synthetic language, and what a person would write to ask them; `benchmarks.decoding` times it.

Each judge is asked by our `judge`, by a loop over single pairs, and by batches in the order given. A generative judge
answers the word Correct or Incorrect; the plain sides let it generate that word. The other judges are encoders.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Sides = dict[str, Callable[[], list[str]]]
KINDS = {
    "generative": "a generative judge",
    "mark": "an encoder that reads the mark",
    "tokens": "an encoder that reads every token",
}


def judged_pairs(inputs: list[str], golds: list[str], seed: int) -> tuple[list[str], list[str], list[bool]]:
    """Each input with its parse, one token of every other parse exchanged."""
    rng = np.random.default_rng(seed)
    outputs, right = [], []
    for row, gold in enumerate(golds):
        words = gold.split()
        if row % 2:
            at = int(rng.integers(len(words)))
            words[at] = "verb1" if words[at] != "verb1" else "verb2"
        outputs.append(" ".join(words))
        right.append(not row % 2)
    return inputs, outputs, right


def judge_of(kind: str, folder: Path, pairs: tuple[list[str], list[str], list[bool]]) -> Any:
    """The judge of a kind, trained where its folder is not there yet."""
    from oodometer.discriminators import SMALL, ClassifierDiscriminator, GenerativeDiscriminator, load_discriminator
    from oodometer.models.artifacts import described
    from oodometer.models.torch.training import TrainingConfig

    if described(folder) is None:
        plan = TrainingConfig(epochs=3, batch_size=32, learning_rate=1e-3, warmup=0.1)
        judge: Any = (
            GenerativeDiscriminator(config={}, training=plan)
            if kind == "generative"
            else ClassifierDiscriminator(config=SMALL, head=kind, training=plan)
        )
        judge.fit(*pairs)
        judge.save(folder)
    return load_discriminator(folder)


def voting_sides(judge: Any, inputs: list[str], outputs: list[str], few: list[int], batches: tuple[int, ...]) -> Sides:
    """Everybody judges; the loop the pairs at ``few``."""

    def ours() -> list[str]:
        return np.where(judge.judge(inputs, outputs), "Correct", "Incorrect").tolist()

    ask = _generated if judge.kind == "generative" else _classified

    def plain(rows: list[int], size: int) -> list[str]:
        found: list[str] = []
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            found += ask(judge, [inputs[row] for row in some], [outputs[row] for row in some])
        return found

    every = list(range(len(inputs)))
    found: Sides = {"ours": ours, "loop of one": lambda: plain(few, 1)}
    for size in batches:
        found[f"batches of {size}"] = lambda size=size: plain(every, size)
    return found


def _generated(judge: Any, inputs: list[str], outputs: list[str]) -> list[str]:
    import torch

    from oodometer.discriminators.generative import BETWEEN

    model = judge.model
    texts = [f"{given}{BETWEEN}{output}" for given, output in zip(inputs, outputs, strict=True)]
    given = model.tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=False)
    with torch.inference_mode():
        found = model.net.generate(**given, max_new_tokens=4, do_sample=False)
    return [text.strip() for text in model.tokenizer.batch_decode(found, skip_special_tokens=True)]


def _classified(judge: Any, inputs: list[str], outputs: list[str]) -> list[str]:
    import torch

    model = judge.model
    given = model.tokenizer(inputs, outputs, return_tensors="pt", padding=True)
    ids, mask = given["input_ids"], given["attention_mask"]
    with torch.inference_mode():
        scores = model._scores(model.net, ids, mask.bool())
    return ["Correct" if right else "Incorrect" for right in (scores[:, 1] >= scores[:, 0]).tolist()]
