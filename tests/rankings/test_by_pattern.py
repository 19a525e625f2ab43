"""By pattern: chosen rows turn no order round, probabilities come true, and no model wins by being odd."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import oodometer
from oodometer.arrays import Array
from oodometer.errors import UsageError
from oodometer.rankings import Posterior, posterior, rows_to_label
from oodometer.rankings.came_true import packaged
from oodometer.rankings.outcome import evidence_of
from oodometer.rankings.posterior import posterior_by_pattern, safe_to_stop

from ..snapshots import assert_snapshot, raises_snapshot


def suite(
    rng: np.random.Generator, rows: int, models: int = 3, classes: int = 2
) -> tuple[Array, Array]:
    """Predictions of models whose mistakes are partly shared, and the truth; half of the wrong classes are the same."""
    truth = rng.integers(0, classes, rows)
    hard = rng.beta(1, 2, rows)
    skill = rng.uniform(0.3, 1.5, models)
    wrong = rng.random((models, rows)) < np.clip(hard * skill[:, None], 0, 0.95)
    common, own = rng.integers(1, classes, rows), rng.integers(1, classes, (models, rows))
    said = (truth + np.where(rng.random((models, rows)) < 0.5, common, own)) % classes
    return np.where(wrong, said, truth), truth


def independent(
    rng: np.random.Generator, rows: int, models: int, classes: int
) -> tuple[Array, Array]:
    """Predictions of models that err independently, and the truth."""
    truth = rng.integers(0, classes, rows)
    wrong = rng.random((models, rows)) > rng.uniform(0.3, 0.95, (models, 1))
    return np.where(
        wrong, (truth + rng.integers(1, classes, (models, rows))) % classes, truth
    ), truth


def answered(
    said: Array, truth: Array, random: int, chosen: int, seed: int
) -> tuple[Posterior, Posterior]:
    """The posterior that counts all labels as random ones, and that by pattern; some rows are random, some chosen."""
    start = posterior(said[:, :random], truth[:random], said[:, random:], draws=500)
    places = np.arange(random)
    if chosen:
        places = np.r_[
            places, random + rows_to_label(said[:, random:], start.p_best, chosen, seed=seed)
        ]
    rest = np.setdiff1d(np.arange(said.shape[1]), places)
    rows = said[:, places], truth[places], said[:, rest]
    plain = posterior(*rows, draws=500)
    return plain, posterior_by_pattern(plain, *rows, seed=seed)


def sides(found: Posterior, accuracy: Array) -> list[tuple[float, bool]]:
    """(P, whether it is so) of the likelier side of each pair."""
    pairs = [(a, b) for a in range(len(accuracy)) for b in range(a) if accuracy[a] != accuracy[b]]
    said = [(float(found.p_better[a, b]), bool(accuracy[a] > accuracy[b])) for a, b in pairs]
    return [(max(p, 1 - p), so == (p > 0.5)) for p, so in said]


def check_kept(pairs: list[tuple[float, bool]], least: int) -> None:
    """Of the pairs in a band of probabilities about as many are in that order as was said, or more."""
    said, right = np.array(pairs, dtype=float).T
    for low, high in ((0.6, 0.8), (0.8, 0.95), (0.95, 1.01)):
        inside = (said >= low) & (said < high)
        assert inside.sum() > least
        spread = np.sqrt(said[inside].mean() * (1 - said[inside].mean()) / inside.sum())
        assert right[inside].mean() > said[inside].mean() - 3 * spread - 0.03, (
            low,
            right[inside].mean(),
        )


def test_probabilities_of_chosen_rows_come_true() -> None:
    plain, careful = [], []
    for seed in range(60):
        said, truth = suite(np.random.default_rng(seed), 600)
        one, other = answered(said, truth, 10, 20, seed)
        accuracy = (said == truth).mean(axis=1)
        plain += sides(one, accuracy)
        careful += sides(other, accuracy)
    check_kept(careful, 15)
    # The same labels, counted as if the rows were random, promise more than they keep.
    over = [np.subtract(*np.array(pairs, dtype=float).T).mean() for pairs in (plain, careful)]
    assert over[0] > over[1]


@pytest.mark.parametrize(("random", "chosen"), [(25, 0), (10, 20), (0, 15)])
def test_they_come_true_with_many_models_and_classes(random: int, chosen: int) -> None:
    careful: list[tuple[float, bool]] = []
    best = []
    for models, classes in ((3, 5), (3, 10), (5, 5)):
        for seed in range(4):
            for make in (suite, independent):
                said, truth = make(
                    np.random.default_rng([seed, models, classes]), 500, models, classes
                )
                accuracy = (said == truth).mean(axis=1)
                found = answered(said, truth, random, chosen, seed)[1]
                careful += sides(found, accuracy)
                best.append((found.p_best.max(), found.order[0] == accuracy.argmax()))
    check_kept(careful, 10)
    said_best, was_best = np.array(best, dtype=float).mean(axis=0)
    assert said_best == pytest.approx(was_best, abs=0.25)  # 24 suites
    assert said_best > 0.5  # labels of one pattern tell of the others


@pytest.mark.parametrize("classes", [2, 5, 10])
def test_two_models_are_those_of_the_posterior(classes: int) -> None:
    said, truth = independent(np.random.default_rng(classes), 400, 2, classes)
    plain, careful = answered(said, truth, 5, 15, 0)
    assert np.array_equal(careful.p_better, plain.p_better)
    assert np.array_equal(careful.p_best, plain.p_best)


def test_the_order_in_which_models_are_listed_does_not_matter() -> None:
    said, truth = independent(np.random.default_rng(0), 1000, 5, 5)
    places = rows_to_label(said, np.full(5, 0.2), 20)
    rest = np.setdiff1d(np.arange(1000), places)
    order = np.array([3, 1, 4, 0, 2])
    found = []
    for models in (np.arange(5), order):
        rows = said[np.ix_(models, places)], truth[places], said[np.ix_(models, rest)]
        found.append(posterior_by_pattern(posterior(*rows), *rows))
    assert found[1].p_best == pytest.approx(found[0].p_best[order], abs=0.06)
    assert found[1].p_better == pytest.approx(found[0].p_better[np.ix_(order, order)], abs=0.06)
    assert found[0].p_better + found[0].p_better.T == pytest.approx(np.ones((5, 5)))


@pytest.mark.parametrize("models", [3, 5])
def test_without_labels_agreement_decides(models: int) -> None:
    """The model that says what the others say is put first, the odd one last; of two models without more none is."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 1000)
    wrong = rng.random((models, 1000)) < np.linspace(0.05, 0.5, models)[:, None]
    pool = np.where(wrong, (truth + rng.integers(1, 3, (models, 1000))) % 3, truth)
    none = np.zeros(0, dtype=int)
    found = posterior_by_pattern(posterior(pool[:, :0], none, pool), pool[:, :0], none, pool)
    assert found.order[-1] == models - 1
    assert found.order[0] in (0, 1)
    assert found.p_better[0, models - 1] > 0.4 + 0.06 * models
    assert found.p_best.sum() == pytest.approx(1)
    two = posterior(pool[:2, :0], none, pool[:2])
    assert posterior_by_pattern(two, pool[:2, :0], none, pool[:2]) is two
    told = posterior_by_pattern(two, pool[:2, :0], none, pool[:2], reference=[0.6, 0.9])
    assert told.p_better[1, 0] > 0.6


