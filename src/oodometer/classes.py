"""Classes and verdicts: cells that hold names or truth values, as numbers."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    KeysView,
    Mapping,
    Sequence,
    Set,
)
from typing import Any

import numpy as np

from .arrays import Array, Coded, as_cells, as_numpy, refuse
from .errors import ClassesError, InputError

ClassNames = tuple[int | str, ...]
_MOST_CANDIDATES = 2**31 - 1  # positions are int32
# the class of predictions that are null, as an answer is that could not be read
NO_ANSWER = "(none)"
# What people and libraries write in the place of a label that they do not have.
_MISSING = frozenset(
    ("", "?", "-", "--", ".", "na", "n/a", "#n/a", "#na", "<na>", "none", "null", "nan", "-nan")
) | {
    *(
        "nat",
        "nil",
        "missing",
        "todo",
        "tbd",
        "to be determined",
        "pending",
        "not yet",
        "unknown",
        "unreviewed",
    ),
    *("not reviewed", "unlabeled", "unlabelled", "not labeled", "not labelled"),
    *(
        "\\n",
        "(blank)",
        "blank",
        "undefined",
        "not available",
        "n.a.",
        "n. a.",
        "keine angabe",
        "(null)",
    ),
}
# how scikit-learn and torch write that a row has no label, and how surveys do
_NOT_YET = frozenset(
    form for code in (-1, -9, -99, -999, -9999, 99, 999, 9999) for form in (code, str(code))
)
_DIGITS = 10  # below which all other classes are, where one of several nines may stand for no label
_WHOLE = re.compile(r"-?\d+\.0+")  # a whole number with decimals
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_LABEL = re.compile(r"LABEL_(\d+)")  # of a Hugging Face model without names
_NUMBER_OF = {"no": "0", "false": "0", "n": "0", "yes": "1", "true": "1", "y": "1"}
_UNSEEN = {0xA0: " ", 0x2007: " ", 0x202F: " ", 0x200B: None, 0xFEFF: None}
_SHOWN = 3
_TRUTHS = (("False", "True"), ("false", "true"), ("FALSE", "TRUE"))
NEARLY_ALL = 0.98  # of the rows: rounded probabilities tie in a few
PROVED_ROWS = 10  # for each class, that prove an order of columns


class NewClassError(ClassesError):
    """A predicted class that is none of the known ones, or null where none stands for that."""


class NewLabelError(ClassesError):
    """A label of a class that is none of the known ones."""


def one_form(text: str) -> str:
    """A name in one of the forms that it may have: an e with an accent one sign and not two (NFC), a no-break space a
    space, and no sign that nobody sees.

    >>> one_form("sí") == one_form("si\u0301"), one_form("not\u00a0sure")
    (True, 'not sure')
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text).translate(_UNSEEN)


def is_missing_word(value: Any) -> bool:
    """Whether a text is what people write in the place of a label that they do not have."""
    return isinstance(value, str) and value.strip().lower() in _MISSING


def is_word(value: Any) -> bool:
    """Whether a text is neither a number nor in the place of a missing label.

    >>> is_word("cat"), is_word("1:cat"), is_word("0.5"), is_word("n/a")
    (True, True, False, False)
    """
    if not isinstance(value, str) or is_missing_word(value):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def without_missing(labels: Collection[Any], others: Collection[Any]) -> set[Any]:
    """The values of a column of labels that are classes: words for a missing label are, where another column holds
    them, and so is -1; else -1 is none beside two whole numbers from 0 on, nor is -9, -99, -999, or 99 beside digits.

    >>> without_missing([-1, 0, 1], [0, 1]), without_missing([-1, 1], [1]), without_missing(["ok", "pending"], ["ok"])
    ({0, 1}, {1, -1}, {'ok'})
    >>> without_missing([0, 1, 99], [0, 1]), without_missing([0, 1, 99], [99]), without_missing([0, 50, 99], [0, 50])
    ({0, 1}, {0, 1, 99}, {0, 50, 99})
    """
    classes = {value for value in labels if value in others or not is_missing_word(value)}
    texts = {str(value) for value in others}
    rest = {value for value in classes if value is not None}
    rest = {value for value in rest if value not in _NOT_YET or str(value) in texts}
    if len(rest) < 2 or not all(str(value).isdecimal() for value in rest):
        return classes
    are_digits = all(int(value) < _DIGITS for value in rest)
    return rest if are_digits else rest | {v for v in classes if str(v).isdecimal()}


def spelt_otherwise(labels: Collection[Any], others: Collection[Any]) -> tuple[Any, Any] | None:
    """A word among labels alone, or among the others alone, beside one there that is the same but for capitals and
    blanks around it.

    >>> spelt_otherwise(["Yes", "No"], ["Yes", "YES", "No"]), spelt_otherwise(["cat", "A"], ["cat", "a"])
    (('YES', 'Yes'), None)
    >>> spelt_otherwise(["A", "B"], ["a", "b", "c"])
    ('A', 'a')
    """
    # letters are classes of their own beside each other, and one spelling where no column has both
    least = 1 if {*labels}.isdisjoint({*others} - {None}) else 2
    for candidates, rest in ((labels, others), (others, labels)):
        alike = {
            _bare(value): value
            for value in rest
            if isinstance(value, str) and len(_bare(value)) >= least
        }
        for value in candidates:
            if isinstance(value, str) and value not in rest and _bare(value) in alike:
                return value, alike[_bare(value)]
    return None


