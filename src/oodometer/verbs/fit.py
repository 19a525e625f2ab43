"""The verb `fit`: everything that can be learnt from a reference, once, in an object that can be saved and asked."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

from ..arguments import CHECKS, checked, spoken_in_python
from ..engines import Engine
from ..errors import UsageError
from ..headline.natural_shifts import NaturalShifts
from ..kernels import limited_to
from ..passes.folding import Execution, enter_phase
from ..passes.run_folder import run_folder as in_run_folder
from ..results import percent
from ..results.backtest import Backtest
from ..results.estimation import Estimation
from ..runs import places_of_run
from ..store import refuse_clashes
from .clusters import cluster_column
from .estimate import estimate
from .estimate.learning import learn
from .estimate.metric_answers import check_metric_names
from .estimate.options import EstimateOptions
from .estimate.recalling import told_of_fit
from .estimate.reference_figures import reference_figures
from .features import check_features, with_features
from .fitted import Contents, FittedSource, check_ending
from .opening import Opener, renamings


class Oodometer:
    """What `estimate` learns from a reference, learnt once: ``Oodometer().fit(reference).estimate(target)``.

    It has the habits of a scikit-learn estimator (`get_params`, `set_params`, `sklearn.base.clone`), and its results
    are those of `estimate` with the same options. `save` writes one file that `load`, `estimate` and the command line
    take in the reference's place; no pickle is involved.

    Parameters
    ----------
    methods, level, target_accuracies, calibrator, classes, mapping, positive, threshold, features, cluster, \
