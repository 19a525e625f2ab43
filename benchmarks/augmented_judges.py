"""What copies of the pairs in other forms (`discriminate train --augment`) do to judges; results/augmented_judges.*.

python -m benchmarks.augmented_judges [--seeds N]

Made commands for a house, and what a parser makes of them, wrong in a fifth of the cases. Judges learn from pairs in
one form; then the same commands come in other forms, which change nothing about what is right. Judges without copies
stand beside judges with copies in all forms of the package, and beside judges with copies in a half of these forms that
are asked about the other half. Two forms of the target, ordinals and dashes, are in nobody's copies.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import kit
from oodometer.metrics.one_vs_rest import roc_auc
from oodometer_lab.discriminators import Panel, reformatted
from oodometer_lab.verbs.discriminate import train_judges

DEVICES = ("lamp", "heater", "fan", "radio", "blind", "oven", "pump", "screen", "alarm", "kettle")
ROOMS = ("Hall", "Kitchen", "Study", "Cellar", "Attic", "Garage", "Bath", "Porch")
LEVELS = ("low", "medium", "high", "full")
HALVES = (
    ("comma", "stop", "lower-case", "spaced-marks"),
    ("no-commas", "upper-case", "first-letter", "quotes"),
)
ROWS, JUDGES, EPOCHS = 1_000, 3, 20
Form = Callable[[Sequence[str], np.random.Generator], list[str]]


def commands(rows: int, seed: int) -> dict[str, Any]:
    """Commands, what the parser writes, and what is right."""
    rng = np.random.default_rng(seed)
    data: dict[str, Any] = {"input": [], "output": [], "gold": []}
    for device, room, level, hour in zip(
        rng.choice(DEVICES, rows), rng.choice(ROOMS, rows), rng.choice(LEVELS, rows),
        rng.integers(1, 13, rows), strict=True,
    ):  # fmt: skip
        slots = {"device": device, "room": room.lower(), "level": level, "hour": str(hour)}
        data["input"].append(f"Turn the {device} in the {room}, please, to {level} at {hour}")
        data["gold"].append(written(slots))
        data["output"].append(written(slots if rng.random() < 0.8 else mistaken(slots, rng)))
    return data


def written(slots: dict[str, str]) -> str:
    return " ; ".join(f"{slot} = {value}" for slot, value in slots.items())


def mistaken(slots: dict[str, str], rng: np.random.Generator) -> dict[str, str]:
    """The slots with one that is lost, or of another value."""
    slot = str(rng.choice([*slots]))
    others = {
        "device": DEVICES,
        "room": tuple(map(str.lower, ROOMS)),
        "level": LEVELS,
        "hour": tuple(map(str, range(1, 13))),
    }[slot]
    if rng.random() < 0.3:
        return {name: value for name, value in slots.items() if name != slot}
    return slots | {slot: str(rng.choice([v for v in others if v != slots[slot]]))}


def in_form(name: str) -> Form:
    return lambda texts, rng: [
        new or old for new, old in zip(reformatted(texts, rng, [name]), texts, strict=True)
    ]


FORMS: dict[str, Form] = {
    "as learnt": lambda texts, _: list(texts),
    **{name: in_form(name) for half in HALVES for name in half},
    "ordinals": lambda texts, _: [f"{text}th" for text in texts],
    "dashes": lambda texts, _: [text.replace(" in the ", "-in-the-") for text in texts],
}


def with_copies(data: dict[str, Any], forms: Sequence[str], seed: int) -> dict[str, Any]:
    """The rows, and a copy of each in one of these forms."""
    new = reformatted(data["input"], np.random.default_rng([seed, 9]), forms)
    rows = [row for row, text in enumerate(new) if text is not None]
    copies = {name: [data[name][row] for row in rows] for name in ("output", "gold")}
    copies["input"] = [new[row] for row in rows]
    return {name: [*data[name], *copies[name]] for name in data}


def panels(seed: int) -> dict[str, Panel]:
    """Judges without copies, with copies in all forms, and with copies in either half of them."""
    pairs, dev = commands(ROWS, 10 * seed), commands(ROWS // 5, 10 * seed + 1)
    halves = {f"half {i}": with_copies(pairs, forms, seed) for i, forms in enumerate(HALVES)}
    learnt = {"none": pairs, "all": pairs, **halves}
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in learnt.items():
            judges = train_judges(
                rows, Path(folder) / name, dev=dev, judges=JUDGES, epochs=EPOCHS, seed=seed,
                augment=int(name == "all"), all_judges=True,
            )  # fmt: skip
            out[name] = judges.panel
            print(f"seed {seed}: judges with copies in {name}", flush=True)
    return out


def judged(panel: Panel, data: dict[str, Any], right: Any) -> dict[str, float]:
    """How well judges order the outputs, and how far the share that most of them accept is from the truth."""
    p = panel.probabilities(data["input"], data["output"])
    accepted = float(((p >= 0.5).mean(axis=0) > 0.5).mean())
    auroc = roc_auc(right, p.mean(axis=0))
    return {"auroc": auroc, "accepted": accepted, "off": abs(accepted - float(right.mean()))}


def measure(given: argparse.Namespace) -> kit.Result:
    rows = []
    for seed in range(given.seeds):
        trained = panels(seed)
        target = commands(ROWS, 10 * seed + 2)
        right = np.array([a == b for a, b in zip(target["output"], target["gold"], strict=True)])
        for form, write in FORMS.items():
            texts = write(target["input"], np.random.default_rng([seed, 5]))
            for copies, panel in trained.items():
                seen = copies == "all" or (
                    copies.startswith("half") and form in HALVES[int(copies[-1])]
                )
                cell = judged(panel, target | {"input": texts}, right)
                row = {"seed": seed, "form": form, "copies": copies, "seen": seen}
                rows.append({**row, "truth": float(right.mean()), **cell})
    return {"seeds": given.seeds, "rows": rows}


def page(result: kit.Result) -> str:
    kinds = {
        "no copies": lambda row: row["copies"] == "none",
        "copies in all forms": lambda row: row["copies"] == "all",
        "copies in other forms alone": lambda row: (
            row["copies"].startswith("half") and not row["seen"]
        ),
    }
    lines = []
    for form in FORMS:
        cells = [form]
        for told in kinds.values():
            rows = [row for row in result["rows"] if row["form"] == form and told(row)]
            means = {name: np.mean([row[name] for row in rows]) for name in ("auroc", "off")}
            cells.append(f"{means['auroc']:.3f} ({100 * means['off']:.1f})")
        lines.append(cells)
    return kit.joined(
        [
            "# Judges and copies in other forms", "",
            f"`python -m benchmarks.augmented_judges --seeds {result['seeds']}`: {JUDGES} judges of {ROWS:,} commands "
            "and a seed each. AUROC of the mean P(Correct); in brackets by how many points the share that most judges "
            "accept is off the true accuracy. The last column is of judges whose copies have other forms than the one "
            "asked about.",
            "", *kit.table(["form of the target", *kinds], lines)[:-1],
        ]
    )  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__, "augmented_judges", measure, page, seeds=(2, "seeds, each with its own judges")
        )
    )