def _bare(word: str) -> str:
    return word.strip().casefold()


def refuse_other_spelling(
    labels: Collection[Any],
    others: Collection[Any],
    column: str = "label",
    file: str | None = None,
    row: int | None = None,
) -> None:
    """`InputError` for a class that is written like another but for capitals or blanks: its rows would be errors."""
    pair = spelt_otherwise(labels, others)
    if pair is not None:
        remedy = f"write it {pair[1]!r}, as elsewhere; if both are classes, name all with --classes"
        raise InputError(
            "one spelling of a class",
            got=repr(pair[0]),
            remedy=remedy,
            file=file,
            row=row,
            column=column,
        )


def columns_by_decisions(
    probabilities: Array, decided: Array, classes: Sequence[str]
) -> list[str] | None:
    """The class that each column of probabilities is of, by the names that are decided for in the same rows.

    Column k is of the class that is decided for where it is the largest, in nearly all such rows. A class that is never
    decided for has the one column that is left. None where rows contradict each other or leave two orders.

    >>> columns_by_decisions(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array(["dog", "cat"]), ["cat", "dog"])
    ['dog', 'cat']
    """
    top, order = probabilities.argmax(axis=1), list[str | None]()
    for k in range(probabilities.shape[1]):
        names, counts = np.unique(decided[top == k].astype(str), return_counts=True)
        if len(names) and counts.max() < NEARLY_ALL * counts.sum():
            return None
        order.append(str(names[counts.argmax()]) if len(names) else None)
    unused = [name for name in classes if name not in order]
    if len({*order} - {None}) + order.count(None) < len(order) or order.count(None) > 1:
        return None
    if None in order:
        if len(unused) != 1:
            return None
        order[order.index(None)] = unused[0]
    return [str(name) for name in order]


def proved_classes(
    probabilities: Array, decided: Array, names: Sequence[int | str]
) -> ClassNames | None:
    """The classes of columns without names, in their order, where decisions beside them prove exactly one order.

    probabilities : shape (sample, class).
    decided : positions in ``names``, words or numbers, shape (sample,), -1 where there is none.

    >>> p = np.tile([[0.9, 0.1], [0.2, 0.8]], (10, 1))
    >>> proved_classes(p, np.tile([1, 0], 10), ("cat", "dog")), proved_classes(p, np.tile([1, 0], 10), (10, 20))
    (('dog', 'cat'), (20, 10))
    """
    known, by_text = decided >= 0, {str(name): name for name in names}
    if known.sum() < PROVED_ROWS * probabilities.shape[1]:
        return None
    words = np.array([*by_text], dtype=object)[decided[known]]
    order = columns_by_decisions(probabilities[known], words, [*by_text])
    return None if order is None else tuple(by_text[name] for name in order)


# Of two words for classes, the one that a probability without a name is of, and the other one.
_YES = frozenset(("yes", "y", "true", "t", "positive", "pos", "+", "present", "case", "event"))
_YES |= {"success", "1"}
_NO = frozenset(("no", "n", "false", "f", "negative", "neg", "-", "absent", "control", "nonevent"))
_NO |= {"failure", "0"}
YES_AND_NO = _YES | _NO
SCORE_WORDS = {"p", "prob", "probs", "proba", "probability", "probabilities", "score", "scores"}
SCORE_WORDS |= {"risk", "propensity", "likelihood", "pred", "predicted", "prediction", "model"}
SCORE_WORDS |= {"of", "class"}
"""Words in the name of a column of scores that say no class and no outcome."""
_CLEAR = 3.0  # standard errors between a mean and a share that are not of one class


def positive_of(classes: Sequence[int | str]) -> str | None:
    """The one of two classes that a lone probability is of by their names alone; None where these do not tell.

    >>> positive_of(["no", "yes"]), positive_of(["pos", "neg"]), positive_of(["0", "1"]), positive_of(["a", "b"])
    ('yes', 'pos', '1', None)
    """
    names = [str(name) for name in classes]
    if all(name.removeprefix("-").isdecimal() for name in names):
        return max(names, key=int)
    yes = [name for name in names if name.strip().lower() in _YES]
    no = [name for name in names if name.strip().lower() in _NO]
    return yes[0] if len(yes) == len(no) == 1 else None


