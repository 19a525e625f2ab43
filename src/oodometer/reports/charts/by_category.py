"""Charts by category: methods, audits, files, classes, slices, judges and models, each a dot with its interval."""

from __future__ import annotations

from typing import Any

from ..numbers import basename, best, finite, number, percent, percent_range, points, short
from ..words import difference, measured
from .base import (
    ACCENT,
    INK,
    QUIET,
    REFERENCE,
    RIGHT,
    ROW_HEIGHT,
    TRUTH,
    Figure,
    Plot,
    Result,
    Spec,
    axis,
    categories,
    entry,
    names_axis,
    unique,
)

_MOST = 25  # classes, slices
_MOST_FILES = 30  # files, models
_MOST_JUDGES = 8  # alone

# ------------------------------------------------------------------------------------------ methods


def is_headline(estimate: Result, headline: Result) -> bool:
    """Whether this estimate is the one that became the headline.

    >>> is_headline({"method": "atc", "value": 0.8}, {"method": "atc", "value": 0.8})
    True
    """
    same = estimate.get("method") == headline.get("method") and estimate.get("value") == headline.get("value")
    return bool(same)


def with_headline(result: Result) -> list[dict[str, Any]]:
    """Estimates from the highest to the lowest; before them the headline where it is made from several of them."""
    estimates = [one for estimate in result.get("estimates") or [] if (one := best(estimate))]
    estimates.sort(key=lambda one: -float(one["value"]))
    headline = best(result.get("headline"))
    if headline and not any(is_headline(one, headline) for one in estimates):
        return [{"score": headline.get("method"), **headline, "method": "headline"}, *estimates]
    return estimates


def methods(result: Result) -> Figure | None:
    """The estimate of every method, the headline in colour, beside the reference accuracy and the truth.

    The title says so where the interval of the estimate cannot tell it from the reference.
    """
    estimates, headline = with_headline(result), best(result.get("headline"))
    if not estimates:
        return None
    several = [str(one.get("method")) for one in estimates]
    names = []
    for one in estimates:  # with its score where a method stands in the chart more than once
        method = str(one.get("method") or "estimate")
        scored = several.count(str(one.get("method"))) > 1 and one.get("score")
        names.append(f"{method} ({one['score']})" if scored else method)
    rows = []
    for name, one in zip(unique(names), estimates, strict=True):
        shown = headline and (one.get("method") == "headline" or is_headline(one, headline))
        rows.append(entry(name, one, color=ACCENT if shown else QUIET, assumes=one.get("assumes") or ""))
    accuracy = (result.get("reference") or {}).get("accuracy")
    truth = best((result.get("target") or {}).get("accuracy")).get("value")
    title = "What each method says"
    if headline:
        gap = difference(headline["value"], accuracy, "the reference")
        low, high = finite(headline.get("lower")), finite(headline.get("upper"))
        inside = low is not None and high is not None and gap and low <= (finite(accuracy) or 0) <= high
        title = f"Estimated accuracy is {percent(headline['value'])}" + (f" \N{EM DASH} {gap}" if gap else "")
        if inside and not gap.startswith("the same"):
            title += ", a difference within the range of the estimate"
    values = [one["value"] for estimate in result.get("estimates") or [] if (one := best(estimate))]
    caption = "The dot is the estimate, the bar its interval."
    if len(values) > 1:
        caption = f"{len(values)} methods answer between {percent(min(values))} and {percent(max(values))}. Each rests "
        caption += "on an assumption of its own, so the spread between them often says more than one bar."
    lines = [("reference", accuracy, REFERENCE, True), ("truth", truth, TRUTH, False)]
    return categories("methods", title, caption, rows, axis_title="accuracy on the target", lines=lines)


# ------------------------------------------------------------------------------------------ audits


def chosen_first(result: Result) -> list[dict[str, Any]]:
    """The intervals from labels, the one that the page prints before the others.

    >>> chosen_first({"method": "b", "intervals": [{"method": "a", "value": 0.5}, {"method": "b", "value": 0.6}]})[0]
    {'method': 'b', 'value': 0.6}
    """
    intervals = [one for each in result.get("intervals") or [] if (one := best(each))]
    return sorted(intervals, key=lambda one: one.get("method") != result.get("method"))