def test_without_labels_a_sure_model_is_not_believed() -> None:
    """Probabilities that nothing has tested count as the classes that they name."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 400)
    says = np.where(rng.random((3, 400)) < np.array([[0.9], [0.8], [0.6]]), truth, 1 - truth)
    sure = np.array([0.7, 0.7, 0.99])[:, None]
    yes = np.where(says == 1, sure, 1 - sure)
    none = np.zeros(0, dtype=int)
    bold, plain = (
        evidence_of(answers, none)[0] for answers in (np.stack([1 - yes, yes], axis=2), says)
    )
    assert np.array_equal(bold.p_better, plain.p_better)
    assert bold.order[-1] == 2


def test_what_makes_no_sense_is_refused() -> None:
    says = [[1, 0], [0, 0], [0, 1]]
    plain = posterior(says, [1, 0])
    with raises_snapshot(UsageError):
        posterior_by_pattern(plain, says, [1, 0, 0])
    with pytest.raises(UsageError, match="seed"):
        posterior_by_pattern(plain, says, [1, 0], seed=-1)


def test_one_against_two_turns_no_order_round() -> None:
    """The first model is the best; chosen rows are those on which it stands alone, where it is often wrong."""
    alone = [[1] * 20, [0] * 20, [0] * 20]
    truth = [0] * 12 + [1] * 8
    # Elsewhere it differs from one of them alone, and is mostly right.
    pool = np.array(
        [
            [1] * 30 + [1] * 100 + [1] * 100,
            [0] * 30 + [0] * 100 + [1] * 100,
            [0] * 30 + [1] * 100 + [0] * 100,
        ]
    )
    random = pool[:, [35, 45, 55, 140, 150, 160]]
    says, labels = np.concatenate([np.array(alone), random], axis=1), [*truth, 1, 1, 1, 1, 1, 1]
    plain = posterior(says, labels, pool)
    careful = posterior_by_pattern(plain, says, labels, pool)
    assert plain.order[0] != 0 or plain.p_best[0] < 0.5
    assert careful.order[0] == 0
    assert careful.p_better[0, 1] > plain.p_better[0, 1] + 0.2
    assert careful.p_best.sum() == pytest.approx(1)


def test_models_that_never_differ_share() -> None:
    says = [[1, 0], [1, 0], [0, 0]]
    found = posterior_by_pattern(posterior(says, [1, 0]), says, [1, 0])
    assert found.p_better[0, 1] == 0.5
    assert found.p_best[0] == found.p_best[1]
    same = posterior([[1], [1]], [1])
    assert posterior_by_pattern(same, [[1], [1]], [1]) is same


def test_the_odd_model_does_not_win_by_being_uncertain() -> None:
    """Seven models agree nearly always, one seldom; on the labelled rows all are as often right."""
    truth = np.zeros(1010, dtype=int)
    rng = np.random.default_rng(0)
    said = (rng.random(1010) < 0.15) ^ (
        rng.random((8, 1010)) < np.r_[np.full(7, 0.02), 0.3][:, None]
    )
    said = said.astype(int)
    said[:, :10] = 0
    said[:, 8], said[:7, 9] = 1, 1
    said[7, 3] = 1
    rows = said[:, :10], truth[:10], said[:, 10:]
    found = posterior_by_pattern(posterior(*rows), *rows)
    right = (rows[0] == 0).sum(axis=1)
    assert len(set(right.tolist())) == 1
    assert found.order[-1] == 7
    assert found.p_better[7, :7].max() < 0.45
    assert found.p_best[7] < 0.5  # the others are nearly one model, and share what is left


@pytest.mark.parametrize("referenced", [False, True])
def test_the_benchmark_ranks_as_the_verb_does(referenced: bool) -> None:
    from benchmarks.rank_suites import Suite, ranked

    rng = np.random.default_rng(2)
    truth, names = rng.integers(0, 3, 200), [f"m{k}" for k in range(4)]
    p = rng.dirichlet(np.ones(3), (4, 200)) + rng.uniform(0.2, 0.8, (4, 1, 1)) * np.eye(3)[truth]
    made = Suite.of("nat_one", "one", p[:, 50:], truth[50:], p[:, :50], truth[:50])
    files, known = (
        [
            {"id": np.arange(len(labels)), "probabilities": of, "label": list(labels)}
            for of in answers
        ]
        for answers, labels in (
            (made.answers, [*made.truth[:10].tolist(), *[None] * 140]),
            made.known or (),
        )
    )
    result = oodometer.rank(
        dict(zip(names, files, strict=True)), reference=known if referenced else None
    )
    alone = ranked(made, np.arange(10), np.arange(10, 150), referenced=referenced)
    assert list(result.models) == [names[k] for k in alone.order]
    assert {one.model: one.p_best for one in result.ranking} == dict(
        zip(names, alone.p_best, strict=True)
    )
    cost = alone.cost(alone.order[0])
    assert (result.cost["expected"], result.cost["at_most"]) == cost
    assert result.not_excluded == tuple(names[k] for k in alone.not_excluded())


def test_the_class_posterior_is_a_witness_of_two_models_too() -> None:
    """It moves the order where labels say little, random labels that it read count half, chosen ones fully."""
    truth = np.arange(400) % 2
    rows = np.stack(
        [
            np.where(np.arange(400) % 20 < 4, 1 - truth, truth),
            np.where(np.arange(400) % 20 > 15, 1 - truth, truth),
        ]
    )
    rows = rows[:, :20], truth[:20], rows[:, 20:]
    plain, ahead = posterior(*rows), (np.array([0.8, 0.7]), np.full((2, 2), 1e-4))
    witness = posterior_by_pattern(plain, *rows, classes=[ahead])
    assert posterior_by_pattern(plain, *rows) is plain
    assert plain.p_better[0, 1] == pytest.approx(0.5)
    assert witness.p_better[0, 1] > 0.9
    assert witness.order == (0, 1)
    chosen = posterior_by_pattern(plain, *rows, classes=[ahead], chosen=np.ones(20, dtype=bool))
    assert 0.5 < chosen.p_better[0, 1] < witness.p_better[0, 1]
    other = posterior_by_pattern(
        plain, *rows, classes=[(ahead[0][::-1], ahead[1]), ahead], reference=[0.9, 0.9]
    )
    assert other.p_better[0, 1] < witness.p_better[0, 1]


def test_evidence_counts_until_labels_deny_it() -> None:
    """One of three models is the better on the reference: four labels leave that, two hundred turn it round."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 1500)
    said = np.where(rng.random((3, 1500)) < np.array([[0.7], [0.75], [0.8]]), truth, 1 - truth)
    ahead = []
    for labels in (4, 200):
        rows = said[:, :labels], truth[:labels], said[:, labels:]
        found = posterior_by_pattern(posterior(*rows), *rows, reference=[0.95, 0.7, 0.6])
        plain = posterior_by_pattern(posterior(*rows), *rows)
        ahead.append((float(found.p_better[0, 2] - plain.p_better[0, 2]), found.order[0]))
    assert ahead[0][0] > 0.05 > ahead[1][0] > 0
    assert ahead[1][1] == 2
    with raises_snapshot(UsageError):
        posterior_by_pattern(posterior(*rows), *rows, reference=[0.9, 0.8])


