"""Shapes: how each tool writes a record of answers, as data: where the rows stand, and what a row has where.

A path is names with dots between them: ``a.b`` is b in a, ``a[]`` each entry of the list a, ``a.*`` each value of the
mapping a, ``x_*`` each name that begins so, ``{c:d}`` the rows of a table written as names c and rows d,
``{v=.x,u=.y}`` the entries of lists that stand side by side under names which begin alike and end so, ``1`` the second
entry of a list. Of a row, ``.`` is itself, ``@`` the name that a ``*`` stood for, ``#`` its place in its list, from 1;
``/a`` begins at the object of the line, ``^a`` at the one around the row, ``~a`` at the only object of the file that
has it. ``a|b`` is the first that there is, ``a&b`` the smaller of two numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from ..plain import Strings


@final
@dataclass(frozen=True, kw_only=True)
class Shape:
    """How one tool writes a record of answers.

    kind : its name in code. tool : its name for people.
    marks : names that stand in the first object, or columns of the table; all of one of these. ``*`` begins an ending.
    rows : paths to the rows; the first that leads to some. only : path -> values of the rows that are answers.
    id, epoch, output, input, model, task : paths of these in a row. variant : path of what makes a model
    another system, such as its prompt.
    metrics : name -> path of its number or verdict; ``*`` names each by what the ``*`` of its path stands for.
    listed : paths of a list of metrics, and in an entry of its name and of its number. costs : column -> path of what
    an answer took.
    words : verdicts besides those that are usual -> number. turned : value of ``#`` where the others' wins are told.
    opponent : path of the other model of a battle. weights : verdict -> how many battles it counts for, where not one.
    failed : path -> values of rows that have no grade, as the grader failed; without values: anything. reason : path of
    what the tool says of it.
    apart : path -> value -> what to say of answers that count as wrong and are told apart, as what was not parsed.
    total : path of the mean that the tool states. stem : pattern of the name of the file, with ``model`` or ``task``.
    joined : whether each file has a few rows of one run. merged : whether rows of one id are one answer.
    rater, rating, question : paths of who rated, what was said, and what was asked; then rows are ratings of people.
    """

    kind: str
    tool: str
    marks: tuple[Strings, ...]
    rows: Strings = ("",)
    only: Mapping[str, Strings] = field(default_factory=dict)
    id: str = ""
    epoch: str = ""
    output: str = ""
    input: str = ""
    model: str = ""
    variant: str = ""
    task: str = ""
    metrics: Mapping[str, str] = field(default_factory=dict)
    listed: Strings = ()
    costs: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, float] = field(default_factory=dict)
    turned: str = ""
    opponent: str = ""
    weights: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, Strings] = field(default_factory=dict)
    reason: str = ""
    apart: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    total: str = ""
    stem: str = ""
    joined: bool = False
    merged: bool = False
    rater: str = ""
    rating: str = ""
    question: str = ""


_ALL = (
    Shape(
        kind="promptfoo",
        tool="promptfoo",
        marks=(("promptIdx", "testIdx"), ("evalId", "results", "prompts")),
        rows=("results.results[]", "results[]", ""),
        id="testIdx",
        output="response.output",
        input="prompt.raw",
        model="provider.label|provider.id|provider",
        variant="promptIdx",
        metrics={"success": "success", "score": "score", "*": "namedScores.*"},
        costs={
            "cost": "cost",
            "latency_ms": "latencyMs",
            "total_tokens": "response.tokenUsage.total",
        },
        failed={"failureReason": ("2",)},
        reason="error",
    ),
    Shape(
        kind="evalplus",
        tool="EvalPlus",
        marks=(("eval", "base_status"),),
        rows=("eval.*.[]",),
        id="@",
        epoch="#",
        output="solution",
        metrics={"plus": "base_status&plus_status", "base": "base_status"},
        words={"timeout": 0.0},
        apart={"base_status": {"timeout": "timed out"}, "plus_status": {"timeout": "timed out"}},
    ),
    Shape(
        kind="swebench",
        tool="SWE-bench",
        marks=(("resolved_ids", "unresolved_ids"),),
        rows=("*_ids.[]",),
        only={"@": ("resolved_ids", "unresolved_ids", "empty_patch_ids", "error_ids")},
        id=".",
        metrics={"resolved": "@"},
        words={
            "resolved_ids": 1.0,
            "unresolved_ids": 0.0,
            "empty_patch_ids": 0.0,
            "error_ids": 0.0,
        },
        apart={"@": {"empty_patch_ids": "empty patch", "error_ids": "error of the run"}},
        stem=r"(?P<model>.+)\.[^.]+",
    ),
    Shape(
        kind="swebench_instance",
        tool="SWE-bench, an instance a file",
        marks=(("patch_successfully_applied", "resolved"),),
        rows=("*",),
        id="@",
        metrics={"resolved": "resolved"},
        apart={"patch_successfully_applied": {"false": "patch not applied"}},
        joined=True,
    ),
    Shape(
        kind="deepeval",
        tool="DeepEval",
        marks=(("testRunData",), ("testCases", "metricsData"), ("test_cases", "metrics_data")),
        rows=(
            "testRunData.testCases[]",
            "testCases[]",
            "test_run_data.test_cases[]",
            "test_cases[]",
        ),
        id="name",
        output="actualOutput|actual_output",
        input="input",
        metrics={"success": "success"},
        listed=("metricsData|metrics_data", "name", "score"),
        failed={"metricsData[].error|metrics_data[].error": ()},
    ),
    Shape(
        kind="bigcode",
        tool="bigcode-evaluation-harness",
        marks=(("completion_id", "passed", "result", "task_id"),),
        rows=("*.[]",),
        id="@",
        epoch="#",
        metrics={"passed": "1.passed"},
        apart={"1.result": {"timed out": "timed out"}},
    ),
    Shape(
        kind="human_eval",
        tool="HumanEval",
        marks=(("task_id", "completion", "result", "passed"),),
        id="task_id",
        output="completion",
        metrics={"passed": "passed"},
        apart={"result": {"timed out": "timed out"}},
    ),
    Shape(
        kind="mlflow",
        tool="MLflow",
        marks=(
            ("columns", "data", "*/score"),
            ("columns", "data", "*/value"),
            ("*/value", "*/rationale"),
        ),
        rows=("{columns:data}", ""),
        id="inputs|request|request_id|trace_id",
        output="outputs|predictions|response",
        input="inputs|request",
        metrics={"*": "*/score|*/value|*/rating"},
        costs={
            "latency": "latency",
            "latency_ms": "execution_duration",
            "total_tokens": "token_count",
        },
    ),
    Shape(
        kind="mlflow_traces",
        tool="MLflow, traces with assessments",
        marks=(("trace_id", "assessments"),),
        rows=("traces[]", ""),
        id="client_request_id|info.client_request_id|request|info.request_preview|trace_id|info.trace_id",
        output="response|info.response_preview",
        input="request|info.request_preview",
        listed=("assessments|info.assessments", "assessment_name|name", "feedback.value|value"),
        costs={
            "latency_ms": "execution_duration|execution_time_ms|info.execution_duration_ms|info.execution_time_ms"
        },
        failed={"state|status|info.state|info.status": ("error",)},
    ),
    Shape(
        kind="openai_evals",
        tool="OpenAI evals",
        marks=(("spec", "eval_name"), ("sample_id", "event_id", "run_id")),
        only={"type": ("match", "metrics", "error")},
        id="sample_id",
        output="data.sampled",
        model="~spec.completion_fns.0",
        task="~spec.eval_name",
        metrics={"correct": "data.correct", "score": "data.score", "*": "data.*"},
        failed={"type": ("error",)},
        reason="data.message|data.type",
        apart={"data.choice": {"__invalid__": "choice not parsed"}},
        total="~final_report.accuracy|~final_report.score",
        merged=True,
    ),
    Shape(
        kind="mt_bench",
        tool="MT-Bench",
        marks=(("question_id", "model", "judge", "judgment", "score", "turn"),),
        id="question_id",
        epoch="turn",
        model="model",
        metrics={"score": "score"},
        failed={"score": ("-1", "-1.0")},
    ),
    Shape(
        kind="arena_hard",
        tool="Arena-Hard",
        marks=(("games", "judge", "model", "score"),),
        rows=("games[]",),
        id="/question_id|/uid",
        model="/model",
        opponent="/baseline",
        metrics={"win_rate": "score"},
        words={
            "a>>b": 1.0,
            "a>b": 1.0,
            "a=b": 0.5,
            "b=a": 0.5,
            "b<a": 1.0,
            "b<<a": 1.0,
            "b>a": 0.0,
            "b>>a": 0.0,
            "a<b": 0.0,
            "a<<b": 0.0,
        },
        weights={"a>>b": 3, "b>>a": 3, "a<<b": 3, "b<<a": 3},  # as its own show_result has it
        turned="1",
    ),
    Shape(
        kind="unitxt",
        tool="unitxt",
        marks=(("prediction", "references", "score", "instance"),),
        rows=("samples[]", "instance_scores[]", "*.instance_scores[]", ""),
        id="source",
        output="prediction",
        input="source",
        metrics={"score": "score.instance.score", "*": "score.instance.*"},
    ),
    Shape(
        kind="inspect_samples",
        tool="inspect, a frame of samples",
        marks=(("sample_id", "eval_id", "epoch"),),
        id="id",
        epoch="epoch",
        input="input",
        model="model",
        task="task_name",
        metrics={"*": "score_*"},
        words={"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0},
        costs={name: name for name in ("total_time", "working_time", "total_tokens", "total_cost")},
        failed={"error": ()},
        reason="error",
    ),
    Shape(
        kind="label_studio",
        tool="Label Studio",
        marks=(("annotations", "completed_by", "result"),),
        rows=("annotations[].result[]",),
        only={"^was_cancelled": ("false", "none", "")},
        id="/id",
        rater="^completed_by.email|^completed_by.id|^completed_by",
        rating="value.choices|value.rating|value.number|value.taxonomy|value.text",
        question="from_name",
    ),
    Shape(
        kind="argilla",
        tool="Argilla",
        marks=(("responses", "user_id", "fields"), ("responses", "user_id", "values")),
        rows=("responses.*.[]", "responses[].values.*"),
        id="/id|/_server_id",
        rater="user_id|^user_id",
        rating="value",
        question="@",
    ),
    Shape(
        kind="argilla_flat",
        tool="Argilla, flattened",
        marks=(("*.responses", "*.responses.users"),),
        rows=("{value=.responses,user=.responses.users,status=.responses.status}",),
        only={"status": ("submitted", "none")},
        id="/id|/_server_id",
        rater="user",
        rating="value",
        question="@",
    ),
    Shape(
        kind="argilla_hub",
        tool="Argilla 1, a data set of the hub",
        marks=(("*-suggestion", "*-suggestion-metadata"),),
        rows=("*.[]",),
        only={"status": ("submitted",)},
        id="/external_id|/id",
        rater="user_id",
        rating="value",
        question="@",
    ),
)
SHAPES: Mapping[str, Shape] = {shape.kind: shape for shape in _ALL}


def shape_of(head: bytes) -> Shape | None:
    """The shape of a file of JSON that begins so, None for another."""
    return _first_shape(lambda mark: _mark_bytes(mark) in head)


def shape_of_table(columns: Sequence[str]) -> Shape | None:
    """The shape of a table with these columns, None for another."""
    return _first_shape(
        lambda mark: (
            mark in columns or (mark[0] == "*" and any(name.endswith(mark[1:]) for name in columns))
        )
    )


def _first_shape(holds: Callable[[str], bool]) -> Shape | None:
    for shape in SHAPES.values():
        if any(all(map(holds, marks)) for marks in shape.marks):
            return shape
    return None


def _mark_bytes(mark: str) -> bytes:
    """How a name stands in JSON; of an ending its end."""
    return (mark[1:] if mark.startswith("*") else f'"{mark}').encode() + b'"'


def is_details(columns: Sequence[str]) -> bool:
    """Whether these are the columns of lighteval's details."""
    bare = {name.strip("_") for name in columns}
    old = {"metrics", "predictions", "full_prompt"}
    return old <= bare or {"doc", "metric", "model_response"} <= bare
