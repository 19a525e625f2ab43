"""Jury: who judges: trained judges of one folder or several, a panel, existing classifiers, or answers given before."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...discriminators import AcceptanceThresholds, Discriminator, Panel, PretrainedDiscriminator, RuleDiscriminator
from ...discriminators.base import check_pairs
from ...errors import InputError, NotApplicable, UsageError
from ...models.artifacts import fingerprint
from ...models.base import Progress
from ...models.torch.library import idle_threads
from ...runs import Manifest
from ...scores import natural_confidence
from ...store.artifact_cache import checksum, content_of, read_artifact, write_artifact
from ..model_options import JudgeOptions
from .folder import noting_cuts, open_judges, revived
from .pairs import TextRows
from .thresholding import Acceptance, probability_columns, thresholds_of_folder
from .worth import judge_names

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


CONFIDENCE = "confidence"

Opened = tuple[list[tuple[Discriminator, str]], str, Mapping[str, Any], Acceptance]


@dataclass(frozen=True, eq=False)
class Jury:
    """Judges with a text that tells them apart, their names, what they judge and were worth on held-out pairs.

    ``accept`` is how they accept; ``said`` are the answers that the rows hold already, None where judges are asked.
    ``confidence`` says that the last of ``names`` is the rows' own confidence, which nobody is asked for.
    """

    members: list[tuple[Discriminator, str]]
    names: tuple[str, ...]
    metric: str
    held: Mapping[str, Any]
    accept: Acceptance
    said: Array | None = None
    confidence: bool = False


def jury_of(judges: Any, options: JudgeOptions, rows: TextRows) -> Jury:
    """Judges of folders, of a `Panel`, existing classifiers, or the answers that the rows hold; `UsageError` for none.

    Judges of several folders vote together. Their thresholds are those that the folders keep, where these were set on
    the same labelled outputs.
    """
    found: list[tuple[Discriminator, str]] = []
    metric, accept = "exact", Acceptance()
    held: Mapping[str, Any] = {}
    if isinstance(judges, Panel):
        found += [(one, f"{place} {one.options()}") for place, one in enumerate(judges.members)]
    elif judges is not None:
        found, metric, held, accept = _of_folders(judges if isinstance(judges, list | tuple) else [judges])
    existing = existing_judges(
        options.existing, options.judge_labels, max_length=options.max_length, device=options.device
    )
    for one in existing:
        found.append((one, f"{len(found)} {one.options()} {content_of(one.source)}"))
    if options.threshold is not None:
        accept = Acceptance(number=options.threshold)
    elif existing and options.calibrate is None:
        accept = Acceptance()  # the folder keeps none for these
    if not found:
        names, said = probability_columns(rows)
        if not names:
            raise UsageError(
                f"expected FOLDER OUTPUTS..., or rows with columns p_correct_<judge>, got {rows.name} alone; "
                "name a folder of judges, then the rows to judge, or an existing classifier with --judge"
            )
        return _with_confidence(Jury([], names, metric, held, accept, said), options)
    if existing and metric != "exact":
        raise UsageError(f"existing classifiers judge right and wrong, the judges of the folder predict {metric}")
    if metric != "exact" and (options.calibrate is not None or options.threshold is not None):
        raise UsageError(f"thresholds are for judges of right and wrong; these predict {metric}")
    if metric != "exact" and options.with_confidence:
        raise UsageError(f"confidence votes on right and wrong; the judges of the folder predict {metric}")
    if metric != "exact" and options.pseudo_labels is not None:
        raise UsageError(f"pseudo-labels need judges of right and wrong; these predict {metric}")
    return _with_confidence(Jury(found, judge_names([one for one, _ in found]), metric, held, accept), options)


def _with_confidence(jury: Jury, options: JudgeOptions) -> Jury:
    """The jury with the confidence as its last voter where that was asked for, and the rows do not hold its answers."""
    if not options.with_confidence or CONFIDENCE in jury.names:
        return jury
    return replace(jury, names=(*jury.names, CONFIDENCE), confidence=True)


def own_confidence(*several: TextRows | None) -> Array:
    """The confidence of rows, one set behind the other, float64; `InputError` where a set has none."""
    found = []
    for one in several:
        if one is None:
            continue
        try:
            found.append(natural_confidence(one.record)(one.record))
        except NotApplicable as error:
            raise InputError(
                "a confidence of the model (confidence, token_logprobs), which is to vote",
                got="none",
                remedy="leave out --with-confidence or give the column",
                file=one.name,
            ) from error
    out: Array = np.concatenate(found).astype(np.float64)
    return out


def _of_folders(folders: Sequence[str | os.PathLike[str]]) -> Opened:
    """The judges of folders, one behind the other, what they judge, what one folder knows of them, how they accept."""
    found: list[tuple[Discriminator, str]] = []
    metrics: dict[str, str] = {}
    held: Mapping[str, Any] = {}
    accepts = []
    for folder in folders:
        panel, about = open_judges(folder)
        mark = checksum(str(Path(folder).resolve()), json.dumps(content_of(folder)))
        metrics[str(folder)] = str(about["metric"])
        found += [(one, f"{len(found) + place} {mark}") for place, one in enumerate(panel.members)]
        accepts.append(thresholds_of_folder(about))
        held = revived(about.get("held_out", {})) if len(folders) == 1 else {}
    if len(set(metrics.values())) > 1:
        told = ", ".join(f"{folder}: {metric}" for folder, metric in metrics.items())
        raise UsageError(f"judges of several folders must judge the same, got {told}; ask them one by one")
    return found, next(iter(metrics.values())), held, _joined(accepts)


def _joined(accepts: Sequence[Acceptance]) -> Acceptance:
    """The thresholds of all where they come from the same labelled outputs; else one half."""
    cuts = [one.thresholds for one in accepts if one.thresholds is not None]
    if len(accepts) == 1:
        return accepts[0]
    if len(cuts) < len(accepts) or len({(one.rows, one.right, one.level) for one in cuts}) > 1:
        return Acceptance()
    if len({one.origin for one in accepts}) > 1:
        return Acceptance()
    values, strict, lenient = (
        np.concatenate([getattr(one, end) for one in cuts]) for end in ("values", "strict", "lenient")
    )
    first = cuts[0]
    joined = AcceptanceThresholds(values, strict, lenient, first.rows, first.right, first.level)
    return Acceptance(joined, accepts[0].origin)
