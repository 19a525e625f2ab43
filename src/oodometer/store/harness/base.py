"""Base: what is asked of a log, and what every reader of logs gives."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import InputError
from ...intervals import wilson_from_variance
from ..files import check_row, most_row, opened, translated

_WORDS = dict.fromkeys(("c", "correct", "true", "yes"), 1.0) | {"p": 0.5}
_WORDS |= dict.fromkeys(("i", "n", "incorrect", "false", "no"), 0.0)
_AT_LEAST = re.compile(r"(?P<name>.+?)\s*>=\s*(?P<least>-?[0-9.]+(e-?[0-9]+)?)")


class Metric:
    """One metric of a log; ``least``: the score from which on an answer counts as right, None where it is 0 or 1
    anyway.
    """

    def __init__(self, name: str, least: float | None = None) -> None:
        self.name, self.least = name, least

    def __str__(self) -> str:
        return self.name if self.least is None else f"{self.name}>={self.least:g}"

    def verdict(self, value: Any) -> bool | None:
        """Whether the answer is right; None where the value tells neither."""
        score = _score(value)
        if score is None:
            return None
        if self.least is not None:
            return score >= self.least
        return bool(score) if score in (0.0, 1.0) else None

    def verdicts(self, metrics: Mapping[str, Sequence[Any]], rows: Sequence[int], file: str) -> list[bool]:
        """Whether each answer is right; ``rows`` are their numbers in the file. Raises `InputError` naming the first
        row whose value is neither, and a threshold that lies outside of the scale; it gives the mean, which is what a
        harness reports.
        """
        values = metrics[self.name]
        verdicts = [self.verdict(value) for value in values]
        scores = [score for value in values if (score := _score(value)) is not None]
        low, high, _ = _scale(scores)
        others = [name for name, column in metrics.items() if name != self.name and _is_plain(column)]
        another = f"name another: `--metric {shlex.quote(others[0])}`" if others else ""
        if None not in verdicts:
            if self.least is not None and low < high and not low < self.least <= high:
                expected, verdict = f"a threshold within the scale, {low:g} to {high:g}", ("wrong", "right")
                remedy = f"it would call all rows {verdict[self.least <= low]}; take for example "
                remedy += str(_option(self.name, values))
                raise InputError(expected, got=f"{self.least:g}", file=file, column=self.name, remedy=remedy)
            return [bool(verdict) for verdict in verdicts]
        at = verdicts.index(None)
        got = repr(values[at])[:60]
        if len(scores) == len(values):
            got += f" ({_mean(scores)})"
            remedy = "no row is right or wrong by it: say from where on it counts as right, "
            remedy += f"{_option(self.name, values)}" + (another and f", or {another}")
        elif all(isinstance(value, (list, dict)) for value in values):
            remedy = f"the harness works {self.name} out over all rows at once, and no row is right or wrong by it"
            if each := _verdicts_in_lists(values):
                got += f" (mean {sum(each) / len(each):.4g} of the {len(each)} entries of all rows)"
                remedy = "a row with several verdicts is neither right nor wrong"
            remedy += f"; {another or 'give the task a metric that is a number for each row, and run it again'}"
        else:
            remedy = "find out what the scorer meant, or score the log again" + (another and f", or {another}")
        expected = "a metric that is 0 or 1" if self.least is None else "a number"
        raise InputError(expected, got=got, remedy=remedy, file=file, row=rows[at], column=self.name)


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
    if not isinstance(value, (bool, int, float)) or math.isnan(value):
        return None
    return float(value)


def _verdicts_in_lists(values: Sequence[Any]) -> list[Any]:
    """All entries of lists of true and false; none where some value is another, such as a pair (right, predicted)."""
    entries = [entry for value in values for entry in (value if isinstance(value, list) else [None])]
    return entries if all(isinstance(entry, bool) for entry in entries) else []


def _scale(scores: Sequence[float]) -> tuple[float, float, float]:
    """Lowest and highest score that is possible, as far as is known, and the least one of the upper half."""
    if not scores or (min(scores) >= 0 and max(scores) <= 1):  # a share: whatever part of it was seen
        return 0.0, 1.0, 0.5
    low, high = min(scores), max(scores)
    return low, high, min(score for score in scores if score > (low + high) / 2 or score == high)


def _is_plain(values: Sequence[Any]) -> bool:
    """Whether every value is 0 or 1."""
    return all(Metric("").verdict(value) is not None for value in values)


def _mean(scores: Sequence[float]) -> str:
    """The mean as a harness would report it: with an interval of a share, with its standard error on other scales."""
    n, mean = len(scores), math.fsum(scores) / len(scores)
    variance = math.fsum((score - mean) ** 2 for score in scores) / max(n - 1, 1) / n
    if min(scores) >= 0 and max(scores) <= 1:
        lower, upper = wilson_from_variance(mean, variance, n, 0.95)
        return f"mean {mean:.4g}, 95 % interval {lower:.3g} to {upper:.3g}"
    return f"{min(scores):g} to {max(scores):g}, mean {mean:.4g}, standard error {math.sqrt(variance):.3g}"


def described(metrics: Mapping[str, Sequence[Any]]) -> str:
    """Metrics by their names and what they hold."""
    out = []
    for name, values in metrics.items():
        scores = [_score(value) for value in values if value is not None]
        numbers = [score for score in scores if score is not None]
        if each := _verdicts_in_lists(values):
            about = f"lists, mean {sum(each) / len(each):.4g} of all entries"
        elif not numbers or len(numbers) < len(scores):
            about = "no number a row"
        else:
            about = f"0 or 1, mean {sum(numbers) / len(numbers):.4g}" if _is_plain(numbers) else _mean(numbers)
        out.append(f"{name} ({about})")
    return ", ".join(out) or "none"


def choose_metric(
    columns: Mapping[str, Sequence[Any]], wanted: str | None, file: str, usual: Sequence[str] = ()
) -> Metric:
    """The metric that was asked for, the first usual one, or the only one of ``columns`` (name -> values). Which of
    several means "right" nobody but the user can say: the one that happens to be 0 or 1 may be a check of the format.
    """
    several = described(columns)
    if wanted is not None:
        match = _AT_LEAST.fullmatch(wanted)
        name = wanted if match is None or wanted in columns else match["name"]
        if name not in columns:
            remedy = f"name one of them: {_options(columns)}" if columns else "score the log first"
            raise InputError("a metric of this log", got=f"{name!r}; there are {several}", file=file, remedy=remedy)
        try:
            return Metric(name, None if name == wanted or match is None else float(match["least"]))
        except ValueError:
            raise InputError("a number behind >=", got=wanted, remedy="write for example --metric 'f1>=0.5'") from None
    first = next((name for name in usual if name in columns), None)
    if first is None and len(columns) != 1:
        remedy = "run the task with a metric, or score the log first"
        remedy = f"name the one that says what is right: {_options(columns)}" if columns else remedy
        raise InputError("one metric", got=several, file=file, remedy=remedy)
    return Metric(first or next(iter(columns)))


def _options(columns: Mapping[str, Sequence[Any]]) -> str:
    """The options of all metrics that can be taken, as they are typed."""
    return " or ".join(filter(None, (_option(name, values) for name, values in columns.items()))) or "none can be taken"


def _option(name: str, values: Sequence[Any]) -> str | None:
    """The option that takes a metric, with a threshold where it needs one; None where no row has a number."""
    if _is_plain(values):
        return f"`--metric {shlex.quote(name)}`"
    scores = [_score(value) for value in values]
    numbers = [score for score in scores if score is not None]
    if not numbers or len(numbers) < len(scores):
        return None
    return f"`--metric {shlex.quote(f'{name}>={_scale(numbers)[2]:g}')}`"


def json_rows(file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects with their row, from 1; blank lines are passed over. Raises `InputError` naming the row that is none."""
    with translated(file, "JSONL"), opened(file) as stream:
        head = stream.read(64).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if head.startswith("["):  # as releases up to 0.4.2 wrote them
        for row, value in enumerate(read_json(file), 1):
            yield row, _object(value, file, row)
        return
    for row, line in enumerate(_lines(file), 1):
        try:
            found = json.loads(line)
        except ValueError:
            got = repr(line[:40].decode("utf-8", "replace")) + ("..." if len(line) > 40 else "")
            remedy = "the log may be cut off: copy it again, or remove that line"
            raise InputError("one JSON object a line", got=got, file=file, row=row, remedy=remedy) from None
        yield row, _object(found, file, row)


