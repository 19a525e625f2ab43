"""Constituency trees: read from brackets, cleaned, and written as one line that a sequence model can learn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from oodometer.errors import InputError

from .base import Dataset, Row, split_by_group
from .files import check_name, data_file, read_lines, read_objects

_LISTED = (
    "ness ment tion sion able ible less ship hood ance ence ious ical ally ward wise like self ized ised izes izing "
    "ing ity ous ful ish ive ize ise ism ist ant ent ary ory ial ian eer ate ify est ed er or ly al ic en ty cy ry us "
    "es 's s e y n"
)
_ENDINGS = _LISTED.split()


def signature(word: str) -> str:
    """The form of a word as one token: capital letters, digits, a hyphen, and its ending. Source: Petrov et al. (2006),
    whose classes of unknown words ours follow; the endings are our own list.

    >>> [signature(word) for word in ("Ringers", "1,250", "mid-March", "unwell", "--", "NASA")]
    ['~Xs', '~0', '~x-', '~x', '~.', '~XX']
    """
    letters = any(letter.isalpha() for letter in word)
    if not any(letter.isalnum() for letter in word):
        return "~."
    if word[0].isdigit() or not letters:
        return "~0x" if letters else "~0"
    digits = "0" if any(letter.isdigit() for letter in word) else ""
    hyphen = "-" if "-" in word[1:] else ""
    if len(word) > 1 and word.isupper():
        return f"~XX{digits}{hyphen}"
    case, last = "X" if word[0].isupper() else "x", word.rpartition("-")[2].lower()
    ending = next((end for end in _ENDINGS if last.endswith(end) and len(last) > len(end) + 1), "")
    return f"~{case}{digits}{hyphen}{ending}"


def with_signatures(texts: Iterable[str], least: int = 3) -> Callable[[str], str]:
    """A function that replaces words met fewer than ``least`` times in some texts by their signature.

    >>> rewrite = with_signatures(["the cat sat", "the dog sat", "the cat ran"], least=2)
    >>> rewrite("the cat barked")
    'the cat ~xed'
    """
    counts = Counter(word for text in texts for word in text.split())
    frequent = {word for word, count in counts.items() if count >= least}
    return lambda text: " ".join(
        word if word in frequent else signature(word) for word in text.split()
    )


def numbered(text: str) -> str:
    """Each word of ``text`` with its number before it.

    >>> numbered("The dog barks")
    '1 The 2 dog 3 barks'
    """
    return " ".join(f"{i} {word}" for i, word in enumerate(text.split(), 1))


WSJ, GUM = "wsj_sample_trees.jsonl.xz", "gum_const.jsonl.xz"
# of the documents of the Wall Street Journal's sample: training, development, test
SHARES = (0.75, 0.1, 0.15)
_TOKEN = re.compile(r"[()]|[^\s()]+")
_TRACE = "-NONE-"


@dataclass(frozen=True)
class Tree:
    """A constituent with its parts, or a word: then ``word`` is set, ``label`` is its tag and there are no parts."""

    label: str
    parts: tuple[Tree, ...] = ()
    word: str | None = None

    @property
    def words(self) -> list[str]:
        """The words below."""
        return (
            [self.word]
            if self.word is not None
            else [word for part in self.parts for word in part.words]
        )

    @property
    def tags(self) -> list[str]:
        """The tags of the words below."""
        return (
            [self.label]
            if self.word is not None
            else [tag for part in self.parts for tag in part.tags]
        )

    def constituents(self) -> list[Tree]:
        """This constituent and all below it, words left out, from the left, outer ones first."""
        if self.word is not None:
            return []
        return [self, *(inner for part in self.parts for inner in part.constituents())]


@dataclass
class _Open:
    """A bracket that is not closed yet, with what has been read of it."""

    label: str = ""
    parts: list[Tree] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def parse(text: str, **where: Any) -> Tree:
    """A tree from brackets; functions (NP-SBJ-1), traces and what they leave empty are removed, ROOT becomes TOP."""
    wrong = InputError(
        "a tree in balanced brackets", got=repr(text[:40]), remedy="fetch the file again", **where
    )
    outside = _Open()  # all brackets; what stands in no bracket is put here
    stack, before = [outside], ""
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append(_Open())
        elif token != ")" and before == "(":
            stack[-1].label = token
        elif token != ")":
            stack[-1].words.append(token)
        else:
            closed = stack.pop()
            if not stack or len(closed.words) > (0 if closed.parts else 1):
                raise wrong
            tree = _closed(closed)
            if tree is not None:
                stack[-1].parts.append(tree)
            elif len(stack) == 1:  # nothing but traces
                raise wrong
        before = token
    if len(stack) > 1 or outside.words or len(outside.parts) != 1:
        raise wrong
    [done] = outside.parts
    return done if done.label == "TOP" else Tree("TOP", (done,))


def _closed(bracket: _Open) -> Tree | None:
    """A word, or a constituent without its functions; None for a trace, and for what holds traces alone."""
    label, words = bracket.label, bracket.words
    if not bracket.parts:
        return Tree(label, word=words[0]) if words and label != _TRACE else None
    top = label in ("", "ROOT", "TOP")
    plain = "TOP" if top else re.split(r"[-=|]", label)[0] or label
    return Tree(plain, tuple(bracket.parts))


def linearise(tree: Tree, *, words: bool = True) -> str:
    """A tree as one line. With words as the paper has it; without, brackets over the words' numbers, tokens apart."""
    numbers = count(1)

    def written(part: Tree) -> str:
        if part.word is not None:
            return f"({part.label} {part.word})" if words else str(next(numbers))
        parts = map(written, part.parts)
        return f"({part.label}{''.join(parts)})" if words else f"({part.label} {' '.join(parts)} )"

    return written(tree)


