"""Schema: the tables of a store of past runs, in the same words for SQLite and PostgreSQL, and how they are renewed."""

from __future__ import annotations

# Names of types are PostgreSQL's: SQLite takes any, and keeps whole numbers, numbers and texts as what they are.
_FIRST = (
    "CREATE TABLE oodometer_store (version BIGINT NOT NULL)",
    """CREATE TABLE oodometer_runs (
        id BIGINT PRIMARY KEY, at TIMESTAMPTZ NOT NULL, job TEXT NOT NULL, verb TEXT NOT NULL, version TEXT NOT NULL,
        reference TEXT, target TEXT, rows BIGINT, reference_accuracy DOUBLE PRECISION,
        value DOUBLE PRECISION, lower DOUBLE PRECISION, upper DOUBLE PRECISION, level DOUBLE PRECISION,
        kind TEXT, method TEXT, trust TEXT, why TEXT, truth DOUBLE PRECISION, diagnosis TEXT,
        alarms BIGINT NOT NULL, new_alarms BIGINT NOT NULL, exit_code BIGINT NOT NULL,
        cut TEXT NOT NULL, answer TEXT NOT NULL, repeats BIGINT, options JSON NOT NULL, result JSON NOT NULL)""",
    "CREATE INDEX oodometer_runs_of_job ON oodometer_runs (job, id)",
    """CREATE TABLE oodometer_parts (
        run BIGINT NOT NULL REFERENCES oodometer_runs (id) ON DELETE CASCADE, place BIGINT NOT NULL,
        kind TEXT NOT NULL, part TEXT NOT NULL, name TEXT NOT NULL, begins TEXT, ends TEXT, rows BIGINT,
        metric TEXT NOT NULL, value DOUBLE PRECISION, lower DOUBLE PRECISION, upper DOUBLE PRECISION,
        level DOUBLE PRECISION, interval_kind TEXT, method TEXT, trust TEXT, why TEXT,
        truth DOUBLE PRECISION, truth_lower DOUBLE PRECISION, truth_upper DOUBLE PRECISION, fell TEXT,
        fell_p DOUBLE PRECISION, PRIMARY KEY (run, kind, part, metric))""",
    """CREATE TABLE oodometer_alarms (
        run BIGINT NOT NULL REFERENCES oodometer_runs (id) ON DELETE CASCADE,
        kind TEXT NOT NULL, part TEXT NOT NULL, name TEXT NOT NULL, metric TEXT NOT NULL, rule TEXT NOT NULL,
        amount DOUBLE PRECISION NOT NULL, bound DOUBLE PRECISION, value DOUBLE PRECISION, p DOUBLE PRECISION,
        verdict TEXT NOT NULL, since TIMESTAMPTZ, PRIMARY KEY (run, kind, part, metric, rule, amount))""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
"""Statements that lead from version 0 (no tables) to 1, from 1 to 2 and so on; all in one transaction."""

VERSION = len(MIGRATIONS)
"""The schema that this release reads and writes."""

TABLES = ("oodometer_store", "oodometer_runs", "oodometer_parts", "oodometer_alarms")

# Columns that are written, in the order of the values.
_COLUMNS = {
    "oodometer_runs": "id at job verb version reference target rows reference_accuracy value lower upper level kind "
    "method trust why truth diagnosis alarms new_alarms exit_code cut answer repeats options result",
    "oodometer_parts": "run place kind part name begins ends rows metric value lower upper level interval_kind method "
    "trust why truth truth_lower truth_upper fell fell_p",
    "oodometer_alarms": "run kind part name metric rule amount bound value p verdict since",
}

INSERTS = {
    table: f"INSERT INTO {table} ({', '.join(names.split())}) VALUES ({', '.join(['%s'] * len(names.split()))})"
    for table, names in _COLUMNS.items()
}
"""Statement that adds a row, by table."""
