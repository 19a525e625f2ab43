"""Abstention: columns that tell it, empty predictions, intervals, clusters and slices, and stated confidences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import evaluate
from oodometer.cli.main import main
from oodometer.intervals import clopper_pearson
from oodometer.metrics.abstention import tells_answered

RNG = np.random.default_rng(8)
GIVEN = RNG.random(120) < 0.75
RIGHT = (RNG.random(120) < 0.7) & GIVEN


def test_coverage_and_accuracy_where_answered() -> None:
    result = evaluate({"correct": RIGHT, "answered": GIVEN})
    given, right = int(GIVEN.sum()), int(RIGHT.sum())
    share, accuracy = result["answered"], result["accuracy_answered"]
    assert (share.value, share.lower, share.upper) == pytest.approx(
        (given / 120, *clopper_pearson(given, 120, 0.95))
    )
    assert (accuracy.value, accuracy.lower, accuracy.upper) == pytest.approx(
        (right / given, *clopper_pearson(right, given, 0.95))
    )
    assert accuracy.to_dict()["answered"] == given
    assert result["accuracy"].value == pytest.approx(right / 120)


def test_columns_say_it_in_either_sense_and_empty_predictions_do() -> None:
    expected = evaluate({"correct": RIGHT, "answered": GIVEN})["accuracy_answered"].value
    for column, cells in (("Attempted", GIVEN), ("is_refusal", ~GIVEN), ("abstained", ~GIVEN)):
        found = evaluate({"correct": RIGHT, column: cells})
        assert found["accuracy_answered"].value == pytest.approx(expected)
        assert found["answered"].value == pytest.approx(GIVEN.mean())
    said = [None if not g else "a" if r else "b" for g, r in zip(GIVEN, RIGHT, strict=True)]
    assert evaluate({"label": ["a"] * 120, "prediction": said})[
        "accuracy_answered"
    ].value == pytest.approx(expected)
    assert not tells_answered("answer")
    assert not tells_answered("unanswered_before")


def test_where_all_or_none_is_answered_nothing_is_said() -> None:
    for cells in (np.ones(120, bool), np.zeros(120, bool)):
        found = evaluate({"correct": RIGHT, "answered": cells})
        assert not {"answered", "accuracy_answered"} & {*found.metrics}
        assert not {skip.method for skip in found.skipped} & {"answered", "accuracy_answered"}
    assert "answered" not in evaluate({"correct": RIGHT}).metrics


def test_copies_of_a_question_are_one() -> None:
    ids = np.repeat(np.arange(120), 5)
    rows = {"id": ids, "correct": RIGHT[ids], "answered": GIVEN[ids], "site": ids % 2}
    copied = evaluate(rows, by="site")
    alone = evaluate({"correct": RIGHT, "answered": GIVEN})
    for name in ("answered", "accuracy_answered"):
        assert copied[name].value == pytest.approx(alone[name].value)
        assert copied[name].width >= 0.95 * alone[name].width
        assert name in copied.slices[0].metrics


def test_words_of_graders_with_stated_confidences_are_read_written_and_judged(
    tmp_path: Path, capsys: Any
) -> None:
    log, out = tmp_path / "graded.jsonl", tmp_path / "graded.parquet"
    words = np.where(~GIVEN, "NOT_ATTEMPTED", np.where(RIGHT, "CORRECT", "INCORRECT"))
    lines = (
        json.dumps({"id": f"q{i}", "grade": str(word), "confidence": f"{50 + i % 5 * 10}%"})
        for i, word in enumerate(words)
    )
    log.write_text("\n".join(lines))
    assert main(["read", str(log), "--out", str(out)]) == 0
    assert "read confidence with percents divided by 100" in capsys.readouterr().out.replace(
        "\n  ", " "
    )
    result = evaluate(out)
    assert result["answered"].value == pytest.approx(GIVEN.mean())
    assert result["accuracy_answered"].value == pytest.approx(RIGHT.sum() / GIVEN.sum())
    assert "risk_coverage" in result.curves
    assert main(["evaluate", str(out)]) == 0
    assert "were answered, and" in capsys.readouterr().out
    only = evaluate(out, where="answered=true")
    assert only["accuracy"].value == pytest.approx(RIGHT.sum() / GIVEN.sum())
