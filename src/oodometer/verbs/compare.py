"""The verb `compare`: which of several models may answer, by every selective metric, and where the metrics disagree."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, count, pairwise, permutations, product
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from ..arrays import Array, present
from ..audits.joining import KEY, Joined, labelled, wrong_where_unseen
from ..classes import NewLabelError, is_null
from ..diagnoses.column_drift import ColumnDrift
from ..errors import InputError, NotApplicable, UsageError
from ..headline.natural_differences import group_of, packaged_differences, pairs_on_target
from ..inference.clusters import EPOCH, EPOCH_OF_ID, cluster_keys, named_repeats
from ..inference.gate import anytime_difference, gate_of
from ..inference.paired import Paired, holm
from ..intervals import normal_quantile
from ..metrics import Metric, computation_score, didma, nidma, ordered_by
from ..metrics.disca import check_options, check_weights
from ..metrics.failure_cases import TAIL, tail_difference
from ..metrics.mean_score import failed_grades, scale_seen
from ..metrics.ranks import LIMIT, RankMetric, Ranks
from ..metrics.resampling import RankBins, interval_of, resampled
from ..metrics.risk_coverage import REPLICATED, jointly_resampled, replicated
from ..notes import TARGET_LABELS, file_name, kind_of
from ..options import verb
from ..passes.evaluating import (
    KeptRows,
    finish_evaluation,
    named_classes,
    plan_evaluation,
    read_evaluation,
)
from ..passes.folding import Execution
from ..passes.reference import read_reference
from ..passes.slicing import WHOLE
from ..plain import Json, Plain, Strings
from ..predictions import FIELDS
from ..registry import create, find
from ..results import Interval, percent
from ..results.comparison import Comparison, ModelRecord
from ..results.diagnosis import ColumnChange
from ..results.evaluation import Evaluation
from ..results.gate import Gate
from ..results.values import points
from ..store import Source, as_source
from ..vectors import index_key
from .opening import (
    Opener,
    executing,
    in_name_order,
    listed,
    opener_for,
    with_classes_of_all,
    with_features,
)
from .options import CompareOptions

__all__ = ["Comparison", "compare"]


SURE = 0.9  # share of replicates from which on the order of two models counts as more than chance

RANKED = (
    "mean_score",
    *REPLICATED,
    "brier",
    "ece",
)  # those without replicates have no share beside their rank
# Metrics whose rankings are held against each other; aurc is auc_coverage upside down.
_TAIL = 0.005  # of accuracy, the least that case 1 needs
_MOST_TASKS = 200  # with a row of their own
_MOST = 20  # sentences about pairs, the surest first
_MOST_REPEATS = 64  # times that an answer is counted so that all questions weigh alike
_HELD = (
    "accuracy",
    "auc_coverage",
    "e_aurc",
    "augrc",
    "disca",
    "coverage_at_risk",
    "risk_at_coverage",
)


@dataclass(frozen=True)
class Rows:
    """What a comparison keeps of the rows of one file, (sample,); None where there are too many of them."""

    ranks: Ranks | None
    values: Array | None
    scores: Array | None
    graded: Array | None
    truth: Array | None
    places: Array | None
    clusters: Array | None
    named: Array | None
    groups: Array | None
    ids: Array | None = None

    def in_order(self, order: Array) -> Rows:
        """The same rows in another order."""

        def taken(column: Array | None) -> Array | None:
            return None if column is None else column[order]

        return replace(
            self,
            values=taken(self.values),
            scores=taken(self.scores),
            graded=taken(self.graded),
            truth=taken(self.truth),
            places=taken(self.places),
            clusters=taken(self.clusters),
            named=taken(self.named),
            groups=taken(self.groups),
            ids=taken(self.ids),
        )


@dataclass(frozen=True)
class Domain:
    """The models on one domain: names, evaluations, their scores side by side, and replicates of their curves."""

    name: str
    subject: str
    models: Strings
    evaluations: tuple[Evaluation, ...]
    curves: tuple[RankBins, ...]
    why: str
    options: Plain
    rows: Paired | None = None
    tasks: tuple[Strings, Array] | None = None
    named: tuple[Array | None, ...] = ()

    @property
    def paired(self) -> bool:
        """Whether the models were judged on the same rows."""
        return self.rows is not None

    @cached_property
    def draws(self) -> dict[str, Array]:
        """Each metric that every model has, of each replicate: (replicate, model)."""
        by_metric = {
            name: np.stack(
                [replicated(curves, name, **self.options) for curves in self.curves], axis=1
            )
            for name in REPLICATED
            if self.curves and self.has(name)
        }
        return (
            by_metric if self.curves or self.rows is None else {self.subject: self.rows.replicates}
        )

    def difference(self, i: int, j: int, level: float, quantile: float | None = None) -> Json:
        """What is compared, of model i ("b") minus j ("a"): on the same rows as `Paired` has it, else the arms of both
        intervals add as squares (Newcombe 1998).
        """
        out: Json = {"rows": self.evaluations[i].rows, "clusters": None, "p_value": None}
        if self.rows is None:
            first, second = (self.evaluations[k].metrics[self.subject] for k in (i, j))
            value = first.value - second.value
            low = value - math.hypot(first.value - first.lower, second.upper - second.value)
            high = value + math.hypot(first.upper - first.value, second.value - second.lower)
            share = NormalDist().cdf(2 * normal_quantile(level) * value / max(high - low, 1e-12))
            return {**out, "value": value, "lower": low, "upper": high, "p_b_better": share}
        paired = self.rows.difference(i, j, level, quantile)
        out["clusters"] = None if self.rows.clusters is None else self.rows.count
        point = self.rows.span / 100
        out |= {
            "p_value": paired.p_value,
            "b_alone": paired.ahead,
            "a_alone": paired.behind,
            "p_b_better": paired.share,
        }
        out |= {
            name: getattr(paired, name)
            for name in ("value", "lower", "upper", "ties", "smallest_visible")
        }
        rows_needed = math.ceil(self.rows.rows * (paired.smallest_visible / point) ** 2)
        return {
            **out,
            "point": point,
            "rows_for_point": rows_needed,
            "standard_error": paired.error,
        }

    def has(self, name: str) -> bool:
        """Whether every model has the metric."""
        return all(name in evaluation.metrics for evaluation in self.evaluations)

    def values(self, name: str) -> Array:
        """The metric of each model, (model,)."""
        return np.array([evaluation.metrics[name].value for evaluation in self.evaluations])

    def better(self, name: str) -> int:
        """1 where more is better, -1 where less is."""
        return 1 if name == self.subject or find("metric", name).bigger_is_better else -1


def _read_domain(
    name: str,
    titles: Sequence[str],
    sources: Sequence[Source],
    options: CompareJob,
    execution: Execution,
    tick: Callable[[], None] = lambda: None,
) -> tuple[Domain, list[str]]:
    """A domain with its replicates, the same rows drawn for all models where they were judged on the same rows; and
    what is to be said of rows that were left out, since one of the files lacks them.
    """
    key, read, notes = _row_key(options.key, sources), [], list[str]()
    for source in sources:
        read.append(_read_rows(source, options, execution))
        tick()
    evaluations = [evaluation for evaluation, _ in read]
    subject, rows = _subject(sources, evaluations), _named(sources, [row for _, row in read], key)
    if subject == "mean_score":
        rows = [replace(row, scores=row.graded) for row in rows]
    elif any("mean_score" in evaluation.metrics for evaluation in evaluations):
        notes.append(
            "who is right is compared; of files without `correct` it is the mean of `score`"
        )
    paired, why = True, "the ids are the same"
    if any(row.scores is None for row in rows):
        paired, why = False, "there are too many rows to keep them in order"
    elif all(row.ids is not None for row in rows):
        order = _in_one_order(sources, rows)
        left_out = _left_out(titles, rows, order)
        if left_out:
            common = [
                _rows_of(source, row, at, str(key), options.cluster)
                for source, row, at in zip(sources, rows, order, strict=True)
            ]
            domain, more = _read_domain(name, titles, common, options, execution)
            return domain, [*notes, left_out, *more]
        uneven = any(len(np.unique(at)) < len(at) for at in order)
        rows = [row.in_order(at) for row, at in zip(rows, order, strict=True)]
        if uneven:
            rows, note = _in_clusters_of_questions(rows)
            notes.append(note)
        notes += _check_same_questions(titles, sources, rows)
    else:
        paired, why = _same_labels(rows)
    side = tasks = None
    if paired:
        side, more = _side_by_side(titles, rows, subject, options)
        notes += more
        tasks = None if options.cluster == "group" else _tasks(rows)
    domain = Domain(
        name=name,
        subject=subject,
        models=tuple(titles),
        evaluations=tuple(evaluations),
        curves=tuple(_curves(rows, side, options.seed)),
        why=why,
        options=options.curve,
        rows=side,
        tasks=tasks,
        named=tuple(row.named for row in rows),
    )
    return domain, notes


def _left_out(titles: Sequence[str], rows: Sequence[Rows], order: Sequence[Array]) -> str:
    """What is to be said of rows that not all files have, "" where all have the same; ``order``: places in each."""
    sizes = [len(present(row.ids)) for row in rows]
    used = [len(np.unique(at)) for at in order]
    if sizes == used:
        return ""
    lacking = [
        f"{size - count:,} of {size:,} of {title}"
        for title, size, count in zip(titles, sizes, used, strict=True)
    ]
    return f"{len(order[0]):,} rows are in all files; left out: {', '.join(lacking)}"


def _side_by_side(
    titles: Sequence[str], rows: Sequence[Rows], subject: str, options: CompareJob
) -> tuple[Paired, list[str]]:
    """The scores of the models on the same rows, and what is to be said of their scale and their clusters."""
    notes, clusters = [], None
    if all(row.clusters is not None for row in rows):
        clusters = rows[0].clusters
    scores = np.stack([present(row.scores) for row in rows])
    low, high = options.ends_of_scale or (0.0, 1.0)
    if options.scale is None and subject == "mean_score":
        low, high = scale_seen((scores.min(), scores.max()))
        notes += [failed] if (failed := failed_grades(low, high)) else []
    ends = [(values.min(), values.max()) for values in scores]
    if (
        options.scale is None
        and high > 1
        and any(0 <= lowest <= highest <= 1 for lowest, highest in ends)
    ):
        seen = [
            f"{lowest:g} to {highest:g} in {title}"
            for title, (lowest, highest) in zip(titles, ends, strict=True)
        ]
        notes.append(f"scores lie from {', '.join(seen)}: are they on one scale?")
    side = Paired(scores, clusters, low=float(low), high=float(high), seed=options.seed)
    # of whose signs all alike have a small enough chance
    needed = math.ceil(1 - math.log2(1 - options.level))
    if clusters is not None and side.count < needed:
        notes.append(
            f"{side.count} clusters show no difference, however large it is; at least {needed} are needed"
        )
    return side, notes


def _tasks(rows: Sequence[Rows]) -> tuple[Strings, Array] | None:
    """Names of the groups that all files have alike, and the place of each row's among them."""
    first = rows[0].groups
    if first is None or any(row.groups is None or (row.groups != first).any() for row in rows):
        return None
    cells = np.array(["" if is_null(cell) else str(cell) for cell in first])
    names, codes = np.unique(cells, return_inverse=True)
    return (tuple(names.tolist()), codes) if 1 < len(names) <= _MOST_TASKS else None


