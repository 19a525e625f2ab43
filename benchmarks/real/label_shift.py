"""Strong label shift on real outputs: class shares that turn over, answered by the headline and by LEAP.

python -m benchmarks.real.label_shift     # results/label_shift.json and label_shift.md

Half of each set of outputs is the reference; of the other half up to 2,000 rows are drawn with new class shares and
without replacement: nearly all of one class, Dirichlet shares of parameter 0.1, or the reference's shares in reverse
order. P(x | y) stands still by construction, so `leap` is the estimator to match. The outputs: six published CIFAR-10
models of which only classes are known, four models with probabilities (one of them binary), and the binary and
three-class models of public tables and texts in `natural/`, with probabilities and with classes alone.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

import numpy as np

import oodometer
from benchmarks import kit
from benchmarks.kit import data_folder
from benchmarks.natural.run import unpack, work_folder
from benchmarks.real.data import OUTPUTS, Floats, Ints, load_cifar, load_outputs
from oodometer import Predictions

LEVEL = 0.9
ROWS = 2000
MOST_REFERENCE = 5000
SEEDS = range(2)
MODELS = ("alexnet_tf_ben", "densenet_BC_100_12", "random_features_32k_aug", "resnet_basic_32", "vgg_15_BN_64",
          "wrn_28_10")  # fmt: skip
TABLES = ("adult-age", "adult-group", "bank-job", "bikes-year", "elec2", "flights-month", "flights-airport", "movies",
          "reviews-binary", "wine")  # fmt: skip


@dataclass(frozen=True)
class Turned:
    """One target: what was said of it and the truth."""

    outputs: str
    group: str
    shares: str
    seed: int
    source: float
    truth: float
    headline: tuple[float, float, float]
    trust: str
    kind: str
    leap: float
    source_error: float


def materials() -> Iterator[tuple[str, str, Floats | None, Ints, Ints]]:
    """Name, group, probabilities or None, predicted and true classes of every set of outputs."""
    models, _ = load_cifar(data_folder())
    for i in map(models.names.index, MODELS):
        yield models.names[i], "classes alone", None, models.predicted[i], models.label
    for name in OUTPUTS:
        one = load_outputs(data_folder(), name)
        yield name, "probabilities", one.probabilities, one.probabilities.argmax(axis=1), one.label
    beds = unpack(work_folder())
    for bed in TABLES:
        import pandas as pd

        case = max(sorted((beds / bed).iterdir()), key=lambda c: _rows(c / "reference.parquet"))
        table = pd.read_parquet(case / "reference.parquet")
        p = np.stack(table["probabilities"].to_numpy())
        label = table["label"].to_numpy().astype(np.intp)
        for given, group in ((p, "tables and texts"), (None, "tables and texts, classes alone")):
            yield f"{bed}/{case.name}", group, given, p.argmax(axis=1), label


def _rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def shares_of(name: str, here: Floats, rng: np.random.Generator) -> Floats:
    """New class shares, shape (class,)."""
    classes = len(here)
    if name == "one class":
        out = np.full(classes, 0.05 / max(classes - 1, 1))
        out[rng.choice(np.flatnonzero(here > 0))] = 0.95
    elif name == "Dirichlet 0.1":
        out = rng.dirichlet(np.full(classes, 0.1))
    else:
        out = here[np.argsort(here)][::-1][np.argsort(np.argsort(here))]
    out = np.where(here > 0, out, 0)
    found: Floats = out / out.sum()
    return found


def drawn(label: Ints, shares: Floats, rng: np.random.Generator) -> Ints:
    """Places of rows with these class shares, without replacement, up to `ROWS`."""
    sizes = np.bincount(label, minlength=len(shares))
    total = min(float(np.min(sizes[shares > 0.01] / shares[shares > 0.01])), ROWS)
    wanted = np.minimum(np.round(total * shares).astype(int), sizes)
    return np.concatenate(
        [rng.choice(np.flatnonzero(label == k), n, replace=False) for k, n in enumerate(wanted)]
    )


def ask(
    material: tuple[str, str, Floats | None, Ints, Ints],
    shares: str,
    seed: int,
    assume: str = "natural",
) -> Turned:
    """The headline of one drawn target."""
    name, group, p, predicted, label = material
    rng = np.random.default_rng([seed, len(name), len(shares)])
    order = rng.permutation(len(label))
    half, rest = order[: len(order) // 2][:MOST_REFERENCE], order[len(order) // 2 :]
    here = np.bincount(label[rest], minlength=int(label.max()) + 1) / len(rest)
    new = shares_of(shares, here, rng)
    rows = rest[drawn(label[rest], new, rng)]
    classes = range(int(label.max()) + 1 if p is None else p.shape[1])

    def record(which: Ints, labelled: bool) -> Predictions:
        fields = {"prediction": predicted[which]} if p is None else {"probabilities": p[which]}
        return Predictions.from_arrays(
            **fields, label=label[which] if labelled else None, classes=classes
        )

    truth, source = (
        float((predicted == label)[rows].mean()),
        float((predicted == label)[half].mean()),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = oodometer.estimate(
            record(half, True), record(rows, False), level=LEVEL, assume=assume
        )
    head = found.headline
    assert found.diagnosis is not None
    return Turned(name, group, shares, seed, round(source, 5), round(truth, 5),
                  (round(head.value, 5), round(head.lower, 5), round(head.upper, 5)), head.trust, found.diagnosis.kind,
                  round(found["leap"].value, 5), round(abs(source - truth), 5))  # fmt: skip


def measured() -> list[Turned]:
    """Every set of outputs under every kind of new shares."""
    out, start = [], time.perf_counter()
    for material in materials():
        for shares in ("one class", "Dirichlet 0.1", "reverse order"):
            for seed in SEEDS:
                out.append(ask(material, shares, seed))
        print(f"{material[0]}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return out


def page(result: kit.Result) -> str:
    cases = [Turned(**one) for one in result["cases"]]
    rows = []
    groups = [*dict.fromkeys(c.group for c in cases), "all"]
    for group in groups:
        for shares in [*dict.fromkeys(c.shares for c in cases), "all"]:
            few = [c for c in cases if group in (c.group, "all") and shares in (c.shares, "all")]
            head, leap = (mean(abs(v - c.truth) for v, c in zip(values, few, strict=True))
                          for values in ([c.headline[0] for c in few], [c.leap for c in few]))  # fmt: skip
            inside = mean(c.headline[1] <= c.truth <= c.headline[2] for c in few)
            rows.append([group, shares, str(len(few)), f"{100 * mean(c.source_error for c in few):.1f}",
                         f"{100 * head:.2f}", f"{100 * leap:.2f}", f"{head / max(leap, 1e-9):.2f}", f"{inside:.0%}",
                         f"{100 * mean(c.headline[2] - c.headline[1] for c in few):.1f}",
                         f"{mean(c.kind == 'label' for c in few):.0%}"])  # fmt: skip
    header = ["outputs", "new shares", "cases", "moved", "headline", "`leap`", "ratio", f"coverage at {LEVEL:.0%}",
              "width", "diagnosed as label shift"]  # fmt: skip
    lines = [
        "# Strong label shift on real outputs",
        "",
        "Made by `python -m benchmarks.real.label_shift`: mean absolute errors in points of `oodometer.estimate` with "
        "its defaults and of `leap`, whose assumption holds by construction; every case is in `label_shift.json`.",
        "",
        *kit.table(header, rows),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    return {"cases": [asdict(one) for one in measured()]}


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "label_shift", measure, page))
