"""The command `stress`: curves by hand, files that go on, candidates that stay, wrong input in one line."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import oodometer
import oodometer_lab
from oodometer.arrays import Ragged
from oodometer.cli import main
from oodometer.errors import InputError, UsageError
from oodometer_lab.shifts import EXTRA_IMAGE_SHIFTS
from oodometer_lab.verbs.stress import read_examples

from ..snapshots import assert_snapshot, raises_snapshot

CODE = '''
import numpy as np
calls = []
def small(texts):
    """Sure of small letters, less sure the more capitals there are."""
    calls.append(len(texts))
    if len(calls) == stop_at:
        raise KeyboardInterrupt
    share = np.array([sum(c.islower() for c in t) / max(1, sum(c.isalpha() for c in t)) for t in texts])
    p = 0.05 + 0.9 * share
    return np.stack([1 - p, p], axis=1)
def other(texts):
    return small(texts)[:, ::-1] * 0.8 + 0.1
stop_at = -1
'''


def lines(rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def texts(rows: int = 80) -> list[dict[str, Any]]:
    """Small letters are of class 1, capitals of class 0; every tenth text is too short for a ratio of 0.4."""
    rng = np.random.default_rng(0)
    out = []
    for i in range(rows):
        words = rng.choice(["red", "sun", "moon", "tree"], size=2 if i % 10 == 0 else 6)
        small = bool(rng.random() < 0.5)
        out.append(
            {
                "id": f"t{i}",
                "text": " ".join(words) if small else " ".join(words).upper(),
                "label": int(small),
            }
        )
    return out


DIALOGUES = [
    {"id": f"d{i}", "turns": [f"Turn {j} of {i}?" for j in range(2 + i % 5)]} for i in range(40)
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "stress_toy.py").write_text(CODE)
    (tmp_path / "a.jsonl").write_text(lines(texts()))
    (tmp_path / "talk.jsonl").write_text(lines(DIALOGUES))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("stress_toy", None)


def stress(*words: object) -> int:
    return main(["stress", *map(str, words)])


def toy(*words: object) -> int:
    return stress(
        "a.jsonl", "--model", "stress_toy:small", "--classes", "0,1", "--out", "out", *words
    )


CASING = ("--kind", "casing=0.2,0.4,1")


def found() -> Any:
    return json.loads(Path("out/stress.json").read_text())


class Overlap(oodometer_lab.models.base.Classifier):  # type: ignore[name-defined, misc]
    """A ranker by hand: the score of a candidate is the number of letters that it shares with the context."""

    kind = "overlap"
    reads = ("dialogue",)

    def _fit(self, *given: Any) -> None:
        raise NotImplementedError

    def ask(self, inputs: Any, request: Any = None, *, progress: Any = None) -> Any:
        from oodometer_lab.models.base import Answers

        dialogues = list(inputs.inputs)
        most = max(len(one.candidates) for one in dialogues)
        scores = np.full((len(dialogues), most), -np.inf, dtype=np.float32)
        for row, one in enumerate(dialogues):
            said = set(" ".join(one.context))
            scores[row, : len(one.candidates)] = [len(said & set(text)) for text in one.candidates]
        counts = np.array([len(one.candidates) for one in dialogues])
        return Answers(tuple(range(most)), logits=scores, candidates=counts)

    parameters = 0
    options = _write = _read = None  # type: ignore[assignment]


def test_numbers_are_those_of_the_files(home: Path) -> None:
    assert toy(*CASING, "--repeats", 1) == 0
    told = found()
    (curve,) = told["models"][0]["curves"]
    rows = {row["id"]: number for number, row in enumerate(texts(), 1)}
    reference = oodometer.load("out/predictions/stress_toy-small/reference.parquet")
    kept: list[set[int]] = []
    for point in curve["points"][1:]:
        record = oodometer.load(point["predictions"][0])
        assert record.label is not None
        frame = oodometer.store.as_source(
            point["predictions"][0], extra_columns=["id", "source_row"]
        ).read(  # type: ignore[attr-defined]
            ["label"]
        )
        numbers = frame.columns["source_row"].astype(int).tolist()
        assert [rows[one] for one in frame.columns["id"]] == numbers
        kept.append(set(numbers))
        right = (record.predicted == record.label).mean()
        assert point["metrics"]["accuracy"]["value"] == pytest.approx(right)
        again = oodometer.estimate(reference, record.without_labels())
        assert point["estimate"]["value"] == again.headline.value
        assert point["error"] == pytest.approx(again.headline.value - right)
        assert point["rows"] + sum(point["dropped"].values()) == told["rows"] == 40
    common = set.intersection(*kept)
    assert curve["common_rows"] == len(common) < max(map(len, kept))
    for point, numbers_ in zip(curve["points"][1:], kept, strict=True):
        assert point["common"]["rows"] == len(common)
        assert len(numbers_) == point["rows"]
    assert curve["points"][0]["metrics"]["accuracy"]["value"] == 1
    assert curve["points"][-1]["metrics"]["accuracy"]["value"] == 0  # every letter changed its case
    table = list(csv.DictReader(Path("out/stress.csv").read_text().splitlines()))
    assert [row["subset"] for row in table] == ["all", "common"] * 4
    assert float(table[-2]["accuracy"]) == 0
    assert int(table[-1]["rows"]) == len(common)


def test_the_same_call_asks_nothing_again_and_another_kind_only_what_is_new(home: Path) -> None:
    assert toy(*CASING) == 0
    import stress_toy  # type: ignore[import-not-found]

    before, first = len(stress_toy.calls), Path("out/stress.csv").read_text()
    assert before == 5
    assert toy(*CASING) == 0
    assert len(stress_toy.calls) == before
    assert Path("out/stress.csv").read_text() == first
    assert toy(*CASING, "--kind", "typing-errors=0.5") == 0
    assert len(stress_toy.calls) == before + 1
    stress_toy.__file__ = None
    changed = [{**row, "text": row["text"] + " end"} for row in texts()]
    Path("a.jsonl").write_text(lines(changed))
    assert toy(*CASING) == 2  # other data


def test_an_interrupted_run_goes_on_to_the_same_result(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert toy(*CASING) == 0
    whole = Path("out/stress.csv").read_text()
    Path("out").rename("first")
    import stress_toy

    stress_toy.calls.clear()
    stress_toy.stop_at = 4  # reference, source, casing-0.2, casing-0.4
    assert toy(*CASING) == 130
    said = capsys.readouterr().err
    assert "interrupted" in said
    assert_snapshot(said)
    left = sorted(one.name for one in Path("out/predictions/stress_toy-small").iterdir())
    assert "casing-0.4.parquet" not in left
    assert not Path("out/stress.json").exists()
    assert not [one for one in left if one.startswith(".")]
    stress_toy.stop_at, asked = -1, len(stress_toy.calls)
    assert toy(*CASING) == 0
    assert len(stress_toy.calls) - asked == 2
    assert Path("out/stress.csv").read_text() == whole


def test_models_side_by_side_and_runs_of_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "--model",
        "pair=stress_toy:small",
        "--model",
        "pair=stress_toy:other",
        "--model",
        "stress_toy:small",
    )
    assert (
        stress("a.jsonl", *words, "--classes", "0,1", "--out", "out", "--kind", "casing=0.5") == 2
    )
    assert "named twice" in capsys.readouterr().err
    words = ("--model", "pair=stress_toy:small", "--model", "pair=stress_toy:other")
    repeats = ("--repeats", 2, "--kind", "casing=0.5", "--kind", "typing-errors=0.5")
    assert stress("a.jsonl", *words, "--classes", "0,1", "--out", "out", *repeats) == 0
    (model,) = found()["models"]
    plain, point = model["curves"][0]["points"]
    assert plain["spread"]["accuracy"] == {"mean": 0.5, "lowest": 0.0, "highest": 1.0, "runs": 2}
    assert len(point["predictions"]) == point["spread"]["accuracy"]["runs"] == 4
    values = [(r := oodometer.load(one)).accuracy for one in point["predictions"]]
    assert r.rows == point["rows"]
    assert point["spread"]["accuracy"]["mean"] == pytest.approx(np.mean(values))
    assert_snapshot(capsys.readouterr().out)


def test_without_labels_there_are_estimates_alone(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"text": row["text"]} for row in texts()]
    Path("bare.jsonl").write_text(lines(rows))
    words = (
        "bare.jsonl",
        "--model",
        "stress_toy:small",
        "--classes",
        "0,1",
        "--out",
        "out",
        *CASING,
    )
    assert stress(*words) == 2
    assert "--reference" in capsys.readouterr().err
    assert stress(*words, "--reference", "a.jsonl") == 0
    told = found()
    assert told["labelled"] is False
    assert told["rows"] == 80
    point = told["models"][0]["curves"][0]["points"][1]
    assert point["metrics"] == {}
    assert point["error"] is None
    assert 0 <= point["estimate"]["value"] <= 1
    assert_snapshot(capsys.readouterr().out)
    assert "the truth is not known" in Path("out/report.html").read_text()


def test_the_page_has_curves_and_tells_what_the_bands_are(home: Path) -> None:
    pytest.importorskip("vl_convert")
    assert toy(*CASING) == 0
    page = Path("out/report.html").read_text()
    for part in (
        "Accuracy 100.0\xa0% without a shift, 0.0\xa0% at 1",
        "Brier score",
        "ECE",
        "Same rows",
    ):
        assert part in page
    from oodometer_lab.reports import stress_curves

    accuracy, brier, ece = stress_curves(found(), 0)
    rows = [row for rows in accuracy.spec["datasets"].values() for row in rows]
    truth = [row["y"] for row in rows if row.get("label") == "truth" and "x" in row]
    curve = found()["models"][0]["curves"][0]
    assert truth == [point["metrics"]["accuracy"]["value"] for point in curve["points"]]
    assert (brier.name, ece.name) == ("stress-0-brier", "stress-0-ece")


def asked(candidates: int, seed: int) -> SimpleNamespace:
    return SimpleNamespace(column=None, label=None, candidates=candidates, seed=seed)


def test_a_ranker_has_the_same_candidates_at_every_severity(home: Path) -> None:
    told = oodometer.stress("talk.jsonl", {"overlap": Overlap()}, out="out", candidates=5, seed=3,
                            kind=["insufficient-context=1/2", "short-context=1,2"])  # fmt: skip
    assert told.modality == "dialogue"
    plain = read_examples("talk.jsonl", "dialogue", asked(5, 3), where={}, label_needed=False)
    of = {one.number: one for one in plain.rows}
    for _, curve, point in told.points():
        record = oodometer.store.as_source(
            point.predictions[0], extra_columns=["id", "source_row"]
        ).read(  # type: ignore[attr-defined]
            ["label", "candidate_scores"]
        )
        scores = record.candidate_scores
        assert isinstance(scores, Ragged)
        numbers = record.columns["source_row"].astype(int)
        assert record.label.tolist() == [of[n].label for n in numbers]
        assert record.columns["id"].tolist() == [of[n].id for n in numbers]
        for n, own in zip(numbers, scores.values.reshape(-1, 5), strict=True):
            if curve.kind == "short-context" and point.severity is not None:
                said = set(" ".join(of[n].parts))  # nothing is taken away: the same scores
                assert own.tolist() == [len(said & set(text)) for text in of[n].candidates or ()]
    assert "R@1" in told.view().grids[0].columns
    # The shifted copy as a file of its own, asked with the replies of its source, gives the same.
    oodometer.shift(
        "talk.jsonl", kind="insufficient-context", severity="1/2", out="copy.jsonl", seed=3
    )
    again = oodometer.predict(
        Overlap(), "copy.jsonl", candidates=5, replies="talk.jsonl", seed=3
    ).record
    mine = oodometer.store.as_source(
        told.models[0].curves[0].points[1].predictions[0], extra_columns=["id"]
    ).read(  # type: ignore[attr-defined]
        ["label", "candidate_scores"]
    )
    at = {name: row for row, name in enumerate(again.columns["id"].tolist())}
    same = again.take([at[name] for name in mine.columns["id"].tolist()])
    assert same.label.tolist() == mine.label.tolist()
    assert same.candidate_scores.values.tolist() == mine.candidate_scores.values.tolist()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(2, 5), min_size=6, max_size=20), st.integers(0, 99), st.data())
def test_candidates_do_not_depend_on_other_rows(sizes: list[int], seed: int, data: Any) -> None:
    import tempfile

    rows = [{"id": i, "turns": [f"{i}.{j}" for j in range(size)]} for i, size in enumerate(sizes)]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "talk.jsonl"
        place.write_text(lines(rows))
        every = read_examples(place, "dialogue", asked(4, seed), where={}, label_needed=False)
        kept = data.draw(st.sets(st.sampled_from([one.number for one in every.rows]), min_size=1))
        part, numbers = every.dataset(dict.fromkeys(kept, ("other",)))
        whole, all_numbers = every.dataset()
        at = {n: i for i, n in enumerate(all_numbers)}
        for row, n in enumerate(numbers):
            assert part.inputs[row].candidates == whole.inputs[at[n]].candidates
            assert part.targets[row] == whole.targets[at[n]]
            assert part.inputs[row].candidates[part.targets[row]] == every.rows[at[n]].parts[
                -1
            ].split(".")[0] + ("." + str(len(every.rows[at[n]].parts)))
        known, shifted = every.halves(seed)
        assert not {one.group for one in known.rows} & {one.group for one in shifted.rows}
        assert len(known) + len(shifted) == len(every)


def test_a_ranker_with_given_candidates_and_positions(home: Path) -> None:
    rows = [{"context": ["ab"], "candidates": ["zz", "ab", "q"], "label": i % 3} for i in range(60)]
    Path("given.jsonl").write_text(lines(rows))
    told = oodometer.stress("given.jsonl", Overlap(), out="out", kind="casing=1")
    plain, shifted = told.models[0].curves[0].points
    assert plain.metrics["accuracy"].value == pytest.approx(
        np.mean([n % 3 == 2 for n in numbers_of(plain.predictions[0])])
    )
    assert shifted.rows == plain.rows


def numbers_of(path: str) -> list[int]:
    source = oodometer.store.as_source(path, extra_columns=["source_row"])  # type: ignore[attr-defined]
    return [int(one) for one in source.read(["label"]).columns["source_row"]]


WRONG: dict[str, tuple[tuple[object, ...], str]] = {
    "no model": (("a.jsonl", "--out", "o"), "Missing option '--model'"),
    "no data": (
        ("none.jsonl", "--model", "stress_toy:small", "--classes", "0,1", "--out", "o"),
        "no such file",
    ),
    "ratio above 1": (("@", "--kind", "casing=1.5"), "above 0 and at most 1"),
    "ratio 0": (("@", "--kind", "casing=0"), "above 0 and at most 1"),
    "no such kind": (("@", "--kind", "casin=1"), "did you mean casing"),
    "of dialogues": (("@", "--kind", "short-context=1"), "shifts dialogues"),
    "needs training": (("@", "--kind", "unknown-words=0.1"), "--training FILE"),
    "training for nothing": (
        ("@", "--kind", "casing=0.1", "--training", "a.jsonl"),
        "leave it out",
    ),
    "label named and missing": (("@", "--label", "truth"), "a column truth"),
    "no label column": (
        ("bare.jsonl", "--model", "stress_toy:small", "--classes", "0,1", "--out", "o"),
        "--reference",
    ),
    "label of another class": (
        ("@", "--label", "id"),
        "one of the model's classes, 0, 1, got 't0'",
    ),
    "reference of other columns": (("@", "--reference", "other.jsonl"), "a column with the text"),
    "reference without labels": (("@", "--reference", "bare.jsonl"), "labelled rows"),
    "not utf-8": (
        ("latin.jsonl", "--model", "stress_toy:small", "--classes", "0,1", "--out", "o"),
        "UTF-8",
    ),
    "no model folder": (("a.jsonl", "--model", "folder", "--out", "o"), "the folder of a model"),
    "one row": (
        ("one.jsonl", "--model", "stress_toy:small", "--classes", "0,1", "--out", "o"),
        "two halves",
    ),
    "nothing can be shifted": (
        ("@", "--kind", "typing-errors=0.0001"),
        "rows that typing-errors can shift",
    ),
    "folder taken": (("@", "--out", "folder"), "it is not empty"),
    "out is a file": (("@", "--out", "a.csv"), "it is a file"),
    "no parent": (("@", "--out", "no/where"), "there is no folder"),
    "no rows of that value": (("@", "--where", "id=zz"), "rows with id=zz"),
    "level": (("@", "--level", "95"), "level"),
    "repeats": (("@", "--repeats", "0"), "repeats to be a number from 1"),
    "rows": (("@", "--rows", "1"), "rows to be a number from 2"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_line(case: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare.jsonl").write_text(lines({"text": row["text"]} for row in texts()))
    Path("other.jsonl").write_text(
        lines({"words": row["text"], "label": row["label"]} for row in texts())
    )
    Path("one.jsonl").write_text(lines(texts(1)))
    Path("latin.jsonl").write_bytes('{"text": "caf\xe9", "label": 1}\n'.encode("latin-1"))
    Path("a.csv").write_text("text,label\na,1\n")
    Path("folder").mkdir()
    Path("folder/notes.txt").write_text("mine")
    given, said = WRONG[case]
    if given[0] == "@":
        out = () if "--out" in given else ("--out", "o")
        given = ("a.jsonl", "--model", "stress_toy:small", "--classes", "0,1", *out, *given[1:])
    assert stress(*given) == 2
    told = capsys.readouterr().err
    assert said in told, told
    assert told.count("\n") == 1
    assert not Path("o/stress.json").exists()
    assert Path("folder/notes.txt").read_text() == "mine"


def test_wrong_dialogues_are_told(home: Path) -> None:
    def run(rows: Any, **more: Any) -> Any:
        Path("x.jsonl").write_text(lines(rows))
        return oodometer.stress(
            "x.jsonl", Overlap(), out="out", **{"kind": "short-context=1", **more}
        )

    with raises_snapshot(InputError):
        run(DIALOGUES, candidates=500)
    with raises_snapshot(InputError):
        run([{"turns": ["a"]}, {"turns": []}, {"turns": ["b"]}])
    with raises_snapshot(InputError):
        run([{"context": ["a"], "candidates": ["b", "c"], "label": i} for i in (1, 2)])
    with raises_snapshot(InputError):
        run([{"context": ["a"], "candidates": ["b"], "label": 0}])
    with raises_snapshot(InputError):
        run([{"context": ["a"]}])
    with raises_snapshot(InputError):
        run([{"context": ["a"], "candidates": ["b", "c"], "response": "d"}])
    with raises_snapshot(UsageError):
        run(DIALOGUES, candidates=1)
    told = run([*DIALOGUES, {"turns": ["alone"]}, {"turns": []}])
    assert sum(told.refused.values()) == 2
    assert_snapshot(repr(told))


def test_a_model_of_images_and_models_of_two_kinds_are_refused(home: Path) -> None:
    class Pictures(Overlap):
        reads = ("image",)  # type: ignore[assignment]

    with raises_snapshot(InputError):
        oodometer.stress("a.jsonl", Pictures(), out="out")
    with raises_snapshot(InputError):
        oodometer.stress("a.jsonl", [Overlap(), lambda texts: texts], out="out")


def bright(images: Any) -> Any:
    """Sure that an image is light as far as it is."""
    light = np.array([np.asarray(image).mean() / 255 for image in images])
    return np.stack([1 - light, light], axis=1)


@pytest.fixture
def photos(home: Path) -> Path:
    """Dark and light images of two sizes in the folders of their classes."""
    rng = np.random.default_rng(0)
    for i in range(40):
        path = Path("photos", ("dark", "light")[i % 2], f"{i:02d}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(
            rng.integers(0, 60, (12, 12 + i % 3, 3), dtype=np.uint8) + np.uint8(150 * (i % 2))
        ).save(path)
    return Path("photos")


def test_images_are_shifted_as_their_copies_are(photos: Path) -> None:
    more: dict[str, Any] = {"classes": ["dark", "light"], "repeats": 2, "seed": 1}
    result = oodometer.stress(
        photos, bright, out="out", kind=["brightness=5", "gaussian_noise=1,3"], **more
    )
    assert (result.modality, result.rows, result.labelled) == ("image", 20, True)
    assert_snapshot(repr(result))
    curves = {curve.kind: curve for curve in result.models[0].curves}
    assert [point.severity for point in curves["gaussian_noise"].points] == [None, "1", "3"]
    assert [len(point.predictions) for point in curves["gaussian_noise"].points] == [1, 2, 2]
    (_, point) = curves["brightness"].points
    assert len(point.predictions) == 1  # no chance in it
    oodometer.shift(photos, kind="brightness", severity=5, out="copy", seed=1)
    copy = oodometer.predict(bright, "copy", classes=["dark", "light"]).record
    ids = copy.columns["id"].tolist()
    source = oodometer.store.as_source(point.predictions[0], extra_columns=["id"])  # type: ignore[attr-defined]
    record = source.read(["label", "probabilities"])
    same = copy.take([ids.index(name) for name in record.columns["id"].tolist()])
    np.testing.assert_array_equal(same.probabilities, record.probabilities)
    assert same.accuracy == record.accuracy == point.metrics["accuracy"].value


def test_images_are_shifted_with_the_constants_of_a_preset(photos: Path) -> None:
    more: dict[str, Any] = {
        "classes": ["dark", "light"],
        "seed": 1,
        "kind": ["extra=5", "contrast=5"],
    }
    result = oodometer.stress(photos, bright, out="out", preset="imagenet-c", **more)
    curves = {curve.kind: curve for curve in result.models[0].curves}
    assert list(curves) == [*EXTRA_IMAGE_SHIFTS, "contrast"]
    assert_snapshot(result.notes[0])
    for kind in ("speckle_noise", "contrast"):
        oodometer.shift(photos, kind=kind, severity=5, out=kind, seed=1, preset="imagenet-c")
        copy = oodometer.predict(bright, kind, classes=["dark", "light"]).record
        path = curves[kind].points[1].predictions[0]
        record = oodometer.store.as_source(path, extra_columns=["id"]).read(["probabilities"])  # type: ignore[attr-defined]
        ids = copy.columns["id"].tolist()
        same = copy.take([ids.index(name) for name in record.columns["id"].tolist()])
        np.testing.assert_array_equal(same.probabilities, record.probabilities)
    with raises_snapshot(UsageError):
        oodometer.stress(photos, bright, out="out", **more)


def test_images_of_an_npz_file_go_on_and_options_of_texts_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "stress_toy.py").write_text(
        CODE + "def bright(images):\n    return small(['Ba'[int(x.mean() > 99)] for x in images])\n"
    )
    pixels = np.repeat(np.array([20, 200] * 30, dtype=np.uint8), 64).reshape(60, 8, 8)
    np.savez("a.npz", image=pixels, label=np.array([0, 1] * 30))
    words = (
        "a.npz",
        "--model",
        "stress_toy:bright",
        "--classes",
        "0,1",
        "--out",
        "out",
        "--kind",
        "fog=1,2",
    )
    assert stress(*words) == 0
    import stress_toy

    asked = len(stress_toy.calls)
    assert found()["models"][0]["curves"][0]["points"][0]["metrics"]["accuracy"]["value"] == 1
    assert stress(*words) == 0
    assert len(stress_toy.calls) == asked
    assert stress(*words, "--column", "text") == 2
    assert_snapshot(capsys.readouterr().err)
    assert stress(*words[:-1], "casing=1") == 2
    assert_snapshot(capsys.readouterr().err)
    with raises_snapshot(InputError):
        oodometer.stress("a.npz", Overlap(), out="other")
