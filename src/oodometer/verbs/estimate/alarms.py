"""Alarms of an estimation: the rules asked of its chunks, of its slices, or of the target where it is not cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...headline.alarms import Watched, judge_alarms
from ...results.alarms import Alarms
from ...results.estimation import Part
from .options import EstimateOptions

__all__ = ["raised_alarms"]

Chance = Callable[[float], float | None]  # how likely the accuracy lies below a bound


def raised_alarms(
    options: EstimateOptions, whole: tuple[Part, Chance], parts: Sequence[tuple[Part, Chance]], accuracy: float
) -> Alarms | None:
    """What the rules say; None where none was asked.

    ``whole`` is the target, judged where it was not cut into ``parts``; ``accuracy`` is that of the reference.
    """
    rules = options.alarm_rules
    if not rules:
        return None
    kind = "target" if not parts else "slice" if options.by is not None else "chunk"
    references = {"accuracy": accuracy}
    for name, one in whole[0].metrics.items():
        if one.reference is not None:
            references[name] = one.reference.value
    watched = [_watched(part, chance) for part, chance in parts or [whole]]
    return judge_alarms(rules, watched, references, kind=kind, when=options.when)


def _watched(part: Part, chance: Chance) -> Watched:
    """The target, a chunk or a slice as alarms see it."""
    place: dict[str, Any] = {"name": part.name}
    if "by" in part.place:
        place |= {"by": part.place["by"], "slice": part.place["value"]}
    else:
        place |= {key: part.place[key] for key in ("start", "end") if key in part.place}
    numbers = {"accuracy": part.headline.interval}
    truths = {} if part.truth is None else {"accuracy": part.truth}
    for name, one in part.metrics.items():
        numbers[name] = one.headline.interval
        truths |= {} if one.truth is None else {name: one.truth}
    changed = None if part.fell is None else part.fell.changed
    return Watched(place, part.rows, numbers, {"accuracy": chance}, changed, truths)
