"""Keys: labels of strangers join rows by a column, in any order and any form; what would join wrong rows is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.audits.joining import labelled, looking_like_keys
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
ORDER = np.random.default_rng(7).permutation(ROWS)


def accuracy(target: Any, labels: Any, key: str | None = None) -> float:
    return float(labelled(labels, as_source(target), key).source.read().known().accuracy)


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("kind", [int, str, float])
def test_shuffled_and_few_labels_of_any_form_and_type(
    form: str, kind: type, tmp_path: Path
) -> None:
    TARGET.to_csv(tmp_path / "t.csv", index=False)
    few = SHUFFLED.head(20).astype({"id": kind})
    if kind is float:  # as pandas keeps integers beside nulls
        few["label"] = few["label"].astype(float)
    elif kind is str:
        few["id"] = [str(int(one)) for one in SHUFFLED["id"].head(20)]
    name = tmp_path / f"l.{form}"
    few.to_json(name, orient="records", lines=True) if form == "jsonl" else getattr(
        few, f"to_{form}"
    )(name, index=False)
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
    ("target", "labels", "key"),
    [
        (TARGET, SHUFFLED.rename(columns={"id": "ID"}), "id=ID"),
        (*(one.rename(columns={"id": "orderId"}) for one in (TARGET, SHUFFLED)), "orderId"),
        (*(one.rename(columns={"id": "case_no"}) for one in (TARGET, SHUFFLED)), "case_no"),
    ],
)
def test_ids_that_speak_against_places_join(
    target: pd.DataFrame, labels: pd.DataFrame, key: str
) -> None:
    labels = labels.reset_index(drop=True)
    found = oodometer.evaluate(target, labels=labels, metrics=["accuracy"])
    right = RIGHT[SHUFFLED["id"].head(len(labels)) - 100].mean()
    assert found["accuracy"].value == pytest.approx(right)
    assert any(f"joined by {key}" in line for line in found.warnings)


@pytest.mark.parametrize(
    ("target", "labels", "remedy"),
    [
        (
            TARGET.rename(columns={"id": "loan"}).assign(uuid=TARGET["id"]),
            SHUFFLED,
            "--key uuid=id",
        ),
        (
            TARGET[["prob_0", "prob_1"]].assign(rank=ORDER + 1),
            LABELS[["label"]].assign(rank=np.arange(ROWS, 0, -1)),
            "--key rank",
        ),
        (
            TARGET,
            SHUFFLED.rename(columns={"id": "loan_id"}).head(9).reset_index(drop=True),
            "--key id=loan_id",
        ),
    ],
)
def test_places_that_ids_speak_against_are_refused(
    target: pd.DataFrame, labels: pd.DataFrame, remedy: str
) -> None:
    with pytest.raises(
        InputError, match=r"row 1: column .* \(without --key the rows are taken in their order"
    ) as error:
        accuracy(target, labels)
    assert str(error.value).endswith(f"join them by {remedy}")
    joined = labels.set_index(remedy.rpartition("=")[2].rpartition(" ")[2])["label"]
    key = remedy.removeprefix("--key ")
    truth = target[key.partition("=")[0]].map(joined)
    right = (truth == (P > 0.5))[truth.notna()]
    assert accuracy(target, labels, key) == pytest.approx(right.mean())


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([100, 101, 100], r"row 3: column id: expected each id once, got '100' in rows 1 and 3"),
        ([100, None, 101], r"row 2: column id: expected an id in every row, got null"),
        (
            [998, 999],
            r"row 1: column id: expected an id of the target, got '998', and none of 2 labels are of rows of",
        ),
        (["0100", "0101"], r"row 1: column id: expected an id of the target, got '0100'"),
    ],
)
def test_ids_that_repeat_are_missing_or_disagree(
    ids: list[Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "l.csv"
    pd.DataFrame({"id": pd.Series(ids, dtype=object), "label": 1}).to_csv(path, index=False)
    with pytest.raises(InputError, match=message) as error:
        accuracy(TARGET, path)
    assert str(error.value).startswith(f"{path}: ")
    twice = pd.concat([TARGET, TARGET.head(1)])
    with pytest.raises(
        InputError, match=r"row 61: column id: expected each id once, got '100' in rows 1 and 61"
    ):
        accuracy(twice, LABELS)


def test_a_key_that_a_file_lacks_names_what_may_be_meant() -> None:
    other = SHUFFLED.rename(columns={"id": "loan_id"})
    with pytest.raises(UsageError, match=r"no column id to join by; .* --key id=loan_id$"):
        accuracy(TARGET, other, "id")
    with pytest.raises(UsageError, match=r"no column loan_id to join by; .* --key id=loan_id$"):
        accuracy(TARGET, other, "loan_id")
    with pytest.raises(UsageError, match=r"expected --key COLUMN, or TARGET=LABELS .* got '=id'"):
        accuracy(TARGET, other, "=id")
    with pytest.raises(
        InputError,
        match=r"expected as many labels as rows of predictions \(60\), .* got 9; join them",
    ):
        accuracy(TARGET, LABELS[["label"]].head(9))


def test_a_column_with_an_equals_sign_is_a_column() -> None:
    frames = [one.rename(columns={"id": "a=b"}) for one in (TARGET, SHUFFLED)]
    assert accuracy(*frames, key="a=b") == pytest.approx(RIGHT.mean())


@pytest.mark.parametrize(
    "name", ["valid", "paid", "number_of_rooms", "keyboard", "index_of_trust", "group"]
)
def test_a_word_that_only_ends_so_is_no_key(name: str) -> None:
    assert looking_like_keys(as_source({name: [1], "label": [1]})) == []


def test_labels_may_hold_a_class_that_was_never_predicted() -> None:
    target = {"id": [1, 2, 3], "prediction": ["a", "b", "a"]}
    found = oodometer.evaluate(
        target, labels={"id": [3, 1], "label": ["c", "a"]}, metrics=["accuracy"]
    )
    assert (found.rows, found["accuracy"].value) == (2, 0.5)


def test_backtest_and_compare_join_their_truth(tmp_path: Path) -> None:
    """Two models' files in different orders are compared row by row."""
    rows = pd.concat([TARGET] * 4).assign(id=np.arange(240))
    truth = pd.DataFrame({"id": rows["id"], "label": np.tile(TRUTH, 4)}).sample(
        frac=1, random_state=3
    )
    asked: dict[str, Any] = {"methods": ["ac"], "families": ["none"], "repeats": 2, "cache": None}
    apart = oodometer.backtest(rows, labels=truth, **asked)
    inside = oodometer.backtest(rows.assign(label=np.tile(TRUTH, 4)), **asked)
    assert apart.to_dict()["rows"] == inside.to_dict()["rows"]
    other = rows.assign(prob_1=1 - rows["prob_1"], prob_0=rows["prob_1"]).sample(
        frac=1, random_state=4
    )
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
    TARGET.rename(columns={"prob_1": "score"}).drop(columns="prob_0").to_csv(
        tmp_path / "t.csv", index=False
    )
    SHUFFLED.rename(columns={"id": "ID", "label": "paid"}).astype({"ID": str}).to_parquet(
        tmp_path / "l.parquet"
    )
    asked = [
        "evaluate",
        f"{tmp_path}/t.csv",
        "--positive",
        "score",
        "--labels",
        f"{tmp_path}/l.parquet",
    ]
    asked += ["--map", "paid=label", "--metric", "accuracy"]
    for said in ([], ["--key", "id=ID"]):
        assert main([*asked, *said]) == 0
        assert f"{RIGHT.mean():.4f}" in capsys.readouterr().out


