"""Small functions of the models, each on its smallest case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace as Some
from typing import Any

import numpy as np
import pytest

from oodometer.datasets.base import Dialogue
from oodometer.errors import InputError
from oodometer.models.artifacts import fingerprint, kind_named, read_description, trained_as
from oodometer.models.base import check_texts, class_codes, joined, matched
from oodometer.models.embeddings import WordVectors, cooccurrences
from oodometer.models.image.network import brightness, check_images
from oodometer.models.inoculation import _counts
from oodometer.models.opening import SentModel
from oodometer.models.outside import _class_name
from oodometer.models.response_ranking import check_dialogues, with_candidates_kept
from oodometer.models.seq2seq.codec import check_strings
from oodometer.models.seq2seq.encoder_decoder import pairs_of
from oodometer.models.text.encoder import mistakes, positions
from oodometer.models.text.network import room_of_each, with_words_dropped
from oodometer.models.tokens import ends, words
from oodometer.models.torch.batches import Asking, length_batches, padded, ragged, token_batches
from oodometer.models.torch.library import idle_cores
from oodometer.models.torch.training import TrainingConfig, look_steps


def test_labels_and_classes() -> None:
    where: dict[str, Any] = {"file": None, "first_row": 0, "column": "label"}
    assert matched(["1", None, "0", 1.0, "1.0"], (0, 1), **where) == [1, None, 0, 1, 1]
    assert matched(["2024/cat"], ("cat", "dog"), images=["2024/cat/1.png"], **where) == ["cat"]
    codes, classes = class_codes(["neg", "pos", "neg"], 3, None)
    assert (codes.tolist(), classes) == ([0, 1, 0], ("neg", "pos"))
    assert (_class_name(np.float64(1.0)), _class_name(np.True_), _class_name(np.str_("yes"))) == (1, 1, "yes")
    assert [_counts([0.5, 0.5], 3), _counts([0.25, 0.1, 0.1], 10)] == [[2, 1], [2, 1, 1]]


def test_texts_and_tokens() -> None:
    assert (joined("alone"), joined(("a man eats", "he"), " / ")) == ("alone", "a man eats / he")
    assert words("It doesn't work!<br />Why, it's 2 bad") == words("it does n't work ! why , it 's 2 bad")
    assert words("It doesn't work!") == ["it", "does", "n't", "work", "!"]
    assert ends([1, 2, 3, 4, 5, 6], 4) == [1, 4, 5, 6]
    assert with_words_dropped(["a b c", "d"], (0, 0, 0)) == ["a b", "d"]
    assert with_words_dropped(["d"], (0, 0, 1)) == ["d"]
    rooms = room_of_each(np.array([3, 90, 90, 3]), np.array([4, 90, 4, 90]), 20)
    assert [side.tolist() for side in rooms] == [[3, 10, 16, 3], [4, 10, 4, 17]]
    assert pairs_of(["a b"], ["A"]) == (["a b"], ["A"])
    conversation = Dialogue(("a b c d e f g h",), ("x", "y"))
    (shorter,) = with_candidates_kept([conversation], (0, 0, 0))
    assert shorter.candidates == ("x", "y")
    assert len(shorter.context[0]) < len(conversation.context[0])
    assert positions(Some(max_position_embeddings=514, model_type="roberta"), Some(model_max_length=10**30)) == 512


def test_tokens_of_wrong_pairs_that_are_mistakes() -> None:
    pairs = ragged([[5, 0, 7, 8, 9, 0], [5, 0, 7, 9, 0], [5, 0, 7, 6, 9, 0], [4, 0, 7, 0]])
    marks = np.split(mistakes(pairs, np.array([True, False, False, False]), 0), pairs.offsets[1:-1])
    assert [row.tolist() for row in marks] == [[0] * 6, [0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0], [-1] * 4]


def test_batches(torch: Any) -> None:
    assert ragged([[1, 2], [3]]).offsets.tolist() == [0, 2, 3]
    batches = length_batches(np.array([5, 1, 4, 2]), 2, seed=0, epoch=0)
    assert sorted(tuple(sorted(batch.tolist())) for batch in batches) == [(0, 2), (1, 3)]
    assert [b.tolist() for b in token_batches(np.array([2, 2, 3, 9]), np.arange(4), 6)] == [[0, 1], [2], [3]]
    ids, real = padded(ragged([[7, 8], [9]]), np.array([1, 0]), fill=0)
    assert (ids.tolist(), real.tolist()) == ([[9, 0], [7, 8]], [[True, False], [True, True]])
    with Asking([np.array([2, 0]), np.array([1])], 3) as asking:
        for batch in asking:
            asking.take(batch * 10)
    assert [part.tolist() for part in asking.found] == [[0, 10, 20]]


def test_trainings(torch: Any) -> None:
    assert (sorted(look_steps(20)), sorted(look_steps(3))) == (list(range(2, 21, 2)), [1, 2, 3])
    assert [TrainingConfig(learning_rate=1, warmup=0.5).rate(step, 4) for step in range(4)] == [0.5, 1.0, 1.0, 0.5]
    assert fingerprint({"a": 1}, np.zeros(3)) == fingerprint({"a": 1}, np.zeros(3)) != fingerprint({"a": 1}, np.ones(3))
    assert trained_as(Path("no-such-folder")) is None
    kind = kind_named("bag-of-words")
    assert (kind.__name__, kind_named("none")) == ("BagOfWords", None)
    assert SentModel("model", None, {"device": "cpu"}).gpu is False
    assert idle_cores() >= 1


def test_vectors_and_images() -> None:
    assert WordVectors(("a", "b"), np.eye(2, 3, dtype=np.float32)).dimensions == 3
    i, j, x = cooccurrences(ragged([[2, 3, 2]]), 4, window=2)
    assert list(zip(i.tolist(), j.tolist(), x.tolist(), strict=True)) == [(2, 2, 0.5), (2, 3, 2.0)]
    assert check_images(np.zeros((2, 4, 4), dtype=np.uint8)).shape == (2, 4, 4, 3)
    assert brightness(np.full((1, 1, 1, 3), 100, dtype=np.uint8), np.array([1.5])).tolist() == [[[[150, 150, 150]]]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check_texts(["good", 3]), "row 2: column text: expected a string or a pair of strings, got 3; clean"),
        (lambda: check_strings(["a", None], "output"), "row 2: column output: expected a string, got None; drop the"),
        (lambda: check_dialogues([Dialogue(("Hi.",), ("Hello!",))]), "row 1: column candidates: expected at least 2"),
        (lambda: read_description(Path("none")), "none/oodometer_model.json: expected a model saved by oodometer, got"),
    ],
)
def test_what_is_none_is_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
