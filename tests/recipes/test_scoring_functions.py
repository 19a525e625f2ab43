"""The recipe on images, whole, at a tiny size: its files, its errors against the library's, what is kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from oodometer.errors import UsageError
from oodometer_lab.recipes import reproduce
from oodometer_lab.recipes.base import Workspace

from ..snapshots import raises_snapshot

torch = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
pytest.importorskip("PIL", reason="needs the extra image: pip install '.[image]'")

sys.path.insert(0, str(Path(__file__).parent))
from tiny_images import write_images  # noqa: E402

from oodometer_lab.recipes.kit.sources import load_answers  # noqa: E402
from oodometer_lab.recipes.scoring_functions import RECIPE  # noqa: E402
from oodometer_lab.recipes.scoring_functions.findings import (  # noqa: E402
    Pair,
    _below,
    claims_of,
    falls,
    jackknife,
)
from oodometer_lab.recipes.scoring_functions.study import (  # noqa: E402
    RUN_CONFIGS,
    DominoesConfig,
    agreement_of_subsets,
    cell_of,
    errors_of,
    of_all_subsets,
    record_of,
    scores_of,
)

PAPER = "scoring-functions"


def tiny(scale: str) -> Any:
    """The config of a scale with a network, sets and ensembles of the smallest size."""
    usual = RUN_CONFIGS[scale]
    width = {"width": 8, "depth": 10 if scale == "paper" else 8}
    return replace(
        usual,
        network={**usual.network, **width, "stem_stride": 2},
        training=replace(usual.training, epochs=2, batch_size=32, precision="float32"),
        compromised_epochs=1,
        members=2,
        clean_members=4,
        clean_ensembles=2,
        bases=2,
        views=2,
        view_rows=10,
        rows=40,
        kinds=("brightness", "contrast"),
        severities=(1, 3, 5),
        groups=4,
        dominoes=DominoesConfig(
            correlations=(0.95, 1.0), members=2, epochs=1, train_rows=60, draws=3
        ),
    )


@pytest.fixture(scope="module")
def reports() -> list[tuple[str, float]]:
    """What the run reports."""
    return []


@pytest.fixture(scope="module")
def finished(reports: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A run of the clean task and the dominoes at the small scale."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OODOMETER_DATA", str(write_images(tmp_path_factory.mktemp("data"))))
        patch.setattr(RECIPE, "config", {scale: tiny(scale) for scale in RECIPE.scales})
        out = tmp_path_factory.mktemp("run")
        # in this process, which alone knows of the miniature
        tasks = ["clean", "dominoes"]
        yield reproduce(
            PAPER, out=out, tasks=tasks, workers=1, report=lambda *report: reports.append(report)
        )


def test_leaves_its_tables_and_says_what_is_absent(finished: Any, reports: Any) -> None:
    assert reports[-1] == ("done", 1.0)
    assert [share for _, share in reports] == sorted(share for _, share in reports)
    assert "Not at hand: cifar10.1, stl10" in finished.words
    assert "Not run: measurement-noise, under-sampling, label-noise" in finished.words
    for table in ("Table 1", "Figure 2", "Table 2", "Table 3", "Who raises an alarm"):
        assert table in finished.words
    clean = finished.result["tasks"]["clean"]
    assert list(clean["ma"]["shifts"]) == ["severity 1", "severity 3", "severity 5"]
    assert list(clean["paired"]) == ["severity 1", "severity 5"]
    assert len(clean["sizes_of_ensemble"]["all"]) == 3
    assert clean["ma"]["models"] == 4
    assert clean["ma-diverse"]["models"] == 2
    assert len(clean["ma"]["shifts"]["severity 5"]["lms"]["exact"]["by_model"]) == 2
    names = {one["name"] for one in finished.result["claims"]}
    assert {
        "ma_conf",
        "conf_lms",
        "severity_ma",
        "diverse_far",
        "dominoes_randomized",
        "dominoes_best",
    } <= names


def test_errors_are_those_of_the_library(finished: Any) -> None:
    from oodometer import estimate

    folder, base = Workspace(finished.folder), 0
    answers = [
        load_answers(folder, "clean/answers-ma", name) for name in ("validation", "contrast-3")
    ]
    answers = [
        {k: own[k][..., :10] if k == "views" else own[k] for k in own if k != "published"}
        for own in answers
    ]
    few = [
        {**own, "label": own["label"][:10], "probabilities": own["probabilities"][:, :10]}
        for own in answers
    ]
    methods = {"conf": "max_probability", "lms-own": "view_agreement", "ma": "model_agreement"}
    for score, name in methods.items():
        both = (
            few
            if score == "lms-own"
            else [{k: own[k] for k in ("label", "probabilities")} for own in answers]
        )
        reference, shifted = (record_of(own, base) for own in both)
        by_set = [scores_of(own, base)[score] for own in both]
        right = [own["probabilities"][base].argmax(-1) == own["label"] for own in both]
        errors = errors_of(by_set, right, 100, 4)
        for how, method in (("exact", f"threshold:{name}"), ("grid", f"threshold:{name}:100")):
            result = estimate(
                reference, shifted, methods=[method], backtest=None, diagnosis=False
            ).estimates[0]
            assert errors[how][0] == pytest.approx(abs(result.value - right[1].mean()), abs=1e-9), (
                score,
                how,
            )


def test_further_ensembles_share_no_model_with_the_first(finished: Any) -> None:
    """Their errors are those of their own answers; every plain model on clean data trains from a seed of its own."""
    folder, clean = Workspace(finished.folder), finished.result["tasks"]["clean"]
    (further,) = clean["further"]
    assert list(further) == list(clean["ma"]["shifts"])
    sets = [
        load_answers(folder, "clean/answers-ma-2", name)
        for name in ("validation", "brightness-5", "contrast-5")
    ]
    assert "published" not in sets[1]
    for score, steps in (("conf", 1_000), ("ma", 3)):
        for base in range(4):
            by_set = [scores_of(answers, base)[score] for answers in sets]
            right = [each["probabilities"][base].argmax(-1) == each["label"] for each in sets]
            expected = errors_of(by_set, right, steps, 4)["grid"].mean()
            error = further["severity 5"][score]["grid"]["by_model"][base]
            assert error == pytest.approx(expected, abs=1e-6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RECIPE, "config", {scale: tiny(scale) for scale in RECIPE.scales})
        steps = RECIPE.steps("small", ["clean"])
    seeds = [
        step.settings["seed"]
        for step in steps
        if "train-" in step.name and "diverse" not in step.name
    ]
    assert sorted(seeds) == list(range(8))
    assert "**Conf and MA of every plain ensemble**" in finished.words


def test_ensembles_are_drawn_anew_together() -> None:
    """The error of a mean over ensembles is that of independent trainings: by hand for three, of the same numbers."""
    rng = np.random.default_rng(0)

    def cells(value: float) -> dict[str, Any]:
        return {"grid": {"by_model": (value + 0.01 * rng.standard_normal(8)).tolist()}}

    shifts = {f"severity {s}": {"ma": cells(0.035), "conf": cells(0.04)} for s in (1, 5)}
    leads = np.mean(
        [
            np.subtract(both["conf"]["grid"]["by_model"], both["ma"]["grid"]["by_model"])
            for both in shifts.values()
        ],
        axis=0,
    )
    one, three = (_below("ma_conf", "ma", "conf", [shifts] * n, {}) for n in (1, 3))
    assert one.effects == pytest.approx(three.effects)
    assert len(three.effects) == 2
    for row, degrees in ((one, 7), (three, 21)):
        error = leads.std(ddof=1) / np.sqrt(8 * degrees / 7)
        assert row.look.supports == pytest.approx(stats.t.sf(leads.mean() / error, degrees))


def some_answers(rows: int, models: int = 5, sets: int = 3) -> tuple[list[Any], list[Any]]:
    """Classes (model, sample) of sets that are shifted more and more, and labels."""
    rng = np.random.default_rng(rows)
    labels = [rng.integers(3, size=rows)] * sets
    classes = [
        np.where(
            rng.random((models, rows)) < 0.2 + 0.15 * i, rng.integers(3, size=(models, rows)), label
        )
        for i, label in enumerate(labels)
    ]
    return classes, labels


@pytest.mark.parametrize("steps", [4, 10, 1_000])
def test_the_grid_is_that_of_a_plain_loop(steps: int) -> None:
    """As the published code: every even threshold below 1 in turn, kept where it is nearer than all before it."""
    rng = np.random.default_rng(steps)
    for _ in range(20):
        scores = [rng.integers(5, size=60) / 4 if steps == 4 else rng.random(60) for _ in range(2)]
        right = [rng.random(60) < scores[0], rng.random(60) < 0.5]
        best, at = np.inf, 0.0
        for threshold in np.linspace(0, 1, steps, endpoint=False):
            away = abs((scores[0] >= threshold).mean() - right[0].mean())
            if away < best:
                best, at = away, threshold
        wanted = abs((scores[1] >= at).mean() - right[1].mean())
        assert errors_of(scores, right, steps, 4)["grid"][0] == pytest.approx(wanted)


def test_every_score_has_the_grid_of_the_published_code(
    finished: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,000 steps of confidence; of smoothness one a view, of agreement one for each other model."""
    from oodometer_lab.recipes.scoring_functions import study

    steps = []
    whole = errors_of
    monkeypatch.setattr(study, "errors_of", lambda *given: steps.append(given[2]) or whole(*given))
    folder, config = Workspace(finished.folder), tiny("small")
    sets = {
        name: load_answers(folder, "clean/answers-ma", name)
        for name in ("validation", "contrast-3")
    }
    study._errors(sets, {"all": ["contrast-3"]}, config)
    assert sorted(steps) == sorted(
        [1_000] * 6 + [2] * 3 + [3] * 4 + [1]
    )  # the last: of the ensemble's mean


