"""Uncertainty: one way to ask a classifier or ranker for probabilities that say how sure it is, whatever the method.

The plain ("vanilla") way is the model itself. Each other method is a classifier, too: `ask` gives the mean of the
probabilities and, where there are several passes or models, their variance.

- `temperature_scaling.py`: softmax(z / T), one T fitted on validation data.
- `monte_carlo_dropout.py`: several passes with the dropout layers on.
- `deep_ensemble.py`: models that are trained with different seeds; `Ensemble` with ``average`` asks them.
"""

from __future__ import annotations

from .deep_ensemble import train_deep_ensemble
from .monte_carlo_dropout import MonteCarloDropout
from .temperature_scaling import TemperatureScaling

__all__ = ["MonteCarloDropout", "TemperatureScaling", "train_deep_ensemble"]
