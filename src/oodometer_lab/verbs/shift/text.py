"""Shift text: texts or dialogues of a file in, one shifted copy for each kind and severity out."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, final

from oodometer.engines import task_engine
from oodometer.errors import InputError, UsageError
from oodometer.options import Options, declared, spelt
from oodometer.store.artifact_cache import checksum, content_of
from oodometer.version import __version__

from ...datasets.dialogues import CONTEXTS, TURNS, said, text_key, why_no_reply, with_replies
from ...results.shifting import ShiftedTexts, Shifting
from ...shifts import TextShift, find_text_shift
from ...shifts.dialogue import InsufficientContext
from ...shifts.text import Dropped, ImportantWords, KnownWords, Vocabulary, find_wordnet
from ...shifts.text.synonyms import SynonymShift
from ..options import ShiftOptions
from .job import MANIFEST, FileJob, deviations
from .severities import severities_by_kind

_PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
LINES, _TABLES = (".jsonl", ".ndjson"), {".csv": ",", ".tsv": "\t"}
_BROKEN = (lzma.LZMAError, zlib.error, EOFError, OSError)
_LONGEST_CELL = 1 << 27

Row = dict[str, Any]


@final
class Rows:
    """A file of rows, JSON lines or a table (CSV, TSV), in UTF-8, plain or packed (.gz, .xz, .bz2)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        inner = path.with_suffix("") if path.suffix.lower() in _PACKED else path
        self.ending = inner.suffix.lower()
        if self.ending not in (*LINES, *_TABLES):
            endings = (
                "that ends in .jsonl, .ndjson, .csv or .tsv (or one of them and .gz, .xz, .bz2)"
            )
            raise self.wrong(
                f"a file of texts {endings}", path.name, "convert it, or name it by what it is"
            )
        if not path.is_file():
            raise self.wrong(
                "a file of texts", "a folder" if path.is_dir() else "no such file", "check the path"
            )

    def wrong(
        self,
        expected: str,
        got: str,
        remedy: str = "mend the row",
        row: int | None = None,
        column: str | None = None,
    ) -> InputError:
        """The error for what is wrong in the file."""
        return InputError(
            expected, got=got, remedy=remedy, file=str(self.path), row=row, column=column
        )

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        """Number, from 1 on, and columns of each row."""
        opener = _PACKED.get(self.path.suffix.lower(), open)
        read = 0
        try:
            with opener(self.path, "rt", encoding="utf-8-sig", newline="") as file:
                for row in self._lines(file) if self.ending in LINES else self._table(file):
                    read += 1
                    yield read, row
        except UnicodeDecodeError as error:
            got = f"the byte {error.object[error.start]:#04x}, which none such holds there"
            raise self.wrong("text in UTF-8", got, "save the file as UTF-8", read + 1) from error
        except csv.Error as error:
            raise self.wrong("a row of the table", str(error), row=read + 1) from error
        except _BROKEN as error:
            raise self.wrong(
                "a file that can be read", str(error) or "its end too soon", "fetch it again"
            ) from error
        if not read:
            raise self.wrong("at least one row", "none", "check the file")

    def _lines(self, file: IO[str]) -> Iterator[Row]:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise self.wrong("a JSON object", repr(line.strip()[:40]), row=number)
            yield row

    def _table(self, file: IO[str]) -> Iterator[Row]:
        lines = csv.reader(file, delimiter=_TABLES[self.ending], strict=True)
        heads = _next(lines) or []
        twice = next((head for head in heads if heads.count(head) > 1), None)
        if twice is not None:
            raise self.wrong("columns of different names", f"two named {twice!r}", "rename one")
        for number, cells in enumerate(iter(lambda: _next(lines), None), 1):
            if len(cells) != len(heads):
                raise self.wrong(f"{len(heads)} cells", f"{len(cells)}", row=number)
            yield dict(zip(heads, cells, strict=True))

    def written(self, rows: Iterable[Mapping[str, Any]]) -> Callable[[IO[bytes]], None]:
        """What writes rows in the form of this file, not packed."""

        def write(file: IO[bytes]) -> None:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
            table = csv.writer(text, delimiter=_TABLES.get(self.ending, ","), lineterminator="\n")
            for number, row in enumerate(rows):
                if self.ending in LINES:
                    text.write(json.dumps(row, ensure_ascii=False) + "\n")
                else:
                    table.writerows([*([row] if not number else ()), row.values()])
            text.flush()
            text.detach()

        return write


