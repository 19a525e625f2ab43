"""The page in a browser: charts are drawn, nothing overflows, nothing is asked for, dark and print follow."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from oodometer.reports import write_report

pytestmark = pytest.mark.browser
CHARTS = {"estimate": 6, "evaluate": 3, "demo": 7, "ten": 11, "history": 7}
EVIL = "</script><script>window.hit=1</script><img src=x onerror=window.hit=1>" + "w" * 400


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(params=list(CHARTS))
def page(request: pytest.FixtureRequest, pages: Path) -> Path:
    path = pages / f"{request.param}.html"
    if not path.exists():  # the same page for every width and colour
        write_report(request.getfixturevalue(request.param), path)
    return path


def brightness(browser: Any, expression: str) -> float:
    """Mean of red, green and blue of a colour, 0 to 255."""
    color = browser.run(expression)
    return sum(float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3]) / 3


@pytest.mark.parametrize(("width", "dark"), [(400, False), (1280, True)])
def test_nothing_bars_anybody_from_a_page(
    browser: Any, page: Path, axe: str, width: int, dark: bool
) -> None:
    browser.open(page, width=width, dark=dark)
    assert browser.violations(axe) == []


def test_the_first_screen_is_the_answer_and_what_to_do(
    browser: Any, pages: Path, estimate: dict[str, Any]
) -> None:
    """On a laptop: number, interval, trust, parts with an alarm and the next step; the keyboard reaches what acts."""
    for at, part in enumerate(estimate["chunks"]):
        part["fell"] = {
            "by_at_least": 0.01,
            "p": 0.9,
            "verdict": "fell",
            "changed": 0,
            "alarm": at > 11,
            "why": "",
        }
    write_report(estimate, path := pages / "first.html")
    browser.open(path, width=1280)
    told = browser.run("document.querySelector('.headline').innerText")
    alarm = "2 of 14 chunks: a fall by 1 point or more is likely (alarm)"
    for words in ("83.2", "79.1", "Low trust", alarm, "--suggest 10"):
        assert words in told, words
    assert browser.run("document.querySelector('.headline').getBoundingClientRect().bottom") < 800
    reached = []
    for _ in range(4):
        for kind in ("rawKeyDown", "keyUp"):
            browser.ask(
                "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
            )
        look = "[document.activeElement.innerText, getComputedStyle(document.activeElement).outlineStyle]"
        reached.append(browser.run(look))
    assert reached[:2] == [["Backtest", "solid"], ["Why, and what it assumes", "solid"]]


BODY = "getComputedStyle(document.body).backgroundColor"
LABEL = "getComputedStyle(document.querySelector('.chart svg .role-axis-label text')).fill"
PARTS = (
    "'.chart svg .role-axis-label text, .chart svg .mark-text text, .chart svg .mark-symbol path'"
)
COLLISIONS = """
    [...document.querySelectorAll('.chart svg')].map(svg => {
      const boxes = [...svg.querySelectorAll('.role-axis-label text, .role-axis-title text')]
        .filter(t => getComputedStyle(t).opacity > 0 && t.textContent)
        .filter(t => !/rotate\\((?!0|-90|90)/.test(t.getAttribute('transform')))  // boxes of slanted text overlap
        .map(t => t.getBoundingClientRect());
      return boxes.filter((a, i) => boxes.some((b, j) => i < j && a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 3 && b.top < a.bottom - 3)).length;
    }).reduce((a, b) => a + b, 0)"""


@pytest.mark.parametrize(
    ("width", "dark"), [(375, False), (375, True), (1280, False), (1280, True)]
)
def test_a_page_is_drawn_and_fits(browser: Any, page: Path, width: int, dark: bool) -> None:
    browser.open(page, width=width, dark=dark)
    check_charts(browser, page, width)
    if dark:
        check_dark_and_print(browser)
        return
    assert browser.run(COLLISIONS) == 0, "labels of an axis lie on each other"
    check_wide_tables(browser, width)
    if width == 1280:
        check_narrower_window(browser)


def check_charts(browser: Any, page: Path, width: int) -> None:
    """Every chart is drawn, nothing overflows, and nothing is asked for but the page itself."""
    assert browser.run("document.querySelectorAll('.chart svg.marks').length") == CHARTS[page.stem]
    assert browser.run("document.querySelectorAll('.chart.failed').length") == 0
    assert browser.run("document.querySelectorAll('.chart svg path').length") > 50
    assert browser.run("document.documentElement.scrollWidth") == width
    overflow = "[...document.querySelectorAll('.chart')].filter(c => c.scrollWidth > c.clientWidth + 1).length"
    assert browser.run(overflow) == 0
    assert browser.complaints() == []
    assert browser.addresses() == [page.as_uri()]


def check_dark_and_print(browser: Any) -> None:
    """Charts follow dark mode, and print is light and as wide as the paper."""
    assert brightness(browser, BODY) < 40
    assert brightness(browser, LABEL) > 150, "labels are dim in dark mode"
    # What has the colour of the card below it is a hollow dot, or the number in a full one.
    card = "getComputedStyle(document.querySelector('.card')).backgroundColor"
    dim = (
        f"[...document.querySelectorAll({PARTS})].map(e => getComputedStyle(e).fill).filter(f => f.startsWith('rgb('))"
        f".filter(f => f !== {card})"
        ".map(f => f.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3).filter(v => v < 100).length"
    )
    assert browser.run(dim) == 0
    browser.ask(
        "Emulation.setEmulatedMedia",
        media="print",
        features=[{"name": "prefers-color-scheme", "value": "dark"}],
    )
    assert brightness(browser, BODY) > 250
    assert brightness(browser, LABEL) < 130
    # A4 less its margins; the charts were drawn for a screen.
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        width=718,
        height=1000,
        deviceScaleFactor=1,
        mobile=False,
    )
    assert browser.run("document.documentElement.scrollWidth") == 718
    browser.ask("Emulation.setEmulatedMedia", media="", features=[])


def check_wide_tables(browser: Any, width: int) -> None:
    """A table that is wider than its card says so and can be reached by the keyboard; no other one does."""
    browser.run(
        "document.querySelectorAll('details').forEach(d => d.open = true)"
    )  # what is folded is not laid out
    time.sleep(0.2)
    wide = (
        "[...document.querySelectorAll('.scroll')].filter(s => s.scrollWidth > s.clientWidth + 1)"
    )
    marked = browser.run("document.querySelectorAll('.scroll.wider').length")
    assert browser.run(f"{wide}.length") == marked
    assert browser.run(f"{wide}.every(s => s.classList.contains('wider') && s.tabIndex === 0)")
    if width == 375:
        assert marked > 0
        hint = "getComputedStyle(document.querySelector('.scroll.wider'), '::before').content"
        assert "scroll sideways" in browser.run(hint)


def check_narrower_window(browser: Any) -> None:
    """Charts follow the width of the window."""
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        width=600,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    widest = "Math.max(...[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().width))"
    deadline = time.monotonic() + 10
    while browser.run(widest) > 600 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert 400 < browser.run(widest) <= 600
    assert browser.run("document.documentElement.scrollWidth") == 600


def test_a_tooltip_shows_text(browser: Any, estimate: dict[str, Any], tmp_path: Path) -> None:
    estimate["estimates"][3]["assumes"] = "<b>bold</b>"
    path = tmp_path / "page.html"
    write_report(estimate, path)
    browser.open(path, width=1280)
    browser.run(
        "document.getElementById('chart-methods').scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    box = browser.run(
        "(() => { const r = [...document.querySelectorAll('#chart-methods .role-axis-label text')]"
        ".find(t => t.textContent == 'atc').getBoundingClientRect(); return [r.right, (r.top + r.bottom) / 2] })()"
    )
    for step in (200, 204):
        browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + step, y=box[1])
    deadline = time.monotonic() + 10
    while browser.run("document.getElementById('tip').hidden") and time.monotonic() < deadline:
        time.sleep(0.05)
    text = browser.run("document.getElementById('tip').innerText")
    assert "84.2\N{NO-BREAK SPACE}%" in text
    assert "<b>bold</b>" in text


def test_nothing_from_a_file_runs(browser: Any, estimate: dict[str, Any], tmp_path: Path) -> None:
    estimate["warnings"] = [EVIL]
    for one in estimate["slices"]:
        one["value"] = EVIL
    estimate["estimates"][0]["method"] = EVIL
    estimate["target"]["name"] = EVIL
    path = tmp_path / "page.html"
    write_report(estimate, path)
    browser.open(path, width=375)
    assert browser.run("window.hit === undefined")
    assert browser.run("document.querySelectorAll('.chart svg.marks').length") == 6
    assert browser.run("document.documentElement.scrollWidth") == 375
    assert browser.complaints() == []


def test_a_curve_is_singled_out_and_told(browser: Any, ten_page: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(ten_page, encoding="utf-8")
    browser.open(path, width=1280)
    chart = "document.getElementById('chart-curves-in-domain')"
    browser.run(f"{chart}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    box = browser.run(
        f"(() => {{ const r = {chart}.getBoundingClientRect(); return [r.left, r.top, r.width, r.height] }})()"
    )
    lines = f"[...{chart}.querySelectorAll('.mark-line path')].map(p => +(p.getAttribute('opacity') ?? 1))"
    assert set(browser.run(lines)) == {1}
    for step in (0, 3):
        browser.ask(
            "Input.dispatchMouseEvent",
            type="mouseMoved",
            x=box[0] + box[2] / 2 + step,
            y=box[1] + box[3] / 3,
        )
    deadline = time.monotonic() + 10
    while browser.run("document.getElementById('tip').hidden") and time.monotonic() < deadline:
        time.sleep(0.05)
    text = browser.run("document.getElementById('tip').innerText")
    assert text.startswith("model "), "the name of the model, which is model a to j here"
    assert "answered" in text
    assert "interval" in text
    time.sleep(0.2)
    shown = browser.run(lines)
    assert sorted(shown)[-1] == 1
    assert sorted(shown)[:-1] == [0.1] * 9
    assert browser.complaints() == []
