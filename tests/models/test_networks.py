"""The classifiers: they learn, answer in order, survive saving, go on after an interruption to the same weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.models import (
    BagOfWords,
    Classifier,
    Convolution,
    EmbeddingSum,
    Encoder,
    FrozenEncoder,
    Recurrent,
    load_model,
)
from oodometer_lab.models.embeddings import WordVectors
from oodometer_lab.models.torch.training import TrainingConfig, read_tensors, write_tensors

from ..snapshots import raises_snapshot

QUICK = TrainingConfig(epochs=4, batch_size=16, learning_rate=0.02)
SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}

Make = Callable[[], Classifier]
MAKERS: dict[str, Make] = {
    "bag-of-words": lambda: BagOfWords(training=QUICK),
    "embedding-sum": lambda: EmbeddingSum(dimensions=8, training=QUICK),
    "convolution": lambda: Convolution(dimensions=8, filters=6, widths=(2, 3), training=QUICK),
    "recurrent": lambda: Recurrent(dimensions=8, units=8, training=QUICK),
}


@pytest.fixture(params=[*MAKERS, "encoder", "frozen-encoder", "pretrained"])
def make(request: pytest.FixtureRequest, torch: Any) -> Make:
    if request.param in MAKERS:
        return MAKERS[request.param]
    source = str(request.getfixturevalue("tiny_encoder"))
    if request.param == "frozen-encoder":
        return lambda: FrozenEncoder(source, max_length=32)
    if request.param == "pretrained":
        return lambda: Encoder(
            source,
            max_length=32,
            training=TrainingConfig(epochs=8, batch_size=16, learning_rate=0.005),
        )
    return lambda: Encoder(config=SHAPE, vocab_size=200, max_length=32, training=QUICK)


def test_learns(make: Make, reviews: Any) -> None:
    texts, labels = reviews
    model = make().fit(texts[:160], labels[:160])
    record = model.predict(texts[160:], label=labels[160:], ids=range(40))
    assert record.accuracy >= 0.9
    assert record.columns["id"].tolist() == [str(i) for i in range(40)]


def test_a_loaded_model_can_be_trained_again(make: Make, reviews: Any, tmp_path: Path) -> None:
    texts, labels = reviews
    model = make().fit(texts, labels)
    again = load_model(model.save(tmp_path))
    assert (type(again), again.classes, again.parameters) == (type(model), (0, 1), model.parameters)
    if hasattr(again, "training"):
        again.training = make().training  # type: ignore[attr-defined]
    flipped = [1 - one for one in labels]
    assert again.fit(texts, flipped).predict(texts, label=flipped).accuracy >= 0.9


def test_each_text_is_answered_for_itself(make: Make, reviews: Any) -> None:
    """Neither the order nor the neighbours in a batch, and so no padding, change an answer."""
    texts, labels = reviews
    model = make().fit(texts, labels)
    some = [*texts[:20], "good", "", "unseen words alone", " ".join(["film"] * 60)]
    whole = model.logits(some)
    np.testing.assert_allclose(model.logits(some[::-1])[::-1], whole, atol=1e-5)
    for i in (0, 20, 21, 22, 23):
        np.testing.assert_allclose(model.logits([some[i]])[0], whole[i], atol=1e-5)


def test_goes_on_after_an_interruption(torch: Any, reviews: Any, tmp_path: Path) -> None:
    make = MAKERS["recurrent"]
    texts, labels = reviews
    steps: list[int] = []

    def stop(done: int, total: int) -> None:
        if done == 2 * total // 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make().fit(texts, labels, checkpoint=tmp_path, progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.safetensors"]
    resumed = make().fit(
        texts, labels, checkpoint=tmp_path, progress=lambda done, total: steps.append(done)
    )
    assert steps[0] == 2 * steps[-1] // 3 + 1
    np.testing.assert_array_equal(resumed.logits(texts), make().fit(texts, labels).logits(texts))


def test_a_checkpoint_of_other_data_or_options_is_left_alone(
    torch: Any, reviews: Any, tmp_path: Path
) -> None:
    texts, labels = reviews
    BagOfWords(training=QUICK).fit(texts, labels, checkpoint=tmp_path)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BagOfWords(training=QUICK).fit(texts, labels, checkpoint=tmp_path, progress=stop)
    for model, given in (
        (BagOfWords(training=QUICK), [1 - one for one in labels]),
        (BagOfWords(training=QUICK, max_length=5), labels),
        (BagOfWords(training=TrainingConfig(epochs=4, batch_size=16, learning_rate=0.1)), labels),
    ):
        steps: list[int] = []
        model.fit(
            texts,
            given,
            checkpoint=tmp_path,
            progress=lambda done, total, steps=steps: steps.append(done),
        )
        assert steps[0] == 1
    (tmp_path / "checkpoint.safetensors").write_bytes(b"nonsense")
    with pytest.warns(UserWarning, match="it is made anew"):
        BagOfWords(training=QUICK).fit(texts, labels, checkpoint=tmp_path)


def test_states_are_kept_after_an_interruption(
    tiny_encoder: Path, reviews: Any, tmp_path: Path
) -> None:
    texts, labels = reviews

    def stop(done: int, total: int) -> None:
        if done == 64:  # texts: two batches
            raise KeyboardInterrupt

    model = FrozenEncoder(str(tiny_encoder), max_length=32, batch_size=32)
    with pytest.raises(KeyboardInterrupt):
        model.fit(texts, labels, checkpoint=tmp_path, progress=stop)
    kept = sorted(tmp_path.rglob("*.safetensors"))
    assert len(kept) == 2
    moved = read_tensors(kept[0])[0]["states"] + 1  # they must be read, not computed again
    write_tensors(kept[0], {"states": moved}, {})
    fresh = FrozenEncoder(str(tiny_encoder), max_length=32, batch_size=32)
    states = fresh.states(texts, checkpoint=tmp_path)
    bare = fresh.states(texts)
    assert int((np.abs(states - bare) > 0.5).all(1).sum()) == 32
    damaged = bytearray(kept[0].read_bytes())
    damaged[len(damaged) // 2] ^= 1
    kept[0].write_bytes(damaged)
    with pytest.warns(UserWarning, match="it is made anew"):
        np.testing.assert_array_equal(fresh.states(texts, checkpoint=tmp_path), bare)


def test_bag_of_words_by_hand(torch: Any, reviews: Any) -> None:
    """The logits are the bias and the sum of the weights of the words."""
    texts, labels = reviews
    model = BagOfWords(training=QUICK).fit(texts, labels)
    weights = model.net["weights"].weight.detach().numpy()
    bias = model.net["bias"][0].detach().numpy()
    place = {word: i for i, word in enumerate(model.vocabulary.words, 2)}
    expected = bias + weights[place["good"]] + weights[place["film"]] * 2
    np.testing.assert_allclose(model.logits(["film good film"])[0], expected, atol=1e-5)


def test_convolution_against_a_loop(torch: Any, reviews: Any) -> None:
    model = Convolution(dimensions=5, filters=3, widths=(2, 3), training=QUICK).fit(*reviews)
    net, known = model.net, model.vocabulary
    assert known is not None
    text = "the film was good"
    ids = known.encode([text.split()]).values
    vectors = net["embedding"].weight.detach().numpy()[ids]
    pooled = []
    for layer, width in zip(net["filters"], (2, 3), strict=True):
        weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
        for f in range(3):
            windows = [vectors[i : i + width].T for i in range(len(ids) - width + 1)]
            pooled.append(
                max(max(float((weight[f] * one).sum() + bias[f]), 0.0) for one in windows)
            )
    linear = net["linear"]
    expected = linear.weight.detach().numpy() @ np.array(pooled) + linear.bias.detach().numpy()
    np.testing.assert_allclose(model.logits([text])[0], expected, atol=1e-4)


def test_lstm_against_a_loop(torch: Any, reviews: Any) -> None:
    model = Recurrent(dimensions=4, units=3, training=QUICK).fit(*reviews)
    net, known = model.net, model.vocabulary
    assert known is not None
    lstm, state, cell = net["lstm"], np.zeros(3), np.zeros(3)

    def squash(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    text = "the film was good"
    for i in known.encode([text.split()]).values:
        x = net["embedding"].weight.detach().numpy()[i]
        gates = (
            lstm.weight_ih_l0.detach().numpy() @ x
            + lstm.bias_ih_l0.detach().numpy()
            + lstm.weight_hh_l0.detach().numpy() @ state
            + lstm.bias_hh_l0.detach().numpy()
        )
        enter, forget, new, out = np.split(gates, 4)
        cell = squash(forget) * cell + squash(enter) * np.tanh(new)
        state = squash(out) * np.tanh(cell)
    expected = net["linear"].weight.detach().numpy() @ state + net["linear"].bias.detach().numpy()
    np.testing.assert_allclose(model.logits([text])[0], expected, atol=1e-5)


def test_frozen_layer_against_scikit_learn(tiny_encoder: Path, reviews: Any) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    texts, labels = reviews
    model = FrozenEncoder(str(tiny_encoder), max_length=32).fit(texts, labels)
    states = model.states(texts)
    peer = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(states, labels)
    probabilities = model.predict(texts).probabilities
    np.testing.assert_allclose(probabilities, peer.predict_proba(states), atol=5e-3)


@pytest.mark.parametrize("kept", [False, True])
def test_states_of_a_layer_against_transformers(
    kept: bool, tiny_encoder: Path, transformers: Any, torch: Any, tmp_path: Path
) -> None:
    model = FrozenEncoder(str(tiny_encoder), max_length=32, layers=1)
    wrong = FrozenEncoder(str(tiny_encoder), max_length=32, layers=9)
    for one in (model, wrong) if kept else ():
        one.keep_states(tmp_path)
    (state,) = model.states(["the film was good"])
    ids = transformers.AutoTokenizer.from_pretrained(str(tiny_encoder))(
        "the film was good", return_tensors="pt"
    )
    whole = transformers.AutoModel.from_pretrained(str(tiny_encoder)).eval()
    with torch.inference_mode():
        expected = whole(**ids, output_hidden_states=True).hidden_states[1][0].mean(0).numpy()
    np.testing.assert_allclose(state, expected, atol=1e-5)
    assert len(list(tmp_path.rglob("*.safetensors"))) == kept
    with raises_snapshot(UsageError):
        wrong.states(["bad"])


def test_mean_states_against_transformers(
    tiny_encoder: Path, transformers: Any, torch: Any
) -> None:
    texts = ["the film was good", "bad"]
    found = FrozenEncoder(str(tiny_encoder), max_length=32).states(texts)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(tiny_encoder))
    model = transformers.AutoModel.from_pretrained(str(tiny_encoder)).eval()
    for text, state in zip(texts, found, strict=True):
        with torch.inference_mode():
            alone = (
                model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0).numpy()
            )
        np.testing.assert_allclose(state, alone, atol=1e-5)


def test_pairs_and_three_named_classes(transformers: Any) -> None:
    """Any sequence classification: pairs of texts, classes with names, probabilities in the order asked for."""
    # All of one length: batches are sorted by length, and one class a batch would teach little.
    pairs = [
        ("a man eats", "a man eats"),
        ("a man eats", "no man eats"),
        ("a man eats", "a dog runs"),
    ] * 20
    labels = ["same", "against", "other"] * 20
    for model in (
        EmbeddingSum(
            dimensions=16, training=TrainingConfig(epochs=15, batch_size=8, learning_rate=0.02)
        ),
        Encoder(
            config={
                **SHAPE,
                "hidden_size": 64,
                "initializer_range": 0.1,
                "hidden_dropout_prob": 0.0,
            },
            vocab_size=100,
            max_length=24,
            training=TrainingConfig(epochs=30, batch_size=10, learning_rate=0.002),
        ),
    ):
        record = model.fit(pairs, labels, classes=["other", "same", "against"]).predict(
            pairs, label=labels, keep_input=True
        )
        assert record.classes == ("other", "same", "against")
        assert record.accuracy == 1
        assert record.input[1] == "a man eats\tno man eats"


def test_a_class_without_rows_is_all_but_impossible(tiny_encoder: Path, reviews: Any) -> None:
    model = FrozenEncoder(str(tiny_encoder), max_length=32).fit(*reviews, classes=[2, 0, 1])
    record = model.predict(reviews[0])
    assert record.probabilities[:, 0].max() < 1e-6


def test_given_vectors_stay(torch: Any, reviews: Any, tmp_path: Path) -> None:
    vectors = WordVectors(("good", "bad"), np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32))
    model = EmbeddingSum(vectors=vectors, training=QUICK).fit(*reviews)
    row = model.net["embedding"].weight.detach().numpy()[model.vocabulary.words.index("good") + 2]
    assert row.tolist() == [1.0, 0.0]
    again = load_model(model.save(tmp_path))
    np.testing.assert_allclose(again.logits(["good film"]), model.logits(["good film"]), atol=1e-6)


def test_errors_are_one_line(torch: Any, transformers: Any, reviews: Any, tmp_path: Path) -> None:
    with raises_snapshot(UsageError):
        BagOfWords().logits(["a"])
    with raises_snapshot(UsageError):
        BagOfWords().save(tmp_path)
    with raises_snapshot(InputError):
        BagOfWords().fit(["a", "b"], [0, 1])
    with raises_snapshot(UsageError):
        Encoder("x", config={})
    (tmp_path / "empty").mkdir()
    with raises_snapshot(InputError):
        Encoder(str(tmp_path / "empty")).fit(*reviews)
    if not torch.cuda.is_available():
        with raises_snapshot(UsageError):
            BagOfWords(device="cuda").fit(*reviews)
    home = BagOfWords(training=QUICK).fit(*reviews).save(tmp_path / "bag")
    with raises_snapshot(InputError):
        Convolution.load(home)
    with raises_snapshot(InputError):
        FrozenEncoder.load(home)
    about = json.loads((home / "oodometer_model.json").read_text())
    (home / "oodometer_model.json").write_text(json.dumps({**about, "kind": "oracle"}))
    with raises_snapshot(InputError):
        load_model(home)
    (home / "oodometer_model.json").write_text("{")
    with raises_snapshot(InputError):
        load_model(home)
