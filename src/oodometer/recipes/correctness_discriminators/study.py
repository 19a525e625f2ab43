"""The study of a task: what its judges' votes say of each test set and each of its types, beside the truth."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...discriminators import HALF, AcceptanceThresholds, fit_thresholds
from ...errors import InputError
from ...metrics.votes import VoteCounts, bounds_by_agreement, share
from ...predictions import Predictions
from ...scores import natural_confidence
from ...verbs.discriminate.thresholding import PROBABILITY
from ...verbs.discriminate.vote_study import VoteStudy, vote_study
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.publish import finished, joined, of_tasks
from ..kit.tables import rounded
from .data import TaskData, read_judged
from .findings import BASELINES


@final
class JudgeThresholds:
    """The thresholds of judges and of other voters, set on the labelled outputs of the development set.

    ``reference`` are these outputs with what is said of them. ``thresholds`` are those of the judges, of the parsers of
    halves where there are some, and, last, of the parser's confidence (ATC); None where all outputs are right or none
    is, and all voters keep one half.
    """

    def __init__(self, reference: Predictions, level: float) -> None:
        self.thresholds: AcceptanceThresholds | None = None
        with suppress(InputError):
            self.thresholds = fit_thresholds(_of_all(reference), reference.verdicts, level)

    def voted(self, record: Predictions) -> Predictions:
        """The record with the votes of the judges, each accepting from its own threshold on."""
        if self.thresholds is None:
            return record
        judges = len(said_of(record))
        votes = said_of(record) >= self.thresholds.values[:judges, None]
        return replace(record, votes=votes.astype(np.int8), _cache={})

    def mixed(self, record: Predictions) -> Predictions | None:
        """The record with the votes of judges, parsers of halves and confidence, each from its own threshold on.

        None where there are no parsers of halves.
        """
        if not len(said_of_parsers(record)):
            return None
        both = _of_all(record)
        cuts = np.full(len(both), HALF) if self.thresholds is None else self.thresholds.values
        votes = (both >= cuts[:, None]).astype(np.int8)
        return replace(record, votes=votes, names={**record.names, "judge": voters_of(record)}, _cache={})

    def choices(self, record: Predictions) -> list[dict[str, Any]]:
        """Lower and upper bound under every choice, beside the truth.

        A choice is who votes (the judges alone, with confidence, with the parsers of halves), from which P on they
        accept ("half", "thresholds", or "slack": the strict thresholds for the lower bound and the lenient ones for the
        upper), and how many must agree, from all down to just more than half.
        """
        said, right = said_of(record), float(record.verdicts.mean())
        half = said >= HALF
        accepted = [("judges", "half", half, half)]
        if self.thresholds is not None:
            both, cut, judges = _of_all(record), self.thresholds, len(said)
            middle, strict, lenient = (both >= values[:, None] for values in (cut.values, cut.strict, cut.lenient))
            every = np.arange(len(both))
            voters = {"judges": every[:judges], "judges and confidence": np.delete(every, every[judges:-1])}
            if len(said_of_parsers(record)):
                voters["parsers of halves and confidence"] = every[judges:]
                voters["judges, parsers of halves and confidence"] = every
            for name, who in voters.items():
                accepted.append((name, "thresholds", middle[who], middle[who]))
                accepted.append((name, "slack", strict[who], lenient[who]))
        out = []
        for name, accept, firm, lax in accepted:
            members = len(firm)
            for agree in range(members, members // 2, -1):
                lower = float((firm.sum(axis=0) >= agree).mean())
                upper = float((lax.sum(axis=0) > members - agree).mean())
                row = {"voters": name, "accept": accept, "agree": agree, "of": members}
                row |= {"lower": round(lower, 6), "upper": round(upper, 6), "inside": lower <= right <= upper}
                out.append({**row, "error": round(abs((lower + upper) / 2 - right), 6)})
        return out

    def to_dict(self, record: Predictions) -> dict[str, Any] | None:
        """A plain mapping, ready for JSON; the record names the voters."""
        return None if self.thresholds is None else self.thresholds.to_dict(voters_of(record))


def voters_of(record: Predictions) -> tuple[str, ...]:
    """Names of the judges, of the parsers of halves, and of the confidence."""
    return (*record.names["judge"], *_parsers(record), "confidence")


def said_of(record: Predictions) -> Array:
    """P(Correct) of the judges that vote, float64, axes (judge, sample)."""
    return _said(record, record.names["judge"])


def said_of_parsers(record: Predictions) -> Array:
    """What the parsers of halves say, float64, axes (parser, sample); none where there are none."""
    return _said(record, _parsers(record))


def _parsers(record: Predictions) -> list[str]:
    """Names of those that say P(Correct) and are no judges that vote."""
    known = [name.removeprefix(PROBABILITY) for name in record.columns if name.startswith(PROBABILITY)]
    return [name for name in known if name not in record.names["judge"]]


def _said(record: Predictions, names: Sequence[str]) -> Array:
    return np.array([np.asarray(record.columns[f"{PROBABILITY}{name}"], dtype=np.float64) for name in names])


def _of_all(record: Predictions) -> Array:
    """What judges and parsers of halves say and, as a row more, the parser's confidence."""
    confidence = np.clip(natural_confidence(record)(record), 0.0, 1.0)
    rows = [one for one in (said_of(record), said_of_parsers(record), confidence) if len(one)]
    return np.asarray(np.vstack(rows))


FORM = 4  # raise it where the form of the result changes: then the step is done again
LEVEL = 0.95
_TOLD = ("rows", "judges", "gold", "methods", "inside", "width", "bounds", "subsets", "skipped", "warnings")


