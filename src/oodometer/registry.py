"""The registry: (kind, name) -> class, plugins through entry points; knows none of its members.

A method registers itself where it is defined; importing a floor (``oodometer.scores``) fills the table. A package may
bring a kind of its own, with its floor, in the group ``oodometer.kinds``: the lab brings shifts, attributions and
factors. A plugin package names its class under the entry-point group ``oodometer.scores``, ``oodometer.estimators``,
``oodometer.metrics``, ``oodometer.calibrators``, ``oodometer.rankers``, ``oodometer.simulations``,
``oodometer.shifts``, ``oodometer.attributions``, ``oodometer.factors`` or ``oodometer.engines``. A name may carry an
argument after a colon: ``threshold:margin``. Whatever a method of someone else does, it ends as a reason why it was
left out, never as a crash.
"""

from __future__ import annotations

import importlib
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, TypeVar, final, get_args

from . import plugins
from .errors import NotApplicable, OodometerError, UsageError, WorkError

MethodKind = Literal[
    "score",
    "estimator",
    "metric",
    "calibrator",
    "ranker",
    "simulation",
    "shift",
    "attribution",
    "factor",
    "engine",
]
METHOD_KINDS: tuple[MethodKind, ...] = get_args(MethodKind)
# Where the kinds of the core live; those of others are plugged in.
_FLOORS: dict[str, str] = {
    "score": "scores",
    "estimator": "estimators",
    "metric": "metrics",
    "calibrator": "calibrators",
    "ranker": "accuracy_proxies",
    "simulation": "simulations",
    "engine": "engines",
}
C = TypeVar("C", bound=type)
T = TypeVar("T")

_table: dict[str, dict[str, type]] = {kind: {} for kind in METHOD_KINDS}
_loaded: set[str] = set()
_plugins_loaded: set[str] = set()
_broken: dict[str, dict[str, str]] = {kind: {} for kind in METHOD_KINDS}


def register(kind: MethodKind) -> Callable[[C], C]:
    """Class decorator: put a class with a ``name`` attribute into the table; from then on it is final.

    Raises `UsageError` when another class holds the name already, and for a name with a colon, which is where an
    argument begins.

    >>> @register("score")
    ... class Coin:
    ...     name = "doctest-coin"
    >>> find("score", "doctest-coin") is Coin
    True
    >>> _ = unregister("score", "doctest-coin")
    """

    def add(cls: C) -> C:
        name: str = cls.name  # type: ignore[attr-defined]
        if ":" in name:
            raise UsageError(
                f"expected a {kind} name without a colon, got {name!r}; an argument follows one"
            )
        present = _table[kind].get(name)
        if present is not None and present.__qualname__ != cls.__qualname__:
            raise UsageError(
                f"two classes want the {kind} name {name!r}: {present!r} and {cls!r}; rename one"
            )
        foreign = is_foreign(cls)
        if kind in ("score", "calibrator"):  # asked at every call of one
            cls._is_foreign = foreign  # type: ignore[attr-defined]
        if foreign and hasattr(getattr(cls, "traits", None), "check"):
            cls.traits.check()  # type: ignore[attr-defined]
        _table[kind][name] = cls
        return final(cls)

    return add


def unregister(kind: MethodKind, name: str) -> type | None:
    """Take a class out of the table (for tests); returns it, or None where there was none."""
    return _table[kind].pop(name, None)


def _floor(kind: MethodKind) -> ModuleType:
    """The package where a kind lives; `UsageError` where it is not here."""
    if kind in _FLOORS:
        return importlib.import_module(f"{__package__}.{_FLOORS[kind]}")
    floor: ModuleType = plugins.load("kinds", kind, f"the kind {kind}")
    return floor


def kinds() -> tuple[MethodKind, ...]:
    """The kinds whose package is here: those of the core, and those that others bring.

    >>> "score" in kinds()
    True
    """
    return tuple(
        kind for kind in METHOD_KINDS if kind in _FLOORS or kind in plugins.plugged("kinds")
    )


