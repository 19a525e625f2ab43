"""Tables as tools write them, without a trap: one reading is left, and its numbers are right."""

from __future__ import annotations

import numpy as np

from .base import Files, table
from .drawn import ANIMALS, NO_YES, Rng, ages, binary, days, ids, several


@table("y_true, y_pred, y_prob", "scikit-learn")
def _(rng: Rng) -> Files:
    model = binary(rng)
    return Files(
        columns={"y_true": model.truth, "y_pred": model.answer, "y_prob": model.score},
        right=model.right,
    )


@table("proba_<class> of three classes", "scikit-learn")
def _(rng: Rng) -> Files:
    model = several(rng)
    return Files(columns={"y_true": model.truth, **model.wide("proba_{}")}, right=model.right)


@table("predict_proba joined to y_test", "scikit-learn")
def _(rng: Rng) -> Files:
    model = several(rng, names=(0, 1, 2))
    return Files(
        columns={**model.wide("{}"), "y_test": model.truth, "y_pred": model.answer},
        right=model.right,
    )


@table("pipeline with top_k=None", "Hugging Face")
def _(rng: Rng) -> Files:
    model = binary(rng, 200, ("NEGATIVE", "POSITIVE"))
    scores = []
    for row in model.lists:
        pairs = [{"label": name, "score": p} for name, p in zip(model.names, row, strict=True)]
        scores.append(sorted(pairs, key=lambda pair: -float(str(pair["score"]))))
    return Files(columns={"gold": model.truth, "scores": scores}, right=model.right)


@table("Trainer.predict: logits and label_ids", "Hugging Face")
def _(rng: Rng) -> Files:
    model = several(rng, names=(0, 1, 2))
    logits = [[float(x) for x in row] for row in np.log(model.probabilities) + 1.5]
    return Files(columns={"label_ids": model.truth, "logits": logits}, right=model.right)


@table("predict_model", "PyCaret")
def _(rng: Rng) -> Files:
    model = binary(rng, names=("CH", "MM"))
    columns = {
        "WeekofPurchase": ages(rng, model.rows),
        "Purchase": model.truth,
        "prediction_label": model.answer,
        "prediction_score": model.confidence,
    }
    return Files(columns=columns, right=model.right)


@table("predict_model with raw_score=True", "PyCaret")
def _(rng: Rng) -> Files:
    model = binary(rng)
    columns = {
        "age": ages(rng, model.rows),
        "churn": model.truth,
        "prediction_label": model.answer,
        **model.wide("prediction_score_{}"),
    }
    return Files(columns=columns, right=model.right)


@table("<target>_<class>_PREDICTION", "DataRobot")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    columns = {
        "row_id": np.arange(model.rows),
        "churn": model.truth,
        **model.wide("churn_{}_PREDICTION"),
        "churn_PREDICTION": model.answer,
    }
    return Files(columns=columns, right=model.right)


@table("eval_results_table", "MLflow")
def _(rng: Rng) -> Files:
    model = several(rng, 150)
    inputs = [f"picture {i}" for i in range(model.rows)]
    columns = {"inputs": inputs, "targets": model.truth, "outputs": model.answer}
    return Files(columns=columns, right=model.right_answers)


@table("targets and predictions", "MLflow")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    return Files(
        columns={"targets": model.truth, "predictions": model.answer}, right=model.right_answers
    )


@table("predict, <class>", "H2O")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    columns = {"response": model.truth, "predict": model.answer, **model.wide("{}")}
    return Files(columns=columns, right=model.right)


@table("predict, p0, p1", "H2O")
def _(rng: Rng) -> Files:
    model = binary(rng)
    columns = {"survived": model.truth, "predict": model.answer, **model.wide("p{}")}
    return Files(columns=columns, right=model.right)


@table("savePredictions of train", "R caret")
def _(rng: Rng) -> Files:
    model = several(rng)
    columns = {
        "pred": model.answer,
        "obs": model.truth,
        **model.wide("{}"),
        "rowIndex": ids(rng, model.rows, 1),
        "Resample": [f"Fold{1 + i % 5}" for i in range(model.rows)],
    }
    return Files(columns=columns, right=model.right)


@table("augment: .pred_class, .pred_<class>", "R tidymodels")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    columns = {"Class": model.truth, ".pred_class": model.answer, **model.wide(".pred_{}")}
    return Files(columns=columns, right=model.right)


