"""The quality benchmark: its page and the guide come from the committed cases, its beds are what they say."""

from __future__ import annotations

import functools
import re
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(
    0, str(Path(__file__).resolve().parent.parent)
)  # benchmarks is no part of the package

from benchmarks.kit import RESULTS
from benchmarks.quality import beds, run, tables
from benchmarks.quality.tables import Case, Triple

# Every table asks for the errors of every bed: under test they are counted once for each bed that a table makes.
_COUNTED = functools.cached_property(tables.Summary.errors.fget)  # type: ignore[attr-defined]
_COUNTED.__set_name__(tables.Summary, "errors")
tables.Summary.errors = _COUNTED  # type: ignore[assignment,method-assign]
CASES = tables.read_cases(RESULTS / "quality.json")


def case(bed: str, truth: float, head: Triple, said: dict[str, float], trust: str = "high") -> Case:
    three = {m: (v, v - 0.01, v + 0.01) for m, v in said.items()}
    return Case(bed, "x", 100, 100, truth, head, trust, "none", "backtest: a", three)


# ------------------------------------------------------------------------------------------ the committed files


def test_committed_page_comes_from_the_committed_cases(tmp_path: Path) -> None:
    tables.write_results(CASES, tmp_path)
    for path in tmp_path.iterdir():
        pages = (one.read_text(encoding="utf-8") for one in (path, RESULTS / path.name))
        written, kept = (re.sub(r'"version": "[^"]*"', "", page) for page in pages)
        assert written == kept, path.name  # whatever version measured them


def test_the_guide_shows_the_committed_tables() -> None:
    text = tables.GUIDE.read_text(encoding="utf-8")
    assert text.count("<!-- begin: ") == text.count("<!-- end -->") >= 5
    assert tables.renewed(text, CASES) == text, "run `python -m benchmarks.quality --tables`"


def test_what_the_guide_says_of_simulated_shifts() -> None:
    """The ratio to the best fixed method, the mean over all beds, and the beds where the prior costs most."""
    guide = " ".join(tables.GUIDE.read_text(encoding="utf-8").split())
    beds_ = tables.summaries(CASES)
    ratio = next(
        limit for limit in tables.limits(CASES) if "best fixed" in limit.text
    ).found.rpartition(" = ")[2]
    assert f"error is {ratio} times that of the best single method" in guide
    every = np.mean([bed.headline for bed in beds_])
    assert f"errs by {every:.2f} points on average" in guide
    assert f"before there was a prior, {every:.2f} with it" in guide
    costs = guide.partition("### What the prior costs here")[2].partition("###")[0]
    told = {
        name: line.split(" | ")[-1]
        for line in costs.split(" | | ")
        if (name := line.split(" | ")[0].strip("| "))
    }
    dear = ("subgroup 1", "subgroup 0.1", "few: subgroup", "calibrated noise")
    assert {b.bed.name: f"{b.headline:.2f}" for b in beds_ if b.bed.name in dear} == {
        n: told[n] for n in dear
    }


def test_every_bed_is_there_and_every_number_in_order() -> None:
    assert {c.bed for c in CASES} == {b.name for b in beds.BEDS}
    assert len({(c.bed, c.name) for c in CASES}) == len(CASES)
    for c in CASES:
        assert c.trust in tables.TRUSTS
        assert c.kind in tables.KINDS
        for value, lower, upper in (c.headline, *c.estimates.values()):
            assert 0 <= lower <= value <= upper <= 1, c.name


def test_no_method_knows_what_outputs_cannot_show() -> None:
    """The outputs are those of the unshifted target, so every answer is, and errs by what was changed."""
    unseen = {c.name: c for c in CASES if c.bed == "labels flipped"}
    for plain in (c for c in CASES if c.bed == "none"):
        changed = unseen[plain.name.replace(", none", "")]
        assert changed.headline == pytest.approx(plain.headline, abs=1e-4)
        assert changed.truth < plain.truth - 0.05


