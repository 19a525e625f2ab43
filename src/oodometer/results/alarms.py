"""Alarms: rules that a scheduler asks about, what they said of the target or its parts, and whether it fell at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..plain import Json, Plain, Strings
from .values import INTERVAL, Interval, Record, counted, percent, plain

FallVerdict = Literal["fell", "holds", "cannot say"]


@dataclass(frozen=True)
class Fall(Record):
    """Whether the accuracy fell by at least a margin below that of the reference.

    by_at_least : the margin, a fraction. p : how likely that is: the share of public natural shifts that looked like
    this one and fell by so much; None where nothing can be said. verdict : "fell" or "holds" where ``p`` is high or low
    enough, else "cannot say". changed : p-value of the test that the outputs are distributed as on the reference,
    adjusted for all parts that were looked at (Holm); None where there is no such test. alarm : ``p`` is 0.7 or more
    and the change more than chance after that adjustment. why : the reason, with what was measured of such verdicts.

    >>> Fall(0.01, 0.97, "fell", 1e-9, True, "").to_dict()["alarm"]
    True
    """

    by_at_least: float
    p: float | None
    verdict: FallVerdict
    changed: float | None
    alarm: bool
    why: str
    _prompt = "verdict p alarm by_at_least changed"

    def sentence(self) -> str:
        """The question and its answer in a line."""
        text = {"fell": "yes", "holds": "no", "cannot say": "undecided"}[self.verdict]
        likely = "" if self.p is None else f"{percent(self.p, 0)} likely"
        more = "; ".join(filter(None, (likely, self.why)))
        return f"Fell by {points_or_more(self.by_at_least)}: {text}" + (
            f" ({more})" if more else ""
        )


def points_or_more(margin: float) -> str:
    """A margin as sentences say it."""
    return f"{_points(margin)} or more"


def _points(margin: float) -> str:
    text = f"{100 * margin:.10g}"
    return f"{text} point{'' if text == '1' else 's'}"


RuleKind = Literal["below", "drop"]
FailWhen = Literal["default", "value", "likely", "upper"]
Asked = Literal["all", "new"]

# What has to lie below the bound for an alarm.
WHEN: dict[str, str] = {
    "default": "it is at least 70 % likely that the number lies below the bound, by more than chance",
    "value": "the number lies below the bound, by more than chance",
    "likely": "it is at least 80 % likely that the number lies below the bound, by more than chance",
    "upper": "the whole interval lies below the bound",
}

# Which alarms count, where a store of past runs tells what was raised before.
ASKED: tuple[Asked, ...] = ("all", "new")


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
        amount = _points(self.amount) if self.metric == "accuracy" else f"{self.amount:.10g}"
        return f"{self.metric} more than {amount} below the reference's"


@dataclass(frozen=True)
class Failing:
    """A rule and the part of the target that it speaks of.

    rule : the rule. bound, reference : what the number is held against, and the number on the reference. place :
    `name`, and `start` and `end` of a chunk, or `by` and `slice` of a slice. rows : its rows. interval : the estimate,
    or the truth where labels decide. chance : how likely it lies below the bound. changed : p-value of the test that
    the outputs are distributed as on the reference (Holm); None without such a test. truth : the accuracy where labels
    are known. known_since : when an earlier run of the job raised it first, in ISO form; None for a new one.
    by_labels : whether labels take part in ``interval``; where every row has one it is the truth.
    """

    rule: AlarmRule
    bound: float
    reference: float
    place: Plain
    rows: int
    interval: Interval
    chance: float
    changed: float | None
    truth: Interval | None = None
    known_since: str | None = None
    by_labels: bool = False

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        out: Json = {
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
        }
        return out | {"truth": plain(self.truth), "by_labels": self.by_labels}

    def sentence(self) -> str:
        """The failure in one line, to follow "ALARM"."""
        i, metric = self.interval, self.rule.metric
        value, lower, upper = (
            percent(item) if metric == "accuracy" else f"{item:.3f}"
            for item in (i.value, i.lower, i.upper)
        )
        against = f"below {_plainly(metric, self.rule.amount)}"
        if self.rule.kind == "drop":
            gap = self.reference - i.value
            against = f"{100 * gap:.1f} points" if metric == "accuracy" else f"{gap:.3f}"
            against += " below the reference"
        sure = "the whole interval" if i.upper < self.bound else f"{percent(self.chance, 0)} likely"
        by = "" if not self.by_labels else " by labels" if self.truth == i else " with labels"
        return f"{self.place['name']}: {metric} {value} [{lower}, {upper}]{by}, {against} ({sure})"


@dataclass(frozen=True)
class Alarms:
    """What all rules said: which parts fail, and which lie below a bound by no more than chance.

    rules : what was asked. when : what an alarm is judged by, a name of `WHEN`. judged : how many parts were looked at.
    kind : "target", "chunk" or "slice". where : what fails. by_chance : what lies below, and whose outputs changed by
    no more than chance. unjudged : "metric of part" where there is no estimate to judge. asked : which alarms count,
    "all" or "new", once earlier runs were looked at; None without a store of them.
    """

    rules: tuple[AlarmRule, ...]
    when: FailWhen
    judged: int
    kind: str
    where: tuple[Failing, ...]
    by_chance: tuple[Failing, ...]
    unjudged: Strings = ()
    asked: Asked | None = None

    @property
    def raised(self) -> bool:
        """Whether anything fails that counts: then the exit code of the command is 3."""
        return bool(self.new) if self.asked == "new" else bool(self.where)

    @property
    def new(self) -> tuple[Failing, ...]:
        """What fails and was not raised by an earlier run of the job; all of it without a store of past runs."""
        return tuple(item for item in self.where if item.known_since is None)

    def compared(self, since: Sequence[str | None], asked: Asked) -> Alarms:
        """The same, told since when each of ``where`` is known."""
        where = tuple(
            replace(item, known_since=when) for item, when in zip(self.where, since, strict=True)
        )
        return replace(self, where=where, asked=asked)

    def __bool__(self) -> bool:
        return self.raised

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        alone, fails = self.asked is None, [item.to_dict() for item in self.where]
        if not alone:
            fails = [
                item | {"known_since": at.known_since}
                for item, at in zip(fails, self.where, strict=True)
            ]
        out: Json = {
            "raised": self.raised,
            "when": self.when,
            "rule_when": WHEN[self.when],
            "rules": [{"metric": r.metric, "rule": r.kind, "amount": r.amount} for r in self.rules],
            "judged": self.judged,
            "of": self.kind,
        }
        out |= {} if alone else {"asked": self.asked, "new": len(self.new)}
        return out | {
            "where": fails,
            "by_chance": plain(self.by_chance),
            "unjudged": list(self.unjudged),
        }

    @classmethod
    def from_dict(cls, result: Plain) -> Alarms:
        """The alarms that `to_dict` wrote."""
        rules = {
            (r["metric"], r["rule"]): AlarmRule(r["metric"], r["rule"], r["amount"])
            for r in result["rules"]
        }

        def failing(item: Plain) -> Failing:
            location = {
                name: item[name] for name in ("name", "start", "end", "by", "slice") if name in item
            }
            interval, truth = (
                None if x is None else Interval(*(x[n] for n in INTERVAL))
                for x in (item, item["truth"])
            )
            assert interval is not None
            about = (
                rules[item["metric"], item["rule"]],
                item["bound"],
                item["reference"],
                location,
                item["rows"],
            )
            more = (item.get("known_since"), bool(item.get("by_labels")))
            return Failing(*about, interval, item["p"], item["changed"], truth, *more)

        where, by_chance = (
            tuple(map(failing, result.get(name) or ())) for name in ("where", "by_chance")
        )
        about = (tuple(rules.values()), result["when"], result["judged"], result["of"])
        return cls(
            *about, where, by_chance, tuple(result.get("unjudged") or ()), result.get("asked")
        )

    def lines(self) -> list[str]:
        """A line for everything that fails, those that count first, and one that sums up."""
        first, later = list[str](), list[str]()
        for item in self.where:
            since = "" if item.known_since is None else f", known since {item.known_since[:10]}"
            if since and self.asked == "new":
                later.append(f"known alarm {item.sentence()}{since}")
            else:
                first.append(f"ALARM {item.sentence()}{since}")
        if self.unjudged:
            later.append(f"No estimate, so no alarm could be raised: {_few(self.unjudged)}")
        return [*first, *later, self.summary()]

    def summary(self) -> str:
        """How many fail, and how many lie below by no more than chance."""
        counts = self.new if self.asked == "new" else self.where
        known_earlier = [item for item in self.where if item.known_since is not None]
        failing, earlier = (
            len({item.place["name"] for item in alarms}) for alarms in (counts, known_earlier)
        )
        parts = counted(self.judged, self.kind)
        new = "new " if self.asked == "new" and self.where else ""
        text = f"Alarm raised by {failing} of {parts}" if counts else f"No {new}alarm in {parts}"
        remarks = []
        if self.kind == "target":
            text = "Alarm raised" if counts else f"No {new}alarm"
        elif earlier:
            remarks.append(f"{earlier} known from earlier runs")
        if names := list(dict.fromkeys(str(item.place["name"]) for item in self.by_chance)):
            remarks.append(f"below it, but by no more than chance: {_few(names)}")
        text += f": {' or '.join(rule.sentence() for rule in self.rules)}"
        return f"{text} ({'; '.join(remarks)})" if remarks else text


def alarm_lines(result: Plain) -> Strings:
    """The lines of the alarms in a result, from the mapping that JSON holds; none where there are no rules."""
    alarms = result.get("alarms")
    return tuple(Alarms.from_dict(alarms).lines()) if alarms else ()


def _few(names: Sequence[str]) -> str:
    """The first names of a list, and how many more there are."""
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _plainly(metric: str, amount: float) -> str:
    """A bound with all its digits."""
    return percent(amount, None) if metric == "accuracy" else f"{amount:.10g}"
