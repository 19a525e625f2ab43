"""Diagnoses: shifts of known kind are recognised, no shift raises few alarms, and nothing odd makes them crash."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.arrays import Array, softmax
from oodometer.diagnoses import Diagnosis, Diagnostician, Finding, ShiftStatistics
from oodometer.diagnoses.column_drift import ColumnDrift, columns_finding
from oodometer.diagnoses.diagnostician import (
    alarm_finding,
    change_of_counts,
    change_of_mean,
    label_shift_finding,
    overlap_finding,
    power_against_harder,
    reading_confidence,
)
from oodometer.errors import InputError, UsageError
from oodometer.estimators.target_prior import count_labels
from oodometer.inference.domain_classifier import DomainComparison
from oodometer.results import plain
from oodometer.results.diagnosis import ColumnChange, UserColumn, most_moved
from oodometer.store import write_predictions
from oodometer.testing import example_record
from oodometer.verbs.diagnose import diagnose

from ..snapshots import assert_snapshot, raises_snapshot

KINDS = ("none", "label", "covariate", "support", "unknown")
CENTRES = np.array([[0.0, 2.0], [2.0, 0.0], [-2.0, -1.5]])


def world(
    rows: int,
    seed: int,
    *,
    prior: Any = (1 / 3, 1 / 3, 1 / 3),
    moved: float = 0.0,
    tilt: float = 0.0,
    features: bool = True,
) -> Predictions:
    """Three classes as round clouds, the model being their exact posterior (of equal shares).

    ``prior`` sets the class shares, ``moved`` shifts every input far away, ``tilt`` makes unsure inputs common.
    """
    rng = np.random.default_rng([seed, 11])
    count = rows if not tilt else 6 * rows
    label = rng.choice(3, count, p=prior)
    x = CENTRES[label] + rng.standard_normal((count, 2))
    if tilt:
        sure = softmax(x @ CENTRES.T - np.square(CENTRES).sum(axis=1) / 2).max(axis=1)
        keep = np.argsort(6 * tilt * sure - rng.gumbel(size=count))[:rows]
        label, x = label[keep], x[keep]
    x = x + moved
    logits = x @ CENTRES.T - np.square(CENTRES).sum(axis=1) / 2
    fields: dict[str, Any] = {"features": x} if features else {}
    return Predictions.from_arrays(probabilities=softmax(logits), label=label, **fields)


REFERENCE = world(3000, 0)
FITTED = Diagnostician().fit(REFERENCE)


def check_plain(found: Diagnosis) -> None:
    """Kind, reasons and numbers are there, and JSON can hold them."""
    assert found.kind in KINDS
    assert found.why
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["kind"] == found.kind
    for finding in found.findings:
        assert finding.says
        assert finding.p_value is None or 0 <= finding.p_value <= 1
        assert finding.power is None or 0 <= finding.power <= 1
        assert finding.statistic is None or math.isfinite(finding.statistic)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_moved(seed: int) -> None:
    found = FITTED.diagnose(world(3000, seed + 100))
    assert found.kind == "none"
    assert_snapshot(found.why)
    assert found["change"].supports == ("source",)
    check_plain(found)


@pytest.mark.parametrize("features", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_other_class_shares_are_a_label_shift(seed: int, features: bool) -> None:
    fitted = FITTED if features else Diagnostician().fit(world(3000, 0, features=False))
    found = fitted.diagnose(world(3000, seed + 10, prior=(0.7, 0.2, 0.1), features=features))
    assert found.kind == "label"
    finding = found["label shift"]
    assert finding.details["prior"] == pytest.approx([0.7, 0.2, 0.1], abs=0.05)
    assert finding.details["reference_prior"] == pytest.approx([1 / 3] * 3, abs=0.04)
    assert "label-shift" in finding.supports
    assert finding.power > 0.9
    check_plain(found)


@pytest.mark.parametrize("seed", range(3))
def test_other_inputs_within_the_support_are_a_covariate_shift(seed: int) -> None:
    found = FITTED.diagnose(world(3000, seed + 20, tilt=1.0))
    assert found.kind == "covariate"
    assert "label-shift" in found["label shift"].refutes
    assert found["overlap"].supports
    check_plain(found)


@pytest.mark.parametrize("seed", range(3))
def test_inputs_that_the_reference_never_held_are_a_shift_of_support(seed: int) -> None:
    found = FITTED.diagnose(world(3000, seed + 30, moved=6.0))
    assert found.kind == "support"
    overlap = found["overlap"]
    assert overlap.statistic > 0.95
    assert {"cbpe", "importance"} <= set(overlap.refutes)
    check_plain(found)


def test_models_that_no_longer_agree_are_a_shift_of_support() -> None:
    """Confidence stands still and the members part: the strong alarm outweighs what confidence says."""
    reference, target = example_record(3000), example_record(3000, seed=1)
    kept = ("probabilities", "label", "members")
    fields = {n: getattr(target, n) for n in kept}
    rng = np.random.default_rng(0)
    fields["members"] = np.where(
        rng.random((3, 3000)) < 0.5, rng.integers(4, size=(3, 3000)), fields["members"]
    )
    first = Diagnostician().fit(Predictions.from_arrays(**{n: getattr(reference, n) for n in kept}))
    found = first.diagnose(Predictions.from_arrays(**fields))
    assert found.kind == "support"
    assert found["confidence alarm"].strength == "strong"
    assert set(found["confidence alarm"].refutes) == set(reading_confidence())


def test_what_no_test_can_look_at_is_unknown() -> None:
    bare = Predictions.from_arrays(correct=[1, 0] * 100)
    found = Diagnostician().fit(bare).diagnose(bare)
    assert (found.kind, found.findings) == ("unknown", ())
    check_plain(found)


@pytest.mark.parametrize(("here", "there"), [(3000, 5), (5, 3000), (5, 5)])
def test_few_rows_tell_nothing(here: int, there: int) -> None:
    """That no test sees a difference means something only where a test could have seen one."""
    found = Diagnostician().fit(world(here, 0)).diagnose(world(there, 1))
    assert found.kind != "none"
    check_plain(found)


def test_no_shift_raises_few_alarms() -> None:
    """At 5 % over all tests together: a kind other than none in at most 11 of 100 samples (P = 0.01 at the level)."""
    fitted = Diagnostician().fit(world(800, 1, features=False))
    kinds = [Diagnostician().fit(world(600, 2 * s, features=False)).diagnose(world(400, 2 * s + 1, features=False)).kind
             for s in range(100)]  # fmt: skip
    assert sum(kind != "none" for kind in kinds) <= 11
    assert fitted.diagnose(world(500, 7, prior=(0.6, 0.2, 0.2), features=False)).kind != "none"


def test_no_shift_raises_few_alarms_with_features_and_members() -> None:
    kinds = []
    for seed in range(25):
        fitted = Diagnostician(seed=seed).fit(example_record(300, seed=2 * seed))
        kinds.append(fitted.diagnose(example_record(300, seed=2 * seed + 1)).kind)
    assert sum(kind != "none" for kind in kinds) <= 5


@pytest.mark.parametrize("pieces", [1, 7, 400])
def test_states_merge_to_one_pass(pieces: int) -> None:
    reference, target = example_record(600), example_record(600, seed=4, difficulty=1.3)
    fitted = Diagnostician().fit(reference)
    whole = fitted.diagnose(target)
    states = [fitted.summarize(b) for b in target.batches(pieces)]
    total = states[-1]
    for state in states[:-1][::-1]:
        total = fitted.merge(total, state)
    same(fitted.finish(total), whole)


@pytest.mark.parametrize("side", ["reference", "target"])
def test_the_order_of_rows_does_not_matter(side: str) -> None:
    reference, target = example_record(500), example_record(400, seed=4, difficulty=1.2)
    order = np.random.default_rng(0).permutation
    whole = Diagnostician().fit(reference).diagnose(target)
    if side == "reference":
        reference = reference.take(order(500))
    else:
        target = target.take(order(400))
    same(Diagnostician().fit(reference).diagnose(target), whole)


def same(a: Diagnosis, b: Diagnosis) -> None:
    assert a.kind == b.kind
    assert [f.name for f in a.findings] == [f.name for f in b.findings]
    for one, other in zip(a.findings, b.findings, strict=True):
        for name in ("statistic", "p_value", "power"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-6), (
                one.name,
                name,
            )
        assert (one.supports, one.refutes, one.strength) == (
            other.supports,
            other.refutes,
            other.strength,
        )
    assert a.signs == pytest.approx(b.signs)


def test_fit_returns_a_copy_and_a_seed_gives_one_answer() -> None:
    fresh = Diagnostician(seed=3)
    fitted = fresh.fit(REFERENCE)
    assert not hasattr(fresh, "_signs")
    target = world(800, 5, tilt=0.3)
    same(fitted.diagnose(target), Diagnostician(seed=3).fit(REFERENCE).diagnose(target))
    same(fitted.diagnose(target), fitted.diagnose(target.without_labels()))


def only(record: Predictions, *fields: str, **more: Any) -> Predictions:
    return Predictions.from_arrays(**{n: getattr(record, n) for n in fields}, **more)


EASY, HARD = example_record(400), example_record(400, seed=1, difficulty=2.5)
RNG = np.random.default_rng(5)
PAIRS: dict[str, tuple[Predictions, Predictions, tuple[str, ...]]] = {
    "confidence and correct": (
        only(EASY, "confidence", correct=EASY.verdicts), only(HARD, "confidence"), ("covariate", "support")),
    "members": (only(EASY, "members", "label"), only(HARD, "members"), ("covariate", "support", "label")),
    "string classes": (
        Predictions.from_classes(np.array(list("abcd"))[EASY.predicted], label=np.array(list("abcd"))[EASY.label]),
        Predictions.from_classes(["a"] * 300 + list("bcd") * 10, classes=list("abcd")), ("label", "covariate")),
    "a new class": (
        Predictions.from_classes(EASY.predicted, label=EASY.label),
        Predictions.from_classes(RNG.integers(7, size=400)), ("covariate", "support")),
    "more classes": (
        only(EASY, "probabilities", "label"),
        Predictions.from_probabilities(RNG.dirichlet(np.ones(6), size=300)), ("covariate", "support")),
    "more features": (
        only(EASY, "features", correct=EASY.verdicts),
        Predictions.from_arrays(features=RNG.normal(size=(300, 9))), ("unknown",)),
    "features of another width beside probabilities": (
        only(EASY, "features", "probabilities", "label"),
        only(HARD, "probabilities", features=RNG.normal(size=(400, 9))), ("covariate", "support")),
    "features alone": (
        only(EASY, "features", "prediction", "label") if EASY.prediction is not None
        else only(EASY, "features", "label", prediction=EASY.predicted),
        Predictions.from_arrays(features=EASY.features + 50), ("support",)),
    "nothing shared": (only(EASY, "probabilities", "label"), only(HARD, "members"), KINDS),
    "no confidence in the target": (
        only(EASY, "probabilities", "label"), Predictions.from_classes(HARD.predicted), ("unknown",)),
    "fewer members": (
        only(EASY, "members", "label"), Predictions.from_arrays(members=EASY.members[:2]), KINDS),
    "one member": (
        only(EASY, "members", "label"), Predictions.from_arrays(members=EASY.members[:1]), KINDS),
    "constant confidence": (
        Predictions.from_confidence([0.5] * 100, correct=[1, 0] * 50),
        Predictions.from_confidence([0.5] * 100), ("none",)),
    "always right": (
        Predictions.from_classes([0, 1] * 100, label=[0, 1] * 100), Predictions.from_classes([0, 1] * 90), ("none",)),
    "one class": (
        Predictions.from_probabilities([[0.9, 0.1]] * 100, label=[0] * 100),
        Predictions.from_probabilities([[0.9, 0.1]] * 100), ("none",)),
    "labels known in part": (
        only(EASY, "probabilities", label=[int(k) if i % 2 else None for i, k in enumerate(EASY.label)],
             classes=range(4)), only(EASY, "probabilities"), ("none",)),
    "one target row": (EASY, HARD.slice(0, 1), KINDS),
    "one reference row": (EASY.slice(0, 1), HARD, KINDS),
    "no target row": (EASY, HARD.slice(0, 0), ("unknown",)),
}  # fmt: skip


@pytest.mark.parametrize("what", PAIRS)
def test_odd_records(what: str) -> None:
    reference, target, kinds = PAIRS[what]
    found = Diagnostician().fit(reference).diagnose(target)
    assert found.kind in kinds, found.why
    check_plain(found)


def test_a_thousand_classes() -> None:
    rng = np.random.default_rng(0)

    def made(rows: int, power: float) -> Predictions:
        p = rng.dirichlet(np.full(1000, 0.01), size=rows)
        label = np.array([rng.choice(1000, p=row) for row in p])
        return Predictions.from_probabilities(
            p**power / (p**power).sum(axis=1, keepdims=True), label=label
        )

    fitted = Diagnostician().fit(made(2000, 1.0))
    check_plain(fitted.diagnose(made(2000, 1.0)))
    moved = fitted.diagnose(made(2000, 0.3))
    assert moved.kind not in ("none", "label")
    check_plain(moved)


def test_the_verb_reads_what_estimate_reads() -> None:
    reference = {
        "probabilities": REFERENCE.probabilities,
        "label": REFERENCE.label,
        "features": REFERENCE.features,
    }
    target = world(3000, 30, moved=6.0)
    found = diagnose(
        reference, {"probabilities": target.probabilities, "features": target.features}, workers=1
    )
    assert found.kind == "support"
    with raises_snapshot(InputError):
        diagnose(REFERENCE, target.slice(0, 0))


def test_signs_tell_how_far_and_what_is_left_unexplained() -> None:
    signs = ShiftStatistics().fit(REFERENCE)

    def seen(record: Predictions) -> dict[str, float]:
        return signs.finish(signs.summarize(record))

    cases = ({}, {"prior": (0.8, 0.1, 0.1)}, {"tilt": 1.0})
    still, other, bent = ([seen(world(3000, 50 + i, **case)) for i in range(9)] for case in cases)
    assert np.median([s["moved"] for s in still]) < 0.1
    assert min(s["moved"] for s in other + bent) > 0.3
    assert max(s["unexplained"] for s in still + other) < 0.2 < min(s["unexplained"] for s in bent)
    for i in range(9):
        truth = world(3000, 50 + i, prior=(0.8, 0.1, 0.1)).accuracy
        assert other[i]["label_shift"] == pytest.approx(truth, abs=0.03)


def test_signs_do_not_grow_with_rows() -> None:
    signs = ShiftStatistics().fit(REFERENCE)
    moved = [
        np.mean(
            [
                signs.finish(signs.summarize(world(n, s, prior=(0.6, 0.3, 0.1))))["moved"]
                for s in range(8)
            ]
        )
        for n in (500, 8000)
    ]
    assert moved[0] == pytest.approx(moved[1], rel=0.15)


def test_the_distance_moved_by_hand() -> None:
    """Two cells, counts 100 and 100 against 50 and 150: G is 2 sum n log(n / e) over both samples."""
    p = Predictions.from_classes([0, 1] * 100, label=[0, 1] * 100)
    signs = ShiftStatistics().fit(p)
    found = signs.finish(signs.summarize(Predictions.from_classes([0] * 50 + [1] * 150)))
    g = 2 * (
        100 * math.log(100 / 75)
        + 100 * math.log(100 / 125)
        + 50 * math.log(50 / 75)
        + 150 * math.log(150 / 125)
    )
    assert found["moved"] == pytest.approx(math.sqrt((g - 1) * 400 / 40_000), rel=1e-6)
    assert found["unexplained"] == pytest.approx(0, abs=1e-3)


def test_the_test_of_a_mean_against_scipy() -> None:
    """A z test is Welch's t test of many rows."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.70, 0.1, 4000), rng.normal(0.705, 0.2, 3000)
    found = change_of_mean(
        "confidence",
        (a.sum(), np.square(a).sum(), 4000),
        (b.sum(), np.square(b).sum(), 3000),
        "mean confidence",
    )
    want = stats.ttest_ind(b, a, equal_var=False)
    assert found.statistic == pytest.approx(want.statistic, rel=0.01)
    assert found.p_value == pytest.approx(want.pvalue, rel=0.03, abs=1e-3)


