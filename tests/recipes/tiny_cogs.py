"""A tiny COGS in the real form, and a line-up of tasks over it that runs in seconds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from oodometer_lab.recipes.correctness_discriminators.tasks import Task, tasks_of

NOUNS, NAMES = ("cat", "dog", "boy", "girl", "cake", "box"), ("Emma", "Liam", "Zoe")
VERBS = {"saw": "see", "ate": "eat", "liked": "like"}


def write_cogs(home: Path, train: int = 240, test: int = 40) -> Path:
    """Sentences with one or two nouns more, unpacked as the archive would be."""
    rng = np.random.default_rng(0)

    def thing() -> tuple[str, str]:
        if rng.random() < 0.3:
            name = str(rng.choice(NAMES))
            return name, name
        noun, the = str(rng.choice(NOUNS)), bool(rng.random() < 0.5)
        return f"{'the' if the else 'a'} {noun}", f"{'* ' if the else ''}{noun}"

    def row(kind: str, deep: bool) -> str:
        (who, agent), (what, theme), verb = thing(), thing(), str(rng.choice(list(VERBS)))
        if deep:
            place, inner = thing()
            what, theme = f"{what} beside {place}", f"{theme} ( nmod . beside = {inner} )"
        text = f"{who} {verb} {what} ."
        return f"{text[0].upper()}{text[1:]}\t{VERBS[verb]} ( agent = {agent} , theme = {theme} )\t{kind}\n"

    folder = home / "cogs"
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in (("train", train), ("dev", test), ("test", test), ("gen", 2 * test)):
        plain = "seen" if split == "gen" else "in_distribution"
        kinds = [
            ("pp", True) if split == "gen" and i % 2 else (plain, i % 9 == 0) for i in range(rows)
        ]
        lines = "".join(row(*kind) for kind in kinds)
        for form in ("", "_varfree"):
            (folder / f"{split}{form}.tsv").write_text(lines)
    lexicon = {"nouns": NOUNS, "proper_nouns": NAMES, "verbs2lemmas": VERBS}
    for name in ("nouns", "proper_nouns", "verbs2lemmas", "V_trans", "V_unacc", "V_unerg"):
        (folder / f"lexicon_{name}.json").write_text(json.dumps(lexicon.get(name, [])))
    return home


def tiny_tasks(scale: str) -> tuple[Task, ...]:
    """COGS with all that a task may have, and POS-COGS, at sizes of seconds."""
    tasks = {task.name: task for task in tasks_of("small")}
    encoder = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    changes = {
        "parser": {"config": {"d_model": 32, "d_ff": 64, "d_kv": 16, "num_layers": 1, "num_heads": 2}},
        "parser_plan": {"epochs": 16, "batch_size": 16, "learning_rate": 8e-3},
        "judge": {"kind": "classifier", "config": encoder, "head": "tokens"},
        "pretraining": {"epochs": 2, "batch_size": 32},
        "judge_plan": {"epochs": 2, "batch_size": 16, "learning_rate": 3e-3},
        "metric_judge": {"config": encoder},
        "every": 30, "checkpoints": 2, "judges": 3, "example_rows": 100, "per_checkpoint": 60, "beams": 2,
        "dev_rows": None, "test_rows": 60, "longest_output": 40, "draws": 10,
    }  # fmt: skip
    bart = {
        "model_type": "bart",
        "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2, "dropout": 0.0, "init_std": 0.1,
    }  # fmt: skip
    cogs, pos = tasks["cogs"], tasks["pos-cogs"]
    return (
        replace(cogs, config=replace(cogs.config, **changes), metric="token_f1"),
        replace(
            pos,
            config=replace(
                pos.config, **{**changes, "parser": {"config": bart}, "pretraining": None}
            ),
        ),
    )
