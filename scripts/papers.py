"""Write docs/papers.md again: what five papers claim, and what became of it here.

    python scripts/papers.py

All numbers are those of the committed ``results/*.json`` of the recipes; the papers' own, and the words about a paper,
stand in ``page.toml`` of its recipe (``paper_page``, ``paper_says``).
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
from oodometer_lab.recipes.kit.claims import LEVEL, POWER, is_smaller, visible_words
from oodometer_lab.recipes.kit.tables import section

PAGE = Path(__file__).parents[1] / "docs/papers.md"
LONGEST = 200  # letters of what was seen; the README of the recipe has all of it
_LEAD = f"""\
# Five papers, claim by claim

Do the findings of a paper hold when somebody else runs it? Five papers were run again, each [by one
command](guides/reproduce.md). Most of these runs are small: small models on two cores, in about two hours at most. So a
number here need not be the paper's number beside it. What can be compared is what the paper says of its numbers: which
method is better, what rises, what stays. Each such claim was tested. Some claims are not the paper's but ours, and say
so.

- **holds**, **does not hold**: the p-value of the test is at most {LEVEL}, corrected for the number of things that the
  claim speaks of. A star: the verdict also stands when corrected for all claims of that paper (Holm).
- **undecided**: neither, which says nothing against the claim. *Visible* is the smallest effect that the test would
  find with power {POWER} at the errors of this run, in each thing that the claim needs; a run of this size is likely to
  miss a smaller one. To refute a claim about all of several things one of them is enough, so that less may do. A dash:
  no test, or a test whose visible effect is not known.
- **smaller than in the paper**: said of an undecided claim where the same test refutes an effect as large as the
  paper's (p at most {LEVEL}, corrected in the same way). Errors of scoring functions and of estimates are compared as
  ratios, as smaller models err on another scale; shares and ranks as differences. Where nothing is said, the paper has
  no number, the question is not about a size, or an effect as large as the paper's may be there.
- *p* is that of the verdict; of an undecided claim the smaller one of both, *for* it and *against* it. A letter names
  the test, below the table. "7 of 13": of 13 things that were looked at the claim must be true of 7."""
_HEADS = "claim | the paper | here | verdict | p | visible"


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


def is_firm(claim: Mapping[str, Any]) -> bool:
    """Whether a verdict stands among all claims of its paper."""
    return claim["verdict"] != "undecided" and float(claim["p_all"]) <= LEVEL


def p_words(p: float) -> str:
    """A p-value, to three places."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def rows_of(
    claims: Sequence[Mapping[str, Any]], numbers: Mapping[str, str]
) -> tuple[list[list[str]], str]:
    """The table of some claims, and the names of their tests."""
    tests = list(dict.fromkeys(claim["test"] for claim in claims if claim["test"]))
    rows = []
    for claim in claims:
        verdict, p = f"**{claim['verdict']}**" + (r"\*" if is_firm(claim) else ""), "-"
        if claim["test"]:
            side = {"holds": "for", "does not hold": "against"}.get(claim["verdict"])
            side = side or min(("for", "against"), key=lambda side: float(claim[f"p_{side}"]))
            p = p_words(claim[f"p_{side}"]) + (
                f" {side}" if claim["verdict"] == "undecided" else ""
            )
            needed = f", {claim['needed']} of {claim['looks']}" if claim["looks"] > 1 else ""
            p += f" ({chr(ord('a') + tests.index(claim['test']))}{needed})"
        verdict += (
            f", but smaller than in the paper (p {p_words(claim['p_smaller'])})"
            if is_smaller(claim)
            else ""
        )
        cells = [
            claim["claim"],
            says(numbers, claim["name"]),
            shortened(claim["evidence"]),
            verdict,
        ]
        rows.append([*cells, p, visible_words(claim)])
    named = "; ".join(f"({chr(ord('a') + i)}) {test}" for i, test in enumerate(tests))
    return rows, f"Tests: {named}."


def counts(claims: Sequence[Mapping[str, Any]]) -> tuple[list[int], int, int]:
    """How many claims hold, do not, are undecided, and of these smaller than in the paper; how many verdicts are firm;
    how many claims have no test.
    """
    verdicts = [claim["verdict"] for claim in claims]
    by_verdict = [verdicts.count(word) for word in ("holds", "does not hold", "undecided")]
    return (
        [*by_verdict, sum(map(is_smaller, claims))],
        sum(map(is_firm, claims)),
        sum(not c["test"] for c in claims),
    )


def results_of(recipe: Recipe) -> dict[str, list[dict[str, Any]]]:
    """The claims of a recipe by scale, the usual scale first; a first look (``tiny``) is no evidence."""
    files = {
        scale: recipe.home / "results" / f"{scale}.json"
        for scale in recipe.scales
        if scale != "tiny"
    }
    return {
        s: json.loads(f.read_text(encoding="utf-8"))["claims"]
        for s, f in files.items()
        if f.is_file()
    }


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
    words = tomllib.loads((recipe.home / "page.toml").read_text(encoding="utf-8"))
    title, authors = cited(recipe)
    yield f"## {recipe.name.replace('-', ' ').capitalize()}"
    yield f"{authors}, *{title}*. {words['paper_page']['asks']}"
    readme = f"src/oodometer_lab/recipes/{recipe.home.name}/README.md"
    for scale, claims in results_of(recipe).items():
        by_verdict, firm, untested = counts(claims)
        if scale == recipe.scales[0]:
            yield f"```console\n$ oodometer reproduce {recipe.name} --scale {scale}\n```"
            yield "\n".join(
                [
                    "Where this run differs most from the paper's:\n",
                    *(f"- {s}" for s in words["paper_page"]["differs"]),
                ]
            )
        else:
            yield f"**The same at the scale `{scale}`** (`results/{scale}.json`), as far as it was run."
        decided = f"**{sum(by_verdict[:2])} of {len(claims)} claims are decided**, {firm} of them with a star"
        decided += (
            f"; of the others {by_verdict[3]} are smaller than in the paper"
            if by_verdict[3]
            else ""
        )
        decided += f"; without a test: {untested}" if untested else ""
        rows, tests = rows_of(claims, words["paper_says"])
        yield section(f"{decided}.", _HEADS, rows, tests)
    yield f"Tables, what was changed and why: `{readme}`."


def page() -> str:
    """The whole page."""
    parts: list[str] = []
    rows: list[list[str]] = []
    for recipe in map(find_recipe, RECIPES):
        for scale, claims in results_of(recipe).items():
            by_verdict, firm, untested = counts(claims)
            name = f"`{recipe.name}`" + (f", `{scale}`" if scale != recipe.scales[0] else "")
            rows.append([name, *map(str, (len(claims), *by_verdict, firm, untested))])
        parts += part(recipe)
    heads = "paper | claims | hold | do not hold | undecided | of these smaller than in the paper"
    heads += " | verdicts with a star | without a test"
    return "\n\n".join([_LEAD, section("", heads, rows), *parts]) + "\n"


if __name__ == "__main__":
    write_atomic(PAGE, page())
