"""The guide "Your own images" runs as it stands, on fewer pictures: its blocks of Python and its commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from oodometer.cli import main

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "images.md"
FEWER = {
    "sample(1200,": "sample(80,",
    "sample(10_000,": "sample(200,",
    'cifar10("train")': 'cifar10("test")',
    "epochs=4": "epochs=1",
    "views=10": "views=2",
    "--kind all --severity 1 --severity 3 --severity 5": "--kind fog --kind contrast --severity 5",
}


def test_the_guide_runs(
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("OODOMETER_DATA", str(data_dir))
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text(encoding="utf-8")
    text = text[
        text.index("```python") : text.index("## What can be shifted")
    ]  # the answer at its head is of files that the page makes below; behind that heading stand other files
    for whole, small in FEWER.items():
        assert whole in text
        text = text.replace(whole, small)
    names: dict[str, Any] = {}
    for kind, block in re.findall(
        r"^```(console|python)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE
    ):
        if kind == "python":
            exec(compile(block, str(GUIDE), "exec"), names)
            continue
        for command in re.findall(r"^\$ oodometer (.*)$", block, flags=re.MULTILINE):
            assert main(shlex.split(command)) == 0, command
    said = capsys.readouterr().out
    assert "True accuracy:" in said
    lines = said.splitlines()[-3:]
    assert [one.split()[0] for one in lines] == ["contrast-5", "fog-5", "mean"]
