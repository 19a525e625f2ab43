"""Results of each kind from small tables, made once for all tests of outputs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oodometer
from oodometer.results import Interval
from oodometer.results.estimation import Headline
from oodometer.results.ranking import FewShotRanking
from oodometer.testing import example_record

EVIL = "<b>&\"'</b>"  # the name of a slice: markup, anywhere that forgot to escape it
METHODS = ["source", "atc", "cbpe"]
KINDS = ["estimate", "slices", "metrics", "methods", "evaluate", "evaluations", "diagnose", "audit"]
KINDS += ["judge audit", "backtest", "compare", "rank", "battles", "history"]
KINDS += ["judges", "stress"] if find_spec("oodometer_lab") else []
"""Names of `made`."""


def table(rows: int, seed: int, difficulty: float = 1.0, labelled: bool = True) -> pa.Table:
    """A predictions table of four classes, three weeks long, in two places."""
    record = example_record(rows, seed=seed, difficulty=difficulty)
    rng = np.random.default_rng(seed)
    days = np.datetime64("2026-01-05") + np.sort(rng.integers(0, 21, rows)).astype("timedelta64[D]")
    p = record.probabilities
    columns: dict[str, Any] = {f"prob_{k}": p[:, k] for k in range(p.shape[1])}
    columns |= {
        "time": days,
        "place": rng.choice(["north", EVIL], rows).tolist(),
        "id": np.arange(rows),
    }
    columns["size"] = rng.normal(seed, 1, rows)
    return pa.table(columns | ({"label": record.label} if labelled else {}))


@pytest.fixture(scope="session")
def tables() -> tuple[pa.Table, pa.Table, pa.Table]:
    """Reference, target without labels, and the same target with them."""
    return table(500, 1), table(400, 2, 1.5, labelled=False), table(400, 2, 1.5)


def ranked() -> FewShotRanking:
    """Two models with 60 labels and a pool; the first is the better one."""
    labelled = table(400, 2)
    few = labelled.slice(0, 60).select(["id", "label"])
    models = {"a": labelled.drop_columns(["label"]), EVIL: table(400, 2, 3.0, labelled=False)}
    return oodometer.rank(models, examples=few)


def preferred() -> Any:
    """60 battles of three models on 20 prompts; the first is the strongest."""
    rng = np.random.default_rng(0)
    pairs = [("a", "b"), ("b", EVIL), ("a", EVIL)] * 20
    winners = [str(rng.choice(["model_a", "model_b", "tie"], p=[0.6, 0.2, 0.2])) for _ in pairs]
    first, second = zip(*pairs, strict=True)
    prompts = np.repeat(np.arange(20), 3)
    columns = {"model_a": first, "model_b": second, "winner": winners, "question_id": prompts}
    return oodometer.rank(pa.table(columns))


def judged() -> Any:
    """Six outputs and three rules: 2 are accepted by all, 5 by some."""
    from oodometer_lab.discriminators import Panel, RuleDiscriminator
    from oodometer_lab.verbs.discriminate import judge_outputs

    rules = (
        lambda i, o: o.isupper(),
        lambda i, o: len(i) == len(o),
        lambda i, o: i.lower() == o.lower(),
    )
    rows = {"input": list("abcdef"), "output": ["A", "B", "c", "DD", "", "x"]}
    return judge_outputs(Panel([RuleDiscriminator(one) for one in rules]), rows)


def stressed() -> Any:
    """One model on data as they are and at two severities, the numbers by hand."""
    from oodometer_lab.results.stressing import StressCurve, StressedModel, StressPoint, StressTest

    def point(severity: str | None, accuracy: float, estimate: float) -> Any:
        truth = Interval(accuracy, accuracy - 0.03, accuracy + 0.03, 0.95, "exact")
        around = Interval(estimate, estimate - 0.05, estimate + 0.05, 0.95, "empirical")
        told = Headline(around, "backtest", "nothing changed", "high", "measured")
        return StressPoint(
            severity,
            200,
            {},
            9.0,
            1.0,
            ("p.parquet",),
            0,
            {"accuracy": truth},
            0,
            {},
            estimate=told,
        )

    points = (point(None, 0.9, 0.91), point("0.1", 0.8, 0.83), point("0.2", 0.7, 0.66))
    curve = StressCurve("typos", "letters are swapped", "words", 0, points)
    model = StressedModel(EVIL, ("m",), {"rows": 300, "accuracy": 0.9}, (curve,))
    about: dict[str, Any] = {
        "version": "0",
        "data": "d.csv",
        "out": "o",
        "modality": "text",
        "rows": 200,
        "refused": {},
    }
    about |= {
        "labelled": True,
        "reference": {"source": "d.csv", "rows": 300},
        "level": 0.95,
        "seed": 0,
        "repeats": 1,
    }
    return StressTest(**about, models=(model,))


def audited_judge() -> Any:
    """300 verdicts of a judge who is right in about 85 %, people's on 60 of them."""
    rng = np.random.default_rng(0)
    truth = rng.random(300) < 0.7
    verdicts = np.where(rng.random(300) < 0.85, truth, ~truth)
    human = [bool(one) if i < 60 else None for i, one in enumerate(truth)]
    return oodometer.audit(
        pa.table({"judge": verdicts, "human": human}), judge="judge", labels="human"
    )


@pytest.fixture(scope="session")
def past(tables: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The history of two runs, two weeks of labels further on."""
    store = str(tmp_path_factory.mktemp("store") / "runs.sqlite")
    common: dict[str, Any] = {"methods": METHODS, "backtest": None, "every": "7d", "store": store}
    for target in tables[1:]:
        oodometer.estimate(tables[0], target, **common)
    return oodometer.history(store)


@pytest.fixture(scope="session")
def made(tables: Any, past: Any) -> dict[str, Any]:
    """Name of a verb -> what it found."""
    reference, target, labelled = tables
    common: dict[str, Any] = {"methods": METHODS, "backtest": None}
    known = [one if i < 60 else None for i, one in enumerate(labelled["label"].to_pylist())]
    return {
        "estimate": oodometer.estimate(reference, labelled, every="7d", **common),
        "slices": oodometer.estimate(reference, target, by="place", **common),
        "metrics": oodometer.estimate(
            reference, labelled, by="place", metrics=["f1", "mcc"], features=["size"], **common
        ),
        "methods": oodometer.estimate(reference, target, **common),
        "evaluate": oodometer.evaluate(reference, by="place"),
        "evaluations": oodometer.evaluate(reference, labelled),
        "diagnose": oodometer.diagnose(reference, target),
        "judge audit": audited_judge(),
        "history": past,
        "audit": oodometer.audit(reference, target, labels=[{"label": known}], methods=METHODS),
        "backtest": oodometer.backtest(
            reference, methods=METHODS, families=["none"], repeats=2, cache=None
        ),
        "compare": oodometer.compare([reference, table(500, 1, 2.0)], names=["a", EVIL]),
        "rank": ranked(),
        "battles": preferred(),
        **({"judges": judged(), "stress": stressed()} if find_spec("oodometer_lab") else {}),
    }
