"""Tables with one trap each: a reading that names suggest and values contradict."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .base import Files, Right, Trap, table
from .drawn import NO_YES, ZERO_ONE, Ints, Model, Rng, ages, area, binary, ids, several

NOTHING = Right(accuracy=None)


def where(mask: Any, values: Sequence[Any], other: Any) -> list[Any]:
    """The values where the mask holds, and the other one elsewhere."""
    return [value if keep else other for keep, value in zip(mask, values, strict=True)]


def second(rng: Rng, model: Model) -> Model:
    """Another model of the same rows, which is less often right."""
    other = (
        several(rng, model.rows, model.names)
        if len(model.names) > 2
        else binary(rng, model.rows, model.names)
    )
    replaced = rng.random(model.rows) < 0.4
    return Model(
        names=model.names,
        true=model.true,
        answered=np.where(replaced, other.answered, model.answered),
        probabilities=np.where(replaced[:, None], other.probabilities, model.probabilities),
    )


# --------------------------------------------------------------------------------- the direction of a probability


@table("y_prob alone, failing", "scikit-learn", Trap.BELOW_CHANCE, "chance")
def _(rng: Rng) -> Files:
    model = binary(rng, 200, NO_YES, worse_than_chance=True)
    return Files(columns={"y_true": model.truth, "y_prob": model.score}, right=model.right)


@table("y_pred_proba and y_pred, failing", "NannyML", Trap.BELOW_CHANCE, "chance")
def _(rng: Rng) -> Files:
    model = binary(rng, worse_than_chance=True)
    columns = {"y_pred_proba": model.score, "y_pred": model.answer, "y_true": model.truth}
    return Files(columns=columns, right=model.right)


@table(".pred_<class>, failing", "R tidymodels", Trap.BELOW_CHANCE, "chance")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES, worse_than_chance=True)
    return Files(columns={"Class": model.truth, **model.wide(".pred_{}")}, right=model.right)


@table("y_prob of fraud, one row in eight", "scikit-learn", Trap.RARE_POSITIVE, "fraud")
def _(rng: Rng) -> Files:
    model = binary(rng, 400, ("ok", "fraud"), share=0.12)
    return Files(columns={"y_true": model.truth, "y_prob": model.score}, right=model.right)


@table("predictionScore of a churned customer", "Arize", Trap.RARE_POSITIVE, "churned")
def _(rng: Rng) -> Files:
    model = binary(rng, 400, ("stayed", "churned"), share=0.15)
    columns = {
        "actualLabel": model.truth,
        "predictionLabel": model.answer,
        "predictionScore": model.score,
    }
    return Files(columns=columns, right=model.right)


@table("phat after logit", "Stata", Trap.RARE_POSITIVE, "defaulted")
def _(rng: Rng) -> Files:
    model = binary(rng, 400, ("repaid", "defaulted"), share=0.15)
    return Files(columns={"outcome": model.truth, "phat": model.score}, right=model.right)


# --------------------------------------------------------------------------------------------- the order of classes


LANDS = ("water", "desert", "green", "clouds")


@table("pred_proba_<number> beside named answers", "scikit-learn", Trap.CLASS_ORDER, "order")
def _(rng: Rng) -> Files:
    model = several(rng, names=LANDS)
    numbered = {f"pred_proba_{k}": model.probabilities[:, k] for k in range(4)}
    return Files(
        columns={"y_true": model.truth, "y_pred": model.answer, **numbered}, right=model.right
    )


@table("id2label beside lists of probabilities", "Hugging Face", Trap.CLASS_ORDER, "order")
def _(rng: Rng) -> Files:
    model = several(rng, 200, ("neutral", "positive", "negative"))
    columns = {"label": model.truth, "prediction": model.answer, "probabilities": model.lists}
    return Files(columns=columns, right=model.right)


@table("class_0, class_1, class_2 of predict", "LightGBM", Trap.CLASS_ORDER, "order")
def _(rng: Rng) -> Files:
    model = several(rng, names=("low", "middle", "high"))
    numbered = {f"class_{k}": model.probabilities[:, k] for k in range(3)}
    return Files(
        columns={"risk": model.truth, **numbered, "predicted_risk": model.answer}, right=model.right
    )


@table("p0 and p1 of yes and no", "Keras", Trap.CLASS_ORDER, "order|p0")
def _(rng: Rng) -> Files:
    model = binary(rng, names=("yes", "no"))
    columns = {
        "y_true": model.truth,
        "y_pred": model.answer,
        "p0": 1 - model.score,
        "p1": model.score,
    }
    return Files(columns=columns, right=model.right)


# ------------------------------------------------------------------------------------------ whose column is `label`?


@table("pipeline: label, score and gold", "Hugging Face", Trap.LABEL_IS_ANSWER, "gold")
def _(rng: Rng) -> Files:
    model = binary(rng, 120, ("NEGATIVE", "POSITIVE"))
    columns = {"label": model.answer, "score": model.confidence, "gold": model.truth}
    return Files(columns=columns, right=model.right)


@table(
    "pipeline of three classes and gold_label", "Hugging Face", Trap.LABEL_IS_ANSWER, "gold_label"
)
def _(rng: Rng) -> Files:
    model = several(rng, 150)
    text = [f"sentence {i}" for i in range(model.rows)]
    columns = {
        "text": text,
        "gold_label": model.truth,
        "label": model.answer,
        "score": model.confidence,
    }
    return Files(columns=columns, right=model.right_answers)


@table("ground_truth, label, proba", "MLflow", Trap.LABEL_IS_ANSWER, "ground_truth")
def _(rng: Rng) -> Files:
    model = binary(rng, 120)
    columns = {"ground_truth": model.truth, "label": model.answer, "proba": model.score}
    return Files(columns=columns, right=model.right)


@table(
    "label of an annotator beside actual and predicted",
    "Label Studio",
    Trap.LABEL_IS_ANSWER,
    "actual",
)
def _(rng: Rng) -> Files:
    model = binary(rng, 150)
    noise = rng.random(model.rows) < 0.2
    columns = {
        "actual": model.truth,
        "predicted": model.answer,
        "label": np.where(noise, 1 - model.true, model.true).tolist(),
    }
    return Files(columns=columns, right=model.right_answers)


@table("Label and Score of version 2", "PyCaret", Trap.LABEL_IS_ANSWER, "Score|Label")
def _(rng: Rng) -> Files:
    model = binary(rng, 200)
    columns = {"target": model.truth, "Label": model.answer, "Score": model.confidence}
    return Files(columns=columns, right=model.right)


# ------------------------------------------------------------------------------------------------ a target's truth


def shifted(
    rng: Rng, names: tuple[Any, ...], lone: bool = True
) -> tuple[Model, dict[str, Any], dict[str, Any]]:
    """A model, and the columns of its outputs in a reference and in a target."""
    model, later = binary(rng, 400, names), binary(rng, 300, names, share=0.6)
    if lone:
        return model, {"score": model.score}, {"score": later.score}
    outputs = [{"predicted_label": one.answer, "probability": one.score} for one in (model, later)]
    return model, outputs[0], outputs[1]


@table(
    "label 0 in every row of the target",
    "scikit-learn",
    Trap.PLACEHOLDER,
    "placeholder|one class|every row|all rows",
)
def _(rng: Rng) -> Files:
    model, known, new = shifted(rng, ZERO_ONE)
    target = {"label": [0] * len(new["score"]), **new}
    return Files(columns={"label": model.truth, **known}, target=target, right=model.right_answers)


@table(
    "churn 'no' in every row of the target",
    "SageMaker",
    Trap.PLACEHOLDER,
    "placeholder|one class|every row|all rows",
)
def _(rng: Rng) -> Files:
    model, known, new = shifted(rng, NO_YES, lone=False)
    target = {"churn": ["no"] * len(new["probability"]), **new}
    return Files(columns={"churn": model.truth, **known}, target=target, right=model.right_answers)


@table("scored data of next month", "SageMaker", Trap.NO_TRUTH)
def _(rng: Rng) -> Files:
    model, known, new = shifted(rng, NO_YES, lone=False)
    return Files(columns={"churn": model.truth, **known}, target=new, right=model.right_answers)


@table("target_PREDICTION, target_LABEL of next month", "DataRobot", Trap.NO_TRUTH)
def _(rng: Rng) -> Files:
    model, later = binary(rng, 400), binary(rng, 300, share=0.6)
    known, new = (
        {"row_id": ids(rng, one.rows), "target_PREDICTION": one.score, "target_LABEL": one.answer}
        for one in (model, later)
    )
    return Files(columns={**known, "target": model.truth}, target=new, right=model.right_answers)


@table("an empty column of truth in the target", "a spreadsheet", Trap.NO_TRUTH)
def _(rng: Rng) -> Files:
    model, later = several(rng, 300), several(rng, 200)
    known, new = ({"Predicted": one.answer, "Confidence": one.confidence} for one in (model, later))
    target = {"Actual": [None] * later.rows, **new}
    return Files(columns={"Actual": model.truth, **known}, target=target, right=model.right_answers)


# --------------------------------------------------------------------------------- a confidence, and what is none


LOW = r"0\.5|confidence|below|1/2|neither class"


@table("probability of the answer alone", "scikit-learn", Trap.LONE_CONFIDENCE, LOW)
def _(rng: Rng) -> Files:
    model = binary(rng, 400)
    return Files(columns={"label": model.truth, "probability": model.confidence}, right=NOTHING)


@table("max_prob beside yes and no", "fastai", Trap.LONE_CONFIDENCE, LOW)
def _(rng: Rng) -> Files:
    model = binary(rng, 300, NO_YES)
    return Files(columns={"target": model.truth, "max_prob": model.confidence}, right=NOTHING)


@table("$C-x and $CC-x of two classes", "SPSS", Trap.LONE_CONFIDENCE, LOW)
def _(rng: Rng) -> Files:
    model = binary(rng, 300, NO_YES)
    columns = {"churn": model.truth, "$C-churn": model.answer, "$CC-churn": model.confidence}
    return Files(columns=columns, right=model.right)


@table("y_pred and y_prob of the answer", "scikit-learn", Trap.LONE_CONFIDENCE, LOW)
def _(rng: Rng) -> Files:
    model = binary(rng, 300)
    columns = {"y_true": model.truth, "y_pred": model.answer, "y_prob": model.confidence}
    return Files(columns=columns, right=model.right)


@table(
    "target_PREDICTION is a number, target_LABEL the class",
    "DataRobot",
    Trap.PROBABILITY,
    "target_PREDICTION",
)
def _(rng: Rng) -> Files:
    model = binary(rng, 200)
    columns = {
        "row_id": ids(rng, model.rows),
        "target_PREDICTION": model.score,
        "target_LABEL": model.answer,
        "target": model.truth,
    }
    return Files(columns=columns, right=model.right)


@table("prediction is a number beside yes and no", "H2O", Trap.PROBABILITY, "prediction")
def _(rng: Rng) -> Files:
    model = binary(rng, 200, NO_YES)
    return Files(columns={"label": model.truth, "prediction": model.score}, right=model.right)


@table("labels and predictions of a sigmoid", "TFMA", Trap.PROBABILITY, "predictions")
def _(rng: Rng) -> Files:
    model = binary(rng, 250)
    return Files(columns={"labels": model.truth, "predictions": model.score}, right=model.right)


@table("predict of xgb.train with binary:logistic", "XGBoost", Trap.PROBABILITY, "y_pred")
def _(rng: Rng) -> Files:
    model = binary(rng, 250, ("bad", "good"))
    return Files(columns={"y_test": model.truth, "y_pred": model.score}, right=model.right)


# -------------------------------------------------------------------------------------------- numbers, not classes


@table("y_true and y_pred with decimals", "scikit-learn", Trap.REGRESSION, "regression")
def _(rng: Rng) -> Files:
    truth = rng.normal(20, 5, 200).round(1)
    columns = {"y_true": truth, "y_pred": (truth + rng.normal(0, 1, 200)).round(1)}
    return Files(columns=columns, right=NOTHING)


@table("prices: actual and predicted", "R caret", Trap.REGRESSION, "regression")
def _(rng: Rng) -> Files:
    truth = rng.lognormal(12, 0.3, 250).round(2)
    columns = {"obs": truth, "pred": (truth * rng.normal(1, 0.1, 250)).round(2)}
    return Files(columns=columns, right=NOTHING)


@table("medv and predict", "H2O", Trap.REGRESSION, "regression")
def _(rng: Rng) -> Files:
    truth = rng.gamma(4, 5, 200)
    columns = {"medv": truth, "predict": truth + rng.normal(0, 3, 200), "rm": rng.normal(6, 1, 200)}
    return Files(columns=columns, right=NOTHING)


def clicks(rng: Rng, rows: int = 300) -> tuple[Model, Ints]:
    """A model of clicks, and the items that were shown."""
    return binary(rng, rows, share=0.3), rng.integers(100, 400, rows)


@table("score and clicked of a recommender", "implicit", Trap.RANKING, "clicked")
def _(rng: Rng) -> Files:
    model, items = clicks(rng)
    score = (0.3 * model.margin - 0.4).round(3)
    columns = {
        "user_id": np.arange(model.rows) // 5,
        "item_id": items,
        "score": score,
        "clicked": model.truth,
    }
    as_logit = float(((score > 0) == model.true).mean())  # a user may take it for one
    return Files(
        columns=columns, right=Right(accuracy=as_logit, roc_auc=area(model.true == 1, score))
    )


@table("bm25 and relevant", "Elasticsearch", Trap.RANKING, "bm25|relevant")
def _(rng: Rng) -> Files:
    model, items = clicks(rng)
    score = (8 + 1.5 * model.margin).round(3)
    columns = {
        "query_id": np.arange(model.rows) // 10,
        "doc_id": items,
        "bm25": score,
        "relevant": model.truth,
    }
    return Files(columns=columns, right=Right(accuracy=None, roc_auc=area(model.true == 1, score)))


@table("margin and label", "XGBoost", Trap.MARGIN, "margin")
def _(rng: Rng) -> Files:
    model = binary(rng, 250)
    return Files(columns={"label": model.truth, "margin": model.margin}, right=model.right)


@table("output_margin beside y_true and y_pred", "XGBoost", Trap.MARGIN, "margin")
def _(rng: Rng) -> Files:
    model = binary(rng, 250, NO_YES)
    return Files(
        columns={"y_true": model.truth, "y_pred": model.answer, "margin": model.margin},
        right=model.right,
    )


@table("output_margin of multi:softprob: margin_<number>", "XGBoost", Trap.MARGIN, "margin_")
def _(rng: Rng) -> Files:
    model = several(rng, names=(0, 1, 2))
    margins = {f"margin_{k}": np.log(model.probabilities[:, k]) + 2 for k in range(3)}
    return Files(columns={"y_true": model.truth, **margins}, right=model.right)


@table("raw_score, y_pred and y_true", "LightGBM", Trap.MARGIN, "raw_score")
def _(rng: Rng) -> Files:
    model = binary(rng, 250)
    columns = {"y_true": model.truth, "y_pred": model.answer, "raw_score": model.margin}
    return Files(columns=columns, right=model.right)


@table("logits_<class>", "PyTorch", Trap.MARGIN, "logits_")
def _(rng: Rng) -> Files:
    model = several(rng)
    logits = {
        f"logits_{name}": np.log(model.probabilities[:, k]) + 2
        for k, name in enumerate(model.names)
    }
    return Files(columns={"target": model.truth, **logits}, right=model.right)


@table("logit_<class> and targets", "PyTorch", Trap.MARGIN, "logit_")
def _(rng: Rng) -> Files:
    model = several(rng)
    logits = {
        f"logit_{name}": np.log(model.probabilities[:, k]) + 2 for k, name in enumerate(model.names)
    }
    return Files(columns={"targets": model.truth, **logits}, right=model.right)


@table("logits_<number> beside pred and target", "PyTorch", Trap.MARGIN, "logits_")
def _(rng: Rng) -> Files:
    model = several(rng, names=(0, 1, 2))
    logits = {f"logits_{k}": np.log(model.probabilities[:, k]) + 2 for k in range(3)}
    return Files(columns={"target": model.truth, "pred": model.answer, **logits}, right=model.right)


@table("decision_function beside y_pred", "scikit-learn", Trap.MARGIN, "decision_function")
def _(rng: Rng) -> Files:
    model = binary(rng, 250, NO_YES)
    columns = {"y_true": model.truth, "y_pred": model.answer, "decision_function": model.margin}
    return Files(columns=columns, right=model.right)


# -------------------------------------------------------------------------------------------------- rows without truth


def partly(rng: Rng, model: Model, share: float = 0.3) -> tuple[Any, Right]:
    """Which rows are labelled, and the accuracy on them."""
    known = rng.random(model.rows) >= share
    return known, Right(accuracy=float((model.true == model.answered)[known].mean()))


@table("-1 for unlabelled", "scikit-learn", Trap.UNLABELLED, "-1")
def _(rng: Rng) -> Files:
    model = binary(rng, 240)
    known, right = partly(rng, model)
    return Files(
        columns={"label": where(known, model.truth, -1), "prediction": model.answer}, right=right
    )


@table("pending in the truth", "a spreadsheet", Trap.UNLABELLED, "pending")
def _(rng: Rng) -> Files:
    model = binary(rng, 200, ("Approve", "Reject"))
    known, right = partly(rng, model)
    columns = {"Case": np.arange(model.rows), "Actual": where(known, model.truth, "pending")}
    return Files(columns={**columns, "Predicted": model.answer}, right=right)


@table("TBD beside probabilities", "R tidymodels", Trap.UNLABELLED, "TBD")
def _(rng: Rng) -> Files:
    model = several(rng, 240)
    known, right = partly(rng, model)
    some = replace(model, true=model.true[known], answered=model.answered[known],
        probabilities=model.probabilities[known])  # fmt: skip
    columns = {
        "species": where(known, model.truth, "TBD"),
        ".pred_class": model.answer,
        **model.wide(".pred_{}"),
    }
    return Files(columns=columns, right=replace(right, roc_auc=some.roc_auc))


@table("unknown as a sentiment", "Label Studio", Trap.UNLABELLED, "unknown")
def _(rng: Rng) -> Files:
    model = several(rng, 200, ("negative", "neutral", "positive"))
    known, right = partly(rng, model)
    columns = {
        "sentiment": where(known, model.truth, "unknown"),
        "predicted_sentiment": model.answer,
    }
    return Files(columns=columns, right=right)


@table("blanks in the truth", "a spreadsheet", Trap.UNLABELLED, "unknown|without")
def _(rng: Rng) -> Files:
    model = binary(rng, 150, ("No", "Yes"))
    known, right = partly(rng, model)
    return Files(
        columns={"Truth": where(known, model.truth, None), "Prediction": model.answer}, right=right
    )


# ------------------------------------------------------------------------------------------ weights, forms, percents


def weighted(rng: Rng, model: Model) -> tuple[Any, Right]:
    """Weights of the rows, larger where the model errs, and the weighted figures."""
    weights = np.where(model.true == model.answered, 1.0, 3.0) * rng.integers(1, 3, model.rows)
    return weights, Right(accuracy=float(np.average(model.true == model.answered, weights=weights)))


@table("y_true, y_pred, sample_weight", "scikit-learn", Trap.WEIGHTS, "weight")
def _(rng: Rng) -> Files:
    model = binary(rng, 200)
    weights, right = weighted(rng, model)
    return Files(
        columns={"y_true": model.truth, "y_pred": model.answer, "sample_weight": weights},
        right=right,
    )


@table("label, predicted_label, example_weight", "TFMA", Trap.WEIGHTS, "weight")
def _(rng: Rng) -> Files:
    model = several(rng, 200)
    weights, right = weighted(rng, model)
    return Files(
        columns={"label": model.truth, "predicted_label": model.answer, "example_weight": weights},
        right=right,
    )


CITIES = ("Zürich", "Málaga", "Orléans")


@table(
    "composed and decomposed accents",
    "a spreadsheet",
    Trap.UNICODE,
    "Unicode|forms|accent|composed|NFC|NFD",
)
def _(rng: Rng) -> Files:
    model = several(rng, 150, CITIES)
    decomposed = [unicodedata.normalize("NFD", name) for name in model.answer]
    return Files(
        columns={"Actual": model.truth, "Predicted": decomposed}, right=model.right_answers
    )


@table("no-break spaces in classes", "Label Studio", Trap.UNICODE, "Unicode|forms|space|blank")
def _(rng: Rng) -> Files:
    model = several(rng, 150, ("New York", "San Jose", "El Paso"))
    spaced = [name.replace(" ", "\u00a0") for name in model.answer]
    return Files(columns={"label": model.truth, "prediction": spaced}, right=model.right_answers)


@table("73.1% in the confidence of yes", "a spreadsheet", Trap.PERCENT, "%|percent")
def _(rng: Rng) -> Files:
    model = binary(rng, 150, NO_YES, digits=3)
    percents = [f"{100 * p:.1f}%" for p in model.score]
    return Files(
        columns={"Actual": model.truth, "Prob yes": percents, "Predicted": model.answer},
        right=model.right,
    )


@table("confidence(<class>) from 0 to 100", "RapidMiner", Trap.PERCENT, "100|percent")
def _(rng: Rng) -> Files:
    model = binary(rng, 200, NO_YES, digits=3)
    percents = {
        name: (100 * column).round(1) for name, column in model.wide("confidence({})").items()
    }
    columns = {"churn": model.truth, "prediction(churn)": model.answer, **percents}
    return Files(columns=columns, right=model.right)


@table("y_prob from 0 to 100", "scikit-learn", Trap.PERCENT, "100|percent")
def _(rng: Rng) -> Files:
    model = binary(rng, 200, digits=3)
    columns = {
        "y_true": model.truth,
        "y_pred": model.answer,
        "y_prob": (100 * model.score).round(1),
    }
    return Files(columns=columns, right=model.right)


# --------------------------------------------------------------------------------------------- columns of other things


@table("utilization beside target and prediction", "Evidently", Trap.INPUT, "utilization")
def _(rng: Rng) -> Files:
    model = binary(rng)
    columns = {
        "utilization": rng.random(model.rows),
        "target": model.truth,
        "prediction": model.answer,
    }
    return Files(columns=columns, right=model.right_answers)


@table("an input that goes with the label", "PyCaret", Trap.INPUT, "discount")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    discount = np.clip(0.35 * model.true + rng.normal(0.3, 0.15, model.rows), 0, 1).round(3)
    columns = {"age": ages(rng, model.rows), "discount": discount, "churn": model.truth}
    return Files(columns={**columns, "prediction_label": model.answer}, right=model.right_answers)


@table("open_rate, an input, beside the probability", "Vertex AI", Trap.INPUT, "rate")
def _(rng: Rng) -> Files:
    model = binary(rng, 400)
    columns = {
        "open_rate": rng.random(model.rows),
        "bought": model.truth,
        "predicted_bought": model.answer,
    }
    return Files(columns={**columns, "predicted_bought_prob": model.score}, right=model.right)


@table("customer and client", "a spreadsheet", Trap.OTHER_ID, "customer|client|--key")
def _(rng: Rng) -> Files:
    model = binary(rng, 150, NO_YES)
    people = [f"K{number}" for number in ids(rng, model.rows)]
    order = rng.permutation(model.rows)
    labels = {"client": [people[i] for i in order], "y_true": [model.truth[i] for i in order]}
    return Files(
        columns={"customer": people, "y_pred": model.answer},
        labels=labels,
        right=model.right_answers,
    )


@table("row_id and id", "DataRobot", Trap.OTHER_ID, "row_id|--key")
def _(rng: Rng) -> Files:
    model = several(rng, 200)
    numbers, order = ids(rng, model.rows), rng.permutation(model.rows)
    labels = {"id": numbers[order], "kind": [model.truth[i] for i in order]}
    return Files(
        columns={"row_id": numbers, "kind_PREDICTION": model.answer},
        labels=labels,
        right=model.right_answers,
    )


@table(
    "case numbers of other names, labels for a part", "SAS", Trap.OTHER_ID, "case_id|CaseNo|--key"
)
def _(rng: Rng) -> Files:
    model = binary(rng, 300, NO_YES)
    numbers, some = ids(rng, model.rows, 50_000), rng.permutation(model.rows)[:180]
    part = replace(model, true=model.true[some], answered=model.answered[some],
        probabilities=model.probabilities[some])  # fmt: skip
    labels = {"CaseNo": numbers[some], "churn": part.truth}
    columns = {"case_id": numbers, "I_churn": model.answer, **model.wide("P_churn{}")}
    return Files(columns=columns, labels=labels, right=part.right)


def solved(rng: Rng, model: Model, column: str, submitted: Sequence[Any]) -> Files:
    """A submission and its solution, which call the answer and the truth alike."""
    numbers, order = ids(rng, model.rows), rng.permutation(model.rows)
    labels = {
        "id": numbers[order],
        column: [model.truth[i] for i in order],
        "Usage": where(rng.random(model.rows) < 0.3, ["Public"] * model.rows, "Private"),
    }
    return Files(columns={"id": numbers, column: submitted}, labels=labels, right=model.right)


@table("target is a probability here and the truth there", "Kaggle", Trap.SAME_NAME, "target")
def _(rng: Rng) -> Files:
    model = binary(rng, 200)
    return solved(rng, model, "target", model.score.tolist())


@table("Cover_Type is the answer here and the truth there", "Kaggle", Trap.SAME_NAME, "Cover_Type")
def _(rng: Rng) -> Files:
    model = several(rng, 250, (1, 2, 3, 4))
    return replace(solved(rng, model, "Cover_Type", model.answer), right=model.right_answers)


@table("label is the answer here and the truth there", "Kaggle", Trap.SAME_NAME, "label")
def _(rng: Rng) -> Files:
    model = several(rng, 200)
    return replace(solved(rng, model, "label", model.answer), right=model.right_answers)


@table("y_pred and y_pred_old", "scikit-learn", Trap.SECOND_MODEL, "y_pred_old|y_prob_old")
def _(rng: Rng) -> Files:
    model = binary(rng)
    old = second(rng, model)
    columns = {
        "y_true": model.truth,
        "y_pred_old": old.answer,
        "y_prob_old": old.score,
        "y_pred": model.answer,
        "y_prob": model.score,
    }
    return Files(columns=columns, right=model.right)


@table("two learners", "Orange", Trap.SECOND_MODEL, "Random Forest|Logistic Regression")
def _(rng: Rng) -> Files:
    model = several(rng)
    forest = second(rng, model)
    columns = {
        "kind": model.truth,
        "Logistic Regression": model.answer,
        **model.wide("Logistic Regression ({})"),
        "Random Forest": forest.answer,
        **forest.wide("Random Forest ({})"),
    }
    return Files(columns=columns, right=NOTHING)


@table("champion_pred and challenger_pred", "MLflow", Trap.SECOND_MODEL, "challenger|champion")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    other = second(rng, model)
    columns = {
        "target": model.truth,
        "challenger_pred": other.answer,
        "champion_pred": model.answer,
    }
    return Files(columns=columns, right=NOTHING)
