"""Reading ahead: the target's first parts are decoded while the methods are still fitted on the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, final

from ...kernels import cores, pool
from ...passes.needed_fields import SPARED
from ...predictions import Predictions
from ...store import Part

__all__ = ["ReadingAhead"]

_MOST_VALUES = 4_000_000  # numbers decoded beforehand, 16 MB of float32


@final
class ReadingAhead:
    """The parts of a source, the first of which are being read by an idle core until `stop`.

    ``parts`` are as the source gave them to whoever asks for other fields or rows, and to another process. With one
    core, or one part, nothing is read beforehand.
    """

    def __init__(self, parts: Sequence[Part], rows: int, values: int) -> None:
        """``rows`` of a batch, as they will be asked for; ``values`` in a part, about."""
        self.parts: list[Part] = list(parts)
        self._thread: ThreadPoolExecutor | None = None
        self._coming: list[Future[Any]] = []
        count = min(_MOST_VALUES // max(values, 1), len(self.parts))
        if cores() == 1 or len(self.parts) < 2 or not count:
            return
        self._thread = pool(1)
        for i in range(count):
            coming = self._thread.submit(_read, self.parts[i], rows)
            self._coming.append(coming)
            self.parts[i] = _Ahead(self.parts[i], rows, coming)

    def stop(self) -> None:
        """Begin with no further part; the one in work is finished by whoever asks for it first."""
        for coming in self._coming:
            coming.cancel()
        if self._thread is not None:
            self._thread.shutdown(wait=False)


class _Ahead(Part):
    """A part whose batches are in memory already, or soon; once it has been read to its end they are let go."""

    def __init__(self, part: Part, rows: int, coming: Future[list[Predictions]]) -> None:
        self._part, self._rows = part, rows
        self._coming: Future[list[Predictions]] | None = coming

    def batches(self, fields: Iterable[str] | None = None, rows: int = 65_536) -> Iterator[Predictions]:
        """The batches from memory, with all fields; read anew where others are asked for, or they were let go."""
        coming = self._coming
        if coming is None or coming.cancelled() or rows != self._rows:
            return self._part.batches(fields, rows)
        asked = None if fields is None else set(fields)
        there = coming.result()
        left = set() if asked is None or not there else set(there[0].fields) - asked
        if not left <= SPARED:  # one of them may stand in for a field that is absent: the source knows
            return self._part.batches(asked, rows)
        return self._handed_out(there, left)

    def _handed_out(self, batches: list[Predictions], left: set[str]) -> Iterator[Predictions]:
        absent: dict[str, Any] = dict.fromkeys(left)
        for batch in batches:
            yield replace(batch, **absent) if left else batch
        self._coming = None

    def __reduce__(self) -> Any:
        return (_itself, (self._part,))


def _itself(part: Part) -> Part:
    return part


def _read(part: Part, rows: int) -> list[Predictions]:
    return list(part.batches(rows=rows))
