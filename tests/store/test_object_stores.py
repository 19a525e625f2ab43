"""Object stores: files of a bucket read as files of this machine, on a local S3 server; what goes wrong is one line."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from oodometer import estimate
from oodometer.errors import InputError
from oodometer.predictions import Predictions
from oodometer.store import as_source, places, write_predictions

from ..snapshots import raises_snapshot

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("moto") is None, reason="moto is not installed"
)
KEYS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def record(seed: int) -> Predictions:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 0.5], 200)
    return Predictions.from_probabilities(p, label=(p[:, 1] > rng.random(200)).astype(int))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 of this machine."""
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    started = ThreadedMotoServer(port=0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    yield f"http://{host}:{port}"
    started.stop()


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pafs.FileSystem:
    """A bucket with a reference, and a target of two days, in every format."""
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": server}.items():
        monkeypatch.setenv(name, value)
    places._file_system.cache_clear()
    files, _ = pafs.FileSystem.from_uri("s3://lake?allow_bucket_creation=true")
    files.create_dir("lake")
    for form in ("parquet", "csv", "jsonl", "arrow", "npz"):
        for number, day in enumerate(("2026-11-01", "2026-11-02")):
            local = write_predictions(record(number), tmp_path / f"{number}.{form}")
            with files.open_output_stream(f"lake/{form}/day={day}/part.{form}") as out:
                out.write(local.read_bytes())
    with files.open_output_stream("lake/parquet/_SUCCESS") as out:
        out.write(b"")
    return files


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl", "arrow", "npz"])
def test_one_file_a_folder_and_a_pattern(form: str, bucket: Any) -> None:
    one = as_source(f"s3://lake/{form}/day=2026-11-01/part.{form}").read()
    np.testing.assert_array_equal(one.probabilities, record(0).probabilities)
    for url in (
        f"s3://lake/{form}",
        f"s3://lake/{form}/",
        f"s3://lake/{form}/*/*.{form}",
        f"s3://lake/**/*.{form}",
    ):
        source = as_source(url, extra_columns=["day"])
        both = source.read()
        expected = np.vstack([record(0).probabilities, record(1).probabilities])  # type: ignore[list-item]
        np.testing.assert_array_equal(both.probabilities, expected)
        assert sorted(set(both.columns["day"].tolist())) == ["2026-11-01", "2026-11-02"]
    assert as_source(f"s3://lake/{form}/day=2026-11-02/*").read().rows == 200


def test_an_estimate_is_that_on_files(bucket: Any, tmp_path: Path) -> None:
    there = estimate(
        "s3://lake/parquet/day=2026-11-01",
        "s3://lake/parquet/day=2026-11-02/part.parquet",
        backtest=None,
    )
    here = estimate(tmp_path / "0.parquet", tmp_path / "1.parquet", backtest=None)
    assert there.headline == here.headline


def test_from_the_shell_with_processes(server: str, bucket: Any, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "oodometer",
        "estimate",
        "s3://lake/parquet/day=2026-11-01",
        "s3://lake/parquet",
    ]
    env = {**os.environ, **KEYS, "AWS_ENDPOINT_URL": server}
    done = subprocess.run(
        [*command, "--by", "day", "--engine", "processes", "--workers", "2"],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert "2026-11-02" in done.stdout


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_night_fetches_only_new_text(
    form: str, bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []
    real = places._copied.__wrapped__

    def copied(url: str, *stamp: int) -> str:
        fetched.append(url.rpartition("day=")[2][:10])
        return str(real(url, *stamp))

    copied.cache_clear = lambda: None  # type: ignore[attr-defined]
    monkeypatch.setattr(places, "_copied", copied)
    options: dict[str, Any] = {"run_folder": tmp_path / "run", "backtest": None, "by": "day"}
    first = estimate("s3://lake/parquet/day=2026-11-01", f"s3://lake/{form}", **options)
    assert set(fetched) == {"2026-11-01", "2026-11-02"}
    fetched.clear()
    again = estimate("s3://lake/parquet/day=2026-11-01", f"s3://lake/{form}", **options)
    assert set(fetched) == {"2026-11-01"}  # the first batch
    assert again.to_dict() == first.to_dict()


def refused(url: str) -> str:
    with pytest.raises(InputError) as caught:
        as_source(url).read()
    return str(caught.value)


def test_what_is_not_there(bucket: Any) -> None:
    assert refused("s3://lake/none.parquet") == (
        "s3://lake/none.parquet: expected predictions files in the folder (.parquet, .pq, .csv, .tsv, .jsonl, .ndjson, "
        ".json, .arrow, .feather, .ipc, .npz), got none; check the path and the endings"
    )
    assert "expected a file that the pattern matches, got none" in refused(
        "s3://lake/parquet/*/*.csv"
    )
    message = refused("s3://nowhere/a")
    assert message == (
        "s3://nowhere/a: expected a place that can be read, got no such bucket; check its name, and the endpoint "
        "(s3: AWS_ENDPOINT_URL)"
    )
    assert "expected a URL that pyarrow or fsspec can read" in refused("nosuch://bucket/a.parquet")


def test_a_bucket_without_permission(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: Any) -> Any:
        raise OSError(
            "When getting information for key 'x' in bucket 'lake': AWS Error ACCESS_DENIED during HeadObject"
        )

    monkeypatch.setattr(
        places, "_file_system", lambda *_: (type("Denied", (), {"get_file_info": denied})(), "lake")
    )
    assert refused("s3://lake/x.parquet") == (
        "s3://lake/x.parquet: expected a place that can be read, got permission denied; check the keys and what they "
        "may read (s3: AWS_ACCESS_KEY_ID, AWS_PROFILE)"
    )


def test_a_damaged_file_and_one_that_changes(bucket: Any) -> None:
    with bucket.open_output_stream("lake/bad/a.parquet") as out:
        out.write(b"PAR1 and no more")
    assert refused("s3://lake/bad/a.parquet").startswith(
        "s3://lake/bad/a.parquet: expected a whole and readable parquet"
    )
    source = as_source("s3://lake/parquet/day=2026-11-01/part.parquet")
    with bucket.open_output_stream("lake/parquet/day=2026-11-01/part.parquet") as out:
        out.write(b"PAR1")
    with raises_snapshot(InputError):
        source.read()


def test_other_places_by_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    table = pa.table({"prob_a": [0.9, 0.2], "prob_b": [0.1, 0.8]})
    with files.open("/lake/a.csv", "w") as out:
        out.write(table.to_pandas().to_csv(index=False))
    assert as_source("memory://lake/a.csv").read().rows == 2
    assert as_source("memory://lake/*.csv").read().rows == 2
    files.rm("/lake", recursive=True)


def test_a_question_mark_in_a_key_is_part_of_it(bucket: Any, tmp_path: Path) -> None:
    for key in ("asked/a?b.csv", "asked/c.csv"):
        local = write_predictions(record(len(key)), tmp_path / "one.csv")
        with bucket.open_output_stream(f"lake/{key}") as out:
            out.write(local.read_bytes())
    for url in ("s3://lake/asked", "s3://lake/asked/*.csv", "s3://lake/asked?region=us-east-1"):
        assert as_source(url).read().rows == 400
    assert as_source("s3://lake/asked/a?b.csv").read().rows == 200
    with bucket.open_output_stream("lake/asked/d?x=1.csv") as out:
        out.write(b"")
    with raises_snapshot(InputError):
        as_source("s3://lake/asked")
