"""One log-probability an output, as logs of language models have it: found by name and numbers in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer import InputError, Predictions

RNG = np.random.default_rng(0)
LOGPROB = -np.exp(RNG.normal(-1.2, 0.7, 300)).round(4)
CORRECT = RNG.random(300) < np.exp(LOGPROB)
LOG = pd.DataFrame(
    {
        "qid": [f"q{i}" for i in range(300)],
        "response": [f"answer {i}" for i in range(300)],
        "avg_logprob": LOGPROB,
        "tokens": RNG.integers(5, 60, 300),
    }
)
LABELLED = LOG.assign(is_correct=CORRECT)


def written(table: pd.DataFrame, folder: Path, name: str, form: str) -> Any:
    """The table in a form."""
    path = folder / f"{name}.{form}"
    match form:
        case "frame":
            return table
        case "csv":
            table.to_csv(path, index=False)
        case "parquet":
            table.to_parquet(path)
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_dict("records")))
    return path


@pytest.mark.parametrize("form", ["frame", "csv", "parquet", "jsonl"])
def test_a_log_probability_is_the_confidence_in_every_form(form: str, tmp_path: Path) -> None:
    files = [written(t, tmp_path, n, form) for t, n in ((LABELLED, "dev"), (LOG, "prod"))]
    found = oodometer.estimate(*files, methods=["ac", "doc", "atc"], backtest="none")
    confidences = [
        Predictions.from_confidence(np.exp(LOGPROB), correct=CORRECT),
        Predictions.from_confidence(np.exp(LOGPROB)),
    ]
    plain = oodometer.estimate(*confidences, methods=["doc", "atc"], backtest="none")
    for name in ("doc", "atc"):
        assert found[name].value == pytest.approx(plain[name].value)


def test_a_number_a_sample_is_a_list_of_one() -> None:
    record = Predictions.from_arrays(token_logprobs=LOGPROB, correct=CORRECT)
    listed = Predictions.from_arrays(token_logprobs=[[x] for x in LOGPROB], correct=CORRECT)
    assert record.token_logprobs is not None
    assert listed.token_logprobs is not None
    np.testing.assert_array_equal(record.token_logprobs.offsets, listed.token_logprobs.offsets)
    np.testing.assert_array_equal(record.token_logprobs.values, listed.token_logprobs.values)


@pytest.mark.parametrize(
    "columns",
    [
        {"avg_logprob": -LOGPROB},  # a loss: no log-probability is above 0
        {"avg_logprob": np.where(np.arange(300) == 7, np.nan, LOGPROB)},
        {"cum_logprob": 20 * LOGPROB},  # two of them: which one is the user's to say
    ],
)
def test_what_may_be_something_else_is_not_guessed(columns: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        oodometer.estimate(LABELLED.assign(**columns), LOG.assign(**columns))


def test_the_name_for_it_stands_in_the_error_of_a_confidence() -> None:
    with pytest.raises(InputError, match="column logprob"):
        Predictions.from_confidence(LOGPROB)
    mapping = {"avg_logprob": "logprob", "is_correct": "correct"}
    found = oodometer.evaluate(
        LABELLED.assign(cum_logprob=1.0), mapping=mapping, metrics=["accuracy", "auroc"]
    )
    assert found["accuracy"].value == pytest.approx(CORRECT.mean())
