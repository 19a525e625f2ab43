"""What says how sure a model was, in a user's own columns and in repeated answers, from the file to the estimate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.errors import InputError, OodometerError

from ..snapshots import assert_snapshot

WORDS = ["Paris", "Rome", "the paris.", "42", "ROME"]


def rows_of(count: int = 120, seed: int = 0, **more: Any) -> list[dict[str, Any]]:
    """Answers with a stated confidence in percent and samples, both of which tell right from wrong."""
    rng, out = np.random.default_rng(seed), []
    for i in range(count):
        right = bool(rng.random() < 0.6)
        sure = int(rng.integers(60, 100) if right else rng.integers(30, 90))
        samples = ["Paris", "paris", "Paris", "Rome"] if right else ["Paris", "Rome", "42", str(i)]
        row = {
            "id": i,
            "output": "Paris",
            "correct": right,
            "verbalized_confidence": f"{sure} %",
            "samples": samples,
        }
        out.append(row | more)
    return out


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_every_confidence_of_a_file_is_compared(tmp_path: Path) -> None:
    rows = rows_of()
    for row in rows:
        row |= {
            "perplexity": 1.5 if row["correct"] else 1.4,
            "token_logprobs": [-0.1, -0.2 * row["id"]],
        }
    result = oodometer.evaluate(written(tmp_path / "a.jsonl", rows))
    compared = result.to_dict()["confidences"]
    names = {row["name"]: row for row in compared["ranking"]}
    assert {
        "verbalized_confidence",
        "perplexity",
        "answer_agreement",
        "sequence_probability",
    } <= names.keys()
    assert names["perplexity"]["auroc"]["value"] == 0  # the right answers have the larger one here
    assert names["answer_agreement"]["auroc"]["value"] == 1
    assert compared["used"] == "sequence_probability"
    lines = [line for line in result.warnings if "percents divided by 100" in line]
    assert_snapshot(lines)
    assert_snapshot(names["answer_agreement"]["take"])
    assert names["sequence_probability"]["take"] == "--score sequence_probability"
    assert_snapshot(str(result.view().sentences))


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_stated_confidence_feeds_every_verb(tmp_path: Path, ending: str) -> None:
    pd = pytest.importorskip("pandas")
    files = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for seed, file in enumerate(files):
        frame = pd.DataFrame(rows_of(seed=seed)).drop(columns="samples")
        getattr(frame, {"jsonl": "to_json", "csv": "to_csv", "parquet": "to_parquet"}[ending])(
            file,
            **({"orient": "records", "lines": True} if ending == "jsonl" else {"index": False}),
        )
    estimation = oodometer.estimate(
        *files, mapping={"verbalized_confidence": "confidence"}, methods=["ac"]
    )
    want = np.mean([int(row["verbalized_confidence"][:-2]) for row in rows_of(seed=1)]) / 100
    assert estimation["ac"].value == pytest.approx(want)
    assert oodometer.evaluate(files[0])["ece"].value < 0.5  # read by itself, being the only one


def test_agreement_of_epochs_is_the_confidence_of_a_record_without_one(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(0), []
    for question in range(60):
        hard = question % 2
        for epoch in range(1, 6):
            answer = WORDS[int(rng.integers(5)) if hard else 0]
            rows.append(
                {
                    "id": f"q{question}",
                    "epoch": epoch,
                    "output": answer,
                    "correct": answer == "Paris",
                }
            )
    file = written(tmp_path / "epochs.jsonl", rows)
    result = oodometer.evaluate(file)
    assert_snapshot(result.warnings)
    assert result["auc_coverage"].value > 0.8 > result["accuracy"].value
    compared = result.to_dict()["confidences"]
    assert (compared["clusters"], compared["used"]) == (
        60,
        "answer_agreement",
    )  # questions, not rows
    estimation = oodometer.estimate(file, file, methods=["doc", "threshold:confidence"])
    assert estimation["threshold:confidence"].value == pytest.approx(result["accuracy"].value)


@pytest.mark.parametrize(
    ("change", "mapping", "what"),
    [
        (
            {"verbalized_confidence": "quite sure"},
            "verbalized_confidence",
            "row 1: column verbalized_confidence: expected",
        ),
        (
            {"verbalized_confidence": None},
            "verbalized_confidence",
            "a confidence in every row, got an empty cell",
        ),
        ({"samples": None, "id": 7}, "answer_agreement", None),
        ({"samples": None}, "answer_agreement", "rows that share an `id`"),
    ],
)
def test_what_is_no_confidence_is_refused(
    tmp_path: Path, change: Any, mapping: str, what: str | None
) -> None:
    rows = rows_of(30)
    for row in rows[:1] if mapping == "verbalized_confidence" else rows:
        row |= change
        row.update() if row["samples"] else row.pop("samples")
    file = written(tmp_path / "a.jsonl", rows)
    if what is None:
        assert oodometer.evaluate(file, mapping={mapping: "confidence"})["ece"].value >= 0
        return
    with pytest.raises((InputError, OodometerError), match=what):
        oodometer.evaluate(file, mapping={mapping: "confidence"})


def test_a_column_that_cannot_be_read_is_left_out_of_the_comparison_and_named(
    tmp_path: Path,
) -> None:
    rows = rows_of(40)
    rows[3]["verbalized_confidence"] = "85 or so"
    result = oodometer.evaluate(written(tmp_path / "a.jsonl", rows))
    assert_snapshot(result.warnings)
    assert result["accuracy"].value == np.mean([row["correct"] for row in rows])


def test_a_classifier_compares_its_scores_and_a_binary_one_has_but_one_order() -> None:
    rng = np.random.default_rng(0)
    several, label = rng.dirichlet(np.ones(4), 200), rng.integers(0, 4, 200)
    compared = oodometer.evaluate({"probabilities": several, "label": label}).to_dict()[
        "confidences"
    ]
    assert {row["name"] for row in compared["ranking"]} == {
        "max_probability",
        "margin",
        "negative_entropy",
    }
    binary = oodometer.evaluate({"probabilities": several[:, 0], "label": label % 2})
    assert "confidences" not in binary.to_dict()
    assert "confidences" not in [skipped.method for skipped in binary.skipped]


def test_repeats_of_a_harness_log_are_samples(tmp_path: Path) -> None:
    """lm-evaluation-harness keeps all repeats of a question in one row; the filter takes the first."""
    rng, rows = np.random.default_rng(0), []
    for i in range(80):
        repeats = [str(WORDS[int(k)]) for k in rng.integers(0, 1 + 4 * (i % 2), 4)]
        row = {
            "doc_id": i,
            "doc": {},
            "target": "Paris",
            "arguments": [["Q", {}]],
            "resps": [repeats],
        }
        right = float(repeats[0] == "Paris")
        rows.append(
            row | {"filtered_resps": repeats[:1], "exact_match": right, "metrics": ["exact_match"]}
        )
    log, out = tmp_path / "samples_capitals.jsonl", tmp_path / "read.parquet"
    oodometer.read(written(log, rows), out=out)
    compared = oodometer.evaluate(out).to_dict()["confidences"]
    assert (compared["best"], compared["used"]) == ("answer_agreement", "answer_agreement")
    assert compared["ranking"][0]["auroc"]["value"] > 0.9


def test_a_confidence_that_some_rows_lack_is_compared_on_the_others_and_not_taken(
    tmp_path: Path,
) -> None:
    rows = rows_of(90)
    for row in rows[::9]:
        row["verbalized_confidence"] = None
    result = oodometer.evaluate(written(tmp_path / "a.jsonl", rows))
    compared = result.to_dict()["confidences"]
    assert (compared["rows"], compared["of_rows"], compared["used"]) == (80, 90, "answer_agreement")
    assert compared["unknown"] == {"verbalized_confidence": 10}
    assert_snapshot(str(result.view().grid("confidences").notes))


@pytest.mark.parametrize("as_lists", [False, True])
def test_given_meanings_take_the_place_of_texts(tmp_path: Path, as_lists: bool) -> None:
    """Answers that are worded differently and mean the same; ids of meanings a row, or a list of them a question."""
    rows: list[dict[str, Any]] = []
    for question in range(40):
        ids = [0, 0, 0, 0] if question % 2 else [0, 1, 2, 3]
        answers = [f"words {question} {i}" for i in range(4)]
        if as_lists:
            rows.append({"output": answers[0], "semantic_ids": ids, "correct": question % 2})
            continue
        several = [{"id": question, "output": a} for a in answers]
        rows += [
            row | {"semantic_id": i, "correct": question % 2}
            for row, i in zip(several, ids, strict=True)
        ]
    file = written(tmp_path / "a.jsonl", rows)
    found = oodometer.evaluate(
        file, mapping={"answer_certainty": "confidence"}, metrics=["prr", "accuracy"]
    )
    assert found["prr"].value == 1
