"""The ranker against plain transformers, what is cut of long contexts, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.arrays import softmax
from oodometer.errors import InputError, UsageError
from oodometer.testing import check_model
from oodometer_lab.datasets import Dataset
from oodometer_lab.datasets.base import Dialogue
from oodometer_lab.datasets.dialogues import replies
from oodometer_lab.models import Ensemble, ResponseRanker, load_model, open_classifier
from oodometer_lab.models.base import Request
from oodometer_lab.models.response_ranking import encode_pairs
from oodometer_lab.models.text.encoder import read_first_token_only
from oodometer_lab.models.torch.training import TrainingConfig

from ...snapshots import raises_snapshot

SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
QUICK = TrainingConfig(epochs=2, batch_size=4, learning_rate=5e-3, checkpoint_seconds=0.0)


def toy(conversations: int = 10, candidates: int = 3) -> Dataset:
    """Conversations of letters, with replies among candidates."""
    rng = np.random.default_rng(0)
    said = [
        (str(i), tuple(" ".join(rng.choice(list("abcdefghij"), 4)) for _ in range(4)))
        for i in range(conversations)
    ]
    return replies(said, "toy", candidates=candidates)


def ranker(**more: Any) -> ResponseRanker:
    given: dict[str, Any] = {
        "config": SHAPE,
        "vocab_size": 60,
        "max_length": 16,
        "training": QUICK,
        **more,
    }
    return ResponseRanker(**given)


@pytest.mark.parametrize("head", ["first-token", "means"])
def test_the_contract(head: str, torch: Any, transformers: Any) -> None:
    check_model(lambda: ranker(head=head), toy())


def test_it_learns_which_reply_says_the_same(torch: Any, transformers: Any) -> None:
    rng = np.random.default_rng(1)
    words = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"]
    said = [(str(i), (" ".join(rng.choice(words, 2)),) * 2) for i in range(64)]
    data = replies(said, "echo", candidates=4)
    training = TrainingConfig(epochs=30, batch_size=16, learning_rate=3e-3)
    model = ranker(
        head="means",
        vocab_size=200,
        config={**SHAPE, "hidden_dropout_prob": 0.0},
        training=training,
    )
    record = model.fit(data).predict(data)
    assert record.accuracy > 0.8
    assert record.has_classes is False


def test_scores_are_those_of_plain_transformers(
    torch: Any, transformers: Any, tmp_path: Path
) -> None:
    """Each pair asked alone, by the tokenizer's own pair of texts and the whole network."""
    data = toy()
    model = ranker(max_length=64).fit(data)
    model.save(tmp_path / "m")
    net = transformers.AutoModelForSequenceClassification.from_pretrained(
        _as_hub(model, tmp_path / "hub")
    ).eval()
    expected = []
    for one in data.inputs:
        context = model.tokenizer.sep_token.join(one.context)
        for candidate in one.candidates:
            given = model.tokenizer(context, candidate, return_tensors="pt")
            # Separators inside a context are part of it: the candidate is what follows the last but one.
            separators = (given["input_ids"] == model.tokenizer.sep_token_id).long()
            behind = separators.cumsum(1) - separators
            given["token_type_ids"] = (behind == len(one.context)).long()
            with torch.inference_mode():
                expected.append(float(net(**given).logits[0, 0]))
    found = model.ask(data).logits
    np.testing.assert_allclose(found.ravel(), expected, atol=2e-6)
    assert model.truncated == 0
    np.testing.assert_allclose(load_model(tmp_path / "m").logits(data), found, atol=1e-6)


