"""Write the tables of README.md and of the first guide again; scripts/console.py writes the answers that they show.

    python scripts/readme.py

The table of promises follows from the committed results of `benchmarks`, the other is that of `oodometer demo`.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from statistics import fmean

from oodometer.results import percent
from oodometer.verbs.demo import demo

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
DOCUMENTS = ROOT / "README.md", ROOT / "docs/guides/first_steps.md"


def renewed(text: str) -> str:
    """A document with today's table where it has one."""
    for name, table in (("promise", promises), ("demo", drift)):
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        text = before + begin + table() + rest[rest.index(f"<!-- /{name} -->") :] if begin else text
    return text


def drift() -> str:
    """The table that `oodometer demo` prints."""
    rows = [
        "| severity | drift | estimate | interval | truth | trust |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for step in demo(folder).steps:
            head, truth = step.estimation.headline, step.estimation.target["accuracy"]["value"]
            value, lower, upper = map(
                percent, (head.interval.value, head.interval.lower, head.interval.upper)
            )
            cells = (
                str(step.severity),
                step.name,
                value,
                f"[{lower}, {upper}]",
                percent(truth),
                head.trust,
            )
            rows.append(f"| {' | '.join(cells)} |")
    return "".join(f"{row}\n" for row in rows)


def cells(page: str, first: str, table: int = 0) -> list[str]:
    """The cells of a line in a table of results, by its first cell; ``table``: of the how-manieth with such a line."""
    lines = (RESULTS / f"{page}.md").read_text(encoding="utf-8").splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith(f"| {first} |")][
        table
    ]


MOVED = 0.03  # of accuracy, from which on a rise or a fall is called one


def _by_direction() -> list[tuple[str, ...]]:
    """Lines of the natural cases in which the accuracy rose, and in which it fell."""
    cases = json.loads((RESULTS / "natural.json").read_text(encoding="utf-8"))["cases"]
    lines = []
    for word, sign in (("rises", 1), ("falls", -1)):
        some = [one for one in cases if sign * (one["truth"] - one["reference"]) >= MOVED]
        low, high = (100 * fmean(one["headline"][end] for one in some) for end in (1, 2))
        held = fmean(one["headline"][1] <= one["truth"] <= one["headline"][2] for one in some)
        error = 100 * fmean(abs(one["headline"][0] - one["truth"]) for one in some)
        im = [abs(one["estimates"]["im"][0] - one["truth"]) for one in some if "im" in one["estimates"]]  # fmt: skip
        beside = f"{100 * fmean(im):.2f}: `im`" if len(im) == len(some) else ""
        what = f"{len(some):,} {word} by {100 * MOVED:.0f} points or more"
        share = f"{100 * held:.0f}%" if held >= 0.85 else f"**{100 * held:.0f}%**"
        lines.append((what, share, f"{high - low:.1f}", f"{error:.2f}", beside))
    return lines


def promises() -> str:
    """The table: question by question, how often the interval held the truth, its width, the error, that of others."""
    natural, held = (cells("natural", "the first three together", table) for table in (0, 1))
    same, same_held = (
        cells("natural", "same", table) for table in (1, 2)
    )  # its first line says what it is
    by_source = (
        (RESULTS / "prior.md")
        .read_text(encoding="utf-8")
        .partition("## Source by source")[2]
        .split("\n\n")[1]
    )
    names, _, *lines = (line.strip("| ").split(" | ") for line in by_source.splitlines())
    sources = [dict(zip(names, line, strict=True)) for line in lines]
    worst = min(sources, key=lambda row: int(row["coverage"].rstrip("%")))
    quality = (RESULTS / "quality.md").read_text(encoding="utf-8")
    (simulated,) = re.findall(r"best fixed method's \| (\S+) / (\S+) \((\w+)\)", quality)
    (group,) = re.findall(r"subgroup 0.1: error [^|]*\| ([\d.]+), (\w+) ([\d.]+)", quality)
    loans, ten = cells("deployed", "accuracy"), cells("labels", "natural shifts")
    seconds = [
        cells("deployed", first)[1]
        for first in ("ours, six metrics", "NannyML, CBPE alone, six metrics")
    ]
    months = json.loads((RESULTS / "deployed.json").read_text(encoding="utf-8"))["ours"]
    ends = [100 * (one["accuracy"]["upper"] - one["accuracy"]["lower"]) for one in months]
    suites, further, bound = (
        cells("rank_suites", "all made suites"),
        cells("rank_suites", "kind more"),
        cells("rank_suites", "all made suites | ten labels"),
    )
    rows = [
        ("question", "truth in 90 % intervals", "mean width", "error, points", "beside"),
        ("---", "---:", "---:", "---:", "---"),
        (f"accuracy, {int(natural[1]):,} natural shifts", held[2], held[6], natural[3],
         f"{natural[4]}: best other (`im`)"),
        *_by_direction(),
        (f"the worst of {len(sources)} sources (`{worst['source']}`)", f"**{worst['coverage']}**", worst["width"],
         worst["error"], ""),
        (f"{same[1]} times without a shift", same_held[2], same_held[6], same[3], f"{same[4]}: `im`"),
        ("real outputs, simulated shifts", "", "", simulated[0], f"{simulated[1]}: best other (`{simulated[2]}`)"),
        ("of these, subgroups re-weighted", "", "", group[0], f"**{group[2]}**: `{group[1]}`"),
        ("car loans, NannyML's own data", f"{loans[5]} (95%)", f"{sum(ends) / len(ends):.1f}", loans[1],
         f"**{loans[3]}**: NannyML's CBPE"),
        ("the same, seconds, six metrics", "", "", f"{seconds[0]} s", f"{seconds[1]} s: NannyML's CBPE"),
        ("accuracy with 10 labels", ten[3], ten[6], ten[11], f"as narrow as {ten[8]} labels alone"),
        *((f"order of models, 10 labels, {some[1]} {what}", "", "", f"{some[3].partition(' ')[0]}% of pairs right",
           f"{some[2].partition(',')[0]}%: counting right answers")
          for some, what in ((suites, "suites"), (further, "further suites"))),
        ("what picking the first costs", f"{bound[2]}%", "", "", ""),
    ]  # fmt: skip
    return re.sub(r"(\d)%", r"\1 %", "".join(f"| {' | '.join(row)} |\n" for row in rows))


if __name__ == "__main__":
    for path in DOCUMENTS:
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