def lower_class(
    words: Sequence[str], classes: Sequence[str], truth: Collection[str] = ()
) -> list[str]:
    """The lower one of two classes that are numbers, where a column's name says 0, or no; else none.

    words : of the name. truth : words of the name of the labels: `no_show` is no class that is called no.

    >>> lower_class(["proba", "0"], ["0", "1"]), lower_class(["probability", "no"], ["0", "1"])
    (['0'], ['0'])
    >>> lower_class(["p", "not", "fraud"], ["0", "1"], ["is", "fraud"]), lower_class(["no", "show", "p"], ["0", "1"])
    (['0'], [])
    >>> lower_class(["prob", "no", "churn"], ["0", "1"], ["churn"])
    ['0']
    >>> lower_class(["score", "10"], ["0", "1"]), lower_class(["p", "no"], ["paid", "not"])
    ([], [])
    """
    if not all(name.removeprefix("-").isdecimal() for name in classes):
        return []
    digits = {digit for word in words for digit in re.findall(r"\d+", word)}
    rest = [word for word in words if word not in SCORE_WORDS]
    is_no = rest in (["no"], ["neg"], ["negative"], ["false"]) and rest[0] not in truth
    is_not = len(rest) > 1 and rest[0] in ("not", "non", "no") and {*rest[1:]} <= {*truth}
    is_first = digits == {"0"} and "0" in classes
    return [min(classes, key=int)] if is_first or is_no or (is_not and rest[0] not in truth) else []


def class_by_share(p: Array, labels: Array, classes: Sequence[str]) -> str | None:
    """The one of two classes that probabilities ``p`` are of by how often each comes: its share of the rows is their
    mean, and that of the other one is not; None where both may be, or neither. Which rows are right says nothing here.

    >>> class_by_share(np.full(99, 0.1), np.array(["rare"] * 9 + ["usual"] * 90), ["rare", "usual"])
    'rare'
    """
    mask = np.isfinite(p) & np.isin(labels, classes)
    if not mask.any():
        return None
    p = p[mask]
    shares = [float((labels[mask] == name).mean()) for name in classes]
    error = float(np.sqrt((p.var() + shares[0] * shares[1]) / len(p)))
    off = [abs(float(p.mean()) - share) / max(error, 1e-9) for share in shares]
    if min(off) > _CLEAR or max(off) <= _CLEAR:
        return None
    return classes[int(np.argmin(off))]


def are_decimals(texts: Collection[Any]) -> bool:
    """Whether all texts are numbers, and some of them no whole ones: what a text file makes of a regression.

    >>> are_decimals(["10.8", "11"]), are_decimals(["10", "11"]), are_decimals(["10.8", "cat"])
    (True, False, False)
    """
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return False
    return not all(number.is_integer() for number in numbers)


MOST_DECIMALS = 10  # different ones that a text file's classes may be, such as grades of 1.5


def regression(different: int, file: str | None, row: int | None, column: str) -> InputError:
    """The error for a column of decimals where classes should be, with the detour."""
    got = f"decimals ({different} different ones): a regression, which accuracy does not measure"
    return InputError("classes", got=got, remedy=DETOUR, file=file, row=row, column=column)


DETOUR = (
    "write 1 where an error is small enough and 0 elsewhere into a column `correct`, in the place of `label` and "
    "`prediction`; if they are classes, put a letter before the numbers"
)


def label_codes(
    coded: Coded, classes: ClassNames, others: bool = False
) -> tuple[Coded, dict[str, int]]:
    """A column of labels in which words for a missing one (`is_missing_word`) that are no class are unknown, -1; and
    with ``others`` classes that are none of the known ones -2, since rows of them are errors of the model. Beside it
    how many rows had which word, or which class. A class that looks like another way to write a known one (``Cat`` for
    ``cat``, 1 to K for 0 to K - 1) is none.
    """
    noted: dict[str, int] = {}
    table = np.arange(len(coded.values) + 2)  # the last two entries are what codes -2 and -1 pick
    table[-2:] = -2, -1
    rows = np.bincount(coded.codes.ravel() + 2, minlength=len(table))[2:].tolist()
    for code, kind in _no_classes(coded.values, classes, others).items():
        if rows[code]:
            noted[f"{kind} {coded.values[code]!r}"] = rows[code]
            table[code] = -1 if kind == "missing" else -2
    if not noted:
        return Coded(coded.codes, coded.values), noted
    further = sum(entry < -1 for entry in table[:-2].tolist())
    refuse_ids("label", further, coded.codes.size, shared=False)
    return Coded(table[coded.codes], coded.values), noted


def _no_classes(values: Sequence[Any], classes: ClassNames, others: bool) -> dict[int, str]:
    """Places of values that are none of the classes: "missing" for words that say so, and with ``others`` "class"."""
    by_name = {str(name) for name in classes}
    alike = {name.strip().casefold() for name in by_name}
    is_numbered_otherwise = _other_numbering([v for v in values if not is_missing_word(v)], classes)
    codes = _codes_for_none(values, classes)
    out = {}
    for place, value in enumerate(values):
        if value is None or _name_of(value, by_name) in by_name:
            continue
        odd = str(value).strip().casefold() in alike or is_numbered_otherwise(value)
        if is_missing_word(value) or value in codes:
            out[place] = "missing"
        elif others and not odd:
            out[place] = "class"
    return out