def _load(kind: MethodKind) -> None:
    """Import the floor of this kind."""
    if kind not in _loaded:
        order = {id(var): at for at, var in enumerate(vars(_floor(kind)).values())}
        _table[kind] = dict(
            sorted(_table[kind].items(), key=lambda item: order.get(id(item[1]), len(order)))
        )
        # after the import: one that failed must fail again, not leave an empty table
        _loaded.add(kind)


def _load_plugins(kind: MethodKind) -> None:
    """Import the floor of this kind, then the plugins; a broken plugin warns and is left out."""
    _load(kind)
    if kind in _plugins_loaded:
        return
    _plugins_loaded.add(kind)
    from importlib.metadata import entry_points

    for entry in entry_points(group=f"oodometer.{kind}s"):
        try:
            register(kind)(_checked(kind, entry.load()))
        except FAILURES as error:  # a plugin may fail in any way; the rest of the house must stand
            _broken[kind][entry.name] = why = reason(entry.name, True, error)
            warnings.warn(f"{why}; it was left out ({entry.value})", stacklevel=2)


def _checked(kind: MethodKind, candidate: Any) -> type:
    """A class that the contract of its floor fits; `TypeError` otherwise."""
    floor = importlib.import_module(f"{_floor(kind).__name__}.base")
    contract: type = getattr(floor, kind.capitalize())
    if not (isinstance(candidate, type) and issubclass(candidate, contract)):
        raise TypeError(
            f"expected a class that derives from {contract.__name__}, got {candidate!r}"
        )
    if not (isinstance(getattr(candidate, "name", None), str) and candidate.name):  # type: ignore[attr-defined]
        raise TypeError(f"{candidate.__name__} has no `name`, which is to be a text")
    absent = sorted(getattr(candidate, "__abstractmethods__", ()))
    if absent:
        raise TypeError(f"{candidate.__name__} does not define {', '.join(absent)}")
    needs = getattr(candidate, "needs", ())
    if not (isinstance(needs, tuple) and all(isinstance(need, (str, tuple)) for need in needs)):
        raise TypeError(f"{candidate.__name__} has `needs` that is no tuple of names: {needs!r}")
    traits, usual = (getattr(cls, "traits", None) for cls in (candidate, contract))
    if not isinstance(traits, type(usual)):
        raise TypeError(
            f"{candidate.__name__} has `traits` that are no {type(usual).__name__}: {traits!r}"
        )
    return candidate


def broken(kind: MethodKind) -> dict[str, str]:
    """Names of the plugins of a kind that could not be loaded, and why."""
    _load_plugins(kind)
    return dict(_broken[kind])


def names(kind: MethodKind) -> list[str]:
    """Names registered for a kind, in order of registration (the order of presentation).

    >>> "max_probability" in names("score")
    True
    """
    _load_plugins(kind)
    return list(_table[kind])


def find(kind: MethodKind, name: str) -> Any:
    """The class under a name (an argument after a colon is ignored here); `UsageError` lists near names."""
    _load(kind)
    head = name.partition(":")[0]
    if head not in _table[kind]:
        _load_plugins(kind)
    cls = _table[kind].get(head)
    if cls is None and head in _broken[kind]:
        raise UsageError(_broken[kind][head])
    if cls is None:
        import difflib

        near = difflib.get_close_matches(name.lower(), _table[kind], n=3, cutoff=0.5)
        near = (
            near
            or [
                candidate
                for candidate in _table[kind]
                if len(name) > 1 and name.lower() in candidate
            ][:3]
        )
        hint = f"did you mean {' or '.join(near)}" if near else "`oodometer methods` lists them"
        hint = _NOT_OURS.get(kind, {}).get(_folded(head), hint)
        raise UsageError(f"unknown {kind} {name!r}; {hint}")
    return cls


def named(kind: MethodKind, name: str) -> str:
    """Our name of what may be called otherwise elsewhere (`ROC-AUC`, `auc`); an unknown name as it is.

    >>> named("metric", "Brier score"), named("metric", "nothing-like-it")
    ('brier', 'nothing-like-it')
    """
    _load(kind)
    return canonical(kind, name, _table[kind])


