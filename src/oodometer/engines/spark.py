"""The Spark engine: parts as rows of a Spark job, in the session there is, at an address, or one started here."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ..errors import MissingExtraError, UsageError, WorkError
from ..kernels import cores
from ..registry import register
from .base import Pool, fold_states
from .remote import (
    ClusterEngine,
    Order,
    check_listens,
    join,
    order_of,
    received,
    run_part,
    signals_waiting,
    why_lost,
)

S = TypeVar("S")
_LOGGING = Path(__file__).with_name("spark_log4j2.properties")
_TRIES = 4  # of a part whose worker died, in a Spark that is started here
_JOBS = 2  # at a time, so that no core waits for the last task of one
_TASK = 16  # parts in a task at most: Spark needs tenths of a second for each task, and a part may take less
_PORTS = {"sc": 15002, "spark": 7077}  # where none is named


@register("engine")
class SparkEngine(ClusterEngine):
    """Works in jobs of Spark, a few parts a task; the driver holds the states of two jobs at a time.

    Parameters
    ----------
    workers :
        Threads of a Spark that is started here, None for one a core; of another session, tasks at a time.
    address :
        A master (``spark://HOST:PORT``, ``yarn``, ``local[4]``) or a Connect server (``sc://HOST:PORT``). None takes
        the session that this process is in, or starts one on this machine and ends it with this object.

    Parts name files by their paths, so every machine must see the files there. Spark does a task again whose executor
    died, as often as its own settings say. `UsageError` for fewer than one worker, for an address that does not
    answer, where there is no Java, and for workers with another version of this package; `WorkError` for a part that
    is lost for good; `MissingExtraError` without pyspark.

    >>> SparkEngine(workers=2, address="spark://head:7077").address
    'spark://head:7077'
    """

    name, cluster = "spark", "Spark"
    requires = "Spark, Java"

    def fold(
        self,
        parts: Sequence[Any],
        work: Callable[[Any], S],
        merge: Callable[[S, S], S],
        on_done: Callable[[Any], None] | None = None,
    ) -> S:
        """The merged state of all parts; two jobs at a time, so that no core waits for the last part of one."""
        with self._jobs(work, _JOBS) as (submit, tasks):
            each = tasks * max(1, min(_TASK, len(parts) // (2 * tasks)))
            jobs = (parts[start : start + each] for start in range(0, len(parts), each))
            states: Iterator[S] = chain.from_iterable(
                Pool(submit, _JOBS + 1, partial(map, received)).states(jobs)
            )
            return fold_states(states, parts, merge, on_done)

    @contextmanager
    def pool(self, work: Callable[[Any], Any], parts: int) -> Iterator[Pool]:
        """Jobs of one part."""
        with self._jobs(work) as (submit, tasks):
            yield Pool(lambda part: submit([part]), tasks, lambda answers: received(answers[0]))

    @contextmanager
    def _jobs(
        self, work: Callable[[Any], Any], limit: int = 0
    ) -> Iterator[tuple[Callable[[Sequence[Any]], Future[list[bytes]]], int]]:
        """What sends parts as a job, ``limit`` of them at a time, and how many tasks run at a time."""
        try:
            import pyspark  # noqa: F401
        except ImportError:
            raise MissingExtraError("the engine spark", "pyspark", extra="spark") from None
        from pyspark import cloudpickle
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession
        with _quiet():
            self._session = join("spark", self.address, lambda: active() is not None, self._start)
            session = active()
            order = _Sent(session, order_of(work, cloudpickle.dumps))
        tasks = self.workers or cores()
        with suppress(Exception):  # a Connect session has no context, and does not tell its cores
            tasks = self.workers or max(1, int(session.sparkContext.defaultParallelism))
        with ThreadPoolExecutor(limit or tasks) as threads:
            try:
                yield (
                    (
                        lambda parts: threads.submit(
                            _answers, _frame_of(session, order, parts, tasks)
                        )
                    ),
                    tasks,
                )
            finally:
                threads.shutdown(wait=False, cancel_futures=True)
                order.forget()

    def _start(self) -> Any:
        from pyspark.sql import SparkSession

        if self.address is not None:
            self._check_answers(self.address)
        builder = SparkSession.builder.appName("oodometer")
        if self.address is not None and self.address.startswith("sc://"):
            if any(find_spec(name) is None for name in ("grpc", "grpc_status", "google.rpc")):
                raise MissingExtraError(
                    "a Spark Connect server", "grpcio", install="'pyspark[connect]'"
                )
            builder = builder.remote(self.address)
        else:
            _check_java()
            builder = builder.master(self.address or f"local[{self.workers or cores()},{_TRIES}]")
            builder = builder.config("spark.ui.enabled", "false").config(
                "spark.ui.showConsoleProgress", "false"
            )
        if self.address is None:  # a Spark of our own writes errors alone
            builder = builder.config(
                "spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={_LOGGING}"
            )
            builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
                "spark.driver.host", "127.0.0.1"
            )
        try:
            if self.address is None:
                _launch(builder._options)
            session = builder.getOrCreate()
            if (self.address or "local").startswith("local"):
                session.sparkContext.pythonExec = (
                    sys.executable
                )  # or its workers are the first python3 on the path
            return session.stop
        except Exception as error:  # Java's errors have no common root on this side
            if self.address is not None:
                raise self.no_answer(error) from error
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            remedy = "see that Java is 17 or later and works, or name the address of a Spark"
            raise UsageError(f"Spark did not start here ({reason}); {remedy}") from error

    def _check_answers(self, address: str) -> None:
        """`UsageError` where nothing listens at the address of a Connect server or of a master."""
        kind, _, rest = address.partition("://")
        if kind not in ("sc", "spark"):
            return
        error: Exception = ValueError(f"{address} names no host")
        for host in rest.split(","):
            url = urlsplit(f"//{host}")
            try:
                if not url.hostname:
                    raise ValueError(f"{address} names no host")
                check_listens(url.hostname, url.port or _PORTS[kind])
                return
            except (OSError, ValueError) as problem:  # a port that is no number is a ValueError
                error = problem
        raise self.no_answer(error) from error


class _Sent:
    """The order for a work as it travels: once to each machine, or, to a Connect server, with every job."""

    def __init__(self, session: Any, order: Order) -> None:
        try:
            self._broadcast = session.sparkContext.broadcast(tuple(order))
        except Exception:  # a Connect session has no context
            self._broadcast, self._order = None, order

    def __call__(self) -> Order:
        """The order, on a worker."""
        return self._order if self._broadcast is None else Order(*self._broadcast.value)

    def forget(self) -> None:
        """Let the machines forget it."""
        if self._broadcast is not None:
            with suppress(
                Exception
            ):  # a Spark that has ended, as by Ctrl-C, knows nothing of it any more
                self._broadcast.unpersist()


def _frame_of(session: Any, order: _Sent, parts: Sequence[Any], tasks: int) -> Any:
    """A frame of what the workers will answer; so many tasks, each with consecutive parts."""
    pickled = list(map(pickle.dumps, parts))

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            indices = batch.column("id").to_pylist()
            answers = pa.array(
                [run_part(order(), pickled[index]) for index in indices], pa.binary()
            )
            yield pa.RecordBatch.from_arrays(
                [pa.array(indices, pa.int64()), answers], ["id", "answer"]
            )

    with _quiet():
        return session.range(0, len(parts), 1, min(tasks, len(parts))).mapInArrow(
            answer, "id long, answer binary"
        )


def _answers(rows: Any) -> list[bytes]:
    """What the workers answered, in the order of the parts."""
    try:
        answers = rows.collect()
    except Exception as error:  # Java's errors have no common root on this side
        raise why_lost("Spark", error) from error
    return [bytes(row["answer"]) for row in sorted(answers, key=lambda row: row["id"])]


@contextmanager
def _quiet() -> Iterator[None]:
    """Inside, Spark does not warn of the release of pandas, which no frame of ours meets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _check_java() -> None:
    """`UsageError` where there is no Java."""
    java = os.environ.get("JAVA_HOME")
    if not shutil.which("java") and not (
        java and os.path.exists(os.path.join(java, "bin", "java"))
    ):
        remedy = "run: sudo apt-get install default-jre-headless, or set JAVA_HOME"
        raise UsageError(f"the engine spark needs Java 17 or later, which was not found; {remedy}")


def _launch(options: Mapping[str, str]) -> None:
    """Start Java for a Spark of our own; what Java says goes to a file, and into the error where it does not start."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:  # Java runs already, for a Spark that has ended
        return
    with tempfile.TemporaryFile() as log:
        try:
            with signals_waiting():  # Java that finds nobody to tell its port to stays for ever
                gateway = launch_gateway(SparkConf(False).setAll(options.items()), {"stderr": log})
        except Exception as error:
            log.seek(0)
            lines = log.read().decode(errors="replace").strip().splitlines()
            raise WorkError(f"Java ended: {lines[-1] if lines else error}") from error
    SparkContext._ensure_initialized(gateway=gateway)
