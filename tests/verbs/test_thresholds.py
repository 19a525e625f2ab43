"""--threshold in every verb: the same result as with the column `prediction` that it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.errors import InputError, UsageError

from ..snapshots import raises_snapshot

ROWS, THRESHOLD = 600, 0.7
SMALL: dict[str, Any] = {"methods": ["source", "ac"], "backtest": None, "diagnosis": False}


def drawn(seed: int, positive: str = "no") -> tuple[dict[str, Any], dict[str, Any]]:
    """A binary model's rows, bare and with the decision for one of its classes."""
    rng = np.random.default_rng(seed)
    p = rng.random(ROWS)
    known = np.where(np.random.default_rng(7).random(ROWS) < 0.5, "no", "yes")
    p = np.where(known == "yes", p**0.5, p**2)
    rows = {"id": np.arange(ROWS), "prob_yes": p, "prob_no": 1 - p, "label": known}
    other = "yes" if positive == "no" else "no"
    return rows, rows | {
        "prediction": np.where(rows[f"prob_{positive}"] >= THRESHOLD, positive, other)
    }


def unlabelled(rows: dict[str, Any]) -> dict[str, Any]:
    return {name: values for name, values in rows.items() if name != "label"}


def accuracy(rows: dict[str, Any]) -> float:
    return float((rows["prediction"] == rows["label"]).mean())


@pytest.mark.parametrize(("positive", "of"), [("=no", "no"), ("=yes", "yes"), (None, "yes")])
def test_every_verb_decides_for_the_class_that_is_named(positive: str | None, of: str) -> None:
    bare, decided = drawn(0, of)
    asked: dict[str, Any] = {"threshold": THRESHOLD, "positive": positive}
    expected = accuracy(decided)
    assert abs(expected - accuracy(drawn(0, "yes" if of == "no" else "no")[1])) > 0.005
    assert oodometer.evaluate(bare, metrics=["accuracy"], **asked)["accuracy"].value == expected
    assert oodometer.estimate(bare, bare, **SMALL, **asked)["source"].value == expected
    fitted = oodometer.fit(bare, **SMALL, **asked)
    assert fitted.estimate(bare)["source"].value == expected
    tried: dict[str, Any] = {
        "methods": ["source"],
        "families": ["none"],
        "repeats": 1,
        "cache": None,
    }
    assert oodometer.backtest(bare, **tried, **asked).reference["accuracy"] == expected
    found = oodometer.compare([bare, bare], names=["a", "b"], steps=20, **asked)
    assert found["a"].in_domain.metrics["accuracy"].value == expected
    ranked = oodometer.rank({"a": bare, "b": drawn(1)[0]}, **asked)
    assert next(one.right for one in ranked.ranking if one.model == "a") == round(expected * ROWS)


def test_another_positive_class_than_that_of_the_fit_is_refused() -> None:
    fitted = oodometer.fit(drawn(0)[0], threshold=THRESHOLD, positive="=no", **SMALL)
    with raises_snapshot(UsageError):
        oodometer.estimate(fitted, drawn(1)[0], positive="=yes")


def test_a_lone_column_is_what_the_threshold_is_about_in_all_files() -> None:
    bare, decided = drawn(0)
    lone = {name: values for name, values in bare.items() if name != "prob_yes"}
    found = oodometer.estimate(
        lone,
        {name: values for name, values in bare.items() if name != "label"},
        threshold=THRESHOLD,
        **SMALL,
    )
    assert found["source"].value == accuracy(decided)
    assert found["ac"].value == pytest.approx(
        float(np.where(decided["prediction"] == "no", bare["prob_no"], bare["prob_yes"]).mean())
    )


def test_compare_decides_out_of_domain_and_on_targets_too() -> None:
    models, away = [drawn(0), drawn(1)], [drawn(2), drawn(3)]
    asked: dict[str, Any] = {"steps": 20, "names": ["a", "b"], "positive": "=no"}
    both = []
    for at, threshold in ((0, THRESHOLD), (1, None)):
        far = [pair[at] for pair in away]
        goal = [{name: values for name, values in one.items() if name != "label"} for one in far]
        both.append(
            oodometer.compare(
                [pair[at] for pair in models],
                out_of_domain=far,
                target=goal,
                threshold=threshold,
                **asked,
            )
        )
    first, second = (one.to_dict() for one in both)
    assert first["settings"].pop("threshold") == THRESHOLD
    assert second["settings"].pop("threshold") is None
    assert first == second
    assert first["models"][0]["out_of_domain"]["metrics"]["accuracy"]["value"] == accuracy(
        away[0][1]
    )


