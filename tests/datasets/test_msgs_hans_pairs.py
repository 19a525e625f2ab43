"""MSGS, HANS and sentence pairs: read, marked, counted; every fault in one line."""

from __future__ import annotations

import json
import lzma
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from oodometer.errors import InputError, UsageError, WorkError
from oodometer_lab.datasets import data_folder
from oodometer_lab.datasets.sentences import MsgsSet, binary_entailment, hans, mrpc, msgs, paws_qqp

from ..snapshots import raises_snapshot

needs_data = pytest.mark.skipif(not os.environ.get("OODOMETER_DATA"), reason="needs OODOMETER_DATA")


def write_msgs(here: Path, *rows: tuple[str, str, int, int, int, str]) -> None:
    names = ("set", "role", "L", "S", "paradigm", "sentence")
    lines = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    (here / "msgs_regen.jsonl.xz").write_bytes(lzma.compress(lines.encode()))


def marked(found: MsgsSet) -> list[str | None]:
    """The word at each mark."""
    pairs = zip(found.data.inputs, found.features, strict=True)
    return [None if start is None else text[start:].split()[0] for text, start in pairs]


def test_the_word_that_decides_is_found(here: Path) -> None:
    write_msgs(
        here,
        ("MORPH", "test_ood", 1, 0, 1, "All men went to some hill."),
        ("MORPH", "test_ood", 0, 1, 1, "All men hate the hill."),
        ("MORPH", "aux_test", 0, 0, 1, "All men hate some hill."),
        ("MORPH", "test_ood", 1, 0, 2, "Women sang by a sea."),
        ("MORPH", "aux_test", 0, 0, 2, "Men stand on a hill."),
        ("VERB", "test_ood", 1, 0, 1, "Some men who own a building aren't leaving."),
        ("VERB", "test_ood", 1, 0, 2, "Some men were skated around a building."),
        ("ADJECT", "test_ood", 1, 0, 1, "No boy ran and a boy is ill."),
        ("ADJECT", "test_ood", 1, 0, 2, "A good boy ran and a boy is ill."),
        ("ADJECT", "test_ood", 1, 0, 3, "at those " * 16),
    )
    assert marked(msgs("MORPH", "test")) == ["went", None, None]
    assert marked(msgs("VERB", "test")) == ["leaving.", None]
    found = msgs("ADJECT", "test")
    assert marked(found) == ["ill.", None]
    assert (found.dropped, found.unmarked) == (1, 1)
    morph = msgs("MORPH", "test")
    assert (morph.data.targets, morph.surface, morph.unmarked) == ((1, 0, 1), (0, 1, 0), 1)
    assert morph.data.types == ("linguistic", "surface", "linguistic")


def test_faults_of_msgs_are_one_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with raises_snapshot(UsageError):
        msgs("VERB", "dev")
    with raises_snapshot(InputError):
        msgs("VERB", "train")
    write_msgs(here, ("VERB", "test_ood", 2, 0, 1, "A man ran."))
    with raises_snapshot(InputError):
        msgs("VERB", "test")
    write_msgs(here, ("VERB", "test_ood", 1, 0, 1, "A man ran."))  # a changed file is read again
    with raises_snapshot(InputError):
        msgs("VERB", "train")
    monkeypatch.delenv("OODOMETER_DATA")
    monkeypatch.setattr("oodometer_lab.datasets.files.data_folder", lambda: None)
    with raises_snapshot(WorkError):
        msgs("VERB", "train")


HEADS = "split\tlabel\tpremise\thypothesis\theuristic\tsubcase\ttemplate\n"


def test_hans_by_split_and_heuristic(here: Path) -> None:
    rows = (
        "eval\tentailment\tA b .\tA .\tsubsequence\tse_x\tt\n"
        "eval\tnon-entailment\tIf a b .\tA .\tconstituent\tcn_x\tt\n"
        "train\tnon-entailment\tC d .\tD .\tsubsequence\tsn_x\tt\n"
    )
    (here / "hans_regen.tsv.xz").write_bytes(lzma.compress((HEADS + rows).encode()))
    found = hans("eval")
    assert (found.inputs, found.targets) == ((("A b .", "A ."), ("If a b .", "A .")), (1, 0))
    assert (found.types, found.ids, found.modality) == (
        ("se_x", "cn_x"),
        ("eval-1", "eval-2"),
        "pair",
    )
    assert hans("train", "subsequence").targets == (0,)
    with raises_snapshot(InputError):
        hans("train", "constituent")
    with raises_snapshot(UsageError):
        hans("eval", "negation")
    (here / "hans_regen.tsv.xz").write_bytes(
        lzma.compress((HEADS + "eval\tperhaps\tA\tB\tc\td\te\n").encode())
    )
    with raises_snapshot(InputError):
        hans("eval")
    (here / "hans_regen.tsv.xz").write_bytes(lzma.compress(b"a\tb\n"))
    with raises_snapshot(InputError):
        hans("eval")


