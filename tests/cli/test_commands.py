"""End to end: the commands as a person types them, in processes of their own where the exit code matters."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from oodometer.cli import main
from oodometer.errors import install_line
from oodometer.predictions import Predictions
from oodometer.store import write_predictions
from oodometer.testing import example_record

GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/first_steps.md"
ESTIMATE_KEYS = {"version", "reference", "target", "headline", "estimates", "skipped", "warnings"}
INTERVAL_KEYS = {"value", "lower", "upper", "level", "kind"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a labelled reference and an unlabelled target, in Parquet and CSV."""
    folder = tmp_path_factory.mktemp("files")
    reference, target = example_record(600, seed=1), example_record(400, seed=2, difficulty=1.5)
    slim = ("probabilities", "label", "group", "members")
    for ending in ("parquet", "csv"):
        for name, record in (("reference", reference), ("target", target.without_labels())):
            kept = {f: getattr(record, f) for f in slim if record.has(f)}
            write_predictions(Predictions.from_arrays(**kept), folder / f"{name}.{ending}")
    write_predictions(
        Predictions.from_arrays(label=target.label, classes=range(4)), folder / "labels.parquet"
    )
    write_predictions(target, folder / "labelled.parquet")
    return folder


def run(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """A command in this process, as `run_apart` tells of one in its own: its code and the bytes that it printed."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)
    )
    with redirect_stdout(out), redirect_stderr(err):
        code = main([*map(str, arguments)])
    printed = [stream.buffer.getvalue() for stream in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *printed)


def run_apart(
    *arguments: str | Path, stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own: for what only a process has, and one of each way to end."""
    return subprocess.run(
        [sys.executable, "-m", "oodometer", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        timeout=120,
    )


def test_estimate_prints_a_table_and_writes_json(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    assert (
        main(
            [
                "estimate",
                str(files / "reference.parquet"),
                str(files / "target.csv"),
                "-v",
                "--json",
                str(out),
            ]
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert "Estimated accuracy" in shown
    assert "\natc " in shown
    found = json.loads(out.read_text())
    assert set(found) >= ESTIMATE_KEYS
    assert set(found["headline"]) >= INTERVAL_KEYS | {"method", "trust", "why"}
    assert found["reference"]["rows"] == 600
    assert found["target"]["rows"] == 400
    for one in found["estimates"]:
        assert set(one) >= INTERVAL_KEYS | {"method", "score", "assumes", "citation"}
        assert 0 <= one["lower"] <= one["value"] <= one["upper"] <= 1
        assert one["kind"] in {"exact", "asymptotic", "conditional", "empirical"}
    assert {s["method"] for s in found["skipped"]} >= {"votes", "smoothness"}
    assert all(s["why"] for s in found["skipped"])


def test_json_on_standard_output_is_nothing_but_json(files: Path) -> None:
    done = run_apart(
        "estimate", files / "reference.parquet", files / "target.parquet", "--json", "-"
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["target"]["rows"] == 400
    assert done.stderr == b""


def test_csv_and_parquet_give_the_same_numbers(files: Path) -> None:
    found = []
    for ending in ("parquet", "csv"):
        done = run(
            "estimate", files / f"reference.{ending}", files / f"target.{ending}", "--json", "-"
        )
        found.append({e["method"]: e["value"] for e in json.loads(done.stdout)["estimates"]})
    assert found[0].keys() == found[1].keys()
    for name, value in found[0].items():
        assert found[1][name] == pytest.approx(value, abs=1e-9), name


def test_standard_input_is_a_file(files: Path) -> None:
    done = run_apart(
        "estimate",
        files / "reference.csv",
        "-",
        "--json",
        "-",
        stdin=(files / "target.csv").read_bytes(),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["target"]["rows"] == 400


def test_byte_order_mark_and_carriage_returns_do_no_harm(files: Path, tmp_path: Path) -> None:
    text = (files / "target.csv").read_bytes().replace(b"\n", b"\r\n")
    (tmp_path / "windows.csv").write_bytes(b"\xef\xbb\xbf" + text)
    done = run("estimate", files / "reference.csv", tmp_path / "windows.csv", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["target"]["rows"] == 400


def test_labels_are_printed_beside_the_estimates(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(files / n) for n in ("reference.parquet", "target.parquet", "labels.parquet")]
    assert main(["estimate", *paths[:2], "--labels", paths[2]]) == 0
    assert "True accuracy" in capsys.readouterr().out


def test_slices_are_listed(files: Path) -> None:
    done = run(
        "estimate",
        files / "reference.parquet",
        files / "target.parquet",
        "--by",
        "group",
        "--json",
        "-",
    )
    slices = json.loads(done.stdout)["slices"]
    assert {s["value"] for s in slices} == {"even", "odd"}
    assert sum(s["rows"] for s in slices) == 400


def test_a_column_may_be_renamed(files: Path, tmp_path: Path) -> None:
    text = (files / "reference.csv").read_text().replace("label", "y_true", 1)
    (tmp_path / "theirs.csv").write_text(text)
    done = run(
        "estimate",
        tmp_path / "theirs.csv",
        files / "target.csv",
        "--map",
        "y_true=label",
        "--json",
        "-",
    )
    assert done.returncode == 0, done.stderr


def test_evaluate_prints_intervals(files: Path) -> None:
    done = run("evaluate", files / "labelled.parquet", "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    wanted = (
        "accuracy",
        "brier",
        "ece",
        "ece_equal_mass",
        "smece",
        "ks_calibration_error",
        "auc_coverage",
        "aurc",
        "e_aurc",
        "augrc",
    )
    for name in wanted:
        assert set(found["metrics"][name]) >= INTERVAL_KEYS, name
    assert found["metrics"]["aurc"]["value"] == pytest.approx(
        1 - found["metrics"]["auc_coverage"]["value"]
    )
    assert len(found["per_class"]) == 4


def test_methods_and_cite() -> None:
    listed = json.loads(run("methods", "--json").stdout)["methods"]
    assert {"atc", "cbpe", "gde", "votes"} <= {m["name"] for m in listed}
    done = run("cite", "atc")
    assert done.stdout.startswith(b"@inproceedings{garg2022,")
    assert run("cite", "nothing-like-it").returncode == 2


def test_version_and_help() -> None:
    assert run_apart("--version").stdout.startswith(b"oodometer ")
    shown = run("--help").stdout.decode()
    assert all(command in shown for command in ("estimate", "evaluate", "methods", "cite", "demo"))


# ---------------------------------------------------------------------------------- what goes wrong


def fails_with_one_line(done: subprocess.CompletedProcess[bytes], code: int = 2) -> str:
    """The single line on standard error of a failed run that printed nothing else."""
    text = done.stderr.decode()
    assert done.returncode == code, (done.returncode, text)
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    assert done.stdout == b""
    return text


def test_missing_file(files: Path) -> None:
    assert "nowhere.csv" in fails_with_one_line(
        run_apart("estimate", "nowhere.csv", files / "target.csv")
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("only-one.csv", ["target"]),
        ("a b --no-such-option", []),
        ("R T --method atc-entropi", ["atc-entropy"]),
        ("R T --level 95", ["0.95"]),
        ("R percents.csv", ["percents.csv", "row 1", "prob"]),  # which do not sum to 100
        ("T R", ["reference then target"]),
        ("R predictions.pkl", ["pickle"]),
        ("R folder", []),
        ("R cut.parquet", ["cut.parquet"]),
    ],
)
def test_wrong_input_is_one_line(
    arguments: str, words: list[str], files: Path, tmp_path: Path
) -> None:
    (tmp_path / "percents.csv").write_text("prob_0,prob_1,prob_2,prob_3\n" + "70,10,10,5\n" * 5)
    (tmp_path / "predictions.pkl").write_bytes(pickle.dumps({"label": [1]}))
    (tmp_path / "folder").mkdir()
    whole = (files / "target.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    paths = {one.name: one for one in tmp_path.iterdir()}
    paths |= {"R": files / "reference.csv", "T": files / "target.csv"}
    given = [paths.get(one, one) for one in arguments.split()]
    text = fails_with_one_line(run("estimate", *given, "--backtest", "none")).lower()
    assert all(word in text for word in words), text


def test_an_unknown_command() -> None:
    fails_with_one_line(run_apart("no-such-command"))


def test_nothing_is_written_when_the_output_cannot_be(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "no-such-folder" / "out.json"
    text = run(
        "estimate", files / "reference.csv", files / "target.csv", "--json", out
    ).stderr.decode()
    assert "no-such-folder" in text
    assert text.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_failed_input_leaves_an_earlier_result_alone(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    out.write_text("earlier")
    fails_with_one_line(run("estimate", files / "reference.csv", "nowhere.csv", "--json", out))
    assert out.read_text() == "earlier"


def test_debug_shows_the_traceback(files: Path) -> None:
    done = run_apart("estimate", "nowhere.csv", files / "target.csv", "--debug")
    assert b"Traceback" in done.stderr


def test_a_missing_extra_is_said_before_the_work(files: Path, tmp_path: Path) -> None:
    blocked = (
        "import sys; sys.modules['vl_convert'] = None; from "
        "oodometer.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = [
        "estimate",
        str(files / "reference.csv"),
        str(files / "target.csv"),
        "--report",
        str(tmp_path / "r.html"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", blocked, *arguments], capture_output=True, timeout=120
    )
    text = done.stderr.decode()
    assert done.returncode == 2, text
    assert install_line("report") in text
    assert not (tmp_path / "r.html").exists()


def test_a_closed_pipe_is_no_error(files: Path) -> None:
    command = f"{sys.executable} -m oodometer methods | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, env=os.environ)
    assert done.stderr == b""


@pytest.fixture(scope="module")
def drift(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that the demo wrote, and what it printed."""
    folder, shown = tmp_path_factory.mktemp("drift") / "demo", io.StringIO()
    with redirect_stdout(shown):
        assert main(["demo", "--out", str(folder)]) == 0
    return folder, shown.getvalue()


def test_demo_writes_files_and_tells_where(drift: tuple[Path, str]) -> None:
    folder, shown = drift
    assert "report" in shown
    names = {p.name for p in folder.iterdir()}
    assert {
        "reference.parquet",
        "target_0.parquet",
        "labels_5.parquet",
        "demo.json",
        "report.html",
    } <= names
    found = json.loads((folder / "demo.json").read_text())
    truths = np.array([s["truth"]["value"] for s in found["steps"]])
    heads = np.array([s["headline"]["value"] for s in found["steps"]])
    assert (np.diff(truths) < 0).all(), "the drift makes the model worse at each step"
    assert abs(heads[0] - truths[0]) < 0.03
    assert np.corrcoef(truths, heads)[0, 1] > 0.9


def test_the_table_in_the_guide_is_what_the_demo_finds(drift: tuple[Path, str]) -> None:
    """First steps show what the demo prints; it fails here when the two drift apart."""
    table = (
        GUIDE.read_text(encoding="utf-8")
        .partition("<!-- demo -->")[2]
        .partition("<!-- /demo -->")[0]
    )
    rows = [line for line in table.splitlines() if re.match(r"\| \d", line)]
    steps = json.loads((drift[0] / "demo.json").read_text())["steps"]
    assert len(rows) == len(steps)
    for row, step in zip(rows, steps, strict=True):
        head = step["headline"]
        found = [
            100 * x for x in (head["value"], head["lower"], head["upper"], step["truth"]["value"])
        ]
        # another processor rounds the training differently; three points are eighteen images of 597
        shares = [float(x) for x in re.findall(r"(\d+\.\d) %", row)]
        assert shares == pytest.approx(found, abs=3.0), row
        assert step["name"] in row