def audited(result: Result) -> Figure | None:
    """Every interval that the labels allow, over the band of the label-free estimate."""
    intervals, claim = chosen_first(result), best(result.get("headline"))
    if not intervals:
        return None
    rows = []
    for name, one in zip(unique(one.get("method") for one in intervals), intervals, strict=True):
        color = ACCENT if one.get("method") == result.get("method") else QUIET
        rows.append(entry(name, one, color=color, assumes=one.get("assumes") or ""))
    if claim:
        rows.append(entry("without labels", claim, assumes=claim.get("assumes") or ""))
    known = best(result.get("estimate"))
    title = "What the labels say"
    if known:
        title = f"The labels allow {percent_range(known.get('lower'), known.get('upper'))}"
        if known.get("lower") == known.get("upper"):
            title = f"Every row has a label: {percent(known['value'])} is certain"
        title += f"; without labels the estimate was {percent(claim['value'])}" if claim else ""
    caption = "In colour the interval of this audit. It was chosen from the predictions and the number of labels, "
    caption += "never from a label, so that the choice costs no coverage."
    caption += " The shaded band is what was claimed without labels." if claim else ""
    lines = [("reference", (result.get("reference") or {}).get("accuracy"), REFERENCE, True)]
    shaded = (claim.get("lower"), claim.get("upper"))
    return categories("audited", title, caption, rows, axis_title="accuracy on the target", lines=lines, shaded=shaded)


# ------------------------------------------------------------------------------------------ labelled files


def _accuracy(one: Result) -> dict[str, Any]:
    return best((one.get("metrics") or {}).get("accuracy"))


def best_files_first(result: Result) -> list[dict[str, Any]]:
    """Files from the highest accuracy to the lowest; those without one come last."""
    return sorted(
        (dict(one) for one in result.get("files") or []), key=lambda one: -float(_accuracy(one).get("value", -1))
    )


def files(result: Result) -> Figure | None:
    """The accuracy of several labelled files side by side, the best first."""
    shown = [one for one in best_files_first(result) if _accuracy(one)][:_MOST_FILES]
    if not shown:
        return None
    names = unique(basename(one.get("name")) for one in shown)
    rows = [
        entry(name, _accuracy(one), color=ACCENT if index == 0 else QUIET, rows=number(one.get("rows")))
        for index, (name, one) in enumerate(zip(names, shown, strict=True))
    ]
    title = f"Highest accuracy: {names[0]}, {percent(_accuracy(shown[0])['value'])}"
    second = _accuracy(shown[1]) if len(shown) > 1 else {}
    if second and second.get("upper", 1) >= _accuracy(shown[0]).get("lower", 0):
        title += "; the range of the next one overlaps"
    return categories("files", title, "Accuracy of each file with its interval.", rows, axis_title="accuracy")


def worst_classes(result: Result) -> tuple[str | None, list[dict[str, Any]]]:
    """The measure that the chart of classes shows, and classes that have it from the lowest to the highest.

    Each class has the measure as ``shown``, an interval; a bare number becomes one without ends.
    """

    def interval(one: Result, name: str) -> dict[str, Any]:
        return {"value": one.get(name)} if finite(one.get(name)) is not None else best(one.get(name))

    classes = [dict(one) for one in result.get("per_class") or []]
    for name in ("recall", "accuracy", "f1", "precision"):
        having = [{**one, "shown": shown} for one in classes if (shown := interval(one, name))]
        if having:
            return name, sorted(having, key=lambda one: float(one["shown"]["value"]))
    return None, []


