"""The command `shift` of texts and dialogues: raw files of strangers, several copies, going on, bad input."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import InputError, UsageError
from oodometer_lab.verbs.shift.text import Rows

from ..shifts.test_wordnet import write_wordnet
from ..snapshots import assert_snapshot, raises_snapshot

DIALOGUES = [
    {"id": "a", "turns": ["Is the house big?", "The house is big.", "Good.", "Bye!"]},
    {"id": "b", "turns": ["Alone."]},
    {"id": "c", "turns": []},
    {"id": "d", "turns": ["The big house, the big one?", "Yes, the house."]},
]


def lines(rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    place = tmp_path / "talk.jsonl"
    place.write_text(lines(DIALOGUES))
    return place


def text(*words: object) -> int:
    return main(["shift", "text", *map(str, words)])


def dialogue(*words: object) -> int:
    return main(["shift", "dialogue", *map(str, words)])


def test_every_turn_but_the_first_is_a_reply(
    dialogues: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = dialogues.with_name("out.jsonl")
    assert (
        dialogue(dialogues, "--kind", "insufficient-context", "--severity", "1/2", "--out", out)
        == 0
    )
    assert read(out) == [
        {
            "context": ["The house is big."],
            "id": "a",
            "response": "Good.",
            "turn": 2,
            "source_row": 2,
        },
        {
            "context": ["The house is big.", "Good."],
            "id": "a",
            "response": "Bye!",
            "turn": 3,
            "source_row": 3,
        },
    ]
    said = " ".join(capsys.readouterr().out.split())
    assert_snapshot(said)
    told = json.loads(out.with_suffix(".manifest.json").read_text())
    expected = ("insufficient-context", "1/2", 0, oodometer.__version__)
    assert (told["kind"], told["severity"], told["seed"], told["version"]) == expected
    assert (told["read"], told["rows"], told["words"], told["targets"]) == (4, 2, 2.5, 1.0)


def test_a_context_is_shifted_as_it_is(tmp_path: Path) -> None:
    place, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    place.write_text(
        lines(
            [
                {"context": ["a", "b"], "candidates": ["x", "y"], "label": 1},
                {"context": [], "label": 0},
            ]
        )
    )
    assert dialogue(place, "--kind", "insufficient-context", "--severity", 0.5, "--out", out) == 0
    assert read(out) == [{"context": ["b"], "candidates": ["x", "y"], "label": 1, "source_row": 1}]


def test_unknown_words_from_a_training_file_and_a_wordnet(dialogues: Path, tmp_path: Path) -> None:
    out, wordnet = tmp_path / "out", write_wordnet(tmp_path / "wn")
    training = tmp_path / "train.csv"
    training.write_text("split,text\ntrain,a home\ntest,large\n")
    words = [
        "--training",
        training,
        "--wordnet",
        wordnet,
        "--training-where",
        "split=train",
        "--out",
        out,
    ]
    kinds = [
        "--kind",
        "unknown-words",
        "--kind",
        "known-words",
        "--severity",
        0.2,
        "--severity",
        "1/6",
    ]
    # of "house" and "big" the synonyms are "home", which is known, and "large", which is not
    assert dialogue(dialogues, *kinds, *words) == 0
    assert read(out / "unknown-words-0.2.jsonl")[0]["context"] == ["Is the house Large?"]
    assert {one.name for one in out.glob("*.jsonl")} == {
        f"{kind}-{severity}.jsonl"
        for kind in ("known-words", "unknown-words")
        for severity in ("0.2", "1-of-6")
    }
    out = words[-1] = tmp_path / "more"
    assert (
        dialogue(dialogues, "--kind", "known-words", "--severity", 0.1, "--severity", 0.2, *words)
        == 0
    )
    names = {
        f"known-words-{share}.{ending}"
        for share in ("0.1", "0.2")
        for ending in ("jsonl", "manifest.json")
    }
    assert {one.name for one in out.iterdir()} == names
    first = read(out / "known-words-0.2.jsonl")[0]
    assert first["context"] == ["Is the home big?"]
    told = json.loads((out / "known-words-0.2.manifest.json").read_text())
    assert told["wordnet"] == str(wordnet)
    assert told["training_where"] == {"split": "train"}
    assert told["least"] == 1


def test_words_are_both_kinds_and_the_column_is_that_of_the_training_texts(tmp_path: Path) -> None:
    """The training file has a column `text` as well, in which every synonym would be known."""
    rows = [{"talk": one["turns"], "text": "a large home"} for one in DIALOGUES[:1]]
    (tmp_path / "talk.jsonl").write_text(lines(rows))
    words = ["--training", tmp_path / "talk.jsonl", "--wordnet", write_wordnet(tmp_path / "wn")]
    more = ["--kind", "unknown-words", "--column", "talk", "--severity", 0.2]
    both = ["--out", tmp_path / "out.jsonl"]
    assert dialogue(tmp_path / "talk.jsonl", *more, *words, *both) == 0
    assert read(tmp_path / "out.jsonl")[0]["context"] == ["Is the home big?"]
    known = oodometer.shift(
        tmp_path / "talk.jsonl",
        kind="known-words",
        severity=0.2,
        column="talk",
        training=tmp_path / "talk.jsonl",
        training_column="text",
        wordnet=words[-1],
        out=tmp_path / "known.jsonl",
    )
    assert known.copies[0].rows, "large and home stand in the column that was named"
    (tmp_path / "train.csv").write_text("text\nhome\n")
    words[1] = tmp_path / "train.csv"
    kinds = ["--kind", "words", "--column", "talk", "--severity", 0.2, "--function-words"]
    assert dialogue(tmp_path / "talk.jsonl", *kinds, *words, "--out", tmp_path / "both") == 0
    manifests = {path.name: json.loads(path.read_text()) for path in tmp_path.glob("both/*.json")}
    assert set(manifests) == {f"{kind}-words-0.2.manifest.json" for kind in ("known", "unknown")}
    for told in manifests.values():
        assert told["function_words"] is told["pieces"] is True
    assert text(tmp_path / "talk.jsonl", "--kind", "casing", "--function-words", *more[4:]) == 2


def test_function_words_give_the_contexts_of_the_paper(data_dir: Path, tmp_path: Path) -> None:
    """5,831 there, 392 without them; the same as the shift itself, asked for each context of the corpus."""
    from oodometer_lab.datasets.dialogues import with_replies
    from oodometer_lab.shifts.text import Dropped, UnknownWords, Vocabulary, find_wordnet

    corpus, out = data_dir / "dailydialog.jsonl.xz", tmp_path / "out.jsonl"
    words = ["--training", corpus, "--training-where", "split=train", "--where", "split=test"]
    words += ["--wordnet", data_dir / "wordnet30.tar.xz", "--function-words", "--out", out]
    assert dialogue(corpus, "--kind", "unknown-words", "--severity", 0.4, *words) == 0
    found = read(out)
    assert len(found) >= 5_700
    assert len(found) == pytest.approx(5_831, rel=0.02)
    with lzma.open(corpus, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    training = Vocabulary.of(
        turn for row in rows if row["split"] == "train" for turn in row["turns"]
    )
    shift = UnknownWords(
        training,
        synonyms=find_wordnet(data_dir / "wordnet30.tar.xz"),
        pieces=True,
        function_words=True,
    )
    contexts = [
        tuple(row["turns"][: reply["turn"]])
        for row in rows
        if row["split"] == "test"
        for reply in with_replies(row, "turns", tuple(row["turns"]))
    ]
    applied = [shift.apply(turns, "0.4", row=at) for at, turns in enumerate(contexts, 1)]
    wanted = [list(one.turns) for one in applied if not isinstance(one, Dropped)]
    assert [row["context"] for row in found] == wanted


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("", None), (".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)],
)
def test_tables_keep_every_other_cell(ending: str, pack: Any, tmp_path: Path) -> None:
    place, out = tmp_path / f"a.csv{ending}", tmp_path / "b.csv"
    plain = '\ufeffid,review,stars\r\n1,"Good\n",5\r\n2,"Bad, ""bad""",1\r\n'.encode()
    place.write_bytes(pack(plain) if pack else plain)
    assert text(place, "--kind", "casing", "--severity", 1, "--out", out) == 0
    with out.open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [
            ["id", "review", "stars", "source_row"],
            ["1", "good\n", "5", "1"],
        ]


