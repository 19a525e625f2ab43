"""lm-evaluation-harness: a samples file of one task, options that were scored or texts that were written, held against
the results file beside it.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from ...errors import InputError, Remedy
from ...plain import Plain, Strings
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
from .scored_options import BY_LENGTH, ScoredOptions, requests_of, take_options, targets_of, text_of

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
_GREEDY, _LISTS = (False, True, "False", "True"), {list}
_WRITTEN, _OPTIONS = "an answer that was written", "log-likelihoods of several options"


@dataclass(frozen=True)
class Totals:
    """What a results file says of one task: who answered, its metrics in their order, those of which less is better,
    its filters, how many questions were asked and how many there are, and its figures by ``metric,filter``. Without a
    results file there is the task alone.
    """

    task: str
    file: str = ""
    model: str | None = None
    order: Strings = ()
    lower: frozenset[str] = frozenset()
    filters: Strings = ()
    asked: Any = None
    existing: Any = None
    figures: Plain = field(default_factory=dict)

    @classmethod
    def beside(cls, file: str) -> Totals | None:
        """Those of the run that wrote a samples file; none where its results file is not beside it."""
        folder, name = os.path.split(file)
        match = NAME.fullmatch(name)
        date = match["date"] if match else None
        path = os.path.join(folder, f"results_{date}.json" if date else "results.json")
        if not os.path.isfile(path):
            return None
        run = mapping(read_json(path))
        results = mapping(run.get("results"))
        key = _task_key(results, name)
        if key is None:
            return None
        task = key.strip(" -")
        parts = ("configs", "n-samples", "higher_is_better")
        config, counts, better = (mapping(mapping(run.get(part)).get(task)) for part in parts)
        metrics, filters = _entries(config.get("metric_list")), _entries(config.get("filter_list"))
        is_more_better = {
            str(entry.get("metric")): entry.get("higher_is_better") for entry in metrics
        }
        is_more_better |= better
        return cls(
            task=task,
            file=path,
            model=_model_of(run),
            order=tuple(str(entry.get("metric")) for entry in metrics),
            lower=frozenset(name for name, more in is_more_better.items() if more is False),
            filters=tuple(str(entry.get("name")) for entry in filters),
            asked=counts.get("effective"),
            existing=counts.get("original"),
            figures=mapping(results[key]),
        )


def _task_key(results: Plain, name: str) -> str | None:
    """The task of a samples file as the results of the run have it; None where they lack it."""
    match = NAME.fullmatch(name)
    task = match["task"] if match else re.sub(r"(\.jsonl?)(\.gz)?$", "", name)
    stem = re.sub(r"\W", "_", task)
    keys = {re.sub(r"\W", "_", key.strip(" -")): key for key in results}
    if match is None:  # up to 0.4.2 the arguments of the model stand before the task
        stem = max((end for end in keys if stem.endswith(end)), key=len, default=stem)
    return keys.get(stem)


def _entries(entries: Any) -> list[Plain]:
    return [mapping(entry) for entry in entries] if isinstance(entries, list) else []


def _model_of(run: Plain) -> str | None:
    """The name of the model that a run had, or what its arguments say of it."""
    config = mapping(run.get("config"))
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    keys = ("peft", "delta", "pretrained", "model", "path", "engine")
    values = [mapping(arguments).get(key) for key in keys]
    names = (run.get("model_name"), *values, config.get("model"))
    return next((str(name) for name in names if name), None)


class _Row(NamedTuple):
    """One row: its number in the file, what it holds, the model's answers and what they are, and the log-likelihoods
    of several options.
    """

    number: int
    sample: Plain
    answers: list[Any]
    kind: str
    scores: list[float]

    @classmethod
    def parsed(cls, number: int, sample: Plain, file: str) -> _Row:
        """A row as the log has it; `InputError` where it has no answers."""
        filtered: Any = sample.get("filtered_resps")
        answers, scores = filtered, _scored(filtered)
        if not scores:
            answers = _responses(sample, file, number)
            scores = [] if answers is filtered else _scored(answers)
        kind = _OPTIONS if scores else _kind(answers, file, number)
        return cls(number, sample, answers, kind, scores)

    @property
    def given(self) -> list[Any]:
        """What the model was given: the arguments of each request."""
        arguments = self.sample.get("arguments")
        return list(arguments.values()) if isinstance(arguments, dict) else arguments or []

    @property
    def is_written(self) -> bool:
        """Whether a text was written; else the log-likelihood of one was asked for."""
        return self.kind == _WRITTEN and all(
            len(request) != 1 for request in requests_of(self.given)
        )


def _responses(sample: Plain, file: str, row: int) -> list[Any]:
    """The model's answer to each request of a row: the filtered ones, else the first of the raw ones."""
    answers = sample.get("filtered_resps")
    if answers is None:
        answers = sample.get("resps")
        if isinstance(answers, list):
            answers = [
                answer[0] if isinstance(answer, list) and answer else None for answer in answers
            ]
    elif answers == [None]:  # the filter found no answer in the text: it is an empty one
        return [""]
    if not isinstance(answers, list) or not answers or None in answers:
        raise InputError(
            "the model's answers (filtered_resps or resps)",
            got="none" if not answers else repr(answers)[:40],
            file=file,
            row=row,
            remedy="the log may be cut off or of another kind: write it with --log_samples",
        )
    return answers


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
        is_text = isinstance(answers[0], str) or not _scored([*answers, *answers])
        return _WRITTEN if is_text else "the log-likelihood of one text"
    if all(
        isinstance(answer, list) and len(answer) == 2 and answer[1] in _GREEDY for answer in answers
    ):
        got = repr(next((pair[0] for pair in answers if not _scored([pair, pair])), answers))[:40]
        expected, remedy = "a log-likelihood", "find out why the model gave it, or remove the row"
        raise InputError(
            expected, got=got, file=file, row=row, column="filtered_resps", remedy=remedy
        )
    expected = "one answer that was written, or a log-likelihood for each option"
    remedy = "read the other tasks alone"
    raise NoMetric(expected, got=repr(answers)[:60], file=file, row=row, remedy=remedy)


