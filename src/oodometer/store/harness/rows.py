"""Rows: AlpacaEval's annotations, results of simple-evals and uqlm, and chats, each a JSON of its own form."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from .base import Answers, LogOptions, json_rows, read_json
from .graded import Graded, graded, replies

_SIMPLE = re.compile(
    r"(?P<task>healthbench_(hard|consensus|meta)|[^_]+)_(?P<model>.+?)(_DEBUG)?(_\d{8}_\d{6})?(_allresults)?"
)
_SCORE = re.compile(r"<p>Score: (-?[\d.]+|True|False)</p>")


def read_alpaca(file: str, options: LogOptions) -> Answers:
    """AlpacaEval: ``preference`` is 1 where ``generator_1``, the baseline, is better, 2 where ``generator_2`` is, 1.5
    or 0 for a draw, and a number between for a weighted annotator; ``score`` is preference - 1, whose mean is the win
    rate of ``generator_2``. Annotations without a preference are left out, as there. Outputs that nobody judged
    (``model_outputs.json``) are read as ``output``.
    """
    out = Answers(file, "alpaca_eval")
    rows, names = [], set()
    for row, entry in json_rows(file):
        if "instruction" not in entry:
            got = ", ".join(list(entry)[:5])
            raise InputError("an instruction", got=got, file=file, row=row, remedy="check what wrote the file")
        judged, value = "generator_2" in entry or "preference" in entry, entry.get("preference")
        names.add(str(entry.get("generator_2" if judged else "generator")))
        scores = {}
        if isinstance(value, (int, float)) and value == value:
            if not (1 <= value <= 2 or value == 0):
                remedy = "0 and 1.5 are draws; check what wrote the annotations"
                expected = "a preference between 1 and 2"
                raise InputError(expected, got=str(value), file=file, row=row, column="preference", remedy=remedy)
            scores["win_rate"] = 0.5 if value == 0 else value - 1
        text = entry.get("output_2" if judged else "output")
        name = hashlib.sha256(str(entry["instruction"]).encode()).hexdigest()[:12]  # the same in any order of rows
        more = {} if entry.get("dataset") is None else {"dataset": str(entry["dataset"])}
        asked = str(entry["instruction"])
        rows.append(Graded(row, name, scores, None if text is None else str(text), asked, 1, more, "no preference"))
    if len(names) > 1:
        remedy = "write a file for each model"
        raise InputError("answers of one model", got=", ".join(sorted(names)[:3]), file=file, remedy=remedy)
    out.model = next(iter(names - {"None"}), None)
    graded(out, rows, options)
    if "score" not in out.columns and "correct" in out.columns:  # a win rate, also without a draw
        out.columns["score"] = [float(value) for value in out.columns.pop("correct")]
    return out


def read_simple_evals(file: str, options: LogOptions) -> Answers:
    """simple-evals: the score of each example as its metadata or its page has it, and the assistant's last reply. The
    mean is held against the score of the whole.
    """
    whole = read_json(file)
    named = _SIMPLE.fullmatch(Path(file).stem)
    out = Answers(file, named["task"] if named else Path(file).stem, named["model"] if named else None)
    convos = whole.get("convos") or []
    metadata = (whole.get("metadata") or {}).get("example_level_metadata") or []
    examples: list[Any] = [entry if isinstance(entry, Mapping) else None for entry in metadata]
    if not any(examples):
        pages = whole.get("htmls") or []
        scores = [_SCORE.search(page) if isinstance(page, str) else None for page in pages]
        examples = [None if score is None else {"score": _number(score[1])} for score in scores]
    if not any(examples):
        got = f"{whole.get('score')} for all examples together"
        remedy = "read the file that ends in _allresults.json: an interval needs the score of each example"
        raise InputError("the score of each example", got=got, file=file, remedy=remedy)
    rows, times = [], dict[str, int]()
    for row, entry in enumerate(examples, 1):
        about = entry or {}
        name = str(about.get("prompt_id", row - 1))
        times[name] = times.get(name, 0) + 1  # n_repeats asks each again
        talk = convos[row - 1] if len(convos) == len(examples) else about.get("completion")
        said, asked = replies(talk), about.get("prompt") or (talk[:-1] if isinstance(talk, list) else None)
        prompt = "\n\n".join(str(m.get("content")) for m in asked if isinstance(m, Mapping)) if asked else None
        score = {"score": about["score"]} if isinstance(about.get("score"), (bool, int, float)) else {}
        rows.append(Graded(row, name, score, said[-1] if said else None, prompt, times[name]))
    scored = graded(out, rows, options)
    mean = sum(float(row.scores["score"]) for row in scored) / len(scored)
    asked_for = options.choice(out.task) is not None  # HealthBench clips the mean
    out.check("its total", min(max(mean, 0.0), 1.0), whole.get("score"), len(scored), None, asked_for)
    return out


def _number(text: str) -> float:
    return float(text == "True") if text in ("True", "False") else float(text)


def read_uqlm(file: str, options: LogOptions) -> Answers:
    """uqlm: responses with their confidence scores, in [0, 1], as columns; ``--metric`` names the one that is read as
    ``confidence``, where there are several. It knows no truth.
    """
    data = read_json(file)["data"]
    lists = {name: value for name, value in data.items() if isinstance(value, list)}
    out, said = Answers(file, Path(file).stem), lists.get("responses")
    if not said or any(len(value) != len(said) for value in lists.values()):
        sizes = ", ".join(f"{name} {len(value)}" for name, value in lists.items())
        remedy = "write result.to_dict() as it is"
        raise InputError("as many prompts as responses", got=sizes or "none", file=file, remedy=remedy)
    scores = {}
    for name, values in lists.items():
        if all(isinstance(value, (int, float)) and 0 <= value <= 1 for value in values):
            scores[name.removesuffix("s") if name == "confidence_scores" else name] = [float(value) for value in values]
    name = options.choice(out.task) or next((n for n in ("ensemble_score", "ensemble_scores") if n in scores), None)
    name = name or (next(iter(scores)) if len(scores) == 1 else None)
    if name not in scores:
        remedy = " or ".join(f"`--metric {one}`" for one in scores) or "score the responses first"
        got = ", ".join(scores) or "none"
        raise InputError("one confidence score", got=got, file=file, remedy=remedy)
    out.ids = list(map(str, range(len(said))))
    out.columns = {"output": list(map(str, said)), "confidence": scores[str(name)]}
    out.columns |= {other: values for other, values in scores.items() if other != name}
    if options.keep_input and "prompts" in lists:
        out.columns["input"] = list(map(str, lists["prompts"]))
    return out


def read_chat(file: str, options: LogOptions) -> Answers:
    """A chat a row, as OpenAI writes messages: each reply of the assistant is a row with its own ``output``; what was
    said before is ``input``; replies of one chat are a cluster, its ``chat``.
    """
    out, inputs = Answers(file, Path(file).stem), []
    out.columns = {"output": [], "chat": []}
    for row, entry in json_rows(file):
        talk = entry.get("messages")
        if not isinstance(talk, list) or not all(isinstance(m, Mapping) and "role" in m for m in talk):
            expected, remedy = "a list of messages with role and content", "check what wrote the file"
            raise InputError(expected, got=repr(talk)[:40], file=file, row=row, column="messages", remedy=remedy)
        name = str(entry.get("id", row - 1))
        turns = [i for i, message in enumerate(talk) if message["role"] == "assistant" and replies([message])]
        for number, i in enumerate(turns, 1):
            out.ids.append(name if len(turns) == 1 else f"{name}/{number}")
            out.columns["output"] += replies([talk[i]])
            out.columns["chat"].append(name)
            inputs.append("\n\n".join(f"{m['role']}: {m.get('content')}" for m in talk[:i]))
    if not out.ids:
        remedy = "a model has to answer first: oodometer predict MODEL DATA --out FILE"
        raise InputError("a reply of the assistant", got="none", file=file, remedy=remedy)
    if options.keep_input:
        out.columns["input"] = inputs
    return out
