"""Pictures: those of README, gallery and tutorials, drawn again by one command, each below 60 kB.

    python docs/pictures.py car_loan months            # these, of tables that ship with the package
    OODOMETER_DATA=... python docs/pictures.py         # all of them

Every picture is a chart of a page that the library writes (`--report`), in the colours of its light style; README's
has those for dark as well.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import oodometer
from oodometer.datasets import load_car_loan
from oodometer.reports.charts.looks import FONT
from oodometer.reports.page import TEMPLATES
from oodometer.reports.sections import SECTIONS

OUT = Path(__file__).parent / "pictures"
DATA = Path(os.environ["OODOMETER_DATA"]) if "OODOMETER_DATA" in os.environ else Path("../shared/data")
WIDTH, LARGEST = 760, 60_000
STYLE = dict(
    re.findall(r"--([\w-]+): ([^;]+);", (TEMPLATES / "style.css").read_text(encoding="utf-8").split("@media")[0])
)


def drawn(result: Any) -> dict[str, Any]:
    """The charts of a result's page by name."""
    plain = result.to_dict()
    figures, _ = SECTIONS[plain["command"]](plain)
    return {figure.name: figure for figure in figures if figure is not None}


def svg(figure: Any) -> str:
    """One chart as SVG: the page's light colours, a white ground, its finding as the title."""
    import vl_convert

    text = json.dumps(figure.spec).replace('"width": "container"', f'"width": {WIDTH}')
    spec = json.loads(re.sub(r"var\(--([\w-]+)\)", lambda name: STYLE[name[1]], text))
    spec["background"], spec["padding"] = "white", 20
    spec["title"] = {
        "text": lines(figure.title, 78),
        "anchor": "start",
        "fontSize": 14,
        "color": STYLE["ink"],
        "offset": 12,
    }
    drawing = str(vl_convert.vegalite_to_svg(spec))
    drawing = re.sub(r' (aria-[a-z]+|role|font-family)="[^"]*"', "", drawing)  # said of every mark; the page and
    drawing = drawing.replace("<svg ", f'<svg font-family="{FONT}" ', 1)  # the whole picture say it once
    drawing = re.sub(r'<path[^>]* opacity="0"[^>]*>', "", drawing)  # where a page would show words for the pointer
    drawing = re.sub(r'(<text[^>]* stroke="[^"]*")', r'\1 paint-order="stroke"', drawing)  # rims lie below letters
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), drawing)


def lines(text: str, width: int) -> list[str]:
    """The text in lines of at most so many characters."""
    out = [""]
    for word in text.split():
        out = [*out[:-1], f"{out[-1]} {word}".strip()] if len(out[-1]) + len(word) < width else [*out, word]
    return out


def landing(figure: Any) -> str:
    """The chart of README: its colours for light and for dark, a surface of its own, and what the marks mean."""
    import vl_convert

    light, dark = re.findall(r":root \{.*?\n *\}", (TEMPLATES / "style.css").read_text(encoding="utf-8"), re.DOTALL)[:2]
    style = f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}\ntext {{ paint-order: stroke; }}"
    key = "".join(
        f'<g transform="translate({x},30)">{mark}<text x="30" fill="var(--ink)">{words}</text></g>'
        for x, mark, words in KEY
    )
    ground = f'<style>{style}</style><rect width="100%" height="100%" rx="10" fill="var(--surface)"/>'
    ground += f'<g font-family="{FONT}" font-size="13">{key}</g>'
    padding = {"top": 52, "left": 14, "right": 14, "bottom": 14}
    drawing = str(vl_convert.vegalite_to_svg(figure.spec | {"width": 820, "padding": padding}))
    drawing = re.sub(r' aria-[a-z]+="[^"]*"', "", drawing)
    return re.sub(r"(<svg[^>]*>)", lambda tag: tag[1] + ground, drawing, count=1)


def loans() -> dict[str, Any]:
    """What the pictures of the car loans are of, which ship with the package."""
    loan = load_car_loan()
    options = {"mapping": {"repaid": "label", "y_pred": "prediction", "timestamp": "time"}, "positive": "y_pred_proba"}
    return {
        "loans": oodometer.estimate(loan.reference, loan.target, every="month", labels=loan.labels, **options),
        "measured": oodometer.evaluate(loan.reference, **options),
    }


