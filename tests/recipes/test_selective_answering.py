"""The recipe, whole, at a tiny size: its files, its numbers against the library's, what is kept and what done again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.recipes import find_recipe, reproduce
from oodometer_lab.recipes.selective_answering.findings import PAGE, claims_of
from oodometer_lab.recipes.selective_answering.lineup import RUN_CONFIGS, lineup
from oodometer_lab.recipes.steps import fingerprints

NAMES = [
    "BOW-SUM", "W2V-SUM", "GLOVE-SUM", "W2V-CNN", "GLOVE-CNN", "W2V-LSTM", "GLOVE-LSTM", "MINILM-2", "MINILM-4",
    "MINILM-6",
]  # fmt: skip


def test_leaves_its_files_and_reports_to_the_end(finished: Any, reports: Any) -> None:
    for name in NAMES:
        for one in ("imdb", "sst2"):
            assert (finished.folder / f"predictions/{name}.{one}.parquet").is_file()
    for name in (
        "compare.json",
        "result.json",
        "result.md",
        "figures/figure-3-fluctuations.vl.json",
    ):
        assert (finished.folder / name).is_file()
    assert not list((finished.folder / "checkpoints").iterdir())
    shares = [share for _, share in reports]
    assert shares == sorted(shares)
    assert reports[-1] == ("done", 1.0)
    assert [model["name"] for model in finished.result["models"]] == NAMES
    assert json.loads((finished.folder / "result.json").read_text()) == finished.result
    assert (finished.folder / "result.md").read_text() == finished.words


def test_the_pages_are_written_where_reports_can_be_drawn(finished: Any) -> None:
    """report.html is the page of `compare` over the run's predictions; figures.html has each figure for both sets."""
    pytest.importorskip("vl_convert")
    from oodometer.reports import render
    from oodometer_lab.recipes.selective_answering.findings import FIGURES

    assert {"report.html", "figures.html"} < set(FIGURES.files("report.html"))
    page = (finished.folder / "report.html").read_text(encoding="utf-8")
    assert page == render(
        json.loads((finished.folder / "compare.json").read_text(encoding="utf-8"))
    )
    assert "Which of 10 models is better?" in page
    words = ["oodometer", "reproduce", "selective-answering", "--scale", "small"]
    assert " ".join(f"<span>{word}</span>" for word in words) in page
    figures = (finished.folder / "figures.html").read_text(encoding="utf-8")
    drawn = [path.name.partition(".")[0] for path in (finished.folder / "figures").iterdir()]
    assert len(drawn) == 9
    assert all(f'id="chart-{name}-{one}"' in figures for name in drawn for one in ("imdb", "sst2"))
    assert max(len(page.encode()), len(figures.encode())) < 1_000_000