def _codes_for_none(values: Sequence[Any], classes: ClassNames) -> Collection[Any]:
    """The numbers that stand for no label beside these classes: 99 beside digits alone, -1 where it is no class."""
    if _is_half_of_a_pair([v for v in values if v is not None], classes):
        return ()
    are_digits = all(str(name).isdecimal() and int(name) < _DIGITS for name in classes)
    return _NOT_YET if are_digits else {c for c in _NOT_YET if str(c).startswith("-")}


def as_one_type(classes: Collection[Any], numbers: Collection[str]) -> list[Any]:
    """Classes, of which those that say one thing as a number and in words are one: of 0 and 1 beside yes and no the
    words, of 0 and 1 beside LABEL_0 and LABEL_1, as a Hugging Face model without names has them, the numbers.

    >>> as_one_type([0, 1, "No", "Yes"], ["0", "1"]), as_one_type([0, 2, "LABEL_2"], ["0", "2"])
    (['No', 'Yes', 'No', 'Yes'], [0, 2, 2])
    """
    texts = [value for value in classes if isinstance(value, str)]
    words = {n: text for text in texts if (n := _NUMBER_OF.get(text.strip().lower())) is not None}
    if len(words) == 2 and numbers and {"0", "1"}.issuperset(numbers):
        return [words.get(str(value), value) for value in classes]
    labels = {text: match[1] for text in texts if (match := _LABEL.fullmatch(text))}
    found = {text: n for text, n in labels.items() if n in numbers}
    found |= {text: text for text in texts if numbers and _INTEGER.fullmatch(text)}
    return [int(found[value]) if value in found else value for value in classes]


def say_yes_and_no(labels: Collection[Any], others: Collection[Any]) -> bool:
    """Whether both say yes and no, in words of their own.

    >>> say_yes_and_no(["True", "False"], ["no", "yes"]), say_yes_and_no(["no", "yes"], ["no", "yes"])
    (True, False)
    """
    sets = [{str(v).strip().lower() for v in side if v is not None} for side in (labels, others)]
    every = sets[0] | sets[1]
    are_two = len(sets[0]) == 2 and bool(sets[1]) and sets[0].isdisjoint(sets[1])
    return are_two and {*_NUMBER_OF} >= every


def as_one(labels: Collection[Any], others: Collection[Any]) -> list[Any]:
    """Classes of labels and of answers, each once, where one side may say in words what the other says by numbers.

    >>> as_one(["no", "yes"], [0, 1]), as_one(["True", "False"], ["no", "yes"]), as_one(["cat"], ["dog", "fox"])
    (['no', 'yes'], ['True', 'False'], ['dog', 'fox', 'cat'])
    """
    if say_yes_and_no(labels, others):
        return [*dict.fromkeys(labels)]
    every = [*dict.fromkeys((*others, *labels))]
    numbers = [str(value) for value in every if not isinstance(value, str)]
    return [*dict.fromkeys(as_one_type(every, numbers))]


def _name_of(value: Any, names: Collection[str]) -> str:
    """What the class of a cell is called among ``names``, which may write the number that it is in another way."""
    is_truth = isinstance(value, bool)
    truth = class_of_truth(value, names) if is_truth else ""
    if is_truth and (truth in names or len(names) != 2):
        return truth
    text = str(int(value)) if is_truth else str(value)
    if text in names:
        return text
    if len(names) == 2 and (alike := _of_yes_and_no(text, names)) is not None:
        return alike
    if (number := text.removeprefix("LABEL_")) in names:
        return number
    if not text.isdecimal():
        return text
    forms = [f"{text}.0", f"LABEL_{text}"]  # of floats, and of a Hugging Face model without names
    if text in ("0", "1"):
        forms += [pair[int(text)] for pair in _TRUTHS if {*pair} == {*names}]
    known = next((form for form in forms if form in names), None)
    return known or truth or text


def _of_yes_and_no(text: str, names: Collection[str]) -> str | None:
    """The one of two names that says yes or no as a text does in another word or number; None without such."""
    number = _NUMBER_OF.get(text.strip().lower(), text)
    alike = [name for name in names if _NUMBER_OF.get(name.strip().lower()) == number]
    return alike[0] if len(alike) == 1 else None


# without a probability for each: a table of classes by classes then takes 128 MB
MOST_CLASSES = 4_096
_MANY, _NEARLY_ALL = 1_000, 0.9  # different values, and their share of the rows, that ids have


