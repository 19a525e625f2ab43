"""Data of a run: in-domain and target data of each family, and the rows that a suite is judged on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, final

import numpy as np

from ...attributions.words import Words
from ...datasets import Dataset
from ...datasets.base import stratified
from ...datasets.sentences import MSGS_SETS, binary_entailment, hans, mrpc, msgs, paws_qqp
from ...errors import OodometerError, WorkError
from ...models.inoculation import batches_of, mixed
from .lineup import FAMILIES, SUITES, Plan, RunConfig, Suite, training_of

STAND_INS = {"nli": "SICK + RTE, binary, stands in for MNLI", "paraphrase": "MRPC stands in for QQP"}
_HANS = {"SUB": "subsequence", "CON": "constituent"}


@final
@dataclass(frozen=True)
class Rows:
    """The rows out of domain that a suite is judged on; the first ``pool`` of them are explained.

    ``features`` are the places of the marked words among those of `Words`, one a row of the pool; None where none is.
    ``counts`` says how many rows there were and why some are not here.
    """

    data: Dataset
    pool: int
    features: tuple[int | None, ...]
    counts: dict[str, int]

    def words(self) -> list[Words]:
        """The pool as words, with what the data set marks."""
        texts = self.data.inputs[: self.pool]
        return [Words(text, place) for text, place in zip(texts, self.features, strict=True)]


@final
class RunData:
    """The data of a run, read when they are first needed."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self._sources = cache(self._read_source)
        self.rows = cache(self._rows)
        self.in_domain = cache(self._in_domain)

    def check(self) -> list[str]:
        """What cannot be read, one line a family."""
        out = []
        for family in FAMILIES:
            try:
                self.fingerprints(family)
            except OodometerError as error:
                out.append(str(error))
        return list(dict.fromkeys(out))

    def fingerprints(self, family: str) -> dict[str, str]:
        """Names of the contents of all data of a family."""
        found = self._sources(family)
        out = {"train": found.train.fingerprint, "in-domain": found.test.fingerprint}
        out |= {f"target {name}": data.fingerprint for name, data in found.targets(0).items()}
        return {**out, **{suite.name: found.out(suite.name).fingerprint for suite in SUITES if suite.family == family}}

    def training(self, plan: Plan, seed: int) -> Dataset:
        """The rows that a model is trained on, from its network; all rows come once before any comes again."""
        found, rows = self._sources(plan.family), plan.steps * training_of(self.config, plan).batch_size
        targets = found.targets(seed)
        parts = [(targets[name], share) for name, share in plan.shares.items()]
        return mixed(found.train, parts, rows=rows, seed=seed)

    def further(self, plan: Plan, seed: int) -> Dataset:
        """The rows of a model's further steps; of pure target data, those of more steps hold those of fewer."""
        found = self._sources(plan.family)
        target, size = found.targets(seed)["target"], training_of(self.config, plan).batch_size
        if plan.mixture == 1:
            return batches_of(target, plan.further, size, seed)
        return mixed(found.train, [(target, plan.mixture)], rows=plan.further * size, seed=seed)

    def _in_domain(self, family: str, seed: int) -> Dataset:
        return self._sources(family).test.sample(self.config.in_domain_rows, seed)

    def _rows(self, suite: Suite, seed: int) -> Rows:
        found = self._sources(suite.family)
        whole = found.paws(seed)[1] if suite.name == "PAWS" else found.out(suite.name)
        data = whole.sample(self.config.truth_rows, seed)
        pool = min(self.config.pool_of(seed), len(data))
        marks = found.marks()
        features = tuple(_place(data.inputs[i], marks.get(data.ids[i])) if marks else None for i in range(pool))
        counts = {"rows": len(whole), "judged": len(data), "pool": pool, **found.counts}
        counts["positive"] = sum(data.targets)
        if suite.feature:
            counts["marked in the pool"] = sum(place is not None for place in features)
        return Rows(data, pool, features, counts)

    def _read_source(self, family: str) -> _Source:
        if family in MSGS_SETS:
            train, near, dose, test = (msgs(family, part) for part in ("train", "in-domain", "inoculation", "test"))
            targets = {"L": dose.data, "S": replace(dose.data, targets=dose.surface)}
            found = zip(test.data.ids, test.features, strict=True)
            marks = {name: start for name, start in found if start is not None}
            counts = {"too long": test.dropped, "unmarked": test.unmarked}
            return _Source(train.data, near.data, lambda _: targets, lambda _: test.data, _none, lambda: marks, counts)
        if family == "nli":
            return _nli_source()
        return _paraphrase_source(self.config.paws_inoculation)


@final
@dataclass(frozen=True)
class _Source:
    """The data of a family: in-domain rows to train and to judge on, target data by name, rows out of domain."""

    train: Dataset
    test: Dataset
    targets: Callable[[int], dict[str, Dataset]]
    out: Callable[[str], Dataset]
    paws: Callable[[int], tuple[Dataset, Dataset]]
    marks: Callable[[], dict[str, int]]
    counts: dict[str, int]


def _none(seed: int) -> tuple[Dataset, Dataset]:
    raise WorkError(f"only the paraphrases are split by the seed {seed}; report it")


def _even(data: Dataset) -> Dataset:
    """As many rows of one class as of the other."""
    label = np.array(data.targets)
    places = stratified(label, 2 * int(np.bincount(label, minlength=2).min()), seed=0)
    return data.take(np.sort(places).tolist())


def _nli_source() -> _Source:
    targets = {"target": hans("train", "subsequence") + hans("train", "constituent")}
    out = {name: hans("eval", heuristic) for name, heuristic in _HANS.items()}
    # Two thirds are no entailment; small networks that learn this alone say it of all HANS, where the classes are even.
    train, test = _even(binary_entailment("train")), binary_entailment("test")
    return _Source(train, test, lambda _: targets, out.__getitem__, _none, dict, {})


def _paraphrase_source(many: int) -> _Source:
    whole = paws_qqp()
    if not 0 < many < len(whole):
        raise WorkError(f"expected fewer than {len(whole)} rows of PAWS-QQP to train on, got {many}")

    def paws(seed: int) -> tuple[Dataset, Dataset]:
        order = whole.sample(None, seed)
        return order.take(range(many)), order.take(range(many, len(whole)))

    counts = {"trained on": many}
    train, test = _even(mrpc("train")), mrpc("test")
    return _Source(train, test, lambda seed: {"target": paws(seed)[0]}, lambda _: whole, paws, dict, counts)


def _place(text: Any, start: int | None) -> int | None:
    """The place among the words of the one that starts at a character; None where no word is marked.

    >>> _place("It isn't so bad.", 12)
    5
    """
    if start is None:
        return None
    return [begin for begin, _ in Words(text).spans].index(start)
