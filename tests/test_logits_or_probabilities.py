"""Probabilities in logit columns are refused by every format and constructor; logits pass, however they fall."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oodometer
from oodometer import InputError, Predictions
from oodometer.cli import main
from oodometer.store import as_source, read_predictions, write_predictions

from .snapshots import raises_snapshot

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(3), size=200)


def files(folder: Path) -> list[Path]:
    """Probabilities in logit columns, in every format: written as logits moved by one, which are then moved back."""
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    table = pa.table(
        {f"logit_{c}": P[:, i] for i, c in enumerate("abc")} | {"label": ["a", "b"] * 100}
    )
    parquet.write_table(table, folder / "p.parquet", row_group_size=50)
    parquet.write_table(
        pa.table({"logits": pa.array(P.tolist()), "label": [0, 1] * 100}), folder / "list.parquet"
    )
    feather.write_feather(table, folder / "p.feather")
    rows = [",".join(map(repr, map(float, p))) + ",a" for p in P]
    (folder / "p.csv").write_text("\n".join(["logit_a,logit_b,logit_c,label", *rows]) + "\n")
    lines = [f'{{"logits": {p.tolist()}, "label": 0}}' for p in P]
    (folder / "p.jsonl").write_text("\n".join(lines) + "\n")
    np.savez(folder / "p.npz", logits=P, label=np.zeros(200, dtype=int))
    return sorted(folder.iterdir())


def test_every_format_refuses_and_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = files(tmp_path)
    assert len(made) == 6
    for path in made:
        with raises_snapshot(InputError):
            read_predictions(path)
        assert main(["evaluate", str(path)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert path.name in said


def test_the_target_is_looked_at_as_the_reference_is(tmp_path: Path) -> None:
    write_predictions(
        Predictions.from_logits(3 * P, label=[0, 1] * 100), tmp_path / "reference.parquet"
    )
    np.savez(tmp_path / "target.npz", logits=P)
    with raises_snapshot(InputError):
        oodometer.estimate(tmp_path / "reference.parquet", tmp_path / "target.npz", backtest=None)


@pytest.mark.parametrize("digits", [2, 3, 6, 16])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rounded_and_single_precision_probabilities_are_known(digits: int, dtype: str) -> None:
    with raises_snapshot(InputError):
        Predictions.from_logits(np.round(P, digits).astype(dtype))


def test_beside_probabilities_they_are_refused_too() -> None:
    with raises_snapshot(InputError):
        Predictions.from_arrays(probabilities=P, logits=P)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 40), st.integers(2, 6), st.floats(0.05, 5), st.integers(0, 10_000))
def test_logits_pass(rows: int, classes: int, scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = scale * rng.standard_normal((rows, classes))
    assert len(Predictions.from_logits(logits)) == rows
    assert (
        len(Predictions.from_logits(np.log(rng.dirichlet(np.ones(classes), size=rows) + 1e-12)))
        == rows
    )


def test_one_row_may_happen_to_look_so_and_a_last_row_alone_in_its_batch() -> None:
    assert len(Predictions.from_logits([[0.25, 0.75]])) == 1
    logits = 4 * RNG.standard_normal((101, 2))
    logits[90:] = [[0.25, 0.75]]
    source = as_source({"logits": logits})
    assert sum(len(batch) for batch in source.batches(rows=10)) == 101


@pytest.mark.parametrize("rows", [32, 33, 64, 200])
def test_the_answer_does_not_depend_on_batches(tmp_path: Path, rows: int) -> None:
    files(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        with raises_snapshot(InputError):
            next(as_source(path).batches(rows=rows))


def test_the_way_out_changes_no_result() -> None:
    moved = Predictions.from_logits(P + 1)
    assert moved.probabilities is not None
    plain = np.exp(P) / np.exp(P).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(moved.probabilities, plain, atol=1e-12)