def test_the_test_of_a_mean_knows_its_direction() -> None:
    fell = change_of_mean("confidence", (90.0, 81.1, 100), (50.0, 26.0, 100), "mean confidence")
    rose = change_of_mean("confidence", (50.0, 26.0, 100), (90.0, 81.1, 100), "mean confidence")
    assert fell.statistic < 0
    assert_snapshot((fell.says, rose.says))  # fmt: skip
    assert fell.refutes == ("source",)
    one = change_of_mean("confidence", (0.9, 0.81, 1), (0.1, 0.01, 1), "mean confidence")
    assert one.strength == "none", "one row on either side proves nothing"


def test_change_of_cells_sees_and_does_not_see() -> None:
    cells = count_labels(REFERENCE)
    still, moved = (
        change_of_counts(cells, cells.count(r))
        for r in (world(3000, 60), world(3000, 61, prior=(0.8, 0.1, 0.1)))
    )
    assert (still.strength, moved.strength) == ("none", "strong")
    assert moved.refutes == still.supports == ("source",)


def made_mean(name: str, here: float, there: float, p_value: float = 0.0) -> Finding:
    return Finding(name, "", 0.0, p_value, details={"reference": here, "target": there})


APART = Finding("overlap", "", 0.99, 0.0, refutes=("cbpe",))
NEAR = Finding("overlap", "", 0.6, 0.0)


