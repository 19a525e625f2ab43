"""Raw tables as libraries and teams write them: what is read without a renaming, and what is refused, with the words
that make it work.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import InputError, UnknownColumnError
from oodometer.verbs.guessing import guess, label_of, opened_raw

from ..snapshots import assert_snapshot, raises_snapshot

ROWS = 600
rng = np.random.default_rng(0)
P = rng.beta(0.6, 0.6, ROWS)
Y = (rng.random(ROWS) < P).astype(int)
D = (P > 0.5).astype(int)
Q = rng.dirichlet([0.5] * 3, ROWS)
KINDS = np.array(["cat", "dog", "fox"])
Y3 = KINDS[(Q.cumsum(1) > rng.random((ROWS, 1))).argmax(1)]
D3 = KINDS[Q.argmax(1)]
NO_YES = np.array(["no", "yes"])
INCOME = np.array(["<=50K", ">50K"])
MINE = {
    "id": np.arange(1000, 1000 + ROWS),
    "timestamp": [f"2024-01-{1 + i % 28:02d} 10:00" for i in range(ROWS)],
    "age": rng.integers(20, 70, ROWS),
    "member": rng.integers(0, 2, ROWS),
}
LONE = {"repaid": "label", "y_pred": "prediction", "y_pred_proba": "prob_1"}


def wide(*columns: str, names: Any = KINDS) -> dict[str, str]:
    return {column: f"prob_{name}" for column, name in zip(columns, names, strict=True)}


CASES: dict[str, tuple[dict[str, Any], str, dict[str, str]]] = {
    # table, the column that the target lacks, what is read
    "NannyML": ({**MINE, "repaid": Y, "y_pred": D, "y_pred_proba": P}, "repaid", LONE),
    "evidently": (
        {"target": Y, "pred": D, "score": P},
        "target",
        {"target": "label", "pred": "prediction", "score": "prob_1"},
    ),
    "scikit-learn": (
        {"y_true": Y3, **{f"proba_{k}": Q[:, i] for i, k in enumerate(KINDS)}},
        "y_true",
        {"y_true": "label", **wide("proba_cat", "proba_dog", "proba_fox")},
    ),
    "two numbered columns": (
        {"y": NO_YES[Y], "p_0": 1 - P, "p_1": P},
        "y",
        {"y": "label", **wide("p_0", "p_1", names=NO_YES)},
    ),
    "a lone number beside 0 and 1": (
        {"outcome": Y, "risk": P},
        "outcome",
        {"outcome": "label", "risk": "prob_1"},
    ),
    "H2O": (
        {"age": MINE["age"], "survived": Y, "predict": (P > 0.3).astype(int), "p0": 1 - P, "p1": P},
        "survived",
        {"survived": "label", "predict": "prediction", **wide("p0", "p1", names="01")},
    ),
    "H2O, named classes": (
        {"species": Y3, "predict": D3, **{k: Q[:, i] for i, k in enumerate(KINDS)}},
        "species",
        {"species": "label", "predict": "prediction", **wide(*KINDS)},
    ),
    "BigQuery": (
        {**MINE, "repaid": Y, "predicted_repaid": D, "predicted_repaid_prob": P},
        "",
        {"repaid": "label", "predicted_repaid": "prediction", "predicted_repaid_prob": "prob_1"},
    ),
    "PyCaret": (
        {
            "Purchase": KINDS[Y],
            "prediction_label": KINDS[D],
            "prediction_score": np.maximum(P, 1 - P),
        },
        "Purchase",
        {"Purchase": "label", "prediction_label": "prediction", "prediction_score": "confidence"},
    ),
    "AutoGluon": (
        {"age": MINE["age"], "class": NO_YES[Y], "pred": NO_YES[D], "no": 1 - P, "yes": P},
        "class",
        {"class": "label", "pred": "prediction", **wide("no", "yes", names=NO_YES)},
    ),
    "SageMaker": (
        {**MINE, "churn": Y, "predicted_label": D, "probability": P},
        "churn",
        {"churn": "label", "predicted_label": "prediction", "probability": "prob_1"},
    ),
    "tidymodels": (
        {"Class": NO_YES[Y], ".pred_class": NO_YES[D], ".pred_no": 1 - P, ".pred_yes": P},
        "Class",
        {
            "Class": "label",
            ".pred_class": "prediction",
            **wide(".pred_no", ".pred_yes", names=NO_YES),
        },
    ),
    "KNIME": (
        {"income": INCOME[Y], **{f"P (income={k})": (1 - P, P)[i] for i, k in enumerate(INCOME)}},
        "income",
        {"income": "label", **wide(*(f"P (income={k})" for k in INCOME), names=INCOME)},
    ),
    "DataRobot": (
        {
            "ill": Y == 1,
            "ill_True_PREDICTION": P,
            "ill_False_PREDICTION": 1 - P,
            "ill_PREDICTION": D == 1,
        },
        "ill",
        {
            "ill": "label",
            "ill_PREDICTION": "prediction",
            "ill_True_PREDICTION": "prob_1",
            "ill_False_PREDICTION": "prob_0",
        },
    ),
    "Arize": (
        {"predictionLabel": NO_YES[D], "actualLabel": NO_YES[Y], "predictionScore": P},
        "actualLabel",
        {"actualLabel": "label", "predictionLabel": "prediction", "predictionScore": "prob_yes"},
    ),
    "a prediction that is a probability": (
        {"y_true": Y, "y_pred": P},
        "y_true",
        {"y_true": "label", "y_pred": "prob_1"},
    ),
    "French": (
        {"vrai": NO_YES[Y], "prédit": NO_YES[D], "probabilité": P},
        "vrai",
        {"vrai": "label", "prédit": "prediction", "probabilité": "prob_yes"},
    ),
    "German": (
        {"Wahrheit": NO_YES[Y], "Vorhersage": NO_YES[D], "Wahrscheinlichkeit": P},
        "Wahrheit",
        {"Wahrheit": "label", "Vorhersage": "prediction", "Wahrscheinlichkeit": "prob_yes"},
    ),
    "CatBoost": (
        {
            "Label": Y3,
            **{f"RawFormulaVal:Class={k}": np.log(Q[:, i] + 1e-9) for i, k in enumerate(KINDS)},
        },
        "Label",
        {"Label": "label", **{f"RawFormulaVal:Class={k}": f"logit_{k}" for k in KINDS}},
    ),
    "verdicts": (
        {"conf": np.maximum(P, 1 - P), "is_correct": Y == D},
        "is_correct",
        {"is_correct": "correct", "conf": "confidence"},
    ),
    "an input between 0 and 1": (
        {"target": Y, "pred": D, "utilization": rng.random(ROWS)},
        "target",
        {"target": "label", "pred": "prediction"},
    ),
}


@pytest.mark.parametrize(("columns", "truth", "read"), CASES.values(), ids=CASES)
def test_one_reading_is_read(columns: dict[str, Any], truth: str, read: dict[str, str]) -> None:
    table = pd.DataFrame(columns)
    target = table.drop(columns=[truth] if truth else [])
    guessed = guess(opened_raw(table), [opened_raw(target)])
    assert (guessed.renamings, guessed.doubt) == (read, "")


REFUSED: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "two probabilities": (
        {"y_true": Y, "proba_a": P, "proba_b": np.sqrt(P)},
        "y_true",
        "proba_a and proba_b, either of which may be the probability",
    ),
    "two blocks": (
        {"y": Y, "p0": 1 - P, "p1": P, "cal_p0": 1 - P**2, "cal_p1": P**2},
        "y",
        "p0, p1 and cal_p0, cal_p1, either of which may be the probabilities",
    ),
    "two labels": (
        {"target": Y, "y_true": 1 - Y, "pred": D},
        None,
        "target and y_true, either of which may",
    ),
    "label and prediction swapped": (
        {"target": D, "pred": Y, "score": P},
        "target",
        "target, which is what a threshold makes of score: a prediction, not the label",
    ),
    "a score of the other class": (
        {"target": Y, "score": 1 - P},
        "target",
        "score, which is higher where the label",
    ),
    "a score of something else": (
        {"target": Y, "score": rng.random(ROWS)},
        "target",
        "goes with the label no better",
    ),
    "a label that every file has": (
        {**MINE, "repaid": Y, "y_pred": D, "y_pred_proba": P},
        "",
        "repaid, which goes",
    ),
    "one file": (
        {**MINE, "repaid": Y, "y_pred": D, "y_pred_proba": P},
        None,
        "repaid, which goes with the prediction",
    ),
    "one file without decisions": (
        {**MINE, "repaid": Y, "y_pred_proba": P},
        None,
        "repaid, which goes with y_pred_proba as a label does",
    ),
    "a column called prediction beside the one that a score decides": (
        {"prediction": MINE["member"], "y_true": Y, "y_pred": D, "y_prob": P},
        None,
        "y_pred and prediction, either of which may be the prediction",
    ),
    "a column that is no label": (
        {"branch": MINE["member"], "y_pred": D, "y_pred_proba": P},
        "branch",
        "branch, which goes with the prediction no better than chance",
    ),
}


@pytest.mark.parametrize(("columns", "truth", "why"), REFUSED.values(), ids=REFUSED)
def test_two_readings_are_a_doubt(columns: dict[str, Any], truth: str | None, why: str) -> None:
    table = pd.DataFrame(columns)
    others = [] if truth is None else [opened_raw(table.drop(columns=[truth] if truth else []))]
    assert why in guess(opened_raw(table), others).doubt


def test_written_truths_are_classes(tmp_path: Path) -> None:
    table = pd.DataFrame({"late": Y == 1, "late_pred": D == 1, "late_proba": P})
    table.to_csv(tmp_path / "r.csv", index=False)
    table.drop(columns="late").to_csv(tmp_path / "t.csv", index=False)
    options: dict[str, Any] = {"methods": ["source", "ac"], "backtest": "none", "diagnosis": False}
    written = oodometer.estimate(tmp_path / "r.csv", tmp_path / "t.csv", **options)
    held = oodometer.estimate(table, table.drop(columns="late"), **options)
    assert_snapshot(written.warnings[0])
    assert_snapshot(held.warnings[0])
    assert [e.value for e in written.estimates] == pytest.approx([e.value for e in held.estimates])


def test_the_error_says_the_words_that_work() -> None:
    table = pd.DataFrame({"y_true": Y, "proba_a": P, "proba_b": np.sqrt(P)})
    with raises_snapshot(InputError):
        oodometer.evaluate(table)
    judged = oodometer.evaluate(
        table, mapping={"y_true": "label"}, positive="proba_a", metrics=["accuracy"]
    )
    assert judged.rows == ROWS


@pytest.mark.parametrize("made", [dict, pd.DataFrame])
def test_frames_and_mappings_are_read_alike(made: Any) -> None:
    columns = {**MINE, "repaid": Y, "y_pred": D, "y_pred_proba": P}
    target = {name: values for name, values in columns.items() if name != "repaid"}
    options: dict[str, Any] = {"methods": ["source", "ac"], "backtest": "none", "diagnosis": False}
    estimation = oodometer.estimate(made(columns), made(target), **options)
    assert_snapshot(estimation.warnings)
    plain = {"label": Y, "prediction": D, "prob_1": P}
    expected = oodometer.estimate(plain, {"prediction": D, "prob_1": P}, **options)
    assert [e.value for e in estimation.estimates] == [e.value for e in expected.estimates]


def test_the_truth_in_a_file_of_labels_is_the_column_beside_the_key() -> None:
    assert label_of(opened_raw({"id": [1, 2], "repaid": [0, 1]})) == {"repaid": "label"}
    assert label_of(opened_raw({"id": [1, 2], "y_true": [0, 1], "age": [2, 3]})) == {
        "y_true": "label"
    }
    assert label_of(opened_raw({"id": [1, 2], "repaid": [0, 1], "age": [2, 3]})) == {}


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", None])
def test_a_lone_column_of_times_is_the_time_whatever_its_name(form: str | None) -> None:
    days = pd.date_range("2024-01-01", periods=ROWS, freq="3h")
    reference = pd.DataFrame(
        {"hour_of": days if form is None else days.strftime(form), "y": Y, "prob_0": 1 - P}
    )
    reference["prob_1"] = P
    target = reference.drop(columns="y")
    found = oodometer.estimate(reference, target, every="month", methods=["source"], backtest=None)
    assert [str(chunk.name)[:7] for chunk in found.chunks] == ["2024-01", "2024-02", "2024-03"]
    two = {"other": reference["hour_of"]}
    with raises_snapshot(UnknownColumnError):
        oodometer.estimate(
            reference.assign(**two), target.assign(**two), every="month", methods=["source"]
        )


WORDS = np.array(["fraud", "ok"])
RARE = rng.beta(0.3, 2.7, ROWS)
FRAUD = np.where(rng.random(ROWS) < RARE, "fraud", "ok")
ORDER = np.array(["water", "desert", "green", "clouds"])
Q4 = rng.dirichlet([0.5] * 4, ROWS).round(3)
Y4 = ORDER[(Q4.cumsum(1) > rng.random((ROWS, 1))).argmax(1)]
NUMBERED = {f"pred_proba_{k}": Q4[:, k] for k in range(4)}
SURE = np.maximum(P, 1 - P)
NONE = np.array(["None", "A"])

BY_ROWS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    # what rows prove against names, the alphabet and the truth
    "an order of classes that the predictions prove": (
        {**NUMBERED, "y_pred": ORDER[Q4.argmax(1)], "y_true": Y4},
        {"y_true": "label", "y_pred": "prediction", **wide(*NUMBERED, names=ORDER)},
    ),
    "a model that is worse than chance, by its decisions": (
        {"y_true": NO_YES[1 - Y], "y_pred": NO_YES[D], "y_prob": P},
        {"y_true": "label", "y_pred": "prediction", "y_prob": "prob_yes"},
    ),
    "a rare class that is the first by name": (
        {"y_true": FRAUD, "y_prob": RARE},
        {"y_true": "label", "y_prob": "prob_fraud"},
    ),
    "a class in the name of the column": (
        {"y_true": WORDS[Y], "fraud_probability": 1 - P},
        {"y_true": "label", "fraud_probability": "prob_fraud"},
    ),
    "the label of a pipeline": (
        {"gold": NO_YES[Y], "label": NO_YES[D], "score": SURE},
        {"gold": "label", "label": "prediction", "score": "confidence"},
    ),
    "a label that a score decides": (
        {"ground_truth": Y, "label": D, "proba": P},
        {"ground_truth": "label", "label": "prediction", "proba": "prob_1"},
    ),
    "PyCaret of old": (
        {"target": Y, "Label": D, "Score": SURE},
        {"target": "label", "Label": "prediction", "Score": "confidence"},
    ),
    "a probability that is called prediction": (
        {"label": NO_YES[Y], "prediction": P.round(2)},
        {"prediction": "prob_yes"},
    ),
    "a regression beside classes": (
        {
            "price": (9 * RARE).round(3),
            "price_pred": (9 * P).round(3),
            "sold": Y,
            "sold_pred": D,
            "sold_proba": P,
        },
        {"sold": "label", "sold_pred": "prediction", "sold_proba": "prob_1"},
    ),
    "a class that is called None": (
        {"y_true": NONE[Y], "prob_A": P, "prob_None": 1 - P},
        {"y_true": "label"},
    ),
}


@pytest.mark.parametrize(("columns", "read"), BY_ROWS.values(), ids=BY_ROWS)
@pytest.mark.parametrize("form", ["frame", "csv"])
def test_rows_say_more_than_names(
    columns: dict[str, Any], read: dict[str, str], form: str, tmp_path: Path
) -> None:
    table = pd.DataFrame(columns)
    table.to_csv(tmp_path / "t.csv", index=False)
    guessed = guess(opened_raw(table if form == "frame" else tmp_path / "t.csv"))
    assert (guessed.renamings, guessed.doubt) == (read, "")


ASKED: dict[str, tuple[dict[str, Any], str]] = {
    "two words of which neither is the positive one": (
        {"y_true": np.array(["cat", "dog"])[Y], "y_prob": P},
        r"y_prob, which may be the probability of dog, or of cat \(positive=\"y_prob=cat\"\)",
    ),
    "a model that is worse than chance": (
        {"y_true": NO_YES[1 - Y], "y_prob": P},
        'y_prob, which is higher where the label is no.*--positive y_prob=yes|positive="y_prob=yes"',
    ),
    "the confidence of an answer that is not there": (
        {"label": Y, "probability": SURE},
        "probability, which is never below 0.5, as the confidence in an answer; add a column of the answers",
    ),
    "two truths": (
        {"actual": Y, "label": 1 - D, "predicted": D},
        "actual and label, either of which may be the label",
    ),
    "what a model ranks by": (
        {"user_id": np.arange(ROWS) % 20, "score": rng.normal(size=ROWS), "clicked": Y},
        "score, which takes values below 0 beside clicked",
    ),
    "an input between 0 and 1": (
        {"utilisation": P, "y_true": Y},
        "utilisation, which goes with the label as a prob",
    ),
    "decimals of a regression": (
        {"label": Y * 10 + P.round(1), "prediction": Y * 10 + (P + 0.1).round(1)},
        "a regression, which accuracy does not measure",
    ),
}


@pytest.mark.parametrize(("columns", "why"), ASKED.values(), ids=ASKED)
def test_what_rows_leave_open_is_asked(columns: dict[str, Any], why: str, tmp_path: Path) -> None:
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=why):
        oodometer.evaluate(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("word", "labels"), [(-1, Y), ("pending", NO_YES[Y]), ("Unknown", NO_YES[Y])]
)
def test_labels_that_are_not_there_yet_are_unknown(word: Any, labels: Any, tmp_path: Path) -> None:
    label = np.where(np.arange(ROWS) % 4 == 0, word, labels)
    table = pd.DataFrame({"label": label, "prediction": (D if word == -1 else NO_YES[D])})
    table.to_csv(tmp_path / "t.csv", index=False)
    known = np.arange(ROWS) % 4 != 0
    for given in (table, tmp_path / "t.csv"):
        found = oodometer.evaluate(given, metrics=["accuracy"])
        assert found.metrics["accuracy"].value == pytest.approx((Y == D)[known].mean())
        assert any(
            "count as unknown" in line or "no known truth" in line for line in found.warnings
        )


def test_a_column_renamed_to_a_field_takes_the_place_of_the_one_of_its_name() -> None:
    table = pd.DataFrame({"actual": Y, "label": 1 - Y, "prediction": D})
    found = oodometer.evaluate(table, mapping={"actual": "label"}, metrics=["accuracy"])
    assert found.metrics["accuracy"].value == pytest.approx((Y == D).mean())


@pytest.mark.parametrize("head", ["logits_", "Logits ", "margin_"])
def test_columns_of_logits_are_read_by_their_classes(head: str) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=200)
    logits = (
        rng.normal(size=(200, 3)) + 2 * np.eye(3)[truth] + 4
    )  # a constant in every row says nothing
    names = np.array(["cat", "dog", "eel"])
    frame = pd.DataFrame(
        {"target": names[truth], **{f"{head}{name}": logits[:, k] for k, name in enumerate(names)}}
    )
    found = oodometer.evaluate(frame, metrics=["accuracy", "nll"])
    assert found["accuracy"].value == pytest.approx((logits.argmax(axis=1) == truth).mean())
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert found["nll"].value == pytest.approx(-np.log(p[np.arange(200), truth]).mean())


def test_a_lone_margin_is_asked_about() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=200)
    frame = pd.DataFrame({"churned": truth, "margin": rng.normal(size=200) + 2 * truth - 1}).rename(
        columns={"churned": "label"}
    )
    with raises_snapshot(InputError) as error:
        oodometer.evaluate(frame)
    assert '{"margin": "logit_1"}' in str(error.value)
    found = oodometer.evaluate(frame, mapping={"margin": "logit_1"})
    assert found["accuracy"].value == pytest.approx(
        ((frame["margin"] > 0) == frame["label"]).mean()
    )


def test_the_truth_beside_answers_that_name_the_classes() -> None:
    """The only other column of these words; a copy of the answers is none."""
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=120)
    p = rng.dirichlet([1, 1, 1], 120) * 0.8 + 0.2 * np.eye(3)[truth]
    names = np.array(["cat", "dog", "eel"])
    columns = {"pet": names[truth], **{f"prob_{name}": p[:, k] for k, name in enumerate(names)}}
    copy = {"top": names[p.argmax(axis=1)]}
    for some in (columns, {**columns, **copy}):
        found = oodometer.evaluate(pd.DataFrame(some))
        assert found["accuracy"].value == pytest.approx((p.argmax(axis=1) == truth).mean())


def customers(percent: bool, rows: int = 200) -> dict[str, Any]:
    """A scored table under names of nobody's convention: the score decides the answer."""
    rng = np.random.default_rng(3)
    score = rng.random(rows).round(3)
    truth = rng.random(rows) < score
    return {
        "customer": [f"C{i}" for i in range(rows)],
        "age": rng.integers(18, 90, rows).tolist(),
        "lapse_score": (100 * score if percent else score).tolist(),
        "will_lapse": np.where(score > 0.4, "yes", "no").tolist(),
        "lapsed": np.where(truth, "yes", "no").tolist(),
    }


