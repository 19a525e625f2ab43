"""Needs of the models: data sets, downloaded word vectors and pretrained networks, beside the data or on the hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...datasets import data_folder
from ...datasets.files import hub_answers
from ...errors import InputError
from ..kit.sources import check_pretrained, packaged_minilm
from .lineup import Entry
from .run_config import RunConfig

VECTORS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "word2vec": (
        ("GoogleNews-vectors-negative300.bin", "GoogleNews-vectors-negative300.bin.gz"),
        "hub:LoganKilpatrick/GoogleNews-vectors-negative300/GoogleNews-vectors-negative300.bin.gz",
    ),
    "glove": (("glove.840B.300d.txt", "glove.840B.300d.zip"), "hub:stanfordnlp/glove/glove.840B.300d.zip"),
}
"""Downloaded vectors of the paper's scale: a file in the folder of OODOMETER_DATA, else a file on the hub."""


def vectors_source(kind: str) -> str:
    """Path of the downloaded vectors where they stand among the data, else their place on the hub.

    >>> vectors_source("glove").endswith("glove.840B.300d.zip")
    True
    """
    files, hub = VECTORS[kind]
    folder: Path | None = data_folder()
    for name in files if folder is not None else ():
        if folder is not None and (folder / name).is_file():
            return str(folder / name)
    return hub


def check_vectors(kind: str) -> None:
    """`InputError` where the downloaded vectors are not among the data and the hub does not answer."""
    if vectors_source(kind).startswith("hub:") and not hub_answers():
        files = " or ".join(VECTORS[kind][0])
        raise InputError(
            f"the word vectors {files}",
            got="none beside the data, and the hub does not answer",
            remedy="put the file into the folder of OODOMETER_DATA",
        )


def pretrained_of(entry: Entry) -> dict[str, Callable[[], Any]]:
    """A check for the pretrained network that a model starts from, by its name; none for the others.

    >>> from .lineup import lineup
    >>> from .run_config import RUN_CONFIGS
    >>> [list(pretrained_of(one)) for one in lineup("paper", RUN_CONFIGS["paper"])][-2:]
    [['google-bert/bert-large-uncased'], ['FacebookAI/roberta-large']]
    """
    source = entry.options.get("source")
    if source is None:
        return {}
    if source == "minilm":
        return {"MiniLM": partial(check_pretrained, packaged_minilm())}
    return {str(source): partial(check_pretrained, str(source))}


def needs_of(
    entries: Sequence[Entry], config: RunConfig, data: Mapping[str, Callable[[], Any]]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every data set, then the vectors and the pretrained networks of the models, each once."""
    yield from data.items()
    found: dict[str, Callable[[], Any]] = {}
    for entry in entries:
        if entry.vectors is not None and not config.trained_vectors:
            found[f"{entry.vectors} vectors"] = partial(check_vectors, entry.vectors)
        found |= pretrained_of(entry)
    yield from found.items()
