"""Small files of each tool of the table of shapes, as the tool writes them, with the number that is right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from .formats import put

RIGHT = [True, False, True, True, False, True, False, True]  # of eight questions


def lines(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def promptfoo_rows() -> list[Any]:
    """Eight tests, and one that ended with an error of the provider."""
    rows = []
    for i, right in enumerate([*RIGHT, False]):
        failed = i == len(RIGHT)
        said = "API error: 429" if failed else None if right else "Expected output to contain x"
        row = {
            "cost": 0.001,
            "error": said,
            "failureReason": 2 if failed else int(not right),
            "gradingResult": {"pass": right, "score": float(right), "componentResults": []},
            "id": f"u{i}",
            "latencyMs": 10 + i,
            "namedScores": {"tone": 0.5},
            "prompt": {"raw": f"Q{i}", "label": "Q"},
            "promptIdx": 0,
            "provider": {"id": "openai:gpt-4.1", "label": ""},
            "response": {"output": f"A{i}", "cached": False},
            "score": float(right),
            "success": right,
            "testIdx": i,
            "vars": {"q": f"Q{i}"},
        }
        rows.append(row)
    return rows


def promptfoo(folder: Path) -> Path:
    results = {"version": 3, "prompts": [{"raw": "{{q}}"}], "results": promptfoo_rows()}
    whole = {"evalId": "eval-abc", "results": results, "config": {}, "shareableUrl": None}
    return put(folder / "output.json", whole)


def promptfoo_lines(folder: Path) -> Path:
    return lines(folder / "output.jsonl", promptfoo_rows())


def evalplus(folder: Path) -> Path:
    """Four problems, two samples each; the tests of the plus set are harder."""
    whole = {}
    for i in range(4):
        base, plus = [RIGHT[2 * i], RIGHT[2 * i + 1]], [RIGHT[2 * i] and i < 2, False]
        whole[f"HumanEval/{i}"] = [
            {
                "task_id": f"HumanEval/{i}",
                "solution": "def f(): ...",
                "base_status": "pass" if b else "fail",
                "plus_status": "pass" if p else "timeout" if i == 3 else "fail",
                "base_fail_tests": [],
                "plus_fail_tests": [],
            }
            for b, p in zip(base, plus, strict=True)
        ]
    return put(
        folder / "m_eval_results.json", {"date": "2026-01-01 00:00", "hash": "a1", "eval": whole}
    )


def swebench(folder: Path) -> Path:
    names = [f"django__django-{i}" for i in range(8)]
    report = {
        "total_instances": 8,
        "submitted_instances": 8,
        "completed_instances": 6,
        "completed_ids": names[:6],
        "incomplete_ids": [],
        "empty_patch_ids": names[6:7],
        "submitted_ids": names,
        "resolved_ids": names[:3],
        "unresolved_ids": names[3:6],
        "error_ids": names[7:],
        "schema_version": 2,
    }
    return put(folder / "agent-7.run_1.json", report)


def swebench_instance(folder: Path) -> Path:
    """A folder for each instance, as the harness leaves them."""
    for i, right in enumerate(RIGHT):
        name = f"django__django-{i}"
        tests = {"FAIL_TO_PASS": {"success": [], "failure": ["t"]}}
        about = {
            "patch_is_None": False,
            "patch_exists": True,
            "patch_successfully_applied": i != 1,
            "resolved": right,
            "tests_status": tests,
        }
        put(folder / "run_1" / "agent-7" / name / "report.json", {name: about})
    return folder / "run_1"


def deepeval(folder: Path) -> Path:
    """Eight test cases, and one whose judge failed."""
    cases = []
    for i, right in enumerate([*RIGHT, False]):
        failed = i == len(RIGHT)
        metric = {
            "name": "Answer Relevancy",
            "threshold": 0.5,
            "success": right,
            "score": None if failed else 0.9 if right else 0.1,
            "strictMode": False,
            "evaluationModel": "gpt-4.1",
            "error": "Evaluation LLM outputted an invalid JSON." if failed else None,
        }
        case = {"name": f"test_case_{i}", "input": f"Q{i}", "actualOutput": f"A{i}"}
        cases.append({**case, "success": right, "metricsData": [metric], "order": i})
    return put(folder / ".latest_test_run.json", {"testRunData": {"testCases": cases}})


def bigcode(folder: Path) -> Path:
    """Logs of HumanEvalPack: of each task the number of the completion and what came of it."""
    whole = {}
    for i in range(4):
        results = []
        for k in range(2):
            right = RIGHT[2 * i + k]
            said = "passed" if right else "timed out" if i == 3 else "failed: "
            about = {"task_id": i, "passed": right, "result": said, "completion_id": k}
            results.append([k, about])
        whole[str(i)] = results
    return put(folder / "logs.json", whole)


def human_eval(folder: Path) -> Path:
    rows = [
        {
            "task_id": f"HumanEval/{i // 2}",
            "completion": "    return 1\n",
            "result": "passed" if right else "failed: AssertionError",
            "passed": right,
        }
        for i, right in enumerate(RIGHT)
    ]
    return lines(folder / "samples.jsonl_results.jsonl", rows)


def mlflow(folder: Path) -> Path:
    """The table of an evaluation: columns, and their cells row by row; the judge failed on the last one."""
    columns = [
        "inputs",
        "ground_truth",
        "outputs",
        "token_count",
        "correctness/v1/score",
        "correctness/v1/justification",
    ]
    scores = [5, 1, 4, 5, 2, 4, 3, None]
    data = [[f"Q{i}", "x", f"A{i}", 7, score, "because"] for i, score in enumerate(scores)]
    return put(folder / "eval_results_table.json", {"columns": columns, "data": data})


def mlflow_table(folder: Path) -> Path:
    """What `mlflow.genai.evaluate(...).result_df.to_csv` writes; the judge failed on the last row."""
    head = "trace_id,request,response,execution_duration,correctness/value,correctness/rationale,correctness/error_code"
    said = ["yes" if right else "no" for right in RIGHT]
    rows = [f"tr-{i},Q{i},A{i},{100 + i},{word},because," for i, word in enumerate(said)]
    path = folder / "result_df.csv"
    path.write_text("\n".join([head, *rows, "tr-8,Q8,A8,108,,,TIMEOUT"]) + "\n")
    return path


def mlflow_traces(folder: Path) -> Path:
    """Traces as `trace.to_dict()` has them, a line each, with a judge's feedback; one failed."""
    rows = []
    for i, right in enumerate([*RIGHT, False]):
        failed = i == len(RIGHT)
        judge = {"source_type": "LLM_JUDGE", "source_id": "openai:/gpt-4.1"}
        about = {"assessment_id": f"a-{i}", "trace_id": f"tr-{i}", "valid": True}
        assessments = [
            {**about, "assessment_name": "expected_response", "expectation": {"value": "x"}},
            {
                **about,
                "assessment_name": "correctness",
                "source": judge,
                "feedback": {"value": right},
            },
        ]
        info = {
            "trace_id": f"tr-{i}",
            "request_preview": f'{{"question": "Q{i}"}}',
            "response_preview": f"A{i}",
            "state": "ERROR" if failed else "OK",
            "execution_duration_ms": 100 + i,
            "trace_metadata": {},
            "assessments": [] if failed else assessments,
        }
        rows.append({"info": info, "data": {"spans": []}})
    return lines(folder / "traces.jsonl", rows)