@pytest.mark.parametrize("percent", [False, True])
def test_an_answer_is_what_a_score_decides_whatever_their_names(percent: bool) -> None:
    reference = opened_raw(customers(percent))
    target = {name: cells for name, cells in customers(percent).items() if name != "lapsed"}
    found = guess(reference, [opened_raw(target)])
    assert (found.renamings["will_lapse"], found.renamings["lapsed"]) == ("prediction", "label")
    assert found.renamings.get("lapse_score") == (None if percent else "prob_yes")
    assert found.doubt == ""
    assert "may an input" in guess(reference).doubt, "beside no other file it is asked"


def test_a_flag_decides_nothing() -> None:
    """A score of two values is one, and so is an amount that is 0 without the thing it is of."""
    columns = customers(percent=False)
    columns["will_lapse"] = np.where(np.array(columns["lapse_score"]) > 0, "yes", "no").tolist()
    columns["lapse_score"] = [0.2, 0.9] * 100
    assert guess(opened_raw(columns)).renamings == {}


def test_a_command_for_a_doubted_probability_keeps_the_decision() -> None:
    columns = {"t": Y, "d": (P > 0.3).astype(int), "q": P}
    found = guess(opened_raw(pd.DataFrame(columns)), [opened_raw(pd.DataFrame({"q": P}))])
    assert_snapshot(found.doubt)
    assert found.renamings == {"t": "label", "d": "prediction", "q": "prob_1"}


