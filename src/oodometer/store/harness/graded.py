"""Graded: rows with an id, an answer and its scores, as most harnesses write them, as columns of a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import InputError
from .base import Answers, LogOptions, Metric, choose_metric


class Graded(NamedTuple):
    """One answer: its row in the file, the id of the question, scores by metric (none where it has no verdict, and
    why), answer and prompt as text, which time the question was asked, further columns.
    """

    row: int
    id: str
    scores: Mapping[str, Any]
    output: str | None = None
    input: str | None = None
    epoch: int = 1
    more: Mapping[str, Any] = {}
    why: str = "no score"


def graded(out: Answers, rows: Sequence[Graded], options: LogOptions, usual: Sequence[str] = ()) -> list[Graded]:
    """Fill the answers of a log: ``correct`` where the metric is 0 or 1, ``score`` where it is another number. Rows
    without a score are left out and counted; returns the others. Raises `InputError` for a question that comes twice.
    """
    if not rows:
        raise InputError("at least one row", got="none", file=out.file, remedy="check what wrote the file")
    seen: dict[tuple[str, int], int] = {}
    for row in rows:
        if (first := seen.setdefault((row.id, row.epoch), row.row)) != row.row:
            got, remedy = f"{row.id} as in row {first}", "keep the rows of one run"
            raise InputError("each question once", got=got, file=out.file, row=row.row, remedy=remedy)
    repeated = len({row.epoch for row in rows}) > 1
    names = dict.fromkeys([*usual, *(name for row in rows for name in row.scores)])
    metrics = {name: Metric(name, [row.scores.get(name) for row in rows]) for name in names}
    metrics = {name: metric for name, metric in metrics.items() if {*metric.raw} != {None}} if rows else {}
    scored, wanted = list(rows), options.choice(out.task)
    if metrics or wanted is not None:
        metric = choose_metric(metrics, wanted, out.file)
        scored = [row for row in rows if row.scores.get(metric.name) is not None]
        own = {name: Metric(name, [row.scores.get(name) for row in scored]) for name in metrics}
        own[metric.name].least = metric.least
        out.take(own, own[metric.name], [row.row for row in scored], wanted is not None)
        left_out = [row for row in rows if row.scores.get(metric.name) is None]
        out.skipped += [(f"{row.id}_epoch_{row.epoch}" if repeated else row.id, row.why) for row in left_out]
    out.ids += [row.id for row in scored]
    for name in ("output", *(("input",) if options.keep_input else ())):
        texts = [getattr(row, name) for row in scored]
        if None not in texts:
            out.columns[name] = texts
    if repeated:
        out.columns["epoch"] = [row.epoch for row in scored]
    for name, count in Counter(name for row in scored for name in row.more).items():
        if count == len(scored):
            out.columns[name] = [row.more[name] for row in scored]
    return scored


def candidates(
    out: Answers, scored: Sequence[Graded], scores: Sequence[Sequence[float]], golds: Sequence[int | None]
) -> None:
    """Add ``candidate_scores``, and ``label`` where the best of them is right just where the verdict says so; scores of
    options that decided otherwise tell nothing of the decision and are left out.
    """
    best = [max(range(len(row)), key=row.__getitem__) for row in scores]
    pairs = zip(best, golds, out.columns.get("correct", ()), strict=False)
    if len(scored) == len(scores) and all((b == gold) == right for b, gold, right in pairs) and None not in golds:
        out.columns |= {"candidate_scores": list(scores), "label": list(golds)}
        out.label_decides = True


def replies(messages: Any) -> list[str]:
    """What an assistant said, of a list of messages with roles; parts of a message that are no text are left out."""
    texts = []
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) and message.get("role") == "assistant" else None
        if isinstance(content, list):
            content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        texts += [content] if isinstance(content, str) else []
    return texts
