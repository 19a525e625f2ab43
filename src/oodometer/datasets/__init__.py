"""Data sets: small samples that ship here, and the corpora that the lab reads, which load when one is asked for."""

from __future__ import annotations

from typing import Any

from .samples import (
    CarLoan,
    DigitModels,
    load_car_loan,
    load_digit_models,
    load_judged,
    load_runs,
    write_sample,
)

__all__ = [
    "CarLoan",
    "DigitModels",
    "load_car_loan",
    "load_digit_models",
    "load_judged",
    "load_runs",
    "write_sample",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..plugins import load

    return getattr(load("parts", "datasets", f"oodometer.datasets.{name}"), name)
