"""Attributions: what each word of a text adds to what a classifier says of it; factors over them are in `factors`."""

from __future__ import annotations

from .base import Attribution, Model, WordAttributions

# The order of import is that of presentation.
# isort: off
from .lime import Lime
from .kernel_shap import KernelShap
from .integrated_gradients import IntegratedGradients

# isort: on
from .base import NORMALIZATIONS, Words, normalized
from .in_folder import Explained, ExplainOptions, explain_in, read_attributions, write_attributions

__all__ = [
    "NORMALIZATIONS",
    "Attribution",
    "ExplainOptions",
    "Explained",
    "IntegratedGradients",
    "KernelShap",
    "Lime",
    "Model",
    "WordAttributions",
    "Words",
    "explain_in",
    "normalized",
    "read_attributions",
    "write_attributions",
]
