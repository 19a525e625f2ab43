"""Citations: BibTeX by key; every method carries its key, and ``oodometer cite METHOD`` prints the entry."""

from __future__ import annotations

from importlib.resources import files

from .errors import UsageError

BIBTEX: dict[str, str] = {}  # entry by key; an entry starts with @ at the start of a line
for _entry in (files(__package__) / "citations.bib").read_text(encoding="utf-8").split("\n@")[1:]:
    BIBTEX[_entry[_entry.index("{") + 1 : _entry.index(",")]] = f"@{_entry.strip()}"


def bibtex(key: str) -> str:
    """The BibTeX entry under a key; `UsageError` names the keys when there is none.

    >>> bibtex("garg2022").splitlines()[0]
    '@inproceedings{garg2022,'
    """
    if key not in BIBTEX:
        raise UsageError(f"unknown citation {key!r}; known: {', '.join(sorted(BIBTEX))}")
    return BIBTEX[key]