def test_without_the_extra_there_are_no_pages(
    finished: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the extra the specifications are left alone, and the step is done when it is installed."""
    from oodometer_lab.recipes.kit import publish as figures

    shutil.copytree(finished.folder, tmp_path / "run")
    for name in ("report.html", "figures.html"):
        (tmp_path / "run" / name).unlink(missing_ok=True)
    with monkeypatch.context() as patch:
        patch.setattr(figures, "can_draw", lambda: False)
        bare = reproduce("selective-answering", out=tmp_path / "run")
    assert [run.name for run in bare.steps if not run.kept] == (
        ["figures"] if figures.can_draw() else []
    )
    assert not (tmp_path / "run" / "report.html").exists()
    assert (tmp_path / "run" / "figures" / "figure-1-b.vl.json").is_file()
    if figures.can_draw():
        again = reproduce("selective-answering", out=tmp_path / "run")
        assert [run.name for run in again.steps if not run.kept] == ["figures"]
        assert (tmp_path / "run" / "report.html").is_file()


def test_predictions_carry_what_the_interface_names(finished: Any) -> None:
    from oodometer import load

    record = load(finished.folder / "predictions/W2V-CNN.imdb.parquet")
    assert len(record) == 60
    assert {"label", "probabilities", "logits"} <= set(record.fields)
    peer = load(finished.folder / "predictions/MINILM-6.imdb.parquet")
    np.testing.assert_array_equal(record.label, peer.label)


def test_tables_are_the_librarys_numbers(finished: Any) -> None:
    """DiSCA at every tolerance, accuracy and rankings against the functions, from the predictions files."""
    from oodometer import load
    from oodometer.metrics import disca

    for model in finished.result["models"]:
        for one in ("imdb", "sst2"):
            record = load(finished.folder / f"predictions/{model['name']}.{one}.parquet")
            confidence, correct = record.probabilities.max(1), record.predicted == record.label
            assert model[one]["accuracy"]["value"] == pytest.approx(correct.mean(), abs=1e-6)
            for row in model[one]["disca"]["by_tolerance"]:
                expected = disca(
                    confidence, correct, tolerance=row["tolerance"], weights=(0.33, 0.33, 0.33)
                )
                assert row["value"] == pytest.approx(expected.value, abs=1e-5)
    for one in ("imdb", "sst2"):
        score = {model["name"]: model[one]["disca"]["value"] for model in finished.result["models"]}
        order = [score[name] for name in finished.result["rankings"][one]["disca"]]
        assert order == sorted(order, reverse=True)


def test_costs_by_hand(finished: Any) -> None:
    model = finished.result["models"][0]
    vocabulary = json.loads((finished.folder / "models/BOW-SUM/vocabulary.json").read_text())[
        "words"
    ]
    assert model["parameters"] == 2 * (len(vocabulary) + 2) + 2
    form = model["didma_nidma"]["parameters"]
    assert form["computation"] == pytest.approx(1e6 / model["parameters"], rel=1e-6)
    assert form["didma"] == pytest.approx(
        (model["imdb"]["disca"]["value"] + form["computation"]) / 2, rel=1e-5
    )
    assert form["nidma"] == pytest.approx(
        (form["didma"] + model["sst2"]["disca"]["value"]) / 2, rel=1e-5
    )
    assert model["didma_nidma"]["energy"]["didma"] is None


def test_the_second_run_keeps_everything(finished: Any) -> None:
    again = reproduce("selective-answering", out=finished.folder)
    assert all(run.kept for run in again.steps)
    assert again.result == finished.result


def test_more_trainings_keep_the_first_ones(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a folder with one training of each model every step but the tables and what is drawn of them."""
    many = fingerprints(tiny.steps("small", ()))
    one = replace(tiny.config["small"], trainings=1, encoder_trainings=1)
    monkeypatch.setitem(tiny.config, "small", one)
    few = fingerprints(tiny.steps("small", ()))
    assert {name for name, mark in few.items() if many[name] != mark} == {"tables", "figures"}
    assert len(many) == len(few) + 2 * (2 * 7 + 3)


def test_two_models_alone(tiny: Any, tmp_path: Path) -> None:
    only = ("BOW-SUM", "W2V-SUM")
    found = reproduce("selective-answering", out=tmp_path, only=only)
    assert [model["name"] for model in found.result["models"]] == list(only)
    claims = {claim["name"] for claim in found.result["claims"]}
    assert "newer_imdb" not in claims  # no transformer is among the two
    with pytest.raises(UsageError, match="two are needed, got BOW-SUM alone"):
        reproduce("selective-answering", out=tmp_path, only=("BOW-SUM",))


def test_wrong_calls(tiny: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown paper 'x'; known: selective-answering"):
        reproduce("x")
    with pytest.raises(UsageError, match="unknown scale 'huge'; expected small or tiny or paper"):
        reproduce("selective-answering", scale="huge")
    with pytest.raises(UsageError, match="unknown model 'GPT' at scale small; known: BOW-SUM"):
        reproduce("selective-answering", only=["GPT"])
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="expected a folder, got a file"):
        reproduce("selective-answering", out=tmp_path / "file")


def test_the_papers_line_up() -> None:
    pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
    paper = PAGE.paper
    assert (
        set(paper["imdb"])
        == set(paper["sst2"])
        == {e.name for e in lineup("paper", RUN_CONFIGS["paper"])}
    )
    small = lineup("small", RUN_CONFIGS["small"])
    assert [e.name for e in small] == NAMES
    assert {e.stands_for for e in small} == set(paper["imdb"])
    assert tuple(find_recipe("selective-answering").models("small")) == tuple(NAMES)
    with pytest.raises(UsageError, match="unknown scale"):
        lineup("huge", RUN_CONFIGS["small"])


def test_the_papers_tables_are_as_printed() -> None:
    """Facts that the paper states in words about its Table 2."""
    paper = PAGE.paper
    order = sorted(paper["imdb"], key=lambda name: -paper["imdb"][name][-1])
    assert order[0] == "BERT-BASE"
    assert [name for name in paper["imdb"] if paper["imdb"][name][0] < 0] == ["BOW-SUM"]
    assert max(paper["sst2"], key=lambda name: paper["sst2"][name][0]) == "W2V-SUM"
    assert all(
        len(row) == len(paper["tolerances"]) == 9
        for s in ("imdb", "sst2")
        for row in paper[s].values()
    )


def model(
    name: str, parameters: int, disca: tuple[float, float], family: str = "words", rises: int = 1
) -> Any:
    def judged(value: float) -> Any:
        rows = [{"tolerance": t, "b": 0.9} for t in (1.0, 0.95, 0.55)]
        score = {
            "value": value,
            "lower": value - 0.1,
            "upper": value + 0.1,
            "level": 0.95,
            "fluctuations": rises,
            "fluctuations_interval": [rises - 1, rises + 1],
        }
        covered = {"value": 0.5, "lower": 0.4, "upper": 0.6, "level": 0.95}
        return {"disca": {**score, "by_tolerance": rows}, "cases": [], "coverage_at_risk": covered}

    about = {"name": name, "stands_for": name, "parameters": parameters, "family": family}
    return {**about, "imdb": judged(disca[0]), "sst2": judged(disca[1])}


def searched(models: Any, p: float = 1.0) -> dict[str, Any]:
    """What the search for failure cases left of models: one p-value for all, and a power of 40 %."""
    names = ("start", "middle", "end", "often", "strong")
    observed = [
        {"model": one["name"], "set": s, **{name: {"size": 0.1, "p": p} for name in names}}
        for one in models
        for s in ("imdb", "sst2")
    ]
    power = [
        {"name": name, "set": s, "effect": effect, "power": 0.4}
        for name in ("tail", *names)
        for s in ("imdb", "sst2")
        for effect in (0.1, 0.2)
    ]
    return {"chance": 2000, "samples": 1, "observed": observed, "power": power}


def verdicts(result: Any) -> dict[str, str]:
    return {claim.name: claim.verdict for claim in claims_of(result)}


def two(small: Any, large: Any, p: tuple[float, float], **more: Any) -> Any:
    """A result of two models; ``p`` is the share of replicates in which the first has the higher DiSCA, by set."""
    order = {key: [small["name"], large["name"]] for key in ("accuracy", "auc_coverage", "disca")}
    pairs = [
        {"set": s, "a": small["name"], "b": large["name"], "p_a_better": value}
        for s, value in zip(("imdb", "sst2"), p, strict=True)
    ]
    base = {
        "rankings": {"imdb": order, "sst2": order},
        "disagreements": [],
        "findings": [],
        "tails": [],
    }
    base |= {"settings": {"replicates": 200}, "search": searched([small, large])}
    return {"models": [small, large], "pairs": pairs, **base, **more}


def test_claims_by_hand() -> None:
    """Two models whose order turns round: what is beyond chance holds, what is in the sample alone is undecided."""
    small, large = (
        model("BOW-SUM", 10, (0.7, -0.2)),
        model("BIG", 100, (0.5, 0.4), "transformer", rises=5),
    )

    def apart(first: str, second: str, share: float) -> Any:
        pair = {"preferred": {}, "share": share, "with_first": None}
        return {"set": "imdb", "metrics": [first, second], "pairs": [pair]}

    parted = [apart("accuracy", "disca", 0.98), apart("accuracy", "auc_coverage", 0.9)]
    finding = [{"set": "imdb", "name": "tail"}]
    made = two(small, large, (0.98, 0.03), disagreements=parted, findings=finding)
    found = verdicts(made)
    assert found["accuracy_and_disca"] == "undecided"  # p = 2 * 5 / 201 on one of two looks: 0.0995
    assert found["auc_coverage_and_disca"] == "undecided"
    parted[0]["pairs"][0]["share"] = 0.995  # 2 * 2 / 201 on one of two looks: 0.0398
    assert verdicts(made)["accuracy_and_disca"] == "holds"
    assert (
        found["domains"] == "undecided"
    )  # the turn is beyond chance alone (7 / 201), not on one of two looks
    # What names a model is not tested on one training of each
    assert {found[name] for name in ("newer", "larger", "bag_of_words_last")} == {"undecided"}
    assert found["sums_fluctuate"] == "undecided"
    assert found["more_out_of_domain"] == found["six_cases"] == "undecided"
    assert "bert_base_first" not in found  # no model stands for it
    evidence = next(claim.evidence for claim in claims_of(made) if claim.name == "six_cases")
    assert evidence.startswith(
        "beyond chance: none; undecided, with the power at a true inversion of 20 points"
    )
    assert (
        "1 (tail) 40 % / 40 % (seen: IMDb; p 1.00 among 2 looks), 2 (start) 40 % / 40 %" in evidence
    )
    assert verdicts(two(small, large, (1.0, 0.0)))["domains"] == "holds"


def test_who_fluctuates_more_is_tested_over_models() -> None:
    """Sums of words beside others: Welch's t over the models, which are the sample."""
    from scipy import stats

    def told(sums: tuple[int, ...], rest: tuple[int, ...]) -> Any:
        models = [model(f"M{i}-SUM", i, (0.5, 0.5), rises=n) for i, n in enumerate(sums)]
        models += [model(f"R{i}", i, (0.5, 0.5), rises=n) for i, n in enumerate(rest)]
        claims = claims_of(
            two(*models[:2], (0.5, 0.5)) | {"models": models, "search": searched(models)}
        )
        return next(claim for claim in claims if claim.name == "sums_fluctuate")

    high = told((9, 8, 10), (1, 2, 1, 3))
    assert (high.verdict, high.row.drawn) == ("holds", "models")
    exact = stats.ttest_ind((9, 8, 10), (1, 2, 1, 3), equal_var=False, alternative="greater").pvalue
    assert high.row.look.supports == pytest.approx(exact)
    assert told((1, 2, 1), (9, 8, 10, 9)).verdict == "does not hold"
    assert told((5, 1, 9), (4, 4, 5, 6)).verdict == "undecided"


def test_numbers_of_every_training(finished: Any) -> None:
    """The first training is the model of the tables; the others are other weights, judged by the library."""
    from oodometer import load
    from oodometer.metrics import disca_by_tolerance
    from oodometer_lab.recipes.selective_answering.tables import TOLERANCES

    for model in finished.result["models"]:
        count = 2 if model["family"] == "transformer" else 3
        for one, numbers in model["trainings"].items():
            assert {len(values) for values in numbers.values()} == {count}
            assert numbers["disca"][0] == model[one]["disca"]["value"]
            assert numbers["fluctuations"][0] == model[one]["disca"]["fluctuations"]
            assert numbers["auc_coverage"][0] == model[one]["auc_coverage"]["value"]
            record = load(finished.folder / f"predictions/{model['name']}-seed-1.{one}.parquet")
            confidence, correct = record.probabilities.max(1), record.predicted == record.label
            scores = disca_by_tolerance(
                confidence, correct, tolerances=TOLERANCES, weights=(0.33, 0.33, 0.33)
            )
            assert numbers["accuracy"][1] == pytest.approx(correct.mean(), abs=1e-6)
            assert numbers["disca"][1] == pytest.approx(scores[0.95].value, abs=1e-6)
            assert numbers["b"][1] == pytest.approx(
                np.mean([score.b for score in scores.values()]), abs=1e-6
            )
            first = load(finished.folder / f"predictions/{model['name']}.{one}.parquet")
            assert not np.array_equal(first.probabilities, record.probabilities)
    assert all(pair["b_error"] >= 0 for pair in finished.result["pairs"])
    assert "**Every training of a model**" in finished.words


def test_what_names_a_model_is_tested_over_trainings_and_texts() -> None:
    """A t test whose variance is that between trainings (Welch) and that over texts together."""
    from scipy import stats

    def told(error: float, first: list[float], second: list[float]) -> Any:
        models = [model("W2V-SUM", 10, (0.5, 0.5)), model("OTHER", 20, (0.5, 0.5))]
        for one, values in zip(models, (first, second), strict=True):
            numbers = {"disca": values, "b": values, "fluctuations": values}
            one["trainings"] = {"imdb": numbers, "sst2": numbers}
        made = two(*models, (0.5, 0.5))
        for pair in made["pairs"]:
            pair |= {"error": error, "b_error": error}
        return next(claim for claim in claims_of(made) if claim.name == "word_sums_lead")

    first, second = [0.8, 0.82, 0.81, 0.83], [0.6, 0.64, 0.61]
    sure = told(0.01, first, second)
    assert (sure.verdict, sure.row.drawn) == ("holds", "trainings and texts")
    welch = stats.ttest_ind(first, second, equal_var=False, alternative="greater")
    assert told(0.0, first, second).row.look.supports == pytest.approx(welch.pvalue)
    lead = np.mean(first) - np.mean(second)
    parts = np.var(first, ddof=1) / 4, np.var(second, ddof=1) / 3
    freedom = (sum(parts) + 0.01**2) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 2)
    t = lead / np.sqrt(sum(parts) + 0.01**2)
    assert sure.row.look.supports == pytest.approx(stats.t.sf(t, freedom))
    assert told(0.2, first, second).verdict == "undecided"
    assert told(0.01, second, first).verdict == "does not hold"
    assert told(0.01, first, [0.61]).row.test == ""  # one training of the other model
    assert "means over 3 to 4 trainings" in sure.evidence


