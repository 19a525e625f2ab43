"""Tasks: the same to the last bit on every engine, what is finished stays, a killed command goes on."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import predict, rank, shift, stress
from oodometer.cli import main
from oodometer.engines import (
    Engine,
    LocalEngine,
    ProcessEngine,
    RayEngine,
    create_engine,
    run_tasks,
    task_engine,
)
from oodometer.engines.base import fold_states
from oodometer.errors import InputError, MissingExtraError, UnknownColumnError, UsageError
from oodometer.kernels import cores
from oodometer_lab.models import train_deep_ensemble

from ..snapshots import raises_snapshot

HERE = Path(__file__).parent

# ------------------------------------------------------------------------------------------------ run_tasks


def double(item: int) -> int:
    warnings.warn("as told", UserWarning, stacklevel=1)
    return 2 * item


class Counting(Engine):
    """An engine of somebody else, which does the parts from the last to the first and knows no tasks."""

    name = "counting"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
        self.sizes += [len(pickle.dumps(part)) for part in parts]
        states = [work(part) for part in reversed(parts)][::-1]
        total = states[0]
        for state in states[1:]:
            total = merge(total, state)
        for part in parts:
            if on_done is not None:
                on_done(part)
        return total


@pytest.mark.parametrize("engine", [LocalEngine(3), Counting()])
def test_results_in_order_and_a_warning_once(engine: Engine) -> None:
    done: list[int] = []
    with pytest.warns(UserWarning, match="as told") as told:
        assert run_tasks(engine, double, [3, 1, 2], on_done=done.append) == [6, 2, 4]
    assert len(told) == (1 if isinstance(engine, Counting) else 3)  # here each is told as it comes
    assert done == [3, 1, 2]
    assert run_tasks(engine, double, []) == []


class Eager(Counting):
    """Merges from the back, as nobody should: what is told must be right all the same."""

    def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
        total = work(parts[-1])
        for part in reversed(parts[:-1]):
            total = merge(work(part), total)
        return total


def plain(item: int) -> int:
    return 2 * item


@pytest.mark.parametrize("engine", [LocalEngine(3), Counting(), Eager()])
@pytest.mark.parametrize("items", [[3, 1, 2], [4]])
def test_each_result_is_told_once_in_order_before_the_item_counts_as_done(
    engine: Engine, items: list[int]
) -> None:
    told: list[Any] = []
    found = run_tasks(
        engine, plain, items, on_done=told.append, on_result=lambda *both: told.append(both)
    )
    assert found == [2 * one for one in items]
    assert told == [said for one in items for said in ((one, 2 * one), one)]


class Threads(Engine):
    """Does two parts at a time."""

    name = "threads"

    def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
        return LocalEngine(2).fold(parts, work, merge, on_done)


def after_the_first(place: str, item: int) -> int:
    """What is to be waited for: the second item ends only where somebody has heard of the first one."""
    until = time.monotonic() + 60
    while item and not Path(place, "heard").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    return item


def test_a_result_is_told_while_the_next_task_is_under_way(tmp_path: Path) -> None:
    work = partial(after_the_first, str(tmp_path))
    heard: list[int] = []

    def hear(item: int, result: int) -> None:
        heard.append(result)
        (tmp_path / "heard").touch()

    assert run_tasks(Threads(), work, [0, 1], on_result=hear) == heard == [0, 1]


def test_what_was_told_before_a_task_failed_stays_told() -> None:
    told: list[int] = []
    for engine in (LocalEngine(), Dividing()):
        told.clear()
        with pytest.raises(ZeroDivisionError):
            run_tasks(engine, inverse, [1, 2, 0, 4], on_result=lambda item, _: told.append(item))
        assert told == [1, 2]


class Dividing(Engine):
    """Merges what comes as it comes, as the engines of the package do."""

    name = "dividing"

    def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
        return fold_states(map(work, parts), parts, merge, on_done)


def inverse(item: int) -> float:
    return 1 / item


def test_local_tasks_run_one_at_a_time_and_threads_are_put_back() -> None:
    under_way: list[int] = []
    before = cores()

    def alone(item: int) -> tuple[int, int]:
        under_way.append(item)
        time.sleep(0.01)
        found = len(under_way), cores()
        under_way.remove(item)
        return found

    assert run_tasks(LocalEngine(4), alone, range(4)) == [(1, 1)] * 4
    assert cores() == before


def test_threads_of_torch_are_put_back_after_an_error(torch: Any) -> None:
    from oodometer_lab.models.torch.library import one_torch_thread

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with suppress(RuntimeError), one_torch_thread():
            assert torch.get_num_threads() == 1
            raise RuntimeError
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_models_that_need_no_torch_are_asked_without(monkeypatch: pytest.MonkeyPatch) -> None:
    from oodometer_lab.models.torch.library import on_gpu, one_torch_thread

    monkeypatch.setitem(sys.modules, "torch", None)
    with one_torch_thread():
        assert not on_gpu(None)


def test_where_tasks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert task_engine(None, None) is None
    one = task_engine(None, 1)
    assert isinstance(one, LocalEngine)
    assert one.workers == 1
    four = task_engine(None, 4)
    assert isinstance(four, ProcessEngine)
    assert four.workers == 4
    on_gpu = task_engine("processes", None, gpu=True)
    assert isinstance(on_gpu, ProcessEngine)
    assert on_gpu.workers == 1  # four trainings on one GPU would be a surprise
    asked = task_engine("processes", 4, gpu=True)
    assert isinstance(asked, ProcessEngine)
    assert asked.workers == 4
    ray = task_engine("ray:head:6379", None, gpu=True)
    assert isinstance(ray, RayEngine)
    assert ray.workers is None  # it shares out GPUs by itself
    own = Counting()
    assert task_engine(own, 3) is own
    with raises_snapshot(UsageError):
        task_engine("local", 3)
    with raises_snapshot(UsageError):
        task_engine("rays", None)


def test_errors_come_back_from_processes_as_they_were() -> None:
    """Made anew of their message they would say the place twice, or could not be made at all."""
    for error in (
        InputError("numbers", got="'abc'", remedy="mend it", file="a.csv", row=3, column="p"),
        UnknownColumnError("y", "a.csv: there is no column y", "label"),
        MissingExtraError("the engine ray", "ray", extra="ray"),
    ):
        found = pickle.loads(pickle.dumps(error))
        assert (type(found), str(found), vars(found)) == (type(error), str(error), vars(error))


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--engine", "local", "--workers", "3"],
            "one task after another in this process, not 3 at a time",
        ),
        (["--engine", "rays"], "unknown engine 'rays'; did you mean ray"),
        (["--workers", "0"], "at least one worker"),
        (["--engine", "ray:127.0.0.1:9"], "no Ray cluster answers at 127.0.0.1:9"),
        (["--engine", "spark:sc://127.0.0.1:9"], "no Spark answers at sc://127.0.0.1:9"),
        (["--engine", "spark:spark://127.0.0.1:9"], "no Spark answers at spark://127.0.0.1:9"),
    ],
)
def test_an_engine_that_is_none_is_one_line(
    words: list[str],
    said: str,
    folder: Path,
    tmp_path: Path,
    needs: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = words[1].partition(":")[0]
    needs(name)
    given = [
        "predict",
        str(folder / "m0"),
        str(folder / "texts.jsonl"),
        "--out",
        str(tmp_path / "p.parquet"),
    ]
    assert main([*given, *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "p.parquet").exists()


def test_models_and_data_in_memory_are_refused(folder: Path, tmp_path: Path) -> None:
    def answer(texts: list[str]) -> Any:
        return np.full((len(texts), 2), 0.5)

    rows = folder / "texts.jsonl"
    with raises_snapshot(UsageError):
        predict(answer, rows, out=tmp_path / "p.csv", classes=[0, 1], workers=2)
    with raises_snapshot(UsageError):
        predict(folder / "m0", rows, workers=2)
    with raises_snapshot(UsageError):
        stress(rows, answer, kind="casing=0.5", out=tmp_path / "s", classes=[0, 1], workers=2)
    models = {"a": answer, "b": lambda texts: answer(texts)[:, ::-1]}
    with raises_snapshot(UsageError):
        rank(models, examples=folder / "few.jsonl", attribution="lime", classes=[0, 1], workers=2)
    with raises_snapshot(UsageError):
        rank([folder / "m0", folder / "m1"], examples=folder / "few.jsonl", workers=2)


def test_an_image_that_does_not_decode_is_named_and_can_be_left_out(
    folder: Path, tmp_path: Path
) -> None:
    images = tmp_path / "images"
    images.mkdir()
    for number, one in enumerate(sorted((folder / "images").iterdir())):
        (images / one.name).write_bytes(one.read_bytes() if number != 66 else b"no image")
    with raises_snapshot(InputError):
        shift(images, kind="fog", severity=1, out=tmp_path / "out", workers=2)
    assert not (tmp_path / "out").exists()
    found = shift(images, kind="fog", severity=1, out=tmp_path / "out", on_error="skip", workers=2)
    assert (found.rows, [name for name, _ in found.skipped]) == (69, ["66.png"])


# ------------------------------------------------------------------------------------------------ killed

# The whole job is not started twice: what goes on behind a kill runs in this process, which has loaded its libraries.

TRAIN = """
import sys
from every_task import films, network
from oodometer_lab.models import train_deep_ensemble

