"""Attention as the importance of words: every word has one, pieces add up, long texts lose their oldest words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import shift
from oodometer.errors import InputError
from oodometer_lab.models.text.network import AttentionImportance
from oodometer_lab.shifts.text.words import words_of

from ..shifts.test_wordnet import write_wordnet


@pytest.fixture(scope="module")
def importance(tiny_encoder: Path) -> AttentionImportance:
    return AttentionImportance(tiny_encoder, device="cpu")


def by_hand(folder: Path, text: str, transformers: Any, torch: Any) -> list[float]:
    """The same by the pipeline of the library: the whole text at once, words by the places of their letters."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    net = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    given = tokenizer(text, return_offsets_mapping=True, return_tensors="pt")
    places = given.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        weights = net(**given, output_attentions=True).attentions[-1][0].mean(0)[0].double().numpy()
    out = []
    for word in words_of(text):
        mine = [
            w
            for w, (a, b) in zip(weights, places, strict=True)
            if b > a and word.start <= a and b <= word.end
        ]
        out.append(float(sum(mine)))
    return out


def test_each_word_is_the_sum_of_its_pieces(
    importance: AttentionImportance, tiny_encoder: Path, transformers: Any, torch: Any
) -> None:
    text = "a lovely film, unbelievably dull"
    found = importance([text])
    assert found.tolist() == pytest.approx(
        by_hand(tiny_encoder, text, transformers, torch), abs=1e-6
    )
    assert 0.3 < found.sum() < 1  # the rest lies on the marks at both ends


def test_turns_are_one_text(importance: AttentionImportance) -> None:
    assert importance(["a good film.", "bad"]).tolist() == importance(["a good film. bad"]).tolist()
    assert importance([""]).shape == (0,)


def test_a_long_text_loses_its_oldest_words(importance: AttentionImportance) -> None:
    words = [f"film{i}" for i in range(90)]
    found = importance([" ".join(words)])
    kept = int((found > 0).sum())
    assert found.shape == (90,)
    assert 0 < kept < 90
    assert not found[: 90 - kept].any()
    assert found[-kept:].tolist() == importance([" ".join(words[-kept:])]).tolist()


@pytest.mark.parametrize("what", ["missing", "empty", "broken"])
def test_what_is_no_model(what: str, tmp_path: Path, transformers: Any) -> None:
    place = tmp_path / "model"
    if what != "missing":
        place.mkdir()
    if what == "broken":
        (place / "config.json").write_text("{")
    with pytest.raises(InputError, match="expected"):
        AttentionImportance(place)


def test_the_most_important_words_become_unknown(
    tiny_encoder: Path, tmp_path: Path, reviews: Any
) -> None:
    place = tmp_path / "a.jsonl"
    text = "the house and a big house go on to the house and the house"
    place.write_text(json.dumps({"text": text}))
    (tmp_path / "train.jsonl").write_text(json.dumps({"text": "nothing"}))
    options: dict[str, Any] = {
        "training": tmp_path / "train.jsonl",
        "wordnet": write_wordnet(tmp_path / "wn"),
    }
    seen = []
    for severity in (1, 5):
        out = tmp_path / f"{severity}.jsonl"
        shift(
            place,
            kind="important-words",
            severity=severity,
            importance=str(tiny_encoder),
            out=out,
            **options,
        )
        new = json.loads(out.read_text())["text"].split()
        seen.append(
            {i for i, (old, now) in enumerate(zip(text.split(), new, strict=True)) if old != now}
        )
    weights = AttentionImportance(tiny_encoder, device="cpu")([text])
    least, most = (np.mean([weights[i] for i in one]) for one in seen)
    assert least < most