def _curves(rows: Sequence[Rows], side: Paired | None, seed: int) -> list[RankBins]:
    """Replicates of each model's curve, of the same rows where they are; none where a model does not rank its rows."""
    groups = [row.ranks.groups for row in rows if row.ranks is not None]
    if len(groups) < len(rows):
        return []
    if side is None:
        return [resampled(group, seed + 1 + i) for i, group in enumerate(groups)]
    values = [present(row.values) for row in rows]
    scores = [present(row.scores) for row in rows]
    return jointly_resampled(groups, values, scores, seed, side.clusters)


def _subject(sources: Sequence[Source], evaluations: Sequence[Evaluation]) -> str:
    """What is compared: who is right, or, where not every file says so, the mean of `score`."""
    for subject in ("accuracy", "mean_score"):
        if all(subject in evaluation.metrics for evaluation in evaluations):
            return subject
    judged = ["accuracy" in evaluation.metrics for evaluation in evaluations]
    have, lack = judged.index(True), judged.index(False)
    raise InputError(
        f"`correct` as in {sources[have].name}, or a `score` in all files",
        got="a `score` alone",
        file=sources[lack].name,
        remedy="read both logs by one metric: `oodometer read LOG --metric NAME --out FILE`",
    )


def _rows_of(source: Source, row: Rows, at: Array, key: str, cluster: str | None) -> Source:
    """Rows of a source in memory, with the names that tell them apart and the column that clusters them."""
    assert row.places is not None
    assert row.ids is not None
    record, columns = source.read(source.fields).take(row.places[at]), {key: row.ids[at]}
    if cluster and cluster not in FIELDS:
        columns[cluster] = np.array(
            source.keys(cluster).take(row.places[at]).to_pylist(), dtype=object
        )
    return as_source(
        replace(record, columns={**record.columns, **columns}, source=source.name, first_row=0)
    )


def _named(sources: Sequence[Source], rows: Sequence[Rows], key: str | None) -> list[Rows]:
    """The rows with names that tell them apart in all files: the id, and its epoch where one repeats in any file."""
    if key is None or any(row.places is None for row in rows):
        return list(rows)
    named = []
    for source, row in zip(sources, rows, strict=True):
        read = _ids_and_epochs(source, row, key)
        if read is None:
            return list(rows)
        named.append(read)
    split = [[EPOCH_OF_ID.sub("", name) for name in ids] for ids, _ in named]
    repeated = key == KEY and any(
        len(set(bases)) < len(bases) for bases in split
    )  # rows of one id are a cluster
    out = []
    for source, row, bases, (ids, epochs) in zip(sources, rows, split, named, strict=True):
        if len(set(bases)) < len(bases):
            _check_repeats(source, row, bases)
        if repeated and ids == bases:
            ids = named_repeats(ids, epochs, every=True)
        if len(set(ids)) < len(ids):
            raise _named_twice(ids, key, source.name)
        out.append(replace(row, ids=np.array(ids, dtype=object)))
    return out


def _ids_and_epochs(
    source: Source, row: Rows, key: str
) -> tuple[list[Any], list[Any] | None] | None:
    """The ids of rows and their epochs, if there are some; None where ids cannot tell rows apart."""
    epochs = None
    try:
        ids = source.keys(key).take(row.places)
        if source.holds(EPOCH):
            epochs = source.keys(EPOCH).take(row.places).to_pylist()
    except InputError:
        return None
    return None if ids.null_count else (ids.to_pylist(), epochs)


def _named_twice(ids: Sequence[str], key: str, file: str) -> InputError:
    """The error for an id that two rows of a file have."""
    twice = next(name for name, times in Counter(ids).items() if times > 1)
    expected, remedy = f"each {key} once, as rows are matched by it", "or leave --key out"
    if key == KEY:
        expected, remedy = f"each {key} once in an {EPOCH}", "or number them in `epoch`"
    remedy = f"drop one of the rows, {remedy}"
    return InputError(expected, got=f"{twice!r} twice", file=file, column=key, remedy=remedy)


def _check_repeats(source: Source, row: Rows, bases: list[str]) -> None:
    """`InputError` where an id repeats with another label or group, or, without epochs, another input."""
    first: dict[str, int] = {}
    at = np.array([first.setdefault(name, i) for i, name in enumerate(bases)])
    inputs = None  # an epoch may ask in other words
    if source.holds("input") and not source.holds(EPOCH):
        inputs = np.array(source.keys("input").take(row.places).to_pylist(), dtype=object)
    for column, cells in (("label", row.truth), ("group", row.groups), ("input", inputs)):
        if cells is not None and (cells != cells[at]).any():
            i = int(np.argmax(cells != cells[at]))
            places: Any = row.places
            expected = f"one question for each id, here {str(cells[at[i]])[:40]!r} as in row {places[at[i]] + 1}"
            got = f"{str(cells[i])[:40]!r}, and the id is {bases[i]!r} again"
            remedy = (
                "give each question its own id, such as group/id, or name another column with --key"
            )
            if column == "input":
                remedy += "; repeats in other words are numbered in a column `epoch`"
            raise InputError(
                expected,
                got=got,
                remedy=remedy,
                file=source.name,
                row=int(places[i]) + 1,
                column=column,
            )


