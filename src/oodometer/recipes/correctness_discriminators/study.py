"""The study of a task: what its judges' votes say of each test set and each of its types, beside the truth."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...discriminators import HALF, AcceptanceThresholds, RegressionDiscriminator, fit_thresholds, token_f1
from ...errors import InputError
from ...metrics.votes import VoteCounts, absolute, bounds_by_agreement, mean_of, paired_gap, share
from ...models.seq2seq import EncoderDecoder
from ...models.torch.training import TrainingConfig
from ...predictions import Predictions
from ...results import Interval
from ...scores import natural_confidence
from ...verbs.discriminate.judged import PseudoLabels, pseudo_labels
from ...verbs.discriminate.thresholding import PROBABILITY
from ...verbs.discriminate.vote_study import VoteStudy, vote_study
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.publish import finished, joined, of_tasks
from ..kit.sources import passing
from ..kit.tables import rounded
from .data import PARTS, TaskData, examples, new_parser, read_judged
from .findings import BASELINES
from .tasks import located


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


def study_task(data: TaskData, home: Workspace, steps: Sequence[str], more: Sequence[str], progress: Progress) -> None:
    """Judge the votes on every test set; writes ``result.json``, which holds no text of the data.

    The judges accept from their thresholds on, which the development set gives; what they say at one half, as in the
    paper, stands beside it (``at_half``), what they say together with confidence and parsers of halves, of which one
    may disagree (``mixed``), and the bounds under each choice of voters and thresholds (``choices``).

    ``steps`` are those whose times are told, ``more`` names its further parts (pseudo-labels, another metric).
    """
    task, folder = data.task, home.folder
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
            "cut": home.read_json(f"predictions/{test.name}.json"),
        }
        progress(done, len(task.tests))
    workspace = Workspace(folder.parent)
    stamps = {name: workspace.stamp(f"{task.name}/{name}") for name in steps}
    known = reference.verdicts[reference.verdicts >= 0]
    accuracy = share(int(known.sum()), len(known), LEVEL)
    assert accuracy is not None
    result: dict[str, Any] = {"form": FORM, "task": task.name, "title": task.title, "family": task.family}
    result |= {"version": __version__, "python": platform.python_version()}
    result |= {what: {n: round(one[what], 1) for n, one in stamps.items()} for what in ("seconds", "cpu_seconds")}
    result |= {"sizes": asdict(task.config), "data": data.counts(), "parser": home.read_json("parser.json")}
    result |= {"examples": home.read_json("examples/statistics.json")}
    result |= {"panel": {"judges": task.config.judges, **home.read_json("judges/judge-0.json")}}
    result |= {"replicate_of": task.replicate_of, "seed": task.config.seed}
    result |= {"thresholds": rounded(points.to_dict(reference)), "dev_accuracy": rounded(accuracy.to_dict())}
    result |= {"sets": sets, **{name: home.read_json(f"{name}.json") for name in more}}
    home.write_json("result.json", result)


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


METRICS = {"token_f1": token_f1}


def learn_metric(data: TaskData, home: Workspace, progress: Progress) -> None:
    """Train one discriminator of a metric, compare its mean on every test set with the truth: ``metric.json``.

    It learns from the pairs of the panel: gold outputs have the metric 1, a checkpoint's mistakes what they share with
    gold. Of gold outputs only so many are taken, drawn, that their share is the parser's accuracy on the development
    set: outputs are to be like those that will be judged, or the mean is too high. Two numbers stand beside the
    judge's mean: the true mean, and the mean on the development set, which is what one would answer without any
    estimate.
    """
    known = read_judged(home.folder, "dev").verdicts
    accuracy = float((known[known >= 0] > 0).mean())
    config, name = data.task.config, data.task.metric
    assert name is not None
    metric = METRICS[name]

    def measured(outputs: Any, golds: Any) -> Array:
        return metric([data.clean(one) for one in outputs], [data.clean(one) for one in golds])

    pairs = {}
    for part in PARTS:
        found = examples(home, part)
        rows = data.train if part == "train" else data.dev
        gold = dict(zip(rows.inputs, rows.targets, strict=True))
        kept = _like_outputs(found.correct, accuracy, config.seed)
        inputs, outputs = ([texts[row] for row in kept] for texts in (found.inputs, found.outputs))
        pairs[part] = (*data.seen(inputs, outputs), measured(outputs, [gold[one] for one in inputs]).tolist())
    judge = RegressionDiscriminator(
        **located(config.metric_judge), training=TrainingConfig(**{**config.judge_plan, "seed": config.seed})
    )
    with passing(home, "metric") as checkpoint:
        judge.fit(*pairs["train"], dev=pairs["dev"], checkpoint=checkpoint, progress=progress)

    def asked(name: str) -> tuple[Array, Array]:
        record = read_judged(home.folder, name)
        assert record.input is not None
        assert record.output is not None
        outputs = record.output.tolist()
        true = measured(outputs, record.columns["gold"].tolist()).astype(float)
        said = judge.probabilities(*data.seen(record.input.tolist(), outputs)).astype(float)
        return true, np.where([bool(one.strip()) for one in outputs], said, 0.0)

    source = _mean(asked("dev")[0])
    sets = []
    for test in data.task.tests:
        true, said = asked(test.name)
        gap = true - said
        off = absolute(paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), LEVEL))
        # The difference of the means of two samples, its error from both
        first = _mean(true)
        value = first.value - source.value
        half = np.hypot(first.upper - first.lower, source.upper - source.lower) / 2
        far = absolute(Interval(value, max(value - half, -1.0), min(value + half, 1.0), LEVEL, "asymptotic"))
        both = np.std(true) > 0 and np.std(said) > 0
        sets.append(
            {
                "name": test.name,
                "title": test.title,
                "rows": len(true),
                "true": _mean(true).to_dict(),
                "predicted": _mean(said).to_dict(),
                "error": off.to_dict(),
                "source": source.to_dict(),
                "source_error": far.to_dict(),
                "correlation": float(np.corrcoef(true, said)[0, 1]) if both else 0.0,
            }
        )
    home.write_json("metric.json", rounded({"metric": name, "sets": sets}))


def _like_outputs(correct: Array, accuracy: float, seed: int) -> list[int]:
    """Rows of pairs, all mistakes and so many right ones that about the share ``accuracy`` is right.

    >>> _like_outputs(np.array([True] * 8 + [False] * 9), 0.1, 0)[1:]
    [8, 9, 10, 11, 12, 13, 14, 15, 16]
    """
    wrong, right = np.flatnonzero(~correct), np.flatnonzero(correct)
    count = round(len(wrong) * accuracy / (1 - accuracy)) if accuracy < 1 else len(right)
    drawn = np.random.default_rng(seed).choice(right, size=min(count, len(right)), replace=False)
    kept: list[int] = np.sort(np.concatenate([wrong, drawn])).tolist()
    return kept


def _mean(values: Array) -> Interval:
    return mean_of(float(values.sum()), float(np.square(values).sum()), len(values), LEVEL)


def halves(types: Array, seed: int) -> tuple[Array, Array]:
    """Positions of the rows that may be learnt from and of those that judge the outcome, every type cut in two.

    >>> learn, judge = halves(np.array(["a"] * 4 + ["b"] * 2), seed=0)
    >>> len(learn), len(judge), sorted([*learn.tolist(), *judge.tolist()])
    (3, 3, [0, 1, 2, 3, 4, 5])
    """
    order = np.random.default_rng(seed).permutation(len(types))
    codes = np.unique(types, return_inverse=True)[1][order]
    by_type = np.argsort(codes, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(codes))[:-1]])
    place = np.empty(len(types), dtype=np.int64)
    place[by_type] = np.arange(len(types)) - first[codes[by_type]]
    return np.sort(order[place % 2 == 0]), np.sort(order[place % 2 == 1])


def self_train(data: TaskData, home: Workspace, progress: Progress) -> None:
    """Train the parser again on training set and accepted outputs; writes ``self_training.json``.

    The test set is cut in two, type by type. Of one half the outputs that all judges accept become training pairs; its
    truth is used only to measure how pure they are. The other half, and the other test sets, say whether the new parser
    is better than the old one. Both are trained by the same plan from the same seed, for the same number of passes. How
    much two trainings differ for no reason is seen from the other seeds of the task.
    """
    config, name = data.task.config, data.task.pseudo_labels
    assert name is not None
    old = read_judged(home.folder, name)
    learn, judge = halves(np.asarray(old.columns["type"]).astype(str), config.data_seed)
    accepted = pseudo_labels(old.take(learn), level=LEVEL)
    plain = accepted.to_dict()
    found: dict[str, Any] = {"set": name, "pool": len(learn)}
    found |= {key: plain[key] for key in ("kept", "accepted", "precision", "accuracy", "agree", "ladder")}
    found |= {"sets": []}
    if len(accepted):
        new = _trained(data, accepted, home / "self_trained", progress)
        for one in data.task.tests:
            rows = judge if one.name == name else None
            before = read_judged(home.folder, one.name)
            given = data.test(one.name)
            places = np.arange(len(given)) if rows is None else rows
            part = given.take(places.tolist())
            record = new.predict(part.inputs, gold=part.targets, beams=data.task.config.beams, clean=data.clean)
            right = {"old": before.verdicts[places] > 0, "new": record.verdicts > 0}
            out: dict[str, Any] = {"name": one.name, "rows": len(places)}
            for key, verdicts in right.items():
                accuracy = share(int(verdicts.sum()), len(verdicts), LEVEL)
                assert accuracy is not None
                out[key] = accuracy.to_dict()
            gap = right["new"].astype(float) - right["old"]
            out["new_gain"] = paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), LEVEL).to_dict()
            found["sets"].append(out)
    home.write_json("self_training.json", rounded(found))


def _trained(data: TaskData, accepted: PseudoLabels, folder: Path, progress: Progress) -> EncoderDecoder:
    """A parser of the task's plan; one that was finished before an interruption is loaded."""
    if (folder / "finished").is_file():
        return EncoderDecoder.load(folder)
    assert accepted.record.input is not None
    assert accepted.record.output is not None
    inputs = [*data.train.inputs, *accepted.record.input.tolist()]
    outputs = [*data.train.targets, *accepted.record.output.tolist()]
    parser = new_parser(data, data.task.config.seed)
    parser.fit(inputs, outputs, checkpoint=folder / "checkpoint", progress=progress)
    parser.save(folder)
    shutil.rmtree(folder / "checkpoint", ignore_errors=True)
    (folder / "finished").write_text("")
    return parser
