"""The command `rank`: live models and predictions files, what is said, what is written, wrong input in one line."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.cli import main

from ..snapshots import assert_snapshot

CODE = '''
import numpy as np
calls = []
def of(right):
    """Sure of the class that a word names, right for texts whose number is below a bound."""
    def ask(texts):
        calls.append(len(texts))
        texts = [one if isinstance(one, str) else " ".join(one) for one in texts]
        number = np.array([int(next((w for w in t.split() if w.isdigit()), 0)) for t in texts])
        good = np.array(["good" in t for t in texts]) == (number % 20 < right)
        p = np.where(good, 0.9 - number % 7 / 100, 0.2)
        return np.stack([1 - p, p], axis=1)
    return ask
strong, middling, weak = of(19), of(14), of(6)
class Fitted:
    classes_ = [0, 1]
    def predict_proba(self, texts):
        return strong(texts)
class Bare:
    classes_ = [0, 1]
    def predict(self, texts):
        return strong(texts).argmax(1)
fitted, fitted2, bare = Fitted(), Fitted(), Bare()
def three(texts):
    return np.full((len(texts), 3), 1 / 3)
'''


def lines(rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def texts(first: int, rows: int, label: bool = True) -> list[dict[str, Any]]:
    out = []
    for i in range(first, first + rows):
        good = i % 2 == 0
        row = {"id": f"t{i}", "text": f"film {i} is {'good' if good else 'bad'}"}
        out.append({**row, "label": int(good)} if label else row)
    return out


def pairs(rows: int) -> list[dict[str, Any]]:
    return [
        {
            "id": i,
            "a": f"film {i} is good",
            "b": f"good is the film {'now' * (i % 2)}",
            "label": i % 2,
        }
        for i in range(rows)
    ]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "rank_toy.py").write_text(CODE)
    (tmp_path / "ten.jsonl").write_text(lines(texts(0, 10) + texts(10, 10)))
    (tmp_path / "pool.jsonl").write_text(lines(texts(5, 95, label=False)))
    (tmp_path / "pairs.jsonl").write_text(lines(pairs(8)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("rank_toy", None)


def rank(*words: object) -> int:
    return main(["rank", *map(str, words)])


STRONG, MIDDLING, WEAK = "rank_toy:strong", "rank_toy:middling", "rank_toy:weak"
THREE = (WEAK, STRONG, MIDDLING, "--classes", "0,1")
ASKED = ("--examples", "ten.jsonl", "--unlabelled", "pool.jsonl")


def told(*words: object) -> dict[str, Any]:
    assert rank(*words, "--json", "out.json", "--quiet") == 0
    found: dict[str, Any] = json.loads(Path("out.json").read_text())
    return found


def test_numbers_are_those_of_the_labels(home: Path) -> None:
    found = told(*THREE, *ASKED)
    assert [one["model"] for one in found["ranking"]] == [STRONG, MIDDLING, WEAK]
    assert [one["evidence"]["right"] for one in found["ranking"]] == [19, 14, 6]
    assert found["ranking"][0]["evidence"]["accuracy"]["value"] == 19 / 20
    assert sum(one["p_best"] for one in found["ranking"]) == pytest.approx(1)
    assert (found["labelled"], found["pool"]) == (20, 80)
    assert found["left_out"] == {"rows of the pool that are among the examples": 15}
    pair = next(one for one in found["pairs"] if {one["a"], one["b"]} == {STRONG, WEAK})
    assert (pair["only_a"], pair["only_b"]) == (13, 0)
    assert pair["differ"] == pytest.approx(13 / 20)  # in every twenty numbers the same
    assert pair["p_a_better"] > 0.999
    named = {one["name"]: one for one in found["evidence"]}
    assert named["accuracy"]["order"] == [STRONG, MIDDLING, WEAK]
    assert {"conf", "conf-gt", "recalibrated", "plurality", "nuclear-norm"} <= set(named)
    assert any(one["method"] == "atc" for one in found["skipped"])


def test_each_model_is_asked_once(home: Path) -> None:
    told(*THREE, *ASKED)
    import rank_toy  # type: ignore[import-not-found]

    assert rank_toy.calls == [100, 100, 100]


def test_a_reference_lets_more_estimators_speak(home: Path) -> None:
    Path("known.jsonl").write_text(lines(texts(200, 300)))
    found = told(*THREE, *ASKED, "--reference", "known.jsonl")
    assert {"atc", "doc", "cbpe"} <= {one["name"] for one in found["evidence"]}
    import rank_toy

    assert sum(rank_toy.calls) == 3 * 400


def test_the_terminal_says_which_how_sure_and_by_what(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # where no cell is folded
    assert rank(*THREE, *ASKED, "--suggest", 3, "-v") == 0
    said = capsys.readouterr().out
    assert f"Most likely the best of 3 models: {STRONG}" in said
    assert "19 of 20" in said
    assert "by disagreement" not in said
    assert_snapshot(said)
    assert f"{STRONG} > {MIDDLING} > {WEAK}" in said


def test_factors_are_computed_and_said_to_mislead(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"a={STRONG} b={WEAK} --classes 0,1 --examples pairs.jsonl --input a --input b".split()
    factors = ("--factor", "max-diff", "--factor", "irreg", "--samples", 40)
    assert rank(*words, *factors, "--json", "out.json", "-v") == 0
    said = capsys.readouterr().out
    assert_snapshot(said)
    assert "irreg" in said
    found = json.loads(Path("out.json").read_text())
    assert found["attribution"]["method"] == "lime"
    assert found["attribution"]["samples"] == 40
    factor = next(one for one in found["evidence"] if one["name"] == "max-diff")
    assert not factor["higher_is_better"]
    # The mean of the examples is the number of the table.
    mine = [one["models"]["a"]["factors"]["max-diff"]["value"] for one in found["examples"]]
    assert factor["values"]["a"] == pytest.approx(np.mean(mine))
    one = found["examples"][0]
    first, second = (
        max(
            v
            for v, (part, _, _) in zip(one["models"]["a"]["values"], one["places"], strict=True)
            if part == at
        )
        for at in (0, 1)
    )
    assert one["models"]["a"]["factors"]["max-diff"]["value"] == pytest.approx(first - second)


def test_suggested_rows_come_back_as_examples(home: Path) -> None:
    assert rank(*THREE, *ASKED, "--suggest", 6, "--out", "next.jsonl", "--quiet") == 0
    rows = [json.loads(line) for line in Path("next.jsonl").read_text().splitlines()]
    assert len(rows) == 6
    assert {row["chosen"] for row in rows} == {"by disagreement"}
    for row in rows:  # the likeliest models say different things of each
        number = int(row["text"].split()[1]) % 20
        assert 6 <= number < 19
        row["label"] = int("good" in row["text"])
    Path("next.jsonl").write_text(lines(rows))
    found = told(*THREE, "--examples", "next.jsonl", "--unlabelled", "pool.jsonl")
    assert (found["labelled"], found["chosen"]) == (6, 6)
    assert found["ranking"][0]["model"] == STRONG
    # They decide between models, and give no accuracy.
    assert not {"accuracy", "recalibrated", "conf-gt"} & {one["name"] for one in found["evidence"]}
    assert "accuracy" not in found["ranking"][0]["evidence"]
    Path("both.jsonl").write_text(lines([*({**row, "chosen": ""} for row in texts(0, 20)), *rows]))
    both = told(*THREE, "--examples", "both.jsonl", "--unlabelled", "pool.jsonl")
    once = told(*THREE, *ASKED)
    assert (both["labelled"], both["chosen"]) == (26, 6)
    for name in ("accuracy", "conf-gt"):
        mine, theirs = (
            {e["name"]: e["values"] for e in one["evidence"]}[name] for one in (both, once)
        )
        assert mine == theirs
    assert both["pairs"][0]["p_a_better"] > once["pairs"][0]["p_a_better"]
    assert_snapshot(both["warnings"])
    assert rank(*THREE, *ASKED, "--suggest", 2, "--out", "next.csv", "--quiet") == 0
    with open("next.csv") as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["", ""]


def predictions(
    name: str, right: int, *, label: int = 0, order: Any = None, classes: Any = (0, 1)
) -> str:
    """A file of 60 rows, the first ``label`` of which are labelled; ``right`` of each 20 are right."""
    order = np.arange(60) if order is None else order
    truth = np.arange(60) % 2
    p = np.where(np.arange(60) % 20 < right, 0.9, 0.2)
    probabilities = np.stack([np.where(truth == c, p, 1 - p) for c in (0, 1)], axis=1)
    rows = []
    for i in order:
        row: dict[str, Any] = {"id": int(i)}
        row |= {f"prob_{c}": float(probabilities[i, k]) for k, c in enumerate(classes)}
        rows.append({**row, "label": classes[truth[i]] if i < label else None} if label else row)
    Path(name).write_text(lines(rows))
    return name


def test_files_are_matched_by_id(home: Path) -> None:
    words = (
        predictions("a.jsonl", 18, label=20),
        predictions("b.jsonl", 9, order=np.arange(60)[::-1]),
    )
    found = told(*words)
    assert (found["labelled"], found["pool"]) == (20, 40)
    assert [(one["model"], one["evidence"]["right"]) for one in found["ranking"]] == [
        ("a", 18),
        ("b", 9),
    ]
    Path("ten.csv").write_text("id,truth\n" + "".join(f"{i},{i % 2}\n" for i in (59, 3, 17, 40)))
    predictions("a.jsonl", 18)
    found = told(*words, "--examples", "ten.csv", "--label", "truth")
    assert (found["labelled"], found["pool"]) == (4, 56)
    rights = {one["model"]: one["evidence"]["right"] for one in found["ranking"]}
    assert rights == {"a": 3, "b": 2}  # of the numbers 59, 3, 17, 40 below 18 and 9 of each twenty


def test_files_say_themselves_which_rows_were_chosen(home: Path) -> None:
    words = (
        predictions("a.jsonl", 18, label=20),
        predictions("b.jsonl", 9, order=np.arange(60)[::-1]),
    )
    once = told(*words)
    assert once["chosen"] == 0
    assert "accuracy" in once["ranking"][0]["evidence"]
    rows = [json.loads(line) for line in Path("b.jsonl").read_text().splitlines()]
    marked = [{**row, "chosen": "by disagreement" if 5 <= row["id"] < 12 else ""} for row in rows]
    Path("b.jsonl").write_text(lines(marked))  # one file is enough, whatever the order of its rows
    found = told(*words)
    assert (found["labelled"], found["chosen"]) == (20, 7)
    assert [one["evidence"]["right"] for one in found["ranking"]] == [
        11,
        5,
    ]  # of the 13 random rows
    assert found["warnings"] != once["warnings"]
    Path("a.jsonl").write_text(
        Path("a.jsonl").read_text().replace('"label"', '"chosen": true, "label"')
    )
    assert told(*words)["chosen"] == 20
    # Examples that have the column say it for themselves; those without it leave it to the files.
    Path("ten.csv").write_text("id,label\n" + "".join(f"{i},{i % 2}\n" for i in range(30)))
    predictions("a.jsonl", 18)
    assert told(*words, "--examples", "ten.csv")["chosen"] == 7
    Path("ten.csv").write_text(
        "id,label,chosen\n" + "".join(f"{i},{i % 2},{i < 2}\n" for i in range(30))
    )
    assert told(*words, "--examples", "ten.csv")["chosen"] == 2


@pytest.mark.parametrize(
    ("no", "yes"),
    [
        ("no", "yes"),
        ("False", "True"),
        ("0", "by disagreement"),
        ("", "yes"),
        (False, True),
        (0, 1),
        (None, "yes"),
    ],
)
def test_a_cell_that_says_no_is_a_random_row(home: Path, no: Any, yes: Any) -> None:
    rows = [{**row, "chosen": no if i else yes} for i, row in enumerate(texts(0, 20))]
    Path("ten.jsonl").write_text(lines(rows))
    assert told(*THREE, *ASKED)["chosen"] == 1
    words = (predictions("a.jsonl", 18), predictions("b.jsonl", 9))
    Path("ten.csv").write_text(
        "id,label,chosen\n" + "".join(f"{i},{i % 2},{no if i else yes}\n" for i in range(9))
    )
    assert told(*words, "--examples", "ten.csv")["chosen"] == 1


def test_a_column_that_the_model_reads_marks_no_rows(home: Path) -> None:
    Path("ten.jsonl").write_text(
        lines({"chosen": row["text"], "label": row["label"]} for row in texts(0, 20))
    )
    found = told(*THREE, "--examples", "ten.jsonl", "--input", "chosen")
    assert (found["labelled"], found["chosen"]) == (20, 0)


def test_files_and_live_models_agree(home: Path) -> None:
    files = []
    for name in ("strong", "weak"):
        Path("all.jsonl").write_text(lines(texts(0, 20) + texts(20, 80, label=False)))
        found = oodometer.predict(
            f"rank_toy:{name}", "all.jsonl", classes=[0, 1], out=f"{name}.parquet"
        )
        assert found.rows == 100
        files.append(f"{name}.parquet")
    live = told("strong=" + STRONG, "weak=" + WEAK, "--classes", "0,1", "--examples", "all.jsonl")
    read = told("strong=strong.parquet", "weak=weak.parquet")
    for one in (live, read):
        for key in ("argv", "data", "modality", "suggested"):
            del one[key]
        for row in one["ranking"]:
            del row["source"]
        one.pop("columns", None)
    assert live == read


def damaged() -> None:
    Path("bare.jsonl").write_text(lines(texts(0, 10, label=False)))
    Path("twice.jsonl").write_text(lines(texts(0, 3) + texts(0, 3)))
    Path("odd.jsonl").write_text(lines([*texts(0, 3), {"id": "x", "text": "film 3", "label": 7}]))
    Path("empty.jsonl").write_text("")
    Path("blank.jsonl").write_text(lines([{"id": "x", "text": "", "label": 1}, *texts(0, 3)]))
    Path("folder").mkdir()
    predictions("a.jsonl", 18, label=20)
    predictions("b.jsonl", 9)
    predictions("none.jsonl", 9)
    predictions("none2.jsonl", 4)
    Path("emptied.csv").write_text("id,label\n1,\n2,\n")
    predictions("short.jsonl", 9, order=range(50))
    predictions("double.jsonl", 9, order=[*range(60), 3])
    predictions("other.jsonl", 9, classes=("x", "y"))
    rows = [json.loads(line) for line in Path("b.jsonl").read_text().splitlines()]
    Path("unnamed.jsonl").write_text(
        lines({k: v for k, v in row.items() if k != "id"} for row in rows)
    )
    Path("sampled.jsonl").write_text(
        lines(
            {"sample_id": row["id"], **{k: v for k, v in row.items() if k != "id"}} for row in rows
        )
    )
    Path("apart.jsonl").write_text(lines({**row, "label": 1 - row["id"] % 2} for row in rows))
    Path("strange.csv").write_text("id,label\n7,1\n999,0\n")
    for name in ("one_class.jsonl", "again.jsonl"):
        Path(name).write_text(lines({"id": i, "prediction": 0} for i in range(5)))
    Path("someids.jsonl").write_text(
        lines([{"id": "x", "text": "film 1", "label": 1}, {"text": "film 2", "label": 0}])
    )
    Path("words.csv").write_text("id,prediction\n1,yes\n2,no\n")
    Path("codes.csv").write_text("id,prediction\n1,1\n2,0\n")
    Path("capitals.csv").write_text("id,prediction\n1,Yes\n2,No\n")
    Path("words_label.csv").write_text("id,label\n1,yes\n2,no\n")
    Path("doc.csv").write_text("doc,label\n7,1\n3,1\n")
    Path("one_label.csv").write_text("id,label\n1,0\n")


TWO = (STRONG, WEAK, "--classes", "0,1")
EXAMPLES = ("--examples", "ten.jsonl")
BAD: dict[str, tuple[tuple[Any, ...], str]] = {
    "one model": ((STRONG, "--classes", "0,1", *EXAMPLES), "at least two models"),
    "the same twice": ((STRONG, STRONG, "--classes", "0,1", *EXAMPLES), "is named twice"),
    "one name": (
        ("a=" + STRONG, "a=" + WEAK, "--classes", "0,1", *EXAMPLES),
        "two models have the name a",
    ),
    "no model": (("folder", STRONG, *EXAMPLES), "folder"),
    "other classes": ((STRONG, "rank_toy:three", *EXAMPLES), "the classes of rank_toy:strong"),
    "no examples": (TWO, "--examples FILE"),
    "no labels": ((*TWO, "--examples", "bare.jsonl"), "no value in a column label"),
    "no such label": ((*TWO, *EXAMPLES, "--label", "truth"), "no 'truth'"),
    "no such column": ((*TWO, *EXAMPLES, "--input", "words"), "no 'words'"),
    "an empty file": ((*TWO, "--examples", "empty.jsonl"), "empty.jsonl"),
    "no such file": ((*TWO, "--examples", "nowhere.jsonl"), "no such file"),
    "double ids": ((*TWO, "--examples", "twice.jsonl"), "'t0' twice"),
    "a label of no class": (
        (*TWO, "--examples", "odd.jsonl"),
        "row 4: column label: expected one of the model's",
    ),
    "one file twice": (("one_class.jsonl", "y=one_class.jsonl"), "is named twice"),
    "one file by two roads": (("a.jsonl", "./a.jsonl"), "is named twice"),
    "unknown factor": ((*TWO, *EXAMPLES, "--factor", "max-dif"), "did you mean max-diff"),
    "a factor twice": ((*TWO, *EXAMPLES, "--factor", "adj", "--factor", "adj"), "named twice"),
    "a factor of pairs": ((*TWO, *EXAMPLES, "--factor", "max-diff"), "single texts"),
    "unknown attribution": ((*TWO, *EXAMPLES, "--attribution", "lim"), "did you mean lime"),
    "samples without attribution": ((*TWO, *EXAMPLES, "--samples", 9), "name one"),
    "a level of a half": ((*TWO, *EXAMPLES, "--level", "0.5"), "above 0.5"),
    "suggest without a pool": ((*TWO, *EXAMPLES, "--suggest", 3), "give one with --unlabelled"),
    "out without suggest": ((*TWO, *EXAMPLES, "--out", "next.csv"), "--suggest"),
    "out of another form": (
        (*TWO, *EXAMPLES, "--suggest", 3, "--out", "next.txt"),
        ".csv or .jsonl",
    ),
    "map of live models": ((*TWO, *EXAMPLES, "--map", "a=b"), "--input"),
    "two references": (
        (*TWO, *EXAMPLES, "--reference", "a.jsonl", "--reference", "b.jsonl"),
        "one reference",
    ),
    "mixed": ((STRONG, "a.jsonl"), "in one form"),
    "examples without labels": (
        ("none.jsonl", "none2.jsonl", "--examples", "emptied.csv"),
        "leave --examples out",
    ),
    "files of other ids": (("a.jsonl", "short.jsonl"), "10 of its ids are absent, such as '50'"),
    "a file without ids": (("a.jsonl", "unnamed.jsonl"), "never by position"),
    "ids of another name in one file": (("a.jsonl", "sampled.jsonl"), "name it with --id, or"),
    "a file with double ids": (
        ("a.jsonl", "double.jsonl"),
        "ask all models about the same rows, each as often",
    ),
    "files of other classes": (("a.jsonl", "other.jsonl"), "the classes of a.jsonl"),
    "files of other labels": (("a.jsonl", "apart.jsonl"), "the same labels in all files"),
    "ids that are in no file": (
        ("a.jsonl", "b.jsonl", "--examples", "strange.csv"),
        "row 2: column id",
    ),
    "a pool of files": (("a.jsonl", "b.jsonl", "--unlabelled", "pool.jsonl"), "without a label"),
    "factors of files": (("a.jsonl", "b.jsonl", "--factor", "adj"), "need live models"),
    "one reference for two files": (
        ("a.jsonl", "b.jsonl", "--reference", "a.jsonl"),
        "a --reference for each",
    ),
    "a device that is none": (
        (*TWO, *EXAMPLES, "--device", "tpu"),
        "expected the device to be cpu, cuda or cuda:N",
    ),
    "the classes exchanged": (
        (STRONG, "rank_toy:fitted", "--classes", "1,0", *EXAMPLES),
        "would exchange them",
    ),
    "no predict_proba": (
        (STRONG, "rank_toy:bare", *EXAMPLES),
        "expected an estimator with predict_proba",
    ),
    "max-length that nobody reads": (
        (*TWO, *EXAMPLES, "--max-length", 9),
        "in the form of Hugging Face",
    ),
    "gives that nobody takes": (
        ("rank_toy:fitted", "f=rank_toy:fitted2", *EXAMPLES, "--gives", "logits"),
        "--gives is of",
    ),
    "an id is absent": (
        (*TWO, "--examples", "someids.jsonl"),
        "row 2: column id: expected an id, got an empty cell",
    ),
    "input of files": (("a.jsonl", "b.jsonl", "--input", "text"), "--input is of live models"),
    "fewer rows first": (
        ("short.jsonl", "a.jsonl"),
        "a.jsonl: expected the ids of short.jsonl, got 10 ids more",
    ),
    "predictions in other words": (
        ("words.csv", "codes.csv", "--examples", "words_label.csv"),
        "the same words in all",
    ),
    "predictions in capitals": (
        ("words.csv", "capitals.csv", "--examples", "words_label.csv"),
        "got No, Yes",
    ),
    "labels in other words": (
        ("a.jsonl", "b.jsonl", "--examples", "words_label.csv"),
        "rename the columns with --map",
    ),
    "examples of other ids": (("a.jsonl", "b.jsonl", "--examples", "doc.csv"), "--map theirs=id"),
    "a renaming of no file": (
        ("a.jsonl", "b.jsonl", "--examples", "doc.csv", "--map", "dog=id"),
        "dog",
    ),
    "a single class": (
        ("one_class.jsonl", "again.jsonl", "--examples", "one_label.csv"),
        "at least two classes",
    ),
    "device of files": (("a.jsonl", "b.jsonl", "--device", "cpu"), "of live models"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_input_is_one_line(name: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged()
    words, expected = BAD[name]
    assert rank(*words, "--json", "out.json") == 2
    said = capsys.readouterr()
    assert expected in said.err
    assert len(said.err.splitlines()) == 1
    assert not said.out
    assert not Path("out.json").exists()


def test_labels_that_no_model_predicts_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.jsonl").write_text(lines({"id": i, "prediction": i % 2} for i in range(6)))
    Path("b.jsonl").write_text(lines({"id": i, "prediction": i % 3 % 2} for i in range(6)))
    Path("few.csv").write_text("id,label\n1,1\n2,2\n")
    assert rank("a.jsonl", "b.jsonl", "--examples", "few.csv") == 2
    assert_snapshot(capsys.readouterr().err)
    assert rank("a.jsonl", "b.jsonl", "--examples", "few.csv", "--classes", "0,1,2") == 0
    assert_snapshot(capsys.readouterr().out)


def test_suggested_rows_have_the_columns_of_the_examples(home: Path) -> None:
    ten = [{"key": row["id"], "text": row["text"], "truth": row["label"]} for row in texts(0, 20)]
    pool = [{"key": row["id"], "text": row["text"]} for row in texts(20, 60)]
    counted = [
        {"id": i, "text": row["text"], "label": row["label"]} for i, row in enumerate(texts(0, 20))
    ]
    counted_pool = [{"id": i, "text": row["text"]} for i, row in enumerate(texts(20, 60), 20)]
    bare = [{"text": row["text"], "label": row["label"]} for row in texts(0, 20)]
    bare_pool = [{"text": row["text"]} for row in texts(20, 60)]
    for rows, more, named, label in (
        (ten, pool, ("--id", "key", "--label", "truth"), "truth"),
        (counted, counted_pool, (), "label"),
        (bare, bare_pool, (), "label"),
    ):
        Path("ten.jsonl").write_text(lines(rows))
        Path("pool.jsonl").write_text(lines(more))
        assert rank(*THREE, *ASKED, *named, "--suggest", 6, "--out", "next.jsonl", "--quiet") == 0
        found = [json.loads(line) for line in Path("next.jsonl").read_text().splitlines()]
        assert set(found[0]) == {*rows[0], "chosen"}
        # Rows that nobody has labelled yet are of the pool, and decide nothing.
        Path("more.jsonl").write_text(lines([*rows, *found]))
        empty = told(*THREE, "--examples", "more.jsonl", "--unlabelled", "pool.jsonl", *named)
        plain = told(*THREE, *ASKED, *named)
        assert (empty["chosen"], empty["labelled"]) == (0, 20)
        assert [one["p_best"] for one in empty["ranking"]] == [
            one["p_best"] for one in plain["ranking"]
        ]
        Path("more.jsonl").write_text(
            lines([*rows, *({**row, label: int("good" in row["text"])} for row in found)])
        )
        filled = told(*THREE, "--examples", "more.jsonl", "--unlabelled", "pool.jsonl", *named)
        assert (filled["labelled"], filled["chosen"], filled["pool"]) == (26, 6, 54)


def test_examples_whose_ids_have_another_name_are_renamed(home: Path) -> None:
    words = (predictions("a.jsonl", 18), predictions("b.jsonl", 9))
    Path("doc.csv").write_text("doc,label\n" + "".join(f"{i},{i % 2}\n" for i in (59, 3, 17, 40)))
    found = told(*words, "--examples", "doc.csv", "--map", "doc=id")
    assert {one["model"]: one["evidence"]["right"] for one in found["ranking"]} == {"a": 3, "b": 2}


def test_a_page_moves_no_number_and_explains_nothing(home: Path) -> None:
    pytest.importorskip("vl_convert")
    plain, drawn = told(*THREE, *ASKED), told(*THREE, *ASKED, "--report", "page.html")
    assert (drawn["examples"], drawn["attribution"]) == ([], None)
    for name in ("ranking", "evidence", "pairs", "settling"):
        assert drawn[name] == plain[name]


def test_an_example_without_words_is_left_out_of_the_explanation(home: Path) -> None:
    Path("blank.jsonl").write_text(lines([{"id": "x", "text": "", "label": 1}, *texts(0, 3)]))
    found = told(*TWO, "--examples", "blank.jsonl", "--attribution", "lime", "--samples", 20)
    assert {one["id"] for one in found["examples"]} == {"t0", "t1", "t2"}
    assert found["attribution"]["without_words"] == 1
    assert_snapshot(found["notes"])
    assert found["labelled"] == 4


def test_files_without_labels_answer_on_every_screen(home: Path) -> None:
    """Exit code 0, `labels` 0 in JSON, and the same P(best) on terminal, JSON and page."""
    for name, at in (("p.jsonl", 18), ("q.jsonl", 9), ("r.jsonl", 4)):
        predictions(name, at)
    assert rank("p.jsonl", "q.jsonl", "r.jsonl", "--json", "out.json", "--report", "out.html") == 0
    found = json.loads(Path("out.json").read_text())
    assert found["labels"] == found["labelled"] == 0
    best = max(row["p_best"] for row in found["ranking"])
    assert f"{best * 100:.0f} % sure" in found_text("out.html")
    assert "no label was seen" in found_text("out.html")


def found_text(page: str) -> str:
    """A page with its spaces alike."""
    return " ".join(Path(page).read_text().replace("&nbsp;", " ").split())