@dataclass
class _Written:
    """Answers that were written: texts (None where one continuation was scored), JSON of further answers to the same
    question, and whether the text is the target.
    """

    outputs: list[str | None] = field(default_factory=list)
    repeats: list[str] = field(default_factory=list)
    hits: list[bool] = field(default_factory=list)

    def add(self, row: _Row) -> None:
        """Add the text of one row."""
        answer = row.answers[0]
        while isinstance(answer, list) and len(answer) == 1:  # several samples of one prompt
            answer = answer[0]
        text = text_of(answer)
        self.outputs.append(text)
        raw: Any = row.sample.get("resps")
        is_one = isinstance(raw, list) and len(raw) == 1 and isinstance(raw[0], list)
        repeats = list(raw[0]) if is_one else []
        if len(repeats) > 1 and text in repeats:
            repeats.remove(text)
            self.repeats.append(json.dumps(repeats, ensure_ascii=False))
        bare = text.strip().casefold()
        targets = targets_of(row.sample.get("target"))
        self.hits.append(any(bare == str(target).strip().casefold() for target in targets))

    def take(self, out: Answers) -> list[str]:
        """Fill in the columns; a remark where answers are empty."""
        if not self.outputs or self.outputs[0] is None:
            return []
        out.columns["output"] = list(self.outputs)
        if len(self.repeats) == len(self.outputs):  # by which it is seen how sure the model was
            out.columns["samples"] = list(self.repeats)
        empty = sum(output in ("", _FOUND_NOTHING) for output in self.outputs)
        remark = f"{empty} of {len(self.outputs)} answers are empty or could not be parsed"
        return [remark] if empty else []


