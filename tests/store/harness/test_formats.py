"""Other harnesses: each format gives the values that its own script would, or one line on what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, OodometerError
from oodometer.store.harness import LogOptions, log_kind, read_logs
from oodometer.store.harness.others import exact_match, f1, normalized

from ...snapshots import assert_snapshot
from . import formats

LIKELY = [
    [-3.0, -1, -2, -4],
    [-3.0, -2, -1, -4],
    [-3.0, -1, -2, -4],
    [-4.0, -3, -2, -1],
]  # the best are SAID


def read(path: Path, **options: Any) -> Any:
    return read_logs(path, LogOptions(**options))


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        read(path, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("kind", formats.ALL)
def test_the_kind_is_read_from_the_content(tmp_path: Path, kind: str) -> None:
    path = formats.ALL[kind](tmp_path)
    other = (
        path / "per_instance_stats.json"
        if kind == "helm"
        else path.rename(path.with_stem("renamed"))
    )
    assert log_kind(other) == kind
    assert read(path if kind == "helm" else other).record.rows >= 3


@pytest.mark.parametrize(
    ("make", "model", "task"),
    [
        (formats.helm, "openai_gpt2", "mmlu:anatomy"),
        (formats.lighteval, "openai_gpt2", "lighteval:arc:easy:0"),
        (formats.opencompass_results, "gpt2", "arc"),
    ],
)
def test_verdicts_prompts_and_answers(
    tmp_path: Path, make: Callable[[Path], Path], model: str, task: str
) -> None:
    result = read(make(tmp_path), keep_input=True)
    assert (result.model, result.tasks) == (model, (task,))
    assert result.record.correct.tolist() == [1, 1, 0, 1]
    assert result.record.output.tolist() == formats.SAID
    assert result.record.input.tolist() == ["Q0", "Q1", "Q2", "Q3"]


def test_helm_leaves_perturbed_instances_and_what_is_no_quality_out(tmp_path: Path) -> None:
    result = read(formats.helm(tmp_path))
    assert result.metrics == ("exact_match",)
    assert result.record.columns["id"].tolist() == ["id0", "id1", "id2", "id3"]
    assert_snapshot(result.notes)


def test_helm_takes_the_test_split_and_any_named_statistic(tmp_path: Path) -> None:
    run = formats.helm(tmp_path, "generation", f1_score=0.5)
    entries = json.loads((run / "per_instance_stats.json").read_text())
    for stat in entries[1]["stats"]:
        stat["name"]["split"] = "valid"
    formats.put(run / "per_instance_stats.json", entries)
    result = read(run, metric="f1_score")
    assert result.record.score.tolist() == [0.5] * 3
    assert_snapshot(result.notes)
    formats.put(run / "per_instance_stats.json", [{"instance": 1}])
    assert_snapshot(refused(run))


@pytest.mark.parametrize("new", [True, False])
def test_lighteval_options_are_candidates_where_they_give_the_verdict(
    tmp_path: Path, new: bool
) -> None:
    record = read(formats.lighteval(tmp_path, new, LIKELY)).record
    assert record.label.tolist() == [1, 2, 0, 3]
    assert record.prediction.tolist() == [1, 2, 1, 3]
    assert record.confidence[0] == pytest.approx(np.exp(-1) / np.exp(LIKELY[0]).sum())
    wrong = read(formats.lighteval(tmp_path / "other", new, LIKELY, acc=[1.0] * 4)).record
    assert (wrong.candidate_scores, wrong.accuracy) == (None, 1.0)


def test_lighteval_scores_between_0_and_1(tmp_path: Path) -> None:
    record = read(formats.lighteval(tmp_path, f1=[0.5, 1.0, 0.0, 0.25])).record
    assert record.score.tolist() == [0.5, 1.0, 0.0, 0.25]


def test_opencompass_predictions_are_compared_with_the_gold_answer(tmp_path: Path) -> None:
    result = read(formats.opencompass_predictions(tmp_path), metric="exact_match")
    assert result.record.accuracy == 0.75
    record = read(formats.opencompass_predictions(tmp_path, perplexity=True)).record
    assert record.prediction.tolist() == ["ABCD".index(said) for said in formats.SAID]
    assert record.accuracy == 0.75


def test_opencompass_runs_of_one_question_are_epochs(tmp_path: Path) -> None:
    record = read(formats.opencompass_results(tmp_path, several=True)).record
    assert record.columns["id"].tolist()[:2] == ["x_0", "x_0"]
    assert record.columns["epoch"].tolist()[:2] == [1, 2]
    assert record.accuracy == pytest.approx(3 / 8)
    formats.put(
        tmp_path / "results" / "gpt2" / "arc.json",
        {"accuracy": 1, "details": [{"pred": "A", "answer": "A"}]},
    )
    assert_snapshot(refused(tmp_path / "results" / "gpt2"))


def test_alpaca_eval_is_the_win_rate_of_the_second(tmp_path: Path) -> None:
    result = read(formats.alpaca_eval(tmp_path))
    assert result.model == "mine"
    assert result.record.score.tolist() == [0.0, 1.0, 0.5, 0.25]
    assert result.skipped[0][1] == "no preference"
    assert_snapshot(refused(formats.alpaca_eval(tmp_path, [3.0])))
    formats.put(
        tmp_path / "annotations.json", [{"instruction": "a", "output": "b", "generator": "mine"}]
    )
    assert read(tmp_path / "annotations.json").record.output.tolist() == ["b"]


@pytest.mark.parametrize("pages", [True, False])
def test_simple_evals_are_held_against_their_total(tmp_path: Path, pages: bool) -> None:
    result = read(formats.simple_evals(tmp_path, pages))
    assert (result.model, result.tasks) == ("gpt-4.1", ("healthbench_hard",))
    assert result.record.score.tolist() == [1.0, 0.5, 0.0, 0.5]
    assert result.record.output.tolist() == ["A0", "A1", "A2", "A3"]
    other = formats.simple_evals(tmp_path, pages, score=0.9)
    assert_snapshot(refused(other))
    assert_snapshot(read(other, metric="score").warnings[0])


def test_a_prompt_of_simple_evals_may_be_a_text(tmp_path: Path) -> None:
    path = formats.simple_evals(tmp_path)
    whole = json.loads(path.read_text())
    for example in whole["metadata"]["example_level_metadata"]:
        example["prompt"] = "What is it?"
    path.write_text(json.dumps(whole))
    assert read(path, keep_input=True).record.input.tolist() == ["What is it?"] * 4


def test_uqlm_scores_are_confidences(tmp_path: Path) -> None:
    assert read(formats.uqlm(tmp_path)).record.confidence.tolist() == [1.0, 0.5, 0.2]
    several = formats.uqlm(tmp_path, noncontradiction=[0.1, 0.2, 0.3], exact_match=[1.0, 0.0, 0.5])
    assert_snapshot(refused(several))
    record = read(several, metric="exact_match").record
    assert record.confidence.tolist() == [1.0, 0.0, 0.5]
    assert list(record.columns["noncontradiction"]) == [0.1, 0.2, 0.3]


def test_squad_as_the_official_script_has_it(tmp_path: Path) -> None:
    path = formats.squad(tmp_path)
    result = read(path)
    assert result.record.correct.tolist() == [1, 0, 1, 0]
    assert list(result.record.columns["passage"]) == [0, 0, 1, 1]
    assert read(path, metric="f1").record.score.tolist() == pytest.approx([1.0, 0.8, 1.0, 0.0])
    (tmp_path / "dev-v2.0.json").unlink()
    assert_snapshot(refused(path))


@pytest.mark.parametrize(
    ("said", "golds", "exact", "overlap"),
    [
        ("The Eiffel-Tower!", ["eiffeltower"], 1, 1.0),
        ("a cat", ["the cat sat"], 0, 2 / 3),
        ("", [], 1, 1.0),
        ("something", [], 0, 0.0),
        ("x y", ["y x"], 0, 1.0),
    ],
)
def test_exact_match_and_f1(said: str, golds: list[str], exact: int, overlap: float) -> None:
    assert exact_match(said, golds) == exact
    assert f1(said, golds) == pytest.approx(overlap)
    assert normalized(normalized(said)) == normalized(said)


def test_replies_of_a_chat_are_the_assistant_s(tmp_path: Path) -> None:
    result = read(formats.chat(tmp_path), keep_input=True)
    assert result.record.output.tolist()[:2] == ["assistant 02", "assistant 04"]
    assert result.record.input[1].endswith("user: user 03")
    assert list(result.record.columns["chat"]) == ["0", "0", "1", "1", "2", "2"]


def test_a_question_that_comes_twice_is_refused(tmp_path: Path) -> None:
    path = formats.alpaca_eval(tmp_path)
    rows = json.loads(path.read_text())
    formats.put(path, [*rows, rows[0]])
    assert_snapshot(refused(path))


@pytest.mark.parametrize("kind", [kind for kind in formats.ALL if kind != "lighteval"])
def test_any_value_in_any_place_gives_a_record_or_one_line(tmp_path: Path, kind: str) -> None:
    from .test_odd_logs import ODD, changed, places

    path = formats.ALL[kind](tmp_path)
    path = path / "per_instance_stats.json" if kind == "helm" else path
    lines = path.suffix == ".jsonl"
    whole = (
        [json.loads(line) for line in path.read_text().splitlines()]
        if lines
        else json.loads(path.read_text())
    )
    where, rng, said = list(places(whole)), np.random.default_rng(0), []
    for at in rng.integers(len(where), size=80):
        odd = changed(whole, where[at], ODD[int(rng.integers(len(ODD)))])
        path.write_text("\n".join(map(json.dumps, odd)) if lines else json.dumps(odd))
        try:
            read(path, keep_input=True)
        except OodometerError as error:
            said.append(str(error))
    assert not any("\n" in text for text in said)
