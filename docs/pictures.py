"""Pictures: those of README, gallery and tutorials, drawn again by one command, each below 60 kB.

    python docs/pictures.py                    # all of them, from the samples and the demo of the package
    python docs/pictures.py car_loan months    # these

Every picture is a chart of a page that the library writes (`--report`), in the colours of its light style; README's
has those for dark as well.
"""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import oodometer
from oodometer.datasets import load_car_loan, load_digit_models
from oodometer.reports.charts.looks import FONT
from oodometer.reports.page import TEMPLATES
from oodometer.reports.pictures import svg_of
from oodometer.reports.sections import section_of
from oodometer.verbs.demo import demo

UNTIL_MAY = 35_219  # loans of README's example whose truth came in
OUT = Path(__file__).parent / "pictures"
LARGEST = 60_000


def drawn(result: Any) -> dict[str, Any]:
    """The charts of a result's page by name."""
    plain = result.to_dict()
    figures, _ = section_of(plain["command"])(plain)
    return {figure.name: figure for figure in figures if figure is not None}


def landing(figure: Any) -> str:
    """The chart of README: its colours for light and for dark, a surface of its own, and what the marks mean."""
    import vl_convert

    light, dark = re.findall(
        r":root \{.*?\n *\}", (TEMPLATES / "style.css").read_text(encoding="utf-8"), re.DOTALL
    )[:2]
    style = f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}\ntext {{ paint-order: stroke; }}"
    key = "".join(
        f'<g transform="translate({x},30)">{mark}<text x="30" fill="var(--ink)">{words}</text></g>'
        for x, mark, words in KEY
    )
    ground = (
        f'<style>{style}</style><rect width="100%" height="100%" rx="10" fill="var(--surface)"/>'
    )
    ground += f'<g font-family="{FONT}" font-size="13">{key}</g>'
    padding = {"top": 52, "left": 14, "right": 14, "bottom": 14}
    drawing = str(vl_convert.vegalite_to_svg(figure.spec | {"width": 820, "padding": padding}))
    drawing = re.sub(r' aria-[a-z]+="[^"]*"', "", drawing)
    return re.sub(r"(<svg[^>]*>)", lambda tag: tag[1] + ground, drawing, count=1)


def results(folder: Path) -> dict[str, Any]:
    """What the pictures are of, by a short name: car loans, models of digits, the drifting digits of the demo."""
    loan, digits = load_car_loan(), load_digit_models()
    demo(folder)
    reference, target, labels = (
        folder / f"{name}.parquet" for name in ("reference", "target_2", "labels_2")
    )
    records = {
        name: oodometer.load(path) for name, path in (("reference", reference), ("target", target))
    }
    votes = {
        name: {"votes": r.members == r.predicted, "confidence": r.probabilities.max(1)}
        for name, r in records.items()
    }
    votes["reference"]["correct"] = records["reference"].verdicts
    row = np.random.default_rng(0).choice(len(oodometer.load(labels)), 50, replace=False)
    few = "".join(f"{k},{oodometer.load(labels).label[k]}\n" for k in row)
    (folder / "few.csv").write_text(f"row,label\n{few}")
    return {
        "loans": oodometer.estimate(
            loan.reference, loan.target, every="month", labels=loan.labels.slice(0, UNTIL_MAY)
        ),
        "measured": oodometer.evaluate(loan.reference, mapping={"repaid": "label"}),
        "drift": oodometer.estimate(reference, target, labels=labels),
        "backtest": oodometer.backtest(reference),
        "audit": oodometer.audit(reference, target, labels=folder / "few.csv"),
        "compare": oodometer.compare(
            list(digits.references.values())[:3], names=list(digits.references)[:3]
        ),
        "rank": oodometer.rank(digits.targets, examples=digits.ten),
        "judges": oodometer.estimate(votes["reference"], votes["target"]),
    }


def main(wanted: list[str]) -> None:
    """Draw them, then write them."""
    chosen = {file: CHOSEN[file] for file in wanted or CHOSEN}
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        figures = {name: drawn(result) for name, result in results(Path(folder)).items()}
    draw = {"car_loan": landing}
    # what stands around a picture says how to read it
    charts = {
        file: replace(figures[name][figure], caption="") for file, (name, figure) in chosen.items()
    }
    texts = {file: draw.get(file, svg_of)(chart) for file, chart in charts.items()}
    for file, text in texts.items():
        if len(text.encode()) > LARGEST:
            raise SystemExit(f"{file}.svg has {len(text.encode())} bytes, more than {LARGEST}")
    for file, text in texts.items():
        (OUT / f"{file}.svg").write_text(text + "\n", encoding="utf-8")


# The file, and of which result it shows which chart.
CHOSEN = {
    "car_loan": ("loans", "chunks"),
    "months": ("loans", "chunks"),
    "methods": ("drift", "methods"),
    "confidence": ("drift", "confidence"),
    "reliability": ("measured", "reliability-0"),
    "risk-coverage": ("measured", "risk-coverage-0"),
    "backtest": ("backtest", "error-map"),
    "audit": ("audit", "audited"),
    "compare": ("compare", "curves-in-domain"),
    "best": ("rank", "best-chances"),
    "judges": ("judges", "votes"),
}
# What the marks of README's picture mean, and where that stands.
KEY = (
    (
        20,
        '<rect x="0" y="-9" width="22" height="11" fill="var(--accent-band)"/>',
        "estimate, interval",
    ),
    (
        176,
        '<rect x="0" y="-9" width="22" height="11" fill="var(--quiet-band)"/>',
        "without late labels",
    ),
    (
        348,
        '<path d="M11 -11L18 -4L11 3L4 -4Z" fill="var(--truth)"/>',
        "truth of the months until May",
    ),
    (
        592,
        '<circle cx="11" cy="-4" r="7" fill="none" stroke="var(--reference)" stroke-width="2.5"/>',
        "alarm",
    ),
)

if __name__ == "__main__":
    main(sys.argv[1:])
