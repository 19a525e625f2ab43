"""The ranker over frozen sentence vectors: its scores by a plain loop, its weights of words by finite differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError
from oodometer_lab.datasets import Dataset
from oodometer_lab.datasets.base import Dialogue
from oodometer_lab.models import FrozenRanker, load_model
from oodometer_lab.models.base import Request
from oodometer_lab.models.torch.training import TrainingConfig
from oodometer_lab.shifts.text.words import words_of

from ...snapshots import raises_snapshot

QUICK = TrainingConfig(epochs=2, batch_size=4, learning_rate=5e-3)
DATA = Dataset(
    "toy",
    tuple(
        Dialogue(context, candidates)
        for context, candidates in (
            (("a good film", "a bad one!", "the plot was slow"), ("yes", "no", "it was good")),
            (("who plays in it?",), ("no", "a good actor", "the plot")),
            (("I liked it", "why"), ("the actor", "yes", "bad film")),
            (("was it long?", "no", "good", "yes"), ("it was good", "why", "who")),
        )
    ),
    (2, 1, 0, 0),
    ids=("0-3", "1-1", "2-2", "3-4"),
    modality="dialogue",
)


@pytest.fixture(scope="module")
def model(torch: Any, tiny_encoder: Path) -> FrozenRanker:
    return FrozenRanker(str(tiny_encoder), turns=3, hidden=8, training=QUICK).fit(DATA)


def score(
    model: FrozenRanker, context: tuple[str, ...], reply: str, transformers: Any, torch: Any
) -> float:
    """One score after the formula, each text encoded alone, the weights taken by name."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(model.source)
    encoder = transformers.AutoModel.from_pretrained(model.source).eval()
    parts = dict(model.net.named_parameters())

    def vector(text: str) -> Any:
        with torch.no_grad():
            mean = encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        return mean / mean.norm()

    def layers(name: str, x: Any) -> Any:
        hidden = torch.nn.functional.gelu(parts[f"{name}.1.weight"] @ x + parts[f"{name}.1.bias"])
        return parts[f"{name}.4.weight"] @ hidden + parts[f"{name}.4.bias"]

    turns, root = [vector(text) for text in reversed(context[-model.turns :])], 4.0  # of 16 units
    weights = parts["numbers.turns"].exp()
    u = sum(weights[i] * turn for i, turn in enumerate(turns))
    u = u / u.norm()
    left = u + layers("context", torch.cat([turns[0], u]) * root) / root
    right = vector(reply) + layers("reply", vector(reply) * root) / root
    return (parts["numbers.scale"] * (left @ right) / left.norm() / right.norm()).item()


def test_scores_are_those_of_the_formula(
    model: FrozenRanker, transformers: Any, torch: Any
) -> None:
    expected = [
        [score(model, d.context, reply, transformers, torch) for reply in d.candidates]
        for d in DATA.inputs
    ]
    np.testing.assert_allclose(model.logits(DATA.inputs), expected, atol=2e-4)
    assert model.truncated == 1  # of four turns three are read


def test_it_learns_and_is_the_same_once_saved(
    tiny_encoder: Path, torch: Any, tmp_path: Path
) -> None:
    training = replace(QUICK, epochs=60)
    trained = FrozenRanker(
        str(tiny_encoder), turns=3, hidden=32, dropout=0.0, training=training
    ).fit(DATA)
    assert trained.predict(DATA).accuracy == 1
    trained.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.logits(DATA.inputs), trained.logits(DATA.inputs))


def test_what_was_encoded_once_is_asked_the_same(model: FrozenRanker, tiny_encoder: Path) -> None:
    other = FrozenRanker(str(tiny_encoder), turns=3, hidden=8, training=replace(QUICK, seed=1)).fit(
        DATA
    )
    encoded = model.encoded(DATA.inputs)
    for ranker in (model, other):
        np.testing.assert_array_equal(ranker.logits(encoded), ranker.logits(DATA.inputs))
    assert not np.allclose(model.logits(encoded), other.logits(encoded))


def test_a_vector_in_memory_is_not_encoded_again(model: FrozenRanker, tiny_encoder: Path) -> None:
    reader = FrozenRanker(str(tiny_encoder), turns=3)
    reader.memory = {text: np.full(16, 0.25, dtype=np.float32) for text in model.texts(DATA.inputs)}
    assert np.unique(reader.encoded(DATA.inputs).vectors[:-1]).tolist() == [0.25]


def test_dropout_gives_distributions_and_fewer_candidates_none(model: FrozenRanker) -> None:
    shorter = (DATA.inputs[0], Dialogue(DATA.inputs[1].context, DATA.inputs[1].candidates[:2]))
    answers = model.ask(shorter, Request(dropout=4, seed=1))
    np.testing.assert_allclose(answers.distribution.sum(1), 1, atol=1e-5)
    assert answers.distribution[1, 2] == 0
    assert answers.variance is not None
    assert (answers.variance[0] > 0).all()
    whole = model.logits(DATA.inputs)
    np.testing.assert_allclose(model.logits(shorter)[1, :2], whole[1, :2], atol=1e-5)


def test_word_weights_are_slopes_along_the_embeddings(
    model: FrozenRanker, transformers: Any, torch: Any
) -> None:
    """The change of log p(true reply) as the embeddings of one word grow by a little, by central differences."""
    weights = model.word_weights(DATA)
    contexts = [dialogue.context for dialogue in DATA.inputs]
    assert [len(each) for each in weights] == [
        sum(len(words_of(turn)) for turn in turns) for turns in contexts
    ]
    assert not weights[3][: len(words_of(contexts[3][0]))].any()  # a turn that is not read
    tokenizer = transformers.AutoTokenizer.from_pretrained(model.source)
    encoder = transformers.AutoModel.from_pretrained(model.source).eval().double()
    text, row, back = contexts[0][1], 0, 1  # "a bad one!"
    before, step = len(words_of(contexts[0][0])), 1e-4
    given = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    spans = given.pop("offset_mapping")[0].tolist()
    net = model.net.double()
    try:
        for at, word in enumerate(words_of(text)):
            pieces = [
                i
                for i, (start, end) in enumerate(spans)
                if end > start and word.start <= start < word.end
            ]
            values = []
            for sign in (1, -1):
                embeddings = encoder.get_input_embeddings()(given["input_ids"]).detach().clone()
                embeddings[0, pieces] *= 1 + sign * step
                with torch.no_grad():
                    mean = encoder(inputs_embeds=embeddings).last_hidden_state[0].mean(0)
                    turns, replies, which = model._tensors(
                        model.encoded(DATA.inputs), np.array([row]), "cpu"
                    )
                    turns, replies = turns.double(), replies.double()
                    turns[0, back] = mean / mean.norm()
                    values.append(
                        float(
                            model._scores(net, turns, replies, which).log_softmax(-1)[
                                0, DATA.targets[row]
                            ]
                        )
                    )
            slope = (values[0] - values[1]) / (2 * step)
            assert weights[row][before + at] == pytest.approx(abs(slope), rel=1e-2, abs=1e-5)
    finally:
        model.net.float()


def test_what_is_no_dialogue_is_refused(model: FrozenRanker) -> None:
    with raises_snapshot(InputError):
        model.logits([Dialogue((), ("a", "b"))])
