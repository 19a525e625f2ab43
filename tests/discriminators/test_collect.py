"""Examples from checkpoints: what is right, what is wrong, what is never taken for wrong; counts; draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.arrays import Ragged
from oodometer.errors import InputError, UsageError
from oodometer_lab.discriminators import Examples, collect, folds_of
from oodometer_lab.models.seq2seq import Beams, squeeze

from ..snapshots import raises_snapshot


class Parser:
    """Answers from a table, as a decoder would; counts what it was asked."""

    def __init__(self, answers: dict[str, list[str]]) -> None:
        self.answers, self.asked = answers, 0

    def decode(self, inputs: Sequence[str], *, beams: int = 1, progress: Any = None) -> Beams:
        self.asked += len(inputs)
        found = [self.answers[one][:beams] for one in inputs]
        if progress is not None:
            progress(len(inputs), len(inputs))
        return Beams(
            found, np.zeros((len(found), beams)), Ragged.from_rows([[0.0]] * len(found)), 0
        )


EARLY = Parser({"1": ["B", "A", "C"], "2": ["A", "B", " b "], "3": ["", "C", "A"]})
LATE = Parser({"1": ["A", "B", "D"], "2": ["B", "A", "D"], "3": ["C", "", "F"]})
INPUTS, GOLDS = ["1", "2", "3"], ["A", "B", "C"]


def pairs(found: Examples, correct: bool) -> list[tuple[str, str]]:
    both = zip(found.inputs, found.outputs, found.correct, strict=True)
    return [(given, output) for given, output, right in both if right == correct]


def test_by_hand() -> None:
    found = collect(
        [EARLY, LATE], INPUTS, GOLDS, beams=3, per_input=3, balance=None, clean=str.upper
    )
    assert pairs(found, True) == [("1", "A"), ("2", "B"), ("3", "C")]
    # "1": B and C early, B again and D late; "2": A early (" b " is not B here), A again and D late; "3": A, then F
    assert set(pairs(found, False)) == {
        ("1", "B"), ("1", "C"), ("1", "D"), ("2", "A"), ("2", " b "), ("2", "D"), ("3", "A"), ("3", "F")
    }  # fmt: skip
    assert found.origin[found.correct].tolist() == ["gold"] * 3
    assert set(found.origin[~found.correct]) == {"checkpoint-1", "checkpoint-2"}
    counts = found.statistics()
    assert counts["checkpoints"] == [
        {"name": "checkpoint-1", "rows": 3, "accuracy": 0.0, "wrong": 5, "kept": 5},
        {"name": "checkpoint-2", "rows": 3, "accuracy": 1.0, "wrong": 5, "kept": 3},
    ]
    assert (counts["empty"], counts["duplicates"], counts["beyond_balance"]) == (2, 2, 0)
    assert (counts["pairs"], counts["correct"], counts["inputs_with_mistakes"]) == (11, 3, 3)
    assert found.summary().splitlines() == [
        "11 pairs of 3 inputs: 3 correct, 8 incorrect (27.3 % correct)",
        "checkpoint-1: right on 0.0 % of 3 inputs; 5 wrong beams, 5 kept",
        "checkpoint-2: right on 100.0 % of 3 inputs; 5 wrong beams, 3 kept",
        "left out: 2 empty outputs, 2 pairs that were there already",
    ]


def test_gold_after_cleaning_is_never_wrong() -> None:
    parser = Parser({"1": ["f(x)", "f ( x )", "f ( y )"], "2": ["g", "h", "g "]})
    found = collect(
        [parser], ["1", "2"], ["f ( x )", "g"], beams=3, per_input=3, balance=None, clean=squeeze
    )
    assert pairs(found, False) == [("1", "f ( y )"), ("2", "h")]
    plain = collect([parser], ["1", "2"], ["f ( x )", "g"], beams=3, per_input=3, balance=None)
    assert set(pairs(plain, False)) == {
        ("1", "f(x)"),
        ("1", "f ( y )"),
        ("2", "h"),
    }  # white space is alike


def test_every_gold_of_an_input_is_right() -> None:
    parser = Parser({"1": ["A", "B", "C"]})
    found = collect([parser], ["1", "1"], ["A", "B"], beams=3, per_input=3, balance=None)
    assert pairs(found, True) == [("1", "A"), ("1", "B")]
    assert pairs(found, False) == [("1", "C")]


def test_limits() -> None:
    rng = np.random.default_rng(0)
    inputs = [str(i) for i in range(200)]
    parsers = [
        Parser({one: [f"{rng.integers(100)}" for _ in range(4)] for one in inputs})
        for _ in range(3)
    ]
    golds = ["gold"] * 200
    found = collect(parsers, inputs, golds, per_input=2, balance=None)
    by = Counter(zip(found.inputs, found.origin, strict=True))
    assert max(by.values()) == 2
    assert found.statistics()["by_origin"].keys() == {
        "gold",
        "checkpoint-1",
        "checkpoint-2",
        "checkpoint-3",
    }
    assert collect(parsers, inputs, golds, checkpoints=1).statistics()["by_origin"].keys() == {
        "gold",
        "checkpoint-1",
    }
    assert int((~collect(parsers, inputs, golds, balance=0.5).correct).sum()) == 100
    for parser in parsers:
        parser.asked = 0
    seen: list[tuple[int, int]] = []
    drawn = collect(
        parsers, inputs, golds, per_checkpoint=50, progress=lambda d, t: seen.append((d, t))
    )
    assert [parser.asked for parser in parsers] == [50, 50, 50]
    assert seen[-1] == (150, 150)
    assert int(drawn.correct.sum()) == 200  # gold pairs of all
    first, second = (
        [x for x, o in zip(drawn.inputs, drawn.origin, strict=True) if o == f"checkpoint-{k}"]
        for k in (1, 2)
    )
    assert set(first) != set(second)  # each draws for itself


def test_draws_are_seeded_and_even() -> None:
    inputs = [str(i) for i in range(3000)]
    parser = Parser({one: ["a", "b", "gold", "c"] for one in inputs})
    golds = ["gold"] * 3000
    one, same, other = (collect([parser], inputs, golds, seed=seed) for seed in (0, 0, 1))
    assert one.outputs == same.outputs
    assert one.outputs != other.outputs
    counts = Counter(output for _, output in pairs(one, False))
    assert set(counts) == {"a", "b", "c"}
    assert all(900 < n < 1100 for n in counts.values())  # each wrong beam as often as another


def test_a_perfect_model_is_said_to_be_one() -> None:
    perfect = Parser({"1": ["A"], "2": ["B", ""], "3": ["C"]})
    with raises_snapshot(InputError):
        collect([perfect], INPUTS, GOLDS)


def test_bad_input() -> None:
    with raises_snapshot(InputError):
        collect([EARLY], INPUTS, ["A", "  ", "C"])
    with raises_snapshot(InputError):
        collect([EARLY], INPUTS, ["A", "B", None])  # type: ignore[list-item]
    with raises_snapshot(UsageError):
        collect([], INPUTS, GOLDS)
    with raises_snapshot(UsageError):
        collect([EARLY], INPUTS, GOLDS, per_input=0)
    with raises_snapshot(InputError):
        collect(["no-such-folder"], INPUTS, GOLDS)


def test_examples_are_written_and_read(tmp_path: Path) -> None:
    found = collect([EARLY], INPUTS, GOLDS, beams=3)
    for ending in ("parquet", "jsonl", "csv"):
        again = Examples.read(found.write(tmp_path / f"pairs.{ending}"))
        assert again.inputs == found.inputs
        assert again.outputs == found.outputs
        assert again.correct.tolist() == found.correct.tolist()
        assert again.origin.tolist() == found.origin.tolist()
    mine = tmp_path / "mine.jsonl"
    mine.write_text(
        '{"question": "a", "output": "b", "correct": 1}\n{"question": "c", "output": "d", "correct": 0}\n'
    )
    read = Examples.read(mine, mapping={"question": "input"})
    assert (read.inputs, read.correct.tolist(), read.origin.tolist()) == (
        ["a", "c"],
        [True, False],
        ["", ""],
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            '{"input": "a", "output": "b"}',
            "column correct: expected whether the output is correct, got null",
        ),
        ('{"input": "a", "correct": true}', "column output: expected a column output, got none"),
        ('{"output": "a", "correct": true}', "column input: expected a column input, got none"),
        (
            '{"input": null, "output": "a", "correct": true}',
            "row 2: column input: expected a text, got None",
        ),
    ],
)
def test_rows_that_are_no_examples(rows: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    good = '{"input": "a", "output": "b", "correct": true}' if "null" in rows else rows
    path.write_text(f"{good}\n{rows}\n")
    with raises_snapshot(InputError):
        Examples.read(path)


def test_beams_of_folders_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted collection asks only the models that it had not asked; a model that was trained again is asked."""
    from oodometer_lab.discriminators import collect as module

    home = tmp_path / "step-000010"
    home.mkdir()
    (home / "weights").write_text("1")
    loaded = Parser(EARLY.answers)

    import sys

    monkeypatch.setattr(
        sys.modules[collect.__module__], "open_sequence_model", lambda folder, **limits: loaded
    )
    assert module is collect
    first = collect([home], INPUTS, GOLDS, beams=3, checkpoint=tmp_path / "kept")
    again = collect([home], INPUTS, GOLDS, beams=3, checkpoint=tmp_path / "kept")
    assert loaded.asked == 3
    assert again.outputs == first.outputs
    assert again.origin.tolist() == first.origin.tolist() == ["gold"] * 3 + ["step-000010"] * 3
    (home / "weights").write_text("two")
    collect([home], INPUTS, GOLDS, beams=3, checkpoint=tmp_path / "kept")
    assert loaded.asked == 6


