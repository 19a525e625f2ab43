"""Logs of lm-evaluation-harness: scores, labels and verdicts as it has them, and one line for what is wrong."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.errors import InputError, UsageError
from oodometer.store.harness import LogOptions, log_kind, read_logs

from ...snapshots import assert_snapshot, raises_snapshot

LOGS = (
    Path(__file__).parent / "logs"
)  # written by lm-eval 0.4.13 (its dummy model) and inspect-ai 0.3.285
MC = LOGS / "samples_animals_mc_2026-11-22T11-43-31.774448.jsonl"
SUMS = LOGS / "samples_sums_gen_2026-11-22T11-43-31.774448.jsonl"

Row = dict[str, Any]


def choice(
    number: int,
    scores: list[Any],
    options: list[str],
    target: Any,
    *,
    prompts: list[str] | None = None,
    **metrics: Any,
) -> Row:
    """A row as the harness writes it: numbers and the target as text, arguments by name."""
    asked = prompts or [f"Question {number}?"] * len(options)
    pairs = zip(asked, options, strict=True)
    answers = [[str(score), "False"] for score in scores]
    return {
        "doc_id": number,
        "doc": {"question": f"Question {number}?"},
        "target": str(target),
        "arguments": {f"gen_args_{i}": {"arg_0": p, "arg_1": o} for i, (p, o) in enumerate(pairs)},
        "resps": [[one] for one in answers],
        "filtered_resps": answers,
        "filter": "none",
        "metrics": list(metrics),
        **metrics,
    }


def written(number: int, text: Any, filter: str = "none", **metrics: Any) -> Row:
    asked = {"gen_args_0": {"arg_0": f"Question {number}?", "arg_1": {"until": ["\n"]}}}
    return {
        "doc_id": number,
        "doc": {},
        "target": "4",
        "arguments": asked,
        "resps": [[text]],
        "filtered_resps": [text],
        "filter": filter,
        "metrics": list(metrics),
        **metrics,
    }


def put(
    folder: Path, rows: list[Row], name: str = "samples_quiz_2026-01-02T03-04-05.678.jsonl"
) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Any, **options: Any) -> Any:
    return read_logs(path, LogOptions(**options))


def remarks(result: Any) -> str:
    """All that is said of the choices that were made, and of what is odd."""
    return " | ".join((*result.warnings, *result.notes))


def refused(path: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_accuracy_is_the_mean_of_the_log(metric: str) -> None:
    rows = [json.loads(line) for line in MC.read_text().splitlines()]
    found = read(MC, metric=metric)
    assert found.record.accuracy == np.mean([row[metric] for row in rows])
    assert found.record.label.tolist() == [row["doc"]["gold"] for row in rows]
    assert found.tasks == ("animals_mc",)
    assert found.record.group.tolist() == ["animals_mc"] * 3
    assert found.record.columns["id"].tolist() == ["0", "1", "2"]


def test_scores_are_the_log_likelihoods_and_their_softmax_the_confidence() -> None:
    record = read(MC).record
    first = [-0.11713429320851798, -0.22046053686782852, -0.7945829717105759]
    assert record.candidate_scores.values[:3].tolist() == first
    assert record.candidate_scores.lengths.tolist() == [3, 2, 4]
    assert record.confidence[0] == pytest.approx(math.exp(first[0]) / sum(map(math.exp, first)))


def test_length_is_counted_in_characters_or_bytes_without_the_blank_before(tmp_path: Path) -> None:
    options = [" ééé", " abcd"]  # 3 and 4 characters, 6 and 4 bytes
    row = choice(0, [-3.0, -4.2], options, 0, acc=1.0, acc_norm=1.0, acc_bytes=1.0)
    path = put(tmp_path, [row])
    by_character = read(path, metric="acc_norm").record.candidate_scores.values.tolist()
    assert by_character == pytest.approx([-1.0, -1.05])
    assert read(path, metric="acc_bytes").record.candidate_scores.values.tolist() == pytest.approx(
        [-0.5, -1.05]
    )
    assert read(path).record.candidate_scores.values.tolist() == [-3.0, -4.2]
    path = put(tmp_path, [choice(0, [-3.0, -4.2], options, 0, acc_bytes=1.0)])
    assert read(path).record.candidate_scores.values.tolist() == pytest.approx([-0.5, -1.05])


@pytest.mark.parametrize(
    ("options", "targets", "labels"),
    [
        ([" A", " B", " C"], ["2", "1"], [2, 1]),
        ([" A", " B", " C"], ["C", "B"], [2, 1]),
        ([" cat", " dog", " cow"], ["cow", "dog"], [2, 1]),
        ([" cat", " dog", " cow"], ["(C)", "(B)"], [2, 1]),
        (
            [" 2", " 1", " 0"],
            ["0", "1"],
            [2, 1],
        ),  # the metric says that these are texts, not positions
    ],
)
def test_targets_are_read_so_that_they_give_the_metric(
    tmp_path: Path, options: list[str], targets: list[str], labels: list[int]
) -> None:
    rows = [
        choice(0, [-3, -2, -1], options, targets[0], acc=1.0),
        choice(1, [-1, -2, -3], options, targets[1], acc=0.0),
    ]
    record = read(put(tmp_path, rows)).record
    assert record.label.tolist() == labels
    assert record.correct is None
    assert record.verdicts.tolist() == [1, 0]


def test_targets_that_can_be_read_in_two_ways_give_no_label(tmp_path: Path) -> None:
    rows = [
        choice(0, [-3, -2, -1], [" 2", " 0", " 1"], "0", acc=0.0)
    ]  # the first option, or the one that says 0
    record = read(put(tmp_path, rows)).record
    assert record.label is None
    assert record.verdicts.tolist() == [0]


def test_several_right_options_give_correct_without_a_label(tmp_path: Path) -> None:
    rows = [
        choice(0, [-3, -2, -1], [" a", " b", " c"], [1, 2], acc=1.0),
        choice(1, [-1, -2, -3], [" a", " b", " c"], [2], acc=0.0),
    ]
    record = read(put(tmp_path, rows)).record
    assert record.label is None
    assert record.verdicts.tolist() == [1, 0]


def test_of_two_options_in_the_prompts_the_metric_tells_the_right_one(tmp_path: Path) -> None:
    rows = [
        choice(
            0, [-2, -1], [" was hungry"] * 2, "was hungry", prompts=["The cat", "The dog"], acc=0.0
        ),
        choice(1, [-2, -1], [" was late"] * 2, "was late", prompts=["The man", "The bus"], acc=1.0),
    ]
    assert read(put(tmp_path, rows)).record.label.tolist() == [0, 1]


def test_options_without_a_prompt_are_no_candidates(tmp_path: Path) -> None:
    options, prompts = [" a", " b"] * 2, ["Q"] * 2 + [""] * 2
    rows = [
        choice(
            0, [-1.0, -2.0, -0.5, -3.0], options, 0, prompts=prompts, acc=1.0, acc_mutual_info=0.0
        )
    ]
    path = put(tmp_path, rows)
    assert read(path).record.candidate_scores.values.tolist() == [-1.0, -2.0]
    assert read(path, metric="acc_mutual_info").record.candidate_scores.values.tolist() == [
        -0.5,
        1.0,
    ]


@pytest.mark.parametrize(("metric", "right"), [("acc", [1, 0]), ("acc_mutual_info", [1, 1])])
def test_options_with_and_without_the_prompt_that_the_harness_mixed_up(
    tmp_path: Path, metric: str, right: list[int]
) -> None:
    """Earlier releases read every second request as one without the prompt; asked alone, options lack their blank."""
    options, prompts = [" a", " b", " c", " d", "a", "b", "c", "d"], ["Q"] * 4 + [""] * 4
    scores = [
        [-1.0, -2.0, -3.0, -4.0, -0.5, -0.1, -0.2, -9.0],
        [-3.0, -9.0, -1.0, -2.0, -5.0, -5.0, -5.0, -6.0],
    ]
    targets = [
        3,
        0,
    ]  # the best of the first four is 0 and 2, with the others subtracted it is 3 and 2
    verdicts = {
        "acc": [1, 0],
        "acc_mutual_info": [1, 1],
    }  # of each second one it is 3 and 1, and 3 and 0
    rows = [
        choice(
            i,
            scores[i],
            options,
            targets[i],
            prompts=prompts,
            **{k: float(v[i]) for k, v in verdicts.items()},
        )
        for i in range(2)
    ]
    found = read(put(tmp_path, rows), metric=metric)
    assert found.record.candidate_scores.lengths.tolist() == [4, 4]
    assert found.record.verdicts.tolist() == right
    assert_snapshot(remarks(found))
    assert read(
        put(tmp_path, rows), metric=f"{metric}>=1"
    ).record.candidate_scores.lengths.tolist() == [4, 4]


def test_minus_infinity_is_a_log_likelihood(tmp_path: Path) -> None:
    """The harness takes the largest; nothing but minus infinity is a tie, which the first wins."""
    options = [" a", " bb", " ccc"]
    rows = [
        choice(0, [-1.0, "-inf", -3.0], options, 0, acc=1.0, acc_norm=0.0),
        choice(1, ["-inf", "-inf", -3.0], options, 1, acc=0.0, acc_norm=0.0),
        choice(2, ["-inf", "-inf", "-inf"], options, 0, acc=1.0, acc_norm=1.0),
    ]
    found = read(put(tmp_path, rows))
    assert found.record.verdicts.tolist() == [1, 0, 1]
    assert found.record.confidence == pytest.approx([1 / (1 + math.exp(-2)), 1.0, 1 / 3])
    assert_snapshot(found.notes)


def test_filters_without_a_name_are_counted(tmp_path: Path) -> None:
    """As release 0.4.5 wrote them: all rows of one filter, then all of the next, and no word of it."""
    verdicts = [[1, 0, 0], [1, 1, 0]]
    rows = [
        written(i, f"{k}", exact_match=float(v))
        for k, one in enumerate(verdicts)
        for i, v in enumerate(one)
    ]
    for row in rows:
        del row["filter"], row["metrics"]
    path = put(tmp_path, rows)
    result = read(path)
    assert result.record.verdicts.tolist() == verdicts[0]
    assert_snapshot(remarks(result))
    for options in (
        {"filter": "2"},
        {"metric": "quiz=exact_match:2"},
        {"metric": ["exact_match:2"]},
    ):
        result = read(path, **options)
        assert result.record.verdicts.tolist() == verdicts[1]
        assert result.record.output.tolist() == ["1"] * 3
        assert result.metrics == ("exact_match,2",)
    assert read(put(tmp_path, rows[:3]), filter="none").record.verdicts.tolist() == verdicts[0]


def test_several_answers_to_one_prompt_are_a_text(tmp_path: Path) -> None:
    rows = [written(i, ["yes", "True"], exact_match=1.0) for i in range(2)]
    assert read(put(tmp_path, rows)).record.output.tolist() == ['["yes", "True"]'] * 2
    put(tmp_path, [written(0, ["4"], exact_match=1.0)])
    assert read(tmp_path).record.output.tolist() == ["4"]
    mixed = {
        **written(0, "x", exact=1.0),
        "filtered_resps": ["x", ["-1.0", "False"]],
    }  # as of SQuAD 2
    put(tmp_path, [mixed], "samples_squad.jsonl")
    result = read(tmp_path)
    assert result.tasks == ("quiz",)
    assert_snapshot(result.warnings[0])


def test_an_answer_that_no_filter_found_counts_as_the_metric_has_it(tmp_path: Path) -> None:
    rows = [
        written(i, text, exact_match=float(text == "4"))
        for i, text in enumerate(("4", None, "[invalid]"))
    ]
    record = read(put(tmp_path, rows)).record
    assert record.verdicts.tolist() == [1, 0, 0]
    assert record.output.tolist() == ["4", "", "[invalid]"]


def test_the_first_metric_is_read_whatever_it_holds_and_the_others_are_named(
    tmp_path: Path,
) -> None:
    """A score is not passed over for another metric that happens to be 0 or 1."""
    rows = [
        written(i, "x", **{"pass@1": share, "pass@5": float(share > 0)})
        for i, share in enumerate((0.2, 0.0, 1.0))
    ]
    result = read(put(tmp_path, rows))
    assert result.record.score.tolist() == [0.2, 0.0, 1.0]
    assert result.record.correct is None
    assert result.metrics == ("pass@1",)
    assert result.record.columns["metric"].tolist() == ["pass@1"] * 3
    assert result.record.columns["pass@5"].tolist() == [1.0, 0.0, 1.0]
    assert_snapshot(remarks(result))
    assert read(put(tmp_path, rows), metric="quiz=pass@5").record.verdicts.tolist() == [1, 0, 1]
    assert read(put(tmp_path, rows), metric="pass@1>=0.5").record.verdicts.tolist() == [0, 0, 1]
    assert_snapshot(refused(put(tmp_path, rows), metric="bleu"))


def test_lists_of_verdicts_are_shares_with_the_mean_of_all_entries(tmp_path: Path) -> None:
    rows = [
        written(i, "x", strict=float(i == 0), each=[i == 0, True, True][: 2 + (i > 2)])
        for i in range(4)
    ]
    result = read(put(tmp_path, rows), metric="each")
    assert result.record.score.tolist() == pytest.approx([1.0, 0.5, 0.5, 2 / 3])
    assert_snapshot(remarks(result))
    assert_snapshot(remarks(read(put(tmp_path, rows))))


def test_pairs_of_classes_tell_whether_they_agree(tmp_path: Path) -> None:
    """As the harness has f1 and mcc; without `acc` beside them they are what there is."""
    pairs = [(0, 0), (1, 0), (1, 1), (0, 0)] * 3
    rows = [choice(i, [-1 - answer, -2 + answer], [" no", " yes"], truth, mcc=[truth, answer])
            for i, (truth, answer) in enumerate(pairs)]  # fmt: skip
    result = read(put(tmp_path, rows))
    assert result.record.verdicts.tolist() == [1, 0, 1, 1] * 3
    assert result.record.classes == ("no", "yes")
    assert_snapshot(remarks(result))
    with_acc = [
        {**row, "acc": float(t == a), "metrics": ["mcc", "acc"]}
        for row, (t, a) in zip(rows, pairs, strict=True)
    ]
    result = read(put(tmp_path, with_acc))
    assert result.metrics == ("acc",)
    assert_snapshot(remarks(result))
    assert oodometer.evaluate(result.record).metrics["mcc"].value == pytest.approx(3**-0.5)


def test_options_that_all_rows_share_are_classes(tmp_path: Path) -> None:
    def rows(options: list[str], count: int) -> list[Row]:
        return [choice(i, [-1, -2], options, i % 2, acc=float(i % 2 == 0)) for i in range(count)]

    record = read(put(tmp_path, rows([" no", " yes"], 10))).record
    assert (record.classes, record.label.tolist()) == (("no", "yes"), [0, 1] * 5)
    for letters_or_few in (rows([" A", " B"], 10), rows([" no", " yes"], 9)):
        record = read(put(tmp_path, letters_or_few)).record
        assert record.classes is None
        assert record.candidate_scores is not None


def test_spans_of_named_entities(tmp_path: Path) -> None:
    pairs = [["PER: a $$ LOC: b", ["per: a"]], ["DATE: c", ["loc: c"]], ["", [""]]]
    result = read(put(tmp_path, [written(i, "x", f1=pair) for i, pair in enumerate(pairs)]))
    assert result.record.score.tolist() == pytest.approx([2 / 3, 0, 1])
    assert_snapshot(remarks(result))


def test_without_a_metric_of_rows_the_answer_may_be_held_against_the_target(tmp_path: Path) -> None:
    """Corpus metrics, and runs with --predict_only."""
    for metrics in ({"bleu": ["four", "4"]}, {"bypass": 999}):
        path = put(
            tmp_path, [written(i, text, **metrics) for i, text in enumerate(("4", "four", " 4 "))]
        )
        assert_snapshot(refused(path))
        assert read(path, metric="target").record.verdicts.tolist() == [1, 0, 1]


def test_a_threshold_outside_of_the_scale_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, [written(i, "x", judge=value) for i, value in enumerate((1, 5, 4, 2))])
    said = refused(path, metric="judge>=0.5")
    assert_snapshot(said)
    assert "`--metric 'judge>=4'`" in said
    assert_snapshot(refused(path, metric="judge>=6"))
    assert read(path, metric="judge>=4").record.verdicts.tolist() == [0, 1, 1, 0]
    assert read(path).record.score.tolist() == [1, 5, 4, 2]


def test_a_share_may_count_from_a_threshold_on(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        [choice(i, [-1, -2], [" a", " b"], 0, acc=share) for i, share in enumerate((0.7, 0.2))],
    )
    assert read(path).record.score.tolist() == [0.7, 0.2]
    record = read(path, metric="acc>=0.5").record
    assert record.verdicts.tolist() == [1, 0]
    assert record.label is None


def test_filters_are_told_apart() -> None:
    assert_snapshot(refused(SUMS, filter="odd"))
    remark = "sums_gen: read by the filter strict, the first of 2; 2 of 2 answers are empty or could not be parsed; "
    assert read(SUMS).warnings == (
        f"{remark}exact_match by loose is 0.5: `--metric sums_gen=exact_match:loose`",
    )
    result = read(SUMS, filter="loose", keep_input=True)
    assert result.record.output.tolist() == ["lol", "lol"]
    assert result.record.input.tolist() == ["2+2=", "Say lol"]
    assert result.record.verdicts.tolist() == [0, 1]
    assert result.record.confidence is None
    assert "no confidence" in remarks(result)


def test_releases_up_to_0_4_2(tmp_path: Path) -> None:
    """One indented array, arguments as lists, numbers as numbers, no filter and no names of metrics."""
    row = {
        "doc_id": 7,
        "doc": {"q": 1},
        "target": 1,
        "arguments": [["Q", " a"], ["Q", " bcd"]],
        "resps": [[[-1.5, False]], [[-2.0, True]]],
        "filtered_resps": [[-1.5, False], [-2.0, True]],
        "acc": 0.0,
        "acc_norm": 1.0,
    }
    path = tmp_path / "model_quiz.jsonl"
    path.write_text(json.dumps([row], indent=2))
    assert log_kind(path) == "lm_eval"
    assert read(path).record.verdicts.tolist() == [0]
    assert read(path, metric="acc_norm").record.verdicts.tolist() == [1]
    path.write_text(json.dumps([row, {**row, "doc_id": 8}, row]))
    assert_snapshot(refused(path))


def test_folder_and_gzip_give_one_record_with_a_group_for_each_task(tmp_path: Path) -> None:
    put(
        tmp_path,
        [choice(0, [-1, -2], [" a", " b"], 0, acc=1.0)],
        "samples_one_2026-01-02T03-04-05.6.jsonl",
    )
    rows = [choice(i, [-1, -2, -3], [" a", " b", " c"], i, acc=float(i == 0)) for i in range(3)]
    with gzip.open(tmp_path / "samples_two.jsonl.gz", "wt") as stream:
        stream.write("\n".join(map(json.dumps, rows)))
    (tmp_path / "results_2026.json").write_text('{"results": {}, "configs": {}}')
    found = read(tmp_path)
    assert found.tasks == ("one", "two")
    assert found.record.columns["id"].tolist() == ["one/0", "two/0", "two/1", "two/2"]
    assert found.record.group.tolist() == ["one", "two", "two", "two"]
    assert found.record.verdicts.tolist() == [1, 1, 0, 0]
    assert read(tmp_path, metric="two=acc>=1").metrics == ("acc", "acc>=1")
    for wrong in ({"metric": "three=acc"}, {"metric": "f1"}, {"filter": "loose"}):
        assert_snapshot(refused(tmp_path, **wrong))
    put(tmp_path, [written(0, "4", f1=0.5)], "samples_three.jsonl")
    put(tmp_path, [written(0, "x", bleu=["x", "y"])], "samples_four.jsonl")
    result = read(tmp_path)
    assert result.tasks == ("one", "three", "two")
    assert result.record.score.tolist() == [1, 0.5, 1, 0, 0], (
        "what is right is 1 of what is graded elsewhere"
    )
    assert result.left_out["candidate_scores"] == ("one", "two")
    assert result.parts["two"].candidate_scores is not None
    assert result.parts["two"].columns["id"].tolist() == ["0", "1", "2"]
    assert "left out: " in remarks(result)
    assert_snapshot(remarks(result))


def test_a_passage_that_questions_share_is_a_column_by_which_they_are_clusters(
    tmp_path: Path,
) -> None:
    long = "A passage of more than forty letters, of which the first forty stay. "
    rows = [
        {
            **written(i, "4", acc=1.0),
            "doc": {"passage": f"{long}{i // 2}", "question": "?", "context": i, "story": "a"},
        }
        for i in range(6)
    ]
    put(tmp_path, rows)
    put(
        tmp_path,
        [written(i, "4", acc=0.0) for i in range(3)],
        "samples_alone_2026-01-02T03-04-05.678.jsonl",
    )
    record = read(tmp_path).record
    passages = record.columns["passage"].tolist()
    assert [passage is None for passage in passages] == [True] * 3 + [False] * 6
    assert len({*passages[3:]}) == 3
    assert all(passage.startswith(f"{long[:40]}...") for passage in passages[3:])
    assert not {"context", "story", "question"} & {*record.columns}  # each its own, or one for all


def test_a_line_that_is_an_array_is_refused(tmp_path: Path) -> None:
    rows = [json.dumps(choice(day, [-1, -2], [" a", " b"], 0, acc=1.0)) for day in (1, 2, 3)]
    path = tmp_path / "samples_quiz.jsonl"
    path.write_text(f"[{rows[0]}]\n{rows[1]}\n{rows[2]}\n")
    assert_snapshot(refused(path))
    path.write_text(f"{rows[0]}\n[{rows[1]}]\n{rows[2]}\n")
    assert_snapshot(refused(path))
    path.write_text(f"[{', '.join(rows)}]\n\n")
    assert len(read(path).record) == 3


def test_the_newest_run_of_a_task_is_read(tmp_path: Path) -> None:
    below = tmp_path / "org__model"
    below.mkdir()
    for day in (1, 2):
        row = choice(day, [-1, -2], [" a", " b"], 0, acc=1.0)
        put(below, [row], f"samples_quiz_2026-01-0{day}T03-04-05.6.jsonl")
    put(
        below,
        [choice(7, [-1, -2], [" a", " b"], 0, acc=1.0)],
        "samples_old_2025-01-01T03-04-05.6.jsonl",
    )
    result = read(tmp_path)
    assert result.record.columns["id"].tolist() == ["old/7", "quiz/2"]
    assert_snapshot(remarks(result))
    put(below, [row], "samples_quiz.jsonl")
    assert read(below).record.columns["id"].tolist() == ["old/7", "quiz/2"], (
        "one without a date is older"
    )
    both = sorted(map(str, below.glob("samples_quiz_*")))
    assert_snapshot(refused(both))
    other = tmp_path / "org__other"
    other.mkdir()
    put(other, [row])
    assert f"`oodometer read {other} --out org__other.parquet`" in refused(tmp_path)


def results(
    folder: Path,
    name: str = "results_2026-01-02T03-04-05.678.json",
    task: str = "quiz",
    **parts: Any,
) -> Path:
    """A results file beside the samples, as releases from 0.4.3 on write it."""
    whole = {
        "results": {task: {"alias": task, "exact_match,none": 0.5, "exact_match_stderr,none": 0.1}},
        "configs": {
            task: {"task": task, "metric_list": [{"metric": "exact_match", "aggregation": "mean"}]}
        },
        "n-samples": {task: {"original": 9, "effective": 4}},
        "config": {"model": "hf", "model_args": "pretrained=org/model,dtype=float16"},
    }
    path = folder / name
    path.write_text(json.dumps(whole | parts))
    return path


def test_results_beside_the_samples_name_model_and_metric_and_are_held_against_them(
    tmp_path: Path,
) -> None:
    rows = [written(i, "x", f1=0.25, exact_match=float(i < 2)) for i in range(4)]
    path = put(tmp_path, rows)
    assert read(path).metrics == ("f1",), "without results the first of the log"
    source = results(tmp_path)
    result = read(path)
    limited = "quiz: the run was limited to 4 of 9 questions"
    assert (result.model, result.metrics, result.warnings) == (
        "org/model",
        ("exact_match",),
        (limited,),
    )
    put(tmp_path, rows[:3])
    partial = (
        "quiz: partial: 3 samples are in the log, 4 in "
        "results_2026-01-02T03-04-05.678.json; exact_match is 0.6667"
    )
    assert partial in remarks(read(path))
    put(tmp_path, [*rows, *({**row, "filter": "other"} for row in rows[:3])])
    assert "quiz: partial: 3 samples are in the log, 4 in" in remarks(read(path)), (
        "of one of the filters"
    )
    put(tmp_path, rows)
    results(tmp_path, results={"quiz": {"exact_match,none": 0.75}})
    said = refused(path)
    assert_snapshot(said)
    _, remedy, _ = said.split("`")
    assert_snapshot(remarks(read(path, metric=remedy.split()[1])))
    source.write_text("{")
    assert_snapshot(refused(path))


def test_runs_of_two_models_in_one_folder_are_refused(tmp_path: Path) -> None:
    for day, model in ((1, "org/a"), (2, "org/b")):
        put(
            tmp_path,
            [written(0, "x", exact_match=1.0)],
            f"samples_quiz_2026-01-0{day}T03-04-05.6.jsonl",
        )
        results(tmp_path, f"results_2026-01-0{day}T03-04-05.6.json", results={"quiz": {}}, model_name=model,
            **{"n-samples": {}})  # fmt: skip
    said = refused(tmp_path)
    assert_snapshot(said)
    assert (
        f"`oodometer read {tmp_path}/samples_quiz_2026-01-02T03-04-05.6.jsonl --out samples_quiz"
        in said
    )


def test_results_choose_the_filter_and_pass_over_metrics_of_which_less_is_better(
    tmp_path: Path,
) -> None:
    rows = [
        written(i, "x", name, ppl=2.0, exact_match=float(name == "b"))
        for name in "ab"
        for i in range(4)
    ]
    path = put(tmp_path, rows)
    config = {
        "metric_list": [{"metric": "ppl", "higher_is_better": False}, {"metric": "exact_match"}]
    }
    config["filter_list"] = [{"name": "b"}, {"name": "a"}]
    results(
        tmp_path,
        configs={"quiz": config},
        results={"quiz": {"exact_match,b": 1.0, "exact_match,a": 0.0}},
    )
    assert read(path).metrics == ("exact_match,b",)
    assert read(path, metric="exact_match:a").metrics == ("exact_match,a",)
    assert read(path, metric="ppl").record.score.tolist() == [2.0] * 4


def test_releases_up_to_0_4_2_have_results_without_a_date(tmp_path: Path) -> None:
    path = put(tmp_path, [written(0, "x", exact_match=1.0)], "pretrained__org__model_my_quiz.jsonl")
    totals = {"my_quiz": {"exact_match,none": 1.0}, "quiz": {"exact_match,none": 0.0}}
    results(tmp_path, "results.json", results=totals, configs={}, **{"n-samples": {}})
    result = read(path)
    assert (result.tasks, result.model) == (("my_quiz",), "org/model")


GOOD = choice(0, [-1.0, -2.0], [" a", " b"], 0, acc=1.0)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (
            choice(1, [-1.0, "nan"], [" a", " b"], 0, acc=1.0),
            "row 2: column filtered_resps: expected a log-likelihood",
        ),
        (
            choice(1, [-1.0, "inf"], [" a", " b"], 0, acc=1.0),
            "row 2: column filtered_resps: expected a log-likelihood",
        ),
        (
            choice(1, [-1.0, -2.0], [" a", " b"], 2, acc=0.0),
            "row 2: column target: expected a position below 2",
        ),
        (
            choice(1, [-1.0, -2.0], [" a", " b"], -100, acc=0.0),
            "row 2: column target: expected a position below 2",
        ),
        (
            choice(1, [-1.0, -2.0], [" a", " b"], 1, acc=1.0),
            "row 2: expected acc to say whether the best option is",
        ),
        (
            choice(1, [-1.0, -2.0], [" a", " b"], 1, acc="odd"),
            "row 2: column acc: expected a number, got 'odd'",
        ),
        (
            choice(1, [-1.0, -2.0], [" a", " b"], 1, other=0.0),
            "row 2: expected the metrics acc, as in the rows above",
        ),
        (
            written(1, "lol", acc=1.0),
            "row 2: expected log-likelihoods of several options in each row",
        ),
        (
            {**GOOD, "doc_id": 1, "resps": [], "filtered_resps": None},
            "row 2: expected the model's answers",
        ),
        (
            {"doc_id": 1, "doc": {}},
            "row 2: expected the model's answers (filtered_resps or resps), got none",
        ),
        (GOOD, "row 2: expected each document once"),
    ],
)
def test_one_line_names_the_row(tmp_path: Path, second: Row, said: str) -> None:
    path = put(tmp_path, [GOOD, second])
    message = refused(path)
    assert message.startswith(f"{path}: {said}")


def test_cut_off_and_empty_files(tmp_path: Path) -> None:
    path = put(tmp_path, [GOOD, GOOD])
    path.write_bytes(path.read_bytes()[:-40])
    assert_snapshot(refused(path))
    path.write_text("")
    assert_snapshot(refused(path))
    assert_snapshot(refused(put(tmp_path, [{"text": "a", "label": 1}])))
    assert_snapshot(refused(LOGS.parents[2] / "inference"))
    assert "no such file" in refused(tmp_path / "none.jsonl")


def test_perplexities_are_scores_only_where_asked_for(tmp_path: Path) -> None:
    row = {
        **written(0, "-12.5", word_perplexity=[-12.5, 5]),
        "arguments": {"gen_args_0": {"arg_0": "Some text."}},
    }
    said = refused(put(tmp_path, [row]))
    assert_snapshot(said)
    assert read(put(tmp_path, [row]), metric="word_perplexity").record.score.tolist() == [-2.5]


def test_a_filter_of_another_harness_is_refused() -> None:
    with raises_snapshot(UsageError):
        read(LOGS / "inspect_sums.json", filter="strict")


def test_rows_whose_texts_are_not_looked_at_give_the_same_as_a_plain_loop(tmp_path: Path) -> None:
    """Options that differ, a target that is a position: the row that has neither prompt nor such a target is seen."""
    rng, rows = np.random.default_rng(3), []
    for number in range(60):
        scores = np.round(-9 * rng.random(rng.integers(2, 6)), 3).tolist()
        scores[0] = -math.inf if number == 30 else scores[0]
        gold = int(rng.integers(len(scores)))
        right = float(scores.index(max(scores)) == gold)
        rows.append(
            choice(number, scores, [f" {number} {i}" for i in range(len(scores))], gold, acc=right)
        )
    halves = [
        -1.0,
        -2.0,
        -0.5,
        -3.0,
    ]  # the last row asks for each option without the prompt as well
    rows.append(choice(60, halves, [" x", " y"] * 2, 0, prompts=["Q"] * 2 + [""] * 2, acc=1.0))
    record = read(put(tmp_path, rows)).record
    plain = [[float(pair[0]) for pair in row["filtered_resps"]] for row in rows]
    plain[30][0], plain[60] = min(plain[30][1:]) - 1000, halves[:2]
    assert [record.candidate_scores[i].tolist() for i in range(61)] == plain
    assert record.label.tolist() == [int(row["target"]) for row in rows]
    assert record.verdicts.tolist() == [int(row["acc"]) for row in rows]
    rows[50]["target"] = "9"
    with raises_snapshot(InputError):
        read(put(tmp_path, rows))


def test_more_than_one_value_on_a_line_is_refused(tmp_path: Path) -> None:
    row = choice(0, [-1.0, -2.0], [" a", " b"], 0, acc=1.0)
    path = put(tmp_path, [row])
    path.write_text(f"{json.dumps(row)} {json.dumps(row)}\n")
    with raises_snapshot(InputError):
        read(path)
