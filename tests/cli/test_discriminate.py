"""The commands `discriminate train` and `predict`: plain files in, judges, votes, bounds and pages out."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oodometer.cli import output
from oodometer.errors import install_line
from oodometer_lab.cli.discriminate import _parted
from oodometer_lab.verbs.discriminate import train_judges

from ..snapshots import assert_snapshot

entrance = importlib.import_module(
    "oodometer.cli.main"
)  # the package's face gives a function of this name
INTERVAL = {"value", "lower", "upper", "level", "kind"}
QUICK = ("--judges", "2", "--epochs", "3")


def run(*arguments: Any) -> int:
    code: int = entrance.main(["discriminate", *map(str, arguments)])
    return code


def bracketed(path: Path, rows: int, seed: int, gold: bool = True) -> Path:
    """Commands of a parser that forgets the closing bracket of every other one."""
    draw = random.Random(seed)
    words = [a + b for a in "bcdfgklm" for b in ("ab", "ek", "ol", "ut")]
    lines = []
    for number in range(rows):
        verb, noun = draw.choice(words), draw.choice(words)
        right = f"{verb} ( {noun} )"
        row = {
            "id": f"r{number}",
            "input": f"{verb} the {noun}",
            "output": right if draw.random() < 0.5 else right[:-2],
        }
        lines.append(json.dumps(row | ({"gold": right} if gold else {})))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of judges that the command trained, and what it wrote as JSON beside it."""
    torch = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
    torch.set_num_threads(1)
    home = tmp_path_factory.mktemp("judges")
    pairs = bracketed(home / "early.jsonl", 200, 0)
    assert run("train", pairs, "--out", home / "judges", "--json", home / "train.json", *QUICK) == 0
    return home / "judges"


def test_training_writes_json_of_a_fixed_shape(judges: Path) -> None:
    found = json.loads((judges.parent / "train.json").read_text())
    assert found["command"] == "discriminate train"
    assert found["argv"].startswith("oodometer")
    assert (found["judges"], found["metric"], found["kept"], found["level"], found["seed"]) == (
        2,
        "exact",
        False,
        0.95,
        0,
    )
    assert (
        found["examples"]["pairs"] == found["examples"]["correct"] + found["examples"]["incorrect"]
    )
    assert found["dev"]["learnt"] + found["dev"]["pairs"] == found["examples"]["pairs"]
    assert {row["rule"] for row in found["held_out"]["rules"]} == {
        "any-incorrect",
        "any-correct",
        "majority",
        "single",
    }
    for row in found["held_out"]["rules"]:
        for measure in (
            "correct_recall",
            "correct_precision",
            "incorrect_recall",
            "incorrect_precision",
        ):
            assert set(row[measure]) == INTERVAL
            assert row[measure]["kind"] == "conditional"
    rule = next(row for row in found["held_out"]["rules"] if row["rule"] == "majority")
    assert (
        rule["correct_recall"]["value"] + rule["incorrect_recall"]["value"] > 1.3
    )  # a coin makes 1


