"""The discriminators at the scale `paper`, whole but for the downloads: a tiny T5 and a tiny CFQ beside each other."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, WorkError
from oodometer_lab.recipes import reproduce as reproduce_beside

torch = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
transformers = pytest.importorskip("transformers", reason="needs the extra hf: pip install '.[hf]'")

from oodometer_lab.recipes.correctness_discriminators import RECIPE  # noqa: E402
from oodometer_lab.recipes.correctness_discriminators.study import read_judged  # noqa: E402
from oodometer_lab.recipes.correctness_discriminators.tasks import Task, tasks_of  # noqa: E402

PAPER, TASK = "correctness-discriminators", "cfq-mcd1"
reproduce = partial(reproduce_beside, workers=1)  # another process would not see the tiny tasks
TRAIN, TEST = 40, 16


def write_cfq(home: Path) -> list[str]:
    """A release of CFQ with few questions, queries over several lines as there; returns all of its texts."""
    verbs = {"directed": "ns:film.director", "wrote": "ns:film.writer", "edited": "ns:film.editor"}
    rows = [
        {
            "questionPatternModEntities": f"Was M{one} {verb} by M{other}",
            "sparqlPatternModEntities": f"SELECT count(*) WHERE {{\nM{one} {relation} M{other}\n}}",
        }
        for one in range(5)
        for other in range(5)
        if one != other
        for verb, relation in verbs.items()
    ]
    (home / "cfq" / "splits").mkdir(parents=True)
    (home / "cfq" / "dataset.json").write_text(json.dumps(rows))
    order = np.random.default_rng(0).permutation(len(rows)).tolist()
    places = {"trainIdxs": order[:TRAIN], "devIdxs": [], "testIdxs": order[-TEST:]}
    for division in ("mcd1", "mcd2"):
        (home / "cfq" / "splits" / f"{division}.json").write_text(json.dumps(places))
    return [" ".join(text.split()) for row in rows for text in row.values()]


def write_t5(folder: Path, texts: list[str]) -> None:
    """An untrained T5 of a few thousand weights as transformers saves it; as the real one it cannot spell { and }."""
    words = sorted(
        {word for text in [*texts, "Correct Incorrect |"] for word in text.split()} - {"{", "}"}
    )
    letters = sorted({letter for word in words for letter in word} | {"§", "¶"})
    pieces = [
        *((one, 0.0) for one in ("<pad>", "</s>", "<unk>")),
        *((f"▁{word}", -2.0) for word in words),
    ]
    tokenizer = transformers.T5Tokenizer(
        vocab=[*pieces, ("▁", -3.0), *((one, -6.0) for one in letters)], extra_ids=0
    )
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_ff=32,
        d_kv=8,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    transformers.set_seed(0)
    net = transformers.T5ForConditionalGeneration(config)
    assert sum(one.numel() for one in net.parameters()) < 20_000
    net.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def tiny_paper(scale: str) -> tuple[Task, ...]:
    """The paper's tasks as they are, their trainings a few steps long; CFQ MCD1 has another metric as well."""
    changes = {
        "every": 1,
        "checkpoints": 2,
        "judges": 2,
        "beams": 2,
        "longest_output": 12,
        "draws": 5,
    }
    found = []
    for task in tasks_of(scale):
        plans = {
            "parser_plan": {**task.config.parser_plan, "epochs": 2},
            "judge_plan": {**task.config.judge_plan, "epochs": 1},
        }
        metric = "token_f1" if task.name == TASK else task.metric
        found.append(replace(task, config=replace(task.config, **changes, **plans), metric=metric))
    return tuple(found)