@pytest.mark.parametrize("form", ["parquet", "jsonl", "frame"])
def test_the_truth_beside_answers_that_are_nested_under_its_name(form: str, tmp_path: Path) -> None:
    answers = [{"classes": ["yes", "no"], "scores": [p, 1 - p]} for p in P]
    table: Any = pd.DataFrame({"churn": NO_YES[Y], "predicted_churn": answers})
    path = tmp_path / f"t.{form}"
    if form == "parquet":
        table.to_parquet(path)
    elif form == "jsonl":
        table.to_json(path, orient="records", lines=True)
    found = oodometer.evaluate(table if form == "frame" else path, metrics=["accuracy"])
    assert found["accuracy"].value == pytest.approx((D == Y).mean())


def test_a_truth_gives_its_name_to_the_scores_of_its_classes(tmp_path: Path) -> None:
    """Yes and no alone may be anything; a column of scores for each, called by it, says what the column is."""
    rng = np.random.default_rng(4)
    p = rng.uniform(size=300).round(4)
    y = np.where(rng.random(300) < p, "yes", "no")
    table = pd.DataFrame({"churn": y, "churn_yes_scores": p, "churn_no_scores": 1 - p})
    table.to_csv(tmp_path / "scores.csv", index=False)
    wanted = float((np.where(p > 0.5, "yes", "no") == y).mean())
    for source in (table, tmp_path / "scores.csv"):
        assert oodometer.evaluate(source)["accuracy"].value == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["proba_0", "class0_prob", "probability_no"])
