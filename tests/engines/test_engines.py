"""Engines: the same answers to the last bit wherever the passes run, errors as they are, workers that die."""

from __future__ import annotations

import importlib.util
import operator
import os
import pickle
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from oodometer import estimate
from oodometer.engines import (
    Engine,
    LocalEngine,
    ProcessEngine,
    RayEngine,
    SparkEngine,
    create_engine,
)
from oodometer.engines.remote import Order, order_of, received, run_part, why_lost
from oodometer.errors import InputError, MissingExtraError, UsageError, WorkError
from oodometer.passes.plan import default_methods
from oodometer.registry import names

from ..snapshots import assert_snapshot, raises_snapshot


@pytest.mark.parametrize("engine", ["processes", "ray", "spark"])
def test_everything_gives_the_same_to_the_last_bit_and_lost_workers_are_said(
    engine: str, answers: Any, local: dict[str, Any], needs: Any
) -> None:
    needs(engine)
    there = answers(engine)
    assert set(there["verbs"]) == set(local["verbs"])
    for verb, answer in local["verbs"].items():
        assert there["verbs"][verb] == answer, verb
    assert str(local["verbs"]["damaged"]).startswith("InputError: ")
    assert "row 2701" in local["verbs"]["damaged"]
    every_task = engine == ("ray" if importlib.util.find_spec("ray") else "processes")
    assert len(there["tasks"]) == (14 if every_task else 8)
    for task, answer in there["tasks"].items():
        assert answer == local["tasks"][task], task
    assert there["tasks"]["left"] == [
        "seed-0",
        "seed-1",
        "seed-2",
    ]  # no checkpoint of a finished training
    own = there["own"]
    assert own["threads"] == ["0 1", "1 1", "2 1"]  # torch.get_num_threads() in each task
    assert_snapshot(own["warned"])
    assert own["lost"].startswith("WorkError: ")
    assert own["lost"].count("\n") == 0
    assert own["finished"] == ["done-0", "done-1"]
    assert_snapshot(own["unsendable"])
    folds = there["folds"]
    assert (
        folds["order"] == 150886
    )  # 0, 1, 4, 9, 16, 25, 36 as digits: 0 * 10 + 1, ... in this order alone
    assert folds["done"] == [0, 1, 2, 3, 4, 5, 6]
    assert_snapshot(folds["error"])
    assert_snapshot(folds["none"])
    assert folds["lost"].startswith("WorkError: ")
    if engine == "processes":
        assert folds["lost in sending"].startswith("WorkError: a worker process died")
    else:  # there is nobody who would do it again
        assert folds["lost once"] == "nothing"
    assert folds["after"] == 14
    assert there["guest"]["left"] is False
    assert there["guest"]["signals"] is True


def test_no_method_is_left_out_of_the_comparison(local: dict[str, Any]) -> None:
    """Whoever adds an estimator or a metric that these data do not feed adds to the data."""
    estimated = local["verbs"]["every estimator"]
    assert estimated["skipped"] == []
    assert {one["method"] for one in estimated["estimates"]} == set(default_methods())
    assert set(local["verbs"]["answered"]) >= set(names("metric"))
    tried = {row["method"] for row in local["verbs"]["backtest"]["rows"]}
    assert tried == {"source", "doc", "importance", "cot", "atc"}
    assert len(local["verbs"]["trials"]) == 2 * (1 + 4 + 3)


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
        with raises_snapshot(UsageError):
            create_engine(name, 0)
    with raises_snapshot(UsageError):
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
    with pytest.raises(
        UsageError, match=r"expected workers with oodometer 0.0.0, as here, got .*same version"
    ):
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

    with raises_snapshot(InputError):
        received(run_part(order_of(wrong, dumps), pickle.dumps("abc")))
    with raises_snapshot(WorkError):
        received(run_part(order_of(odd, dumps), pickle.dumps("abc")))
    with raises_snapshot(UsageError):
        order_of(lambda part: part, pickle.dumps)


def test_what_a_cluster_says_becomes_one_line() -> None:
    assert "have no oodometer; install version" in str(
        why_lost("Ray", ImportError("No module named 'oodometer'"))
    )
    told = why_lost("Spark", RuntimeError("a\n" * 2000))
    assert isinstance(told, WorkError)
    assert len(str(told)) < 600


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_that_does_not_answer(scheme: str, folder: Path, needs: Any) -> None:
    needs("ray")
    place = f"{scheme}127.0.0.1:{closed_port()}"
    files = [str(folder / f"{name}.parquet") for name in ("reference", "target")]
    command = [sys.executable, "-m", "oodometer", "estimate", *files, "--engine", f"ray:{place}"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ}
    )
    assert done.returncode == 2
    assert (
        done.stderr.strip()
        .splitlines()[-1]
        .startswith(f"oodometer: no Ray cluster answers at {place} (")
    )


def test_an_address_that_is_none(needs: Any) -> None:
    needs("ray")
    with raises_snapshot(UsageError):
        create_engine("ray:head").fold([1], len, max)


@pytest.mark.parametrize(
    ("engine", "module", "extra"), [("ray", "ray", "ray"), ("spark", "pyspark", "spark")]
)
def test_a_missing_extra_names_the_line(
    engine: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        MissingExtraError, match=rf"the engine {engine} needs {module}.*\[{extra}\]"
    ):
        create_engine(engine).fold([1], len, max)


def test_spark_without_java_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with raises_snapshot(UsageError):
        create_engine("spark").fold([1], len, max)
