"""Make the small tables that ship with the package (src/oodometer/datasets/tables) from their sources.

    pip download nannyml==0.13.1 --no-deps && python scripts/samples.py nannyml-0.13.1-py3-none-any.whl

Needs scikit-learn, with which the models of digits are trained. SOURCES.md beside the tables says what they are.
"""

from __future__ import annotations

import gzip
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from oodometer.verbs.demo import _drift, digits

OUT = Path(__file__).parents[1] / "src/oodometer/datasets/tables"
DELTA = ("id", "timestamp", "car_value")  # columns that are smallest as differences
MOST = 1_000_000


def write(table: pa.Table, name: str) -> None:
    """One table as Parquet, as small as it gets."""
    path = OUT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    delta = {column: "DELTA_BINARY_PACKED" for column in DELTA
        if column in table.column_names and not pa.types.is_string(table[column].type)}  # fmt: skip
    pq.write_table(
        table.replace_schema_metadata(None), path, compression="zstd", compression_level=19, write_statistics=False,
        use_dictionary=[column for column in table.column_names if column not in delta], column_encoding=delta or None,
        store_schema=False,
    )  # fmt: skip


def car_loan(wheel: str) -> None:
    """All rows of the car loans; two columns of noise are rounded, whole numbers are stored as such."""
    with zipfile.ZipFile(wheel) as archive:
        for ours, theirs in (
            ("reference", "reference"),
            ("target", "analysis"),
            ("labels", "analysis_target"),
        ):
            with archive.open(f"nannyml/datasets/data/synthetic_car_loan_{theirs}.csv") as file:
                table = pa.csv.read_csv(file)
            for i, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
                if name in ("car_value", "loan_length", "repaid"):
                    table = table.set_column(i, name, column.cast(pa.int64()))
                if name in ("debt_to_income_ratio", "driver_tenure"):
                    table = table.set_column(
                        i, name, pc.round(column, 3 if name.startswith("debt") else 2)
                    )
                if name == "timestamp":
                    table = table.set_column(i, name, column.cast(pa.timestamp("ms")))
            write(table, f"car-loan/{ours}.parquet")
    write(
        table.take(np.random.default_rng(0).choice(len(table), 10, replace=False)),
        "car-loan/ten.parquet",
    )


