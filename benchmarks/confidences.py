"""Which confidence puts right answers before wrong ones, on real outputs, and what its intervals are worth;
results/confidences.*.

python -m benchmarks.confidences [--draws N]

Real outputs: sentences tagged with parts of speech by a model trained on the Wall Street Journal, right where every
tag is, with token log-probabilities and sampled repeats; and those of the data folder: answers of 29 language models to
MMLU-Pro (stored answers alone: how many of the other models agree), classes of 65 image networks, and probabilities of
published classifiers. Then draws from models whose areas are known: coverage of nominal 95 % intervals, and how often
one that is as good as the best is called worse.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import tarfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks import kit
from oodometer import Predictions
from oodometer.metrics import compared_confidences
from oodometer.registry import create
from oodometer.scores import answer_agreement, margin, max_probability, negative_entropy

LEVEL, MODELS = 0.95, 8  # models that are judged of each table
REPEATS = 5


def agreement(answers: Any, judged: int, others: Any) -> dict[str, Any]:
    """Confidences of one model's answers from those of others; ``answers`` have axes (model, question)."""
    some = answers[[judged, *others]]
    flat, questions = some.ravel().tolist(), np.tile(np.arange(some.shape[1]), len(some))
    share, sure = answer_agreement(flat, questions.tolist())
    name = f"of {len(others)} others"
    return {
        f"agreement {name}": share[: some.shape[1]],
        f"1 - entropy {name}": sure[: some.shape[1]],
    }


def tagged() -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Name, confidences of tagged sentences and whether each is right throughout; at most 20 words, as drawn."""
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.linear_model import SGDClassifier

    texts: dict[str, list[Any]] = {}
    with lzma.open(kit.data_folder() / "pos_wsj_brown_etc.jsonl.xz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            if row["corpus"] in ("wsj_sample", "brown"):
                pair = (row["tok"].split(), row["upos"].replace("PRT", "ADP").split())
                texts.setdefault(
                    row.get("genre") if row["corpus"] == "brown" else "wsj", []
                ).append(pair)
    hasher = FeatureHasher(2**16, input_type="string", alternate_sign=False)

    def matrix(data: list[Any]) -> Any:
        def features(words: list[str]) -> Iterator[list[str]]:
            padded = ["<s>", *words, "</s>"]
            for before, word, after in zip(padded, words, padded[2:], strict=False):
                own = [
                    f"w={word.lower()}",
                    f"3={word[-3:]}",
                    f"2={word[-2:]}",
                    f"c={word[0].isupper()}",
                ]
                yield [*own, f"b={before.lower()}", f"a={after.lower()}", f"b2={before[-2:]}"]

        return hasher.transform(one for words, _ in data for one in features(words))

    rng = np.random.default_rng(0)
    order = rng.permutation(len(texts["wsj"]))
    train, rest = ([texts["wsj"][i] for i in part] for part in (order[:2400], order[2400:]))
    model = SGDClassifier(loss="log_loss", alpha=1e-6, max_iter=4, tol=None, random_state=0)
    model.fit(matrix(train), [tag for _, tags in train for tag in tags])
    for name in ("wsj", "news", "romance", "science_fiction", "learned"):
        own = [pair for pair in (rest if name == "wsj" else texts[name]) if len(pair[0]) <= 20]
        own = [own[i] for i in rng.permutation(len(own))[:1_200]]
        p = model.predict_proba(matrix(own))
        ends = np.cumsum([len(words) for words, _ in own])[:-1]
        draws = [
            p.argmax(axis=1),
            *((p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1) for _ in range(REPEATS)),
        ]
        answers = [
            [" ".join(model.classes_[part]) for part in np.split(tags, ends)] for tags in draws
        ]
        right = np.array(
            [answer == " ".join(tags) for answer, (_, tags) in zip(answers[0], own, strict=True)]
        )
        record = Predictions.from_arrays(
            token_logprobs=np.split(np.log(p.max(axis=1)), ends), correct=right
        )
        scores = ("sequence_probability", "sequence_mean_probability", "sequence_min_probability")
        values = {score: create("score", score)(record) for score in scores}
        flat, questions = (
            [text for own in answers for text in own],
            [*range(len(own))] * len(answers),
        )
        share, sure = answer_agreement(flat, questions)
        yield (
            name,
            {**values, "answer_agreement": share[: len(own)], "answer_certainty": sure[: len(own)]},
            right,
        )


def by_sentences() -> Iterator[dict[str, Any]]:
    """Areas of what a model's own tokens and repeats say."""
    for name, values, right in tagged():
        ranking = compared_confidences(values, right, level=LEVEL)["ranking"]
        wins = {row["name"]: [[row["auroc"].value, row["tied"]]] for row in ranking}
        yield {
            "data": name,
            "questions": len(right),
            "accuracy": float(right.mean()),
            **summed(wins),
        }


