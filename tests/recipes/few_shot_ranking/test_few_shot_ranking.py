"""The recipe on rankings, whole, at a tiny size: its models, its numbers against the library's, its claims."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from oodometer.errors import InputError
from oodometer_lab.recipes import reproduce
from oodometer_lab.recipes.base import Workspace

torch = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
transformers = pytest.importorskip("transformers", reason="needs the extra hf: pip install '.[hf]'")
pytest.importorskip("captum", reason="needs the extra explain: pip install '.[explain]'")

sys.path.insert(0, str(Path(__file__).parent))
from tiny_pairs import write_all  # noqa: E402

from oodometer.registry import create  # noqa: E402
from oodometer_lab.attributions.factors.base import factor_values  # noqa: E402
from oodometer_lab.models import Encoder, load_model  # noqa: E402
from oodometer_lab.models.tokens import learn_wordpiece  # noqa: E402
from oodometer_lab.recipes.few_shot_ranking import RECIPE  # noqa: E402
from oodometer_lab.recipes.few_shot_ranking import study as work  # noqa: E402
from oodometer_lab.recipes.few_shot_ranking.findings import PAGE, FewShotAccuracies, claims_of  # noqa: E402
from oodometer_lab.recipes.few_shot_ranking.lineup import (  # noqa: E402  # noqa: E402
    ACROSS,
    FAMILIES,
    RUN_CONFIGS,
    SUITES,
    RunConfig,
    beside_others,
    lineup,
    ranked_of,
)
from oodometer_lab.recipes.few_shot_ranking.study import Evaluation, RunData  # noqa: E402
from oodometer_lab.recipes.kit import sources  # noqa: E402

PAPER = "few-shot-ranking"
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
SIZES["initializer_range"] = 0.4  # so that models that hardly learnt anything differ
WORDS = (
    "many some the doctors lawyers actors judges artists tourists hats books cars doors coins maps drew took left made "
    "draw take leave make are taking saw old near slept and unless because ran do like sold . , ?"
)


def bert(folder: Path, head: str, labels: dict[int, str] | None = None) -> None:
    """A folder with an untrained BERT, or a classifier, and its tokenizer."""
    tokenizer = learn_wordpiece([WORDS], 200, 48)
    more = (
        {}
        if labels is None
        else {"id2label": labels, "label2id": {name: i for i, name in labels.items()}}
    )
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), max_position_embeddings=48, **SIZES, **more
    )
    torch.manual_seed(3)
    getattr(transformers, head)(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def tiny(scale: str, **more: Any) -> RunConfig:
    """The config of a scale at the smallest size."""
    usual = RUN_CONFIGS[scale]
    small: dict[str, Any] = {
        "training": replace(usual.training, batch_size=4, learning_rate=5e-3, precision="float32"),
        "further": replace(
            usual.further,
            batch_size=8,
            schedule="constant",
            learning_rate=5e-3,
            precision="float32",
        ),
        "steps": {
            name: min(many, 24 if name == "paraphrase" else 6) for name, many in usual.steps.items()
        },
        "doses": dict.fromkeys(("MORPH", "VERB", "ADJECT"), (0.25, 0.5)),
        "rates": {"paraphrase": 1e-2},
        "further_rates": {},
        "paws_mixed": ((0.25, 2), (0.75, 120)),
        "nli_further": (1, 40),
        "paws_further": {name: 2 + 40 * place for place, name in enumerate(usual.paws_further)},
        "seeds": 2,
        "graded": {
            name: {**how, "further": 8 if name in ("MORPH", "nli") else 40}
            for name, how in usual.graded.items()
        },
        "grading_rows": 8 if usual.graded else 0,
        "pool": 10,
        "samples": 8,
        "shap_samples": {"nli": 12},
        "ig_steps": 3,
        "ig_seeds": 1,
        "truth_rows": 30,
        "in_domain_rows": 16,
        "paws_inoculation": 12,
        "draws": 20,
    }
    return replace(usual, **{**small, **more})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with tiny sets, and a tiny MiniLM of three layers."""
    torch.set_num_threads(1)
    home = write_all(tmp_path_factory.mktemp("data"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "num_hidden_layers", 3)
        bert(home / "minilm", "BertModel")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OODOMETER_DATA", str(home))
        # tiny models may all stay open; else most of the time would go into reading them again
        patch.setattr(work, "_open", cache(work._loaded))
        for place in (work, sources):
            patch.setattr(place, "packaged_minilm", lambda: str(home / "minilm"))
        yield home


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A run at the small scale."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RECIPE, "config", {"small": small()})
        # in this process, which alone knows of the miniature
        yield reproduce(PAPER, out=tmp_path_factory.mktemp("run"), workers=1)


def small(**more: Any) -> RunConfig:
    """The small scale, its network from scratch smaller, too."""
    usual = {
        name: {**one, "learning_rate": None} for name, one in RUN_CONFIGS["small"].networks.items()
    }
    scratch = {"config": {**SIZES, "num_hidden_layers": 1}, "vocab_size": 120, "max_length": 48}
    return tiny("small", networks={**usual, "BERT-scratch": scratch}, **more)


def test_leaves_every_table_and_figure_of_the_paper(finished: Any) -> None:
    for table in (
        *(f"Table {i}" for i in range(1, 10)),
        "Beyond the paper",
        "The paper's findings here",
    ):
        assert f"**{table}" in finished.words, table
    assert "SICK + RTE, binary, stands in for MNLI; MRPC stands in for QQP" in finished.words
    figures = {path.name for path in (finished.folder / "figures").iterdir()}
    assert {f"figure-{i}" for i in (4, 5, 6)} == {name[:8] for name in figures}
    rows = {(row["suite"], row["group"], row["seed"]): row for row in finished.result["rows"]}
    assert {key[0] for key in rows} == {suite.name for suite in SUITES}
    first = next(
        row for row in rows.values() if (row["suite"], row["group"]) == ("PAWS", "inoculated")
    )
    for name in ("ACC", "CONF", "CONF reversed", "CONF-GT", "CONF-GT reversed", "RANDOM", "lime/swap-avg",
                 "shap/first-tok", "PPI++", "ACC + all", "pool/ac", "pool/nuclear-norm"):  # fmt: skip
        assert 0 <= first["few_shot"][name] <= 1, name
    assert all("token-ig/irreg" not in row["few_shot"] for key, row in rows.items() if key[2] == 1)


def test_numbers_are_those_of_the_library(finished: Any) -> None:
    """Pairwise accuracies counted by hand, from the files alone."""
    held = RunData(small())
    suite = next(one for one in SUITES if one.name == "CON")
    plans = ranked_of(small(), "nli")
    found = Evaluation(Workspace(finished.folder), held, suite, 0, plans)
    row = next(
        r
        for r in finished.result["rows"]
        if (r["suite"], r["seed"], r["group"]) == ("CON", 0, "inoculated")
    )
    models = [i for i, plan in enumerate(plans) if plan.inoculated]
    rows = held.rows(suite, 0)
    drawn = np.random.default_rng([0, 0xF5]).integers(0, rows.pool, (20, 10))
    right = (found.probabilities[models] > 0.5) == np.array(rows.data.targets)
    truth = right.mean(1)
    assert row["accuracy"] == pytest.approx(truth.tolist(), abs=1e-6)
    expected = []
    for pair in row["pairs"]:
        better, worse = (row["models"].index(name) for name in pair["pair"].split(" > "))
        gaps = [right[better][one].mean() - right[worse][one].mean() for one in drawn]
        expected.append(float(np.mean([0.5 if gap == 0 else gap > 0 for gap in gaps])))
    assert row["pairwise"]["ACC"] == pytest.approx(expected, abs=1e-6)
    assert row["few_shot"]["ACC"] == pytest.approx(float(np.mean(expected)), abs=1e-6)


def test_each_model_goes_on_from_the_start_as_it_was_saved(finished: Any, tmp_path: Path) -> None:
    """Not from a network that another model, trained before in the same process, has changed."""
    again = [plan for plan in lineup(small()) if plan.start and not plan.toward and plan.inoculated]
    assert len(again) == 5
    for plan in again[1::2]:
        shutil.copytree(
            finished.folder / "models" / "0" / plan.start,
            tmp_path / plan.name / "models/0" / plan.start,
        )
        place = work.Place(
            Workspace(tmp_path / plan.name), f"models/0/{plan.name}", lambda done, of: None
        )
        work._open.cache_clear()
        work.train(RunData(small()), plan, 0, place)
        name = f"models/0/{plan.name}/{work.WEIGHTS}"
        assert (tmp_path / plan.name / name).read_bytes() == (
            finished.folder / name
        ).read_bytes(), plan.name


def test_attributions_are_of_the_predicted_class(finished: Any) -> None:
    suite, folder = next(one for one in SUITES if one.name == "SUB"), Workspace(finished.folder)
    words = RunData(small()).rows(suite, 0).words
    found = work.explained(folder, "attributions/0/SUB", "nli-grade-2.lime", words)
    model = load_model(finished.folder / "models/0/nli-grade-2")
    assert isinstance(model, Encoder)
    p = model.ask([one.text for one in words]).distribution
    assert [one.target for one in found] == p.argmax(1).tolist()
    np.testing.assert_allclose([one.probability for one in found], p.max(1), atol=1e-5)
    method = create("attribution", "lime", seed=0, samples=small().samples)
    direct = method.explain(model, words)  # of the class that it predicts itself
    for ours, theirs in zip(found, direct, strict=True):
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-5)
    assert factor_values(found, ["index-diff"]).shape == (1, 10)
    found = work.explained(folder, "attributions/0/SUB", "nli-grade-2.shap", words)
    method = create("attribution", "kernel-shap", seed=0, samples=12)  # its own number of samples
    for ours, theirs in zip(found, method.explain(model, words), strict=True):
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-5)
    assert "KernelSHAP with 8 texts each (KernelSHAP: 12 in nli)" in finished.words


