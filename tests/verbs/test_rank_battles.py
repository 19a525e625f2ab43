"""`rank` of battles: files as arenas and judges write them, places, lengths, judges, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import rank, read
from oodometer.cli.main import main
from oodometer.errors import InputError, UsageError
from oodometer.results.preferences import Preferences

from ..snapshots import assert_snapshot, raises_snapshot
from ..store.harness.shapes_of_tools import arena_hard

MODELS = {"large": 0.9, "medium": 0.2, "small": -1.1}


def rows(prompts: int = 60, seed: int = 1) -> list[dict[str, Any]]:
    """Battles of three models, four to a prompt; the first place and the longer answer help."""
    rng, out = np.random.default_rng(seed), []
    for prompt in range(prompts):
        for _ in range(4):
            a, b = rng.permutation(list(MODELS))[:2]
            long_a, long_b = map(int, rng.integers(20, 400, 2))
            odds = MODELS[a] - MODELS[b] + 0.4 + (long_a - long_b) / (long_a + long_b)
            tie, won = rng.random() < 0.1, rng.random() < 1 / (1 + math.exp(-odds))
            winner = "tie" if tie else "model_a" if won else "model_b"
            about = {"question_id": prompt, "model_a": str(a), "model_b": str(b), "winner": winner}
            out.append(
                {**about, "judge": f"j{rng.integers(0, 15)}", "len_a": long_a, "len_b": long_b}
            )
    return out


def written(path: Path, battles: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, battles)))
    return path


def ranked(model: Any, **options: Any) -> Preferences:
    found = rank(model, **options)
    assert isinstance(found, Preferences)
    return found


def test_an_arena_is_ranked_at_equal_place_and_length(tmp_path: Path, capsys: Any) -> None:
    path = written(tmp_path / "arena.jsonl", rows())
    found = ranked(path)
    assert found.models == ("large", "medium", "small")
    assert found.clusters == {"question_id": 60, "judge": 15}
    place, length = found.covariates
    assert (place.name, length.name) == ("place", "length")
    assert place.share.lower > 0.5
    assert length.effect.value > 0
    assert sum(item.p_best for item in found.ranking) == pytest.approx(1)
    assert sum(item.strength.value for item in found.ranking) == pytest.approx(0, abs=1e-9)
    assert found.ranking[-1].behind == ("large", "medium")
    gap = found.pairs[0].difference
    assert gap.value == pytest.approx(
        found.ranking[0].strength.value - found.ranking[1].strength.value
    )
    assert found.pairs[0].p_holm >= found.pairs[0].p_value
    assert main(["rank", str(path), "--json", str(tmp_path / "found.json")]) == 0
    assert_snapshot(capsys.readouterr().out)
    assert json.loads((tmp_path / "found.json").read_text())["likeliest"] == "large"
    assert main(["rank", str(path), "--report", str(tmp_path / "found.html")]) == 0
    assert "strongest" in (tmp_path / "found.html").read_text()


def test_win_rates_are_those_of_the_rows() -> None:
    battles = rows()
    found = ranked([{name: [row[name] for row in battles] for name in battles[0]}])
    for item in found.ranking:
        scores = [
            0.5 if row["winner"] == "tie" else float(row[row["winner"]] == item.model)
            for row in battles
            if item.model in (row["model_a"], row["model_b"])
        ]
        assert item.battles == len(scores)
        assert item.win_rate.value == pytest.approx(np.mean(scores))
    assert found.ties == pytest.approx(np.mean([row["winner"] == "tie" for row in battles]))


def test_a_judge_who_saw_both_orders_tells_the_place(tmp_path: Path) -> None:
    names = {"model_1": "x", "model_2": "y", "judge": "gpt"}
    battles = [
        {"question_id": i, **names, "g1_winner": "model_1", "g2_winner": other}
        for i, other in enumerate(["model_2", "model_1", "tie", "model_2"] * 10)
    ]
    found = ranked(written(tmp_path / "pair.jsonl", battles))
    assert (found.battles, found.clusters) == (80, {"question_id": 40})
    assert found.ranking[0].win_rate.value == pytest.approx((40 + 10 + 5) / 80)
    (place,) = found.covariates
    assert place.share.value > 0.7  # the first verdict is always for the first place
    assert_snapshot(found.notes[0])


def test_a_strong_verdict_of_arena_hard_counts_for_three_battles(tmp_path: Path) -> None:
    """By hand: of 15 games 4 are strong, 2 won and 2 lost; 6 + 6 + 11 battles, of which 6 + 0 + 7 are won."""
    path = arena_hard(tmp_path)
    found = ranked(path)
    assert (found.battles, found.clusters) == (23, {"id": 8})
    assert [item.model for item in found.ranking] == ["my-model", "baseline"]
    assert found.ranking[0].win_rate.value == pytest.approx(13 / 23)
    assert found.ranking[0].win_rate.value == pytest.approx(read(path).score.value)  # type: ignore[union-attr]
    assert_snapshot(found.notes)
    rows_of = [json.loads(line) for line in path.read_text().splitlines()]
    named = [{**row, "baseline": "o3"} for row in rows_of]
    assert ranked(written(tmp_path / "v2.jsonl", named)).models == ("my-model", "o3")
    flat = [  # the same games as a table of battles
        {"id": row["question_id"], "model_a": a, "model_b": b, "winner": f"[[{game['score']}]]"}
        for row in rows_of
        for game, (a, b) in zip(row["games"], (("o3", "my"), ("my", "o3")), strict=True)
    ]
    table = written(tmp_path / "flat.jsonl", flat)
    assert ranked(table).ranking[0].win_rate.value == pytest.approx(13 / 23)
    tasks = {task.name: task.number for task in read(table).tasks}
    assert tasks["my"].value == pytest.approx(13 / 23)  # type: ignore[union-attr]


def test_numbers_between_1_and_2_are_preferences_for_the_second(tmp_path: Path) -> None:
    battles = [
        {
            "instruction": f"do {i}",
            "generator_1": "base",
            "generator_2": "new",
            "output_1": "short",
            "output_2": "rather long" * (1 + i % 3),
            "preference": [2, 1.8, 1, 1.5, 0][i % 5],
        }
        for i in range(50)
    ]
    path = tmp_path / "battles.json"
    path.write_text(json.dumps(battles))
    found = ranked(path)
    shares = [1, 0.8, 0, 0.5, 0.5]
    assert found.ranking[0].model == "new"
    assert found.ranking[0].win_rate.value == pytest.approx(np.mean(shares))
    assert [item.name for item in found.covariates] == ["length"]  # the places never changed


def test_no_two_of_like_models_are_told_apart(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(4)
    battles = [
        {"model_a": f"m{i}", "model_b": f"m{j}", "winner": str(rng.choice(["model_a", "model_b"]))}
        for _ in range(6)
        for i in range(5)
        for j in range(5)
        if i != j
    ]
    path = written(tmp_path / "like.jsonl", battles)
    assert main(["rank", str(path)]) == 0
    out = capsys.readouterr().out
    assert_snapshot(out)


def test_what_cannot_be_ranked_is_refused(tmp_path: Path) -> None:
    apart = [
        {"model_a": a, "model_b": b, "winner": winner}
        for a, b in (("a", "b"), ("c", "d"))
        for winner in ("model_a", "model_b")
    ]
    path = written(tmp_path / "apart.jsonl", apart)
    with raises_snapshot(InputError):
        rank(path)
    path = written(tmp_path / "arena.jsonl", rows(10))
    with raises_snapshot(UsageError):
        rank(path, examples=path)
    with raises_snapshot(UsageError):
        rank(path, cluster="nope")
    with raises_snapshot(UsageError):
        rank(written(tmp_path / "one.jsonl", [{"id": 1, "correct": 1}]))
    sure = [{**row, "winner": "model_a", "model_a": "x", "model_b": "y"} for row in rows(10)]
    found = ranked(written(tmp_path / "sure.jsonl", sure))
    assert_snapshot(found.warnings[0])


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (("left", "right"), ("left", "right", "tie")),
        (("left_model", "right_model"), ("left", "right", "tie")),
        (("model_1", "model_2"), ("gpt-4", "Y", "tie")),
    ],
)
def test_winners_by_side_or_by_name(
    tmp_path: Path, places: tuple[str, str], words: tuple[str, str, str]
) -> None:
    path, (first, second) = tmp_path / "battles.jsonl", places
    winners = [words[0]] * 20 + [words[1]] * 8 + [words[2]] * 4
    battles = [
        {"prompt": k, first: "gpt-4", second: "Y", "winner": w} for k, w in enumerate(winners)
    ]
    path.write_text("\n".join(map(json.dumps, battles)))
    rates = {row.model: row.win_rate.value for row in rank(path).ranking}
    assert rates == pytest.approx({"gpt-4": 22 / 32, "Y": 10 / 32})
    assert {task.name: task.number.value for task in read(path).tasks} == pytest.approx(rates)