def study_task(
    data: TaskData, workspace: Workspace, home: str, steps: Sequence[str], more: Mapping[str, str], progress: Progress
) -> None:
    """Judge the votes on every test set; writes ``<home>/result.json``, which holds no text of the data.

    The judges accept from their thresholds on, which the development set gives; what they say at one half, as in the
    paper, stands beside it (``at_half``), what they say together with confidence and parsers of halves, of which one
    may disagree (``mixed``), and the bounds under each choice of voters and thresholds (``choices``).

    ``steps`` are those whose times are told, ``more`` names further parts of the result with the files that hold them
    (pseudo-labels, another metric).
    """
    task, folder = data.task, workspace.folder / home
    reference, sets = read_judged(folder, "dev"), {}
    points = JudgeThresholds(reference, LEVEL)
    given: dict[str, Any] = {"reference": reference, "draws": task.config.draws, "level": LEVEL}
    given["seed"] = task.config.data_seed
    for done, test in enumerate(task.tests, 1):
        record = read_judged(folder, test.name)
        voted = points.voted(record)
        kinds = np.asarray(voted.columns["type"]).astype(str)
        sets[test.name] = {
            **{name: getattr(test, name) for name in ("title", "domain", "paper", "resembles")},
            **_short(vote_study(voted, **given)),
            "at_half": _beside(_short(vote_study(record, **given)), len(said_of(record))),
            **_mixed(points, record, given),
            "choices": points.choices(record),
            "types": [_of_type(str(name), voted.take(np.flatnonzero(kinds == name))) for name in np.unique(kinds)],
            "cut": workspace.read_json(f"{home}/predictions/{test.name}.json"),
        }
        progress(done, len(task.tests))
    stamps = {name: workspace.stamp(f"{home}/{name}") for name in steps}
    known = reference.verdicts[reference.verdicts >= 0]
    accuracy = share(int(known.sum()), len(known), LEVEL)
    assert accuracy is not None
    result: dict[str, Any] = {
        "form": FORM,
        "task": task.name,
        "title": task.title,
        "family": task.family,
        "version": __version__,
        "python": platform.python_version(),
        **{what: {n: round(one[what], 1) for n, one in stamps.items()} for what in ("seconds", "cpu_seconds")},
        "sizes": asdict(task.config),
        "data": data.counts(),
        "parser": workspace.read_json(f"{home}/parser.json"),
        "examples": workspace.read_json(f"{home}/examples/statistics.json"),
        "panel": {"judges": task.config.judges, **workspace.read_json(f"{home}/judges/judge-0.json")},
        "replicate_of": task.replicate_of,
        "seed": task.config.seed,
        "thresholds": rounded(points.to_dict(reference)),
        "dev_accuracy": rounded(accuracy.to_dict()),
        "sets": sets,
        **{name: workspace.read_json(file) for name, file in more.items()},
    }
    workspace.write_json(f"{home}/result.json", result)


def _of_type(name: str, part: Predictions) -> dict[str, Any]:
    """Truth and bounds of a type (a generalisation, a genre), all judges agreeing."""
    counts = VoteCounts.of(part)
    widest, right = bounds_by_agreement(counts, LEVEL)[0], share(int(counts.of_verdict[1]), counts.rows, LEVEL)
    assert right is not None
    row = {"type": name, "rows": counts.rows, "gold": right.to_dict(), "inside": widest["inside"]}
    found: dict[str, Any] = rounded(row | {key: widest[key].to_dict() for key in ("lower", "upper", "mean")})
    return found


def _mixed(points: JudgeThresholds, record: Predictions, given: Mapping[str, Any]) -> dict[str, Any]:
    """What judges, confidence and parsers of halves say together, all but one agreeing; nothing without parsers."""
    voted, reference = points.mixed(record), points.mixed(given["reference"])
    if voted is None or voted.votes is None:
        return {}
    voters = len(voted.votes)
    agree = max(voters - 1, voters // 2 + 1)
    found = _short(vote_study(voted, agree=agree, **{**given, "reference": reference}))
    return {"mixed": {"agree": agree, **_beside(found, agree)}}


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


_OF_SET = ("title", "domain", "rows", "judges", "gold", "methods", "inside", "width", "bounds", "choices")
_OF_TRAINING = ("task", "seed", "version", "cpu_seconds", "dev_accuracy", "thresholds")


def combine(workspace: Workspace, scale: str, tasks: Sequence[str], replicates: Sequence[str] = ()) -> dict[str, Any]:
    """One result of the tasks that are finished, with their trainings from other seeds."""
    found = of_tasks(workspace, "correctness-discriminators", scale, FORM, tasks)
    others: dict[str, dict[str, Any]] = {}
    for name in replicates:
        one = finished(workspace, f"{name}/result.json", FORM)
        if one is not None:
            others.setdefault(one["replicate_of"], {})[str(one["seed"])] = _brief(one)
    missing = found.pop("missing")
    return {**found, "replicates": others, "missing": missing}


def joined_replicates(old: Mapping[str, Any] | None, new: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The new result with the tasks and the other seeds of an old one of the same form that it lacks."""
    out = joined(old, new, names)
    before = old.get("replicates", {}) if old is not None and old["form"] == new["form"] else {}
    both = {name: {**before.get(name, {}), **new.get("replicates", {}).get(name, {})} for name in out["tasks"]}
    return {**out, "replicates": {name: one for name, one in both.items() if one}}


def _brief(one: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of a training from another seed: no types and no samples."""
    sets = {}
    for name, found in one["sets"].items():
        sets[name] = {key: found[key] for key in _OF_SET}
        for other in ("at_half", "mixed"):
            if other in found:
                sets[name][other] = {key: value for key, value in found[other].items() if key != "subsets"}
    more = {"self_training": one["self_training"]} if "self_training" in one else {}
    return {**{key: one[key] for key in _OF_TRAINING}, "sets": sets, **more}
