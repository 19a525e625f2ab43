"""Old name of `artifact_cache`, for one release."""

from __future__ import annotations

from .artifact_cache import checksum, checksum_of_files, made_anew
from .artifact_cache import read_artifact as read_kept
from .artifact_cache import write_artifact as write_kept

__all__ = ["checksum", "checksum_of_files", "made_anew", "read_kept", "write_kept"]
