"""The work of the steps: word vectors, trainings, what models say of each set and at what cost."""

from __future__ import annotations

import importlib.util
import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any, TypeVar, final

from oodometer.predictions import Predictions
from oodometer.store import write_predictions

from ...datasets import Dataset, imdb, sst2
from ...models import Classifier, FrozenEncoder, load_model
from ...models.embeddings import WordVectors, read_vectors, train_glove, train_word2vec
from ...models.tokens import words
from ...models.torch.library import use_threads
from ..base import Progress, Workspace
from ..kit.sources import passing
from .lineup import Entry, RunConfig, build, vectors_source
from .tables import SETS

MODEL_FILES = ("oodometer_model.json", "weights.safetensors")
T = TypeVar("T")
_JOULES = 3.6e6  # in a kilowatt-hour
_PUE = 1.58  # power usage effectiveness of the world's average data centre of 2018: Strubell et al. (2019)
_TIMED = 256  # texts
_FIELDS = ("inputs", "targets", "ids")
_HOW_COUNTED = "CPU, GPU and memory by codecarbon (counters where the machine has them, else load and design power); "
_HOW_COUNTED += f"PUE {_PUE:g} assumed"


@final
class RunData:
    """The texts of a run, each set read once."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.set = cache(self._read)

    def _read(self, name: str) -> Dataset:
        config = self.config
        if name == "sst2":
            parts = [sst2(split) for split in config.sst2_splits]
            inputs, targets, ids = (
                tuple(chain.from_iterable(getattr(p, f) for p in parts)) for f in _FIELDS
            )
            data = replace(parts[0], inputs=inputs, targets=targets, ids=ids)
            return data if config.test_rows is None else data.sample(config.test_rows, config.seed)
        rows = config.train_rows if name == "train" else config.test_rows
        return imdb("train" if name == "train" else "test").sample(rows, config.seed)

    def names(self) -> dict[str, Any]:
        """Rows and marks of each set, for the result."""
        sets = {name: self.set(name) for name in ("train", *SETS)}
        return {
            name: {"rows": len(texts), "mark": texts.fingerprint} for name, texts in sets.items()
        }


def vectors_file(kind: str) -> str:
    """Where the word vectors of a kind are left."""
    return f"vectors/{kind}.safetensors"


def model_folder(entry: Entry) -> str:
    """Where a trained model is left."""
    return f"models/{entry.name}"


def prediction_files(entry: Entry) -> tuple[str, ...]:
    """Where a model's predictions on each set are left."""
    return tuple(f"predictions/{entry.name}.{name}.parquet" for name in SETS)


def cost_file(entry: Entry) -> str:
    """Where it is left what asking a model took."""
    return f"costs/{entry.name}.json"


def make_vectors(data: RunData, kind: str, workspace: Workspace, progress: Progress) -> None:
    """Train word vectors on the training texts, or read downloaded ones, of which only their words are kept."""
    use_threads()
    config = data.config
    texts = [words(text) for text in data.set("train").inputs]
    if config.trained_vectors:
        train, epochs = {
            "word2vec": (train_word2vec, config.word2vec_epochs),
            "glove": (train_glove, config.glove_epochs),
        }[kind]
        with passing(workspace, f"vectors-{kind}") as checkpoint:
            vectors = train(
                texts,
                dimensions=config.dimensions,
                seed=config.seed,
                epochs=epochs,
                checkpoint=checkpoint,
                progress=progress,
            )
    else:
        vectors = read_vectors(vectors_source(kind), only=sorted(set(chain.from_iterable(texts))))
    vectors.save(workspace / vectors_file(kind))


def train(data: RunData, entry: Entry, workspace: Workspace, progress: Progress) -> None:
    """Train a model on the training texts and save it."""
    use_threads()
    vectors = None
    if entry.vectors is not None:
        vectors = WordVectors.load(workspace / vectors_file(entry.vectors))
    model = build(entry, vectors)
    texts = data.set("train").sample(entry.rows, data.config.seed + entry.number)
    if isinstance(model, FrozenEncoder):
        model.keep_states(workspace / "states")
    with passing(workspace, entry.name) as checkpoint:
        model.fit(
            texts.inputs,
            texts.targets,
            classes=(0, 1),
            checkpoint=checkpoint,
            progress=progress,
        )
        model.save(workspace / model_folder(entry))


def ask(
    data: RunData, entry: Entry, metered: bool, workspace: Workspace, progress: Progress
) -> None:
    """What a model says of each set, and what asking it takes: parameters, seconds, energy where it is ``metered``."""
    threads = use_threads()
    model = load_model(workspace / model_folder(entry))
    cost: dict[str, Any] = {"parameters": model.parameters, "threads": threads, "energy": None}
    for name, file in zip(SETS, prediction_files(entry), strict=True):
        texts = data.set(name)
        # A frozen encoder's states are kept: a few texts are timed without.
        is_frozen = isinstance(model, FrozenEncoder)
        timed = texts.sample(_TIMED, data.config.seed) if is_frozen else texts
        question, started = partial(_asked, model, timed, progress), time.monotonic()
        if metered and name == "imdb":
            record, joules = _metered(question)
            cost["energy"] = {"joules": joules, "rows": len(timed), "words": _HOW_COUNTED}
        else:
            record = question()
        cost[name] = {"rows": len(timed), "seconds": time.monotonic() - started}
        if isinstance(model, FrozenEncoder):
            model.keep_states(workspace / "states")
            record = _asked(model, texts, progress)
            model.keep_states(None)
        write_predictions(record, workspace / file)
    workspace.write_json(cost_file(entry), cost)


def ask_again(data: RunData, entry: Entry, workspace: Workspace, progress: Progress) -> None:
    """What a training behind the first says of each set; its cost is that of the first."""
    use_threads()
    model = load_model(workspace / model_folder(entry))
    if isinstance(model, FrozenEncoder):
        model.keep_states(workspace / "states")
    for name, file in zip(SETS, prediction_files(entry), strict=True):
        write_predictions(_asked(model, data.set(name), progress), workspace / file)


def _asked(model: Classifier, texts: Dataset, progress: Progress) -> Predictions:
    return model.predict(texts.inputs, label=texts.targets, ids=texts.ids, progress=progress)


def is_metered() -> bool:
    """Whether the extra `energy` is installed."""
    return importlib.util.find_spec("codecarbon") is not None


def _metered(work: Callable[[], T]) -> tuple[T, float]:
    """What ``work`` gives, and its energy in joules: PUE (e_dram + e_cpu + e_gpu). Source: Henderson et al. (2020)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from codecarbon import OfflineEmissionsTracker

        logging.getLogger("codecarbon").setLevel(logging.CRITICAL)
        # The country only weighs emissions, which are not read.
        tracker = OfflineEmissionsTracker(
            country_iso_code="USA",
            tracking_mode="process",
            save_to_file=False,
            log_level="critical",
            pue=1.0,
            allow_multiple_runs=True,
        )
        tracker.start()
        done = work()
        tracker.stop()
    spent = tracker.final_emissions_data
    return done, _PUE * _JOULES * (spent.cpu_energy + spent.gpu_energy + spent.ram_energy)
