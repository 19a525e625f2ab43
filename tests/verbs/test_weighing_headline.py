"""Weights of methods from trials of known truth, and the headline in each of its states."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oodometer
from oodometer import Predictions, estimate
from oodometer.backtests.trials import BacktestOptions, Trial, run_backtest
from oodometer.diagnoses import Diagnosis, Finding
from oodometer.estimators import AverageConfidence, Traits
from oodometer.headline.headline import (
    LEAST_TRIALS,
    Evidence,
    TrialWeighting,
    Weighed,
    averaged_methods,
    make_headline,
    spelled,
)
from oodometer.passes.plan import default_methods, quick_methods
from oodometer.registry import _checked, register, unregister
from oodometer.results import Estimate
from oodometer.results.estimation import Headline
from oodometer.testing import example_record

from ..snapshots import assert_snapshot, raises_snapshot

MANY = 10**9  # reference rows: the panel has no weight
KINDS = ("none", "label", "covariate", "support", "unknown")


def made_trials(
    count: int,
    errors: dict[str, float],
    *,
    seed: int = 0,
    rows: int = 10**7,
    family: str = "none",
    spread: float = 0.1,
) -> list[Trial]:
    """Trials whose truth wanders about 0.7; each method errs by N(0, its own deviation)."""
    rng = np.random.default_rng([seed, 5])
    out = []
    for i in range(count):
        truth = float(np.clip(0.7 + spread * rng.standard_normal(), 0.05, 0.95))
        said = {
            m: float(np.clip(truth + e * rng.standard_normal(), 0, 1)) for m, e in errors.items()
        }
        triples = {m: (v, max(v - 0.1, 0.0), min(v + 0.1, 1.0)) for m, v in said.items()}
        out.append(
            Trial(family, 0.5, i, rows, truth, 0.8, triples, {"moved": 0.1, "unexplained": 0.0})
        )
    return out


SIGNS = {"moved": 0.1, "unexplained": 0.0}


def weigh(weighting: TrialWeighting, estimates: dict[str, float], **changes: Any) -> Weighed:
    options: dict[str, Any] = {
        "signs": SIGNS,
        "source": 0.8,
        "rows": 10**7,
        "level": 0.9,
        **changes,
    }
    found = weighting.weigh(estimates, options["signs"], options["source"], options["rows"], options["level"],
                         options.get("kind"))  # fmt: skip
    assert found is not None
    return found


def check_weighed(found: Weighed) -> None:
    assert 0 <= found.value <= 1
    assert math.isfinite(found.half)
    assert found.half > 0
    assert all(0 <= share <= 1 + 1e-12 for share in found.shares.values())
    assert sum(found.families.values()) == pytest.approx(1)


# ------------------------------------------------------------------------------------------ weights


def test_a_method_that_is_always_right_gets_the_weight() -> None:
    trials = made_trials(100, {"ac": 0.0, "doc": 0.05, "atc": 0.1})
    found = weigh(
        TrialWeighting(trials, ["ac", "doc", "atc"], MANY), {"ac": 0.6, "doc": 0.7, "atc": 0.9}
    )
    assert next(iter(found.shares)) == "ac"
    assert found.shares["ac"] > 0.98
    assert found.value == pytest.approx(0.6, abs=0.01)
    check_weighed(found)


def test_shares_go_with_the_square_of_the_mean_squared_error() -> None:
    """By hand: deviations 0.02 and 0.04 and the floor of 0.005 give (0.0004 + f)^-2 to (0.0016 + f)^-2."""
    trials = made_trials(4000, {"one": 0.02, "two": 0.04})
    found = weigh(TrialWeighting(trials, ["one", "two"], MANY), {"one": 0.6, "two": 0.8})
    floor = 0.005**2
    want = (0.0016 + floor) ** 2 / ((0.0016 + floor) ** 2 + (0.0004 + floor) ** 2)
    assert found.shares["one"] == pytest.approx(want, abs=0.01)
    assert found.value == pytest.approx(want * 0.6 + (1 - want) * 0.8, abs=0.003)


def test_a_method_that_did_not_answer_gets_nothing() -> None:
    trials = made_trials(100, {"ac": 0.0, "doc": 0.05})
    weighting = TrialWeighting(trials, ["ac", "doc", "never"], MANY)
    found = weigh(weighting, {"doc": 0.7, "never": 0.2, "unheard": 0.1})
    assert found.shares == {"doc": 1.0}
    assert found.value == pytest.approx(0.7)
    assert weighting.weigh({"never": 0.2}, SIGNS, 0.8, 100, 0.9) is None
    assert weighting.weigh({"unheard": 0.2}, SIGNS, 0.8, 100, 0.9) is None
    assert weighting.weigh({}, SIGNS, 0.8, 100, 0.9) is None


def test_few_trials_are_not_believed() -> None:
    for count in (0, 1, LEAST_TRIALS - 1):
        weighting = TrialWeighting(made_trials(count, {"ac": 0.01}), ["ac"], MANY)
        assert weighting.weigh({"ac": 0.6}, SIGNS, 0.8, 100, 0.9) is None
    check_weighed(
        weigh(TrialWeighting(made_trials(LEAST_TRIALS, {"ac": 0.01}), ["ac"], MANY), {"ac": 0.6})
    )


def far_and_near(**changes: Any) -> list[Trial]:
    """At home ac is right, on targets that moved far doc is."""
    home = made_trials(60, {"ac": 0.002, "doc": 0.1}, seed=1)
    away = [replace(t, family="tilt", signs={"moved": 1.5, "unexplained": 1.0})
            for t in made_trials(60, {"ac": 0.1, "doc": 0.002}, seed=2)]  # fmt: skip
    return [replace(t, **changes) for t in (*home, *away)]


def test_trials_that_look_like_the_target_count() -> None:
    weighting = TrialWeighting(far_and_near(), ["ac", "doc"], MANY)
    estimates = {"ac": 0.7, "doc": 0.72}
    near = weigh(weighting, estimates)
    far = weigh(weighting, estimates, signs={"moved": 1.5, "unexplained": 1.0})
    assert (next(iter(near.shares)), next(iter(far.shares))) == ("ac", "doc")
    assert (next(iter(near.families)), next(iter(far.families))) == ("none", "tilt")
    assert near.covered
    assert far.covered
    beyond = weigh(weighting, estimates, signs={"moved": 9.0, "unexplained": 9.0})
    assert not beyond.covered
    assert beyond.half > far.half, "what nothing simulated gets a wider interval"
    for found in (near, far, beyond):
        check_weighed(found)


def test_the_diagnosis_favours_families() -> None:
    trials = [
        *made_trials(50, {"ac": 0.01}, seed=1),
        *made_trials(50, {"ac": 0.01}, seed=2, family="class_prior"),
    ]
    weighting = TrialWeighting(trials, ["ac"], MANY)
    shares = {
        k: weigh(weighting, {"ac": 0.7}, kind=k).families["class_prior"]
        for k in ("label", None, "covariate")
    }
    assert shares["label"] > 0.8 > shares[None] > 0.3 > shares["covariate"]


def test_families_count_alike_whatever_their_number_of_trials() -> None:
    trials = [
        *made_trials(200, {"ac": 0.01}, seed=1),
        *made_trials(25, {"ac": 0.01}, seed=1, family="tilt"),
    ]
    found = weigh(TrialWeighting(trials, ["ac"], MANY), {"ac": 0.7})
    assert found.families["tilt"] == pytest.approx(0.5, abs=0.15)
    rare = [
        *made_trials(100, {"ac": 0.01}, seed=1),
        *made_trials(100, {"ac": 0.01}, seed=1, family="logit_noise"),
    ]
    assert weigh(TrialWeighting(rare, ["ac"], MANY), {"ac": 0.7}).families[
        "logit_noise"
    ] == pytest.approx(1 / 11, abs=0.02)


def test_a_sign_that_the_target_lacks_does_not_make_it_far() -> None:
    """The reference has members and the target none: `agreement` moved in every trial, in the target it is missing."""
    trials = [
        replace(t, estimates={**t.estimates, "agreement": (0.1, 0.0, 0.2)})
        for t in made_trials(60, {"ac": 0.01, "doc": 0.01})
    ]
    weighting = TrialWeighting(trials, ["ac", "doc", "agreement"], MANY)
    assert weigh(weighting, {"ac": 0.7, "doc": 0.7}).covered
    assert not weigh(
        weighting, {"ac": 0.7, "doc": 0.7, "agreement": 0.99}, signs={**SIGNS, "moved": 5.0}
    ).covered


def test_what_label_shift_says_is_seen_on_both_sides() -> None:
    """It is among the signs, whether or not the method was asked for: else every target would look far."""
    trials = [
        replace(t, signs={**t.signs, "label_shift": 0.3}) for t in made_trials(60, {"ac": 0.01})
    ]
    weighting = TrialWeighting(trials, ["ac", "label-shift"], MANY)
    assert weigh(weighting, {"ac": 0.7}, signs={**SIGNS, "label_shift": 0.3}).covered
    assert not weigh(weighting, {"ac": 0.7}, signs={**SIGNS, "label_shift": 2.3}).covered
    assert (
        "label-shift"
        not in weigh(weighting, {"ac": 0.7}, signs={**SIGNS, "label_shift": 0.3}).shares
    )


# ------------------------------------------------------------------------------------------ intervals


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_cover_as_often_as_they_say(level: float) -> None:
    """Errors N(0, 0.02) on the trials and on the target alike."""
    rng = np.random.default_rng(3)
    held, halves = [], []
    for seed in range(6):
        weighting = TrialWeighting(made_trials(150, {"ac": 0.02}, seed=seed), ["ac"], MANY)
        for _ in range(30):
            truth = float(np.clip(0.7 + 0.1 * rng.standard_normal(), 0.05, 0.95))
            found = weigh(
                weighting,
                {"ac": float(np.clip(truth + 0.02 * rng.standard_normal(), 0, 1))},
                level=level,
            )
            held.append(abs(found.value - truth) <= found.half)
            halves.append(found.half)
    assert np.mean(held) == pytest.approx(level + 0.02, abs=0.09)
    want = 0.02 * {0.5: 0.674, 0.9: 1.645}[level]
    assert np.mean(halves) == pytest.approx(want, rel=0.2)


def test_small_targets_get_wider_intervals() -> None:
    """Trials of 100 rows hold the noise of 100 rows; a target of 10 has more of it, one of a million none."""
    trials = made_trials(300, {"ac": 0.05}, rows=100)
    halves = [
        weigh(TrialWeighting(trials, ["ac"], MANY), {"ac": 0.7}, rows=n).half
        for n in (10, 100, 10**6)
    ]
    assert halves[0] > 1.5 * halves[1] > 1.5 * halves[2]
    one = weigh(TrialWeighting(trials, ["ac"], MANY), {"ac": 0.7}, rows=1)
    assert one.half > 0.5


def test_a_method_that_never_errs_is_still_not_certain() -> None:
    perfect = [
        replace(t, truth=1.0, estimates={"ac": (1.0, 1.0, 1.0)})
        for t in made_trials(50, {"ac": 0.0})
    ]
    found = weigh(TrialWeighting(perfect, ["ac"], MANY), {"ac": 1.0}, rows=1000)
    check_weighed(found)
    assert found.half >= 0.005


def test_trials_without_an_answer_do_not_shift_the_noise_of_others() -> None:
    """Half of the trials of 20 rows have no answer; what chance adds to the others is that of a million rows."""
    silent = [replace(t, rows=20, estimates={}) for t in made_trials(100, {"ac": 0.0}, seed=1)]
    loud = made_trials(100, {"ac": 0.03}, seed=2, rows=10**6)
    mixed = weigh(TrialWeighting([*silent, *loud], ["ac"], MANY), {"ac": 0.7})
    alone = weigh(TrialWeighting(loud, ["ac"], MANY), {"ac": 0.7})
    assert mixed.half == pytest.approx(alone.half, rel=0.1)


@settings(max_examples=40)
@given(
    count=st.integers(LEAST_TRIALS, 60),
    seed=st.integers(0, 99),
    said=st.dictionaries(
        st.sampled_from(["ac", "doc", "atc", "label-shift", "agreement"]),
        st.floats(0, 1),
        min_size=1,
    ),
    signs=st.sampled_from(
        [{}, {"moved": 0.0}, {"moved": 3.0, "unexplained": 2.0, "label_shift": 0.1}]
    ),
    rows=st.sampled_from([1, 30, 10**6]),
    kind=st.sampled_from([None, *KINDS]),
    source=st.floats(0, 1),
)
def test_never_a_number_that_is_none(
    count: int,
    seed: int,
    said: dict[str, float],
    signs: dict[str, float],
    rows: int,
    kind: Any,
    source: float,
) -> None:
    rng = np.random.default_rng(seed)
    methods = ["ac", "doc", "atc", "agreement"]
    trials = []
    for i in range(count):
        answers = {
            m: (float(v), 0.0, 1.0)
            for m in methods
            if (v := rng.integers(3) / 2) >= 0 and rng.random() < 0.6
        }
        seen = (
            {}
            if rng.random() < 0.3
            else {"moved": float(rng.random()), "label_shift": float(rng.random())}
        )
        trials.append(Trial(str(rng.choice(["none", "tilt", "logit_noise"])), 0.5, i, int(rng.integers(20, 99)),
                            float(rng.integers(3) / 2), float(rng.random()), answers, seen))  # fmt: skip
    found = TrialWeighting(trials, [*methods, "label-shift"], MANY).weigh(
        said, signs, source, rows, 0.95, kind
    )
    if found is not None:
        check_weighed(found)
        assert min(said.values()) - 1e-9 <= found.value <= max(said.values()) + 1e-9


# ------------------------------------------------------------------------------------------ headlines


def made_by(method: str, value: float, width: float = 0.1, rows: int = 1000) -> Estimate:
    low, high = max(value - width, 0.0), min(value + width, 1.0)
    return Estimate(
        method,
        value,
        low,
        high,
        0.9,
        "conditional",
        f"{method} is right",
        "guillory2021",
        rows=rows,
    )


def diagnosed(kind: Any, *findings: Finding) -> Diagnosis:
    return Diagnosis(kind, findings, f"it is {kind}")


SCALES = TrialWeighting(made_trials(100, {"ac": 0.01, "doc": 0.05}), ["ac", "doc"], MANY)
WIDE = TrialWeighting(made_trials(100, {"ac": 0.2, "doc": 0.2}, spread=0.2), ["ac", "doc"], MANY)
TWO = [made_by("ac", 0.7), made_by("doc", 0.72)]


def headline(estimates: list[Estimate] = TWO, **options: Any) -> Headline:
    given: dict[str, Any] = {
        "weighting": SCALES,
        "shift_statistics": SIGNS,
        "source": 0.8,
        "reference_rows": 500,
        **options,
    }
    found = make_headline(estimates, Evidence(0.9, **given))
    assert 0 <= found.interval.lower <= found.interval.value <= found.interval.upper <= 1
    assert found.trust in ("high", "low", "none")
    assert found.why
    assert found.interval.level == 0.9
    return found


LIFE = "the trials simulate shifts under which P(y | x) or P(x | y) is unchanged; real shifts may change both"


@pytest.mark.parametrize("kind", ["none", "label", "covariate", "unknown"])
def test_what_was_right_on_simulated_shifts_says_that_it_was_simulated(kind: str) -> None:
    found = headline(diagnosis=diagnosed(kind))
    assert (found.trust, found.interval.kind, found.why) == ("low", "backtest", LIFE)
    assert found.method.startswith("backtest: ac ")
    assert_snapshot(found.assumes)


def test_a_target_beyond_all_trials_says_so() -> None:
    found = headline(shift_statistics={"moved": 9.0, "unexplained": 9.0})
    assert_snapshot(found.why)


@given(
    st.dictionaries(st.sampled_from("abcdefghij"), st.floats(0.011, 1), min_size=1),
    st.one_of(st.just(0.0), st.floats(0, 1)),
)
def test_the_weights_told_add_up_to_one_hundred(weights: dict[str, float], panel: float) -> None:
    total = sum(weights.values()) * 1.05  # what is below one percent is not among the shares
    shares = dict(sorted(((m, w / total) for m, w in weights.items()), key=lambda item: -item[1]))
    told = spelled(Weighed(0.8, 0.1, shares, panel, {}, True))
    percents = [int(n) for n in re.findall(r"(\d+) %", told)]
    assert sum(percents) == 100
    assert all(percents), "what is nothing is not told"


def test_a_reference_without_errors_leaves_room_for_some() -> None:
    alike = [
        replace(t, source=1.0, truth=1.0, estimates={"ac": (1.0, 1.0, 1.0)})
        for t in made_trials(60, {})
    ]
    given = {"source": 1.0, "reference_rows": 100, "diagnosis": diagnosed("none")}
    found = headline([made_by("ac", 1.0)], weighting=TrialWeighting(alike, ["ac"], MANY), **given)
    assert found.interval.lower <= 0.05 ** (1 / 100), "the exact lower end of 100 in 100"
    assert found.trust == "low"


ALARM = Finding("confidence alarm", "", 0.2, refutes=("ac",), strength="strong")
FAR = Finding("overlap", "", 0.99, 0.0, refutes=("cbpe",), strength="strong")
APART = Finding("overlap", "", 0.9, 0.0, refutes=("cbpe",), strength="strong")


def test_new_inputs_are_answered_by_what_needs_no_overlap_where_other_models_are_asked() -> None:
    near = [
        made_by("agreement", 0.6),
        made_by("threshold-distance", 0.64),
        made_by("atc", 0.66),
        made_by("cbpe", 0.95),
    ]
    found = headline(near, diagnosis=diagnosed("support", APART))
    assert_snapshot(found.method)
    assert found.interval.value == pytest.approx(0.62)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((0.5, 0.74))
    assert (found.trust, found.why, found.interval.kind) == ("low", "it is support", "empirical")
    without = headline([made_by("ac", 0.7), *near[1:]], diagnosis=diagnosed("support", APART))
    assert without.method.startswith("backtest: "), (
        "distances alone are not heard alone: they know of no error"
    )


def test_new_inputs_without_a_method_for_them_are_at_most_lowly_trusted() -> None:
    found = headline(diagnosis=diagnosed("support", FAR))
    assert found.trust != "high"
    bare = headline(diagnosis=diagnosed("support", FAR), weighting=None)
    assert bare.trust != "high"


def test_without_trials_the_voices_answer() -> None:
    found = headline(
        [made_by("atc", 0.7), made_by("doc", 0.74)], weighting=None, source=None, reference_rows=0
    )
    assert_snapshot(found.method)
    assert found.interval.value == pytest.approx(0.72)
    assert (found.trust, found.interval.kind) == ("low", "empirical")
    assert_snapshot(found.why)
    apart = headline([made_by("atc", 0.9), made_by("doc", 0.6)], weighting=None)
    assert apart.trust == "none"
    few = TrialWeighting(made_trials(LEAST_TRIALS - 1, {"ac": 0.01}), ["ac"], MANY)
    assert headline(weighting=few).method.startswith("median of")


def test_without_trials_the_panel_answers_where_four_of_it_do() -> None:
    estimates = [
        made_by(m, v)
        for m, v in zip(averaged_methods(), (0.7, 0.72, 0.74, 0.76, 0.71, 0.2), strict=True)
    ]
    found = headline([*estimates, made_by("ac", 0.99)], weighting=None)
    assert found.interval.value == pytest.approx((0.71 + 0.72) / 2), "without two at each end"
    assert found.method == "middle of " + ", ".join(averaged_methods())
    assert (found.interval.lower, found.interval.upper) == pytest.approx((0.1, 0.86))
    assert found.trust == "none", (
        "one of six is far off, and nothing says that it is not the right one"
    )
    heard = headline([*estimates, made_by("agreement", 0.5)], weighting=None)
    assert "agreement" in heard.method, (
        "other models are heard before a panel that looks at this one alone"
    )


def test_a_small_reference_is_weighed_with_the_panel() -> None:
    """By hand: with 250 rows the panel has 1000/1250 of the weight; trials say that `source` is always right."""
    methods = {"source": 0.0, **dict.fromkeys(averaged_methods(), 0.2)}
    trials = made_trials(100, methods)
    said = {"source": 0.9, **dict.fromkeys(averaged_methods(), 0.6)}
    small = weigh(TrialWeighting(trials, list(methods), 250), said)
    assert small.trimmed == pytest.approx(0.8)
    assert small.value == pytest.approx(0.2 * 0.9 + 0.8 * 0.6, abs=0.003)
    large = weigh(TrialWeighting(trials, list(methods), MANY), said)
    assert large.value == pytest.approx(0.9, abs=0.003)
    assert small.half > 5 * large.half, "the interval is that of the mixed rule"
    found = headline(
        [made_by(m, v) for m, v in said.items()],
        weighting=TrialWeighting(trials, list(methods), 250),
    )
    assert_snapshot(found.method)


def test_methods_of_ones_own_choice_have_no_panel() -> None:
    trials = made_trials(100, {"ac": 0.0, "doc": 0.01})
    found = weigh(TrialWeighting(trials, ["ac", "doc"], 100), {"ac": 0.6, "doc": 0.7})
    assert found.trimmed == 0.0
    assert found.value == pytest.approx(0.6, abs=0.01)


def test_where_nothing_overlaps_the_pessimist_has_a_voice() -> None:
    estimates = [
        made_by("agreement", 0.6),
        made_by("threshold-distance", 0.5),
        made_by("dis2", 0.2),
    ]
    found = headline(estimates, diagnosis=diagnosed("support", FAR))
    assert found.interval.value == pytest.approx(0.5)
    assert (found.interval.lower, found.interval.upper, found.trust) == (
        pytest.approx(0.1),
        pytest.approx(0.7),
        "low",
    )


@pytest.mark.parametrize(("method", "trust"), [("doc", "low"), ("source", "none")])
def test_one_method_alone(method: str, trust: str) -> None:
    found = headline([made_by(method, 0.7)], weighting=None, diagnosis=diagnosed("none"))
    assert (found.method, found.trust, found.interval.value) == (method, trust, 0.7)
    assert_snapshot(found.why)


@settings(max_examples=60)
@given(
    values=st.dictionaries(
        st.sampled_from(["source", "ac", "doc", "atc", "agreement", "cot", "dis2", "atc-entropy", "votes"]),
        st.floats(0, 1), min_size=1,
    ),
    kind=st.sampled_from([None, *KINDS]),
    finding=st.sampled_from([FAR, APART, ALARM]),
    weighting=st.sampled_from([None, SCALES, WIDE]),
    source=st.sampled_from([None, 0.0, 0.5, 1.0]),
    rows=st.sampled_from([0, 1, 1000]),
)  # fmt: skip
def test_the_interval_always_holds_the_value(
    values: dict[str, float], kind: Any, finding: Finding, weighting: Any, source: Any, rows: int
) -> None:
    diagnosis = None if kind is None else diagnosed(kind, finding)
    estimates = [made_by(m, v, 0.05) for m, v in values.items()]
    found = headline(
        estimates, weighting=weighting, diagnosis=diagnosis, source=source, reference_rows=rows
    )
    json.dumps(found.to_dict(), allow_nan=False)
    if found.interval is not None:
        assert found.interval.lower <= found.interval.value <= found.interval.upper


# ------------------------------------------------------------------------------------------ through the verb


REFERENCE = example_record(500, seed=1, difficulty=1.3)
TARGET = example_record(500, seed=4, difficulty=1.3, labelled=False)
SHIFTED = example_record(500, seed=2, difficulty=2.5, labelled=False)


@pytest.fixture(scope="module")
def tried() -> Any:
    return run_backtest(
        REFERENCE, BacktestOptions(methods=quick_methods(None), repeats=2, cache=None)
    )


@pytest.mark.parametrize("target", [TARGET, SHIFTED], ids=["still", "shifted"])
def test_the_json_says_what_was_diagnosed_and_tried(target: Predictions, tried: Any) -> None:
    found = json.loads(
        json.dumps(oodometer.estimate(REFERENCE, target, backtest=tried).to_dict(), allow_nan=False)
    )
    assert found["diagnosis"]["kind"] == ("none" if target is TARGET else "support")
    assert {f["name"] for f in found["diagnosis"]["findings"]} >= {
        "change",
        "confidence",
        "overlap",
    }
    assert found["backtest"]["trials"] == len(tried.trials)
    assert found["backtest"]["methods"] == tried.methods
    assert found["headline"]["trust"] != "high", (
        "of a reference of this size nine in ten did not end near enough"
    )
    bands = found["headline"]["bands"]
    assert list(bands) == ["unchanged", "half", "nine_in_ten"]
    assert bands["nine_in_ten"]["lower"] <= bands["half"]["lower"] <= bands["half"]["upper"]
    assert list(found["assumptions"]) == ["natural", "none", "label", "covariate"]
    assert (found["assumptions"]["none"]["refuted"] is None) == (target is TARGET)
    assert found["headline"]["why"]
    assert found["headline"]["lower"] <= found["headline"]["value"] <= found["headline"]["upper"]


def test_the_headline_is_right_where_nothing_moved(tried: Any) -> None:
    found = oodometer.estimate(REFERENCE, TARGET, backtest=tried).headline
    truth = example_record(500, seed=4, difficulty=1.3).accuracy
    assert found.interval.lower <= truth <= found.interval.upper
    assert found.interval.value == pytest.approx(truth, abs=0.04)


def without_confidence(record: Predictions) -> Predictions:
    labels = {} if record.label is None else {"label": record.label}
    return Predictions.from_arrays(prediction=record.predicted, members=record.members, **labels)


def test_a_backtest_can_be_left_out_or_brought_along(tried: Any) -> None:
    """It decides where no confidence is there; else the median of plain methods that read it does."""
    without = oodometer.estimate(REFERENCE, TARGET, backtest=None)
    assert without.backtest is None
    assert "backtest" not in without.to_dict()
    first, second = (
        oodometer.estimate(REFERENCE, TARGET, backtest=tried).to_dict() for _ in range(2)
    )
    assert first == second
    assert first["headline"] == without.to_dict()["headline"]
    assert_snapshot(without.headline.method)
    reference, target = without_confidence(REFERENCE), without_confidence(TARGET)
    trials = run_backtest(
        reference, BacktestOptions(methods=["source", "gde", "agreement"], repeats=8, cache=None)
    )
    methods = [
        oodometer.estimate(reference, target, backtest=some).headline.method
        for some in (trials, None)
    ]
    assert [method.partition(" ")[0] for method in methods] == ["backtest:", "median"]


def test_a_kept_backtest_gives_the_same_answer(tmp_path: Path) -> None:
    methods = ["source", "ac", "doc", "atc"]
    first = oodometer.estimate(REFERENCE, TARGET, methods=methods, backtest=tmp_path).to_dict()
    (file,) = (tmp_path / "backtests").iterdir()
    kept = file.read_bytes()
    again = oodometer.estimate(REFERENCE, TARGET, methods=methods, backtest=tmp_path).to_dict()
    assert again["headline"] == first["headline"]
    assert file.read_bytes() == kept, "nothing was tried again"
    assert len(kept.splitlines()) > 100
    same = run_backtest(REFERENCE, BacktestOptions(methods=methods, repeats=8, cache=tmp_path))
    assert same.reused == len(kept.splitlines())


def test_a_change_of_the_truth_itself_goes_unseen_and_is_said_to(tried: Any) -> None:
    """Invisible by nature: other labels for the same predictions leave every number as it was."""
    truth = example_record(500, seed=4, difficulty=1.3)
    flipped = truth.label.copy()
    flipped[::10] = (flipped[::10] + 1) % 4
    seen = [
        oodometer.estimate(REFERENCE, TARGET, labels={"label": label}, backtest=tried)
        for label in (truth.label, flipped)
    ]
    assert seen[0].headline == seen[1].headline
    assert seen[0].diagnosis == seen[1].diagnosis
    assert seen[0].target["accuracy"]["value"] > seen[1].target["accuracy"]["value"] + 0.05
    assert_snapshot(seen[1].headline.why)
    assert seen[1].target["accuracy"]["value"] >= seen[1].headline.lower, (
        "the band counts what no output shows"
    )


class Guest(AverageConfidence):
    """An estimator of somebody else."""

    name = "guest"
    traits = Traits("guests", 2000, favour=1e6, voice=1)


@pytest.fixture
def guest() -> Iterator[None]:
    register("estimator")(Guest)
    yield
    unregister("estimator", "guest")


def test_a_method_from_outside_is_backtested_weighed_and_heard(guest: None) -> None:
    assert default_methods()[-1] == "guest"
    assert quick_methods(None)[-1] == "guest"
    found = estimate(REFERENCE, REFERENCE, backtest="auto")
    assert "guest" in found.backtest["methods"]
    trials = run_backtest(
        REFERENCE, BacktestOptions(methods=quick_methods(None), repeats=1, cache=None)
    )
    weighting = TrialWeighting(trials.trials, trials.methods, REFERENCE.rows)
    weighed = headline(list(found.estimates), weighting=weighting, source=REFERENCE.accuracy)
    assert weighed.method.startswith("backtest: guest "), "its favour is large"
    alone = headline([found["guest"], found["doc"]], weighting=None)
    assert_snapshot(alone.method)


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("order", "first"),
        ("cost", "dear"),
        ("favour", -1.0),
        ("favour", "much"),
        ("runs_as", "guest"),
        ("voice", None),
        ("stable", "P(x)"),
        ("reads", "minds"),
        ("in_panel", "yes"),
    ],
)
def test_a_method_that_says_odd_things_of_itself_is_left_out(trait: str, value: Any) -> None:
    with pytest.raises(TypeError, match=trait):  # tests check annotations, too, and name it as well
        Traits(**{trait: value}).check()
    odd = type("Odd", (Guest,), {"traits": {trait: value}})
    with raises_snapshot(TypeError):
        _checked("estimator", odd)
