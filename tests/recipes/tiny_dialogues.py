"""A tiny DailyDialog in the real form, and a toy WordNet beside it, for the recipe on dialogues."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np

TOPICS = {
    "food": [
        "I like the soup .",
        "Do you cook rice often ?",
        "We eat bread and cheese .",
        "The dinner was good .",
    ],
    "trip": [
        "The train is late .",
        "Where do you travel to ?",
        "We fly to the coast .",
        "The hotel was full .",
    ],
    "work": [
        "My boss called me .",
        "Do you write the report ?",
        "We meet at the office .",
        "The task was hard .",
    ],
    "more": ["Cook a cake !", "Take a boat !", "Ask a friend !"],
}


def write_dialogues(home: Path, train: int = 40, test: int = 16) -> Path:
    """Conversations of 2 to 9 turns, each on a topic of its own; some of the test split also stand in training."""
    rng = np.random.default_rng(0)
    home.mkdir(parents=True, exist_ok=True)

    def conversation() -> list[str]:
        topic = [*TOPICS[str(rng.choice(["food", "trip", "work"]))], *TOPICS["more"]]
        return [f"{rng.choice(topic)} {rng.integers(100)}" for _ in range(int(rng.integers(2, 10)))]

    splits = {"train": [conversation() for _ in range(train)]}
    splits["validation"] = [conversation() for _ in range(test)]
    splits["test"] = [*(conversation() for _ in range(test)), *splits["train"][:3]]
    with lzma.open(home / "dailydialog.jsonl.xz", "wt", encoding="utf-8") as file:
        for split, found in splits.items():
            for i, turns in enumerate(found):
                file.write(json.dumps({"split": split, "i": i, "turns": turns}) + "\n")
    return home


_MEANINGS = {
    "noun": ["soup broth report", "rice grain task", "bread loaf cake", "cheese curd dinner", "dinner supper train",
             "train railway boat", "hotel inn office", "boat vessel train", "boss chief friend", "office bureau hotel",
             "friend pal boss", "task chore report", "coast shore travel", "cake pastry bread", "report account task"],
    "verb": ["like enjoy cook", "cook prepare eat", "eat consume cook", "travel journey fly", "fly soar travel",
             "write compose call", "meet encounter call", "ask inquire call", "take grab meet"],
    "adj": ["good decent full", "late tardy hard", "full replete good", "hard tough late"],
    "adv": [],
}  # fmt: skip
"""A word, a synonym that no conversation has, and one that some have."""


def write_wordnet(home: Path) -> Path:
    """The synonyms above in the form of WordNet's own files; its offsets are those of the lines."""
    home.mkdir(parents=True, exist_ok=True)
    licence = "  1 a licence stands here\n"
    for part, meanings in _MEANINGS.items():
        data, places = licence, {}
        for words in map(str.split, meanings):
            for word in words:
                places.setdefault(word, []).append(len(data))
            cells = " ".join(f"{word} 0" for word in words)
            data += f"{len(data):08d} 06 {part[0]} {len(words):02x} {cells} 000 | a meaning  \n"
        index = licence
        for word, at in sorted(places.items()):
            index += f"{word} {part[0]} {len(at)} 1 @ {len(at)} 0 {' '.join(f'{one:08d}' for one in at)}  \n"
        (home / f"data.{part}").write_text(data)
        (home / f"index.{part}").write_text(index)
        (home / f"{part}.exc").write_text("")
    return home
