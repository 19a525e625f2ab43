"""Groups of options: said once, handed to several calls; the options' own names work all the same."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any

import pytest

import oodometer as o
from oodometer.errors import UsageError
from oodometer.options import Group, arguments_of, declared, groups_of, options_of
from oodometer.verbs.options import DiagnoseOptions, EstimateOptions

from .snapshots import raises_snapshot

GROUPS = [o.Columns, o.Run, o.Alarms, o.Inference, o.Selective, o.Asking]
TABLE = {"probabilities": [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40, "y": [0, 0, 1] * 40}
TARGET = {"probabilities": [[0.9, 0.1], [0.6, 0.4]] * 40}


@pytest.mark.parametrize(
    "verb",
    ["estimate", "compare", "audit", "rank", "fit", "evaluate", "backtest", "plan", "diagnose"],
)
def test_a_signature_is_short_and_all_options_are_taken(verb: str) -> None:
    function = getattr(o, verb)
    shown, taken = inspect.signature(function).parameters, arguments_of(function).parameters
    assert len(shown) <= (17 if verb == "plan" else 16) < len(taken)  # plan works out many things
    assert {*shown} <= {*taken}


def test_the_signatures_of_the_lab_are_short() -> None:
    pytest.importorskip("oodometer_lab")
    assert len(inspect.signature(o.stress).parameters) <= 16
    kept = o.Perturbation(training="train.jsonl")
    with raises_snapshot(UsageError):
        o.shift("a.jsonl", out="b.jsonl", training="c.jsonl", perturbation=kept)


def test_a_group_is_what_its_options_are() -> None:
    columns = o.Columns(mapping={"y": "label"})
    inference = o.Inference(backtest=None, level=0.9)
    by_group = o.estimate(TABLE, TARGET, columns=columns, inference=inference, methods=["ac"])
    by_name = o.estimate(
        TABLE, TARGET, mapping={"y": "label"}, backtest=None, level=0.9, methods=["ac"]
    )
    assert by_group.to_dict() == by_name.to_dict()
    assert o.evaluate(TABLE, columns=columns)["accuracy"].value == pytest.approx(2 / 3)


def test_an_oodometer_takes_groups() -> None:
    columns = o.Columns(mapping={"y": "label"})
    made = o.Oodometer(columns=columns, inference=o.Inference(backtest=None), methods=["ac"])
    assert (made.get_params()["mapping"], made.get_params()["backtest"]) == ({"y": "label"}, None)
    assert {*made.get_params()} == {
        *inspect.signature(o.Oodometer).parameters
    }  # as scikit-learn has it
    found = made.fit(TABLE, run=o.Run(workers=1)).estimate(TARGET, alarms=o.Alarms(fail_below=0.99))
    assert found.alarms is not None
    assert found.alarms.where
    with raises_snapshot(UsageError):
        o.Oodometer(columns=o.Columns(key="account"))


def test_alarms_are_the_group_or_its_option() -> None:
    asked: dict[str, Any] = {"backtest": None, "mapping": {"y": "label"}, "methods": ["ac"]}
    assert o.estimate(TABLE, TARGET, alarms="all", **asked).alarms is None
    for policy in ("new", o.Alarms(alarms="new")):
        with raises_snapshot(UsageError):
            o.estimate(TABLE, TARGET, alarms=policy, **asked)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_is_a_short_frozen_record(group: type[Group]) -> None:
    empty = group()
    assert (repr(empty), empty.given) == (f"{group.__name__}()", {})
    assert empty == group()
    assert hash(empty) == hash(group())
    for name, field, _ in declared(group):
        assert f"\n{name} :\n" in str(group.__doc__)
        assert group(**{name: field.default}) == empty or name == "seed"
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(empty, name, 1)
    with pytest.raises(TypeError):
        group("positional")  # type: ignore[call-arg]


def test_a_group_is_checked_copied_and_changed() -> None:
    alarms = o.Alarms(fail_drop=0.05)
    assert alarms == pickle.loads(pickle.dumps(alarms)) == copy.deepcopy(alarms)
    assert alarms != o.Alarms(fail_drop=0.04)
    assert repr(dataclasses.replace(alarms, margin=0.02)) == "Alarms(margin=0.02, fail_drop=0.05)"
    with raises_snapshot(UsageError):
        o.Inference(level="high")  # type: ignore[arg-type]


@pytest.mark.parametrize("named", ["clutser", "workers"])
def test_a_misspelt_option_says_what_was_meant(named: str) -> None:
    with raises_snapshot(TypeError):
        o.Columns(**{named: 1})
    with raises_snapshot(TypeError):
        o.estimate(TABLE, TARGET, worker=1)  # type: ignore[call-arg]


def test_what_cannot_be_is_said() -> None:
    with raises_snapshot(UsageError):
        o.estimate(TABLE, TARGET, run=o.Run(workers=2), workers=3)
    with raises_snapshot(UsageError):
        o.diagnose(TABLE, TARGET, columns=o.Columns(cluster="user"))
    for wrong in ({"mapping": {"y": "label"}}, o.Run()):
        with raises_snapshot(UsageError):
            o.diagnose(TABLE, TARGET, columns=wrong)  # type: ignore[arg-type]


def test_rows_to_label_are_those_of_an_audit() -> None:
    reference = {"probabilities": TABLE["probabilities"], "label": TABLE["y"]}
    few = {"row": [0, 1, 2, 3], "label": [0, 0, 1, 1]}
    for by in ("random", "confidence"):
        found = o.suggest_rows(reference, TARGET, 10, by=by, labels=few, seed=3)
        audited = o.audit(reference, TARGET, suggest=10, suggest_by=by, labels=few, seed=3)
        assert audited.suggestion is not None
        assert found.row.tolist() == audited.suggestion.row.tolist()
        assert not {0, 1, 2, 3} & {*found.row.tolist()}
    named = o.suggest_rows(TABLE, TARGET, 10, columns=o.Columns(mapping={"y": "label"}))
    assert len(named.row) == 10
    for wrong in (0, 1000):
        with pytest.raises(UsageError, match="expected"):
            o.suggest_rows(reference, TARGET, wrong)


def test_an_unset_group_is_nothing() -> None:
    found = o.diagnose(TABLE, TARGET, columns=o.Columns(mapping={"y": "label"}), run=o.Run())
    assert found == o.diagnose(TABLE, TARGET, mapping={"y": "label"})


def test_an_option_of_another_meaning_stays_out_of_the_group() -> None:
    pytest.importorskip("oodometer_lab")
    shown = inspect.signature(o.predict).parameters
    assert "features" in shown  # of the model's last layer
    with raises_snapshot(UsageError):
        o.predict("model", TABLE, columns=o.Columns(features=["a"]))


def test_every_group_says_which_of_its_options_a_verb_takes() -> None:
    for record in (EstimateOptions, DiagnoseOptions):
        for name, group in groups_of(record).items():
            said = ", ".join(options_of(group, record))
            verb = o.estimate if record is EstimateOptions else o.diagnose
            assert said in " ".join(str(verb.__doc__).split())
            assert name in inspect.signature(verb).parameters
