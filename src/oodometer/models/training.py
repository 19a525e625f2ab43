"""Training: the old place of what is now in `oodometer.models.torch.training`; goes with the next release."""

from __future__ import annotations

from ..deprecation import moved

__getattr__ = moved(
    __name__,
    {"Plan": "models.torch.training:TrainingConfig", "fingerprint": "models.artifacts:fingerprint"},
)
