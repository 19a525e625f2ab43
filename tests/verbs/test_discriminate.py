"""The verb `discriminate`: rows to pairs, judges trained and measured, outputs judged; every bad input is one line."""

from __future__ import annotations

import ast
import json
import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import InputError, MissingExtraError, UsageError, WorkError, install_line
from oodometer.intervals import clopper_pearson
from oodometer.predictions import Predictions
from oodometer.results import Interval
from oodometer.store import open_predictions
from oodometer.verbs.opening import Opener
from oodometer_lab.discriminators import ClassifierDiscriminator, Panel, RuleDiscriminator
from oodometer_lab.verbs.discriminate import judge_outputs, train_judges
from oodometer_lab.verbs.discriminate.folder import open_judges, revived
from oodometer_lab.verbs.discriminate.judged import (
    metric_numbers,
    thresholds_sentence,
    vote_numbers,
)
from oodometer_lab.verbs.discriminate.pairs import Pairs, _lacks, pairs_of, read_texts, split
from oodometer_lab.verbs.discriminate.training import stop_at_a_coin
from oodometer_lab.verbs.discriminate.worth import (
    holds_between,
    no_better_than_a_coin,
    outside,
    shortest,
)

from ..snapshots import assert_snapshot, raises_snapshot

TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}


def rows_of(*files: Any, mapping: dict[str, str] | None = None) -> list[Any]:
    return [read_texts(one, Opener(mapping), mapping) for one in files]