@pytest.mark.parametrize(
    ("confidence", "agreement", "overlap", "strength"),
    [
        ((0.9, 0.9), (0.9, 0.6, 0.0), None, "strong"),
        ((0.9, 0.9), (0.9, 0.83, 0.0), None, "weak"),
        ((0.9, 0.9), (0.9, 0.87, 0.0), None, "none"),
        ((0.9, 0.9), (0.9, 0.6, 0.01), None, "none"),
        ((0.9, 0.6), (0.9, 0.6, 0.0), None, "none"),
        ((0.9, 0.9), None, APART, "weak"),
        ((0.9, 0.7), None, APART, "none"),
        ((0.9, 0.9), None, NEAR, "none"),
        ((0.9, 0.95), (0.9, 0.83, 0.0), APART, "strong"),
    ],
)
def test_the_alarm(confidence: Any, agreement: Any, overlap: Finding | None, strength: str) -> None:
    found = alarm_finding(
        made_mean("confidence", *confidence),
        agreement and made_mean("agreement", *agreement),
        overlap,
    )
    assert found.strength == strength
    assert found.refutes == (reading_confidence() if strength != "none" else ())


def test_no_alarm_without_something_to_hold_confidence_against() -> None:
    assert alarm_finding(made_mean("confidence", 0.9, 0.5), None, None) is None
    assert alarm_finding(None, made_mean("agreement", 0.9, 0.5), APART) is None