@dataclass
class _Rows:
    """What the rows of one filter hold.

    places : id of each document -> its row in the file, from 1. names : of the metrics, as the row before has them.
    shared : of the documents, as `_SHARED` names it.
    """

    options: ScoredOptions
    written: _Written = field(default_factory=_Written)
    places: dict[str, int] = field(default_factory=dict)
    names: list[str] | None = None
    metrics: dict[str, list[Any]] = field(default_factory=dict)
    prompts: list[str] = field(default_factory=list)
    shared: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def like(cls, sample: Plain, metric_names: str) -> _Rows:
        """No rows yet, made for those like the first one; ``metric_names`` are those that may be asked for."""
        needed = [name for name in BY_LENGTH if name in metric_names or "acc" not in sample]
        lengths = {name: array("q") for name in needed}
        return cls(ScoredOptions(repr(sample.get("target"))[:40], lengths))

    def add(self, name: str, row: _Row, file: str, options: LogOptions) -> None:
        """Add what is needed of one row; ``name`` is that of its document."""
        if self.places.setdefault(name, row.number) != row.number:
            _refuse_twice(name, self.places[name], row.number, file)
        self._add_shared(row.sample.get("doc"))
        if options.keep_input:
            prompts = (request[0] for request in requests_of(row.given) if request)
            self.prompts.append(
                "\n".join(dict.fromkeys(text_of(prompt) for prompt in prompts if prompt))
            )
        self._add_metrics(row, file)
        if row.scores:
            self.options.add(row.number, row.sample.get("target"), row.given, row.scores)
        elif row.is_written:
            self.written.add(row)
        else:
            self.written.outputs.append(None)

    def _add_shared(self, document: Any) -> None:
        """Keep what several questions may have in common, such as a passage."""
        for name, value in document.items() if isinstance(document, dict) else ():
            if _is_shared(name) and isinstance(value, (str, int)):
                text = str(value)
                digest = blake2b(text.encode(), digest_size=6).hexdigest()
                short = text if len(text) <= _LONG else f"{text[:_LONG]}... {digest}"
                self.shared.setdefault(name, []).append(short)

    def _add_metrics(self, row: _Row, file: str) -> None:
        """Add the figures of one row; `InputError` where it has other metrics than those above."""
        sample = row.sample
        listed = sample.get("metrics")
        names = listed if isinstance(listed, list) else _metric_names(tuple(sample))
        if self.names != names:
            before = self.metrics if self.names is not None else dict.fromkeys(names)
            if {*names} - {_NOTHING} != {*before} - {_NOTHING}:
                raise InputError(
                    f"the metrics {', '.join(before)}, as in the rows above",
                    got=", ".join(names) or "none",
                    file=file,
                    row=row.number,
                    remedy="a samples file holds one task",
                )
            self.metrics = self.metrics or {name: [] for name in names if name != _NOTHING}
            self.names = names
        for name, values in self.metrics.items():
            values.append(sample.get(name))

    def metrics_by(self, order: Sequence[str]) -> dict[str, Metric]:
        """The metrics, those of the order first."""
        names = (name for name in dict.fromkeys((*order, *self.metrics)) if name in self.metrics)
        return {name: Metric(name, self.metrics[name]) for name in names}


@lru_cache(64)
def _metric_names(keys: Strings) -> list[str]:
    """The metrics among the keys of a row."""
    return [name for name in keys if name not in _NOT_METRICS]


def _refuse_twice(name: str, first: int, row: int, file: str) -> None:
    raise InputError(
        "each document once",
        got=f"doc_id {name} as in row {first}",
        file=file,
        row=row,
        remedy="keep the rows of one run",
    )


def read_samples(file: str, options: LogOptions) -> Answers:
    """A samples file as columns of a record: multiple choice gives ``candidate_scores`` and, where the log tells the
    right option, ``label``; what a model wrote gives ``output``; both give ``correct`` or ``score`` by the metric.
    """
    name = os.path.basename(file)
    match = NAME.fullmatch(name)
    totals = Totals.beside(file) or Totals(match["task"] if match else name.split(".")[0])
    metric_names = " ".join([*options.table.values(), *totals.order[:1]])
    by_filter, times = dict[str, _Rows](), Counter[str]()
    kind = ""
    for number, sample in json_rows(file):
        row = _Row.parsed(number, sample, file)
        if kind and row.kind != kind:
            raise InputError(
                f"{kind} in each row",
                got=row.kind,
                file=file,
                row=number,
                remedy="a samples file holds one task",
            )
        kind = row.kind
        filter, document = sample.get("filter"), str(sample.get("doc_id", number - 1))
        if not filter:
            # releases up to 0.4.5 do not name it: filters are counted by how often a document comes
            times[document] += 1
        which = str(filter or times[document])
        if which not in by_filter:
            by_filter[which] = _Rows.like(sample, metric_names)
        by_filter[which].add(document, row, file, options)
    if not by_filter:
        raise InputError(
            "at least one row", got="none", file=file, remedy="check what wrote the log"
        )
    counted = [by_filter[str(n)].places for n in range(1, max(times.values(), default=0) + 1)]
    if any(places.keys() != counted[0].keys() for places in counted):  # some again, not all
        document, again = next(iter(counted[1].items()))
        _refuse_twice(document, counted[0][document], again, file)
    return _answers(Answers(file, totals.task, totals.model), by_filter, totals, options)


