"""Inputs on which outsiders got wrong numbers: each gives the right value, or a refusal of one line with a remedy.

The files stand in the folder `cases` beside the real data; the tests are skipped where it is absent.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from oodometer.cli import main
from oodometer.store.harness import LogOptions, read_logs

Answer = dict[str, Any]
Check = Callable[[Answer], bool]


@pytest.fixture(scope="module")
def cases(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files of the cases, unpacked and writable."""
    source = data_dir.parent / "cases"
    if not source.is_dir():
        pytest.skip(f"needs the cases of outsiders in {source}")
    out = tmp_path_factory.mktemp("cases")
    for path in source.rglob("*"):
        if path.is_file() and path.suffix in {
            ".csv",
            ".jsonl",
            ".json",
            ".parquet",
            ".eval",
            ".xz",
        }:
            packed = path.suffix == ".xz"
            content = lzma.decompress(path.read_bytes()) if packed else path.read_bytes()
            (out / (path.stem if packed else path.name)).write_bytes(content)
    for name in ("reference", "analysis", "analysis_target"):
        packed_bytes = (data_dir / "deployed" / f"car_loan_{name}.csv.xz").read_bytes()
        (out / f"car_{name}.csv").write_bytes(lzma.decompress(packed_bytes))
    return out


def near(*path: str, value: float, by: float = 0.006) -> Check:
    """Whether the number at this place of the JSON is the right one."""

    def check(answer: Answer) -> bool:
        at: Any = answer
        for key in path:
            at = at[key]
        return abs(float(at) - value) <= by

    return check


def interval(*path: str, lower: float, upper: float, by: float = 0.02) -> Check:
    """Whether the interval at this place has these ends."""
    return lambda answer: (
        near(*path, "lower", value=lower, by=by)(answer)
        and near(*path, "upper", value=upper, by=by)(answer)
    )


def difference(value: float, lower: float, upper: float) -> Check:
    """Whether the JSON of `compare` has this paired difference of accuracies, in either direction."""

    def check(answer: Answer) -> bool:
        text = json.dumps(answer)
        numbers = [one for one in _intervals(answer) if abs(abs(one["value"]) - abs(value)) < 0.005]
        ends = [
            sorted((abs(one["lower"] - one["value"]), abs(one["upper"] - one["value"])))
            for one in numbers
        ]
        return "difference" in text and any(
            0.7 * (upper - lower) < sum(two) < 1.5 * (upper - lower) for two in ends
        )

    return check


def _intervals(answer: Any) -> Iterator[Answer]:
    if isinstance(answer, dict):
        if {"value", "lower", "upper"} <= answer.keys():
            yield answer
        answer = list(answer.values())
    for one in answer if isinstance(answer, list) else []:
        yield from _intervals(one)


ACCURACY = ("metrics", "accuracy", "value")
CAR = "car_reference.csv car_analysis.csv --map repaid=label --map y_pred=prediction"

# command, what must hold of its JSON (None: only a refusal is right), whether a refusal is right as well
CASES: Sequence[tuple[str, Check | None, bool]] = [
    ("diagnose h_smallref.csv h_small.csv", None, True),
    (
        "audit c24_ref.csv c24_t.csv --labels c24_lab.csv",
        near("label_only", "value", value=0.660),
        False,
    ),
    (
        "audit f1_reference.csv f1_target_unnamed_index.csv --labels f1_labels_unnamed_index.csv",
        near("label_only", "value", value=0.757),
        True,
    ),
    ("evaluate c18_r.csv", near(*ACCURACY, value=0.786), False),
    (
        "audit c18_r.csv c18_t.csv --labels c18_lab.csv",
        near("label_only", "value", value=0.818),
        False,
    ),
    (
        "estimate c28_ref.csv c28_t.csv --labels c28_lab.csv --metric recall:cow",
        lambda a: "recall:cow" not in a["metrics"] and any("cow" in str(s) for s in a["skipped"]),
        True,
    ),
    (
        "audit f1_reference.csv f3_target.csv --labels f3_labels_only_positives.csv",
        lambda a: a["label_only"]["kind"] != "exact" and "random" in str(a["warnings"]),
        True,
    ),
    (
        f"estimate {CAR}",
        lambda a: "y_pred_proba" in str(a["warnings"]) or 0.925 < a["headline"]["value"] < 0.936,
        True,
    ),
    ("estimate pv_ref.csv pv_tgt.csv", lambda a: 0 <= a["headline"]["value"] <= 1, False),
    ("diagnose pv_ref.csv pv_tgt.csv", lambda a: bool(a["kind"]), False),
    ("evaluate unparsed_answers.jsonl", near(*ACCURACY, value=0.30), False),
    (
        "evaluate empty_answer_tokens.jsonl",
        lambda a: a["metrics"]["auc_coverage"]["value"] > 0.9,
        True,
    ),
    ("evaluate clA.jsonl", near(*ACCURACY, value=0.54), False),
    ("evaluate clA.jsonl --cluster group", interval(*ACCURACY[:2], lower=0.36, upper=0.71), False),
    (
        "compare pairA.jsonl pairB.jsonl",
        difference(0.0625, 0.0625 - 0.0596, 0.0625 + 0.0596),
        False,
    ),
    (
        "compare clA.jsonl clB.jsonl --cluster group",
        difference(0.133, 0.133 - 0.26, 0.133 + 0.26),
        False,
    ),
    ("compare mcA.parquet mcB.parquet", difference(8 / 40, -0.03, 0.40), False),
    (
        "estimate human_votes.jsonl judged.jsonl",
        lambda a: (
            abs(a["headline"]["value"] - 0.557) < 0.03
            and a["headline"]["lower"] < 0.5445 < a["headline"]["upper"]
        ),
        False,
    ),
    ("rank mcA.parquet mcB.parquet", lambda a: abs(a["pairs"][0]["p_a_better"] - 0.5) < 0.48, True),
]