@pytest.mark.parametrize("labels", [Y, 2 * Y - 1, Y.astype(bool)])
def test_a_name_may_say_that_a_probability_is_of_the_lower_class(name: str, labels: Any) -> None:
    right = float((Y == D).mean())
    classes = [-1, 1] if labels.min() < 0 else None
    if labels.min() < 0 and "0" in name:
        return  # there is no class 0
    found = oodometer.evaluate({"label": labels, name: 1 - P}, classes=classes)
    assert found["accuracy"].value == pytest.approx(right)
    with pytest.raises(InputError, match="which is higher where the label is"):
        oodometer.evaluate({"label": labels, name: P}, classes=classes)


@pytest.mark.parametrize("name", ["no_show_probability", "failure_probability", "p_control"])
def test_other_names_say_nothing_of_a_lower_class(name: str) -> None:
    found = oodometer.evaluate({"label": Y, name: P}, positive=None if "p_" not in name else name)
    assert found["accuracy"].value == pytest.approx((Y == D).mean())


def test_decimals_beside_words_are_the_confidence_and_no_answer(tmp_path: Path) -> None:
    words = [f"{1 + k}:{name}" for k, name in enumerate(KINDS)]
    code = dict(zip(KINDS, words, strict=True))
    weka = pd.DataFrame(
        {
            "inst#": range(1, ROWS + 1),
            "actual": [code[name] for name in Y3],
            "predicted": [code[name] for name in D3],
            "error": np.where(Y3 == D3, "", "+"),
            "prediction": Q.max(axis=1).round(3),
        }
    )
    weka.to_csv(tmp_path / "weka.csv", index=False)
    for given in (weka, tmp_path / "weka.csv"):
        assert oodometer.evaluate(given)["accuracy"].value == pytest.approx((Y3 == D3).mean())
    alone = weka[["actual", "prediction"]]
    alone.to_csv(tmp_path / "alone.csv", index=False)
    for given in (alone, tmp_path / "alone.csv"):
        with pytest.raises(InputError, match=r"expected a class .* not scores"):
            oodometer.evaluate(given)


