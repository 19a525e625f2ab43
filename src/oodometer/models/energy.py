"""Energy: the old place of what is now in `oodometer.energy`; goes with the next release."""

from __future__ import annotations

from ..deprecation import moved

__getattr__ = moved(__name__, {name: f"energy:{name}" for name in ("PUE", "Energy", "EnergyMeter", "Part")})
