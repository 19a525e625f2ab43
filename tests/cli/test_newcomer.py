"""What a newcomer types before reading: each error names the mistake and the whole command that works."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from oodometer.cli import main

from ..snapshots import assert_snapshot

FILES = ["reference.csv", "analysis.csv"]
QUICK = ["--method", "source", "--method", "ac", "--backtest", "none"]


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loan model as it is logged by a team: a lone probability, a decision, the truth as `repaid`, and ids."""
    folder = tmp_path_factory.mktemp("deployed")
    rng = np.random.default_rng(0)
    for name, start in (("reference", 0), ("analysis", 300)):
        p = rng.beta(0.4, 0.4, 300).round(2)
        repaid = rng.random(300) < p
        head = "id,salary_range,timestamp,y_pred_proba,y_pred" + (
            ",repaid" if name == "reference" else ""
        )
        rows = [
            f"{start + i},{'low' if i % 2 else 'high'},2018-0{1 + i // 100}-01 10:00:00,{p[i]},{int(p[i] >= 0.5)}"
            + (f",{float(repaid[i])}" if name == "reference" else "")
            for i in range(300)
        ]
        (folder / f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")
    rows = [
        f"{i},{int(q < 0.5)},{q},{1 - q:.2f},{int(q < 0.5)}"
        for i, q in enumerate(rng.beta(0.4, 0.4, 300).round(2))
    ]
    many = "\n".join(["id,y_pred,y_pred_proba_0,y_pred_proba_1,y_true", *rows]) + "\n"
    (folder / "classes.csv").write_text(many)
    truth = "\n".join(["id,repaid", *(f"{300 + i},{int(v)}" for i, v in enumerate(repaid))]) + "\n"
    (folder / "truth.csv").write_text(truth)
    return folder


@pytest.fixture(autouse=True)
def here(deployed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(deployed)


def error_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a command fails with."""
    assert main([*words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1, said.err
    return said.err


def advised(said: str) -> list[str]:
    """The words of the command that an error advises."""
    return shlex.split(said.rpartition("try: oodometer ")[2])


MISTAKES = {
    "turned round": ["--map", "label=repaid"],
    "mistyped": ["--map", "repaid=label", "--positive", "y_pred_prob"],
    "no slice": ["--map", "repaid=label", "--map", "y_pred=prediction", "--by", "salary_rang"],
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_an_error_about_columns_names_the_command_that_works(
    mistake: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = error_of(capsys, "estimate", *FILES, *mistake, *QUICK)
    words = advised(said)
    assert words[:3] == ["estimate", *FILES]
    assert {"repaid=label", "y_pred_proba"} < set(words)
    assert main(words) == 0
    assert "Estimated accuracy" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given", [[], ["--map", "repaid=label"], ["--every", "30d"]], ids=["nothing", "half", "time"]
)
def test_one_reading_needs_no_renaming(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", *FILES, *given, *QUICK]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "warning" not in said
    assert "reference.csv: read " in said
    assert "y_pred as prediction" in said
    assert "y_pred_proba as the probability of class 1; --map changes it" in said
    plain = ["--map", "repaid=label", "--map", "y_pred=prediction", "--positive", "y_pred_proba"]
    plain += ["--map", "timestamp=time"] if "--every" in given else []
    assert main(["estimate", *FILES, *given[2 * ("--map" in given) :], *plain, *QUICK]) == 0
    assert (
        " ".join(capsys.readouterr().out.split())
        == said.partition(" reference.csv: read")[0] + said.partition("changes it")[2]
    )


def test_a_turned_renaming_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert_snapshot(error_of(capsys, "estimate", *FILES, "--map", "label=repaid"))


def test_files_in_the_wrong_order_are_turned(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--map", "repaid=label", "--map", "y_pred=prediction", *QUICK]
    said = error_of(capsys, "estimate", *FILES[::-1], *options)
    assert_snapshot(said)
    assert main(advised(said)) == 0


def test_one_file_whose_truth_has_another_name_is_refused_with_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = error_of(capsys, "evaluate", "reference.csv", "--metric", "acc")
    assert_snapshot(said)
    assert main(advised(said)) == 0
    assert "Accuracy: 82.3 %" in capsys.readouterr().out
    said = error_of(capsys, "evaluate", "analysis.csv", "--metric", "acc")
    assert_snapshot(said)


def test_a_column_of_each_class_is_recognised(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "classes.csv", "--metric", "accuracy", "--metric", "brier"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert_snapshot(said)
    assert "brier" in said


def test_what_is_not_understood_gets_no_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    assert "try:" not in error_of(capsys, "estimate", str(tmp_path / "x.csv"), "analysis.csv")


def test_names_from_elsewhere_are_ours(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["classes.csv", "--map", "y_true=label", "--map", "y_pred=prediction"]
    assert main(["evaluate", *given, "--metric", "ACC"]) == 0
    assert "accuracy" in capsys.readouterr().out
    said = error_of(capsys, "evaluate", *given, "--metric", "acuracy")
    assert_snapshot(said)
    assert_snapshot(error_of(capsys, "estimate", *FILES, "--method", "cbp"))


def test_the_headline_can_be_cited(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "headline"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("% ")
    assert "@inproceedings{tibshirani2019," in shown
    assert_snapshot(error_of(capsys, "cite", "headlin"))


def test_files_without_a_command_and_a_command_without_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert advised(error_of(capsys, *FILES).replace(")\n", "")) == ["estimate", *FILES]
    assert_snapshot(error_of(capsys, "estimate", FILES[0]))
    assert "'estimate'" in error_of(capsys, "estimat", *FILES)


LATE = {
    "mistyped": ["--map", "repayd=label", "--map", "y_pred=prediction"],
    "no slice": ["--map", "repaid=label", "--map", "y_pred=prediction", "--by", "salary_rang"],
}


@pytest.mark.parametrize("mistake", LATE.values(), ids=LATE)
def test_the_truth_in_a_file_of_its_own_is_found(
    mistake: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["analysis.csv", "--labels", "truth.csv", "--positive", "y_pred_proba", *mistake]
    words = advised(error_of(capsys, "evaluate", *given))
    assert {"repaid=label", "y_pred=prediction", "truth.csv"} < set(words)
    assert main(words) == 0
    assert "300 labelled rows" in capsys.readouterr().out


def test_the_truth_in_a_file_of_its_own_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "analysis.csv", "--labels", "truth.csv", "-v"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert_snapshot(said)
    assert "300 labelled rows" in said


def test_a_slice_that_no_column_resembles_is_no_reason_to_rename(
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = [
        "--labels",
        "truth.csv",
        "--map",
        "repaid=label",
        "--map",
        "y_pred=prediction",
        "--positive",
        "y_pred_proba",
    ]
    said = error_of(capsys, "evaluate", "analysis.csv", *right, "--by", "month")
    assert_snapshot(said)
    assert "try:" not in said


def test_one_of_the_columns_of_all_classes_is_not_offered_as_a_lone_probability(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["0.6,0.3,0.1,dog", "0.2,0.5,0.3,cat", "0.1,0.2,0.7,emu"] * 10
    path = tmp_path / "animals.csv"
    path.write_text("\n".join(["prob_cat,prob_dog,prob_emu,label_2", *rows]) + "\n")
    assert (
        main(["evaluate", str(path)]) == 0
    )  # label_2 names the classes that the others are probabilities of
    said = " ".join("".join(capsys.readouterr()).split())
    assert_snapshot(said)
    assert "--positive" not in said
