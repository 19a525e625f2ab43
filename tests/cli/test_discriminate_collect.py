"""The command `discriminate collect`: checkpoints of a model in, pairs for judges out; and `predict` of one."""

from __future__ import annotations

import importlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.verbs.discriminate import collect_pairs, train_judges
from oodometer_lab.verbs.discriminate.collecting import checkpoint_folders
from oodometer_lab.verbs.predict import predict

from ..snapshots import raises_snapshot

entrance = importlib.import_module("oodometer.cli.main")
WORDS = [
    "lamp",
    "fan",
    "door",
    "heater",
    "radio",
    "blind",
    "oven",
    "clock",
    "gate",
    "pump",
    "bell",
    "tap",
]


def examples(rows: int, seed: int) -> list[dict[str, str]]:
    draw = random.Random(seed)
    pairs = [(draw.choice(WORDS), draw.choice(["on", "off"])) for _ in range(rows)]
    return [{"input": f"turn {s} the {w}", "gold": f"set ( {w} , {s} )"} for w, s in pairs]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training with snapshots of its own form in `own`, the same as folders of transformers in `run`."""
    torch = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
    torch.set_num_threads(1)
    from oodometer_lab.models.seq2seq import EncoderDecoder, snapshot_folders
    from oodometer_lab.models.torch.training import TrainingConfig

    home = tmp_path_factory.mktemp("collected")
    rows = examples(60, 0)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (home / "train.jsonl").write_text(text, encoding="utf-8")
    sizes = {"d_model": 32, "d_ff": 64, "num_layers": 1, "num_heads": 2, "d_kv": 16}
    training = TrainingConfig(epochs=12, batch_size=20, learning_rate=5e-3, warmup=0.1)
    model = EncoderDecoder(config=sizes, training=training, max_output_length=12)
    model.fit(
        [row["input"] for row in rows],
        [row["gold"] for row in rows],
        snapshots=home / "own",
        every=12,
    )
    for folder in snapshot_folders(home / "own"):
        saved = EncoderDecoder.load(folder)
        to = home / "run" / folder.name.replace("step-", "checkpoint-")
        saved.net.save_pretrained(to)
        saved.tokenizer.save_pretrained(to)
    return home


@pytest.mark.parametrize("form", ["own", "run"])
def test_mistakes_of_checkpoints_become_pairs_that_judges_learn_from(
    home: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from oodometer_lab.models.seq2seq import EncoderDecoder, snapshot_folders

    out = tmp_path / "early.jsonl"
    arguments = ["--examples", home / "train.jsonl", "--out", out, "--max-output-length", 12]
    assert entrance.main(["discriminate", "collect", *map(str, [home / form, *arguments])]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Next: oodometer discriminate train {out} --out judges" in shown
    assert [path.name for path in tmp_path.iterdir()] == ["early.jsonl"], "nothing else stays"
    trained = rows_of(home / "train.jsonl")
    golds = {(row["input"], row["gold"]) for row in trained}
    found = rows_of(out)
    assert {(r["input"], r["output"]) for r in found if r["correct"]} == golds
    beams = {}
    for folder in snapshot_folders(home / "own"):
        answers = EncoderDecoder.load(folder).decode([r["input"] for r in trained], beams=4)
        name = folder.name if form == "own" else folder.name.replace("step-", "checkpoint-")
        beams[name] = {
            (row["input"], " ".join(text.split()))
            for row, outputs in zip(trained, answers.outputs, strict=True)
            for text in outputs
        }
    wrong = [row for row in found if not row["correct"]]
    assert wrong
    assert len(wrong) <= len(golds)
    for row in wrong:
        pair = row["input"], " ".join(row["output"].split())
        assert pair not in golds
        assert pair in beams[row["origin"]]
    judges = train_judges(
        str(out), tmp_path / "judges", judges=1, epochs=1, all_judges=True, seed=1
    )
    assert judges.examples["correct"] == len(golds)
    assert judges.examples["incorrect"] == len(wrong)


def test_an_interrupted_collection_goes_on(home: Path, tmp_path: Path) -> None:
    folders = [home / "run" / f"checkpoint-0000{step}" for step in (12, 24)]
    asked: list[int] = []

    def stop(done: int, total: int) -> None:
        if done > 60:  # the first checkpoint is done
            raise KeyboardInterrupt

    out = tmp_path / "early.jsonl"
    how: dict[str, Any] = {"max_output_length": 12, "seed": 3}
    with pytest.raises(KeyboardInterrupt):
        collect_pairs(folders, home / "train.jsonl", out, progress=stop, **how)
    assert not out.exists()
    assert list((tmp_path / ".early.jsonl.collecting").glob("beams-*.json"))
    found = collect_pairs(
        folders, home / "train.jsonl", out, progress=lambda done, of: asked.append(done), **how
    )
    assert asked[0] == 60, "what is kept is not asked again"
    fresh = collect_pairs(folders, home / "train.jsonl", **how)
    assert found.pairs.outputs == fresh.pairs.outputs
    assert [path.name for path in tmp_path.iterdir()] == ["early.jsonl"]
    assert found.checkpoints == tuple(map(str, folders))


def test_folders_of_checkpoints_stand_for_the_first_five_by_step(tmp_path: Path) -> None:
    for step in (1000, 200, 30, 4000, 500, 60, 7):
        (tmp_path / f"checkpoint-{step}").mkdir()
    found = checkpoint_folders(tmp_path, None)
    assert [path.name for path in found] == [f"checkpoint-{n}" for n in (7, 30, 60, 200, 500)]
    assert len(checkpoint_folders(tmp_path, 7)) == 7
    named = [tmp_path / "checkpoint-4000", tmp_path / "checkpoint-7"]
    assert checkpoint_folders(named, None) == named, "in the order that was named"


def test_calls_that_make_no_sense(home: Path, tmp_path: Path) -> None:
    first = home / "run" / "checkpoint-000012"
    rows = {"input": ["turn on the fan"], "gold": ["set ( fan , on )"]}
    with raises_snapshot(UsageError):
        collect_pairs([first, first], rows)
    with raises_snapshot(InputError):
        collect_pairs(tmp_path / "nowhere", rows)
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    with raises_snapshot(InputError):
        collect_pairs(tmp_path / "bert", rows)
    with raises_snapshot(InputError):
        collect_pairs(first, {"input": ["a"], "answer": ["b"]})
    with raises_snapshot(InputError):
        collect_pairs(first, {"input": ["a", "b"], "gold": ["A", None]})


@pytest.mark.parametrize("form", ["own/step-000048", "run/checkpoint-000024"])
def test_predict_writes_the_best_outputs_of_a_sequence_model(
    home: Path, tmp_path: Path, form: str
) -> None:
    from oodometer_lab.models.seq2seq import EncoderDecoder

    if not (home / form).is_dir():
        form = sorted(str(path.relative_to(home)) for path in (home / "own").iterdir())[-1]
    out = tmp_path / "outputs.jsonl"
    found = predict(home / form, home / "train.jsonl", out=out, max_length=512)
    rows = rows_of(out)
    step = Path(form).name.replace("checkpoint-", "step-")
    trained = rows_of(home / "train.jsonl")
    own = EncoderDecoder.load(home / "own" / step)
    want = own.predict([row["input"] for row in trained], gold=[row["gold"] for row in trained])
    assert [row["output"] for row in rows] == list(want.output)
    assert [row["confidence"] for row in rows] == pytest.approx(list(want.confidence), abs=1e-4)
    assert [row["correct"] for row in rows] == [bool(v) for v in want.verdicts]
    assert found.accuracy is not None
    assert found.accuracy.value == pytest.approx(want.verdicts.mean())
    assert rows[0]["gold"] == trained[0]["gold"]
    with raises_snapshot(UsageError):
        predict(home / form, home / "train.jsonl", views=2)
