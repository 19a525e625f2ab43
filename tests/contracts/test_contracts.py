"""Every registered method obeys the contract of its floor."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from oodometer import registry, testing

ESTIMATORS = [*registry.names("estimator"), "threshold:margin", "threshold:energy", "threshold:vote_share",
              "threshold:neighbor_distance", "threshold-classwise:margin", "ac:vote_share"]  # fmt: skip


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimator(name: str) -> None:
    testing.check_estimator(partial(registry.create, "estimator", name))


@pytest.mark.parametrize("name", registry.names("score"))
def test_score(name: str) -> None:
    testing.check_score(registry.find("score", name))


@pytest.mark.parametrize("name", registry.names("calibrator"))
def test_calibrator(name: str) -> None:
    testing.check_calibrator(registry.find("calibrator", name))


PAYOFF = {
    str(truth): {str(guess): 3 - 2 * abs(truth - guess) for guess in range(4)} for truth in range(4)
}
# Metrics that say nothing without an option, or nothing of four classes.
ASKED = {
    "expected_value": partial(registry.create, "metric", "expected_value", payoff=PAYOFF),
    "top_k_accuracy": partial(registry.create, "metric", "top_k_accuracy:2"),
}


@pytest.mark.parametrize("name", registry.names("metric"))
def test_metric(name: str) -> None:
    testing.check_metric(ASKED.get(name) or registry.find("metric", name))


@pytest.mark.parametrize(
    "kind", ["score", "estimator", "metric", "calibrator", "ranker", "simulation"]
)
def test_what_is_registered_is_final(kind: Any) -> None:
    for cls in map(partial(registry.find, kind), registry.names(kind)):
        assert cls.__final__
        assert not any(registry.holds(kind, base) for base in cls.__mro__[1:]), cls.name


def broken(kind: Any, name: str, **changes: Any) -> Any:
    """A registered class with something spoilt."""
    cls = registry.find(kind, name)
    return type(cls.__name__, (cls,), {"__doc__": cls.__doc__, **changes})


def test_a_flipped_score_is_caught() -> None:
    flipped = broken(
        "score", "margin", _score=lambda self, record: record.top.second - record.top.first
    )
    with pytest.raises(AssertionError, match="larger means more likely correct"):
        testing.check_score(flipped)


def test_a_state_that_does_not_merge_is_caught() -> None:
    spoilt = broken("estimator", "ac", merge=lambda self, a, b: a)
    with pytest.raises(AssertionError, match="merging batches"):
        testing.check_estimator(spoilt)


def test_an_estimator_that_peeks_at_labels_is_caught() -> None:
    cls = registry.find("estimator", "ac")

    def peek(self: Any, batch: Any) -> Any:
        state = cls.summarize(self, batch)
        state["total"] = (
            float(batch.verdicts.clip(0).sum()) if batch.label is not None else state["total"]
        )
        return state

    with pytest.raises(AssertionError, match="labels in the target"):
        testing.check_estimator(broken("estimator", "ac", summarize=peek))


def test_a_method_without_a_doctest_is_caught() -> None:
    with pytest.raises(AssertionError, match="doctest"):
        testing.check_score(broken("score", "margin", __doc__="Score a - b. Source: none."))
