"""Fields that a plan does not need stay on the disk, and leaving them there changes no number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import estimate
from oodometer.predictions import Predictions
from oodometer.registry import names
from oodometer.store import write_predictions
from oodometer.store.parquet import ParquetReader
from oodometer.verbs import target_plan as run


def record(seed: int, rows: int = 240) -> Predictions:
    """Rows with nearly everything that a record may hold."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.0, 0.5], rows)
    label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    others = np.where(rng.random((3, rows)) < 0.8, label, (label + 1) % 3)
    return Predictions.from_probabilities(
        p,
        label=label,
        logits=np.log(p),
        members=others,
        member_probabilities=np.stack([p, p[:, ::-1]]),
        views=others[:2],
        votes=(others == label)[:2],
        features=rng.normal(size=(rows, 2)) + p[:, :2],
        token_logprobs=[[-0.1, -0.2]] * rows,
        time=np.datetime64("2026-11-01", "us") + np.arange(rows) * np.timedelta64(1, "h"),
        group=np.array(["a", "b"], dtype=object)[rng.integers(0, 2, rows)],
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    home = tmp_path_factory.mktemp("fields")
    reference = write_predictions(record(0, 400), home / "reference.parquet")
    return reference, write_predictions(record(1).without_labels(), home / "target.parquet")


@pytest.mark.parametrize("method", [None, *names("estimator")])
@pytest.mark.parametrize("diagnosis", [True, False])
def test_no_number_changes(
    files: tuple[Path, Path], method: str | None, diagnosis: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = None if method is None else [f"{method}:margin" if method == "threshold" else method]
    options: dict[str, Any] = {"methods": named, "diagnosis": diagnosis, "backtest": None}
    few = told(files, options)
    monkeypatch.setattr(run, "needed_fields", lambda plan, beginning: None)
    assert few == told(files, options)


@pytest.mark.parametrize(
    "options", [{"by": "group"}, {"every": "2d"}, {"metrics": ["macro_f1", "expected_value"]}]
)
def test_slices_chunks_and_metrics_find_theirs(
    files: tuple[Path, Path], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "metrics" in options:
        options = {
            **options,
            "payoff": {str(k): {str(j): float(k == j) for j in range(3)} for k in range(3)},
        }
    few = told(files, {**options, "backtest": None})
    monkeypatch.setattr(run, "needed_fields", lambda plan, beginning: None)
    assert few == told(files, {**options, "backtest": None})


def told(files: tuple[Path, Path], options: dict[str, Any]) -> Any:
    try:
        return estimate(*files, **options).to_dict()
    except Exception as error:
        return str(error)


@pytest.mark.parametrize(
    ("options", "absent"),
    [
        ({}, {"time"}),  # mandoline looks at the groups
        ({"by": "group"}, {"time"}),
        ({"methods": ["atc"], "every": "1d"}, {"group", "views", "votes"}),
        (
            {"methods": ["atc"]},
            {"time", "group", "views", "votes"},
        ),  # the diagnosis looks at members and features
        (
            {"methods": ["atc"], "diagnosis": False},
            {"time", "group", "members", "views", "votes", "features"},
        ),
    ],
)
def test_columns_that_nobody_looks_at_are_not_read(
    files: tuple[Path, Path],
    options: dict[str, Any],
    absent: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[set[str]] = []
    tables = ParquetReader.tables

    def spied(reader: ParquetReader, kinds: Any, rows: int) -> Iterator[Any]:
        if rows > 1 and reader.file.endswith("target.parquet"):
            asked.append(set(kinds))
        return tables(reader, kinds, rows)

    monkeypatch.setattr(ParquetReader, "tables", spied)
    monkeypatch.setattr(
        "oodometer.passes.plan.batch_rows", lambda classes: 120
    )  # several batches: one is read once
    estimate(*files, backtest=None, workers=1, **options)
    *_, last = asked  # those before look at the first batch, by which methods are chosen
    everything = {
        "probabilities",
        "logits",
        "members",
        "views",
        "votes",
        "features",
        "time",
        "group",
    }
    assert everything - last == absent