def _in_one_order(sources: Sequence[Source], rows: Sequence[Rows]) -> list[Array]:
    """Positions, in each file, of the rows that all files have, in the order of the first; `InputError` for none. Where
    files answer a question a different number of times, those that answer it less often say it again.
    """
    index: list[dict[str, int]] = [{name: at for at, name in enumerate(row.ids)} for row in rows]  # type: ignore[arg-type]
    common = [name for name in index[0] if all(name in other for other in index[1:])]
    answers = [_by_question(at) for at in index]
    questions = [name for name in answers[0] if all(name in other for other in answers[1:])]
    times = [[len(of[name]) for of in answers] for name in questions]
    if any(min(count) < max(count) for count in times):
        alike = math.lcm(*{count for row in times for count in row})
        each = alike if alike <= _MOST_REPEATS else max(map(max, times))
        return [np.concatenate([np.resize(of[name], each) for name in questions]) for of in answers]
    if common:
        return [np.array([at[name] for name in common]) for at in index]
    raise _none_in_common(sources, index)


def _none_in_common(sources: Sequence[Source], index: Sequence[Mapping[str, int]]) -> InputError:
    """The error for files of which no row has an id that all have, and why that may be."""
    position = next((k for k in range(1, len(index)) if not index[0].keys() & index[k].keys()), 1)
    first, second = next(iter(index[0])), next(iter(index[position]))
    cause = ""
    tails = [{file_name(name): name for name in index[k]} for k in (0, position)]
    if shared := tails[0].keys() & tails[1].keys():
        names = [str(tail[min(shared)]) for tail in tails]
        cause = f"without what stands before the / they agree ({names[0]} and {names[1]}): "
        prefixes = {name.rpartition("/")[0] for name in names}
        cause += (
            "these are different tasks; compare files of one task, or "
            if all(prefixes)
            else "one has a prefix; "
        )
    raise InputError(
        f"ids that {sources[0].name} has, too, such as {first!r}",
        got=f"{second!r}, and none in common",
        file=sources[position].name,
        column=KEY,
        remedy=f"{cause}write the ids alike, or name another column that both have with --key",
    )


def _by_question(index: Mapping[str, int]) -> dict[str, list[int]]:
    """The positions of the answers to each question."""
    out: dict[str, list[int]] = {}
    for name, at in index.items():
        out.setdefault(EPOCH_OF_ID.sub("", name), []).append(at)
    return out


def _in_clusters_of_questions(rows: Sequence[Rows]) -> tuple[list[Rows], str]:
    """Rows in which answers stand again, in clusters of their questions unless others are named; and what is said."""
    codes = next((row.clusters for row in rows if row.clusters is not None), None)
    if codes is None:
        bases = [EPOCH_OF_ID.sub("", name) for name in present(rows[0].ids).tolist()]
        codes = cluster_keys(bases)
    text = "files answer a question a different number of times: answers are averaged by question"
    return [replace(row, clusters=codes) for row in rows], text


def _check_same_questions(
    titles: Sequence[str], sources: Sequence[Source], rows: Sequence[Rows]
) -> list[str]:
    """What is to be said of groups that files name differently; `InputError` where two hold other labels under one id,
    or, without labels, groups of which neither name holds the other.
    """
    first, notes = rows[0], []
    for title, second, source in zip(titles[1:], rows[1:], sources[1:], strict=True):
        labelled = first.truth is not None and second.truth is not None
        for column, ours, theirs in (
            ("label", first.truth, second.truth),
            ("group", first.groups, second.groups),
        ):
            differing = (
                [] if ours is None or theirs is None else np.flatnonzero(ours != theirs).tolist()
            )
            named: Any = {i: (str(ours[i]), str(theirs[i])) for i in differing}  # type: ignore[index]
            if column == "group" and (labelled or all(a in b or b in a for a, b in named.values())):
                pairs = {*named.values()}
                if len(pairs) > 1:
                    notes.append(
                        f"{title} has other groups, such as {min(pairs)}: no table by task"
                    )
            elif differing:
                ids, places, at = second.ids, second.places, differing[0]
                remedy = "compare answers to the same questions"
                if column == "group":
                    remedy += "; if these are the same, read them without groups: --map group=task"
                expected = (
                    f"{named[at][0]} as in {sources[0].name}, since the id {ids[at]} is the same"  # type: ignore[index]
                )
                raise InputError(
                    expected,
                    got=named[at][1],
                    remedy=remedy,
                    file=source.name,
                    row=int(places[at]) + 1,  # type: ignore[index]
                    column=column,
                )
    return notes


def _same_labels(rows: Sequence[Rows]) -> tuple[bool, str]:
    """Whether files without ids tell of the same rows in the same order, and how that is known."""
    if len({len(row.scores) for row in rows if row.scores is not None}) > 1:
        return (
            False,
            "the files have different numbers of labelled rows, and no id tells which are the same",
        )
    first = rows[0].truth
    if first is None or any(row.truth is None for row in rows):
        return False, "without a label column or ids it cannot be seen that the rows are the same"
    if any((first != row.truth).any() for row in rows[1:]):
        return False, "the labels differ, so the rows are not the same or not in the same order"
    return True, "the labels are the same, in the same order"


def ranked(
    models: Sequence[str],
    intervals: Sequence[Any],
    sign: int = 1,
    best: Array | None = None,
    same: Array | None = None,
) -> list[Json]:
    """Rows of a ranking, best first; models of equal value share a rank."""
    ranks = _ranks(sign * np.array([[interval.value for interval in intervals]]))[0]
    out: list[Json] = []
    for i in np.argsort(ranks, kind="stable"):
        number = {
            name: getattr(intervals[i], name)
            for name in ("value", "lower", "upper", "level", "kind")
        }
        p_best, stable = (None if share is None else float(share[i]) for share in (best, same))
        out.append(
            {
                "model": models[i],
                "rank": int(ranks[i]),
                **number,
                "p_best": p_best,
                "stable": stable,
            }
        )
    return out


def rankings_of(domain: Domain) -> dict[str, list[Json]]:
    """Rows of each ranking, with the shares of replicates in which a model is best, and has the same rank."""
    out = {}
    for name in filter(domain.has, RANKED):
        sign, draws = domain.better(name), domain.draws.get(name)
        best = same = None
        if draws is not None:
            again = _ranks(np.where(np.isnan(draws), -np.inf, sign * draws))
            first = again == again.min(axis=1, keepdims=True)
            best = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
            same = (again == _ranks(sign * domain.values(name)[None])[0]).mean(axis=0)
        metrics = [evaluation.metrics[name] for evaluation in domain.evaluations]
        out[name] = ranked(domain.models, metrics, sign, best, same)
    return out


def _ranks(values: Array) -> Array:
    out: Array = (values[:, None, :] > values[:, :, None]).sum(axis=2) + 1
    return out


def pairs_of(domain: Domain, level: float) -> list[Json]:
    """Each two models and metric: difference a - b with its interval, and the share of replicates with a better."""
    out = []
    names = dict.fromkeys((domain.subject, *domain.draws))
    for (i, j), name in product(combinations(range(len(domain.models)), 2), names):
        values = domain.values(name)
        difference = float(values[i] - values[j])
        if name == domain.subject:
            exact = domain.difference(i, j, level)
            lower, upper, share = exact["lower"], exact["upper"], exact["p_b_better"]
        else:
            draws = domain.draws[name]
            lower, upper = interval_of(difference, draws[:, i] - draws[:, j], level)
            gaps = domain.better(name) * (draws[:, i] - draws[:, j])
            share = float(((gaps > 0) + 0.5 * (gaps == 0)).mean())
        kind = "empirical" if name in ("disca", "coverage_at_risk") else "asymptotic"
        about = {
            "domain": domain.name,
            "metric": name,
            "a": domain.models[i],
            "b": domain.models[j],
        }
        apart_by = {
            "value": difference,
            "lower": lower,
            "upper": upper,
            "level": level,
            "kind": kind,
        }
        out.append(
            {
                **about,
                "difference": apart_by,
                "p_a_better": share,
                "undecided": max(share, 1 - share) < SURE,
            }
        )
    return out


