"""A tiny DailyDialog in the real form, and a toy WordNet beside it, for the recipe on dialogues."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np

TOPICS = {
    "food": "I like the soup . | Do you cook rice often ? | We eat bread and cheese . | The dinner was good . | Cook a cake !",
    "trip": "The train is late . | Where do you travel to ? | We fly to the coast . | The hotel was full . | Take a boat !",
    "work": "My boss called me . | Do you write the report ? | We meet at the office . | The task was hard . | Ask a friend !",
}


def write_dialogues(home: Path, train: int = 40, test: int = 16) -> Path:
    """Conversations of 2 to 9 turns, each on a topic of its own; some of the test split also stand in training."""
    rng = np.random.default_rng(0)
    home.mkdir(parents=True, exist_ok=True)

    def conversation() -> list[str]:
        topic = [one.strip() for one in TOPICS[str(rng.choice(list(TOPICS)))].split("|")]
        return [f"{rng.choice(topic)} {rng.integers(100)}" for _ in range(int(rng.integers(2, 10)))]

    splits = {"train": [conversation() for _ in range(train)]}
    splits["validation"] = [conversation() for _ in range(test)]
    splits["test"] = [*(conversation() for _ in range(test)), *splits["train"][:3]]
    with lzma.open(home / "dailydialog.jsonl.xz", "wt", encoding="utf-8") as file:
        for split, found in splits.items():
            for i, turns in enumerate(found):
                file.write(json.dumps({"split": split, "i": i, "turns": turns}) + "\n")
    return home
