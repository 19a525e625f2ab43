"""The last digits of a double move no number, and the seed moves none by more than chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import Estimation, Oodometer, estimate
from oodometer.cli.main import main
from oodometer.outputs.markdown import markdown_of


def drawn(seed: int, rows: int, centre: float, sharp: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(centre + sharp * rng.standard_normal(rows))))
    return p, (rng.random(rows) < p).astype(int)


def numbers(found: Estimation) -> dict[str, float]:
    out = {"accuracy": found.headline.value, **{e.method: e.value for e in found.estimates}}
    for name, one in found.metrics.items():
        out |= {name: one.value, **{f"{name} {e.method}": e.value for e in one.estimates}}
    return out


@pytest.mark.parametrize("seed", range(4))
def test_a_jitter_in_the_last_digits_moves_no_number(seed: int) -> None:
    """Folds were dealt out by a hash of all digits: the calibrator was chosen anew, and `cbpe` moved by 1.2 points."""
    (p, label), (q, _) = drawn(seed, 2000, -0.7, 2.0), drawn(100 + seed, 1500, -1.2, 1.7)
    asked: dict[str, Any] = {"metrics": ["precision", "f1", "roc_auc"], "backtest": None}
    before = numbers(estimate({"prob_1": p, "label": label}, {"prob_1": q}, **asked))
    rng = np.random.default_rng(7)
    p, q = (np.clip(one + rng.uniform(-1e-14, 1e-14, len(one)), 0, 1) for one in (p, q))
    after = numbers(estimate({"prob_1": p, "label": label}, {"prob_1": q}, **asked))
    assert after == pytest.approx(before, abs=2e-4)


CASES = {  # a jump between two forms of a map that are about as good moved `cbpe` by half of its half width
    "two classes": {"prior": 0.9, "rows": 500},
    "rounded": {"prior": 0.7, "rows": 500, "digits": 2},
    "many rows": {"prior": 0.8, "rows": 3000},
}


@pytest.mark.parametrize("case", CASES)
def test_the_seed_moves_no_number_by_more_than_a_part_of_its_interval(case: str) -> None:
    about = CASES[case]
    rng = np.random.default_rng(3)

    def side(centre: float) -> tuple[Any, Any]:
        p = 1 / (1 + np.exp(-(centre + 2 * rng.standard_normal(int(about["rows"])))))
        p = np.round(p, int(about.get("digits", 16)))
        return p, (rng.random(len(p)) < about["prior"] * p + 0.05).astype(int)

    (p, label), (q, _) = side(0.3), side(0.8)
    asked: dict[str, Any] = {"methods": ["cbpe", "importance", "pape"], "metrics": ["f1"], "backtest": None}
    found = [estimate({"prob_1": p, "label": label}, {"prob_1": q}, seed=seed, **asked) for seed in range(8)]
    values = {name: [numbers(one)[name] for one in found] for name in numbers(found[0])}
    ends = {e.method: e.upper - e.lower for e in found[0].estimates}
    assert len(set(values["importance"])) > 1, "the seed is heard"
    for name, half in ends.items():
        assert np.std(values[name]) <= 0.06 * half / 2 + 1e-6, name
    again = numbers(estimate({"prob_1": p, "label": label}, {"prob_1": q}, **asked))
    assert again == numbers(found[0]), "seed 0 is the usual one"


def test_a_fitted_file_draws_with_the_seed_of_its_fit(tmp_path: Path) -> None:
    (p, label), (q, _) = drawn(1, 600, 0.5, 1.5), drawn(2, 500, 0.0, 1.5)
    asked: dict[str, Any] = {"methods": ["cbpe", "importance", "dis2"], "backtest": None, "seed": 3}
    direct = estimate({"prob_1": p, "label": label}, {"prob_1": q}, **asked)
    Oodometer(**asked).fit({"prob_1": p, "label": label}).save(tmp_path / "fitted.oodo")
    again = estimate(tmp_path / "fitted.oodo", {"prob_1": q}, backtest=None)
    assert numbers(again) == numbers(direct)
    assert again.seed == 3


def test_the_seed_is_seen_in_text_and_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (p, label), (q, _) = drawn(1, 100, 0.5, 1.5), drawn(2, 100, 0.0, 1.5)
    for name, rows in (("here", zip(p, label, strict=True)), ("there", zip(q, label, strict=True))):
        lines = "\n".join(f"{a},{b}" for a, b in rows)
        (tmp_path / f"{name}.csv").write_text(f"prob_1,label\n{lines}\n")
    files = [str(tmp_path / "here.csv"), str(tmp_path / "there.csv")]
    for more, seen in (([], False), (["--seed", "7"], True), (["--verbose"], True)):
        assert main(["estimate", *files, *more]) == 0
        assert ("Seed of folds, samples and draws:" in capsys.readouterr().out) is seen
    found = estimate({"prob_1": p, "label": label}, {"prob_1": q}, methods=["cbpe"], seed=7)
    assert "- Seed of folds, samples and draws: 7" in markdown_of(found)
