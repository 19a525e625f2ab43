"""Ensemble: several discriminators, trained by seeds or given, whose verdicts are the votes of a record."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from oodometer.arrays import Array
from oodometer.engines import Engine
from oodometer.errors import InputError, UsageError
from oodometer.intervals import check_level
from oodometer.predictions import Predictions
from oodometer.store import write_atomic

from ..models.artifacts import fingerprint
from ..models.base import Progress, part_of
from ..models.ensemble import Member, fit_on, train_each
from .base import Dev, Discriminator, check_pairs, check_verdicts, load_discriminator, pairs_of
from .existing import RuleDiscriminator

DESCRIPTION = "oodometer_panel.json"


@final
class Panel:
    """Discriminators that vote, in a fixed order: votes have the axes (judge, sample).

    An output that is empty, or white space alone, is judged Incorrect without asking. Source: Yao and Koller (2024).

    >>> short = RuleDiscriminator(lambda given, output: len(output) < 4)
    >>> lower = RuleDiscriminator(lambda given, output: output.islower())
    >>> Panel([short, lower]).votes(["x", "x", "x"], ["abc", "ABC", " "]).astype(int).tolist()
    [[1, 1, 0], [1, 0, 0]]
    """

    def __init__(self, members: Sequence[Discriminator]) -> None:
        if not members:
            raise UsageError("expected at least one discriminator, got none; 5 are usual")
        self.members = tuple(members)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def truncated(self) -> int:
        """Pairs that were cut in the last call, at the member that cut most."""
        return max(member.truncated for member in self.members)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each member: its kind and its place."""
        return tuple(f"{member.kind}_{index}" for index, member in enumerate(self.members))

    @classmethod
    def train(
        cls,
        make: Callable[[int], Discriminator],
        seeds: Sequence[int],
        *pairs: Sequence[Any],
        dev: Dev | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
        engine: str | Engine | None = None,
    ) -> Panel:
        """Train one member for each seed, one after the other, or each as a task of one thread on an engine.

        make : Gives the untrained member of a seed; the seed belongs into its training config, where it settles the
            first weights and the order of the data.
        seeds : Different integers, one a member.
        pairs, dev : Inputs, outputs and their correctness, as for `Discriminator.fit`.
        checkpoint : Folder in which finished members are kept and the one in training keeps its state: an interrupted
            training goes on there, to the same ensemble. Machines of a cluster must all see it.
        progress : Called with (done, all), in thousandths of a member.
        engine : An engine or its name, "processes", "ray", "spark": the judges are the same to the last bit on each,
            and the pairs travel. Raises `WorkError` where a worker died; the finished members stay.

        >>> short = RuleDiscriminator(lambda given, output: len(output) < 4)
        >>> len(Panel.train(lambda seed: short, [0, 1], ["x"], ["abc"], [True], engine="local"))
        2
        """
        seeds = [int(seed) for seed in seeds]
        if not seeds or len(set(seeds)) < len(seeds):
            raise UsageError(
                f"expected different seeds, at least one, got {seeds}; equal ones train equal members"
            )
        data = fingerprint({"data": [*map(list, pairs), *map(list, dev or ())]})
        judges, warned = [make(seed) for seed in seeds], list[int]()
        for judge in judges:
            judge._warned = warned

        def member(judge: Discriminator, index: int, folder: Path) -> Member | None:
            if isinstance(judge, RuleDiscriminator):  # nothing to train and nothing to save
                return None
            about = {
                "data": data,
                "kind": judge.kind,
                "seed": seeds[index],
                "options": judge.options(),
            }
            return Member(
                judge, fingerprint(about), folder / f"member-{index}", folder / f"training-{index}"
            )

        fit, path = partial(fit_on, pairs, dev), None if checkpoint is None else Path(checkpoint)
        trained = train_each(
            judges,
            member,
            fit,
            lambda member: load_discriminator(member.kept),
            kept_in=path,
            engine=(engine, None),
            progress=progress,
        )
        return cls(trained)

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """P(Correct) by each member, float32, shape (judge, sample); 0 for an empty output."""
        inputs, outputs = check_pairs(inputs, outputs)
        rows = [row for row, output in enumerate(outputs) if output.strip()]
        inputs, outputs, total = (
            [inputs[row] for row in rows],
            [outputs[row] for row in rows],
            len(outputs),
        )
        out = np.zeros((len(self.members), total), dtype=np.float32)
        for index, member in enumerate(self.members):
            member.truncated = 0
            if rows:
                member._warned = (
                    self.members[index - 1]._warned if index else None
                ) or member._warned
                tell = part_of(progress, index, len(self.members))
                out[index, rows] = member.probabilities(inputs, outputs, progress=tell)
        return out

    def votes(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """The verdicts, P(Correct) >= 0.5, bool, shape (judge, sample); empty outputs are Incorrect."""
        return np.asarray(self.probabilities(inputs, outputs, progress=progress) >= 0.5)

    def vote(self, record: Predictions, *, progress: Progress | None = None) -> Predictions:
        """The record with these ``votes``; `InputError` where ``input``, ``output`` or a cell of them is missing."""
        votes = self.votes(*pairs_of(record), progress=progress).astype(np.int8)
        return replace(record, votes=votes, names={**record.names, "judge": self.names}, _cache={})

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the members to ``member-0``, ``member-1``, ... of a folder; `UsageError` where one is a rule."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / DESCRIPTION).unlink(missing_ok=True)  # until all are written, it is no ensemble
        for index, member in enumerate(self.members):
            member.save(path / f"member-{index}")
        about = {"kind": "panel", "members": len(self.members)}
        write_atomic(path / DESCRIPTION, json.dumps(about, indent=2) + "\n")
        return path

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read an ensemble that `save` wrote; `InputError` where the folder holds none.

        >>> Panel.load("no-such-folder")
        Traceback (most recent call last):
        oodometer.errors.InputError: no-such-folder...: expected an ensemble of discriminators saved by ..., got ...
        """
        path = Path(folder) / DESCRIPTION
        try:
            count = int(json.loads(path.read_text(encoding="utf-8"))["members"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            got = "no such file" if isinstance(error, OSError) else "another content"
            expected, remedy = (
                "an ensemble of discriminators saved by oodometer",
                "name the folder that save wrote",
            )
            raise InputError(expected, got=got, remedy=remedy, file=str(path)) from None
        return cls([load_discriminator(path.parent / f"member-{index}") for index in range(count)])


HALF = 0.5
"""The paper's threshold."""

_LEAST = float(np.finfo(np.float32).tiny)  # an empty output has P = 0 and is never accepted


@dataclass(frozen=True, eq=False)
class AcceptanceThresholds:
    """Judge j accepts where P(Correct) >= ``values[j]``; all float64, shape (judge,).

    ``strict`` and ``lenient`` are what the number of labelled rows leaves open: with a chance of at least
    1 - (1 - level) / 2 each, a judge accepts new outputs of the same kind no more often than the share right / rows
    from ``strict`` on, and no less often from ``lenient`` on. ``rows`` were labelled, ``right`` of them right.
    """

    values: Array
    strict: Array
    lenient: Array
    rows: int
    right: int
    level: float

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """A plain mapping, ready for JSON; ``names`` are those of the judges."""
        ends = zip(names, self.values, self.strict, self.lenient, strict=True)
        by_judge = [
            {"judge": n, "value": float(v), "strict": float(s), "lenient": float(k)}
            for n, v, s, k in ends
        ]
        return {"rows": self.rows, "right": self.right, "level": self.level, "by_judge": by_judge}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> AcceptanceThresholds:
        """From what `to_dict` gave.

        >>> cuts = fit_thresholds(np.array([[0.9, 0.8, 0.4]]), [1, 0, 0])
        >>> AcceptanceThresholds.from_dict(cuts.to_dict(["judge"])).values == cuts.values
        array([ True])
        """
        ends = [
            np.array([float(row[name]) for row in table["by_judge"]])
            for name in ("value", "strict", "lenient")
        ]
        value, strict, lenient = ends
        return cls(
            value, strict, lenient, int(table["rows"]), int(table["right"]), float(table["level"])
        )


def fit_thresholds(probabilities: Array, correct: Any, level: float = 0.95) -> AcceptanceThresholds:
    """The thresholds under which each judge accepts as many labelled outputs as are right.

    Of n outputs, r of them right, judge j accepts the r with the largest P: t_j lies in the middle between the r-th and
    the next. So on these rows "all accept" <= accuracy <= "some accept", whatever the judges are worth; elsewhere the
    bounds part where the judges do. Equal P leave another number than r: the nearest one, the lower of two. A judge
    that only says 0 or 1 has no threshold to set, and keeps 0.5.

    The slack is that of order statistics: the share that is accepted from the k-th largest P on is Beta(k, n - k + 1)
    distributed, whatever the distribution of P. ``strict`` accepts the most k with P(Binomial(n, r / n) < k) at most
    (1 - level) / 2, ``lenient`` the fewest k with P(Binomial(n, r / n) >= k) at most that; with few rows none and all.
    ``probabilities`` have axes (judge, sample), ``correct`` (sample,). Raises `InputError` for probabilities outside
    [0, 1], and where all outputs are right or none is: then no threshold follows. Source: Garg et al. (2022), ATC, for
    a judge's probability in the place of confidence; David and Nagaraja (2003), section 7.1, for the slack.

    >>> cuts = fit_thresholds(np.array([[0.9, 0.8, 0.4, 0.1], [0.6, 0.7, 0.2, 0.3]]), [1, 1, 0, 1])
    >>> cuts.values.round(2).tolist()
    [0.25, 0.25]
    """
    check_level(level)
    p = np.asarray(probabilities, dtype=np.float64)
    rows = p.shape[1]
    verdicts = check_verdicts(correct, rows, one_class=True)
    right = int(verdicts.sum())
    if right in (0, rows):
        expected = "labelled outputs of which some are right and some are wrong, to set the judges' thresholds on"
        remedy = "label more, or leave the thresholds at 0.5"
        raise InputError(expected, got=f"{right:,} of {rows:,} right", remedy=remedy)
    outside = ~((p >= 0) & (p <= 1))
    if outside.any():
        judge, row = np.argwhere(outside)[0].tolist()
        expected, remedy = (
            "probabilities of being right from 0 to 1",
            "give the judges' own probabilities",
        )
        raise InputError(expected, got=repr(float(p[judge, row])), row=row + 1, remedy=remedy)
    from scipy.stats import binom

    below = binom.cdf(np.arange(rows + 1), rows, right / rows)  # P(Binomial <= k)
    tail = (1 - level) / 2
    # the most k with P(Binomial <= k - 1) <= tail
    strict_count = int(np.searchsorted(below, tail, "right"))
    lenient_count = min(
        int(np.searchsorted(-(1 - np.concatenate([[0.0], below])), -tail, "left")), rows + 1
    )

    def threshold(falling: Array, count: int, side: int) -> float:
        """Accepts ``count`` of these P, or with equal ones no more (-1), no fewer (1), nearest (0)."""
        if set(falling.tolist()) <= {0.0, 1.0}:
            return HALF
        if 0 < count < rows and falling[count - 1] == falling[count]:
            fewer = int(np.count_nonzero(falling > falling[count]))
            more = int(np.count_nonzero(falling >= falling[count]))
            count = (fewer if count - fewer <= more - count else more, more, fewer)[side]
        if count == 0:
            return float(np.nextafter(1.0, 2.0))
        if count >= rows:  # more than all: everything that is not empty
            return _LEAST if count > rows else max(float(falling[-1]) / 2, _LEAST)
        return max(float((falling[count - 1] + falling[count]) / 2), _LEAST)

    values, strict, lenient = (
        np.array([threshold(ordered, count, side) for ordered in -np.sort(-p, axis=1)])
        for count, side in ((right, 0), (strict_count, -1), (lenient_count, 1))
    )
    return AcceptanceThresholds(values, strict, lenient, rows, right, level)
