"""`evaluate` of scores: the mean, tasks, clusters, repeats, scales, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import evaluate
from oodometer.cli.main import main
from oodometer.errors import InputError, UsageError
from oodometer.inference.clusters import cluster_keys
from oodometer.inference.means import bounded_mean

from ..snapshots import assert_snapshot, raises_snapshot

RNG = np.random.default_rng(7)
GRADES = [1, 3, 4, 4, 5, 5, 2, 4, 5, 3, 4, 5]
IDS = [f"q{i}" for i in range(20)] * 10
RIGHT = ([1] * 9 + [0] * 11) * 10


def test_a_file_of_scores_alone_is_read_without_a_confidence() -> None:
    result = evaluate({"score": [0.2, None, 1.0, 0.5]})
    assert (result.rows, result.unlabelled, result.skipped) == (3, 1, ())
    number = result["mean_score"].to_dict()
    assert number["value"] == pytest.approx(17 / 30)
    assert (number["kind"], number["scale"], number["design_effect"], number["clusters"]) == (
        "exact",
        [0, 1],
        1.0,
        3,
    )
    assert_snapshot(result.warnings)


def test_a_scale_that_is_not_given_is_said() -> None:
    guessed, given = evaluate({"score": GRADES}), evaluate({"score": GRADES}, scale=(1, 5))
    assert (guessed["mean_score"].kind, given["mean_score"].kind) == ("empirical", "exact")
    assert guessed["mean_score"].lower == given["mean_score"].lower
    assert any("between 1 and 5" in line and "--scale" in line for line in guessed.warnings)
    assert not any("--scale" in line for line in given.warnings)
    wider = evaluate({"score": GRADES}, scale=(0, 10))["mean_score"]
    assert wider.width > given["mean_score"].width


def test_tasks_have_a_table_and_a_mean_of_their_own() -> None:
    result = evaluate({"score": GRADES, "group": ["a"] * 8 + ["b"] * 4}, scale=(1, 5))
    macro = result["macro_mean"].to_dict()
    assert macro["value"] == pytest.approx((28 / 8 + 17 / 4) / 2)
    assert [(row["task"], row["rows"]) for row in macro["by_task"]] == [("a", 8), ("b", 4)]
    mean = bounded_mean(np.array(GRADES[:8], dtype=float), low=1, high=5)
    assert macro["by_task"][0]["lower"] == pytest.approx(mean.lower)
    assert result.to_frame("tasks")["task"].tolist() == ["a", "b"]
    judged = evaluate({"correct": RIGHT[:20], "group": ["a", "b"] * 10})
    assert judged["macro_mean"].value == judged["accuracy"].value
    assert "macro_mean" not in evaluate({"score": GRADES, "group": ["a"] * 12}).metrics
    assert (
        "macro_mean"
        not in evaluate({"score": GRADES * 10, "group": [f"g{i}" for i in range(120)]}).metrics
    )


def test_slices_take_the_scale_of_all_rows() -> None:
    result = evaluate({"score": GRADES, "site": ["x", "y"] * 6}, by="site")
    assert {tuple(part.metrics["mean_score"].to_dict()["scale"]) for part in result.slices} == {
        (1.0, 5.0)
    }


def test_repeated_ids_are_clusters_and_give_pass_at_k() -> None:
    scores = RNG.random(200).round(2)
    result = evaluate({"id": IDS, "score": scores})
    by_hand = bounded_mean(scores, keys=cluster_keys(np.array(IDS)))
    assert result["mean_score"].lower == pytest.approx(by_hand.lower)
    assert "pass_at_k" not in result.metrics  # grades are neither right nor wrong
    judged = evaluate({"id": IDS, "correct": RIGHT})
    passed = judged["pass_at_k"].to_dict()
    assert (passed["value"], passed["questions"], passed["fewest_repeats"]) == (0.45, 20, 10)
    assert [row["k"] for row in passed["by_k"]] == [1, 2, 4, 8]
    assert (passed["lower"], passed["upper"]) == pytest.approx((0.2306, 0.6847), abs=1e-4)
    assert evaluate({"id": IDS, "score": RIGHT})["mean_score"].lower == pytest.approx(
        judged["accuracy"].lower
    )
    assert (
        evaluate({"id": IDS, "correct": RIGHT}, metrics=["pass_at_k:8"])["pass_at_k"].to_dict()["k"]
        == 8
    )
    assert "pass_at_k" not in evaluate({"id": IDS[:20], "correct": RIGHT[:20]}).metrics


def test_a_named_cluster_widens_the_mean_and_says_by_how_much() -> None:
    level = np.repeat(RNG.random(20), 10)
    rows = {
        "score": np.clip(level + 0.1 * RNG.standard_normal(200), 0, 1),
        "passage": np.repeat(range(20), 10),
    }
    alone, together = evaluate(rows)["mean_score"], evaluate(rows, cluster="passage")["mean_score"]
    about = together.to_dict()
    assert together.width > 2 * alone.width
    assert about["design_effect"] > 5
    assert about["clusters"] == 20
    with raises_snapshot(UsageError):
        evaluate({**rows, "passage": [1] * 200}, cluster="passage")


@pytest.mark.parametrize(
    ("rows", "how"),
    [
        ({"score": [1, 7, 2]}, {"scale": (1, 5)}),
        ({"score": [3, 3, 3]}, {}),
        ({"score": [None, None]}, {}),
        ({"score": [1, float("inf")]}, {}),
    ],
)
def test_what_is_no_mean_is_refused(rows: dict[str, Any], how: dict[str, Any]) -> None:
    with raises_snapshot(InputError):
        evaluate(rows, **how)


def test_the_terminal_shows_the_mean_the_tasks_and_the_design(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "grades.csv"
    rows = "".join(f"q{i % 6},{grade},{'ab'[i % 2]}\n" for i, grade in enumerate(GRADES))
    path.write_text("id,score,group\n" + rows)
    assert main(["evaluate", str(path), "--scale", "1,5"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for words in (
        "Mean score: 3.7500",
        "(95 % exact interval)",
        "Scores lie between 1 and 5",
        "by task",
        "Design",
    ):
        assert words in out
    path.write_text("id,grade,group\n" + rows)
    assert main(["evaluate", str(path), "--scale", "2,5", "--map", "grade=score"]) == 2
    assert_snapshot(capsys.readouterr().err)