def test_a_stop_is_safe_however_often_one_looks() -> None:
    """Two equal models and a worse one: one of them is declared the best at some look in less than 1 run of 20."""
    rng = np.random.default_rng(0)
    stopped = 0
    for _ in range(200):
        hit = rng.random((3, 300)) < np.array([[0.7], [0.7], [0.5]])
        wins = [hit[:, :n].astype(int) @ ~hit[:, :n].T for n in range(20, 301, 20)]
        stopped += any(safe_to_stop(some, int(some.sum(axis=1).argmax()))[0] for some in wins)
    assert stopped <= 10
    assert safe_to_stop([[0, 30], [5, 0]], 0)[0]


def test_the_committed_order_is_nowhere_worse_than_counting() -> None:
    kept = json.loads(
        (Path(__file__).parents[2] / "benchmarks" / "results" / "rank_suites.json").read_text()
    )
    for group, cells in kept["orders"].items():
        mean, _, high = cells["rank"]["beside counting"]
        assert high > 0, group
        assert mean > -2 or cells["suites"] == 2, group
        if "source" not in group:
            assert cells["rank"]["regret ratio"] < (0.8 if group != "kind inoc" else 1), group
    for group, cells in kept["orders of thirty"].items():
        assert cells["rank"]["beside counting"][2] > 0, group
    mean, low, _ = kept["further"]["all made suites"]["suggested less random"]
    assert low <= 0, mean