def test_errors_without_images_are_those_of_the_other_images() -> None:
    rng = np.random.default_rng(0)
    scores, right = [rng.random(50) for _ in range(3)], [rng.random(50) < 0.6 for _ in range(3)]
    errors = errors_of(scores, right, 10, 5)
    for group in range(5):
        rest = np.arange(50) % 5 != group
        alone = errors_of([own[rest] for own in scores], [own[rest] for own in right], 10, 5)
        np.testing.assert_allclose(errors["images"][group], alone["grid"])
    halves = [
        errors_of(
            [scores[0][i::2], scores[1][1 - i :: 2]], [right[0][i::2], right[1][1 - i :: 2]], 10, 2
        )
        for i in (0, 1)
    ]
    assert errors["apart"][0] == pytest.approx(np.mean([own["exact"][0] for own in halves]))


@pytest.mark.parametrize("rows", [7, 60])
def test_agreement_of_subsets_is_that_of_each_alone(rows: int) -> None:
    classes, labels = some_answers(rows)
    chosen, errors = agreement_of_subsets(
        [own[0] for own in classes], [own[1:] for own in classes], labels, 4
    )
    assert errors.shape == (2, 15, 2, 5)
    right = [own[0] == label for own, label in zip(classes, labels, strict=True)]
    for subset, exact, grid in zip(chosen, *errors, strict=True):
        scores = [(each[1:][subset] == each[0]).mean(0) for each in classes]
        alone = errors_of(scores, right, int(subset.sum()), 4)
        np.testing.assert_allclose(exact[:, 0], alone["exact"], atol=1e-12)
        np.testing.assert_allclose(grid[:, 0], alone["grid"], atol=1e-12)
        np.testing.assert_allclose(grid[:, 1:].T, alone["images"], atol=1e-12)
        rest = np.arange(rows) % 4 != 2
        without = errors_of([own[rest] for own in scores], [own[rest] for own in right], 2, 4)
        np.testing.assert_allclose(exact[:, 3], without["exact"], atol=1e-12)


