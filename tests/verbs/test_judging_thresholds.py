"""Judging with thresholds: from labelled outputs, from a folder or a number, again without judges; every bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.cli import main
from oodometer.errors import InputError, UsageError
from oodometer_lab.discriminators import Panel, RuleDiscriminator
from oodometer_lab.verbs.discriminate import judge_outputs, judging, train_judges

from ..snapshots import assert_snapshot, raises_snapshot


class Graded(RuleDiscriminator):
    """A judge whose P(Correct) stands in the output, raised to a power: kind judges that accept nearly everything."""

    def __init__(self, power: float) -> None:
        super().__init__(lambda given, output: True)
        self.power = power

    def probabilities(self, inputs: Any, outputs: Any, *, progress: Any = None) -> Any:
        return np.array([float(one) ** self.power for one in outputs], dtype=np.float32)


KIND = Panel([Graded(0.3), Graded(0.2)])


def made(rows: int, seed: int, right: float) -> dict[str, Any]:
    """Outputs with a number in them, which is larger where the output is right."""
    rng = np.random.default_rng(seed)
    correct = rng.random(rows) < right
    grade = np.clip(
        rng.normal(0.6, 0.15, rows) * correct + rng.normal(0.35, 0.15, rows) * ~correct,
        0.001,
        0.999,
    )
    return {
        "input": [f"question {i}" for i in range(rows)],
        "output": [f"{one:.6f}" for one in grade],
        "correct": correct.astype(int).tolist(),
    }


def without(data: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in data.items() if k != "correct"}


def test_thresholds_mend_the_operating_point(tmp_path: Path) -> None:
    dev, new = made(300, 0, 0.5), made(1_000, 1, 0.4)
    usual = judge_outputs(KIND, without(new))
    found = judge_outputs(KIND, without(new), calibrate=dev)
    truth = float(np.mean(new["correct"]))
    assert usual.lower.value > 0.8  # far on the accepting side
    assert abs(found.mean.value - truth) < 0.12
    assert found.estimate.lower <= truth <= found.estimate.upper
    assert found.at_half["lower"].value == usual.lower.value
    assert found.thresholds["right"] == sum(dev["correct"])
    assert_snapshot(found.assumes)
    assert found.estimate.width > usual.estimate.width


def test_on_the_labelled_outputs_themselves_the_bounds_hold() -> None:
    dev = made(145, 2, 0.6)
    found = judge_outputs(KIND, dev, calibrate=dev)
    truth = float(np.mean(dev["correct"]))
    assert found.lower.value <= truth <= found.upper.value
    assert [one.value for one in found.by_judge] == pytest.approx([truth, truth])


def test_other_thresholds_need_no_judge(tmp_path: Path) -> None:
    dev, new = made(200, 3, 0.5), made(400, 4, 0.4)
    first = judge_outputs(KIND, new, calibrate=dev, out=tmp_path / "new.jsonl")
    judge_outputs(KIND, dev, out=tmp_path / "dev.csv")
    again = judge_outputs(None, tmp_path / "new.jsonl", calibrate=tmp_path / "dev.csv")
    assert again.thresholds == {**first.thresholds, "from": "dev.csv"}  # type: ignore[dict-item]
    assert (again.lower, again.upper, again.estimate) == (first.lower, first.upper, first.estimate)
    assert not any("voted again" in one for one in again.warnings)
    half = judge_outputs(None, tmp_path / "new.jsonl", threshold=0.5)
    assert (half.thresholds, half.at_half) == (None, None)
    assert half.lower == judge_outputs(KIND, new).lower
    high = judge_outputs(None, tmp_path / "new.jsonl", threshold=0.8)
    assert high.thresholds == {
        "from": None,
        "by_judge": [{"judge": f"rule_{i}", "value": 0.8} for i in (0, 1)],
    }


def test_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dev, new = made(200, 3, 0.5), made(400, 4, 0.4)
    for name, data in (("dev", dev), ("new", new)):
        judge_outputs(KIND, data, out=tmp_path / f"{name}.jsonl")
    ask = [
        "discriminate",
        "predict",
        str(tmp_path / "new.jsonl"),
        "--calibrate",
        str(tmp_path / "dev.jsonl"),
    ]
    assert main([*ask, "--json", str(tmp_path / "found.json")]) == 0
    said = capsys.readouterr().out
    assert "lower at P >= 0.5" in said
    assert_snapshot(said)
    told = json.loads((tmp_path / "found.json").read_text())
    assert told["at_half"]["lower"]["value"] > told["lower"]["value"]
    assert [row["judge"] for row in told["thresholds"]["by_judge"]] == ["rule_0", "rule_1"]


def test_what_cannot_be_calibrated(tmp_path: Path) -> None:
    dev, new = made(30, 5, 0.5), without(made(20, 6, 0.5))
    with raises_snapshot(InputError):
        judge_outputs(KIND, new, calibrate=without(dev))
    with raises_snapshot(InputError):
        judge_outputs(KIND, new, calibrate={**dev, "correct": [1] * 30})
    with raises_snapshot(UsageError):
        judge_outputs(KIND, new, calibrate=dev, threshold=0.5)
    kept = judge_outputs(KIND, dev, out=tmp_path / "kept.jsonl").out
    with pytest.raises(UsageError, match=r"kept\.jsonl"):
        judge_outputs(KIND, new, calibrate=kept, out=kept)
    with raises_snapshot(UsageError):
        judge_outputs(KIND, new, threshold=60)
    with raises_snapshot(UsageError):
        judge_outputs(None, new)
    other = judge_outputs(Panel([Graded(1)]), dev, out=tmp_path / "other.jsonl")
    both = judge_outputs(KIND, new, out=tmp_path / "new.jsonl")
    assert (other.out, both.out) != (None, None)
    with raises_snapshot(InputError):
        judge_outputs(None, tmp_path / "new.jsonl", calibrate=tmp_path / "other.jsonl")
    bad = {**new, "p_correct_a": [0.5] * 19 + [1.5]}
    with raises_snapshot(InputError):
        judge_outputs(None, bad)


def test_ten_rows_leave_wide_slack() -> None:
    dev, new = made(10, 7, 0.5), without(made(200, 8, 0.5))
    found = judge_outputs(KIND, new, calibrate=dev)
    assert found.estimate.lower < found.lower.value - 0.1
    assert found.estimate.upper > found.upper.value + 0.1


def test_confidence_votes_as_well(tmp_path: Path) -> None:
    """From the threshold on that labelled outputs give it; a third voter, of which one may disagree."""
    dev, new = made(300, 0, 0.5), made(500, 1, 0.4)
    rng = np.random.default_rng(5)
    for data in (dev, new):
        right = np.array(data["correct"])
        data["confidence"] = (
            np.clip(rng.normal(0.75, 0.1, len(right)) + 0.15 * right, 0, 1).round(4).tolist()
        )
    found = judge_outputs(
        KIND, new, calibrate=dev, with_confidence=True, agree=2, out=tmp_path / "new.jsonl"
    )
    assert found.judges == ("rule_0", "rule_1", "confidence")
    own = np.array(dev["confidence"])
    cut = np.sort(own)[::-1][sum(dev["correct"]) - 1]
    accepted = np.array(new["confidence"]) >= cut
    assert found.by_judge[2].value == pytest.approx(accepted.mean(), abs=0.01)
    kept = [
        json.loads(line)["p_correct_confidence"]
        for line in (tmp_path / "new.jsonl").read_text().splitlines()
    ]
    assert kept == new["confidence"]
    judge_outputs(KIND, dev, calibrate=dev, with_confidence=True, out=tmp_path / "dev.jsonl")
    again = judge_outputs(
        None,
        tmp_path / "new.jsonl",
        calibrate=tmp_path / "dev.jsonl",
        agree=2,
        with_confidence=True,
    )
    assert (again.judges, again.lower, again.upper) == (found.judges, found.lower, found.upper)
    anew = judge_outputs(KIND, tmp_path / "new.jsonl", calibrate=dev, with_confidence=True, agree=2)
    assert (anew.judges, anew.lower, anew.upper) == (
        found.judges,
        found.lower,
        found.upper,
    )  # no voter counts twice
    with raises_snapshot(UsageError):
        judge_outputs(KIND, new, with_confidence=True)
    bare = {name: column for name, column in new.items() if name != "confidence"}
    with raises_snapshot(InputError):
        judge_outputs(KIND, bare, calibrate=dev, with_confidence=True)


def house(rows: int, seed: int, wrong: float, flipped: float) -> dict[str, Any]:
    """Commands whose parser loses a slot or, what its judges never learnt, turns the state around."""
    rng, data = np.random.default_rng(seed), dict[str, Any](input=[], output=[], correct=[])
    for _ in range(rows):
        device, room, state = (
            str(rng.choice(words)) for words in (("lamp", "fan"), ("hall", "attic"), ("on", "off"))
        )
        lost, turned = rng.random() < wrong, rng.random() < flipped
        slots = [
            f"device={device}",
            f"room={room}",
            f"state={'on' if (state == 'on') != turned else 'off'}",
        ]
        data["input"].append(f"turn {state} the {device} in the {room}")
        data["output"].append(", ".join(slots[1:] if lost else slots))
        data["correct"].append(int(not (lost or turned)))
    return data


RULES = Panel(
    [
        RuleDiscriminator(lambda given, output: 0.9 if len(output.split(", ")) == 3 else 0.2),
        RuleDiscriminator(lambda given, output: 0.8 if "device=" in output else 0.1),
    ]
)


def test_outputs_unlike_the_labelled_ones_are_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both rules accept a state that was turned around: bounds far above the truth, and a word about it. The remedy is
    carried out: ten rows are drawn, and their labels refute the bounds.
    """
    dev, new = house(200, 0, 0.25, 0.0), house(400, 1, 0.2, 0.35)
    judge_outputs(RULES, dev, out=tmp_path / "dev.jsonl")
    found = judge_outputs(RULES, without(new), calibrate=dev, out=tmp_path / "new.jsonl")
    truth = float(np.mean(new["correct"]))
    assert truth < found.lower.value - 0.2
    (text,) = [one for one in found.warnings if "unlike the 200 labelled ones" in one]
    assert_snapshot(text)
    assert "p < 0.001" in text
    command = text[text.index("oodometer audit") : text.index(" (REFERENCE")].split()[1:]
    rows = tmp_path / "rows.csv"
    named = {"REFERENCE": str(tmp_path / "dev.jsonl"), "rows.csv": str(rows)}
    assert main([named.get(word, word) for word in command]) == 0
    assert len(rows.read_text().splitlines()) == 11
    capsys.readouterr()
    same = judge_outputs(RULES, without(house(400, 2, 0.25, 0.0)), calibrate=dev)
    assert not [one for one in same.warnings if "unlike" in one]
    harder = judge_outputs(RULES, without(house(400, 2, 0.6, 0.0)), calibrate=dev)
    assert "have " in "".join(one for one in harder.warnings if "unlike" in one)  # they are shorter


