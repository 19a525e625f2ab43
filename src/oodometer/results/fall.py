"""Fall: the answer to "did the accuracy fall by at least so much?", as a part of the result of `estimate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .values import Record, percent

FallVerdict = Literal["fell", "holds", "cannot say"]


@dataclass(frozen=True)
class Fall(Record):
    """Whether the accuracy fell by at least a margin below that of the reference.

    Parameters
    ----------
    by_at_least : the margin, a fraction.
    p : how likely that is: the share of public natural shifts that looked like this one and fell by so much; None
        where nothing can be said.
    verdict : "fell" or "holds" where ``p`` is high or low enough, else "cannot say".
    changed : p-value of the test that the outputs are distributed as on the reference, adjusted for all parts that were
        looked at (Holm); None where there is no such test.
    alarm : the verdict is "fell", and the change is more than chance after that adjustment.
    why : the reason, with what was measured of such verdicts.

    >>> Fall(0.01, 0.97, "fell", 1e-9, True, "").to_dict()["alarm"]
    True
    """

    by_at_least: float
    p: float | None
    verdict: FallVerdict
    changed: float | None
    alarm: bool
    why: str

    def sentence(self) -> str:
        """The question and its answer in a line.

        >>> Fall(0.01, 0.86, "fell", 1e-9, True, "of 90 such, 95 % had").sentence()
        'Fell by 1 point or more: yes (86 % likely; of 90 such, 95 % had)'
        """
        asked = f"Fell by {points_or_more(self.by_at_least)}"
        said = {"fell": "yes", "holds": "no", "cannot say": "cannot say"}[self.verdict]
        likely = "" if self.p is None else f"{percent(self.p, 0)} likely"
        more = "; ".join(part for part in (likely, self.why) if part)
        return f"{asked}: {said}" + (f" ({more})" if more else "")


def points_or_more(margin: float) -> str:
    """A margin as sentences say it.

    >>> points_or_more(0.01), points_or_more(0.025)
    ('1 point or more', '2.5 points or more')
    """
    points = f"{100 * margin:.10g}"
    return f"{points} point{'' if points == '1' else 's'} or more"
