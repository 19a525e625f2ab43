"""AMR: sentences with their abstract meaning representations in one line, variables removed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..errors import InputError, UsageError
from .base import Dataset, Row
from .files import read_lines, read_member
from .folder import data_folder
from .hub import without_hub

ARCHIVE, MEMBER = "amr_lp.tar.xz", "amr_lp/amr-bank-struct-v3.0.txt"
LDC = "amr-2.0"
SHARES = (0.8, 0.1, 0.1)
_TOKEN = re.compile(r'"[^"]*"|[()/]|[^\s()/]+(?:/[^\s()]+)*')


def without_variables(graph: str) -> str:
    """A graph in Penman's notation as one line without variables; a node met again is written by its concept.

    The form of the paper: concepts in place of variables, so that two nodes of one concept and one node met twice look
    alike. Links to Wikipedia are dropped. Raises `InputError` for brackets that do not close.

    >>> without_variables("(s / stick-around-03 :ARG0 (i / i) :time (u / until :op1 (e / end-01 :ARG1 i)))")
    '( stick-around-03 :ARG0 i :time ( until :op1 ( end-01 :ARG1 i ) ) )'
    """
    tokens = _TOKEN.findall(graph)
    concepts = {
        tokens[i - 1]: tokens[i + 1]
        for i, token in enumerate(tokens)
        if token == "/" and 0 < i < len(tokens) - 1 and tokens[i - 2 : i - 1] == ["("]
    }
    out: list[str] = []
    depth = skip = 0
    for i, token in enumerate(tokens):
        if skip:
            skip -= 1
        elif token == ":wiki":
            skip = 1
        elif token == "(":
            depth += 1
            out.append(token)
        elif token == ")":
            depth -= 1
            out.append(token)
        elif token == "/":
            continue
        elif tokens[i + 1 : i + 2] == ["/"] and tokens[i - 1] == "(":
            continue  # the variable of a new node: its concept follows
        else:
            out.append(token if token.startswith(":") else concepts.get(token, token))
        if depth < 0:
            break
    if depth or not out:
        raise InputError("a graph in balanced brackets", got=repr(graph[:40]), remedy="fetch the file again")
    return _plain_leaves(out)


def _plain_leaves(tokens: list[str]) -> str:
    """The tokens on one line; a concept alone loses its brackets."""
    return re.sub(r"\( ([^()\s]+) \)", r"\1", " ".join(tokens))


def little_prince(split: str, seed: int = 0) -> Dataset:
    """The Little Prince, 1,562 sentences: ``train``, ``dev`` and ``test`` are 80, 10 and 10 % of them, by the seed.

    Read from ``amr-bank-struct-v3.0.txt`` in ``amr_lp.tar.xz``. Source: Banarescu et al. (2013).
    """
    if split not in ("train", "dev", "test"):
        raise UsageError(f"expected train, dev or test, got {split!r}")
    folder = data_folder()
    if folder is None:
        raise without_hub("the Little Prince with its AMR", ARCHIVE)
    path = folder / ARCHIVE
    data = Dataset.of_rows("amr", _blocks(read_member(path, MEMBER), path, "novel"), path.name)
    order = np.random.default_rng(seed).permutation(len(data))
    ends = np.cumsum(np.round(np.array(SHARES) * len(data)).astype(int))[:-1]
    part = np.split(order, ends)[("train", "dev", "test").index(split)]
    return data.take(sorted(part.tolist()))


def news_amr(split: str) -> Dataset:
    """AMR 2.0 (LDC2017T10), ``train``, ``dev`` or ``test``, from ``amr-2.0/data/amrs/split`` as it is released.

    The corpus is licensed and on no hub: put its folder into that of OODOMETER_DATA under the name ``amr-2.0``. Types
    are the names of its parts (proxy, bolt, ...). Source: Knight et al. (2017).
    """
    names = {"train": "training", "dev": "dev", "test": "test"}
    if split not in names:
        raise UsageError(f"expected train, dev or test, got {split!r}")
    folder = data_folder()
    home = None if folder is None else folder / LDC / "data" / "amrs" / "split" / names[split]
    if home is None:
        raise without_hub("AMR 2.0", f"its release, as {LDC}/,")
    files = sorted(home.glob("*.txt"))
    if not files:
        raise InputError(
            "files of AMR 2.0", got="none", remedy=f"put the release into OODOMETER_DATA as {LDC}", file=str(home)
        )
    rows: list[Row] = []
    for path in files:
        rows += _blocks(read_lines(path), path, path.stem.rsplit("-", 1)[-1])
    return Dataset.of_rows("amr-2.0", rows, LDC)


def _blocks(lines: Iterable[str], path: Path, kind: str) -> list[Row]:
    """Rows of a file of graphs: comments with ``# ::snt``, then the graph, an empty line between two."""
    rows: list[Row] = []
    text, name, graph = "", "", ""
    for row, line in enumerate([*lines, ""], 1):
        if line.startswith("# ::id"):
            name = line.split()[2] if len(line.split()) > 2 else str(row)
        elif line.startswith("# ::snt"):
            text = line.removeprefix("# ::snt").strip()
        elif line.strip() and not line.startswith("#"):
            graph += f" {line.strip()}"
        elif not line.strip():
            if text and graph:
                try:
                    rows.append((text, without_variables(graph), kind, name))
                except InputError as error:
                    raise InputError(
                        error.expected, got=error.got, remedy=error.remedy, file=str(path), row=row
                    ) from error
            text, name, graph = "", "", ""
    return rows
