"""Contract checks of live models: what every classifier must obey that is trained, asked, saved and loaded."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import softmax
from ..datasets import Dataset
from ..errors import InputError, UsageError
from ..models.artifacts import DESCRIPTION, kind_named
from ..models.base import Classifier, Request

CLOSE = 1e-4  # of logits: the order of samples and their batches may change the last digits


def check_model(make: Callable[[], Classifier], data: Dataset) -> None:
    """Train, ask, save and load a model on a small labelled data set, and see that it keeps the contract.

    Parameters
    ----------
    make :
        Gives an untrained model, the same each time.
    data :
        At least 8 labelled examples that it reads, of two classes or more; of a ranker, dialogues that have as many
        candidates each.

    Raises `AssertionError` with the name of the rule that was broken.
    """
    model = make()
    _refuses(lambda: model.ask(data), UsageError, "an untrained model refuses to be asked")
    _refuses(lambda: make().fit(_other(data)), InputError, "inputs of another modality are refused")
    assert model.fit(data) is model, "fit returns the model itself"
    ranks = data.modality == "dialogue"
    assert ranks or model.classes == tuple(sorted(set(data.targets))), "classes are sorted where none are given"
    logits = _check_answers(model, data)
    _check_more(model, data)
    again = make().fit(data)
    assert np.array_equal(again.logits(data), logits), "the same data and options give the same weights"
    with tempfile.TemporaryDirectory() as folder:
        _check_saving(model, data, logits, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        _check_going_on(make, data, logits, folder)


def _check_answers(model: Classifier, data: Dataset) -> Any:
    logits = model.logits(data)
    rows = len(data)
    ranks = data.modality == "dialogue"
    entries = len(data.inputs[0].candidates) if ranks else len(model.classes)
    assert logits.shape == (rows, entries), "logits have the shape (sample, class)"
    assert logits.dtype == np.float32, "logits are float32"
    assert np.isfinite(logits).all(), "logits are finite"
    assert np.array_equal(model.logits(data), logits), "asked twice, it says the same"
    backwards = model.logits(data.take(range(rows - 1, -1, -1)))[::-1]
    assert np.allclose(backwards, logits, atol=CLOSE), "the order of the samples changes nothing"
    halves = [model.logits(data.take(part)) for part in (range(rows // 2), range(rows // 2, rows))]
    assert np.allclose(np.concatenate(halves), logits, atol=CLOSE), "a sample does not depend on its batch"
    record = model.predict(data)
    if ranks:
        p = record.candidate_probabilities.values.reshape(logits.shape)
    else:
        assert record.classes == model.classes, "the record has the model's classes"
        assert record.probabilities is not None
        p = record.probabilities
    assert np.allclose(p, softmax(logits), atol=1e-6), "probabilities are the softmax of logits"
    assert record.label is not None, "labels of the data set go into the record"
    steps: list[tuple[int, int]] = []
    model.ask(data, progress=lambda done, total: steps.append((done, total)))
    assert steps, "progress is told"
    assert steps[-1][0] == steps[-1][1], "progress ends with all done"
    assert model.parameters > 0, "parameters are counted"
    return logits


def _check_more(model: Classifier, data: Dataset) -> None:
    rows = len(data)
    for request, field in (
        (Request(features=True), "features"),
        (Request(views=2), "views"),
        (Request(dropout=2), "views"),
    ):
        try:
            answers = model.ask(data, request)
        except UsageError:
            continue  # a model may say that it has none
        values = getattr(answers, field)
        axis = 0 if field == "features" else 1
        assert values is not None, f"{field} are given where they are asked for"
        assert values.shape[axis] == rows, f"{field} have one entry a sample"
        same = getattr(model.ask(data, request), field)
        assert np.array_equal(values, same), f"{field} are seeded"
        assert np.allclose(answers.distribution.sum(1), 1, atol=1e-5), "probabilities sum to 1"
        if request.dropout:
            assert answers.variance is not None, "passes with dropout have a variance"
            assert answers.variance.shape == answers.distribution.shape, (
                "the variance has the shape of the probabilities"
            )
            assert (answers.variance >= 0).all(), "no variance is below 0"
    try:
        late = model.ask(data.take(range(2, rows)), Request(views=1, first_row=2)).views
        whole = model.ask(data, Request(views=1)).views
    except UsageError:
        return
    assert late is not None
    assert whole is not None
    agree = float((late[0] == whole[0, 2:]).mean())
    assert agree > 0.9, "views do not depend on how rows are batched"


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
    _refuses(lambda: type(model).load(folder / "empty"), InputError, "an empty folder is no model")


def _check_going_on(make: Callable[[], Classifier], data: Dataset, logits: Any, folder: str) -> None:
    """Interrupted in the middle, a training goes on to the weights it would have had."""
    steps: list[int] = []
    make().fit(data, progress=lambda done, total: steps.append(done))
    stop = max(1, len(steps) // 2)

    def interrupt(done: int, total: int) -> None:
        if done == stop and total > 1:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        make().fit(data, checkpoint=folder, progress=interrupt)
    whole = make().fit(data, checkpoint=folder).logits(data)
    assert np.allclose(whole, logits, atol=CLOSE), "an interrupted training goes on to the same weights"


def _other(data: Dataset) -> Dataset:
    """The labels of the data with inputs that its model cannot read."""
    if data.modality == "image":
        return Dataset("other", tuple("a b c" for _ in range(len(data))), data.targets)
    pixels = np.zeros((len(data), 8, 8, 3), dtype=np.uint8)
    return Dataset("other", pixels, data.targets, modality="image")


def _refuses(call: Callable[[], Any], kind: type[Exception], rule: str) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(rule)