def those(kind: MethodKind, holds: Callable[[Any], bool]) -> tuple[str, ...]:
    """Names of the classes of a kind for which something holds, in the order that the classes state. Plugins are among
    them once they are loaded, which a list of all names asks for.
    """
    return tuple(cls.name for cls in classes_of(kind) if holds(cls))


def classes_of(kind: MethodKind) -> list[Any]:
    """The classes of a kind that are loaded, in the order that they state."""
    _load(kind)
    return sorted(
        _table[kind].values(), key=lambda cls: getattr(getattr(cls, "traits", None), "order", 0)
    )


def known(kind: MethodKind, name: str) -> Any:
    """The class under a name, or None where none is loaded: `find` for names that may be anybody's."""
    _load(kind)
    return _table[kind].get(name.partition(":")[0])


def holds(kind: MethodKind, cls: type) -> bool:
    """Whether a class is registered under its name, without loading anything."""
    return _table[kind].get(getattr(cls, "name", "")) is cls


def create(kind: MethodKind, name: str, **options: Any) -> Any:
    """Make the object under a name; ``head:argument`` calls ``cls.from_argument(argument)``.

    >>> create("estimator", "threshold:margin").score_name
    'margin'
    """
    cls = find(kind, name)
    head, colon, argument = name.partition(":")
    if colon:
        if not hasattr(cls, "from_argument"):
            raise UsageError(f"the {kind} {head!r} takes no argument, got {name!r}; write {head!r}")
        return cls.from_argument(argument, **options)
    return cls(**options)


# SystemExit among them: a method has no say in the end of the program. Ctrl-C passes.
FAILURES = (Exception, SystemExit)

_LOG = logging.getLogger("oodometer.plugins")
_HOME = __name__.partition(".")[0]
_OURS = (_HOME, f"{_HOME}_lab")


class PluginError(WorkError):
    """A method failed in a way that it should not; the message names it, on one line."""


def is_foreign(method: Any) -> bool:
    """Whether a method (or its class) comes from a package other than ours."""
    cls = method if isinstance(method, type) else type(method)
    return cls.__module__.partition(".")[0] not in _OURS


def why_failed(name: str, method: Any, error: BaseException) -> str:
    """The reason to print; raises the error again where it is meant for the user, as wrong input is."""
    if isinstance(error, (NotApplicable, PluginError)):
        return str(error)
    if isinstance(error, OodometerError) and not is_foreign(method):
        raise error
    return reason(name, is_foreign(method), error)


def answer(method: Any, work: Callable[[], T], check: Callable[[T], Any] | None = None) -> T:
    """What ``work`` gives; of a method of someone else `PluginError` where it fails or does not pass the check."""
    if not is_foreign(method):
        return work()
    try:
        result = work()
        if check is not None:
            check(result)
    except NotApplicable:
        raise
    except FAILURES as error:
        raise PluginError(why_failed(method.name, method, error)) from error
    return result


def reason(name: str, foreign: bool, error: BaseException | str) -> str:
    """One line that says what failed and how; the log has the traceback (`--debug` shows it)."""
    if isinstance(error, BaseException):
        _LOG.debug("%s failed", name, exc_info=error)
        text_of_error = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    else:
        text_of_error = error
    text = " ".join(f"{'plugin ' if foreign else ''}{name} failed: {text_of_error}".split())
    text = text if len(text) <= 300 else text[:297] + "..."
    return text if foreign else f"{text}; report it"


@dataclass(frozen=True)
class Failed:
    """Stands for the state of a method that failed on a batch; whatever it is merged with has failed, too."""

    why: str

    def __add__(self, other: Any) -> Failed:
        return self

    def __radd__(self, other: Any) -> Failed:
        return self


def guarded(name: str, method: Any, work: Callable[[], Any], kind: type = object) -> Any:
    """What ``work`` gives, a `Failed` where it raises or gives something that is not of the kind."""
    try:
        result = work()
        if not isinstance(result, kind):
            raise TypeError(f"expected a {kind.__name__}, got {type(result).__name__}")
    except FAILURES as error:
        return Failed(why_failed(name, method, error))
    return result


