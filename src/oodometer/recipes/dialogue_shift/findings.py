"""Findings: each claim of the paper, tested over conversations, and over trainings where these are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..kit.claims import Claim, Look, all_of, gap, positive, share

FLAT = 0.03
"""Differences of R@1 up to this are called flat; the paper gives no margin, its own flat rows lie within 0.024."""
_NO_GAIN = 0.01  # of R@1, that dropout may at most bring, to be called "equal or lower"
_CONVERSATIONS = "bootstrap over conversations"
_BOTH = "bootstrap over conversations and t test over trainings, both"
_FEWEST = 3
Found = Mapping[str, Any]
_NAMES = {"accuracy": "R@1", "brier": "Brier score", "ece": "ECE"}
_GROUPS = {
    "uw": "more unknown words",
    "kw": "more known words",
    "ic": "more deleted turns",
    "importance": "more important words",
}


def claims_of(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim that the conditions of this run let one check, in the order of the protocol."""
    tests = _Tests(result)
    out: list[Claim] = []
    for group in ("uw", "ic"):
        out += [*tests.falls(group), *tests.each_step(group)]
    out += [*tests.ensemble(), *tests.temperature(), *tests.dropout(), *tests.known_words()]
    return [*out, *tests.short_contexts(), *tests.importance()]


