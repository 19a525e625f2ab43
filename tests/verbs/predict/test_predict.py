"""predict: data of every kind through a model into a file; values, names, faults, and going on after an end."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.errors import InputError, UsageError
from oodometer.store import read_predictions

from ...snapshots import assert_snapshot, raises_snapshot

pytest.importorskip("oodometer_lab")
predict = oodometer.predict

CLASSES = ["bad", "good"]
ROWS = [
    ("good film", "good", "r0"),
    ("so bad", "bad", "r1"),
    ("not good", "bad", "r2"),
    ("fine, good", "good", "r3"),
]


def told(texts: Any) -> Any:
    """Probabilities by one word."""
    return np.array([[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts])


def of_pairs(pairs: Any) -> Any:
    return np.array([[0.1, 0.9] if a == b else [0.6, 0.4] for a, b in pairs])


def of_images(images: Any) -> Any:
    dark = np.array([one.mean() < 100 for one in images])
    return np.stack([np.where(dark, 0.9, 0.2), np.where(dark, 0.1, 0.8)], 1)


def write(folder: Path, ending: str) -> Path:
    """The rows in a file of some format."""
    path = folder / f"rows.{ending}"
    names = ("text", "label", "id")
    if ending == "csv":
        path.write_text("text,label,id\n" + "".join(f'"{a}",{b},{c}\n' for a, b, c in ROWS))
    elif ending == "jsonl":
        path.write_text(
            "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in ROWS)
        )
    elif ending == "npz":
        columns = dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True))
        np.savez(path, **{name: np.array(values) for name, values in columns.items()})
    else:
        import pyarrow as pa
        import pyarrow.feather as feather
        import pyarrow.parquet as pq

        table = pa.table(dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True)))
        pq.write_table(table, path) if ending == "parquet" else feather.write_feather(
            table, str(path)
        )
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "npz"])
def test_the_same_predictions_from_every_format(ending: str, tmp_path: Path) -> None:
    out = tmp_path / "p.parquet"
    found = predict(
        told, write(tmp_path, ending), out=out, classes=CLASSES, id="id", keep_input=True
    )
    record = read_predictions(out, extra_columns=("id",))
    assert record.probabilities is not None
    np.testing.assert_array_equal(record.probabilities, told([text for text, _, _ in ROWS]))
    assert record.accuracy == found.accuracy.value == 0.75  # type: ignore[union-attr]
    assert record.columns["id"].tolist() == ["r0", "r1", "r2", "r3"]
    assert read_predictions(out).input is None
    assert oodometer.evaluate(str(out)).metrics["accuracy"].value == 0.75
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    data = {
        "review": ["good", "bad"],
        "truth": ["good", "good"],
        "key": [7, 8],
        "year": [2001, 2002],
    }
    found = predict(
        told, data, inputs="review", label="truth", id="key", keep=["year"], classes=CLASSES
    )
    assert found.record.columns["id"].tolist() == ["7", "8"]
    assert found.record.columns["year"].tolist() == [2001, 2002]
    assert found.accuracy.value == 0.5  # type: ignore[union-attr]
    with raises_snapshot(InputError):
        predict(
            told,
            dict(sorted(data.items(), key=lambda item: list(data).index(item[0]))),
            inputs="reviews",
        )
    with raises_snapshot(InputError):
        predict(told, data, inputs="review", label="y")
    with raises_snapshot(InputError):
        predict(oodometer_texts_only(), data)


def oodometer_texts_only() -> Any:
    """A model that reads texts alone."""
    from oodometer_lab.models.outside import FunctionClassifier

    model = FunctionClassifier(told, classes=CLASSES)
    model.reads = ("text",)
    return model


def test_pairs_tables_and_frames() -> None:
    pairs = {"a": ["x", "y"], "b": ["x", "z"]}
    assert predict(of_pairs, pairs, inputs=["a", "b"]).record.predicted.tolist() == [1, 0]

    def by_column(table: Any) -> Any:
        p = 1 / (1 + np.exp(-table["x"]))
        return np.stack([1 - p, p], 1)

    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"label": [0, 1], "x": [-3.0, 2.0], "note": ["u", "v"]})
    found = predict(by_column, frame, inputs="x")
    assert found.record.predicted.tolist() == [0, 1]
    assert found.accuracy.value == 1.0  # type: ignore[union-attr]


def test_labels_are_matched_by_name() -> None:
    data = {"text": ["good", "bad", "bad"], "label": ["1", None, "0"]}
    found = predict(told, data, classes=[0, 1])
    assert found.record.label.tolist() == [1, -1, 0]
    assert found.rows == 3
    with raises_snapshot(InputError):
        predict(told, data, classes=CLASSES)


def png(colour: int) -> bytes:
    image = pytest.importorskip("PIL.Image", reason="needs the extra image: pip install '.[image]'")
    held = io.BytesIO()
    image.fromarray(np.full((6, 5, 3), colour, dtype=np.uint8)).save(held, format="png")
    return held.getvalue()


def folder_of_images(home: Path) -> Path:
    for name, colour in (("dark/a.png", 10), ("dark/b.png", 200), ("light/c.png", 250)):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(png(colour))
    return home


def test_a_folder_of_images(tmp_path: Path) -> None:
    home = folder_of_images(tmp_path / "images")
    found = predict(of_images, home, classes=["dark", "light"])
    assert found.record.columns["id"].tolist() == ["dark/a.png", "dark/b.png", "light/c.png"]
    assert found.record.verdicts.tolist() == [1, 0, 1]
    (home / "dark" / "broken.jpg").write_bytes(b"no image")
    with raises_snapshot(InputError):
        predict(of_images, home, classes=["dark", "light"])
    skipping = predict(of_images, home, classes=["dark", "light"], on_error="skip", batch_rows=1)
    assert (skipping.rows, skipping.skipped) == (3, 1)
    assert skipping.examples[0][0] == "dark/broken.jpg"
    assert_snapshot(repr(skipping))
    assert oodometer.load_result(skipping.save(tmp_path / "found.json")).view() == skipping.view()
    for name in ("dark/a.png", "dark/b.png", "light/c.png"):
        (home / name).write_bytes(b"no image")
    with raises_snapshot(InputError):
        predict(of_images, home, on_error="skip")
    (tmp_path / "none").mkdir()
    with raises_snapshot(InputError):
        predict(of_images, tmp_path / "none")


def test_images_in_cells_and_arrays(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    cells = [{"bytes": png(10), "path": None}, {"bytes": png(240), "path": None}]
    pq.write_table(pa.table({"image": cells, "label": ["dark", "light"]}), tmp_path / "i.parquet")
    assert (
        predict(of_images, tmp_path / "i.parquet", classes=["dark", "light"]).accuracy.value == 1.0
    )  # type: ignore[union-attr]
    pixels = np.stack([np.full((4, 4, 3), 5, np.uint8), np.full((4, 4, 3), 250, np.uint8)])
    np.savez(tmp_path / "x.npz", x=pixels, y=np.array([0, 0]))
    assert predict(of_images, tmp_path / "x.npz").accuracy.value == 0.5  # type: ignore[union-attr]


def test_interrupted_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that are finished are not asked again; the file is that of an undisturbed run."""
    data = tmp_path / "d.jsonl"
    rows = [{"text": "good" if i % 3 else "bad", "label": "good", "id": f"r{i}"} for i in range(50)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "counting.py").write_text(
        "import numpy as np\n"
        "asked = []\nstop = [10**9]\n"
        "def told(texts):\n"
        "    if len(asked) >= stop[0]:\n        raise KeyboardInterrupt\n"
        "    asked.append(len(texts))\n"
        "    return np.array([[0.2, 0.8] if 'good' in t else [0.7, 0.3] for t in texts])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import counting  # type: ignore[import-not-found]

    options: dict[str, Any] = {"classes": CLASSES, "batch_rows": 10}
    predict("counting:told", data, out=tmp_path / "whole.parquet", **options)
    whole = (tmp_path / "whole.parquet").read_bytes()
    counting.asked.clear()
    counting.stop[0] = 3
    with pytest.raises(KeyboardInterrupt):
        predict("counting:told", data, out=tmp_path / "p.parquet", **options)
    assert not (tmp_path / "p.parquet").exists()
    counting.asked.clear()
    counting.stop[0] = 10**9
    predict("counting:told", data, out=tmp_path / "p.parquet", **options)
    assert counting.asked == [10, 10]
    assert (tmp_path / "p.parquet").read_bytes() == whole
    assert not list(tmp_path.glob(".*parts"))


def test_what_another_job_left_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stopping.py").write_text(
        "import numpy as np\nstop = [True]\n"
        "def told(texts):\n"
        "    if stop[0] and 'r15' in texts:\n        raise KeyboardInterrupt\n"
        "    return np.tile([0.2, 0.8], (len(texts), 1))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import stopping  # type: ignore[import-not-found]

    data = tmp_path / "d.csv"
    data.write_text("text\n" + "".join(f"r{i}\n" for i in range(20)))
    with pytest.raises(KeyboardInterrupt):
        predict("stopping:told", data, out=tmp_path / "p.csv", batch_rows=5)
    stopping.stop[0] = False
    data.write_text("text\n" + "".join(f"s{i}\n" for i in range(20)))
    found = predict("stopping:told", data, out=tmp_path / "p.csv", batch_rows=5, keep_input=True)
    assert found.rows == 20
    source = oodometer.store.as_source(tmp_path / "p.csv")
    record = source.read(source.fields)
    assert record.input.tolist() == [f"s{i}" for i in range(20)]


def test_wrong_calls(tmp_path: Path) -> None:
    data = {"text": ["good"]}
    for call, words in (
        (lambda: predict(told, data, out=tmp_path / "x.pkl"), r"end the name in \.parquet"),
        (lambda: predict(told, data, out=tmp_path / "none" / "x.csv"), "there is no folder"),
        (lambda: predict(told, data, average=True), "average is of several models"),
        (lambda: predict(told, data, views=2, dropout=2), "expected views or dropout, got both"),
        (lambda: predict(told, data, batch_rows=0), "batches of at least 1 row|at least 1"),
        (lambda: predict(told, data, on_error="ignore"), "one of refuse, skip"),
    ):
        with pytest.raises(UsageError, match=words):
            call()
    with raises_snapshot(InputError):
        predict(told, {"text": ["good", None]}, inputs="text", classes=CLASSES)
    (tmp_path / "d.csv").write_text("text\ngood\n")
    with raises_snapshot(UsageError):
        predict(told, tmp_path / "d.csv", out=tmp_path / "d.csv")


def test_columns_told_by_their_order_are_to_be_named() -> None:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression().fit(np.array([[-1.0, 0.0], [1.0, 0.0]]), [0, 1])
    data = {"b": [0.0, 0.0], "a": [-3.0, 3.0]}
    with raises_snapshot(UsageError):
        predict(fitted, data)
    assert predict(fitted, data, inputs=["a", "b"]).record.predicted.tolist() == [0, 1]


def test_the_variance_over_passes_goes_into_the_file(
    tmp_path: Path, torch: Any, transformers: Any, tiny_encoder: Path
) -> None:
    from oodometer_lab.models import Encoder
    from oodometer_lab.models.torch.training import TrainingConfig

    data = write(tmp_path, "jsonl")
    texts, labels, _ = zip(*ROWS, strict=True)
    training = TrainingConfig(epochs=1, batch_size=2)
    home = Encoder(str(tiny_encoder), training=training).fit(texts, labels).save(tmp_path / "model")
    predict(str(home), data, out=tmp_path / "p.csv", dropout=3, batch_rows=2)
    source = oodometer.store.as_source(tmp_path / "p.csv", extra_columns=("variance",))
    record = source.read(source.fields)
    variance = np.asarray(record.columns["variance"], dtype=float)
    assert variance.shape == (len(ROWS),)
    assert ((variance > 0) & (variance < 0.25)).all()
    data.write_text('{"text": "good", "label": "good", "variance": 3}\n')
    with raises_snapshot(InputError):
        predict(str(home), data, keep="variance", dropout=2)