def _answers(
    out: Answers, by_filter: Mapping[str, _Rows], totals: Totals, options: LogOptions
) -> Answers:
    """The rows of the filter that was named, or of the first one, with their verdicts by the metric."""
    every_name = {name for rows in by_filter.values() for name in rows.metrics}
    requested, filter = options.choice(out.task, every_name)
    if options.several and filter == options.filter and filter not in by_filter:
        filter = None  # of another task
    out.filter = _chosen_filter(by_filter, filter, totals, out.file)
    rows = by_filter[out.filter]
    out.ids = list(rows.places)
    out.shared = {
        name: texts
        for name, texts in rows.shared.items()
        if len(texts) == len(out.ids) > len({*texts}) > 1
    }
    if options.keep_input:
        out.columns["input"] = list(rows.prompts)
    remarks = rows.written.take(out)
    metric = _graded(out, rows, requested, totals)
    if len(by_filter) > 1 and filter is None:
        remarks = [*_filter_remarks(out, by_filter, metric, remarks)]
    out.warnings += [f"{out.task}: {'; '.join(remarks)}"] if remarks else []
    if rows.options.widths:
        take_options(out, rows.options, metric)
    if metric is not None and totals.file:
        fewest = min(len(entry.places) for entry in by_filter.values())
        _check_totals(out, metric, totals, fewest, named=requested is not None)
    out.metric += f",{out.filter}" if len(by_filter) > 1 else ""
    return out


def _chosen_filter(
    by_filter: Mapping[str, _Rows], named: str | None, totals: Totals, file: str
) -> str:
    """The filter that was named, else the first of the results file, or of the rows."""
    is_open = named is None or (named == "none" and len(by_filter) == 1)
    order = [*totals.filters, *by_filter] if is_open else [str(named)]
    chosen = next((name for name in order if name in by_filter), None)
    if chosen is None:
        every = [f"{name}: {described(rows.metrics_by(()))}" for name, rows in by_filter.items()]
        remedy = " or ".join(f"`--filter {shlex.quote(name)}`" for name in by_filter)
        raise InputError(
            "a filter of this log",
            got=f"{named!r}; there are {'; '.join(every)}",
            file=file,
            remedy=Remedy(f"name one, {remedy}", "--filter", next(iter(by_filter))),
        )
    return chosen


def _graded(out: Answers, rows: _Rows, requested: str | None, totals: Totals) -> Metric | None:
    """Take the verdicts of the metric that is wanted or the main one; none of scored options without any metric."""
    metrics = rows.metrics_by(totals.order)
    hits, remedy = rows.written.hits, Remedy("")
    if hits:
        text = f"`--metric {TARGET}` counts an answer as right that is the target"
        remedy = Remedy(text, "--metric", TARGET)
        if requested == TARGET:
            metrics.setdefault(TARGET, Metric(TARGET, hits))
    if not metrics and requested is None and rows.options.widths:
        return None
    metric = choose_metric(metrics, requested, out.file, _LOWER | totals.lower, remedy)
    out.take(metrics, metric, list(rows.places.values()), requested is not None)
    return metric


def _filter_remarks(
    out: Answers, by_filter: Mapping[str, _Rows], metric: Metric | None, remarks: Sequence[str]
) -> Iterator[str]:
    """Which of several filters is read, the remarks on it, and the means by the others."""
    unnamed = " (this release does not name them: they are counted)" * ("1" in by_filter)
    yield f"read by the filter {out.filter}, the first of {len(by_filter)}{unnamed}"
    yield from remarks
    for name, rows in by_filter.items():
        if name != out.filter and metric is not None and metric.name in rows.metrics:
            mean = Metric(metric.name, rows.metrics[metric.name]).mean
            option = shlex.quote(f"{out.task}={metric.name}:{name}")
            yield f"{metric.name} by {name} is {mean:.4g}: `--metric {option}`"


def _check_totals(
    out: Answers, metric: Metric, totals: Totals, fewest: int, *, named: bool
) -> None:
    """Hold the answers against the results file: its mean, and how many questions were asked; ``fewest`` rows has a
    filter.
    """
    is_mean = metric.least is None and not metric.is_pairs and metric.name not in totals.lower
    reported = totals.figures.get(f"{metric.name},{out.filter}") if is_mean else None
    out.check(os.path.basename(totals.file), metric.mean, reported, fewest, totals.asked, named)
    if isinstance(totals.existing, int) and totals.asked == len(out.ids) < totals.existing:
        out.warnings.append(
            f"{out.task}: the run was limited to {totals.asked} of {totals.existing} questions"
        )
