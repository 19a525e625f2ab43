"""The page as text: its size, that it loads nothing, that nothing from a file breaks it, that its numbers are right."""

from __future__ import annotations

import html
import json
import math
import random
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from oodometer import compare, evaluate
from oodometer.errors import MissingExtraError, UsageError, WorkError, install_line
from oodometer.reports import render, write_report

from ..snapshots import raises_snapshot

LARGEST = 750_000
EVIL = "</script><script>window.hit=1</script>\"'<img src=x onerror=window.hit=1>&<!--\u2028{{7*7}}"


class Reader(HTMLParser):
    """Elements, numbers in `<data>` and the JSON of the charts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.numbers: list[tuple[float, str]] = []
        self.text: list[str] = []
        self.specs: dict[str, Any] = {}
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        _, attrs = self.elements[-1] if self.elements else ("", {})
        if self._open and self._open[-1] == "script":
            if attrs.get("id") == "specs":
                self.specs = json.loads(data)
        elif self._open and self._open[-1] == "data":
            self.numbers.append((float(str(attrs["value"])), data))
        if not self._open or self._open[-1] not in ("script", "style"):
            self.text.append(data)

    @property
    def prose(self) -> str:
        return " ".join(" ".join(self.text).split())

    def headings(self, page: str) -> list[str]:
        return [
            re.sub("<[^>]+>", "", found)
            for found in re.findall(r"<h2[^>]*>(.*?)</h2>", page, re.DOTALL)
        ]


def without_runtime(page: str) -> str:
    """The page without the drawing library, the one part that is not ours."""
    return re.sub(r'<script[^>]*id="library".*?</script>', "", page, flags=re.DOTALL)


def numbers_in(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for one in value.values():
            yield from numbers_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from numbers_in(one)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)


@pytest.fixture(params=["estimate", "evaluate", "demo"])
def result(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.getfixturevalue(request.param)


def test_page_is_small_and_has_every_section(estimate: dict[str, Any]) -> None:
    page = render(estimate)
    assert len(page.encode()) < LARGEST
    assert set(Reader(page).specs) == {
        "methods",
        "risk-coverage",
        "reliability",
        "confidence",
        "chunks",
        "slices",
    }


def test_page_stays_small_with_many_slices_and_chunks(demo: dict[str, Any]) -> None:
    inner = demo["estimate"]
    inner["chunks"] = [inner["chunks"][i % 14] for i in range(2000)]
    inner["slices"] = [
        {**inner["slices"][i % 9], "value": f"{i} " + "x" * 500} for i in range(2000)
    ]
    page = render(demo)
    assert len(page.encode()) < LARGEST
    assert "1,940</data> more rows" in page


def test_evaluation_of_many_classes_and_files_stays_small(evaluate: dict[str, Any]) -> None:
    names = [f"class {i} " + "n" * 200 for i in range(300)]
    evaluate["confusion"] = {
        "classes": names,
        "counts": [[i * j % 7 for j in range(300)] for i in range(300)],
    }
    evaluate["per_class"] = [{"class": name, "recall": 0.5, "support": 9} for name in names]
    files = {
        "command": "evaluate",
        "files": [{**evaluate, "name": f"file {i}.csv"} for i in range(12)],
    }
    page = render(files)
    assert len(page.encode()) < LARGEST
    assert "file 11.csv" in page


def test_page_loads_nothing(result: dict[str, Any]) -> None:
    page = render(result)
    ours = without_runtime(page)
    loading = ("src", "srcset", "poster", "background", "action", "data", "manifest", "ping")
    for tag, attrs in Reader(page).elements:
        assert tag not in (
            "link",
            "iframe",
            "object",
            "embed",
            "img",
            "base",
            "form",
            "video",
            "audio",
        )
        assert not set(attrs) & set(loading)
        assert str(attrs.get("href", "#")).startswith("#")
    assert not re.search(
        r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket|importScripts|\bimport\b", ours
    )
    assert "http" not in ours.replace('http-equiv="Content-Security-Policy"', "").replace(
        "https://vega.github.io/schema/", ""
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert "default-src 'none'" in policy[1]
    assert "connect-src" not in policy[1]


def spoil(value: Any) -> Any:
    """The same result with every text replaced, except those that choose something."""
    if isinstance(value, dict):
        chosen = (
            ("command", "kind", "trust", "start", "end", "name")
            if "scores" not in value
            else ("command",)
        )
        return {
            key: one if key in chosen and not isinstance(one, (dict, list)) else spoil(one)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [spoil(one) for one in value]
    return EVIL if isinstance(value, str) else value


def test_nothing_from_a_file_breaks_the_page(result: dict[str, Any]) -> None:
    honest, spoiled = render(result), render(spoil(result))

    def skeleton(page: str) -> list[str]:
        return [
            tag
            for tag, _ in Reader(page).elements
            if tag in ("script", "style", "img", "section", "h1")
        ]

    assert skeleton(spoiled) == skeleton(honest)
    assert len(re.findall(r"</script", without_runtime(spoiled))) == len(
        re.findall(r"</script", without_runtime(honest))
    )
    assert "<img" not in spoiled
    assert "{{7*7}}" in Reader(spoiled).prose
    assert Reader(spoiled).specs.keys() == Reader(honest).specs.keys()


def test_names_of_files_are_escaped(estimate: dict[str, Any]) -> None:
    estimate["target"]["name"] = "</title><b>x"
    estimate["argv"] = ["oodometer", "estimate", "a b.csv", "<i>"]
    page = render(estimate)
    assert "</title><b>" not in page
    assert (
        "<span>oodometer</span> <span>estimate</span> <span>&#39;a</span> <span>b.csv&#39;</span>"
        in page
    )
    assert "<span>&#39;&lt;i&gt;&#39;</span>" in page


def test_half_characters_are_written(estimate: dict[str, Any], tmp_path: Path) -> None:
    estimate["slices"][0]["value"] = "\ud800"
    estimate["warnings"] = ["\udfff"]
    write_report(estimate, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


PARTS = [
    "headline",
    "target",
    "reference",
    "estimates",
    "skipped",
    "warnings",
    "diagnosis",
    "calibration",
]
PARTS += [
    "risk_coverage",
    "reliability",
    "confidence",
    "slices",
    "chunks",
    "argv",
    "version",
    "seed",
    "level",
]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("empty", ["absent", None])
def test_a_missing_part_is_left_out(estimate: dict[str, Any], part: str, empty: str | None) -> None:
    if empty == "absent":
        del estimate[part]
    else:
        estimate[part] = None
    read = Reader(render(estimate))
    chart = {"estimates": None, "risk_coverage": "risk-coverage"}.get(part, part)
    assert chart not in read.specs
    assert "None" not in read.prose.replace("None of the estimates", "")
    assert "Undefined" not in read.prose


def test_a_bare_result_is_a_page() -> None:
    for command in ("estimate", "evaluate", "demo"):
        page = render({"command": command})
        assert Reader(page).specs == {}
        assert "<script" not in page
        assert len(page) < 40_000


def test_values_that_are_absent_are_dashes(estimate: dict[str, Any]) -> None:
    estimate["estimates"][0] |= {"lower": None, "upper": float("nan")}
    estimate["estimates"][1]["value"] = None
    estimate["chunks"][3]["headline"] = None
    estimate["slices"][2]["headline"] = {"value": None}
    read = Reader(render(estimate))
    assert "nan" not in read.prose.lower().split()
    assert "NaN" not in json.dumps(read.specs)


def test_every_number_on_the_page_is_in_the_result(result: dict[str, Any]) -> None:
    known = set(numbers_in(result))
    read = Reader(render(result))
    assert len(read.numbers) > 20
    derived = {
        count / sum(row) for row in result.get("confusion", {}).get("counts", []) for count in row
    }
    for value, text in read.numbers:
        assert value in known or value in derived, (
            f"{text!r} carries {value}, which the result does not hold"
        )
        bare = re.fullmatch(r"([\d.,e+-]+)(\s%| rows?)?", text)
        assert bare, text
        shown = float(bare[1].replace(",", ""))
        scale = 100 if "%" in text or _is_end_of_percent(text, value) else 1
        decimals = len(bare[1].partition(".")[2]) if "e" not in bare[1] else 9
        assert shown == pytest.approx(value * scale, abs=0.5000001 * 10**-decimals)


def _is_end_of_percent(text: str, value: float) -> bool:
    """The lower end of a range of percentages, which has no sign of its own."""
    return (
        re.fullmatch(r"[\d.]+", text) is not None
        and abs(float(text) - 100 * value) < 0.06
        and 0 < value <= 1
    )


def drawn(specs: dict[str, Any], name: str, key: str) -> list[Any]:
    """The values of a field in the data of a chart."""
    tables = [table.get("values") or [] for table in specs[name]["data"]]
    return [row[key] for table in tables for row in table if isinstance(row, dict) and key in row]


def test_charts_draw_the_numbers_of_the_result(estimate: dict[str, Any]) -> None:
    specs = Reader(render(estimate)).specs
    for key in ("value", "lower", "upper"):
        assert set(drawn(specs, "methods", key)) >= {one[key] for one in estimate["estimates"]}
        assert set(drawn(specs, "slices", key)) >= {
            one["headline"][key] for one in estimate["slices"]
        }
        assert set(drawn(specs, "chunks", key)) >= {
            one["headline"][key] for one in estimate["chunks"]
        }
    assert set(drawn(specs, "risk-coverage", "y")) >= set(estimate["risk_coverage"]["y"])
    assert set(drawn(specs, "reliability", "y")) >= set(estimate["reliability"]["accuracy"])
    assert set(drawn(specs, "confidence", "target")) >= set(estimate["confidence"]["target"])
    assert {estimate["reference"]["accuracy"], estimate["target"]["accuracy"]["value"]} <= set(
        drawn(specs, "methods", "value")
    )


def test_titles_state_the_finding(estimate: dict[str, Any]) -> None:
    page = render(estimate).replace("\N{NO-BREAK SPACE}", " ")
    titles = Reader(page).headings(page)
    assert "Estimated accuracy is 83.2 % \N{EM DASH} 8.0 points below the reference" in titles
    assert (
        "Above confidence 0.747, estimated accuracy is at least 95 %; that keeps 55 % of the rows"
        in titles
    )
    assert "8.0 points below the reference accuracy (91.2 %" in page
    assert "None of the estimates made without labels is a guarantee" in page


def test_references_are_spelled_out(estimate: dict[str, Any]) -> None:
    prose = Reader(render(estimate)).prose
    assert (
        "Garg et al., “Leveraging Unlabeled Data to Predict Out-of-Distribution Performance”, ICLR, 2022"
        in prose
    )


def test_a_headline_made_from_several_methods_has_its_own_row(estimate: dict[str, Any]) -> None:
    estimate["headline"]["method"] = "median of doc, cbpe"
    specs = Reader(render(estimate)).specs
    assert drawn(specs, "methods", "name")[0] == "headline"


def test_page_is_the_same_each_time(result: dict[str, Any]) -> None:
    assert render(result) == render(json.loads(json.dumps(result)))


def test_the_result_is_left_as_it_was(result: dict[str, Any]) -> None:
    before = json.dumps(result)
    render(result)
    assert json.dumps(result) == before


def test_file_is_whole_or_not_there(estimate: dict[str, Any], tmp_path: Path) -> None:
    write_report(estimate, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == render(estimate)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with raises_snapshot(WorkError):
        write_report(estimate, tmp_path / "no such folder" / "page.html")


def test_unknown_command_is_refused() -> None:
    with raises_snapshot(UsageError):
        render({"command": "predict"})


def test_missing_extra_names_the_remedy(
    estimate: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("report"))):
        render(estimate)


def test_numbers_of_the_fixture_make_sense(estimate: dict[str, Any]) -> None:
    for histogram in ("reference", "target"):
        assert math.isclose(sum(estimate["confidence"][histogram]), 1)


def test_an_exact_interval_of_the_reference_is_not_sold_for_the_target(
    estimate: dict[str, Any],
) -> None:
    estimate["headline"] |= {"method": "source", "kind": "exact"}
    prose = Reader(render(estimate)).prose
    assert "nothing shows that it holds on the target" in prose
    assert "The range holds for any number of rows" not in prose


def test_chunks_without_dates_are_counted(estimate: dict[str, Any]) -> None:
    for index, one in enumerate(estimate["chunks"]):
        one |= {"start": f"row {index}", "end": f"row {index + 1}"}
    assert drawn(Reader(render(estimate)).specs, "chunks", "start") == list(range(14))


def test_severity_title_keeps_apart_where_no_trust_is_asked_for(demo: dict[str, Any]) -> None:
    page = render(demo).replace("\N{NO-BREAK SPACE}", " ")
    title = "Within 3.6 points of the truth, and up to 6.0 points off only where the estimate says “no trust”"
    assert title in Reader(page).headings(page)


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of addresses as Linux has it")
def test_a_limit_on_memory_leaves_out_the_charts_alone(
    result: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """V8 would end the process; see also the hostile benchmark, which sets the limit."""
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (4 << 30, 4 << 30))
    with pytest.warns(UserWarning, match="the page has no charts: .* memory is limited"):
        page = render(result)
    assert 'id="specs"' not in page
    assert "<noscript>" not in page
    assert "The chart was not drawn" in page


def test_every_table_of_the_screen_stands_on_the_page(tmp_path: Path) -> None:
    """Attempts at questions of two tasks, with what each cost: no table waits for a place that asks for its title."""
    rng = random.Random(0)
    logs = [tmp_path / f"{name}.csv" for name in "abc"]
    for log in logs:
        rows = [
            f"q{question},{'law' if question % 2 else 'math'},{rng.randrange(2)},{rng.random():.3f}"
            for question in range(60)
            for _ in range(2)
        ]
        log.write_text("\n".join(["id,task,score,cost", *rows]))
    evaluation = evaluate(logs[0], by="task", cluster="id")
    for result in (evaluation, compare(logs[:2], key="id"), compare(logs, key="id")):
        shown = html.unescape(re.sub(r"<[^>]*>", " ", render(result.to_dict())))
        for grid in result.view().grids:
            numbers = [cell for row in grid.rows[:3] for cell in row if re.search(r"\.\d", cell)]
            if numbers and grid.slot != "models in_domain":  # drawn, and in full in another table
                assert sum(cell in shown for cell in numbers) > len(numbers) / 2, grid.title
