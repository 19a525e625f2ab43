"""Audit: what the page of a few labels needs besides charts: the verdict and what the labels are worth, in words."""

from __future__ import annotations

import shlex
from typing import Any

from .charts.base import Result
from .charts.by_category import chosen_first
from .charts.curves import expected, halving, today, width_steps
from .numbers import best, digits, finite, number, percent, percent_range, points, rows_text
from .references import reference
from .words import capital

MEANINGS = {
    "clopper-pearson": "the labels alone, as if drawn from endless rows",
    "hypergeometric": "the labels alone, knowing how many rows the target has",
    "betting": "the labels and the chances with which their rows were drawn",
    "ppi-betting": "the labels and {proxy} on every row; valid at any number of labels",
    "ppi++": "the labels and {proxy}, by the normal law of many labels",
}
PROXIES = {"confidence": "the model's confidence", "votes": "the judges' votes"}
DROPPED = ("--report", "--json", "--suggest", "--out", "--save")
MOST_RARE = 1_000_000  # "less than one in" beyond this says no more
EVEN = 0.5  # labels; a difference below it reads as none
MORE = 20  # rows to suggest where the curve names no number


def proxy(result: Result) -> str:
    """What stood for the labels that are missing, in words.

    >>> proxy({"proxy": "votes"}), proxy({})
    ("the judges' votes", "the model's confidence")
    """
    return PROXIES.get(str(result.get("proxy")), PROXIES["confidence"])


def _count(labels: Any) -> str:
    """A number of labels in words."""
    return f"{number(int(labels))} label{'' if int(labels) == 1 else 's'}"


def promise(result: Result) -> str:
    """How far the range may be relied on, by its kind."""
    found = best(result.get("estimate"))
    kind, level = found.get("kind"), percent(result.get("level"), 0)
    if kind == "exact":
        text = f"If rows were drawn again and again, at least {level} of such ranges would hold the truth, at any "
        text += "number of labels and whatever the model and the shift, as long as the labelled rows were drawn as "
        return text + "said."
    if kind == "asymptotic":
        return f"About {level} of such ranges hold the truth, the more nearly the more labels there are."
    return ""


def _once_in(p_value: float) -> str:
    if p_value < 1 / MOST_RARE:
        return f"less than once in {number(MOST_RARE)} draws"
    return f"about once in {number(round(1 / p_value))} draws"


def verdict(result: Result) -> dict[str, str] | None:
    """Whether the labels refute the label-free estimate: a badge, a title, and the p-value in words.

    >>> claim = {"value": 0.775, "lower": 0.736, "upper": 0.81}
    >>> found = verdict({"labels": 10, "headline": claim, "refuted": True, "p_value": 9.5e-5})
    >>> print(found["text"].replace(chr(160), " "))
    Were the accuracy anywhere in 73.6–81.0 %, labels so far off would come up about once in 10,526 draws at most.
    """
    claim, p_value = best(result.get("headline")), finite(result.get("p_value"))
    if not claim or p_value is None:
        return None
    low, high = finite(claim.get("lower")), finite(claim.get("upper"))
    span = percent_range(low, high)
    if low is not None and high is not None and low <= 0 and high >= 1:
        return {
            "badge": "quiet",
            "short": "no claim",
            "title": "There is no claim that labels could refute",
            "text": "Without labels every accuracy was held possible, so that no label can contradict it.",
        }
    if result.get("refuted"):
        return {
            "badge": "none-badge",
            "short": "refuted",
            "title": "The labels refute the estimate that was made without them",
            "text": f"Were the accuracy anywhere in {span}, labels so far off would come up {_once_in(p_value)} "
            "at most." + _apart(result, low, high),
        }
    text = f"The labels' own answer lies inside the claimed {span}."
    if p_value < 1:
        text = f"Were the accuracy in {span}, labels at least so far off could come up {_once_in(p_value)}"
        text += ": no contradiction." if p_value > 0.2 else ": unusual, and no contradiction at this level."
    return {
        "badge": "quiet",
        "short": "not refuted",
        "title": "The labels do not refute the estimate that was made without them",
        "text": text + _apart(result, low, high) + " What is not refuted is not proved.",
    }


