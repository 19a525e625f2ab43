"""The banner of alarms on the page of an estimate: what rang, where, by which rule; or that none did."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.cli import main
from oodometer.reports import render

from ..snapshots import assert_snapshot


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A calibrated binary model, and a target whose third part is far less sure."""
    folder = tmp_path_factory.mktemp("alarms")
    rng = np.random.default_rng(0)
    for name, spread in (("reference", [3.0, 3.0, 3.0]), ("target", [3.0, 3.0, 0.6])):
        p = 1 / (1 + np.exp(-rng.normal(0, np.repeat(spread, 400))))
        label = (rng.random(1200) < p).astype(int)
        part = np.repeat(["a <b>", "b", "c"], 400)
        rows = [f"{x:.4f},{y},{z}" for x, y, z in zip(p, label, part, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["prob_1,label,part", *rows]) + "\n")
    return str(folder / "reference.csv"), str(folder / "target.csv")


def estimated(files: tuple[str, str], **rules: Any) -> dict[str, Any]:
    return oodometer.estimate(*files, methods=["ac", "source"], backtest=None, **rules).to_dict()


def shown(result: dict[str, Any]) -> str:
    """The page without the parts that take long to draw."""
    return render(
        {name: result[name] for name in ("command", "reference", "target", "headline", "alarms")}
    )


def banner(result: dict[str, Any]) -> str | None:
    """The text of the banner, which stands before everything else but the title."""
    page = shown(result)
    found = re.search(r'<section class="card alarm.*?</section>', page, re.DOTALL)
    if found is None:
        return None
    assert page.index("</h1>") < found.start() < page.index('class="card headline"')
    return " ".join(
        re.sub(r"<[^>]*>", " ", found.group()).replace("\N{NO-BREAK SPACE}", " ").split()
    )


def test_an_alarm_says_where_by_which_rule_and_what_the_labels_say(files: tuple[str, str]) -> None:
    result = estimated(files, by="part", fail_below=0.8, fail_drop=0.05)
    failing = result["alarms"]["where"]
    assert {one["name"] for one in failing} == {"c"}
    said = banner(result)
    assert said.startswith(
        "Alarm raised by 1 of 3 slices: accuracy below 80 % or accuracy more than 5 points below the reference&#39;s. "
        "An alarm is raised where it is at least 70 % likely that the number lies below the bound, by more than chance."
    )
    for one in failing:
        assert f"ALARM c: accuracy {100 * one['value']:.1f} % [{100 * one['lower']:.1f} %" in said
    assert (
        said.count(" by labels, ") == 2
    )  # all rows are labelled, so that what lies below the bound is the truth
    unlabelled = Path(files[1]).with_name("unlabelled.csv")
    unlabelled.write_text(re.sub(r",[01],", ",", Path(files[1]).read_text()).replace(",label", ""))
    result = estimated((files[0], str(unlabelled)), by="part", fail_below=0.8)
    assert [one["by_labels"] for one in result["alarms"]["where"]] == [False]
    assert " by labels, " not in str(banner(result))


def test_rules_that_nothing_broke_are_told_too(files: tuple[str, str]) -> None:
    assert_snapshot(banner(estimated(files, fail_below=0.3)))
    assert_snapshot(str(banner(estimated(files, by="part", fail_below=0.3))))


def test_without_rules_there_is_no_banner(files: tuple[str, str]) -> None:
    assert banner(estimated(files, by="part")) is None


def test_names_of_parts_are_escaped_and_many_are_cut(files: tuple[str, str]) -> None:
    result = estimated(files, by="part", fail_below=0.999, fail_when="upper")
    where = result["alarms"]["where"]
    assert {one["name"] for one in where} == {"a <b>", "b", "c"}
    page = shown(result)
    assert "a &lt;b&gt;" in page
    assert "a <b>" not in page
    result["alarms"]["where"] = [{**where[0], "name": f"part {i}"} for i in range(20)]
    result["alarms"]["by_chance"] = [{**where[0], "name": f"other {i}"} for i in range(6)]
    said = str(banner(result))
    assert said.count("ALARM part ") == 12
    assert "8 more are in the JSON of this result." in said
    assert (
        "below it, but by no more than chance: other 0, other 1, other 2, other 3 and 2 more"
        in said
    )


def test_the_page_of_the_command_has_it(files: tuple[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = [
        "--method",
        "ac",
        "--backtest",
        "none",
        "--fail-below",
        "0.999",
        "--fail-when",
        "upper",
    ]
    assert main(["estimate", *files, *words, "--out", str(page)]) == 3
    assert "<h2>Alarm raised: accuracy below 99.9" in page.read_text()
