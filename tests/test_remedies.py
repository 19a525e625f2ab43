"""Remedies: what messages tell to do is done, and works; options that they name are options of their command."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from oodometer.cli import main

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks is no part of the package

from benchmarks.hostile.remedies import (  # noqa: E402
    FOREIGN,
    not_carried_out,
    options_of_commands,
    remedies,
    wrong_options,
)

from .store.harness.shapes_of_tools import label_studio, mt_bench_models, mt_bench_pair  # noqa: E402

SOURCE = ROOT / "src" / "oodometer"


# ------------------------------------------------------------------------------------- options that exist


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """Texts of a file that a user may read: all but docstrings, and the names of options themselves."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {id(one.body[0].value) for one in ast.walk(tree) if isinstance(one, nodes) and one.body
            and isinstance(one.body[0], ast.Expr)}  # fmt: skip
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else None
        if isinstance(text, str) and " " in text.strip():
            yield node.lineno, text


@pytest.mark.lab  # the core speaks of options of its commands, too
def test_options_that_messages_name_exist() -> None:
    """Those of a verb's own messages are options of its command, or of one that the message names."""
    known = options_of_commands()
    every = frozenset().union(*known.values()) | FOREIGN
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts
        verb = room[1].removesuffix(".py") if len(room) > 1 and room[0] in ("verbs", "cli") else ""
        own = [options for name, options in known.items() if verb and name.split(" ")[0] == verb]
        for line, text in messages(path):
            named = [name for name in known if name and re.search(rf"\b{name}\b", text)]
            theirs = (
                frozenset().union(*own, *(known[name] for name in named), FOREIGN) if own else every
            )
            missing = [
                one for one in re.findall(r"(?<![\w-])--[a-z][\w-]*", text) if one not in theirs
            ]
            wrong += [f"{path.relative_to(ROOT)}:{line}: {one} in {text[:80]!r}" for one in missing]
    assert wrong == []


# ---------------------------------------------------------------------------------- remedies that are done