def written(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def as_set(pairs: Pairs) -> set[tuple[str, str, bool]]:
    return set(zip(pairs.inputs, pairs.outputs, pairs.correct.tolist(), strict=True))


def bracketed(rows: int, seed: int, share: float = 0.5) -> list[dict[str, Any]]:
    """A parser that forgets the closing bracket in a share of the rows: a mistake that a small judge learns at once."""
    draw = random.Random(seed)
    words = [a + b for a in "bcdfgklm" for b in ("ab", "ek", "ol", "ut")]
    out = []
    for _ in range(rows):
        verb, noun = draw.choice(words), draw.choice(words)
        gold = f"{verb} ( {noun} )"
        output = gold[:-2] if draw.random() < share else gold
        out.append({"input": f"{verb} the {noun}", "output": output, "gold": gold})
    return out


# ------------------------------------------------------------------------------------------------ rows and pairs


def test_pairs_of_a_hand_made_file() -> None:
    rows = rows_of({
        "input": ["a", "a", "b", "c", "d", "a"],
        "output": ["A", "X", "  B ", "", None, "X"],
        "gold": ["A", "A", "B", "C", "D", "A"],
    })  # fmt: skip
    found = pairs_of(rows)
    assert as_set(found) == {
        ("a", "A", True),
        ("a", "X", False),
        ("b", "B", True),
        ("c", "C", True),
        ("d", "D", True),
    }
    assert found.counts == {
        "rows": 6, "without_output": 1, "empty": 1, "duplicates": 5, "contradictions": 0, "beyond_balance": 0
    }  # fmt: skip
    assert (
        found.statistics()["by_origin"] == {"dict": 1, "gold": 4}
        or found.origin.tolist().count("gold") == 4
    )


def test_an_output_that_is_gold_elsewhere_is_no_mistake() -> None:
    found = pairs_of(
        rows_of(
            {"input": ["a", "a", "b"], "output": ["two", "one", "x"], "gold": ["one", "two", "y"]}
        )
    )
    assert as_set(found) == {
        ("a", "one", True),
        ("a", "two", True),
        ("b", "y", True),
        ("b", "x", False),
    }


def test_verdicts_stand_where_there_is_no_gold() -> None:
    rows = rows_of(
        {"input": ["a", "b", "c"], "output": ["A", "X", "C"], "correct": [True, False, True]}
    )
    assert as_set(pairs_of(rows)) == {("a", "A", True), ("b", "X", False), ("c", "C", True)}


def test_a_verdict_counts_beside_gold_where_the_texts_differ() -> None:
    given = {
        "input": ["a", "b"],
        "output": ["a2", "x"],
        "gold": ["A", "B"],
        "correct": [True, False],
    }
    assert ("a", "a2", True) in as_set(pairs_of(rows_of(given)))


def test_two_verdicts_on_one_pair_are_told() -> None:
    given = {"input": ["a", "a", "b"], "output": ["A", "A", "x"], "correct": [True, False, False]}
    found = pairs_of(rows_of(given))
    assert as_set(found) == {("a", "A", True), ("b", "x", False)}
    assert found.counts["contradictions"] == 1


def test_balance_draws_wrong_pairs_and_keeps_right_ones() -> None:
    given = {"input": ["a"] * 30, "output": [f"x{i}" for i in range(30)], "gold": ["A"] * 30}
    for balance, wrong in ((1.0, 1), (5.0, 5), (0.0, 30)):
        found = pairs_of(rows_of(given), balance=balance, seed=3)
        assert found.correct.sum() == 1
        assert (~found.correct).sum() == wrong
    assert found.counts["beyond_balance"] == 0
    one, two = (as_set(pairs_of(rows_of(given), balance=5.0, seed=seed)) for seed in (1, 2))
    assert one != two


def test_copies_have_another_input_and_the_output_and_verdict_of_their_pair() -> None:
    given = {"input": ["put, it on", "off"], "output": ["a ", "b"], "gold": ["a", "B"]}
    pairs = pairs_of(rows_of(given))
    more = pairs.augmented(3, seed=0)
    assert as_set(more.take(np.arange(len(pairs)))) == as_set(pairs)
    copies = more.take(np.arange(len(pairs), len(more)))
    assert not set(copies.inputs) & set(pairs.inputs)
    judged = {(output, right) for _, output, right in as_set(pairs)}
    assert {(output, right) for _, output, right in as_set(copies)} == judged
    assert len(as_set(copies)) == len(copies)
    assert more.counts["augmented"] == len(copies) > len(pairs)
    assert as_set(pairs.augmented(3, seed=0)) == as_set(more) != as_set(pairs.augmented(3, seed=1))
    assert as_set(pairs.augmented(0, seed=0)) == as_set(pairs)


def test_a_copy_is_never_another_row() -> None:
    given = {
        "input": ["go", "Go", "go."],
        "output": ["a", "b", "c"],
        "correct": [True, False, True],
    }
    copies = pairs_of(rows_of(given)).augmented(20, seed=0).inputs[3:]
    assert copies
    assert not {"go", "Go", "go."} & set(copies)


def test_a_metric_takes_the_place_of_verdicts() -> None:
    from oodometer_lab.discriminators import token_f1

    given = {
        "input": ["a", "b"],
        "output": ["p q r", "s"],
        "gold": ["p q", "s t"],
        "correct": [True, False],
    }
    found = pairs_of(rows_of(given), metric="token-f1")
    by_pair = dict(
        zip(zip(found.inputs, found.outputs, strict=True), found.targets.tolist(), strict=True)
    )
    assert by_pair["a", "p q"] == by_pair["b", "s t"] == 1
    assert by_pair["a", "p q r"] == pytest.approx(float(token_f1(["p q r"], ["p q"])[0]))


def test_files_are_joined_and_columns_renamed(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", [{"question": "a", "answer": "x", "target": "A"}])
    two = written(tmp_path / "two.jsonl", [{"question": "a", "answer": "y", "target": "A"}])
    found = pairs_of(
        rows_of(one, two, mapping={"question": "input", "answer": "output", "target": "gold"}),
        balance=0,
    )
    assert as_set(found) == {("a", "A", True), ("a", "x", False), ("a", "y", False)}
    assert found.statistics()["by_origin"] == {"gold": 1, "one.jsonl": 1, "two.jsonl": 1}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_gold_is_read_as_text_whatever_it_looks_like(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        path.write_text("input,output,gold\na,007,007\nb,2024-01-02,2024-01-03\nc,,5\n")
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        table = {
            "input": ["a", "b", "c"],
            "output": ["007", "2024-01-02", None],
            "gold": ["007", "2024-01-03", "5"],
        }
        pq.write_table(pa.table(table), path)
    (rows,) = rows_of(path)
    assert rows.golds == ["007", "2024-01-03", "5"]
    assert rows.outputs == ["007", "2024-01-02", None]
    assert rows.equal.tolist() == [1, 0, 0]


@given(
    st.lists(
        st.tuples(st.sampled_from([f"i{n}" for n in range(25)]), st.sampled_from("xyz")),
        min_size=1,
        max_size=80,
    ),
    st.integers(0, 5),
)
def test_a_split_parts_inputs_and_loses_nothing(rows: list[tuple[str, str]], seed: int) -> None:
    rows = [*rows, *((f"i{n}", "z") for n in range(10, 20))]
    given = {
        "input": [a for a, _ in rows],
        "output": [b for _, b in rows],
        "gold": [a.upper() for a, _ in rows],
    }
    whole = pairs_of(rows_of(given), balance=0)
    learnt, held = split(whole, seed)
    assert not set(learnt.inputs) & set(held.inputs)
    assert as_set(learnt) | as_set(held) == as_set(whole)
    assert len(learnt) + len(held) == len(whole)
    for part in (learnt, held):
        assert 0 < part.correct.sum() < len(part)
    assert len(set(held.inputs)) <= max(2, 0.2 * len(set(whole.inputs)))


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no input": ({"output": ["A"], "gold": ["A"]}, r"expected a column input"),
    "no gold": ({"input": ["a"], "output": ["A"]}, r"expected a column gold \(or output and correct\)"),
    "no output": ({"input": ["a"], "correct": [True]}, r"expected a column gold"),
    "null input": ({"input": ["a", None], "gold": ["A", "B"], "output": ["x", "y"]}, r"row 2: column input"),
    "empty gold": ({"input": ["a", "b"], "gold": ["A", " "], "output": ["x", "y"]}, r"row 2: column gold: .*empty"),
    "no verdict": (
        {"input": ["a", "b"], "gold": ["A", None], "output": ["x", "y"]}, r"row 2: column gold: .*the output is 'y'"
    ),
    "contradiction": (
        {"input": ["a", "b"], "gold": ["A", "B"], "output": ["x", "B"], "correct": [False, False]},
        r"row 2: column correct: expected true, since the output equals gold",
    ),
    "all right": ({"input": ["a"], "gold": ["A"], "output": ["A"]}, r"early checkpoints .* smaller K"),
    "all empty": ({"input": ["a"], "gold": ["A"], "output": [""]}, r"outputs of a model, got none: all 1 are empty"),
    "all wrong": ({"input": ["a"], "output": ["x"], "correct": [False]}, r"outputs that are right"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD)
def test_bad_rows_are_one_line(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        train_judges(given, tmp_path / "judges")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        {"judges": 0},
        {"kind": "rule"},
        {"metric": "rouge"},
        {"metric": "bleu", "kind": "encoder-decoder"},
        {"balance": -1},
        {"balance": float("nan")},
        {"max_length": 2},
        {"epochs": 0},
        {"source": "bert", "config": TINY},
        {"head": "rule"},
        {"head": "tokens", "metric": "bleu"},
        {"head": "tokens", "kind": "encoder-decoder"},
        {"pretraining": 2, "source": "bert"},
        {"pretraining": 2, "kind": "encoder-decoder"},
        {"pretraining": -1},
        {"level": 2.0},
        {"mapping": {"nothing": "gold"}},
        {"augment": -1},
    ],
)
def test_wrong_calls_are_one_line(options: dict[str, Any], tmp_path: Path) -> None:
    with raises_snapshot(UsageError, InputError):
        train_judges(
            written(tmp_path / "rows.jsonl", bracketed(40, 0)), tmp_path / "judges", **options
        )


def test_few_inputs_ask_for_a_dev_file() -> None:
    with raises_snapshot(InputError):
        train_judges({"input": ["a", "b"], "output": ["x", "y"], "gold": ["A", "B"]}, "judges")


def test_torch_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("hf"))):
        train_judges(written(tmp_path / "rows.jsonl", bracketed(40, 0)), tmp_path / "judges")
    assert [one.name for one in tmp_path.iterdir()] == ["rows.jsonl"]


