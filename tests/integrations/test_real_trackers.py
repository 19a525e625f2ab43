"""MLflow and Weights & Biases themselves, where they are installed: a local store, and no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import oodometer
from oodometer.results.estimation import Estimation
from oodometer.testing import example_record


@pytest.fixture
def found() -> Estimation:
    record, reference = example_record(300, seed=2), example_record(300, seed=1)
    days = [f"2026-01-{5 + i // 100 * 7:02}" for i in range(300)]
    target = {"probabilities": record.probabilities, "label": record.label, "time": days}
    return oodometer.estimate(reference, target, every="7d", methods=["cbpe"], backtest=None)


@pytest.mark.filterwarnings("default")
def test_mlflow_keeps_it(
    found: Estimation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow: Any = pytest.importorskip(
        "mlflow", reason="needs the extra mlflow: pip install 'oodometer[mlflow]'"
    )
    sql = pytest.importorskip(
        "sqlalchemy", reason="a store in SQLite needs the whole of MLflow: pip install mlflow"
    )
    assert sql is not None
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.create_experiment("trial", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("trial")
    client = mlflow.MlflowClient()
    run = client.get_run(found.log_to("mlflow", page=False))
    assert run.info.status == "FINISHED"
    assert run.data.metrics["accuracy"] == found.headline.value
    assert run.data.params["oodometer.trust"] == found.headline.trust
    history = client.get_metric_history(run.info.run_id, "chunk.accuracy")
    assert [(one.step, one.value) for one in history] == [
        (i, p.headline.value) for i, p in enumerate(found.chunks)
    ]
    text = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/oodometer/estimate.json")
    assert json.loads(text) == found.to_dict()
    with mlflow.start_run() as mine:
        assert found.log_to("mlflow", page=False) == mine.info.run_id
        assert mlflow.active_run() is not None


@pytest.mark.filterwarnings("default")
def test_wandb_keeps_it(found: Estimation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb: Any = pytest.importorskip(
        "wandb", reason="needs the extra wandb: pip install 'oodometer[wandb]'"
    )
    for name, value in (("MODE", "offline"), ("SILENT", "true"), ("DIR", str(tmp_path))):
        monkeypatch.setenv(f"WANDB_{name}", value)
    run = wandb.init(project="trial")
    assert found.log_to("wandb", page=False) == run.id
    summary = dict(run.summary)
    run.finish()
    assert summary["accuracy"] == found.headline.value
    assert summary["chunk.accuracy"] == found.chunks[-1].headline.value
    (table,) = tmp_path.glob("**/media/table/oodometer.table*.json")
    assert len(json.loads(table.read_text())["data"]) == len(found.chunks)
    (page,) = tmp_path.glob("**/media/html/oodometer.page*.html")
    assert "Estimated accuracy" in page.read_text(encoding="utf-8")
    assert found.log_to("wandb", project="trial", page=False) != run.id
    assert wandb.run is None