def comparison(auc: float, p_value: float, effective: float, covered: float) -> DomainComparison:
    return DomainComparison(auc, 0.01, p_value, np.ones(1000), effective, covered, "logistic")


@pytest.mark.parametrize(
    ("found", "by_features", "refuted", "supported", "strength"),
    [
        (comparison(0.99, 0.0, 20, 0.05), True, True, False, "strong"),
        (comparison(0.99, 0.0, 20, 0.05), False, True, False, "strong"),
        (comparison(0.9, 0.0, 60, 0.95), True, True, False, "strong"),
        (comparison(0.9, 0.0, 60, 0.95), False, False, False, "strong"),
        (comparison(0.6, 0.0, 700, 0.95), True, False, True, "strong"),
        (comparison(0.6, 0.02, 20, 0.05), True, False, False, "none"),
        (comparison(0.5, 0.5, 1000, 1.0), True, False, False, "none"),
    ],
)
def test_overlap(
    found: DomainComparison, by_features: bool, refuted: bool, supported: bool, strength: str
) -> None:
    finding = overlap_finding(found, by_features)
    assert (bool(finding.refutes), bool(finding.supports), finding.strength) == (
        refuted,
        supported,
        strength,
    )
    assert finding.details["reference_rows"] == 1000


def test_power_grows_with_rows() -> None:
    """Nearly nothing with a handful of rows, nearly certain with many; never outside [0, 1]."""
    powers = []
    for here, there in ((60, 20), (1000, 300), (20_000, 20_000)):
        cells = count_labels(world(here, 0))
        test = label_shift_finding(cells, cells.count(world(there, 1)))
        powers.append(test.power)
    assert powers[0] < 0.5
    assert powers[-1] > 0.95
    assert powers == sorted(powers)


