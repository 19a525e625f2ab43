"""Stores on a real PostgreSQL server: who may not, what does not answer, and passwords that nobody sees."""

from __future__ import annotations

import builtins
import json
import shlex
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oodometer
from oodometer import Estimation
from oodometer.cli import main, output
from oodometer.errors import InputError, MissingExtraError, UsageError
from oodometer.histories import base, open_store
from oodometer.predictions import Predictions
from oodometer.store import write_predictions

Night = Callable[..., Estimation]
PASSWORD = "b@d/pass word%"
ENCODED = "b%40d%2Fpass%20word%25"
SECRETS = (PASSWORD, ENCODED, "pass word", "pass%20word")


@pytest.fixture
def place(database: str) -> str:
    return database


def run(address: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        for one in statements:
            connection.execute(one)  # type: ignore[arg-type]


def refused(address: str) -> str:
    """The one line that says why the store cannot be used; it holds no password."""
    with pytest.raises(InputError) as error:
        open_store(address).check()
    said = str(error.value)
    assert "\n" not in said
    assert not [one for one in SECRETS if one in said]
    return said


@pytest.fixture
def user(database: str) -> str:
    """A user with a password, which the server asks for, and no rights of its own."""
    import psycopg

    name = f"weak_{database.partition('@/')[2].partition('?')[0]}"
    run(database, f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    folder = Path(database.partition("host=")[2])
    hba = folder / "data" / "pg_hba.conf"
    hba.write_text(f"local all {name} scram-sha-256\n{hba.read_text()}")
    run(database, "SELECT pg_reload_conf()")
    address = database.replace("postgres@", f"{name}@")
    end = time.monotonic() + 20
    while time.monotonic() < end:  # the server reads its settings in its own time
        try:
            psycopg.connect(address.replace("@", ":wrong@", 1)).close()
        except psycopg.OperationalError:
            return name
        time.sleep(0.05)
    raise AssertionError("the server does not ask for the password")


def test_a_password_opens_and_is_never_shown(
    database: str,
    user: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(database, f"GRANT CREATE, USAGE ON SCHEMA public TO {user}")
    address = database.replace("postgres@", f"{user}:{ENCODED}@")
    data = Predictions.from_arrays(probabilities=[[0.9, 0.1], [0.4, 0.6]] * 60, label=[0, 1] * 60)
    write_predictions(data, tmp_path / "r.csv")
    words = [
        "estimate",
        f"{tmp_path}/r.csv",
        f"{tmp_path}/r.csv",
        "--method",
        "ac",
        "--backtest",
        "none",
    ]
    words += ["--store", address, "--json", f"{tmp_path}/a.json"]
    monkeypatch.setattr("sys.argv", ["oodometer", *words])
    assert main(words) == 0
    assert main(["history", address, "--json", f"{tmp_path}/h.json"]) == 0
    shown = capsys.readouterr()
    told = [
        shown.out,
        shown.err,
        (tmp_path / "a.json").read_text(),
        (tmp_path / "h.json").read_text(),
    ]
    with open_store(database).reading() as session:
        told += [str(row) for row in session.rows("SELECT * FROM oodometer_runs")]
    assert not [text for text in told for one in SECRETS if one in text]
    assert ":***@" in json.loads((tmp_path / "a.json").read_text())["argv"]
    assert json.loads((tmp_path / "h.json").read_text())["store"].startswith(
        f"postgresql://{user}:***@/"
    )


def test_a_wrong_password_and_none(database: str, user: str) -> None:
    for given in (f"{user}:wr0ng{ENCODED}", user):
        said = refused(database.replace("postgres@", f"{given}@"))
        assert "expected a PostgreSQL server that answers, got " in said
        assert said.endswith("give the password in ~/.pgpass or PGPASSWORD, and check the user")


def test_a_user_without_rights(database: str, user: str, night: Night) -> None:
    address = database.replace("postgres@", f"{user}:{ENCODED}@")
    run(database, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    said = refused(address)
    assert "expected permission to keep runs, got permission denied for schema public" in said
    assert "let the user create tables" in said
    night({"2026-01": 0.9})
    run(database, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}")
    assert "got permission denied for table oodometer_" in refused(
        address
    )  # told before the work, not after it
    assert len(oodometer.history(address).jobs) == 1  # and to read is enough for the history


def test_a_database_or_a_user_that_is_not_there(database: str) -> None:
    said = refused(database.replace("@/d", "@/none_d"))
    assert "does not exist; make the database (createdb), or check its name" in said
    assert 'role "nobody_here" does not exist; check the user' in refused(
        database.replace("postgres@", "nobody_here@")
    )


def test_a_server_that_is_not_there(database: str, tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        said = refused(f"postgresql://me:{ENCODED}@127.0.0.1:{held.getsockname()[1]}/db")
    assert "expected a PostgreSQL server that answers, got " in said
    assert "refused" in said
    assert said.endswith(
        "check host and port, and that the server runs and may be reached from here"
    )
    assert "expected a PostgreSQL server that answers" in refused(
        f"postgresql:///db?host={tmp_path}"
    )


def test_a_server_that_is_silent_is_waited_for_a_bounded_time(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "WAIT", 2.0)  # the least that libpq knows
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        said = refused(f"postgresql://me:{ENCODED}@127.0.0.1:{silent.getsockname()[1]}/db")
    assert "timeout" in said


def test_a_server_that_only_reads(database: str, night: Night) -> None:
    night({"2026-01": 0.9})
    run(
        database,
        f"ALTER DATABASE {database.partition('@/')[2].partition('?')[0]} SET default_transaction_read_only = on",
    )
    assert "got one that only reads (a standby); give the address of the primary" in refused(
        database
    )
    assert len(oodometer.history(database).jobs) == 1


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{ENCODED}@host:many/db",
        f"postgresql://me:{ENCODED}@host/db?nothing=1",
        f"postgresql://me:{PASSWORD}@host:many/db",
        f"postgresql://me:{ENCODED}@[host/db",
        f"postgresql://[me:{ENCODED}@host/db",
        f"postgresql://host:many/db?user=me&password={ENCODED}",
        "postgresql://me:b@d/pass word@localhost:1/db",
        "postgresql://me@corp:b@d/pass word@localhost:1/db",
        "postgresql://me:pass word?b@d@localhost:1/db",
    ],
)
def test_addresses_that_are_none(address: str) -> None:
    pytest.importorskip("psycopg", reason="needs the extra postgres: pip install '.[postgres]'")
    said = "expected an address such as postgresql://user@host:5432/database|[*@dbe]: expected a PostgreSQL server that"
    with pytest.raises((UsageError, InputError), match=said) as error:
        open_store(address).check()
    assert error.value.exit_code == 2
    assert not [one for one in SECRETS if one in str(error.value)]


@pytest.mark.parametrize(
    "password", ["s3cr3t", "s3cr3t@a", "s3cr3t/b", "s3cr3t:c", "s3cr3t d", "'s3cr3t'"]
)
def test_commands_and_errors_hide_a_password(
    password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"postgresql://me:{password}@host/db"
    monkeypatch.setattr("sys.argv", ["oodometer", "history", address, f"--store={address}"])
    assert "s3cr" not in output.command_line()
    assert "s3cr" not in open_store(address).name
    if "'" not in password:
        assert "s3cr" not in str(
            UsageError(f"try: {shlex.join(['oodometer', 'history', address])}")
        )
    other = f"mysql://me@corp:{password}@host/db"
    with pytest.raises(UsageError, match="expected the path of a file or postgresql") as error:
        open_store(other)
    assert "s3cr" not in str(error.value)
    assert (
        str(UsageError("s3://a@b/c and http://host:80/x@y")) == "s3://a@b/c and http://host:80/x@y"
    )


def test_tables_lie_where_the_search_path_says(database: str, night: Night) -> None:
    run(database, "CREATE SCHEMA monitor", "CREATE TABLE oodometer (id BIGINT)")
    place = f"{database}&options=-csearch_path%3Dmonitor"
    night({"2026-01": 0.9}, store=place)
    with open_store(database).session(write=False) as session:
        assert session.rows("SELECT COUNT(*) FROM monitor.oodometer_runs") == [(1,)]
        assert not open_store(database).has_table(session, "oodometer_runs")


def test_without_the_library_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    there = builtins.__import__

    def absent(name: str, *given: Any, **more: Any) -> Any:
        if name == "psycopg":
            raise ImportError(name)
        return there(name, *given, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(
        MissingExtraError,
        match=r"a store on PostgreSQL needs psycopg, .* pip install .*\[postgres\]",
    ):
        open_store("postgresql://host/db").check()
