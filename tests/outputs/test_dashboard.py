"""The dashboard: a folder of pages that link to each other, a file that Prometheus reads, a line a run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import oodometer
from oodometer.cli.main import main
from oodometer.errors import UsageError
from oodometer.outputs.dashboard import file_names, prometheus_text, write_dashboard
from oodometer.results.history import History
from oodometer.testing import example_record

from ..snapshots import raises_snapshot

pytest.importorskip("vl_convert")
SAMPLE = re.compile(r'^([a-z_]+)\{job="((?:[^"\\]|\\.)*)"\} (\S+)$')


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two jobs; one with an odd name, and an alarm."""
    path = tmp_path_factory.mktemp("store") / "runs.sqlite"
    reference, target = example_record(300, seed=1), example_record(200, seed=2, difficulty=2)
    for job, below in (("calm", 0.01), ('odd "job"/\\x', 0.999)):
        oodometer.estimate(
            reference,
            target,
            methods=["ac"],
            backtest=None,
            store=path,
            job=job,
            fail_below=below,
            fail_when="value",
        )
    return path


class Links(HTMLParser):
    """The addresses of all links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [str(value) for name, value in attrs if tag == "a" and name == "href"]


def test_the_folder_holds_together(store: Path, tmp_path: Path) -> None:
    history, folder = oodometer.history(store), tmp_path / "site"
    written = write_dashboard(history, folder)
    assert {path.name for path in written} == {path.name for path in folder.iterdir()}
    index = (folder / "index.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(index)
    pages = [link for link in links.found if not link.startswith("#")]
    assert len(pages) == 2
    assert "odd" in pages[0]  # alarms first
    assert all((folder / page).is_file() for page in pages)
    lines = (folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["job"] for line in lines] == [job.name for job in history.jobs]
    before = index
    write_dashboard(history, folder)  # the next night
    assert (folder / "index.html").read_text(encoding="utf-8") == before


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(400, False), (1200, True)])
def test_nothing_bars_anybody_from_the_index(
    browser: Any, axe: str, store: Path, tmp_path: Path, width: int, dark: bool
) -> None:
    write_dashboard(oodometer.history(store), tmp_path / "site")
    browser.open(tmp_path / "site" / "index.html", width=width, dark=dark)
    assert browser.violations(axe) == []
    assert not browser.run("document.documentElement.scrollWidth > innerWidth")


def test_prometheus_reads_what_the_history_says(store: Path) -> None:
    history = oodometer.history(store)
    values: dict[tuple[str, str], float] = {}
    told = set()
    for line in prometheus_text(history).splitlines():
        if line.startswith("# TYPE "):
            told.add(line.split()[2])
        elif not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            assert match[1] in told
            values[match[1], re.sub(r"\\(.)", r"\1", match[2])] = float(match[3])
    for job in history.jobs:
        (part,) = job.of("target")
        assert values["oodometer_accuracy", job.name] == part.newest.value
        assert values["oodometer_accuracy_lower", job.name] == part.newest.lower
        assert values["oodometer_alarms_standing", job.name] == bool(part.standing)
    assert {values["oodometer_alarms_standing", job.name] for job in history.jobs} == {0, 1}


def test_names_of_pages_differ_and_hold_no_path() -> None:
    names = file_names(["a", "A", "../a", "index", "", "a" * 300])
    assert len({name.lower() for name in names}) == len(names)
    assert not any("/" in name or name.startswith(".") for name in names)


def test_an_empty_store_and_a_file_in_the_way(store: Path, tmp_path: Path) -> None:
    write_dashboard(replace(oodometer.history(store), jobs=()), tmp_path / "empty")
    assert "no run yet" in (tmp_path / "empty" / "index.html").read_text(encoding="utf-8")
    assert prometheus_text(History("x", ())) == ""
    (tmp_path / "file").write_text("")
    with raises_snapshot(UsageError):
        write_dashboard(oodometer.history(store), tmp_path / "file")
    with raises_snapshot(UsageError):
        write_dashboard(oodometer.history(store), tmp_path / "none" / "site")


def test_the_command_writes_it(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    assert main(["history", str(store), "--page-folder", str(folder), "-q"]) == 0
    assert (folder / "metrics.prom").is_file()
    assert main(["history", str(tmp_path), "--page-folder", str(folder)]) == 2
    assert main(["history", str(store), "--run", "1", "--page-folder", str(folder)]) == 2
