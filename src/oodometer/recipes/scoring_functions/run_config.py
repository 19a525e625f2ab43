"""Run config: which network, how long it trains, how many models and images; the only numbers a test makes smaller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, final

from ...models.torch.training import TrainingConfig


@final
@dataclass(frozen=True)
class DominoesConfig:
    """How large the part with the dominoes is.

    correlations : of the simple half with the class, in training. members : models for each. epochs, train_rows : of a
    training. severity : of the corruptions that stand in for STL10. draws : samples of ``labels`` labelled rows.
    """

    correlations: tuple[float, ...] = (0.95, 0.99, 1.0)
    members: int = 4
    epochs: int = 3
    train_rows: int | None = 20_000
    severity: int = 3
    labels: int = 10
    draws: int = 50


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is.

    Parameters
    ----------
    network : arguments of `ResNet`.
    training : how a model is trained on clean data; ``compromised_epochs`` on compromised data.
    members : models of an ensemble; ``clean_members`` of the plain one on clean data (Figure 2).
    bases : models whose smoothness (LMS) is measured, each over ``views`` augmented copies of every image.
    train_rows, validation_rows, rows : images for training, for the threshold, and of each shifted set; None for all.
    overlap : whether the shifted sets show the very images that the threshold was fitted on, as in the paper.
    kinds, severities : of the corruptions.
    flipped : share of the labels that each member of the more diverse ensemble (MA_0.02) learns wrong.
    grid : steps of the grid on which the threshold is looked for, as the published code does; the exact one stands
        beside it.
    subsets : draws of other members for each size of an ensemble. dominoes : the part on simplicity bias.
    seed : of every draw; member i trains with seed + i.
    """

    network: Mapping[str, Any] = field(default_factory=dict)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    compromised_epochs: int = 3
    members: int = 4
    clean_members: int = 8
    bases: int = 3
    views: int = 10
    train_rows: int | None = None
    validation_rows: int | None = None
    rows: int | None = 1_000
    overlap: bool = False
    kinds: tuple[str, ...] | None = None
    severities: tuple[int, ...] = (1, 2, 3, 4, 5)
    flipped: float = 0.02
    grid: int = 100
    subsets: int = 10
    dominoes: DominoesConfig = field(default_factory=DominoesConfig)
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return asdict(self)


_SGD = TrainingConfig(
    batch_size=128,
    learning_rate=0.05,
    weight_decay=5e-4,
    warmup=0.1,
    clip=None,
    optimizer="sgd",
    schedule="cosine",
    precision="bfloat16",
)
# float32: without instructions for bfloat16 a processor computes in it seven times more slowly.
RUN_CONFIGS = {
    "small": RunConfig(
        network={"depth": 8, "width": 16, "stem_stride": 2},
        training=replace(_SGD, epochs=3, learning_rate=0.2, precision="float32"),
        dominoes=DominoesConfig(epochs=2),
    ),
    "paper": RunConfig(
        network={"depth": 18, "stages": 4, "width": 64},
        training=replace(_SGD, epochs=200, warmup=0.0),
        compromised_epochs=250,
        members=10,
        clean_members=10,
        rows=None,
        bases=10,
        dominoes=DominoesConfig(members=3, epochs=20, train_rows=None),
    ),
}
