"""Run folders of `rank`: kills, damage, changes, other jobs, engines; the same result as without, to the last bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import UsageError
from oodometer.predictions import Predictions
from oodometer.runs import Lock, read_manifest
from oodometer.store import write_predictions
from oodometer.verbs.history import runs
from oodometer_lab.datasets import Dataset, Table
from oodometer_lab.models.opening import SentModel
from oodometer_lab.rankings.explaining import name_of_answers

from ..snapshots import assert_snapshot, raises_snapshot

# Functions whose answers have no short decimals; each call is noted, and one of them may end the process.
MODEL = """
import os, signal, zlib
from pathlib import Path
import numpy as np

def of(right):
    def ask(texts):
        home = Path(__file__).parent
        with (home / "calls.txt").open("a") as file:
            file.write(f"{len(texts)}\\n")
        if os.environ.get("FATAL") and len((home / "calls.txt").read_text().split()) == int(os.environ["FATAL"]):
            os.kill(os.getpid(), signal.SIGKILL)
        noise = np.array([zlib.crc32(f"{one} {right}".encode()) / 2**32 for one in texts])
        p = 1 / (1 + np.exp(-np.array([("good" in one) * 2 - 1 for one in texts]) * right - noise))
        return np.stack([1 - p, p], axis=1)
    return ask
