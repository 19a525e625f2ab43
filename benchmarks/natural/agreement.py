"""Agreement discounted by shared mistakes: two ways that were tried, beside the agreement methods of the package.

python -m benchmarks.natural.agreement     # results/agreement.json and agreement.md

Models that are both wrong often give the same answer. The reference says how often, and how far the models are right
together. (1) The linear inversion takes the agreement on right and on wrong rows to stand still:
a = (A_T - A_wrong) / (A_right - A_wrong). (2) The common shift moves the log-odds of all models' accuracies by one
number until their expected agreement,

    P(both right) + r P(both wrong),    P(both right) = a b + rho sqrt(a (1 - a) b (1 - b)),

is the observed one; rho, the correlation of being right, and r, the rate of equal answers of two wrong models, are
those of each pair on the reference.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import numpy as np
import pandas as pd

from benchmarks.natural.run import unpack, work_folder
from benchmarks.natural.tables import Shift, read_shifts
from benchmarks.real.data import RESULTS, Floats, Ints
from benchmarks.real.tables import markdown

__all__ = ["common_shift", "linear_inversion", "main"]

OURS = ("agreement", "gde", "gde-difference", "aline-s", "aline-d")
TRIED = ("linear inversion", "common shift")
GROUPS = ("+members", "classes")
_SHIFTS = np.linspace(3.0, -6.0, 181)  # of the log-odds


def linear_inversion(right: np.ndarray, agree: Floats, seen: float) -> float:
    """``right``, shape (sample,), and ``agree``, shape (sample, model), of the reference; ``seen`` on the target."""
    high, low = float(agree[right].mean()), float(agree[~right].mean()) if not right.all() else 0.0
    return float(np.clip((seen - low) / max(high - low, 0.05), 0, 1))


def common_shift(right: np.ndarray, others: np.ndarray, agree: Floats, seen: float) -> float:
    """``others``, shape (sample, model): whether each other model is right; else as `linear_inversion`."""
    rows = len(right)
    mine, theirs = (right.sum() + 0.5) / (rows + 1), (others.sum(axis=0) + 0.5) / (rows + 1)
    a, b = right.mean(), others.mean(axis=0)
    deviation = np.sqrt(np.maximum(a * (1 - a) * b * (1 - b), 1e-6))
    rho = np.clip(((right[:, None] & others).mean(axis=0) - a * b) / deviation, 0, 0.99)
    wrong = (~right[:, None] & ~others).sum(axis=0)
    same = ((agree[~right] > 0).sum(axis=0) + 1) / (wrong + 2)

    def expected(shift: float) -> float:
        x, y = (_moved(p, shift) for p in (mine, theirs))
        both = np.minimum(x * y + rho * np.sqrt(x * (1 - x) * y * (1 - y)), np.minimum(x, y))
        return float((both + same * np.maximum(1 - x - y + both, 0)).mean())

    gap = float(agree.mean()) - expected(0.0)
    found = np.array([expected(s) for s in _SHIFTS]) + gap
    down = seen <= agree.mean()
    reached = (
        np.flatnonzero((_SHIFTS <= 0) & (found <= seen)) if down else np.flatnonzero((_SHIFTS >= 0) & (found >= seen))
    )
    place = (
        int(np.argmin(found)) if down and not len(reached) else 0 if not len(reached) else reached[0 if down else -1]
    )
    return float(np.clip(_moved(mine, _SHIFTS[place]) + a - mine, 0, 1))


def _moved(share: Floats | float, shift: float) -> Floats:
    odds = np.log(share / (1 - np.asarray(share))) + shift
    out: Floats = 1 / (1 + np.exp(-odds))
    return out


def predicted(table: pd.DataFrame) -> Ints:
    """The classes that the model says."""
    if "prediction" in table:
        return table["prediction"].to_numpy()
    out: Ints = np.stack(table["probabilities"].to_numpy()).argmax(axis=1)
    return out


def measure(shift: Shift, beds: Path) -> dict[str, float]:
    """Both tries on one case, beside the truth and what the package's methods said."""
    case = beds / shift.case.bed / shift.case.name
    here, there = (pd.read_parquet(case / f"{name}.parquet") for name in ("reference", "target"))
    label, mine = here["label"].to_numpy(), predicted(here)
    others, theirs = (np.stack(t["members"].to_numpy()) for t in (here, there))
    agree = (others == mine[:, None]).astype(float)
    seen, right = float((theirs == predicted(there)[:, None]).mean()), mine == label
    said = {name: three[0] for name in OURS if (three := shift.case.estimates.get(name)) is not None}
    return {
        "truth": shift.case.truth,
        **said,
        "linear inversion": round(linear_inversion(right, agree, seen), 5),
        "common shift": round(common_shift(right, others == label[:, None], agree, seen), 5),
    }


def page(cases: dict[str, list[dict[str, float]]]) -> str:
    """The whole of agreement.md."""
    rows = []
    for name in (*OURS, *TRIED):
        cells = []
        for group in GROUPS:
            gaps = [100 * (c[name] - c["truth"]) for c in cases[group] if name in c]
            cells += [f"{mean(map(abs, gaps)):.1f}", f"{mean(gaps):+.1f}"]
        rows.append([name if name in TRIED else f"`{name}`", *cells])
    header = ["method", *(f"{what}, {g}" for g in GROUPS for what in ("error", "bias"))]
    counts = ", ".join(f"{len(cases[g])} of `{g}`" for g in GROUPS)
    lines = [
        "# Agreement discounted by shared mistakes",
        "",
        "Made by `python -m benchmarks.natural.agreement`: mean absolute error and bias in points on natural shifts, "
        f"{counts}. The last two were tried and are not in the package.",
        "",
        *markdown(header, rows),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.natural.agreement",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for agreement.json and agreement.md")
    options = parser.parse_args(arguments)
    shifts, _ = read_shifts(RESULTS / "natural.json")
    beds = unpack(work_folder())
    cases = {g: [measure(s, beds) for s in shifts if s.group == g] for g in GROUPS}
    (options.out / "agreement.json").write_text(json.dumps(cases) + "\n", encoding="utf-8")
    (options.out / "agreement.md").write_text(page(cases), encoding="utf-8")
    print(page(cases))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
