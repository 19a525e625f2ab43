"""Long commands that fill a place of their own: killed they are listed, and go on to the same result, alone there."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from oodometer.cli import main
from oodometer.errors import UsageError
from oodometer.runs import JOB, LOCK, MANIFEST, Kept, Lock, is_locked, read_manifest, running
from oodometer.verbs.history import Run, runs
from oodometer_lab.recipes import RECIPES

from ..snapshots import raises_snapshot

MODEL = """
import os, signal
from pathlib import Path
import numpy as np

def loud(texts):
    told = Path("calls.txt")
    with told.open("a") as file:
        file.write("x\\n")
    if os.environ.get("FATAL") and len(told.read_text().split()) == int(os.environ["FATAL"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return np.array([[0.1, 0.9] if text.isupper() else [0.8, 0.2] for text in texts])
"""
# Calls of the library whose progress ends the process at its third word.
FATAL = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, "TESTS")
calls = []
def fatal(*told):
    calls.append(told)
    if os.environ.get("FATAL") and len(calls) == int(os.environ["FATAL"]):
        os.kill(os.getpid(), signal.SIGKILL)
import oodometer
"""
TOY = """
import importlib.util
from oodometer_lab.recipes import RECIPES, reproduce
spec = importlib.util.spec_from_file_location("oodometer_lab.recipes.toy", "TOY/__init__.py")
sys.modules["oodometer_lab.recipes.toy"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
RECIPES["toy"] = "toy"
reproduce("toy", out="out", report=fatal)
"""
SHIFT_TEXT = (
    'oodometer.shift("texts.jsonl", kind="casing", severity=[0.3, 0.6], out="out", progress=fatal)'
)
SHIFT_IMAGE = 'oodometer.shift("images", kind=["fog", "brightness", "contrast"], severity=2, out="out", progress=fatal)'
TRAIN = """
from oodometer_lab.verbs.discriminate import train_judges
train_judges("pairs.jsonl", "out", judges=2, epochs=1, device="cpu",
    config={"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16},
    all_judges=True, progress=fatal)
"""
SHELL = ["-m", "oodometer"]
PREDICT = """
import oodometer
oodometer.predict("own:loud", "texts.jsonl", out="out.parquet", batch_rows=400, classes=["0", "1"])
"""
STRESS = [
    "texts.jsonl",
    "--model",
    "own:loud",
    "--kind",
    "casing",
    "--classes",
    "0,1",
    "--out",
    "out",
    "--quiet",
]
# The words behind python, and the call at which it is killed.
COMMANDS: dict[str, tuple[list[str], int]] = {
    "predict": (["-c", PREDICT], 5),  # a function is asked twice about a batch
    "stress": ([*SHELL, "stress", *STRESS], 5),
    "shift text": (["-c", FATAL + SHIFT_TEXT], 4),
    "shift image": (["-c", FATAL + SHIFT_IMAGE], 4),
    "reproduce": (
        ["-c", FATAL + TOY.replace("TOY/", f"{Path(__file__).parents[1]}/recipes/kit/toy/")],
        3,
    ),
    "discriminate train": (["-c", FATAL + TRAIN], 0),
}
STAYS = {"stress", "reproduce"}  # whose manifest is in the folder of their results


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Texts, and a model of a function; the folder that this process is in, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own", raising=False)
    monkeypatch.setitem(RECIPES, "toy", "toy")  # and taken out again
    (tmp_path / "own.py").write_text(MODEL)
    rows = "".join(
        f'{{"text": "{word} {i}", "label": {i % 2}}}\n'
        for i in range(600)
        for word in ["up we go", "SO"]
    )
    (tmp_path / "texts.jsonl").write_text(rows)
    return tmp_path


def killed(folder: Path, command: str, fatal: int) -> Run:
    """What is listed of the command, killed in a process of its own at a call."""
    env = {**os.environ, "FATAL": str(fatal)}
    env["PYTHONPATH"] = os.pathsep.join([str(folder), env.get("PYTHONPATH", "")])
    words = [sys.executable, *COMMANDS[command][0]]
    done = subprocess.run(
        words, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    return listed(folder)


def run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says against running, from this process, which has loaded its libraries."""
    first, *words = COMMANDS[command][0]
    if first == "-c":
        try:
            exec(words[0], {})
        except UsageError as error:
            return str(error)
        return ""
    code = main(words[1:])
    return capsys.readouterr().err if code else ""


def content(folder: Path) -> dict[str, str]:
    """Fingerprints of the results, but for what tells of times and of the place."""
    files = [
        one
        for one in sorted(folder.glob("out*/**/*")) + sorted(folder.glob("out.*"))
        if one.is_file()
    ]
    left_out = (MANIFEST, LOCK, "job.json")
    told = [one for one in files if one.name not in left_out and ".steps" not in one.parts]
    return {
        str(one.relative_to(folder)): hashlib.sha256(one.read_bytes()).hexdigest() for one in told
    }


def listed(folder: Path) -> Run:
    (one,) = runs(folder).runs
    return one


def put_more(folder: Path, command: str) -> None:
    if command == "shift image":
        image = pytest.importorskip("PIL.Image")
        (folder / "images").mkdir()
        pixels = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
        for place, one in enumerate(pixels):
            image.fromarray(one).save(folder / "images" / f"{place}.png")
    if command == "stress":
        pytest.importorskip("rapidfuzz")


@pytest.mark.parametrize("command", [one for one in COMMANDS if COMMANDS[one][1]])
def test_a_killed_command_is_listed_and_goes_on_to_the_same_result(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put_more(folder, command)
    one = killed(folder, command, COMMANDS[command][1])
    assert (one.verb, one.status) == (command, "killed")
    assert not is_locked(Path(one.folder) / LOCK)
    with Lock(Path(one.folder) / LOCK, Path(one.folder)):
        assert listed(folder).status == "running"
        assert f"in use by another run (process {os.getpid()}); wait until it has ended" in run(
            command, capsys
        )
    assert listed(folder).status == "killed"  # whoever was refused has touched nothing
    assert run(command, capsys) == ""
    first = content(folder)
    assert first
    if command in STAYS:
        one = listed(folder)
        assert (one.status, one.done) == ("finished", one.parts)
        assert 0 < one.read < one.parts  # what was finished before the kill was not done again
        shutil.rmtree("out")  # a fresh run in the same place, which some results name
    else:
        assert runs(folder).runs == ()  # a finished one leaves its result alone
        assert not [one for one in folder.iterdir() if one.name.startswith(".")]
        for place in folder.glob("out*"):
            shutil.rmtree(place) if place.is_dir() else place.unlink()
    (folder / "calls.txt").unlink(missing_ok=True)
    assert run(command, capsys) == ""
    assert content(folder) == first


def test_a_training_of_judges_is_listed_while_it_lasts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    rows = [
        f'{{"input": "a b {i}", "gold": "A B {i}", "output": "A {"B" if i % 2 else "C"} {i}"}}\n'
        for i in range(60)
    ]
    (folder / "pairs.jsonl").write_text("".join(rows))
    one = killed(folder, "discriminate train", 5)
    assert (one.verb, one.status, Path(one.folder).name) == (
        "discriminate train",
        "killed",
        "out.training",
    )
    with Lock(Path(one.folder) / LOCK, Path(one.folder)):
        assert "in use by another run" in run("discriminate train", capsys)
    assert run("discriminate train", capsys) == ""
    assert runs(folder).runs == ()
    assert (folder / "out" / "judges.json").is_file()


def test_a_folder_without_a_manifest_goes_on_as_before(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever took it away."""
    killed(folder, "predict", COMMANDS["predict"][1])
    parts = folder / ".out.parquet.parts"
    for name in (MANIFEST, LOCK):
        (parts / name).unlink()
    (folder / "calls.txt").unlink()
    assert run("predict", capsys) == ""
    assert (
        len((folder / "calls.txt").read_text().split()) == 2
    )  # two batches were kept, the third is asked about


def test_a_manifest_says_how_a_run_ended(tmp_path: Path) -> None:
    def fail() -> None:
        with running(Kept(tmp_path, {"verb": "stress"})) as kept:
            kept.tell(2, 5, worked=2)
            raise ValueError("no luck")

    with raises_snapshot(ValueError):
        fail()
    assert list(tmp_path.iterdir()) == []  # nothing was kept
    (tmp_path / "b").touch()
    with raises_snapshot(ValueError):
        fail()
    told = read_manifest(tmp_path)
    assert [told[name] for name in ("status", "why", "done", "parts", "read")] == [
        "failed",
        "no luck",
        2,
        5,
        2,
    ]


def test_a_passing_folder_stays_where_something_was_kept(tmp_path: Path) -> None:
    home = tmp_path / ".parts"

    def fail(made: bool) -> None:
        with running(Kept(home, {"verb": "predict"}, "this question"), passing=True) as kept:
            if made:
                kept.keep("part", 1)
            raise ValueError("no luck")

    for made in (False, True):
        with raises_snapshot(ValueError):
            fail(made)
        assert home.exists() == made
    with running(Kept(home, {"verb": "predict"}, "this question"), passing=True) as kept:
        assert kept.piece("part", lambda: 2) == 1
    assert not home.exists()
    with running(Kept(None)) as kept:
        assert [kept.piece("part", lambda: 2), kept.get("part"), kept.get("other")] == [2, 2, None]


def test_pieces_are_of_one_question_and_one_key(tmp_path: Path) -> None:
    kept = Kept(tmp_path, {"verb": "predict"}, "this question")
    with running(kept):
        kept.keep("a", {"right": True})
        (tmp_path / "b.json").write_bytes((tmp_path / "a.json").read_bytes())
        with pytest.warns(
            UserWarning,
            match=r"b\.json: what is stored there is damaged or of another run; it is made an",
        ):
            assert kept.piece("b", lambda: 3) == 3
        (tmp_path / "b.json").write_text("{")
        with pytest.warns(UserWarning, match="it is made anew"):
            assert kept.piece("b", lambda: 4) == 4
        assert pickle.loads(pickle.dumps(kept.sent)).get("a") == {"right": True}
    (tmp_path / "old").mkdir()
    with running(Kept(tmp_path, {"verb": "predict"}, "another question")):
        assert sorted(one.name for one in tmp_path.iterdir()) == [JOB, LOCK, MANIFEST]


def test_a_folder_of_something_else_is_refused_and_the_remedy_works(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with raises_snapshot(UsageError):
        Kept(tmp_path, question="this question").claim("answers")
    home = tmp_path / "out"
    for _ in range(2):
        Kept(home, question="this question").claim("answers")
    (home / JOB).write_text('{"format": 0, "of": "an earlier version"}')
    with raises_snapshot(UsageError):
        Kept(home, question="this question").claim("answers")
    shutil.rmtree(home)
    Kept(home, question="this question").claim("answers")
    with raises_snapshot(UsageError):
        Kept(tmp_path / "thesis.tex", question="this question").claim("answers")
