"""The ten models at each scale: what each is, what it stands for in the paper, how it is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, final

from oodometer.arrays import present
from oodometer.errors import InputError, UsageError

from ...datasets import data_folder
from ...datasets.files import hub_answers
from ...models import Classifier
from ...models.artifacts import kind_named
from ...models.embeddings import WordVectors
from ...models.torch.training import TrainingConfig
from ..kit.sources import check_pretrained, located, packaged_minilm, sizes_of


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is: IMDb texts, splits of SST-2, training texts of the heads on MiniLM, dimensions and passes of
    word vectors, trainings of each model over words and of each head.
    """

    train_rows: int | None = None
    test_rows: int | None = None
    sst2_splits: tuple[str, ...] = ("test", "dev", "train")
    encoder_rows: int | None = 4_000
    dimensions: int = 100
    word2vec_epochs: int = 3
    glove_epochs: int = 6
    trained_vectors: bool = True
    trainings: int = 1
    encoder_trainings: int = 1
    seed: int = 0


RUN_CONFIGS = {
    "small": RunConfig(trainings=5, encoder_trainings=3),
    "tiny": RunConfig(
        train_rows=3_000,
        test_rows=600,
        sst2_splits=("dev",),
        encoder_rows=400,
        dimensions=50,
        word2vec_epochs=1,
        glove_epochs=2,
    ),
    "paper": RunConfig(
        sst2_splits=("test",), encoder_rows=None, dimensions=300, trained_vectors=False
    ),
}


@final
@dataclass(frozen=True)
class Entry:
    """A model of the line-up: which of the paper's it ``stands_for``, how it is made, how often it is trained, which of
    these ``trainings`` it is (``number``, from 0), and its seconds (``weight``).
    """

    name: str
    stands_for: str
    kind: str
    family: str
    options: Mapping[str, Any] = field(default_factory=dict)
    vectors: str | None = None
    training: TrainingConfig | None = None
    rows: int | None = None
    trainings: int = 1
    number: int = 0
    weight: float = 30.0

    def again(self) -> Iterator[Entry]:
        """The trainings behind the first, each from a seed of its own and on texts drawn by it."""
        for number in range(1, self.trainings):
            training = self.training
            if training is not None:
                training = replace(training, seed=training.seed + number)
            name = f"{self.name}-seed-{number}"
            yield replace(self, name=name, training=training, trainings=1, number=number)

    def settings(self) -> dict[str, Any]:
        """All that the trained weights depend on, ready for JSON."""
        # What is as usual is left out, so that an option that is added later does not train everything anew.
        training = None
        if self.training is not None:
            usual = TrainingConfig()
            training = {k: v for k, v in asdict(self.training).items() if v != getattr(usual, k)}
        out: dict[str, Any] = {
            "kind": self.kind,
            "options": dict(self.options),
            "vectors": self.vectors,
        }
        out |= {"training": training, "rows": self.rows}
        return out | ({"number": self.number} if self.number else {})


def lineup(scale: str, config: RunConfig) -> tuple[Entry, ...]:
    """The ten models of a scale, in the paper's order of age and size; `UsageError` for an unknown scale."""
    scales, sizes = sizes_of(__file__), vars(config)
    if scale not in scales:
        raise UsageError(f"unknown scale {scale!r}; expected {' or '.join(scales)}")
    chosen = scales["small" if scale == "tiny" else scale]
    return tuple(_entry(values, sizes) for values in chosen)


def _entry(values: Mapping[str, Any], sizes: Mapping[str, Any]) -> Entry:
    """An entry from its values in ``sizes.toml``; its rows, how often it is trained, and numbers of its training may be
    names of sizes.
    """
    training, plan = None, values.get("training")
    if plan is not None:
        named = {name: sizes.get(value, value) for name, value in plan.items()}
        training = TrainingConfig(**{**named, "seed": sizes["seed"]})
    rows = sizes.get(values.get("rows", ""))
    trainings = sizes.get(values.get("trainings", ""), 1)
    known = {"rows": rows, "training": training, "trainings": trainings}
    return Entry(**{"stands_for": values["name"], **values, **known})


def build(entry: Entry, vectors: WordVectors | None = None) -> Classifier:
    """The untrained model of an entry."""
    model: Classifier = present(kind_named(entry.kind))(**_options_of(entry, vectors))
    return model


def _options_of(entry: Entry, vectors: WordVectors | None) -> dict[str, Any]:
    """What a model is made of."""
    options = located(entry.options)
    if entry.vectors is not None:
        options["vectors"] = vectors
    if entry.training is not None:
        options["training"] = entry.training
    return options


_GOOGLE, _GLOVE = "GoogleNews-vectors-negative300", "glove.840B.300d"
VECTORS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "word2vec": (
        (f"{_GOOGLE}.bin", f"{_GOOGLE}.bin.gz"),
        f"hub:LoganKilpatrick/{_GOOGLE}/{_GOOGLE}.bin.gz",
    ),
    "glove": ((f"{_GLOVE}.txt", f"{_GLOVE}.zip"), f"hub:stanfordnlp/glove/{_GLOVE}.zip"),
}
"""Downloaded vectors of the paper's scale: a file in the folder of OODOMETER_DATA, else a file on the hub."""


def vectors_source(kind: str) -> str:
    """Path of the downloaded vectors where they stand among the data, else their place on the hub."""
    files, hub = VECTORS[kind]
    folder = data_folder()
    paths = [] if folder is None else [folder / name for name in files]
    return next((str(path) for path in paths if path.is_file()), hub)


def check_vectors(kind: str) -> None:
    """`InputError` where the downloaded vectors are not among the data and the hub does not answer."""
    if vectors_source(kind).startswith("hub:") and not hub_answers():
        files = " or ".join(VECTORS[kind][0])
        got = "none beside the data, and the hub does not answer"
        raise InputError(
            f"the word vectors {files}",
            got=got,
            remedy="put the file into the folder of OODOMETER_DATA",
        )


def pretrained_of(entry: Entry) -> dict[str, Callable[[], Any]]:
    """A check for the pretrained network that a model starts from, by its name; none for the others."""
    source = entry.options.get("source")
    if source is None:
        return {}
    if source == "minilm":
        return {"MiniLM": partial(check_pretrained, packaged_minilm())}
    return {str(source): partial(check_pretrained, str(source))}


def needs_of(
    entries: Sequence[Entry], config: RunConfig, data: Mapping[str, Callable[[], Any]]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every data set, then the vectors and the pretrained networks of the models, each once."""
    yield from data.items()
    checks: dict[str, Callable[[], Any]] = {}
    for entry in entries:
        if entry.vectors is not None and not config.trained_vectors:
            checks[f"{entry.vectors} vectors"] = partial(check_vectors, entry.vectors)
        checks |= pretrained_of(entry)
    yield from checks.items()
