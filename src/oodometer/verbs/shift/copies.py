"""Copies: shifted copies of the texts of a file, each with its manifest; a folder that was interrupted goes on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from ...errors import InputError, UsageError
from ...results.text_shifting import ShiftedTexts, TextShifting
from ...runs import places_said
from ...shifts import TextShift
from ...shifts.text import Dropped
from ...store import together, write_atomic, write_result
from ...store.artifact_cache import checksum, content_of
from ...version import __version__
from .job import filling
from .rows import Row
from .texts import Texts

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
