"""Predict: a live model, or the log of an evaluation harness, into a predictions file."""

from __future__ import annotations

from .run import predict

__all__ = ["predict"]
