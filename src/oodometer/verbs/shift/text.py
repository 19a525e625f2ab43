"""Shift text: texts or dialogues of a file in, one shifted copy for each kind and severity out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

from ...engines import task_engine
from ...errors import InputError, UsageError
from ...results.shifting import ShiftedTexts, Shifting
from ...shifts import TextShift, find_text_shift
from ...shifts.dialogue import InsufficientContext
from ...shifts.text import Dropped, ImportantWords, KnownWords, Vocabulary, find_wordnet
from ...shifts.text.synonyms import SynonymShift
from ...store.artifact_cache import checksum, content_of
from ...version import __version__
from ..model_options import ShiftOptions
from .job import MANIFEST, FileJob, deviations
from .texts import Row, Rows, Texts, filters_of

_SOURCE_ROW = "source_row"
_TELL = 500  # texts between two words on how far the work is


@final
class ShiftInputs:
    """The shifts that the options of a verb ask for; training texts are read once, where a shift needs them."""

    def __init__(self, options: Any) -> None:
        self._options, self._turns = options, getattr(options, "turns", None)
        self._made: dict[type[TextShift], tuple[TextShift, dict[str, Any]]] = {}

    def check(self, kinds: Sequence[type[TextShift]]) -> None:
        """`UsageError` for what is missing, or belongs to no kind that was asked for."""
        training, importance = self._options.training, self._options.importance
        lacking = [cls.name for cls in kinds if issubclass(cls, SynonymShift)] if training is None else []
        if lacking:
            said = f"{lacking[0]} needs the texts that the model was trained on"
            raise UsageError(f"{said}; name a file of them (--training FILE)")
        for name, given, cls in (
            ("training", training, SynonymShift),
            ("importance", importance, ImportantWords),
            ("turns", self._turns, InsufficientContext),
        ):
            if given is not None and not any(issubclass(kind, cls) for kind in kinds):
                raise UsageError(f"{name} belongs to another kind of shift than {kinds[0].name}; leave it out")
        if importance is None and ImportantWords in kinds:
            raise UsageError(
                f"{ImportantWords.name} needs the importance of words; in Python importance= is a model or function"
            )

    def made(self, cls: type[TextShift]) -> tuple[TextShift, dict[str, Any]]:
        """The shift of a kind, and what a manifest says of how it was made."""
        if cls not in self._made:
            asked = self._options
            options: dict[str, Any] = {}
            told: dict[str, Any] = {}
            if issubclass(cls, InsufficientContext):
                options = told = {"turns": self._turns}
            elif issubclass(cls, SynonymShift):
                wordnet = find_wordnet(asked.wordnet)
                options = {"training": self._vocabulary, "synonyms": wordnet.synonyms, "pieces": asked.pieces}
                told = {"training": str(asked.training), "training_where": filters_of(asked.training_where)}
                told |= {"wordnet": str(wordnet.path), "pieces": asked.pieces}
                if issubclass(cls, KnownWords):
                    options["least"] = told["least"] = asked.least
                if issubclass(cls, ImportantWords):
                    options["importance"], told["importance"] = asked.importance, str(asked.importance)
                    if not callable(asked.importance):
                        from ...models.text.network import AttentionImportance

                        options["importance"] = AttentionImportance(asked.importance)
            self._made[cls] = cls(**options), told
        return self._made[cls]

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        """The words of the training texts."""
        asked = self._options
        texts = Texts(Rows(Path(asked.training)), asked.training_column, filters_of(asked.training_where), None)
        return Vocabulary.of(turn for turns in texts.read_turns() for turn in turns)


@dataclass(eq=False)
class _TextJob(FileJob):
    """Shifts the texts, or the contexts of the dialogues, of a file; copies are pairs of a kind and a severity."""

    @cached_property
    def texts(self) -> Texts:
        """What is read."""
        asked, dialogues = self.options, self.command == "shift dialogue"
        return Texts(Rows(self.source), asked.column, filters_of(asked.where), dialogues=dialogues)

    @cached_property
    def inputs(self) -> ShiftInputs:
        """The shifts."""
        return ShiftInputs(self.options)

    @cached_property
    def fingerprint(self) -> str:
        """A short name of source and settings."""
        told = [(cls.name, severity, self.inputs.made(cls)[1]) for cls, severity in self.copies]
        names = ("training", "wordnet", "importance")
        beside = {str(one[name]) for _, _, one in told for name in names if name in one}
        files = [[one, content_of(one)] for one in (str(self.source.absolute()), *sorted(beside))]
        what = [self.command, files, self.texts.column, self.texts.where, told, self.options.seed, __version__]
        return checksum(json.dumps(what, sort_keys=True, default=str))

    def place(self, home: Path, number: int) -> tuple[Path, Path]:
        """Beside the others."""
        place = home / f"{self.name(number)}{self.texts.rows.ending}"
        return place, place.with_suffix(f".{MANIFEST}")

    def write(self, number: int, place: Path, beside: Path, write: Callable[[Path, Any], Any]) -> dict[str, Any]:
        """Write the texts that can be shifted so far, with the numbers that they have; then the manifest."""
        cls, severity = self.copies[number]
        shift, settings = self.inputs.made(cls)
        counts, refused, dropped = Counter[str](), Counter[str](), Counter[str]()
        before = self.written[-1]["read"] if self.written else 0

        def rows() -> Iterator[Row]:
            for row, (turns, again) in enumerate(self.texts.read(refused), 1):
                counts["read"] = row
                if row % _TELL == 0:
                    self.tell(number * before + row, len(self.copies) * before)
                shifted = shift.apply(turns, severity, seed=self.options.seed, row=row)
                if isinstance(shifted, Dropped):
                    dropped[shifted.why] += 1
                    continue
                counts.update(rows=1, words=shifted.words, targets=shifted.targets)
                yield {**again(shifted.turns), _SOURCE_ROW: row}

        write(place, self.texts.rows.written(rows()))
        many = counts["rows"]
        if not many:
            why = "; ".join(f"{many:,}: {why}" for why, many in (*refused.items(), *dropped.items()))
            raise InputError(
                f"rows that {shift.name} can shift at the severity {severity}",
                got=f"none ({why})",
                remedy="choose another severity, or other data",
                file=str(self.source),
            )
        told = {
            "kind": shift.name,
            "severity": severity,
            "rows": many,
            "dropped": dict(dropped),
            "words": round(counts["words"] / many, 4),
            "targets": round(counts["targets"] / many, 4),
            "counts": shift.counts,
            "version": __version__,
            "command": self.command,
            "argv": self.options.argv,
            "source": str(self.source),
            "where": dict(self.texts.where),
            "rule": shift.about,
            "seed": self.options.seed,
            **settings,
            "read": counts["read"],
            "refused": dict(refused),
            "deviation": shift.deviation,
            "citation": shift.citation,
        }
        write(beside, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
        return told


def shift_texts(options: ShiftOptions, names: Sequence[str], levels: Sequence[Any], *, dialogues: bool) -> Shifting:
    """Write the shifted copies of a file of texts, or of dialogues, once all that was asked for makes sense."""
    command = "shift dialogue" if dialogues else "shift text"
    job = _TextJob(command, options, ())
    ending = job.texts.rows.ending
    if dialogues and ending not in (".jsonl", ".ndjson"):
        raise InputError(
            "dialogues as JSON lines, each with a list of turns",
            got=f"a file that ends in {ending}",
            remedy="convert it; or shift single texts (--modality text)",
            file=str(options.data),
        )
    engine = task_engine(options.engine, options.workers)
    kinds = [find_text_shift(name, dialogues=dialogues) for name in names]
    for cls in kinds:
        for level in levels:
            cls().check_severity(level)
    job.inputs.check(kinds)
    job.copies = tuple((cls, label) for cls in kinds for label in dict.fromkeys(map(str, levels)))
    job.check_out("it is the file that is read" if job.out.resolve() == job.source.resolve() else None)
    several, fits = len(job.copies) > 1, job.out.suffix.lower() == ending
    if several and fits:
        raise UsageError(f"cannot write {job.out}: several copies go into a folder; name one without an ending")
    if not several and (not fits or job.out.is_dir()):
        raise UsageError(f"cannot write {job.out}: the copy is one file of the same form; end its name in {ending}")
    shifts = [job.inputs.made(cls)[0] for cls in kinds]
    told = job.run(engine)
    same = ("kind", "severity", "rows", "dropped", "words", "targets", "counts")
    copies = []
    for number, one in enumerate(told):
        out, manifest = map(str, job.places(number))
        copies.append(ShiftedTexts(out=out, manifest=manifest, **{name: one[name] for name in same}))
    last = told[-1]
    about = (__version__, command, str(job.source), options.seed, last["read"], tuple(copies), last["refused"])
    return Shifting(*about, notes=deviations(shifts))
