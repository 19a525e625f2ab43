"""Data sets that models are trained and asked on: texts, conversations, sequences, images, and files of one's own."""

from __future__ import annotations

from .amr import little_prince, news_amr
from .base import Dataset, Dialogue, Table
from .cfq import cfq
from .cifar import cifar10, cifar10_1, cifar10n
from .cogs import cogs, pos_cogs
from .daily_dialog import daily_dialog
from .folder import data_folder
from .hans import hans
from .mnist import mnist
from .msgs import MsgsSet, msgs
from .penn import penn_tags, penn_trees
from .response_ranking import replies
from .reviews import imdb, sst2
from .sentence_pairs import binary_entailment, mrpc, paws_qqp
from .stl10 import stl10
from .tagging import ud_tags, wsj_tags
from .topv2 import topv2
from .trees import gum_trees, wsj_trees
from .words import numbered, with_signatures

__all__ = [
    "Dataset",
    "Dialogue",
    "MsgsSet",
    "Table",
    "binary_entailment",
    "cfq",
    "cifar10",
    "cifar10_1",
    "cifar10n",
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
