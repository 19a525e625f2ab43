"""Image shifts: the fifteen corruptions of CIFAR-10-C. One kind, one file."""

from __future__ import annotations

from ..base import ImageShift

# The order of import is that of CIFAR-10-C.
# isort: off
from .gaussian_noise import GaussianNoise
from .shot_noise import ShotNoise
from .impulse_noise import ImpulseNoise
from .defocus_blur import DefocusBlur
from .glass_blur import GlassBlur
from .motion_blur import MotionBlur
from .zoom_blur import ZoomBlur
from .snow import Snow
from .frost import Frost
from .fog import Fog
from .brightness import Brightness
from .contrast import Contrast
from .elastic_transform import ElasticTransform
from .pixelate import Pixelate
from .jpeg_compression import JpegCompression
# isort: on

__all__ = ["KINDS"]

KINDS: tuple[type[ImageShift], ...] = (
    GaussianNoise, ShotNoise, ImpulseNoise, DefocusBlur, GlassBlur, MotionBlur, ZoomBlur, Snow, Frost, Fog,
    Brightness, Contrast, ElasticTransform, Pixelate, JpegCompression,
)  # fmt: skip
