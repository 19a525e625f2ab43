"""Histories: stores of past runs, in a file (SQLite) or on a server (PostgreSQL), and what a run tells them."""

from .base import Store
from .opening import open_store
from .reading import kept_result, read_history
from .recording import Recorder

__all__ = ["Recorder", "Store", "kept_result", "open_store", "read_history"]
