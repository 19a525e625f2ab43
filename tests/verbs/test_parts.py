"""Slices and chunks of `estimate`: together the whole, and each held against the reference's own rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.cli.main import main
from oodometer.errors import UsageError
from oodometer.passes.reference import read_reference, verdicts_by
from oodometer.results.estimation import Estimation
from oodometer.store import as_source

from ..snapshots import assert_snapshot

KINDS = {"usual": (1000, 0.0, 2.0), "hard": (400, 0.0, 1.0), "easy": (400, 3.5, 0.7)}


def rows(
    seed: int, names: dict[str, tuple[int, float, float]] = KINDS, scale: float = 1.0
) -> pd.DataFrame:
    """Groups of unlike difficulty, all calibrated; with a ``scale`` below 1 the truth is less sure than it says."""
    rng = np.random.default_rng(seed)
    out = []
    for name, (count, middle, spread) in names.items():
        odds = rng.normal(middle, spread, count)
        p = 1 / (1 + np.exp(-odds))
        label = (rng.random(count) < 1 / (1 + np.exp(-scale * odds))).astype(int)
        out.append(pd.DataFrame({"prob_0": 1 - p, "prob_1": p, "label": label, "group": name}))
    return pd.concat(out, ignore_index=True)


def asked(reference: Any, target: Any, **how: Any) -> Estimation:
    """Asked with a few quick methods; labels of the target are not shown."""
    target = target.drop(columns="label", errors="ignore")
    return oodometer.estimate(
        reference, target, methods=["source", "cbpe", "doc", "im", "ac"], backtest=None, **how
    )


def mean_of(found: Estimation) -> float:
    parts = found.slices or found.chunks
    return sum(part.rows * part.headline.value for part in parts) / sum(part.rows for part in parts)


@pytest.mark.parametrize("seed", range(3))
def test_a_slice_that_always_was_so_is_no_alarm(seed: int) -> None:
    """Nothing moved: slices are as hard as their own reference rows, and nothing fell, by any rule."""
    reference, target = rows(2 * seed), rows(2 * seed + 1)
    found = asked(reference, target, by="group", fail_drop=0.03)
    right = (target.prob_1 > 0.5) == (target.label == 1)
    assert found.alarms is not None
    assert not found.alarms.raised
    for part in found.slices:
        own = reference[reference.group == part.name]
        truth = float(right[target.group == part.name].mean())
        assert part.fell is not None
        assert not part.fell.alarm
        assert part.headline.value == pytest.approx(truth, abs=0.04)
        assert part.headline.upper - part.headline.lower < 0.2
        assert part.reference is not None
        assert part.reference.rows == len(own)
        assert part.reference.accuracy == pytest.approx(
            float(((own.prob_1 > 0.5) == (own.label == 1)).mean())
        )
        assert part.reference.pooled == pytest.approx(part.reference.accuracy, abs=0.03)
    assert mean_of(found) == pytest.approx(found.headline.value, abs=1e-9)


def test_the_slice_that_did_fall_is_found() -> None:
    """The easy rows became hard ones; the others are as they were."""
    reference, target = rows(0), rows(1, KINDS | {"easy": (400, 0.0, 0.5)})
    found = asked(reference, target, by="group", margin=0.03)
    alarms = {part.name for part in found.slices if part.fell is not None and part.fell.alarm}
    assert alarms == {"easy"}
    assert mean_of(found) == pytest.approx(found.headline.value, abs=1e-9)


def test_chunks_are_the_whole_too_and_held_against_all_of_the_reference() -> None:
    reference, target = rows(0), rows(1).sample(frac=1, random_state=0)
    found = asked(reference, target, every="500rows")
    assert mean_of(found) == pytest.approx(found.headline.value, abs=1e-9)
    assert {part.reference.pooled for part in found.chunks if part.reference} == {
        found.reference["accuracy"]
    }
    assert found.to_dict()["chunks"][0]["reference"]["share"] is None


def test_without_the_column_the_reference_stands_for_the_composition_and_that_is_said() -> None:
    reference, target = rows(0).drop(columns="group"), rows(1)
    found = asked(reference, target, by="group", fail_drop=0.03)
    assert [w for w in found.warnings if "has no column group" in w and "as a whole" in w]
    parts = {part.name: part for part in found.slices}
    assert parts["easy"].reference is not None
    assert parts["hard"].reference is not None
    assert parts["easy"].reference.pooled > 0.9 > 0.75 > parts["hard"].reference.pooled
    assert found.alarms is not None
    assert not found.alarms.raised


def test_a_value_that_the_reference_does_not_know_is_named() -> None:
    target = rows(1)
    target.loc[target.group == "hard", "group"] = "new"
    found = asked(rows(0), target, by="group")
    assert [w for w in found.warnings if "has no rows of group new" in w]
    assert {part.name: part.reference.share is None for part in found.slices if part.reference} == {
        "easy": False,
        "new": True,
        "usual": False,
    }


def test_under_the_assumption_that_nothing_changed_a_slice_is_as_its_own_rows() -> None:
    found = asked(rows(0), rows(1), by="group", assume="none", fail_drop=0.01)
    for part in found.slices:
        assert part.reference is not None
        assert part.headline.value == part.reference.pooled
    assert found.alarms is not None
    assert not found.alarms.raised


def test_a_fitted_file_keeps_what_its_slices_need_and_says_where_it_does_not(
    tmp_path: Path,
) -> None:
    reference, target = rows(0), rows(1).drop(columns="label")
    paths = [tmp_path / name for name in ("with.oodo", "without.oodo")]
    how: dict[str, Any] = {"methods": ["source", "cbpe"], "backtest": None}
    for path, by in zip(paths, ("group", None), strict=True):
        oodometer.fit(reference, out=path, by=by, **how)
    at_once = oodometer.estimate(reference, target, by="group", **how)
    kept, bare = (oodometer.estimate(path, target, by="group") for path in paths)
    assert [p.headline for p in kept.slices] == [p.headline for p in at_once.slices]
    assert [p.reference for p in kept.slices] == [p.reference for p in at_once.slices]
    assert [w for w in bare.warnings if "fit it with --by group" in w]
    assert not [w for w in kept.warnings if "--by" in w]
    other = oodometer.estimate(paths[0], target.rename(columns={"group": "site"}), by="site")
    assert [w for w in other.warnings if "fit it with --by site" in w]


def test_fit_refuses_a_column_that_is_not_there_or_has_too_many_values() -> None:
    reference = rows(0).assign(number=range(1800))
    for by, said in (("grp", "group"), ("number", "200 distinct values")):
        with pytest.raises(UsageError, match=said):
            oodometer.fit(reference, by=by, methods=["cbpe"], backtest=None)


def test_right_rows_are_counted_exactly_where_a_sample_is_kept() -> None:
    reference = rows(0)
    source = as_source(reference, extra_columns=["group"])
    read = read_reference(source, by="group", most_rows=100)
    whole = source.read()
    assert read.sampled
    assert read.record.rows == 100
    assert read.verdicts == verdicts_by(whole, "group")
    assert sum(read.verdicts.values()) == 1800
    assert sum(n for (_, right), n in read.verdicts.items() if right) == read.correct


def test_the_screen_names_the_reference_of_each_slice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / name for name in ("reference.csv", "target.csv")]
    rows(0).to_csv(paths[0], index=False)
    rows(1).drop(columns="label").to_csv(paths[1], index=False)
    assert (
        main(
            [
                "estimate",
                *map(str, paths),
                "--by",
                "group",
                "--fail-drop",
                "0.03",
                "--backtest",
                "none",
            ]
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert "reference" in shown.split("slices")[1].split("\n")[1]
    assert_snapshot(shown)


def test_a_run_folder_keeps_the_counts_of_slices(tmp_path: Path) -> None:
    path = tmp_path / "reference.parquet"
    rows(0).to_parquet(path)
    how: dict[str, Any] = {
        "by": "group",
        "methods": ["cbpe"],
        "backtest": None,
        "run_folder": tmp_path / "run",
    }
    first, again = (oodometer.fit(path, **how).fitted_.reference.verdicts for _ in range(2))
    assert (
        first == again == verdicts_by(as_source(rows(0), extra_columns=["group"]).read(), "group")
    )
