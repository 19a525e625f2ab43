"""Methods: the contract checks of scores, estimators, metrics and calibrators."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array, Ragged, present, softmax
from ..citations import BIBTEX
from ..errors import NotApplicable, OodometerError
from ..fields import FIELDS
from ..predictions import Predictions
from ..results import plain

_CLASSES = 4


def example_record(
    rows: int = 400, *, seed: int = 0, difficulty: float = 1.0, labelled: bool = True
) -> Predictions:
    """A synthetic record with every field, on which every signal says something true about correctness.

    rows : number of samples, of four classes.
    seed : of all draws.
    difficulty : standard deviation of the noise between logits and truth: more noise, more errors.
    labelled : False leaves the truth out.

    >>> easy, hard = example_record(difficulty=0.5), example_record(difficulty=3.0)
    >>> easy.accuracy > hard.accuracy
    True
    """
    rng = np.random.default_rng([seed, 7])
    label = rng.integers(_CLASSES, size=rows)
    signal = 2.5 * np.eye(_CLASSES)[label]
    seen = signal + difficulty * rng.standard_normal((rows, _CLASSES))
    logits = 2.5 * seen / difficulty**2  # the posterior's own logits: more noise, less confidence
    first = logits.argmax(axis=1)
    correct = first == label
    peers = [
        softmax(2.5 * (signal + difficulty * rng.standard_normal(seen.shape)) / difficulty**2)
        for _ in range(3)
    ]
    views = np.stack(
        [(seen + 0.5 * rng.standard_normal(seen.shape)).argmax(axis=1) for _ in range(4)]
    )
    votes = np.stack([np.where(rng.random(rows) < 0.8, correct, ~correct) for _ in range(3)])
    probabilities = softmax(logits)
    top = probabilities.max(axis=1)
    tokens = [[float(np.log(p)) / (1 + i % 5)] * (1 + i % 5) for i, p in enumerate(top)]
    record = Predictions.from_arrays(
        label=label,
        logits=logits,
        confidence=top,
        token_logprobs=Ragged.from_rows(tokens),
        views=views,
        votes=votes,
        members=np.stack([o.argmax(axis=1) for o in peers]),
        member_probabilities=np.stack(peers),
        features=(
            seen + np.where(correct, 0.1, 2.0)[:, None] * rng.standard_normal(seen.shape)
        ).astype(np.float32),
        group=np.where(label % 2 == 0, "even", "odd").astype(object),
        score=np.round(0.8 * correct + 0.2 * rng.random(rows), 2),
    )
    return record if labelled else record.without_labels()


def example_candidates(
    rows: int = 400, *, seed: int = 0, difficulty: float = 1.0, labelled: bool = True
) -> Predictions:
    """A synthetic record with `candidate_scores`, two to six a sample, and fields that name positions among them.

    rows : number of samples.
    seed : of all draws.
    difficulty : standard deviation of the noise between scores and truth: more noise, more errors.
    labelled : False leaves the truth out.

    >>> easy, hard = example_candidates(difficulty=0.5), example_candidates(difficulty=3.0)
    >>> easy.accuracy > hard.accuracy, easy.has_classes
    (True, False)
    """
    rng = np.random.default_rng([seed, 8])
    lengths = rng.integers(2, 7, size=rows)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    label = rng.integers(lengths)
    right = np.zeros(offsets[-1])
    right[offsets[:-1] + label] = 2.5

    def draw_scores() -> Ragged:  # the posterior's own logits, as in `example_record`
        return Ragged(
            2.5 * (right + difficulty * rng.standard_normal(len(right))) / difficulty**2, offsets
        )

    text = Predictions.from_candidates(draw_scores(), label=label)
    correct = text.verdicts == 1
    record = Predictions.from_candidates(
        text.candidate_scores,
        label=label,
        members=np.stack([Predictions.from_candidates(draw_scores()).predicted for _ in range(3)]),
        views=np.stack([np.where(rng.random(rows) < 0.8, text.predicted, 0) for _ in range(4)]),
        votes=np.stack([np.where(rng.random(rows) < 0.8, correct, ~correct) for _ in range(3)]),
        features=np.where(correct, 0.1, 2.0)[:, None] * rng.standard_normal((rows, 3)),
        group=np.where(label % 2 == 0, "even", "odd").astype(object),
    )
    return record if labelled else record.without_labels()


def in_another_order(record: Predictions, rng: np.random.Generator) -> Predictions:
    """The same ``record`` with the candidates of each sample in a random order, drawn from ``rng``; the order says
    nothing about the model.

    >>> p = Predictions.from_candidates([[3.0, 1.0]] * 20, label=[0] * 20)
    >>> q = in_another_order(p, np.random.default_rng(0))
    >>> sorted(set(q.label.tolist())), q.accuracy
    ([0, 1], 1.0)
    """
    scores = present(record.candidate_scores)
    starts, owner = scores.offsets[:-1], np.repeat(np.arange(len(scores)), scores.lengths)
    order = np.lexsort((rng.random(len(owner)), owner))  # shuffled within each row
    index = np.empty(len(order), dtype=np.int32)
    index[order] = np.arange(len(order)) - starts[owner]

    def moved(codes: Array) -> Any:
        return np.where(codes < 0, codes, index[starts + codes])

    return replace(
        record,
        candidate_scores=Ragged(scores.values[order], scores.offsets),
        _cache={},
        **{
            name: moved(getattr(record, name))
            for name in record.fields
            if FIELDS[name].cell == "class"
        },
    )


def refuses(call: Callable[[], Any], rule: str, kind: type[Exception] = OodometerError) -> None:
    """Check that a call raises this error."""
    try:
        call()
    except kind:
        return
    raise AssertionError(rule)


_SAYS = {
    "Source:": "names a source",
    ">>>": "has an example",
    "ranked lower": "says which direction is bad",
}


def check_said(method: Any, *more: str) -> None:
    """Check name, sentence, docstring and citation of a method; ``more`` are words of the docstring, of `_SAYS`."""
    text = " ".join((inspect.getdoc(type(method)) or "").split())
    assert method.name, "a name"
    assert method.name == method.name.strip().lower(), "a name in lower case"
    assert method.about, "`about` is one sentence"
    assert not method.about.endswith("."), "`about` is one sentence without its full stop"
    for part in ("Source:", ">>>", *more):
        assert part in text, f"the docstring {_SAYS[part]}"
    assert method.citation in BIBTEX, f"{method.citation} stands in citations.bib"


def _refused(why: str | None) -> bool:
    """Whether there is a reason, which is then one line."""
    assert why is None or (why.strip() and "\n" not in why), "a refusal is one line that says why"
    return why is not None


def _snapshot(record: Predictions) -> dict[str, bytes]:
    out = {}
    for name in FIELDS:
        value = getattr(record, name)
        if isinstance(value, Ragged):
            out[name] = value.values.tobytes() + value.offsets.tobytes()
        elif value is not None:
            out[name] = value.tobytes() if value.dtype != object else repr(value.tolist()).encode()
    return out


def _splits(record: Predictions, rng: np.random.Generator) -> Iterator[list[Predictions]]:
    """The record cut at random places, pieces in random order."""
    for count in (1, 2, 5):
        cuts = np.sort(rng.choice(np.arange(1, len(record)), size=count, replace=False))
        edges = [0, *cuts.tolist(), len(record)]
        pieces = [record.slice(a, b) for a, b in itertools.pairwise(edges)]
        rng.shuffle(pieces)
        yield pieces


def _check_documented(cls: type) -> None:
    """A doctest at the class; formula and source there or at the pure function beside it."""
    doc, name = inspect.getdoc(cls) or "", cls.__name__
    functions = [f for _, f in inspect.getmembers(inspect.getmodule(cls), inspect.isfunction)]
    text = "\n".join(
        [doc, *(inspect.getdoc(f) or "" for f in functions if f.__module__ == cls.__module__)]
    )
    assert ">>>" in doc, f"{name}: the docstring needs a doctest"
    assert re.search("Sources?:", text), f"{name}: the docstring needs 'Source:' and the paper"
    assert any(sign in text for sign in ("=", "+", "(")), f"{name}: the docstring needs the formula"
    citation = getattr(cls, "citation", None)
    values = citation in BIBTEX or getattr(cls, "bibtex", None)
    assert values, (
        f"{name}: {citation!r} is not in citations.bib; a plugin sets `bibtex` to its own entry"
    )
    assert getattr(cls, "name", ""), f"{name}: needs a name"


def _same(a: Any, b: Any, rule: str) -> None:
    """Two results agree in value and interval, but for the rounding of sums taken in another order."""
    for end in ("value", "lower", "upper"):
        item, other = getattr(a, end), getattr(b, end)
        assert np.isclose(item, other, rtol=1e-9, atol=1e-9), f"{rule}: {end} is {item} and {other}"


def check_estimator(factory: Callable[..., Any]) -> None:
    """Every rule of `oodometer.estimators.Estimator`, for a class or a factory that takes ``seed`` and ``level``."""
    rng = np.random.default_rng(3)
    reference = example_record(seed=1)
    target = example_record(300, seed=2, difficulty=1.6, labelled=False)
    fresh = factory(seed=5)
    _check_documented(type(fresh))
    assert fresh.assumes.strip(), "an estimator names its assumption"
    before, untouched = _snapshot(reference), pickle.dumps(vars(fresh))
    fitted = fresh.fit(reference)
    assert pickle.dumps(vars(fresh)) == untouched, "fit changes the object that it is called on"
    # a method that needs overlap may refuse a shifted target, never its own kind
    if _answer(fitted, target) is None:
        target = example_record(300, seed=2, labelled=False)
    of_target = _snapshot(target)
    result = fitted.estimate(target)
    assert (_snapshot(reference), _snapshot(target)) == (before, of_target), "inputs were changed"
    _inside(result, "value and interval lie in [0, 1]")
    assert (result.method, result.citation) == (fresh.name, fresh.citation), (
        "the result names its method"
    )
    assert result.rows == len(target), "the result counts its rows"
    _same(fitted.estimate(target), result, "a second call gives the same result")
    _answer(fitted, example_record(50, seed=9, difficulty=4.0, labelled=False))
    _same(fitted.estimate(target), result, "an earlier call leaves nothing behind")
    _same(
        factory(seed=5).fit(reference).estimate(target),
        result,
        "the same seed gives the same result",
    )
    copied = copy.copy(fitted)
    copied.__dict__ = pickle.loads(pickle.dumps(vars(fitted)))
    _same(copied.estimate(target), result, "a pickled copy gives the same result")
    order = rng.permutation(len(target))
    _same(fitted.estimate(target.take(order)), result, "the order of target rows does not matter")
    shuffled = fresh.fit(reference.take(rng.permutation(len(reference))))
    _same(shuffled.estimate(target), result, "the order of reference rows does not matter")
    halves = fresh.fit(reference.slice(0, 150), reference.slice(150, len(reference)))
    _same(halves.estimate(target), result, "references that are pooled give what one record gives")
    for pieces in _splits(target, rng):
        _same(fitted.finish(fitted.folded(pieces)), result, "merging batches equals one pass")
    labelled = replace(target, label=example_record(300, seed=2).label, _cache={})
    _same(fitted.estimate(labelled), result, "labels in the target are not looked at")
    wide, narrow = (factory(level=level).fit(reference).estimate(target) for level in (0.99, 0.5))
    assert wide.upper - wide.lower >= narrow.upper - narrow.lower, (
        "a higher level gives a wider interval"
    )
    easy, hard = (
        _answer(fitted, example_record(2000, seed=4, difficulty=d, labelled=False))
        for d in (0.5, 4.0)
    )
    if easy is not None and hard is not None:
        text = (
            f"an easier target does not get a lower estimate (easy {easy.value}, hard {hard.value})"
        )
        assert easy.value >= hard.value, text
    # positions among candidates are refused, or are not taken for classes: their order does not matter
    ranked = example_candidates(seed=1)
    ranked_target = example_candidates(300, seed=2, difficulty=1.6, labelled=False)
    ranked_result = _answer(fresh, ranked_target, ranked)
    if ranked_result is not None:
        _inside(ranked_result, "value and interval of candidates lie in [0, 1]")
        shuffle = np.random.default_rng(6)
        again = fresh.fit(in_another_order(ranked, shuffle)).estimate(
            in_another_order(ranked_target, shuffle)
        )
        assert np.isclose(again.value, ranked_result.value, rtol=0, atol=1e-9), (
            "the order of candidates does not matter"
        )
    _inside(_answer(fitted, target.slice(0, 1)), "one target row is enough, or refused")
    _inside(
        _answer(fresh, target, reference.slice(0, 1)), "one reference row is enough, or refused"
    )


def _inside(result: Any, rule: str) -> None:
    assert result is None or 0 <= result.lower <= result.value <= result.upper <= 1, rule


def _answer(method: Any, target: Predictions, reference: Predictions | None = None) -> Any:
    """The estimate, or None where the method says why it cannot answer."""
    try:
        return (method if reference is None else method.fit(reference)).estimate(target)
    except NotApplicable as refusal:
        _refused(str(refusal))
    return None


def check_score(factory: Callable[[], Any]) -> None:
    """Every rule of `oodometer.scores.Score`, for a class or a factory without arguments."""
    record = example_record(600, seed=1, difficulty=1.5)
    reference = example_record(500, seed=8)
    before = _snapshot(record)
    fresh = factory()
    _check_documented(type(fresh))
    fitted = fresh.fit(reference)
    values: Array = np.asarray(fitted(record))
    assert _snapshot(record) == before, "inputs were changed"
    assert values.shape == (len(record),), f"one number a sample, got shape {values.shape}"
    assert np.isfinite(values).all(), "scores are finite"
    order = np.random.default_rng(0).permutation(len(record))
    assert np.allclose(fitted(record.take(order)), values[order], rtol=1e-6), (
        "a score depends on its own sample alone"
    )
    pieces = [fitted(b) for b in record.batches(77)]
    assert np.allclose(np.concatenate(pieces), values, rtol=1e-6), (
        "batches give what the whole gives"
    )
    right, wrong = values[record.verdicts == 1], values[record.verdicts == 0]
    assert right.mean() > wrong.mean(), "larger means more likely correct"
    candidates = example_candidates(300, seed=3)
    if not _refused(fresh.why_not(candidates)):
        learnt = fresh.fit(example_candidates(seed=4))
        shuffled = learnt(in_another_order(candidates, np.random.default_rng(5)))
        assert np.allclose(shuffled, learnt(candidates), rtol=1e-6), (
            "the order of candidates does not matter"
        )
    if fresh.is_probability:
        assert ((values >= 0) & (values <= 1)).all(), "a probability lies in [0, 1]"
    assert fresh.why_not(Predictions.from_arrays(input=np.array(["a"], dtype=object))), (
        "needs are declared"
    )


def check_calibrator(factory: Callable[[], Any]) -> None:
    """Every rule of `oodometer.calibrators.Calibrator`, for a class or a factory without arguments."""
    reference, target = example_record(2000, seed=1), example_record(500, seed=2)
    before = _snapshot(reference), _snapshot(target)
    fresh = factory()
    _check_documented(type(fresh))
    untouched = pickle.dumps(vars(fresh))
    fitted = fresh.fit(reference)
    assert pickle.dumps(vars(fresh)) == untouched, "fit changes the object that it is called on"
    calibrated = fitted(target)
    assert (_snapshot(reference), _snapshot(target)) == before, "inputs were changed"
    assert np.allclose(calibrated.probabilities.sum(axis=1), 1, atol=1e-5), "rows sum to 1"
    assert (calibrated.predicted == target.predicted).all(), "the predicted class stays"
    order = np.random.default_rng(0).permutation(len(reference))
    again = fresh.fit(reference.take(order))(target)
    rule = "the order of reference rows does not matter"
    assert np.allclose(again.probabilities, calibrated.probabilities, atol=1e-6), rule
    powered = present(reference.probabilities) ** 3
    overconfident = reference.with_probabilities(
        powered / powered.sum(axis=1, keepdims=True), "sharpened"
    )
    cured = fresh.fit(overconfident)(overconfident)
    assert _gap(cured) < _gap(overconfident), "over-confidence on the reference is cured"


def _gap(record: Predictions) -> float:
    confidence = present(record.probabilities)[np.arange(len(record)), record.predicted]
    return abs(float(confidence.mean()) - record.accuracy)


def check_metric(factory: Callable[..., Any]) -> None:
    """Every rule of `oodometer.metrics.Metric`, for a class or a factory."""
    rng = np.random.default_rng(4)
    metric = factory()
    _check_documented(type(metric))
    of_classes = metric.why_not(example_record(50)) is None
    # some metrics are of candidates alone
    example = example_record if of_classes else example_candidates
    # or of questions asked several times, or not answered
    if metric.why_not(example(50)) is not None:

        def example(*args: Any, **how: Any) -> Predictions:
            repeated = example_record(*args, **how)
            rows = np.arange(len(repeated))
            return replace(repeated, columns={"id": rows // 4, "answered": rows % 3 > 0})

    record = example(500, seed=1, difficulty=1.5)
    before = _snapshot(record)
    result = metric.compute(record)
    assert _snapshot(record) == before, "inputs were changed"

    def check_orders(rows: Predictions, shuffled: Predictions, what: str) -> None:
        expected = plain(metric.compute(rows))
        assert _alike(plain(metric.compute(shuffled)), expected), (
            f"the order of {what} does not matter"
        )
        for pieces in _splits(rows, rng):
            merged = plain(metric.finish(metric.folded(pieces)))
            assert _alike(merged, expected), f"merging batches of {what} equals one pass"

    assert _alike(plain(metric.compute(record)), plain(result)), (
        "a second call gives the same result"
    )
    check_orders(record, record.take(rng.permutation(len(record))), "rows")
    candidates = example_candidates(500, seed=1, difficulty=1.5)
    if not _refused(metric.why_not(candidates)):
        check_orders(candidates, in_another_order(candidates, rng), "candidates")
    if metric.gives != "number":
        return
    low, high = metric.bounds
    assert low <= result.lower <= result.value <= result.upper <= high, (
        "value and interval lie within the bounds"
    )
    if metric.bigger_is_better is not None and metric.name not in _BLIND_TO_DIFFICULTY:
        easy = metric.compute(example(3000, seed=4, difficulty=0.4)).value
        hard = metric.compute(example(3000, seed=4, difficulty=6.0)).value
        assert (easy >= hard) == metric.bigger_is_better, f"orientation: easy {easy}, hard {hard}"


# The example record is calibrated at every difficulty, so that errors of calibration say nothing about it; and 1/a and
# 1/b of DiSCA grow as confidences shrink, so that a hard record, of which the model is unsure, may beat an easy one.
_BLIND_TO_DIFFICULTY = (
    "ece",
    "ece_equal_mass",
    "ece_debiased",
    "smece",
    "ks_calibration_error",
    "disca",
    "prr",  # in which the easy one has no error to reject
    "answered",  # which rows of it have an answer is the same, too
)


def _alike(a: Any, b: Any) -> bool:
    """Two plain results agree, but for the rounding of sums taken in another order."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_alike(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return (
            isinstance(b, list)
            and len(a) == len(b)
            and all(_alike(x, y) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, float) and isinstance(b, (int, float)):
        return bool(np.isclose(a, b, rtol=1e-6, atol=1e-9))
    return bool(a == b)
