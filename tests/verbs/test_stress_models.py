"""stress on models as they lie on a disk: Hugging Face folders, saved rankers, each method of uncertainty."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import oodometer
from oodometer.errors import InputError
from oodometer_lab.datasets.dialogues import replies
from oodometer_lab.models import Ensemble, MonteCarloDropout, ResponseRanker, TemperatureScaling
from oodometer_lab.models.torch.training import TrainingConfig

from ..snapshots import raises_snapshot

SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"]


def conversations(many: int = 40) -> list[tuple[str, tuple[str, ...]]]:
    """Whoever speaks says again what was said first."""
    rng = np.random.default_rng(0)
    out = []
    for i in range(many):
        first, second = (" ".join(rng.choice(WORDS, 2)) for _ in range(2))
        out.append((str(i), (first, second, first)))
    return out


def ranker(seed: int) -> ResponseRanker:
    training = TrainingConfig(epochs=2, batch_size=8, learning_rate=3e-3, seed=seed)
    return ResponseRanker(
        head="means", config=SHAPE, vocab_size=120, max_length=32, training=training
    )


def test_rankers_of_every_method(torch: Any, transformers: Any, tmp_path: Path) -> None:
    said = conversations()
    data = replies(said, "echo", candidates=4)
    first, second = (ranker(seed).fit(data) for seed in (0, 1))
    methods = {
        "vanilla": first,
        "temperature": TemperatureScaling(first).fit(data),
        "dropout": MonteCarloDropout(first, passes=3),
        "ensemble": Ensemble([first, second], average=True),
    }
    homes = {name: str(one.save(tmp_path / name)) for name, one in methods.items()}
    file = tmp_path / "talk.jsonl"
    file.write_text(
        "".join(json.dumps({"id": name, "turns": turns}) + "\n" for name, turns in said)
    )
    found = oodometer.stress(
        file,
        homes,
        out=tmp_path / "out",
        kind=["casing=0.5", "insufficient-context=1/2"],
        candidates=4,
    )
    assert [one.name for one in found.models] == list(methods)
    by_name = {one.name: one for one in found.models}
    for one in found.models:
        for curve in one.curves:
            for point in curve.points:
                assert {"accuracy", "brier", "ece"} <= set(point.metrics)
                assert 0 <= point.estimate.value <= 1
    # One temperature changes no choice.
    for plain, scaled in zip(by_name["vanilla"].curves, by_name["temperature"].curves, strict=True):
        for a, b in zip(plain.points, scaled.points, strict=True):
            assert a.metrics["accuracy"].value == b.metrics["accuracy"].value
    record = oodometer.store.as_source(
        by_name["dropout"].curves[0].points[1].predictions[0], extra_columns=["variance"]
    )
    variance = record.read(record.fields).columns["variance"].astype(float)
    assert (variance > 0).all()


def test_a_classifier_and_a_ranker_of_hugging_face(
    torch: Any, transformers: Any, tiny_encoder: Path, reviews: Any, tmp_path: Path
) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(tiny_encoder))
    for name, outputs in (("classifier", 2), ("ranker", 1)):
        net = transformers.AutoModelForSequenceClassification.from_pretrained(
            str(tiny_encoder), num_labels=outputs
        )
        net.save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
    texts = tmp_path / "texts.jsonl"
    rows = [
        {"text": f"{text} again", "label": int(one)}
        for text, one in zip(reviews[0][:40], reviews[1][:40], strict=True)
    ]
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    talk = tmp_path / "talk.jsonl"
    talk.write_text("".join(json.dumps({"turns": turns}) + "\n" for _, turns in conversations()))
    of_texts = oodometer.stress(
        texts, str(tmp_path / "classifier"), out=tmp_path / "a", kind="casing=0.5,1"
    )
    of_talk = oodometer.stress(
        talk, str(tmp_path / "ranker"), out=tmp_path / "b", kind="short-context=1", candidates=3
    )
    assert (of_texts.modality, of_talk.modality) == ("text", "dialogue")
    assert [len(one.curves[0].points) for one in (of_texts.models[0], of_talk.models[0])] == [3, 2]
    with raises_snapshot(InputError):
        oodometer.predict(str(tmp_path / "ranker"), texts)
