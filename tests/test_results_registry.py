"""Results and the registry: what JSON gets, what a record refuses, how a method is found."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions, registry
from oodometer.arrays import Array
from oodometer.errors import (
    InputError,
    MissingExtraError,
    NotApplicable,
    OodometerError,
    UsageError,
    WorkError,
)
from oodometer.results import KINDS, Curve, Estimate, Interval, Ranking, Skipped, plain
from oodometer.scores import Score

from .snapshots import raises_snapshot


def strict(value: Any) -> Any:
    """What a strict JSON reader gets back."""
    return json.loads(json.dumps(value, allow_nan=False))


# ------------------------------------------------------------------------------------------ results


def test_plain_is_what_json_knows() -> None:
    nested = {
        1: np.float32(0.5),
        "array": np.array([[1, 2]], dtype=np.int8),
        "pair": (np.bool_(True), None),
        "interval": Interval(0.5, 0.4, 0.6, 0.9, "exact"),
        "text": np.str_("a"),
    }
    assert strict(plain(nested)) == {
        "1": 0.5,
        "array": [[1, 2]],
        "pair": [True, None],
        "interval": {"value": 0.5, "lower": 0.4, "upper": 0.6, "level": 0.9, "kind": "exact"},
        "text": "a",
    }


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, np.float32("nan"), np.float64("-inf")]
)
def test_what_is_no_number_becomes_null(value: float) -> None:
    """A threshold above every score is infinite, and strict JSON has no infinity."""
    assert strict(plain({"a": [value], "b": np.array([value, 1.0])})) == {
        "a": [None],
        "b": [None, 1.0],
    }


@given(
    st.recursive(
        st.floats() | st.integers() | st.text() | st.none(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_plain_is_always_strict_json(value: Any) -> None:
    strict(plain(value))


@pytest.mark.parametrize(("lower", "upper"), [(0.6, 0.7), (0.1, 0.4), (0.7, 0.3), (math.nan, 1.0)])
def test_an_interval_holds_its_value(lower: float, upper: float) -> None:
    with raises_snapshot(ValueError):
        Interval(0.5, lower, upper, 0.9, "exact")
    with raises_snapshot(ValueError):
        Estimate("ac", 0.5, lower, upper, 0.9, "exact", "", "guo2017")


def test_an_unknown_kind_of_interval() -> None:
    with raises_snapshot(ValueError):
        Interval(0.5, 0.4, 0.6, 0.9, "sure")  # type: ignore[arg-type]
    for kind in KINDS:
        assert Interval(0.5, 0.4, 0.6, 0.9, kind).width == pytest.approx(0.2)


def test_estimate_as_json() -> None:
    made = Estimate(
        "ac", 0.5, 0.4, 0.6, 0.9, "conditional", "luck", "guo2017", score="margin", rows=3
    )
    assert strict(made.to_dict()) == {
        "method": "ac",
        "score": "margin",
        "value": 0.5,
        "lower": 0.4,
        "upper": 0.6,
        "level": 0.9,
        "kind": "conditional",
        "assumes": "luck",
        "citation": "guo2017",
        "rows": 3,
    }
    more = dataclasses.replace(made, details={"threshold": math.inf, "shares": np.array([0.5])})
    assert strict(more.to_dict())["details"] == {"threshold": None, "shares": [0.5]}
    warned = Estimate("ac", 0.5, 0.4, 0.6, 0.9, "conditional", "", "guo2017", warnings=("beware",))
    assert warned.to_dict()["warnings"] == ["beware"]


def test_curves_rankings_and_skips() -> None:
    with raises_snapshot(ValueError):
        Curve("c", [1], [1, 2], [1, 2], [1, 2], "x", "y", 0.9, "exact", "")
    curve = Curve(
        "c",
        np.arange(2),
        [1, math.nan],
        [0, 0],
        [1, 1],
        "x",
        "y",
        0.9,
        "exact",
        "",
        {"at": np.ones(1)},
    )
    assert strict(curve.to_dict())["y"] == [1, None]
    assert strict(curve.to_dict())["at"] == [1.0]
    assert Ranking(("b", "a"), (0.75, 0.25)).to_dict()["ranking"][1] == {
        "model": "a",
        "p_best": 0.25,
    }
    with pytest.raises(ValueError, match=r"shorter"):
        Ranking(("b", "a"), (1.0,)).to_dict()
    assert Skipped("gde", "needs members").to_dict() == {"method": "gde", "why": "needs members"}


# ------------------------------------------------------------------------------------------ errors


def test_errors_are_one_line_and_know_their_exit_code() -> None:
    assert str(OodometerError("a\n   b\tc")) == "a b c"
    codes = {
        InputError: 2,
        UsageError: 2,
        NotApplicable: 2,
        MissingExtraError: 2,
        WorkError: 1,
        OodometerError: 1,
    }
    for error, code in codes.items():
        assert error.exit_code == code
        assert issubclass(error, OodometerError)
    assert issubclass(InputError, ValueError)
    assert issubclass(MissingExtraError, ImportError)


def test_an_input_error_names_the_place() -> None:
    bare = InputError("numbers", got="'abc'", remedy="fix it", row=3, column="c")
    assert str(bare) == "row 3: column c: expected numbers, got 'abc'; fix it"
    placed = bare.at(file="a.csv", row_offset=100)
    assert str(placed) == "a.csv: row 103: column c: expected numbers, got 'abc'; fix it"
    assert str(placed.at(file="b.csv")).startswith("a.csv: row 103"), "the first file stays"
    assert str(InputError("numbers").at(row_offset=5)) == "expected numbers"


# ------------------------------------------------------------------------------------------ registry


class Coin:
    """A class that may be registered."""

    name: ClassVar[str] = "test-coin"

    def __init__(self, side: str = "heads") -> None:
        self.side = side


@pytest.fixture
def coin() -> Iterator[type]:
    registry.names("score")
    registry.register("score")(Coin)
    yield Coin
    registry.unregister("score", "test-coin")


def test_a_registered_class_is_found_and_made(coin: type) -> None:
    assert registry.find("score", "test-coin") is coin
    assert registry.create("score", "test-coin", side="tails").side == "tails"
    assert registry.names("score")[-1] == "test-coin"
    assert "test-coin" not in registry.names("estimator")
    registry.register("score")(coin)  # again, as a reload does
    assert registry.names("score").count("test-coin") == 1


def test_two_classes_cannot_share_a_name(coin: type) -> None:
    other = type("Other", (), {"name": "test-coin"})
    with raises_snapshot(UsageError):
        registry.register("score")(other)
    assert registry.find("score", "test-coin") is coin


def test_near_names_are_proposed() -> None:
    with raises_snapshot(UsageError):
        registry.find("estimator", "act")
    with raises_snapshot(UsageError):
        registry.find("metric", "qqqqqq")


def test_arguments_after_a_colon(coin: type) -> None:
    made = registry.create("estimator", "threshold:margin", level=0.8)
    assert (made.name, made.score_name, made.level) == ("threshold:margin", "margin", 0.8)
    with raises_snapshot(UsageError):
        registry.create("score", "test-coin:x")
    with raises_snapshot(UsageError):
        registry.create("estimator", "threshold:margim")
    with raises_snapshot(UsageError):
        registry.create("estimator", "ac:margin")


@pytest.mark.parametrize(
    "name",
    [
        "ac:vote_share",
        "threshold:energy",
        "threshold-classwise:margin",
        "threshold-distance:margin",
    ],
)
def test_an_argument_stays_in_the_name(name: str) -> None:
    """Two variants of one method are told apart in a result."""
    assert registry.create("estimator", name).name == name


def test_every_floor_has_its_methods_in_order() -> None:
    assert registry.names("estimator")[:3] == ["source", "ac", "doc"]
    expected = {
        "atc",
        "atc-entropy",
        "threshold",
        "cbpe",
        "im",
        "gde",
        "gde-soft",
        "gde-difference",
        "votes",
        "agreement",
    }
    assert expected <= set(registry.names("estimator"))
    assert {"max_probability", "negative_entropy", "margin", "energy"} <= set(
        registry.names("score")
    )
    assert {"temperature", "isotonic", "histogram"} <= set(registry.names("calibrator"))
    for kind in ("score", "estimator", "metric", "calibrator"):
        assert len(set(registry.names(kind))) == len(registry.names(kind))


def test_a_name_holds_no_colon() -> None:
    with raises_snapshot(UsageError):
        registry.register("score")(type("Fair", (), {"name": "coin:fair"}))


class Tossed(Score):
    """A score as a plugin defines it."""

    name = "test-coin"
    needs = ()
    citation = "guo2017"

    def _score(self, record: Predictions) -> Array:
        return np.zeros(len(record))


def test_plugins_are_loaded_and_a_broken_one_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise RuntimeError("no such thing")

    entries = [
        SimpleNamespace(name="bad", value="plugin:Bad", load=broken),
        SimpleNamespace(name="good", value="plugin:Good", load=lambda: Tossed),
    ]
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda group: entries if group == "oodometer.scores" else [],
    )
    monkeypatch.setattr(registry, "_plugins_loaded", set())
    monkeypatch.setattr(registry, "_broken", {kind: {} for kind in registry.METHOD_KINDS})
    assert (
        registry.find("score", "margin").name == "margin"
    )  # a name of our own: nobody asks for plugins
    assert not registry._plugins_loaded
    try:
        with pytest.warns(
            UserWarning, match=r"plugin bad failed: RuntimeError: no such thing; it was left out"
        ):
            assert "test-coin" in registry.names("score")
        assert "margin" in registry.names("score")
    finally:
        registry.unregister("score", "test-coin")
