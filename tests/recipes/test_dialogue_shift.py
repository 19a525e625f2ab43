"""The recipe on dialogues, whole, at a tiny size: its sets, its numbers against the library's, its claims."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.calibrators.temperature import fit_temperature
from oodometer.metrics import Brier, ExpectedCalibrationError
from oodometer_lab.recipes import reproduce
from oodometer_lab.recipes.base import Workspace

torch = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
pytest.importorskip("rapidfuzz", reason="needs the extra text: pip install '.[text]'")
transformers = pytest.importorskip("transformers", reason="needs the extra hf: pip install '.[hf]'")

sys.path.insert(0, str(Path(__file__).parent))
from tiny_dialogues import write_dialogues, write_wordnet  # noqa: E402

from oodometer.errors import InputError  # noqa: E402
from oodometer_lab.models.tokens import learn_wordpiece  # noqa: E402
from oodometer_lab.recipes.base import judged  # noqa: E402
from oodometer_lab.recipes.dialogue_shift import RECIPE  # noqa: E402
from oodometer_lab.recipes.dialogue_shift.findings import PAGE, claims_of  # noqa: E402
from oodometer_lab.recipes.dialogue_shift.study import (  # noqa: E402
    BINS,
    METRICS,
    RUN_CONFIGS,
    Answers,
    Bootstrap,
    RunConfig,
    RunData,
    Study,
    conditions_of,
)
from oodometer_lab.recipes.kit.sources import load_answers  # noqa: E402

PAPER = "dialogue-shift"
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


FROZEN = {
    "source": "somebody/tiny-encoder",
    "max_length": 32,
    "turns": 6,
    "hidden": 8,
    "dropout": 0.1,
}


def tiny(scale: str, **more: Any) -> RunConfig:
    """The config of a scale with a network and sets of the smallest size."""
    usual = RUN_CONFIGS[scale]
    small: dict[str, Any] = {
        "network": FROZEN,
        "training": replace(usual.training, precision="float32"),
        "members": 6,
        "ensemble": 2,
        "dropout_members": 6,
        "dropout_conditions": None,
        "dropout_passes": 2,
        "train_conversations": 30,
        "train_rows": 40,
        "dev_rows": 20,
        "rows": 30,
        "word_rows": 30,
        "turns_rows": 12,
        "length_rows": 8,
        "ratios": (0.1, 0.3),
        "deleted": (0, 5),
        "lengths": (6, 1),
        "unused_lengths": scale == "small",
        "importance": (1, 3, 5),
    }
    return replace(usual, **{**small, **more})


def write_encoder(source: Path) -> None:
    """A BERT of the smallest size with random weights, and its tokenizer."""
    tokenizer = learn_wordpiece(["the soup train report boss hotel cake"], 200, 64)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), max_position_embeddings=512, **SIZES
    )
    transformers.BertModel(config).save_pretrained(source)
    tokenizer.save_pretrained(source)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with tiny conversations and a tiny WordNet."""
    torch.set_num_threads(1)
    home = write_dialogues(tmp_path_factory.mktemp("data"), train=80)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OODOMETER_DATA", str(home))
        patch.setenv("OODOMETER_WORDNET", str(write_wordnet(home / "wordnet")))
        write_encoder(home / "tiny-encoder")
        yield home


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A run at the small scale."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RECIPE, "config", {"small": tiny("small")})
        # in this process, which alone knows of the miniature
        yield reproduce(PAPER, out=tmp_path_factory.mktemp("run"), workers=1)


def test_leaves_every_table_of_the_paper(finished: Any) -> None:
    for table in (
        "Table 1",
        "Table 2",
        "Table B.1",
        "Table B.2",
        "Table C.1",
        "Table C.2",
        "Table D.2",
    ):
        assert f"**{table}" in finished.words
    assert "estimated without labels" in finished.words
    assert "R@1 of vanilla and temperature scaling differs by at most 0.0000" in finished.words
    names = [one["condition"] for one in finished.result["conditions"]]
    assert names[:4] == ["dev", "test", "uw-0.1", "uw-0.3"]
    assert names[-4:] == ["ic-0", "ic-5", "sr-6", "sr-1"]
    rows = {(one["condition"], one["method"]): one for one in finished.result["rows"]}
    assert len(rows[("uw-0.3", "vanilla")]["accuracy"]["by_model"]) == 6
    assert len(rows[("uw-0.3", "dropout")]["accuracy"]["by_model"]) == 6
    assert len(rows[("uw-0.3", "ensemble")]["accuracy"]["by_model"]) == 3  # of six, in pairs
    figures = {path.name for path in (finished.folder / "figures").iterdir()}
    assert {"figure-2-unknown-words.vl.json", "estimate-beside-truth.vl.json"} <= figures