# ------------------------------------------------------------------------------------------------ judging with rules


def rules(*functions: Callable[[str, str], Any]) -> Panel:
    return Panel([RuleDiscriminator(one) for one in functions])


THREE = rules(
    lambda i, o: o.isupper(), lambda i, o: len(i) == len(o), lambda i, o: i.lower() == o.lower()
)
ROWS = {
    "input": ["a", "b", "c", "d", "e", "f"],
    "output": ["A", "B", "c", "DD", "", "x"],
    "gold": ["A", "B", "C", "D", "E", None],
    "note": ["n1", "n2", "n3", "n4", "n5", "n6"],
}


def test_a_hand_made_file_is_judged() -> None:
    found = judge_outputs(THREE, ROWS)
    assert found.record.votes.tolist() == [
        [1, 1, 0, 1, 0, 0],
        [1, 1, 1, 0, 0, 1],
        [1, 1, 1, 0, 0, 0],
    ]
    assert [i.value for i in (found.lower, found.upper, found.mean)] == pytest.approx(
        [2 / 6, 5 / 6, 7 / 12]
    )
    assert found.single.value == pytest.approx(3 / 6)
    assert [row["share"].value for row in found.ladder] == pytest.approx([5 / 6, 3 / 6, 2 / 6])
    assert found.estimate.kind == "empirical"
    assert found.estimate.lower <= found.lower.value <= found.upper.value <= found.estimate.upper
    assert found.empty == 1
    assert_snapshot(found.warnings[0])
    assert found.truth["rows"] == 5
    assert found.truth["gold"].value == pytest.approx(2 / 5)
    assert found.record.correct.tolist() == [1, 1, 0, 0, 0, -1]
    two = judge_outputs(THREE, ROWS, agree=2)
    assert two.lower.value == two.upper.value == pytest.approx(3 / 6)


def test_recalls_and_precisions_agree_with_sklearn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    given = {
        "input": ["a"] * 200,
        "output": list(rng.choice(["A", "AA", "b", "B"], 200)),
        "gold": ["A"] * 200,
    }
    found = judge_outputs(THREE, given)
    record = found.record
    assert record.correct is not None
    assert found.truth is not None
    all_accept = record.votes.all(axis=0)
    row = next(row for row in found.truth["rules"] if row["rule"] == "any-incorrect")
    assert row["correct_recall"]["value"] == pytest.approx(
        metrics.recall_score(record.correct, all_accept)
    )
    assert row["correct_precision"]["value"] == pytest.approx(
        metrics.precision_score(record.correct, all_accept)
    )
    wrong = metrics.recall_score(record.correct == 0, ~all_accept)
    assert row["incorrect_recall"]["value"] == pytest.approx(wrong)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "npz"])
