"""What a property test finds is kept: as a decorator in a file that the failure names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FAILING = """
import hypothesis
from hypothesis import given, strategies as st

{decorator}@given(x=st.integers(), y=st.lists(st.floats(allow_nan=False)))
def test_small(x, y):
    assert x < 1000{more}
"""


def run(
    folder: Path, decorator: str = "", more: str = "", profile: str = "ci"
) -> subprocess.CompletedProcess[str]:
    """One property test in a process of its own, with the hooks of this folder."""
    (folder / "test_it.py").write_text(FAILING.format(decorator=decorator, more=more))
    known = os.environ | {
        "OODOMETER_FALSIFIED": str(folder / "kept.txt"),
        "HYPOTHESIS_PROFILE": profile,
    }
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        "test_it.py",
    ]
    return subprocess.run(
        command,
        cwd=folder,
        env=known | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("profile", ["ci", "default"])
def test_a_falsifying_example_becomes_a_decorator_that_runs(tmp_path: Path, profile: str) -> None:
    failed = run(tmp_path, profile=profile)
    kept = (tmp_path / "kept.txt").read_text()
    assert failed.returncode == 1
    assert "put it above the test and commit it" in failed.stdout
    assert "test_it.py::test_small" in kept
    assert "x=1000," in kept
    assert "# or @reproduce_failure(" in kept
    decorator = kept[kept.index("@hypothesis.example(") : kept.index("# or @")]
    again = run(tmp_path, decorator, " or x > 1000")  # nothing but this example fails
    assert "x=1000" in again.stdout
    assert again.returncode == 1
