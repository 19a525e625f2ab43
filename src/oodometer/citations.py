"""Citations: BibTeX by key; every method carries its key, and ``oodometer cite METHOD`` prints the entry."""

from __future__ import annotations

from importlib.resources import files

from .errors import UsageError


def _read() -> dict[str, str]:
    """The entries of ``citations.bib`` by key; an entry starts with @ at the start of a line."""
    text = (files(__package__) / "citations.bib").read_text(encoding="utf-8")
    entries = ["@" + part.strip() for part in text.split("\n@")[1:]]
    return {entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in entries}


BIBTEX: dict[str, str] = _read()


def bibtex(key: str) -> str:
    """The BibTeX entry under a key; `UsageError` names the keys when there is none.

    >>> bibtex("garg2022").splitlines()[0]
    '@inproceedings{garg2022,'
    """
    if key not in BIBTEX:
        raise UsageError(f"unknown citation {key!r}; known: {', '.join(sorted(BIBTEX))}")
    return BIBTEX[key]