def test_folds_keep_equal_inputs_together() -> None:
    rng = np.random.default_rng(0)
    inputs = [f"sentence {i}" for i in rng.integers(60, size=200)]
    for folds in (2, 5):
        found = folds_of(inputs, folds, seed=1)
        of = {
            one: {int(fold) for fold, other in zip(found, inputs, strict=True) if other == one}
            for one in inputs
        }
        assert all(len(one) == 1 for one in of.values())
        sizes = Counter(next(iter(one)) for one in of.values())
        assert max(sizes.values()) - min(sizes.values()) <= 1
        assert set(sizes) == set(range(folds))
    assert (
        folds_of(inputs).tolist() == folds_of(inputs).tolist() != folds_of(inputs, seed=1).tolist()
    )
    with raises_snapshot(UsageError):
        folds_of(["a", "b", "a"], 3)


def test_cross_fitting_by_hand() -> None:
    """Each model is asked for its own fold alone; best outputs that are wrong come first, then lower beams."""
    first = Parser({"1": ["B", "A", "C"], "3": ["C", "A", "B"]})
    second = Parser({"2": ["B", "A", ""]})
    found = collect(
        [first, second], INPUTS, GOLDS, folds=np.array([0, 1, 0]), beams=3, balance=None
    )
    assert (first.asked, second.asked) == (2, 1)
    assert pairs(found, True) == [("1", "A"), ("2", "B"), ("3", "C")]
    assert pairs(found, False)[0] == ("1", "B")  # the only best output that is wrong
    assert sorted(pairs(found, False)[1:]) == [("2", "A"), ("3", "A")]
    assert found.origin[~found.correct].tolist()[0] == "fold-0"
    fewer = collect(
        [first, second], INPUTS, GOLDS, folds=np.array([0, 1, 0]), beams=3, balance=1 / 3
    )
    assert pairs(fewer, False) == [("1", "B")]
    counts = found.statistics()["checkpoints"]
    assert [(one["rows"], one["accuracy"]) for one in counts] == [(2, 0.5), (1, 1.0)]


