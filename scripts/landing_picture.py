"""Draw the picture of the landing page: a deployed model by month, what was estimated beside the truth that came later.

python scripts/landing_picture.py REFERENCE.csv ANALYSIS.csv TRUTH.csv    # writes docs/pictures/car_loan.svg

The files are the car loans that NannyML brings as sample data. The chart is that of `oodometer estimate --report`; the
colours are those of its page, for light and for dark.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import vl_convert

import oodometer
from oodometer.reports.charts.over_time import chunks

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs/pictures/car_loan.svg"
STYLE = ROOT / "src/oodometer/reports/templates/style.css"
WIDTH = 820
SIDES = ("left", "right", "bottom")
KEY = (
    (20, '<rect x="0" y="-9" width="22" height="11" fill="var(--accent-band)"/>', "interval"),
    (124, '<circle cx="11" cy="-4" r="5" fill="var(--accent)"/>', "estimate, without labels"),
    (326, '<path d="M11 -11L18 -4L11 3L4 -4Z" fill="var(--truth)"/>', "truth, from labels that came later"),
    (592, '<circle cx="11" cy="-4" r="7" fill="none" stroke="var(--reference)" stroke-width="2.5"/>', "alarm"),
)


def colours() -> str:
    """The variables of the report's style sheet: those of light, then those of dark."""
    light, dark = re.findall(r":root \{.*?\n *\}", STYLE.read_text(), re.S)[:2]
    return f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}"


def ground() -> str:
    """What lies under the chart: its colours, a surface of its own, and what the marks mean."""
    font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
    key = "".join(
        f'<g transform="translate({x},30)">{mark}<text x="30" fill="var(--ink)">{words}</text></g>'
        for x, mark, words in KEY
    )
    style = f"{colours()}\ntext {{ paint-order: stroke; }}"
    surface = '<rect width="100%" height="100%" rx="10" fill="var(--surface)"/>'
    return f'<style>{style}</style>{surface}<g font-family="{font}" font-size="13">{key}</g>'


def main(reference: str, target: str, labels: str) -> None:
    """Ask as the landing page does, draw the chunks, write one SVG."""
    found = oodometer.estimate(
        reference,
        target,
        mapping={"repaid": "label", "y_pred": "prediction", "timestamp": "time"},
        positive="y_pred_proba",
        every="month",
        labels=labels,
    )
    drawn = chunks(found.to_dict())
    assert drawn is not None
    svg = vl_convert.vegalite_to_svg(drawn.spec | {"width": WIDTH, "padding": {"top": 52} | dict.fromkeys(SIDES, 14)})
    svg = re.sub(r' aria-[a-z]+="[^"]*"', "", svg)
    svg = re.sub(r"(<svg[^>]*>)", lambda match: match[1] + ground(), svg, count=1)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(svg + "\n")
    print(f"{OUT.relative_to(ROOT)}: {len(svg) / 1000:.0f} kB; {drawn.title}")


if __name__ == "__main__":
    main(*sys.argv[1:])