def per_class(result: Result) -> Figure | None:
    """The worst classes beside the accuracy of all rows."""
    name, classes = worst_classes(result)
    if name is None:
        return None
    some = classes[:_MOST]
    overall = _accuracy(result).get("value")
    labels = unique(one.get("class") for one in some)
    rows = []
    for label, one in zip(labels, some, strict=True):
        count = next((one[key] for key in ("rows", "support") if one.get(key) is not None), None)
        below = overall is not None and (finite(one["shown"].get("upper")) or 1) < overall
        more = {"rows": number(count)} if count else {}
        rows.append(entry(label, one["shown"], color=ACCENT if below else QUIET, **more))
    title = f"Weakest class: {labels[0]}, {name} {percent(some[0]['shown']['value'])}"
    caption = f"The {len(some)} weakest of {len(classes)} classes" if len(some) < len(classes) else "All classes"
    caption += ", the weakest first; in colour where the whole interval lies below the accuracy of all rows."
    lines = [("all rows", overall, ACCENT, False)]
    return categories("per-class", title, caption, rows, axis_title=name, lines=lines)


def worst_slices(result: Result) -> list[dict[str, Any]]:
    """Slices that have an estimate, from the lowest to the highest."""
    having = [dict(one) for one in result.get("slices") or [] if best(one.get("headline"))]
    return sorted(having, key=lambda one: float(one["headline"]["value"]))


def slices(result: Result) -> Figure | None:
    """The worst slices, in colour where the whole interval lies below the number of all rows."""
    every = worst_slices(result)
    if not every:
        return None
    some = every[:_MOST]
    whole = best(result.get("headline")).get("value")
    rows = []
    for name, one in zip(unique(one.get("value") for one in some), some, strict=True):
        below = whole is not None and (one["headline"].get("upper") or 1) < whole
        more = {"rows": number(one["rows"])} if one.get("rows") is not None else {}
        rows.append(entry(name, one["headline"], color=ACCENT if below else QUIET, **more))
    worst = every[0]["headline"]["value"]
    gap = difference(worst, whole, "all rows together")
    title = f"Weakest slice: {short(every[0].get('value'))}, "
    title += f"{'' if result.get('command') == 'evaluate' else 'about '}{percent(worst)}"
    title += f" \N{EM DASH} {gap}" if gap else ""
    by = next(
        (str(one["by"]) for one in result.get("slices") or [] if best(one.get("headline")) and one.get("by")), "slice"
    )
    caption = f"All {len(every)} slices" if len(every) > 1 else "One slice"
    caption = f"The {len(some)} weakest of {len(every)} slices" if len(some) < len(every) else caption
    caption += f" by {by}, the weakest first; in colour where the whole interval lies below the {measured(result)} of "
    caption += "all rows."
    reference = (result.get("reference") or {}).get("accuracy")
    lines = [("reference", reference, REFERENCE, True), ("all rows", whole, ACCENT, False)]
    return categories("slices", title, caption, rows, axis_title=measured(result), lines=lines)


# ------------------------------------------------------------------------------------------ judges


def agreement(agree: Any, judges: Any) -> str:
    """A k of k-of-n voting in words.

    >>> agreement(5, 5), agreement(3, 5), agreement(1, 1)
    ('all 5 agree', '3 of 5 agree', 'the one judge')
    """
    if judges == 1:
        return "the one judge"
    return f"all {judges} agree" if agree == judges else f"{agree} of {judges} agree"


def panel(result: Result) -> dict[str, Any] | None:
    """What an estimate or an evaluation says of judges, in one form; None where it says nothing.

    judges, agree : their number, and how many had to agree. bounds : agree, lower, upper (fractions), inside. ladder :
    at_least and share (an interval). alone : the share that each judge accepts, intervals. truth : an accuracy.
    reference : how the judges did where labels are known.
    """
    table = result.get("votes") or {}
    if table.get("bounds"):
        ends = [{end: best(one.get(end)).get("value") for end in ("lower", "upper")} for one in table["bounds"]]
        return {
            "judges": table.get("judges"),
            "agree": table.get("judges"),
            "bounds": [
                {"agree": one.get("agree"), "inside": one.get("inside"), **each}
                for one, each in zip(table["bounds"], ends, strict=True)
            ],
            "ladder": [{"at_least": o.get("at_least"), "share": o.get("accepted")} for o in table.get("ladder") or []],
            "alone": [(str(one.get("judge")), best(one.get("accepted"))) for one in table.get("by_judge") or []],
            "truth": best(table.get("accuracy")).get("value"),
            "reference": None,
        }
    for one in result.get("estimates") or []:
        details = one.get("details") or {}
        if str(one.get("method")).partition(":")[0] == "votes" and details.get("bounds"):
            return {
                "judges": details.get("judges"),
                "agree": details.get("agree"),
                "bounds": [dict(bound) for bound in details["bounds"]],
                "ladder": [{"at_least": step.get("at_least"), "share": step} for step in details.get("ladder") or []],
                "alone": [(str(j + 1), best(judge)) for j, judge in enumerate(details.get("by_judge") or [])],
                "truth": best((result.get("target") or {}).get("accuracy")).get("value"),
                "reference": details.get("reference"),
            }
    return None