def wsj_trees(split: str, *, words: bool = True, clauses: bool = False, seed: int = 0) -> Dataset:
    """The WSJ sample of the Penn Treebank, 199 documents.

    split : ``train``, ``dev`` or ``test``, 75, 10 and 15 % of the documents; `UsageError` for another.
    words : True gives sentences and trees over words; False numbered tags and trees over the numbers.
    clauses : whether every clause and phrase of the split is a row of its own beside the sentences (type ``phrase``):
        small models need more trees than the sample has.
    seed : of the draw of the splits.

    Read from ``wsj_sample_trees.jsonl.xz``. Source: Marcus et al. (1993).
    """
    check_name(split, ("train", "dev", "test"))
    path = data_file(WSJ, "the treebank")
    trees = _trees(path)
    rows = Dataset.of_rows(
        "wsj", [_row(tree, kind, name, words) for kind, name, tree in trees], path.name
    )
    row_of = {name: i for i, (_, name, _) in enumerate(trees)}
    parts = split_by_group(rows, [name.rsplit("/", 1)[0] for _, name, _ in trees], SHARES, seed)
    part = parts[("train", "dev", "test").index(split)]
    if not clauses:
        return part
    return part + phrases(
        [trees[row_of[name]][2] for name in part.ids], words=words, source=path.name
    )


def gum_trees(*, words: bool = True) -> Dataset:
    """GUM and GENTLE, 23 genres as types, from ``gum_const.jsonl.xz``; ``words`` as of `wsj_trees`.

    Source: Zeldes (2017), Aoyama et al. (2023).
    """
    path = data_file(GUM, "the treebank")
    rows = [_row(tree, kind, name, words) for kind, name, tree in _trees(path)]
    return Dataset.of_rows("gum", rows, path.name)


