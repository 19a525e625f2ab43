"""Trained discriminators: they learn, mean what they say, survive saving and interruption, say what was cut."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.discriminators import (
    ClassifierDiscriminator,
    GenerativeDiscriminator,
    RegressionDiscriminator,
    load_discriminator,
    token_f1,
)
from oodometer_lab.discriminators.base import probability
from oodometer_lab.models import BagOfWords, FrozenEncoder
from oodometer_lab.models.torch.training import TrainingConfig

from ..snapshots import raises_snapshot
from .conftest import Pairs, accuracy, reversals

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}
T5 = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2, "dropout_rate": 0.0}
PLAN = TrainingConfig(epochs=8, batch_size=16, learning_rate=3e-3, warmup=0.1)
ONE = TrainingConfig(epochs=1, batch_size=16, learning_rate=3e-3, warmup=0.1)

MAKERS: dict[str, Callable[..., Any]] = {
    "classifier": lambda training=PLAN, **more: ClassifierDiscriminator(
        config=SIZES, **{"max_length": 24, **more}, training=training
    ),
    "classifier of tokens": lambda training=PLAN, **more: ClassifierDiscriminator(
        config=SIZES, head="tokens", **{"max_length": 24, **more}, training=training
    ),
    "generative": lambda training=PLAN, **more: GenerativeDiscriminator(
        config=T5, **{"max_length": 24, **more}, training=training
    ),
}


def shortened(pairs: Pairs) -> Pairs:
    """The first 300 pairs, where it does not matter how well a judge learns."""
    inputs, outputs, verdicts = pairs
    return inputs[:300], outputs[:300], verdicts[:300]


@pytest.fixture(scope="module", params=list(MAKERS))
def kind(request: pytest.FixtureRequest, transformers: Any) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def judge(kind: str, train: Pairs, held: Pairs) -> Any:
    """A trained discriminator of each kind."""
    return MAKERS[kind]().fit(*train, dev=held)


def test_finds_injected_errors(judge: Any, held: Pairs) -> None:
    assert accuracy(judge, held) > 0.8
    seen: list[tuple[int, int]] = []
    p = judge.probabilities(*held[:2], progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert p.dtype == np.float32
    assert p.shape == (400,)
    right = np.array(held[2])
    assert p[right].mean() > 0.6 > 0.4 > p[~right].mean()
    np.testing.assert_array_equal(judge.judge(*held[:2]), p >= 0.5)
    assert float(p.mean()) == pytest.approx(
        0.5, abs=0.07
    )  # the share of correct outputs, as in training
    assert np.exp(-3) < judge.temperature < np.exp(3)


def test_each_pair_is_judged_for_itself(judge: Any, held: Pairs) -> None:
    inputs, outputs = (
        [*held[0][:20], "w1", "unseen words", "w0 " * 6],
        [*held[1][:20], "", "W1", "W0 W1"],
    )
    whole = judge.probabilities(inputs, outputs)
    np.testing.assert_allclose(
        judge.probabilities(inputs[::-1], outputs[::-1])[::-1], whole, atol=1e-5
    )
    for i in (0, 20, 21, 22):
        np.testing.assert_allclose(
            judge.probabilities(inputs[i : i + 1], outputs[i : i + 1]), whole[i : i + 1], atol=1e-5
        )


def test_saved_and_loaded(judge: Any, held: Pairs, tmp_path: Path) -> None:
    home = judge.save(tmp_path / "judge")
    again = load_discriminator(home)
    assert type(again) is type(judge)
    assert again.options() == judge.options()
    assert again.parameters == judge.parameters > 0
    np.testing.assert_allclose(
        again.probabilities(*held[:2]), judge.probabilities(*held[:2]), atol=1e-6
    )
    assert not list(home.rglob("*.bin")) + list(home.rglob("*.pt")) + list(home.rglob("*.pkl"))
    copy = again.save(tmp_path / "copy")
    for file in (one for one in home.rglob("*") if one.is_file()):
        assert (copy / file.relative_to(home)).read_bytes() == file.read_bytes(), (
            f"{file.name} tells where it was read"
        )
    other = GenerativeDiscriminator if judge.kind == "classifier" else ClassifierDiscriminator
    with raises_snapshot(InputError):
        other.load(home)
    about = home / "oodometer_model.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "kind": "oracle"}))
    with raises_snapshot(InputError):
        load_discriminator(home)
    about.write_text("{")
    with raises_snapshot(InputError):
        load_discriminator(home)


def test_seeds_settle_everything(kind: str, train: Pairs, held: Pairs) -> None:
    """The same seed gives the same judge; another one another start and another order."""

    def asked(seed: int) -> Any:
        plan = TrainingConfig(epochs=1, batch_size=16, learning_rate=3e-3, seed=seed)
        return MAKERS[kind](plan).fit(*shortened(train)).probabilities(*held[:2])

    first, second, other = asked(0), asked(0), asked(1)
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 1e-3


def test_goes_on_after_an_interruption(
    kind: str, train: Pairs, held: Pairs, tmp_path: Path
) -> None:
    whole = MAKERS[kind](ONE).fit(*shortened(train), dev=held)

    def stop(done: int, total: int) -> None:
        if done == 2 * total // 3:
            raise KeyboardInterrupt

    steps: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        MAKERS[kind](ONE).fit(*shortened(train), dev=held, checkpoint=tmp_path, progress=stop)
    again = MAKERS[kind](ONE).fit(
        *shortened(train), dev=held, checkpoint=tmp_path, progress=lambda d, t: steps.append(d)
    )
    assert steps[0] == 2 * steps[-1] // 3 + 1
    np.testing.assert_allclose(
        again.probabilities(*held[:2]), whole.probabilities(*held[:2]), atol=1e-6
    )
    assert again.temperature == pytest.approx(whole.temperature, rel=1e-5)


def test_an_unbalanced_training_does_not_favour_its_larger_class(kind: str) -> None:
    """Trained on 90 % correct pairs and asked about half and half: with share=0.5 both kinds of error are as rare."""
    pairs, dev = reversals(900, 2, words=3, share=0.9), reversals(300, 3, words=3, share=0.9)
    held = reversals(400, 1, words=3)
    judge = MAKERS[kind](replace(PLAN, epochs=4)).fit(*pairs, dev=dev)
    assert accuracy(judge, held) > 0.6
    assert judge.trained_share == pytest.approx(0.9)
    p = judge.probabilities(*held[:2])
    assert float(p.mean()) == pytest.approx(0.5, abs=0.15)
    judge.share = None  # as in training
    as_trained = judge.probabilities(*held[:2])
    assert (as_trained >= p).all()
    np.testing.assert_allclose(judge.probabilities(*dev[:2]).mean(), 0.9, atol=0.06)
    inner = (p > 1e-3) & (as_trained < 1 - 1e-3)
    assert inner.any()
    before, after = (np.log(one[inner].astype(float) / (1 - one[inner])) for one in (p, as_trained))
    np.testing.assert_allclose(after - before, np.log(9), atol=1e-2)


def test_long_pairs_lose_the_end_of_the_longer_side(kind: str, train: Pairs) -> None:
    long = (
        ["w1 w2", "w1 " * 40, "w1 w2"],
        ["W2 W1", "W1", "W2 W1 " + "W3 " * 40],
        [True, False, False],
    )
    judge = MAKERS[kind](ONE, max_length=16)
    with pytest.warns(
        UserWarning, match=r"2 of 3 pairs \(66.7 %\) are longer than 16 tokens.*longer side was cut"
    ):
        judge.fit(*long)
    assert judge.truncated == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said once
        p = judge.probabilities(*long[:2])
        assert judge.truncated == 2
        # what is beyond the cut is not seen, what is before it is
        more = judge.probabilities([long[0][0]], ["W2 W1 " + "W3 " * 50])
        np.testing.assert_allclose(more, p[2:], atol=1e-6)
        judge.probabilities(long[0][:1], long[1][:1])
        assert judge.truncated == 0


def test_bad_input(kind: str, train: Pairs, tmp_path: Path) -> None:
    judge = MAKERS[kind](ONE)
    with raises_snapshot(UsageError):
        judge.probabilities(["a"], ["b"])
    with raises_snapshot(UsageError):
        judge.save(tmp_path)
    for correct, message in (
        (
            [True] * 3,
            "column correct: expected correct and incorrect outputs, got 3 of 3 correct; add wrong outputs",
        ),
        ([0, 0, 0], "got 0 of 3 correct; add right outputs: the gold ones"),
        ([0, 1, 0.5], "row 3: column correct: expected true or false"),
        ([0, 1, None], "row 3: column correct: expected true or false"),
        (["yes", "no", "no"], "row 1: column correct: expected true or false"),
        ([0, 1], "expected 3 verdicts, one a pair, got shape"),
    ):
        with pytest.raises(InputError, match=message):
            judge.fit(["a"] * 3, ["b"] * 3, correct)
    with raises_snapshot(InputError):
        judge.fit(*train, dev=(["a"], [None], [True]))
    with raises_snapshot(UsageError):
        MAKERS[kind](share=1)


def test_log_odds_are_those_of_the_two_answers(
    train: Pairs, held: Pairs, transformers: Any
) -> None:
    """One pass with both answers agrees with the log-probabilities of each answer, asked one by one."""
    judge = GenerativeDiscriminator(config=T5, max_length=24, training=ONE).fit(*shortened(train))
    texts = [
        f"{given} | {output}" for given, output in zip(held[0][:10], held[1][:10], strict=True)
    ]
    rows = [judge.model.logprobs([text] * 2, ["Correct", "Incorrect"]).sums() for text in texts]
    margins = np.array([right - wrong for right, wrong in rows])
    expected = probability(margins, trained=judge.trained_share)
    np.testing.assert_allclose(judge.probabilities(held[0][:10], held[1][:10]), expected, atol=1e-5)


def test_any_classifier_can_judge(tiny_encoder: Path, reviews: Any, tmp_path: Path) -> None:
    texts, labels = reviews
    pairs = (["is it good"] * len(texts), texts, labels)
    for model in (
        FrozenEncoder(str(tiny_encoder), max_length=32),
        BagOfWords(training=TrainingConfig(epochs=4, batch_size=16, learning_rate=0.05)),
    ):
        judge = ClassifierDiscriminator(model=model).fit(*pairs, dev=pairs)
        assert accuracy(judge, pairs) > 0.9
        again = load_discriminator(judge.save(tmp_path / model.kind))
        np.testing.assert_allclose(
            again.probabilities(*pairs[:2]), judge.probabilities(*pairs[:2]), atol=1e-6
        )
        assert again.options()["model"] == judge.options()["model"] != None  # noqa: E711


def test_a_pretrained_encoder_by_path(tiny_encoder: Path, reviews: Any) -> None:
    texts, labels = reviews
    pairs = (["is it good"] * len(texts), texts, labels)
    plan = TrainingConfig(epochs=8, batch_size=16, learning_rate=0.005)
    judge = ClassifierDiscriminator(str(tiny_encoder), max_length=32, training=plan).fit(*pairs)
    assert accuracy(judge, pairs) > 0.9


def test_a_pretrained_encoder_decoder_by_path(transformers: Any, tmp_path: Path) -> None:
    from oodometer_lab.models.seq2seq import learn_words

    train, held = reversals(900, 0, words=3), reversals(400, 1, words=3)
    tokenizer = learn_words([*train[0], *train[1], "Correct Incorrect |"])
    config = transformers.T5Config(
        vocab_size=len(tokenizer), decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, **T5
    )
    transformers.set_seed(0)
    transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    plan = replace(PLAN, epochs=4)
    judge = GenerativeDiscriminator(
        str(tmp_path), max_length=40, stand_ins=None, training=plan
    ).fit(*train, dev=held)
    assert accuracy(judge, held) > 0.7


def test_one_model_must_be_named() -> None:
    for options in ({}, {"source": "a", "config": SIZES}, {"config": SIZES, "model": BagOfWords()}):
        with raises_snapshot(UsageError):
            ClassifierDiscriminator(**options)  # type: ignore[arg-type]


# ------------------------------------------------------------------ a metric instead of verdicts


@pytest.fixture(scope="module")
def graded(train: Pairs, held: Pairs) -> list[tuple[list[str], list[str], Any]]:
    """Pairs with token F1 against the right output: 1 or 1/2."""
    out = []
    for inputs, outputs, _ in (train, held):
        golds = [" ".join(given.upper().split()[::-1]) for given in inputs]
        out.append((inputs, outputs, token_f1(outputs, golds)))
    return out


def test_regression_predicts_a_metric(transformers: Any, graded: Any, tmp_path: Path) -> None:
    first, second = graded
    judge = RegressionDiscriminator(config=SIZES, max_length=24, training=PLAN).fit(
        *first, dev=second
    )
    found = judge.probabilities(*second[:2])
    assert float(np.corrcoef(found, second[2])[0, 1]) > 0.45
    assert float(found.mean()) == pytest.approx(float(second[2].mean()), abs=0.04)
    again = load_discriminator(judge.save(tmp_path))
    assert isinstance(again, RegressionDiscriminator)
    assert again.options() == judge.options()
    np.testing.assert_allclose(again.probabilities(*second[:2]), found, atol=1e-6)
    assert judge.parameters == again.parameters


def test_regression_of_verdicts_is_a_classifier(
    transformers: Any, train: Pairs, held: Pairs
) -> None:
    soft = RegressionDiscriminator(config=SIZES, max_length=24, training=ONE).fit(*train)
    hard = ClassifierDiscriminator(config=SIZES, max_length=24, training=ONE).fit(*train)
    np.testing.assert_allclose(
        soft.probabilities(*held[:2]), hard.probabilities(*held[:2]), atol=1e-3
    )


def test_metrics_are_checked(transformers: Any, tmp_path: Path) -> None:
    judge = RegressionDiscriminator(config=SIZES, max_length=24, training=ONE)
    for values, message in (
        (
            [0.5, 0.5],
            "column correct: expected outputs of different quality, got 0.5 for all of them",
        ),
        (
            [0.5, 80],
            "row 2: column correct: expected a metric between 0 and 1, got 80; divide per cent by 100",
        ),
        ([0.5, None], "row 2: column correct"),
        ([0.5, "high"], "row 2: column correct"),
        ([0.5], "expected 2 values, one a pair"),
    ):
        with pytest.raises(InputError, match=message):
            judge.fit(["a", "b"], ["c", "d"], values)