def digit_models() -> None:
    """Six models of digits: labelled rows like those of the training, and a target of noisy, turned images."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    images, labels = digits(0)
    training, reference, target = slice(0, 700), slice(700, 1200), slice(1200, None)
    models = {
        "forest": RandomForestClassifier(random_state=0),
        "logistic": LogisticRegression(max_iter=2000, C=0.01),
        "bayes": GaussianNB(var_smoothing=1e-2),
        "neighbors": KNeighborsClassifier(15),
        "svm": SVC(probability=True, random_state=0),
        "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    }
    drifted = _drift(images[target], (0.01, 3.0, 5.0), 3)
    ids = np.arange(len(images))
    for name, model in models.items():
        model.fit(images[training], labels[training])
        accuracy = []
        for side, rows, x in (
            ("reference", reference, images[reference]),
            ("target", target, drifted),
        ):
            p = np.round(model.predict_proba(x), 3)
            p[np.arange(len(p)), p.argmax(axis=1)] += 1 - p.sum(axis=1)
            accuracy.append(float((p.argmax(axis=1) == labels[rows]).mean()))
            columns = {"id": ids[rows], **{f"prob_{k}": np.round(p[:, k], 3) for k in range(10)}}
            write(pa.table(columns | ({"label": labels[rows]} if side == "reference" else {})),
                  f"digits/{side}/{name}.parquet")  # fmt: skip
        print(f"{name}: {accuracy[0]:.1%} on the reference, {accuracy[1]:.1%} on the target")
    truth = pa.table({"id": ids[target], "label": labels[target]})
    write(truth, "digits/labels.parquet")
    write(
        truth.take(np.random.default_rng(0).choice(len(truth), 10, replace=False)),
        "digits/ten.parquet",
    )


def networks() -> None:
    """The networks of `oodometer demo`, behind its digits."""
    from sklearn.neural_network import MLPClassifier

    images, labels = digits(0)
    models = [
        MLPClassifier((32,), max_iter=80, learning_rate_init=0.005, random_state=seed)
        for seed in range(5)
    ]
    for model in models:
        model.fit(images[:700] / 16, labels[:700])
    path = OUT.parents[1] / "verbs/digits.npz"
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in ("images", "labels")}
    for i, name in enumerate(("inputs", "outputs")):
        arrays[name] = np.array([model.coefs_[i] for model in models])
    for i, name in enumerate(("hidden_biases", "biases")):
        arrays[name] = np.array([model.intercepts_[i] for model in models])
    np.savez_compressed(path, **arrays)


def sums() -> None:
    """Two logs as lm-evaluation-harness writes them, of a made model that adds numbers of two and of three digits."""
    rng = np.random.default_rng(0)
    for task, largest, skill in (("two_digits", 100, 2.2), ("three_digits", 1000, 1.2)):
        lines = []
        for number in range(300):
            a, b = (int(value) for value in rng.integers(largest // 10, largest, 2))
            options = [a + b, a + b + 10, a + b - 1, a + b + int(rng.integers(2, 9))]
            order = rng.permutation(4)
            gold = int(np.flatnonzero(order == 0)[0])
            scores = np.round(-3 + skill * (order == 0) + rng.normal(0, 1, 4), 3)
            question = f"What is {a} + {b}?"
            texts = [{"arg_0": f"{question}\nAnswer:", "arg_1": f" {options[k]}"} for k in order]
            best = int(scores.argmax())
            resps = [[str(score), str(bool(i == best))] for i, score in enumerate(scores.tolist())]
            lines.append(json.dumps({
                "doc_id": number, "target": str(gold),
                "doc": {"question": question, "choices": [str(options[k]) for k in order], "answer": gold},
                "arguments": {f"gen_args_{i}": text for i, text in enumerate(texts)},
                "resps": [[pair] for pair in resps], "filtered_resps": resps,
                "filter": "none", "metrics": ["acc"], "acc": float(best == gold),
            }))  # fmt: skip
        pack(f"sums/samples_{task}.jsonl", "".join(f"{line}\n" for line in lines))


THINGS = ["lamp", "boat", "apple", "clock", "chair", "kite", "drum", "spoon", "ladder", "basket"]
SIZES, COLOURS = (
    ["small", "large", "old", "new", "broken"],
    ["red", "blue", "green", "yellow", "white", "black"],
)
TASKS = {"reading": 200, "reversing": 120, "sums": 80}
STAMP = "2026-11-02T10-00-00.000000"


def questions(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Questions of three tasks: ten about each of 20 passages, words to turn round, numbers to add."""
    out: list[dict[str, Any]] = []
    for passage in range(20):
        held = [
            " ".join(map(str, (rng.choice(SIZES), rng.choice(COLOURS), rng.choice(THINGS))))
            for _ in range(10)
        ]
        text = " ".join(f"Box {k} holds a {thing}." for k, thing in enumerate(held, 1))
        for k, thing in enumerate(held, 1):
            doc = {
                "passage": f"p{passage + 1:02}",
                "text": text,
                "question": f"What is in box {k}?",
                "answer": thing,
            }
            out.append(
                {"task": "reading", "prompt": f"{text}\n{doc['question']}\nAnswer:", "doc": doc}
            )
    for _ in range(TASKS["reversing"]):
        words = [str(rng.choice(part)) for part in (SIZES, COLOURS, THINGS)]
        doc = {"question": f"Turn round: {' '.join(words[::-1])}", "answer": " ".join(words)}
        out.append({"task": "reversing", "prompt": f"{doc['question']}\nAnswer:", "doc": doc})
    for _ in range(TASKS["sums"]):
        a, b = (int(value) for value in rng.integers(10, 1000, 2))
        doc = {"question": f"What is {a} + {b}?", "answer": str(a + b)}
        out.append({"task": "sums", "prompt": f"{doc['question']}\nAnswer:", "doc": doc})
    return out


def wrong(answer: str, rng: np.random.Generator) -> str:
    """A wrong answer: another sum, or one to three of the three words exchanged."""
    words = answer.split()
    if len(words) == 1:
        return str(int(answer) + int(rng.choice([-10, -1, 1, 10, 100])))
    for k in rng.permutation(3)[: rng.integers(1, 4)]:
        words[k] = str(
            rng.choice([word for word in (SIZES, COLOURS, THINGS)[k] if word != words[k]])
        )
    return " ".join(words)