def votes(result: Result) -> Figure | None:
    """Bars from lower to upper bound by how many judges must agree, and a dot for each judge alone."""
    told = panel(result)
    if told is None:
        return None
    rows, one_judge = [], told["judges"] == 1
    for one in told["bounds"]:
        low, high = finite(one.get("lower")), finite(one.get("upper"))
        if low is None or high is None:
            continue
        if one_judge and told["alone"]:
            rows.append(entry(agreement(1, 1), told["alone"][0][1], color=ACCENT))
            break
        name, middle = agreement(one["agree"], told["judges"]), (low + high) / 2
        color = ACCENT if one["agree"] == told["agree"] else QUIET
        tip = {"": name, "bounds": percent_range(low, high), "mean": percent(middle), "width": points(high - low)}
        rows.append({**entry(name, {"value": middle, "lower": low, "upper": high}, color=color), "tip": tip})
    if not rows:
        return None
    some = [] if one_judge else [(name, one) for name, one in told["alone"] if one][:_MOST_JUDGES]
    rows += [entry(name, one) for name, (_, one) in zip(unique(f"judge {n} alone" for n, _ in some), some, strict=True)]
    caption = "One judge gives one number and no bounds: what it accepts and what it rejects wrongly may cancel out, "
    caption += "or not. The bar covers chance in the rows. Let several judges vote."
    if not one_judge:
        caption = "Where k judges must agree, the bar runs from the share of outputs that at least k accept to the "
        caption += "share that fewer than k reject; the dot is its middle. The smaller k, the tighter the bounds, and "
        caption += "the less they may be relied on. Judges that fail alike put the truth outside, however many there "
        caption += "are."
        seen = told["reference"]
        if seen and finite(seen.get("accuracy")) is not None:
            where = "within" if seen.get("inside") else "outside"
            span = percent_range(seen.get("lower_bound"), seen.get("upper_bound"))
            caption += f" On the reference the accuracy, {percent(seen['accuracy'])}, lay {where} their bounds, {span}."
    evaluated = bool((result.get("votes") or {}).get("bounds"))
    reference = None if evaluated else (result.get("reference") or {}).get("accuracy")
    lines = [("reference", reference, REFERENCE, True), ("truth", told["truth"], TRUTH, False)]
    title = votes_title(told)
    return categories("votes", title, caption, rows, axis_title="share of the outputs accepted", lines=lines)


def votes_title(told: Result) -> str:
    """The bounds of a `panel`, and whether the truth lies within them where it is known."""
    truth = finite(told["truth"])
    if told["judges"] == 1:
        alone = percent(told["alone"][0][1].get("value")) if told["alone"] else ""
        known = f"; the accuracy is {percent(truth)}" if truth is not None else ""
        return f"The judge accepts {alone} of the outputs{known}"
    widest = told["bounds"][0]
    low, high = finite(widest.get("lower")), finite(widest.get("upper"))
    span = percent_range(low, high)
    if truth is None or low is None or high is None:
        return f"The judges accept {span} of the outputs: all of them agree on the lower, any one on the upper"
    inside = widest.get("inside")
    inside = low <= truth <= high if inside is None else inside
    return f"The accuracy, {percent(truth)}, lies {'within' if inside else 'outside'} the judges' bounds, {span}"


# ------------------------------------------------------------------------------------------ models on a few labels


