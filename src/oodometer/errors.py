"""Errors: the whole exception tree, each message saying what was expected, what came and what to do.

OodometerError                    the root; catch this one
├── InputError                    a file, a row or an argument is wrong            (exit code 2)
│   ├── MissingColumnsError       a file lacks what the work needs, by our names   (exit code 2)
│   └── ClassesError              classes are other ones than elsewhere            (exit code 2)
├── UsageError                    a command or a call makes no sense               (exit code 2)
│   ├── UnknownColumnError        a column that was named is not there             (exit code 2)
│   └── UnknownNameError          a result has no entry of this name; a `KeyError` (exit code 2)
├── NotApplicable                 a method cannot answer on these data (a skip, not a failure)
├── WorkError                     the work itself failed                           (exit code 1)
│   └── NotStoredError            the answer is there, its store did not take it   (exit code 1)
└── MissingExtraError             an optional dependency is absent                 (exit code 2)
"""

from __future__ import annotations

import copyreg
import importlib
import json
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

# controls, half characters, separators of lines
_UNSEEN = frozenset(("Cc", "Cs", "Cn", "Zl", "Zp"))
_BENDING = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)


def visible(text: str) -> str:
    """Text that is safe on a terminal: control characters, and those that turn the direction of a line, as escapes."""
    if text.isprintable():
        return text
    return "".join(
        sign.encode("unicode_escape").decode("ascii")
        if sign in _BENDING or unicodedata.category(sign) in _UNSEEN
        else sign
        for sign in text
    )


# A user's name may hold @ and a password any sign, up to the last @; what follows a host is a port.
_PASSWORDS = (
    (re.compile(r"('postgres(?:ql)?://[^\s:/?']*):[^']*@"), r"\1:***@"),  # as a shell quotes it
    (re.compile(r"(\bpostgres(?:ql)?://[^\s:/?]*):\S*@"), r"\1:***@"),
    (
        re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/?]*):(?!\d+(?:[/,?'\"\s]|$))\S*@", re.IGNORECASE),
        r"\1:***@",
    ),
    (
        re.compile(
            r"([?&]password=)[^\s&'\"]*?(?:&(?![a-z_]+=)[^\s&'\"]*)*(?=:?(?:[\s&'\"]|$))",
            re.IGNORECASE,
        ),
        r"\1***",
    ),
)
_WORD = re.compile(
    r"(\b[a-z][a-z0-9+.-]*://[^\s:/?]*):(?!\d+(?:[/,?]|$)).*@", re.DOTALL | re.IGNORECASE
)


def without_passwords(text: str, *, word: bool = False) -> str:
    """Text with every password in a URL hidden; ``word``: it is one word of a command, so that a password may hold
    spaces.
    """
    if "://" not in text:
        return text
    text = _WORD.sub(r"\1:***@", text) if word else text
    for sign, hidden in _PASSWORDS:
        text = sign.sub(hidden, text)
    return text


def near_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that look like a mistyped one, the nearest first."""
    import difflib

    lower = {name_.lower(): name_ for name_ in reversed(list(known))}
    return [
        lower[match]
        for match in difflib.get_close_matches(name.lower(), lower, n=most, cutoff=0.65)
    ]


class OodometerError(Exception):
    """Root of every error that oodometer raises on purpose; the message is always one line.

    >>> OodometerError("two\\nlines").args[0]
    'two lines'
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(without_passwords(visible(" ".join(str(message).split()))))

    def __reduce__(self) -> Any:
        """An error comes back from another process as what it was."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class Remedy(str):
    """What a user can do, with the options beside the sentence that do it, so that no command reads the sentence.

    Parameters
    ----------
    text : the sentence.
    options : what to add to the command as it was typed.

    >>> remedy = Remedy("name one, `--metric f1` or `--metric acc`", "--metric", "f1")
    >>> remedy, remedy.options
    ('name one, `--metric f1` or `--metric acc`', ('--metric', 'f1'))
    """

    options: tuple[str, ...]

    def __new__(cls, text: str, *options: str) -> Self:
        """The string ``text`` that carries ``options``."""
        remedy = super().__new__(cls, text)
        remedy.options = options
        return remedy

    def __reduce__(self) -> tuple[type[Self], tuple[str, ...]]:
        return type(self), (str(self), *self.options)


class InputError(OodometerError, ValueError):
    """Input that cannot become a number, with the place, what was expected and the remedy.

    Parameters
    ----------
    expected : what should have been there.
    got : what was there.
    remedy : what the user can do about it; of a `Remedy` the shell shows the command that does it.
    naming : how columns or classes could be named so that it works; a command that does it takes its place.
    file : file name, if the data came from one.
    row : data row, counted from 1 (a CSV header is not counted).
    column : column or field name.

    >>> print(InputError("numbers", got="'abc'", remedy="fix the cell", file="a.csv", row=3, column="prob_cat"))
    a.csv: row 3: column prob_cat: expected numbers, got 'abc'; fix the cell
    """

    exit_code = 2

    def __init__(
        self,
        expected: str,
        *,
        got: str | None = None,
        remedy: str | None = None,
        naming: str | None = None,
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        self.expected, self.got, self.remedy, self.naming = expected, got, remedy, naming
        self.file, self.row, self.column = file, row, column
        location = (
            file,
            None if row is None else f"row {row}",
            None if column is None else f"column {column}",
        )
        text = ": ".join([*(part for part in location if part), f"expected {expected}"])
        text += "" if got is None else f", got {got}"
        super().__init__("; ".join(part for part in (text, remedy, naming) if part))

    def at(self, *, file: str | None = None, row_offset: int = 0) -> InputError:
        """Return the same error placed in a file, its row moved by the rows read before."""
        return type(self)(
            self.expected,
            got=self.got,
            remedy=self.remedy,
            naming=self.naming,
            file=self.file or file,
            row=None if self.row is None else self.row + row_offset,
            column=self.column,
        )


class MissingColumnsError(InputError):
    """A file lacks the columns that the work needs, as a rule under other names."""


class ClassesError(InputError):
    """Classes that are other ones than those that are known: of another file, or of the probabilities."""


class UsageError(OodometerError, ValueError):
    """A call or a command that makes no sense, such as an unknown method name."""

    exit_code = 2


class UnknownColumnError(UsageError):
    """A column that was named is not there; ``column`` is its name, ``meant`` the column that was probably meant.

    >>> UnknownColumnError("y_true", "a.csv: there is no column y_true").column
    'y_true'
    """

    def __init__(self, column: str, message: str, meant: str | None = None) -> None:
        self.column, self.meant = column, meant
        super().__init__(message)


class UnknownNameError(UsageError, KeyError):
    """A result has no entry of this name; also a `KeyError`, as a mapping raises it."""

    __str__ = Exception.__str__  # that of a KeyError would put quotes around the message


class NotApplicable(OodometerError):
    """A method that cannot answer on these data; the message is the reason printed under ``skipped``."""

    exit_code = 2


class MissingExtraError(OodometerError, ImportError):
    """An optional dependency is absent; the message names the ``pip install`` line that works from here.

    From an index that is ``pip install 'oodometer[report]'``, from a checkout its path stands in the place of the name.

    >>> print(MissingExtraError("the HTML report", "vl-convert-python", extra="report"))
    the HTML report needs vl-convert-python, which is not installed; run: pip install ...[report]'
    >>> print(MissingExtraError("to_frame()", "polars", install="polars"))
    to_frame() needs polars, which is not installed; run: pip install polars

    ``extra`` names ours; ``install`` a package of its own, where no extra of ours holds it.
    """

    exit_code = 2

    def __init__(
        self, what: str, package: str, *, extra: str | None = None, install: str | None = None
    ) -> None:
        self.extra = extra
        line = (
            install_line(extra)
            if extra is not None and install is None
            else f"pip install {install or package}"
        )
        super().__init__(f"{what} needs {package}, which is not installed; run: {line}")


def needed(module: str, what: str, *, extra: str, package: str | None = None) -> Any:
    """A module of an optional dependency; `MissingExtraError` where it is absent.

    >>> needed("json", "this", extra="hf").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, package or module.partition(".")[0], extra=extra) from error


