"""Classes of labels that mislead: words for a missing one, new classes, chosen rows, classes nobody has seen."""

from __future__ import annotations

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


trial(LABELS, "a class that the model does not know", "`owl` in every fifth label", WARNED, "'owl'", FORMS)(
    lambda kit, form: _audit(kit, _holed({"label": kit.target()["label"]}, "label", "owl"), form)
)


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


@trial(
    LABELS, "probabilities under a name of one's own", "`score` beside yes and no", (WARNED, REFUSED), "score", FORMS
)
def _(kit: Kit, form: str) -> Call:
    files = []
    for which, columns in (("reference", kit.reference()), ("target", kit.target())):
        score = [float(v) for v in columns["prob_cat"]]
        rows: Columns = {"score": score, "prediction": ["yes" if v >= 0.5 else "no" for v in score]}
        if which == "reference":
            rows["label"] = ["yes" if v == "cat" else "no" for v in columns["label"]]
        files.append(kit.put(f"{which}.{form}", rows))
    return kit.estimate(*files, clean=None)


trial(LABELS, "a positive class that nobody has", "`--positive =7` without a metric", REFUSED, "7", FORMS)(
    lambda kit, form: kit.estimate(kit.put(f"r.{form}", kit.reference()), None, "--positive", "=7")
)