def stored_answers() -> Iterator[tuple[str, Any, Any]]:
    """Name, answers with axes (model, question), and the truth."""
    import pyarrow.parquet as pq

    folder = kit.data_folder()
    seen: dict[str, Any] = {}
    with tarfile.open(folder / "natural4/mmlupro.tar.xz") as packed:
        for member in packed.getmembers():
            if member.name.endswith("reference.parquet"):
                subject = member.name.split("/")[1].split("-")[0]
                file = packed.extractfile(member)
                assert file is not None
                table = pq.read_table(io.BytesIO(file.read()))
                members = np.array(table["members"].to_pylist())
                answers = np.column_stack([np.array(table["prediction"]), members]).T
                seen.setdefault(subject, (answers, np.array(table["label"])))
    for subject, (answers, label) in sorted(seen.items()):
        yield f"MMLU-Pro {subject}", answers, label
    packed_classes = np.load(folder / "outputs/imagenetv2_top1.npz")
    for part in ("imagenet-validation-original", "imagenetv2-b-33"):
        yield part, packed_classes[f"P_{part}"][:, :5_000], packed_classes[f"y_{part}"][:5_000]


def by_answers() -> Iterator[dict[str, Any]]:
    """Areas of agreement among models."""
    for name, answers, label in stored_answers():
        rng = np.random.default_rng(0)
        wins: dict[str, list[Any]] = {}
        for judged in rng.permutation(len(answers))[:MODELS]:
            others = rng.permutation([m for m in range(len(answers)) if m != judged])
            values = {
                **agreement(answers, judged, others[:4]),
                **agreement(answers, judged, others),
            }
            names = {key: key.replace(str(len(others)), "all") for key in values}
            values = {names[key] if "of 4" not in key else key: own for key, own in values.items()}
            for row in compared_confidences(values, answers[judged] == label, level=LEVEL)[
                "ranking"
            ]:
                wins.setdefault(row["name"], []).append([row["auroc"].value, row["tied"]])
        yield {"data": name, "questions": len(label), **summed(wins)}


def by_probabilities() -> Iterator[dict[str, Any]]:
    """Areas of scores of one distribution over classes."""
    packed = np.load(kit.data_folder() / "outputs/cleanlab_pyx.npz")
    for name in ("cifar10", "mnist", "20news"):
        p, label = packed[f"{name}_test_set_pyx"], packed[f"{name}_test_set_labels"]
        values = {
            "max_probability": max_probability(p),
            "margin": margin(p),
            "negative_entropy": negative_entropy(p),
        }
        ranking = compared_confidences(values, p.argmax(axis=1) == label, level=LEVEL)["ranking"]
        wins = {row["name"]: [[row["auroc"].value, row["tied"]]] for row in ranking}
        yield {"data": name, "questions": len(label), **summed(wins)}


def summed(wins: Mapping[str, Any]) -> dict[str, Any]:
    """Mean area and how often a confidence is the best or tied with it, by name."""
    means = {
        name: np.mean(np.array(rows, dtype=float), axis=0).tolist() for name, rows in wins.items()
    }
    return {
        "confidences": {name: {"auroc": area, "tied": tied} for name, (area, tied) in means.items()}
    }