@table("collect_predictions", "R tidymodels")
def _(rng: Rng) -> Files:
    model = several(rng)
    columns = {
        **model.wide(".pred_{}"),
        "id": [f"Fold{1 + i % 10:02d}" for i in range(model.rows)],
        ".row": ids(rng, model.rows, 1),
        "species": model.truth,
        ".pred_class": model.answer,
        ".config": ["Preprocessor1_Model1"] * model.rows,
    }
    return Files(columns=columns, right=model.right)


@table("ML.PREDICT: predicted_<label>_probs", "BigQuery ML")
def _(rng: Rng) -> Files:
    model = binary(rng, 250, NO_YES)
    structs = [
        [{"label": name, "prob": p} for name, p in zip(model.names, row, strict=True)]
        for row in model.lists
    ]
    columns = {
        "predicted_churn": model.answer,
        "predicted_churn_probs": structs,
        "churn": model.truth,
    }
    return Files(columns=columns, right=model.right)


@table("batch prediction: <label>_<class>_scores", "Vertex AI")
def _(rng: Rng) -> Files:
    model = several(rng, 240)
    columns = {"age": ages(rng, model.rows), "kind": model.truth, **model.wide("kind_{}_scores")}
    return Files(columns=columns, right=model.right)


@table("batch prediction: classes and scores", "Vertex AI")
def _(rng: Rng) -> Files:
    model = several(rng, 200)
    cells = [{"classes": list(model.names), "scores": row} for row in model.lists]
    return Files(columns={"kind": model.truth, "predicted_kind": cells}, right=model.right)


@table("batch prediction: instance and prediction", "Vertex AI")
def _(rng: Rng) -> Files:
    model = several(rng, 200)
    instances = [
        {"age": int(age), "kind": name}
        for age, name in zip(ages(rng, 200), model.truth, strict=True)
    ]
    cells = [{"classes": list(model.names), "scores": row} for row in model.lists]
    return Files(columns={"instance": instances, "prediction": cells}, right=model.right)


@table("batch prediction beside the truth: prediction", "Vertex AI")
def _(rng: Rng) -> Files:
    model = several(rng, 200)
    cells = [{"classes": list(model.names), "scores": row} for row in model.lists]
    return Files(columns={"kind": model.truth, "prediction": cells}, right=model.right)


@table("batch prediction of images: displayNames, confidences", "Vertex AI")
def _(rng: Rng) -> Files:
    model = several(rng, 200)
    order = np.argsort(-model.probabilities, axis=1)
    cells = [
        {
            "ids": [str(7000 + int(k)) for k in row],
            "displayNames": [model.names[k] for k in row],
            "confidences": [float(p[k]) for k in row],
        }
        for p, row in zip(model.probabilities, order, strict=True)
    ]
    return Files(columns={"ground_truth": model.truth, "prediction": cells}, right=model.right)


@table("batch transform: predicted_label, probability", "SageMaker")
def _(rng: Rng) -> Files:
    model = binary(rng)
    columns = {"churn": model.truth, "predicted_label": model.answer, "probability": model.score}
    return Files(columns=columns, right=model.right)


@table("Autopilot: probabilities and labels", "SageMaker")
def _(rng: Rng) -> Files:
    model = binary(rng, 200, NO_YES)
    columns = {
        "churn": model.truth,
        "predicted_label": model.answer,
        "probabilities": model.lists,
        "labels": [list(model.names)] * model.rows,
    }
    return Files(columns=columns, right=model.right)


@table("inference pipeline: labels and probabilities alone", "SageMaker")
def _(rng: Rng) -> Files:
    model = several(rng, 200)
    columns = {
        "kind": model.truth,
        "labels": [list(model.names)] * model.rows,
        "probabilities": model.lists,
    }
    return Files(columns=columns, right=model.right)


@table("inference pipeline: labels in falling order of probability", "SageMaker")
def _(rng: Rng) -> Files:
    model = several(rng, 200)
    order = np.argsort(-model.probabilities, axis=1)
    columns = {
        "kind": model.truth,
        "predicted_label": model.answer,
        "labels": [[model.names[k] for k in row] for row in order],
        "probabilities": [
            [float(p[k]) for k in row] for p, row in zip(model.probabilities, order, strict=True)
        ],
    }
    return Files(columns=columns, right=model.right)


@table("Scored Labels, Scored Probabilities", "Azure ML")
def _(rng: Rng) -> Files:
    model = binary(rng, names=("<=50K", ">50K"))
    columns = {
        "age": ages(rng, model.rows),
        "income": model.truth,
        "Scored Labels": model.answer,
        "Scored Probabilities": model.score,
    }
    return Files(columns=columns, right=model.right)