def openai_evals(folder: Path) -> Path:
    spec = {
        "completion_fns": ["gpt-4.1"],
        "eval_name": "arithmetic.dev.v0",
        "base_eval": "arithmetic",
    }
    rows: list[Any] = [{"spec": spec}]
    for i, right in enumerate(RIGHT):
        about = {"run_id": "r1", "sample_id": f"arithmetic.dev.{i}", "created_by": ""}
        rows.append(
            {
                **about,
                "event_id": 2 * i,
                "type": "sampling",
                "data": {"prompt": f"Q{i}", "sampled": [f"A{i}"]},
            }
        )
        data = {"correct": right, "expected": "x", "picked": f"A{i}", "sampled": f"A{i}"}
        rows.append({**about, "event_id": 2 * i + 1, "type": "match", "data": data})
    failed = {
        "type": "Timeout",
        "message": "timed out",
    }
    rows.append(
        {
            "run_id": "r1",
            "sample_id": "arithmetic.dev.8",
            "event_id": 99,
            "type": "error",
            "data": failed,
        }
    )
    return lines(
        folder / "2601_r1_arithmetic.jsonl", [*rows, {"final_report": {"accuracy": 0.625}}]
    )


def mt_bench_single(folder: Path) -> Path:
    """Grades of four questions with two turns; one grade could not be read."""
    grades = [9, 7, 8, -1, 10, 4, 6, 5]
    rows = [
        {
            "question_id": 81 + i // 2,
            "model": "vicuna-7b",
            "judge": ["gpt-4", "single-v1" if i % 2 == 0 else "single-v1-multi-turn"],
            "user_prompt": "[Instruction]",
            "judgment": f"Rating: [[{grade}]]",
            "score": grade,
            "turn": 1 + i % 2,
            "tstamp": 1700000000.5 + i,
        }
        for i, grade in enumerate(grades)
    ]
    return lines(folder / "gpt-4_single.jsonl", rows)


