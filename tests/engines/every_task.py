"""Everything that runs as tasks, as JSON of checksums: ``python every_task.py ENGINE FOLDER``, started once an engine.

A process of its own, since clusters leave much behind in the one that starts them.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oodometer import predict, rank, shift_image, shift_text, stress
from oodometer.datasets import Dataset
from oodometer.engines import create_engine, run_tasks
from oodometer.errors import OodometerError
from oodometer.models import BagOfWords, Encoder, load_model, train_deep_ensemble
from oodometer.models.torch.training import TrainingConfig
from oodometer.verbs.discriminate import train_judges

TINY = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


def films(rows: int = 60) -> Dataset:
    rng = np.random.default_rng(0)
    labels = tuple(int(one) for one in rng.integers(0, 2, rows))
    words = [["good", "fine", "lovely", "film"], ["story", "film", "poor", "awful"]]
    texts = tuple(" ".join(rng.choice(words[one], 5)) for one in labels)
    return Dataset("films", texts, labels)


def encoder(seed: int) -> Encoder:
    """With dropout, whose draws a training that shares a process with another would lose."""
    training = TrainingConfig(epochs=2, batch_size=8, learning_rate=5e-3, seed=seed)
    return Encoder(config=TINY, vocab_size=60, max_length=24, training=training, device="cpu")


def prepare(folder: Path) -> None:
    """Data and models for all engines, written once."""
    from PIL import Image

    data = films()
    rows = [{"id": i, "text": t, "label": y} for i, (t, y) in enumerate(zip(data.inputs, data.targets, strict=True))]
    (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:8]))
    pairs = [
        {"input": f"go {row}", "output": f"({row})" if row % 2 else f"({row}", "gold": f"({row})"} for row in range(60)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (folder / "images").mkdir()
    rng = np.random.default_rng(1)
    for row in range(70):
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(folder / "images" / f"{row:02}.png")
    for seed in (0, 1):
        training = TrainingConfig(epochs=2, seed=seed)
        BagOfWords(vocab_size=60, max_length=24, training=training, device="cpu").fit(data).save(folder / f"m{seed}")


def digest(*paths: Path) -> str:
    """Of the content of files, and of all files below folders, without those that name where they are."""
    found = hashlib.sha256()
    for path in paths:
        for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if one.is_file() and one.name not in ("manifest.json", "stress.json"):
                found.update(one.name.encode() + one.read_bytes())
    return found.hexdigest()


def die_at_two(place: str, item: int) -> int:
    """Write what is finished; end the whole worker at the item 2."""
    if item == 2:
        os._exit(1)
    Path(place, f"done-{item}").touch()
    return item


def warned(item: int) -> str:
    warnings.warn("a long text was cut", UserWarning, stacklevel=1)
    warnings.warn("for developers", FutureWarning, stacklevel=1)
    import torch

    return f"{item} {torch.get_num_threads()}"


def said(call: Any) -> str:
    try:
        call()
    except OodometerError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def work(engine: str, folder: Path) -> dict[str, Any]:
    """Checksums of what each verb leaves, all paths relative to the folder."""
    out = Path("out") / engine
    out.mkdir(parents=True)
    runner = create_engine(engine, 2)
    on: dict[str, Any] = {"engine": runner}
    ensemble = train_deep_ensemble(encoder, films(), seeds=(0, 1, 2), checkpoint=out / "ensemble", **on)
    judges = train_judges("pairs.jsonl", out / "judges", judges=2, config=TINY, epochs=1, all_judges=True, **on)
    predict("m0", "texts.jsonl", out=out / "p.parquet", members=["m1"], batch_rows=16, **on)
    shift_image("images", kind=["fog", "shot_noise"], severity=2, out=out / "shifted", **on)
    shift_text("texts.jsonl", kind=["casing", "typing-errors"], severity=0.3, out=out / "texts", **on)
    stress("texts.jsonl", ["m0", "m1"], kind="casing=0.2,0.5", out=out / "stress", **on)
    ranked = rank(["m0", "m1"], examples="few.jsonl", attribution="lime", samples=500, **on).to_dict()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        threads = run_tasks(runner, warned, range(3))
    (out / "finished").mkdir()
    found = {
        "ensemble": [digest(out / "ensemble" / f"seed-{seed}" / "weights.safetensors") for seed in (0, 1, 2)],
        "asked": hashlib.sha256(ensemble.ask(films()).distribution.tobytes()).hexdigest(),
        "left": sorted(one.name for one in (out / "ensemble").iterdir()),
        "judges": [digest(out / "judges" / f"member-{i}" / "model") for i in (0, 1)],
        "worth": {name: repr(value) for name, value in judges.held_out.items()},
        "predictions": digest(out / "p.parquet"),
        "shifted": digest(out / "shifted"),
        "texts": digest(out / "texts"),
        "stress": digest(out / "stress" / "predictions", out / "stress" / "stress.csv"),
        "rank": {name: value for name, value in ranked.items() if name != "argv"},
        "threads": threads if engine != "local" else None,
        "warned": sorted({str(one.message) for one in told if one.category is UserWarning}),
    }
    if engine != "local":
        place = str(out / "finished")
        found["lost"] = said(lambda: run_tasks(runner, partial(die_at_two, place), range(3)))
        found["unsendable"] = said(lambda: run_tasks(runner, load_model, [lambda: 0]))
        found["finished"] = sorted(one.name for one in (out / "finished").iterdir())
    return found


if __name__ == "__main__":
    where = Path(sys.argv[2])
    os.chdir(where)
    Path(f"{sys.argv[1]}.json").write_text(json.dumps(work(sys.argv[1], where), sort_keys=True))
