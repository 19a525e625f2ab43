"""The page of several models: it says and draws what the result holds, stays small, and nothing in a file breaks it."""

from __future__ import annotations

import copy
import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..snapshots import assert_snapshot

pytest.importorskip("vl_convert")

from oodometer.errors import MissingExtraError, WorkError, install_line
from oodometer.reports import render, write_report
from oodometer.reports.charts.models import colors, curve_rows, drawn, names, thin
from oodometer.reports.numbers import percent
from oodometer.reports.sections import badges, disca_table, notes, pairs
from oodometer.results.comparison import comparison_view, elsewhere, leader, may_answer, on_target
from oodometer.results.values import rounded_up
from oodometer.store import write_predictions
from oodometer.testing import example_record

LARGEST = 750_000
EVIL = "</script><script>window.hit=1</script>\"'<img src=x onerror=window.hit=1>&<!--\u2028{{7*7}}"
DOMAINS = ("in_domain", "out_of_domain")


def text_of(page: str) -> str:
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def specs_of(page: str) -> dict[str, Any]:
    got = re.search(r'id="specs">(.*?)</script>', page, re.DOTALL)
    return json.loads(got[1]) if got else {}


def rows_of(specs: dict[str, Any], name: str) -> list[dict[str, Any]]:
    tables_ = [table.get("values") or [] for table in specs[name]["data"]]
    return [row for table in tables_ for row in table if isinstance(row, dict)]