def test_the_committed_order_without_a_label_finds_as_many_pairs_as_ten_labels() -> None:
    """With a reference more than counting ten labels, also without one where models are many."""
    kept = json.loads(
        (Path(__file__).parents[2] / "benchmarks" / "results" / "rank_suites.json").read_text()
    )
    for group, cells in kept["orders without a label"].items():
        if "source" not in group and group != "kind inoc":
            ten = kept["orders"][group]["counting"]["pairs"]
            assert cells["rank"]["pairs"] > ten + 3, group
            assert cells["rank, no reference"]["pairs"] > ten - 5, group
    told = kept["what is said of orders without a label"]
    assert packaged().orders["reference"] == told["reference"]
    assert packaged().orders["counting ten labels"] == told["counting ten labels"]
    assert (
        packaged().orders["suggested less random"]
        == kept["further"]["all suites"]["suggested less random"]
    )
    assert packaged().about["made_by"] == kept["command"]


def test_where_labels_speak_against_agreement_they_win() -> None:
    """There the order finds more pairs than counting does, which finds more than agreement."""
    kept = json.loads(
        (Path(__file__).parents[2] / "benchmarks" / "results" / "rank_suites.json").read_text()
    )
    for labels, of in kept["labels against agreement"].items():
        rank, counting, agreement = of["means"][:3]
        assert rank > counting > agreement, labels


