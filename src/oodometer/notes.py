"""Notes: sentences of a result that say their kind and what they are about, so that no decision reads the sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

TRUST = "trust"
"""Kind: why a number is trusted or not."""
THRESHOLD = "threshold"
"""Kind: from which confidence on a wanted accuracy is reached."""
BESIDE = "beside"
"""Kind: a second number of the same quantity, which a page draws beside the first one."""
TARGET_LABELS = "target labels"
"""Kind: what labels that stand in the target itself were used for."""


class Note(str):
    """A warning or another sentence for a person, with its kind and its subject beside it.

    A note is a plain string wherever text is wanted: in JSON, on pages and terminals. Code that leaves notes out or
    gathers them asks for ``kind`` and ``about``, so that a better sentence changes nothing but the sentence.

    Parameters
    ----------
    text : the sentence.
    kind : what kind of note it is, such as `TRUST`.
    about : the name of the file or part that it speaks of.

    >>> warning = Note("one side fails; label some target rows", kind=TRUST)
    >>> warning, kind_of(warning), kind_of("a plain sentence")
    ('one side fails; label some target rows', 'trust', '')
    """

    kind: str
    about: str

    def __new__(cls, text: str, kind: str = "", about: str = "") -> Self:
        """The string ``text`` that carries ``kind`` and ``about``."""
        note = super().__new__(cls, text)
        note.kind, note.about = kind, about
        return note

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str]]:
        return type(self), (str(self), self.kind, self.about)


def kind_of(text: str) -> str:
    """The kind of a note; empty where ``text`` is no note."""
    return text.kind if isinstance(text, Note) else ""


def about(text: str) -> str:
    """What a note is about; empty where ``text`` is no note."""
    return text.about if isinstance(text, Note) else ""


def file_name(path: str) -> str:
    """The last part of a ``path`` or an address with slashes."""
    return path.rpartition("/")[2]


def notes_on(path: str, lines: Iterable[str]) -> list[Note]:
    """Notes about the file at ``path``, one for each of the ``lines``, which open with its name.

    >>> notes_on("data/t.csv", ["read y as label; --map changes it"])
    ['t.csv: read y as label; --map changes it']
    """
    name = file_name(path)
    return [Note(f"{name}: {line}", about=name) for line in lines]
