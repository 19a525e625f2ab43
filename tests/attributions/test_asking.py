"""Asking: each different text once, single texts and pairs apart, bad answers refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.attributions import KernelShap, Lime
from oodometer_lab.attributions.base import Asker

from ..snapshots import raises_snapshot


def by_length(texts: list[Any]) -> np.ndarray[Any, Any]:
    p = np.array([min(len("".join(one)), 50) / 100 for one in texts])
    return np.stack([p, 1 - p], axis=1)


def test_each_different_text_is_asked_once_and_kinds_apart() -> None:
    calls: list[list[Any]] = []

    def model(texts: list[Any]) -> Any:
        calls.append(texts)
        return by_length(texts)

    steps: list[tuple[int, int]] = []
    texts = ["abc", ("a", "b"), "abc", "d", ("a", "b")]
    found = Asker(model)(texts, lambda done, total: steps.append((done, total)))
    assert np.array_equal(found, by_length(texts))
    assert calls == [["abc", "d"], [("a", "b")]]
    assert steps[-1] == (3, 3)


def test_many_examples_go_into_one_call() -> None:
    calls: list[int] = []
    order: list[tuple[int, int]] = []

    def model(texts: list[Any]) -> Any:
        calls.append(len(texts))
        return by_length(texts)

    texts = [f"this is the text number {i}" for i in range(100)]
    alone = Lime(samples=50).explain(by_length, texts[70:71])
    found = Lime(samples=50).explain(model, texts, progress=lambda *at: order.append(at))
    assert len(calls) == 2  # at most 4096 texts at once
    assert order[-1] == (5000, 5000)
    assert order == sorted(order)
    assert found[70].values.tolist() == alone[0].values.tolist()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda texts: [0.5] * len(texts), "shape"),
        (lambda texts: [[0.5, 0.5]], "shape"),
        (lambda texts: [[1.0]] * len(texts), "at least two classes"),
        (lambda texts: [[float("nan"), 1.0]] * len(texts), "nan"),
        (lambda texts: [[3.0, -2.0]] * len(texts), "softmax"),
        (lambda texts: [[0.9, 0.9]] * len(texts), "sums to 1.8"),
        (lambda texts: "good", "expected probabilities"),
        (lambda texts: None, "expected probabilities"),
        (
            lambda texts: [[0.5, 0.5]] * len(texts) if len(texts) > 1 else [[0.2, 0.3, 0.5]],
            "2 classes in every call",
        ),
    ],
)
def test_answers_that_are_no_probabilities(answer: Any, message: str) -> None:
    texts = ["a b c", "a b d", ("a", "b")] if "every call" in message else ["a b c", "d"]
    ask = Asker(answer)
    with pytest.raises(InputError, match=message):
        ask(texts)


def test_what_is_no_model() -> None:
    with raises_snapshot(UsageError):
        Lime().explain("model", ["a film"])  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [Lime, KernelShap])
@pytest.mark.parametrize("wrong", [0, 1, -3, 2.5, "10", True, None])
def test_wrong_numbers_of_samples(method: Any, wrong: Any) -> None:
    with pytest.raises(UsageError, match="samples"):
        method(samples=wrong)


@pytest.mark.parametrize(
    ("texts", "targets"),
    [
        (["good", "..!", "\n"], None),
        (["good", 5], None),
        (["good", "bad"], [0, 2]),
        (["good", "bad"], [0]),
        (["good", "bad"], [0, 0.5]),
        (["good", "bad"], [0, True]),
    ],
)
def test_bad_input_has_its_row(texts: Any, targets: Any) -> None:
    with raises_snapshot(InputError):
        KernelShap().explain(by_length, texts, targets=targets)


def test_a_network_is_asked_as_it_is_alone(tiny_encoder: Path, transformers: Any) -> None:
    """Beside pairs, a single text would become a pair with an empty second part, which has one separator more."""
    from oodometer_lab.models import Encoder

    transformers.set_seed(1)
    model = Encoder.opened(str(tiny_encoder), device="cpu")
    ask = Asker(model)
    assert ask.classes == 2
    found = ask(["a good film", ("a film", "was seen"), "film " * 100])
    alone = [model.ask([one]).distribution[0] for one in ("a good film", ("a film", "was seen"))]
    assert found[:2] == pytest.approx(np.array(alone), abs=1e-6)
    assert ask.truncated == 1
    method = Lime(samples=3)
    method.explain(model, ["film " * 100, "a film"])
    assert 1 <= method.truncated <= 3
    model.reads = ("image",)
    with raises_snapshot(UsageError):
        Asker(model)
