"""Every registered method of attribution obeys the contract; one that breaks a rule is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.registry import create, find, names
from oodometer.testing import check_attribution
from oodometer_lab.attributions import Attribution, Lime, WordAttributions
from oodometer_lab.attributions.base import as_words


def test_the_order_of_presentation() -> None:
    assert names("attribution")[:3] == ["lime", "kernel-shap", "token-ig"]


@pytest.mark.parametrize("name", names("attribution"))
def test_contract(name: str, request: pytest.FixtureRequest) -> None:
    model = None
    if "encoder" in find("attribution", name).needs:
        pytest.importorskip("captum", reason="needs the extra explain: pip install '.[explain]'")
        model = request.getfixturevalue("tiny_classifier")
    check_attribution(lambda: create("attribution", name), model)


def test_the_methods_that_ask_explain_networks_too(tiny_classifier: Any) -> None:
    check_attribution(lambda: Lime(samples=40, absent="mask"), tiny_classifier)


@pytest.fixture
def tiny_classifier(tiny_encoder: Path, transformers: Any) -> Any:
    from oodometer_lab.models import Encoder

    transformers.set_seed(1)
    model = Encoder.opened(str(tiny_encoder), device="cpu")
    model.net.classifier.weight.data *= 20
    return model


@dataclass
class Constant(Attribution):
    """The same for each word. Source: here. >>> example"""

    name = "constant"
    about = "the same for each word"
    citation = "ribeiro2016"

    amount: float = 0.5

    def value(self, place: int) -> float:
        return self.amount

    def explain(
        self, model: Any, texts: Sequence[Any], *, targets: Any = None, progress: Any = None
    ) -> list[WordAttributions]:
        found = []
        for place, one in enumerate(as_words(texts)):
            answers = np.array(model([one.text])[0])
            target = int(answers.argmax()) if targets is None else targets[place]
            if targets is not None and (
                len(targets) != len(texts) or not 0 <= target < len(answers)
            ):
                from oodometer.errors import UsageError

                raise UsageError("no such class")
            values = np.full(len(one.words), self.value(place))
            found.append(
                WordAttributions(one, values, float("nan"), target, float(answers[target]))
            )
        if progress:
            progress(1, 1)
        return found


class ByPlace(Constant):
    """Depends on where an example stands. Source: here. >>> example"""

    def value(self, place: int) -> float:
        return float(place)


class Infinite(Constant):
    """Gives no finite value. Source: here. >>> example"""

    def value(self, place: int) -> float:
        return float("inf")


class Chance(Constant):
    """Draws anew in each call. Source: here. >>> example"""

    def value(self, place: int) -> float:
        return float(np.random.default_rng().random())


def test_a_small_method_of_ones_own() -> None:
    check_attribution(Constant)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (ByPlace, "the order of examples"),
        (Infinite, "values are finite"),
        (Chance, "the same seed"),
    ],
)
def test_a_broken_rule_is_named(broken: type[Attribution], rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        check_attribution(broken)
