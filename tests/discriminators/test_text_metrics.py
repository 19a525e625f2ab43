"""Token F1 and BLEU: by hand, against a loop, against sacrebleu."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import InputError
from oodometer_lab.discriminators import sentence_bleu, token_f1

from ..snapshots import raises_snapshot

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", "A", "(", ")"]), max_size=9).map(" ".join)


def test_f1_by_hand() -> None:
    # 2 of 3 tokens shared with a gold of 4: precision 2/3, recall 1/2
    assert token_f1(["eat the cat"], ["the cat was asleep"])[0] == pytest.approx(4 / 7)
    assert token_f1(["b a"], ["a b"])[0] == 1  # order does not count
    assert token_f1(["A"], ["a"])[0] == 0  # case does
    assert token_f1(["", "", "a"], ["", "a", ""]).tolist() == [1, 0, 0]


@given(TEXTS, TEXTS)
def test_f1_against_precision_and_recall(output: str, gold: str) -> None:
    left, shared = gold.split(), 0
    for token in output.split():
        if token in left:
            left.remove(token)
            shared += 1
    if not output.split() and not gold.split():
        expected = 1.0
    elif not shared:
        expected = 0.0
    else:
        precision, recall = shared / len(output.split()), shared / len(gold.split())
        expected = 2 * precision * recall / (precision + recall)
    assert token_f1([output], [gold])[0] == pytest.approx(expected, abs=1e-6)
    assert token_f1([gold], [output])[0] == pytest.approx(expected, abs=1e-6)


def test_bleu_by_hand() -> None:
    # 4 of 4 words, 2 of 3 pairs, 1 of 2 triples, 0 of 1 (smoothed to 1/2); as long as gold
    found = sentence_bleu(["a b c x"], ["a b c d"])
    assert found[0] == pytest.approx((3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** 0.25, abs=1e-6)
    # too short: exp(1 - 4/2)
    assert sentence_bleu(["a b"], ["a b c d"])[0] == pytest.approx(np.exp(-1), abs=1e-6)
    assert sentence_bleu(["", "", "a"], ["", "a", ""]).tolist() == [1, 0, 0]


@given(TEXTS, TEXTS)
def test_bleu_is_a_share_and_1_for_equal_texts(output: str, gold: str) -> None:
    found = float(sentence_bleu([output], [gold])[0])
    assert 0 <= found <= 1
    assert sentence_bleu([gold], [gold])[0] == pytest.approx(1)


@given(TEXTS, TEXTS)
def test_bleu_against_sacrebleu(output: str, gold: str) -> None:
    library = pytest.importorskip("sacrebleu")
    metric = library.metrics.BLEU(tokenize="none", effective_order=True, smooth_method="exp")
    if output.split() and gold.split():
        expected = metric.sentence_score(output, [gold]).score / 100
        assert sentence_bleu([output], [gold])[0] == pytest.approx(expected, abs=1e-5)


def test_lengths_must_agree() -> None:
    for metric in (token_f1, sentence_bleu):
        with raises_snapshot(InputError):
            metric(["a", "b"], ["a"])
