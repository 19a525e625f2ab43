"""Pairs for judges: rows of files become right and wrong pairs, each once, balanced; some inputs are held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError, UsageError, near_names
from oodometer.predictions import Predictions
from oodometer.store import RecordSource, Source, as_source
from oodometer.store.columns import Layout
from oodometer.verbs.opening import Opener

from ...datasets.reading import objects
from ...discriminators import Examples, reformatted, sentence_bleu, token_f1


def squeezed(text: str) -> str:
    """The text with one space in the place of each run of white space, none at the ends."""
    return " ".join(text.split())


@dataclass(frozen=True, eq=False)
class TextRows:
    """One file's rows: texts, None where a cell is empty, or as a whole where there is no such column; ``correct`` 1, 0
    or -1 where unknown; ``columns`` by the file's names; ``theirs``: our name of a column -> the file's, if renamed.
    """

    name: str
    record: Predictions
    inputs: list[str]
    outputs: list[str | None] | None
    golds: list[str | None] | None
    correct: Array
    columns: tuple[str, ...] = ()
    theirs: Mapping[str, str] = field(default_factory=dict)

    def error(self, row: int, expected: str, got: str, remedy: str, column: str) -> InputError:
        """An error that names this file and a row, counted here from 0."""
        named = f"{self.theirs[column]} ({column})" if column in self.theirs else column
        return InputError(
            expected, got=got, remedy=remedy, file=self.record.source, row=row + 1, column=named
        )

    def lacks(self, expected: str, *columns: str, why: str = "") -> InputError:
        """An error that says which columns are missing, which there are, and how to rename them."""
        return _lacks(expected, self.columns, columns, self.record.source, why)

    @property
    def short_name(self) -> str:
        """The name of the file without its folder."""
        return Path(self.name).name

    @property
    def equal(self) -> Array:
        """Whether output and gold are the same but for white space, int8, shape (sample,): 1, 0, or -1 where there is
        no gold.
        """
        if self.golds is None:
            return np.full(len(self.inputs), -1, dtype=np.int8)
        outputs: Sequence[str | None] = self.outputs or [None] * len(self.inputs)
        verdicts = [
            -1 if gold is None else int(output is not None and squeezed(output) == squeezed(gold))
            for output, gold in zip(outputs, self.golds, strict=True)
        ]
        return np.array(verdicts, dtype=np.int8)


def read_texts(
    data: Any,
    opener: Opener,
    mapping: Mapping[str, str] | None,
    *,
    everything: bool = False,
    needs: Sequence[str] = ("input", "output"),
) -> TextRows:
    """Read the rows of a file, frame, mapping of arrays or record; ``everything`` reads all other columns, too, to be
    written again; ``needs`` are named where the file has none of them.
    """
    source, renamed = _open(data, opener, mapping or {}, needs)
    golds = _gold(data, source, renamed)
    if not everything:
        record = source.read([f for f in ("input", "output", "correct") if f in source.fields])
    else:
        if not isinstance(source, RecordSource):
            layout = Layout.parse(source.columns, renamed)
            used = layout.kinds(layout.feeds.values(), extra=False)
            extra = [column for column in source.columns if column not in used]
            source = opener.open(data, extra_columns=extra)
        record = source.read(source.fields)
    if golds is not None:
        columns = {c: v for c, v in record.columns.items() if renamed.get(c, c) != "gold"}
        record = replace(record, columns={**columns, "gold": objects(golds)}, _cache={})
    assert record.input is not None
    correct = record.correct
    if correct is None and record.label is not None and record.has_prediction:
        correct = record.verdicts
    rows = TextRows(
        name=source.name,
        record=record,
        inputs=record.input.tolist(),
        outputs=None if record.output is None else record.output.tolist(),
        golds=golds,
        correct=np.full(len(record), -1, dtype=np.int8) if correct is None else correct,
        columns=tuple(source.columns),
        theirs={ours: name for name, ours in renamed.items() if name != ours},
    )
    _check_texts(rows)
    return rows


def _open(
    data: Any, opener: Opener, mapping: Mapping[str, str], needs: Sequence[str]
) -> tuple[Source, dict[str, str]]:
    """The source, and the renamings of its columns; `InputError` that names what it ``needs`` where it has no texts."""
    source = opener.open(data, needs_fields=False)
    # which speaks of labels and probabilities; nobody needs them here
    if source.lacking is not None:
        expected = f"columns {', '.join(needs[:-1])} and {needs[-1]}"
        raise _lacks(expected, source.columns, needs, source.path)
    if "input" not in source.fields:
        opener.check()  # a mistyped renaming says more
        raise _lacks("a column input", source.columns, ("input",), source.path)
    return source, {theirs: ours for theirs, ours in mapping.items() if theirs in source.columns}


def _check_texts(rows: TextRows) -> None:
    """Raise `InputError` for a cell that is no text, an empty input, and an empty gold output."""
    for column, texts in (("input", rows.inputs), ("output", rows.outputs), ("gold", rows.golds)):
        needed, remedy = column == "input", "drop the row or give the text"
        for row, text in enumerate(texts or ()):
            if not isinstance(text, str) and (needed or text is not None):
                raise rows.error(row, "a text", repr(text)[:60], remedy, column)
            if needed and not str(text).strip():
                raise rows.error(row, "a text", "an empty one", remedy, column)
    # null is unknown; no output is like an empty one, which would be wrong
    for row, gold in enumerate(rows.golds or ()):
        if gold is not None and not gold.strip():
            raise rows.error(
                row, "a gold output", "an empty one", "drop the row or give the gold output", "gold"
            )


def _lacks(
    expected: str, columns: Sequence[str], missing: Sequence[str], file: str | None, why: str = ""
) -> InputError:
    meant = {ours: near_names(ours, columns) for ours in missing}
    named = " ".join(f"--map {(meant[ours] or ['theirs'])[0]}={ours}" for ours in missing)
    remedy = f"{why}name {'it' if len(missing) == 1 else 'them'} with {named}"
    return InputError(expected, got=", ".join(columns), remedy=remedy, file=file)


def _gold(data: Any, source: Source, renamed: Mapping[str, str]) -> list[str | None] | None:
    """The gold outputs, read as `output` is, as text: a date or 007 must not become a number on the way."""
    if isinstance(source, RecordSource):
        gold = source.record.columns.get("gold")
        return None if gold is None else gold.tolist()
    # our name -> the file's
    column_of = {renamed.get(name, name.strip()): name for name in reversed(source.columns)}
    if "gold" not in column_of:
        return None
    away = {**renamed, column_of["gold"]: "output"}
    if "output" in column_of:
        away[column_of["output"]] = "output of the model"
    texts = as_source(data, mapping=away).read(("output",)).output
    assert texts is not None
    return list(texts.tolist())


_Metric = Callable[[Sequence[str], Sequence[str]], Array]
METRICS: Mapping[str, _Metric | None] = {"exact": None, "token-f1": token_f1, "bleu": sentence_bleu}
"""What judges may learn: to tell right from wrong, or to predict a metric in [0, 1]."""

GOLD = "gold"
SHARE = 10  # one of so many inputs is held out
_NO_NEGATIVES = (
    "judges learn from mistakes: give the outputs of early checkpoints on the training set (a smaller K), of wider "
    "beams, or of a weaker model"
)


@dataclass(frozen=True, eq=False)
class Pairs(Examples):
    """Pairs to learn from or to be judged by; ``targets`` are 1 where the output is right, else 0, or the metric."""

    targets: Array = field(default_factory=lambda: np.zeros(0, dtype=np.float32))

    def take(self, index: Array) -> Pairs:
        """The pairs at some places, without the counts."""
        inputs, outputs = ([texts[i] for i in index] for texts in (self.inputs, self.outputs))
        return Pairs(
            inputs, outputs, self.correct[index], self.origin[index], {}, self.targets[index]
        )

    def augmented(self, copies: int, seed: int) -> Pairs:
        """The pairs, and so many ``copies`` of each whose inputs are in another form (`reformatted`), each copy once.

        An output stays as it is: in another form it would not equal the gold one.
        """
        rng, known = np.random.default_rng([seed, 4]), set(map(squeezed, self.inputs))
        drawn = (pair for _ in range(copies) for pair in enumerate(reformatted(self.inputs, rng)))
        more = [
            (r, text) for r, text in dict.fromkeys(drawn) if text and squeezed(text) not in known
        ]
        both = self.take(np.array([*range(len(self)), *(row for row, _ in more)], dtype=int))
        inputs = [*self.inputs, *(text for _, text in more)]
        return replace(both, inputs=inputs, counts={**self.counts, "augmented": len(more)})

    def statistics(self) -> dict[str, Any]:
        """Counts, ready for JSON, and the same in ``words``."""
        return {**super().statistics(), "mean": float(self.targets.mean()), "words": self.summary()}


def pairs_of(
    files: Sequence[TextRows],
    *,
    metric: str = "exact",
    balance: float = 1.0,
    seed: int = 0,
    all_right: bool = False,
) -> Pairs:
    """Right and wrong pairs of all rows, each once; at most ``balance`` wrong ones for each right one, 0 for all.

    Every gold output is a right pair. An output is right where it equals a gold output of its input, or where `correct`
    says so. With a ``metric`` its target is the metric against the row's gold. Empty outputs are left out.
    """
    if metric not in METRICS:
        raise UsageError(f"expected a metric of {', '.join(METRICS)}, got {metric!r}")
    if not balance >= 0:
        raise UsageError(
            f"expected a balance of 0 or more, got {balance}; 1 is as many wrong pairs as right ones"
        )
    for rows in files:
        _check_truth(rows, exact=metric == "exact")
    if all(rows.outputs is None for rows in files) and not all_right:
        raise files[0].lacks(
            "a column output", "output", why="judges learn from what a model wrote; "
        )
    collected = _collected(files, METRICS[metric])
    once, contradictions = _once(collected)
    counts = _counts(files)
    wrong = len(once) - int(once.correct.sum())
    if (not wrong and not all_right) or wrong == len(once):
        file = files[0].record.source if len(files) == 1 else None
        empty = counts["empty"] + counts["without_output"] == counts["rows"]
        raise _one_sided(once, counts["rows"], empty, file)
    kept = _balanced(once, balance, seed) if balance else once
    counts |= {
        "duplicates": len(collected) - len(once),
        "contradictions": contradictions,
        "beyond_balance": len(once) - len(kept),
    }
    return replace(kept, counts=counts)


def _counts(files: Sequence[TextRows]) -> dict[str, int]:
    """How many rows there are, and how many of them have no output, or an empty one."""
    rows = sum(len(file.inputs) for file in files)
    written = [output for file in files for output in file.outputs or () if output is not None]
    empty = sum(not output.strip() for output in written)
    return {"rows": rows, "without_output": rows - len(written), "empty": empty}


def _once(collected: Sequence[_Pair]) -> tuple[Pairs, int]:
    """Each pair once, as it comes first, and how many later ones have another target."""
    first: dict[tuple[str, str], _Pair] = {}
    contradictions = 0
    for pair in collected:
        before = first.setdefault((squeezed(pair.given), squeezed(pair.output)), pair)
        contradictions += np.float32(before.target) != np.float32(pair.target)
    return _as_pairs(list(first.values())), int(contradictions)


def _balanced(pairs: Pairs, balance: float, seed: int) -> Pairs:
    """The right pairs, and at most so many wrong ones for each of them, drawn at random."""
    wrong = np.random.default_rng([seed, 2]).permutation(np.flatnonzero(~pairs.correct))
    wrong = wrong[: max(1, int(balance * pairs.correct.sum()))]
    return pairs.take(np.sort(np.concatenate([np.flatnonzero(pairs.correct), wrong])))


def _check_truth(rows: TextRows, exact: bool) -> None:
    """Raise `InputError` where rows do not tell what is right: by gold or ``correct``, of a metric by gold alone."""
    equal, judged = rows.equal, rows.outputs is not None and (rows.correct >= 0).any()
    if rows.golds is None and not (exact and judged):
        what = "a column gold (or output and correct)" if exact else "a column gold"
        raise rows.lacks(
            what, "gold", why="judges learn from outputs that are known to be right or wrong; "
        )
    odd = np.flatnonzero((equal == 1) & (rows.correct == 0))
    if len(odd):
        expected = "true, since the output equals gold"
        remedy = "drop the column or correct the cell"
        raise rows.error(int(odd[0]), expected, "false", remedy, "correct")
    unknown = np.flatnonzero((equal < 0) & (rows.correct < 0) if exact else equal < 0)
    if len(unknown):
        output = None if rows.outputs is None else rows.outputs[unknown[0]]
        expected = "a gold output, or whether the output is correct" if exact else "a gold output"
        got = f"none (the output is {'null' if output is None else repr(output)[:40]})"
        raise rows.error(int(unknown[0]), expected, got, "give it or drop the row", "gold")


@final
class _Pair(NamedTuple):
    """An input and an output with what it is worth, 1 where it is right, and where it is from."""

    given: str
    output: str
    target: float
    origin: str


def _collected(files: Sequence[TextRows], measure: _Metric | None) -> list[_Pair]:
    """Gold pairs, then right outputs, then the others; where two rows judge one pair differently the better stays."""
    golds: list[_Pair] = []
    outputs: list[_Pair] = []
    right = {
        (squeezed(text), squeezed(gold))
        for rows in files
        for text, gold in zip(rows.inputs, rows.golds or (), strict=False)
        if gold is not None
    }
    for rows in files:
        none: list[str | None] = [None] * len(rows.inputs)
        cells = zip(
            rows.inputs,
            rows.outputs or none,
            rows.golds or none,
            rows.correct.tolist(),
            strict=True,
        )
        for text, output, gold, verdict in cells:
            if gold is not None:
                golds.append(_Pair(text, gold, 1.0, GOLD))
            if output is None or not output.strip():
                continue
            if measure is None:
                good = verdict == 1 or (squeezed(text), squeezed(output)) in right
                target = float(good)
            else:
                target = float(measure([output], [gold or ""])[0])
            outputs.append(_Pair(text, output, target, rows.short_name))
    return golds + sorted(outputs, key=lambda pair: -pair.target)


def _as_pairs(rows: Sequence[_Pair]) -> Pairs:
    targets = np.array([pair.target for pair in rows], dtype=np.float32)
    return Pairs(
        [pair.given for pair in rows],
        [pair.output for pair in rows],
        targets == 1,
        np.array([pair.origin for pair in rows], dtype=object),
        {},
        targets,
    )


def _one_sided(once: Pairs, rows: int, empty: bool, file: str | None) -> InputError:
    """The error for pairs that are all right or all wrong, or none as all outputs are ``empty``."""
    if empty:
        got, remedy = f"none: all {rows} are empty", "give what it wrote"
        return InputError("outputs of a model", got=got, remedy=remedy, column="output", file=file)
    if once.correct.all():
        got = f"none: all {len(once)} pairs are right"
        return InputError("outputs that are wrong", got=got, remedy=_NO_NEGATIVES, file=file)
    got = f"none: all {len(once)} pairs are wrong"
    remedy = "give the gold outputs as a column gold, or right outputs"
    return InputError("outputs that are right", got=got, remedy=remedy, file=file)


def split(pairs: Pairs, seed: int) -> tuple[Pairs, Pairs]:
    """Pairs to train on, and those of a tenth of the inputs, drawn apart among inputs with and without mistakes."""
    names, codes = np.unique([squeezed(text) for text in pairs.inputs], return_inverse=True)
    if len(names) < SHARE:
        expected = f"at least {SHARE} different inputs, of which a tenth is held out"
        raise InputError(
            expected, got=str(len(names)), remedy="give more rows, or held-out ones with --dev FILE"
        )
    erring = np.zeros(len(names), dtype=bool)
    erring[codes[~pairs.correct]] = True
    rng = np.random.default_rng([seed, 3])
    away = np.zeros(len(names), dtype=bool)
    for group in (np.flatnonzero(erring), np.flatnonzero(~erring)):
        count = max(round(len(group) / SHARE), int(len(group) > 1))
        away[rng.permutation(group)[:count]] = True
    is_held_out = away[codes]
    parts = pairs.take(np.flatnonzero(~is_held_out)), pairs.take(np.flatnonzero(is_held_out))
    for part, name in zip(parts, ("to train on", "held out"), strict=True):
        if part.correct.all() or not part.correct.any():
            got = f"{int(part.correct.sum())} of {len(part)} right"
            remedy = f"too few inputs have mistakes ({int(erring.sum())} of {len(names)}): {_NO_NEGATIVES}"
            raise InputError(f"right and wrong pairs {name}", got=got, remedy=remedy)
    return replace(parts[0], counts=pairs.counts), parts[1]
