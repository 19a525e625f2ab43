"""Documented calls with the types of their results: mypy reads this file as editors do, and a test runs it."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import oodometer as o
from oodometer.results.evaluation import Evaluations


def main() -> None:
    """Every form of every call that takes arrays."""
    rng = np.random.default_rng(0)
    p, p_target = rng.dirichlet([1, 1], 200), rng.dirichlet([1, 1], 100)
    y = (rng.random(200) < p[:, 1]).astype(int)
    table: dict[str, Any] = {"probabilities": p, "label": y}

    found = o.estimate(y, p, p_target, methods=["source", "atc"], backtest=None)
    assert_type(found, o.Estimation)
    assert_type(found["atc"], o.Estimate)
    assert_type(list(found), list[str])
    assert_type(found.get("atc"), o.Estimate | None)
    assert_type(found.headline.interval, o.Interval)
    assert_type(
        o.estimate(reference=table, target={"probabilities": p_target}, backtest=None), o.Estimation
    )

    columns, run = o.Columns(positive="b", cluster="user"), o.Run(workers=1)
    assert_type(columns, o.Columns)
    inference, alarms = o.Inference(backtest=None, seed=1), o.Alarms(fail_drop=0.5)
    users = {**table, "user": np.arange(200) // 2}
    groups = o.estimate(
        users,
        {"probabilities": p_target, "user": np.arange(100)},
        columns=o.Columns(cluster="user"),
        run=run,
        alarms=alarms,
        inference=inference,
        methods=["ac"],
    )
    assert_type(groups, o.Estimation)
    assert_type(o.estimate(y, p, p_target, workers=1, seed=1, backtest=None), o.Estimation)
    assert_type(o.evaluate(users, columns=o.Columns(cluster="user"), run=run), o.Evaluation)
    assert_type(o.fit(y, p, run=run, inference=inference, methods=["ac"]), o.Oodometer)
    assert_type(
        o.compare([table, {**table, "probabilities": p[::-1]}], run=run, alarms=alarms),
        o.Comparison,
    )

    made = o.Oodometer(methods=["source"], backtest=None).fit(y, p)
    assert_type(made, o.Oodometer)
    assert_type(made.estimate(p_target, labels=[0, 1] * 50), o.Estimation)
    assert_type(o.fit(y, p, methods=["source"], backtest=None), o.Oodometer)

    assert_type(o.diagnose(y, p, p_target, seed=1), o.Diagnosis)
    assert_type(o.audit(y, p, p_target, labels=[0, 1] * 50, methods=["ac"]), o.Audit)
    assert_type(o.evaluate(table), o.Evaluation)
    assert_type(o.evaluate([0, 1] * 100, p, metrics=["accuracy"]), o.Evaluation)
    assert_type(
        o.evaluate(table, {"probabilities": p, "label": y}, metrics=["accuracy"]), Evaluations
    )
    assert_type(o.evaluate(y, p, p[::-1], metrics=["accuracy"]), Evaluations)
    assert_type(
        o.backtest(y, p, methods=["source"], families=["none"], repeats=1, cache=None), o.Backtest
    )
    assert_type(o.compare([table, {**table, "probabilities": p[::-1]}]), o.Comparison)
    assert_type(o.Predictions.from_probabilities(p, label=y), o.Predictions)
    assert_type(o.load(table), o.Predictions)


if __name__ == "__main__":
    main()