@pytest.mark.parametrize("code", [-9, -99, -999, 99, 9999])
def test_codes_of_surveys_are_no_labels(code: int) -> None:
    missing = np.arange(ROWS) % 3 == 0
    table = {"label": np.where(missing, code, Y), "prediction": D}
    found = oodometer.evaluate(table)
    assert found["accuracy"].value == pytest.approx((Y == D)[~missing].mean())
    assert any("rows have no known truth" in line for line in found.warnings)
    said = {**table, "prediction": np.where(D == 1, D, code)}
    assert oodometer.evaluate(said).rows == ROWS


def test_percents_with_a_sign_under_a_name_of_a_probability(tmp_path: Path) -> None:
    texts = [f"{100 * p:.1f} %" for p in P]
    pd.DataFrame({"y": Y, "churn probability": texts}).to_csv(tmp_path / "a.csv", index=False)
    found = oodometer.evaluate(tmp_path / "a.csv")
    p = np.array([float(text[:-2]) / 100 for text in texts])
    assert found["brier"].value == pytest.approx(((p - Y) ** 2).mean())


def test_a_truth_beside_nothing_that_is_read_is_an_error_that_names_what_is_not() -> None:
    with pytest.raises(InputError, match="got risk is not read; if risk holds percents, divide"):
        oodometer.evaluate({"label": Y, "risk": (100 * P).round()})
    with raises_snapshot(InputError):
        oodometer.evaluate({"label": Y, "ours": D, "theirs": 1 - D})