def test_window_factors_look_only_at_marked_words(finished: Any) -> None:
    suite = next(one for one in SUITES if one.name == "VERB")
    rows = RunData(small()).rows(suite, 0)
    assert [rows.data.inputs[i] for i in rows.explained] == [one.text for one in rows.words]
    for one in rows.words:
        assert one.feature is not None
        assert one.words[one.feature] == "taking"
    told = next(one for one in finished.result["sets"] if (one["set"], one["seed"]) == ("VERB", 0))
    assert (told["absent"]["verb"], told["explained"]) == (0, len(rows.words))
    assert told["pool"] == rows.explained[-1] + 1 > told["explained"]
    found = Evaluation(
        Workspace(finished.folder), RunData(small()), suite, 0, ranked_of(small(), "VERB")
    )
    scores = found.methods([0, 1])["lime/verb"](
        np.zeros((5, 10), dtype=np.int64)
    )  # whatever rows are drawn
    assert np.isfinite(scores).all()


def test_models_between_two_are_graded(finished: Any) -> None:
    """Their weights lie on the way from the one to the other, at the place where the rows to grade by put them."""
    data, root = RunData(small()), finished.folder / "models/0"
    weights = {
        name: load_model(root / name).net.state_dict()
        for name in ("nli-base", "nli-end", "nli-grade-3")
    }
    share = json.loads((root / "nli-grade-3/classes.json").read_text())["share"]
    assert 0 <= share <= 1
    for name, value in weights["nli-grade-3"].items():
        expected = weights["nli-base"][name] + share * (
            weights["nli-end"][name] - weights["nli-base"][name]
        )
        torch.testing.assert_close(value, expected)
    ranked = {name for suite in SUITES for name in data.rows(suite, 0).data.ids}
    assert not ranked & {
        name for family in FAMILIES for rows in data.graded_on(family, 0) for name in rows.ids
    }
    models = {one["name"]: one for one in finished.result["models"]}
    assert "nli-base" not in models
    assert models["nli-grade-3"]["share"]["by_seed"][0] == pytest.approx(share, abs=1e-6)