def drawn(
    questions: int, repeats: int, rng: np.random.Generator
) -> tuple[dict[str, Any], Any, Any]:
    """Two confidences of the same worth and a worse one; answers of a question share its difficulty."""
    skill = np.repeat(rng.standard_normal(questions), repeats)
    noise = np.repeat(rng.standard_normal((3, questions)), repeats, axis=1)
    right = rng.random(len(skill)) < 1 / (1 + np.exp(-1 - 1.5 * skill))
    values = {"one": skill + noise[0], "two": skill + noise[1], "worse": skill + 3 * noise[2]}
    return values, right, np.repeat(np.arange(questions), repeats)


def simulated(draws: int) -> Iterator[dict[str, Any]]:
    """Coverage of the areas' intervals and wrong verdicts."""
    rng = np.random.default_rng(7)
    values, right, _ = drawn(400_000, 1, rng)
    truth = {
        row["name"]: row["auroc"].value for row in compared_confidences(values, right)["ranking"]
    }
    for questions, repeats in ((50, 1), (200, 1), (1000, 1), (20, 10), (100, 10)):
        covered, wrong, found, width = [], 0, 0, []
        for _ in range(draws):
            values, right, clusters = drawn(questions, repeats, rng)
            if right.all() or not right.any():
                continue
            out = compared_confidences(values, right, clusters, LEVEL)
            rows = {row["name"]: row for row in out["ranking"]}
            covered += [rows[n]["auroc"].lower <= truth[n] <= rows[n]["auroc"].upper for n in truth]
            width.append(rows["one"]["auroc"].width)
            wrong += len({"one", "two"} & {*out["tied"]}) < 2
            found += "worse" not in out["tied"]
        cell = {
            "coverage": float(np.mean(covered)),
            "width": float(np.mean(width)),
            "wrong": wrong / draws,
        }
        yield {"questions": questions, "repeats": repeats, **cell, "worse found": found / draws}


def measure(given: argparse.Namespace) -> kit.Result:
    return {
        "draws": given.draws, "sentences": list(by_sentences()),
        "answers": list(by_answers()), "probabilities": list(by_probabilities()),
        "simulated": list(simulated(given.draws)),
    }  # fmt: skip


def page(result: kit.Result) -> str:
    lines = [
        "# Which confidence orders errors best", "",
        f"`python -m benchmarks.confidences --draws {result['draws']}`; AUROC: how often a right answer has more "
        "confidence than a wrong one; in brackets in how many of the models it is the best or tied with the best "
        "(simultaneous 95 % intervals of the paired differences).",
    ]  # fmt: skip
    parts = (
        ("sentences", f"A tagger's own tokens, and {REPEATS} sampled repeats"),
        ("answers", "Agreement among models"),
        ("probabilities", "Scores of one distribution"),
    )
    for part, title in parts:
        names = list(dict.fromkeys(name for row in result[part] for name in row["confidences"]))
        rows = []
        for row in result[part]:
            cells = (row["confidences"][name] for name in names)
            each = [f"{cell['auroc']:.3f} ({100 * cell['tied']:.0f} %)" for cell in cells]
            rows.append([row["data"], str(row["questions"]), *each])
        lines += ["", f"## {title}", "", *kit.table(["data", "questions", *names], rows)[:-1]]
    rows = [
        [f"{row['questions']} x {row['repeats']}", *(f"{100 * row[name]:.1f} %" for name in ("coverage", "wrong")),
         f"{100 * row['worse found']:.0f} %", f"{row['width']:.3f}"]
        for row in result["simulated"]
    ]  # fmt: skip
    head = [
        "questions x repeats",
        "95 % intervals hold the area",
        "an equal one called worse",
        "a worse one found",
        "width",
    ]
    return kit.joined(
        [*lines, "", "## Draws from known areas, by question", "", *kit.table(head, rows)[:-1]]
    )


if __name__ == "__main__":
    raise SystemExit(
        kit.command(__doc__, "confidences", measure, page, draws=(1000, "draws a cell"))
    )
