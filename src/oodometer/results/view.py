"""View: what a result says, once; terminal, notebook, Markdown and page show this and word nothing themselves."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from ..errors import UnknownNameError, near_names
from ..plain import Json, Plain, Strings
from ..registry import canonical
from .values import INTERVAL as INTERVAL
from .values import Interval, Record, decimals_of, list_records, percent, signed_points

READ = (
    "changes it"  # how a line ends that says what was read under names of a user's own: no warning
)
WORDS_PAGE = "docs/guides/outputs.md"
"""The page of the documentation that explains the words of all results: kind, trust, assumes, fell."""

_NUMBER = re.compile(r"[-+<]? ?[\d.,]+(e[-+]?\d+)?( %)?( \(\d+\))?|-")
_LONG = 30  # characters; a longer cell is a sentence


@dataclass(frozen=True)
class Point:
    """A number of the small chart, in the order of time; ``truth`` where it is known."""

    name: str
    value: float
    lower: float
    upper: float
    truth: float | None = None
    alarm: bool = False


@dataclass(frozen=True)
class Grid:
    """A table of text.

    title, columns, rows : as text. noun : what a row is called where some are left out. detail : whether the table
    waits until somebody asks (-v, a click). few, main : rows and columns that are shown before; all by default. bold :
    cells (row, column) that stand out. marked : rows with an alarm. notes : sentences below it. rest : one more where
    some rows or columns are left out. across : what a column is. slot : the name by which a page asks for it. kind :
    "matrix" where a page may draw `matrix`.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    noun: str = "table"
    detail: bool = False
    few: Sequence[int] | None = None
    main: Sequence[int] | None = None
    bold: frozenset[tuple[int, int]] = frozenset()
    marked: frozenset[int] = frozenset()
    notes: Strings = ()
    rest: str = ""
    across: str = "metric"
    slot: str = ""
    kind: str = ""

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers; the first holds names."""
        return [
            j > 0 and is_numbers([row[j] for row in self.rows]) for j in range(len(self.columns))
        ]

    @property
    def matrix(self) -> dict[str, list[tuple[str, float, str]]]:
        """Of rows that name two things and the chance that the first beats the second: for each name its chance against
        every other, as text, as a number and in words; empty against itself.
        """
        chances = {(row[0], row[1]): float(row[2].removesuffix(" %")) / 100 for row in self.rows}
        chances |= {(b, a): 1 - chance for (a, b), chance in chances.items()}
        names = dict.fromkeys(name for row in self.rows for name in row[:2])
        cells = {
            (a, b): (percent(x, 0), x, f"{a} beats {b} with a chance of {percent(x, 0)}")
            for (a, b), x in chances.items()
        }
        return {a: [cells.get((a, b), ("", 0.0, "")) for b in names] for a in names}

    @property
    def texts(self) -> list[int]:
        """Columns that hold sentences; the first holds names."""
        return [
            j for j in range(1, len(self.columns)) if any(len(row[j]) > _LONG for row in self.rows)
        ]

    def shown(self, full: bool) -> Grid | None:
        """The table as it is shown at first, or in full."""
        if full or (self.few is None and self.main is None):
            return self if full or not self.detail else None
        lines = range(len(self.rows)) if self.few is None else self.few
        across = range(len(self.columns)) if self.main is None else self.main
        bold = frozenset(
            (i, j) for i, a in enumerate(lines) for j, b in enumerate(across) if (a, b) in self.bold
        )
        columns = [self.columns[j] for j in across]
        rows = [[self.rows[i][j] for j in across] for i in lines]
        return Grid(self.title, columns, rows, self.noun, bold=bold, notes=(*self.notes, self.rest))

    @classmethod
    def used(
        cls,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        spare: Collection[int],
        **look: Any,
    ) -> Grid:
        """A table without those of the ``spare`` columns that are empty in every row."""
        indices = [j for j in range(len(columns)) if j not in spare or any(row[j] for row in rows)]
        return cls(
            title,
            [columns[j] for j in indices],
            [[row[j] for j in indices] for row in rows],
            **look,
        )

    def left_out(self) -> dict[str, int]:
        """How many of what are not shown at first."""
        if self.detail:
            return (
                {} if not self.noun else {self.noun: 1 if self.noun == "table" else len(self.rows)}
            )
        rows = {} if self.few is None else {self.noun: len(self.rows) - len(self.few)}
        return rows | (
            {} if self.main is None else {self.across: len(self.columns) - len(self.main)}
        )


class Beside(NamedTuple):
    """A second number of the same quantity, a share: what it is, its interval, and a note on what that is worth."""

    title: str
    interval: Interval
    note: str = ""

    @property
    def made(self) -> str:
        """Level and kind of the interval, and the note."""
        return ", ".join(filter(None, [made_as(self.interval), self.note]))


def made_as(interval: Interval) -> str:
    """Level and kind of an interval in words."""
    return f"{percent(interval.level, None)} {interval.kind} interval"


@dataclass(frozen=True)
class View:
    """What a result says.

    title : what the number is. number : as text. interval : of the number, in percent where ``share``, in points with
    a sign where ``gap``. note : said beside the number. trust : high, low or none; None where the result tells no
    trust. sentences : the most important first. details : those that wait until somebody asks. points : of a small
    chart, and ``line``, a level to hold them against, called ``line_name``. grids : tables. notes : sentences below
    the tables. alarms : a line for each, for a log. warnings : of the data and the method. seed : of folds, samples
    and draws, where there are any. assumes : what the number rests on. against : what contradicts it. fell : the
    verdict on a fall of the accuracy, as in `Fall`. estimated : whether the number was learnt on other rows than it is
    of. cells : further cells of the row ``headline`` with which tables begin, by their columns. basis : what the
    number was counted on, said behind it, such as "of 10 labels". caveat : what limits the claim where no interval
    does, such as "48 % sure"; a page writes it as large as the number. beside : other numbers of the same quantity,
    drawn like the first. chances : of a claim that is one of several, the chance of each.
    """

    title: str
    number: str
    interval: Interval | None = None
    note: str = ""
    share: bool = True
    trust: str | None = None
    sentences: Strings = ()
    details: Strings = ()
    points: tuple[Point, ...] = ()
    line: float | None = None
    line_name: str = ""
    grids: tuple[Grid, ...] = ()
    notes: Strings = ()
    alarms: Strings = ()
    warnings: Strings = ()
    seed: int | None = None
    gap: bool = False
    assumes: str | None = None
    against: Strings = ()
    fell: str | None = None
    estimated: bool = False
    cells: Plain = field(default_factory=dict)
    basis: str = ""
    caveat: str = ""
    beside: tuple[Beside, ...] = ()
    chances: tuple[tuple[str, float], ...] = ()

    @property
    def ends(self) -> tuple[str, str] | None:
        """Both ends of the interval as text."""
        item = self.interval
        return None if item is None else (self.text(item.lower), self.text(item.upper))

    @property
    def made(self) -> str:
        """Level and kind of the interval."""
        return "" if self.interval is None else made_as(self.interval)

    @property
    def remark(self) -> str:
        """What stands behind the number in a line of text: the interval's level and kind, the caveat, the note."""
        return ", ".join(filter(None, [self.made, self.caveat, self.note]))

    def grid(self, slot: str) -> Grid | None:
        """The first table of this slot that has rows or notes."""
        return next(iter(self.grids_of(slot)), None)

    def grids_of(self, slot: str) -> list[Grid]:
        """The tables of this slot that have rows or notes."""
        return [item for item in self.grids if item.slot == slot and (item.rows or item.notes)]

    def text(self, value: float) -> str:
        """A value as this view writes its number."""
        if self.gap:
            return signed_points(value).removesuffix(" points")
        if not self.share:
            return f"{value:.4f}"
        return percent(
            value,
            1
            if self.interval is None
            else _decimals_of_shares(self.interval.lower, self.interval.upper),
        )


