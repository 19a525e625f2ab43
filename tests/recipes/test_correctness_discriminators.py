"""The recipe, whole, at a tiny size: its files, its numbers against the library's, what is kept and what done again."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.recipes import find_recipe
from oodometer_lab.recipes import reproduce as reproduce_beside
from oodometer_lab.recipes.base import Workspace

from ..snapshots import raises_snapshot

sys.path.insert(0, str(Path(__file__).parent))
from tiny_cogs import tiny_tasks, write_cogs

torch = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
pytest.importorskip("transformers", reason="needs the extra hf: pip install '.[hf]'")

from oodometer import load  # noqa: E402
from oodometer.store import write_predictions  # noqa: E402
from oodometer_lab.datasets import cogs  # noqa: E402
from oodometer_lab.discriminators import LikelihoodDiscriminator, folds_of  # noqa: E402
from oodometer_lab.models.seq2seq import close_brackets, squeeze  # noqa: E402
from oodometer_lab.recipes.correctness_discriminators import RECIPE  # noqa: E402
from oodometer_lab.recipes.correctness_discriminators import study as work  # noqa: E402

JudgeThresholds, halves, read_judged, read_pairs = (
    work.JudgeThresholds,
    work.halves,
    work.read_judged,
    work.read_pairs,
)
said_of, said_of_parsers = work.said_of, work.said_of_parsers
PAPER = "correctness-discriminators"
reproduce = partial(reproduce_beside, workers=1)  # another process would not see the tiny tasks
HALVES = ["half-0", "half-1", "unseen"]
JUDGES = ["judge-0", "judge-1", "judge-2"]
STEPS = ["parser", "examples", *HALVES, "pretraining", *JUDGES, "ask-dev", "ask-gen", "ask-test"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The recipe at a tiny size, over a tiny COGS."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OODOMETER_DATA", str(write_cogs(tmp_path_factory.mktemp("data"))))
        patch.setattr(RECIPE, "lineup", tiny_tasks)
        yield RECIPE


@pytest.fixture(scope="module")
def reports() -> list[tuple[str, float]]:
    """What the run reports."""
    return []


@pytest.fixture(scope="module")
def finished(tiny: Any, reports: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run of one of the two tasks."""
    out = tmp_path_factory.mktemp("run")
    return reproduce(
        PAPER, out=out, tasks=["cogs"], report=lambda what, share: reports.append((what, share))
    )


def test_leaves_its_files_and_reports_to_the_end(finished: Any, reports: Any) -> None:
    names = [run.name for run in finished.steps]
    assert names == [
        *(f"cogs/{name}" for name in (*STEPS, "self-training", "metric", "study")),
        "tables",
        "figures",
    ]
    for name in (
        "result.json",
        "result.md",
        "cogs/result.json",
        "cogs/judges/judge-2",
        "cogs/halves/fold-1",
    ):
        assert (finished.folder / name).exists()
    assert len(list((finished.folder / "cogs/snapshots").iterdir())) == 2
    assert not list((finished.folder / "cogs/checkpoints").iterdir())
    shares = [share for _, share in reports]
    assert shares == sorted(shares)
    assert reports[-1] == ("done", 1.0)
    assert json.loads((finished.folder / "result.json").read_text()) == finished.result
    assert (finished.folder / "result.md").read_text() == finished.words
    assert finished.result["missing"] == ["pos-cogs"]


def test_predictions_are_files_like_any_other(finished: Any) -> None:
    record = load(finished.folder / "cogs/predictions/gen.parquet")
    assert {"votes", "confidence", "correct", "token_logprobs"} <= set(record.fields)
    assert record.votes.shape == (3, 60)
    said = read_judged(finished.folder / "cogs", "gen")
    assert said.votes is not None
    assert ((said_of(said) >= 0.5) == (said.votes > 0)).all()
    assert said_of_parsers(said).shape == (2, 60)


