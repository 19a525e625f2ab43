"""New groups: how far the groups of the reference sharpen what is said of one that it lacks; own_history_groups.md.

python -m benchmarks.temporal.groups [--page]

Groups of a source (`grouped`) are shuffled; models are trained on the first third of them, the reference are labelled
rows of the next 5 or 10, and the targets are each of up to 12 further groups, in one call of `estimate` with `by`.
Sources of few groups are shuffled twice. All means are over sources, of means over models; intervals are of
90 %, and the interval score is their width and 20 times what they miss by.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import kit
from benchmarks.temporal.grouped import GROUPED, Grouped
from benchmarks.temporal.own_history import HEAD, LEVEL, line, scores, table
from benchmarks.temporal.streams import PERIOD, SEED, TRAINING, some, table_models
from oodometer import Oodometer, Predictions
from oodometer.headline.natural_shifts import packaged_prior
from oodometer.headline.own_history import INPUTS
from oodometer.passes.slicing import column_of, rows_by_value
from oodometer.verbs.past_periods import groups_left_out

REFERENCES = (5, 10)  # groups of the reference
TARGETS = 12  # groups at most
ROWS = 500  # of a group of the reference, at most
MANY = 34  # groups of which one shuffle is enough
DRAWS = 2
LARGE, LEAST = 100, 50  # rows of a group; the least where too few are large
FEW = 20  # large groups, with which smaller ones take part

ANSWERS = ("own groups", "without them", "`cbpe` + mean error in the groups (t)")


# ------------------------------------------------------------------------------------------------------ measuring


def drawn(data: Grouped) -> Iterator[tuple[int, list[Any]]]:
    """The groups that are large enough, shuffled."""
    rows = data.group.value_counts()
    least = LARGE if (rows >= LARGE).sum() >= FEW else LEAST
    names = sorted(rows.index[rows >= least], key=str)
    for draw in range(1 if len(names) >= MANY else DRAWS):
        order = np.random.default_rng(SEED + draw).permutation(len(names))
        yield draw, [names[i] for i in order]


def measured(name: str, data: Grouped) -> list[dict[str, Any]]:
    """What is said of each target group, model by model and reference by reference."""
    out = []
    y, group = data.y.to_numpy(), data.group.to_numpy()
    places = {one: np.flatnonzero(group == one) for one in data.group.unique()}
    for draw, names in drawn(data):
        rng = np.random.default_rng(SEED + draw)
        third = len(names) // 3
        training = some(np.concatenate([places[one] for one in names[:third]]), TRAINING, rng)
        assert np.array_equal(np.unique(y[training]), np.unique(y)), (
            "a class is missing from the training rows"
        )
        most = third + REFERENCES[-1]
        asked = names[third : most + TARGETS]
        limits = [ROWS if i < REFERENCES[-1] else PERIOD for i in range(len(asked))]
        kept = [some(places[one], limit, rng) for one, limit in zip(asked, limits, strict=True)]
        rows = np.concatenate(kept)
        number = np.repeat(np.arange(len(kept)), [len(one) for one in kept])
        for model, fitted in table_models(data.features).items():
            fitted.fit(data.features.iloc[training], y[training])
            probabilities = fitted.predict_proba(data.features.iloc[rows])
            for many in REFERENCES:
                about = {"source": name, "draw": draw, "model": model, "groups": many}
                cells = probabilities, y[rows], number
                out += [{**about, **one} for one in answers(*cells, many)]
    return out


def answers(
    probabilities: np.ndarray, y: np.ndarray, number: np.ndarray, many: int
) -> list[dict[str, Any]]:
    """The answers about each group past those of the largest reference, by the first so ``many`` groups."""

    def rows(mask: np.ndarray, *, labelled: bool) -> dict[str, Any]:
        cells = table(probabilities[mask], None, y[mask] if labelled else None)
        return {**cells, "group": np.char.add("group ", number[mask].astype(str))}

    reference = rows(number < many, labelled=True)
    target = number >= REFERENCES[-1]
    odometer = Oodometer(level=LEVEL, seed=SEED).fit(reference, by="group")
    found = odometer.estimate(rows(target, labelled=False), by="group")
    errors = errors_of_cbpe(odometer.fitted_.reference.record)
    right = probabilities.argmax(axis=1) == y
    out = []
    for part in found.slices:
        place = int(part.name.rsplit(" ", 1)[-1])
        truth = float(right[number == place].mean())
        history = part.headline.history
        assert history is not None
        assert history.kind == "groups of the reference"
        cbpe = next(one.value for one in part.estimates if one.method == "cbpe")
        three = (part.headline.interval, history.public)
        given = [(one.lower, one.value, one.upper) for one in three]
        given.append(corrected(cbpe, errors))
        rounded = {
            name: [round(end, 5) for end in one] for name, one in zip(ANSWERS, given, strict=True)
        }
        out.append({"group": place, "rows": part.rows, "truth": round(truth, 5), **rounded})
    return out


def errors_of_cbpe(record: Predictions) -> np.ndarray:
    """By how much the truth of each group of a reference lies above `cbpe`, fitted on the others."""
    names, places = rows_by_value(column_of(record, "group"))
    left_out = groups_left_out(
        record, names, [*places], packaged_prior(), ["cbpe"], level=LEVEL, seed=SEED
    )
    # the first of what rests on the inputs alone is `cbpe`, here the only one
    return np.array([one.truth - one.reading.values[INPUTS] for one in left_out])


def corrected(cbpe: float, errors: np.ndarray) -> tuple[float, float, float]:
    """`cbpe` and the mean of its errors, with Student's interval of the next one."""
    from scipy.stats import t

    value = float(np.clip(cbpe + errors.mean(), 0, 1))
    half = float(t.ppf((1 + LEVEL) / 2, len(errors) - 1) * errors.std(ddof=1))
    half *= float(np.sqrt(1 + 1 / len(errors)))
    return max(value - half, 0.0), value, min(value + half, 1.0)


