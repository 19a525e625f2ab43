"""Rows of several models side by side: which rows they share, in one order, and what each answered there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from ..arrays import Array, present
from ..audits.joining import KEY
from ..classes import is_null
from ..errors import InputError, UsageError
from ..inference.clusters import EPOCH, EPOCH_OF_ID, cluster_keys, named_repeats
from ..inference.paired import Paired
from ..intervals import normal_quantile
from ..metrics.mean_score import failed_grades, scale_seen
from ..metrics.ranks import RankMetric, Ranks
from ..metrics.reliability import SHORT
from ..metrics.resampling import RankBins, resampled
from ..metrics.risk_coverage import REPLICATED, jointly_resampled, replicated
from ..notes import file_name
from ..passes.evaluating import (
    KeptRows,
    NamedColumns,
    finish_evaluation,
    plan_evaluation,
    read_evaluation,
)
from ..passes.folding import Execution
from ..passes.slicing import WHOLE
from ..plain import Json, Plain, Strings
from ..predictions import FIELDS
from ..registry import find
from ..results.evaluation import Evaluation
from ..store import Source, as_source
from ..store.cells import arrow_of
from .compare_beside import Beside, Questions, costs_beside, curves_beside
from .compare_job import CompareJob
from .costs import amounts, cost_columns
from .shared_rows import telling_column

_MOST_TASKS = 200  # with a row of their own
_MOST_REPEATS = 64  # times that an answer is counted so that all questions weigh alike


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
    weights: Array | None = None
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
            weights=taken(self.weights),
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
    beside: tuple[Beside, ...] = ()

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
        weights = self.evaluations[i].weights
        if weights is not None:
            out["weights"] = weights.to_dict()
        if self.subject in SHORT:
            measured: Any = self.evaluations[i].metrics[self.subject]
            out |= {"rows": measured.extras["questions"], "k": measured.extras["k"]}
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


def read_domain(
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
    (key, notes), read = _told_apart(options.key, sources), []
    for source in sources:
        read.append(_read_rows(source, options, execution))
        tick()
    evaluations = [evaluation for evaluation, _ in read]
    subject, rows = (
        _subject(sources, evaluations, options),
        _named(sources, [row for _, row in read], key),
    )
    if subject == "mean_score":
        rows = [replace(row, scores=row.graded) for row in rows]
    elif any("mean_score" in evaluation.metrics for evaluation in evaluations):
        notes.append(
            "who is right is compared; of files without `correct` it is the mean of `score`"
        )
    if options.metrics:
        return _of_questions(name, titles, sources, evaluations, rows, options, execution)
    matched = _matched(titles, sources, rows, options)
    notes += matched.notes
    if matched.left_out:
        common = [
            _rows_of(source, row, at, str(key), (options.cluster, options.weight))
            for source, row, at in zip(sources, rows, matched.order, strict=True)
        ]
        domain, more = read_domain(name, titles, common, options, execution)
        return domain, [*notes, matched.left_out, *more]
    rows = matched.rows
    side = tasks = None
    if matched.are_paired:
        rows = _of_one_weight(sources, rows, options.weight)
        side, more = _side_by_side(titles, rows, subject, options)
        notes += more
        tasks = None if options.cluster == "group" else _tasks(rows)
    domain = Domain(
        name=name,
        subject=subject,
        models=tuple(titles),
        evaluations=tuple(evaluations),
        # neither curves nor what an answer takes stand unweighted beside what is weighted
        curves=() if options.weight else tuple(_curves(rows, side, options.seed)),
        why=matched.why,
        options=options.curve,
        rows=side,
        tasks=tasks,
        named=tuple(row.named for row in rows),
        beside=() if options.weight else tuple(matched.beside),
    )
    return domain, notes


@dataclass(frozen=True)
class _Matched:
    """Rows of models, in one order where they are the same: whether they are, and why; ``left_out`` says which rows
    some file lacks, then ``order`` holds the places of those that all have.
    """

    rows: list[Rows]
    are_paired: bool
    why: str
    notes: list[str] = field(default_factory=list)
    beside: Sequence[Beside] = ()
    left_out: str = ""
    order: Sequence[Array] = ()


def _matched(
    titles: Sequence[str], sources: Sequence[Source], rows: list[Rows], options: CompareJob
) -> _Matched:
    """The rows of all models side by side: by their ids, else by equal labels in the same places."""
    if any(row.scores is None for row in rows):
        return _Matched(rows, False, "there are too many rows to keep them in order")
    if not all(row.ids is not None for row in rows):
        return _Matched(rows, *_same_labels(rows))
    why, notes = "the ids are the same", list[str]()
    order = _in_one_order(sources, rows)
    left_out = _left_out(titles, rows, order)
    if left_out:
        return _Matched(rows, True, why, left_out=left_out, order=order)
    are_repeated = any(len(np.unique(at)) < len(at) for at in order)
    rows = [row.in_order(at) for row, at in zip(rows, order, strict=True)]
    if are_repeated:
        rows, note = _in_clusters_of_questions(rows)
        notes.append(note)
    notes += _check_same_questions(titles, sources, rows)
    places = [present(row.places) for row in rows]
    beside = costs_beside(sources, places, rows[0].clusters, options.seed)
    return _Matched(rows, True, why, notes, beside)


def _of_questions(
    name: str,
    titles: Sequence[str],
    sources: Sequence[Source],
    evaluations: Sequence[Evaluation],
    rows: Sequence[Rows],
    options: CompareJob,
    execution: Execution,
) -> tuple[Domain, list[str]]:
    """A domain whose rows are questions, each with what its answers say of the curves; see `read_domain`."""
    (subject, _), *_ = curves = options.curves()
    whole = Domain(
        name=name,
        subject=subject,
        models=tuple(titles),
        evaluations=tuple(evaluations),
        curves=(),
        why="there are too many rows to keep them in order",
        options=options.curve,
    )
    if any(row.ids is None for row in rows):
        return whole, []
    every = [Questions.of(present(row.ids)) for row in rows]
    common = [q for q in every[0].names if all(q in other.names for other in every[1:])]
    if not common:
        raise _none_in_common(sources, [asked.names for asked in every])
    lacking = [len(asked.names) - len(common) for asked in every]
    if any(lacking):
        shared = _of_common(sources, rows, every, common)
        domain, notes = read_domain(name, titles, shared, options, execution)
        sizes = [len(asked.names) for asked in every]
        text = f"{len(common):,} questions are in all files; left out: "
        return domain, [text + _lacking(titles, sizes, lacking), *notes]
    heads = [row.in_order(asked.first(common)) for row, asked in zip(rows, every, strict=True)]
    codes = [asked.codes(common) for asked in every]
    answers = [(of, present(row.scores), row.named) for row, of in zip(rows, codes, strict=True)]
    sides = curves_beside(curves, answers, options.seed)
    places = [present(row.places) for row in rows]
    costs = costs_beside(sources, places, None, options.seed, codes)
    whole = replace(
        whole,
        rows=sides[0].side,
        why="the ids are the same",
        tasks=_tasks(heads),
        beside=(*sides[1:], *costs),
    )
    return whole, _check_same_questions(titles, sources, heads)


def _left_out(titles: Sequence[str], rows: Sequence[Rows], order: Sequence[Array]) -> str:
    """What is to be said of rows that not all files have, "" where all have the same; ``order``: places in each."""
    sizes = [len(present(row.ids)) for row in rows]
    used = [len(np.unique(at)) for at in order]
    if sizes == used:
        return ""
    lacking = [size - count for size, count in zip(sizes, used, strict=True)]
    text = f"{len(order[0]):,} rows are in all files; left out: "
    return text + _lacking(titles, sizes, lacking)


def _of_common(
    sources: Sequence[Source],
    rows: Sequence[Rows],
    every: Sequence[Questions],
    common: Sequence[str],
) -> list[Source]:
    """The sources with the rows of some questions alone."""
    return [
        _rows_of(source, replace(row, ids=asked.of_rows), asked.rows_of(common), KEY, (None, None))
        for source, row, asked in zip(sources, rows, every, strict=True)
    ]


def _lacking(titles: Sequence[str], sizes: Sequence[int], counts: Sequence[int]) -> str:
    """How many of each model's rows, or questions, are left out."""
    parts = zip(titles, sizes, counts, strict=True)
    return ", ".join(f"{count:,} of {size:,} of {title}" for title, size, count in parts)


