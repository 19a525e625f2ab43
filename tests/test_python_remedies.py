"""Remedies in Python: what a message tells a caller to do is done, in the words of the function, and works."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer as o
from oodometer import Oodometer, Predictions
from oodometer.cli import main
from oodometer.errors import OodometerError
from oodometer.options import in_python, typed
from oodometer_lab.verbs.discriminate import judge_outputs

from .snapshots import raises_snapshot

RNG = np.random.default_rng(0)


def frame(rows: int, shift: float = 0.0) -> pd.DataFrame:
    """A binary model's scores beside its labels, and some columns that mean nothing to us."""
    p = 1 / (1 + np.exp(-RNG.normal(shift, 2, rows)))
    right = RNG.random(rows) < p
    return pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(rows)],
            "score": p,
            "prob_no": 1 - p,
            "prob_yes": p,
            "answer": np.where(right, "yes", "no"),
            "site": RNG.choice(["a", "b"], rows),
            "day": pd.date_range("2026-01-01", periods=rows, freq="h"),
            "age": RNG.integers(20, 80, rows).astype(float),
        }
    )


REF, TGT = frame(600), frame(300, -0.5)
SCORED, SCORES = REF[["score", "answer"]], TGT[["score"]]
NAMED = REF[["prob_no", "prob_yes", "answer"]].rename(columns={"answer": "label"})
PLAIN = TGT[["prob_no", "prob_yes", "site", "day"]]
P3 = RNG.dirichlet([1, 1, 1], 300)
Y3 = np.array([RNG.choice(3, p=p) for p in P3])
THREE: dict[str, Any] = {"probabilities": P3, "label": Y3}
OTHER: dict[str, Any] = {"probabilities": P3[::-1], "label": Y3}
UNKNOWN: dict[str, Any] = {"probabilities": P3[:200]}
LETTERS = np.array(list("abc"))[Y3]
ROWS = {"text": ["good", "bad"] * 10, "label": ["yes", "no"] * 10}


PAYOFF = {
    str(truth): {str(guess): float(truth == guess) for guess in range(3)} for truth in range(3)
}


def live(inputs: Any) -> Any:
    return np.array([[0.2, 0.8] if "good" in str(one) else [0.7, 0.3] for one in inputs])


def other(inputs: Any) -> Any:
    return live(inputs) * 0.5 + 0.25


def raw(inputs: Any) -> Any:
    return np.log(live(inputs)) + 1


def texts(name: str, column: str = "text") -> str:
    Path(name).write_text(
        "".join(json.dumps({column: f"the big red house {i}"}) + "\n" for i in range(4))
    )
    return name


def estimated(*given: Any, **more: Any) -> Any:
    return o.estimate(*given, backtest=None, **more)


def fitted(**more: Any) -> Oodometer:
    return Oodometer(backtest=None, **more)


