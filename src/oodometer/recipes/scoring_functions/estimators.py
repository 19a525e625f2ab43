"""Beyond the paper: every estimator that can answer, and the headline, on the same shifted images."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ...verbs.estimate import estimate
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.tables import rounded
from .data import RunData
from .errors import mean_and_spread
from .simplicity import record_of
from .study import FORM, groups_of
from .work import load_answers

__all__ = ["study_estimators"]

_LEVEL = 0.9


def study_estimators(
    data: RunData, folder: str, names: Sequence[str], *, workspace: Workspace, progress: Progress
) -> None:
    """Error of every estimator by kind of shift, over the first models as bases; writes ``clean/estimators.json``."""
    bases = range(data.config.bases)
    validation = load_answers(workspace, folder, "validation")
    group_of = {name: group for group, members in groups_of(names).items() for name in members}
    errors: dict[str, dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    inside: dict[str, list[float]] = defaultdict(list)
    widths: dict[str, list[float]] = defaultdict(list)
    references = [record_of(validation, base) for base in bases]
    for done, name in enumerate(names, 1):
        answers = load_answers(workspace, folder, name)
        for base, reference in zip(bases, references, strict=True):
            truth = float((answers["probabilities"][base].argmax(-1) == answers["label"]).mean())
            target = record_of(answers, base, labels=False)
            found = estimate(reference, target, level=_LEVEL, target_accuracies=(), seed=data.config.seed)
            said = {one.method: one.value for one in found.estimates}
            head = found.headline.interval
            for method, value in {"headline": head.value, **said}.items():
                errors[method][group_of[name]][base].append(abs(value - truth))
            inside[group_of[name]].append(float(head.lower <= truth <= head.upper))
            widths[group_of[name]].append(head.upper - head.lower)
        progress(done, len(names))
    told: dict[str, Any] = {
        method: {
            group: mean_and_spread([sum(own) / len(own) for own in by_base.values()])
            for group, by_base in groups.items()
        }
        for method, groups in errors.items()
    }
    intervals = {
        group: {"coverage": sum(inside[group]) / len(inside[group]), "width": sum(widths[group]) / len(widths[group])}
        for group in inside
    }
    result = {"form": FORM, "version": __version__, "level": _LEVEL, "methods": told, "intervals": intervals}
    workspace.write_json("clean/estimators.json", rounded(result))
