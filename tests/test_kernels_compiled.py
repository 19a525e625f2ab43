"""Compiled passes against their plain forms, against threads and chunks, and against arguments that do not fit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oodometer import kernels
from oodometer.kernels import pool_adjacent, threads

from .snapshots import raises_snapshot

ODD = [
    0.0,
    -0.0,
    1e-45,
    1e-310,
    1e-38,
    2.0**-31,
    2.0**-30,
    0.25,
    0.5,
    np.nextafter(0.5, 0),
    0.75,
    1.0,
]
DTYPES = [np.float32, np.float64]

built = pytest.mark.skipif(
    threads.passes is None,
    reason="the compiled passes were not built (or OODOMETER_PLAIN=1 leaves them out)",
)


@contextmanager
def plain() -> Iterator[None]:
    """Inside, every kernel takes its numpy form."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("threads", "bins", "top"):
            patch.setattr(f"oodometer.kernels.{module}.passes", None)
        yield


def both(call: Callable[[], Any]) -> tuple[Any, Any]:
    got = call()
    with plain():
        return got, call()


def matrices(classes: Any = None) -> st.SearchStrategy[Any]:
    """Values in [0, 1] with many ties, zeros and subnormals; short and wide rows, also none."""
    widths = (
        st.sampled_from([2, 3, 7, 10, 16, 63, 64, 65, 66, 80, 97, 200])
        if classes is None
        else st.just(classes)
    )
    elements = st.one_of(st.sampled_from(ODD), st.floats(0, 1))
    return st.tuples(st.integers(0, 9), widths, st.sampled_from(DTYPES)).flatmap(
        lambda t: hnp.arrays(
            np.float64, t[:2], elements=elements, fill=st.sampled_from([0.0, 0.5])
        ).map(lambda a: a.astype(t[2]))
    )


def random(rows: int, classes: int, dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.3), rows).astype(dtype)


# ------------------------------------------------------------------------------------------ compiled = plain