class _Tests:
    """Claims from the differences that the study left."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self._of: Mapping[str, Found] = result["differences"]
        self._replicates = int(result["replicates"])
        self._conditions = result["conditions"]
        self._rows = {(row["condition"], row["method"]): row for row in result["rows"]}

    # ---------------------------------------------------------------- looks

    def _above(self, found: Found, sign: float = 1.0) -> Look:
        """The difference, or its negative, is above 0: over conversations, and over trainings if there are enough."""
        above = found["above"] if sign > 0 else 1 - found["above"]
        looks = [share(above, self._replicates)]
        if len(found["by_model"]) >= _FEWEST:
            looks.append(positive([sign * one for one in found["by_model"]]))
        return all_of(looks)

    def _claim(
        self, name: str, claim: str, text: str, founds: Sequence[Found], sign: float = 1.0, bound: float | None = None
    ) -> Iterator[Claim]:
        """A claim about all of some differences; with a ``bound``, that none reaches it (by the normal law)."""
        if not founds:
            return
        if bound is not None:
            looks = [gap(bound - sign * one["value"], one["error"]) for one in founds]
            yield Claim(name, claim, text, _CONVERSATIONS, all_of(looks), len(looks), len(looks))
            return
        looks = [self._above(one, sign) for one in founds]
        both = all(len(one["by_model"]) >= _FEWEST for one in founds)
        yield Claim(name, claim, text, _BOTH if both else _CONVERSATIONS, all_of(looks), len(looks), len(looks))

    def _keys(self, start: str, metric: str, groups: Sequence[str] = ()) -> dict[str, Found]:
        """Differences between two methods by condition, of some groups or of all."""
        group_of = {one["condition"]: one["group"] for one in self._conditions}
        out = {}
        for key, found in self._of.items():
            first, _, rest = key.partition("/")
            condition, _, last = rest.rpartition("/")
            if first == start and last == metric and (not groups or group_of.get(condition) in groups):
                out[condition] = found
        return out

    def _named(self, group: str) -> list[str]:
        return [one["condition"] for one in self._conditions if one["group"] == group and one["kept"]]

    # ---------------------------------------------------------------- claims

    def falls(self, group: str) -> Iterator[Claim]:
        """From the mildest to the strongest severity R@1 falls, Brier score and ECE rise (1, 2, 8)."""
        ends = self._named(group)
        for metric, sign in (("accuracy", -1.0), ("brier", 1.0), ("ece", 1.0)):
            found = self._of.get(f"change/{group}/{metric}")
            if found is None:
                continue
            verb = "falls" if metric == "accuracy" else "rises"
            claim = f"{_NAMES[metric]} {verb} with {_GROUPS[group]} ({ends[0]} to {ends[-1]})"
            text = f"{_signed(found['value'])} on the same {found['rows'][0]} instances; "
            text += f"{self._seen(ends[0], metric)} to {self._seen(ends[-1], metric)} on each condition's own"
            yield from self._claim(f"{group}_{metric}", claim, text, [found], sign)

    def each_step(self, group: str) -> Iterator[Claim]:
        """R@1 falls from every severity to the next."""
        found = {one: self._of[key] for one in self._named(group) if (key := f"step/{one}/accuracy") in self._of}
        text = "; ".join(f"to {one}: {_signed(each['value'])}" for one, each in found.items())
        claim = f"R@1 falls at every step to {_GROUPS[group]}"
        yield from self._claim(f"{group}_steps", claim, text, list(found.values()), -1.0)

    def ensemble(self) -> Iterator[Claim]:
        """The ensemble is best in accuracy and Brier score (3)."""
        for metric, sign, others in (
            ("accuracy", 1.0, ("vanilla", "dropout")),
            ("brier", -1.0, ("vanilla", "temperature", "dropout")),
        ):
            found = {
                (other, one): each for other in others for one, each in self._keys(f"ensemble-{other}", metric).items()
            }
            good = sum(sign * each["value"] > 0 for each in found.values())
            claim = f"the ensemble has the best {_NAMES[metric]} of all methods on every condition"
            text = f"better in {good} of {len(found)} comparisons with another method"
            yield from self._claim(f"ensemble_{metric}", claim, text, list(found.values()), sign)
            last = self._named("uw")[-1:]
            there = [each for (_, one), each in found.items() if one in last]
            text = ", ".join(f"{other} {self._seen(one, metric, other)}" for other, one in found if one in last)
            claim = f"the ensemble has the best {_NAMES[metric]} under the most unknown words"
            said = f"ensemble {self._seen(last[0], metric, 'ensemble')}, {text}" if last else ""
            yield from self._claim(f"ensemble_{metric}_strongest", claim, said, there, sign)

    def temperature(self) -> Iterator[Claim]:
        """Temperature scaling has a lower ECE than vanilla and than ensembles, and its ECE rises, too (4)."""
        shifted = ("uw", "ic", "importance")
        for other, groups, where in (
            ("vanilla", (), "on every condition"),
            ("ensemble", shifted, "on every condition of unknown words, deleted turns and importance"),
        ):
            start, sign = (f"temperature-{other}", -1.0) if other == "vanilla" else ("ensemble-temperature", 1.0)
            found = self._keys(start, "ece", groups)
            good = sum(sign * each["value"] > 0 for each in found.values())
            text = f"lower on {good} of {len(found)}; mean of it less the other {_signed(_mean(found, -sign))}"
            claim = f"temperature scaling has a lower ECE than {_WITH[other]} {where}"
            yield from self._claim(f"temperature_{other}", claim, text, list(found.values()), sign)
        rises = self._of.get("change/uw/ece/temperature")
        if rises is not None:
            claim = "the ECE of temperature scaling rises with more unknown words, too: it does not hold"
            text = f"{_signed(rises['value'])} on the same {rises['rows'][0]} instances"
            yield from self._claim("temperature_rises", claim, text, [rises])

    def dropout(self) -> Iterator[Claim]:
        """Dropout has a lower ECE than vanilla, and no higher accuracy (5)."""
        groups = ("uw", "kw", "ic", "importance")
        found = self._keys("dropout-vanilla", "ece", groups)
        good = sum(each["value"] < 0 for each in found.values())
        claim = "dropout has a lower ECE than vanilla on every condition of unknown and known words, deleted turns and "
        text = f"lower on {good} of {len(found)}; mean difference {_signed(_mean(found))}"
        yield from self._claim("dropout_ece", f"{claim}importance", text, list(found.values()), -1.0)
        found = {one: each for one, each in self._keys("dropout-vanilla", "accuracy").items() if one != "sr-1"}
        good = sum(each["value"] <= 0 for each in found.values())
        claim = f"dropout has no higher R@1 than vanilla (by less than {_NO_GAIN:g}) on every condition but sr-1"
        text = f"equal or lower on {good} of {len(found)}; mean difference {_signed(_mean(found))}"
        yield from self._claim("dropout_accuracy", claim, text, list(found.values()), bound=_NO_GAIN)

    def known_words(self) -> Iterator[Claim]:
        """Known words cost less accuracy than unknown ones (6)."""
        found = {key.split("/")[1]: each for key, each in self._of.items() if key.startswith("kw-uw/")}
        text = "; ".join(f"{ratio}: {_signed(each['value'])} ({each['rows'][0]})" for ratio, each in found.items())
        claim = "R@1 under known words is above that under unknown words at every ratio"
        text += ", on the instances that both kept (their number)"
        yield from self._claim("known_words", claim, text, list(found.values()))

    def short_contexts(self) -> Iterator[Claim]:
        """R@1 is flat over real lengths, and falls less over them than over deleted turns (7)."""
        found, ends = self._of.get("change/sr/accuracy"), self._named("sr")
        if found is not None:
            text = f"{self._seen(ends[0], 'accuracy')} at {ends[0]}, {self._seen(ends[-1], 'accuracy')} at {ends[-1]}"
            claim = f"R@1 is flat over contexts that really are short (within {FLAT:g})"
            yield from self._flat("short_flat", claim, text, found)
        control = self._of.get("control/accuracy")
        if control is not None:
            claim = "R@1 falls more from deleting turns than from contexts that really are as short"
            text = f"the one fall less the other: {_signed(control['value'])}"
            yield from self._claim("short_control", claim, text, [control])

    def importance(self) -> Iterator[Claim]:
        """R@1 falls from the least to the most important words, and hardly up to the middle (8)."""
        yield from self.falls("importance")
        found = self._of.get("flat/importance/accuracy")
        if found is not None:
            claim = f"up to the middle fifth by importance R@1 is flat (within {FLAT:g})"
            text = f"{_signed(found['value'])} on the same {found['rows'][0]} instances"
            yield from self._flat("importance_flat", claim, text, found)

    def _flat(self, name: str, claim: str, text: str, found: Found) -> Iterator[Claim]:
        """Two one-sided tests: the difference is below the margin, and above its negative."""
        looks = [gap(FLAT - sign * found["value"], found["error"]) for sign in (1, -1)]
        yield Claim(name, claim, text, "two one-sided tests over conversations", all_of(looks))

    def _seen(self, condition: str, metric: str, method: str = "vanilla") -> str:
        row = self._rows.get((condition, method))
        return "-" if row is None else f"{row[metric]['mean']:.3f}"


_WITH: Mapping[str, str] = {"vanilla": "vanilla", "ensemble": "the ensemble"}


def _signed(value: float) -> str:
    return f"{value:+.3f}"


def _mean(found: Mapping[str, Found], sign: float = 1.0) -> float:
    values = [sign * one["value"] for one in found.values()]
    return sum(values) / len(values) if values else 0.0