def _apart(result: Result, low: float | None, high: float | None) -> str:
    """Where the printed interval and the test, which use different things, do not say the same."""
    found = best(result.get("estimate"))
    lower, upper = finite(found.get("lower")), finite(found.get("upper"))
    if low is None or high is None or lower is None or upper is None:
        return ""
    apart = upper < low or lower > high
    if apart and not result.get("refuted"):
        side = "below" if upper < low else "above"
        return f" Yet the printed interval, which uses more than the test does, lies wholly {side} the claim."
    if result.get("refuted") and not apart:
        return " Yet the printed interval, which uses other things than the test does, still meets the claim."
    return ""


def power(result: Result) -> str:
    """Which accuracies so many labels would have noticed, so that nobody takes silence for proof."""
    found = result.get("noticeable") or {}
    below, above = finite(found.get("below")), finite(found.get("above"))
    labels, share = finite(result.get("labels")), finite(found.get("power"))
    if not labels or share is None:
        return ""
    often = f"{number(round(share * 10))} times in 10"
    ends = [f"below {percent(below)}"] if below is not None else []
    ends += [f"above {percent(above)}"] if above is not None else []
    if not ends:
        return f"No accuracy at all would be refuted {often} by {_count(labels)}: label more for a test that can."
    return f"With {_count(labels)} this test refutes {often} only where the truth lies {' or '.join(ends)}."


def worth(result: Result) -> dict[str, str] | None:
    """What the labels are worth, and what of: the size of the target, the confidence, the way rows were drawn."""
    value, labels = finite(result.get("effective_labels")), finite(result.get("labels"))
    if value is None or not labels:
        return None
    title = f"Your {_count(labels)} {'is' if labels == 1 else 'are'} worth {number(round(value))}"
    title += " by the exact interval" if (result.get("believed") or {}).get("effective_labels") else ""
    text = "That many random labels, read alone, would give an equally short interval at this accuracy. "
    method, rows = result.get("method"), finite((result.get("target") or {}).get("rows"))
    explained = finite((result.get("confidence") or {}).get("explained"))
    share = percent(explained, 0) if explained is not None and explained > 0 else ""
    were, are, them = ("were", "are", "them") if result.get("proxy") == "votes" else ("was", "is", "it")
    if method == "hypergeometric" and rows:
        text += f"The target has {rows_text(rows)}: "
        if rows > labels:
            text += f"{number(int(labels))} of them are known, and only the other {number(int(rows - labels))} can "
            text += f"still surprise. {capital(proxy(result))} "
        else:
            text += f"all of them are known. {capital(proxy(result))} "
        text += f"{were} left aside, since imagined audits found no gain from {them} at so many labels."
    elif method == "clopper-pearson":
        text += "They are read as they are: the target is large beside them, and imagined audits found no gain "
        text += f"from {proxy(result)} at so many labels."
    elif share:
        text += f"{capital(proxy(result))}, as learnt on the reference, {are} predicted to take {share} off the "
        text += "variance of a label"
        unsure = "they are unsure" if result.get("proxy") == "votes" else "it is unsure"
        text += f", and rows were labelled more often where {unsure}." if result.get("weighted") else "."
        if value < labels - EVEN:
            text += " With these labels, being valid at every number of them costs more than that."
    return {"title": title, "text": text.strip()}


