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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from ...errors import InputError
from .base import Answers, LogOptions, Metric, NoMetric, choose_metric, described, json_rows, mapping, read_json

# samples_<task>_<date>T<time>.jsonl; 0.4.3 wrote .json
NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d{2}-\d{2}T[\d.:-]+))?\.jsonl?(?:\.gz)?")
_LOWER = {"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "ter", "brier_score"}
_NOT_METRICS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
    "target_hash",
}  # fmt: skip
_NOTHING = "bypass"  # the metric of a run with --predict_only
_TARGET = "target"  # what `--metric` may ask of written answers in any log: whether the answer is the target
_FOUND_NOTHING = "[invalid]"

_SHARED = re.compile(r"(passage|paragraph|context|article|story|document|conversation|dialog(ue)?)(_?(id|title|name))?")
_LONG = 40  # letters that are kept of a long one
_Gold = tuple[int, ...]  # positions of the right options; empty where the target cannot be read so


@dataclass
class _Rows:
    """What the rows of one filter hold; of options what tells how the target is to be read, no text."""

    numbers: list[int] = field(default_factory=list)  # of the rows in the file, from 1
    ids: list[str] = field(default_factory=list)
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
    hits: list[bool] = field(default_factory=list)  # whether the output is the target
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
        with_results = mapping(read_json(path))
        wanted = match["task"] if match else re.sub(r"(\.jsonl?)(\.gz)?$", "", name)

        def of_task(key: str) -> tuple[str, Any]:
            """The task's own name, and its entry in a part of the results, whose names may be indented or cleaned."""
            cleaned = {re.sub(r"\W", "_", task.strip(" -")): task for task in mapping(with_results.get(key))}
            # up to 0.4.2 the arguments of the model stand before the task
            names = [one for one in cleaned if re.sub(r"\W", "_", wanted).endswith(one if match is None else wanted)]
            exact = re.sub(r"\W", "_", wanted)
            name = exact if exact in cleaned else max(names, key=len, default="") if match is None else ""
            return (cleaned[name].strip(" -"), with_results[key][cleaned[name]]) if name else (wanted, None)

        task, figures = of_task("results")
        if figures is None:
            return None
        config, counts = mapping(of_task("configs")[1]), mapping(of_task("n-samples")[1])
        listed = config.get("metric_list")
        metrics = [mapping(entry) for entry in listed] if isinstance(listed, list) else []
        up = {str(entry.get("metric")): entry.get("higher_is_better") for entry in metrics}
        up |= mapping(of_task("higher_is_better")[1])
        filters = config.get("filter_list")
        names = [str(mapping(one).get("name")) for one in filters] if isinstance(filters, list) else []
        lower = frozenset(name for name, better in up.items() if better is False)
        asked, existing = counts.get("effective"), counts.get("original")
        model = _model(with_results)
        order = tuple(str(entry.get("metric")) for entry in metrics)
        return cls(path, task, model, order, lower, tuple(names), asked, existing, mapping(figures))

    def figure(self, metric: Metric, filter: str) -> Any:
        """What the results say of a metric; None where it is no mean."""
        return None if metric.is_pairs or metric.name in self.lower else self.figures.get(f"{metric.name},{filter}")


def _model(results: Mapping[str, Any]) -> str | None:
    """Who answered, of a results file."""
    config = mapping(results.get("config"))
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    named = [mapping(arguments).get(key) for key in ("peft", "delta", "pretrained", "model", "path", "engine")]
    return next((str(name) for name in (results.get("model_name"), *named, config.get("model")) if name), None)


