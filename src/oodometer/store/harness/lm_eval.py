"""lm-evaluation-harness: a samples file of one task, options that were scored or texts that were written, held against
the results file beside it.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from ...errors import InputError
from .base import TARGET, Answers, LogOptions, Metric, NoMetric, choose_metric, described, json_rows, mapping, read_json

# samples_<task>_<date>T<time>.jsonl; 0.4.3 wrote .json
NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d{2}-\d{2}T[\d.:-]+))?\.jsonl?(?:\.gz)?")
_LOWER = {"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "ter", "brier_score"}
_NOT_METRICS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
    "target_hash",
}  # fmt: skip
_NOTHING = "bypass"  # the metric of a run with --predict_only
_FOUND_NOTHING = "[invalid]"

_SHARED = re.compile(r"(passage|paragraph|context|article|story|document|conversation|dialog(ue)?)(_?(id|title|name))?")
_LONG = 40  # letters that are kept of a long one
_Gold = tuple[int, ...]  # positions of the right options; empty where the target cannot be read so


@dataclass
class _Rows:
    """What the rows of one filter hold; of options what tells how the target is to be read, no text."""

    places: dict[str, int] = field(default_factory=dict)  # id of each document -> its row in the file, from 1
    scores: list[list[float]] = field(default_factory=list)
    splits: list[int] = field(default_factory=list)  # options, where the second half asks without the prompt, else 0
    golds: tuple[list[_Gold], ...] = field(default_factory=lambda: ([], [], []))  # by position, text and letter
    lengths: dict[str, tuple[list[list[int]], list[list[int]]]] = field(default_factory=dict)  # without a first blank
    first_target: str = ""
    options: tuple[str, ...] | None = None  # those of every row, empty where rows differ
    in_prompts: bool = False  # whether it is the prompts of the first row that differ, not its options
    outside: tuple[int, str, int] | None = None  # the first row whose target is a position behind the options
    is_numbered: bool = True  # whether all targets may be positions
    outputs: list[str | None] = field(default_factory=list)  # None where one continuation was scored
    repeats: list[str] = field(default_factory=list)  # JSON of further answers to the same question
    hits: list[bool] = field(default_factory=list)  # whether the output is the target
    names: list[str] | None = None  # of the metrics, as the row before has them
    prompts: list[str] = field(default_factory=list)
    metrics: dict[str, list[Any]] = field(default_factory=dict)
    shared: dict[str, list[str]] = field(default_factory=dict)  # of the documents, as `_SHARED` names it


@dataclass(frozen=True)
class Totals:
    """What a results file says of one task: who answered, its metrics in their order, those of which less is better,
    its filters, how many questions were asked and how many there are, and its figures by ``metric,filter``.
    """

    file: str
    task: str
    model: str | None
    order: tuple[str, ...]
    lower: frozenset[str]
    filters: tuple[str, ...]
    asked: Any
    existing: Any
    figures: Mapping[str, Any]

    @classmethod
    def beside(cls, file: str) -> Totals | None:
        """Those of the run that wrote a samples file; none where its results file is not beside it."""
        folder, name = os.path.split(file)
        match = NAME.fullmatch(name)
        date = match["date"] if match else None
        path = os.path.join(folder, f"results_{date}.json" if date else "results.json")
        if not os.path.isfile(path):
            return None
        whole = mapping(read_json(path))
        stem = re.sub(r"\W", "_", match["task"] if match else re.sub(r"(\.jsonl?)(\.gz)?$", "", name))
        names = {re.sub(r"\W", "_", key.strip(" -")): key for key in mapping(whole.get("results"))}
        if match is None:  # up to 0.4.2 the arguments of the model stand before the task
            stem = max((name for name in names if stem.endswith(name)), key=len, default=stem)
        if stem not in names:
            return None
        task = names[stem].strip(" -")
        parts = ("configs", "n-samples", "higher_is_better")
        config, counts, better = (mapping(mapping(whole.get(part)).get(task)) for part in parts)
        lists = [config.get(part) for part in ("metric_list", "filter_list")]
        metrics, filters = ([mapping(entry) for entry in own] if isinstance(own, list) else [] for own in lists)
        up = {str(entry.get("metric")): entry.get("higher_is_better") for entry in metrics} | dict(better)
        run = mapping(whole.get("config"))
        arguments = run.get("model_args")
        if isinstance(arguments, str):
            arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
        given = [mapping(arguments).get(key) for key in ("peft", "delta", "pretrained", "model", "path", "engine")]
        model = next((str(name) for name in (whole.get("model_name"), *given, run.get("model")) if name), None)
        order, own = (tuple(str(e.get(n)) for e in some) for n, some in (("metric", metrics), ("name", filters)))
        lower = frozenset(name for name, more in up.items() if more is False)
        asked, existing = counts.get("effective"), counts.get("original")
        figures = mapping(mapping(whole["results"])[names[stem]])
        return cls(path, task, model, order, lower, own, asked, existing, figures)

    def figure(self, metric: Metric, filter: str) -> Any:
        """What the results say of a metric; None where it is no mean."""
        return None if metric.is_pairs or metric.name in self.lower else self.figures.get(f"{metric.name},{filter}")


def read_samples(file: str, options: LogOptions) -> Answers:
    """A samples file as columns of a record: multiple choice gives ``candidate_scores`` and, where the log tells the
    right option, ``label``; what a model wrote gives ``output``; both give ``correct`` or ``score`` by the metric.
    """
    by_filter, times = dict[str, _Rows](), Counter[str]()
    kind: str | None = None
    totals = Totals.beside(file)
    asked = " ".join(options.table.values()) + " ".join(totals.order[:1] if totals else ())
    for row, sample in json_rows(file):
        answers = _responses(sample, file, row)
        row_kind = _kind(answers, file, row)
        if kind is not None and row_kind != kind:
            remedy = "a samples file holds one task"
            raise InputError(f"{kind} in each row", got=row_kind, file=file, row=row, remedy=remedy)
        kind = row_kind
        filter, name = sample.get("filter"), str(sample.get("doc_id", row - 1))
        if not filter:  # releases up to 0.4.5 do not name it: filters are counted by how often a document comes
            times[name] += 1
        which = str(filter or times[name])
        rows = by_filter.get(which)
        if rows is None:
            needed = [name for name in _BY_LENGTH if name in asked or "acc" not in sample]
            rows = by_filter[which] = _Rows(lengths={name: ([], []) for name in needed})
        if rows.places.setdefault(name, row) != row:
            _refuse_twice(name, rows.places[name], row, file)
        _keep(sample, answers, rows, (row, kind == _WRITTEN), file, options)
    if kind is None:
        raise InputError("at least one row", got="none", file=file, remedy="check what wrote the log")
    counted = [by_filter[str(n)].places for n in range(1, max(times.values(), default=0) + 1)]
    if any(places.keys() != counted[0].keys() for places in counted):  # some documents again, not all
        name, row = next(iter(counted[1].items()))
        _refuse_twice(name, counted[0][name], row, file)
    match = NAME.fullmatch(os.path.basename(file))
    task = totals.task if totals else match["task"] if match else os.path.basename(file).split(".")[0]
    return _answers(Answers(file, task, totals.model if totals else None), by_filter, totals, options)


def _refuse_twice(name: str, first: int, row: int, file: str) -> None:
    got = f"doc_id {name} as in row {first}"
    raise InputError("each document once", got=got, file=file, row=row, remedy="keep the rows of one run")


def _answers(out: Answers, by_filter: Mapping[str, _Rows], totals: Totals | None, options: LogOptions) -> Answers:
    """The rows of the filter that was named, or of the first one, with their verdicts by the metric."""
    wanted, filter = options.choice(out.task, {name for rows in by_filter.values() for name in rows.metrics})
    if options.several and filter == options.filter and filter not in by_filter:
        filter = None  # of another task
    out.filter = _filter(by_filter, filter, totals.filters if totals else (), out.file)
    rows = by_filter[out.filter]
    out.ids = list(rows.places)
    out.shared = {name: own for name, own in rows.shared.items() if len(own) == len(out.ids) > len({*own}) > 1}
    if options.keep_input:
        out.columns["input"] = list(rows.prompts)
    remark = ""
    if rows.outputs and rows.outputs[0] is not None:
        out.columns["output"] = list(rows.outputs)
        if len(rows.repeats) == len(rows.outputs):  # by which it is seen how sure the model was
            out.columns["samples"] = list(rows.repeats)
        empty = sum(output in ("", _FOUND_NOTHING) for output in rows.outputs)
        remark = f"{empty} of {len(rows.outputs)} answers are empty or could not be parsed" if empty else ""
    metrics = {name: Metric(name, values) for name, values in rows.metrics.items()}
    if totals:
        metrics = {name: metrics[name] for name in dict.fromkeys((*totals.order, *metrics)) if name in metrics}
    remedy = f"`--metric {TARGET}` counts an answer as right that is the target" if rows.hits else ""
    if rows.hits and wanted == TARGET:
        metrics.setdefault(TARGET, Metric(TARGET, rows.hits))
    metric = None
    if metrics or wanted is not None or not rows.scores:
        metric = choose_metric(metrics, wanted, out.file, _LOWER | (totals.lower if totals else set()), remedy)
        out.take(metrics, metric, list(rows.places.values()), wanted is not None)
    if len(by_filter) > 1 and filter is None:
        unnamed = " (this release does not name them: they are counted)" * ("1" in by_filter)
        first = f"read by the filter {out.filter}, the first of {len(by_filter)}{unnamed}"
        remark = f"{first}; {remark}" if remark else first
        for name, other in by_filter.items():
            if name != out.filter and metric is not None and metric.name in other.metrics:
                mean = Metric(metric.name, other.metrics[metric.name]).mean
                option = shlex.quote(f"{out.task}={metric.name}:{name}")
                remark += f"; {metric.name} by {name} is {mean:.4g}: `--metric {option}`"
    out.warnings += [f"{out.task}: {remark}"] if remark else []
    if rows.scores:
        _options(out, rows, metric)
    if metric is not None and totals is not None:
        source, named = os.path.basename(totals.file), wanted is not None
        fewest = min(len(own.places) for own in by_filter.values())
        reported = totals.figure(metric, out.filter) if metric.least is None else None
        out.check(source, metric.mean, reported, fewest, totals.asked, named)
        if isinstance(totals.existing, int) and totals.asked == len(rows.places) < totals.existing:
            out.warnings.append(f"{out.task}: the run was limited to {totals.asked} of {totals.existing} questions")
    out.metric += f",{out.filter}" if len(by_filter) > 1 else ""
    return out


def _filter(by_filter: Mapping[str, _Rows], wanted: str | None, order: Iterable[str], file: str) -> str:
    """The filter that was named, or the first of the task."""
    if wanted in by_filter:
        return str(wanted)
    if wanted is None or (len(by_filter) == 1 and wanted == "none"):
        return next((name for name in order if name in by_filter), next(iter(by_filter)))
    metrics = {filter: {n: Metric(n, v) for n, v in rows.metrics.items()} for filter, rows in by_filter.items()}
    got = f"{wanted!r}; there are {'; '.join(f'{filter}: {described(own)}' for filter, own in metrics.items())}"
    remedy = f"name one, {' or '.join(f'`--filter {shlex.quote(name)}`' for name in by_filter)}"
    raise InputError("a filter of this log", got=got, file=file, remedy=remedy)


def _options(out: Answers, rows: _Rows, metric: Metric | None) -> None:
    """Scores of options, the right one where the log tells it, and the options as classes where all rows have them."""
    # the target is a position, a text or a letter, and does not say which: each way is tried against the metric
    by_score = metric is not None and metric.least is None and (metric.name in _BY_SCORE or metric.is_pairs)
    verdicts: Sequence[bool] | None = out.columns.get("correct") if by_score else None
    scores, golds, picked = _fitting(rows, metric if verdicts else None, verdicts, out.file)
    out.columns["candidate_scores"] = [_finite(one) for one in scores]
    if any(math.isinf(one) for row in scores for one in row):
        out.notes.append(f"{out.task}: options of log-likelihood -inf get a probability of 0")
    if picked is not None and metric is not None:
        out.columns["prediction"] = picked
        right = sum(_best(row) in gold for row, gold in zip(scores, golds or (), strict=True)) / len(scores)
        text = f"{out.task}: this release of the harness took options with and without the prompt for one another; "
        out.warnings.append(f"{text}{metric} is its own verdict, by the log-likelihoods it would be {right:.4g}")
    if golds is None and verdicts is not None and all(len(one) == 2 for one in scores):
        golds = [(_best(s) if right else 1 - _best(s),) for s, right in zip(scores, verdicts, strict=True)]
    if golds is None and metric is None:
        expected, remedy = "the right option, or a metric", "a log without both does not say what is right"
        got, row = rows.first_target, next(iter(rows.places.values()))
        raise NoMetric(expected, got=got, file=out.file, row=row, column="target", remedy=remedy)
    unchecked = metric is not None and verdicts is None  # the target may be one of several right options
    if golds is not None and not unchecked and all(len(one) == 1 for one in golds):
        out.columns["label"] = [one[0] for one in golds]
        out.label_decides = picked is None
        own = rows.options or ()
        lettered = all(option.strip("().").upper() == chr(ord("A") + i) for i, option in enumerate(own))
        # a handful of rows does not show that the options are classes; letters name options, which differ
        if own and not lettered and len(set(own)) == len(own) == len(scores[0]) and len(scores) >= 5 * len(own):
            out.classes = own


def _responses(sample: Mapping[str, Any], file: str, row: int) -> list[Any]:
    """The model's answer to each request of a row: the filtered ones, else the first of the raw ones."""
    answers = sample.get("filtered_resps")
    if answers is None:
        answers = sample.get("resps")
        if isinstance(answers, list):
            answers = [answer[0] if isinstance(answer, list) and answer else None for answer in answers]
    if answers == [None] and sample.get("filtered_resps"):  # the filter found no answer in the text: it is an empty one
        return [""]
    if not isinstance(answers, list) or not answers or None in answers:
        expected = "the model's answers (filtered_resps or resps)"
        remedy = "the log may be cut off or of another kind: write it with --log_samples"
        raise InputError(expected, got="none" if not answers else repr(answers)[:40], file=file, row=row, remedy=remedy)
    return answers