def difference_of(domain: Domain, level: float) -> Json:
    """The difference that comes first: of the best model and the next, whose interval holds together with those of all
    pairs; of two, the second and the first. ``macro``: its mean over tasks, where there are some.
    """
    order, rows = np.argsort(-domain.values(domain.subject), kind="stable").tolist(), domain.rows
    b, a = (1, 0) if len(order) == 2 else order[:2]
    quantile = None if rows is None else rows.simultaneous(level)
    out = domain.difference(b, a, level, quantile)
    about = {
        "a": domain.models[a],
        "b": domain.models[b],
        "metric": domain.subject,
        "paired": domain.paired,
    }
    if rows is not None and quantile is not None:
        out["bootstrap"] = dict(zip(("lower", "upper"), rows.bootstrap(b, a, level), strict=True))
        out |= {"p_adjusted": rows.adjusted(b, a)} if len(order) > 2 else {}
        if domain.tasks is not None:
            out["macro"] = Interval(
                *rows.macro(b, a, domain.tasks[1], quantile), level, "asymptotic"
            ).to_dict()
    return {**about, "level": level, **out}


def _gate(domain: Domain, gap: Plain, options: CompareJob) -> Gate | None:
    """Whether the second of two models fell by more than the drop that must not happen; None where none is named."""
    drop, models = options.fail_drop, domain.models
    if drop is None:
        return None
    span = 1.0 if domain.rows is None else domain.rows.span
    if drop >= span:
        unit = "0.02 for 2 points" if span == 1 else f"less than the scale's width {span:g}"
        raise UsageError(f"expected --fail-drop as a fraction, {unit}, got {drop:g}")
    if not options.anytime:
        rows = gap["clusters"] or gap["rows"]
        return gate_of(
            Interval(gap["value"], gap["lower"], gap["upper"], options.level, "asymptotic"),
            drop,
            (models[0], models[1]),
            rows,
            strict=options.strict,
        )
    if domain.rows is None:
        raise UsageError(
            f"--anytime needs the same rows in both files: {domain.why}; give both a column id, or leave it out"
        )
    if options.scale is None and not domain.rows.binary:
        raise UsageError(
            "--anytime needs the scale of the scores, which later rows may widen; name it: --scale LOW,HIGH"
        )
    scores = domain.rows.scores
    difference, rows = anytime_difference(
        scores[1] - scores[0], domain.rows.clusters, span, options.level
    )
    return gate_of(
        difference,
        drop,
        (models[0], models[1]),
        rows,
        method="anytime",
        strict=options.strict,
    )


def tasks_of(domain: Domain, gap: Plain, level: float) -> list[Json]:
    """The difference that comes first by task, with p-values that hold together (Holm 1979)."""
    if domain.rows is None or domain.tasks is None:
        return []
    i, j = (domain.models.index(gap[name]) for name in "ba")
    out = []
    for code, task in enumerate(domain.tasks[0]):
        part = domain.rows.take(np.flatnonzero(domain.tasks[1] == code))
        comparison = part.difference(i, j, level)
        ends = Interval(
            comparison.value, comparison.lower, comparison.upper, level, "asymptotic"
        ).to_dict()
        values = dict(zip(domain.models, part.scores.mean(axis=1).tolist(), strict=True))
        out.append(
            {
                "task": task,
                "rows": part.rows,
                "values": values,
                "difference": ends,
                "p_value": comparison.p_value,
            }
        )
    for row, p_value in zip(out, holm([row["p_value"] for row in out]), strict=True):
        row["p_holm"] = p_value
    return out


def to_best(domain: Domain, level: float) -> tuple[list[Json], list[list[str]]]:
    """Of three models or more on the same rows: each one's difference to the best, with intervals that hold together
    for all pairs of models, and groups that cannot be told apart, the best first.
    """
    if domain.rows is None or len(domain.models) < 3:
        return [], []
    values = domain.values(domain.subject)
    order, quantile = np.argsort(-values, kind="stable").tolist(), domain.rows.simultaneous(level)
    gaps = {pair: domain.rows.difference(*pair, level, quantile) for pair in combinations(order, 2)}
    out = []
    for j in order[1:]:
        gap = gaps[order[0], j]
        ends = Interval(-gap.value, -gap.upper, -gap.lower, level, "asymptotic").to_dict()
        behind = [domain.models[i] for i in order[: order.index(j)] if gaps[i, j].lower > 0]
        out.append(
            {
                "model": domain.models[j],
                "best": domain.models[order[0]],
                "difference": ends,
                "p_adjusted": domain.rows.adjusted(order[0], j),
                "behind": behind,
            }
        )
    groups: list[list[str]] = []
    stop = 0  # of the last run of the order in which no two are told apart
    for start in range(len(order)):
        breaks = (
            k
            for k in range(start, len(order))
            if any(gaps[i, order[k]].lower > 0 for i in order[start:k])
        )
        if (end := next(breaks, len(order))) > stop:
            groups.append([domain.models[i] for i in order[start:end]])
            stop = end
    return out, groups


def disagreements(domain: Domain) -> list[Json]:
    """Each two metrics whose rankings part: Kendall's tau-b, the pairs, and the share of replicates."""
    out = []
    names = [name for name in _HELD if name in domain.draws]
    for metric, other in combinations(names, 2):
        first = domain.better(metric) * domain.values(metric)
        second = domain.better(other) * domain.values(other)
        parted = []
        for i, j in combinations(range(len(domain.models)), 2):
            if (first[i] - first[j]) * (second[i] - second[j]) >= 0:
                continue
            a, b = (i, j) if first[i] > first[j] else (j, i)
            share = parting(domain, metric, other, a, b)
            preferred = {metric: domain.models[a], other: domain.models[b]}
            parted.append({"preferred": preferred, "share": share, "undecided": share < SURE})
        if not parted:
            continue
        signs = [np.sign(values[:, None] - values) for values in (first, second)]
        scale = math.sqrt(np.prod([np.square(sign).sum() for sign in signs]))
        tau = float((signs[0] * signs[1]).sum() / scale) if scale else None
        out.append({"domain": domain.name, "metrics": [metric, other], "tau": tau, "pairs": parted})
    return out


def parting(domain: Domain, metric: str, other: str, a: int, b: int) -> float:
    """The share of replicates in which the first metric prefers a and the second b."""
    first, second = domain.draws[metric], domain.draws[other]
    prefers_a = domain.better(metric) * (first[:, a] - first[:, b]) > 0
    prefers_b = domain.better(other) * (second[:, b] - second[:, a]) > 0
    return float((prefers_a & prefers_b).mean())


def findings_of(domain: Domain) -> list[Json]:
    """All findings on a domain: pairs of models first, what is undecided, then the cases of each model."""
    findings: list[Json] = []
    area = domain.values("auc_coverage") if "auc_coverage" in domain.draws else np.zeros(0)
    ahead = [(a, b) for a, b in permutations(range(len(area)), 2) if area[a] > area[b]]
    for a, b in ahead:
        findings += [
            *_against(domain, a, b, "disca"),
            *_against(domain, a, b, "coverage_at_risk"),
            *_tail(domain, a, b),
        ]
    findings = sorted(findings, key=lambda finding: -finding["share"])[:_MOST]
    if ahead and "disca" in domain.draws:
        findings += _undecided(domain, ahead)
    for name, evaluation in zip(domain.models, domain.evaluations, strict=True):
        about = {"domain": domain.name, "models": [name]}
        cases = [case for case in evaluation.tables.get("failure_cases", []) if case["seen"]]
        findings += [{**case, **about, "sentence": f"{name}: {case['sentence']}"} for case in cases]
    return [
        {**finding, **{flag: finding.get(flag, False) for flag in ("contested", "undecided")}}
        for finding in findings
    ]


