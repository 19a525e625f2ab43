"""All results are mappings, whose frame begins with the number on top."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import oodometer
from oodometer.errors import UsageError

from .conftest import KINDS

LOG = '{"id": "a", "label": 1, "prediction": 1}\n{"id": "b", "label": 0, "prediction": 1}\n'
OTHERS = ("plan", "read", "predict")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What verbs found that `made` has not."""
    path = tmp_path_factory.mktemp("logs") / "log.jsonl"
    path.write_text(LOG)
    found = {
        "plan": oodometer.plan(accuracy=0.7, correlation=0.5, difference=0.03),
        "read": oodometer.read(path),
    }
    pytest.importorskip("oodometer_lab")
    asked = {"text": ["AH", "oh"]}
    return found | {"predict": oodometer.predict(_quiet, asked, classes=["no", "yes"])}


def _quiet(texts: list[str]) -> Any:
    return [[0.8, 0.2] for _ in texts]


@pytest.mark.parametrize("name", [*KINDS, *OTHERS])
def test_a_result_is_a_mapping(name: str, made: dict[str, Any], others: dict[str, Any]) -> None:
    found = (made | others)[name]
    assert isinstance(found, Mapping)
    assert bool(found)
    assert all(found[key] is not None for key in found)
    assert name == "predict" or found.get("no such name") is None
    if name != "predict":  # of rows without labels there is no number
        assert len(found) > 0


@pytest.mark.parametrize("name", [*KINDS, *OTHERS])
def test_a_frame_begins_with_the_headline(
    name: str, made: dict[str, Any], others: dict[str, Any], tmp_path: Path
) -> None:
    found = (made | others)[name]
    if name == "evaluations":  # of several files there is no one number
        return
    frame = found.to_frame(library="pandas")
    assert "headline" in frame.iloc[0].tolist()
    assert {"level", "kind", "assumes", "trust", "fell"} <= {*frame}
    assert '"headline"' in found.save(tmp_path / "numbers.csv").read_text().splitlines()[1]


def test_a_plan_and_a_diagnosis_say_what_was_asked(
    made: dict[str, Any], others: dict[str, Any]
) -> None:
    plan = others["plan"].to_frame(library="pandas").iloc[0]
    assert (plan["questions"], plan["power"]) == (others["plan"].needed["paired"], 0.8)
    shift = made["diagnose"].to_frame(library="pandas").iloc[0]
    assert (shift["kind"], shift["says"]) == (made["diagnose"].kind, made["diagnose"].why)


def test_a_result_is_no_predictions(made: dict[str, Any], others: dict[str, Any]) -> None:
    for found, remedy in (
        (made["evaluate"], "give a path"),
        (others["read"], r"give its \.record"),
    ):
        with pytest.raises(UsageError, match=remedy):
            oodometer.evaluate(found)


def test_several_files_go_by_name_and_by_place(made: dict[str, Any]) -> None:
    files = made["evaluations"]
    assert list(files) == ["table", "table (2)"]
    assert files["table"] is files[0]
    assert files[1] is files["table (2)"]