def test_cells_leave_each_training_out_as_judged_and_as_member() -> None:
    classes, labels = some_answers(80)
    errors, on = of_all_subsets(classes, classes, labels, 4)
    assert on.all(1).sum(1).tolist() == [1] * 5  # the judged one alone is in all of its ensembles
    own = errors[0].mean(2)
    whole, pairs = cell_of(own, on, 5), cell_of(own, on, 2)
    for seed in range(5):
        rest = [np.delete(each, seed, 0) for each in classes]
        fewer, left = of_all_subsets(rest, rest, labels, 4)
        assert whole["by_training"][seed] == pytest.approx(
            np.mean(cell_of(fewer[0].mean(2), left, 4)["by_model"])
        )
        assert pairs["by_training"][seed] == pytest.approx(
            np.mean(cell_of(fewer[0].mean(2), left, 2)["by_model"])
        )
    spread = cell_of(own, on, 3, lambda values, axis: values.std(axis, ddof=1))
    assert spread["by_model"][0] == pytest.approx(own[0, on[0].sum(-1) == 3, 0].std(ddof=1))


def test_the_jackknife_of_means_is_students_t() -> None:
    """Leaving out one of a mean's values gives its usual standard error, of trainings, of images, and both added."""
    from scipy import stats

    rng = np.random.default_rng(0)
    first, second = rng.normal(0.3, 1, 6), rng.normal(0, 1, 9)
    paired = jackknife([(1.0, {"by_model": first}), (-1.0, {"by_model": second[:6]})])
    assert paired.supports == pytest.approx(
        stats.ttest_rel(first, second[:6], alternative="greater").pvalue
    )
    apart = jackknife([(1.0, {"by_model": first})], [(-1.0, {"by_model": second})])
    assert apart.supports == pytest.approx(
        stats.ttest_ind(first, second, equal_var=False, alternative="greater").pvalue
    )
    groups = rng.normal(0.5, 1, 16)
    images = ((groups.sum() - groups) / 15).tolist()
    same = {"by_model": [groups.mean()] * 4, "by_images": images}
    alone = jackknife([(1.0, same)])
    assert alone.supports == pytest.approx(
        stats.ttest_1samp(groups, 0, alternative="greater").pvalue, abs=1e-3
    )
    both = jackknife(
        [(1.0, {"by_model": first - first.mean() + groups.mean(), "by_images": images})]
    )
    s = (first.var(ddof=1) / 6 + groups.var(ddof=1) / 16) ** 0.5
    share = np.array([first.var(ddof=1) / 6, groups.var(ddof=1) / 16]) / s**2
    freedom = 1 / (share**2 / [5, 15]).sum()
    assert both.supports == pytest.approx(stats.t.sf(groups.mean() / s, freedom))
    assert (
        jackknife([(1.0, {"by_model": [0.2]})]).supports == 1.0
    )  # of a single training nothing is said
    assert jackknife([(1.0, {"by_model": first, "by_training": []})]).supports == 1.0