def ranked_models(result: Result, most: int = _MOST_FILES) -> list[dict[str, Any]]:
    """Rows of the ranking with a name each that is short and unique, as ``short``."""
    rows = [dict(one) for one in result.get("ranking") or []]
    names = unique(str(one.get("model")) for one in rows)
    return [{**row, "short": name} for row, name in zip(rows, names, strict=True)][:most]


def likeliest(result: Result) -> dict[str, Any]:
    """The row of the model that is most likely the best; a combined order may put another one first.

    >>> likeliest({"ranking": [{"model": "a", "p_best": 0.2}, {"model": "b", "p_best": 0.8}]})["short"]
    'b'
    """
    return max(ranked_models(result, len(result["ranking"])), key=lambda row: finite(row.get("p_best")) or 0.0)


def shots(result: Result) -> Figure | None:
    """The accuracy of each model on the labelled rows with its exact interval, in the order of the ranking."""
    some = ranked_models(result)
    shown = [(row, one) for row in some if (one := best((row.get("evidence") or {}).get("accuracy")))]
    if not shown:
        return None
    many = int(result.get("labelled") or 0) - int(result.get("chosen") or 0)  # those that were drawn at random
    rows = []
    for index, (row, accuracy) in enumerate(shown):
        right = f"{number(row['evidence'].get('right'))} of {number(many)}"
        rows.append(entry(row["short"], accuracy, color=ACCENT if index == 0 else QUIET, right=right))
    title = f"On {number(many)} label{'' if many == 1 else 's'} alone, "
    lows = [finite(one.get("lower")) or 0.0 for _, one in shown]
    if max(lows) <= min(finite(one.get("upper")) or 1.0 for _, one in shown):
        title += "the ranges of all models overlap"
    else:
        top, accuracy = max(shown, key=lambda pair: float(pair[1]["value"]))
        title += f"{top['short']} is ahead: {percent(accuracy['value'], 0)}"
    caption = f"Share of the labelled rows that a model gets right, with its exact {percent(result.get('level'), 0)} "
    caption += "interval. Models answer the same rows, so that their order can be surer than the overlap of these "
    caption += "ranges suggests: see the pairs."
    return categories("shots", title, caption, rows, axis_title="accuracy on the labelled rows")


def best_chances(result: Result) -> Figure | None:
    """The probability of each model to be the most accurate of all, as bars, in the order of the ranking."""
    first = likeliest(result)["model"] if result.get("ranking") else None
    rows = []
    for row in ranked_models(result):
        if (chance := finite(row.get("p_best"))) is not None:
            tip = {"": row["short"], "P(best)": percent(chance)}
            color = ACCENT if row["model"] == first else QUIET
            rows.append(
                {"name": row["short"], "value": chance, "color": color, "label": percent(chance, 0), "tip": tip}
            )
    if not rows:
        return None
    look: Spec = {"values": [0, 0.25, 0.5, 0.75, 1], "labelExpr": "datum.value * 100 + ' %'"}
    plot = Plot(axis([0, 1], title="probability of being the best", **look), names_axis())
    bar = {"height": 16, "cornerRadiusEnd": 4}
    plot.draw("bar", rows, bar, x="value", y="name", color="color", tooltip="tip")
    plot.draw("text", rows, {"align": "left", "dx": 10, "color": INK}, x=RIGHT, y="name", text="label")
    caption = "From the labelled rows and from how often the models disagree on the rows without labels. The bars add "
    caption += "up to 100 %; equal bars mean that the labels do not tell."
    return plot.figure("best-chances", chances_title(result), caption, height=ROW_HEIGHT * len(rows))


def chances_title(result: Result) -> str:
    """Which model is most likely the best.

    >>> ranking = [{"model": "a", "p_best": 0.8}, {"model": "b", "p_best": 0.2}]
    >>> chances_title({"ranking": ranking}).replace(chr(160), " ")
    'a is the best with a probability of 80 %'
    """
    if result.get("open"):
        return "The labels favour no model"
    first = likeliest(result)
    return f"{first['short']} is the best with a probability of {percent(first.get('p_best'), 0)}"