def mt_bench_models(folder: Path) -> Path:
    """The same judgments, and those of another model, which has a point less in each."""
    path = mt_bench_single(folder)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return lines(
        path,
        [
            *rows,
            *({**row, "model": "alpaca-13b", "score": max(row["score"] - 1, -1)} for row in rows),
        ],
    )


def mt_bench_pair(folder: Path) -> Path:
    wins = [
        ("model_1", "model_1"),
        ("model_2", "model_1"),
        ("tie", "tie"),
        ("model_1", "model_1"),
    ] * 2
    rows = [
        {
            "question_id": 81 + i,
            "model_1": "alpaca-13b",
            "model_2": "vicuna-7b",
            "g1_winner": first,
            "g2_winner": second,
            "judge": ["gpt-4", "pair-v2"],
            "g1_user_prompt": "p",
            "g1_judgment": "[[A]]",
            "g2_user_prompt": "p",
            "g2_judgment": "[[B]]",
            "turn": 1,
            "tstamp": 1700000000.5,
        }
        for i, (first, second) in enumerate(wins)
    ]
    return lines(folder / "gpt-4_pair.jsonl", rows)


def arena_hard(folder: Path) -> Path:
    """Two games a question; in the first one the baseline is A."""
    games = [
        ("A>B", "A>B"),
        ("B>>A", "A>>B"),
        ("A=B", "A=B"),
        ("B>A", "A=B"),
        ("A>>B", "B>>A"),
        ("B>A", "A>B"),
        ("B>A", None),
        ("A=B", "B>A"),
    ]
    rows = [
        {
            "question_id": f"q{i}",
            "model": "my-model",
            "judge": "gpt-4-1106-preview",
            "games": [
                {"user_prompt": "p", "judgment": f"[[{score}]]", "score": score} for score in pair
            ],
        }
        for i, pair in enumerate(games)
    ]
    return lines(folder / "my-model.jsonl", rows)


def unitxt(folder: Path) -> Path:
    rows = [
        {
            "source": f"Q{i}",
            "prediction": f"A{i}",
            "references": ["x"],
            "task_data": "{}",
            "processed_prediction": f"a{i}",
            "processed_references": ["x"],
            "score": {
                "global": {"accuracy": 0.625, "score": 0.625, "score_name": "accuracy"},
                "instance": {
                    "accuracy": float(right),
                    "score": float(right),
                    "score_name": "accuracy",
                },
            },
        }
        for i, right in enumerate(RIGHT)
    ]
    return put(folder / "run_samples.json", {"environment_info": {}, "samples": rows})


