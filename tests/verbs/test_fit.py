"""Fit once: what a fitted file answers is what `estimate` answers, and what it cannot answer is one clear line."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oodometer
from oodometer import Oodometer, Predictions, audit, backtest, diagnose, estimate, fit
from oodometer.cli import main
from oodometer.errors import InputError, OodometerError, UsageError
from oodometer.options import declared
from oodometer.persistence import FORMAT
from oodometer.store import write_predictions
from oodometer.testing.methods import example_record
from oodometer.verbs import fitted
from oodometer.verbs.fitted import FITTED
from oodometer.verbs.options import Running, TargetOptions

from ..snapshots import assert_snapshot, raises_snapshot

REFERENCE = example_record(300, seed=1)
TARGET = example_record(200, seed=2, difficulty=1.5)
ASKED = (
    "by", "every", "where", "labels", "key", "backtest", "assume", "domain", "prior", "payoff", "margin", "fail_below",
    "fail_drop", "fail_when", "store", "job", "alarms", "target", "history",
)  # fmt: skip
"""Options that only say what is asked about a target."""
FEW: dict[str, Any] = {"methods": ["source", "doc", "atc", "cbpe", "bbse"], "seed": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fitted")


@cache
def few() -> Oodometer:
    """A fitted one with a few quick methods and a backtest."""
    return Oodometer(**FEW).fit(REFERENCE)


@pytest.fixture(scope="module")
def file(folder: Path) -> Path:
    return few().save(folder / "few.oodo")


def told(found: Any) -> Any:
    """Everything that a result holds but for the command."""
    return repr({**found.to_dict(), "argv": None})


# ------------------------------------------------------------------------------------------ the same answers


def test_by_default_the_answer_is_that_of_estimate(folder: Path) -> None:
    kept = str(folder)  # the trials are simulated once
    path = Oodometer(backtest=kept).fit(REFERENCE, by="group").save(folder / "all.oodo")
    direct = estimate(REFERENCE, TARGET, by="group", labels=TARGET, backtest=kept)
    assert told(estimate(path, TARGET, by="group", labels=TARGET)) == told(direct)
    assert told(Oodometer.load(path).estimate(TARGET, by="group", labels=TARGET)) == told(direct)
    assert len(direct.estimates) > 20


@pytest.mark.parametrize("more", [{"diagnosis": False}, {"backtest": None}, {"methods": ["doc", "atc", "cbpe"]},
                                  {"methods": ["doc"]}, {"assume": "none", "margin": 0.2}])  # fmt: skip
def test_what_is_left_out_is_left_out_of_the_file_too(more: dict[str, Any], file: Path) -> None:
    assert told(estimate(file, TARGET, **more)) == told(estimate(REFERENCE, TARGET, **(FEW | more)))


def test_metrics_ride_along(folder: Path) -> None:
    asked: dict[str, Any] = {
        "methods": ["doc", "atc", "cbpe", "bbse"],
        "metrics": ["f1", "roc_auc"],
    }
    path = fit(REFERENCE, out=folder / "metrics.oodo", backtest=str(folder), **asked).save(
        folder / "metrics.oodo"
    )
    direct = estimate(REFERENCE, TARGET, backtest=str(folder), **asked)
    assert {*direct.metrics} == {"f1", "roc_auc"}
    assert told(estimate(path, TARGET)) == told(direct)
    assert [*estimate(path, TARGET, metrics=["auc"]).metrics] == ["roc_auc"]
    said = estimate(path, TARGET, methods=["doc"]).warnings
    assert_snapshot(said)
    with raises_snapshot(UsageError):
        estimate(path, TARGET, metrics=["mcc"])
    with raises_snapshot(UsageError):
        estimate(path, TARGET, payoff={"0": {"0": 1.0}})


def test_options_of_the_fit_hold_and_others_are_refused(folder: Path) -> None:
    made = fit(REFERENCE, out=folder / "low.oodo", methods=["doc"], level=0.8, seed=7)
    assert estimate(folder / "low.oodo", TARGET)["doc"].level == 0.8
    assert estimate(made, TARGET, level=0.8, seed=7).seed == 7
    with raises_snapshot(UsageError):
        estimate(folder / "low.oodo", TARGET, level=0.9)
    with raises_snapshot(UsageError):
        made.estimate(TARGET, methods=["atc"])
    with raises_snapshot(UsageError):
        made.estimate(TARGET, backtest=str(folder))
    with raises_snapshot(UsageError):
        made.estimate(TARGET, classes=["a", "b", "c", "d"])
    with raises_snapshot(UsageError):
        made.estimate(TARGET, threshold=0.6)


def test_every_option_is_either_of_the_fit_or_of_the_question() -> None:
    run = {f.name for f in fields(Running)}
    options = {name for name, _, _ in declared(TargetOptions)}
    assert sorted((*FITTED, *ASKED)) == sorted(options - run)
    own = {*Oodometer().get_params()}
    assert own >= {*FITTED}, "what shapes the fit is a parameter of Oodometer"


def test_columns_are_read_as_in_the_reference(folder: Path) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    own = {
        "score": p.tolist(),
        "truth": (rng.random(200) < p).tolist(),
        "age": rng.integers(20, 60, 200).tolist(),
    }
    asked: dict[str, Any] = {
        "mapping": {"truth": "label"},
        "positive": "score",
        "threshold": 0.6,
        "features": "age",
    }
    asked |= {"methods": ["doc", "importance"], "backtest": None}
    path = fit(own, out=folder / "own.oodo", **asked).save(folder / "own.oodo")
    q = rng.random(80)
    target = {
        "score": q.tolist(),
        "age": rng.integers(20, 60, 80).tolist(),
        "late": (rng.random(80) < q).tolist(),
    }
    found = estimate(path, target)
    assert told(found) == told(estimate(own, target, **asked))
    assert found.diagnosis is not None
    again = estimate(path, target, labels={"late": target["late"]}, mapping={"late": "label"})
    assert again.target["labelled"] == 80, "another renaming, beside that of the fit"
    with pytest.raises(InputError, match="column age"):
        estimate(path, {"score": target["score"]})


def test_a_large_reference_is_kept_as_a_sample(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    direct = estimate(REFERENCE, TARGET, **FEW)
    monkeypatch.setattr(fitted, "_MOST_ROWS", 100)
    path = few().save(folder / "sample.oodo")
    found = estimate(path, TARGET)
    assert told(found) == told(direct), "the methods, figures and counts are those of all rows"
    assert len(Oodometer.load(path).fitted_.reference.record) == 100
    monkeypatch.undo()
    assert path.stat().st_size < few().save(folder / "whole.oodo").stat().st_size


# ------------------------------------------------------------------------------------------ other verbs


def test_other_verbs_take_the_file_for_the_reference(file: Path) -> None:
    assert diagnose(file, TARGET).to_dict() == diagnose(REFERENCE, TARGET).to_dict()
    quick: dict[str, Any] = {
        "methods": ["source", "atc"],
        "families": ["none"],
        "repeats": 2,
        "cache": None,
    }
    assert backtest(file, **quick).trials == backtest(REFERENCE, **quick).trials
    labels = {"row": list(range(40)), "label": TARGET.label[:40].tolist()}  # type: ignore[index]
    one, other = (
        audit(r, TARGET, labels=labels, methods=["source", "doc"], seed=3)
        for r in (file, REFERENCE)
    )
    assert one.to_dict()["estimate"] == other.to_dict()["estimate"]


def test_where_rows_are_judged_a_fitted_file_is_refused(file: Path, folder: Path) -> None:
    rows = write_predictions(REFERENCE, folder / "rows.parquet")
    for call in (
        lambda: oodometer.evaluate(file),
        lambda: oodometer.compare([file, rows]),
        lambda: estimate(rows, file),
        lambda: oodometer.rank([file, rows]),
    ):
        with raises_snapshot(InputError):
            call()
    with raises_snapshot(UsageError):
        estimate([rows, file], TARGET)
    with raises_snapshot(UsageError):
        fit(file)


# ------------------------------------------------------------------------------------------ habits of scikit-learn


def test_it_has_the_habits_of_an_estimator() -> None:
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    made = Oodometer(level=0.9, methods=["doc"])
    assert_snapshot(repr(made))
    copy = clone(made)
    assert copy is not made
    assert copy.get_params() == made.get_params()
    assert made.set_params(level=0.8) is made
    assert (made.level, copy.level) == (0.8, 0.9)
    with raises_snapshot(UsageError):
        made.set_params(lvel=1)
    with raises_snapshot(UsageError):
        made.estimate(TARGET)
    with pytest.raises(NotFittedError):
        made.estimate(TARGET)
    with raises_snapshot(UsageError):
        estimate(made, TARGET)
    assert made.fit(REFERENCE) is made
    check_is_fitted(made)
    assert not hasattr(clone(made), "fitted_")
    assert_snapshot(repr(made))
    with pytest.raises(UsageError, match="level"):
        Oodometer(level="high").fit(REFERENCE)  # type: ignore[arg-type]


class OnFeatures(Oodometer):
    """What scikit-learn's checks take it for: it is fitted on features, of which a model makes probabilities first."""

    def fit(self, X: Any, y: Any = None) -> Oodometer:  # type: ignore[override]
        """Labels and the softmax of minus the distance between a row's sum and the number of each class."""
        sums = np.asarray(X, dtype=float).sum(axis=1)[:, None]
        z = np.exp(-np.abs(sums - np.arange(len(np.unique(y)))))
        return super().fit(y, z / z.sum(axis=1, keepdims=True))


