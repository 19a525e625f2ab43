"""Tables as public tools write them: no number is wrong without a word, and no form of a table tells another one.

The bed is `benchmarks/roles`; what is right there comes from the arrays that the tables are made of.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ..snapshots import assert_snapshot

pytest.importorskip("pandas")

from benchmarks.kit import RESULTS
from benchmarks.roles.__main__ import page
from benchmarks.roles.asking import arguments_of, remedy_of
from benchmarks.roles.base import Right, Table, Trap
from benchmarks.roles.catalogue import tables
from benchmarks.roles.judging import SILENT, Verdict, faults, judge, names

TABLES = tables()
EVERY = 4  # of the tables, in all forms


def title(table: Table) -> str:
    return f"{table.tool}: {table.name}"


@pytest.mark.parametrize("table", TABLES, ids=title)
def test_no_number_is_wrong_without_a_word(table: Table) -> None:
    found = judge(table, ["csv"]).first
    assert found.verdict not in SILENT, (
        f"{found.asked}: {faults(found.numbers, table.files().right)}; {found.said}"
    )


@pytest.mark.parametrize("table", TABLES[::EVERY], ids=title)
def test_every_form_of_a_table_says_the_same(table: Table) -> None:
    found = judge(table)
    assert found.silent == []
    assert "accuracy" not in found.apart, (
        "a form may refuse what another one reads, such as blanks that CSV has not"
    )


def test_the_bed_is_wide_and_half_of_it_has_traps() -> None:
    assert len(TABLES) >= 60
    assert len({table.tool for table in TABLES}) >= 20
    assert max(Counter((table.tool, table.name) for table in TABLES).values()) == 1
    assert {table.trap for table in TABLES} == set(Trap)
    assert 0.4 < sum(bool(table.trap) for table in TABLES) / len(TABLES) < 0.7
    rows = [len(next(iter(table.files().columns.values()))) for table in TABLES]
    assert min(rows) >= 120
    assert max(rows) <= 400


def test_right_numbers_are_those_of_another_library() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    for table in TABLES:
        files = table.files()
        if {"y_true", "y_prob", "y_pred"} == files.columns.keys() and not table.trap:
            truth, answers = files.columns["y_true"], files.columns["y_pred"]
            assert files.right.accuracy == pytest.approx(metrics.accuracy_score(truth, answers))
            assert files.right.roc_auc == pytest.approx(
                metrics.roc_auc_score(truth, files.columns["y_prob"])
            )
            break
    else:
        pytest.fail("no table of scikit-learn")


def test_a_number_is_judged_by_what_the_table_holds() -> None:
    assert faults({"accuracy": 0.7, "roc_auc": 0.8}, Right(accuracy=0.705, roc_auc=0.8)) == []
    assert_snapshot(faults({"accuracy": 0.7, "roc_auc": 0.8}, Right(accuracy=0.7)))
    assert_snapshot(faults({"mean_score": 0.1}, Right(accuracy=0.7)))
    assert names("gold", "the truth may be gold or label")
    assert not names("gold", "t.csv: read gold as label; --map changes it")
    assert not names(
        "gold", "expected columns of a predictions file (label, ...), got gold, score; rename yours"
    )


def test_remedies_are_taken_as_they_are_printed() -> None:
    typed = ["evaluate", "t.csv"]
    assert remedy_of("no; try: oodometer evaluate t.csv --positive 'a b' --json -", typed) == [
        *typed,
        "--positive",
        "a b",
    ]
    assert remedy_of("got obs; the file has obs: --map obs=label", typed) == [
        *typed,
        "--map",
        "obs=label",
    ]
    assert (
        remedy_of(
            "try: oodometer evaluate t.csv --map TRUTH=label, where TRUTH is your column", typed
        )
        is None
    )
    assert remedy_of("try: oodometer evaluate t.csv", typed) is None
    assert arguments_of('name them: mapping={"y": "label"}, positive="p"') == {
        "mapping": {"y": "label"},
        "positive": "p",
    }


def test_the_page_is_made_of_the_numbers_beside_it() -> None:
    result = json.loads((RESULTS / "roles.json").read_text(encoding="utf-8"))
    assert page(result) == (RESULTS / "roles.md").read_text(encoding="utf-8")
    assert [(row["tool"], row["name"]) for row in result["rows"]] == [
        (table.tool, table.name) for table in TABLES
    ]
    assert {row["verdict"] for row in result["rows"]} <= {str(verdict) for verdict in Verdict}
