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
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from ...arrays import Ragged
from ...errors import InputError
from ...fields import top_candidates
from .base import (
    TARGET,
    Answers,
    LogOptions,
    Metric,
    NoMetric,
    choose_metric,
    described,
    json_rows,
    mapping,
    read_json,
)

# samples_<task>_<date>T<time>.jsonl; 0.4.3 wrote .json
NAME = re.compile(
    r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d{2}-\d{2}T[\d.:-]+))?\.jsonl?(?:\.gz)?"
)
_LOWER = {"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "ter", "brier_score"}
_NOT_METRICS = {
    "doc_id",
    "doc",
    "target",
    "arguments",
    "resps",
    "filtered_resps",
    "filter",
    "metrics",
    "doc_hash",
    "prompt_hash",
    "target_hash",
}
_NOTHING = "bypass"  # the metric of a run with --predict_only
_FOUND_NOTHING = "[invalid]"

_SHARED = r"(passage|paragraph|context|article|story|document|conversation|dialog(ue)?)(_?(id|title|name))?"
_is_shared = lru_cache(1024)(re.compile(_SHARED).fullmatch)
_LONG = 40  # letters that are kept of a long one
_Gold = tuple[int, ...]  # positions of the right options; empty where the target cannot be read so
_Target = tuple[
    _Gold, _Gold, list[str], bool
]  # the right options by position and letter, its words, if it may count


@dataclass
class _Rows:
    """What the rows of one filter hold; of options what tells how the target is to be read, no text."""

    first_target: str
    places: dict[str, int] = field(
        default_factory=dict
    )  # id of each document -> its row in the file, from 1
    scores: array[float] = field(default_factory=lambda: array("d"))  # of all options, end to end
    widths: array[int] = field(default_factory=lambda: array("q"))  # how many of them each row has
    splits: array[int] = field(
        default_factory=lambda: array("q")
    )  # options, if the second half lacks the prompt, or 0
    targets: list[_Target] = field(default_factory=list)
    by_text: list[_Gold] | None = field(
        default_factory=list
    )  # the right options; None once a target is no option
    is_spare: bool = False  # whether nothing needs the texts of options
    lengths: dict[str, array[int]] = field(
        default_factory=dict
    )  # of options, end to end; 0 where unknown
    blanks: array[int] = field(
        default_factory=lambda: array("q")
    )  # 1 where all options of a row begin with a blank
    options: tuple[str, ...] | None = None  # those of every row, empty where rows differ
    in_prompts: bool = (
        False  # whether it is the prompts of the first row that differ, not its options
    )
    outside: tuple[int, str, int] | None = (
        None  # the first row whose target is a position behind the options
    )
    outputs: list[str | None] = field(
        default_factory=list
    )  # None where one continuation was scored
    repeats: list[str] = field(default_factory=list)  # JSON of further answers to the same question
    hits: list[bool] = field(default_factory=list)  # whether the output is the target
    names: list[str] | None = None  # of the metrics, as the row before has them
    prompts: list[str] = field(default_factory=list)
    metrics: dict[str, list[Any]] = field(default_factory=dict)
    shared: dict[str, list[str]] = field(
        default_factory=dict
    )  # of the documents, as `_SHARED` names it


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
        stem = re.sub(
            r"\W", "_", match["task"] if match else re.sub(r"(\.jsonl?)(\.gz)?$", "", name)
        )
        names = {re.sub(r"\W", "_", key.strip(" -")): key for key in mapping(whole.get("results"))}
        if match is None:  # up to 0.4.2 the arguments of the model stand before the task
            stem = max((name for name in names if stem.endswith(name)), key=len, default=stem)
        if stem not in names:
            return None
        task = names[stem].strip(" -")
        parts = ("configs", "n-samples", "higher_is_better")
        config, counts, better = (mapping(mapping(whole.get(part)).get(task)) for part in parts)
        lists = [config.get(part) for part in ("metric_list", "filter_list")]
        metrics, filters = (
            [mapping(entry) for entry in own] if isinstance(own, list) else [] for own in lists
        )
        up = {str(entry.get("metric")): entry.get("higher_is_better") for entry in metrics} | dict(
            better
        )
        run = mapping(whole.get("config"))
        arguments = run.get("model_args")
        if isinstance(arguments, str):
            arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
        given = [
            mapping(arguments).get(key)
            for key in ("peft", "delta", "pretrained", "model", "path", "engine")
        ]
        model = next(
            (str(name) for name in (whole.get("model_name"), *given, run.get("model")) if name),
            None,
        )
        order, own = (
            tuple(str(e.get(n)) for e in some)
            for n, some in (("metric", metrics), ("name", filters))
        )
        lower = frozenset(name for name, more in up.items() if more is False)
        asked, existing = counts.get("effective"), counts.get("original")
        figures = mapping(mapping(whole["results"])[names[stem]])
        return cls(path, task, model, order, lower, own, asked, existing, figures)


def read_samples(file: str, options: LogOptions) -> Answers:
    """A samples file as columns of a record: multiple choice gives ``candidate_scores`` and, where the log tells the
    right option, ``label``; what a model wrote gives ``output``; both give ``correct`` or ``score`` by the metric.
    """
    by_filter, times = dict[str, _Rows](), Counter[str]()
    kind: str | None = None
    totals = Totals.beside(file)
    asked = " ".join(options.table.values()) + " ".join(totals.order[:1] if totals else ())
    for row, sample in json_rows(file):
        answers: Any = sample.get("filtered_resps")
        scores = _scored(answers)
        if not scores:
            answers = _responses(sample, file, row)
            scores = _scored(answers)
        row_kind = _OPTIONS if scores else _kind(answers, file, row)
        if kind is not None and row_kind != kind:
            remedy = "a samples file holds one task"
            raise InputError(f"{kind} in each row", got=row_kind, file=file, row=row, remedy=remedy)
        kind = row_kind
        filter, name = sample.get("filter"), str(sample.get("doc_id", row - 1))
        if (
            not filter
        ):  # releases up to 0.4.5 do not name it: filters are counted by how often a document comes
            times[name] += 1
        which = str(filter or times[name])
        rows = by_filter.get(which)
        if rows is None:
            needed = [name for name in _BY_LENGTH if name in asked or "acc" not in sample]
            rows = by_filter[which] = _Rows(
                repr(sample.get("target"))[:40], lengths={n: array("q") for n in needed}
            )
        if rows.places.setdefault(name, row) != row:
            _refuse_twice(name, rows.places[name], row, file)
        _keep(sample, answers, scores, rows, (row, kind == _WRITTEN), file, options)
    if kind is None:
        raise InputError(
            "at least one row", got="none", file=file, remedy="check what wrote the log"
        )
    counted = [by_filter[str(n)].places for n in range(1, max(times.values(), default=0) + 1)]
    if any(
        places.keys() != counted[0].keys() for places in counted
    ):  # some documents again, not all
        name, row = next(iter(counted[1].items()))
        _refuse_twice(name, counted[0][name], row, file)
    match = NAME.fullmatch(os.path.basename(file))
    task = (
        totals.task if totals else match["task"] if match else os.path.basename(file).split(".")[0]
    )
    return _answers(
        Answers(file, task, totals.model if totals else None), by_filter, totals, options
    )


def _refuse_twice(name: str, first: int, row: int, file: str) -> None:
    got = f"doc_id {name} as in row {first}"
    raise InputError(
        "each document once", got=got, file=file, row=row, remedy="keep the rows of one run"
    )


def _answers(
    out: Answers, by_filter: Mapping[str, _Rows], totals: Totals | None, options: LogOptions
) -> Answers:
    """The rows of the filter that was named, or of the first one, with their verdicts by the metric."""
    wanted, filter = options.choice(
        out.task, {name for rows in by_filter.values() for name in rows.metrics}
    )
    if options.several and filter == options.filter and filter not in by_filter:
        filter = None  # of another task
    is_open = filter is None or (filter == "none" and len(by_filter) == 1)
    order = [*(totals.filters if totals else ()), *by_filter] if is_open else [str(filter)]
    out.filter = next((name for name in order if name in by_filter), "")
    if not out.filter:
        every = {
            name: {n: Metric(n, v) for n, v in rows.metrics.items()}
            for name, rows in by_filter.items()
        }
        got = f"{filter!r}; there are {'; '.join(f'{name}: {described(own)}' for name, own in every.items())}"
        remedy = f"name one, {' or '.join(f'`--filter {shlex.quote(name)}`' for name in by_filter)}"
        raise InputError("a filter of this log", got=got, file=out.file, remedy=remedy)
    rows = by_filter[out.filter]
    out.ids = list(rows.places)
    out.shared = {
        name: own for name, own in rows.shared.items() if len(own) == len(out.ids) > len({*own}) > 1
    }
    if options.keep_input:
        out.columns["input"] = list(rows.prompts)
    remark = ""
    if rows.outputs and rows.outputs[0] is not None:
        out.columns["output"] = list(rows.outputs)
        if len(rows.repeats) == len(rows.outputs):  # by which it is seen how sure the model was
            out.columns["samples"] = list(rows.repeats)
        empty = sum(output in ("", _FOUND_NOTHING) for output in rows.outputs)
        remark = (
            f"{empty} of {len(rows.outputs)} answers are empty or could not be parsed"
            if empty
            else ""
        )
    metrics = {name: Metric(name, values) for name, values in rows.metrics.items()}
    if totals:
        metrics = {
            name: metrics[name]
            for name in dict.fromkeys((*totals.order, *metrics))
            if name in metrics
        }
    remedy = (
        f"`--metric {TARGET}` counts an answer as right that is the target" if rows.hits else ""
    )
    if rows.hits and wanted == TARGET:
        metrics.setdefault(TARGET, Metric(TARGET, rows.hits))
    metric = None
    if metrics or wanted is not None or not rows.scores:
        metric = choose_metric(
            metrics, wanted, out.file, _LOWER | (totals.lower if totals else set()), remedy
        )
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
        is_mean = metric.least is None and not metric.is_pairs and metric.name not in totals.lower
        reported = totals.figures.get(f"{metric.name},{out.filter}") if is_mean else None
        out.check(source, metric.mean, reported, fewest, totals.asked, named)
        if isinstance(totals.existing, int) and totals.asked == len(rows.places) < totals.existing:
            out.warnings.append(
                f"{out.task}: the run was limited to {totals.asked} of {totals.existing} questions"
            )
    out.metric += f",{out.filter}" if len(by_filter) > 1 else ""
    return out


def _options(out: Answers, rows: _Rows, metric: Metric | None) -> None:
    """Scores of options, the right one where the log tells it, and the options as classes where all rows have them."""
    # the target is a position, a text or a letter, and does not say which: each way is tried against the metric
    by_score = (
        metric is not None
        and metric.least is None
        and (metric.name in _BY_SCORE or metric.is_pairs)
    )
    verdicts: Sequence[bool] | None = out.columns.get("correct") if by_score else None
    scores, golds, picked = _fitting(rows, metric if verdicts else None, verdicts, out.file)
    out.columns["candidate_scores"] = _finite(scores)
    if np.isinf(scores.values).any():
        out.notes.append(f"{out.task}: options of log-likelihood -inf get a probability of 0")
    if picked is not None and metric is not None:
        out.columns["prediction"] = picked
        right = sum(
            best in gold for best, gold in zip(_best(scores), golds or (), strict=True)
        ) / len(scores)
        text = f"{out.task}: this release of the harness took options with and without the prompt for one another; "
        out.warnings.append(
            f"{text}{metric} is its own verdict, by the log-likelihoods it would be {right:.4g}"
        )
    if golds is None and verdicts is not None and (scores.lengths == 2).all():
        golds = [
            (best if right else 1 - best,)
            for best, right in zip(_best(scores), verdicts, strict=True)
        ]
    if golds is None and metric is None:
        expected, remedy = (
            "the right option, or a metric",
            "a log without both does not say what is right",
        )
        got, row = rows.first_target, next(iter(rows.places.values()))
        raise NoMetric(expected, got=got, file=out.file, row=row, column="target", remedy=remedy)
    unchecked = (
        metric is not None and verdicts is None
    )  # the target may be one of several right options
    if golds is not None and not unchecked and all(len(one) == 1 for one in golds):
        out.columns["label"] = [one[0] for one in golds]
        out.label_decides = picked is None
        own = rows.options or ()
        lettered = all(
            option.strip("().").upper() == chr(ord("A") + i) for i, option in enumerate(own)
        )
        # a handful of rows does not show that the options are classes; letters name options, which differ
        if (
            own
            and not lettered
            and len(set(own)) == len(own) == len(scores[0])
            and len(scores) >= 5 * len(own)
        ):
            out.classes = own


def _responses(sample: Mapping[str, Any], file: str, row: int) -> list[Any]:
    """The model's answer to each request of a row: the filtered ones, else the first of the raw ones."""
    answers = sample.get("filtered_resps")
    if answers is None:
        answers = sample.get("resps")
        if isinstance(answers, list):
            answers = [
                answer[0] if isinstance(answer, list) and answer else None for answer in answers
            ]
    if answers == [None] and sample.get(
        "filtered_resps"
    ):  # the filter found no answer in the text: it is an empty one
        return [""]
    if not isinstance(answers, list) or not answers or None in answers:
        expected = "the model's answers (filtered_resps or resps)"
        remedy = "the log may be cut off or of another kind: write it with --log_samples"
        raise InputError(
            expected,
            got="none" if not answers else repr(answers)[:40],
            file=file,
            row=row,
            remedy=remedy,
        )
    return answers


_GREEDY, _LISTS = ("False", "True", False, True), {list}
_WRITTEN, _OPTIONS = "an answer that was written", "log-likelihoods of several options"


def _scored(answers: Any) -> list[float]:
    """The log-likelihoods of several options, each a pair with whether the text was the greedy one; else nothing."""
    try:
        pairs = answers if len(answers) > 1 and {*map(type, answers)} == _LISTS else ()
        scores = [float(score) for score, is_greedy in pairs if is_greedy in _GREEDY]
    except (TypeError, ValueError):
        return []
    return scores if len(scores) == len(answers) and sum(scores) < math.inf else []


def _kind(answers: Sequence[Any], file: str, row: int) -> str:
    """What the answers of a row are, as far as `_scored` does not tell."""
    if len(answers) == 1:
        return "the log-likelihood of one text" if _scored([*answers, *answers]) else _WRITTEN
    if all(isinstance(one, list) and len(one) == 2 and one[1] in _GREEDY for one in answers):
        got = repr(next((pair[0] for pair in answers if not _scored([pair, pair])), answers))[:40]
        expected, remedy = "a log-likelihood", "find out why the model gave it, or remove the row"
        raise InputError(
            expected, got=got, file=file, row=row, column="filtered_resps", remedy=remedy
        )
    expected, remedy = (
        "one answer that was written, or a log-likelihood for each option",
        "read the other tasks alone",
    )
    raise NoMetric(expected, got=repr(answers)[:60], file=file, row=row, remedy=remedy)


def _keep(
    sample: Mapping[str, Any],
    answers: Sequence[Any],
    scores: Sequence[float],
    rows: _Rows,
    at: tuple[int, bool],
    file: str,
    options: LogOptions,
) -> None:
    """Add what is needed of one row; ``at`` is its number, and whether its answer was written."""
    row, is_written = at
    arguments, doc, target = sample.get("arguments"), sample.get("doc"), sample.get("target")
    given = list(arguments.values()) if isinstance(arguments, dict) else arguments or []
    for name, value in doc.items() if isinstance(doc, dict) else ():
        if _is_shared(name) and isinstance(value, (str, int)):
            text = str(value)
            digest = blake2b(text.encode(), digest_size=6).hexdigest()
            rows.shared.setdefault(name, []).append(
                text if len(text) <= _LONG else f"{text[:_LONG]}... {digest}"
            )
    if options.keep_input:
        prompts = dict.fromkeys(
            _text(request[0]) for request in _requests(given) if request and request[0]
        )
        rows.prompts.append("\n".join(prompts))
    names = sample.get("metrics")
    names = (
        names if isinstance(names, list) else [name for name in sample if name not in _NOT_METRICS]
    )
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
    if not scores and (not is_written or any(len(request) == 1 for request in _requests(given))):
        rows.outputs.append(None)  # of a text alone
    elif not scores:
        said = answers[0]
        while (
            isinstance(said, list) and len(said) == 1
        ):  # several samples of one prompt are a JSON list
            said = said[0]
        rows.outputs.append(_text(said))
        raw = sample.get("resps")
        raw = (
            list(raw[0])
            if isinstance(raw, list) and len(raw) == 1 and isinstance(raw[0], list)
            else []
        )
        if len(raw) > 1 and rows.outputs[-1] in raw:
            raw.remove(rows.outputs[-1])
            rows.repeats.append(json.dumps(raw, ensure_ascii=False))
        output = (rows.outputs[-1] or "").strip().casefold()
        rows.hits.append(any(output == str(one).strip().casefold() for one in _targets(target)))
    if not scores:
        return
    rows.scores.extend(scores)
    rows.widths.append(len(scores))
    count, split, half = len(scores), 0, len(scores) // 2
    read = _read if target.__hash__ else _read.__wrapped__
    meaning = read(target, count)
    middle = given[half] if half < len(given) else ()
    has_prompt = half < 2 or next(
        iter(middle.values() if isinstance(middle, dict) else middle), None
    )
    if not (rows.is_spare and meaning[0] and has_prompt):
        pairs = [
            (request[0], _text(request[1])) for request in _requests(given) if len(request) > 1
        ]
        pairs = pairs if len(pairs) == count else []
        texts = [option.strip() for _, option in pairs]
        if pairs and half > 1 and not pairs[half][0] and texts[:half] == texts[half:]:
            split = half * (
                not any(prompt for prompt, _ in pairs[half:])
                and any(prompt for prompt, _ in pairs[:half])
            )
        count, meaning = split or count, read(target, split or count)
        for name, sizes in rows.lengths.items():
            asked = [
                option.encode() if name == "acc_bytes" else option for _, option in pairs[:count]
            ]
            sizes.extend([*map(len, asked)] or [0] * count)
        rows.blanks.append(bool(pairs) and all(option[:1].isspace() for _, option in pairs[:count]))
        texts = (
            [] if texts and texts.count(texts[0]) == len(texts) else texts[:count]
        )  # it is the prompts that differ
        if rows.options is None:
            rows.options, rows.in_prompts = tuple(texts), bool(pairs) and not texts
        elif rows.options and rows.options != tuple(texts):
            rows.options = ()
        by_text = _gold(
            [texts.index(word) if word in texts else None for word in meaning[2]], count
        )
        rows.outside = rows.outside or (
            None if meaning[0] or by_text else (row, str(target), count)
        )
        if rows.by_text is not None:
            rows.by_text.append(by_text)
            rows.by_text = rows.by_text if by_text else None
        rows.is_spare = not (rows.options or rows.by_text is not None or rows.lengths)
    rows.targets.append(meaning)
    rows.splits.append(split)


def _requests(given: Iterable[Any]) -> list[list[Any]]:
    """What a row asked: of each request its parts, such as the prompt and an option."""
    return [
        list(request.values()) if isinstance(request, dict) else list(request) for request in given
    ]


@lru_cache(1 << 12, typed=True)
def _read(target: Any, count: int) -> _Target:
    """What a target means for so many options."""
    targets = _targets(target)
    words = [one.strip() if isinstance(one, str) else str(one) for one in targets]
    places = [
        int(word) if word.lstrip("-").isdecimal() and len(word) < 20 else None for word in words
    ]
    letters = [] if None not in places else [word.strip("().").upper() for word in words]
    by_letter = _gold([ord(one) - ord("A") if len(one) == 1 else None for one in letters], count)
    return _gold(places, count), by_letter, words, None not in places


def _gold(places: Sequence[int | None], count: int) -> _Gold:
    """Positions of the right options, in order; none where one of them is no option."""
    right = [place for place in places if place is not None and 0 <= place < count]
    return tuple(sorted({*right})) if len(right) == len(places) else ()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Metrics that ask whether the best option is the right one; they differ in what makes an option the best.
_BY_SCORE = ("acc", "acc_norm", "acc_bytes", "acc_mutual_info")
_BY_LENGTH = ("acc_norm", "acc_bytes")
_FAR = 1000.0  # behind all others: exp(-1000) is 0


def _finite(scores: Ragged) -> Ragged:
    """Scores with -inf as finite ones, so far behind the others of their row that the probability is 0."""
    is_finite = np.isfinite(scores.values)
    if is_finite.all():
        return scores
    lowest = Ragged(np.where(is_finite, scores.values, np.inf), scores.offsets).minima()
    lowest[np.isinf(lowest)] = 0.0
    return Ragged(
        np.maximum(scores.values, np.repeat(lowest - _FAR, scores.lengths)), scores.offsets
    )


def _fitting(
    rows: _Rows, metric: Metric | None, verdicts: Sequence[bool] | None, file: str
) -> tuple[Ragged, list[_Gold] | None, list[int] | None]:
    """Scores, and the right options of each row, that give the verdicts; no right options where none can be read."""
    ways = _scores(rows, "acc" if metric is None or metric.is_pairs else metric.name, file)
    by_position, by_letter = (
        [target[0] for target in rows.targets],
        [target[1] for target in rows.targets],
    )
    readings = [golds for golds in (by_position, rows.by_text or [()], by_letter) if all(golds)]
    if not readings:
        if (
            not rows.in_prompts
            and rows.outside is not None
            and all(target[3] for target in rows.targets)
        ):
            row, got, count = rows.outside
            expected = f"a position below {count}, the number of options"
            remedy = "the harness counts such a row as wrong whatever the model says: remove it"
            raise InputError(expected, got=got, file=file, row=row, column="target", remedy=remedy)
        return ways[0], None, None
    if verdicts is None or metric is None:
        return (
            ways[0],
            readings[0] if all(reading == readings[0] for reading in readings) else None,
            None,
        )
    wrong: tuple[int, _Gold, int] | None = None
    picks = [(scores, _best(scores), False) for scores in ways]
    if all(rows.splits):
        # how earlier releases picked an option, where each was asked about with and without the prompt
        ends = np.cumsum([0, *rows.splits])
        first, second = (_finite(Ragged(np.array(rows.scores[i::2]), ends)).values for i in (0, 1))
        picks.append((ways[0], _best(Ragged(first - second * (metric.name != "acc"), ends)), True))
    for scores, best, mixed in picks:
        for golds in readings:
            agrees = [(b in g) == v for b, g, v in zip(best, golds, verdicts, strict=True)]
            if all(agrees):
                others = [
                    reading for reading in readings if reading != golds
                ]  # "2" may be named or counted
                fits = (
                    all((b in g) == v for b, g, v in zip(best, own, verdicts, strict=True))
                    for own in others
                )
                return scores, golds if mixed or not any(fits) else None, best if mixed else None
            at = agrees.index(False)
            wrong = wrong or (at, golds[at], best[at])
    assert wrong is not None
    at, gold, top = wrong
    expected = f"{metric.name} to say whether the best option is the target"
    got = f"{metric.name} {int(verdicts[at])}, the best option {top}, the target {', '.join(map(str, gold))}"
    remedy = "this task defines the metric in its own way; to take its verdicts as they are, "
    remedy += f"`--metric '{metric.name}>=1'`"
    raise InputError(
        expected, got=got, file=file, row=list(rows.places.values())[at], remedy=remedy
    )


def _scores(rows: _Rows, metric: str, file: str) -> list[Ragged]:
    """Scores by which the metric picks the best option; two ways where the log does not say how long an option is."""
    what, splits, whole = (
        "pairs with and without the prompt",
        np.array(rows.splits),
        np.array(rows.scores),
    )
    plain = Ragged(whole, np.cumsum([0, *rows.widths]))
    if splits.any():
        widths = np.where(splits, splits, rows.widths)
        is_first = np.arange(len(whole)) < np.repeat(plain.offsets[:-1] + widths, rows.widths)
        plain = Ragged(whole[is_first], np.cumsum([0, *widths]))
        if metric == "acc_mutual_info" and splits.all():
            without = _finite(Ragged(whole[~is_first], plain.offsets))
            return [Ragged(_finite(plain).values - without.values, plain.offsets)]
    if metric not in _BY_SCORE[1:]:
        return [plain]
    lacks = splits == 0
    if metric in rows.lengths:
        sizes, what = (
            Ragged(np.array(rows.lengths[metric]), plain.offsets),
            "the text of each option",
        )
        lacks = sizes.minima() == 0
        if (
            not lacks.any()
        ):  # the blank before an option is not counted, where the harness put it there
            both = sizes.values - np.repeat(rows.blanks, plain.lengths), sizes.values
            return [Ragged(plain.values / own, plain.offsets) for own in both if own.all()]
    row, remedy = (
        list(rows.places.values())[int(np.argmax(lacks))],
        "take the plain log-likelihoods: --metric acc",
    )
    raise InputError(what, got="none in `arguments`", file=file, row=row, remedy=remedy)


def _best(scores: Ragged) -> list[int]:
    """Position of the largest score of each row, the first among ties, as the harness has it."""
    return list(top_candidates(scores, scores).best.tolist())


def _targets(target: Any) -> list[Any]:
    """One target or several: a list may come as its text, "[0, 2]"."""
    if isinstance(target, str) and target.startswith("[") and target.endswith("]"):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            target = ast.literal_eval(target)
    return list(target) if isinstance(target, list) else [target]
