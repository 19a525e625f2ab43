"""Constituency trees: read from brackets, cleaned, and written as one line that a sequence model can learn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

from ..errors import InputError, UsageError
from .base import Dataset, Row, split_by_group
from .files import read_objects
from .folder import data_folder
from .hub import without_hub
from .words import numbered

WSJ, GUM = "wsj_sample_trees.jsonl.xz", "gum_const.jsonl.xz"
SHARES = (0.75, 0.1, 0.15)  # of the documents of the Wall Street Journal's sample: training, development, test
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
        return [self.word] if self.word is not None else [word for part in self.parts for word in part.words]

    @property
    def tags(self) -> list[str]:
        """The tags of the words below."""
        return [self.label] if self.word is not None else [tag for part in self.parts for tag in part.tags]

    def constituents(self) -> list[Tree]:
        """This constituent and all below it, words left out, from the left, outer ones first."""
        if self.word is not None:
            return []
        return [self, *(one for part in self.parts for one in part.constituents())]


def parse(text: str) -> Tree:
    """A tree from brackets; functions (NP-SBJ-1), traces and what they leave empty are removed, ROOT becomes TOP.

    Raises `InputError` for brackets that do not close.

    >>> tree = parse("(S (NP-SBJ (DT The) (NN man)) (VP (VBD left) (NP (-NONE- *-1))))")
    >>> tree.words, linearise(tree)
    (['The', 'man', 'left'], '(TOP(S(NP(DT The)(NN man))(VP(VBD left))))')
    """
    tokens = _TOKEN.findall(text)
    stack: list[tuple[str, list[Tree], list[str]]] = []
    done: Tree | None = None
    for i, token in enumerate(tokens):
        if done is not None:
            raise _unbalanced(text)
        if token == "(":
            stack.append(("", [], []))
        elif token != ")":
            if not stack:
                raise _unbalanced(text)
            if tokens[i - 1] == "(":
                stack[-1] = (token, *stack[-1][1:])
            else:
                stack[-1][2].append(token)
        else:
            if not stack:
                raise _unbalanced(text)
            label, parts, words = stack.pop()
            if words and (parts or len(words) > 1):
                raise _unbalanced(text)
            found = _made(label, parts, words)
            if not stack:
                done = found
                if found is None:
                    raise _unbalanced(text)
            elif found is not None:
                stack[-1][1].append(found)
    if done is None:
        raise _unbalanced(text)
    return done if done.label == "TOP" else Tree("TOP", (done,))


def _made(label: str, parts: list[Tree], words: list[str]) -> Tree | None:
    """A tree without functions; None for a trace and for a constituent that holds nothing else."""
    if words:
        return None if label == _TRACE else Tree(label, word=words[0])
    if not parts:
        return None
    plain = "TOP" if label in ("", "ROOT", "TOP") else re.split(r"[-=|]", label)[0] or label
    return Tree(plain, tuple(parts))


def _unbalanced(text: str) -> InputError:
    return InputError("a tree in balanced brackets", got=repr(text[:40]), remedy="fetch the file again")


def linearise(tree: Tree, *, words: bool = True) -> str:
    """A tree as one line. With words as the paper has it; without, brackets over the words' numbers, tokens apart.

    The form without words goes with the numbered tags as input; its length is that of the sentence plus two a
    constituent.

    >>> tree = parse("(S (NP (NNP Vice) (NNP President)) (VP (VBZ is)))")
    >>> linearise(tree)
    '(TOP(S(NP(NNP Vice)(NNP President))(VP(VBZ is))))'
    >>> linearise(tree, words=False)
    '(TOP (S (NP 1 2 ) (VP 3 ) ) )'
    """
    return _with_words(tree) if words else _with_numbers(tree, count(1))


def _with_words(tree: Tree) -> str:
    if tree.word is not None:
        return f"({tree.label} {tree.word})"
    return f"({tree.label}{''.join(map(_with_words, tree.parts))})"


def _with_numbers(tree: Tree, numbers: Iterator[int]) -> str:
    if tree.word is not None:
        return str(next(numbers))
    return f"({tree.label} {' '.join(_with_numbers(part, numbers) for part in tree.parts)} )"


def wsj_trees(split: str, *, words: bool = True, clauses: bool = False, seed: int = 0) -> Dataset:
    """The WSJ sample of the Penn Treebank, ``train``, ``dev`` or ``test``: 75, 10 and 15 % of its 199 documents.

    With ``words`` sentences and trees over words; without, numbered tags and trees over the numbers. With ``clauses``
    every clause and phrase of the split is a row of its own beside the sentences (type ``phrase``): small models need
    more trees than the sample has. Read from ``wsj_sample_trees.jsonl.xz``. Source: Marcus et al. (1993).
    """
    if split not in ("train", "dev", "test"):
        raise UsageError(f"expected train, dev or test, got {split!r}")
    path = _path(WSJ)
    found = [(kind, name, tree) for kind, name, tree in _trees(path)]
    rows = Dataset.of_rows("wsj", [_row(tree, kind, name, words) for kind, name, tree in found], path.name)
    place = {name: i for i, (_, name, _) in enumerate(found)}
    parts = split_by_group(rows, [name.rsplit("/", 1)[0] for _, name, _ in found], SHARES, seed)
    part = parts[("train", "dev", "test").index(split)]
    if not clauses:
        return part
    return part + phrases([found[place[name]][2] for name in part.ids], words=words, source=path.name)


def gum_trees(*, words: bool = True) -> Dataset:
    """GUM and GENTLE, 23 genres as types, from ``gum_const.jsonl.xz``. Source: Zeldes (2017), Aoyama et al. (2023)."""
    path = _path(GUM)
    rows = [_row(tree, kind, name, words) for kind, name, tree in _trees(path)]
    return Dataset.of_rows("gum", rows, path.name)


def phrases(trees: Sequence[Tree], *, words: bool, source: str) -> Dataset:
    """Every constituent below the top, each a row; those that stand more than once are kept once."""
    rows: dict[tuple[str, str], Row] = {}
    for tree in trees:
        top = tree.parts[0] if len(tree.parts) == 1 else tree
        for one in top.constituents()[1:]:
            if len(one.words) > 1:
                row = _row(Tree("TOP", (one,)), "phrase", f"phrase/{len(rows)}", words)
                rows.setdefault(row[:2], row)
    return Dataset.of_rows("phrases", list(rows.values()), source)


def _row(tree: Tree, kind: str, name: str, words: bool) -> Row:
    text = " ".join(tree.words if words else tree.tags)
    return text if words else numbered(text), linearise(tree, words=words), kind, name


def _path(name: str) -> Path:
    folder = data_folder()
    if folder is None:
        raise without_hub("the treebank", name)
    return folder / name


@cache
def _trees(path: Path) -> list[tuple[str, str, Tree]]:
    """Type, id and tree of each row; trees that hold nothing but traces are left out."""
    found = []
    for row, one in read_objects(path, "doc", "i", "tree"):
        try:
            tree = parse(str(one["tree"]))
        except InputError as error:
            raise InputError(
                error.expected, got=error.got, remedy=error.remedy, file=str(path), row=row, column="tree"
            ) from error
        found.append((str(one.get("genre", "news")), f"{one['doc']}/{one['i']}", tree))
    return found
