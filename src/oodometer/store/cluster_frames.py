"""Cluster frames: data frames of Spark and Ray, which may be larger than memory, as a Parquet file of this machine."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import InputError, OodometerError
from .base import BATCH_ROWS
from .parquet import write


class ClusterFrame:
    """A frame's rows in a temporary Parquet file, which goes when this object does.

    The rows come batch by batch and partition by partition: this machine never holds all of them in memory, but its
    disk does. ``InputError`` where the cluster fails, or gives columns that a file cannot hold.
    """

    def __init__(self, data: Any) -> None:
        folder = tempfile.mkdtemp(prefix="oodometer-frame-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = str(Path(folder) / "frame.parquet")
        self.name = f"{type(data).__name__} of {'Spark' if 'pyspark' in type(data).__module__ else 'Ray'}"
        batches = _of_spark(data) if hasattr(data, "mapInArrow") else _of_ray(data)
        try:
            first = next(batches, None)
            if first is None:
                raise InputError("at least one row", got="none", file=self.name, remedy="check the frame")
            with open(self.path, "wb") as file:
                write(file, first.schema, _alike(first, batches))
        except OodometerError:
            raise
        except Exception as error:  # errors of a cluster have no common root
            said = " ".join(str(error).split())[:200]
            raise InputError(
                "a frame whose rows can be fetched",
                got=f"{type(error).__name__}: {said}",
                file=self.name,
                remedy="run its job by itself, or write it to Parquet and name the folder",
            ) from error


def _alike(first: Any, rest: Iterable[Any]) -> Iterator[Any]:
    """Batches of the first one's types: a batch of nulls alone may come with another."""
    yield first
    for batch in rest:
        yield batch if batch.schema.equals(first.schema) else batch.cast(first.schema)


def _of_ray(data: Any) -> Iterator[Any]:
    for table in data.iter_batches(batch_size=BATCH_ROWS, batch_format="pyarrow"):
        yield from table.combine_chunks().to_batches()


def _of_spark(frame: Any) -> Iterator[Any]:
    """Arrow batches as bytes in the rows of another frame, of which Spark hands over one partition at a time."""

    def packed(batches: Any) -> Any:  # sent as it is: the workers need no oodometer
        import pyarrow

        for batch in batches:
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            one = pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.large_binary()).cast(pyarrow.binary())
            yield pyarrow.RecordBatch.from_arrays([one], ["batch"])

    for row in frame.mapInArrow(packed, "batch binary").toLocalIterator():
        for batch in pa.ipc.open_stream(bytes(row["batch"])):
            if batch.num_rows:
                yield batch