@table("Scored Probabilities_<class>", "Azure ML")
def _(rng: Rng) -> Files:
    model = several(rng)
    columns = {
        "kind": model.truth,
        **model.wide("Scored Probabilities_{}"),
        "Scored Labels": model.answer,
    }
    return Files(columns=columns, right=model.right)


@table("label, rawPrediction, probability, prediction", "Spark")
def _(rng: Rng) -> Files:
    model = binary(rng, 200, (0.0, 1.0))
    columns = {
        "label": model.truth,
        "rawPrediction": [[-float(x), float(x)] for x in model.margin],
        "probability": model.lists,
        "prediction": model.answer,
    }
    return Files(columns=columns, right=model.right)


@table("inference table with prediction and label", "Databricks")
def _(rng: Rng) -> Files:
    model = several(rng)
    columns = {
        "timestamp": days(model.rows),
        "model_id": ["champion-3"] * model.rows,
        "prediction": model.answer,
        "label": model.truth,
    }
    return Files(columns=columns, right=model.right_answers)


@table("predict_proba beside the class", "AutoGluon")
def _(rng: Rng) -> Files:
    model = binary(rng, names=("bad", "good"))
    columns = {"class": model.truth, "pred": model.answer, **model.wide("{}")}
    return Files(columns=columns, right=model.right)


@table("calc: SampleId, Label, Probability, Class", "CatBoost")
def _(rng: Rng) -> Files:
    model = binary(rng)
    columns = {
        "SampleId": np.arange(model.rows),
        "Probability": model.score,
        "Class": model.answer,
        "Label": model.truth,
    }
    return Files(columns=columns, right=model.right)


@table("interpretation: prediction, actual, loss, probability", "fastai")
def _(rng: Rng) -> Files:
    model = several(rng, 200)
    loss = -np.log(model.probabilities[np.arange(model.rows), model.true])
    columns = {
        "prediction": model.answer,
        "actual": model.truth,
        "loss": loss,
        "probability": model.confidence,
    }
    return Files(columns=columns, right=model.right_answers)


@table("softmax_<number> and y_true", "Keras")
def _(rng: Rng) -> Files:
    model = several(rng, names=(0, 1, 2, 3))
    return Files(columns={"y_true": model.truth, **model.wide("softmax_{}")}, right=model.right)


@table("class_ids and probabilities of an estimator", "TensorFlow")
def _(rng: Rng) -> Files:
    model = several(rng, 200, (0, 1, 2))
    columns = {"label": model.truth, "class_ids": model.answer, "probabilities": model.lists}
    return Files(columns=columns, right=model.right)


@table("explorer: inst#, actual, predicted, error, prediction", "Weka")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    columns = {
        "inst#": np.arange(1, model.rows + 1),
        "actual": [f"{k + 1}:{model.names[k]}" for k in model.true],
        "predicted": [f"{k + 1}:{model.names[k]}" for k in model.answered],
        "error": ["+" if wrong else "" for wrong in model.true != model.answered],
        "prediction": model.confidence,
    }
    return Files(columns=columns, right=model.right)


@table("prediction(x), confidence(<class>)", "RapidMiner")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    columns = {
        "churn": model.truth,
        "prediction(churn)": model.answer,
        **model.wide("confidence({})"),
    }
    return Files(columns=columns, right=model.right)


@table("Prediction (x), P (x=<class>)", "KNIME")
def _(rng: Rng) -> Files:
    model = several(rng)
    columns = {"kind": model.truth, **model.wide("P (kind={})"), "Prediction (kind)": model.answer}
    return Files(columns=columns, right=model.right)


@table("a column named after the learner", "Orange")
def _(rng: Rng) -> Files:
    model = several(rng)
    name = "Logistic Regression"
    columns = {"kind": model.truth, name: model.answer, **model.wide(name + " ({})")}
    return Files(columns=columns, right=model.right)


@table("F_x, I_x, P_x<class>", "SAS")
def _(rng: Rng) -> Files:
    model = binary(rng, names=("NO", "YES"))
    columns = {"F_churn": model.truth, "I_churn": model.answer, **model.wide("P_churn{}")}
    return Files(columns=columns, right=model.right)


@table("PRE_1, PGR_1 of logistic regression", "SPSS")
def _(rng: Rng) -> Files:
    model = binary(rng)
    return Files(
        columns={"default": model.truth, "PRE_1": model.score, "PGR_1": model.answer},
        right=model.right,
    )


