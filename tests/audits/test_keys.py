"""Keys: labels of strangers join rows by a column, in any order and any form; what would join wrong rows is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.audits.joining import labelled
from oodometer.audits.keys import looking_like_keys
from oodometer.cli import main
from oodometer.errors import InputError, UsageError
from oodometer.store import as_source

ROWS = 60
P = np.random.default_rng(0).uniform(0.05, 0.95, ROWS).round(3)
TRUTH = (np.random.default_rng(1).uniform(size=ROWS) < P).astype(int)
TARGET = pd.DataFrame({"id": np.arange(100, 100 + ROWS), "prob_0": 1 - P, "prob_1": P})
LABELS = pd.DataFrame({"id": TARGET["id"], "label": TRUTH})
SHUFFLED = LABELS.sample(frac=1, random_state=0)
RIGHT = (P > 0.5) == TRUTH


def accuracy(target: Any, labels: Any, key: str | None = None) -> float:
    return float(labelled(labels, as_source(target), key).source.read().known().accuracy)


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("kind", [int, str, float])
def test_shuffled_and_few_labels_of_any_form_and_type(form: str, kind: type, tmp_path: Path) -> None:
    TARGET.to_csv(tmp_path / "t.csv", index=False)
    few = SHUFFLED.head(20).astype({"id": kind})
    if kind is float:  # as pandas keeps integers beside nulls
        few["label"] = few["label"].astype(float)
    elif kind is str:
        few["id"] = [str(int(one)) for one in SHUFFLED["id"].head(20)]
    name = tmp_path / f"l.{form}"
    few.to_json(name, orient="records", lines=True) if form == "jsonl" else getattr(few, f"to_{form}")(
        name, index=False
    )
    want = RIGHT[few["id"].astype(int).to_numpy() - 100].mean()
    assert accuracy(tmp_path / "t.csv", name) == pytest.approx(want)
    found = oodometer.evaluate(tmp_path / "t.csv", labels=name, metrics=["accuracy"])
    assert (found.rows, found.unlabelled, found["accuracy"].value) == (20, 40, pytest.approx(want))


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        (SHUFFLED.rename(columns={"id": "loan_id"}), "id=loan_id"),
        (SHUFFLED.rename(columns={"id": "ID"}), "id=ID"),
        (SHUFFLED.assign(id=0, case=SHUFFLED["id"]), "id=case"),
        (SHUFFLED, None),
        (SHUFFLED, "id"),
        (LABELS[["label"]], None),
        (LABELS.rename(columns={"id": "loan_id"}), None),  # the same rows at the same places
    ],
)
def test_every_way_to_say_which_row_is_meant(labels: pd.DataFrame, key: str | None) -> None:
    assert accuracy(TARGET, labels, key) == pytest.approx(RIGHT.mean())


@pytest.mark.parametrize(
    ("target", "labels", "remedy"),
    [
        (TARGET, SHUFFLED.rename(columns={"id": "ID"}), "--key id=ID"),
        (TARGET, SHUFFLED.rename(columns={"id": "loan_id"}).head(9), "--key id=loan_id"),
        (*(one.rename(columns={"id": "orderId"}) for one in (TARGET, SHUFFLED)), "--key orderId"),
        (*(one.rename(columns={"id": "case_no"}) for one in (TARGET, SHUFFLED)), "--key case_no"),
        (TARGET.rename(columns={"id": "loan"}).assign(uuid=TARGET["id"]), SHUFFLED, "--key uuid=id"),
    ],
)
def test_places_that_ids_speak_against_are_refused(target: pd.DataFrame, labels: pd.DataFrame, remedy: str) -> None:
    with pytest.raises(
        InputError, match=r"row 1: column .* \(without --key the rows are taken in their order"
    ) as error:
        accuracy(target, labels)
    assert str(error.value).endswith(f"join them by {remedy}")
    assert accuracy(target, labels, remedy.removeprefix("--key ")) == pytest.approx(
        RIGHT[SHUFFLED["id"].head(len(labels)) - 100].mean()
    )


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([100, 101, 100], r"row 3: column id: expected each id once, got '100' in rows 1 and 3"),
        ([100, None, 101], r"row 2: column id: expected an id in every row, got null"),
        ([998, 999], r"row 1: column id: expected an id of the target, got '998', and none of 2 labels are of rows of"),
        (["0100", "0101"], r"row 1: column id: expected an id of the target, got '0100'"),
    ],
)
def test_ids_that_repeat_are_missing_or_disagree(ids: list[Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    pd.DataFrame({"id": pd.Series(ids, dtype=object), "label": 1}).to_csv(path, index=False)
    with pytest.raises(InputError, match=message) as error:
        accuracy(TARGET, path)
    assert str(error.value).startswith(f"{path}: ")
    twice = pd.concat([TARGET, TARGET.head(1)])
    with pytest.raises(InputError, match=r"row 61: column id: expected each id once, got '100' in rows 1 and 61"):
        accuracy(twice, LABELS)


def test_a_key_that_a_file_lacks_names_what_may_be_meant() -> None:
    other = SHUFFLED.rename(columns={"id": "loan_id"})
    with pytest.raises(UsageError, match=r"no column id to join by; .* --key id=loan_id$"):
        accuracy(TARGET, other, "id")
    with pytest.raises(UsageError, match=r"no column loan_id to join by; .* --key id=loan_id$"):
        accuracy(TARGET, other, "loan_id")
    with pytest.raises(UsageError, match=r"expected --key COLUMN, or TARGET=LABELS .* got '=id'"):
        accuracy(TARGET, other, "=id")
    with pytest.raises(InputError, match=r"expected as many labels as rows of predictions \(60\), .* got 9; join them"):
        accuracy(TARGET, LABELS[["label"]].head(9))


def test_a_column_with_an_equals_sign_is_a_column() -> None:
    frames = [one.rename(columns={"id": "a=b"}) for one in (TARGET, SHUFFLED)]
    assert accuracy(*frames, key="a=b") == pytest.approx(RIGHT.mean())


@pytest.mark.parametrize("name", ["valid", "paid", "number_of_rooms", "keyboard", "index_of_trust", "group"])
def test_a_word_that_only_ends_so_is_no_key(name: str) -> None:
    assert looking_like_keys(as_source({name: [1], "label": [1]})) == []


def test_labels_may_hold_a_class_that_was_never_predicted() -> None:
    target = {"id": [1, 2, 3], "prediction": ["a", "b", "a"]}
    found = oodometer.evaluate(target, labels={"id": [3, 1], "label": ["c", "a"]}, metrics=["accuracy"])
    assert (found.rows, found["accuracy"].value) == (2, 0.5)


def test_backtest_and_compare_join_their_truth(tmp_path: Path) -> None:
    """Two models' files in different orders are compared row by row."""
    rows = pd.concat([TARGET] * 4).assign(id=np.arange(240))
    truth = pd.DataFrame({"id": rows["id"], "label": np.tile(TRUTH, 4)}).sample(frac=1, random_state=3)
    asked: dict[str, Any] = {"methods": ["ac"], "families": ["none"], "repeats": 2, "cache": None}
    apart = oodometer.backtest(rows, labels=truth, **asked)
    inside = oodometer.backtest(rows.assign(label=np.tile(TRUTH, 4)), **asked)
    assert apart.to_dict()["rows"] == inside.to_dict()["rows"]
    other = rows.assign(prob_1=1 - rows["prob_1"], prob_0=rows["prob_1"]).sample(frac=1, random_state=4)
    found = oodometer.compare([rows, other], labels=truth, names=["a", "b"])
    assert found.paired["in_domain"] == {"paired": True, "why": "the ids are the same"}
    straight = oodometer.compare([rows, other.sort_values("id")], labels=truth, names=["a", "b"])
    for name, ranking in found.rankings["in_domain"].items():
        other_way = straight.rankings["in_domain"][name]
        assert [row["model"] for row in ranking] == [row["model"] for row in other_way]
        for row, same in zip(ranking, other_way, strict=True):
            assert (row["value"], row["lower"]) == pytest.approx((same["value"], same["lower"]))
    with pytest.raises(UsageError, match="no column case to tell rows apart by"):
        oodometer.compare([rows.assign(label=0), other.assign(label=0)], key="case")


def test_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A stranger's raw files: another name of the key, another form, another order."""
    TARGET.rename(columns={"prob_1": "score"}).drop(columns="prob_0").to_csv(tmp_path / "t.csv", index=False)
    SHUFFLED.rename(columns={"id": "ID", "label": "paid"}).astype({"ID": str}).to_parquet(tmp_path / "l.parquet")
    asked = ["evaluate", f"{tmp_path}/t.csv", "--positive", "score", "--labels", f"{tmp_path}/l.parquet"]
    asked += ["--map", "paid=label", "--metric", "accuracy"]
    assert main(asked) == 2
    assert "--key id=ID" in capsys.readouterr().err
    assert main([*asked, "--key", "id=ID"]) == 0
    assert f"{RIGHT.mean():.4f}" in capsys.readouterr().out
