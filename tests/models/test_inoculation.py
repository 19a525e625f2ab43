"""Inoculation: mixtures with a share of target data, further steps, suites that are kept and go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.datasets import Dataset
from oodometer_lab.models.inoculation import Dose, batches_of, inoculate, mixed

from ..snapshots import raises_snapshot

NEAR = Dataset(
    "near",
    tuple(f"{'good' if i % 2 else 'bad'} w{i}" for i in range(40)),
    tuple(i % 2 for i in range(40)),
)
FAR = Dataset(
    "far",
    tuple(f"{'good' if i % 2 else 'bad'} v{i}" for i in range(40)),
    tuple(1 - i % 2 for i in range(40)),
)


def test_a_share_of_the_rows_is_target_data() -> None:
    found = mixed(NEAR, [(FAR, 0.25)], seed=1)
    assert len(found) == 40
    assert sum(text in FAR.inputs for text in found.inputs) == 10
    assert found.fingerprint == mixed(NEAR, [(FAR, 0.25)], seed=1).fingerprint
    assert found.fingerprint != mixed(NEAR, [(FAR, 0.25)], seed=2).fingerprint
    labels = {
        **dict(zip(NEAR.inputs, NEAR.targets, strict=True)),
        **dict(zip(FAR.inputs, FAR.targets, strict=True)),
    }
    assert all(
        labels[text] == label for text, label in zip(found.inputs, found.targets, strict=True)
    )


def test_a_larger_share_holds_the_rows_of_a_smaller_one() -> None:
    few, many = (
        set(mixed(NEAR, [(FAR, share)], rows=40).inputs) & set(FAR.inputs) for share in (0.1, 0.5)
    )
    assert (len(few), len(many)) == (4, 20)
    assert few < many
    short, long = (batches_of(FAR, steps, 4, seed=3).inputs for steps in (2, 5))
    assert long[: len(short)] == short
    assert len(set(batches_of(FAR, 10, 4).inputs)) == 40  # all rows before any comes again


def test_shares_that_are_none_are_refused() -> None:
    with raises_snapshot(UsageError):
        mixed(NEAR, [(FAR, 0.6), (FAR, 0.6)])
    with raises_snapshot(InputError):
        mixed(NEAR, [(FAR, 0.001)])
    with raises_snapshot(UsageError):
        batches_of(FAR, 0, 4)
    with pytest.raises(UsageError, match="shares"):
        Dose("much", {"far": 1.5})
    with raises_snapshot(UsageError):
        Dose("back", steps=-1)


def test_a_mixture_has_as_many_rows_as_asked() -> None:
    three = replace(FAR, name="three", inputs=tuple(f"u{i}" for i in range(40)))
    for rows in range(3, 40):
        for shares in ((0.5, 0.5), (0.3, 0.7), (0.45, 0.35), (0.25, 0.25)):
            found = mixed(NEAR, list(zip((FAR, three), shares, strict=True)), rows=rows)
            assert len(found) == rows
            given = [sum(text in part.inputs for text in found.inputs) for part in (FAR, three)]
            assert sum(given) == round(sum(shares) * rows)
            assert all(
                abs(one - share * rows) < 1 for one, share in zip(given, shares, strict=True)
            )
        for share in (0.2, 0.5, 1.0):  # of one part it is plain rounding
            assert sum(
                text in FAR.inputs for text in mixed(NEAR, [(FAR, share)], rows=rows).inputs
            ) == round(share * rows)


def test_a_mixture_without_rows_is_refused() -> None:
    for rows in (0, -3):
        with raises_snapshot(UsageError):
            mixed(NEAR, [], rows=rows)
    none = Dataset("none", (), ())
    with raises_snapshot(InputError):
        batches_of(none, 2, 4)
    with raises_snapshot(InputError):
        mixed(NEAR, [(none, 0.5)])
    with raises_snapshot(InputError):
        mixed(none, [(FAR, 0.5)], rows=4)
    assert len(mixed(none, [(FAR, 1.0)], rows=4)) == 4  # nothing of it is asked for


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".bases", ".training", "../escaped", "a/b", "/tmp/a", "a\\b", "a\0b"]
)
def test_a_dose_is_named_as_a_folder_can_be(name: str) -> None:
    with raises_snapshot(UsageError):
        Dose(name)


def test_sets_with_and_without_ids_are_joined() -> None:
    named = replace(NEAR, ids=tuple(map(str, range(40))), types=("x",) * 40)
    assert mixed(named, [(FAR, 0.5)]).ids == ()
    assert len(mixed(named, []).ids) == 40


@pytest.fixture
def make() -> Callable[[], Any]:
    torch = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
    torch.set_num_threads(1)
    from oodometer_lab.models import EmbeddingSum
    from oodometer_lab.models.torch.training import TrainingConfig

    training = TrainingConfig(epochs=6, batch_size=8, learning_rate=0.05, schedule="constant")
    return lambda: EmbeddingSum(dimensions=8, training=training)


def test_the_suite_is_graded_and_says_its_doses(make: Callable[[], Any]) -> None:
    doses = [Dose("none"), Dose("late", steps=60, of="far"), Dose("most", {"far": 0.9})]
    told: list[tuple[int, int]] = []
    suite = inoculate(
        make, NEAR, {"far": FAR}, doses, progress=lambda done, of: told.append((done, of))
    )
    right = [
        (one.model.logits(FAR.inputs).argmax(1) == np.array(FAR.targets)).mean() for one in suite
    ]
    assert right[0] < 0.2
    assert right[1] > 0.8
    assert right[2] > 0.8
    assert [one.to_dict()["target_rows"] for one in suite] == [{}, {"far": 480}, {"far": 36}]
    assert [one.rows for one in suite] == [40, 520, 40]
    some = [Dose("both", {"far": 0.5, "more": 0.5}), Dose("little", {"far": 0.25})]
    mixes = inoculate(make, NEAR, {"far": FAR, "more": FAR}, some, rows=3)
    assert [one.to_dict()["target_rows"] for one in mixes] == [{"far": 2, "more": 1}, {"far": 1}]
    assert told[-1] == (3000, 3000)
    assert told == sorted(told)  # no model's progress runs backwards
    kept = (suite[0].model.logits(NEAR.inputs).argmax(1) == np.array(NEAR.targets)).mean()
    assert kept > 0.9  # the model that another one goes on from stays as it was


def test_a_suite_goes_on_where_it_was_interrupted(make: Callable[[], Any], tmp_path: Path) -> None:
    doses = [Dose("none"), Dose("late", steps=6, of="far"), Dose("half", {"far": 0.5})]
    whole = inoculate(make, NEAR, {"far": FAR}, doses)

    def stop(done: int, of: int) -> None:
        if done > of * 0.55:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        inoculate(make, NEAR, {"far": FAR}, doses, folder=tmp_path, progress=stop)
    assert (tmp_path / "none").is_dir()
    first = (tmp_path / "none/weights.safetensors").stat().st_mtime_ns
    again = inoculate(make, NEAR, {"far": FAR}, doses, folder=tmp_path)
    assert (tmp_path / "none/weights.safetensors").stat().st_mtime_ns == first
    for one, other in zip(whole, again, strict=True):
        np.testing.assert_array_equal(one.model.logits(FAR.inputs), other.model.logits(FAR.inputs))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["half", "late", "none"]
    anew = inoculate(make, NEAR, {"far": FAR.take(range(20))}, doses[2:], folder=tmp_path)
    assert (
        anew[0].model.logits(FAR.inputs) != again[2].model.logits(FAR.inputs)
    ).any()  # other data: trained anew


def test_no_name_of_a_dose_takes_the_place_of_another_model(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    """States of trainings and models that others go on from lie where no dose can."""
    doses = [Dose("training-late"), Dose("late", steps=10, of="far"), Dose("base", {"far": 0.5})]
    doses += [Dose("some", {"far": 0.25}, steps=10, of="far"), Dose("base-far-0.25", {"far": 0.75})]
    told: list[int] = []
    whole = inoculate(make, NEAR, {"far": FAR}, doses, progress=lambda done, of: told.append(done))
    assert told == sorted(told)
    times: list[dict[str, int]] = []
    for _ in range(2):
        told.clear()
        kept = inoculate(
            make,
            NEAR,
            {"far": FAR},
            doses,
            folder=tmp_path,
            progress=lambda done, of: told.append(done),
        )
        assert told == sorted(told)
        assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
            [".bases", *(dose.name for dose in doses)]
        )
        times.append(
            {
                dose.name: (tmp_path / dose.name / "training.json").stat().st_mtime_ns
                for dose in doses
            }
        )
        logits = np.stack([one.model.logits(FAR.inputs) for one in kept])
        # where a sum begins in memory may move its last bit; another dose's model is far away
        np.testing.assert_allclose(
            np.stack([one.model.logits(FAR.inputs) for one in whole]), logits, atol=1e-5
        )
        between = np.abs(logits[:, None] - logits).max(axis=(2, 3))
        assert between[~np.eye(len(doses), dtype=bool)].min() > 0.01
    assert times[0] == times[1]  # what was finished is trained once


def test_doses_that_cannot_be_given_are_refused(make: Callable[[], Any]) -> None:
    with raises_snapshot(UsageError):
        inoculate(make, NEAR, {"far": FAR}, [Dose("a", {"near": 0.1})])
    with raises_snapshot(UsageError):
        inoculate(make, NEAR, {"far": FAR}, [Dose("a"), Dose("a")])


def test_training_further_starts_from_the_weights(make: Callable[[], Any], tmp_path: Path) -> None:
    with raises_snapshot(UsageError):
        make().fit_further(FAR)
    model = make().fit(NEAR)
    before = model.logits(FAR.inputs)
    model.fit_further(FAR, training=replace(model.training, epochs=1, learning_rate=1e-9))
    np.testing.assert_allclose(model.logits(FAR.inputs), before, atol=1e-5)
    assert model.classes == (0, 1)
    with raises_snapshot(InputError):
        model.fit_further(["a", "b"], [0, 7])


def test_fused_adamw_is_adamw_up_to_rounding(make: Callable[[], Any]) -> None:
    one, other = make(), make()
    other.training = replace(other.training, optimizer="fused_adamw")
    np.testing.assert_allclose(
        one.fit(NEAR).logits(FAR.inputs), other.fit(NEAR).logits(FAR.inputs), atol=1e-3
    )
    assert one.training.fingerprint("a") != other.training.fingerprint("a")