def test_wrong_folds() -> None:
    with raises_snapshot(UsageError):
        collect([EARLY, LATE], INPUTS, GOLDS, folds=np.array([0, 1, 2]))
    with raises_snapshot(UsageError):
        collect([EARLY, LATE], INPUTS, GOLDS, folds=np.array([0, 0, 0]))
    with raises_snapshot(UsageError):
        collect([EARLY, LATE], INPUTS, GOLDS, folds=np.array([0, 1]))


def test_mixed_examples() -> None:
    rng = np.random.default_rng(0)
    inputs = [str(i) for i in range(100)]
    early = collect(
        [Parser({one: [f"e{rng.integers(9)}"] for one in inputs})], inputs, ["gold"] * 100, beams=1
    )
    parsers = [Parser({one: [f"u{i}", "gold"] for i, one in enumerate(inputs)}) for _ in range(2)]
    unseen = collect(
        parsers, inputs, ["gold"] * 100, folds=np.arange(100) % 2, beams=2, balance=0.5
    )
    found = early.mixed(unseen, 0.5, seed=3)
    assert pairs(found, True) == pairs(early, True)
    wrong = pairs(found, False)
    assert len(wrong) == 100
    assert [one[1][0] for one in wrong] == ["e"] * 50 + ["u"] * 50
    assert set(wrong[:50]) <= set(pairs(early, False))
    assert wrong[50:] == pairs(unseen, False)  # the first of them, in their order
    assert found.counts["mixed"] == 50
    few = early.mixed(
        collect(parsers, inputs, ["gold"] * 100, folds=np.arange(100) % 2, beams=2, balance=0.1)
    )
    assert (few.counts["mixed"], len(few)) == (10, 200)  # as many as there are
    assert early.mixed(early).counts["mixed"] == 0  # what is there already does not come again
    with raises_snapshot(UsageError):
        early.mixed(unseen, 2)
