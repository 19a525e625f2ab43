"""What a command reads is never what it writes: every output of every command, by every road to one file."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from oodometer.cli import main
from oodometer.cli.main import all_commands
from oodometer.options import spelt

from ..snapshots import assert_snapshot

ROWS = "prob_a,prob_b,label\n" + "0.9,0.1,a\n0.4,0.6,a\n" * 60
# Texts that name no file: a new option of type text must be put here or say what becomes of its path.
NO_PLACES = {
    "alarms", "assume", "attribution", "augmentation", "backtest", "by", "calibrator", "classes", "cluster",
    "column", "device", "domain", "engine", "every", "existing", "factors", "fail_below", "fail_drop",
    "fail_when", "families", "features", "filter", "gives", "id", "input", "inputs", "job", "judge",
    "judge_labels", "key", "kind", "kinds", "layout", "label", "mapping", "method", "methods", "sample",
    "metric", "metrics", "names", "on_error", "only", "preset", "paper", "positive", "question", "scale",
    "score", "severity", "source", "suggest_by", "tasks", "timezone", "training_where", "weight", "where",
}  # fmt: skip


def commands(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, one in group.commands.items():
        yield from commands(one, (name,)) if hasattr(one, "commands") else [((*before, name), one)]


COMMANDS = dict(commands(get_command(all_commands())))


@pytest.mark.parametrize("name", COMMANDS, ids=" ".join)
def test_every_path_of_a_command_says_what_becomes_of_it(name: tuple[str, ...]) -> None:
    offered = COMMANDS[name].offered
    for option, field, about in offered:
        if re.search(r"\bstr\b", str(field.type)) and about.path is None:
            assert option in NO_PLACES, f'{option}: add path="read", "written" or "folder"'
        if option in ("json", "report", "out", "pseudo_labels") and name != ("methods",):
            assert about.path in ("written", "folder")


def roads(place: Path, folder: Path) -> dict[str, Path]:
    """The same file by other names."""
    soft, hard = folder / "soft.html", folder / "hard.html"
    soft.symlink_to(place)
    os.link(place, hard)
    (folder / "inner").mkdir()
    return {
        "same": place,
        "relative": folder / "inner" / ".." / place.name,
        "soft": soft,
        "hard": hard,
    }


def places_of(offered: Any) -> dict[str, tuple[str, str]]:
    """Options that name a path: what a user calls it, and what becomes of it."""
    named = ((name, about) for name, _, about in offered if about.path is not None)
    return {
        name: (name.upper() if about.positional else spelt(name, about)[0], about.path)
        for name, about in named
    }


def cases() -> Iterator[Any]:
    for name, command in COMMANDS.items():
        places = places_of(command.offered)
        reads = [p for p, (_, what) in places.items() if what == "read"]
        for output in (p for p, (_, what) in places.items() if what == "written"):
            for read in reads:
                yield pytest.param(name, read, output, id=f"{' '.join(name)}-{read}-{output}")


@pytest.mark.parametrize(("name", "read", "output"), list(cases()))
def test_an_output_that_is_an_input_is_refused_before_anything_is_read(
    name: tuple[str, ...],
    read: str,
    output: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = COMMANDS[name]
    places = places_of(command.offered)
    required = {one.name for one in command.params if one.required}
    place = tmp_path / "victim.csv"
    place.write_text(ROWS)
    for road in roads(place, tmp_path).values():
        given = list(name)
        for parameter, (said, what) in places.items():
            value = str(place) if parameter == read else str(road) if parameter == output else None
            if said.startswith("--"):
                if value is None and parameter in required:
                    value = str(tmp_path / "judges")
                given += [] if value is None else [said, value]
            else:
                given += [value or str(tmp_path / f"not-there-{parameter}.csv")]
                if what == "read" and parameter in ("paths", "models"):
                    given.append(str(tmp_path / "not-there.csv"))
        assert main(given) == 2
        said = capsys.readouterr().err
        assert "would write over the input" in said, said
        assert said.count("\n") == 1
        assert place.read_text() == ROWS


@pytest.mark.parametrize("command", ["estimate", "evaluate", "backtest", "compare", "audit"])
def test_two_outputs_of_one_name_are_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = tmp_path / "one.html"
    files = [str(tmp_path / "r.csv"), str(tmp_path / "t.csv")][: 1 if command == "backtest" else 2]
    assert main([command, *files, "--json", str(one), "--report", f"{tmp_path}/./one.html"]) == 2
    assert_snapshot(capsys.readouterr().err)
    assert not one.exists()


def test_all_outputs_are_written_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    reference = tmp_path / "r.csv"
    reference.write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "no" / "folder.json"
    assert main(["evaluate", str(reference), "--report", "page.html", "--json", str(bad)]) == 2
    assert "cannot write" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["r.csv"]


def test_names_never_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe"
    lines = [
        f'"prob_{evil}",prob_b,label,"{evil}"',
        *[f'0.9,0.1,"{evil}","{evil}"', "0.3,0.7,b,x"] * 30,
    ]
    path = tmp_path / f"{evil}.csv"
    path.write_text("\n".join(lines) + "\n")
    for arguments in (["--by", evil], ["--metric", evil], ["--by", evil, "--json", "-"], ["--map", f"{evil}x=label"],
                      [f"--{evil}"], ["--score", evil]):  # fmt: skip
        main(["evaluate", str(path), *arguments])
        shown = capsys.readouterr()
        assert shown.out or shown.err
        for text in (shown.out, shown.err):
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text), repr(
                text[:300]
            )


def test_nothing_is_printed_past_the_one_place() -> None:
    for path in Path(inspect.getfile(main)).parent.glob("*.py"):
        code = path.read_text(encoding="utf-8")
        assert path.name == "output.py" or not re.search(
            r"(?<![\w.])print\(|typer\.echo\((?!f\"oodometer )", code
        ), path


@pytest.mark.parametrize("out", ["taken.csv", "none/p.csv"])
def test_predictions_that_have_no_place_leave_nothing_behind(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        "sys.dont_write_bytecode", True
    )  # what Python leaves behind of the user's own module
    (tmp_path / "taken.csv").mkdir()
    (tmp_path / "models_here.py").write_text("def loud(texts): raise RuntimeError('asked')\n")
    (tmp_path / "texts.csv").write_text("text,label\nhi,a\nho,b\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    assert main(["predict", "models_here:loud", "texts.csv", "--out", out, "--classes", "a,b"]) == 2
    assert "cannot write" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == before