def _kind(answers: Sequence[Any], file: str, row: int) -> str:
    """What the answers of a row are: a log-likelihood is a pair with whether the text was the greedy one."""
    scored = sum([isinstance(one, list) and len(one) == 2 and one[1] in _GREEDY for one in answers])
    if len(answers) == 1 and not (scored and _number(answers[0][0]) < math.inf):
        return _WRITTEN
    if scored == len(answers):
        return "log-likelihoods of several options" if len(answers) > 1 else "the log-likelihood of one text"
    expected, remedy = "one answer that was written, or a log-likelihood for each option", "read the other tasks alone"
    raise NoMetric(expected, got=repr(answers)[:60], file=file, row=row, remedy=remedy)


_GREEDY, _WRITTEN = ("False", "True", False, True), "an answer that was written"


@lru_cache(1024)
def _is_shared(name: str) -> bool:
    return _SHARED.fullmatch(name) is not None


def _keep(
    sample: Mapping[str, Any], answers: Sequence[Any], rows: _Rows, at: tuple[int, bool], file: str, options: LogOptions
) -> None:
    """Add what is needed of one row; ``at`` is its number, and whether its answer was written."""
    row, is_written = at
    arguments, target, doc = sample.get("arguments"), sample.get("target"), sample.get("doc")
    given = list(arguments.values()) if isinstance(arguments, dict) else arguments or []
    requests = [list(request.values()) if isinstance(request, dict) else list(request) for request in given]
    for name, value in doc.items() if isinstance(doc, dict) else ():
        if _is_shared(name) and isinstance(value, (str, int)):
            text = str(value)
            digest = blake2b(text.encode(), digest_size=6).hexdigest()
            rows.shared.setdefault(name, []).append(text if len(text) <= _LONG else f"{text[:_LONG]}... {digest}")
    if options.keep_input:
        prompts = dict.fromkeys(_text(request[0]) for request in requests if request and request[0])
        rows.prompts.append("\n".join(prompts))
    names = sample.get("metrics")
    names = names if isinstance(names, list) else [name for name in sample if name not in _NOT_METRICS]
    if rows.names != names:
        before = rows.metrics if rows.names is not None else dict.fromkeys(names)
        if {*names} - {_NOTHING} != {*before} - {_NOTHING}:
            expected = f"the metrics {', '.join(before)}, as in the rows above"
            got, remedy = ", ".join(names) or "none", "a samples file holds one task"
            raise InputError(expected, got=got, file=file, row=row, remedy=remedy)
        rows.metrics = rows.metrics or {name: [] for name in names if name != _NOTHING}
        rows.names = names
    for name, values in rows.metrics.items():
        values.append(sample.get(name))
    if len(answers) > 1:
        scores = [_number(answer[0]) for answer in answers]
        if not sum(scores) < math.inf:  # minus infinity is the logarithm of a probability of 0
            got = repr(next(answer[0] for answer, score in zip(answers, scores, strict=True) if not score < math.inf))
            expected, remedy = "a log-likelihood", "find out why the model gave it, or remove the row"
            raise InputError(expected, got=got[:40], file=file, row=row, column="filtered_resps", remedy=remedy)
        rows.scores.append(scores)
        pairs = [(request[0], _text(request[1])) for request in requests if len(request) > 1]
        _keep_options(rows, pairs if len(pairs) == len(answers) else [], target, row)
    elif not is_written or any(len(request) == 1 for request in requests):  # the second: a text alone
        rows.outputs.append(None)
    else:
        rows.outputs.append(_written(answers[0]))
        raw = sample.get("resps")
        raw = list(raw[0]) if isinstance(raw, list) and len(raw) == 1 and isinstance(raw[0], list) else []
        if len(raw) > 1 and rows.outputs[-1] in raw:
            raw.remove(rows.outputs[-1])
            rows.repeats.append(json.dumps(raw, ensure_ascii=False))
        output = (rows.outputs[-1] or "").strip().casefold()
        rows.hits.append(any(output == str(one).strip().casefold() for one in _targets(target)))