strong, weak = of(1.7), of(0.3)
"""
ROWS, GROUPS = 12, 2  # labelled rows, and groups of them: 4,096 texts at once, 500 a row
PARTS = 2 + 2 * GROUPS
KILLED = """
import os, signal, sys
import oodometer
def progress(done, total):
    if done > 550:  # of 1,000: half of the attributions are there
        os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    oodometer.rank(["own:strong", "own:weak"], examples="few.jsonl", unlabelled="pool.jsonl", attribution="lime",
        samples=500, classes=[0, 1], run_folder="run", engine=sys.argv[1], workers=2, progress=progress)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Models that are functions of a module, labelled rows and a pool."""
    (tmp_path / "own.py").write_text(MODEL)
    said = ["good" if row % 2 else "bad" for row in range(52)]
    rows = [
        {"text": f"a film {row} that is {one}", "label": row % 2} for row, one in enumerate(said)
    ]
    (tmp_path / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:ROWS]))
    pool = [{"text": row["text"]} for row in rows[ROWS:]]
    (tmp_path / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pool))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("own", None)


def asked(folder: str | None = "run", **more: Any) -> dict[str, Any]:
    """What `rank` finds, as plain values, with or without a run folder."""
    given: dict[str, Any] = {
        "models": ["own:strong", "own:weak"],
        "examples": "few.jsonl",
        "unlabelled": "pool.jsonl",
    }
    given |= {"attribution": "lime", "samples": 500, "classes": [0, 1], **more}
    return oodometer.rank(given.pop("models"), run_folder=folder, **given).to_dict()


def calls(home: Path) -> list[int]:
    """Numbers of texts that models were asked since this was last looked at."""
    path = home / "calls.txt"
    found = [int(one) for one in path.read_text().split()] if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def told(name: str = "run") -> tuple[Any, ...]:
    found = read_manifest(Path(name))
    return tuple(found[key] for key in ("status", "done", "parts", "read"))


def states() -> list[Path]:
    return sorted(Path("run", "parts").iterdir())


def shell(home: Path, *words: str, fatal: int | None = None) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "oodometer",
        "rank",
        "own:strong",
        "own:weak",
        "--examples",
        "few.jsonl",
    ]
    command += [
        "--unlabelled",
        "pool.jsonl",
        "--attribution",
        "lime",
        "--samples",
        "500",
        "--classes",
        "0,1",
    ]
    env = {**os.environ, "FATAL": "" if fatal is None else str(fatal)}
    env["PYTHONPATH"] = os.pathsep.join([str(home), env.get("PYTHONPATH", "")])
    return subprocess.run(
        [*command, "--quiet", *words],
        cwd=home,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(("fatal", "kept"), [(2, 1), (7, 4)])
def test_a_killed_command_goes_on_to_the_same_result(home: Path, fatal: int, kept: int) -> None:
    """Killed as the second model answers, and amid a group of its attributions (two calls, and one for the other)."""
    found = shell(home, "--run-folder", "run", fatal=fatal)
    assert found.returncode == -signal.SIGKILL, found.stderr
    (one,) = runs(home).runs
    assert (one.verb, one.status, one.done) == ("rank", "killed", kept)
    assert_snapshot(one.about["models"])
    assert one.about["examples"] == str(home / "few.jsonl")
    calls(home)
    found = shell(home, "--run-folder", "run", "--json", "out.json")
    assert found.returncode == 0, found.stderr
    assert told() == ("finished", PARTS, PARTS, PARTS - kept)
    assert len(calls(home)) == {2: 7, 7: 3}[fatal]
    result = json.loads((home / "out.json").read_text())
    assert {**result, "argv": None} == json.loads(json.dumps({**asked(None), "argv": None}))


@pytest.mark.parametrize(("method", "parts"), [("lime", PARTS), ("kernel-shap", 4)])
def test_with_and_without_a_folder_and_again_the_result_is_the_same(
    home: Path, method: str, parts: int
) -> None:
    fresh = asked(None, attribution=method)
    calls(home)
    assert asked(attribution=method) == fresh
    assert sum(calls(home)) > 2 * 52
    steps: list[tuple[int, int]] = []
    assert asked(attribution=method, progress=lambda *both: steps.append(both)) == fresh
    assert calls(home) == []
    assert told() == ("finished", parts, parts, 0)
    assert steps == [(100, 1000), (1000, 1000)]  # what was kept is done at once


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_part_is_made_anew(home: Path, damage: str) -> None:
    fresh = asked()
    calls(home)
    for path in states():
        content = path.read_bytes()
        at = len(content) // 2
        changed = {"cut": content[:at], "empty": b""}
        path.write_bytes(
            changed.get(damage, content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        )
        with pytest.warns(UserWarning, match="is damaged or of another version; it is made anew"):
            assert asked() == fresh
        assert calls(home)
        assert told() == ("finished", PARTS, PARTS, 1)
    assert asked() == fresh
    assert calls(home) == []


def test_what_depends_on_a_change_is_made_again_and_the_rest_is_kept(home: Path) -> None:
    asked()
    before = states()
    assert len(before) == PARTS
    assert asked(samples=400) == asked(None, samples=400)
    assert told()[-1] == 4  # attributions alone; those that were not used are gone
    assert len(states()) == 4 + 2
    (home / "pool.jsonl").write_text('{"text": "a film that nobody saw is good"}\n')
    assert asked(samples=400) == asked(None, samples=400)
    assert told()[-1] == 2  # both models answer anew, attributions are of the labelled rows
    assert asked(samples=400, seed=1) == asked(None, samples=400, seed=1)
    assert told()[-1] == 4
    with (home / "own.py").open("a") as file:
        file.write("# another model\n")
    asked(samples=400, seed=1)
    assert told()[-1] == 6
    assert asked(samples=400, seed=1, workers=1) == asked(None, samples=400, seed=1, workers=1)
    assert told()[-1] == 4  # tasks have one thread, which may round otherwise


def test_without_attributions_answers_are_kept(home: Path) -> None:
    more = {"attribution": None, "samples": None}
    assert asked(**more) == asked(None, **more)
    calls(home)
    assert asked(**more) == asked(None, **more)
    assert told() == ("finished", 2, 2, 0)
    assert calls(home) == [52, 52]  # of the one without a folder


@pytest.mark.parametrize("engine", ["processes", "local"])
def test_tasks_are_kept_as_they_come(home: Path, engine: str, no_torch: str) -> None:
    paths = [str(home), no_torch, os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    script = KILLED if engine == "processes" else KILLED.replace("workers=2", "workers=1")
    (home / "killed.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "killed.py", engine], cwd=home, env=env, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    kept = len(states())
    assert 2 + 1 < kept < PARTS
    assert [(one.status, one.done) for one in runs(home).runs] == [("killed", kept)]
    calls(home)
    found = asked(workers=1)  # the engine may be another one, since tasks are rounded alike on all
    assert told() == ("finished", PARTS, PARTS, PARTS - kept)
    assert calls(home)
    assert found == asked(None, workers=1)


def test_two_runs_in_one_folder_are_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked()
    calls(home)
    with Lock(home / "run" / "lock", home / "run"):
        words = [
            "rank",
            "own:strong",
            "own:weak",
            "--examples",
            "few.jsonl",
            "--classes",
            "0,1",
            "--run-folder",
            "run",
        ]
        assert main(words) == 2
    assert (
        f"run is in use by another run (process {os.getpid()}); wait until it has ended"
        in capsys.readouterr().err
    )
    assert calls(home) == []


def test_a_folder_of_another_job_is_refused(home: Path) -> None:
    asked()
    with raises_snapshot(UsageError):
        asked(models=["own:weak", "own:strong"])
    (home / "more.jsonl").write_text((home / "few.jsonl").read_text())
    with raises_snapshot(UsageError):
        asked(examples="more.jsonl")
    with raises_snapshot(UsageError):
        asked(unlabelled=None)
    (home / "mine").mkdir()
    (home / "mine" / "notes.txt").write_text("mine")
    with raises_snapshot(UsageError):
        asked("mine")
    assert [one.name for one in (home / "mine").iterdir()] == ["notes.txt"]


def test_what_no_folder_can_keep_is_refused_in_one_line(home: Path) -> None:
    for more, said in (
        (
            {"models": [lambda texts: texts, "own:weak"]},
            "for files, and the models are a function in memory; write",
        ),
        (
            {"examples": {"text": ["a"], "label": [1]}},
            "for files, and the examples are a dict in memory; write it",
        ),
        (
            {"examples": "-"},
            "for files, and the examples are standard input; write it to a file, or leave the run",
        ),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            asked(**more)
        assert "\n" not in str(caught.value)
    record = Predictions.from_probabilities(
        [[0.9, 0.1], [0.2, 0.8]], label=[0, 1], columns={"id": np.array([1, 2])}
    )
    files = [write_predictions(record, home / f"{name}.parquet") for name in "ab"]
    with raises_snapshot(UsageError):
        oodometer.rank(files, run_folder="run")
    assert not (home / "run").exists()


def test_from_the_shell_runs_are_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked()
    assert main(["runs", "run"]) == 0
    said = capsys.readouterr().out
    assert "rank" in said
    assert f"{PARTS} of {PARTS}" in said
    assert "few.jsonl" in said


def test_gradients_of_encoders_are_kept_batch_by_batch(
    home: Path, tiny_encoder: Path, transformers: Any
) -> None:
    """Of networks, with threads: some parts kept, some made anew, to the last bit what one run makes."""
    pytest.importorskip("captum", reason="needs the extra explain: pip install '.[explain]'")
    from oodometer_lab.models import Encoder

    for seed in (1, 2):
        transformers.set_seed(seed)
        model = Encoder.opened(str(tiny_encoder), device="cpu")
        model.net.classifier.weight.data.normal_()
        model.save(home / f"m{seed}")
    texts = ["a good dull film " * (1 + row % 3) for row in range(9)]
    rows = [{"text": text, "label": model.classes[row % 2]} for row, text in enumerate(texts)]
    (home / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given: dict[str, Any] = {
        "models": ["m1", "m2"],
        "classes": None,
        "device": "cpu",
        "attribution": "token-ig",
        "samples": 50,
    }
    fresh = asked(None, **given)
    assert asked(**given) == fresh
    made = states()
    assert len(made) > 2 * 3
    for one in made[::2]:
        one.unlink()
    assert asked(**given) == fresh
    assert told()[-1] == len(made[::2])


TABLES = """
import numpy as np
asked = []

