"""Word vectors: co-occurrences against a loop, GloVe's optimum, word2vec's neighbours, files of every form."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.models.embeddings import (
    WordVectors,
    cooccurrences,
    fit_factors,
    read_vectors,
    train_glove,
    train_word2vec,
)
from oodometer_lab.models.torch.batches import ragged
from oodometer_lab.models.torch.training import TrainingConfig

from ..snapshots import raises_snapshot

WORDS = ("king", "queen", "the")
MATRIX = np.array([[1.0, -0.5, 2.0], [0.25, 3.0, 0.0], [0.5, 0.5, 0.5]], dtype=np.float32)


def test_cooccurrences_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 7, size=rng.integers(0, 9)).tolist() for _ in range(30)]
    expected: dict[tuple[int, int], float] = {}
    for row in rows:
        for i, one in enumerate(row):
            for j in range(i + 1, min(i + 4, len(row))):
                if one > 1 and row[j] > 1:
                    key = (min(one, row[j]), max(one, row[j]))
                    expected[key] = expected.get(key, 0.0) + 1 / (j - i)
    i, j, x = cooccurrences(ragged(rows), 7, window=3)
    found = dict(zip(zip(i.tolist(), j.tolist(), strict=True), x.tolist(), strict=True))
    assert found.keys() == expected.keys()
    assert all(abs(found[key] - expected[key]) < 1e-9 for key in expected)


def test_glove_reaches_the_logarithms(torch: Any) -> None:
    """With more dimensions than words, u_i . v_j + b_i + c_j can equal log X_ij, in both directions."""
    rng = np.random.default_rng(0)
    i, j = (index.ravel() for index in np.triu_indices(6))
    x = np.exp(rng.normal(size=len(i)))
    config = TrainingConfig(epochs=1500, learning_rate=0.05, seed=1, clip=None, epsilon=1e-12)
    u, v = fit_factors((i, j, x), 6, dimensions=8, training=config)
    fitted = u[:, :-1] @ v[:, :-1].T + u[:, -1:] + v[:, -1]
    np.testing.assert_allclose(fitted[i, j], np.log(x), atol=0.05)
    np.testing.assert_allclose(fitted[j, i], np.log(x), atol=0.05)


def test_glove_is_seeded_and_puts_like_words_together(torch: Any) -> None:
    rng = np.random.default_rng(0)
    groups = [("red", "blue", "green"), ("one", "two", "three"), ("cat", "dog", "cow")]
    texts = [[str(word) for word in rng.choice(groups[k % 3], 6)] for k in range(300)]
    made, again, other = (
        train_glove(texts, dimensions=4, window=3, epochs=60, least_count=1, seed=seed)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(made.matrix, again.matrix)
    assert not np.array_equal(made.matrix, other.matrix)
    at = {word: i for i, word in enumerate(made.words)}
    products = made.matrix @ made.matrix.T
    assert products[at["red"], at["blue"]] > products[at["red"], at["two"]]
    assert products[at["cat"], at["dog"]] > products[at["cat"], at["red"]]


def test_glove_needs_neighbours(torch: Any) -> None:
    with raises_snapshot(InputError):
        train_glove([["a"], ["b"]])


def test_word2vec_is_seeded_and_puts_like_words_together() -> None:
    pytest.importorskip("gensim")
    rng = np.random.default_rng(0)
    texts = [
        [rng.choice(["red", "blue"]), rng.choice(["car", "bike"]), *rng.choice(["a", "b", "c"], 3)]
        for _ in range(2000)
    ]
    texts = [[str(word) for word in text] for text in texts]
    made = train_word2vec(texts, dimensions=8, window=1, epochs=5, seed=3)
    assert set(made.words) == {"red", "blue", "car", "bike", "a", "b", "c"}
    again = train_word2vec(texts, dimensions=8, window=1, epochs=5, seed=3)
    np.testing.assert_array_equal(made.matrix, again.matrix)
    with raises_snapshot(InputError):
        train_word2vec([["a", "b"]])


class StoppedError(Exception):
    """Raised by a progress bar, as Ctrl-C would be."""


def halted(train: Any, texts: list[list[str]], folder: Path, share: float, **more: Any) -> None:
    """A training that stops when a share of it is done."""

    def progress(done: int, total: int) -> None:
        if done / total > share:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(texts, checkpoint=folder, progress=progress, **more)


@pytest.mark.parametrize("train", [train_word2vec, train_glove], ids=["word2vec", "glove"])
def test_an_interrupted_training_goes_on_to_the_same_vectors(
    train: Any, torch: Any, tmp_path: Path
) -> None:
    if train is train_word2vec:
        pytest.importorskip("gensim")
    rng = np.random.default_rng(0)
    texts = [[f"w{i}" for i in rng.integers(0, 60, 20)] for _ in range(600)]
    options: dict[str, Any] = {"dimensions": 8, "epochs": 4, "least_count": 1, "seed": 2}
    whole = train(texts, **options)
    seen: list[tuple[int, int]] = []
    for share in (0.3, 0.7):  # at the second pass, at the third
        folder = tmp_path / f"{share}"
        halted(train, texts, folder, share, **options)
        seen.clear()
        again = train(
            texts, checkpoint=folder, progress=lambda done, of: seen.append((done, of)), **options
        )
        assert again.words == whole.words
        np.testing.assert_array_equal(again.matrix, whole.matrix)
        assert seen[0][0] > 0.2 * seen[0][1]  # the passes before were not made again
        assert seen[-1][0] == seen[-1][1]
    seen.clear()
    np.testing.assert_array_equal(train(texts, checkpoint=folder, **options).matrix, whole.matrix)
    assert seen == []  # the last checkpoint is the whole


@pytest.mark.parametrize("train", [train_word2vec, train_glove], ids=["word2vec", "glove"])
def test_another_trainings_checkpoint_is_not_taken(train: Any, torch: Any, tmp_path: Path) -> None:
    if train is train_word2vec:
        pytest.importorskip("gensim")
    rng = np.random.default_rng(0)
    texts = [[f"w{i}" for i in rng.integers(0, 30, 20)] for _ in range(200)]
    options: dict[str, Any] = {"dimensions": 8, "epochs": 3, "least_count": 1}
    whole = train(texts, seed=2, **options)
    folder = tmp_path / "checkpoint"
    for other in (
        {"texts": texts[::-1], "seed": 2},
        {"texts": texts[:-1], "seed": 2},
        {"texts": texts, "seed": 3},
    ):
        chosen = dict(other)
        if train is train_glove and chosen["texts"] == texts[::-1]:
            continue  # counts of neighbours do not depend on the order of the texts
        train(chosen.pop("texts"), checkpoint=folder, **options, **chosen)
        np.testing.assert_array_equal(
            train(texts, seed=2, checkpoint=folder, **options).matrix, whole.matrix
        )
    (file,) = folder.iterdir()
    file.write_bytes(b"cut off")
    with pytest.warns(UserWarning, match="it is made anew"):
        again = train(texts, seed=2, checkpoint=folder, **options)
    np.testing.assert_array_equal(again.matrix, whole.matrix)


def write_text(path: Path, head: bool) -> Path:
    lines = [
        f"{word} {' '.join(f'{x:g}' for x in row)}"
        for word, row in zip(WORDS, MATRIX.tolist(), strict=True)
    ]
    path.write_text("\n".join([*(["3 3"] if head else []), *lines]) + "\n", encoding="utf-8")
    return path


def write_binary(path: Path, newlines: bool = True) -> Path:
    parts = [b"3 3\n"]
    for word, row in zip(WORDS, MATRIX, strict=True):
        parts += [word.encode(), b" ", row.astype("<f4").tobytes(), b"\n" if newlines else b""]
    path.write_bytes(b"".join(parts))
    return path


@pytest.mark.parametrize("form", ["glove.txt", "word2vec.txt", "bin", "bin-bare", "bin.gz", "zip"])
def test_files_of_every_form(form: str, tmp_path: Path) -> None:
    if form == "bin.gz":
        path = tmp_path / "v.bin.gz"
        path.write_bytes(gzip.compress(write_binary(tmp_path / "v.bin").read_bytes()))
    elif form == "zip":
        path = tmp_path / "v.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(write_text(tmp_path / "v.txt", head=False), "v.txt")
    elif form.startswith("bin"):
        path = write_binary(tmp_path / "v.bin", newlines=form == "bin")
    else:
        path = write_text(tmp_path / "v.txt", head=form == "word2vec.txt")
    found = read_vectors(path)
    assert found.words == WORDS
    np.testing.assert_array_equal(found.matrix, MATRIX)
    assert read_vectors(path, only=["queen", "unknown"]).words == ("queen",)


def test_binary_files_against_gensim(tmp_path: Path) -> None:
    keyed = pytest.importorskip("gensim.models").KeyedVectors(3)
    keyed.add_vectors(list(WORDS), MATRIX)
    keyed.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.bin").matrix, MATRIX)


def test_capitals_stand_in_and_names_with_spaces_are_read(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("Paris 1 2\nat name@domain 3 4\n")
    assert read_vectors(path, only=["paris"]).matrix.tolist() == [[1, 2]]
    assert read_vectors(path).words == ("Paris", "at name@domain")


def test_bad_files_are_one_line(tmp_path: Path) -> None:
    with raises_snapshot(InputError):
        read_vectors(tmp_path / "none.txt")
    whole = write_binary(tmp_path / "v.bin").read_bytes()
    (tmp_path / "v.bin").write_bytes(whole[:-6])
    with raises_snapshot(InputError):
        read_vectors(tmp_path / "v.bin")
    (tmp_path / "v.txt").write_text("a 1 2\nb 1 x\n")
    with raises_snapshot(InputError):
        read_vectors(tmp_path / "v.txt")
    with raises_snapshot(InputError):
        read_vectors(write_text(tmp_path / "v.txt", head=False), only=["nothing"])
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a", "a 1 2")
        archive.writestr("b", "b 1 2")
    with raises_snapshot(InputError):
        read_vectors(tmp_path / "two.zip")


def test_hub_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    path = write_text(tmp_path / "v.txt", head=False)
    asked: list[tuple[str, str]] = []

    def download(repository: str, name: str, **where: bool) -> str:
        asked.append((repository, name))
        return str(path)

    monkeypatch.setattr(hub, "hf_hub_download", download)
    assert read_vectors("hub:owner/name/deep/v.txt").words == WORDS
    assert asked == [("owner/name", "deep/v.txt")]
    with pytest.raises(UsageError, match="hub:owner/name/file"):
        read_vectors("hub:owner/name")


def test_saved_vectors_read_back(torch: Any, tmp_path: Path) -> None:
    path = WordVectors(WORDS, MATRIX).save(tmp_path / "v.safetensors")
    found = WordVectors.load(path)
    assert found.words == WORDS
    np.testing.assert_array_equal(found.matrix, MATRIX)
    path.write_bytes(b"nonsense")
    with raises_snapshot(InputError):
        WordVectors.load(path)
    with raises_snapshot(InputError):
        WordVectors(("a",), MATRIX)
