"""Sentences with logical forms: COGS, CFQ, TOPv2 and AMR, the variables removed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from oodometer.errors import InputError, UsageError

from .base import Dataset, Row
from .files import (
    check_name,
    damaged,
    data_file,
    data_folder,
    hub_rows,
    parse_json,
    read_lines,
    read_member,
)

_COGS_SPLITS = ("train", "dev", "test", "gen")
_COGS = "cogs.tar.xz"

# Words that are in no lexicon file; the rest of POS-COGS's lexicon is read from the data.
_CLOSED = dict.fromkeys(("a", "the", "A", "The"), "Det") | dict.fromkeys(
    ("in", "on", "beside", "by"), "P"
)
_CLOSED |= {"was": "Aux", "that": "C", "lended": "V", "read": "V"}
_LEXICONS = ("V_trans", "V_unacc", "V_unerg")


def cogs(split: str) -> Dataset:
    """COGS, ``train`` (24,155), ``dev``, ``test`` (3,000 each) or ``gen`` (21 types of 1,000), variable-free.

    Types are COGS's own (``in_distribution``, ``primitive``, ``cp_recursion``, ...). Read from
    ``cogs/<split>_varfree.tsv`` in ``cogs.tar.xz``: sentence, form, type by tabs. Source: Kim and Linzen (2020);
    variable-free form: Qiu et al. (2022).
    """
    path, rows = _cogs_rows(split, "_varfree")
    return Dataset.of_rows("cogs", rows, path.name)


def pos_cogs(split: str) -> Dataset:
    """POS-COGS: the sentences of `cogs`, with one tag for each word; ``split`` as there.

    Tags: Det, N, Name, V, Aux, P, C (*that*), Inf (*to* before a verb). The full stop has none, as in the paper's
    example. Tags follow from COGS's own lexicon, in which every word but *to* has one tag only; see `tags_of`. Source:
    Yao and Koller (2022), whose tags are the categories of COGS's grammar; ours merge its classes of verbs.
    """
    path, sentences = _cogs_rows(split)
    lexicon = _cogs_lexicon(path)
    rows = []
    for row, (text, _, kind, name) in enumerate(sentences, 1):
        try:
            rows.append((text, " ".join(tags_of(text.split(), lexicon)), kind, name))
        except KeyError as error:
            raise damaged(
                "words of COGS's lexicon", str(error), path, row, what="the archive"
            ) from error
    return Dataset.of_rows("pos-cogs", rows, path.name)


def tags_of(words: list[str], lexicon: Mapping[str, str]) -> list[str]:
    """The tag of each word but a last full stop; *to* is Inf before a verb, else P. `KeyError` for an unknown word."""
    words = words[:-1] if words[-1:] == ["."] else words
    before_verb = [lexicon.get(word) == "V" for word in words[1:]] + [False]
    of_to = ["Inf" if verb else "P" for verb in before_verb]
    return [lexicon[word] if word != "to" else tag for word, tag in zip(words, of_to, strict=False)]


def _cogs_rows(split: str, form: str = "") -> tuple[Path, list[Row]]:
    if split not in _COGS_SPLITS:
        raise UsageError(f"expected a split of COGS among {', '.join(_COGS_SPLITS)}, got {split!r}")
    path = data_file(_COGS, "COGS in its variable-free form")
    rows = []
    for row, line in enumerate(read_member(path, f"cogs/{split}{form}.tsv"), 1):
        parts = line.split("\t")
        if len(parts) != 3 or not parts[0].strip():
            raise damaged(
                "sentence, form and type by tabs", repr(line[:40]), path, row, what="the archive"
            )
        rows.append((parts[0], parts[1], parts[2], f"{split}/{row}"))
    return path, rows


@cache
def _cogs_lexicon(path: Path) -> dict[str, str]:
    def load(name: str) -> list[str] | dict[str, str]:
        text = "\n".join(read_member(path, f"cogs/lexicon_{name}.json"))
        words: list[str] | dict[str, str] = parse_json(
            text, f"JSON in lexicon_{name}.json", path, repr(text[:30])
        )
        return words

    forms = load("verbs2lemmas")
    verbs = {*forms, *(forms.values() if isinstance(forms, dict) else ())}
    for name in _LEXICONS:
        verbs |= set(load(name))
    names = dict.fromkeys(load("proper_nouns"), "Name")
    return dict.fromkeys(verbs, "V") | dict.fromkeys(load("nouns"), "N") | names | _CLOSED


_CFQ, _CFQ_HUB = "cfq", "google-research-datasets/cfq"
_CFQ_NAMES = {"train": "trainIdxs", "dev": "devIdxs", "test": "testIdxs"}


def cfq(division: str, split: str, seed: int = 0) -> Dataset:
    """CFQ with entities as placeholders: 95,743 rows to train on and 11,968 to test on.

    division : ``mcd1``, ``mcd2`` or ``mcd3``.
    split : ``train``, ``dev`` or ``test``. CFQ's own development set follows the test distribution. A discriminator may
        not see that, so ``dev`` here is 5 % of the training rows, taken from ``train``.
    seed : of the draw of ``dev``.

    Read from the release (``cfq/dataset.json``, ``cfq/splits/mcd1.json``), else from the hub. `UsageError` for other
    names. Source: Keysers et al. (2020).
    """
    if division not in ("mcd1", "mcd2", "mcd3") or split not in _CFQ_NAMES:
        raise UsageError(
            f"expected mcd1, mcd2 or mcd3 and train, dev or test, got {division!r} and {split!r}"
        )
    folder = data_folder()
    part = "test" if split == "test" else "train"
    if folder is not None and (folder / _CFQ / "dataset.json").is_file():
        source, pairs = _CFQ, _cfq_release(folder / _CFQ, division, part)
    else:
        source = _CFQ_HUB
        pairs = [
            (i, str(cells["question"]), str(cells["query"]))
            for i, cells in enumerate(hub_rows(_CFQ_HUB, part, division))
        ]
    rows = [(text, " ".join(query.split()), division, f"{part}/{i}") for i, text, query in pairs]
    data = Dataset.of_rows("cfq", rows, source)
    if split == "test":
        return data
    order = np.random.default_rng(seed).permutation(len(data))
    dev = len(data) // 20
    return data.take(sorted((order[:dev] if split == "dev" else order[dev:]).tolist()))


def _cfq_release(release: Path, division: str, part: str) -> list[tuple[int, str, str]]:
    """Place, question and query of the rows of a split, from the release."""
    files = release / "dataset.json", release / "splits" / f"{division}.json"
    every, chosen = (parse_json("\n".join(read_lines(file)), "JSON", file) for file in files)
    heads = "questionPatternModEntities", "sparqlPatternModEntities"
    try:
        rows = [(i, every[i]) for i in chosen[_CFQ_NAMES[part]]]
        return [(i, str(cells[heads[0]]), str(cells[heads[1]])) for i, cells in rows]
    except (LookupError, TypeError) as error:
        raise damaged("the release of CFQ", f"no {error}", release, what="it") from error


_TOP, _TOP_HUB = "TOPv2_Dataset", "WillHeld/top_v2"
DOMAINS = ("alarm", "event", "messaging", "music", "navigation", "reminder", "timer", "weather")
SCARCE = ("reminder", "weather")  # the domains of which few examples are given
_LABEL = re.compile(r"\[((?:IN|SL):\w+)", re.IGNORECASE)


def topv2(split: str, domain: str = "weather", examples: int = 25, seed: int = 0) -> Dataset:
    """TOPv2; types are domains.

    split : ``train`` has six domains whole and few rows of reminder and weather; ``dev`` is the in-distribution one,
        rows of the six whole domains; ``test`` has one domain.
    domain : that of ``test``.
    examples : how many samples of each intent and slot (SPIS) the two scarce domains have; the paper does not state its
        own, 25 is the original work's main setting. They are read from ``TOPv2_Dataset/low_resource_splits`` where that
        has them, else drawn by `few_of_each`.
    seed : of that draw.

    Read from ``TOPv2_Dataset`` as released, else from the hub. `UsageError` for other names. Source: Chen et al.
    (2020).
    """
    if split not in ("train", "dev", "test") or domain not in DOMAINS:
        raise UsageError(
            f"expected train, dev or test and a domain of TOPv2, got {split!r} and {domain!r}"
        )
    folder = data_folder()
    release = folder / _TOP if folder is not None and (folder / _TOP).is_dir() else None
    source = _TOP_HUB if release is None else _TOP
    if split == "test":
        return Dataset.of_rows("topv2", _topv2_rows(release, domain, "test"), source)
    part = "eval" if split == "dev" else "train"
    plenty = (name for name in DOMAINS if name not in SCARCE)
    rows = [row for name in plenty for row in _topv2_rows(release, name, part)]
    if split == "train":
        for name in SCARCE:
            rows += _scarce_rows(release, name, examples, seed)
    return Dataset.of_rows("topv2", rows, source)


def _scarce_rows(release: Path | None, domain: str, examples: int, seed: int) -> list[Row]:
    """Few training rows of a domain, as released or drawn."""
    if release is not None:
        path = release / "low_resource_splits" / f"{domain}_train_{examples}spis.tsv"
        if path.is_file():
            return _topv2_table(path)
    rows = _topv2_rows(release, domain, "train")
    return [rows[i] for i in few_of_each([row[1] for row in rows], examples, seed)]


def few_of_each(outputs: list[str], examples: int, seed: int) -> list[int]:
    """Places of rows, met in random order, so that each intent and slot stands in at least ``examples`` of them."""
    met: Counter[str] = Counter()
    chosen = []
    for i in np.random.default_rng(seed).permutation(len(outputs)).tolist():
        labels = set(_LABEL.findall(outputs[i]))
        if any(met[label] < examples for label in labels):
            chosen.append(i)
            met.update(labels)
    return sorted(chosen)


def _topv2_rows(release: Path | None, domain: str, split: str) -> list[Row]:
    if release is not None:
        return _topv2_table(release / f"{domain}_{split}.tsv")
    rows = ((i, row) for i, row in enumerate(hub_rows(_TOP_HUB, split)) if row["domain"] == domain)
    return [
        (str(row["utterance"]), str(row["semantic_parse"]), domain, f"{split}/{i}")
        for i, row in rows
    ]


def _topv2_table(path: Path) -> list[Row]:
    """Rows of a table: domain, utterance, parse by tabs, below a line of names."""
    rows: list[Row] = []
    for row, line in enumerate(read_lines(path)):
        parts = line.split("\t")
        if len(parts) != 3:
            raise damaged(
                "domain, utterance and semantic_parse by tabs", repr(line[:40]), path, row
            )
        if row:
            rows.append((parts[1], parts[2], parts[0], f"{path.stem}/{row}"))
    return rows


_AMR, _AMR_MEMBER = "amr_lp.tar.xz", "amr_lp/amr-bank-struct-v3.0.txt"
_AMR_LDC = "amr-2.0"
_AMR_SHARES = (0.8, 0.1, 0.1)
_TOKEN = re.compile(r'"[^"]*"|[()/]|[^\s()/]+(?:/[^\s()]+)*')


def without_variables(graph: str, **where: Any) -> str:
    """A graph in Penman's notation as a line with concepts in place of variables; links to Wikipedia are dropped."""
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
        elif token in "()":
            depth += 1 if token == "(" else -1
            out.append(token)
        elif token != "/" and not (tokens[i + 1 : i + 2] == ["/"] and tokens[i - 1] == "("):
            # neither the variable of a new node, whose concept follows, nor what divides them
            out.append(token if token.startswith(":") else concepts.get(token, token))
        if depth < 0:
            break
    if depth or not out:
        raise InputError(
            "a graph in balanced brackets",
            got=repr(graph[:40]),
            remedy="fetch the file again",
            **where,
        )
    return re.sub(r"\( ([^()\s]+) \)", r"\1", " ".join(out))  # a concept alone loses its brackets