class WorkError(OodometerError):
    """The work failed although the input was right, for example an output that cannot be written."""

    exit_code = 1


class NotStoredError(WorkError):
    """An answer is there, and the store of past runs did not take it; ``found`` is the answer.

    >>> NotStoredError("runs.sqlite: the disk is full", found={"value": 0.9}).found
    {'value': 0.9}
    """

    def __init__(self, message: str, found: Any = None) -> None:
        self.found = found
        super().__init__(message)


def install_line(extra: str) -> str:
    """The command that adds the extra to this installation. An index may not hold the package, or another release of
    it, so the line names the place that this one came from (PEP 610), where that is gone the libraries themselves.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # which takes a while
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    from_index = f"pip install 'oodometer[{extra}]'"
    try:
        installed = distribution("oodometer")
    except PackageNotFoundError:  # run from the sources, never installed
        root = Path(__file__).resolve().parents[2]
        is_ours = (root / "pyproject.toml").is_file()
        return f"pip install '{root}[{extra}]'" if is_ours else from_index
    try:
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
        if not origin:
            return from_index
        url = str(origin["url"])
        if "vcs_info" in origin:
            url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
        if "vcs_info" in origin or urlsplit(url).scheme != "file":
            return f"pip install 'oodometer[{extra}] @ {url}'"
        path = Path(url2pathname(urlsplit(url).path))
        if path.exists():
            return f"pip install {'-e ' if origin.get('dir_info', {}).get('editable') else ''}'{path}[{extra}]'"
    except (ValueError, KeyError, TypeError, AttributeError):  # written by another hand than pip's
        return from_index
    # the libraries by name; a requirement of ours is `vl-convert-python>=1.8; extra == "report"`
    of_extra = []
    for require in installed.requires or []:
        name, _, marker = require.replace("'", '"').partition(";")
        if marker.strip() == f'extra == "{extra}"':
            of_extra.append(f"'{name.strip()}'")
    return f"pip install {' '.join(of_extra)}" if of_extra else from_index
