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
    delta = {column: "DELTA_BINARY_PACKED" for column in DELTA if column in table.column_names}
    pq.write_table(
        table.replace_schema_metadata(None), path, compression="zstd", compression_level=19, write_statistics=False,
        use_dictionary=[column for column in table.column_names if column not in delta], column_encoding=delta or None,
        store_schema=False,
    )  # fmt: skip


def car_loan(wheel: str) -> None:
    """All rows of the car loans; two columns of noise are rounded, whole numbers are stored as such."""
    with zipfile.ZipFile(wheel) as archive:
        for ours, theirs in (("reference", "reference"), ("target", "analysis"), ("labels", "analysis_target")):
            with archive.open(f"nannyml/datasets/data/synthetic_car_loan_{theirs}.csv") as file:
                table = pa.csv.read_csv(file)
            for i, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
                if name in ("car_value", "loan_length", "repaid"):
                    table = table.set_column(i, name, column.cast(pa.int64()))
                if name in ("debt_to_income_ratio", "driver_tenure"):
                    table = table.set_column(i, name, pc.round(column, 3 if name.startswith("debt") else 2))
                if name == "timestamp":
                    table = table.set_column(i, name, column.cast(pa.timestamp("ms")))
            write(table, f"car-loan/{ours}.parquet")
    write(table.take(np.random.default_rng(0).choice(len(table), 10, replace=False)), "car-loan/ten.parquet")


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
        for side, rows, x in (("reference", reference, images[reference]), ("target", target, drifted)):
            p = np.round(model.predict_proba(x), 3)
            p[np.arange(len(p)), p.argmax(axis=1)] += 1 - p.sum(axis=1)
            accuracy.append(float((p.argmax(axis=1) == labels[rows]).mean()))
            columns = {"id": ids[rows], **{f"prob_{k}": np.round(p[:, k], 3) for k in range(10)}}
            write(pa.table(columns | ({"label": labels[rows]} if side == "reference" else {})),
                  f"digits/{side}/{name}.parquet")  # fmt: skip
        print(f"{name}: {accuracy[0]:.1%} on the reference, {accuracy[1]:.1%} on the target")
    truth = pa.table({"id": ids[target], "label": labels[target]})
    write(truth, "digits/labels.parquet")
    write(truth.take(np.random.default_rng(0).choice(len(truth), 10, replace=False)), "digits/ten.parquet")


def networks() -> None:
    """The networks of `oodometer demo`, behind its digits."""
    from sklearn.neural_network import MLPClassifier

    images, labels = digits(0)
    models = [MLPClassifier((32,), max_iter=80, learning_rate_init=0.005, random_state=seed) for seed in range(5)]
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
        path = OUT / f"sums/samples_{task}.jsonl.gz"
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write("".join(f"{line}\n" for line in lines).encode())


if __name__ == "__main__":
    car_loan(sys.argv[1])
    digit_models()
    networks()
    sums()
    sizes = {path: path.stat().st_size for path in sorted(OUT.rglob("*")) if path.is_file()}
    for path, size in sizes.items():
        print(f"{size:9,} {path.relative_to(OUT)}")
    print(f"{sum(sizes.values()):9,} in all")
    if sum(sizes.values()) > MOST:
        raise SystemExit(f"expected at most {MOST:,} bytes")
