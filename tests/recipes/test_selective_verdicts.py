"""Verdicts of selective answering: the third measure is heard, looks are counted, power is told; needs said at once."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.errors import InputError
from oodometer.metrics import FailureCases
from oodometer_lab.recipes import find_recipe
from oodometer_lab.recipes.selective_answering import lineup as needs
from oodometer_lab.recipes.selective_answering import tables as search
from oodometer_lab.recipes.selective_answering.findings import case_claims, claims_of, partings
from oodometer_lab.recipes.selective_answering.lineup import RUN_CONFIGS, lineup

from ..snapshots import raises_snapshot


@pytest.fixture
def committed() -> Any:
    path = find_recipe("selective-answering").home / "results" / "small.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def few(committed: Any) -> Any:
    """The result as of 200 replicates."""
    made = copy.deepcopy(committed)
    made["settings"]["replicates"] = 200
    return made


def claims(result: Any) -> dict[str, Any]:
    return {one.name: one for one in claims_of(result)}


def sided(result: Any, share: float) -> Any:
    """The result with the share of replicates in which coverage at risk sides with AUC."""
    made = copy.deepcopy(result)
    made["settings"]["replicates"] = 10_000
    for one in made["disagreements"]:
        for pair in one["pairs"]:
            pair["with_first"] = share
    return made


def test_sides_counted_by_hand(committed: Any) -> None:
    """Every pair that AUC and DiSCA order differently, by the published values of the three metrics."""
    expected = {}
    for name in ("imdb", "sst2"):
        of = {model["name"]: model[name] for model in committed["models"]}
        for a in of:
            for b in of:
                value = [
                    (of[a][m]["value"], of[b][m]["value"])
                    for m in ("auc_coverage", "disca", "coverage_at_risk")
                ]
                if value[0][0] > value[0][1] and value[1][0] < value[1][1]:
                    expected[name, a, b] = "AUC" if value[2][0] > value[2][1] else "DiSCA"
    found = partings(committed)
    assert {(one.name, one.auc, one.disca): one.side for one in found} == expected
    firm = [one for one in found if one.is_firm]
    # `compare` draws 200 replicates of its own, the result 10,000: a pair at the edge may be firm in one of them alone
    least, most = (
        sum(one.side == "AUC" and one.share >= edge for one in found) for edge in (0.93, 0.87)
    )
    assert least <= sum(one["contested"] for one in committed["findings"]) <= most
    evidence = claims(committed)["disca_is_right"].evidence
    for name in ("imdb", "sst2"):
        here = [one.side for one in firm if one.name == name]
        assert (
            f"coverage at risk sides with AUC on {here.count('AUC')} of {len(here)} firm pairs"
            in evidence
        )


def test_the_words_of_the_readme_are_those_of_the_result(committed: Any) -> None:
    """What its prose says of the verdicts changes with them."""
    text = (find_recipe("selective-answering").home / "README.md").read_text(encoding="utf-8")
    firm = [one for one in partings(committed) if one.is_firm]
    assert ("sides with AUC on every pair on which" in text) == all(
        one.side == "AUC" for one in firm
    )
    verdict = claims(committed)["disca_is_right"].verdict
    assert ("so the claim is undecided and not refuted" in text) == (verdict == "undecided")
    beyond = [one.name for one in case_claims(committed) if one.verdict == "holds"]
    assert ("None of the six failure cases is beyond chance" in text) == (not beyond)
    assert ("This result keeps 200 replicates a pair" in text) == (
        committed["settings"]["replicates"] == 200
    )


def test_disca_is_not_called_right_where_the_third_measure_sides_with_auc(committed: Any) -> None:
    """However firmly AUC and DiSCA part."""
    for one in committed["disagreements"]:
        for pair in one["pairs"]:
            pair["share"] = 1.0
    with_auc, with_disca = (claims(sided(committed, share)) for share in (1.0, 0.0))
    assert (
        with_auc["auc_coverage_and_disca"].verdict
        == with_disca["auc_coverage_and_disca"].verdict
        == "holds"
    )
    assert (with_auc["auc_misleads"].verdict, with_auc["disca_is_right"].verdict) == (
        "undecided",
        "does not hold",
    )
    assert (with_disca["auc_misleads"].verdict, with_disca["disca_is_right"].verdict) == (
        "holds",
        "holds",
    )
    half = claims(sided(committed, 0.5))
    assert {half[name].verdict for name in ("auc_misleads", "disca_is_right")} == {"undecided"}


def test_existence_is_corrected_for_every_pair(committed: Any, few: Any) -> None:
    """The surest pair of ninety needs p <= 0.05 / 90, which 200 replicates cannot give and 10,000 can."""
    found = claims(few)
    for name in ("accuracy_and_disca", "auc_coverage_and_disca", "auc_misleads", "domains"):
        row = found[name].row
        assert (len(row.looks), len(row.effects)) == (90, 90)
        assert row.look.supports >= 90 / 201
        assert "no p-value of 90 looks is below 0.896" in found[name].evidence
    for one in few["disagreements"]:
        one["pairs"][0]["share"] = 1.0
    assert claims(few)["auc_coverage_and_disca"].row.look.supports == pytest.approx(90 / 201)
    few["settings"]["replicates"] = 10_000
    sure = claims(few)["auc_coverage_and_disca"].row.look
    assert (sure.supports, sure.p) == (pytest.approx(90 / 10_001), pytest.approx(180 / 10_001))
    tails = case_claims(committed)[0]
    assert (tails.name, len(tails.row.looks)) == ("tail", 90)
    # the surest of ninety pairs, in 10,000 replicates
    assert tails.row.look.supports == pytest.approx(90 * 105 / 10_001)


def test_a_case_is_beyond_chance_only_among_all_models_and_sets(committed: Any) -> None:
    assert claims(committed)["six_cases"].verdict == "undecided"
    told = {}
    for p in (0.001, 0.002):
        committed["search"]["observed"][3]["start"]["p"] = p
        told[p] = {one.name: one.verdict for one in case_claims(committed)}["start"]
    assert told == {0.001: "holds", 0.002: "undecided"}  # 20 looks, two-sided


def test_power_is_told_of_what_is_not_seen(committed: Any) -> None:
    evidence = claims(committed)["six_cases"].evidence
    first, second = (power(committed, "start", name) for name in ("imdb", "sst2"))
    assert f"2 (start) {100 * first['power']:.0f} % / {100 * second['power']:.0f} %" in evidence
    assert second["power"] == pytest.approx(np.mean(second["by_model"]))


def power(result: Any, case: str, name: str) -> Any:
    """The power at an inversion of 20 points."""
    rows = result["search"]["power"]
    return next(
        one for one in rows if (one["name"], one["set"], one["effect"]) == (case, name, 0.2)
    )


def test_the_committed_search_is_the_codes(committed: Any) -> None:
    """One model's p-values, and its power at one inversion, made again by today's code."""
    model, seed = committed["models"][3], committed["settings"]["sizes"]["seed"]
    steps = search.Steps(model["sst2"]["curve"], model["sst2"]["rows"])
    seen = search._observed(model["sst2"]["curve"], steps, seed)
    row = next(
        one
        for one in committed["search"]["observed"]
        if (one["model"], one["set"]) == (model["name"], "sst2")
    )
    for case, one in seen.items():
        assert row[case] == pytest.approx(one, abs=1e-6)
    for case in ("strong", "tail"):
        share, rise = search.power_of(
            case, steps.rows, steps.falling, 0.2, seed, committed["search"]["samples"]
        )
        cell = power(committed, case, "sst2")
        assert cell["by_model"][3] == share
        assert 0.5 * rise < cell["rise"] < 2 * rise


def test_power_against_the_metric_itself() -> None:
    """Rows drawn one by one and judged by `FailureCases` show a case as often as the simulation says."""
    rows = np.full(100, 10.0)
    falling = np.linspace(0.97, 0.6, 100)
    truth = search.inverted("strong", rows, falling, 0.3)
    assert truth[:10].mean() == pytest.approx(falling[10:20].mean() - 0.3)
    rng, seen = np.random.default_rng(0), 0
    confidence = np.linspace(0.99, 0.5, 1000)
    for _ in range(30):
        correct = rng.random(1000) < np.repeat(truth, 10)
        found = FailureCases().compute(Predictions.from_confidence(confidence, correct=correct))
        seen += next(one["seen"] for one in found if one["name"] == "strong")
    said, rise = search.power_of("strong", rows, falling, 0.3, 0, 80)
    assert rise > 0.1
    assert abs(seen / 30 - said) < 2.5 * np.sqrt(0.25 / 30 + 0.25 / 80)
    assert 0.1 < said < 0.95  # else the comparison says nothing


@pytest.mark.parametrize("case", ["tail", "start", "middle", "end", "often", "strong"])
def test_power_grows_from_chance_to_certainty(case: str) -> None:
    """Without an inversion a case is seldom seen; a large one among many rows is."""
    rows, falling = np.full(100, 400.0), np.linspace(0.95, 0.75, 100)
    none = (
        0.0 if case in ("tail", "often") else -0.02
    )  # what lies a tenth further is less accurate by 2 points
    low, high = (search.power_of(case, rows, falling, effect, 0, 10)[0] for effect in (none, 0.3))
    assert low <= 0.2
    assert high >= 0.7


def test_the_curve_of_chance_gives_the_p_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A curve that only falls is no case; one that climbs far is beyond all of chance."""
    monkeypatch.setattr(search, "_CHANCE", 2000)  # a run that other tests share may draw fewer
    rows = 10_000
    falling = {"y": np.linspace(1.0, 0.8, 100).tolist()}
    found = search._observed(falling, search.Steps(falling, rows), 0)
    assert {one["p"] for one in found.values()} == {1.0}
    climbing = {"y": np.concatenate([np.linspace(0.5, 0.9, 20), np.full(80, 0.9)]).tolist()}
    found = search._observed(climbing, search.Steps(climbing, rows), 0)
    assert found["start"]["p"] == found["strong"]["p"] == pytest.approx(1 / 2001)
    assert found["start"]["size"] == pytest.approx(0.4)