def test_a_size_is_the_share_of_the_paper() -> None:
    """Low errors are to be at most half of the high ones where the paper's are; Student's and Welch's t of the rest."""
    from scipy import stats

    rng = np.random.default_rng(3)
    high, low = rng.normal(0.3, 0.1, 6), rng.normal(0.2, 0.1, 6)
    pair = Pair({"by_model": high}, {"by_model": low}, (0.2, 0.1))
    paired = falls("a", [pair], {})
    assert paired.effects == [pytest.approx(high.mean() - low.mean())]
    assert paired.looks[0].supports == pytest.approx(
        stats.ttest_rel(high, low, alternative="greater").pvalue
    )
    assert paired.size.supports == pytest.approx(
        stats.ttest_rel(high / 2, low, alternative="greater").pvalue
    )
    apart = falls("a", [pair._replace(of_low="others")], {})
    welch = stats.ttest_ind(high / 2, low, equal_var=False, alternative="less").pvalue
    assert apart.size.refutes == pytest.approx(welch)
    assert falls("a", [pair._replace(paper=())], {}).size is None
    # The mean over two shifts of the same models is a t test of each model's mean
    more = rng.normal(0.3, 0.1, 6), rng.normal(0.2, 0.1, 6)
    both = falls("a", [pair, Pair({"by_model": more[0]}, {"by_model": more[1]})], {})
    means = (high + more[0] - low - more[1]) / 2
    assert both.looks[0].supports == pytest.approx(
        stats.ttest_1samp(means, 0, alternative="greater").pvalue
    )


