"""The difference in accuracy of two models: paired, in clusters, apart; McNemar's test against scipy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from oodometer import InputError, compare

from ..snapshots import assert_snapshot, raises_snapshot


def answers(right: Any, **more: Any) -> dict[str, Any]:
    """A file of one model: which rows are right, with a confidence that says nothing."""
    return {
        "correct": np.asarray(right, dtype=bool),
        "confidence": np.linspace(0.5, 0.9, len(right)),
        **more,
    }


def both(a_alone: int, b_alone: int, same: int) -> tuple[list[bool], list[bool]]:
    half = same // 2
    first = [True] * a_alone + [False] * b_alone + [True] * half + [False] * (same - half)
    second = [False] * a_alone + [True] * b_alone + [True] * half + [False] * (same - half)
    return first, second


@pytest.mark.parametrize(
    ("a", "b", "same"), [(12, 4, 24), (62, 87, 251), (0, 0, 30), (0, 8, 30), (5, 5, 10)]
)
def test_the_paired_difference_agrees_with_mcnemar(a: int, b: int, same: int) -> None:
    first, second = both(a, b, same)
    ids = [f"q{i}" for i in range(a + b + same)]
    order = np.random.default_rng(0).permutation(
        len(ids)
    )  # files in another order are joined by id
    shuffled = answers(np.array(second)[order], id=[ids[i] for i in order])
    one = compare([answers(first, id=ids), shuffled], names=["a", "b"]).difference
    assert (one["a"], one["b"], one["paired"], one["a_alone"], one["b_alone"]) == (
        "a",
        "b",
        True,
        a,
        b,
    )
    assert one["value"] == pytest.approx((b - a) / len(ids))
    p = scipy.stats.binomtest(b, a + b).pvalue if a + b else 1.0
    assert one["p_value"] == pytest.approx(p)
    if p > 0.05:  # the interval never claims what the exact test does not
        assert one["lower"] <= 0 <= one["upper"]
    assert one["lower"] < one["value"] < one["upper"]


def test_clusters_take_the_certainty_of_copies() -> None:
    rng = np.random.default_rng(1)
    easy = {name: rng.random(30) < share for name, share in (("a", 0.5), ("b", 0.6))}
    passage = np.arange(30).repeat(10)
    files = [
        answers(easy[name].repeat(10), id=np.arange(300), passage=passage) for name in ("a", "b")
    ]
    alone, found = (
        compare(files, names=["a", "b"], cluster=c).difference for c in (None, "passage")
    )
    d = easy["b"].astype(float) - easy["a"]
    t = scipy.stats.ttest_1samp(d, 0).confidence_interval(0.95)  # as if each passage were one row
    assert (found["lower"], found["upper"]) == pytest.approx((t.low, t.high), abs=0.01)
    assert found["clusters"] == 30
    assert found["value"] == alone["value"]
    assert found["p_value"] == pytest.approx(
        scipy.stats.binomtest(int((d > 0).sum()), int((d != 0).sum())).pvalue, abs=0.02
    )
    assert abs(found["p_b_better"] - 0.5) < abs(alone["p_b_better"] - 0.5)
    assert found["upper"] - found["lower"] > 2.5 * (alone["upper"] - alone["lower"])


def test_replicates_draw_clusters() -> None:
    rng = np.random.default_rng(2)
    shares = [rng.beta(1, 1, 40).repeat(10) for _ in range(2)]
    files = [
        answers(rng.random(400) < s, id=np.arange(400), passage=np.arange(400) // 10)
        for s in shares
    ]
    alone, found = (compare(files, cluster=c) for c in (None, "passage"))
    for before, after in zip(alone.pairs, found.pairs, strict=True):
        if after["metric"] in ("auc_coverage", "augrc", "e_aurc"):
            width = [
                one["difference"]["upper"] - one["difference"]["lower"] for one in (before, after)
            ]
            assert width[1] > 1.3 * width[0]
    for before, after in zip(alone.models, found.models, strict=True):
        assert after.in_domain["accuracy"].width > 1.3 * before.in_domain["accuracy"].width


def test_repeated_ids_of_several_epochs_are_clusters() -> None:
    ids = [f"q{i}_epoch_{e}" for e in range(1, 11) for i in range(20)]
    right = ([True] * 9 + [False] * 11) * 10
    found = compare([answers(right, id=ids), answers(right[::-1], id=ids)])
    assert found.difference["clusters"] == 20
    assert found.difference["upper"] - found.difference["lower"] > 0.4
    assert any("ids repeat" in warning for warning in found.warnings)


def test_rows_apart_add_as_squares() -> None:
    found = compare(
        [answers([True] * 60 + [False] * 40), answers([True] * 20 + [False] * 30)], names=["a", "b"]
    )
    a, b = (one.in_domain["accuracy"] for one in found.models)
    one = found.difference
    assert not one["paired"]
    assert one["lower"] == pytest.approx(-0.2 - np.hypot(b.value - b.lower, a.upper - a.value))
    assert one["upper"] == pytest.approx(-0.2 + np.hypot(b.upper - b.value, a.value - a.lower))


def test_it_comes_first_on_the_terminal(tmp_path: Path) -> None:
    first, second = both(3, 9, 88)
    for name, right in (("one", first), ("two", second)):
        pd.DataFrame(answers(right, id=np.arange(100))).to_parquet(tmp_path / f"{name}.parquet")
    done = subprocess.run(
        [sys.executable, "-m", "oodometer", "compare", "one.parquet", "two.parquet"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    line = done.stdout.splitlines()[0]
    assert_snapshot(line)


def test_ids_that_repeat_pair_rows_in_any_order() -> None:
    rng = np.random.default_rng(4)
    easy = rng.random(20).repeat(10)
    first, second = (
        {
            "id": np.arange(20).repeat(10),
            "confidence": rng.random(200),
            "correct": rng.random(200) < easy + more,
        }
        for more in (0.1, -0.1)
    )
    order = rng.permutation(200)
    found = compare([first, second])
    turned = compare([first, {name: column[order] for name, column in second.items()}])
    assert found.paired["in_domain"]["paired"]
    assert turned.paired["in_domain"]["paired"]
    widths = [one.difference["upper"] - one.difference["lower"] for one in (found, turned)]
    assert widths[0] == pytest.approx(widths[1], rel=0.2)
    assert [one.difference["clusters"] for one in (found, turned)] == [20, 20]


def runs(count: int = 2, rows: int = 60, **more: Any) -> list[dict[str, Any]]:
    """Generation logs as `read` writes them: who is right, without confidence."""
    rng = np.random.default_rng(6)
    return [
        {"id": [f"q{i}" for i in range(rows)], "correct": rng.random(rows) < 0.5, **more}
        for _ in range(count)
    ]


def test_rows_that_one_file_lacks_are_left_out_and_said() -> None:
    one, other = runs()
    order = np.random.default_rng(0).permutation(50)
    part = {"id": [other["id"][i] for i in order], "correct": other["correct"][order]}
    found = compare([one, part], names=["one", "part"])
    whole = compare(
        [{name: column[:50] for name, column in side.items()} for side in (one, other)],
        names=["one", "part"],
    )
    assert found.difference == whole.difference
    assert [model.in_domain.rows for model in found.models] == [50, 50]
    assert_snapshot(found.warnings)
    gaps = {**other, "correct": [None, *other["correct"][1:].tolist()]}
    assert_snapshot(compare([one, gaps]).warnings)
    repeated = {
        "id": [f"q{i}_epoch_{e}" for e in (1, 2) for i in range(60)],
        "correct": np.tile(other["correct"], 2),
    }
    twice = compare([one, repeated]).difference
    assert (twice["rows"], twice["clusters"]) == (120, 60)
    assert twice["value"] == pytest.approx(compare([one, other]).difference["value"])


TWICE = {"id": ["q1", "q1", "q2"], "label": ["a", "b", "a"], "prediction": ["a", "a", "a"]}


@pytest.mark.parametrize(
    "change",
    [
        lambda one: {**one, "id": [f"gsm8k/{name}" for name in one["id"]]},
        lambda one: {**one, "id": [f"x{name}" for name in one["id"]]},
        lambda one: {**one, "group": ["other"] * 60},
        lambda one: TWICE,
        lambda one: {"id": one["id"], "score": np.linspace(0, 1, 60)},
        lambda one: {**one, "id": ["q0", "q0", *one["id"][2:]], "epoch": [1] * 60},
    ],
)
def test_other_questions_are_refused(change: Any) -> None:
    one, other = runs(group=["gsm"] * 60)
    with raises_snapshot(InputError):
        compare([one, change(other)])


def test_other_labels_under_one_id_are_refused() -> None:
    one = {"id": [1, 2, 3], "label": ["a", "b", "c"], "prediction": ["a", "b", "b"]}
    with raises_snapshot(InputError):
        compare([one, {**one, "label": ["a", "b", "a"]}])


def test_files_of_one_name_have_titles_apart(tmp_path: Path) -> None:
    paths = [tmp_path / folder / "samples.parquet" for folder in ("small", "large")]
    for path, run in zip(paths, runs(), strict=True):
        path.parent.mkdir()
        pd.DataFrame(run).to_parquet(path)
    assert [model.name for model in compare(paths).models] == ["small/samples", "large/samples"]


def test_tasks_have_a_table_and_a_mean_of_their_own() -> None:
    group = ["sums"] * 40 + ["names"] * 20
    found = compare(runs(group=group), names=["a", "b"])
    rows = {row["task"]: row for row in found.tasks}
    assert {task: row["rows"] for task, row in rows.items()} == {"names": 20, "sums": 40}
    assert all(row["p_value"] <= row["p_holm"] <= 1 for row in rows.values())
    mean = np.mean([row["difference"]["value"] for row in rows.values()])
    assert found.difference["macro"]["value"] == pytest.approx(mean)
    assert_snapshot(str(found))
    assert not compare(runs(group=group), cluster="group").tasks


def test_several_models_against_the_best() -> None:
    rng = np.random.default_rng(7)
    right = rng.random((4, 300)) < np.array([[0.8], [0.78], [0.5], [0.2]])
    found = compare([{"id": np.arange(300), "correct": row} for row in right], names=list("abcd"))
    best, *others = [row["model"] for row in found.rankings["in_domain"]["accuracy"]]
    assert {row["best"] for row in found.to_best} == {best}
    assert [row["model"] for row in found.to_best] == others
    assert found.groups == (["a", "b"], ["c"], ["d"]) if best == "a" else (["b", "a"], ["c"], ["d"])
    assert found.to_best[-1]["behind"] == [best, *others[:-1]]
    pair = next(pair for pair in found.pairs if {pair["a"], pair["b"]} == {"a", "d"})
    far = next(row for row in found.to_best if row["model"] == "d")["difference"]
    assert far["upper"] - far["lower"] > pair["difference"]["upper"] - pair["difference"]["lower"]
    assert_snapshot(str(found))
    assert len(found.every_pair) == 6
    for row in found.every_pair:
        ends = row["difference"]
        assert ends["value"] >= 0
        assert (ends["lower"] > 0) == (row["p_adjusted"] < 0.05)
        apart = not any({row["a"], row["b"]} <= {*group} for group in found.groups)
        assert apart == (ends["lower"] > 0)
    assert "every two models" in str(found.view())


def test_no_two_of_like_models_are_told_apart() -> None:
    rng = np.random.default_rng(3)
    right = rng.random((5, 80)) < 0.5
    rows = [{"id": np.arange(80), "correct": row, "group": ["sums", "names"] * 40} for row in right]
    found = compare(rows, names=list("abcde"))
    assert len(found.groups) == 1
    text = str(found)
    assert_snapshot(text)
    (by_task,) = (grid for grid in found.view().grids if grid.title == "by task")
    assert_snapshot(by_task.notes[1])


def test_scores_are_compared_by_their_means() -> None:
    rng = np.random.default_rng(8)
    hard = rng.beta(0.7, 0.7, 80)
    one, other = (
        {"id": np.arange(80), "score": np.clip(hard + rng.normal(more, 0.1, 80), 0, 1)}
        for more in (0, 0.1)
    )
    found = compare([one, other], names=["one", "other"])
    gap = found.difference
    d = other["score"] - one["score"]
    t = scipy.stats.ttest_1samp(d, 0).confidence_interval(0.95)
    assert (gap["metric"], gap["value"]) == ("mean_score", pytest.approx(d.mean()))
    assert gap["lower"] < t.low < t.high < gap["upper"] + 0.02
    assert_snapshot(str(found))
    graded = compare(
        [{**file, "score": 1 + 4 * file["score"]} for file in (one, other)], scale=(1, 5)
    ).difference
    assert (graded["value"], graded["lower"]) == pytest.approx((4 * gap["value"], 4 * gap["lower"]))
    with raises_snapshot(InputError):
        compare([{**one, "score": 2 * one["score"]}, other], scale=(0, 1))
    both = compare([{**file, "correct": file["score"] > 0.5} for file in (one, other)])
    assert both.difference["metric"] == "accuracy"
    assert_snapshot(both.warnings)


def test_an_id_that_repeats_with_another_input_names_no_question() -> None:
    rng = np.random.default_rng(7)
    one = {"id": [f"q{i % 30}" for i in range(60)], "input": [f"question {i}" for i in range(60)]}
    files = [{**one, "correct": rng.random(60) < share} for share in (0.5, 0.6)]
    with raises_snapshot(InputError):
        compare(files)
    numbered = [
        {**file, "epoch": [1] * 30 + [2] * 30} for file in files
    ]  # the same question in other words
    assert compare(numbered).difference["clusters"] == 30


def test_answers_are_averaged_by_question_where_one_model_was_asked_more_often() -> None:
    """Student's interval of the differences of the questions' means, by scipy."""
    rng = np.random.default_rng(0)
    easy = rng.beta(2, 2, 60)
    often = rng.random((60, 5)) < easy[:, None] + 0.1
    once = rng.random(60) < easy
    ids = [f"q{i}" for i in range(60)]
    a = {"id": np.repeat(ids, 5), "epoch": np.tile(np.arange(5), 60), "correct": often.ravel()}
    b = {"id": np.array(ids), "epoch": np.zeros(60, dtype=int), "correct": once}
    order = rng.permutation(60)
    found = compare([a, {name: cells[order] for name, cells in b.items()}])
    gaps = once - often.mean(axis=1)
    interval = scipy.stats.t.interval(0.95, 59, gaps.mean(), scipy.stats.sem(gaps))
    difference = found.difference or {}
    assert difference["value"] == pytest.approx(gaps.mean())
    assert (difference["lower"], difference["upper"]) == pytest.approx(interval, abs=0.006)
    assert_snapshot(found.warnings)
    assert not any("left out" in line for line in found.warnings)


IMAGES = [f"image {k * 7919 % 10007}.png" for k in range(40)]


def of_images(right: Any, order: Any, **more: Any) -> dict[str, Any]:
    names = [IMAGES[i] for i in order]
    return answers(np.array(right)[order], file=names, **{k: v[order] for k, v in more.items()})


@pytest.mark.parametrize("label", [False, True])
def test_a_column_of_the_same_cells_tells_rows_apart(label: bool) -> None:
    first, second = both(12, 4, 24)
    more = {"label": np.zeros(40, dtype=int)} if label else {}  # the same whatever the order
    order = np.random.default_rng(0).permutation(40)
    files = [of_images(first, np.arange(40), **more), of_images(second, order, **more)]
    result = compare(files, names=["a", "b"])
    assert result.difference["paired"]
    assert (result.difference["a_alone"], result.difference["b_alone"]) == (12, 4)
    assert_snapshot(result.warnings)


@pytest.mark.parametrize("cells", ["counts", "repeated", "two orders", "other cells"])
def test_columns_that_prove_no_order_match_nothing(cells: str) -> None:
    first, second = both(12, 4, 24)
    order = np.random.default_rng(0).permutation(40)
    files = [of_images(first, np.arange(40)), of_images(second, order)]
    if cells == "two orders":
        for file in files:
            file["url"] = [f"page {k * 31 % 101}" for k in range(40)]
    else:
        column = {"counts": range(40), "repeated": ["x"] * 40, "other cells": IMAGES}[cells]
        files[0]["file"], files[1]["file"] = [*column], [*column][::-1]
        files[1]["file"][0] = "another" if cells == "other cells" else files[1]["file"][0]
    result = compare(files, names=["a", "b"])
    assert not result.difference["paired"]
