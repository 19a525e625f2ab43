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

from ..arrays import Array
from ..engines import Engine, task_engine
from ..errors import InputError, UsageError
from ..intervals import check_level
from ..models.artifacts import fingerprint
from ..models.base import Progress
from ..models.ensemble import STEPS, Member, member_folder, train_member, train_members, uses_gpu
from ..predictions import Predictions
from ..store import write_atomic
from .base import Dev, Discriminator, check_pairs, check_verdicts, load_discriminator
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
        return max(one.truncated for one in self.members)

    @classmethod
    def train(
        cls,
        make: Callable[[int], Discriminator],
        seeds: Sequence[int],
        inputs: Sequence[str],
        outputs: Sequence[str],
        correct: Sequence[Any],
        *,
        dev: Dev | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Panel:
        """Train one member for each seed, one after the other.

        Parameters
        ----------
        make :
            Gives the untrained member of a seed; the seed belongs into its training config, where it settles the first
            weights and the order of the data.
        seeds :
            Different integers, one a member.
        inputs, outputs, correct, dev :
            As for `Discriminator.fit`.
        checkpoint :
            Folder in which finished members are kept and the one in training keeps its state: an interrupted training
            goes on there, to the same ensemble.
        progress :
            Called with (done, all), in thousandths of a member.
        """
        seeds = _different(seeds)
        home = None if checkpoint is None else Path(checkpoint)
        data, fit = _name_of((inputs, outputs, correct), dev), partial(_fit, (inputs, outputs, correct), dev)
        members: list[Discriminator] = []
        for place, seed in enumerate(seeds):

            def tell(done: int, total: int, place: int = place) -> None:
                if progress is not None:
                    progress(place * STEPS + STEPS * done // max(total, 1), STEPS * len(seeds))

            judge = make(seed)
            judge._told = bool(members) and members[-1]._told  # one warning about long pairs is enough
            if home is None or _is_rule(judge):
                fit(judge, checkpoint=None, progress=tell)
            elif (member := _member(judge, seed, home, place, data)).is_finished:
                judge = load_discriminator(member.kept)
                tell(1, 1)
            else:
                train_member(member, fit, tell)
            members.append(judge)
        return cls(members)

    @classmethod
    def train_on(
        cls,
        engine: str | Engine,
        make: Callable[[int], Discriminator],
        seeds: Sequence[int],
        pairs: Dev,
        *,
        dev: Dev | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Panel:
        """Train one member for each seed, each a task of one thread on an engine; the rest as in `train`.

        The judges are the same to the last bit on every engine. ``engine`` is one, or its name: "processes", "ray",
        "spark". ``pairs`` are inputs, outputs and their correctness, and travel. Machines of a cluster must all see
        ``checkpoint``. Raises `WorkError` where a worker died; the finished members stay.

        >>> short = RuleDiscriminator(lambda given, output: len(output) < 4)
        >>> len(Panel.train_on("local", lambda seed: short, [0, 1], (["x"], ["abc"], [True])))
        2
        """
        seeds = _different(seeds)
        home = None if checkpoint is None else Path(checkpoint)
        data, fit = _name_of(pairs, dev), partial(_fit, pairs, dev)
        apart = [make(seed) for seed in seeds]
        runner = task_engine(engine, None, gpu=any(uses_gpu(one) for one in apart))
        assert runner is not None
        with member_folder(home) as folder:
            places = enumerate(zip(apart, seeds, strict=True))
            tasks = [_member(judge, seed, folder, place, data) for place, (judge, seed) in places]
            train_members([one for one in tasks if not _is_rule(one.model)], fit, runner, progress=progress)
            return cls([one.model if _is_rule(one.model) else load_discriminator(one.kept) for one in tasks])

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """P(Correct) by each member, float32, shape (judge, sample); 0 for an empty output."""
        given, found = check_pairs(inputs, outputs)
        asked = np.array([bool(one.strip()) for one in found])
        out = np.zeros((len(self.members), len(given)), dtype=np.float32)
        for one in self.members:
            one.truncated = 0
        if not asked.any():
            return out
        rows = np.flatnonzero(asked)
        given, found = [given[row] for row in rows], [found[row] for row in rows]
        for place, member in enumerate(self.members):

            def tell(done: int, total: int, place: int = place) -> None:
                if progress is not None:
                    progress(place * STEPS + STEPS * done // max(total, 1), STEPS * len(self.members))

            member._told |= place > 0 and self.members[place - 1]._told
            out[place, rows] = member.probabilities(given, found, progress=tell)
        return out

    def votes(self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None) -> Array:
        """The verdicts, P(Correct) >= 0.5, bool, shape (judge, sample); empty outputs are Incorrect."""
        return np.asarray(self.probabilities(inputs, outputs, progress=progress) >= 0.5)

    def vote(self, record: Predictions, *, add: bool = False, progress: Progress | None = None) -> Predictions:
        """The record with ``votes``; it needs ``input`` and ``output``.

        ``add`` puts the votes behind those that the record has already (a judge's verdicts, say); else they take their
        place. Raises `InputError` where a column or a cell is missing.
        """
        for name in ("input", "output"):
            if getattr(record, name) is None:
                remedy = "name it with --map theirs=ours or add it"
                raise InputError(f"a column {name}", got="none", remedy=remedy, file=record.source, column=name)
        assert record.input is not None
        assert record.output is not None
        try:
            found = self.votes(record.input.tolist(), record.output.tolist(), progress=progress).astype(np.int8)
        except InputError as error:
            raise error.at(file=record.source, row_offset=record.first_row) from None
        names = tuple(f"{one.kind}_{place}" for place, one in enumerate(self.members))
        if add and record.votes is not None:
            known = record.names.get("judge", tuple(f"judge_{i}" for i in range(len(record.votes))))
            found, names = np.concatenate([record.votes, found]), (*known, *names)
        return replace(record, votes=found, names={**record.names, "judge": names}, _cache={})

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the members to ``member-0``, ``member-1``, ... of a folder; `UsageError` where one is a rule."""
        home = Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        (home / DESCRIPTION).unlink(missing_ok=True)  # until all are written, it is no ensemble
        for place, member in enumerate(self.members):
            member.save(home / f"member-{place}")
        about = {"kind": "panel", "members": len(self.members)}
        write_atomic(home / DESCRIPTION, json.dumps(about, indent=2) + "\n")
        return home

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read an ensemble that `save` wrote; `InputError` where the folder holds none.

        >>> Panel.load("no-such-folder")
        Traceback (most recent call last):
        oodometer.errors.InputError: no-such-folder...: expected an ensemble of discriminators saved by ..., got ...
        """
        path = Path(folder) / DESCRIPTION
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
            count = int(about["members"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                "an ensemble of discriminators saved by oodometer",
                got="no such file" if isinstance(error, OSError) else "another content",
                remedy="name the folder that save wrote",
                file=str(path),
            ) from None
        return cls([load_discriminator(path.parent / f"member-{place}") for place in range(count)])


def _different(seeds: Sequence[int]) -> list[int]:
    found = [int(one) for one in seeds]
    if not found or len(set(found)) < len(found):
        raise UsageError(f"expected different seeds, at least one, got {found}; equal ones train equal members")
    return found


def _name_of(pairs: Dev, dev: Dev | None) -> str:
    """What tells the data of a training from others."""
    return fingerprint({"data": [*map(list, pairs), *map(list, dev or ())]})


def _fit(
    pairs: Dev, dev: Dev | None, judge: Discriminator, *, checkpoint: Path | None, progress: Progress | None
) -> Discriminator:
    return judge.fit(*pairs, dev=dev, checkpoint=checkpoint, progress=progress)


def _member(judge: Discriminator, seed: int, home: Path, place: int, data: str) -> Member:
    name = fingerprint({"data": data, "kind": judge.kind, "seed": seed, "options": judge.options()})
    return Member(judge, name, home / f"member-{place}", home / f"training-{place}")


def _is_rule(judge: Discriminator) -> bool:
    """Whether there is nothing to train and nothing to save."""
    return isinstance(judge, RuleDiscriminator)


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
        by_judge = [{"judge": n, "value": float(v), "strict": float(s), "lenient": float(k)} for n, v, s, k in ends]
        return {"rows": self.rows, "right": self.right, "level": self.level, "by_judge": by_judge}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> AcceptanceThresholds:
        """What `to_dict` told.

        >>> found = fit_thresholds(np.array([[0.9, 0.8, 0.4]]), [1, 0, 0])
        >>> AcceptanceThresholds.from_dict(found.to_dict(["judge"])).values == found.values
        array([ True])
        """
        ends = [np.array([float(row[name]) for row in told["by_judge"]]) for name in ("value", "strict", "lenient")]
        value, strict, lenient = ends
        return cls(value, strict, lenient, int(told["rows"]), int(told["right"]), float(told["level"]))


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

    >>> found = fit_thresholds(np.array([[0.9, 0.8, 0.4, 0.1], [0.6, 0.7, 0.2, 0.3]]), [1, 1, 0, 1])
    >>> found.values.round(2).tolist()
    [0.25, 0.25]
    """
    check_level(level)
    said = np.asarray(probabilities, dtype=np.float64)
    rows = said.shape[1]
    verdicts = check_verdicts(correct, rows, one_class=True)
    right = int(verdicts.sum())
    if right in (0, rows):
        expected = "labelled outputs of which some are right and some are wrong, to set the judges' thresholds on"
        remedy = "label more, or leave the thresholds at 0.5"
        raise InputError(expected, got=f"{right:,} of {rows:,} right", remedy=remedy)
    outside = ~((said >= 0) & (said <= 1))
    if outside.any():
        judge, row = (int(place) for place in np.argwhere(outside)[0])
        expected = "probabilities of being right from 0 to 1"
        remedy = "give the judges' own probabilities"
        raise InputError(expected, got=repr(float(said[judge, row])), row=row + 1, remedy=remedy)
    from scipy.stats import binom

    below = binom.cdf(np.arange(rows + 1), rows, right / rows)  # P(Binomial <= k)
    least = (1 - level) / 2
    few = int(np.searchsorted(below, least, "right"))  # the most k with P(Binomial <= k - 1) <= least
    many = min(int(np.searchsorted(-(1 - np.concatenate([[0.0], below])), -least, "left")), rows + 1)
    falling = -np.sort(-said, axis=1)
    firm = [set(one) <= {0.0, 1.0} for one in falling.tolist()]

    def accepting(count: int, side: int) -> Array:
        return np.array(
            [HALF if rule else _accepting(one, count, side) for one, rule in zip(falling, firm, strict=True)]
        )

    return AcceptanceThresholds(accepting(right, 0), accepting(few, -1), accepting(many, 1), rows, right, level)


def _accepting(falling: Array, count: int, side: int) -> float:
    """A threshold that accepts ``count`` of these P, or with equal ones no more (-1), no fewer (1), nearest (0)."""
    rows = len(falling)
    if 0 < count < rows and falling[count - 1] == falling[count]:
        fewer = int(np.count_nonzero(falling > falling[count]))
        more = int(np.count_nonzero(falling >= falling[count]))
        nearest = fewer if count - fewer <= more - count else more
        count = {-1: fewer, 0: nearest, 1: more}[side]
    if count == 0:
        return float(np.nextafter(1.0, 2.0))
    if count >= rows:  # more than all: everything that is not empty
        return _LEAST if count > rows else max(float(falling[-1]) / 2, _LEAST)
    return max(float((falling[count - 1] + falling[count]) / 2), _LEAST)
