"""Token encoder: where a mistake is found, against an independent search; the product over tokens; what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import UsageError
from oodometer_lab.models import TokenEncoder, load_model
from oodometer_lab.models.text.encoder import mistakes
from oodometer_lab.models.torch.batches import ragged
from oodometer_lab.models.torch.training import TrainingConfig

from ..snapshots import raises_snapshot

MARK = 0
words = st.lists(st.integers(1, 4), min_size=0, max_size=7)


def longest_common(a: list[int], b: list[int]) -> int:
    """Length of the longest common subsequence, by the textbook's table."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i, one in enumerate(a):
        for j, other in enumerate(b):
            table[i + 1, j + 1] = (
                table[i, j] + 1 if one == other else max(table[i, j + 1], table[i + 1, j])
            )
    return int(table[-1, -1])


@given(words, words, words)
def test_mistakes_are_what_differs(first: list[int], gold: list[int], found: list[int]) -> None:
    """What is not marked is a common subsequence; an equal output has no mark, another one has some."""
    pairs = ragged([[*first, MARK, *gold, MARK], [*first, MARK, *found, MARK]])
    right, wrong = np.split(mistakes(pairs, np.array([True, False]), MARK), pairs.offsets[1:-1])
    assert right.tolist() == [0] * (len(first) + len(gold) + 2)
    assert wrong[: len(first) + 1].tolist() == [0] * (len(first) + 1)
    marks = wrong[len(first) + 1 :]
    assert set(marks.tolist()) <= {0, 1}
    assert bool(marks.any()) == (gold != found)
    kept = [one for one, bad in zip([*found, MARK], marks.tolist(), strict=True) if not bad]
    assert longest_common(kept, [*gold, MARK]) == len(kept)


def test_one_exchanged_token_is_one_mark() -> None:
    gold = [3, 1, 4, 1, 5, 9, 2, 6]
    for at in range(len(gold)):
        found = [*gold[:at], 7, *gold[at + 1 :]]
        pairs = ragged([[8, MARK, *gold, MARK], [8, MARK, *found, MARK]])
        marks = mistakes(pairs, np.array([True, False]), MARK)[pairs.offsets[1] :]
        assert np.flatnonzero(marks).tolist() == [2 + at]


def test_what_was_left_out_is_marked_behind() -> None:
    pairs = ragged([[8, MARK, 1, 2, 3, MARK], [8, MARK, 1, 2, MARK], [8, MARK, 1, 3, MARK]])
    _, end, middle = np.split(
        mistakes(pairs, np.array([True, False, False]), MARK), pairs.offsets[1:-1]
    )
    assert end.tolist() == [0, 0, 0, 0, 1]
    assert middle.tolist() == [0, 0, 0, 1, 0]


def test_without_a_right_output_nothing_is_known() -> None:
    pairs = ragged([[8, MARK, 1, MARK], [9, MARK, 2, MARK]])
    assert mistakes(pairs, np.array([False, True]), MARK).tolist() == [-1] * 4 + [0] * 4


@pytest.fixture(scope="module")
def model(transformers: Any) -> Any:
    """A small one that learnt that the output repeats the input in capitals."""
    rng = np.random.default_rng(0)
    pairs: list[tuple[str, str]] = []
    labels: list[str] = []
    for _ in range(400):
        drawn = rng.integers(0, 6, 3)
        text = " ".join(f"w{one}" for one in drawn)
        pairs.append((text, text.upper()))
        drawn[rng.integers(3)] = 9
        pairs.append((text, " ".join(f"W{one}" for one in drawn)))
        labels += ["right", "wrong"]
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
             "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.2}  # fmt: skip
    plan = TrainingConfig(epochs=4, batch_size=32, learning_rate=3e-3)
    found = TokenEncoder(config=sizes, max_length=16, training=plan)
    return found.fit(pairs, labels, classes=("wrong", "right"))


def test_the_verdict_is_the_product_over_tokens(model: Any) -> None:
    """P is the product over the second text and the mark behind it, one by one, and a wrong word has the blame."""
    torch = pytest.importorskip("torch")
    pairs = [("w1 w2 w3", "W1 W2 W3"), ("w1 w2 w3", "W1 W9 W3"), ("w4", "W4")]
    logits = model.logits(pairs).astype(float)
    assert np.all(logits[:, 0] == 0)
    p = 1 / (1 + np.exp(-logits[:, 1]))
    for pair, whole in zip(pairs, p, strict=True):
        ids = torch.tensor([model.tokenizer(*pair)["input_ids"]])
        first = ids[0].tolist().index(model.tokenizer.sep_token_id) + 1
        types = (torch.arange(ids.shape[1]) >= first).long()[None]
        with torch.inference_mode():
            odds = model.net(input_ids=ids, token_type_ids=types).logits[0, :, 0].double() + 3.0
        each = torch.sigmoid(odds)[types[0] == 1]
        assert float(each.prod()) == pytest.approx(whole, rel=1e-4, abs=2e-6)
        if pair[1] == "W1 W9 W3":
            blamed = model.tokenizer.convert_ids_to_tokens(ids[0][types[0] == 1])[
                int(each.argmin())
            ]
            assert "9" in blamed
    assert p[0] > 0.9
    assert p[1] < 0.1


def test_survives_saving(model: Any, tmp_path: Any) -> None:
    pairs = [("w1 w2 w3", "W1 W2 W3"), ("w1 w2", "W1 W1")]
    model.save(tmp_path)
    again = load_model(tmp_path)
    assert isinstance(again, TokenEncoder)
    np.testing.assert_allclose(again.logits(pairs), model.logits(pairs), atol=1e-6)


def test_other_than_pairs_and_two_classes_are_refused(transformers: Any) -> None:
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    with raises_snapshot(UsageError):
        TokenEncoder(config=sizes).fit(["a", "b"], ["x", "y"])
    with raises_snapshot(UsageError):
        TokenEncoder(config=sizes).fit([("a", "b")] * 3, ["x", "y", "z"])
