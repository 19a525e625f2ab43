"""Classes of logs of evaluation harnesses: what says what is right is not clear, or is not what it seems."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .base import DONE, REFUSED, Call, Kit, Outcome, trial

GROUP = "Logs of evaluation harnesses"
Row = Mapping[str, Any]


def _log(rows: Sequence[Row]) -> str:
    """A samples file of lm-evaluation-harness."""
    lines = []
    for number, row in enumerate(rows):
        own = ("doc_id", "target", "arguments", "filtered_resps", "filter")
        whole = {"doc_id": number, "doc": {}, "target": "0", "arguments": {}, "resps": [], "filtered_resps": ["x"]}
        lines.append({**whole, "metrics": [name for name in row if name not in own], **row})
    return "".join(json.dumps(one) + "\n" for one in lines)


def _asked(scores: Sequence[Any], **more: Any) -> Row:
    """A row of multiple choice."""
    asked = {f"gen_args_{i}": {"arg_0": "Q", "arg_1": f" o{i}"} for i in range(len(scores))}
    return {"filtered_resps": [[str(one), "False"] for one in scores], "arguments": asked, "filter": "none", **more}


def _samples(name: str, came: str, rows: Sequence[Row], words: str | tuple[str, ...], *more: str) -> None:
    @trial(GROUP, name, came, REFUSED, words, ("predict",))
    def _(kit: Kit, form: str) -> Call:
        log = kit.path("samples_t.jsonl", _log(rows))
        return Call([form, str(log), "--out", str(kit.path("p.parquet")), *more])


def _marked(
    name: str, came: str, scores: Sequence[Mapping[str, Any]], words: str | tuple[str, ...], *more: str
) -> None:
    @trial(GROUP, name, came, REFUSED, words, ("predict",))
    def _(kit: Kit, form: str) -> Call:
        output = {"choices": [{"message": {"content": "x"}}]}
        samples = [
            {
                "id": i,
                "epoch": 1,
                "input": "Q",
                "target": "",
                "output": output,
                "scores": {k: {"value": v} for k, v in one.items()},
            }
            for i, one in enumerate(scores)
        ]
        about = {"task": "t", "model": "m", "dataset": {}}
        log = {"version": 2, "status": "success", "eval": about, "samples": samples}
        return Call([form, str(kit.path("log.json", json.dumps(log))), "--out", str(kit.path("p.parquet")), *more])


_samples("several metrics, one of them 0 or 1", "`pass@1` 0.2, `pass@5` 1",
    [{"filter": "none", "pass@1": share, "pass@5": float(share > 0)} for share in (0.2, 0.0, 1.0)],
    ("expected one metric", "--metric pass@5", "--metric 'pass@1>=0.5'"))  # fmt: skip
_samples("a metric between 0 and 1", "`acc` 0.61, as of truthfulqa_mc2",
    [_asked([-1.0, -2.0], acc=share) for share in (0.61, 0.3, 0.8)],
    ("column acc", "mean 0.57", "--metric 'acc>=0.5'"))  # fmt: skip
_samples("a metric that is a list of verdicts", "`[true, false]`, as of ifeval",
    [{"filter": "none", "strict": 1.0, "each": [True, False]}] * 3,
    ("column each", "mean 0.5 of the 6 entries", "--metric strict"), "--metric", "each")  # fmt: skip
_samples("a metric that is a pair for later", '`f1: ["DATE: a", ["per: b"]]`',
    [{"filter": "none", "f1": ["DATE: a", ["per: b"]]}] * 3, ("column f1", "over all rows at once"))  # fmt: skip
_samples("filters that are not named", "each document twice, as release 0.4.5 wrote them",
    [{"doc_id": i % 3, "exact_match": float(i > 2)} for i in range(6)],
    ("1: exact_match (0 or 1, mean 0)", "--filter 2"))  # fmt: skip
_samples("a log-likelihood that is no number", "`nan`", [_asked([-1.0, "nan"], acc=1.0)], ("row 1", "a log-likelihood"))
_marked("several scorers, one of them 0 or 1", "`quality` 0.5, `format_ok` C",
    [{"quality": i / 4, "format_ok": "C"} for i in range(5)],
    ("expected one metric", "quality (mean 0.5", "format_ok (0 or 1, mean 1)"))  # fmt: skip
_marked("marks from 1 to 5", "`judge: 4`", [{"judge": mark} for mark in (1, 2, 4, 5)],
    ("column judge", "mean 3", "--metric 'judge>=4'"))  # fmt: skip
_marked("a threshold of another scale", "`--metric 'judge>=0.5'` of marks from 1 to 5",
    [{"judge": mark} for mark in (1, 2, 4, 5)], ("a threshold within the scale, 1 to 5", "--metric 'judge>=4'"),
    "--metric", "judge>=0.5")  # fmt: skip


@trial(GROUP, "a log that is taken for predictions", "`samples_t.jsonl`", REFUSED,
    ("the log of an evaluation", "`oodometer read"), ("evaluate", "estimate", "compare"))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    log = str(kit.path("samples_t.jsonl", _log([_asked([-1.0, -2.0], acc=1.0)])))
    return Call([form, *[log] * (1 if form == "evaluate" else 2)])


@trial(GROUP, "logs of two kinds in a folder", "options that were scored, and texts", REFUSED,
    ("logs that go into one file", "samples_b.jsonl", "`oodometer read"), ("predict",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    (kit.folder / "logs").mkdir()
    kit.path("logs/samples_a.jsonl", _log([_asked([-1.0, -2.0], acc=1.0)]))
    kit.path("logs/samples_b.jsonl", _log([{"filter": "none", "exact_match": 1.0}]))
    return Call([form, str(kit.folder / "logs"), "--out", str(kit.path("p.parquet"))])


@trial(GROUP, "minus infinity", "a log-likelihood of an option", DONE, (), ("predict",))
def _(kit: Kit, form: str) -> Call:
    rows = [_asked([-1.0, "-inf", -3.0], acc=1.0), _asked(["-inf", "-inf", -3.0], acc=0.0)]
    log, answer = kit.path("samples_t.jsonl", _log(rows)), kit.path("answer.json")

    def wrong(found: Outcome) -> str | None:
        value = json.loads(answer.read_text())["accuracy"]["value"]
        return None if value == 0.5 else f"accuracy {value}"

    return Call([form, str(log), "--out", str(kit.path("p.parquet")), "--json", str(answer)], check=wrong)
