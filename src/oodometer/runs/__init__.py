"""Runs: what a long command notes of itself where it works, and the lock that keeps a second one out."""

from __future__ import annotations

from .locking import Lock, is_locked
from .manifest import LOCK, MANIFEST, Manifest, cleared, read_manifest
from .running import passing, places_of_run, places_said, running

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