def _of_one_weight(
    sources: Sequence[Source], rows: Sequence[Rows], column: str | None
) -> list[Rows]:
    """The rows that weigh something, where there are weights; `InputError` for a row whose weight differs by file."""
    if column is None:
        return list(rows)
    first = present(rows[0].weights)
    for source, row in zip(sources[1:], rows[1:], strict=True):
        weights = present(row.weights)
        differing = np.flatnonzero(weights != first)
        if len(differing):
            at = differing[0]
            raise InputError(
                f"the weight {first[at]:g} that {sources[0].name} has for the same row",
                got=f"{weights[at]:g}",
                file=source.name,
                row=int(present(row.places)[at]) + 1,
                column=column,
                remedy="give a row one weight in all files",
            )
    return [row.in_order(np.flatnonzero(first)) for row in rows]


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
    side = Paired(
        scores,
        clusters,
        weights=rows[0].weights,
        low=float(low),
        high=float(high),
        seed=options.seed,
    )
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


def _curve(family: str, sources: Sequence[Source], evaluations: Sequence[Evaluation]) -> str:
    """The family of curves that is compared; `InputError` where a file cannot have it."""
    for source, evaluation in zip(sources, evaluations, strict=True):
        if family not in evaluation.metrics:
            why = next((skip.why for skip in evaluation.skipped if skip.method == family), "none")
            raise InputError(
                f"answers of which {SHORT[family]}k can be told",
                got=why,
                file=source.name,
                remedy="compare who is right, without --metric, or another k",
            )
    return family


