"""References: what a BibTeX entry says, in plain letters, for one line on a page."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from ..citations import BIBTEX

ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "c": "\u0327", "v": "\u030c"}
LETTERS = {"l": "ł", "L": "Ł", "o": "ø", "O": "Ø", "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "aa": "å", "AA": "Å",
           "i": "i"}  # fmt: skip
MOST_AUTHORS = 3


@dataclass(frozen=True, slots=True)
class Reference:
    """Author, title, place and year of one entry; empty strings where the entry is unknown."""

    key: str
    authors: str = ""
    title: str = ""
    place: str = ""
    year: str = ""


def reference(key: str) -> Reference:
    """What stands under a key, of more than three authors the first; a key without an entry comes back bare.

    >>> reference("guo2017").title, reference("guo2017").authors, reference("guo2017").place
    ('On Calibration of Modern Neural Networks', 'Guo et al.', 'ICML')
    >>> reference("nobody1900").title
    ''
    """

    def field(name: str) -> str:
        match = re.search(rf"^\s*{name}\s*=\s*\{{(.*)\}},?$", BIBTEX.get(key, ""), flags=re.MULTILINE)
        # Accents of LaTeX to letters; braces are dropped.
        text, letters = match[1] if match else "", "|".join(LETTERS)
        text = re.sub(r"\{?\\(" + letters + r")(?![A-Za-z])\s?\}?", lambda letter: LETTERS[letter[1]], text)
        text = re.sub(r"\{?\\(['`^\"~cv])\s?\{?([A-Za-z])\}?\}?", lambda sign: sign[2] + ACCENTS[sign[1]], text)
        text = re.sub(r"[{}]", "", unicodedata.normalize("NFC", text))
        return text.replace("\\&", "&").replace("--", "\N{EN DASH}").strip()

    names = [name.split(",")[0].strip() for name in field("author").split(" and ") if name.strip()]
    authors = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
    authors = f"{names[0]} et al." if len(names) > MOST_AUTHORS else authors
    venue = field("booktitle") or field("journal") or field("howpublished")
    return Reference(key, authors, field("title"), venue, field("year"))
