"""Charts: one file a chart, each a function from a result to a `Figure` or, where the result has no such part, None."""

from __future__ import annotations
