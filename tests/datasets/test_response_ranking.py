"""Response ranking: candidates drawn by seed and id, none twice; DailyDialog and what it shares with training."""

from __future__ import annotations

import json
import lzma
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import InputError, UsageError
from oodometer_lab.datasets import daily_dialog, replies

from ..snapshots import raises_snapshot

TALKS = [(str(i), tuple(f"turn {i} {j}" for j in range(2 + i % 4))) for i in range(30)]


@given(candidates=st.integers(2, 12), seed=st.integers(0, 99))
def test_one_true_reply_among_different_ones(candidates: int, seed: int) -> None:
    found = replies(TALKS, "toy", candidates=candidates, seed=seed)
    assert len(found) == sum(len(turns) - 1 for _, turns in TALKS)
    turns = dict(TALKS)
    for one, target, name in zip(found.inputs, found.targets, found.ids, strict=True):
        talk, at = name.split("-")
        assert one.context == turns[talk][: int(at)]
        assert one.candidates[target] == turns[talk][int(at)]
        assert len(set(one.candidates)) == candidates


def test_candidates_depend_on_seed_and_id_alone() -> None:
    whole = replies(TALKS, "toy")
    again = replies([("other", ("a", "turn 3 1")), *TALKS[::-1]], "toy")
    by_id = dict(zip(again.ids, again.inputs, strict=True))
    assert all(
        by_id[name].candidates == one.candidates
        for name, one in zip(whole.ids, whole.inputs, strict=True)
    )
    assert replies(TALKS, "toy", seed=1).inputs != whole.inputs
    assert replies(TALKS, "toy").fingerprint == whole.fingerprint


def test_the_true_reply_stands_anywhere_and_no_reply_is_preferred() -> None:
    talks = [(str(i), ("hello", f"reply {i}")) for i in range(2_000)]
    found = replies(talks, "toy", candidates=4)
    places = np.bincount(found.targets, minlength=4)
    assert places.min() > 430  # of 500
    wrong = Counter(
        c
        for one, t in zip(found.inputs, found.targets, strict=True)
        for i, c in enumerate(one.candidates)
        if i != t
    )
    assert max(wrong.values()) <= 14  # of 3 on average


@pytest.mark.parametrize("candidates", [1, 0, True, 2.5])
def test_too_few_candidates(candidates: Any) -> None:
    with raises_snapshot(UsageError):
        replies(TALKS, "toy", candidates=candidates)


def test_too_few_replies() -> None:
    with raises_snapshot(InputError):
        replies([("a", ("x", "y", "z")), ("b", ("x", "y"))], "toy")


def write(folder: Path, rows: list[Any]) -> None:
    with lzma.open(folder / "dailydialog.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def test_what_also_stands_in_training_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OODOMETER_DATA", str(tmp_path))
    same = ["How are you?", "Fine.", "And you?"]
    write(
        tmp_path,
        [
            {"split": "train", "i": 0, "turns": same},
            {"split": "test", "i": 0, "turns": same},
            {"split": "test", "i": 1, "turns": ["Where?", "Here."]},
        ],
    )
    found = daily_dialog("test", candidates=2)
    assert found.ids == ("0-1", "0-2", "1-1")
    assert found.types == ("also in train", "also in train", "new")
    assert found.modality == "dialogue"
    with raises_snapshot(UsageError):
        daily_dialog("dev")
    with raises_snapshot(InputError):
        daily_dialog("validation")


@pytest.mark.parametrize(
    "row", [{"split": "test", "i": 0}, {"split": "test", "i": 0, "turns": "a"}, [1]]
)
def test_damaged_rows(row: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OODOMETER_DATA", str(tmp_path))
    write(tmp_path, [row])
    with pytest.raises(InputError, match="row 1"):
        daily_dialog("test")


PATH = Path(os.environ.get("OODOMETER_DATA", "none")) / "dailydialog.jsonl.xz"


@pytest.mark.skipif(not PATH.is_file(), reason="needs dailydialog.jsonl.xz in OODOMETER_DATA")
def test_the_published_conversations() -> None:
    found = daily_dialog("test")
    assert len(found) == 6_740
    assert found.counts == {"also in train": 492, "new": 6_248}
    assert {len(one.candidates) for one in found.inputs} == {10}