def test_candidates_stay_and_contexts_change(finished: Any, data: Path) -> None:
    held = RunData(tiny("small"))
    by_name = {one.name: one for one in conditions_of(held.config)}
    sets = {
        name: json.loads((finished.folder / f"conditions/{name}.json").read_text())
        for name in by_name
    }
    assert set(sets["uw-0.1"]["rows"]) <= set(sets["test"]["rows"])
    assert sets["uw-0.3"]["targets"]
    assert sets["importance-1"]["rows"] == sets["importance-5"]["rows"]
    plain = dict(zip(sets["test"]["rows"], sets["test"]["contexts"], strict=True))
    changed = zip(sets["uw-0.3"]["rows"], sets["uw-0.3"]["contexts"], strict=True)
    assert all(plain[row] != context for row, context in changed)
    assert all(len(context) == 6 for context in sets["ic-0"]["contexts"])
    assert all(len(context) == 1 for context in sets["ic-5"]["contexts"])
    shifted = held.instances(by_name["uw-0.3"], sets["uw-0.3"])
    for place, row in enumerate(sets["uw-0.3"]["rows"]):
        assert shifted.inputs[place].candidates == held.test.inputs[row].candidates
        assert shifted.targets[place] == held.test.targets[row]


def test_short_contexts_begin_conversations_that_no_ranker_learns_from(
    finished: Any, data: Path
) -> None:
    """The same ones at each length, so that lengths are compared in pairs; else those of the test split."""
    held = RunData(tiny("small"))
    by_name = {one.name: one for one in conditions_of(held.config)}
    sets = finished.folder / "conditions"
    long, short = (
        held.instances(by_name[name], json.loads((sets / f"{name}.json").read_text()))
        for name in ("sr-6", "sr-1")
    )
    names = [{each.rpartition("-")[0] for each in data.ids} for data in (long, short)]
    assert names[0] == names[1]
    assert len(names[0]) == len(long) == 8
    assert names[0].isdisjoint(name for name, _ in held._learnt)
    tested = {dialogue.context for dialogue in held.test.inputs}
    for whole, first in zip(long.inputs, short.inputs, strict=True):
        assert (len(whole.context), first.context) == (6, whole.context[:1])
        assert whole.context not in tested
    study = Study(tiny("small"), Workspace(finished.folder))
    conversations = study.vanilla(by_name["sr-6"]).conversation
    assert {name.partition(":")[0] for name in conversations} == {"train"}
    assert "begin 8 training conversations that no ranker learns from" in finished.words
    plain = RunData(tiny("small", unused_lengths=False))
    assert plain.base(by_name["sr-6"]) is plain.test


def test_numbers_are_those_of_the_library(finished: Any) -> None:
    folder = Workspace(finished.folder)
    answers = load_answers(folder, "answers/1", "uw-0.3")
    record = Predictions.from_candidates(answers["logits"], label=answers["target"])
    row = next(
        r for r in finished.result["rows"] if (r["condition"], r["method"]) == ("uw-0.3", "vanilla")
    )
    assert row["accuracy"]["by_model"][1] == pytest.approx(record.accuracy, abs=1e-6)
    assert row["brier"]["by_model"][1] == pytest.approx(Brier().compute(record).value, abs=1e-5)
    error = ExpectedCalibrationError(bins=BINS).compute(record).value
    assert row["ece"]["by_model"][1] == pytest.approx(error, abs=1e-5)
    dev = load_answers(folder, "answers/1", "dev")
    assert finished.result["temperatures"][1] == pytest.approx(
        fit_temperature(dev["logits"], dev["target"]), abs=1e-5
    )