def inspect_samples(folder: Path) -> Path:
    """`samples_df(...)` as CSV: four questions in two epochs, and a sample that ended with an error."""
    head = "sample_id,eval_id,log,id,epoch,input,target,score_match,total_time,error"
    rows = [
        f"s{i},e1,l.eval,{i // 2 + 1},{i % 2 + 1},Q{i},x,{'C' if right else 'I'},1.5,"
        for i, right in enumerate(RIGHT)
    ]
    rows.append("s8,e1,l.eval,5,1,Q8,x,,1.5,Timeout")
    path = folder / "samples.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def simpleqa(folder: Path) -> Path:
    words = ["CORRECT", "INCORRECT", "NOT_ATTEMPTED", "CORRECT"] * 2
    return lines(
        folder / "graded.jsonl", [{"id": f"q{i}", "grade": w} for i, w in enumerate(words)]
    )


class Case(NamedTuple):
    """What a file is made by, which kind it is (None: a table), the value of all rows that have one, and how many."""

    make: Callable[[Path], Path]
    kind: str | None
    value: float
    rows: int
    said: str = ""


CASES = {
    "promptfoo": Case(promptfoo, "promptfoo", 5 / 8, 8, "1 of 9 answers have no grade"),
    "promptfoo, lines": Case(promptfoo_lines, "promptfoo", 5 / 8, 8, "not at random"),
    "evalplus": Case(evalplus, "evalplus", 2 / 8, 8),
    "swebench": Case(swebench, "swebench", 3 / 8, 8, "2 of 8 answers count as wrong"),
    "swebench, instances": Case(swebench_instance, "swebench_instance", 5 / 8, 8, "1 of 8 answers"),
    "deepeval": Case(deepeval, "deepeval", 5 / 8, 8, "1 of 9 answers have no grade"),
    "bigcode": Case(bigcode, "bigcode", 5 / 8, 8, "timed out (1)"),
    "human_eval": Case(human_eval, "human_eval", 5 / 8, 8),
    "mlflow": Case(mlflow, "mlflow", 24 / 7, 7, "1 of 8 answers have no grade"),
    "mlflow, a table": Case(mlflow_table, "mlflow", 5 / 8, 8, "1 of 9 answers have no grade"),
    "mlflow, traces": Case(mlflow_traces, "mlflow_traces", 5 / 8, 8, "have no grade: error (1)"),
    "openai_evals": Case(openai_evals, "openai_evals", 5 / 8, 8, "1 of 9 answers have no grade"),
    "mt_bench": Case(mt_bench_single, "mt_bench", 7, 7, "have no grade: -1 (1)"),
    "arena_hard": Case(arena_hard, "arena_hard", 13 / 23, 23, "1 of 16 answers have no grade"),
    "unitxt": Case(unitxt, "unitxt", 5 / 8, 8),
    "inspect_samples": Case(inspect_samples, "inspect_samples", 5 / 8, 8, "Timeout (1)"),
    "simpleqa": Case(simpleqa, None, 4 / 8, 8, "66.7 % of the 6"),
}


# Three raters of eight texts: "a" for A, "b" for B, "." for none.
SAID = {"ann": "AABBABAB", "bob": "AABBABBB", "cyd": "AAB.ABBA"}
WORDS = {"A": "positive", "B": "negative"}