def _keep_options(rows: _Rows, pairs: Sequence[tuple[Any, str]], target: Any, row: int) -> None:
    """Add what the options of one row say about the target: (prompt, option) of each request."""
    half, texts = len(pairs) // 2, [option.strip() for _, option in pairs]
    split = 0
    if half > 1 and not pairs[half][0] and texts[:half] == texts[half:]:
        split = half * (not any(prompt for prompt, _ in pairs[half:]) and any(prompt for prompt, _ in pairs[:half]))
    count = split or len(rows.scores[-1])
    if texts and texts.count(texts[0]) == len(texts):  # it is the prompts that differ
        texts = []
    texts = texts[:count]
    by_position, by_text, by_letter = rows.golds
    targets = _targets(target)
    places = [_whole(one) for one in targets]
    words = [one.strip() if isinstance(one, str) else str(one) for one in targets]
    by_position.append(_gold(places, count))
    by_text.append(_gold([texts.index(word) if word in texts else None for word in words], count))
    letters = [] if None not in places else [word.strip("().").upper() for word in words]
    by_letter.append(_gold([ord(one) - ord("A") if len(one) == 1 else None for one in letters], count))
    rows.is_numbered &= None not in places
    if rows.outside is None and not (by_position[-1] or by_text[-1]):
        rows.outside = (row, str(target), count)
    rows.first_target = rows.first_target or repr(target)[:40]
    rows.splits.append(split)
    if rows.options is None:
        rows.options, rows.in_prompts = tuple(texts), bool(pairs) and not texts
    elif rows.options and rows.options != tuple(texts):
        rows.options = ()
    for name, (stripped, whole) in rows.lengths.items():
        given = [option for _, option in pairs[:count]]
        blank = bool(given) and all(option[:1].isspace() for option in given)
        sizes = [len(option.encode() if name == "acc_bytes" else option) for option in given]
        whole.append(sizes if all(sizes) else [])
        sizes = [size - blank for size in sizes]
        stripped.append(sizes if all(sizes) else [])


