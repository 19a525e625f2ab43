"""MLflow and Weights & Biases: what is logged, by small stand-ins for the calls that their documentation describes."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

import oodometer
from oodometer.errors import MissingExtraError, UsageError
from oodometer.results.estimation import Estimation
from oodometer.testing import example_record

from ..snapshots import raises_snapshot


@pytest.fixture(scope="module")
def found() -> Estimation:
    """Three chunks and their truths."""
    record, reference = example_record(300, seed=2), example_record(300, seed=1)
    days = [f"2026-01-{5 + i // 100 * 7:02}" for i in range(300)]
    target = {"probabilities": record.probabilities, "label": record.label, "time": days}
    return oodometer.estimate(reference, target, every="7d", methods=["cbpe"], backtest=None)


class Metric(NamedTuple):
    key: str
    value: float
    timestamp: int
    step: int


class Param(NamedTuple):
    key: str
    value: str


class FakeMlflow(ModuleType):
    """Runs, `MlflowClient.log_batch` and `log_text`, `mlflow.entities`; limits as documented."""

    def __init__(self, active: str | None = None) -> None:
        super().__init__("mlflow")
        self.active, self.begun, self.ended = active, [], []
        self.metrics, self.params, self.texts = [], {}, {}
        self.entities = ModuleType("mlflow.entities")
        self.entities.Metric, self.entities.Param = Metric, Param
        self.MlflowClient = lambda: self

    def _run(self, name: str) -> Any:
        fake = self

        class Run:
            info = SimpleNamespace(run_id=name)

            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                fake.ended.append(name)

        return Run()

    def active_run(self) -> Any:
        return None if self.active is None else self._run(self.active)

    def start_run(self, run_name: str) -> Any:
        assert self.active is None
        self.begun.append(run_name)
        return self._run("new")

    def log_batch(self, run_id: str, metrics: Any = (), params: Any = ()) -> None:
        assert len(metrics) <= 1000
        assert len(params) <= 100
        self.metrics += [(run_id, one) for one in metrics]
        for one in params:
            assert len(one.value) <= 500
            assert one.key not in self.params
            self.params[one.key] = one.value

    def log_text(self, run_id: str, text: str, artifact_file: str) -> None:
        self.texts[artifact_file] = text


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> FakeMlflow:
    fake = FakeMlflow()
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    monkeypatch.setitem(sys.modules, "mlflow.entities", fake.entities)
    return fake


def test_mlflow_gets_numbers_chunks_options_and_files(
    found: Estimation, mlflow: FakeMlflow
) -> None:
    assert found.log_to("mlflow", page=False) == "new"
    assert mlflow.begun == ["oodometer estimate"]
    assert mlflow.ended == ["new"]
    assert {run for run, _ in mlflow.metrics} == {"new"}
    numbers = {one.key: one.value for _, one in mlflow.metrics if not one.key.startswith("chunk.")}
    assert numbers["accuracy"] == found.headline.value
    assert numbers["accuracy.lower"] == found.headline.lower
    assert numbers["accuracy.truth"] == found.target["accuracy"]["value"]
    chunks = [one for _, one in mlflow.metrics if one.key == "chunk.accuracy"]
    assert [(one.value, one.step) for one in chunks] == [
        (p.headline.value, i) for i, p in enumerate(found.chunks)
    ]
    assert chunks[0].timestamp == 1767571200000  # 2026-01-05, midnight
    assert mlflow.params["oodometer.trust"] == found.headline.trust
    assert mlflow.params["oodometer.reference.rows"] == "300"
    assert sorted(mlflow.texts) == [
        f"oodometer/estimate.{ending}" for ending in ("html", "json", "md")
    ]


def test_an_open_run_is_used_and_stays_open(found: Estimation, mlflow: FakeMlflow) -> None:
    mlflow.active = "mine"
    assert found.log_to("mlflow", prefix="night.", page=False) == "mine"
    assert mlflow.begun == mlflow.ended == []
    assert all(one.key.startswith("night.") for _, one in mlflow.metrics)
    assert (
        found.log_to("mlflow", prefix="day.", page=False) == "mine"
    )  # no parameter of the first is given again
    assert {"night.oodometer.seed", "day.oodometer.seed"} <= set(mlflow.params)


class FakeWandb(ModuleType):
    """`init`, `run`, `Table`, `Html`, `Artifact`, and a run that keeps what it is given."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.run: Any = None
        self.inits: list[dict[str, Any]] = []
        self.Table = lambda columns, data: ("table", columns, data)
        self.Html = lambda data, inject: ("html", data)

    def init(self, **options: Any) -> Any:
        self.inits.append(options)
        return FakeRun("begun")

    class Artifact:
        def __init__(self, name: str, type: str, metadata: dict[str, str]) -> None:
            assert all(sign.isalnum() or sign in "-_." for sign in name)
            self.name, self.type, self.folder, self.files = name, type, Path(), []

        def new_file(self, name: str, encoding: str) -> Any:
            self.files.append(name)
            return open("/dev/null", "w", encoding=encoding)