def test_architectures_take_turns_at_their_grades() -> None:
    plans = [plan for plan in lineup(RUN_CONFIGS["small"]) if plan.family == "nli" and plan.ranked]
    others = [plan for plan in plans if not plan.inoculated]
    for seed in range(4):
        grades = [plan.grade(seed) for plan in (beside_others(plans, seed)[0], *others)]
        assert sorted(grades) == sorted(ACROSS)
    assert len({plan.grade(seed) for seed in range(3) for plan in others[:1]}) == 3


def test_paws_is_ranked_on_other_rows_than_it_was_trained_on(data: Path) -> None:
    held, suite = RunData(small()), next(one for one in SUITES if one.name == "PAWS")
    judged = set(held.rows(suite, 0).data.ids)
    assert len(judged) == 28
    further = [
        one
        for one in lineup(small())
        if one.family == "paraphrase" and one.start and not one.toward
    ]
    assert len(further) == 3
    for plan in further:
        trained = set(held.further(plan, 0).ids)
        assert not trained & judged
        assert all(one.startswith("dev") for one in trained)
    assert judged != set(held.rows(suite, 1).data.ids)


def test_a_second_run_keeps_all_steps_but_the_tables(
    finished: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RECIPE, "config", {"small": small()})
    again = reproduce(PAPER, out=finished.folder, workers=1)
    assert {one.name for one in again.steps if not one.kept} == {"tables", "figures"}
    assert again.result == finished.result
    (finished.folder / "attributions/0/CON/nli-grade-2.shap.npz").unlink()
    third = reproduce(PAPER, out=finished.folder, workers=1)
    redone = {one.name for one in third.steps if not one.kept}
    assert redone == {"explain-0-CON-nli-grade-2-shap", "tables", "figures"}
    assert third.result == finished.result
    assert not (finished.folder / "parts").exists() or not list(
        (finished.folder / "parts").rglob("*.json")
    )


