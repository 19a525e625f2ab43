"""What a command loads: libraries that take longer to import than the work takes stay away from the usual path."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SLOW = ("sklearn", "scipy.stats", "pandas", "polars", "joblib", "matplotlib", "pydantic", "torch")
LISTED = (
    "import json, sys; from oodometer.cli import main; "
    "code = max(map(main, json.loads(sys.argv[2]))); "
    "json.dump(sorted(sys.modules), open(sys.argv[1], 'w')); sys.exit(code)"
)


def loaded_by(folder: Path, *commands: list[str]) -> set[str]:
    """Modules that commands have loaded, one after another in a fresh interpreter."""
    out = folder / "modules.json"
    done = subprocess.run(
        [sys.executable, "-c", LISTED, str(out), json.dumps(commands)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(json.loads(out.read_text()))


def write(path: Path, **arrays: object) -> None:
    """The arrays as Parquet, CSV or NPZ, by the path's ending."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if path.suffix == ".npz":
        np.savez(path, **arrays)  # type: ignore[arg-type]
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(
            pa.table({k: np.asarray(v).tolist() for k, v in arrays.items()}), path
        )
    else:
        wide = {
            f"{'prob' if k == 'probabilities' else 'feature'}_{j}" if np.ndim(v) == 2 else k: column
            for k, v in arrays.items()
            for j, column in enumerate(np.atleast_2d(np.asarray(v).T))
        }
        pyarrow.csv.write_csv(pa.table(wide), path)


@pytest.mark.parametrize("ending", ["npz", "parquet", "csv"])
def test_estimate_by_default_loads_no_slow_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setenv("OODOMETER_CACHE", "")
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.4, 0.4, 0.4], 1500)
    label = np.array([rng.choice(3, p=row) for row in p])
    features = rng.normal(size=(1500, 2)) + p[:, :2]
    write(
        tmp_path / f"reference.{ending}",
        probabilities=p[:800],
        label=label[:800],
        features=features[:800],
    )
    write(tmp_path / f"target.{ending}", probabilities=p[800:], features=features[800:] + 0.2)
    files = [str(tmp_path / f"{name}.{ending}") for name in ("reference", "target")]
    answer = tmp_path / "answer.json"
    loaded = loaded_by(tmp_path, ["estimate", *files, "--json", str(answer)])
    assert not loaded & set(SLOW)
    found = json.loads(answer.read_text())
    assert found["backtest"]["trials"] > 50, "the backtest and its clusters were part of it"
    skipped = {s["method"]: s["why"] for s in found["skipped"]}
    assert "needs" not in skipped.get("threshold-distance", ""), skipped
    assert {"cot", "importance"} <= {e["method"] for e in found["estimates"]}
    named = [word for name in ("source", "ac", "doc", "atc", "cbpe") for word in ("--method", name)]
    loaded = loaded_by(tmp_path, ["estimate", *files, *named, "--backtest", "none"])
    assert not loaded & {*SLOW, "scipy", "multiprocessing"}


def test_other_verbs_load_no_slow_library(tmp_path: Path) -> None:
    """Arrow loads pandas for arrays of its own, too, where it makes one of numpy's or gives one to numpy."""
    p = np.random.default_rng(0).dirichlet([0.7, 0.7], 200)
    sharper = p**2 / (p**2).sum(axis=1, keepdims=True)
    ids = [f"row {i}" for i in range(200)]
    paths = {name: str(tmp_path / f"{name}.csv") for name in ("first", "second", "new", "rows")}
    labels = (np.arange(200) % 7 < 7 * p[:, 1]).astype(int)
    write(tmp_path / "first.csv", probabilities=p, id=ids, label=labels)
    write(tmp_path / "second.csv", probabilities=sharper, id=ids, label=labels)
    write(tmp_path / "new.csv", probabilities=sharper, id=ids)
    (tmp_path / "few.csv").write_text("id,label\n" + "".join(f"row {i},1\n" for i in range(5, 25)))
    loaded = loaded_by(
        tmp_path,
        ["read", paths["first"]],
        ["evaluate", paths["first"], "--by", "label"],
        ["compare", paths["first"], paths["second"]],
    )
    assert not loaded & {*SLOW, "scipy.optimize"}
    asked = ["audit", paths["first"], paths["new"], "--method", "ac"]
    loaded = loaded_by(
        tmp_path,
        [*asked, "--suggest", "5", "--out", paths["rows"]],
        [*asked, "--labels", str(tmp_path / "few.csv")],
    )
    assert "pandas" not in loaded


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["estimate", "--help"]])
def test_help_loads_no_numbers(tmp_path: Path, arguments: list[str]) -> None:
    assert not loaded_by(tmp_path, arguments) & {*SLOW, "numpy", "scipy", "pyarrow"}


def test_a_command_leaves_by_one_door() -> None:
    """What is registered for the end is done and threads are waited for; Python does not take itself apart."""
    code = (
        "import atexit, builtins, sys, threading; from oodometer.__main__ import entry\n"
        "class Kept:\n    def __del__(self): print('taken apart')\n"
        "builtins.kept = Kept(); atexit.register(print, 'at exit')\n"
        "threading.Thread(target=lambda: (threading.main_thread().join(), print('thread'))).start()\n"
        "sys.argv[1:] = ['--version'] if len(sys.argv) < 2 else sys.argv[1:]; entry()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[1:] == ["thread", "at exit"]
    wrong = [sys.executable, "-c", code, "--debug", "diagnose", "absent.csv", "absent.csv"]
    failed = subprocess.run(wrong, capture_output=True, text=True, timeout=60, check=False)
    assert (failed.returncode, failed.stdout) == (1, "thread\nat exit\n")
    assert failed.stderr.startswith("Traceback")


def test_an_audit_loads_no_slow_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OODOMETER_CACHE", "")
    rng = np.random.default_rng(1)
    p = rng.dirichlet([0.5, 0.5], 900)
    label = np.array([rng.choice(2, p=row) for row in p])
    write(tmp_path / "reference.npz", probabilities=p[:500], label=label[:500])
    write(tmp_path / "target.npz", probabilities=p[500:])
    truth = "".join(f"{row},{label[500 + row]}\n" for row in range(0, 400, 10))
    (tmp_path / "labels.csv").write_text("row,label\n" + truth)
    files = [str(tmp_path / name) for name in ("reference.npz", "target.npz", "labels.csv")]
    answer = tmp_path / "audit.json"
    words = ["audit", *files[:2], "--labels", files[2], "--json", str(answer)]
    assert not loaded_by(tmp_path, words) & set(SLOW)
    found = json.loads(answer.read_text())
    assert "hypergeometric" in {one["method"] for one in found["intervals"]}