def test_examples_are_gold_and_mistakes(finished: Any) -> None:

    for part, split in (("train", "train"), ("dev", "dev")):
        record = read_pairs(finished.folder / "cogs", part)
        assert record.input is not None
        assert record.output is not None
        data = cogs(split)
        gold = set(zip(data.inputs, data.targets, strict=True))
        is_gold = [pair in gold for pair in zip(record.input, record.output, strict=True)]
        assert is_gold == (record.verdicts > 0).tolist()
        assert 0 < sum(is_gold) < len(is_gold)


def test_tables_are_the_librarys_numbers(finished: Any) -> None:
    """Every number of a set against plain loops over the predictions file, at one half and at the thresholds."""
    task = finished.result["tasks"]["cogs"]
    dev = read_judged(finished.folder / "cogs", "dev")
    cuts = np.array([row["value"] for row in task["thresholds"]["by_judge"]])
    accepted = (said_of(dev) >= cuts[:3, None]).sum(axis=1)
    assert (
        accepted.tolist() == [int((dev.verdicts > 0).sum())] * 3
    )  # as often as the parser is right
    for (name, told), at in itertools.product(task["sets"].items(), ("thresholds", "half")):
        rows = {row["method"]: row for row in told["methods"]}
        one = told
        if at == "half":
            one = {**told, **told["at_half"]}
            rows |= {row["method"]: row for row in one["methods"]}
        record = read_judged(finished.folder / "cogs", name)
        assert record.votes is not None
        assert record.confidence is not None
        votes, right = record.votes > 0, record.verdicts > 0
        if at == "thresholds":
            votes = said_of(record) >= cuts[:3, None]
        lower = sum(all(column) for column in votes.T) / len(right)
        upper = sum(any(column) for column in votes.T) / len(right)
        assert one["gold"]["value"] == pytest.approx(right.mean(), abs=1e-6)
        assert rows["lower"]["value"]["value"] == pytest.approx(lower, abs=1e-6)
        assert rows["upper"]["value"]["value"] == pytest.approx(upper, abs=1e-6)
        assert rows["mean"]["error"]["value"] == pytest.approx(
            abs((lower + upper) / 2 - right.mean()), abs=1e-6
        )
        assert rows["single"]["value"]["value"] == pytest.approx(votes[0].mean(), abs=1e-6)
        assert rows["max-prob"]["value"]["value"] == pytest.approx(
            (record.confidence > 0.5).mean(), abs=1e-6
        )
        assert rows["ac"]["value"]["value"] == pytest.approx(record.confidence.mean(), abs=1e-6)
        assert one["inside"] == (lower <= right.mean() <= upper)
        types = np.asarray(record.columns["type"])
        for row in one["types"] if at == "thresholds" else []:
            part = types == row["type"]
            assert row["rows"] == part.sum()
            assert row["gold"]["value"] == pytest.approx(right[part].mean(), abs=1e-6)
            assert row["lower"]["value"] == pytest.approx(votes[:, part].all(0).mean(), abs=1e-6)
    assert set(task["sets"]) == {"gen", "test"}


def test_choices_by_hand(finished: Any) -> None:
    """The bounds of four voters, three of which must agree, with slack: confidence votes as well."""
    task = finished.result["tasks"]["cogs"]
    record = read_judged(finished.folder / "cogs", "gen")
    assert record.confidence is not None
    said = np.vstack([said_of(record), said_of_parsers(record), record.confidence])
    cuts = task["thresholds"]["by_judge"]
    names = [
        "classifier_0",
        "classifier_1",
        "classifier_2",
        "likelihood_3",
        "likelihood_4",
        "confidence",
    ]
    assert [row["judge"] for row in cuts] == names
    strict, lenient = (
        said >= np.array([[row[end]] for row in cuts]) for end in ("strict", "lenient")
    )
    who = [0, 1, 2, 5]
    lower = np.mean([sum(column) >= 3 for column in strict[who].T])
    upper = np.mean([sum(column) >= 2 for column in lenient[who].T])
    (row,) = [
        row
        for row in task["sets"]["gen"]["choices"]
        if (row["voters"], row["accept"], row["agree"]) == ("judges and confidence", "slack", 3)
    ]
    assert (row["lower"], row["upper"]) == (
        pytest.approx(lower, abs=1e-5),
        pytest.approx(upper, abs=1e-5),
    )
    assert row["inside"] == (lower <= (record.verdicts > 0).mean() <= upper)
    assert len(task["sets"]["gen"]["choices"]) == 2 + 2 * (2 + 2 + 2 + 3)