RANKED = np.argsort(-Q, axis=1)
SORTED = -np.sort(-Q, axis=1)


@pytest.mark.parametrize(
    ("name", "score", "first", "most"),
    [
        ("label_{}", "score_{}", 1, 3),
        ("top{}_class", "top{}_prob", 1, 2),
        ("Class {}", "P {}", 0, 3),
    ],
)
def test_classes_by_rank_are_the_prediction_and_its_confidence(
    name: str, score: str, first: int, most: int
) -> None:
    ranks = range(first, first + most)
    table = {name.format(rank): KINDS[RANKED[:, k]] for k, rank in enumerate(ranks)}
    table |= {score.format(rank): SORTED[:, k] for k, rank in enumerate(ranks)}
    plain = oodometer.evaluate({"label": Y3, "prediction": D3, "confidence": Q.max(axis=1)})
    for truth in ("label", "actual"):
        found = oodometer.evaluate({truth: Y3, **table})
        assert found["accuracy"].value == plain["accuracy"].value
        assert found["brier"].value == pytest.approx(plain["brier"].value)
    estimated = oodometer.estimate(
        {"label": Y3, **table}, table, methods=["ac"], backtest=None, diagnosis=False
    )
    assert estimated["ac"].value == pytest.approx(Q.max(axis=1).mean())
    # scores of classes in the order of their names are no ranks
    wide = {score.format(rank): Q[:, k] for k, rank in enumerate(ranks)}
    if first:
        with pytest.raises(InputError):
            oodometer.evaluate({"label": Y3, **table, **wide})
    else:
        found = oodometer.evaluate({"label": Y3, **table, **wide})
        assert found["accuracy"].value == plain["accuracy"].value


