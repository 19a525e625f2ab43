"""Tagging: sentences with a part of speech for each word, from the Wall Street Journal to Brown, from web to genres."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .base import Dataset, Row, split_by_group
from .files import check_name, damaged, data_file, data_folder, hub_rows, read_objects

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
_FROM_PENN = {tag: name for name, tags in _PENN.items() for tag in tags.split()}

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
_FROM_BROWN = {tag: name for name, tags in _BROWN.items() for tag in tags.split()}
_ENDING = re.compile(r"(-(TL|HL|NC|T|N))+$")


def from_penn(tag: str) -> str:
    """The universal tag of a Penn Treebank tag; X for one that is not Penn's. Source: Petrov, Das and McDonald (2012).

    >>> [from_penn(tag) for tag in ("NNP", "MD", "POS", "-LRB-", "ODD")]
    ['NOUN', 'VERB', 'PRT', '.', 'X']
    """
    return _FROM_PENN.get(tag, "X")


@cache
def from_brown(tag: str, word: str = "") -> str:
    """The universal tag of a Brown tag, such as Penn's taggers would have chosen; X for foreign and unknown ones.

    Endings for titles and headlines are dropped; of a contraction (``PPSS+MD``) the first part counts, and a negation
    is no part of its verb (``BEZ*``). Penn tags *to* alike before nouns and verbs (PRT), and *that* in a relative
    clause as a determiner, so both words are decided by themselves. Source: Petrov, Das and McDonald (2012), with
    possessive pronouns, *all*, *there*, *to* and *that* as in Penn's map.

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


CORPORA, TREEBANKS = "pos_wsj_brown_etc.jsonl.xz", "ud_pos.jsonl.xz"
# of the documents of the Wall Street Journal's sample: training, development, test
_TAG_SHARES = (0.7, 0.1, 0.2)
_UD, _UD_HUB = "universal-dependencies/universal_dependencies", {"ewt": "en_ewt", "gum": "en_gum"}


def wsj_tags(split: str, seed: int = 0) -> Dataset:
    """Sentences with the twelve universal tags.

    split : ``train``, ``dev`` and ``test`` of the WSJ, ``brown`` or ``masc``; `UsageError` for another. Training
        sentences are 70 % of the documents of the WSJ sample of the Penn Treebank, and CoNLL-2000's training set (other
        sections of the WSJ; its tags were made by a tagger, not by hand). ``dev`` and ``test`` are 10 % and 20 % of the
        sample's documents, tagged by hand. ``brown`` has the Brown corpus by genre, its tags mapped as Penn would have
        them; ``masc`` has MASC, written and spoken.
    seed : of the draw of the WSJ's splits.

    Read from ``pos_wsj_brown_etc.jsonl.xz``.
    """
    check_name(split, ("train", "dev", "test", "brown", "masc"))
    path = data_file(CORPORA, "the Brown corpus and the WSJ sample with tags")
    if split in ("brown", "masc"):
        return Dataset.of_rows(split, _corpora(path)[split], path.name)
    sample = _corpora(path)["wsj_sample"]
    documents = [name.rsplit("/", 1)[0] for *_, name in sample]
    parts = split_by_group(Dataset.of_rows("wsj", sample, path.name), documents, _TAG_SHARES, seed)
    part = parts[("train", "dev", "test").index(split)]
    return (
        part + Dataset.of_rows("wsj", _corpora(path)["conll2000_train"], path.name)
        if split == "train"
        else part
    )


def ud_tags(treebank: str, splits: Sequence[str] = ("train", "dev", "test")) -> Dataset:
    """Sentences with Universal Dependencies' seventeen tags; types are genres.

    treebank : ``ewt``, ``gum`` or ``gentle``.
    splits : which of ``train``, ``dev`` and ``test`` to take, by default all.

    Read from ``ud_pos.jsonl.xz`` or the hub's ``universal-dependencies/universal_dependencies``, where genres are not
    told (the type is then the treebank's name). Source: Nivre et al. (2020).
    """
    folder = data_folder()
    if folder is None:
        if treebank not in _UD_HUB:
            data_file(TREEBANKS, f"the treebank {treebank}")
        hub: list[Row] = []
        for split in splits:
            table = hub_rows(_UD, "validation" if split == "dev" else split, _UD_HUB[treebank])
            names = table.features["upos"].feature.names
            for i, cells in enumerate(table):
                tags = " ".join(names[tag] for tag in cells["upos"])
                hub.append((" ".join(cells["tokens"]), tags, treebank, f"{split}/{i}"))
        return Dataset.of_rows(treebank, hub, _UD)
    path = folder / TREEBANKS
    rows = [row for name, split, row in _treebanks(path) if name == treebank and split in splits]
    return Dataset.of_rows(treebank, rows, path.name)


@cache
def _corpora(path: Path) -> dict[str, list[Row]]:
    out: dict[str, list[Row]] = {"wsj_sample": [], "conll2000_train": [], "brown": [], "masc": []}
    for row, cells in read_objects(path, "corpus", "genre", "tok", "tag"):
        corpus = str(cells["corpus"])
        if corpus not in out:
            continue
        words, tags = _pair(cells, "tag", path, row)
        brown = corpus == "brown"
        mapped = [
            from_brown(tag, word) if brown else from_penn(tag)
            for tag, word in zip(tags, words, strict=True)
        ]
        name = f"{cells.get('doc', corpus)}/{cells.get('i', row)}"
        out[corpus].append((" ".join(words), " ".join(mapped), str(cells["genre"]), name))
    return out


@cache
def _treebanks(path: Path) -> list[tuple[str, str, Row]]:
    out = []
    for row, cells in read_objects(path, "treebank", "split", "genre", "tok", "upos"):
        words, tags = _pair(cells, "upos", path, row)
        entry = (" ".join(words), " ".join(tags), str(cells["genre"]), str(cells.get("id", row)))
        out.append((str(cells["treebank"]), str(cells["split"]), entry))
    return out


def _pair(cells: dict[str, Any], column: str, path: Path, row: int) -> tuple[list[str], list[str]]:
    words, tags = str(cells["tok"]).split(), str(cells[column]).split()
    if not words or len(words) != len(tags):
        raise damaged(
            "as many tags as words", f"{len(words)} words and {len(tags)} tags", path, row
        )
    return words, tags
