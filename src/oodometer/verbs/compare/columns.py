"""Columns: how the user's own columns moved from a model's rows in domain to those out of it and to its target."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnoses.column_drift import ColumnDrift
from ...errors import UsageError
from ...passes.reference import read_reference
from ...results.columns import ColumnChange
from ...store import Source
from ..features import with_features
from .options import CompareOptions
from .rows import row_key

__all__ = ["moved_columns"]

Moved = dict[str, tuple[ColumnChange, ...]]


def moved_columns(
    homes: Sequence[Source], aways: Sequence[Source], targets: Sequence[Source], options: CompareOptions
) -> list[Moved]:
    """For each model: domain (out_of_domain, target) -> its columns, those that explain most of a change first.

    Each model's columns are encoded as learnt on its rows in domain, and held against its accuracy there. Raises
    `UsageError` where there is nothing that they could have moved to, and as `with_features`.
    """
    if options.features is None:
        return [{} for _ in homes]
    if not aways and not targets:
        raise UsageError(
            "--features tell which columns moved from the models' files to others; give --target or --out-of-domain "
            "once for each model, or leave --features out"
        )
    key = row_key(options.key, homes)
    found: list[Moved] = [{} for _ in homes]
    for domain, others in (("out_of_domain", aways), ("target", targets)):
        for moved, home, other in zip(found, homes, others, strict=False):
            moved[domain] = _moved(home, other, options, key)
    return found


def _moved(home: Source, other: Source, options: CompareOptions, key: str | None) -> tuple[ColumnChange, ...]:
    (near,), far = with_features([home], other, options.features, [key])
    assert far is not None
    drift = ColumnDrift(near.users, level=options.level).fit(read_reference(near).record)
    state = drift.folded(far.batches(("features",)))
    return () if state is None else drift.finish(state)
