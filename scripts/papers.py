"""Write docs/papers.md again: what five papers claim, and what became of it here.

    python scripts/papers.py

All numbers are those of the committed ``results/*.json`` of the recipes; the papers' own, and the words about a paper,
stand in ``page.toml`` of its recipe: ``paper_page``, its sentences (``paper_sentences``), effects
and numbers (``paper_effects``, ``paper_says``), and what the verdicts were before the rule (``verdicts_before``).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oodometer.citations import bibtex
from oodometer.store import write_atomic
from oodometer_lab.recipes import RECIPES, Recipe, find_recipe
from oodometer_lab.recipes.kit.claims import LEVEL, POWER, p_words
from oodometer_lab.recipes.kit.tables import Page, section

PAGE = Path(__file__).parents[1] / "docs/papers.md"
LONGEST = 200  # letters of what was seen; the README of the recipe has all of it
_LEAD = f"""\
# Five papers, claim by claim

Do the findings of a paper hold when somebody else runs it? Five papers were run again, each [by one
command](guides/reproduce.md). Most of these runs are small: small models on two cores, in about two hours at most. So a
number here need not be the paper's number beside it. What can be compared is what the paper says of its numbers: which
method is better, what rises, what stays. Each such claim was tested by the rule below, which was written before it was
applied to the numbers, and stands in one place for all five. Some claims are not the paper's but ours, and say so.

## The rule

- **The quantity is that of the paper's sentence.** A sentence about several things together is about their *mean*, each
  thing with the same weight. One that counts ("most", "9 of 10") is about a *count*: of enough of them it is true,
  corrected for how many were looked at (partial conjunction, Benjamini and Heller, 2008). That something *occurs* is
  about any one of them, a place or a line ("first", "at every step") about *all*. Beside the quantity stands on how
  many of the things the effect had the claim's sign: "seen on 4 of 5".
- **Two-sided.** *p* is twice the smaller tail; a verdict takes p of at most {LEVEL}: **holds** or **does not hold**, as
  the side says, else **undecided**. So a claim without any effect gets a verdict in at most one run of twenty. A star:
  the verdict also stands when corrected for all claims of that paper (Holm).
- **Units are what would be drawn anew**: trainings, tasks, suites of models. Rows, images and conversations add their
  error. Alone they decide only what is said of given models, such as that two measures rank them differently. Data sets
  of one task share their trainings: they are one unit. Draws from one sample are none.
- **Few units: t, never z.** The t test has the degrees of freedom of the units. Where a claim counts things of three
  trainings each, the variances between trainings are pooled over the things. Tasks are no repeats of each other, so
  that a mean over tasks is tested by sign flips, which are exact; of fewer than six tasks they decide nothing.
- **Smaller than in the paper**: said of an undecided claim where the same test of the same quantity refutes, at the
  same level, an effect as large as the paper's. Errors of scoring functions and of estimates are compared as ratios, as
  smaller models err on another scale; shares and ranks as differences. Where nothing is said, the paper has no number,
  the question is not about a size, or an effect as large as the paper's may be there.
- **Not comparable**: what stands here in the place of the paper's models, data or measurements cannot bear on its
  sentence, whatever the numbers are. The reason stands under "here"; there is no test.
- *Visible*, of an undecided claim: the smallest effect that the test would find with power {POWER} at the errors of
  this run (of a count: in each thing that it needs). A run of this size is likely to miss a smaller one. A dash: there
  is no test, or one whose visible effect is not known."""
_HEADS = (
    "claim | the paper's sentence | quantity; drawn anew | the paper | here | verdict | p | visible"
)
_CHANGED = """\
## Before the rule

Each claim was once tested on all of its things, one-sided, over rows, draws or sets where these were many. These
verdicts are others by the rule; where several claims are one sentence of the paper, they are one claim now."""


def says(numbers: Mapping[str, str], name: str) -> str:
    """The paper's number for a claim: that of its name, or of the longest part at its start or end; else a dash."""
    parts = (
        key
        for key in numbers
        if name == key or name.startswith(f"{key}_") or name.endswith(f"_{key}")
    )
    return numbers.get(max(parts, key=len, default=""), "-")


