"""Finishing: from merged states to the result of the verb `estimate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..intervals import clopper_pearson
from ..kernels import side_by_side
from ..predictions import Predictions
from ..results import Estimate, Interval, Skipped
from ..store import Source
from .estimation import Estimation, Headline, Part
from .headline import make_headline
from .plan import WHOLE, Key, Plan, State, confidence_counts
from .reference import Reference

__all__ = ["finish"]

_THREADED_ROWS = 50_000  # reference rows below which threads cost more than they bring


def finish(
    plan: Plan,
    state: State,
    read: Sequence[Reference],
    record: Predictions,
    goal: Source,
    first: Source,
    skipped: list[Skipped],
    warnings: list[str],
    level: float,
    seed: int,
) -> Estimation:
    """The result from the states of the whole target, its slices and its chunks."""
    whole = state[WHOLE]
    estimates, curve, reliability, confidence = side_by_side(
        [
            lambda: _estimates(plan, whole),
            lambda: None if plan.curve is None else plan.curve.finish(whole["risk_coverage"]),
            lambda: _reliability(plan, record, level),
            lambda: _confidence(plan, record, whole),
        ],
        threads=len(record) >= _THREADED_ROWS,
    )
    headline = make_headline(estimates, level)
    assert headline is not None  # there is at least one estimate
    rows, correct = sum(r.rows for r in read), sum(r.correct for r in read)
    low, high = clopper_pearson(correct, rows, level)
    truth = _truth(whole, level)
    slices, chunks = _parts(plan, state, level)
    if headline.trust == "none" and len(estimates) > 1:
        warnings = [*warnings, headline.why]
    if truth is not None and plan.labels is None:
        warnings = [
            *warnings,
            "the target holds labels; they were used for the truth only, not for any estimate",
        ]
    choice = plan.choice
    return Estimation(
        reference={"name": first.name, "rows": rows, "accuracy": correct / rows, "lower": low, "upper": high,
                   "level": level, "kind": "exact", "classes": record.num_classes},
        target={"name": goal.name, "rows": int(whole["truth"]["rows"]), "labelled": int(whole["truth"]["known"]),
                "accuracy": None if truth is None else truth.to_dict()},
        headline=headline,
        estimates=tuple(estimates),
        skipped=tuple(skipped),
        warnings=tuple(warnings),
        level=level,
        seed=seed,
        calibration={"name": None if choice.calibrator is None else choice.calibrator.name, "why": choice.why,
                     "scores": choice.scores, "temperature": getattr(choice.calibrator, "temperature", None)},
        risk_coverage=curve,
        reliability=reliability,
        confidence=confidence,
        slices=slices,
        chunks=chunks,
    )  # fmt: skip


def _estimates(plan: Plan, states: Mapping[str, Any], lighter: bool = False) -> list[Estimate]:
    return [(m.lighter() if lighter else m).finish(states[name]) for name, m in plan.methods.items()]


def _truth(states: Mapping[str, Any], level: float) -> Interval | None:
    known, correct = int(states["truth"]["known"]), int(states["truth"]["correct"])
    if not known:
        return None
    return Interval(correct / known, *clopper_pearson(correct, known, level), level, "exact")


def _confidence(plan: Plan, record: Predictions, states: Mapping[str, Any]) -> dict[str, Any] | None:
    if plan.confidence is None:
        return None
    here = confidence_counts(plan.confidence, plan.choice.apply(record))
    there = states["confidence"]["counts"]
    edges = np.linspace(0, 1, len(here) + 1)
    return {
        "edges": edges,
        "reference": here / here.sum(),
        "target": there / there.sum(),
        "score": plan.confidence.name,
    }


def _reliability(plan: Plan, record: Predictions, level: float) -> dict[str, Any] | None:
    """Observed accuracy in 15 bins of (calibrated) confidence on the reference, with exact intervals."""
    if plan.confidence is None:
        return None
    calibrated = plan.choice.apply(record)
    confidence = plan.confidence(calibrated)
    index = np.minimum((confidence * 15).astype(np.intp), 14)
    rows = np.bincount(index, minlength=15)
    hits = np.bincount(index, weights=calibrated.verdicts, minlength=15)
    sums = np.bincount(index, weights=confidence, minlength=15)
    full = np.flatnonzero(rows)
    ends = np.array([clopper_pearson(float(hits[b]), float(rows[b]), level) for b in full])
    return {
        "confidence": sums[full] / rows[full],
        "accuracy": hits[full] / rows[full],
        "lower": ends[:, 0],
        "upper": ends[:, 1],
        "rows": rows[full],
    }


def _parts(plan: Plan, state: State, level: float) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Slices, largest first, or chunks in order of time."""
    slices = sorted((k for k in state if k[0] == "by"), key=lambda k: (-state[k]["truth"]["rows"], str(k[1])))
    chunks = _merge_short_chunk([(k, state[k]) for k in sorted(k for k in state if k[0] == "every")])
    made_slices = tuple(_part(plan, {"by": plan.by, "value": k[1]}, state[k], level) for k in slices)
    made_chunks = []
    for first, last, states in chunks:
        place = {"start": plan.chunk_start(first[1]), "end": plan.chunk_start(last[1] + 1)}
        made_chunks.append(_part(plan, place, states, level))
    return made_slices, tuple(made_chunks)


def _merge_short_chunk(chunks: list[tuple[Key, Any]]) -> list[tuple[Key, Key, Any]]:
    """A last chunk with less than half the usual rows joins the one before: one leftover row is no chunk."""
    out = [(key, key, states) for key, states in chunks]
    if len(out) > 1:
        usual = float(np.median([s["truth"]["rows"] for _, _, s in out[:-1]]))
        if out[-1][2]["truth"]["rows"] < usual / 2:
            (first, _, a), (_, last, b) = out[-2], out[-1]
            out[-2:] = [(first, last, {name: a[name] + b[name] for name in a})]
    return out


def _part(plan: Plan, place: Mapping[str, Any], states: Mapping[str, Any], level: float) -> Part:
    estimates = _estimates(plan, states, lighter=True)
    headline = make_headline(estimates, level)
    assert isinstance(headline, Headline)
    return Part(place, int(states["truth"]["rows"]), headline, tuple(estimates), _truth(states, level))
