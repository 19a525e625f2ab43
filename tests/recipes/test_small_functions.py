"""What small functions of recipes give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scripts.publish import written

from oodometer.errors import UsageError
from oodometer_lab.recipes.correctness_discriminators import findings as judged
from oodometer_lab.recipes.correctness_discriminators import tasks
from oodometer_lab.recipes.correctness_discriminators.study import TaskData, halves
from oodometer_lab.recipes.dialogue_shift.study import Condition, RunConfig, conditions_of
from oodometer_lab.recipes.few_shot_ranking.lineup import suites_of
from oodometer_lab.recipes.few_shot_ranking.study import balanced, cut_folder
from oodometer_lab.recipes.kit import claims, sources, tables
from oodometer_lab.recipes.reproduce import find_recipe
from oodometer_lab.recipes.scoring_functions.study import groups_of
from oodometer_lab.recipes.selective_answering import findings, lineup
from oodometer_lab.recipes.selective_answering.tables import inverted

from ..snapshots import raises_snapshot

CELL = {"value": 0.5, "lower": 0.4, "upper": 0.625}
WIDE = {"value": 0.4, "lower": 0.3, "upper": 0.5, "level": 0.95}
HIGHER = {"value": 0.6, "lower": 0.5, "upper": 0.7}
SMALL = {task.name: task for task in tasks.tasks_of("small")}
AMR = next(task for task in tasks.tasks_of("paper") if task.metric is not None)
STEPS = ("parser", "judge-0", "ask-dev", "metric")
SOME = RunConfig(ratios=(0.1,), deleted=(0, 5), lengths=(1,), importance=(5,))
SEEN = [
    claims.Row("a", "a test", "rows", [claims.Look(p, 1 - p)], [0.1]) for p in (0.01, 0.3, 0.99)
]
HELD = halves(np.array(["a"] * 4 + ["b"] * 2), seed=0)
FLAT = inverted("start", np.full(100, 10), np.full(100, 0.9), 0.2)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (judged.pooled([{"inside": True, "rows": 7}, {"inside": False, "rows": 7}]), {"inside": False, "rows": 7}),
        (judged.pooled([WIDE, {**WIDE, **HIGHER}])["lower"], pytest.approx(0.28, abs=1e-3)),
        ([len(HELD[0]), len(HELD[1]), sorted(np.concatenate(HELD).tolist())], [3, 3, [0, 1, 2, 3, 4, 5]]),
        (list(SMALL), ["cogs", "amr", "pos-cogs", "pos-ud", "pos-wsj", "syn-gum"]),
        ([one.name for one in tasks.replicates_of(SMALL["cogs"])], ["cogs-seed-1", "cogs-seed-2"]),
        (sources.located({"source": "a/no-such-model", "kind": "a"}), {"source": "a/no-such-model", "kind": "a"}),
        ([list(tasks.pretrained_of(AMR, step)) for step in STEPS], [["t5-base"], ["t5-base"], [], ["roberta-base"]]),
        ([Condition("ic", "1/6", "1/6").name, Condition("source", "dev").name], ["ic-1", "dev"]),
        (
            [one.name for one in conditions_of(SOME)],
            ["dev", "test", "uw-0.1", "kw-0.1", "importance-5", "ic-0", "ic-5", "sr-1"],
        ),
        (groups_of(["cifar10.1", "fog-1", "snow-1"]), {"cifar10.1": ["cifar10.1"], "severity 1": ["fog-1", "snow-1"]}),
        ([one.name for one in suites_of("nli")], ["SUB", "CON"]),
        (balanced(np.array([[0.9, 0.9, 0.9, 0.1]]), np.array([1, 1, 1, 1])).tolist(), [0.75]),
        ([cut_folder({"source": "minilm:3"}), cut_folder({"config": {}})], ["encoders/minilm-3", ""]),
        ([findings.kendall_tau("abc", other) for other in ("abc", "cba")], [1.0, -1.0]),
        (FLAT[[0, 9, 10]].round(3).tolist(), [0.7, 0.7, 0.9]),
        (lineup.vectors_source("glove").endswith("glove.840B.300d.zip"), True),
        (
            [list(lineup.pretrained_of(one)) for one in lineup.lineup("paper", lineup.RUN_CONFIGS["paper"])][-2:],
            [["google-bert/bert-large-uncased"], ["FacebookAI/roberta-large"]],
        ),
        ([claims.Claim(one, "A", "", "").verdict for one in SEEN], ["holds", "undecided", "does not hold"]),
        (claims.contrast(([3.0, 4.0, 5.0], [1.0, 1.5, 2.0]), (1, -1)).supports, pytest.approx(0.016, abs=5e-4)),
        (written({"form": 1, "rows": [{"name": "a"}]}, "name"), '{"form":1,"rows":[\n{"name":"a"}]}\n'),
        (sources.beside_the_data("owner/no-such-model"), "owner/no-such-model"),
        (sources.beside_the_data("no-such-model"), "hub:no-such-model"),
        ([tables.percent(CELL), tables.percent(None), tables.bare(CELL)], ["50.0 [40.0, 62.5]", "-", "50.0"]),
        (tables.number({"value": -0.5, "lower": -1, "upper": 0.25}), "-0.50 [-1.00, 0.25]"),
        (tables.mean_and_spread([1.0, 3.0]), {"mean": 2.0, "sd": 2**0.5, "by_model": [1.0, 3.0]}),
        (tables.rounded({"a": [1 / 3, 2], "b": None}), {"a": [0.333333, 2], "b": None}),
    ],
)  # fmt: skip
def test_gives(given: Any, wanted: Any) -> None:
    assert given == wanted


def test_a_tagger_sees_each_word_before_its_tag() -> None:
    data = TaskData(next(task for task in SMALL.values() if task.config.aligned))
    assert data.seen(["The dog barks"], ["DET NOUN"]) == (
        ["The dog barks"],
        ["The DET dog NOUN barks ~"],
    )


def test_a_misspelt_paper() -> None:
    with raises_snapshot(UsageError):
        find_recipe("selective-answer")