def read_samples(file: str, options: LogOptions) -> Answers:
    """A samples file as columns of a record: multiple choice gives ``candidate_scores`` and, where the log tells the
    right option, ``label``; what a model wrote gives ``output``; both give ``correct`` or ``score`` by the metric.
    """
    by_filter: dict[str, _Rows] = {}
    seen: dict[tuple[Any, str], list[int]] = {}  # rows of each document under each filter
    kind: str | None = None
    for row, sample in json_rows(file):
        answers = _responses(sample, file, row)
        row_kind = _kind(answers, file, row)
        if kind is not None and row_kind != kind:
            remedy = "a samples file holds one task"
            raise InputError(f"{kind} in each row", got=row_kind, file=file, row=row, remedy=remedy)
        kind = row_kind
        filter = sample.get("filter")
        at = seen.setdefault((str(filter), str(sample.get("doc_id", row - 1))), [])
        at.append(row)  # releases up to 0.4.5 do not name the filter: they are counted by how often a document comes
        rows = by_filter.setdefault(str(filter or len(at)), _Rows())
        _keep(sample, answers, rows, file, row, options)
    if kind is None:
        raise InputError("at least one row", got="none", file=file, remedy="check what wrote the log")
    even = all(sorted(rows.ids) == sorted(by_filter["1"].ids) for rows in by_filter.values() if "1" in by_filter)
    twice = next((key for key, at in seen.items() if len(at) > 1 and not (even and key[0] == "None")), None)
    if twice is not None:
        expected = "each document once"
        got = f"doc_id {twice[1]} as in row {seen[twice][0]}"
        raise InputError(expected, got=got, file=file, row=seen[twice][1], remedy="keep the rows of one run")
    totals = Totals.beside(file)
    match = NAME.fullmatch(os.path.basename(file))
    task = totals.task if totals else match["task"] if match else os.path.basename(file).split(".")[0]
    return _answers(Answers(file, task, totals.model if totals else None), by_filter, totals, options)


def _answers(out: Answers, by_filter: Mapping[str, _Rows], totals: Totals | None, options: LogOptions) -> Answers:
    """The rows of the filter that was named, or of the first one, with their verdicts by the metric."""
    wanted, filter = options.choice(out.task), options.filter
    if wanted is not None and ":" in wanted and not any(wanted in rows.metrics for rows in by_filter.values()):
        wanted, _, filter = wanted.rpartition(":")
    if options.several and filter == options.filter and filter not in by_filter:
        filter = None  # of another task
    out.filter = _filter(by_filter, filter, totals.filters if totals else (), out.file)
    rows = by_filter[out.filter]
    out.ids = rows.ids
    out.shared = {name: own for name, own in rows.shared.items() if len(own) == len(rows.ids) > len({*own}) > 1}
    if options.keep_input:
        out.columns["input"] = list(rows.prompts)
    if rows.outputs and rows.outputs[0] is not None:
        out.columns["output"] = list(rows.outputs)
        empty = sum(output in ("", _FOUND_NOTHING) for output in rows.outputs)
        if empty:
            out.notes.append(f"{out.task}: {empty} of {len(rows.outputs)} answers are empty or could not be parsed")
    metrics = {name: Metric(name, values) for name, values in rows.metrics.items()}
    if totals:
        metrics = {name: metrics[name] for name in dict.fromkeys((*totals.order, *metrics)) if name in metrics}
    if options.several and options.table.get(out.task) is None and wanted not in metrics and wanted != _TARGET:
        wanted = None if wanted is None or wanted.partition(">=")[0].strip() not in metrics else wanted
    remedy = ""
    if rows.hits:
        remedy = f"`--metric {_TARGET}` counts an answer as right that is the target"
        if wanted == _TARGET and _TARGET not in metrics:
            metrics[_TARGET] = Metric(_TARGET, rows.hits)
    metric = None
    if metrics or wanted is not None or not rows.scores:
        metric = choose_metric(metrics, wanted, out.file, _LOWER | (totals.lower if totals else set()), remedy)
        out.take(metrics, metric, rows.numbers, wanted is not None)
    if len(by_filter) > 1 and filter is None:
        others = {
            name: Metric(name, other.metrics[metric.name])
            for name, other in by_filter.items()
            if metric is not None and metric.name in other.metrics and name != out.filter
        }
        option = f"`--metric {shlex.quote(f'{out.task}={out.metric}')}:{next(iter(others), 'FILTER')}`"
        unnamed = ", which this release of the harness did not name (here they are counted)" * ("1" in by_filter)
        first = f"{out.task}: the first of {len(by_filter)} filters is read, {out.filter}{unnamed}"
        out.notes.append(f"{first}; behind the others {out.metric} is {described(others)}: {option}")
    if rows.scores:
        _options(out, rows, metric)
    if metric is not None and totals is not None:
        source, named = os.path.basename(totals.file), wanted is not None
        reported = totals.figure(metric, out.filter) if metric.least is None else None
        out.check(source, metric.mean, reported, len(rows.ids), totals.asked, named)
        if isinstance(totals.existing, int) and totals.asked == len(rows.ids) < totals.existing:
            out.notes.append(f"{out.task}: the run was limited to {totals.asked} of {totals.existing} questions")
    out.metric += f",{out.filter}" if len(by_filter) > 1 else ""
    return out


