"""Commands that fail end at once, six at a time: none hangs at its exit, none aborts."""

from __future__ import annotations

from benchmarks.error_exits import COMMANDS, run

from oodometer.cli.main import app


def test_no_error_exit_hangs_or_aborts() -> None:
    """A smaller copy of the committed hundred of each."""
    found = run(list(COMMANDS), times=2)
    assert found["wrong"] == {}
    assert found["runs"] == 2 * len(COMMANDS)


def test_every_command_is_among_them() -> None:
    assert set(COMMANDS) == {one.name for one in [*app.registered_commands, *app.registered_groups]}
