"""Faults of training data: wrong labels, noisy measurements, missing samples, features that only seem to explain."""

from __future__ import annotations

from .dominoes import dominoes
from .label_noise import Flipped, flip_labels
from .measurement_noise import measurement_noise
from .under_sampling import under_sample

__all__ = ["Flipped", "dominoes", "flip_labels", "measurement_noise", "under_sample"]