def _pair(domain: Domain, name: str, a: int, b: int, share: float, more: Plain) -> Json:
    area = domain.values("auc_coverage")
    return {
        "name": name,
        "domain": domain.name,
        "models": [domain.models[a], domain.models[b]],
        "share": share,
        "auc_coverage": [float(area[a]), float(area[b])],
        **more,
    }


def _against(domain: Domain, a: int, b: int, metric: str) -> list[Json]:
    """AUC prefers a, the metric prefers b, in the sample and in most replicates."""
    if metric not in domain.draws:
        return []
    values, share = domain.values(metric), parting(domain, "auc_coverage", metric, a, b)
    if not values[b] > values[a] or share < SURE:
        return []
    first = domain.evaluations[a]
    second = domain.evaluations[b]
    area = domain.values("auc_coverage")
    names = domain.models
    say = f"AUC prefers {names[a]} ({area[a]:.3f} against {area[b]:.3f})"
    doubt = ""
    if metric == "disca":
        if "coverage_at_risk" in domain.draws:
            covered = domain.values("coverage_at_risk")
            if covered[a] > covered[b]:
                risk = float(first.metrics["coverage_at_risk"].to_dict()["risk"])
                doubt = f"; but coverage at risk sides with AUC: with at most {percent(risk, None)} of the answers "
                doubt += (
                    f"wrong {names[a]} answers {percent(covered[a])} of the "
                    f"rows and {names[b]} {percent(covered[b])}"
                )
        say += f", {'DiSCA' if doubt else 'selective answering'} prefers {names[b]}: "
        say += f"DiSCA {values[b]:.3f} against {values[a]:.3f}, because {_because(first, second)}{doubt}"
    else:
        risk = float(second.metrics[metric].to_dict()["risk"])
        say += f", selective answering prefers {names[b]}: with at most {percent(risk, None)} of its answers wrong "
        say += f"it answers {percent(values[b])} of the rows and {names[a]} {percent(values[a])}"
    more = {metric: [float(values[a]), float(values[b])], "contested": bool(doubt), "sentence": say}
    return [_pair(domain, f"auc_against_{metric}", a, b, share, more)]


def _undecided(domain: Domain, ahead: Sequence[tuple[int, int]]) -> list[Json]:
    """One finding, if any, on all pairs of models that AUC and DiSCA order differently, but not beyond chance."""
    area, score, names = domain.values("auc_coverage"), domain.values("disca"), domain.models
    disagreeing = [
        (a, b, parting(domain, "auc_coverage", "disca", a, b))
        for a, b in ahead
        if score[b] > score[a]
    ]
    unsure = sorted(
        (triple for triple in disagreeing if triple[2] < SURE), key=lambda triple: -triple[2]
    )
    if not unsure:
        return []
    a, b, share = unsure[0]
    if len(unsure) == 1:
        areas, scores = (
            " against ".join(_precise(*two)) for two in ((area[a], area[b]), (score[b], score[a]))
        )
        say = f"AUC prefers {names[a]} ({areas}) and DiSCA {names[b]} ({scores}), but that may be chance: they part "
        say += f"so in {percent(share, 0)} of the replicates"
    else:
        say = f"AUC and DiSCA order {len(unsure)} {'more ' if len(disagreeing) > len(unsure) else ''}pairs of models "
        say += f"differently, but that may be chance: each in fewer than {percent(SURE, 0)} of the replicates, the "
        say += f"surest, {names[a]} and {names[b]}, in {percent(share, 0)}"
    involved = sorted({i for a, b, _ in unsure for i in (a, b)})
    row = {
        "name": "undecided",
        "domain": domain.name,
        "models": [names[i] for i in involved],
        "share": share,
    }
    pairs = [{"models": [names[a], names[b]], "share": share} for a, b, share in unsure]
    return [{**row, "pairs": pairs, "undecided": True, "sentence": say}]


def _because(worse: Evaluation, better: Evaluation) -> str:
    """The terms of DiSCA by which the second model gains, the largest gain first."""
    p, q = worse.metrics["disca"].to_dict(), better.metrics["disca"].to_dict()
    reasons = {
        "first": "its first mistakes come only at lower confidence "
        f"({_precise(q['a'], p['a'])[0]} against {_precise(q['a'], p['a'])[1]})",
        "second": f"its accuracy falls below {q['tolerance']:g} only at lower confidence "
        f"({_precise(q['b'], p['b'])[0]} against {_precise(q['b'], p['b'])[1]})",
        "third": f"its accuracy rises less as more is answered (penalty {q['penalty']:.3g} against {p['penalty']:.3g})",
    }
    gains = {term: q["terms"][term] - p["terms"][term] for term in reasons}
    total = sum(gain for gain in gains.values() if gain > 0)
    largest = [term for term in sorted(gains, key=lambda t: -gains[t]) if gains[term] > 0.1 * total]
    return " and ".join(reasons[term] for term in largest)


def _precise(number: float, other: float) -> tuple[str, str]:
    for digits in range(2, 12):
        if f"{number:.{digits}f}" != f"{other:.{digits}f}":
            break
    return f"{number:.{digits}f}", f"{other:.{digits}f}"


def _tail(domain: Domain, a: int, b: int) -> list[Json]:
    """Case 1: a has the higher AUC, b the higher accuracy among the rows answered first."""
    early = []
    for evaluation in (domain.evaluations[a], domain.evaluations[b]):
        curve = evaluation.curves.get("accuracy_coverage")
        if curve is None:
            return []
        early.append(float(np.asarray(curve.y)[np.asarray(curve.x) <= TAIL + 1e-9].mean()))
    area, areas, names = domain.values("auc_coverage"), domain.draws["auc_coverage"], domain.models
    differences = tail_difference(domain.curves[a], domain.curves[b])
    share = float(((differences > 0) & (areas[:, a] > areas[:, b])).mean())
    if early[1] - early[0] < _TAIL or share < SURE:
        return []
    say = (
        f"the tail (case 1): AUC prefers {names[a]} ({area[a]:.3f} against {area[b]:.3f}), but over the first "
        f"{percent(TAIL, 0)} of coverage, where little is answered and little may go wrong, {names[b]} is right "
        f"{percent(early[1])} of the time and {names[a]} {percent(early[0])}"
    )
    more = {"case": 1, "tail_accuracy": early, "sentence": say}
    return [_pair(domain, "tail", a, b, share, more)]


_RISK, _COVERAGE = 0.05, 0.8
_PLAIN = ("accuracy", "brier", "ece", "auc_coverage", "aurc", "e_aurc", "augrc")


class CompareJob(CompareOptions):
    """What `compare` was asked; `UsageError` for options that make no sense together."""

    def __post_init__(self) -> None:
        super().__post_init__()

        self.shares()
        check_weights("p and q", self.didma_weights)
        check_weights("u and v", self.nidma_weights)
        self.computation_scores()

    def computation_scores(self) -> list[float] | None:
        """The computation score of each model, of its energy or its number of parameters; None where none is given."""
        if self.energy and self.parameters:
            raise UsageError(
                "give the models' energy or their parameters, not both: DiDMA takes one"
            )
        if self.energy:
            return [computation_score(energy=e) for e in self.energy]
        if self.parameters:
            optimal = self.optimal_parameters
            if optimal is None:
                raise UsageError(
                    "--parameters count by their ratio to as many as the device runs well: give "
                    "--optimal-parameters, too"
                )
            return [
                computation_score(parameters=p, optimal_parameters=optimal) for p in self.parameters
            ]
        if self.optimal_parameters is not None:
            raise UsageError("an optimal number of parameters needs the parameters of each model")
        return None

    def shares(self) -> tuple[float, float, float]:
        """The weights of DiSCA as they are used."""
        return check_options((self.tolerance,), self.weights, self.grid, self.steps)

    @property
    def disca(self) -> Json:
        """Options of DiSCA."""
        weights = self.shares()
        return {
            "tolerance": self.tolerance,
            "weights": weights,
            "grid": self.grid,
            "steps": self.steps,
        }

    @property
    def curve(self) -> Json:
        """Options of the metrics that are read off a curve, of the sample or of a replicate."""
        return {**self.disca, "risk": _RISK, "coverage": _COVERAGE}

    def metrics(self) -> list[Metric[Any, Any]]:
        """The metrics of every model, in the order asked for."""
        required = tuple(self.require)
        how: dict[str, Json] = {name: {} for name in _PLAIN} | {"disca": self.disca}
        how |= {"coverage_at_risk": {"risk": _RISK}, "risk_at_coverage": {"coverage": _COVERAGE}}
        how |= {
            "accuracy_coverage": {"steps": self.steps},
            "risk_coverage": {"target_accuracies": required},
        }
        how |= {"operating_points": {"required": required}, "failure_cases": {}, "mean_score": {}}
        return ordered_by(
            [create("metric", name, **options) for name, options in how.items()], self.score
        )

    @property
    def settings(self) -> Json:
        """What the result tells of them."""
        out = {**self.curve, "require": list(self.require), "threshold": self.threshold}
        out["features"] = (
            self.features if self.features in (None, "auto") else listed(self.features)
        )
        out |= {"score": self.score, "cluster": self.cluster}
        out |= {name: list(getattr(self, name)) for name in ("didma_weights", "nidma_weights")}
        out["energy_unit"] = self.energy_unit if self.energy else None
        return out | {"optimal_parameters": self.optimal_parameters}


