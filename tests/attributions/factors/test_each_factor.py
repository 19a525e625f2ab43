"""Factors: each on an example worked by hand, absent words, repeats, windows at the ends, factors of one's own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oodometer.errors import UsageError
from oodometer.registry import create
from oodometer_lab.attributions.base import WordAttributions, Words
from oodometer_lab.attributions.factors import Factor, factor_of, factor_table, factor_values
from oodometer_lab.attributions.factors.pair import aligned, control_word

from ...snapshots import raises_snapshot


def of(
    text: str | tuple[str, str],
    values: list[float],
    separator: float = math.nan,
    feature: int | None = None,
) -> WordAttributions:
    return WordAttributions(Words(text, feature), np.array(values, dtype=float), separator, 1, 0.9)


def value(name: str, found: WordAttributions) -> float | None:
    factor: Factor = create("factor", name)
    return factor.value(found)


# The doctors(1) saw(2) the(3) actor(4) || The(5) actor(6) saw(7) the(8) doctors(9): in order "the saw the" or the like
SWAPPED = of(
    ("The doctors saw the actor", "The actor saw the doctors"),
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    0.5,
)


def test_differences_of_the_two_parts() -> None:
    assert value("max-diff", SWAPPED) == 16 - 512
    assert value("sum-diff", SWAPPED) == 31 - 992
    assert value("first-tok", SWAPPED) == 0.5


def test_shared_words_are_aligned_in_order_and_the_rest_is_swapped() -> None:
    found = aligned(SWAPPED.words)
    assert found.shared == ((0, 5), (2, 7), (3, 8))
    assert (found.swapped_a, found.swapped_b) == ((1, 4), (6, 9))
    assert value("index-diff", SWAPPED) == (1 + 4 + 8) - (32 + 128 + 256)
    assert value("swap-avg", SWAPPED) == (2 + 16 + 64 + 512) / 4
    assert value("swap-max-diff", SWAPPED) == 16 - 512


def test_swap_max_diff_takes_magnitudes() -> None:
    found = of(("good bad", "bad good"), [-0.75, 0.5, 0.25, -0.5])
    # "good" or "bad" is shared in order; the other one is swapped
    shared = aligned(found.words)
    (a,), (b,) = shared.swapped_a, shared.swapped_b
    assert value("swap-max-diff", found) == abs(found.values[a]) - abs(found.values[b])


def test_a_repeated_word_counts_as_often_as_both_parts_have_it() -> None:
    found = aligned(Words(("b a b c", "c b")))
    assert found.shared == ((0, 5),)
    assert (found.swapped_a, found.swapped_b) == (
        (3,),
        (4,),
    )  # the second b of the first part has no partner


@pytest.mark.parametrize("seed", range(20))
def test_alignment_is_as_long_as_the_longest_common_subsequence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (list(rng.choice(list("abcd"), rng.integers(1, 9))) for _ in range(2))

    def longest(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        if a[i] == b[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    found = aligned(Words((" ".join(a), " ".join(b))))
    assert len(found.shared) == longest(0, 0)
    words = [*a, *b]
    assert all(words[i] == words[j] for i, j in found.shared)
    assert all(
        i < k and j < m for (i, j), (k, m) in zip(found.shared, found.shared[1:], strict=False)
    )
    assert sorted(words[i] for i in found.swapped_a) == sorted(words[j] for j in found.swapped_b)


def test_punctuation_is_not_shared_and_case_does_not_matter() -> None:
    assert aligned(Words(("He ran .", "ran ."))).shared == ((1, 3),)
    assert value("index-diff", of((".", "."), [1, 2])) is None


@pytest.mark.parametrize(
    ("premise", "word"),
    [
        ("Unless the doctors ran, the lawyers slept.", "Unless"),
        ("Whether or not the scientist called, the tourists ran.", "Whether"),
        ("In case the man ran, the judge slept.", "In"),
        ("The artists resigned, or the presidents waited.", "or"),
        ("Without a doubt the artist danced.", "Without"),
        ("Of course the artist danced.", "Of"),
        ("Supposedly the artist danced.", "Supposedly"),
        ("The judges thought that the senator slept.", "thought"),
    ],
)
def test_control_words_of_the_constituent_templates(premise: str, word: str) -> None:
    words = Words((premise, "If the man ran."))
    place = control_word(words)
    assert place is not None
    assert words.words[place] == word


def test_const_looks_at_the_premise_alone() -> None:
    assert value("const", of(("The man in blue ran", "If so"), [0, 0, 0, 0, 0, 9, 9])) is None
    assert value("const", of("If so", [1, 2])) is None
    assert value("const", of(("If so", "so"), [-0.25, 0, 0])) == -0.25
    assert value("const", of(("If so", "so"), [-0.25, 0.5, 0], feature=1)) == 0.5


@pytest.mark.parametrize(
    ("name", "text", "middle"),
    [
        ("irreg", "Some waiter there drew all those maps", 3),
        ("verb", "During nothing he was drawing maps of it", 4),
        ("adj", "A waiter here is tall and so on", 4),
    ],
)
def test_windows(name: str, text: str, middle: int) -> None:
    values = [2.0**i for i in range(len(text.split()))]
    assert value(name, of(text, values)) == -sum(values[middle - 2 : middle + 3])


def test_a_window_ends_with_the_text_and_with_the_part() -> None:
    assert value("adj", of("tall men ran off", [1, 2, 4, 8])) == -7
    assert value("adj", of("men ran off tall", [1, 2, 4, 8])) == -14
    assert value("adj", of(("men are tall", "he ran off"), [1, 2, 4, 8, 16, 32])) == -7


def test_the_marked_word_comes_first() -> None:
    assert value(
        "irreg", of("he ate and then they all slept", [1, 2, 4, 8, 16, 32, 64], feature=6)
    ) == -(16 + 32 + 64)


def test_had_and_did_are_no_irregular_verbs_of_their_own() -> None:
    assert value("irreg", of("they had looked", [1, 2, 4])) is None


@pytest.mark.parametrize(
    "text", ["they won't go", "they hadn't made it", "it was not made", "they have left"]
)
def test_participles_and_contractions_are_no_past_verbs(text: str) -> None:
    words = Words(text).words
    assert value("irreg", of(text, [1.0] * len(words))) is None
    assert value("irreg", of(f"{text} and he left", [0.0] * len(words) + [1, 2, 4])) == -7


def test_absent_words_are_counted() -> None:
    table = factor_table(
        [of("he ate it", [1, 2, 4]), of("he looked", [1, 2])], ["irreg", "adj", "max-diff"]
    )
    assert table.absent == {"irreg": 1, "adj": 2, "max-diff": 2}
    assert table.means["irreg"] == -7
    assert math.isnan(table.means["adj"])
    assert table.to_dict()["factors"][1] == {"factor": "adj", "mean": None, "absent": 2}


def test_first_tok_is_absent_where_the_method_does_not_say() -> None:
    assert value("first-tok", of(("a", "b"), [1, 2])) is None


def test_all_factors_by_default_and_own_ones_beside_them() -> None:
    own = factor_of(
        "loudest", lambda found: float(np.abs(found.values).max()), heuristic="follows one word"
    )
    assert factor_values([SWAPPED], [own, own(), "max-diff"])[:, 0].tolist() == [512, 512, -496]
    assert factor_values([SWAPPED]).shape[0] >= 10
    assert factor_values([], ["adj"]).shape == (1, 0)


def test_what_is_no_factor_is_refused() -> None:
    with raises_snapshot(UsageError):
        factor_values([SWAPPED], ["max-dif"])
    with raises_snapshot(UsageError):
        factor_values([SWAPPED], [factor_of("odd", lambda found: math.nan, heuristic="none")])
    with raises_snapshot(UsageError):
        factor_values([SWAPPED], [])
    with raises_snapshot(UsageError):
        factor_of("Odd:one", lambda found: 1.0, heuristic="none")
    with raises_snapshot(UsageError):
        factor_of("odd", 3, heuristic="none")  # type: ignore[arg-type]