@pytest.fixture(scope="module")
def data(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of data with the models of the paper's names; no hub answers."""
    torch.set_num_threads(1)
    home = tmp_path_factory.mktemp("paper")
    write_t5(home / "t5-base", write_cfq(home))
    shutil.copytree(encoder, home / "roberta-base")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OODOMETER_DATA", str(home))
        patch.setattr("oodometer_lab.datasets.files.hub_answers", lambda: False)
        patch.setattr(RECIPE, "lineup", tiny_paper)
        yield home


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A whole run of one task."""
    return reproduce(PAPER, scale="paper", out=tmp_path_factory.mktemp("run"), tasks=[TASK])


def test_it_runs_to_its_tables_from_the_saved_models(finished: Any, data: Path) -> None:
    from oodometer_lab.discriminators import GenerativeDiscriminator, load_discriminator
    from oodometer_lab.models.seq2seq import EncoderDecoder

    home = finished.folder / TASK
    parser = EncoderDecoder.load(home / "parser")
    judges = [load_discriminator(home / f"judges/judge-{place}") for place in range(2)]
    small = json.loads((data / "t5-base" / "config.json").read_text())
    assert (parser.net.config.d_model, parser.net.config.vocab_size) == (16, small["vocab_size"])
    assert [type(one) for one in judges] == [GenerativeDiscriminator] * 2
    record = read_judged(home, "test")
    assert record.votes.shape == (2, TEST)
    assert set(record.columns["gold"]) < {
        f"SELECT count(*) WHERE {{ M{a} ns:film.{role} M{b} }}"
        for a in range(5)
        for b in range(5)
        for role in ("director", "writer", "editor")
    }
    one = finished.result["tasks"][TASK]
    rows = {
        row["method"]: row["value"]["value"]
        for row in one["sets"]["test"]["methods"]
        if row.get("value")
    }
    assert rows["lower"] == pytest.approx((record.votes > 0).all(axis=0).mean(), abs=1e-6)
    assert rows["upper"] == pytest.approx((record.votes > 0).any(axis=0).mean(), abs=1e-6)
    assert one["sets"]["test"]["paper"] == "MCD1"
    assert one["metric"]["sets"][0]["rows"] == TEST
    assert set(finished.result["missing"]) == {task.name for task in tasks_of("paper")} - {TASK}


def test_a_finished_run_needs_the_models_no_more(finished: Any, data: Path, tmp_path: Path) -> None:
    away = {name: shutil.move(data / name, tmp_path / name) for name in ("t5-base", "roberta-base")}
    try:
        again = reproduce(PAPER, scale="paper", out=finished.folder, tasks=[TASK])
    finally:
        for name, place in away.items():
            shutil.move(place, data / name)
    assert [run.name for run in again.steps if not run.kept] == ["tables", "figures"]
    assert again.result == finished.result


def test_a_model_that_is_missing_is_said_before_anything_is_trained(
    data: Path, tmp_path: Path
) -> None:
    """The one of the last step, and a folder without weights."""
    for lost, got in (
        (data / "roberta-base", "none on the hub"),
        (data / "t5-base", "a folder that is not whole"),
    ):
        kept = shutil.copytree(lost, tmp_path / f"kept-{lost.name}")
        if lost.name == "roberta-base":
            shutil.rmtree(lost)
        else:
            (lost / "model.safetensors").unlink()
        try:
            with pytest.raises(
                InputError, match=f"expected the pretrained model {lost.name}, got {got}"
            ) as raised:
                reproduce(PAPER, scale="paper", out=tmp_path / "run", tasks=[TASK])
        finally:
            shutil.rmtree(lost, ignore_errors=True)
            shutil.move(kept, lost)
        assert f"as the folder {lost.name} in the folder of OODOMETER_DATA" in str(raised.value)
        assert not any((tmp_path / "run").iterdir())


def test_all_that_is_missing_is_said_in_one_line(data: Path, tmp_path: Path) -> None:
    shutil.move(data / "cfq", tmp_path / "cfq")
    shutil.move(data / "t5-base", tmp_path / "t5-base")
    try:
        with pytest.raises(WorkError) as raised:
            reproduce(PAPER, scale="paper", out=tmp_path / "run")
    finally:
        shutil.move(tmp_path / "cfq", data / "cfq")
        shutil.move(tmp_path / "t5-base", data / "t5-base")
    said = str(raised.value)
    assert "(1) CFQ MCD1, CFQ MCD2: cannot load google-research-datasets/cfq from the hub" in said
    for name in (
        "COGS, ",
        "cogs.tar.xz",
        "TOPv2: ",
        "AMR 2.0: ",
        "PTB tags, PTB trees: ",
        "t5-base: expected the pre",
    ):
        assert name in said
    assert "roberta-base" not in said
    assert not any((tmp_path / "run").iterdir())