def _gold(places: Sequence[int | None], count: int) -> _Gold:
    """Positions of the right options, in order; none where one of them is no option."""
    right = [place for place in places if place is not None and 0 <= place < count]
    return tuple(sorted({*right})) if len(right) == len(places) else ()


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _written(answer: Any) -> str:
    """What was judged, as text; several samples of one prompt as a JSON list."""
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    return _text(answer)


# Metrics that ask whether the best option is the right one; they differ in what makes an option the best.
_BY_SCORE = ("acc", "acc_norm", "acc_bytes", "acc_mutual_info")
_BY_LENGTH = ("acc_norm", "acc_bytes")
_FAR = 1000.0  # behind all others: exp(-1000) is 0


def _finite(scores: Sequence[float]) -> Sequence[float]:
    """Scores with infinite ones as finite ones, so far from the others that the probability is 0, or 1."""
    if all(map(math.isfinite, scores)):
        return scores
    finite = [score for score in scores if math.isfinite(score)] or [0.0]
    return [min(max(score, min(finite) - _FAR), max(finite) + _FAR) for score in scores]


def _fitting(
    rows: _Rows, metric: Metric | None, verdicts: Sequence[bool] | None, file: str
) -> tuple[Sequence[Sequence[float]], list[_Gold] | None, list[int] | None]:
    """Scores, and the right options of each row, that give the verdicts; no right options where none can be read."""
    ways = _scores(rows, "acc" if metric is None or metric.is_pairs else metric.name, file)
    readings = [golds for golds in rows.golds if all(golds)]
    if not readings:
        if not rows.in_prompts and rows.is_numbered and rows.outside is not None:
            row, got, count = rows.outside
            expected = f"a position below {count}, the number of options"
            remedy = "the harness counts such a row as wrong whatever the model says: remove it"
            raise InputError(expected, got=got, file=file, row=row, column="target", remedy=remedy)
        return ways[0], None, None
    if verdicts is None or metric is None:
        return ways[0], readings[0] if all(reading == readings[0] for reading in readings) else None, None
    wrong: tuple[int, _Gold, int] | None = None
    picks = [(scores, [_best(row) for row in scores], False) for scores in ways]
    if all(rows.splits):
        # how earlier releases picked an option, where each was asked about with and without the prompt
        halves = [(_finite(scores[::2]), _finite(scores[1::2])) for scores in rows.scores]
        mixed_up = [[a - b * (metric.name != "acc") for a, b in zip(*both, strict=True)] for both in halves]
        picks.append((ways[0], [*map(_best, mixed_up)], True))
    for scores, best, mixed in picks:
        for golds in readings:
            agrees = [(b in g) == v for b, g, v in zip(best, golds, verdicts, strict=True)]
            if all(agrees):
                others = [reading for reading in readings if reading != golds]  # "2" may be named or counted
                fits = (all((b in g) == v for b, g, v in zip(best, own, verdicts, strict=True)) for own in others)
                return scores, golds if mixed or not any(fits) else None, best if mixed else None
            at = agrees.index(False)
            wrong = wrong or (at, golds[at], best[at])
    assert wrong is not None
    at, gold, top = wrong
    expected = f"{metric.name} to say whether the best option is the target"
    got = f"{metric.name} {int(verdicts[at])}, the best option {top}, the target {', '.join(map(str, gold))}"
    remedy = "this task defines the metric in its own way; to take its verdicts as they are, "
    remedy += f"`--metric '{metric.name}>=1'`"
    raise InputError(expected, got=got, file=file, row=list(rows.places.values())[at], remedy=remedy)


