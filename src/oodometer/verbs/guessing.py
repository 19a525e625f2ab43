"""Guessing: which of a team's own columns are label, prediction and probabilities, where one reading alone is left.

Names say what a column may be, the first rows whether it is: probabilities of the classes sum to 1, a decision is what
a threshold makes of its probability, and a label goes with both by more than chance. Where they contradict each other,
or leave two readings, nothing is read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import combinations, product, takewhile
from typing import Any, cast

import numpy as np

from ..arrays import Array
from ..audits.joining import looking_like_keys
from ..classes import NEARLY_ALL, SCORE_WORDS, is_word, lower_class, positive_of
from ..errors import MissingColumnsError, OodometerError
from ..notes import Note, notes_on
from ..plain import Strings
from ..store import Source, as_source
from ..store.columns import LOGPROB, as_options, bare_name, shown, usual_field
from .column_evidence import BEYOND, ColumnEvidence, area, beyond_chance, proved_order
from .confidences import REPEATS, as_read, may_repeat

_ROWS = 20_000  # that are looked at
_DECISION_OF: Strings = (
    *("predicted_{}", "prediction_{}", "pred_{}", "{}_pred"),
    *("{}_predicted", "{}_prediction", "{}_predictions", "{}_hat", "detected_{}"),
    *("i_{}", "l_{}", "c_{}", "n_{}", "most_likely_{}"),  # SAS, SPSS ($L-x, $C-x, $N-x), JMP
)
_TRUTH_OF = re.compile(  # beside an answer of the same stem; SAS writes `f_x`
    r"(?:true|truth|actual|gt|gold|ground_truth|expected|f)_(.+)|"
    r"(.+)_(?:true|truth|actual|gt|gold|ground_truth|expected|label)"
)
_SCORE = re.compile(
    r"(.*_)?(scores?|risk|propensity|likelihood|probability|prob|proba|p|probabilite|wahrscheinlichkeit|probabilidade?|"
    r"probabilita)(_.*)?"
)
_TRUTH_WORDS = {
    "is",
    "has",
    "had",
    "did",
    "was",
    "will",
    "flag",
    "ind",
    "indicator",
    "label",
    "actual",
    "true",
}
_SCORED = {"probabilities", "logits", "confidence", "candidate_scores", "token_logprobs"}
_SCORED |= {"member_probabilities", "votes"}
_TRUTH = {"label", "correct"}
_VERDICTS = {"0", "1", "true", "false", "True", "False"}
_IS_ANSWER = re.compile(r"(pred|predicted|prediction)_.+|.+_(pred|predicted|prediction)")
_MOST_GIVEN = 50  # columns of all classes that are held against a label which another one contests
_ORDER_HOLDS = 0.9  # share of the rows whose decision is the largest number, if the order of the names is the columns'
_ANSWERS = {"label", "labels"}  # of pipelines of Hugging Face and PyCaret
_BESIDE_ANSWERS = {"score", "scores", "prediction_score"}
_NUMBERED = re.compile(r"(\D*)(\d+)(\D*)")  # a column of a rank
_WIDE = ("prob_", "logit_")  # before the name of a class
_LOGIT = re.compile(r"(output_)?margin|logits?|log_?odds|raw_scores?|raw_formula_val")  # a lone one
_LOGPROB = re.compile(
    r"((answer|output|response|completion|sequence|generated)_)?((avg|mean|average|cum|cumulative|sum|total|seq|"
    r"sequence|normali[sz]ed)_)?(token_)?log_?(probs?|probability|probabilities|likelihood)"
)  # of a whole output
_LOGIT_OF = re.compile(
    r"(?i)(logits?|log_?prob(?:s|ability|abilities)?|(?:output_)?margins?|rawformulaval:class)[_ .=](.+)"
)  # one of several, of a class


@dataclass(frozen=True)
class Asked:
    """What was said by hand: columns that were renamed, class names in their order; ``repair`` looks at our own columns
    of probabilities, too: whether they name the classes that the labels hold; ``apart``: the truth has another file.
    """

    taken: Collection[str] = ()
    classes: Sequence[int | str] | None = None
    repair: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Guess:
    """Renamings, theirs -> ours; a doubt; notes on what is not read; time, id and inputs, for a whole command.

    ``contested``: columns are called as fields and may be others, so that a doubt leaves nothing to go by. ``remedy``:
    what mends a doubt that no renaming does.
    """

    renamings: Mapping[str, str]
    doubt: str = ""
    contested: bool = False
    remedy: str = ""
    notes: Strings = ()
    more: Mapping[str, str] = field(default_factory=dict)
    features: Strings = ()

    @property
    def takes_no_grade(self) -> bool:
        """Whether a `score` is no grade of answers: columns beside it may be the truth instead, or it is a probability
        beside a label, or truth and answer stand there.
        """
        read = {*self.renamings.values()}
        is_output = self.renamings.get("score", "").startswith("prob_") and "label" in read
        return self.contested or is_output or (not self.doubt and {"label", "prediction"} <= read)

    @property
    def is_called_label(self) -> bool:
        """Whether the column that is read as the label is called so, whatever the rows say of the model."""
        return any(
            ours == "label" and usual_field(column) == "label"
            for column, ours in self.renamings.items()
        )

    def for_threshold(self) -> Guess:
        """The guess without answers, where there are probabilities of which a threshold makes them."""
        if not any(ours.startswith("prob_") for ours in self.renamings.values()):
            return self
        renamings = {c: ours for c, ours in self.renamings.items() if ours != "prediction"}
        return replace(self, renamings=renamings)

    def refusal(self, file: str | None) -> MissingColumnsError:
        """The error for a doubt that leaves too little to go by, with the renamings that would settle it."""
        naming = f"name the columns: {as_options({**self.renamings})}"
        return MissingColumnsError(
            "columns with one reading",
            got=self.doubt,
            remedy=self.remedy or None,
            naming=None if self.remedy else naming,
            file=file,
        )

    def check_outcome(self, file: str | None, answered: Collection[str], has_truth: bool) -> None:
        """Raise `MissingColumnsError` where nothing is read that the model gave, with what is not and why."""
        given = {"prediction", "confidence", "score", "correct"}
        is_read = any(ours in given or ours.startswith(_WIDE) for ours in self.renamings.values())
        if answered or not has_truth or self.doubt or is_read or not self.notes:
            return
        what, _, remedy = self.notes[0].partition("; ")
        raise MissingColumnsError(
            "an output of the model beside its truth", got=what, remedy=remedy, file=file
        )

    @property
    def line(self) -> str:
        """What was read, as a sentence."""
        wide = {
            c: ours.partition("_")[2]
            for c, ours in self.renamings.items()
            if ours.startswith(_WIDE)
        }
        lone = sorted((ours, c) for c, ours in self.renamings.items() if c not in wide)
        are_logits = any(ours.startswith("logit_") for ours in self.renamings.values())
        what = "logit" if are_logits else "probability"
        several = "logits" if are_logits else "probabilities"
        read = [f"{c or 'the column without a name'} as {ours}" for ours, c in lone]
        if len(wide) == 1:
            read += [f"{c} as the {what} of class {name}" for c, name in wide.items()]
        elif wide:
            listed, end = ", ".join([*wide][:3]), ", ..." if len(wide) > 3 else ""
            names = f"the {len(wide)} classes" if end else ", ".join(wide.values())
            read.append(f"{listed}{end} as the {several} of {names}")
        return as_read(", ".join(read))


def _evidence(source: Any, names: Iterable[str]) -> dict[str, ColumnEvidence]:
    """What the first rows of columns tell of each."""
    columns = [*names]
    if not columns:
        return {}
    with closing(cast(Any, source.raw(columns))) as batches:
        batch = next(batches).slice(0, _ROWS)
    return {
        name: ColumnEvidence.of(batch.column(i), name, source) for i, name in enumerate(columns)
    }


def _around(column: str, name: str) -> tuple[str, str, str] | None:
    """What stands before, at and behind the name of a class in that of a column; None where it is not there, or is
    only a part of a word or number.
    """
    at = column.lower().rfind(name.lower())
    if at < 0:
        return None
    head, middle, tail = column[:at], column[at : at + len(name)], column[at + len(name) :]
    for a, b in ((head[-1:], middle[:1]), (middle[-1:], tail[:1])):
        if a.isalnum() and b.isalnum() and a.isdigit() == b.isdigit():
            return None
    return head, middle, tail


def _by_place_of_class(
    columns: Sequence[str], classes: Sequence[str]
) -> dict[tuple[str, str], dict[str, str]]:
    """Columns with the class that each names, by what stands before and behind that; none where there is one class."""
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for column, name in product(columns, classes) if len(classes) > 1 else ():
        if (parts := _around(column, name)) is not None:
            head, middle, tail = parts
            groups.setdefault((head, tail), {})[column] = middle
    return groups


def _are_of_one_outcome(score: str, truth: str) -> bool:
    """Whether a score and a truth are called by one outcome: `fraud_score` and `is_fraud`, `p_churn` and `churned`."""
    words = bare_name(score).split("_")
    about = [word for word in words if word not in SCORE_WORDS and not word.isdigit()]
    outcome = [word for word in bare_name(truth).split("_") if word not in _TRUTH_WORDS]
    if not outcome or len(about) == len(words):
        return False
    return all(any(_are_forms(word, other) for other in about) for word in outcome)


def _stems(truth: str) -> set[str]:
    """What the name of a truth may be about: itself, and `intent` where it is `intent_true`.

    >>> sorted(_stems("intent_true")), _stems("intent")
    (['intent', 'intent_true'], {'intent'})
    """
    match = _TRUTH_OF.fullmatch(truth)
    return {truth} if match is None else {truth, match[1] or match[2]}


def _are_forms(word: str, other: str) -> bool:
    """Whether two words begin alike: `click` and `clicked`, `conversion` and `converted`."""
    pairs = zip(word, other, strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return word == other or alike >= max(4, max(len(word), len(other)) / 2)


def _between(columns: Sequence[str], head: str, tail: str) -> dict[str, str]:
    """Columns of this head and tail, with what stands between."""
    around = re.compile(f"{re.escape(head)}(.+){re.escape(tail)}", re.DOTALL)
    return {c: match[1] for c in columns if (match := around.fullmatch(c))}


def _counts(group: Collection[int]) -> bool:
    """Whether numbers count from 0 or 1 on, two at least."""
    return len(group) > 1 and sorted(group) in (
        [*range(len(group))],
        [*range(1, len(group) + 1)],
    )


class _Reader:
    """Reads one source beside others without labels; `guess` says what it does."""

    def __init__(self, source: Any, others: Sequence[Source], asked: Asked) -> None:
        self.source, self.others, self.asked, feeds = source, others, asked, source.layout.feeds
        suffixes: dict[str, str] = {}
        block = feeds.get("probabilities")
        if block is not None and block.wide:
            suffixes = dict(zip(block.columns, block.suffixes or (), strict=True))
        wide = tuple(suffixes) if asked.repair else ()
        self.given = suffixes if len(suffixes) <= _MOST_GIVEN else {}
        truths = ("label", "prediction", "correct")
        self.fed = {name: feeds[name].columns[0] for name in truths if name in feeds}
        # a score is a probability where one is asked for
        free = (*source.own_columns, *(feeds["score"].columns if "score" in feeds else ()))
        self.own = tuple(dict.fromkeys((*wide, *(c for c in free if c not in asked.taken))))
        self.column = _evidence(source, dict.fromkeys((*self.fed.values(), *self.own, *self.given)))
        self.usual = {
            name: "probabilities" if name in wide else usual_field(name) for name in self.own
        }
        # none of the columns of all classes
        lone = [c for c in self.own if c not in wide or len(wide) == 1]
        self.scored = [c for c in lone if self.usual[c] in ("probabilities", "confidence")]
        self.renamings: dict[str, str] = {}
        self.doubt = self.remedy = ""
        self.contested = False
        self.has_scores = bool(_SCORED & {*source.fields}) and not wide

    def of(self, field: str) -> ColumnEvidence | None:
        """The column that a field is read from."""
        name = next((c for c, ours in self.renamings.items() if ours == field), self.fed.get(field))
        return None if name is None else self.column[name]

    def choose(self, field: str, names: Iterable[str]) -> None:
        """Read the one column as the field, rather one of classes than one of decimals; two of them are a doubt."""
        every = [*dict.fromkeys(names)]
        columns = [c for c in every if not self.column[c].is_regression] or every
        self.renamings |= dict.fromkeys(columns[:1], field)
        if len(columns) > 1:
            hint = f" (the other one: --map {shlex.quote(f'{columns[1]}={field}')})"
            self._doubt(f"{columns[0]} and {columns[1]}, either of which may be the {field}{hint}")

    def _doubt(self, doubt: str) -> None:
        """Doubt the reading; what was doubted first is said."""
        self.doubt = self.doubt or doubt

    def _numbers(self, columns: Iterable[str]) -> Array:
        """The numbers of columns side by side, (row, column)."""
        return np.column_stack([self.column[c].numbers for c in columns])

    def _of_classes(self, columns: Iterable[str]) -> Array:
        """The probabilities of classes, (row, class); of columns that hold percents a hundredth."""
        numbers = self._numbers(columns)
        return numbers / 100 if numbers.shape[1] > 1 and np.nanmax(numbers) > 1 else numbers

    def _lacking(self, columns: Iterable[str]) -> list[str]:
        """Columns that none of the files without labels has, where there are such files."""
        column_sets = [file.columns for file in self.others]
        return [
            c for c in columns if column_sets and not any(c in columns for columns in column_sets)
        ]

    def _shares(self, columns: Iterable[str]) -> list[str]:
        """Columns of numbers between 0 and 1."""
        return [c for c in columns if self.column[c].is_share]

    def _release(self, field: str) -> str:
        """The column that is called as a field and is another thing: its name says nothing more."""
        name = str(self.fed.pop(field))
        self.contested = True
        self.own = (name, *self.own)
        self.usual[name] = None
        return name

    def _contest(self) -> None:
        """Which of several columns that are called a truth is one: the only one that the other files lack, and never
        what the scores decide, which is the model's answer.
        """
        named = truths_by_name(self.source, self.asked.taken)
        named = [c for c in named if {*self.column[c].classes} & {*self.column[named[0]].classes}]
        distinct = list[str]()
        for c in named:
            texts = self.column[c].texts
            if not any(np.array_equal(texts, self.column[earlier].texts) for earlier in distinct):
                distinct.append(c)
        if len(distinct) < 2:
            return
        answers = []
        if self.of("prediction") is None:
            answers = [c for c in distinct if self._is_answer(c)]
        answers = answers if len(answers) < len(distinct) else []
        candidates = [c for c in distinct if c not in answers]
        lacking = self._lacking(candidates)
        candidates = lacking if len(lacking) == 1 else candidates
        self.contested |= len(candidates) > 1
        fed = self.fed.get("label")
        if fed is not None and (len(candidates) > 1 or fed not in candidates):
            self._release("label")
            candidates = sorted(candidates, key=lambda c: c == fed)
        if self.fed.get("label") not in candidates:
            self.choose("label", candidates)
        self.choose("prediction", answers)

    def _contest_answer(self) -> None:
        """Doubt a column that is called `prediction` where the scores decide another one that is called an answer."""
        name = self.fed.get("prediction")
        if name is None or name in self.asked.taken or self._is_answer(name):
            return
        called = [c for c in self.own if self.usual[c] == "prediction" and self.column[c].classes]
        rivals = [c for c in called if self._shares_classes(c, name) and self._is_answer(c)]
        if rivals:
            self._release("prediction")
            self.choose("prediction", [rivals[0], name])

    def _only_answer(self) -> None:
        """The answers in a file whose truth stands in another one: the only column beside the key, however called."""
        keys = looking_like_keys(self.source)
        candidates = [c for c in dict.fromkeys((*self.fed.values(), *self.own)) if c not in keys]
        if (
            self.has_scores
            or self.given
            or len(candidates) != 1
            or candidates[0] in self.asked.taken
        ):
            return
        (name,) = candidates
        for called in [called for called, column in self.fed.items() if column == name]:
            self._release(called)
        if self.column[name].is_share:
            self.renamings[name] = "prob_1"
        elif self.column[name].classes:
            self.choose("prediction", [name])

    def _outcome(self) -> str | None:
        """The only column of 0 and 1 beside a `score` of decimals below and above 0, which grades seldom are."""
        feeds = self.source.layout.feeds
        if (
            "score" not in feeds
            or feeds["score"].columns[0] in self.asked.taken
            or {"label", "correct"} & {*feeds}
        ):
            return None
        pairs = [c for c in self.own if {*self.column[c].classes} == {"0", "1"}]
        return pairs[0] if len(pairs) == 1 and self.column["score"].is_raw_score else None

    def _is_answer(self, name: str) -> bool:
        """Whether a column is what the scores decide in every row, or stands beside the confidence in it."""
        column = self.column[name]
        scores = [*self.scored, *(c for c in self.own if self.usual[c] == "prediction")]
        if any(self.column[c].decides(column) for c in scores if c != name):
            return True
        for block in [*self._blocks(), *self._given_block()]:
            p, names = self._numbers(block), np.array([*block.values()], object)
            if len(names) > 1 and (names[p.argmax(axis=1)] == column.texts).all():
                return True
        beside = [c for c in self.own if bare_name(c) in _BESIDE_ANSWERS]
        chance = 1 / max(len(column.classes), 1)
        return bare_name(name) in _ANSWERS and any(
            self.column[c].is_never_below(chance) for c in beside
        )

    def _given_block(self) -> list[dict[str, str]]:
        """Our own columns of all classes with their classes, where there are some."""
        return [self.given] if len(self.given) > 1 else []

    def _is_probability(self, name: str | None) -> bool:
        """Whether a column that is called a prediction holds probabilities beside two classes, or words."""
        label = next(iter(truths_by_name(self.source, ())), None)
        if name is None or name in self.asked.taken or label not in self.column:
            return False
        classes = self.column[label].classes
        are_known = len(classes) == 2 or any(map(is_word, classes))
        return self.column[name].is_share and are_known

    def run(self, truth: bool) -> Guess:
        """The guess; ``truth``: the source holds it."""
        if self._is_probability(self.fed.get("prediction")):
            self.usual[self._release("prediction")] = "prediction"
        if self.asked.apart:
            self._only_answer()
        self._take_ranked()
        self._contest_answer()
        if truth:
            self._contest()
            if (outcome := self._outcome()) is not None:
                doubt = f"score, which takes values below 0 beside {outcome}: what a model ranks by, or a grade "
                doubt += "(--map score=score)"
                return Guess({outcome: "label", "score": "logit_1"}, doubt, contested=True)
        free = [
            name for name in self.own if self.column[name].classes and name not in self.renamings
        ]
        pairs = self._pairs_by_name(free)
        self._find_answer(free, [answer for answer, _ in pairs])
        if truth:
            self._find_truth(free, [label for _, label in pairs])
        notes = () if self.has_scores else self._scores()
        if truth:
            self._answer_by_values(free)
        self._check()
        keys = [
            c for c in looking_like_keys(self.source) if c in self.own and c not in self.renamings
        ]
        changed = {c: ours for c, ours in self.renamings.items() if c != ours}
        return Guess(
            renamings=changed,
            doubt=self.doubt,
            contested=self.contested,
            remedy=self.remedy,
            notes=notes,
            more=self._times_and_ids(keys),
            features=self._inputs(keys),
        )

    def _take_ranked(self) -> None:
        """Read the first of classes by rank as the prediction, and the first of their scores as its confidence."""
        groups: dict[tuple[str, str], dict[int, str]] = {}
        for c in self.own:
            if (match := _NUMBERED.fullmatch(c)) is not None:
                groups.setdefault((match[1], match[3]), {})[int(match[2])] = c
        ranks = [
            [*dict(sorted(group.items())).values()] for group in groups.values() if _counts(group)
        ]
        scores = [columns for columns in ranks if self._fall(columns)]
        classes = [columns for columns in ranks if self._are_ranked_classes(columns)]
        if self.of("prediction") or len(scores) != 1 or len(classes) != 1:
            return
        if len(scores[0]) != len(classes[0]):
            return
        ranked = {*scores[0], *classes[0]}
        self.own = tuple(c for c in self.own if c not in ranked)
        self.scored = [c for c in self.scored if c not in ranked]
        self.renamings |= {classes[0][0]: "prediction", scores[0][0]: "confidence"}
        self.has_scores = True

    def _fall(self, columns: Sequence[str]) -> bool:
        """Whether columns between 0 and 1 fall from the first to the last in every row."""
        if not all(self.column[c].is_unit for c in columns):
            return False
        numbers = self._numbers(columns)
        return self.column[columns[0]].varies and not (np.diff(numbers, axis=1) > 0).any()

    def _are_ranked_classes(self, columns: Sequence[str]) -> bool:
        """Whether columns hold classes that differ from each other in every row."""
        texts = [self.column[c].texts for c in columns]
        if not all(self.column[c].classes and not self.column[c].is_share for c in columns):
            return False
        pairs = combinations(texts, 2)
        return not any(((a == b) & (a != np.array(None))).any() for a, b in pairs)

    def _pairs_by_name(self, free: Sequence[str]) -> list[tuple[str, str]]:
        """Answers and truths whose names are forms of one word, as `predicted_x` and `x`, and whose classes meet."""
        bare = {bare_name(name): name for name in free}
        named = sorted(bare.items(), key=lambda item: _TRUTH_OF.fullmatch(item[0]) is None)
        stems = [(stem, t) for name, t in named for stem in _stems(name)]
        formed = [(bare.get(form.format(stem)), t) for stem, t in stems for form in _DECISION_OF]
        return [(f, t) for f, t in formed if f is not None and self._shares_classes(f, t)]

    def _named_by_answers(self, free: Sequence[str]) -> list[str]:
        """Truths whose name is a form of that of a column in whose cells the answers are nested, as `predicted_x`."""
        parted = [c.partition(".") for c in (*self.given, *self.fed.values())]
        answers = {bare_name(column) for column, dot, _ in parted if dot}
        return [t for t in free if answers & {form.format(bare_name(t)) for form in _DECISION_OF}]

    def _find_answer(self, free: Sequence[str], paired: Sequence[str]) -> None:
        """The answer: beside a truth of its name, by a usual name, else what a threshold of a score decides."""
        if self.of("prediction") is not None:
            return
        answers = paired or [c for c in free if self.usual[c] == "prediction"]
        self.choose("prediction", [c for c in answers if not self._is_probability(c)])
        if self.of("prediction") is not None:
            return
        scores = self._called_scores()
        deciding = {
            answer: score
            for answer in free
            for score in scores
            if answer != score and self.column[score].decides(self.column[answer])
        }
        if len(deciding) == 1:
            self.choose("prediction", deciding)
            self.scored += [c for c in deciding.values() if c not in self.scored]

    def _find_truth(self, free: Sequence[str], paired: Sequence[str]) -> None:
        """The truth: beside an answer of its name, by a usual name, by the scores of all classes, else by values."""
        if self.of("label") is not None or self.of("correct") is not None:
            return
        named = paired or [c for c in free if self.usual[c] == "label"]
        self.choose("label", named or self._named_by_answers(free))
        if self.of("label") is None:
            right = [
                c
                for c in free
                if self.usual[c] == "correct" and {*self.column[c].classes} <= _VERDICTS
            ]
            self.choose("correct", right)
            self._by_outcome(free)
        self._by_block()
        if not _TRUTH & {*self.renamings.values()}:
            self._truth_by_values(
                [c for c in free if self.usual[c] is None and c not in self.renamings]
            )

    def _called_scores(self) -> list[str]:
        """Columns with a word for scores in their names."""
        return [c for c in self.own if _SCORE.fullmatch(bare_name(c))]

    def _by_outcome(self, free: Sequence[str]) -> None:
        """The truth of two classes that a score between 0 and 1 is called by; never what the score decides, which is
        the model's answer.
        """
        truth, scores = self._pair_of_outcome(free)
        if truth is None or truth in self.renamings or _TRUTH & {*self.renamings.values()}:
            return
        if any(self.column[score].decides(self.column[truth]) for score in scores):
            return
        self.renamings[truth] = "label"
        for score in scores:
            if score in self.given:
                self.renamings[score], doubt = self._kind_beside(score, self.column[truth])
                self._doubt(doubt)
        self.scored += [s for s in scores if s not in (*self.scored, *self.given)]

    def _pair_of_outcome(self, free: Sequence[str]) -> tuple[str | None, list[str]]:
        """The only column of two classes, of which the positive one is known, that scores are called by, and these."""
        scores = [c for c in self._shares(self.own) if self.usual[c] != "confidence"]
        scores += self.given if len(self.given) == 1 else ()  # a lone prob_churn beside churn
        named = {c: [s for s in scores if _are_of_one_outcome(s, c)] for c in free}
        named = {c: called for c, called in named.items() if called}
        if len(named) != 1:
            return None, []
        ((truth, scores),) = named.items()
        classes, words = self.column[truth].classes, bare_name(scores[0]).split("_")
        called = [name for name in classes if bare_name(name) in words]
        is_told = positive_of(classes) is not None or len(called) == 1
        return (truth, scores) if is_told and len(classes) == 2 else (None, [])

    def _times_and_ids(self, keys: Sequence[str]) -> dict[str, str]:
        """The only column of times and the only one of ids, where the source holds none by name."""
        times = [c for c in self.own if self.usual[c] == "time"] or [
            c for c in self.own if self.column[c].is_time
        ]
        more = {times[0]: "time"} if len(times) == 1 and "time" not in self.source.fields else {}
        if len(keys) == 1 and self.column[keys[0]].differs and not self.source.holds("id"):
            more[keys[0]] = "id"
        return more

    def _inputs(self, keys: Sequence[str]) -> Strings:
        """Columns that say something of a row and are nothing else, as far as every file has them."""
        rest = [c for c in self.own if self.usual[c] is None and c not in {*keys, *self.renamings}]
        rest = [c for c in rest if self.column[c].varies or self.column[c].classes]
        return tuple(c for c in rest if all(c in file.columns for file in self.others))

    def _shares_classes(self, name: str, other: str) -> bool:
        return bool({*self.column[name].classes} & {*self.column[other].classes})

    def _by_block(self) -> None:
        """Answer and truth under names that say nothing: the answer is the class of the largest of the probabilities in
        nearly all rows, the truth the only other column of the same classes.
        """
        named_blocks = self._given_block()
        blocks = (
            named_blocks
            if self.has_scores or "probabilities" in self.source.fields
            else self._blocks()
        )
        if len(blocks) != 1:
            return
        names = np.array([*blocks[0].values()], dtype=object)
        largest = names[self._numbers(blocks[0]).argmax(axis=1)]
        taken = {*self.renamings, *blocks[0]}
        free = ((c, {*self.column[c].classes}) for c in self.own if c not in taken)
        candidates = [c for c, classes in free if classes and classes <= {*names}]
        answers = [c for c in candidates if (self.column[c].texts == largest).mean() > NEARLY_ALL]
        if self.of("prediction") is None and len(answers) == 1:
            self.choose("prediction", answers)
        truths = [
            c
            for c in candidates
            if c not in answers and (not named_blocks or self.column[c].is_told_by_classes)
        ]
        if self.of("label") is None and self.of("correct") is None and len(truths) == 1:
            self.choose("label", truths)

    def _truth_by_values(self, free: Sequence[str]) -> None:
        """The label under a name that says nothing: what the others lack and the prediction's classes are in."""
        decision = self.of("prediction")
        if decision is not None:
            free = [c for c in free if {*self.column[c].classes} & {*decision.classes}]
        lacking = self._lacking(free)
        pairs = [c for c in lacking if len(self.column[c].classes) == 2] if decision is None else []
        self.choose("label", pairs or lacking)
        if lacking:
            return
        if decision is not None:
            what = "the prediction"
            free = [c for c in free if {*self.column[c].classes} == {*decision.classes}]
            if len(free) == 1 and decision.is_told_by_classes:
                self.choose("label", free)
                return
            free = [c for c in free if decision.goes_with(self.column[c]) > BEYOND]
        else:
            what, free = self._told_by_share(free)
        self.choose("label", free)
        if free:  # the rows tell, but a column in every file may be an input, too
            self._doubt(f"{free[0]}, which goes with {what} as a label does, but so may an input")

    def _answer_by_values(self, free: Sequence[str]) -> None:
        """Ask about columns of the label's classes where nothing else is an answer: another annotator may be one."""
        label, read = self.of("label"), {*self.renamings.values()}
        given = read & {"confidence", LOGPROB} or any(ours.startswith(_WIDE) for ours in read)
        if label is None or self.has_scores or given or self.of("prediction") or self.of("correct"):
            return
        classes = {*label.classes}
        found = [
            c for c in free if c not in self.renamings and {*self.column[c].classes} == classes
        ]
        found = [c for c in found if label.is_told_by_classes or _IS_ANSWER.fullmatch(bare_name(c))]
        if not found:
            return
        self.choose("prediction", found[:1])
        self._doubt(
            f"{shown(found)} with the classes of the label, as answers have them, and other truths"
        )
        if len(found) > 1:
            self.remedy = "name the one to judge with --map COLUMN=prediction, where COLUMN is "
            self.remedy += " or ".join(found[:3])

    def _told_by_share(self, free: Sequence[str]) -> tuple[str, list[str]]:
        """Columns that may hold probabilities, as in a sentence, and the columns of two classes that they tell."""
        columns = [(c, self.column[c]) for c in free]
        scores, told = [], dict[str, None]()
        for name in self._likely_shares():
            score = self.column[name]
            by_score = [
                c for c, cells in columns if score.is_calibrated(cells) and not score.decides(cells)
            ]
            scores += [name] if by_score else []
            told |= dict.fromkeys(by_score)
        self.scored += [name for name in scores if name not in self.scored]
        return " and ".join(scores), [*told]

    def _likely_shares(self) -> list[str]:
        """Columns that may hold probabilities: by their usual names, by a word for scores, else the only one of such
        numbers.
        """
        named = self._shares(self.scored) or self._shares(self._called_scores())
        unnamed = [] if named else self._shares(c for c in self.own if self.usual[c] is None)
        return named or (unnamed if len(unnamed) == 1 else [])

    def _scores(self) -> Strings:
        """Read probabilities, one for each class or a lone one, or confidences; notes on what is not read."""
        if self._take_columns_of_classes():
            return ()
        decision, label = self.of("prediction"), self.of("label")
        self.scored = self.scored or self._scores_of_truth()
        unnamed = self._shares(c for c in self.own if self.usual[c] is None)
        shares = self._lone_shares(unnamed, decision, label)
        decision = self.of("prediction")
        kinds = self._kinds(shares, decision, label)
        if not kinds:
            return self._take_logprob(unnamed, decision)
        name, *more = kinds
        if more and {ours for ours, _ in kinds.values()} == {"confidence"}:  # one is taken
            self.renamings[name] = "confidence"
            return (
                f"{', '.join(more)} may be the confidence, too: `evaluate` says which orders errors best",
            )
        if more and decision is not None:
            return self._unread([*kinds], unnamed, decision)
        self.renamings[name], doubt = kinds[name]
        either = f"{name} and {more[0]}, either of which may be the probability" if more else ""
        self._doubt(either or doubt)
        return ()

    def _scores_of_truth(self) -> list[str]:
        """Columns between 0 and 1 that are called scores of the outcome which the label is called by."""
        truth = next((c for c, ours in self.renamings.items() if ours == "label"), None)
        called = [] if truth is None else self._shares(self._called_scores())
        return [c for c in called if _are_of_one_outcome(c, str(truth))]

    def _take_logprob(self, unnamed: Sequence[str], decision: ColumnEvidence | None) -> Strings:
        """Read the only column of log-probabilities of whole answers; else a line on what is not read."""
        logprobs = [c for c in self.own if self._is_logprob(c)]
        if len(logprobs) == 1:
            self.renamings[logprobs[0]] = LOGPROB
            return ()
        return self._unread([*self.scored, *logprobs], unnamed, decision)

    def _is_logprob(self, name: str) -> bool:
        """Whether a column is called the log-probability of an output, and its numbers may be."""
        numbers = self.column[name].numbers
        return (
            _LOGPROB.fullmatch(bare_name(name)) is not None
            and bool(np.isfinite(numbers).all() and (numbers <= 0).all())
            and self.column[name].varies
        )

    def _take_columns_of_classes(self) -> bool:
        """Read logits, else probabilities of all classes; whether there are some."""
        if logits := self._logits():
            self.renamings |= {column: f"logit_{name}" for column, name in logits.items()}
            return True
        blocks = self._blocks()
        if not blocks:
            return False
        first, *others = blocks
        self.renamings |= {column: f"prob_{name}" for column, name in first.items()}
        if others:
            both = f"{', '.join(first)} and {', '.join(others[0])}"
            self._doubt(f"{both}, either of which may be the probabilities")
        return True

    def _lone_shares(
        self,
        unnamed: Sequence[str],
        decision: ColumnEvidence | None,
        label: ColumnEvidence | None,
    ) -> list[str]:
        """Columns between 0 and 1 that are called scores or answers; without any, and without decisions, the only one
        without a usual name, with a doubt.
        """
        shares = self._shares(self.scored)
        shares += self._shares(c for c in self.own if self.usual[c] == "prediction")
        if self.asked.apart and not shares and decision is None:  # the labels lie elsewhere
            shares = self._shares(self._called_scores())
        if self.scored or shares or decision or label is None or len(unnamed) != 1:
            return shares
        shares = [c for c in unnamed if self.column[c].is_calibrated(label)]
        if shares:
            self.doubt = (
                f"{shares[0]}, which goes with the label as a probability does, but so may an input"
            )
            decided = [c for c in self.own if self.column[shares[0]].decides(self.column[c])]
            decided = [c for c in decided if c not in self.renamings and c not in shares]
            if len(decided) == 1:  # a command that leaves it out would judge another rule
                self.choose("prediction", decided)
        return shares

    def _kinds(
        self, shares: Sequence[str], decision: ColumnEvidence | None, label: ColumnEvidence | None
    ) -> dict[str, tuple[str, str]]:
        """What lone columns between 0 and 1 may be, as `_kind` says; of several beside decisions those without a doubt.
        Without decisions a doubt is of the label, which does not choose among probabilities.
        """
        several = {c: kind for c in shares if (kind := self._kind(c, decision, label))[0]}
        if decision is None:
            return several
        return {c: kind for c, kind in several.items() if not kind[1]} or several

    def _kind(
        self, name: str, decision: ColumnEvidence | None, label: ColumnEvidence | None
    ) -> tuple[str, str]:
        """What a lone column between 0 and 1 is, ours, and a doubt about it; "" where values contradict its name."""
        column, verdict = self.column[name], self.of("correct")
        right = None if verdict is None else np.isin(verdict.texts, ("1", "true", "True"))
        if decision is not None:
            positive = column.tells(decision)
            if positive is not None:
                return f"prob_{positive}", ""
            right = decision.texts == label.texts if label is not None else right
            chance = 1 / len(decision.classes) - 0.01
            if (
                not self.renamings
                or self.usual[name] == "prediction"
                or np.nanmin(column.numbers) < chance
            ):
                return "", ""
        if right is not None:
            return "confidence" if area(column.numbers, right) > 0.5 else "", ""
        if label is None:
            is_score = self.usual[name] == "probabilities" or self.asked.apart
            return "prob_1" if decision is None and is_score else "", ""
        return self._kind_beside(name, label) if len(label.classes) == 2 else ("", "")

    def _kind_beside(self, name: str, label: ColumnEvidence) -> tuple[str, str]:
        """The class that a lone probability beside a label of two classes is of, by its name, by what the classes are
        called and by how often each comes: never by which of them makes the model look good.
        """
        column, (first, second) = self.column[name], label.classes
        words = bare_name(name).split("_")
        named = [c for c in label.classes if bare_name(c) in words and not bare_name(c).isdigit()]
        read = (c for c, ours in self.renamings.items() if ours == "label")
        truth = bare_name(next(read, self.fed.get("label", ""))).split("_")
        named = named or lower_class(words, label.classes, truth)
        positive = (
            named[0] if len(named) == 1 else positive_of(label.classes) or column.likelier(label)
        )
        if column.is_never_below(0.5) and self.usual[name] is not None and not named:
            self.remedy = f"add a column of the answers, such as `prediction`, beside which {name} is read; if it is a"
            self.remedy += (
                " probability of one class all the same, name both with --positive COLUMN=CLASS"
            )
            return (
                f"prob_{positive or second}",
                f"{name}, which is never below 0.5, as the confidence in an answer",
            )
        if positive is None:
            hint = f"--positive {shlex.quote(f'{name}={first}')}"
            return (
                f"prob_{second}",
                f"{name}, which may be the probability of {second}, or of {first} ({hint})",
            )
        negative = first if positive == second else second
        p, rest = column.numbers, 1 - column.numbers
        beyond = beyond_chance(np.column_stack([rest, p]), [negative, positive], label.texts)
        if abs(beyond) < BEYOND:
            return f"prob_{positive}", f"{name}, which goes with the label no better than chance"
        hint = f"(of {negative}: --positive {shlex.quote(f'{name}={negative}')})"
        doubt = f"{name}, which is higher where the label is {negative} {hint}"
        return f"prob_{positive}", doubt if beyond < 0 else ""

    def _blocks(self) -> list[dict[str, str]]:
        """Columns of one head and one tail around the names of all classes, or around 0, 1, ..., whose rows sum to 1,
        or to 100; column -> class.
        """
        shares = [c for c in self.own if self.column[c].is_unit]
        percents = [c for c in self.own if self.column[c].is_unit or self.column[c].is_hundredth]
        out = self._blocks_of(shares)
        if len(percents) > max(1, len(shares)):
            out |= self._blocks_of(percents)
        return [*out.values()]

    def _blocks_of(self, shares: Sequence[str]) -> dict[frozenset[str], dict[str, str]]:
        """The blocks of `_blocks` among these columns, by their columns."""
        # called by the classes alone, of which some may have no label
        bare = {c: c for c in shares if self.usual[c] is None and c not in self.renamings}
        out: dict[frozenset[str], dict[str, str]] = {}
        for classes in self._class_lists(shares, [*bare]):
            for (head, tail), columns in _by_place_of_class(shares, classes).items():
                wide = _between(shares, head, tail) if head + tail else bare
                for block in (columns, wide):
                    # indicators of a category sum to 1, too
                    varies = any(self.column[c].varies for c in block)
                    enough = varies and len(block) >= max(2, len(classes))
                    named = self._class_names(block) if enough else None
                    if named is not None:
                        out.setdefault(frozenset(block), named)
                        break
        return out

    def _class_lists(self, shares: Sequence[str], bare: list[str]) -> list[list[str]]:
        """Classes that columns may be named by: of answer and truth, else of what may be one, else the names of columns
        themselves; false and true; numbers.
        """
        known = [
            column.classes
            for name in ("prediction", "label")
            if (column := self.of(name)) is not None
        ]
        known = known or [
            self.column[c].classes
            for c in self.own
            if self.column[c].is_told_by_classes or self.usual[c] or self._names_scores(c, shares)
        ]
        known = known or [bare]
        numbered = {c[len(c.rstrip("0123456789")) :] for c in shares} - {""}
        sizes = [*map(len, known), len(numbered)]
        return [*known, ["false", "true"], *([*map(str, range(size))] for size in sizes)]

    def _names_scores(self, name: str, shares: Sequence[str]) -> bool:
        """Whether a column of classes gives its name to a column of each, as `churn` to `churn_yes_scores`."""
        stem = f"{bare_name(name)}_"
        return len(self.column[name].classes) > 1 and all(
            any(bare_name(c).startswith(f"{stem}{bare_name(cls)}") for c in shares)
            for cls in self.column[name].classes
        )

    def _logits(self) -> dict[str, str]:
        """Columns of logits, one for each class, or a lone one of two classes, about which a doubt is left, since other
        scores go by the same names; column -> class.
        """
        heads: dict[str, dict[str, str]] = {}
        for c in self.own:
            match = _LOGIT_OF.fullmatch(c)
            if match is not None and np.isfinite(self.column[c].numbers).all():
                heads.setdefault(match[1].lower(), {})[c] = match[2]
        for columns in heads.values():
            logits = self._numbers(columns)
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            if (
                len(columns) > 1
                and (named := self._class_names(columns, p / p.sum(axis=1, keepdims=True)))
                is not None
            ):
                return named
        label, lone = self.of("label"), [c for c in self.own if _LOGIT.fullmatch(bare_name(c))]
        if (
            label is None
            or self.of("prediction") is not None
            or len(lone) != 1
            or len(label.classes) != 2
        ):
            return {}
        positive = positive_of(label.classes)
        if positive is None or not self.column[lone[0]].is_raw_score:
            return {}
        self._doubt(
            f"{lone[0]}, which may be the log-odds of {positive}, or a score of another scale"
        )
        return {lone[0]: positive}

    def _class_names(
        self, columns: dict[str, str], p: Array | None = None
    ) -> dict[str, str] | None:
        """Columns with the names that the labels have for what they count or name; None where rows contradict."""
        p = self._of_classes(columns) if p is None else p
        column = self.of("label") or self.of("prediction")
        if not np.allclose(np.nansum(p, axis=1), 1, atol=0.02):
            return None
        if column is None:
            return columns
        names = [*map(str.lower, columns.values())]
        are_classes = {*map(str.lower, column.classes)} <= {*names}
        if are_classes and not all(map(str.isdecimal, names)):
            return columns  # each is called by its class, whatever the truth says
        named = columns if are_classes else self._in_order(columns, names, p, column)
        if named is None:
            return None
        truth = np.array([text and text.lower() for text in column.texts], dtype=object)
        beyond = beyond_chance(p, [*map(str.lower, named.values())], truth)
        return named if beyond > 0 else None

    def _in_order(
        self, columns: Iterable[str], names: Sequence[str], p: Array, column: ColumnEvidence
    ) -> dict[str, str] | None:
        """Columns that are called by numbers, or false and true, with the classes in that order; None where they are
        not, or nothing tells the order.
        """
        form = [*map(str, range(len(names)))] if "0" in names else ["false", "true"]
        if {*form} != {*names} or len(form) != len(column.classes):
            return None
        order = self._order(p[:, [names.index(name) for name in form]], form, column)
        if order is None:
            return None
        return {c: order[form.index(name)] for c, name in zip(columns, names, strict=True)}

    def _order(self, p: Array, form: Sequence[str], column: ColumnEvidence) -> list[str] | None:
        """Classes of numbered columns: as named by hand, as the decisions beside them prove, else as `column` has them.

        None, with a doubt, where the decisions contradict the order of the names and prove none.
        """
        if self.asked.classes is not None and {*map(str, self.asked.classes)} == {*column.classes}:
            return [str(name) for name in self.asked.classes]
        decision = self.of("prediction")
        if decision is None or form == ["false", "true"] or len(form) != len(column.classes):
            return column.classes
        if len(form) == 2:
            positive = ColumnEvidence.of_numbers(p[:, 1]).tells(decision)
            return column.classes if positive in (None, column.classes[1]) else column.classes[::-1]
        mask = np.isin(decision.texts, column.classes)
        right = (
            decision.texts[mask] == np.array(column.classes, dtype=object)[p[mask].argmax(axis=1)]
        )
        if right.mean() > _ORDER_HOLDS:
            return column.classes
        order = proved_order(p, decision)
        if order is None:
            self._doubt(
                f"columns of {len(form)} numbered classes whose order the predictions do not tell; name the classes in "
                "the order of the columns with --classes"
            )
        return order

    def _unread(
        self, seen: Sequence[str], unnamed: Sequence[str], decision: ColumnEvidence | None
    ) -> Strings:
        """A line on columns that may be scores and are not read, with what to do."""
        tells: dict[str, str] = {}
        if decision is not None:
            pairs = ((c, self.column[c].tells(decision)) for c in self._shares((*seen, *unnamed)))
            tells = {c: positive for c, positive in pairs if positive is not None}
        seen = seen or [*tells]
        if not seen:
            return ()
        name = next((c for c in seen if c in tells), seen[0])
        listed = ", ".join(seen[:6]) + (", ..." if len(seen) > 6 else "")
        remedy = self._remedy_of_unread(name, tells.get(name))
        return (f"{listed} {'is' if len(seen) == 1 else 'are'} not read; {remedy}",)

    def _remedy_of_unread(self, name: str, positive: str | None) -> str:
        """What makes a column read, by its numbers; ``positive``: the class that it may be a probability of."""
        numbers = self.column[name].numbers if self.column[name].varies else np.array([-1.0])
        low, high = np.nanmin(numbers), np.nanmax(numbers)
        if self._is_logprob(name):
            renaming = shlex.quote(f"{name}={LOGPROB}")
            return f"name the one that is the confidence of the answer, --map {renaming}"
        if low >= 0 and 1 < high <= 100:
            return (
                f"if {name} holds percents, divide it by 100, then --positive {shlex.quote(name)}"
            )
        if positive is not None:
            return f"if it is a probability, --positive {shlex.quote(f'{name}={positive}')}"
        if low >= 0 and high <= 1:
            return f"if it is the confidence in the prediction, --map {shlex.quote(f'{name}=confidence')}"
        return "name a probability with --positive COLUMN=CLASS, a confidence with --map COLUMN=confidence"

    def _check(self) -> None:
        """Doubt a reading that the rows contradict."""
        label, decision = self.of("label"), self.of("prediction")
        read = {ours: c for c, ours in self.renamings.items()}
        wide = {c: ours[5:] for c, ours in self.renamings.items() if ours.startswith("prob_")}
        is_new = bool({"label", "prediction"} & {*read})
        if self.doubt or label is None or not is_new or not (wide or decision):
            return
        truth = read.get("label", self.fed.get("label", ""))
        if decision is not None and self._is_decided(truth, decision, label, read):
            return
        is_named = self._has_usual_name("label", read)
        if decision is not None and is_named and self._has_usual_name("prediction", read):
            return  # a model may be worse than chance, which is said beside its number
        least = BEYOND if len(label.texts) >= 100 else 0
        if self._beyond(wide, decision, label) < (-BEYOND if is_named else least):
            what = "the probabilities" if decision is None else "the prediction"
            self.doubt = f"{truth}, which goes with {what} no better than chance"

    def _has_usual_name(self, field: str, read: Mapping[str, str]) -> bool:
        """Whether the column of a field is called as the field is, or as it often is."""
        return field not in read or self.usual[read[field]] == field

    def _is_decided(
        self,
        truth: str,
        decision: ColumnEvidence,
        label: ColumnEvidence,
        read: Mapping[str, str],
    ) -> bool:
        """Whether the label is what a threshold makes of a score, and the decision is not: it is doubted, and both are
        read the other way round where they were guessed.
        """
        for c in self._shares(self.scored):
            column = self.column[c]
            if column.tells(decision) is None and column.tells(label) is not None:
                self.doubt = (
                    f"{truth}, which is what a threshold makes of {c}: a prediction, not the label"
                )
                if {"label", "prediction"} <= {*read}:
                    self.renamings |= {truth: "prediction", read["prediction"]: "label"}
                    self._scores()
                return True
        return False

    def _beyond(
        self, wide: Mapping[str, str], decision: ColumnEvidence | None, label: ColumnEvidence
    ) -> float:
        """Standard errors by which the label goes with the decision, else with the probabilities, beyond chance."""
        if decision is not None:
            return decision.goes_with(label)
        p, names = self._of_classes(wide), [*wide.values()]
        if len(wide) == 1:
            names += [name for name in label.classes if name != names[0]][:1]
            p = np.hstack([p, 1 - p])
        return beyond_chance(p, names, label.texts)


