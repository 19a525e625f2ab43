"""Sequences: the old place of what is now in `oodometer.datasets`; goes with the next release."""

from __future__ import annotations

from ... import datasets
from ...deprecation import moved

__getattr__ = moved(
    __name__, {"Sequences": "datasets:Dataset", **{name: f"datasets:{name}" for name in datasets.__all__}}
)
