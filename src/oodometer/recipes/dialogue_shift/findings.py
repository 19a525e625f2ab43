"""Findings: each claim of the paper, tested over conversations, and over trainings where these are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..kit.claims import Claim, all_of, gap, on_all, positive, share

FLAT = 0.03
"""Differences of R@1 up to this are called flat; the paper gives no margin, its own flat rows lie within 0.024."""
_NO_GAIN = 0.01  # of R@1, that dropout may at most bring, to be called "equal or lower"
_CONVERSATIONS = "bootstrap over conversations"
_BOTH = "bootstrap over conversations and t test over trainings, both"
_FEWEST = 3
Found = Mapping[str, Any]
NAMES = {"accuracy": "R@1", "brier": "Brier score", "ece": "ECE"}
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
    return [*out, *tests.short_contexts(), *tests.falls("importance"), *tests.middle_fifth()]


class _Tests:
    """Claims from the differences that the study left."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self._of: Mapping[str, Found] = result["differences"]
        self._replicates = int(result["replicates"])
        self._conditions = result["conditions"]
        self._rows = {(row["condition"], row["method"]): row for row in result["rows"]}

    def _claim(self, name: str, claim: str, text: str, found: Sequence[Found], sign: float = 1.0) -> Iterator[Claim]:
        """All of some differences, or their negatives, are above 0: over conversations, and over enough trainings."""
        looks = []
        for one in found:
            own = [share(one["above"] if sign > 0 else 1 - one["above"], self._replicates)]
            trained = one["by_model"] if len(one["by_model"]) >= _FEWEST else []
            looks.append(all_of([*own, *([positive([sign * each for each in trained])] if trained else [])]))
        both = all(len(one["by_model"]) >= _FEWEST for one in found)
        if found:
            yield on_all(name, claim, text, _BOTH if both else _CONVERSATIONS, looks)

    def _keys(self, start: str, metric: str, groups: Sequence[str] = ()) -> dict[str, Found]:
        """Differences between two methods by condition, of some groups or of all."""
        group_of = {one["condition"]: one["group"] for one in self._conditions}
        split = [(*key.partition("/")[::2], found) for key, found in self._of.items()]
        keys = [(*rest.rpartition("/")[::2], found) for first, rest, found in split if first == start]
        return {
            one: found for one, last, found in keys if last == metric and (not groups or group_of.get(one) in groups)
        }

    def _named(self, group: str) -> list[str]:
        return [one["condition"] for one in self._conditions if one["group"] == group and one["kept"]]

    def _seen(self, condition: str, metric: str, method: str = "vanilla") -> str:
        row = self._rows.get((condition, method))
        return "-" if row is None else f"{row[metric]['mean']:.3f}"

    def falls(self, group: str) -> Iterator[Claim]:
        """From the mildest to the strongest severity R@1 falls, Brier score and ECE rise (1, 2, 8)."""
        ends = self._named(group)
        for metric, verb, sign in (("accuracy", "falls", -1.0), ("brier", "rises", 1.0), ("ece", "rises", 1.0)):
            found = self._of.get(f"change/{group}/{metric}")
            if found is not None:
                claim = f"{NAMES[metric]} {verb} with {_GROUPS[group]} ({ends[0]} to {ends[-1]})"
                text = f"{found['value']:+.3f} on the same {found['rows'][0]} instances; "
                text += f"{self._seen(ends[0], metric)} to {self._seen(ends[-1], metric)} on each condition's own"
                yield from self._claim(f"{group}_{metric}", claim, text, [found], sign)

    def each_step(self, group: str) -> Iterator[Claim]:
        """R@1 falls from every severity to the next."""
        found = {one: self._of[key] for one in self._named(group) if (key := f"step/{one}/accuracy") in self._of}
        text = "; ".join(f"to {one}: {each['value']:+.3f}" for one, each in found.items())
        claim = f"R@1 falls at every step to {_GROUPS[group]}"
        yield from self._claim(f"{group}_steps", claim, text, list(found.values()), -1.0)

    def ensemble(self) -> Iterator[Claim]:
        """The ensemble is best in accuracy and Brier score (3)."""
        for metric, sign, others in (
            ("accuracy", 1.0, ("vanilla", "dropout")),
            ("brier", -1.0, ("vanilla", "temperature", "dropout")),
        ):
            found = {(o, one): each for o in others for one, each in self._keys(f"ensemble-{o}", metric).items()}
            good = sum(sign * each["value"] > 0 for each in found.values())
            claim = f"the ensemble has the best {NAMES[metric]} of all methods on every condition"
            text = f"better in {good} of {len(found)} comparisons with another method"
            yield from self._claim(f"ensemble_{metric}", claim, text, list(found.values()), sign)
            last = self._named("uw")[-1:]
            there = {other: each for (other, one), each in found.items() if one in last}
            claim = f"the ensemble has the best {NAMES[metric]} under the most unknown words"
            told = [f"{method} {self._seen(one, metric, method)}" for one in last for method in ("ensemble", *there)]
            yield from self._claim(f"ensemble_{metric}_strongest", claim, ", ".join(told), list(there.values()), sign)

    def temperature(self) -> Iterator[Claim]:
        """Temperature scaling has a lower ECE than vanilla and than ensembles, and its ECE rises, too (4)."""
        everywhere, shifted = "on every condition", "on every condition of unknown words, deleted turns and importance"
        for name, other, start, sign, groups, where in (
            ("vanilla", "vanilla", "temperature-vanilla", -1.0, (), everywhere),
            ("ensemble", "the ensemble", "ensemble-temperature", 1.0, ("uw", "ic", "importance"), shifted),
        ):
            found = list(self._keys(start, "ece", groups).values())
            good = sum(sign * each["value"] > 0 for each in found)
            text = f"lower on {good} of {len(found)}; mean of it less the other {_mean(found, -sign):+.3f}"
            claim = f"temperature scaling has a lower ECE than {other} {where}"
            yield from self._claim(f"temperature_{name}", claim, text, found, sign)
        rises = self._of.get("change/uw/ece/temperature")
        if rises is not None:
            claim = "the ECE of temperature scaling rises with more unknown words, too: it does not hold"
            text = f"{rises['value']:+.3f} on the same {rises['rows'][0]} instances"
            yield from self._claim("temperature_rises", claim, text, [rises])

    def dropout(self) -> Iterator[Claim]:
        """Dropout has a lower ECE than vanilla, and no higher accuracy, by the normal law (5)."""
        found = list(self._keys("dropout-vanilla", "ece", ("uw", "kw", "ic", "importance")).values())
        text = f"lower on {sum(one['value'] < 0 for one in found)} of {len(found)}; mean difference {_mean(found):+.3f}"
        claim = "dropout has a lower ECE than vanilla on every condition of unknown and known words, deleted turns and "
        yield from self._claim("dropout_ece", f"{claim}importance", text, found, -1.0)
        found = [each for one, each in self._keys("dropout-vanilla", "accuracy").items() if one != "sr-1"]
        text = f"equal or lower on {sum(one['value'] <= 0 for one in found)} of {len(found)}; mean difference "
        claim = f"dropout has no higher R@1 than vanilla (by less than {_NO_GAIN:g}) on every condition but sr-1"
        looks = [gap(_NO_GAIN - one["value"], one["error"]) for one in found]
        if found:
            yield on_all("dropout_accuracy", claim, f"{text}{_mean(found):+.3f}", _CONVERSATIONS, looks)

    def known_words(self) -> Iterator[Claim]:
        """Known words cost less accuracy than unknown ones (6)."""
        found = {key.split("/")[1]: each for key, each in self._of.items() if key.startswith("kw-uw/")}
        text = "; ".join(f"{ratio}: {each['value']:+.3f} ({each['rows'][0]})" for ratio, each in found.items())
        claim = "R@1 under known words is above that under unknown words at every ratio"
        text += ", on the instances that both kept (their number)"
        yield from self._claim("known_words", claim, text, list(found.values()))

    def short_contexts(self) -> Iterator[Claim]:
        """R@1 is flat over real lengths, and falls less over them than over deleted turns (7)."""
        found, ends = self._of.get("change/sr/accuracy"), self._named("sr")
        if found is not None:
            text = f"{self._seen(ends[0], 'accuracy')} at {ends[0]}, {self._seen(ends[-1], 'accuracy')} at {ends[-1]}"
            yield _flat("short_flat", "R@1 is flat over contexts that really are short", text, found)
        control = self._of.get("control/accuracy")
        if control is not None:
            claim = "R@1 falls more from deleting turns than from contexts that really are as short"
            text = f"the one fall less the other: {control['value']:+.3f}"
            yield from self._claim("short_control", claim, text, [control])

    def middle_fifth(self) -> Iterator[Claim]:
        """R@1 hardly falls from the least important words up to the middle (8)."""
        found = self._of.get("flat/importance/accuracy")
        if found is not None:
            text = f"{found['value']:+.3f} on the same {found['rows'][0]} instances"
            yield _flat("importance_flat", "up to the middle fifth by importance R@1 is flat", text, found)


def _flat(name: str, claim: str, text: str, found: Found) -> Claim:
    """Two one-sided tests: the difference is below the margin, and above its negative."""
    looks = [gap(FLAT - sign * found["value"], found["error"]) for sign in (1, -1)]
    return Claim(name, f"{claim} (within {FLAT:g})", text, "two one-sided tests over conversations", all_of(looks))


def _mean(found: Sequence[Found], sign: float = 1.0) -> float:
    return sum(sign * one["value"] for one in found) / len(found) if found else 0.0
