"""Base: what is asked of a log, what every reader of logs gives, and which metric tells how good an answer is."""

from __future__ import annotations

import codecs
import io
import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from ...errors import InputError, Remedy
from ...fields import FIELDS
from ...intervals import wilson_from_variance
from ...plain import Json, Plain, Strings
from ..files import check_row, most_row, opened, translated

_WORDS = dict.fromkeys(("c", "correct", "true", "yes"), 1.0) | {"p": 0.5}
_WORDS |= dict.fromkeys(("i", "n", "incorrect", "false", "no"), 0.0)
_ENTRY = re.compile(r"(?:(?P<task>[^=>]+)=)?(?P<metric>[^=].*)", re.DOTALL)
_AT_LEAST = re.compile(r"(?P<name>.+?)\s*>=\s*(?P<least>-?[0-9.]+(e-?[0-9]+)?)(?P<filter>:.+)?")
# the metric that any log of written answers has: whether the answer is the target
TARGET = "target"
_TAKEN = {*FIELDS, "id", "epoch", "metric"}  # names of columns that other metrics do not get


@dataclass(frozen=True)
class LogOptions:
    """What is taken from a log.

    metric : the metric or scorer that tells how good an answer is, ``NAME>=X`` for a score that counts as right from X
    on, ``NAME:FILTER``, or ``TASK=NAME`` for one task of several; or a list of these. filter : the filter of
    lm-evaluation-harness whose answers are taken. keep_input : whether the prompts are kept. several : whether the log
    is one of several, of which each takes of metric and filter what it has.
    """

    metric: str | Sequence[str] | None = None
    filter: str | None = None
    keep_input: bool = False
    several: bool = False

    @property
    def table(self) -> dict[str | None, str]:
        """The metric of each task that was named; of None: that of all others."""
        entries = [self.metric] if isinstance(self.metric, str) else self.metric or []
        matches = [_ENTRY.fullmatch(entry) for entry in entries]
        return {match["task"]: match["metric"] for match in matches if match}

    def choice(self, task: str, names: Collection[str] = ()) -> tuple[str | None, str | None]:
        """The metric and the filter for a task, whose metrics have these names: of several logs a metric that was named
        for all is that of the others.
        """
        task_metric = self.table.get(task)
        metric, filter = task_metric or self.table.get(None), self.filter
        if metric is not None and ":" in metric and metric not in names:
            metric, _, filter = metric.rpartition(":")
        lacks = metric is not None and metric.partition(">=")[0].strip() not in {*names, TARGET}
        return (
            (None, self.filter)
            if self.several and task_metric is None and lacks
            else (metric, filter)
        )


