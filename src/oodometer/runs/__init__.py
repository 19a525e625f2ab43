"""Runs: what a long command keeps where it works, and the lock that keeps a second one out."""

from __future__ import annotations

from .kept import (
    JOB,
    LOCK,
    MANIFEST,
    Kept,
    Lock,
    is_locked,
    places_of_run,
    places_said,
    read_manifest,
    running,
)

__all__ = [
    "JOB",
    "LOCK",
    "MANIFEST",
    "Kept",
    "Lock",
    "is_locked",
    "places_of_run",
    "places_said",
    "read_manifest",
    "running",
]