def test_a_chance_without_a_reference_is_no_larger_than_what_came_true_of_such() -> None:
    """Leaders of five models or more and 30 % or more, their sources left out: truer than as it came, not too large."""
    kept = json.loads(
        (Path(__file__).parents[2] / "benchmarks" / "results" / "rank_suites.json").read_text()
    )
    of = kept["calibration"]["made and published"]
    for end in (
        ", no reference",
        ", no reference, thirty labels",
        ", no reference, a hundred labels",
    ):
        gaps = []
        for name in ("leader as it came", "leader"):
            high = [tenth for tenth in of[name + end] if tenth["from"] >= 0.3]
            cases = sum(tenth["cases"] for tenth in high)
            gaps.append(
                sum(tenth["cases"] * (tenth["said"] - tenth["true"]) for tenth in high) / cases
            )
        assert gaps[1] < gaps[0], (end, gaps)
        assert gaps[1] < 3, (end, gaps)
    worth = kept["curves"]["five or more, no reference"]
    assert worth["kept"]
    assert_snapshot([name for name, one in kept["curves"].items() if one["kept"]])
    assert worth["cases"][1] < worth["cases"][0] - 0.005


@pytest.mark.parametrize(
    "group", ["made and published", "all made suites", "kind more", "kind nat", "kind published"]
)
def test_the_committed_chances_are_true(group: str) -> None:
    """P(a beats b) at most five points too high in each tenth of all suites and eight too low, with a reference and
    without, of ten labels and more; without a label at most five too high. In a group of suites as far as these can
    tell. P(best) alike below 40 %; above, few suites are behind a tenth, and leaders have a test of their own."""
    kept = json.loads(
        (Path(__file__).parents[2] / "benchmarks" / "results" / "rank_suites.json").read_text()
    )
    for what, tenths in kept["calibration"][group].items():
        for tenth in tenths:
            modest = (
                "no label" in what and tenth["said"] < tenth["true"]
            )  # its chances are of few draws
            if "leader" in what or modest:
                continue
            gap, error = (
                abs(tenth["said"] - tenth["true"]),
                0 if group == "made and published" else tenth["error"],
            )
            if "pair" in what or (tenth["from"] < 0.35 and group != "kind published"):
                assert gap < (5 if tenth["said"] > tenth["true"] else 8) + 2 * error, (what, tenth)
            elif "no reference" not in what and group == "made and published":
                assert gap < (10 if tenth["from"] < 0.85 else 20), (what, tenth)
