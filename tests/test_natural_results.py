"""Natural shifts: the committed tables are those of the committed cases, and trust keeps its rule in every one."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

sys.path.insert(
    0, str(Path(__file__).resolve().parent.parent)
)  # benchmarks is no part of the package

from benchmarks.kit import RESULTS
from benchmarks.natural import alarms, prior, run, tables
from benchmarks.natural.tables import Shift
from benchmarks.quality.tables import Case

from oodometer.headline.natural_shifts import MOST_OFF, ShiftSigns, packaged_prior, trust_of


@pytest.fixture(scope="module")
def committed() -> list[Shift]:
    return tables.read_shifts(RESULTS / "natural.json")[0]


def test_the_tables_are_those_of_the_cases(committed: list[Shift], tmp_path: Path) -> None:
    command = tables.read_shifts(RESULTS / "natural.json")[1]
    tables.write_results(committed, tmp_path, command)
    for path in tmp_path.iterdir():
        pages = (one.read_text(encoding="utf-8") for one in (path, RESULTS / path.name))
        written, kept = (re.sub(r'"version": "[^"]*"', "", page) for page in pages)
        assert written == kept, path.name  # whatever version measured them
    guide = tables.GUIDE.read_text(encoding="utf-8")
    assert tables.renewed(guide, committed) == guide


def test_every_bed_and_group_is_there(committed: list[Shift]) -> None:
    assert len({s.case.bed for s in committed}) == 291
    assert {prior.source_of(s) for s in committed} == set(tables.DOMAIN_OF)
    assert {s.group for s in committed} == set(tables.GROUPS)


def test_high_trust_is_earned(committed: list[Shift]) -> None:
    """It ends near: no fewer than nine in ten inside, but for chance, and one in twenty off by three points."""
    high = [s for s in committed if s.case.trust == "high"]
    assert len(high) > 20
    assert (
        binomtest(sum(s.case.holds() for s in high), len(high), 0.9, alternative="less").pvalue
        > 0.05
    )
    assert sum(map(prior.is_off, high)) <= MOST_OFF * len(high)
    assert not any(shift.doubt for shift in high)


def test_what_high_trust_says_of_unseen_falls_was_measured(committed: list[Shift]) -> None:
    """The figure beside `high`, in the package, the guides and the tables, is that of the committed cases."""
    high = [
        s.case for s in committed if s.case.trust == "high" and s.reference - s.case.truth >= 0.03
    ]
    missed = sum(abs(case.headline[0] - case.truth) > 0.03 for case in high)
    assert (
        (packaged_prior().about or {})["unseen_falls"]
        == [missed, len(high)]
        == tables.unseen_falls(committed)
    )
    still = ShiftSigns(
        0.95, 0.95, 10_000, 10_000, 0.0, 0.0, separation=0.0, apart=0.0, disagreement=0.0
    )
    trust, why = trust_of(packaged_prior(), still, "")
    assert trust == "high"
    assert (
        f"of {len(high)} such public cases that fell by 3 points or more, the estimate was off by more"
        in why
    )
    assert f"than 3 points in {missed};" in why
    for guide in ("guides/diagnosis_and_backtest.md", "how_it_works/headline.md"):
        said = " ".join(
            (RESULTS.parent.parent / "docs" / guide).read_text(encoding="utf-8").split()
        )
        assert f"f {len(high)} " in said
        assert f"off by more than 3 points in {missed} " in said


def test_the_packaged_prior_is_that_of_the_committed_cases(committed: list[Shift]) -> None:
    """Values and quantiles, fitted again; a committed headline is that of a prior without its source."""
    again, packed = prior.fit_prior(committed), packaged_prior()
    assert again.cost == pytest.approx(packed.cost, abs=1e-4)
    assert again.centre_cost == pytest.approx(packed.centre_cost, abs=1e-4)
    np.testing.assert_allclose(again.chance, packed.chance, atol=2e-3)
    np.testing.assert_allclose(again.size, packed.size, atol=2e-3)
    without = prior.fit_prior([s for s in committed if prior.source_of(s) != "wine"])
    for shift in [s for s in committed if prior.source_of(s) == "wine"][:5]:
        assert without.value(shift.signs) == pytest.approx(shift.case.headline[0], abs=1e-4)
        assert without.interval(shift.signs, tables.LEVEL) == pytest.approx(
            shift.case.headline[1:], abs=1e-4
        )


def test_quantile_regression_against_an_independent_one() -> None:
    from sklearn.linear_model import QuantileRegressor

    rng = np.random.default_rng(0)
    design = rng.normal(size=(60, 2))
    goal = design @ np.array([1.0, -2.0]) + rng.normal(size=60)
    weights = rng.uniform(0.5, 2, 60)
    for p in (0.1, 0.5, 0.9):
        theirs = QuantileRegressor(quantile=p, alpha=0, fit_intercept=False).fit(
            design, goal, sample_weight=weights
        )
        np.testing.assert_allclose(
            prior.quantile_regression(design, goal, weights, p), theirs.coef_, atol=1e-6
        )


def test_what_the_guide_says_of_natural_shifts(committed: list[Shift]) -> None:
    few = tables.groups(committed)["the first three together"]
    head = tables.error(few)
    coverage = f"{sum(s.case.holds() for s in few) / len(few):.0%}".replace("%", " %")
    guide = tables.GUIDE.read_text(encoding="utf-8")
    assert f"interval holds the truth in {coverage}" in guide
    assert f"{head:.1f} points of error" in guide


def shift(truth: float, bed: str = "wine", trust: str = "low") -> Shift:
    head = (0.8, 0.7, 0.9)
    return Shift(
        Case(bed, f"{truth}", 300, 600, truth, head, trust, "none", "m", {"source": head}),
        "wine",
        0.8,
    )


def test_misses_by_side_and_distance() -> None:
    """By hand: one inside, one two points below, one ten points above."""
    some = [shift(0.75), shift(0.68), shift(1.0)]
    assert [s.far for s in some] == [False, False, True]
    assert tables.intervals(some) == ["33%", "33%", "33%", "33%", "20.0"]
    assert tables.error(some) == pytest.approx(100 * (0.05 + 0.12 + 0.2) / 3)


def test_groups_by_the_name_of_the_bed() -> None:
    names = {
        "wine": "plain",
        "wine+features": "+features",
        "elec2+members": "+members",
        "mvh-tone": "classes",
        "fertility-group": "everyday",
        "time-bikes-gbt": "temporal",
        "same": "same",
        "same5": "same",
        "small-target": "small-target",
    }
    assert {bed: shift(0.8, bed).group for bed in names} == names


def test_an_interrupted_run_keeps_what_it_did(tmp_path: Path) -> None:
    import json

    kept = tmp_path / "done.jsonl"
    whole = json.dumps({"key": ["wine", "0.7"], "found": shift(0.7).to_dict()})
    kept.write_text(f"{whole}\n{whole[:40]}")
    assert [key for key, _ in run._read(kept, Shift.from_dict)] == [("wine", "0.7")]
    for bed, count in (("a", 5), ("same", 9)):
        for i in range(count):
            (tmp_path / "beds" / bed / f"c{i}").mkdir(parents=True)
            (tmp_path / "beds" / bed / f"c{i}" / "truth.json").write_text("{}")
    some = run.chosen(tmp_path / "beds", 2)
    assert [case.parent.name for case in some].count("a") == 2
    assert [case.parent.name for case in some].count("same") == 8
    assert set(some) <= set(run.chosen(tmp_path / "beds", None)), (
        "a smaller run is a part of a larger one"
    )


def test_the_alarms_are_those_of_the_committed_parts(tmp_path: Path) -> None:
    """The page is that of the JSON; three alarms in four are right, and unshifted series raise next to none."""
    result = json.loads((RESULTS / "alarms.json").read_text())
    parts = [alarms.AskedPart.from_dict(one) for one in result["parts"]]
    assert alarms.page(result) == (RESULTS / "alarms.md").read_text(encoding="utf-8")
    natural = [p for p in parts if p.group == "natural" and p.part is None]
    assert len(natural) > 100
    for margin in prior.MARGINS:
        raised = alarms.alarms(natural, margin)
        fell = np.array([p.fell >= margin for p in natural])
        assert fell[raised].mean() >= 0.75
        assert raised[~fell].mean() <= 0.2
        assert alarms.still_rate(parts, margin) <= 0.01