@dataclass(frozen=True)
class Guessing:
    """How sources of a verb are guessed: ``others`` hold no labels, which ``truth`` expects in the source itself;
    ``shared``: the target is read as the reference is; ``time`` is asked for; ``decided``: by a threshold;
    ``optional``: the source may lack the truth, so that a doubt about it leaves the answers alone.
    """

    others: tuple[Any, ...] = ()
    truth: bool = True
    shared: bool = False
    time: bool = False
    decided: bool = False
    optional: bool = False
    classes: Sequence[int | str] | None = None

    def of(
        self, source: Any, is_target: bool, labels: bool, taken: Collection[str]
    ) -> tuple[dict[str, str], list[Note]]:
        """Renamings of columns that are called by names of their own, and lines about them; `MissingColumnsError` where
        more than one reading is left. ``labels``: of a file of labels; ``taken``: columns that were renamed by hand.
        """
        fields = {*source.fields} | ({"confidence"} if {*REPEATS} & {*taken} else set())
        if labels:
            guessed = Guess(label_of(source))
        else:
            guessed = self._guess(source, fields, is_target, taken)
        read = dict(guessed.renamings)
        scored = fields & _SCORED or any(
            ours == "confidence" or ours.startswith(_WIDE) for ours in read.values()
        )
        if not labels and not scored and may_repeat(source):
            read[REPEATS[0]] = "confidence"
        if self.time and "time" not in fields:
            # of a target whose outputs are known nothing was guessed yet
            more = guessed.more or guess(source, truth=False).more
            read |= {c: ours for c, ours in more.items() if ours == "time"}
        if is_target and not labels:
            return read, []
        lines = [*([Guess(read).line] if read else ()), *guessed.notes]
        return read, notes_on(source.name, lines)

    def _guess(
        self, source: Any, fields: set[str], is_target: bool, taken: Collection[str]
    ) -> Guess:
        """The guess for a source whose fields do not say all; `MissingColumnsError` where a doubt leaves too little."""
        has_truth = self.truth and not is_target
        asked = Asked(taken, self.classes, apart=not self.truth and not is_target)
        graded = self._graded(source, fields, has_truth, asked)
        answered = fields & (_SCORED | {"prediction", "members", "views"} | graded)
        wants_truth = has_truth and not fields & (_TRUTH | graded)
        contested = has_truth and len(truths_by_name(source, taken)) > 1
        decides_alone = not is_target and answered == {"prediction"}
        if answered and not (contested or wants_truth or decides_alone):
            return Guess({})
        others = [] if is_target else self._opened_others()
        guessed = self._guess_beside(others, source, has_truth, asked)
        guessed.check_outcome(source.path, answered | fields & {"correct"}, has_truth)
        if not guessed.doubt:
            return guessed.for_threshold() if self.decided else guessed
        if answered and not (wants_truth or guessed.contested):
            return replace(guessed, renamings={}, notes=(f"not read: {guessed.doubt}",))
        raise guessed.refusal(source.path)

    def _guess_beside(
        self, others: Sequence[Any], source: Any, has_truth: bool, asked: Asked
    ) -> Guess:
        """The guess beside the files without labels; without the truth where that is in doubt and may be missing."""
        guessed = guess(source, others, has_truth, asked)
        is_told = guessed.contested or guessed.is_called_label
        if not self.optional or not guessed.doubt or is_told:
            return guessed
        without = guess(source, others, False, asked)
        return replace(without, notes=(*without.notes, f"not read: {guessed.doubt}"))

    def _opened_others(self) -> list[Any]:
        """The files without labels, as far as they can be opened."""
        opened = map(opened_raw, self.others)
        return [table for table in opened if table is not None]

    def _graded(self, source: Any, fields: set[str], has_truth: bool, asked: Asked) -> set[str]:
        """The score as a grade of answers; beside a target, or a label, it may be a probability."""
        if self.shared:
            return set()
        may_be_other = has_truth and "score" in fields and not fields & _TRUTH
        if may_be_other and guess(source, truth=True, asked=asked).takes_no_grade:
            return set()
        return {"score"}


