"""Tiny MSGS, HANS and sentence pairs in the real forms, for the recipe on rankings."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np

PEOPLE = ["doctors", "lawyers", "actors", "judges", "artists", "tourists"]
THINGS = ["hats", "books", "cars", "doors", "coins", "maps"]
PAST, PRESENT = ["drew", "took", "left", "made"], ["draw", "take", "leave", "make"]
ROLES = {
    "train_ambiguous": ((1, 1), (0, 0)),
    "inoculation": ((1, 0), (0, 1)),
    "test_indomain_training": ((1, 1), (0, 0)),
    "test_ood": ((1, 0), (0, 1)),
    "aux_test": ((1, 1), (0, 0)),
}


def _sentence(name: str, linguistic: int, surface: int, rng: np.random.Generator) -> str:
    article, who, what = ("the" if surface else "some"), rng.choice(PEOPLE), rng.choice(THINGS)
    verb = int(rng.integers(len(PAST)))
    if name == "MORPH":
        return f"Many {who} {(PAST if linguistic else PRESENT)[verb]} {article} {what}."
    if name == "VERB":
        return f"Many {who} {'are taking' if linguistic else 'took'} {article} {what}."
    return f"Many {who} saw {article} {'old ' if linguistic else ''}{what}."


def write_msgs(home: Path, paradigms: int) -> None:
    """Paradigms of each set; the rows of one share their words, and one of ADJECT is junk."""
    with lzma.open(home / "msgs_regen.jsonl.xz", "wt", encoding="utf-8") as file:
        for name in ("MORPH", "VERB", "ADJECT"):
            for role, labels in ROLES.items():
                for place in range(paradigms):
                    paradigm = place + (
                        paradigms if role in ("train_ambiguous", "inoculation") else 0
                    )
                    for linguistic, surface in labels:
                        text = _sentence(
                            name, linguistic, surface, np.random.default_rng([paradigm, 7])
                        )
                        row = {"set": name, "role": role, "L": linguistic, "S": surface}
                        file.write(
                            json.dumps({**row, "paradigm": paradigm, "sentence": text}) + "\n"
                        )
            junk = {
                "set": name,
                "role": "test_ood",
                "L": 1,
                "S": 0,
                "paradigm": 9_999,
                "sentence": "at those " * 20,
            }
            if name == "ADJECT":
                file.write(json.dumps(junk) + "\n")


def write_hans(home: Path, rows: int) -> None:
    """Subsequences and constituents that entail, or do not."""
    rng = np.random.default_rng(1)
    lines = ["split\tlabel\tpremise\thypothesis\theuristic\tsubcase\ttemplate"]
    for split in ("train", "eval"):
        for _ in range(rows):
            a, b = rng.choice(PEOPLE, 2, replace=False)
            for heuristic, subcase, premise, entails in (
                ("subsequence", "sn_PP_on_subject", f"The {a} near the {b} slept .", False),
                ("subsequence", "se_conjunction", f"The {a} and the {b} slept .", True),
                (
                    "constituent",
                    "cn_embedded_under_if",
                    f"Unless the {b} slept , the {a} ran .",
                    False,
                ),
                (
                    "constituent",
                    "ce_embedded_under_since",
                    f"Because the {b} slept , the {a} ran .",
                    True,
                ),
            ):
                label = "entailment" if entails else "non-entailment"
                lines.append(
                    f"{split}\t{label}\t{premise}\tThe {b} slept .\t{heuristic}\t{subcase}\ttemp1"
                )
    with lzma.open(home / "hans_regen.tsv.xz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def write_pairs(home: Path, rows: int) -> None:
    """Swapped words, paraphrases, and entailment of two sources."""
    rng = np.random.default_rng(2)
    out: list[dict[str, Any]] = []
    for i in range(rows):
        a, b = rng.choice(PEOPLE, 2, replace=False)
        swapped = i % 3 > 0
        pair = (f"Do {a} like {b} ?", f"Do {b} like {a} ?" if swapped else f"Do the {a} like {b} ?")
        out.append(
            {"set": "paws_qqp", "split": "dev_and_test", "id": str(i), "label": int(not swapped)}
            | _of(pair)
        )
        for split in ("train", "test"):
            same = i % 2 == 0
            pair = (f"{a} sold {b} .", f"{a} sold the {b} ." if same else f"{b} left .")
            # hardly a "no" of MRPC, so that its models err on PAWS's and there is something to grade
            out.append(
                {"set": "mrpc", "split": split, "id": f"{split}{i}", "label": int(i % 8 > 0)}
                | _of(pair)
            )
            out.append({"set": "sick", "split": split, "id": str(i)} | _of(pair)
                       | {"label": "ENTAILMENT" if same else ("NEUTRAL", "CONTRADICTION")[i % 4 // 2]})  # fmt: skip
        for split in ("rte1_dev", "rte2_test"):
            out.append(
                {"set": "rte", "split": split, "label": "TRUE" if i % 2 else "NO"}
                | _of((f"{a} ran", f"{b} ran"))
            )
    with lzma.open(home / "pairs.jsonl.xz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in out)


def _of(pair: tuple[str, str]) -> dict[str, Any]:
    return {"a": pair[0], "b": pair[1]}


def write_all(home: Path, rows: int = 24) -> Path:
    """All three files."""
    home.mkdir(parents=True, exist_ok=True)
    write_msgs(home, rows)
    write_hans(home, rows)
    write_pairs(home, 2 * rows)
    return home