@dataclass
class Answers:
    """What one log holds: ids name its rows, columns are fields of a record -> one value a row, ``more`` are columns
    beside the fields, ``shared`` what several questions have in common, such as a passage; ``label_decides`` says
    whether label == prediction was checked against the log's own metric in each row; ``classes`` are the options where
    all rows have the same; skipped are rows without an answer, with the reason. Notes say what was chosen, warnings
    what a reader has to know.
    """

    file: str
    task: str
    model: str | None = None
    ids: list[str] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    more: dict[str, list[float]] = field(default_factory=dict)
    shared: dict[str, list[str]] = field(default_factory=dict)
    metric: str = ""
    filter: str = ""
    label_decides: bool = False
    classes: Strings | None = None
    skipped: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def graded(
        self, rows: Sequence[Any], names: Sequence[str], options: LogOptions
    ) -> tuple[list[Any], Metric, bool]:
        """Grade rows (``row``, ``scores`` by metric): those that have a score, the metric, and whether it was named."""

        def metrics_of(subset: Sequence[Any]) -> dict[str, Metric]:
            return {name: Metric(name, [row.scores.get(name) for row in subset]) for name in names}

        requested, _ = options.choice(self.task, names)
        metric = choose_metric(metrics_of(rows), requested, self.file)
        scored = [row for row in rows if row.scores.get(metric.name) is not None]
        metrics = metrics_of(scored)
        metric = choose_metric(metrics, requested or metric.name, self.file)
        self.take(metrics, metric, [row.row for row in scored], requested is not None)
        return scored, metric, requested is not None

    def take(
        self, columns: Mapping[str, Metric], metric: Metric, rows: Sequence[int], named: bool
    ) -> None:
        """Give each row its verdict or score by ``metric``, and its numbers by the others; ``rows`` are their numbers
        in the file. A list is judged by the mean of its entries, which the note says.
        """
        self.metric = str(metric)
        self.columns |= metric.judged(rows, self.file, columns)
        other_metrics = {name: extra for name, extra in columns.items() if name != metric.name}
        for name, extra in other_metrics.items():
            if extra.is_number and not extra.is_pairs:
                values = [math.nan if value is None else value for value in extra.scores]
                self.more[f"{name}_metric" if name in _TAKEN else name] = values
        if metric.how:
            self.warnings.append(f"{self.task}: {metric.how}")
        if other_metrics and not named:
            choices = [
                extra.option(self.task)
                for extra in other_metrics.values()
                if not extra.is_pairs and extra.is_number
            ]
            options = f": {' or '.join(filter(None, choices))}" if choices else ""
            self.notes.append(
                f"{self.task}: {metric.name} is read; the log also has {described(other_metrics)}{options}"
            )

    def take_costs(self, costs: Sequence[Plain]) -> None:
        """Add what each answer took, by name (None where the log does not say), as columns beside the fields."""
        for name in dict.fromkeys(name for row in costs for name in row):
            cells = [row.get(name) for row in costs]
            values = [
                float(cell)
                if isinstance(cell, (int, float)) and not isinstance(cell, bool)
                else math.nan
                for cell in cells
            ]
            if not all(map(math.isnan, values)):
                self.more.setdefault(name, values)

    def check(
        self, source: str, mean: float, reported: Any, rows: int, questions: Any, named: bool
    ) -> None:
        """Hold what was read against what the harness reported: its mean, and the number of questions it asked."""
        is_number = isinstance(reported, (int, float)) and math.isfinite(reported)
        # four digits may have been kept
        off = is_number and abs(mean - reported) > 5e-5 * max(1.0, abs(reported))
        differ = (
            f"{self.metric} is {mean:.4g} in the log and {reported:.4g} in {source}" if off else ""
        )
        if isinstance(questions, int) and 0 < questions != rows:
            reason = f"{'partial: ' * (rows < questions)}{rows} samples are in the log, {questions} in {source}"
            self.warnings.append(f"{self.task}: {reason}" + (differ and f"; {differ}"))
        elif off and named:
            self.warnings.append(f"{self.task}: {differ}")
        elif off:
            option = f"{self.task}={self.metric}"
            takes = f"`--metric {shlex.quote(option)}` takes the log"
            raise InputError(
                f"{source} to say what the log says",
                got=differ,
                remedy=Remedy(f"find out which one was changed; {takes}", "--metric", option),
                file=self.file,
            )


class NoMetric(InputError):
    """No metric of a log is a number for each row."""


class _Listed(NamedTuple):
    """What lists of a metric give: the number of each row, the mean, how they became numbers, whether they are pairs of
    a truth and an answer.
    """

    scores: list[float]
    mean: float
    how: str
    is_pairs: bool = False


def _of_flags(name: str, raw: Sequence[Any]) -> _Listed | None:
    """Lists of truths, as of the instructions of ifeval."""
    entries = [entry for value in raw for entry in value]
    if not all(isinstance(entry, bool) for entry in entries):
        return None
    mean = sum(entries) / len(entries)
    how = f"{name} is a share of each row; the mean of all {len(entries)} entries is {mean:.4g}"
    return _Listed([sum(value) / len(value) for value in raw], mean, how)


def _of_pairs(name: str, raw: Sequence[Any]) -> _Listed | None:
    """Pairs of the true class and the answer."""
    if not all(len(value) == 2 and {*map(type, value)} <= {int, bool} for value in raw):
        return None
    scores = [float(truth == answer) for truth, answer in raw]
    how = f"{name} is worked out over all rows; here a row is right where both of its pair agree"
    return _Listed(scores, math.fsum(scores) / len(raw), how, is_pairs=True)


def _of_logarithms(name: str, raw: Sequence[Any]) -> _Listed | None:
    """Pairs of a log-likelihood and a length."""
    if not all(len(value) == 2 and isinstance(value[0], float) and value[1] for value in raw):
        return None
    scores = [float(total / length) for total, length in raw]
    how = f"{name} is worked out over all rows; a row has its log-likelihood by length, more is better"
    return _Listed(scores, math.fsum(scores) / len(raw), how)


