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
import io
import json
import lzma
import os
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy is loaded

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
ROWS, LOOP_ROWS = 1_000, 40
SEVERITIES = (1, 3, 5)
LIMITS = {"each": 3.0, "median": 10.0, "pillow": 0.8}  # times the reference
PILLOW = ("pixelate", "jpeg_compression")  # both sides hand each image to pillow


def images(rows: int) -> Any:
    """The first test images of CIFAR-10: uint8 (row, 32, 32, 3)."""
    from PIL import Image

    home = os.environ.get("OODOMETER_DATA")
    if not home:
        raise SystemExit("set OODOMETER_DATA to the folder of the data")
    with lzma.open(Path(home) / "images" / "test_jpegs.npz.xz") as packed:
        held = np.load(io.BytesIO(packed.read()))
    files, offset = held["jpeg"], held["offset"]
    found = [Image.open(io.BytesIO(files[offset[i] : offset[i + 1]].tobytes())).convert("RGB") for i in range(rows)]
    return np.stack([np.asarray(one) for one in found])


def reference() -> Any:
    """The library, with what newer numpy and scikit-image no longer know."""
    warnings.simplefilter("ignore")
    try:
        import cv2
        import imagecorruptions
        import skimage.filters
        from imagecorruptions import corruptions
    except ImportError as error:
        raise SystemExit(f"{error}; the head of this file says how to make an environment") from error
    cv2.setNumThreads(1)
    if not hasattr(np, "float_"):
        setattr(np, "float_", np.float64)  # noqa: B010

    def gaussian(image: Any, sigma: float, multichannel: bool = False, **more: Any) -> Any:
        return skimage.filters.gaussian(image, sigma, channel_axis=-1 if multichannel else None, **more)

    corruptions.gaussian = gaussian
    return imagecorruptions


def measure(kind: str, held: Any, library: Any, rounds: int) -> dict[str, Any]:
    """Processor seconds an image of both sides at each severity, taking turns."""
    from oodometer.shifts import find_image_shift

    shift = find_image_shift(kind)
    seconds: dict[str, list[float]] = {"ours": [], "reference": []}
    for number in range(rounds + 1):  # the first one loads tables and compiles, and is thrown away
        taken = {}
        for side in ("ours", "reference") if number % 2 else ("reference", "ours"):
            before = time.process_time()
            for severity in SEVERITIES:
                if side == "ours":
                    shift.apply(held, severity)
                else:
                    for image in held[:LOOP_ROWS]:
                        library.corrupt(image, severity=severity, corruption_name=kind)
            rows = len(held) if side == "ours" else LOOP_ROWS
            taken[side] = (time.process_time() - before) / (rows * len(SEVERITIES))
        if number:
            for side, value in taken.items():
                seconds[side].append(value)
    ratios = [b / a for a, b in zip(seconds["ours"], seconds["reference"], strict=True)]
    return {
        "kind": kind,
        "images_per_second": {side: round(1 / statistics.median(values)) for side, values in seconds.items()},
        "times_the_reference": {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)},
    }


def judge(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The promises, and whether they hold."""
    ratios = {case["kind"]: case["times_the_reference"]["median"] for case in cases}
    own = [ratio for kind, ratio in ratios.items() if kind not in PILLOW]
    handed = [ratio for kind, ratio in ratios.items() if kind in PILLOW]
    found = []
    for words, bound, value in (
        ("each kind that is not pillow's work: at least {:g} times", LIMITS["each"], min(own, default=None)),
        ("half of all kinds: at least {:g} times", LIMITS["median"], statistics.median(ratios.values())),
        ("the two that are pillow's work: at least {:g} times", LIMITS["pillow"], min(handed, default=None)),
    ):
        if value is not None:
            found.append({"limit": words.format(bound), "value": value, "holds": value >= bound})
    return found


def table(result: dict[str, Any]) -> str:
    """The results as Markdown."""
    about = result["machine"]
    named = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
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
        "| kind | ours | imagecorruptions | times |",
        "|---|---|---|---|",
    ]
    for case in result["cases"]:
        speed, ratio = case["images_per_second"], case["times_the_reference"]
        lines.append(
            f"| {case['kind']} | {speed['ours']:,} | {speed['reference']:,} |"
            f" {ratio['median']:.1f} ({ratio['min']:.1f}-{ratio['max']:.1f}) |"
        )
    lines += ["", "## Promises", "", "| promise | measured | holds |", "|---|---|---|"]
    for one in result["limits"]:
        lines.append(f"| {one['limit']} | {one['value']:.3g} | {'yes' if one['holds'] else 'NO'} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, write, print; with --check the exit status tells whether every promise holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="kinds whose name contains this; nothing is written")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--check", action="store_true", help="exit 1 if a promise does not hold")
    args = parser.parse_args()
    from importlib.metadata import version

    from benchmarks.run import machine, write
    from oodometer.shifts import IMAGE_SHIFTS

    library, held = reference(), images(ROWS)
    cases = []
    for kind in IMAGE_SHIFTS:
        if args.only is None or args.only in kind:
            cases.append(measure(kind, held, library, args.rounds))
            print(kind, cases[-1], file=sys.stderr, flush=True)
    result = {
        "suite": "corruptions",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": {name: version(name) for name in ("numpy", "scipy", "pillow", "imagecorruptions", "scikit-image")},
        "cases": cases,
        "limits": judge(cases),
    }
    if args.only is None:
        args.out.mkdir(parents=True, exist_ok=True)
        write(args.out / "corruptions.json", json.dumps(result, indent=1) + "\n")
        write(args.out / "corruptions.md", table(result))
    print(table(result))
    return int(args.check and not all(one["holds"] for one in result["limits"]))


if __name__ == "__main__":
    sys.exit(main())