def test_methods_are_what_their_names_say(finished: Any) -> None:
    study = Study(tiny("small"), Workspace(finished.folder))
    condition = next(one for one in study.conditions if one.name == "uw-0.3")
    vanilla, scaled = study.vanilla(condition), study.vanilla(condition, method="temperature")
    whole = study.vanilla(condition, method="ensemble")
    pairs = vanilla.probabilities.reshape(3, 2, *vanilla.probabilities.shape[1:])
    np.testing.assert_allclose(whole.probabilities, pairs.mean(1), atol=1e-12)
    np.testing.assert_array_equal(scaled.right, vanilla.right)
    dropped = study.vanilla(condition, method="dropout")
    np.testing.assert_allclose(dropped.probabilities.sum(-1), 1, atol=1e-5)
    answers = load_answers(Workspace(finished.folder), "answers/dropout-0", "uw-0.3")
    assert answers["variance"].shape == answers["mean"].shape
    assert (answers["variance"] > 0).any()


def test_a_second_run_keeps_all_steps_but_the_tables(
    finished: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RECIPE, "config", {"small": tiny("small")})
    again = reproduce(PAPER, out=finished.folder, workers=1)
    assert {one.name for one in again.steps if not one.kept} == {"tables", "figures"}
    assert again.result == finished.result
    other = tiny("small", training=replace(tiny("small").training, learning_rate=3e-3))
    marks = {
        scale: {s.name: dict(s.settings) for s in RECIPE.steps("small", ())}
        for scale in ("before",)
    }
    monkeypatch.setattr(RECIPE, "config", {"small": other})
    now = {step.name: dict(step.settings) for step in RECIPE.steps("small", ())}
    assert {name for name in now if now[name] != marks["before"][name]} >= {
        "train-0",
        "train-1",
        "train-2",
    }


