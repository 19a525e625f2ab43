"""Options are declared once: a field of a record shows in signature, docstring, command and checks."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import typer
from typer.main import get_command

import oodometer
from oodometer.cli.commands import Written, command
from oodometer.errors import UsageError
from oodometer.options import Options, argument, option, verb
from oodometer.verbs.options import DiagnoseOptions

from ..snapshots import raises_snapshot


class Extended(DiagnoseOptions):
    """The options of `diagnose` and one more."""

    example: float = option(default=0.5, help="A share of something.")


@verb(Extended)
def diagnose(options: Extended) -> Any:
    """Look."""
    return options.example


def test_an_option_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """It is in the signature, the docstring, the checks, the command, beside all that `diagnose` has."""
    parameters = inspect.signature(diagnose).parameters
    assert set(parameters) - set(inspect.signature(oodometer.diagnose).parameters) == {"example"}
    assert (parameters["example"].default, parameters["example"].kind) == (
        0.5,
        inspect.Parameter.KEYWORD_ONLY,
    )
    assert "example :\n    A share of something." in str(diagnose.__doc__)
    with raises_snapshot(UsageError):
        diagnose(1, 2, example="x")  # type: ignore[arg-type]
    with raises_snapshot(TypeError):
        diagnose(1, 2, exmple=1)  # type: ignore[call-arg]
    typed: list[dict[str, Any]] = []
    own = typer.Typer(rich_markup_mode=None)

    @command(Extended, written=("json",), to=own)
    def look(given: dict[str, Any], to: Written) -> None:
        """Look at it."""
        typed.append({**given, "json": to.json})

    parser = get_command(own)
    parser(
        ["a", "b", "--example", "0.25", "--map", "y=label", "--json", "-"], standalone_mode=False
    )
    parser(["a", "b"], standalone_mode=False)
    assert [one["example"] for one in typed] == [0.25, 0.5]
    assert (typed[0]["mapping"], typed[0]["json"], "where" in typed[1]) == (
        {"y": "label"},
        "-",
        False,
    )
    parser(["--help"], standalone_mode=False)
    assert "--example" in capsys.readouterr().out


def test_an_option_of_a_type_without_a_check_is_refused_where_it_is_declared() -> None:
    with raises_snapshot(TypeError):

        class _Wrong(Options):
            example: frozenset[int] | None = option(default=None, help="Some numbers.")


def test_an_argument_is_needed() -> None:
    class _One(Options):
        data: Any = argument(kw_only=False, help="Some rows.")

    @verb(_One)
    def look(options: _One) -> Any:
        return options.data

    assert look(3) == look(data=3) == 3
    with raises_snapshot(TypeError):
        look()  # type: ignore[call-arg]