def two_runs() -> None:
    """Two made models, small and large, on the same questions: tables, and logs as lm-evaluation-harness writes them.

    A question is hard or easy for both, a passage for each model alone. `score` is the F1 of the words of an answer.
    """
    rng = np.random.default_rng(45)
    asked = questions(rng)
    hard = rng.normal(0, 1.2, len(asked))
    for model, skill in (("small", 0.35), ("large", 1.05)):
        at_passage = dict(
            zip((f"p{k + 1:02}" for k in range(20)), rng.normal(0, 1.1, 20), strict=True)
        )
        lines: dict[str, list[dict[str, Any]]] = {task: [] for task in TASKS}
        columns: dict[str, list[Any]] = {
            name: [] for name in ("id", "group", "passage", "correct", "score")
        }
        for question, hardness in zip(asked, hard, strict=True):
            task, doc = question["task"], question["doc"]
            logit = (
                skill
                - hardness
                + at_passage.get(doc.get("passage"), 0)
                + 0.3 * (task == "reversing")
            )
            right = rng.random() < 1 / (1 + np.exp(-logit))
            answer = doc["answer"] if right else wrong(doc["answer"], rng)
            same = len(set(answer.split()) & set(doc["answer"].split()))
            number, f1 = len(lines[task]), round(same / len(doc["answer"].split()), 4)
            lines[task].append({
                "doc_id": number, "doc": doc, "target": doc["answer"],
                "arguments": {"gen_args_0": {"arg_0": question["prompt"], "arg_1": {"until": ["\n"]}}},
                "resps": [[f" {answer}"]], "filtered_resps": [answer], "filter": "none",
                "metrics": ["exact_match", "f1"], "exact_match": float(right), "f1": f1,
            })  # fmt: skip
            row = (
                f"{task}/{number}",
                task,
                doc.get("passage", f"{task}-{number}"),
                bool(right),
                f1,
            )
            for values, value in zip(columns.values(), row, strict=True):
                values.append(value)
        write(pa.table(columns), f"runs/{model}.parquet")
        results = {}
        for task, rows in lines.items():
            pack(
                f"runs/{model}/samples_{task}_{STAMP}.jsonl",
                "".join(f"{json.dumps(row)}\n" for row in rows),
            )
            results[task] = {"alias": task}
            for metric in ("exact_match", "f1"):
                values = np.array([row[metric] for row in rows])
                results[task] |= {f"{metric},none": float(values.mean()),
                    f"{metric}_stderr,none": float(values.std(ddof=1) / np.sqrt(len(values)))}  # fmt: skip
        whole = {
            "results": results, "group_subtasks": {task: [] for task in TASKS},
            "configs": {task: {"task": task, "output_type": "generate_until", "metric_list": [
                {"metric": name, "aggregation": "mean", "higher_is_better": True} for name in ("exact_match", "f1")
            ]} for task in TASKS},
            "higher_is_better": {task: {"exact_match": True, "f1": True} for task in TASKS},
            "n-samples": {task: {"original": count, "effective": count} for task, count in TASKS.items()},
            "lm_eval_version": "0.4.9", "model_source": "hf", "model_name": model, "model_name_sanitized": model,
        }  # fmt: skip
        (OUT / f"runs/{model}/results_{STAMP}.json").write_text(json.dumps(whole, indent=1) + "\n")


def judged() -> None:
    """2,000 answers, two made judges of each, and what people say of 150 of them, drawn at random.

    The first judge passes many wrong answers, too, and long ones more often than short ones; the second makes fewer
    mistakes of this kind and more of the other. `truth.csv` has what is right, of all.
    """
    rng = np.random.default_rng(450)
    group = rng.choice(["code", "maths", "writing"], 2000, p=[0.4, 0.3, 0.3])
    length = np.round(np.exp(rng.normal(4.6, 0.6, 2000))).astype(np.int64)
    right = rng.random(2000) < np.select([group == "code", group == "maths"], [0.62, 0.42], 0.56)
    passed = rng.random(2000) < 1 / (
        1 + np.exp(-(np.where(right, 2.6, -0.3) + 1.1 * (np.log(length) - 4.6) / 0.6))
    )
    second = rng.random(2000) < np.where(right, 0.78, 0.18)
    labelled = np.sort(rng.choice(2000, 150, replace=False))
    people = np.full(2000, None, object)
    people[labelled] = right[labelled]
    ids = [f"a{k:04}" for k in range(2000)]
    write(pa.table({"id": ids, "group": group, "length": length, "judge_passed": passed, "second_passed": second,
        "human_passed": pa.array(people.tolist(), pa.bool_())}), "judged/verdicts.parquet")  # fmt: skip
    write(pa.table({"id": ids, "correct": right}), "judged/truth.parquet")
    print(
        f"judged: {right.mean():.1%} are right; the judges pass {passed.mean():.1%} and {second.mean():.1%}"
    )


def pack(name: str, text: str) -> None:
    """A text as a file of gzip that has the same bytes every time."""
    path = OUT / f"{name}.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())


if __name__ == "__main__":
    if sys.argv[1:]:  # without a wheel only what needs no source
        car_loan(sys.argv[1])
        digit_models()
        networks()
    sums()
    two_runs()
    judged()
    sizes = {path: path.stat().st_size for path in sorted(OUT.rglob("*")) if path.is_file()}
    for path, size in sizes.items():
        print(f"{size:9,} {path.relative_to(OUT)}")
    print(f"{sum(sizes.values()):9,} in all")
    if sum(sizes.values()) > MOST:
        raise SystemExit(f"expected at most {MOST:,} bytes")