def _of_spans(name: str, raw: Sequence[Any]) -> _Listed | None:
    """Pairs of the true spans and those of the answer, as of named entities."""
    is_form = "f1" in name and all(len(value) == 2 and isinstance(value[0], str) for value in raw)
    counts = [_spans(truth, answer) for truth, answer in raw] if is_form else []
    hits, total = sum(hits for hits, _ in counts), sum(total for _, total in counts)
    if not total:
        return None
    mean = 2 * hits / total
    how = f"{name} is that of the spans of each row; of the spans of all rows it is {mean:.4g}"
    return _Listed([2 * hits / both if both else 1.0 for hits, both in counts], mean, how)


_LISTS = (_of_flags, _of_pairs, _of_logarithms, _of_spans)


class Metric:
    """One metric of a log: its number in each row.

    raw : what the log has. least : the score from which on an answer counts as right, None where the number itself
    counts. scores : the number of each row, None where it has none. mean : what the harness reports. how : how lists
    became numbers.
    """

    def __init__(self, name: str, raw: Sequence[Any]) -> None:
        self.name, self.raw, self.how, self.is_pairs = name, raw, "", False
        self.least: float | None = None
        self.scores = [
            value if type(value) is float and value - value == 0 else _score(value) for value in raw
        ]
        numbers = self.known
        self.mean = math.fsum(numbers) / len(numbers) if numbers else math.nan
        if numbers or not raw or not all(isinstance(value, list) and value for value in raw):
            return
        for form in _LISTS:
            listed = form(name, raw)
            if listed is not None:
                self.scores = [*listed.scores]
                self.mean, self.how, self.is_pairs = listed.mean, listed.how, listed.is_pairs
                return

    def __str__(self) -> str:
        return self.name if self.least is None else f"{self.name}>={self.least:g}"

    @property
    def known(self) -> list[float]:
        """The numbers that there are."""
        return [score for score in self.scores if score is not None]

    @property
    def is_number(self) -> bool:
        """Whether each row that has a value has a number."""
        return any(score is not None for score in self.scores) and all(
            score is not None or value is None
            for score, value in zip(self.scores, self.raw, strict=True)
        )

    @property
    def is_binary(self) -> bool:
        """Whether each number is 0 or 1."""
        return self.is_number and {*self.known} <= {0.0, 1.0}

    def option(self, task: str, with_threshold: bool = False) -> Remedy | None:
        """The option that takes this metric, with a threshold if wished; None where a row has no number."""
        if not self.is_number:
            return None
        name = self.name if not with_threshold else f"{self.name}>={_scale(self.known)[2]:g}"
        option = f"{task}={name}" if task else name
        return Remedy(f"`--metric {shlex.quote(option)}`", "--metric", option)

    def judged(
        self, rows: Sequence[int], file: str, all_of: Mapping[str, Metric]
    ) -> dict[str, list[Any]]:
        """``correct`` or ``score`` of each row. Raises `InputError` naming the first row without a number, and a
        threshold that lies outside of the scale.
        """
        if None in self.scores:
            at = self.scores.index(None)
            options = _options(metric for metric in all_of.values() if metric.name != self.name)
            another = f", or name another: {options[0]}" if options else ""
            got = repr(self.raw[at])[:60]
            remedy = f"find out what the scorer meant, or score the log again{another}"
            if not self.known and isinstance(self.raw[at], (list, dict)):
                remedy = f"the harness works {self.name} out over all rows at once, and no row has one{another}"
            remedy = Remedy(remedy, *(options[0].options if options else ()))
            raise InputError(
                "a number", got=got, remedy=remedy, file=file, row=rows[at], column=self.name
            )
        scores = self.known
        if self.least is None:
            return (
                {"correct": [score == 1.0 for score in scores]}
                if self.is_binary
                else {"score": scores}
            )
        low, high, _ = _scale(scores)
        if low < high and not low < self.least <= high:
            expected = f"a threshold within the scale, {low:g} to {high:g}"
            verdict = "right" if self.least <= low else "wrong"
            (option,) = _options([self], with_threshold=True)
            text = f"it would call all rows {verdict}; take for example {option}"
            remedy = Remedy(text, *option.options)
            raise InputError(
                expected, got=f"{self.least:g}", file=file, column=self.name, remedy=remedy
            )
        return {"correct": [score >= self.least for score in scores]}