def _next(lines: Iterator[list[str]]) -> list[str] | None:
    """The next row; the longest cell is a setting of the whole process, and so is put back before anyone else sees."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        return next(lines, None)
    finally:
        csv.field_size_limit(before)


TEXT = ("text", "sentence", "review", "content", "input")


def filters_of(where: str | Sequence[str]) -> dict[str, str]:
    """Column -> value of ``COLUMN=VALUE``; `UsageError` for what has another form."""
    conditions = [where] if isinstance(where, str) else list(where)
    wrong = next(
        (
            condition
            for condition in conditions
            if "=" not in condition or condition.startswith("=")
        ),
        None,
    )
    if wrong is not None:
        raise UsageError(f"expected COLUMN=VALUE, such as split=test, got {wrong!r}")
    return dict(condition.split("=", 1) for condition in conditions)


@final
@dataclass(frozen=True)
class Again:
    """Makes a row of texts again; ``number`` is that of the row in the file."""

    row: Row
    column: str
    turns: list[Any]
    number: int

    def __call__(self, new: Sequence[str]) -> Row:
        """The row with these texts in the place of the last of its turns, all else in them as it is."""
        old = self.turns[len(self.turns) - len(new) :]
        keys = [text_key(turn) for turn in old]
        turns = [
            text if key is None else {**turn, key: text}
            for turn, key, text in zip(old, keys, new, strict=True)
        ]
        return {
            **self.row,
            self.column: turns
            if isinstance(self.row[self.column], (list, type(None)))
            else turns[0],
        }


@final
@dataclass(frozen=True)
class Texts:
    """The texts, or contexts of dialogues, of a file; ``dialogues`` is None where either will do."""

    rows: Rows
    column: str | None
    where: Mapping[str, str]
    dialogues: bool | None

    def _turns(self) -> Iterator[tuple[int, Row, str, list[Any]]]:
        """Number and row of those that are asked for, the column of the turns, and these."""
        seen = False
        for number, row in self.rows:
            lacking = next((name for name in self.where if name not in row), None)
            if lacking is not None:
                raise self._no_column(f"a column {lacking}", row, number)
            if any(str(row[name]) != value for name, value in self.where.items()):
                continue
            seen = True
            column = self._column_of(row, number)
            yield number, row, column, self._turns_in(row[column], number, column)
        if not seen:
            filters = " and ".join(f"{name}={value}" for name, value in self.where.items())
            raise self.rows.wrong(f"rows with {filters}", "none", "check the values")

    def _column_of(self, row: Row, number: int) -> str:
        """The column of a row with the turns, as named or by its usual name."""
        if self.column is not None:
            if self.column not in row:
                raise self._no_column(f"a column {self.column}", row, number)
            return self.column
        usual = {True: TURNS, False: TEXT, None: (*TURNS, *TEXT)}[self.dialogues]
        column = next((name for name in usual if name in row), None)
        if column is None:
            expected = f"a column with the {'text' if self.dialogues is False else 'turns'}, such as {usual[0]}"
            remedy = "name it with --column"
            if self.dialogues is None:
                remedy = "call it so, or as --column does"
            raise self._no_column(expected, row, number, remedy)
        return column

    def _no_column(
        self, expected: str, row: Row, number: int, remedy: str = "name one of them"
    ) -> InputError:
        got = f"the columns {', '.join(map(str, row))}"
        return self.rows.wrong(expected, got, remedy, number)

    def _turns_in(self, value: Any, number: int, column: str) -> list[Any]:
        """The turns in a cell, of which a text is one; `InputError` where it holds something else."""
        is_list = isinstance(value, list)
        turns = list(value) if is_list and self.dialogues is not False else [value]
        odd = [turn for turn in turns if said(turn) is None]
        if not odd and (is_list or not self.dialogues):
            return turns
        expected, remedy = "a text", "mend the row"
        if self.dialogues:
            expected = "a list of turns, each a text or an object with a text in it"
        if self.dialogues is not None:
            remedy = "mend the row, or name another column (--column)"
        got = repr(odd[0] if odd else value)[:60]
        raise self.rows.wrong(expected, got, remedy, number, column)

    def texts(self) -> Iterator[str]:
        """The turns of all rows."""
        return (said(turn) for *_, turns in self._turns() for turn in turns)

    def read(self, refused: Counter[str]) -> Iterator[tuple[tuple[str, ...], Again]]:
        """What is shifted, and what makes a row of it again; rows that hold nothing are counted in ``refused``."""
        for number, row, column, turns in self._turns():
            texts, context = tuple(map(said, turns)), column in CONTEXTS or "response" in row
            if not self.dialogues or (turns and context):
                yield texts, Again(row, column, turns, number)
            elif context:
                refused["a context without turns"] += 1
            else:
                replies = list(with_replies(row, column, texts))
                refused.update([] if replies else [why_no_reply(turns)])
                for reply in replies:
                    yield (
                        texts[: reply["turn"]],
                        Again(dict(reply), "context", turns[: reply["turn"]], number),
                    )


def refuse_others(options: Options, modality: str) -> None:
    """Raise `UsageError` for an option of texts where images are shifted, or the other way round."""
    group = "Texts and dialogues" if modality == "image" else "Images"
    for name, field, about in declared(type(options)):
        value = getattr(options, name)
        plain = value is None or (
            isinstance(value, (str, int, list, tuple)) and value in (field.default, [], ())
        )
        if about.group == group and not plain:
            spelling = spelt(name, about)[0] if about.flag != "" else name
            raise UsageError(
                f"{spelling} is of {group.lower()}, and what is shifted here is {modality}s; leave it out"
            )


TEXT_GROUPS = {"words": ("unknown-words", "known-words")}
"""What stands for several kinds: the two of Lee et al. (2021) that exchange a share of the words."""
_SOURCE_ROW = "source_row"
_TELL = 500  # texts between two words on how far the work is


@final
class ShiftInputs:
    """The shifts that the options of a verb ask for; training texts are read once, where a shift needs them."""

    def __init__(self, options: Any) -> None:
        self._options, self._turns = options, getattr(options, "turns", None)
        self.preset = options.preset or "cifar-10-c"  # of images
        self._made: dict[type[TextShift], tuple[TextShift, dict[str, Any]]] = {}

    def check(self, kinds: Sequence[type[TextShift]]) -> None:
        """`UsageError` for what is missing, or belongs to no kind that was asked for."""
        training, importance = self._options.training, self._options.importance
        lacking = (
            [cls.name for cls in kinds if issubclass(cls, SynonymShift)] if training is None else []
        )
        if lacking:
            message = f"{lacking[0]} needs the texts that the model was trained on"
            raise UsageError(f"{message}; name a file of them (--training FILE)")
        for name, option, cls in (
            ("training", training, SynonymShift),
            ("importance", importance, ImportantWords),
            ("turns", self._turns, InsufficientContext),
        ):
            if option is not None and not any(issubclass(kind, cls) for kind in kinds):
                raise UsageError(
                    f"{name} belongs to another kind of shift than {kinds[0].name}; leave it out"
                )
        if self._options.function_words and not any(issubclass(k, SynonymShift) for k in kinds):
            raise UsageError(
                f"--function-words belongs to another kind of shift than {kinds[0].name}; leave it out"
            )
        if importance is None and ImportantWords in kinds:
            raise UsageError(
                f"{ImportantWords.name} needs the importance of words; in Python importance= is a model or function"
            )

    def made(self, cls: type[TextShift]) -> tuple[TextShift, dict[str, Any]]:
        """The shift of a kind, and what a manifest says of how it was made."""
        if cls not in self._made:
            settings = self._options
            options: dict[str, Any] = {}
            noted: dict[str, Any] = {}
            if issubclass(cls, InsufficientContext):
                options = noted = {"turns": self._turns}
            elif issubclass(cls, SynonymShift):
                wordnet = find_wordnet(settings.wordnet)
                names = "pieces", "function_words", "part_of_speech", "inflect"
                rules = {name: getattr(settings, name) for name in names}
                # most parts of contractions are of function words ("do" and "n't"), and the paper's counts have both
                rules["pieces"] |= settings.function_words
                options = {"training": self._vocabulary, "synonyms": wordnet, **rules}
                noted = {
                    "training": str(settings.training),
                    "training_where": filters_of(settings.training_where),
                }
                noted |= {"wordnet": str(wordnet.path), **rules}
                if issubclass(cls, KnownWords):
                    options["least"] = noted["least"] = settings.least
                if issubclass(cls, ImportantWords):
                    options["importance"], noted["importance"] = (
                        settings.importance,
                        str(settings.importance),
                    )
                    if not callable(settings.importance):
                        from ...models.text.network import AttentionImportance

                        options["importance"] = AttentionImportance(settings.importance)
            self._made[cls] = cls(**options), noted
        return self._made[cls]

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        options = self._options
        rows = Rows(Path(options.training))
        column = options.training_column
        if column is None and options.column is not None:
            _, first = next(iter(rows))
            column = options.column if options.column in first else None
        texts = Texts(rows, column, filters_of(options.training_where), None)
        return Vocabulary.of(texts.texts())


@dataclass(eq=False)
class _TextJob(FileJob):
    """Shifts the texts, or the contexts of the dialogues, of a file; copies are pairs of a kind and a severity."""

    def __post_init__(self) -> None:
        super().__post_init__()
        dialogues, where = self.command == "shift dialogue", filters_of(self.options.where)
        self.texts = Texts(Rows(self.source), self.options.column, where, dialogues=dialogues)
        self.inputs = ShiftInputs(self.options)

    @cached_property
    def fingerprint(self) -> str:
        """A short name of source and settings."""
        settings = [(cls.name, severity, self.inputs.made(cls)[1]) for cls, severity in self.copies]
        names = ("training", "wordnet", "importance")
        beside = {str(noted[name]) for _, _, noted in settings for name in names if name in noted}
        files = [
            [path, content_of(path)] for path in (str(self.source.absolute()), *sorted(beside))
        ]
        what = [
            self.command,
            files,
            self.texts.column,
            self.texts.where,
            settings,
            self.options.seed,
            __version__,
        ]
        return checksum(json.dumps(what, sort_keys=True, default=str))

    def paths_in(self, folder: Path, number: int) -> tuple[Path, Path]:
        """Beside the others."""
        path = folder / f"{self.name(number)}{self.texts.rows.ending}"
        return path, path.with_suffix(f".{MANIFEST}")

    def write(
        self, number: int, path: Path, beside: Path, write: Callable[[Path, Any], Any]
    ) -> dict[str, Any]:
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

        write(path, self.texts.rows.written(rows()))
        count = counts["rows"]
        if not count:
            why = "; ".join(
                f"{count:,}: {why}" for why, count in (*refused.items(), *dropped.items())
            )
            expected = f"rows that {shift.name} can shift at the severity {severity}"
            got = f"none ({why})"
            raise InputError(
                expected,
                got=got,
                remedy="choose another severity, or other data",
                file=str(self.source),
            )
        manifest = {
            "kind": shift.name,
            "severity": severity,
            "rows": count,
            "dropped": dict(dropped),
            "words": round(counts["words"] / count, 4),
            "targets": round(counts["targets"] / count, 4),
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
        write(beside, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        return manifest


def shift_texts(options: ShiftOptions, *, dialogues: bool) -> Shifting:
    """Write the shifted copies of a file of texts, or of dialogues, once all that was asked for makes sense."""
    job = _TextJob("shift dialogue" if dialogues else "shift text", options, ())
    ending = job.texts.rows.ending
    if dialogues and ending not in LINES:
        raise InputError(
            "dialogues as JSON lines, each with a list of turns",
            got=f"a file that ends in {ending}",
            remedy="convert it; or shift single texts (oodometer shift text ...)",
            file=str(options.data),
        )
    engine = task_engine(options.engine, options.workers)
    find = partial(find_text_shift, dialogues=dialogues)
    asked = severities_by_kind(
        options.kind, options.severity, TEXT_GROUPS, lambda name: find(name).usual
    )
    kinds = [find(name) for name in asked]
    wanted = [
        (cls, level) for cls, levels in zip(kinds, asked.values(), strict=True) for level in levels
    ]
    for cls, level in wanted:
        cls().check_severity(level)
    job.inputs.check(kinds)
    job.copies = tuple(wanted)
    _check_place(job, ending)
    shifts = [job.inputs.made(cls)[0] for cls in kinds]
    manifests = job.run(engine)
    copies = []
    for number, manifest in enumerate(manifests):
        out, beside = job.paths(number)
        copies.append(
            ShiftedTexts(
                kind=manifest["kind"],
                severity=manifest["severity"],
                out=str(out),
                manifest=str(beside),
                rows=manifest["rows"],
                dropped=manifest["dropped"],
                words=manifest["words"],
                targets=manifest["targets"],
                counts=manifest["counts"],
            )
        )
    return Shifting(
        version=__version__,
        command=job.command,
        data=str(job.source),
        seed=options.seed,
        rows=manifests[-1]["read"],
        copies=tuple(copies),
        refused=manifests[-1]["refused"],
        notes=deviations(shifts),
    )


def _check_place(job: _TextJob, ending: str) -> None:
    """Raise `UsageError` where the copies cannot go: several into a folder, one into a file of the same form."""
    is_source = job.out.resolve() == job.source.resolve()
    job.check_out("it is the file that is read" if is_source else None)
    several, fits = len(job.copies) > 1, job.out.suffix.lower() == ending
    if several and fits:
        raise UsageError(
            f"cannot write {job.out}: several copies go into a folder; name one without an ending"
        )
    if not several and (not fits or job.out.is_dir()):
        raise UsageError(
            f"cannot write {job.out}: the copy is one file of the same form; end its name in {ending}"
        )
