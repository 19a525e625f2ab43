"""Collecting: outputs of early checkpoints of a sequence model on its training examples, for judges to learn from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oodometer.errors import UsageError
from oodometer.options import verb
from oodometer.results.values import Record, counted
from oodometer.results.view import Shown, View
from oodometer.runs import Kept, places_said, running
from oodometer.store import refuse_clashes, write_predictions
from oodometer.verbs.opening import Opener
from oodometer.verbs.read import check_out
from oodometer.version import __version__

from ...discriminators import CollectOptions, Examples, collect
from ...models.artifacts import described
from ...models.seq2seq import is_sequence_model, open_sequence_model
from ..options import CollectPairsOptions
from .pairs import TextRows, read_texts

# as `EncoderDecoder.fit` and transformers name them
_SNAPSHOT = re.compile(r"(?:step|checkpoint)-(\d+)")
EARLY = 5
"""How many checkpoints of a folder are asked, as in the paper."""


@dataclass(frozen=True, repr=False)
class CollectedPairs(Shown, Record):
    """Pairs that judges learn from, and where they were written.

    checkpoints : their paths, in the order in which they were asked. examples : counts of the pairs (see `Examples`).
    out : the file that was written; None where they stay in memory. pairs : the pairs. seed : of all draws.
    """

    checkpoints: tuple[str, ...]
    examples: Mapping[str, Any]
    out: str | None
    seed: int
    pairs: Examples
    argv: str | None = None
    _untold = frozenset({"pairs"})

    def view(self) -> View:
        """What it says; see `Shown`."""
        return collected_view(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "command": "discriminate collect",
            "version": __version__,
            **super().to_dict(),
        }


@verb(CollectPairsOptions)
def collect_pairs(options: CollectPairsOptions) -> CollectedPairs:
    """Ask early checkpoints of a sequence model about its training examples: their mistakes teach judges.

    Gold outputs are the right pairs. A wrong pair is a beam of a checkpoint that equals no gold output of its input but
    for white space, the comparison of `train_judges`; one an input and checkpoint is drawn. Raises `InputError` for
    folders that hold no sequence model, for rows without gold and where no checkpoint makes a mistake, `UsageError` for
    a call that makes no sense. Source: Yao and Koller (2024), section 3.1.

    >>> collect_pairs("no-such-run", {"input": ["a b"], "gold": ["A B"]}, "early.jsonl")
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-run: expected the folder of a sequence model, with config.json or ...
    """
    how = CollectOptions(
        beams=options.beams,
        per_checkpoint=options.rows,
        per_input=options.per_input,
        balance=options.balance or None,
        seed=options.seed,
        max_length=options.max_length,
        max_output_length=options.max_output_length,
        device=options.device,
        engine=options.engine,
        workers=options.workers,
    )
    out = options.out
    folders = checkpoint_folders(options.checkpoints, options.first)
    refuse_clashes({"out": out}, [options.examples, *folders])
    check_out(out)
    rows = _examples(options)
    for folder in folders:  # one that holds no model is told before hours of work
        if not is_sequence_model(folder):
            open_sequence_model(folder)  # which says why it is none
    home = None
    if out is not None:  # beams of single checkpoints are kept there until the result is written
        home = Path(os.path.abspath(out)).with_name(f".{Path(out).name}.collecting")
    places = places_said(checkpoints=folders, examples=options.examples, out=out)
    with running(Kept(home, {"verb": "discriminate collect", **places}), passing=True) as kept:

        def tell(done: int, total: int) -> None:
            kept.tell(done, total)
            if options.progress is not None:
                options.progress(done, total)

        pairs = collect(
            folders,
            rows.inputs,
            [gold or "" for gold in rows.golds or ()],
            options=how,
            checkpoints=len(folders),
            checkpoint=home,
            progress=tell,
        )
        if out is not None:
            write_predictions(pairs.record(), out)
    return CollectedPairs(
        checkpoints=tuple(map(str, folders)),
        examples={**pairs.statistics(), "words": pairs.summary()},
        out=None if out is None else str(out),
        seed=options.seed,
        pairs=pairs,
    )


def checkpoint_folders(
    checkpoints: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], first: int | None
) -> list[Path]:
    """The folders that are named, in their order; of a folder of checkpoints (``step-200``, ``checkpoint-200``, ...)
    those in it, by step, the first five. ``first``: so many at most, of all.

    >>> checkpoint_folders(["run/a", "run/b", "run/c"], 2) == [Path("run/a"), Path("run/b")]
    True
    """
    several = [checkpoints] if isinstance(checkpoints, (str, os.PathLike)) else checkpoints
    out: list[Path] = []
    for name in several:
        path = Path(name).expanduser()
        steps = {}
        if path.is_dir() and described(path) is None and not (path / "config.json").is_file():
            steps = {
                int(match[1]): below
                for below in path.iterdir()
                if (match := _SNAPSHOT.fullmatch(below.name)) and below.is_dir()
            }
        out += [steps[step] for step in sorted(steps)][: first or EARLY] if steps else [path]
    names = [os.path.abspath(path) for path in out]
    twice = next((path for path in names if names.count(path) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is named twice; name each checkpoint once")
    return out[:first]


def _examples(options: CollectPairsOptions) -> TextRows:
    """The training examples; `InputError` for rows without a gold output."""
    opener = Opener(options.mapping)
    rows = read_texts(options.examples, opener, options.mapping, needs=("input", "gold"))
    opener.check()
    if rows.golds is None:
        why = "mistakes are found by the gold output of each input; "
        raise rows.lacks("a column gold", "gold", why=why)
    absent = next((row for row, gold in enumerate(rows.golds) if gold is None), None)
    if absent is not None:
        raise rows.error(absent, "a gold output", "none", "give it or drop the row", "gold")
    return rows


def collected_view(result: Mapping[str, Any]) -> View:
    """What was collected, from the mapping that JSON holds: pairs, and how good each checkpoint is."""
    examples = result["examples"]
    count, out = len(result["checkpoints"]), result["out"]
    notes: tuple[str, ...] = ()
    if out is not None:
        notes = (f"Pairs: {out}", f"Next: oodometer discriminate train {out} --out judges")
    return View(
        "Collected",
        counted(examples["pairs"], "pair"),
        sentences=(f"Of {counted(count, 'checkpoint')}", *examples["words"].split("\n")),
        notes=notes,
    )
