"""Classes of keys and alarms: columns that join rows, bounds that must not be undercut, chunks of the calendar."""

from __future__ import annotations

from typing import Any

from .base import REFUSED, SAME, WARNED, Call, Kit, trial
from .calls import CALLS, JOINS

FORMS = ("csv", "parquet")


def _asked(name: str, came: str, words: Any, *more: str) -> None:
    trial(CALLS, name, came, REFUSED, words, ("estimate",))(lambda kit, form: kit.estimate(None, None, *more))


_asked("an alarm below a percentage", "`--fail-below 93`", ("0.93", "percents"), "--fail-below", "93")
_asked("an alarm below nothing", "`--fail-below=-0.1`", "between 0 and 1", "--fail-below=-0.1")
_asked("an alarm below no number", "`--fail-below nan`", "--fail-below", "--fail-below", "nan")
_asked("a drop below zero", "`--fail-drop=-0.02`", "between 0 and 1", "--fail-drop=-0.02")
_asked("a bound twice", "`--fail-below 0.9 --fail-below 0.8`", "twice", "--fail-below", "0.9", "--fail-below", "0.8")
_asked("an alarm of a metric that there is not", "`--fail-below f7=0.8`", "f7", "--fail-below", "f7=0.8")
_asked(
    "an alarm judged by luck", "`--fail-when luck`", "value, likely, upper", "--fail-below", "1", "--fail-when", "luck"
)
_asked("a unit that no calendar has", "`--every fortnight`", ("fortnight", "month"), "--every", "fortnight")
_asked("chunks of no rows", "`--every 0rows`", "1000rows", "--every", "0rows")
trial(CALLS, "an alarm without a reference", "one file, and `--fail-drop 0.02`", REFUSED, "TARGET", ("estimate",))(
    lambda kit, form: Call(["estimate", str(kit.clean("target")), "--fail-drop", "0.02"])
)


def _labels(kit: Kit, form: str, name: str, *more: str, order: int = -1, ids: Any = None) -> Call:
    """`estimate` with labels whose ids stand in a column of this name; clean are the labels in their order."""
    target = kit.clean("target", kit.target("id", "prob_*"))
    clean = kit.estimate(None, target, "--labels", str(kit.clean("labels", kit.target("label"))), clean=None)
    columns = kit.target("id", "label")
    own = columns["id"] if ids is None else ids(columns["id"])
    given = {name: own[::order], "label": columns["label"][::order]}
    return kit.estimate(None, target, "--labels", str(kit.put(f"labels.{form}", given)), *more, clean=clean)


trial(
    JOINS, "a key of another name, turned round", "`case_id` for `id`, no `--key`", REFUSED, "--key id=case_id", FORMS
)(lambda kit, form: _labels(kit, form, "case_id"))
trial(JOINS, "a key in capitals, turned round", "`ID` for `id`, no `--key`", REFUSED, "--key id=ID", FORMS)(
    lambda kit, form: _labels(kit, form, "ID")
)
trial(JOINS, "a shared column that is no id, turned round", "`mail`, no `--key`", REFUSED, "--key mail", FORMS)(
    lambda kit, form: _shared(kit, form, "mail")
)
trial(JOINS, "the index of a frame, turned round", "an unnamed column, no `--key`", REFUSED, "--key index", FORMS)(
    lambda kit, form: _shared(kit, form, "" if form == "csv" else "__index_level_0__")
)
trial(JOINS, "the index of a frame that is named", "`--key index`", SAME, (), FORMS)(
    lambda kit, form: _shared(kit, form, "" if form == "csv" else "__index_level_0__", "--key", "index")
)


def _shared(kit: Kit, form: str, name: str, *more: str) -> Call:
    """`estimate` with labels turned round, and one column of this name in the target and the labels."""
    target, columns = kit.target("id", "prob_*"), kit.target("id", "label")
    own = {name: target.pop("id")}
    clean = kit.estimate(
        None, kit.clean("target", target), "--labels", str(kit.clean("labels", kit.target("label"))), clean=None
    )
    labels = kit.put(f"labels.{form}", {name: own[name][::-1], "label": columns["label"][::-1]})
    return kit.estimate(None, kit.put(f"target.{form}", {**own, **target}), "--labels", str(labels), *more, clean=clean)


trial(JOINS, "a key of another name that is named", "`--key id=case`", SAME, (), FORMS)(
    lambda kit, form: _labels(kit, form, "case", "--key", "id=case")
)
trial(JOINS, "a key of another name, in the same order", "`case_id` for `id`, no `--key`", SAME, (), FORMS)(
    lambda kit, form: _labels(kit, form, "case_id", order=1)
)
trial(JOINS, "a key that does not exist", "`--key case`", REFUSED, ("case", "--key"), FORMS)(
    lambda kit, form: _labels(kit, form, "id", "--key", "case")
)
trial(JOINS, "an `id` that is missing in the labels", "null in row 1", REFUSED, ("id", "row 1"), FORMS)(
    lambda kit, form: _labels(kit, form, "id", order=1, ids=lambda own: [None, *own[1:]])
)
trial(JOINS, "an `id` that the target lacks", "`stranger` in row 1", WARNED, ("1 of", "not needed"), FORMS)(
    lambda kit, form: _labels(kit, form, "id", order=1, ids=lambda own: ["stranger", *map(str, own[1:])])
)
trial(JOINS, "ids of which the target has none", "another one in every row", REFUSED, ("none of", "alike"), FORMS)(
    lambda kit, form: _labels(kit, form, "id", order=1, ids=lambda own: [f"other-{at}" for at in range(len(own))])
)
