"""`plan`: from numbers and from pilots of every kind, what it says, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.cli.main import main
from oodometer.errors import UsageError
from oodometer.inference.power import components

from ..snapshots import assert_snapshot, raises_snapshot


def pilots(questions: int = 200, epochs: int = 1) -> list[dict[str, Any]]:
    """Two systems on the same questions, which share three of four chances; the same in every test."""
    rng = np.random.default_rng(0)
    first = rng.beta(2, 1, questions)
    second = np.where(rng.random(questions) < 0.75, first, rng.beta(2, 1, questions))
    ids = [f"q{i}" for i in range(questions) for _ in range(epochs)]
    out = []
    for chance in (first, second):
        right = rng.random(questions * epochs) < np.repeat(chance, epochs)
        out.append({"id": ids, "correct": right.tolist()})
        if epochs > 1:
            out[-1]["epoch"] = [e for _ in range(questions) for e in range(epochs)]
    return out


def test_two_pilots_tell_the_correlation_and_what_pairing_saves() -> None:
    one, other = pilots()
    result = oodometer.plan([one, other], difference=0.03, cost_question=0.5)
    scores = np.array([one["correct"], other["correct"]], dtype=float)
    assert result.assumed["correlation"] == pytest.approx(np.corrcoef(scores)[0, 1], abs=0.01)
    assert result.assumed["mean"] == pytest.approx(scores[0].mean())
    needed = result.needed
    assert needed["lower"] < needed["paired"] < needed["upper"]
    assert needed["paired"] < needed["unpaired"]
    run = next(run for run in result.runs if run.questions == needed["paired"])
    assert run.power == pytest.approx(0.8, abs=0.01)
    assert run.smallest == pytest.approx(0.03, abs=0.001)
    assert run.cost == pytest.approx(0.5 * needed["paired"])
    assert result.runs[0].questions == 200
    assert_snapshot(str(result))


def test_the_gate_decides_with_the_power_after_the_questions_that_are_said() -> None:
    about = {"accuracy": 0.8, "correlation": 0.6, "fail_drop": 0.02}
    for difference, verdict in ((None, "not_worse"), (-0.06, "worse")):
        result = oodometer.plan(**about, difference=difference)
        run = next(run for run in result.runs if run.questions == result.needed["gate"])
        assert getattr(run, verdict) == pytest.approx(0.8, abs=0.01)
        assert run.worse + run.not_worse + run.undecided == pytest.approx(1)
    result = oodometer.plan(**about, difference=-0.02, questions=[500, 5_000])
    assert result.needed["gate"] is None  # at the drop itself either verdict is wrong
    assert all(max(run.worse, run.not_worse) < 0.03 for run in result.runs)
    assert_snapshot(str(result))


def test_repeated_ids_tell_what_is_within_questions() -> None:
    one, other = pilots(epochs=4)
    result = oodometer.plan([one, other], difference=0.05)
    scores = np.array([one["correct"], other["correct"]], dtype=float)
    found = components(scores, np.repeat(np.arange(200), 4))
    assert result.assumed["within"] == pytest.approx(np.mean(found.within))
    assert result.pilot["questions"] == 200
    assert result.pilot["epochs"] == 4
    assert {run.epochs for run in result.runs} == {1, 2, 4}
    powers = [run.power for run in result.runs[:3]]
    assert powers == sorted(powers)


def test_one_pilot_and_numbers_without_a_correlation_are_unpaired() -> None:
    one, _ = pilots()
    for result in (
        oodometer.plan(one, difference=0.05),
        oodometer.plan(accuracy=float(np.mean(one["correct"])), difference=0.05),
    ):
        assert result.needed["paired"] is None
        assert all(run.power is None for run in result.runs)
        assert "--correlation 0.5" in str(result)
    same = oodometer.plan(one, difference=0.05, correlation=0.4)
    assert same.needed["paired"] < same.needed["unpaired"]


def test_without_a_difference_the_smallest_one_is_said() -> None:
    result = oodometer.plan(accuracy=0.7, correlation=0.5, questions=[500])
    shown = result.runs[0].smallest
    assert_snapshot(str(result))
    back = oodometer.plan(accuracy=0.7, correlation=0.5, difference=shown)
    assert back.needed["paired"] == pytest.approx(500, abs=8)


def test_questions_of_one_passage_are_worth_fewer() -> None:
    """Each question stands five times, under ids of its own: five times as many are needed, as `compare` finds."""
    files = pilots()
    repeated = [
        {name: np.repeat(cells, 5).tolist() for name, cells in file.items()}
        | {"id": list(range(5 * len(file["id"]))), "passage": np.repeat(file["id"], 5).tolist()}
        for file in files
    ]
    alone = oodometer.plan(files, difference=0.05).needed
    several = oodometer.plan(repeated, difference=0.05, cluster="passage")
    effect = several.assumed["design_effect"]
    assert effect == pytest.approx(5, rel=0.02)
    assert several.needed["paired"] == pytest.approx(effect * alone["paired"], rel=0.02)
    assert several.needed["unpaired"] == pytest.approx(5 * alone["unpaired"], rel=0.02)
    assert_snapshot(str(several))


def test_scores_keep_their_scale() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(3, 0.8, 100)
    files = [
        {"id": list(range(100)), "score": np.clip(np.round(base + rng.normal(0, 0.4, 100)), 1, 5)}
        for _ in range(2)
    ]
    result = oodometer.plan(files, difference=0.1, scale=(1, 5))
    assert result.assumed["span"] == 4
    assert result.assumed["variance"] == pytest.approx(
        np.mean([file["score"].var(ddof=1) for file in files])
    )
    assert_snapshot(str(result))


def test_a_judge_of_two_pilots_leaves_fewer_labels() -> None:
    rng = np.random.default_rng(3)
    files = []
    for accuracy in (0.5, 0.6):
        good = rng.random(300) < accuracy
        said = np.where(rng.random(300) < 0.1, ~good, good)
        human = [bool(g) if i < 120 else None for i, g in enumerate(good)]
        files.append({"id": list(range(300)), "judge": said.tolist(), "human": human})
    result = oodometer.plan(
        files,
        judge="judge",
        labels="human",
        difference=0.12,
        questions=[1000],
        human_labels=[100, 300],
        cost_label=2,
    )
    assert 0.6 < result.assumed["judge"] < 0.95
    assert result.needed_labels["with_judge"] < result.needed_labels["alone"]
    assert [run.labels for run in result.runs] == [100, 300]
    assert [run.cost for run in result.runs] == [200, 600]
    assert result.runs[0].power < result.runs[1].power
    assert_snapshot(str(result))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"accuracy": 0.95, "difference": 0.1},
        {"accuracy": 0.7, "correlation": 0.99, "difference": 0.1},
        {"accuracy": 0.7, "correlation": 0.8, "within": 0.3},
        {"accuracy": 70},
        {"accuracy": 0.7, "difference": 0},
        {"accuracy": 0.7, "questions": [0]},
        {"accuracy": 0.7, "human_labels": [50]},
        {"accuracy": 0.7, "human_labels": [50], "judge_correlation": 0.5, "epochs": [2]},
        {"pilots": pilots(), "accuracy": 0.7},
        {"pilots": pilots(), "correlation": 0.7},
        {"pilots": [*pilots(), pilots()[0]]},
        {"pilots": pilots()[:1], "judge": "j", "labels": "h"},
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with raises_snapshot(UsageError):
        oodometer.plan(**options)


def test_the_command_writes_what_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, pilot in zip("ab", pilots(), strict=True):
        files.append(str(tmp_path / f"{name}.jsonl"))
        rows = [dict(zip(pilot, row, strict=True)) for row in zip(*pilot.values(), strict=True)]
        Path(files[-1]).write_text("\n".join(map(json.dumps, rows)) + "\n")
    out, table = tmp_path / "plan.json", tmp_path / "plan.csv"
    words = ["plan", *files, "--difference", "0.03", "--cost-question", "0.02"]
    assert main([*words, "--json", str(out), "--out", str(table)]) == 0
    printed = capsys.readouterr().out
    result = json.loads(out.read_text())
    assert printed.startswith(
        f"Questions that show 3.0 points (power 80 %): {result['needed']['paired']:,}"
    )
    assert result["assumed"]["correlation_interval"]["kind"] == "asymptotic"
    assert table.read_text().startswith('"name","questions"')
    assert str(oodometer.load_result(out)) in printed.replace("\n\n", "\n\n")
    assert main(["plan", files[0], str(tmp_path / "none.jsonl")]) == 2
    assert "no such file" in capsys.readouterr().err