class FakeRun:
    def __init__(self, name: str) -> None:
        self.id, self.config, self.summary = name, self, {}
        self.logged: list[dict[str, Any]] = []
        self.options: dict[str, Any] = {}
        self.axes: dict[str, Any] = {}
        self.artifacts: list[Any] = []
        self.finished = False
        FakeRun.last = self

    last: FakeRun

    def update(self, options: dict[str, Any], allow_val_change: bool) -> None:
        self.options |= options

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        self.axes[name] = step_metric

    def log(self, numbers: dict[str, Any]) -> None:
        self.logged.append(numbers)

    def log_artifact(self, artifact: Any) -> None:
        self.artifacts.append(artifact)

    def finish(self) -> None:
        self.finished = True


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> FakeWandb:
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    return fake


def test_wandb_gets_summary_chunks_table_page_and_artifact(
    found: Estimation, wandb: FakeWandb
) -> None:
    assert found.log_to("wandb", project="monitoring", page=False) == "begun"
    run = FakeRun.last
    assert run.finished
    assert wandb.inits == [{"job_type": "oodometer estimate", "project": "monitoring"}]
    assert run.summary["accuracy"] == found.headline.value
    assert run.axes["chunk.accuracy"] == "chunk"
    *steps, shown = run.logged
    assert [one["chunk.accuracy"] for one in steps] == [
        part.headline.value for part in found.chunks
    ]
    assert [one["chunk"] for one in steps] == [0, 1, 2]
    kind, columns, cells = shown["oodometer.table"]
    assert (kind, len(cells), cells[1][columns.index("start")]) == ("table", 4, "2026-01-05")
    assert shown["oodometer.page"][1].startswith("<!doctype html>")
    (artifact,) = run.artifacts
    assert artifact.files == ["estimate.json", "estimate.md", "estimate.html"]
    assert run.options["oodometer"]["trust"] == found.headline.trust


def test_a_given_run_and_one_that_is_open_are_not_finished(
    found: Estimation, wandb: FakeWandb
) -> None:
    given = FakeRun("given")
    assert found.log_to("wandb", run=given, page=False) == "given"
    wandb.run = FakeRun("open")
    assert found.log_to("wandb", page=False) == "open"
    assert not given.finished
    assert not wandb.run.finished
    assert wandb.inits == []


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_an_absent_library_is_one_line(
    found: Estimation, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def absent(wanted: str, *more: Any, **given: Any) -> Any:
        if wanted.partition(".")[0] == name and not (more and len(more) > 3 and more[3]):
            raise ImportError(name=name)
        return real(wanted, *more, **given)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(
        MissingExtraError, match=rf"which is not installed; run: pip install .*\[{name}\]'$"
    ):
        found.log_to(name)
    with raises_snapshot(UsageError):
        found.log_to("neptune")