def test_hans_on_the_hub_counts_entailment_as_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[
        "oodometer_lab.datasets.sentences"
    ]  # the package has a function of its name
    monkeypatch.setattr(module, "data_folder", lambda: None)
    asked: list[tuple[str, str]] = []

    def rows(source: str, split: str) -> list[dict[str, Any]]:
        asked.append((source, split))
        about = {"heuristic": "subsequence", "subcase": "x"}
        return [{"premise": "A b", "hypothesis": "A", "label": label, **about} for label in (0, 1)]

    monkeypatch.setattr(module, "hub_rows", rows)
    assert hans("eval").targets == (1, 0)
    assert asked == [("jhu-cogsci/hans", "validation")]


def test_pairs_by_set(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[dict[str, Any]] = [
        {"set": "paws_qqp", "split": "dev_and_test", "id": "1", "label": 0},
        {"set": "paws_qqp", "split": "dev_and_test", "id": "2", "label": 1},
        {"set": "mrpc", "split": "train", "id": "3", "label": "1"},
        {"set": "mrpc", "split": "train", "id": "4", "label": 0},
        {"set": "sick", "split": "trial", "id": "5", "label": "CONTRADICTION"},
        {"set": "sick", "split": "test", "id": "6", "label": "NEUTRAL"},
        {"set": "rte", "split": "rte1_dev", "label": "TRUE"},
        {"set": "rte", "split": "rte2_test", "label": "YES"},
    ]
    path = here / "pairs.jsonl.xz"
    path.write_bytes(
        lzma.compress(
            "".join(json.dumps({**row, "a": "x", "b": "y"}) + "\n" for row in rows).encode()
        )
    )
    assert (paws_qqp().targets, mrpc("train").targets) == ((0, 1), (1, 0))
    train, test = binary_entailment("train"), binary_entailment("test")
    assert (train.targets, train.types, train.ids) == (
        (0, 1),
        ("sick", "rte"),
        ("trial-5", "rte1_dev-7"),
    )
    assert (test.targets, test.name) == ((0, 1), "SICK + RTE, binary, test")
    with raises_snapshot(InputError):
        mrpc("test")
    with raises_snapshot(UsageError):
        mrpc("dev")
    path.write_bytes(
        lzma.compress(json.dumps({**rows[0], "a": "x", "b": "y", "label": "MAYBE"}).encode())
    )
    with raises_snapshot(InputError):
        paws_qqp()
    monkeypatch.setattr("oodometer_lab.datasets.files.data_folder", lambda: None)
    with raises_snapshot(WorkError):
        paws_qqp()


@needs_data
def test_the_real_files_have_the_known_counts() -> None:
    folder = data_folder()
    if folder is None or not (folder / "msgs_regen.jsonl.xz").is_file():
        pytest.skip("needs msgs_regen.jsonl.xz in OODOMETER_DATA")
    counted = {name: msgs(name, "test") for name in ("MORPH", "VERB", "ADJECT")}
    assert {name: len(found.data) for name, found in counted.items()} == {
        "MORPH": 10_000,
        "VERB": 10_000,
        "ADJECT": 920,
    }
    assert {name: (found.dropped, found.unmarked) for name, found in counted.items()} == {
        "MORPH": (0, 12), "VERB": (0, 40), "ADJECT": (1_080, 1),
    }  # fmt: skip
    assert (len(paws_qqp()), sum(paws_qqp().targets)) == (677, 191)
    assert (len(hans("train")), len(hans("eval", "subsequence"))) == (29_008, 10_000)
    assert (len(binary_entailment("train")), len(mrpc("test"))) == (6_767, 1_725)


@needs_data
def test_repeated_pairs_are_as_many_as_the_docstrings_say() -> None:
    folder = data_folder()
    if folder is None or not (folder / "pairs.jsonl.xz").is_file():
        pytest.skip("needs pairs.jsonl.xz in OODOMETER_DATA")
    train, test, paws = binary_entailment("train"), binary_entailment("test"), paws_qqp()
    both = set(train.inputs) & set(test.inputs)
    counted = [sum(pair in both for pair in data.inputs) for data in (train, test)]
    assert (len(test), len(both), counted) == (7_327, 52, [64, 52])
    assert sum(many > 1 for many in Counter(train.inputs).values()) == 29
    assert sum(many > 1 for many in Counter(paws.inputs).values()) == 677 - 671
    assert sum(many > 1 for many in Counter(map(frozenset, paws.inputs)).values()) == 6 + 2
    for data in (train + test, paws):  # the same pair never has another label
        assert len(set(data.inputs)) == len(set(zip(data.inputs, data.targets, strict=True)))