def frame(rows: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    """A binary model's scores beside its labels, and some columns that mean nothing to us."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(shift, 2, rows)))
    right = rng.random(rows) < p
    return pd.DataFrame(
        {
            "row": [f"r{i}" for i in range(rows)],
            "score": p.round(6),
            "other": (1 - p).round(6),
            "truth": right.astype(int),
            "answer": np.where(right, "yes", "no"),
            "said": np.where(p > 0.5, "yes", "no"),
            "site": rng.choice(["a", "b"], rows),
        }
    )


def tables(**columns: str) -> Callable[[], None]:
    """A reference and a target of these columns, ours = theirs; the target has no truth."""

    def make() -> None:
        for name, rows, shift in (("ref", 600, 0.0), ("tgt", 400, -0.5)):
            whole = frame(rows, rows, shift)
            one = pd.DataFrame({new: whole[old] for new, old in columns.items()})
            gone = [
                new for new, old in columns.items() if old in ("truth", "answer") and name == "tgt"
            ]
            one.drop(columns=gone).to_csv(f"{name}.csv", index=False)

    return make


def samples(name: str, rows: list[dict[str, Any]]) -> Callable[[], None]:
    """A log of lm-evaluation-harness."""

    def make() -> None:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            for number, row in enumerate(rows):
                whole = {
                    "doc_id": number,
                    "doc": {},
                    "target": "0",
                    "filter": "none",
                    "arguments": {},
                    **row,
                }
                names = [
                    one
                    for one in row
                    if one not in ("doc_id", "target", "arguments", "filter", "filtered_resps")
                ]
                file.write(
                    json.dumps({"resps": [], "filtered_resps": ["x"], "metrics": names, **whole})
                    + "\n"
                )

    return make


def options(scores: list[float], **more: Any) -> dict[str, Any]:
    asked = {f"gen_args_{i}": {"arg_0": "Q", "arg_1": f" o{i}"} for i in range(len(scores))}
    return {"filtered_resps": [[str(one), "False"] for one in scores], "arguments": asked, **more}


def judged() -> None:
    """A log of inspect whose scorer marks from 1 to 5."""
    about = {"task": "judge", "model": "m", "dataset": {}}
    marked = [
        {
            "id": str(i),
            "epoch": 1,
            "input": "Q",
            "target": "",
            "output": {"choices": [{"message": {"content": "x"}}]},
            "scores": {"judge": {"value": mark}},
        }
        for i, mark in enumerate([1, 2, 4, 5, 5, 3])
    ]
    Path("log.json").write_text(
        json.dumps({"version": 2, "status": "success", "eval": about, "samples": marked})
    )


def both(*makers: Callable[[], None]) -> Callable[[], None]:
    def make() -> None:
        for one in makers:
            one()

    return make


GRADED = [{"f1": share, "lists": [1, 0]} for share in (0.2, 0.7, 1.0, 0.0)]
CHOICES = [options([-1.0, -2.0, -3.0], acc=float(i % 2 == 0), target=str(i % 2)) for i in range(30)]
ESTIMATE = ["estimate", "ref.csv", "tgt.csv", "--backtest", "none"]
PREDICT = ["read", "samples_t.jsonl", "--out", "p.parquet"]
# What was wrong, files, what was typed, and whether the remedy must be the last one that is needed.
MISTAKES: dict[str, tuple[Callable[[], None], list[str], bool]] = {
    "two scores": (tables(proba_a="score", proba_c="other", label="answer"), ESTIMATE, True),
    "a score that was named without its class": (
        tables(score="score", label="answer"),
        [*ESTIMATE, "--positive", "score"],
        True,
    ),
    "columns that were named by their count": (
        tables(p_0="other", p_1="score", label="answer"),
        [*ESTIMATE, "--map", "p_0=prob_0", "--map", "p_1=prob_1"],
        True,
    ),
    "probabilities of classes 0 and 1 beside yes and no": (
        tables(prob_0="other", prob_1="score", label="answer"),
        ESTIMATE,
        True,
    ),
    "a probability of class 1 beside yes and no": (
        tables(prob_1="score", label="answer"),
        ESTIMATE,
        True,
    ),
    "a name that is mistyped": (
        tables(y_pred_proba="score", label="truth"),
        [*ESTIMATE, "--positive", "y_pred_prob"],
        True,
    ),
    "a slice that is mistyped": (
        tables(prob_1="score", label="truth", site="site"),
        [*ESTIMATE, "--by", "sit"],
        True,
    ),
    "files in the wrong order": (
        tables(prob_1="score", label="truth"),
        ["estimate", "tgt.csv", "ref.csv", "--backtest", "none"],
        True,
    ),
    "nothing to evaluate": (tables(site="site", row="row"), ["evaluate", "ref.csv"], False),
    "answers of two models": (
        lambda: mt_bench_models(Path()) and None,
        ["evaluate", "gpt-4_single.jsonl"],
        True,
    ),
    "ratings that are taken for answers": (
        lambda: label_studio(Path()) and None,
        ["evaluate", "project-1.json"],
        True,
    ),
    "battles that are taken for answers": (
        lambda: mt_bench_pair(Path()) and None,
        ["evaluate", "gpt-4_pair.jsonl"],
        True,
    ),
    "a metric that the log lacks": (
        samples("samples_t.jsonl", GRADED),
        [*PREDICT, "--metric", "acc"],
        True,
    ),
    "a log of a metric over all rows": (
        samples("samples_t.jsonl", [{"bleu": ["x", "x"]}]),
        PREDICT,
        True,
    ),
    "a filter that the log lacks": (
        samples(
            "samples_t.jsonl",
            [{"filter": f, "doc_id": i, "em": 1.0} for f in "ab" for i in range(3)],
        ),
        [*PREDICT, "--filter", "c"],
        True,
    ),
    "a log that its results contradict": (
        both(
            samples("samples_t.jsonl", CHOICES),
            lambda: (
                Path("results.json").write_text('{"results": {"t": {"acc,none": 0.123}}}') and None
            ),
        ),
        PREDICT,
        True,
    ),
    "a metric that does not follow the scores": (
        samples(
            "samples_t.jsonl", [options([-1.0, -2.0], acc=0.0), options([-1.0, -2.0], acc=1.0)]
        ),
        PREDICT,
        True,
    ),
    "a threshold of another scale": (
        judged,
        ["read", "log.json", "--out", "p.parquet", "--metric", "judge>=0.5"],
        True,
    ),
    "folders of two models in a folder": (
        both(
            samples("logs/a/samples_t.jsonl", CHOICES), samples("logs/b/samples_t.jsonl", CHOICES)
        ),
        ["read", "logs", "--out", "p.parquet"],
        True,
    ),
    "results without answers": (
        both(
            samples("samples_t.jsonl", CHOICES),
            lambda: Path("results_t.json").write_text('{"results": {}, "configs": {}}') and None,
        ),
        ["read", "results_t.json", "--out", "p.parquet"],
        True,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_remedy_that_is_done_helps(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make, typed, last = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    make()

    def run(words: list[str]) -> tuple[int, str]:
        return main(list(words)), capsys.readouterr().err.strip()

    code, said = run(typed)
    assert code == 2, "the mistake is refused"
    assert wrong_options(said, typed) == []
    done = remedies(said, typed)
    assert done or not last, said
    assert not_carried_out(said, typed, run) == []
    if last:
        codes = [run(words) for words in done]
        assert [one for one, _ in codes] == [0] * len(done), (said, codes)
