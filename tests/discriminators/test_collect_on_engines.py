"""Examples from checkpoints that are asked on an engine: the same as in one process, beams kept, one-line errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ..snapshots import raises_snapshot

pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
pytest.importorskip("transformers", reason="needs the extra hf: pip install '.[hf]'")

from oodometer.engines import Engine, LocalEngine, ProcessEngine
from oodometer.errors import InputError, UsageError, WorkError
from oodometer_lab.discriminators import Examples, collect
from oodometer_lab.models.seq2seq import EncoderDecoder
from oodometer_lab.models.torch.library import one_torch_thread
from oodometer_lab.models.torch.training import TrainingConfig

SIZES = {
    "model_type": "bart",
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
}
SIZES |= {
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 32,
}
INPUTS = [
    f"{one} {two}"
    for one in ("ant", "bee", "cat", "dog")
    for two in ("runs", "sits", "eats", "sees")
]
GOLDS = [f"{text.split()[1]} ( {text.split()[0]} )" for text in INPUTS]
PROCESSES = ProcessEngine(2)  # which start slowly, and stay
OPTIONS: dict[str, Any] = {"beams": 3, "per_input": 2, "per_checkpoint": 12, "balance": None}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three checkpoints that have learnt little."""
    home, found = tmp_path_factory.mktemp("snapshots"), []
    for seed in range(3):
        training = TrainingConfig(epochs=1 + seed, batch_size=4, learning_rate=5e-3, seed=seed)
        model = EncoderDecoder(config=SIZES, training=training, max_output_length=8, device="cpu")
        found.append(model.fit(INPUTS, GOLDS).save(home / f"step-{seed}"))
    return found


def told(found: Examples) -> dict[str, Any]:
    pairs = list(
        zip(found.inputs, found.outputs, found.correct.tolist(), found.origin.tolist(), strict=True)
    )
    return {"pairs": pairs, "counts": found.statistics()}


@pytest.fixture(scope="module")
def alone(folders: list[Path]) -> dict[str, Any]:
    """In this process with one thread."""
    with one_torch_thread():
        return told(collect(folders, INPUTS, GOLDS, **OPTIONS))


@pytest.mark.parametrize(
    "on", [{"engine": "local"}, {"engine": LocalEngine(1)}, {"engine": PROCESSES}]
)
def test_the_same_on_an_engine(
    on: dict[str, Any], folders: list[Path], alone: dict[str, Any], tmp_path: Path
) -> None:
    done: list[tuple[int, int]] = []
    options = {
        **OPTIONS,
        **on,
        "checkpoint": tmp_path / "kept",
        "progress": lambda *at: done.append(at),
    }
    assert told(collect(folders, INPUTS, GOLDS, **options)) == alone
    assert len(alone["pairs"]) > 20
    assert done == [(12, 36), (24, 36), (36, 36)]
    assert len(list((tmp_path / "kept").glob("beams-*.json"))) == 3


def test_beams_are_read_and_kept_by_both(
    folders: list[Path], alone: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One model was asked in one process, the others on an engine; a third run asks nobody."""
    with one_torch_thread():
        collect(folders[:1], INPUTS, GOLDS, **OPTIONS, checkpoint=tmp_path)
    first = {one: one.stat().st_mtime_ns for one in tmp_path.iterdir()}
    monkeypatch.chdir(folders[0].parent)
    named = [one.name for one in folders]
    kept = os.path.relpath(tmp_path)
    asked = told(collect(named, INPUTS, GOLDS, **OPTIONS, checkpoint=kept, engine=PROCESSES))
    assert asked == alone
    assert {one: one.stat().st_mtime_ns for one in first} == first
    monkeypatch.setattr(EncoderDecoder, "decode", None)
    assert (
        told(collect(folders, INPUTS, GOLDS, **OPTIONS, checkpoint=tmp_path, engine="local"))
        == alone
    )
    assert told(collect(folders, INPUTS, GOLDS, **OPTIONS, checkpoint=tmp_path)) == alone


class Elsewhere(Engine):
    """Workers whose files do not come back."""

    name = "elsewhere"

    def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
        work(parts[1])
        return [(place, None, []) for place, _ in parts[1:]]


def test_what_is_refused(folders: list[Path], tmp_path: Path) -> None:
    model = EncoderDecoder.load(folders[0])
    for on in ({"engine": "processes"}, {"workers": 2}, {"engine": LocalEngine(1)}):
        with raises_snapshot(UsageError):
            collect([folders[0], model], INPUTS, GOLDS, **OPTIONS, **on)
    with raises_snapshot(InputError):
        collect([folders[0], "no-such-folder"], INPUTS, GOLDS, engine="local", **OPTIONS)


def test_beams_that_do_not_arrive_are_told(folders: list[Path], tmp_path: Path) -> None:
    with raises_snapshot(WorkError):
        collect(folders, INPUTS, GOLDS, **OPTIONS, engine=Elsewhere(), checkpoint=tmp_path)