def test_voters_of_three_kinds_by_hand(finished: Any) -> None:
    """Three judges, two parsers of halves and the confidence, at thresholds, of which one may disagree."""
    task = finished.result["tasks"]["cogs"]
    cuts = np.array([[row["value"]] for row in task["thresholds"]["by_judge"]])
    for name in ("gen", "test"):
        record = read_judged(finished.folder / "cogs", name)
        votes = (
            np.vstack([said_of(record), said_of_parsers(record), record.confidence]) >= cuts
        ).sum(axis=0)
        right = record.verdicts.mean()
        told = task["sets"][name]["mixed"]
        rows = {row["method"]: row for row in told["methods"]}
        lower, upper = (votes >= 5).mean(), (votes >= 2).mean()
        assert (told["judges"], told["agree"], told["inside"]) == (6, 5, lower <= right <= upper)
        assert rows["lower"]["value"]["value"] == pytest.approx(lower, abs=1e-6)
        assert rows["upper"]["value"]["value"] == pytest.approx(upper, abs=1e-6)
        assert rows["mean"]["error"]["value"] == pytest.approx(
            abs((lower + upper) / 2 - right), abs=1e-6
        )
        assert [row["agree"] for row in told["bounds"]] == [5]
        assert told["subsets"][-1]["lower"]["value"] == pytest.approx(
            lower, abs=1e-6
        )  # all rows drawn


def test_parsers_of_halves_have_not_seen_what_they_answer(finished: Any) -> None:
    """Each mistake on unseen sentences is one of the parser whose fold the sentence is in."""

    home = finished.folder / "cogs"
    inputs = cogs("train").inputs
    fold = dict(zip(inputs, folds_of(inputs).tolist(), strict=True))
    record = read_pairs(home, "train", "unseen")
    wrong = record.verdicts == 0
    assert wrong.any()
    origin = np.asarray(record.columns["origin"]).astype(str)[wrong]
    assert origin.tolist() == [f"fold-{fold[one]}" for one in record.input[wrong]]
    told = json.loads((home / "judges/judge-0.json").read_text())
    assert 0 < told["unseen"] <= wrong.sum()
    judge = LikelihoodDiscriminator.load(home / "halves/fold-0")
    gen = read_judged(home, "gen")
    texts = [one if one.strip() else "." for one in gen.output]
    said = np.exp(judge.model.logprobs(gen.input.tolist(), texts).sums())
    kept = np.asarray(gen.columns["p_correct_likelihood_3"])
    full = np.array([bool(one.strip()) for one in gen.output])
    np.testing.assert_allclose(kept[full], said[full], rtol=1e-4)
    assert (kept[~full] == 0).all()


def test_trainings_from_other_seeds_share_the_pretraining(tiny: Any) -> None:
    other = [step.name for step in RECIPE.steps("small", ["cogs-seed-1"])]
    assert "cogs/pretraining" in other
    assert "cogs/judge-0" not in other
    both = RECIPE.steps("small", ["cogs", "cogs-seed-1"])
    assert [step.name for step in both].count("cogs/pretraining") == 1
    alone = {step.name: (step.files, step.settings) for step in RECIPE.steps("small", ["cogs"])}
    assert all(
        (step.files, step.settings) == alone[step.name]
        for step in both
        if step.name.startswith("cogs/")
    )
    needs = {step.name: step.needs for step in both}
    assert {"cogs/pretraining", "cogs-seed-1/unseen"} < set(needs["cogs-seed-1/judge-1"])