def test_all_fields_are_kept(tmp_path: Path, ending: str) -> None:
    rows = [{"id": f"0{n}", "input": "abc"[n], "output": ("A", None, "x")[n], "gold": "ABC"[n], "confidence": n / 4,
             "more": {"n": [n]}} for n in range(3)]  # fmt: skip
    out = tmp_path / f"judged.{ending}"
    judge_outputs(THREE, written(tmp_path / "rows.jsonl", rows), out=out)
    source = open_predictions(out, extra_columns=["id", "more", "gold"])
    record = source.read(source.fields)
    assert record.columns["gold"].tolist() == ["A", "B", "C"]
    assert record.confidence.tolist() == [0, 0.25, 0.5]
    assert record.names["judge"] == ("rule_0", "rule_1", "rule_2")
    assert record.correct.tolist() == [1, 0, 0]
    if ending == "jsonl":
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert [line["more"] for line in lines] == [{"n": [n]} for n in range(3)]
        assert lines[1]["output"] is None
        assert [line["id"] for line in lines] == ["00", "01", "02"]
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_votes_of_ones_own_judges_stay_and_others_are_asked_anew(tmp_path: Path) -> None:
    rows = [
        {"input": "a", "output": "A", "vote_mine": False},
        {"input": "b", "output": "x", "vote_mine": True},
    ]
    first = judge_outputs(
        THREE, written(tmp_path / "rows.jsonl", rows), out=tmp_path / "judged.jsonl"
    )
    assert first.judges == ("rule_0", "rule_1", "rule_2", "mine")
    assert first.upper.value == 1
    again = judge_outputs(rules(lambda i, o: True), tmp_path / "judged.jsonl")
    assert again.judges == ("rule_0", "rule_1", "rule_2", "mine")
    assert again.record.votes[0].tolist() == [1, 1]
    assert "voted again" in again.warnings[0]


