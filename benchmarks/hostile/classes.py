"""Classes of input: names of classes, labels, and panels of members, views, votes and features."""

from __future__ import annotations

from typing import Any

from .base import REFUSED, SAME, WARNED, Call, Kit, trial
from .material import CLASSES, FORMATS, TABULAR, Columns, as_lists, csv_text, select
from .numbers import NAMES, VALUES, _target, _with

BINARY = ("parquet", "arrow", "npz")


trial(NAMES, "columns of classes in another order", "`prob_emu`, `prob_cat`, `prob_dog`", SAME, (), FORMATS)(
    lambda kit, form: _target(kit, form, kit.target("prob_emu", "label", "prob_cat", "prob_dog"))
)


@trial(
    NAMES, "both files in another order of classes", "the same permutation in reference and target", SAME, (), FORMATS
)
def _(kit: Kit, form: str) -> Call:
    order = ("prob_emu", "prob_cat", "prob_dog", "label")
    methods = ("ac", "atc", "bbse", "sld", "dis2", "cbpe")
    clean = kit.estimate(methods=methods, clean=None)
    return kit.estimate(kit.put(f"r.{form}", kit.reference(*order)), kit.put(f"t.{form}", kit.target(*order)),
        methods=methods, clean=clean, close=1e-7)  # fmt: skip


@trial(NAMES, "logit columns in another order", "`logit_emu`, `logit_cat`, `logit_dog`", SAME, (), FORMATS)
def _(kit: Kit, form: str) -> Call:
    reference = kit.clean("reference", kit.reference("logit_*", "label"))
    clean = kit.estimate(reference, kit.clean("target", kit.target("logit_*", "label")), clean=None)
    columns = kit.target("logit_emu", "logit_cat", "logit_dog", "label")
    return kit.estimate(reference, kit.put(f"t.{form}", columns), clean=clean)


trial(NAMES, "a class missing in the target", "no column `prob_emu`", REFUSED, "prob_emu", FORMATS)(
    lambda kit, form: _target(kit, form, kit.target("prob_cat", "prob_dog", "label"))
)