NOT_MADE = {  # checks of scikit-learn that do not make sense here, and why
    **dict.fromkeys(
        (
            "check_n_features_in",
            "check_n_features_in_after_fitting",
            "check_estimators_empty_data_messages",
        ),
        "it takes no features, so that there is no number of them",
    ),
    **dict.fromkeys(
        (
            "check_estimator_sparse_tag",
            "check_estimator_sparse_array",
            "check_estimator_sparse_matrix",
        ),
        "probabilities are never sparse; the model of this test refuses such features",
    ),
    "check_complex_data": "the model of this test makes real numbers of them",
    "check_estimators_nan_inf": "its error says `expected a finite number, got nan`, not NaN in capitals",
    "check_fit2d_1sample": "the probabilities of one row have one column, which is what the error says",
}


@pytest.mark.filterwarnings("ignore")
def test_it_passes_the_checks_of_scikit_learn() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    made = OnFeatures(methods=["source"], backtest=None)
    results = check_estimator(made, expected_failed_checks=NOT_MADE, on_skip=None)
    passed = [result["check_name"] for result in results if result["status"] == "passed"]
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(
        NOT_MADE
    )
    assert len(passed) > 25
    assert {
        "check_estimator_cloneable",
        "check_estimators_pickle",
        "check_estimators_unfitted",
    } <= set(passed)