def test_named_models_and_stand_ins_are_not_tested() -> None:
    """Where there is one training of each; and a stand-in for a transformer says nothing of it."""
    names = ("GLOVE-SUM", "MINILM-2", "MINILM-4", "MINILM-6")
    models = [model(name, 10 + i, (0.5 - 0.1 * i, 0.5)) for i, name in enumerate(names)]
    for one, place in zip(models[1:], ("BERT-BASE", "BERT-LARGE", "ROBERTA-LARGE"), strict=True):
        one |= {"stands_for": place, "family": "transformer"}
    made = two(*models[:2], (0.5, 0.5)) | {"models": models, "search": searched(models)}
    claims = {claim.name: claim for claim in claims_of(made)}
    assert "MINILM-2 and larger ones" in claims["bert_base_first"].claim
    assert claims["bert_base_first"].row.effects == pytest.approx([-0.1, 0.1, 0.2])
    apart = {name for name, claim in claims.items() if claim.verdict == "not comparable"}
    assert apart == {"newer", "larger", "plateau", "bert_base_first"}
    assert claims["glove_b"].verdict == "undecided"
    for one in models:
        one["stands_for"] = one["name"]
    assert {claim.verdict for claim in claims_of(made)} == {"undecided"}


def test_states_are_computed_once_and_read_as_by_one_model_alone(
    finished: Any, encoder: Path
) -> None:
    """The kept states of a layer are those of the encoder cut behind it."""
    from oodometer import load
    from oodometer_lab.datasets import imdb
    from oodometer_lab.models import load_model

    states = [folder for folder in (finished.folder / "states").iterdir() if folder.is_dir()]
    assert (
        len(states) == 4
    )  # each draw of training texts, IMDb, SST-2: one folder each, for all three models
    texts = imdb("test").sample(60, 0)
    for name in NAMES[-3:]:
        alone = load_model(finished.folder / f"models/{name}")
        record = load(finished.folder / f"predictions/{name}.imdb.parquet")
        np.testing.assert_allclose(alone.predict(texts.inputs).logits, record.logits, atol=1e-4)


