"""The same words in the shell and in Python: an option has the argument of its name, a repeatable one in plural."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import oodometer
from oodometer.cli import main
from oodometer.cli.main import all_commands
from oodometer.options import arguments_of
from oodometer.verbs.demo import demo
from oodometer_lab.benchmarks import natural
from oodometer_lab.recipes import reproduce
from oodometer_lab.verbs.discriminate import collect_pairs, judge_outputs, train_judges

from .every_command import commands

VERBS: dict[str, Callable[..., Any]] = {
    "benchmark": natural,
    "demo": demo,
    "read": oodometer.read,
    "report": oodometer.load_result,
    "reproduce": reproduce,
    "discriminate collect": collect_pairs,
    "discriminate train": train_judges,
    "discriminate predict": judge_outputs,
}
# What a shell needs and a function does not: where results go, how much is printed.
OF_THE_SHELL = {"json", "report", "out", "save", "help"}
EXCEPTIONS = {
    ("evaluate", "predictions"): "positional, *sources in Python",
    ("demo", "sample"): "oodometer.datasets.write_sample in Python",
    ("backtest", "no_cache"): "cache=None in Python",
    ("history", "page_folder"): "oodometer.outputs.dashboard.write_dashboard in Python",
    ("history", "run"): "another result: oodometer.histories.kept_result in Python",
    ("discriminate predict", "paths"): "positional, judges and outputs in Python",
    ("discriminate predict", "judge"): "existing, since judges is the folder",
}


COMMANDS = dict(commands(get_command(all_commands())))


def words(parameter: Any) -> set[str]:
    """What the argument of an option may be called."""
    if parameter.param_type_name == "argument":
        return {parameter.name, f"{parameter.name}s"}
    out = set()
    for spelt in (one for one in parameter.opts if one.startswith("--")):
        name = spelt.removeprefix("--").replace("-", "_")
        out |= {name} | ({f"{name}s", f"{name[:-1]}ies"} if parameter.multiple else set())
    return out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_an_argument_of_the_same_name(name: str) -> None:
    verb = VERBS.get(name) or getattr(oodometer, name, None)
    assert verb is not None, f"{name}: name its function in VERBS"
    arguments = set(arguments_of(verb).parameters)
    assert COMMANDS[name].params
    for parameter in COMMANDS[name].params:
        called = words(parameter)
        if called & OF_THE_SHELL or any((name, one) in EXCEPTIONS for one in called):
            continue
        assert called & arguments, f"{name} {sorted(called)}: no such argument of {verb.__name__}"


def test_no_exception_is_left_over() -> None:
    said = {
        (name, one)
        for name, command in COMMANDS.items()
        for p in command.params
        for one in words(p)
    }
    assert set(EXCEPTIONS) <= said


def test_options_on_the_command_line_stay_few() -> None:
    """What a guide does not need is an argument in Python alone."""
    assert (
        sum(p.param_type_name == "option" for command in COMMANDS.values() for p in command.params)
        <= 369
    )


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ("compare a.csv b.csv", "--grid"),
        ("rank a.csv b.csv", "--explain"),
        ("stress a.jsonl --out out", "--pieces"),
        ("shift a.jsonl --out out", "--least"),
        ("predict m a.jsonl --out out", "--batch-rows"),
        ("discriminate train a.jsonl --out out", "--pretraining"),
    ],
)
def test_arguments_of_python_alone_are_no_options(
    given: str,
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*given.split(), option, "3"]) == 2
    assert f"No such option: {option}" in capsys.readouterr().err
    *group, command = given.split()[:2] if given.startswith("discr") else given.split()[:1]
    table = ".".join([*group, command])
    (tmp_path / "oodometer.toml").write_text(f"[{table}]\n{option.removeprefix('--')} = 3\n")
    assert main(given.split()) == 2
    assert f"has no option {option.removeprefix('--')}" in capsys.readouterr().err


def test_further_spellings_and_the_options_of_all_commands_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.csv").write_text("p,prob_1,y\n" + "1,0.9,1\n0,0.2,0\n1,0.6,0\n" * 30)
    words = ["evaluate", str(tmp_path / "r.csv"), "--mapping", "y=label", "--map", "p=prediction"]
    assert main([words[0], "--quiet", *words[1:]]) == main(["-q", *words]) == 0
    assert capsys.readouterr().out == ""
    shown = []
    for given in (words, [*words, "-v"], ["--verbose", *words]):
        assert main(given) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] != shown[1] == shown[2]
    assert main([*words, "-v", "--quiet"]) == 2
    assert "not both" in capsys.readouterr().err
    assert main(["evaluate", "--", "-v"]) == 2  # behind -- it is a file
    assert "-v" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_few_options_and_all_where_all_are_asked_for(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for word in ("-h", "--help-all" if COMMANDS[name].rare else "-h"):
        assert main([*name.split(), word]) == 0
        shown.append(capsys.readouterr().out)
    few, every = shown
    spelt = [f"{one.opts[0]} " for one in COMMANDS[name].params if one.opts[0].startswith("--")]
    assert sum(f"  {one}" in few or f"{one.strip()}, " in few for one in spelt) <= 12
    assert all(
        f"  {one}" in every or f"{one.strip()}, " in every or f", {one.strip()}" in every
        for one in spelt
    )
