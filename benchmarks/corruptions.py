"""Corruptions: images a second of each image shift at 32 x 32 beside the reference library `imagecorruptions`.

    python -m benchmarks.corruptions            # everything; writes results/corruptions.json and corruptions.md
    python -m benchmarks.corruptions --check    # exit 1 if a promise does not hold
    python -m benchmarks.corruptions --rounds 1 # quick

Run it in an environment that has the library too, which is no longer kept up and wants opencv, scikit-image, numba and
an older setuptools:

    python -m venv env
    env/bin/pip install . pillow imagecorruptions opencv-python-headless scikit-image numba 'setuptools<80'

Both sides shift the same test images of CIFAR-10 ($OODOMETER_DATA) in one process, one thread, and take turns. Ours
gets the batch, the library one image after another, as it is made for. Figures are processor seconds of this process,
so that a busy neighbour does not count; ratios are taken within a round, the median over rounds is reported. The
library has the constants of ImageNet-C, which blur more and compress more; ours has those of CIFAR-10-C. What numpy 2
and scikit-image 0.21 no longer know is given back to it: `np.float_` and `gaussian(multichannel=)`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy is loaded

import numpy as np  # noqa: E402

from benchmarks import kit  # noqa: E402

ROWS, LOOP_ROWS = 1_000, 40
SEVERITIES = (1, 3, 5)
LIMITS = {"each": 3.0, "median": 10.0, "pillow": 0.8}  # times the reference
PILLOW = ("pixelate", "jpeg_compression")  # both sides hand each image to pillow


def reference() -> Any:
    """The library, with what newer numpy and scikit-image no longer know."""
    warnings.simplefilter("ignore")
    try:
        import cv2
        import imagecorruptions
        import skimage.filters
        from imagecorruptions import corruptions
    except ImportError as error:
        raise SystemExit(
            f"{error}; the head of this file says how to make an environment"
        ) from error
    cv2.setNumThreads(1)
    if not hasattr(np, "float_"):
        setattr(np, "float_", np.float64)  # noqa: B010

    def gaussian(image: Any, sigma: float, multichannel: bool = False, **more: Any) -> Any:
        return skimage.filters.gaussian(
            image, sigma, channel_axis=-1 if multichannel else None, **more
        )

    corruptions.gaussian = gaussian
    return imagecorruptions


def compared(kind: str, held: Any, library: Any, rounds: int) -> kit.Result:
    """Processor seconds an image of both sides over the severities, taking turns."""
    from oodometer_lab.shifts import find_image_shift

    shift = find_image_shift(kind)

    def ours() -> float:
        before = time.process_time()
        for severity in SEVERITIES:
            shift.apply(held, severity)
        return (time.process_time() - before) / (len(held) * len(SEVERITIES))

    def theirs() -> float:
        before = time.process_time()
        for severity in SEVERITIES:
            for image in held[:LOOP_ROWS]:
                library.corrupt(image, severity=severity, corruption_name=kind)
        return (time.process_time() - before) / (LOOP_ROWS * len(SEVERITIES))

    seconds = kit.in_turns({"ours": ours, "reference": theirs}, rounds + 1)
    kept = {
        side: values[1:] for side, values in seconds.items()
    }  # the first one loads tables and compiles
    return {"kind": kind,
        "images_per_second": {side: round(1 / statistics.median(values)) for side, values in kept.items()},
        "times_the_reference": kit.spread(kit.ratios(kept["reference"], kept["ours"]))}  # fmt: skip


def judge(cases: list[kit.Result]) -> list[kit.Result]:
    """The promises, and whether they hold."""
    times = {case["kind"]: case["times_the_reference"]["median"] for case in cases}
    own = [value for kind, value in times.items() if kind not in PILLOW]
    handed = [value for kind, value in times.items() if kind in PILLOW]
    found = (
        (
            "each kind that is not pillow's work: at least {:g} times",
            LIMITS["each"],
            min(own, default=None),
        ),
        (
            "half of all kinds: at least {:g} times",
            LIMITS["median"],
            statistics.median(times.values()),
        ),
        (
            "the two that are pillow's work: at least {:g} times",
            LIMITS["pillow"],
            min(handed, default=None),
        ),
    )
    return [
        {"limit": words.format(bound), "value": value, "holds": value >= bound}
        for words, bound, value in found
        if value is not None
    ]


def page(result: kit.Result) -> str:
    about = result["machine"]
    named = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    rows = []
    for case in result["cases"]:
        speed = case["images_per_second"]
        times = kit.ranged(case["times_the_reference"], 1)
        rows.append([case["kind"], f"{speed['ours']:,}", f"{speed['reference']:,}", times])
    lines = [
        "# Image shifts beside imagecorruptions",
        "",
        f"{result['date']}, {about['cpu']}, one thread, Python {about['python']}, {named}. Test images of CIFAR-10,"
        f" 32 x 32: {ROWS:,} for ours, {LOOP_ROWS} for the library, severities {', '.join(map(str, SEVERITIES))}."
        " Images in a processor second, median over rounds in one process, the sides taking turns; times: the ratio"
        " within a round (minimum-maximum). The library has the constants of ImageNet-C: it blurs more, compresses JPEG"
        " more (less to write), and reads its photographs of frost anew for each image. Images stay in memory."
        " `python -m benchmarks.corruptions`",
        "",
        *kit.table(["kind", "ours", "imagecorruptions", "times"], rows, "l"),
        *kit.promises(result["limits"]),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    from importlib.metadata import version

    from oodometer_lab.datasets import cifar10
    from oodometer_lab.shifts import IMAGE_SHIFTS

    library, held = reference(), np.asarray(cifar10("test").inputs[:ROWS])
    cases = []
    for kind in IMAGE_SHIFTS:
        if given.only in kind:
            cases.append(compared(kind, held, library, given.rounds))
            print(kind, cases[-1], file=sys.stderr, flush=True)
    packages = ("numpy", "scipy", "pillow", "imagecorruptions", "scikit-image")
    return {
        "suite": "corruptions", "date": time.strftime("%Y-%m-%d"), "machine": kit.machine(),
        "versions": {name: version(name) for name in packages}, "cases": cases, "limits": judge(cases),
    }  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "corruptions",
            measure,
            page,
            rounds=(5, "rounds of all sides"),
            only=("", "kinds whose name contains this; name another folder with --out"),
        )
    )
