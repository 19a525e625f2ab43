"""Image shifts: the fifteen corruptions of CIFAR-10-C and ImageNet-C, one file for each of their four groups, and the
four extra ones.
"""

from __future__ import annotations

from ..base import ImageShift

# The order of import is that of CIFAR-10-C.
# isort: off
from .noise import GaussianNoise, ImpulseNoise, ShotNoise
from .blur import DefocusBlur, GlassBlur, MotionBlur, ZoomBlur
from .weather import Brightness, Fog, Frost, Snow
from .digital import Contrast, ElasticTransform, JpegCompression, Pixelate
from .extra import GaussianBlur, Saturate, Spatter, SpeckleNoise
# isort: on

__all__ = ["EXTRA", "KINDS"]

KINDS: tuple[type[ImageShift], ...] = (
    GaussianNoise,
    ShotNoise,
    ImpulseNoise,
    DefocusBlur,
    GlassBlur,
    MotionBlur,
    ZoomBlur,
    Snow,
    Frost,
    Fog,
    Brightness,
    Contrast,
    ElasticTransform,
    Pixelate,
    JpegCompression,
)
EXTRA: tuple[type[ImageShift], ...] = (SpeckleNoise, GaussianBlur, Spatter, Saturate)
