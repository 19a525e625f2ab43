"""The recipe on images, whole, at a tiny size: its files, its errors against the library's, what is kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import UsageError
from oodometer.recipes import reproduce
from oodometer.recipes.base import Workspace

torch = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
pytest.importorskip("PIL", reason="needs the extra image: pip install '.[image]'")

sys.path.insert(0, str(Path(__file__).parent))
from tiny_images import write_images  # noqa: E402

from oodometer.recipes.kit.sources import load_answers  # noqa: E402
from oodometer.recipes.scoring_functions import RECIPE  # noqa: E402
from oodometer.recipes.scoring_functions.findings import claims_of  # noqa: E402
from oodometer.recipes.scoring_functions.study import (  # noqa: E402
    RUN_CONFIGS,
    DominoesConfig,
    Errors,
    agreement_of_subsets,
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
        bases=2,
        views=2,
        rows=20,
        kinds=("brightness", "contrast"),
        severities=(1, 3, 5),
        subsets=2,
        dominoes=DominoesConfig(correlations=(0.95, 1.0), members=2, epochs=1, train_rows=60, draws=3),
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
        yield reproduce(PAPER, out=out, tasks=tasks, workers=1, report=lambda *report: reports.append(report))


def test_leaves_its_tables_and_says_what_is_absent(finished: Any, reports: Any) -> None:
    assert reports[-1] == ("done", 1.0)
    assert [share for _, share in reports] == sorted(share for _, share in reports)
    assert "Not at hand: cifar10.1, stl10" in finished.words
    assert "Not run: measurement-noise, under-sampling, label-noise" in finished.words
    for table in ("Table 1", "Figure 2", "Table 2", "Table 3", "Who raises an alarm", "every estimator"):
        assert table in finished.words
    clean = finished.result["tasks"]["clean"]
    assert list(clean["ma"]["shifts"]) == ["severity 1", "severity 3", "severity 5"]
    assert clean["ma"]["models"] == 4
    assert clean["ma-diverse"]["models"] == 2
    assert len(clean["ma"]["shifts"]["severity 5"]["lms"]["exact"]["by_model"]) == 2
    assert "headline" in clean["estimators"]["methods"]
    assert clean["published"] is None
    names = {one["name"] for one in finished.result["claims"]}
    assert {
        "ma_conf",
        "conf_lms",
        "severity_ma",
        "diverse_far_clean",
        "dominoes_randomized_ma",
        "dominoes_best",
    } <= names


def test_errors_are_those_of_the_library(finished: Any) -> None:
    from oodometer import estimate
    from oodometer.recipes.scoring_functions.study import record_of

    folder = Workspace(finished.folder)
    validation, target = (load_answers(folder, "clean/answers-ma", name) for name in ("validation", "contrast-3"))
    base = 1
    reference, shifted = record_of(validation, base), record_of(target, base)
    errors = list(Errors(validation, 100).of(target))[base]
    truth = float(shifted.verdicts.mean())
    assert errors["accuracy"] == pytest.approx(truth)
    methods = {"conf": "max_probability", "lms": "view_agreement", "ma": "model_agreement"}
    for score, name in methods.items():
        for how, method in (("exact", f"threshold:{name}"), ("grid", f"threshold:{name}:100")):
            said = estimate(reference, shifted, methods=[method], backtest=None, diagnosis=False).estimates[0]
            assert errors[score][how] == pytest.approx(said.value - truth, abs=1e-9), (score, how)


def test_agreement_of_subsets_with_all_models_is_the_error_of_all(finished: Any) -> None:
    folder = Workspace(finished.folder)
    validation, target = (load_answers(folder, "clean/answers-ma", name) for name in ("validation", "brightness-5"))
    found = agreement_of_subsets(validation, [target], [2, 4], 3, seed=0)
    assert found[2].shape == (4, 3)
    assert found[4].shape == (4, 1)
    whole = [abs(one["ma"]["exact"]) for one in Errors(validation, 100).of(target)]
    np.testing.assert_allclose(found[4][:, 0], whole)


def test_scores_are_counted_by_hand() -> None:
    p = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.7, 0.3]], [[0.3, 0.7], [0.2, 0.8]]])
    views = np.array([[[0, 1], [0, 0]]])
    found = scores_of({"probabilities": p, "views": views}, 0)
    assert found["conf"].tolist() == [0.9, 0.6]
    assert found["lms"].tolist() == [1.0, 0.5]  # the first image is class 0 in both views, the second class 1 in one
    assert found["ma"].tolist() == [0.5, 0.5]
    assert "lms" not in scores_of({"probabilities": p, "views": views}, 1)
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
    assert list(tasks) == ["clean", "measurement-noise", "under-sampling", "label-noise", "dominoes"]
    assert tasks["clean"]["absent"] == []
    assert tasks["dominoes"]["far"] == "stl10"
    assert set(tasks["label-noise"]["ma"]["shifts"]) == {"cifar10.1", "stl10", "severity 1", "severity 5"}
    assert "Not run" not in found.words


def test_the_claims_follow_the_numbers() -> None:
    def shift(conf: float, lms: float, ma: float) -> dict[str, Any]:
        wobble = np.array([-0.001, 0.0, 0.001, 0.0005])
        told = {"conf": conf, "lms": lms, "ma": ma}
        cells = {
            score: {"exact": {"by_model": (value + wobble * (1 + i)).tolist()}}
            for i, (score, value) in enumerate(told.items())
        }
        return cells

    shifts = {f"severity {s}": shift(0.02 * s, 0.05 * s, 0.01 * s) for s in range(1, 6)}
    worse = {name: shift(0.02, 0.05, 0.001) for name in shifts}
    sizes = [
        {"models": n, "by_model": [0.02 + 0.1 / n**3 + 1e-4 * i for i in range(4)], "spread": 0.01} for n in range(2, 9)
    ]
    clean = {
        "ma": {"models": 4, "shifts": shifts},
        "ma-diverse": {"models": 4, "shifts": worse},
        "sizes_of_ensemble": {"all": sizes},
    }
    found = {one.name: one.verdict for one in claims_of({"tasks": {"clean": clean}})}
    assert found["ma_conf"] == found["conf_lms"] == "holds"
    assert found["severity_ma"] == found["saturates"] == "holds"
    assert found["diverse_far_clean"] == "holds"
    assert found["diverse_near_clean"] == "does not hold"
    turned = {name: shift(0.01, 0.05, 0.02) for name in shifts}
    found = {
        one.name: one.verdict
        for one in claims_of({"tasks": {"clean": {**clean, "ma": {"models": 4, "shifts": turned}}}})
    }
    assert found["ma_conf"] == "does not hold"
    assert found["severity_ma"] in ("undecided", "does not hold")


def test_a_first_look_is_small() -> None:
    assert RECIPE.scales == ("small", "tiny", "paper")
    config = RUN_CONFIGS["tiny"]
    trainings = config.clean_members + 7 * config.members
    assert trainings * config.train_rows * config.training.epochs <= 100_000  # under a minute of one core


def test_unknown_tasks_are_refused() -> None:
    with pytest.raises(UsageError, match="known: clean"):
        reproduce(PAPER, tasks=["cleen"])