def test_a_folder_of_judges_knows_the_outputs_that_set_its_thresholds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same word of warning without --calibrate, as the folder keeps the rows of --dev."""
    pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
    files = {}
    for name, data in {"learn": house(200, 5, 0.3, 0.0), "dev": house(200, 0, 0.25, 0.0)}.items():
        files[name] = tmp_path / f"{name}.jsonl"
        rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
        files[name].write_text("".join(json.dumps(row) + "\n" for row in rows))
    judges = tmp_path / "judges"
    trained = train_judges(files["learn"], judges, dev=files["dev"], judges=2, epochs=1)
    kept = [json.loads(line) for line in (judges / "set_on.jsonl").read_text().splitlines()]
    assert trained.thresholds is not None
    assert len(kept) == trained.thresholds["rows"] == 200
    assert [row["output"] for row in kept] == house(200, 0, 0.25, 0.0)["output"]
    found = judge_outputs(judges, without(house(400, 1, 0.2, 0.35)))
    assert (
        len(
            [
                one
                for one in found.warnings
                if "unlike the 200 labelled ones that set the thresholds" in one
            ]
        )
        == 1
    )
    again = judge_outputs(judges, without(house(400, 2, 0.25, 0.0)))
    assert not [one for one in again.warnings if "unlike" in one]
    # Answers are matched by the name of the judge, not by the place of its column
    turned = [dict(reversed(row.items())) for row in kept]
    (judges / "set_on.jsonl").write_text("".join(json.dumps(row) + "\n" for row in turned))
    seen: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(
            judging,
            "_unlike",
            lambda rows, labels, p, known_p, *rest: (seen.append(known_p), (None, []))[1],
        )
        judge_outputs(judges, without(house(20, 1, 0.2, 0.35)))
    expected = [[row[f"p_correct_classifier_{i}"] for row in kept] for i in range(2)]
    np.testing.assert_allclose(seen[0], expected)
    half = judge_outputs(judges, without(house(400, 1, 0.2, 0.35)), threshold=0.5)
    assert not [one for one in half.warnings if "unlike" in one]


def test_votes_that_fit_no_mixture_and_coins_are_warned_about() -> None:
    dev = made(300, 0, 0.5)
    turned = {**without(made(600, 1, 0.5))}
    rng = np.random.default_rng(2)
    coins = Panel(
        [RuleDiscriminator(lambda i, o: rng.random()), RuleDiscriminator(lambda i, o: rng.random())]
    )
    found = judge_outputs(coins, turned, calibrate=dev)
    assert_snapshot(found.warnings)
    assert judge_outputs(KIND, turned, calibrate=dev).warnings == ()