if __name__ == "__main__":
    train_deep_ensemble(network, films(), seeds=(0, 1, 2), checkpoint=sys.argv[1], workers=2)
"""


def wait_for(what: Any, process: subprocess.Popen[str], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.01)


def children(process: int) -> list[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False
    )
    return [int(one) for one in found.stdout.split()]


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def end(process: subprocess.Popen[str], number: int) -> None:
    """End a command by a signal and see that none of its workers is left, which would go on writing."""
    workers = children(process.pid)
    os.kill(process.pid, number)
    process.wait(60)
    until = time.monotonic() + 30
    while any(map(lives, workers)):
        assert time.monotonic() < until, "a worker outlived its command"
        time.sleep(0.05)


def started(command: list[str], folder: Path, **env: str) -> subprocess.Popen[str]:
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=folder, text=True, env={**os.environ, **env}, **quiet)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_training_goes_on_to_the_same_models(
    number: int, folder: Path, local: Any, every_task: Any, tmp_path: Path
) -> None:
    script, home = tmp_path / "train.py", tmp_path / "ensemble"
    script.write_text(TRAIN)
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    killed = started([sys.executable, str(script), str(home)], tmp_path, PYTHONPATH=path)
    wait_for(lambda: any((home / f"seed-{seed}").is_dir() for seed in range(3)), killed)
    end(killed, number)
    kept = {one: one.stat().st_mtime_ns for one in home.glob("seed-*/training.json")}
    train_deep_ensemble(every_task.network, every_task.films(), seeds=(0, 1, 2), checkpoint=home)
    assert all(
        one.stat().st_mtime_ns == when for one, when in kept.items()
    )  # what was finished is not trained again
    names = [f"seed-{seed}/weights.safetensors" for seed in range(3)]
    assert [every_task.digest(home / name) for name in names] == local["tasks"]["ensemble"]


def test_a_killed_prediction_goes_on_to_the_same_file(
    folder: Path, local: Any, every_task: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "p.parquet"
    asked: Any = {"members": ["m1"], "batch_rows": 16, "workers": 2, "out": str(out)}
    code = f"import oodometer; oodometer.predict('m0', 'texts.jsonl', **{asked!r})"
    killed = started([sys.executable, "-c", code], folder)
    parts = tmp_path / ".p.parquet.parts"
    wait_for(lambda: any(parts.glob("part-*.json")) or out.exists(), killed)
    end(killed, signal.SIGKILL)
    assert not out.exists()
    kept = {one: one.stat().st_mtime_ns for one in parts.glob("part-*.json")}
    monkeypatch.chdir(folder)
    with ThreadPoolExecutor(1) as thread:
        again = thread.submit(predict, "m0", "texts.jsonl", **{**asked, "workers": None})
        changed = []
        while not again.done():
            changed += [
                one for one, when in kept.items() if one.exists() and one.stat().st_mtime_ns != when
            ]
            time.sleep(0.005)
        again.result()
    assert changed == []
    assert not parts.exists()
    assert every_task.digest(out) == local["tasks"]["predictions"]


def test_a_killed_shift_goes_on_to_the_same_images(
    folder: Path, local: Any, every_task: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, part = tmp_path / "shifted", tmp_path / ".shifted.part"
    words = [
        "shift",
        "image",
        "images",
        "--kind",
        "fog",
        "--kind",
        "shot_noise",
        "--severity",
        "2",
        "--out",
        str(out),
    ]
    killed = started([sys.executable, "-m", "oodometer", *words, "--workers", "2"], folder)
    wait_for(lambda: any(part.glob("*/*.png")) or out.exists(), killed)
    end(killed, signal.SIGKILL)
    assert not out.exists()
    monkeypatch.chdir(folder)
    assert main(words) == 0
    assert not part.exists()
    assert every_task.digest(out) == local["tasks"]["shifted"]


# ------------------------------------------------------------------------------------------------ a Connect server


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory, needs: Any) -> Any:
    """The address of a Spark Connect server of this machine."""
    needs("spark")
    for name in ("grpc", "grpc_status"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install 'pyspark[connect]'")
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    place = tmp_path_factory.mktemp("connect")
    log = (place / "log").open("w")
    options = {
        "spark.connect.grpc.binding.port": port,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.pyspark.python": sys.executable,
    }
    command = ["bash", str(home / "bin" / "spark-submit"), "--master", "local[2]"]
    for name, value in options.items():
        command += ["--conf", f"{name}={value}"]
    command += [
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    ]
    env = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    server = subprocess.Popen(command, cwd=place, env=env, stdout=log, stderr=log, text=True)
    try:
        wait_for(lambda: "server started at" in (place / "log").read_text(), server)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(60)
        log.close()


def test_a_connect_server_gives_the_same_and_is_left_as_it_is(
    connect: str, folder: Path, tmp_path: Path
) -> None:
    """Paths are relative: the workers of the server stand in another folder."""
    out = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    for place in out:  # twice: the first leaves the server running
        asked = f"'m0', 'texts.jsonl', members=['m1'], batch_rows=16, out={str(place)!r}, engine='spark:{connect}'"
        command = [sys.executable, "-c", f"import oodometer; oodometer.predict({asked})"]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=200, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
    command = [sys.executable, "-m", "oodometer", "evaluate", str(out[0]), "--json", "-"]
    here, there = (
        subprocess.run(
            [*command, *more], cwd=folder, capture_output=True, text=True, timeout=200, check=False
        )
        for more in ([], ["--engine", f"spark:{connect}"])
    )
    assert there.stderr == ""
    assert {**json.loads(there.stdout), "argv": ""} == {**json.loads(here.stdout), "argv": ""}
    assert out[0].read_bytes() == out[1].read_bytes()


def test_without_the_libraries_of_connect_one_line_names_them(
    monkeypatch: pytest.MonkeyPatch, needs: Any
) -> None:
    needs("spark")
    monkeypatch.setattr("oodometer.engines.spark.find_spec", lambda name: None)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with pytest.raises(
            MissingExtraError, match=r"a Spark Connect server needs grpcio.*pip install 'pyspark"
        ):
            run_tasks(create_engine(f"spark:sc://127.0.0.1:{server.getsockname()[1]}"), double, [1])
