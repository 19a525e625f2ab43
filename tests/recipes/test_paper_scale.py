"""The scale `paper`, whole but for the downloads: tiny models and vectors of its forms stand beside the data."""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NAMES = [
    "BOW-SUM", "W2V-SUM", "GLOVE-SUM", "W2V-CNN", "GLOVE-CNN", "W2V-LSTM", "GLOVE-LSTM", "BERT-BASE", "BERT-LARGE",
    "ROBERTA-LARGE",
]  # fmt: skip


class AskedError(Exception):
    """A pretrained model was asked for."""


def words_of(data: Path) -> list[str]:
    """Every word of the training texts."""
    with lzma.open(data / "imdb_train.jsonl.xz", "rt") as file:
        return sorted({word for line in file for word in json.loads(line)["text"].split()})


def write_vectors(folder: Path, words: list[str]) -> None:
    """Google News in word2vec's binary form, gzipped; GloVe as text in an archive; 300 numbers a word."""
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(len(words), 300)).astype("<f4")
    binary = [f"{len(words)} 300\n".encode()]
    lines = []
    for word, row in zip(words, matrix, strict=True):
        binary += [
            word.capitalize().encode(),
            b" ",
            row.tobytes(),
        ]  # read though the texts are in lower case
        lines.append(f"{word} {' '.join(f'{x:.5g}' for x in row)}")
    (folder / "GoogleNews-vectors-negative300.bin.gz").write_bytes(gzip.compress(b"".join(binary)))
    with zipfile.ZipFile(folder / "glove.840B.300d.zip", "w") as archive:
        archive.writestr("glove.840B.300d.txt", "\n".join(lines) + "\n")


def write_roberta(folder: Path, words: list[str], transformers: Any) -> None:
    """A RoBERTa and its byte-level tokenizer; its positions start behind the padding."""
    from tokenizers import ByteLevelBPETokenizer

    learnt = ByteLevelBPETokenizer()
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    learnt.train_from_iterator(
        [" ".join(words)] * 5, vocab_size=400, special_tokens=marks, show_progress=False
    )
    folder.mkdir()
    learnt.save_model(str(folder))
    tokenizer = transformers.RobertaTokenizer(
        vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt")
    )
    tokenizer.save_pretrained(folder)
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, hidden_size=16,
        num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
    )  # fmt: skip
    transformers.RobertaModel(config).save_pretrained(folder)


@pytest.fixture
def paper(encoder: Path, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The recipe with all that it would download in the folder of the data, and few rows."""
    transformers = pytest.importorskip("transformers")
    from oodometer_lab.models.torch import library as torch_library
    from oodometer_lab.recipes.selective_answering import RECIPE, study, tables
    from oodometer_lab.recipes.selective_answering.lineup import RunConfig

    data = tmp_path / "data"
    shutil.copytree(tiny_data, data)
    for name in ("bert-base-uncased", "bert-large-uncased"):
        shutil.copytree(encoder, data / name)
        config = transformers.BertConfig.from_pretrained(encoder, max_position_embeddings=512)
        transformers.BertModel(config).save_pretrained(data / name)
    write_roberta(data / "roberta-large", words_of(data), transformers)
    write_vectors(data, words_of(data))
    config = RunConfig(
        train_rows=64, test_rows=60, encoder_rows=None, dimensions=300, trained_vectors=False
    )
    monkeypatch.setenv("OODOMETER_DATA", str(data))
    monkeypatch.setitem(RECIPE.config, "paper", config)
    monkeypatch.setattr(torch_library, "idle_cores", lambda: 1)
    monkeypatch.setattr(study, "is_metered", lambda: False)
    monkeypatch.setattr(tables, "_ROUNDS", 1)
    monkeypatch.setattr(tables, "_CHANCE", 20)
    monkeypatch.setattr(tables, "_SAMPLES", 1)
    return RECIPE


def test_it_runs_to_its_tables_without_a_download(paper: Any, tmp_path: Path) -> None:
    from oodometer_lab.models import load_model
    from oodometer_lab.models.embeddings import WordVectors
    from oodometer_lab.recipes import reproduce

    found = reproduce("selective-answering", scale="paper", out=tmp_path / "run")
    assert [model["name"] for model in found.result["models"]] == NAMES
    assert all(model["stands_for"] == model["name"] for model in found.result["models"])
    words = words_of(tmp_path / "data")
    for kind in ("word2vec", "glove"):
        vectors = WordVectors.load(found.folder / f"vectors/{kind}.safetensors")
        assert (set(vectors.words), vectors.dimensions) == (set(words), 300)
    for name in NAMES:
        for one in ("imdb", "sst2"):
            assert (found.folder / f"predictions/{name}.{one}.parquet").is_file()
    settings = json.loads((found.folder / "models/ROBERTA-LARGE/config.json").read_text())
    assert settings["model_type"] == "roberta"
    assert len(load_model(found.folder / "models/BERT-LARGE").predict(["a good film"])) == 1
    claims = {claim["name"]: claim for claim in found.result["claims"]}
    assert claims["bert_base_first"]["evidence"].startswith(
        "best: "
    )  # at this scale it can be looked at
    assert "In the paper alone" not in found.words
    again = reproduce("selective-answering", scale="paper", out=tmp_path / "run")
    assert all(run.kept for run in again.steps)


def test_downloaded_vectors_are_read_again_for_other_texts(
    paper: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the words of the training texts are kept of them."""
    from dataclasses import replace

    def marks() -> dict[str, Any]:
        return {
            step.name: dict(step.settings)
            for step in paper.steps("paper", ())
            if "vectors" in step.name
        }

    before = marks()
    assert before == marks()
    monkeypatch.setitem(paper.config, "paper", replace(paper.config["paper"], train_rows=32))
    assert all(before[name] != settings for name, settings in marks().items())


def test_what_is_not_beside_the_data_is_asked_from_the_hub(
    paper: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oodometer_lab.models.text import encoder as encoders
    from oodometer_lab.recipes.selective_answering.lineup import build, lineup, vectors_source

    asked: list[str] = []

    def ask(kind: str, source: str, **more: Any) -> None:
        asked.append(source)
        raise AskedError

    monkeypatch.setattr(encoders, "load_pretrained", ask)
    entries = {entry.name: entry for entry in lineup("paper", paper.config["paper"])}
    shutil.rmtree(tmp_path / "data" / "bert-large-uncased")
    (tmp_path / "data" / "glove.840B.300d.zip").unlink()
    for name in ("BERT-BASE", "BERT-LARGE", "ROBERTA-LARGE"):
        with pytest.raises(AskedError):
            build(entries[name]).fit(["a", "b"], [0, 1])
    data = str(tmp_path / "data")
    assert asked == [
        f"{data}/bert-base-uncased",
        "google-bert/bert-large-uncased",
        f"{data}/roberta-large",
    ]
    assert vectors_source("glove") == "hub:stanfordnlp/glove/glove.840B.300d.zip"
    assert vectors_source("word2vec") == f"{data}/GoogleNews-vectors-negative300.bin.gz"
    monkeypatch.delenv("OODOMETER_DATA")
    monkeypatch.setattr("oodometer_lab.recipes.kit.sources.data_folder", lambda: None)
    with pytest.raises(AskedError):
        build(entries["BERT-BASE"]).fit(["a", "b"], [0, 1])
    assert asked[-1] == "google-bert/bert-base-uncased"