def phrases(trees: Sequence[Tree], *, words: bool, source: str) -> Dataset:
    """Every constituent below the top, each a row; those that stand more than once are kept once."""
    rows: dict[tuple[str, str], Row] = {}
    for tree in trees:
        top = tree.parts[0] if len(tree.parts) == 1 else tree
        for phrase in top.constituents()[1:]:
            if len(phrase.words) > 1:
                row = _row(Tree("TOP", (phrase,)), "phrase", f"phrase/{len(rows)}", words)
                rows.setdefault(row[:2], row)
    return Dataset.of_rows("phrases", list(rows.values()), source)


def _row(tree: Tree, kind: str, name: str, words: bool) -> Row:
    text = " ".join(tree.words if words else tree.tags)
    return text if words else numbered(text), linearise(tree, words=words), kind, name


@cache
def _trees(path: Path) -> list[tuple[str, str, Tree]]:
    """Type, id and tree of each row; trees that hold nothing but traces are left out."""
    out = []
    for row, cells in read_objects(path, "doc", "i", "tree"):
        tree = parse(str(cells["tree"]), file=str(path), row=row, column="tree")
        out.append((str(cells.get("genre", "news")), f"{cells['doc']}/{cells['i']}", tree))
    return out


_PENN = "ptb"
_PENN_SECTIONS = {"train": range(2, 22), "dev": range(22, 23), "test": range(23, 24)}


def penn_trees(split: str) -> Dataset:
    """Sentences and trees of the Penn Treebank.

    split : of the WSJ ``train`` (sections 2 to 21), ``dev`` (22) or ``test`` (23); or ``brown``, whole. `UsageError`
        for another.

    The corpus is licensed and on no hub: put its ``.mrg`` files into the folder of OODOMETER_DATA as ``ptb/wsj/02/...``
    and ``ptb/brown/cf/...`` (capital letters as released will do). Types are ``news`` and Brown's parts (cf, cg, ...).
    Source: Marcus et al. (1993).
    """
    rows = [
        (" ".join(tree.words), linearise(tree), kind, name)
        for kind, name, tree in _penn_trees(split)
    ]
    return Dataset.of_rows("ptb", rows, _PENN)


def penn_tags(split: str) -> Dataset:
    """Sentences and the Penn tag of each word; ``split`` as of `penn_trees`."""
    rows = [
        (" ".join(tree.words), " ".join(tree.tags), kind, name)
        for kind, name, tree in _penn_trees(split)
    ]
    return Dataset.of_rows("ptb-pos", rows, _PENN)


def _penn_trees(split: str) -> list[tuple[str, str, Tree]]:
    check_name(split, (*_PENN_SECTIONS, "brown"))
    folder = data_file(
        _PENN, "the Penn Treebank", f"its .mrg files, as {_PENN}/wsj/ and {_PENN}/brown/,"
    )
    part = "brown" if split == "brown" else "wsj"
    every = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".mrg")
    files = [path for path in every if part in (name.lower() for name in path.parts)]
    if split != "brown":
        sections = {f"{section:02d}" for section in _PENN_SECTIONS[split]}
        files = [path for path in files if path.parent.name in sections]
    if not files:
        remedy = f"put the release into OODOMETER_DATA as {_PENN}"
        raise InputError(f"files .mrg of {part}", got="none", remedy=remedy, file=str(folder))
    return [
        (
            "news" if part == "wsj" else path.parent.name.lower(),
            f"{path.stem.lower()}/{number}",
            tree,
        )
        for path in files
        for number, tree in enumerate(_trees_in(path))
    ]


def _trees_in(path: Path) -> Iterator[Tree]:
    """The trees of a file; each stands between two top brackets."""
    text = "\n".join(read_lines(path))
    depth = start = trees = 0
    for match in re.finditer(r"[()]", text):
        depth += 1 if match[0] == "(" else -1
        if depth == 1 and match[0] == "(":
            start = match.start()
        if depth == 0:
            trees += 1
            yield parse(" ".join(text[start : match.end()].split()), file=str(path), row=trees)
