"""`diagnose --every`: distances of columns chunk by chunk, by another library; the page; what is refused."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon

import oodometer
from oodometer.cli.main import main
from oodometer.errors import UnknownColumnError, UsageError
from oodometer.reports.sections import next_step

MONTHS = ("2026-01", "2026-02", "2026-03")
SHARES = ([0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.1, 0.3, 0.6])
PLANS = ("free", "pro", "team")


def table(shares: tuple[list[float], ...], seed: int, rows: int = 400) -> pd.DataFrame:
    """So many rows a month, whose plan has these shares; a column of noise beside it."""
    rng = np.random.default_rng(seed)
    parts = [
        pd.DataFrame(
            {
                "prob_1": rng.uniform(0.02, 0.98, rows).round(3),
                "plan": rng.choice(PLANS, rows, p=of_month),
                "noise": rng.normal(size=rows).round(4),
                "time": pd.date_range(month, periods=rows, freq="h").astype(str),
            }
        )
        for month, of_month in zip(MONTHS, shares, strict=False)
    ]
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(prob_0=1 - frame["prob_1"], label=(frame["prob_1"] > 0.5).astype(int))


@pytest.fixture(scope="module")
def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    return table((SHARES[0],), 1, 1000), table(SHARES, 2).drop(columns="label")


def test_distances_are_those_of_another_library(
    frames: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    reference, target = frames
    found = oodometer.diagnose(reference, target, features=["plan", "noise"], every="month")
    before = reference["plan"].value_counts().reindex(PLANS).to_numpy()
    assert [period.name.removesuffix(" (partial)") for period in found.periods] == [*MONTHS]
    for period, month in zip(found.periods, MONTHS, strict=True):
        rows = target[target["time"].str.startswith(month)]
        now = rows["plan"].value_counts().reindex(PLANS).to_numpy()
        expected = jensenshannon(before, now, base=2)
        assert period.distances["plan"] == pytest.approx(expected, abs=1e-9)
        assert period.rows == len(rows)
    assert [period.moved for period in found.periods] == [(), (), ("plan",)]
    whole = {column.name: column.distance for column in found.columns}
    alone = oodometer.diagnose(reference, target, features=["plan", "noise"])
    assert whole == {column.name: column.distance for column in alone.columns}
    assert alone.periods == ()
    assert "periods" not in alone.to_dict()


def test_frames_and_the_view_hold_every_chunk(frames: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    found = oodometer.diagnose(*frames, features=["plan", "noise"], every="400rows")
    rows = found.to_frame("periods")
    assert len(rows) == 2 * len(found.periods) == 6
    grid = found.view().grid("columns over time")
    assert grid is not None
    assert [row[0] for row in grid.rows] == [period.name for period in found.periods]
    assert (2, 2 + grid.columns[2:].index("plan")) in grid.bold


def test_what_cannot_be_followed_is_refused(frames: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    reference, target = frames
    with pytest.raises(UsageError, match="features"):
        oodometer.diagnose(reference, target, every="month")
    with pytest.raises(UsageError, match="fortnight"):
        oodometer.diagnose(reference, target, features=["plan"], every="fortnight")
    with pytest.raises((UsageError, UnknownColumnError), match="time"):
        oodometer.diagnose(
            reference.drop(columns="time"),
            target.drop(columns="time"),
            features=["plan"],
            every="month",
        )


def test_the_page_draws_them_and_its_next_command_runs(
    frames: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    for name, frame in zip(("reference.csv", "target.csv"), frames, strict=True):
        frame.to_csv(name, index=False)
    words = ["diagnose", "reference.csv", "target.csv", "--features", "plan,noise", "-q"]
    assert main([*words, "--every", "month", "--report", "page.html", "--json", "out.json"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert 'id="chart-columns"' in page
    assert 'id="chart-findings"' in page
    result = json.loads(Path("out.json").read_text(encoding="utf-8"))
    line = next_step("diagnose", result)["line"]
    assert main([*shlex.split(line)[1:], "-q"]) == 0
    assert Path("rows.html").is_file()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(400, False), (1200, True)])
def test_nothing_bars_anybody_from_the_page(
    browser: Any,
    axe: str,
    frames: tuple[pd.DataFrame, pd.DataFrame],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    dark: bool,
) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    for name, frame in zip(("reference.csv", "target.csv"), frames, strict=True):
        frame.to_csv(name, index=False)
    words = ["diagnose", "reference.csv", "target.csv", "--features", "plan,noise", "-q"]
    assert main([*words, "--every", "month", "--report", "page.html"]) == 0
    browser.open(tmp_path / "page.html", width=width, dark=dark)
    assert browser.violations(axe) == []
    assert not browser.run("document.documentElement.scrollWidth > innerWidth")