def _score(value: Any) -> float | None:
    """A score as a number, None where it is none."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        try:
            value = float(word)
        except ValueError:
            return None
    return float(value) if isinstance(value, (bool, int, float)) and math.isfinite(value) else None


def _spans(truth: Any, answer: Any) -> tuple[int, int]:
    """Spans (``TAG: text``, parted by $$) that a row has in both, and the number of spans in both together."""
    both = []
    for entry in (truth, answer):
        text = "$$".join(map(str, entry)) if isinstance(entry, list) else str(entry)
        parts = (part.strip().lower() for part in text.split("$$"))
        both.append(Counter(part for part in parts if ": " in part))
    return (both[0] & both[1]).total(), both[0].total() + both[1].total()


def _scale(scores: Sequence[float]) -> tuple[float, float, float]:
    """Lowest and highest score that is possible, as far as is known, and the least one of the upper half."""
    # a share: whatever part of it was seen
    if not scores or (min(scores) >= 0 and max(scores) <= 1):
        return 0.0, 1.0, 0.5
    low, high = min(scores), max(scores)
    return low, high, min(score for score in scores if score > (low + high) / 2 or score == high)


def described(metrics: Mapping[str, Metric]) -> str:
    """Metrics by their names and what they hold, with the mean as a harness would report it."""
    out = []
    for name, metric in metrics.items():
        scores, about = metric.known, "no number a row"
        if metric.is_pairs:
            about = "worked out over all rows, as `evaluate` does"
        elif metric.is_number and (metric.how or metric.is_binary):
            about = f"{'0 or 1' if not metric.how else 'lists'}, mean {metric.mean:.4g}"
        elif metric.is_number:
            n, mean = len(scores), metric.mean
            variance = math.fsum((score - mean) ** 2 for score in scores) / max(n - 1, 1) / n
            about = f"{min(scores):g} to {max(scores):g}, mean {mean:.4g}, standard error {math.sqrt(variance):.3g}"
            if min(scores) >= 0 and max(scores) <= 1:
                lower, upper = wilson_from_variance(mean, variance, n, 0.95)
                about = f"mean {mean:.4g}, 95 % interval {lower:.3g} to {upper:.3g}"
        out.append(f"{name} ({about})")
    return ", ".join(out) or "none"


def choose_metric(
    metrics: Mapping[str, Metric],
    requested: str | None,
    file: str,
    lower: Collection[str] = (),
    remedy: str = "",
) -> Metric:
    """The metric that was named, or the main one: the first that is a number for each row and of which more is better,
    those that are worked out over all rows last. The others are named in a note.
    """
    if requested is None:
        return _main_metric(metrics, file, lower, remedy)
    match = None if requested in metrics else _AT_LEAST.fullmatch(requested)
    name = requested if match is None else match["name"]
    if name not in metrics:
        remedy = _naming("name one of them: ", metrics.values()) or remedy or "score the log first"
        raise InputError(
            "a metric of this log",
            got=f"{name!r}; there are {described(metrics)}",
            file=file,
            remedy=remedy,
        )
    if match is not None:
        try:
            metrics[name].least = float(match["least"])
        except ValueError:
            raise InputError(
                "a number behind >=", got=requested, remedy="write for example --metric 'f1>=0.5'"
            ) from None
    return metrics[name]


def _main_metric(
    metrics: Mapping[str, Metric], file: str, lower: Collection[str], remedy: str
) -> Metric:
    candidates = (metric for metric in metrics.values() if metric.known)
    ranked = sorted(candidates, key=lambda metric: bool(metric.how))
    for metric in ranked:
        if metric.name not in lower:
            return metric
    remedy = _naming("of these less is better; to read one all the same: ", ranked) or remedy
    raise NoMetric(
        "a metric that is a number for each row",
        got=described(metrics),
        file=file,
        remedy=remedy or "run the task with a metric, or score the log first",
    )


def _options(metrics: Iterable[Metric], with_threshold: bool = False) -> list[Remedy]:
    """The options that take these metrics, of those that are a number for each row."""
    every = (metric.option("", with_threshold) for metric in metrics)
    return [option for option in every if option is not None]


def _naming(text: str, metrics: Iterable[Metric]) -> str:
    """The remedy to name one of these metrics; empty where none is a number for each row."""
    options = _options(metrics)
    return Remedy(text + " or ".join(options), *options[0].options) if options else ""


class JsonStream:
    """The values of one JSON text one after the other, each parsed by the standard library once all of it was read."""

    _STEP = 1 << 20

    def __init__(self, stream: Any, file: str) -> None:
        self._stream, self._file, self._text, self._at = stream, file, "", 0
        self._decode, self._bytes = (
            json.JSONDecoder().raw_decode,
            codecs.getincrementaldecoder("utf-8-sig")(),
        )

    def _more(self) -> bool:
        rest = self._text[self._at :]
        check_row(len(rest), self._file)
        data = self._stream.read(max(self._STEP, len(rest)))
        self._text, self._at = rest + self._bytes.decode(data, final=not data), 0
        return bool(data)

    def peek(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            rest = self._text[self._at : self._at + 64].lstrip(" \t\r\n")
            if rest:
                self._at = self._text.index(rest[0], self._at)
                return rest[0]
            self._at = min(self._at + 64, len(self._text))
            if self._at == len(self._text) and not self._more():
                return ""

    def take(self, characters: str) -> str:
        """The next character, which is one of these."""
        character = self.peek()
        if not character or character not in characters:
            raise ValueError(f"expected {' or '.join(characters)}, got {character or 'the end'}")
        self._at += 1
        return character

    def value(self) -> Any:
        """The next value."""
        self.peek()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except ValueError:
                if not self._more():
                    raise
                continue
            if end == len(self._text) and self._more():  # a number may go on
                continue
            self._at = end
            return value

    def check_end(self, what: str, remedy: str) -> None:
        """Raise `InputError` where more comes behind ``what`` was read."""
        if self.peek():
            more = " ".join(self._text[self._at : self._at + 60].split())
            raise InputError(what, got=f"more behind it: {more!r}", file=self._file, remedy=remedy)

    def elements(self) -> Iterator[Any]:
        """The values of the array that comes next."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            yield self.value()
            if self.take(",]") == "]":
                return


