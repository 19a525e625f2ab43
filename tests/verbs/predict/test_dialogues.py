"""Predict with a ranker: dialogues of a file, their candidates, ids and labels; what is left out, what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import InputError, UsageError
from oodometer_lab.datasets.reading import Drawing, open_examples

from ...snapshots import assert_snapshot, raises_snapshot

pytest.importorskip("torch")
pytest.importorskip("transformers")

ROWS = [
    {"id": "a", "turns": ["Is the house big?", "The house is big.", "Good.", "Bye!"]},
    {"id": "b", "turns": ["Alone."]},
    {"id": "c", "turns": []},
    {"id": "d", "turns": ["And you?", "Yes, the house."]},
]


def lines(rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from oodometer_lab.datasets import replies
    from oodometer_lab.models import ResponseRanker
    from oodometer_lab.models.torch.training import TrainingConfig

    talk = [
        (str(i), tuple(f"{word} {i} {j}" for j, word in enumerate(["how", "are", "you"])))
        for i in range(6)
    ]
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    model = ResponseRanker(
        config=sizes, vocab_size=200, max_length=24, training=TrainingConfig(epochs=1, batch_size=4)
    )
    return model.fit(replies(talk, "toy", candidates=3)).save(
        tmp_path_factory.mktemp("models") / "ranker"
    )


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    place = tmp_path / "talk.jsonl"
    place.write_text(lines(ROWS))
    return place


def test_replies_in_a_chat_are_those_of_the_assistant(tmp_path: Path) -> None:
    """What users say is no answer of the model, whatever its place."""
    texts = ["be kind", "hello", "good day", "what is up", "not much"]
    roles = ["system", "user", "assistant", "user", "assistant"]
    for key, said, names in (
        ("role", "content", roles),
        ("from", "value", [r.replace("assistant", "gpt") for r in roles]),
    ):
        turns = [{key: role, said: text} for role, text in zip(names, texts, strict=True)]
        rows = [{"id": "a", "messages": turns}, {"id": "b", "messages": turns[:2]}]
        path = tmp_path / f"{key}.jsonl"
        path.write_text(lines(rows))
        (batch,) = open_examples(path, ("dialogue",), drawing=Drawing(2)).batches(100)
        right = [
            one.candidates[at]
            for one, at in zip(batch.data.inputs, batch.data.targets, strict=True)
        ]
        assert right == ["good day", "not much"]
        assert [one.context for one in batch.data.inputs] == [tuple(texts[:2]), tuple(texts[:4])]
        assert batch.data.ids == ("a-2", "a-4")
        assert_snapshot(batch.skipped)


def test_a_file_of_dialogues_becomes_a_predictions_file(ranker: Path, talk: Path) -> None:
    out = talk.with_name("out.parquet")
    said = " ".join(
        repr(oodometer.predict(ranker, talk, out=out, candidates=3, batch_rows=2)).split()
    )
    assert "4 rows" in said
    assert_snapshot(said)
    record = oodometer.store.as_source(out, extra_columns=["id"]).read(
        ["label", "candidate_scores"]
    )  # type: ignore[attr-defined]
    assert record.columns["id"].tolist() == ["a-1", "a-2", "a-3", "d-1"]
    (batch,) = open_examples(talk, ("dialogue",), drawing=Drawing(3)).batches(100)
    assert record.label.tolist() == list(batch.data.targets)
    for one, target, reply in zip(
        batch.data.inputs,
        batch.data.targets,
        ["The house is big.", "Good.", "Bye!", "Yes, the house."],
        strict=True,
    ):
        assert one.candidates[target] == reply
        assert len(set(one.candidates)) == 3
    assert oodometer.evaluate(record).rows == 4


def test_candidates_that_are_given_are_asked_as_they_are(ranker: Path, tmp_path: Path) -> None:
    rows = [
        {"context": ["Hi."], "candidates": ["Yes.", "No."], "label": 1},
        {"context": ["Hi."], "candidates": ["Yes.", "No.", "Perhaps."], "response": "No."},
        {"context": ["Hi."], "candidates": ["Yes.", "No."]},
        {"context": [], "candidates": ["Yes.", "No."]},
    ]
    (tmp_path / "given.jsonl").write_text(lines(rows))
    found = oodometer.predict(ranker, tmp_path / "given.jsonl")
    assert found.record.label.tolist() == [1, 1, -1]
    assert found.record.candidate_scores.lengths.tolist() == [2, 3, 2]
    assert found.examples == (("row 4", "a context without turns"),)
    assert found.accuracy is not None
    same = oodometer.predict(
        ranker, {name: [row.get(name) for row in rows[:3]] for name in ("context", "candidates")}
    )
    assert same.record.label is None
    assert same.record.candidate_scores.values == pytest.approx(
        found.record.candidate_scores.values, abs=1e-5
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"turns": "Hi."}], "row 1: column turns: expected a list of turns"),
        ([{"turns": ["a", 3]}, {"turns": ["b"]}], "column turns"),
        ([{"words": ["a"]}], "a column with the turns"),
        ([{"turns": ["a"]}, {"turns": []}], "dialogues with a reply, got 2 rows"),
        ([{"context": ["a"]}], "a response, or candidates, beside the context"),
        ([{"context": ["a"], "candidates": ["b"], "label": 0}], "at least two texts"),
        ([{"context": ["a"], "candidates": ["b", "c"], "label": 2}], "a position from 0 to 1"),
        ([{"turns": ["a", "b"]}], "at least 10 different replies to choose from, got 1"),
    ],
)
def test_wrong_dialogues_are_one_line(
    rows: Any, said: str, ranker: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "wrong.jsonl"
    place.write_text(lines(rows))
    assert main(["predict", str(ranker), str(place), "--out", str(tmp_path / "out.parquet")]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out.parquet").exists()


def test_replies_and_columns_that_are_not_there(ranker: Path, talk: Path) -> None:
    with raises_snapshot(InputError):
        oodometer.predict(ranker, talk, inputs="said")
    with raises_snapshot(UsageError):
        oodometer.predict(ranker, talk, candidates=1)
    with raises_snapshot(UsageError):
        oodometer.predict(lambda texts: texts, {"text": ["a"]}, replies=talk)
