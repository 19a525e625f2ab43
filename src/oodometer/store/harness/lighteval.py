"""lighteval: ``details_*.parquet`` of one task, of the releases to 0.9 and of those from 0.10 on."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from ..files import translated
from .base import Answers, LogOptions
from .graded import Graded, candidates, graded

_NAME = re.compile(r"details_(?P<task>.+?)(_\d{4}-\d{2}-\d{2}T[\d.:-]+)?\.parquet")
_USUAL = ("acc", "loglikelihood_acc", "em", "exact_match", "extractive_match")
# In either form: what the columns are read as. Tokens and logits are never read.
_OLD = {"metrics": "metrics", "full_prompt": "input", "predictions": "predictions", "choices": "choices"}
_OLD |= {"gold_index": "gold"}
_NEW = {"metric": "metrics", "doc.query": "input", "model_response.text": "predictions", "doc.choices": "choices"}
_NEW |= {"doc.gold_index": "gold", "model_response.logprobs": "logprobs", "doc.id": "id"}


def is_details(file: str) -> bool:
    """Whether a Parquet file has the columns of details."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        bare = {name.strip("_") for name in pq.read_schema(file).names}
    except (pa.ArrowException, OSError):
        return False
    return {"metrics", "predictions", "full_prompt"} <= bare or {"doc", "metric", "model_response"} <= bare


def read_lighteval(file: str, options: LogOptions) -> Answers:
    """Details as columns of a record: ``correct`` or ``score`` by the metric, ``output`` of what was written,
    ``candidate_scores`` of options whose log-likelihoods, as they are or by length, give the verdicts.
    """
    import pyarrow.parquet as pq

    with translated(file, "Parquet"):
        table = pq.ParquetFile(file)
        leaves = {".".join(p.strip("_") for p in leaf.split(".")): leaf for leaf in _leaves(table.schema_arrow)}
        wanted = _NEW if any(leaf.startswith("doc.") for leaf in leaves) else _OLD
        found = {ours: leaves[theirs] for theirs, ours in wanted.items() if theirs in leaves}
        columns = table.read(columns=list(found.values()))
        values: dict[str, list[Any]] = {}
        for ours, leaf in found.items():
            cells = columns.column(leaf.split(".")[0]).to_pylist()
            for step in leaf.split(".")[1:]:
                cells = [(cell or {}).get(step) for cell in cells]
            values[ours] = cells if ours in ("input", "id") else list(map(_literal, cells))
    named, parts = _NAME.fullmatch(Path(file).name), Path(file).resolve().parts
    model = "_".join(parts[parts.index("details") + 1 : -2]) if "details" in parts[:-2] else None
    out = Answers(file, named["task"].replace("|", ":") if named else Path(file).stem, model or None)
    count, rows = columns.num_rows, []
    many = [values.get(name) or [None] * count for name in ("predictions", "logprobs", "choices", "gold", "id")]
    for row, (said, likely, options_, gold, name) in enumerate(zip(*many, strict=True)):
        metrics = values["metrics"][row]
        if not isinstance(metrics, Mapping):
            remedy = "run lighteval again with its details saved"
            raise InputError("scores by metric", got=repr(metrics)[:40], file=file, row=row + 1, column="metrics",
                             remedy=remedy)  # fmt: skip
        scores = {metric: score for metric, score in metrics.items() if isinstance(score, (bool, int, float))}
        texts = [text for text in (said if isinstance(said, list) else [said]) if isinstance(text, str)]
        asked = values["input"][row] if "input" in values else None
        rows.append(Graded(
            row + 1, str(row if name in (None, "") else name), scores, texts[0] if texts else None,
            asked if isinstance(asked, str) else None,
            more={"_": (likely or said, options_, gold if isinstance(gold, list) else [gold])}))  # fmt: skip
    scored = graded(out, rows, options, _USUAL)
    out.columns.pop("_", None)
    _options(out, scored)
    return out


def _options(out: Answers, scored: list[Graded]) -> None:
    """Scores of the options, if each row has a number for each of them, in the first way that gives the verdicts."""
    likely, golds = [], []
    for row in scored:
        said, options, gold = row.more["_"]
        pairs = [value[0] if isinstance(value, (list, tuple)) and value else value for value in said or ()]
        if not options or len(options) < 2 or len(pairs) != len(options) or len(gold) != 1:
            return
        if not all(isinstance(value, (int, float)) and value - value == 0 for value in pairs):
            return
        likely.append([float(value) for value in pairs])
        golds.append(gold[0] if isinstance(gold[0], int) else None)
    for divides in (False, True):
        if "candidate_scores" not in out.columns:
            lengths = [[max(len(str(text)), 1) if divides else 1 for text in row.more["_"][1]] for row in scored]
            ways = [[s / n for s, n in zip(*pair, strict=True)] for pair in zip(likely, lengths, strict=True)]
            candidates(out, scored, ways, golds)


def _leaves(schema: Any) -> list[str]:
    """Names of the columns, those inside of a struct behind its name; what lies deeper is read with them."""
    out = []
    for field in schema:
        is_struct = field.name.strip("_") in ("doc", "model_response") and str(field.type).startswith("struct")
        inner = [field.type.field(i).name for i in range(field.type.num_fields)] if is_struct else []
        out += [f"{field.name}.{name}" for name in inner] or [field.name]
    return out


def _literal(cell: Any) -> Any:
    """A list or a mapping that was written as its text."""
    if isinstance(cell, str) and cell[:1] in "[{(":
        try:
            return ast.literal_eval(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return cell
    return cell
