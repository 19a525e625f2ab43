"""The verb `diagnose`: what kind of shift is there between a reference and a target?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..arguments import checked
from ..audits.joining import wrong_where_unseen
from ..classes import NewLabelError, said_of_classes
from ..diagnoses import Diagnosis, Diagnostician
from ..engines import Engine
from ..passes.fitting import choose
from ..passes.folding import Execution
from ..passes.plan import EstimationPlan, batch_rows
from ..passes.reference import read_reference
from ..passes.run_folder import run_folder as in_run_folder
from ..passes.slicing import WHOLE
from ..runs import places_of_run
from .features import about_features, check_features, with_features
from .fitted import faults_of_fitted
from .opening import Opener, renamings, with_classes_of_all

_PART_ROWS = 1 << 17


@checked(features=check_features)
def diagnose(
    reference: Any,
    target: Any,
    *,
    where: str | Sequence[str] | None = None,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    positive: str | None = None,
    threshold: float | None = None,
    features: str | Sequence[str] | None = None,
    engine: str | Engine = "local",
    workers: int | None = None,
    seed: int = 0,
    run_folder: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Look at a labelled reference and an unlabelled target, and say what kind of shift lies between them.

    Parameters
    ----------
    reference, target :
        As in `estimate`. Features let new inputs be seen; without them much stays unknown.
    where, classes, mapping, positive, threshold, features, engine, workers, run_folder :
        As in `estimate`.
    seed :
        Seed of the bootstraps and of the classifier's folds.
    progress :
        Called with (parts done, parts in all).

    Raises `InputError` for input that cannot be read. What a test needs and does not find, it leaves out.

    >>> reference = {"probabilities": [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]] * 40, "label": [0, 1, 1] * 40}
    >>> diagnose(reference, {"probabilities": [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]] * 40}).kind
    'none'
    """
    about = {} if run_folder is None else {"verb": "diagnose", **places_of_run(reference=reference, target=target)}
    with in_run_folder(run_folder, about) as folder, faults_of_fitted(reference):
        execution = Execution(engine, workers, progress, folder)

        def run(classes: Sequence[int | str] | None, unseen: bool = False) -> Diagnosis:
            opener = Opener(renamings(mapping, positive), threshold, positive)
            (own,) = opener.references([reference], classes)
            own, said = wrong_where_unseen(own) if unseen else (own, ())
            away = opener.target(target, where=where)
            opener.check()
            (first,), rows = with_features([own], away, features)
            assert rows is not None
            try:
                read = read_reference(first, execution=execution.heard_by(None), seed=seed)
            except NewLabelError:
                if unseen or classes is not None:
                    raise
                return run(classes, unseen=True)
            choice = choose(read.record, "auto", seed)
            fitted = Diagnostician(seed=seed, columns=first.users).fit(choice.apply(read.record))
            plan = EstimationPlan(choice, {}, rows=batch_rows(read.record.num_classes), diagnostician=fitted)
            state = plan.read(rows.parts(_PART_ROWS, execution.each), execution)
            found = fitted.finish(state[WHOLE]["diagnosis"])
            warnings = (*opener.notes, *said, *said_of_classes(read.record.noted, "the reference"))
            return replace(found, features=about_features(first), warnings=warnings)

        again = Opener(renamings(mapping, positive), threshold, positive)
        return with_classes_of_all(run, [reference, target], again, classes)
