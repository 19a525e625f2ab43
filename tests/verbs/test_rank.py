"""The verb `rank` from Python: frames, saved models that cut texts, tables, orders, models that read other things."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.errors import InputError, UsageError
from oodometer.rankings import model_accuracies
from oodometer.rankings.outcome import beliefs_of
from oodometer.reports.charts.by_category import best_chances
from oodometer_lab.models.base import Answers, Classifier

from ..snapshots import assert_snapshot, raises_snapshot


class Words(Classifier):
    """Reads three words of a text, or the column x of a table, and is right with some probability."""

    kind = "words"
    parameters = 0
    options = _write = _read = None  # type: ignore[assignment]

    def __init__(self, right: float, seed: int = 0, *, table: bool = False) -> None:
        self.right, self.seed, self.classes = right, seed, ("no", "yes")
        self.reads = ("table",) if table else ("text", "pair")
        self.asked: list[int] = []

    def _fit(self, *given: Any) -> None:
        raise NotImplementedError

    def ask(self, inputs: Any, request: Any = None, *, progress: Any = None) -> Any:
        found = getattr(inputs, "inputs", inputs)
        texts = found.columns["x"].tolist() if "table" in self.reads else list(found)
        self.asked.append(len(texts))
        words = [
            " ".join(one).split() if isinstance(one, tuple) else str(one).split() for one in texts
        ]
        self.truncated = sum(len(one) > 3 for one in words)
        truth = np.array(["yes" in one for one in words])
        draws = np.random.default_rng(self.seed).random(len(texts)) < self.right
        p = np.where(truth == draws, 0.8, 0.3)
        return Answers(self.classes, probabilities=np.stack([1 - p, p], axis=1))


def shown(found: Any) -> str:
    """What a prompt shows, on one line."""
    return " ".join(repr(found).split())


def texts(rows: int, first: int = 0) -> dict[str, list[Any]]:
    said = ["yes" if i % 2 else "no" for i in range(first, first + rows)]
    return {
        "id": [f"r{i}" for i in range(first, first + rows)],
        "text": [f"it {one}" for one in said],
        "label": said,
    }


def test_probabilities_are_those_of_the_posterior() -> None:
    models = {"a": Words(0.9, 1), "b": Words(0.5, 2), "c": Words(0.7, 3)}
    pool = {key: values for key, values in texts(200, 12).items() if key != "label"}
    found = oodometer.rank(models, examples=texts(12), unlabelled=pool, seed=4)
    truth = np.array([i % 2 for i in range(212)])
    draws = [
        np.random.default_rng(seed).random(212) < right
        for right, seed in ((0.9, 1), (0.5, 2), (0.7, 3))
    ]
    p = np.where(np.stack(draws) == truth, 0.8, 0.3)
    alone = beliefs_of(np.stack([1 - p, p], axis=2), truth[:12], seed=4)[0]
    assert {one.model: one.p_best for one in found.ranking} == dict(
        zip("abc", alone.p_best, strict=True)
    )
    for pair in found.pairs:
        a, b = ("abc".index(name) for name in (pair.a, pair.b))
        assert pair.p_a_better == alone.p_better[a, b]
        assert (pair.only_a, pair.only_b) == (alone.wins[a, b], alone.wins[b, a])
    assert [one.asked for one in models.values()] == [[212]] * 3
    assert shown(found).startswith(f"Most likely the best of 3 models: {found.likeliest.model}")


def test_texts_are_asked_in_calls_of_a_few_thousand() -> None:
    models = {"a": Words(0.9, 1), "b": Words(0.5, 2)}
    pool = {key: values for key, values in texts(5000, 12).items() if key != "label"}
    found = oodometer.rank(models, examples=texts(12), unlabelled=pool)
    assert found.pool == 5000
    assert [one.asked for one in models.values()] == [[4096, 916]] * 2


def test_where_the_labels_speak_for_none_it_says_so() -> None:
    found = oodometer.rank({"a": Words(1.0), "b": Words(1.0), "c": Words(1.0)}, examples=texts(10))
    assert found.open
    assert found.to_dict()["open"] is True
    assert_snapshot(shown(found))
    assert not oodometer.rank({"a": Words(1.0, 1), "b": Words(0.2, 2)}, examples=texts(10)).open


def test_texts_that_are_cut_are_counted() -> None:
    data = texts(10)
    data["text"][3] = "a long text that says yes"
    found = oodometer.rank({"a": Words(0.9), "b": Words(0.6)}, examples=data)
    assert [one.truncated for one in found.ranking] == [1, 1]
    assert_snapshot(found.warnings)


def test_tables_are_ranked_without_factors() -> None:
    data = {"x": texts(20)["text"], "label": texts(20)["label"]}
    models = {"a": Words(0.95, table=True), "b": Words(0.3, table=True)}
    found = oodometer.rank(models, examples=data, unlabelled={"x": texts(50)["text"]})
    assert found.models == ("a", "b")
    assert found.pool == 50
    with raises_snapshot(UsageError):
        oodometer.rank(models, examples=data, attribution="lime")
    with raises_snapshot(UsageError):
        oodometer.rank(models, examples=data, factors=["adj"])


def test_models_that_never_differ_are_named() -> None:
    models = {"a": Words(0.8, 1), "b": Words(0.8, 1), "worse": Words(0.1, 1)}
    found = oodometer.rank(models, examples=texts(10), unlabelled=texts(100, 10))
    assert found.models[2] == "worse"
    assert_snapshot(found.warnings)


def test_rows_without_a_label_join_the_pool() -> None:
    data = texts(30)
    data["label"] = [one if i < 10 else None for i, one in enumerate(data["label"])]
    found = oodometer.rank({"a": Words(0.9), "b": Words(0.4)}, examples=data, suggest=5)
    assert (found.labelled, found.pool) == (10, 20)
    assert {name for name, _ in found.suggested} <= {f"r{i}" for i in range(10, 30)}


def test_frames_and_records_are_matched_by_id() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40)
    one = {"id": np.arange(40), "prediction": truth}
    order = rng.permutation(40)
    other = {"id": order, "prediction": (1 - truth)[order]}
    found = oodometer.rank(
        {"one": one, "other": other}, examples={"id": [3, 5, 8], "label": truth[[3, 5, 8]]}
    )
    assert [(row.model, row.right) for row in found.ranking] == [("one", 3), ("other", 0)]
    assert any(one.method.startswith("conf") for one in found.skipped)


def test_models_that_read_other_things_are_refused(tmp_path: Path) -> None:
    with raises_snapshot(InputError):
        oodometer.rank([Words(0.9), Words(0.8, table=True)], examples=texts(10))
    with raises_snapshot(InputError):
        oodometer.rank([Words(0.9), Words(0.8)], examples={"words": ["a"], "label": ["no"]})
    with raises_snapshot(InputError):
        oodometer.rank([Words(0.9), Words(0.8)], examples={**texts(4)}, unlabelled={"a": ["x"], "b": ["y"]},
                       inputs=["text"])  # fmt: skip


@pytest.mark.parametrize("name", ["lime", "kernel-shap"])
def test_attributions_are_in_the_result(name: str) -> None:
    found = oodometer.rank(
        {"a": Words(0.9), "b": Words(0.4)}, examples=texts(12), attribution=name, explain=4
    )
    assert len(found.examples) == 4
    assert found.attribution["of"] == 12
    assert {one.id for one in found.examples} <= set(texts(12)["id"])
    assert not {"max-diff", "sum-diff"} & {one.name for one in found.evidence}


class Told(Words):
    """Says what a text says, but for the numbers in ``wrong``; of each text ``sure`` it is that sure."""

    def __init__(self, wrong: set[int], sure: float = 0.8) -> None:
        super().__init__(1.0)
        self.wrong, self.sure = wrong, sure

    def ask(self, inputs: Any, request: Any = None, *, progress: Any = None) -> Any:
        found = list(getattr(inputs, "inputs", inputs))
        self.truncated = sum("long" in one for one in found)
        p = [
            self.sure if ("yes" in one) != (int(one.split()[0]) in self.wrong) else 1 - self.sure
            for one in found
        ]
        return Answers(self.classes, probabilities=np.stack([1 - np.array(p), np.array(p)], axis=1))


def numbered(rows: int, first: int = 0, chosen: int = 0) -> dict[str, list[Any]]:
    said = ["yes" if i % 2 else "no" for i in range(first, first + rows)]
    data = {"text": [f"{first + i} {one}" for i, one in enumerate(said)], "label": said}
    return (
        {**data, "chosen": ["by disagreement"] * chosen + [""] * (rows - chosen)}
        if chosen
        else data
    )


def test_the_likeliest_is_named_wherever_the_order_puts_it() -> None:
    models = {"right": Told(set()), "wrong": Told({1, 2, 3, 4})}
    found = oodometer.rank(
        models, examples=numbered(10), unlabelled={"text": numbered(40, 10)["text"]}
    )
    turned = replace(found, ranking=found.ranking[::-1])
    assert turned.likeliest.model == "right"
    assert turned.to_dict()["likeliest"] == "right"
    told = shown(turned)
    assert_snapshot(told)
    assert (
        f"({turned.likeliest.p_best * 100:.0f} % sure, from 10 labelled rows and 40 rows without labels)"
        in told
    )
    drawn = best_chances(turned.to_dict())
    assert_snapshot(drawn.title)
    assert_snapshot(shown(found))


@pytest.mark.parametrize("chosen", [1, 4, 10])
def test_chosen_rows_are_no_random_sample(chosen: int) -> None:
    models = {"a": Told(set()), "b": Told({1, 2, 3})}
    pool = {"text": numbered(40, 10)["text"]}
    found = oodometer.rank(models, examples=numbered(10, chosen=chosen), unlabelled=pool)
    assert found.chosen == chosen
    assert_snapshot(shown(found))
    assert ("recalibrated" in {one.name for one in found.evidence}) == (chosen < 10)


def test_two_models_have_no_plurality() -> None:
    pool = {"text": numbered(40, 10)["text"]}
    two = {"a": Told(set()), "b": Told({1, 2, 3})}
    found = oodometer.rank(two, examples=numbered(10), unlabelled=pool)
    assert not {"plurality", "pairwise agreement"} & {one.name for one in found.evidence}
    assert {"plurality", "pairwise agreement"} == {
        one.method for one in found.skipped if one.why == "needs three models or more"
    }
    three = oodometer.rank({**two, "c": Told({5})}, examples=numbered(10), unlabelled=pool)
    assert {"plurality", "pairwise agreement"} <= {one.name for one in three.evidence}


def test_one_is_no_plural_and_nothing_is_told_twice() -> None:
    data = {"text": ["0 long no"], "label": ["no"]}
    models = {"a": Told(set()), "b": Told({0})}
    said = shown(
        oodometer.rank(models, examples=data, unlabelled={"text": ["0 long no", "11 yes"]})
    )
    assert_snapshot(said)
    assert (
        said.count("reads less than some inputs hold: 1 of 2 was cut") == 2
    )  # once for each model
    assert "were cut" not in said


def test_what_the_table_never_has_is_not_listed_as_unused() -> None:
    one = {"id": [1, 2, 3, 4], "prediction": [0, 1, 0, 1]}
    other = {"id": [1, 2, 3, 4], "prediction": [1, 1, 0, 1]}
    found = oodometer.rank({"one": one, "other": other}, examples={"id": [1, 2], "label": [0, 1]})
    assert "confidence" not in {skipped.method for skipped in found.skipped}


def test_files_of_candidates_and_of_correctness_alone(tmp_path: Path) -> None:
    """What `predict` writes of logs: scores of candidates, rows of any length and in another order; or `correct`."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 40)
    rows_of = np.arange(40)
    right = {"a": rows_of < 14, "b": (rows_of < 2) | ((rows_of >= 14) & (rows_of < 18))}
    for name, hits in right.items():
        said = np.where(hits, label, (label + 1) % 3)
        scores = [
            [-1.0 + 0.9 * (k == one) for k in range(3 + row % 2)] for row, one in enumerate(said)
        ]
        mixed = rng.permutation(40).tolist()
        rows = [
            {"id": f"q{row}", "label": int(label[row]), "candidate_scores": scores[row]}
            for row in mixed
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
        rows = [{"id": f"q{row}", "correct": bool(hits[row])} for row in mixed[::-1]]
        (tmp_path / f"{name}_correct.jsonl").write_text(
            "".join(json.dumps(one) + "\n" for one in rows)
        )
    for end in (".jsonl", "_correct.jsonl"):
        found = oodometer.rank([tmp_path / f"b{end}", tmp_path / f"a{end}"])
        assert [one.right for one in found.ranking] == [14, 6]
        assert (found.pairs[0].only_a, found.pairs[0].only_b) == (12, 4)
        assert found.pairs[0].p_a_better == pytest.approx(0.9608, abs=1e-3)
        assert found.by_right == ((found.models[0],), (found.models[1],))
    with (
        (tmp_path / "a_correct.jsonl").open("a") as file,
        (tmp_path / "b_correct.jsonl").open("a") as other,
    ):
        file.write('{"id": "more", "correct": null}\n')
        other.write('{"id": "more", "correct": true}\n')
    with raises_snapshot(InputError):
        oodometer.rank([tmp_path / "b_correct.jsonl", tmp_path / "a_correct.jsonl"])


def test_models_that_counting_leaves_tied_are_said() -> None:
    truth = np.array([0, 1] * 10 + [0] * 100)
    said = {f"m{k}": np.where(np.arange(120) % 20 == k, 1 - truth, truth) for k in range(5)}
    said["worse"] = np.where(np.arange(120) % 4 == 0, 1 - truth, truth)
    ids = [str(row) for row in range(120)]
    labels = {"id": ids[:20], "label": truth[:20]}
    found = oodometer.rank(
        {name: {"id": ids, "prediction": of} for name, of in said.items()}, examples=labels
    )
    assert set(found.open_among) == {f"m{k}" for k in range(5)}
    assert found.to_dict()["by_right"][1] == ["worse"]
    assert found.models[-1] == "worse"
    counted = [text for text in found.view().sentences if "Counting alone" in text]
    # the last bits of the machine order models that answer alike
    assert_snapshot([re.sub(r"m\d", "MODEL", text) for text in counted])


@pytest.mark.parametrize("column", ["passage", "group"])
def test_rows_of_one_cluster_are_no_independent_rows(column: str) -> None:
    """Passages of ten questions that stand or fall together: as sure as the passages make it, not as the rows."""
    better = np.repeat(np.r_[np.ones(8), np.zeros(5)] > 0, 10)
    files = {name: {"id": np.arange(130), "label": np.ones(130, int), "prediction": hit.astype(int),
                    column: np.repeat(np.arange(13), 10)} for name, hit in (("a", better), ("b", ~better))}  # fmt: skip
    alone = oodometer.rank(files)
    found = oodometer.rank(files, cluster=column)
    assert alone.pairs[0].p_a_better > 0.99
    assert 0.65 < found.pairs[0].p_a_better < 0.85
    assert found.ranking[0].p_best == pytest.approx(found.pairs[0].p_a_better, abs=0.02)
    assert found.ranking[0].accuracy is not None
    assert found.ranking[0].accuracy.width > 2 * alone.ranking[0].accuracy.width  # type: ignore[union-attr]
    assert "13 clusters" in shown(found)
    with pytest.raises(InputError, match="cluster="):
        oodometer.rank(files, cluster="nope")


def test_epochs_of_a_question_are_a_cluster_by_themselves() -> None:
    better = np.repeat(np.r_[np.ones(8), np.zeros(5)] > 0, 10)
    ids = [f"q{row // 10}_epoch_{row % 10 + 1}" for row in range(130)]
    files = {name: {"id": ids, "label": np.ones(130, int), "prediction": hit.astype(int)}
             for name, hit in (("a", better), ("b", ~better))}  # fmt: skip
    found = oodometer.rank(files)
    assert 0.65 < found.pairs[0].p_a_better < 0.85
    assert "ids repeat" in shown(found)


def test_clusters_of_live_models_are_told_by_the_examples() -> None:
    rows = {**texts(60), "passage": [row // 6 for row in range(60)]}
    models = {"a": Words(0.9, 1), "b": Words(0.6, 2), "c": Words(0.5, 3)}
    found = oodometer.rank(models, examples=rows, cluster="passage")
    assert_snapshot(shown(found))
    with raises_snapshot(InputError):
        oodometer.rank(models, examples=rows, cluster="nope")


def repeated(questions: int = 13, times: int = 10) -> dict[str, pd.DataFrame]:
    """Two models asked the same questions several times; on a question a model is right each time or never."""
    ids, better = np.repeat(np.arange(questions), times), np.repeat(np.arange(questions) < 8, times)
    return {
        name: pd.DataFrame({"id": ids, "label": 1, "prediction": hit.astype(int)})
        for name, hit in (("a", better), ("b", ~better))
    }


def test_ids_that_repeat_are_joined_and_are_clusters() -> None:
    files = repeated()
    rng = np.random.default_rng(0)
    found = oodometer.rank(files)
    shuffled = oodometer.rank({"a": files["a"], "b": files["b"].iloc[rng.permutation(130)]})
    once = oodometer.rank({name: one.drop_duplicates("id") for name, one in files.items()})
    assert found.pairs == shuffled.pairs
    assert found.pairs[0].p_a_better == pytest.approx(once.pairs[0].p_a_better, abs=0.05)
    assert found.ranking[0].accuracy is not None
    assert once.ranking[0].accuracy is not None
    assert found.ranking[0].accuracy.value == once.ranking[0].accuracy.value
    assert found.ranking[0].accuracy.width == pytest.approx(
        once.ranking[0].accuracy.width, abs=0.05
    )  # type: ignore[union-attr]
    assert "ids repeat" in shown(found)
    only = {
        name: pd.DataFrame({"id": one["id"], "correct": one["prediction"] == 1})
        for name, one in files.items()
    }
    assert oodometer.rank(only).pairs[0].p_a_better == found.pairs[0].p_a_better


def test_epochs_of_files_are_joined_by_their_column() -> None:
    """One answer of each model a question and epoch; in another order the same rows meet."""
    files = {
        name: one.assign(epoch=np.tile(np.arange(1, 11), 13)) for name, one in repeated().items()
    }
    rng = np.random.default_rng(0)
    for one in files.values():
        one["prediction"] = rng.integers(0, 2, 130)
    found = oodometer.rank(files)
    shuffled = oodometer.rank({"a": files["a"], "b": files["b"].iloc[rng.permutation(130)]})
    assert found.pairs == shuffled.pairs
    assert found.pairs[0].p_a_better == shuffled.pairs[0].p_a_better


def test_a_pool_of_repeated_ids_gives_no_interval_of_independent_rows() -> None:
    rng = np.random.default_rng(0)
    one = rng.random(200)
    rows = {"id": np.arange(20).repeat(10), "prob_0": 1 - one, "prob_1": one}
    files = {name: pd.DataFrame(rows).assign(prob_0=rows["prob_0"] ** p, prob_1=1 - rows["prob_0"] ** p)
             for name, p in (("a", 1.0), ("b", 1.5))}  # fmt: skip
    known = [one.assign(label=np.arange(200) % 2) for one in files.values()]
    found = oodometer.rank(
        files, examples={"id": [0, 1, 2, 3], "label": [0, 1, 1, 0]}, reference=known
    )
    assert found.labelled == 40
    estimates = [one for one in found.evidence if one.group == "estimate"]
    assert estimates
    assert not any(one.intervals for one in estimates)


def test_labels_of_repeated_ids() -> None:
    files = repeated()
    bare = {name: one.drop(columns="label") for name, one in files.items()}
    wanted = oodometer.rank(files)
    for examples in (
        files["a"][["id", "label"]],  # as often as the files have them
        files["a"][
            ["id", "label"]
        ].drop_duplicates(),  # one of a question counts for all its answers
        files["a"][["id", "label"]].iloc[:-3],  # less often, or more often, and they agree
        files["a"][["id", "label"]].iloc[[*range(130), 0]],
    ):
        assert oodometer.rank(bare, examples=examples, classes=[0, 1]).pairs == wanted.pairs
    some = oodometer.rank(bare, examples={"id": [0, 1, 2], "label": [1, 1, 1]}, classes=[0, 1])
    assert some.labelled == 30
    assert "ids that" not in shown(some)
    with raises_snapshot(InputError):
        oodometer.rank(bare, examples={"id": [0, 0, 0], "label": [1, 0, 1]}, classes=[0, 1])
    apart = {name: one.assign(label=np.arange(130) % 2) for name, one in files.items()}
    with raises_snapshot(InputError):
        oodometer.rank(apart, examples={"id": [0], "label": [1]})


def test_repeated_ids_that_cannot_be_joined() -> None:
    files = repeated()
    rng = np.random.default_rng(0)
    row = np.arange(130)
    with raises_snapshot(InputError):
        oodometer.rank({"a": files["a"], "b": files["b"].iloc[:-1]})
    label = rng.integers(0, 2, 130)  # questions of their own under one id
    apart = {name: one.assign(label=label, row=row) for name, one in files.items()}
    apart["b"] = apart["b"].iloc[rng.permutation(130)]
    with raises_snapshot(InputError):
        oodometer.rank(apart)
    assert oodometer.rank(apart, id="row").labelled == 130
    mixed = {name: one.assign(id=[*["q"] * 129, "q_epoch_1"]) for name, one in files.items()}
    with raises_snapshot(InputError):
        oodometer.rank(mixed)


@pytest.mark.parametrize("referenced", [False, True])
def test_labels_and_pool_say_how_accurate_each_model_is(referenced: bool) -> None:
    models = {"a": Words(0.9, 1), "b": Words(0.5, 2), "c": Words(0.7, 3)}
    pool = {key: values for key, values in texts(200, 12).items() if key != "label"}
    more = {"reference": texts(100, 212)} if referenced else {}
    found = oodometer.rank(models, examples=texts(12), unlabelled=pool, **more)
    rows = 312 if referenced else 212
    truth = np.arange(rows) % 2
    right = [np.random.default_rng(one.seed).random(rows) < one.right for one in models.values()]
    yes = np.stack([np.where(truth == hit, 0.8, 0.3) for hit in right])
    p = np.stack([1 - yes, yes], axis=2)
    known = (p[:, 212:], truth[212:]) if referenced else None
    alone = model_accuracies(p[:, :212], truth[:12], range(12), reference=known)
    piece = next(one for one in found.evidence if one.name == "recalibrated")
    for name, interval in zip("abc", alone, strict=True):
        assert piece.intervals[name].to_dict() == pytest.approx(interval.to_dict())
    assert_snapshot(shown(found))
    json_row = found.to_dict()["ranking"][0]["evidence"]
    assert json_row["recalibrated"]["kind"] == "conditional"
    assert json_row["accuracy"]["kind"] == "exact"


def test_accuracy_with_the_pool_needs_a_pool_and_independent_rows() -> None:
    models = {"a": Words(0.9, 1), "b": Words(0.5, 2)}
    assert_snapshot(shown(oodometer.rank(models, examples=texts(12))))
    pool = {key: values for key, values in texts(200, 12).items() if key != "label"}
    examples = {**texts(12), "who": ["x", "y", "z"] * 4}
    found = oodometer.rank(models, examples=examples, unlabelled=pool, cluster="who")
    assert_snapshot(shown(found))
    assert any(
        one.method == "recalibrated" and "depend on each other" in one.why for one in found.skipped
    )


def test_with_very_many_classes_accuracy_is_of_the_labels_alone() -> None:
    names = [f"c{i}" for i in range(2001)]
    said = {
        "id": list(range(40)),
        "prediction": names[-40:],
        "label": [*names[-40:-30], *[""] * 30],
    }
    found = oodometer.rank({"a": said, "b": {**said, "prediction": names[-41:-1]}}, classes=names)
    assert_snapshot(shown(found))
    assert any(one.method == "recalibrated" and "2,000 classes" in one.why for one in found.skipped)


def unlabelled(
    models: int = 4, rows: int = 400
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Files without a label, the first model the best, and labelled files of known ground."""
    rng = np.random.default_rng(3)
    files, known = {}, []
    truth, there = rng.integers(0, 3, rows), rng.integers(0, 3, 300)
    for k in range(models):
        right, before = rng.random(rows) < 0.9 - 0.12 * k, rng.random(300) < 0.95 - 0.1 * k
        said = np.where(right, truth, (truth + rng.integers(1, 3, rows)) % 3)
        files[f"m{k}"] = {"id": np.arange(rows), "prediction": said}
        known.append({"prediction": np.where(before, there, (there + 1) % 3), "label": there})
    return files, known


@pytest.mark.parametrize("referenced", [False, True])
def test_without_a_label_agreement_and_the_reference_answer(referenced: bool) -> None:
    files, known = unlabelled()
    found = oodometer.rank(
        files, reference=known if referenced else None, classes=[0, 1, 2], suggest=5
    )
    assert found.models[0] == "m0"
    assert found.models[-1] == "m3"
    plain = found.to_dict()
    assert plain["labels"] == 0
    assert [row["evidence"].get("accuracy") for row in plain["ranking"]] == [None] * 4
    assert found.pairs[0].p_a_better > 0.5
    assert sum(row.p_best for row in found.ranking) == pytest.approx(1)
    said = shown(found)
    assert_snapshot(said)
    assert ("agreement and the reference" in said) == referenced
    key = "reference" if referenced else "no reference"
    kept = json.loads((Path(oodometer.__file__).parent / "rankings" / "came_true.json").read_text())
    right = kept["orders"][key]["three or four"]
    assert plain["public"]["pairs_right"] == right
    assert f"put {right:.0%} of the pairs right".replace("%", " %") in said
    assert ("recalibrated" in {one.name for one in found.evidence}) == referenced
    assert len(found.suggested) == 5
    assert_snapshot(said)
    assert found.stop["safe"] is False
    assert not any("labelled row" in one for one in found.warnings)
    assert "right alone" not in said


def test_two_models_without_a_label_or_a_reference_stay_open() -> None:
    files, known = unlabelled(2)
    found = oodometer.rank(files)
    assert found.open
    assert found.pairs[0].p_a_better == 0.5
    assert_snapshot(shown(found))
    told = oodometer.rank(files, reference=known)
    assert not told.open
    assert told.models == ("m0", "m1")


def test_live_models_are_ranked_by_a_pool_alone() -> None:
    models = {"a": Words(0.9, 1), "b": Words(0.85, 2), "c": Words(0.5, 3)}
    pool = {key: values for key, values in texts(200).items() if key != "label"}
    found = oodometer.rank(models, unlabelled=pool)
    assert (found.labelled, found.pool) == (0, 200)
    assert found.models[-1] == "c"
    again = oodometer.rank(models, unlabelled=texts(200), reference=texts(100, 200))
    assert (again.labelled, again.models[-1]) == (0, "c")
    with raises_snapshot(UsageError):
        oodometer.rank(models)
    with raises_snapshot(UsageError):
        oodometer.rank(models, unlabelled=pool, attribution="lime")
    with raises_snapshot(InputError):
        oodometer.rank(unlabelled()[0], examples={"id": [0, 1], "label": [None, None]})


def test_what_labels_say_against_agreement_is_told() -> None:
    """Four models share their mistakes; the odd one is right where they are wrong, and the labels show it."""
    truth = np.zeros(300, dtype=int)
    rng = np.random.default_rng(0)
    common = rng.random(300) < 0.4
    files = {f"m{k}": {"id": np.arange(300), "prediction": (common ^ (rng.random(300) < 0.03)).astype(int)}
             for k in range(4)}  # fmt: skip
    files["odd"] = {"id": np.arange(300), "prediction": (rng.random(300) < 0.1).astype(int)}
    assert oodometer.rank(files, classes=[0, 1]).models[-1] == "odd"
    found = oodometer.rank(
        files, examples={"id": np.arange(40), "label": truth[:40]}, classes=[0, 1]
    )
    assert found.models[0] == "odd"
    assert found.labels_against_agreement
    assert_snapshot(shown(found))


def test_a_sure_leader_is_said_as_such_came_true_in_every_format() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 4, 600)
    share = [0.97, 0.86, 0.85, 0.84, 0.6, 0.55]
    files = {f"m{k}": {"id": np.arange(600), "prediction": np.where(rng.random(600) < one, truth, (truth + 1) % 4)}
             for k, one in enumerate(share)}  # fmt: skip
    found = oodometer.rank(
        files, examples={"id": np.arange(10), "label": truth[:10]}, classes=[0, 1, 2, 3]
    )
    assert found.p_best_as_it_came is not None
    assert found.p_best_as_it_came > found.likeliest.p_best
    assert found.likeliest.p_best <= 0.55
    plain = found.to_dict()
    assert max(row["p_best"] for row in plain["ranking"]) == found.likeliest.p_best
    percent = f"{found.likeliest.p_best * 100:.0f} % sure"
    assert percent in shown(found)
    assert f"{found.likeliest.p_best * 100:.0f} %" in " ".join(best_chances(plain).title.split())
    assert max(found.to_frame("models")["p_best"]) == found.likeliest.p_best
