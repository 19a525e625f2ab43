"""What results show at a prompt and in a notebook, and that the command line says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import oodometer
from oodometer.cli import main
from oodometer.results import percent
from oodometer.store import write_predictions
from oodometer.testing import example_record

from ..snapshots import assert_snapshot

REFERENCE = example_record(300, seed=1)
TARGET = example_record(240, seed=2)


def test_an_estimation_shows_its_summary() -> None:
    found = oodometer.estimate(
        REFERENCE, TARGET, methods=["source", "atc", "votes"], by="group", diagnosis=False
    )
    lines = repr(found).splitlines()
    assert str(found) == repr(found)
    assert lines[0].startswith("True accuracy: ")
    assert_snapshot(lines[1])
    assert_snapshot(lines[3])
    assert_snapshot(lines[4])
    assert lines[5].startswith(f"  Estimated without labels: {percent(found.headline.value)} (")
    assert_snapshot(lines)
    for part in found.slices:
        assert any(line.startswith(f"{part.place['value']} ") for line in lines)
    view = found.view()
    assert [row[0] for grid in view.grids if grid.noun == "method" for row in grid.rows] == [
        one.method for one in found.estimates
    ]
    unsaid = [
        one for one in found.warnings if one != found.headline.why or found.headline.trust != "none"
    ]
    assert list(view.warnings) == unsaid
    assert_snapshot(view.details)
    assert f"{percent(found['source'].value)} on 300 rows" in view.sentences[0]


def test_an_evaluation_shows_its_summary(tmp_path: Path) -> None:
    found = oodometer.evaluate(REFERENCE, metrics=["accuracy", "ece"])
    lines = repr(found).splitlines()
    assert lines[0].startswith(f"Accuracy: {percent(found['accuracy'].value)}  [")
    assert_snapshot(lines[1])
    assert lines[-2].split()[:2] == ["accuracy", f"{found['accuracy'].value:.4f}"]
    assert lines[-1].split()[-1] == found["ece"].kind
    both = oodometer.evaluate(REFERENCE, TARGET, metrics=["accuracy"])
    grid = both.view().grid("files")
    assert [row[1] for row in grid.rows] == ["300", "240"]


def test_the_command_line_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, record in (("r", REFERENCE), ("t", TARGET)):
        write_predictions(record, tmp_path / f"{name}.parquet")
    paths = [str(tmp_path / "r.parquet"), str(tmp_path / "t.parquet")]
    assert (
        main(["estimate", *paths, "--method", "atc", "--method", "doc", "--backtest", "none", "-v"])
        == 0
    )
    shown = " ".join(capsys.readouterr().out.split())
    found = oodometer.estimate(*paths, methods=["atc", "doc"], backtest=None)
    assert shown.startswith(" ".join("\n".join(repr(found).splitlines()[:4]).split()))


def test_the_other_verbs_show_theirs() -> None:
    bare, few = (
        TARGET.without_labels(),
        {"row": list(range(40)), "label": TARGET.label[:40].tolist()},
    )
    looked = oodometer.diagnose(REFERENCE, bare)
    lines = repr(looked).splitlines()
    assert lines[0].startswith(f"Kind of shift: {looked.kind}")
    assert lines[1] == f"  {looked.why}"
    assert all(any(line.startswith(f"{one.name} ") for line in lines) for one in looked.findings)
    audited = repr(oodometer.audit(REFERENCE, bare, labels=few, suggest=3, methods=["doc", "atc"]))
    assert audited.startswith("Audited accuracy: ")
    for part in (
        "  Of 40 randomly drawn rows of 240 the model got ",
        "  Label-free estimate: ",
        "3 rows to label next",
    ):
        assert part in audited
    tried = oodometer.backtest(REFERENCE, methods=["source", "doc"], repeats=2, cache=None)
    best = tried.overall()[0]
    assert repr(tried).startswith(
        f"Smallest mean error on simulated shifts: {100 * best.error:.1f} points  ("
    )
    assert f"{best.method})" in " ".join(repr(tried).split())
    lines = repr(oodometer.compare([REFERENCE, TARGET], names=["one", "other"])).splitlines()
    assert_snapshot(lines[0])
    assert {"one", "other"} <= {line.split()[0] for line in lines if line.strip()}


def test_a_result_can_be_written_as_a_page_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    found = oodometer.estimate(REFERENCE, TARGET, methods=["atc"], diagnosis=False)
    oodometer.write_report(found, tmp_path / "one.html")
    oodometer.write_report(found.to_dict(), tmp_path / "two.html")
    assert (tmp_path / "one.html").read_text() == (tmp_path / "two.html").read_text()