backtest, diagnosis, prior, metrics, payoff, seed :
        As in `estimate`. They are checked by `fit`.

    Attributes
    ----------
    fitted_ : what was learnt; there after `fit` or `load`.

    >>> reference = {"probabilities": [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40, "label": [0, 0, 1] * 40}
    >>> odometer = Oodometer(methods=["source", "atc"]).fit(reference)
    >>> odometer
    Oodometer(methods=['source', 'atc']), fitted on 120 rows of table (66.7 % right): source, atc
    >>> odometer.estimate({"probabilities": [[0.9, 0.1], [0.6, 0.4]] * 40})["atc"].value
    0.5
    """

    fitted_: Contents

    def __init__(
        self,
        *,
        methods: Sequence[str] | None = None,
        level: float = 0.95,
        target_accuracies: Sequence[float] = (0.95,),
        calibrator: str = "auto",
        classes: Sequence[int | str] | None = None,
        mapping: Mapping[str, str] | None = None,
        positive: str | None = None,
        threshold: float | None = None,
        features: str | Sequence[str] | None = None,
        cluster: str | None = None,
        backtest: str | Path | Backtest | None = "auto",
        diagnosis: bool = True,
        prior: str | PathLike[str] | NaturalShifts | None = None,
        metrics: Sequence[str] = (),
        payoff: Any = None,
        seed: int = 0,
    ) -> None:
        self.methods = methods
        self.level = level
        self.target_accuracies = target_accuracies
        self.calibrator = calibrator
        self.classes = classes
        self.mapping = mapping
        self.positive = positive
        self.threshold = threshold
        self.features = features
        self.cluster = cluster
        self.backtest = backtest
        self.diagnosis = diagnosis
        self.prior = prior
        self.metrics = metrics
        self.payoff = payoff
        self.seed = seed

    @spoken_in_python(list(inspect.signature(__init__).parameters))
    def fit(
        self,
        reference: Any,
        y: None = None,
        *,
        where: str | Sequence[str] | None = None,
        engine: str | Engine = "local",
        workers: int | None = None,
        run_folder: str | PathLike[str] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Learn from a labelled reference (a file, a frame, a dict of arrays, a `Predictions`, or a list of them); from
        those of its rows for which ``where`` holds. The other arguments are those of the function `fit`.

        Raises `InputError` and `UsageError` as `estimate` does. ``y`` is not used: labels stand in the reference.
        """
        if y is not None:
            raise UsageError("labels belong into the reference, as its column `label`; fit takes no y")
        options = replace(self._options(), execution=Execution(engine, workers, progress))
        about = {} if run_folder is None else {"verb": "fit", **places_of_run(reference=reference)}
        with limited_to(workers), in_run_folder(run_folder, about) as folder:
            placed = replace(options, execution=replace(options.execution, folder=folder))
            self.fitted_ = _contents(reference, placed, where)
        return self

    def estimate(self, target: Any, **asked: Any) -> Estimation:
        """The accuracy on a target without labels; ``asked`` are arguments of `estimate` about the target: by, every,
        where, labels, key, assume, margin, fail_below, fail_drop, fail_when, engine, workers, store, job, alarms,
        progress. A ``mapping`` is added to that of the fit.

        Raises `UsageError` before `fit`, and for options that another fit would be needed for.
        """
        self._check_fitted()
        return estimate(self, target, **asked)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a ``.oodo`` file, whole or not at all; the same fit gives the same bytes.

        It holds a sample of the reference's rows (at most 200,000, and 4 million numbers) for `diagnose`, `audit` and
        `backtest`. Raises `UsageError` before `fit` and for another ending.
        """
        return self._check_fitted().save(path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a file that `save` or ``oodometer fit`` wrote; `InputError` for anything else, nothing of which is run.

        A file of another version of oodometer is refused: what was learnt may mean something else there.
        """
        check_ending(path)
        kept = FittedSource.of(path).contents
        usual = {name: one.default for name, one in inspect.signature(cls.__init__).parameters.items()}
        given = {name: value for name, value in kept.options.items() if name in usual}
        given |= {name: tuple(value) for name, value in given.items() if isinstance(usual[name], tuple)}
        made = cls(**given, prior=kept.prior)
        made.fitted_ = kept
        return made

    def _options(self) -> EstimateOptions:
        """The parameters, each checked by its name."""
        given: dict[str, Any] = self.get_params()
        for name, value in given.items():
            if (value is not None or name == "seed") and not isinstance(value, NaturalShifts):
                check = {"features": check_features, "metrics": check_metric_names}.get(name) or CHECKS[name]
                given[name] = check(name, value)
        given["mapping"] = renamings(given["mapping"], given["positive"])
        return EstimateOptions(**given)

    # ------------------------------------------------------------------------- habits of scikit-learn

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; what was fitted before stays until `fit`. `UsageError` for one that there is not."""
        known = self._names()
        for name, value in params.items():
            if name not in known:
                raise UsageError(f"Oodometer has no parameter {name!r}; known: {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")

    def __sklearn_tags__(self) -> Any:
        """Those of any estimator, for scikit-learn, which asks and is loaded then; nothing else needs it."""
        return sys.modules["sklearn.base"].BaseEstimator().__sklearn_tags__()

    def __fitted_reference__(self) -> Contents:
        """What was learnt, for verbs that take a reference."""
        return self._check_fitted()

    def _check_fitted(self) -> Contents:
        if not hasattr(self, "fitted_"):
            raise UsageError("this Oodometer has not been fitted; call fit(reference) first, or Oodometer.load(path)")
        return self.fitted_

    def __repr__(self) -> str:
        usual = {name: one.default for name, one in inspect.signature(type(self).__init__).parameters.items()}
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value is not usual[name])
        told = f"{type(self).__name__}({given})"
        if not hasattr(self, "fitted_"):
            return told
        fitted = self.fitted_.fitted
        rows, correct = fitted.counts
        methods = list(fitted.plan.methods)
        named = ", ".join(methods) if len(methods) <= _FEW else f"{len(methods)} methods"
        return f"{told}, fitted on {rows} rows of {fitted.name} ({percent(correct / rows)} right): {named}"


_FEW = 3  # methods that a line has room for


@checked(features=check_features, metrics=check_metric_names)
def fit(
    reference: Any,
    *,
    out: str | PathLike[str] | None = None,
    where: str | Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    level: float = 0.95,
    target_accuracies: Sequence[float] = (0.95,),
    calibrator: str = "auto",
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    positive: str | None = None,
    threshold: float | None = None,
    features: str | Sequence[str] | None = None,
    cluster: str | None = None,
    backtest: str | Path | Backtest | None = "auto",
    diagnosis: bool = True,
    prior: str | PathLike[str] | None = None,
    metrics: Sequence[str] = (),
    payoff: Any = None,
    engine: str | Engine = "local",
    workers: int | None = None,
    seed: int = 0,
    run_folder: str | PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Oodometer:
    """Learn everything that `estimate` needs from a reference, once; ``out`` is the ``.oodo`` file to keep it in.

    Parameters
    ----------
    reference, methods, level, target_accuracies, calibrator, classes, mapping, positive, threshold, features, \
cluster, backtest, diagnosis, prior, metrics, payoff, seed :
        As in `estimate`.
    out :
        Where to write what was learnt; None for nowhere.
    where :
        Conditions on rows of the reference, as `estimate` has them on those of a target; others are not learnt from.
    engine, workers :
        Where the reference is read, as in `estimate` a target. What is learnt then, in seconds, is learnt here.
    run_folder :
        Folder that keeps what each part of the reference leaves (its share of a sample of 1 million rows or 52 million
        numbers, and counts), so that a run that was killed goes on, and of a folder of files only new ones are read.
    progress :
        Called with (parts of the reference read, parts).

    Returns an `Oodometer`, whose `estimate` may be asked about one target after another. Raises as `estimate` does.

    >>> reference = {"probabilities": [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40, "label": [0, 0, 1] * 40}
    >>> fit(reference, methods=["doc"]).estimate({"probabilities": [[0.9, 0.1], [0.6, 0.4]] * 40}).estimates[0].method
    'doc'
    """
    given = dict(locals())
    if out is not None:
        check_ending(out)
        refuse_clashes({"out": out}, reference if isinstance(reference, (list, tuple)) else [reference])
    made = Oodometer(**{name: given[name] for name in Oodometer._names()})
    made.fit(reference, where=where, engine=engine, workers=workers, run_folder=run_folder, progress=progress)
    if out is not None:
        made.save(out)
    return made


def _contents(reference: Any, options: EstimateOptions, where: str | Sequence[str] | None) -> Contents:
    """What is learnt from a reference."""
    enter_phase(options.execution.progress, "reading")
    opener = Opener(options.mapping, options.threshold, options.positive)
    sources = opener.references(reference, options.classes, where)
    if isinstance(sources[0], FittedSource):
        raise UsageError(f"{sources[0].path or 'this Oodometer'} is fitted already; give the reference itself to fit")
    opener.check()
    for source in sources:
        cluster_column(source, options.cluster, 0)
    sources, _ = with_features(sources, None, options.features)
    shifts = None if options.prior is None else options.natural_shifts
    fitted, _ = learn(sources, options)
    fitted.warnings.extend(opener.notes)
    figures = reference_figures(fitted.plan, fitted.record, options.level)
    how: dict[str, Any] = {"threshold": options.threshold, "options": told_of_fit(options)}
    how["mapping"] = opener.mapping or None
    return Contents(fitted, figures, opener.axes, **how, encoding=sources[0].encoding, prior=shifts)