def _as_hub(model: ResponseRanker, folder: Path) -> str:
    """The network and its tokenizer as transformers saves them."""
    model.net.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_ranker_of_hugging_face(
    outputs: int, torch: Any, transformers: Any, tmp_path: Path
) -> None:
    data = toy()
    model = ranker(max_length=64).fit(data)
    folder = _as_hub(model, tmp_path)
    if outputs == 2:
        net = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=2, ignore_mismatched_sizes=True
        )
        with torch.no_grad():
            net.classifier.weight[0], net.classifier.bias[0] = 0.0, 0.0
            net.classifier.weight[1], net.classifier.bias[1] = (
                model.net.classifier.weight[0],
                model.net.classifier.bias[0],
            )
        net.save_pretrained(folder)
    opened = ResponseRanker.from_pretrained(folder)
    np.testing.assert_allclose(opened.logits(data), model.logits(data), atol=1e-6)
    opened.save(tmp_path / "saved")
    np.testing.assert_allclose(
        load_model(tmp_path / "saved").logits(data), model.logits(data), atol=1e-6
    )


def test_three_outputs_are_no_ranker(
    torch: Any, transformers: Any, tiny_encoder: Path, tmp_path: Path
) -> None:
    net = transformers.AutoModelForSequenceClassification.from_pretrained(
        str(tiny_encoder), num_labels=3
    )
    net.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(str(tiny_encoder)).save_pretrained(tmp_path)
    with raises_snapshot(InputError):
        ResponseRanker.from_pretrained(str(tmp_path))


def test_one_output_opens_as_a_ranker(torch: Any, transformers: Any, tmp_path: Path) -> None:
    data = toy()
    model = ranker().fit(data)
    assert isinstance(open_classifier(_as_hub(model, tmp_path)), ResponseRanker)


def test_first_layers_of_an_encoder(torch: Any, transformers: Any, tiny_encoder: Path) -> None:
    whole = ResponseRanker(str(tiny_encoder), training=QUICK)
    cut = ResponseRanker(str(tiny_encoder), layers=1, training=QUICK)
    data = toy()
    assert cut.fit(data).net.config.num_hidden_layers == 1
    assert cut.parameters <= whole.fit(data).parameters


def test_the_first_token_alone_is_exact(torch: Any, transformers: Any) -> None:
    config = transformers.BertConfig(
        vocab_size=50, max_position_embeddings=20, num_labels=1, **SHAPE
    )
    torch.manual_seed(0)
    net = transformers.BertForSequenceClassification(config).eval()
    ids = torch.randint(5, 50, (6, 20))
    real = torch.arange(20) < torch.tensor([[20], [3], [1], [20], [11], [8]])
    with torch.inference_mode():
        before = net(input_ids=ids, attention_mask=real.long()).logits
        assert read_first_token_only(net)
        after = net(input_ids=ids, attention_mask=real.long()).logits
        alone = net(input_ids=ids[:1]).logits
    torch.testing.assert_close(before, after, atol=1e-6, rtol=0)
    torch.testing.assert_close(before[:1], alone, atol=1e-6, rtol=0)
    assert not read_first_token_only(torch.nn.Linear(2, 2))


def test_what_is_too_long_loses_its_oldest_words(torch: Any, transformers: Any) -> None:
    model = ranker(max_length=40).fit(toy())
    tokenizer = model.tokenizer
    long = Dialogue(("a " * 30, "b " * 10), ("c c", "d " * 40))
    pairs = encode_pairs(tokenizer, [long, Dialogue(("a",), ("b", "c"))], 40)
    assert pairs.truncated == 1
    first, second, short, _ = (
        tokenizer.decode(row).split() for row in np.split(pairs.ids.values, pairs.ids.offsets[1:-1])
    )
    assert (len(first), len(second)) == (40, 40)
    assert first.count("b") == 10  # the newest turn is whole, the oldest has lost the rest
    assert first.count("a") == 40 - 3 - 2 - 10 - 1
    assert first[-3:] == ["c", "c", tokenizer.sep_token]
    assert (
        second.count("d") == (40 - 3) // 2
    )  # a reply that fills more than half of the room is cut to it
    assert second.count("b") == 10
    assert short == [tokenizer.cls_token, "a", tokenizer.sep_token, "b", tokenizer.sep_token]
    assert pairs.second.tolist() == [3, 19, 2, 2]
    model.ask([long])
    assert model.truncated == 1


