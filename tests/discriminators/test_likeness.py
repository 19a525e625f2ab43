"""Likeness of outputs: against a plain loop, its level without a shift, mistakes that it sees and that it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from oodometer.intervals import holm
from oodometer_lab.discriminators import likeness

ROOMS, DEVICES, STATES = (
    ("hall", "kitchen", "attic", "bath"),
    ("lamp", "radio", "fan", "oven"),
    ("on", "off"),
)


def commands(
    rows: int, seed: int, wrong: float, mistake: str
) -> tuple[list[str], list[str], list[int]]:
    """Commands for a house and what a parser makes of them: it loses or doubles a slot, flips the state, or swaps."""
    rng = np.random.default_rng(seed)
    inputs, outputs, correct = [], [], []
    for _ in range(rows):
        device, room, state = (str(rng.choice(words)) for words in (DEVICES, ROOMS, STATES))
        slots, bad = (
            [f"device={device}", f"room={room}", f"state={state}"],
            bool(rng.random() < wrong),
        )
        if bad and mistake == "slot":
            at = int(rng.integers(3))
            slots = (
                slots[:at] + slots[at + 1 :] if rng.random() < 0.5 else slots[: at + 1] + slots[at:]
            )
        elif bad and mistake == "state":
            slots[2] = f"state={'off' if state == 'on' else 'on'}"
        elif bad:
            slots[:2] = f"device={room}", f"room={device}"
        inputs.append(f"turn {state} the {device} in the {room}")
        outputs.append(f"set({', '.join(slots)})")
        correct.append(int(not bad))
    return inputs, outputs, correct


def test_against_a_plain_loop() -> None:
    first, second = commands(23, 0, 0.3, "slot"), commands(40, 1, 0.5, "state")
    found = {row["trait"]: row for row in likeness(first[:2], second[:2])}
    marks = str.maketrans({mark: f" {mark} " for mark in "()=,"})
    split = [text.translate(marks).split() for text in first[1]]
    share = []
    for row, output in enumerate(second[1]):
        words = output.translate(marks).split()
        known = {
            (a, b)
            for other, (given, made) in enumerate(zip(first[0], split, strict=True))
            if other * 5 // 23 != row % 5
            for a in given.split()
            for b in made
        }
        mine = {(a, b) for a in second[0][row].split() for b in words}
        share.append(len(mine - known) / len(mine))
    assert found["pairs"]["others"] == pytest.approx(np.mean(share))
    assert found["length"]["labelled"] == pytest.approx(np.mean([len(one) for one in split]))
    lengths = [[len(one) for one in split], [14] * 40]
    raw = ks_2samp(*lengths, method="asymp").pvalue
    assert raw <= found["length"]["p_value"] <= 5 * raw + 1e-12
    assert holm([0.01, 1.0]) == pytest.approx([0.02, 1.0])


@pytest.mark.parametrize(("mistake", "trait"), [("state", "pairs"), ("swap", "runs")])
def test_new_kinds_of_mistakes_are_seen(mistake: str, trait: str) -> None:
    labelled, others = commands(150, 0, 0.3, "slot"), commands(400, 1, 0.5, mistake)
    worst = min(likeness(labelled[:2], others[:2]), key=lambda row: row["p_value"])
    assert (worst["trait"], worst["p_value"] < 1e-6) == (trait, True)
    assert worst["others"] > worst["labelled"]


def test_the_level_without_a_shift() -> None:
    """Rows of one law, and an accuracy that changes where mistakes do not: at most as often as the level says."""
    warned = 0
    for seed in range(30):
        labelled, others = (
            commands(60, 2 * seed, 0.3, "slot"),
            commands(120, 2 * seed + 1, 0.35, "slot"),
        )
        warned += min(row["p_value"] for row in likeness(labelled[:2], others[:2])) < 0.01
    assert warned <= 2  # P(Binomial(30, 0.01) > 2) = 0.3 %


def test_what_cannot_be_seen() -> None:
    """A parser that always says on: each of its words met each input's words, so nothing is new. Few rows: nothing."""
    inputs = [f"{a} {b}" for a in "xyz" for b in "uvw"] * 20
    labelled = [str(np.random.default_rng(row).choice(["yes", "no"])) for row in range(len(inputs))]
    assert (
        min(row["p_value"] for row in likeness((inputs, labelled), (inputs, ["yes"] * len(inputs))))
        == 1.0
    )
    assert likeness((inputs[:4], labelled[:4]), (inputs, labelled)) == []
    assert [row["others"] for row in likeness((inputs, labelled), (["a b"], [""]))] == [0.0] * 5
