"""Attributions in a folder on an engine: the same files as in one process, going on, one-line errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ..snapshots import raises_snapshot

pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
pytest.importorskip("transformers", reason="needs the extra hf: pip install '.[hf]'")

from oodometer.engines import Engine, LocalEngine
from oodometer.errors import InputError, UsageError, WorkError
from oodometer_lab.attributions import (
    Attribution,
    Explained,
    ExplainOptions,
    IntegratedGradients,
    KernelShap,
    Lime,
    explain_in,
)
from oodometer_lab.datasets import Dataset
from oodometer_lab.models import Encoder, load_model
from oodometer_lab.models.torch.library import one_torch_thread
from oodometer_lab.models.torch.training import TrainingConfig

TINY = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
TEXTS = [f"a {('good', 'poor', 'dull')[i % 3]} film number {i} of the year" for i in range(70)]
METHODS: list[Attribution] = [
    Lime(samples=12),
    KernelShap(samples=12),
    IntegratedGradients(steps=4),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that has learnt little; its limit cuts some texts."""
    data = Dataset("films", tuple(TEXTS), tuple(("no", "yes")["good" in one] for one in TEXTS))
    training = TrainingConfig(epochs=1, batch_size=8, learning_rate=5e-3, seed=0)
    network = Encoder(config=TINY, vocab_size=60, max_length=8, training=training, device="cpu")
    return network.fit(data).save(tmp_path_factory.mktemp("model") / "encoder")


def files(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in sorted(folder.iterdir())}


def told(found: Explained) -> list[Any]:
    numbers = [
        (one.values.tolist(), one.target, one.probability, repr(one.base))
        for one in found.attributions
    ]
    return [found.ids, found.classes, found.method, found.model, found.truncated, numbers]


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.name)
def test_the_same_files_on_an_engine(method: Attribution, model: Path, tmp_path: Path) -> None:
    if method.name == "token-ig":
        pytest.importorskip("captum", reason="needs the extra explain: pip install '.[explain]'")
    more: dict[str, Any] = {"name": "m", "targets": [1] * 70, "ids": [f"x{i}" for i in range(70)]}
    with one_torch_thread():
        here = explain_in(tmp_path / "here", method, load_model(model), TEXTS, **more)
        path = explain_in(tmp_path / "path", method, model, TEXTS, device="cpu", **more)
    engines: list[dict[str, Any]] = [{"engine": "local"}]
    engines += (
        [{"workers": 2, "device": "cpu"}] if method.name == "lime" else []
    )  # processes, which start slowly
    for on in engines:
        done: list[tuple[int, int]] = []
        place = tmp_path / f"on-{len(on)}"
        found = explain_in(
            place,
            method,
            str(model),
            TEXTS,
            progress=lambda *at, d=done: d.append(at),
            **on,
            **more,
        )
        assert told(found) == told(here) == told(path)
        assert files(place) == files(
            tmp_path / "path"
        )  # job.json knows the files of a model that has a path
        assert done == [(32, 70), (64, 70), (70, 70)]
    assert here.classes == ("no", "yes")
    assert here.truncated
    assert len(files(tmp_path / "here")) == 4


def test_what_is_done_is_not_done_again(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of one process and of an engine go on behind each other, by relative paths, too."""
    monkeypatch.chdir(tmp_path)
    method = Lime(samples=8)
    with one_torch_thread():
        first = explain_in("a", method, model, TEXTS, name="m")
    whole = files(tmp_path / "a")
    (tmp_path / "a" / "part-00001.json").unlink()
    kept = tmp_path / "a" / "part-00000.json"
    when = kept.stat().st_mtime_ns
    options = ExplainOptions(engine="local", device="cpu")
    assert told(explain_in("a", method, model, TEXTS, name="m", options=options)) == told(first)
    assert files(tmp_path / "a") == whole
    assert kept.stat().st_mtime_ns == when
    part = tmp_path / "a" / "part-00002.json"
    part.write_text(part.read_text()[:-30])
    with pytest.warns(UserWarning, match="made anew"):
        explain_in("a", method, model, TEXTS, name="m", options=options)
    assert files(tmp_path / "a") == whole
    monkeypatch.setattr(Lime, "explain", None)
    assert told(explain_in("a", method, model, TEXTS, name="m", options=options)) == told(first)


class Elsewhere(Engine):
    """Workers whose files do not come back."""

    name = "elsewhere"

    def fold(self, parts: Sequence[Any], work: Any, merge: Any, on_done: Any = None) -> Any:
        total: Any = []
        for part in filter(None, parts):
            total = merge(total, replace(work, function=abs)((part[0], 0)))
        return total


def answer(texts: list[Any]) -> Any:
    return [[0.5, 0.5] for _ in texts]


def test_what_is_refused(model: Path, tmp_path: Path) -> None:
    for on in ({"engine": "processes"}, {"workers": 2}, {"engine": LocalEngine(1)}):
        with raises_snapshot(UsageError):
            explain_in(tmp_path / "a", Lime(), answer, TEXTS, name="m", **on)
        with raises_snapshot(UsageError):
            explain_in(tmp_path / "a", Lime(), load_model(model), TEXTS, name="m", **on)
    with raises_snapshot(UsageError):
        explain_in(tmp_path / "a", Lime(), answer, TEXTS, name="m", device="cpu")
    assert not (tmp_path / "a").exists()
    with pytest.raises(InputError, match="none"):
        explain_in(
            tmp_path / "b", Lime(samples=5), tmp_path / "none", TEXTS, name="m", engine="local"
        )
    with raises_snapshot(InputError):
        explain_in(
            tmp_path / "c",
            Lime(samples=5),
            model,
            TEXTS,
            name="m",
            engine="local",
            targets=[7] * 70,
        )
    assert [one.name for one in (tmp_path / "c").iterdir()] == ["job.json"]


def test_parts_that_do_not_arrive_are_told(model: Path, tmp_path: Path) -> None:
    with raises_snapshot(WorkError):
        explain_in(tmp_path / "a", Lime(), model, TEXTS, name="m", engine=Elsewhere())
