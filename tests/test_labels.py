"""What labels may say: words for a missing one, classes that the model does not know; and predictions that are null."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.classes import label_codes, said_of_classes
from oodometer.errors import InputError

from .snapshots import raises_snapshot

ROWS = 400
rng = np.random.default_rng(3)
CONFIDENCE = rng.uniform(0.4, 1, ROWS).round(3)
SAID = rng.choice(["ant", "bee", "cow"], ROWS).astype(object)
TRUE = np.where(rng.uniform(size=ROWS) < CONFIDENCE, SAID, "ant")
KNOWN = np.arange(ROWS) % 4 > 0
TABLE = pd.DataFrame({"prediction": SAID, "confidence": CONFIDENCE, "label": TRUE})


def written(table: pd.DataFrame, form: str, folder: Path) -> Any:
    path = folder / f"t.{form}"
    if form == "frame":
        return table
    table.to_json(path, orient="records", lines=True) if form == "jsonl" else getattr(
        table, f"to_{form}"
    )(path, index=False)
    return path


@pytest.mark.parametrize(
    "word", ["NA", "\\N", "None", "<NA>", "#N/A", "?", "nan", "null", "-", " n/a "]
)
@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "frame"])
def test_a_word_for_a_missing_label_is_no_class(form: str, word: str, tmp_path: Path) -> None:
    data = written(TABLE.assign(label=np.where(KNOWN, TRUE, word)), form, tmp_path)
    found = oodometer.evaluate(data, metrics=["accuracy"])
    assert (found.rows, found.unlabelled) == (KNOWN.sum(), ROWS - KNOWN.sum())
    assert found["accuracy"].value == pytest.approx((SAID == TRUE)[KNOWN].mean())
    if form != "csv" or word.strip() not in ("nan", "null"):  # which CSV has always meant
        assert any(
            f"100 labels are written {word.strip()!r}" in one.replace(word, word.strip())
            for one in found.warnings
        )
    audited = oodometer.audit(TABLE, TABLE.drop(columns="label"), labels=data, methods=["ac"])
    assert (audited.labels, audited.label_only.value) == (
        KNOWN.sum(),
        pytest.approx((SAID == TRUE)[KNOWN].mean()),
    )  # type: ignore[union-attr]


def test_a_word_that_the_model_says_too_is_a_class() -> None:
    said, true = np.where(SAID == "ant", "None", SAID), np.where(TRUE == "ant", "None", TRUE)
    for more in ({}, {"classes": ["None", "bee", "cow"]}):
        found = oodometer.evaluate(
            {"prediction": said, "label": true}, metrics=["accuracy"], **more
        )
        assert (found.rows, found["accuracy"].value, found.warnings) == (
            ROWS,
            pytest.approx((said == true).mean()),
            (),
        )
    wide = {"prob_None": [0.9, 0.2], "prob_bee": [0.1, 0.8], "label": ["None", "bee"]}
    assert oodometer.evaluate(wide, metrics=["accuracy"]).rows == 2


def test_integers_beside_a_word(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("prediction,label\n1,1\n0,NA\n1,0\n")
    assert oodometer.evaluate(path, metrics=["accuracy"])["accuracy"].value == 0.5


def probabilities(said: Any) -> dict[str, Any]:
    return {f"prob_{name}": np.where(said == name, 0.8, 0.1) for name in ("ant", "bee", "cow")}


def test_a_class_that_the_model_does_not_know_is_an_error_of_the_model() -> None:
    reference = probabilities(SAID) | {"label": TRUE}
    true = np.where(KNOWN, TRUE, "wolf")
    right = (true == SAID).mean()
    for labels in ({"label": true}, None):
        target = probabilities(SAID) | ({} if labels is not None else {"label": true})
        found = oodometer.estimate(
            reference, target, labels=labels, methods=["ac", "cbpe"], metrics=["f1:ant"]
        )
        assert found.target["accuracy"]["value"] == pytest.approx(right)
        assert found.target["labelled"] == ROWS
        assert found.metrics["f1:ant"].truth is None
        assert any(
            "100 labels are of classes that the model does not know ('wolf')" in w
            for w in found.warnings
        )
        audited = oodometer.audit(reference, target, labels=labels, methods=["ac"])
        assert audited.label_only.value == pytest.approx(right)
    assert oodometer.evaluate(probabilities(SAID), labels={"label": true})[
        "accuracy"
    ].value == pytest.approx(right)
    own = probabilities(SAID) | {"label": true}
    found = oodometer.evaluate(own)  # of one file, too: what it cannot say is wrong, and is named
    assert found["accuracy"].value == pytest.approx(right)
    assert any("'wolf'" in w for w in found.warnings)
    assert oodometer.evaluate(own | {"prob_wolf": np.zeros(ROWS)})[
        "accuracy"
    ].value == pytest.approx(right)


@pytest.mark.parametrize(
    "names",
    [
        ["Ant", "Bee", "Cow"],
        ["Ameise", "Biene", "Kuh"],
    ],
)
def test_other_names_of_the_known_classes_are_no_new_ones(names: list[str]) -> None:
    true = pd.Series(TRUE).replace(dict(zip(["ant", "bee", "cow"], names, strict=True))).to_numpy()
    with raises_snapshot(InputError):
        oodometer.audit(
            probabilities(SAID) | {"label": TRUE}, probabilities(SAID), labels={"label": true}
        )


def test_predictions_and_labels_of_classes_that_the_reference_never_had() -> None:
    """Where only correctness is needed, three thousand classes will not all stand in the reference."""
    target = TABLE.replace("cow", "dog")
    target.loc[::5, "label"] = "emu"
    right = (target["prediction"] == target["label"]).mean()
    found = oodometer.estimate(TABLE, target, methods=["ac", "doc"])
    assert found.target["accuracy"]["value"] == pytest.approx(right)
    audited = oodometer.audit(
        TABLE, target.drop(columns="label"), labels=target[["label"]], methods=["ac"]
    )
    assert audited.label_only.value == pytest.approx(right)


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "frame"])
def test_null_predictions_count_as_wrong(form: str, tmp_path: Path) -> None:
    data = written(TABLE.assign(prediction=np.where(KNOWN, SAID, None)), form, tmp_path)
    found = oodometer.evaluate(data, metrics=["accuracy"])
    assert found["accuracy"].value == pytest.approx(((SAID == TRUE) & KNOWN).mean())
    assert any(
        "100 predictions are null, as of answers that could not be read" in one
        for one in found.warnings
    )
    estimated = oodometer.estimate(TABLE, data, methods=["ac", "doc"])
    assert estimated.target["accuracy"]["value"] == pytest.approx(((SAID == TRUE) & KNOWN).mean())
    assert any("100 predictions are null" in one for one in estimated.warnings)
    assert oodometer.Predictions.from_classes(
        [0, None, 1], label=[0, 1, None]
    ).verdicts.tolist() == [1, 0, -1]


def test_what_is_said_of_many() -> None:
    noted = {f"class '{name}'": rows for name, rows in (("a", 1), ("b", 4), ("c", 3), ("d", 2))}
    (said,) = said_of_classes(noted, "l.csv")
    assert said.endswith(
        "10 labels are of classes that the model does not know ('b', 'c', 'd' and 1 more): they count as its errors"
    )
    assert (
        label_codes(oodometer.arrays.Coded(np.array([0, 1]), [1, 2]), (0, 1), others=True)[1] == {}
    )


NO_YES, WRITTEN = np.array(["no", "yes"]), np.array(["LABEL_0", "LABEL_1"])
TRULY, CHOSEN = np.arange(60) % 2, (np.arange(60) % 5 > 1).astype(int)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "frame"])
@pytest.mark.parametrize(
    ("truth", "answers"),
    [
        (NO_YES[TRULY], CHOSEN),
        (TRULY, WRITTEN[CHOSEN]),
        (WRITTEN[TRULY], CHOSEN),
        (np.array(["False", "True"])[TRULY], CHOSEN),
        (np.array(["N", "Y"])[TRULY], CHOSEN.astype(bool)),
        (TRULY.astype(bool), NO_YES[CHOSEN]),
        (TRULY.astype(str), CHOSEN),
    ],
)
def test_words_and_numbers_of_one_meaning_are_one_class(
    tmp_path: Path, form: str, truth: Any, answers: Any
) -> None:
    """A truth as the data have it beside answers as a model numbers them, in one file and in two."""
    right = pytest.approx((TRULY == CHOSEN).mean())
    table = pd.DataFrame({"id": range(60), "label": truth, "prediction": answers})
    assert oodometer.evaluate(written(table, form, tmp_path))["accuracy"].value == right
    (tmp_path / "labels").mkdir()
    labels = written(table[["id", "label"]][::-1], form, tmp_path / "labels")
    alone = written(table[["id", "prediction"]], form, tmp_path)
    assert oodometer.evaluate(alone, labels=labels)["accuracy"].value == right


def test_a_stray_word_among_numbers_is_no_class(tmp_path: Path) -> None:
    labels = ["x" if row == 7 else str(cell) for row, cell in enumerate(TRULY)]
    pd.DataFrame({"label": labels, "prediction": CHOSEN}).to_csv(tmp_path / "a.csv", index=False)
    with raises_snapshot(InputError):
        oodometer.evaluate(tmp_path / "a.csv")


def test_codes_with_and_without_letters_are_classes_of_texts(tmp_path: Path) -> None:
    codes = np.array(["250", "A01"])
    table = pd.DataFrame({"label": codes[TRULY], "prediction": codes[CHOSEN]})
    table.to_csv(tmp_path / "a.csv", index=False)
    found = oodometer.evaluate(tmp_path / "a.csv")
    assert found["accuracy"].value == pytest.approx((TRULY == CHOSEN).mean())
