"""Guessing: which of a team's own columns are label, prediction and probabilities, where one reading alone is left.

Names say what a column may be, the first rows whether it is: probabilities of the classes sum to 1, a decision is what
a threshold makes of its probability, and a label goes with both by more than chance. Where they contradict each other,
or leave two readings, nothing is read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow.types as pt

from ..arrays import Array
from ..audits.joining import looking_like_keys
from ..errors import InputError, MissingColumnsError, OodometerError
from ..scores import stated_confidence
from ..store import Source, as_source
from ..store.base import name_order
from ..store.cells import dictionary, plain
from ..store.columns import as_options, bare_name, class_names, usual_field
from ..store.encoding import raw_numbers
from .confidences import REPEATS, as_read, is_stated, may_repeat

_ROWS, _LEAST_ROWS, _ROWS_OF_TIMES = 20_000, 20, 100  # that are looked at, that a test needs, that show times
_TIME = re.compile(r"\d{4}[-/]\d\d?[-/]\d\d?([ T]\d\d:\d\d.*)?")
_MOST_CLASSES, _MOST_NUMBERS = 1_000, 100  # more whole numbers are counts or amounts
_SURE = 0.95  # area under the curve of a column for the rows that are predicted as a class
_BEYOND = 3.0  # standard errors by which a label goes with the outputs beyond chance
_DECISION_OF = ("predicted_{}", "prediction_{}", "pred_{}", "{}_pred", "{}_predicted", "{}_prediction")
_SCORED = {"probabilities", "logits", "confidence", "candidate_scores", "token_logprobs"}
_SCORED |= {"member_probabilities", "votes"}
_TRUTH = {"label", "correct"}


@dataclass(frozen=True)
class Guess:
    """Renamings, theirs -> ours; a doubt; notes on what is not read; time, id and inputs, for a whole command."""

    renamings: Mapping[str, str]
    doubt: str = ""
    notes: tuple[str, ...] = ()
    more: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """What was read, as a sentence."""
        wide = {c: ours[5:] for c, ours in self.renamings.items() if ours.startswith("prob_")}
        lone = sorted((ours, c) for c, ours in self.renamings.items() if c not in wide)
        read = [f"{c} as {ours}" for ours, c in lone]
        if len(wide) == 1:
            read += [f"{c} as the probability of class {name}" for c, name in wide.items()]
        elif wide:
            some, end = ", ".join([*wide][:3]), ", ..." if len(wide) > 3 else ""
            names = f"the {len(wide)} classes" if end else ", ".join(wide.values())
            read.append(f"{some}{end} as the probabilities of {names}")
        return as_read(", ".join(read))


class _Column:
    """The first rows of a column: texts of its classes, where it may hold some, and numbers, where it holds some."""

    def __init__(self, cells: Any, name: str, source: Any) -> None:
        self.classes: list[str] = []
        self.texts, self.numbers = np.full(len(cells), None, dtype=object), np.full(len(cells), np.nan)
        self.differs = False  # in every row, as an id does
        with suppress(InputError):
            coded = dictionary(plain(cells), name, source.raw_text)
            known = sorted({str(value) for value in coded.values if value is not None})
            most = _MOST_NUMBERS if isinstance(class_names(known)[0] if known else "", int) else _MOST_CLASSES
            self.differs = len(known) == len(cells) > 1
            texts = [*(None if value is None else str(value) for value in coded.values), None]
            self.texts = np.array(texts, dtype=object)[coded.codes]
            if 1 < len(known) <= most and (not self.differs or len(cells) < _LEAST_ROWS):
                self.classes = [str(class_) for class_ in name_order(class_names(known))]
        some = [text for text in self.texts[:_ROWS_OF_TIMES] if text is not None]
        self.is_time = pt.is_temporal(cells.type) or (bool(some) and all(map(_TIME.fullmatch, some)))
        with suppress(InputError):
            numbers = raw_numbers(cells, name, source.raw_text, source.decimal_comma)
            self.numbers = numbers if np.isfinite(numbers).mean() > 0.9 else self.numbers
        if is_stated(name) and (np.isnan(self.numbers).all() or np.nanmax(self.numbers) > 1):
            with suppress(InputError):
                self.numbers, _ = stated_confidence(cells.to_pylist(), name)
        if is_stated(name) and np.isnan(self.numbers).any():  # none for some rows: compared, and never taken unasked
            self.numbers = np.full(len(cells), np.nan)
        some = self.numbers[np.isfinite(self.numbers)]
        self.varies = len(np.unique(some)) > 2
        self.is_unit = bool(len(some) and some.min() >= 0 and some.max() <= 1)
        self.is_share = self.is_unit and self.varies

    def tells(self, other: _Column) -> str | None:
        """The one of two classes of another column whose rows have the larger numbers, nearly all of them."""
        known = np.isfinite(self.numbers) & np.isin(other.texts, other.classes)
        if len(other.classes) != 2 or known.sum() < _LEAST_ROWS:
            return None
        area = _area(self.numbers[known], other.texts[known] == other.classes[1])
        return other.classes[1] if area >= _SURE else other.classes[0] if area <= 1 - _SURE else None

    def is_calibrated(self, label: _Column) -> bool:
        """Whether it tells the second of two classes better than the frequency of that class does."""
        y = label.texts == label.classes[-1]
        return len(label.classes) == 2 and bool(np.nanmean((self.numbers - y) ** 2) < 0.95 * y.var())

    def goes_with(self, label: _Column) -> float:
        """As `_beyond_chance`, of the class in each row."""
        same = self.texts[:, None] == np.array(self.classes, dtype=object)
        return _beyond_chance(same.astype(float), self.classes, label.texts)


def _beyond_chance(probabilities: Array, classes: Sequence[str], truth: Array) -> float:
    """Standard errors by which the probability of the true class lies above what it would be if both were independent;
    probabilities have the shape (sample, class).
    """
    known = np.isfinite(probabilities).all(axis=1) & np.isin(truth, classes)
    place = {name: k for k, name in enumerate(classes)}
    at, p = np.array([place[name] for name in truth[known]], dtype=int), probabilities[known]
    if len(at) < 3:
        return 0.0
    excess = p[np.arange(len(at)), at] - p @ (np.bincount(at, minlength=len(classes)) / len(at))
    error = float(excess.std()) / len(at) ** 0.5
    return float(excess.mean()) / error if error else 0.0


def _area(values: Array, is_positive: Array) -> float:
    """Area under the ROC curve, 0.5 where one kind of rows is absent."""
    n, m = int(is_positive.sum()), int((~is_positive).sum())
    if not n or not m:
        return 0.5
    _, cell, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2
    return (float(rank[cell][is_positive].sum()) - n * (n + 1) / 2) / (n * m)


class _Reader:
    """Reads one source beside others without labels; `guess` says what it does."""

    def __init__(self, source: Any, others: Sequence[Source], taken: Collection[str], repair: bool) -> None:
        self.source, self.others, feeds = source, others, source.layout.feeds
        block = feeds.get("probabilities") if repair else None
        wide = block.columns if block is not None and block.wide else ()
        self.fed = {name: feeds[name].columns[0] for name in ("label", "prediction", "correct") if name in feeds}
        scores = feeds["score"].columns if "score" in feeds else ()  # a probability where one is asked for
        self.own = tuple(dict.fromkeys((*wide, *(c for c in (*source.own_columns, *scores) if c not in taken))))
        names = list(dict.fromkeys((*self.fed.values(), *self.own)))
        self.column: dict[str, _Column] = {}
        if names:
            with closing(cast(Any, source.raw(names))) as batches:
                batch = next(batches).slice(0, _ROWS)
            self.column = {name: _Column(batch.column(i), name, source) for i, name in enumerate(names)}
        self.usual = {name: "probabilities" if name in wide else usual_field(name) for name in self.own}
        lone = [c for c in self.own if c not in wide or len(wide) == 1]  # not one of the columns of all classes
        self.scored = [c for c in lone if self.usual[c] in ("probabilities", "confidence")]
        self.renamings: dict[str, str] = {}
        self.doubt = ""
        self.has_scores = bool(_SCORED & {*source.fields}) and not wide

    def of(self, field: str) -> _Column | None:
        """The column that a field is read from."""
        name = next((c for c, ours in self.renamings.items() if ours == field), self.fed.get(field))
        return None if name is None else self.column[name]

    def choose(self, field: str, names: Iterable[str]) -> None:
        """Read the one column as the field; two of them are a doubt."""
        some = [*names]
        self.renamings |= dict.fromkeys(some[:1], field)
        if len(some) > 1:
            self.doubt = self.doubt or f"{some[0]} and {some[1]}, either of which may be the {field}"

    def run(self, truth: bool) -> Guess:
        """The guess; ``truth``: the source holds it."""
        fields = {*self.source.fields}
        free = [name for name in self.own if self.column[name].classes]
        bare = {bare_name(name): name for name in free}
        formed = [(bare.get(form.format(bare_name(t))), t) for t in free for form in _DECISION_OF]
        pairs = [(f, t) for f, t in formed if f is not None]
        if "prediction" not in fields:
            self.choose("prediction", [f for f, _ in pairs] or [c for c in free if self.usual[c] == "prediction"])
        if truth and not _TRUTH & fields:
            self.choose("label", [t for _, t in pairs] or [c for c in free if self.usual[c] == "label"])
            if self.of("label") is None:
                verdicts = {"0", "1", "true", "false", "True", "False"}
                right = [c for c in free if self.usual[c] == "correct" and {*self.column[c].classes} <= verdicts]
                self.choose("correct", right)
            if not _TRUTH & {*self.renamings.values()}:
                self._truth_by_values([c for c in free if self.usual[c] is None and c not in self.renamings])
        notes = () if self.has_scores else self._scores()
        self._check()
        times = [c for c in self.own if self.usual[c] == "time"] or [c for c in self.own if self.column[c].is_time]
        keys = [c for c in looking_like_keys(self.source) if c in self.own and c not in self.renamings]
        more = {times[0]: "time"} if len(times) == 1 and "time" not in fields else {}
        if len(keys) == 1 and self.column[keys[0]].differs and not self.source.holds("id"):
            more[keys[0]] = "id"
        rest = [c for c in self.own if self.usual[c] is None and c not in {*keys, *self.renamings}]
        rest = [c for c in rest if self.column[c].varies or self.column[c].classes]
        features = tuple(c for c in rest if all(c in other.columns for other in self.others))
        changed = {c: ours for c, ours in self.renamings.items() if c != ours}
        return Guess(changed, self.doubt, notes, more, features)

    def _truth_by_values(self, free: Sequence[str]) -> None:
        """The label under a name that says nothing: what the others lack and the prediction's classes are in."""
        decision = self.of("prediction")
        if decision is not None:
            free = [c for c in free if {*self.column[c].classes} & {*decision.classes}]
        lacking = [c for c in free if self.others and not any(c in other.columns for other in self.others)]
        pairs = [c for c in lacking if len(self.column[c].classes) == 2] if decision is None else []
        self.choose("label", pairs or lacking)
        if lacking:
            return
        shares = [c for c in self.scored if self.column[c].is_share]
        if decision is not None:
            free = [c for c in free if {*self.column[c].classes} == {*decision.classes}]
            free = [c for c in free if decision.goes_with(self.column[c]) > _BEYOND]
        else:
            free = [c for c in free if len(shares) == 1 and self.column[shares[0]].is_calibrated(self.column[c])]
        self.choose("label", free)
        if free:  # the rows tell, but a column in every file may be an input, too
            what = "the prediction" if decision is not None else shares[0]
            self.doubt = self.doubt or f"{free[0]}, which goes with {what} as a label does, but so may an input"

    def _scores(self) -> tuple[str, ...]:
        """Read probabilities, one for each class or a lone one, or confidences; notes on what is not read."""
        decision, label = self.of("prediction"), self.of("label")
        blocks = self._blocks()
        if blocks:
            first, *others = blocks
            self.renamings |= {column: f"prob_{name}" for column, name in first.items()}
            if others:
                text = f"{', '.join(first)} and {', '.join(others[0])}, either of which may be the probabilities"
                self.doubt = self.doubt or text
            return ()
        shares = [c for c in self.scored if self.column[c].is_share]
        shares += [c for c in self.own if self.usual[c] == "prediction" and self.column[c].is_share]
        unnamed = [c for c in self.own if self.usual[c] is None and self.column[c].is_share]
        if not self.scored and not shares and decision is None and label is not None and len(unnamed) == 1:
            shares = unnamed if self.column[unnamed[0]].is_calibrated(label) else []
        several = {c: kind for c in shares if (kind := self._kind(c, decision, label))[0]}
        kinds = {c: kind for c, kind in several.items() if not kind[1]} or several
        if len(kinds) > 1 and {ours for ours, _ in kinds.values()} == {"confidence"}:  # each is, and one is taken
            name, *more = kinds
            self.renamings[name] = "confidence"
            return (f"{', '.join(more)} may be the confidence, too: `evaluate` says which orders errors best",)
        if len(kinds) == 1 or (kinds and decision is None):
            name, *more = kinds
            self.renamings[name], doubt = kinds[name]
            doubt = f"{name} and {more[0]}, either of which may be the probability" if more else doubt
            self.doubt = self.doubt or doubt
            return ()
        return self._unread([*kinds] or self.scored, unnamed, decision)

    def _kind(self, name: str, decision: _Column | None, label: _Column | None) -> tuple[str, str]:
        """What a lone column between 0 and 1 is, ours, and a doubt about it; "" where values contradict its name."""
        column, verdict = self.column[name], self.of("correct")
        right = None if verdict is None else np.isin(verdict.texts, ("1", "true", "True"))
        if decision is not None:
            told = column.tells(decision)
            if told is not None:
                return f"prob_{told}", ""
            right = decision.texts == label.texts if label is not None else right
            least = 1 / len(decision.classes) - 0.01
            if not self.renamings or self.usual[name] == "prediction" or np.nanmin(column.numbers) < least:
                return "", ""
        if right is not None:
            return "confidence" if _area(column.numbers, right) > 0.5 else "", ""
        if label is None:
            return "prob_1" if decision is None and self.usual[name] == "probabilities" else "", ""
        if len(label.classes) != 2:
            return "", ""
        first, second = label.classes
        beyond = _beyond_chance(np.column_stack([1 - column.numbers, column.numbers]), label.classes, label.texts)
        if abs(beyond) < _BEYOND:
            return f"prob_{second}", f"{name}, which goes with the label no better than chance"
        numbered = {first, second} <= {"0", "1", "-1"}
        doubt = f"{name}, which is higher where the label is {first}" if numbered and beyond < 0 else ""
        return f"prob_{second if beyond > 0 else first}", doubt

    def _blocks(self) -> list[dict[str, str]]:
        """Columns of one head and one tail around the names of all classes, or around 0, 1, ..., whose rows sum to 1;
        column -> class.
        """
        shares = [c for c in self.own if self.column[c].is_unit]
        known = [column.classes for name in ("prediction", "label") if (column := self.of(name)) is not None]
        numbered = {c[len(c.rstrip("0123456789")) :] for c in shares} - {""}
        known += [["false", "true"], *([*map(str, range(len(names)))] for names in (*known, numbered))]
        out: dict[frozenset[str], dict[str, str]] = {}
        for classes in known:
            groups: dict[tuple[str, str], dict[str, str]] = {}
            for column in shares if len(classes) > 1 else ():
                for name in classes:
                    at = column.lower().rfind(name.lower())
                    head, own, tail = column[: max(at, 0)], column[at : at + len(name)], column[at + len(name) :]
                    edges = (head[-1:], own[:1]), (own[-1:], tail[:1])  # no signs of one word or number
                    inside = any(a.isalnum() and b.isalnum() and a.isdigit() == b.isdigit() for a, b in edges)
                    if at >= 0 and not inside:
                        groups.setdefault((head, tail), {})[column] = own
            for (head, tail), columns in groups.items():
                around = [c for c in shares if c.startswith(head) and c.endswith(tail) and len(c) > len(head + tail)]
                wide = {c: c[len(head) : len(c) - len(tail)] for c in around} if head + tail else columns
                for some in (columns, wide):
                    varies = any(self.column[c].varies for c in some)  # indicators of a category sum to 1, too
                    if varies and len(some) >= max(2, len(classes)) and (named := self._class_names(some)) is not None:
                        out.setdefault(frozenset(some), named)
                        break
        return [*out.values()]

    def _class_names(self, columns: dict[str, str]) -> dict[str, str] | None:
        """Columns with the names that the labels have for what they count or name; None where rows contradict."""
        p = np.column_stack([self.column[c].numbers for c in columns])
        column = self.of("label") or self.of("prediction")
        if not np.allclose(np.nansum(p, axis=1), 1, atol=0.02):
            return None
        if column is None:
            return columns
        names = [name.lower() for name in columns.values()]
        if not {name.lower() for name in column.classes} <= {*names}:
            forms = ([*map(str, range(len(names)))], ["false", "true"])
            form = next((form for form in forms if {*form} == {*names} and len(form) == len(column.classes)), None)
            if form is None:
                return None
            columns = {c: column.classes[form.index(name)] for c, name in zip(columns, names, strict=True)}
        ours = [name.lower() for name in columns.values()]
        truth = np.array([None if text is None else text.lower() for text in column.texts], dtype=object)
        return columns if _beyond_chance(p, ours, truth) > 0 else None

    def _unread(self, seen: Sequence[str], unnamed: Sequence[str], decision: _Column | None) -> tuple[str, ...]:
        """A line on columns that may be scores and are not read, with what to do."""
        tells: dict[str, str] = {}
        for c in (c for c in (*seen, *unnamed) if decision is not None and self.column[c].is_share):
            if (told := self.column[c].tells(cast(_Column, decision))) is not None:
                tells[c] = told
        seen = seen or [*tells]
        if not seen:
            return ()
        name = next((c for c in seen if c in tells), seen[0])
        numbers = self.column[name].numbers if self.column[name].varies else np.array([-1.0])
        low, high = np.nanmin(numbers), np.nanmax(numbers)
        remedy = "name a probability with --positive COLUMN=CLASS, a confidence with --map COLUMN=confidence"
        if low >= 0 and 1 < high <= 100:
            remedy = f"if {name} holds percents, divide it by 100, then --positive {shlex.quote(name)}"
        elif name in tells:
            remedy = f"if it is a probability, --positive {shlex.quote(f'{name}={tells[name]}')}"
        elif low >= 0 and high <= 1:
            remedy = f"if it is the confidence in the prediction, --map {shlex.quote(f'{name}=confidence')}"
        listed = ", ".join(seen[:6]) + (", ..." if len(seen) > 6 else "")
        return (f"{listed} {'is' if len(seen) == 1 else 'are'} not read; {remedy}",)

    def _check(self) -> None:
        """Doubt a reading that the rows contradict."""
        label, decision = self.of("label"), self.of("prediction")
        read = {ours: c for c, ours in self.renamings.items()}
        wide = {c: ours[5:] for c, ours in self.renamings.items() if ours.startswith("prob_")}
        if self.doubt or label is None or not {"label", "prediction"} & {*read} or not (wide or decision):
            return
        truth = read.get("label", self.fed.get("label", ""))
        if decision is not None:
            beyond, what = decision.goes_with(label), "the prediction"
            for c in (c for c in self.scored if self.column[c].is_share and self.column[c].tells(decision) is None):
                if self.column[c].tells(label) is not None:
                    self.doubt = f"{truth}, which is what a threshold makes of {c}: a prediction, not the label"
                    if {"label", "prediction"} <= {*read}:  # the other way round is what the rows say
                        self.renamings |= {truth: "prediction", read["prediction"]: "label"}
                        self._scores()
                    return
        else:
            p, names = np.column_stack([self.column[c].numbers for c in wide]), [*wide.values()]
            if len(wide) == 1:
                names += [name for name in label.classes if name != names[0]][:1]
                p = np.hstack([p, 1 - p])
            beyond, what = _beyond_chance(p, names, label.texts), "the probabilities"
        named = truth not in self.renamings or self.usual[truth] == "label" or beyond >= _BEYOND
        if beyond < (-_BEYOND if named else _BEYOND if len(label.texts) >= 100 else 0):
            self.doubt = f"{truth}, which goes with {what} no better than chance"