def test_the_function_gives_what_the_command_prints(dialogues: Path, tmp_path: Path) -> None:
    found = oodometer.shift(dialogues, kind="short-context", severity=[1, 2], out=tmp_path / "out")
    assert [(one.severity, one.rows) for one in found.copies] == [("1", 2), ("2", 1)]
    assert found.to_dict()["refused"] == {
        "a dialogue of one turn, which has no reply": 1,
        "a dialogue without turns": 1,
    }


def test_a_run_that_was_interrupted_goes_on(
    dialogues: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    whole = oodometer.shift(dialogues, kind="casing", severity=[0.3, 0.5], out=tmp_path / "whole")
    first = tmp_path / ".out.part" / "casing-0.3.jsonl"
    from oodometer_lab.shifts.text import Casing

    plain = Casing.check_severity

    def stop(self: Any, severity: Any) -> Any:
        if severity == "0.5" and first.exists():
            raise KeyboardInterrupt
        return plain(self, severity)

    with monkeypatch.context() as patch:
        patch.setattr(Casing, "check_severity", stop)
        with pytest.raises(KeyboardInterrupt):
            oodometer.shift(dialogues, kind="casing", severity=[0.3, 0.5], out=out)
    assert not out.exists()
    before = first.stat().st_mtime_ns
    again = oodometer.shift(dialogues, kind="casing", severity=[0.3, 0.5], out=out)
    assert (out / "casing-0.3.jsonl").stat().st_mtime_ns == before
    assert [one.rows for one in again.copies] == [one.rows for one in whole.copies]
    for one in ("casing-0.3.jsonl", "casing-0.5.jsonl"):
        assert (out / one).read_bytes() == (tmp_path / "whole" / one).read_bytes()


BAD: list[tuple[str, bytes, list[str], str]] = [
    ("a.jsonl", b"", [], "expected at least one row, got none"),
    ("a.jsonl", b'{"text": "a"}\n{"text": \n', [], "row 2: expected a JSON object"),
    ("a.jsonl", b'["text"]\n', [], "row 1: expected a JSON object"),
    ("a.jsonl", b'{"text": null}\n', [], "row 1: column text: expected a text, got None"),
    (
        "a.jsonl",
        b'{"words": "a"}\n',
        [],
        "expected a column with the text, such as text, got the columns words",
    ),
    ("a.jsonl", b'{"text": "a"}\n', ["--column", "x"], "expected a column x, got the columns text"),
    ("a.jsonl", b'{"text": "a"}\n', ["--where", "split=test"], "expected a column split"),
    ("a.jsonl", b'{"text": "a", "s": 1}\n', ["--where", "s=2"], "expected rows with s=2, got none"),
    ("a.jsonl", b'{"text": "a"}\n', ["--where", "split"], "expected COLUMN=VALUE"),
    (
        "a.jsonl",
        b'{"text": ""}\n',
        [],
        "expected rows that casing can shift at the severity 0.5, got none",
    ),
    (
        "a.jsonl",
        '{"text": "é"}\n'.encode("latin-1"),
        [],
        "row 1: expected text in UTF-8, got the byte 0xe9",
    ),
    ("a.csv", b"text,x\na\n", [], "row 1: expected 2 cells, got 1"),
    ("a.csv", b"text,text\na,b\n", [], "two named 'text'"),
    ("a.csv.gz", b"text\na\n", [], "expected a file that can be read"),
    ("a.txt", b"a\n", [], "expected a file of texts that ends in .jsonl"),
    (
        "a.jsonl",
        b'{"text": "a"}\n',
        ["--severity", "0"],
        "above 0 and at most 1, such as 0.2 or 1/6, got '0'",
    ),
    ("a.jsonl", b'{"text": "a"}\n', ["--kind", "case"], "unknown shift 'case'"),
    ("a.jsonl", b'{"text": "a"}\n', ["--kind", "fog"], "fog shifts no texts; those that do are"),
    (
        "a.jsonl",
        b'{"text": "a"}\n',
        ["--kind", "short-context"],
        "these are single texts; choose another kind",
    ),
    (
        "a.jsonl",
        b'{"text": "a"}\n',
        ["--kind", "unknown-words"],
        "unknown-words needs the texts that the model was",
    ),
    (
        "a.jsonl",
        b'{"text": "a"}\n',
        ["--training", "a.jsonl"],
        "training belongs to another kind of shift",
    ),
]


@pytest.mark.parametrize(
    ("name", "held", "more", "words"), BAD, ids=[f"{i}-{one[3][:24]}" for i, one in enumerate(BAD)]
)
def test_bad_input(
    name: str,
    held: bytes,
    more: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / name).write_bytes(held)
    given: list[object] = ["--kind", "casing"] if "--kind" not in more else []
    given += ["--severity", 0.5] if "--severity" not in more else []
    out = tmp_path / f"out{Path(name.removesuffix('.gz')).suffix}"
    assert text(tmp_path / name, *given, *more, "--out", out) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == [name]


def test_places_that_are_taken_or_none(dialogues: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "file").touch()
    for out, severity, words in (
        (dialogues, 1, "the file that is read"),
        (taken, [1, 2], "there already"),
        (tmp_path / "no" / "out.jsonl", 1, "there is no folder"),
        (tmp_path / "out.csv", 1, r"end its name in \.jsonl"),
        (tmp_path / "out.jsonl", [1, 2], "several copies go into a folder"),
    ):
        with pytest.raises(UsageError, match=words):
            oodometer.shift(dialogues, kind="short-context", severity=severity, out=out)
    table = tmp_path / "a.csv"
    table.write_text("turns\na\n")
    with raises_snapshot(InputError):
        oodometer.shift(table, kind="short-context", severity=1, out=tmp_path / "out.csv")


def test_logs_of_chats(tmp_path: Path) -> None:
    """What the assistant says is a reply, what the user says is none."""
    place, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    messages = [
        {"role": "user", "content": "The house"},
        {"role": "assistant", "content": "Yes"},
        {"role": "user", "text": "No"},
        {"role": "assistant", "text": "Good"},
    ]
    place.write_text(
        lines([{"id": 7, "messages": messages}, {"id": 8, "messages": messages[2:3] * 2}])
    )
    assert dialogue(place, "--kind", "casing", "--severity", "1/2", "--out", out) == 0
    first, second = read(out)
    assert (first["response"], first["turn"], first["id"]) == ("Yes", 1, 7)
    assert [one["role"] for one in second["context"]] == ["user", "assistant", "user"]
    assert (second["response"], second["turn"]) == ("Good", 3)
    assert second["context"] != messages[:3]
    oodometer.shift(
        place,
        kind="insufficient-context",
        severity="1/2",
        column="messages",
        out=tmp_path / "c.jsonl",
    )
    assert read(tmp_path / "c.jsonl")[0]["context"] == messages[1:3]


@pytest.mark.parametrize(
    "value", ["one text", ["a", 1], None, {"a": 1}, ["a", {"role": "user"}], ["a", {"text": 1}]]
)
def test_turns_that_are_none(value: Any, tmp_path: Path) -> None:
    place = tmp_path / "a.jsonl"
    place.write_text(lines([{"turns": ["a", "b"]}, {"turns": value}]))
    with raises_snapshot(InputError):
        oodometer.shift(place, kind="short-context", severity=1, out=tmp_path / "out.jsonl")


def test_progress_never_passes_its_end(tmp_path: Path) -> None:
    place = tmp_path / "a.jsonl"
    place.write_text(lines([{"text": f"word{i} and more"} for i in range(1_200)]))
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        told.append((done, total))

    oodometer.shift(
        place, kind="casing", severity=[0.4, 0.7], out=tmp_path / "out", progress=progress
    )
    assert told == [(500, 0), (1_000, 0), (1_700, 2_400), (2_200, 2_400)]


def test_long_cells_are_read_and_the_process_keeps_its_limit(tmp_path: Path) -> None:
    place, before = tmp_path / "a.csv", csv.field_size_limit()
    place.write_text(f"text\n{'word ' * 40_000}\nshort text\n")
    seen: list[int] = []
    oodometer.shift(place, kind="casing", severity=0.5, out=tmp_path / "b.csv")
    for _ in Rows(place):
        seen.append(csv.field_size_limit())
    assert seen == [before, before]
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("row", "more", "modality"),
    [
        ({"turns": ["The house", "It is big."]}, [], "dialogue"),
        ({"talk": ["The house", "It is big."]}, ["--column", "talk"], "dialogue"),
        ({"text": "The house is big", "turns": ["a", "b"]}, [], "text"),
        ({"text": "The house is big", "turns": ["a b", "c d"]}, ["dialogue"], "dialogue"),
        ({"review": "The house is big"}, [], "text"),
    ],
)
def test_the_first_row_says_whether_there_are_dialogues(
    row: Any, more: list[str], modality: str, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text(lines([row]))
    first, more = (more, []) if more == ["dialogue"] else ([], more)
    words = [
        "shift",
        *first,
        tmp_path / "a.jsonl",
        "--kind",
        "casing",
        "--severity",
        1,
        "--out",
        tmp_path / "b.jsonl",
    ]
    assert main([*map(str, [*words, *more]), "--json", str(tmp_path / "c.json")]) == 0
    assert json.loads((tmp_path / "c.json").read_text())["command"] == f"shift {modality}"
    assert ("response" in read(tmp_path / "b.jsonl")[0]) == (modality == "dialogue")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["a.jsonl", "--kind", "casing", "--input", "x"],
            "--input is of images, and what is shifted here is texts",
        ),
        (["a.jsonl", "--kind", "casing", "--on-error", "skip"], "--on-error is of images"),
        (
            ["a.npz", "--kind", "fog", "--column", "x"],
            "--column is of texts and dialogues, and what is shifted here is",
        ),
        (["a.npz", "--kind", "fog", "--turns", "2"], "--turns is of texts and dialogues"),
        (["a.npz", "--kind", "fog", "--where", "a=b"], "--where is of texts and dialogues"),
        (["image", "a.jsonl", "--kind", "casing"], "casing shifts no images; those that do are"),
        (["a.jsonl", "b.jsonl", "--kind", "casing"], "expected one DATA, got 2"),
        (["sound", "a.jsonl", "--kind", "casing"], "expected one DATA, got 2"),
    ],
)
def test_an_option_of_other_data_is_refused(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text(lines([{"text": "a b"}]))
    assert main(["shift", *words, "--severity", "1", "--out", "never.jsonl"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
