"""Classes of labels that mislead, and of wrong files of `discriminate`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .base import REFUSED, SAME, WARNED, Call, Kit, trial
from .material import ROWS, Columns

LABELS = "Labels and predictions that are not what they seem"
FORMS = ("csv", "jsonl", "parquet")


def _holed(columns: Columns, name: str, word: Any) -> Columns:
    """The columns with a word in every fifth cell of one of them."""
    return {**columns, name: [word if i % 5 == 0 else v for i, v in enumerate(columns[name])]}


def _audit(kit: Kit, labels: Columns, form: str) -> Call:
    files = [str(kit.clean("reference")), str(kit.clean("target", kit.target("prob_*")))]
    return Call(["audit", *files, "--labels", str(kit.put(f"labels.{form}", labels)), "--json", "-"])


for _word in ("NA", "None", "<NA>", "#N/A", "?", "nan"):

    @trial(LABELS, f"a missing label written {_word}", f"`{_word}` in every fifth label", (SAME, WARNED), _word, FORMS)
    def _(kit: Kit, form: str, word: str = _word) -> Call:
        two = {"prediction": ["no", "yes", "yes"] * 40, "label": ["no", "yes"] * 60}
        return kit.evaluate(
            kit.put(f"p.{form}", _holed(two, "label", word)), clean=kit.clean("right", _holed(two, "label", None))
        )


trial(LABELS, "a class that the model does not know", "`owl` in every fifth label", WARNED, "'owl'", FORMS,
    lambda kit, form: _audit(kit, _holed({"label": kit.target()["label"]}, "label", "owl"), form))  # fmt: skip


@trial(LABELS, "such a class in the file itself", "`owl` in every fifth `label`", WARNED, "'owl'", FORMS)
def _(kit: Kit, form: str) -> Call:
    file = str(kit.put(f"p.{form}", _holed(kit.reference(), "label", "owl")))
    return Call(["compare", file, file, "--name", "a", "--name", "b", "--json", "-"])


@trial(LABELS, "predictions that could not be parsed", "null in every fifth `prediction`", WARNED, "wrong", FORMS)
def _(kit: Kit, form: str) -> Call:
    two = {"prediction": ["no", "yes", "yes"] * 40, "label": ["no", "yes"] * 60}
    return Call(["evaluate", str(kit.put(f"p.{form}", _holed(two, "prediction", None))), "--json", "-"])


@trial(LABELS, "labels of confirmed cases alone", "only rows of class cat are labelled", WARNED, "random", FORMS)
def _(kit: Kit, form: str) -> Call:
    rows = [i for i, v in enumerate(kit.target()["label"]) if v == "cat"]
    return _audit(kit, {"row": rows, "label": ["cat"] * len(rows)}, form)


@trial(LABELS, "a metric of a class without labelled rows", "no reference row is of class emu", WARNED, "'emu'", FORMS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference()
    rows = [i for i in range(ROWS) if columns["label"][i] != "emu"]
    few = {name: [values[i] for i in rows] for name, values in columns.items()}
    return kit.estimate(kit.put(f"r.{form}", few), None, "--metric", "recall:emu", clean=None)


@trial(LABELS, "a reference of one class", "all labels are cat", WARNED, "one class", FORMS)
def _(kit: Kit, form: str) -> Call:
    columns = {**kit.reference(), "label": ["cat"] * ROWS}
    return kit.estimate(kit.put(f"r.{form}", columns), None, clean=None)


@trial(LABELS, "probabilities under a name of one's own", "`score` beside yes and no", (WARNED, REFUSED), "score",
    FORMS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    files = []
    for which, columns in (("reference", kit.reference()), ("target", kit.target())):
        score = [float(v) for v in columns["prob_cat"]]
        rows: Columns = {"score": score, "prediction": ["yes" if v >= 0.5 else "no" for v in score]}
        if which == "reference":
            rows["label"] = ["yes" if v == "cat" else "no" for v in columns["label"]]
        files.append(kit.put(f"{which}.{form}", rows))
    return kit.estimate(*files, clean=None)


trial(LABELS, "a positive class that nobody has", "`--positive =7` without a metric", REFUSED, "7", FORMS,
    lambda kit, form: kit.estimate(kit.put(f"r.{form}", kit.reference()), None, "--positive", "=7"))  # fmt: skip


GROUP = "Files of `discriminate`"
_NAMES = ("input", "output", "gold")


def _rows(
    changes: Mapping[str, Any] | None = None,
    names: Sequence[str | None] = _NAMES,
    rows: int = 12,
    judge: str | None = None,
) -> str:
    """Rows of text, the third with other cells; a column whose name is None is left out.

    With ``judge`` they hold what a judge of this name said of them, so that no judge is needed.
    """
    out = []
    for number in range(rows):
        row: dict[str, Any] = {"input": f"q {number}", "output": f"o {number % 3}", "gold": f"o {number % 2}"}
        said = {} if judge is None else {f"p_correct_{judge}": round(number / rows, 3)}
        row |= dict(changes or {}) if number == 2 else {}
        kept = {name: row[old] for old, name in zip(_NAMES, names, strict=True) if name is not None}
        out.append({**kept, **said, **{k: v for k, v in row.items() if k in said}})
    return "".join(json.dumps(row) + "\n" for row in out)


def _pairs(name: str, came: str, text: str, words: str | tuple[str, ...]) -> None:
    trial(GROUP, name, came, REFUSED, words, ("discriminate train",),
        lambda kit, form: Call([*form.split(), str(kit.path("pairs.jsonl", text)), "--out",
            str(kit.path("new"))]))  # fmt: skip


def _judged_outputs(name: str, came: str, text: str, words: str | tuple[str, ...], dev: str | None = None) -> None:
    @trial(GROUP, name, came, REFUSED, words, ("discriminate predict",))
    def _(kit: Kit, form: str) -> Call:
        more = [] if dev is None else ["--calibrate", str(kit.path("dev.jsonl", dev))]
        return Call([*form.split(), str(kit.path("new.jsonl", text)), *more])


_JUDGED = _rows(names=("input", "output", None), judge="a")

_pairs("pairs without inputs", "columns output and gold", _rows(names=(None, "output", "gold")), "column input")
_pairs("pairs without gold", "`truth` in the place of `gold`", _rows(names=("input", "output", "truth")), "column gold")
_pairs("names in capitals", "Input, Output, Gold", _rows(names=("Input", "Output", "Gold")), "--map Input=input")
_pairs("an empty input", '`"input": ""` in row 3', _rows({"input": ""}), ("row 3", "column input"))
_pairs("a number as output", "5 in row 3", _rows({"output": 5}), ("row 3", "column output"))
_pairs("an object as gold", '`{"x": 1}` in row 3', _rows({"gold": {"x": 1}}), ("row 3", "column gold"))
_pairs("a conversation", '`{"messages": []}`', '{"messages": []}\n', "expected columns input, output and gold")
_judged_outputs("thresholds on a file without gold", "no column gold", _JUDGED, ("dev.jsonl", "labelled outputs"),
    _JUDGED)  # fmt: skip
_judged_outputs(
    "thresholds on outputs that are all right", "dev whose output is gold", _JUDGED, "got 12 of 12 right",
    _rows(names=("input", None, "output"), judge="a").replace("}\n", ', "correct": 1}\n'))  # fmt: skip
_judged_outputs(
    "an empty gold where thresholds are set", "a space in row 3", _JUDGED, ("dev.jsonl", "row 3", "column gold"),
    _rows({"gold": " "}, judge="a"))  # fmt: skip
_judged_outputs("judges of another panel", "p_correct_b for p_correct_a", _JUDGED, "of the same judges",
    _rows(judge="b"))  # fmt: skip
_judged_outputs(
    "a probability of 1.5", "p_correct_a in row 3", _rows({"p_correct_a": 1.5}, judge="a"), ("row 3", "p_correct_a"),
    _rows(judge="a"))  # fmt: skip
_judged_outputs("outputs that no judge was asked of", "no p_correct column", _rows(), "judges", _rows(judge="a"))
