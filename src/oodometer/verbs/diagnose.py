"""The verb `diagnose`: what kind of shift is there between a reference and a target?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from ..audits.joining import wrong_where_unseen
from ..classes import said_of_classes
from ..diagnoses import Diagnosis, Diagnostician
from ..errors import UsageError
from ..inference.row_sample import in_content_order
from ..options import verb
from ..passes.folding import Execution
from ..passes.plan import EstimationPlan, State, batch_rows, choose
from ..passes.reference import read_reference
from ..passes.slicing import WHOLE, Chunks, parse_chunks
from ..results.diagnosis import ColumnPeriod
from .opening import (
    about_features,
    executing,
    opener_for,
    with_classes_of_all,
    with_features,
    with_unseen_labels,
)
from .options import DiagnoseOptions

_PART_ROWS = 1 << 17


@verb(DiagnoseOptions)
def diagnose(options: DiagnoseOptions) -> Diagnosis:
    """Look at a labelled reference and an unlabelled target, and say what kind of shift lies between them.

    Features let new inputs be seen; without them much stays unknown. Raises `InputError` for input that cannot be read.
    What a test needs and does not find, it leaves out.

    >>> reference = {"probabilities": [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]] * 40, "label": [0, 1, 1] * 40}
    >>> diagnose(reference, {"probabilities": [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]] * 40}).kind
    'none'
    """
    reference, target = options.reference, options.target
    chunks = None if options.every is None else parse_chunks(options.every, options.timezone or "")
    if chunks is not None and options.features is None:
        raise UsageError("--every follows columns along time; name them with --features, or auto")
    with executing("diagnose", options, reference=reference, target=target) as execution:

        def run(classes: Sequence[int | str] | None) -> Diagnosis:
            return with_unseen_labels(
                partial(_diagnosis, options, execution, chunks, classes), classes
            )

        return with_classes_of_all(run, [reference, target], options)


def _diagnosis(
    options: DiagnoseOptions,
    execution: Execution,
    chunks: Chunks | None,
    classes: Sequence[int | str] | None,
    unseen: bool,
) -> Diagnosis:
    """The diagnosis of files whose ``classes`` are known; ``unseen``: labels may be of others."""
    opener = opener_for(options)
    (source,) = opener.references([options.reference], classes)
    source, notes = wrong_where_unseen(source) if unseen else (source, ())
    away = opener.target(options.target, where=options.where)
    opener.check()
    (first,), rows = with_features([source], away, options.features)
    assert rows is not None
    read = read_reference(first, execution=execution.heard_by(None), seed=options.seed)
    record = in_content_order(read.record)
    choice = choose(record, "auto", options.seed)
    fitted = Diagnostician(seed=options.seed, columns=first.users).fit(choice.apply(record))
    plan = EstimationPlan(
        choice,
        {},
        rows=batch_rows(read.record.num_classes),
        diagnostician=fitted,
        every=chunks,
        drift=None if chunks is None else fitted.drift,
    )
    state = plan.read(rows.parts(_PART_ROWS, execution.each), execution)
    diagnosis = fitted.finish(state[WHOLE]["diagnosis"])
    warnings = (*opener.notes, *notes, *said_of_classes(read.record.noted, "the reference"))
    return replace(
        diagnosis,
        features=about_features(first),
        periods=tuple(_periods(plan, state)),
        warnings=warnings,
    )


def _periods(plan: EstimationPlan, state: State) -> Iterator[ColumnPeriod]:
    """How far the columns are from the reference in each chunk, along time."""
    keys = sorted(key for key in state if key[0] == "every")
    for key in keys if plan.drift is not None and plan.every is not None else ():
        assert plan.drift is not None
        assert plan.every is not None
        latest = state[WHOLE].get("latest") if key == keys[-1] else None
        rows = int(state[key]["truth"]["rows"])
        place = plan.every.place(key[1], rows, latest)
        changes = plan.drift.finish(state[key]["columns"])
        yield ColumnPeriod(
            name=str(place["name"]),
            start=place["start"],
            end=place["end"],
            rows=rows,
            distances={change.name: change.distance for change in changes},
            moved=tuple(change.name for change in changes if change.moved),
        )
