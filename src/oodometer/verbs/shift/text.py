"""Shift text: texts or dialogues of a file in, one shifted copy for each kind and severity out."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, final

from ...engines import Engine, run_tasks, task_engine
from ...errors import InputError, UsageError
from ...options import verb
from ...results.text_shifting import ShiftedTexts, TextShifting
from ...runs import places_said
from ...shifts import TextShift, find_text_shift
from ...shifts.dialogue import InsufficientContext
from ...shifts.text import Dropped, ImportantWords, KnownWords, Vocabulary, find_wordnet
from ...shifts.text.synonyms import SynonymShift
from ...store import together, write_atomic, write_result
from ...store.artifact_cache import checksum, content_of
from ...version import __version__
from ..model_options import ShiftDialogueOptions, ShiftTextOptions
from .job import filling
from .texts import Row, Rows, Texts, filters_of

PathLike = str | os.PathLike[str]


@final
@dataclass(frozen=True)
class ShiftInputs:
    """What shifts are made with, beside a severity; as in `shift_text` and `shift_dialogue`."""

    training: PathLike | None
    training_column: str | None
    training_where: str | Sequence[str]
    wordnet: PathLike | None
    importance: Any
    pieces: bool
    least: int
    turns: int | None

    @classmethod
    def of(cls, options: Any) -> ShiftInputs:
        """Those of the options of a verb."""
        given: dict[str, Any] = {one.name: getattr(options, one.name, None) for one in fields(cls)}
        return cls(**given)

    def check(self, kinds: Sequence[type[TextShift]]) -> None:
        """`UsageError` for what is missing, or belongs to no kind that was asked for."""
        lacking = [cls.name for cls in kinds if issubclass(cls, SynonymShift)] if self.training is None else []
        if lacking:
            said = f"{lacking[0]} needs the texts that the model was trained on"
            raise UsageError(f"{said}; name a file of them (--training FILE)")
        for name, given, cls in (
            ("training", self.training, SynonymShift),
            ("importance", self.importance, ImportantWords),
            ("turns", self.turns, InsufficientContext),
        ):
            if given is not None and not any(issubclass(kind, cls) for kind in kinds):
                raise UsageError(f"{name} belongs to another kind of shift than {kinds[0].name}; leave it out")
        if self.importance is None and ImportantWords in kinds:
            raise UsageError(
                f"{ImportantWords.name} needs the importance of words; in Python importance= is a model or function"
            )

    def make(self, cls: type[TextShift], vocabulary: Vocabulary | None) -> TextShift:
        """A shift of a kind."""
        options: dict[str, Any] = {}
        if issubclass(cls, InsufficientContext):
            options = {"turns": self.turns}
        elif issubclass(cls, SynonymShift):
            options = {"training": vocabulary, "synonyms": find_wordnet(self.wordnet).synonyms, "pieces": self.pieces}
            if issubclass(cls, KnownWords):
                options["least"] = self.least
            if issubclass(cls, ImportantWords):
                options["importance"] = self._weights()
        return cls(**options)

    def made(self, kinds: Sequence[type[TextShift]]) -> list[tuple[TextShift, dict[str, Any]]]:
        """A shift of each kind, and what the manifest says of it; the training texts are read once."""
        reads_training = any(issubclass(cls, SynonymShift) for cls in kinds)
        vocabulary = self.vocabulary() if reads_training else None
        return [(self.make(cls, vocabulary), self.told(cls)) for cls in kinds]

    def told(self, cls: type[TextShift]) -> dict[str, Any]:
        """What the manifest says of how a shift of a kind was made."""
        if issubclass(cls, InsufficientContext):
            return {"turns": self.turns}
        if not issubclass(cls, SynonymShift):
            return {}
        out: dict[str, Any] = {"training": str(self.training), "training_where": filters_of(self.training_where)}
        out |= {"wordnet": str(find_wordnet(self.wordnet).path), "pieces": self.pieces}
        if issubclass(cls, KnownWords):
            out["least"] = self.least
        if issubclass(cls, ImportantWords):
            out["importance"] = str(self.importance)
        return out

    def vocabulary(self) -> Vocabulary:
        """The words of the training texts."""
        assert self.training is not None
        texts = Texts(Rows(Path(self.training)), self.training_column, filters_of(self.training_where), None)
        return Vocabulary.of(turn for turns in texts.read_turns() for turn in turns)

    def _weights(self) -> Any:
        if callable(self.importance):
            return self.importance
        from ...models.text.attention import AttentionImportance

        return AttentionImportance(self.importance)


Progress = Callable[[int, int], None]
Elsewhere = Callable[[Sequence["Asked"], Path, Callable[[int], None]], None]
"""Writes copies into a folder, and calls the function with how many are written."""
_MANIFEST = ".manifest.json"
_SOURCE_ROW = "source_row"
_TELL = 500  # texts between two words on how far the work is


@final
@dataclass(frozen=True)
class Asked:
    """One copy: the shift, its severity as it was typed, and with what the shift was made."""

    shift: TextShift
    severity: str
    settings: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The name of the copy among several."""
        return f"{self.shift.name}-{self.severity.replace('/', '-of-')}"