Call = Callable[[], Any]
# What was wrong -> the mistake, what the message names, and its remedy as code.
MISTAKES: dict[str, tuple[Call, list[str], Call]] = {
    "a score and no names of its classes": (
        lambda: estimated(SCORED.rename(columns={"answer": "label"}), SCORES, positive="score"),
        ['positive="COLUMN=CLASS"'],
        lambda: estimated(SCORED.rename(columns={"answer": "label"}), SCORES, positive="score=yes"),
    ),
    "a column that is mistyped": (
        lambda: estimated(SCORED, SCORES, positive="scor=yes", mapping={"answer": "label"}),
        ["did you mean score?"],
        lambda: estimated(SCORED, SCORES, positive="score=yes", mapping={"answer": "label"}),
    ),
    "files in the wrong order": (
        lambda: estimated(UNKNOWN, THREE),
        ["(reference, target)"],
        lambda: estimated(THREE, UNKNOWN),
    ),
    "a method that is mistyped": (
        lambda: estimated(THREE, UNKNOWN, methods=["atcc"]),
        ["did you mean atc"],
        lambda: estimated(THREE, UNKNOWN, methods=["atc"]),
    ),
    "a metric that is mistyped": (
        lambda: estimated(THREE, UNKNOWN, metrics=["precison"]),
        ["did you mean precision?"],
        lambda: estimated(THREE, UNKNOWN, metrics=["precision"]),
    ),
    "a slice that is mistyped": (
        lambda: estimated(NAMED, PLAIN, by="sit"),
        ["did you mean site?"],
        lambda: estimated(NAMED, PLAIN, by="site"),
    ),
    "slices and chunks": (
        lambda: estimated(NAMED, PLAIN, by="site", every="7d"),
        ["by= or every="],
        lambda: estimated(NAMED, PLAIN, by="site"),
    ),
    "a condition that nothing holds": (
        lambda: estimated(NAMED, PLAIN, where="site = c"),
        ["conditions of where="],
        lambda: estimated(NAMED, PLAIN, where="site = a"),
    ),
    "a level in percent": (
        lambda: estimated(THREE, UNKNOWN, level=95),
        ["divided by 100"],
        lambda: estimated(THREE, UNKNOWN, level=0.95),
    ),
    "a threshold of three classes": (
        lambda: estimated(THREE, UNKNOWN, threshold=0.3),
        ["leave it out"],
        lambda: estimated(THREE, UNKNOWN),
    ),
    "a word for the alarm": (
        lambda: estimated(THREE, UNKNOWN, fail_below=0.1, fail_when="sure"),
        ["fail_when: expected one of default, value, likely"],
        lambda: estimated(THREE, UNKNOWN, fail_below=0.1, fail_when="likely"),
    ),
    "a value without its matrix": (
        lambda: estimated(THREE, UNKNOWN, metrics=["expected_value"]),
        ["payoff=FILE"],
        lambda: estimated(THREE, UNKNOWN, metrics=["expected_value"], payoff=PAYOFF),
    ),
    "a matrix without names": (
        lambda: estimated(THREE, UNKNOWN, metrics=["expected_value"], payoff=np.eye(3)),
        ["name every class"],
        lambda: estimated(THREE, UNKNOWN, metrics=["expected_value"], payoff=PAYOFF),
    ),
    "a job and no store": (
        lambda: estimated(THREE, UNKNOWN, job="nightly"),
        ["job needs", "store=FILE"],
        lambda: estimated(THREE, UNKNOWN, job="nightly", store="runs.sqlite"),
    ),
    "a feature that is not there": (
        lambda: estimated(
            NAMED.assign(age=REF["age"]), PLAIN.assign(age=TGT["age"]), features=["agee"]
        ),
        ["did you mean age?", "features="],
        lambda: estimated(
            NAMED.assign(age=REF["age"]), PLAIN.assign(age=TGT["age"]), features=["age"]
        ),
    ),
    "bare arrays": (
        lambda: estimated(P3, P3),
        ["estimate(y, p, p_target)"],
        lambda: estimated(Y3, P3, P3),
    ),
    "labels that are too few": (
        lambda: estimated(NAMED, PLAIN, labels={"label": TGT["answer"][:20].tolist()}),
        ["null where unknown"],
        lambda: estimated(
            NAMED, PLAIN, labels={"label": [*TGT["answer"][:20].tolist(), *[None] * 280]}
        ),
    ),
    "probabilities that do not sum to 1": (
        lambda: estimated({**THREE, "probabilities": P3 * 2}, UNKNOWN),
        ["(or `logits`)"],
        lambda: estimated({"logits": P3 * 2, "label": Y3}, UNKNOWN),
    ),
    "labels that count from 1": (
        lambda: estimated({**THREE, "label": Y3 + 1}, UNKNOWN),
        ["subtract 1", "classes=[...]"],
        lambda: estimated({**THREE, "label": Y3 + 1}, UNKNOWN, classes=[1, 2, 3]),
    ),
    "labels in words": (
        lambda: estimated({**THREE, "label": LETTERS}, UNKNOWN),
        ["classes=[...]"],
        lambda: estimated({**THREE, "label": LETTERS}, UNKNOWN, classes=["a", "b", "c"]),
    ),
    "a run folder of rows in memory": (
        lambda: estimated(THREE, UNKNOWN, run_folder="run"),
        ["write it to a file"],
        lambda: estimated(
            o.write(o.load(THREE), "r.parquet"),
            o.write(o.load(UNKNOWN), "t.parquet"),
            run_folder="run",
        ),
    ),
    "an engine that is mistyped": (
        lambda: estimated(THREE, UNKNOWN, engine="proceses"),
        ["did you mean processes"],
        lambda: estimated(THREE, UNKNOWN, engine="local"),
    ),
    "no truth to evaluate by": (
        lambda: o.evaluate(UNKNOWN),
        ["`label` with `prediction` or `probabilities`"],
        lambda: o.evaluate({**UNKNOWN, "label": Y3[:200]}),
    ),
    "nothing to evaluate": (
        lambda: o.evaluate(SCORED),
        ['mapping={"answer": "label"}, positive="score=yes"'],
        lambda: o.evaluate(SCORED, positive="score=yes", mapping={"answer": "label"}),
    ),
    "an audit without labels": (
        lambda: o.audit(THREE, UNKNOWN),
        ["labels=FILE", "suggest=N, out=FILE"],
        lambda: o.audit(THREE, UNKNOWN, suggest=5, out="next.csv"),
    ),
    "a file for no suggestions": (
        lambda: o.audit(THREE, UNKNOWN, labels={"label": Y3[:200]}, out="next.csv"),
        ["suggest="],
        lambda: o.audit(
            THREE, UNKNOWN, labels={"label": [*Y3[:100], *[None] * 100]}, suggest=3, out="next.csv"
        ),
    ),
    "one model to compare": (lambda: o.compare([THREE]), ["`evaluate`"], lambda: o.evaluate(THREE)),
    "names of models that a mapping names": (
        lambda: o.compare({"a": THREE, "b": OTHER}, names=["x", "y"]),
        ["leave names= out"],
        lambda: o.compare({"a": THREE, "b": OTHER}),
    ),
    "names of half the models": (
        lambda: o.compare([THREE, OTHER], names=["a"]),
        ["one for each"],
        lambda: o.compare([THREE, OTHER], names=["a", "b"]),
    ),
    "features of no target": (
        lambda: o.compare(
            [NAMED.assign(age=REF["age"]), NAMED.assign(age=REF["age"])], features=["age"]
        ),
        ["target= or out_of_domain=", "leave features out"],
        lambda: o.compare([NAMED.assign(age=REF["age"]), NAMED.assign(age=REF["age"])]),
    ),
    "files to rank without a key": (
        lambda: o.rank({"a": THREE, "b": {"probabilities": P3[::-1]}}),
        ["a column id into each"],
        lambda: o.rank(
            {
                one: {**data, "id": [*map(str, range(300))]}
                for one, data in (("a", THREE), ("b", OTHER))
            }
        ),
    ),
    "live models without examples": (
        lambda: o.rank({"a": live, "b": other}),
        ["examples=FILE"],
        lambda: o.rank({"a": live, "b": other}, examples={**ROWS, "label": [1, 0] * 10}),
    ),
    "classes of live models": (
        lambda: o.rank({"a": live, "b": other}, examples=ROWS),
        ['classes=["a", "b", "c"]'],
        lambda: o.rank({"a": live, "b": other}, examples=ROWS, classes=["no", "yes"]),
    ),
    "examples whose truth has another name": (
        lambda: o.rank({"a": live, "b": other}, examples={"text": ROWS["text"], "y": [1, 0] * 10}),
        ["label="],
        lambda: o.rank(
            {"a": live, "b": other}, examples={"text": ROWS["text"], "y": [1, 0] * 10}, label="y"
        ),
    ),
    "samples of no attribution": (
        lambda: o.rank({"a": live, "b": other}, examples={**ROWS, "label": [1, 0] * 10}, samples=5),
        ["attribution= or factors="],
        lambda: o.rank(
            {"a": live, "b": other},
            examples={**ROWS, "label": [1, 0] * 10},
            samples=5,
            attribution="lime",
        ),
    ),
    "a diagnosis without labels": (
        lambda: o.diagnose(UNKNOWN, UNKNOWN),
        ["(reference, target)", "mapping={"],
        lambda: o.diagnose(THREE, UNKNOWN),
    ),
    "a fit of other names": (
        lambda: fitted(positive="score=yes", classes=["no", "yes"]).fit(SCORED),
        ["mapping={"],
        lambda: fitted(positive="score=yes", mapping={"answer": "label"}).fit(SCORED),
    ),
    "an odometer that was not fitted": (
        lambda: fitted().estimate(UNKNOWN),
        ["fit(reference)"],
        lambda: fitted().fit(THREE).estimate(UNKNOWN),
    ),
    "a metric that was not fitted": (
        lambda: fitted().fit(THREE).estimate(UNKNOWN, metrics=["recall:0"]),
        ['metrics=["recall:0"]'],
        lambda: fitted(metrics=["recall:0"]).fit(THREE).estimate(UNKNOWN),
    ),
    "an ending of fitted files": (
        lambda: fitted().fit(THREE).save("fit.pkl"),
        [".oodo"],
        lambda: fitted().fit(THREE).save("fit.oodo"),
    ),
    "a function whose classes are numbers": (
        lambda: o.predict(live, ROWS),
        ['classes=["a", "b", "c"]'],
        lambda: o.predict(live, ROWS, classes=["no", "yes"]),
    ),
    "logits": (
        lambda: o.predict(raw, ROWS, classes=["no", "yes"]),
        ['gives="logits"'],
        lambda: o.predict(raw, ROWS, classes=["no", "yes"], gives="logits"),
    ),
    "the mean of one model": (
        lambda: o.predict(live, ROWS, classes=["no", "yes"], average=True),
        ["average is of several models", "members="],
        lambda: o.predict(live, ROWS, classes=["no", "yes"], average=True, members=[other]),
    ),
    "augmentation of no views": (
        lambda: o.predict(live, ROWS, classes=["no", "yes"], augmentation="randaugment"),
        ["views="],
        lambda: o.predict(live, ROWS, classes=["no", "yes"], views=2),
    ),
    "a metric of a live model": (
        lambda: o.predict(live, ROWS, classes=["no", "yes"], metric="acc"),
        ["metric= and filter are of logs"],
        lambda: o.predict(live, ROWS, classes=["no", "yes"]),
    ),
    "labels of other classes": (
        lambda: o.predict(live, {**ROWS, "label": ["x"] * 20}, classes=["no", "yes"]),
        ['classes=["a", "b", "c"]'],
        lambda: o.predict(live, {**ROWS, "label": ["x"] * 20}, classes=["no", "x"]),
    ),
    "judges that nobody named": (
        lambda: judge_outputs(None, {"input": ["a"], "output": ["b"]}),
        ["p_correct_<judge>", "existing="],
        lambda: judge_outputs(
            None, {"input": ["a", "b"], "output": ["b", "c"], "p_correct_x": [0.2, 0.9]}
        ),
    ),
    "several copies in a file": (
        lambda: o.shift(texts("a.jsonl"), kind="casing", severity=[0.2, 0.4], out="b.jsonl"),
        ["a folder"],
        lambda: o.shift(texts("a.jsonl"), kind="casing", severity=[0.2, 0.4], out="b"),
    ),
    "texts under another name": (
        lambda: o.shift(texts("a.jsonl", "words"), kind="casing", severity=0.4, out="b.jsonl"),
        ["column="],
        lambda: o.shift(
            texts("a.jsonl", "words"), kind="casing", severity=0.4, out="b.jsonl", column="words"
        ),
    ),
    "no model to stress": (
        lambda: o.stress(texts("a.jsonl"), [], out="out"),
        ["models="],
        lambda: o.predict(live, {"text": ["a"]}, classes=["no", "yes"]),
    ),
    "probabilities of a record that are logits": (
        lambda: Predictions.from_probabilities(P3 * 3),
        ["Predictions.from_logits"],
        lambda: Predictions.from_logits(P3 * 3),
    ),
    "labels in words of a record": (
        lambda: Predictions.from_probabilities(P3, label=LETTERS),
        ["classes=[...]"],
        lambda: Predictions.from_probabilities(P3, label=LETTERS, classes=["a", "b", "c"]),
    ),
    "classes of a record that are too few": (
        lambda: Predictions.from_probabilities(P3, classes=["a", "b"]),
        ["every class once"],
        lambda: Predictions.from_probabilities(P3, classes=["a", "b", "c"]),
    ),
    "a field of a record that is mistyped": (
        lambda: Predictions.from_probabilities(P3, labels=Y3),
        ["expected fields among label"],
        lambda: Predictions.from_probabilities(P3, label=Y3),
    ),
    "an ending of predictions": (
        lambda: o.write(Predictions.from_probabilities(P3), "p.pkl"),
        [".parquet"],
        lambda: o.write(Predictions.from_probabilities(P3), "p.parquet"),
    ),
    "a mapping that is no record": (
        lambda: o.write(THREE, "p.parquet"),
        ["oodometer.load"],
        lambda: o.write(o.load(THREE), "p.parquet"),
    ),
    "an ending of pages": (
        lambda: o.write_report(o.evaluate(THREE), "page.pkl"),
        [".html"],
        lambda: o.write_report(o.evaluate(THREE), "page.html"),
    ),
    "a method to cite": (lambda: o.cite("atcc"), ["did you mean atc"], lambda: o.cite("atc")),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_remedy_that_is_done_helps(name: str) -> None:
    mistake, named, remedy = MISTAKES[name]
    with pytest.raises(OodometerError) as refused:
        mistake()
    said = str(refused.value)
    assert [one for one in named if one not in said] == [], said
    assert "\n" not in said
    if not name.endswith(
        "of a record"
    ):  # a record's own constructors are heard by commands and functions alike
        assert (
            re.findall(r"(?<![\w-])--[a-z]\S*", re.sub("oodometer [a-z][^;`]*", "", said)) == []
        ), said
    remedy()


def test_a_command_keeps_its_options_and_a_function_its_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    o.write(o.load(THREE), "r.parquet")
    assert main(["audit", "r.parquet", "r.parquet", "--out", "next.csv"]) == 2
    assert "--suggest" in capsys.readouterr().err
    with typed(), raises_snapshot(OodometerError):
        o.audit(THREE, UNKNOWN)
    with pytest.raises(OodometerError, match="labels=FILE"):
        o.audit(THREE, UNKNOWN)


def test_options_become_arguments() -> None:
    names = [
        "mapping",
        "classes",
        "metrics",
        "store",
        "out",
        "rows",
        "on_error",
        "judges",
        "existing",
    ]
    for message, expected in {
        "with --on-error skip": 'with on_error="skip"',
        "again with --metric recall:0": 'again with metrics=["recall:0"]',
        "give --store FILE or --store postgresql://...": 'give store=FILE or store="postgresql://..."',
        "--map 'my score=prob_yes'": 'mapping={"my score": "prob_yes"}',
        "or a classifier with --judge": "or a classifier with existing=",
        "--rows 500; leave --out out": "rows=500; leave out out",
        "--metrics names plan twice": "metrics names plan twice",
        "as --log_samples, `oodometer fit R --out F`": "as --log_samples, `oodometer fit R --out F`",
        "`oodometer methods` lists them; REFERENCE then TARGET": "`oodometer.methods` lists them; (reference, target)",
        "name them with classes=[...] (--classes)": "name them with classes=[...]",
    }.items():
        assert in_python(message, names) == expected


BINARY = REF[["score", "answer", "site", "day"]].rename(columns={"score": "s1"})
ASKED = TGT[["score", "site", "day"]].rename(columns={"score": "s1"})
RIGHT: dict[str, Any] = {"mapping": {"answer": "label"}, "positive": "s1=yes", "methods": ["atc"]}
# What was wrong -> options that are refused, and those of the remedy; both a command and a function take them.
OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a column that is mistyped": ({"positive": "s2=yes"}, {}),
    "a renaming turned round": ({"mapping": {"label": "answer"}}, {}),
    "two ways to cut": ({"by": "site", "every": "100rows"}, {"by": "site"}),
    "a way to cut that there is not": ({"every": "daily"}, {"every": "100rows"}),
    "a method that there is not": ({"methods": ["atcc"]}, {"methods": ["atc"]}),
    "a level in percent": ({"level": 95.0}, {"level": 0.95}),
    "an assumption that there is not": ({"assume": "naturl"}, {"assume": "natural"}),
    "conditions that nobody can read": ({"where": "site is a"}, {"where": "site = a"}),
    "a job without a store": ({"job": "nightly"}, {}),
    "a column to slice by that there is not": ({"by": "sitee"}, {"by": "site"}),
}
FLAGS = {"mapping": "--map", "methods": "--method"}


