"""Data sets: texts, conversations, sequences, images, files of one's own; small samples ship with the core."""

from __future__ import annotations

from .base import Dataset, Dialogue, Table
from .dialogues import daily_dialog, replies
from .files import data_folder
from .image_sets import cifar10, cifar10_1, mnist, stl10
from .logical_forms import cfq, cogs, little_prince, news_amr, pos_cogs, topv2
from .sentences import MsgsSet, binary_entailment, hans, imdb, mrpc, msgs, paws_qqp, sst2
from .tagging import ud_tags, wsj_tags
from .trees import gum_trees, numbered, penn_tags, penn_trees, with_signatures, wsj_trees

__all__ = [
    "Dataset",
    "Dialogue",
    "MsgsSet",
    "Table",
    "binary_entailment",
    "cfq",
    "cifar10",
    "cifar10_1",
    "cogs",
    "daily_dialog",
    "data_folder",
    "gum_trees",
    "hans",
    "imdb",
    "little_prince",
    "mnist",
    "mrpc",
    "msgs",
    "news_amr",
    "numbered",
    "paws_qqp",
    "penn_tags",
    "penn_trees",
    "pos_cogs",
    "replies",
    "sst2",
    "stl10",
    "topv2",
    "ud_tags",
    "with_signatures",
    "wsj_tags",
    "wsj_trees",
]
