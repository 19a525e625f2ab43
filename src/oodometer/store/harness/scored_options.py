"""lm-evaluation-harness: options that were scored, and which of them is right, by target and metric."""

from __future__ import annotations

import ast
import json
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Ragged
from ...errors import InputError, Remedy
from ...fields import top_candidates
from ...plain import Strings
from .base import Answers, Metric, NoMetric

# Metrics that ask whether the best option is the right one; they differ in what makes an option the best.
_BY_SCORE = ("acc", "acc_norm", "acc_bytes", "acc_mutual_info")
BY_LENGTH = ("acc_norm", "acc_bytes")
_FAR = 1000.0  # behind all others: exp(-1000) is 0

_Gold = tuple[int, ...]  # positions of the right options; empty where the target cannot be read so


class _Target(NamedTuple):
    """What a target may mean: positions, letters or words that name the right options; whether it is numbers."""

    by_position: _Gold
    by_letter: _Gold
    words: list[str]
    is_numbers: bool


class _Outside(NamedTuple):
    """A row whose target is a position behind the options."""

    row: int
    target: str
    options: int


class _Pick(NamedTuple):
    """One way to the best option of each row; mixed: options with and without the prompt taken for one another."""

    scores: Ragged
    best: list[int]
    is_mixed: bool = False


class _Fit(NamedTuple):
    """Scores, the right options of each row where they can be read, and the harness's picks where it mixed options."""

    scores: Ragged
    golds: list[_Gold] | None
    picked: list[int] | None = None


