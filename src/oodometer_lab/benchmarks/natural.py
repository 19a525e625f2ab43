"""Natural: an estimator of one's own on natural shifts, beside what all shipped estimators say of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from oodometer.errors import InputError, NotApplicable, UsageError, WorkError
from oodometer.estimators import Estimator
from oodometer.options import verb
from oodometer.registry import FAILURES, find, names, reason, register, unregister
from oodometer.runs import Kept, running
from oodometer.verbs.estimate import estimate
from oodometer.version import __version__

from ..models.opening import imported
from ..results.benchmark import HEADLINE, Benchmark, BenchmarkCase
from ..verbs.options import BenchmarkOptions
from .natural_cases import KINDS, TABLES, NaturalCase, natural_cases

LEVEL = 0.9
ANSWERS = TABLES / "answers.json"
Triple = tuple[float, float, float]
Answers = dict[str, Triple]
"""Method -> value and ends of its interval."""


@verb(BenchmarkOptions)
def natural(options: BenchmarkOptions) -> Benchmark:
    """Ask estimators about natural shifts whose truth is known, and set them beside all shipped ones.

    An estimator is a class that derives from `oodometer.estimators.Estimator`, asked as `estimate` asks it; or a
    function ``(reference, target, level) -> (value, lower, upper)`` of two `Predictions`, the reference with labels,
    the target without. It answers for 135 targets of 7 public data sets: other people, places and times, and no shift.
    What the shipped ones say was computed once and comes with the package. An error, or numbers that are no interval in
    [0, 1], leave a case out with the reason.

    Raises `UsageError` for what is no estimator, `InputError` for a module that cannot be imported, `WorkError` where
    an estimator answers nowhere.

    >>> def as_before(reference, target, level):
    ...     return reference.accuracy, reference.accuracy - 0.1, min(reference.accuracy + 0.1, 1)
    >>> found = natural(as_before, kinds=["place"])
    >>> [(row.cases, row.sources) for row in found.rows if row.own]
    [(18, 3), (18, 3)]
    """
    contestants = _contestants(options.estimators)
    own = [one.name for one in contestants]
    kinds = kinds_of(options.kinds)
    cases = [case for case in natural_cases() if case.kind in kinds]
    pieces = _asked(contestants, cases, options)
    for name in own:
        if not any(name in piece["answers"] for piece in pieces):
            why = pieces[0]["left_out"][name]
            raise WorkError(f"{name} answered in none of {len(cases)} cases: {why}")
    shipped = shipped_answers()
    return Benchmark(
        version=__version__,
        estimators=tuple(own),
        level=LEVEL,
        cases=tuple(
            BenchmarkCase(
                case=case.key,
                source=case.source,
                kind=case.kind,
                truth=case.truth,
                answers={**shipped[case.key], **_triples(piece["answers"])},
            )
            for case, piece in zip(cases, pieces, strict=True)
        ),
        left_out=_reasons(pieces),
        about={kind: KINDS[kind] for kind in kinds},
        argv=options.argv,
    )


def _asked(
    contestants: Sequence[Contestant], cases: Sequence[NaturalCase], options: BenchmarkOptions
) -> list[Mapping[str, Any]]:
    """What the estimators say of each case; finished cases of an earlier run in the same folder are kept."""
    folder = None if options.run_folder is None else Path(options.run_folder)
    about = {"verb": "benchmark", "estimators": ", ".join(one.name for one in contestants)}
    kept = Kept(folder, about, f"{__version__} {' '.join(one.code for one in contestants)}")
    if folder is not None:
        kept.claim("results of these estimators")
    pieces = []
    with running(kept), _registered(contestants):
        for case in cases:
            key = case.key.replace("/", "_")
            pieces.append(kept.piece(key, partial(_ask, contestants, case)))
            kept.tell(len(pieces), len(cases), 1)
            if options.progress is not None:
                options.progress(len(pieces), len(cases))
    return pieces


def _reasons(pieces: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Method -> reason -> in how many cases it gave no answer for it."""
    out: dict[str, dict[str, int]] = {}
    for piece in pieces:
        for name, why in piece["left_out"].items():
            counts = out.setdefault(name, {})
            counts[why] = counts.get(why, 0) + 1
    return out


def _triples(answers: Mapping[str, Sequence[float]]) -> Answers:
    """Answers as JSON holds them, as tuples."""
    return {name: (value, low, high) for name, (value, low, high) in answers.items()}


def shipped_answers() -> dict[str, Answers]:
    """What the shipped estimators and the headline say of each case, by its key; computed by `ask_shipped`."""
    saved = json.loads(ANSWERS.read_text(encoding="utf-8"))
    return {key: _triples(answers) for key, answers in saved["answers"].items()}


def ask_shipped(case: NaturalCase, backtests: Any = "auto") -> Answers:
    """What `estimate` says of a case by default: every method, and the headline. ``backtests``: where they are kept."""
    found = estimate(case.reference, case.unlabelled, level=LEVEL, backtest=backtests, workers=1)
    said = {one.method: (one.value, one.lower, one.upper) for one in found.estimates}
    head = found.headline
    return {HEADLINE: (head.value, head.lower, head.upper), **said}