@table("$L-x, $LP-x of the modeler", "SPSS")
def _(rng: Rng) -> Files:
    model = several(rng)
    columns = {"kind": model.truth, "$L-kind": model.answer, "$LP-kind": model.confidence}
    return Files(columns=columns, right=model.right_answers)


@table("Prob[x], Most Likely", "JMP")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    columns = {"churn": model.truth, **model.wide("Prob[{}]"), "Most Likely churn": model.answer}
    return Files(columns=columns, right=model.right)


@table("<x>_predictions, <x>_probabilities_<class>", "Ludwig")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    columns = {
        "churn": model.truth,
        "churn_predictions": model.answer,
        **model.wide("churn_probabilities_{}"),
        "churn_probability": model.confidence,
    }
    return Files(columns=columns, right=model.right)


@table("prediction, proba_<class>", "Dataiku")
def _(rng: Rng) -> Files:
    model = binary(rng, names=NO_YES)
    columns = {
        "churn": model.truth,
        **model.wide("proba_{}"),
        "prediction": model.answer,
        "prediction_correct": (model.true == model.answered).tolist(),
    }
    return Files(columns=columns, right=model.right)


@table("submission and solution of classes", "Kaggle")
def _(rng: Rng) -> Files:
    model = several(rng)
    numbers = ids(rng, model.rows)
    order = rng.permutation(model.rows)
    labels = {"id": numbers[order], "label": [model.truth[i] for i in order]}
    return Files(
        columns={"id": numbers, "prediction": model.answer},
        labels=labels,
        right=model.right_answers,
    )


@table("target, prediction and a column a class", "Evidently")
def _(rng: Rng) -> Files:
    model = several(rng)
    columns = {"target": model.truth, "prediction": model.answer, **model.wide("{}")}
    return Files(columns=columns, right=model.right)


@table("timestamp, y_pred_proba, y_pred, y_true", "NannyML")
def _(rng: Rng) -> Files:
    model = binary(rng, 400)
    columns = {
        "timestamp": days(model.rows),
        "y_pred_proba": model.score,
        "y_pred": model.answer,
        "y_true": model.truth,
    }
    return Files(columns=columns, right=model.right)


@table("y, y_hat and probs", "Alibi")
def _(rng: Rng) -> Files:
    model = several(rng, 200, (0, 1, 2))
    return Files(
        columns={"y": model.truth, "y_hat": model.answer, "probs": model.lists}, right=model.right
    )


@table("export as CSV with a choice", "Label Studio")
def _(rng: Rng) -> Files:
    model = several(rng, 150, ("negative", "neutral", "positive"))
    columns = {
        "id": np.arange(1, model.rows + 1),
        "text": [f"This is comment number {i} of the file." for i in range(model.rows)],
        "sentiment": model.truth,
        "predicted_sentiment": model.answer,
        "annotator": rng.integers(1, 4, model.rows),
        "lead_time": rng.gamma(2, 5, model.rows).round(3),
    }
    return Files(columns=columns, right=model.right_answers)


@table("YES beside Yes", "a spreadsheet", cause="case|capital|upper")
def _(rng: Rng) -> Files:
    model = binary(rng, 120, ("No", "Yes"))
    shout = [str(name).upper() if i % 7 == 0 else name for i, name in enumerate(model.answer)]
    columns = {"Case No": np.arange(1, model.rows + 1), "Actual": model.truth, "Predicted": shout}
    return Files(columns=columns, right=model.right_answers)


@table("blanks around cells and names", "a spreadsheet", cause="blank|space")
def _(rng: Rng) -> Files:
    model = several(rng, 130, ("Late", "On time", "Lost"))
    padded = [f"{name} " if i % 5 == 0 else name for i, name in enumerate(model.answer)]
    return Files(columns={"Truth ": model.truth, " Prediction": padded}, right=model.right_answers)


@table("Ytrue, Ypred, scores_<class>", "MATLAB")
def _(rng: Rng) -> Files:
    model = several(rng)
    columns = {"Ytrue": model.truth, "Ypred": model.answer, **model.wide("scores_{}")}
    return Files(columns=columns, right=model.right)


@table("Model answer, Correct answer, Sure (0-1)", "a spreadsheet")
def _(rng: Rng) -> Files:
    model = several(rng, 150, ANIMALS)
    columns = {
        "Model answer": model.answer,
        "Correct answer": model.truth,
        "Sure (0-1)": model.confidence.round(2),
    }
    return Files(columns=columns, right=model.right_answers)
