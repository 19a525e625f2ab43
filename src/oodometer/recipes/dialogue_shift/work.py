"""Work: write the shifted conversations, train a member, and ask it about them."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import MissingExtraError
from ...models import ResponseRanker, load_model
from ...models.base import Request
from ...models.text.attention import AttentionImportance
from ...models.torch.library import load_pretrained, use_threads
from ...shifts.text import find_wordnet
from ..base import Progress, Workspace
from ..kit.sources import Place, load_answers, source_of, store_answers
from .data import PAPER_RATIOS, Condition, RunConfig, RunData

__all__ = ["ENCODER_FILES", "MODEL_FILES", "Place", "ask", "check", "count", "load_answers", "train", "write_sets"]

MODEL_FILES = ("oodometer_model.json", "config.json", "weights.safetensors", "tokenizer/tokenizer.json")
ENCODER_FILES = ("config.json", "model.safetensors", "tokenizer.json")
_ARRAYS = {False: ("logits",), True: ("mean", "variance")}


def check(config: RunConfig) -> None:
    """Say what is missing, library, WordNet or pretrained network, before anything is read or trained."""
    find_wordnet()
    if importlib.util.find_spec("rapidfuzz") is None:
        raise MissingExtraError("a shift by synonyms", "rapidfuzz", extra="text")
    if "source" in config.network:
        load_pretrained("AutoConfig", source_of(str(config.network["source"])))


def count(data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Contexts of the whole test split and words exchanged at every ratio of the paper; writes ``counts.json``."""
    parts: list[tuple[str, str, Any, dict[str, Any]]] = [
        (group, f"{one:g}", f"{one:g}", {}) for group in ("uw", "kw") for one in PAPER_RATIOS
    ]
    parts += [("importance", str(one), one, {}) for one in range(1, 6)]
    parts += [("kw-5000", f"{one:g}", f"{one:g}", {"least": 5_001}) for one in (PAPER_RATIOS[0], PAPER_RATIOS[-1])]
    out: dict[str, Any] = {"contexts": len(data.test), "shifts": {}}
    for done, (name, label, severity, options) in enumerate(parts, 1):
        many, targets = data.counts(name.partition("-")[0], severity, **options)
        out["shifts"].setdefault(name, {})[label] = [many, round(targets, 4)]
        progress(done, len(parts))
    turns = [len(one.context) for one in data.test.inputs]
    out["turns"] = {str(n): turns.count(n) for n in range(1, data.config.turns + 1)}
    out["at_least"] = sum(n >= data.config.turns for n in turns)
    out["also_in_train"] = data.test.counts.get("also in train", 0)
    workspace.write_json("counts.json", out)


def write_sets(data: RunData, conditions: Sequence[Condition], place: Place, encoder: str | None = None) -> None:
    """The contexts of each condition, one file each; words by importance need the ``encoder``, which stays the same."""
    importance = None if encoder is None else AttentionImportance(place.workspace.folder / encoder)
    for done, one in enumerate(conditions, 1):
        place.workspace.write_json(f"{place.folder}/{one.name}.json", data.shifted(one, importance))
        place.progress(done, len(conditions))


def train(data: RunData, member: int, place: Place, encoder: str | None = None) -> None:
    """Train one ranker and save it, its ``encoder`` alone where asked, too; it goes on from its checkpoint."""
    use_threads()
    config = data.config
    training = replace(config.training, seed=config.seed + member)
    options = dict(config.network)
    if "source" in options:
        options["source"] = source_of(str(config.network["source"]))
    model = ResponseRanker(**options, training=training)
    checkpoint = place.workspace / f"checkpoints/{place.folder}"
    model.fit(data.train(), checkpoint=checkpoint, progress=place.progress)
    model.save(place.workspace / place.folder)
    if encoder is not None:
        net = model.net["encoder"] if model.head == "means" else model.net.base_model
        net.save_pretrained(place.workspace / encoder)
        model.tokenizer.save_pretrained(place.workspace / encoder)
    shutil.rmtree(checkpoint, ignore_errors=True)


def ask(data: RunData, conditions: Sequence[Condition], model: str, place: Place, passes: int = 0) -> None:
    """Ask a ranker about every condition; an NPZ file each: logits, or mean and variance of passes with dropout."""
    use_threads()
    ranker = load_model(place.workspace.folder / model)
    for done, one in enumerate(conditions):
        held = place.workspace.read_json(f"conditions/{one.name}.json")
        instances = data.instances(one, held)

        def tell(pairs: int, of: int, done: int = done) -> None:
            place.progress(done * of + pairs, len(conditions) * of)

        found: dict[str, Any] = {name: np.zeros((0, data.config.candidates)) for name in _ARRAYS[passes > 0]}
        if len(instances):  # at a strong severity there may be none
            said = ranker.ask(instances.inputs, Request(dropout=passes, seed=data.config.seed), progress=tell)
            whole = (said.distribution, said.variance) if passes else (said.logits_of(ranker.kind),)
            found = dict(zip(_ARRAYS[passes > 0], whole, strict=True))
        arrays: dict[str, Any] = {name: np.asarray(values, dtype=np.float32) for name, values in found.items()}
        arrays |= {"target": np.array(instances.targets, dtype=np.int64), "ids": np.array(instances.ids, dtype=str)}
        arrays["truncated"] = np.int64(ranker.truncated if len(instances) else 0)
        store_answers(place, one.name, arrays)
