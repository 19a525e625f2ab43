"""Elsewhere: stretches of batches as tasks of an engine; each batch is a part in the folder beside the file."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, final

from ...datasets.reading import Examples, open_examples
from ...engines import Engine, run_tasks
from ...errors import UsageError
from ...models.sent import forgetting, kept_model
from .asking import ask_batch, opened
from .options import Asked
from .parts import Parts

_MOST = 64  # stretches: each reads text formats from their beginning
_PER_TASK = 1  # batches of a task, where there are few


@final
@dataclass(frozen=True)
class _Task:
    """Asks about a stretch of batches: the places from ``start`` on and before ``stop``, None for the end."""

    model: str
    data: str
    options: Asked
    parts: tuple[Path, str, tuple[str, ...]]
    stamp: str
    gpu: bool

    def __call__(self, stretch: tuple[int, int | None]) -> None:
        start, stop = stretch
        options = self.options
        parts = Parts(*self.parts)
        with kept_model(f"predict {self.parts[1]}", partial(opened, self.model, options)) as asked:
            examples = open_examples(self.data, asked.reads, options.columns, options.drawing)
            if repr(examples.stamp) != self.stamp:
                raise UsageError(
                    f"{self.data} is another one to a worker: all must see the same file, and it may not "
                    "change while it is read"
                )
            found = enumerate(examples.batches(options.batch_rows, skip=options.skip, first=start), start)
            for place, batch in takewhile(lambda one: stop is None or one[0] < stop, found):
                if not parts.has(place):
                    ask_batch(asked, examples, batch, options, parts, place, lambda done, of: None)


def ask_elsewhere(
    engine: Engine | None,
    model: Any,
    data: Any,
    examples: Examples,
    options: Asked,
    parts: Parts,
) -> int:
    """Ask about all batches that are not finished; the number of rows that were read.

    Raises `UsageError` where model, data or predictions are in memory.
    """
    assert engine is not None
    if parts.home is None or not isinstance(data, (str, os.PathLike)):
        raise UsageError(
            "workers open model and data by their paths and write files: name both by paths and give out=, or leave "
            "engine and workers out"
        )
    home = Path(os.path.abspath(parts.home))
    task = _Task(
        os.fspath(model),
        os.fspath(data),
        replace(options, model=None, data=None, progress=None),
        (home, parts.job, parts.extra),
        repr(examples.stamp),
        options.device != "cpu",
    )
    many = _batches(examples, options)
    each = max(_PER_TASK, -(-many // _MOST))
    # The last one has no end: batches of a file may be smaller than asked for, and so more than counted.
    parts.tell(many)
    starts = list(range(0, many, each))
    stretches = [(start, start + each if start + each < many else None) for start in starts]

    def tell(stretch: tuple[int, int | None]) -> None:
        before = parts.done
        parts.look()
        parts.tell(many, worked=parts.done - before)
        if options.progress is not None:
            rows = examples.rows or many * options.batch_rows
            options.progress(min(rows, (stretch[1] or many) * options.batch_rows), examples.rows or 0)

    with forgetting():
        run_tasks(engine, task, stretches, on_done=tell)
    parts.look()
    return sum(int(note.get("read", 0)) for note in parts.notes)


def _batches(examples: Examples, options: Asked) -> int:
    """About how many batches there are; read through where the source does not tell its rows."""
    if examples.rows is not None:
        return max(1, -(-examples.rows // options.batch_rows))
    return max(1, sum(1 for _ in examples.batches(options.batch_rows, skip=True)))