def headings(page: str) -> list[str]:
    found = re.findall(r"<h2[^>]*>(.*?)</h2>", page, re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", "", one).split()) for one in found]


def only(result: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The result with these parts of it left out, at the top and in every model."""
    out = {key: value for key, value in copy.deepcopy(result).items() if key not in keys}
    for model in out.get("models") or []:
        for key in keys:
            model.pop(key, None)
            for domain in DOMAINS:
                (model.get(domain) or {}).pop(key, None)
                ((model.get(domain) or {}).get("metrics") or {}).pop(key, None)
    return out


def test_every_part_is_there(two_page: str) -> None:
    page = two_page
    assert set(specs_of(page)) == {
        "curves-in-domain", "curves-out-of-domain", "curves-target", "places-in-domain", "places-out-of-domain",
        "tolerances-in-domain", "tolerances-out-of-domain", "first-mistakes", "fluctuations-in-domain",
        "fluctuations-out-of-domain", "by-task",
    }  # fmt: skip
    told = text_of(page)
    for words in (
        "Which of 2 models is better?",
        "In domain: 300 rows, the same for all models",
        "DiSCA at every tolerance",
        "What the models cost",
        "Failure cases of each curve",
        "None of the estimates made without labels is a guarantee",
        "Mishra, Arunkumar and Baral, “Investigating the Failure Modes of the AUC Metric",
        "Angelopoulos et al., “Learn then",
        "oodometer compare a.csv b.csv --report page.html",
        "What the kinds of interval promise",
    ):
        assert words in told, words


def test_the_sentence_is_that_of_the_operating_point(two: dict[str, Any], two_page: str) -> None:
    led = leader(two)
    assert led is not None
    model, at = led
    rivals = [
        point
        for one in two["models"]
        for point in one["in_domain"]["operating_points"]
        if point["accuracy"] == at["accuracy"] and point["coverage"]
    ]
    assert at["coverage"]["value"] == max(point["coverage"]["value"] for point in rivals)
    told = text_of(two_page).replace("\N{NO-BREAK SPACE}", " ")
    view = comparison_view(two)
    assert may_answer(two) in view.sentences
    assert f"{view.title} {view.number}" in told
    assert all(one[1:] in told for one in view.sentences)
    assert model["name"] in may_answer(two)
    assert percent(at["selective_accuracy"]["lower"]).replace(
        "\N{NO-BREAK SPACE}", " "
    ) in may_answer(two)


def test_the_tolerance_is_spoken_of_first_and_lower_accuracies_after_it(
    two: dict[str, Any],
) -> None:
    for one in two["models"]:
        for point in one["in_domain"]["operating_points"]:
            if point["accuracy"] > 0.8:
                point |= {
                    "coverage": None,
                    "selective_accuracy": None,
                    "threshold": None,
                    "why": "too few rows",
                }
    led = leader(two)
    assert led[1]["accuracy"] == 0.8
    assert_snapshot(may_answer(two))
    grid = comparison_view(two).grid("thresholds")
    assert {row[1] for row in grid.rows} == {"80 %"}
    assert_snapshot(grid.notes[-1])


def test_nothing_proved_is_said_and_not_drawn_as_a_number(two: dict[str, Any]) -> None:
    for one in two["models"]:
        for point in one["in_domain"]["operating_points"]:
            point |= {
                "coverage": None,
                "selective_accuracy": None,
                "threshold": None,
                "why": "too few rows",
            }
    told = text_of(render(two)).replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "No threshold is proven: these rows show no model to be right 80 %, 90 % or 95 % of the time."
        in told
    )
    assert "too few rows" in told
    assert "may answer:" not in told
    assert leader(two) is None


def test_answering_everything_has_no_threshold(two: dict[str, Any]) -> None:
    point = two["models"][1]["in_domain"]["operating_points"][2]
    exact = {"level": 0.95, "kind": "exact"}
    point |= {"threshold": 0.0, "coverage": {"value": 1.0, "lower": 0.99, "upper": 1.0, **exact},
              "selective_accuracy": {"value": 0.97, "lower": 0.953, "upper": 1.0, **exact}, "why": None}  # fmt: skip
    name = two["models"][1]["name"]
    assert may_answer(two).startswith(
        f"Everything like these rows may be answered by {name}: with 95 % confidence"
    )


def test_out_of_domain_the_same_threshold_is_looked_up(two: dict[str, Any]) -> None:
    led = leader(two)
    curve = led[0]["out_of_domain"]["risk_coverage"]
    kept = [i for i, at in enumerate(curve["thresholds"]) if at >= led[1]["threshold"]]
    found = elsewhere(led[0], led[1]["threshold"])
    assert found["value"] == curve["y"][kept[-1]]
    assert found["coverage"] == curve["x"][kept[-1]]
    assert elsewhere(led[0], 2.0) == {"coverage": 0.0}
    said = next(one for one in badges(two) if one["badge"] == "elsewhere")
    assert percent(found["value"]) in said["text"]
    assert ("does not carry over" in said["text"]) == (found["value"] < led[1]["accuracy"])


def test_picking_the_best_of_several_is_paid_for(two: dict[str, Any], ten: dict[str, Any]) -> None:
    assert_snapshot(badges(two)[0]["text"])
    assert_snapshot(badges(ten)[0]["text"])


def test_the_difference_comes_first_and_then_what_to_do(two: dict[str, Any], two_page: str) -> None:
    told = text_of(two_page)
    order = [
        told.index(words)
        for words in ("Difference in accuracy", "Undecided", "What to do next", "Best by AUC")
    ]
    assert order == sorted(order)
    assert (
        "if the difference stays at 3.7 points, about 820 in all (now 300) would decide it" in told
    )
    cases = (
        ({"value": 0.04, "lower": 0.01, "upper": 0.07}, "Take model b:"),
        ({"value": 0.0001}, "Take either"),
    )
    for change, words in cases:
        assert words in text_of(render({**two, "difference": two["difference"] | change}))


def test_findings_that_only_disca_supports_come_last(ten: dict[str, Any]) -> None:
    a, b = (str(one["name"]) for one in ten["models"][:2])
    covered = {
        str(one["name"]): one["in_domain"]["metrics"]["coverage_at_risk"]["value"]
        for one in ten["models"]
    }
    high, low = (a, b) if covered[a] > covered[b] else (b, a)
    say = {"domain": "in_domain", "share": 0.95}
    ten["findings"] = [
        {"name": "auc_against_disca", "models": [high, low], "sentence": "contested one", **say},
        {"name": "auc_against_disca", "models": [low, high], "sentence": "free one", **say},
        {"name": "tail", "models": [a, b], "sentence": "tail one", **say},
        {"name": "start", "models": [a], "sentence": "a case of one curve", **say},
    ]
    assert [one["sentence"] for one in pairs(ten, "in_domain")] == [
        "tail one",
        "free one",
        "contested one",
    ]
    told = text_of(render(ten))
    assert "Contested one." in told
    assert "DiSCA alone" in told


def test_curves_are_those_of_the_result(two: dict[str, Any], two_page: str) -> None:
    specs = specs_of(two_page)
    by_name = {str(one["name"]): one for one in two["models"]}
    for domain, name in (
        ("in_domain", "curves-in-domain"),
        ("out_of_domain", "curves-out-of-domain"),
    ):
        lines = [row for row in rows_of(specs, name) if isinstance(row.get("y"), list)]
        assert len(lines) == 2
        for row in lines:
            curve = by_name[row["label"]][domain]["accuracy_coverage"]
            known = {round(x, 5): i for i, x in enumerate(curve["x"])}
            assert row["x"][-1] == 1.0
            for at, value, low, high in zip(
                row["x"], row["y"], row["lower"], row["upper"], strict=True
            ):
                i = known[at]
                assert (value, low, high) == pytest.approx(
                    (curve["y"][i], curve["lower"][i], curve["upper"][i]), abs=1e-5
                )
    assert any(one.startswith("Which is better on the target") for one in headings(two_page))
    target = [row for row in rows_of(specs, "curves-target") if isinstance(row.get("y"), list)]
    ends = {row["label"]: row["y"][-1] for row in target}
    assert ends == pytest.approx(
        {name: one["target"]["curve"]["y"][-1] for name, one in by_name.items()}, abs=1e-5
    )


def test_figures_of_the_paper_carry_the_terms_of_disca(ten: dict[str, Any], ten_page: str) -> None:
    specs = specs_of(ten_page)
    by_name = {str(one["name"]): one for one in ten["models"]}
    for domain in DOMAINS:
        tail = domain.replace("_", "-")
        for row in rows_of(specs, f"tolerances-{tail}"):
            if "never" in row:
                parts = by_name[row["label"]][domain]["metrics"]["disca"]["by_tolerance"]
                assert row["x"] == [-one["tolerance"] for one in parts]
                assert row["y"] == pytest.approx([one["b"] for one in parts], abs=1e-5)
                assert row["never"] == [one["never_below"] for one in parts]
        bars = [row for row in rows_of(specs, f"fluctuations-{tail}") if "n" in row]
        assert len(bars) == 10
        for row in bars:
            score = by_name[row["model"]][domain]["metrics"]["disca"]
            assert row["n"] == score["fluctuations"]
            assert row["p"] == pytest.approx(score["penalty"], abs=1e-6)
    firsts = [row for row in rows_of(specs, "first-mistakes") if "a" in row]
    assert len(firsts) == 20
    for row in firsts:
        score = by_name[row["model"]][row["domain"]]["metrics"]["disca"]
        assert row["a"] == score["a"]
        assert 0 <= row["lower"] <= row["a"] <= row["upper"] <= 1


def test_places_are_the_ranks_of_the_result(ten: dict[str, Any], ten_page: str) -> None:
    specs = specs_of(ten_page)
    rows = [row for row in rows_of(specs, "places-in-domain") if "metric" in row]
    assert len(rows) == 10
    titles = ["accuracy", "auc_coverage", "e_aurc", "augrc", "risk_at_coverage", "coverage_at_risk", "disca", "didma",
              "nidma"]  # fmt: skip
    for row in rows:
        for at, rank, full in zip(row["metric"], row["text"], row["firm"], strict=True):
            found = next(one for one in ten["rankings"][titles[at]] if one["model"] == row["label"])
            assert rank == str(found["rank"])
            assert full == ((found["stable"] or 0) >= 0.9)
    for column in range(len(titles)):
        assert sorted(row["slot"][row["metric"].index(column)] for row in rows) == list(range(10))


def test_the_table_of_disca_is_coloured_as_in_the_paper(ten: dict[str, Any]) -> None:
    table = disca_table(ten, "out_of_domain")
    values = [row["disca"]["value"] for row in table["rows"]]
    assert values == sorted(values, reverse=True)
    for row in table["rows"]:
        never = [cell["never_below"] for cell in row["cells"]]
        for i, cell in enumerate(row["cells"]):
            last = i + 1 == len(never)
            expected = "" if never[i] else "edge" if last or never[i + 1] else "below"
            assert cell["style"] == expected
    for column in zip(*(row["cells"] for row in table["rows"]), strict=True):
        best = max(cell["value"] for cell in column)
        assert [cell["top"] for cell in column] == [cell["value"] == best for cell in column]


def test_differences_are_those_of_the_leader(ten: dict[str, Any]) -> None:
    led, found = leader(ten), comparison_view(ten).grid("leader")
    assert led[0]["name"] in found.title
    mine = led[0]["in_domain"]["metrics"]["accuracy"]["value"]
    value = {
        str(one["name"]): one["in_domain"]["metrics"]["accuracy"]["value"] for one in ten["models"]
    }
    cells = [row for row in found.rows if row[1] == "accuracy"]
    assert len(cells) == 9
    for name, _, difference, lower, upper, better in cells:
        assert float(difference) == pytest.approx(mine - value[name], abs=5e-5)
        assert float(lower) <= float(difference) <= float(upper)
        assert (int(better.split()[0]) > 50) == (float(difference) > 0) or abs(
            float(difference)
        ) < 0.01


def test_values_and_ranks_stand_with_their_intervals(ten: dict[str, Any]) -> None:
    grid = comparison_view(ten).grid("metrics out_of_domain")
    assert len(grid.rows) == sum(map(len, ten["rankings_out_of_domain"].values()))
    first = ten["rankings_out_of_domain"]["disca"][0]
    assert [first["model"], "disca", "1", f"{first['value']:.4f}"] in [row[:4] for row in grid.rows]


def test_numbers_in_tables_are_those_of_the_result(ten: dict[str, Any], ten_page: str) -> None:
    def numbers(value: Any) -> Iterator[float]:
        if isinstance(value, dict):
            for one in value.values():
                yield from numbers(one)
        elif isinstance(value, list):
            for one in value:
                yield from numbers(one)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield float(value)

    known = {
        round(abs(one), 12) for one in numbers(ten)
    }  # a difference may be told from the other model
    carried = re.findall(r'<data value="([^"]+)">', ten_page)
    assert len(carried) > 100
    assert {round(abs(float(one)), 12) for one in carried} <= known


@pytest.mark.parametrize("name", ["two_page", "ten_page"])
def test_it_is_small_and_loads_nothing(name: str, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(name)
    assert len(page.encode()) < LARGEST
    ours = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL).replace("http-equiv", "")
    assert "http" not in ours.replace("https://vega.github.io/schema/", "")
    assert not re.search(r"\b(src|srcset|href)=\"(?!#)|@import|url\(", ours)


def many(ten: dict[str, Any], copies: int) -> dict[str, Any]:
    """The ten models and copies of them under long names, with every failure case seen and twenty findings a domain."""
    out = copy.deepcopy(ten)
    names_ = [str(one["name"]) for one in ten["models"]]
    new = {f"copy {k} of {names_[k % 10]} " + "n" * 240: k % 10 for k in range(copies)}
    for name, k in new.items():
        out["models"].append({**copy.deepcopy(ten["models"][k]), "name": name})
    for key in ("rankings", "rankings_out_of_domain", "rankings_target"):
        for rows in out[key].values():
            rows += [
                {**next(row for row in rows if row["model"] == names_[k]), "model": name}
                for name, k in new.items()
            ]
            rows.sort(key=lambda row: row["rank"])
    for model in out["models"]:
        for domain in DOMAINS:
            for case in model[domain]["failure_cases"]:
                case |= {
                    "seen": True,
                    "rise": 0.1,
                    "width": 0.5,
                    "rises": 12,
                    "share": 0.9,
                    "sentence": "words " * 40,
                }
    out["findings"] = [
        {
            "name": "auc_against_disca",
            "domain": domain,
            "share": 0.95,
            "models": names_[:2],
            "sentence": "why " * 100,
        }
        for domain in DOMAINS
        for _ in range(20)
    ]
    return out


def test_it_stays_small_with_forty_models(ten: dict[str, Any]) -> None:
    result = many(ten, 30)
    page = render(result)
    assert len(page.encode()) < LARGEST
    told = text_of(page)
    assert "Which of 40 models is better?" in told
    assert "All 40 models in short" in told
    assert len(drawn(result)) == 10
    assert (
        len(
            [
                row
                for row in rows_of(specs_of(page), "curves-in-domain")
                if isinstance(row.get("y"), list)
            ]
        )
        == 10
    )
    assert len(set(names(result).values())) == 40


def test_three_models_are_in_colour(ten: dict[str, Any]) -> None:
    tones = colors(ten)
    bright = {name for name, color in tones.items() if "quiet" not in color}
    assert len(bright) == 3
    led = leader(ten)
    assert str(led[0]["name"]) in bright
    assert ten["rankings"]["auc_coverage"][0]["model"] in bright
    assert ten["rankings"]["disca"][0]["model"] in bright


def test_names_are_shown_as_they_are(two: dict[str, Any], two_page: str) -> None:
    text = json.dumps(two).replace(
        json.dumps(two["models"][0]["name"])[1:-1], json.dumps(EVIL)[1:-1]
    )
    result = json.loads(text)
    result["warnings"] = [EVIL]
    page = render(result)
    assert page.count("</script>") == two_page.count("</script>")
    assert "<img" not in page
    assert "{{7*7}}" in text_of(page)
    assert ">49<" not in page
    assert rows_of(specs_of(page), "curves-in-domain")


@pytest.mark.parametrize(
    ("left_out", "gone"),
    [
        (
            ("out_of_domain", "rankings_out_of_domain"),
            ["curves-out-of-domain", "places-out-of-domain"],
        ),
        (("target", "rankings_target"), ["curves-target"]),
        (("disca",), ["tolerances-in-domain", "first-mistakes", "fluctuations-in-domain"]),
        (("accuracy_coverage",), ["curves-in-domain", "curves-out-of-domain"]),
        (("rankings", "rankings_out_of_domain"), ["places-in-domain", "places-out-of-domain"]),
        (
            (
                "operating_points",
                "failure_cases",
                "findings",
                "pairs",
                "disagreements",
                "settings",
                "paired",
            ),
            [],
        ),
        (("computation", "didma", "nidma"), []),
        (("risk_coverage",), []),
    ],
    ids=lambda one: "-".join(one) or "none",
)
def test_what_is_absent_is_left_out(
    two: dict[str, Any], two_page: str, left_out: tuple[str, ...], gone: list[str]
) -> None:
    whole, result = set(specs_of(two_page)), only(two, *left_out)
    page = render(result)
    assert set(gone) <= whole
    assert not set(gone) & set(specs_of(page))
    told = text_of(page)
    assert not re.search(r"\bNone\b(?! of)|\b(nan|undefined)\b", told)
    assert all(headings(page))


def test_little_is_enough() -> None:
    for result in ({}, {"models": []}, {"models": [{"name": "a"}, {"name": "b"}]}):
        page = render({"command": "compare", **result})
        assert specs_of(page) == {}
        assert len(page) < 40_000


def test_costs_and_estimates_have_no_section_without_them(two: dict[str, Any]) -> None:
    found = headings(
        render(only(two, "computation", "didma", "nidma", "target", "rankings_target"))
    )
    assert not any("cost" in one or "Estimated" in one for one in found)
    parameters = copy.deepcopy(two)
    for one in parameters["models"]:
        one |= {"energy": None, "parameters": 2e6, "nidma": None}
    parameters["settings"] |= {"energy_unit": None, "optimal_parameters": 1e6}
    told = text_of(render(parameters))
    assert "What the models cost: DiDMA The" not in told
    assert "the optimal number of parameters, 1,000,000 , over that of the model" in told
    assert "2,000,000" in told


def test_failure_cases_stand_in_words_and_numbers(two: dict[str, Any]) -> None:
    case = two["models"][0]["in_domain"]["failure_cases"][0]
    case |= {
        "seen": True,
        "rise": 0.052,
        "share": 0.93,
        "sentence": "accuracy climbs from here to there",
    }
    told = text_of(render(two)).replace("\N{NO-BREAK SPACE}", " ")
    assert (
        f"{two['models'][0]['name']} in domain start 5.2 points 93 % accuracy climbs from here to there"
        in told
    )


def test_models_compared_apart_are_said_to_be(two: dict[str, Any]) -> None:
    two["paired"]["in_domain"] = {
        "paired": False,
        "why": "the files have different numbers of labelled rows",
    }
    two["models"][0]["in_domain"]["rows"] = 299
    told = text_of(render(two))
    assert "compared apart, because the files have different numbers of labelled rows" in told
    assert "rows of each model's own number" in told


def test_a_metric_without_references_is_still_told(two: dict[str, Any]) -> None:
    found = {one["name"]: one["reference"] for one in notes(two)}
    assert found["DiSCA"].year == "2022"
    assert found["NiDMA"].key == "mishra2022"
    assert all(one is not None and one.title for one in found.values())


def test_a_threshold_is_never_rounded_down() -> None:
    for value in (0.66811, 0.66819999, 0.99995311, 0.9999999, 0.5, 0.123456789, 1 - 1e-12):
        shown = float(rounded_up(value))
        assert value - 1e-12 <= shown <= 1
        assert shown - value <= max(1e-4, 0.01 * (1 - value))


def test_thinning_keeps_the_start_and_the_end() -> None:
    for count in (2, 5, 100, 1000):
        x = [(i + 1) / count for i in range(count)]
        kept = thin(x)
        assert kept[-1] == count - 1
        assert kept == sorted(set(kept))
        assert len(kept) <= 52
    assert curve_rows(None) == {}
    assert curve_rows({"x": [1.0], "y": [None]}) == {}


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    from oodometer.cli.main import main

    record = example_record(rows=200, seed=1)
    for name in ("a", "b"):
        write_predictions(record, tmp_path / f"{name}.parquet")
    page = tmp_path / "page.html"
    files = [str(tmp_path / f"{name}.parquet") for name in ("a", "b")]
    assert main(["compare", *files, "--report", str(page)]) == 0
    told = text_of(page.read_text(encoding="utf-8"))
    assert "Which of 2 models is better?" in told
    assert "a.parquet" in told


def test_a_path_that_cannot_be_written_is_one_line(two: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(WorkError, match=r"nowhere"):
        write_report(two, tmp_path / "nowhere" / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_is_one_line(two: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("report"))):
        render(two)


def test_a_target_that_deserves_no_trust_is_told_with_the_order() -> None:
    values = {"a": (0.8, "low"), "b": (0.6, "none")}
    models = [
        {
            "name": name,
            "target": {
                "accuracy": {"value": x, "lower": x - 0.15, "upper": x + 0.15},
                "trust": trust,
            },
        }
        for name, (x, trust) in values.items()
    ]
    said = on_target({"models": models})
    assert "undecided" in said
    assert said.endswith("the estimate of b deserves no trust, nor does its place")
    assert "no trust" not in on_target({"models": models[:1]})