def refuse_ids(column: str, distinct: int, rows: int, shared: bool = True) -> None:
    """Raise `InputError` where a column of classes has more different values than classes can have, or hardly one twice
    and none that another column has (``shared``).

    >>> refuse_ids("label", 99_000, 100_000)
    Traceback (most recent call last):
    ...
    oodometer.errors.InputError: column label: expected classes, at most 4,096 of them, got 99,000 different values \
in 100,000 rows: these look like ids; name the column of the classes, --map COLUMN=label, or give the column \
`correct` (true or false) in place of label and prediction
    """
    ids = distinct > _MANY and distinct > _NEARLY_ALL * rows
    if distinct > MOST_CLASSES or (ids and not shared):
        size = (8 * distinct * distinct) >> 20
        why = (
            "these look like ids"
            if 2 * distinct > rows
            else f"a table of classes by classes would take {size:,} MB"
        )
        got = f"{distinct:,} different values in {rows:,} rows: {why}"
        remedy = f"name the column of the classes, --map COLUMN={column}, or give the column `correct` (true or false) "
        remedy += "in place of label and prediction"
        raise InputError(
            f"classes, at most {MOST_CLASSES:,} of them", got=got, remedy=remedy, column=column
        )


def refuse_ids_among(columns: Mapping[str, Collection[Any]], rows: int) -> None:
    """`refuse_ids` of class columns that were read together: their different values, by column."""
    for name, values in columns.items():
        shared = len(values) <= _MANY or len(columns) == 1
        shared = shared or any(
            not set(values).isdisjoint(column) for n, column in columns.items() if n != name
        )
        refuse_ids(name, len(values), rows, shared)


def _is_half_of_a_pair(distinct: Collection[Any], classes: ClassNames) -> bool:
    """Whether -1 may be a class among labels: where classes do not count from 0 on, and beside 1 without a 0."""
    texts = {str(value) for value in distinct}
    return not all(isinstance(c, int) and c >= 0 for c in classes) or (
        len(classes) == 2 and texts == {"-1", "1"}
    )


def said_of_classes(noted: Mapping[str, int], who: str) -> list[str]:
    """What is to be said of labels that are no class, of classes that the model does not know, and of no answers."""
    out = []
    for kind in ("missing", "class", "no answer"):
        rows = {
            name.partition(" ")[2]: count for name, count in noted.items() if name.startswith(kind)
        }
        total = f"{sum(rows.values()):,}"
        by_rows = sorted(rows, key=lambda name: -rows[name])
        names = ", ".join(by_rows[:_SHOWN]) + (
            f" and {len(by_rows) - _SHOWN:,} more" if len(by_rows) > _SHOWN else ""
        )
        sentences = {
            "missing": f"labels are written {names} and count as unknown; if that is a class, name all with --classes",
            "class": f"labels are of classes that the model does not know ({names}): they count as its errors",
            "no answer": "predictions are null, as of answers that could not be read: they count as wrong",
        }
        out += [f"{who}: {total} {sentences[kind]}"] if rows else []
    return out


def _other_numbering(distinct: Sequence[Any], classes: ClassNames) -> Callable[[Any], bool]:
    """Whether a class rather shows that classes are named or numbered otherwise than that it is a new one."""
    numbered = all(isinstance(c, int) for c in classes)
    names = [*map(str, classes)]
    known = {*names}
    counted = all(_name_of(k, known) == name for k, name in enumerate(names))
    numbers = [int(cell) for cell in distinct if str(cell).lstrip("-").isdigit()] if counted else []
    from_one = min(numbers, default=0) >= 1

    def is_so(cell: Any) -> bool:
        """Whether it is a name among numbers, or K where classes count from 0 to K - 1."""
        named = numbered and isinstance(cell, str) and not cell.lstrip("-").isdigit()
        return named or (from_one and str(cell) == str(len(classes)))

    return is_so


def named_classes(value: Any) -> ClassNames:
    """Class names as somebody gave them: in an order, each once, integers or strings; False and True become texts.
    `InputError` for a set, which has no order.
    """
    unordered = isinstance(value, (Set, Mapping)) and not isinstance(value, KeysView)
    if (
        unordered
        or isinstance(value, (str, bytes))
        or not (isinstance(value, Iterable) or np.ndim(value))
    ):
        expected = "class names in the order of the probabilities"
        remedy = "give a list, which has an order: "
        raise InputError(
            expected,
            got=f"a {type(value).__name__}",
            remedy=f"{remedy}['cat', 'dog']",
            column="classes",
        )
    names = (
        list(value)
        if isinstance(value, (list, tuple, KeysView))
        else as_numpy(value).ravel().tolist()
    )
    if not {type(name) for name in names} <= {int, str}:
        names = [_plain_name(name) for name in names]
    names = [one_form(name) if isinstance(name, str) else name for name in names]
    if len({str(name) for name in names}) != len(names):
        raise InputError(
            "distinct class names", got="a name twice", remedy="rename one", column="classes"
        )
    return tuple(names)


def _plain_name(name: Any) -> int | str:
    """A class name as an integer or a text."""
    name = name.item() if isinstance(name, np.generic) else name
    if isinstance(name, float) and name.is_integer():
        return int(name)
    if isinstance(name, bool):
        return str(name)
    if not isinstance(name, (int, str)):
        raise InputError(
            "class names that are integers or strings",
            got=repr(name)[:60],
            remedy="give one name for each class",
            column="classes",
        )
    return name


