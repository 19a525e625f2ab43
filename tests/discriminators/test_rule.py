"""Rules: any function is a judge; what it may not answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.discriminators import RuleDiscriminator

from ..snapshots import raises_snapshot


def test_verdicts_and_probabilities() -> None:
    rule = RuleDiscriminator(lambda given, output: len(output) / 4)
    found = rule.probabilities(["x"] * 4, ["", "ab", "abc", "abcd"])
    assert found.dtype == np.float32
    assert found.tolist() == [0, 0.5, 0.75, 1]
    assert rule.judge(["x"] * 4, ["", "ab", "abc", "abcd"]).tolist() == [
        False,
        True,
        True,
        True,
    ]  # a tie: Correct
    assert rule.parameters == 0
    assert rule.fit(["x"], ["y"], [True]) is rule


def test_progress_and_order() -> None:
    seen: list[tuple[int, int]] = []
    rule = RuleDiscriminator(lambda given, output: given == output)
    assert rule.judge(
        ["a", "b"], ["a", "a"], progress=lambda d, t: seen.append((d, t))
    ).tolist() == [True, False]
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize("answer", [None, "yes", "0.5", 1.5, -0.1, float("nan"), [1]])
def test_other_answers_are_errors_that_name_the_row(answer: Any) -> None:
    rule = RuleDiscriminator(
        lambda given, output: True if output == "fine" else answer, name="my rule"
    )
    with raises_snapshot(InputError):
        rule.judge(["x", "x"], ["fine", "odd"])


def test_texts_are_checked() -> None:
    rule = RuleDiscriminator(lambda given, output: True)
    for inputs, outputs, message in (
        (["a"], ["b", "c"], "got 1 inputs and 2 outputs"),
        ([], [], "got 0 inputs"),
        (["a", 3], ["b", "c"], "row 2: column input: expected a text, got 3"),
        ("ab", ["a", "b"], "expected lists of texts, got one text"),
    ):
        with pytest.raises(InputError, match=message):
            rule.judge(inputs, outputs)  # type: ignore[arg-type]


def test_code_is_not_saved(tmp_path: Path) -> None:
    with raises_snapshot(UsageError):
        RuleDiscriminator(lambda given, output: True, name="good").save(tmp_path)
    with raises_snapshot(UsageError):
        RuleDiscriminator.load(tmp_path)
