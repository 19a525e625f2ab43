"""Reading: a user's own data, a table, dialogues, images, arrays or a data set of the hub, in batches of examples."""

from __future__ import annotations

from .base import Batch, Columns, Examples
from .dialogues import Drawing
from .opening import open_examples

__all__ = ["Batch", "Columns", "Drawing", "Examples", "open_examples"]