def kinds_of(asked: Sequence[str]) -> list[str]:
    """The kinds of shift that were asked for, all by default; `UsageError` for an unknown one."""
    unknown = [kind for kind in asked if kind not in KINDS]
    if unknown:
        raise UsageError(f"unknown kind of shift {unknown[0]!r}; known: {', '.join(KINDS)}")
    return [kind for kind in KINDS if not asked or kind in asked]


@dataclass(frozen=True)
class Contestant:
    """An estimator that takes part.

    name : in tables. ask : case -> value and ends. code : tells it from another version of itself. estimator : its
    class, where it is one.
    """

    name: str
    ask: Callable[[NaturalCase], Triple]
    code: str
    estimator: type[Estimator] | None = None


def _contestants(given: Any) -> list[Contestant]:
    """The estimators that are given, one or several; `UsageError` where none is, or two have one name."""
    several = [*given] if isinstance(given, (list, tuple)) else [given]
    if not several:
        raise UsageError("name at least one estimator, such as module:MyEstimator")
    contestants = [_contestant(one) for one in several]
    own = [one.name for one in contestants]
    if len(set(own)) < len(own):
        raise UsageError(f"two estimators have one name: {', '.join(own)}; rename one")
    return contestants


def _contestant(given: Any) -> Contestant:
    """The estimator given as an object, a registered name or ``module:name``; `UsageError` for anything else."""
    if isinstance(given, str):
        given = imported(given) if ":" in given and not given.startswith("threshold:") else given
    if isinstance(given, str):
        find("estimator", given)
        return Contestant(given, lambda case: _by_estimate(case, given), given)
    cls = type(given) if isinstance(given, Estimator) else given
    if isinstance(cls, type) and issubclass(cls, Estimator):
        name = str(cls.name)
        return Contestant(name, lambda case: _by_estimate(case, name), fingerprint(cls), cls)
    if not callable(given) or isinstance(given, type):
        raise UsageError(
            f"expected an estimator or a function of reference, target and level, got {given!r}; "
            "derive from oodometer.estimators.Estimator, or name a function"
        )
    name = str(getattr(given, "__name__", type(given).__name__)).strip("<>")

    def ask(case: NaturalCase) -> Triple:
        answer: Triple = given(case.reference, case.unlabelled, LEVEL)
        return answer

    return Contestant(name, ask, fingerprint(given))


def fingerprint(thing: Any) -> str:
    """A fingerprint of the file that defines a class or a function; of its name where there is none."""
    try:
        content = Path(inspect.getfile(thing)).read_bytes()
    except (OSError, TypeError):  # typed at a prompt
        content = repr(getattr(thing, "__qualname__", thing)).encode()
    return blake2b(content, digest_size=8).hexdigest()


def _by_estimate(case: NaturalCase, method: str) -> Triple:
    """What `estimate` says by one method: confidences are calibrated as for all others."""
    found = estimate(
        case.reference,
        case.unlabelled,
        methods=[
            method,
            "source",
        ],  # which always answers, so that a method may have nothing to say
        level=LEVEL,
        backtest=None,
        diagnosis=False,
        workers=1,
    )
    for one in found.estimates:
        if one.method == method:
            return one.value, one.lower, one.upper
    raise NotApplicable(
        next((skip.why for skip in found.skipped if skip.method == method), "it gave no answer")
    )


@contextmanager
def _registered(contestants: Sequence[Contestant]) -> Iterator[None]:
    """Inside, classes of estimators are found by their names; those that were not before are taken out again."""
    added = []
    for one in contestants:
        if one.estimator is not None and one.name not in names("estimator"):
            register("estimator")(one.estimator)
            added.append(one.name)
        elif one.estimator is not None and find("estimator", one.name) is not one.estimator:
            raise UsageError(f"there is another estimator {one.name!r}; give yours another name")
    try:
        yield
    finally:
        for name in added:
            unregister("estimator", name)


def _ask(contestants: Sequence[Contestant], case: NaturalCase) -> Mapping[str, Any]:
    """Answers, and reasons where there are none, as JSON holds them."""
    answers, left_out = {}, {}
    for one in contestants:
        try:
            answers[one.name] = _checked(one.ask(case))
        except (NotApplicable, InputError) as error:
            left_out[one.name] = str(error)
        except FAILURES as error:  # an estimator of someone else may fail in any way
            left_out[one.name] = reason(one.name, True, error)
    return {"answers": answers, "left_out": left_out}


def _checked(answer: Any) -> list[float]:
    """Value, lower and upper end as floats; `InputError` for what is no interval in [0, 1]."""
    try:
        value, lower, upper = (float(number) for number in answer)
    except (TypeError, ValueError):
        raise InputError("a value and both ends of its interval", got=repr(answer)[:80]) from None
    if not 0 <= lower <= value <= upper <= 1:  # NaN is in no order
        got = f"{value}, {lower} and {upper}"
        raise InputError("a value between both ends of its interval, all in [0, 1]", got=got)
    return [value, lower, upper]