def test_probabilities_that_fall_in_every_row_are_warned_of() -> None:
    table = {"label": 1 + Q.argmax(axis=1), **{f"prob_{k + 1}": SORTED[:, k] for k in range(3)}}
    said = "prob_1, prob_2, ... fall from the first to the last in every row"
    assert any(said in line for line in oodometer.evaluate(table).warnings)
    table |= {f"prob_{k + 1}": Q[:, k] for k in range(3)}
    assert not any(said in line for line in oodometer.evaluate(table).warnings)


def test_letters_in_another_case_are_no_errors(tmp_path: Path) -> None:
    letters = np.array(["A", "B", "C"])
    table = pd.DataFrame(
        {"label": letters[Q.argmax(1)], "prediction": np.char.lower(letters[Q.argmax(1)])}
    )
    table.to_csv(tmp_path / "a.csv", index=False)
    for given in (table, tmp_path / "a.csv"):
        with pytest.raises(InputError, match="expected one spelling of a class"):
            oodometer.evaluate(given)
    table.loc[0, "prediction"] = "A"  # now capitals and small letters are classes of one column
    assert oodometer.evaluate(table).rows == ROWS


def test_grades_of_confidence_are_no_percents() -> None:
    with pytest.raises(InputError, match="these look like grades"):
        oodometer.evaluate({"correct": Y, "confidence": 1 + (4 * P).round()})


@pytest.mark.parametrize(
    ("score", "truth"),
    [
        ("fraud_score", "is_fraud"),
        ("churn_probability", "churned"),
        ("p_default", "default_flag"),
        ("ConversionProb", "Converted"),
        ("prob_churn", "churn"),
    ],
)
@pytest.mark.parametrize("good", [True, False])
def test_a_score_and_its_truth_are_called_by_one_outcome(
    score: str, truth: str, good: bool
) -> None:
    """However weak the model is: names and kinds of cells tell; far below chance it is asked of which class it is."""
    right = Y if good else np.where(np.arange(ROWS) % 3, Y, 1 - Y)
    table = pd.DataFrame({**MINE, score: P, truth: right})
    assert guess(opened_raw(table)).renamings == {truth: "label", score: "prob_1"}
    found = oodometer.evaluate(table, metrics=["accuracy"])
    assert found["accuracy"].value == pytest.approx((right == D).mean())
    with raises_snapshot(InputError):
        oodometer.evaluate(table.assign(**{truth: 1 - Y}))


@pytest.mark.parametrize(
    "columns",
    [
        {"fraud_score": P, "amount_is_high": Y},  # another thing
        {"fraud_score": 100 * P, "is_fraud": Y},  # no probability
        {"churn_score": P, "churned": Y, "churn": 1 - Y},  # two truths
        {"customer_score": P, "custom": Y3},  # no outcome of two classes
    ],
)
def test_other_columns_are_not_of_one_outcome(columns: dict[str, Any]) -> None:
    found = guess(opened_raw(pd.DataFrame({**MINE, **columns})))
    assert found.doubt or "label" not in found.renamings.values()


@pytest.mark.parametrize("name", ["fraud_flag", "is_fraud", "fraud"])
def test_what_a_score_decides_is_no_truth_whatever_it_is_called(name: str) -> None:
    """Read as the truth it would say that every row is right."""
    table = pd.DataFrame({**MINE, "fraud_score": P, name: D})
    assert guess(opened_raw(table)).renamings == {name: "prediction", "fraud_score": "prob_1"}
    with pytest.raises(InputError):
        oodometer.evaluate(table)
    found = guess(
        opened_raw(table.assign(fraud_known=Y).rename(columns={"fraud_known": "fraudulent"}))
    )
    assert found.renamings == {name: "prediction", "fraudulent": "label", "fraud_score": "prob_1"}
    nameless = pd.DataFrame({**MINE, "pctr": P, "out": D})
    assert "label" not in guess(opened_raw(nameless)).renamings.values()


@pytest.mark.parametrize("name", ["prob_not_churn", "p_not_churn", "prob_no_churn"])
def test_a_score_of_what_the_truth_is_not(name: str) -> None:
    table = pd.DataFrame({**MINE, name: 1 - P, "churn": Y})
    assert guess(opened_raw(table)).renamings == {"churn": "label", name: "prob_0"}
    found = oodometer.evaluate(table, metrics=["accuracy"])
    assert found["accuracy"].value == pytest.approx((Y == D).mean())


