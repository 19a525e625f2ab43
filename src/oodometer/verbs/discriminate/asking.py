"""Asking judges: the probabilities of one judge after the other, kept beside the result until all have answered."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...discriminators import Discriminator, PretrainedDiscriminator, RuleDiscriminator
from ...discriminators.base import check_pairs
from ...errors import InputError
from ...models.artifacts import fingerprint
from ...store.artifact_cache import read_artifact, write_artifact
from .folder import noting_cuts
from .training import idle_threads

__all__ = ["Asked", "ask_judges", "existing_judges", "forget", "judging_home", "stamp"]

STEPS = 1000  # of the progress of one judge
MOST = 2  # labels of a classifier among which 1 may be taken for Correct

Asked = tuple[Array, int, list[str]]
"""P(Correct), axes (judge, sample); pairs that were cut, at the judge that cut most; what was said of them."""


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


def ask_judges(
    members: Sequence[tuple[Discriminator, str]],
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    home: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Asked:
    """P(Correct) by each judge, 0 for an empty output; ``members`` come with a name that tells them apart.

    With ``home`` an interrupted judging goes on behind the last judge that answered; the caller removes it.
    """
    inputs, outputs = check_pairs(inputs, outputs)
    pairs = fingerprint({"pairs": [inputs, outputs]})
    asked = [row for row, output in enumerate(outputs) if output.strip()]
    given, found = [inputs[row] for row in asked], [outputs[row] for row in asked]
    said = np.zeros((len(members), len(inputs)), dtype=np.float32)
    most = 0
    rules = all(isinstance(judge, RuleDiscriminator) for judge, _ in members)
    with nullcontext() if rules else idle_threads(), noting_cuts(home) as cuts:
        for place, (judge, name) in enumerate(members):

            def tell(done: int, total: int, place: int = place) -> None:
                if progress is not None:
                    progress(place * STEPS + STEPS * done // max(total, 1), STEPS * len(members))

            path = None if home is None else home / f"judge-{fingerprint({'judge': name, 'pairs': pairs})}.json"
            known = None if path is None else _kept(path, len(inputs))
            if known is None:
                answers = np.zeros(len(inputs), dtype=np.float32)
                judge.truncated = 0
                if asked:
                    answers[asked] = judge.probabilities(given, found, progress=tell)
                known = {"probabilities": answers, "cut": judge.truncated}
                if path is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_artifact(path, "answers", {"probabilities": answers.tolist(), "cut": judge.truncated})
            tell(1, 1)
            said[place], most = known["probabilities"], max(most, known["cut"])
    return said, most, cuts


def forget(home: Path | None) -> None:
    """Remove what was kept."""
    if home is not None:
        shutil.rmtree(home, ignore_errors=True)


def _kept(path: Path, rows: int) -> dict[str, Any] | None:
    found = read_artifact(path, "answers")
    if found is None:
        return None
    values = np.array(found["probabilities"], dtype=np.float32)
    return {"probabilities": values, "cut": int(found["cut"])} if values.shape == (rows,) else None


def stamp(folder: Path) -> str:
    """What tells one saved folder of judges from another in the same place."""
    files = sorted(one for one in folder.rglob("*") if one.is_file())
    return fingerprint(
        {
            "folder": str(folder.resolve()),
            "files": [(one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in files],
        }
    )
