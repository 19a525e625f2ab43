"""Batches under a token budget and the plan of a training: counted by a loop, known before the first step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import InputError, UsageError
from oodometer_lab.models.torch.batches import length_batches, token_batches
from oodometer_lab.models.torch.training import (
    Hooks,
    LengthBatches,
    TrainingConfig,
    load_weights,
    train,
    weights,
)

from ..snapshots import raises_snapshot

parts = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60)


def greedy(lengths: np.ndarray, order: list[int], tokens: int) -> list[list[int]]:
    """Row after row: a new batch begins where the next row would break the budget."""
    batches: list[list[int]] = []
    for i in order:
        wider = [*batches[-1], i] if batches else [i]
        if batches and len(wider) * lengths[wider].max(0).sum() <= tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


@given(parts, st.integers(1, 400))
def test_token_batches_against_a_loop(rows: list[tuple[int, int]], tokens: int) -> None:
    lengths = np.array(rows)
    order = np.random.default_rng(0).permutation(len(rows))
    found = [batch.tolist() for batch in token_batches(lengths, order, tokens)]
    assert found == greedy(lengths, order.tolist(), tokens)


@given(parts, st.integers(1, 400), st.integers(0, 3))
def test_an_epoch_holds_every_sample_once(
    rows: list[tuple[int, int]], tokens: int, epoch: int
) -> None:
    lengths = np.array(rows)
    batches = length_batches(lengths, 4, 7, epoch, tokens=tokens)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(rows)))
    assert all(len(one) == 1 or len(one) * lengths[one].max(0).sum() <= tokens for one in batches)
    again = length_batches(lengths, 4, 7, epoch, tokens=tokens)
    assert [one.tolist() for one in batches] == [one.tolist() for one in again]


def test_epochs_differ_and_little_is_padded() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, size=2000)
    first, second = (length_batches(lengths, 64, 0, epoch, tokens=1024) for epoch in (0, 1))
    assert first[0].tolist() != second[0].tolist()
    padded = sum(len(one) * lengths[one].max() for one in first)
    assert padded < 1.1 * lengths.sum()


def test_one_part_or_several_of_which_one_is_empty_are_the_same() -> None:
    lengths = np.array([3, 9, 4, 4, 1, 7])
    both = np.stack([lengths, np.zeros(6, dtype=np.int64)], axis=1)
    for tokens in (None, 12):
        a, b = (length_batches(one, 2, 0, 0, tokens=tokens) for one in (lengths, both))
        assert [one.tolist() for one in a] == [one.tolist() for one in b]


def learn(
    torch: Any, plan: TrainingConfig, checkpoint: Path | None = None, **hooks: Any
) -> tuple[Any, list[tuple[int, int]], list[int]]:
    """A linear layer fitted to seeded data; the progress and the steps that were seen."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 20, size=50)
    x = torch.from_numpy(rng.normal(size=(50, 3)).astype(np.float32))
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 1)
    seen: list[tuple[int, int]] = []
    steps: list[int] = []
    train(
        net, lambda batch: (net(x[batch]) - x[batch].sum(1, keepdim=True)).pow(2).mean(),
        LengthBatches(lengths, plan), plan, name="n", checkpoint=checkpoint,
        hooks=Hooks(progress=lambda done, total: seen.append((done, total)), on_step=steps.append, **hooks),
    )  # fmt: skip
    return net, seen, steps


@pytest.mark.parametrize(
    "plan", [TrainingConfig(epochs=3, batch_size=8), TrainingConfig(epochs=3, batch_tokens=60)]
)
def test_steps_are_known_from_the_start(torch: Any, plan: TrainingConfig) -> None:
    _, seen, steps = learn(torch, plan)
    total = seen[0][1]
    assert seen == [(done, total) for done in range(1, total + 1)]
    assert steps == list(range(1, total + 1))
    lengths = np.random.default_rng(0).integers(1, 20, size=50)
    by_hand = [
        len(length_batches(lengths, plan.batch_size, 0, e, tokens=plan.batch_tokens))
        for e in range(3)
    ]
    assert total == sum(by_hand)


@pytest.mark.parametrize("tokens", [None, 60])
def test_a_training_in_pieces_ends_at_the_same_weights(
    torch: Any, tmp_path: Path, tokens: int | None
) -> None:
    plan = TrainingConfig(
        epochs=4, batch_size=8, batch_tokens=tokens, warmup=0.2, learning_rate=0.05
    )
    whole, seen, _ = learn(torch, plan)
    for stop in (1, 5, 9, 9, 14):
        _, _, steps = learn(torch, plan, checkpoint=tmp_path, stop_after=stop)
        assert steps[-1] == stop
    parts, _, steps = learn(torch, plan, checkpoint=tmp_path)
    assert steps[:2] == [14, 15]  # the step that a training goes on from is told once more
    assert steps[-1] == seen[0][1]
    assert bool((whole.weight == parts.weight).all())


def test_a_state_that_is_not_wanted_is_left_alone(torch: Any, tmp_path: Path) -> None:
    plan = TrainingConfig(epochs=4, batch_size=8)
    learn(torch, plan, checkpoint=tmp_path, stop_after=10)
    asked: list[int] = []

    def never(step: int) -> bool:
        asked.append(step)
        return False

    _, seen, _ = learn(torch, plan, checkpoint=tmp_path, goes_on=never)
    assert asked == [10]
    assert seen[0][0] == 1


def test_plans_have_names_of_their_own_whatever_the_checkpoints() -> None:
    plan = TrainingConfig()
    assert (
        TrainingConfig(batch_tokens=9).fingerprint("n")
        != plan.fingerprint("n")
        != plan.fingerprint("m")
    )
    assert TrainingConfig(checkpoint_seconds=1).fingerprint("n") == plan.fingerprint("n")
    with raises_snapshot(UsageError):
        TrainingConfig(batch_tokens=0)


def test_tied_weights_are_kept_once_and_set_everywhere(torch: Any) -> None:
    def net() -> Any:
        found = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "b": torch.nn.Linear(2, 2)})
        found["b"].weight = found["a"].weight
        return found

    first, second = net(), net()
    kept = weights(first)
    assert set(kept) == {"a.weight", "a.bias", "b.bias"}
    load_weights(second, kept)
    assert bool((second["b"].weight == first["a"].weight).all())
    with raises_snapshot(InputError):
        load_weights(second, {name: one for name, one in kept.items() if name != "a.bias"})
    with raises_snapshot(InputError):
        load_weights(second, {**kept, "a.bias": torch.zeros(5)})


def test_draws_are_seeded_as_torch_does_and_nothing_is_put_aside_for_a_gpu(torch: Any) -> None:
    from oodometer_lab.models.torch.library import seed_draws

    torch.manual_seed(7)
    wanted = torch.rand(5)
    waiting = len(torch.cuda._queued_calls) if hasattr(torch.cuda, "_queued_calls") else 0
    with torch.random.fork_rng():
        seed_draws(7)
        assert torch.rand(5).tolist() == wanted.tolist()
    if hasattr(torch.cuda, "_queued_calls"):
        assert len(torch.cuda._queued_calls) == waiting
