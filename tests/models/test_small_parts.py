"""Small functions of the models that no other test comes to, each on its smallest case."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace as Some
from typing import Any

import numpy as np

from oodometer.classes import matched
from oodometer.errors import InputError
from oodometer_lab.datasets.base import Dialogue
from oodometer_lab.models.artifacts import kind_named, read_description, trained_as
from oodometer_lab.models.base import joined
from oodometer_lab.models.image.network import check_images
from oodometer_lab.models.opening import SentModel
from oodometer_lab.models.outside import _class_name
from oodometer_lab.models.response_ranking import with_candidates_kept
from oodometer_lab.models.seq2seq.encoder_decoder import pairs_of
from oodometer_lab.models.text.encoder import positions
from oodometer_lab.models.text.network import with_words_dropped
from oodometer_lab.models.torch.batches import Asking
from oodometer_lab.models.torch.library import idle_cores
from oodometer_lab.models.torch.training import TrainingConfig

from ..snapshots import raises_snapshot


def test_labels_and_classes() -> None:
    where: dict[str, Any] = {"file": None, "first_row": 0, "column": "label"}
    assert matched(["1", None, "0", 1.0, "1.0"], (0, 1), **where) == [1, None, 0, 1, 1]
    assert matched(["2024/cat"], ("cat", "dog"), images=["2024/cat/1.png"], **where) == ["cat"]
    assert (_class_name(np.float64(1.0)), _class_name(np.True_), _class_name(np.str_("yes"))) == (
        1,
        1,
        "yes",
    )


def test_texts() -> None:
    assert (joined("alone"), joined(("a man eats", "he"), " / ")) == ("alone", "a man eats / he")
    assert with_words_dropped(["a b c", "d"], (0, 0, 0)) == ["a b", "d"]
    assert with_words_dropped(["d"], (0, 0, 1)) == ["d"]
    assert pairs_of(["a b"], ["A"]) == (["a b"], ["A"])
    conversation = Dialogue(("a b c d e f g h",), ("x", "y"))
    (shorter,) = with_candidates_kept([conversation], (0, 0, 0))
    assert shorter.candidates == ("x", "y")
    assert len(shorter.context[0]) < len(conversation.context[0])
    assert (
        positions(
            Some(max_position_embeddings=514, model_type="roberta"), Some(model_max_length=10**30)
        )
        == 512
    )


def test_trainings_and_questions(torch: Any) -> None:
    with Asking([np.array([2, 0]), np.array([1])], 3) as asking:
        for batch in asking:
            asking.take(batch * 10)
    assert [part.tolist() for part in asking.found] == [[0, 10, 20]]
    assert [TrainingConfig(learning_rate=1, warmup=0.5).rate(step, 4) for step in range(4)] == [
        0.5,
        1.0,
        1.0,
        0.5,
    ]
    assert trained_as(Path("no-such-folder")) is None
    kind = kind_named("bag-of-words")
    assert (kind.__name__, kind_named("none")) == ("BagOfWords", None)
    assert SentModel("model", None, {"device": "cpu"}).gpu is False
    assert idle_cores() >= 1
    assert check_images(np.zeros((2, 4, 4), dtype=np.uint8)).shape == (2, 4, 4, 3)
    with raises_snapshot(InputError):
        read_description(Path("none"))
