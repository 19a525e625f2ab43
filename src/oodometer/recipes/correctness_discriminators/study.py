"""The study of a task: what its judges' votes say of each test set and each of its types, beside the truth."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...metrics.vote_bounds import bounds_by_agreement
from ...metrics.vote_counts import VoteCounts, share
from ...predictions import Predictions
from ...results import Interval
from ...verbs.discriminate.vote_study import VoteStudy, vote_study
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.tables import rounded
from .data import TaskData
from .files import read_judged
from .findings import BASELINES
from .judge_thresholds import JudgeThresholds, said_of

FORM = 4  # raise it where the form of the result changes: then the step is done again
LEVEL = 0.95
_TOLD = ("rows", "judges", "gold", "methods", "inside", "width", "bounds", "subsets", "skipped", "warnings")


def study_task(
    data: TaskData,
    workspace: Workspace,
    home: str,
    steps: Sequence[str],
    more: Mapping[str, str],
    progress: Progress,
) -> None:
    """Judge the votes on every test set; writes ``<home>/result.json``, which holds no text of the data.

    The judges accept from their thresholds on, which the development set gives; what they say at one half, as in the
    paper, stands beside it (``at_half``), what they say together with confidence and parsers of halves, of which one
    may disagree (``mixed``), and the bounds under each choice of voters and thresholds (``choices``).

    ``steps`` are those whose times are told, ``more`` names further parts of the result with the files that hold them
    (pseudo-labels, another metric).
    """
    task = data.task
    reference = read_judged(workspace.folder / home, "dev")
    points = JudgeThresholds(reference, LEVEL)
    sets = {}
    for done, test in enumerate(task.tests, 1):
        record = read_judged(workspace.folder / home, test.name)
        given: dict[str, Any] = {"reference": reference, "draws": task.config.draws, "level": LEVEL}
        given["seed"] = task.config.data_seed
        voted = points.voted(record)
        found = _short(vote_study(voted, **given))
        sets[test.name] = {
            "title": test.title,
            "domain": test.domain,
            "paper": test.paper,
            "resembles": test.resembles,
            **found,
            "at_half": _beside(_short(vote_study(record, **given)), len(said_of(record))),
            **_mixed(points, record, given),
            "choices": points.choices(record),
            "types": _by_type(voted),
            "cut": workspace.read_json(f"{home}/predictions/{test.name}.json"),
        }
        progress(done, len(task.tests))
    stamps = {name: workspace.stamp(f"{home}/{name}") for name in steps}
    result: dict[str, Any] = {
        "form": FORM,
        "task": task.name,
        "title": task.title,
        "family": task.family,
        "version": __version__,
        "python": platform.python_version(),
        "seconds": {name: round(one["seconds"], 1) for name, one in stamps.items()},
        "cpu_seconds": {name: round(one["cpu_seconds"], 1) for name, one in stamps.items()},
        "sizes": task.config.to_dict(),
        "data": data.counts(),
        "parser": workspace.read_json(f"{home}/parser.json"),
        "examples": workspace.read_json(f"{home}/examples/statistics.json"),
        "panel": {"judges": task.config.judges, **workspace.read_json(f"{home}/judges/judge-0.json")},
        "replicate_of": task.replicate_of,
        "seed": task.config.seed,
        "thresholds": rounded(points.to_dict(reference)),
        "dev_accuracy": rounded(_accuracy(reference).to_dict()),
        "sets": sets,
        **{name: workspace.read_json(file) for name, file in more.items()},
    }
    workspace.write_json(f"{home}/result.json", result)


def _mixed(points: JudgeThresholds, record: Predictions, given: Mapping[str, Any]) -> dict[str, Any]:
    """What judges, confidence and parsers of halves say together, all but one agreeing; nothing without parsers."""
    voted, reference = points.mixed(record), points.mixed(given["reference"])
    if voted is None or voted.votes is None:
        return {}
    voters = len(voted.votes)
    agree = max(voters - 1, voters // 2 + 1)
    found = _short(vote_study(voted, agree=agree, **{**given, "reference": reference}))
    return {"mixed": {"agree": agree, **_beside(found, agree)}}


def _accuracy(record: Predictions) -> Interval:
    known = record.verdicts[record.verdicts >= 0]
    found = share(int(known.sum()), len(known), LEVEL)
    assert found is not None
    return found


def _short(study: VoteStudy) -> dict[str, Any]:
    """What the tables and the claims need of a study."""
    told = study.to_dict()
    short: dict[str, Any] = rounded({name: told[name] for name in _TOLD})
    return short


def _beside(found: Mapping[str, Any], agree: int) -> dict[str, Any]:
    """What another procedure adds: its own rows, the bounds of its own k, the smallest and the largest samples."""
    rows = [row for row in found["methods"] if row["method"] not in BASELINES]
    bounds = [row for row in found["bounds"] if row["agree"] == agree]
    samples = [
        {**one, "bounds": [row for row in one["bounds"] if row["agree"] == agree]}
        for one in (found["subsets"][0], *found["subsets"][1:][-1:])
    ]
    kept = {name: found[name] for name in ("judges", "inside", "width")}
    return {**kept, "methods": rows, "bounds": bounds, "subsets": samples}


def _by_type(record: Predictions) -> list[dict[str, Any]]:
    """Truth and bounds of every type (a generalisation, a genre), all judges agreeing; alphabetical."""
    types = np.asarray(record.columns["type"]).astype(str)
    out = []
    for name in np.unique(types):
        part = record.take(np.flatnonzero(types == name))
        counts = VoteCounts.of(part)
        widest = bounds_by_agreement(counts, LEVEL)[0]
        right = share(int(counts.of_verdict[1]), counts.rows, LEVEL)
        assert right is not None
        row = {
            "type": str(name),
            "rows": counts.rows,
            "gold": right.to_dict(),
            "inside": widest["inside"],
            **{key: widest[key].to_dict() for key in ("lower", "upper", "mean")},
        }
        out.append(rounded(row))
    return out