def little_prince(split: str, seed: int = 0) -> Dataset:
    """The Little Prince, 1,562 sentences with their AMR.

    split : ``train``, ``dev`` or ``test``, 80, 10 and 10 % of them; `UsageError` for another.
    seed : of the draw of the splits.

    Read from ``amr-bank-struct-v3.0.txt`` in ``amr_lp.tar.xz``. Source: Banarescu et al. (2013).
    """
    check_name(split, ("train", "dev", "test"))
    path = data_file(_AMR, "the Little Prince with its AMR")
    data = Dataset.of_rows("amr", _blocks(read_member(path, _AMR_MEMBER), path, "novel"), path.name)
    order = np.random.default_rng(seed).permutation(len(data))
    ends = np.cumsum(np.round(np.array(_AMR_SHARES) * len(data)).astype(int))[:-1]
    part = np.split(order, ends)[("train", "dev", "test").index(split)]
    return data.take(sorted(part.tolist()))


def news_amr(split: str) -> Dataset:
    """AMR 2.0 (LDC2017T10), ``train``, ``dev`` or ``test``, from ``amr-2.0/data/amrs/split`` as it is released.

    The corpus is licensed and on no hub: put its folder into that of OODOMETER_DATA under the name ``amr-2.0``. Types
    are the names of its parts (proxy, bolt, ...). Source: Knight et al. (2017).
    """
    names = {"train": "training", "dev": "dev", "test": "test"}
    check_name(split, tuple(names))
    folder = (
        data_file(_AMR_LDC, "AMR 2.0", f"its release, as {_AMR_LDC}/,")
        / "data"
        / "amrs"
        / "split"
        / names[split]
    )
    files = sorted(folder.glob("*.txt"))
    if not files:
        remedy = f"put the release into OODOMETER_DATA as {_AMR_LDC}"
        raise InputError("files of AMR 2.0", got="none", remedy=remedy, file=str(folder))
    rows: list[Row] = []
    for path in files:
        rows += _blocks(read_lines(path), path, path.stem.rsplit("-", 1)[-1])
    return Dataset.of_rows("amr-2.0", rows, _AMR_LDC)


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
                rows.append((text, without_variables(graph, file=str(path), row=row), kind, name))
            text, name, graph = "", "", ""
    return rows
