"""Reading ahead: the same rows in the same order, whoever asks, however often, and from another process."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import oodometer
from oodometer.arrays import Array
from oodometer.kernels import limited_to
from oodometer.store import open_predictions, write_predictions
from oodometer.verbs.estimate import learning as reading_ahead
from oodometer.verbs.estimate.learning import ReadingAhead

ROWS = 300_000


def _probabilities(rows: int, seed: int = 0) -> Array:
    drawn: Array = np.random.default_rng(seed).dirichlet([0.4, 0.6, 1.0], rows)
    return drawn.astype(np.float32)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file: Path = tmp_path_factory.mktemp("ahead") / "target.parquet"
    labels = np.zeros(ROWS, dtype=int)
    write_predictions(oodometer.Predictions.from_probabilities(_probabilities(ROWS), label=labels), file)
    return file


def _rows(parts: list, rows: int) -> Array:  # type: ignore[type-arg]
    return np.concatenate([b.probabilities for part in parts for b in part.batches(rows=rows)])


def test_rows_and_their_order_are_those_of_the_source(path: Path) -> None:
    source = open_predictions(path)
    with limited_to(2):
        ahead = ReadingAhead(source.parts(1 << 17), 65_536, 1)
        assert any(isinstance(part, reading_ahead._Ahead) for part in ahead.parts)
        peeked = next(iter(ahead.parts[0].batches(rows=65_536)))  # one batch, as whoever looks at the columns does
        ahead.stop()
        assert len(peeked) == 65_536
        np.testing.assert_array_equal(_rows(ahead.parts, 65_536), _probabilities(ROWS))
        np.testing.assert_array_equal(_rows(ahead.parts, 65_536), _probabilities(ROWS))  # read a second time
        starts = [b.first_row for part in ahead.parts for b in part.batches(rows=65_536)]
    assert starts == sorted(starts)
    assert starts[0] == 0


def test_whoever_asks_for_other_rows_or_fields_gets_them(path: Path) -> None:
    with limited_to(2):
        ahead = ReadingAhead(open_predictions(path).parts(1 << 17), 65_536, 1)
        few = next(iter(ahead.parts[0].batches(rows=1_000)))
        alone = next(iter(ahead.parts[0].batches(["label"], rows=65_536)))
        ahead.stop()
    assert len(few) == 1_000
    assert alone.probabilities is None
    assert alone.label is not None


def test_another_process_gets_the_part_itself(path: Path) -> None:
    source = open_predictions(path)
    with limited_to(2):
        ahead = ReadingAhead(source.parts(1 << 17), 65_536, 1)
        ahead.stop()
    sent = pickle.loads(pickle.dumps(ahead.parts[0]))
    assert type(sent) is type(source.parts(1 << 17)[0])
    np.testing.assert_array_equal(_rows([sent], 65_536), _probabilities(ROWS)[:131_072])


def test_nothing_is_read_beforehand_on_one_core_or_of_wide_rows(path: Path) -> None:
    parts = open_predictions(path).parts(1 << 17)
    with limited_to(1):
        assert ReadingAhead(parts, 65_536, 1).parts == parts
    with limited_to(2):
        assert ReadingAhead(parts, 65_536, 10**9).parts == parts


def test_a_fault_in_the_file_is_told_as_ever(tmp_path: Path) -> None:
    """The error of a row far behind names it, although another thread met it first."""
    good = oodometer.Predictions.from_probabilities(_probabilities(1_000), label=np.zeros(1_000, dtype=int))
    bad = _probabilities(ROWS)
    file = tmp_path / "bad.csv"
    lines = ["prob_0,prob_1,prob_2", *(",".join(map(str, row)) for row in bad[:200_000].tolist())]
    lines[150_001] = "0.9,0.9,0.9"
    file.write_text("\n".join(lines))
    for workers in (1, 2):
        with pytest.raises(oodometer.errors.InputError, match=r"150.?001"):
            oodometer.estimate(good, str(file), methods=["ac"], workers=workers, diagnosis=False)


def test_estimates_are_those_of_one_core(path: Path) -> None:
    reference = oodometer.Predictions.from_probabilities(
        _probabilities(50_000, 1), label=np.random.default_rng(2).integers(0, 3, 50_000)
    )
    one, two = (
        oodometer.estimate(reference, str(path), methods=["ac", "doc", "im"], workers=w, diagnosis=False)
        for w in (1, 2)
    )
    for a, b in zip(one.estimates, two.estimates, strict=True):
        assert (a.value, a.lower, a.upper) == pytest.approx((b.value, b.lower, b.upper), rel=1e-12)
    assert one.to_dict()["reliability"] == two.to_dict()["reliability"]
    assert one.to_dict()["confidence"] == two.to_dict()["confidence"]
