"""Integrations: a result into a run of MLflow or of Weights & Biases, in one call; libraries load when they are used.

found = oodometer.estimate(reference, target, every="7d")
found.log_to("mlflow")                       # or: oodometer.integrations.mlflow.log(found)
found.log_to("wandb", project="monitoring")  # or: oodometer.integrations.wandb.log(found, project="monitoring")
"""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import UsageError

__all__ = ["TRACKERS", "log"]

TRACKERS = ("mlflow", "wandb")


def log(found: Any, tracker: str, **options: Any) -> str:
    """Log a result to a tracker by its name; see `Shown.log_to`.

    >>> log(None, "tensorboard")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a tracker, one of mlflow, wandb; got 'tensorboard'
    """
    if tracker not in TRACKERS:
        raise UsageError(f"expected a tracker, one of {', '.join(TRACKERS)}; got {tracker!r}")
    run: str = importlib.import_module(f".{tracker}", __package__).log(found, **options)
    return run