def test_pseudo_labels_are_inputs_and_golds(tmp_path: Path) -> None:
    found = judge_outputs(THREE, ROWS, pseudo_labels=tmp_path / "p.jsonl", out=tmp_path / "j.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert lines == [{"input": "a", "gold": "A", "row": 0}, {"input": "b", "gold": "B", "row": 1}]
    assert found.pseudo_labels.precision.value == 1
    none = judge_outputs(
        rules(lambda i, o: False),
        ROWS,
        pseudo_labels=tmp_path / "q.jsonl",
        out=tmp_path / "j2.jsonl",
    )
    assert_snapshot(none.warnings)
    assert (tmp_path / "j2.jsonl").exists()
    assert not (tmp_path / "q.jsonl").exists()


@given(st.integers(1, 6), st.integers(1, 30), st.integers(0, 9))
def test_verdicts_are_a_metric_of_zero_and_one(judges: int, rows: int, seed: int) -> None:
    votes = np.random.default_rng(seed).integers(0, 2, (judges, rows)).astype(np.int8)
    by_votes = vote_numbers(Predictions.from_arrays(votes=votes), None, 0.9)
    by_metric = metric_numbers(votes.astype(np.float32), None, 0.9)
    for name in ("lower", "upper", "mean", "single", "estimate"):
        assert getattr(by_metric, name).value == pytest.approx(getattr(by_votes, name).value)
    for one, other in zip(by_metric.ladder, by_votes.ladder, strict=True):
        assert one["share"].value == pytest.approx(other["share"].value)
    for one, other in zip(by_metric.bounds, by_votes.bounds, strict=True):
        assert [one[n].value for n in ("lower", "upper")] == pytest.approx(
            [other[n].value for n in ("lower", "upper")]
        )


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ({"output": ["A"]}, {}, InputError, "expected a column input"),
        ({"input": ["a"]}, {}, InputError, "expected a column output"),
        ({"input": [None, "b"], "output": ["A", "B"]}, {}, InputError, "row 1: column input"),
        (ROWS, {"agree": 1}, UsageError, "majority of the 3 judges"),
        (ROWS, {"out": "no/such/folder.jsonl"}, UsageError, "no folder that may be written"),
        (ROWS, {"out": "judged.txt"}, UsageError, "end the name in .parquet"),
        (ROWS, {"pseudo_labels": "judged.txt"}, UsageError, "end the name in .parquet"),
        (ROWS, {"mapping": {"x": "output"}}, UsageError, "no column x"),
        (ROWS, {"level": 0}, UsageError, "level"),
    ],
)
def test_judging_bad_rows_is_one_line(
    given: dict[str, Any], options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        judge_outputs(THREE, given, **options)
    assert not list(tmp_path.iterdir())


def test_a_folder_without_judges_is_one_line(tmp_path: Path) -> None:
    with raises_snapshot(InputError):
        judge_outputs(tmp_path / "none", ROWS)
    with raises_snapshot(InputError):
        judge_outputs(tmp_path, ROWS)
    (tmp_path / "begun.training").mkdir()
    with raises_snapshot(InputError):
        judge_outputs(tmp_path / "begun", ROWS)
    with raises_snapshot(UsageError):
        judge_outputs(None, ROWS)


def test_an_interrupted_judging_keeps_the_judges_that_answered(tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(name: str) -> Callable[[str, str], Any]:
        def rule(given: str, output: str) -> bool:
            asked.append(name)
            return output.isupper()

        rule.__name__ = name
        return rule

    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    panel = rules(counting("one"), counting("two"))
    with pytest.raises(KeyboardInterrupt):
        judge_outputs(panel, ROWS, out=tmp_path / "j.jsonl", progress=stop)
    assert not (tmp_path / "j.jsonl").exists()
    before = asked.count("one")
    found = judge_outputs(panel, ROWS, out=tmp_path / "j.jsonl")
    assert asked.count("one") == before == 5  # the empty output is not asked about
    assert found.record.votes.tolist() == [[1, 1, 0, 1, 0, 0]] * 2
    assert [one.name for one in tmp_path.iterdir()] == ["j.jsonl"]


def test_small_parts_of_judging() -> None:
    thresholds = {"from": None, "by_judge": [{"value": 0.5}, {"value": 0.99951}]}
    assert_snapshot(thresholds_sentence(thresholds, "Both accept"))
    error = _lacks("a column input", ("Input", "output"), ("input",), "a.jsonl")
    assert_snapshot(str(error))
    assert shortest(np.array([0.3], dtype=np.float32)).tolist() == [0.3]


def test_a_coin_is_told() -> None:
    half = Interval(0.5, 0.4, 0.6, 0.95, "conditional")
    good = Interval(0.9, 0.85, 0.95, 0.95, "conditional")
    for measure, count in ((half, 1), (good, 0)):
        rule = {"rule": "majority", "correct_recall": measure, "incorrect_recall": measure}
        assert len(no_better_than_a_coin({"pairs": 200, "rules": [rule]})) == count
    assert "only 30 pairs" in no_better_than_a_coin({"pairs": 30})[0]


def ladder_of(votes: Any, right: Any) -> list[dict[str, Any]]:
    """Recall of Correct and of Incorrect for each "at least j accept", by plain counting."""

    def interval(hits: Any) -> Interval:
        lower, upper = clopper_pearson(int(np.sum(hits)), len(hits), 0.95)
        return Interval(float(np.mean(hits)), lower, upper, 0.95, "conditional")

    accepted = [votes.sum(axis=0) >= j for j in range(1, len(votes) + 1)]
    return [
        {"correct_recall": interval(one[right]), "incorrect_recall": interval(~one[~right])}
        for one in accepted
    ]


@given(st.integers(1, 5), st.integers(2, 40), st.integers(0, 99), st.integers(0, 1000))
def test_the_range_is_where_mixtures_of_the_same_rows_lie_between_the_bounds(
    judges: int, rows: int, seed: int, thousandth: int
) -> None:
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, 2, (judges, rows)).astype(bool)
    right = rng.integers(0, 2, rows).astype(bool)
    right[:2] = [True, False]
    ladder = ladder_of(votes, right)
    accuracy = thousandth / 1000
    for agree in range(judges, judges // 2, -1):
        holds = holds_between(ladder, agree)
        assert holds["lowest"].value <= holds["highest"].value
        share = [
            accuracy * ladder[k - 1]["correct_recall"].value
            + (1 - accuracy) * (1 - ladder[k - 1]["incorrect_recall"].value)
            for k in (agree, judges - agree + 1)
        ]
        margin = 1e-9  # on the crossing itself rounding decides
        if holds["lowest"].value + margin < accuracy < holds["highest"].value - margin:
            assert share[0] <= accuracy + margin
            assert share[1] >= accuracy - margin
        if accuracy < holds["lowest"].value - margin:
            assert share[0] > accuracy - margin
        if accuracy > holds["highest"].value + margin:
            assert share[1] < accuracy + margin


def test_an_estimate_outside_the_range_is_told() -> None:
    votes = np.array([[1, 1, 1, 0, 1, 0, 1, 1], [1, 1, 0, 1, 1, 1, 0, 0]], dtype=bool)
    right = np.array([1, 1, 1, 1, 0, 0, 0, 0], dtype=bool)
    ladder = ladder_of(votes, right)  # all accept: f = 1/4, r = 1/2; some accept: f = 1, r = 0
    assert outside(ladder, 0.5, 2) == []
    assert len(outside(ladder, 0.3, 2)) == 1
    assert_snapshot(outside(ladder, 0.3, 2)[0])  # eight pairs
    many = ladder_of(np.tile(votes, 200), np.tile(right, 200))
    (told,) = outside(many, 0.2, 2)
    assert_snapshot(told)
    assert "from 33.3 % (2" in told


# ------------------------------------------------------------------------------------------------ trained judges


@pytest.fixture(scope="module")
def torch() -> Any:
    library = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
    pytest.importorskip("transformers")
    library.set_num_threads(1)
    return library


QUICK: dict[str, Any] = {
    "config": TINY,
    "judges": 2,
    "epochs": 6,
    "batch_size": 16,
    "learning_rate": 3e-3,
}


@pytest.fixture(scope="module")
def trained(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two judges of forgotten brackets, and the folder they lie in."""
    home = tmp_path_factory.mktemp("trained")
    pairs = written(home / "early.jsonl", bracketed(400, 0))
    return train_judges(pairs, home / "judges", **QUICK)


def test_judges_beat_chance_on_held_out_pairs(trained: Any) -> None:
    rules = {row["rule"]: row for row in trained.held_out["rules"]}
    for rule in ("any-incorrect", "any-correct", "majority", "single"):
        assert rules[rule]["correct_recall"].lower > 0.6
        assert rules[rule]["incorrect_recall"].lower > 0.6
        assert rules[rule]["correct_recall"].kind == "conditional"
    assert not any("tell nothing" in one for one in trained.warnings)
    assert trained.held_out["holds"]["lowest"].value <= trained.held_out["holds"]["highest"].value
    assert_snapshot(trained.dev["from"])


def test_bounds_hold_the_truth_on_new_rows(trained: Any, tmp_path: Path) -> None:
    rows = bracketed(300, 7, share=0.3)
    found = judge_outputs(
        trained.folder, written(tmp_path / "new.jsonl", rows), out=tmp_path / "judged.parquet"
    )
    right = np.mean([row["output"] == row["gold"] for row in rows])
    assert found.estimate.lower <= right <= found.estimate.upper
    assert abs(found.mean.value - right) < 0.1
    assert found.truth["gold"].value == pytest.approx(right)
    again = judge_outputs(trained.panel, tmp_path / "new.jsonl")
    assert found.record.votes is not None
    assert again.record.votes is not None
    assert np.array_equal(found.record.votes, again.record.votes)


class _Asked(BaseException):
    """The network was called; carries the functions that were then being run, from the command on."""


def _returns(code: CodeType) -> int:
    """Return statements of a function, those of functions inside it aside."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    tree = ast.parse(Path(code.co_filename).read_text(encoding="utf-8"))
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    others = {line for one in inner for _, _, line in one.co_lines() if line != one.co_firstlineno}
    return sum(
        isinstance(one, ast.Return) and one.lineno in lines - others for one in ast.walk(tree)
    )


@pytest.mark.parametrize("head", ["tokens", "mark"])
def test_outputs_travel_straight_to_the_network(
    trained: Any, head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the command to the network the outputs pass at most 7 files and 5 returns."""
    import oodometer
    from oodometer.cli.main import main
    from oodometer_lab.cli import discriminate

    judges = trained.folder
    if head == "mark":
        few = written(tmp_path / "few.jsonl", bracketed(60, 0))
        judges = train_judges(
            few, tmp_path / "marks", **{**QUICK, "judges": 1, "epochs": 1, "head": head}
        ).folder

    def called(*given: Any, **more: Any) -> None:
        frame, codes = sys._getframe(1), []
        while frame is not None and frame.f_code is not discriminate.predict.__code__:
            codes.append(frame.f_code)
            frame = frame.f_back
        raise _Asked([*codes, discriminate.predict.__code__])

    net = type(open_judges(judges)[0].members[0].model.net)
    monkeypatch.setattr(net, "forward", called)
    rows = written(tmp_path / "new.jsonl", bracketed(20, 7))
    with pytest.raises(_Asked) as found:
        main(["discriminate", "predict", str(judges), str(rows)])
    ours = [
        one
        for one in found.value.args[0]
        if Path(one.co_filename).is_relative_to(Path(oodometer.__file__).parent)
    ]
    assert discriminate.predict.__code__ in ours
    assert len({one.co_filename for one in ours}) <= 7
    assert sum(map(_returns, ours)) <= 5


def test_judges_from_scratch_read_every_token(trained: Any) -> None:
    assert trained.settings["head"] == "tokens"
    assert {one.model.kind for one in trained.panel.members} == {"token-encoder"}
    assert "pretraining" not in trained.settings


def test_pretraining_goes_before_the_judges_and_on_after_an_interruption(
    torch: Any, tmp_path: Path
) -> None:
    pairs = written(tmp_path / "early.jsonl", bracketed(120, 0))
    options = {**QUICK, "epochs": 3, "pretraining": 3}
    whole = train_judges(pairs, tmp_path / "whole", **options)
    assert whole.settings["pretraining"] == 3
    assert whole.settings["config"] == TINY
    assert sorted(one.name for one in whole.folder.iterdir())[-1] == "oodometer_panel.json"

    def stop(done: int, total: int) -> None:
        if done > 0.1 * total:  # in the pretraining, which is a fifth of the work
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_judges(pairs, tmp_path / "parts", **options, progress=stop)
    told: list[float] = []
    again = train_judges(
        pairs, tmp_path / "parts", **options, progress=lambda a, b: told.append(a / b)
    )
    assert told == sorted(told)
    assert told[-1] == 1.0
    new = {
        "input": [row["input"] for row in bracketed(50, 3)],
        "output": [row["output"] for row in bracketed(50, 3)],
    }
    votes = [judge_outputs(one.folder, new).record.votes for one in (whole, again)]
    assert np.array_equal(votes[0], votes[1])
    other = train_judges(pairs, tmp_path / "other", **{**options, "pretraining": 0})
    asked = [one.panel.probabilities(new["input"], new["output"]) for one in (whole, other)]
    assert np.abs(asked[0] - asked[1]).max() > 1e-3


def test_the_folder_holds_judges_and_what_is_known_of_them(trained: Any) -> None:
    names = sorted(one.name for one in trained.folder.iterdir())
    assert names == [
        "held_out.jsonl",
        "judges.json",
        "member-0",
        "member-1",
        "oodometer_panel.json",
    ]
    assert not list(trained.folder.parent.glob("*.training"))
    panel, about = open_judges(trained.folder)
    assert (len(panel), about["metric"]) == (2, "exact")
    assert revived(about["held_out"]) == trained.held_out
    held = open_predictions(trained.folder / "held_out.jsonl")
    record = held.read(("votes", "correct", "input"))
    assert record.votes is not None
    assert record.correct is not None
    assert len(record) == trained.held_out["pairs"]
    majority = record.votes.sum(axis=0) > 1
    row = next(row for row in trained.held_out["rules"] if row["rule"] == "majority")
    assert row["correct_recall"].value == pytest.approx(majority[record.correct > 0].mean())


def test_the_same_training_is_kept_and_another_refused(trained: Any) -> None:
    pairs = trained.folder.parent / "early.jsonl"
    again = train_judges(pairs, trained.folder, **QUICK)
    assert again.kept
    assert again.held_out == trained.held_out
    with raises_snapshot(UsageError):
        train_judges(pairs, trained.folder, **{**QUICK, "seed": 1})
    with raises_snapshot(UsageError):
        train_judges(pairs, trained.folder.parent, **QUICK)
    with raises_snapshot(UsageError):
        train_judges(pairs, pairs, **QUICK)


def test_an_interrupted_training_goes_on_to_the_same_judges(trained: Any, tmp_path: Path) -> None:
    pairs = trained.folder.parent / "early.jsonl"
    for share in (0.2, 0.7):  # in the first judge, then in the second

        def stop(done: int, total: int, share: float = share) -> None:
            if done > share * total:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train_judges(pairs, tmp_path / "judges", **QUICK, progress=stop)
        assert not (tmp_path / "judges").exists()
        assert (tmp_path / "judges.training").is_dir()
    found = train_judges(pairs, tmp_path / "judges", **QUICK)
    assert not found.kept
    assert [one.name for one in tmp_path.iterdir()] == ["judges"]
    for weights in trained.folder.rglob("weights.safetensors"):
        other = tmp_path / "judges" / weights.relative_to(trained.folder)
        assert other.read_bytes() == weights.read_bytes()
    assert found.held_out == trained.held_out


def test_long_pairs_are_counted_and_still_known_after_an_interruption(
    torch: Any, tmp_path: Path
) -> None:
    rows = [{**row, "input": row["input"] + " and so on" * 10} for row in bracketed(60, 0)]
    pairs = written(tmp_path / "long.jsonl", rows)
    options = {**QUICK, "epochs": 1, "max_length": 16}

    def stop(done: int, total: int) -> None:
        if done > 0.6 * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_judges(pairs, tmp_path / "judges", **options, progress=stop)
    found = train_judges(pairs, tmp_path / "judges", **options)
    cut = [one for one in found.warnings if "are longer than 16 tokens" in one]
    assert len(cut) == 1
    assert "(100.0 %)" in cut[0]
    judged = judge_outputs(tmp_path / "judges", pairs)
    assert judged.cut == 60
    assert_snapshot(judged.warnings)


def test_an_encoder_decoder_judges(torch: Any, tmp_path: Path) -> None:
    sizes = {"d_model": 32, "d_ff": 64, "d_kv": 16, "num_layers": 1, "num_heads": 2}
    rows = bracketed(60, 0)
    dev = {name: [row[name] for row in bracketed(30, 1)] for name in ("input", "output", "gold")}
    found = train_judges(
        written(tmp_path / "early.jsonl", rows), tmp_path / "judges", dev=dev, kind="encoder-decoder", config=sizes,
        judges=1, epochs=1,
    )  # fmt: skip
    assert found.settings["kind"] == "encoder-decoder"
    assert found.dev["from"] != "a tenth of the inputs"
    judged = judge_outputs(found.folder, tmp_path / "early.jsonl")
    assert judged.judges == ("generative_0",)
    assert judged.lower.value == judged.upper.value


def test_dev_inputs_that_were_learnt_are_told(torch: Any, tmp_path: Path) -> None:
    pairs = written(tmp_path / "early.jsonl", bracketed(60, 0))
    found = train_judges(
        pairs, tmp_path / "judges", dev=pairs, **{**QUICK, "judges": 1, "epochs": 1}
    )
    assert_snapshot(found.warnings)


def test_judges_that_learn_from_copies_say_so(torch: Any, tmp_path: Path) -> None:
    pairs, short = written(tmp_path / "early.jsonl", bracketed(60, 0)), {**QUICK, "epochs": 1}
    found = train_judges(pairs, tmp_path / "judges", augment=2, all_judges=True, **short)
    assert found.settings["augment"] == 2
    assert found.dev["augmented"] > found.dev["learnt"] / 2
    assert_snapshot([text for text in found.view().sentences if "Learnt" in text])
    with raises_snapshot(UsageError):
        train_judges(pairs, tmp_path / "judges", all_judges=True, **short)


def test_judges_of_a_metric(torch: Any, tmp_path: Path) -> None:
    from oodometer_lab.discriminators import token_f1

    pairs = written(tmp_path / "early.jsonl", bracketed(300, 0))
    found = train_judges(pairs, tmp_path / "judges", metric="token-f1", **QUICK)
    assert found.held_out["error"].value < 0.1
    rows = bracketed(100, 5)
    judged = judge_outputs(
        found.folder, written(tmp_path / "new.jsonl", rows), out=tmp_path / "judged.jsonl"
    )
    true = token_f1([row["output"] for row in rows], [row["gold"] for row in rows])
    assert judged.truth["true"].value == pytest.approx(float(true.mean()), abs=1e-6)
    assert judged.lower.value <= judged.mean.value <= judged.upper.value
    lines = [json.loads(line) for line in (tmp_path / "judged.jsonl").read_text().splitlines()]
    for row, line in enumerate(lines):
        each = [line["token_f1_regression_0"], line["token_f1_regression_1"]]
        assert line["token_f1_predicted"] == pytest.approx(sum(each) / 2, abs=1e-6)
        assert line["token_f1"] == pytest.approx(float(true[row]))
    low = np.mean(
        [min(line["token_f1_regression_0"], line["token_f1_regression_1"]) for line in lines]
    )
    assert judged.lower.value == pytest.approx(low, abs=1e-6)
    with raises_snapshot(UsageError):
        judge_outputs(found.folder, tmp_path / "new.jsonl", pseudo_labels=tmp_path / "p.jsonl")


@pytest.fixture(scope="module")
def classifier(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Saves a tiny untrained classifier of pairs with the labels given."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = {
        w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "A", "B"])
    }
    inner = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )

    def save(*labels: str) -> str:
        home = tmp_path_factory.mktemp("classifier")
        config = transformers.BertConfig(
            vocab_size=len(words), max_position_embeddings=64, **TINY, id2label=dict(enumerate(labels)),
            label2id={name: i for i, name in enumerate(labels)},
        )  # fmt: skip
        torch.manual_seed(0)
        transformers.BertForSequenceClassification(config).save_pretrained(home)
        tokenizer.save_pretrained(home)
        return str(home)

    return save


def test_an_existing_classifier_is_a_judge(classifier: Callable[..., str]) -> None:
    two, three = classifier("bad", "good"), classifier("contradiction", "neutral", "entailment")
    found = judge_outputs(None, ROWS, existing=[two])
    assert found.judges == ("pretrained_0",)
    other = judge_outputs(None, ROWS, existing=[two], judge_labels=["bad"])
    asked = np.array([bool(text) for text in ROWS["output"]])
    assert (
        found.record.votes[0, asked] + other.record.votes[0, asked] == 1
    ).all()  # the labels are two of two
    both = judge_outputs(THREE, ROWS, existing=[three], judge_labels=["entailment"])
    assert both.judges == ("rule_0", "rule_1", "rule_2", "pretrained_3")
    with raises_snapshot(InputError):
        judge_outputs(None, ROWS, existing=[three])
    with raises_snapshot(InputError):
        judge_outputs(None, ROWS, existing=[three], judge_labels=["right"])
    with raises_snapshot(InputError):
        judge_outputs(None, ROWS, existing=[three], judge_labels=["neutral", "entailment"])


# ------------------------------------------------------------------------------------------------ the first judge


def held_out(rows: int) -> Pairs:
    """As many wrong pairs as right ones."""
    (texts,) = rows_of({"input": [f"i{row}" for row in range(rows)], "output": ["A", "X"] * (rows // 2),
                        "gold": ["A", "A"] * (rows // 2)})  # fmt: skip
    return pairs_of([texts])


def test_a_first_judge_that_is_a_coin_ends_the_training() -> None:
    draw, held = random.Random(0), held_out(2000)
    coin = RuleDiscriminator(lambda i, o: draw.random())
    with raises_snapshot(WorkError):
        stop_at_a_coin(coin, held, 5)
    stop_at_a_coin(coin, held_out(20), 5)  # too few pairs to be sure
    stop_at_a_coin(
        RuleDiscriminator(lambda i, o: 0.3 if o == "A" else 0.2), held, 5
    )  # rejects all at 0.5: no coin


def test_a_stopped_training_goes_on_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers", reason="needs the extra hf: pip install '.[hf]'")
    monkeypatch.setattr(
        "oodometer_lab.verbs.discriminate.training.POOR", 1.01
    )  # no judge is good enough
    rows = bracketed(80, 0)
    short: dict[str, Any] = {"judges": 2, "config": TINY, "epochs": 1}
    with raises_snapshot(WorkError):
        train_judges(written(tmp_path / "a.jsonl", rows), tmp_path / "judges", **short)
    fits: list[int] = []
    fit = ClassifierDiscriminator.fit

    def counted(self: ClassifierDiscriminator, *pairs: Any, **options: Any) -> Any:
        fits.append(self.training.seed)
        return fit(self, *pairs, **options)

    monkeypatch.setattr(ClassifierDiscriminator, "fit", counted)
    found = train_judges(tmp_path / "a.jsonl", tmp_path / "judges", all_judges=True, **short)
    assert (found.judges, fits) == (2, [1])  # the first one was kept