TRUTH: dict[Hashable, int] = {
    **dict.fromkeys((True, "true", "1", "1.0", "yes", "y", "correct", "pass", "passed"), 1),
    **dict.fromkeys((False, "false", "0", "0.0", "no", "n", "incorrect", "fail", "failed"), 0),
    "": -1,
}
ABSTAINED = ("not_attempted", "not attempted", "abstained", "no answer", "refused", "refusal")
"""What graders write of an answer that was not given, which is not a right one."""
# What judges and people write besides what any column of truths holds.
_VERDICTS: dict[Hashable, float] = {
    **dict.fromkeys(
        ("y", "t", "right", "good", "accept", "accepted", "win", "wins", "won", "a", "model_a"), 1.0
    ),
    **dict.fromkeys(
        ("n", "f", "wrong", "bad", "reject", "rejected", "lose", "loss", "lost", "b", "model_b"),
        0.0,
    ),
    **dict.fromkeys(("tie", "tied", "draw", "equal", "both", "tie (bothbad)"), 0.5),
    **dict.fromkeys(ABSTAINED, 0.0),
    **dict.fromkeys(("", "nan", "null", "none", "n/a", "na", "unknown"), math.nan),
}


def verdict_number(cell: Any, word: str | None = None) -> float | None:
    """What a cell says: 1 yes, 0 no, 0.5 a tie, a grade as it is, NaN nothing; None where it is no verdict."""
    if is_null(cell):
        return float("nan")
    bare = cell.strip().lower() if isinstance(cell, str) else cell
    if word is not None:
        text = str(cell).strip().lower()
        return float("nan") if bare == "" else float(text == word.strip().lower())
    if bare in _VERDICTS or bare in TRUTH:
        return float(_VERDICTS.get(bare, TRUTH.get(bare, 0)))
    try:
        return number if math.isfinite(number := float(bare)) else None
    except (TypeError, ValueError):
        return None


def truth_values(value: Any, column: str) -> Array:
    """Booleans, 0/1 or null as int8 of the same shape: 1 true, 0 false, -1 unknown."""
    array = as_cells(value)
    if array.dtype.kind == "b":
        return array.astype(np.int8)
    if array.dtype.kind in "iu":
        out = array.astype(np.int64)
        bad = (out != 0) & (out != 1)
    elif array.dtype.kind == "f":
        unknown = np.isnan(array)
        out = np.where(unknown, -1, array)
        bad = ~unknown & (array != 0) & (array != 1)
    else:
        words = (v.strip().lower() if isinstance(v, str) else v for v in array.ravel().tolist())
        flat = [
            -1 if is_null(v) else TRUTH.get(v) if isinstance(v, Hashable) else None for v in words
        ]
        bad = np.array([v is None for v in flat], dtype=bool).reshape(array.shape)
        out = np.array([0 if v is None else v for v in flat]).reshape(array.shape)

    got = lambda at: repr(array[at].item() if hasattr(array[at], "item") else array[at])  # noqa: E731
    refuse(bad, column, "true or false (or 1, 0, null)", got, "give one verdict a cell")
    return out.astype(np.int8)


def is_null(cell: Any) -> bool:
    """Whether a cell says "unknown": None, NaN, or the NA and NaT of a library of frames."""
    is_nan = isinstance(cell, float) and cell != cell
    return cell is None or is_nan or type(cell).__name__ in ("NAType", "NaTType", "MaskedConstant")


def class_of_truth(value: bool, names: Collection[str]) -> str:
    """The name of the class that true or false stands for: of False and True (however written), or 0 and 1."""
    pairs = (*_TRUTHS, ("0", "1"))
    names_ = next((pair for pair in pairs if names and set(pair).issuperset(names)), pairs[0])
    return names_[value]


def truth_pair(name: Any) -> tuple[str, str] | None:
    """The names of false and true, written as ``name`` is, which is one of them; None where it is neither.

    >>> truth_pair("TRUE"), truth_pair("yes")
    (('FALSE', 'TRUE'), None)
    """
    return next((pair for pair in _TRUTHS if name in pair), None)


_NO_CLASS = (
    "a class (an integer or a string)",
    "give one class number or name a cell, not scores, not lists",
)


def _dictionary(value: Any, column: str) -> tuple[Array, list[Any]]:
    """Split values into (codes, distinct values); null and NaN get code -1."""
    if isinstance(value, Coded):
        return value.codes, list(value.values)
    array = as_cells(value)
    if array.dtype.kind == "b":
        return array.astype(np.int64), [False, True]
    if array.dtype.kind == "f":
        return _dictionary_of_floats(array, column)
    if array.dtype.kind in "iu":
        distinct, codes = np.unique(array, return_inverse=True)
        return codes.reshape(array.shape), distinct.tolist()
    return _dictionary_of_cells(array, column)