def test_committed_truths_are_those_of_the_beds(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OODOMETER_DATA", str(data_dir))
    known = {(c.bed, c.name): c for c in CASES}
    drawn = [
        *beds.redrawn("mnist", 0, None),
        *beds.redrawn("imdb", 1, beds.FEW),
        *beds.unseen("imdb", 0),
        *islice(beds.judged_model("cifar10.1", 0), 2),
    ]
    for situation in drawn:
        before = known[situation.bed, situation.name]
        assert (len(situation.reference), len(situation.target)) == (
            before.reference_rows,
            before.rows,
        )
        assert situation.truth == pytest.approx(before.truth, abs=1e-5)
        assert situation.target.label is None


def test_a_case_is_measured_and_kept(tmp_path: Path) -> None:
    """A whole case through the library: what is kept is what `estimate` said."""
    situation = next(beds.table("wine", "logistic", 0))
    found = run.measure(situation, tmp_path)
    before = next(c for c in CASES if (c.bed, c.name) == (found.bed, found.name))
    assert found.truth == pytest.approx(before.truth, abs=1e-5)
    assert found.estimates["source"][0] == pytest.approx(before.estimates["source"][0], abs=1e-5)
    assert Case.from_dict(found.to_dict()).to_dict() == found.to_dict()


# ------------------------------------------------------------------------------------------ figures by hand


def test_summary_by_hand() -> None:
    few = [
        case("none", 0.90, (0.91, 0.89, 0.93), {"source": 0.92, "doc": 0.90, "cot": 0.90}),
        case("none", 0.80, (0.83, 0.81, 0.85), {"source": 0.80, "doc": 0.84}, trust="none"),
    ]
    (bed,) = tables.summaries(few)
    assert bed.errors == pytest.approx({"source": 1.0, "doc": 2.0}), "cot did not answer everywhere"
    assert bed.best == ("source", pytest.approx(1.0))
    assert bed.headline == pytest.approx(2.0)
    assert bed.coverage == 0.5
    assert bed.width == pytest.approx(4.0)
    assert bed.moved == pytest.approx(1.0)
    assert bed.chance == pytest.approx(100 * np.sqrt(2 / np.pi) * (0.03 + 0.04) / 2)
    assert (
        "| none | 2 | 1.0 | 2.8 | `source` | 1.00 | **2.00** | 2.00 | 50% | 4.0 | 50% / 0% / 50% |"
        in (tables.headline_table(few))
    )


def test_best_fixed_method_counts_beds_alike_and_answers_everywhere() -> None:
    few = [
        *[case("none", 0.9, (0.9, 0.8, 1.0), {"a": 0.9, "b": 0.92, "c": 0.9})] * 3,
        case("label 1", 0.9, (0.89, 0.8, 1.0), {"a": 0.8, "b": 0.92}),
    ]
    beds_ = tables.summaries(few)
    assert tables.fixed(beds_) == pytest.approx({"b": 2.0, "a": 5.0})
    found = {limit.text: limit for limit in tables.limits(few)}
    ratio = next(limit for text, limit in found.items() if "fixed" in text)
    assert ratio.found == "0.50 / 2.00 (b) = 0.25"
    assert ratio.holds


def test_limits_can_fail() -> None:
    few = [case("none", 0.9, (0.7, 0.69, 0.71), {"source": 0.9, "doc": 0.91})] * 2
    assert not any(limit.holds for limit in tables.limits(few))
    assert not any(limit.holds for limit in tables.limits(few) if "coverage" in limit.text)
    near = [case("none", 0.9, (0.909, 0.85, 0.95), {"source": 0.9, "doc": 0.91})] * 2
    assert next(iter(tables.limits(near))).holds, "within a point of the truth is near enough"


def test_blocks_are_renewed_between_their_marks() -> None:
    text = "before\n<!-- begin: beds -->\nold\n<!-- end -->\nafter"
    new = tables.renewed(text, CASES)
    assert new.startswith("before\n<!-- begin: beds -->\n\n| bed |")
    assert new.endswith("|\n\n<!-- end -->\nafter")
    assert tables.renewed(new, CASES) == new


# ------------------------------------------------------------------------------------------ beds by hand


def test_one_class_has_nine_rows_of_ten() -> None:
    label = np.repeat([0, 1, 2], [90, 90, 200])
    rows = np.arange(20, 380)
    found = beds.one_class(label, rows, np.random.default_rng(0))
    shares = np.bincount(label[found]) / len(found)
    assert shares.max() == pytest.approx(0.9, abs=0.02)
    assert len(np.unique(found)) == len(found)
    assert np.isin(found, rows).all()


def test_flip_changes_just_its_share() -> None:
    label = np.arange(1000) % 7
    found = beds.flip(label, 7, 0.1, np.random.default_rng(0))
    assert (found != label).sum() == 100
    assert np.isin(found, range(7)).all()


def test_swap_keeps_the_outputs_as_a_whole() -> None:
    p = np.random.default_rng(1).dirichlet(np.ones(4), 500)
    found = beds.swap(p, 0.1, np.random.default_rng(0))
    assert (found != p).any(axis=1).sum() == 50
    assert np.array_equal(np.sort(found, axis=0), np.sort(p, axis=0))


def test_calibrated_noise_costs_what_it_says_and_confidence_follows() -> None:
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.full(5, 0.1), 4000)
    label = (p.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    rows = np.arange(2000)
    noisy = beds.calibrated_noise(p, label, rows, 0.1, np.random.default_rng(3))
    before, after = p.argmax(axis=1) == label, noisy.argmax(axis=1) == label
    assert after[rows].mean() == pytest.approx(before[rows].mean() - 0.1, abs=0.003)
    assert noisy[rows].max(axis=1).mean() == pytest.approx(after[rows].mean(), abs=1e-6)
    assert noisy[2000:].max(axis=1).mean() == pytest.approx(after[2000:].mean(), abs=0.03), (
        "other rows, too"
    )
    assert noisy.sum(axis=1) == pytest.approx(1.0)


def test_jobs_are_seeded_and_name_every_group() -> None:
    assert {job.group for job in beds.make_jobs()} == set(run.GROUPS)
    one, two = (next(beds.table("cancer", "forest", 1)) for _ in range(2))
    assert np.array_equal(one.target.probabilities, two.target.probabilities)
    assert one.truth == two.truth