def test_the_same_command_keeps_what_there_is(
    judges: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("train", judges.parent / "early.jsonl", "--out", judges, *QUICK) == 0
    said = capsys.readouterr()
    assert "Reused" in said.out
    assert_snapshot(said.out)
    assert "correct recall" in said.out
    assert said.err == ""
    assert run("train", judges.parent / "early.jsonl", "--out", judges, *QUICK, "--seed", "1") == 2
    assert_snapshot(capsys.readouterr().err)


def test_judging_prints_bounds_and_the_truth(
    judges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = bracketed(tmp_path / "known.jsonl", 120, 3)
    places = {"--out": "judged.csv", "--pseudo-labels": "more.jsonl", "--json": "found.json"}
    options = [str(part) for name, file in places.items() for part in (name, tmp_path / file)]
    assert run("predict", judges, rows, *options, "-v") == 0
    said = capsys.readouterr()
    for words in (
        "Accuracy by 2 judges: ",
        "empirical",
        "no guarantee",
        "Assumes: the judges generalise",
        "lower: all 2 accept",
        "upper: at least 1 of 2 accept",
        "single: classifier_0",
        "at least 2 of 2",
        "Truth of 120 rows",
        "pseudo-labels",
        "Next: a few labels make the bounds valid: oodometer audit",
    ):
        assert words in said.out, words
    assert said.err == ""
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["command"] == "discriminate predict"
    assert found["judges"] == ["classifier_0", "classifier_1"]
    for name in ("estimate", "lower", "upper", "mean", "single"):
        assert set(found[name]) == INTERVAL
    assert found["estimate"]["kind"] == "empirical"
    assert found["lower"]["value"] <= found["mean"]["value"] <= found["upper"]["value"]
    assert [set(row["share"]) for row in found["ladder"]] == [INTERVAL] * 2
    assert set(found["truth"]["gold"]) == INTERVAL
    assert found["truth"]["rows"] == 120
    kept = (tmp_path / "more.jsonl").read_text().splitlines()
    assert len(kept) == found["pseudo_labels"]["kept"] == round(found["lower"]["value"] * 120)
    assert set(json.loads(kept[0])) == {"input", "gold", "row", "id"}
    head = (tmp_path / "judged.csv").read_text().splitlines()[0]
    assert all(
        name in head for name in ("vote_classifier_0", "correct", "input", "output", "gold", "id")
    )


def test_other_commands_read_the_votes(
    judges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known, new = (
        bracketed(tmp_path / "k.jsonl", 120, 3),
        bracketed(tmp_path / "n.jsonl", 80, 4, gold=False),
    )
    (tmp_path / "judged").mkdir()
    assert run("predict", judges, known, new, "--out", tmp_path / "judged", "--json", "-") == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["rows"] for one in told["files"]] == [120, 80]
    assert told["files"][1]["truth"] is None
    files = [str(tmp_path / "judged" / name) for name in ("k.jsonl", "n.jsonl")]
    assert entrance.main(["evaluate", files[0], "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["votes"]["judges"] == 2
    assert entrance.main(["estimate", *files, "--method", "votes", "--json", "-"]) == 0
    estimate = json.loads(capsys.readouterr().out)["estimates"][0]
    assert estimate["value"] == pytest.approx(told["files"][1]["mean"]["value"])


def test_a_page_with_and_without_the_truth(judges: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="needs the extra report")
    known, new = (
        bracketed(tmp_path / "k.jsonl", 60, 3),
        bracketed(tmp_path / "n.jsonl", 20, 4, gold=False),
    )
    pages = {}
    for name, files in (("known", [known]), ("new", [new]), ("both", [known, new])):
        path, told = tmp_path / f"{name}.html", tmp_path / f"{name}.json"
        assert run("predict", judges, *files, "--report", path, "--json", told) == 0
        pages[name] = path.read_text()
    truth = json.loads((tmp_path / "known.json").read_text())["truth"]["gold"]["value"]
    assert f'value="{truth!r}"' in pages["known"]
    assert "chart-vote-subsets-0" in pages["known"]
    assert "chart-votes-0" in pages["new"]
    assert "chart-vote-subsets" not in pages["new"]
    for page in pages.values():
        assert page.count('class="big limit') == 2 * page.count('class="card headline"')
    assert pages["both"].count('class="card headline"') == 2


def test_columns_are_renamed_and_csv_is_read(
    judges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text(
        "question;answer;target\nbab the cek;bab ( cek );bab ( cek )\nbab the cek;;x\n"
    )
    names = ("--map", "question=input", "--map", "answer=output", "--map", "target=gold")
    assert run("predict", judges, tmp_path / "rows.csv", *names, "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["empty"] == 1
    assert found["truth"]["gold"]["value"] == 0.5
    assert_snapshot(found["warnings"][0])


def test_an_interruption_says_how_to_go_on(
    judges: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @contextmanager
    def impatient(what: str, **more: bool) -> Iterator[Any]:
        def progress(done: int, total: int) -> None:
            if done > 0.6 * total:
                raise KeyboardInterrupt

        yield progress

    command = ("train", judges.parent / "early.jsonl", "--out", tmp_path / "judges", *QUICK)
    with monkeypatch.context() as patch:
        patch.setattr(output, "progress_bar", impatient)
        assert run(*command) == 130
    said = capsys.readouterr()
    assert_snapshot(said.err)
    assert said.err.count("\n") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["judges.training"]
    assert run(*command) == 0
    assert [one.name for one in tmp_path.iterdir()] == ["judges"]
    for weights in judges.rglob("weights.safetensors"):
        assert (
            tmp_path / "judges" / weights.relative_to(judges)
        ).read_bytes() == weights.read_bytes()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ('{"input": "a", "output": "A"}', (), "expected a column gold"),
        ('{"output": "a", "gold": "A"}', (), "expected a column input"),
        (
            '{"input": "a", "output": "A", "gold": "A"}',
            (),
            "early checkpoints on the training set (a smaller K)",
        ),
        (
            '{"input": "a", "output": "x", "gold": ""}',
            (),
            "row 1: column gold: expected a gold output, got an empty one",
        ),
        ('{"input": "a", "output": "x", "gold": 5}', (), "row 1: column gold"),
        ('{"input": "a", "output": "x", "gold": "A"}', (), "at least 10 different inputs"),
        ('{"input": "a", "output": "x", "gold": "A"}', ("--judges", "0"), "at least 1 judge"),
        (
            '{"input": "a", "output": "x", "gold": "A"}',
            ("--kind", "tree"),
            "encoder, encoder-decoder or likelihood",
        ),
        (
            '{"input": "a", "output": "x", "gold": "A"}',
            ("--metric", "rouge"),
            "exact, token-f1, bleu",
        ),
        (
            '{"input": "a", "output": "x", "gold": "A"}',
            ("--map", "x"),
            "expected --map theirs=ours",
        ),
        ('{"input": "a"', (), "expected a JSON object on the line"),
    ],
)
def test_bad_pairs_are_one_line(
    text: str,
    options: tuple[str, ...],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "rows.jsonl").write_text(text + "\n")
    assert run("train", tmp_path / "rows.jsonl", "--out", tmp_path / "judges", *options) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["rows.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("predict", "rows.jsonl"), "expected FOLDER OUTPUTS"),
        (("predict", "none", "rows.jsonl"), "expected a folder of judges, got no such folder"),
        (("predict", "none", "rows.jsonl", "--out", "x.txt"), "end the name in .parquet"),
        (
            ("predict", "none", "rows.jsonl", "rows.jsonl", "--out", "x.jsonl"),
            "an existing folder for the rows of 2 files",
        ),
        (
            ("predict", "none", "rows.jsonl", "rows.jsonl", "--pseudo-labels", "p.jsonl"),
            "pseudo-labels are of one file",
        ),
        (("predict",), "Missing argument"),
        (("train", "rows.jsonl"), "Missing option '--out'"),
        (
            ("train", "none.jsonl", "--out", "judges"),
            "none.jsonl: expected a file, got no such file",
        ),
    ],
)
def test_wrong_calls_are_one_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    bracketed(tmp_path / "rows.jsonl", 20, 0)
    assert run(*arguments) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_missing_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert (
        run("train", bracketed(tmp_path / "rows.jsonl", 60, 0), "--out", tmp_path / "judges") == 2
    )
    assert install_line("hf") in capsys.readouterr().err


def test_the_folder_may_be_left_out_beside_an_existing_judge(tmp_path: Path) -> None:
    (tmp_path / "judges").mkdir()
    assert _parted(["a.jsonl", "b.jsonl"], True) == (None, ["a.jsonl", "b.jsonl"])
    assert _parted([str(tmp_path / "judges"), "b.jsonl"], True) == (
        [str(tmp_path / "judges")],
        ["b.jsonl"],
    )


def test_rows_of_several_files_go_into_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "judges").mkdir()
    (tmp_path / "a.jsonl").write_text("")
    for files, out, fault in (
        (("x/a.jsonl", "y/a.jsonl"), "judges", "two files of outputs have one name"),
        ((tmp_path / "a.jsonl", "b.jsonl"), ".", "would write over the input"),
        (("a.jsonl", "b.jsonl"), "none", "expected an existing folder for the rows of 2 files"),
    ):
        assert run("predict", tmp_path / "judges", *files, "--out", tmp_path / out) == 2
        assert fault in capsys.readouterr().err


def test_judges_of_two_kinds_vote_together(
    judges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that is trained on right pairs says how probable it finds an output; both folders are asked at once."""
    dev, new = bracketed(tmp_path / "dev.jsonl", 100, 5), bracketed(tmp_path / "new.jsonl", 60, 6)
    pairs = tmp_path / "gold.jsonl"  # a likelihood judge needs no outputs to learn from
    early = [json.loads(line) for line in (judges.parent / "early.jsonl").read_text().splitlines()]
    pairs.write_text(
        "".join(json.dumps({"input": row["input"], "gold": row["gold"]}) + "\n" for row in early)
    )
    how: Any = {"kind": "likelihood", "judges": 1, "epochs": 12, "learning_rate": 0.005}
    told = train_judges(pairs, tmp_path / "parser", dev=dev, **how).to_dict()
    assert told["settings"]["kind"] == "likelihood"
    assert [row["judge"] for row in told["thresholds"]["by_judge"]] == ["likelihood_0"]
    both = (
        "predict",
        judges,
        tmp_path / "parser",
        new,
        "--calibrate",
        dev,
        "--json",
        tmp_path / "found.json",
    )
    assert run(*both, "--out", tmp_path / "judged.jsonl") == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["judges"] == ["classifier_0", "classifier_1", "likelihood_2"]
    assert abs(found["estimate"]["value"] - found["truth"]["gold"]["value"]) < 0.1
    row = json.loads((tmp_path / "judged.jsonl").read_text().splitlines()[0])
    assert {"p_correct_classifier_0", "p_correct_likelihood_2"} <= set(row)
    capsys.readouterr()
    assert run("predict", judges, tmp_path / "parser") == 2
    assert_snapshot(capsys.readouterr().err)
    assert (
        run("predict", judges, tmp_path / "parser", new) == 0
    )  # one folder has thresholds, the other has none
    assert "at P >= 0.5" not in capsys.readouterr().out
    assert (
        run("train", pairs, "--out", tmp_path / "no", "--kind", "likelihood", "--metric", "bleu")
        == 2
    )
    assert_snapshot(capsys.readouterr().err)
    assert (
        run("train", pairs, "--out", tmp_path / "no", "--kind", "likelihood") == 2
    )  # nothing would set its threshold
    assert_snapshot(capsys.readouterr().err)