def test_a_loaded_one_has_the_parameters_of_the_fit(file: Path) -> None:
    back = Oodometer.load(file)
    assert back.get_params() == few().get_params()
    assert told(pickle.loads(pickle.dumps(few())).estimate(TARGET)) == told(back.estimate(TARGET))


# ------------------------------------------------------------------------------------------ the file


def test_the_same_fit_gives_the_same_bytes(file: Path, folder: Path) -> None:
    content = sha256(file.read_bytes()).hexdigest()
    for one in (Oodometer(**FEW).fit(REFERENCE), Oodometer.load(file)):
        assert sha256(one.save(folder / "again.oodo").read_bytes()).hexdigest() == content


@given(data=st.data())
@settings(max_examples=12)
def test_a_damaged_file_gives_one_line_and_no_number(
    data: st.DataObject, file: Path, folder: Path
) -> None:
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:place]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    (folder / "bad.oodo").write_bytes(content)
    with pytest.raises(InputError, match=r"bad.oodo: expected a (whole )?fitted file"):
        estimate(folder / "bad.oodo", TARGET)


def test_files_that_are_none_give_one_line(
    folder: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = write_predictions(TARGET, folder / "target.parquet")
    csv = folder / "csv.oodo"
    csv.write_text("prob_a,prob_b,label\n0.9,0.1,a\n")
    other = folder / "other.oodo"
    np.savez(folder / "a.npz", a=[1])
    other.write_bytes((folder / "a.npz").read_bytes())
    binary = write_predictions(
        Predictions.from_probabilities([[0.9, 0.1]] * 9), folder / "binary.parquet"
    )
    cases = {
        (csv, target): "csv.oodo: expected a fitted file, got other bytes at the start",
        (other, target): "other.oodo: expected a fitted file, got another zip file",
        (
            folder / "none.oodo",
            target,
        ): "none.oodo: expected a file that can be read, got No such file or directory",
        (folder, target): "Is a directory",
        (file, binary): "binary.parquet: row 1: column probabilities: expected lists of 4 entries",
    }
    for (reference, asked), line in cases.items():
        if reference is folder:
            reference = folder / "folder.oodo"
            reference.mkdir()
        assert main(["estimate", str(reference), str(asked)]) == 2
        said = capsys.readouterr().err
        assert line in said
        assert said.count("\n") == 1
    assert main(["fit", str(target), "--out", str(folder / "x.pkl")]) == 2
    assert_snapshot(capsys.readouterr().err)
    assert not (folder / "x.pkl").exists()


def test_another_class_set_or_version_is_refused(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = replace(REFERENCE, classes=("a", "b", "c", "d"))
    path = fit(named, methods=["doc"], out=folder / "named.oodo").save(folder / "named.oodo")
    other = replace(TARGET, classes=("a", "b", "c", "e"))
    with raises_snapshot(InputError):
        estimate(path, other)
    monkeypatch.setattr("oodometer.persistence.archive.FORMAT", FORMAT + 1)
    with raises_snapshot(InputError):
        estimate(file, TARGET)


def test_a_method_that_cannot_be_kept_is_told_of(folder: Path) -> None:
    from oodometer.estimators import SourceAccuracy
    from oodometer.registry import register, unregister

    @register("estimator")
    class Unkept(SourceAccuracy):
        name = "unkept"

        def _fit(self, reference: Predictions) -> None:
            super()._fit(reference)
            self._call = lambda: 1

    try:
        path = fit(
            REFERENCE, methods=["doc", "unkept"], backtest=None, out=folder / "un.oodo"
        ).save(folder / "un.oodo")
        found = estimate(path, TARGET)
        assert [e.method for e in found.estimates] == ["doc"]
        assert "unkept" in [s.method for s in found.skipped]
        assert_snapshot(found.skipped[0].why)
    finally:
        unregister("estimator", "unkept")


def test_the_command_line_fits_and_asks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slim = {"probabilities": REFERENCE.probabilities, "label": REFERENCE.label}
    reference = write_predictions(Predictions.from_arrays(**slim), folder / "reference.csv")
    target = write_predictions(TARGET, folder / "target.csv")
    model = folder / "model.oodo"
    assert (
        main(["fit", str(reference), "--out", str(model), "--method", "doc", "--method", "source"])
        == 0
    )
    said = capsys.readouterr().out
    assert_snapshot(said)
    assert f"Wrote {model}" in said
    assert main(["estimate", str(model), str(target)]) == 0
    by_file = capsys.readouterr().out
    assert (
        main(["estimate", str(reference), str(target), "--method", "doc", "--method", "source"])
        == 0
    )
    assert by_file == capsys.readouterr().out
    assert (
        main(["fit", str(reference), "--out", str(folder / "none" / "m.oodo"), "--method", "doc"])
        == 2
    )
    assert "cannot write" in capsys.readouterr().err
    with raises_snapshot(OodometerError):
        fit(model, out=model)
