"""A reference read part by part: the same sample as in one pass, whatever is labelled, and however often it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import backtest, diagnose, estimate, fit
from oodometer.engines import Engine
from oodometer.engines.base import fold_states
from oodometer.errors import InputError
from oodometer.passes import reference as module
from oodometer.passes.folding import Execution
from oodometer.passes.reference import Reference, _Share, read_reference
from oodometer.predictions import Predictions
from oodometer.runs import read_manifest
from oodometer.store import as_source, write_predictions
from oodometer.store.base import Part

from ..snapshots import raises_snapshot

FILE_ROWS = 700
LIMIT = 120


class Noting(Engine):
    """Notes the parts of each pass, and how many rows a part leaves."""

    name = "noting"

    def __init__(self) -> None:
        self.passes: list[int] = []
        self.rows_left: list[int] = []

    def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
        self.passes.append(len(parts))

        def done(part: Any) -> Any:
            state = work(part)
            if isinstance(work, _Share):
                self.rows_left.append(sum(len(keys) for keys, _ in state["kept"]))
            return state

        return fold_states(map(done, parts), parts, merge, on_done)


def record(seed: int, rows: int = FILE_ROWS, labelled: float = 1.0) -> Predictions:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.0, 0.5], rows).astype(np.float32)
    label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1).astype(object)
    label[rng.random(rows) >= labelled] = None
    return Predictions.from_probabilities(p, label=label)


def folder_of(home: Path, files: int, labelled: float = 1.0) -> Path:
    home.mkdir(exist_ok=True)
    for number in range(files):
        write_predictions(record(number, labelled=labelled), home / f"{number}.parquet")
    return home


def same(a: Reference, b: Reference) -> None:
    assert (a.rows, a.correct, a.unlabelled, a.sampled) == (
        b.rows,
        b.correct,
        b.unlabelled,
        b.sampled,
    )
    np.testing.assert_array_equal(a.record.probabilities, b.record.probabilities)  # type: ignore[arg-type]
    np.testing.assert_array_equal(a.record.verdicts, b.record.verdicts)
    assert a.record.probabilities.dtype == b.record.probabilities.dtype  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("labelled", "passes"), [(1.0, [6]), (0.9, [6]), (0.04, [6, 6]), (0.01, [6, 6])]
)
def test_parts_give_the_sample_of_one_pass(
    labelled: float, passes: list[int], tmp_path: Path
) -> None:
    source = as_source(folder_of(tmp_path / "reference", 6, labelled))
    engine = Noting()
    found = read_reference(source, most_rows=LIMIT, execution=Execution(engine))
    same(found, read_reference(source, most_rows=LIMIT))
    assert (
        engine.passes == passes
    )  # of few labels the shares are too small, and the parts are read again
    assert found.rows + found.unlabelled == 6 * FILE_ROWS
    assert len(found.record) == min(LIMIT, found.rows)


def test_a_part_leaves_its_share_alone(tmp_path: Path) -> None:
    engine = Noting()
    read_reference(
        as_source(folder_of(tmp_path / "reference", 6)),
        most_rows=LIMIT,
        execution=Execution(engine),
    )
    assert max(engine.rows_left) < LIMIT
    assert LIMIT < sum(engine.rows_left) < 5 * LIMIT


def test_files_of_unknown_length_keep_what_can_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "reference.csv"
    write_predictions(record(3, 2000), path)
    found = read_reference(
        as_source(path), most_rows=LIMIT, execution=Execution(Noting()), in_parts=True
    )
    same(found, read_reference(as_source(path), most_rows=LIMIT))


def test_a_small_reference_is_read_here(tmp_path: Path) -> None:
    engine = Noting()
    source = as_source(folder_of(tmp_path / "reference", 2))
    same(read_reference(source, execution=Execution(engine)), read_reference(source))
    assert engine.passes == []
    same(read_reference(source, execution=Execution(engine), in_parts=True), read_reference(source))
    assert engine.passes == [2]


def test_conditions_on_rows_leave_the_same_sample(tmp_path: Path) -> None:
    source = as_source(folder_of(tmp_path / "reference", 6), where="label = 1")
    found = read_reference(source, most_rows=LIMIT, execution=Execution(Noting()))
    same(found, read_reference(source, most_rows=LIMIT))
    assert set(found.record.label.tolist()) == {1}  # type: ignore[union-attr]


def test_a_reference_without_truth_is_refused_from_parts_too(tmp_path: Path) -> None:
    source = as_source(folder_of(tmp_path / "reference", 3, labelled=0.0))
    with raises_snapshot(InputError):
        read_reference(source, most_rows=LIMIT, execution=Execution(Noting()))


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """References are large from few rows on."""
    usual = module.most
    monkeypatch.setattr(module, "most", lambda record, *_: usual(record, 600))


@pytest.mark.parametrize("verb", ["estimate", "diagnose", "backtest"])
def test_a_large_reference_is_kept_in_the_run_folder_of_other_verbs(
    verb: str, tmp_path: Path, limited: None
) -> None:
    reference, target = (
        folder_of(tmp_path / "reference", 4),
        folder_of(tmp_path / "target", 2, labelled=0.0),
    )
    quick: dict[str, Any] = {"methods": ["source", "ac", "doc", "atc"]}
    calls: dict[str, Any] = {
        "estimate": lambda **on: estimate(reference, target, backtest=None, **quick, **on),
        "diagnose": lambda **on: diagnose(reference, target, **on),
        "backtest": lambda **on: backtest(
            reference, families=["none"], repeats=8, cache=None, **quick, **on
        ),
    }

    def read(**on: Any) -> int:
        assert calls[verb](run_folder=tmp_path / "run", **on).to_dict() == calls[verb]().to_dict()
        found = read_manifest(tmp_path / "run")
        return int(found["read"])

    beside = {"estimate": 2, "diagnose": 2, "backtest": 4}[
        verb
    ]  # parts of the target, tasks of the trials
    assert read() == 4 + beside
    assert read() == 0
    write_predictions(record(17), reference / "9.parquet")
    assert read() == 1 + beside  # what was learnt is another thing now


def test_a_fit_reads_new_files_alone_and_gives_the_same_bytes(
    tmp_path: Path, limited: None
) -> None:
    reference = folder_of(tmp_path / "reference", 4)

    def both() -> int:
        kept = fit(reference, out=tmp_path / "a.oodo", backtest=None, run_folder=tmp_path / "run")
        fit(reference, out=tmp_path / "b.oodo", backtest=None)
        assert kept.fitted_.reference.sampled
        assert (tmp_path / "a.oodo").read_bytes() == (tmp_path / "b.oodo").read_bytes()
        found = read_manifest(tmp_path / "run")
        return int(found["read"])

    assert both() == 4
    write_predictions(record(17), reference / "9.parquet")
    assert both() == 1
    assert both() == 0


def test_progress_of_a_fit_counts_parts_of_the_reference(tmp_path: Path) -> None:
    reference = folder_of(tmp_path / "reference", 3)

    def heard(call: Any, *data: Any, **on: Any) -> list[tuple[int, int]]:
        out: list[tuple[int, int]] = []
        call(*data, methods=["atc"], backtest=None, progress=lambda *told: out.append(told), **on)
        return out

    for on in ({}, {"workers": 1}, {"run_folder": tmp_path / "run"}):
        assert heard(fit, reference, **on) == [(1, 3), (2, 3), (3, 3)]
    target = folder_of(tmp_path / "target", 2)
    assert heard(estimate, reference, target) == [(1, 2), (2, 2)], "of the target alone"


def test_an_engine_is_started_once_for_reference_and_target(
    tmp_path: Path, limited: None, monkeypatch: Any
) -> None:
    made: list[Noting] = []

    def create(kind: str, name: str, workers: int | None) -> Noting:
        made.append(Noting())
        return made[-1]

    monkeypatch.setattr("oodometer.passes.folding.create", create)
    reference, target = (
        folder_of(tmp_path / "reference", 3),
        folder_of(tmp_path / "target", 2, labelled=0.0),
    )
    estimate(reference, target, methods=["atc"], backtest=None, engine="noting")
    assert [one.passes for one in made] == [[3, 2]]
    assert isinstance(as_source(reference).parts()[0], Part)