def test_sparse_cells_are_no_power() -> None:
    """Three hundred classes of two or three rows: cells that hold chance alone must not pass for a sharp test."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(300, 0.02), size=1600)
    record = Predictions.from_probabilities(p, label=[rng.choice(300, p=row) for row in p])
    cells = count_labels(record.slice(0, 800))
    found = label_shift_finding(cells, cells.count(record.slice(800, 1600)))
    assert found.power < 0.5
    assert found.supports == ()


def test_there_is_no_power_where_no_cell_is_worse_than_another() -> None:
    cells = count_labels(Predictions.from_classes([0, 1] * 100, label=[0, 1] * 100))
    assert power_against_harder(cells, 10_000, np.array([1.0])) == 0


def test_without_power_a_fit_is_no_support() -> None:
    """Few rows: every hypothesis fits, so that none is believed."""
    cells = count_labels(world(60, 0))
    found = label_shift_finding(cells, cells.count(world(40, 1)))
    assert found.supports == ()
    assert found.refutes == ()
    assert_snapshot(found.says)


def test_columns_that_no_shift_would_make() -> None:
    rng = np.random.default_rng(0)
    here, there = rng.normal(size=(500, 4)), rng.normal(size=(400, 4))
    fine = columns_finding((here, there), None)
    assert (fine.statistic, fine.strength, fine.says) == (
        0.0,
        "none",
        "no columns constant or out of range",
    )
    there[:, 1] = -999
    there[:, 3] *= 1000
    odd = columns_finding((here, there), None)
    assert odd.details["odd"][0] == "feature 1: constant at -999"
    assert (
        odd.details["odd"][1].startswith("feature 3: 99 % of the rows lie outside")
        or "feature 3: 100 %" in odd.details["odd"][1]
    )
    assert (odd.statistic, odd.strength) == (2.0, "strong")
    constant = here.copy()
    constant[:, 1] = -999
    assert columns_finding((constant, np.where([[0, 1, 0, 0]], -999.0, here)), None).statistic == 0
    assert columns_finding(None, None) is None
    assert columns_finding((here, there[:1]), None).strength == "strong"
    p = rng.dirichlet(np.ones(3), size=100)
    broken = columns_finding(None, (p, np.tile([0.2, 0.3, 0.5], (50, 1))))
    assert broken.statistic == 3


def test_odd_columns_are_found_in_a_target() -> None:
    target = world(500, 3)
    features = target.features.copy()
    features[:, 0] = 0
    found = FITTED.diagnose(replace(target, features=features, _cache={}))
    assert found["columns"].details["odd"] == ["feature 0: constant at 0"]
    with pytest.raises(KeyError):
        _ = found["nothing"]


def test_findings_are_plain() -> None:
    finding = Finding("x", "y", 1.0, 0.5, None, ("a",), (), "weak", {"k": np.arange(2)})
    assert finding.to_dict() == {
        "name": "x", "says": "y", "statistic": 1.0, "p_value": 0.5, "power": None, "supports": ["a"], "refutes": [],
        "strength": "weak", "details": {"k": [0, 1]},
    }  # fmt: skip
    assert plain(None) is None


def test_separate_processes_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_predictions(example_record(300), path)
    seen: list[tuple[int, int]] = []
    found = diagnose(
        path, path, engine="processes", workers=2, progress=lambda *done: seen.append(done)
    )
    assert found.to_dict() == diagnose(path, path).to_dict()
    assert seen == [(1, 1)]
    with raises_snapshot(UsageError):
        diagnose(path, path, engine="cluster")


def test_the_reason_of_a_kind_never_denies_it() -> None:
    """Mean confidence moved, there are no classes, and no classifier tells the rows apart: nobody knows the kind."""
    rng = np.random.default_rng(0)
    seen = set()
    for moved in (0.0, 0.005, 0.01, 0.02, 0.2):
        here = Predictions.from_confidence(
            rng.uniform(0.5, 0.9, 4000), correct=rng.random(4000) < 0.7
        )
        there = Predictions.from_confidence(rng.uniform(0.5, 0.9, 4000) + moved / 2)
        found = Diagnostician().fit(here).diagnose(there)
        seen.add(found.kind)
        assert (found.kind == "covariate") <= ("no classifier tells" not in found.why)
    assert {"none", "unknown", "covariate"} >= seen
    assert len(seen) > 1


ROWS = 4_000
COLOUR = UserColumn("colour", "category", 0, ("red", "blue", "green"))
AGE = UserColumn("age", "number", COLOUR.width, (), (40.0,), (10.0,))


def draw(
    rng: np.random.Generator, shift: tuple[float, float, float] = (0, 0, 0), rows: int = ROWS
) -> tuple[Array, Array]:
    """Three columns, of which the first and the third say where the model is right; 20 noise columns beside them."""
    x = rng.normal(size=(rows, 13))
    x[:, :3] += shift
    chance = 0.9 - 0.35 * (x[:, 0] > 0.5) - 0.3 * (x[:, 2] > 0.5)
    return x, rng.random(rows) < chance


def changes_of(
    here: tuple[Array, Array], there: Array, columns: tuple[UserColumn, ...] = ()
) -> tuple[ColumnChange, ...]:
    drift = ColumnDrift(columns).fit(Predictions.from_arrays(features=here[0], correct=here[1]))
    return drift.finish(drift.summarize(Predictions.from_arrays(features=there)))


@pytest.fixture(scope="module")
def moved() -> dict[str, ColumnChange]:
    """The first column moves by half a deviation, the second one by a whole one, the third stays."""
    rng = np.random.default_rng(0)
    found = changes_of(draw(rng), draw(rng, (0.5, 1.0, 0.0))[0])
    assert found[0].name == "feature 0"
    return {one.name: one for one in found}


def test_the_column_that_drives_the_accuracy_explains_its_change(
    moved: dict[str, ColumnChange],
) -> None:
    explains = moved["feature 0"].explains
    rng = np.random.default_rng(1)
    truth = np.mean(draw(rng, (0.5, 1.0, 0.0), 200_000)[1]) - np.mean(draw(rng, rows=200_000)[1])
    assert moved["feature 0"].matters
    assert explains.lower < truth < explains.upper < 0


def test_a_column_may_move_further_and_explain_nothing(moved: dict[str, ColumnChange]) -> None:
    assert moved["feature 1"].moved
    assert not moved["feature 1"].matters
    assert moved["feature 1"].distance > moved["feature 0"].distance
    assert not moved["feature 2"].moved
    assert sum(one.moved for one in moved.values()) == 2
    line = most_moved([one.to_dict() for one in moved.values()])
    assert_snapshot(line)
    assert line.endswith("points), feature 1")


def test_without_a_shift_columns_seldom_move() -> None:
    rng = np.random.default_rng(2)
    false = [
        any(one.moved for one in changes_of(draw(rng, rows=2000), draw(rng, rows=400)[0]))
        for _ in range(100)
    ]
    assert sum(false) <= 10  # at 5 % more than 10 of 100 have a chance of 1 %


def test_what_a_category_explains_is_post_stratification_by_hand() -> None:
    rng = np.random.default_rng(3)
    codes = {
        "here": rng.choice(3, 3000, p=[0.6, 0.3, 0.1]),
        "there": rng.choice(3, 2000, p=[0.2, 0.3, 0.5]),
    }
    hot = {side: np.pad(np.eye(3)[c][:, 1:], ((0, 0), (0, 2))) for side, c in codes.items()}
    right = rng.random(3000) < np.array([0.95, 0.8, 0.4])[codes["here"]]
    (found,) = changes_of((hot["here"], right), hot["there"], (COLOUR,))
    p, q = (np.bincount(c, minlength=3) / len(c) for c in codes.values())
    accuracy = [right[codes["here"] == k].mean() for k in range(3)]
    assert found.explains.value == pytest.approx((q - p) @ accuracy, abs=2e-3)
    assert found.psi == pytest.approx(float((q - p) @ np.log(q / p)), abs=2e-2)
    assert found.says.startswith(("red ", "green "))


def test_states_of_batches_are_that_of_the_whole() -> None:
    rng = np.random.default_rng(4)
    here, there = draw(rng), draw(rng, rows=1000)[0]
    drift = ColumnDrift().fit(Predictions.from_arrays(features=here[0], correct=here[1]))
    parts = [
        drift.summarize(Predictions.from_arrays(features=piece))
        for piece in np.array_split(there, 3)
    ]
    joined = drift.finish(drift.merge(drift.merge(parts[2], parts[0]), parts[1]))
    assert [one.to_dict() for one in joined] == [
        one.to_dict()
        for one in drift.finish(drift.summarize(Predictions.from_arrays(features=there)))
    ]


def test_missing_cells_and_numbers_beyond_the_reference_are_told() -> None:
    rng = np.random.default_rng(5)
    column = UserColumn("age", "number", 0, (), (40.0,), (10.0,))
    here = np.column_stack([rng.normal(size=2000), np.zeros(2000)])
    there = np.column_stack([rng.normal(size=2000) + 4, rng.random(2000) < 0.2])
    there[there[:, 1] == 1, 0] = 0
    (found,) = changes_of((here, rng.random(2000) < 0.8), there, (column,))
    assert found.missing[0] == 0
    assert found.missing[1] == pytest.approx(0.2, abs=0.04)
    assert found.unseen[1] > 0.4
    assert "mean 40" in found.says or "mean 39" in found.says
    assert "missing 0 % -> 2" in found.says
    assert_snapshot(found.says)


def test_a_spread_that_grows_is_told_by_the_stretch_that_changed() -> None:
    rng = np.random.default_rng(8)
    here, there = rng.normal(size=(3000, 1)), 1.5 * rng.normal(size=(3000, 1))
    (found,) = changes_of((here, rng.random(3000) < 0.8), there)
    assert found.moved
    low, high = (float(one) for one in found.says.partition(":")[0].split(" to "))
    share = [((x > low) & (x <= high)).mean() for x in (here, there)]
    assert f": {100 * share[0]:.0f} % -> {100 * share[1]:.0f} %" in found.says


def test_odd_columns_are_called_as_in_the_file() -> None:
    rng = np.random.default_rng(6)
    here = np.zeros((50, COLOUR.width + AGE.width))
    here[:, 0], here[:, AGE.first] = rng.random(50) < 0.5, rng.normal(size=50)
    there = np.zeros_like(here)
    there[:, 0], there[:, AGE.first] = 1, -4
    found = columns_finding((here, there), None, (COLOUR, AGE))
    assert_snapshot(found.details["odd"])
    there[:, 0], there[:, AGE.first], there[:, AGE.first + 1] = 0, rng.normal(size=50) / 9, 1
    found = columns_finding((here, there), None, (COLOUR, AGE))
    assert found is not None  # that no row is blue is nothing odd
    assert_snapshot(found.details["odd"])


def test_embeddings_are_no_columns() -> None:
    wide = np.random.default_rng(7).normal(size=(100, 64))
    assert changes_of((wide, np.ones(100)), wide) == ()