def read_json(file: str) -> Any:
    """A whole file of JSON."""
    with translated(file, "JSON"), opened(file) as stream:
        return json.loads(stream.read())


def _lines(file: str) -> Iterator[bytes]:
    """Lines that are not blank, without a byte order mark."""
    most, rest = most_row(), b""
    with translated(file, "JSONL"), opened(file) as stream:
        while data := stream.read(1 << 20):
            *whole, rest = (rest + data).split(b"\n")
            yield from (line for part in whole if (line := part.strip().removeprefix(b"\xef\xbb\xbf")))
            if len(rest) > most:
                check_row(len(rest), file)
    if line := rest.strip().removeprefix(b"\xef\xbb\xbf"):
        yield line


def _object(value: Any, file: str, row: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        remedy = "check what wrote the log"
        raise InputError("a JSON object", got=type(value).__name__, file=file, row=row, remedy=remedy)
    return value


@dataclass(frozen=True)
class LogOptions:
    """What is taken from a log.

    metric : the metric or scorer that says what is right, ``NAME>=X`` for a score that counts from X on. filter : the
    filter of lm-evaluation-harness whose answers are taken. keep_input : whether the prompts are kept.
    """

    metric: str | None = None
    filter: str | None = None
    keep_input: bool = False


@dataclass
class Answers:
    """What one log holds: ids name its rows, columns are fields of a record -> one value a row; ``label_decides`` says
    whether label == prediction was checked against the log's own metric in each row; skipped are rows without an
    answer, with the reason.
    """

    file: str
    task: str
    model: str | None = None
    ids: list[str] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    metric: str = ""
    label_decides: bool = False
    skipped: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
