"""Names and folders of the last release: they work once more, and a warning says what they are called now."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import accuracy_proxies, datasets, discriminators, models
from oodometer.datasets import Dataset
from oodometer.discriminators import (
    ClassifierDiscriminator,
    Discriminator,
    GenerativeDiscriminator,
    RegressionDiscriminator,
    load_discriminator,
)
from oodometer.errors import UsageError
from oodometer.models import BagOfWords, Encoder, EncoderDecoder, load_model
from oodometer.models.artifacts import OLD_NAMES
from oodometer.models.torch.training import TrainingConfig
from oodometer.verbs.discriminate.folder import open_judges

PLAN = TrainingConfig(epochs=1, batch_size=4)
SHAPE = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
T5 = {"d_model": 8, "d_kv": 8, "d_ff": 8, "num_layers": 1, "num_heads": 1}
PAIRS = (["a b", "b a", "a", "b"], ["A B", "B B", "A", "B"], [1, 0, 1, 0])


@pytest.mark.parametrize(
    ("module", "name", "new"),
    [
        ("models", "SequenceClassifier", models.Classifier),
        ("models.training", "Plan", TrainingConfig),
        ("recipes.sequences", "Sequences", Dataset),
        ("recipes.sequences", "cogs", datasets.cogs),
        ("recipes.sequences", "with_signatures", datasets.with_signatures),
        ("recipes.sequences.base", "Sequences", Dataset),
        ("recipes.texts", "imdb", datasets.imdb),
        ("recipes.texts", "data_folder", datasets.data_folder),
        ("models.discriminators", "Discriminator", Discriminator),
        ("models.discriminators", "load_discriminator", load_discriminator),
        ("models.energy", "EnergyMeter", models.EnergyMeter),
        ("rankers", "Ranker", accuracy_proxies.Ranker),
        ("rankers", "rank_models", accuracy_proxies.rank_models),
    ],
)
def test_old_places(module: str, name: str, new: Any) -> None:
    old = importlib.import_module(f"oodometer.{module}")
    with pytest.warns(DeprecationWarning, match=rf"oodometer\.{module}\.{name} is now oodometer\.") as caught:
        assert getattr(old, name) is new
    assert caught[0].filename == __file__
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = old.other


def test_all_names_of_the_old_places_lead_somewhere() -> None:
    for place, new in (
        ("recipes.sequences", datasets),
        ("models.discriminators", discriminators),
        ("rankers", accuracy_proxies),
    ):
        old = importlib.import_module(f"oodometer.{place}")
        for name in getattr(old, "_NAMES", new.__all__):
            with pytest.warns(DeprecationWarning, match=rf"{re.escape(new.__name__)}\.{name};"):
                assert getattr(old, name) is getattr(new, name)


def test_old_registry() -> None:
    with pytest.warns(DeprecationWarning, match=r"KINDS is now oodometer\.models\.load_model"):
        kinds = models.KINDS
    assert kinds["bag-of-words"] is BagOfWords
    assert "classifier" not in kinds


def test_old_columns_of_a_data_set() -> None:
    from oodometer.recipes.texts import Texts

    with pytest.warns(DeprecationWarning, match="Texts is now") as caught:
        data = Texts("toy", ("a", "b"), (0, 1), ("x", "y"), "here")
    assert caught[0].filename == __file__
    assert data == Dataset("toy", ("a", "b"), (0, 1), ids=("x", "y"), source="here")
    for old, new in (("texts", ("a", "b")), ("labels", (0, 1)), ("outputs", (0, 1))):
        with pytest.warns(DeprecationWarning, match=f"the column {old} of a data set is now"):
            assert getattr(data, old) == new
    assert not hasattr(data, "nothing")


@pytest.mark.parametrize(
    ("make", "old", "new", "value"),
    [
        (BagOfWords, "plan", "training", PLAN),
        (BagOfWords, "longest", "max_length", 7),
        (BagOfWords, "most_words", "vocab_size", 70),
        (lambda **more: Encoder(config=SHAPE, **more), "pieces", "vocab_size", 70),
        (lambda **more: EncoderDecoder(config=T5, **more), "longest_output", "max_output_length", 7),
        (lambda **more: RegressionDiscriminator(config=SHAPE, **more), "plan", "training", PLAN),
        (lambda **more: ClassifierDiscriminator(config=SHAPE, **more), "longest", "max_length", 7),
    ],
)
def test_old_arguments(make: Any, old: str, new: str, value: Any) -> None:
    with pytest.warns(DeprecationWarning, match=f"the argument {old} is now {new}") as caught:
        model = make(**{old: value})
    assert caught[0].filename == __file__
    assert getattr(model, new) == value
    with pytest.raises(UsageError, match=f"{old} is now called {new}: give {new} alone"):
        make(**{old: value, new: value})


def aged(folder: Path, judge: bool) -> None:
    """Rename what stands in a saved folder to what the last release wrote there."""
    back = {new: old for old, new in OLD_NAMES.items() if old != "most_words"}
    path = folder / "oodometer_model.json"
    about = json.loads(path.read_text())
    bag = about["kind"] == "bag-of-words"
    about["options"] = {
        "most_words" if bag and name == "vocab_size" else back.get(name, name): value
        for name, value in about["options"].items()
    }
    path.unlink()
    name = "oodometer_discriminator.json" if judge else path.name
    (folder / name).write_text(json.dumps(about))


@pytest.mark.parametrize("kind", ["encoder", "tokens", "words", "generative", "regression"])
def test_a_judge_saved_by_the_last_release(kind: str, transformers: Any, tmp_path: Path) -> None:
    made: dict[str, Discriminator] = {
        "encoder": ClassifierDiscriminator(config=SHAPE, max_length=16, training=PLAN),
        "tokens": ClassifierDiscriminator(config=SHAPE, head="tokens", max_length=16, training=PLAN),
        "words": ClassifierDiscriminator(model=BagOfWords(max_length=16, training=PLAN)),
        "generative": GenerativeDiscriminator(config=T5, max_length=16, training=PLAN),
        "regression": RegressionDiscriminator(config=SHAPE, max_length=16, training=PLAN),
    }
    judge = made[kind].fit(*PAIRS)
    expected = judge.probabilities(*PAIRS[:2])
    home = judge.save(tmp_path / "judge")
    aged(home / "model", judge=False)
    aged(home, judge=True)
    names = json.loads((home / "oodometer_discriminator.json").read_text())["options"]
    assert {"longest", "pieces"} <= set(names) or kind == "words"
    again = load_discriminator(home)  # no warning: the folder is nobody's fault
    assert again.options() == judge.options()
    np.testing.assert_array_equal(again.probabilities(*PAIRS[:2]), expected)
    assert len(open_judges(home)[0]) == 1
    # Saved once more into the same folder, what was written last is read.
    other = made[kind].fit(PAIRS[0], PAIRS[1], [0, 1, 0, 1])
    other.save(home)
    np.testing.assert_array_equal(load_discriminator(home).probabilities(*PAIRS[:2]), other.probabilities(*PAIRS[:2]))


def test_a_classifier_saved_by_the_last_release(torch: Any, tmp_path: Path) -> None:
    model = BagOfWords(max_length=5, training=PLAN).fit(["a b", "b a", "a a", "b b"], [0, 1, 0, 1])
    aged(model.save(tmp_path), judge=False)
    assert "most_words" in (tmp_path / "oodometer_model.json").read_text()
    again = load_model(tmp_path)
    assert again.options() == model.options()
    np.testing.assert_array_equal(again.logits(["a b"]), model.logits(["a b"]))