@dataclass(frozen=True)
class Guessing:
    """How sources of a verb are guessed: ``others`` hold no labels, which ``truth`` expects in the source itself;
    ``shared``: the target is read as the reference is; ``time`` is asked for; ``decided``: by a threshold.
    """

    others: tuple[Any, ...] = ()
    truth: bool = True
    shared: bool = False
    time: bool = False
    decided: bool = False

    def of(
        self, source: Any, is_target: bool, labels: bool, taken: Collection[str]
    ) -> tuple[dict[str, str], list[str]]:
        """Renamings of columns that are called by names of their own, and lines about them; `MissingColumnsError` where
        more than one reading is left. ``labels``: of a file of labels; ``taken``: columns that were renamed by hand.
        """
        fields = {*source.fields} | ({"confidence"} if {*REPEATS} & {*taken} else set())
        guessed = Guess({})
        if labels:
            read, notes = label_of(source), list[str]()
        else:
            graded = set() if self.shared else {"score"}  # beside a target it may be a probability
            if fields & graded and self.truth and not is_target and not fields & _TRUTH:
                may_be = guess(source, truth=True, taken=taken).renamings  # or beside what goes with it as labels do
                if may_be.get("score", "").startswith("prob_") and "label" in may_be.values():
                    graded = set()
            answered = fields & (_SCORED | {"prediction", "members", "views"} | graded)
            wants_truth = self.truth and not is_target and not fields & (_TRUTH | graded)
            if not answered or (not is_target and (wants_truth or answered == {"prediction"})):
                others = [] if is_target else [opened_raw(data) for data in self.others]
                guessed = guess(source, [one for one in others if one is not None], self.truth and not is_target, taken)
            read, notes = dict(guessed.renamings), list(guessed.notes)
            if guessed.doubt and answered and not wants_truth:
                read, notes = {}, [f"not read: {guessed.doubt}"]
            elif guessed.doubt:
                expected, remedy = "columns with one reading", f"name the columns: {as_options(read)}"
                error = MissingColumnsError(expected, got=guessed.doubt, remedy=remedy, file=source.path)
                error.source = source
                raise error
            if self.decided and any(ours.startswith("prob_") for ours in read.values()):
                read = {c: ours for c, ours in read.items() if ours != "prediction"}
        scored = fields & _SCORED or any(ours == "confidence" or ours.startswith("prob_") for ours in read.values())
        if not labels and not scored and may_repeat(source):
            read[REPEATS[0]] = "confidence"
        if self.time and "time" not in fields:  # of a target whose outputs are known nothing was guessed yet
            more = guessed.more or guess(source, truth=False).more
            read |= {c: ours for c, ours in more.items() if ours == "time"}
        lines = [*([Guess(read).line] if read else ()), *notes]
        return read, [f"{source.name.rpartition('/')[2]}: {text}" for text in lines if labels or not is_target]


