"""Simplicity bias: dominoes whose simple half gives the class away until it does not; errors, and alarms."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...audits.betting import SampledRows
from ...audits.judge import refutes
from ...predictions import Predictions
from ...verbs.estimate import estimate
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.tables import rounded
from .data import RunData
from .study import FORM, SCORES, Errors, mean_and_spread
from .work import Answers, Place, ask_all, load_answers, load_members, train_member

TARGETS = ("correlated", "randomized")
_LEVEL = 0.95
_SIDES = (64, 32)


def folder_of(correlation: float, member: int) -> str:
    """The folder of a network."""
    return f"dominoes/models/{correlation:g}-{member}"


def train_dominoes(data: RunData, correlation: float, member: int, workspace: Workspace, progress: Progress) -> None:
    """Train one network on dominoes of a correlation."""
    train_member(
        data.dominoes("train", correlation),
        data.config,
        data.config.dominoes.epochs,
        member,
        Place(workspace, folder_of(correlation, member), progress),
        image_size=_SIDES,
    )


def ask_dominoes(data: RunData, correlation: float, workspace: Workspace, progress: Progress) -> None:
    """Ask the networks of a correlation about the images of the threshold and both targets."""
    config = data.config
    sets = {"validation": data.dominoes("validation", correlation)}
    for name in TARGETS:
        sets[name] = data.dominoes("target", correlation, randomized=name == "randomized")
    members = config.dominoes.members
    ask_all(
        load_members(workspace, [folder_of(correlation, i) for i in range(members)]),
        ((name, one.inputs, np.asarray(one.targets)) for name, one in sets.items()),
        Place(workspace, f"dominoes/answers/{correlation:g}", progress),
        names=tuple(sets),
        bases=members,
        views=config.views,
        features=members,
        seed=config.seed,
    )


def study_dominoes(data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Errors of every score, and the alarms, for each correlation; writes ``dominoes/result.json``."""
    config = data.config.dominoes
    result: dict[str, Any] = {"form": FORM, "condition": "dominoes", "version": __version__}
    result |= {"sizes": asdict(data.config), "data": data.fingerprints(), "correlations": {}}
    result["far"] = "stl10" if "stl10" in data.present() else f"cifar10 test, corrupted, severity {config.severity}"
    for done, correlation in enumerate(config.correlations, 1):
        folder = f"dominoes/answers/{correlation:g}"
        sets = {name: load_answers(workspace, folder, name) for name in ("validation", *TARGETS)}
        errors = Errors(sets["validation"], data.config.grid)
        right = sets["validation"]["probabilities"].argmax(-1) == sets["validation"]["label"]
        found: dict[str, Any] = {"validation_accuracy": mean_and_spread(right.mean(1))}
        for name in TARGETS:
            # Accuracy of the models on a set of dominoes, and the error of every score by both thresholds
            target = sets[name]
            rows = list(errors.of(target))
            out: dict[str, Any] = {"accuracy": mean_and_spread([one["accuracy"] for one in rows])}
            for score in SCORES:
                told = {how: [abs(getattr(one[score], how)) for one in rows] for how in ("exact", "grid")}
                out[score] = {how: mean_and_spread(values) for how, values in told.items()}
            found[name] = {**out, "alarms": _alarms(sets["validation"], sets[name], data)}
        result["correlations"][f"{correlation:g}"] = found
        progress(done, len(config.correlations))
    workspace.write_json("dominoes/result.json", rounded(result))


def record_of(answers: Answers, base: int, *, features: bool = False, labels: bool = True) -> Predictions:
    """One model's answers as a record; the other models are its members."""
    others = [i for i in range(len(answers["probabilities"])) if i != base]
    fields: dict[str, Any] = {"label": answers["label"].tolist()} if labels else {}
    if others:
        fields["member_probabilities"] = answers["probabilities"][others]
        fields["members"] = answers["probabilities"][others].argmax(-1)
    if features and "features" in answers:
        fields["features"] = answers["features"][base]
    if "views" in answers and base < len(answers["views"]):
        fields["views"] = answers["views"][base].astype(np.int64)
    return Predictions.from_probabilities(answers["probabilities"][base], **fields)


def _alarms(validation: Answers, target: Answers, data: RunData) -> dict[str, Any]:
    """What the headline, the diagnosis and ten labels say, for the first models."""
    config = data.config.dominoes
    out: dict[str, dict[str, Any]] = {}
    for given in ("outputs", "members", "features and members"):
        rows = []
        for base in range(min(data.config.bases, len(validation["probabilities"]))):
            reference, unlabelled = (
                _given(record_of(one, base, features=given.startswith("features"), labels=labels), given)
                for one, labels in ((validation, True), (target, False))
            )
            found = estimate(reference, unlabelled, level=_LEVEL, seed=data.config.seed, target_accuracies=())
            truth = (target["probabilities"][base].argmax(-1) == target["label"]).astype(int)
            rows.append(_said(found, truth, config.labels, config.draws, data.config.seed + base))
        out[given] = {name: mean_and_spread([float(row[name]) for row in rows]) for name in rows[0] if name != "kind"}
        out[given]["kind"] = [row["kind"] for row in rows]
    return out


def _given(record: Predictions, given: str) -> Predictions:
    return record if given != "outputs" else replace(record, members=None, member_probabilities=None)


def _said(found: Any, truth: Array, labels: int, draws: int, seed: int) -> dict[str, Any]:
    """Headline, whether it holds the truth, what is suspected, and how often some labels refute it."""
    head = found.headline
    accuracy = float(truth.mean())
    rng = np.random.default_rng(seed)
    score = np.full(len(truth), head.interval.value)
    refuted = 0
    for _ in range(draws):
        rows = np.sort(rng.choice(len(truth), labels, replace=False))
        sampled = SampledRows.evenly(rows, truth[rows])
        refuted += refutes(sampled, score, 0.0, head.interval.lower, head.interval.upper, _LEVEL) <= 1 - _LEVEL
    kind = "none" if found.diagnosis is None else found.diagnosis.kind
    return {
        "error": abs(head.interval.value - accuracy),
        "width": head.interval.upper - head.interval.lower,
        "inside": head.interval.lower <= accuracy <= head.interval.upper,
        "trusted": head.trust == "high",
        "change_seen": kind != "none",
        "alarm": found.fell is not None and found.fell.alarm,
        "refuted": refuted / draws,
        "kind": kind,
    }
