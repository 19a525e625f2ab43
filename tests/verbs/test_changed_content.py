"""Changed content: what was kept of a file is not taken for another of the same size and time, as after `cp -p`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
import oodometer_lab
from oodometer import predict
from oodometer.errors import UsageError
from oodometer.store import read_predictions
from oodometer.store.artifact_cache import content_of
from oodometer_lab.attributions import Lime, explain_in
from oodometer_lab.datasets import Dataset
from oodometer_lab.discriminators import collect
from oodometer_lab.models.opening import SentModel, stamp_of
from oodometer_lab.rankings.explaining import name_of_answers

from ..shifts.test_wordnet import write_wordnet
from ..snapshots import raises_snapshot

MODEL = """
import numpy as np
NAMES = ["bad", "good"]
def ask(inputs):
    p = np.array([0.875 if (("good" in one) if isinstance(one, str) else one.mean() < 100) else 0.25 for one in inputs])
    return np.stack([1 - p, p], 1)
"""


def behind(path: Path, content: bytes) -> None:
    """Put other content behind the same size and time of change."""
    before = path.stat()
    assert len(content) == before.st_size
    assert content != path.read_bytes()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def stopped(at: int) -> Callable[[int, int], None]:
    """A progress callback that interrupts when so much is done."""

    def stop(done: int, total: int) -> None:
        if done >= at:
            raise KeyboardInterrupt

    return stop


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "asked_model.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "asked_model", raising=False)
    return "asked_model:ask"


def texts(path: Path) -> tuple[Path, bytes]:
    """Eight texts, and the same with another first one."""
    rows = [{"text": f"{'good' if i % 2 else 'evil'} film {i}", "label": "good"} for i in range(8)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path, path.read_bytes().replace(b"evil", b"good", 1)


def jsonl(home: Path) -> tuple[Path, Path, bytes]:
    return (home / "rows.jsonl", *texts(home / "rows.jsonl"))


def arrays(home: Path) -> tuple[Path, Path, bytes]:
    path = home / "rows.npz"
    for shade in (200, 20):  # the second is what it becomes
        pixels = np.full((8, 4, 4, 3), 150, np.uint8)
        pixels[0] = shade
        other = path.read_bytes() if path.exists() else b""
        np.savez(path, image=pixels)
    return path, path, other


def images(home: Path) -> tuple[Path, Path, bytes]:
    pillow = pytest.importorskip(
        "PIL.Image", reason="needs the extra image: pip install '.[image]'"
    )
    (home / "rows").mkdir()
    for i in range(8):
        pillow.fromarray(np.full((16, 16, 3), 150 + i, np.uint8)).save(home / "rows" / f"{i}.bmp")
    first = home / "rows" / "0.bmp"
    whole = first.read_bytes()
    return home / "rows", first, whole[:-48] + bytes(48)


SOURCES = {"texts": jsonl, "arrays": arrays, "images": images}


@pytest.mark.parametrize("kind", SOURCES)
def test_predict_begins_again(kind: str, model: str, tmp_path: Path) -> None:
    data, path, content = SOURCES[kind](tmp_path)
    asked: dict[str, Any] = {
        "classes": ["bad", "good"],
        "batch_rows": 2,
        "out": tmp_path / "p.parquet",
    }
    if kind == "images":
        content = path.read_bytes()[:54] + bytes(len(content) - 54)  # all black
    with pytest.raises(KeyboardInterrupt):
        predict(model, data, progress=stopped(5), **asked)
    assert len(list((tmp_path / ".p.parquet.parts").glob("*.parquet"))) == 2
    behind(path, content)
    predict(model, data, **asked)
    fresh = predict(model, data, **{**asked, "out": tmp_path / "fresh.parquet"})
    kept, new = (read_predictions(tmp_path / f"{name}.parquet") for name in ("p", "fresh"))
    assert fresh.rows == 8
    np.testing.assert_array_equal(kept.probabilities, new.probabilities)


def test_predict_goes_on_where_only_the_time_is_another(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, _ = texts(tmp_path / "rows.jsonl")
    asked: dict[str, Any] = {
        "classes": ["bad", "good"],
        "batch_rows": 2,
        "out": tmp_path / "p.parquet",
    }
    with pytest.raises(KeyboardInterrupt):
        predict(model, data, progress=stopped(5), **asked)
    os.utime(data, ns=(1, 1))
    batches: list[int] = []
    monkeypatch.setattr(
        "oodometer_lab.verbs.predict.ask_batch",
        lambda *given, plain=oodometer_lab.verbs.predict.ask_batch: (
            batches.append(given[5]),
            plain(*given),
        )[1],
    )
    predict(model, data, **asked)
    assert batches == [2, 3]


def test_predict_begins_again_with_other_code_of_the_model(model: str, tmp_path: Path) -> None:
    data, _ = texts(tmp_path / "rows.jsonl")
    asked: dict[str, Any] = {
        "classes": ["bad", "good"],
        "batch_rows": 2,
        "out": tmp_path / "p.parquet",
    }
    with pytest.raises(KeyboardInterrupt):
        predict(model, data, progress=stopped(5), **asked)
    behind(tmp_path / "asked_model.py", MODEL.replace("0.875", "0.625").encode())
    del sys.modules["asked_model"]
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    for one in (tmp_path / "__pycache__").glob("*"):
        one.unlink()  # Python itself goes by size and time
    predict(model, data, **asked)
    sys.dont_write_bytecode = before
    assert set(np.unique(read_predictions(tmp_path / "p.parquet").probabilities)) == {
        0.25,
        0.375,
        0.625,
        0.75,
    }


def test_predict_begins_again_with_other_replies(tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    replies.write_text('{"response": "yes"}\n')
    first = stamp_of(replies)
    behind(replies, b'{"response": "nay"}\n')
    assert stamp_of(replies) != first


def test_all_modules_of_a_package_tell_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "asked_package").mkdir()
    for name in ("__init__", "nets"):
        (tmp_path / "asked_package" / f"{name}.py").write_text("a = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    first = stamp_of("asked_package.nets:a")
    assert stamp_of("asked_package.nets:a") == first
    behind(tmp_path / "asked_package" / "nets.py", b"a = 2\n")
    assert stamp_of("asked_package.nets:a") != first


@pytest.mark.parametrize("kind", ["arrays", "images"])
def test_shift_image_begins_again(kind: str, tmp_path: Path) -> None:
    data, path, content = SOURCES[kind](tmp_path)
    asked: dict[str, Any] = {"kind": ["contrast", "brightness"], "severity": 2}
    with pytest.raises(KeyboardInterrupt):
        oodometer.shift(data, out=tmp_path / "out", progress=stopped(12), **asked)
    assert list((tmp_path / ".out.part").glob("contrast-2/*"))
    behind(path, content)
    for name in ("out", "fresh"):
        oodometer.shift(data, out=tmp_path / name, **asked)
    same_files(tmp_path / "out", tmp_path / "fresh")


def same_files(one: Path, other: Path) -> None:
    names = [
        sorted(str(path.relative_to(home)) for path in home.rglob("*")) for home in (one, other)
    ]
    assert names[0] == names[1]
    for name in names[0]:
        if (one / name).is_file():
            assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.parametrize("changed", ["data", "training", "wordnet"])
def test_shift_text_begins_again(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oodometer_lab.shifts.text import KnownWords

    data, training, wordnet = (
        tmp_path / "a.jsonl",
        tmp_path / "train.csv",
        write_wordnet(tmp_path / "wn"),
    )
    data.write_text('{"text": "Is the house big here?"}\n{"text": "One big house."}\n')
    training.write_text("text\na home home\n")
    asked: dict[str, Any] = {
        "kind": "known-words",
        "severity": [0.2, 0.4],
        "training": training,
        "wordnet": wordnet,
    }
    plain, seen = KnownWords.apply, []

    def stop(self: Any, *given: Any, **more: Any) -> Any:
        seen.append(given)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return plain(self, *given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(KnownWords, "apply", stop)
        with pytest.raises(KeyboardInterrupt):
            oodometer.shift(data, out=tmp_path / "out", **asked)
    assert (tmp_path / ".out.part" / "known-words-0.2.jsonl").is_file()
    if changed == "data":
        behind(data, data.read_bytes().replace(b"One", b"Our"))
    elif changed == "training":
        behind(training, training.read_bytes().replace(b"home home", b"home here"))
    else:
        index = next(one for one in sorted((wordnet).iterdir()) if b"home" in one.read_bytes())
        behind(index, index.read_bytes().replace(b"home", b"hame"))
    begun = (tmp_path / ".out.part" / "known-words-0.2.jsonl").stat().st_ctime_ns
    oodometer.shift(data, out=tmp_path / "out", **asked)
    oodometer.shift(data, out=tmp_path / "fresh", **asked)
    assert (tmp_path / "out" / "known-words-0.2.jsonl").stat().st_ctime_ns != begun
    same_files(tmp_path / "out", tmp_path / "fresh")


def test_stress_refuses(model: str, tmp_path: Path) -> None:
    data = tmp_path / "a.jsonl"
    words = ["evil", "good"]
    rows = [
        {"text": f"{words[i % 2]} is the right word for {i}", "label": ["bad", "good"][i % 2]}
        for i in range(120)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked: dict[str, Any] = {"kind": "casing=0.2", "classes": ["bad", "good"]}
    oodometer.stress(data, model, out=tmp_path / "out", **asked)
    oodometer.stress(data, model, out=tmp_path / "out", **asked)
    behind(data, data.read_bytes().replace(b"evil", b"good", 1))
    with raises_snapshot(UsageError):
        oodometer.stress(data, model, out=tmp_path / "out", **asked)
    oodometer.stress(data, model, out=tmp_path / "other", **asked)


def test_explain_refuses(model: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"name": "m"}
    method = Lime(samples=5)
    explain_in(tmp_path / "out", method, model, ["good film"], **asked)
    explain_in(tmp_path / "out", method, model, ["good film"], **asked)
    behind(tmp_path / "asked_model.py", MODEL.replace("0.875", "0.625").encode())
    with raises_snapshot(UsageError):
        explain_in(tmp_path / "out", method, model, ["good film"], **asked)
    explain_in(tmp_path / "other", method, model, ["good film"], **asked)


def test_answers_of_other_weights_have_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "model"
    home.mkdir()
    (home / "weights").write_bytes(b"1234")
    asked = Dataset("", ("a", "b"))
    keys: list[str] = []

    def stop(questions: Any, *_: Any) -> Any:
        keys.append(questions[0].key)
        raise StopIteration

    monkeypatch.setattr(sys.modules[collect.__module__], "pieces_of_work", stop)

    def names() -> list[Any]:
        sent = SentModel(str(home), stamp_of(home))
        with suppress(StopIteration):
            collect([home], ["a"], ["a"], beams=4, checkpoint=tmp_path / "beams")
        return [name_of_answers(sent, asked), keys.pop(), content_of(home)]

    first = names()
    assert names() == first
    behind(home / "weights", b"1243")
    assert not set(map(str, names())) & set(map(str, first))


def test_a_file_is_hashed_once_and_again_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    later = time.time_ns() + 2 * 10**9
    monkeypatch.setattr("oodometer.store.artifact_cache.time.time_ns", lambda: later)
    read: list[str] = []
    import hashlib

    plain = hashlib.file_digest
    monkeypatch.setattr(
        hashlib, "file_digest", lambda file, how: (read.append(file.name), plain(file, how))[1]
    )
    first = content_of(path)
    assert (content_of(path), len(read)) == (first, 1)
    time.sleep(0.05)
    behind(path, b"two")
    assert content_of(path) != first
    path.write_bytes(b"one")
    assert content_of(path) == first
    assert [content_of(tmp_path / "none"), content_of(tmp_path)] == [
        "FileNotFoundError",
        [["a", first]],
    ]


def test_a_data_set_of_images_is_told_by_all_its_pixels() -> None:
    pixels = [np.zeros((60, 60, 3), np.uint8) for _ in range(2)]
    first = Dataset("a", tuple(pixels), modality="image").fingerprint
    pixels[0][30, 30] = 9  # what print leaves out
    assert Dataset("a", tuple(pixels), modality="image").fingerprint != first
