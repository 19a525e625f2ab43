"""Alarms: rules that a scheduler asks about, what they said of the target or its parts, and the lines that tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .values import Interval, counted, percent, plain

__all__ = ["WHEN", "AlarmRule", "Alarms", "FailWhen", "Failing", "RuleKind"]

RuleKind = Literal["below", "drop"]
FailWhen = Literal["value", "likely", "upper"]

# What has to lie below the bound for an alarm.
WHEN: dict[str, str] = {
    "value": "the estimate lies below the bound, by more than chance",
    "likely": "it is at least 80 % likely that the number lies below the bound, by more than chance",
    "upper": "the whole interval lies below the bound",
}


@dataclass(frozen=True)
class AlarmRule:
    """A number that must not be undercut: ``amount`` itself ("below"), or the reference's less ``amount`` ("drop").

    >>> AlarmRule("accuracy", "drop", 0.02).bound(0.95), AlarmRule("f1", "below", 0.8).sentence()
    (0.9299999999999999, 'f1 below 0.8')
    """

    metric: str
    kind: RuleKind
    amount: float

    def bound(self, reference: float) -> float:
        """The least that is no failure, given the number on the reference."""
        return self.amount if self.kind == "below" else reference - self.amount

    def sentence(self) -> str:
        """The rule in words."""
        if self.kind == "below":
            return f"{self.metric} below {_plainly(self.metric, self.amount)}"
        if self.metric != "accuracy":
            return f"{self.metric} more than {self.amount:.10g} below the reference's"
        points = f"{100 * self.amount:.10g}"
        return f"{self.metric} more than {points} point{'' if points == '1' else 's'} below the reference's"


@dataclass(frozen=True)
class Failing:
    """A rule and the part of the target that it speaks of.

    Parameters
    ----------
    rule : the rule. bound, reference : what the number is held against, and the number on the reference.
    place : `name`, and `start` and `end` of a chunk, or `by` and `slice` of a slice. rows : its rows.
    interval : the estimate. chance : how likely it lies below the bound.
    changed : p-value of the test that the outputs are distributed as on the reference (Holm); None without such a test.
    truth : the accuracy where labels are known.
    """

    rule: AlarmRule
    bound: float
    reference: float
    place: Mapping[str, Any]
    rows: int
    interval: Interval
    chance: float
    changed: float | None
    truth: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            **plain(self.place),
            "rows": self.rows,
            "metric": self.rule.metric,
            "rule": self.rule.kind,
            "bound": plain(self.bound),
            "reference": plain(self.reference),
            **self.interval.to_dict(),
            "upper_below": self.interval.upper < self.bound,
            "p": plain(self.chance),
            "changed": plain(self.changed),
            "truth": None if self.truth is None else self.truth.to_dict(),
        }

    def sentence(self) -> str:
        """The failure in one line."""
        i, metric = self.interval, self.rule.metric
        value, lower, upper = (
            percent(one) if metric == "accuracy" else f"{one:.3f}" for one in (i.value, i.lower, i.upper)
        )
        against = f"below {_plainly(metric, self.rule.amount)}"
        if self.rule.kind == "drop":
            gap = self.reference - i.value
            against = f"{100 * gap:.1f} points" if metric == "accuracy" else f"{gap:.3f}"
            against += " below the reference"
        sure = "the whole interval" if i.upper < self.bound else f"{percent(self.chance, 0)} likely"
        return f"ALARM {self.place['name']}: {metric} {value} [{lower}, {upper}], {against} ({sure})"


@dataclass(frozen=True)
class Alarms:
    """What all rules said: which parts fail, and which lie below a bound by no more than chance.

    Parameters
    ----------
    rules : what was asked. when : what an alarm is judged by, a name of `WHEN`.
    judged : how many parts were looked at. kind : "target", "chunk" or "slice".
    where : what fails. by_chance : what lies below, and whose outputs changed by no more than chance.
    unjudged : "metric of part" where there is no estimate to judge.
    """

    rules: tuple[AlarmRule, ...]
    when: FailWhen
    judged: int
    kind: str
    where: tuple[Failing, ...]
    by_chance: tuple[Failing, ...]
    unjudged: tuple[str, ...] = ()

    @property
    def raised(self) -> bool:
        """Whether anything fails: then the exit code of the command is 3."""
        return bool(self.where)

    def __bool__(self) -> bool:
        return self.raised

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "raised": self.raised,
            "when": self.when,
            "rules": [{"metric": r.metric, "rule": r.kind, "amount": r.amount} for r in self.rules],
            "judged": self.judged,
            "of": self.kind,
            "where": [one.to_dict() for one in self.where],
            "by_chance": [one.to_dict() for one in self.by_chance],
            "unjudged": list(self.unjudged),
        }

    def lines(self) -> list[str]:
        """A line for everything that fails, and one that sums up."""
        unsaid = [f"No estimate, so no alarm could be raised: {_few(self.unjudged)}"] if self.unjudged else []
        return [*(one.sentence() for one in self.where), *unsaid, self.summary()]

    def summary(self) -> str:
        """How many fail, and how many lie below by no more than chance."""
        asked = " or ".join(rule.sentence() for rule in self.rules)
        failing = len({one.place["name"] for one in self.where})
        if self.kind == "target":
            text = f"Alarm raised: {asked}" if self.where else f"No alarm: {asked}"
        elif self.where:
            text = f"Alarm raised by {failing} of {counted(self.judged, self.kind)}: {asked}"
        else:
            text = f"No alarm in {counted(self.judged, self.kind)}: {asked}"
        names = list(dict.fromkeys(str(one.place["name"]) for one in self.by_chance))
        if not names:
            return text
        return f"{text} (below it, but by no more than chance: {_few(names)})"


def _few(names: Sequence[str]) -> str:
    """The first names of a list, and how many more there are."""
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _plainly(metric: str, amount: float) -> str:
    """A bound with all its digits."""
    return percent(amount, None) if metric == "accuracy" else f"{amount:.10g}"
