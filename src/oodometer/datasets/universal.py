"""Universal tags: one set of twelve for corpora tagged in different ways; Penn's and Brown's tags are mapped to it."""

from __future__ import annotations

import re

UNIVERSAL = ("NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "X", ".")

_PENN = {
    "NOUN": "NN NNS NNP NNPS",
    "VERB": "VB VBD VBG VBN VBP VBZ MD BES HVS",
    "ADJ": "JJ JJR JJS",
    "ADV": "RB RBR RBS WRB",
    "PRON": "PRP PRP$ WP WP$",
    "DET": "DT PDT WDT EX",
    "ADP": "IN",
    "NUM": "CD",
    "CONJ": "CC",
    "PRT": "RP TO POS",
    "X": "FW LS SYM UH XX GW X",
    ".": ". , : `` '' -LRB- -RRB- ( ) # $ - ... \" ' --",
}
_FROM_PENN = {tag: one for one, tags in _PENN.items() for tag in tags.split()}

# Brown's tags, as Penn would tag the same words: its own names for be, have and do are verbs, possessive pronouns are
# pronouns, `all` and `such` before a noun are determiners, ordinals and `other`, `many`, `more` are adjectives.
_BROWN = {
    "NOUN": "NN NN$ NNS NNS$ NP NP$ NPS NPS$ NR NR$ NRS PN PN$ CD$",
    "VERB": "VB VBD VBG VBN VBZ MD BE BED BEDZ BEG BEM BEN BER BEZ DO DOD DOZ HV HVD HVG HVN HVZ",
    "ADJ": "JJ JJ$ JJR JJR$ JJS JJT AP AP$ OD",
    "ADV": "RB RB$ RBR RBT RN QL QLP WRB WQL *",
    "PRON": "PPS PPSS PPO PPL PPLS PP$ PP$$ WPS WPO WP$",
    "DET": "AT DT DT$ DTI DTS DTX WDT EX ABN ABL ABX",
    "ADP": "IN CS",
    "NUM": "CD",
    "CONJ": "CC",
    "PRT": "TO RP",
    "X": "UH NIL FW",
    ".": ". , : ` `` '' ' ( ) --",
}
_FROM_BROWN = {tag: one for one, tags in _BROWN.items() for tag in tags.split()}
_ENDING = re.compile(r"(-(TL|HL|NC|T|N))+$")


def from_penn(tag: str) -> str:
    """The universal tag of a Penn Treebank tag; X for one that is not Penn's. Source: Petrov, Das and McDonald (2012).

    >>> [from_penn(tag) for tag in ("NNP", "MD", "POS", "-LRB-", "ODD")]
    ['NOUN', 'VERB', 'PRT', '.', 'X']
    """
    return _FROM_PENN.get(tag, "X")


def from_brown(tag: str, word: str = "") -> str:
    """The universal tag of a Brown tag, such as Penn's taggers would have chosen; X for foreign and unknown ones.

    Endings for titles and headlines are dropped; of a contraction (``PPSS+MD``) the first part counts, and a negation
    is no part of its verb (``BEZ*``). Penn tags *to* alike before nouns and verbs (PRT), and *that* in a relative
    clause as a determiner, so both words are decided by themselves.

    Source: Petrov, Das and McDonald (2012), with possessive pronouns, *all*, *there*, *to* and *that* as in Penn's map.

    >>> [from_brown(tag) for tag in ("NN-TL", "PPSS+MD", "BEZ*", "PP$", "FW-NN", "*")]
    ['NOUN', 'PRON', 'VERB', 'PRON', 'X', 'ADV']
    >>> from_brown("IN", "to"), from_brown("WPS", "that"), from_brown("WPS", "who")
    ('PRT', 'DET', 'PRON')
    """
    if tag.startswith("FW-"):
        return "X"
    base = _ENDING.sub("", tag).partition("+")[0]
    base = base if base == "*" else base.rstrip("*")
    if word.lower() == "to" and base == "IN":
        return "PRT"
    if word.lower() == "that" and base in ("WPS", "WPO"):
        return "DET"
    return _FROM_BROWN.get(base, "." if base.startswith("--") else "X")
