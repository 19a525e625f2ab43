"""Classifiers that exist already: which label means Correct, against transformers itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.discriminators import Panel, PretrainedDiscriminator
from oodometer_lab.models import Encoder, load_model

from ..snapshots import raises_snapshot

INPUTS = ["the film was good", "a story", "the actor"]
OUTPUTS = ["good", "the story was bad and dull", "lovely"]


@pytest.fixture(scope="module")
def folder(transformers: Any, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of three labels, as a hub would give it."""
    home = tmp_path_factory.mktemp("classifier")
    transformers.set_seed(0)
    names = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}
    config = transformers.AutoConfig.from_pretrained(
        tiny_encoder,
        num_labels=3,
        id2label=names,
        label2id={v: k for k, v in names.items()},
        initializer_range=0.5,
    )
    transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(home)
    transformers.AutoTokenizer.from_pretrained(tiny_encoder).save_pretrained(home)
    return home


def alone(transformers: Any, torch: Any, home: Path, *texts: str) -> Any:
    """Probabilities of one text or pair by transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(home)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(home).eval()
    with torch.inference_mode():
        return model(**tokenizer(*texts, return_tensors="pt")).logits.softmax(-1)[0].numpy()


def test_against_transformers(transformers: Any, torch: Any, folder: Path) -> None:
    expected = np.array(
        [alone(transformers, torch, folder, *pair) for pair in zip(INPUTS, OUTPUTS, strict=True)]
    )
    assert (
        np.ptp(expected[:, 2]) > 0.01
    )  # the answers differ, so an order that is lost would be seen
    for correct, places in (
        ("entailment", [2]),
        (2, [2]),
        (["ENTAILMENT", "neutral"], [1, 2]),
        (0, [0]),
    ):
        judge = PretrainedDiscriminator(str(folder), correct=correct)  # type: ignore[arg-type]
        found = judge.probabilities(INPUTS, OUTPUTS)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected[:, places].sum(axis=1), atol=1e-5)
        np.testing.assert_array_equal(
            judge.judge(INPUTS, OUTPUTS), expected[:, places].sum(axis=1) >= 0.5
        )
    assert judge.parameters > 0


def test_templates(transformers: Any, torch: Any, folder: Path) -> None:
    judge = PretrainedDiscriminator(str(folder), correct=2, template="the {output} of {input}")
    expected = alone(transformers, torch, folder, "the lovely of the actor")[2]
    assert judge.probabilities(["the actor"], ["lovely"])[0] == pytest.approx(expected, abs=1e-5)
    odd = judge.probabilities(["{output}"], ["{input}"])  # holes in the texts stay as they are
    assert odd[0] == pytest.approx(
        alone(transformers, torch, folder, "the {input} of {output}")[2], abs=1e-5
    )


def test_a_single_output_is_a_score(
    transformers: Any, torch: Any, folder: Path, tmp_path: Path
) -> None:
    config = transformers.AutoConfig.from_pretrained(folder, num_labels=1)
    net = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    net.save_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(tmp_path)
    with torch.inference_mode():
        score = float(net(**tokenizer(INPUTS[0], OUTPUTS[0], return_tensors="pt")).logits)
    found = PretrainedDiscriminator(str(tmp_path)).probabilities(INPUTS[:1], OUTPUTS[:1])
    assert found[0] == pytest.approx(1 / (1 + np.exp(-score)), abs=1e-5)


def test_long_pairs_are_counted(folder: Path) -> None:
    judge = PretrainedDiscriminator(str(folder), correct=2, max_length=8)
    with pytest.warns(UserWarning, match=r"1 of 3 pairs \(33.3 %\) are longer than 8 tokens"):
        judge.probabilities(INPUTS, ["good", "the story was bad and dull", "a"])
    assert judge.truncated == 1
    whole = PretrainedDiscriminator(
        str(folder), correct=2, max_length=512
    )  # the model has 64 positions
    with pytest.warns(UserWarning, match="longer than 64 tokens"):
        whole.probabilities(["film"], ["good " * 100])


def test_it_votes_in_a_panel_and_is_saved_by_its_path(folder: Path, tmp_path: Path) -> None:
    panel = Panel(
        [
            PretrainedDiscriminator(str(folder), correct="ENTAILMENT"),
            PretrainedDiscriminator(str(folder)),
        ]
    )
    again = Panel.load(panel.save(tmp_path))
    np.testing.assert_allclose(
        again.probabilities(INPUTS, OUTPUTS), panel.probabilities(INPUTS, OUTPUTS), atol=1e-6
    )
    assert sorted(one.name for one in (tmp_path / "member-0").iterdir()) == ["oodometer_model.json"]


def test_a_classifier_that_exists_already_answers_alike_when_saved(
    transformers: Any, torch: Any, folder: Path, tmp_path: Path
) -> None:
    """Long texts lose their end as in transformers, before and after."""
    text = "good film " * 60 + "bad " * 40
    model = Encoder.from_pretrained(str(folder))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    net = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        expected = (
            net(**tokenizer(text, truncation=True, max_length=64, return_tensors="pt"))
            .logits[0]
            .numpy()
        )
    np.testing.assert_allclose(model.logits([text])[0], expected, atol=1e-5)
    again = load_model(model.save(tmp_path))
    np.testing.assert_allclose(again.logits([text]), model.logits([text]), atol=1e-5)


def test_bad_input(folder: Path, tmp_path: Path) -> None:
    with raises_snapshot(InputError):
        PretrainedDiscriminator(str(folder), correct="right").probabilities(["a"], ["b"])
    with raises_snapshot(InputError):
        PretrainedDiscriminator(str(tmp_path)).probabilities(["a"], ["b"])
    with raises_snapshot(UsageError):
        PretrainedDiscriminator(str(folder), template="{input}")