def label_studio(folder: Path) -> Path:
    """An export as JSON; a fourth annotation of the first text was cancelled."""
    tasks = []
    for i in range(8):
        annotations = []
        for k, (who, said) in enumerate(SAID.items()):
            if said[i] == ".":
                continue
            value = {"choices": [WORDS[said[i]]]}
            result = [
                {
                    "id": "r",
                    "from_name": "sentiment",
                    "to_name": "text",
                    "type": "choices",
                    "value": value,
                }
            ]
            annotations.append(
                {
                    "id": 10 * i + k,
                    "completed_by": {"id": k, "email": f"{who}@x.org"},
                    "result": result,
                    "was_cancelled": False,
                    "ground_truth": False,
                    "lead_time": 4.2,
                }
            )
        if i == 0:
            annotations.append(
                {**annotations[0], "completed_by": {"email": "dan@x.org"}, "was_cancelled": True}
            )
        tasks.append(
            {
                "id": i + 1,
                "annotations": annotations,
                "predictions": [],
                "data": {"text": f"T{i}"},
                "meta": {},
            }
        )
    return put(folder / "project-1.json", tasks)


def argilla(folder: Path) -> Path:
    """Records of Argilla 2 as JSON."""
    rows = []
    for i in range(8):
        responses = [
            {"value": WORDS[said[i]], "user_id": who, "status": "submitted"}
            for who, said in SAID.items()
            if said[i] != "."
        ]
        rows.append(
            {
                "id": f"r{i}",
                "fields": {"text": f"T{i}"},
                "metadata": {},
                "suggestions": {
                    "sentiment": {"value": "positive", "score": None, "agent": "model"}
                },
                "responses": {"sentiment": responses},
                "vectors": {},
                "status": "completed",
                "_server_id": f"s{i}",
            }
        )
    return put(folder / "records.json", rows)


def argilla_flat(folder: Path) -> Path:
    """`records.to_list(flatten=True)` as JSON: lists of values and of users beside each other; a draft is no rating."""
    rows = []
    for i in range(8):
        known = {who: WORDS[said[i]] for who, said in SAID.items() if said[i] != "."}
        draft = {"dan": "negative"} if i == 0 else {}
        status = ["submitted"] * len(known) + ["draft"] * len(draft)
        rows.append(
            {
                "id": f"r{i}",
                "status": "completed",
                "_server_id": f"s{i}",
                "text": f"T{i}",
                "sentiment.responses": [*known.values(), *draft.values()],
                "sentiment.responses.users": [*known, *draft],
                "sentiment.responses.status": status,
                "sentiment.suggestion": "positive",
                "sentiment.suggestion.score": 0.9,
                "sentiment.suggestion.agent": "model",
            }
        )
    return put(folder / "records_flat.json", rows)


def argilla_hub(folder: Path) -> Path:
    """A data set that Argilla 1 pushed to the hub, in Parquet: a list of responses in the column of the question."""
    rows = [
        {
            "text": f"T{i}",
            "sentiment": [
                {"user_id": who, "value": WORDS[said[i]], "status": "submitted"}
                for who, said in SAID.items()
                if said[i] != "."
            ],
            "sentiment-suggestion": "positive",
            "sentiment-suggestion-metadata": {"type": None, "score": None, "agent": "model"},
            "external_id": f"r{i}",
            "metadata": "{}",
        }
        for i in range(8)
    ]
    path = folder / "train.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def long_ratings(folder: Path) -> Path:
    """A row for each rating."""
    rows = [
        {"text_id": f"t{i}", "annotator": who, "sentiment": WORDS[said[i]]}
        for who, said in SAID.items()
        for i in range(8)
        if said[i] != "."
    ]
    return lines(folder / "ratings.jsonl", rows)


def wide_ratings(folder: Path) -> Path:
    """A column for each rater."""
    heads = ["text_id", *(f"rater_{who}" for who in SAID)]
    rows = [[f"t{i}", *(WORDS.get(said[i], "") for said in SAID.values())] for i in range(8)]
    path = folder / "wide.csv"
    path.write_text("\n".join(",".join(row) for row in [heads, *rows]) + "\n")
    return path


RATED = {
    "label_studio": label_studio,
    "argilla": argilla,
    "argilla_flat": argilla_flat,
    "argilla_hub": argilla_hub,
    "long": long_ratings,
    "wide": wide_ratings,
}