def _subject(
    sources: Sequence[Source], evaluations: Sequence[Evaluation], options: CompareJob
) -> str:
    """What is compared: who is right, or, where not every file says so, the mean of `score`."""
    if curves := options.curves():
        return _curve(curves[0][0], sources, evaluations)
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


def _rows_of(
    source: Source, row: Rows, at: Array, key: str, named: tuple[str | None, str | None]
) -> Source:
    """Rows of a source in memory, with the names that tell them apart and the columns of clusters and of weights."""
    assert row.places is not None
    assert row.ids is not None
    record, columns = source.read(source.fields).take(row.places[at]), {key: row.ids[at]}
    costs = amounts(source, cost_columns(source))
    columns |= {name: values[row.places[at]] for name, values in costs.items()}
    cluster, weight = named
    if weight is not None:
        columns[weight] = present(row.weights)[at]
    if cluster and cluster not in FIELDS:
        columns[cluster] = np.array(
            source.keys(cluster).take(arrow_of(row.places[at])).to_pylist(), dtype=object
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
    # rows of one id are a cluster
    repeated = key == KEY and any(len(set(bases)) < len(bases) for bases in split)
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
        ids = source.keys(key).take(arrow_of(row.places))
        if source.holds(EPOCH):
            epochs = source.keys(EPOCH).take(arrow_of(row.places)).to_pylist()
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
        inputs = np.array(source.keys("input").take(arrow_of(row.places)).to_pylist(), dtype=object)
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
    answers = [_by_question(at) for at in index]
    questions = _in_all(answers)
    times = np.array([[len(of[name]) for name in questions] for of in answers])
    if (times != times[0]).any():
        alike = math.lcm(*np.unique(times).tolist())
        each = alike if alike <= _MOST_REPEATS else int(times.max())
        return [np.concatenate([np.resize(of[name], each) for name in questions]) for of in answers]
    common = _in_all(index)
    if not common:
        raise _none_in_common(sources, index)
    return [np.array([at[name] for name in common]) for at in index]


def _in_all(mappings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys that all have, in the order of the first."""
    first, *others = mappings
    return [key for key in first if all(key in other for other in others)]


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


def _read_rows(
    source: Source, options: CompareJob, execution: Execution
) -> tuple[Evaluation, Rows]:
    """One pass over a file: its evaluation and its rows."""
    plan, skipped = plan_evaluation(
        source,
        options.evaluated(),
        NamedColumns(cluster=options.cluster, weight=options.weight),
        asked=bool(options.metrics),
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

    values, verdicts, truth, places, keys, named, groups, graded, weights = map(column, range(9))
    verdicts = verdicts if "accuracy" in evaluation.metrics else None
    ranks = None if order is None else file_state[order.state_key]
    keys = keys if plan.grouped else None
    return evaluation, Rows(
        ranks, values, verdicts, graded, truth, places, keys, named, groups, weights
    )


def row_key(key: str | None, sources: Sequence[Source]) -> str | None:
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


def _told_apart(key: str | None, sources: Sequence[Source]) -> tuple[str | None, list[str]]:
    """The column that tells rows apart in all files, as named, else as their cells prove; and what is said of it."""
    named = row_key(key, sources)
    proved = telling_column(sources) if named is None else None
    what = f"rows are matched by {proved}, of which every file has the same"
    return named or proved, [] if proved is None else [f"{what}; --key names another column"]


def ids_of(source: Source, key: str) -> Array | None:
    """The ids of a source in its column ``key``, repeats told apart; None where some are missing."""
    try:
        ids = source.keys(key)
    except InputError:
        return None
    return None if ids.null_count else np.array(named_repeats(ids.to_pylist()), dtype=object)
