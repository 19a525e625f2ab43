"""Judged difference: two systems under the same judges, with people's labels on rows of either."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..arrays import Array
from ..audits.joining import matched_rows
from ..audits.judged_pairs import PairedRates, Population, paired_rates
from ..audits.judges import LEAST_TESTED, Judged
from ..audits.judges_result import JudgeAudit
from ..errors import InputError, UsageError
from ..inference.gate import gate_of
from ..inference.paired import Paired
from ..intervals import normal_quantile
from ..plain import Json
from ..results import Estimate
from ..results.gate import Gate
from ..results.values import counted
from ..store import Source
from .clusters import cluster_column, keys_of
from .judging import WIDTHS, Read, audited, read_judged

POPULATIONS: tuple[Population, ...] = ("system", "rows")
_ASSUMES = {
    "system": "the labelled rows of each file were drawn at random, and the rows are such as the systems will meet",
    "rows": "the labelled rows of each file were drawn at random; of these rows alone",
}


@dataclass(frozen=True)
class JudgedPair:
    """Two runs over the rows that both files have: verdicts and labels of either, clusters of the rows, None for
    single ones, and what to say.
    """

    runs: tuple[Judged, Judged]
    keys: Array | None
    notes: list[str]

    @property
    def both(self) -> Array:
        """Rows that people labelled in both files."""
        return np.intersect1d(self.runs[0].row, self.runs[1].row)

    @property
    def labels(self) -> int:
        """Rows that people labelled in either file."""
        return len(np.union1d(self.runs[0].row, self.runs[1].row))

    def truth(self, run: int, rows: Array) -> Array:
        """The labels of one of the runs on rows that have them."""
        return self.runs[run].truth[np.searchsorted(self.runs[run].row, rows)]


def compare_judges(sources: Sequence[Source], options: Any, names: Sequence[str]) -> JudgeAudit:
    """The corrected difference of two models under the same judges, the second minus the first, on rows that both files
    have (by id or ``key``, else by place); ``options`` as `compare` has. Labelled rows of either file count.
    """
    if len(sources) != 2:
        raise UsageError(f"--judge compares two models, got {len(sources)} files; give two")
    population = _population(options)
    if options.anytime:
        raise UsageError("--anytime is of labels without judges; leave --anytime or --judge out")
    first, second = (read_judged(source, options) for source in sources)
    if first.scale != second.scale:
        raise UsageError(
            f"{second.source.name}: the grades lie on another scale; name it for both, --scale LOW,HIGH"
        )
    at, common = common_rows(first, second, options)
    pair = paired_runs(first, second, at, common, options)
    low, high = first.scale or (0.0, 1.0)
    shared = pair.both
    truth = (pair.truth(1, shared) - pair.truth(0, shared) + 1) / 2
    differences = (pair.runs[1].verdicts - pair.runs[0].verdicts + 1) / 2
    judged = Judged(differences, shared, truth, first.judged.names)
    whole = replace(
        first,
        judged=judged,
        at=at,
        scale=(low - high, high - low),
        notes=pair.notes,
        compared=tuple(names),
    )
    if any(run.selected for run in pair.runs) and not len(shared):
        why = next(run.selected for run in pair.runs if run.selected)
        raise UsageError(
            f"{second.source.name}: the labelled rows are no random sample ({why}), and no row has people's verdict on "
            "the answers of both models; label some rows of both"
        )
    result = audited(whole, options, None)
    if any(run.selected for run in pair.runs):
        population = "rows"  # of which alone labels that were picked can tell
    else:
        result = _by_either(result, pair, population, options)
    counts = dict(zip(("a", "b"), (len(run.row) for run in pair.runs), strict=True))
    result = replace(
        result,
        labels=pair.labels,
        label_counts={**counts, "both": len(shared)},
        population=population,
    )
    return replace(result, gate=_gate(result, names, high - low, options))


def _population(options: Any) -> Population:
    """What the difference is of: the systems, or these rows alone."""
    named = list(options.target)
    if not named:
        return "system"
    if len(named) > 1 or named[0] not in POPULATIONS:
        raise UsageError(
            "with --judge expected --target system (what the systems will meet) or rows (these alone), "
            f"got {named[0]!s}"
        )
    return cast("Population", named[0])


def common_rows(first: Read, second: Read, options: Any) -> tuple[Array, Array]:
    """The rows that both files have: their places in the first, ascending, and in the second."""
    row = matched_rows(second.source, first.source, first.judged.rows, None, options.key).row
    if row is None and first.judged.rows != second.judged.rows:
        raise InputError(
            "as many rows in both files",
            got=f"{first.judged.rows} and {second.judged.rows}",
            file=second.source.path,
            column="id",
            remedy="give both a column of ids, or name one with --key",
        )
    row = np.arange(first.judged.rows) if row is None else row
    common = np.flatnonzero(row >= 0)
    common = common[np.argsort(row[common], kind="stable")]
    return row[common], common


def paired_runs(first: Read, second: Read, at: Array, common: Array, options: Any) -> JudgedPair:
    """Both runs over their common rows; `UsageError` where people labelled no row of one of them."""
    runs = []
    for read, rows in ((first, at), (second, common)):
        labels = np.full(read.judged.rows, np.nan)
        labels[read.judged.row] = read.judged.truth
        labels = labels[rows]
        labelled = np.flatnonzero(np.isfinite(labels))
        if not len(labelled):
            raise UsageError(
                f"{read.source.name}: no row has people's verdict on the answers of this model; label some rows of "
                "both files (the same ones tell most)"
            )
        runs.append(
            replace(
                read.judged,
                verdicts=read.judged.verdicts[:, rows],
                row=labelled,
                truth=labels[labelled],
            )
        )
    notes = list(dict.fromkeys([*first.notes, *second.notes]))
    if (omitted := max(first.judged.rows, second.judged.rows) - len(at)) > 0:
        notes.append(f"{counted(omitted, 'row')} of one file alone are left out")
    column = cluster_column(first.source, options.cluster, len(at))
    keys = None if column is None else keys_of(first.source, column)[at]
    if keys is not None and len(np.unique(keys)) == len(keys):
        keys = None
    pair = JudgedPair((runs[0], runs[1]), keys, notes)
    shared, fewest = len(pair.both), min(len(run.row) for run in runs)
    if shared < fewest / 2:
        which = f"only {counted(shared, 'labelled row')} {'is' if shared == 1 else 'are'}"
        which = which if shared else "no labelled row is"
        notes.append(
            f"{which} the same in both files: labels on the same rows tell more of a difference"
        )
    return pair


def _by_either(
    result: JudgeAudit, pair: JudgedPair, population: Population, options: Any
) -> JudgeAudit:
    """The audit with the intervals of all labels first: those of the systems stand alone, as the others are of these
    rows.
    """
    level, width = options.level, (result.scale or (-1.0, 1.0))[1]
    every = len(pair.both) == pair.runs[0].rows
    others = result.intervals if population == "rows" else ()
    if every and population == "rows":
        return result
    judged, bare = (
        paired_rates(*pair.runs, population, pair.keys, leaning=leaning)
        for leaning in (True, False)
    )

    def estimate(name: str, three: tuple[float, float, float], key: str) -> Estimate:
        value, lower, upper = (width * end for end in three)
        return Estimate(
            name,
            value,
            lower,
            upper,
            level,
            "asymptotic",
            _ASSUMES[population],
            key,
            rows=pair.labels,
        )

    alone = estimate("labels-alone", bare.interval(level), "bonett2012")
    first = estimate("ppi-paired", judged.interval(level), "angelopoulos2023")
    if every:
        scores = np.stack([pair.truth(run, pair.both) for run in range(2)])
        gap = Paired(scores, pair.keys, seed=options.seed).difference(1, 0, level)
        first = alone = estimate("paired", (gap.value, gap.lower, gap.upper), "bonett2012")
    warnings = list(pair.notes)
    if pair.labels < min(LEAST_TESTED, pair.runs[0].rows):
        warnings.append(f"only {counted(pair.labels, 'label')}: the interval is wide")
    if pair.keys is not None:
        warnings.append("rows of one cluster depend on each other: intervals are those of clusters")
    kept = tuple(one for one in others if one.method != "labels-alone")
    return replace(
        result,
        estimate=first,
        label_only=alone,
        intervals=(first, *(() if every else (alone,)), *kept),
        effective_labels=pair.labels * max(bare.variance / max(judged.variance, 1e-12), 1.0),
        labels_for_width=() if every else tuple(_widths(judged, bare, pair, population, options)),
        warnings=tuple(warnings),
    )


def _widths(
    judged: PairedRates, bare: PairedRates, pair: JudgedPair, population: Population, options: Any
) -> list[Json]:
    """How many labels of the same rows in both files make intervals of certain widths: n of s^2 / n + what the rows
    themselves leave.
    """
    rows, z = pair.runs[0].rows, normal_quantile(options.level)
    if judged.spread is None or bare.spread is None:
        return []

    def labels(spread: float, width: float) -> int | None:
        variance = (width / 2 / z) ** 2
        rest = (bare.spread or 0.0) - spread  # of which the verdicts tell on all rows
        room = variance - max(rest, 0.0) / rows
        if population == "rows":
            room = variance + spread / rows
        needed = math.ceil(spread / room) if room > 0 else rows + 1
        return needed if needed <= rows else None

    return [
        {
            "width": width,
            "labels": labels(judged.spread, width),
            "alone": labels(bare.spread, width),
        }
        for width in WIDTHS
    ]


def _gate(result: JudgeAudit, names: Sequence[str], span: float, options: Any) -> Gate | None:
    """Whether the second system fell by more than the drop that was named."""
    if options.fail_drop is None or result.estimate is None:
        return None
    if options.fail_drop >= span:
        raise UsageError(
            f"expected --fail-drop as a fraction of the scale, less than {span:g}, got {options.fail_drop:g}"
        )
    return gate_of(
        result.estimate.interval,
        options.fail_drop,
        (names[0], names[1]),
        result.labels,
        strict=options.strict,
        outlook=False,
        unit="labelled rows",
    )
