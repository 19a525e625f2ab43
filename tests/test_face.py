"""The public face as editors see it: parameters and results with their types, rooms that load when they are used."""

from __future__ import annotations

import inspect

import pytest

import oodometer

pytest.importorskip("oodometer_lab", reason="needs oodometer_lab")  # the face shows its verbs

from . import typed_calls

VERBS = [name for name in oodometer.__all__ if inspect.isfunction(getattr(oodometer, name))]


@pytest.mark.parametrize("name", [*VERBS, "Oodometer", "Oodometer.fit", "Oodometer.estimate"])
def test_parameters_and_results_have_types(name: str) -> None:
    holder, _, method = name.partition(".")
    function = getattr(oodometer, holder)
    signature = inspect.signature(getattr(function, method) if method else function)
    bare = [
        p.name
        for p in signature.parameters.values()
        if p.annotation is p.empty and p.name != "self"
    ]
    assert bare == []
    assert name == "Oodometer" or signature.return_annotation is not signature.empty
    assert all(p.kind is not p.VAR_KEYWORD for p in signature.parameters.values()) or name == "load"


def test_documented_calls_run_and_have_the_types_that_mypy_sees() -> None:
    typed_calls.main()  # whose types `make lint` checks


def test_one_name_is_one_thing() -> None:
    table = {"prediction": [1, 0], "label": [1, 1]}
    assert oodometer.load(table).accuracy == 0.5
    with pytest.raises(oodometer.errors.UsageError, match=r"oodometer\.load"):
        oodometer.read(table)
    with pytest.warns(FutureWarning, match=r"oodometer\.read now"):
        assert oodometer.read_log is oodometer.read


def test_rooms_are_reached_from_the_package() -> None:
    assert {"datasets", "discriminate", "errors", "reproduce"} <= set(dir(oodometer))
    assert issubclass(oodometer.errors.UnknownNameError, KeyError)
    assert oodometer.discriminate.train_judges.__name__ == "train_judges"
    assert oodometer.datasets.Table.__name__ == "Table"
