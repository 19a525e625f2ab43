"""What is printed: the main things in 80 columns, all with -v, nothing with --quiet, colours where they are seen."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from oodometer.cli import main, output
from oodometer.outputs import terminal
from oodometer.store import write_predictions
from oodometer.testing import example_record

from ..snapshots import assert_snapshot

COLOUR = re.compile("\x1b\\[[0-9;]*m")
FEW = ["--method", "source", "--method", "ac", "--method", "atc", "--backtest", "none"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("terminal")
    write_predictions(
        example_record(400, seed=1), made / "a reference with a rather long name.parquet"
    )
    write_predictions(example_record(300, seed=2, difficulty=1.5), made / "target.parquet")
    return made


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


BOTH = ["a reference with a rather long name.parquet", "target.parquet"]
COMMANDS = {
    "estimate": ["estimate", *BOTH, *FEW, "--by", "group", "--target-accuracy", "0.9"],
    "evaluate": ["evaluate", BOTH[0]],
    "diagnose": ["diagnose", *BOTH],
    "audit": ["audit", *BOTH, "--method", "source"],
    "compare": ["compare", BOTH[0], BOTH[0]],
    "backtest": ["backtest", BOTH[0], "--method", "source", "--method", "atc", "--repeats", "1", "--no-cache",
                 *(word for name in ("none", "class_prior") for word in ("--family", name))],
    "methods": ["methods"],
}  # fmt: skip


@pytest.mark.parametrize("more", ["", "-v"])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_longer_than_eighty(
    name: str, more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMANDS[name], *filter(None, [more])]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 3
    assert [line for line in lines if len(line) > 80] == []
    assert not any("\t" in line or line != line.rstrip() for line in lines)


def test_the_main_things_fit_a_screen_and_the_rest_is_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["estimate", *BOTH, *FEW, "--by", "group"]) == 0
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 24
    assert re.search(
        r"\ATrue accuracy: .*\n  Measured on .*(\n    .*)*\n  Fell by .*(\n    .*)*\n"
        r"  If only the inputs changed: .*(\n    .*)*\n  Estimated ",
        short,
    )
    assert (
        short.count("re-weighted to match") == 1
    )  # by the kind of shift, though the inputs are spoken of before
    assert re.search(r"^  Trust (high|low|none): ", short, re.MULTILINE)
    assert "even" in short
    assert "Threshold" not in short
    assert_snapshot(short.splitlines()[-1])
    assert main(["estimate", *BOTH, *FEW, "--by", "group", "-v"]) == 0
    full = capsys.readouterr().out
    assert re.search(r"^atc +\d+\.\d %", full, re.MULTILINE)
    assert "Threshold: " in full
    assert "left out: -v" not in full


def test_quiet_prints_errors_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    assert main(["estimate", *BOTH, *FEW, "--quiet", "--json", str(out)]) == 0
    assert capsys.readouterr() == ("", "")
    assert out.exists()
    assert main(["estimate", BOTH[0], "nowhere.csv", "-q"]) == 2
    assert "nowhere.csv" in capsys.readouterr().err
    assert main(["evaluate", BOTH[0], "-v", "-q"]) == 2
    assert "not both" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("set_to", "coloured"), [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
                             ({"FORCE_COLOR": "1", "TERM": "dumb"}, False)],
)  # fmt: skip
def test_colours_where_they_are_wanted(
    set_to: dict[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in set_to.items():
        monkeypatch.setenv(name, value)
    output.tell("  trust high: so it is")
    output.print_table(["chunk", "fell"], [["2020", "ALARM"], ["2021", "no"]])
    shown = capsys.readouterr().out
    assert ("\x1b[32mtrust high\x1b[0m" in shown) == coloured
    assert ("\x1b[1;31mALARM" in shown) == coloured
    assert (
        COLOUR.sub("", shown) == "  trust high: so it is\n\nchunk  fell\n2020   ALARM\n2021   no\n"
    )


def test_a_table_too_wide_goes_on_below(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ["name", *(f"column{i}" for i in range(12))]
    lines = terminal.table_lines(columns, [["it", *(f"{i}.5" for i in range(12))]], 60)
    assert max(map(len, lines)) <= 60
    blocks = "\n".join(lines).split("\n\n")
    assert len(blocks) > 1
    assert all(block.startswith("name") for block in blocks)
    assert [cell for block in blocks for cell in block.split("\n")[1].split()[1:]] == [
        f"{i}.5" for i in range(12)
    ]


def test_wide_letters_count_twice() -> None:
    lines = terminal.table_lines(["名前", "x"], [["漢字漢字", "1"], ["ab", "2"]], 80)
    assert lines == ["名前      x", "漢字漢字  1", "ab        2"]


def test_numbers_keep_their_sign_on_the_line() -> None:
    lines = terminal.wrapped("between 83.2 % and " + "94.5 % or " * 20, 41)
    assert not any(line.strip().startswith("%") for line in lines)
    assert max(map(len, lines)) <= 41


@pytest.mark.parametrize(
    "words",
    [
        ["-h"],
        ["estimate", "-h"],
        pytest.param(["shift", "-h"], marks=pytest.mark.lab),
        pytest.param(["shift", "text", "-h"], marks=pytest.mark.lab),
        [],
        pytest.param(["discriminate"], marks=pytest.mark.lab),
    ],
)
def test_help_is_printed_and_nothing_failed(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Usage: oodometer")
    assert shown.out.count("\n") > 8
    assert shown.err == ""


def test_completion_knows_commands_and_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "shellingham.detect_shell", lambda *given: ("bash", "/bin/bash")
    )  # whatever runs the tests
    assert main(["--show-completion", "bash"]) == 0
    assert "_oodometer_completion" in capsys.readouterr().out
    for typed, place, expected in (
        ("oodometer est", 1, "estimate"),
        ("oodometer estimate --ever", 2, "--every"),
    ):
        monkeypatch.setenv("_OODOMETER_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", typed)
        monkeypatch.setenv("COMP_CWORD", str(place))
        assert main([]) == 0
        assert capsys.readouterr().out.split() == [expected]


def test_phases_are_told_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    class Bar:
        def __call__(self, done: int, total: int) -> None:
            assert 0 <= done <= total

        def phase(self, name: str) -> None:
            heard.append(name)

    import oodometer

    options = {"methods": ["source", "ac", "doc", "atc"], "progress": Bar()}
    oodometer.estimate(example_record(300), example_record(200, seed=2).without_labels(), **options)
    assert heard == ["reading", "fitting", "backtest", "estimating", "weighing"]


def test_no_bar_in_a_cell_of_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    with output.progress_bar("estimating") as progress:
        assert progress is not None
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    with output.progress_bar("estimating") as progress:
        assert progress is None


def test_work_that_lasts_tells_of_its_phases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 5.0, 5.0, 11.0, 11.0, 11.0, 30.0, 30.0, *np.full(9, 30.0)])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with output.progress_bar("estimating", lines=True) as progress:
        progress.phase("reading")  # type: ignore[attr-defined]
        progress(1, 3)
        progress.phase("fitting")  # type: ignore[attr-defined]
        progress(2, 3)
    said = capsys.readouterr().err
    assert "estimating (fitting): " in said
    assert "estimating (reading)" not in said


def test_shares_are_told_in_percent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "_EVERY", 0.0)
    with output.progress_bar("training judges", lines=True, share=True) as progress:
        assert progress is not None
        progress(3_456, 10_000)
    assert capsys.readouterr().err == "training judges: 35 %\n"
