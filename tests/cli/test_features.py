"""--features from the shell: a stranger's CSV in, the columns that moved and the reason why one is not taken out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from oodometer.cli.main import app

from ..snapshots import assert_snapshot

ROWS = 600
NAMES = ("p", "y", "plan", "tenure", "paid", "code")


def write(path: Path, seed: int, shares: list[float], drop: str = "") -> str:
    """Rows of a binary model that errs on the plan "free", whose share is the last of ``shares``."""
    rng = np.random.default_rng(seed)
    plan = rng.choice(["pro", "team", "free"], ROWS, p=shares)
    p = rng.uniform(0.02, 0.98, ROWS).round(3)
    flip = rng.random(ROWS) < np.where(plan == "free", 0.45, 0.03)
    y = (p >= 0.5) ^ flip
    tenure = rng.normal(12, 3, ROWS).round(2).astype(object)
    tenure[:5] = ""
    columns = {
        "p": p,
        "y": y.astype(int),
        "plan": plan,
        "tenure": tenure,
        "paid": rng.random(ROWS) < 0.5,
        "code": [f"c-{i:05d}" for i in range(ROWS)],
    }
    names = [name for name in NAMES if name != drop]
    lines = [",".join(names), *(",".join(str(columns[n][i]) for n in names) for i in range(ROWS))]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("features")
    return (
        write(folder / "reference.csv", 0, [0.5, 0.4, 0.1]),
        write(folder / "target.csv", 1, [0.3, 0.2, 0.5], drop="y"),
    )


def run(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, [*words, "--map", "y=label", "--positive", "p"])
    return found.exit_code, found.output + (f"\n{found.exception}" if found.exception else "")


def test_estimate_tells_which_column_moved_and_what_it_explains(
    files: tuple[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "found.json"
    code, said = run(
        "estimate", *files, "--features", "auto", "--backtest", "none", "--json", str(out)
    )
    assert code == 0, said
    said = " ".join(said.split())
    assert_snapshot(said)
    found = json.loads(out.read_text())
    first, *others = found["diagnosis"]["columns"]
    assert (first["name"], first["kind"], first["matters"]) == ("plan", "category", True)
    assert first["explains"]["upper"] < -0.05
    assert not any(one["moved"] for one in others)
    values = {one["method"]: one["value"] for one in found["estimates"]}
    truth = 0.5 * 0.97 + 0.5 * 0.55
    assert values["mandoline"] == pytest.approx(truth, abs=0.06)
    assert values["importance"] == pytest.approx(truth, abs=0.06)
    assert values["im"] > truth + 0.08  # without the inputs nobody can see it


def test_the_features_tell_a_shift_that_confidence_does_not(files: tuple[str, str]) -> None:
    plain = run("diagnose", *files)[1]
    told = run("diagnose", *files, "--features", "plan,tenure")[1]
    assert_snapshot(plain)
    assert_snapshot(told)
    assert "Your columns" in told


def test_a_missing_column_is_one_line(files: tuple[str, str]) -> None:
    code, said = run("estimate", *files, "--features", "plan,years")
    assert code != 0
    assert (
        f"{files[0]}: column years: expected the column, which is one of the features, got no such column"
        in said
    )