def is_numbers(cells: Sequence[str]) -> bool:
    """Whether all cells that are not empty are numbers."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(_NUMBER.fullmatch(cell) for cell in filled)


def cell(value: float | None, how: str = ",") -> str:
    """A number in a table, empty where there is none: "%" and "%0" are shares with one decimal and with none."""
    if value is None or value != value:
        return ""
    return percent(value, 0 if how == "%0" else 1) if how[0] == "%" else f"{value:{how}}"


def interval_of(item: Any) -> Interval | None:
    """The interval in a record or in the mapping of one, as JSON holds it; None without numbers."""
    value, lower, upper, level, kind = ends(item).values()
    if value is None or lower is None or upper is None:
        return None
    return Interval(value, lower, upper, level or 0.95, kind or "empirical")


def cells_of(item: Any, *, share: bool = True) -> list[str]:
    """Cells of a number and the ends of its interval; empty ones without it."""
    value, lower, upper = list(ends(item).values())[:3]
    if value is None or lower is None or upper is None:
        return [cell(number, "%" if share else ".4f") for number in (value, lower, upper)]
    if share:
        return [
            percent(number, _decimals_of_shares(lower, upper)) for number in (value, lower, upper)
        ]
    return [f"{number:.{decimals_of(lower, upper, 4)}f}" for number in (value, lower, upper)]


def _decimals_of_shares(lower: float, upper: float) -> int:
    return decimals_of(100 * lower, 100 * upper)


def with_ends(item: Any, digits: int = 1) -> str:
    """A share and both ends of its interval, with so many decimals; a dash without it."""
    value, lower, upper = (
        cell(x, how)
        for x, how in zip(ends(item).values(), ("%", *["%" if digits else "%0"] * 2), strict=False)
    )
    return f"{value} ({lower} to {upper})" if value else "-"


def chances(rows: Sequence[Plain]) -> tuple[tuple[str, float], ...]:
    """The chance of each ranked model to be the best, the likeliest first."""
    pairs = ((str(row["model"]), float(row["p_best"] or 0.0)) for row in rows)
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


def p_text(value: float | None) -> str:
    """A p-value in a table."""
    return "" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


class Table(NamedTuple):
    """Columns in their order, and rows with a cell for each; None where there is none. ``main`` are the columns that
    people read; () says all. ``named`` is the column that says ``headline`` in the row of the result's own number,
    which stands first; "" where the table has none, such as one of curves.
    """

    columns: Strings
    rows: list[Json]
    main: Strings = ()
    named: str = ""


Maker = Callable[[], Table]


def ends(item: Any) -> Json:
    """The cells of a number with its interval, a record or a mapping; empty cells without one."""
    read = (
        item.get
        if isinstance(item, Mapping) and not isinstance(item, Record)
        else partial(getattr, item)
    )
    return {name: read(name, None) for name in INTERVAL}


Viewer = Callable[[Plain], View]


class Shown:
    """The base of results: `view`, `to_frame`, `save`, `log_to`, and what a prompt and a notebook show."""

    __slots__ = ()

    def __post_init__(self) -> None:
        list_records(self)

    def to_frame(
        self, what: str | None = None, *, wide: bool = False, library: str | None = None
    ) -> Any:
        """Return a tidy frame, one row for each number, under plain names (``value``, ``lower``, ``upper``, ...).

        The first row, ``headline``, is the number of the result, with level, kind, assumption (``assumes``), trust and
        verdict (``fell``) in columns of their own. ``what`` names a table of the result; the first one by default, and
        a name that is not there is refused with those that are. ``wide`` adds the columns that few read, such as score
        and citation. ``library`` is "pandas", "polars" or "pyarrow"; by default the one that the program already uses,
        else the one that is installed. Rates are fractions. Raises `UsageError` for an unknown name and
        `MissingExtraError`, with the line that installs it, where the library is absent.
        """
        return _above("outputs.frames").frame_of(self, what, library, wide)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        name: str | None = None,
        size: Literal["page", "slide"] = "page",
    ) -> Any:
        """Write a chart of the result as a picture, or return it to be shown.

        path : the picture, SVG or PNG by its ending, written whole or not at all; its path is returned. Without one a
            `Chart` of altair is returned, or axes of matplotlib where altair is not installed. A text without an ending
            is a ``name``.
        name : of a chart of the page, such as "reliability"; by default the chunks or slices, else the methods, or what
            else the page shows first.
        size : of a picture, "page" (as wide as a text) or "slide" (16 to 9, its letters legible from afar).

        Raises `UsageError` for another ending, a name or a result without a chart, `MissingExtraError`, with the line
        that installs it, where no library is there, and `WorkError` where the picture cannot be written.
        """
        return _above("outputs.plotting").plot_of(self, path, name=name, size=size)

    def to_markdown(self) -> str:
        """Return the first screen as Markdown, for a pull request, a ticket or a chat.

        It holds the number with its interval, kind, assumption, trust and verdict, what contradicts it, the first
        sentences and a table of at most 12 rows. `save` to .md writes all that the result says.
        """
        text: str = _above("outputs.markdown").first_screen_of(self)
        return text

    def save(self, path: str | os.PathLike[str], *, what: str | None = None) -> Path:
        """Write the result to a file by its ending, whole or not at all.

        .csv and .parquet hold the table that `to_frame` gives for ``what``, wide; .json what ``--json`` writes; .html
        and .pdf the page; .md the summary. Raises `UsageError` for any other ending, `MissingExtraError` where a
        library or a browser is absent, `WorkError` where the file cannot be written.
        """
        written: Path = _above("outputs.files").save(self, path, what=what)
        return written

    def log_to(self, tracker: str, **options: Any) -> str:
        """Log numbers, options and files to "mlflow" or "wandb"; returns the id of the run.

        It goes to the run that is open, or to one of its own. ``options`` are those of `oodometer.integrations`.
        Raises `UsageError` for another tracker, `MissingExtraError` where its library is absent.
        """
        run: str = _above("integrations").log(self, tracker, **options)
        return run

    def view(self) -> View:
        """What the result says: number, sentences, tables; the terminal, notebooks, Markdown and pages show it."""
        view: View = type(self)._viewed(self.to_dict())  # type: ignore[attr-defined]
        return view

    def frames(self) -> Mapping[str, Maker]:
        """Name of each table of numbers -> what makes it; the first is the one that is meant where none is named."""
        return {}

    def __repr__(self) -> str:
        text: str = _above("outputs.terminal").text_of(self)
        return text

    def _repr_html_(self) -> str:
        html: str = _above("outputs.notebook").html_of(self)
        return html


Entry = TypeVar("Entry", covariant=True)


class Named(Mapping[str, Entry]):
    """A result that is a mapping from names to its entries; another name is a `KeyError` that tells the near one.

    ``_entries`` names the field that holds them, a mapping, or records and the attribute that names each. What is a
    method of a ``_kind`` goes by the names that other libraries give it, too.
    """

    __slots__ = ()
    _entries: ClassVar[tuple[str, str]]
    _noun: ClassVar[str] = "entry"
    _kind: ClassVar[str] = ""

    def entries(self) -> Mapping[str, Entry]:
        """The entries by name."""
        field, name = self._entries
        entries = getattr(self, field)
        return (
            entries
            if isinstance(entries, Mapping)
            else {getattr(entry, name): entry for entry in entries}
        )

    def __getitem__(self, name: str) -> Entry:
        entries = self.entries()
        skipped = getattr(self, "skipped", ())  # methods with a reason, or what else was left out
        listed = skipped if isinstance(skipped, tuple) else ()
        why = {skip.method: skip.why for skip in listed if hasattr(skip, "method")}
        name = (
            canonical(self._kind, str(name), [*entries, *why])
            if self._kind and name not in entries
            else name
        )
        if name in entries:
            return entries[name]
        near = near_names(str(name), [*entries, *why])
        hint = (
            f"did you mean {near[0]}?"
            if near
            else f"there is {', '.join([*entries][:12]) or 'none'}"
        )
        reason = f": {why[name]}" if name in why else f"; {hint}"
        raise UnknownNameError(f"there is no {self._noun} {name!r}{reason}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries())

    def __len__(self) -> int:
        return len(self.entries())

    def __bool__(self) -> bool:
        """A result is one, also where it has no entry."""
        return True


def shows(*records: type[Shown]) -> Callable[[Viewer], Viewer]:
    """Make a function, which reads the mapping that JSON holds, the view of these records."""

    def decorate(view: Viewer) -> Viewer:
        for record in records:
            record._viewed = view  # type: ignore[attr-defined]
        return view

    return decorate


def _above(module: str) -> Any:
    return importlib.import_module(f"..{module}", __package__)
