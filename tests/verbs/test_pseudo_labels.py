"""The verb `pseudo_labels`: the accepted rows against a loop, their precision, files, faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.errors import InputError, UsageError
from oodometer.intervals import clopper_pearson
from oodometer.store import as_source
from oodometer_lab.verbs.discriminate.judged import pseudo_labels

from ..snapshots import raises_snapshot

ROWS = 500
RNG = np.random.default_rng(0)
RIGHT = RNG.random(ROWS) < 0.6
VOTES = np.where(RIGHT, RNG.random((4, ROWS)) < 0.9, RNG.random((4, ROWS)) < 0.3)
DATA: dict[str, Any] = {
    "votes": VOTES,
    "input": np.array([f"question {i}" for i in range(ROWS)], dtype=object),
    "output": np.array([f"answer {i}" for i in range(ROWS)], dtype=object),
    "correct": RIGHT,
}


@pytest.mark.parametrize("agree", [None, 4, 3, 1])
def test_the_accepted_rows_are_those_of_a_loop(agree: int | None) -> None:
    found = pseudo_labels(DATA, agree=agree)
    rows = [i for i in range(ROWS) if sum(VOTES[:, i]) >= (agree or 4)]
    assert found.record.output.tolist() == [f"answer {i}" for i in rows]
    assert found.record.input.tolist() == [f"question {i}" for i in rows]
    assert found.record.columns["row"].tolist() == rows
    hits = sum(bool(RIGHT[i]) for i in rows)
    assert found.precision.value == pytest.approx(hits / len(rows))
    assert (found.precision.lower, found.precision.upper) == pytest.approx(
        clopper_pearson(hits, len(rows), 0.95)
    )
    assert found.precision.kind == "exact"
    assert found.accuracy.value == pytest.approx(RIGHT.mean())
    assert found.accepted.value == pytest.approx(len(rows) / ROWS)
    assert found.ladder[(agree or 4) - 1]["kept"] == len(rows) == len(found)


def test_the_more_must_agree_the_fewer_and_the_purer() -> None:
    ladder = pseudo_labels(DATA).ladder
    kept = [step["kept"] for step in ladder]
    assert kept == sorted(kept, reverse=True)
    precision = [step["precision"].value for step in ladder]
    assert precision == sorted(precision)


def test_precision_is_measured_where_truth_is_known_and_never_assumed() -> None:
    some = [bool(r) if i % 10 == 0 else None for i, r in enumerate(RIGHT)]
    found = pseudo_labels({**DATA, "correct": some})
    known = [i for i in range(0, ROWS, 10) if VOTES[:, i].all()]
    assert found.precision.value == pytest.approx(np.mean(RIGHT[known]))
    bare = pseudo_labels({k: v for k, v in DATA.items() if k != "correct"})
    assert (bare.precision, bare.accuracy) == (None, None)
    assert len(bare) == len(found)


def test_labels_and_predictions_will_do_for_the_truth() -> None:
    data = {"votes": [[1, 1, 0]], "prediction": [0, 1, 1], "label": [0, 0, 1]}
    found = pseudo_labels(data)
    assert found.precision.value == 0.5
    unjudged = pseudo_labels({"votes": [[1, 1, 0]], "label": [0, 0, 1]})
    assert unjudged.precision is None


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_files(tmp_path: Path, ending: str) -> None:
    source, out = tmp_path / "judged.jsonl", tmp_path / f"pairs.{ending}"
    with source.open("w") as file:
        for i in range(ROWS):
            row = {"id": f"s{i}", "source": f"question {i}", "output": f"answer {i}",
                   "votes": [bool(v) for v in VOTES[:, i]], "correct": bool(RIGHT[i])}  # fmt: skip
            file.write(json.dumps(row) + "\n")
    found = pseudo_labels(source, out=out, mapping={"source": "input"})
    opened = as_source(out, extra_columns=["row", "id"])
    assert set(opened.columns) == {"input", "output", "row", "id"}  # neither truth nor votes
    back = opened.read(["input", "output"])
    assert back.input.tolist() == found.record.input.tolist()
    assert back.output.tolist() == found.record.output.tolist()
    assert back.columns["id"].tolist() == [f"s{i}" for i in back.columns["row"].tolist()]


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pseudo_labels(DATA)
    record = Predictions.from_arrays(**DATA)
    monkeypatch.setattr(
        "oodometer.store.memory.RecordSource.batches",
        lambda self, fields=None, rows=0: self.record.batches(37),
    )
    cut = pseudo_labels(record)
    assert cut.to_dict() == whole.to_dict()
    assert cut.record.columns["row"].tolist() == whole.record.columns["row"].tolist()


def test_json() -> None:
    out = json.loads(json.dumps(pseudo_labels(DATA, agree=3).to_dict(), allow_nan=False))
    assert (out["command"], out["judges"], out["agree"]) == ("pseudo_labels", 4, 3)
    assert out["kept"] == out["ladder"][2]["kept"]
    assert set(out["precision"]) == {"value", "lower", "upper", "level", "kind"}


def test_faults(tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    with raises_snapshot(InputError):
        pseudo_labels({"confidence": [0.5]})
    with raises_snapshot(InputError):
        pseudo_labels({"votes": [[1]]}, out=out)
    with raises_snapshot(InputError):
        pseudo_labels({"votes": [[1], [0]], "input": ["a"], "output": ["b"]}, out=out)
    assert not out.exists()
    for agree in (0, 5):
        with raises_snapshot(UsageError):
            pseudo_labels(DATA, agree=agree)
    with pytest.raises(UsageError, match="level"):
        pseudo_labels(DATA, level=0)


def test_nothing_accepted_is_an_answer_too() -> None:
    found = pseudo_labels({"votes": [[1, 0], [0, 1]], "correct": [1, 1]})
    assert (len(found), found.precision, found.accepted.value) == (0, None, 0.0)
    assert [step["kept"] for step in found.ladder] == [2, 0]
