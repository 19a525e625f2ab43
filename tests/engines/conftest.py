"""Data for all engines, and what each of them answers: one process an engine, since a cluster is slow to start."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

HERE = Path(__file__).parent
NEEDS = {"ray": "ray", "spark": "pyspark"}


@pytest.fixture(scope="session")
def needs() -> Callable[[str], None]:
    """Skips where an engine cannot be tried here."""

    def check(engine: str) -> None:
        if engine in NEEDS:
            pytest.importorskip(NEEDS[engine])
        if engine == "spark" and shutil.which("java") is None:
            pytest.skip("Spark needs Java: sudo apt-get install default-jre-headless")

    return check


@pytest.fixture(scope="session")
def every_task() -> ModuleType:
    spec = importlib.util.spec_from_file_location("every_task", HERE / "every_task.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, every_task: ModuleType) -> Path:
    """Tables of predictions, texts, pairs, images, two small models; one folder for all processes of xdist."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from filelock import FileLock

    own = tmp_path_factory.getbasetemp()
    place = (own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own) / "engines"
    with FileLock(f"{place}.lock"):
        if not (place / "ready").exists():
            place.mkdir()
            write_tables(place)
            every_task.prepare(place)
            (place / "ready").touch()
    return place


def answers_on(engine: str, folder: Path) -> dict[str, Any]:
    """What `everything.py` writes on an engine, where the first ``python3`` on the path is not this one."""
    here = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": os.pathsep.join(p for p in os.get_exec_path() if p != here)}
    env["PYTHONPATH"] = os.pathsep.join(
        [str(HERE), *filter(None, [env.get("PYTHONPATH")])]
    )  # workers find a recipe
    command = [sys.executable, str(HERE / "everything.py"), engine, str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=400, check=False, env=env
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers: dict[str, Any] = json.loads((folder / f"{engine}.json").read_text())
    return answers


@pytest.fixture(scope="session")
def answers(folder: Path) -> Callable[[str], dict[str, Any]]:
    return lambda engine: answers_on(engine, folder)


@pytest.fixture(scope="session")
def local(folder: Path, answers: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    from filelock import FileLock

    with FileLock(folder / "local.lock"):  # whoever comes second reads what the first one found
        known = folder / "local.json"
        return json.loads(known.read_text()) if known.exists() else answers("local")


def write_tables(place: Path) -> None:
    """Files of four row groups and more: a reference, a target, labels of some rows, a damaged and an empty file."""
    rng = np.random.default_rng(0)

    def table(rows: int, sharp: float) -> dict[str, Any]:
        scores = np.exp(rng.normal(size=(rows, 3)) * sharp)
        p = scores / scores.sum(axis=1, keepdims=True)
        label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
        site = rng.choice(["north", "south"], rows)
        return {
            **{f"prob_{k}": p[:, k] for k in range(3)},
            "label": label,
            "site": site,
            "id": np.arange(rows),
        }

    reference, target = table(2000, 2.0), table(3000, 1.5)
    labels = target.pop("label")
    damaged = {**target, "prob_0": np.where(np.arange(3000) == 2700, 3.0, target["prob_0"])}
    for name, one in (("reference", reference), ("target", target), ("damaged", damaged)):
        pq.write_table(pa.table(one), place / f"{name}.parquet", row_group_size=500)
    pq.write_table(
        pa.table({name: one[:0] for name, one in reference.items()}), place / "empty.parquet"
    )
    for name, sharp in (("rich", 2.0), ("moved", 1.4)):
        pq.write_table(
            pa.table(rich(table(400, sharp), rng)), place / f"{name}.parquet", row_group_size=100
        )
    scores = [rng.random(int(k)).tolist() for k in rng.integers(2, 12, 300)]
    replies = {
        "candidate_scores": scores,
        "label": [int(rng.integers(0, len(one))) for one in scores],
    }
    many = {f"prob_{k:02}": p for k, p in enumerate(rng.dirichlet(np.ones(12), 300).T)}
    many["label"] = np.array([f"{k:02}" for k in rng.integers(0, 12, 300)])
    answers = {
        "id": np.arange(300) // 3,
        "score": rng.integers(0, 2, 300),
        "group": np.array(["a", "b", "c"])[np.arange(300) % 3],
    }
    repeats = {
        "id": np.arange(300) // 3,
        "label": np.array(["a", "b", "c", "d"])[np.arange(300) // 3 % 4],
        "prediction": np.array(["a", "b", "c", "d"])[rng.integers(0, 4, 300)],
        "answered": rng.random(300) < 0.8,
    }
    tables = {"replies": replies, "many": many, "answers": answers, "repeats": repeats}
    for name, one in tables.items():
        pq.write_table(pa.table(one), place / f"{name}.parquet", row_group_size=100)
    (place / "few.csv").write_text(
        "row,label\n" + "".join(f"{row},{row % 3}\n" for row in range(0, 400, 10))
    )
    (place / "lake").mkdir()
    for start in range(0, 3000, 1000):
        rows = {name: one[start : start + 1000] for name, one in target.items()}
        pacsv.write_csv(pa.table(rows), place / "lake" / f"{start:04}.csv")
    told = "".join(f"{row},{labels[row]}\n" for row in range(0, 3000, 30))
    (place / "labels.csv").write_text(f"id,label\n{told}")


def rich(one: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """A table with everything that a method may ask for: inputs, further models, copies, judges, groups and times."""
    rows = len(one["label"])
    p = np.stack([one[f"prob_{k}"] for k in range(3)], axis=1)
    right = p.argmax(axis=1) == one["label"]
    out = {f"logit_{k}": np.log(p[:, k]) for k in range(3)}
    out |= {
        "label": one["label"],
        "site": one["site"],
        "time": np.datetime64("2026-11-01", "us") + np.arange(rows) * np.timedelta64(1, "h"),
    }
    out["group"] = rng.choice(["a", "b", "c", "d"], rows)
    for k in range(4):
        out[f"feature_{k}"] = rng.normal(size=rows) + (out["label"] == k)
    for kind in ("member", "view"):
        for k in range(4):
            guess = rng.integers(0, 3, rows)
            out[f"{kind}_{k}"] = np.where(rng.random(rows) < 0.7, out["label"], guess)
    for k in range(3):
        out[f"vote_{k}"] = np.where(rng.random(rows) < 0.8, right, ~right)
    out["member_probabilities"] = [rng.dirichlet([1.0, 1.0, 1.0], 4).tolist() for _ in range(rows)]
    return out