def _dictionary_of_floats(array: Array, column: str) -> tuple[Array, list[Any]]:
    """`_dictionary` of floats, which must be whole numbers or NaN."""
    unknown = np.isnan(array)
    odd = ~unknown & ~(np.isfinite(array) & (array == np.round(array)))
    decimals = np.unique(array[odd & np.isfinite(array)]).size
    if decimals > MOST_DECIMALS:
        raise regression(decimals, file=None, row=int(np.argmax(odd.ravel())) + 1, column=column)
    refuse(odd, column, _NO_CLASS[0], lambda at: str(array[at]), _NO_CLASS[1])
    codes = np.full(array.shape, -1, dtype=np.int64)
    distinct, codes[~unknown] = np.unique(array[~unknown].astype(np.int64), return_inverse=True)
    return codes, distinct.tolist()


def _dictionary_of_cells(array: Array, column: str) -> tuple[Array, list[Any]]:
    """`_dictionary` of objects and texts, all of one type."""
    index: dict[Any, int] = {}
    codes = np.empty(array.size, dtype=np.int64)
    for i, item in enumerate(array.ravel().tolist()):
        if is_null(item):
            codes[i] = -1
        elif isinstance(item, Hashable):
            name = one_form(item) if isinstance(item, str) else item
            codes[i] = index.setdefault(name, len(index))
        else:
            is_bad = np.arange(array.size).reshape(array.shape) == i
            refuse(is_bad, column, _NO_CLASS[0], repr(item)[:60], _NO_CLASS[1])
    codes = codes.reshape(array.shape)
    first = next(iter(index), None)
    second = next((k for k in index if isinstance(k, str) != isinstance(first, str)), None)
    if second is not None:
        expected = "labels of one type, all integers or all strings"
        refuse(
            codes == index[second],
            column,
            expected,
            f"{first!r} and {second!r}",
            "make them one type",
        )
    for k, code in index.items():
        if not (
            isinstance(k, (str, int, np.integer, np.bool_))
            or (isinstance(k, float) and k.is_integer())
        ):
            refuse(codes == code, column, _NO_CLASS[0], repr(k), _NO_CLASS[1])
    return codes, [
        k if isinstance(k, str) else bool(k) if isinstance(k, (bool, np.bool_)) else int(k)
        for k in index
    ]


def find_classes(columns: Mapping[str, Any]) -> ClassNames:
    """The sorted distinct classes that occur in label-like columns, by field: a word for a missing label is one where
    another column holds it too, and null is one among predictions (`NO_ANSWER`).

    >>> find_classes({"label": ["cat", "NA"], "prediction": ["ant", "cat"]})
    ('ant', 'cat')
    """
    seen: set[int | str] = set()
    labels: set[int | str] = set()
    answered, codes = True, np.zeros(0)
    values_by_field: dict[str, list[Any]] = {}
    for name, values in columns.items():
        codes, cells = _dictionary(values, name)
        refuse_ids(name, len(cells), codes.size)
        values_by_field[name] = cells
        (labels if name == "label" else seen).update(
            int(cell) if isinstance(cell, bool) else cell for cell in cells
        )
        answered &= name != "prediction" or not bool((codes < 0).any())
    refuse_ids_among(values_by_field, codes.shape[-1] if values_by_field else 0)
    refuse_other_spelling(labels, seen)
    labels = without_missing(labels, seen)
    if not answered:
        seen |= labels
        return (*sorted(map(str, seen)), NO_ANSWER)
    seen = {*as_one(labels, seen)}
    texts = [v for v in seen if isinstance(v, str)]
    if 0 < len(texts) < len(seen):
        got = f"both, such as {texts[0]!r} and {next(v for v in seen if not isinstance(v, str))!r}"
        raise InputError(
            "classes of one type, all integers or all strings",
            got=got,
            remedy="make label, prediction and members one type",
            column="label",
        )
    return tuple(sorted(seen))


def encode(value: Any, classes: ClassNames, column: str, field: str = "label") -> Array:
    """Classes as int32 positions in ``classes``, matched by name; null is -1, and so is a word for a missing label. Of
    a ``field`` that may not be unknown, `prediction`, null is `NO_ANSWER`. Raises `InputError` for a class that is not
    among ``classes``, of predictions a `NewClassError`, of labels a `NewLabelError`.
    """
    if not isinstance(value, Coded):
        value = as_cells(value)
        counted = value.dtype.kind in "iu" and classes == tuple(range(len(classes)))
        if counted and (not value.size or (value.min() >= 0 and value.max() < len(classes))):
            return value.astype(np.int32)  # type: ignore[no-any-return]
    codes, distinct = _dictionary(value, column)
    if field == "label":
        codes = label_codes(Coded(codes, distinct), classes)[0].codes
    by_name = {str(name): position for position, name in enumerate(classes)}
    names = [_name_of(value, by_name) for value in distinct]
    unknown = by_name.get(NO_ANSWER, -1) if field == "prediction" else -1
    lookup = np.array([by_name.get(name, -3) for name in names] + [-2, unknown], dtype=np.int32)
    out: Array = lookup[codes]
    bad = out == -3
    if bad.any():
        listing = ", ".join(map(str, classes[:6])) + (", ..." if len(classes) > 6 else "")
        kind = {"prediction": NewClassError, "label": NewLabelError}.get(field, ClassesError)
        cell = distinct[codes.flat[int(np.argmax(bad))]]
        naming = _naming_of_classes(cell, distinct, classes)
        remedy = "" if naming else _remedy_for_class(cell, distinct, classes, field)
        refuse(
            bad,
            column,
            f"one of the {len(classes)} known classes ({listing})",
            repr(cell),
            remedy,
            kind=kind,
            naming=naming,
        )
    return out


