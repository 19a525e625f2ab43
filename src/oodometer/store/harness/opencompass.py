"""OpenCompass: ``predictions/<model>/<dataset>.json``, and the results with details of each answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from .base import Answers, LogOptions, read_json
from .graded import Graded, candidates, graded
from .squad import exact_match, f1

_VERDICTS = ("correct", "is_correct", "cascade_correct", "score")
_SAID = ("prediction", "predictions", "pred", "origin_prediction")
_LABEL = "label: "


def read_opencompass(file: str, options: LogOptions) -> Answers:
    """Results say what is right (``correct``). Predictions hold answers and the truth alone: of options that were
    scored, the lowest perplexity decides; of what was written ``--metric exact_match`` and ``f1`` compare both as SQuAD
    does, as the task's own postprocessor and evaluator are not in the file.
    """
    path, whole = Path(file), read_json(file)
    out = Answers(file, path.stem, path.resolve().parent.name if path.resolve().parent.name != "results" else None)
    details = whole.get("details") if "details" in whole else whole
    entries = list(details.items()) if isinstance(details, dict) else [(str(i), one) for i, one in enumerate(details)]
    rows: list[Graded] = []
    for row, (name, entry) in enumerate(((k, v) for k, v in entries if k != "type"), 1):
        if not isinstance(entry, Mapping):
            expected, got = "an answer with prediction and gold, or a verdict", repr(entry)[:40]
            raise InputError(expected, got=got, file=file, row=row, remedy="check what wrote the file")
        said = next((entry[key] for key in _SAID if entry.get(key) is not None), None)
        asked, gold = entry.get("prompt", entry.get("origin_prompt")), entry.get("gold")
        if isinstance(asked, list):  # messages
            asked = "\n".join(str(m.get("prompt", m.get("content", ""))) for m in asked if isinstance(m, Mapping))
        name = str(entry.get("example_abbr", name))
        verdict = next((key for key in _VERDICTS if key in entry), None)
        if "details" in whole and verdict is None:
            remedy = "its evaluator gives no verdict a row; read the predictions of this dataset instead"
            expected, got = f"a verdict ({', '.join(_VERDICTS[:3])})", ", ".join(map(str, entry))[:60]
            raise InputError(expected, got=got, file=file, row=row, remedy=remedy)
        if verdict is not None:
            values = entry[verdict] if isinstance(entry[verdict], list) else [entry[verdict]]
            texts = said if isinstance(said, list) and len(said) == len(values) > 1 else [said] * len(values)
            for epoch, (value, text) in enumerate(zip(values, texts, strict=True), 1):
                rows.append(Graded(row, name, {verdict: value}, _text(text), asked, epoch))
            continue
        options_ = {key.removeprefix(_LABEL): entry[key] for key in entry if str(key).startswith(_LABEL)}
        golds = [str(one) for one in (gold if isinstance(gold, list) else [gold]) if one is not None]
        if options_:
            scores: dict[str, Any] = {"acc": str(said) == golds[0]} if golds else {}
        else:
            scores = {"exact_match": exact_match(_text(said), golds), "f1": f1(_text(said), golds)} if golds else {}
        rows.append(Graded(row, name, scores, _text(said), asked, more={"_": (options_, golds)}, why="no gold answer"))
    scored = graded(out, rows, options)
    if "correct" in out.columns and isinstance(whole.get("accuracy"), (int, float)):
        mean, named = sum(out.columns["correct"]) / len(scored), options.choice(out.task) is not None
        out.check("its total", mean, whole["accuracy"] / 100, len(scored), None, named)
    out.columns.pop("_", None)
    if scored and all(row.more.get("_", ({}, []))[0] for row in scored):
        del out.columns["output"]  # the name of an option
        pairs = [row.more["_"] for row in scored]
        perplexities = [[one.get("PPL", one.get("BPB")) for one in named.values()] for named, _ in pairs]
        if all(isinstance(value, (int, float)) for own in perplexities for value in own):
            places = [[*named].index(golds[0]) if golds and golds[0] in named else None for named, golds in pairs]
            candidates(out, scored, [[-float(value) for value in own] for own in perplexities], places)
    return out


def _text(said: Any) -> str:
    """What was said, of a talk of several rounds the last."""
    last = said[-1] if isinstance(said, list) and said else said
    return "" if last is None else str(last)