MOVED = LABELS[["label"]].iloc[ORDER]


@pytest.mark.parametrize(
    ("column", "cells", "is_key"),
    [
        ("customer", [f"c{i * 7 % 61}" for i in range(ROWS)], True),
        ("email", [f"{i}@example.org" for i in range(ROWS)], True),
        ("timestamp", [f"2026-01-01 00:{i:02d}:00" for i in range(ROWS)], True),
        ("amount", [round(1.37 * i, 2) for i in range(ROWS)], False),
        ("site", ["abc"[i % 3] for i in range(ROWS)], False),
        ("answered", [bool(i % 3) for i in range(ROWS)], False),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_any_column_that_both_files_share_is_compared(
    form: str, column: str, cells: list[Any], is_key: bool, tmp_path: Path
) -> None:
    target = TARGET[["prob_0", "prob_1"]].assign(**{column: cells})
    labels = LABELS[["label"]].assign(**{column: cells})
    target.to_csv(tmp_path / "t.csv", index=False)
    for name, one in (("same", labels), ("moved", labels.iloc[ORDER])):
        getattr(one, f"to_{form}")(tmp_path / f"{name}.{form}", index=False)
    assert accuracy(tmp_path / "t.csv", tmp_path / f"same.{form}") == pytest.approx(RIGHT.mean())
    moved = tmp_path / f"moved.{form}"
    if is_key:
        for key in (None, column):
            assert accuracy(tmp_path / "t.csv", moved, key) == pytest.approx(RIGHT.mean())
        return
    with pytest.raises(InputError, match=rf"row 1: column {column}: expected ") as error:
        accuracy(tmp_path / "t.csv", moved)
    some = (
        ""
        if form == "csv" and column == "amount"
        else f"or drop {column} here if these rows are in the target's order"
    )
    assert str(error.value).endswith(some)


def test_what_a_model_says_may_differ_in_a_file_of_labels() -> None:
    labels = LABELS[["label"]].assign(prob_0=P, prob_1=1 - P, y_pred=TRUTH, confidence=0.5)
    assert accuracy(TARGET.assign(y_pred=1 - TRUTH), labels) == pytest.approx(RIGHT.mean())


@pytest.mark.parametrize("first", [0, 5000])
@pytest.mark.parametrize("form", ["frame", "series", "arrays", "csv", "parquet"])
def test_an_index_without_a_name_is_a_key(form: str, first: int, tmp_path: Path) -> None:
    target, labels = (
        one.set_axis(one.index + first) for one in (TARGET[["prob_0", "prob_1"]], LABELS[["label"]])
    )
    target, moved = target.iloc[::-1], labels.iloc[ORDER]
    given: Any = {
        "frame": moved,
        "series": moved["label"],
        "arrays": {"label": moved["label"]},
    }.get(form)
    if given is None:
        given = tmp_path / f"l.{form}"
        getattr(moved, f"to_{form}")(given)
        target.to_csv(tmp_path / "t.csv")
        target = tmp_path / "t.csv"
    for key in (None, "index"):
        assert accuracy(target, given, key) == pytest.approx(RIGHT.mean())


def test_a_frame_whose_index_is_of_another_order_than_its_labels() -> None:
    target = TARGET[["prob_0", "prob_1"]]
    for one in (MOVED, MOVED["label"]):
        with pytest.raises(
            InputError,
            match=r"column index: expected '0', .* or drop index here if these rows are in",
        ):
            accuracy(target, one)
    assert accuracy(target, MOVED.head(20), "index") == pytest.approx(RIGHT[ORDER[:20]].mean())
    arrays = target.to_dict("list")
    with pytest.raises(
        InputError, match=r"since the index counts rows and the target has none.*--map index=row"
    ):
        accuracy(arrays, MOVED)
    found = oodometer.evaluate(arrays, labels=MOVED, mapping={"index": "row"}, metrics=["accuracy"])
    assert found["accuracy"].value == pytest.approx(RIGHT.mean())
    # rows of a larger frame, beside labels in a new one, whose index counts
    assert accuracy(target.set_axis(ORDER * 7), LABELS[["label"]]) == pytest.approx(RIGHT.mean())
    assert "index" not in as_source(target).own_columns


def test_series_of_one_mapping_are_not_joined_by_place_against_their_index() -> None:
    p, y = pd.Series(P, index=ORDER), pd.Series(TRUTH, index=ORDER)
    pair = {"prob_1": p, "label": y.sort_index()}
    with pytest.raises(
        InputError,
        match=rf"row 1: column label: expected the index of prob_1, {ORDER[0]} here, got 0",
    ):
        as_source(pair)
    assert as_source(pd.DataFrame(pair)).read().accuracy == pytest.approx(RIGHT.mean())
    for label in (
        y.sort_index().to_numpy(),
        y.sort_index().set_axis(range(900, 900 + ROWS)).reset_index(drop=True),
    ):
        other = {"prob_1": p.set_axis(ORDER * 7), "label": label}  # places are all that there is
        assert as_source(other).read().rows == ROWS
    with pytest.raises(InputError, match=r"expected the index of prediction, 3 here, got 5"):
        oodometer.Predictions.from_classes(
            pd.Series([0, 1], index=[3, 5]), label=pd.Series([0, 1], index=[5, 3])
        )


NAMES = [f"u{i * 7 % 61:03d}" for i in range(ROWS)]


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize(
    ("ours", "theirs", "ids", "enough"),
    [
        ("customer", "client", NAMES, 12),
        ("account", "acct_no", [9000 + i * 7 % 61 for i in range(ROWS)], ROWS),
        (
            "user",
            "member",
            [i * 7 % 61 for i in range(1, ROWS + 1)],
            ROWS + 1,
        ),  # a count, which the names say is an id
        ("input", "question", [f"What is {name}?" for name in NAMES], 12),
        ("booking", "id", [f"b{name}" for name in NAMES], 12),
    ],
)
def test_ids_of_another_name_are_never_joined_by_place(
    form: str, ours: str, theirs: str, ids: list[Any], enough: int, tmp_path: Path
) -> None:
    target = TARGET[["prob_0", "prob_1"]].assign(**{ours: ids})
    labels = LABELS[["label"]].assign(**{theirs: ids})
    for rows in (ORDER, ORDER[:12]):
        few = labels.iloc[rows].reset_index(drop=True)
        given: list[Any] = [target, few]
        if form != "frame":
            given = [tmp_path / f"t.{form}", tmp_path / f"l.{form}"]
            for one, path in zip((target, few), given, strict=True):
                getattr(one, f"to_{form}")(path, index=False)
        proven = len(few) >= enough  # ids of so many rows
        if not proven:
            with pytest.raises(InputError, match=rf"row 1: column {theirs}: expected ") as error:
                oodometer.evaluate(given[0], labels=given[1], metrics=["accuracy"])
            assert str(error.value).endswith(f'join them by key="{ours}={theirs}"')
        want = pytest.approx(RIGHT[rows].mean())
        for key in (*([None] if proven else []), f"{ours}={theirs}", {ours: theirs}):
            found = oodometer.evaluate(given[0], labels=given[1], key=key, metrics=["accuracy"])
            assert found["accuracy"].value == want
    assert accuracy(target, labels) == pytest.approx(RIGHT.mean())  # in the same order


@pytest.mark.parametrize(
    "labels",
    [
        LABELS[["label"]].assign(rank=ORDER),  # numbers of rows under any name
        LABELS[["label"]].assign(score=P[ORDER]),
        LABELS[["label"]].assign(site=["abc"[i % 3] for i in range(ROWS)]),
    ],
)
def test_columns_that_only_look_alike_do_not_speak_against_places(labels: pd.DataFrame) -> None:
    target = TARGET[["prob_0", "prob_1"]].assign(
        place=np.arange(ROWS), amount=P, city=list("abc" * 20)
    )
    assert accuracy(target, labels) == pytest.approx(RIGHT.mean())


NAMED = LABELS["label"].set_axis(pd.Index(NAMES, name="case"))


@pytest.mark.parametrize(
    "labels", [NAMED.iloc[ORDER], NAMED.iloc[ORDER].to_frame(), NAMED.iloc[ORDER].rename_axis(None)]
)
def test_an_index_that_names_rows_is_never_passed_over(labels: Any) -> None:
    """The target's index holds the same names: joined by it; it holds none of them: refused."""
    target = TARGET[["prob_0", "prob_1"]]
    reference = TARGET.assign(label=TRUTH).drop(columns="id")
    for other in (NAMES, pd.Index(NAMES, name="case"), pd.Index(NAMES, name="id")):
        named = target.set_axis(pd.Index(other))
        found = oodometer.evaluate(named, labels=labels, metrics=["accuracy"])
        assert found["accuracy"].value == pytest.approx(RIGHT.mean())
        told = oodometer.estimate(reference, named, labels=labels, methods=["ac"], backtest="none")
        assert told.target["accuracy"]["value"] == pytest.approx(RIGHT.mean())
    foreign = pd.Index([f"r{i}" for i in range(ROWS)], name="id")
    for one in (target, target.set_axis(foreign), target.to_dict("list")):
        with pytest.raises(
            InputError,
            match=r"row 1: column (case|index): .* or labels.to_numpy\(\) if they are in",
        ):
            oodometer.evaluate(one, labels=labels)
        with pytest.raises(
            InputError,
            match=r"row 1: column (case|index): .* or labels.to_numpy\(\) if they are in",
        ):
            oodometer.estimate(reference, one, labels=labels, methods=["ac"], backtest="none")


def test_an_index_of_numbers_beside_a_target_that_has_none() -> None:
    """As of labels behind `train_test_split`, and probabilities in an array."""
    moved = LABELS["label"].set_axis(ORDER * 7 + 3)
    arrays = TARGET[["prob_0", "prob_1"]].to_dict("list")
    assert oodometer.evaluate(arrays, labels=moved)["accuracy"].value == pytest.approx(RIGHT.mean())
    frame = TARGET[["prob_0", "prob_1"]]
    with pytest.raises(
        InputError, match="row 1: column index: expected an index that table holds, too"
    ):
        oodometer.evaluate(frame, labels=moved)
    assert oodometer.evaluate(frame, labels=moved.to_numpy())["accuracy"].value == pytest.approx(
        RIGHT.mean()
    )
    partly = LABELS["label"].set_axis(ORDER + 30)  # half of them are numbers of the target's rows
    with pytest.raises(InputError, match="row 1: column index"):
        oodometer.evaluate(frame, labels=partly)
    found = oodometer.evaluate(frame, labels=LABELS["label"].iloc[ORDER], metrics=["accuracy"])
    assert found["accuracy"].value == pytest.approx(RIGHT.mean())


def test_a_dict_of_series_whose_index_does_not_begin_at_0() -> None:
    y = pd.Series(["no", "yes", "yes", "no"] * 6, index=range(5, 29))
    p = pd.Series([0.2, 0.8, 0.4, 0.3] * 6, index=range(5, 29))
    for name in ("prob_yes", "y_prob", "p"):
        given = {"label": y, name: p}
        mapping = None if name == "prob_yes" else {name: "prob_yes"}
        assert oodometer.evaluate(given, mapping=mapping)["accuracy"].value == 0.75


@pytest.mark.parametrize("key", [3, {"a": "b", "c": "d"}, {}])
def test_a_key_that_is_none_is_one_line(key: Any) -> None:
    with pytest.raises(
        UsageError,
        match="expected key to be a column, or a mapping of the target's to that of the labels",
    ):
        oodometer.evaluate(TARGET, labels=LABELS, key=key)


def test_every_verb_joins_ids_of_another_name() -> None:
    rows = (
        pd.concat([TARGET] * 4)
        .drop(columns="id")
        .assign(customer=[f"c{i * 7 % 241:03d}" for i in range(4 * ROWS)])
    )
    truth = pd.DataFrame({"client": rows["customer"], "label": np.tile(TRUTH, 4)}).sample(
        frac=1, random_state=3
    )
    truth, reference = (
        truth.reset_index(drop=True),
        rows.drop(columns="customer").assign(label=np.tile(TRUTH, 4)),
    )
    few: dict[str, Any] = {"methods": ["ac"], "families": ["none"], "repeats": 1, "cache": None}

    def accuracies(**key: Any) -> list[Any]:
        return [
            lambda: oodometer.estimate(reference, rows, labels=truth, methods=["ac"], **key).target[
                "accuracy"
            ]["value"],
            lambda: (
                oodometer.audit(
                    reference, rows, labels=truth, methods=["ac"], **key
                ).label_only.value
            ),
            lambda: (
                oodometer.compare([rows, rows], labels=truth, names=["a", "b"], **key)
                .models[0]
                .in_domain["accuracy"]
                .value
            ),
            lambda: oodometer.backtest(rows, labels=truth, **few, **key).reference["accuracy"],
        ]

    for key in ({}, {"key": {"customer": "client"}}):
        for joined in accuracies(**key):
            assert joined() == pytest.approx(RIGHT.mean())
