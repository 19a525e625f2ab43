"""Sequences: sentences with logical forms, tags, trees or graphs, from the folder OODOMETER_DATA or the hub."""

from __future__ import annotations

from .amr import little_prince, news_amr
from .base import Sequences
from .cfq import cfq
from .cogs import cogs, pos_cogs
from .penn import penn_tags, penn_trees
from .tagging import ud_tags, wsj_tags
from .topv2 import topv2
from .trees import gum_trees, wsj_trees
from .words import numbered, with_signatures

__all__ = [
    "Sequences",
    "cfq",
    "cogs",
    "gum_trees",
    "little_prince",
    "news_amr",
    "numbered",
    "penn_tags",
    "penn_trees",
    "pos_cogs",
    "topv2",
    "ud_tags",
    "with_signatures",
    "wsj_tags",
    "wsj_trees",
]
