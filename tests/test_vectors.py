"""Vectors: labels and probabilities one behind the other, as people type them, give what the same tables give."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import oodometer as o
from oodometer.errors import InputError, OodometerError, UsageError

from .snapshots import raises_snapshot

RNG = np.random.default_rng(0)
P = RNG.dirichlet([1, 1, 1], 200)
P_TARGET = RNG.dirichlet([2, 1, 1], 100)
Y = np.array([RNG.choice(3, p=p) for p in P])
Y_TARGET = np.array([RNG.choice(3, p=p) for p in P_TARGET])
NAMES = np.array(["ant", "bee", "cat"])
TABLE = {"probabilities": P, "label": Y}
TARGET = {"probabilities": P_TARGET}
QUICK: dict[str, Any] = {"methods": ["source", "atc", "doc"], "backtest": None, "diagnosis": False}
TWO, TWO_TARGET = P[:, 1] / (P[:, 0] + P[:, 1]), P_TARGET[:, 1] / (P_TARGET[:, 0] + P_TARGET[:, 1])
YES = np.where(RNG.random(200) < TWO, 1, 0)


def values(result: Any) -> list[float]:
    return [value for e in result.estimates for value in (e.value, e.lower, e.upper)]


def named(p: Any, order: list[int], frame: Callable[..., Any]) -> Any:
    return frame({str(NAMES[k]): p[:, k] for k in order})


THREE: dict[str, tuple[Any, Any, Any]] = {
    "arrays": (Y, P, P_TARGET),
    "lists": (Y.tolist(), P.tolist(), P_TARGET.tolist()),
    "in the other order": (P, Y, P_TARGET),
    "names of classes": (NAMES[Y], P, P_TARGET),
    "a list of names": (NAMES[Y].tolist(), P, P_TARGET),
    "Series and frames": (pd.Series(NAMES[Y]), pd.DataFrame(P), pd.DataFrame(P_TARGET)),
    "a frame of one column": (pd.DataFrame({"y": Y}), P, P_TARGET),
    "polars": (pl.Series(NAMES[Y]), pl.DataFrame(P), pl.DataFrame(P_TARGET)),
    "columns by name": (
        NAMES[Y],
        named(P, [2, 0, 1], pd.DataFrame),
        named(P_TARGET, [1, 0, 2], pl.DataFrame),
    ),
    "a table of the file's columns": (Y, {"probabilities": P}, {"probabilities": P_TARGET}),
    "a usual name of many probabilities": (Y, {"y_prob": P}, {"y_proba": P_TARGET.tolist()}),
    "a class without a label": (
        pd.Series(NAMES[Y]).where(Y != 2),
        pd.DataFrame(P, columns=NAMES),
        pd.DataFrame(P_TARGET, columns=NAMES),
    ),
    "an index in another place": (pd.Series(Y, index=range(5, 205)), P, P_TARGET),
}


@pytest.mark.parametrize("given", THREE.values(), ids=THREE)
def test_labels_and_probabilities(given: tuple[Any, Any, Any]) -> None:
    unknown = pd.isna(given[0]) if isinstance(given[0], pd.Series) else np.zeros(200, dtype=bool)
    table = TABLE if not unknown.any() else {**TABLE, "label": np.where(unknown, np.nan, Y)}
    wanted = values(o.estimate(table, TARGET, **QUICK))
    assert values(o.estimate(*given, **QUICK)) == wanted
    assert values(o.Oodometer(**QUICK).fit(*given[:2]).estimate(given[2])) == wanted


@pytest.mark.parametrize("classes", [(0, 1), (-1, 1), ("no", "yes"), (False, True)], ids=str)
def test_one_probability_is_that_of_the_second_class(classes: tuple[Any, Any]) -> None:
    y = np.array(classes)[YES]
    wanted = o.estimate({"prob_1": TWO, "label": YES}, {"prob_1": TWO_TARGET}, **QUICK)
    for given in (
        (y, TWO, TWO_TARGET),
        (y, TWO[:, None], TWO_TARGET[:, None]),
        (y.tolist(), pd.Series(TWO), TWO_TARGET),
    ):
        assert values(o.estimate(*given, **QUICK)) == values(wanted)
        assert values(o.fit(*given[:2], **QUICK).estimate(given[2])) == values(wanted)
    if isinstance(classes[0], str):
        turned = o.estimate(y, 1 - TWO, 1 - TWO_TARGET, positive="=no", **QUICK)
        assert values(turned) == pytest.approx(values(wanted))


def test_the_other_verbs() -> None:
    assert o.diagnose(Y, P, P_TARGET).kind == o.diagnose(TABLE, TARGET).kind
    few = np.where(np.arange(100) < 20, Y_TARGET, -1).tolist()
    few = [None if label < 0 else label for label in few]
    audits = [
        o.audit(*given, labels=few, methods=["ac"]) for given in ((Y, P, P_TARGET), (TABLE, TARGET))
    ]
    assert audits[0].estimate == audits[1].estimate
    quick: dict[str, Any] = {
        "methods": ["source", "atc"],
        "families": ["none"],
        "repeats": 2,
        "cache": None,
    }
    assert o.backtest(Y, P, **quick).trials == o.backtest(TABLE, **quick).trials
    assert o.evaluate(NAMES[Y], P)["accuracy"] == o.evaluate(TABLE)["accuracy"]
    assert (
        o.evaluate(NAMES[Y], NAMES[P.argmax(axis=1)])["accuracy"] == o.evaluate(TABLE)["accuracy"]
    )
    assert len(o.evaluate(Y, P, P[::-1], metrics=["accuracy"])) == 2
    assert values(o.estimate(TABLE, P_TARGET, **QUICK)) == values(
        o.estimate(TABLE, TARGET, **QUICK)
    )


def test_a_frame_may_hold_more_than_probabilities() -> None:
    days = pd.date_range("2026-01-01", periods=100, freq="D")
    target = pd.DataFrame(P_TARGET, columns=NAMES).assign(day=days, site=["a", "b"] * 50)
    chunks = o.estimate(
        NAMES[Y],
        pd.DataFrame(P, columns=NAMES),
        target,
        every="month",
        mapping={"day": "time"},
        **QUICK,
    )
    assert [part.name for part in chunks.chunks] == [
        "2026-01",
        "2026-02",
        "2026-03",
        "2026-04 (partial)",
    ]
    slices = o.fit(NAMES[Y], P, **QUICK).estimate(pl.from_pandas(target), by="site")
    assert [part.rows for part in slices.slices] == [50, 50]


LABELS: dict[str, tuple[Any, Any]] = {
    "an array": (Y_TARGET, P_TARGET),
    "a list with unknown ones": ([None] * 50 + Y_TARGET[50:].tolist(), P_TARGET),
    "names": (NAMES[Y_TARGET].tolist(), P_TARGET),
    "a Series of some rows": (
        pd.Series(Y_TARGET).sample(40, random_state=0),
        pd.DataFrame(P_TARGET),
    ),
    "a Series in another order": (pd.Series(Y_TARGET)[::-1], pd.DataFrame(P_TARGET)),
    "a Series beside an array": (pd.Series(Y_TARGET, index=range(7, 107)), P_TARGET),
    "indexes of texts": (
        pd.Series(Y_TARGET, index=[f"r{i}" for i in range(100)])[::-2],
        pd.DataFrame(P_TARGET, index=[f"r{i}" for i in range(100)]),
    ),
    "an index with a name": (
        pd.Series(Y_TARGET, index=pd.Index(range(100, 200), name="case"))[::-1],
        pd.DataFrame(P_TARGET, index=pd.Index(range(100, 200), name="case")),
    ),
    "polars": (pl.Series(Y_TARGET), pl.DataFrame(P_TARGET)),
    "verdicts": (pd.Series(P_TARGET.argmax(axis=1) == Y_TARGET, name="correct"), P_TARGET),
}


@pytest.mark.parametrize(("labels", "target"), LABELS.values(), ids=LABELS)
def test_labels_of_the_target(labels: Any, target: Any) -> None:
    y = NAMES[Y] if isinstance(labels, list) and "ant" in labels else Y
    truth = o.estimate(y, P, target, labels=labels, **QUICK).truth
    right = P_TARGET.argmax(axis=1) == Y_TARGET
    rows = np.arange(100)
    if isinstance(labels, pd.Series) and isinstance(target, pd.DataFrame):
        rows = target.index.get_indexer(labels.index)
    elif isinstance(labels, list) and labels[0] is None:
        rows = rows[50:]
    assert truth is not None
    assert truth.value == pytest.approx(right[rows].mean())


# What was wrong -> the call, the message, and the remedy that it names.
MISTAKES: dict[str, tuple[Callable[[], Any], str, Callable[[], Any]]] = {
    "no target": (
        lambda: o.estimate(Y, P),
        r"estimate\(y, p, p_target\)",
        lambda: o.estimate(Y, P, P_TARGET, **QUICK),
    ),
    "no labels": (
        lambda: o.diagnose(P, P),
        r"diagnose\(y, p, p_target\)",
        lambda: o.diagnose(Y, P, P_TARGET),
    ),
    "labels alone": (lambda: o.fit(Y), r"fit\(y, p\)", lambda: o.fit(Y, P, **QUICK)),
    "hard probabilities": (
        lambda: o.estimate(YES, TWO.round(), TWO_TARGET),
        r"got . and the like, both; give p.astype\(int\) if",
        lambda: o.evaluate(YES, TWO.round().astype(int)),
    ),
    "logits": (
        lambda: o.estimate(NAMES[Y], np.log(P), np.log(P_TARGET)),
        r'\{"label": y, "logits": z, "classes": \[\'ant\', \'bee\', \'cat\'\]\}, \{"logits": z_target',
        lambda: o.estimate(
            {"label": NAMES[Y], "logits": np.log(P), "classes": ["ant", "bee", "cat"]},
            {"logits": np.log(P_TARGET)},
            **QUICK,
        ),
    ),
    "a class without a label": (
        lambda: o.estimate(NAMES[Y % 2], P, P_TARGET),
        r"got 2 \('ant', 'bee'\); name all of them .* classes=model.classes_",
        lambda: o.estimate(NAMES[Y % 2], P, P_TARGET, classes=NAMES, **QUICK),
    ),
    "three classes and one probability": (
        lambda: o.estimate(Y, TWO, TWO_TARGET),
        r"got 3 \(0, 1, 2\); give probabilities of shape \(n, K\)",
        lambda: o.estimate(Y, P, P_TARGET, **QUICK),
    ),
    "a table for labels": (
        lambda: o.estimate(pd.DataFrame(P), P, P_TARGET),
        r"got a frame of 3 columns and a ndarray of shape \(200, 3\); a table that holds its labels .* goes alone",
        lambda: o.estimate(
            pd.DataFrame(P, columns=["prob_0", "prob_1", "prob_2"]).assign(label=Y),
            P_TARGET,
            **QUICK,
        ),
    ),
    "labels twice": (
        lambda: o.fit(Y, TABLE),
        "got one with a column `label`; give it alone",
        lambda: o.fit(TABLE, **QUICK),
    ),
    "a model": (
        lambda: o.estimate(Y, SimpleNamespace(predict=None), P_TARGET),
        r"got a SimpleNamespace itself; give \(y, model.predict_proba\(X\), model.predict_proba\(X_target\)\)",
        lambda: o.estimate(Y, P, P_TARGET, **QUICK),
    ),
    "an index that the target lacks": (
        lambda: o.audit(Y, P, P_TARGET, labels=pd.Series(Y_TARGET, index=range(7, 107))[::5]),
        r"got 20; .* pandas.DataFrame\(p_target, index=X_target.index\)",
        lambda: o.audit(
            Y,
            P,
            pd.DataFrame(P_TARGET, index=range(7, 107)),
            labels=pd.Series(Y_TARGET, index=range(7, 107))[::5],
            methods=["ac"],
        ),
    ),
    "some labels": (
        lambda: o.estimate(Y, P, P_TARGET, labels=Y_TARGET[:5]),
        r"or a column `row` that counts target rows from 0",
        lambda: o.estimate(
            Y, P, P_TARGET, labels={"row": range(5), "label": Y_TARGET[:5]}, **QUICK
        ),
    ),
}


@pytest.mark.parametrize(("wrong", "message", "right"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_and_their_remedies(
    wrong: Callable[[], Any], message: str, right: Callable[[], Any]
) -> None:
    with pytest.raises(OodometerError, match=message) as caught:
        wrong()
    assert "--" not in str(caught.value)
    assert right() is not None


def test_a_call_with_too_many_places_says_which_there_are() -> None:
    with raises_snapshot(TypeError):
        o.estimate(Y, P, P_TARGET, Y_TARGET)  # type: ignore[call-arg]
    with raises_snapshot(TypeError):
        o.estimate(Y, P, P_TARGET, metric="f1")  # type: ignore[call-arg]
    one = o.estimate(Y, P, P_TARGET, **QUICK | {"methods": "atc"}, target_accuracies=0.9)
    assert values(one) == values(o.estimate(Y, P, P_TARGET, **QUICK | {"methods": ["atc"]}))


def test_rows_that_belong_elsewhere() -> None:
    with raises_snapshot(InputError):
        o.estimate(Y, P[:50], P_TARGET)
    with raises_snapshot(InputError):
        o.fit(pd.Series(Y)[::-1], pd.DataFrame(P, index=range(200)))
    with raises_snapshot(UsageError):
        o.fit(Y, "predictions.csv")


@pytest.mark.parametrize(
    ("rare", "usual"), [("eight", "other"), ("zebra", "else"), ("case", "control"), ("yes", "no")]
)
def test_a_lone_probability_is_of_the_class_that_names_or_shares_tell(
    rare: str, usual: str
) -> None:
    """As a column of a file is read, whichever class comes second by name."""
    rng = np.random.default_rng(1)
    p, p_target = rng.beta(0.5, 4, 800), rng.beta(0.5, 4, 300)
    y = np.where(rng.random(800) < p, rare, usual)
    by_hand = o.estimate(y, p, p_target, positive=f"={rare}", **QUICK)
    found = o.estimate(y, p, p_target, **QUICK)
    assert values(found) == values(by_hand)
    told = [line for line in found.warnings if f"as the probability of class {rare}" in line]
    assert len(told) == (rare < usual)  # the second by name is the usual reading
    assert values(o.fit(y, p, **QUICK).estimate(p_target)) == values(found)
    assert (
        o.evaluate(y, p)["accuracy"].value
        == o.evaluate(y, p, positive=f"={rare}")["accuracy"].value
    )


def test_a_lone_probability_is_not_turned_because_the_model_is_bad() -> None:
    """Which rows are right says nothing of the class: balanced classes leave the second one by name."""
    p = RNG.random(400)
    y = np.where(RNG.random(400) < p, "ant", "bee")
    assert o.evaluate(y, p)["accuracy"].value < 0.5
