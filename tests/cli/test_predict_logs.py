"""End to end: a log of a harness to a predictions file, and from there to an estimate; bad use in one line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.cli import main

from ..snapshots import assert_snapshot

LOGS = Path(__file__).parents[1] / "store" / "harness" / "logs"
MC = LOGS / "samples_animals_mc_2026-11-22T11-43-31.774448.jsonl"

SUMS = LOGS / "samples_sums_gen_2026-11-22T11-43-31.774448.jsonl"


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    code = main(list(map(str, arguments)))
    seen = capsys.readouterr()
    return code, seen.out, seen.err


def quiz(path: Path, rows: int, seed: int, gain: float) -> float:
    """Write a log of questions with two to five options; the share of right answers in it."""
    rng = np.random.default_rng(seed)
    lines, right = [], []
    for number in range(rows):
        count = int(rng.integers(2, 6))
        gold = int(rng.integers(count))
        scores = rng.normal(size=count) - 8
        scores[gold] += gain
        scores *= gain
        right.append(float(np.argmax(scores) == gold))
        answers = [[str(one), "False"] for one in scores.tolist()]
        asked = {
            f"gen_args_{i}": {"arg_0": f"Q{number}", "arg_1": f" option {i}"} for i in range(count)
        }
        lines.append(
            {
                "doc_id": number,
                "doc": {},
                "target": str(gold),
                "arguments": asked,
                "resps": [],
                "filtered_resps": answers,
                "filter": "none",
                "metrics": ["acc"],
                "acc": right[-1],
            }
        )
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return float(np.mean(right))


@pytest.mark.parametrize("kind", ["lm_eval", "inspect", "folder"])
@pytest.mark.parametrize("command", ["evaluate", "estimate", "compare"])
def test_a_log_is_read_by_every_command_as_its_predictions_file(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    kind: str,
) -> None:
    """The log itself, and the file that `read` writes of it, give the same numbers."""
    monkeypatch.chdir(tmp_path)
    log = tmp_path / {"lm_eval": MC.name, "inspect": "log.json", "folder": "logs"}[kind]
    if kind == "folder":
        log.mkdir()
    source = LOGS / "inspect_animals.json" if kind == "inspect" else MC
    (log / MC.name if kind == "folder" else log).write_bytes(source.read_bytes())
    assert run(capsys, "read", log, "--out", "written.parquet")[0] == 0
    said = []
    for file in (log, "written.parquet"):
        files = [file] * (1 if command == "evaluate" else 2)
        code, out, _ = run(capsys, command, *files, "--json", "-")
        assert code in (0, 2)
        said.append((code, json.loads(out or "{}")))
    names = {"evaluate": "metrics", "estimate": "headline", "compare": "difference"}
    assert said[0][0] == said[1][0]
    first, second = (found.get(names[command]) for _, found in said)
    assert first == second or (command == "compare" and first["value"] == second["value"])
    assert command != "evaluate" or said[0][1]["metrics"]


def test_totals_and_chats_without_a_reply_are_told_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files: dict[str, Any] = {
        "results_2026.json": {"results": {}, "configs": {}},
        "chat.jsonl": {"id": 0, "messages": [{"role": "user", "content": "hello"}]},
    }
    for name, row in files.items():
        (tmp_path / name).write_text(json.dumps(row))
    (tmp_path / "x.eval.xz").write_bytes(b"\xfd7zXZ")
    totals, chat, packed = (run(capsys, "read", tmp_path / name) for name in (*files, "x.eval.xz"))
    assert [code for code, _, _ in (totals, chat, packed)] == [2, 2, 2]
    assert_snapshot(totals[2])
    assert_snapshot(chat[2])
    assert_snapshot(packed[2])
    quiz(tmp_path / "samples_quiz_1.jsonl", 9, 0, 1.0)
    command = run(capsys, "read", tmp_path / "results_2026.json")[2].split("`")[1]
    assert command == f"oodometer read {tmp_path}/samples_quiz_1.jsonl --out samples_quiz_1.parquet"


def test_from_logs_to_an_estimate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shares = {}
    for name, rows, gain in (("in_domain", 800, 1.6), ("shifted", 600, 1.2)):
        log = tmp_path / f"samples_{name}_2026-01-02T03-04-05.6.jsonl"
        shares[name] = quiz(log, rows, rows, gain)
        code, out, err = run(
            capsys, "read", log, "--out", tmp_path / f"{name}.parquet", "--json", "-"
        )
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert found["accuracy"]["value"] == pytest.approx(shares[name])
        assert found["data"] == name
    code, out, _ = run(
        capsys,
        "estimate",
        tmp_path / "in_domain.parquet",
        tmp_path / "shifted.parquet",
        "--method",
        "ac",
        "--json",
        "-",
    )
    assert code == 0
    report = json.loads(out)
    assert report["reference"]["accuracy"] == pytest.approx(shares["in_domain"])
    assert report["estimates"][0]["value"] == pytest.approx(shares["shifted"], abs=0.08)


def test_the_verb_gives_the_record() -> None:
    found = oodometer.predict(MC, metric="acc_norm")
    assert found.rows == 3
    assert found.accuracy.value == pytest.approx(2 / 3)
    assert found.record.label.tolist() == [1, 0, 1]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow", ".npz"])
def test_each_format_reads_back(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"p{ending}"
    oodometer.predict(MC, out=out)
    record = oodometer.load(out)
    assert record.candidate_scores.lengths.tolist() == [3, 2, 4]
    assert record.accuracy == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no_such_model"], "a live model needs DATA"),
        (["{folder}/other.jsonl"], "expected a log, got another file"),
        ([str(MC), "data.csv"], "holds the answers already: leave data.csv out"),
        ([str(LOGS), "data.csv"], "holds the answers already: leave data.csv out"),
        ([str(MC), "--views", "3"], "only --metric, --filter and --keep-input go with it"),
        (
            [str(MC), "--metric", "f1"],
            "expected a metric of this log, got 'f1'; there are acc (0 or 1, mean 0.3333)",
        ),
        (
            ["{folder}/other.jsonl", "{folder}/other.jsonl", "--metric", "acc"],
            "--metric and --filter are of logs",
        ),
    ],
)
def test_bad_use_is_one_line_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (tmp_path / "other.jsonl").write_text('{"text": "a", "label": 1}\n')
    out = tmp_path / "out.parquet"
    code, _, err = run(
        capsys, "predict", *(one.format(folder=tmp_path) for one in arguments), "--out", out
    )
    assert code == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert not out.exists()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other.jsonl"]


def test_the_log_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / MC.name
    log.write_bytes(MC.read_bytes())
    for command in ("read", "predict"):
        code, _, err = run(capsys, command, log, "--out", log)
        assert code == 2
        assert "write over the input" in err or "one file" in err
        assert log.read_bytes() == MC.read_bytes()


@pytest.mark.lab
def test_predict_reads_a_log_too_and_names_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [
        json.loads(
            run(capsys, command, MC, "--out", tmp_path / f"{command}.parquet", "--json", "-")[1]
        )
        for command in ("read", "predict")
    ]
    assert said[1]["warnings"] == [
        *said[0]["warnings"],
        "a log has a command of its own, `oodometer read LOG`",
    ]
    names = ("accuracy", "rows", "fields", "log", "metrics")
    assert [said[0][name] for name in names] == [said[1][name] for name in names]


def test_a_wrong_choice_is_refused_with_the_command_that_reads_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["read", str(SUMS), "--out", str(tmp_path / "sums.parquet"), "--filter", "odd"]
    code, _, said = run(capsys, *words)
    assert code == 2
    command = said.strip().partition("; try: oodometer ")[2]
    assert command.count("--filter") == 1
    assert run(capsys, *shlex.split(command))[0] == 0
    assert (tmp_path / "sums.parquet").is_file()
