"""Panels: votes in order, empty outputs, records, saving, and a training that is interrupted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions, estimate
from oodometer.errors import InputError, UsageError
from oodometer.store import open_predictions, write_predictions
from oodometer_lab.discriminators import (
    ClassifierDiscriminator,
    Discriminator,
    Panel,
    RuleDiscriminator,
    load_discriminator,
)
from oodometer_lab.models import BagOfWords
from oodometer_lab.models.torch.training import TrainingConfig

from ..snapshots import raises_snapshot

SHORT = RuleDiscriminator(lambda given, output: len(output) < 4)
LOWER = RuleDiscriminator(lambda given, output: output.islower())
NEVER = RuleDiscriminator(lambda given, output: False)

INPUTS = ["x"] * 4
OUTPUTS = ["abc", "ABC", "abcd", "ABCD"]
VOTES = [[1, 1, 0, 0], [1, 0, 1, 0]]


def bag(seed: int) -> ClassifierDiscriminator:
    """A judge that reads the words of both sides: good ones make an output right."""
    return ClassifierDiscriminator(
        model=BagOfWords(
            training=TrainingConfig(epochs=3, batch_size=16, learning_rate=0.05, seed=seed)
        )
    )


@pytest.fixture(scope="module")
def pairs(reviews: Any) -> tuple[list[str], list[str], list[int]]:
    texts, labels = reviews
    return ["is it good"] * len(texts), texts, labels


def test_votes_are_judge_by_sample() -> None:
    panel = Panel([SHORT, LOWER])
    assert panel.votes(INPUTS, OUTPUTS).astype(int).tolist() == VOTES
    assert panel.probabilities(INPUTS, OUTPUTS).dtype == np.float32
    assert len(panel) == 2


def test_empty_outputs_are_incorrect_and_nobody_is_asked() -> None:
    asked: list[str] = []

    def yes(given: str, output: str) -> bool:
        asked.append(output)
        return True

    panel = Panel([RuleDiscriminator(yes)])
    assert panel.votes(["x"] * 4, ["", "a", " \n", "b"]).tolist() == [[False, True, False, True]]
    assert asked == ["a", "b"]
    assert panel.votes(["x", "x"], ["", " "]).tolist() == [[False, False]]


def test_a_record_gets_votes(tmp_path: Path) -> None:
    record = Predictions.from_arrays(
        input=INPUTS, output=OUTPUTS, correct=[1, 0, 0, 0], confidence=[0.5] * 4
    )
    voted = Panel([SHORT, LOWER]).vote(record)
    assert voted.votes.tolist() == VOTES
    assert voted.names["judge"] == ("rule_0", "rule_1")
    assert voted.confidence is record.confidence
    assert record.votes is None
    found = estimate(voted, voted, methods=["votes"])["votes"]
    assert (found.details["lower_bound"], found.details["upper_bound"]) == (0.25, 0.75)
    for ending in ("parquet", "csv", "jsonl"):
        again = open_predictions(write_predictions(voted, tmp_path / f"voted.{ending}")).read(
            ("votes", "correct")
        )
        assert again.votes.tolist() == VOTES


def test_votes_take_the_place_of_others() -> None:
    record = Predictions.from_arrays(input=INPUTS, output=OUTPUTS, votes=[[0, 0, 0, 1]])
    assert Panel([SHORT]).vote(record).votes.tolist() == VOTES[:1]


def test_records_without_texts(tmp_path: Path) -> None:
    with raises_snapshot(InputError):
        Panel([SHORT]).vote(Predictions.from_arrays(input=INPUTS, confidence=[0.5] * 4))
    path = tmp_path / "some.jsonl"
    path.write_text('{"input": "a", "output": "b"}\n{"input": "a", "output": null}\n')
    record = open_predictions(path).read(("input", "output"))
    with raises_snapshot(InputError):
        Panel([SHORT]).vote(record)


def test_progress_runs_once_from_0_to_all() -> None:
    seen: list[tuple[int, int]] = []
    Panel([SHORT, LOWER, NEVER]).votes(INPUTS, OUTPUTS, progress=lambda d, t: seen.append((d, t)))
    assert seen[-1] == (3000, 3000)
    assert [d for d, _ in seen] == sorted({d for d, _ in seen})


def test_members_differ_by_seed_and_equal_seeds_are_refused(torch: Any, pairs: Any) -> None:
    panel = Panel.train(bag, [0, 1], *pairs)
    first, second = panel.probabilities(*pairs[:2])
    assert np.abs(first - second).max() > 1e-4
    assert float((panel.votes(*pairs[:2]) == np.array(pairs[2])).mean()) > 0.9
    again = Panel.train(bag, [1], *pairs)
    np.testing.assert_array_equal(again.probabilities(*pairs[:2])[0], second)
    for seeds in ([], [1, 1]):
        with raises_snapshot(UsageError):
            Panel.train(bag, seeds, *pairs)


def test_saved_and_loaded(torch: Any, pairs: Any, tmp_path: Path) -> None:
    panel = Panel.train(bag, range(3), *pairs)
    home = panel.save(tmp_path / "panel")
    np.testing.assert_allclose(
        Panel.load(home).probabilities(*pairs[:2]), panel.probabilities(*pairs[:2]), atol=1e-6
    )
    Panel(panel.members[:2]).save(home)  # a smaller panel in the same place
    assert len(Panel.load(home)) == 2
    assert isinstance(load_discriminator(home / "member-0"), ClassifierDiscriminator)
    (home / "oodometer_panel.json").write_text("[]")
    with raises_snapshot(InputError):
        Panel.load(home)
    with raises_snapshot(UsageError):
        Panel([SHORT]).save(home)


def test_a_training_goes_on_where_it_was_interrupted(
    torch: Any, pairs: Any, tmp_path: Path
) -> None:
    whole = Panel.train(bag, range(3), *pairs, dev=pairs)
    made: list[int] = []

    def counted(seed: int) -> Discriminator:
        made.append(seed)
        return bag(seed)

    def stop(done: int, total: int) -> None:
        if done > 0.55 * total:  # in the midst of the second member
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Panel.train(bag, range(3), *pairs, dev=pairs, checkpoint=tmp_path, progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["member-0", "training-1"]
    before = (tmp_path / "member-0" / "training.json").stat().st_mtime_ns
    seen: list[int] = []
    again = Panel.train(
        counted,
        range(3),
        *pairs,
        dev=pairs,
        checkpoint=tmp_path,
        progress=lambda d, t: seen.append(d),
    )
    assert seen[0] == 1000  # the first member was there
    assert seen[1] > 1550  # the second went on
    assert (tmp_path / "member-0" / "training.json").stat().st_mtime_ns == before
    np.testing.assert_allclose(
        again.probabilities(*pairs[:2]), whole.probabilities(*pairs[:2]), atol=1e-6
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["member-0", "member-1", "member-2"]

    other = (pairs[0], pairs[1], [1 - one for one in pairs[2]])
    flipped = Panel.train(
        bag, range(1), *other, checkpoint=tmp_path
    )  # members of other data are not taken
    assert float((flipped.votes(*pairs[:2]) == np.array(pairs[2])).mean()) < 0.1


class Long(Discriminator):
    """A judge that finds every pair too long."""

    kind = "long"

    def options(self) -> dict[str, Any]:
        return {}

    def fit(
        self, inputs: Sequence[str], outputs: Sequence[str], correct: Sequence[Any], **more: Any
    ) -> Discriminator:
        self._count_truncated(len(inputs), len(inputs), 3)
        return self

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Any = None
    ) -> Any:
        self._count_truncated(1, len(inputs), 3)
        return np.ones(len(inputs), dtype=np.float32)

    @property
    def parameters(self) -> int:
        return 0


def test_long_pairs_are_counted_and_warned_about_once() -> None:
    panel = Panel([Long(), Long()])
    with pytest.warns(
        UserWarning, match=r"1 of 4 pairs \(25.0 %\) are longer than 3 tokens"
    ) as caught:
        panel.votes(INPUTS, OUTPUTS)
    assert len(caught) == 1
    assert panel.truncated == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panel.votes(INPUTS, OUTPUTS)
    panel.votes(["x"], [""])
    assert panel.truncated == 0
    with pytest.warns(UserWarning, match=r"2 of 2 pairs \(100.0 %\)") as caught:
        Panel.train(lambda seed: Long(), [0, 1], ["a", "b"], ["c", "d"], [0, 1])
    assert len(caught) == 1


def test_a_judge_of_ones_own_need_not_be_saved(tmp_path: Path) -> None:
    with raises_snapshot(UsageError):
        Long().save(tmp_path)
    with raises_snapshot(InputError):
        Long.load(tmp_path)


def test_no_members() -> None:
    with raises_snapshot(UsageError):
        Panel([])
