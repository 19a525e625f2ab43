"""The walk of CONTRIBUTING, "Add a model": a network of one's own, held to the contract like ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oodometer.arrays import Ragged
from oodometer.testing import check_model
from oodometer_lab.datasets import Dataset
from oodometer_lab.models.text.network import TextClassifier
from oodometer_lab.models.torch.batches import ragged
from oodometer_lab.models.torch.training import TrainingConfig

from ..snapshots import raises_snapshot


class LetterNetwork(TextClassifier):
    """Logits from the letters of a text: their vectors are averaged, a linear layer reads the mean."""

    kind = "letters"

    def __init__(self, *, dimensions: int = 8, training: TrainingConfig | None = None) -> None:
        super().__init__(training=training)
        self.dimensions = dimensions
        self.letters: dict[str, int] = {}

    def options(self) -> dict[str, Any]:
        return {"dimensions": self.dimensions}

    def _learn(self, inputs: Any) -> None:
        self.letters = {letter: i for i, letter in enumerate(sorted(set("".join(inputs))), 2)}

    def _ids(self, texts: Sequence[Any]) -> Ragged:
        return ragged([[self.letters.get(letter, 1) for letter in text] for text in texts])

    def _build(self) -> Any:
        import torch

        embedding = torch.nn.Embedding(len(self.letters) + 2, self.dimensions, padding_idx=0)
        return torch.nn.ModuleDict(
            {"letters": embedding, "linear": torch.nn.Linear(self.dimensions, len(self.classes))}
        )

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        mean = net["letters"](ids).sum(1) / real.sum(1, keepdim=True).clamp(min=1)
        return net["linear"](mean)

    def _write_encoding(self, folder: Path) -> None:
        (folder / "letters.json").write_text(json.dumps(self.letters))

    def _read_encoding(self, folder: Path) -> None:
        self.letters = json.loads((folder / "letters.json").read_text())


def test_a_model_of_ones_own_keeps_the_contract(torch: Any, reviews: Any) -> None:
    data = Dataset("reviews", tuple(reviews[0][:40]), tuple(reviews[1][:40]))
    check_model(lambda: LetterNetwork(training=TrainingConfig(epochs=2, batch_size=8)), data)


def test_it_is_asked_as_any_other(torch: Any, reviews: Any, tmp_path: Path) -> None:
    import oodometer

    model = LetterNetwork(training=TrainingConfig(epochs=1)).fit(reviews[0], reviews[1])
    found = oodometer.predict(
        model, {"text": reviews[0], "label": reviews[1]}, features=True, views=2
    )
    assert found.record.features.shape == (200, 8)
    assert found.record.views.shape == (2, 200)
    with raises_snapshot(oodometer.InputError):
        LetterNetwork.load(tmp_path)