@trial(NAMES, "a class that the reference never had", "a column `prob_fox`", REFUSED, "prob_fox", FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target()
    return _target(kit, form, {**columns, "prob_fox": [0.0] * len(columns["label"])})


trial(NAMES, "a class by another name", "`prob_owl` for `prob_emu`", REFUSED, "prob_", FORMATS)(
    lambda kit, form: _target(kit, form, {"prob_owl" if k == "prob_emu" else k: v for k, v in kit.target().items()})
)
trial(NAMES, "a class in capitals", "`prob_Cat` for `prob_cat`", REFUSED, "prob_", FORMATS)(
    lambda kit, form: _target(kit, form, {"prob_Cat" if k == "prob_cat" else k: v for k, v in kit.target().items()})
)
trial(NAMES, "a label of no known class", "`owl` in row 7 of `label`", REFUSED, ("row 7", "label", "'owl'"), FORMATS)(
    lambda kit, form: kit.estimate(kit.put(f"r.{form}", _with(kit.reference(), "label", 6, "owl")))
)


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


@trial(NAMES, "labels off by one", "each label is the next class", WARNED, ("label", "chance"), FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference()
    columns["label"] = [CLASSES[(CLASSES.index(v) + 1) % 3] for v in columns["label"]]
    return kit.estimate(kit.put(f"r.{form}", columns), clean=None)


@trial(NAMES, "predictions that go against the probabilities", "`prediction` of swapped columns", REFUSED,
    ("prediction", "swapped"), FORMATS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference("prob_*", "label", "prediction")
    swap = {"cat": "dog", "dog": "cat", "emu": "emu"}
    columns["prediction"] = [swap[v] for v in columns["prediction"]]
    return kit.evaluate(kit.put(f"r.{form}", columns))


@trial(
    NAMES, "labels partly unknown in the reference", "null in every fourth `label`", (SAME, WARNED), "unknown", TABULAR
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference()
    some = {k: [x for i, x in enumerate(v) if i % 4] for k, v in columns.items()}
    holed = {**columns, "label": [v if i % 4 else None for i, v in enumerate(columns["label"])]}
    return kit.evaluate(kit.put(f"r.{form}", holed), clean=kit.clean("reference", some))


trial(NAMES, "no label at all in the reference", "no column `label`", REFUSED, "label", FORMATS)(
    lambda kit, form: kit.estimate(kit.put(f"r.{form}", kit.reference("prob_*")))
)


@trial(NAMES, "labels of one class only", "`label` is cat in every row", WARNED, "class", FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference()
    return kit.estimate(kit.put(f"r.{form}", {**columns, "label": ["cat"] * len(columns["label"])}), clean=None)


trial(NAMES, "labels that mix text and numbers", "cat, 1, dog", REFUSED, "label", ("csv", "jsonl"))(
    lambda kit, form: kit.evaluate(kit.put(f"r.{form}", _with(kit.reference("label", "prediction"), "label", 6, 1)))
)
trial(NAMES, "truth in words", "`correct` perhaps", REFUSED, ("correct", "row 7"), ("csv", "jsonl"))(
    lambda kit, form: kit.evaluate(
        kit.put(f"r.{form}", _with(kit.reference("confidence", "correct"), "correct", 6, "perhaps"))
    )
)


@trial(NAMES, "truth as 2", "`correct` 2", REFUSED, ("correct", "row 7"), FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference("confidence", "correct")
    columns["correct"] = [int(v) for v in columns["correct"]]
    return kit.evaluate(kit.put(f"r.{form}", _with(columns, "correct", 6, 2)))


@trial(NAMES, "true and false for the classes 0 and 1", "`label` True beside `prob_0`, `prob_1`", SAME, (), FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns, plain = _binary(kit, lambda y: bool(y)), _binary(kit, int)
    return kit.evaluate(kit.put(f"r.{form}", columns), clean=kit.put("plain.parquet", plain))


@trial(NAMES, "labels as whole floats", "`label` 1.0 beside `prob_0`, `prob_1`", SAME, (), FORMATS)
def _(kit: Kit, form: str) -> Call:
    columns, plain = _binary(kit, float), _binary(kit, int)
    return kit.evaluate(kit.put(f"r.{form}", columns), clean=kit.put("plain.parquet", plain))


def _binary(kit: Kit, kind: Any) -> Columns:
    columns = kit.reference()
    return {
        "prob_0": columns["prob_cat"],
        "prob_1": [round(1 - p, 9) for p in columns["prob_cat"]],
        "label": [kind(v != "cat") for v in columns["label"]],
    }


# ------------------------------------------------------------------------------------------------ panels

PANELS = {
    "feature": ("feature_", ("importance", "dis2"), ("prob_*", "label", "feature_*"), ("feature_speed", "feature_age")),
    "member": ("member_", ("gde", "agreement"), ("member_*", "label", "prediction"), ("member_tiny", "member_large")),
    "view": ("view_", ("smoothness",), ("view_*", "prediction", "label"), ("view_turn", "view_crop")),
    "vote": ("vote_", ("votes",), ("vote_*", "correct"), ("vote_chloe", "vote_anna")),
}


def _panel(kind: str) -> None:
    prefix, methods, wanted, (first, second) = PANELS[kind]
    group = "Wide columns of features, members, views and votes"

    def call(kit: Kit, form: str, target: Columns) -> Call:
        reference = kit.clean("reference", kit.reference(*wanted))
        clean = kit.estimate(reference, kit.clean("target", kit.target(*wanted)), methods=methods, clean=None)
        return kit.estimate(reference, kit.put(f"t.{form}", target), methods=methods, clean=clean, close=1e-7)

    @trial(group, f"`{prefix}` columns in another order", f"`{first}` first, `{second}` last", SAME, (), FORMATS)
    def _(kit: Kit, form: str) -> Call:
        columns = kit.target(*wanted)
        turned = {k: columns[k] for k in reversed(columns)}
        if kind == "member":  # the first member is the judged model, `prediction` names it here
            turned = {"prediction": columns["prediction"], **turned}
        return call(kit, form, turned)

    trial(group, f"`{prefix}` columns of other names", f"`{prefix}other` for `{first}`", REFUSED, kind, FORMATS)(
        lambda kit, form: call(
            kit, form, {f"{prefix}other" if k == first else k: v for k, v in kit.target(*wanted).items()}
        )
    )

    @trial(group, f"`{prefix}` columns: one more", f"`{prefix}other` beside the others", REFUSED, kind, FORMATS)
    def _(kit: Kit, form: str) -> Call:
        columns = kit.target(*wanted)
        return call(kit, form, {**columns, f"{prefix}other": columns[second]})

    trial(group, f"`{prefix}` columns: one less", f"no `{first}`", REFUSED, kind, FORMATS)(
        lambda kit, form: call(kit, form, {k: v for k, v in kit.target(*wanted).items() if k != first})
    )


for _kind in PANELS:
    _panel(_kind)


@trial("Wide columns of features, members, views and votes", "a feature that is not a number", "nan in `feature_age`",
    REFUSED, ("feature_age", "row 7"), FORMATS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    wanted = ("prob_*", "label", "feature_*")
    columns = _with(kit.target(*wanted), "feature_age", 6, None if form == "jsonl" else float("nan"))
    return kit.estimate(
        kit.clean("reference", kit.reference(*wanted)), kit.put(f"t.{form}", columns), methods=("importance",)
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


@trial(VALUES, "numbers in quotes", '`"0.9"` in JSON, a string column elsewhere', (REFUSED, SAME), "prob_", TABULAR)
def _(kit: Kit, form: str) -> Call:
    columns = {k: [str(x) for x in v] for k, v in kit.target().items()}
    return _target(kit, form, columns)


@trial(VALUES, "semicolons and decimal commas", "`0,9;0,06;0,04;cat`", SAME, (), ("csv",))
def _(kit: Kit, form: str) -> Call:
    text = csv_text({k: [str(x).replace(".", ",") for x in v] for k, v in kit.target().items()}, ";")
    return kit.estimate(target=kit.path("t.csv", text))


@trial(
    VALUES, "whole numbers that are no classes", "prices, and predictions a little off", REFUSED, "regression", TABULAR
)
def _(kit: Kit, form: str) -> Call:
    price = [1000 + 7 * (31 * i % 97) for i in range(200)]
    columns = {"label": price, "prediction": [p + 7 * (i % 3) for i, p in enumerate(price)]}
    return Call(["evaluate", str(kit.put(f"prices.{form}", columns))])
