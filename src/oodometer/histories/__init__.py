"""Histories: stores of past runs, in a file (SQLite) or on a server (PostgreSQL), and what a run tells them."""

from .base import Store
from .recording import Recorder, kept_result, open_store, read_history

__all__ = ["Recorder", "Store", "kept_result", "open_store", "read_history"]