# A log is read, then evaluated: log, what must hold of the evaluation
LOGS: Sequence[tuple[str, Check]] = [
    ("inspect_20q_10epochs.eval", interval(*ACCURACY[:2], lower=0.231, upper=0.685)),
    (
        "inspect_cot_mcq_logprobs.eval",
        lambda a: (
            abs(a["metrics"]["accuracy"]["value"] - 0.5975) < 0.001
            and 0.03 < a["metrics"]["ece"]["value"] < 0.06
            and abs(a["metrics"]["auc_coverage"]["value"] - 0.729) < 0.01
        ),
    ),
    (
        "samples_t_mc_f1_2026-11-25T16-00-38.136676.jsonl",
        lambda a: (
            abs(a["metrics"]["f1"]["value"] - 0.5946) < 1e-4
            and abs(a["metrics"]["mcc"]["value"] - 0.2465) < 1e-4
        ),
    ),
]


# The mean of what is right, or of the scores, in each row of a log: by the main metric, and by one that is named
FOLDER_TASKS = {
    "t_mc": 0.35,
    "t_mc_letter": 0.225,
    "t_mc_mi": 0.25,
    "t_mc_f1": 0.625,
    "t_lm": 0,
    "t_gen": 0.3,
}
FOLDER_TASKS |= {"t_rep": 0.225}
MEANS: Sequence[tuple[str, float, Any]] = [
    ("inspect_cot_mcq_logprobs.eval", 0.5975, None),
    ("inspect_quality_and_format.eval", 0.5, None),
    ("inspect_quality_and_format.eval", 1.0, "graded=format_ok"),
    ("inspect_20q_10epochs.eval", 0.45, None),
    ("inspect_judge_1to5.eval", 3.4, None),
    ("lmeval045_acc_mutual_info.jsonl", 0.225, None),
    ("lmeval045_acc_mutual_info.jsonl", 0.15, "acc_mutual_info"),
    ("lmeval045_two_filters.jsonl", 0.3, None),
    ("lmeval045_two_filters.jsonl", 0.2, "exact_match:2"),
    ("samples_ifeval_2026-07-01T15-37-23.337479.jsonl", 1 / 3, None),
    ("samples_ifeval_2026-07-01T15-37-23.337479.jsonl", 2 / 3, "inst_level_strict_acc"),
    ("samples_ner_2026-01-16T15-23-47.285735.jsonl", 0.5, None),
    ("samples_inf_2026-01-01T00-00-00.jsonl", 2 / 6, None),
    ("samples_truthfulqa_mc2_2026-01-01T00-00-00.jsonl", 0.54, None),
    *(
        (f"samples_{task}_2026-11-25T16-00-38.136676.jsonl", mean, None)
        for task, mean in FOLDER_TASKS.items()
    ),
    ("samples_t_gen_2026-11-25T16-00-38.136676.jsonl", 0.2, "t_gen=exact_match:flex"),
    ("samples_t_rep_2026-11-25T16-00-38.136676.jsonl", 0.175, "exact_match:maj"),
]


def _mean(record: Any) -> float:
    """The mean of a record's scores, else of what is right in it."""
    return float((record.verdicts if record.score is None else record.score).mean())


@pytest.mark.parametrize(("log", "mean", "metric"), MEANS)
def test_mean_of_a_log(cases: Path, log: str, mean: float, metric: Any) -> None:
    assert _mean(read_logs(cases / log, LogOptions(metric)).record) == pytest.approx(mean, abs=1e-9)


def test_a_folder_of_seven_tasks_in_one_go(data_dir: Path, tmp_path: Path) -> None:
    folder = data_dir.parent / "cases" / "logs" / "lmeval049_folder"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    result = read_logs(folder)
    assert {task: _mean(part) for task, part in result.parts.items()} == pytest.approx(FOLDER_TASKS)
    groups = result.record.group.tolist()
    assert len(result.record) == 280
    assert {task: groups.count(task) for task in FOLDER_TASKS} == dict.fromkeys(FOLDER_TASKS, 40)
    chosen = read_logs(
        folder, LogOptions(["t_gen=exact_match:flex", "t_rep=exact_match:maj", "t_mc=acc_norm"])
    )
    means = {task: _mean(part) for task, part in chosen.parts.items()}
    assert means == pytest.approx(FOLDER_TASKS | {"t_gen": 0.2, "t_rep": 0.175, "t_mc": 0.325})
    assert _mean(read_logs(folder, LogOptions(filter="flex")).parts["t_gen"]) == pytest.approx(0.2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("commands", "check", "may_refuse"),
    [pytest.param([f"{command} --json -"], *rest, id=command) for command, *rest in CASES]
    + [
        pytest.param(
            [f"read {log} --out {log}.parquet", f"evaluate {log}.parquet --json -"],
            check,
            False,
            id=log,
        )
        for log, check in LOGS
    ],
)
def test_right_value_or_refusal(
    cases: Path,
    commands: Sequence[str],
    check: Check | None,
    may_refuse: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(cases)
    for command in commands:
        capsys.readouterr()
        code = main(command.split())
        said = capsys.readouterr()
        if command == commands[0] and code == 2 and may_refuse:
            assert len(said.err.strip().splitlines()) <= 3
            assert "Traceback" not in said.err
            return
        assert code in (0, 3), said.err
    answer = json.loads(said.out)
    assert check is not None, f"{commands[0]} gave {json.dumps(answer)[:600]}"
    assert check(answer), json.dumps(answer)[:1500]