def paper_networks(data: Path) -> RunConfig:
    """The scale `paper` with tiny models of its names beside the data."""
    usual = RUN_CONFIGS["paper"]
    for network in usual.networks.values():
        folder = data / str(network["source"]).rpartition("/")[2]
        if folder.is_dir():
            continue
        labels = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}
        if "electra-base-mnli" in folder.name:
            labels = {i: f"LABEL_{i}" for i in range(3)}
        ready = network.get("ready")
        bert(
            folder,
            "BertForSequenceClassification" if ready else "BertModel",
            labels if ready else None,
        )
    return tiny("paper", seeds=1, samples=4, pool=6)


def test_the_paper_scale_runs_whole(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = RUN_CONFIGS["paper"]
    assert (usual.steps["MORPH"], usual.training.learning_rate, usual.training.weight_decay) == (
        6_000,
        1e-5,
        0.1,
    )
    assert usual.nli_further == (25, 50, 75, 100, 150)
    monkeypatch.setattr(RECIPE, "config", {"paper": paper_networks(data)})
    found = reproduce(PAPER, scale="paper", out=tmp_path / "run", workers=1)
    names = [one["name"] for one in found.result["models"]]
    assert len(names) == 3 * 6 + (1 + 2 + 2) + (4 + 2)
    roles = json.loads((tmp_path / "run/models/0/nli-base/classes.json").read_text())
    assert roles == {"positive": 2, "negative": 1}
    unnamed = json.loads((tmp_path / "run/models/0/nli-electra-base-mnli/classes.json").read_text())
    assert unnamed["positive"] != unnamed["negative"]
    base = load_model(tmp_path / "run/models/0/nli-base")
    assert len(base.classes) == 3  # asked as it is, its two other classes taken together


def test_what_is_missing_is_said_in_one_line_before_anything_is_trained(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small()
    networks = {**config.networks, "far": {"source": str(data / "nowhere"), "max_length": 8}}
    monkeypatch.setattr(RECIPE, "config", {"small": replace(config, networks=networks)})
    home = tmp_path / "data"
    home.mkdir()
    (home / "msgs_regen.jsonl.xz").write_bytes((data / "msgs_regen.jsonl.xz").read_bytes())
    monkeypatch.setenv("OODOMETER_DATA", str(home))
    with pytest.raises(InputError) as caught:
        RECIPE.steps("small", ())
    said = str(caught.value)
    assert "hans_regen.tsv.xz" in said or "pairs.jsonl.xz" in said
    assert "nowhere" in said
    assert "\n" not in said


def row(
    suite: str, seed: int, few_shot: dict[str, float], group: str = "inoculated"
) -> dict[str, Any]:
    pairwise = {name: [value] for name, value in few_shot.items()}
    pairs = [{"pair": "a-b", "gap": 0.03}]
    about = {"suite": suite, "seed": seed, "group": group, "models": ["a", "b"], "pairs": pairs}
    return {**about, "few_shot": few_shot, "pairwise": pairwise}


def result_of(gain: float) -> dict[str, Any]:
    """A result in which every factor and combination is above ACC by a gain that varies a little over seeds."""
    rows = []
    names = [
        "irreg",
        "verb",
        "adj",
        "const",
        "swap-avg",
        "index-diff",
        "max-diff",
        "sum-diff",
        "first-tok",
    ]
    for suite in SUITES:
        for seed in range(3):
            found = {"ACC": 0.85 + 0.001 * seed, "CONF": 0.5 + 0.01 * seed, "CONF reversed": 0.5}
            for method, more in (("token-ig", 0.01), ("shap", 0.02), ("lime", 0.03)):
                found |= {
                    f"{method}/{one}": found["ACC"] + gain * (1 + more + 0.01 * seed)
                    for one in names
                }
            rows += [row(suite.name, seed, {**found, "ACC + all": found["ACC"] + gain * (1 + 0.01 * seed)}, group)
                     for group in ("inoculated", "architectures")]  # fmt: skip
    return {"baseline": "ACC", "combined": ["ACC + all"], "rows": rows, "sizes": {"samples": 512}}


@pytest.mark.parametrize(("gain", "verdict"), [(0.05, "holds"), (-0.05, "does not hold")])
def test_claims_follow_the_numbers(gain: float, verdict: str) -> None:
    claims = {claim.name: claim.verdict for claim in claims_of(result_of(gain))}
    for name in ("lime_window", "shap_own_factors", "lime_swap_avg", "near_pairs", "combined_acc_all",
                 "architectures_max_diff"):  # fmt: skip
        assert claims[name] == verdict, name
    assert claims["acc_strong"] == "holds"
    assert claims["conf_below_acc"] == "holds"
    opposite = {"holds": "does not hold", "does not hold": "holds"}[verdict]
    assert claims["general_factors"] == opposite
    assert claims["shap_below_acc"] == opposite


def test_shap_of_few_subsets_is_not_compared() -> None:
    """On pairs of sentences; of the short ones of MSGS it is."""
    few = result_of(-0.05) | {"sizes": {"samples": 64}}
    claims = {claim.name: claim.verdict for claim in claims_of(few)}
    apart = {name for name, verdict in claims.items() if verdict == "not comparable"}
    assert apart == {
        "shap_own_factors", "general_factors", "architectures_max_diff", "architectures_sum_diff",
        "architectures_index_diff", "architectures_first_tok", "architectures_extreme",
    }  # fmt: skip
    assert claims["shap_below_acc"] == "holds"
    enough = few | {"sizes": {"samples": 64, "shap_samples": {"paraphrase": 512}}}
    assert "not comparable" not in {claim.verdict for claim in claims_of(enough)}


def test_a_mean_over_sets_is_that_of_their_suites() -> None:
    """Sets are strata: Welch's t of the means, of HANS of the mean of both sets."""
    result = result_of(0.05)
    for one in result["rows"]:
        one["few_shot"]["ACC"] += 0.01 * (len(one["suite"]) + one["seed"] ** 2)
    table = FewShotAccuracies(result)
    pairs = [
        ("MORPH", "lime/irreg", "ACC"),
        ("SUB", "lime/const", "ACC"),
        ("CON", "lime/const", "ACC"),
    ]
    of_set = [np.array(table.leads([pair])) for pair in pairs]
    strata = [of_set[0], (of_set[1] + of_set[2]) / 2]
    parts = [w * w * x.var(ddof=1) / 3 for w, x in zip((1 / 3, 2 / 3), strata, strict=True)]
    mean = strata[0].mean() / 3 + strata[1].mean() * 2 / 3
    freedom = sum(parts) ** 2 / sum(v * v / 2 for v in parts)
    exact = stats.t.sf(mean / sum(parts) ** 0.5, freedom)
    assert table.over(pairs).supports == pytest.approx(exact)
    shifted = stats.t.sf((mean - 0.03) / sum(parts) ** 0.5, freedom)
    assert table.over(pairs, -0.03).supports == pytest.approx(shifted)


def test_one_seed_decides_nothing() -> None:
    one = result_of(0.05)
    one["rows"] = [found for found in one["rows"] if found["seed"] == 0]
    claims = {claim.name: claim.verdict for claim in claims_of(one)}
    assert (
        claims["acc_strong"] == claims["lime_window"] == claims["combined_acc_all"] == "undecided"
    )


def test_the_papers_numbers_are_as_printed() -> None:
    found = PAGE.paper
    assert found["table_1"]["ADJECT"]["lime/adj"] == 93.5
    assert found["table_2"]["PAWS"]["CONF"] == 9.2
    assert found["factors"]["shap"]["CON"]["const"] == 87.1
    assert found["factors"]["lime"]["PAWS"]["swap-avg"] == 98.2
    assert found["table_3"]["sum-diff"] == 83.1
    assert found["table_4"]["index-diff"] == [0, 0, 99.6, 99.6, 15.0]
    assert found["table_5"]["MORPH"]["2L"] == 98.0