def shortened(text: str) -> str:
    """A text, cut at the end of a part where it is long."""
    if len(text) <= LONGEST:
        return text
    cuts = [text.rfind(mark, LONGEST // 2, LONGEST) for mark in ("; ", ", ", " ")]
    return f"{text[: next((cut for cut in cuts if cut > 0), LONGEST)]} ..."


def is_smaller(claim: Mapping[str, Any]) -> bool:
    """Whether an undecided claim's effect was shown to be smaller than the paper's."""
    return bool(claim.get("p_smaller", 1.0) <= LEVEL)


def is_firm(claim: Mapping[str, Any]) -> bool:
    """Whether a claim is decided, also among all claims of its paper."""
    return claim["verdict"] in ("holds", "does not hold") and float(claim["p_all"]) <= LEVEL


def with_unit(claim: Mapping[str, Any], key: str) -> str:
    """A number of a claim with its unit; a dash where there is none."""
    return "-" if claim.get(key) is None else f"{claim[key]:g} {claim['unit']}".rstrip()


def quantity_words(claim: Mapping[str, Any]) -> str:
    """What a claim is about, and what would be drawn anew."""
    count, quantity = claim["seen"][1], claim["quantity"]
    if quantity == "mean":
        words = f"mean over {count}" if count > 1 else "one effect"
    else:
        words = f"{count // 2 + 1 if quantity == 'most' else quantity} of {count}"
    return f"{words}; {claim['drawn']}"


def effect_words(claim: Mapping[str, Any]) -> str:
    """The mean of a claim with its unit, and on how many of its things the effect has the claim's sign."""
    positive, count = claim["seen"]
    words = [with_unit(claim, "effect")] if claim["effect"] is not None else []
    if count > 1:
        words.append(f"seen on {positive} of {count}")
    return "; ".join(words)


def verdict_words(claim: Mapping[str, Any]) -> str:
    """The verdict of a claim, its star, and whether its effect is smaller than the paper's."""
    words = f"**{claim['verdict']}**" + r"\*" * is_firm(claim)
    if is_smaller(claim):
        words += f", but smaller than in the paper (p {p_words(claim['p_smaller'])})"
    return words


def rows_of(
    claims: Sequence[Mapping[str, Any]], words: Mapping[str, Mapping[str, str]]
) -> tuple[list[list[str]], str]:
    """The table of some claims, and the names of their tests."""
    tests, rows = list(dict.fromkeys(claim["test"] for claim in claims if claim["test"])), []
    for claim in claims:
        p = (
            f"{p_words(claim['p'])} ({chr(ord('a') + tests.index(claim['test']))})"
            if claim["test"]
            else "-"
        )
        sentence = says(words["paper_sentences"], claim["name"])
        rows.append(
            [
                claim["claim"],
                sentence if sentence.startswith(("none", "ours")) else f'"{sentence}"',
                quantity_words(claim),
                "; ".join(
                    text
                    for key in ("paper_effects", "paper_says")
                    if (text := says(words[key], claim["name"])) != "-"
                ),
                ". ".join(filter(None, (effect_words(claim), shortened(claim["evidence"])))),
                verdict_words(claim),
                p,
                with_unit(claim, "visible"),
            ]
        )
    named = "; ".join(f"({chr(ord('a') + i)}) {test}" for i, test in enumerate(tests))
    return rows, f"Tests: {named}."


def counts(claims: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many claims have each verdict, are smaller than in the paper, firm, and without a test though comparable."""
    verdicts = [claim["verdict"] for claim in claims]
    words = ("holds", "does not hold", "undecided", "not comparable")
    untested = sum(c["test"] is None and c["verdict"] == "undecided" for c in claims)
    return {
        **{word: verdicts.count(word) for word in words},
        "smaller": sum(map(is_smaller, claims)),
        "firm": sum(map(is_firm, claims)),
        "untested": untested,
    }


def results_of(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """The results of a recipe by scale, the usual scale first; a first look (``tiny``) is no evidence."""
    files = {
        scale: recipe.home / "results" / f"{scale}.json"
        for scale in recipe.scales
        if scale != "tiny"
    }
    return {s: json.loads(f.read_text(encoding="utf-8")) for s, f in files.items() if f.is_file()}


def words_of(recipe: Recipe) -> dict[str, Any]:
    """What ``page.toml`` of a recipe says."""
    return tomllib.loads((recipe.home / "page.toml").read_text(encoding="utf-8"))


def cited(recipe: Recipe) -> tuple[str, str]:
    """Title of a paper, and its authors with the year."""
    entry = bibtex(recipe.citation)
    title, authors, year = (
        re.sub(r"[{}]", "", re.search(rf"\b{field} = \{{(.*)\}}", entry)[1])  # type: ignore[index]
        for field in ("title", "author", "year")
    )
    names = [name.partition(",")[0] for name in authors.split(" and ")]
    return title, f"{', '.join(names[:-1])} and {names[-1]} ({year})"


def part(recipe: Recipe) -> Iterator[str]:
    """What is said of a paper: its head, and a table for each scale."""
    words = words_of(recipe)
    title, authors = cited(recipe)
    yield f"## {recipe.name.replace('-', ' ').capitalize()}"
    yield f"{authors}, *{title}*. {words['paper_page']['asks']}"
    readme = f"src/oodometer_lab/recipes/{recipe.home.name}/README.md"
    for scale, result in results_of(recipe).items():
        claims = result["claims"]
        if scale == recipe.scales[0]:
            yield f"```console\n$ oodometer reproduce {recipe.name} --scale {scale}\n```"
            yield "\n".join(
                [
                    "Where this run differs most from the paper's:\n",
                    *(f"- {s}" for s in words["paper_page"]["differs"]),
                ]
            )
        else:
            older = ""
            if result["form"] != recipe.form:
                older = Page({}).fill(words["page"]["older"], {**result, "today": recipe.form})
            yield f"**The same at the scale `{scale}`** (`results/{scale}.json`), as far as it was run.{older}"
        rows, tests = rows_of(claims, words)
        yield section(f"{decided(claims)}.", _HEADS, rows, tests)
    yield f"Tables, what was changed and why: `{readme}`."


def decided(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many claims are decided, in words."""
    number = counts(claims)
    text = f"**{number['holds'] + number['does not hold']} of {len(claims)} claims are decided**, "
    text += f"{number['firm']} of them with a star"
    if number["smaller"]:
        text += f"; of the others {number['smaller']} are smaller than in the paper"
    if number["not comparable"]:
        text += f"; not comparable: {number['not comparable']}"
    return text + (f"; without a test: {number['untested']}" if number["untested"] else "")


def changed() -> Iterator[list[str]]:
    """Verdicts that were others before the rule."""
    for recipe in map(find_recipe, RECIPES):
        before = words_of(recipe)["verdicts_before"]
        for scale, result in results_of(recipe).items():
            name = f"`{recipe.name}`" + (f", `{scale}`" if scale != recipe.scales[0] else "")
            for claim in result["claims"]:
                old = before[scale].get(claim["name"], "not asked")
                new = claim["verdict"] + ", smaller" * is_smaller(claim)
                if old != new:
                    yield [name, claim["claim"], old, new]


def page() -> str:
    """The whole page."""
    parts: list[str] = []
    rows: list[list[str]] = []
    for recipe in map(find_recipe, RECIPES):
        for scale, result in results_of(recipe).items():
            claims = result["claims"]
            name = f"`{recipe.name}`" + (f", `{scale}`" if scale != recipe.scales[0] else "")
            rows.append([name, *map(str, (len(claims), *counts(claims).values()))])
        parts += part(recipe)
    heads = "paper | claims | hold | do not hold | undecided | not comparable"
    heads += " | undecided, smaller than in the paper | verdicts with a star | without a test"
    old = section(_CHANGED, "paper | claim | before | by the rule", changed())
    return "\n\n".join([_LEAD, section("", heads, rows), *parts, old]) + "\n"


if __name__ == "__main__":
    write_atomic(PAGE, page())
