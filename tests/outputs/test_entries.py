"""What trackers keep of every result: numbers under names that they take, and files that say the same."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from oodometer.integrations import entries_of


@pytest.mark.parametrize(
    "name", ["estimate", "slices", "evaluate", "diagnose", "audit", "backtest", "compare"]
)
def test_names_are_what_trackers_take_and_files_are_the_results(
    made: dict[str, Any], name: str
) -> None:
    found = made[name]
    entries = entries_of(found, page=False)
    assert entries.numbers
    assert [one for one in entries.numbers if not re.fullmatch(r"[\w\-. /]+", one, re.ASCII)] == []
    ending = {one.rpartition(".")[2]: text for one, text in entries.files.items()}
    assert json.loads(ending["json"]) == json.loads(json.dumps(found.to_dict()))
    assert ending["html"].startswith("<!doctype html>")
    assert all(len(text) <= 500 for text in entries.options.values())


def test_numbers_are_those_of_the_results(made: dict[str, Any]) -> None:
    def numbers(name: str) -> dict[str, float]:
        return dict(entries_of(made[name], page=False).numbers)

    sliced = {str(part.place["value"]): part.headline.value for part in made["slices"].slices}
    assert numbers("slices")["slice.north.accuracy"] == sliced["north"]
    assert numbers("slices")["slice._b___'__b_.accuracy".replace("'", "_")] == min(
        value for key, value in sliced.items() if key != "north"
    )
    audit = numbers("audit")
    assert audit["audited"] == made["audit"].estimate.value
    assert audit["label-free.upper"] == made["audit"].headline.upper
    assert audit["believed"] == made["audit"].believed.interval.value
    assert numbers("evaluate")["brier.lower"] == made["evaluate"]["brier"].lower
    assert (
        numbers("backtest")["atc.error"]
        == {row.method: row.error for row in made["backtest"].overall()}["atc"]
    )
    assert (
        numbers("compare")["a.in_domain.accuracy"]
        == made["compare"]["a"].in_domain["accuracy"].value
    )