@verb(CompareJob)
def compare(options: CompareJob) -> Comparison:
    """Say which of two models or more is better on the same questions, by how much, and which of them may answer.

    Models whose files tell of the same rows, by their ids or by the same labels in the same order, are compared on the
    same rows: each bootstrap replicate draws the same ones for all. Where not, the result says why, and they are drawn
    apart. Raises `InputError` for input that cannot become a number or cannot be ordered, `UsageError` for a call that
    makes no sense. Source: Mishra, Arunkumar and Baral (2022).

    >>> y = [0, 1] * 100
    >>> falling = [1 - i / 400 for i in range(200)]
    >>> sure = {"label": y, "prediction": y[:190] + [1 - c for c in y[190:]], "confidence": falling}
    >>> lost = {"label": y, "prediction": [1 - c for c in y[:10]] + y[10:], "confidence": falling}
    >>> found = compare([sure, lost], names=["sure", "lost"])
    >>> found.paired["in_domain"]["paired"], [row["model"] for row in found.rankings["in_domain"]["disca"]]
    (True, ['sure', 'lost'])
    """
    models, out_of_domain, target = options.models, options.out_of_domain, options.target
    if len(models) < 2:
        raise UsageError(
            f"comparing needs at least two models, got {len(models)}; for one there is `evaluate`"
        )
    for what in ("out_of_domain", "target", "names", "energy", "parameters"):
        values = getattr(options, what)
        if what == "target" and options.judge:
            continue  # a word, of what the difference is
        if values and len(values) != len(models):
            raise UsageError(
                f"{what} is given {len(values)} times for {len(models)} models; give one for each, in their order"
            )
    if options.fail_drop is not None and len(models) != 2:
        raise UsageError(
            f"--fail-drop holds one model against its base, two files (BASE NEW); got {len(models)}"
        )
    if options.judge:
        from .judged_difference import compare_judges
        from .judging import opened

        sources = [opened(data, options) for data in models]
        return compare_judges(sources, options, _titles(options.names, sources))  # type: ignore[return-value]  # an audit of the difference
    paths = {"models": models, "out_of_domain": out_of_domain, "target": target}
    with executing(
        "compare", options, **{name: values for name, values in paths.items() if values}
    ) as execution:
        quiet = execution.heard_by(None)  # files are counted, not their parts
        inputs = [*models, *out_of_domain, *target]
        read = lambda classes: _read(replace(options, classes=classes), quiet)  # noqa: E731
        return with_classes_of_all(read, inputs, options)


def _read(options: CompareJob, execution: Execution, unseen: bool = False) -> Comparison:
    """The comparison of the files; with ``unseen`` labels may be of classes that a model does not know."""
    models = options.models
    opener = opener_for(options)
    joined = [_joined(data, options, opener, options.labels, unseen) for data in models]
    joined += [_joined(data, options, opener, None, unseen) for data in options.out_of_domain]
    sources = [in_name_order(source.source) for source in joined]
    homes, aways = sources[: len(models)], sources[len(models) :]
    targets = [
        opener.open(
            data, axes=replace(reference.axes, others=True), where=options.where, file="target"
        )
        for data, reference in zip(options.target, homes, strict=False)
    ]
    opener.check()
    try:
        moved = _moved_columns(homes, aways, targets, options)
        result = _compared(_titles(options.names, homes), homes, aways, targets, options, execution)
    except NewLabelError:
        if unseen or options.classes is not None:
            raise
        return _read(options, execution, unseen=True)
    records = tuple(
        replace(model, columns=columns) for model, columns in zip(result.models, moved, strict=True)
    )
    notes = dict.fromkeys(
        (*opener.notes, *(line for source in joined for line in source.warnings), *result.warnings)
    )
    return replace(result, models=records, warnings=tuple(notes))


def scores_of(options: CompareJob, execution: Execution) -> tuple[Domain, list[str]]:
    """The labelled files of one model or more, with their scores side by side where the rows are the same, and what is
    to be said of them; `InputError` for input that cannot become a number.
    """
    opener = opener_for(options)
    joined = [_joined(data, options, opener, options.labels, False) for data in options.models]
    sources = [in_name_order(source.source) for source in joined]
    opener.check()
    titles = _titles(options.names, sources)
    domain, notes = _read_domain("in_domain", titles, sources, options, execution)
    return domain, [*opener.notes, *(line for source in joined for line in source.warnings), *notes]


def _joined(data: Any, options: CompareJob, opener: Opener, labels: Any, unseen: bool) -> Joined:
    """A labelled file, whose truth may stand in a file of ``labels``; ``unseen``: as `_read` has it."""
    extra = [name for name in (options.cluster,) if name is not None and name not in FIELDS]
    source = opener.with_ids(data, options.cluster, options.classes, extra, where=options.where)
    key = index_key(options.labels, data, options.key)
    if labels is not None:
        return labelled(labels, source, key, opener.labels)
    return wrong_where_unseen(source) if unseen else Joined(source, ())


def _compared(
    titles: Sequence[str],
    homes: Sequence[Source],
    aways: Sequence[Source],
    targets: Sequence[Source],
    options: CompareJob,
    execution: Execution,
) -> Comparison:
    """The comparison of models with these labelled files, those out of their domain, and those without labels."""
    done, total = count(1), len(homes) + len(aways) + len(targets)

    def tick() -> None:
        if options.progress is not None:
            options.progress(next(done), total)

    domains, warnings = [], []
    for name, sources in (("in_domain", homes), ("out_of_domain", aways)):
        if not sources:
            continue
        domain, left_out = _read_domain(name, titles, sources, options, execution, tick)
        domains.append(domain)
        warnings += left_out
        warnings += _said_of_sizes(domain)
    for domain in domains:
        warnings += _said_of(domain)
    curves: list[Json] = []
    for title, reference, target in zip(titles, homes, targets, strict=False):
        curve, lines = _label_free(reference, target, options, execution)
        curves.append(curve)
        warnings += [f"{title} (target): {line}" for line in lines]
        tick()
    records = _records(domains, curves, options)
    rankings = {domain.name: rankings_of(domain) for domain in domains}
    rankings["in_domain"] |= _rankings_of_records(titles, records)
    paired: dict[str, Json] = {
        domain.name: {"paired": domain.paired, "why": domain.why} for domain in domains
    }
    on_target: list[Json] = []
    if curves:
        on_target, paired["target"] = _paired_on_target(domains[0], targets, curves, options)
        rankings["target"] = _rankings_on_target(titles, curves)
    level, gap = options.level, difference_of(domains[0], options.level)
    best, groups = to_best(domains[0], level)
    findings = [finding for domain in domains for finding in findings_of(domain)]
    return Comparison(
        models=tuple(records),
        level=level,
        seed=options.seed,
        paired=paired,
        settings=options.settings,
        warnings=tuple(warnings),
        difference=gap,
        gate=_gate(domains[0], gap, options),
        to_best=tuple(best),
        groups=tuple(groups),
        rankings=rankings,
        disagreements=tuple(row for domain in domains for row in disagreements(domain)),
        pairs=(*(row for domain in domains for row in pairs_of(domain, level)), *on_target),
        tasks=tuple(tasks_of(domains[0], gap, level)),
        findings=(*findings, *_findings_on_targets(titles, curves, on_target)),
    )


