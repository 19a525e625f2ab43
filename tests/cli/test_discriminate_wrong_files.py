"""Wrong files of `discriminate`: one line that names file, row and column, as the user's file calls it."""

from __future__ import annotations

import importlib
import json
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

entrance = importlib.import_module(
    "oodometer.cli.main"
)  # the package's face gives a function of this name
MAPPED = ("--map", "q=input", "--map", "a=output", "--map", "sql=gold")


def rows(changes: Mapping[str, Any] | None = None, **renamed: str | None) -> str:
    """Six rows, the third with other cells; columns renamed, or left out where the new name is None."""
    found = []
    for number in range(6):
        row: dict[str, Any] = {
            "input": f"q {number}",
            "output": f"o {number % 3}",
            "gold": f"o {number % 2}",
        }
        row |= changes or {} if number == 2 else {}
        found.append(
            {renamed.get(name, name): cell for name, cell in row.items() if renamed.get(name, name)}
        )
    return "".join(json.dumps(row) + "\n" for row in found)


def theirs(changes: Mapping[str, Any] | None = None) -> str:
    """The same under a user's own names."""
    return rows(changes, input="q", output="a", gold="sql")


WRONG: dict[str, tuple[str, tuple[str, ...], str]] = {
    "no input": (rows(input=None), (), "expected a column input, got output, gold; name it with --map theirs=input"),
    "no output": (
        rows(output=None), (), "expected a column output, got input, gold; judges learn from what a model wrote; "
    ),
    "no gold, all columns told": (
        rows(gold="ground_truth"), (), "expected a column gold (or output and correct), got input, output, ground_truth"
    ),
    "a mistyped name": (rows(output="ouput"), (), "got input, ouput, gold; judges learn from what a model wrote; name "
                        "it with --map ouput=output"),
    "capitals": (rows(input="Input", output="Output", gold="Gold"), (), "expected columns input, output and gold, got "
                 "Input, Output, Gold; name them with --map Input=input --map Output=output --map Gold=gold"),
    "other names": (theirs(), (), "expected columns input, output and gold, got q, a, sql; name them with --map"),
    "half renamed": (theirs(), MAPPED[:4], "expected a column gold (or output and correct), got q, a, sql;"),
    "a mistyped renaming": (
        rows(input="question"), ("--map", "questoin=input"), "no column questoin to rename to input; did you mean quest"
    ),
    "empty input": (rows({"input": ""}), (), "row 3: column input: expected a text, got an empty one; drop the row"),
    "null input": (rows({"input": None}), (), "row 3: column input: expected a text, got None"),
    "a number as output": (rows({"output": 5}), (), "row 3: column output: expected a text, got 5; write it as a str"),
    "a list as output": (rows({"output": ["x"]}), (), "row 3: column output: expected a text, got ['x']"),
    "an object as gold": (rows({"gold": {"x": 1}}), (), "row 3: column gold: expected a text, got {'x': 1}"),
    "all outputs empty": (
        rows(output=None).replace('"gold"', '"output": " ", "gold"'), (),
        "column output: expected outputs of a model, got none: all 6 are empty",
    ),
    "empty input, renamed": (theirs({"input": " "}), MAPPED, "row 3: column q (input): expected a text, got an empty"),
    "empty gold, renamed": (theirs({"gold": " "}), MAPPED, "row 3: column sql (gold): expected a gold output, got an "),
    "null gold, renamed": (theirs({"gold": None}), MAPPED, "row 3: column sql (gold): expected a gold output, or whet"),
    "a number, renamed": (theirs({"input": 5}), MAPPED, "row 3: column q: expected a text, got 5"),
    "a conversation": ('{"messages": []}\n', (), "expected columns input, output and gold, got messages; name them"),
}  # fmt: skip


def refused(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """The one line of a command that is refused."""
    assert entrance.main(["discriminate", *map(str, arguments)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize("case", WRONG)
def test_pairs_to_learn_from(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, options, message = WRONG[case]
    (tmp_path / "pairs.jsonl").write_text(text)
    said = refused(
        capsys, "train", tmp_path / "pairs.jsonl", "--out", tmp_path / "judges", *options
    )
    assert said.startswith(f"oodometer: {tmp_path / 'pairs.jsonl'}: ")
    assert message in said
    assert [one.name for one in tmp_path.iterdir()] == ["pairs.jsonl"]


def test_a_packed_file_is_read_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "corpus.jsonl.xz"
    path.write_bytes(lzma.compress(rows(output=None).encode()))
    assert f"{path}: expected a column output" in refused(
        capsys, "train", path, "--out", tmp_path / "judges"
    )


@pytest.mark.parametrize(
    ("text", "calibrated", "message"),
    [
        (rows(output=None), None, "new.jsonl: expected a column output, got input, gold; name it with --map theirs="),
        (theirs(), None, "new.jsonl: expected columns input and output, got q, a, sql; name them with --map"),
        (rows({"gold": " "}), None, "new.jsonl: row 3: column gold: expected a gold output, got an empty one"),
        (rows(gold=None), rows(gold="truth"), "dev.jsonl: expected labelled outputs to set the judges' thresholds on: "
         "a column gold (or correct), got input, output, truth; name it with --map theirs=gold"),
        (rows(gold=None), rows(output=None), "dev.jsonl: expected a column output, got input, gold"),
        (rows(gold=None), rows({"input": ""}), "dev.jsonl: row 3: column input: expected a text, got an empty one"),
    ],
)  # fmt: skip
def test_outputs_to_judge_before_a_judge_is_opened(
    text: str,
    calibrated: str | None,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "judges").mkdir()
    (tmp_path / "new.jsonl").write_text(text)
    (tmp_path / "dev.jsonl").write_text(calibrated or "")
    more = () if calibrated is None else ("--calibrate", tmp_path / "dev.jsonl")
    assert message in refused(capsys, "predict", tmp_path / "judges", tmp_path / "new.jsonl", *more)


def test_counts_stand_on_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    """A line break inside of what is printed is no escape sequence to be shown."""
    from oodometer.cli import output
    from oodometer_lab.verbs.discriminate import TrainedJudges

    held = {"pairs": 2, "inputs": 1, "assumes": "x", "rules": [], "by_judge": []}
    about: dict[str, Any] = {
        "examples": {"words": "8 pairs\nleft out: 1"},
        "dev": {"learnt": 6, "from": "y"},
    }
    output.show(
        TrainedJudges(
            Path("judges"), 1, "exact", {}, held_out=held, warnings=(), level=0.95, seed=0, **about
        )
    )
    said = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in said[1:4]] == [
        "8 pairs",
        "left out: 1",
        "Learnt from 6 pairs; held out: 2 pairs of 1 input (y)",
    ]