def test_a_class_may_be_the_outcome_that_both_are_called_by() -> None:
    truth = np.where(Y == 1, "fraud", "legit")
    table = pd.DataFrame({**MINE, "fraud_score": P, "fraud": truth})
    assert guess(opened_raw(table)).renamings == {"fraud": "label", "fraud_score": "prob_fraud"}
    decided = table.assign(decision=np.where(P > 0.4, "fraud", "legit"))
    found = guess(opened_raw(decided)).renamings
    assert found == {"fraud": "label", "decision": "prediction", "fraud_score": "prob_fraud"}


def test_no_command_is_offered_that_fails_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels and a confidence without predictions are no truth, whatever the label is called."""
    pd.DataFrame({**MINE, "confidence": P}).to_csv(tmp_path / "c.csv", index=False)
    pd.DataFrame({"id": MINE["id"], "churned": Y}).to_csv(tmp_path / "l.csv", index=False)
    assert main(["evaluate", f"{tmp_path}/c.csv", "--labels", f"{tmp_path}/l.csv"]) == 2
    assert "try: oodometer" not in capsys.readouterr().err
    labelled = pd.DataFrame({"fraud_score": P, "is_fraud": Y})
    for name, table in (("r", labelled), ("t", labelled[["fraud_score"]])):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    assert main(["estimate", f"{tmp_path}/r.csv", f"{tmp_path}/t.csv", "--every", "month"]) == 2
    assert "try: oodometer" not in capsys.readouterr().err


def test_a_score_beside_labels_of_another_file(tmp_path: Path) -> None:
    """The file of scores holds no truth to be held against; the word in its name says what the only share is."""
    pd.DataFrame({**MINE, "churn_score": P}).to_csv(tmp_path / "scores.csv", index=False)
    truth = pd.DataFrame({"id": MINE["id"], "churned": Y}).sample(frac=1, random_state=0)
    truth.to_csv(tmp_path / "truth.csv", index=False)
    found = oodometer.evaluate(
        tmp_path / "scores.csv", labels=tmp_path / "truth.csv", metrics=["accuracy"]
    )
    assert found["accuracy"].value == pytest.approx((Y == D).mean())


@pytest.mark.parametrize(
    ("truth", "answer"),
    [
        ("intent_true", "intent_pred"),
        ("true_intent", "pred_intent"),
        ("Intent (actual)", "Intent (predicted)"),
        ("gt_intent", "pred_intent"),
        ("expected_intent", "detected_intent"),
        ("intent_label", "intent_prediction"),
        ("intent", "intent_hat"),
    ],
)
def test_a_truth_and_an_answer_are_told_by_what_stands_around_one_word(
    truth: str, answer: str
) -> None:
    found = oodometer.evaluate({truth: Y3, answer: D3, "colour": NO_YES[D]})
    assert found["accuracy"].value == pytest.approx((Y3 == D3).mean())


def test_two_truths_of_one_answer_are_asked_about() -> None:
    with raises_snapshot(InputError):
        oodometer.evaluate({"intent": D3[::-1], "intent_true": Y3, "intent_pred": D3})


@pytest.mark.parametrize("score", [P, 100 * P, np.log(P / (1 - P)), 1 - abs(2 * P - 1)])
def test_a_score_beside_a_truth_and_an_answer_is_no_grade(score: Any, tmp_path: Path) -> None:
    table = {"churn": NO_YES[Y], "predicted_churn": NO_YES[D], "score": score}
    pd.DataFrame(table).to_csv(tmp_path / "churn.csv", index=False)
    right = pytest.approx((Y == D).mean())
    assert oodometer.evaluate(table)["accuracy"].value == right
    read = oodometer.read(tmp_path / "churn.csv")
    assert read.accuracy is not None
    assert read.accuracy.value == right


def test_answers_of_several_models_are_asked_about() -> None:
    other = np.roll(D3, 1)
    with raises_snapshot(InputError):
        oodometer.evaluate({"label": Y3, "gpt4": D3, "llama": other})
    with raises_snapshot(InputError):
        oodometer.evaluate({"label": Y, "pred_a": D, "pred_b": 1 - D})
    with raises_snapshot(InputError):
        oodometer.evaluate({"label": Y3, "gpt4": D3})


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "frame"])
@pytest.mark.parametrize(("name", "percent"), [("p_{}", "{:.1f}%"), ("{}", "{:.2f} %")])
def test_percents_of_all_classes_under_names_of_their_own(
    form: str, name: str, percent: str, tmp_path: Path
) -> None:
    written = {
        name.format(k): [percent.format(100 * p).replace(".", ",") for p in Q[:, i]]
        for i, k in enumerate(KINDS)
    }
    table, path = pd.DataFrame({"label": Y3, **written}), tmp_path / f"a.{form}"
    if form == "csv":
        table.to_csv(path, index=False)
    elif form == "jsonl":
        table.to_json(path, orient="records", lines=True)
    elif form == "parquet":
        table.to_parquet(path)
    found = oodometer.evaluate(table if form == "frame" else path)
    assert found["accuracy"].value == pytest.approx((Y3 == D3).mean(), abs=0.01)
    assert found["roc_auc"].value > 0.7
