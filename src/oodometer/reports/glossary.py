"""Glossary: kinds of interval, levels of trust and kinds of shift in words for everyone; a BibTeX entry as one line."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from ..citations import BIBTEX

ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "c": "\u0327", "v": "\u030c"}
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


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of interval: how much it promises, in a few words and in full."""

    name: str
    short: str
    text: str


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "exact",
            "holds for any number of rows",
            "The interval holds the true value at the stated level, however few rows there are. It assumes only that "
            "the labelled rows are a random sample of the rows it speaks about. An exact interval of the reference "
            "therefore says nothing about the target.",
        ),
        Kind(
            "asymptotic",
            "holds for many rows",
            "As exact, but only approximately, and better the more rows there are. It assumes only random sampling.",
        ),
        Kind(
            "conditional",
            "holds only if its assumption does",
            "The interval covers chance in the rows and nothing else. It holds only if the assumption printed beside "
            "it holds on the target; without labels it can sometimes be refuted, never proved.",
        ),
        Kind(
            "empirical",
            "rests on experience and promises nothing",
            "The interval was right in the past, or spans the answers of several methods. It promises nothing about "
            "data unlike those it was learned from.",
        ),
        Kind(
            "backtest",
            "is as wide as the errors on simulated shifts",
            "Shifts were simulated from the labelled reference, and the interval is as wide as the errors made there. "
            "A real shift can be worse than any simulated one.",
        ),
    )
}

NO_GUARANTEE = (
    "None of the estimates made without labels is a guarantee, whatever the kind of its interval. Only randomly "
    "chosen labelled rows of the target can give one; a few dozen already help."
)

TRUST: dict[str, tuple[str, str]] = {
    "high": (
        "High trust",
        "It says that outputs show nothing against this number. A fall that leaves no trace in them needs labels.",
    ),
    "low": ("Low trust", "This is a first guess: label some random target rows before you rely on it."),
    "none": ("No trust", "Do not act on this number. Label some random target rows first."),
}

SHIFTS: dict[str, str] = {
    "none": "The target looks like the reference: nothing that can be seen has moved.",
    "label": "The mix of classes has changed; the rows of each class look as before.",
    "covariate": "The mix of inputs has changed; there is no sign of rows beyond what the reference has seen.",
    "support": "The target holds rows unlike any in the reference; for those, nothing vouches for the model.",
    "unknown": "The data do not tell what kind of shift this is.",
}

STRENGTHS: dict[str, tuple[str, str]] = {
    "strong": ("strong sign", "low"),
    "weak": ("weak sign", "faint"),
    "none": ("no sign", "quiet"),
}
"""How strong a finding is: in words, and the style of its badge."""
