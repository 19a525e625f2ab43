"""The Ray engine: tasks on a cluster of Ray, or on one that is started here for as long as it is needed."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from ..errors import MissingExtraError, UsageError
from ..kernels import cores
from ..registry import register
from .base import Pool
from .remote import ClusterEngine, check_listens, join, order_of, received, run_part, why_lost

_RETRIES = 3  # of a part whose worker died
_STORE = 256 * 1024 * 1024  # bytes of shared memory of a cluster started here: states are small


@register("engine")
class RayEngine(ClusterEngine):
    """Works in tasks of Ray, one a part; the driver holds no more states than there are tasks under way.

    Parameters
    ----------
    workers :
        Tasks at a time; None takes as many as the cluster has cores.
    address :
        Of a cluster: ``HOST:PORT``, ``ray://HOST:PORT`` or ``auto``. None takes the session that this process is in,
        or starts a cluster on this machine and ends it with this object.

    Parts name files by their paths, so every machine must see the files there. A part whose worker dies is done again,
    three times at most. `UsageError` for fewer than one worker, an address that does not answer and workers with
    another version of this package; `WorkError` for a part that is lost for good; Ray is an extra.

    >>> RayEngine(workers=2, address="10.0.0.1:6379").address
    '10.0.0.1:6379'
    """

    name, cluster, how = "ray", "Ray cluster", " with `ray start --head`"
    requires = "Ray"

    @contextmanager
    def pool(self, work: Callable[[Any], Any], parts: int) -> Iterator[Pool]:
        """Tasks of Ray, no more of them under way than keep its cores busy."""
        try:
            import ray
        except ImportError:
            raise MissingExtraError("the engine ray", "ray", extra="ray") from None

        def start() -> Any:
            if self.address is None:
                logger, cpus = logging.getLogger("ray"), self.workers or cores()
                before = logger.level
                # what Ray tells of a cluster that is started here is for nobody
                logger.setLevel(logging.ERROR)
                try:
                    ray.init(
                        num_cpus=cpus,
                        object_store_memory=_STORE,
                        include_dashboard=False,
                        log_to_driver=False,
                        configure_logging=False,
                    )
                finally:
                    logger.setLevel(before)
                return ray.shutdown
            self._check_answers(self.address)
            try:
                ray.init(address=self.address, log_to_driver=False, configure_logging=False)
            except (ConnectionError, TimeoutError, ValueError, RuntimeError) as error:
                raise self.no_answer(error) from error
            return ray.shutdown

        self._session = join("ray", self.address, ray.is_initialized, start)
        order = ray.put(order_of(work, ray.cloudpickle.dumps))
        resources = ray.cluster_resources()
        gpus = (
            1 if getattr(work, "gpu", False) and resources.get("GPU", 0) >= 1 else 0
        )  # else it would wait for ever
        task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=_RETRIES)(run_part)
        under_way: set[Any] = set()

        def submit(part: Any) -> Any:
            reference = task.remote(order, pickle.dumps(part))
            under_way.add(reference)
            future = reference.future()
            future.add_done_callback(lambda _: under_way.discard(reference))
            return future

        try:
            yield Pool(submit, self.workers or 2 * max(1, int(resources.get("CPU", 1))), received)
        except ray.exceptions.RayError as error:
            raise why_lost("Ray", error) from error
        finally:
            for reference in list(under_way):
                ray.cancel(reference, force=True)

    def _check_answers(self, address: str) -> None:
        """Look whether anything listens there; Ray itself would ask for a minute."""
        url = urlsplit(address if "://" in address else f"//{address}")
        try:
            host, port = url.hostname, url.port
        except ValueError:
            host, port = None, None
        if address in ("auto", "local"):
            return
        if not host or not port:
            raise UsageError(
                f"expected an address of Ray as HOST:PORT, ray://HOST:PORT or auto, got {address!r}"
            )
        try:
            check_listens(host, port)
        except OSError as error:
            raise self.no_answer(error) from error