def test_compare_decides_beside_labels_of_their_own() -> None:
    bare, decided = drawn(0, "yes")
    truth = {name: bare[name][::-1] for name in ("id", "label")}
    rows = unlabelled(bare)
    found = oodometer.compare(
        [rows, rows], names=["a", "b"], labels=truth, threshold=THRESHOLD, steps=20
    )
    assert found["a"].in_domain.metrics["accuracy"].value == accuracy(decided)


def test_rank_decides_references_and_live_models_too() -> None:
    models, grounds = [drawn(0), drawn(1)], [drawn(2), drawn(3)]
    few = {name: models[0][0][name][:30] for name in ("id", "label")}
    results = []
    for at, threshold in ((0, THRESHOLD), (1, None)):
        rows = [unlabelled(pair[at]) for pair in models]
        found = oodometer.rank(
            dict(zip("ab", rows, strict=True)), examples=few, reference=[pair[at] for pair in grounds],
            threshold=threshold, positive="=no",
        ).to_dict()  # fmt: skip
        results.append(found)
    assert results[0]["ranking"] == results[1]["ranking"]
    assert results[0]["pairs"] == results[1]["pairs"]

    def said(rows: dict[str, Any]) -> Any:
        table = np.stack([rows["prob_no"], rows["prob_yes"]], axis=1)
        return lambda texts: table[[int(text) for text in texts]]

    texts = {"text": [str(row) for row in range(40)], "label": models[0][0]["label"][:40].tolist()}
    live = {name: said(rows) for name, (rows, _) in zip("ab", models, strict=True)}
    options: dict[str, Any] = {
        "classes": ["no", "yes"],
        "gives": "probabilities",
        "positive": "=no",
    }
    asked = oodometer.rank(live, examples=texts, threshold=THRESHOLD, **options)
    right = {one.model: one.right for one in asked.ranking}
    for name, (_, decided) in zip("ab", models, strict=True):
        assert right[name] == int((decided["prediction"][:40] == decided["label"][:40]).sum())


@pytest.mark.parametrize("verb", ["compare", "rank", "evaluate"])
@pytest.mark.parametrize(
    ("change", "threshold", "says"),
    [
        (
            {},
            1.5,
            "expected a threshold between 0 and 1 such as 0.6, got 1.5; divide percents by 100",
        ),
        (
            {"prediction": ["yes"] * ROWS},
            0.6,
            "expected no `prediction` beside a threshold, got both",
        ),
        ({"prob_maybe": [0.0] * ROWS}, 0.6, "expected two classes beside a threshold, got 3"),
        (
            {"prob_yes": None, "prob_no": None, "prediction": ["yes"] * ROWS},
            0.6,
            "expected probabilities beside a threshold",
        ),
    ],
    ids=["percents", "prediction", "classes", "probabilities"],
)
def test_what_no_threshold_can_be_for_is_refused_in_the_same_words(
    verb: str, change: dict[str, Any], threshold: float, says: str
) -> None:
    rows = {name: values for name, values in (drawn(0)[0] | change).items() if values is not None}
    call: Any = getattr(oodometer, verb)
    given: Any = (
        rows
        if verb == "evaluate"
        else {"a": rows, "b": dict(rows)}
        if verb == "rank"
        else [rows, rows]
    )
    with pytest.raises((InputError, UsageError)) as told:
        call(given, threshold=threshold)
    assert says in str(told.value)


def test_a_positive_column_is_none_of_a_live_model() -> None:
    with raises_snapshot(UsageError):
        oodometer.rank(
            {"a": lambda x: x, "b": lambda x: x},
            examples={"text": ["a"], "label": [0]},
            positive="p",
        )


def test_a_model_in_memory_that_is_named_twice_is_told_by_its_name() -> None:
    rows = drawn(0)[0]
    with raises_snapshot(UsageError):
        oodometer.rank({"a": rows, "b": rows})
