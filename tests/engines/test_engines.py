"""Engines: the same answers to the last bit wherever the passes run, errors as they are, workers that die."""

from __future__ import annotations

import importlib.util
import json
import operator
import os
import pickle
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from oodometer import estimate
from oodometer.engines import Engine, LocalEngine, ProcessEngine, RayEngine, SparkEngine, create_engine
from oodometer.engines.remote import Order, order_of, received, run_part, why_lost
from oodometer.errors import InputError, MissingExtraError, UsageError, WorkError
from oodometer.passes.plan import default_methods
from oodometer.registry import names

SCRIPT = Path(__file__).with_name("everything.py")
NEEDS = {"ray": "ray", "spark": "pyspark"}


def why_not(engine: str) -> str:
    """Why an engine cannot be tried here."""
    if engine in NEEDS and importlib.util.find_spec(NEEDS[engine]) is None:
        return f"{NEEDS[engine]} is not installed"
    if engine == "spark" and shutil.which("java") is None:
        return "Spark needs Java: sudo apt-get install default-jre-headless"
    return ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of four row groups and more: a reference, a target, labels of some rows, a damaged and an empty file."""
    place = tmp_path_factory.mktemp("engines")
    rng = np.random.default_rng(0)

    def table(rows: int, sharp: float) -> dict[str, Any]:
        scores = np.exp(rng.normal(size=(rows, 3)) * sharp)
        p = scores / scores.sum(axis=1, keepdims=True)
        label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
        site = rng.choice(["north", "south"], rows)
        return {**{f"prob_{k}": p[:, k] for k in range(3)}, "label": label, "site": site, "id": np.arange(rows)}

    reference, target = table(2000, 2.0), table(3000, 1.5)
    labels = target.pop("label")
    damaged = {**target, "prob_0": np.where(np.arange(3000) == 2700, 3.0, target["prob_0"])}
    for name, one in (("reference", reference), ("target", target), ("damaged", damaged)):
        pq.write_table(pa.table(one), place / f"{name}.parquet", row_group_size=500)
    pq.write_table(pa.table({name: one[:0] for name, one in reference.items()}), place / "empty.parquet")
    for name, sharp in (("rich", 2.0), ("moved", 1.4)):
        pq.write_table(pa.table(rich(table(400, sharp), rng)), place / f"{name}.parquet", row_group_size=100)
    scores = [rng.random(int(k)).tolist() for k in rng.integers(2, 12, 300)]
    replies = {"candidate_scores": scores, "label": [int(rng.integers(0, len(one))) for one in scores]}
    many = {f"prob_{k:02}": p for k, p in enumerate(rng.dirichlet(np.ones(12), 300).T)}
    many["label"] = np.array([f"{k:02}" for k in rng.integers(0, 12, 300)])
    for name, one in (("replies", replies), ("many", many)):
        pq.write_table(pa.table(one), place / f"{name}.parquet", row_group_size=100)
    (place / "few.csv").write_text("row,label\n" + "".join(f"{row},{row % 3}\n" for row in range(0, 400, 10)))
    (place / "lake").mkdir()
    for start in range(0, 3000, 1000):
        rows = {name: one[start : start + 1000] for name, one in target.items()}
        pacsv.write_csv(pa.table(rows), place / "lake" / f"{start:04}.csv")
    told = "".join(f"{row},{labels[row]}\n" for row in range(0, 3000, 30))
    (place / "labels.csv").write_text(f"id,label\n{told}")
    return place


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


def done_on(engine: str, folder: Path) -> dict[str, Any]:
    """What `everything.py` found on an engine, where the first ``python3`` on the path is not this one."""
    command = [sys.executable, str(SCRIPT), engine, str(folder)]
    here = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": os.pathsep.join(p for p in os.get_exec_path() if p != here)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads((folder / f"{engine}.json").read_text())
    return found


@pytest.fixture(scope="module")
def local(folder: Path) -> dict[str, Any]:
    return done_on("local", folder)


@pytest.mark.parametrize("engine", ["processes", "ray", "spark"])
def test_every_verb_gives_the_same_to_the_last_bit_and_lost_workers_are_said(
    engine: str, folder: Path, local: dict[str, Any]
) -> None:
    if why_not(engine):
        pytest.skip(why_not(engine))
    found = done_on(engine, folder)
    assert set(found["verbs"]) == set(local["verbs"])
    for verb, answer in local["verbs"].items():
        assert found["verbs"][verb] == answer, verb
    assert answer_of(local, "damaged").startswith("InputError: ")
    assert "row 2701" in answer_of(local, "damaged")
    folds = found["folds"]
    assert folds["order"] == 150886  # 0, 1, 4, 9, 16, 25, 36 as digits: 0 * 10 + 1, ... in this order alone
    assert folds["done"] == [0, 1, 2, 3, 4, 5, 6]
    assert folds["error"] == "not ours: ValueError: part 2 is odd"
    assert folds["none"] == "UsageError: there is nothing to work on: no parts"
    assert folds["lost"].startswith("WorkError: ")
    if engine == "processes":
        assert folds["lost in sending"].startswith("WorkError: a worker process died")
    else:  # there is nobody who would do it again
        assert folds["lost once"] == "nothing"
    assert folds["after"] == 14
    assert found["guest"]["left"] is False
    assert found["guest"]["signals"] is True


def test_no_method_is_left_out_of_the_comparison(local: dict[str, Any]) -> None:
    """Whoever adds an estimator or a metric that these data do not feed adds to the data."""
    estimated = local["verbs"]["every estimator"]
    assert estimated["skipped"] == []
    assert {one["method"] for one in estimated["estimates"]} == set(default_methods())
    assert set(local["verbs"]["answered"]) >= set(names("metric"))
    tried = {row["method"] for row in local["verbs"]["backtest"]["rows"]}
    assert tried == {"source", "doc", "importance", "cot", "atc"}
    assert len(local["verbs"]["trials"]) == 2 * (1 + 4 + 3)


def answer_of(found: dict[str, Any], verb: str) -> str:
    return str(found["verbs"][verb])


def test_engines_are_listed_and_made_by_name() -> None:
    assert names("engine")[:4] == ["local", "processes", "ray", "spark"]
    assert isinstance(create_engine("local"), LocalEngine)
    assert isinstance(create_engine("processes", 3), ProcessEngine)
    made = create_engine("ray:ray://head:10001", 4)
    assert isinstance(made, RayEngine)
    assert (made.address, made.workers) == ("ray://head:10001", 4)
    made = create_engine("spark:spark://head:7077")
    assert isinstance(made, SparkEngine)
    assert (made.address, made.workers) == ("spark://head:7077", None)
    for name in ("local", "processes", "ray", "spark"):
        with pytest.raises(UsageError, match=r"at least one worker, got 0"):
            create_engine(name, 0)
    with pytest.raises(UsageError, match="takes no argument"):
        create_engine("local:2")


def test_a_worker_that_died_between_two_works_is_replaced() -> None:
    engine = ProcessEngine(2)
    assert engine.fold([1, 2, 3], abs, operator.add) == 6
    first = engine._running
    next(iter(first._processes.values())).kill()
    deadline = time.monotonic() + 20
    while not first._broken and time.monotonic() < deadline:
        time.sleep(0.01)
    assert engine.fold([1, 2, 3], abs, operator.add) == 6
    assert engine._running is not first


def test_an_engine_of_somebody_else(folder: Path) -> None:
    """An object with `fold` is enough, and it sees references, never rows."""
    seen: list[int] = []

    class Backwards(Engine):
        name = "backwards"

        def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
            seen.extend(len(pickle.dumps(part)) for part in parts)
            states = [work(part) for part in reversed(parts)][::-1]
            total = states[0]
            for state in states[1:]:
                total = merge(total, state)
            return total

    files = folder / "reference.parquet", folder / "target.parquet"
    one = estimate(*files, backtest=None, engine=Backwards())
    assert one.to_dict() == estimate(*files, backtest=None).to_dict()
    assert seen
    assert max(seen) < 5000  # bytes; a part has 500 rows of three probabilities


def test_a_worker_with_another_version_refuses() -> None:
    order = order_of(len, pickle.dumps)
    assert received(run_part(order, pickle.dumps("abc"))) == 3
    with pytest.raises(UsageError, match=r"expected workers with oodometer 0.0.0, as here, got .*same version"):
        received(run_part(Order("0.0.0", "", b"not even a pickle"), pickle.dumps("abc")))


def test_errors_come_back_as_what_they_are() -> None:
    def wrong(part: str) -> int:
        raise InputError("a number", got=part, file="a.csv", row=3)

    def odd(part: str) -> int:
        raise Strange(1, 2)

    class Strange(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    from cloudpickle import dumps

    with pytest.raises(InputError, match=r"a.csv: row 3: expected a number, got abc"):
        received(run_part(order_of(wrong, dumps), pickle.dumps("abc")))
    with pytest.raises(WorkError, match=r"a worker on .* failed: Strange: 1 and 2"):
        received(run_part(order_of(odd, dumps), pickle.dumps("abc")))
    with pytest.raises(UsageError, match=r"cannot be sent to other machines .*take the engine local"):
        order_of(lambda part: part, pickle.dumps)


def test_what_a_cluster_says_becomes_one_line() -> None:
    assert "have no oodometer; install version" in str(why_lost("Ray", ImportError("No module named 'oodometer'")))
    told = why_lost("Spark", RuntimeError("a\n" * 2000))
    assert isinstance(told, WorkError)
    assert len(str(told)) < 600


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_that_does_not_answer(scheme: str, folder: Path) -> None:
    if why_not("ray"):
        pytest.skip(why_not("ray"))
    place = f"{scheme}127.0.0.1:{closed_port()}"
    files = [str(folder / f"{name}.parquet") for name in ("reference", "target")]
    command = [sys.executable, "-m", "oodometer", "estimate", *files, "--engine", f"ray:{place}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ})
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith(f"oodometer: no Ray cluster answers at {place} (")


def test_an_address_that_is_none() -> None:
    if why_not("ray"):
        pytest.skip(why_not("ray"))
    with pytest.raises(UsageError, match=r"expected an address of Ray as HOST:PORT.*got 'head'"):
        create_engine("ray:head").fold([1], len, max)


@pytest.mark.parametrize(("engine", "module", "extra"), [("ray", "ray", "ray"), ("spark", "pyspark", "spark")])
def test_a_missing_extra_names_the_line(engine: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"the engine {engine} needs {module}.*\[{extra}\]"):
        create_engine(engine).fold([1], len, max)


def test_spark_without_java_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(UsageError, match=r"needs Java 17 .*default-jre-headless"):
        create_engine("spark").fold([1], len, max)
