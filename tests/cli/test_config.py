"""Defaults of options from a file: found, checked by name and type, overridden by what is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oodometer.cli import main
from oodometer.store import write_predictions
from oodometer.testing import example_record

from ..snapshots import assert_snapshot

QUICK = 'method = ["source", "ac"]\nbacktest = "none"\n'


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("config")
    write_predictions(example_record(200, seed=1), folder / "r.parquet")
    write_predictions(example_record(150, seed=2).without_labels(), folder / "t.parquet")
    return [str(folder / name) for name in ("r.parquet", "t.parquet")]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found_by(
    records: list[str], capsys: pytest.CaptureFixture[str], *more: str
) -> dict[str, object]:
    assert main(["estimate", *records, *more, "--json", "-"]) == 0
    out: dict[str, object] = json.loads(capsys.readouterr().out)
    return out


def test_both_files_give_defaults_that_the_command_line_overrides(
    records: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = here / "pyproject.toml"
    shared.write_text(
        f'[project]\nname = "mine"\n[tool.oodometer.estimate]\nlevel = 0.8\nby = "group"\n{QUICK}'
    )
    found = found_by(records, capsys)
    assert (found["level"], len(found["slices"])) == (0.8, 2)  # type: ignore[arg-type]
    assert str(found["argv"]).endswith("backtest = 'none'")
    (here / "oodometer.toml").write_text(
        f"[estimate]\nlevel = 0.7\n{QUICK}"
    )  # its own file is the one that is read
    assert found_by(records, capsys)["level"] == 0.7
    assert found_by(records, capsys, "--level", "0.6")["level"] == 0.6
    assert len(found_by(records, capsys, "--method", "atc")["estimates"]) == 1  # type: ignore[arg-type]
    assert found_by(records, capsys, "--config", "pyproject.toml")["level"] == 0.8
    assert (
        found_by(records, capsys, "--no-config", "--method", "ac", "--backtest", "none")["level"]
        == 0.95
    )


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_is_help_beside_a_file(
    here: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    (here / "oodometer.toml").write_text("[estimate]\nlevel = 0.7\n")
    assert main(["estimate", word]) == 0
    assert_snapshot(capsys.readouterr().out)


def test_a_mapping_is_a_table(
    records: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "x.csv").write_text("y,guess,age\n1,1,3\n0,1,4\n")
    (here / "oodometer.toml").write_text(
        '[evaluate]\nmap = { y = "label", guess = "prediction" }\nmetric = "acc"\n'
    )
    assert main(["evaluate", "x.csv"]) == 0
    assert "accuracy" in capsys.readouterr().out


WRONG = {
    "[estimat]\nlevel = 0.9": "unknown table [estimat]; did you mean [estimate]?",
    "level = 0.9": "unknown key level outside of a command's table",
    "estimate = 3": "expected a table [estimate]",
    "[estimate]\nlevle = 0.9": "[estimate] has no option levle; did you mean level?",
    "[estimate]\nreference = 'r.csv'": "[estimate] has no option reference",
    "[estimate]\nlevel = 'x'": "[estimate] level: ",
    "[estimate]\nlevel = [0.9]": "expected one value, got 1",
    "[estimate]\nlevel = true": "expected a text or a number, got True",
    "[estimate]\nworkers = 2.5": "[estimate] workers: ",
    "[estimate]\nverbose = true": "[estimate] has no option verbose",
    "[estimate]\nlevel =": "expected TOML, got ",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_file_is_one_line_with_its_name(
    text: str, records: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "oodometer.toml").write_text(text)
    assert main(["estimate", *records]) == 2
    said = capsys.readouterr().err
    assert_snapshot(said)
    assert WRONG[text] in said
    assert said.count("\n") == 1


def test_a_file_that_is_named_must_be_there(
    records: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", *records, "--config", "none.toml"]) == 2
    assert_snapshot(capsys.readouterr().err)
    assert main(["estimate", *records, "--config", "a.toml", "--no-config"]) == 2
    assert "not both" in capsys.readouterr().err
    assert main(["estimate", *records, "--config"]) == 2
    assert_snapshot(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('tool = "x"', "pyproject.toml: expected a table [tool], got tool = 'x'"),
        (
            "[tool]\noodometer = 3",
            "pyproject.toml: expected a table [tool.oodometer], got tool.oodometer = 3",
        ),
        (
            "[[tool.oodometer]]\na = 1",
            "pyproject.toml: expected a table [tool.oodometer], got tool.oodometer = [{",
        ),
        (
            "[tool.oodometer]\nestimate = 3",
            "pyproject.toml: expected a table [estimate] of options, got estimate = 3",
        ),
    ],
)
def test_what_is_no_table(
    records: list[str], here: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (here / "pyproject.toml").write_text(f"{text}\n# oodometer\n")
    for more in ((), ("--config", "pyproject.toml")):
        assert main(["estimate", *records, *more]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="POSIX streams and pipes")
def test_closed_streams_and_pipes_with_a_name(records: list[str], here: Path) -> None:
    def asked(words: str) -> tuple[int, str]:
        shell = f"exec {sys.executable} -m oodometer {words}"
        done = subprocess.run(
            ["sh", "-c", shell], capture_output=True, text=True, check=False, timeout=60
        )
        return done.returncode, done.stderr

    for words in ("methods >&-", "--help >&-", "--version >&-", "methods >&- <&-"):
        code, said = asked(words)
        assert (code, said.count("\n")) == (2, 1), said
        assert_snapshot(said)
    assert asked("methods 2>&-") == (0, "")
    assert asked("evaluate nothing.csv 2>&-")[0] == 2
    os.mkfifo(here / "pipe.csv")
    for words in (
        "evaluate pipe.csv",
        "estimate pipe.csv pipe.csv",
        "history pipe.csv",
        "methods --config pipe.csv",
    ):
        code, said = asked(words)
        assert (code, said.count("\n")) == (2, 1), said
        assert "pipe" in said
