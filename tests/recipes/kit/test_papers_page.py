"""The page of five papers: it is what the committed results give, and each claim has the paper's own number."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from scripts import papers

from oodometer_lab.recipes import RECIPES, find_recipe


def test_the_page_follows_from_the_results() -> None:
    assert papers.PAGE.read_text(encoding="utf-8") == papers.page(), "make papers"


@pytest.mark.parametrize("part", ["paper_says", "paper_sentences", "paper_effects"])
@pytest.mark.parametrize("name", RECIPES)
def test_every_claim_has_the_number_and_the_sentence_of_the_paper(name: str, part: str) -> None:
    home = find_recipe(name).home
    texts = tomllib.loads((home / "page.toml").read_text(encoding="utf-8"))[part]
    claims = [
        claim["name"]
        for claim in json.loads((home / "results/small.json").read_text(encoding="utf-8"))["claims"]
    ]
    if part != "paper_effects":  # a count, or a figure without numbers, has none
        assert [claim for claim in claims if papers.says(texts, claim) == "-"] == []
    used = {papers.says(texts, claim) for claim in claims}
    assert [key for key, text in texts.items() if text not in used] == []


def test_a_number_is_that_of_the_longest_part_of_a_name() -> None:
    numbers = {"inside": "a", "inside_out": "b", "ece": "c"}
    names = ("inside", "inside_at_half", "inside_out_at_half", "wide_ece", "insider", "out")
    assert [papers.says(numbers, name) for name in names] == ["a", "a", "b", "c", "-", "-"]


def test_counts_and_cells_by_hand() -> None:
    tested = {
        "test": "t",
        "quantity": "mean",
        "seen": [1, 1],
        "drawn": "rows",
        "effect": 0.1,
        "unit": "",
    }
    claims = [
        {
            "name": "a",
            "claim": "A",
            "verdict": "holds",
            "p": 0.0001,
            "p_all": 0.0004,
            "evidence": "seen",
            **tested,
        },
        {
            "name": "b",
            "claim": "B",
            "verdict": "does not hold",
            "p": 0.04,
            "p_all": 0.1,
            "evidence": "",
            **tested,
        },
        {"name": "c", "claim": "C", "verdict": "undecided", "p": 0.2, "p_all": 0.4, **tested}
        | {
            "test": "u",
            "quantity": "most",
            "seen": [2, 5],
            "effect": None,
            "visible": 12.5,
            "unit": "points",
        }
        | {"evidence": "x, " * 100},
        {"name": "d", "claim": "D", "verdict": "undecided", "evidence": "", **tested, "test": None},
        {
            "name": "e",
            "claim": "E",
            "verdict": "not comparable",
            "evidence": "why",
            **tested,
            "test": None,
        },
    ]
    counted = papers.counts(claims)
    assert list(counted.values()) == [1, 1, 2, 1, 0, 1, 1]
    words = {
        "paper_sentences": {"a": "said", "b": "ours"},
        "paper_effects": {"a": "0.4"},
        "paper_says": {"a": "0.5 and 0.9"},
    }
    rows, tests = papers.rows_of(claims, words)
    assert tests == "Tests: (a) t; (b) u."
    assert rows[0] == [
        "A", '"said"', "one effect; rows", "0.4; 0.5 and 0.9", "0.1. seen", r"**holds**\*", "<0.001 (a)", "-",
    ]  # fmt: skip
    assert rows[1][1:] == [
        "ours",
        "one effect; rows",
        "",
        "0.1",
        "**does not hold**",
        "0.040 (a)",
        "-",
    ]
    assert rows[2][2] == "3 of 5; rows"
    assert rows[2][5:] == ["**undecided**", "0.200 (b)", "12.5 points"]
    assert rows[2][4].startswith("seen on 2 of 5. x, ")
    assert len(rows[2][4]) < 230
    assert rows[2][4].endswith("x ...")
    assert rows[3][5:] == ["**undecided**", "-", "-"]
    assert rows[4][5:] == ["**not comparable**", "-", "-"]
    smaller = [claims[2] | {"p_smaller": p} for p in (0.0123, 0.051)]
    assert papers.counts(smaller)["smaller"] == 1
    assert [row[5] for row in papers.rows_of(smaller, words)[0]] == [
        "**undecided**, but smaller than in the paper (p 0.012)",
        "**undecided**",
    ]


def test_the_papers_effects_are_those_of_its_tables() -> None:
    """By the quantity of the claim, from the numbers that the paper prints."""
    words = {name: papers.words_of(find_recipe(name))["paper_effects"] for name in RECIPES}
    printed = {
        name: json.loads((find_recipe(name).home / "paper_tables.json").read_text(encoding="utf-8"))
        for name in RECIPES
    }
    scores = printed["scoring-functions"]["table1"]
    severities = [f"severity {i}" for i in range(1, 6)]
    for low, high in (("ma", "conf"), ("conf", "lms")):
        lead = sum(scores[high][s] - scores[low][s] for s in severities) / 5
        assert words["scoring-functions"][f"{low}_{high}"].startswith(f"{100 * lead:.2f} points")
    rows = printed["dialogue-shift"]["rows"]
    rise = rows["uw-0.5"]["vanilla"][2] - rows["uw-0.1"]["vanilla"][2]
    assert float(words["dialogue-shift"]["uw_ece"]) == pytest.approx(rise)
    accuracies = printed["few-shot-ranking"]["table_1"]
    leads = [
        sets[name] - sets["ACC"] for sets in accuracies.values() for name in sets if "lime" in name
    ]
    assert words["few-shot-ranking"]["lime_window"] == f"{sum(leads) / 3:.2g} points"
    out = [
        row["ae"]
        for name, row in printed["correctness-discriminators"]["tables_2_to_4"].items()
        if printed["correctness-discriminators"]["table_1"][name]["domain"] == "out"
    ]
    for method in ("max_prob", "ac", "atc"):
        lead = sum(row[method] - row["mean"] for row in out) / len(out)
        name = f"mean_beats_{method.replace('_', '-')}"
        assert words["correctness-discriminators"][name] == f"{lead:.1f} points"


def committed(name: str, scale: str = "small") -> tuple[Any, dict[str, Any]]:
    """A committed result, and its claims by name."""
    path = find_recipe(name).home / "results" / f"{scale}.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    return result, {claim["name"]: claim for claim in result["claims"]}


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_the_lead_of_agreement_is_the_mean_of_its_table(scale: str) -> None:
    result, claims = committed("scoring-functions", scale)
    shifts = result["tasks"]["clean"]["ma"]["shifts"].values()
    leads = [shift["conf"]["grid"]["mean"] - shift["ma"]["grid"]["mean"] for shift in shifts]
    assert claims["ma_conf"]["effect"] == pytest.approx(100 * sum(leads) / 5, rel=0.01)
    assert claims["ma_conf"]["seen"] == [sum(lead > 0 for lead in leads), 5]
    verdict = {"small": "undecided", "paper": "holds"}[scale]
    assert claims["ma_conf"]["verdict"] == verdict


def test_the_gains_of_calibration_are_the_means_of_their_tables() -> None:
    result, claims = committed("dialogue-shift")
    ece = {(row["condition"], row["method"]): row["ece"]["mean"] for row in result["rows"]}
    for method, groups in (
        ("temperature", ("uw", "ic", "importance")),
        ("dropout", ("uw", "kw", "ic", "importance")),
    ):
        named = [c["condition"] for c in result["conditions"] if c["group"] in groups]
        gains = [ece[name, "vanilla"] - ece[name, method] for name in named]
        claim = claims["temperature_vanilla" if method == "temperature" else "dropout_ece"]
        assert claim["effect"] == pytest.approx(sum(gains) / len(gains), abs=2e-4)
        assert (claim["verdict"], claim["seen"]) == (
            "holds",
            [sum(g > 0 for g in gains), len(gains)],
        )


def test_a_lead_over_sets_is_the_mean_over_its_suites() -> None:
    result, claims = committed("few-shot-ranking")
    leads = {}
    for suite in ("MORPH", "VERB", "ADJECT", "PAWS", "SUB", "CON"):
        rows = [
            r["few_shot"]
            for r in result["rows"]
            if (r["suite"], r["group"]) == (suite, "inoculated")
        ]
        leads[suite] = sum(row["ACC"] - row["CONF"] for row in rows) / len(rows)
    mean = 100 * sum(leads.values()) / 6
    assert claims["conf_below_acc"]["effect"] == pytest.approx(mean, rel=0.01)
    assert claims["conf_below_acc"]["seen"] == [sum(lead > 0 for lead in leads.values()), 6]


def test_means_over_tasks_are_those_of_the_data_sets() -> None:
    result, claims = committed("correctness-discriminators")
    leads = []
    for name, first in result["tasks"].items():
        runs = [first, *result["replicates"].get(name, {}).values()]
        for key, study in first["sets"].items():
            if study["domain"] == "out":
                for run in runs:
                    by = {row["method"]: row["error"] for row in run["sets"][key]["methods"]}
                    lead = by["max-prob"]["value"] - by["mean"]["value"]
                    leads.append((f"{name} {key}", lead / len(runs)))
    by_set = {place: sum(lead for at, lead in leads if at == place) for place, _ in leads}
    claim = claims["mean_beats_max-prob_at_thresholds"]
    assert claim["effect"] == pytest.approx(100 * sum(by_set.values()) / len(by_set), rel=0.01)
    assert (claim["seen"], claim["p"]) == ([7, 7], 2 / 2**5)  # of five tasks