def test_most_models_fluctuate_more_out_of_domain() -> None:
    def told(*away: int) -> str:
        models = [model(f"M{i}", i, (0.5, 0.5), rises=3) for i in range(len(away))]
        for one, many in zip(models, away, strict=True):
            one["sst2"]["disca"] |= {
                "fluctuations": many,
                "fluctuations_interval": [many - 1, many + 1],
            }
        order = {
            key: [one["name"] for one in models] for key in ("accuracy", "auc_coverage", "disca")
        }
        result = {
            "models": models,
            "rankings": {"imdb": order, "sst2": order},
            "disagreements": [],
            "pairs": [],
        }
        more = {
            "findings": [],
            "tails": [],
            "settings": {"replicates": 200},
            "search": searched(models),
        }
        return verdicts({**result, **more})["more_out_of_domain"]

    assert told(*[9] * 6) == "holds"  # 2 / 64
    assert told(*[9] * 5) == "undecided"  # 2 / 32
    assert told(9, 9, 9, 3, 3, 3) == "undecided"
    assert told(*[0] * 6) == "does not hold"
    assert told(9, 9) == "undecided"  # two are not "most"


def test_figures_show_the_results_numbers(finished: Any) -> None:
    """Ranks counted by hand; points of the curve as they are in the result."""

    def drawn_rows(name: str) -> dict[str, Any]:
        panels = json.loads((finished.folder / f"figures/{name}.vl.json").read_text())["concat"]
        return {panel["title"]: panel["data"]["values"] for panel in panels}

    rows = drawn_rows("figure-16-rankings")
    for name, one in (("imdb", "IMDb"), ("sst2", "SST-2")):
        at = {
            model["name"]: next(
                r["value"] for r in model[name]["disca"]["by_tolerance"] if r["tolerance"] == 0.95
            )
            for model in finished.result["models"]
        }
        drawn = {r["model"]: r["rank"] for r in rows[one] if r["tolerance"] == 0.95}
        assert drawn == {
            m: 1 + sum(other > value for other in at.values()) for m, value in at.items()
        }
    (row,) = [r for r in drawn_rows("figure-8-curves")["SST-2"] if r["model"] == "W2V-CNN"]
    curve = next(m for m in finished.result["models"] if m["name"] == "W2V-CNN")["sst2"]["curve"]
    assert (row["coverage"], row["accuracy"]) == (curve["x"], curve["y"])


def test_a_block_of_work_costs_joules() -> None:
    pytest.importorskip("codecarbon", reason="needs the extra energy: pip install '.[energy]'")
    from oodometer_lab.recipes.selective_answering.study import _metered

    total, joules = _metered(lambda: sum(range(3_000_000)))
    assert total == 4_499_998_500_000
    assert joules > 0
