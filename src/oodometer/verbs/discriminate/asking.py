"""Asking judges: the probabilities of one judge after the other, kept beside the result until all have answered."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...discriminators import Discriminator, PretrainedDiscriminator, RuleDiscriminator
from ...discriminators.base import check_pairs
from ...errors import InputError
from ...models.artifacts import fingerprint
from ...models.base import Progress
from ...models.torch.library import idle_threads
from ...runs import Manifest
from ...store.artifact_cache import read_artifact, write_artifact
from .folder import noting_cuts

STEPS = 1000  # of the progress of one judge
MOST = 2  # labels of a classifier among which 1 may be taken for Correct


def existing_judges(
    sources: Sequence[str], labels: Sequence[str], *, max_length: int = 512, device: str | None = None
) -> list[PretrainedDiscriminator]:
    """Hugging Face classifiers as judges; ``labels`` name what means Correct, one for all or one for each.

    Without a label a classifier must have one output, or two of which the second means Correct. Raises `InputError` for
    a label that it does not have, and where it has more than two and none is named.
    """
    if labels and len(labels) not in (1, len(sources)):
        raise InputError(
            f"one label that means Correct for all, or {len(sources)}, one for each judge",
            got=str(len(labels)),
            remedy="repeat --judge-label in the order of the judges",
        )
    named: Sequence[str | None] = labels if len(labels) > 1 else [*labels, None][:1] * len(sources)
    found = []
    for source, label in zip(sources, named, strict=True):
        wanted: str | int = 1 if label is None else int(label) if label.isdecimal() else label
        judge = PretrainedDiscriminator(source, correct=wanted, max_length=max_length, device=device)
        known = judge.labels
        if label is None and len(known) > MOST:
            raise InputError(
                "a label that means Correct",
                got="none",
                file=source,
                remedy=f"name it with --judge-label; the classifier has {', '.join(known)}",
            )
        found.append(judge)
    return found


def judging_home(out: str | os.PathLike[str]) -> Path:
    """The folder beside a result in which the answers of single judges are kept until it is written.

    >>> judging_home("judged.jsonl").name
    '.judged.jsonl.judging'
    """
    path = Path(os.path.abspath(out))
    return path.with_name(f".{path.name}.judging")


@contextmanager
def asking(
    members: Sequence[tuple[Discriminator, str]],
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    home: Path | None = None,
    run: Manifest | None = None,
    progress: Progress | None = None,
) -> Iterator[Asked]:
    """Inside, judges are asked for P(Correct), no more threads than there are idle cores.

    ``members`` come with a name that tells them apart. With ``home`` an interrupted judging goes on behind the last
    judge that answered, which ``run`` notes; the caller removes it.
    """
    given, found = check_pairs(inputs, outputs)
    rules = all(isinstance(judge, RuleDiscriminator) for judge, _ in members)
    with nullcontext() if rules else idle_threads(), noting_cuts(home) as cuts:
        yield Asked(members, (given, found), home, run, progress, cuts)


class Asked:
    """What judges said: ``said`` is P(Correct), axes (judge, sample), 0 for an empty output, which nobody is asked.

    ``inputs`` and ``outputs`` are the pairs to ask of; ``cut`` is the number of those that were cut, at the judge that
    cut most, ``cuts`` what was said of them.
    """

    def __init__(
        self,
        members: Sequence[tuple[Discriminator, str]],
        pairs: tuple[list[str], list[str]],
        home: Path | None,
        run: Manifest | None,
        progress: Progress | None,
        cuts: list[str],
    ) -> None:
        self.members, self.home, self.progress, self.cuts = members, home, progress, cuts
        self._run = run
        inputs, outputs = pairs
        self._pairs = fingerprint({"pairs": [inputs, outputs]})
        self._rows = [row for row, output in enumerate(outputs) if output.strip()]
        self.inputs, self.outputs = [inputs[row] for row in self._rows], [outputs[row] for row in self._rows]
        self.said = np.zeros((len(members), len(inputs)), dtype=np.float32)
        self.cut = 0
        self._place = 0  # of the judge that is asked

    def unanswered(self) -> Iterator[tuple[Discriminator, Progress]]:
        """The judges to ask, one after the other, and whom each tells how far it is; those that answered are left out.

        What `take` was given is kept in ``home`` before the next judge comes.
        """
        for place, (judge, name) in enumerate(self.members):
            self._place = place
            path = self._path(name)
            known = None if path is None else _kept(path, self.said.shape[1])
            if known is not None:
                self.said[place], cut = known["probabilities"], known["cut"]
            else:
                judge.truncated = 0
                if self._rows:
                    yield judge, self._tell
                cut = judge.truncated
                if path is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_artifact(path, "answers", {"probabilities": self.said[place].tolist(), "cut": cut})
            self._tell(1, 1)
            if self._run is not None:
                self._run.tell(place + 1, len(self.members), int(known is None))
            self.cut = max(self.cut, cut)

    def take(self, probabilities: Array) -> None:
        """Take the answers of the judge that is asked."""
        self.said[self._place, self._rows] = probabilities

    def _path(self, name: str) -> Path | None:
        """Where the answers of a judge are kept."""
        if self.home is None:
            return None
        return self.home / f"judge-{fingerprint({'judge': name, 'pairs': self._pairs})}.json"

    def _tell(self, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(self._place * STEPS + STEPS * done // max(total, 1), STEPS * len(self.members))


def _kept(path: Path, rows: int) -> dict[str, Any] | None:
    found = read_artifact(path, "answers")
    if found is None:
        return None
    values = np.array(found["probabilities"], dtype=np.float32)
    return {"probabilities": values, "cut": int(found["cut"])} if values.shape == (rows,) else None