def test_the_paper_scale_runs_whole(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_encoder(data / "bert-base-cased")
    usual = RUN_CONFIGS["paper"]
    assert (usual.train_candidates, usual.training.batch_size, usual.training.epochs) == (10, 12, 1)
    assert (len(usual.ratios), len(usual.lengths), len(usual.importance), len(usual.deleted)) == (
        10,
        6,
        5,
        6,
    )
    tried = replace(
        tiny("paper", network=usual.network, dropout_members=2, members=3, ensemble=3),
        ratios=usual.ratios,
    )
    tried = replace(
        tried, deleted=usual.deleted, lengths=usual.lengths, importance=usual.importance
    )
    tried = replace(tried, train_candidates=usual.train_candidates, train_conversations=None)
    monkeypatch.setattr(RECIPE, "config", {"paper": tried})
    found = reproduce(PAPER, scale="paper", out=tmp_path / "run", workers=1)
    assert len(found.result["conditions"]) == 2 + 2 * 10 + 5 + 6 + 6
    assert found.result["sizes"]["network"] == {
        "source": "google-bert/bert-base-cased",
        "max_length": 512,
    }
    rows = {(one["condition"], one["method"]): one for one in found.result["rows"]}
    assert len(rows[("ic-3", "dropout")]["brier"]["by_model"]) == 2


def test_what_is_missing_is_said_before_anything_is_trained(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        RECIPE, "config", {"small": tiny("small", network={"source": str(data / "nowhere")})}
    )
    with pytest.raises(InputError, match="nowhere"):
        RECIPE.steps("small", ())
    monkeypatch.setenv("OODOMETER_WORDNET", str(data / "nowhere"))
    with pytest.raises(InputError, match="WordNet"):
        RECIPE.steps("small", ())


def said(probabilities: Any, target: Any, conversation: Any) -> Answers:
    return Answers(
        np.asarray(probabilities, dtype=float), np.asarray(target), np.asarray(conversation)
    )


def test_sums_add_up_to_the_metrics() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(10), size=(2, 50))
    one = said(p, rng.integers(0, 10, 50), [str(i // 3) for i in range(50)])
    for metric in METRICS:
        parts = one.sums(metric)
        got = np.abs(parts.sum(1)).sum(-1) / 50
        assert got.tolist() == pytest.approx([one.value(metric, 0), one.value(metric, 1)])


def test_conversations_are_drawn_whole() -> None:
    names = ["a"] * 50 + ["b"] * 50
    better = np.zeros((1, 100, 2))
    better[:, :, 0] = 1.0
    first = said(better, [0] * 50 + [1] * 50, names)  # right throughout a, wrong throughout b
    found = Bootstrap(names, 999, 0).apart((1.0, first, "accuracy"))
    assert found["value"] == 0.5
    assert found["error"] == pytest.approx(
        0.35, abs=0.03
    )  # of two conversations, not of a hundred instances


def test_a_difference_is_paired_and_its_share_counts_ties_half() -> None:
    names = [str(i) for i in range(30)]
    p = np.tile([[0.9, 0.1]], (1, 30, 1))
    one = said(p, [0, 1] * 15, names)
    same = Bootstrap(names, 199, 0).apart((1.0, one, "brier"), (-1.0, one, "brier"))
    assert (same["value"], same["error"], same["above"]) == (0.0, 0.0, 0.5)
    worse = said(1 - p, [0, 1] * 15, names)
    found = Bootstrap(names, 199, 0).apart((1.0, worse, "accuracy"), (-1.0, one, "accuracy"))
    assert found["by_model"] == [0.0]


def test_replicates_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(3)
    names = [str(i) for i in rng.integers(0, 7, 40)]
    one = said(rng.dirichlet(np.ones(4), size=(2, 40)), rng.integers(0, 4, 40), names)
    bootstrap = Bootstrap(names, 20, 0)
    for metric in METRICS:
        seen, drawn = bootstrap.metric(one, metric)
        for replicate, weights in enumerate(bootstrap._draws):
            rows = [
                row
                for row in range(40)
                for _ in range(int(weights[sorted(set(names)).index(names[row])]))
            ]
            again = one.take(np.array(rows))
            expected = np.abs(again.sums(metric).sum(1)).sum(-1) / len(rows)
            np.testing.assert_allclose(drawn[replicate], expected, atol=1e-5)
        np.testing.assert_allclose(seen, [one.value(metric, model) for model in (0, 1)], atol=1e-12)


def test_an_ensemble_is_compared_with_its_own_members() -> None:
    rng = np.random.default_rng(4)
    p, names = rng.dirichlet(np.ones(5), size=(4, 30)), [str(i) for i in range(30)]
    members, pairs = (
        said(values, rng.integers(0, 5, 30) * 0, names)
        for values in (p, p.reshape(2, 2, 30, 5).mean(1))
    )
    got = Bootstrap(names, 99, 0).apart((1.0, pairs, "brier"), (-1.0, members, "brier"))["by_model"]
    brier = [members.value("brier", i) for i in range(4)]
    assert got == pytest.approx(
        [pairs.value("brier", i) - (brier[2 * i] + brier[2 * i + 1]) / 2 for i in range(2)],
        abs=1e-9,
    )
    assert max(got) < 0  # by Jensen's inequality, whatever the members say


def difference(value: float, models: int = 5, rows: int = 100) -> dict[str, Any]:
    """A difference that is certain: all replicates and all models agree."""
    wobble = np.linspace(-0.1, 0.1, models) * abs(value) if models else np.zeros(0)
    by_model = (value + wobble).tolist()
    return {
        "value": value,
        "error": 0.004,
        "above": float(value > 0),
        "by_model": by_model,
        "rows": [rows],
    }


def told(turned: bool) -> dict[str, Any]:
    """A result in which all that the paper says holds, or all of it turned round."""
    sign = -1.0 if turned else 1.0
    groups = {"uw": ("uw-0.1", "uw-0.5"), "kw": ("kw-0.1", "kw-0.5"), "ic": ("ic-0", "ic-5"),
              "importance": ("importance-1", "importance-3", "importance-5"), "sr": ("sr-6", "sr-1")}  # fmt: skip
    conditions = [
        {"condition": one, "group": group, "kept": 100}
        for group, names in groups.items()
        for one in names
    ]
    out: dict[str, Any] = {}
    for group in ("uw", "ic", "importance"):
        for metric, by in (("accuracy", -0.2), ("brier", 0.2), ("ece", 0.1)):
            out[f"change/{group}/{metric}"] = difference(sign * by)
        out[f"step/{groups[group][-1]}/accuracy"] = difference(sign * -0.2)
    out["change/uw/ece/temperature"] = difference(sign * 0.1)
    for one in conditions:
        for key, by, models in (
            ("ensemble-vanilla/{}/accuracy", 0.05, 5),
            ("ensemble-dropout/{}/accuracy", 0.05, 0), ("ensemble-dropout/{}/brier", -0.05, 0),
            ("ensemble-temperature/{}/brier", -0.05, 0), ("ensemble-temperature/{}/ece", 0.05, 0),
            ("temperature-vanilla/{}/ece", -0.05, 5), ("dropout-vanilla/{}/ece", -0.05, 1),
            ("dropout-vanilla/{}/accuracy", -0.03, 1),
        ):  # fmt: skip
            out[key.format(one["condition"])] = difference(sign * by, models)
    out["kw-uw/0.1/accuracy"] = out["kw-uw/0.5/accuracy"] = difference(sign * 0.05)
    out["change/sr/accuracy"] = difference(0.005 if not turned else 0.1)
    out["flat/importance/accuracy"] = difference(0.005 if not turned else -0.1)
    out["control/accuracy"] = difference(sign * 0.1)
    return {"differences": out, "conditions": conditions, "rows": [], "replicates": 1_999}


def test_every_claim_holds_where_the_numbers_say_so_and_not_where_they_are_turned() -> None:
    for turned, verdict in ((False, "holds"), (True, "does not hold")):
        found = {one.name: one.verdict for one in claims_of(told(turned))}
        assert set(found.values()) == {verdict}, found
        assert set(found) >= {
            "uw_accuracy", "uw_steps", "ic_ece", "ensemble_brier", "ensemble_accuracy_strongest", "temperature_vanilla",
            "temperature_ensemble", "temperature_rises", "dropout_ece", "dropout_accuracy", "known_words", "short_flat",
            "short_control", "importance_accuracy", "importance_flat",
        }  # fmt: skip


def test_what_only_some_trainings_show_is_undecided() -> None:
    result = told(False)
    result["differences"]["change/uw/accuracy"]["by_model"] = [-0.9, 0.1, -0.5, 0.3, 0.0]
    found = {one.name: one.verdict for one in claims_of(result)}
    assert found["uw_accuracy"] == "undecided"
    turned = told(True)  # and what only one of the tests refutes
    turned["differences"]["change/uw/accuracy"]["by_model"] = [-0.9, 0.1, -0.5, 0.3, 0.0]
    assert {one.name: one.verdict for one in claims_of(turned)}["uw_accuracy"] == "undecided"
    wide = result["differences"][
        "temperature-vanilla/ic-0/ece"
    ]  # the errors of conditions are added for their mean
    wide["error"] = 1.0
    assert {one.name: one.verdict for one in claims_of(result)}[
        "temperature_vanilla"
    ] == "undecided"


def test_a_mean_over_conditions_may_hold_where_one_condition_says_the_opposite() -> None:
    result = told(False)
    result["differences"]["temperature-vanilla/ic-0/ece"] |= {"value": 0.001, "above": 0.6}
    (one,) = [one for one in judged(claims_of(result)) if one["name"] == "temperature_vanilla"]
    positive, count = one["seen"]
    assert (one["verdict"], one["quantity"], positive) == ("holds", "mean", count - 1)


def test_the_papers_numbers_are_as_printed() -> None:
    found = PAGE.paper
    assert len(found["rows"]) == 2 + 10 + 10 + 5 + 6 + 6
    assert found["rows"]["uw-0.5"]["vanilla"] == [0.441, 0.796, 0.259]
    assert found["rows"]["uw-0.5"]["ensemble"] == [0.487, 0.699, 0.183]
    assert found["rows"]["kw-0.2"]["vanilla"][0] == 0.814
    assert found["rows"]["ic-5"]["temperature"] == [0.742, 0.351, 0.031]
    assert found["rows"]["sr-1"]["dropout"] == [0.887, 0.166, 0.020]
    assert found["rows"]["importance-5"]["vanilla"] == [0.803, 0.285, 0.067]
    assert found["counts"]["uw"]["0.4"] == [5831, 30.02]
    assert found["counts"]["kw"]["0.5"] == [3130, 33.92]
    assert found["counts"]["importance"]["5"] == [5925, 7.39]
    for row in found["rows"].values():  # the identity check holds in the paper, too
        assert row["vanilla"][0] == row["temperature"][0]