@built
@given(values=matrices())
def test_row_statistics_are_the_plain_ones(values: Any) -> None:
    got, want = both(lambda: kernels.row_statistics(values))
    for a, b in zip(got.top, want.top, strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()
    assert got.lowest == want.lowest
    assert got.gap == pytest.approx(want.gap, rel=1e-4, abs=1e-6 * values.shape[1])


@built
@pytest.mark.parametrize("classes", [2, 10, 64, 65, 500])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 63, 64, 99])
def test_what_is_not_finite_shows_in_the_gap(
    classes: int, dtype: Any, odd: float, row: int
) -> None:
    values = random(100, classes, dtype)
    values[row, classes // 2] = odd
    lowest, gap, _ = kernels.look_over(values)
    assert not np.isfinite(gap)
    assert lowest <= 0 or np.isnan(lowest) or odd > 0 or np.isnan(odd)


@built
@given(values=matrices())
def test_entropy_is_the_plain_one(values: Any) -> None:
    got, want = both(lambda: kernels.entropy_sums(values))
    assert got.dtype == values.dtype
    assert (got <= 0).all()
    tolerance = np.finfo(values.dtype).eps * 4
    scale = np.abs(want.astype(np.float64)) + values.shape[1] / 4
    assert (np.abs(got.astype(np.float64) - want) <= tolerance * scale).all()


@built
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_logarithm_is_good_to_two_units_in_the_last_place(dtype: Any) -> None:
    """One class a row: p log p by itself, over all octaves, beside the one of twice the digits."""
    rng = np.random.default_rng(3)
    p = np.concatenate(
        [rng.random(20_000), 2.0 ** -rng.uniform(0, 120, 20_000), [1.0, 0.5, 2**-0.5]]
    ).astype(dtype)
    out = np.empty(len(p), dtype=dtype)
    threads.passes.negative_entropy(p[:, None], out)
    exact = p.astype(np.longdouble) * np.log(p.astype(np.longdouble))
    units = np.abs(out - exact) / np.spacing(
        np.maximum(np.abs(exact.astype(dtype)), np.finfo(dtype).tiny)
    )
    assert units.max() < 2.0


@built
@pytest.mark.parametrize("classes", [2, 10, 100])
def test_a_certain_row_has_no_entropy_and_nan_stays(classes: int) -> None:
    for dtype in DTYPES:
        values = np.zeros((3, classes), dtype=dtype)
        values[:, 1] = 1
        values[2, 0] = np.nan
        got = kernels.entropy_sums(values)
        assert got[:2].tolist() == [0, 0]
        assert not np.signbit(got[:2]).any()
        assert np.isnan(got[2])


@built
@given(values=matrices())
def test_bins_are_the_plain_ones(values: Any) -> None:
    got, want = both(lambda: kernels.log_odds_bin(values))
    assert got.dtype == want.dtype == np.intp
    assert got.tolist() == want.tolist()


def test_equal_bins_take_what_lies_outside() -> None:
    odd = np.array([-1.0, -1e300, 2.0, 1e300, np.inf, -np.inf, np.nan])
    assert kernels.equal_bin(odd, 10).tolist() == [0, 0, 9, 9, 9, 0, 0]


@built
@given(values=matrices(), is_argmax=st.booleans(), seed=st.integers(0, 9))
def test_off_diagonal_counts_are_the_plain_ones(values: Any, is_argmax: bool, seed: int) -> None:
    rows, classes = values.shape
    predicted = np.random.default_rng(seed).integers(0, classes, rows).astype(np.int32)
    for width in (kernels.LOG_ODDS_BINS, kernels.LOG_ODDS_BINS // 8):
        got, want = both(
            lambda width=width: kernels.off_diagonal_counts(
                values, predicted, width, is_argmax=is_argmax
            )
        )
        assert (got[0] == want[0]).all()
        np.testing.assert_allclose(
            got[1], want[1], rtol=1e-5 if values.dtype == np.float32 else 1e-12, atol=1e-30
        )
        assert got[0].sum() == rows * (classes - 1)


@given(data=st.data())
def test_tallies_are_counted_row_by_row(data: st.DataObject) -> None:
    rows, of, width = (
        data.draw(st.integers(0, 40)),
        data.draw(st.integers(1, 5)),
        data.draw(st.integers(1, 7)),
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    bins, kinds = rng.integers(0, width, rows), rng.integers(0, of, rows).astype(np.int32)
    verdicts = rng.integers(-1, 2, rows).astype(np.int8)
    for some in (
        {},
        {"kinds": kinds, "of": of},
        {"verdicts": verdicts},
        {"kinds": kinds, "of": of, "verdicts": verdicts},
    ):
        got = kernels.tally(bins, width, **some)
        want = np.zeros(
            (of if "kinds" in some else 1, width, 2 if "verdicts" in some else 1), dtype=np.int64
        )
        for i in range(rows):
            want[
                kinds[i] if "kinds" in some else 0,
                bins[i],
                int(verdicts[i] == 1) if "verdicts" in some else 0,
            ] += 1
        assert got.dtype == want.dtype
        assert got.tolist() == want.tolist()


@given(data=st.data(), dtype=st.sampled_from(DTYPES))
def test_thresholds_are_reached_as_counted_row_by_row(data: st.DataObject, dtype: Any) -> None:
    rows, of = data.draw(st.integers(0, 40)), data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    scores = rng.choice([0.1, 0.2, 0.5, 1.0], rows).astype(dtype)
    thresholds = rng.choice([0.1, float(np.float32(0.2)), 0.35, 0.5, np.inf], (3, of))
    kinds = rng.integers(0, of, rows).astype(np.int32)
    for kind, line in ((kinds, thresholds), (None, thresholds[:, :1])):
        reached, tied = kernels.count_passed(scores, kind, line)
        mine = np.zeros(rows, dtype=int) if kind is None else kind
        for k in range(line.shape[1]):
            own = scores[mine == k]
            assert reached[:, k].tolist() == [int((own >= one).sum()) for one in line[:, k]]
            assert tied[:, k].tolist() == [int((own == one).sum()) for one in line[:, k]]


@given(hits=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=30))
def test_pooled_blocks_are_those_of_scipy(hits: list[tuple[int, int]]) -> None:
    from scipy.optimize import isotonic_regression

    rows = np.array([n for n, _ in hits], dtype=np.int64)
    right = np.minimum([h for _, h in hits], rows).astype(np.int64)
    starts, many, found = pool_adjacent(rows, right)
    assert (np.diff(found / many) > 0).all()
    if len(rows):
        fitted = isotonic_regression(right / rows, weights=rows)
        np.testing.assert_allclose(
            np.repeat(found / many, np.diff(starts, append=len(rows))), fitted.x, atol=1e-12
        )


@built
@pytest.mark.parametrize("bins", [0, 1, 2, 700])
def test_compiled_blocks_are_the_plain_ones_bit_by_bit(bins: int) -> None:
    from oodometer.kernels.bins import _pooled

    rng = np.random.default_rng(bins)
    rows = rng.random(bins) + 0.1  # weights of importance are no whole numbers
    right = rows * np.clip(rng.normal(np.linspace(0, 1, bins), 0.3), 0, 1)
    piece = np.arange(bins) // 90
    compiled_blocks = pool_adjacent(rows, right, piece)
    for compiled, plain in zip(compiled_blocks, _pooled(rows, right, piece), strict=True):
        assert compiled.tolist() == plain.tolist()


@built
def test_blocks_of_counts_that_do_not_fit_are_refused() -> None:
    with raises_snapshot(ValueError):
        pool_adjacent(np.ones(3), np.ones(2))


# ------------------------------------------------------------------------------------------ pieces, threads, layouts


@built
@pytest.mark.parametrize("classes", [2, 10, 64, 65, 130])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_does_not_feel_its_neighbours(classes: int, dtype: Any) -> None:
    """Any cut gives the same bits: no sum depends on where a row lies in a block."""
    values = random(3000, classes, dtype)
    whole = kernels.row_statistics(values)
    entropy = kernels.entropy_sums(values)
    for start, stop in ((0, 1), (1, 64), (17, 2500), (2999, 3000)):
        part = kernels.row_statistics(values[start:stop])
        assert all((a == b[start:stop]).all() for a, b in zip(part.top, whole.top, strict=True))
        assert (kernels.entropy_sums(values[start:stop]) == entropy[start:stop]).all()
    assert whole.lowest == values.min()


@built
@pytest.mark.parametrize("classes", [5, 100])
def test_threads_change_nothing(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = random(2000, classes, np.float32)
    found = []
    for least, cores in ((1 << 40, 1), (1, 2), (1, 5)):
        monkeypatch.setattr(threads, "THREADED_VALUES", least)
        with kernels.limited_to(cores):
            statistics = kernels.row_statistics(values)
            others = kernels.off_diagonal_counts(values, statistics.top.best, kernels.LOG_ODDS_BINS)
            found.append(
                (
                    *statistics[:2],
                    *statistics.top,
                    kernels.entropy_sums(values),
                    *others,
                    kernels.log_odds_bin(values),
                )
            )
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_threads_of_a_pool_start_no_further_ones() -> None:
    assert kernels.side_by_side([kernels.cores] * 4, threads=True) in (
        [1] * 4,
        [kernels.cores()] * 4,
    )
    with kernels.limited_to(3):
        assert kernels.side_by_side([kernels.cores] * 4) == [1] * 4
        assert kernels.cores() == 3


@built
@pytest.mark.parametrize(
    "layout", [np.asfortranarray, lambda a: a[::2], lambda a: a[:, ::-1], lambda a: a[:0]]
)
def test_any_layout_will_do(layout: Callable[[Any], Any]) -> None:
    values = layout(random(50, 6, np.float32))
    want = values.copy(order="C")
    assert kernels.row_statistics(values).top.best.tolist() == want.argmax(axis=1).tolist()
    assert kernels.entropy_sums(values).tolist() == kernels.entropy_sums(want).tolist()
    assert kernels.log_odds_bin(values).tolist() == kernels.log_odds_bin(want).tolist()
    predicted = np.zeros(len(values), dtype=np.int64)[::1]
    assert kernels.off_diagonal_counts(values, predicted, 960)[0].sum() == 5 * len(values)


@pytest.mark.parametrize("dtype", [np.longdouble, np.dtype(">f4"), np.int64])
def test_other_types_take_the_plain_form(dtype: Any) -> None:
    values = np.array([[3, 1, 2], [0, 5, 5]]).astype(dtype)
    assert values.dtype not in threads.FLOATS
    if np.dtype(dtype).kind == "f":
        got = kernels.top_two(values)
        assert (got.best.tolist(), got.second.tolist()) == ([0, 1], [2, 5])


def test_linear_algebra_keeps_to_one_thread_until_the_last_has_left() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def many() -> list[int]:
        return [library["num_threads"] for library in threadpoolctl.threadpool_info()]

    before = many()
    first, second = kernels.one_thread(), kernels.one_thread()
    with first:
        assert set(many()) == {1}
        second.__enter__()
    assert set(many()) == {1}
    second.__exit__(None, None, None)
    assert many() == before


def test_any_thread_may_be_the_first_and_another_the_last() -> None:
    """Limits that were set by a thread which is still alive bind no other one."""
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def many() -> list[int]:
        return [library["num_threads"] for library in threadpoolctl.threadpool_info()]

    before = many()
    with kernels.one_thread():  # this thread was the first to set a limit, and lives on
        pass
    first, second = kernels.one_thread(), kernels.one_thread()
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        one.submit(first.__enter__).result()
        assert set(many()) == {1}
        other.submit(second.__enter__).result()
        one.submit(first.__exit__, None, None, None).result()
        assert set(many()) == {1}
        other.submit(second.__exit__, None, None, None).result()
        assert many() == before


def test_libraries_of_linear_algebra_are_looked_for_again_only_after_an_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    looked = []
    real = threadpoolctl.ThreadpoolController

    def controller() -> Any:
        looked.append(1)
        return real()

    with kernels.one_thread():
        pass
    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", controller)
    for _ in range(3):
        with kernels.one_thread():
            assert looked == []
    monkeypatch.setitem(sys.modules, "a_library_that_was_imported_since", ModuleType("one"))
    with kernels.one_thread():
        assert looked == [1]


LOADED_INSIDE = """
from oodometer import kernels
from threadpoolctl import threadpool_info
def most():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
with kernels.one_thread():
    before = len(most())
    import scipy.linalg
    assert len(most()) > before, "no library of its own came with SciPy"
    with kernels.one_thread():
        print(most())
print(most())
"""


def test_a_library_that_is_loaded_inside_keeps_to_one_thread_too() -> None:
    pytest.importorskip("threadpoolctl")
    free = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2"),
    }
    done = subprocess.run(
        [sys.executable, "-c", LOADED_INSIDE], capture_output=True, text=True, env=free, check=False
    )
    if "no library of its own" in done.stderr:
        pytest.skip("NumPy and SciPy share a library of linear algebra here")
    assert done.stderr == ""
    inside, after = done.stdout.split("\n")[:2]
    assert (set(inside), set(after)) == (set("[1, ]"), set("[2, ]"))


@given(
    seed=st.integers(0, 999),
    bins=st.sampled_from([2, 5, 64]),
    columns=st.integers(1, 4),
    depth=st.integers(0, 4),
)
def test_cells_and_trees_are_the_plain_ones(seed: int, bins: int, columns: int, depth: int) -> None:
    rng = np.random.default_rng(seed)
    samples = int(rng.integers(1, 400))
    codes = rng.integers(0, bins, (samples, columns)).astype(np.int32)
    gradient, curvature = rng.normal(size=samples), rng.uniform(0, 0.25, samples)
    rows = np.sort(rng.permutation(samples)[: rng.integers(1, samples + 1)])
    got, want = both(lambda: kernels.cell_sums(codes, rows, gradient, curvature, bins))
    assert got.tolist() == want.tolist()

    def grown() -> list[Any]:
        odds, rule = np.zeros(samples), (5, 1e-3, 1e-15, 0.1)
        tree = kernels.grow_tree(
            codes, gradient, curvature, odds, bins=bins, depth=depth, rule=rule
        )
        return [each.tolist() for each in (*tree, odds)]

    here, there = both(grown)
    assert here == there
    split, value, odds = here
    assert len(split) == len(value) == 2 ** (depth + 1) - 1
    assert set(odds) <= {v for v, (column, _) in zip(value, split, strict=True) if column < 0}


# ------------------------------------------------------------------------------------------ arguments

F, N, Q, D = (np.zeros(3, dtype=t) for t in (np.float32, np.int32, np.int64, np.float64))
F2 = np.zeros((3, 2), dtype=np.float32)
FITS: dict[str, list[Any]] = {
    "row_statistics": [F2, N, F, F],
    "negative_entropy": [F2, F],
    "log_odds_bin": [F, Q],
    "count_off_diagonal": [F2, N, np.zeros((2, 960), dtype=np.int64), np.zeros((2, 2)), 1],
    "cell_sums": [np.zeros((3, 2), dtype=np.int32), Q, D, D, np.zeros((2, 4, 3))],
    "grow_tree": [
        np.zeros((3, 2), dtype=np.int32),
        D,
        D,
        np.zeros((2, 4, 3)),
        np.ones(6),
        np.zeros((7, 2), dtype=np.int32),
        np.zeros(7),
        np.zeros(3),
    ],
}
# arguments of any length: classes, rows and columns, as many as you like
FREE = {("negative_entropy", 0), ("row_statistics", 0), ("cell_sums", 1)}


def call(name: str, arguments: list[Any]) -> Any:
    return getattr(threads.passes, name)(*arguments)


@built
@pytest.mark.parametrize("name", FITS)
def test_arguments_are_checked(name: str) -> None:
    """Each argument in turn: of another type, another length, another shape, not contiguous, read-only or no array."""
    fits = [a.copy() if isinstance(a, np.ndarray) else a for a in FITS[name]]
    call(name, fits)
    with pytest.raises(TypeError, match="expected"):
        call(name, fits[:-1])
    for place, given_ in enumerate(fits):

        def swapped(new: Any, place: int = place) -> list[Any]:
            return [*fits[:place], new, *fits[place + 1 :]]

        if not isinstance(given_, np.ndarray):
            with pytest.raises((TypeError, ValueError)):
                call(name, swapped("many"))
            continue
        for wrong in (
            given_.astype(np.complex128),
            given_.astype(np.int16),
            given_.astype(given_.dtype.newbyteorder())
            if given_.itemsize > 1
            else given_.astype(bool),
        ):
            with pytest.raises(TypeError):
                call(name, swapped(wrong))
        with pytest.raises(TypeError):
            call(name, swapped([0.0, 1.0]))
        with pytest.raises(ValueError):
            call(name, swapped(given_[None]))
        doubled = np.repeat(given_, 2, axis=-1)
        with pytest.raises(ValueError):
            call(name, swapped(doubled[..., ::2]))
        if (name, place) in FREE:
            continue
        for wrong in (doubled, np.concatenate([given_, given_, given_])):
            with pytest.raises(ValueError):
                call(name, swapped(wrong))


@built
@pytest.mark.parametrize(
    ("name", "place", "wrong"),
    [
        ("row_statistics", 0, np.zeros((3, 1), dtype=np.float32)),
        ("negative_entropy", 0, np.zeros((3, 0), dtype=np.float32)),
        ("count_off_diagonal", 1, np.array([0, 2, 0], dtype=np.int32)),
        ("count_off_diagonal", 1, np.array([0, -1, 0], dtype=np.int32)),
        ("count_off_diagonal", 2, np.zeros((2, 961), dtype=np.int64)),
        ("cell_sums", 0, np.array([[0, 4], [0, 0], [0, 0]], dtype=np.int32)),
        ("cell_sums", 0, np.array([[0, -1], [0, 0], [0, 0]], dtype=np.int32)),
        ("cell_sums", 1, np.array([0, 3])),
        ("cell_sums", 1, np.array([-1, 0])),
        ("cell_sums", 4, np.zeros((2, 4, 2))),
        ("grow_tree", 0, np.array([[0, 4], [0, 0], [0, 0]], dtype=np.int32)),
        ("grow_tree", 0, np.array([[0, -1], [0, 0], [0, 0]], dtype=np.int32)),
    ],
)
def test_numbers_that_would_be_places_in_memory_are_checked(
    name: str, place: int, wrong: Any
) -> None:
    fits = list(FITS[name])
    fits[place] = wrong
    with pytest.raises(ValueError, match="expected"):
        call(name, fits)


@built
@pytest.mark.parametrize("name", ["row_statistics", "negative_entropy", "log_odds_bin"])
def test_results_need_a_writable_array(name: str) -> None:
    fits = [a.copy() for a in FITS[name]]
    fits[-1].flags.writeable = False
    with pytest.raises(ValueError):
        call(name, fits)


def test_the_plain_rooms_check_numbers_too() -> None:
    with plain():
        with pytest.raises(ValueError, match="bins"):
            kernels.tally(np.array([5]), 4)
        with pytest.raises(ValueError, match="kinds"):
            kernels.count_passed(np.array([0.5]), np.array([3]), np.zeros((1, 2)))
        with pytest.raises(ValueError, match="predicted"):
            kernels.off_diagonal_counts(np.array([[0.5, 0.5]]), np.array([2]), 960)
        with pytest.raises(ValueError, match="codes"):
            kernels.cell_sums(
                np.array([[4]], dtype=np.int32), np.array([0]), np.zeros(1), np.zeros(1), 4
            )


# ------------------------------------------------------------------------------------------ the choice

ANSWER = """
import numpy as np, oodometer
from oodometer.kernels import is_compiled
p = np.random.default_rng(0).dirichlet([0.4] * 5, 800).astype(np.float32)
label = np.random.default_rng(1).integers(0, 5, 400)
label[:250] = p[:250].argmax(axis=1)
found = oodometer.estimate({"probabilities": p[:400], "label": label}, {"probabilities": p[400:]}, diagnosis=False,
                           methods=["atc", "atc-entropy", "threshold-classwise", "im", "cbpe", "doc"])
print(is_compiled(), *(f"{e.value:.9f} {e.lower:.9f} {e.upper:.9f}" for e in found.estimates))
"""


def answer(**environment: str) -> tuple[str, list[float]]:
    done = subprocess.run(
        [sys.executable, "-c", ANSWER], capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "OODOMETER_PLAIN": "0", **environment},
    )  # fmt: skip
    first, *numbers = done.stdout.split()
    return first, [float(n) for n in numbers]


def test_plain_passes_are_a_wish_away_and_answer_alike() -> None:
    was, quick = answer()
    now, slow = answer(OODOMETER_PLAIN="1")
    assert now == "False"
    assert was == str(_can_import())
    assert quick == pytest.approx(slow, abs=1e-6)


def _can_import() -> bool:
    try:
        from oodometer.kernels import _passes  # noqa: F401
    except ImportError:
        return False
    return True
