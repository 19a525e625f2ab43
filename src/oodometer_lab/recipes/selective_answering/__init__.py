"""Selective answering: ten models trained on IMDb, judged on IMDb and SST-2 by DiSCA. Mishra et al. (2022)."""

from __future__ import annotations

import importlib.util
import logging
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import chain
from typing import Any, TypeVar, final

from oodometer.errors import UsageError
from oodometer.predictions import Predictions
from oodometer.store import write_predictions

from ...datasets import Dataset, imdb, sst2
from ...models import Classifier, FrozenEncoder, load_model
from ...models.embeddings import WordVectors, read_vectors, train_glove, train_word2vec
from ...models.tokens import words
from ...models.torch.library import torch, use_threads
from ..base import LACKS, Progress, Recipe, Step, Workspace, check_all
from ..kit.publish import write_result
from ..kit.sources import passing
from . import findings as found
from . import lineup as entries
from . import tables
from .lineup import Entry, RunConfig

__all__ = ["RECIPE", "SelectiveAnswering"]

SETS = tables.SETS
T = TypeVar("T")
_JOULES = 3.6e6  # in a kilowatt-hour
_PUE = 1.58  # power usage effectiveness of the world's average data centre of 2018: Strubell et al. (2019)
_TIMED = 256  # texts
_FIELDS = ("inputs", "targets", "ids")
_HOW_COUNTED = "CPU, GPU and memory by codecarbon (counters where the machine has them, else load and design power); "
_HOW_COUNTED += f"PUE {_PUE:g} assumed"