def test_shares_of_many_replicates_against_those_of_compare(finished: Any) -> None:
    """The recipe's own replicates (400 here) say what `compare` says by 200, up to chance."""
    compared = json.loads((Path(finished.folder) / "compare.json").read_text(encoding="utf-8"))
    sets = {"in_domain": "imdb", "out_of_domain": "sst2"}
    theirs = {
        (sets[one["domain"]], one["a"], one["b"]): one["p_a_better"]
        for one in compared["pairs"]
        if one["metric"] == "disca"
    }
    ours = {(one["set"], one["a"], one["b"]): one["p_a_better"] for one in finished.result["pairs"]}
    assert set(ours) == set(theirs)
    assert finished.result["settings"]["replicates"] == 400
    assert max(abs(ours[key] - theirs[key]) for key in ours) < 0.16
    assert np.mean([abs(ours[key] - theirs[key]) for key in ours]) < 0.04
    parted = {
        (sets[one["domain"]], *one["metrics"], *pair["preferred"].values()): pair["share"]
        for one in compared["disagreements"]
        for pair in one["pairs"]
    }
    for one in finished.result["disagreements"]:
        for pair in one["pairs"]:
            key = (one["set"], *one["metrics"], *pair["preferred"].values())
            assert abs(parted[key] - pair["share"]) < 0.16
            assert 0 <= pair["with_first"] <= 1


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data without any, and no hub."""
    monkeypatch.setenv("OODOMETER_DATA", str(tmp_path))
    for place in (
        "oodometer_lab.datasets.files.hub_answers",
        "oodometer_lab.recipes.selective_answering.lineup.hub_answers",
    ):
        monkeypatch.setattr(place, lambda: False)
    return tmp_path


def test_all_that_is_missing_is_said_at_once(empty: Path) -> None:
    with raises_snapshot(InputError) as said:
        find_recipe("selective-answering").steps("paper", ["BOW-SUM", "W2V-SUM"])
    assert "imdb_test.jsonl.xz" in str(said.value)
    assert "(3) SST-2: " in str(said.value)
    assert "GoogleNews-vectors-negative300.bin.gz, got none beside the data" in str(said.value)


def test_vectors_beside_the_data_are_enough(empty: Path) -> None:
    with raises_snapshot(InputError):
        needs.check_vectors("glove")
    (empty / "glove.840B.300d.zip").write_bytes(b"")
    needs.check_vectors("glove")
    assert needs.vectors_source("glove") == str(empty / "glove.840B.300d.zip")


def test_each_need_stands_once() -> None:
    config = RUN_CONFIGS["paper"]
    found = [
        name for name, _ in needs.needs_of(lineup("paper", config), config, {"texts": lambda: None})
    ]
    models = [
        "google-bert/bert-base-uncased",
        "google-bert/bert-large-uncased",
        "FacebookAI/roberta-large",
    ]
    assert found == ["texts", "word2vec vectors", "glove vectors", *models]
    small = RUN_CONFIGS["small"]
    assert [name for name, _ in needs.needs_of(lineup("small", small), small, {})] == ["MiniLM"]