def opened_raw(data: Any, mapping: Mapping[str, str] | None = None) -> Any:
    """The source, whether or not it holds anything that is known; None where it cannot be opened."""
    try:
        return as_source(data, mapping=mapping)
    except MissingColumnsError as error:
        return error.source
    except (OodometerError, OSError, ValueError):
        return None


def guess(
    source: Any, others: Sequence[Source] = (), truth: bool = True, taken: Collection[str] = (), repair: bool = False
) -> Guess:
    """What the columns of a source are that are not called by our names; ``others`` hold no labels, ``truth`` says that
    the source itself does, ``taken`` are columns that were renamed by hand; ``repair`` looks at our own columns of
    probabilities, too: whether they name the classes that the labels hold.
    """
    try:
        return _Reader(source, others, taken, repair).run(truth) if hasattr(source, "layout") else Guess({})
    except (OodometerError, StopIteration):
        return Guess({})  # said where it is read


def label_of(source: Any) -> dict[str, str]:
    """The renaming of the truth in a file of labels: the column that is called so, else the only one beside the key."""
    if _TRUTH & {*source.fields} or not hasattr(source, "own_columns"):
        return {}
    keys = looking_like_keys(source)
    named = [c for c in source.own_columns if usual_field(c) in _TRUTH]
    alone = named or [c for c in source.own_columns if keys and c not in keys]
    return {alone[0]: usual_field(alone[0]) or "label"} if len(alone) == 1 else {}
