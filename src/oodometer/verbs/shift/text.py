"""Shift text: texts or dialogues of a file in, one shifted copy for each kind and severity out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, final

from ...arguments import CHECKS, checked, texts_or_one
from ...engines import Engine, run_tasks, task_engine
from ...errors import InputError, UsageError
from ...results.text_shifting import TextShifting
from ...shifts import TextShift, find_text_shift
from ...store.artifact_cache import content_of
from .copies import Asked, Elsewhere, Progress, TextJob
from .inputs import ShiftInputs
from .rows import Rows
from .texts import Texts, filters_of

__all__ = ["ShiftInputs", "shift_dialogue", "shift_text"]


def copies_on(engine: Engine, job: TextJob, inputs: ShiftInputs) -> Elsewhere:
    """What writes copies of a job on an engine."""

    def write(asked: Sequence[Asked], part: Path, tell: Callable[[int], None]) -> None:
        done = iter(range(1, len(asked) + 1))
        what = [(type(one.shift), one.severity) for one in asked]
        run_tasks(engine, _Task(job.sent, inputs, part), what, on_done=lambda _: tell(next(done)))

    return write


@final
@dataclass(frozen=True)
class _Task:
    """Writes one copy: the kind of shift and its severity are the item."""

    job: TextJob
    inputs: ShiftInputs
    part: Path

    def __call__(self, what: tuple[type[TextShift], str]) -> None:
        kind, severity = what
        training = self.inputs.training
        stamp = None if training is None else content_of(training)
        shift, told = _made(_Key(f"{self.inputs!r} {stamp}", self.inputs), kind)
        self.job.write_copy(Asked(shift, severity, told), self.part)


@final
class _Key:
    """Inputs as a key of what is kept: equal where they say the same of files that are the same."""

    def __init__(self, said: str, inputs: ShiftInputs) -> None:
        self.said, self.inputs = said, inputs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.said == other.said

    def __hash__(self) -> int:
        return hash(self.said)


@lru_cache(maxsize=4)
def _made(key: _Key, kind: type[TextShift]) -> tuple[TextShift, Mapping[str, Any]]:
    """A shift of a kind; the training texts are read once by a worker that writes several copies of it."""
    ((shift, told),) = key.inputs.made([kind])
    return shift, told


PathLike = str | os.PathLike[str]
Severity = float | str


def _later(name: str, value: Any) -> Any:
    return value  # checked by what it is for: each shift says which severities it has


_CHECKS = {
    "data": CHECKS["out"],
    "kind": texts_or_one,
    "severity": _later,
    "column": CHECKS["metric"],
    "where": texts_or_one,
    "training": CHECKS["out"],
    "training_column": CHECKS["metric"],
    "training_where": texts_or_one,
    "wordnet": CHECKS["out"],
    "importance": _later,
    "pieces": CHECKS["features"],
    "least": CHECKS["repeats"],
    "turns": CHECKS["repeats"],
    "argv": CHECKS["metric"],
}


@checked(**{name: check for name, check in _CHECKS.items() if name != "turns"})
def shift_text(
    data: PathLike,
    *,
    kind: str | Sequence[str],
    severity: Severity | Sequence[Severity],
    out: PathLike,
    column: str | None = None,
    where: str | Sequence[str] = (),
    training: PathLike | None = None,
    training_column: str | None = None,
    training_where: str | Sequence[str] = (),
    wordnet: PathLike | None = None,
    importance: Any = None,
    pieces: bool = False,
    least: int = 1,
    seed: int = 0,
    engine: str | Engine | None = None,
    workers: int | None = None,
    argv: str | None = None,
    progress: Progress | None = None,
) -> TextShifting:
    """Write shifted copies of the texts of a file.

    Parameters
    ----------
    data :
        JSON lines or a table (CSV, TSV) with a text in each row, plain or packed (.gz, .xz, .bz2). Other columns are
        carried along; ``source_row`` is added, the number of the text among those that were read.
    kind, severity :
        What shift, one of ``oodometer.shifts.TEXT_SHIFTS``, and how strong: as a rule the share of words, above 0 and
        at most 1. Several give one copy for each pair.
    out :
        A new file for one copy, an empty or new folder for several.
    column :
        Where the text is; by default ``text``, ``sentence``, ``review``, ``content`` or ``input``.
    where :
        ``COLUMN=VALUE``: only rows that have it.
    training, training_column, training_where :
        The texts that the model was trained on, in a file of the same forms (also one with turns): what is known.
    wordnet :
        Folder or archive of the WordNet database; by default `oodometer.shifts.text.find_wordnet` looks for it.
    importance :
        A function from the words of a text to numbers, or the folder of a Hugging Face model whose attention gives
        them; for ``important-words``.
    pieces :
        Whether parts of contractions ("don" in "don't") are exchanged, too.
    least :
        Occurrences in training that make a word a known one.
    seed :
        Of the draws; those of a text depend on the seed, the kind and its number alone.
    engine, workers :
        Copies as tasks, where there are several: "processes", "ray", "spark"; how many at a time. By default one after
        another in this process; the texts are the same. Machines of a cluster must see the files and ``out``.
    argv, progress :
        A command line to note in the manifest; called with (texts done, texts, 0 where that is not known yet).

    A text that cannot be shifted so far is left out and counted. Each copy has a manifest in JSON: rule, severity,
    seed, counts. All copies appear whole or not at all; a folder that was interrupted goes on where it ended. Raises
    `InputError` for what cannot be read, `UsageError` for a kind or severity that there is not and for a place that is
    taken.

    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> _ = (home / "a.jsonl").write_text('{"text": "Keep calm", "label": 1}')
    >>> found = shift_text(home / "a.jsonl", kind="casing", severity=1, out=home / "b.jsonl")
    >>> (home / "b.jsonl").read_text()
    '{"text": "keep CALM", "label": 1, "source_row": 1}\\n'
    """
    known = ShiftInputs(training, training_column, training_where, wordnet, importance, pieces, least, None)
    texts = Texts(Rows(Path(data)), column, filters_of(where), dialogues=False)
    job = TextJob("shift text", texts, Path(out), seed, argv, progress)
    return _run(job, _kinds(kind, dialogues=False), severity, known, task_engine(engine, workers))


@checked(**_CHECKS)
def shift_dialogue(
    data: PathLike,
    *,
    kind: str | Sequence[str],
    severity: Severity | Sequence[Severity],
    out: PathLike,
    column: str | None = None,
    where: str | Sequence[str] = (),
    training: PathLike | None = None,
    training_column: str | None = None,
    training_where: str | Sequence[str] = (),
    wordnet: PathLike | None = None,
    importance: Any = None,
    pieces: bool = False,
    least: int = 1,
    turns: int | None = None,
    seed: int = 0,
    engine: str | Engine | None = None,
    workers: int | None = None,
    argv: str | None = None,
    progress: Progress | None = None,
) -> TextShifting:
    """Write shifted copies of the dialogues of a file of JSON lines.

    Parameters
    ----------
    data :
        JSON lines, each with a list of turns: texts, or objects with a text in ``content``, ``text``, ``utterance`` or
        ``value``. Where they stand in ``context`` (or ``history``) they are what was said
        before a reply, and are shifted as they are. Else each turn but the first becomes a reply once, as in the paper,
        and of a chat with roles each turn of the assistant: a row has ``context``, ``response`` and ``turn``. Other
        columns are carried along; ``source_row`` is added.
    kind, severity :
        What shift, one of ``oodometer.shifts.DIALOGUE_SHIFTS`` or ``TEXT_SHIFTS``, and how strong: a share of words or
        turns such as 0.2 or 1/6; a number of turns (``short-context``); a fifth from 1 to 5 (``important-words``).
    turns :
        For ``insufficient-context``: only contexts of at least so many turns, and of them the last so many.
    column, out, where, training, training_column, training_where, wordnet, importance, pieces, least :
        As in `shift_text`; ``column`` by default ``turns``, ``context``, ``dialog``, ``dialogue``, ``utterances`` or
        ``history``.
    seed, engine, workers, argv, progress :
        As in `shift_text`.

    Empty dialogues and those of a single turn are counted and left out. Raises as `shift_text`.

    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> _ = (home / "a.jsonl").write_text('{"turns": ["Hello.", "Hi.", "How are you?"]}')
    >>> shift_dialogue(home / "a.jsonl", kind="short-context", severity=2, out=home / "b.jsonl").copies[0].rows
    1
    """
    known = ShiftInputs(training, training_column, training_where, wordnet, importance, pieces, least, turns)
    rows = Rows(Path(data))
    if rows.ending not in (".jsonl", ".ndjson"):
        raise InputError(
            "dialogues as JSON lines, each with a list of turns",
            got=f"a file that ends in {rows.ending}",
            remedy="convert it; or shift single texts (`shift text`)",
            file=str(data),
        )
    texts = Texts(rows, column, filters_of(where), dialogues=True)
    job = TextJob("shift dialogue", texts, Path(out), seed, argv, progress)
    return _run(job, _kinds(kind, dialogues=True), severity, known, task_engine(engine, workers))


def _kinds(kind: str | Sequence[str], dialogues: bool) -> list[type[TextShift]]:
    names = list(dict.fromkeys([kind] if isinstance(kind, str) else kind))
    return [find_text_shift(name, dialogues=dialogues) for name in names]


def _run(
    job: TextJob, kinds: Sequence[type[TextShift]], severity: Any, known: ShiftInputs, engine: Engine | None
) -> TextShifting:
    """Check what was asked for before anything large is read, then write the copies."""
    levels = list(severity) if isinstance(severity, (list, tuple, range)) else [severity]
    if not kinds or not levels:
        raise UsageError("expected a kind of shift and a severity; name both, such as --kind casing --severity 0.2")
    for cls in kinds:
        for level in levels:
            cls().check_severity(level)
    known.check(kinds)
    labels = list(dict.fromkeys(map(str, levels)))
    job.check_out(several=len(kinds) * len(labels) > 1)
    asked = [Asked(shift, label, told) for shift, told in known.made(kinds) for label in labels]
    return job.run(asked, None if engine is None else copies_on(engine, job, known))
