"""Axes: names decide which entry is which, in every form of input; position never does where names differ."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer.errors import InputError
from oodometer.predictions import Predictions
from oodometer.store import Axes, as_source, read_predictions, write_predictions
from oodometer.store.memory import realigned

from ..snapshots import raises_snapshot
from .forms import AXES, CLASSES, FORMS, in_order, made, named_record

orders = st.fixed_dictionaries(
    {axis: st.permutations(range(len(own))) for axis, own in AXES.items()}
)
RECORD = named_record(30, seed=0)
ROWS = [[0.9, 0.1], [0.2, 0.8]]


def same(found: Predictions, wanted: Predictions) -> None:
    assert found.classes == wanted.classes
    assert dict(found.names) == dict(wanted.names)
    for name in (
        "probabilities",
        "label",
        "members",
        "member_probabilities",
        "views",
        "votes",
        "features",
    ):
        np.testing.assert_allclose(
            getattr(found, name), getattr(wanted, name), atol=1e-12, err_msg=name
        )


@settings(deadline=None, max_examples=40)
@given(theirs=orders, wanted=orders, form=st.sampled_from(FORMS))
def test_any_order_in_any_form_is_read_in_the_order_wanted(
    theirs: Any, wanted: Any, form: str
) -> None:
    reference = in_order(RECORD, wanted)
    with TemporaryDirectory() as folder:
        source = as_source(
            made(in_order(RECORD, theirs), form, Path(folder), "t"), axes=as_source(reference).axes
        )
        same(source.read(), reference)


@settings(deadline=None)
@given(theirs=orders, wanted=orders)
def test_a_record_is_put_in_order(theirs: Any, wanted: Any) -> None:
    there = as_source(in_order(RECORD, wanted)).axes
    same(realigned(in_order(RECORD, theirs), there), in_order(RECORD, wanted))
    assert realigned(in_order(RECORD, wanted), there).probabilities is not None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("axis", "prefix"), [("feature", "feature"), ("model", "member"), ("view", "view"),
                                              ("judge", "vote")])  # fmt: skip
def test_other_names_are_refused_by_name(form: str, axis: str, prefix: str, tmp_path: Path) -> None:
    other = named_record(10, seed=1)
    other.names[axis] = ("other", *other.names[axis][1:])
    first = AXES[axis][0]
    with pytest.raises(InputError, match=f"got no {prefix}_{first} and {prefix}_other more"):
        as_source(made(other, form, tmp_path, "t"), axes=as_source(RECORD).axes).read()


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pa.table], ids=lambda k: k.__name__)
def test_wide_columns_count_as_names_and_another_number_is_refused(kind: Any) -> None:
    reference = kind({"confidence": [0.5, 0.6], "feature_a": [1.0, 2.0], "feature_b": [3.0, 4.0]})
    axes = as_source(reference).axes
    target = kind({"feature_b": [3.0, 4.0], "confidence": [0.5, 0.6], "feature_a": [1.0, 2.0]})
    assert as_source(target, axes=axes).read().features.tolist() == [[1, 3], [2, 4]]
    for columns, got in (
        ({"feature_a": [1.0, 2.0]}, "got no feature_b"),
        (
            {"feature_a": [1.0, 2.0], "feature_b": [1.0, 2.0], "feature_c": [1.0, 2.0]},
            "got feature_c more",
        ),
    ):
        with pytest.raises(InputError, match=got):
            as_source(kind({"confidence": [0.5, 0.6], **columns}), axes=axes).read()


def test_columns_that_count_from_0_are_the_entries_of_a_list() -> None:
    wide = {"confidence": [0.5], "feature_1": [20.0], "feature_0": [10.0]}
    lists = {"confidence": [0.5], "features": [[10.0, 20.0]]}
    for reference, target in ((wide, lists), (lists, wide)):
        read = as_source(target, axes=as_source(reference).axes).read()
        assert read.features.tolist() == [[10, 20]]
        assert read.names == {}
    with raises_snapshot(InputError):
        as_source({"features": [[1.0, 2.0, 3.0]]}, axes=as_source(lists).axes).read()


def test_columns_with_names_and_lists_without_are_not_matched_by_position() -> None:
    wide = {"confidence": [0.5], "feature_b": [20.0], "feature_a": [10.0]}
    lists = {"confidence": [0.5], "features": [[10.0, 20.0]]}
    for reference, target, where in ((wide, lists, "the reference"), (lists, wide, "this one")):
        with pytest.raises(
            InputError, match=f"named in every file or in none, got names .* in {where} alone"
        ):
            as_source(target, axes=as_source(reference).axes).read()
    arrays = as_source({**lists, "names_feature": ["b", "a"]}).axes.in_name_order()
    read = as_source(lists, axes=arrays).read()
    assert (read.features.tolist(), read.names) == ([[20, 10]], {"feature": ("a", "b")})


def test_lists_of_classes_without_names() -> None:
    wide = as_source({"prob_b": [0.1, 0.8], "prob_a": [0.9, 0.2]})
    with raises_snapshot(InputError):
        as_source({"probabilities": ROWS}, axes=wide.axes).read()
    with raises_snapshot(InputError):
        as_source(Predictions.from_probabilities(ROWS), axes=wide.axes)
    named = as_source(wide, classes=["a", "b"])  # a user said in which order lists are
    assert (
        read_predictions(
            {"probabilities": ROWS}, axes=named.axes.in_name_order()
        ).probabilities.tolist()
        == ROWS
    )
    arrays = as_source({"probabilities": ROWS, "classes": ["b", "a"]}).axes.in_name_order()
    for unnamed in ({"probabilities": ROWS}, Predictions.from_probabilities(ROWS)):
        record = read_predictions(unnamed, axes=arrays)
        assert (record.classes, record.probabilities.tolist()) == (
            ("a", "b"),
            [[0.1, 0.9], [0.8, 0.2]],
        )


def test_wide_classes_that_are_numbers_tell_the_entries_of_lists() -> None:
    axes = as_source({"prob_1": [0.1, 0.8], "prob_0": [0.9, 0.2]}).axes
    record = read_predictions({"probabilities": ROWS, "label": [0, 1]}, axes=axes)
    assert (record.classes, record.accuracy) == ((1, 0), 1.0)


@pytest.mark.parametrize(
    "classes", [{"a", "b"}, frozenset("ab"), {0: "a", 1: "b"}, "ab"], ids=lambda c: type(c).__name__
)
def test_class_names_without_an_order_are_refused(classes: Any) -> None:
    said = f"column classes: expected class names in the order of the probabilities, got a {type(classes).__name__}"
    with pytest.raises(InputError, match=said):
        as_source({"probabilities": ROWS, "classes": classes})
    with pytest.raises(InputError, match=said):
        as_source({"probabilities": ROWS}, classes=classes)
    with pytest.raises(InputError, match=said):
        Predictions.from_probabilities(ROWS, classes=classes)


def test_names_in_a_dict_are_not_dropped_for_those_of_the_reference() -> None:
    given = {"probabilities": ROWS, "label": ["b", "a"], "classes": ["b", "a"]}
    record = read_predictions(given, classes=["a", "b"])
    assert record.probabilities.tolist() == [[0.1, 0.9], [0.8, 0.2]]
    assert record.accuracy == 1
    with raises_snapshot(InputError):
        read_predictions(given, classes=["a", "c"])


@pytest.mark.parametrize("form", ["dict", "npz"])
def test_names_of_another_number_or_of_other_columns_are_refused(form: str, tmp_path: Path) -> None:
    def put(data: dict[str, Any]) -> Any:
        if form == "dict":
            return data
        np.savez(tmp_path / "t.npz", **data)
        return tmp_path / "t.npz"

    with raises_snapshot(InputError):
        as_source(put({"probabilities": ROWS, "classes": ["a", "b", "c"]})).read()
    with raises_snapshot(InputError):
        as_source(put({"features": ROWS, "names_feature": ["a"]})).read()
    with raises_snapshot(InputError):
        as_source(put({"prob_a": [0.9, 0.2], "prob_b": [0.1, 0.8], "classes": ["x", "y"]})).read()
    with raises_snapshot(InputError):
        as_source(put({"probabilities": ROWS, "classes": ["a", "a"]})).read()


def test_records_whose_names_differ_are_not_joined() -> None:
    a = Predictions.from_arrays(features=ROWS, names={"feature": ("x", "y")})
    for other, said in (
        (
            Predictions.from_arrays(features=ROWS, names={"feature": ("y", "x")}),
            "named x, y, in this order, got y, x",
        ),
        (
            Predictions.from_arrays(features=[[1.0], [2.0]]),
            "expected 2 features, as in the first record, got 1",
        ),
    ):
        with pytest.raises(InputError, match=said):
            Predictions.concat([a, other])
    assert len(Predictions.concat([a, Predictions.from_arrays(features=ROWS)])) == 4
    with raises_snapshot(InputError):
        Predictions.from_arrays(features=ROWS, names={"feature": ("x",)})
    with raises_snapshot(InputError):
        Predictions.from_arrays(features=ROWS, names={"feature": ("x", "x")})


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "arrow", "npz"])
def test_the_order_of_reading_alone_is_that_of_the_file(form: str, tmp_path: Path) -> None:
    turned = in_order(RECORD, {axis: list(range(len(own)))[::-1] for axis, own in AXES.items()})
    record = read_predictions(write_predictions(turned, tmp_path / f"t.{form}"))
    same(record, turned)
    assert record.classes == CLASSES[::-1]
    assert Axes(record.classes).in_name_order().classes == CLASSES
