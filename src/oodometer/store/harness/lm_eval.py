"""lm-evaluation-harness: a ``samples_*.jsonl`` of one task, options that were scored or texts that were written."""

from __future__ import annotations

import ast
import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import InputError
from .base import Answers, LogOptions, Metric, choose_metric, described, json_rows

# samples_<task>_<date>T<time>.jsonl
_NAME = re.compile(r"samples_(?P<task>.+?)(_\d{4}-\d{2}-\d{2}T[\d.:-]+)?\.jsonl(\.gz)?")
_USUAL = ("acc", "acc_norm")  # of several metrics the one that the harness's own tables call accuracy
_NOT_METRICS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
    "target_hash",
}  # fmt: skip


@dataclass
class _Rows:
    """What the rows of one filter hold."""

    numbers: list[int] = field(default_factory=list)  # of the rows in the file, from 1
    ids: list[str] = field(default_factory=list)
    choices: list[_Choice] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)  # None where one continuation was scored
    prompts: list[str] = field(default_factory=list)
    metrics: dict[str, list[Any]] = field(default_factory=dict)


def read_samples(file: str, options: LogOptions) -> Answers:
    """A samples file as columns of a record: multiple choice gives ``candidate_scores`` and, where the log tells the
    right option, ``label``; what a model wrote gives ``output``; both give ``correct`` by the metric.
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
    name, rows = _of_filter(by_filter, options.filter, file)
    task = _NAME.fullmatch(Path(file).name)
    out = Answers(file, task["task"] if task else Path(file).name.split(".")[0], ids=rows.ids)
    if options.keep_input:
        out.columns["input"] = list(rows.prompts)
    metric = None
    if rows.metrics or options.metric is not None or not rows.choices:
        metric = choose_metric(rows.metrics, options.metric, file, _USUAL)
        out.columns["correct"] = metric.verdicts(rows.metrics, rows.numbers, file)
        out.metric = str(metric) + (f",{name}" if len(by_filter) > 1 else "")
        if options.metric is None and len(rows.metrics) > 1:
            others = described({name: values for name, values in rows.metrics.items() if name != metric.name})
            out.warnings.append(f"{file}: {metric} says what is right; the log also has {others}: --metric NAME")
    if rows.choices:
        # the target is a position, a text or a letter, and does not say which: each way is tried against the metric
        by_score = metric is not None and metric.least is None and metric.name in _BY_SCORE
        verdicts: Sequence[bool] | None = out.columns["correct"] if by_score else None
        scores, golds, picked = _fitting(rows.choices, metric if by_score else None, verdicts, out.file)
        out.columns["candidate_scores"] = [_finite(one) for one in scores]
        if any(math.isinf(one) for row in scores for one in row):
            out.warnings.append(f"{out.file}: options of log-likelihood -inf get a probability of 0")
        if picked is not None:
            out.columns["prediction"] = picked
            right = sum(_best(row) in gold for row, gold in zip(scores, golds or (), strict=True)) / len(scores)
            out.warnings.append(
                f"{out.file}: this release of the harness took options with and without the prompt for one another; "
                f"{metric} is its own verdict, by the log-likelihoods it would be {right:.4g}"
            )
        if golds is None and verdicts is not None and all(len(one) == 2 for one in scores):
            golds = [{_best(s) if right else 1 - _best(s)} for s, right in zip(scores, verdicts, strict=True)]
        if golds is None and metric is None:
            got, row = repr(rows.choices[0].target)[:40], rows.choices[0].row
            expected, remedy = "the right option, or a metric", "a log without both does not say what is right"
            raise InputError(expected, got=got, file=out.file, row=row, column="target", remedy=remedy)
        unchecked = metric is not None and not by_score  # the target may be one of several right options
        if golds is not None and not unchecked and all(len(one) == 1 for one in golds):
            out.columns["label"] = [next(iter(one)) for one in golds]
            out.label_decides = picked is None
    elif rows.outputs[0] is not None:
        out.columns["output"] = list(rows.outputs)
    return out


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
    arguments = sample.get("arguments")
    given = list(arguments.values()) if isinstance(arguments, dict) else arguments or []
    requests = [list(request.values()) if isinstance(request, dict) else list(request) for request in given]
    rows.numbers.append(row)
    rows.ids.append(str(sample.get("doc_id", row - 1)))
    if options.keep_input:
        prompts = dict.fromkeys(_text(request[0]) for request in requests if request and request[0])
        rows.prompts.append("\n".join(prompts))
    if len(answers) > 1:
        scores = [_log_likelihood(answer[0], file, row) for answer in answers]
        pairs = [(_text(request[0]), _text(request[1])) for request in requests if len(request) > 1]
        rows.choices.append(_Choice(row, scores, pairs if len(pairs) == len(scores) else [], sample.get("target")))
    else:
        rows.outputs.append(None if _is_scored(answers[0]) else _written(answers[0]))
    named = sample.get("metrics")
    names = named if isinstance(named, list) else [name for name in sample if name not in _NOT_METRICS]
    before = rows.metrics or dict.fromkeys(names)
    if set(names) != set(before):
        expected = f"the metrics {', '.join(before)}, as in the rows above"
        got = ", ".join(names) or "none"
        raise InputError(expected, got=got, file=file, row=row, remedy="a samples file holds one task")
    for name in names:
        rows.metrics.setdefault(name, []).append(sample.get(name))


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


def _of_filter(by_filter: Mapping[str, _Rows], wanted: str | None, file: str) -> tuple[str, _Rows]:
    if len(by_filter) == 1 and wanted in (None, "none", *by_filter):
        return next(iter(by_filter.items()))
    if wanted is not None and wanted in by_filter:
        return wanted, by_filter[wanted]
    several = "; ".join(f"{name}: {described(rows.metrics)}" for name, rows in by_filter.items())
    unnamed = ", which this release of the harness did not name (here they are counted)" if "1" in by_filter else ""
    remedy = " or ".join(f"`--filter {shlex.quote(name)}`" for name in by_filter)
    remedy = f"the answers went through {len(by_filter)} filters{unnamed}: name one, {remedy}"
    if wanted is None:
        raise InputError("one filter", got=several, file=file, remedy=remedy)
    raise InputError("a filter of this log", got=f"{wanted!r}; there are {several}", file=file, remedy=remedy)


# Metrics that ask whether the best option is the right one; they differ in what makes an option the best.
_BY_SCORE = ("acc", "acc_norm", "acc_bytes", "acc_mutual_info")
_FAR = 1000.0  # behind all others: exp(-1000) is 0


@dataclass(frozen=True)
class _Choice:
    """One question: its row in the file, a log-likelihood for each request, (prompt, option) of each, the target."""

    row: int
    scores: list[float]
    pairs: list[tuple[str, str]]
    target: Any

    @property
    def options(self) -> list[str]:
        """Texts of the options, none where they are all the same (then it is the prompts that differ)."""
        texts = [option.strip() for _, option in self.pairs]
        return texts if len(set(texts)) > 1 else []


def _finite(scores: Sequence[float]) -> list[float]:
    """Scores with infinite ones as finite ones, so far from the others that the probability is 0, or 1."""
    finite = [score for score in scores if math.isfinite(score)] or [0.0]
    return [min(max(score, min(finite) - _FAR), max(finite) + _FAR) for score in scores]


def _fitting(
    choices: Sequence[_Choice], metric: Metric | None, verdicts: Sequence[bool] | None, file: str
) -> tuple[list[list[float]], list[set[int]] | None, list[int] | None]:
    """Scores, and the right options of each row, that give the verdicts; no right options where none can be read."""
    ways = _scores(choices, "acc" if metric is None else metric.name, file)
    count = [len(row) for row in ways[0]]
    readings = []
    for way in (_by_position, _by_text, _by_letter):
        read = [way(choice, k) for choice, k in zip(choices, count, strict=True)]
        if all(read):
            readings.append([gold for gold in read if gold])
    if not readings:
        _refuse_outside(choices, count, file)
        return ways[0], None, None
    if verdicts is None or metric is None:
        return ways[0], readings[0] if all(reading == readings[0] for reading in readings) else None, None
    wrong: tuple[int, set[int], int] | None = None
    picks = [(scores, [_best(row) for row in scores], False) for scores in ways]
    if all(map(_split, choices)):
        # how earlier releases picked an option, where each was asked about with and without the prompt
        halves = [(_finite(choice.scores[::2]), _finite(choice.scores[1::2])) for choice in choices]
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
    got = f"{metric.name} {int(verdicts[at])}, the best option {top}, the target {', '.join(map(str, sorted(gold)))}"
    remedy = "this task defines the metric in its own way; to take its verdicts as they are, "
    remedy += f"`--metric '{metric.name}>=1'`"
    raise InputError(expected, got=got, file=file, row=choices[at].row, remedy=remedy)


def _scores(choices: Sequence[_Choice], metric: str, file: str) -> list[list[list[float]]]:
    """Scores by which the metric picks the best option; two ways where the log does not say how long an option is."""
    split = [_split(choice) for choice in choices]
    if metric == "acc_mutual_info":
        if not all(split):
            _refuse_lengths(choices[split.index(0)], file, "pairs with and without the prompt")
        of_options = zip(choices, split, strict=True)
        halves = [(_finite(choice.scores[:k]), _finite(choice.scores[k:])) for choice, k in of_options]
        return [[[a - b for a, b in zip(*both, strict=True)] for both in halves]]
    plain = [choice.scores[: k or None] for choice, k in zip(choices, split, strict=True)]
    if metric not in ("acc_norm", "acc_bytes"):
        return [plain]
    ways = []
    for stripped in (True, False):  # the blank before an option is not counted, where the harness put it there
        pairs = zip(choices, plain, strict=True)
        lengths = [_lengths(choice, len(s), stripped, metric == "acc_bytes") for choice, s in pairs]
        if all(lengths):
            ways.append([[s / n for s, n in zip(*row, strict=True)] for row in zip(plain, lengths, strict=True)])
        elif not stripped and not ways:
            _refuse_lengths(choices[lengths.index([])], file, "the text of each option")
    return ways


def _split(choice: _Choice) -> int:
    """Number of options where the second half asks about them without a prompt, else 0."""
    half = len(choice.pairs) // 2
    first, second = choice.pairs[:half], choice.pairs[half:]
    alone = all(not prompt for prompt, _ in second) and any(prompt for prompt, _ in first)
    same = [option.strip() for _, option in first] == [option.strip() for _, option in second]
    return half if half > 1 and alone and same else 0


def _lengths(choice: _Choice, count: int, stripped: bool, in_bytes: bool) -> list[int]:
    texts = [option for _, option in choice.pairs[:count]]
    if stripped and all(text[:1].isspace() for text in texts):
        texts = [text[1:] for text in texts]
    lengths = [len(text.encode()) if in_bytes else len(text) for text in texts]
    return lengths if all(lengths) else []


def _refuse_lengths(choice: _Choice, file: str, what: str) -> None:
    remedy = "take the plain log-likelihoods: --metric acc"
    raise InputError(what, got="none in `arguments`", file=file, row=choice.row, remedy=remedy)


def _best(scores: Sequence[float]) -> int:
    """Position of the largest score, the first among ties, as the harness has it."""
    return max(range(len(scores)), key=scores.__getitem__)


def _targets(target: Any) -> list[Any]:
    """One target or several: a list may come as its text, "[0, 2]"."""
    if isinstance(target, str) and target.startswith("[") and target.endswith("]"):
        try:
            target = ast.literal_eval(target)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [target]
    return list(target) if isinstance(target, list) else [target]


def _by_position(choice: _Choice, count: int) -> set[int] | None:
    positions = [_whole(target) for target in _targets(choice.target)]
    return {i for i in positions if i is not None} if all(i is not None and 0 <= i < count for i in positions) else None


def _whole(target: Any) -> int | None:
    if isinstance(target, bool):
        return None
    try:
        return int(str(target))
    except ValueError:
        return None


def _by_text(choice: _Choice, count: int) -> set[int] | None:
    options = choice.options[:count]
    wanted = [str(target).strip() for target in _targets(choice.target)]
    places = [options.index(target) for target in wanted if target in options]
    return set(places) if wanted and len(places) == len(wanted) else None


def _by_letter(choice: _Choice, count: int) -> set[int] | None:
    wanted = [str(target).strip().strip("().").upper() for target in _targets(choice.target)]
    positions = [ord(target) - ord("A") if len(target) == 1 else -1 for target in wanted]
    return set(positions) if positions and all(0 <= i < count for i in positions) else None


def _refuse_outside(choices: Sequence[_Choice], count: Sequence[int], file: str) -> None:
    """Say where a position is outside, if targets are positions and options differ by their text."""
    in_prompts = bool(choices[0].pairs) and not choices[0].options
    if in_prompts or any(_whole(t) is None for choice in choices for t in _targets(choice.target)):
        return
    for choice, k in zip(choices, count, strict=True):
        if _by_position(choice, k) is None and _by_text(choice, k) is None:
            expected = f"a position below {k}, the number of options"
            remedy = "the harness counts such a row as wrong whatever the model says: remove it"
            got = str(choice.target)
            raise InputError(expected, got=got, file=file, row=choice.row, column="target", remedy=remedy)
