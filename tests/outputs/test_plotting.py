"""Results as mappings, and their charts."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from oodometer.errors import MissingExtraError, UsageError

from .conftest import METHODS


def test_a_result_is_a_mapping(made: dict[str, Any]) -> None:
    found = made["methods"]
    assert (list(found), len(found), "atc" in found, "atcc" in found) == (
        METHODS,
        len(METHODS),
        True,
        False,
    )
    assert found["ATC"] is found.get("atc") is dict(found)["atc"]
    with pytest.raises(KeyError, match=r"^there is no estimate by 'atcc'; did you mean atc\?$"):
        _ = found["atcc"]
    assert (
        made["evaluate"]["auc"]
        == made["evaluate"]["roc_auc"]
        == made["evaluate"].metrics["roc_auc"]
    )
    assert list(made["compare"]) == [model.name for model in made["compare"].models]
    assert [finding.name for finding in made["diagnose"].values()] == list(made["diagnose"])


@pytest.mark.parametrize(
    "name", ["estimate", "slices", "methods", "evaluate", "backtest", "audit", "compare", "stress"]
)
def test_charts_are_those_of_the_page(made: dict[str, Any], name: str) -> None:
    altair = pytest.importorskip("altair", reason="altair is not installed (extra: dev)")
    chart = made[name].plot()
    assert isinstance(chart, altair.TopLevelMixin)
    assert chart.to_dict()["$schema"]


def test_charts_by_name_and_without_altair(
    made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made["methods"]
    with pytest.raises(
        UsageError, match=r"has no chart 'reliabilty'; it has methods, .*reliability"
    ):
        found.plot("reliabilty")
    with pytest.raises(UsageError, match="the result Diagnosis has no chart"):
        made["diagnose"].plot()
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtraError, match=r"run: pip install altair$"):
        found.plot("reliability")
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    axes = found.plot()
    assert [text.get_text() for text in axes.get_yticklabels()] == METHODS
    matplotlib.pyplot.close(axes.figure)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"run: pip install altair$"):
        found.plot()
