"""Everything that runs as tasks, as checksums; `everything.py` asks for it once an engine."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oodometer import predict, rank, shift, stress
from oodometer.engines import run_tasks
from oodometer.errors import OodometerError
from oodometer.results.values import plain
from oodometer_lab.attributions import Lime, explain_in
from oodometer_lab.datasets import Dataset
from oodometer_lab.discriminators import collect
from oodometer_lab.models import BagOfWords, Convolution, load_model, train_deep_ensemble
from oodometer_lab.models.seq2seq import EncoderDecoder
from oodometer_lab.models.torch.training import TrainingConfig
from oodometer_lab.recipes.base import Workspace
from oodometer_lab.recipes.steps import Origin, Workers, run_steps
from oodometer_lab.verbs.discriminate import train_judges

TINY = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


def films(rows: int = 60) -> Dataset:
    rng = np.random.default_rng(0)
    labels = tuple(int(one) for one in rng.integers(0, 2, rows))
    words = [["good", "fine", "lovely", "film"], ["story", "film", "poor", "awful"]]
    texts = tuple(" ".join(rng.choice(words[one], 5)) for one in labels)
    return Dataset("films", texts, labels)


def network(seed: int) -> Convolution:
    """With dropout, whose draws a training that shares a process with another would lose."""
    training = TrainingConfig(epochs=2, batch_size=8, learning_rate=5e-3, seed=seed)
    sizes: dict[str, Any] = {"dimensions": 16, "filters": 8, "vocab_size": 60, "max_length": 24}
    return Convolution(training=training, device="cpu", **sizes)


def prepare(folder: Path) -> None:
    """Data and models for all engines, written once."""
    from PIL import Image

    data = films()
    rows = [
        {"id": i, "text": t, "label": y}
        for i, (t, y) in enumerate(zip(data.inputs, data.targets, strict=True))
    ]
    (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:8]))
    pairs = [
        {"input": f"go {row}", "output": f"({row})" if row % 2 else f"({row}", "gold": f"({row})"}
        for row in range(60)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (folder / "images").mkdir()
    rng = np.random.default_rng(1)
    for row in range(70):
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(
            folder / "images" / f"{row:02}.png"
        )
    np.savez(
        folder / "images.npz",
        image=rng.integers(0, 256, (12, 8, 8, 3), dtype=np.uint8),
        label=np.arange(12),
    )
    for seed in (0, 1):
        training = TrainingConfig(epochs=2, seed=seed)
        BagOfWords(vocab_size=60, max_length=24, training=training, device="cpu").fit(data).save(
            folder / f"m{seed}"
        )
        sizes = {"model_type": "bart", "d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
        sizes |= {
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
            "max_position_embeddings": 32,
        }
        parser = EncoderDecoder(config=sizes, training=training, max_output_length=6, device="cpu")
        parser.fit(*translations()).save(folder / f"step-{seed}")


def translations() -> tuple[list[str], list[str]]:
    """What early checkpoints make mistakes on."""
    inputs = [
        f"{one} {two}"
        for one in ("ant", "bee", "cat", "dog")
        for two in ("runs", "sits", "eats", "sees")
    ]
    return inputs, [" ".join(reversed(one.split())) for one in inputs]


def digest(*paths: Path) -> str:
    """Of the content of files, and of all files below folders, without those that name where they are."""
    found = hashlib.sha256()
    for path in paths:
        for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if one.is_file() and one.name != "manifest.json":
                found.update(one.name.encode() + one.read_bytes())
    return found.hexdigest()


def said(call: Any) -> str:
    try:
        call()
    except OodometerError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def networks(runner: Any, out: Path) -> dict[str, Any]:
    """Trainings, and questions to models."""
    on: dict[str, Any] = {"engine": runner}
    ensemble = train_deep_ensemble(
        network, films(), seeds=(0, 1, 2), checkpoint=out / "ensemble", **on
    )
    predict("m0", "texts.jsonl", out=out / "p.parquet", members=["m1"], batch_rows=16, **on)
    return {
        "ensemble": [
            digest(out / "ensemble" / f"seed-{seed}" / "weights.safetensors") for seed in (0, 1, 2)
        ],
        "asked": hashlib.sha256(ensemble.ask(films()).distribution.tobytes()).hexdigest(),
        "left": sorted(one.name for one in (out / "ensemble").iterdir()),
        "predictions": digest(out / "p.parquet"),
    }


def shifts(runner: Any, out: Path) -> dict[str, Any]:
    """Images in a folder."""
    shift("images", kind=["fog", "shot_noise"], severity=2, out=out / "shifted", engine=runner)
    return {"shifted": digest(out / "shifted")}


def pieces(runner: Any, out: Path) -> dict[str, Any]:
    """Steps of a recipe, checkpoints, parts of attributions."""
    from tiny_recipe import RECIPE

    place = out / "steps"
    workers = Workers(Origin("tiny_recipe", "RECIPE", "small", ()), runner)
    done = run_steps(RECIPE.steps("small", ()), Workspace(place), None, workers)
    assert not any(one.kept for one in done)
    assert not (place / ".engine").exists()
    options: dict[str, Any] = {
        "beams": 3,
        "per_input": 2,
        "checkpoint": out / "beams",
        "engine": runner,
    }
    mistakes = collect(["step-0", "step-1"], *translations(), **options)
    explain_in(
        out / "explained",
        Lime(samples=20),
        "m0",
        films().inputs,
        name="m0",
        device="cpu",
        engine=runner,
    )
    return {
        "steps": [digest(place / f"model-{seed}" / "weights.safetensors") for seed in (0, 1, 2)]
        + [digest(place / "all.json")],
        "mistakes": [
            mistakes.inputs,
            mistakes.outputs,
            mistakes.origin.tolist(),
            mistakes.statistics(),
        ],
        "explained": digest(out / "explained"),
    }


def others(runner: Any, out: Path) -> dict[str, Any]:
    """What takes the same ways: judges, arrays, texts, conditions, attributions."""
    on: dict[str, Any] = {"engine": runner}
    judges = train_judges(
        "pairs.jsonl", out / "judges", judges=2, config=TINY, epochs=1, all_judges=True, **on
    )
    shift("images.npz", kind=["fog", "shot_noise"], severity=2, out=out / "arrays", **on)
    shift("texts.jsonl", kind=["casing", "typing-errors"], severity=0.3, out=out / "texts", **on)
    stress("texts.jsonl", ["m0", "m1"], kind="casing=0.2,0.5", out=out / "stress", **on)
    ranked = rank(
        ["m0", "m1"], examples="few.jsonl", attribution="lime", samples=500, **on
    ).to_dict()
    return {
        "judges": [digest(out / "judges" / f"member-{i}" / "model") for i in (0, 1)],
        "worth": {name: repr(plain(value)) for name, value in judges.held_out.items()},
        "arrays": digest(out / "arrays"),
        "texts": digest(out / "texts"),
        "stress": digest(out / "stress" / "predictions", out / "stress" / "stress.csv"),
        "rank": {name: value for name, value in ranked.items() if name != "argv"},
    }


def engines_own(runner: Any, out: Path) -> dict[str, Any]:
    """Threads, warnings, what cannot be sent, a worker that dies."""
    from light_tasks import die_at_two, warned  # beside this file, where only those who run it look

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        threads = run_tasks(runner, warned, range(3))
    place = out / "finished"
    place.mkdir()
    return {
        "threads": threads,
        "warned": sorted(
            {
                str(one.message)
                for one in told
                if "cut" in str(one.message) or "for" in str(one.message)
            }
        ),
        "lost": said(lambda: run_tasks(runner, partial(die_at_two, str(place)), range(3))),
        "unsendable": said(lambda: run_tasks(runner, load_model, [lambda: 0])),
        "finished": sorted(one.name for one in place.iterdir()),
    }


def work(engine: str, runner: Any) -> dict[str, Any]:
    """Checksums of what each verb leaves, all paths relative.

    Verbs that take the ways of others run where workers stay between tasks: Spark starts anew each time.
    """
    out = Path("out") / engine
    out.mkdir(parents=True)
    found = {**networks(runner, out), **shifts(runner, out), **pieces(runner, out)}
    if engine == "local" or engine == ("ray" if importlib.util.find_spec("ray") else "processes"):
        found |= others(runner, out)
    return found