def believed(result: Result) -> dict[str, str] | None:
    """What to believe if the shift is like public ones, and what the labels are worth by it; or why there is nothing.

    >>> interval = {"value": 0.83, "lower": 0.74, "upper": 0.9, "level": 0.9, "kind": "empirical"}
    >>> found = {"labels": 25, "believed": {**interval, "assumes": "public shifts", "effective_labels": 50.2}}
    >>> believed(found)["title"].replace(chr(160), " ")
    'With what public shifts teach, your 25 labels are worth 50'
    """
    known, labels = result.get("believed") or {}, finite(result.get("labels"))
    found, value = best(known), finite(known.get("effective_labels"))
    if not labels:
        return None
    if not found or value is None:
        why = str(known.get("why") or "")
        return {"title": "There is no believed interval", "text": capital(why) + ".", "rests": ""} if why else None
    level, span = percent(found.get("level"), 0), percent_range(found.get("lower"), found.get("upper"), digits(found))
    text = f"If this shift is like those of public data, the model is right on {span} with {level} confidence; "
    text += f"best guess {percent(found['value'], digits(found))}. That is not the exact interval above, which holds "
    text += "under any shift: this one was right as often as it says where it could be checked, and promises no more."
    are = "is" if labels == 1 else "are"
    return {
        "title": f"With what public shifts teach, your {_count(labels)} {are} worth {number(round(value))}",
        "text": text,
        "rests": f"Empirical. Assumes: {known.get('assumes')}.",
    }


def next_command(result: Result) -> dict[str, Any] | None:
    """How many rows to label next and the command that draws them: this one again, with `--suggest`.

    >>> result = {"argv": "oodometer audit r.csv t.csv --labels few.csv --report a.html", "labels": 30,
    ...           "target": {"rows": 500}}
    >>> next_command(result)["line"]
    'oodometer audit r.csv t.csv --labels few.csv --suggest 30 --out next.csv'
    """
    argv = result.get("argv")
    words = [str(part) for part in argv] if isinstance(argv, list | tuple) else _split(argv)
    if result.get("suggested"):
        return None
    kept: list[str] = []
    skip = False
    for word in words:
        if not skip and word.partition("=")[0] not in DROPPED:
            kept.append(word)
        skip = not skip and word in DROPPED
    half, labels = halving(result), int(finite(result.get("labels")) or 0)
    rows = finite((result.get("target") or {}).get("rows")) or MORE
    more = half - labels if half is not None else min(max(labels, MORE), int(rows) - labels)
    if more < 1:
        return None
    line = shlex.join([*kept, "--suggest", str(more), "--out", "next.csv"]) if words else ""
    return {"line": line, "more": more, "half": half is not None}


def _split(argv: Any) -> list[str]:
    try:
        return shlex.split(str(argv or ""))
    except ValueError:
        return []


def context(result: Result) -> dict[str, Any]:
    """Names for the template."""
    found = chosen_first(result)
    for one in found:
        one["reference"] = reference(str(one["citation"])) if one.get("citation") else None
    claim = best(result.get("headline"))
    return {
        "audited": best(result.get("estimate")),
        "claim": claim,
        "promise": promise(result),
        "verdict": verdict(result),
        "power": power(result),
        "worth": worth(result),
        "believed": believed(result),
        "estimates": found,
        "meanings": {name: text.format(proxy=proxy(result)) for name, text in MEANINGS.items()},
        "steps": width_steps(result),
        "next": next_command(result),
        "next_width": _next_width(result),
        "off": _off(result),
        "today": today(result),
    }


def _next_width(result: Result) -> str:
    """The width to expect once the suggested rows are labelled too."""
    count = len(result.get("suggested") or [])
    width = expected(result, (finite(result.get("labels")) or 0) + count) if count else None
    return "" if width is None else points(width)


def _off(result: Result) -> str:
    """How far the label-free estimate lies from that of the labels."""
    found, claim = best(result.get("estimate")), best(result.get("headline"))
    if not found or not claim:
        return ""
    gap = round(claim["value"], 3) - round(found["value"], 3)
    if not round(gap, 3):
        return "the same as the labels say"
    return f"{points(gap)} {'above' if gap > 0 else 'below'} what the labels say"
