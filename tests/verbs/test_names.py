"""Names: no order of classes, columns or rows of labels, in any form of input, moves any number of any verb."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oodometer
from oodometer.errors import InputError, UsageError
from oodometer.passes.plan import default_methods
from oodometer.predictions import Predictions

from ..snapshots import assert_snapshot, raises_snapshot
from ..store.forms import AXES, CLASSES, FORMS, in_order, made, named_record

# Every method that these data can feed. Rows whose two best classes are exactly as probable are among them: the verbs
# give a tie to the first class by name, whatever the order in a file.
REFERENCE, TARGET = named_record(160, seed=1), named_record(120, seed=2)
UNLABELLED = TARGET.without_labels()
orders = st.fixed_dictionaries(
    {axis: st.permutations(range(len(own))) for axis, own in AXES.items()}
)
# The first judge and the first model mean something ("single", the judged model): a first file says which they are.
firsts = orders.map(lambda found: {**found, "judge": [0, 1, 2], "model": [0, 1, 2]})
forms = st.sampled_from(FORMS)
METHODS = default_methods()  # named, since of CSV and JSONL slow ones are left out otherwise


def numbers(found: Any, path: str = "") -> dict[str, Any]:
    """Every number of a result by its path, without what names the files."""
    if isinstance(found, dict):
        parts = [
            (str(key), one) for key, one in found.items() if key not in ("name", "argv", "version")
        ]
        return {k: v for key, one in parts for k, v in numbers(one, f"{path}/{key}").items()}
    if isinstance(found, (list, tuple)):
        return {k: v for i, one in enumerate(found) for k, v in numbers(one, f"{path}/{i}").items()}
    return {path: found}


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for path, value in wanted.items():
        if isinstance(value, float):
            assert found[path] == pytest.approx(value, abs=1e-9, rel=1e-9), path
        else:
            assert found[path] == value, path


def estimated(reference: Any, target: Any) -> dict[str, Any]:
    return numbers(oodometer.estimate(reference, target, methods=METHODS, backtest=None).to_dict())


def audited(reference: Any, target: Any, labels: Any, **options: Any) -> dict[str, Any]:
    return numbers(
        oodometer.audit(
            reference, target, labels=labels, methods=["ac", "source"], **options
        ).to_dict()
    )


@cache
def usual(verb: str) -> dict[str, Any]:
    if verb == "estimate":
        return estimated(REFERENCE, UNLABELLED)
    if verb == "diagnose":
        return numbers(oodometer.diagnose(REFERENCE, UNLABELLED).to_dict())
    return (
        numbers(oodometer.evaluate(REFERENCE).to_dict())
        if verb == "evaluate"
        else audited(REFERENCE, TARGET, None)
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(of_reference=firsts, of_target=orders, form=forms, other=forms)
def test_estimates_do_not_depend_on_any_order(
    of_reference: Any, of_target: Any, form: str, other: str
) -> None:
    with TemporaryDirectory() as folder:
        reference = made(in_order(REFERENCE, of_reference), form, Path(folder), "reference")
        target = made(in_order(UNLABELLED, of_target), other, Path(folder), "target")
        same(estimated(reference, target), usual("estimate"))
        same(numbers(oodometer.diagnose(reference, target).to_dict()), usual("diagnose"))


@settings(deadline=None, max_examples=8)
@given(of_reference=firsts, of_target=orders, form=forms, other=forms)
def test_evaluations_and_audits_do_not_depend_on_any_order(
    of_reference: Any, of_target: Any, form: str, other: str
) -> None:
    with TemporaryDirectory() as folder:
        reference = made(in_order(REFERENCE, of_reference), form, Path(folder), "reference")
        same(numbers(oodometer.evaluate(reference).to_dict()), usual("evaluate"))
        target = made(in_order(TARGET, of_target), other, Path(folder), "target")
        same(audited(reference, target, None), usual("audit"))


@settings(deadline=None, max_examples=5)
@given(first=firsts, second=orders, of_target=orders, form=forms)
def test_a_list_of_references_may_have_several_orders(
    first: Any, second: Any, of_target: Any, form: str
) -> None:
    def run(a: Any, b: Any, target: Any) -> dict[str, Any]:
        return numbers(
            oodometer.estimate(
                [a, b], target, backtest=None, methods=["ac", "cbpe", "importance"]
            ).to_dict()
        )

    other = named_record(80, seed=3)
    with TemporaryDirectory() as folder:
        given = ((REFERENCE, first, "a"), (other, second, "b"), (UNLABELLED, of_target, "t"))
        parts = [made(in_order(r, o), form, Path(folder), name) for r, o, name in given]
        same(run(*parts), run(REFERENCE, other, UNLABELLED))


@pytest.mark.parametrize("axis", ["judge", "model"])
def test_another_first_judge_or_model_moves_no_estimate(axis: str) -> None:
    turned = in_order(
        REFERENCE, {a: list(range(len(own)))[:: -1 if a == axis else 1] for a, own in AXES.items()}
    )
    one, other = (
        oodometer.estimate(r, UNLABELLED, methods=METHODS, backtest=None).estimates
        for r in (REFERENCE, turned)
    )
    for a, b in zip(one, other, strict=True):
        assert (a.value, a.lower, a.upper) == pytest.approx(
            (b.value, b.lower, b.upper), abs=1e-9
        ), a.method


def test_lists_without_names_follow_no_order_that_references_disagree_about() -> None:
    a = {"probabilities": [[0.9, 0.1]] * 60, "label": ["x", "y", "x"] * 20, "classes": ["x", "y"]}
    b = {"probabilities": [[0.1, 0.9]] * 60, "label": ["x", "y", "x"] * 20, "classes": ["y", "x"]}
    bare = {"probabilities": [[0.9, 0.1]] * 30}
    options: dict[str, Any] = {"methods": ["ac"], "backtest": None}
    assert oodometer.estimate([a, a], bare, **options)["ac"].value == pytest.approx(0.9, abs=0.3)
    with raises_snapshot(InputError):
        oodometer.estimate([a, b], bare, **options)


@pytest.mark.parametrize("form", FORMS)
def test_foreign_classes_are_refused(form: str, tmp_path: Path) -> None:
    target = made(Predictions.from_arrays(
        probabilities=UNLABELLED.probabilities, members=np.array(["x", "y", "z"])[UNLABELLED.members],
        member_probabilities=UNLABELLED.member_probabilities, views=np.array(["x", "y", "z"])[UNLABELLED.views],
        votes=UNLABELLED.votes, features=UNLABELLED.features, classes=["x", "y", "z"], names=UNLABELLED.names,
    ), form, tmp_path, "t")  # fmt: skip
    with raises_snapshot(InputError):
        oodometer.estimate(REFERENCE, target, methods=["ac"], backtest=None)


# ------------------------------------------------------------------------------------------ labels


def truth(rows: Any, form: str, folder: Path, **columns: Any) -> Any:
    rows = list(rows)
    assert TARGET.label is not None
    frame = pd.DataFrame({name: np.asarray(values)[rows] for name, values in columns.items()})
    frame["label"] = np.array(CLASSES)[TARGET.label[rows]]
    if form == "pandas":
        return frame
    path = folder / f"labels.{form}"
    {"csv": lambda: frame.to_csv(path, index=False), "parquet": lambda: frame.to_parquet(path, index=False),
     "jsonl": lambda: frame.to_json(path, orient="records", lines=True)}[form]()  # fmt: skip
    return path


IDS = TARGET.columns["id"]
NUMBERS = np.arange(len(TARGET))
label_forms = st.sampled_from(("pandas", "csv", "parquet", "jsonl"))


def labelled(labels: Any, target: Any = UNLABELLED, **options: Any) -> Any:
    found = oodometer.estimate(
        REFERENCE, target, labels=labels, methods=["ac", "doc"], backtest=None, **options
    )
    return found.target["accuracy"]["value"], found.target["labelled"]


@settings(deadline=None, max_examples=8)
@given(
    order=st.permutations(range(len(TARGET))),
    form=label_forms,
    other=forms,
    few=st.integers(1, len(TARGET)),
)
def test_labels_are_joined_by_id(order: list[int], form: str, other: str, few: int) -> None:
    kept = order[:few]
    with TemporaryDirectory() as folder:
        target = made(UNLABELLED, other, Path(folder), "target")
        labels = truth(kept, form, Path(folder), id=IDS)
        wanted = float(TARGET.verdicts[kept].mean())
        assert labelled(labels, target) == pytest.approx((wanted, few))
        by_row = truth(kept, form, Path(folder), row=NUMBERS)
        assert labelled(by_row, target) == pytest.approx((wanted, few))
        found = oodometer.audit(
            REFERENCE, target, labels=truth(kept, form, Path(folder), id=IDS), methods=["ac"]
        )
        assert (found.correct, found.labels) == (int(TARGET.verdicts[kept].sum()), few)


def test_an_order_of_rows_with_ids_changes_no_audit(tmp_path: Path) -> None:
    kept = list(range(0, 120, 3))
    usual = audited(REFERENCE, UNLABELLED, truth(kept, "pandas", tmp_path, id=IDS))
    same(audited(REFERENCE, UNLABELLED, truth(kept[::-1], "csv", tmp_path, id=IDS)), usual)


def test_labels_without_a_key_are_joined_by_position_and_it_is_said(tmp_path: Path) -> None:
    labels = truth(NUMBERS, "csv", tmp_path)
    found = oodometer.estimate(REFERENCE, UNLABELLED, labels=labels, methods=["ac"], backtest=None)
    assert found.target["accuracy"]["value"] == pytest.approx(TARGET.accuracy)
    assert_snapshot(found.warnings)
    bare = oodometer.estimate(REFERENCE, Predictions.from_probabilities(
        UNLABELLED.probabilities, classes=CLASSES), labels=labels, methods=["ac"], backtest=None)  # fmt: skip
    assert_snapshot(bare.warnings)
    with raises_snapshot(InputError):
        labelled(truth(range(119), "csv", tmp_path))


def test_ids_that_cannot_be_joined_are_refused(tmp_path: Path) -> None:
    twice, null, foreign = IDS.copy(), IDS.copy(), IDS.astype(object) + "x"
    twice[5], null[5] = twice[4], None
    for ids, said in (
        (twice, r"column id: expected each id once, got 'row 4' in rows 5 and 6"),
        (null, r"row 6: column id: expected an id in every row, got null"),
        (
            foreign,
            r"row 1: column id: expected an id of the target, got 'row 0x', and none of 120 labels are of rows",
        ),
    ):
        for form in ("pandas", "csv", "parquet", "jsonl"):
            with pytest.raises(InputError, match=said):
                labelled(truth(NUMBERS, form, tmp_path, id=ids))
        with pytest.raises(InputError, match=said):
            oodometer.audit(
                REFERENCE,
                UNLABELLED,
                labels=truth(NUMBERS, "csv", tmp_path, id=ids),
                methods=["ac"],
            )
    with raises_snapshot(InputError):
        labelled(truth(NUMBERS, "csv", tmp_path, id=IDS, row=[0, 3, 2, *range(3, 120)]))
    with raises_snapshot(InputError):
        labelled(truth([0, 1], "csv", tmp_path, row=np.zeros(120, dtype=int)))
    with raises_snapshot(InputError):
        labelled(truth([0], "csv", tmp_path, row=NUMBERS + 120))
    bare = Predictions.from_probabilities(UNLABELLED.probabilities, classes=CLASSES)
    with raises_snapshot(InputError):
        labelled(truth(NUMBERS, "csv", tmp_path, id=IDS), bare)


def test_a_key_of_another_name_and_ids_of_other_types(tmp_path: Path) -> None:
    rows = list(range(119, -1, -2))
    wanted = (pytest.approx(float(TARGET.verdicts[rows].mean())), len(rows))
    target = {"probabilities": UNLABELLED.probabilities, "classes": CLASSES}
    for theirs in (NUMBERS + 7, (NUMBERS + 7).astype(float), [str(i + 7) for i in range(120)]):
        labels = truth(rows, "csv", tmp_path, case=NUMBERS + 7)
        assert labelled(labels, {**target, "case": theirs}, key="case") == wanted
        assert labelled(labels, {**target, "id": theirs}, mapping={"case": "id"}) == wanted
    padded = truth(rows, "csv", tmp_path, id=[f"{i:04d}" for i in range(120)])
    assert labelled(padded, {**target, "id": [f"{i:04d}" for i in range(120)]}) == wanted
    with raises_snapshot(InputError):
        labelled(padded, {**target, "id": NUMBERS})
    with raises_snapshot(UsageError):
        labelled(padded, {**target, "id": NUMBERS}, key="case")