def _rankings_of_records(
    titles: Sequence[str], records: Sequence[ModelRecord]
) -> dict[str, list[Json]]:
    """Rankings by DiDMA and NiDMA, where every model has them."""
    out = {}
    for name in ("didma", "nidma"):
        intervals = [getattr(record, name) for record in records]
        if all(interval is not None for interval in intervals):
            out[name] = ranked(titles, intervals)
    return out


def _rankings_on_target(titles: Sequence[str], curves: Sequence[Plain]) -> dict[str, list[Json]]:
    """Rankings by what is estimated on the targets of all models."""
    return {
        key: ranked(titles, [curve[key] for curve in curves])
        for key in ("accuracy", "auc_coverage")
        if all(key in curve for curve in curves)
    }


def _said_of_sizes(domain: Domain) -> list[str]:
    """A warning where the models have different numbers of rows."""
    sizes = [evaluation.rows for evaluation in domain.evaluations]
    if len(set(sizes)) == 1:
        return []
    return [
        f"{domain.name.replace('_', ' ')}: the models have {min(sizes):,} to {max(sizes):,} rows, and DiSCA (DiDMA "
        "and NiDMA too) of different numbers of rows do not compare, since a first mistake is met sooner among more "
        "rows; give each model equally many"
    ]


def _said_of(domain: Domain) -> list[str]:
    """The warnings of the evaluations of a domain: those of all models once, then those of each."""
    where = domain.name.replace("_", " ")
    every = [evaluation.warnings for evaluation in domain.evaluations]
    common = {line for line in every[0] if all(line in lines for lines in every)}
    of_each = [
        (title, line) for title, lines in zip(domain.models, every, strict=True) for line in lines
    ]
    return [f"{where}: {line}" for line in every[0] if line in common] + [
        f"{title} ({where}): {line}" for title, line in of_each if line not in common
    ]


def _paired_on_target(
    domain: Domain,
    targets: Sequence[Source],
    curves: Sequence[Plain],
    options: CompareJob,
) -> tuple[list[Json], Json]:
    """Each two models on the targets where no labels decide, and whether and why they were compared row by row."""
    pairs, why = list[Json](), "the labels of the targets decide"
    if any(curve["by_labels"] is None for curve in curves):
        pairs, why = _pairs_on_target(domain, targets, options)
    about: Json = {"paired": bool(pairs), "why": why}
    if pairs:
        prior = packaged_differences()
        kinds = {row["group"] for row in pairs if not row["undecided"]}
        decided = [prior.why(kind) for kind in sorted(kinds)]
        about |= {"assumes": prior.assumes, "decided": decided}
    return pairs, about


def _read_rows(
    source: Source, options: CompareJob, execution: Execution
) -> tuple[Evaluation, Rows]:
    """One pass over a file: its evaluation and its rows."""
    plan, skipped = plan_evaluation(
        source,
        options.metrics(),
        cluster=options.cluster,
        level=options.level,
        seed=options.seed,
        scale=options.ends_of_scale,
    )
    order = next((m for m in plan.metrics if isinstance(m, RankMetric)), None)
    fields = tuple(
        dict.fromkeys((*plan.fields, "label", *(["group"] if "group" in source.fields else [])))
    )
    plan = replace(plan, order=order, kept=True, fields=fields)
    plan, state = read_evaluation(source, plan, execution)
    evaluation, file_state = finish_evaluation(source, plan, state, skipped), state[WHOLE]
    rows: KeptRows = file_state["kept"]

    def column(at: int) -> Array | None:
        pieces = [batch[at] for batch in rows.batches]
        return (
            np.concatenate(pieces)
            if pieces and all(piece is not None for piece in pieces)
            else None
        )

    values, verdicts, truth, places, keys, named, groups, graded = map(column, range(8))
    verdicts = verdicts if "accuracy" in evaluation.metrics else None
    ranks = None if order is None else file_state[order.state_key]
    keys = keys if plan.grouped else None
    return evaluation, Rows(ranks, values, verdicts, graded, truth, places, keys, named, groups)


def _row_key(key: str | None, sources: Sequence[Source]) -> str | None:
    """The column that tells rows apart in all files; `UsageError` where one lacks the one that was named."""
    if key is None:
        return KEY if all(source.holds(KEY) for source in sources) else None
    ours = key.partition("=")[0] if not any(source.holds(key) for source in sources) else key
    for source in sources:
        if not source.holds(ours):
            raise UsageError(
                f"{source.name}: there is no column {ours} to tell rows apart by; its columns are "
                f"{', '.join(source.columns[:12])}"
            )
    return ours


def _ids(source: Source, key: str) -> Array | None:
    try:
        ids = source.keys(key)
    except InputError:
        return None
    return None if ids.null_count else np.array(named_repeats(ids.to_pylist()), dtype=object)


def _titles(names: Sequence[str], sources: Sequence[Source]) -> list[str]:
    """Names of the models: as given, else of their files, with as many of their folders as tell them apart."""
    if names:
        if len(set(names)) < len(names):
            raise UsageError(
                f"two models have one name among {', '.join(names)}; give each its own"
            )
        return list(names)
    paths = [
        Path(source.name).with_suffix("").parts
        if source.name and os.sep not in source.name[-1:]
        else (f"model {i}",)
        for i, source in enumerate(sources, 1)
    ]
    out = [path[-1] for path in paths]
    for depth in range(2, max(map(len, paths)) + 1):
        times = Counter(out)
        out = [
            "/".join(path[-depth:]) if times[name] > 1 else name
            for name, path in zip(out, paths, strict=True)
        ]
    return [name if out.index(name) == i else f"{name} ({i + 1})" for i, name in enumerate(out)]


def _records(
    domains: Sequence[Domain], curves: Sequence[Plain], options: CompareJob
) -> list[ModelRecord]:
    in_domain, outside = domains[0], domains[1] if len(domains) > 1 else None
    scores, out = options.computation_scores(), []
    for i, name in enumerate(in_domain.models):
        disaster = spoken = None
        away = None if outside is None else outside.evaluations[i]
        score = in_domain.evaluations[i].metrics.get("disca")
        away_score = None if away is None else away.metrics.get("disca")
        if scores is not None and score is not None:
            ends = [
                didma(x, scores[i], options.didma_weights)
                for x in (score.value, score.lower, score.upper)
            ]
            disaster = Interval(ends[0], ends[1], ends[2], score.level, "empirical")
        # they come from different rows: deviations add as squares
        if disaster is not None and away_score is not None:
            u, v = check_weights("u and v", options.nidma_weights)
            value = nidma(disaster.value, away_score.value, options.nidma_weights)
            down = math.hypot(
                u * (disaster.value - disaster.lower), v * (away_score.value - away_score.lower)
            )
            up = math.hypot(
                u * (disaster.upper - disaster.value), v * (away_score.upper - away_score.value)
            )
            spoken = Interval(value, value - down, value + up, disaster.level, "empirical")
        energy = float(options.energy[i]) if options.energy else None
        parameters = float(options.parameters[i]) if options.parameters else None
        about = (
            curves[i] if curves else None,
            energy,
            parameters,
            None if scores is None else scores[i],
        )
        out.append(ModelRecord(name, in_domain.evaluations[i], away, *about, disaster, spoken))
    return out


def _moved_columns(
    homes: Sequence[Source], aways: Sequence[Source], targets: Sequence[Source], options: CompareJob
) -> list[dict[str, tuple[ColumnChange, ...]]]:
    """For each model: domain -> its columns, those that explain most of a change first."""
    out: list[dict[str, tuple[ColumnChange, ...]]] = [{} for _ in homes]
    if options.features is None:
        return out
    if not aways and not targets:
        remedy = "give --target or --out-of-domain once for each model, or leave --features out"
        raise UsageError(
            f"--features tell which columns moved from the models' files to others; {remedy}"
        )
    key = _row_key(options.key, homes)
    for domain, files in (("out_of_domain", aways), ("target", targets)):
        for moved, reference, file in zip(out, homes, files, strict=False):
            (near,), far = with_features([reference], file, options.features, [key])
            assert far is not None
            read = read_reference(near, seed=options.seed).record
            drift = ColumnDrift(near.users, level=options.level, seed=options.seed).fit(read)
            state = drift.folded(far.batches(("features",)))
            moved[domain] = () if state is None else drift.finish(state)
    return out