def test_a_task_without_thresholds(finished: Any) -> None:
    """Where every development output is right no threshold follows, and the votes stay as they are."""
    dev = read_judged(finished.folder / "cogs", "dev")
    right = dev.take(np.flatnonzero(dev.verdicts > 0))
    points = JudgeThresholds(right, 0.95)
    assert points.to_dict(right) is None
    assert points.voted(right) is right
    assert points.mixed(right).votes.shape == (6, len(right))
    assert [row["accept"] for row in points.choices(right)] == ["half", "half"]


def test_results_hold_no_text_of_the_data(finished: Any) -> None:
    text = (finished.folder / "result.json").read_text() + finished.words
    assert "beside" not in text
    assert "Emma" not in text


def test_self_training_by_hand(finished: Any, tmp_path: Path) -> None:
    """Judges that accept what is right and a little more: rows, purity and gains recomputed from the file."""

    home = tmp_path / "run"
    shutil.copytree(
        finished.folder / "cogs", home / "cogs", ignore=shutil.ignore_patterns("self_trained")
    )
    record = read_judged(home / "cogs", "gen")
    right = record.verdicts > 0
    lucky = np.arange(60) % 10 == 0
    votes = np.stack([right | lucky, right | lucky, np.ones(60, dtype=bool)]).astype(np.int8)
    # A record is never written over the file it was read from; one that says of no file that it came from it is new.
    write_predictions(
        replace(record, votes=votes, source=None, _cache={}), home / "cogs/predictions/gen.parquet"
    )
    task = tiny_tasks("small")[0]
    shorter = {
        **task.config.parser_plan,
        "epochs": 8,
    }  # the parsers need not be as good as that of the run
    data, steps = work.TaskData(replace(task, config=replace(task.config, parser_plan=shorter))), []
    work.self_train(data, Workspace(home / "cogs"), lambda a, b: steps.append(a / b))
    said = json.loads((home / "cogs/self_training.json").read_text())
    learn, judge = halves(np.asarray(record.columns["type"]).astype(str), seed=0)
    accepted = [i for i in learn if right[i] or lucky[i]]
    assert (said["pool"], said["kept"]) == (len(learn), len(accepted))
    assert said["precision"]["value"] == pytest.approx(right[accepted].mean(), abs=1e-6)
    assert [row["kept"] for row in said["ladder"]] == [len(learn), len(accepted), len(accepted)]
    rows = {one["name"]: one for one in said["sets"]}
    assert {name: one["rows"] for name, one in rows.items()} == {"gen": len(judge), "test": 40}
    assert rows["gen"]["old"]["value"] == pytest.approx(right[judge].mean(), abs=1e-6)
    gain = rows["gen"]["new"]["value"] - rows["gen"]["old"]["value"]
    assert rows["gen"]["new_gain"]["value"] == pytest.approx(gain, abs=2e-6)
    assert steps == sorted(steps)
    assert steps[-1] == 1
    before = (home / "cogs/self_trained/weights.safetensors").stat().st_mtime_ns
    work.self_train(data, Workspace(home / "cogs"), lambda a, b: None)  # finished parsers are kept
    assert (home / "cogs/self_trained/weights.safetensors").stat().st_mtime_ns == before
    assert json.loads((home / "cogs/self_training.json").read_text()) == said


def test_halves_share_every_type() -> None:
    types = np.array(["a"] * 7 + ["b"] * 4 + ["c"])
    learn, judge = halves(types, seed=1)
    assert sorted([*learn, *judge]) == list(range(12))
    assert (types[learn] == "b").sum() == (types[judge] == "b").sum() == 2
    assert (types[learn] == "a").sum() == 4


