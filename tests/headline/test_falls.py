"""Falls: how likely the accuracy fell by a margin, the verdict, and when it is an alarm."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import oodometer
from oodometer.cli.main import main
from oodometer.errors import UsageError
from oodometer.estimators.target_prior import ShiftTest, _without_sparse, no_shift_test
from oodometer.headline.natural_shifts import (
    FELL,
    HOLDS,
    LEAST_RIGHT,
    ShiftSigns,
    chance_of_fall,
    judged,
    packaged_prior,
)
from oodometer.results import Interval

from ..snapshots import assert_snapshot, raises_snapshot

PRIOR = packaged_prior()
SIGNS = st.builds(
    ShiftSigns,
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.none() | st.floats(0, 4),
    st.none() | st.floats(0, 4),
    st.booleans(),
)


def series(
    chunks: int, fallen: int, rows: int = 400, seed: int = 0
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A binary model's reference and a target in chunks by `week`; in the last ones most rows are unsure."""
    rng = np.random.default_rng(seed)

    def side(count: int, unsure: float) -> tuple[np.ndarray, np.ndarray]:
        sure = np.where(
            rng.random(count) < unsure, rng.uniform(0.5, 0.65, count), rng.uniform(0.9, 1.0, count)
        )
        said = rng.random(count) < 0.5
        right = rng.random(count) < sure
        return np.where(said, sure, 1 - sure), np.where(right, said, ~said).astype(int)

    here, label = side(3000, 0.1)
    parts = [side(rows, 0.7 if i >= chunks - fallen else 0.1)[0] for i in range(chunks)]
    p = np.concatenate(parts)
    week = np.repeat([f"w{i:02d}" for i in range(chunks)], rows)
    both = [{"probabilities": np.column_stack([1 - one, one])} for one in (here, p)]
    return {**both[0], "label": label}, {**both[1], "week": week}