@final
@dataclass
class _Tally:
    """Counts over a copy: texts that were read and are in the copy, their words and targets, and what is not in it."""

    read: int = 0
    rows: int = 0
    words: int = 0
    targets: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def why_none(self) -> str:
        """What became of the texts where none is left."""
        return "; ".join(f"{many:,}: {why}" for why, many in (*self.refused.items(), *self.dropped.items()))


@final
class TextJob:
    """One call: the texts of a file, the copies that are asked for, and where they go."""

    def __init__(
        self, command: str, texts: Texts, out: Path, seed: int, argv: str | None, progress: Progress | None
    ) -> None:
        self.command, self.texts, self.out, self.seed, self.argv = command, texts, out, seed, argv
        self._progress = progress
        self._total = 0  # known when the first copy is written
        self._refused: Mapping[str, int] = {}

    @property
    def _source(self) -> Path:
        return self.texts.rows.path

    @property
    def sent(self) -> TextJob:
        """The job as it travels to a worker."""
        return TextJob(self.command, self.texts, self.out, self.seed, self.argv, None)

    def run(self, asked: Sequence[Asked], elsewhere: Elsewhere | None = None) -> TextShifting:
        """Write all copies; several are handed to ``elsewhere``, where there is such."""
        if len(asked) == 1:
            with together():
                copies = [self._write(asked[0], self.out, self.out, write_result, (0, 1))]
        else:
            copies = self._folder(asked, elsewhere)
        notes = dict.fromkeys(f"{one.shift.name}: {one.shift.deviation}" for one in asked if one.shift.deviation)
        about = (__version__, self.command, str(self._source), self.seed, self._total, self._refused)
        return TextShifting(*about, tuple(copies), tuple(notes))

    def check_out(self, several: bool) -> None:
        """Say before the work that the place is taken, or is none for what is asked."""
        out, place, ending = self.out, self.out.resolve(), self.texts.rows.ending
        if place == self._source.resolve():
            raise UsageError(f"cannot write {out}: it is the file that is read; choose another place")
        if not place.parent.is_dir():
            raise UsageError(f"cannot write {out}: there is no folder {out.parent}; make it first")
        if any(place.iterdir()) if place.is_dir() else place.exists():
            raise UsageError(f"cannot write {out}: it is there already and not empty; choose another place")
        if several and out.suffix.lower() == ending:
            raise UsageError(f"cannot write {out}: several copies go into a folder; name one without an ending")
        if not several and (out.suffix.lower() != ending or place.is_dir()):
            raise UsageError(f"cannot write {out}: the copy is one file of the same form; end its name in {ending}")

    def _folder(self, asked: Sequence[Asked], elsewhere: Elsewhere | None) -> list[ShiftedTexts]:
        settings = [(name, str(value)) for one in asked for name, value in one.settings.items()]
        beside = {value for name, value in settings if name in ("training", "wordnet", "importance")}
        what = [[one.shift.name, one.severity, dict(one.settings)] for one in asked]
        read = [str(self._source.absolute()), content_of(self._source), self.texts.column, self.texts.where]
        read += [[one, content_of(one)] for one in sorted(beside)]
        job = json.dumps([self.command, read, what, self.seed, __version__], sort_keys=True, default=str)
        out = []
        about = {"verb": self.command, **places_said(data=self._source, out=self.out)}
        with filling(self.out, checksum(job), about) as (part, run):
            if elsewhere is not None:
                rest = [one for one in asked if self._kept(*self._places(one, part)) is None]
                before = len(asked) - len(rest)

                def told(more: int) -> None:
                    self._tell(before + more, len(asked))
                    run.tell(before + more, len(asked), 1)

                elsewhere(rest, part, told)
            for done, one in enumerate(asked):
                place, final = self._places(one, part)
                kept = self._kept(place, final)
                turn = done, len(asked)
                out.append(kept or self._write(one, place, final, write_atomic, turn))
                if elsewhere is None:
                    run.tell(done + 1, len(asked), int(kept is None))
        return out

    def write_copy(self, asked: Asked, part: Path) -> None:
        """Write one of several copies into the folder that becomes the result; nothing where it is there."""
        place, final = self._places(asked, part)
        if self._kept(place, final) is None:
            self._write(asked, place, final, write_atomic, (0, 1))

    def _places(self, asked: Asked, part: Path) -> tuple[Path, Path]:
        """Where a copy is written, and where it will be."""
        name = f"{asked.label}{self.texts.rows.ending}"
        return part / name, self.out / name

    def _tell(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    def _kept(self, part: Path, place: Path) -> ShiftedTexts | None:
        """A copy that an interrupted run left whole; its manifest is written last."""
        beside = part.with_suffix(_MANIFEST)
        if not part.is_file() or not beside.is_file():
            return None
        told = json.loads(beside.read_text(encoding="utf-8"))
        self._total, self._refused = told["read"], told["refused"]
        names = ("kind", "severity", "rows", "dropped", "words", "targets", "counts")
        return ShiftedTexts(out=str(place), manifest=str(place.with_suffix(_MANIFEST)), **{n: told[n] for n in names})

    def _write(
        self, asked: Asked, part: Path, place: Path, write: Callable[[Path, Any], Any], turn: tuple[int, int]
    ) -> ShiftedTexts:
        """Write a copy and its manifest; ``turn`` is how many copies are written, and how many there will be."""
        shift, tally = asked.shift, _Tally()
        write(part, self.texts.rows.written(self._shifted(asked, tally, turn)))
        if not tally.rows:
            raise InputError(
                f"rows that {shift.name} can shift at the severity {asked.severity}",
                got=f"none ({tally.why_none()})",
                remedy="choose another severity, or other data",
                file=str(self._source),
            )
        self._total, self._refused = tally.read, dict(tally.refused)
        found = ShiftedTexts(
            kind=shift.name,
            severity=asked.severity,
            out=str(place),
            manifest=str(place.with_suffix(_MANIFEST)),
            rows=tally.rows,
            dropped=dict(tally.dropped),
            words=round(tally.words / tally.rows, 4),
            targets=round(tally.targets / tally.rows, 4),
            counts=shift.counts,
        )
        write(part.with_suffix(_MANIFEST), self._manifest(asked, found))
        return found

    def _shifted(self, asked: Asked, tally: _Tally, turn: tuple[int, int]) -> Iterator[Row]:
        for number, (turns, made) in enumerate(self.texts.read(tally.refused), 1):
            tally.read = number
            if self._progress is not None and number % _TELL == 0:
                self._progress(turn[0] * self._total + number, turn[1] * self._total)
            found = asked.shift.apply(turns, asked.severity, seed=self.seed, row=number)
            if isinstance(found, Dropped):
                tally.dropped[found.why] += 1
                continue
            tally.rows += 1
            tally.words += found.words
            tally.targets += found.targets
            yield {**made(found.turns), _SOURCE_ROW: number}

    def _manifest(self, asked: Asked, copy: ShiftedTexts) -> str:
        told = copy.to_dict()
        del told["out"], told["manifest"]
        more = {
            "version": __version__,
            "command": self.command,
            "argv": self.argv,
            "source": str(self._source),
            "where": dict(self.texts.where),
            "rule": asked.shift.about,
            "seed": self.seed,
            **asked.settings,
            "read": self._total,
            "refused": dict(self._refused),
            "deviation": asked.shift.deviation,
            "citation": asked.shift.citation,
        }
        return json.dumps({**told, **more}, indent=2, ensure_ascii=False) + "\n"


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
