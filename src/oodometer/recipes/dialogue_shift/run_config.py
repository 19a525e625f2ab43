"""Run config: which ranker, how long it trains, how many conversations; the only numbers a test makes smaller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, final

from ...models.torch.training import TrainingConfig

PAPER_RATIOS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is. An instance is a context with its candidate replies.

    Parameters
    ----------
    network : arguments of `ResponseRanker`; ``source`` may be ``minilm``, the packaged one.
    training : how a ranker is trained; its batches count instances.
    members : rankers, trained with different seeds on the same instances; ``ensemble``, of how many of them the
        smaller ensembles are.
    dropout_members, dropout_passes : how many of them are asked with dropout, and how often.
    dropout_conditions : those that are asked with dropout, by name; None for all.
    train_rows, train_candidates : training instances, None for all, and candidates of each.
    candidates : of an instance that is asked about.
    dev_rows, rows, turns_rows, length_rows : instances of the validation split, of the test split (those whose words
        are exchanged, too), of those whose turns are deleted, and of each real length; None for all.
    ratios, deleted, lengths, importance : severities of unknown and known words, of deleted turns (of ``turns``), of
        really short contexts, and of words by importance.
    seed : of every draw; member i trains with seed + i.
    """

    network: Mapping[str, Any] = field(default_factory=dict)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    members: int = 5
    ensemble: int = 3
    dropout_members: int = 1
    dropout_passes: int = 5
    dropout_conditions: tuple[str, ...] | None = None
    train_rows: int | None = None
    train_candidates: int = 10
    candidates: int = 10
    dev_rows: int | None = None
    rows: int | None = None
    turns_rows: int | None = None
    length_rows: int | None = None
    ratios: tuple[float, ...] = PAPER_RATIOS
    turns: int = 6
    deleted: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    lengths: tuple[int, ...] = (6, 5, 4, 3, 2, 1)
    importance: tuple[int, ...] = (1, 2, 3, 4, 5)
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return asdict(self)


_ASKED_WITH_DROPOUT = (
    *("dev", "test", "uw-0.1", "uw-0.5", "kw-0.1", "kw-0.5"),
    *("importance-1", "importance-5", "ic-0", "ic-5", "sr-6", "sr-1"),
)
# The paper gives the optimiser, the batch and the one epoch; the learning rate is ours, the usual one of its network.
RUN_CONFIGS = {
    "small": RunConfig(
        network={"source": "minilm", "head": "means", "layers": 2, "max_length": 96},
        training=TrainingConfig(epochs=1, batch_size=12, learning_rate=2e-4, warmup=0.1),
        dropout_conditions=_ASKED_WITH_DROPOUT,
        train_rows=2_000,
        train_candidates=4,
        dev_rows=300,
        rows=300,
        turns_rows=200,
        length_rows=250,
        ratios=(0.1, 0.2, 0.3, 0.4, 0.5),
        lengths=(6, 3, 1),
        importance=(1, 3, 5),
    ),
    "paper": RunConfig(
        network={"source": "google-bert/bert-base-cased", "max_length": 512},
        training=TrainingConfig(epochs=1, batch_size=12, learning_rate=2e-5, schedule="constant", precision="bfloat16"),
        dropout_members=5,
    ),
}
