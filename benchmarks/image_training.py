"""Image training: images a second of our ResNet in training and when asked, beside a plain torch loop.

    python -m benchmarks.image_training                 # one core; writes results/image_training.json and .md
    python -m benchmarks.image_training --device cuda   # a GPU; its own entry in the same files
    python -m benchmarks.image_training --check         # exit 1 if a promise does not hold

Both sides train the same network on the same images of CIFAR-10 ($OODOMETER_DATA) in one process and take turns: SGD
with Nesterov momentum, a cosine schedule, mirrored and shifted images, the same batches and precision. The plain loop
is what one writes first: tensors made before the loop, shuffled batches, memory in torch's usual order. Ours is
`ResNet.fit` and `ask` as a user calls them, with all that they do beside it: encoding, checks, a seed for every step.
On a processor figures are processor seconds of one thread, on a GPU wall-clock seconds after waiting for it. Ratios are
taken within a round, the median over rounds is reported.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import kit

SIZES = {"cpu": {"rows": 4_000, "batch": 128, "precision": "float32",
    "network": {"depth": 8, "width": 16, "stem_stride": 2}},
    "cuda": {"rows": 50_000, "batch": 256, "precision": "bfloat16",
    "network": {"depth": 18, "stages": 4, "width": 64}}}  # fmt: skip
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)  # of CIFAR-10, as tutorials have them
LIMITS = {"train": 0.9, "ask": 0.9}  # times the plain loop


class Plain:
    """The loop that one writes first."""

    def __init__(self, model: Any, size: dict[str, Any], device: str) -> None:
        import torch

        self.torch, self.size, self.device = torch, size, device
        model.classes = tuple(range(10))
        self.net = model._build().to(memory_format=torch.contiguous_format).to(device)

    def _cast(self) -> Any:
        kind = self.torch.bfloat16 if self.size["precision"] == "bfloat16" else None
        return self.torch.autocast(self.device, dtype=kind, enabled=kind is not None)

    def _tensors(self, pixels: Any) -> Any:
        found = self.torch.from_numpy(pixels).to(self.device).permute(0, 3, 1, 2).float().div_(255)
        mean, std = (
            self.torch.tensor(one, device=self.device).view(1, 3, 1, 1) for one in (MEAN, STD)
        )
        return found.sub_(mean).div_(std).contiguous()

    def fit(self, pixels: Any, labels: list[int]) -> None:
        """One epoch."""
        torch, batch = self.torch, self.size["batch"]
        x, y = self._tensors(pixels), torch.tensor(labels, device=self.device)
        steps = math.ceil(len(x) / batch)
        optimizer = torch.optim.SGD(
            self.net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        self.net.train()
        for rows in torch.randperm(len(x), device=self.device).split(batch):
            images = x[rows]
            mirrored = torch.rand(len(images), device=self.device) < 0.5
            images = torch.where(mirrored[:, None, None, None], images.flip(3), images)
            down, right = (int(one) for one in torch.randint(9, (2,)))
            images = torch.nn.functional.pad(images, (4, 4, 4, 4))[
                :, :, down : down + 32, right : right + 32
            ]
            with self._cast():
                loss = torch.nn.functional.cross_entropy(self.net(images), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()

    def ask(self, pixels: Any) -> Any:
        """The logits."""
        self.net.eval()
        with self.torch.no_grad(), self._cast():
            parts = [
                self.net(part).float()
                for part in self._tensors(pixels).split(2 * self.size["batch"])
            ]
        return self.torch.cat(parts).cpu().numpy()


def compared(device: str, rounds: int) -> dict[str, Any]:
    """Images a second of both sides, training and asked, taking turns."""
    import torch

    from oodometer_lab.datasets import cifar10
    from oodometer_lab.models import ResNet
    from oodometer_lab.models.torch.training import TrainingConfig

    size = SIZES[device]
    torch.set_num_threads(1)
    data = cifar10("train")
    pixels, labels = np.asarray(data.inputs[: size["rows"]]), list(data.targets[: size["rows"]])
    training = TrainingConfig(epochs=1, batch_size=size["batch"], learning_rate=0.1, weight_decay=5e-4, clip=None,
        optimizer="sgd", schedule="cosine", precision=size["precision"])  # fmt: skip

    def now() -> float:
        if device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    seconds: dict[str, dict[str, list[float]]] = {
        what: {"ours": [], "plain": []} for what in ("train", "ask")
    }
    for number in range(rounds + 1):  # the first one warms up, and is thrown away
        for side in ("ours", "plain") if number % 2 else ("plain", "ours"):
            model: Any = ResNet(
                **size["network"], training=replace(training, seed=number), device=device
            )
            worker = model if side == "ours" else Plain(model, size, device)
            for what in ("train", "ask"):
                before = now()
                _ = worker.fit(pixels, labels) if what == "train" else worker.ask(pixels)
                if number:
                    seconds[what][side].append(now() - before)
    cases = []
    for what, sides in seconds.items():
        speed = {
            side: round(len(pixels) / statistics.median(taken)) for side, taken in sides.items()
        }
        times = kit.spread(kit.ratios(sides["plain"], sides["ours"]))
        cases.append({"what": what, "images_per_second": speed, "times_the_plain_loop": times})
    name = torch.cuda.get_device_name() if device == "cuda" else "one core"
    return {"device": device, "on": name, "torch": torch.__version__, "size": size, "cases": cases}


def judge(runs: dict[str, Any]) -> list[dict[str, Any]]:
    """The promises, and whether they hold."""
    found = []
    for device, run in runs.items():
        for case in run["cases"]:
            bound, value = LIMITS[case["what"]], case["times_the_plain_loop"]["median"]
            words = f"{device}, {case['what']}: at least {bound:g} times the plain loop"
            found.append({"limit": words, "value": value, "holds": value >= bound})
    return found


def page(result: kit.Result) -> str:
    rows = []
    for run in result["runs"].values():
        where = f"{run['on']}, {run['date']}, torch {run['torch']}"
        network = ", ".join(f"{name} {value}" for name, value in run["size"]["network"].items())
        for case in run["cases"]:
            speed, times = case["images_per_second"], kit.ranged(case["times_the_plain_loop"], 2)
            rows.append([where, network, run["size"]["precision"], case["what"], f"{speed['ours']:,}",
                f"{speed['plain']:,}", times])  # fmt: skip
    lines = [
        "# Training and asking a ResNet beside a plain torch loop",
        "",
        "Images a second of the same network on the same images of CIFAR-10 (median over rounds in one process, the"
        " sides taking turns); times: the ratio within a round (minimum-maximum). On a core processor seconds of one"
        " thread, on a GPU wall-clock. `python -m benchmarks.image_training`, `--device cuda`",
        "",
        *kit.table(
            ["on", "network", "precision", "what", "ours", "plain loop", "times"], rows, "l"
        ),
        *kit.promises(result["limits"]),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    runs = given.before.get("runs", {})
    runs[given.device] = {**compared(given.device, given.rounds), "date": time.strftime("%Y-%m-%d")}
    runs = {name: runs[name] for name in SIZES if name in runs}
    return {"suite": "image_training", "runs": runs, "limits": judge(runs)}


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "image_training",
            measure,
            page,
            rounds=(5, "rounds of both sides"),
            device={"choices": tuple(SIZES), "default": "cpu", "help": "what to train on"},
        )
    )