@dataclass
class ScoredOptions:
    """Scores of the options of all rows, and what tells how the target is to be read; no text.

    scores : of all options, end to end. widths : how many of them each row has. splits : options, if the second half
    lacks the prompt, or 0. by_text : the right options; None once a target is no option. lengths : of options, end to
    end; 0 where unknown. blanks : 1 where all options of a row begin with a blank. options : those of every row, empty
    where rows differ. in_prompts : whether it is the prompts of the first row that differ, not its options. outside :
    the first such row. is_spare : whether nothing needs the texts of options.
    """

    first_target: str
    lengths: dict[str, array[int]]
    rows: array[int] = field(default_factory=lambda: array("q"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    widths: array[int] = field(default_factory=lambda: array("q"))
    splits: array[int] = field(default_factory=lambda: array("q"))
    targets: list[_Target] = field(default_factory=list)
    by_text: list[_Gold] | None = field(default_factory=list)
    blanks: array[int] = field(default_factory=lambda: array("q"))
    options: Strings | None = None
    in_prompts: bool = False
    outside: _Outside | None = None
    is_spare: bool = False

    def add(self, row: int, target: Any, requests: Sequence[Any], scores: Sequence[float]) -> None:
        """Add the scores of one row, what was asked and the target."""
        count, split = len(scores), 0
        read = _read if target.__hash__ else _read.__wrapped__
        meaning = read(target, count)
        if not (self.is_spare and meaning.by_position and _is_asked_alike(requests, count)):
            pairs = [
                (request[0], text_of(request[1]))
                for request in requests_of(requests)
                if len(request) > 1
            ]
            pairs = pairs if len(pairs) == count else []
            split = _half_without_prompt(pairs)
            count = split or count
            meaning = read(target, count)
            texts = [option for _, option in pairs[:count]]
            options = _distinct(texts)
            self._measure(texts, count)
            self._compare(options, is_known=bool(texts))
            self._find_words(row, target, meaning, options, count)
            self.is_spare = not (self.options or self.by_text is not None or self.lengths)
        self.rows.append(row)
        self.scores.extend(scores)
        self.widths.append(len(scores))
        self.targets.append(meaning)
        self.splits.append(split)

    def _measure(self, texts: Sequence[str], count: int) -> None:
        """Keep the lengths of options, as far as a metric needs them, and whether they begin with blanks."""
        for name, sizes in self.lengths.items():
            measured = [text.encode() for text in texts] if name == "acc_bytes" else texts
            sizes.extend([*map(len, measured)] or [0] * count)
        self.blanks.append(bool(texts) and all(text[:1].isspace() for text in texts))

    def _compare(self, options: Strings, *, is_known: bool) -> None:
        """Keep the options as long as every row has the same."""
        if self.options is None:
            self.options, self.in_prompts = options, is_known and not options
        elif self.options != options:
            self.options = ()

    def _find_words(
        self, row: int, target: Any, meaning: _Target, options: Strings, count: int
    ) -> None:
        """Find the words of the target among the options, as long as each row has its own there."""
        if self.by_text is None and (meaning.by_position or self.outside):
            return
        places = [options.index(word) if word in options else None for word in meaning.words]
        by_text = _gold(places, count)
        if not (meaning.by_position or by_text or self.outside):
            self.outside = _Outside(row, str(target), count)
        if self.by_text is not None:
            self.by_text.append(by_text)
            self.by_text = self.by_text if by_text else None

    def plain_fit(self, file: str) -> _Fit:
        """Log-likelihoods, and the right options where all ways to read the targets agree."""
        scores = self._ways("acc", file)[0]
        readings = self._readings(file)
        return _Fit(scores, readings[0] if readings and _is_one(readings) else None)

    def fit(self, metric: Metric, verdicts: Sequence[bool], file: str) -> _Fit:
        """Scores, and the right options of each row, that give the verdicts of a metric."""
        ways = self._ways("acc" if metric.is_pairs else metric.name, file)
        readings = self._readings(file)
        if not readings:
            return _Fit(ways[0], None)
        picks = [_Pick(scores, _best(scores)) for scores in ways]
        if all(self.splits):
            picks.append(_Pick(ways[0], self._mixed_best(metric), is_mixed=True))
        for pick in picks:
            fitting = [golds for golds in readings if _agree(pick.best, golds, verdicts)]
            if fitting and pick.is_mixed:
                return _Fit(pick.scores, fitting[0], pick.best)
            if fitting:  # "2" may be named or counted
                return _Fit(pick.scores, fitting[0] if _is_one(fitting) else None)
        raise self._disagreement(metric, picks[0].best, readings[0], verdicts, file)

    def _readings(self, file: str) -> list[list[_Gold]]:
        """The right options of each row, in each of the ways in which the targets of all rows can be read. Raises
        `InputError` where there is none, as one is a position behind the options.
        """
        by_position = [target.by_position for target in self.targets]
        by_letter = [target.by_letter for target in self.targets]
        readings = [golds for golds in (by_position, self.by_text or [()], by_letter) if all(golds)]
        numbers = all(target.is_numbers for target in self.targets)
        if self.outside is not None and numbers and not (readings or self.in_prompts):
            raise InputError(
                f"a position below {self.outside.options}, the number of options",
                got=self.outside.target,
                file=file,
                row=self.outside.row,
                column="target",
                remedy="the harness counts such a row as wrong whatever the model says: remove it",
            )
        return readings

    def _mixed_best(self, metric: Metric) -> list[int]:
        """How earlier releases picked an option, where each was asked about with and without the prompt."""
        ends = np.cumsum([0, *self.splits])
        first, second = (_finite(Ragged(np.array(self.scores[i::2]), ends)).values for i in (0, 1))
        return _best(Ragged(first - second * (metric.name != "acc"), ends))

    def _disagreement(
        self,
        metric: Metric,
        best: Sequence[int],
        golds: Sequence[_Gold],
        verdicts: Sequence[bool],
        file: str,
    ) -> InputError:
        """The error for the first row whose verdict is not whether the best option is the target."""
        rows = enumerate(zip(best, golds, verdicts, strict=True))
        at = next(i for i, (top, gold, verdict) in rows if (top in gold) != verdict)
        outcome = f"{metric.name} {int(verdicts[at])}, the best option {best[at]}"
        remedy = "this task defines the metric in its own way; to take its verdicts as they are, "
        return InputError(
            f"{metric.name} to say whether the best option is the target",
            got=f"{outcome}, the target {', '.join(map(str, golds[at]))}",
            file=file,
            row=self.rows[at],
            remedy=Remedy(
                f"{remedy}`--metric '{metric.name}>=1'`", "--metric", f"{metric.name}>=1"
            ),
        )

    def _ways(self, metric: str, file: str) -> list[Ragged]:
        """Scores by which the metric picks the best option; two where the log does not say how long an option is."""
        splits, scores = np.array(self.splits), np.array(self.scores)
        plain = Ragged(scores, np.cumsum([0, *self.widths]))
        if splits.any():
            widths = np.where(splits, splits, self.widths)
            is_first = np.arange(len(scores)) < np.repeat(plain.offsets[:-1] + widths, self.widths)
            plain = Ragged(scores[is_first], np.cumsum([0, *widths]))
            if metric == "acc_mutual_info" and splits.all():
                without = _finite(Ragged(scores[~is_first], plain.offsets))
                return [Ragged(_finite(plain).values - without.values, plain.offsets)]
        if metric not in _BY_SCORE[1:]:
            return [plain]
        what, lacks = "pairs with and without the prompt", splits == 0
        if metric in self.lengths:
            sizes = Ragged(np.array(self.lengths[metric]), plain.offsets)
            what, lacks = "the text of each option", sizes.minima() == 0
            if not lacks.any():
                # the blank before an option is not counted, where the harness put it there
                both = sizes.values - np.repeat(self.blanks, plain.lengths), sizes.values
                return [
                    Ragged(plain.values / divisor, plain.offsets)
                    for divisor in both
                    if divisor.all()
                ]
        row = self.rows[int(np.argmax(lacks))]
        raise InputError(
            what,
            got="none in `arguments`",
            file=file,
            row=row,
            remedy="take the plain log-likelihoods: --metric acc",
        )


def take_options(out: Answers, options: ScoredOptions, metric: Metric | None) -> None:
    """Fill in the scores, the right option where the log tells it, and the classes where all rows have one set of
    options.
    """
    # the target is a position, a text or a letter, and does not say which: each way is tried against the metric
    verdicts = _verdicts(out, metric)
    if metric is None or verdicts is None:
        fit = options.plain_fit(out.file)
    else:
        fit = options.fit(metric, verdicts, out.file)
    scores, golds, picked = fit
    out.columns["candidate_scores"] = _finite(scores)
    if np.isinf(scores.values).any():
        out.notes.append(f"{out.task}: options of log-likelihood -inf get a probability of 0")
    if golds is not None and picked is not None:
        out.columns["prediction"] = picked
        agrees = [best in gold for best, gold in zip(_best(scores), golds, strict=True)]
        text = f"{out.task}: this release of the harness took options with and without the prompt for one another; "
        out.warnings.append(
            f"{text}{metric} is its own verdict, by the log-likelihoods it would be {np.mean(agrees):.4g}"
        )
    if golds is None and verdicts is not None and (scores.lengths == 2).all():
        golds = _golds_of_two(_best(scores), verdicts)
    if golds is None and metric is None:
        raise NoMetric(
            "the right option, or a metric",
            got=options.first_target,
            file=out.file,
            row=options.rows[0],
            column="target",
            remedy="a log without both does not say what is right",
        )
    # a target that no metric was held against may be one of several right options
    if golds is not None and (metric is None or verdicts is not None):
        _take_label(out, options, fit._replace(golds=golds))


def _take_label(out: Answers, options: ScoredOptions, fit: _Fit) -> None:
    """Fill in the right option, where each row has one, and the options as classes."""
    golds = fit.golds or ()
    if all(len(gold) == 1 for gold in golds):
        out.columns["label"] = [gold[0] for gold in golds]
        out.label_decides = fit.picked is None
        out.classes = _classes(options.options or (), fit.scores)


def _verdicts(out: Answers, metric: Metric | None) -> Sequence[bool] | None:
    """The verdicts of a metric that says of each row whether the best option is the right one."""
    if metric is None or metric.least is not None:
        return None
    return out.columns.get("correct") if metric.name in _BY_SCORE or metric.is_pairs else None


def _golds_of_two(best: Sequence[int], verdicts: Sequence[bool]) -> list[_Gold]:
    """The right one of two options: the best one where the verdict says so, else the other."""
    pairs = zip(best, verdicts, strict=True)
    return [(top if right else 1 - top,) for top, right in pairs]


def _classes(options: Strings, scores: Ragged) -> Strings | None:
    """The options, where they are classes: letters name options that differ from row to row, and a handful of rows
    does not show that they are the same.
    """
    letters = tuple(chr(ord("A") + i) for i in range(len(options)))
    is_lettered = tuple(option.strip("().").upper() for option in options) == letters
    is_same = 0 < len(set(options)) == len(options) == len(scores[0])
    is_seen_often = len(scores) >= 5 * len(options)
    return options if is_same and is_seen_often and not is_lettered else None


def _is_one(readings: Sequence[Sequence[_Gold]]) -> bool:
    """Whether all readings name the same options."""
    return all(golds == readings[0] for golds in readings)


def _agree(best: Sequence[int], golds: Sequence[_Gold], verdicts: Sequence[bool]) -> bool:
    """Whether the best option is a right one just where the verdict says so."""
    rows = zip(best, golds, verdicts, strict=True)
    return all((top in gold) == verdict for top, gold, verdict in rows)


def _best(scores: Ragged) -> list[int]:
    """Position of the largest score of each row, the first among ties, as the harness has it."""
    return list(top_candidates(scores, scores).best.tolist())


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


def _is_asked_alike(requests: Sequence[Any], count: int) -> bool:
    """Whether the second half of the requests has a prompt as the first has, as far as its first one tells."""
    half = count // 2
    middle = requests[half] if half < len(requests) else ()
    parts = middle.values() if isinstance(middle, dict) else middle
    return half < 2 or bool(next(iter(parts), None))


def _half_without_prompt(pairs: Sequence[tuple[Any, str]]) -> int:
    """The number of options, where the second half asks for those of the first without the prompt; else 0."""
    half = len(pairs) // 2
    if half < 2 or pairs[half][0]:
        return 0
    first, second = pairs[:half], pairs[half:]
    is_split = (
        not any(prompt for prompt, _ in second)
        and any(prompt for prompt, _ in first)
        and [option.strip() for _, option in first] == [option.strip() for _, option in second]
    )
    return half if is_split else 0


def _distinct(texts: Sequence[str]) -> Strings:
    """Options without blanks around them; none where all are one text, as then it is the prompts that differ."""
    options = tuple([text.strip() for text in texts])
    return options if len({*options}) > 1 else ()


@lru_cache(1 << 12, typed=True)
def _read(target: Any, count: int) -> _Target:
    """What a target means for so many options."""
    targets = targets_of(target)
    words = [text.strip() if isinstance(text, str) else str(text) for text in targets]
    places = [
        int(word) if word.lstrip("-").isdecimal() and len(word) < 20 else None for word in words
    ]
    letters = [] if None not in places else [word.strip("().").upper() for word in words]
    by_letter = _gold([ord(text) - ord("A") if len(text) == 1 else None for text in letters], count)
    return _Target(_gold(places, count), by_letter, words, None not in places)


def _gold(places: Sequence[int | None], count: int) -> _Gold:
    """Positions of the right options, in order; none where one of them is no option."""
    right = [position for position in places if position is not None and 0 <= position < count]
    return tuple(sorted({*right})) if len(right) == len(places) else ()


def targets_of(target: Any) -> list[Any]:
    """One target or several: a list may come as its text, "[0, 2]"."""
    if isinstance(target, str) and target.startswith("[") and target.endswith("]"):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            target = ast.literal_eval(target)
    return list(target) if isinstance(target, list) else [target]


def requests_of(requests: Iterable[Any]) -> list[list[Any]]:
    """What a row asked: of each request its parts, such as the prompt and an option."""
    return [
        list(request.values()) if isinstance(request, dict) else list(request)
        for request in requests
    ]


def text_of(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