def opened_raw(data: Any, mapping: Mapping[str, str] | None = None) -> Any:
    """The source, whether or not it holds anything that is known; None where it cannot be opened."""
    try:
        return as_source(data, mapping=mapping, as_far_as_known=True)
    except (OodometerError, OSError, ValueError):
        return None


def guess(
    source: Any, others: Sequence[Source] = (), truth: bool = True, asked: Asked | None = None
) -> Guess:
    """What the columns of a source are that are not called by our names; ``others`` hold no labels, ``truth`` says that
    the source itself does, ``asked`` is what was said by hand.
    """
    try:
        return (
            _Reader(source, others, asked or Asked()).run(truth)
            if hasattr(source, "layout")
            else Guess({})
        )
    except (OodometerError, StopIteration):
        return Guess({})  # said where it is read


def truths_by_name(source: Any, taken: Collection[str]) -> list[str]:
    """Columns that are called a truth, the one that is read as the label first; none where it was named by hand."""
    feed = source.layout.feeds.get("label") if hasattr(source, "layout") else None
    fed = [] if feed is None else [feed.columns[0]]
    if {*fed} & {*taken}:
        return []
    return [*fed, *(c for c in source.own_columns if usual_field(c) == "label" and c not in taken)]


def label_of(source: Any) -> dict[str, str]:
    """The renaming of the truth in a file of labels: the column that is called so, else the only one beside the key."""
    if _TRUTH & {*source.fields} or not hasattr(source, "own_columns"):
        return {}
    keys = looking_like_keys(source)
    named = [c for c in source.own_columns if usual_field(c) in _TRUTH]
    alone = named or [c for c in source.own_columns if keys and c not in keys]
    return {alone[0]: usual_field(alone[0]) or "label"} if len(alone) == 1 else {}
