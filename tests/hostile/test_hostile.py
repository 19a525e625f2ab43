"""Every class of hostile input does what it must, the table says so, and a few fuzzed files find nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "benchmarks" / "results" / "bad_input.md"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The benchmark in a process of its own: under test the annotations are checked, which no user has."""
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.hostile", *arguments],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        timeout=1800,
    )


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What came of every class."""
    for library in ("pandas", "polars", "torch"):
        pytest.importorskip(library)
    out = tmp_path_factory.mktemp("hostile") / "tried.json"
    done = run("--json", str(out))
    assert out.exists(), done.stdout + done.stderr
    found: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
def test_every_class_does_what_it_must(tried: list[dict[str, Any]]) -> None:
    assert len(tried) > 250
    wrong = {f"{one['group']}: {one['class']}": one["faults"] for one in tried if one["faults"]}
    assert wrong == {}


@pytest.mark.slow
def test_the_page_has_the_table_that_the_command_gives(tried: list[dict[str, Any]]) -> None:
    """Classes, examples, outcomes and exit codes; messages may quote what another version of a library says."""
    text = PAGE.read_text(encoding="utf-8").partition("<!-- hostile: begin -->")[2]
    rows = [
        line.removeprefix("| ").split(" | ")[:4]
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    given = [[cell.strip() for cell in row] for row in rows if row[0] != "class"]
    assert given == [one["cells"][:4] for one in tried], (
        "run: python -m benchmarks.hostile --write-docs"
    )


@pytest.mark.slow
def test_a_few_hundred_fuzzed_files_find_nothing() -> None:
    done = run("fuzz", "--files", "400", "--seed", "7", "--no-results")
    assert done.returncode == 0, done.stdout + done.stderr