def typed_words(given: dict[str, Any]) -> list[str]:
    """Options as a shell has them."""
    words = []
    for name, value in given.items():
        several = (
            value
            if isinstance(value, list)
            else [f"{a}={b}" for a, b in value.items()]
            if name == "mapping"
            else [value]
        )
        words += [
            word
            for one in several
            for word in (FLAGS.get(name, f"--{name.replace('_', '-')}"), str(one))
        ]
    return words


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_command_and_a_function_refuse_the_same_each_in_its_words(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    BINARY.to_csv("ref.csv", index=False)
    ASKED.to_csv("tgt.csv", index=False)
    wrong, right = ({**RIGHT, **given} for given in OPTIONS[name])
    shared = ["estimate", "ref.csv", "tgt.csv", "--backtest", "none"]
    assert main([*shared, *typed_words(wrong)]) == 2
    by_command = capsys.readouterr().err.strip()
    with pytest.raises(OodometerError) as refused:
        estimated("ref.csv", "tgt.csv", **wrong)
    in_function = str(refused.value)
    assert "\n" not in in_function
    assert "--" not in in_function
    assert re.findall(r"\b(mapping|methods|every|by|where|job)=", by_command) == []
    by_hand = in_python(
        by_command.splitlines()[0].removeprefix("oodometer: "),
        [*wrong, "store", "job", "time", "every"],
    )
    assert by_hand.startswith(in_function[:40])
    assert (
        estimated("ref.csv", "tgt.csv", **right)["atc"] == estimated(BINARY, ASKED, **right)["atc"]
    )
    assert main([*shared, *typed_words(right)]) == 0
