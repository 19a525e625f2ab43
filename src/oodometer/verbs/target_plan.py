"""The plan of an estimate as a target can feed it: the methods that apply, the fields that are read, the parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..errors import InputError
from ..passes.folding import Execution
from ..passes.plan import batch_rows, check_rule, needed_fields, rounding
from ..predictions import Predictions
from ..results import Skipped
from ..store import Part, Source
from ..store.base import rows_of
from ..store.memory import RecordSource
from .estimate_job import EstimateJob
from .fitted import Fitted

# Rows of a part: few enough that two workers finish together, enough to hide their overhead.
PART_ROWS = 1 << 17
_MANY_ROWS = 1 << 18  # of a target, from which on a batch keeps its share of samples alone
_SLOW = {"threshold-distance": 200_000}  # target rows above which a method is asked for by name


def fit_to_target(
    fitted: Fitted,
    target: Source,
    execution: Execution,
    truth: Predictions | None,
    options: EstimateJob,
) -> tuple[Fitted, Sequence[Part]]:
    """What was learnt, with a plan that this target can feed and what was left out of it, and the target's parts."""
    parts = target.parts(PART_ROWS, execution.each)
    batches = (batch for part in parts for batch in part.batches(rows=fitted.plan.rows))
    beginning = next(batches, None)
    if beginning is None:
        raise InputError(
            "at least one row", got="none", remedy="check what wrote it", file=target.name
        )
    in_all = rows_of(parts) or target.rows or 0  # 0: nobody knows
    is_all = len(parts) == 1 and beginning.rows < fitted.plan.rows and execution.is_plain
    if is_all and next(batches, None) is None:  # it need not be read again
        parts = RecordSource(beginning).parts(PART_ROWS)
    plan = replace(
        fitted.plan,
        by=options.by,
        every=options.chunks,
        labels=truth,
        rows=batch_rows(fitted.reference.record.num_classes),
        rows_in_all=in_all if in_all >= _MANY_ROWS else None,
        first_row=beginning.first_row,
    )
    check_rule(beginning, bool(plan.argmax))
    plan, unfed = plan.restricted_to(beginning)
    slow = [] if options.methods is not None else _slow_methods(plan.methods, target)
    methods = {name: method for name, method in plan.methods.items() if name not in slow}
    plan = replace(plan, methods=methods)
    why = "takes long on more than {} target rows; ask for it with --method {}"
    too_slow = [Skipped(name, why.format(_SLOW[name], name)) for name in slow]
    skipped = [*fitted.skipped, *unfed, *fitted.unmade, *too_slow]
    if not plan.methods:
        raise none_applies(skipped, target)
    plan = replace(plan, fields=needed_fields(plan, beginning))
    rounded = [] if beginning.rounded is None else [rounding(beginning.rounded, "the target's")]
    warnings = [*fitted.warnings, *rounded]
    return replace(fitted, plan=plan, skipped=skipped, warnings=warnings), parts


def _slow_methods(methods: Collection[str], target: Source) -> list[str]:
    """Methods that would take minutes on a target of so many rows, or of nobody knows how many."""
    return [
        name
        for name, limit in _SLOW.items()
        if name in methods and (target.rows is None or target.rows > limit)
    ]


def none_applies(skipped: Sequence[Skipped], target: Source) -> InputError:
    """The error where no method can say anything of the target, with each one's reason."""
    return InputError(
        "data that at least one method can use",
        got=f"none applies ({'; '.join(f'{s.method}: {s.why}' for s in skipped)})",
        file=target.name,
        remedy="`oodometer methods` says what each one needs",
    )