def _label_free(
    reference: Source, target: Source, options: CompareJob, execution: Execution
) -> tuple[Json, Strings]:
    """The headline of `estimate` for a model on its target, its accuracy-coverage curve, and its warnings."""
    from .estimate import estimated  # which no other part needs
    from .estimate_job import EstimateJob

    job = EstimateJob(
        reference,
        target,
        target_accuracies=tuple(options.require),
        level=options.level,
        seed=options.seed,
    )
    try:
        estimation = estimated(job, execution)
    except NotApplicable as error:
        raise UsageError(
            f"{target.name or 'the target'}: nothing can be estimated: {error}"
        ) from None
    head, curve = estimation.headline, estimation.risk_coverage
    out: Json = {
        "name": target.name,
        "rows": estimation.target["rows"],
        "accuracy": head.interval,
        "trust": head.trust,
        "why": head.why,
        "assumes": head.assumes,
    }
    out["shift"] = None if estimation.diagnosis is None else estimation.diagnosis.kind
    out |= {"truth": estimation.target.get("accuracy"), "by_labels": None}
    if estimation.is_known:
        out["by_labels"] = estimation.truth
    if curve is not None:
        # the mean over coverages, between the means of the band's ends (wider than a band of the mean)
        value, lower, upper = (float(np.mean(line)) for line in (curve.y, curve.lower, curve.upper))
        mean = Interval(value, min(lower, value), max(upper, value), curve.level, curve.kind)
        out |= {"curve": curve, "answers": curve.extra["answers"], "auc_coverage": mean}
    # the truth stands in a column of its own here
    warnings = (line for line in estimation.warnings if kind_of(line) != TARGET_LABELS)
    return out, tuple(line.removeprefix("the target: ") for line in warnings)


def _pairs_on_target(
    domain: Domain, targets: Sequence[Source], options: CompareJob
) -> tuple[list[Json], str]:
    """Each two models on the target, as `pairs_of` tells them, by natural differences; or none, and why."""
    if domain.rows is None:
        return [], f"in domain the rows are not the same: {domain.why}"
    if any(named is None for named in domain.named):
        return [], "in domain the classes that the models predict are not known"
    predicted, ids = [], []
    key = KEY if options.key is None else options.key.partition("=")[0]
    for target in targets:
        named, why = _named_on(target)
        if named is None:
            return [], f"{target.name}: {why}"
        predicted.append(named)
        ids.append(_ids(target, key) if target.holds(key) else None)
    if len({len(named) for named in predicted}) > 1:
        return [], "the targets' files have different numbers of rows"
    by_id = all(names is not None for names in ids)
    if by_id:
        orders = [np.argsort(present(names), kind="stable") for names in ids]
        sorted_ids = [present(names)[order] for names, order in zip(ids, orders, strict=True)]
        if any((names != sorted_ids[0]).any() for names in sorted_ids):
            return [], "the targets' files hold different ids"
        predicted = [named[order] for named, order in zip(predicted, orders, strict=True)]
    numbers = np.unique(np.concatenate([*domain.named, *predicted]), return_inverse=True)[1]
    prior, out = packaged_differences(), []
    cut = len(predicted) * domain.rows.rows
    reference, away = (part.reshape(len(predicted), -1) for part in (numbers[:cut], numbers[cut:]))
    for i, j, signs in pairs_on_target(domain.rows.scores.astype(np.int8), reference, away):
        difference, chance = prior.difference(signs, options.level)
        group, names = group_of(signs), {"a": domain.models[i], "b": domain.models[j]}
        out.append(
            {
                "domain": "target",
                "metric": "accuracy",
                **names,
                "difference": difference.to_dict(),
                "p_a_better": chance,
                "undecided": max(chance, 1 - chance) < prior.sure[group],
                "parted": signs.share,
                "group": group,
            }
        )
    return out, "the ids are the same" if by_id else "the files are read row by row"


def _named_on(target: Source) -> tuple[Array | None, str]:
    """The classes that a model predicts on its target; None, and why, where they are not known or too many."""
    answers = ("prediction", "probabilities", "logits", "members")
    fields = [name for name in answers if name in target.fields]
    parts: list[Array] = []
    for batch in target.batches(fields) if fields else ():
        parts.append(named_classes(batch, batch.predicted))  # type: ignore[arg-type]
        if sum(map(len, parts)) > LIMIT:
            return None, "there are too many rows to keep them in order"
    if not parts:
        return None, "there are no predicted classes"
    return np.concatenate(parts), ""


def _findings_on_targets(
    titles: Sequence[str], curves: Sequence[Json], pairs: Sequence[Plain]
) -> list[Json]:
    """A sentence for each two models by natural differences, else for neighbours by whether intervals overlap."""
    out = []
    all_labelled = all(model["by_labels"] is not None for model in curves)
    of = "by_labels" if all_labelled else "accuracy"
    remedy = "compare these files themselves, row by row"
    remedy = remedy if all_labelled else "a few labels decide it (`oodometer rank`)"
    by_models = {(titles.index(row["a"]), titles.index(row["b"])): row for row in pairs}
    values = [float(model[of].value) for model in curves]
    if by_models:
        values = _beaten(by_models, len(titles))
    order = sorted(range(len(curves)), key=lambda model: -values[model])
    for first, second in combinations(order, 2) if by_models else pairwise(order):
        pair, (a, b) = by_models.get((min(first, second), max(first, second))), (first, second)
        if pair is not None and pair["p_a_better"] != 0.5:
            a, b = (min(a, b), max(a, b)) if pair["p_a_better"] > 0.5 else (max(a, b), min(a, b))
        better, worse = curves[a][of], curves[b][of]
        say = f"on the target {titles[a]} is {'by its labels' if all_labelled else 'estimated'} ahead of {titles[b]}"
        if pair is None:
            decided, more = better.lower > worse.upper, _by_intervals(better, worse, remedy)
        else:
            decided, more = not pair["undecided"], _by_difference(pair, a < b, remedy)
        say += more
        for model in (a, b):
            if curves[model]["trust"] == "none" and not all_labelled:
                say += f"; the estimate of {titles[model]} deserves no trust"
        out.append(
            {
                "name": "target_order",
                "domain": "target",
                "models": [titles[a], titles[b]],
                "accuracy": [better.value, worse.value],
                "contested": False,
                "undecided": not decided,
                "share": None,
                "sentence": say,
            }
        )
    return out


def _beaten(pairs: Mapping[tuple[int, int], Plain], models: int) -> list[float]:
    """How many others each model likely beats."""
    values = [0.0] * models
    for (a, b), row in pairs.items():
        values[a] += row["p_a_better"]
        values[b] += 1 - row["p_a_better"]
    return values


def _by_intervals(better: Interval, worse: Interval, remedy: str) -> str:
    """The values of two models, and whether their intervals overlap."""
    say = f", {percent(better.value)} against {percent(worse.value)}"
    if better.lower > worse.upper:
        return say
    return f"{say}, but their intervals overlap: undecided; {remedy}"


def _by_difference(pair: Plain, in_order: bool, remedy: str) -> str:
    """By how much, and how surely, one of two models is ahead; ``in_order``: it is the first of the pair."""
    sign = 1 if in_order else -1
    value, *ends = (sign * pair["difference"][name] for name in ("value", "lower", "upper"))
    chance = max(pair["p_a_better"], 1 - pair["p_a_better"])
    verdict = f"undecided; {remedy}" if pair["undecided"] else "decided"
    span = " to ".join(f"{100 * end:+.1f}" for end in sorted(ends))
    return f" by {points(value)} ({span}), with probability {percent(chance)}: {verdict}"
