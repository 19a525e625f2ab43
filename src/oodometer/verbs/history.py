"""The verb `history`: past runs out of their store: how estimates changed, what came true, which alarms stand."""

from __future__ import annotations

from ..histories import open_store, read_history
from ..options import verb
from ..results.history import History
from .options import HistoryOptions


@verb(HistoryOptions)
def history(options: HistoryOptions) -> History:
    """Past runs that `estimate` added to a store (``store=``), job by job.

    Of each chunk the newest run's estimate counts, and the truth that labels last told; the estimates of all runs
    stand beside it. A chunk that was cut otherwise by older runs (another ``every`` or ``by``) is left out.

    Raises `InputError` for a store that is not there, is locked, does not answer or is of another version,
    `UsageError` for a job that it does not have.

    >>> import tempfile, oodometer
    >>> reference = {"probabilities": [[0.9, 0.1], [0.6, 0.4]] * 60, "label": [0, 1] * 60}
    >>> target = {"probabilities": [[0.9, 0.1], [0.7, 0.3]] * 60}
    >>> store = tempfile.mkdtemp() + "/runs.sqlite"
    >>> found = oodometer.estimate(reference, target, methods=["ac"], backtest=None, store=store, job="shop")
    >>> past = history(store)["shop"]
    >>> len(past.runs), past.of("target")[0].newest.value == found.headline.value
    (1, True)
    """
    return read_history(open_store(options.store), options.job, options.last)