@final
class SelectiveAnswering(Recipe):
    """The recipe."""

    name = "selective-answering"
    title = "May this model answer, or should it abstain?"
    citation = "mishra2022"
    findings, form, configs = found, tables.FORM, entries.RUN_CONFIGS

    def models(self, scale: str) -> tuple[str, ...]:
        """Names of the ten models."""
        return tuple(entry.name for entry in entries.lineup(scale, self.config[scale]))

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Vectors, then each model's training and prediction, then what is read off them."""
        torch()  # a missing extra is said before anything is read
        config = self.config[scale]
        chosen = [
            entry for entry in entries.lineup(scale, config) if not only or entry.name in only
        ]
        data = _Data(config)
        if len(chosen) < 2:
            raise UsageError(
                f"models are compared, so two are needed, got {chosen[0].name} alone; add another --only"
            )
        try:
            data.names()
        except LACKS:
            titles = {"IMDb, training set": "train", "IMDb, test set": "imdb", "SST-2": "sst2"}
            loads = {title: partial(data.set, name) for title, name in titles.items()}
            # not the first thing that is missing, but all
            check_all(entries.needs_of(chosen, config, loads))
            raise
        out = [
            self._vectors(kind, config, data)
            for kind in entries.VECTORS
            if any(e.vectors == kind for e in chosen)
        ]
        for entry in chosen:
            out += [self._train(entry, data), self._predict(entry, data)]
        again = [training for entry in chosen for training in entry.again()]
        for training in sorted(again, key=lambda training: training.number):
            out += [self._train(training, data), self._predict_again(training, data)]
        needs = tuple(f"predict-{entry.name}" for entry in (*chosen, *again))
        about = {
            "models": [e.name for e in chosen],
            "scale": scale,
            "sizes": asdict(config),
            "data": data.names(),
        }

        def tabulate(workspace: Workspace, progress: Progress) -> None:
            write_result(
                self, workspace, tables.tabulate(workspace, scale, chosen, about, progress)
            )

        outputs, judging = (
            ("compare.json", "result.json", "result.md"),
            {**about, "form": tables.FORM},
        )
        out.append(
            Step("tables", "judging the models", outputs, tabulate, judging, needs, weight=100)
        )
        settings, files = {"form": found.FORM}, found.FIGURES.files("report.html")
        out.append(Step("figures", "drawing", files, found.draw, settings, ("tables",), weight=10))
        return out

    def _vectors(self, kind: str, config: RunConfig, data: _Data) -> Step:
        # Of downloaded vectors too only the words of the training texts are kept.
        options: dict[str, Any] = {"kind": kind}
        if config.trained_vectors:  # by which models are trained, however often
            often = ("trainings", "encoder_trainings")
            options = {name: size for name, size in asdict(config).items() if name not in often}
        settings = {**options, "data": data.set("train").fingerprint}

        def work(workspace: Workspace, progress: Progress) -> None:
            use_threads()
            split = [words(text) for text in data.set("train").inputs]
            if not config.trained_vectors:
                vectors = read_vectors(
                    entries.vectors_source(kind), only=sorted(set(chain.from_iterable(split)))
                )
            else:
                glove, word2vec = (
                    (train_glove, config.glove_epochs),
                    (train_word2vec, config.word2vec_epochs),
                )
                train, epochs = word2vec if kind == "word2vec" else glove
                with passing(workspace, f"vectors-{kind}") as checkpoint:
                    vectors = train(
                        split,
                        dimensions=config.dimensions,
                        seed=config.seed,
                        epochs=epochs,
                        checkpoint=checkpoint,
                        progress=progress,
                    )
            vectors.save(workspace / f"vectors/{kind}.safetensors")

        done = "training" if config.trained_vectors else "reading"
        checks = (
            {}
            if config.trained_vectors
            else {f"{kind} vectors": partial(entries.check_vectors, kind)}
        )
        files = (f"vectors/{kind}.safetensors",)
        return Step(
            f"vectors-{kind}", f"{done} {kind}", files, work, settings, weight=80, checks=checks
        )

    def _train(self, entry: Entry, data: _Data) -> Step:
        def work(workspace: Workspace, progress: Progress) -> None:
            use_threads()
            path = workspace / f"vectors/{entry.vectors}.safetensors"
            model = entries.build(entry, None if entry.vectors is None else WordVectors.load(path))
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
                model.save(workspace / f"models/{entry.name}")

        files = tuple(
            f"models/{entry.name}/{name}"
            for name in ("oodometer_model.json", "weights.safetensors")
        )
        needs = (f"vectors-{entry.vectors}",) if entry.vectors else ()
        settings = {**entry.settings(), "data": data.set("train").fingerprint}
        about = f"training {entry.name}"
        checks = entries.pretrained_of(entry)
        return Step(
            f"train-{entry.name}",
            about,
            files,
            work,
            settings,
            needs,
            weight=entry.weight,
            checks=checks,
        )

    def _predict(self, entry: Entry, data: _Data) -> Step:
        metered = is_metered()

        def work(workspace: Workspace, progress: Progress) -> None:
            threads = use_threads()
            model = load_model(workspace / f"models/{entry.name}")
            cost: dict[str, Any] = {
                "parameters": model.parameters,
                "threads": threads,
                "energy": None,
            }
            for name in SETS:
                texts = data.set(name)
                # A frozen encoder's states are kept: a few texts are timed without.
                is_frozen = isinstance(model, FrozenEncoder)
                timed = texts.sample(_TIMED, data.config.seed) if is_frozen else texts
                ask, started = partial(_asked, model, timed, progress), time.monotonic()
                if metered and name == "imdb":
                    record, joules = _metered(ask)
                    cost["energy"] = {"joules": joules, "rows": len(timed), "words": _HOW_COUNTED}
                else:
                    record = ask()
                cost[name] = {"rows": len(timed), "seconds": time.monotonic() - started}
                if isinstance(model, FrozenEncoder):
                    model.keep_states(workspace / "states")
                    record = _asked(model, texts, progress)
                    model.keep_states(None)
                write_predictions(record, workspace / f"predictions/{entry.name}.{name}.parquet")
            workspace.write_json(f"costs/{entry.name}.json", cost)

        files = (
            *(f"predictions/{entry.name}.{name}.parquet" for name in SETS),
            f"costs/{entry.name}.json",
        )
        settings = {"data": [data.set(name).fingerprint for name in SETS], "metered": metered}
        about = f"asking {entry.name}"
        return Step(
            f"predict-{entry.name}",
            about,
            files,
            work,
            settings,
            (f"train-{entry.name}",),
            entry.weight / 5,
        )

    def _predict_again(self, entry: Entry, data: _Data) -> Step:
        """What a training behind the first says; its cost is that of the first."""

        def work(workspace: Workspace, progress: Progress) -> None:
            use_threads()
            model = load_model(workspace / f"models/{entry.name}")
            if isinstance(model, FrozenEncoder):
                model.keep_states(workspace / "states")
            for name in SETS:
                record = _asked(model, data.set(name), progress)
                write_predictions(record, workspace / f"predictions/{entry.name}.{name}.parquet")

        return Step(
            f"predict-{entry.name}",
            f"asking {entry.name}",
            files=tuple(f"predictions/{entry.name}.{name}.parquet" for name in SETS),
            work=work,
            settings={"data": [data.set(name).fingerprint for name in SETS]},
            needs=(f"train-{entry.name}",),
            weight=entry.weight / 5,
        )


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


@final
class _Data:
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


RECIPE = SelectiveAnswering()
