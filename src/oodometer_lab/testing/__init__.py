"""Contract checks of the lab: models, attributions and shifts; `oodometer.testing` passes them on."""

from __future__ import annotations

from .attributions import check_attribution, check_image_shift, check_text_shift
from .models import check_model

__all__ = ["check_attribution", "check_image_shift", "check_model", "check_text_shift"]
