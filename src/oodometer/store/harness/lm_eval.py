"""lm-evaluation-harness: a ``samples_*.jsonl`` of one task, options that were scored or texts that were written."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import InputError
from .base import Answers, LogOptions
from .choices import Choice, chosen
from .json_rows import json_rows
from .metric import choose_metric, described

__all__ = ["read_samples"]

# samples_<task>_<date>T<time>.jsonl
_NAME = re.compile(r"samples_(?P<task>.+?)(_\d{4}-\d{2}-\d{2}T[\d.:-]+)?\.jsonl(\.gz)?")
_USUAL = ("acc", "acc_norm")  # of several metrics the one that the harness's own tables call accuracy
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


@dataclass
class _Rows:
    """What the rows of one filter hold."""

    numbers: list[int] = field(default_factory=list)  # of the rows in the file, from 1
    ids: list[str] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)  # None where one continuation was scored
    prompts: list[str] = field(default_factory=list)
    metrics: dict[str, list[Any]] = field(default_factory=dict)


def read_samples(file: str, options: LogOptions) -> Answers:
    """A samples file as columns of a record.

    Multiple choice gives ``candidate_scores`` and, where the log tells the right option, ``label``; what a model wrote
    gives ``output``; both give ``correct`` by the metric. Raises `InputError` naming the row.
    """
    by_filter: dict[str, _Rows] = {}
    seen: dict[tuple[Any, str], list[int]] = {}  # rows of each document under each filter
    kind: str | None = None
    for row, sample in json_rows(file):
        answers = _responses(sample, file, row)
        found = _kind(answers, file, row)
        if kind is not None and found != kind:
            raise InputError(
                f"{kind} in each row", got=found, file=file, row=row, remedy="a samples file holds one task"
            )
        kind = found
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
        raise InputError(
            "each document once",
            got=f"doc_id {twice[1]} as in row {seen[twice][0]}",
            file=file,
            row=seen[twice][1],
            remedy="keep the rows of one run",
        )
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
        chosen(rows.choices, metric, out)
    elif rows.outputs[0] is not None:
        out.columns["output"] = list(rows.outputs)
    return out


def _responses(sample: Mapping[str, Any], file: str, row: int) -> list[Any]:
    """The model's answer to each request of a row: the filtered ones, else the first of the raw ones."""
    found = sample.get("filtered_resps")
    if found is None:
        found = sample.get("resps")
        if isinstance(found, list):
            found = [one[0] if isinstance(one, list) and one else None for one in found]
    if found == [None] and sample.get("filtered_resps"):  # the filter found no answer in the text: it is an empty one
        return [""]
    if not isinstance(found, list) or not found or any(one is None for one in found):
        raise InputError(
            "the model's answers (filtered_resps or resps)",
            got="none" if not found else repr(found)[:40],
            file=file,
            row=row,
            remedy="the log may be cut off or of another kind: write it with --log_samples",
        )
    return found


def _is_scored(answer: Any) -> bool:
    """Whether an answer is a log-likelihood and whether the continuation was the greedy one."""
    return isinstance(answer, (list, tuple)) and len(answer) == 2 and str(answer[1]) in ("True", "False")


def _kind(answers: Sequence[Any], file: str, row: int) -> str:
    if all(map(_is_scored, answers)):
        return "log-likelihoods of several options" if len(answers) > 1 else "the log-likelihood of one text"
    if any(map(_is_scored, answers)) or len(answers) != 1:
        raise InputError(
            "one answer that was written, or a log-likelihood for each option",
            got=repr(answers)[:60],
            file=file,
            row=row,
            remedy="other tasks have no row that is right or wrong",
        )
    return "an answer that was written"


def _keep(
    sample: Mapping[str, Any], answers: Sequence[Any], rows: _Rows, file: str, row: int, options: LogOptions
) -> None:
    """Add what is needed of one row."""
    requests = _requests(sample.get("arguments"))
    rows.numbers.append(row)
    rows.ids.append(str(sample.get("doc_id", row - 1)))
    if options.keep_input:
        rows.prompts.append("\n".join(dict.fromkeys(_text(one[0]) for one in requests if one and one[0])))
    if len(answers) > 1:
        scores = [_log_likelihood(one[0], file, row) for one in answers]
        pairs = [(_text(one[0]), _text(one[1])) for one in requests if len(one) > 1]
        rows.choices.append(Choice(row, scores, pairs if len(pairs) == len(scores) else [], sample.get("target")))
    else:
        rows.outputs.append(None if _is_scored(answers[0]) else _written(answers[0]))
    named = sample.get("metrics")
    names = named if isinstance(named, list) else [name for name in sample if name not in _NOT_METRICS]
    before = rows.metrics or dict.fromkeys(names)
    if set(names) != set(before):
        raise InputError(
            f"the metrics {', '.join(before)}, as in the rows above",
            got=", ".join(names) or "none",
            file=file,
            row=row,
            remedy="a samples file holds one task",
        )
    for name in names:
        rows.metrics.setdefault(name, []).append(sample.get(name))


def _requests(arguments: Any) -> list[list[Any]]:
    """Arguments of each request: names in a mapping of mappings, or lists in releases up to 0.4.2."""
    found = list(arguments.values()) if isinstance(arguments, dict) else arguments or []
    return [list(one.values()) if isinstance(one, dict) else list(one) for one in found]


def _log_likelihood(value: Any, file: str, row: int) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = float("nan")
    if not found < float("inf"):  # minus infinity is the logarithm of a probability of 0
        raise InputError(
            "a log-likelihood",
            got=repr(value)[:40],
            file=file,
            row=row,
            column="filtered_resps",
            remedy="find out why the model gave it, or remove the row",
        )
    return found


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
    raise InputError(
        "one filter" if wanted is None else "a filter of this log",
        got=several if wanted is None else f"{wanted!r}; there are {several}",
        file=file,
        remedy=f"the answers went through {len(by_filter)} filters{unnamed}: name one, "
        + " or ".join(f"`--filter {shlex.quote(name)}`" for name in by_filter),
    )
