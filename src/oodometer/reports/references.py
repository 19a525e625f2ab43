"""References: a BibTeX entry as one line of text, for the notes of a page."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from ..citations import BIBTEX

ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    '"': "\u0308",
    "~": "\u0303",
    "c": "\u0327",
    "v": "\u030c",
}
LETTERS = {
    "l": "ł",
    "L": "Ł",
    "o": "ø",
    "O": "Ø",
    "ss": "ß",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "aa": "å",
    "AA": "Å",
    "i": "i",
}
MOST_AUTHORS = 3


@dataclass(frozen=True, slots=True)
class Reference:
    """Author, title, place and year of one entry; empty strings where the entry is unknown."""

    key: str
    authors: str = ""
    title: str = ""
    place: str = ""
    year: str = ""


def _plain(text: str) -> str:
    """LaTeX accents to letters, braces dropped."""

    def accent(match: re.Match[str]) -> str:
        return unicodedata.normalize("NFC", match[2] + ACCENTS[match[1]])

    text = re.sub(r"\{?\\(" + "|".join(LETTERS) + r")(?![A-Za-z])\s?\}?", lambda found: LETTERS[found[1]], text)
    text = re.sub(r"\{?\\(['`^\"~cv])\s?\{?([A-Za-z])\}?\}?", accent, text)
    return re.sub(r"[{}]", "", text).replace("\\&", "&").replace("--", "\N{EN DASH}").strip()


def _field(entry: str, name: str) -> str:
    match = re.search(rf"^\s*{name}\s*=\s*\{{(.*)\}},?$", entry, flags=re.MULTILINE)
    return _plain(match[1]) if match else ""


def _authors(field: str) -> str:
    """Family names, at most three and then "et al."

    >>> _authors("Garg, Saurabh and Balakrishnan, Sivaraman"), _authors("A, B and C, D and E, F and G, H")
    ('Garg and Balakrishnan', 'A et al.')
    """
    names = [name.split(",")[0].strip() for name in field.split(" and ") if name.strip()]
    if len(names) > MOST_AUTHORS:
        return f"{names[0]} et al."
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def reference(key: str) -> Reference:
    """What stands under a key; a key without an entry comes back bare.

    >>> reference("guo2017").title, reference("guo2017").authors, reference("guo2017").place
    ('On Calibration of Modern Neural Networks', 'Guo et al.', 'ICML')
    >>> reference("nobody1900").title
    ''
    """
    entry = BIBTEX.get(key, "")
    place = next((found for name in ("booktitle", "journal", "howpublished") if (found := _field(entry, name))), "")
    return Reference(key, _authors(_field(entry, "author")), _field(entry, "title"), place, _field(entry, "year"))
