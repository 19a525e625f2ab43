"""The verb `audit` on files and in memory: labels in every form, the loop with suggestions, JSON, faults."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer import Audit, Predictions, audit
from oodometer.errors import InputError, UsageError
from oodometer.store import as_source, write_predictions
from oodometer.testing import example_record

from ..snapshots import raises_snapshot

REFERENCE = example_record(800, seed=1)
TARGET = example_record(900, seed=2, difficulty=1.6)
ROWS = np.random.default_rng(0).permutation(900)[:60]
KEYS = {"labels", "estimate", "label_only", "effective_labels", "refuted", "p_value", "method", "assumes", "intervals",
        "headline", "warnings"}  # fmt: skip


def slim(record: Predictions, *names: str) -> Predictions:
    return Predictions.from_arrays(**{n: getattr(record, n) for n in names})


SOURCE = slim(REFERENCE, "probabilities", "label")
GOAL = slim(TARGET, "probabilities")
EASY_TRUTH = example_record(2000, seed=4, difficulty=0.9)
EASY = slim(EASY_TRUTH, "probabilities")
FEW = {"row": ROWS, "label": TARGET.label[ROWS]}


def as_json(found: Audit) -> Any:
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


def run(**options: Any) -> Audit:
    return audit(SOURCE, GOAL, methods=["doc", "atc"], **options)


@cache
def usual() -> Audit:
    """The audit with few labels, which many tests compare theirs with: made once."""
    return run(labels=FEW)


def test_the_usual_case() -> None:
    found = usual()
    assert found.labels == 60
    assert found.rows == 900
    assert found.estimate.kind == "exact"
    assert found.estimate.lower <= TARGET.accuracy <= found.estimate.upper
    assert found.effective_labels is not None
    assert found.effective_labels > 55
    out = as_json(found)
    assert set(out) >= KEYS
    for name in ("estimate", "label_only"):
        assert set(out[name]) == {"value", "lower", "upper", "level", "kind"}
    assert set(out["headline"]) >= {
        "value",
        "lower",
        "upper",
        "level",
        "kind",
        "method",
        "trust",
        "why",
    }
    assert {e["method"] for e in out["intervals"]} == {
        "clopper-pearson",
        "hypergeometric",
        "ppi-betting",
    }


def test_all_forms_of_the_same_labels_agree() -> None:
    label: list[int | None] = [None] * 900
    correct: list[bool | None] = [None] * 900
    for row in ROWS.tolist():
        label[row] = int(TARGET.label[row])
        correct[row] = bool(TARGET.verdicts[row])
    few = usual()
    held = Predictions.from_probabilities(TARGET.probabilities, label=label)
    backwards = {"row": ROWS[::-1], "correct": TARGET.verdicts[ROWS[::-1]].astype(bool)}
    halves = [{k: v[:30] for k, v in FEW.items()}, {k: v[30:] for k, v in FEW.items()}]
    for labels in ({"label": label}, {"correct": correct}, backwards):
        assert run(labels=labels).to_dict() == few.to_dict()
    own = audit(SOURCE, held, methods=["doc", "atc"])
    assert own.to_dict() == few.to_dict()
    assert run(labels=halves).label_only == few.label_only


def test_columns_of_the_labels_are_renamed_too() -> None:
    renamed = {"row": ROWS, "truth": FEW["label"]}
    assert as_json(run(labels=renamed, mapping={"truth": "label"})) == as_json(usual())
    halves = [slice(None, 20), slice(20, None)]
    plain = [{"row": ROWS[half], "label": FEW["label"][half]} for half in halves]
    both = [{"row": ROWS[:20], "truth": FEW["label"][:20]}, plain[1]]
    assert run(labels=both, mapping={"truth": "label"}).estimate == run(labels=plain).estimate


def test_labels_do_not_move_the_headline() -> None:
    alone = oodometer.estimate(SOURCE, GOAL, methods=["doc", "atc"])
    assert usual().headline == alone.headline


def test_ten_labels_refute_what_every_confidence_says() -> None:
    """Confidence says 0.95, the truth is 0.13."""
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.9, 1.0, size=1000)
    reference = Predictions.from_confidence(confidence, correct=rng.random(1000) < confidence)
    right = rng.random(1000) < 0.13
    row = np.arange(0, 1000, 100)
    found = audit(
        reference,
        Predictions.from_confidence(confidence),
        labels={"row": row, "correct": right[row]},
    )
    assert found.headline.interval.value > 0.9
    assert found.refuted
    assert found.p_value is not None
    assert found.p_value < 1e-4
    assert found.estimate.lower <= 0.13 <= found.estimate.upper < 0.7


def test_a_true_headline_is_seldom_refuted() -> None:
    same = example_record(900, seed=5)
    refuted = []
    for seed in range(12):
        row = np.random.default_rng(seed).permutation(900)[:30]
        found = audit(
            SOURCE,
            slim(same, "probabilities"),
            labels={"row": row, "label": same.label[row]},
            methods=["doc"],
        )
        refuted.append(found.refuted)
    assert np.mean(refuted) <= 0.1


def test_everything_labelled_is_the_truth() -> None:
    found = audit(SOURCE, slim(TARGET, "probabilities", "label"), methods=["doc"])
    assert found.estimate.value == pytest.approx(TARGET.accuracy)
    assert found.estimate.upper - found.estimate.lower < 1e-9
    assert found.effective_labels == 900


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_label_audit_label_again(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"next.{ending}"
    first = audit(SOURCE, EASY, methods=["doc"], suggest=50, suggest_by="confidence", out=out)
    assert first.estimate is None
    assert first.labels == 0
    assert as_json(first)["suggested"] == first.suggestion.row.tolist()
    filled = fill(out, tmp_path / f"first.{ending}")
    again = tmp_path / f"again.{ending}"
    second = audit(
        SOURCE,
        EASY,
        methods=["doc"],
        labels=filled,
        suggest=150,
        suggest_by="confidence",
        out=again,
    )
    assert second.labels == 50
    assert not set(second.suggestion.row) & set(first.suggestion.row)
    given = [filled, fill(again, tmp_path / f"second.{ending}")]
    last = audit(SOURCE, EASY, methods=["doc"], labels=given)
    assert last.labels == 200
    assert last.estimate.method == "ppi-betting"
    assert last.estimate.lower <= EASY_TRUTH.accuracy <= last.estimate.upper
    assert second.suggestion.share < 1
    assert last.effective_labels is not None
    assert last.effective_labels > 120
    assert "--suggest" in last.estimate.assumes
    assert last.label_only.method == "betting"


def fill(path: Path, to: Path) -> Path:
    """The file that a person gives back: the same table with the truth in `label`."""
    table = as_source(
        path, classes=range(4), extra_columns=("draw", "row", "probability", "share")
    ).read(["label"])
    columns = {name: np.asarray(values) for name, values in table.columns.items()}
    label = EASY_TRUTH.label[columns["row"].astype(int)]
    return write_predictions(
        Predictions.from_arrays(label=label, classes=range(4), columns=columns), to
    )


def test_a_suggestion_cut_off_early_still_counts(tmp_path: Path) -> None:
    out = tmp_path / "next.csv"
    audit(SOURCE, EASY, methods=["doc"], suggest=200, suggest_by="confidence", out=out)
    lines = out.read_text().splitlines()
    for i, line in enumerate(lines[1:], start=1):
        row = int(line.split(",")[-6])  # draw, row, stratum, probability, weight, share, label
        lines[i] = f"{line}{EASY_TRUTH.label[row] if i <= 80 else ''}"
    out.write_text("\n".join(lines) + "\n")
    found = audit(SOURCE, EASY, methods=["doc"], labels=out)
    assert found.labels == 80
    assert not any("passed over" in w for w in found.warnings)
    assert found.estimate.lower <= EASY_TRUTH.accuracy <= found.estimate.upper


def test_a_suggestion_for_another_target_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "next.csv"
    audit(SOURCE, EASY, methods=["doc"], suggest=200, suggest_by="confidence", out=out)
    other = slim(example_record(2000, seed=9, difficulty=1.6), "probabilities")
    with raises_snapshot(InputError):
        audit(SOURCE, other, labels=fill(out, tmp_path / "f.csv"), methods=["doc"])


def test_several_references_and_names_of_classes() -> None:
    names = ["ant", "bee", "cat", "dog"]
    p = Predictions.from_probabilities(
        REFERENCE.probabilities, label=[names[i] for i in REFERENCE.label], classes=names
    )
    goal = Predictions.from_probabilities(TARGET.probabilities[:, ::-1], classes=names[::-1])
    labels = {"row": ROWS, "label": [names[i] for i in TARGET.label[ROWS]]}
    found = audit([p.slice(0, 400), p.slice(400, 800)], goal, labels=labels, methods=["doc", "atc"])
    assert found.label_only == usual().label_only


def test_classes_alone_will_do() -> None:
    found = audit(slim(REFERENCE, "prediction", "label") if REFERENCE.has("prediction") else
                  Predictions.from_classes(REFERENCE.predicted, label=REFERENCE.label, classes=range(4)),
                  Predictions.from_classes(TARGET.predicted, classes=range(4)), labels=FEW)  # fmt: skip
    assert found.estimate is not None
    assert {e.method for e in found.intervals} == {"clopper-pearson", "hypergeometric"}


def test_faults() -> None:
    with raises_snapshot(UsageError):
        run()
    with pytest.raises(UsageError, match="level"):
        run(labels=FEW, level=95)
    with pytest.raises(UsageError, match="suggest"):
        run(labels=FEW, suggest=-1)
    with pytest.raises(UsageError, match="suggest="):
        run(labels=FEW, out="x.csv")
    with raises_snapshot(UsageError):
        run(labels=FEW, suggest=841)
    with raises_snapshot(InputError):
        run(labels={"label": [None] * 900})
    with raises_snapshot(UsageError):
        audit([], GOAL, labels=FEW)


def test_the_seed_decides() -> None:
    assert run(suggest=20).to_dict() == run(suggest=20).to_dict()
    a, b = run(suggest=20).suggestion, run(suggest=20, seed=1).suggestion
    assert a.row.tolist() != b.row.tolist()