def reviews(folder: Path) -> dict[str, Any]:
    """What the others are of, by a short name."""
    for bed in ("reviews-binary", "reviews-binary+members"):
        with tarfile.open(DATA / "natural" / f"{bed}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
    case = folder / "reviews-binary" / "books-kitchen-lr-300"
    reference, target = case / "reference.parquet", case / "target.parquet"
    out: dict[str, Any] = {"reviews": oodometer.estimate(reference, target, labels=case / "labels.parquet")}
    out["backtest"] = oodometer.backtest(reference)
    truth = oodometer.read(case / "labels.parquet").label
    few = np.random.default_rng(0).choice(len(truth), 50, replace=False)
    (folder / "few.csv").write_text("row,label\n" + "".join(f"{row},{truth[row]}\n" for row in few))
    out["audit"] = oodometer.audit(reference, target, labels=folder / "few.csv")
    return out | models(folder) | judges(folder)


def models(folder: Path) -> dict[str, Any]:
    """Models of the same reviews side by side, with all labels and with ten."""
    files, label = {}, None
    for name in ("lr", "nb", "rf", "svm"):
        case = folder / "reviews-binary" / f"books-kitchen-{name}-300"
        record, label = oodometer.read(case / "target.parquet"), oodometer.read(case / "labels.parquet").label
        ids = np.arange(len(label))
        files[name] = folder / f"{name}.parquet"
        table = pa.table({"id": ids, "probabilities": record.probabilities.tolist(), "label": label})
        pq.write_table(table, files[name])
        pq.write_table(table.drop(["label"]), folder / f"{name}-pool.parquet")
    ten = np.random.default_rng(0).choice(len(label), 10, replace=False)
    (folder / "ten.csv").write_text("id,label\n" + "".join(f"{row},{label[row]}\n" for row in ten))
    return {
        "compare": oodometer.compare(list(files.values())[:3], names=list(files)[:3]),
        "rank": oodometer.rank({name: folder / f"{name}-pool.parquet" for name in files}, examples=folder / "ten.csv"),
    }


def judges(folder: Path) -> dict[str, Any]:
    """Other models as judges: each accepts an answer that it would have given."""
    case = folder / "reviews-binary+members" / "books-kitchen-lr-300"
    sides = []
    for name in ("reference", "target"):
        record = oodometer.read(case / f"{name}.parquet")
        votes = record.members == record.predicted
        fields = {"correct": record.verdicts} if name == "reference" else {}
        sides.append({"votes": votes, "confidence": record.probabilities.max(1), **fields})
    return {"judges": oodometer.estimate(*sides)}


def main(wanted: list[str]) -> None:
    """Draw them, then write them."""
    chosen = {file: CHOSEN[file] for file in wanted or CHOSEN}
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        results = loans()
        if not {result for result, _ in chosen.values()} <= set(results):
            results |= reviews(Path(folder))
        figures = {name: drawn(result) for name, result in results.items()}
    draw = {"car_loan": landing}
    texts = {file: draw.get(file, svg)(figures[name][figure]) for file, (name, figure) in chosen.items()}
    for file, text in texts.items():
        if len(text.encode()) > LARGEST:
            raise SystemExit(f"{file}.svg has {len(text.encode())} bytes, more than {LARGEST}")
    for file, text in texts.items():
        (OUT / f"{file}.svg").write_text(text + "\n", encoding="utf-8")


# The file, and of which result it shows which chart.
CHOSEN = {
    "car_loan": ("loans", "chunks"),
    "months": ("loans", "chunks"),
    "methods": ("reviews", "methods"),
    "confidence": ("reviews", "confidence"),
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
    (20, '<rect x="0" y="-9" width="22" height="11" fill="var(--accent-band)"/>', "interval"),
    (124, '<circle cx="11" cy="-4" r="5" fill="var(--accent)"/>', "estimate, without labels"),
    (326, '<path d="M11 -11L18 -4L11 3L4 -4Z" fill="var(--truth)"/>', "truth, from labels that came later"),
    (592, '<circle cx="11" cy="-4" r="7" fill="none" stroke="var(--reference)" stroke-width="2.5"/>', "alarm"),
)

if __name__ == "__main__":
    main(sys.argv[1:])
