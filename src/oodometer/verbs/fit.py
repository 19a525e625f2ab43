"""The verb `fit`: everything that can be learnt from a reference, once, in an object that can be saved and asked."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

from ..errors import OodometerError, UsageError
from ..options import declared, reword, takes, verb
from ..passes.folding import Execution, enter_phase
from ..passes.slicing import check_slices
from ..results import percent
from ..results.estimation import Estimation
from ..store import refuse_clashes
from ..store.columns import unknown_column
from ..vectors import given_pair, several
from .clusters import cluster_column
from .estimate import estimate, with_history
from .estimate_job import EstimateJob
from .fitted import FITTED, Fitted, FittedSource, check_ending
from .learning import learn, reference_figures
from .opening import executing, opener_for, with_features
from .options import FitOptions, Learnt, RefitOptions, TargetOptions

# parameters of an `Oodometer`
_USUAL = {name: field.default for name, field, _ in declared(Learnt)}


class Oodometer:
    """What `estimate` learns from a reference, learnt once: ``Oodometer().fit(y, p).estimate(p_target)``, or of tables.

    It has the habits of a scikit-learn estimator (`get_params`, `set_params`, `sklearn.base.clone`), and its results
    are those of `estimate` with the same options. `save` writes one file that `load`, `estimate` and the command line
    take in the reference's place; no pickle is involved.

    Its parameters are those of `estimate` that shape what is learnt; they are checked by `fit`.
    Groups, ``columns=oodometer.Columns(...)`` and ``inference=oodometer.Inference(...)``, stand for several of them.

    Attributes
    ----------
    fitted_ : what was learnt; there after `fit` or `load`.

    >>> y, p = [0, 0, 1] * 40, [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40
    >>> odometer = Oodometer(methods=["source", "atc"]).fit(y, p)
    >>> odometer
    Oodometer(methods=['source', 'atc']), fitted on 120 rows of table (66.7 % right): source, atc
    >>> odometer.estimate([[0.9, 0.1], [0.6, 0.4]] * 40)["atc"].value
    0.5
    """

    fitted_: Fitted

    @takes(Learnt, flat=True)
    def __init__(self, **parameters: Any) -> None:
        for name, value in parameters.items():
            setattr(self, name, value)

    @takes(RefitOptions)
    def fit(self, **arguments: Any) -> Oodometer:
        """Learn from a labelled reference, from those of its rows for which ``where`` holds.

        Raises `InputError` and `UsageError` as `estimate` does.
        """
        try:
            if arguments["p"] is not None:
                pair = given_pair(
                    arguments["reference"],
                    arguments["p"],
                    *(getattr(self, name) for name in ("classes", "positive")),
                )
                arguments |= {"reference": pair, "p": None}
            options = RefitOptions(**arguments)
            job = EstimateJob.of(
                Learnt(**self.get_params()),
                reference=options.reference,
                target=None,
                by=options.by,
                history=options.history,
                every=options.every,
            )
            with executing("fit", options, reference=options.reference) as execution:
                self.fitted_ = _fitted(job, options.where, execution)
        except OodometerError as error:
            reword(error, _USUAL)
            raise
        return self

    @takes(TargetOptions)
    def estimate(self, **options: Any) -> Estimation:
        """The accuracy on a target without labels. A ``mapping`` is added to that of the fit.

        Raises `UsageError` before `fit`, and for options that another fit would be needed for.
        """
        self._check_fitted()
        return estimate(self, **options)

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
        fitted = Fitted.read_file(path)
        params = {name: value for name, value in fitted.options.items() if name in _USUAL}
        params |= {
            name: tuple(value) for name, value in params.items() if isinstance(_USUAL[name], tuple)
        }
        oodometer = cls(**params, prior=fitted.prior)
        oodometer.fitted_ = fitted
        return oodometer

    # ------------------------------------------------------------------------- habits of scikit-learn

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor."""
        return {name: getattr(self, name) for name in _USUAL}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; what was fitted before stays until `fit`. `UsageError` for one that there is not."""
        for name, value in params.items():
            if name not in _USUAL:
                raise UsageError(f"Oodometer has no parameter {name!r}; known: {', '.join(_USUAL)}")
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")

    def __sklearn_tags__(self) -> Any:
        """Those of any estimator, for scikit-learn, which asks and is loaded then; nothing else needs it."""
        return sys.modules["sklearn.base"].BaseEstimator().__sklearn_tags__()

    def __fitted_reference__(self) -> Fitted:
        """What was learnt, for verbs that take a reference."""
        return self._check_fitted()

    def _check_fitted(self) -> Fitted:
        if not hasattr(self, "fitted_"):
            # whoever loaded it may catch its own class
            theirs = sys.modules.get("sklearn.exceptions")
            kinds = (UsageError,) if theirs is None else (UsageError, theirs.NotFittedError)
            message = (
                "this Oodometer has not been fitted; call fit(y, p) or "
                "fit(reference) first, or Oodometer.load(path)"
            )
            raise type("NotFittedError", kinds, {})(message)
        return self.fitted_

    def __repr__(self) -> str:
        params = ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not _USUAL[name]
        )
        text = f"{type(self).__name__}({params})"
        if not hasattr(self, "fitted_"):
            return text
        fitted, reference = self.fitted_, self.fitted_.reference
        methods = list(fitted.plan.methods)
        named = ", ".join(methods) if len(methods) <= _FEW else f"{len(methods)} methods"
        right = percent(reference.correct / reference.rows)
        return f"{text}, fitted on {reference.rows} rows of {fitted.name} ({right} right): {named}"


_FEW = 3  # methods that a line has room for


@verb(FitOptions)
def fit(options: FitOptions) -> Oodometer:
    """Learn everything that `estimate` needs from a reference, once; ``out`` is the ``.oodo`` file to keep it in.

    Returns an `Oodometer`, whose `estimate` may be asked about one target after another. Raises as `estimate` does.

    >>> reference = {"probabilities": [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40, "label": [0, 0, 1] * 40}
    >>> fit(reference, methods=["doc"]).estimate({"probabilities": [[0.9, 0.1], [0.6, 0.4]] * 40}).estimates[0].method
    'doc'
    """
    if options.out is not None:
        check_ending(options.out)
        refuse_clashes({"out": options.out}, several(options.reference))
    oodometer = Oodometer(**{name: getattr(options, name) for name in _USUAL})
    oodometer.fit(**{name: getattr(options, name) for name, _, _ in declared(RefitOptions)})
    if options.out is not None:
        oodometer.save(options.out)
    return oodometer


def _fitted(
    options: EstimateJob, where: str | Sequence[str] | None, execution: Execution
) -> Fitted:
    enter_phase(execution.progress, "reading")
    opener = opener_for(options)
    sources = opener.references(options.reference, options.classes, where, options.extra_columns)
    if isinstance(sources[0], FittedSource):
        raise UsageError(
            f"{sources[0].path or 'this Oodometer'} is fitted already; give the reference itself to fit"
        )
    past = [opener.history(data) for data in options.past_data]
    opener.check()
    for source in sources:
        cluster_column(source, options.cluster, 0)
        if options.by is not None and not source.holds(options.by):
            message = f"{source.name}: there is no column {options.by} to slice by"
            raise unknown_column(
                options.by, message, source.columns, "; name another one with --by, or leave it out"
            )
    sources, _ = with_features(sources, None, options.features)
    shifts = None if options.prior is None else options.natural_shifts
    fitted = learn(sources, options, execution)
    if options.by is not None:
        check_slices({("by", value) for value, _ in fitted.reference.verdicts}, options.by)
    fitted.warnings.extend(map(str, opener.notes))  # plain sentences, as a file keeps them
    if past:
        fitted = with_history(fitted, past, options, execution)
    plain = {name: getattr(options, name) for name in FITTED}  # values that a file can hold
    plain |= {name: list(value) for name, value in plain.items() if isinstance(value, tuple)}
    plain |= {name: dict(value) for name, value in plain.items() if isinstance(value, Mapping)}
    return replace(
        fitted,
        figures=reference_figures(fitted, options.level),
        options=plain,
        mapping=opener.mapping or None,
        threshold=options.threshold,
        encoding=sources[0].encoding,
        axes=opener.axes,
        prior=shifts,
    )