def _filter(by_filter: Mapping[str, _Rows], wanted: str | None, order: Iterable[str], file: str) -> str:
    """The filter that was named, or the first of the task."""
    if wanted in by_filter:
        return str(wanted)
    if wanted is None or (len(by_filter) == 1 and wanted == "none"):
        return next((name for name in order if name in by_filter), next(iter(by_filter)))
    several = "; ".join(
        f"{name}: {described({key: Metric(key, values) for key, values in rows.metrics.items()})}"
        for name, rows in by_filter.items()
    )
    remedy = f"name one, {' or '.join(f'`--filter {shlex.quote(name)}`' for name in by_filter)}"
    raise InputError("a filter of this log", got=f"{wanted!r}; there are {several}", file=file, remedy=remedy)


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
        out.warnings.append(
            f"{out.task}: this release of the harness took options with and without the prompt for one another; "
            f"{metric} is its own verdict, by the log-likelihoods it would be {right:.4g}"
        )
    if golds is None and verdicts is not None and all(len(one) == 2 for one in scores):
        golds = [(_best(s) if right else 1 - _best(s),) for s, right in zip(scores, verdicts, strict=True)]
    if golds is None and metric is None:
        expected, remedy = "the right option, or a metric", "a log without both does not say what is right"
        got, row = rows.first_target, rows.numbers[0]
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
    if not isinstance(answers, list) or not answers or any(answer is None for answer in answers):
        expected = "the model's answers (filtered_resps or resps)"
        remedy = "the log may be cut off or of another kind: write it with --log_samples"
        raise InputError(expected, got="none" if not answers else repr(answers)[:40], file=file, row=row, remedy=remedy)
    return answers


def _is_scored(answer: Any) -> bool:
    """Whether an answer is a log-likelihood and whether the continuation was the greedy one."""
    return isinstance(answer, (list, tuple)) and len(answer) == 2 and str(answer[1]) in ("True", "False")


def _kind(answers: Sequence[Any], file: str, row: int) -> str:
    if all(map(_is_scored, answers)):
        return "log-likelihoods of several options" if len(answers) > 1 else "the log-likelihood of one text"
    if any(map(_is_scored, answers)) or len(answers) != 1:
        expected = "one answer that was written, or a log-likelihood for each option"
        got = repr(answers)[:60]
        raise InputError(expected, got=got, file=file, row=row, remedy="other tasks have no row that is right or wrong")
    return "an answer that was written"


def _keep(
    sample: Mapping[str, Any], answers: Sequence[Any], rows: _Rows, file: str, row: int, options: LogOptions
) -> None:
    """Add what is needed of one row."""
    arguments, target = sample.get("arguments"), sample.get("target")
    given = list(arguments.values()) if isinstance(arguments, dict) else arguments or []
    requests = [list(request.values()) if isinstance(request, dict) else list(request) for request in given]
    rows.numbers.append(row)
    rows.ids.append(str(sample.get("doc_id", row - 1)))
    for name, value in mapping(sample.get("doc")).items():
        if isinstance(value, (str, int)) and _SHARED.fullmatch(name):
            text = str(value)
            digest = blake2b(text.encode(), digest_size=6).hexdigest()
            rows.shared.setdefault(name, []).append(text if len(text) <= _LONG else f"{text[:_LONG]}... {digest}")
    if options.keep_input:
        prompts = dict.fromkeys(_text(request[0]) for request in requests if request and request[0])
        rows.prompts.append("\n".join(prompts))
    named = sample.get("metrics")
    names = named if isinstance(named, list) else [name for name in sample if name not in _NOT_METRICS]
    names = [name for name in names if name != _NOTHING]
    before = rows.metrics or dict.fromkeys(names)
    if set(names) != set(before):
        expected = f"the metrics {', '.join(before)}, as in the rows above"
        got = ", ".join(names) or "none"
        raise InputError(expected, got=got, file=file, row=row, remedy="a samples file holds one task")
    for name in names:
        rows.metrics.setdefault(name, []).append(sample.get(name))
    if len(answers) > 1:
        rows.scores.append([_log_likelihood(answer[0], file, row) for answer in answers])
        pairs = [(bool(request[0]), _text(request[1])) for request in requests if len(request) > 1]
        _keep_options(rows, pairs if len(pairs) == len(answers) else [], target)
    elif _is_scored(answers[0]) or any(len(request) == 1 for request in requests):  # the second: a text alone
        rows.outputs.append(None)
    else:
        rows.outputs.append(_written(answers[0]))
        output = (rows.outputs[-1] or "").strip().casefold()
        rows.hits.append(any(output == str(one).strip().casefold() for one in _targets(target)))


