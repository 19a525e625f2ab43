"""Histories: stores of past runs, in a file (SQLite) or on a server (PostgreSQL), and what a run tells them."""

from .base import Store
from .opening import open_store
from .recording import Recorder

__all__ = ["Recorder", "Store", "open_store"]
