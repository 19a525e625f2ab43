"""Runs: what a long command notes of itself where it works, and the lock that keeps a second one out."""

from __future__ import annotations

from .running import (
    LOCK,
    MANIFEST,
    Lock,
    Manifest,
    cleared,
    is_locked,
    passing,
    places_of_run,
    places_said,
    read_manifest,
    running,
)

__all__ = [
    "LOCK",
    "MANIFEST",
    "Lock",
    "Manifest",
    "cleared",
    "is_locked",
    "passing",
    "places_of_run",
    "places_said",
    "read_manifest",
    "running",
]
