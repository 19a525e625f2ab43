"""Jury: who judges: trained judges of one folder or several, a panel, existing classifiers, or answers given before."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...discriminators import AcceptanceThresholds, Discriminator, Panel
from ...errors import InputError, NotApplicable, UsageError
from ...scores import natural_confidence
from ...store.artifact_cache import checksum, content_of
from .asking import existing_judges
from .folder import open_judges, revived
from .options import JudgingOptions
from .rows import TextRows
from .thresholding import Acceptance, probability_columns, thresholds_of_folder
from .worth import judge_names

CONFIDENCE = "confidence"

Opened = tuple[list[tuple[Discriminator, str]], str, Mapping[str, Any], Acceptance]


@dataclass(frozen=True, eq=False)
class Jury:
    """Judges with a text that tells them apart, their names, what they judge and were worth on held-out pairs.

    ``accept`` is how they accept; ``said`` are the answers that the rows hold already, None where judges are asked.
    ``confidence`` says that the last of ``names`` is the rows' own confidence, which nobody is asked for.
    """

    members: list[tuple[Discriminator, str]]
    names: tuple[str, ...]
    metric: str
    held: Mapping[str, Any]
    accept: Acceptance
    said: Array | None = None
    confidence: bool = False


def jury_of(judges: Any, options: JudgingOptions, rows: TextRows) -> Jury:
    """Judges of folders, of a `Panel`, existing classifiers, or the answers that the rows hold; `UsageError` for none.

    Judges of several folders vote together. Their thresholds are those that the folders keep, where these were set on
    the same labelled outputs.
    """
    found: list[tuple[Discriminator, str]] = []
    metric, accept = "exact", Acceptance()
    held: Mapping[str, Any] = {}
    if isinstance(judges, Panel):
        found += [(one, f"{place} {one.options()}") for place, one in enumerate(judges.members)]
    elif judges is not None:
        found, metric, held, accept = _of_folders(judges if isinstance(judges, list | tuple) else [judges])
    existing = existing_judges(options.existing, options.labels, max_length=options.max_length, device=options.device)
    for one in existing:
        found.append((one, f"{len(found)} {one.options()} {content_of(one.source)}"))
    if options.threshold is not None:
        accept = Acceptance(number=options.threshold)
    elif existing and options.calibrate is None:
        accept = Acceptance()  # the folder keeps none for these
    if not found:
        names, said = probability_columns(rows)
        if not names:
            raise UsageError(
                f"expected FOLDER OUTPUTS..., or rows with columns p_correct_<judge>, got {rows.name} alone; "
                "name a folder of judges, then the rows to judge, or an existing classifier with --judge"
            )
        return _with_confidence(Jury([], names, metric, held, accept, said), options)
    if existing and metric != "exact":
        raise UsageError(f"existing classifiers judge right and wrong, the judges of the folder predict {metric}")
    if metric != "exact" and (options.calibrate is not None or options.threshold is not None):
        raise UsageError(f"thresholds are for judges of right and wrong; these predict {metric}")
    if metric != "exact" and options.with_confidence:
        raise UsageError(f"confidence votes on right and wrong; the judges of the folder predict {metric}")
    if metric != "exact" and options.pseudo is not None:
        raise UsageError(f"pseudo-labels need judges of right and wrong; these predict {metric}")
    return _with_confidence(Jury(found, judge_names([one for one, _ in found]), metric, held, accept), options)


def _with_confidence(jury: Jury, options: JudgingOptions) -> Jury:
    """The jury with the confidence as its last voter where that was asked for, and the rows do not hold its answers."""
    if not options.with_confidence or CONFIDENCE in jury.names:
        return jury
    return replace(jury, names=(*jury.names, CONFIDENCE), confidence=True)


def own_confidence(*several: TextRows | None) -> Array:
    """The confidence of rows, one set behind the other, float64; `InputError` where a set has none."""
    found = []
    for one in several:
        if one is None:
            continue
        try:
            found.append(natural_confidence(one.record)(one.record))
        except NotApplicable as error:
            raise InputError(
                "a confidence of the model (confidence, token_logprobs), which is to vote",
                got="none",
                remedy="leave out --with-confidence or give the column",
                file=one.name,
            ) from error
    out: Array = np.concatenate(found).astype(np.float64)
    return out


def _of_folders(folders: Sequence[str | os.PathLike[str]]) -> Opened:
    """The judges of folders, one behind the other, what they judge, what one folder knows of them, how they accept."""
    found: list[tuple[Discriminator, str]] = []
    metrics: dict[str, str] = {}
    held: Mapping[str, Any] = {}
    accepts = []
    for folder in folders:
        panel, about = open_judges(folder)
        mark = checksum(str(Path(folder).resolve()), json.dumps(content_of(folder)))
        metrics[str(folder)] = str(about["metric"])
        found += [(one, f"{len(found) + place} {mark}") for place, one in enumerate(panel.members)]
        accepts.append(thresholds_of_folder(about))
        held = revived(about.get("held_out", {})) if len(folders) == 1 else {}
    if len(set(metrics.values())) > 1:
        told = ", ".join(f"{folder}: {metric}" for folder, metric in metrics.items())
        raise UsageError(f"judges of several folders must judge the same, got {told}; ask them one by one")
    return found, next(iter(metrics.values())), held, _joined(accepts)


def _joined(accepts: Sequence[Acceptance]) -> Acceptance:
    """The thresholds of all where they come from the same labelled outputs; else one half."""
    cuts = [one.thresholds for one in accepts if one.thresholds is not None]
    if len(accepts) == 1:
        return accepts[0]
    if len(cuts) < len(accepts) or len({(one.rows, one.right, one.level) for one in cuts}) > 1:
        return Acceptance()
    if len({one.origin for one in accepts}) > 1:
        return Acceptance()
    values, strict, lenient = (
        np.concatenate([getattr(one, end) for one in cuts]) for end in ("values", "strict", "lenient")
    )
    first = cuts[0]
    joined = AcceptanceThresholds(values, strict, lenient, first.rows, first.right, first.level)
    return Acceptance(joined, accepts[0].origin)
