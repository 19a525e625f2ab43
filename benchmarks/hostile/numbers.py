"""Classes of input: cells that are no probabilities, no numbers or not their class; names, labels, panels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import REFUSED, SAME, WARNED, Call, Kit, trial
from .material import CLASSES, FORMATS, TABULAR, Columns, as_lists, csv_text, select

VALUES = "Numbers that are no probabilities"
NAMES = "Classes and labels"
BINARY = ("parquet", "arrow", "npz")


def _with(columns: Columns, name: str, row: int, value: Any) -> Columns:
    changed = {k: list(v) for k, v in columns.items()}
    changed[name][row] = value
    return changed


def _target(kit: Kit, form: str, columns: Columns, **call: Any) -> Call:
    return kit.estimate(target=kit.put(f"t.{form}", columns), **call)


def _bad_cell(
    name: str, came: str, value: Any, words: str | tuple[str, ...] = (), forms: Any = FORMATS
) -> None:
    said = (words,) if isinstance(words, str) else words

    trial(VALUES, name, came, REFUSED, ("row 7", *said), forms,
        lambda kit, form: _target(kit, form, _with(kit.target(), "prob_dog", 6, value)))  # fmt: skip


_bad_cell(
    "not a number",
    "`nan` in one cell",
    float("nan"),
    ("prob_dog",),
    ("parquet", "arrow", "npz", "csv"),
)
_bad_cell("infinite", "`inf` in one cell", float("inf"))
_bad_cell("negative", "-0.1 in one cell", -0.1)
_bad_cell("above one", "1.7 in one cell", 1.7)
_bad_cell("a row that does not sum to 1", "0.999 in place of a small probability", 0.999)
_bad_cell("a huge number", "1e300 in one cell", 1e300)
_bad_cell("an empty cell", "nothing in one cell", None, ("prob_dog",), ("csv", "jsonl"))
_bad_cell(
    "text for a number", "`high` in one cell", "high", ("prob_dog", "'high'"), ("csv", "jsonl")
)
_bad_cell("a percent sign", "`70%` in one cell", "70%", ("prob_dog",), ("csv",))
_bad_cell("digits that are not plain", "`1_0` in one cell", "1_0", ("prob_dog",), ("csv",))


@trial(
    VALUES, "true for a number", "`true`, 0, 0 in row 7", REFUSED, ("row 7", "prob_cat"), ("jsonl",)
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    for name, value in (("prob_cat", True), ("prob_dog", 0.0), ("prob_emu", 0.0)):
        columns[name][6] = value
    return _target(kit, form, columns)


trial(VALUES, "null in one cell of a binary file", "null among the numbers", REFUSED, ("row 7", "prob_dog"),
    ("parquet", "arrow"), lambda kit, form: _target(kit, form, _with(kit.target(), "prob_dog", 6, None)))  # fmt: skip


@trial(VALUES, "percents", "90.1, 5.2, 4.7", SAME, (), FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    return _target(
        kit,
        form,
        {k: [100 * x for x in v] if k.startswith("prob_") else v for k, v in columns.items()},
    )


trial(VALUES, "logits in probability columns", "2.3, -1.2, 0.4", REFUSED, "logit_", FORMATS,
    lambda kit, form: _target(kit, form,
        {k.replace("logit_", "prob_"): v for k, v in kit.target("logit_*", "label").items()}))  # fmt: skip


@trial(
    VALUES,
    "log-probabilities in probability columns",
    "-0.1, -2.9, -3.4",
    REFUSED,
    "logits",
    FORMATS,
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    return _target(
        kit,
        form,
        {k: np.log(v).tolist() if k.startswith("prob_") else v for k, v in columns.items()},
    )


@trial(VALUES, "probabilities in logit columns of the target", "0.9, 0.06, 0.04 under `logit_cat`, ...",
    (REFUSED, WARNED), ("probabilities",), FORMATS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    reference = kit.clean("reference", kit.reference("logit_*", "label"))
    target = {k.replace("prob_", "logit_"): v for k, v in kit.target().items()}
    clean = kit.estimate(reference, kit.clean("target", kit.target("logit_*", "label")), clean=None)
    return kit.estimate(reference, kit.put(f"t.{form}", target), clean=clean)


@trial(
    VALUES,
    "logits are as good as probabilities",
    "`logit_cat`, ... in both files",
    SAME,
    (),
    FORMATS,
)
def _(kit: Kit, form: str) -> Call:
    methods = ("source", "ac", "atc", "bbse")
    return kit.estimate(kit.put(f"r.{form}", kit.reference("logit_*", "label")),
        kit.put(f"t.{form}", kit.target("logit_*", "label")), methods=methods, close=1e-5)  # fmt: skip


@trial(
    VALUES,
    "probabilities rounded to three digits",
    "0.333, 0.333, 0.333",
    (SAME, WARNED),
    "round",
    FORMATS,
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    rounded = {
        k: [round(x, 3) for x in v] if k.startswith("prob_") else v for k, v in columns.items()
    }
    return _target(kit, form, rounded, methods=("source", "ac", "bbse"), close=2e-2)


@trial(
    VALUES,
    "probabilities rounded to two digits",
    "0.33, 0.33, 0.33",
    (SAME, WARNED),
    "round",
    FORMATS,
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    rounded = {
        k: [round(x, 2) for x in v] if k.startswith("prob_") else v for k, v in columns.items()
    }
    return _target(kit, form, rounded, methods=("source", "ac", "bbse"), close=6e-2)


trial(VALUES, "numbers in single precision", "float32 columns", SAME, (), ("parquet", "arrow", "npz"),
    lambda kit, form: _target(kit, form,
        {k: [np.float32(x) for x in v] if k.startswith("prob_") else v for k, v in kit.target().items()},
        methods=("source", "ac", "atc", "bbse"), close=1e-5))  # fmt: skip


def _confidence(name: str, came: str, value: float, forms: Any = FORMATS) -> None:
    @trial(VALUES, name, came, REFUSED, ("confidence", "row 7"), forms)
    def _(kit: Kit, form: str) -> Call:
        columns = kit.reference("confidence", "correct")
        return kit.evaluate(kit.put(f"r.{form}", _with(columns, "confidence", 6, value)))


_confidence("confidence above one", "`confidence` 1.5", 1.5)
_confidence("confidence below zero", "`confidence` -0.5", -0.5)
_confidence(
    "confidence that is not a number",
    "`confidence` nan",
    float("nan"),
    ("parquet", "arrow", "npz", "csv"),
)


@trial(VALUES, "token log-probabilities above zero", "`token_logprobs` [0.9, ...]", REFUSED, "token_logprobs",
    ("jsonl", "parquet", "arrow"))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    n = 60
    columns = {"token_logprobs": [[-0.1, 0.9]] * n, "correct": [True, False] * (n // 2)}
    path = kit.put(f"r.{form}", columns)
    return kit.estimate(path, path, methods=("ac",))


trial(NAMES, "columns of classes in another order", "`prob_emu`, `prob_cat`, `prob_dog`", SAME, (), FORMATS,
    lambda kit, form: _target(kit, form, kit.target("prob_emu", "label", "prob_cat", "prob_dog")))  # fmt: skip


@trial(NAMES, "both files in another order of classes", "the same permutation in reference and target", SAME, (),
    FORMATS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    order = ("prob_emu", "prob_cat", "prob_dog", "label")
    methods = ("ac", "atc", "bbse", "sld", "dis2", "cbpe")
    clean = kit.estimate(methods=methods, clean=None)
    return kit.estimate(kit.put(f"r.{form}", kit.reference(*order)), kit.put(f"t.{form}", kit.target(*order)),
        methods=methods, clean=clean, close=1e-7)  # fmt: skip


@trial(
    NAMES,
    "logit columns in another order",
    "`logit_emu`, `logit_cat`, `logit_dog`",
    SAME,
    (),
    FORMATS,
)
def _(kit: Kit, form: str) -> Call:
    reference = kit.clean("reference", kit.reference("logit_*", "label"))
    clean = kit.estimate(reference, kit.clean("target", kit.target("logit_*", "label")), clean=None)
    columns = kit.target("logit_emu", "logit_cat", "logit_dog", "label")
    return kit.estimate(reference, kit.put(f"t.{form}", columns), clean=clean)


trial(NAMES, "a class missing in the target", "no column `prob_emu`", REFUSED, "prob_emu", FORMATS,
    lambda kit, form: _target(kit, form, kit.target("prob_cat", "prob_dog", "label")))  # fmt: skip


@trial(
    NAMES,
    "a class that the reference never had",
    "a column `prob_fox`",
    REFUSED,
    "prob_fox",
    FORMATS,
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    return _target(kit, form, {**columns, "prob_fox": [0.0] * len(columns["label"])})


trial(NAMES, "a class by another name", "`prob_owl` for `prob_emu`", REFUSED, "prob_", FORMATS,
    lambda kit, form: _target(kit, form,
        {"prob_owl" if k == "prob_emu" else k: v for k, v in kit.target().items()}))  # fmt: skip
trial(NAMES, "a class in capitals", "`prob_Cat` for `prob_cat`", REFUSED, "prob_", FORMATS,
    lambda kit, form: _target(kit, form,
        {"prob_Cat" if k == "prob_cat" else k: v for k, v in kit.target().items()}))  # fmt: skip
trial(NAMES, "a label of no known class", "`owl` in row 7 of `label`", REFUSED, ("row 7", "label", "'owl'"), FORMATS,
    lambda kit, form: kit.estimate(kit.put(f"r.{form}", _with(kit.reference(), "label", 6, "owl"))))  # fmt: skip


@trial(NAMES, "labels of positions beside lists of probabilities, counted from 1", "`label` from 1 to 3", REFUSED,
    ("row", "label"), FORMATS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = as_lists(kit.reference())
    columns["label"] = [y + 1 for y in columns["label"]]
    return kit.evaluate(kit.put(f"r.{form}", columns))


@trial(NAMES, "text labels beside lists of probabilities", "`label` cat beside `probabilities` [0.9, ...]", REFUSED,
    "classes", FORMATS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = as_lists(kit.reference("prob_*"))
    return kit.evaluate(kit.put(f"r.{form}", {**columns, "label": kit.reference()["label"]}))


@trial(
    NAMES, "labels off by one", "each label is the next class", WARNED, ("label", "chance"), FORMATS
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference()
    columns["label"] = [CLASSES[(CLASSES.index(v) + 1) % 3] for v in columns["label"]]
    return kit.estimate(kit.put(f"r.{form}", columns), clean=None)


@trial(NAMES, "predictions that go against the probabilities", "`prediction` of swapped columns", REFUSED,
    ("prediction",), FORMATS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference("prob_*", "label", "prediction")
    swap = {"cat": "dog", "dog": "cat", "emu": "emu"}
    columns["prediction"] = [swap[v] for v in columns["prediction"]]
    return kit.evaluate(kit.put(f"r.{form}", columns))


@trial(NAMES, "labels partly unknown in the reference", "null in every fourth `label`", (SAME, WARNED), "unknown",
    TABULAR)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference()
    some = {k: [x for i, x in enumerate(v) if i % 4] for k, v in columns.items()}
    holed = {**columns, "label": [v if i % 4 else None for i, v in enumerate(columns["label"])]}
    return kit.evaluate(kit.put(f"r.{form}", holed), clean=kit.clean("reference", some))


trial(NAMES, "no label at all in the reference", "no column `label`", REFUSED, "label", FORMATS,
    lambda kit, form: kit.estimate(kit.put(f"r.{form}", kit.reference("prob_*"))))  # fmt: skip


@trial(NAMES, "labels of one class only", "`label` is cat in every row", WARNED, "class", FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference()
    return kit.estimate(
        kit.put(f"r.{form}", {**columns, "label": ["cat"] * len(columns["label"])}), clean=None
    )


trial(NAMES, "labels that mix text and numbers", "cat, 1, dog", REFUSED, "label", ("csv", "jsonl"),
    lambda kit, form: kit.evaluate(kit.put(f"r.{form}",
        _with(kit.reference("label", "prediction"), "label", 6, 1))))  # fmt: skip
trial(NAMES, "truth in words", "`correct` perhaps", REFUSED, ("correct", "row 7"), ("csv", "jsonl"),
    lambda kit, form: kit.evaluate(kit.put(f"r.{form}",
        _with(kit.reference("confidence", "correct"), "correct", 6, "perhaps"))))  # fmt: skip


@trial(NAMES, "truth as 2", "`correct` 2", REFUSED, ("correct", "row 7"), FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference("confidence", "correct")
    columns["correct"] = [int(v) for v in columns["correct"]]
    return kit.evaluate(kit.put(f"r.{form}", _with(columns, "correct", 6, 2)))


@trial(
    NAMES,
    "true and false for the classes 0 and 1",
    "`label` True beside `prob_0`, `prob_1`",
    SAME,
    (),
    FORMATS,
)
def _(kit: Kit, form: str) -> Call:
    columns, plain = _binary(kit, lambda y: bool(y)), _binary(kit, int)
    return kit.evaluate(kit.put(f"r.{form}", columns), clean=kit.put("plain.parquet", plain))


@trial(NAMES, "labels as whole floats", "`label` 1.0 beside `prob_0`, `prob_1`", SAME, (), FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns, plain = _binary(kit, float), _binary(kit, int)
    return kit.evaluate(kit.put(f"r.{form}", columns), clean=kit.put("plain.parquet", plain))


def _binary(kit: Kit, kind: Any) -> Columns:
    columns = kit.reference()
    return {"prob_0": columns["prob_cat"], "prob_1": [round(1 - p, 9) for p in columns["prob_cat"]],
        "label": [kind(v != "cat") for v in columns["label"]]}  # fmt: skip


PANELS = {"feature": ("feature_", ("importance", "dis2"), ("prob_*", "label", "feature_*"),
    ("feature_speed", "feature_age")), "member": ("member_", ("gde", "agreement"), ("member_*", "label", "prediction"),
    ("member_tiny", "member_large")), "view": ("view_", ("smoothness",), ("view_*", "prediction", "label"),
    ("view_turn", "view_crop")), "vote": ("vote_", ("votes",), ("vote_*", "correct"),
    ("vote_chloe", "vote_anna"))}  # fmt: skip


def _panel(kind: str) -> None:
    prefix, methods, wanted, (first, second) = PANELS[kind]
    group = "Wide columns of features, members, views and votes"

    def call(kit: Kit, form: str, target: Columns) -> Call:
        reference = kit.clean("reference", kit.reference(*wanted))
        clean = kit.estimate(
            reference, kit.clean("target", kit.target(*wanted)), methods=methods, clean=None
        )
        return kit.estimate(
            reference, kit.put(f"t.{form}", target), methods=methods, clean=clean, close=1e-7
        )

    @trial(
        group,
        f"`{prefix}` columns in another order",
        f"`{first}` first, `{second}` last",
        SAME,
        (),
        FORMATS,
    )
    def _(kit: Kit, form: str) -> Call:
        columns = kit.target(*wanted)
        turned = {k: columns[k] for k in reversed(columns)}
        if kind == "member":  # the first member is the judged model, `prediction` names it here
            turned = {"prediction": columns["prediction"], **turned}
        return call(kit, form, turned)

    trial(group, f"`{prefix}` columns of other names", f"`{prefix}other` for `{first}`", REFUSED, kind, FORMATS,
        lambda kit, form: call(kit, form,
            {f"{prefix}other" if k == first else k: v for k, v in kit.target(*wanted).items()}))  # fmt: skip

    @trial(
        group,
        f"`{prefix}` columns: one more",
        f"`{prefix}other` beside the others",
        REFUSED,
        kind,
        FORMATS,
    )
    def _(kit: Kit, form: str) -> Call:
        columns = kit.target(*wanted)
        return call(kit, form, {**columns, f"{prefix}other": columns[second]})

    trial(group, f"`{prefix}` columns: one less", f"no `{first}`", REFUSED, kind, FORMATS,
        lambda kit, form: call(kit, form, {k: v for k, v in kit.target(*wanted).items() if k != first}))  # fmt: skip


for _kind in PANELS:
    _panel(_kind)


@trial("Wide columns of features, members, views and votes", "a feature that is not a number", "nan in `feature_age`",
    REFUSED, ("feature_age", "row 7"), FORMATS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    wanted = ("prob_*", "label", "feature_*")
    columns = _with(
        kit.target(*wanted), "feature_age", 6, None if form == "jsonl" else float("nan")
    )
    return kit.estimate(
        kit.clean("reference", kit.reference(*wanted)),
        kit.put(f"t.{form}", columns),
        methods=("importance",),
    )


@trial("Wide columns of features, members, views and votes", "lists of another length than the reference's",
    "4 features in the reference, 3 in the target", REFUSED, "features",
    ("jsonl", "parquet", "arrow", "npz"))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    wanted = ("prob_*", "label", "feature_*")
    reference = kit.put("r.parquet", as_lists(kit.reference(*wanted)))
    short = as_lists({k: v for k, v in kit.target(*wanted).items() if k != "feature_speed"})
    return kit.estimate(reference, kit.put(f"t.{form}", short), methods=("importance",))


@trial("Wide columns of features, members, views and votes", "lists and wide columns of the same probabilities",
    "`probabilities` beside `prob_cat`", REFUSED, "both", FORMATS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    return _target(kit, form, {**columns, **select(as_lists(columns), "probabilities")})


@trial(
    VALUES,
    "numbers in quotes",
    '`"0.9"` in JSON, a string column elsewhere',
    (REFUSED, SAME),
    "prob_",
    TABULAR,
)
def _(kit: Kit, form: str) -> Call:
    columns = {k: [str(x) for x in v] for k, v in kit.target().items()}
    return _target(kit, form, columns)


@trial(VALUES, "semicolons and decimal commas", "`0,9;0,06;0,04;cat`", SAME, (), ("csv",))
def _(kit: Kit, form: str) -> Call:
    text = csv_text(
        {k: [str(x).replace(".", ",") for x in v] for k, v in kit.target().items()}, ";"
    )
    return kit.estimate(target=kit.path("t.csv", text))


@trial(VALUES, "whole numbers that are no classes", "prices, and predictions a little off", REFUSED, "regression",
    TABULAR)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    price = [1000 + 7 * (31 * i % 97) for i in range(200)]
    columns = {"label": price, "prediction": [p + 7 * (i % 3) for i, p in enumerate(price)]}
    return Call(["evaluate", str(kit.put(f"prices.{form}", columns))])
