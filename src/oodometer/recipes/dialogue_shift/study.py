"""The study: every method on every condition, and the differences that the claims are about."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, final

import numpy as np

from ...arrays import Array, softmax
from ...calibrators.temperature import fit_temperature
from ...metrics.brier import brier_score
from ...metrics.calibration import expected_calibration_error
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.sources import load_answers
from ..kit.tables import mean_and_spread, rounded
from .data import Condition, RunConfig, RunData, conditions_of

METHODS = ("vanilla", "temperature", "dropout", "ensemble")
METRICS = ("accuracy", "brier", "ece")
BINS = 10
"""Buckets of equal width of the calibration error; the paper does not tell its number."""
_ROUNDING = 1e-6  # weights and sums of the replicates are float32


@final
@dataclass(frozen=True)
class Said:
    """What one method said of one condition: probabilities (model, sample, candidate), targets, conversations."""

    probabilities: Array
    target: Array
    conversation: Array

    def take(self, kept: Array) -> Said:
        """The samples at some places, or where a mask says so."""
        return Said(self.probabilities[:, kept], self.target[kept], self.conversation[kept])

    def models(self, many: int) -> Said:
        """The first models alone."""
        return Said(self.probabilities[:many], self.target, self.conversation)

    @cached_property
    def right(self) -> Array:
        """Whether each model put the true candidate first, float64, shape (model, sample)."""
        return np.asarray((self.probabilities.argmax(-1) == self.target).astype(np.float64))

    @cached_property
    def confidence(self) -> Array:
        """Probability of the first candidate, shape (model, sample)."""
        return np.asarray(self.probabilities.max(-1).astype(np.float64))

    def value(self, metric: str, model: int) -> float:
        """A metric of one model, by the library; ``ece_all`` takes every candidate as an event of its own."""
        p = self.probabilities[model].astype(np.float64)
        p /= p.sum(1, keepdims=True)  # stored in float32
        if metric == "accuracy":
            return float(self.right[model].mean())
        if metric == "brier":
            return brier_score(p, self.target)
        if metric == "ece":
            return expected_calibration_error(p.max(1), self.right[model], BINS)
        true = np.arange(p.shape[1]) == self.target[:, None]
        return expected_calibration_error(p.ravel(), true.ravel(), BINS)


def sums(said: Said, metric: str) -> Array:
    """What is added up over samples, shape (model, sample, part): one part, or for the calibration error one a bin."""
    if metric == "accuracy":
        return said.right[..., None]
    if metric == "brier":
        p = said.probabilities.astype(np.float64)
        own = np.take_along_axis(p, np.broadcast_to(said.target, p.shape[:2])[..., None], -1)
        return np.asarray((p * p).sum(-1, keepdims=True) - 2 * own + 1)
    at = np.clip(np.ceil(said.confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    return np.asarray((at[..., None] == np.arange(BINS)) * (said.right - said.confidence)[..., None])


@final
class Bootstrap:
    """Draws of whole conversations, the same for every method and condition, so that differences are paired."""

    def __init__(self, conversations: Sequence[str], replicates: int, seed: int) -> None:
        self._place = {name: place for place, name in enumerate(sorted(set(conversations)))}
        many = len(self._place)
        rng = np.random.default_rng(seed)
        self._draws = rng.multinomial(many, np.full(many, 1 / many), size=replicates).astype(np.float32)

    def metric(self, said: Said, metric: str) -> tuple[Array, Array]:
        """A metric as it was seen, shape (model,), and in every replicate, shape (replicate, model)."""
        parts = sums(said, metric)
        seen = np.abs(parts.sum(1)).sum(-1) / max(parts.shape[1], 1)
        weights = self._draws[:, [self._place[one] for one in said.conversation]]
        rows = np.maximum(weights.sum(1), 1)[:, None]
        drawn = np.stack([np.abs(weights @ one.astype(np.float32)).sum(-1) for one in parts], axis=1) / rows
        return seen, drawn

    def apart(self, *terms: tuple[float, Said, str]) -> dict[str, Any]:
        """A sum of metrics, each with its sign, averaged over models: its value, its error, and the share ``above`` 0.

        The share is that of the replicates turned over (2 * seen - drawn, the basic bootstrap), those at 0 counted
        half: a calibration error is too large in a sample, and by as much again in a sample of it. ``by_model`` where
        all terms have as many models.
        """
        found = [(sign, *self.metric(said, metric)) for sign, said, metric in terms]
        drawn = np.sum([sign * each.mean(1) for sign, _, each in found], axis=0)
        value = float(sum(sign * seen.mean() for sign, seen, _ in found))
        turned = 2 * value - drawn
        equal = np.abs(turned) < _ROUNDING
        models = {len(seen) for _, seen, _ in found}
        by_model = np.sum([sign * seen for sign, seen, _ in found], axis=0).tolist() if len(models) == 1 else []
        out: dict[str, Any] = {"value": value, "error": float(drawn.std(ddof=1))}
        out |= {"above": float(((turned > 0) & ~equal).mean() + equal.mean() / 2), "by_model": by_model}
        return out | {"rows": [len(said.target) for _, said, _ in terms]}


FORM = 1  # raise it where the form of the result changes: then the step is done again
REPLICATES = 1_999


@final
class Study:
    """What all models said of all conditions, and what is to be told of it."""

    def __init__(self, config: RunConfig, workspace: Workspace) -> None:
        self.config = config
        every = conditions_of(config)
        members = [
            {one.name: load_answers(workspace, f"answers/{i}", one.name) for one in every}
            for i in range(config.members)
        ]
        first = members[0]
        self.conditions = [one for one in every if len(first[one.name]["ids"])]
        self.ids = {name: one["ids"] for name, one in first.items()}
        self.truncated = {name: int(one["truncated"]) for name, one in first.items()}
        self._target = {name: one["target"] for name, one in first.items()}
        self._conversation = {name: _conversations(name, ids) for name, ids in self.ids.items()}
        self._logits = {name: np.stack([one[name]["logits"] for one in members]) for name in first}
        self.temperatures = [fit_temperature(one["dev"]["logits"], one["dev"]["target"]) for one in members]
        wanted = config.dropout_conditions
        self._dropout: dict[str, Array] = {}
        for one in self.conditions if config.dropout_members else ():
            if wanted is None or one.name in wanted:
                folders = [f"answers/dropout-{i}" for i in range(config.dropout_members)]
                self._dropout[one.name] = np.stack([load_answers(workspace, f, one.name)["mean"] for f in folders])
        everyone = [one for names in self._conversation.values() for one in names]
        self.bootstrap = Bootstrap(everyone, REPLICATES, config.seed)

    def said(self, method: str, condition: Condition, models: int | None = None) -> Said | None:
        """What a method said of a condition; ``models``: of an ensemble, how many are averaged, each choice once."""
        name = condition.name
        if method == "dropout":
            p = self._dropout.get(name)
        else:
            logits = self._logits[name].astype(np.float64)
            scale = np.asarray(self.temperatures, dtype=np.float64)[:, None, None] if method == "temperature" else 1.0
            p = softmax(logits / scale)
            if method == "ensemble":
                p = np.stack([p[list(one)].mean(0) for one in combinations(range(len(p)), models or len(p))])
        return None if p is None else Said(p, self._target[name], self._conversation[name])

    def group(self, group: str) -> list[Condition]:
        """The conditions of a group, the mildest first, as in the config."""
        return [one for one in self.conditions if one.group == group]

    def common(self, conditions: Sequence[Condition]) -> set[str]:
        """Ids of the instances that stand in all of them."""
        return set.intersection(*(set(self.ids[one.name].tolist()) for one in conditions))

    def vanilla(self, condition: Condition, ids: set[str] | None = None, method: str = "vanilla") -> Said:
        """What the members, or another method, said of the instances with some ids."""
        said = self.said(method, condition)
        assert said is not None
        if ids is None:
            return said
        return said.take(np.isin(self.ids[condition.name], sorted(ids)))

    # ---------------------------------------------------------------- tables

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each method on each condition."""
        kinds: list[tuple[str, str, int | None]] = [(method, method, None) for method in METHODS]
        kinds.append((f"ensemble of {self.config.ensemble}", "ensemble", self.config.ensemble))
        for one in self.conditions:
            for name, method, models in kinds:
                said = self.said(method, one, models)
                if said is not None:
                    about = {"condition": one.name, "group": one.group, "label": one.label, "method": name}
                    yield {**about, "rows": len(said.target), **_metrics(said)}

    def of_types(self, seen: Mapping[str, bool]) -> Iterator[dict[str, Any]]:
        """The members on every condition without, and on, the conversations that also stand in training."""
        for one in self.conditions:
            known = np.array([seen.get(name, False) for name in self.ids[one.name].tolist()])
            for label, mask in (("new", ~known), ("also in train", known)):
                if one.name != "dev" and mask.any():
                    said = self.vanilla(one).take(mask)
                    yield {"condition": one.name, "type": label, "rows": int(mask.sum()), **_metrics(said)}

    def on_common(self) -> dict[str, Any]:
        """The members on the instances that every ratio of unknown and of known words kept."""
        known = [*self.group("uw"), *self.group("kw")]
        ids = self.common(known) if known else set()
        if not ids:
            return {"rows": 0, "conditions": {}}
        test = next(one for one in self.conditions if one.name == "test")
        found = {one.name: _metrics(self.vanilla(one, ids)) for one in (test, *known)}
        return {"rows": len(ids), "conditions": found}

    # ---------------------------------------------------------------- differences

    def differences(self) -> dict[str, Any]:
        """Every difference that a claim is about, by name."""
        return dict([*self._changes(), *self._between_methods(), *self._known_words(), *self._controls()])

    def _changes(self) -> Iterator[tuple[str, Any]]:
        """From the mildest to the strongest severity, and from each to the next, on the same instances."""
        for group in ("uw", "kw", "importance", "ic", "sr"):
            known = self.group(group)
            if len(known) < 2:
                continue
            ids = None if group == "sr" else self.common(known)
            if ids is not None and not ids:
                continue
            for metric in METRICS:
                yield f"change/{group}/{metric}", self._change(known[-1], known[0], metric, ids)
            for before, after in pairwise(known):
                yield f"step/{after.name}/accuracy", self._change(after, before, "accuracy", ids)
            if group == "uw":
                yield "change/uw/ece/temperature", self._change(known[-1], known[0], "ece", ids, "temperature")

    def _change(self, last: Condition, first: Condition, metric: str, ids: Any, method: str = "vanilla") -> Any:
        pair = [(sign, self.vanilla(one, ids, method), metric) for sign, one in ((1.0, last), (-1.0, first))]
        return self.bootstrap.apart(*pair)

    def _between_methods(self) -> Iterator[tuple[str, Any]]:
        """One method less another on the same condition: both of the same models, or against the whole ensemble."""
        for one in self.conditions:
            for first, second, metrics in (
                ("ensemble", "vanilla", ("accuracy", "brier")),
                ("ensemble", "dropout", ("accuracy", "brier")),
                ("ensemble", "temperature", ("brier", "ece")),
                ("temperature", "vanilla", ("ece",)),
                ("dropout", "vanilla", ("accuracy", "ece")),
            ):
                left, right = self.said(first, one), self.said(second, one)
                if left is None or right is None:
                    continue
                if first == "dropout":
                    right = right.models(len(left.probabilities))
                for metric in metrics:
                    found = self.bootstrap.apart((1.0, left, metric), (-1.0, right, metric))
                    yield f"{first}-{second}/{one.name}/{metric}", found

    def _known_words(self) -> Iterator[tuple[str, Any]]:
        """Known words less unknown ones at the same ratio, on the instances that both kept."""
        others = {one.label: one for one in self.group("kw")}
        for unknown in self.group("uw"):
            known = others.get(unknown.label)
            ids = set() if known is None else self.common([unknown, known])
            if known is not None and ids:
                yield f"kw-uw/{unknown.label}/accuracy", self._change(known, unknown, "accuracy", ids)

    def _controls(self) -> Iterator[tuple[str, Any]]:
        """The fall over deleted turns less that over really short contexts; the middle fifth less the least one."""
        deleted, short = self.group("ic"), self.group("sr")
        if len(deleted) > 1 and len(short) > 1:
            terms = [(1.0, deleted[0]), (-1.0, deleted[-1]), (-1.0, short[0]), (1.0, short[-1])]
            found = self.bootstrap.apart(*((sign, self.vanilla(one), "accuracy") for sign, one in terms))
            yield "control/accuracy", found
        fifths = self.group("importance")
        if len(fifths) > 2:
            middle = fifths[len(fifths) // 2]
            found = self._change(middle, fifths[0], "accuracy", self.common(fifths))
            yield "flat/importance/accuracy", found


def _metrics(said: Said) -> dict[str, Any]:
    models = range(len(said.probabilities))
    return {metric: mean_and_spread([said.value(metric, i) for i in models]) for metric in (*METRICS, "ece_all")}


def _conversations(condition: str, ids: Array) -> Array:
    """Names of the conversations of ids like ``<conversation>-<turn>``, those of the validation split apart."""
    split = "dev:" if condition == "dev" else ""
    return np.array([split + one.rpartition("-")[0] for one in ids.tolist()])


def study(config: RunConfig, data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Judge all answers; writes ``study.json``."""
    found = Study(config, workspace)
    progress(1, 4)
    seen = {name: kind == "also in train" for name, kind in zip(data.test.ids, data.test.types, strict=True)}
    result: dict[str, Any] = {"form": FORM, "version": __version__, "python": platform.python_version()}
    result |= {"sizes": asdict(config), "data": data.fingerprints(), "counts": workspace.read_json("counts.json")}
    result["conditions"] = [
        _about(one, workspace.read_json(f"conditions/{one.name}.json"), found.truncated[one.name])
        for one in conditions_of(config)
    ]
    result["temperatures"] = found.temperatures
    result["rows"] = list(found.rows())
    progress(2, 4)
    result["types"] = list(found.of_types(seen))
    result["common"] = found.on_common()
    progress(3, 4)
    result |= {"replicates": REPLICATES, "differences": found.differences()}
    workspace.write_json("study.json", rounded(result))
    progress(4, 4)


def _about(one: Condition, held: Mapping[str, Any], truncated: int) -> dict[str, Any]:
    changed = held["targets"]
    out = {"condition": one.name, "group": one.group, "label": one.label, "asked": held["asked"]}
    out |= {"kept": len(held["rows"]), "targets": float(np.mean(changed)) if changed else 0.0}
    return {**out, "truncated": truncated}