def encode_positions(value: Any, column: str) -> Array:
    """Positions among the candidates of a row as int32: whole numbers from 0; null is -1."""
    codes, distinct = _dictionary(value, column)
    positions = []
    for cell in distinct:
        number = (
            int(cell[:12])
            if isinstance(cell, str) and cell.isascii() and cell.isdecimal()
            else cell
        )
        is_integer = isinstance(number, int) and not isinstance(number, bool)
        positions.append(int(number) if is_integer and 0 <= number < _MOST_CANDIDATES else -2)
    out: Array = np.array([*positions, -1], dtype=np.int32)[codes]
    if (out == -2).any():
        cell = distinct[codes.flat[int(np.argmax(out == -2))]]
        remedy = "beside candidate_scores say which of them is right by its place in the list, counted from 0"
        remedy = "use null where the right one is unknown" if str(cell).startswith("-") else remedy
        refuse(
            out == -2, column, "the position of a candidate (0, 1, ...)", repr(cell)[:60], remedy
        )
    return out


def _is_minus_one(cell: Any, distinct: Collection[Any], classes: ClassNames) -> bool:
    """Whether a label is -1 beside 1 alone, where the classes are two others."""
    texts = {str(value) for value in distinct if value is not None}
    return str(cell) == "-1" and texts == {"-1", "1"} and {*classes} == {0, 1}


def _naming_of_classes(cell: Any, distinct: Collection[Any], classes: ClassNames) -> str | None:
    """How classes that only count columns get the names that the labels have; None where they have names."""
    if _is_minus_one(cell, distinct, classes):
        return None
    if not isinstance(cell, str) or not all(isinstance(c, int) for c in classes):
        return None
    hint = " (of one column its class: --positive COLUMN=CLASS)" if len(classes) == 2 else ""
    naming = (
        "name the classes in the order of the probabilities: columns prob_<class>, or classes=[...]"
    )
    return naming + hint


def _remedy_for_class(
    cell: Any, distinct: Sequence[Any], classes: ClassNames, field: str = "label"
) -> str:
    """What to do about a class that is not among the known ones."""
    if _is_minus_one(cell, distinct, classes):
        both = "if -1 is the other class, name both, --classes -1,1"
        return f"{both}; null means that the truth is unknown"
    if _other_numbering(distinct, classes)(cell):
        return "these seem to count from 1: subtract 1, or name the classes with classes=[...]"
    near = [
        name for name in classes if str(name).strip().casefold() == str(cell).strip().casefold()
    ]
    if near:
        return f"write it {near[0]}, as the others"
    if field == "label":
        zeros = f"where the model does not know the class, add a column prob_{cell} of zeros to every file"
        return f"check its spelling; {zeros}; null means that the truth is unknown"
    return "name all classes with --classes a,b,c, the same for every file"


def matched(
    labels: Sequence[Any],
    classes: Sequence[int | str],
    *,
    file: str | None,
    first_row: int,
    column: str,
    images: Sequence[str] = (),
    remedy: str = "name its classes in the words of the labels, in their order, with --classes a,b,c",
) -> list[int | str | None]:
    """Labels as class names of the model, empty cells None; of paths of ``images`` the folder that is a class."""
    names = {_text_of_class(label): label for label in classes}
    out: list[int | str | None] = []
    for row, label in enumerate(labels, first_row + 1):
        plain = label.item() if hasattr(label, "item") else label
        if plain is None or plain == "" or plain != plain:
            out.append(None)
            continue
        key = _text_of_class(plain)
        # a function names no classes: they are the numbers of its columns
        if not names and key.isdecimal():
            out.append(int(key))
            continue
        if key not in names and images:
            inner = {part for part in key.split("/") if part in names}
            if len(inner) != 1:
                raise InputError(
                    f"a folder named like one of the model's classes, {', '.join(list(names)[:8])}",
                    got=repr(plain),
                    file=images[row - first_row - 1],
                    remedy="name the model's classes in the words of the folders, in their order, with "
                    "--classes a,b,c, or leave labels out with --unlabelled",
                )
            key = inner.pop()
        if key not in names:
            expected = f"one of the model's classes, {', '.join(list(names)[:8])}"
            if not names:
                expected = (
                    "the number of one of the model's classes, since a function does not name them"
                )
            raise InputError(
                expected, got=repr(plain), file=file, row=row, column=column, remedy=remedy
            )
        out.append(names[key])
    return out


def _text_of_class(label: Any) -> str:
    if isinstance(label, str) and _WHOLE.fullmatch(label):
        return label.partition(".")[0]
    if isinstance(label, bool) or (isinstance(label, float) and label.is_integer()):
        return str(int(label))
    return str(label)