@given(SIGNS, st.floats(0, 1), st.floats(0, 1))
def test_the_share_below_is_a_distribution(signs: ShiftSigns, a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert 0 <= PRIOR.share_below(signs, low) <= PRIOR.share_below(signs, high) <= 1
    assert PRIOR.share_below(signs, -0.1) == 0
    assert PRIOR.share_below(signs, 1.0) == 1


@given(SIGNS, st.floats(0.02, 0.98))
def test_the_share_below_inverts_the_quantile(signs: ShiftSigns, p: float) -> None:
    three = PRIOR.quantile(signs, np.array([p - 1e-6, p, p + 1e-6]))
    accuracy = float(three[1])
    if (
        0 < accuracy < 1 and np.diff(three).min() > 5e-9
    ):  # where it is flat to one side, many p share an accuracy
        assert PRIOR.share_below(signs, accuracy) == pytest.approx(p, abs=1e-3)


def test_a_larger_margin_is_less_likely() -> None:
    signs = ShiftSigns(0.8, 0.9, 2000, 2000, moved=0.5, unexplained=0.4)
    chances = [
        chance_of_fall(PRIOR, signs, margin, None, None) or 0
        for margin in (0, 0.01, 0.03, 0.1, 0.3)
    ]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.9
    assert chances[-1] < 0.15


def test_under_another_assumption_its_interval_answers() -> None:
    stands = Interval(0.85, 0.85 - 1.96 * 0.02, 0.85 + 1.96 * 0.02, 0.95, "conditional")
    chance = chance_of_fall(PRIOR, None, 0.03, stands, 0.9)
    assert chance == pytest.approx(stats.norm.cdf((0.9 - 0.03 - 0.85) / 0.02), abs=1e-4)
    assert chance_of_fall(PRIOR, None, 0.03, None, None) is None


def test_verdicts_and_what_is_said_of_them() -> None:
    falls = judged(PRIOR, 0.03, [FELL, HOLDS, 0.5, None], [0.0, 0.0, 0.0, None], ["natural"] * 4)
    assert [one.verdict for one in falls] == ["fell", "holds", "cannot say", "cannot say"]
    assert [one.alarm for one in falls] == [True, False, False, False]
    measured = {(row[0], row[1]): row for row in PRIOR.verdicts}
    assert f"of {measured[0.03, 'fell'][2]} public cases" in falls[0].why
    assert "audit" in falls[2].why
    assert "not known" in falls[3].why
    assert "assumption" in judged(PRIOR, 0.03, [0.9], [0.0], ["covariate"])[0].why
    own = judged(PRIOR, 0.03, [FELL], [0.5], ["history"])[0]
    assert own.alarm  # labels behind it showed it, whatever the outputs did
    assert own.why == "by own history"


def test_verdicts_of_a_fall_are_right_as_promised() -> None:
    """19 in 20 with whole domains left out, whatever the margin; all together wrong in at most 5 % of cases."""
    cases = (PRIOR.about or {})["cases"]
    for margin in {row[0] for row in PRIOR.verdicts}:
        said = {row[1]: row for row in PRIOR.verdicts if row[0] == margin}
        assert said["fell"][3] >= 0.945
        assert said["fell"][2] > 0.12 * cases
        assert sum(row[2] * (1 - row[3]) for row in said.values()) <= 0.05 * cases


def test_a_verdict_that_was_seldom_right_is_not_given() -> None:
    """Where `holds` was right in fewer than four of five public cases called so, it is not said; else it is."""
    assert min(row[3] for row in PRIOR.verdicts) > LEAST_RIGHT, (
        "all verdicts of the packaged prior may be given"
    )
    prior = replace(
        PRIOR, verdicts=((0.01, "holds", 20, LEAST_RIGHT - 0.01), (0.05, "holds", 20, LEAST_RIGHT))
    )
    assert [judged(prior, m, [0.01], [0.5], ["natural"])[0].verdict for m in (0.01, 0.05)] == [
        "cannot say",
        "holds",
    ]
    assert judged(prior, 0.01, [0.01], [0.5], ["covariate"])[0].verdict == "holds"


def test_without_change_many_chunks_raise_no_alarm() -> None:
    """However many chunks: of 20 series of 12 unchanged chunks at most a few raise any alarm (promised: 5 %)."""
    raised = 0
    for seed in range(20):
        reference, target = series(12, 0, seed=seed)
        found = oodometer.estimate(
            reference, target, by="week", methods=["doc", "im", "cbpe", "atc"], backtest=None
        )
        raised += any(p.fell is not None and p.fell.alarm for p in found.slices)
    assert raised <= 3


def test_the_chunks_that_fell_raise_it() -> None:
    reference, target = series(8, 3)
    found = oodometer.estimate(reference, target, by="week", backtest=None, margin=0.03)
    alarms = {p.place["value"] for p in found.slices if p.fell is not None and p.fell.alarm}
    assert alarms == {"w05", "w06", "w07"}
    plain = found.to_dict()
    assert plain["fell"].keys() == {"by_at_least", "p", "verdict", "changed", "alarm", "why"}
    assert plain["slices"][0]["fell"]["by_at_least"] == 0.03
    assert plain["slices"][0]["signs"].keys() == {"moved", "unexplained"}
    assert_snapshot(repr(found))


def test_the_adjusted_p_values_know_how_many_parts_were_looked_at() -> None:
    reference, target = series(8, 3)
    one = {k: v[: 400 * 1] for k, v in target.items()}
    asked: dict[str, Any] = {"every": "400rows", "methods": ["im"], "backtest": None}
    alone, among = (
        oodometer.estimate(reference, some, **asked).chunks[0].fell for some in (one, target)
    )
    assert alone.changed is not None
    assert among.changed is not None
    assert among.changed >= min(5 * alone.changed, 1) - 1e-12


@pytest.mark.parametrize("margin", [-0.01, 1, 3, float("inf")])
def test_a_margin_is_a_fraction(margin: float) -> None:
    reference, target = series(2, 1)
    with raises_snapshot(UsageError):
        oodometer.estimate(reference, target, margin=margin, backtest=None)


def test_what_is_not_known_raises_no_alarm() -> None:
    """A reference without errors, of one class, and of few rows: an answer or a reason, never an alarm from nothing."""
    p = np.column_stack([np.full(50, 0.3), np.full(50, 0.7)])
    found = oodometer.estimate(
        {"probabilities": p, "label": np.ones(50, int)}, {"probabilities": p}, backtest=None
    )
    assert not found.fell.alarm
    assert found.fell.p is None or 0 <= found.fell.p <= 1


def test_on_the_command_line(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reference, target = series(4, 2)
    paths = []
    for name, one in (("reference", reference), ("target", target)):
        paths.append(tmp_path / f"{name}.jsonl")
        rows = zip(*one.values(), strict=True)
        text = "\n".join(json.dumps({k: getattr(v, "tolist", lambda v=v: v)() for k, v in zip(one, row, strict=True)})
                         for row in rows)  # fmt: skip
        paths[-1].write_text(text + "\n")
    arguments = [*map(str, paths), "--by", "week", "--margin", "0.03", "--backtest", "none"]
    assert main(["estimate", *arguments, "--report", str(tmp_path / "page.html")]) == 0
    said = capsys.readouterr().out
    assert_snapshot(said)
    page = (tmp_path / "page.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "Fell by 3 points or more: " in page
    assert "2 of 4 slices: a fall by 3 points or more is likely (alarm)" in page
    assert main(["estimate", *arguments[:-4], "--margin", "3"]) == 2


def test_the_tail_of_the_gamma_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for shape in (0.5, 2.0, 20.0):
        null = rng.gamma(shape, 3, 5000)
        mean, variance = null.mean(), null.var(ddof=1)
        for wanted in (0.3, 0.05, 0.001, 1e-6):
            g = float(stats.gamma.isf(wanted, mean**2 / variance, scale=variance / mean))
            found = ShiftTest(g, null).tail_p_value
            assert wanted / 1.5 <= found <= wanted * 5, (
                shape,
                wanted,
            )  # far out a little too careful
    assert ShiftTest(0.0, np.zeros(10)).tail_p_value == 1
    assert replace(ShiftTest(1.0, np.ones(10))).tail_p_value == 1


@pytest.mark.parametrize(("cells", "rows", "few"), [(20, 2000, 500), (2000, 20_000, 800)])
def test_the_test_of_change_keeps_its_level_with_sparse_cells_too(
    cells: int, rows: int, few: int
) -> None:
    """Of 60 unchanged targets 5 % are to be called changed; with thousands of cells it would be every fourth."""
    rng = np.random.default_rng(1)
    share = rng.dirichlet(np.ones(cells))
    found = []
    for seed in range(60):
        both = _without_sparse(rng.multinomial(rows, share), rng.multinomial(few, share))
        assert [side.sum() for side in both] == [rows, few]
        found.append(no_shift_test(*both, seed=seed).tail_p_value)
    assert np.mean(np.array(found) < 0.05) <= 0.12


@pytest.mark.parametrize("margin", [0.01, 0.1, 0.3])
def test_clusters_take_from_the_chance_what_is_sure_of_it(margin: float) -> None:
    """A normal error is added to the truth: of an assumed normal law that is the sum of both variances."""
    signs = ShiftSigns(0.85, 0.9, 500, 500, moved=0.3, unexplained=0.1)
    plain, wide = (chance_of_fall(PRIOR, signs, margin, None, None, error) for error in (0.0, 0.05))
    assert plain is not None
    assert wide is not None
    assert abs(wide - 0.5) < abs(plain - 0.5) + 0.02
    stands = Interval(0.85, 0.85 - 1.96 * 0.03, 0.85 + 1.96 * 0.03, 0.95, "asymptotic")
    normal = stats.norm(0.85, (0.03**2 + 0.04**2) ** 0.5).cdf(0.9 - margin)
    assert chance_of_fall(PRIOR, None, margin, stands, 0.9, 0.04) == pytest.approx(
        normal, abs=0.005
    )