def test_scores_are_counted_by_hand() -> None:
    p = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.7, 0.3]], [[0.3, 0.7], [0.2, 0.8]]])
    views = np.array([[[0, 1], [0, 0], [1, 0]]])
    scores = scores_of({"probabilities": p, "views": views, "published": views}, 0)
    assert scores["conf"].tolist() == scores["conf-few"].tolist() == [0.9, 0.6]
    # Of three views of the second image, which is class 1, one says so: two thirds say another, the most frequent
    assert scores["lms-own"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert scores["lms"].tolist() == pytest.approx([2 / 3, 2 / 3])
    assert scores["ma"].tolist() == [0.5, 0.5]
    assert set(scores_of({"probabilities": p, "views": views, "published": views}, 1)) == {
        "conf",
        "ma",
    }
    assert "ma" not in scores_of({"probabilities": p[:1]}, 0)


def test_a_second_run_keeps_all_steps_but_those_over_all_tasks(finished: Any) -> None:
    again = reproduce(PAPER, out=finished.folder, tasks=["clean", "dominoes"], workers=1)
    assert {one.name for one in again.steps if not one.kept} == {"tables", "figures"}
    assert again.result["tasks"] == finished.result["tasks"]


def test_the_paper_scale_runs_whole_with_natural_shifts_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(1)
    monkeypatch.setenv("OODOMETER_DATA", str(write_images(tmp_path / "data", natural=True)))
    config = replace(tiny("paper"), kinds=("contrast",), severities=(1, 5), clean_members=2)
    monkeypatch.setattr(RECIPE, "config", {"paper": config})
    found = reproduce(PAPER, scale="paper", out=tmp_path / "run", workers=1)
    tasks = found.result["tasks"]
    assert list(tasks) == [
        "clean",
        "measurement-noise",
        "under-sampling",
        "label-noise",
        "dominoes",
    ]
    assert tasks["clean"]["absent"] == []
    assert tasks["dominoes"]["far"] == "stl10"
    assert set(tasks["label-noise"]["ma"]["shifts"]) == {
        "cifar10.1",
        "stl10",
        "severity 1",
        "severity 5",
    }
    assert "Not run" not in found.words


def test_the_claims_follow_the_numbers() -> None:
    def shift(conf: float, lms: float, ma: float) -> dict[str, Any]:
        wobble = np.array([-0.001, 0.0, 0.001, 0.0005])
        told = {"conf": conf, "lms": lms, "ma": ma}
        cells = {
            score: {
                how: {"by_model": (value + wobble * (1 + i)).tolist()} for how in ("exact", "grid")
            }
            for i, (score, value) in enumerate(told.items())
        }
        return cells

    shifts = {f"severity {s}": shift(0.02 * s, 0.05 * s, 0.01 * s) for s in range(1, 6)}
    worse = {name: shift(0.02, 0.05, 0.03) for name in shifts}  # better far away, worse near by
    sizes = [
        {"models": n, "by_model": [0.02 + 0.1 / n**3 + 1e-4 * i for i in range(4)], "spread": 0.01}
        for n in range(2, 9)
    ]
    paired = {
        name: {"ma": cells["ma"]["grid"], "ma-diverse": worse[name]["ma"]["grid"]}
        for name, cells in shifts.items()
    }
    clean = {
        "ma": {"models": 4, "shifts": shifts},
        "ma-diverse": {"models": 4, "shifts": worse},
        "sizes_of_ensemble": {"all": sizes},
    }
    for more in ({}, {"paired": paired}):
        verdicts = {
            one.name: one.verdict for one in claims_of({"tasks": {"clean": {**clean, **more}}})
        }
        assert verdicts["ma_conf"] == verdicts["conf_lms"] == "holds"
        assert verdicts["severity_ma"] == verdicts["saturates"] == "holds"
        assert verdicts["diverse_far"] == "holds"
        assert verdicts["diverse_near"] == "does not hold"
    turned = {name: shift(0.01, 0.05, 0.02) for name in shifts}
    verdicts = {
        one.name: one.verdict
        for one in claims_of({"tasks": {"clean": {**clean, "ma": {"models": 4, "shifts": turned}}}})
    }
    assert verdicts["ma_conf"] == "does not hold"
    assert verdicts["severity_ma"] in ("undecided", "does not hold")
    # The same numbers where other images would have given others
    blurred = {
        name: {
            s: {
                **cell,
                "grid": {
                    **cell["grid"],
                    "by_images": [
                        cell["grid"]["by_model"][0] * (1 + 0.3 * (-1) ** i * (s == "ma"))
                        for i in range(16)
                    ],
                },
            }
            for s, cell in cells.items()
        }
        for name, cells in shifts.items()
    }
    verdicts = {
        one.name: one.verdict
        for one in claims_of(
            {"tasks": {"clean": {**clean, "ma": {"models": 4, "shifts": blurred}}}}
        )
    }
    assert verdicts["ma_conf"] == "undecided"


def test_a_first_look_is_small() -> None:
    assert RECIPE.scales == ("small", "tiny", "paper")
    config = RUN_CONFIGS["tiny"]
    trainings = config.clean_members + 7 * config.members
    assert (
        trainings * config.train_rows * config.training.epochs <= 100_000
    )  # under a minute of one core


def test_unknown_tasks_are_refused() -> None:
    with raises_snapshot(UsageError):
        reproduce(PAPER, tasks=["cleen"])