def _keep_options(rows: _Rows, pairs: Sequence[tuple[bool, str]], target: Any) -> None:
    """Add what the options of one row say about the target: (whether there is a prompt, option) of each request."""
    half, texts = len(pairs) // 2, [option.strip() for _, option in pairs]
    alone = not any(prompt for prompt, _ in pairs[half:]) and any(prompt for prompt, _ in pairs[:half])
    split = half if half > 1 and alone and texts[:half] == texts[half:] else 0
    count = split or len(rows.scores[-1])
    texts = texts[:count] if len(set(texts)) > 1 else []  # else it is the prompts that differ
    targets = _targets(target)
    positions = [_whole(one) for one in targets]
    words = [str(one).strip() for one in targets]
    letters = [one.strip("().").upper() for one in words]
    by_way = (
        [-1 if position is None else position for position in positions],
        [texts.index(word) if word in texts else -1 for word in words],
        [ord(letter) - ord("A") if len(letter) == 1 else -1 for letter in letters],
    )
    for golds, places in zip(rows.golds, by_way, strict=True):
        right = places and all(0 <= place < count for place in places)
        golds.append(tuple(sorted(set(places))) if right else ())
    rows.is_numbered &= None not in positions
    if rows.outside is None and not (rows.golds[0][-1] or rows.golds[1][-1]):
        rows.outside = (rows.numbers[-1], str(target), count)
    rows.first_target = rows.first_target or repr(target)[:40]
    rows.splits.append(split)
    if rows.options is None:
        rows.options, rows.in_prompts = tuple(texts), bool(pairs) and not texts
    elif rows.options != tuple(texts):
        rows.options = ()
    given = [option for _, option in pairs[:count]]
    blank = bool(given) and all(option[:1].isspace() for option in given)
    for name in _BY_LENGTH.intersection(rows.metrics):
        for own, cut in zip(rows.lengths.setdefault(name, ([], [])), (blank, False), strict=True):
            sizes = [len(option.encode() if name == "acc_bytes" else option) - cut for option in given]
            own.append(sizes if all(sizes) else [])


def _log_likelihood(value: Any, file: str, row: int) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not number < float("inf"):  # minus infinity is the logarithm of a probability of 0
        remedy = "find out why the model gave it, or remove the row"
        expected = "a log-likelihood"
        raise InputError(expected, got=repr(value)[:40], file=file, row=row, column="filtered_resps", remedy=remedy)
    return number


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _written(answer: Any) -> str:
    """What was judged, as text; several samples of one prompt as a JSON list."""
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    return _text(answer)


# Metrics that ask whether the best option is the right one; they differ in what makes an option the best.
_BY_SCORE = ("acc", "acc_norm", "acc_bytes", "acc_mutual_info")
_BY_LENGTH = {"acc_norm", "acc_bytes"}
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
    raise InputError(expected, got=got, file=file, row=rows.numbers[at], remedy=remedy)


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
        row = next(row for row, part in zip(rows.numbers, lacking, strict=True) if not part)
        remedy = "take the plain log-likelihoods: --metric acc"
        raise InputError(what, got="none in `arguments`", file=file, row=row, remedy=remedy)
    return ways


def _best(scores: Sequence[float]) -> int:
    """Position of the largest score, the first among ties, as the harness has it."""
    return scores.index(max(scores))


def _targets(target: Any) -> list[Any]:
    """One target or several: a list may come as its text, "[0, 2]"."""
    if isinstance(target, str) and target.startswith("[") and target.endswith("]"):
        try:
            target = ast.literal_eval(target)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [target]
    return list(target) if isinstance(target, list) else [target]


def _whole(target: Any) -> int | None:
    if isinstance(target, bool):
        return None
    try:
        return int(str(target))
    except ValueError:
        return None
