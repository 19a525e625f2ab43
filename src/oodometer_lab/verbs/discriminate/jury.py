"""The jury: judges of folders or of a panel, existing classifiers, or answers that rows hold, and how they accept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError, UsageError
from oodometer.store.artifact_cache import checksum, content_of

from ...discriminators import AcceptanceThresholds, Discriminator, Panel, PretrainedDiscriminator
from ..options import JudgeOptions
from .folder import SET_ON, open_judges, revived
from .pairs import TextRows
from .worth import Acceptance, judge_names, probability_columns

CONFIDENCE = "confidence"
MOST = 2  # labels of a classifier among which 1 may be taken for Correct

Member = tuple[Discriminator, str]
"""A judge with a text that tells it apart."""


@dataclass(frozen=True, eq=False)
class Jury:
    """Judges with a text that tells them apart, names, what they judge and were worth; how they ``accept``; ``said``:
    answers that the rows hold; ``confidence``: the last of ``names`` is the rows' own; ``set_on``: file of thresholds.
    """

    members: Sequence[Member] = ()
    names: tuple[str, ...] = ()
    metric: str = "exact"
    held: Mapping[str, Any] = field(default_factory=dict)
    accept: Acceptance = field(default_factory=Acceptance)
    said: Array | None = None
    confidence: bool = False
    set_on: Path | None = None

    @property
    def judges(self) -> tuple[str, ...]:
        """The names without that of the rows' own confidence."""
        return self.names[:-1] if self.confidence else self.names


def jury_of(judges: Any, options: JudgeOptions, rows: TextRows) -> Jury:
    """Judges of folders, of a `Panel`, existing classifiers, or the answers that the rows hold. Judges of several
    folders vote together; thresholds are those of the folders, where set on the same outputs.
    """
    if isinstance(judges, Panel):
        jury = Jury([(judge, str(judge.options())) for judge in judges.members])
    elif judges is None:
        jury = Jury()
    else:
        jury = _of_folders(judges if isinstance(judges, list | tuple) else [judges])
    members, accept, answers = [*jury.members, *_existing(options)], jury.accept, None
    if options.threshold is not None:
        accept = Acceptance(number=options.threshold)
    elif options.existing and options.calibrate is None:
        accept = Acceptance()  # the folder keeps none for these
    if members:
        names = judge_names([judge for judge, _ in members])
    else:
        names, answers = probability_columns(rows)
        if not names:
            raise UsageError(
                f"expected FOLDER OUTPUTS..., or rows with columns p_correct_<judge>, got {rows.name} alone; "
                "name a folder of judges, then the rows to judge, or an existing classifier with --judge"
            )
    _check_for_metric(jury.metric, options)
    # the last voter, where rows hold no answers of it
    confidence = options.with_confidence and CONFIDENCE not in names
    return replace(
        jury,
        members=[(judge, f"{index} {mark}") for index, (judge, mark) in enumerate(members)],
        names=(*names, CONFIDENCE) if confidence else names,
        accept=accept,
        said=answers,
        confidence=confidence,
        set_on=jury.set_on if accept.thresholds else None,
    )


def _of_folders(folders: Sequence[Any]) -> Jury:
    """The judges of all folders; what they were worth is known of those of a single one."""
    members: list[Member] = []
    metrics: dict[str, str] = {}
    accepts: list[Acceptance] = []
    held_out: Mapping[str, Any] = {}
    for folder in folders:
        panel, about = open_judges(folder)
        mark = checksum(str(Path(folder).resolve()), json.dumps(content_of(folder)))
        metrics[str(folder)] = str(about["metric"])
        members += [(judge, mark) for judge in panel.members]
        cuts, held_out = about.get("thresholds"), about.get("held_out", {})
        accepts.append(
            Acceptance(AcceptanceThresholds.from_dict(cuts), str(cuts["from"]))
            if cuts
            else Acceptance()
        )
    if len(set(metrics.values())) > 1:
        got = ", ".join(f"{folder}: {name}" for folder, name in metrics.items())
        raise UsageError(
            f"judges of several folders must judge the same, got {got}; ask them one by one"
        )
    jury = Jury(members, metric=next(iter(metrics.values()), "exact"), accept=_joined(accepts))
    if len(folders) != 1:
        return jury
    return replace(jury, held=revived(held_out), set_on=Path(folders[0]) / SET_ON)


def _joined(accepts: Sequence[Acceptance]) -> Acceptance:
    """The thresholds of several folders as one, where all were set on the same outputs; else none."""
    if len(accepts) == 1:
        return accepts[0]
    cuts = [accept.thresholds for accept in accepts if accept.thresholds is not None]
    same = {(cut.rows, cut.right, cut.level) for cut in cuts}
    origins = {accept.origin for accept in accepts}
    if len(cuts) < len(accepts) or len(same) != 1 or len(origins) != 1:
        return Acceptance()
    joined = replace(
        cuts[0],
        values=np.concatenate([cut.values for cut in cuts]),
        strict=np.concatenate([cut.strict for cut in cuts]),
        lenient=np.concatenate([cut.lenient for cut in cuts]),
    )
    return Acceptance(joined, accepts[0].origin)


def _existing(options: JudgeOptions) -> list[Member]:
    """Hugging Face classifiers as judges; labels name what means Correct, one for all or one for each."""
    several, labels = len(options.existing), options.judge_labels
    if labels and len(labels) not in (1, several):
        raise InputError(
            f"one label that means Correct for all, or {several}, one for each judge",
            got=str(len(labels)),
            remedy="repeat --judge-label in the order of the judges",
        )
    named: Sequence[str | None] = labels
    if len(labels) < 2:
        named = [*labels, None][:1] * several
    members: list[Member] = []
    for source, label in zip(options.existing, named, strict=True):
        correct_label: str | int = (
            1 if label is None else int(label) if label.isdecimal() else label
        )
        judge = PretrainedDiscriminator(
            source, correct=correct_label, max_length=options.max_length, device=options.device
        )
        if label is None and len(judge.labels) > MOST:
            remedy = f"name it with --judge-label; the classifier has {', '.join(judge.labels)}"
            raise InputError("a label that means Correct", got="none", file=source, remedy=remedy)
        members.append((judge, f"{judge.options()} {content_of(judge.source)}"))
    return members


def _check_for_metric(metric: str, options: JudgeOptions) -> None:
    """Raise `UsageError` where judges predict a metric, for what goes with those of right and wrong alone."""
    if metric == "exact":
        return
    sets = options.calibrate is not None or options.threshold is not None
    for is_set, words in (
        (
            options.existing,
            "existing classifiers judge right and wrong, the judges of the folder predict",
        ),
        (sets, "thresholds are for judges of right and wrong; these predict"),
        (
            options.with_confidence,
            "confidence votes on right and wrong; the judges of the folder predict",
        ),
        (
            options.pseudo_labels is not None,
            "pseudo-labels need judges of right and wrong; these predict",
        ),
    ):
        if is_set:
            raise UsageError(f"{words} {metric}")