def test_another_metric(finished: Any) -> None:
    said = finished.result["tasks"]["cogs"]["metric"]["sets"][0]
    record = read_judged(finished.folder / "cogs", "gen")
    assert record.output is not None

    def f1(output: str, gold: str) -> float:
        left, right = output.split(), gold.split()
        shared = sum(min(left.count(word), right.count(word)) for word in set(left))
        return 2 * shared / (len(left) + len(right))

    true = [
        f1(squeeze(close_brackets(o)), squeeze(g))
        for o, g in zip(record.output, record.columns["gold"], strict=True)
    ]
    assert said["true"]["value"] == pytest.approx(np.mean(true), abs=1e-5)
    assert 0 <= said["predicted"]["value"] <= 1
    assert said["error"]["value"] == pytest.approx(
        abs(said["predicted"]["value"] - np.mean(true)), abs=1e-5
    )


def test_the_second_run_keeps_the_work(finished: Any) -> None:
    again = reproduce(PAPER, out=finished.folder, tasks=["cogs"])
    assert [run.name for run in again.steps if not run.kept] == ["tables", "figures"]
    assert again.result == finished.result


def test_what_was_lost_is_done_again(finished: Any) -> None:
    path = finished.folder / "cogs/predictions/gen.parquet"
    before = path.read_bytes()
    path.unlink()
    again = reproduce(PAPER, out=finished.folder, tasks=["cogs"])
    assert [run.name for run in again.steps if not run.kept] == [
        "cogs/ask-gen",
        "tables",
        "figures",
    ]
    assert path.read_bytes() == before
    assert again.result["tasks"]["cogs"]["sets"] == finished.result["tasks"]["cogs"]["sets"]


def test_tasks_join_the_tables(finished: Any, tmp_path: Path) -> None:
    """A task that is done later stands beside the first."""
    home = tmp_path / "run"
    shutil.copytree(finished.folder, home)
    later = reproduce(PAPER, out=home, tasks=["pos-cogs"])
    assert list(later.result["tasks"]) == ["cogs", "pos-cogs"]
    assert later.result["tasks"]["cogs"] == finished.result["tasks"]["cogs"]
    assert later.result["missing"] == []
    whole = reproduce(PAPER, out=home)
    assert [run.name for run in whole.steps if not run.kept] == ["tables", "figures"]
    Workspace(home).write_json("pos-cogs/result.json", {"form": -1})  # of another version
    again = reproduce(PAPER, out=home, tasks=["cogs"])
    assert again.result["missing"] == ["pos-cogs"]


def test_wrong_calls(tiny: Any, tmp_path: Path) -> None:
    with raises_snapshot(UsageError):
        reproduce(PAPER, tasks=["x"])
    with raises_snapshot(UsageError):
        reproduce(PAPER, only=["T5"])
    with raises_snapshot(UsageError):
        reproduce("selective-answering", tasks=["cogs"])
    with raises_snapshot(UsageError):
        RECIPE.steps("small", ["x"])
    (tmp_path / "file").write_text("")
    with raises_snapshot(InputError):
        reproduce(PAPER, out=tmp_path / "file", tasks=["cogs"])
    assert find_recipe(PAPER) is RECIPE
    assert RECIPE.models("small") == ()


def test_a_parser_without_mistakes_says_what_to_do(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def perfect(folders: Any, inputs: Any, outputs: Any, **options: Any) -> Any:
        raise InputError(
            "wrong outputs of the first checkpoints", got="none", remedy="keep earlier checkpoints"
        )

    task = tiny_tasks("small")[1]
    short = replace(task.config, parser_plan={**task.config.parser_plan, "epochs": 5})
    monkeypatch.setattr(RECIPE, "lineup", lambda scale: (replace(task, config=short),))
    monkeypatch.setattr(work.judging, "collect", perfect)
    with raises_snapshot(InputError):
        reproduce(PAPER, out=tmp_path, tasks=["pos-cogs"])
