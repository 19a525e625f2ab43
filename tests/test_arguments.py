"""Wrong arguments: each public function, each argument, each wrong type gives an error of ours, on one line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.accuracy_proxies import rank_models
from oodometer.errors import OodometerError
from oodometer.options import CHECKS, arguments_of, check_seed
from oodometer.testing import example_record
from oodometer.verbs.demo import demo
from oodometer_lab.recipes import reproduce
from oodometer_lab.verbs.discriminate import judge_outputs, train_judges

from .snapshots import raises_snapshot

RECORD = example_record(120)
TARGET = example_record(60, seed=2).without_labels()
EVALUATION = oodometer.evaluate(RECORD, metrics=["accuracy"])


# The function, and arguments that are right: what is tried is added to them.
def told(texts: Any) -> Any:
    """A model: the same probabilities for every text."""
    return np.tile([0.25, 0.75], (len(texts), 1))


def other(texts: Any) -> Any:
    """Another model, which says the opposite."""
    return told(texts)[:, ::-1]


CALLS: dict[Callable[..., Any], dict[str, Any]] = {
    oodometer.estimate: {"reference": RECORD, "target": TARGET, "methods": ["source"], "backtest": None},
    oodometer.fit: {"reference": RECORD, "methods": ["source"], "backtest": None},
    oodometer.evaluate: {"sources": RECORD, "metrics": ["accuracy"]},
    oodometer.audit: {"reference": RECORD, "target": TARGET, "labels": {"row": [1, 2], "label": [0, 1]},
                      "methods": ["source"]},
    oodometer.compare: {"models": [RECORD, RECORD]},
    oodometer.plan: {"pilots": [RECORD, RECORD], "difference": 0.03},
    oodometer.diagnose: {"reference": RECORD, "target": TARGET},
    oodometer.backtest: {"reference": RECORD, "methods": ["source"], "families": ["none"], "repeats": 1, "cache": None},
    oodometer.load: {"data": RECORD},
    oodometer.suggest_rows: {"reference": RECORD, "target": TARGET, "number": 3},
    oodometer.read: {"logs": "none.eval"},
    oodometer.write: {"record": RECORD, "path": "/dev/null/p.csv"},
    oodometer.write_report: {"result": EVALUATION, "path": "/dev/null/p.html"},
    oodometer.load_result: {"path": "none.json"},
    oodometer.cite: {"method": "atc"},
    oodometer.methods: {},
    demo: {"out": "/dev/null"},
    rank_models: {"records": {"a": RECORD, "b": RECORD}},
    train_judges: {"pairs": {"input": ["a"], "gold": ["A"], "output": ["B"]}, "out": "/dev/null/judges"},
    judge_outputs: {"judges": None, "outputs": {"input": ["a"], "output": ["B"]}},
    oodometer.rank: {"models": [told, other], "examples": {"text": ["a", "b"], "label": [0, 1]}, "classes": [0, 1]},
    oodometer.predict: {"model": told, "data": {"text": ["a", "b"]}},
    oodometer.shift: {"data": "none.npz", "kind": "fog", "severity": 1, "out": "/dev/null/out"},
    oodometer.stress: {"data": "none.jsonl", "models": told, "out": "/dev/null/out"},
    oodometer.history: {"store": "none.sqlite", "job": None},
    reproduce: {"paper": "selective-answering", "out": "/dev/null/out"},
}  # fmt: skip
WRONG: list[Any] = [
    None, True, 5, -1, 1.5, float("nan"), 10**30, "0.95", "nothing-like-it", b"bytes", object(), [None], [[]], {1},
    {2: 3}, len, np.zeros((2, 2)), np.datetime64("NaT"), 1j,
]  # fmt: skip
# Of the right type after all: any function may be called, any text may name a place, and none is the usual one.
RIGHT: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("progress", "report"), callable),
    **dict.fromkeys(
        ("out", "path", "cache"), lambda value: value is None or isinstance(value, str)
    ),
    "seed": lambda value: value is None or (isinstance(value, int) and value == 5),
}
ODD: dict[str, Any] = {repr(value)[:20]: value for value in WRONG}


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(arguments_of(function).parameters.values())


CASES = [
    pytest.param(function, parameter, id=f"{function.__name__}-{parameter.name}")
    for function in CALLS
    for parameter in parameters(function)
    if parameter.kind is not parameter.VAR_KEYWORD
]


@pytest.mark.parametrize(("function", "parameter"), CASES)
def test_a_wrong_argument_is_one_line(
    function: Callable[..., Any],
    parameter: inspect.Parameter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    answered = []
    for said, value in ODD.items():
        given = {**CALLS[function], parameter.name: value}
        if RIGHT.get(parameter.name, lambda value: False)(value):
            continue
        several = [given.pop(p.name) for p in parameters(function) if p.kind is p.VAR_POSITIONAL]
        try:
            function(*several, **given)
        except OodometerError as error:
            assert str(error).splitlines() == [str(error)]  # noqa: PT017 - some of the values are right
        else:
            answered.append(said)
    assert len(answered) < len(ODD) / 2, "not one of them is refused"


def test_every_argument_has_a_check() -> None:
    """The decorator raises where one is absent; here, that every public function has it."""
    for function in CALLS:
        assert hasattr(function, "__wrapped__"), function.__name__
    for name in oodometer.__all__:
        function = getattr(oodometer, name)
        if inspect.isfunction(function):
            assert function in CALLS, name


def test_seeds_by_the_convention_of_scikit_learn() -> None:
    assert check_seed(np.int64(7)) == 7
    assert check_seed(2**32 - 1) == 2**32 - 1
    first, again = (check_seed(np.random.default_rng(3)) for _ in range(2))
    assert first == again != check_seed(np.random.default_rng(4))
    assert check_seed(np.random.RandomState(3)) == check_seed(np.random.RandomState(3))
    drawn = oodometer.evaluate(RECORD, metrics=["accuracy"], seed=None)  # type: ignore[call-overload]
    assert 0 <= drawn.seed < 2**32
    for wrong in (-1, 2**32, 1.0, "0", True, [1]):
        with raises_snapshot(OodometerError):
            check_seed(wrong)


def test_numbers_of_numpy_and_tuples_are_as_good() -> None:
    found = oodometer.estimate(RECORD, TARGET, methods=("source",), level=np.float32(0.9), workers=np.int64(1),
                               target_accuracies=np.array([0.9]), diagnosis=False, backtest=None)  # fmt: skip
    assert found.headline.level == pytest.approx(0.9)
    assert set(CHECKS) >= {"level", "seed", "workers", "methods"}
