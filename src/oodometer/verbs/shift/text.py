"""Shift text: texts or dialogues of a file in, one shifted copy for each kind and severity out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, final

from ...engines import Engine, run_tasks, task_engine
from ...errors import InputError, UsageError
from ...options import verb
from ...results.text_shifting import TextShifting
from ...shifts import TextShift, find_text_shift
from ...store.artifact_cache import content_of
from ..model_options import ShiftDialogueOptions, ShiftTextOptions
from .copies import Asked, Elsewhere, TextJob
from .inputs import ShiftInputs
from .rows import Rows
from .texts import Texts, filters_of


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


@verb(ShiftTextOptions)
def shift_text(options: ShiftTextOptions) -> TextShifting:
    """Write shifted copies of the texts of a file.

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
    return _run(options, "shift text", dialogues=False)


@verb(ShiftDialogueOptions)
def shift_dialogue(options: ShiftDialogueOptions) -> TextShifting:
    """Write shifted copies of the dialogues of a file of JSON lines.

    Empty dialogues and those of a single turn are counted and left out. Raises as `shift_text`.

    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> _ = (home / "a.jsonl").write_text('{"turns": ["Hello.", "Hi.", "How are you?"]}')
    >>> shift_dialogue(home / "a.jsonl", kind="short-context", severity=2, out=home / "b.jsonl").copies[0].rows
    1
    """
    return _run(options, "shift dialogue", dialogues=True)


def _run(options: ShiftTextOptions, command: str, *, dialogues: bool) -> TextShifting:
    """Check what was asked for before anything large is read, then write the copies."""
    rows = Rows(Path(options.data))
    if dialogues and rows.ending not in (".jsonl", ".ndjson"):
        raise InputError(
            "dialogues as JSON lines, each with a list of turns",
            got=f"a file that ends in {rows.ending}",
            remedy="convert it; or shift single texts (`shift text`)",
            file=str(options.data),
        )
    known, engine = ShiftInputs.of(options), task_engine(options.engine, options.workers)
    texts = Texts(rows, options.column, filters_of(options.where), dialogues=dialogues)
    job = TextJob(command, texts, Path(options.out), options.seed, options.argv, options.progress)
    names = dict.fromkeys([options.kind] if isinstance(options.kind, str) else options.kind)
    kinds = [find_text_shift(name, dialogues=dialogues) for name in names]
    severity: Any = options.severity
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