def test_samples_may_have_as_many_candidates_as_they_like(torch: Any, transformers: Any) -> None:
    data = toy()
    model = ranker().fit(data)
    mixed = [
        Dialogue(one.context, one.candidates[: 2 + i % 2]) for i, one in enumerate(data.inputs)
    ]
    found, whole = model.ask(mixed), model.logits(data)
    assert found.logits is not None
    assert found.candidates is not None
    for i, row in enumerate(found.logits):
        many = 2 + i % 2
        np.testing.assert_allclose(row[:many], whole[i, :many], atol=1e-6)
        assert np.isneginf(row[many:]).all()
    record = found.record(label=[0] * len(mixed))
    assert record.candidate_scores.lengths.tolist() == [2 + i % 2 for i in range(len(mixed))]
    np.testing.assert_allclose(record.confidence, found.distribution.max(1), atol=1e-6)
    again = ranker().fit(Dataset("mixed", tuple(mixed), (0,) * len(mixed), modality="dialogue"))
    assert np.isfinite(again.ask(mixed).distribution).all()


def test_features_are_those_of_the_predicted_candidate(torch: Any, transformers: Any) -> None:
    data = toy()
    model = ranker(head="means").fit(data)
    found = model.ask(data, Request(features=True))
    assert found.features is not None
    score = model.net["score"].weight.detach().numpy()[0]
    np.testing.assert_allclose(found.features @ score, np.max(found.logits, axis=1), atol=1e-5)


def test_what_needs_classes_says_that_it_does_not_apply(torch: Any, transformers: Any) -> None:
    data = toy(40)
    record = ranker().fit(data).predict(data)
    half = len(record) // 2
    found = oodometer.estimate(
        record.slice(0, half), record.slice(half, len(record)).without_labels()
    )
    told = {one.method: one.why for one in found.skipped}
    assert any("positions among candidates, not classes" in why for why in told.values())
    assert 0 <= found.headline.value <= 1


def test_an_ensemble_of_rankers(torch: Any, transformers: Any, tmp_path: Path) -> None:
    data = toy()
    models = [
        ranker(training=TrainingConfig(epochs=1, batch_size=4, seed=seed)).fit(data)
        for seed in (0, 1)
    ]
    ensemble = Ensemble(models, average=True)
    found = ensemble.ask(data)
    mean = np.mean([softmax(one.logits(data)) for one in models], axis=0)
    np.testing.assert_allclose(found.distribution, mean, atol=1e-6)
    record = ensemble.predict(data)
    assert record.members.tolist() == [one.logits(data).argmax(1).tolist() for one in models]
    ensemble.save(tmp_path)
    np.testing.assert_allclose(load_model(tmp_path).ask(data).distribution, mean, atol=1e-6)


@pytest.mark.parametrize(
    ("dialogue", "target"),
    [
        (Dialogue((), ("a", "b")), 0),
        (Dialogue(("a",), ("b",)), 0),
        (Dialogue(("a",), ("b", "c")), 2),
        (Dialogue(("a",), ("b", "c")), True),
        (Dialogue(("a",), ("b", 3)), 0),  # type: ignore[arg-type]
        ("a b", 0),
    ],
)
def test_what_it_refuses(dialogue: Any, target: int, torch: Any, transformers: Any) -> None:
    with raises_snapshot(InputError):
        ranker().fit(Dataset("d", (dialogue,), (target,), modality="dialogue"))


def test_texts_are_no_dialogues(torch: Any, transformers: Any) -> None:
    with raises_snapshot(InputError):
        ranker().fit(Dataset("d", ("a", "b"), (0, 1)))


def test_unknown_heads(torch: Any) -> None:
    with raises_snapshot(UsageError):
        ranker(head="cls")
