"""Scenes: what is typed or called, and the small files for it; `test_scenes.py` shows what is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Scene(NamedTuple):
    """What is looked at under one name: commands, or expressions of Python, one after another."""

    name: str
    typed: tuple[str, ...]


# ------------------------------------------------------------------------------------------------ files


def write(path: str, columns: dict[str, Any]) -> None:
    """A table in the form that the ending says."""
    frame = pd.DataFrame(columns)
    if path.endswith(".csv"):
        frame.to_csv(path, index=False)
    elif path.endswith(".jsonl"):
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path, index=False)


def write_binary(rng: np.random.Generator) -> None:
    """Three models of two classes on 240 rows of a year; of the target a few labels, and all of them."""
    for side, noise in (("reference", 1.0), ("target", 1.6)):
        truth = rng.integers(0, 2, 240)
        rows = {"id": np.arange(240), "site": [f"{side[0]}{i % 3}" for i in range(240)]}
        rows["time"] = [f"2025-{1 + i // 20:02d}-03" for i in range(240)]
        for model, skill in (("a", 1.5), ("b", 1.0), ("c", 0.5)):
            logit = skill * (2 * truth - 1 + rng.normal(0, noise, 240))
            scored = rows | {"prob_1": (1 / (1 + np.exp(-logit))).round(4)}
            labelled = scored | {"label": truth}
            write(f"{side}-{model}.csv", labelled if side == "reference" else scored)
            if side == "target":
                write(f"late-{model}.csv", labelled)
        few = slice(0, 240, 8)
        write(f"{side}-labels.csv", {"id": np.arange(240)[few], "label": truth[few]})
    write("far.csv", {"prob_1": rng.uniform(0.45, 0.55, 200).round(3)})
    truth = rng.integers(0, 2, 120)
    turned = np.where(truth == 1, 0.2, 0.8) + rng.normal(0, 0.1, 120)
    write("turned.csv", {"prob_1": turned.clip(0.01, 0.99).round(3), "label": truth})
    write("few.csv", {"confidence": [0.9, 0.8, 0.7, 0.6], "correct": [1, 1, 0, 1]})
    write("right.csv", {"confidence": [0.9] * 30, "correct": [1] * 30})


def write_classes(rng: np.random.Generator) -> None:
    """Three classes with names, in other forms; members, views, features and votes beside them."""
    names = np.array(["ant", "bee", "cat"])
    for side, form, clear in (("reference", "parquet", 2.0), ("target", "jsonl", 1.2)):
        truth = rng.integers(0, 3, 300)
        logits = rng.normal(0, 1, (300, 3)) + clear * np.eye(3)[truth]
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        columns: dict[str, Any] = {f"prob_{name}": p[:, k].round(6) for k, name in enumerate(names)}
        columns["prob_cat"] = (1 - columns["prob_ant"] - columns["prob_bee"]).round(6)
        for member in "xyz":
            columns[f"member_{member}"] = names[
                np.where(rng.random(300) < 0.8, p.argmax(axis=1), rng.integers(0, 3, 300))
            ]
        columns["feature_u"] = (truth + rng.normal(clear, 1, 300)).round(4)
        columns["country"] = np.array(["de", "fr"])[rng.integers(0, 2, 300)]
        if side == "reference":
            columns["label"] = names[truth]
        write(f"{side}-classes.{form}", columns)
    for side, skill in (("reference", 0.8), ("target", 0.7)):
        right = rng.random(200) < skill
        votes = {
            f"vote_{judge}": np.where(rng.random(200) < 0.85, right, ~right).astype(int)
            for judge in ("j", "k", "l")
        }
        known = {"correct": right.astype(int)} if side == "reference" else {}
        write(f"{side}-votes.csv", votes | known)


def write_judged(rng: np.random.Generator) -> None:
    """Verdicts of a judge on every row, of people on some; a second system on the same questions."""
    for name, share in (("judged", 0.7), ("judged-new", 0.78)):
        good = rng.random(300) < share
        said = np.where(rng.random(300) < 0.87, good, ~good)
        human = [("pass" if g else "fail") if i % 4 == 0 else None for i, g in enumerate(good)]
        columns = {
            "id": [f"q{i}" for i in range(300)],
            "judge": np.where(said, "pass", "fail"),
            "human": human,
        }
        write(f"{name}.csv", columns)
    opposite = np.where(rng.random(100) < 0.9, "pass", "fail")
    people = np.where(opposite == "pass", "fail", "pass")
    write("opposite.csv", {"judge": opposite, "human": people})


def write_logs(rng: np.random.Generator) -> None:
    """A log of lm-evaluation-harness, ratings of several people, battles, questions asked several times."""
    rows = []
    for i in range(30):
        scores = rng.normal(0, 1, 3).round(3)
        target = int(scores.argmax()) if i % 3 else int(scores.argmin())
        rows.append(
            {
                "doc_id": i,
                "doc": {"q": f"Q{i}"},
                "target": str(target),
                "arguments": {f"gen_args_{k}": {"arg_0": "Q", "arg_1": f" o{k}"} for k in range(3)},
                "resps": [],
                "filtered_resps": [[str(score), "False"] for score in scores],
                "filter": "none",
                "metrics": ["acc"],
                "acc": float(scores.argmax() == target),
            }
        )
    Path("samples_quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ratings = {
        "item": np.repeat(np.arange(20), 3),
        "rater": ["r", "s", "t"] * 20,
        "rating": rng.integers(1, 6, 60),
    }
    write("ratings.csv", ratings)
    names = np.array(["large", "medium", "small"])
    pairs = np.array([(a, b) for a in range(3) for b in range(3) if a < b] * 20)
    wins = rng.random(60) < 0.7
    battles = {
        "model_a": names[pairs[:, 0]],
        "model_b": names[pairs[:, 1]],
        "winner": np.where(wins, "model_a", "model_b"),
    }
    write("battles.csv", battles)
    asked = {
        "id": np.repeat([f"q{i}" for i in range(25)], 4),
        "epoch": list(range(4)) * 25,
        "correct": (rng.random(100) < np.repeat(rng.random(25), 4)).astype(int),
    }
    write("epochs.csv", asked)


WRONG = {
    "high.csv": "prob_1,label\n0.2,0\n1.7,1\n",
    "sum.csv": "prob_a,prob_b,label\n0.2,0.8,a\n0.5,0.6,b\n",
    "text.csv": "confidence,correct\n0.9,1\nhigh,0\n",
    "blank.csv": "confidence,correct\n0.9,1\n,0\n",
    "short.csv": "confidence,correct\n0.9,1\n0.5\n",
    "empty.csv": "",
    "header.csv": "prob_1,label\n",
    "nothing.csv": "site,row\na,1\nb,2\n",
    "twice.csv": "label,label,prob_1\n1,1,0.5\n",
    "class.csv": "prob_a,prob_b,label\n0.2,0.8,a\n0.4,0.6,c\n",
    "broken.jsonl": '{"confidence": 0.5, "correct": 1}\n{"confidence": 0.5,\n',
    "broken.parquet": "no parquet\n",
    "unknown.xyz": "1\n",
    "scores.csv": "proba_a,proba_c,label\n"
    + "".join(f"0.{i % 9 + 1},0.{9 - i % 9},{'yes' if i % 2 else 'no'}\n" for i in range(80)),
    "other-ids.csv": "id,label\n9001,1\n9002,0\n",
    "id-twice.csv": "id,label\n1,1\n1,0\n",
    "models.csv": "model,confidence,correct\nbig,0.9,1\nsmall,0.8,0\n",
    "oodometer-bad.toml": "levell = 0.9\n",
}


def write_files() -> None:
    """All files of all scenes, into the folder that is the current one."""
    rng = np.random.default_rng(20260101)
    makers: tuple[Callable[[np.random.Generator], None], ...] = (
        write_binary,
        write_classes,
        write_judged,
        write_logs,
    )
    for make in makers:
        make(rng)
    for name, text in WRONG.items():
        Path(name).write_text(text, encoding="utf-8")


# ----------------------------------------------------------------------------------------------- scenes


def page(command: str) -> tuple[str, ...]:
    """The page of a command as Markdown, which says what its page says."""
    save = "--save" if command.split()[0] in ("audit", "rank") else "--out"
    return f"{command} {save} page.md -q", "cat page.md"


A = "reference-a.csv target-a.csv"
CLASSES = "reference-classes.parquet target-classes.jsonl"
QUICK = "--backtest none"
VERBS = ("estimate", "audit", "evaluate", "compare", "rank", "plan", "diagnose", "backtest", "fit")
JUDGED = "--judge judge --labels human"

COMMANDS: dict[str, tuple[str, ...]] = {
    "estimate": (f"estimate {A}",),
    "estimate_verbose": (f"estimate {A} {QUICK} -v",),
    "estimate_quiet": (f"estimate {A} {QUICK} -q",),
    "estimate_classes": (f"estimate {CLASSES} {QUICK}", f"estimate {CLASSES} {QUICK} -v"),
    "estimate_methods": (f"estimate {A} {QUICK} --method ac --method doc --method gde",),
    "estimate_by": (f"estimate {A} {QUICK} --by site", f"estimate {CLASSES} {QUICK} --by country"),
    "estimate_months": (f"estimate {A} {QUICK} --every month --fail-below 0.9",),
    "estimate_late_labels": (
        f"estimate {A} {QUICK} --every month --labels target-labels.csv",
        f"estimate {A} {QUICK} --labels target-labels.csv",
        f"estimate reference-a.csv late-a.csv {QUICK}",
        f"estimate reference-a.csv late-a.csv {QUICK} -v",
    ),
    "estimate_alarms": (
        f"estimate {A} {QUICK} --fail-below 0.99",
        f"estimate {A} {QUICK} --fail-below 0.1",
        f"estimate {A} {QUICK} --fail-drop 0.01",
        f"estimate {A} {QUICK} --fail-below f1=0.99 --metric f1",
    ),
    "estimate_metrics": (f"estimate {A} {QUICK} --metric f1 --metric roc_auc --metric recall:1",),
    "estimate_assume": tuple(
        f"estimate {A} {QUICK} --assume {name}" for name in ("none", "label", "covariate")
    ),
    "estimate_votes": (f"estimate reference-votes.csv target-votes.csv {QUICK}",),
    "estimate_far": (f"estimate reference-a.csv far.csv {QUICK}",),
    "estimate_same_rows": (f"estimate reference-a.csv reference-a.csv {QUICK}",),
    "estimate_features": (f"estimate {CLASSES} {QUICK} --features feature_u",),
    "estimate_support": (f"estimate {A} {QUICK} --features auto -v",),
    "estimate_where": (f"estimate {A} {QUICK} --where 'time >= 2025-06-01'",),
    "estimate_cluster": (f"estimate {A} {QUICK} --cluster site",),
    "estimate_turned": (f"estimate turned.csv far.csv {QUICK}",),
    "estimate_few_rows": (f"estimate few.csv right.csv {QUICK}",),
    "fit": (
        "fit reference-a.csv --out a.oodo",
        "estimate a.oodo target-a.csv",
        "estimate a.oodo target-a.csv --level 0.5",
        "fit reference-a.csv --out a.pkl",
    ),
    "diagnose": (f"diagnose {A}", f"diagnose {A} -v"),
    "diagnose_features": (
        f"diagnose {CLASSES} --features feature_u",
        "diagnose reference-a.csv far.csv",
    ),
    "backtest": (
        "backtest reference-a.csv --repeats 1 --family none --no-cache",
        "backtest reference-a.csv --repeats 1 --family none --no-cache --method ac -v",
    ),
    "audit": (
        f"audit {A} --labels target-labels.csv",
        f"audit {A} --labels target-labels.csv -v",
        f"audit {A} --labels target-labels.csv --fail-below 0.99",
    ),
    "audit_suggest": (f"audit {A} --suggest 10 --out next.csv",),
    "audit_judge": (f"audit judged.csv {JUDGED}", f"audit judged.csv {JUDGED} -v"),
    "audit_judge_change": (f"audit judged.csv judged-new.csv {JUDGED}",),
    "evaluate": ("evaluate reference-a.csv", "evaluate reference-a.csv -v"),
    "evaluate_classes": ("evaluate reference-classes.parquet",),
    "evaluate_by": ("evaluate reference-a.csv --by site",),
    "evaluate_metric": (
        "evaluate reference-a.csv --metric f1 --metric auc",
        "evaluate epochs.csv --metric pass@2",
    ),
    "evaluate_epochs": ("evaluate epochs.csv",),
    "evaluate_small": ("evaluate few.csv", "evaluate right.csv", "evaluate turned.csv"),
    "evaluate_votes": ("evaluate reference-votes.csv",),
    "evaluate_several": ("evaluate reference-a.csv late-a.csv",),
    "compare": ("compare reference-a.csv reference-b.csv", "compare reference-a.csv late-a.csv"),
    "compare_three": (
        "compare reference-a.csv reference-b.csv reference-c.csv",
        "compare reference-a.csv reference-b.csv reference-c.csv -v",
    ),
    "compare_targets": (
        "compare reference-a.csv reference-b.csv --target target-a.csv --target target-b.csv",
    ),
    "compare_gate": (
        "compare reference-a.csv reference-c.csv --fail-drop 0.01",
        "compare reference-a.csv reference-b.csv --fail-drop 0.05 --strict",
    ),
    "compare_judge": (f"compare judged.csv judged-new.csv {JUDGED}",),
    "plan": (
        "plan reference-a.csv reference-b.csv --difference 0.03",
        "plan --accuracy 0.7 --difference 0.05",
        "plan --accuracy 0.7 --fail-drop 0.02 --questions 200 --questions 800",
    ),
    "rank": (
        "rank target-a.csv target-b.csv target-c.csv --examples target-labels.csv",
        "rank target-a.csv target-b.csv target-c.csv",
        "rank target-a.csv target-b.csv --examples target-labels.csv --suggest 3 -v",
    ),
    "rank_battles": ("rank battles.csv",),
    "read_table": ("read reference-a.csv", "read scores.csv", "read judged.csv"),
    "read_log": ("read samples_quiz.jsonl", "read samples_quiz.jsonl --out p.csv"),
    "read_ratings": ("read ratings.csv",),
    "read_battles": ("read battles.csv",),
    "history": (
        f"estimate {A} {QUICK} --method ac --store runs.sqlite -q",
        f"estimate {A} {QUICK} --method ac --store runs.sqlite --fail-below 0.99 -q",
        "history runs.sqlite",
        "history runs.sqlite --last 1",
        "history",
    ),
    "report": (
        "evaluate few.csv --json saved.json -q",
        "report saved.json",
        "report saved.json --out saved.md -q",
        "cat saved.md",
        "report saved.json --report page.html -q",
    ),
    "page_evaluate": page("evaluate reference-a.csv"),
    "page_estimate": page(f"estimate {A} {QUICK}"),
    "page_estimate_months": page(f"estimate {A} {QUICK} --every month --fail-below 0.9"),
    "page_diagnose": page(f"diagnose {A}"),
    "page_audit": page(f"audit {A} --labels target-labels.csv"),
    "page_audit_judge": page(f"audit judged.csv {JUDGED}"),
    "page_compare": page("compare reference-a.csv reference-b.csv reference-c.csv"),
    "page_rank": page("rank target-a.csv target-b.csv target-c.csv --examples target-labels.csv"),
    "page_plan": page("plan --accuracy 0.7 --difference 0.05"),
    "json_on_standard_output": ("evaluate few.csv --metric accuracy --json -",),
    "methods": ("methods", "methods cbpe", "methods cbp", "cite cbpe", "cite nobody"),
    "wrong_values": tuple(
        f"evaluate {name}"
        for name in (
            "high.csv",
            "sum.csv",
            "text.csv",
            "blank.csv",
            "short.csv",
            "class.csv",
            "models.csv",
        )
    ),
    "wrong_files": tuple(
        f"evaluate {name}"
        for name in (
            "absent.csv",
            "empty.csv",
            "header.csv",
            "nothing.csv",
            "twice.csv",
            "broken.jsonl",
            "broken.parquet",
            "unknown.xyz",
            ".",
        )
    ),
    "wrong_columns": (
        "estimate scores.csv far.csv",
        "evaluate reference-a.csv --map labl=label",
        "evaluate reference-a.csv --by sit",
        "evaluate reference-a.csv --positive prob_2",
        "evaluate reference-a.csv --where 'sit = a'",
        "evaluate reference-a.csv --where 'site = nowhere'",
        "estimate reference-a.csv target-a.csv --features nothing",
        "estimate reference-a.csv target-a.csv --cluster nothing",
        "estimate reference-votes.csv target-votes.csv --every month",
        "audit judged.csv --judge jugde --labels human",
    ),
    "wrong_pairs": (
        "estimate target-a.csv reference-a.csv",
        "estimate reference-a.csv target-classes.jsonl",
        "estimate reference-a.csv target-a.csv --labels other-ids.csv",
        "estimate reference-a.csv target-a.csv --labels id-twice.csv",
        "compare reference-a.csv",
        "compare reference-a.csv few.csv",
        "rank target-a.csv",
        f"audit opposite.csv {JUDGED}",
        f"audit {A}",
    ),
    "help": ("", "estimate -h", *(f"{verb} --help-all" for verb in VERBS)),
    "wrong_estimate": tuple(
        f"estimate {A} {QUICK} {words}"
        for words in (
            "--fail-when sometimes --fail-below 0.9",
            "--domain space",
            "--alarms some --store runs.sqlite",
            "--alarms new --fail-below 0.9",
            "--job '' --store runs.sqlite",
            "--features ,",
            "--features label",
            "--features auto",
            "--map prob_1",
            "--map prob_1=prob_0 --map id=prob_0",
            "--fail-below f1=a",
            "--fail-below 0.9 --fail-below 0.8",
            "--cluster time --level 0.9 --method cbpe",
            "--method gde",
            "--metric recall:7",
            "--where 'id <'",
            "--labels header.csv",
            "--key nothing --labels target-labels.csv",
            "--history few.csv",
            "--prior few.csv",
            "--calibrator temprature",
            "--backtest nowhere",
            "--timezone Mars --every month",
            "--threshold 2",
        )
    ),
    "wrong_audit": tuple(
        f"audit {words}"
        for words in (
            "reference-a.csv --labels target-labels.csv",
            "judged.csv",
            "judged.csv --judge judge",
            f"judged.csv {JUDGED} --fail-below 0.9",
            "judged.csv --judge judge --judge judge --labels human",
            "judged.csv --judge human --labels judge",
            "judged.csv --judge judge --labels judge",
            "judged.csv --judge id --labels human",
            f"judged.csv {JUDGED} --suggest 5000",
            f"{A} --labels target-labels.csv --suggest 0",
            f"{A} --labels target-labels.csv --suggest 500",
            f"{A} --labels target-labels.csv --out next.csv",
            f"{A} --labels target-labels.csv --by site",
            f"{A} --suggest 5 --out next.xyz",
            f"{A} --suggest 5 --where 'site = t0' --key nothing",
            f"{A} --labels other-ids.csv",
            f"{A} --labels target-labels.csv --cluster nothing",
        )
    ),
    "wrong_compare": tuple(
        f"compare {words}"
        for words in (
            "reference-a.csv reference-b.csv reference-c.csv --fail-drop 0.02",
            "reference-a.csv reference-b.csv --fail-drop -1",
            "reference-a.csv reference-b.csv --strict",
            "reference-a.csv reference-b.csv --anytime",
            "reference-a.csv few.csv --fail-drop 0.02 --anytime",
            "reference-a.csv reference-b.csv --features site",
            "reference-a.csv reference-b.csv --target target-a.csv",
            "reference-a.csv reference-b.csv --name one",
            "reference-a.csv reference-b.csv --metric pass@2",
            "reference-a.csv reference-b.csv --metric f1",
            "reference-a.csv reference-a.csv",
            "reference-a.csv target-b.csv",
            "reference-a.csv reference-classes.parquet",
            "reference-a.csv reference-b.csv --weights 1,2",
            "reference-a.csv reference-b.csv --require 95",
            "reference-a.csv reference-b.csv --parameters 1 --parameters 2",
            f"judged.csv judged-new.csv judged.csv {JUDGED}",
            f"judged.csv judged-new.csv {JUDGED} --target both",
            f"judged.csv judged-new.csv {JUDGED} --metric pass@2",
        )
    ),
    "wrong_rank": tuple(
        f"rank {words}"
        for words in (
            "target-a.csv target-b.csv --reference reference-a.csv",
            "target-a.csv target-b.csv --unlabelled target-c.csv",
            "target-a.csv target-b.csv --attribution lime",
            "target-a.csv target-b.csv --factor max-diff",
            "target-a.csv target-b.csv --run-folder run",
            "target-a.csv target-b.csv --out next.csv",
            "target-a.csv target-b.csv --examples header.csv",
            "target-a.csv target-b.csv --examples other-ids.csv",
            "target-a.csv target-b.csv --cluster nothing",
            "target-a.csv target-classes.jsonl",
            "x=target-a.csv x=target-b.csv",
            "=target-a.csv target-b.csv",
            "target-a.csv few.csv",
        )
    ),
    "wrong_plan": tuple(
        f"plan {words}"
        for words in (
            "reference-a.csv --accuracy 0.7",
            "reference-a.csv reference-b.csv --correlation 0.5",
            "reference-a.csv reference-b.csv reference-c.csv",
            "reference-a.csv few.csv",
            "--accuracy 0.95 --difference 0.1",
            "--accuracy 0.7 --difference 2",
            "--accuracy 0.7 --power 2",
            "--accuracy 0.7 --within 2",
            "--accuracy 0.7 --human-labels 50",
            "--accuracy 0.7 --cost-question -1",
            "target-a.csv",
        )
    ),
    "wrong_other_verbs": (
        f"diagnose {A} --every month",
        "fit reference-a.csv",
        "fit target-a.csv --out a.oodo",
        "fit reference-a.csv --out a.oodo --by nothing",
        "evaluate judged.csv",
        "evaluate reference-a.csv --score nothing",
        "evaluate reference-a.csv --weight site",
        "read nothing.csv --out folder",
        "read samples_quiz.jsonl --metric f1",
        "read samples_quiz.jsonl --filter none2",
        "read judged.csv --out p.xyz",
        "history runs-none.sqlite --last 0",
        "report absent.json",
    ),
    "wrong_options": (
        "estimat a b",
        "estimate",
        f"estimate {A} --nonsense",
        f"estimate {A} --method atcc",
        f"estimate {A} --level 95",
        f"estimate {A} --every daily",
        f"estimate {A} --by site --every month",
        f"estimate {A} --fail-below 93",
        f"estimate {A} --metric f2",
        f"estimate {A} --engine cloud",
        f"estimate {A} --config oodometer-bad.toml",
        f"estimate {A} --out result.xyz",
        f"estimate {A} {QUICK} --method ac --out nowhere/result.csv",
        "backtest few.csv",
        "backtest reference-a.csv --family tilted",
        "evaluate reference-a.csv --metric nonsense",
        "plan",
        "plan --accuracy 2",
        "report few.csv",
        "history absent.sqlite",
        "read absent.jsonl",
    ),
}

PYTHON: dict[str, tuple[str, ...]] = {
    "python_estimate": (
        "oodometer.estimate('reference-a.csv', 'target-a.csv', backtest='none')",
        "oodometer.estimate('reference-a.csv', 'late-a.csv', backtest='none')",
        "oodometer.estimate('reference-a.csv', 'far.csv', methods=['ac', 'gde', 'doc'])",
    ),
    "python_results": (
        "oodometer.evaluate('reference-a.csv', metrics=['accuracy', 'brier'])",
        "oodometer.compare(['reference-a.csv', 'reference-b.csv'])",
        "oodometer.audit('reference-a.csv', 'target-a.csv', labels='target-labels.csv')",
        "oodometer.diagnose('reference-a.csv', 'target-a.csv')",
        "oodometer.rank(['target-a.csv', 'target-b.csv'], examples='target-labels.csv')",
        "oodometer.audit('judged.csv', judge='judge', labels='human')",
        "oodometer.compare(['judged.csv', 'judged-new.csv'], judge='judge', labels='human')",
    ),
    "python_wrong": (
        "oodometer.estimate('target-a.csv', 'reference-a.csv')",
        "oodometer.estimate('reference-a.csv', 'target-a.csv', method='atcc')",
        "oodometer.estimate('reference-a.csv', 'target-a.csv', by='sit')",
        "oodometer.evaluate('scores.csv')",
        "oodometer.evaluate({'confidence': [0.5, 1.5], 'correct': [1, 0]})",
        "oodometer.evaluate({'prob_a': [0.2, 0.5], 'prob_b': [0.8, 0.6], 'label': ['a', 'b']})",
        "oodometer.estimate('reference-a.csv', 'target-a.csv')['gde']",
        "oodometer.audit('reference-a.csv', 'target-a.csv')",
        "oodometer.rank(['target-a.csv'])",
    ),
}


def typed(words: str) -> str:
    """The whole line."""
    return words if words.startswith("cat ") else f"oodometer {words}".rstrip()


SCENES = [
    *(Scene(name, tuple(f"$ {typed(one)}" for one in words)) for name, words in COMMANDS.items()),
    *(Scene(name, tuple(f">>> {one}" for one in calls)) for name, calls in PYTHON.items()),
]