def json_rows(file: str) -> Iterator[tuple[int, Json]]:
    """Objects with their row, from 1; blank lines are passed over. Raises `InputError` naming the row that is none."""
    with translated(file, "JSONL"), opened(file) as stream:
        head = stream.read(64).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if head.startswith("["):  # as releases up to 0.4.3 wrote them
        with translated(file, "JSON"), opened(file) as stream:
            json_stream, row = JsonStream(stream, file), 0
            for row, value in enumerate(json_stream.elements(), 1):
                yield row, _object(value, file, row)
            what = f"one JSON array, which begins in line 1 and has {row} row{'s' * (row != 1)}"
            json_stream.check_end(
                what, "write one object a line, without [ and ], or the whole file as one array"
            )
        return
    row, decode, limit = 0, json.JSONDecoder().raw_decode, most_row()
    with (
        translated(file, "JSONL"),
        opened(file) as source,
        io.BufferedReader(source, 1 << 20) as stream,
    ):
        for line in iter(partial(stream.readline, limit + 1), b""):
            if len(line) > limit:
                check_row(len(line), file)
            line = line.strip().removeprefix(b"\xef\xbb\xbf")
            if not line:
                continue
            row += 1
            try:
                # `json.loads` is slower by a third
                value, end = decode(text := line.decode("utf-8", "surrogatepass"))
                if end < len(text):
                    raise ValueError("more than one value")
            except ValueError:
                got = repr(line[:40].decode("utf-8", "replace")) + ("..." if len(line) > 40 else "")
                raise InputError(
                    "one JSON object a line",
                    got=got,
                    file=file,
                    row=row,
                    remedy="the log may be cut off: copy it again, or remove that line",
                ) from None
            yield row, value if type(value) is dict else _object(value, file, row)


def is_json_lines(path: str) -> bool:
    """Whether a file has an object a line, and more than one."""
    with (
        translated(path, "JSON"),
        opened(path) as source,
        io.BufferedReader(source, 1 << 20) as stream,
    ):
        first, second = stream.readline(most_row()).strip(), stream.readline(64).strip()
    return first.endswith(b"}") and second.startswith(b"{")


def read_json(file: str) -> Any:
    """A whole file of JSON. Raises `InputError` where a second text comes behind the first."""
    with translated(file, "JSON"), opened(file) as stream:
        text = JsonStream(stream, file)
        value = text.value()
        text.check_end("one JSON text a file", "write each log to a file of its own")
        return value


def _object(value: Any, file: str, row: int) -> Json:
    if not isinstance(value, dict):
        raise InputError(
            "a JSON object",
            got=type(value).__name__,
            file=file,
            row=row,
            remedy="check what wrote the log",
        )
    return value


def mapping(value: Any) -> Plain:
    """A mapping as it is, anything else as an empty one."""
    return value if isinstance(value, Mapping) else {}
