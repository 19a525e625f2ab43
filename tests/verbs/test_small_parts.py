"""What is read from options and columns: small functions of the verbs on their smallest case."""

from __future__ import annotations

from oodometer.store import as_source
from oodometer.verbs.audit import flat
from oodometer.verbs.estimate_job import named_bounds
from oodometer.verbs.guessing import guess
from oodometer.verbs.opening import (
    decided_class,
    is_fitted,
    listed,
    positive_column,
    renamings,
    with_features,
)
from oodometer.verbs.options import parse_bounds, parse_classes, parse_mapping


def test_options_are_read() -> None:
    assert parse_mapping(["y_true=label"]) == {"y_true": "label"}
    assert [*map(parse_classes, ("0,1", "cat,dog"))] == [[0, 1], ["cat", "dog"]]
    assert parse_bounds(["0.93", "f1=0.8"], "--fail-below") == {"accuracy": 0.93, "f1": 0.8}
    assert [*map(named_bounds, (0.93, {"auc": 0.8}, None))] == [
        {"accuracy": 0.93},
        {"roc_auc": 0.8},
        {},
    ]
    assert [*map(listed, ("age, year", ["last, first"]))] == [["age", "year"], ["last, first"]]
    assert flat(("a", ["b", ("c",)])) == ["a", "b", "c"]
    assert [*map(is_fitted, ("model.oodo", "reference.csv"))] == [True, False]


def test_the_positive_class_is_read() -> None:
    assert renamings({"y": "label"}, "score") == {"y": "label", "score": "prob_1"}
    assert (renamings(None, "p_yes=yes"), renamings(None, "=yes")) == ({"p_yes": "prob_yes"}, None)
    assert [*map(positive_column, ("score", "p_yes=yes", "=yes"))] == ["score", "p_yes", None]
    decided = (
        decided_class(("yes", "no"), None),
        decided_class(("yes", "no"), "=no"),
        decided_class(None, None),
    )
    assert decided == ("yes", "no", None)


def test_columns_are_found() -> None:
    p = [i / 40 for i in range(40)]
    table = {"prediction": [int(x > 0.4) for x in p], "label": [1] * 40, "y_pred_proba": p}
    assert guess(as_source(table)).renamings == {"y_pred_proba": "prob_1"}
    source = as_source({"prediction": [0, 1] * 9, "age": [20, 30, 31] * 6, "id": list(range(18))})
    encoding = with_features([source], None, "auto")[0][0].encoding
    assert (encoding.names, encoding.left_out) == (
        ("age=30", "age=31", "age: other", "age: missing"),
        {},
    )
