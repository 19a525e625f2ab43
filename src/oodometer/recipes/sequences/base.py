"""What a set of sequences was: now `oodometer.datasets.Dataset`; the old place goes with the next release."""

from __future__ import annotations

from ...deprecation import moved

__getattr__ = moved(
    __name__,
    {
        "Row": "datasets.base:Row",
        "Sequences": "datasets:Dataset",
        "split_by_group": "datasets.base:split_by_group",
    },
)
