"""Contract checks of live models: what every classifier must obey that is trained, asked, saved and loaded."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from oodometer.arrays import present, softmax
from oodometer.errors import InputError, UsageError
from oodometer.testing.methods import refuses

from ..datasets import Dataset
from ..models.artifacts import DESCRIPTION, kind_named
from ..models.base import Classifier, Request

CLOSE = 1e-4  # of logits: the order of samples and their batches may change the last digits


def check_model(make: Callable[[], Classifier], data: Dataset) -> None:
    """Train, ask, save and load a model on a small labelled data set, and see that it keeps the contract.

    make : Gives an untrained model, the same each time. data : At least 8 labelled examples that it reads, of two
    classes or more; of a ranker, dialogues that have as many candidates each. Raises `AssertionError` with the name of
    the rule that was broken.
    """
    model, ranks = make(), data.modality == "dialogue"
    refuses(lambda: model.ask(data), "an untrained model refuses to be asked", UsageError)
    foreign = Dataset(
        "other", np.zeros((len(data), 8, 8, 3), dtype=np.uint8), data.targets, modality="image"
    )
    if data.modality == "image":
        foreign = Dataset("other", ("a b c",) * len(data), data.targets)
    refuses(lambda: make().fit(foreign), "inputs of another modality are refused", InputError)
    assert model.fit(data) is model, "fit returns the model itself"
    assert ranks or model.classes == tuple(sorted(set(data.targets))), (
        "classes are sorted where none are given"
    )
    logits = _check_answers(model, data, ranks)
    _check_more(model, data)
    assert np.array_equal(make().fit(data).logits(data), logits), (
        "the same data and options give the same weights"
    )
    with tempfile.TemporaryDirectory() as folder:
        _check_saving(model, data, logits, Path(folder))
    # interrupted in the middle, a training goes on to the weights it would have had
    steps: list[int] = []
    make().fit(data, progress=lambda done, total: steps.append(done))
    stop = max(1, len(steps) // 2)

    def interrupt(done: int, total: int) -> None:
        if done == stop and total > 1:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        with suppress(KeyboardInterrupt):
            make().fit(data, checkpoint=folder, progress=interrupt)
        resumed = make().fit(data, checkpoint=folder).logits(data)
    assert np.allclose(resumed, logits, atol=CLOSE), (
        "an interrupted training goes on to the same weights"
    )


def _check_answers(model: Classifier, data: Dataset, ranks: bool) -> Any:
    logits, rows = model.logits(data), len(data)
    entries = len(data.inputs[0].candidates) if ranks else len(model.classes)
    assert logits.shape == (rows, entries), "logits have the shape (sample, class)"
    assert logits.dtype == np.float32, "logits are float32"
    assert np.isfinite(logits).all(), "logits are finite"
    assert np.array_equal(model.logits(data), logits), "asked twice, it says the same"
    backwards = model.logits(data.take(range(rows - 1, -1, -1)))[::-1]
    assert np.allclose(backwards, logits, atol=CLOSE), "the order of the samples changes nothing"
    halves = [model.logits(data.take(half)) for half in (range(rows // 2), range(rows // 2, rows))]
    assert np.allclose(np.concatenate(halves), logits, atol=CLOSE), (
        "a sample does not depend on its batch"
    )
    record = model.predict(data)
    assert ranks or record.classes == model.classes, "the record has the model's classes"
    p = (
        record.candidate_probabilities.values.reshape(logits.shape)
        if ranks
        else record.probabilities
    )
    assert np.allclose(present(p), softmax(logits), atol=1e-6), (
        "probabilities are the softmax of logits"
    )
    assert record.label is not None, "labels of the data set go into the record"
    steps: list[tuple[int, int]] = []
    model.ask(data, progress=lambda done, total: steps.append((done, total)))
    assert steps, "progress is told"
    assert steps[-1][0] == steps[-1][1], "progress ends with all done"
    assert model.parameters > 0, "parameters are counted"
    return logits


def _check_more(model: Classifier, data: Dataset) -> None:
    rows = len(data)
    for request in (Request(features=True), Request(views=2), Request(dropout=2)):
        field, axis = ("features", 0) if request.features else ("views", 1)
        try:
            answers = model.ask(data, request)
        except UsageError:
            continue  # a model may say that it has none
        values = getattr(answers, field)
        assert values is not None, f"{field} are given where they are asked for"
        assert values.shape[axis] == rows, f"{field} have one entry a sample"
        assert np.array_equal(values, getattr(model.ask(data, request), field)), (
            f"{field} are seeded"
        )
        assert np.allclose(answers.distribution.sum(1), 1, atol=1e-5), "probabilities sum to 1"
        if request.dropout:
            spread = answers.variance
            assert spread is not None, "passes with dropout have a variance"
            assert spread.shape == answers.distribution.shape, (
                "the variance has the shape of the probabilities"
            )
            assert (spread >= 0).all(), "no variance is below 0"
    try:
        late = model.ask(data.take(range(2, rows)), Request(views=1, first_row=2)).views
        full = model.ask(data, Request(views=1)).views
    except UsageError:
        return
    assert (present(late)[0] == present(full)[0, 2:]).mean() > 0.9, (
        "views do not depend on how rows are batched"
    )


def _check_saving(model: Classifier, data: Dataset, logits: Any, folder: Path) -> None:
    saved = model.save(folder / "model")
    about = json.loads((saved / DESCRIPTION).read_text(encoding="utf-8"))
    assert about["kind"] == model.kind, "the description names the kind"
    files = [item.suffix for item in saved.rglob("*") if item.is_file()]
    assert not {".pkl", ".pickle", ".pt", ".bin"} & set(files), "nothing is pickled"
    loaded = type(model).load(saved)
    assert loaded.classes == model.classes, "classes are kept"
    assert np.allclose(loaded.logits(data), logits, atol=1e-6), "a loaded model says the same"
    if kind_named(model.kind) is not None:
        assert kind_named(model.kind) is type(model), "the kind is registered for this class"
    (folder / "empty").mkdir()
    refuses(lambda: type(model).load(folder / "empty"), "an empty folder is no model", InputError)
