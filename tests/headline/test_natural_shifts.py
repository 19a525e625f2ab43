"""The prior of natural shifts: its value, its bands, its file, the trust that it gives, and the four assumptions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oodometer
from oodometer.diagnoses import Diagnosis, Finding
from oodometer.errors import InputError, UsageError
from oodometer.headline.headline import Evidence, make_headline
from oodometer.headline.natural_shifts import (
    DOMAINS,
    LEAST_CASES,
    MOST_OFF,
    NaturalShifts,
    ShiftSigns,
    contradicted,
    disagreement_of,
    doubt_of,
    headline_under,
    natural_headline,
    packaged_prior,
    separation_of,
    signs_of,
    standard_error,
    trust_of,
    under_assumptions,
)
from oodometer.results import Estimate, Interval
from oodometer.results.estimation import ASSUMPTIONS, Assumed, Headline
from oodometer.testing import example_record

from ..snapshots import assert_snapshot, raises_snapshot

PRIOR = packaged_prior()
HAND = replace(
    PRIOR,
    cost=0.9,
    centre_cost=0.6,
    levels=np.array([0.05, 0.5, 0.95]),
    chance=np.array([-2.0, 0.0, 1.0]),
    size=np.array([-0.6, 0.0, 0.3]),
    unknown={"moved": 0.5, "separation": 0.6, "apart": 0.04, "disagreement": 0.02},
    reach=((0.1, 50, 0.95, 0.01), (1.0, 500, 0.88, 0.08)),
)
STILL = ShiftSigns(
    0.9,
    0.9,
    10_000,
    10_000,
    moved=0.0,
    unexplained=0.0,
    separation=0.0,
    apart=0.0,
    disagreement=0.0,
)
SIGNS = st.builds(
    ShiftSigns,
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.none() | st.floats(0, 4),
    st.none() | st.floats(0, 4),
    st.booleans(),
    separation=st.none() | st.floats(0, 1),
    apart=st.none() | st.floats(0, 1),
    disagreement=st.none() | st.floats(0, 1),
)


def test_the_value_by_hand() -> None:
    """v = 1/2 is 1/3 of the way; methods that are 0.02 apart contradict each other by half; at 0.85 all can be lost."""
    fell = ShiftSigns(0.8, 0.9, 100, 100, separation=0.5, apart=0.0, disagreement=0.02)
    assert HAND.value(fell) == pytest.approx(0.8 - 0.9 * (1 / 3) ** 2 * 0.5)
    rose = replace(fell, estimate=1.0)
    assert HAND.value(rose) == pytest.approx(0.9 - 0.05), "predicted rises are not believed"
    assert HAND.value(replace(fell, disagreement=0.0)) == pytest.approx(0.8), "all methods agree"
    assert HAND.value(replace(fell, separation=0.0)) == pytest.approx(0.8), (
        "nothing tells the rows apart"
    )
    weak = replace(fell, source=0.55, estimate=0.5)
    assert HAND.value(weak) == pytest.approx(0.5 - 0.25 * 0.05), "a weak model has less to lose"
    assert HAND.value(replace(fell, models=True)) == pytest.approx(0.8), "other models saw the fall"
    unseen = replace(fell, separation=None, moved=1.0, disagreement=None)
    assert HAND.value(unseen) == pytest.approx(0.8 - 0.9 * (0.6 / 2) ** 2 * 0.5), (
        "as far apart as such moves are"
    )


def test_other_quantiles_are_measured_from_a_centre_of_their_own() -> None:
    """The value is the median whatever the others are; an end that it passes gives way to it."""
    signs = ShiftSigns(0.8, 0.9, 10**6, 10**6, separation=0.5, apart=0.02, disagreement=0.0)
    assert HAND.value(signs) == pytest.approx(0.8)
    centre = 0.8 - 0.6 * (1 / 3) ** 2 * 0.5
    assert HAND.centre(signs) == pytest.approx(centre)
    low, middle, high = HAND.quantile(signs, HAND.levels)
    assert (low, middle, high) == pytest.approx((centre - 0.2, 0.8, centre + 0.1), abs=0.002)
    assert HAND.share_below(signs, 0.8) == pytest.approx(0.5)
    unseen = replace(signs, apart=None)
    assert HAND.centre(unseen) == pytest.approx(0.8 - 0.6 * (1 / 3) ** 2 * 0.8)
    sharp = replace(HAND, size=np.array([-0.6, 0.0, 0.0]))
    assert sharp.quantile(signs, HAND.levels)[1:] == pytest.approx([0.8, 0.8], abs=0.002)


def test_relations_that_agree_on_accuracy_do_not_disagree() -> None:
    assert disagreement_of({"im": 0.8, "cbpe": 0.8, "sld": 0.5}) == 0
    assert disagreement_of({"im": 0.8, "cbpe": 0.7}) == pytest.approx(0.1)
    assert disagreement_of({"im": 0.8, "cbpe": 0.76, "sld": 0.9}) == pytest.approx(
        (0.04 * 0.14) ** 0.5
    )
    assert disagreement_of({"cbpe": 0.8, "sld": 0.5}) is None


def test_quantiles_by_hand() -> None:
    """A separation of 1/2 is 1/3 of the way to what a change can cost a model that can lose a quarter."""
    signs = ShiftSigns(0.55, 0.55, 200, 50, separation=0.5, apart=0.0, disagreement=0.0)
    se = standard_error(0.55, signs)
    assert se == pytest.approx((0.55 * 0.45 * (1 / 200 + 1 / 50)) ** 0.5)
    low, middle, high = HAND.quantile(signs, np.array([0.05, 0.5, 0.95]))
    assert (low, middle, high) == pytest.approx(
        (0.55 - 2 * se - 0.6 / 12, 0.55, 0.55 + se + 0.3 / 12)
    )
    assert HAND.quantile(signs, np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    lower, upper = HAND.interval(signs, 0.9)
    assert lower == pytest.approx(low)
    assert upper == pytest.approx(0.55 + max(se + 0.3 / 12, 1.2 * 1.6448536 * se)), (
        "never narrower than chance"
    )


@given(SIGNS, st.floats(0.01, 0.999))
def test_intervals_hold_the_value_and_lie_in_one_another(signs: ShiftSigns, level: float) -> None:
    value, (low, high) = PRIOR.value(signs), PRIOR.interval(signs, level)
    assert 0 <= low <= value <= high <= 1
    inner = PRIOR.interval(signs, level / 2)
    assert low - 1e-12 <= inner[0]
    assert inner[1] <= high + 1e-12


@given(SIGNS, st.integers(2, 100))
def test_more_rows_of_the_same_kind_widen_no_band(signs: ShiftSigns, times: int) -> None:
    """The size of a change is an effect size: it does not grow with the rows that show it."""
    more = replace(signs, rows=signs.rows * times, reference_rows=signs.reference_rows * times)
    for level in (0.5, 0.9):
        assert (
            np.diff(PRIOR.interval(more, level))[0]
            <= np.diff(PRIOR.interval(signs, level))[0] + 1e-12
        )


def test_it_is_asymmetric_and_grows_with_the_size_of_the_change() -> None:
    moved = replace(STILL, separation=0.5, apart=0.01)
    (low, high), near = PRIOR.interval(moved, 0.9), PRIOR.interval(STILL, 0.9)
    assert 0.9 - low > 2 * (high - 0.9)
    assert high - low > 4 * (near[1] - near[0])


# ------------------------------------------------------------------------------------------ the file


def test_the_packaged_file_says_where_it_comes_from() -> None:
    about = PRIOR.about or {}
    assert len(about["sources"]) == 93
    assert about["cases"] > 2400
    assert {*about["domains"], "other"} == set(DOMAINS)
    assert about["made_by"].startswith("python -m benchmarks.natural.prior")
    assert (
        NaturalShifts.from_dict(json.loads(json.dumps(PRIOR.to_dict())), "again").to_dict()
        == PRIOR.to_dict()
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "expected a prior of natural shifts of format 7, got format list"),
        ('{"format": 6}', "expected a prior of natural shifts of format 7, got format 6"),
        ('{"format": 1}', "expected a prior of natural shifts of format 7, got format 1"),
        ('{"format": 7}', "got one without 'cost'"),
        ("no json", "expected a prior of natural shifts, a JSON file, got Expecting value"),
        (None, "No such file"),
    ],
)
def test_another_file_is_refused_with_a_line(
    content: str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "prior.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=r"prior\.json") as caught:
        oodometer.estimate(REFERENCE, TARGET, prior=path, backtest=None)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "spoil", [{"p": 0.5}, {"separation": None}, {"standard_error": float("nan")}]
)
def test_a_spoilt_file_is_refused(spoil: dict[str, Any]) -> None:
    plain = PRIOR.to_dict()
    plain["quantiles"][0] |= spoil
    with raises_snapshot(InputError):
        NaturalShifts.from_dict(plain, "spoilt.json")


def test_a_prior_of_ones_own_is_used(tmp_path: Path) -> None:
    wide = PRIOR.to_dict()
    for row in wide["quantiles"]:
        row["standard_error"] *= 20 if row["p"] != 0.5 else 1  # the value is the median
    path = tmp_path / "wide.json"
    path.write_text(json.dumps(wide))
    mine, ours = (
        oodometer.estimate(REFERENCE, TARGET, prior=p, methods=ASKED, backtest=None).headline
        for p in (path, None)
    )
    assert mine.value == ours.value
    assert mine.bands["half"].width > 1.5 * ours.bands["half"].width


# ------------------------------------------------------------------------------------------ the headline

REFERENCE = example_record(400, seed=3)
ASKED = ["source", "doc", "im", "cbpe", "atc", "leap"]
TARGET = example_record(500, seed=4, difficulty=1.3, labelled=False)


def made_by(method: str, value: float) -> Estimate:
    return Estimate(
        method,
        value,
        max(value - 0.05, 0),
        min(value + 0.05, 1),
        0.9,
        "conditional",
        "",
        "guo2017",
        rows=900,
    )


FOUR = [
    made_by("doc", 0.7),
    made_by("im", 0.72),
    made_by("cbpe", 0.74),
    made_by("atc", 0.6),
    made_by("source", 0.8),
]


def evidence(**changes: Any) -> Evidence:
    given: dict[str, Any] = {"shift_statistics": {"moved": 0.4, "unexplained": 0.2}, "source": 0.8,
                             "reference_rows": 1000} | changes  # fmt: skip
    return Evidence(0.9, **given)


def test_the_estimate_is_the_plain_middle_of_confidence() -> None:
    still, by_name = make_headline(FOUR, evidence()), {e.method: e for e in FOUR}
    assert still is not None
    signs = signs_of(still, by_name, evidence())
    assert signs is not None
    assert signs.estimate == pytest.approx(0.71), "the median of 0.7, 0.72, 0.74, 0.6"
    assert signs.apart == pytest.approx(0.04), "cbpe says 0.74, doc 0.7"
    found = natural_headline(still, signs, evidence(), HAND, by_name["cbpe"], ["doc", "im", "cbpe"])
    assert found.value == pytest.approx(HAND.value(signs))
    assert (found.kind, found.level) == ("empirical", 0.9)
    assert_snapshot(found.method)
    assert found.bands["unchanged"] == by_name["cbpe"].interval
    assert found.bands["nine_in_ten"] == found.interval, "asked at the same level"
    assert (
        found.lower
        <= found.bands["half"].lower
        <= found.value
        <= found.bands["half"].upper
        <= found.upper
    )
    alone = natural_headline(still, signs, evidence(), HAND)
    assert alone.bands["unchanged"] == still.interval, "without a method that asks for P(y | x)"


def test_a_classifier_that_reads_features_moves_no_number() -> None:
    """What features tell apart need not concern the model; what its outputs tell apart does."""
    by = {
        name: Finding("overlap", "", 0.9, details={"by": name})
        for name in ("features", "probabilities")
    }
    seen = {name: separation_of(diagnosed("covariate", one)) for name, one in by.items()}
    assert seen == {"features": None, "probabilities": pytest.approx(0.8)}
    assert separation_of(None) is None


def test_without_the_accuracy_of_the_reference_the_number_stands_alone() -> None:
    still = make_headline(FOUR, Evidence(0.9))
    assert still is not None
    assert (
        natural_headline(
            still, signs_of(still, {e.method: e for e in FOUR}, Evidence(0.9)), Evidence(0.9)
        )
        is still
    )


def test_a_reference_without_errors_leaves_room() -> None:
    alike = [made_by("doc", 1.0)]
    given_ = evidence(
        source=1.0, reference_rows=50, shift_statistics={"moved": 0.0, "unexplained": 0.0}
    )
    still = make_headline(alike, given_)
    assert still is not None
    found = natural_headline(still, signs_of(still, {e.method: e for e in alike}, given_), given_)
    assert found.lower <= 0.05 ** (1 / 50), "the exact lower end of 50 in 50"
    assert (
        found.trust,
        found.why.endswith("the reference holds no errors, so nothing is known of them"),
    ) == (
        "low",
        True,
    )


def diagnosed(kind: Any, *findings: Finding) -> Diagnosis:
    return Diagnosis(kind, findings, f"it is {kind}")


ALARM = Finding("confidence alarm", "", 0.2, refutes=("ac",), strength="strong")


def test_trust_says_what_was_measured() -> None:
    level, why = trust_of(HAND, STILL, "")
    assert level == "high"
    assert_snapshot(why)
    worse = replace(HAND, reach=((1.0, 500, 0.95, MOST_OFF + 0.01),))
    assert trust_of(worse, STILL, "")[0] == "low", (
        "a number that was off too often is not trusted, however narrow"
    )
    few = replace(HAND, reach=((1.0, LEAST_CASES - 1, 0.95, 0.0),))
    assert trust_of(few, STILL, "")[0] == "low", "so few cases promise nothing"
    far = replace(STILL, separation=3.0, apart=1.0)
    assert trust_of(HAND, far, "")[0] == "none"
    assert_snapshot(trust_of(HAND, far, "")[1])
    assert trust_of(HAND, replace(STILL, separation=0.25), "")[0] == "low", (
        "bands that reach so far were off too often"
    )
    assert trust_of(HAND, STILL, "it is so")[0] == "low"


@pytest.mark.parametrize(
    ("changes", "doubt"),
    [
        ({"diagnosis": diagnosed("none")}, ""),
        ({"diagnosis": diagnosed("label")}, ""),
        ({"diagnosis": diagnosed("support")}, "it is support"),
        ({"domain": "texts"}, ""),
        (
            {"domain": "other"},
            "no public shift of data like yours was seen, as you said (--domain)",
        ),
        ({"diagnosis": diagnosed("none", ALARM)}, "confidence misses what other signs show"),
    ],
)
def test_what_speaks_against_high_trust(changes: dict[str, Any], doubt: str) -> None:
    assert doubt_of(STILL, evidence(**changes)) == doubt


def test_what_cannot_be_seen_is_taken_to_be_typical() -> None:
    unseen = replace(STILL, moved=None, unexplained=None, separation=None, apart=None)
    assert_snapshot(doubt_of(unseen, evidence()))
    assert PRIOR.interval(unseen, 0.9)[0] < PRIOR.interval(STILL, 0.9)[0]


# ------------------------------------------------------------------------------------------ assumptions


@pytest.mark.parametrize("assume", list(ASSUMPTIONS))
def test_the_headline_is_that_of_the_assumption(assume: str) -> None:
    found = oodometer.estimate(
        REFERENCE, TARGET, assume=assume, methods=ASKED, backtest=None, level=0.9
    )
    chosen = found.assumptions[assume]
    assert chosen.interval == found.headline.interval
    assert found.to_dict()["assume"] == assume
    natural = oodometer.estimate(REFERENCE, TARGET, methods=ASKED, backtest=None, level=0.9)
    assert found.assumptions == natural.assumptions, "all four stand in every result"
    assert found.headline.bands == natural.headline.bands
    if assume != "natural":
        assert found.headline.trust != "high"
        assert ASSUMPTIONS[assume] in found.headline.why


def test_an_assumption_that_no_method_can_answer_under_is_refused() -> None:
    with raises_snapshot(UsageError):
        oodometer.estimate(
            REFERENCE, TARGET, assume="label", methods=["source", "doc"], backtest=None
        )
    with raises_snapshot(UsageError):
        oodometer.estimate(REFERENCE, TARGET, assume="hope")


def test_data_that_refute_an_assumption_are_heard() -> None:
    against = Finding(
        "label shift", "no shares explain it", 9.0, 0.0, refutes=("leap", "sld"), strength="strong"
    )
    every = [*FOUR, made_by("leap", 0.5)]
    still = make_headline(every, evidence())
    assert still is not None
    natural = natural_headline(
        still, signs_of(still, {e.method: e for e in every}, evidence()), evidence()
    )
    found = under_assumptions(natural, still, every, diagnosed("covariate", against))
    assert_snapshot((found["label"].method, found["label"].refuted))
    assert found["covariate"].refuted is None
    said = headline_under("label", natural, found)
    assert (said.trust, said.value) == ("none", 0.5)
    assert_snapshot(said.why)


def contradicting(low: float, kind: str = "label", refuted: str | None = None) -> tuple[str, str]:
    """Trust and reason of a headline of 80 % whose answer under label shift reaches from ``low`` to 99 %."""
    band = Interval(0.8, 0.7, 0.85, 0.9, "empirical")
    headline = Headline(band, "doc", "", "low", "as measured", {"nine_in_ten": band})
    label = Assumed(Interval(0.98, low, 0.99, 0.95, "conditional"), "leap", refuted=refuted)
    found = contradicted(headline, label, Diagnosis(kind, (), "", {}))
    return found.trust, found.why


def test_two_readings_that_contradict_each_other_leave_no_trust() -> None:
    trust, why = contradicting(0.95)
    assert trust == "none"
    assert_snapshot(why)
    assert contradicting(0.84) == ("low", "as measured")  # it reaches into the band of 90 %
    assert contradicting(0.95, "none") == ("low", "as measured")
    assert contradicting(0.95, refuted="the confusion matrix cannot be mixed so") == (
        "low",
        "as measured",
    )