class Tabular:
    classes_ = np.array([0, 1])

    def __init__(self, right):
        self.right = right

    def predict_proba(self, rows):
        asked.append(len(rows))
        p = 1 / (1 + np.exp(-self.right * np.asarray(rows, dtype=float)[:, 0]))
        return np.stack([1 - p, p], axis=1)

strong, weak = Tabular(1.7), Tabular(-0.3)
"""


def test_large_tables_are_asked_about_and_kept_in_batches(home: Path) -> None:
    (home / "tabular.py").write_text(TABLES)
    x = np.random.default_rng(0).normal(size=6000)
    (home / "few.csv").write_text(
        "x,label\n" + "".join(f"{one},{int(one > 0)}\n" for one in x[:20])
    )
    (home / "pool.csv").write_text("x\n" + "".join(f"{one}\n" for one in x[20:]))
    given: dict[str, Any] = {
        "models": ["tabular:strong", "tabular:weak"],
        "attribution": None,
        "samples": None,
    }
    given |= {"examples": "few.csv", "unlabelled": "pool.csv", "inputs": ["x"], "classes": None}
    fresh = asked(None, **given)
    assert asked(**given) == fresh
    parts = told()[2]
    assert parts >= 2 * 3  # of each model: the labelled rows, a batch of the pool, the rest
    assert told() == ("finished", parts, parts, parts)
    import tabular  # type: ignore[import-not-found]

    tabular.asked.clear()
    states()[0].unlink()
    assert asked(**given) == fresh
    assert told() == ("finished", parts, parts, 1)
    assert tabular.asked
    sys.modules.pop("tabular")


def test_names_tell_inputs_of_every_kind_apart() -> None:
    pixels = np.zeros((40, 40, 40, 3), dtype=np.uint8)
    other = pixels.copy()
    other[20, 20, 20, 1] = 1
    inputs: list[Any] = [
        pixels,
        other,
        pixels.reshape(40, 40, 1, 120),
        tuple(pixels),
        tuple(other),
        Table({"a": np.array([1, 2])}),
        Table({"a": np.array([1.0, 2.0])}),
        Table({"b": np.array([1, 2])}),
        Table({"a": np.array(["1", "2"], dtype=object)}),
        Table({"a": np.array([1, None], dtype=object)}),
        ("a", "b"),
        ("ab",),
        ("a\tb",),
        (("a", "b"),),
        (b"a", b"b"),
    ]
    model, second = (
        SentModel("m", ["m", 1], {"device": "cpu"}),
        SentModel("m", ["m", 2], {"device": "cpu"}),
    )
    names = [name_of_answers(model, Dataset("", one)) for one in inputs]
    assert len(set(names)) == len(names)
    assert names == [name_of_answers(model, Dataset("x", one, source="y")) for one in inputs]
    assert name_of_answers(second, Dataset("", ("a", "b"))) not in names
    longer = SentModel("m", ["m", 1], {"device": "cpu", "max_length": 9})
    assert name_of_answers(longer, Dataset("", ("a", "b"))) not in names
