"""Word vectors: a record of words and a matrix, trained here (word2vec, GloVe) or read from a file or a hub."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast, final

import numpy as np

from oodometer.arrays import Array, Ragged
from oodometer.errors import InputError, UsageError, WorkError, needed

from .artifacts import fingerprint
from .base import Progress
from .tokens import Vocabulary
from .torch.library import from_hub
from .torch.library import torch as load_torch
from .torch.training import Hooks, TrainingConfig, kept_tensors, read_tensors, train, write_tensors


@final
@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors, float32, shape (word, dimension)."""

    words: tuple[str, ...]
    matrix: Array

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            got = f"{len(self.words)} words and shape {self.matrix.shape}"
            raise InputError("one vector a word", got=got, remedy="give a matrix (word, dimension)")

    @property
    def dimensions(self) -> int:
        """Length of the vectors."""
        return int(self.matrix.shape[1])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to one safetensors file."""
        matrix = load_torch().from_numpy(self.matrix)
        return write_tensors(
            Path(path), {"matrix": matrix}, {"words": json.dumps(self.words, ensure_ascii=False)}
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> WordVectors:
        """Read what `save` wrote; `InputError` for another file."""
        tensors, about = read_tensors(path)
        if "matrix" not in tensors or "words" not in about:
            got = "another file"
            raise InputError(
                "word vectors saved by oodometer",
                got=got,
                remedy="train them again",
                file=str(path),
            )
        return cls(tuple(json.loads(about["words"])), tensors["matrix"].numpy())


def read_vectors(
    source: str | os.PathLike[str], *, only: Collection[str] | None = None
) -> WordVectors:
    """Read the vectors of the words in ``only`` (by default all) from a file, or from ``hub:owner/name/file``: of
    word2vec (``.bin`` is binary) or GloVe, also as ``.gz`` and ``.zip``. A word without takes its capitalised form's.
    """
    name = str(source)
    path = _from_hub(name.removeprefix("hub:")) if name.startswith("hub:") else Path(source)
    if not path.is_file():
        got = "no such file"
        raise InputError(
            "a file of word vectors", got=got, remedy="download it or name another", file=str(path)
        )
    spellings = None if only is None else set(only) | {word.capitalize() for word in only}
    inner, stream = _open_file(path)
    vectors: dict[str, Array] = {}
    with stream:
        for word, vector in _entries(stream, inner, path):
            if (spellings is None or word in spellings) and word not in vectors:
                vectors[word] = vector
    if not vectors:
        raise InputError(
            "vectors of some of the words", got="none", remedy="check the file", file=str(path)
        )
    named = (
        (word, vectors.get(word, vectors.get(word.capitalize())))
        for word in (vectors if only is None else only)
    )
    chosen = {word: row for word, row in named if row is not None}
    return WordVectors(tuple(chosen), np.stack(list(chosen.values())).astype(np.float32))


def _open_file(path: Path) -> tuple[str, IO[bytes]]:
    if path.suffix == ".gz":
        return path.stem, cast(IO[bytes], gzip.open(path, "rb"))
    if path.suffix == ".zip":
        archive = zipfile.ZipFile(path)
        files = [entry for entry in archive.namelist() if not entry.endswith("/")]
        if len(files) != 1:
            raise InputError(
                "one file in the archive", got=str(len(files)), remedy="unpack it", file=str(path)
            )
        return files[0], archive.open(files[0])
    return path.name, path.open("rb")


def _entries(stream: IO[bytes], name: str, path: Path) -> Iterator[tuple[str, Array]]:
    first = stream.readline()
    head = first.split()
    if len(head) == 2 and all(part.isdigit() for part in head):
        count, dimensions = map(int, head)
        if name.endswith(".bin"):
            for row in range(1, count + 1):
                letters = bytearray()
                while (letter := stream.read(1)) not in (b" ", b""):
                    letters += letter.strip(b"\n")
                content = stream.read(4 * dimensions)
                if len(content) < 4 * dimensions:
                    got, again = str(row - 1), "download the file again"
                    raise InputError(
                        f"{count} vectors", got=got, remedy=again, file=str(path), row=row
                    )
                yield letters.decode("utf-8", "replace"), np.frombuffer(content, dtype="<f4")
            return
        lines = enumerate(stream, 2)
    else:
        lines, dimensions = enumerate(chain([first], stream), 1), max(len(head) - 1, 0)
    for row, line in lines:
        parts = line.rstrip().split(b" ")
        # Some entries of GloVe hold spaces, so the numbers are counted from the end.
        try:
            vector = np.array(parts[-dimensions:], dtype=np.float32)
        except ValueError:
            vector = np.empty(0, dtype=np.float32)
        if dimensions < 2 or len(parts) <= dimensions or len(vector) != dimensions:
            got, remedy = repr(line[:40].decode("utf-8", "replace")), "download the file again"
            raise InputError(
                f"a word and {dimensions} numbers", got=got, remedy=remedy, file=str(path), row=row
            )
        yield b" ".join(parts[:-dimensions]).decode("utf-8", "replace"), vector


def _from_hub(name: str) -> Path:
    hub = needed("huggingface_hub", "a download from the hub", extra="hf")
    parts = name.split("/", 2)
    if len(parts) != 3:
        raise UsageError(f"expected hub:owner/name/file, got hub:{name}")
    try:
        return Path(hub.hf_hub_download("/".join(parts[:2]), parts[2], **from_hub()))
    except Exception as error:  # no network, no such file: many classes, one remedy
        raise WorkError(
            f"cannot download {name} from the hub ({type(error).__name__}); download the file and give its path"
        ) from error


_WORD2VEC_FILE = "checkpoint.safetensors"
_LEAST_COUNT, _MOST_WORDS = 5, 30_000  # words that occur less often are left out


def train_word2vec(
    texts: Sequence[Sequence[str]],
    *,
    dimensions: int = 100,
    window: int = 5,
    epochs: int = 5,
    least_count: int = _LEAST_COUNT,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> WordVectors:
    """Train vectors on texts that are split into words: log s(v_c . u_w) + sum over 5 random words n of log s(-v_n .
    u_w) over neighbours c of w within ``window``, maximised. The same seed gives the same vectors, also from
    ``checkpoint``, which is written after each pass. Source: Mikolov et al. (2013).
    """
    settings: dict[str, Any] = {
        "vector_size": dimensions,
        "window": window,
        "negative": 5,
        "sg": 1,
        "sample": 1e-4,
    }
    settings |= {
        "min_count": least_count,
        "max_final_vocab": _MOST_WORDS,
        "seed": seed + 1,
        "workers": 1,
    }
    model = needed("gensim.models", "training word2vec", extra="text").Word2Vec(**settings)
    folder = None if checkpoint is None else Path(checkpoint)
    try:
        model.build_vocab(texts)
        content = "" if folder is None else "\n".join(" ".join(text) for text in texts)
        name = fingerprint(
            {**settings, "epochs": epochs}, np.frombuffer(content.encode(), dtype=np.uint8)
        )
        done, state = 0, None if folder is None else kept_tensors(folder / _WORD2VEC_FILE, name)
        if state is not None:  # the state of this very training
            tensors, about = state
            model.wv.vectors[:] = tensors["vectors"].numpy()
            model.syn1neg[:] = tensors["negative"].numpy()
            model.random.set_state(
                ("MT19937", tensors["random"].numpy().astype(np.uint32), int(about["place"]))
            )
            done = int(about["epochs"])
        # The rate falls evenly over all passes, so the passes that are left begin where the others ended.
        rate = model.alpha - (model.alpha - model.min_alpha) * done / epochs
        if done < epochs:
            model.train(
                texts,
                total_examples=model.corpus_count,
                epochs=epochs - done,
                start_alpha=rate,
                callbacks=[_Watch(folder, name, done, epochs, progress)],
            )
    except RuntimeError as error:
        expected = f"words that occur {least_count} times"
        raise InputError(expected, got="none", remedy="give more texts", column="text") from error
    return WordVectors(tuple(model.wv.index_to_key), np.asarray(model.wv.vectors, dtype=np.float32))


class _Watch:
    """What gensim calls as it trains: writes a checkpoint and tells the progress after each pass."""

    def __init__(
        self, folder: Path | None, name: str, done: int, total: int, progress: Progress | None
    ) -> None:
        self.folder, self.name, self.done, self.total, self.progress = (
            folder,
            name,
            done,
            total,
            progress,
        )

    def on_train_begin(self, model: Any) -> None:
        """Nothing is done."""

    on_epoch_begin = on_train_end = on_train_begin

    def on_epoch_end(self, model: Any) -> None:
        """Keep the state behind a pass."""
        self.done += 1
        if self.folder is not None:
            torch = load_torch()  # both matrices and the state of the random numbers; gensim itself would save a pickle
            _, keys, position, _, _ = model.random.get_state()
            tensors = {
                "vectors": torch.from_numpy(model.wv.vectors),
                "negative": torch.from_numpy(model.syn1neg),
            }
            tensors["random"] = torch.from_numpy(keys.astype(np.int64))
            self.folder.mkdir(parents=True, exist_ok=True)
            about = {"fingerprint": self.name, "epochs": str(self.done), "place": str(position)}
            write_tensors(self.folder / _WORD2VEC_FILE, tensors, about)
        if self.progress is not None:
            self.progress(self.done, self.total)


BATCH = 32_768  # pairs a step


def cooccurrences(sequences: Ragged, words: int, window: int) -> tuple[Array, Array, Array]:
    """X_ij = sum of 1/distance of words i and j within ``window``, as (i, j, X), i <= j; numbers below 2 left out."""
    from scipy.sparse import coo_array, csr_array

    text = np.repeat(np.arange(len(sequences.offsets) - 1), np.diff(sequences.offsets))
    ids = sequences.values.astype(np.int64)
    total: Any = csr_array((words, words), dtype=np.float64)
    for distance in range(1, window + 1):
        left, right = ids[:-distance], ids[distance:]
        near = (text[:-distance] == text[distance:]) & (left > 1) & (right > 1)
        low, high = np.minimum(left, right)[near], np.maximum(left, right)[near]
        total = (
            total
            + coo_array(
                (np.full(len(low), 1 / distance), (low, high)), shape=(words, words)
            ).tocsr()
        )
    pairs = total.tocoo()
    return pairs.row.astype(np.int64), pairs.col.astype(np.int64), pairs.data


def train_glove(
    texts: Sequence[Sequence[str]],
    *,
    dimensions: int = 100,
    window: int = 8,
    epochs: int = 6,
    least_count: int = _LEAST_COUNT,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> WordVectors:
    """Train vectors on texts that are split into words: u + v of the smallest sum over pairs of f(X_ij) (u_i . v_j +
    b_i + c_j - log X_ij)^2, f(X) = min(1, (X/10)^0.75), X the pairs within ``window`` by 1/distance. Unlike the paper,
    for some million words, f is 1 from 10 on and Adam takes the place of AdaGrad. The folder ``checkpoint`` is written
    after each pass. Source: Pennington et al. (2014).
    """
    vocabulary = Vocabulary.learn(texts, most=_MOST_WORDS, least_count=least_count)
    pairs = cooccurrences(vocabulary.encode(texts), len(vocabulary), window)
    if not len(pairs[2]):
        expected = f"words that occur {least_count} times near each other"
        raise InputError(expected, got="none", remedy="give more texts", column="text")
    training = TrainingConfig(
        epochs=epochs,
        batch_size=BATCH,
        learning_rate=0.04,
        seed=seed,
        clip=None,
        epsilon=1e-12,
    )
    factors = fit_factors(
        pairs,
        len(vocabulary),
        dimensions=dimensions,
        training=training,
        checkpoint=checkpoint,
        progress=progress,
    )
    matrix = (factors[0] + factors[1])[2:, :-1]
    return WordVectors(vocabulary.words, np.ascontiguousarray(matrix, dtype=np.float32))


def fit_factors(
    pairs: tuple[Array, Array, Array],
    words: int,
    *,
    dimensions: int,
    training: TrainingConfig,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> tuple[Array, Array]:
    """The two factors of `train_glove`, each of shape (word, dimension + 1) with the bias in the last column."""
    torch = load_torch()
    i, j, x = pairs
    rng = torch.Generator().manual_seed(training.seed)
    shape = (words, dimensions + 1)  # the last column is the bias
    u, v = (
        torch.nn.Parameter((torch.rand(shape, generator=rng) - 0.5) / dimensions) for _ in range(2)
    )
    row, column = torch.from_numpy(i), torch.from_numpy(j)
    logs = torch.from_numpy(np.log(x)).float()
    weights = torch.from_numpy(np.minimum(1.0, (x / 10.0) ** 0.75)).float()

    def loss(batch: Array) -> Any:
        swap = torch.from_numpy(batch >= len(x))
        at = torch.from_numpy(batch % len(x))
        first, second = (
            torch.where(swap, column[at], row[at]),
            torch.where(swap, row[at], column[at]),
        )
        centre, near = u[first], v[second]
        error = (centre[:, :-1] * near[:, :-1]).sum(1) + centre[:, -1] + near[:, -1] - logs[at]
        return (weights[at] * error.square()).sum()

    settings = {"kind": "glove", "words": words, "dimensions": dimensions}
    net, batches = (
        torch.nn.ParameterDict({"u": u, "v": v}),
        _Shuffled(len(x), training.batch_size, rng),
    )
    name, folder = fingerprint(settings, i, j, x), None if checkpoint is None else Path(checkpoint)
    train(
        net,
        loss,
        batches,
        training,
        name=name,
        checkpoint=folder,
        hooks=Hooks(progress, keep_epochs=True),
    )
    return u.detach().numpy(), v.detach().numpy()


@final
class _Shuffled:
    """All pairs once an epoch, in a new order; a swapped one is its position + the number of pairs."""

    def __init__(self, pairs: int, size: int, rng: Any) -> None:
        self.pairs, self.size, self.rng = pairs, size, rng
        # of the random numbers, at the beginning of each epoch that is known
        self.begins = [rng.get_state()]

    def of_epoch(self, epoch: int) -> list[Array]:
        """Replayed from the beginning of the epoch, or of the last before it that is known."""
        torch, batches = load_torch(), []
        for index in range(min(epoch, len(self.begins) - 1), epoch + 1):
            self.rng.set_state(self.begins[index])
            order = torch.randperm(self.pairs, generator=self.rng)
            parts = order.split(self.size)
            batches = [
                (at + self.pairs * (torch.rand(len(at), generator=self.rng) < 0.5)).numpy()
                for at in parts
            ]
            if index + 1 == len(self.begins):
                self.begins.append(self.rng.get_state())
        return batches

    def steps(self, epochs: int) -> list[int]:
        """As many in each."""
        return [-(-self.pairs // self.size)] * epochs