# ------------------------------------------------------------------------------------------------------ page


def means(cases: Sequence[Mapping[str, Any]], groups: int, answer: str) -> dict[str, np.ndarray]:
    """Source -> mean scores over its models, each over its target groups."""
    by_model: dict[str, dict[str, list[np.ndarray]]] = {}
    for case in cases:
        if case["groups"] == groups:
            some_model = by_model.setdefault(case["source"], {}).setdefault(case["model"], [])
            some_model.append(scores(case["truth"], case[answer]))
    return {
        source: np.mean([np.mean(found, axis=0) for found in models.values()], axis=0)
        for source, models in by_model.items()
    }


def page(result: Mapping[str, Any]) -> str:
    """The tables."""
    cases, about = result["cases"], {one["source"]: one for one in result["sources"]}
    asked = len({(one["source"], one["draw"], one["group"]) for one in cases})
    out = [
        "# Own groups: a new group by those of the reference",
        "",
        f"`{result['command']}`: {len(about)} sources, {asked} new groups, "
        f"{len({one['model'] for one in cases})} models each.",
        "Points; means over sources of means over models. Models are trained on a third of the groups; the reference "
        "are labelled",
        f"rows of 5 or 10 others, at most {ROWS} of each; a target is a further one. Score: width + 20 x miss.",
    ]
    for groups in REFERENCES:
        found = {answer: means(cases, groups, answer) for answer in ANSWERS}
        every = {answer: np.mean([*rows.values()], axis=0) for answer, rows in found.items()}
        out += ["", f"## {groups} groups in the reference", "", HEAD.format("")]
        out += [line(answer, every[answer]) for answer in ANSWERS]
        share = every["own groups"][3] / every["without them"][3]
        out += ["", f"The interval score with own groups is {share:.2f} of the one without."]
    out += ["", "## By source: error, coverage, interval score", ""]
    heads = [f"{answer}, {groups}" for groups in REFERENCES for answer in ANSWERS]
    out += [f"| source | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    columns = [means(cases, groups, answer) for groups in REFERENCES for answer in ANSWERS]
    for source in about:
        three = [column[source] for column in columns]
        cells = [f"{100 * one[0]:.1f}, {100 * one[1]:.0f}, {100 * one[3]:.1f}" for one in three]
        out.append(f"| {source} | {' | '.join(cells)} |")
    out += ["", "## Sources", "", "| source | package | data | task | groups |", "|---" * 5 + "|"]
    for source, one in about.items():
        package = f"{one['package']} {one['version']}"
        out.append(f"| {source} | {package} | {one['origin']} | {one['task']} | {one['groups']} |")
    return "\n".join(out) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.temporal.groups", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "--page", action="store_true", help="write the tables again, from the cases that are kept"
    )
    given = parser.parse_args(argv)
    path = kit.RESULTS / "own_history_groups"
    if given.page:
        result = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    else:
        result = {"command": "python -m benchmarks.temporal.groups", "sources": [], "cases": []}
        for name, one in GROUPED.items():
            if one.version is None:
                print(f"{name}: left out, pip install {one.package}", file=sys.stderr)
                continue
            about = {key: getattr(one, key) for key in ("package", "version", "origin", "task")}
            result["sources"].append({"source": name, **about, "groups": one.groups})
            result["cases"] += measured(name, one.build())
            print(f"{name}: {len(result['cases'])} answers", file=sys.stderr, flush=True)
    print(kit.save(path, result, page))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
