"""Claims and tables of the recipe on results made by hand; no model is needed."""

from __future__ import annotations

import json
from dataclasses import asdict
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import stats

from oodometer.errors import UsageError
from oodometer_lab.recipes.base import judged
from oodometer_lab.recipes.correctness_discriminators.findings import (
    PAGE,
    claims_of,
    markdown,
    percent,
    pooled,
    sets_of,
)
from oodometer_lab.recipes.correctness_discriminators.tasks import tasks_of
from oodometer_lab.recipes.correctness_discriminators.yardsticks import (
    Worth,
    chosen_elsewhere,
    coins,
    constant,
    enough,
    interval_score,
    intervals,
)

from ..snapshots import raises_snapshot


def number(value: float, half: float = 0.02) -> dict[str, Any]:
    return {
        "value": value,
        "lower": value - half,
        "upper": value + half,
        "level": 0.95,
        "kind": "exact",
    }


BEATS = [f"mean_beats_{name}" for name in ("max-prob", "ac", "atc")]


def study(
    title: str, gold: float, bounds: tuple[float, float], *, domain: str = "out",
    oracle: tuple[float, float] | None = (0.1, 0.9), baseline: float = 0.99, paper: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A study with the given bounds; every baseline says ``baseline``."""
    lower, upper = bounds
    mean = (lower + upper) / 2
    recalls = {
        name: number(0.95) for name in ("correct_recall", "incorrect_recall", "correct_precision")
    }

    def row(method: str, value: float, **more: Any) -> dict[str, Any]:
        return {
            "method": method,
            "value": number(value),
            "error": number(abs(value - gold)),
            **more,
        }

    methods = [
        row("single", mean, **recalls),
        row("lower", lower, **recalls),
        row("upper", upper, **recalls),
    ]
    methods += [row("mean", mean), *(row(name, baseline) for name in ("max-prob", "ac", "atc"))]
    if oracle is not None:
        ends = {"lower": oracle[0], "upper": oracle[1], "mean": sum(oracle) / 2}
        methods += [row(f"max-prob-oracle-{end}", value) for end, value in ends.items()]
    inside = lower <= gold <= upper
    widest = {
        "agree": 3, "lower": number(lower), "upper": number(upper), "width": number(upper - lower), "inside": inside,
        "above_lower": number(gold - lower, 0.01), "below_upper": number(upper - gold, 0.01), "error": number(0.1),
    }  # fmt: skip
    subset = {
        "rows": 20, "draws": 50, "gold": number(gold), "lower": number(lower), "upper": number(upper),
        "bounds": [{"agree": 3, "reliability": number(0.9), "width": number(upper - lower)}],
    }  # fmt: skip
    types = [{"type": name, "rows": 10, "gold": number(gold), "lower": number(lower), "upper": number(upper),
              "mean": number(mean), "inside": inside} for name in ("cp_recursion", "pp_recursion")]  # fmt: skip
    told = {"methods": methods, "inside": inside, "width": number(upper - lower), "bounds": [widest],
            "subsets": [subset, {**subset, "rows": 100}]}  # fmt: skip
    choice = {"voters": "judges", "accept": "thresholds", "agree": 3, "of": 3, "lower": lower, "upper": upper,
              "inside": inside, "error": abs(mean - gold)}  # fmt: skip
    wide = {
        **choice,
        "accept": "half",
        "lower": 0.0,
        "upper": 1.0,
        "inside": True,
        "error": abs(0.5 - gold),
    }
    return {
        "at_half": told, "choices": [wide, choice], **told,
        "title": title, "domain": domain, "paper": paper, "resembles": None, "rows": 100, "judges": 3, "level": 0.95,
        "gold": number(gold), "types": types, "skipped": [], "warnings": [], "cut": {},
    }  # fmt: skip


def result(**sets: dict[str, Any]) -> dict[str, Any]:
    """A result with one task a set."""
    tasks = {}
    for name, one in sets.items():
        family = "parsing" if name.startswith("syn") else "semantic"
        tasks[name] = {
            "form": 1, "task": name, "title": name, "family": family, "sets": {"test": one},
            "dev_accuracy": number(0.9), "cpu_seconds": {"parser": 60.0}, "seconds": {"parser": 60.0},
            "parser": {"parameters": 1000},
            "panel": {"judges": 3, "kind": "classifier", "parameters": 500, "correct": 5, "incorrect": 4, "unseen": 2},
            "data": {"train": {"rows": 10}},
            "examples": {"train": {"correct": 5, "incorrect": 4,
                                   "checkpoints": [{"name": "step-000200", "accuracy": 0.25}]}},
        }  # fmt: skip
    made: dict[str, Any] = {
        "form": 1,
        "paper": "x",
        "scale": "small",
        "tasks": tasks,
        "missing": [],
        "cores": 2,
        "replicates": {},
    }
    return made | {"claims": judged(claims_of(made))}


def verdicts(found: dict[str, Any], at: str = "thresholds") -> dict[str, str]:
    """Verdicts of the claims on one procedure, by their names without it."""
    end = f"_at_{at}"
    return {
        one.name.removesuffix(end): one.verdict
        for one in claims_of(found)
        if one.name.endswith(end)
    }


def test_claims_by_hand() -> None:
    good = {f"t{i}": study(f"T{i}", 0.5, (0.4, 0.7)) for i in range(6)}
    found = verdicts(result(**good))
    assert "atc_on_parsing" not in found
    names = ("inside_out", "tighter_than_oracle", "single_close", "recalls", "accepted_are_purer")
    assert "inside" not in found  # in distribution thresholds hold by construction
    assert {found[name] for name in (*names, *BEATS)} == {"holds"}
    assert found["small_samples"] == "holds"  # 90 % of the draws where 80 % are asked, in six tasks
    bad = {
        f"t{i}": study(f"T{i}", 0.2, (0.4, 0.9), oracle=(0.1, 0.3), baseline=0.25) for i in range(6)
    }
    found = verdicts(result(**bad))
    assert {found[name] for name in ("inside_out", "single_close", *BEATS)} == {"does not hold"}
    assert (
        found["tighter_than_oracle"] == "undecided"
    )  # where bounds do not hold, their width says nothing
    wide = {f"t{i}": study(f"T{i}", 0.5, (0.4, 0.9), oracle=(0.45, 0.55)) for i in range(6)}
    assert verdicts(result(**wide))["tighter_than_oracle"] == "does not hold"
    few = verdicts(result(**{name: good[name] for name in ("t0", "t1", "t2", "t3", "t4")}))
    assert few["inside_out"] == "holds"
    assert {few[name] for name in BEATS} == {
        "undecided"
    }  # five tasks have 32 signs, 2 / 32 is above 0.05
    few = verdicts(result(t0=good["t0"]))
    assert few["inside_out"] == few["mean_beats_ac"] == "undecided"  # one set is not "most"
    assert claims_of({"tasks": {}}) == []


def test_sets_of_one_task_are_one_unit() -> None:
    """Six sets of three tasks: three signs to flip, not six."""
    made = result(**{f"t{i}": study(f"T{i}", 0.5, (0.4, 0.7)) for i in range(3)})
    for i, task in enumerate(made["tasks"].values()):
        task["sets"]["more"] = study(f"M{i}", 0.5, (0.4, 0.7))
    (one,) = [one for one in claims_of(made) if one.name == "mean_beats_atc_at_thresholds"]
    assert (len(one.row.effects), one.row.drawn) == (6, "tasks")
    assert one.row.look.supports == 1 / 8


def test_what_is_seen_on_most_sets_may_be_chance() -> None:
    """Gold inside on all of three sets, but on two of them by less than the rows can tell."""
    sets = {"a": study("A", 0.5, (0.4, 0.7)), **{n: study(n, 0.405, (0.4, 0.7)) for n in "bc"}}
    (inside,) = [one for one in claims_of(result(**sets)) if one.name == "inside_out_at_thresholds"]
    assert inside.evidence == "30.0 to 30.0 points wide; of as many coins 0"
    row = inside.row
    assert (inside.verdict, row.needed, len(row.looks)) == ("undecided", 2, 3)
    assert row.effects == pytest.approx([0.1, 0.005, 0.005])
    z = 0.005 / (0.01 / 1.959964)  # its interval reaches 0.01 to either side
    assert row.look.supports == pytest.approx(NormalDist().cdf(-z))


def test_three_trainings_are_tested_by_t_with_their_variance_pooled() -> None:
    """Three sets with three trainings each, whose truth wobbles by other amounts in each task."""
    made = result(**{name: study(name, 0.5, (0.4, 0.9)) for name in "abc"})
    wobbles = {"a": (0.0, 0.02, -0.02), "b": (0.0, 0.05, -0.05), "c": (0.0, 0.01, -0.01)}
    for name, by_seed in wobbles.items():
        for seed in (1, 2):
            again = study(name, 0.5 + by_seed[seed], (0.4, 0.9))
            runs = made["replicates"].setdefault(name, {})
            runs[str(seed)] = {**made["tasks"][name], "seed": seed, "sets": {"test": again}}
    (one,) = [one for one in claims_of(made) if one.name == "inside_out_at_thresholds"]
    between = np.mean([np.var(by_seed, ddof=1) for by_seed in wobbles.values()]) / 3
    rows = (0.01 / 1.959964) ** 2
    freedom = 6 * ((between + rows) / between) ** 2
    exact = stats.t.sf(0.1 / (between + rows) ** 0.5, freedom)
    for look in one.row.looks:
        assert look.supports == pytest.approx(exact, rel=1e-4)


def test_claims_count_domains_and_say_where_bounds_fail() -> None:
    sets = {
        "a": study("A", 0.5, (0.4, 0.7)),
        "b": study("B", 0.395, (0.4, 0.7)),
        "c": study("C", 0.2, (0.4, 0.7), domain="in"),
        "d": study("D", 0.9, (0.4, 0.7), oracle=None),
    }
    found = {one.name.removesuffix("_at_half"): one.evidence for one in claims_of(result(**sets))}
    assert found["inside"].startswith("30.0 to 30.0 points wide; outside: ")
    assert "B by 0.5 points below" in found["inside"]
    assert "C by 20.0 points below" in found["inside"]
    assert "D by 20.0 points above" in found["inside"]
    effects = {one.name: one.row.effects for one in claims_of(result(**sets))}
    assert [effect > 0 for effect in effects["inside_at_half"]] == [True, False, False, False]
    assert len(effects["inside_out_at_half"]) == 3
    assert found["tighter_than_oracle"].startswith("where the bounds hold: A ")
    assert len(sets_of(result(**sets), "in")) == 1


def test_atc_on_parsing() -> None:
    """Three trainings: a t test over their differences, the errors over rows of both added; fewer decide nothing."""

    def found(ends: tuple[float, float], baselines: tuple[float, ...]) -> Any:
        made = result(a=study("S", 0.5, ends, baseline=baselines[0]))
        made["tasks"]["a"]["family"] = "parsing"
        for seed, baseline in enumerate(baselines[1:], 1):
            replicated(made, seed, sets={"test": study("S", 0.5, ends, baseline=baseline)})
        return next(one for one in claims_of(made) if one.name == "atc_on_parsing_at_thresholds")

    assert found((0.4, 0.9), (0.5,)).verdict == "undecided"
    good = found((0.4, 0.9), (0.5, 0.51, 0.5))
    assert good.verdict == "holds"
    assert found((0.4, 0.6), (0.7, 0.69, 0.7)).verdict == "does not hold"
    (effect,) = good.row.effects
    assert effect == pytest.approx(0.15 - 0.01 / 3)


def replicated(made: dict[str, Any], seed: int, **changes: Any) -> None:
    """Add a training of task ``a`` from another seed to a result."""
    first = made["tasks"]["a"]
    made["replicates"].setdefault("a", {})[str(seed)] = {**first, "seed": seed, **changes}


def learnt(old: float, new: float) -> dict[str, Any]:
    """A round of self-training."""
    row = {
        "name": "test",
        "rows": 50,
        "old": number(old),
        "new": number(new),
        "new_gain": number(new - old),
    }
    return {
        "set": "test", "pool": 50, "kept": 20, "accepted": number(0.4), "precision": number(0.9),
        "accuracy": number(0.5), "ladder": [{"at_least": 3, "kept": 20, "precision": number(0.9)}], "sets": [row],
    }  # fmt: skip


def test_self_training_needs_three_trainings_on_each_side() -> None:
    def claim(*rounds: tuple[float, float]) -> Any:
        made = result(a=study("A", 0.5, (0.4, 0.7)))
        made["tasks"]["a"]["self_training"] = learnt(*rounds[0])
        for seed, one in enumerate(rounds[1:], 1):
            replicated(made, seed, self_training=learnt(*one))
        assert "one round of self-training" in markdown(made | {"claims": judged(claims_of(made))})
        return next(one for one in claims_of(made) if one.name == "self_training_a")

    assert claim((0.5, 0.9), (0.5, 0.9)).verdict == "undecided"
    assert claim((0.5, 0.6), (0.51, 0.61), (0.49, 0.62)).verdict == "holds"
    assert (
        claim((0.4, 0.5), (0.6, 0.62), (0.3, 0.4)).verdict == "undecided"
    )  # seeds differ by more than the gain
    assert claim((0.6, 0.5), (0.61, 0.5), (0.6, 0.51)).verdict == "does not hold"


def test_seeds_are_pooled() -> None:
    """Means over trainings; the interval holds the spread of rows and that of trainings."""
    made = result(a=study("A", 0.5, (0.4, 0.7)))
    replicated(made, 1, sets={"test": study("A", 0.6, (0.2, 0.7))})
    replicated(made, 2, sets={"test": study("A", 0.7, (0.3, 0.6))})
    (one,) = sets_of(made)
    assert one["gold"]["value"] == pytest.approx(0.6)
    z = 1.959964
    assert one["gold"]["upper"] - 0.6 == pytest.approx(
        z * ((0.02 / z) ** 2 + 0.01 / 3) ** 0.5, rel=1e-5
    )
    assert one["inside"]  # in two of three
    assert one["seeds"] == 3
    assert one["rows"] == 100
    text = markdown(made | {"claims": judged(claims_of(made))})
    assert "means over 3 trainings" in text


def test_interval_scores_against_a_plain_loop() -> None:
    """ATC plus and minus the largest error of the other tasks, out of distribution alone; coins; first seeds apart."""
    sets = {
        "a": study("A", 0.5, (0.4, 0.7), baseline=0.55),
        "b": study("B", 0.4, (0.5, 0.6), baseline=0.52),
    }
    made = result(**sets, c=study("C", 0.5, (0.4, 0.7), domain="in", baseline=0.9))
    replicated(made, 1, sets={"test": study("A", 0.6, (0.2, 0.7), baseline=0.9)})
    rows = intervals(made)
    errors = {"a": [0.05, 0.3], "b": [0.12]}
    for task in "abc":
        others = [e for name, some in errors.items() if name != task for e in some]
        assert constant(rows, task) == pytest.approx(max(others))
    by = [row["by"]["constant"] for row in rows]
    assert by[0] == pytest.approx((0.55 - 0.12, 0.55 + 0.12))
    assert by[1] == pytest.approx((0.9 - 0.12, 1.0))  # cut
    assert by[3] == pytest.approx((0.9 - 0.3, 1.0))
    assert [row["seed"] for row in rows] == [0, 1, 0, 0]
    away = [row for row in rows if not row["near"]]
    worth = Worth.of_rows(away, "constant")
    ends = [(0.43, 0.67, 0.5), (0.78, 1.0, 0.6), (0.22, 0.82, 0.4)]
    loop = [b - a + 40 * ((a - y) * (y < a) + (y - b) * (y > b)) for a, b, y in ends]
    assert worth is not None
    assert (worth.inside, worth.of, worth.score) == (2, 3, pytest.approx(sum(loop) / 3))
    assert interval_score(0.2, 0.3, 0.35, 0.9) == pytest.approx(0.1 + 20 * 0.05)
    assert Worth.of_rows(away, "mixed") is None
    assert rows[0]["by"]["coins"] == pytest.approx((0.9**3, 1 - 0.1**3))
    # one in twenty sets may be missed: of 19 none, of 39 one
    assert [enough(n) for n in (1, 18, 19, 20, 39, 40)] == [1, 18, 19, 20, 38, 39]


def test_coins_are_coins() -> None:
    """The closed form against drawn verdicts; where thresholds were set, coins hold the truth whatever it is."""
    drawn = np.random.default_rng(0).random((3, 200_000)) < 0.7
    assert coins(0.7, 3) == pytest.approx((drawn.all(0).mean(), drawn.any(0).mean()), abs=0.005)
    assert all(
        coins(a, n)[0] <= a <= coins(a, n)[1]
        for a in (0.0, 0.02, 0.5, 0.97, 1.0)
        for n in (1, 2, 5)
    )


def test_worth_is_tested_over_tasks() -> None:
    """Six tasks whose bounds are narrow and hold, beside an ATC that errs: 1 of 64 ways to flip signs is as good."""
    good = {f"t{i}": study(f"T{i}", 0.5, (0.45, 0.6), baseline=0.5 + 0.05 * i) for i in range(6)}
    found = {one.name: one for one in claims_of(result(**good))}
    one = found["worth_constant_at_thresholds"]
    assert (one.verdict, one.row.look.supports, one.row.look.p) == ("holds", 1 / 64, 1 / 32)
    assert found["worth_coins_at_thresholds"].verdict == "holds"
    assert "score at 95 % 15.0 against " in one.evidence
    poor = {f"t{i}": study(f"T{i}", 0.5, (0.1, 0.9), baseline=0.52) for i in range(6)}
    found = {one.name: one for one in claims_of(result(**poor))}
    assert found["worth_constant_at_thresholds"].verdict == "does not hold"
    assert "worth_constant_at_mixed" not in found


def test_rows_of_seeds_are_matched_by_name() -> None:
    """A training that lacks a method, and has the others in another order, is pooled with what it has."""
    one = [{"method": "mean", "value": number(0.4)}, {"method": "atc", "value": number(0.6)}]
    found = pooled(
        [one, [{"method": "ac", "value": number(0.9)}, {"method": "mean", "value": number(0.6)}]]
    )
    assert [(row["method"], row["value"]["value"]) for row in found] == [
        ("mean", 0.5),
        ("atc", 0.6),
    ]


def test_choices_are_made_on_other_tasks() -> None:
    """Narrow bounds that hold everywhere but on one task are chosen for that task alone, and the claims follow them."""
    sets = {name: study(name, 0.5, (0.45, 0.55)) for name in "ab"} | {
        "c": study("c", 0.2, (0.4, 0.6))
    }
    narrow, wide = "judges, thresholds, 3 of 3", "judges, P ≥ 0.5, 3 of 3"
    made = result(
        **sets, d=study("d", 0.9, (0.4, 0.5), domain="in")
    )  # in distribution: no evidence for a choice
    rows = intervals(made)
    assert chosen_elsewhere(rows) == {"a": wide, "b": wide, "c": narrow, "d": wide}
    ends = [row["by"]["chosen"] for row in rows]
    assert ends == [(0.0, 1.0), (0.0, 1.0), (0.4, 0.6), (0.0, 1.0)]  # on c the narrow one fails
    shown = {one["title"]: one for one in sets_of(made, at="chosen")}
    assert [shown[name]["inside"] for name in "abcd"] == [True, True, False, True]
    assert shown["c"]["by_method"]["mean"]["error"]["value"] == pytest.approx(0.3)
    z, deviation = (
        1.959964,
        (0.6 * 0.4 / 100) ** 0.5 + (0.2 * 0.8 / 100) ** 0.5,
    )  # errors of the same rows are added
    gap = shown["c"]["bounds"][0]["below_upper"]
    assert (gap["value"], gap["upper"]) == (
        pytest.approx(0.4),
        pytest.approx(0.4 + z * deviation, rel=1e-5),
    )
    found = {one.name: one.evidence for one in claims_of(made) if one.name.endswith("_at_chosen")}
    assert "outside: c by 20.0 points below;" in found["inside_out_at_chosen"]
    assert "small_samples_at_chosen" not in found  # no samples were drawn
    assert chosen_elsewhere(intervals(result(a=sets["a"], b=sets["b"]))) == {}
    text = markdown(made)
    assert (
        "| voters, thresholds and agreement chosen on the other tasks | 2 of 3 | 0 of 0 |"
        not in text
    )
    assert (
        "| voters, thresholds and agreement chosen on the other tasks | 2 of 3 | - of - | 73.3 |"
        in text
    )
    assert f"(a: {wide}; b: {wide}; c: {narrow}; d: {wide})" in text


def test_tables_show_ours_beside_the_papers() -> None:
    made = result(
        cogs=study("COGS", 0.5, (0.4, 0.7), paper="COGS"), syn=study("Syn", 0.3, (0.2, 0.7))
    )
    text = markdown(made)
    assert "| *paper: COGS* | *98.5* | *96.6* | *90.3* |" in text
    assert "| upper bound | 70.0 [68.0, 72.0] | 20.0 | *92.1* | - |" in text
    assert "| mean of bounds | 55.0 [53.0, 57.0] | 5.0 | *91.2* | *0.3* |" in text
    assert "**Table 4: constituency parsing" in text
    assert "Table 3" not in text
    assert "cp recursion" in text
    assert "| 200 (25) |" in text
    assert markdown({"tasks": {}}) == "No task is finished yet.\n"


def test_the_papers_tables_are_as_printed() -> None:
    """Each number stands in the text; here: the relations between them that the paper's definitions imply."""
    paper = PAGE.paper
    rows, first = paper["tables_2_to_4"], paper["table_1"]
    assert set(rows) == set(first)
    assert len(rows) == 10
    for row in rows.values():
        for name, error in row["ae"].items():
            assert abs(row[name] - row["gold"]) == pytest.approx(error, abs=0.11)
        assert row["mean"] == pytest.approx((row["lower"] + row["upper"]) / 2, abs=0.11)
        assert row["oracle_mean"] == pytest.approx(
            (row["oracle_lower"] + row["oracle_upper"]) / 2, abs=0.11
        )
    assert [
        name for name, row in rows.items() if not row["lower"] <= row["gold"] <= row["upper"]
    ] == ["POS-COGS"]
    swapped = {
        (name, kind)
        for name in rows
        for kind in ("single", "upper", "lower")
        if first[name][kind][2] != rows[name][kind]
    }
    assert swapped == {
        ("POS-Brown", "lower"),
        ("POS-WSJ", "lower"),
    }  # Table 1 has the two numbers in each other's place
    assert first["POS-Brown"]["lower"][2] == rows["POS-WSJ"]["lower"]
    assert first["POS-WSJ"]["lower"][2] == rows["POS-Brown"]["lower"]
    for (
        name,
        row,
    ) in first.items():  # accuracy = recall x gold + (100 - recall of Incorrect) x the rest
        for kind in ("single", "upper", "lower"):
            right, wrong, _ = row[kind]
            implied = (right * row["gold"] + (100 - wrong) * (100 - row["gold"])) / 100
            assert implied == pytest.approx(rows[name][kind], abs=1.0)


def test_every_task_of_the_paper_has_a_place() -> None:
    paper = set(PAGE.paper["table_1"])
    assert {test.paper for task in tasks_of("paper") for test in task.tests} == paper
    names = {
        name
        for task in tasks_of("small")
        for test in task.tests
        for name in (test.paper, test.resembles)
    }
    assert names - {None} <= paper
    for scale in ("small", "paper"):
        tasks = tasks_of(scale)
        assert len({task.name for task in tasks}) == len(tasks)
        for task in tasks:
            assert len({test.name for test in task.tests}) == len(task.tests)
            assert task.pseudo_labels is None or task.pseudo_labels in {
                test.name for test in task.tests
            }
            json.dumps(asdict(task.config))
    with raises_snapshot(UsageError):
        tasks_of("huge")


def test_voters_of_three_kinds_are_a_procedure_of_their_own() -> None:
    """Judged where they are there; what is not theirs, such as the baselines, stays."""
    plain = {f"t{i}": study(f"T{i}", 0.5, (0.6, 0.7)) for i in range(5)}
    assert not [one for one in claims_of(result(**plain)) if one.name.endswith("_at_mixed")]
    better = study("T", 0.5, (0.45, 0.55))
    beside = {key: better[key] for key in ("judges", "inside", "width", "bounds", "subsets")}
    beside["methods"] = [
        row for row in better["methods"] if row["method"] in ("single", "lower", "upper", "mean")
    ]
    sets = {
        name: {**one, "mixed": {"agree": 5, **beside, "judges": 6}} for name, one in plain.items()
    }
    made = result(**sets)
    assert set(verdicts(made, "mixed")) == {
        "accepted_are_purer"
    }  # all else was looked at when it was chosen
    assert verdicts(made)["inside_out"] == "does not hold"
    one = sets_of(made, at="mixed")[0]
    assert (one["judges"], one["by_method"]["atc"]["value"]["value"]) == (6, 0.99)
    text = markdown(made)
    assert "all voters at thresholds: bounds" in text
    assert "5, 4 (2 unseen)" in text
    assert "all voters at thresholds" not in markdown(result(**plain))


def test_a_first_look_has_the_values_of_small_but_for_its_own() -> None:
    first, small = (
        {task.name: task.config for task in tasks_of(scale)} for scale in ("tiny", "small")
    )
    assert list(first) == ["pos-cogs", "pos-wsj"]
    one, whole = first["pos-wsj"], small["pos-wsj"]
    assert (one.rare, one.aligned, one.parser, one.judge) == (
        whole.rare,
        whole.aligned,
        whole.parser,
        whole.judge,
    )
    assert (one.test_rows, one.halves, one.pretraining) == (200, False, None)


def test_intervals_of_three_trainings_in_tables_are_students() -> None:
    """Three trainings without an error over rows: mean ± t(2) sd / sqrt 3; of one training as it is; cut to a share."""
    cells = [{"value": v, "lower": v, "upper": v, "level": 0.95} for v in (0.5, 0.52, 0.6)]
    lower, upper = (
        100 * end for end in stats.t.interval(0.95, 2, 0.54, stats.sem([0.5, 0.52, 0.6]))
    )
    assert percent(pooled(cells)) == f"54.0 [{lower:.1f}, {upper:.1f}]"
    assert percent({**cells[0], "upper": 0.7}) == "50.0 [50.0, 70.0]"
    far = [{"value": v, "lower": v, "upper": v, "level": 0.95} for v in (0.1, 0.9, 0.95)]
    assert percent(pooled(far)) == "65.0 [0.0, 100.0]"