def _scores(rows: _Rows, metric: str, file: str) -> list[Sequence[Sequence[float]]]:
    """Scores by which the metric picks the best option; two ways where the log does not say how long an option is."""
    what, ways = "pairs with and without the prompt", list[Sequence[Sequence[float]]]()
    if metric == "acc_mutual_info" and all(rows.splits):
        halves = [(_finite(row[:k]), _finite(row[k:])) for row, k in zip(rows.scores, rows.splits, strict=True)]
        return [[[a - b for a, b in zip(*both, strict=True)] for both in halves]]
    plain = [row[:k] if k else row for row, k in zip(rows.scores, rows.splits, strict=True)]
    if metric not in _BY_SCORE[1:]:
        return [plain]
    lengths = rows.lengths.get(metric, ())
    for sizes in lengths:  # the blank before an option is not counted, where the harness put it there
        if all(sizes):
            ways.append([[s / n for s, n in zip(*row, strict=True)] for row in zip(plain, sizes, strict=True)])
    if not ways:
        lacking, what = (lengths[1], "the text of each option") if lengths else (rows.splits, what)
        row = next(row for row, part in zip(rows.places.values(), lacking, strict=True) if not part)
        remedy = "take the plain log-likelihoods: --metric acc"
        raise InputError(what, got="none in `arguments`", file=file, row=row, remedy=remedy)
    return ways


def _best(scores: Sequence[float]) -> int:
    """Position of the largest score, the first among ties, as the harness has it."""
    return scores.index(max(scores))


def _targets(target: Any) -> list[Any]:
    """One target or several: a list may come as its text, "[0, 2]"."""
    if isinstance(target, str) and target.startswith("[") and target.endswith("]"):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            target = ast.literal_eval(target)
    return list(target) if isinstance(target, list) else [target]


def _whole(target: Any) -> int | None:
    """A whole number, also as text."""
    text = "" if isinstance(target, bool) else str(target).strip()
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else None
