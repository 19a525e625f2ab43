"""The verb `demo`: the main job on real data, no files needed."""

from __future__ import annotations

from .run import Demo, Step, demo

__all__ = ["Demo", "Step", "demo"]