def merged(name: str, method: Any, merge: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Two states as one."""
    if isinstance(a, Failed) or isinstance(b, Failed):
        return a if isinstance(a, Failed) else b
    return guarded(name, method, lambda: merge(a, b))


def unless_failed(state: Any) -> Any:
    """The state; `PluginError` with the reason where the method has failed before."""
    if isinstance(state, Failed):
        raise PluginError(state.why)
    return state


@contextmanager
def tracebacks_on(enabled: bool) -> Iterator[None]:
    """Inside, where wanted, the tracebacks of failed methods are shown on standard error."""
    if not enabled:
        yield
        return
    handler = logging.StreamHandler()
    before = _LOG.level
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        _LOG.removeHandler(handler)
        _LOG.setLevel(before)


# Ours -> what others write, without signs between words; of several of ours the first that is known is meant.
_ALIASES: dict[str, dict[str, str]] = {
    "metric": {
        "accuracy": "acc",
        "roc_auc": "auc auroc rocaucscore",
        "average_precision": "ap auprc prauc averageprecisionscore",
        "f1": "f1 f1score fscore",
        "precision": "precision precisionscore ppv",
        "recall": "recall recallscore sensitivity tpr",
        "balanced_accuracy": "bacc balancedaccuracyscore",
        "specificity": "tnr selectivity",
        "ks_statistic": "ksstat kolmogorovsmirnov",
        "macro_f1": "f1 f1score fscore f1macro",
        "macro_precision": "precision precisionscore precisionmacro",
        "macro_recall": "recall recallscore recallmacro bacc balancedaccuracyscore",
        "mcc": "matthewscorrcoef",
        "cohen_kappa": "kappa cohenkappa cohenkappascore",
        "log_loss": "logloss crossentropy",
        "nll": "logloss crossentropy negativeloglikelihood",
        "brier": "brierscore brierscoreloss",
        "confusion": "confusionmatrix",
        "per_class": "classificationreport",
        "fpr_at_95_tpr": "fprat95 fpr95tpr fpr95",
        "top_k_accuracy": "topk topkaccuracyscore",
        "expected_value": "value businessvalue",
        "prr": "predictionrejectionratio rejectionratio",
        "operating_points": "sgr selectionwithguaranteedrisk ltt learnthentest",
        "conformal_risk": "crc conformalriskcontrol",
    },
    "estimator": {
        "cbpe": "confidencebasedperformanceestimation",
        "sld": "em saerens mlls",
        "gde": "generalizeddisagreementequality",
        "dis2": "disagreementdiscrepancy",
    },
}


# Curves of k answers, as the field writes them: pass@8, pass^4, maj@k, and several, pass^1,4.
_CURVES = {"pass@": "pass_at_k", "pass^": "pass_hat_k", "maj@": "maj_at_k", "cons@": "maj_at_k"}
_CURVE = re.compile(r"(pass@|pass\^|maj@|cons@)(k|\d+(?:,\d+)*)")

# What others write for another number than one of ours -> what it is of ours, and which name to give.
_NOT_OURS: dict[str, dict[str, str]] = {
    "metric": {
        "ks": "name ks_statistic (of credit scoring: how far scores separate classes) or ks_calibration_error",
        "gini": "it is 2 roc_auc - 1: name roc_auc",
        "fpr": "it is 1 - specificity: name specificity",
        "fnr": "it is 1 - recall: name recall",
        "npv": "it is the precision of the other class: name precision, with --positive =CLASS for that class",
    }
}


def canonical(kind: str, name: str, known: Iterable[str]) -> str:
    """Our name for what somebody calls a method; the same name where it is ours, or where none is meant. Capitals and
    the signs between words do not count; what follows a colon stays.
    """
    known = list(known)
    if kind == "metric" and (curve := _CURVE.fullmatch(name.lower())):
        family, k = curve.groups()
        name = f"{_CURVES[family]}{'' if k == 'k' else f':{k}'}"
    head, colon, argument = name.partition(":")
    if head in known:
        return name
    folded = _folded(head)
    alike = [candidate for candidate in known if _folded(candidate) == folded]
    table = _ALIASES.get(kind, {}).items()
    meant = alike or [
        ours for ours, aliases in table if ours in known and folded in aliases.split()
    ]
    return f"{meant[0]}{colon}{argument}" if meant else name


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
